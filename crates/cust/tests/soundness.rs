//! Attacks on the host API in safe code: exchanged graphs, leaks, reentrancy, and drops in unusual
//! orders. Each must be harmless or return an error. Runs on the emulator's deferred schedule,
//! which executes work only when it is waited for.

mod common;
#[path = "common/typed.rs"]
mod kernels;

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use common::{backend, stream};
use cuda_std::prelude::{PerThread, kernel};
use cuda_std::texture::{Surface, Texture};
use cust::device::DeviceAttribute;
use cust::error::Error;
use cust::graph::{GraphBuilder, GraphUpdateFailure};
use cust::memory::{Array, ArrayFlags, MemoryPool, PitchedBuffer};
use cust::prelude::*;
use cust::texture::TextureConfig;
use kernels::*;
use ptx_emulator::driver::{Schedule, set_schedule};

/// Locks the device for one test at a time. A callback that waits for its test blocks the driver's
/// callback thread. If a call of another test then waits for all streams, such as one that frees
/// memory, the tests deadlock on a GPU.
struct Turn {
    context: Context,
    _turn: MutexGuard<'static, ()>,
}

impl std::ops::Deref for Turn {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}

fn init() -> Turn {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    set_schedule(Schedule::Deferred);
    Turn {
        context: cust::quick_init_on(backend()).expect("the device can be used"),
        _turn: turn,
    }
}

/// Calls `test` on another thread, and fails if it deadlocks.
fn in_time<R: Send + 'static>(test: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = channel();
    let thread = std::thread::spawn(move || {
        let _ = sender.send(test());
    });
    match receiver.recv_timeout(Duration::from_secs(60)) {
        Ok(result) => result,
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("it does not return"),
        Err(_) => std::panic::resume_unwind(thread.join().expect_err("it sent nothing")),
    }
}

const LEN: usize = 4096;
const PART: usize = 64;

fn config() -> LaunchConfig {
    LaunchConfig::for_elements(LEN, 256)
}

#[test]
fn callbacks_may_wait_for_their_own_stream() {
    in_time(|| {
        let _context = init();
        let stream = Arc::new(stream());
        let mut device = DeviceBuffer::<u32>::zeroed(4).unwrap();
        let module = KERNELS.load().unwrap();
        let mut unified = UnifiedBuffer::new(&1.0f32, LEN).unwrap();
        let one = DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap();
        let args = add::args(&one, &one, &mut unified);
        module.launch(&stream, config(), args).unwrap();
        let mut locked = LockedBuffer::from_slice(&[1u32, 2, 3, 4]).unwrap();
        stream.upload(&locked, &mut device).unwrap();
        let exec = {
            let mut graph = GraphBuilder::new().unwrap();
            let buffer = graph.buffer(DeviceBuffer::<u32>::zeroed(4).unwrap());
            graph.set_zero(buffer).unwrap();
            let mut exec = graph.instantiate().unwrap();
            exec.launch(&stream).unwrap();
            exec
        };
        let event = Event::new(EventFlags::DISABLE_TIMING).unwrap();
        event.record(&stream).unwrap();
        let (sender, receiver) = channel();
        let own = Arc::clone(&stream);
        stream
            .add_callback(move || {
                locked[0] = 5;
                let seen = (locked[0], unified[7]);
                event.synchronize().unwrap();
                // Later work of this stream waits only for this callback, which waits for that
                // work.
                own.upload(&locked, &mut device).unwrap();
                own.synchronize().unwrap();
                let copy = device.as_host_vec().unwrap();
                own.context().synchronize().unwrap();
                drop((locked, unified, device, exec, module, event, own));
                sender.send((seen, copy)).unwrap();
            })
            .unwrap();
        stream.synchronize().unwrap();
        let (seen, copy) = receiver.recv().unwrap();
        assert_eq!(seen, (5, 2.0));
        assert_eq!(copy, [5, 2, 3, 4]);
    });
}

#[test]
fn a_callback_that_leaves_the_device_alone_holds_its_stream_up() {
    in_time(|| {
        let _context = init();
        let stream = stream();
        let (sender, receiver) = channel::<()>();
        let wait = move || receiver.recv().unwrap_or_default();
        stream.add_callback(wait).unwrap();
        for _ in 0..100 {
            assert!(!stream.query().unwrap());
        }
        drop(sender);
        stream.synchronize().unwrap();
    });
}

/// Panics when it is dropped, even as the payload of a panic.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn a_panic_whose_payload_panics_holds_no_stream_up() {
    in_time(|| {
        let _context = init();
        let stream = stream();
        for _ in 0..3 {
            let captured = std::mem::ManuallyDrop::new(Bomb);
            stream
                .add_callback(move || {
                    let _captured = std::mem::ManuallyDrop::into_inner(captured);
                })
                .unwrap();
            let panics = || std::panic::panic_any(Bomb);
            stream.add_callback(panics).unwrap();
            stream.synchronize().unwrap();
        }
        let mut graph = GraphBuilder::new().unwrap();
        graph.call(&[], || std::panic::panic_any(Bomb)).unwrap();
        graph.instantiate().unwrap().launch(&stream).unwrap();
        stream.synchronize().unwrap();
    });
}

