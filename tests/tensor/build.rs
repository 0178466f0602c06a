//! Compiles the crate `kernels` for the oldest architecture, for one with libnvvm's modern dialect, and
//! for that with everything that a Hopper GPU has.

use cuda_builder::CudaBuilder;
use std::path::PathBuf;

/// The variable that names the architecture with the modern dialect, see `tests/run/build.rs`.
const MODERN: &str = "DEVICE_TESTS_MODERN";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-env-changed={MODERN}");
    let modern = std::env::var(MODERN).unwrap_or("sm_100".to_owned());
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // Fused multiply-adds round once where the CPU rounds twice.
    let builder = CudaBuilder::new("kernels").fma_contraction(false);
    for (name, arch) in [("sm_75", "sm_75"), ("modern", &*modern)] {
        builder
            .clone()
            .arch(arch)
            .debug(false)
            .copy_to(out.join(format!("{name}.ptx")))
            .build()?;
    }
    builder
        .arch("sm_90a")
        .features(["wgmma"])
        .copy_to(out.join("sm_90a.ptx"))
        .build()?;
    Ok(())
}
