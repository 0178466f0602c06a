//! Kernels: attributes, parameters, occupancy.

use std::ffi::{c_char, c_int, c_uint};
use std::sync::atomic::Ordering;

use cust_raw::{
    CUdevice, CUfunc_cache, CUfunction, CUfunction_attribute, CUfunctionLoadingState,
    CUlaunchConfig, CUmodule, CUoccupancyB2DSize, CUresult,
};

use super::device::{MAX_SHARED, MAX_THREADS_PER_BLOCK, host_threads};
use super::launch::Attributes;
use super::model::model;
use super::state::{Function, from_pointer, lock, state, to_pointer};
use super::{Outcome, api, put, put_optional};
use crate::launch::MAX_BLOCKS_PER_CLUSTER;

impl Function {
    /// Returns the maximum number of threads in a block: the lower of the kernel's and the device's
    /// limit.
    pub(super) fn max_threads(&self) -> u32 {
        let own = self.program.kernel_info(self.kernel).max_threads;
        match own {
            Some(own) if own > 0 => own.min(MAX_THREADS_PER_BLOCK),
            _ => MAX_THREADS_PER_BLOCK,
        }
    }

    /// Returns the size of static shared memory in bytes.
    pub(super) fn static_shared(&self) -> i32 {
        let info = self.program.kernel_info(self.kernel);
        i32::try_from(info.static_shared).unwrap_or(i32::MAX)
    }

    /// Returns the maximum dynamic shared memory of a launch in bytes.
    pub(super) fn max_dynamic_shared(&self) -> i32 {
        let set = *lock(&self.max_dynamic_shared);
        set.unwrap_or(MAX_SHARED.saturating_sub(self.static_shared()).max(0))
    }

    /// Checks a launch with clusters, or of a kernel that requires clusters, as the driver does.
    pub(super) fn check_cluster(&self, cluster: Option<[u32; 3]>, grid: [u32; 3]) -> Outcome {
        let required = self.program.kernel_info(self.kernel).required_cluster;
        let Some(size) = cluster.or(required) else {
            return Ok(());
        };
        if required.is_some_and(|required| required != size) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let blocks = size
            .iter()
            .fold(1u64, |blocks, &size| blocks.saturating_mul(size.into()));
        let divides = |(&grid, &size): (&u32, &u32)| size > 0 && grid.is_multiple_of(size);
        if !grid.iter().zip(&size).all(divides) || blocks > u64::from(self.max_cluster()) {
            return Err(CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE);
        }
        Ok(())
    }

    /// Returns the maximum number of blocks in a cluster: more than eight are not portable and
    /// require an attribute.
    fn max_cluster(&self) -> u32 {
        match self.large_clusters.load(Ordering::Relaxed) {
            true => MAX_BLOCKS_PER_CLUSTER as u32,
            false => 8,
        }
    }

    pub(super) fn attribute(&self, attribute: CUfunction_attribute) -> Option<c_int> {
        use CUfunction_attribute as A;
        let info = self.program.kernel_info(self.kernel);
        let required_cluster =
            |axis: usize| info.required_cluster.map_or(0, |size| size[axis] as c_int);
        Some(match attribute {
            A::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => self.max_threads() as c_int,
            A::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES => self.static_shared(),
            A::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES => 0,
            A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES => {
                i32::try_from(info.local_bytes).unwrap_or(i32::MAX)
            }
            A::CU_FUNC_ATTRIBUTE_NUM_REGS => info.registers.min(255) as c_int,
            A::CU_FUNC_ATTRIBUTE_PTX_VERSION | A::CU_FUNC_ATTRIBUTE_BINARY_VERSION => 90,
            A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => self.max_dynamic_shared(),
            A::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => *lock(&self.carveout),
            A::CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET => info.required_cluster.is_some().into(),
            A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH => required_cluster(0),
            A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT => required_cluster(1),
            A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH => required_cluster(2),
            A::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED => {
                self.large_clusters.load(Ordering::Relaxed).into()
            }
            A(code) if code < A::CU_FUNC_ATTRIBUTE_MAX.0 => 0,
            _ => return None,
        })
    }

    /// Returns the number of blocks of this size that would be active on one multiprocessor of the
    /// device.
    fn active_blocks(&self, block_size: c_int, dynamic_shared: usize) -> c_int {
        if block_size <= 0 || block_size as u32 > self.max_threads() {
            return 0;
        }
        let warps = (block_size - 1) / 32 + 1;
        let by_threads = model().threads_per_multiprocessor / 32 / warps;
        let shared = i64::from(self.static_shared()) + dynamic_shared as i64;
        if shared > i64::from(model().max_shared_optin) {
            return 0;
        }
        // The system reserves a kilobyte for each block.
        let by_shared = i64::from(model().shared_per_multiprocessor) / (shared + 1024);
        by_threads
            .min(model().blocks_per_multiprocessor)
            .min(by_shared as c_int)
    }

    /// Returns the block size with the highest occupancy, and the grid size that fills the device.
    fn best_size(&self, limit: c_int, shared: impl Fn(c_int) -> usize) -> (c_int, c_int) {
        let max = self.max_threads() as c_int;
        let max = if limit > 0 { limit.min(max) } else { max };
        let sizes = (32..=max).step_by(32).chain((max < 32).then_some(max));
        let threads = |size: c_int| self.active_blocks(size, shared(size)) * size;
        let best = sizes
            .max_by_key(|&size| (threads(size), size))
            .unwrap_or(max);
        let blocks = self.active_blocks(best, shared(best)) * host_threads() as c_int;
        (blocks, best)
    }
}

