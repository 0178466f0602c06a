//! Compiles the crate `kernels`, which `main.rs` embeds: for the oldest supported architecture, and
//! for 8.0 and later, whose multiprocessors hold more blocks.

fn main() -> Result<(), cuda_builder::Error> {
    cuda_builder::CudaBuilder::new("kernels")
        .archs(["sm_75", "sm_80"])
        .embed("kernels")
        .build()?;
    Ok(())
}
