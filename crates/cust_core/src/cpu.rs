//! The contract of kernels on the CPU between `cuda_std`, whose functions kernels call, and `cust`,
//! which runs the kernels' threads.
//!
//! While a thread of a kernel runs, a thread-local variable of the OS thread points to its
//! [`Current`]. Otherwise the variable is null, and device functions panic.

use core::alloc::Layout;
use core::any::Any;
use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use alloc::boxed::Box;

/// The position of a thread in a launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// The thread's index in its block.
    pub thread: [u32; 3],
    /// The block's index in the grid.
    pub block: [u32; 3],
    /// The number of threads in a block, along each dimension.
    pub block_dim: [u32; 3],
    /// The number of blocks in the grid, along each dimension.
    pub grid_dim: [u32; 3],
}

impl Place {
    /// Returns the thread's linear index in its block.
    #[inline]
    pub const fn index_in_block(&self) -> u32 {
        let [x, y, z] = self.thread;
        (z * self.block_dim[1] + y) * self.block_dim[0] + x
    }
}

/// A running thread of a kernel.
///
/// Outputs and shared memory rely on its state: no two threads of a launch have the same place, and
/// a thread that must exit executes no more device functions. Safe code cannot change it:
///
/// ```compile_fail,E0616
/// cust_core::cpu::with(|current| current.place.set(Default::default()));
/// ```
///
/// ```compile_fail,E0133
/// cust_core::cpu::with(|current| current.start(Default::default()));
/// ```
///
/// ```compile_fail,E0133
/// cust_core::cpu::with(|current| current.block().barrier(2, None, true, true));
/// ```
pub struct Current<'a> {
    place: Cell<Place>,
    slot: usize,
    block: &'a dyn Block,
    dead: Cell<bool>,
    /// The panic of the thread, in the launch's format.
    pub panic: Cell<Option<Box<dyn Any>>>,
}

impl<'a> Current<'a> {
    /// Creates a thread of a block, with the number `slot` among the threads that the block runs
    /// concurrently.
    pub fn new(slot: usize, block: &'a dyn Block) -> Self {
        Current {
            place: Cell::default(),
            slot,
            block,
            dead: Cell::new(false),
            panic: Cell::new(None),
        }
    }

    /// Starts a thread of the kernel at `place`.
    ///
    /// # Safety
    ///
    /// No other thread of the launch has this place, and the previous thread has exited.
    pub unsafe fn start(&self, place: Place) {
        self.place.set(place);
        self.dead.set(false);
    }

    /// Returns the position of the thread.
    #[inline]
    pub fn place(&self) -> Place {
        self.place.get()
    }

    /// Returns the thread's number among the threads that the block runs concurrently.
    #[inline]
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// Returns the thread's block.
    #[inline]
    pub fn block(&self) -> &'a dyn Block {
        self.block
    }

    /// Returns whether the thread must exit: by [`Block::leave`], at its next use of a device
    /// function.
    #[inline]
    pub fn is_dead(&self) -> bool {
        self.dead.get()
    }

    /// Makes the thread exit at its next use of a device function.
    pub fn kill(&self) {
        self.dead.set(true);
    }
}

/// The result of a barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// The number of threads that waited.
    pub threads: u32,
    /// The number of threads for which the predicate was true.
    pub predicates: u32,
}

/// The result of an exchange between the lanes of a warp.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lanes {
    /// The lanes that passed a value.
    pub present: u32,
    /// The values by lane.
    pub values: [u64; 32],
}

/// The reason why a thread exits without returning.
#[derive(Clone, Copy, Debug)]
pub enum End<'a> {
    /// `thread::exit`.
    Exit,
    /// `trap` and `brkpt`.
    Trap,
    /// A call of a function that is not available on the CPU.
    Unsupported(&'a str),
}

