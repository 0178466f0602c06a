//! Kernels of a loaded module, and their attributes.

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use cust_raw::{CUfunction, CUfunction_attribute, CUfunctionLoadingState};

use super::Module;
use super::ordinary::Others;
use crate::context::{CacheConfig, Context, DeviceLimits};
use crate::dimensions::BlockSize;
use crate::error::{CudaResult, signature_mismatch};
use crate::report::Report;
use crate::stack::Need;

/// An attribute of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FunctionAttribute {
    /// The maximum number of threads per block.
    MaxThreadsPerBlock,
    /// Bytes of static shared memory per block.
    SharedMemorySizeBytes,
    /// Bytes of constant memory.
    ConstSizeBytes,
    /// Bytes of local memory per thread.
    LocalSizeBytes,
    /// Registers per thread.
    NumRegisters,
    /// The architecture that the kernel's PTX was compiled for, as 10 × major + minor.
    PtxVersion,
    /// The architecture of the kernel's machine code, as 10 × major + minor.
    BinaryVersion,
    /// Whether the kernel was compiled with caching of global loads (`-Xptxas --dlcm=ca`).
    CacheModeCa,
    /// The maximum number of bytes of dynamic shared memory per block of a launch.
    MaxDynamicSharedSizeBytes,
    /// The preferred share of shared memory in the unified L1 cache, in percent.
    PreferredSharedMemoryCarveout,
}

impl FunctionAttribute {
    pub(crate) fn raw(self) -> CUfunction_attribute {
        use CUfunction_attribute as A;
        match self {
            FunctionAttribute::MaxThreadsPerBlock => A::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
            FunctionAttribute::SharedMemorySizeBytes => A::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            FunctionAttribute::ConstSizeBytes => A::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
            FunctionAttribute::LocalSizeBytes => A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
            FunctionAttribute::NumRegisters => A::CU_FUNC_ATTRIBUTE_NUM_REGS,
            FunctionAttribute::PtxVersion => A::CU_FUNC_ATTRIBUTE_PTX_VERSION,
            FunctionAttribute::BinaryVersion => A::CU_FUNC_ATTRIBUTE_BINARY_VERSION,
            FunctionAttribute::CacheModeCa => A::CU_FUNC_ATTRIBUTE_CACHE_MODE_CA,
            FunctionAttribute::MaxDynamicSharedSizeBytes => {
                A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            }
            FunctionAttribute::PreferredSharedMemoryCarveout => {
                A::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
            }
        }
    }
}

/// The properties of a kernel that was looked up in a module.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(super) raw: CUfunction,
    /// The entries for ordinary and for strided launches, if the kernel has such.
    pub(super) others: Option<Others>,
    pub(crate) name: Arc<str>,
    /// The sizes of the parameters in bytes, if the driver or the PTX provides them.
    pub(crate) parameters: Option<Box<[usize]>>,
    /// The stack that the kernel's threads need.
    pub(crate) stack: Need,
    /// The signature, if the module's signatures are known.
    signature: Option<&'static str>,
    /// The address of the host's signature that was last compared and found equal.
    checked: AtomicPtr<u8>,
    /// The limits of launches; queried on first use.
    limits: OnceLock<Limits>,
    /// The current limit of dynamic shared memory per block, in bytes.
    shared: AtomicU32,
}

/// The limits of launches of a kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) device: DeviceLimits,
    /// Threads per block.
    pub(crate) threads: u32,
    /// Bytes of dynamic shared memory per block, with opt-in.
    shared: u32,
    /// Bytes of static shared memory that the kernel declares.
    pub(crate) own_shared: u32,
}

impl Kernel {
    pub(crate) fn new(
        (raw, others): (CUfunction, Option<Others>),
        name: &str,
        parameters: Option<Vec<usize>>,
        stack: Need,
        signature: Option<&'static str>,
    ) -> Kernel {
        Kernel {
            raw,
            others,
            name: name.into(),
            parameters: parameters.map(Vec::into_boxed_slice),
            stack,
            signature,
            checked: AtomicPtr::new(std::ptr::null_mut()),
            limits: OnceLock::new(),
            shared: AtomicU32::new(0),
        }
    }

