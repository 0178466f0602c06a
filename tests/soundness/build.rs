//! Compiles the kernel crates.

use cuda_builder::{Arch, CudaBuilder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    CudaBuilder::new("kernels")
        .embed("kernels")
        .debug(false)
        .build()?;
    // Without the feature `host`, with which the host program depends on the crate: the attack.
    CudaBuilder::new("signatures")
        .arch(Arch::SM_75)
        .embed("signatures")
        .build()?;
    Ok(())
}
