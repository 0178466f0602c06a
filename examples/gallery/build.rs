//! Compiles the crate `kernels`, which the library embeds.

fn main() -> Result<(), cuda_builder::Error> {
    cuda_builder::CudaBuilder::new("kernels")
        // A fused multiply-add rounds once, where the CPU rounds twice. Without it, most programs
        // compute the same bits on both.
        .fma_contraction(false)
        .embed("gallery")
        .build()?;
    Ok(())
}
