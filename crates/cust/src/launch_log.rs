//! The log of launches: which kernels may have caused a fault that is detected later.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::context::lock;
use crate::progress::Progress;

/// The last launch of a kernel in a stream, which may be pending.
struct Launched {
    kernel: Arc<str>,
    stream: Weak<Progress>,
    /// The launch's sequence number in the stream.
    number: u64,
}

impl Launched {
    /// Returns whether this is a launch of the kernel in the stream.
    fn is(&self, kernel: &Arc<str>, stream: &Arc<Progress>) -> bool {
        Arc::ptr_eq(&self.kernel, kernel) && std::ptr::eq(self.stream.as_ptr(), Arc::as_ptr(stream))
    }

    fn is_complete(&self) -> bool {
        let stream = self.stream.upgrade();
        stream.is_some_and(|stream| stream.is_complete(self.number))
    }
}

/// The last launch in a list of launches. With it, launching the same kernel in the same stream
/// repeatedly takes no lock. It is used only for error messages, so it may lag behind.
#[derive(Default)]
pub(crate) struct LastLaunch {
    /// The stream's ID, or 0.
    stream: AtomicU64,
    /// The address of the kernel's name, which the list keeps alive.
    kernel: AtomicUsize,
}

impl LastLaunch {
    /// Returns whether the last launch was one of this kernel in this stream.
    #[inline]
    pub(crate) fn is(&self, stream: u64, kernel: &Arc<str>) -> bool {
        self.stream.load(Ordering::Relaxed) == stream
            && self.kernel.load(Ordering::Relaxed) == kernel.as_ptr().addr()
    }

    /// Records a launch that was added to the list.
    pub(crate) fn set(&self, stream: u64, kernel: &Arc<str>) {
        self.kernel.store(kernel.as_ptr().addr(), Ordering::Relaxed);
        self.stream.store(stream, Ordering::Relaxed);
    }

    /// Forgets the last launch, before launches are removed from the list.
    pub(crate) fn forget(&self) {
        self.stream.store(0, Ordering::Relaxed);
    }
}

/// The most recent launches in a context, the last of each kernel in each stream, for errors that
/// are detected later.
#[derive(Default)]
pub(crate) struct LaunchLog {
    launched: Mutex<VecDeque<Launched>>,
    /// The last entry of `launched`, which is usually repeated.
    last: LastLaunch,
    /// The sequence number of the last launch.
    last_number: AtomicU64,
}

/// The maximum number of launches that are recorded.
const LAUNCHES: usize = 32;

impl LaunchLog {
    /// Records a launch.
    #[inline]
    pub(crate) fn note(&self, kernel: &Arc<str>, stream: &Arc<Progress>, number: u64) {
        if self.last.is(stream.id(), kernel) {
            self.last_number.store(number, Ordering::Relaxed);
        } else {
            self.note_new(kernel, stream, number);
        }
    }

    #[inline(never)]
    fn note_new(&self, kernel: &Arc<str>, stream: &Arc<Progress>, number: u64) {
        let mut launched = self.launched();
        let known = launched
            .iter()
            .position(|launched| launched.is(kernel, stream));
        let known = known.and_then(|at| launched.remove(at));
        let mut last = known.unwrap_or_else(|| {
            while launched.len() >= LAUNCHES || launched.front().is_some_and(Launched::is_complete)
            {
                launched.pop_front();
            }
            Launched {
                kernel: Arc::clone(kernel),
                stream: Arc::downgrade(stream),
                number,
            }
        });
        last.number = last.number.max(number);
        launched.push_back(last);
        self.last_number.store(number, Ordering::Relaxed);
        self.last.set(stream.id(), kernel);
    }

    /// Returns the recorded launches, after updating the last entry.
    fn launched(&self) -> MutexGuard<'_, VecDeque<Launched>> {
        let mut launched = lock(&self.launched);
        if let Some(back) = launched.back_mut() {
            let number = self.last_number.load(Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_alternate_are_recorded_once_for_each_stream() {
        let log = LaunchLog::default();
        let [one, two]: [Arc<str>; 2] = ["one", "two"].map(Arc::from);
        let streams = [0; 2].map(|_| Arc::new(Progress::new()));
        for _ in 0..LAUNCHES {
            for stream in &streams {
                for kernel in [&one, &two] {
                    log.note(kernel, stream, stream.next_number());
                }
            }
        }
        assert_eq!(log.launched().len(), 4);
        assert_eq!(log.kernels_in_flight(), ["one", "two"]);

        // The last launch of `one` in the first stream is complete, that of `two` is not.
        streams[1].mark_complete(streams[1].issued());
        streams[0].mark_complete(streams[0].issued() - 1);
        assert_eq!(log.kernels_in_flight(), ["two"]);
        streams[0].mark_complete(streams[0].issued());
        assert!(log.kernels_in_flight().is_empty());
    }

    #[test]
    fn a_repeated_launch_is_pending_again() {
        let log = LaunchLog::default();
        let kernel: Arc<str> = Arc::from("kernel");
        let stream = Arc::new(Progress::new());
        for _ in 0..3 {
            log.note(&kernel, &stream, stream.next_number());
            log.note(&kernel, &stream, stream.next_number());
            assert_eq!(log.kernels_in_flight(), ["kernel"]);
            stream.mark_complete(stream.issued());
            assert!(log.kernels_in_flight().is_empty());
        }
    }

    #[test]
    fn the_log_keeps_the_most_recent_launches() {
        let log = LaunchLog::default();
        let stream = Arc::new(Progress::new());
        let kernels: Vec<Arc<str>> = (0..LAUNCHES + 2).map(|i| i.to_string().into()).collect();
        for kernel in &kernels {
            log.note(kernel, &stream, stream.next_number());
        }
        let in_flight = log.kernels_in_flight();
        assert_eq!(in_flight.len(), LAUNCHES);
        assert_eq!((&*in_flight[0], &*in_flight[LAUNCHES - 1]), ("2", "33"));
    }
}
