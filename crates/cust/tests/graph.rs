//! Graphs: built with dependencies that follow from the buffers that nodes use, and captured.

mod common;
#[path = "common/typed.rs"]
mod kernels;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::{backend, stream};
use cust::context::CurrentContext;
use cust::error::Error;
use cust::graph::CaptureMode;
use cust::prelude::*;
use kernels::*;
use ptx_emulator::driver::{Schedule, set_schedule};
use test_outcome::Failure;

fn init() -> Context {
    set_schedule(Schedule::Deferred);
    cust::quick_init_on(backend()).expect("the device can be used")
}

const LEN: usize = 1000;

#[test]
fn nodes_come_after_what_they_depend_on() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let kernel = module.kernel::<add>().unwrap();
    let stream = stream();
    let config = LaunchConfig::for_elements(LEN, 128);

    let mut graph = GraphBuilder::new().unwrap();
    let input = graph.buffer(LockedBuffer::from_slice(&[1.0f32; LEN]).unwrap());
    let a = graph.buffer(DeviceBuffer::<f32>::zeroed(LEN).unwrap());
    let b = graph.buffer(DeviceBuffer::<f32>::zeroed(LEN).unwrap());
    let output = graph.buffer(LockedBuffer::<f32>::zeroed(LEN).unwrap());
    graph.copy(input, a).unwrap();
    graph
        .launch(&kernel, config, add::args(a.read(), a.read(), b.write()))
        .unwrap();
    graph
        .launch(&kernel, config, add::args(a.read(), b.read(), a.write()))
        .failure();
    let last = graph
        .launch(&kernel, config, add::args(b.read(), b.read(), a.write()))
        .unwrap();
    graph.copy(a, output).unwrap();
    graph.set_zero(b).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    graph
        .call(&[last], move || {
            counter.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();

    let mut graph = graph.instantiate().unwrap();
    graph.upload(&stream).unwrap();
    for round in 1..4 {
        graph.get_mut(input).fill(round as f32);
        graph.launch(&stream).unwrap();
        let expected = 4.0 * round as f32;
        assert!(graph.get(output).iter().all(|&x| x == expected));
        assert_eq!(graph.get(b).as_host_vec().unwrap(), [0.0; LEN]);
    }
    stream.synchronize().unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 3);

    graph.set_enabled(last, false).unwrap();
    assert!(!graph.is_enabled(last).unwrap());
    graph.get_mut(input).fill(9.0);
    graph.launch(&stream).unwrap();
    assert!(graph.get(output).iter().all(|&x| x == 9.0));
    drop(graph);
    assert_eq!(Arc::strong_count(&calls), 1);
}

#[test]
fn launches_are_changed_as_long_as_they_use_the_same() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let kernel = module.kernel::<affine>().unwrap();
    let stream = stream();
    let offset = |value| Offset { unused: 0, value };
    let mut graph = GraphBuilder::new().unwrap();
    let from = graph.buffer(DeviceBuffer::from_slice(&[1.0f32, 2.0]).unwrap());
    let to = graph.buffer(DeviceBuffer::<f32>::zeroed(2).unwrap());
    let args = affine::args(2.0, offset(0.5), from.read(), to.write());
    let node = graph.launch(&kernel, (1, 2), args).unwrap();
    let copy = graph.copy(from, to).unwrap();
    let mut graph = graph.instantiate().unwrap();
    graph.set_enabled(copy, false).unwrap();
    graph.launch(&stream).unwrap();
    assert_eq!(graph.get(to).as_host_vec().unwrap(), [2.5, 4.5]);

    let args = affine::args(-1.0, offset(0.0), from.read(), to.write());
    graph.set_launch(node, &kernel, (1, 1), args).unwrap();
    graph.launch(&stream).unwrap();
    assert_eq!(graph.get(to).as_host_vec().unwrap(), [-1.0, 4.5]);

    let args = affine::args(-1.0, offset(0.0), to.read(), from.write());
    let error = graph.set_launch(node, &kernel, (1, 1), args).failure();
    assert_eq!(error, Error::GraphUses);
    let args = affine::args(-1.0, offset(0.0), from.read(), to.write());
    let error = graph.set_launch(copy, &kernel, (1, 1), args).failure();
    assert_eq!(error, Error::GraphNodeKind);
    let args = affine::args(-1.0, offset(0.0), from.read(), to.write());
    let error = graph.set_launch(node, &kernel, (1, 9999), args).failure();
    assert!(matches!(error, Error::LaunchSize(_)), "{error}");
}

#[test]
fn buffers_of_other_graphs_and_outside_of_graphs_are_refused() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let kernel = module.kernel::<add>().unwrap();
    let mut one = GraphBuilder::new().unwrap();
    let mut other = GraphBuilder::new().unwrap();
    let a = one.buffer(DeviceBuffer::<f32>::zeroed(4).unwrap());
    let b = other.buffer(DeviceBuffer::<f32>::zeroed(4).unwrap());
    let error = one.copy(a, b).failure();
    assert!(matches!(error, Error::BufferOfGraph { .. }), "{error}");
    let args = add::args(a.read(), a.read(), b.write());
    let error = one.launch(&kernel, (1, 4), args).failure();
    assert!(matches!(error, Error::BufferOfGraph { .. }), "{error}");
    let args = add::args(a.read(), a.read(), a.write());
    let error = one.launch(&kernel, (1, 4), args).failure();
    assert_eq!(error, Error::AliasedBuffer);
    let args = add::args(a.read(), a.read(), a.write());
    let error = kernel.launch(&stream(), (1, 4), args).failure();
    assert!(matches!(error, Error::BufferOfGraph { .. }), "{error}");
    let c = one.buffer(DeviceBuffer::<f32>::zeroed(5).unwrap());
    let error = one.copy(a, c).failure();
    assert!(matches!(error, Error::SizeMismatch { .. }), "{error}");
    let first = one.set_zero(a).unwrap();
    let second = one.set_zero(c).unwrap();
    one.order(second, &[first]).unwrap();
    one.order(second, &[first]).unwrap();
    assert_eq!(one.order(first, &[second]), Err(Error::GraphOrder));
    one.instantiate().unwrap();
}

