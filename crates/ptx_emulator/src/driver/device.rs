//! Initialization, error strings, and the one device with its attributes.

use std::ffi::{CStr, CString, c_char, c_int, c_uint};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use cust_raw::{CUdevice, CUdevice_attribute, CUdevprop, CUresult, CUuuid};

use super::model::model;
use super::state::{initialize, state};
use super::{Outcome, api, put};

/// The launch limits, which are the same for all architectures.
pub(super) const MAX_THREADS_PER_BLOCK: u32 = 1024;
pub(super) const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
pub(super) const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
pub(super) const MAX_SHARED: i32 = 48 << 10;

/// The CUDA version of this API.
const VERSION: c_int = 13000;
/// "PTX emulator 01", so that programs that compare devices can distinguish it.
const UUID: &[u8; 16] = b"PTX-emulator-001";

/// How host and device share memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// The host may access managed memory while kernels run, and the device accesses registered
    /// host memory at its host address. This is the default.
    Full,
    /// Neither, as on Windows and on some integrated devices: the attributes
    /// `CONCURRENT_MANAGED_ACCESS` and `CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM` are 0. The emulator
    /// does not detect accesses to managed memory that crash on such a device.
    Limited,
}

static LIMITED: AtomicBool = AtomicBool::new(false);

/// Sets how host and device share memory that is allocated or registered from now on, in the whole
/// process.
pub fn set_sharing(sharing: Sharing) {
    LIMITED.store(sharing == Sharing::Limited, Ordering::SeqCst);
}

pub(super) fn sharing() -> Sharing {
    match LIMITED.load(Ordering::SeqCst) {
        true => Sharing::Limited,
        false => Sharing::Full,
    }
}

/// Returns the number of host threads that run blocks.
pub(super) fn host_threads() -> usize {
    super::launch::pool().map_or(1, |pool| pool.current_num_threads())
}

/// Returns the size of device memory, which is that of the host's memory.
pub(super) fn total_memory() -> usize {
    static TOTAL: LazyLock<usize> = LazyLock::new(|| {
        let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kilobytes = info.lines().find_map(|line| {
            let rest = line.strip_prefix("MemTotal:")?;
            rest.trim()
                .trim_end_matches("kB")
                .trim()
                .parse::<usize>()
                .ok()
        });
        kilobytes.map_or(8 << 30, |kilobytes| kilobytes << 10)
    });
    *TOTAL
}

/// Returns the name and the description of a result code.
fn error_texts(code: CUresult) -> Option<&'static (CString, CString)> {
    static TEXTS: LazyLock<Vec<(CUresult, (CString, CString))>> = LazyLock::new(|| {
        let mut texts = vec![(CUresult::CUDA_SUCCESS, texts_of("CUDA_SUCCESS"))];
        let errors = CUresult::ERRORS.iter();
        texts.extend(errors.map(|&(code, name)| (code, texts_of(name))));
        texts
    });
    TEXTS
        .iter()
        .find(|(c, _)| *c == code)
        .map(|(_, texts)| texts)
}

/// Returns the name and the description, for example `CUDA_ERROR_OUT_OF_MEMORY` and `out of
/// memory`.
fn texts_of(name: &str) -> (CString, CString) {
    let text = match name {
        "CUDA_SUCCESS" => "no error".to_owned(),
        "CUDA_ERROR_INVALID_VALUE" => "invalid argument".to_owned(),
        "CUDA_ERROR_ILLEGAL_ADDRESS" => "an illegal memory access was encountered".to_owned(),
        "CUDA_ERROR_MISALIGNED_ADDRESS" => "misaligned address".to_owned(),
        "CUDA_ERROR_LAUNCH_FAILED" => "unspecified launch failure".to_owned(),
        "CUDA_ERROR_INVALID_PTX" => "a PTX JIT compilation failed".to_owned(),
        "CUDA_ERROR_NOT_SUPPORTED" => "the emulator does not support this operation".to_owned(),
        name => name
            .trim_start_matches("CUDA_ERROR_")
            .to_lowercase()
            .replace('_', " "),
    };
    let c_string = |text: &str| CString::new(text).unwrap_or_default();
    (c_string(name), c_string(&text))
}

fn check_device(device: CUdevice) -> Outcome {
    state()?;
    if device != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_DEVICE);
    }
    Ok(())
}

fn attribute(attribute: CUdevice_attribute) -> Option<c_int> {
    use CUdevice_attribute as A;
    Some(match attribute {
        A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK => MAX_THREADS_PER_BLOCK as c_int,
        A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X => MAX_BLOCK[0] as c_int,
        A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y => MAX_BLOCK[1] as c_int,
        A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z => MAX_BLOCK[2] as c_int,
        A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X => MAX_GRID[0] as c_int,
        A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y => MAX_GRID[1] as c_int,
        A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z => MAX_GRID[2] as c_int,
        A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK => MAX_SHARED,
        A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => model().max_shared_optin,
        A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR => {
            model().shared_per_multiprocessor
        }
        A::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK => crate::exec::SHARED_START as i32,
        A::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY => 64 << 10,
        A::CU_DEVICE_ATTRIBUTE_WARP_SIZE => 32,
        A::CU_DEVICE_ATTRIBUTE_MAX_PITCH => i32::MAX,
        A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK => 64 << 10,
        A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR => 64 << 10,
        A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE => 1_000_000,
        A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE => 1_000_000,
        A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH => 64,
        A::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT => 512,
        A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE => 1 << 20,
        A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => host_threads() as c_int,
        A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR => model().threads_per_multiprocessor,
        A::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR => model().blocks_per_multiprocessor,
        A::CU_DEVICE_ATTRIBUTE_INTEGRATED
        | A::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH
        | A::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY
        | A::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING
        | A::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY
        | A::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED
        | A::CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED
        | A::CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED
        | A::CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED
        | A::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
        | A::CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED => 1,
        A::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS
        | A::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
        | A::CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST => {
            (sharing() == Sharing::Full).into()
        }
        A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => model().capability.0 as c_int,
        A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => model().capability.1 as c_int,
        A::CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO => 1,
        A(code) if code > 0 && code < A::CU_DEVICE_ATTRIBUTE_MAX.0 => 0,
        _ => return None,
    })
}

