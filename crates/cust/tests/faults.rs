//! Faults in kernels: the error describes the fault and its location, and is sticky until the
//! context is reset. A single test, because a fault loses the context.

mod common;

use common::{FAULTS, KERNELS, init, stream};
use cust::prelude::*;
use ptx_emulator::driver::{Schedule, set_schedule};

#[test]
fn faults_lose_the_context_and_a_reset_makes_a_new_one() {
    let context = init();
    if context.backend() == Backend::Gpu {
        test_outcome::skip("on a GPU a fault may end the process's use of the device for good");
        return;
    }
    assert_eq!(context.driver_log().unwrap(), "");
    let device = context.device();
    let module = Module::from_ptx(FAULTS, &[]).unwrap();
    let buffer = DeviceBuffer::<u32>::zeroed(4).unwrap();
    let stream_1 = stream();
    // SAFETY: the kernel faults on purpose.
    unsafe { launch!(module.store<<<1, 1, 0, stream_1>>>(16u64)).unwrap() };
    let error = stream_1.synchronize().unwrap_err();
    assert_eq!(error.code(), Some(CudaError::IllegalAddress));
    let text = error.to_string();
    assert!(text.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{text}");
    assert!(text.contains("`store`"), "{text}");
    assert!(text.contains("PTX line 13"), "{text}");
    assert!(text.ends_with("; kernels in flight: `store`"), "{text}");
    // The log describes the fault, also after the context was lost.
    let log = context.driver_log().unwrap();
    assert!(
        log.contains("`store`") && log.contains("PTX line 13"),
        "{log}"
    );
    // The error is sticky.
    assert!(buffer.as_host_vec().is_err());
    assert!(Module::from_ptx(KERNELS, &[]).is_err());
    assert!(context.synchronize().is_err());

    // SAFETY: there is no pinned or unified memory.
    unsafe { Context::reset(&device).unwrap() };
    let error = buffer.as_host_vec().unwrap_err();
    assert_eq!(error.code(), Some(CudaError::ContextIsDestroyed));
    let context = Context::new(device).unwrap();
    drop((module, buffer, stream_1));

    let module = Module::from_ptx(FAULTS, &[]).unwrap();
    let buffer = DeviceBuffer::<u32>::zeroed(4).unwrap();
    let stream_2 = stream();
    // SAFETY: the kernel writes to the first element.
    unsafe { launch!(module.store<<<1, 1, 0, stream_2>>>(buffer.as_device_ptr())).unwrap() };
    stream_2.synchronize().unwrap();
    assert_eq!(buffer.as_host_vec().unwrap(), [1, 0, 0, 0]);

    let unaligned = buffer.as_device_ptr().cast::<u8>().wrapping_add(2);
    // SAFETY: as above.
    unsafe { launch!(module.store<<<1, 1, 0, stream_2>>>(unaligned)).unwrap() };
    let error = context.synchronize().unwrap_err();
    assert_eq!(error.code(), Some(CudaError::MisalignedAddress), "{error}");

    // SAFETY: as above.
    unsafe { Context::reset(&device).unwrap() };
    let _context = Context::new(device).unwrap();
    let module = Module::from_ptx(FAULTS, &[]).unwrap();
    let stream_3 = stream();
    // SAFETY: as above.
    unsafe { launch!(module.stop<<<1, 1, 0, stream_3>>>()).unwrap() };
    let error = stream_3.synchronize().unwrap_err();
    assert_eq!(error.code(), Some(CudaError::LaunchFailed), "{error}");

    // SAFETY: as above.
    unsafe { Context::reset(&device).unwrap() };
    nothing_waits_for_a_lost_context();
}

/// Every call returns the fault's error, and drops do not block, whatever was pending.
fn nothing_waits_for_a_lost_context() {
    use std::future::Future;
    let (sender, done) = std::sync::mpsc::channel();
    let test = std::thread::spawn(move || {
        set_schedule(Schedule::Deferred);
        let context = init();
        let module = Module::from_ptx(FAULTS, &[]).unwrap();
        let kernels = Module::from_ptx(KERNELS, &[]).unwrap();
        let (faulty, other) = (stream(), stream());
        let mut locked = LockedBuffer::from_slice(&[1u32; 64]).unwrap();
        let mut unified = UnifiedBuffer::new(&2u32, 64).unwrap();
        let mut buffer = DeviceBuffer::<u32>::zeroed(64).unwrap();
        let mut graph = cust::graph::GraphBuilder::new().unwrap();
        graph.call(&[], || ()).unwrap();
        let mut graph = graph.instantiate().unwrap();
        let event = Event::new(EventFlags::DEFAULT).unwrap();
        // The fault comes when all is asked for: callbacks are served as soon as they are.
        let (go, may_go) = std::sync::mpsc::channel::<()>();
        let wait = move || may_go.recv().unwrap_or_default();
        faulty.add_callback(wait).unwrap();
        // SAFETY: the kernel faults on purpose.
        unsafe { launch!(module.store<<<1, 1, 0, faulty>>>(16u64)).unwrap() };
        faulty.upload(&locked, &mut buffer).unwrap();
        event.record(&faulty).unwrap();
        other
            .wait_event(&event, StreamWaitEventFlags::DEFAULT)
            .unwrap();
        other.download(&buffer, &mut locked).unwrap();
        graph.launch(&other).unwrap();
        let (called, told) = std::sync::mpsc::channel();
        other
            .add_callback(move || called.send(()).unwrap())
            .unwrap();
        let mut future = Box::pin(other.completion().unwrap());
        drop(go);
        let first = faulty.synchronize().unwrap_err().code();
        assert_eq!(first, Some(CudaError::IllegalAddress));
        // The callback is dropped without being called, and the receiver that waits for it is
        // notified.
        assert!(told.recv().is_err());
        let waker = std::task::Waker::noop();
        let mut task = std::task::Context::from_waker(waker);
        let result = loop {
            if let std::task::Poll::Ready(result) = future.as_mut().poll(&mut task) {
                break result;
            }
            std::thread::yield_now();
        };
        let sticky = [
            result,
            other.synchronize(),
            other.query().map(drop),
            event.synchronize(),
            event.query().map(drop),
            event.record(&other),
            graph.launch(&other),
            other.add_callback(|| ()),
            other.completion().map(drop),
            context.synchronize(),
            context.set_resource_limit(ResourceLimit::StackSize, 2048),
            DeviceBuffer::<u8>::zeroed(1).map(drop),
            LockedBuffer::<u8>::zeroed(1).map(drop),
            Stream::new(StreamFlags::NON_BLOCKING, None).map(drop),
            kernels.get_function("count").map(drop),
            buffer.copy_from(&[1; 64]),
        ];
        for (number, result) in sticky.into_iter().enumerate() {
            assert_eq!(result.unwrap_err().code(), first, "call {number}");
        }
        // Host memory stays accessible.
        locked[0] = unified[0];
        unified[1] = locked[0];
        std::thread::spawn(move || drop((buffer, graph, other, kernels)))
            .join()
            .unwrap();
        drop((locked, unified, event, module, faulty, future));
        assert_eq!(context.synchronize().unwrap_err().code(), first);
        sender.send(()).unwrap();
    });
    let minute = std::time::Duration::from_secs(60);
    if done.recv_timeout(minute) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        panic!("something waits for ever");
    }
    test.join().unwrap();
}