#[test]
fn callbacks_wait_for_each_other() {
    in_time(|| {
        let _context = init();
        let (first, second) = (Arc::new(stream()), Arc::new(stream()));
        let (sender, receiver) = channel();
        // More callbacks than idle threads that are kept.
        for _ in 0..20 {
            let (other, sender) = (Arc::clone(&second), sender.clone());
            let inner = move || {
                let nested = Arc::clone(&other);
                let done = sender.clone();
                other.add_callback(move || done.send(()).unwrap()).unwrap();
                nested.synchronize().unwrap();
            };
            first.add_callback(inner).unwrap();
        }
        first.synchronize().unwrap();
        for _ in 0..20 {
            receiver.recv().unwrap();
        }
    });
}

#[test]
fn a_call_of_a_graph_may_wait_and_outlive_its_graph() {
    in_time(|| {
        let _context = init();
        let stream = Arc::new(stream());
        let own = Arc::clone(&stream);
        let (sender, receiver) = channel();
        let alive = Arc::new(());
        let watched = Arc::downgrade(&alive);
        let mut graph = GraphBuilder::new().unwrap();
        let call = move || {
            own.synchronize().unwrap();
            std::thread::sleep(Duration::from_millis(50));
            sender.send(Arc::strong_count(&alive)).unwrap();
        };
        graph.call(&[], call).unwrap();
        let mut graph = graph.instantiate().unwrap();
        graph.launch(&stream).unwrap();
        graph.launch(&stream).unwrap();
        drop(graph);
        for _ in 0..2 {
            assert_eq!(receiver.recv().unwrap(), 1);
        }
        while watched.strong_count() > 0 {
            std::thread::yield_now();
        }
    });
}

#[test]
fn streams_are_dropped_without_waiting_for_their_callbacks() {
    in_time(|| {
        let _context = init();
        let (go, may_go) = channel::<()>();
        let (sender, receiver) = channel();
        let stream = stream();
        stream
            .add_callback(move || {
                let _ = may_go.recv();
                sender.send(3).unwrap();
            })
            .unwrap();
        drop(stream);
        drop(go);
        assert_eq!(receiver.recv().unwrap(), 3);
    });
}

#[test]
fn callbacks_are_not_captured() {
    let _context = init();
    let stream = stream();
    // SAFETY: nothing is recorded.
    let captured = unsafe {
        stream.capture(Default::default(), |stream| {
            stream.add_callback(|| panic!("it would be called by each launch"))
        })
    };
    assert!(matches!(captured, Err(Error::Capturing { .. })));
    stream.synchronize().unwrap();
}

#[test]
fn a_waker_may_drop_what_the_stream_uses() {
    struct Wake(
        Mutex<Option<LockedBuffer<u32>>>,
        std::sync::mpsc::Sender<()>,
    );
    impl std::task::Wake for Wake {
        fn wake(self: Arc<Self>) {
            let buffer = self.0.lock().unwrap().take();
            drop(buffer);
            let _ = self.1.send(());
        }
    }
    in_time(|| {
        let _context = init();
        let stream = stream();
        let mut device = DeviceBuffer::<u32>::zeroed(4).unwrap();
        let locked = LockedBuffer::from_slice(&[1u32; 4]).unwrap();
        stream.upload(&locked, &mut device).unwrap();
        let (go, may_go) = channel::<()>();
        let wait = move || may_go.recv().unwrap_or_default();
        stream.add_callback(wait).unwrap();
        let (sender, receiver) = channel();
        let waker = Arc::new(Wake(Mutex::new(Some(locked)), sender)).into();
        let mut future = std::pin::pin!(stream.completion().unwrap());
        let mut context = std::task::Context::from_waker(&waker);
        assert!(future.as_mut().poll(&mut context).is_pending());
        drop(go);
        receiver.recv().unwrap();
        assert_eq!(device.as_host_vec().unwrap(), [1; 4]);
    });
}

