//! Launches: checks dimensions and parameters as the driver does, then runs the kernel to
//! completion.

use std::ffi::{c_char, c_uint, c_void};
use std::sync::{Arc, Mutex, OnceLock};

use cust_raw::{
    CUfunction, CUgraphNodeType, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig,
    CUlogIterator, CUresult, CUstream, launch_param,
};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::device::{MAX_BLOCK, MAX_GRID};
use super::queue::{Work, in_stream};
use super::state::{Context, Function, State, from_pointer, lock, state};
use super::{Outcome, api, put_optional};
use crate::{Fault, FaultKind, KernelInfo, LaunchConfig};

/// Returns the description of the last fault of a kernel in the process: what happened, in which
/// kernel, block and thread, and at which line. The driver API cannot report these details.
pub fn last_fault() -> Option<String> {
    lock(&LAST_FAULT).clone()
}

static LAST_FAULT: Mutex<Option<String>> = Mutex::new(None);

/// Returns the result code with which a GPU reports a fault.
fn fault_code(kind: &FaultKind) -> CUresult {
    match kind {
        FaultKind::IllegalAddress => CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
        FaultKind::Misaligned => CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
        FaultKind::InvalidInstruction => CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
        FaultKind::StackOverflow => CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR,
        FaultKind::InvalidCall => CUresult::CUDA_ERROR_INVALID_PC,
        FaultKind::Assert => CUresult::CUDA_ERROR_ASSERT,
        FaultKind::Deadlock | FaultKind::TimeLimit => CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
        FaultKind::Trap | FaultKind::Breakpoint | FaultKind::InvalidLaunch => {
            CUresult::CUDA_ERROR_LAUNCH_FAILED
        }
    }
}

/// The launch attributes that affect results. The others concern scheduling and caches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attributes {
    /// The cluster dimensions in blocks, if the launch specifies them.
    pub(super) cluster: Option<[u32; 3]>,
    /// Whether the launch is cooperative. Blocks may wait for each other in other launches, too,
    /// but kernels can query it.
    pub(super) cooperative: bool,
}

impl Attributes {
    /// Returns the attributes of a launch.
    ///
    /// # Safety
    ///
    /// The list of attributes has the specified length, and each value has its attribute's type.
    pub(super) unsafe fn of(config: &CUlaunchConfig) -> Attributes {
        let mut attributes = Attributes::default();
        for i in 0..config.numAttrs as usize {
            // SAFETY: as the caller promises.
            unsafe {
                let one = &*config.attrs.add(i);
                attributes.set(one.id, &one.value);
            }
        }
        attributes
    }

    /// Sets an attribute.
    ///
    /// # Safety
    ///
    /// The value has the attribute's type.
    pub(super) unsafe fn set(&mut self, id: CUlaunchAttributeID, value: &CUlaunchAttributeValue) {
        match id {
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                // SAFETY: as the caller promises.
                let size = unsafe { value.clusterDim };
                self.cluster = Some([size.x, size.y, size.z]);
            }
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE => {
                // SAFETY: as the caller promises.
                self.cooperative = unsafe { value.cooperative } != 0;
            }
            _ => {}
        }
    }
}

/// A launch with copied parameters, to which the attributes are passed.
pub(super) type LaunchWork = Arc<dyn Fn(Attributes) -> Outcome + Send + Sync>;

/// A launch as described by any of the entry points.
pub(super) struct Launch {
    pub(super) function: CUfunction,
    pub(super) grid: [c_uint; 3],
    pub(super) block: [c_uint; 3],
    pub(super) shared: c_uint,
    pub(super) attributes: Attributes,
    pub(super) stream: CUstream,
    pub(super) params: *mut *mut c_void,
    pub(super) extra: *mut *mut c_void,
}

impl Launch {
    /// Checks and enqueues the launch.
    ///
    /// # Safety
    ///
    /// `params` and `extra` are as `cuLaunchKernel` requires.
    unsafe fn run(&self) -> Outcome {
        let state = state()?;
        let (context, stream) = state.stream(from_pointer(self.stream))?;
        context.check()?;
        // SAFETY: as the caller promises.
        let work = unsafe { self.work(state, &context)? };
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL;
        in_stream(state, &context, &stream, kind, work)
    }

