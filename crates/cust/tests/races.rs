//! Safe code that omits waits, reorders, drops and leaks on purpose: its results are always the
//! same. Runs on the emulator's deferred schedule, which executes work only when it is waited for.

mod common;
#[path = "common/typed.rs"]
mod kernels;

use std::sync::Arc;

use common::{backend, stream};
use cust::prelude::*;
use kernels::*;
use ptx_emulator::driver::{Schedule, set_schedule};

fn init() -> Context {
    set_schedule(Schedule::Deferred);
    cust::quick_init_on(backend()).expect("the device can be used")
}

const LEN: usize = 4096;

fn config() -> LaunchConfig {
    LaunchConfig::for_elements(LEN, 256)
}

#[test]
fn the_late_schedule_is_late() {
    let _context = init();
    if backend() == Backend::Gpu {
        test_outcome::skip("a GPU has one schedule");
        return;
    }
    let module = KERNELS.load().unwrap();
    let (first, second) = (stream(), stream());
    let counter = DeviceBox::new(&1u32).unwrap();
    // SAFETY: a data race on purpose, on one number that is not freed or moved.
    unsafe {
        launch!(module.poke<<<1, 1, 0, first>>>(counter.as_device_ptr(), 5u32)).unwrap();
    }
    assert!(!first.query().unwrap());
    let stale = counter.as_host_value().unwrap();
    second.synchronize().unwrap();
    assert!(stale == 1 || stale == 5);
    first.synchronize().unwrap();
    assert_eq!(counter.as_host_value().unwrap(), 5);
    // SAFETY: as above.
    unsafe {
        launch!(module.poke<<<1, 1, 0, first>>>(counter.as_device_ptr(), 6u32)).unwrap();
    }
    // Without the tracking that typed launches have, the copy does not wait.
    assert_eq!(counter.as_host_value().unwrap(), 5);
    first.synchronize().unwrap();
}

#[test]
fn a_stream_waits_for_what_another_wrote() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let streams = [stream(), stream(), stream()];
    let one = DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap();
    let mut sum = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    let mut other = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    for i in 0..30 {
        let stream = &streams[i % 3];
        let args = add::args(&one, &sum, &mut other);
        module.launch(stream, config(), args).unwrap();
        std::mem::swap(&mut sum, &mut other);
    }
    assert_eq!(sum.as_host_vec().unwrap(), [30.0; LEN]);
}

#[test]
fn a_writer_waits_for_readers() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let (reader, writer) = (stream(), stream());
    let zero = DeviceBuffer::from_slice(&[0.0f32; LEN]).unwrap();
    let two = DeviceBuffer::from_slice(&[2.0f32; LEN]).unwrap();
    let mut source = DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap();
    let mut copy = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    let args = add::args(&source, &zero, &mut copy);
    module.launch(&reader, config(), args).unwrap();
    let args = add::args(&two, &zero, &mut source);
    module.launch(&writer, config(), args).unwrap();
    writer.synchronize().unwrap();
    assert_eq!(copy.as_host_vec().unwrap(), [1.0; LEN]);
    assert_eq!(source.as_host_vec().unwrap(), [2.0; LEN]);
}

#[test]
fn copies_from_and_to_the_host_wait() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let zero = DeviceBuffer::from_slice(&[0.0f32; LEN]).unwrap();
    let mut source = DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap();
    let mut result = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    let args = add::args(&source, &zero, &mut result);
    module.launch(&stream, config(), args).unwrap();
    // Overwritten while the kernel may not have read the buffer yet.
    source.copy_from(&[9.0f32; LEN]).unwrap();
    assert_eq!(result.as_host_vec().unwrap(), [1.0; LEN]);
    let args = add::args(&source, &zero, &mut result);
    module.launch(&stream, config(), args).unwrap();
    result.set_zero().unwrap();
    assert_eq!(result.as_host_vec().unwrap(), [0.0; LEN]);
}

#[test]
fn memory_is_freed_after_the_work_that_uses_it() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let (a, b) = (stream(), stream());
    let mut result = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    {
        let first = DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap();
        let mut middle = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
        let args = add::args(&first, &first, &mut middle);
        module.launch(&a, config(), args).unwrap();
        let args = add::args(&middle, &first, &mut result);
        module.launch(&b, config(), args).unwrap();
        // Both inputs are dropped here, while work in two streams uses them.
    }
    // New buffers that reuse the memory must not change the kernels' inputs.
    let others: Vec<_> = (0..8)
        .map(|_| DeviceBuffer::from_slice(&[77.0f32; LEN]).unwrap())
        .collect();
    assert_eq!(result.as_host_vec().unwrap(), [3.0; LEN]);
    drop(others);
}

