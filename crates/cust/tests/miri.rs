//! Tests for Miri: the host side of buffers, streams, graphs and tensors, on the emulator's driver
//! but without kernels, which would take too long. Miri detects undefined behavior, data races and
//! leaks.
//!
//! ```sh
//! MIRIFLAGS="-Zmiri-tree-borrows -Zmiri-permissive-provenance -Zmiri-disable-isolation" \
//!     cargo miri test -p cust --lib --test miri
//! ```
//!
//! Device addresses are integers, which the emulator converts to pointers: hence the permissive
//! provenance. The tests also run without Miri.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{init, stream};
use cust::dlpack::Tensor;
use cust::prelude::*;
use ptx_emulator::driver::{Schedule, set_schedule};

/// A type with padding between its fields, which must be copied as uninitialized bytes.
#[derive(Debug, Clone, Copy, PartialEq, DeviceCopy)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u64,
}

fn late() -> Context {
    set_schedule(Schedule::Deferred);
    init()
}

#[test]
fn values_with_padding_are_copied() {
    let _context = late();
    let values = [
        Padded { small: 1, large: 2 },
        Padded {
            small: 3,
            large: u64::MAX,
        },
    ];
    let buffer = DeviceBuffer::from_slice(&values).unwrap();
    assert_eq!(buffer.as_host_vec().unwrap(), values);
    let value = DeviceBox::new(&values[1]).unwrap();
    assert_eq!(value.as_host_value().unwrap(), values[1]);
    let empty = DeviceBuffer::<Padded>::from_slice(&[]).unwrap();
    assert_eq!(empty.as_host_vec().unwrap(), []);
    let options = DeviceBuffer::from_slice(&[Some(1.5f32), None]).unwrap();
    assert_eq!(options.as_host_vec().unwrap(), [Some(1.5), None]);
}

#[test]
fn buffers_know_the_streams_that_use_them() {
    let _context = late();
    let (first, second) = (stream(), stream());
    let mut pinned = LockedBuffer::from_slice(&[1u32, 2, 3]).unwrap();
    let mut a = DeviceBuffer::<u32>::zeroed(3).unwrap();
    let mut b = DeviceBuffer::<u32>::zeroed(3).unwrap();
    for round in 0..4 {
        // Waits for the copy of the previous round.
        pinned[0] = round;
        first.upload(&pinned, &mut a).unwrap();
        second.copy(&a, &mut b).unwrap();
        assert_eq!(b.as_host_vec().unwrap(), [round, 2, 3]);
    }
    // The buffers are freed while work that uses them is pending, in several orders.
    first.upload(&pinned, &mut a).unwrap();
    drop(first);
    drop(pinned);
    drop(a);
    second.synchronize().unwrap();
}

#[test]
fn threads_share_buffers_and_streams() {
    let context = late();
    let shared = Arc::new(DeviceBuffer::from_slice(&[7u32; 4]).unwrap());
    let stream = Arc::new(stream());
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (context, shared) = (context.clone(), Arc::clone(&shared));
            let stream = Arc::clone(&stream);
            std::thread::spawn(move || {
                CurrentContext::set_current(&context).unwrap();
                let mut own = DeviceBuffer::<u32>::zeroed(4).unwrap();
                stream.copy(&*shared, &mut own).unwrap();
                assert_eq!(own.as_host_vec().unwrap(), [7; 4]);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(Arc::strong_count(&shared), 1);
}

#[test]
fn callbacks_are_called_once_and_dropped() {
    let _context = late();
    let calls = Arc::new(AtomicUsize::new(0));
    let stream = stream();
    for _ in 0..3 {
        let calls = Arc::clone(&calls);
        stream
            .add_callback(move || {
                calls.fetch_add(1, Ordering::SeqCst);
            })
            .unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    let mut graph = GraphBuilder::new().unwrap();
    let counter = Arc::clone(&calls);
    graph
        .call(&[], move || {
            counter.fetch_add(10, Ordering::SeqCst);
        })
        .unwrap();
    let mut graph = graph.instantiate().unwrap();
    graph.launch(&stream).unwrap();
    graph.launch(&stream).unwrap();
    drop(graph);
    stream.synchronize().unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 23);
    drop(stream);
    assert_eq!(Arc::strong_count(&calls), 1);
}

#[test]
fn tensors_go_out_and_come_back() {
    let _context = late();
    let buffer = DeviceBuffer::from_slice(&[1i16, 2, 3, 4, 5, 6]).unwrap();
    let raw = Tensor::new(buffer, &[3, 2]).unwrap().into_raw();
    // SAFETY: the tensor has no other owner.
    let tensor = unsafe { Tensor::<i16>::from_raw(raw).unwrap() };
    assert_eq!(tensor.shape(), [3, 2]);
    assert_eq!(tensor.to_vec().unwrap(), [1, 2, 3, 4, 5, 6]);
    let again = tensor.into_raw();
    // SAFETY: as above; for another type, the call fails and the caller keeps ownership.
    unsafe {
        assert!(Tensor::<f32>::from_raw(again).is_err());
        drop(Tensor::<i16>::from_raw(again).unwrap());
    }
}

#[test]
fn bodies_of_conditions_and_children_are_kept_and_freed() {
    let _context = late();
    let stream = stream();
    let mut inner = GraphBuilder::new().unwrap();
    let a = inner.buffer(LockedBuffer::from_slice(&[1u8, 2]).unwrap());
    let b = inner.buffer(LockedBuffer::<u8>::zeroed(2).unwrap());
    inner.copy(a, b).unwrap();
    let mut graph = GraphBuilder::new().unwrap();
    let scratch = graph.scratch::<u8>(2).unwrap();
    graph.child(inner, &[]).unwrap();
    let condition = graph.condition(1).unwrap();
    graph
        .if_nonzero(condition, |body| body.copy(scratch, a).map(drop))
        .unwrap();
    let mut graph = graph.instantiate().unwrap();
    graph.launch(&stream).unwrap();
    assert_eq!(graph.get(b)[..], [1, 2]);
    assert_eq!(graph.get(a)[..], [0, 0]);
}
