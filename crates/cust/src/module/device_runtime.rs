//! The CUDA device runtime library, `libcudadevrt.a`, which contains the functions with which
//! kernels set conditions of graphs and launch other kernels. It is part of the CUDA toolkit, not
//! of the driver. The driver's linker must support its version.

use std::path::PathBuf;

use super::linker::{LinkInput, Linker};
use crate::error::{CudaResult, Error};

const LIBRARY: &str = "libcudadevrt.a";

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

/// Returns the paths to search for the library.
fn places() -> Vec<PathBuf> {
    if let Some(path) = std::env::var_os(DEVICE_RUNTIME_VARIABLE) {
        return vec![path.into()];
    }
    let mut roots: Vec<PathBuf> = Vec::new();
    for variable in ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"] {
        roots.extend(std::env::var_os(variable).map(PathBuf::from));
    }
    roots.push("/usr/local/cuda".into());
    roots.push("/opt/cuda".into());
    let parts = [
        "lib64",
        "lib",
        "targets/x86_64-linux/lib",
        "targets/sbsa-linux/lib",
    ];
    let mut places: Vec<PathBuf> = Vec::new();
    for root in roots {
        places.extend(parts.iter().map(|part| root.join(part).join(LIBRARY)));
    }
    places.push(PathBuf::from("/usr/lib/x86_64-linux-gnu").join(LIBRARY));
    places
}

impl Linker {
    /// Adds the CUDA device runtime library, which is required by kernels that set conditions of
    /// graphs or launch kernels.
    ///
    /// The library's path is the value of the environment variable `CUST_CUDADEVRT`. If the
    /// variable is not set, the library is searched for in the CUDA toolkit (`CUDA_PATH`,
    /// `CUDA_HOME`, `CUDA_ROOT`, `/usr/local/cuda`, `/opt/cuda`) and in
    /// `/usr/lib/x86_64-linux-gnu`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::DeviceRuntime`] if the library is not found, and the driver's error if it
    /// does not support the library's version.
    pub fn add_device_runtime(&mut self) -> CudaResult<()> {
        let places = places();
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
