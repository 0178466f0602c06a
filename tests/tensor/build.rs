//! Compiles the crate `kernels` for the oldest architecture and for that with everything that a
//! Hopper GPU has.

use cuda_builder::CudaBuilder;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // Fused multiply-adds round once where the CPU rounds twice.
    let builder = CudaBuilder::new("kernels").fma_contraction(false);
    builder
        .clone()
        .arch("sm_75")
        .copy_to(out.join("sm_75.ptx"))
        .build()?;
    builder
        .arch("sm_90a")
        .features(["wgmma"])
        .copy_to(out.join("sm_90a.ptx"))
        .build()?;
    Ok(())
}