    /// Returns the launch as work, with its parameters copied.
    ///
    /// # Safety
    ///
    /// As for [`Launch::run`].
    unsafe fn work(&self, state: &State, context: &Arc<Context>) -> Result<Work, CUresult> {
        let attributes = self.attributes;
        // SAFETY: as the caller promises.
        let work = unsafe { self.launch_work(state, context)? };
        Ok(Arc::new(move || work(attributes)))
    }

    /// Returns the launch as work that takes the attributes, with its parameters copied.
    ///
    /// # Safety
    ///
    /// As for [`Launch::run`].
    pub(super) unsafe fn launch_work(
        &self,
        state: &State,
        context: &Arc<Context>,
    ) -> Result<LaunchWork, CUresult> {
        let function = state.function(from_pointer(self.function))?;
        if function.context != context.handle {
            return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
        }
        self.check(&function)?;
        let info = function.program.kernel_info(function.kernel);
        // SAFETY: as the caller promises.
        let params = unsafe { self.parameters(info)? };
        let (grid, block, shared_bytes) = (self.grid, self.block, self.shared);
        let context = Arc::downgrade(context);
        Ok(Arc::new(move |attributes| {
            let Some(context) = context.upgrade() else {
                return Ok(());
            };
            let limits = lock(&context.limits).clone();
            let config = LaunchConfig {
                grid,
                block,
                cluster: attributes.cluster,
                cooperative: attributes.cooperative,
                shared_bytes,
                params: params.clone(),
                stack_limit: limits.stack,
                output: None,
                heap_limit: limits.heap,
            };
            if let Err(fault) = run_on_cores(&function, &config) {
                if fault.kind == FaultKind::InvalidLaunch {
                    return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
                }
                // As on a GPU, the launch itself succeeds; the following calls report the fault.
                record_fault(&fault);
                *lock(&context.sticky) = Some(fault_code(&fault.kind));
            }
            Ok(())
        }))
    }

    /// Checks the launch as the driver does.
    fn check(&self, function: &Function) -> Outcome {
        let sizes = self.grid.iter().zip(&MAX_GRID);
        let mut sizes = sizes.chain(self.block.iter().zip(&MAX_BLOCK));
        if sizes.any(|(&size, &max)| size == 0 || size > max) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let threads: u64 = self.block.iter().map(|&size| u64::from(size)).product();
        if threads > u64::from(function.max_threads()) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        if i64::from(self.shared) > i64::from(function.max_dynamic_shared()) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let required = function.program.kernel_info(function.kernel).required_block;
        if required.is_some_and(|required| required != self.block) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        function.check_cluster(self.attributes.cluster, self.grid)
    }

    /// Returns the parameters in one buffer with the layout that the kernel expects.
    ///
    /// # Safety
    ///
    /// As for [`Launch::run`].
    unsafe fn parameters(&self, info: &KernelInfo) -> Result<Vec<u8>, CUresult> {
        let mut buffer = vec![0u8; info.params_size];
        if !self.extra.is_null() {
            // SAFETY: as the caller promises.
            unsafe { self.packed_parameters(&mut buffer)? };
            return Ok(buffer);
        }
        if self.params.is_null() && !info.params.is_empty() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        for (i, parameter) in info.params.iter().enumerate() {
            let (offset, size) = (parameter.offset, parameter.size);
            // SAFETY: the list has an entry for each parameter, which points to the parameter's
            // bytes.
            unsafe {
                let source = self.params.add(i).read();
                if source.is_null() {
                    return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
                }
                let source = source.cast::<u8>().cast_const();
                let to = buffer[offset..offset + size].as_mut_ptr();
                to.copy_from_nonoverlapping(source, size);
            }
        }
        Ok(buffer)
    }

