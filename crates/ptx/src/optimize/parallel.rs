//! Work on several threads.

use std::cmp::Reverse;
use std::num::NonZero;
use std::sync::Mutex;
use std::thread;

/// The size of a thread's stack: that of a program's main thread on most systems.
const STACK: usize = 8 << 20;

/// Calls `each` for all items, on as many threads as there are processors, and returns the results in
/// the order of the items. The largest items come first, so that no thread works alone for long.
pub(super) fn map<T: Send, R: Send>(
    items: Vec<T>,
    size: impl Fn(&T) -> usize,
    each: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let mut items: Vec<(usize, T)> = items.into_iter().enumerate().collect();
    items.sort_by_key(|(_, item)| Reverse(size(item)));
    let threads = thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(items.len());
    let queue = Mutex::new(items.into_iter());
    let work = || {
        let mut done = Vec::new();
        loop {
            // A thread that panics does not hold the lock.
            let next = queue.lock().ok().and_then(|mut queue| queue.next());
            let Some((index, item)) = next else {
                return done;
            };
            done.push((index, each(item)));
        }
    };
    let mut done = thread::scope(|scope| {
        // Without the threads that cannot start, the others do more.
        let others: Vec<_> = (1..threads)
            .filter_map(|_| {
                let thread = thread::Builder::new().stack_size(STACK);
                thread.spawn_scoped(scope, work).ok()
            })
            .collect();
        let mut done = work();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, result)| result).collect()
}
