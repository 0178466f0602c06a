//! The devices' drivers: libcuda for GPUs, the emulator's functions for the emulator, both as the
//! same table. Everything else in this crate reaches a device through the [`Api`] chosen here.

use std::ffi::CStr;
use std::sync::{OnceLock, RwLock};

use cust_raw::{CUresult, Driver, LoadError};

use crate::error::{CudaError, CudaResult, DriverError, Error};

/// The environment variable that says which backend to use: `gpu` or `emulator`.
pub const DEVICE_VARIABLE: &str = "CUST_DEVICE";

/// What executes kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// NVIDIA's driver, loaded from libcuda at run time.
    Gpu,
    /// The PTX emulator, in this process, on the CPU.
    Emulator,
}

impl Backend {
    /// What the environment variable `CUST_DEVICE` says, if it is set.
    pub fn from_env() -> CudaResult<Option<Backend>> {
        match std::env::var(DEVICE_VARIABLE) {
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(value)) => Err(Error::UnknownBackend {
                value: value.to_string_lossy().into_owned(),
            }),
            Ok(value) => Backend::parse(&value),
        }
    }

    fn parse(value: &str) -> CudaResult<Option<Backend>> {
        match value {
            "" => Ok(None),
            "gpu" => Ok(Some(Backend::Gpu)),
            "emulator" => Ok(Some(Backend::Emulator)),
            _ => Err(Error::UnknownBackend {
                value: value.to_owned(),
            }),
        }
    }
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Backend::Gpu => "GPU",
            Backend::Emulator => "emulator",
        })
    }
}

/// A driver's functions, initialised.
pub(crate) struct Api {
    pub(crate) driver: &'static Driver,
    pub(crate) backend: Backend,
}

static GPU: OnceLock<CudaResult<Api>> = OnceLock::new();
static EMULATOR: OnceLock<CudaResult<Api>> = OnceLock::new();

/// The backend that functions without a context use, such as `Device::get_device`.
static DEFAULT: RwLock<Option<Backend>> = RwLock::new(None);

/// Makes `backend` what `Device::get_device` and its like refer to.
pub(crate) fn set_default(backend: Backend) {
    *DEFAULT.write().unwrap_or_else(|e| e.into_inner()) = Some(backend);
}

/// The backend last initialised, else what the environment says, else the GPU.
pub(crate) fn default_api() -> CudaResult<&'static Api> {
    let chosen = *DEFAULT.read().unwrap_or_else(|e| e.into_inner());
    let backend = match chosen {
        Some(backend) => backend,
        None => Backend::from_env()?.unwrap_or(Backend::Gpu),
    };
    api(backend)
}

/// The backend's functions; loads and initialises the driver on the first call.
pub(crate) fn api(backend: Backend) -> CudaResult<&'static Api> {
    let loaded = match backend {
        Backend::Gpu => GPU.get_or_init(|| {
            let driver = Driver::load().map_err(|error| no_driver(&error))?;
            // The driver stays loaded for the process: its functions are called from `Drop`.
            Api::initialise(Box::leak(Box::new(driver)), Backend::Gpu)
        }),
        Backend::Emulator => EMULATOR
            .get_or_init(|| Api::initialise(ptx_emulator::driver::driver(), Backend::Emulator)),
    };
    loaded.as_ref().map_err(Clone::clone)
}

fn no_driver(error: &LoadError) -> Error {
    Error::NoDriver {
        reason: error.to_string(),
    }
}

impl Api {
    fn initialise(driver: &'static Driver, backend: Backend) -> CudaResult<Api> {
        let api = Api { driver, backend };
        // SAFETY: `cuInit` takes no pointers.
        let result = unsafe { driver.cuInit(0) };
        match CudaError::from_raw(result) {
            None => Ok(api),
            Some(
                code @ (CudaError::NoDevice | CudaError::InvalidDevice | CudaError::StubLibrary),
            ) => Err(Error::NoDevice {
                code,
                text: api.text(result),
            }),
            Some(_) => {
                api.check(result, || "initialising the CUDA driver".to_owned())?;
                Ok(api)
            }
        }
    }

    /// The driver's text for a result code.
    pub(crate) fn text(&self, result: CUresult) -> String {
        let mut text = std::ptr::null();
        // SAFETY: `text` is valid for the call; the driver's strings live as long as it does.
        unsafe {
            let found = self.driver.cuGetErrorString(result, &mut text);
            if found != CUresult::CUDA_SUCCESS || text.is_null() {
                return "no text".to_owned();
            }
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }

    /// Turns a result code into an error that says what was being done.
    #[inline]
    pub(crate) fn check(&self, result: CUresult, doing: impl FnOnce() -> String) -> CudaResult<()> {
        if result == CUresult::CUDA_SUCCESS {
            return Ok(());
        }
        if CudaError::from_raw(result).is_some_and(CudaError::is_sticky) {
            crate::context::note_lost(result);
        }
        Err(self.error(result, doing()))
    }

    #[cold]
    pub(crate) fn error(&self, result: CUresult, doing: String) -> Error {
        let code = CudaError::from_raw(result).unwrap_or(CudaError::Unknown);
        let detail = match self.backend {
            Backend::Emulator if code.is_sticky() => ptx_emulator::driver::last_fault(),
            _ => None,
        };
        Error::Driver(Box::new(DriverError {
            code,
            text: self.text(result),
            doing,
            detail,
            kernels: Vec::new(),
        }))
    }

    /// The CUDA version that the driver supports, as 1000 × major + 10 × minor.
    pub(crate) fn version(&self) -> CudaResult<i32> {
        let mut version = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { self.driver.cuDriverGetVersion(&mut version) };
        self.check(result, || "asking for the driver's version".to_owned())?;
        Ok(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_a_backend() {
        assert_eq!(Backend::parse("gpu"), Ok(Some(Backend::Gpu)));
        assert_eq!(Backend::parse("emulator"), Ok(Some(Backend::Emulator)));
        assert_eq!(Backend::parse(""), Ok(None));
        assert_eq!(
            Backend::parse("cpu").unwrap_err().to_string(),
            "CUST_DEVICE is `cpu`, but it has to be `gpu` or `emulator`"
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri loads no libraries")]
    fn no_driver_says_what_was_searched_and_what_to_do() {
        let error = Driver::load_from(&["libcuda-absent.so.1"]).unwrap_err();
        let text = no_driver(&error).to_string();
        assert!(text.contains("libcuda-absent.so.1"), "{text}");
        assert!(text.contains("CUST_DEVICE=emulator"), "{text}");
        assert!(text.contains("Backend::Emulator"), "{text}");
    }
}