#[test]
fn a_waker_that_is_replaced_may_wait_for_the_stream() {
    struct Waits(Arc<Stream>, Mutex<Option<std::sync::mpsc::Sender<()>>>);
    // The callback must be dropped.
    #[allow(clippy::manual_noop_waker)]
    impl std::task::Wake for Waits {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Waits {
        fn drop(&mut self) {
            drop(self.1.lock().unwrap().take());
            self.0.synchronize().unwrap();
        }
    }
    in_time(|| {
        let _context = init();
        let stream = Arc::new(stream());
        let (go, may_go) = channel::<()>();
        let wait = move || may_go.recv().unwrap_or_default();
        stream.add_callback(wait).unwrap();
        let mut future = std::pin::pin!(stream.completion().unwrap());
        let waits = Waits(Arc::clone(&stream), Mutex::new(Some(go)));
        let mut poll = |waker| {
            let mut context = std::task::Context::from_waker(&waker);
            future.as_mut().poll(&mut context)
        };
        assert!(poll(Arc::new(waits).into()).is_pending());
        // The future now holds the only reference to the first waker, and drops it.
        let _ = poll(std::task::Waker::noop().clone());
        assert!(poll(std::task::Waker::noop().clone()).is_ready());
    });
}

/// A type with a larger alignment than allocations have.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(align(8192))]
struct Page(u8);

// SAFETY: the type is a number.
unsafe impl cust::memory::Zeroable for Page {}

#[test]
fn elements_are_aligned_or_refused() {
    let _context = init();
    fn refused<T>(result: CudaResult<T>) {
        let Err(Error::Alignment { align: 8192, .. }) = result else {
            panic!("allocated");
        };
    }
    let page = Page(1);
    refused(LockedBuffer::new(&page, 3));
    refused(UnifiedBuffer::new(&page, 3));
    refused(cust::memory::UnifiedBox::new(page));
    refused(DeviceBuffer::from_slice(&[page]));
    refused(cust::memory::DeviceBox::new(&page));
    refused(GraphBuilder::new().unwrap().scratch::<Page>(3));
    refused(MemoryPool::new().unwrap().zeroed::<Page>(3));
    let empty = LockedBuffer::<Page>::new(&page, 0).unwrap();
    assert!(empty.is_empty() && empty.as_ptr().is_aligned());
    // These elements stay in the vector's memory.
    let pinned = LockedBuffer::from_vec(vec![page; 3]).unwrap();
    assert!(pinned.as_ptr().is_aligned());
}

#[test]
fn graphs_cannot_be_exchanged_inside_of_a_body() {
    let _context = init();
    let build = || {
        let mut graph = GraphBuilder::new().unwrap();
        let buffer = graph.buffer(DeviceBuffer::<u32>::zeroed(4).unwrap());
        let condition = graph.condition(1).unwrap();
        (graph, buffer, condition)
    };
    // The nodes of one graph would use the buffers of the other.
    let ((mut graph, _, condition), (mut other, buffer, _)) = (build(), build());
    let error = graph.if_nonzero(condition, |body| {
        std::mem::swap(body, &mut other);
        body.set_zero(buffer).map(drop)
    });
    assert_eq!(error.unwrap_err(), Error::GraphExchanged);
    // `other` is now the first graph, still inside the body.
    assert_eq!(other.instantiate().unwrap_err(), Error::GraphExchanged);
    // `graph` is the other graph, whose condition has no node.
    assert_eq!(graph.instantiate().unwrap_err(), Error::UnusedCondition);

    // Moved out of the closure, and used while it is inside the body.
    let (mut graph, _, condition) = build();
    let error = graph.while_nonzero(condition, |body| {
        let whole = std::mem::replace(body, GraphBuilder::new()?);
        assert_eq!(whole.instantiate().unwrap_err(), Error::GraphExchanged);
        Ok(())
    });
    assert_eq!(error.unwrap_err(), Error::GraphExchanged);
    let (mut graph, _, condition) = build();
    let mut parent = GraphBuilder::new().unwrap();
    let error = graph.if_nonzero(condition, |body| {
        let whole = std::mem::replace(body, GraphBuilder::new()?);
        assert_eq!(parent.child(whole, &[]).unwrap_err(), Error::GraphExchanged);
        Ok(())
    });
    assert_eq!(error.unwrap_err(), Error::GraphExchanged);

    // Two graphs, exchanged with each other inside their bodies, and back.
    let ((mut a, _, first), (mut b, _, second)) = (build(), build());
    let mut inner = None;
    let outer = a.if_nonzero(first, |a| {
        inner = Some(b.if_nonzero(second, |b| {
            std::mem::swap(a, b);
            Ok(())
        }));
        std::mem::swap(a, &mut b);
        Ok(())
    });
    assert_eq!(inner.unwrap().unwrap_err(), Error::GraphExchanged);
    // The first graph is in its place again; the body of the second was never completed.
    outer.unwrap();
    a.instantiate().unwrap();
    assert_eq!(b.instantiate().unwrap_err(), Error::GraphExchanged);

    // A panic does not hide the exchange.
    let ((mut graph, _, condition), (mut other, ..)) = (build(), build());
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = graph.if_nonzero(condition, |body| {
            std::mem::swap(body, &mut other);
            panic!("inside of the body")
        });
    }));
    assert!(caught.is_err());
    assert_eq!(other.instantiate().unwrap_err(), Error::GraphExchanged);
}

#[test]
fn a_switch_with_too_many_cases_is_refused() {
    let context = init();
    if context.backend() == Backend::Gpu {
        test_outcome::skip("the limit of a GPU's driver is not known");
        return;
    }
    let mut graph = GraphBuilder::new().unwrap();
    let buffer = graph.buffer(LockedBuffer::<u32>::zeroed(4).unwrap());
    let condition = graph.condition(1).unwrap();
    for cases in [(1 << 16) + 1, u32::MAX] {
        let error = graph.switch(condition, cases, |_, _| panic!("there is no body"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("OUT_OF_MEMORY"), "{error}");
    }
    // The condition is still unused.
    graph
        .switch(condition, 2, |body, _| body.set_zero(buffer).map(drop))
        .unwrap();
    graph.instantiate().unwrap().launch(&stream()).unwrap();
}

#[test]
fn a_changed_launch_has_the_block_size_of_its_kernel() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let mut graph = GraphBuilder::new().unwrap();
    let kernel = module.kernel::<nothing>().unwrap();
    let node = graph.launch(&kernel, (1, 1), nothing::args()).unwrap();
    let mut graph = graph.instantiate().unwrap();
    let sized_kernel = module.kernel::<sized::limited>().unwrap();
    let error = graph.set_launch(node, &sized_kernel, (1, 8), sized::limited::args());
    assert!(matches!(error, Err(Error::LaunchSize(_))), "{error:?}");
    let config = (1, (16, 2));
    let set = graph.set_launch(node, &sized_kernel, config, sized::limited::args());
    set.unwrap();
}

