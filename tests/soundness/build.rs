//! Compiles the crate `kernels`.

fn main() -> Result<(), cuda_builder::Error> {
    cuda_builder::CudaBuilder::new("kernels")
        .embed("kernels")
        .build()?;
    Ok(())
}
