//! Compiles the kernels for the oldest architecture, and those that need a later one for that.

use cuda_builder::{Arch, CudaBuilder, DebugInfo};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
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
    Ok(())
}
