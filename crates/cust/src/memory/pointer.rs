//! Device addresses.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use cust_raw::CUdeviceptr;

use super::DeviceCopy;

/// A typed device address, which kernels take for a pointer or, together with a length, for a
/// slice.
///
/// The host cannot dereference it.
#[repr(transparent)]
pub struct DevicePointer<T> {
    address: CUdeviceptr,
    target: PhantomData<*mut T>,
}

// SAFETY: it is an integer; dereferencing it is unsafe.
unsafe impl<T> Send for DevicePointer<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for DevicePointer<T> {}
// SAFETY: a device address is valid on the device.
unsafe impl<T> DeviceCopy for DevicePointer<T> {}

impl<T> DevicePointer<T> {
    /// Creates a null pointer.
    pub const fn null() -> Self {
        Self::from_raw(0)
    }

    /// Creates a pointer from an address of the driver.
    pub const fn from_raw(address: CUdeviceptr) -> Self {
        DevicePointer {
            address,
            target: PhantomData,
        }
    }

    /// Returns the address as an integer.
    pub const fn as_raw(self) -> CUdeviceptr {
        self.address
    }

    /// Returns the address as a raw pointer, for a struct that is passed to a kernel. The host must
    /// not dereference it.
    pub fn as_ptr(self) -> *const T {
        std::ptr::with_exposed_provenance(self.address as usize)
    }

    /// Returns the address as a mutable raw pointer. See [`as_ptr`](DevicePointer::as_ptr).
    pub fn as_mut_ptr(self) -> *mut T {
        std::ptr::with_exposed_provenance_mut(self.address as usize)
    }

    /// Returns whether the pointer is null.
    pub const fn is_null(self) -> bool {
        self.address == 0
    }

    /// Adds a signed offset of `count` elements. The result may point anywhere.
    #[must_use]
    pub const fn wrapping_offset(self, count: isize) -> Self {
        let bytes = count.wrapping_mul(size_of::<T>() as isize);
        Self::from_raw(self.address.wrapping_add_signed(bytes as i64))
    }

    /// Adds an offset of `count` elements. The result may point anywhere.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let buffer = DeviceBuffer::from_slice(&[1u32, 2, 3])?;
    /// let start = buffer.as_device_ptr();
    /// assert_eq!(start.wrapping_add(2).as_raw(), start.as_raw() + 8);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    #[must_use]
    pub const fn wrapping_add(self, count: usize) -> Self {
        self.wrapping_offset(count as isize)
    }

    /// Subtracts an offset of `count` elements. The result may point anywhere.
    #[must_use]
    pub const fn wrapping_sub(self, count: usize) -> Self {
        self.wrapping_offset((count as isize).wrapping_neg())
    }

    /// Adds a signed offset of `count` elements, with the contract of `pointer::offset`.
    ///
    /// # Safety
    ///
    /// The result must be in the same allocation, or one past its end.
    #[must_use]
    pub const unsafe fn offset(self, count: isize) -> Self {
        self.wrapping_offset(count)
    }

    /// Adds an offset of `count` elements, with the contract of `pointer::add`.
    ///
    /// # Safety
    ///
    /// The result must be in the same allocation, or one past its end.
    #[must_use]
    #[allow(clippy::should_implement_trait)]
    pub const unsafe fn add(self, count: usize) -> Self {
        self.wrapping_add(count)
    }

    /// Subtracts an offset of `count` elements, with the contract of `pointer::sub`.
    ///
    /// # Safety
    ///
    /// The result must be in the same allocation.
    #[must_use]
    #[allow(clippy::should_implement_trait)]
    pub const unsafe fn sub(self, count: usize) -> Self {
        self.wrapping_sub(count)
    }

    /// Casts to a pointer of another type.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let buffer = DeviceBuffer::<u32>::zeroed(4)?;
    /// let bytes = buffer.as_device_ptr().cast::<u8>();
    /// assert_eq!(bytes.wrapping_add(1).as_raw(), buffer.as_device_ptr().as_raw() + 1);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub const fn cast<U>(self) -> DevicePointer<U> {
        DevicePointer::from_raw(self.address)
    }
}

impl<T> Clone for DevicePointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DevicePointer<T> {}

impl<T> PartialEq for DevicePointer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for DevicePointer<T> {}

impl<T> PartialOrd for DevicePointer<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for DevicePointer<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.address.cmp(&other.address)
    }
}

impl<T> Hash for DevicePointer<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address.hash(state);
    }
}

impl<T> fmt::Debug for DevicePointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.address)
    }
}

impl<T> fmt::Pointer for DevicePointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_counts_elements() {
        let pointer = DevicePointer::<u32>::from_raw(0x1000);
        assert_eq!(pointer.wrapping_add(3).as_raw(), 0x100c);
        assert_eq!(pointer.wrapping_sub(1).as_raw(), 0xffc);
        assert_eq!(pointer.cast::<u8>().wrapping_offset(-1).as_raw(), 0xfff);
        assert!(DevicePointer::<u32>::null().is_null());
        assert_eq!(size_of::<DevicePointer<[u8; 100]>>(), 8);
    }
}
