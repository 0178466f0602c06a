//! Compiles the crate `kernels` for the device; `main.rs` embeds it.

fn main() -> Result<(), cuda_builder::Error> {
    cuda_builder::CudaBuilder::new("kernels")
        .embed("kernels")
        .build()?;
    Ok(())
}
