//! Shared memory with phases that are separated by barriers: the types of `#[shared]` parameters.
//!
//! # Soundness
//! In the write phase each thread has exclusive access to its own elements; in the read phase all
//! threads read. A barrier separates the phases. To keep threads in the same phase, each [`Shared`]
//! has its own hardware barrier, numbered from 2, that nothing else uses, neither `sync_threads`
//! nor `Barrier`. The barrier completes when all threads of the block that have not exited have
//! arrived. Phases alternate, so after the `n`-th completion all threads are in the same phase,
//! wherever in the code they are. If some threads arrive at no barrier or at another one, the
//! others hang, which is not a data race.
//!
//! This requires exactly one handle per thread. The kernel's entry creates the handle for its own
//! static, and passes it to the kernel's function. No code can name the entry; a caller of the
//! function can only pass on the handle that it has.

use core::marker::PhantomData;
use core::ops::Deref;

use crate::intrinsics::{special, synchronization};
use crate::thread::{self, Strided};
use crate::{bits::AnyBits, session::guarded};

/// The first of eight hardware barriers that belong to shared memory, one for each `#[shared]`
/// parameter. Low numbers, because a multiprocessor has 32 or 64 barriers for all its blocks, and a
/// block reserves all barriers up to the highest that it uses.
const FIRST_BARRIER: u32 = 2;

/// A layout of shared memory, and its partition among the threads of the block: [`Array`],
/// [`Tile`], [`Dynamic`], or a tuple of two to four layouts.
///
/// # Safety
/// `own` must return disjoint elements for different threads, all within the storage, and `view`
/// must stay within the storage.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layout of shared memory",
    label = "not a layout of shared memory",
    note = "shared memory is `Shared<Array<f32, 256>>`, `Shared<Tile<f32, 32, 32, 33>>` or \
            `Shared<Dynamic<f32>>`, of types that are `AnyBits`"
)]
pub unsafe trait Layout {
    /// The type of the static.
    type Storage;
    /// Whether the storage is dynamic shared memory.
    const DYNAMIC: bool;
    /// This thread's elements.
    type Own<'a>;
    /// A shared view of all elements.
    type View<'a>;

    /// Returns this thread's elements.
    ///
    /// # Safety
    /// The storage must be valid for `'a`, and all threads must be in the write phase.
    #[doc(hidden)]
    unsafe fn own<'a>(storage: *mut Self::Storage) -> Self::Own<'a>;

    /// Returns a view of all elements.
    ///
    /// # Safety
    /// The storage must be valid for `'a`, and all threads must be in the read phase.
    #[doc(hidden)]
    unsafe fn view<'a>(storage: *mut Self::Storage) -> Self::View<'a>;
}

/// Shared memory in the write phase: each thread has exclusive access to its own elements.
///
/// ```
/// use cuda_std::prelude::*;
/// use cuda_std::shared::{Array, Shared};
///
/// /// Reverses the elements of each block.
/// #[kernel]
/// pub fn reverse(
///     #[shared] mut tile: Shared<Array<u32, 64>>,
///     from: &[u32],
///     mut to: PerThread<u32>,
/// ) {
///     let base = thread::block_index() as usize * 64;
///     tile.own().each(|i, element| *element = from[base + i]);
///     let tile = tile.share();
///     for (i, to) in to.own() {
///         *to = tile[63 - i % 64];
///     }
/// }
/// # fn main() {}
/// ```
///
/// The initial contents are unspecified.
pub struct Shared<'k, L: Layout> {
    storage: *mut L::Storage,
    barrier: u32,
    // Neither `Send` nor `Sync`, and bound to the kernel's lifetime.
    layout: PhantomData<(*mut L, &'k mut ())>,
}

/// Shared memory in the read phase. Created by [`Shared::share`].
pub struct Reading<'k, L: Layout>(Shared<'k, L>);

