//! The device allocator: `Box`, `Vec`, `String` and all of `alloc` on CUDA's device heap.
//!
//! ```
//! extern crate alloc;
//!
//! use alloc::vec::Vec;
//! use cuda_std::PerThreadChunk;
//! use cuda_std::prelude::*;
//!
//! /// Writes the prime factors of each number, as many as fit.
//! #[kernel]
//! pub fn factorize(numbers: &[u32], mut to: PerThreadChunk<u32, 8>) {
//!     for (start, to) in to.whole() {
//!         let mut rest = numbers[start / 8];
//!         let mut factors = Vec::new();
//!         let mut factor = 2;
//!         while rest > 1 {
//!             if rest % factor == 0 {
//!                 factors.push(factor);
//!                 rest /= factor;
//!             } else {
//!                 factor += 1;
//!             }
//!         }
//!         for (to, factor) in to.iter_mut().zip(factors) {
//!             *to = factor;
//!         }
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! With the feature `allocator` (enabled by default), [`DeviceAllocator`] is the global allocator
//! of kernels. A crate that uses it declares `extern crate alloc;`. All threads share one heap of 8
//! MiB, unless the host sets another limit (`cuCtxSetLimit`, `CU_LIMIT_MALLOC_HEAP_SIZE`).
//!
//! If the heap is exhausted, the allocating thread panics. The panic's location is where the
//! program called the standard library: `Vec::push`, `Box::new`, `collect` and so on. The location
//! is unknown if the standard library allocates in a function that was called through a pointer or
//! trait object, as `format!` does when it appends to its string.

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

    /// The alignment of memory that `malloc` returns.
    const MALLOC_ALIGN: usize = 16;

    // SAFETY: `alloc` returns null, or exclusive memory of the heap with the layout's size and
    // alignment, until `dealloc` frees it. Neither function panics.
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
                // SAFETY: `alloc_aligned` stored the pointer that `malloc` had returned there.
                unsafe { free(pointer.cast::<*mut u8>().sub(1).read()) };
            }
        }
    }

    /// Allocates a larger block and aligns within it. Stores the start of the block just before the
    /// memory that it returns.
    #[cold]
    unsafe fn alloc_aligned(layout: Layout) -> *mut u8 {
        // The start is aligned to at least 16 bytes, so the next multiple of the (larger) alignment
        // leaves space for a pointer.
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

    /// The device's replacements for the global allocator's functions in a single-source session,
    /// where the program's own allocator is the host's.
    #[cfg(all(nvvm_single_source, feature = "allocator"))]
    mod global {
        use super::{DeviceAllocator, GlobalAlloc, Layout};

        /// Creates a layout that the caller has checked.
        #[inline(always)]
        unsafe fn layout(size: usize, align: usize) -> Layout {
            // SAFETY: size and alignment come from a layout.
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