api! {
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        initialize();
        Ok(())
    }

    fn cuDriverGetVersion(version: *mut c_int) {
        // SAFETY: the caller's pointer, as `cuda.h` requires.
        unsafe { put(version, VERSION) }
    }

    fn cuGetErrorName(code: CUresult, text: *mut *const c_char) {
        let texts = error_texts(code);
        let name = texts.map_or(std::ptr::null(), |(name, _)| name.as_ptr());
        // SAFETY: as above.
        unsafe { put(text, name)? };
        texts.map(|_| ()).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
    }

    fn cuGetErrorString(code: CUresult, text: *mut *const c_char) {
        let texts = error_texts(code);
        let string = texts.map_or(std::ptr::null(), |(_, string)| string.as_ptr());
        // SAFETY: as above.
        unsafe { put(text, string)? };
        texts.map(|_| ()).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
    }

    fn cuDeviceGetCount(count: *mut c_int) {
        state()?;
        // SAFETY: as above.
        unsafe { put(count, 1) }
    }

    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) {
        check_device(ordinal)?;
        // SAFETY: as above.
        unsafe { put(device, 0) }
    }

    fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice) {
        check_device(device)?;
        if name.is_null() || len <= 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let threads = host_threads();
        let plural = if threads == 1 { "" } else { "s" };
        let text = format!("PTX emulator ({threads} thread{plural})");
        let count = text.len().min(len as usize - 1);
        // SAFETY: the caller's buffer has `len` bytes.
        unsafe {
            name.copy_from_nonoverlapping(text.as_ptr().cast(), count);
            name.add(count).write(0);
        }
        Ok(())
    }

    fn cuDeviceGetUuid_v2(uuid: *mut CUuuid, device: CUdevice) {
        check_device(device)?;
        let bytes = UUID.map(|byte| byte as c_char);
        // SAFETY: the caller's pointer, as `cuda.h` requires.
        unsafe { put(uuid, CUuuid { bytes }) }
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice) {
        check_device(device)?;
        // SAFETY: as above.
        unsafe { put(bytes, total_memory()) }
    }

    fn cuDeviceGetAttribute(value: *mut c_int, which: CUdevice_attribute, device: CUdevice) {
        check_device(device)?;
        let found = attribute(which).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        // SAFETY: as above.
        unsafe { put(value, found) }
    }

    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: CUdevice) {
        check_device(device)?;
        // SAFETY: as above.
        unsafe {
            put(major, model().capability.0 as c_int)?;
            put(minor, model().capability.1 as c_int)
        }
    }

    fn cuDeviceGetProperties(properties: *mut CUdevprop, device: CUdevice) {
        check_device(device)?;
        let found = CUdevprop {
            maxThreadsPerBlock: MAX_THREADS_PER_BLOCK as c_int,
            maxThreadsDim: MAX_BLOCK.map(|size| size as c_int),
            maxGridSize: MAX_GRID.map(|size| size as c_int),
            sharedMemPerBlock: MAX_SHARED,
            totalConstantMemory: 64 << 10,
            SIMDWidth: 32,
            memPitch: i32::MAX,
            regsPerBlock: 64 << 10,
            clockRate: 1_000_000,
            textureAlign: 512,
        };
        // SAFETY: as above.
        unsafe { put(properties, found) }
    }

    fn cuDeviceGetPCIBusId(name: *mut c_char, len: c_int, device: CUdevice) {
        check_device(device)?;
        if name.is_null() || len < 0 || (len as usize) < BUS_ID.count_bytes() + 1 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: the caller's buffer has `len` bytes.
        unsafe { name.copy_from_nonoverlapping(BUS_ID.as_ptr(), BUS_ID.count_bytes() + 1) };
        Ok(())
    }

    fn cuDeviceGetByPCIBusId(device: *mut CUdevice, id: *const c_char) {
        state()?;
        // SAFETY: a C string, as `cuda.h` requires.
        if id.is_null() || unsafe { CStr::from_ptr(id) } != BUS_ID {
            return Err(CUresult::CUDA_ERROR_INVALID_DEVICE);
        }
        // SAFETY: as above.
        unsafe { put(device, 0) }
    }

    fn cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice) {
        check_device(device)?;
        check_device(peer)?;
        // A device is not a peer of itself. SAFETY: as above.
        unsafe { put(can, 0) }
    }
}

/// The PCI bus ID of the device.
const BUS_ID: &CStr = c"0000:00:00.0";
