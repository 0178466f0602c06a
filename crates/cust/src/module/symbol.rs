//! Global variables of a module, by name.

use std::ffi::{CStr, CString};
use std::marker::PhantomData;

use cust_raw::CUdeviceptr;

use super::Module;
use crate::backend::c_name;
use crate::error::CudaResult;
use crate::memory::{CopyDestination, DeviceCopy, DevicePointer, RangeOnDevice, transfer};

/// The name of a global variable: a Rust string or a C string.
pub trait SymbolName {
    /// Converts the name to a C string.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NulInName`](crate::error::Error::NulInName) if the name contains a NUL
    /// byte.
    fn to_c_name(&self) -> CudaResult<CString>;
}

impl SymbolName for &str {
    fn to_c_name(&self) -> CudaResult<CString> {
        c_name(self)
    }
}

impl SymbolName for &String {
    fn to_c_name(&self) -> CudaResult<CString> {
        c_name(self)
    }
}

impl SymbolName for &CStr {
    fn to_c_name(&self) -> CudaResult<CString> {
        Ok((*self).to_owned())
    }
}

impl SymbolName for &CString {
    fn to_c_name(&self) -> CudaResult<CString> {
        Ok((*self).clone())
    }
}

/// A global variable of type `T` of a module. [`CopyDestination`] reads and writes it.
#[derive(Debug)]
pub struct Symbol<'m, T> {
    module: &'m Module,
    name: String,
    address: CUdeviceptr,
    value: PhantomData<*mut T>,
}

// SAFETY: the address and the module may be used from any thread.
unsafe impl<T: Send> Send for Symbol<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Symbol<'_, T> {}

impl<'m, T: DeviceCopy> Symbol<'m, T> {
    pub(super) fn new(module: &'m Module, name: String, address: CUdeviceptr) -> Symbol<'m, T> {
        Symbol {
            module,
            name,
            address,
            value: PhantomData,
        }
    }

    /// Returns the variable's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn range(&self) -> RangeOnDevice<'_, T> {
        RangeOnDevice::new(self.module.tracker(), self.address, 1)
    }

    /// Returns the variable's device address.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.address)
    }
}

impl<T: DeviceCopy> CopyDestination<T> for Symbol<'_, T> {
    fn copy_from(&mut self, source: &T) -> CudaResult<()> {
        // SAFETY: the lookup checked that the variable has the size of `T`.
        unsafe {
            let source = (source as *const T).cast();
            transfer::host_to_device(self.range(), source, size_of::<T>())
        }
    }

    fn copy_to(&self, destination: &mut T) -> CudaResult<()> {
        // SAFETY: as above.
        unsafe {
            let destination = (destination as *mut T).cast();
            transfer::device_to_host(destination, self.range(), size_of::<T>())
        }
    }
}
