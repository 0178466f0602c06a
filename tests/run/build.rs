//! Compiles the crate `kernels` as users release it, for the oldest architecture and for one with
//! libnvvm's modern dialect, and as they debug it.

use cuda_builder::{CudaBuilder, DebugInfo, OptLevel};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // In a single-source session, the kernels crate is compiled as a dependency.
    if std::env::var_os("CARGO_CFG_NVVM_SINGLE_SOURCE").is_some() {
        return Ok(());
    }
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // Fused multiply-add rounds once where the CPU rounds twice; without it the results are equal.
    let builder = CudaBuilder::new("kernels").fma_contraction(false);
    builder
        .clone()
        .debug(false)
        .debug_info(DebugInfo::None)
        .copy_to(out.join("release.ptx"))
        .build()?;
    // For sm_120 libnvvm 13.0 makes the same code, but for `.target`.
    builder
        .clone()
        .arch("sm_100")
        .debug(false)
        .debug_info(DebugInfo::None)
        .copy_to(out.join("release-modern.ptx"))
        .build()?;
    builder
        .debug(true)
        .opt_level(OptLevel::O0)
        .debug_info(DebugInfo::LineTables)
        .copy_to(out.join("debug.ptx"))
        .build()?;
    Ok(())
}