#[test]
fn a_graph_waits_for_what_uses_its_buffers_and_is_waited_for() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let kernel = module.kernel::<add>().unwrap();
    let (first, second) = (stream(), stream());
    let config = LaunchConfig::for_elements(LEN, 128);
    let one: &'static DeviceBuffer<f32> =
        Box::leak(Box::new(DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap()));
    let mut start = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    module
        .launch(&first, config, add::args(one, one, &mut start))
        .unwrap();

    let mut graph = GraphBuilder::new().unwrap();
    let sum = graph.buffer(start);
    let next = graph.buffer(DeviceBuffer::<f32>::zeroed(LEN).unwrap());
    graph
        .launch(&kernel, config, add::args(one, sum.read(), next.write()))
        .unwrap();
    graph.copy(next, sum).unwrap();
    let mut graph = graph.instantiate().unwrap();
    for i in 0..10 {
        graph.launch([&first, &second][i % 2]).unwrap();
    }
    let mut result = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    module
        .launch(&first, config, add::args(graph.get(sum), one, &mut result))
        .unwrap();
    drop(graph);
    assert_eq!(result.as_host_vec().unwrap(), [13.0; LEN]);
}

#[test]
fn what_is_put_into_streams_is_captured() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let (main, side) = (stream(), stream());
    let number = DeviceBox::new(&0u32).unwrap();
    let mut bytes = DeviceBuffer::from_slice(&[1u8; 8]).unwrap();
    let (fork, join) = (
        Event::new(EventFlags::DISABLE_TIMING).unwrap(),
        Event::new(EventFlags::DISABLE_TIMING).unwrap(),
    );
    let factor = DeviceBox::new(&1.0f32).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(1).unwrap();
    // SAFETY: both buffers live to the end, and only the graph uses them while it runs.
    let graph = unsafe {
        main.capture(CaptureMode::ThreadLocal, |main| {
            fork.record(main)?;
            side.wait_event(&fork, StreamWaitEventFlags::DEFAULT)?;
            launch!(module.poke<<<1, 1, 0, main>>>(number.as_device_ptr(), 7u32))?;
            bytes.as_mut_slice().set_8_async(5, &side)?;
            join.record(&side)?;
            main.wait_event(&join, StreamWaitEventFlags::DEFAULT)?;
            assert!(main.is_capturing()?);
            let args = scale_first::args(&factor, &mut out);
            let error = module.launch(main, (1, 1), args).failure();
            assert!(matches!(error, Error::Capturing { .. }), "{error}");
            Ok(())
        })
    };
    let graph = graph.unwrap();
    assert!(!main.is_capturing().unwrap());
    assert_eq!(graph.node_count().unwrap(), 2);
    assert_eq!(number.as_host_value().unwrap(), 0);
    let mut exec = graph.instantiate().unwrap();
    // SAFETY: as above.
    unsafe { exec.launch(&main).unwrap() };
    main.synchronize().unwrap();
    assert_eq!(number.as_host_value().unwrap(), 7);
    assert_eq!(bytes.as_host_vec().unwrap(), [5; 8]);

    // SAFETY: as above.
    let other = unsafe {
        main.capture(
            CaptureMode::Relaxed,
            |main| launch!(module.poke<<<1, 1, 0, main>>>(number.as_device_ptr(), 8u32)),
        )
    };
    let error = exec.update(&other.unwrap()).failure();
    let code = CudaError::GraphExecUpdateFailure;
    assert_eq!(error.code(), Some(code), "{error}");

    // SAFETY: nothing is recorded.
    let failed = unsafe { main.capture(CaptureMode::Global, |_| Err(Error::AliasedBuffer)) };
    assert_eq!(failed.failure(), Error::AliasedBuffer);
    assert!(!main.is_capturing().unwrap());
}

#[test]
fn captures_do_not_disturb_other_threads() {
    let context = init();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            CurrentContext::set_current(&context).unwrap();
            let stream = stream();
            while !done.load(Ordering::Relaxed) {
                // SAFETY: nothing is recorded.
                let captured = unsafe { stream.capture(CaptureMode::Global, |_| Ok(())) };
                assert_eq!(captured.unwrap().node_count().unwrap(), 0);
            }
        });
        /// Ends the other thread, also after a panic.
        struct Done<'a>(&'a AtomicBool);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _done = Done(&done);
        let stream = stream();
        for round in 0..100u8 {
            let mut bytes = DeviceBuffer::from_slice(&[0u8; 64]).unwrap();
            // SAFETY: the stream is synchronized before the buffer is used again.
            unsafe { bytes.as_mut_slice().set_8_async(round, &stream).unwrap() };
            stream.synchronize().unwrap();
            assert_eq!(bytes.as_host_vec().unwrap(), [round; 64]);
        }
    });
}
