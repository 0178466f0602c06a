//! Restricts profiling to a part of a program: `nsys profile -c cudaProfilerApi` and similar
//! profilers record only between [`start`] and [`stop`].
//!
//! # Examples
//!
//! ```
//! use cust::prelude::*;
//!
//! let context = cust::quick_init_on(Backend::Emulator)?;
//! cust::profiler::start()?;
//! // … the work to profile …
//! context.synchronize()?;
//! cust::profiler::stop()?;
//! # Ok::<(), cust::error::Error>(())
//! ```

use crate::context::Context;
use crate::error::CudaResult;

/// Starts recording in the profiler that runs the program, if there is one.
///
/// # Errors
///
/// Returns [`Error::NoContext`](crate::error::Error::NoContext) without a context, and the driver's
/// error if it cannot start the profiler.
pub fn start() -> CudaResult<()> {
    let api = Context::current("starting the profiler")?.bind()?;
    // SAFETY: takes no arguments.
    let result = unsafe { api.driver.cuProfilerStart() };
    api.check(result, || "starting the profiler".to_owned())
}

/// Stops recording in the profiler that runs the program.
///
/// # Errors
///
/// Returns [`Error::NoContext`](crate::error::Error::NoContext) without a context, and the driver's
/// error if it cannot stop the profiler.
pub fn stop() -> CudaResult<()> {
    let api = Context::current("stopping the profiler")?.bind()?;
    // SAFETY: takes no arguments.
    let result = unsafe { api.driver.cuProfilerStop() };
    api.check(result, || "stopping the profiler".to_owned())
}
