//! Compiles the kernels of the example `vecadd` for the device; `main.rs` embeds them.

fn main() -> Result<(), cuda_builder::Error> {
    cuda_builder::CudaBuilder::new("../vecadd/kernels")
        .embed("kernels")
        .build()?;
    Ok(())
}
