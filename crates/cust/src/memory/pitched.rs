//! Two- and three-dimensional memory: pitched memory, whose rows start at aligned addresses, and
//! CUDA arrays, whose layout is opaque and which textures read.
//!
//! Both are copied from and to host slices that contain the rows contiguously.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;

use cust_core::kernel::Access;
use cust_raw::{
    CUDA_ARRAY3D_DESCRIPTOR, CUDA_MEMCPY3D, CUarray, CUarray_format, CUdeviceptr, CUmemorytype,
};

use super::copy::{FROM_DEVICE, ON_DEVICE, TO_DEVICE, copy_size};
use super::device_buffer::{allocate, free};
use super::{DeviceCopy, DevicePointer, Zeroable, elements_text};
use crate::context::Context;
use crate::device::DeviceAttribute;
use crate::error::{CudaResult, Error};
use crate::stream::Stream;
use crate::tracker::{self, Captured, Dependency, Tracker};

/// The number of elements along each dimension; 1 along missing dimensions.
///
/// Arrays distinguish a missing dimension from a dimension of one element: `(8, 1)` is
/// two-dimensional with one row, `8` is one-dimensional.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extent {
    /// The number of elements per row.
    pub width: usize,
    /// The number of rows per layer.
    pub height: usize,
    /// The number of layers.
    pub depth: usize,
    /// The number of dimensions, from 1 to 3.
    pub dimensions: usize,
}

impl Extent {
    /// Creates a one-dimensional extent.
    pub const fn x(width: usize) -> Extent {
        Extent {
            dimensions: 1,
            ..Extent::xyz(width, 1, 1)
        }
    }

    /// Creates a two-dimensional extent.
    pub const fn xy(width: usize, height: usize) -> Extent {
        Extent {
            dimensions: 2,
            ..Extent::xyz(width, height, 1)
        }
    }

    /// Creates a three-dimensional extent.
    pub const fn xyz(width: usize, height: usize, depth: usize) -> Extent {
        Extent {
            width,
            height,
            depth,
            dimensions: 3,
        }
    }

    /// Returns the total number of elements.
    ///
    /// # Errors
    ///
    /// Returns [`Error::AllocationTooLarge`] if the product overflows.
    pub fn elements(&self) -> CudaResult<usize> {
        let Extent {
            width,
            height,
            depth,
            dimensions: _,
        } = *self;
        let len = (width.checked_mul(height)).and_then(|layer| layer.checked_mul(depth));
        len.ok_or(Error::AllocationTooLarge {
            len: width,
            element_size: height.saturating_mul(depth),
        })
    }
}

impl From<usize> for Extent {
    fn from(width: usize) -> Extent {
        Extent::x(width)
    }
}

impl From<(usize, usize)> for Extent {
    fn from((width, height): (usize, usize)) -> Extent {
        Extent::xy(width, height)
    }
}

impl From<(usize, usize, usize)> for Extent {
    fn from((width, height, depth): (usize, usize, usize)) -> Extent {
        Extent::xyz(width, height, depth)
    }
}

/// The source or destination of a copy.
#[derive(Clone, Copy)]
enum Place {
    Host(*const c_void),
    /// The address and the pitch in bytes.
    Device(CUdeviceptr, usize),
    Array(CUarray),
}

/// Returns the driver's description of a copy of the whole extent.
fn description(to: Place, from: Place, extent: Extent, element: usize) -> CUDA_MEMCPY3D {
    // SAFETY: all-zero bytes are valid for these integers and pointers.
    let mut copy: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    let row = extent.width * element;
    match from {
        Place::Host(pointer) => {
            copy.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
            copy.srcHost = pointer;
            copy.srcPitch = row;
        }
        Place::Device(address, pitch) => {
            copy.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
            copy.srcDevice = address;
            copy.srcPitch = pitch;
        }
        Place::Array(array) => {
            copy.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_ARRAY;
            copy.srcArray = array;
        }
    }
    match to {
        Place::Host(pointer) => {
            copy.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
            copy.dstHost = pointer.cast_mut();
            copy.dstPitch = row;
        }
        Place::Device(address, pitch) => {
            copy.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
            copy.dstDevice = address;
            copy.dstPitch = pitch;
        }
        Place::Array(array) => {
            copy.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_ARRAY;
            copy.dstArray = array;
        }
    }
    copy.srcHeight = extent.height;
    copy.dstHeight = extent.height;
    copy.WidthInBytes = row;
    copy.Height = extent.height;
    copy.Depth = extent.depth;
    copy
}

