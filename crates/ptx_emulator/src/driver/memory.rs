//! Memory: allocation, pinning, and attributes of addresses.
//!
//! Host and device share one address space: a device address is the address of the bytes in this
//! process, so pinned and managed memory is device memory that the host may access too. The
//! exception is registered memory with [`Sharing::Limited`].

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cust_raw::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_WRITECOMBINED, CUcontext,
    CUdeviceptr, CUgraphNodeType, CUmem_advise, CUmemAttach_flags, CUmemLocation, CUmemorytype,
    CUpointer_attribute, CUresult, CUstream,
};

use super::device::{Sharing, sharing, total_memory};
use super::queue::{in_stream, wait_for_all};
use super::state::{Block, BlockKind, Context, Pool, from_pointer, lock, state, to_pointer};
use super::{Outcome, api, put, put_optional};
use crate::memory::host_address;

/// The alignment of device memory, which textures require.
const ALIGNMENT: usize = 512;
/// Pinned memory is aligned to pages.
const PAGE: usize = 4096;
/// The alignment of the rows of `cuMemAllocPitch`.
const PITCH: usize = 512;

impl Context {
    /// Returns the number of allocated bytes.
    fn used(&self) -> usize {
        lock(&self.blocks).values().map(|block| block.size).sum()
    }

    fn allocate(
        &self,
        size: usize,
        align: usize,
        kind: BlockKind,
        flags: u32,
    ) -> Result<u64, CUresult> {
        if size == 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // The host's allocator would overcommit memory.
        if size > total_memory().saturating_sub(self.used()) {
            return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        }
        let address = self.memory.alloc(size, align);
        let address = address.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        let block = Block {
            size,
            kind,
            flags,
            pool: None,
        };
        lock(&self.blocks).insert(address, block);
        Ok(address)
    }

    /// Allocates device memory from a pool.
    pub(super) fn allocate_from(&self, pool: &Arc<Pool>, size: usize) -> Result<u64, CUresult> {
        let address = self.allocate(size, ALIGNMENT, BlockKind::Device, 0)?;
        if let Some(block) = lock(&self.blocks).get_mut(&address) {
            block.pool = Some(Arc::clone(pool));
        }
        pool.count(size);
        Ok(address)
    }

    /// Frees a block of one of these kinds that starts at the address.
    fn release(&self, address: u64, kinds: &[BlockKind]) -> Outcome {
        let mut blocks = lock(&self.blocks);
        match blocks.get(&address) {
            Some(block) if kinds.contains(&block.kind) => {}
            _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
        let pool = blocks
            .remove(&address)
            .and_then(|block| Some((block.pool?, block.size)));
        drop(blocks);
        if let Some((pool, size)) = pool {
            pool.used.fetch_sub(size as u64, Ordering::Relaxed);
        }
        self.memory.free(address);
        Ok(())
    }

    /// Returns the block that contains an address, with its start.
    pub(super) fn block_of(&self, address: u64) -> Option<(u64, Block)> {
        let blocks = lock(&self.blocks);
        let (&base, block) = blocks.range(..=address).next_back()?;
        (address - base < block.size as u64).then(|| (base, block.clone()))
    }
}

/// Writes an attribute of an address.
///
/// # Safety
///
/// `data` is valid for a write of the attribute's type.
unsafe fn pointer_attribute(
    context: &Context,
    data: *mut c_void,
    attribute: CUpointer_attribute,
    address: u64,
) -> Outcome {
    use CUpointer_attribute as A;
    let host = host_address(address);
    // Variables of modules are device memory without an allocation.
    let (base, size, kind, flags) = match context.block_of(host) {
        Some((base, block)) => (base, block.size, block.kind, block.flags),
        None => match context.memory.range_of(address) {
            Some((base, size)) => (base, size, BlockKind::Device, 0),
            None => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        },
    };
    let is_host = matches!(
        kind,
        BlockKind::Host | BlockKind::Registered | BlockKind::Aliased
    );
    // SAFETY: as the caller promises.
    unsafe {
        match attribute {
            A::CU_POINTER_ATTRIBUTE_CONTEXT => {
                put(data.cast::<CUcontext>(), to_pointer(context.handle))
            }
            A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE => put(
                data.cast::<CUmemorytype>(),
                if is_host {
                    CUmemorytype::CU_MEMORYTYPE_HOST
                } else {
                    CUmemorytype::CU_MEMORYTYPE_DEVICE
                },
            ),
            A::CU_POINTER_ATTRIBUTE_DEVICE_POINTER => {
                put(data.cast::<CUdeviceptr>(), kind.device_address(host))
            }
            A::CU_POINTER_ATTRIBUTE_HOST_POINTER => {
                if kind == BlockKind::Device {
                    return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
                }
                put(data.cast::<*mut c_void>(), to_pointer(host))
            }
            A::CU_POINTER_ATTRIBUTE_IS_MANAGED => {
                put(data.cast::<bool>(), kind == BlockKind::Managed)
            }
            A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => put(data.cast::<c_int>(), 0),
            A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => put(data.cast::<CUdeviceptr>(), base),
            A::CU_POINTER_ATTRIBUTE_RANGE_SIZE => put(data.cast::<usize>(), size),
            A::CU_POINTER_ATTRIBUTE_MAPPED => put(data.cast::<bool>(), true),
            A::CU_POINTER_ATTRIBUTE_BUFFER_ID => put(data.cast::<u64>(), base ^ u64::from(flags)),
            _ => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        }
    }
}

api! {
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let context = state()?.usable()?;
        let all = total_memory();
        // SAFETY: the caller's pointers, as `cuda.h` requires.
        unsafe {
            put_optional(free, all.saturating_sub(context.used()));
            put_optional(total, all);
        }
        Ok(())
    }