    /// Copies the parameters from the caller's buffer.
    ///
    /// # Safety
    ///
    /// `extra` is a list of names and values that ends with `END`.
    unsafe fn packed_parameters(&self, buffer: &mut [u8]) -> Outcome {
        let (mut pointer, mut size) = (std::ptr::null::<u8>(), 0);
        let mut entry = self.extra;
        // SAFETY: the list ends with `END`.
        unsafe {
            while entry.read() != launch_param::END {
                let value = entry.add(1).read();
                match entry.read() {
                    name if name == launch_param::BUFFER_POINTER => {
                        pointer = value.cast::<u8>().cast_const();
                    }
                    name if name == launch_param::BUFFER_SIZE => {
                        size = value.cast::<usize>().read();
                    }
                    _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
                }
                entry = entry.add(2);
            }
        }
        if size < buffer.len() || (pointer.is_null() && !buffer.is_empty()) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        if !buffer.is_empty() {
            let to = buffer.as_mut_ptr();
            // SAFETY: the caller's buffer has `size` bytes, at least as many as `buffer`.
            unsafe { to.copy_from_nonoverlapping(pointer, buffer.len()) };
        }
        Ok(())
    }
}

/// Returns the threads that run blocks. They are a separate pool, so that a program that launches
/// from all threads of the global pool does not wait for itself.
pub(super) fn pool() -> Result<&'static ThreadPool, CUresult> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let pool = POOL.get_or_init(|| {
        let builder = ThreadPoolBuilder::new().thread_name(|i| format!("PTX emulator {i}"));
        builder.build().ok()
    });
    pool.as_ref().ok_or(CUresult::CUDA_ERROR_OPERATING_SYSTEM)
}

/// Runs a grid to completion on the emulator's threads.
fn run_on_cores(function: &Function, config: &LaunchConfig) -> Result<(), Box<Fault>> {
    let run = || match crate::launch(&function.program, function.kernel, config) {
        Ok(_) => Ok(()),
        Err(fault) => Err(Box::new(fault)),
    };
    let pool = match pool() {
        // A single block runs on one thread in any case, which may be this one.
        Ok(pool) if config.grid != [1; 3] => pool,
        _ => return run(),
    };
    if rayon::current_thread_index().is_none() {
        return pool.install(run);
    }
    // The caller is a thread of some pool. While such a thread waits for another pool it runs other
    // work of its own pool, which may be a launch in the stream that is locked now.
    std::thread::scope(|scope| match scope.spawn(|| pool.install(run)).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

fn record_fault(fault: &Fault) {
    *lock(&LAST_FAULT) = Some(fault.to_string());
}

api! {
    fn cuLogsDumpToMemory(
        iterator: *mut CUlogIterator,
        buffer: *mut c_char,
        size: *mut usize,
        flags: c_uint,
    ) {
        if buffer.is_null() || size.is_null() || flags != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: the caller's iterator is null or valid.
        let position = unsafe { iterator.as_ref() }.copied().unwrap_or(0);
        // The log has one message. An iterator that has passed it is at position 1.
        let text = if position == 0 { last_fault() } else { None }.unwrap_or_default();
        // SAFETY: the caller's buffer has `size` bytes, and the iterator is null or valid.
        unsafe {
            let copied = text.len().min((*size).saturating_sub(1));
            if *size > 0 {
                std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), copied);
                buffer.add(copied).write(0);
            }
            *size = copied;
            put_optional(iterator, u32::from(position > 0 || copied > 0));
        }
        Ok(())
    }

    fn cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: CUstream,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        let launch = Launch {
            function,
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            shared,
            attributes: Attributes::default(),
            stream,
            params,
            extra,
        };
        // SAFETY: the caller's pointers, as `cuda.h` requires.
        unsafe { launch.run() }
    }

    fn cuLaunchCooperativeKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: CUstream,
        params: *mut *mut c_void,
    ) {
        let launch = Launch {
            function,
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            shared,
            attributes: Attributes {
                cooperative: true,
                ..Attributes::default()
            },
            stream,
            params,
            extra: std::ptr::null_mut(),
        };
        // SAFETY: as above.
        unsafe { launch.run() }
    }

    fn cuLaunchKernelEx(
        config: *const CUlaunchConfig,
        function: CUfunction,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        if config.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: as above.
        let config = unsafe { &*config };
        let launch = Launch {
            function,
            grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
            block: [config.blockDimX, config.blockDimY, config.blockDimZ],
            shared: config.sharedMemBytes,
            // SAFETY: as above.
            attributes: unsafe { Attributes::of(config) },
            stream: config.hStream,
            params,
            extra,
        };
        // SAFETY: as above.
        unsafe { launch.run() }
    }
}
