//! Compiles the kernels that the oldest architecture supports for it, the others for sm_90, and all
//! of them for sm_100, which has libnvvm's modern dialect.
//!
//! With `CUDA_STD_TESTS_OLDEST=1`, compiles only the kernels for the oldest architecture; the tests
//! of the others then fail. `./x mutants`, which skips those tests, uses it.

use cuda_builder::{Arch, CudaBuilder, DebugInfo};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    println!("cargo::rerun-if-env-changed=CUDA_STD_TESTS_OLDEST");
    let oldest = std::env::var_os("CUDA_STD_TESTS_OLDEST").is_some();
    // A fused multiply-add rounds once, but the CPU rounds twice; without it the results are equal.
    let builder = CudaBuilder::new("kernels")
        .fma_contraction(false)
        .debug(false)
        .debug_info(DebugInfo::None);
    for (arch, builder) in [
        (Arch::SM_75, builder.clone()),
        (Arch::SM_90, builder.clone().no_default_features()),
        (Arch::SM_100, builder),
    ] {
        let file = out.join(format!("{}.ptx", arch.sm()));
        if oldest && arch != Arch::SM_75 {
            std::fs::write(file, "")?;
            continue;
        }
        builder.arch(arch).copy_to(file).build()?;
    }
    Ok(())
}
