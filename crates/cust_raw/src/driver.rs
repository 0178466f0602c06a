//! The table of the driver's functions, and its loading from libcuda.

// The table's rows use the header's own names for functions and parameters.
#![allow(non_snake_case)]

use core::ffi::*;

use crate::bindings::*;

/// An error of [`Driver::load`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The dynamic loader found none of the libraries.
    #[error("no CUDA driver library could be loaded: {}", tried.join("; "))]
    NotFound {
        /// The libraries that were tried, each with the loader's message.
        tried: Vec<String>,
    },
    /// The loaded library does not export the driver's functions.
    #[error("`{library}` was loaded, but it is not the CUDA driver: it does not export `{symbol}`")]
    NotADriver {
        /// The library.
        library: String,
        /// A missing function that every driver exports.
        symbol: &'static str,
    },
}

/// The names under which the driver library is searched, in order: first on the loader's search
/// path, then at the paths of WSL and of Jetson boards, which the search path may lack.
const LIBRARIES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else if cfg!(target_arch = "aarch64") {
    &[
        "libcuda.so.1",
        "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1",
        "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1",
    ]
} else {
    &["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"]
};

/// Older names of functions, for drivers that lack the newer ones.
const OLDER_NAMES: &[(&str, &str)] = &[
    ("cuEventElapsedTime_v2", "cuEventElapsedTime"),
    ("cuDeviceGetUuid_v2", "cuDeviceGetUuid"),
];

impl Driver {
    /// Loads the installed driver's library.
    ///
    /// A function that the installed driver lacks is replaced by one that returns
    /// `CUDA_ERROR_NOT_FOUND`, so that a program that does not call it runs on older drivers.
    /// [`Driver::missing`] lists these functions.
    pub fn load() -> Result<Driver, LoadError> {
        Driver::load_from(LIBRARIES)
    }

    /// Loads the first of `libraries` that the dynamic loader accepts. Each is a path, or a file
    /// name on the loader's search path.
    pub fn load_from(libraries: &[&str]) -> Result<Driver, LoadError> {
        let mut tried = Vec::new();
        for &name in libraries {
            // SAFETY: the driver's initializers are trusted, as by every CUDA program.
            match unsafe { libloading::Library::new(name) } {
                Ok(library) => return Driver::from_library(library, name),
                Err(error) => tried.push(error_text(name, &error)),
            }
        }
        Err(LoadError::NotFound { tried })
    }
}

/// Returns the loader's message, prefixed with the library's name unless it contains it.
fn error_text(name: &str, error: &libloading::Error) -> String {
    let error = match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    };
    if error.contains(name) {
        error
    } else {
        format!("{name}: {error}")
    }
}

/// Resolves the exported function `name`, or its older equivalent.
fn symbol<T: Copy>(library: &libloading::Library, name: &str) -> Option<T> {
    let older = OLDER_NAMES.iter().find(|(newer, _)| *newer == name);
    let names = [Some(name), older.map(|(_, older)| *older)];
    names.into_iter().flatten().find_map(|name| {
        // SAFETY: `T` is the function's type as `cuda.h` declares it for this name.
        unsafe { library.get::<T>(name.as_bytes()) }
            .ok()
            .map(|symbol| *symbol)
    })
}

