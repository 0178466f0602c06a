//! The environment of the inner cargo.
//!
//! A build script inherits the environment of the user, of rustup's proxy and of the outer cargo.
//! Many of these variables would make the inner cargo build for another target, with other flags or
//! another compiler, or into a directory that the outer cargo has locked.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Cargo's variables that are kept, because they configure cargo in general.
const KEPT: [&str; 8] = [
    "CARGO_BUILD_JOBS",
    "CARGO_HOME",
    "CARGO_MAKEFLAGS",
    "CARGO_HTTP_",
    "CARGO_NET_",
    "CARGO_REGISTR",
    "CARGO_SOURCE_",
    "CARGO_TERM_",
];

/// Variables without the prefix `CARGO_` that belong to the outer build.
const REMOVED: [&str; 17] = [
    "CARGO",
    "DEBUG",
    "HOST",
    "NUM_JOBS",
    "OPT_LEVEL",
    "OUT_DIR",
    "PROFILE",
    "RUSTC",
    "RUSTC_LINKER",
    "RUSTDOC",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
    "RUST_RECURSION_COUNT",
    "RUST_TARGET_PATH",
    "TARGET",
    "CLIPPY_ARGS",
];

/// Returns whether the inner build must not see a variable.
fn is_outer(name: &str) -> bool {
    if name.starts_with("CARGO_") {
        return !KEPT.iter().any(|kept| name.starts_with(kept));
    }
    name.starts_with("DEP_") || name.starts_with("__CARGO") || REMOVED.contains(&name)
}

/// Removes the outer build's variables from a command.
pub fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_outer) {
            command.env_remove(name);
        }
    }
    // Empty, not removed, to override a wrapper in a configuration file, too. A compiler cache does
    // not know that the output depends on the contents of the backend.
    command
        .env("RUSTC_WRAPPER", "")
        .env("RUSTC_WORKSPACE_WRAPPER", "");
    for name in ["LD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"] {
        if let Some(value) = std::env::var_os(name) {
            let kept = library_path_without_outer(&value);
            if kept.is_empty() {
                command.env_remove(name);
            } else {
                command.env(name, kept);
            }
        }
    }
}

/// Removes the directories that rustup and cargo add: the libraries of the outer toolchain and of
/// the outer build. The user's directories stay.
fn library_path_without_outer(value: &OsString) -> OsString {
    let kept = std::env::split_paths(value).filter(|path| {
        let has = |name: &str| path.components().any(|part| part.as_os_str() == name);
        let out_dir = std::env::var_os("OUT_DIR");
        let in_target = out_dir
            .as_deref()
            .and_then(|out_dir| crate::device_build::target_of(Path::new(out_dir)))
            .is_some_and(|target| path.starts_with(target));
        !(path.as_os_str().is_empty() || has("rustlib") || has("toolchains") || in_target)
    });
    std::env::join_paths(kept).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outer_builds_variables_are_known() {
        for name in [
            "CARGO",
            "CARGO_BUILD_TARGET",
            "CARGO_CFG_TARGET_ARCH",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_MANIFEST_DIR",
            "CARGO_PKG_NAME",
            "CARGO_PROFILE_RELEASE_LTO",
            "CARGO_TARGET_DIR",
            "DEP_CUDA_ROOT",
            "RUSTC",
            "RUSTFLAGS",
            "RUSTUP_TOOLCHAIN",
        ] {
            assert!(is_outer(name), "{name}");
        }
        for name in [
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "CARGO_HTTP_PROXY",
            "CARGO_MAKEFLAGS",
            "CUDA_HOME",
            "HOME",
            "PATH",
        ] {
            assert!(!is_outer(name), "{name}");
        }
    }

    #[test]
    fn compiler_wrappers_are_overridden() {
        let mut command = Command::new("cargo");
        clean(&mut command);
        for name in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
            let set = command.get_envs().find(|(of, _)| *of == name);
            assert_eq!(set, Some((name.as_ref(), Some("".as_ref()))));
        }
    }

    #[test]
    fn the_users_library_path_stays() {
        let value = OsString::from("/u/.rustup/toolchains/stable/lib:/opt/mine::/a/rustlib/x/lib");
        assert_eq!(library_path_without_outer(&value), "/opt/mine");
    }
}