/// Copies and waits.
///
/// # Safety
///
/// Source and destination must have the extent, and `dependencies` must contain those that are on
/// the device.
unsafe fn copy_and_wait(
    copy: CUDA_MEMCPY3D,
    context: &Context,
    dependencies: &[Dependency<'_>],
) -> CudaResult<()> {
    if copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0 {
        return Ok(());
    }
    let doing = || {
        format!(
            "copying {} layers of {} rows of {} bytes",
            copy.Depth, copy.Height, copy.WidthInBytes
        )
    };
    // SAFETY: as the caller promises.
    unsafe {
        tracker::run(context, dependencies, doing, |api, stream| {
            api.driver.cuMemcpy3DAsync_v2(&copy, stream)
        })
    }
}

/// Pitched memory or an array, which can be copied to each other with [`Stream::copy_volume`].
pub trait Volume<T>: sealed::Sealed {
    /// Returns the number of elements along each dimension.
    fn extent(&self) -> Extent;
    #[doc(hidden)]
    fn parts(&self) -> Parts<'_>;
}

mod sealed {
    /// Seals [`Volume`](super::Volume), whose extent and parts must be consistent.
    pub trait Sealed {}
    impl<T> Sealed for super::PitchedBuffer<T> {}
    impl<T> Sealed for super::Array<T> {}
    impl<T> Sealed for super::ArrayMut<'_, T> {}
}

/// The memory of a [`Volume`].
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    place: Place,
    tracker: &'a Tracker,
}

impl<'a> Parts<'a> {
    fn dependency(self, access: Access) -> Dependency<'a> {
        Dependency::new(self.tracker, access, 0, usize::MAX)
    }
}

impl Stream {
    /// Enqueues a copy between pitched memory or arrays of the same extent.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] if the extents differ, [`Error::WrongContext`] for memory of
    /// another context, and [`Error::Capturing`] while the stream is being captured.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::memory::{Array, ArrayFlags, PitchedBuffer};
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let from = PitchedBuffer::from_slice(&[1.0f32, 2.0, 3.0, 4.0], (2, 2))?;
    /// let mut to = Array::new((2, 2), ArrayFlags::empty())?;
    /// stream.copy_volume(&from, &mut to)?;
    /// assert_eq!(to.as_host_vec()?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn copy_volume<T: DeviceCopy>(
        &self,
        from: &impl Volume<T>,
        to: &mut impl Volume<T>,
    ) -> CudaResult<()> {
        let extent = same_extent(from.extent(), to.extent())?;
        let (from, to) = (from.parts(), to.parts());
        let copy = description(to.place, from.place, extent, size_of::<T>());
        if copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0 {
            return Ok(());
        }
        let doing = || format!("enqueuing a copy of {extent:?}");
        let dependencies = [to.dependency(Access::Write), from.dependency(Access::Read)];
        let refused = Captured::Refused;
        // SAFETY: source and destination have the extent.
        unsafe {
            tracker::enqueue(
                self.inner(),
                &dependencies,
                refused,
                doing,
                |api, stream| api.driver.cuMemcpy3DAsync_v2(&copy, stream),
            )
        }
    }
}

fn same_extent(from: Extent, to: Extent) -> CudaResult<Extent> {
    let sizes = |extent: Extent| [extent.width, extent.height, extent.depth];
    if sizes(from) != sizes(to) {
        return Err(Error::SizeMismatch {
            doing: ON_DEVICE,
            source_len: from.elements()?,
            destination_len: to.elements()?,
        });
    }
    Ok(from)
}

