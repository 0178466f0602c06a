//! The CUDA driver API on the emulator: the functions behind [`driver`], as a table like libcuda's.
//!
//! There is one device in one process. Handles are indices into tables, never dereferenced
//! pointers, so a wrong or stale handle is an error as with the driver. Enqueued work runs before
//! the call returns, or as late as possible ([`Schedule`]): a GPU could choose either schedule. A
//! fault in a kernel is returned by the next synchronizing call, and by all calls from then on,
//! until the context is destroyed or reset.
//!
//! `state.rs` holds the tables, and `queue.rs` the pending work of streams. `device.rs`,
//! `context.rs`, `module.rs`, `library.rs`, `launch.rs`, `memory.rs`, `mapping.rs`, `pool.rs`,
//! `copy.rs`, `stream.rs`, `graph.rs`, `condition.rs`, `green_context.rs`, `tensor.rs` and
//! `texture.rs` each hold the functions of one part of the API. Functions that are not implemented
//! return `CUDA_ERROR_NOT_SUPPORTED`.

// The functions have the contracts of `cuda.h`, which the documentation of the table repeats.
#![allow(clippy::missing_safety_doc)]

mod condition;
mod context;
mod copy;
mod device;
mod function;
mod graph;
mod green_context;
mod launch;
mod library;
mod mapping;
mod memory;
mod model;
mod module;
mod pool;
mod queue;
mod state;
mod stream;
mod tensor;
#[cfg(test)]
mod tests;
mod texture;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use cust_raw::{CUresult, Driver};

pub use device::{Sharing, set_sharing};
pub use launch::last_fault;
pub use queue::{Schedule, set_schedule};

/// The result of an API function: `Err` is the code to return.
type Outcome = Result<(), CUresult>;

/// The note for programs whose emulator is compiled without optimization: a dependency cannot
/// choose its own profile.
const UNOPTIMIZED: &str = "note: the emulator is compiled without optimization, which makes it about \
                           20 times slower; add to the Cargo.toml of the workspace:\n\
                           \n    [profile.dev.package.ptx_emulator]\n    opt-level = 3\n";

/// Returns the driver API's functions, implemented by the emulator.
///
/// ```
/// let driver = ptx_emulator::driver::driver();
/// let mut count = 0;
/// // SAFETY: the pointer is valid for the call.
/// unsafe {
///     driver.cuInit(0);
///     driver.cuDeviceGetCount(&mut count);
/// }
/// assert_eq!(count, 1);
/// ```
pub fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| {
        if cfg!(unoptimized) {
            eprintln!("{UNOPTIMIZED}");
        }
        let mut driver = Driver::unsupported();
        device::fill(&mut driver);
        context::fill(&mut driver);
        module::fill(&mut driver);
        function::fill(&mut driver);
        launch::fill(&mut driver);
        memory::fill(&mut driver);
        copy::fill(&mut driver);
        stream::fill(&mut driver);
        pool::fill(&mut driver);
        library::fill(&mut driver);
        mapping::fill(&mut driver);
        graph::fill(&mut driver);
        condition::fill(&mut driver);
        green_context::fill(&mut driver);
        tensor::fill(&mut driver);
        texture::fill(&mut driver);
        driver
    })
}

/// Runs the body of an API function. A panic of the emulator must not unwind into the caller.
fn guard(body: impl FnOnce() -> Outcome) -> CUresult {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => CUresult::CUDA_SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => CUresult::CUDA_ERROR_UNKNOWN,
    }
}

/// Writes a result for the caller; a null pointer is an invalid value.
///
/// # Safety
///
/// `to` is null or valid for a write.
unsafe fn put<T>(to: *mut T, value: T) -> Outcome {
    if to.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: as the caller promises.
    unsafe { to.write(value) };
    Ok(())
}

/// Writes a result for the caller unless the pointer is null.
///
/// # Safety
///
/// `to` is null or valid for a write.
unsafe fn put_optional<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: as the caller promises.
        unsafe { to.write(value) };
    }
}

/// Defines functions of the API and the function `fill`, which enters them in the table. The body
/// evaluates to an `Outcome`; its unsafe operations rely on what `cuda.h` requires of callers.
macro_rules! api {
    ($(fn $name:ident($($parameter:ident: $type:ty),* $(,)?) $body:block)*) => {
        /// Enters this file's functions in the table.
        pub(super) fn fill(driver: &mut cust_raw::Driver) {
            $(driver.$name = $name;)*
        }

        $(
            #[allow(non_snake_case)]
            unsafe extern "C" fn $name($($parameter: $type),*) -> cust_raw::CUresult {
                $crate::driver::guard(|| $body)
            }
        )*
    };
}
use api;