#[test]
fn events_of_several_processes_order_nothing_by_themselves() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let (a, b) = (stream(), stream());
    let one = DeviceBuffer::from_slice(&[1.0f32; LEN]).unwrap();
    let mut middle = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    let mut result = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
    let flags = EventFlags::DISABLE_TIMING | EventFlags::INTERPROCESS;
    let event = Event::new(flags).unwrap();
    let args = add::args(&one, &one, &mut middle);
    module.launch(&a, config(), args).unwrap();
    event.record(&a).unwrap();
    // As another process may do, without the knowledge of this one.
    let driver = a.context().driver().unwrap();
    // SAFETY: both are alive.
    let recorded = unsafe { driver.cuEventRecord(event.as_raw(), b.as_inner()) };
    assert_eq!(recorded, cust::raw::CUresult::CUDA_SUCCESS);
    b.wait_event(&event, StreamWaitEventFlags::DEFAULT).unwrap();
    let args = add::args(&middle, &one, &mut result);
    module.launch(&b, config(), args).unwrap();
    b.synchronize().unwrap();
    assert_eq!(result.as_host_vec().unwrap(), [3.0; LEN]);
}

#[test]
fn a_pool_gets_memory_back_after_all_streams_that_use_it() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let pool = MemoryPool::new().unwrap();
    for own_pool in [false, true] {
        let (quick, slow) = (stream(), stream());
        let mut in_quick = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
        let mut in_slow = DeviceBuffer::<f32>::zeroed(LEN).unwrap();
        {
            let mut shared = match own_pool {
                true => pool.zeroed::<f32>(LEN).unwrap(),
                false => DeviceBuffer::<f32>::zeroed(LEN).unwrap(),
            };
            shared.copy_from(&[1.0f32; LEN]).unwrap();
            let args = add::args(&shared, &shared, &mut in_quick);
            module.launch(&quick, config(), args).unwrap();
            let args = add::args(&shared, &shared, &mut in_slow);
            module.launch(&slow, config(), args).unwrap();
        }
        // Frees the buffer, so that its memory may be reused while the second kernel may be
        // pending.
        quick.synchronize().unwrap();
        let others: Vec<_> = (0..8)
            .map(|_| DeviceBuffer::from_slice(&[77.0f32; LEN]).unwrap())
            .collect();
        slow.synchronize().unwrap();
        assert_eq!(in_slow.as_host_vec().unwrap(), [2.0; LEN]);
        assert_eq!(in_quick.as_host_vec().unwrap(), [2.0; LEN]);
        drop(others);
    }
}

#[test]
fn many_uses_are_merged_without_losing_their_places() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let parts = 100;
    let one = DeviceBuffer::from_slice(&[1.0f32; PART]).unwrap();
    for (part, reversed) in [0, 1, 62, 63, 64, 99]
        .into_iter()
        .flat_map(|part| [(part, false), (part, true)])
    {
        let (writer, reader) = (stream(), stream());
        let mut all = DeviceBuffer::<f32>::zeroed(parts * PART).unwrap();
        for i in 0..parts {
            let at = if reversed { parts - 1 - i } else { i };
            let mut whole = all.as_mut_slice();
            let to = whole.index_mut(at * PART..(at + 1) * PART).unwrap();
            let args = add::args(&one, &one, to);
            module.launch(&writer, (1, 64), args).unwrap();
            if i == 0 {
                // The reader waits for the first write, not for the uses that are merged with it.
                let event = Event::new(EventFlags::DISABLE_TIMING).unwrap();
                event.record(&writer).unwrap();
                let flags = StreamWaitEventFlags::DEFAULT;
                reader.wait_event(&event, flags).unwrap();
            }
        }
        let mut result = DeviceBuffer::<f32>::zeroed(PART).unwrap();
        let from = all.index(part * PART..(part + 1) * PART).unwrap();
        let args = add::args(from, &one, &mut result);
        module.launch(&reader, (1, 64), args).unwrap();
        reader.synchronize().unwrap();
        let mut found = [0.0; PART];
        result.copy_to(&mut found).unwrap();
        assert_eq!(found, [3.0; PART], "part {part}, reversed: {reversed}");
    }
}

#[test]
fn a_write_of_one_part_leaves_the_uses_of_others_known() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let (a, b, c) = (stream(), stream(), stream());
    let one = DeviceBuffer::from_slice(&[1.0f32; PART]).unwrap();
    let mut all = DeviceBuffer::<f32>::zeroed(2 * PART).unwrap();
    let mut result = DeviceBuffer::<f32>::zeroed(PART).unwrap();
    let ones = DeviceBuffer::from_slice(&[1.0f32; 2 * PART]).unwrap();
    let args = add::args(&ones, &ones, &mut all);
    module.launch(&a, (1, 128), args).unwrap();
    // The second stream has waited for the first write, so its tracker may drop the half of it that
    // is overwritten.
    let event = Event::new(EventFlags::DISABLE_TIMING).unwrap();
    event.record(&a).unwrap();
    b.wait_event(&event, StreamWaitEventFlags::DEFAULT).unwrap();
    let mut whole = all.as_mut_slice();
    let args = add::args(&one, &one, whole.index_mut(PART..).unwrap());
    module.launch(&b, (1, 64), args).unwrap();
    let args = add::args(all.index(..PART).unwrap(), &one, &mut result);
    module.launch(&c, (1, 64), args).unwrap();
    c.synchronize().unwrap();
    assert_eq!(result.as_host_vec().unwrap(), [3.0; PART]);
}

