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

/// The flags by which crates know that they are compiled for host and device at once.
const CONFIGURATION: [&str; 3] = [
    "--cfg=nvvm_single_source",
    "--check-cfg=cfg(nvvm_single_source)",
    "--check-cfg=cfg(nvvm_options,values(any()))",
];

/// The flags that make the tool attributes `nvvm::…` known.
const ATTRIBUTES: [&str; 2] = [
    "-Zcrate-attr=feature(register_tool)",
    "-Zcrate-attr=register_tool(nvvm)",
];

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

/// The flags of a compilation.
pub fn codegen(backend: &Path) -> Vec<String> {
    let mut flags = check();
    flags.extend(ALL_CRATES.map(str::to_owned));
    // The list of files that cargo watches then has the backend.
    flags.push("-Zbinary-dep-depinfo".to_owned());
    flags.push(format!("-Zcodegen-backend={}", backend.display()));
    flags
}
