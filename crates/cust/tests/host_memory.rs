//! Host slices, arrays and `Vec`s as arguments of launches.

mod common;
#[path = "common/typed.rs"]
mod kernels;

use std::sync::atomic::AtomicU32;

use common::{PANICS, init, stream};
use cuda_std::PerThread2d;
use cuda_std::prelude::*;
use cust::error::Error;
use cust::graph::CaptureMode;
use cust::module::{Embedded, Image};
use cust::prelude::*;
use kernels::{KERNELS, Offset, add, affine, count, scale_pair};
use ptx_emulator::driver::{Schedule, set_schedule};
use test_outcome::Failure;

/// The kernel of the PTX that panics, in the thread past the last element.
#[kernel]
pub fn set(_to: &[AtomicU32]) {}

// SAFETY: the PTX's kernel has the parameters of the function above.
static PANICKING: Embedded =
    unsafe { Embedded::new(&[env!("CARGO_PKG_NAME")], &[("sm_70", Image::Ptx(PANICS))]) };

#[test]
fn slices_arrays_and_vectors_go_there_and_back() {
    // The schedule executes work only when it is waited for: the launch itself has to wait.
    set_schedule(Schedule::Deferred);
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let a: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let b = [0.5f32; 1000];
    let mut c = vec![0.0f32; 1000];
    let config = LaunchConfig::for_elements(1000, 128);
    module
        .launch(&stream, config, add::args(&a, &b, &mut c))
        .unwrap();
    let expected: Vec<f32> = a.iter().map(|a| a + 0.5).collect();
    assert_eq!(c, expected);

    // Elements that no thread writes are unchanged.
    let mut d = [7.0f32; 3];
    let config = LaunchConfig::new(1, 2);
    let args = add::args(&a[10..], &a[20..30], &mut d);
    module.launch(&stream, config, args).unwrap();
    assert_eq!(d, [30.0, 32.0, 7.0]);
    let args = add::args(&d, &d, &mut c[1..2]);
    module.launch(&stream, config, args).unwrap();
    assert_eq!(c[..3], [0.5, 60.0, 2.5]);
}

#[test]
fn memory_of_the_host_and_buffers_are_mixed() {
    set_schedule(Schedule::Deferred);
    let _context = init();
    let module = KERNELS.load().unwrap();
    let (first, second) = (stream(), stream());
    let a = DeviceBuffer::from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
    let mut b = DeviceBuffer::<f32>::zeroed(3).unwrap();
    // In another stream, without waiting: the launch is ordered after the writes to its buffers.
    let offset = Offset {
        unused: 0,
        value: 0.25,
    };
    let args = affine::args(10.0, offset, &a, &mut b);
    module.launch(&first, (1, 3), args).unwrap();
    let mut c = vec![0.0f32; 3];
    let args = add::args(&[0.5f32, 0.5, 0.5], &b, &mut c);
    module.launch(&second, (1, 3), args).unwrap();
    assert_eq!(c, [10.75, 20.75, 30.75]);
    let args = add::args(&c, &c, &mut b);
    module.launch(&second, (1, 3), args).unwrap();
    assert_eq!(b.as_host_vec().unwrap(), [21.5, 41.5, 61.5]);
}

#[test]
fn atomics_are_elements_of_the_host() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let mut counter = DeviceBox::new(&1u32).unwrap();
    let mut bins = [1u32, 2, 3, 4];
    for _ in 0..3 {
        let args = count::args(2u32, &mut counter, &mut bins);
        module.launch(&stream, (2, 4), args).unwrap();
    }
    assert_eq!(counter.as_host_value().unwrap(), 1 + 3 * 8 * 2);
    assert_eq!(bins, [13, 14, 15, 16]);
}

#[test]
fn arrays_are_passed_by_reference() {
    set_schedule(Schedule::Deferred);
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let factors = [2.0f32, 3.0];
    let mut numbers = vec![10.0f32, 10.0];
    let args = scale_pair::args(&factors, &mut numbers);
    module.launch(&stream, (1, 2), args).unwrap();
    assert_eq!(numbers, [20.0, 30.0]);
    let on_device = DeviceBox::new(&factors).unwrap();
    let args = scale_pair::args(&on_device, &mut numbers);
    module.launch(&stream, (1, 2), args).unwrap();
    assert_eq!(numbers, [40.0, 90.0]);
}

#[test]
fn empty_slices_are_arguments() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let mut none: Vec<f32> = Vec::new();
    let args = add::args(&[], &[][..], &mut none);
    module.launch(&stream, (1, 32), args).unwrap();
    let mut one = [3.0f32];
    let args = add::args(&[1.0f32], &[2.0f32], &mut one[..0]);
    module.launch(&stream, (1, 32), args).unwrap();
    assert_eq!(one, [3.0]);
}

#[test]
fn large_slices_follow_small_ones() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    for len in [10, 300_000, 20, 30_000, 10] {
        let a = vec![1.0f32; len];
        let b: Vec<f32> = (0..len).map(|i| i as f32).collect();
        let mut c = vec![0.0f32; len];
        let config = LaunchConfig::for_elements(len, 256);
        module
            .launch(&stream, config, add::args(&a, &b, &mut c))
            .unwrap();
        assert!(c.iter().zip(&b).all(|(c, b)| *c == b + 1.0), "{len}");
    }
}

