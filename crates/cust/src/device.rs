//! The devices of a backend, and their attributes.
//!
//! # Examples
//!
//! ```
//! use cust::device::{Device, DeviceAttribute};
//!
//! let device = Device::of(cust::Backend::Emulator, 0)?;
//! let (major, minor) = device.compute_capability()?;
//! let multiprocessors = device.get_attribute(DeviceAttribute::MultiprocessorCount)?;
//! println!("{}: sm_{major}{minor}, {multiprocessors} multiprocessors", device.name()?);
//! # Ok::<(), cust::error::Error>(())
//! ```

use std::ffi::CStr;

use cust_raw::{CUdevice, CUdevice_P2PAttribute, CUdevice_attribute, CUuuid};

use crate::backend::{Api, Backend, api, c_name, default_api};
use crate::error::{CudaResult, Error};

/// A device: a GPU, or the emulator.
#[derive(Clone, Copy)]
pub struct Device {
    pub(crate) raw: CUdevice,
    pub(crate) api: &'static Api,
}

macro_rules! device_attribute {
    ($($variant:ident = $name:ident;)*) => {
        /// An attribute of a device.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct DeviceAttribute(pub CUdevice_attribute);

        #[allow(non_upper_case_globals)]
        impl DeviceAttribute {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                pub const $variant: DeviceAttribute =
                    DeviceAttribute(CUdevice_attribute::$name);
            )*

            /// All attributes with their names in `cuda.h`.
            pub const ALL: &'static [(DeviceAttribute, &'static str)] =
                &[$((DeviceAttribute::$variant, stringify!($name)),)*];
        }
    };
}

cust_raw::for_each_device_attribute!(device_attribute);

impl Device {
    /// Returns the number of devices of the default backend.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoDriver`] or [`Error::NoDevice`] if the backend is not available.
    pub fn num_devices() -> CudaResult<u32> {
        count(default_api()?)
    }

    /// Returns a device of the default backend by its ordinal.
    ///
    /// The default backend is that of the context created last, else the one that `CUST_DEVICE`
    /// selects, else the GPU.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if there is no device with this ordinal.
    pub fn get_device(ordinal: u32) -> CudaResult<Device> {
        get(default_api()?, ordinal)
    }

    /// Returns a device of the given backend by its ordinal.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if there is no device with this ordinal.
    ///
    /// # Examples
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

    /// Returns an iterator over all devices of the default backend.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoDriver`] or [`Error::NoDevice`] if the backend is not available.
    pub fn devices() -> CudaResult<impl Iterator<Item = CudaResult<Device>>> {
        all(default_api()?)
    }

    /// Returns an iterator over all devices of this device's backend.
    pub(crate) fn all_of_backend(&self) -> CudaResult<impl Iterator<Item = CudaResult<Device>>> {
        all(self.api)
    }

    /// Returns the device's name, such as `NVIDIA H200` or `PTX emulator (2 threads)`.
    ///
    /// # Errors
    ///
    /// Returns the driver's error.
    pub fn name(&self) -> CudaResult<String> {
        let mut name = [0u8; 256];
        // SAFETY: the buffer is valid for its length, and the driver terminates the name with a
        // NUL.
        let result = unsafe {
            let buffer = name.as_mut_ptr().cast();
            self.api
                .driver
                .cuDeviceGetName(buffer, name.len() as i32, self.raw)
        };
        self.check(result, "querying the name")?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// Returns the device's UUID.
    ///
    /// # Errors
    ///
    /// Returns the driver's error.
    pub fn uuid(&self) -> CudaResult<[u8; 16]> {
        let mut uuid = CUuuid { bytes: [0; 16] };
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { self.api.driver.cuDeviceGetUuid_v2(&mut uuid, self.raw) };
        self.check(result, "querying the UUID")?;
        Ok(uuid.bytes.map(|byte| byte as u8))
    }

    /// Returns the size of the device's memory in bytes.
    ///
    /// # Errors
    ///
    /// Returns the driver's error.
    pub fn total_memory(&self) -> CudaResult<usize> {
        let mut bytes = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { self.api.driver.cuDeviceTotalMem_v2(&mut bytes, self.raw) };
        self.check(result, "querying the size of the memory")?;
        Ok(bytes)
    }

    /// Returns an attribute of the device.
    ///
    /// # Errors
    ///
    /// Returns the driver's error for an attribute that it does not know.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let context = cust::quick_init_on(Backend::Emulator)?;
    /// let device = context.device();
    /// assert_eq!(device.get_attribute(DeviceAttribute::WarpSize)?, 32);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn get_attribute(&self, attribute: DeviceAttribute) -> CudaResult<i32> {
        let mut value = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe {
            self.api
                .driver
                .cuDeviceGetAttribute(&mut value, attribute.0, self.raw)
        };
        self.api.check(result, || {
            format!("device {}: querying attribute {}", self.raw, attribute.0.0)
        })?;
        Ok(value)
    }

