//! Compiles the kernels crates as users do: in a release build, or unoptimized on request; for the
//! oldest architecture, and for those from which on libnvvm has another dialect. libnvvm splits the
//! modules of `newer`, as it does the largest programs.

use cuda_builder::{Arch, CudaBuilder, OptLevel};

const UNOPTIMIZED: &str = "SAMPLES_UNOPTIMIZED";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // In a single-source session, the kernels crates are compiled as dependencies.
    if std::env::var_os("CARGO_CFG_NVVM_SINGLE_SOURCE").is_some() {
        return Ok(());
    }
    println!("cargo::rerun-if-env-changed={UNOPTIMIZED}");
    for (kernels, oldest) in [("kernels", Arch::SM_75), ("newer", Arch::SM_90)] {
        let mut builder = CudaBuilder::new(kernels)
            .archs([oldest, Arch::SM_100, Arch::SM_120])
            .debug(false);
        if std::env::var_os(UNOPTIMIZED).is_some() {
            builder = builder.debug(true).opt_level(OptLevel::O0);
        }
        if kernels == "newer" {
            // Modules of this size are not split by default.
            builder = builder.split_above(Some(0));
        }
        builder.embed(kernels).build()?;
    }
    Ok(())
}