/// The block of a thread. One of its threads runs at a time.
///
/// # Safety
///
/// The functions must do what their documentation states: device functions rely on the barriers and
/// on the memory.
pub unsafe trait Block {
    /// Exits the thread by unwinding.
    fn leave(&self) -> !;
    /// Waits at a barrier, for all threads of the block or for this number of threads.
    ///
    /// # Safety
    ///
    /// As for the intrinsics of the barrier: reductions of the block and `#[shared]` parameters rely
    /// on nothing else using their barriers.
    unsafe fn barrier(
        &self,
        number: u32,
        count: Option<u32>,
        waits: bool,
        predicate: bool,
    ) -> Arrived;
    /// Exchanges values with the other lanes of `mask`.
    fn exchange(&self, operation: &'static str, mask: u32, value: u64) -> Lanes;
    /// Returns the block's memory for `key`, aligned and initialized.
    ///
    /// Each layout has memory of its own: on the host, a static without bytes may have the address
    /// of another static.
    fn shared(&self, key: Key, layout: Layout) -> *mut u8;
    /// Returns the size of the launch's dynamic shared memory in bytes.
    fn dynamic_shared(&self) -> u32;
    /// Lets the other threads of the block run.
    fn pause(&self);
    /// Exits the thread, or aborts the launch.
    fn end(&self, end: End<'_>) -> !;
}

/// The identity of a shared memory allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Dynamic shared memory.
    Dynamic,
    /// The `#[shared]` parameter of this number.
    Parameter(u32),
    /// The static at this address.
    Static(usize),
}

std::thread_local! {
    static CURRENT: Cell<*const Current<'static>> = const { Cell::new(core::ptr::null()) };
}

/// Returns whether the caller is a thread of a kernel on the CPU.
#[inline]
pub fn is_running() -> bool {
    !CURRENT.get().is_null()
}

/// Calls `f` with the current thread of a kernel, if there is one.
#[inline]
pub fn with<R>(f: impl FnOnce(&Current<'_>) -> R) -> Option<R> {
    // SAFETY: `enter` keeps the value alive; it also resumes a thread that waited.
    let current = unsafe { CURRENT.get().as_ref() }?;
    Some(f(current))
}

/// Runs `f` as the thread `current`.
///
/// # Safety
///
/// `f` must run or resume the thread of the kernel that `current` was started for.
pub unsafe fn enter<R>(current: &Current<'_>, f: impl FnOnce() -> R) -> R {
    struct Restore(*const Current<'static>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let before = CURRENT.replace((&raw const *current).cast());
    let _restore = Restore(before);
    f()
}

/// The parameters of a kernel, as read by its threads.
#[derive(Clone, Debug)]
pub struct Parameters<'a> {
    bytes: &'a [MaybeUninit<u8>],
    next: usize,
    /// The start of each parameter in `bytes`, and the address of the argument.
    places: &'a [(usize, *const MaybeUninit<u8>)],
    arguments: PhantomData<&'a ()>,
}

impl<'a> Parameters<'a> {
    /// Creates parameters that follow one another without padding.
    pub const fn new(
        bytes: &'a [MaybeUninit<u8>],
        places: &'a [(usize, *const MaybeUninit<u8>)],
    ) -> Self {
        Parameters {
            bytes,
            next: 0,
            places,
            arguments: PhantomData,
        }
    }

    /// Returns the next parameter.
    ///
    /// # Safety
    ///
    /// Its type is `P`, except for lifetimes, which the caller does not rely on.
    #[inline]
    pub unsafe fn take<P>(&mut self) -> P {
        let bytes = &self.bytes[self.next..][..size_of::<P>()];
        self.next += bytes.len();
        // SAFETY: the bytes are a `P`.
        unsafe { bytes.as_ptr().cast::<P>().read_unaligned() }
    }

    /// Returns a reference to the next parameter in the arguments.
    ///
    /// # Panics
    ///
    /// Panics if the arguments have no parameter at this position.
    ///
    /// # Safety
    ///
    /// Its type is `P`, except for lifetimes.
    #[inline]
    pub unsafe fn reference<P>(&mut self) -> &'a P {
        if size_of::<P>() == 0 {
            // SAFETY: a zero-sized value is valid at any address.
            return unsafe { core::ptr::NonNull::dangling().as_ref() };
        }
        let found = self.places.iter().find(|(start, _)| *start == self.next);
        let (_, argument) = found.expect("the arguments are the kernel's");
        self.next += size_of::<P>();
        // SAFETY: the arguments contain the value, aligned, for `'a`.
        unsafe { &*argument.cast::<P>() }
    }
}
