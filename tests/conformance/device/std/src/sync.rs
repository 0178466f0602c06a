//! `alloc`'s and `core`'s, and locks for a launch of one thread.

pub use alloc_crate::sync::*;
pub use core::sync::*;

use core::cell::{LazyCell, OnceCell, RefCell, RefMut};
use core::ops::{Deref, DerefMut};

/// The error of a lock whose owner panicked; there is none.
#[derive(Debug)]
pub struct PoisonError;

/// A lock of one thread: taking it twice panics.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(RefCell<T>);

// SAFETY: a launch of this crate's users has one thread.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T: ?Sized> core::panic::UnwindSafe for Mutex<T> {}
impl<T: ?Sized> core::panic::RefUnwindSafe for Mutex<T> {}

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(RefCell::new(value))
    }
}

impl<T: ?Sized> Mutex<T> {
    pub fn lock(&self) -> Result<MutexGuard<'_, T>, PoisonError> {
        Ok(MutexGuard(self.0.borrow_mut()))
    }
}

/// A taken lock.
#[derive(Debug)]
pub struct MutexGuard<'a, T: ?Sized>(RefMut<'a, T>);

// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// A value that is made when it is first used.
pub struct LazyLock<T, F = fn() -> T>(LazyCell<T, F>);

// SAFETY: as above.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    pub const fn new(make: F) -> LazyLock<T, F> {
        LazyLock(LazyCell::new(make))
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A value that is set once.
#[derive(Debug)]
pub struct OnceLock<T>(OnceCell<T>);

// SAFETY: as above.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}

impl<T> OnceLock<T> {
    pub const fn new() -> OnceLock<T> {
        OnceLock(OnceCell::new())
    }

    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(make)
    }
}

/// Channels are made, but there is no other thread to use them with.
pub mod mpsc {
    use crate::rc::Rc;
    use alloc_crate::collections::VecDeque;
    use core::cell::RefCell;

    #[derive(Debug, Clone)]
    pub struct Sender<T>(Rc<RefCell<VecDeque<T>>>);
    #[derive(Debug)]
    pub struct Receiver<T>(Rc<RefCell<VecDeque<T>>>);

    // SAFETY: there is one thread.
    unsafe impl<T: Send> Send for Sender<T> {}
    unsafe impl<T: Send> Send for Receiver<T> {}

    pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
        let queue = Rc::new(RefCell::new(VecDeque::new()));
        (Sender(queue.clone()), Receiver(queue))
    }

    impl<T> Sender<T> {
        pub fn send(&self, value: T) -> Result<(), T> {
            self.0.borrow_mut().push_back(value);
            Ok(())
        }
    }

    impl<T> Receiver<T> {
        pub fn recv(&self) -> Result<T, &'static str> {
            self.0.borrow_mut().pop_front().ok_or("nothing was sent")
        }
    }
}