#[test]
fn streams_modules_and_pinned_memory_may_go_first() {
    let _context = init();
    let mut result = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    {
        let module = KERNELS.load().unwrap();
        let stream = stream();
        let pinned = LockedBuffer::from_slice(&[4.0f32; LEN]).unwrap();
        let mut input = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
        stream.upload(&pinned, &mut input).unwrap();
        let args = add::args(&input, &input, &mut result);
        module.launch(&stream, config(), args).unwrap();
    }
    assert_eq!(result.as_host_vec().unwrap(), [8.0; LEN]);
}

#[test]
fn pinned_memory_is_accessed_after_the_copies() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let (up, down) = (stream(), stream());
    let mut pinned = LockedBuffer::from_slice(&[1.0f32; LEN]).unwrap();
    let mut back = LockedBuffer::<f32>::zeroed(LEN).unwrap();
    let mut device = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    let mut doubled = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    for round in 0..5 {
        let value = round as f32;
        // Waits for the upload of the previous round.
        pinned.fill(value);
        up.upload(&pinned, &mut device).unwrap();
        module
            .launch(&up, config(), add::args(&device, &device, &mut doubled))
            .unwrap();
        down.download(&doubled, &mut back).unwrap();
        assert!(back.iter().all(|&x| x == 2.0 * value));
    }
}

#[test]
fn unified_memory_is_accessed_after_the_kernels() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let mut from = UnifiedBuffer::new(&1.0f32, LEN).unwrap();
    let mut to = UnifiedBuffer::new(&0.0f32, LEN).unwrap();
    for round in 1..4 {
        let args = add::args(&from, &from, &mut to);
        module.launch(&stream, config(), args).unwrap();
        // Must not be visible to the kernel.
        from.fill(round as f32 * 10.0);
        let expected = if round == 1 {
            2.0
        } else {
            (round - 1) as f32 * 20.0
        };
        assert!(to.iter().all(|&x| x == expected), "round {round}");
    }
}

#[test]
fn leaked_values_leave_nothing_dangling() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let leaked = stream();
    let one = DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap();
    let mut result = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    std::mem::forget(add::args(&one, &one, &mut result));
    let args = add::args(&one, &one, &mut result);
    module.launch(&leaked, config(), args).unwrap();
    let event = Event::new(EventFlags::DISABLE_TIMING).unwrap();
    event.record(&leaked).unwrap();
    std::mem::forget(event);
    std::mem::forget(leaked);
    std::mem::forget(one);
    assert_eq!(result.as_host_vec().unwrap(), [2.0; LEN]);
}

#[test]
fn parts_of_a_buffer_are_written_in_several_streams() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let streams: Vec<Stream> = (0..4).map(|_| stream()).collect();
    let one = DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap();
    let mut all = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    for chunk in 0..64 {
        let range = chunk * 64..(chunk + 1) * 64;
        let mut whole = all.as_mut_slice();
        let part = whole.index_mut(range).unwrap();
        let args = add::args(&one, &one, part);
        let stream = &streams[chunk % 4];
        module.launch(stream, (1, 64), args).unwrap();
    }
    let mut sum = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    let args = add::args(&all, &one, &mut sum);
    module.launch(&streams[0], config(), args).unwrap();
    assert_eq!(sum.as_host_vec().unwrap(), [3.0; LEN]);
}

#[test]
fn events_order_streams_without_further_waits() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let (a, b) = (stream(), stream());
    let one = DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap();
    let mut middle = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    let mut result = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    module
        .launch(&a, config(), add::args(&one, &one, &mut middle))
        .unwrap();
    let event = Event::new(EventFlags::DISABLE_TIMING).unwrap();
    event.record(&a).unwrap();
    // Recorded again before it is waited for: the last record counts.
    event.record(&a).unwrap();
    b.wait_event(&event, StreamWaitEventFlags::DEFAULT).unwrap();
    module
        .launch(&b, config(), add::args(&middle, &one, &mut result))
        .unwrap();
    event.synchronize().unwrap();
    assert_eq!(middle.as_host_vec().unwrap(), [2.0; LEN]);
    b.synchronize().unwrap();
    assert_eq!(result.as_host_vec().unwrap(), [3.0; LEN]);
}