    /// Returns the compute capability as (major, minor), for example (9, 0) for `sm_90`.
    ///
    /// # Errors
    ///
    /// Returns the driver's error.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let context = cust::quick_init_on(Backend::Emulator)?;
    /// assert!(context.device().compute_capability()? >= (9, 0));
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn compute_capability(&self) -> CudaResult<(u32, u32)> {
        let major = self.get_attribute(DeviceAttribute::ComputeCapabilityMajor)?;
        let minor = self.get_attribute(DeviceAttribute::ComputeCapabilityMinor)?;
        Ok((major as u32, minor as u32))
    }

    /// Returns the device's PCI bus ID, such as `0000:3b:00.0`.
    ///
    /// # Errors
    ///
    /// Returns the driver's error.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let context = cust::quick_init_on(Backend::Emulator)?;
    /// let device = context.device();
    /// assert_eq!(Device::from_pci_bus_id(&device.pci_bus_id()?)?, device);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn pci_bus_id(&self) -> CudaResult<String> {
        let mut name = [0u8; 32];
        // SAFETY: the buffer is valid for its length, and the driver terminates the ID with a NUL.
        let result = unsafe {
            let buffer = name.as_mut_ptr().cast();
            self.api
                .driver
                .cuDeviceGetPCIBusId(buffer, name.len() as i32, self.raw)
        };
        self.check(result, "querying its PCI bus ID")?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// Returns the device of the default backend with the given PCI bus ID.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if there is no such device.
    pub fn from_pci_bus_id(id: &str) -> CudaResult<Device> {
        let api = default_api()?;
        let name = c_name(id)?;
        let mut raw = 0;
        // SAFETY: the pointers are valid for the call.
        let result = unsafe { api.driver.cuDeviceGetByPCIBusId(&mut raw, name.as_ptr()) };
        api.check(result, || format!("looking for a device at {id}"))?;
        Ok(Device { raw, api })
    }

    /// Returns the device's LUID and its node mask. Only available on Windows.
    ///
    /// # Errors
    ///
    /// Returns the driver's error on other systems.
    pub fn luid(&self) -> CudaResult<([u8; 8], u32)> {
        let (mut luid, mut nodes) = ([0u8; 8], 0);
        // SAFETY: the pointers are valid for the call; a LUID has 8 bytes.
        let result = unsafe {
            let luid = luid.as_mut_ptr().cast();
            self.api.driver.cuDeviceGetLuid(luid, &mut nodes, self.raw)
        };
        self.check(result, "querying the LUID")?;
        Ok((luid, nodes))
    }

    /// Returns whether this device can access the memory of `peer`; see
    /// [`Context::enable_peer_access`](crate::context::Context::enable_peer_access).
    ///
    /// # Errors
    ///
    /// Returns the driver's error.
    pub fn can_access_peer(&self, peer: &Device) -> CudaResult<bool> {
        if self.api.backend != peer.api.backend {
            return Ok(false);
        }
        let mut can = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe {
            self.api
                .driver
                .cuDeviceCanAccessPeer(&mut can, self.raw, peer.raw)
        };
        self.check(result, "querying whether it can access a peer")?;
        Ok(can != 0)
    }

    /// Returns an attribute of the link from this device to `peer`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongBackend`] if the peer belongs to another backend.
    pub fn peer_attribute(&self, attribute: PeerAttribute, peer: &Device) -> CudaResult<i32> {
        let doing = || format!("querying the link from {self:?} to {peer:?}");
        self.require_same_backend(peer, doing)?;
        let mut value = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe {
            self.api
                .driver
                .cuDeviceGetP2PAttribute(&mut value, attribute.raw(), self.raw, peer.raw)
        };
        self.check(result, "querying a peer-to-peer attribute")?;
        Ok(value)
    }

    /// Returns the backend that the device belongs to.
    pub fn backend(&self) -> Backend {
        self.api.backend
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUdevice {
        self.raw
    }

    /// Returns an error if the other device belongs to another backend: ordinals and handles of one
    /// driver mean nothing to another.
    pub(crate) fn require_same_backend(
        &self,
        other: &Device,
        doing: impl FnOnce() -> String,
    ) -> CudaResult<()> {
        if self.backend() == other.backend() {
            return Ok(());
        }
        Err(Error::WrongBackend { doing: doing() })
    }

    pub(crate) fn check(&self, result: cust_raw::CUresult, doing: &str) -> CudaResult<()> {
        self.api
            .check(result, || format!("device {}: {doing}", self.raw))
    }
}

/// An attribute of the link between two devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerAttribute {
    /// The relative performance of the link. Lower numbers are faster.
    PerformanceRank,
    /// Whether peer access is supported.
    AccessSupported,
    /// Whether native atomic operations are supported over the link.
    NativeAtomicSupported,
    /// Whether CUDA arrays can be accessed over the link.
    ArrayAccessSupported,
}

impl PeerAttribute {
    fn raw(self) -> CUdevice_P2PAttribute {
        use CUdevice_P2PAttribute as A;
        match self {
            PeerAttribute::PerformanceRank => A::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK,
            PeerAttribute::AccessSupported => A::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED,
            PeerAttribute::NativeAtomicSupported => {
                A::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED
            }
            PeerAttribute::ArrayAccessSupported => {
                A::CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED
            }
        }
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

fn all(api: &'static Api) -> CudaResult<impl Iterator<Item = CudaResult<Device>>> {
    Ok((0..count(api)?).map(move |ordinal| get(api, ordinal)))
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
