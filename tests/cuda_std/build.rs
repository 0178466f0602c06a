//! Compiles the kernels for the oldest architecture, those that need a later one for that, and all of
//! them for an architecture with libnvvm's modern dialect.

use cuda_builder::{Arch, CudaBuilder, DebugInfo};
use std::path::PathBuf;

/// The variable that names the architecture with the modern dialect, see `tests/run/build.rs`.
const MODERN: &str = "DEVICE_TESTS_MODERN";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-env-changed={MODERN}");
    let modern = std::env::var(MODERN).unwrap_or("sm_100".to_owned());
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // Fused multiply-add rounds once where the CPU rounds twice; without it the results are equal.
    let builder = CudaBuilder::new("kernels")
        .fma_contraction(false)
        .debug(false)
        .debug_info(DebugInfo::None);
    for arch in [Arch::SM_75, Arch::SM_90] {
        let file = format!("{}.ptx", arch.sm());
        builder.clone().arch(arch).copy_to(out.join(file)).build()?;
    }
    builder
        .arch(modern)
        .features(["all"])
        .copy_to(out.join("modern.ptx"))
        .build()?;
    Ok(())
}