    fn cuMemAlloc_v2(address: *mut CUdeviceptr, size: usize) {
        let context = state()?.usable()?;
        let found = context.allocate(size, ALIGNMENT, BlockKind::Device, 0)?;
        // SAFETY: as above.
        unsafe { put(address, found) }
    }

    fn cuMemAllocPitch_v2(
        address: *mut CUdeviceptr,
        pitch: *mut usize,
        width: usize,
        height: usize,
        element: c_uint,
    ) {
        let context = state()?.usable()?;
        if !matches!(element, 4 | 8 | 16) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let row = width
            .checked_next_multiple_of(PITCH)
            .ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let size = row
            .checked_mul(height)
            .ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let found = context.allocate(size, PITCH, BlockKind::Device, 0)?;
        // SAFETY: as above.
        unsafe {
            put(pitch, row)?;
            put(address, found)
        }
    }

    fn cuMemAllocManaged(address: *mut CUdeviceptr, size: usize, flags: c_uint) {
        let context = state()?.usable()?;
        let known = [
            CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL,
            CUmemAttach_flags::CU_MEM_ATTACH_HOST,
        ];
        if !known.iter().any(|flag| flag.0 == flags) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let found = context.allocate(size, PAGE, BlockKind::Managed, flags)?;
        // SAFETY: as above.
        unsafe { put(address, found) }
    }

    fn cuMemAllocAsync(address: *mut CUdeviceptr, size: usize, stream: CUstream) {
        // Allocated from the default pool, whose attributes are not updated.
        let (context, _) = state()?.stream(from_pointer(stream))?;
        context.check()?;
        let found = context.allocate(size, ALIGNMENT, BlockKind::Device, 0)?;
        // SAFETY: as above.
        unsafe { put(address, found) }
    }

    fn cuMemFree_v2(address: CUdeviceptr) {
        let state = state()?;
        let context = state.usable()?;
        if address == 0 {
            return Ok(());
        }
        wait_for_all(state, &context);
        context.release(address, &[BlockKind::Device, BlockKind::Managed])
    }

    fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream) {
        let (context, stream) = state()?.stream(from_pointer(stream))?;
        context.check()?;
        match context.block_of(address) {
            Some((base, block)) if base == address && block.kind == BlockKind::Device => {}
            _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
        let owner = Arc::downgrade(&context);
        let work = Arc::new(move || match owner.upgrade() {
            Some(context) => context.release(address, &[BlockKind::Device]),
            None => Ok(()),
        });
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_FREE;
        in_stream(state()?, &context, &stream, kind, work)
    }

    fn cuMemHostAlloc(host: *mut *mut c_void, size: usize, flags: c_uint) {
        let context = state()?.usable()?;
        let known = CU_MEMHOSTALLOC_PORTABLE
            | CU_MEMHOSTALLOC_DEVICEMAP
            | CU_MEMHOSTALLOC_WRITECOMBINED;
        if flags & !known != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let found = context.allocate(size, PAGE, BlockKind::Host, flags)?;
        // SAFETY: as above.
        unsafe { put(host, host_pointer(found)) }
    }

    fn cuMemAllocHost_v2(host: *mut *mut c_void, size: usize) {
        let context = state()?.usable()?;
        let found = context.allocate(size, PAGE, BlockKind::Host, 0)?;
        // SAFETY: as above.
        unsafe { put(host, host_pointer(found)) }
    }

    fn cuMemFreeHost(host: *mut c_void) {
        let state = state()?;
        // Freeing works even after a fault: the memory is the host's.
        let context = state.current()?;
        if host.is_null() {
            return Ok(());
        }
        wait_for_all(state, &context);
        context.release(host.addr() as u64, &[BlockKind::Host])
    }

    fn cuMemHostGetDevicePointer_v2(address: *mut CUdeviceptr, host: *mut c_void, flags: c_uint) {
        let context = state()?.current()?;
        if flags != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let host = host.addr() as u64;
        match context.block_of(host) {
            Some((_, block)) if block.kind != BlockKind::Device => {
                // SAFETY: as above.
                unsafe { put(address, block.kind.device_address(host)) }
            }
            _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }

    fn cuMemHostGetFlags(flags: *mut c_uint, host: *mut c_void) {
        let context = state()?.current()?;
        match context.block_of(host.addr() as u64) {
            Some((_, block)) if block.kind == BlockKind::Host => {
                // SAFETY: as above.
                unsafe { put(flags, block.flags) }
            }
            _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }

    fn cuMemHostRegister_v2(host: *mut c_void, size: usize, flags: c_uint) {
        let context = state()?.usable()?;
        let start = host.expose_provenance() as u64;
        if host.is_null() || size == 0 || start.checked_add(size as u64).is_none() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let mut blocks = lock(&context.blocks);
        let overlaps = |(&base, block): (&u64, &Block)| base + block.size as u64 > start;
        if blocks.range(..start + size as u64).next_back().is_some_and(overlaps) {
            return Err(CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        }
        let kind = match sharing() {
            Sharing::Full => BlockKind::Registered,
            Sharing::Limited => BlockKind::Aliased,
        };
        let block = Block {
            size,
            kind,
            flags,
            pool: None,
        };
        blocks.insert(start, block);
        context.memory.register(kind.device_address(start), size);
        Ok(())
    }

    fn cuMemHostUnregister(host: *mut c_void) {
        let state = state()?;
        let context = state.current()?;
        wait_for_all(state, &context);
        let start = host.addr() as u64;
        let mut blocks = lock(&context.blocks);
        let kind = match blocks.get(&start).map(|block| block.kind) {
            Some(kind @ (BlockKind::Registered | BlockKind::Aliased)) => kind,
            _ => return Err(CUresult::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED),
        };
        blocks.remove(&start);
        context.memory.unregister(kind.device_address(start));
        Ok(())
    }

    fn cuMemGetAddressRange_v2(base: *mut CUdeviceptr, size: *mut usize, address: CUdeviceptr) {
        let context = state()?.current()?;
        let found = context.memory.range_of(address);
        let (start, bytes) = found.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        // SAFETY: as above.
        unsafe {
            put_optional(base, start);
            put_optional(size, bytes);
        }
        Ok(())
    }

    fn cuPointerGetAttribute(
        data: *mut c_void,
        attribute: CUpointer_attribute,
        address: CUdeviceptr,
    ) {
        let context = state()?.current()?;
        // SAFETY: as above.
        unsafe { pointer_attribute(&context, data, attribute, address) }
    }

    fn cuPointerGetAttributes(
        count: c_uint,
        attributes: *mut CUpointer_attribute,
        data: *mut *mut c_void,
        address: CUdeviceptr,
    ) {
        let context = state()?.current()?;
        if attributes.is_null() || data.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        for i in 0..count as usize {
            // SAFETY: both lists have `count` entries. An attribute that an address does not have
            // is left unchanged, as with the driver.
            let _ = unsafe {
                let (attribute, data) = (attributes.add(i).read(), data.add(i).read());
                pointer_attribute(&context, data, attribute, address)
            };
        }
        Ok(())
    }

    fn cuMemAdvise_v2(
        address: CUdeviceptr,
        count: usize,
        _advice: CUmem_advise,
        _location: CUmemLocation,
    ) {
        managed_range(address, count)
    }

    fn cuMemPrefetchAsync_v2(
        address: CUdeviceptr,
        count: usize,
        _location: CUmemLocation,
        _flags: c_uint,
        _stream: CUstream,
    ) {
        managed_range(address, count)
    }
}

/// Returns a pointer that the host may dereference.
fn host_pointer(address: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// Checks a range for advice and prefetching, which have no effect and are only for managed memory.
fn managed_range(address: u64, count: usize) -> Outcome {
    let context = state()?.usable()?;
    match context.block_of(address) {
        Some((base, block))
            if block.kind == BlockKind::Managed
                && (address - base) as usize + count <= block.size =>
        {
            Ok(())
        }
        _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
}
