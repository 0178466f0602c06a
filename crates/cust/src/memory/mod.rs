//! Memory: buffers on the device, pinned and unified memory, and copies between them.
//!
//! - [`DeviceBuffer`] and [`DeviceBox`] are memory of the device; [`DeviceSlice`] and
//!   [`DeviceSliceMut`] are parts of a buffer.
//! - [`LockedBuffer`] is pinned memory of the host, which the device copies from and to without
//!   the CPU.
//! - [`PitchedBuffer`] and [`Array`] have two and three dimensions.
//! - [`UnifiedBuffer`] and [`UnifiedBox`] are accessed from both sides.
//! - [`CopyDestination`] copies and waits. [`Stream::upload`](crate::stream::Stream::upload),
//!   [`download`](crate::stream::Stream::download) and [`copy`](crate::stream::Stream::copy) copy in
//!   a stream; [`AsyncCopyDestination`] does so with memory that does not know what uses it.
//!
//! Device, pinned and unified buffers know the streams whose work reads and writes them. Later work
//! in other streams, the host's accesses and the freeing wait for it; one stream that uses a buffer
//! alone waits for nothing. So code without `unsafe` has no races, whatever it forgets.

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
pub(crate) mod transfer;
mod unified;

use crate::context::Context;
use crate::error::{CudaResult, Error};

pub use bytemuck::Zeroable;
pub use copy::{AsyncCopyDestination, CopyDestination};
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
pub(crate) use pitched::array_description;
pub use pitched::{Array, ArrayElement, ArrayFlags, Extent, Parts, PitchedBuffer, Volume};
pub use pointer::DevicePointer;
pub use pool::{MemoryPool, PoolAttribute};
pub use raw::*;
pub use unified::{MemoryAdvice, MemoryLocation, UnifiedBox, UnifiedBuffer};

/// The device's free and total memory in bytes.
pub fn mem_get_info() -> CudaResult<(usize, usize)> {
    let api = Context::current("asking for the free memory")?.bind()?;
    let (mut free, mut total) = (0, 0);
    // SAFETY: the pointers are valid for the call.
    let result = unsafe { api.driver.cuMemGetInfo_v2(&mut free, &mut total) };
    api.check(result, || "asking for the free memory".to_owned())?;
    Ok((free, total))
}

/// The size of `len` elements in bytes.
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

/// The alignment that the driver promises of its allocations.
pub(crate) const MOST_ALIGNMENT: usize = 256;

/// Refuses types with a larger alignment than the driver promises of its allocations.
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

/// `len` elements of what, for messages.
fn elements_text<T>(len: usize) -> String {
    format!("{len} elements of {}", std::any::type_name::<T>())
}
