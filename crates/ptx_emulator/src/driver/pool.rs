//! Memory pools and arrays.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use cust_raw::{
    CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, CUarray, CUarray_format, CUdevice, CUdeviceptr,
    CUmemAccess_flags, CUmemAccessDesc, CUmemLocation, CUmemPool_attribute, CUmemPoolProps,
    CUmemoryPool, CUmipmappedArray, CUresult, CUstream,
};

use super::state::{Array, Handle, Object, Pool, State, from_pointer, lock, state, to_pointer};
use super::{Outcome, api, put, put_optional};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

impl Pool {
    pub(super) fn new(context: Handle) -> Pool {
        Pool {
            context,
            attributes: Mutex::default(),
            used: Default::default(),
            used_high: Default::default(),
        }
    }

    /// Records an allocation.
    pub(super) fn count(&self, bytes: usize) {
        let used = self.used.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        self.used_high.fetch_max(used, Ordering::Relaxed);
    }
}

/// Returns the default pool of the device.
fn default_pool(state: &State) -> Result<CUmemoryPool, CUresult> {
    let context = state.current()?;
    let mut default = lock(&context.default_pool);
    let handle = match *default {
        Some(handle) => handle,
        None => {
            let pool = Object::Pool(Arc::new(Pool::new(context.handle)));
            *default.insert(state.add(pool))
        }
    };
    Ok(to_pointer(handle))
}

/// Returns the size of an array element in bytes.
fn element_size(format: CUarray_format, channels: u32) -> Result<usize, CUresult> {
    let each = match format {
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8 | CUarray_format::CU_AD_FORMAT_SIGNED_INT8 => 1,
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16
        | CUarray_format::CU_AD_FORMAT_SIGNED_INT16
        | CUarray_format::CU_AD_FORMAT_HALF => 2,
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32
        | CUarray_format::CU_AD_FORMAT_SIGNED_INT32
        | CUarray_format::CU_AD_FORMAT_FLOAT => 4,
        _ => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
    };
    match channels {
        1 | 2 | 4 => Ok(each * channels as usize),
        _ => Err(INVALID),
    }
}

fn make_array(array: *mut CUarray, descriptor: CUDA_ARRAY3D_DESCRIPTOR) -> Outcome {
    let state = state()?;
    let context = state.usable()?;
    if array.is_null() || descriptor.Width == 0 {
        return Err(INVALID);
    }
    let element = element_size(descriptor.Format, descriptor.NumChannels)?;
    let row = descriptor.Width.checked_mul(element).ok_or(INVALID)?;
    let size = (row.checked_mul(descriptor.Height.max(1)))
        .and_then(|layer| layer.checked_mul(descriptor.Depth.max(1)))
        .ok_or(INVALID)?;
    let address = context.memory.alloc(size, 512);
    let address = address.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    let handle = state.add(Object::Array(Arc::new(Array {
        context: context.handle,
        memory: context.memory.clone(),
        address,
        row,
        height: descriptor.Height,
        descriptor,
    })));
    // SAFETY: the caller's pointer, as `cuda.h` requires.
    unsafe { put(array, to_pointer(handle)) }
}

