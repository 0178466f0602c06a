//! Compiles the crates of kernels.

use cuda_builder::{Arch, CudaBuilder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    CudaBuilder::new("kernels").embed("kernels").build()?;
    // Without the feature `host` that the host's program has: the attack.
    CudaBuilder::new("signatures")
        .arch(Arch::SM_75)
        .embed("signatures")
        .build()?;
    Ok(())
}
