//! The device's allocator: `Box`, `Vec`, `String` and all of `alloc` on CUDA's device heap.
//!
//! With the feature `allocator` (on by default) [`DeviceAllocator`] is the global allocator of
//! kernels; a crate that uses it says `extern crate alloc;`. All threads share one heap of 8 MiB,
//! unless the host sets another limit (`cuCtxSetLimit`, `CU_LIMIT_MALLOC_HEAP_SIZE`). When it is
//! used up, the allocation panics in that thread, with the location at which the program called the
//! standard library: of `Vec::push`, `Box::new`, `collect` and so on. The location is unknown if the
//! standard library allocates in a function that was called through a pointer or trait object, as
//! `format!` does when it appends to its string.

/// CUDA's device heap as a Rust allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceAllocator;

#[cfg(all(target_arch = "nvptx64", feature = "allocator"))]
#[global_allocator]
static GLOBAL: DeviceAllocator = DeviceAllocator;

#[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
mod device {
    use super::DeviceAllocator;
    use crate::intrinsics::{free, malloc};
    use core::alloc::{GlobalAlloc, Layout};
    use core::ptr::null_mut;

    /// What `malloc` aligns to.
    const MALLOC_ALIGN: usize = 16;

    // SAFETY: `alloc` returns null or memory of the heap that nobody else has, of the layout's
    // size and alignment, until `dealloc` gives it back. Neither of them panics.
    unsafe impl GlobalAlloc for DeviceAllocator {
        #[inline]
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if layout.align() <= MALLOC_ALIGN {
                unsafe { malloc(layout.size()) }
            } else {
                unsafe { alloc_aligned(layout) }
            }
        }

        #[inline]
        unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
            if layout.align() <= MALLOC_ALIGN {
                unsafe { free(pointer) };
            } else {
                // SAFETY: `alloc_aligned` left there what `malloc` had returned.
                unsafe { free(pointer.cast::<*mut u8>().sub(1).read()) };
            }
        }
    }

    /// Aligns within a larger piece, and keeps the piece's start just before what it returns.
    #[cold]
    unsafe fn alloc_aligned(layout: Layout) -> *mut u8 {
        // The start is at least 16-aligned, so the next multiple of the (larger) alignment after
        // it leaves room for a pointer.
        let Some(size) = layout.size().checked_add(layout.align()) else {
            return null_mut();
        };
        let start = unsafe { malloc(size) };
        if start.is_null() {
            return start;
        }
        let offset = layout.align() - (start.addr() & (layout.align() - 1));
        let aligned = unsafe { start.add(offset) };
        unsafe { aligned.cast::<*mut u8>().sub(1).write(start) };
        aligned
    }

    /// What the global allocator's functions become on the device in a single-source session, where the
    /// program's own allocator is the host's.
    #[cfg(all(nvvm_single_source, feature = "allocator"))]
    mod global {
        use super::{DeviceAllocator, GlobalAlloc, Layout};

        /// A layout that the callers have checked.
        #[inline(always)]
        unsafe fn layout(size: usize, align: usize) -> Layout {
            // SAFETY: they are a layout's.
            unsafe { Layout::from_size_align_unchecked(size, align) }
        }

        #[unsafe(no_mangle)]
        unsafe fn __cuda_std_alloc(size: usize, align: usize) -> *mut u8 {
            // SAFETY: as `GlobalAlloc::alloc`.
            unsafe { DeviceAllocator.alloc(layout(size, align)) }
        }

        #[unsafe(no_mangle)]
        unsafe fn __cuda_std_dealloc(pointer: *mut u8, size: usize, align: usize) {
            // SAFETY: as `GlobalAlloc::dealloc`.
            unsafe { DeviceAllocator.dealloc(pointer, layout(size, align)) }
        }

        #[unsafe(no_mangle)]
        unsafe fn __cuda_std_realloc(
            pointer: *mut u8,
            old_size: usize,
            align: usize,
            new_size: usize,
        ) -> *mut u8 {
            // SAFETY: as `GlobalAlloc::realloc`.
            unsafe { DeviceAllocator.realloc(pointer, layout(old_size, align), new_size) }
        }

        #[unsafe(no_mangle)]
        unsafe fn __cuda_std_alloc_zeroed(size: usize, align: usize) -> *mut u8 {
            // SAFETY: as `GlobalAlloc::alloc_zeroed`.
            unsafe { DeviceAllocator.alloc_zeroed(layout(size, align)) }
        }
    }
}