api! {
    fn cuFuncGetAttribute(value: *mut c_int, which: CUfunction_attribute, function: CUfunction) {
        let function = state()?.function(from_pointer(function))?;
        let found = function.attribute(which);
        let found = found.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        // SAFETY: the caller's pointer, as `cuda.h` requires.
        unsafe { put(value, found) }
    }

    fn cuFuncSetAttribute(function: CUfunction, which: CUfunction_attribute, value: c_int) {
        let function = state()?.function(from_pointer(function))?;
        match which {
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                let room = model().max_shared_optin.saturating_sub(function.static_shared());
                if value < 0 || value > room {
                    return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
                }
                *lock(&function.max_dynamic_shared) = Some(value);
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => {
                if !(-1..=100).contains(&value) {
                    return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
                }
                *lock(&function.carveout) = value;
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED => {
                function.large_clusters.store(value != 0, Ordering::Relaxed);
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => {}
            _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
        Ok(())
    }

    fn cuFuncSetCacheConfig(function: CUfunction, _config: CUfunc_cache) {
        // There is no cache to configure.
        state()?.function(from_pointer(function)).map(|_| ())
    }

    fn cuFuncGetParamInfo(
        function: CUfunction,
        index: usize,
        offset: *mut usize,
        size: *mut usize,
    ) {
        let function = state()?.function(from_pointer(function))?;
        let info = function.program.kernel_info(function.kernel);
        let parameter = info.params.get(index);
        let parameter = parameter.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        // SAFETY: as above.
        unsafe {
            put(offset, parameter.offset)?;
            put_optional(size, parameter.size);
        }
        Ok(())
    }

    fn cuFuncGetName(name: *mut *const c_char, function: CUfunction) {
        let function = state()?.function(from_pointer(function))?;
        // The name lives as long as the module. SAFETY: as above.
        unsafe { put(name, function.name.as_ptr()) }
    }

    fn cuFuncGetModule(module: *mut CUmodule, function: CUfunction) {
        let function = state()?.function(from_pointer(function))?;
        // SAFETY: as above.
        unsafe { put(module, to_pointer(function.module)) }
    }

    fn cuFuncIsLoaded(loaded: *mut CUfunctionLoadingState, function: CUfunction) {
        state()?.function(from_pointer(function))?;
        // SAFETY: as above.
        unsafe { put(loaded, CUfunctionLoadingState::CU_FUNCTION_LOADING_STATE_LOADED) }
    }

    fn cuFuncLoad(function: CUfunction) {
        state()?.function(from_pointer(function)).map(|_| ())
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: CUfunction,
        block_size: c_int,
        dynamic_shared: usize,
    ) {
        let function = state()?.function(from_pointer(function))?;
        // SAFETY: as above.
        unsafe { put(blocks, function.active_blocks(block_size, dynamic_shared)) }
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut c_int,
        function: CUfunction,
        block_size: c_int,
        dynamic_shared: usize,
        _flags: c_uint,
    ) {
        let function = state()?.function(from_pointer(function))?;
        // SAFETY: as above.
        unsafe { put(blocks, function.active_blocks(block_size, dynamic_shared)) }
    }

    fn cuOccupancyMaxPotentialClusterSize(
        blocks: *mut c_int,
        function: CUfunction,
        _config: *const CUlaunchConfig,
    ) {
        let function = state()?.function(from_pointer(function))?;
        // SAFETY: as above.
        unsafe { put(blocks, function.max_cluster() as c_int) }
    }

    fn cuOccupancyMaxActiveClusters(
        clusters: *mut c_int,
        function: CUfunction,
        config: *const CUlaunchConfig,
    ) {
        let function = state()?.function(from_pointer(function))?;
        if config.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: as above.
        let config = unsafe { &*config };
        // SAFETY: as above.
        let cluster = unsafe { Attributes::of(config) }.cluster;
        function.check_cluster(cluster, [config.gridDimX, config.gridDimY, config.gridDimZ])?;
        let threads = config.blockDimX.saturating_mul(config.blockDimY);
        let threads = threads.saturating_mul(config.blockDimZ);
        let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
        let blocks = function.active_blocks(threads, config.sharedMemBytes as usize);
        // SAFETY: as above.
        unsafe { put(clusters, blocks.min(1) * host_threads() as c_int) }
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid_size: *mut c_int,
        block_size: *mut c_int,
        function: CUfunction,
        shared_of_size: CUoccupancyB2DSize,
        dynamic_shared: usize,
        limit: c_int,
    ) {
        let function = state()?.function(from_pointer(function))?;
        let (grid, block) = function.best_size(limit, |size| match shared_of_size {
            // SAFETY: the caller's function, as `cuda.h` requires.
            Some(shared_of_size) => unsafe { shared_of_size(size) },
            None => dynamic_shared,
        });
        // SAFETY: as above.
        unsafe {
            put(grid_size, grid)?;
            put(block_size, block)
        }
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(
        bytes: *mut usize,
        function: CUfunction,
        blocks: c_int,
        _block_size: c_int,
    ) {
        let function = state()?.function(from_pointer(function))?;
        if blocks <= 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let each = model().shared_per_multiprocessor / blocks - 1024 - function.static_shared();
        let each = each.clamp(0, model().max_shared_optin);
        // SAFETY: as above.
        unsafe { put(bytes, each as usize) }
    }

    fn cuDeviceGetExecAffinitySupport(
        supported: *mut c_int,
        _kind: cust_raw::CUexecAffinityType,
        _device: CUdevice,
    ) {
        // SAFETY: as above.
        unsafe { put(supported, 0) }
    }
}