/// Defines the copies from and to host slices.
macro_rules! host_copies {
    () => {
        /// Copies `source`, which contains the rows contiguously, into this memory, and waits.
        ///
        /// # Errors
        ///
        /// Returns [`Error::SizeMismatch`] if the number of elements differs.
        pub fn copy_from(&mut self, source: &[T]) -> CudaResult<()> {
            copy_size::<T>(TO_DEVICE, source.len(), self.extent.elements()?)?;
            let (parts, host) = (self.parts(), Place::Host(source.as_ptr().cast()));
            let copy = description(parts.place, host, self.extent, size_of::<T>());
            let context = parts.tracker.context();
            // SAFETY: the lengths agree.
            unsafe { copy_and_wait(copy, context, &[parts.dependency(Access::Write)]) }
        }

        /// Copies the rows contiguously to `destination`, and waits.
        ///
        /// # Errors
        ///
        /// Returns [`Error::SizeMismatch`] if the number of elements differs.
        pub fn copy_to(&self, destination: &mut [T]) -> CudaResult<()> {
            copy_size::<T>(FROM_DEVICE, self.extent.elements()?, destination.len())?;
            // SAFETY: the lengths agree.
            unsafe { self.copy_out(destination.as_mut_ptr()) }
        }

        /// Copies the rows contiguously to a `Vec` on the host.
        ///
        /// # Errors
        ///
        /// Returns the errors of the kernels that the call waits for, and the driver's error if the
        /// copy fails.
        pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
            let len = self.extent.elements()?;
            let mut vec = Vec::with_capacity(len);
            // SAFETY: the vector has capacity for all elements, and the copy initializes them.
            unsafe {
                self.copy_out(vec.as_mut_ptr())?;
                vec.set_len(len);
            }
            Ok(vec)
        }

        /// Copies the rows contiguously to `to`, and waits.
        ///
        /// # Safety
        ///
        /// The memory at `to` must have room for all elements.
        unsafe fn copy_out(&self, to: *mut T) -> CudaResult<()> {
            let (parts, host) = (self.parts(), Place::Host(to.cast_const().cast()));
            let copy = description(host, parts.place, self.extent, size_of::<T>());
            let context = parts.tracker.context();
            // SAFETY: as the caller promises.
            unsafe { copy_and_wait(copy, context, &[parts.dependency(Access::Read)]) }
        }

        /// Returns the number of elements along each dimension.
        pub fn extent(&self) -> Extent {
            self.extent
        }
    };
}

/// Device memory in rows that start at aligned addresses, for fast access and for textures.
///
/// # Examples
///
/// ```
/// use cust::prelude::*;
/// use cust::memory::PitchedBuffer;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let image = PitchedBuffer::from_slice(&[1u8, 2, 3, 4, 5, 6], (3, 2))?;
/// assert!(image.pitch() >= 3);
/// assert_eq!(image.as_host_vec()?, [1, 2, 3, 4, 5, 6]);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub struct PitchedBuffer<T> {
    tracker: Tracker,
    address: CUdeviceptr,
    extent: Extent,
    /// The number of bytes from the start of one row to the start of the next.
    pitch: usize,
    pooled: bool,
    elements: PhantomData<T>,
}

impl<T: DeviceCopy> PitchedBuffer<T> {
    /// Allocates uninitialized memory.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] without a context, [`Error::AllocationTooLarge`] and
    /// [`Error::Alignment`] for sizes and types that cannot be allocated, and the driver's error if
    /// it is out of memory.
    ///
    /// # Safety
    ///
    /// The elements must be written before they are read as `T`.
    pub unsafe fn uninitialized(extent: impl Into<Extent>) -> CudaResult<Self> {
        let (context, extent) = (Context::current("allocating rows")?, extent.into());
        let too_large = || Error::AllocationTooLarge {
            len: extent.width,
            element_size: size_of::<T>(),
        };
        let align = DeviceAttribute::TextureAlignment;
        let align = context.device().get_attribute(align)?.max(256) as usize;
        let row = extent.width.checked_mul(size_of::<T>());
        let pitch = row.and_then(|row| row.checked_next_multiple_of(align));
        let pitch = pitch.ok_or_else(too_large)?;
        let bytes = (pitch.checked_mul(extent.height))
            .and_then(|layer| layer.checked_mul(extent.depth))
            .filter(|&bytes| bytes <= isize::MAX as usize)
            .ok_or_else(too_large)?;
        let (address, pooled) = match bytes {
            0 => (0, false),
            bytes => allocate(&context, bytes, || {
                let rows = extent.height * extent.depth;
                let elements = elements_text::<T>(extent.width);
                format!("allocating {rows} rows of {elements} ({bytes} bytes)")
            })?,
        };
        Ok(PitchedBuffer {
            tracker: Tracker::new(context),
            address,
            extent,
            pitch,
            pooled,
            elements: PhantomData,
        })
    }