impl<'k, L: Layout> Shared<'k, L> {
    /// Creates the handle of a kernel parameter.
    ///
    /// # Safety
    /// Nothing else may use the storage or the barrier. Each thread of the block must create
    /// exactly one handle, before its first barrier.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn new(_scope: &'k Scope, storage: *mut L::Storage, number: u32) -> Shared<'k, L> {
        const {
            assert!(
                size_of::<L::Storage>() <= 48 << 10,
                "a kernel can declare at most 48 KiB of static shared memory: use `Dynamic` for more"
            )
        };
        // SAFETY: the call emits no instruction. It tells the compiler that the memory may have
        // been written, so its bits are unspecified but initialized.
        unsafe { synchronization::written(storage.cast()) };
        Shared {
            storage,
            barrier: FIRST_BARRIER + number,
            layout: PhantomData,
        }
    }

    /// Returns this thread's elements: `own().each(|i, element| …)` for an [`Array`],
    /// `own().each(|(x, y), element| …)` for a [`Tile`], and a tuple of these for a tuple.
    #[inline(always)]
    pub fn own(&mut self) -> L::Own<'_> {
        // SAFETY: this handle is in the write phase, so all threads are.
        unsafe { L::own(self.storage) }
    }

    /// Waits for all threads of the block and enters the read phase. [`Reading::reclaim`] returns
    /// to the write phase.
    #[inline(always)]
    #[must_use]
    pub fn share(self) -> Reading<'k, L> {
        self.wait();
        Reading(self)
    }

    /// Waits for all threads of the block, calls `f` with a view of all elements, and waits for all
    /// threads again: two barriers.
    #[inline(always)]
    pub fn read<R>(&mut self, f: impl for<'a> FnOnce(L::View<'a>) -> R) -> R {
        self.wait();
        // SAFETY: between the two barriers all threads are in the read phase.
        let result = guarded!(f(unsafe { L::view(self.storage) }));
        self.wait();
        result
    }

    #[inline(always)]
    fn wait(&self) {
        // SAFETY: no other memory uses this barrier. The number is an immediate operand, so that
        // ptxas reserves only the barriers in use.
        unsafe {
            match self.barrier {
                2 => synchronization::barrier_sync::<2>(),
                3 => synchronization::barrier_sync::<3>(),
                4 => synchronization::barrier_sync::<4>(),
                5 => synchronization::barrier_sync::<5>(),
                6 => synchronization::barrier_sync::<6>(),
                7 => synchronization::barrier_sync::<7>(),
                8 => synchronization::barrier_sync::<8>(),
                _ => synchronization::barrier_sync::<9>(),
            }
        }
    }
}

impl<'k, L: Layout> Reading<'k, L> {
    /// Returns a view of all elements.
    #[inline(always)]
    pub fn view(&self) -> L::View<'_> {
        // SAFETY: this handle is in the read phase, so all threads are.
        unsafe { L::view(self.0.storage) }
    }

    /// Waits for all threads of the block and enters the write phase, in which each thread has its
    /// own elements again.
    #[inline(always)]
    #[must_use]
    pub fn reclaim(self) -> Shared<'k, L> {
        self.0.wait();
        self.0
    }
}

/// A layout of `N` elements. With `n` threads in the block, thread `i` owns the elements `i`,
/// `i + n` and so on.
pub struct Array<T, const N: usize>(PhantomData<T>);

// SAFETY: each thread's indices start at its index in the block, with the number of threads as
// stride.
unsafe impl<T: AnyBits + Send + Sync + 'static, const N: usize> Layout for Array<T, N> {
    type Storage = [T; N];
    const DYNAMIC: bool = false;
    type Own<'a> = OwnArray<'a, T, N>;
    type View<'a> = &'a [T; N];

    #[inline(always)]
    unsafe fn own<'a>(storage: *mut [T; N]) -> OwnArray<'a, T, N> {
        const {
            assert!(N > 0, "an array has at least one element");
            // Only arrays of zero-sized elements could be larger.
            assert!(N <= 1 << 20, "an array fits shared memory");
        };
        OwnArray {
            pointer: storage.cast(),
            elements: PhantomData,
        }
    }

    #[inline(always)]
    unsafe fn view<'a>(storage: *mut [T; N]) -> &'a [T; N] {
        // SAFETY: no thread writes in the read phase.
        unsafe { &*storage }
    }
}

impl<T: AnyBits + Send + Sync + 'static, const N: usize> Deref for Reading<'_, Array<T, N>> {
    type Target = [T; N];

    #[inline(always)]
    fn deref(&self) -> &[T; N] {
        self.view()
    }
}

/// A layout for dynamic shared memory, whose size is given at launch. A kernel has at most one.
/// Elements are partitioned as in an [`Array`].
pub struct Dynamic<T>(PhantomData<T>);

impl<T> Dynamic<T> {
    #[inline(always)]
    fn len() -> usize {
        const { assert!(size_of::<T>() > 0, "elements have a size") };
        special::dynamic_smem_size() as usize / size_of::<T>()
    }
}

