//! Compiles the kernels that the oldest architecture can run for it, the others for sm_90, and all of
//! them for sm_100, which has libnvvm's modern dialect.

use cuda_builder::{Arch, CudaBuilder, DebugInfo};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // Fused multiply-add rounds once where the CPU rounds twice; without it the results are equal.
    let builder = CudaBuilder::new("kernels")
        .fma_contraction(false)
        .debug(false)
        .debug_info(DebugInfo::None);
    for (arch, builder) in [
        (Arch::SM_75, builder.clone()),
        (Arch::SM_90, builder.clone().no_default_features()),
        (Arch::SM_100, builder),
    ] {
        let file = format!("{}.ptx", arch.sm());
        builder.arch(arch).copy_to(out.join(file)).build()?;
    }
    Ok(())
}
