//! Kernel output without `unsafe`: each thread has exclusive access to its own elements.
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
//! On the host, the argument for this parameter is a `&mut DeviceBuffer<T>`.

use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::thread::{self, UniqueIndex};

/// Elements in device memory, partitioned among the threads of the grid: thread `i` of `n` owns the
/// elements `i`, `i + n`, `i + 2n` and so on, for grids of any shape.
///
/// No two threads own the same element, so each gets `&mut` to its elements without a data race. A
/// thread cannot read the elements of other threads, whose values would depend on the schedule.
///
/// Kernels take it by value. The lifetime, which ends with the kernel, is elided in a kernel's
/// signature: `PerThread<f32>`. It is not `Copy` or `Clone`: with two of them, a thread could get
/// two `&mut` to one element.
#[repr(C)]
pub struct PerThread<'k, T> {
    pointer: NonNull<T>,
    length: usize,
    // Neither `Send` nor `Sync`, and bound to the kernel's lifetime.
    elements: PhantomData<(*mut T, &'k mut ())>,
}

crate::per_thread_2d::same_layout!(PerThread<'static, u8>; elements);

impl<T> crate::kernel::KernelParam for PerThread<'_, T> {}

// SAFETY: the layout is the one that `Output` requires, and a thread accesses only the elements of
// its own index, which is unique in the grid.
unsafe impl<T> cust_core::kernel::Output for PerThread<'_, T> {
    type Element = T;
    const WIDE: bool = false;
}

impl<T> PerThread<'_, T> {
    /// Returns the number of elements, of all threads together.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether `self` has no elements.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Calls `f` with the index and a reference for each of this thread's elements: at most one if
    /// the grid has at least as many threads as there are elements.
    #[inline(always)]
    pub fn each(&mut self, mut f: impl FnMut(usize, &mut T)) {
        for index in thread::grid_stride_of::<T>(self.length) {
            // SAFETY: `index` is in bounds, and the loop visits each of this thread's elements
            // once.
            f(index, unsafe { self.pointer.add(index).as_mut() });
        }
    }

    /// Like [`PerThread::each`], and also passes the elements of the same index of one or more
    /// input slices. Stops at the end of the shortest slice. The loop has no bounds checks.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// #[kernel]
    /// pub fn vecadd(a: &[f32], b: &[f32], mut sum: PerThread<f32>) {
    ///     sum.each_with((a, b), |_, sum, (a, b)| *sum = a + b);
    /// }
    /// # fn main() {}
    /// ```
    #[inline(always)]
    pub fn each_with<I: Inputs>(&mut self, inputs: I, mut f: impl FnMut(usize, &mut T, I::Items)) {
        for index in thread::grid_stride_of::<T>(inputs.limit(self.length)) {
            // SAFETY: `index` is in bounds of all slices, and the loop visits each of this thread's
            // elements once.
            unsafe { f(index, self.pointer.add(index).as_mut(), inputs.items(index)) };
        }
    }

    /// Returns an iterator over this thread's elements, each with its index: at most one if the
    /// grid has at least as many threads as there are elements.
    #[inline(always)]
    pub fn own(&mut self) -> Own<'_, T> {
        Own {
            indices: thread::grid_stride_of::<T>(self.length),
            pointer: self.pointer,
            elements: PhantomData,
        }
    }

    /// Returns the element whose index is this thread's [`thread::index`], with that index: for
    /// launches with at least as many threads as elements. Returns `None` for threads past the last
    /// element.
    #[inline(always)]
    pub fn first(&mut self) -> Option<(usize, &mut T)> {
        let index = UniqueIndex::new();
        Some((index.get(), self.get_mut(index)?))
    }

    /// Returns the element whose index is this thread's: for kernels with several outputs that
    /// share one index. Returns `None` if `index` is out of bounds.
    #[inline(always)]
    pub fn get_mut(&mut self, index: UniqueIndex) -> Option<&mut T> {
        let index = index.checked();
        if index >= self.length {
            return None;
        }
        // SAFETY: in bounds, and exclusive to this thread: thread indices are unique in the grid.
        Some(unsafe { self.pointer.add(index).as_mut() })
    }
}

/// Input slices of the same index space: a slice, or a tuple of up to four of them. See
/// [`PerThread::each_with`].
pub trait Inputs: Copy + sealed::Sealed {
    /// The elements at one index.
    type Items;

    /// Returns the minimum of `length` and the lengths of the slices.
    #[doc(hidden)]
    fn limit(self, length: usize) -> usize;

    /// Returns the elements at `index`.
    ///
    /// # Safety
    /// `index` must be less than the length of each slice.
    #[doc(hidden)]
    unsafe fn items(self, index: usize) -> Self::Items;
}

mod sealed {
    pub trait Sealed {}
}

impl<T> sealed::Sealed for &[T] {}

impl<'a, T> Inputs for &'a [T] {
    type Items = &'a T;

    #[inline(always)]
    fn limit(self, length: usize) -> usize {
        self.len().min(length)
    }

    #[inline(always)]
    unsafe fn items(self, index: usize) -> &'a T {
        // SAFETY: the caller guarantees that `index` is in bounds.
        unsafe { self.get_unchecked(index) }
    }
}

macro_rules! tuples {
    ($(($($name:ident $field:tt),*))*) => {
        $(
            impl<$($name: Inputs),*> sealed::Sealed for ($($name,)*) {}

            impl<$($name: Inputs),*> Inputs for ($($name,)*) {
                type Items = ($($name::Items,)*);

                #[inline(always)]
                fn limit(self, length: usize) -> usize {
                    $(let length = self.$field.limit(length);)*
                    length
                }

                #[inline(always)]
                unsafe fn items(self, index: usize) -> Self::Items {
                    // SAFETY: the caller guarantees that `index` is in bounds of each.
                    unsafe { ($(self.$field.items(index),)*) }
                }
            }
        )*
    };
}
tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
}

/// An iterator over a thread's elements. Created by [`PerThread::own`].
pub struct Own<'a, T> {
    indices: thread::Strided,
    pointer: NonNull<T>,
    elements: PhantomData<&'a mut [T]>,
}

impl<'a, T> Iterator for Own<'a, T> {
    type Item = (usize, &'a mut T);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, &'a mut T)> {
        // `Strided::next`, inlined by hand: the MIR inliner does not inline it, and the compiler
        // proves only on MIR that the result is not `None`.
        let indices = &mut self.indices;
        if indices.next >= indices.len {
            return None;
        }
        let index = indices.next as usize;
        // SAFETY: as in `Strided::next`.
        indices.next = unsafe { indices.next.unchecked_add(indices.step) };
        // SAFETY: `index` is in bounds, and the iterator returns each of this thread's elements
        // once.
        Some((index, unsafe { self.pointer.add(index).as_mut() }))
    }
}
