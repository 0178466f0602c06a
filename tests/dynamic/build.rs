//! Compiles the kernels for an architecture that the driver's current device runtime supports.

use cuda_builder::{Arch, CudaBuilder, DebugInfo};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    CudaBuilder::new("kernels")
        .debug_info(DebugInfo::None)
        .arch(Arch::SM_75)
        .copy_to(out.join("kernels.ptx"))
        .build()?;
    Ok(())
}