    /// Allocates zeroed memory.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`PitchedBuffer::uninitialized`].
    pub fn zeroed(extent: impl Into<Extent>) -> CudaResult<Self>
    where
        T: Zeroable,
    {
        // SAFETY: the elements are set immediately, or the buffer is dropped.
        let mut buffer = unsafe { Self::uninitialized(extent)? };
        // SAFETY: `T` is `Zeroable`.
        unsafe { buffer.set_8(0)? };
        Ok(buffer)
    }

    /// Allocates memory and copies `source`, which contains the rows contiguously, into it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] if `source` does not have the number of elements of
    /// `extent`.
    pub fn from_slice(source: &[T], extent: impl Into<Extent>) -> CudaResult<Self> {
        // SAFETY: the elements are set immediately, or the buffer is dropped.
        let mut buffer = unsafe { Self::uninitialized(extent)? };
        buffer.copy_from(source)?;
        Ok(buffer)
    }

    /// Sets every byte of the elements to `value`, and waits.
    ///
    /// # Errors
    ///
    /// Returns the errors of the kernels that the call waits for, and the driver's error if the
    /// fill fails.
    ///
    /// # Safety
    ///
    /// The bytes must form valid values of `T`.
    pub unsafe fn set_8(&mut self, value: u8) -> CudaResult<()> {
        let (row, rows) = (
            self.extent.width * size_of::<T>(),
            // Saturate: the number of rows of zero bytes is not limited.
            self.extent.height.saturating_mul(self.extent.depth),
        );
        if row == 0 || rows == 0 {
            return Ok(());
        }
        let doing = || format!("setting {rows} rows of {row} bytes to {value:#x}");
        let context = self.tracker.context();
        let parts = self.parts();
        // SAFETY: the memory has this number of rows.
        unsafe {
            let write = [parts.dependency(Access::Write)];
            tracker::run(context, &write, doing, |api, stream| {
                api.driver
                    .cuMemsetD2D8Async(self.address, self.pitch, value, row, rows, stream)
            })
        }
    }

    host_copies!();

    /// Returns the number of bytes from the start of one row to the start of the next.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::memory::PitchedBuffer;
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// // Two rows of three elements; each row starts at an aligned address.
    /// let matrix = PitchedBuffer::from_slice(&[1u32, 2, 3, 4, 5, 6], (3, 2))?;
    /// assert!(matrix.pitch() >= 3 * 4);
    /// assert_eq!(matrix.as_host_vec()?, [1, 2, 3, 4, 5, 6]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// Returns the address of the first element, for kernel arguments.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.address)
    }
}

impl<T> Volume<T> for PitchedBuffer<T> {
    fn extent(&self) -> Extent {
        self.extent
    }

    fn parts(&self) -> Parts<'_> {
        Parts {
            place: Place::Device(self.address, self.pitch),
            tracker: &self.tracker,
        }
    }
}

impl<T> PitchedBuffer<T> {
    pub(crate) fn tracker(&self) -> &Tracker {
        &self.tracker
    }
}

impl<T> Drop for PitchedBuffer<T> {
    fn drop(&mut self) {
        free(&self.tracker, self.address, self.pooled);
    }
}

impl<T> std::fmt::Debug for PitchedBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PitchedBuffer")
            .field("address", &format_args!("{:#x}", self.address))
            .field("extent", &self.extent)
            .field("pitch", &self.pitch)
            .finish()
    }
}

/// An element type of arrays: one, two or four channels of 8, 16 or 32 bits.
///
/// # Safety
///
/// The type must consist of exactly `CHANNELS` numbers of `FORMAT`.
pub unsafe trait ArrayElement: DeviceCopy {
    /// The format of each channel.
    const FORMAT: CUarray_format;
    /// The number of channels.
    const CHANNELS: u32;
}

