//! The compiler flags of a device build.

use crate::{Arch, CudaBuilder, DebugInfo, Error};
use std::path::Path;

/// The target triple of device code.
pub(crate) const TARGET: &str = "nvptx64-nvidia-cuda";

/// The backend's option for a second entry of kernels.
pub(crate) const ORDINARY_ENTRIES: &str = "ordinary-entries";

/// The rustc flags for device code, for builds that run cargo directly:
///
/// ```text
/// RUSTFLAGS="<these, joined by spaces>" cargo +nightly-2026-10-28 rustc --release \
///     --lib --crate-type cdylib --target nvptx64-nvidia-cuda -Zbuild-std=core,alloc
/// ```
///
/// They must apply to all crates of the build, including `core`; `RUSTFLAGS` does this.
pub fn device_rustflags(backend: &Path, arch: Arch) -> Vec<String> {
    let mut flags = vec![
        format!("-Zcodegen-backend={}", backend.display()),
        // All crates, including `core`, must agree on it; otherwise rustc reports an ABI mismatch.
        format!("-Ctarget-cpu={}", arch.sm()),
        // The last crate compiles everything that its kernels reach from MIR.
        "-Zalways-encode-mir".to_owned(),
        // The pass duplicates barriers, so the threads of a warp would not reach the same one.
        "-Zmir-enable-passes=-JumpThreading".to_owned(),
        // libnvvm rejects `.` and `$` in names.
        "-Csymbol-mangling-version=v0".to_owned(),
        // `cfg(target_feature = "compute_90")` is true for that architecture and later ones, as
        // `__CUDA_ARCH__ >= 900` in C++. rustc has no such features, and would reject a `cfg` that
        // looks like one of its own.
        "-Aexplicit-builtin-cfgs-in-flags".to_owned(),
    ];
    let had = Arch::KNOWN.iter().filter(|&&known| arch.has(known));
    flags.extend(had.map(|known| format!("--cfg=target_feature=\"{}\"", known.compute())));
    let known: Vec<String> = Arch::KNOWN
        .iter()
        .map(|known| format!("\"{}\"", known.compute()))
        .collect();
    flags.push(format!(
        "--check-cfg=cfg(target_feature,values({}))",
        known.join(",")
    ));
    flags
}

/// The flags of the GPU crate alone. Code is generated only there, so GPU crates that differ in
/// these flags share the compiled `core` and `alloc`.
pub(crate) fn last_crate_flags(options: &CudaBuilder) -> Result<Vec<String>, Error> {
    let mut flags = Vec::new();
    if !(options.backend_options.iter()).any(|(name, _)| name == ORDINARY_ENTRIES) {
        // `cust` launches the kernels.
        flags.push(format!("-Cllvm-args=--{ORDINARY_ENTRIES}=on"));
    }
    for (name, value) in &options.backend_options {
        let text = value.to_string_lossy();
        if text.contains(char::is_whitespace) {
            return Err(Error::SpaceInPath(value.into()));
        }
        flags.push(format!("-Cllvm-args=--{name}={text}"));
    }
    if options.debug_info == Some(DebugInfo::None) {
        flags.push("-Cdebuginfo=none".to_owned());
    }
    Ok(flags)
}
