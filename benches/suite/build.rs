//! Compiles the crate `bench-kernels`, which the suite embeds as PTX, for the architecture that
//! `BENCH_ARCH` names.

const ARCH: &str = "BENCH_ARCH";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-env-changed={ARCH}");
    let arch = std::env::var(ARCH).unwrap_or_else(|_| "sm_90".to_owned());
    cuda_builder::CudaBuilder::new("../kernels")
        .arch(arch.parse::<cuda_builder::Arch>()?)
        .debug(false)
        .embed("kernels")
        .build()?;
    Ok(())
}