#[test]
fn tensors_without_elements_may_have_any_shape() {
    use cust::dlpack::Tensor;
    let _context = init();
    let empty = || DeviceBuffer::<u32>::from_slice(&[]).unwrap();
    for shape in [&[0, 1 << 40, 1 << 40][..], &[0, usize::MAX, 2], &[0]] {
        let tensor = Tensor::new(empty(), shape).unwrap();
        assert!(tensor.is_empty());
        assert_eq!(tensor.to_vec().unwrap(), []);
        // SAFETY: the tensor has no other owner.
        let taken = unsafe { Tensor::<u32>::from_raw(tensor.into_raw()) }.unwrap();
        assert!(taken.is_empty());
    }
    for shape in [&[1 << 40, 1 << 40, 0][..], &[usize::MAX, 2], &[1], &[]] {
        let error = Tensor::new(empty(), shape);
        assert!(
            matches!(error, Err(Error::SizeMismatch { .. })),
            "{shape:?}"
        );
    }
}

#[test]
fn words_are_set_at_their_alignment_alone() {
    let _context = init();
    let mut buffer = DeviceBuffer::from_slice(&[0u8; 12]).unwrap();
    let mut whole = buffer.as_mut_slice();
    for (range, fits) in [
        (0..8, true),
        (1..9, false),
        (2..6, false),
        (4..12, true),
        (0..7, false),
    ] {
        let mut part = whole.index_mut(range.clone()).unwrap();
        // SAFETY: all bit patterns are valid numbers.
        let set = unsafe { part.set_32(0x0101_0101) };
        assert_eq!(set.is_ok(), fits, "{range:?}");
        assert!(fits || matches!(set, Err(Error::SizeMismatch { .. })));
    }
    assert_eq!(buffer.as_host_vec().unwrap(), [1; 12]);
}

#[test]
fn rows_begin_where_textures_may() {
    let context = init();
    let attribute = DeviceAttribute::TextureAlignment;
    let align = context.device().get_attribute(attribute).unwrap() as usize;
    let rows = PitchedBuffer::<u8>::zeroed((3, 2)).unwrap();
    assert_eq!(rows.pitch(), align.max(256));
    let rows = PitchedBuffer::<u8>::zeroed((align.max(256) + 1, 2)).unwrap();
    assert_eq!(rows.pitch(), 2 * align.max(256));
}

#[test]
fn errors_read_the_same_by_debug() {
    let _context = init();
    let reason = GraphUpdateFailure::Topology;
    let error = Error::GraphUpdate { reason };
    assert_eq!(format!("{error:?}"), error.to_string());
    let error = Module::from_ptx("no PTX", &[]).unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[test]
fn machine_code_in_a_string_is_not_ptx() {
    let _context = init();
    // Each has a `.version` further on, as PTX does.
    let ptx = "\n.version 7.0\n.target sm_70\n.address_size 64\n.visible .entry one() { ret; }";
    for magic in [
        "\x7fELF\x02\x01\x01",
        "  \x7fELF",
        "\x7fTileIR",
        "!<arch>\n",
        "BC",
        "\u{feff}",
    ] {
        let text = format!("{magic}{ptx}");
        let is_refused = |result: CudaResult<()>| {
            assert!(
                matches!(result, Err(Error::InvalidPtx(_))),
                "{magic:?}: {result:?}"
            );
        };
        is_refused(Module::from_ptx(&text, &[]).map(drop));
        is_refused(cust::module::Library::from_ptx(&text, &[]).map(drop));
        is_refused(cust::module::Linker::new(&[]).unwrap().add_ptx(&text));
        // A NUL byte would end the string for the driver.
        let hidden = format!("{ptx}\0{text}");
        is_refused(cust::module::Library::from_ptx(&hidden, &[]).map(drop));
        is_refused(cust::module::Linker::new(&[]).unwrap().add_ptx(&hidden));
    }
    for start in ["", "\n  ", "// comment\n", "/* comment */ "] {
        Module::from_ptx(format!("{start}{ptx}"), &[]).unwrap();
    }
    // Numbers of architectures that do not exist.
    let target = cust::module::JitTarget(u32::MAX, u32::MAX);
    let options = [ModuleJitOption::Target(target)];
    let _ = Module::from_ptx(ptx, &options);
}

#[test]
fn extents_that_contradict_themselves_are_refused() {
    use cust::memory::{Extent, MipmappedArray};
    let _context = init();
    let extent = |dimensions, width, height, depth| Extent {
        width,
        height,
        depth,
        dimensions,
    };
    let none = ArrayFlags::empty();
    let sparse = ArrayFlags::from_bits_retain(0x40);
    let is_refused = |extent, flags| {
        let error = Array::<u32>::new(extent, flags).unwrap_err();
        assert!(matches!(error, Error::Extent { .. }), "{error}");
        let error = MipmappedArray::<u32>::new(extent, 1, flags).unwrap_err();
        assert!(matches!(error, Error::Extent { .. }), "{error}");
    };
    for dimensions in [0, 4, usize::MAX] {
        is_refused(extent(dimensions, 4, 1, 1), none);
    }
    // Sizes along dimensions that the array does not have.
    is_refused(extent(1, 4, 2, 1), none);
    is_refused(extent(1, 4, 2, 3), ArrayFlags::LAYERED);
    is_refused(extent(2, 4, 2, 3), none);
    for extent in [extent(2, 4, 0, 1), extent(3, 4, 4, 0), extent(1, 0, 1, 1)] {
        is_refused(extent, none);
    }
    is_refused(extent(3, usize::MAX, 2, 2), none);
    is_refused(extent(2, usize::MAX / 4, 2, 1), none);
    is_refused(extent(2, 4, 4, 1), sparse);
    for levels in [0, 4, 64, u32::MAX] {
        let error = MipmappedArray::<u32>::new((4, 4), levels, none).unwrap_err();
        assert!(matches!(error, Error::Extent { .. }), "{error}");
    }
    let sizes = PitchedBuffer::<u32>::zeroed(extent(1, usize::MAX / 8, 8, 8)).unwrap_err();
    assert!(matches!(sizes, Error::AllocationTooLarge { .. }), "{sizes}");
    let all = cust::quick_init_on(backend())
        .unwrap()
        .device()
        .multiprocessors()
        .unwrap();
    let (parts, _) = all.split(u32::MAX, 1).unwrap();
    assert!(parts.len() <= all.count() as usize);
}

#[test]
fn a_graph_does_not_copy_a_buffer_to_itself() {
    let _context = init();
    let mut graph = GraphBuilder::new().unwrap();
    let buffer = graph.buffer(DeviceBuffer::<u32>::zeroed(4).unwrap());
    assert_eq!(
        graph.copy(buffer, buffer).unwrap_err(),
        Error::AliasedBuffer
    );
}

#[test]
fn a_blocking_copy_does_not_become_a_part_of_a_graph() {
    let _context = init();
    let (first, second) = (stream(), stream());
    let from = LockedBuffer::from_slice(&[1u32; 4]).unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(4).unwrap();
    let event = Event::new(EventFlags::DISABLE_TIMING).unwrap();
    second.upload(&from, &mut buffer).unwrap();
    // SAFETY: nothing is launched.
    let graph = unsafe {
        first.capture(Default::default(), |first| {
            event.record(first)?;
            // From here on, the second stream is captured, too.
            second.wait_event(&event, StreamWaitEventFlags::DEFAULT)?;
            // The copy would write to the vector whenever the graph is launched.
            let copied = buffer.as_host_vec();
            assert!(copied.is_err(), "{copied:?}");
            // A later launch of the graph would use the buffers.
            let copied = second.upload(&from, &mut buffer);
            assert!(matches!(copied, Err(Error::Capturing { .. })), "{copied:?}");
            let called = second.add_callback(|| ());
            assert!(matches!(called, Err(Error::Capturing { .. })), "{called:?}");
            Ok(())
        })
    };
    drop(graph);
    let external = StreamWaitEventFlags::from_bits_retain(1);
    first.wait_event(&event, external).unwrap_err();
}

/// Several threads load, wait for and unload modules with panic reports.
#[test]
fn modules_are_unloaded_while_other_threads_wait() {
    let context = init();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let module = Module::from_ptx(common::PANICS, &[]).unwrap();
                    let stream = stream();
                    // SAFETY: the kernel panics.
                    unsafe { launch!(module.always<<<1, 1, 0, stream>>>()).unwrap() };
                    drop(module);
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..100 {
                // New memory, which must not change when a report is armed.
                let fresh = DeviceBuffer::from_slice(&[7u8; 64]).unwrap();
                let _ = context.synchronize();
                assert_eq!(fresh.as_host_vec().unwrap_or(vec![7; 64]), [7; 64]);
            }
        });
    });
    // The panics that are still to be returned are not those of other tests.
    while context.synchronize().is_err() {}
}

