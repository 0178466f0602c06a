//! Coroutines: async blocks and functions with an executor of one thread, hand-written futures, and
//! streams of values.

use crate::{cases, mix};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

/// Not ready the first times that it is asked.
struct Later(u32);

impl Future for Later {
    type Output = u32;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
        if self.0 == 0 {
            return Poll::Ready(7);
        }
        self.0 -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Asks until it is ready; how often that was.
fn block_on<F: Future>(future: F) -> (F::Output, u32) {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    let mut polls = 1;
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return (value, polls);
        }
        polls += 1;
    }
}

async fn sum_of(n: u32, seed: u64) -> u64 {
    let mut sum = 0u64;
    for k in 0..n {
        let part = mix(seed + u64::from(k));
        sum = sum.wrapping_add(part ^ u64::from(Later(k % 3).await));
    }
    sum
}

fn boxed(depth: u32) -> Pin<Box<dyn Future<Output = u64>>> {
    Box::pin(async move {
        if depth == 0 {
            return u64::from(Later(1).await);
        }
        let below = boxed(depth - 1).await;
        below * 3 + u64::from(Later(depth % 2).await)
    })
}

async fn fallible(x: u32) -> Result<u32, &'static str> {
    if x % 4 == 3 { Err("three") } else { Ok(x * 2) }
}

async fn chain(x: u32) -> Result<u32, &'static str> {
    let a = fallible(x).await?;
    let b = fallible(x / 4 + a).await?;
    Ok(a + b + Later(2).await)
}

/// Says when it goes.
struct Goes(Rc<Cell<u32>>, u32);

impl Drop for Goes {
    fn drop(&mut self) {
        self.0.set(self.0.get() * 10 + self.1);
    }
}

cases! {
    fn async_loops(i, record) {
        let (sum, polls) = block_on(sum_of(i % 9, i.into()));
        record.put((sum, polls));
    }

    fn async_recursion(i, record) {
        let (value, polls) = block_on(boxed(i % 6));
        record.put((value, polls));
    }

    fn async_errors(i, record) {
        let (result, polls) = block_on(chain(i));
        record.put((result.is_ok(), result.unwrap_or(0), polls));
        record.put(result.err().map_or(0, str::len));
    }

    fn async_captures(i, record) {
        let log = RefCell::new(Vec::new());
        let text = alloc::format!("thread {i}");
        let task = async |x: u32| {
            log.borrow_mut().push(x);
            let y = Later(x % 3).await + x;
            log.borrow_mut().push(y);
            text.len() as u32 + y
        };
        let ((a, b), polls) = block_on(async { (task(i).await, task(i + 1).await) });
        record.put((a, b, polls));
        for x in log.into_inner() {
            record.put(x);
        }
    }

    fn async_tasks_in_turn(i, record) {
        let order = Rc::new(RefCell::new(Vec::new()));
        let mut queue: VecDeque<Pin<Box<dyn Future<Output = ()>>>> = VecDeque::new();
        for id in 0..4u32 {
            let order = order.clone();
            queue.push_back(Box::pin(async move {
                for step in 0..(id + i) % 4 {
                    order.borrow_mut().push(id * 10 + step);
                    Later(1).await;
                }
            }));
        }
        let mut context = Context::from_waker(Waker::noop());
        while let Some(mut task) = queue.pop_front() {
            if task.as_mut().poll(&mut context).is_pending() {
                queue.push_back(task);
            }
        }
        for id in order.borrow().iter() {
            record.put(*id);
        }
        record.put(Rc::strong_count(&order));
    }

    fn async_dropped_half_way(i, record) {
        let log = Rc::new(Cell::new(0));
        {
            let mut future = Box::pin(async {
                let _first = Goes(log.clone(), 1);
                Later(1).await;
                let _second = Goes(log.clone(), 2);
                Later(1).await;
                let _third = Goes(log.clone(), 3);
            });
            let mut context = Context::from_waker(Waker::noop());
            for _ in 0..i % 4 {
                if future.as_mut().poll(&mut context).is_ready() {
                    break;
                }
            }
        }
        record.put(log.get());
    }

    fn coroutines(i, record) {
        use core::ops::{Coroutine, CoroutineState};
        let mut fibonacci = #[coroutine] |mut by: u32| {
            let (mut a, mut b) = (0u32, 1u32);
            while a < 500 {
                (a, b) = (b, a.wrapping_add(b).wrapping_add(by % 3));
                by = yield a;
            }
            "done"
        };
        for k in 0..40 {
            match Pin::new(&mut fibonacci).resume(i + k) {
                CoroutineState::Yielded(x) => record.put(x),
                CoroutineState::Complete(text) => {
                    record.put(text.len());
                    break;
                }
            }
        }
    }

    fn generators(i, record) {
        let evens = core::iter::from_coroutine(#[coroutine] move || {
            for k in (0..i).filter(|k| k % 2 == 0) {
                yield k * k;
                if k > 20 {
                    return;
                }
            }
        });
        record.put(evens.sum::<u32>());
    }
}
