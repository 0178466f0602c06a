//! Shared memory whose phases are separated by barriers: what `#[shared]` parameters are.
//!
//! # Why it is sound
//! In one phase each thread has its own elements to itself, in the other all threads read; a barrier
//! is between the two. For no thread to be a phase ahead of another, each [`Shared`] has a barrier of
//! the hardware for itself, number 2 and on, that nothing else uses: not `sync_threads`, not
//! `Barrier`. It opens when all threads of the block that have not ended have come, and phases
//! alternate, so after its `n`-th opening all threads are in the same phase, wherever in the code
//! they are. Threads that come to no barrier, or to another one, let the others wait forever, which
//! is no race.
//!
//! For this there must be one handle for each thread. The entry of the kernel makes it, of a static of
//! its own, and passes it to the kernel's function. No code can name the entry; who calls the function
//! passes on the handle that it has.

use core::marker::PhantomData;
use core::ops::Deref;

use crate::intrinsics::{special, synchronization};
use crate::thread::{self, Strided};
use crate::{bits::AnyBits, session::guarded};

/// The first of the eight barriers that belong to shared memory, one for each `#[shared]` parameter.
/// They are low ones, since a multiprocessor has 32 or 64 barriers for all its blocks, and a block
/// takes all up to the highest one that it uses.
const FIRST_BARRIER: u32 = 2;

/// How shared memory is laid out, and which elements are whose: [`Array`], [`Tile`], [`Dynamic`], or
/// several of them in a tuple.
///
/// # Safety
/// `own` of different threads are different elements, all within the storage, and `view` is within
/// it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no layout of shared memory",
    label = "no layout of shared memory",
    note = "shared memory is `Shared<Array<f32, 256>>`, `Shared<Tile<f32, 32, 32, 33>>` or \
            `Shared<Dynamic<f32>>`, of types that are `AnyBits`"
)]
pub unsafe trait Layout {
    /// What the static is.
    type Storage;
    /// Whether it is the memory that the launch adds.
    const DYNAMIC: bool;
    /// This thread's elements.
    type Own<'a>;
    /// What all threads read.
    type View<'a>;

    /// # Safety
    /// The storage is there for `'a`, and all threads are in the phase of writing.
    #[doc(hidden)]
    unsafe fn own<'a>(storage: *mut Self::Storage) -> Self::Own<'a>;

    /// # Safety
    /// The storage is there for `'a`, and all threads are in the phase of reading.
    #[doc(hidden)]
    unsafe fn view<'a>(storage: *mut Self::Storage) -> Self::View<'a>;
}

/// Shared memory in the phase of writing: every thread may change its own elements.
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
/// What is there when a block starts is anything.
pub struct Shared<'k, L: Layout> {
    storage: *mut L::Storage,
    barrier: u32,
    // It must stay with its thread, and in the kernel.
    layout: PhantomData<(*mut L, &'k mut ())>,
}

/// Shared memory in the phase of reading: what [`Shared::share`] returns.
pub struct Reading<'k, L: Layout>(Shared<'k, L>);

impl<'k, L: Layout> Shared<'k, L> {
    /// The handle of a kernel's parameter.
    ///
    /// # Safety
    /// Nothing else uses the storage, nor the barrier, and each thread of the block makes one handle,
    /// before it comes to any barrier.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn new(_scope: &'k Scope, storage: *mut L::Storage, number: u32) -> Shared<'k, L> {
        const {
            assert!(
                size_of::<L::Storage>() <= 48 << 10,
                "a kernel has 48 KiB of shared memory at most that it declares: take `Dynamic` for more"
            )
        };
        // SAFETY: it has no effect but on what the compiler knows of the memory: that something may
        // have written there, so that its bits are anything but not without meaning.
        unsafe { synchronization::written(storage.cast()) };
        Shared {
            storage,
            barrier: FIRST_BARRIER + number,
            layout: PhantomData,
        }
    }

    /// This thread's elements: `own().each(|i, element| …)` of an [`Array`],
    /// `own().each(|(x, y), element| …)` of a [`Tile`], and of a tuple such of each.
    #[inline(always)]
    pub fn own(&mut self) -> L::Own<'_> {
        // SAFETY: the handle is in the phase of writing, and so all threads' are.
        unsafe { L::own(self.storage) }
    }

    /// Waits for all threads of the block; then all read. To write again, [`Reading::reclaim`].
    #[inline(always)]
    #[must_use]
    pub fn share(self) -> Reading<'k, L> {
        self.wait();
        Reading(self)
    }

    /// Waits for all threads of the block, lets them read, and waits for them to be done: two
    /// barriers.
    #[inline(always)]
    pub fn read<R>(&mut self, f: impl for<'a> FnOnce(L::View<'a>) -> R) -> R {
        self.wait();
        // SAFETY: between the barriers is the phase of reading.
        let result = guarded!(f(unsafe { L::view(self.storage) }));
        self.wait();
        result
    }

    #[inline(always)]
    fn wait(&self) {
        // SAFETY: the barrier is this memory's alone. An immediate number lets the hardware reserve
        // those alone that are used.
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
    /// What all threads read.
    #[inline(always)]
    pub fn view(&self) -> L::View<'_> {
        // SAFETY: the handle is in the phase of reading, and so all threads' are.
        unsafe { L::view(self.0.storage) }
    }

    /// Waits for all threads of the block; then each has its own elements again.
    #[inline(always)]
    #[must_use]
    pub fn reclaim(self) -> Shared<'k, L> {
        self.0.wait();
        self.0
    }
}

