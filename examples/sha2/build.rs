//! Compiles the crate `kernels` to PTX, which `main.rs` embeds.

use cuda_builder::CudaBuilder;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    CudaBuilder::new("kernels")
        .copy_to(out.join("kernels.ptx"))
        .build()?;
    Ok(())
}
