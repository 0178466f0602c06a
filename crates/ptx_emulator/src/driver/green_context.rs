//! Green contexts: partitions of the device's multiprocessors, with streams that use only these. In
//! the emulator all streams use all host threads, so the partitions are only counted.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use cust_raw::{
    CUdevResource, CUdevResourceDesc, CUdevResourceType, CUdevice, CUgreenCtx,
    CUgreenCtxCreate_flags, CUresult, CUstream, CUstream_flags,
};

use super::device::host_threads;
use super::state::{Handle, Object, from_pointer, state, to_pointer};
use super::stream::create_stream_in;
use super::{api, put};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// A green context.
pub(super) struct Green {
    /// The primary context of the device.
    pub(super) context: Handle,
    /// The number of multiprocessors.
    count: u32,
}

fn resource(count: u32) -> CUdevResource {
    // SAFETY: zeros are valid for these integers.
    let mut resource: CUdevResource = unsafe { std::mem::zeroed() };
    resource.type_ = CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM;
    resource.__bindgen_anon_1.sm.smCount = count;
    resource.__bindgen_anon_1.sm.minSmPartitionSize = 1;
    resource.__bindgen_anon_1.sm.smCoscheduledAlignment = 1;
    resource
}

/// Returns the number of multiprocessors of a resource.
///
/// # Safety
///
/// The pointer is null or to a resource.
unsafe fn count_of(resource: *const CUdevResource) -> Result<u32, CUresult> {
    // SAFETY: as the caller promises; the type determines the active field of the union.
    unsafe {
        let sm = CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM;
        if resource.is_null() || (*resource).type_ != sm {
            return Err(CUresult::CUDA_ERROR_INVALID_RESOURCE_TYPE);
        }
        Ok((*resource).__bindgen_anon_1.sm.smCount)
    }
}

/// Returns a descriptor, which is the number of multiprocessors plus one, so that it is not null.
fn description(count: u32) -> CUdevResourceDesc {
    std::ptr::without_provenance_mut(count as usize + 1)
}

api! {
    fn cuDeviceGetDevResource(
        _device: CUdevice,
        to: *mut CUdevResource,
        kind: CUdevResourceType,
    ) {
        if kind != CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM {
            return Err(CUresult::CUDA_ERROR_INVALID_RESOURCE_TYPE);
        }
        // SAFETY: the caller's pointer, as `cuda.h` requires.
        unsafe { put(to, resource(host_threads() as u32)) }
    }

    fn cuDevSmResourceSplitByCount(
        list: *mut CUdevResource,
        groups: *mut c_uint,
        input: *const CUdevResource,
        remaining: *mut CUdevResource,
        _flags: c_uint,
        least: c_uint,
    ) {
        // SAFETY: as above; the list has room for the requested number of groups.
        unsafe {
            let all = count_of(input)?;
            if groups.is_null() || least > all {
                return Err(INVALID);
            }
            let each = least.max(1);
            let possible = all / each;
            if list.is_null() {
                return put(groups, possible);
            }
            let count = possible.min(groups.read());
            for i in 0..count as usize {
                list.add(i).write(resource(each));
            }
            if !remaining.is_null() {
                remaining.write(resource(all - count * each));
            }
            put(groups, count)
        }
    }

    fn cuDevResourceGenerateDesc(
        to: *mut CUdevResourceDesc,
        resources: *mut CUdevResource,
        count: c_uint,
    ) {
        let mut all = 0;
        for i in 0..count as usize {
            // SAFETY: as above.
            all += unsafe { count_of(resources.add(i))? };
        }
        if all == 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
        }
        // SAFETY: as above.
        unsafe { put(to, description(all)) }
    }

    fn cuGreenCtxCreate(
        green: *mut CUgreenCtx,
        description: CUdevResourceDesc,
        _device: CUdevice,
        flags: c_uint,
    ) {
        let state = state()?;
        let context = state.usable()?;
        let default = CUgreenCtxCreate_flags::CU_GREEN_CTX_DEFAULT_STREAM;
        if description.is_null() || green.is_null() || flags != default.0 {
            return Err(INVALID);
        }
        let handle = state.add(Object::Green(Arc::new(Green {
            context: context.handle,
            count: description.addr() as u32 - 1,
        })));
        // SAFETY: as above.
        unsafe { put(green, to_pointer(handle)) }
    }

    fn cuGreenCtxDestroy(green: CUgreenCtx) {
        let state = state()?;
        let handle = from_pointer(green);
        state.green(handle)?;
        state.remove(handle);
        Ok(())
    }

    fn cuGreenCtxGetDevResource(
        green: CUgreenCtx,
        to: *mut CUdevResource,
        kind: CUdevResourceType,
    ) {
        let green = state()?.green(from_pointer(green))?;
        if kind != CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM {
            return Err(CUresult::CUDA_ERROR_INVALID_RESOURCE_TYPE);
        }
        // SAFETY: as above.
        unsafe { put(to, resource(green.count)) }
    }

    fn cuGreenCtxStreamCreate(
        stream: *mut CUstream,
        green: CUgreenCtx,
        flags: c_uint,
        priority: c_int,
    ) {
        let state = state()?;
        let green = state.green(from_pointer(green))?;
        if flags != CUstream_flags::CU_STREAM_NON_BLOCKING.0 {
            return Err(INVALID);
        }
        create_stream_in(state, green.context, stream, flags, priority)
    }
}
