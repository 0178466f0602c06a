//! Which part of a program a profiler looks at: `nsys profile -c cudaProfilerApi` and its like
//! record between [`start`] and [`stop`] only.

use crate::context::Context;
use crate::error::CudaResult;

/// Lets a profiler that runs the program record from here on.
pub fn start() -> CudaResult<()> {
    let api = Context::current("starting the profiler")?.bind()?;
    // SAFETY: takes no arguments.
    let result = unsafe { api.driver.cuProfilerStart() };
    api.check(result, || "starting the profiler".to_owned())
}

/// Lets it stop recording.
pub fn stop() -> CudaResult<()> {
    let api = Context::current("stopping the profiler")?.bind()?;
    // SAFETY: takes no arguments.
    let result = unsafe { api.driver.cuProfilerStop() };
    api.check(result, || "stopping the profiler".to_owned())
}
