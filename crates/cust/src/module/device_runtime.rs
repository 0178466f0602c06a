//! The CUDA device runtime library, `libcudadevrt.a` or `cudadevrt.lib`, which contains the
//! functions with which kernels set conditions of graphs and launch other kernels. It is part of
//! the CUDA toolkit, not of the driver. The driver's linker must support its version.

use std::ffi::OsString;
use std::path::PathBuf;

use super::linker::{LinkInput, Linker};
use crate::error::{CudaResult, Error};

/// The environment variable that contains the path of the CUDA device runtime library.
pub const DEVICE_RUNTIME_VARIABLE: &str = "CUST_CUDADEVRT";

/// The library's functions that kernels call.
const FUNCTIONS: &[&str] = &[
    "cudaGraphSetConditional",
    "cudaLaunchDevice",
    "cudaGetParameterBuffer",
    "cudaCDP2LaunchDevice",
    "__cudaCDP2LaunchDevice",
];

/// Returns whether PTX declares a function of the library.
pub(super) fn is_called(ptx: &str) -> bool {
    let is_one = |name: &&str| FUNCTIONS.iter().any(|function| name.starts_with(function));
    ptx::external_functions(ptx).iter().any(is_one)
}

/// Returns the paths to search for the library, for an operating system and a processor with the
/// names of `std::env::consts`.
fn places(os: &str, arch: &str, variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    if let Some(path) = variable(DEVICE_RUNTIME_VARIABLE) {
        return vec![path.into()];
    }
    let mut roots: Vec<PathBuf> = Vec::new();
    for name in ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"] {
        roots.extend(variable(name).map(PathBuf::from));
    }
    if os == "windows" {
        let files = roots.iter().map(|root| root.join("lib/x64/cudadevrt.lib"));
        return files.collect();
    }
    const LIBRARY: &str = "libcudadevrt.a";
    roots.push("/usr/local/cuda".into());
    roots.push("/opt/cuda".into());
    // Those of Arm are of servers and of Jetson boards.
    let (targets, system): (&[&str], _) = match arch {
        "aarch64" => (
            &["targets/sbsa-linux/lib", "targets/aarch64-linux/lib"],
            "/usr/lib/aarch64-linux-gnu",
        ),
        _ => (&["targets/x86_64-linux/lib"], "/usr/lib/x86_64-linux-gnu"),
    };
    let mut places: Vec<PathBuf> = Vec::new();
    for root in roots {
        let parts = ["lib64", "lib"].iter().chain(targets);
        places.extend(parts.map(|part| root.join(part).join(LIBRARY)));
    }
    places.push(PathBuf::from(system).join(LIBRARY));
    places
}

impl Linker {
    /// Adds the CUDA device runtime library, which is required by kernels that set conditions of
    /// graphs or launch kernels.
    ///
    /// The library's path is the value of the environment variable `CUST_CUDADEVRT`. If the
    /// variable is not set, the library is searched for in the CUDA toolkit (`CUDA_PATH`,
    /// `CUDA_HOME`, `CUDA_ROOT`; on Linux also `/usr/local/cuda`, `/opt/cuda`) and in
    /// `/usr/lib/x86_64-linux-gnu` or `/usr/lib/aarch64-linux-gnu`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::DeviceRuntime`] if the library is not found, and the driver's error if it
    /// does not support the library's version.
    pub fn add_device_runtime(&mut self) -> CudaResult<()> {
        let variable = |name: &str| std::env::var_os(name);
        let places = places(std::env::consts::OS, std::env::consts::ARCH, variable);
        match places.iter().find(|place| place.is_file()) {
            // SAFETY: the library is part of the CUDA toolkit.
            Some(place) => unsafe { self.add_file(LinkInput::Library, place) },
            None => Err(Error::DeviceRuntime {
                searched: places
                    .iter()
                    .map(|place| place.display().to_string())
                    .collect(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_platforms() {
        let places = |os, arch, variables: &[(&str, &str)]| {
            let variable = |name: &str| {
                let value = variables.iter().find(|(of, _)| *of == name);
                value.map(|(_, value)| OsString::from(value))
            };
            let places = places(os, arch, variable);
            let text = places.iter().map(|place| place.display().to_string());
            text.collect::<Vec<_>>()
        };
        let arm = places("linux", "aarch64", &[]);
        for root in ["/usr/local/cuda", "/opt/cuda"] {
            for part in [
                "lib64",
                "targets/sbsa-linux/lib",
                "targets/aarch64-linux/lib",
            ] {
                assert!(arm.contains(&format!("{root}/{part}/libcudadevrt.a")));
            }
        }
        assert_eq!(
            arm.last().unwrap(),
            "/usr/lib/aarch64-linux-gnu/libcudadevrt.a"
        );
        let x86 = places("linux", "x86_64", &[("CUDA_HOME", "/c")]);
        assert_eq!(x86[0], "/c/lib64/libcudadevrt.a");
        assert!(!x86.iter().any(|place| place.contains("aarch64")));
        let variables = [("CUDA_PATH", "/c")];
        assert_eq!(
            places("windows", "x86_64", &variables),
            ["/c/lib/x64/cudadevrt.lib"]
        );
        assert_eq!(
            places("windows", "x86_64", &[(DEVICE_RUNTIME_VARIABLE, "/d")]),
            ["/d"]
        );
    }

    #[test]
    fn declarations_are_found() {
        assert!(is_called(
            ".extern .func cudaGraphSetConditional\n(\n.param .b64 a, .param .b32 b\n)\n;"
        ));
        assert!(!is_called(
            ".visible .entry cudaGraphSetConditional_test() { ret; }"
        ));
        assert!(!is_called(
            ".extern .func vprintf(.param .b64 a);\n.entry k() { ret; }"
        ));
    }
}
