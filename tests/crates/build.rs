//! Compiles the crate `kernels` for the device: as users release it, and as they debug it.

use cuda_builder::{CudaBuilder, DebugInfo, OptLevel};
use std::path::PathBuf;

/// The modules of cases in `kernels`.
const MODULES: [&str; 13] = [
    "algebra",
    "bignums",
    "containers",
    "curves",
    "hashes",
    "numbers",
    "packing",
    "parsers",
    "random",
    "regex",
    "science",
    "structures",
    "text",
];

/// Which builds are made: `release`, `debug`, `none`, or both without this variable. `quick` are the
/// release builds of the modules that compile in seconds, which `./x test` runs.
const WHICH: &str = "CRATE_TESTS";
/// The crates that take longer.
const SLOW: [&str; 9] = [
    "algebra",
    "bignums",
    "curves",
    "numbers",
    "packing",
    "parsers",
    "regex",
    "science",
    "structures",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-env-changed={WHICH}");
    let which = std::env::var(WHICH).unwrap_or_default();
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // Fused multiply-add rounds once where the CPU rounds twice; without it the results are equal.
    let builder = CudaBuilder::new("kernels")
        .fma_contraction(false)
        .debug_info(DebugInfo::None)
        // libnvvm takes more than 12 s, after which the compiler does the same.
        .leave_unoptimized("crate_tests_kernels::numbers::bigint_modular")
        .no_default_features();
    let release = builder.clone().debug(false);
    let debug = builder.debug(true).opt_level(OptLevel::O0);
    for (name, builder) in [("release", release), ("debug", debug)] {
        // Several programs instead of one: the time that compilers take grows faster than a
        // program.
        for module in MODULES {
            let file = out.join(format!("{module}-{name}.ptx"));
            let quick = which == "quick" && name == "release" && !SLOW.contains(&module);
            if which.is_empty() || which == name || quick {
                builder.clone().features([module]).copy_to(file).build()?;
            } else {
                // Its tests are ignored.
                std::fs::write(file, "")?;
            }
        }
    }
    if which == "none" {
        println!("cargo::rerun-if-changed=build.rs");
    }
    Ok(())
}