api! {
    fn cuMemPoolCreate(pool: *mut CUmemoryPool, properties: *const CUmemPoolProps) {
        let state = state()?;
        let context = state.usable()?;
        if properties.is_null() {
            return Err(INVALID);
        }
        let handle = state.add(Object::Pool(Arc::new(Pool::new(context.handle))));
        // SAFETY: the caller's pointer, as `cuda.h` requires.
        unsafe { put(pool, to_pointer(handle)) }
    }

    fn cuMemPoolDestroy(pool: CUmemoryPool) {
        let state = state()?;
        let handle = from_pointer(pool);
        state.pool(handle)?;
        state.remove(handle);
        Ok(())
    }

    fn cuMemPoolTrimTo(pool: CUmemoryPool, _keep: usize) {
        // Freed memory is always released immediately.
        state()?.pool(from_pointer(pool)).map(|_| ())
    }

    fn cuMemPoolSetAttribute(
        pool: CUmemoryPool,
        attribute: CUmemPool_attribute,
        value: *mut c_void,
    ) {
        use CUmemPool_attribute as A;
        let pool = state()?.pool(from_pointer(pool))?;
        if value.is_null() {
            return Err(INVALID);
        }
        // SAFETY: the value has the attribute's type, as `cuda.h` requires.
        let value = unsafe {
            match attribute {
                A::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES
                | A::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC
                | A::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => {
                    value.cast::<i32>().read() as u64
                }
                A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => value.cast::<u64>().read(),
                A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => 0,
                A::CU_MEMPOOL_ATTR_USED_MEM_HIGH => {
                    let used = pool.used.load(Ordering::Relaxed);
                    pool.used_high.store(used, Ordering::Relaxed);
                    return Ok(());
                }
                _ => return Err(INVALID),
            }
        };
        lock(&pool.attributes).insert(attribute.0, value);
        Ok(())
    }

    fn cuMemPoolGetAttribute(
        pool: CUmemoryPool,
        attribute: CUmemPool_attribute,
        value: *mut c_void,
    ) {
        use CUmemPool_attribute as A;
        let pool = state()?.pool(from_pointer(pool))?;
        let set = lock(&pool.attributes).get(&attribute.0).copied();
        // SAFETY: the value has the attribute's type, as `cuda.h` requires.
        unsafe {
            match attribute {
                A::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES
                | A::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC
                | A::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => {
                    put(value.cast::<i32>(), set.unwrap_or(1) as i32)
                }
                A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => {
                    put(value.cast::<u64>(), set.unwrap_or(0))
                }
                A::CU_MEMPOOL_ATTR_USED_MEM_HIGH | A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => {
                    put(value.cast::<u64>(), pool.used_high.load(Ordering::Relaxed))
                }
                A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT | A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT => {
                    put(value.cast::<u64>(), pool.used.load(Ordering::Relaxed))
                }
                _ => Err(INVALID),
            }
        }
    }

    fn cuMemPoolSetAccess(pool: CUmemoryPool, _map: *const CUmemAccessDesc, _count: usize) {
        // There is only one device, which has access.
        state()?.pool(from_pointer(pool)).map(|_| ())
    }

    fn cuMemPoolGetAccess(
        flags: *mut CUmemAccess_flags,
        pool: CUmemoryPool,
        _location: *mut CUmemLocation,
    ) {
        state()?.pool(from_pointer(pool))?;
        // SAFETY: as above.
        unsafe { put(flags, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE) }
    }

    fn cuMemAllocFromPoolAsync(
        address: *mut CUdeviceptr,
        size: usize,
        pool: CUmemoryPool,
        stream: CUstream,
    ) {
        let state = state()?;
        let (context, _) = state.stream(from_pointer(stream))?;
        context.check()?;
        let found = context.allocate_from(&state.pool(from_pointer(pool))?, size)?;
        // SAFETY: as above.
        unsafe { put(address, found) }
    }

    fn cuDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, _device: CUdevice) {
        let found = default_pool(state()?)?;
        // SAFETY: as above.
        unsafe { put(pool, found) }
    }

    fn cuDeviceGetMemPool(pool: *mut CUmemoryPool, _device: CUdevice) {
        let found = default_pool(state()?)?;
        // SAFETY: as above.
        unsafe { put(pool, found) }
    }

    fn cuArrayCreate_v2(array: *mut CUarray, descriptor: *const CUDA_ARRAY_DESCRIPTOR) {
        if descriptor.is_null() {
            return Err(INVALID);
        }
        // SAFETY: as above.
        let descriptor = unsafe { &*descriptor };
        let three = CUDA_ARRAY3D_DESCRIPTOR {
            Width: descriptor.Width,
            Height: descriptor.Height,
            Depth: 0,
            Format: descriptor.Format,
            NumChannels: descriptor.NumChannels,
            Flags: 0,
        };
        make_array(array, three)
    }

    fn cuArray3DCreate_v2(array: *mut CUarray, descriptor: *const CUDA_ARRAY3D_DESCRIPTOR) {
        if descriptor.is_null() {
            return Err(INVALID);
        }
        // SAFETY: as above.
        make_array(array, unsafe { *descriptor })
    }

    fn cuMipmappedArrayCreate(
        mipmapped: *mut CUmipmappedArray,
        descriptor: *const CUDA_ARRAY3D_DESCRIPTOR,
        levels: c_uint,
    ) {
        let state = state()?;
        let context = state.usable()?;
        if descriptor.is_null() || mipmapped.is_null() {
            return Err(INVALID);
        }
        // SAFETY: as above.
        let mut descriptor = unsafe { *descriptor };
        let largest = descriptor.Width.max(descriptor.Height).max(descriptor.Depth);
        if levels == 0 || levels > usize::BITS - largest.leading_zeros() {
            return Err(INVALID);
        }
        let mut handles = Vec::new();
        for _ in 0..levels {
            let mut array = std::ptr::null_mut();
            make_array(&mut array, descriptor)?;
            handles.push(from_pointer(array));
            let half = |size: usize| if size == 0 { 0 } else { (size / 2).max(1) };
            descriptor.Width = half(descriptor.Width);
            descriptor.Height = half(descriptor.Height);
            // All mip levels have all layers.
            if descriptor.Flags & cust_raw::CUDA_ARRAY3D_LAYERED == 0 {
                descriptor.Depth = half(descriptor.Depth);
            }
        }
        let handle = state.add(Object::Mipmapped(context.handle, Arc::new(handles)));
        // SAFETY: as above.
        unsafe { put(mipmapped, to_pointer(handle)) }
    }

    fn cuMipmappedArrayGetLevel(array: *mut CUarray, mipmapped: CUmipmappedArray, level: c_uint) {
        let levels = state()?.mipmapped(from_pointer(mipmapped))?;
        let found = levels.get(level as usize).ok_or(INVALID)?;
        // SAFETY: as above.
        unsafe { put(array, to_pointer(*found)) }
    }

    fn cuMipmappedArrayDestroy(mipmapped: CUmipmappedArray) {
        let state = state()?;
        let handle = from_pointer(mipmapped);
        for level in state.mipmapped(handle)?.iter() {
            state.remove(*level);
        }
        state.remove(handle);
        Ok(())
    }

    fn cuArrayDestroy(array: CUarray) {
        let state = state()?;
        let handle = from_pointer(array);
        state.array(handle)?;
        state.remove(handle);
        Ok(())
    }

    fn cuArrayGetDescriptor_v2(descriptor: *mut CUDA_ARRAY_DESCRIPTOR, array: CUarray) {
        let array = state()?.array(from_pointer(array))?;
        let found = CUDA_ARRAY_DESCRIPTOR {
            Width: array.descriptor.Width,
            Height: array.descriptor.Height,
            Format: array.descriptor.Format,
            NumChannels: array.descriptor.NumChannels,
        };
        // SAFETY: as above.
        unsafe { put(descriptor, found) }
    }

    fn cuArray3DGetDescriptor_v2(descriptor: *mut CUDA_ARRAY3D_DESCRIPTOR, array: CUarray) {
        let array = state()?.array(from_pointer(array))?;
        // SAFETY: as above.
        unsafe {
            put_optional(descriptor, array.descriptor);
        }
        Ok(())
    }
}