// SAFETY: as for `Array`, up to the size given at launch.
unsafe impl<T: AnyBits + Send + Sync + 'static> Layout for Dynamic<T> {
    type Storage = [T; 0];
    const DYNAMIC: bool = true;
    type Own<'a> = OwnElements<'a, T>;
    type View<'a> = &'a [T];

    #[inline(always)]
    unsafe fn own<'a>(storage: *mut [T; 0]) -> OwnElements<'a, T> {
        const {
            assert!(
                align_of::<T>() <= 16,
                "dynamic shared memory is aligned to 16 bytes only"
            )
        };
        OwnElements {
            indices: thread::block_stride(Self::len()),
            pointer: storage.cast(),
            elements: PhantomData,
        }
    }

    #[inline(always)]
    unsafe fn view<'a>(storage: *mut [T; 0]) -> &'a [T] {
        // SAFETY: no thread writes in the read phase, and the memory has `len` elements.
        unsafe { core::slice::from_raw_parts(storage.cast(), Self::len()) }
    }
}

impl<T: AnyBits + Send + Sync + 'static> Deref for Reading<'_, Dynamic<T>> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        self.view()
    }
}

/// This thread's elements of [`Dynamic`] memory.
pub struct OwnElements<'a, T> {
    indices: Strided,
    pointer: *mut T,
    elements: PhantomData<&'a mut [T]>,
}

/// This thread's elements of an [`Array`].
pub struct OwnArray<'a, T, const N: usize> {
    pointer: *mut T,
    elements: PhantomData<&'a mut [T]>,
}

impl<T, const N: usize> OwnArray<'_, T, N> {
    /// Calls `f` with the index and a reference for each of the elements.
    #[inline(always)]
    pub fn each(self, mut f: impl FnMut(usize, &mut T)) {
        let (first, step) = (thread::index_in_block(), thread::threads_in_block());
        thread::each_below::<N>(first as usize, step as usize, |index| {
            // SAFETY: `index` is in bounds, and the loop visits each of this thread's elements
            // once.
            f(thread::bounded::<N>(index), unsafe {
                &mut *self.pointer.add(index)
            });
        });
    }
}

// Not an iterator: an `Option<&mut T>` would be a nullable pointer, which loses its state space in
// libnvvm.
impl<T> OwnElements<'_, T> {
    /// Calls `f` with the index and a reference for each of the elements.
    #[inline(always)]
    pub fn each(self, mut f: impl FnMut(usize, &mut T)) {
        for index in self.indices {
            // SAFETY: `index` is in bounds, and the loop visits each of this thread's elements
            // once.
            f(index, unsafe { &mut *self.pointer.add(index) });
        }
    }
}

/// A layout of `H` rows of `W` elements, with consecutive rows `PITCH` elements apart. With `nx` by
/// `ny` threads in the block, thread (`x`, `y`) owns the columns `x`, `x + nx` and so on of the
/// rows `y`, `y + ny` and so on. Threads along the block's third dimension continue the numbering
/// along `y`.
///
/// With a pitch of one element more than a multiple of 32 words, a warp reads a column without bank
/// conflicts.
pub struct Tile<T, const W: usize, const H: usize, const PITCH: usize = W>(PhantomData<T>);

// SAFETY: columns are less than the pitch, with the number of threads along `x` as stride; rows
// have the number of the other threads as stride. So different threads have different columns or
// rows.
unsafe impl<T: AnyBits + Send + Sync + 'static, const W: usize, const H: usize, const PITCH: usize>
    Layout for Tile<T, W, H, PITCH>
{
    type Storage = [[T; PITCH]; H];
    const DYNAMIC: bool = false;
    type Own<'a> = OwnTile<'a, T, W, H, PITCH>;
    type View<'a> = &'a [[T; PITCH]; H];

    #[inline(always)]
    unsafe fn own<'a>(storage: *mut [[T; PITCH]; H]) -> OwnTile<'a, T, W, H, PITCH> {
        const {
            assert!(
                W > 0 && H > 0 && W <= PITCH,
                "rows have elements, and fit the pitch"
            );
            // Only tiles of zero-sized elements could be larger.
            assert!(
                PITCH <= 1 << 20 && H <= 1 << 20,
                "a tile fits shared memory"
            );
        };
        let (thread, threads) = (thread::thread_idx(), thread::block_dim());
        let first = thread.x as usize;
        OwnTile {
            first,
            step: threads.x as usize,
            y: (thread.z * threads.y + thread.y) as usize,
            rows: (threads.z * threads.y) as usize,
            pointer: storage.cast(),
            elements: PhantomData,
        }
    }

    #[inline(always)]
    unsafe fn view<'a>(storage: *mut [[T; PITCH]; H]) -> &'a [[T; PITCH]; H] {
        // SAFETY: no thread writes in the read phase.
        unsafe { &*storage }
    }
}

