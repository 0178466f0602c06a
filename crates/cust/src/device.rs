//! The devices of a backend, and what they can do.

use std::ffi::CStr;

use cust_raw::{CUdevice, CUdevice_attribute, CUuuid};

use crate::backend::{Api, Backend, api, default_api};
use crate::error::CudaResult;

/// A device: a GPU, or the emulator.
#[derive(Clone, Copy)]
pub struct Device {
    pub(crate) raw: CUdevice,
    pub(crate) api: &'static Api,
}

macro_rules! device_attribute {
    ($($variant:ident = $name:ident;)*) => {
        /// An attribute of a device: a number that the driver tells.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct DeviceAttribute(pub CUdevice_attribute);

        #[allow(non_upper_case_globals)]
        impl DeviceAttribute {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                pub const $variant: DeviceAttribute =
                    DeviceAttribute(CUdevice_attribute::$name);
            )*

            /// Every attribute with its name in `cuda.h`.
            pub const ALL: &'static [(DeviceAttribute, &'static str)] =
                &[$((DeviceAttribute::$variant, stringify!($name)),)*];
        }
    };
}

cust_raw::for_each_device_attribute!(device_attribute);

impl Device {
    /// The number of devices of the default backend.
    pub fn num_devices() -> CudaResult<u32> {
        count(default_api()?)
    }

    /// The device with this number, of the default backend: the one initialised last, else what
    /// `CUST_DEVICE` says, else the GPU.
    pub fn get_device(ordinal: u32) -> CudaResult<Device> {
        get(default_api()?, ordinal)
    }

    /// The device with this number, of the backend given.
    ///
    /// ```
    /// use cust::{Backend, device::Device};
    ///
    /// let device = Device::of(Backend::Emulator, 0)?;
    /// println!("{}", device.name()?);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn of(backend: Backend, ordinal: u32) -> CudaResult<Device> {
        get(api(backend)?, ordinal)
    }

    /// All devices of the default backend.
    pub fn devices() -> CudaResult<impl Iterator<Item = CudaResult<Device>>> {
        let api = default_api()?;
        Ok((0..count(api)?).map(move |ordinal| get(api, ordinal)))
    }

    /// The device's name, such as `NVIDIA H200` or `PTX emulator (2 threads)`.
    pub fn name(&self) -> CudaResult<String> {
        let mut name = [0u8; 256];
        // SAFETY: the buffer is valid for its length, and the driver ends the name with a NUL.
        let result = unsafe {
            let buffer = name.as_mut_ptr().cast();
            self.api
                .driver
                .cuDeviceGetName(buffer, name.len() as i32, self.raw)
        };
        self.check(result, "asking for the name")?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// The device's universally unique number.
    pub fn uuid(&self) -> CudaResult<[u8; 16]> {
        let mut uuid = CUuuid { bytes: [0; 16] };
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { self.api.driver.cuDeviceGetUuid_v2(&mut uuid, self.raw) };
        self.check(result, "asking for the UUID")?;
        Ok(uuid.bytes.map(|byte| byte as u8))
    }

    /// The size of the device's memory in bytes.
    pub fn total_memory(&self) -> CudaResult<usize> {
        let mut bytes = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { self.api.driver.cuDeviceTotalMem_v2(&mut bytes, self.raw) };
        self.check(result, "asking for the size of the memory")?;
        Ok(bytes)
    }

    /// An attribute's value.
    pub fn get_attribute(&self, attribute: DeviceAttribute) -> CudaResult<i32> {
        let mut value = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe {
            self.api
                .driver
                .cuDeviceGetAttribute(&mut value, attribute.0, self.raw)
        };
        self.api.check(result, || {
            format!(
                "device {}: asking for attribute {}",
                self.raw, attribute.0.0
            )
        })?;
        Ok(value)
    }

    /// The compute capability: (9, 0) for `sm_90`.
    pub fn compute_capability(&self) -> CudaResult<(u32, u32)> {
        let major = self.get_attribute(DeviceAttribute::ComputeCapabilityMajor)?;
        let minor = self.get_attribute(DeviceAttribute::ComputeCapabilityMinor)?;
        Ok((major as u32, minor as u32))
    }

    /// The backend that the device belongs to.
    pub fn backend(&self) -> Backend {
        self.api.backend
    }

    /// The driver's number of the device.
    pub fn as_raw(&self) -> CUdevice {
        self.raw
    }

    fn check(&self, result: cust_raw::CUresult, doing: &str) -> CudaResult<()> {
        self.api
            .check(result, || format!("device {}: {doing}", self.raw))
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        self.raw == other.raw && self.api.backend == other.api.backend
    }
}

impl Eq for Device {}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({}, {})", self.api.backend, self.raw)
    }
}

fn count(api: &'static Api) -> CudaResult<u32> {
    let mut count = 0;
    // SAFETY: the pointer is valid for the call.
    let result = unsafe { api.driver.cuDeviceGetCount(&mut count) };
    api.check(result, || "counting the devices".to_owned())?;
    Ok(count as u32)
}

fn get(api: &'static Api, ordinal: u32) -> CudaResult<Device> {
    let mut raw = 0;
    // SAFETY: the pointer is valid for the call.
    let result = unsafe { api.driver.cuDeviceGet(&mut raw, ordinal as i32) };
    api.check(result, || {
        format!("opening device {ordinal} of the {}", api.backend)
    })?;
    Ok(Device { raw, api })
}
