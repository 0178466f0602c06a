//! Compiles the crate `kernels` for `main.rs` to embed: for the oldest GPUs, and for those since 8.0,
//! whose multiprocessors hold more blocks.

fn main() -> Result<(), cuda_builder::Error> {
    cuda_builder::CudaBuilder::new("kernels")
        .archs(["sm_75", "sm_80"])
        .embed("kernels")
        .build()?;
    Ok(())
}