#[test]
fn mip_levels_stay_those_of_their_array() {
    use cust::memory::MipmappedArray;
    let _context = init();
    let array = || MipmappedArray::<u32>::new((4, 4), 2, ArrayFlags::empty()).unwrap();
    let (mut a, mut b) = (array(), array());
    let (first, second) = (a.level(0).unwrap().as_raw(), b.level(0).unwrap().as_raw());
    {
        let (mut one, mut other) = (a.level_mut(0).unwrap(), b.level_mut(0).unwrap());
        // Exchanges the borrows, not the levels.
        std::mem::swap(&mut one, &mut other);
        one.copy_from(&[2; 16]).unwrap();
        other.copy_from(&[1; 16]).unwrap();
        stream().copy_volume(&*one, &mut other).unwrap();
    }
    assert_eq!(
        (a.level(0).unwrap().as_raw(), b.level(0).unwrap().as_raw()),
        (first, second)
    );
    assert_eq!(a.level(0).unwrap().as_host_vec().unwrap(), [2; 16]);
    assert_eq!(b.level(0).unwrap().as_host_vec().unwrap(), [2; 16]);
}

/// A texture and a surface, which may refer to the same array.
#[kernel]
pub fn mix(_surface: Surface<u32, 1>, _texture: Texture<u32, 1>) {}

const MIX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry mix(.param .u64 surface, .param .u64 texture) { ret; }
";

#[test]
fn a_launch_does_not_read_by_a_texture_what_it_writes_by_a_surface() {
    let _context = init();
    let module = Module::from_ptx(MIX, &[]).unwrap();
    // SAFETY: the kernel has the parameters of `mix`.
    let kernel = unsafe { module.kernel_unchecked::<mix>().unwrap() };
    let array = || Arc::new(Array::from_slice(&[1u32; 8], 8, ArrayFlags::SURFACE_LDST).unwrap());
    let (one, other, stream) = (array(), array(), stream());
    let config = TextureConfig::default();
    let surface = cust::texture::Surface::new(Arc::clone(&one)).unwrap();
    let same = cust::texture::Texture::new(one, &config).unwrap();
    let different = cust::texture::Texture::new(other, &config).unwrap();
    let error = kernel.launch(&stream, (1, 1), mix::args(&surface, &same));
    assert!(
        matches!(error, Err(Error::AliasedImage { .. })),
        "{error:?}"
    );
    kernel
        .launch(&stream, (1, 1), mix::args(&surface, &different))
        .unwrap();
    let (surface, same): (&'static _, &'static _) =
        (Box::leak(Box::new(surface)), Box::leak(Box::new(same)));
    let mut graph = GraphBuilder::new().unwrap();
    let error = graph.launch(&kernel, (1, 1), mix::args(surface, same));
    assert!(
        matches!(error, Err(Error::AliasedImage { .. })),
        "{error:?}"
    );
    stream.synchronize().unwrap();
}

