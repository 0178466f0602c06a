//! Kernels on the CPU: the contract between `cuda_std`, whose functions kernels call, and the launch of
//! `cust` that runs the kernels' threads.
//!
//! While a thread of a kernel runs, a thread-local variable of the operating system's thread points to
//! its [`Current`]. Elsewhere it is null, and functions of the device panic.

use core::alloc::Layout;
use core::any::Any;
use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use alloc::boxed::Box;

/// Which thread of a launch this is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// The thread's index in its block.
    pub thread: [u32; 3],
    /// The block's index in the grid.
    pub block: [u32; 3],
    /// The number of threads in a block.
    pub block_dim: [u32; 3],
    /// The number of blocks in the grid.
    pub grid_dim: [u32; 3],
}

impl Place {
    /// The thread's number in its block.
    #[inline]
    pub const fn index_in_block(&self) -> u32 {
        let [x, y, z] = self.thread;
        (z * self.block_dim[1] + y) * self.block_dim[0] + x
    }
}

/// The thread of a kernel that runs.
pub struct Current<'a> {
    /// Which one it is.
    pub place: Cell<Place>,
    /// Its number among those that the block runs at the same time.
    pub slot: usize,
    /// The block's launch.
    pub block: &'a dyn Block,
    /// Whether it may only end: by [`Block::leave`] at its next use of the device's functions.
    pub dead: Cell<bool>,
    /// For the launch: what it knows of a panic.
    pub panic: Cell<Option<Box<dyn Any>>>,
}

/// What the threads at a barrier brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// The number of threads that waited.
    pub threads: u32,
    /// For how many of them the predicate was true.
    pub predicates: u32,
}

/// What the lanes of a warp brought.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lanes {
    /// The lanes that brought a value.
    pub present: u32,
    /// The values by lane.
    pub values: [u64; 32],
}

/// How a thread ends that does not return.
#[derive(Clone, Copy, Debug)]
pub enum End<'a> {
    /// `thread::exit`.
    Exit,
    /// `trap` and `brkpt`.
    Trap,
    /// It called a function that has no form on the CPU.
    Unsupported(&'a str),
}

/// The block that a thread is in. All of its threads run on one thread of the operating system.
pub trait Block {
    /// Ends the thread, by unwinding.
    fn leave(&self) -> !;
    /// Comes to a barrier, for all threads of the block or for this many.
    fn barrier(&self, number: u32, count: Option<u32>, waits: bool, predicate: bool) -> Arrived;
    /// Exchanges values with the other lanes of `mask`.
    fn exchange(&self, operation: &'static str, mask: u32, value: u64) -> Lanes;
    /// The block's memory of this key, aligned and initialized.
    fn shared(&self, key: Key, layout: Layout) -> *mut u8;
    /// The bytes of shared memory that the launch gives.
    fn dynamic_shared(&self) -> u32;
    /// Lets the other threads of the block run.
    fn pause(&self);
    /// Ends the thread, or the launch.
    fn end(&self, end: End<'_>) -> !;
}

/// What shared memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The memory whose size the launch gives.
    Dynamic,
    /// The `#[shared]` parameter of this number.
    Parameter(u32),
    /// The static at this address.
    Static(usize),
}

std::thread_local! {
    static CURRENT: Cell<*const Current<'static>> = const { Cell::new(core::ptr::null()) };
}

/// Whether this is a thread of a kernel on the CPU.
#[inline]
pub fn is_running() -> bool {
    !CURRENT.get().is_null()
}

/// Calls `f` with the thread of a kernel that this is, if it is one.
#[inline]
pub fn with<R>(f: impl FnOnce(&Current<'_>) -> R) -> Option<R> {
    // SAFETY: `enter` keeps it there; a thread that waits meanwhile is resumed by `enter` again.
    let current = unsafe { CURRENT.get().as_ref() }?;
    Some(f(current))
}

/// Runs `f`, during which this is the thread `current`.
pub fn enter<R>(current: &Current<'_>, f: impl FnOnce() -> R) -> R {
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

/// A kernel's parameters, as its threads read them.
#[derive(Clone, Debug)]
pub struct Parameters<'a> {
    bytes: &'a [MaybeUninit<u8>],
    next: usize,
    /// Where in `bytes` each parameter starts, and the address of the argument.
    places: &'a [(usize, *const MaybeUninit<u8>)],
    arguments: PhantomData<&'a ()>,
}

impl<'a> Parameters<'a> {
    /// Parameters one after the other, without gaps.
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

    /// The next parameter.
    ///
    /// # Safety
    ///
    /// Its type is `P`, apart from lifetimes, which whoever gets it does not rely on.
    #[inline]
    pub unsafe fn take<P>(&mut self) -> P {
        let bytes = &self.bytes[self.next..][..size_of::<P>()];
        self.next += bytes.len();
        // SAFETY: the bytes are those of a `P`.
        unsafe { bytes.as_ptr().cast::<P>().read_unaligned() }
    }

    /// The next parameter, where the arguments keep it.
    ///
    /// # Safety
    ///
    /// Its type is `P`, apart from lifetimes.
    #[inline]
    pub unsafe fn reference<P>(&mut self) -> &'a P {
        if size_of::<P>() == 0 {
            // SAFETY: such a value is anywhere.
            return unsafe { core::ptr::NonNull::dangling().as_ref() };
        }
        let found = self.places.iter().find(|(start, _)| *start == self.next);
        let (_, argument) = found.expect("the arguments are the kernel's");
        self.next += size_of::<P>();
        // SAFETY: the arguments hold the value, aligned, for `'a`.
        unsafe { &*argument.cast::<P>() }
    }
}
