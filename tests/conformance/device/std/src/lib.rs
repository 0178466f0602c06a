//! The parts of `std` that the standard library's own tests use, for device code.
//!
//! All that comes from `core` and `alloc` is those crates' own, re-exported: they are what is
//! tested. What only `std` has is here in the plainest form that makes the tests compile: a lock
//! of one thread, a hasher with fixed keys. What a device cannot do (spawn a thread, catch a
//! panic, read a file) compiles and panics when it is called, with a message that says so; the
//! tests that call it are listed, with that reason, in `tests/conformance/not-applicable.txt`.

#![no_std]
#![unstable(feature = "conformance_std", issue = "none")]
#![allow(internal_features, incomplete_features, missing_docs, stable_features, deprecated)]
#![feature(
    allocator_api,
    ascii_char,
    async_iterator,
    core_float_math,
    core_intrinsics,
    core_io,
    alloc_io,
    f16,
    f128,
    hasher_prefixfree_extras,
    hashmap_internals,
    portable_simd,
    random,
    rustc_attrs,
    staged_api,
    std_internals,
    thin_box,
    unsafe_binders
)]

extern crate alloc as alloc_crate;
// Its panic handler and its allocator.
extern crate cuda_std;

pub use alloc_crate::{borrow, boxed, format, rc, slice, str, string, vec};
pub use core::{
    any, array, ascii, assert_matches, async_iter, cell, char, clone, cmp, convert,
    debug_assert_matches, default, error, f128, future, hint, i8, i16, i32, i64,
    i128, intrinsics, isize, iter, marker, mem, net, ops, option, pin, primitive, ptr, result,
    simd, u8, u16, u32, u64, u128, usize,
};
pub use core::{
    assert, assert_eq, assert_ne, cfg, column, compile_error, concat, debug_assert,
    debug_assert_eq, debug_assert_ne, env as env_macro, file, format_args, include, include_bytes,
    include_str, line, matches, module_path, option_env, stringify, todo, unimplemented,
    unreachable, write, writeln,
};

/// `core`'s macro `panic`, without its module of that name.
mod macro_alone {
    #[allow(hidden_glob_reexports, dead_code)]
    mod panic {}
    pub use core::*;
}
pub use macro_alone::panic;

pub mod collections;
pub mod hash;
pub mod num;
pub mod prelude;
pub mod sync;
pub mod thread;

mod sys;
pub use num::{f16, f32, f64};

/// `alloc`'s, and an allocator `System`.
pub mod alloc {
    pub use alloc_crate::alloc::*;
    use core::ptr::NonNull;

    /// The device's allocator, which is the global one.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct System;

    // SAFETY: all of it is the global allocator's.
    unsafe impl Allocator for System {
        fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
            Global.allocate(layout)
        }

        unsafe fn deallocate(&self, pointer: NonNull<u8>, layout: Layout) {
            unsafe { Global.deallocate(pointer, layout) }
        }
    }
}

/// `alloc`'s and `core`'s.
pub mod ffi {
    pub use alloc_crate::ffi::*;
    pub use core::ffi::*;

    /// There are no strings of an operating system: the name alone.
    #[derive(Debug)]
    pub struct OsStr(());
}

/// There are no files.
pub mod fs {
    /// Panics.
    pub fn write<T>(_: &str, _: T) -> Result<(), ()> {
        panic!("device code cannot write files")
    }
}

/// There are no files: the name of the type alone.
pub mod path {
    #[derive(Debug)]
    pub struct Path(());
}

pub mod fmt {
    pub use alloc_crate::fmt::*;
}

pub mod io {
    pub use alloc_crate::io::*;

    impl Error {
        /// There is no operating system to fail.
        #[rustc_allow_incoherent_impl]
        pub fn last_os_error() -> Error {
            Error::from(ErrorKind::Other)
        }
    }
}

pub mod os {
    pub mod raw {
        pub use core::ffi::c_char;
    }
}

pub mod process {
    /// Ends the program; here the thread, with a panic.
    pub fn abort() -> ! {
        panic!("abort")
    }
}

pub mod task {
    pub use alloc_crate::task::*;
    pub use core::task::*;
}

pub mod time {
    pub use core::time::*;

    /// A time of day. The clock stands still: a test that fails is to fail again.
    #[derive(Clone, Copy, Debug)]
    pub struct SystemTime(Duration);

    /// Where the clock started.
    pub const UNIX_EPOCH: SystemTime = SystemTime(Duration::ZERO);

    impl SystemTime {
        pub fn now() -> SystemTime {
            SystemTime(Duration::from_secs(1_700_000_000))
        }

        pub fn duration_since(&self, other: SystemTime) -> Result<Duration, ()> {
            self.0.checked_sub(other.0).ok_or(())
        }
    }
}

pub mod env {
    /// There is no environment.
    pub fn var(_: &str) -> Result<alloc_crate::string::String, ()> {
        Err(())
    }
}

/// Panics end the thread: there is nothing to catch, and no hook to call.
pub mod panic {
    pub use core::panic::*;

    /// Runs the closure. If that panics, the thread ends with the panic.
    pub fn catch_unwind<R>(run: impl FnOnce() -> R + UnwindSafe) -> crate::thread::Result<R> {
        Ok(run())
    }

    /// Ends the thread.
    pub fn resume_unwind(_: crate::boxed::Box<dyn core::any::Any + Send>) -> ! {
        panic!("a panic was resumed")
    }

    type Hook = crate::boxed::Box<dyn Fn(&PanicInfo<'_>) + Sync + Send + 'static>;

    /// There are no hooks.
    pub fn take_hook() -> Hook {
        crate::boxed::Box::new(|_| {})
    }

    /// There are no hooks.
    pub fn set_hook(_: Hook) {}
}

/// Formats and discards the output: the tests print for people.
#[doc(hidden)]
pub fn __print(text: core::fmt::Arguments<'_>) {
    use core::fmt::Write;
    struct Nowhere;
    impl Write for Nowhere {
        fn write_str(&mut self, _: &str) -> core::fmt::Result {
            Ok(())
        }
    }
    let _ = Nowhere.write_fmt(text);
}

#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => { $crate::__print($crate::format_args!($($arg)*)) };
}
#[macro_export]
macro_rules! println {
    ($($arg:tt)*) => { $crate::__print($crate::format_args!($($arg)*)) };
}
#[macro_export]
macro_rules! eprint {
    ($($arg:tt)*) => { $crate::__print($crate::format_args!($($arg)*)) };
}
#[macro_export]
macro_rules! eprintln {
    ($($arg:tt)*) => { $crate::__print($crate::format_args!($($arg)*)) };
}

#[macro_export]
macro_rules! dbg {
    ($value:expr) => {
        match $value {
            value => {
                $crate::__print($crate::format_args!("{value:?}"));
                value
            }
        }
    };
}

/// A thread-local variable of a launch of one thread: a static.
#[macro_export]
macro_rules! thread_local {
    ($($(#[$attr:meta])* $vis:vis static $name:ident : $ty:ty = $(const)? $init:expr);* $(;)?) => {
        $(
            $(#[$attr])*
            $vis static $name: $crate::thread::LocalKey<$ty> =
                $crate::thread::LocalKey::new(|| $init);
        )*
    };
}
