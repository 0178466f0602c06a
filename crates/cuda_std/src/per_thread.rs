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
/// A kernel takes it by value; it is good for as long as the kernel runs, which is its lifetime. A
/// kernel's signature leaves that out: `PerThread<f32>`. It cannot be copied: a thread with two of
/// them could get the same `&mut` twice.
#[repr(C)]
pub struct PerThread<'k, T> {
    pointer: *mut T,
    length: usize,
    // It must stay with its thread, and in the kernel.
    elements: PhantomData<(*mut T, &'k mut ())>,
}

impl<T> crate::kernel::KernelParam for PerThread<'_, T> {}

// SAFETY: the layout is as asked for; a thread reaches the elements of its own number only, which
// no other has.
unsafe impl<T> cust_core::kernel::Output for PerThread<'_, T> {
    type Element = T;
    const WIDE: bool = false;
}

impl<T> PerThread<'_, T> {
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

    /// As [`PerThread::each`], with the elements of the same index of one or several slices, and as
    /// far as the shortest of all goes. There is no check of bounds in the loop.
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
            // SAFETY: inside of all of them, and each of this thread's elements comes once.
            unsafe { f(index, &mut *self.pointer.add(index), inputs.items(index)) };
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
        let index = index.checked();
        if index >= self.length {
            return None;
        }
        // SAFETY: inside, and of this thread alone: numbers of threads are unique in the grid.
        Some(unsafe { &mut *self.pointer.add(index) })
    }
}

/// What a kernel reads side by side: a slice, or a tuple of up to four of them. See
/// [`PerThread::each_with`].
pub trait Inputs: Copy + sealed::Sealed {
    /// What they have at an index.
    type Items;

    /// The least of `length` and their lengths.
    #[doc(hidden)]
    fn limit(self, length: usize) -> usize;

    /// # Safety
    /// The index is below all lengths.
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
        // SAFETY: the caller's promise.
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
                    // SAFETY: the caller's promise holds for each.
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
