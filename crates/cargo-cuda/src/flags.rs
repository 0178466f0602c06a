//! The flags of single-source crates.

use std::path::Path;

/// The flags for every crate that kernels can reach, the standard library included.
pub const ALL_CRATES: [&str; 3] = [
    // The crate with a kernel compiles everything that the kernel reaches, from MIR.
    "-Zalways-encode-mir",
    // It duplicates barriers, so that the threads of a warp no longer meet at one.
    "-Zmir-enable-passes=-JumpThreading",
    // libnvvm takes no dots and no dollars in names.
    "-Csymbol-mangling-version=v0",
];

/// The `cfg` by which cargo marks build scripts, procedural macros and their libraries. It comes from
/// the configuration's table `host`.
pub const BUILD_TIME: &str = "nvvm_build_time";

/// The variables that make cargo read the table `host`, which is unstable, without `--target`.
pub const HOST_TABLE: [(&str, &str); 3] = [
    ("CARGO_UNSTABLE_HOST_CONFIG", "true"),
    ("CARGO_UNSTABLE_TARGET_APPLIES_TO_HOST", "true"),
    ("CARGO_TARGET_APPLIES_TO_HOST", "false"),
];

/// The variable with the flags of the table `host`, which cargo adds to those of files.
pub const HOST_FLAGS: &str = "CARGO_HOST_RUSTFLAGS";

/// The variable by which `.cargo/config.toml` tells the macros of `cuda_std` that this program has to
/// call rustc.
pub const PREPARED: &str = "CARGO_CUDA_PREPARED";

/// The variable by which this program tells them that it does.
pub const WRAPPED: &str = "CARGO_CUDA_WRAPPED";

/// Returns the flag with [`BUILD_TIME`].
pub fn build_time() -> String {
    format!("--cfg={BUILD_TIME}")
}

/// The flags by which crates know that they are compiled for host and device at once.
const CONFIGURATION: [&str; 3] = [
    "--cfg=nvvm_single_source",
    "--check-cfg=cfg(nvvm_single_source)",
    "--check-cfg=cfg(nvvm_options,values(any()))",
];

/// The flags that make the tool attributes `nvvm::…` known. Queries do not have them: rust-analyzer
/// takes the `cfg`s from a query, and reports attributes of a tool that the crate itself does not
/// register.
const ATTRIBUTES: [&str; 4] = [
    "--cfg=nvvm_tool",
    "--check-cfg=cfg(nvvm_tool)",
    "-Zcrate-attr=feature(register_tool)",
    "-Zcrate-attr=register_tool(nvvm)",
];

/// The flag that selects the backend, before its path.
const BACKEND: &str = "-Zcodegen-backend=";

/// The flag that selects the standard library.
pub fn sysroot(sysroot: &Path) -> String {
    format!("--sysroot={}", sysroot.display())
}

/// The flags of a query.
pub fn query() -> Vec<String> {
    CONFIGURATION.map(str::to_owned).into()
}

/// The flags of a type check.
pub fn check() -> Vec<String> {
    [&CONFIGURATION[..], &ATTRIBUTES]
        .concat()
        .iter()
        .map(|&flag| flag.to_owned())
        .collect()
}

/// The flags of a compilation without `cuda_std` among its dependencies: rustc's own backend
/// compiles it.
pub fn library() -> Vec<String> {
    let mut flags = check();
    flags.extend(ALL_CRATES.map(str::to_owned));
    flags
}

/// The flags of a compilation that can have kernels.
pub fn kernels(backend: &Path) -> Vec<String> {
    let mut flags = library();
    // The list of files that cargo watches then has the backend.
    flags.push("-Zbinary-dep-depinfo".to_owned());
    flags.push(format!("{BACKEND}{}", backend.display()));
    flags
}

/// Returns whether a flag selects the backend.
pub fn is_backend(flag: &str) -> bool {
    flag.starts_with(BACKEND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_compilations_have_the_tool() {
        let tool = "--cfg=nvvm_tool".to_owned();
        assert!(!query().contains(&tool));
        let backend = kernels(Path::new("backend"));
        for flags in [check(), library(), backend] {
            assert!(flags.contains(&tool), "{flags:?}");
        }
    }
}
