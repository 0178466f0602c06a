//! Backends: libcuda for GPUs, and the PTX emulator, behind the same table of driver functions. The
//! rest of this crate accesses devices through [`Api`].

use std::ffi::{CStr, CString};
use std::sync::{OnceLock, RwLock};

use cust_raw::{CUresult, Driver, LoadError};

use crate::error::{CudaError, CudaResult, DriverError, Error};

/// The environment variable that selects the backend: `gpu` or `emulator`.
pub const DEVICE_VARIABLE: &str = "CUST_DEVICE";

/// An implementation of the driver API, which executes kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// NVIDIA's driver, loaded from libcuda at run time.
    Gpu,
    /// The PTX emulator, which runs on the CPU in this process.
    Emulator,
}

impl Backend {
    /// Returns the backend that the environment variable `CUST_DEVICE` selects, or `None` if the
    /// variable is unset or empty.
    ///
    /// # Errors
    ///
    /// Returns [`Error::UnknownBackend`] if the variable has another value than `gpu` or
    /// `emulator`.
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

/// The functions of an initialized driver.
pub(crate) struct Api {
    pub(crate) driver: &'static Driver,
    pub(crate) backend: Backend,
}

static GPU: OnceLock<CudaResult<Api>> = OnceLock::new();
static EMULATOR: OnceLock<CudaResult<Api>> = OnceLock::new();

/// The backend that functions without a context use, such as `Device::get_device`.
static DEFAULT: RwLock<Option<Backend>> = RwLock::new(None);

/// Records a fault of the context that is current on this thread. Set by the first context.
static RECORD_FAULT: OnceLock<fn(CUresult)> = OnceLock::new();

/// Sets the function that [`Api::check`] calls for a result code that means a lost context.
pub(crate) fn on_fault(record_fault: fn(CUresult)) {
    let _ = RECORD_FAULT.set(record_fault);
}

/// Makes `backend` the default of functions without a context, such as `Device::get_device`.
pub(crate) fn set_default(backend: Backend) {
    *DEFAULT.write().unwrap_or_else(|e| e.into_inner()) = Some(backend);
}

/// Returns the default backend's functions: the backend of the context created last, else the one
/// that `CUST_DEVICE` selects, else the GPU.
pub(crate) fn default_api() -> CudaResult<&'static Api> {
    let chosen = *DEFAULT.read().unwrap_or_else(|e| e.into_inner());
    let backend = match chosen {
        Some(backend) => backend,
        None => Backend::from_env()?.unwrap_or(Backend::Gpu),
    };
    api(backend)
}

/// Returns the backend's functions. The first call loads and initializes the driver.
pub(crate) fn api(backend: Backend) -> CudaResult<&'static Api> {
    let loaded = match backend {
        Backend::Gpu => GPU.get_or_init(|| {
            let driver = Driver::load().map_err(|error| no_driver(&error))?;
            // The driver is never unloaded: `Drop` implementations call its functions.
            Api::initialize(Box::leak(Box::new(driver)), Backend::Gpu)
        }),
        Backend::Emulator => EMULATOR
            .get_or_init(|| Api::initialize(ptx_emulator::driver::driver(), Backend::Emulator)),
    };
    loaded.as_ref().map_err(Clone::clone)
}

/// Converts a name to a C string.
pub(crate) fn c_name(name: &str) -> CudaResult<CString> {
    CString::new(name).map_err(|_| Error::NulInName {
        name: name.to_owned(),
    })
}

fn no_driver(error: &LoadError) -> Error {
    Error::NoDriver {
        reason: error.to_string(),
    }
}

impl Api {
    fn initialize(driver: &'static Driver, backend: Backend) -> CudaResult<Api> {
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
                api.check(result, || "initializing the CUDA driver".to_owned())?;
                Ok(api)
            }
        }
    }

    /// Returns the driver's description of a result code.
    pub(crate) fn text(&self, result: CUresult) -> String {
        let mut text = std::ptr::null();
        // SAFETY: `text` is valid for the call; the driver's strings live as long as it does.
        unsafe {
            let found = self.driver.cuGetErrorString(result, &mut text);
            if found != CUresult::CUDA_SUCCESS || text.is_null() {
                return "no description".to_owned();
            }
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }

    /// Converts a result code into an error. `doing` describes the failed operation.
    #[inline]
    pub(crate) fn check(&self, result: CUresult, doing: impl FnOnce() -> String) -> CudaResult<()> {
        if result == CUresult::CUDA_SUCCESS {
            return Ok(());
        }
        if CudaError::from_raw(result).is_some_and(CudaError::is_sticky)
            && let Some(record_fault) = RECORD_FAULT.get()
        {
            record_fault(result);
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

    /// Returns the CUDA version that the driver supports, as 1000 × major + 10 × minor.
    pub(crate) fn version(&self) -> CudaResult<i32> {
        let mut version = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { self.driver.cuDriverGetVersion(&mut version) };
        self.check(result, || "querying the driver's version".to_owned())?;
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
            "invalid value `cpu` of CUST_DEVICE: expected `gpu` or `emulator`"
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
