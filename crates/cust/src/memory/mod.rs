//! Device, pinned and unified memory, and copies between them.
//!
//! - [`DeviceBuffer`] and [`DeviceBox`] own device memory; [`DeviceSlice`] and [`DeviceSliceMut`]
//!   are borrowed parts of a buffer.
//! - [`LockedBuffer`] is pinned host memory, which the device can copy from and to asynchronously.
//! - [`PitchedBuffer`] and [`Array`] are two- and three-dimensional.
//! - [`UnifiedBuffer`] and [`UnifiedBox`] can be accessed from host and device.
//! - [`CopyDestination`] copies and waits. [`Stream::upload`](crate::stream::Stream::upload),
//!   [`download`](crate::stream::Stream::download) and [`copy`](crate::stream::Stream::copy)
//!   enqueue copies into a stream; [`AsyncCopyDestination`] does so with untracked host memory.
//!
//! Device, pinned and unified buffers record the streams whose pending work reads and writes them.
//! Later work in other streams, accesses by the host and deallocation wait for this work
//! automatically; a stream that uses a buffer alone never waits. Safe code is therefore free of
//! data races, even if it forgets or leaks objects.
//!
//! # Examples
//!
//! ```
//! use cust::prelude::*;
//!
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//! let host = LockedBuffer::from_slice(&[1u32, 2, 3])?;
//! let mut device = DeviceBuffer::<u32>::zeroed(3)?;
//! stream.upload(&host, &mut device)?;
//! // Waits for the pending copy.
//! assert_eq!(device.as_host_vec()?, [1, 2, 3]);
//! # Ok::<(), cust::error::Error>(())
//! ```

mod copy;
mod device_box;
mod device_buffer;
mod device_slice;
mod growable;
mod in_stream;
mod locked;
mod mipmapped;
mod peer;
mod pitched;
mod pointer;
mod pool;
pub mod raw;
mod stream_value;
pub(crate) mod transfer;
mod unified;

use crate::context::Context;
use crate::error::{CudaResult, Error};

pub use bytemuck::Zeroable;
pub use copy::{AsyncCopyDestination, CopyDestination};
#[cfg(feature = "bytemuck")]
pub use cust_core::Plain;
#[doc(hidden)]
pub use cust_core::layout;
pub use cust_core::traits::DeviceCopy;
pub use cust_derive::DeviceCopy;
pub use device_box::DeviceBox;
pub use device_buffer::DeviceBuffer;
pub(crate) use device_slice::RangeOnDevice;
pub use device_slice::{DeviceSlice, DeviceSliceMut};
pub use growable::GrowableBuffer;
pub use locked::LockedBuffer;
pub use mipmapped::MipmappedArray;
#[cfg(unix)]
pub(crate) use mipmapped::check_levels;
#[cfg(unix)]
pub(crate) use pitched::array_description;
pub use pitched::{
    Array, ArrayElement, ArrayFlags, ArrayMut, Extent, Parts, PitchedBuffer, Volume,
};
pub use pointer::DevicePointer;
pub use pool::{MemoryPool, PoolAttribute};
pub use raw::*;
pub use unified::{MemoryAdvice, MemoryLocation, UnifiedBox, UnifiedBuffer};

/// Returns the current device's free and total memory in bytes.
///
/// # Errors
///
/// Returns [`Error::NoContext`] without a context, and the driver's error if the context was reset
/// or lost.
///
/// # Examples
///
/// ```
/// use cust::prelude::*;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let (free, total) = cust::memory::mem_get_info()?;
/// assert!(free <= total);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub fn mem_get_info() -> CudaResult<(usize, usize)> {
    let api = Context::current("querying the free memory")?.bind()?;
    let (mut free, mut total) = (0, 0);
    // SAFETY: the pointers are valid for the call.
    let result = unsafe { api.driver.cuMemGetInfo_v2(&mut free, &mut total) };
    api.check(result, || "querying the free memory".to_owned())?;
    Ok((free, total))
}

/// Returns the size of `len` elements in bytes, or an error if it overflows the address space or
/// the element type's alignment is too large.
fn byte_size<T>(len: usize) -> CudaResult<usize> {
    let element_size = size_of::<T>();
    match len.checked_mul(element_size) {
        Some(bytes) if bytes <= isize::MAX as usize => {
            if bytes > 0 {
                check_alignment::<T>()?;
            }
            Ok(bytes)
        }
        _ => Err(Error::AllocationTooLarge { len, element_size }),
    }
}

/// The alignment that the driver guarantees for its allocations.
pub(crate) const MOST_ALIGNMENT: usize = 256;

/// Returns the address for kernels of an empty range with this alignment: Rust references are never
/// null, and launches with pointers that are aligned like allocations may use a faster entry.
pub(crate) fn empty_address(align: usize) -> u64 {
    align.max(MOST_ALIGNMENT) as u64
}

/// Returns an error for types with a larger alignment than the driver guarantees.
pub(crate) fn check_alignment<T>() -> CudaResult<()> {
    match align_of::<T>() {
        ..=MOST_ALIGNMENT => Ok(()),
        align => Err(Error::Alignment {
            type_name: std::any::type_name::<T>(),
            align,
            most: MOST_ALIGNMENT,
        }),
    }
}

/// Returns the number and type of elements, for error messages.
fn elements_text<T>(len: usize) -> String {
    format!("{len} elements of {}", std::any::type_name::<T>())
}