/// Writes 7 to the elements of a surface.
#[kernel]
pub fn paint(_surface: Surface<u32, 1>) {}

/// Reads the elements of a texture.
#[kernel]
pub fn look(_texture: Texture<u32, 1>, _to: PerThread<u32>) {}

const IMAGES: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry paint(.param .u64 surface) {
    .reg .b32 %x, %v;
    .reg .b64 %s;
    ld.param.u64 %s, [surface];
    mov.u32 %x, %tid.x;
    shl.b32 %x, %x, 2;
    mov.u32 %v, 7;
    sust.b.1d.b32.trap [%s, {%x}], %v;
    ret;
}
.visible .entry look(.param .u64 texture, .param .align 8 .b8 to[16]) {
    .reg .b32 %x, %v<4>;
    .reg .f32 %at;
    .reg .b64 %t, %to, %o;
    ld.param.u64 %t, [texture];
    ld.param.u64 %to, [to];
    mov.u32 %x, %tid.x;
    cvt.rn.f32.u32 %at, %x;
    tex.1d.v4.u32.f32 {%v0, %v1, %v2, %v3}, [%t, {%at}];
    mul.wide.u32 %o, %x, 4;
    add.u64 %to, %to, %o;
    st.global.u32 [%to], %v0;
    ret;
}
";

#[test]
fn nodes_of_a_graph_take_turns_with_an_array() {
    let _context = init();
    let module: &'static Module = Box::leak(Box::new(Module::from_ptx(IMAGES, &[]).unwrap()));
    // SAFETY: the kernels have the parameters of the functions.
    let (paint_it, look_at) = unsafe {
        (
            module.kernel_unchecked::<paint>().unwrap(),
            module.kernel_unchecked::<look>().unwrap(),
        )
    };
    let other = Array::from_slice(&[5u32; 8], 8, ArrayFlags::SURFACE_LDST).unwrap();
    let other = cust::texture::Texture::new(Arc::new(other), &TextureConfig::default()).unwrap();
    let other: &'static _ = Box::leak(Box::new(other));
    let stream = stream();
    let builder = || {
        let mut graph = GraphBuilder::new().unwrap();
        let result = graph.buffer(DeviceBuffer::<u32>::zeroed(8).unwrap());
        (graph, result)
    };
    // In one graph; the texture in a child graph; both in child graphs; one in a conditional body.
    for form in 0..4 {
        let array = Array::from_slice(&[1u32; 8], 8, ArrayFlags::SURFACE_LDST).unwrap();
        let array = Arc::new(array);
        let surface = cust::texture::Surface::new(Arc::clone(&array)).unwrap();
        let texture = cust::texture::Texture::new(array, &TextureConfig::default()).unwrap();
        let surface: &'static _ = Box::leak(Box::new(surface));
        let texture: &'static _ = Box::leak(Box::new(texture));
        let (mut graph, mut result) = builder();
        let mut child = || {
            let (mut child, buffer) = builder();
            result = buffer;
            let args = look::args(texture, buffer.write());
            child.launch(&look_at, (1, 8), args).unwrap();
            child
        };
        let first = match form {
            2 => {
                let (mut child, _) = builder();
                child
                    .launch(&paint_it, (1, 8), paint::args(surface))
                    .unwrap();
                graph.child(child, &[]).unwrap();
                None
            }
            3 => {
                let body = |graph: &mut GraphBuilder<'_>| {
                    graph
                        .launch(&paint_it, (1, 8), paint::args(surface))
                        .map(drop)
                };
                let condition = graph.condition(1).unwrap();
                graph.if_nonzero(condition, body).unwrap();
                None
            }
            _ => Some(
                graph
                    .launch(&paint_it, (1, 8), paint::args(surface))
                    .unwrap(),
            ),
        };
        let reader = match form {
            1 | 2 => {
                let child = child();
                graph.child(child, &[]).unwrap();
                None
            }
            _ => {
                let args = look::args(texture, result.write());
                Some(graph.launch(&look_at, (1, 8), args).unwrap())
            }
        };
        let mut graph = graph.instantiate().unwrap();
        if let (Some(_), Some(reader)) = (first, reader) {
            // The node's dependencies follow from the array that it reads.
            let args = look::args(other, result.write());
            let error = graph.set_launch(reader, &look_at, (1, 8), args);
            assert_eq!(error.unwrap_err(), Error::GraphUses);
        }
        graph.launch(&stream).unwrap();
        let found = graph.get(result).as_host_vec().unwrap();
        assert_eq!(found, [7; 8], "form {form}");
    }
}

/// Determines whether a type is `Send` and `Sync`: an inherent constant shadows the trait's
/// constant if its bound holds.
struct Probe<T: ?Sized>(std::marker::PhantomData<T>);

impl<T: ?Sized + Send> Probe<T> {
    const SEND: bool = true;
}

impl<T: ?Sized + Sync> Probe<T> {
    const SYNC: bool = true;
}

trait Neither {
    const SEND: bool = false;
    const SYNC: bool = false;
}