macro_rules! driver_functions {
    ($($name:ident($($parameter:ident: $type:ty),*);)*) => {
        /// The functions of the driver API: a field for each exported name, and a method of the
        /// same name that calls it.
        #[allow(missing_docs)]
        pub struct Driver {
            $(pub $name: unsafe extern "C" fn($($parameter: $type),*) -> CUresult,)*
            missing: Vec<&'static str>,
            /// Keeps the functions' code loaded.
            _library: Option<libloading::Library>,
        }

        #[allow(missing_docs, clippy::missing_safety_doc, clippy::too_many_arguments)]
        impl Driver {
            $(
                #[doc = concat!("Calls `", stringify!($name), "`.")]
                #[inline]
                pub unsafe fn $name(&self, $($parameter: $type),*) -> CUresult {
                    // SAFETY: the caller keeps the function's own contract.
                    unsafe { (self.$name)($($parameter),*) }
                }
            )*
        }

        impl Driver {
            /// The names of all functions in the table.
            pub const FUNCTIONS: &'static [&'static str] = &[$(stringify!($name)),*];

            /// Creates a table in which every function returns `CUDA_ERROR_NOT_SUPPORTED`. A
            /// software device overwrites the fields that it implements.
            pub fn unsupported() -> Driver {
                Driver {
                    $($name: stand_in::not_supported::$name,)*
                    missing: Vec::new(),
                    _library: None,
                }
            }

            /// Returns the functions that the loaded library does not export.
            pub fn missing(&self) -> &[&'static str] {
                &self.missing
            }

            fn from_library(
                library: libloading::Library,
                name: &str,
            ) -> Result<Driver, LoadError> {
                let mut missing = Vec::new();
                $(
                    let $name = symbol(&library, stringify!($name)).unwrap_or_else(|| {
                        missing.push(stringify!($name));
                        stand_in::not_found::$name
                            as unsafe extern "C" fn($($parameter: $type),*) -> CUresult
                    });
                )*
                if missing.contains(&"cuInit") {
                    return Err(LoadError::NotADriver {
                        library: name.to_owned(),
                        symbol: "cuInit",
                    });
                }
                Ok(Driver {
                    $($name,)*
                    missing,
                    _library: Some(library),
                })
            }
        }

        /// Functions with the right signatures that only return a code.
        #[allow(unused_variables)]
        mod stand_in {
            pub(super) mod not_supported {
                use crate::driver::*;
                $(pub(in crate::driver) unsafe extern "C" fn $name(
                    $($parameter: $type),*
                ) -> CUresult {
                    CUresult::CUDA_ERROR_NOT_SUPPORTED
                })*
            }

            pub(super) mod not_found {
                use crate::driver::*;
                $(pub(in crate::driver) unsafe extern "C" fn $name(
                    $($parameter: $type),*
                ) -> CUresult {
                    CUresult::CUDA_ERROR_NOT_FOUND
                })*
            }
        }

        impl std::fmt::Debug for Driver {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct("Driver")
                    .field("functions", &Driver::FUNCTIONS.len())
                    .field("missing", &self.missing)
                    .finish_non_exhaustive()
            }
        }
    };
}

macro_rules! driver_results {
    ($($camel:ident = $name:ident;)*) => {
        impl CUresult {
            /// Every result code except success, with its name in `cuda.h`.
            pub const ERRORS: &'static [(CUresult, &'static str)] =
                &[$((CUresult::$name, stringify!($name)),)*];
        }

        /// Calls the macro `$callback` with one row `CamelCase = CUDA_ERROR_NAME;` for each
        /// result code of `cuda.h` but success.
        #[macro_export]
        macro_rules! for_each_result {
            ($callback:ident) => {
                $callback! { $($camel = $name;)* }
            };
        }
    };
}

macro_rules! device_attributes {
    ($($camel:ident = $name:ident;)*) => {
        /// Calls the macro `$callback` with one row `CamelCase = CU_DEVICE_ATTRIBUTE_NAME;` for
        /// each device attribute of `cuda.h`.
        #[macro_export]
        macro_rules! for_each_device_attribute {
            ($callback:ident) => {
                $callback! { $($camel = $name;)* }
            };
        }
    };
}

include!("functions.rs");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_driver_answers_every_call() {
        let driver = Driver::unsupported();
        let mut version = 0;
        // SAFETY: the replacements access no argument.
        unsafe {
            assert_eq!(driver.cuInit(0), CUresult::CUDA_ERROR_NOT_SUPPORTED);
            assert_eq!(
                driver.cuDriverGetVersion(&mut version),
                CUresult::CUDA_ERROR_NOT_SUPPORTED
            );
        }
        assert!(Driver::FUNCTIONS.len() > 400);
        assert!(Driver::FUNCTIONS.contains(&"cuMemAlloc_v2"));
        assert!(driver.missing().is_empty());
    }

    #[test]
    fn missing_library_says_what_was_tried() {
        let error = Driver::load_from(&["libcuda-is-not-here.so.1"]).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, LoadError::NotFound { .. }));
        assert!(text.contains("libcuda-is-not-here.so.1"), "{text}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_library_that_is_no_driver_is_refused() {
        let error = Driver::load_from(&["libc.so.6"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`libc.so.6` was loaded, but it is not the CUDA driver: it does not export `cuInit`"
        );
    }

    #[test]
    fn result_names_match_their_codes() {
        let find = |code| CUresult::ERRORS.iter().find(|(c, _)| *c == CUresult(code));
        assert_eq!(find(1).unwrap().1, "CUDA_ERROR_INVALID_VALUE");
        assert_eq!(find(700).unwrap().1, "CUDA_ERROR_ILLEGAL_ADDRESS");
        assert_eq!(find(999).unwrap().1, "CUDA_ERROR_UNKNOWN");
    }
}