macro_rules! array_elements {
    ($($ty:ty: $format:ident;)*) => {
        $(
            // SAFETY: one number.
            unsafe impl ArrayElement for $ty {
                const FORMAT: CUarray_format = CUarray_format::$format;
                const CHANNELS: u32 = 1;
            }
            // SAFETY: two of them.
            unsafe impl ArrayElement for [$ty; 2] {
                const FORMAT: CUarray_format = CUarray_format::$format;
                const CHANNELS: u32 = 2;
            }
            // SAFETY: four of them.
            unsafe impl ArrayElement for [$ty; 4] {
                const FORMAT: CUarray_format = CUarray_format::$format;
                const CHANNELS: u32 = 4;
            }
        )*
    };
}
array_elements! {
    u8: CU_AD_FORMAT_UNSIGNED_INT8;
    u16: CU_AD_FORMAT_UNSIGNED_INT16;
    u32: CU_AD_FORMAT_UNSIGNED_INT32;
    i8: CU_AD_FORMAT_SIGNED_INT8;
    i16: CU_AD_FORMAT_SIGNED_INT16;
    i32: CU_AD_FORMAT_SIGNED_INT32;
    f32: CU_AD_FORMAT_FLOAT;
}

bitflags::bitflags! {
    /// Properties of an array.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct ArrayFlags: u32 {
        /// The array is layered: its layers are separate images.
        const LAYERED = 1;
        /// The array can be bound to surfaces.
        const SURFACE_LDST = 2;
        /// The array is a cubemap: its six layers are the faces of a cube.
        const CUBEMAP = 4;
        /// Textures can perform gather operations on the array.
        const TEXTURE_GATHER = 8;
    }
}

/// A CUDA array: device memory with an opaque layout, which textures read and surfaces write.
pub struct Array<T> {
    tracker: Tracker,
    raw: CUarray,
    extent: Extent,
    /// For a mip level, the mipmapped array that owns the memory.
    whole: Option<Arc<dyn Send + Sync>>,
    elements: PhantomData<T>,
}

// SAFETY: the driver's arrays may be used from any thread.
unsafe impl<T: Send> Send for Array<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Array<T> {}

/// Returns the driver's description of an array, or an error if the extent contradicts itself: the
/// driver's array would have another number of elements than this crate assumes.
pub(crate) fn array_description<T: ArrayElement>(
    extent: Extent,
    flags: ArrayFlags,
) -> CudaResult<CUDA_ARRAY3D_DESCRIPTOR> {
    check_array(extent, flags, size_of::<T>())?;
    // The driver distinguishes missing dimensions (0) from dimensions of one element. A 1D layered
    // array has no height, but a depth.
    let layered = flags.contains(ArrayFlags::LAYERED);
    let flat = extent.dimensions == 1 || (layered && extent.height == 1);
    let deep = layered || extent.dimensions == 3;
    Ok(CUDA_ARRAY3D_DESCRIPTOR {
        Width: extent.width,
        Height: if flat { 0 } else { extent.height },
        Depth: if deep { extent.depth } else { 0 },
        Format: T::FORMAT,
        NumChannels: T::CHANNELS,
        Flags: flags.bits(),
    })
}

/// Returns an error for an extent that contradicts itself, and for flags that this crate does not
/// define: the driver has flags for arrays without memory.
fn check_array(extent: Extent, flags: ArrayFlags, element: usize) -> CudaResult<()> {
    let sizes = [extent.width, extent.height, extent.depth];
    let refuse = |reason: String| {
        Err(Error::Extent {
            doing: "creating an array",
            sizes,
            reason,
        })
    };
    let unknown = flags.bits() & !ArrayFlags::all().bits();
    if unknown != 0 {
        return refuse(format!("the flags {unknown:#x} are not supported"));
    }
    let dimensions = extent.dimensions;
    if !(1..=3).contains(&dimensions) {
        return refuse(format!(
            "it has {dimensions} dimensions, and must have 1 to 3"
        ));
    }
    if sizes.contains(&0) {
        return refuse("each size must be at least 1".to_owned());
    }
    let deep = flags.contains(ArrayFlags::LAYERED) || dimensions == 3;
    let missing = (dimensions == 1 && extent.height != 1) || (!deep && extent.depth != 1);
    if missing {
        return refuse(format!(
            "it has {dimensions} dimensions, so its size along the others must be 1"
        ));
    }
    let bytes = (extent.elements().ok()).and_then(|elements| elements.checked_mul(element));
    match bytes.filter(|&bytes| isize::try_from(bytes).is_ok()) {
        Some(_) => Ok(()),
        None => refuse(format!(
            "elements of {element} bytes are larger than the address space"
        )),
    }
}

