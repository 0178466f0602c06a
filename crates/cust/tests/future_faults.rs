//! A future for a stream whose work faults completes with the error. A separate program, because
//! the context is lost.

mod common;

use std::future::Future;
use std::task::{Context as TaskContext, Poll, Waker};

use common::{FAULTS, init, stream};
use cust::prelude::*;

#[test]
fn a_fault_ends_the_wait() {
    // Load the kernel now, so that the launch does not wait for the callback.
    ptx_emulator::driver::set_schedule(ptx_emulator::driver::Schedule::Deferred);
    let _context = init();
    let module = Module::from_ptx(FAULTS, &[]).unwrap();
    let stream = stream();
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    // Block the stream, so that the future is created before the fault.
    stream
        .add_callback(move || {
            let _ = receiver.recv();
        })
        .unwrap();
    // SAFETY: the kernel faults on purpose.
    unsafe {
        launch!(module.store<<<1, 1, 0, stream>>>(16u64)).unwrap();
    }
    let future = stream.completion();
    drop(sender);
    let mut future = std::pin::pin!(match future {
        Ok(future) => future,
        // The fault occurred first.
        Err(error) => return assert!(error.code().is_some_and(CudaError::is_sticky)),
    });
    let result = loop {
        let mut context = TaskContext::from_waker(Waker::noop());
        match future.as_mut().poll(&mut context) {
            Poll::Ready(result) => break result,
            Poll::Pending => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    };
    let error = result.unwrap_err();
    assert!(error.code().is_some_and(CudaError::is_sticky), "{error}");
}