#[test]
fn many_threads_share_buffers_and_streams() {
    let _context = init();
    let module = Arc::new(KERNELS.load().unwrap());
    let shared = Arc::new(DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap());
    let streams: Arc<Vec<Stream>> = Arc::new((0..3).map(|_| stream()).collect());
    let threads: Vec<_> = (0..6)
        .map(|number| {
            let (module, shared, streams) = (
                Arc::clone(&module),
                Arc::clone(&shared),
                Arc::clone(&streams),
            );
            std::thread::spawn(move || {
                let mut out = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
                let mut other = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
                for i in 0..10 {
                    let stream = &streams[(number + i) % 3];
                    let args = add::args(&*shared, &out, &mut other);
                    module.launch(stream, config(), args).unwrap();
                    std::mem::swap(&mut out, &mut other);
                }
                assert_eq!(out.as_host_vec().unwrap(), [10.0; LEN]);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    drop(shared);
}

#[test]
fn a_writer_waits_for_the_readers_after_a_complete_write() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let one = DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap();
    let mut source = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    let streams: Vec<Stream> = (0..4).map(|_| stream()).collect();
    let mut copies: Vec<_> = (0..3)
        .map(|_| DeviceBuffer::<f32>::zeroed(LEN).unwrap())
        .collect();
    for i in 0..8 {
        let writer = &streams[i % 4];
        let args = add::args(&one, &one, &mut source);
        module.launch(writer, config(), args).unwrap();
        // The write is complete, or pending: then the readers wait for it.
        if i % 2 == 0 {
            writer.synchronize().unwrap();
        }
        // Several readers in streams of their own, the first of which forgets the write.
        for (copy, k) in copies.iter_mut().zip(1..) {
            let reader = &streams[(i + k) % 4];
            let args = add::args(&source, &one, copy);
            module.launch(reader, config(), args).unwrap();
        }
        let next = &streams[(i + 1) % 4];
        let args = add::args(&one, &copies[0], &mut source);
        module.launch(next, config(), args).unwrap();
        next.synchronize().unwrap();
        for copy in &copies {
            assert_eq!(copy.as_host_vec().unwrap(), [3.0; LEN]);
        }
        assert_eq!(source.as_host_vec().unwrap(), [4.0; LEN]);
    }
}

#[test]
fn repeated_uses_of_several_threads_are_all_waited_for() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let (common, writer) = (stream(), stream());
    let one = DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap();
    for round in 0..10 {
        let mut source = DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap();
        let sums: Vec<DeviceBuffer<f32>> = std::thread::scope(|scope| {
            let thread = |number: usize| {
                let (module, common, one, source) = (&module, &common, &one, &source);
                move || {
                    let own = stream();
                    let mut sum = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
                    // The first launch in a stream records its uses; the next ones repeat them.
                    for i in 0..6 {
                        let stream = if number == 0 || i % 3 == 2 {
                            common
                        } else {
                            &own
                        };
                        let args = add::args(one, source, &mut sum);
                        module.launch(stream, config(), args).unwrap();
                        if number == 3 {
                            // Waiting removes complete uses, also those that are being repeated.
                            common.synchronize().unwrap();
                            assert_eq!(source.index(..4).unwrap().as_host_vec().unwrap(), [1.0; 4]);
                        }
                    }
                    sum
                }
            };
            let threads: Vec<_> = (0..4).map(|i| scope.spawn(thread(i))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        // Overwrites the source, or frees it and its addresses are used again.
        if round % 2 == 0 {
            let args = add::args(&one, &one, &mut source);
            module.launch(&writer, config(), args).unwrap();
            writer.synchronize().unwrap();
        } else {
            drop(source);
            let again = DeviceBuffer::from_slice(&[5.0f32; LEN]).unwrap();
            assert_eq!(again.as_host_vec().unwrap(), [5.0; LEN]);
        }
        for sum in &sums {
            assert_eq!(sum.as_host_vec().unwrap(), [2.0; LEN]);
        }
    }
}

#[test]
fn variables_of_a_module_are_read_after_its_kernels() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let streams = [stream(), stream()];
    for i in 0..10 {
        module
            .launch(&streams[i % 2], (1, 1), tick::args())
            .unwrap();
    }
    let mut ticks = 0;
    // SAFETY: the variable has this type, or the call returns an error.
    let symbol = unsafe { module.get_global::<u32>("TICKS").unwrap() };
    symbol.copy_to(&mut ticks).unwrap();
    assert_eq!(ticks, 15);
}

#[test]
fn callbacks_come_after_the_work() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let (sender, receiver) = std::sync::mpsc::channel();
    module.launch(&stream, (1, 1), tick::args()).unwrap();
    stream
        .add_callback(move || sender.send(7).unwrap())
        .unwrap();
    assert_eq!(receiver.recv().unwrap(), 7);
    let mut ticks = 0;
    // SAFETY: the variable has this type, or the call returns an error.
    let symbol = unsafe { module.get_global::<u32>("TICKS").unwrap() };
    symbol.copy_to(&mut ticks).unwrap();
    assert_eq!(ticks, 6);
}
