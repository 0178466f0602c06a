//! Threads: there are none to spawn.

use alloc_crate::boxed::Box;
use core::any::Any;
use core::cell::{Cell, OnceCell, RefCell};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, Ordering};

/// The result of a thread.
pub type Result<T> = core::result::Result<T, Box<dyn Any + Send + 'static>>;

/// A thread that was spawned: never made.
#[derive(Debug)]
pub struct JoinHandle<T>(PhantomData<T>, core::convert::Infallible);

impl<T> JoinHandle<T> {
    pub fn join(self) -> Result<T> {
        match self.1 {}
    }
}

/// Panics.
pub fn spawn<T, F: FnOnce() -> T + Send + 'static>(_: F) -> JoinHandle<T> {
    panic!("device code cannot spawn threads")
}

/// Whether the one thread was woken since it last waited.
static WOKEN: AtomicBool = AtomicBool::new(false);

/// A thread that can be woken.
#[derive(Debug, Clone)]
pub struct Thread(());

impl Thread {
    pub fn unpark(&self) {
        WOKEN.store(true, Ordering::Relaxed);
    }
}

/// The one thread.
pub fn current() -> Thread {
    Thread(())
}

/// Waits until this thread is woken. It panics if that has not happened yet: nobody else would.
pub fn park() {
    if !WOKEN.swap(false, Ordering::Relaxed) {
        panic!("device code cannot wait for another thread");
    }
}

/// A thread that panics ends at once, so none that runs is panicking.
pub fn panicking() -> bool {
    false
}

/// A thread-local variable, in a launch of one thread.
pub struct LocalKey<T: 'static> {
    value: OnceCell<T>,
    make: fn() -> T,
}

// SAFETY: there is one thread.
unsafe impl<T: 'static> Sync for LocalKey<T> {}

impl<T: 'static> core::panic::RefUnwindSafe for LocalKey<T> {}

impl<T: 'static> LocalKey<Cell<T>> {
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    pub fn with_borrow<R>(&'static self, run: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| run(&cell.borrow()))
    }

    pub fn with_borrow_mut<R>(&'static self, run: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| run(&mut cell.borrow_mut()))
    }
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(make: fn() -> T) -> LocalKey<T> {
        LocalKey {
            value: OnceCell::new(),
            make,
        }
    }

    pub fn with<R>(&'static self, run: impl FnOnce(&T) -> R) -> R {
        run(self.value.get_or_init(self.make))
    }
}
