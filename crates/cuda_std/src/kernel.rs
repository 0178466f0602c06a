//! Types of kernel parameters. `#[kernel]` checks that every parameter implements [`KernelParam`].
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// A line: a `Copy` type, so that kernels can take it by value.
//! #[derive(Clone, Copy)]
//! pub struct Line {
//!     pub slope: f32,
//!     pub intercept: f32,
//! }
//!
//! #[kernel]
//! pub fn evaluate(line: Line, x: &[f32], mut to: PerThread<f32>) {
//!     for (i, to) in to.own() {
//!         *to = line.slope * x[i] + line.intercept;
//!     }
//! }
//! # fn main() {}
//! ```

/// A type that can be passed to a kernel by value: any `Copy` type.
/// The host's `args` take a structure only if it is `DeviceCopy`, so not one of slices.
/// The host passes the bytes of the arguments to the kernel, and every thread has its own copy of
/// them. Therefore a parameter must not own anything: a type with a destructor would be dropped
/// once per thread.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel's parameter: it is not `Copy`",
    label = "not `Copy`",
    note = "every thread of a launch receives its own copy of the arguments' bytes",
    note = "pass a reference, such as `&[T]` for a `Vec<T>` and `&str` for a `String`, a raw pointer, \
            or a type that is `Copy`, as with the bound in `impl Fn(u32) -> u32 + Copy`; mark \
            parameters of shared memory with `#[shared]`"
)]
pub trait KernelParam {}

/// The types of which `#[kernel]` builds the host's handles.
#[doc(hidden)]
pub use cust_core::kernel as host;

/// The types of which descriptions of kernels and statics are built.
#[doc(hidden)]
pub use cust_core::signature;

/// The types of which `#[address_space(..)]` builds the host's handles.
#[doc(hidden)]
pub use cust_core::global;

/// An instance of a generic kernel, in a single-source session.
#[cfg(nvvm_single_source)]
#[doc(hidden)]
pub trait Instance {
    /// Tells the compiler that the host launches this instance.
    fn mark();
}

/// Marks a kernel instance. Where the host's code contains an instance of this function, the
/// compiler creates the kernel `_entry`, which the host finds by the type `H`.
#[cfg(nvvm_single_source)]
#[doc(hidden)]
#[nvvm::instance]
#[inline(never)]
pub fn mark_instance<H: 'static, E>(_entry: E) {
    link_image();
}

#[cfg(nvvm_single_source)]
unsafe extern "C" {
    /// The records of the device code of the crate that code with this name is compiled in.
    #[nvvm::image]
    static IMAGE: u8;
}

/// Makes the linker add the device code of the crate that this call is compiled in. A linker takes
/// an object file from a static library only for a symbol that other code refers to.
#[cfg(nvvm_single_source)]
#[doc(hidden)]
#[inline(always)]
pub fn link_image() {
    core::hint::black_box(&raw const IMAGE);
}

/// Creates the arguments of a kernel that is an associated function, `_entry`, with parameters of
/// the types `P`.
///
/// # Safety
/// As for `Args::new`.
#[doc(hidden)]
#[inline]
pub unsafe fn associated_args<P: 'static, N: host::AssociatedName, E: 'static, A: host::Pass>(
    _entry: E,
    _name: N,
    arguments: A,
) -> host::Args<host::Associated<N, E, P>, A> {
    #[cfg(nvvm_single_source)]
    mark_instance::<host::Associated<N, E, P>, E>(_entry);
    // SAFETY: the caller upholds the contract of `Args::new`.
    unsafe { host::Args::new(arguments) }
}

/// Expands to the items that `#[kernel]` adds. They are not allowed in an `impl`; the compiler's
/// error there names this macro.
#[doc(hidden)]
#[macro_export]
macro_rules! kernels_are_free_functions {
    ($($item:tt)*) => { $($item)* };
}

/// Expands to items that exist only in a single-source session. A macro of this crate, because
/// other crates do not know the `cfg`.
#[cfg(nvvm_single_source)]
#[doc(hidden)]
#[macro_export]
macro_rules! single_source {
    ($($item:tt)*) => { $($item)* };
}

/// Expands to nothing: this is not a single-source session.
#[cfg(not(nvvm_single_source))]
#[doc(hidden)]
#[macro_export]
macro_rules! single_source {
    ($($item:tt)*) => {};
}

/// Expands to nothing: this is a single-source session.
#[cfg(nvvm_single_source)]
#[doc(hidden)]
#[macro_export]
macro_rules! two_crates {
    ($($item:tt)*) => {};
}

/// Expands to items that exist only where host and device code are two crates.
#[cfg(not(nvvm_single_source))]
#[doc(hidden)]
#[macro_export]
macro_rules! two_crates {
    ($($item:tt)*) => { $($item)* };
}

#[diagnostic::do_not_recommend]
impl<T: Copy> KernelParam for T {}

/// Compiles only for types that can be kernel parameters. `#[kernel]` calls it in code that never
/// runs.
#[doc(hidden)]
#[inline(always)]
pub const fn check_param<T: KernelParam>() {}

/// Like [`check_param`], for a type parameter. rustc suggests to add the bound that is missing, which
/// should be `Copy`.
#[doc(hidden)]
#[inline(always)]
pub const fn copied_to_every_thread<T: Copy>() {}

/// Like [`check_param`], for a type without a name. It takes a function, because rustc would suggest
/// to borrow a value.
#[doc(hidden)]
#[inline(always)]
pub fn check_type_of<T: KernelParam>(_: impl FnOnce() -> T) {}

/// Returns the size of a type. Expansions do not write `::core`, because the user's crate may give
/// that name to another crate.
#[doc(hidden)]
#[inline(always)]
pub const fn size<T>() -> usize {
    size_of::<T>()
}

/// Tells the compiler the size of the block. The launch checks the size that
/// `#[kernel(block_size(..))]` declares.
///
/// # Safety
/// The block must have this size.
#[doc(hidden)]
#[inline(always)]
pub unsafe fn assume_block_size(x: u32, y: u32, z: u32) {
    crate::session::on_device!(
        // SAFETY: the caller guarantees the size, and a thread's index is less than its block's
        // size.
        unsafe {
            use crate::thread;
            use core::hint::assert_unchecked;
            assert_unchecked(thread::block_dim_x() == x);
            assert_unchecked(thread::block_dim_y() == y);
            assert_unchecked(thread::block_dim_z() == z);
            assert_unchecked(thread::thread_idx_x() < x);
            assert_unchecked(thread::thread_idx_y() < y);
            assert_unchecked(thread::thread_idx_z() < z);
        },
        {
            let _ = (x, y, z);
        },
    );
}

/// The host's trait of a kernel that is an associated function, whose arguments the compiler of a
/// single-source session checks for each instance.
#[cfg(not(nvvm_single_source))]
#[doc(hidden)]
pub use cust_core::kernel::Kernel as AssociatedKernel;
/// The host's trait of a kernel that is an associated function and also runs on the CPU.
#[cfg(nvvm_single_source)]
#[doc(hidden)]
pub use cust_core::kernel::OnCpu as AssociatedKernel;