    /// Compares the signature with the host's. Later calls with the same host signature compare
    /// only its address.
    #[inline]
    pub(crate) fn check_signature(&self, host: &'static str) -> CudaResult<()> {
        if std::ptr::eq(self.checked.load(Ordering::Relaxed), host.as_ptr()) {
            return Ok(());
        }
        self.compare_signature(host)
    }

    #[cold]
    fn compare_signature(&self, host: &'static str) -> CudaResult<()> {
        match self.signature {
            Some(device) if device != host => Err(signature_mismatch(&self.name, host, device)),
            _ => {
                let host = host.as_ptr().cast_mut();
                self.checked.store(host, Ordering::Relaxed);
                Ok(())
            }
        }
    }
}

// SAFETY: the handle may be used from any thread as long as the module is loaded.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

/// A kernel of a module.
#[derive(Clone)]
pub struct Function<'m> {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) module: &'m Module,
}

impl Function<'_> {
    /// Returns the kernel's name in the module.
    pub fn name(&self) -> &str {
        &self.kernel.name
    }

    /// Returns the sizes in bytes of the parameters of the kernel's entry, if known.
    ///
    /// A slice parameter of the Rust function is two parameters of the entry (pointer and length);
    /// a zero-sized parameter is none.
    pub fn parameter_sizes(&self) -> Option<&[usize]> {
        self.kernel.parameters.as_deref()
    }

    /// Returns an attribute of the kernel.
    ///
    /// If the kernel has entries for ordinary or for strided launches beside the general one, the
    /// numbers of registers and of bytes are the largest ones of all.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// # const PTX: &str = "
    /// # .version 7.0
    /// # .target sm_70
    /// # .address_size 64
    /// # .visible .global .align 4 .u32 COUNT = 7;
    /// # .visible .entry fill(.param .u64 data, .param .u64 len) {
    /// #     ret;
    /// # }";
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let module = Module::from_ptx(PTX, &[])?;
    /// let fill = module.get_function("fill")?;
    /// let threads = fill.get_attribute(FunctionAttribute::MaxThreadsPerBlock)?;
    /// assert_eq!(threads, 1024);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn get_attribute(&self, attribute: FunctionAttribute) -> CudaResult<i32> {
        let mut value = self.attribute_of(self.kernel.raw, attribute)?;
        // Launches with more threads than another entry permits use the general one.
        if attribute == FunctionAttribute::MaxThreadsPerBlock {
            return Ok(value);
        }
        for (entry, _) in self.kernel.others.iter().flat_map(Others::entries) {
            let other = self.attribute_of(entry, attribute)?;
            value = match attribute {
                FunctionAttribute::MaxDynamicSharedSizeBytes => value.min(other),
                _ => value.max(other),
            };
        }
        Ok(value)
    }

    /// Returns an attribute of one of the kernel's entries.
    pub(super) fn attribute_of(
        &self,
        entry: CUfunction,
        attribute: FunctionAttribute,
    ) -> CudaResult<i32> {
        let api = self.context().bind()?;
        let mut value = 0;
        // SAFETY: the function is alive, and the pointer is valid for the call.
        let result = unsafe {
            api.driver
                .cuFuncGetAttribute(&mut value, attribute.raw(), entry)
        };
        api.check(result, || format!("querying {attribute:?} of {self:?}"))?;
        Ok(value)
    }

    /// Sets an attribute: [`FunctionAttribute::MaxDynamicSharedSizeBytes`] or
    /// [`FunctionAttribute::PreferredSharedMemoryCarveout`].
    ///
    /// # Errors
    ///
    /// Returns the driver's error for other attributes, which are read-only, and for values that
    /// the device does not support.
    pub fn set_attribute(&self, attribute: FunctionAttribute, value: i32) -> CudaResult<()> {
        let api = self.context().bind()?;
        for entry in self.entries() {
            // SAFETY: the function is alive.
            let result = unsafe { api.driver.cuFuncSetAttribute(entry, attribute.raw(), value) };
            api.check(result, || {
                format!("setting {attribute:?} of {self:?} to {value}")
            })?;
        }
        Ok(())
    }

    /// Sets the preferred partition of L1 cache and shared memory while the kernel runs.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    pub fn set_cache_config(&mut self, config: CacheConfig) -> CudaResult<()> {
        let raw = config.raw();
        let api = self.context().bind()?;
        for entry in self.entries() {
            // SAFETY: the function is alive.
            let result = unsafe { api.driver.cuFuncSetCacheConfig(entry, raw) };
            api.check(result, || {
                format!("setting the cache preference of {self:?}")
            })?;
        }
        Ok(())
    }

    /// Returns the occupancy: the maximum number of blocks of the given size that are resident on a
    /// multiprocessor at the same time.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    pub fn max_active_blocks_per_multiprocessor(
        &self,
        block_size: BlockSize,
        dynamic_shared_memory: usize,
    ) -> CudaResult<u32> {
        let api = self.context().bind()?;
        let threads = threads(block_size);
        let mut least = i32::MAX;
        for entry in self.entries() {
            let mut blocks = 0;
            // SAFETY: the function is alive, and the pointer is valid for the call.
            let result = unsafe {
                api.driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                    &mut blocks,
                    entry,
                    threads,
                    dynamic_shared_memory,
                )
            };
            api.check(result, || format!("computing the occupancy of {self:?}"))?;
            least = least.min(blocks);
        }
        Ok(least as u32)
    }

    /// Returns the maximum number of bytes of dynamic shared memory per block for which `blocks`
    /// blocks of the given size are resident on a multiprocessor at the same time.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    pub fn available_dynamic_shared_memory_per_block(
        &self,
        blocks: u32,
        block_size: BlockSize,
    ) -> CudaResult<usize> {
        let api = self.context().bind()?;
        let threads = threads(block_size);
        let mut least = usize::MAX;
        for entry in self.entries() {
            let mut bytes = 0;
            // SAFETY: the function is alive, and the pointer is valid for the call.
            let result = unsafe {
                api.driver.cuOccupancyAvailableDynamicSMemPerBlock(
                    &mut bytes,
                    entry,
                    blocks as i32,
                    threads,
                )
            };
            api.check(result, || {
                format!("computing the shared memory of {self:?}")
            })?;
            least = least.min(bytes);
        }
        Ok(least)
    }

    /// Returns the launch configuration with maximum occupancy as `(blocks, threads)`: the block
    /// size of at most `block_size_limit` threads (0: no limit) with maximum occupancy, and the
    /// minimum number of blocks that fills the device.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// # const PTX: &str = "
    /// # .version 7.0
    /// # .target sm_70
    /// # .address_size 64
    /// # .visible .global .align 4 .u32 COUNT = 7;
    /// # .visible .entry fill(.param .u64 data, .param .u64 len) {
    /// #     ret;
    /// # }";
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let module = Module::from_ptx(PTX, &[])?;
    /// let fill = module.get_function("fill")?;
    /// let (blocks, threads) = fill.suggested_launch_configuration(0, 0.into())?;
    /// println!("{blocks} blocks of {threads} threads occupy the device");
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn suggested_launch_configuration(
        &self,
        dynamic_shared_memory: usize,
        block_size_limit: BlockSize,
    ) -> CudaResult<(u32, u32)> {
        let api = self.context().bind()?;
        let mut limit = threads(block_size_limit);
        let mut entry = self.kernel.raw;
        if let Some(others) = &self.kernel.others {
            let most = self.get_attribute(FunctionAttribute::MaxThreadsPerBlock)?;
            limit = if limit == 0 { most } else { limit.min(most) };
            entry = others.first();
        }
        let (mut blocks, mut block_size) = (0, 0);
        // SAFETY: the function is alive, and the pointers are valid for the call.
        let result = unsafe {
            api.driver.cuOccupancyMaxPotentialBlockSize(
                &mut blocks,
                &mut block_size,
                entry,
                None,
                dynamic_shared_memory,
                limit,
            )
        };
        api.check(result, || format!("computing a launch size for {self:?}"))?;
        Ok((blocks as u32, block_size as u32))
    }

    /// Returns whether the kernel's code is loaded: the driver may load modules lazily.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    pub fn is_loaded(&self) -> CudaResult<bool> {
        let api = self.context().bind()?;
        let mut all = true;
        for entry in self.entries() {
            let mut state = CUfunctionLoadingState::CU_FUNCTION_LOADING_STATE_UNLOADED;
            // SAFETY: the function is alive, and the pointer is valid for the call.
            let result = unsafe { api.driver.cuFuncIsLoaded(&mut state, entry) };
            api.check(result, || format!("querying whether {self:?} is loaded"))?;
            all &= state == CUfunctionLoadingState::CU_FUNCTION_LOADING_STATE_LOADED;
        }
        Ok(all)
    }

    /// Loads the kernel's code in advance, so that the first launch is as fast as later ones.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if it cannot load the kernel.
    pub fn load(&self) -> CudaResult<()> {
        let api = self.context().bind()?;
        for entry in self.entries() {
            // SAFETY: the function is alive.
            let result = unsafe { api.driver.cuFuncLoad(entry) };
            api.check(result, || format!("loading {self:?}"))?;
        }
        Ok(())
    }

    /// Returns the limits of launches.
    #[inline]
    pub(crate) fn limits(&self) -> CudaResult<&Limits> {
        match self.kernel.limits.get() {
            Some(limits) => Ok(limits),
            None => self.query_limits(),
        }
    }

    #[cold]
    fn query_limits(&self) -> CudaResult<&Limits> {
        let device = self.context().device_limits()?;
        let attribute = |attribute| Ok(self.get_attribute(attribute)?.max(0) as u32);
        let used = attribute(FunctionAttribute::SharedMemorySizeBytes)?;
        let default = attribute(FunctionAttribute::MaxDynamicSharedSizeBytes)?;
        let limits = Limits {
            device,
            threads: attribute(FunctionAttribute::MaxThreadsPerBlock)?,
            shared: device.shared.saturating_sub(used).max(default),
            own_shared: used,
        };
        self.kernel.shared.fetch_max(default, Ordering::Relaxed);
        Ok(self.kernel.limits.get_or_init(|| limits))
    }

    /// Ensures that launches may use `bytes` bytes of dynamic shared memory per block, raising the
    /// kernel's limit if necessary. Returns `Some` with the maximum if `bytes` exceeds it.
    pub(crate) fn allow_shared(&self, bytes: u32) -> CudaResult<Option<u32>> {
        let limits = self.limits()?;
        if bytes <= self.kernel.shared.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if bytes > limits.shared {
            return Ok(Some(limits.shared));
        }
        // Raise the limit to the maximum, so that concurrent calls cannot lower it.
        let attribute = FunctionAttribute::MaxDynamicSharedSizeBytes;
        self.set_attribute(attribute, limits.shared as i32)?;
        self.kernel
            .shared
            .fetch_max(limits.shared, Ordering::Relaxed);
        Ok(None)
    }

    /// Returns the driver's handle, which is valid as long as the module: that of the entry for all
    /// launches, if the kernel has others for ordinary or for strided launches.
    pub fn to_raw(&self) -> CUfunction {
        self.kernel.raw
    }

    pub(crate) fn context(&self) -> &Context {
        self.module.context()
    }

    pub(crate) fn report(&self) -> Option<&Report> {
        self.module.report()
    }
}

impl std::fmt::Debug for Function<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the kernel `{}`", self.kernel.name)
    }
}

fn threads(size: BlockSize) -> i32 {
    let threads = u64::from(size.x)
        .saturating_mul(size.y.into())
        .saturating_mul(size.z.into());
    i32::try_from(threads).unwrap_or(i32::MAX)
}
