//! Output of kernels without `unsafe`: elements that each thread may change only where they are its
//! own.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! #[kernel]
//! pub fn scale(factor: f32, from: &[f32], mut to: PerThread<f32>) {
//!     for (i, to) in to.own() {
//!         *to = factor * from[i];
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! On the host the kernel's parameter takes a `&mut DeviceBuffer<T>`.

use core::marker::PhantomData;

use crate::thread::{self, UniqueIndex};

/// Elements of the device's memory, shared out among the threads of the grid: thread `i` of `n`
/// owns the elements `i`, `i + n`, `i + 2n` and so on, whatever the shape of blocks and grid.
///
/// So threads never get in each other's way, and each gets `&mut` to what it owns. Nobody reads
/// what others own: their values would depend on who comes first.
///
/// A kernel takes it by value; it is good for as long as the kernel runs. It cannot be copied: a
/// thread with two of them could get the same `&mut` twice.
#[repr(C)]
pub struct PerThread<T> {
    pointer: *mut T,
    length: usize,
    elements: PhantomData<*mut T>,
}

impl<T> crate::kernel::KernelParam for PerThread<T> {}

// SAFETY: the layout is as asked for; a thread reaches the elements of its own number only, which
// no other has.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl<T> cust_core::kernel::Output for PerThread<T> {
    type Element = T;
    const WIDE: bool = false;
}

impl<T> PerThread<T> {
    /// The number of elements, of all threads together.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Calls a function with each of this thread's elements, and its index. There is one at most
    /// where the grid has at least as many threads as there are elements.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut(usize, &mut T)) {
        for index in thread::grid_stride_of::<T>(self.length) {
            // SAFETY: inside, and each of this thread's elements comes once.
            f(index, unsafe { &mut *self.pointer.add(index) });
        }
    }

    /// This thread's elements, each with its index. There is one at most where the grid has at
    /// least as many threads as there are elements.
    #[inline(always)]
    pub fn own(&mut self) -> Own<'_, T> {
        Own {
            indices: thread::grid_stride_of::<T>(self.length),
            pointer: self.pointer,
            elements: PhantomData,
        }
    }

    /// The element that bears this thread's number, with that number: for launches with at least
    /// as many threads as elements. `None` for the threads beyond the last element.
    #[inline(always)]
    pub fn first(&mut self) -> Option<(usize, &mut T)> {
        let index = UniqueIndex::new();
        Some((index.get(), self.get_mut(index)?))
    }

    /// The element that bears this thread's number: where several outputs share one index.
    #[inline(always)]
    pub fn get_mut(&mut self, index: UniqueIndex) -> Option<&mut T> {
        let index = index.get();
        if index >= self.length {
            return None;
        }
        // SAFETY: inside, and of this thread alone: numbers of threads are unique in the grid.
        Some(unsafe { &mut *self.pointer.add(index) })
    }
}

/// A thread's elements: what [`PerThread::own`] returns.
pub struct Own<'a, T> {
    indices: thread::Strided,
    pointer: *mut T,
    elements: PhantomData<&'a mut [T]>,
}

impl<'a, T> Iterator for Own<'a, T> {
    type Item = (usize, &'a mut T);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, &'a mut T)> {
        // `Strided::next` written out: so little is inlined on MIR, and only there the compiler sees
        // that what comes is not `None`.
        let indices = &mut self.indices;
        if indices.next >= indices.len {
            return None;
        }
        let index = indices.next as usize;
        // SAFETY: as in `Strided::next`.
        indices.next = unsafe { indices.next.unchecked_add(indices.step) };
        // SAFETY: inside, and each of this thread's elements comes once.
        Some((index, unsafe { &mut *self.pointer.add(index) }))
    }
}