impl<T: ?Sized> Neither for Probe<T> {}

#[test]
fn types_go_to_other_threads_as_the_table_says() {
    use cust::graph::{CapturedExec, CapturedGraph, GraphBuffer, GraphCondition, GraphExec, Node};
    use cust::memory::{DeviceBox, DeviceSliceMut, GrowableBuffer, MipmappedArray};
    macro_rules! table {
        ($($send:literal $sync:literal: $($ty:ty),*;)*) => {
            $($(
                let found = (Probe::<$ty>::SEND, Probe::<$ty>::SYNC);
                assert_eq!(found, ($send, $sync), stringify!($ty));
            )*)*
        };
    }
    table! {
        // Handles, which may be used from any thread.
        true true: Context, Device, Module, cust::module::Library, Stream, Event, MemoryPool,
            Function<'static>, cust::external::ExternalMemory, cust::external::ExternalSemaphore,
            cust::green_context::GreenContext, Node, GraphCondition, Error;
        // Memory, which is `Send` and `Sync` if its elements are.
        true true: DeviceBuffer<u32>, UnifiedBuffer<u32>, LockedBuffer<u32>, DeviceBox<u32>,
            DeviceSlice<'static, u32>, DeviceSliceMut<'static, u32>, Array<u32>, MipmappedArray<u32>,
            PitchedBuffer<u32>, GrowableBuffer<u32>, cust::texture::Texture<u32>,
            cust::texture::Surface<u32>, GraphBuffer<DeviceBuffer<u32>>;
        false false: DeviceBuffer<*mut u32>, UnifiedBuffer<*mut u32>, LockedBuffer<*mut u32>,
            DeviceBox<*mut u32>, DeviceSlice<'static, *mut u32>, DeviceSliceMut<'static, *mut u32>,
            PitchedBuffer<*mut u32>, GrowableBuffer<*mut u32>, cust::ipc::OpenedMemory<u32>;
        // Objects that one thread may use at a time.
        true false: GraphBuilder<'static>, GraphExec<'static>, CapturedGraph, CapturedExec,
            cust::module::Linker, cust::module::LtoLinker, cust::dlpack::Tensor<u32>;
        // Types that belong to a device thread.
        false false: cuda_std::thread::UniqueIndex, PerThread<u32>, cuda_std::PerBlock<u32>,
            cuda_std::PerTile<u32, 2, 2>, cuda_std::PerThread2d<u32>, cuda_std::PerThread3d<u32>,
            cuda_std::PerRow<u32>, cuda_std::PerColumn<u32>, cuda_std::PerThreadChunk<u32, 2>,
            cuda_std::PerBlockRow<u32>, cuda_std::PerWarpRow<u32>,
            cuda_std::shared::Shared<cuda_std::shared::Array<u32, 2>>,
            cuda_std::shared::Reading<cuda_std::shared::Array<u32, 2>>,
            cuda_std::texture::Texture<u32, 1>, cuda_std::texture::Surface<u32, 1>,
            cuda_std::graph::Condition;
        true false: std::cell::Cell<u32>, cuda_std::Constant<std::cell::Cell<u32>>;
        true true: cuda_std::Constant<u32>;
    }
}

/// Set in child processes: the action.
const CHILD: &str = "CUST_TEST_CHILD";

/// Runs an action in a child process, and returns its output and whether it exited successfully.
fn child(action: &str) -> (String, bool) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "in_a_child", "--nocapture", "--include-ignored"])
        .env("PTX_EMULATOR_TIME_LIMIT", "0.3")
        .env(CHILD, action);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    (text, output.status.success())
}

#[test]
#[ignore = "runs in the processes that the other tests start"]
fn in_a_child() {
    let action = std::env::var(CHILD).unwrap_or_default();
    let _context = cust::quick_init_on(backend()).unwrap();
    match action.as_str() {
        "panic" | "synchronized" => {
            let module = Module::from_ptx(common::PANICS, &[]).unwrap();
            let stream = stream();
            // SAFETY: the kernel panics.
            unsafe { launch!(module.always<<<1, 1, 0, stream>>>()).unwrap() };
            if action == "synchronized" {
                stream.synchronize().unwrap_err();
            }
        }
        "loop" => {
            let module = Module::from_ptx(LOOP, &[]).unwrap();
            let stream = stream();
            // SAFETY: the kernel never completes.
            unsafe { launch!(module.forever<<<1, 1, 0, stream>>>()).unwrap() };
            let error = stream.synchronize().unwrap_err();
            assert_eq!(error.code(), Some(CudaError::LaunchTimeout));
            println!("RESULT {error}");
        }
        _ => {}
    }
}

const LOOP: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry forever() {
AGAIN:
    bra AGAIN;
}
";

#[test]
fn a_panic_that_nobody_waited_for_is_printed_at_exit() {
    let (text, success) = child("panic");
    assert!(success, "{text}");
    assert!(
        text.contains("warning: the kernel `always` panicked at "),
        "{text}"
    );
    let (text, success) = child("synchronized");
    assert!(success, "{text}");
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn an_endless_kernel_ends_at_the_time_limit() {
    if backend() == Backend::Gpu {
        return;
    }
    let (text, success) = in_time(|| child("loop"));
    assert!(success, "{text}");
    let expected =
        "the kernel has run for more than 0.3 s, the limit set by PTX_EMULATOR_TIME_LIMIT";
    assert!(
        text.contains(expected) && text.contains("kernel `forever`"),
        "{text}"
    );
}
