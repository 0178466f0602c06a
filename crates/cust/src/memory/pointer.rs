//! Addresses on the device.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use cust_raw::CUdeviceptr;

use super::DeviceCopy;

/// An address on the device, as kernels take it for a pointer or, with a length, for a slice. The
/// host cannot dereference it.
#[repr(transparent)]
pub struct DevicePointer<T> {
    address: CUdeviceptr,
    target: PhantomData<*mut T>,
}

// SAFETY: it is a number; whoever dereferences it answers for that.
unsafe impl<T> Send for DevicePointer<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for DevicePointer<T> {}
// SAFETY: an address of the device means the same there.
unsafe impl<T> DeviceCopy for DevicePointer<T> {}

impl<T> DevicePointer<T> {
    /// The null pointer.
    pub const fn null() -> Self {
        Self::from_raw(0)
    }

    /// The driver's address.
    pub const fn from_raw(address: CUdeviceptr) -> Self {
        DevicePointer {
            address,
            target: PhantomData,
        }
    }

    /// The driver's address.
    pub const fn as_raw(self) -> CUdeviceptr {
        self.address
    }

    /// The address as a pointer type, to put into a structure that a kernel gets. The host must
    /// not dereference it.
    pub fn as_ptr(self) -> *const T {
        std::ptr::with_exposed_provenance(self.address as usize)
    }

    /// See [`as_ptr`](DevicePointer::as_ptr).
    pub fn as_mut_ptr(self) -> *mut T {
        std::ptr::with_exposed_provenance_mut(self.address as usize)
    }

    /// Whether it is null.
    pub const fn is_null(self) -> bool {
        self.address == 0
    }

    /// The address of an element before or after this one. The result may lie anywhere.
    #[must_use]
    pub const fn wrapping_offset(self, count: isize) -> Self {
        let bytes = count.wrapping_mul(size_of::<T>() as isize);
        Self::from_raw(self.address.wrapping_add_signed(bytes as i64))
    }

    /// The address of an element after this one. The result may lie anywhere.
    #[must_use]
    pub const fn wrapping_add(self, count: usize) -> Self {
        self.wrapping_offset(count as isize)
    }

    /// The address of an element before this one. The result may lie anywhere.
    #[must_use]
    pub const fn wrapping_sub(self, count: usize) -> Self {
        self.wrapping_offset((count as isize).wrapping_neg())
    }

    /// The same as [`wrapping_offset`](DevicePointer::wrapping_offset), under the name and with
    /// the contract of pointers.
    ///
    /// # Safety
    ///
    /// The result has to lie in the same allocation, or one past its end.
    #[must_use]
    pub const unsafe fn offset(self, count: isize) -> Self {
        self.wrapping_offset(count)
    }

    /// See [`offset`](DevicePointer::offset).
    ///
    /// # Safety
    ///
    /// The result has to lie in the same allocation, or one past its end.
    #[must_use]
    #[allow(clippy::should_implement_trait)]
    pub const unsafe fn add(self, count: usize) -> Self {
        self.wrapping_add(count)
    }

    /// See [`offset`](DevicePointer::offset).
    ///
    /// # Safety
    ///
    /// The result has to lie in the same allocation.
    #[must_use]
    #[allow(clippy::should_implement_trait)]
    pub const unsafe fn sub(self, count: usize) -> Self {
        self.wrapping_sub(count)
    }

    /// The same address as that of another type.
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
