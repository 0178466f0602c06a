//! Awaiting streams and events; futures that are dropped or leaked; work that fails.

mod common;
#[path = "common/typed.rs"]
mod kernels;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread::Thread;

use common::{init, stream};
use cust::prelude::*;
use kernels::*;

/// Runs futures concurrently on this thread.
fn block_on_all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = TaskContext::from_waker(&waker);
    let mut futures: Vec<_> = futures.into_iter().map(|f| (Box::pin(f), None)).collect();
    loop {
        let mut open = false;
        for (future, result) in &mut futures {
            if result.is_none() {
                match future.as_mut().poll(&mut context) {
                    Poll::Ready(value) => *result = Some(value),
                    Poll::Pending => open = true,
                }
            }
        }
        if !open {
            return futures
                .into_iter()
                .filter_map(|(_, result)| result)
                .collect();
        }
        std::thread::park();
    }
}

async fn sum(module: &Module, stream: &Stream, value: f32) -> CudaResult<f32> {
    let input = LockedBuffer::new(&value, 1000)?;
    let mut device = DeviceBuffer::<f32>::zeroed(1000)?;
    let mut result = DeviceBuffer::<f32>::zeroed(1000)?;
    let mut back = LockedBuffer::<f32>::zeroed(1000)?;
    stream.upload(&input, &mut device)?;
    let args = add::args(&device, &device, &mut result);
    module.launch(stream, LaunchConfig::for_elements(1000, 128), args)?;
    stream.completion()?.await?;
    let event = Event::new(EventFlags::DISABLE_TIMING)?;
    stream.download(&result, &mut back)?;
    event.record(stream)?;
    event.completion()?.await?;
    Ok(back.iter().sum())
}

#[test]
fn streams_and_events_are_awaited() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let streams: Vec<Stream> = (0..3).map(|_| stream()).collect();
    let tasks = (0..12).map(|i| sum(&module, &streams[i % 3], i as f32));
    let results = block_on_all(tasks.collect());
    for (i, result) in results.into_iter().enumerate() {
        assert_eq!(result.unwrap(), 2000.0 * i as f32);
    }
}

#[test]
fn futures_may_be_dropped_and_leaked() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let mut result = DeviceBuffer::<f32>::zeroed(10).unwrap();
    {
        let input = DeviceBuffer::from_slice(&[1.5f32; 10]).unwrap();
        let args = add::args(&input, &input, &mut result);
        module.launch(&stream, (1, 10), args).unwrap();
        drop(stream.completion().unwrap());
        std::mem::forget(stream.completion().unwrap());
        let mut future = Box::pin(stream.completion().unwrap());
        let _ = future
            .as_mut()
            .poll(&mut TaskContext::from_waker(Waker::noop()));
        drop(future);
    }
    // A task is dropped while its work is pending.
    {
        let mut task = pin!(sum(&module, &stream, 3.0));
        let _ = task
            .as_mut()
            .poll(&mut TaskContext::from_waker(Waker::noop()));
    }
    assert_eq!(result.as_host_vec().unwrap(), [3.0; 10]);
}
