//! Compiles the crate `kernels` for the device: as users release it, and as they debug it.

use cuda_builder::{CudaBuilder, DebugInfo, OptLevel};
use std::path::PathBuf;

/// The modules of cases in `kernels`.
const MODULES: [&str; 6] = ["algebra", "curves", "hashes", "numbers", "random", "text"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // Fused multiply-add rounds once where the CPU rounds twice; without it the results are equal.
    let builder = CudaBuilder::new("kernels")
        .fma_contraction(false)
        .debug_info(DebugInfo::None);
    // Several programs instead of one: the time that compilers take grows faster than a program.
    for module in MODULES {
        let builder = builder.clone().no_default_features().features([module]);
        builder
            .clone()
            .debug(false)
            .copy_to(out.join(format!("{module}-release.ptx")))
            .build()?;
        builder
            .debug(true)
            .opt_level(OptLevel::O0)
            .copy_to(out.join(format!("{module}-debug.ptx")))
            .build()?;
    }
    Ok(())
}
