//! Compiles the crates of kernels as users do: in a release build, or unoptimised if that is asked for.

use cuda_builder::{Arch, CudaBuilder, OptLevel};

const UNOPTIMISED: &str = "SAMPLES_UNOPTIMISED";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-env-changed={UNOPTIMISED}");
    for (kernels, arch) in [("kernels", Arch::SM_75), ("newer", Arch::SM_90)] {
        let mut builder = CudaBuilder::new(kernels).arch(arch).debug(false);
        if std::env::var_os(UNOPTIMISED).is_some() {
            builder = builder.debug(true).opt_level(OptLevel::O0);
        }
        builder.embed(kernels).build()?;
    }
    Ok(())
}