/// `N` elements. With `n` threads in the block, thread `i` owns the elements `i`, `i + n` and so on.
pub struct Array<T, const N: usize>(PhantomData<T>);

// SAFETY: indices in steps of the number of threads, from the thread's own number on.
unsafe impl<T: AnyBits + Send + Sync + 'static, const N: usize> Layout for Array<T, N> {
    type Storage = [T; N];
    const DYNAMIC: bool = false;
    type Own<'a> = OwnElements<'a, T>;
    type View<'a> = &'a [T; N];

    #[inline(always)]
    unsafe fn own<'a>(storage: *mut [T; N]) -> OwnElements<'a, T> {
        const { assert!(N > 0, "an array has at least one element") };
        OwnElements {
            indices: thread::block_stride(N),
            pointer: storage.cast(),
            elements: PhantomData,
        }
    }

    #[inline(always)]
    unsafe fn view<'a>(storage: *mut [T; N]) -> &'a [T; N] {
        // SAFETY: nobody writes.
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

/// The memory whose size the launch gives, as elements; a kernel has one at most. Ownership is as
/// with [`Array`].
pub struct Dynamic<T>(PhantomData<T>);

impl<T> Dynamic<T> {
    #[inline(always)]
    fn len() -> usize {
        const { assert!(size_of::<T>() > 0, "elements have a size") };
        special::dynamic_smem_size() as usize / size_of::<T>()
    }
}

// SAFETY: as for `Array`, up to the size that the launch gave.
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
        // SAFETY: nobody writes, and there are as many.
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

/// This thread's elements of an [`Array`].
pub struct OwnElements<'a, T> {
    indices: Strided,
    pointer: *mut T,
    elements: PhantomData<&'a mut [T]>,
}

// It is no iterator: an `Option<&mut T>` on the way would be a pointer that may be null, and such a
// pointer loses its state space in libnvvm.
impl<T> OwnElements<'_, T> {
    /// Calls a function with each of the elements, and its index.
    #[inline(always)]
    pub fn each(self, mut f: impl FnMut(usize, &mut T)) {
        for index in self.indices {
            // SAFETY: inside, and each of this thread's elements comes once.
            f(index, unsafe { &mut *self.pointer.add(index) });
        }
    }
}

/// `H` rows of `W` elements, `PITCH` elements from one to the next. With `nx` by `ny` threads in
/// the block, thread (`x`, `y`) owns the columns `x`, `x + nx` and so on of the rows `y`, `y + ny` and
/// so on; a block's third dimension goes on with the rows.
///
/// A pitch of one element more than a multiple of 32 words lets a warp read a column without conflicts
/// of banks.
pub struct Tile<T, const W: usize, const H: usize, const PITCH: usize = W>(PhantomData<T>);

// SAFETY: columns in steps of the threads along `x` below the pitch, rows in steps of the others:
// different threads have different columns or rows.
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
            // Only elements without a size could have more.
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
        // SAFETY: nobody writes.
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
    /// Calls a function with each of the elements, and its column and row.
    #[inline(always)]
    pub fn each(self, mut f: impl FnMut((usize, usize), &mut T)) {
        let mut y = self.y;
        while y < H {
            let mut x = self.first;
            while x < W {
                let place = (thread::bounded::<W>(x), thread::bounded::<H>(y));
                // SAFETY: inside, and each of this thread's elements comes once.
                f(place, unsafe { &mut *self.pointer.add(y * PITCH + x) });
                // SAFETY: a column, and the number of threads in a block.
                x = unsafe { x.unchecked_add(self.step) };
            }
            // SAFETY: a row, and the number of threads in a block.
            y = unsafe { y.unchecked_add(self.rows) };
        }
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

            // SAFETY: each has a storage of its own.
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
                    // SAFETY: the caller's promise holds for the parts.
                    unsafe { ($($layout::own(&raw mut (*storage).$field),)*) }
                }

                #[inline(always)]
                unsafe fn view<'a>(storage: *mut Self::Storage) -> Self::View<'a> {
                    // SAFETY: the caller's promise holds for the parts.
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

/// At most one of a kernel's shared parameters is the dynamic one; `#[kernel]` checks it.
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

/// A local variable of the kernel's entry, which handles of shared memory do not outlive: nothing
/// that is `'static` can keep one for another thread.
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

/// What a `#[shared]` parameter of a kernel is: [`Shared`].
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

    /// # Safety
    /// As for [`Shared::new`].
    unsafe fn make(scope: &'k Scope, storage: *mut Self::Storage, number: u32) -> Self;
}

impl<'k, L: Layout> Handle<'k> for Shared<'k, L> {
    type Storage = L::Storage;
    const DYNAMIC: bool = L::DYNAMIC;

    #[inline(always)]
    unsafe fn make(scope: &'k Scope, storage: *mut L::Storage, number: u32) -> Shared<'k, L> {
        // SAFETY: the caller's promise.
        unsafe { Shared::new(scope, storage, number) }
    }
}
