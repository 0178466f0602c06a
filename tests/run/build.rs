//! Compiles the crate `kernels` as users release it, and as they debug it; released for an
//! architecture with libnvvm's modern dialect as well.

use cuda_builder::{CudaBuilder, DebugInfo, OptLevel};
use std::path::PathBuf;

/// The variable that names the architecture with the modern dialect. For sm_120 libnvvm 13.0 makes
/// the code that it makes for sm_100, the default, so the tests compile one of them.
const MODERN: &str = "DEVICE_TESTS_MODERN";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-env-changed={MODERN}");
    let modern = std::env::var(MODERN).unwrap_or("sm_100".to_owned());
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // Fused multiply-add rounds once where the CPU rounds twice; without it the results are equal.
    let builder = CudaBuilder::new("kernels").fma_contraction(false);
    for (name, arch) in [("sm_75", "sm_75"), ("modern", &*modern)] {
        builder
            .clone()
            .arch(arch)
            .debug(false)
            .debug_info(DebugInfo::None)
            .copy_to(out.join(format!("release-{name}.ptx")))
            .build()?;
    }
    builder
        .debug(true)
        .opt_level(OptLevel::O0)
        .debug_info(DebugInfo::LineTables)
        .copy_to(out.join("debug-sm_75.ptx"))
        .build()?;
    Ok(())
}
