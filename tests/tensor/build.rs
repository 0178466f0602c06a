//! Compiles the crate `kernels` for the oldest architecture, for one with libnvvm's modern dialect, and
//! for that with everything that a Hopper GPU has.

use cuda_builder::{Arch, CudaBuilder};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // Fused multiply-adds round once where the CPU rounds twice.
    let builder = CudaBuilder::new("kernels").fma_contraction(false);
    for arch in [Arch::SM_75, Arch::SM_100] {
        builder
            .clone()
            .arch(arch)
            .copy_to(out.join(format!("{}.ptx", arch.sm())))
            .build()?;
    }
    builder
        .arch("sm_90a")
        .features(["wgmma"])
        .copy_to(out.join("sm_90a.ptx"))
        .build()?;
    Ok(())
}