impl<T: AnyBits + Send + Sync + 'static, const W: usize, const H: usize, const PITCH: usize> Deref
    for Reading<'_, Tile<T, W, H, PITCH>>
{
    type Target = [[T; PITCH]; H];

    #[inline(always)]
    fn deref(&self) -> &[[T; PITCH]; H] {
        self.view()
    }
}

/// This thread's elements of a [`Tile`].
pub struct OwnTile<'a, T, const W: usize, const H: usize, const PITCH: usize> {
    first: usize,
    step: usize,
    y: usize,
    rows: usize,
    pointer: *mut T,
    elements: PhantomData<&'a mut [T]>,
}

impl<T, const W: usize, const H: usize, const PITCH: usize> OwnTile<'_, T, W, H, PITCH> {
    /// Calls `f` with (column, row) and a reference for each of the elements.
    #[inline(always)]
    pub fn each(self, mut f: impl FnMut((usize, usize), &mut T)) {
        thread::each_below::<H>(self.y, self.rows, |y| {
            thread::each_below::<W>(self.first, self.step, |x| {
                let place = (thread::bounded::<W>(x), thread::bounded::<H>(y));
                // SAFETY: in bounds, and the loops visit each of this thread's elements once.
                f(place, unsafe { &mut *self.pointer.add(y * PITCH + x) });
            });
        });
    }
}

macro_rules! tuples {
    ($($storage:ident: $($layout:ident $field:ident),*;)*) => {
        $(
            #[doc(hidden)]
            #[repr(C)]
            pub struct $storage<$($layout),*> {
                $($field: $layout),*
            }

            // SAFETY: each component has separate storage.
            unsafe impl<$($layout: Layout),*> Layout for ($($layout,)*) {
                type Storage = $storage<$($layout::Storage),*>;
                const DYNAMIC: bool = {
                    assert!(!($($layout::DYNAMIC)||*), "dynamic shared memory stands alone");
                    false
                };
                type Own<'a> = ($($layout::Own<'a>,)*);
                type View<'a> = ($($layout::View<'a>,)*);

                #[inline(always)]
                unsafe fn own<'a>(storage: *mut Self::Storage) -> Self::Own<'a> {
                    const { assert!(!Self::DYNAMIC) };
                    // SAFETY: the caller's guarantees hold for the components.
                    unsafe { ($($layout::own(&raw mut (*storage).$field),)*) }
                }

                #[inline(always)]
                unsafe fn view<'a>(storage: *mut Self::Storage) -> Self::View<'a> {
                    // SAFETY: the caller's guarantees hold for the components.
                    unsafe { ($($layout::view(&raw mut (*storage).$field),)*) }
                }
            }
        )*
    };
}
tuples! {
    Two: A a, B b;
    Three: A a, B b, C c;
    Four: A a, B b, C c, D d;
}

/// Asserts that at most one of a kernel's shared parameters is dynamic. `#[kernel]` calls it.
#[doc(hidden)]
pub const fn check_dynamic(dynamic: &[bool]) {
    let (mut i, mut count) = (0, 0);
    while i < dynamic.len() {
        count += dynamic[i] as u32;
        i += 1;
    }
    assert!(
        count <= 1,
        "a kernel has one dynamic shared memory: take one `Dynamic` parameter"
    );
}

/// A local variable of the kernel's entry whose lifetime bounds the handles of shared memory:
/// `'static` data cannot keep a handle for another thread.
#[doc(hidden)]
#[derive(Debug)]
pub struct Scope(());

impl Scope {
    #[doc(hidden)]
    #[inline(always)]
    pub fn new() -> Scope {
        Scope(())
    }
}

/// The trait of `#[shared]` parameter types: [`Shared`].
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a `#[shared]` parameter",
    label = "not `Shared<..>`",
    note = "shared memory is `Shared<Array<f32, 256>>`, `Shared<Tile<f32, 32, 32, 33>>` or \
            `Shared<Dynamic<f32>>`"
)]
pub trait Handle<'k> {
    type Storage;
    const DYNAMIC: bool;

    /// Creates the handle.
    ///
    /// # Safety
    /// As for [`Shared::new`].
    unsafe fn make(scope: &'k Scope, storage: *mut Self::Storage, number: u32) -> Self;
}

impl<'k, L: Layout> Handle<'k> for Shared<'k, L> {
    type Storage = L::Storage;
    const DYNAMIC: bool = L::DYNAMIC;

    #[inline(always)]
    unsafe fn make(scope: &'k Scope, storage: *mut L::Storage, number: u32) -> Shared<'k, L> {
        // SAFETY: the caller upholds the contract of `Shared::new`.
        unsafe { Shared::new(scope, storage, number) }
    }
}
