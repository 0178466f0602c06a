//! Compiles the crate `kernels` for the device, for `main.rs` to embed.

fn main() -> Result<(), cuda_builder::Error> {
    cuda_builder::CudaBuilder::new("kernels")
        .embed("kernels")
        .build()?;
    Ok(())
}
