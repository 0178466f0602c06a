//! The log of launches: which kernels may have caused a fault that is detected later.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::context::lock;
use crate::progress::Progress;

/// A launch that may be pending.
struct Launched {
    kernel: Arc<str>,
    stream: Weak<Progress>,
    /// The launch's sequence number in the stream.
    number: u64,
}

impl Launched {
    fn is_complete(&self) -> bool {
        let stream = self.stream.upgrade();
        stream.is_some_and(|stream| stream.is_complete(self.number))
    }
}

/// The last entry of the list of launches. With it, launching the same kernel in the same stream
/// repeatedly takes no lock. It is used only for error messages, so it may lag behind.
#[derive(Default)]
struct LastLaunch {
    /// The stream's ID.
    stream: AtomicU64,
    /// The address of the kernel's name, which the list keeps alive.
    kernel: AtomicUsize,
    /// The sequence number of the last launch of this kernel in this stream.
    number: AtomicU64,
}

/// The most recent launches in a context, for errors that are detected later.
#[derive(Default)]
pub(crate) struct LaunchLog {
    launched: Mutex<VecDeque<Launched>>,
    /// The last entry of `launched`, which is usually repeated.
    last: LastLaunch,
}

/// The maximum number of launches that are recorded.
const LAUNCHES: usize = 32;

impl LaunchLog {
    /// Records a launch.
    pub(crate) fn note(&self, kernel: &Arc<str>, stream: &Arc<Progress>, number: u64) {
        let last = &self.last;
        let (stream_id, place) = (stream.id(), kernel.as_ptr().addr());
        // Fast path: the same kernel is launched repeatedly.
        if last.stream.load(Ordering::Relaxed) == stream_id
            && last.kernel.load(Ordering::Relaxed) == place
        {
            last.number.store(number, Ordering::Relaxed);
            return;
        }
        let mut launched = self.launched();
        while launched.len() >= LAUNCHES || launched.front().is_some_and(Launched::is_complete) {
            launched.pop_front();
        }
        launched.push_back(Launched {
            kernel: Arc::clone(kernel),
            stream: Arc::downgrade(stream),
            number,
        });
        last.number.store(number, Ordering::Relaxed);
        last.kernel.store(place, Ordering::Relaxed);
        last.stream.store(stream_id, Ordering::Relaxed);
    }

    /// Returns the recorded launches, after updating the last entry from `last`.
    fn launched(&self) -> MutexGuard<'_, VecDeque<Launched>> {
        let mut launched = lock(&self.launched);
        if let Some(back) = launched.back_mut() {
            let number = self.last.number.load(Ordering::Relaxed);
            back.number = back.number.max(number);
        }
        launched
    }

    /// Returns the names of the recorded kernels that may be pending.
    pub(crate) fn kernels_in_flight(&self) -> Vec<String> {
        let mut kernels: Vec<String> = Vec::new();
        for launched in self.launched().iter() {
            let known = kernels.iter().any(|kernel| **kernel == *launched.kernel);
            if !known && !launched.is_complete() {
                kernels.push(launched.kernel.to_string());
            }
        }
        kernels
    }
}