impl<T: ArrayElement> Array<T> {
    /// Allocates an array. The initial contents are unspecified, but valid: all bit patterns are
    /// elements.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Extent`] for an extent that contradicts itself, and the driver's error if
    /// the device does not support the extent or the flags.
    pub fn new(extent: impl Into<Extent>, flags: ArrayFlags) -> CudaResult<Self> {
        let (context, extent) = (Context::current("creating an array")?, extent.into());
        let api = context.bind()?;
        let descriptor = array_description::<T>(extent, flags)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointers are valid for the call.
        let result = unsafe { api.driver.cuArray3DCreate_v2(&mut raw, &descriptor) };
        api.check(result, || format!("creating an array of {extent:?}"))?;
        Ok(Array {
            tracker: Tracker::shared(context),
            raw,
            extent,
            whole: None,
            elements: PhantomData,
        })
    }

    /// Wraps a mip level of a mipmapped array.
    pub(super) fn of_level(
        context: Context,
        raw: CUarray,
        extent: Extent,
        whole: Arc<dyn Send + Sync>,
    ) -> Array<T> {
        Array {
            tracker: Tracker::shared(context),
            raw,
            extent,
            whole: Some(whole),
            elements: PhantomData,
        }
    }

    /// Allocates an array and copies `source`, which contains the rows contiguously, into it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Array::new`], and [`Error::SizeMismatch`] if `source` does not have
    /// the number of elements of `extent`.
    pub fn from_slice(
        source: &[T],
        extent: impl Into<Extent>,
        flags: ArrayFlags,
    ) -> CudaResult<Self> {
        let mut array = Self::new(extent, flags)?;
        array.copy_from(source)?;
        Ok(array)
    }

    host_copies!();

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUarray {
        self.raw
    }

    /// Returns the driver's descriptor of the array.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    pub fn descriptor(&self) -> CudaResult<CUDA_ARRAY3D_DESCRIPTOR> {
        let api = self.tracker.context().bind()?;
        // SAFETY: all-zero bytes are valid for these integers.
        let mut descriptor = unsafe { std::mem::zeroed() };
        // SAFETY: the array is alive, and the pointer is valid for the call.
        let result = unsafe {
            api.driver
                .cuArray3DGetDescriptor_v2(&mut descriptor, self.raw)
        };
        api.check(result, || "querying an array's description".to_owned())?;
        Ok(descriptor)
    }

    /// Returns the context that the array belongs to.
    pub fn context(&self) -> &Context {
        self.tracker.context()
    }
}

impl<T> Array<T> {
    pub(crate) fn tracker(&self) -> &Tracker {
        &self.tracker
    }
}

impl<T> Volume<T> for Array<T> {
    fn extent(&self) -> Extent {
        self.extent
    }

    fn parts(&self) -> Parts<'_> {
        Parts {
            place: Place::Array(self.raw),
            tracker: &self.tracker,
        }
    }
}

/// A mutable borrow of an [`Array`] that gives access to its elements, but cannot replace it with
/// another array.
pub struct ArrayMut<'a, T>(&'a mut Array<T>);

impl<'a, T: ArrayElement> ArrayMut<'a, T> {
    pub(super) fn new(array: &'a mut Array<T>) -> Self {
        ArrayMut(array)
    }

    /// Copies `source`, which contains the rows contiguously, into the array, and waits.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] if the number of elements differs.
    pub fn copy_from(&mut self, source: &[T]) -> CudaResult<()> {
        self.0.copy_from(source)
    }
}

impl<T> std::ops::Deref for ArrayMut<'_, T> {
    type Target = Array<T>;

    fn deref(&self) -> &Array<T> {
        self.0
    }
}

impl<T> Volume<T> for ArrayMut<'_, T> {
    fn extent(&self) -> Extent {
        self.0.extent
    }

    fn parts(&self) -> Parts<'_> {
        self.0.parts()
    }
}

impl<T> std::fmt::Debug for ArrayMut<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        // Leak an array that pending work may use.
        let settled = self.tracker.settle(Access::Write).is_ok();
        if let Some(whole) = self.whole.take() {
            if !settled {
                std::mem::forget(whole);
            }
            return;
        }
        if !settled {
            return;
        }
        // An error means that the context is gone, and the array with it.
        if let Ok(api) = self.tracker.context().bind() {
            // SAFETY: created once, destroyed once, and no longer in use.
            let _ = unsafe { api.driver.cuArrayDestroy(self.raw) };
        }
    }
}

impl<T> std::fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Array")
            .field("extent", &self.extent)
            .finish_non_exhaustive()
    }
}