#[test]
fn threads_share_a_stream() {
    let context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (context, module, stream) = (&context, &module, &stream);
            scope.spawn(move || {
                CurrentContext::set_current(context).unwrap();
                for round in 0..20 {
                    let a = vec![thread as f32; 100];
                    let b = vec![round as f32; 100];
                    let mut c = vec![0.0f32; 100];
                    module
                        .launch(stream, (1, 128), add::args(&a, &b, &mut c))
                        .unwrap();
                    assert_eq!(c, vec![(thread + round) as f32; 100]);
                }
            });
        }
    });
}

#[test]
fn rows_of_the_host_have_their_sizes() {
    /// Writes length, width and height to the first elements.
    #[kernel]
    pub fn sizes(_to: PerThread2d<u64>) {}

    const PTX: &str = "
        .version 7.0
        .target sm_70
        .address_size 64
        .visible .entry sizes(.param .align 8 .b8 to[32]) {
            .reg .u64 %a<6>;
            ld.param.u64 %a1, [to];
            ld.param.u64 %a2, [to+8];
            st.global.u64 [%a1], %a2;
            ld.param.u64 %a3, [to+16];
            st.global.u64 [%a1+8], %a3;
            ld.param.u64 %a4, [to+24];
            st.global.u64 [%a1+16], %a4;
            ret;
        }
        ";
    let _context = init();
    let module = Module::from_ptx(PTX, &[]).unwrap();
    // SAFETY: the kernel writes three elements, which exist.
    let kernel = unsafe { module.kernel_unchecked::<sizes>() }.unwrap();
    let mut to = vec![7u64; 10];
    let args = sizes::args(to.rows_mut(4));
    kernel.launch(&stream(), (1, 1), args).unwrap();
    assert_eq!(to, [10, 4, 3, 7, 7, 7, 7, 7, 7, 7]);
}

#[test]
fn a_panic_is_the_launchs_error() {
    let _context = init();
    let module = PANICKING.load().unwrap();
    let stream = stream();
    let mut values = vec![u32::MAX; 99];
    let launched = module.launch(&stream, (2, 50), set::args(&mut values));
    match launched.failure() {
        Error::KernelPanic(panic) => {
            assert_eq!(panic.message, "out of bounds");
            assert_eq!((panic.block, panic.thread), ([1, 0, 0], [49, 0, 0]));
        }
        other => panic!("{other}"),
    }
    // The other threads' writes are visible, and the panic was returned once.
    assert!((0..99).all(|i| values[i] == i as u32));
    stream.synchronize().unwrap();
    let mut values = [u32::MAX; 100];
    module
        .launch(&stream, (2, 50), set::args(&mut values))
        .unwrap();
    assert_eq!(values[99], 99);
}

#[test]
fn launches_that_are_refused_leave_the_elements() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let mut c = [5.0f32; 4];
    let a = [1.0f32; 4];
    let error = (module.launch(&stream, (1, 2048), add::args(&a, &a, &mut c))).failure();
    assert!(matches!(error, Error::LaunchSize(_)), "{error}");
    assert_eq!(c, [5.0; 4]);
    // Arguments that are never launched, or are forgotten, only borrow.
    let _ = add::args(&a, &a, &mut c);
    std::mem::forget(add::args(&a, &a, &mut c));
    c[0] = 6.0;
    assert_eq!(c, [6.0, 5.0, 5.0, 5.0]);
}

#[test]
fn captures_refuse_memory_of_the_host() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let (a, mut c) = ([1.0f32; 4], [0.0f32; 4]);
    // SAFETY: nothing is recorded.
    let captured = unsafe {
        stream.capture(CaptureMode::ThreadLocal, |stream| {
            let error = (module.launch(stream, (1, 4), add::args(&a, &a, &mut c))).failure();
            assert!(matches!(error, Error::Capturing { .. }), "{error}");
            let error = (module.launch(stream, (1, 4), add::args(&[], &[], &mut []))).failure();
            assert!(matches!(error, Error::Capturing { .. }), "{error}");
            Ok(())
        })
    };
    drop(captured.unwrap());
    module
        .launch(&stream, (1, 4), add::args(&a, &a, &mut c))
        .unwrap();
    assert_eq!(c, [2.0; 4]);
}

#[test]
fn graphs_refuse_memory_of_the_host() {
    static A: [f32; 4] = [1.0; 4];
    let _context = init();
    let module = KERNELS.load().unwrap();
    let kernel = module.kernel::<add>().unwrap();
    let mut graph = GraphBuilder::new().unwrap();
    let c = graph.buffer(DeviceBuffer::<f32>::zeroed(4).unwrap());
    let error = (graph.launch(&kernel, (1, 4), add::args(&A, &A, c.write()))).failure();
    assert!(matches!(error, Error::HostMemoryInGraph { .. }), "{error}");
}

#[test]
fn programs_without_device_code_of_their_own_say_so() {
    let _context = init();
    let mut c = [0.0f32];
    let error = (stream().launch((1, 1), add::args(&[1.0f32], &[1.0f32], &mut c))).failure();
    assert!(
        matches!(error, Error::NoDeviceCode { kernel: "add" }),
        "{error}"
    );
    assert!(error.to_string().contains("cargo cuda"), "{error}");
}
