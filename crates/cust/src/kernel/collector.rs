//! The parameters and the memory of a launch, collected from its arguments.

use std::any::Any;
use std::ffi::c_void;
use std::mem::MaybeUninit;

use cust_core::kernel::{Access, HostMemory, Launch};
use cust_raw::CUresult;
use smallvec::SmallVec;

use super::checks::check_size;
use super::config::{LaunchConfig, attributes, raw_config};
use crate::error::{CudaResult, Error, ImageMismatch};
use crate::function::Function;
use crate::host_slices::{self, HostArgument};
use crate::stream::Stream;
use crate::texture::Mismatch;
use crate::tracker::{self, Captured, Dependency, Tracker};

/// A parameter whose size differs from that of the kernel's parameter with the same index.
struct WrongSize {
    index: usize,
    /// Returns the name of the parameter's type.
    type_name: fn() -> &'static str,
    found: usize,
}

/// Collects the parameters and dependencies of a launch.
#[derive(Default)]
pub(crate) struct Collector<'a> {
    /// A pointer to the bytes of each parameter, which are borrowed for `'a`.
    pointers: SmallVec<[*mut c_void; 16]>,
    /// The sizes of the kernel's parameters in bytes, if known.
    sizes: Option<&'a [usize]>,
    /// The first parameter whose size is wrong.
    wrong_size: Option<WrongSize>,
    dependencies: SmallVec<[Dependency<'a>; 8]>,
    /// Arguments in host memory.
    host: SmallVec<[HostArgument<'a>; 4]>,
    /// Buffers that belong to graphs.
    in_graphs: SmallVec<[(&'a InGraph, Access); 2]>,
    /// A texture or surface that does not match its parameter.
    mismatch: Option<&'a Mismatch>,
    /// Whether there are textures or surfaces. They are tracked as whole resources.
    images: bool,
}

/// A buffer that belongs to a graph: the graph's ID, and the buffer's index in the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InGraph {
    pub(crate) graph: u64,
    pub(crate) buffer: usize,
}

impl<'a> Launch<'a> for Collector<'a> {
    #[inline]
    fn parameter(&mut self, bytes: &'a [MaybeUninit<u8>], type_name: fn() -> &'static str) {
        if !bytes.is_empty() {
            let index = self.pointers.len();
            if let Some(sizes) = self.sizes
                && sizes.get(index) != Some(&bytes.len())
            {
                self.record_wrong_size(index, type_name, bytes.len());
            }
            self.pointers.push(bytes.as_ptr().cast_mut().cast());
        }
    }

    #[inline]
    fn resource(&mut self, resource: &'a dyn Any, access: Access, address: u64, bytes: usize) {
        // Only types of this crate call this function, with resources of these types.
        if let Some(tracker) = resource.downcast_ref::<Tracker>() {
            let dependency = Dependency::new(tracker, access, address, bytes);
            self.dependencies.push(dependency);
            self.images |= bytes == usize::MAX;
        } else if let Some(resource) = resource.downcast_ref::<InGraph>() {
            self.in_graphs.push((resource, access));
        } else if let Some(mismatch) = resource.downcast_ref::<Mismatch>() {
            self.mismatch = Some(mismatch);
        }
    }

    fn host(&mut self, memory: HostMemory<'a>) {
        // A placeholder for the address, which is known once the device memory is allocated.
        static LATER: [MaybeUninit<u8>; 40] = [MaybeUninit::new(0); 40];
        let type_name = memory.type_name();
        let index = self.pointers.len();
        match memory.is_wide() {
            true => {
                self.parameter(&LATER[..8], type_name);
                self.parameter(&LATER[..8], type_name);
            }
            false => self.parameter(&LATER[..8 * (1 + memory.sizes().len())], type_name),
        }
        self.host.push(HostArgument { memory, index });
    }
}

impl<'a> Collector<'a> {
    /// Creates a collector for a launch of this kernel.
    #[inline]
    pub(crate) fn of(function: &'a Function<'_>) -> Collector<'a> {
        Collector {
            sizes: function.parameter_sizes(),
            ..Collector::default()
        }
    }

    #[cold]
    fn record_wrong_size(&mut self, index: usize, type_name: fn() -> &'static str, found: usize) {
        self.wrong_size.get_or_insert(WrongSize {
            index,
            type_name,
            found,
        });
    }

    /// Returns pointers to the parameters, after comparing their number and sizes with those of
    /// the kernel, which the collector was created for. The pointers are valid as long as the
    /// collector is.
    pub(crate) fn pointers(&mut self, function: &Function<'_>) -> CudaResult<&mut [*mut c_void]> {
        self.check_parameters(function)?;
        Ok(&mut self.pointers)
    }

    /// Compares the parameters with those of the kernel.
    #[inline]
    fn check_parameters(&self, function: &Function<'_>) -> CudaResult<()> {
        if let Some(sizes) = self.sizes
            && (self.wrong_size.is_some() || self.pointers.len() != sizes.len())
        {
            return Err(self.wrong_parameters(function, sizes));
        }
        if self.mismatch.is_some() || self.images {
            self.check_images(function)?;
        }
        Ok(())
    }

    #[cold]
    fn wrong_parameters(&self, function: &Function<'_>, sizes: &[usize]) -> Error {
        let kernel = function.name().to_owned();
        match &self.wrong_size {
            Some(wrong) if self.pointers.len() == sizes.len() => Error::ArgumentSize {
                kernel,
                index: wrong.index,
                type_name: (wrong.type_name)(),
                expected: sizes[wrong.index],
                found: wrong.found,
            },
            _ => Error::ArgumentCount {
                kernel,
                expected: sizes.len(),
                found: self.pointers.len(),
            },
        }
    }

    /// Returns an error if a texture or surface does not match its parameter, or if one array is
    /// used as a texture and as a surface: texture caches are not coherent with surface writes of
    /// the same launch.
    #[inline(never)]
    fn check_images(&self, function: &Function<'_>) -> CudaResult<()> {
        if let Some(mismatch) = self.mismatch {
            return Err(Error::Image(Box::new(ImageMismatch {
                kernel: function.name().to_owned(),
                parameter: (mismatch.type_name)(),
                expected: mismatch.wanted.to_string(),
                found: mismatch.there.to_string(),
            })));
        }
        for (index, one) in self.dependencies.iter().enumerate() {
            let conflicts = |other: &Dependency<'_>| {
                std::ptr::eq(one.tracker, other.tracker) && one.access != other.access
            };
            if self.dependencies[..index].iter().any(conflicts) {
                return Err(Error::AliasedImage {
                    kernel: function.name().to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Returns whether an argument is in host memory. Such arguments are borrowed for one launch
    /// only.
    pub(crate) fn has_host_memory(&self) -> bool {
        !self.host.is_empty()
    }

    pub(crate) fn dependencies(&self) -> &[Dependency<'a>] {
        &self.dependencies
    }

    /// Returns the trackers of textures and surfaces.
    pub(crate) fn images(&self) -> impl Iterator<Item = (&'a Tracker, Access)> {
        let images = self.dependencies.iter().filter(|image| image.is_whole());
        images.map(|image| (image.tracker, image.access))
    }

    /// Returns the graphs' buffers that the kernel uses.
    pub(crate) fn in_graphs(&self) -> &[(&'a InGraph, Access)] {
        &self.in_graphs
    }

    /// Checks the launch, then enqueues it.
    ///
    /// # Safety
    ///
    /// The parameters must have the types of the kernel's parameters, the kernel must be sound for
    /// these arguments, and it must access only the memory in `dependencies`. No other launch may
    /// have the host memory.
    pub(super) unsafe fn launch(
        &mut self,
        function: &Function<'_>,
        stream: &Stream,
        config: &LaunchConfig,
    ) -> CudaResult<()> {
        let doing = || doing(function, config);
        stream.context().require_same(function.context(), doing)?;
        if !self.in_graphs.is_empty() {
            return Err(Error::BufferOfGraph { doing: doing() });
        }
        check_size(function, config)?;
        self.check_parameters(function)?;
        let (pointers, dependencies) = (&mut self.pointers[..], &self.dependencies[..]);
        let enqueue = |pointers: &mut [*mut c_void]| -> CudaResult<()> {
            let inner = stream.inner();
            crate::launch::record_launch(function, stream)?;
            let refused = Captured::Refused;
            // SAFETY: as the caller promises.
            unsafe {
                tracker::enqueue_launch(inner, dependencies, refused, doing, |api, raw| {
                    call(api.driver, function, config, raw, pointers)
                })?;
            }
            crate::launch::record_launched(function, inner, inner.issued());
            Ok(())
        };
        if self.host.is_empty() {
            return enqueue(pointers);
        }
        // SAFETY: `self.host` describes the arguments that `pointers` refers to.
        unsafe { host_slices::launch(stream, &self.host, pointers, doing, enqueue) }
    }
}

pub(crate) fn doing(function: &Function<'_>, config: &LaunchConfig) -> String {
    let LaunchConfig { grid, block, .. } = config;
    let bytes = config.shared_mem_bytes;
    format!(
        "launching the kernel `{}` with grid {grid}, block {block} and {bytes} bytes of dynamic \
         shared memory",
        function.name()
    )
}

/// Calls the driver's launch function.
///
/// # Safety
///
/// As for `cuLaunchKernel`.
#[inline]
unsafe fn call(
    driver: &cust_raw::Driver,
    function: &Function<'_>,
    config: &LaunchConfig,
    stream: cust_raw::CUstream,
    pointers: &mut [*mut c_void],
) -> CUresult {
    if config.has_attributes() {
        // SAFETY: as the caller promises.
        return unsafe { call_with_attributes(driver, function, config, stream, pointers) };
    }
    let sizes = (config.grid, config.block, config.shared_mem_bytes);
    // SAFETY: as the caller promises.
    unsafe { crate::launch::call(driver, function, sizes, stream, pointers.as_mut_ptr()) }
}

/// Calls the driver's launch function with the attributes of the configuration.
///
/// # Safety
///
/// As for `cuLaunchKernelEx`.
#[inline(never)]
unsafe fn call_with_attributes(
    driver: &cust_raw::Driver,
    function: &Function<'_>,
    config: &LaunchConfig,
    stream: cust_raw::CUstream,
    pointers: &mut [*mut c_void],
) -> CUresult {
    let mut attributes = attributes(config);
    let mut raw = raw_config(config);
    raw.hStream = stream;
    raw.attrs = attributes.as_mut_ptr();
    raw.numAttrs = attributes.len() as u32;
    // SAFETY: as the caller promises; the attributes live through the call.
    unsafe {
        driver.cuLaunchKernelEx(
            &raw,
            function.entry_for(config.grid, config.block, pointers.as_ptr()),
            pointers.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    }
}
