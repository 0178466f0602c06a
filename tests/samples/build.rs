//! Compiles the crate `kernels` as users do: in a release build, or unoptimised if that is asked for.

use cuda_builder::{CudaBuilder, OptLevel};

const UNOPTIMISED: &str = "SAMPLES_UNOPTIMISED";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-env-changed={UNOPTIMISED}");
    let mut builder = CudaBuilder::new("kernels").debug(false);
    if std::env::var_os(UNOPTIMISED).is_some() {
        builder = builder.debug(true).opt_level(OptLevel::O0);
    }
    builder.embed("kernels").build()?;
    Ok(())
}
