//! Launches: results, forms of the macro, checks of arguments and dimensions, streams and events.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use common::{KERNELS, init, stream};
use cust::error::Error;
use cust::prelude::*;
use test_outcome::Failure;

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Scale {
    factor: f32,
    offset: u32,
    base: u64,
}

fn module() -> Module {
    Module::from_ptx(KERNELS, &[]).unwrap()
}

#[test]
fn vectors_are_added() {
    let _context = init();
    let (module, stream) = (module(), stream());
    let n = 100_000;
    let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..n).map(|i| 0.5 * i as f32).collect();
    let (a_gpu, b_gpu) = (a.as_dbuf().unwrap(), b.as_dbuf().unwrap());
    let c_gpu = DeviceBuffer::<f32>::zeroed(n).unwrap();
    let add = module.get_function("add").unwrap();
    let (_, block) = add.suggested_launch_configuration(0, 0.into()).unwrap();
    let grid = (n as u32).div_ceil(block);
    // SAFETY: the arguments have the types of the kernel's parameters.
    unsafe {
        launch!(add<<<grid, block, 0, stream>>>(
            a_gpu.as_device_ptr(),
            a_gpu.len(),
            b_gpu.as_device_ptr(),
            b_gpu.len(),
            c_gpu.as_device_ptr(),
        ))
        .unwrap();
    }
    stream.synchronize().unwrap();
    let c = c_gpu.as_host_vec().unwrap();
    assert!((0..n).all(|i| c[i] == a[i] + b[i]));
}

#[test]
fn structures_are_passed_by_value() {
    struct Holder {
        stream: Stream,
        module: Module,
    }
    let _context = init();
    let holder = Holder {
        stream: stream(),
        module: module(),
    };
    let out = DeviceBox::new(&0u64).unwrap();
    let scale = Scale {
        factor: 2.5,
        offset: 4,
        base: 1000,
    };
    // SAFETY: the arguments have the types of the kernel's parameters. Zero-sized arguments have no
    // parameter.
    unsafe {
        launch!((holder.module).scale<<<(1,), (1, 1, 1), 0, holder.stream>>>(
            out.as_device_ptr(),
            (),
            scale
        ))
        .unwrap();
    }
    holder.stream.synchronize().unwrap();
    assert_eq!(out.as_host_value().unwrap(), 1010);
}

#[test]
fn dynamic_shared_memory_and_barriers() {
    let _context = init();
    let (module, stream) = (module(), stream());
    let data = (0..256u32).collect::<Vec<_>>().as_dbuf().unwrap();
    // SAFETY: the arguments have the types of the kernel's parameters, and the shared memory holds
    // the block's elements.
    unsafe {
        launch!(module.reverse<<<1, 256, 1024, stream>>>(data.as_device_ptr())).unwrap();
    }
    stream.synchronize().unwrap();
    let expected: Vec<u32> = (0..256).rev().collect();
    assert_eq!(data.as_host_vec().unwrap(), expected);
}

#[test]
fn grids_of_three_dimensions_run_in_full() {
    let _context = init();
    let (module, stream) = (module(), stream());
    let grid = GridSize::xyz(3, 4, 5);
    let block = BlockSize::xyz(8, 2, 2);
    // SAFETY: the kernel has no parameters.
    unsafe { launch!(module.count<<<grid, block, 0, stream>>>()).unwrap() };
    stream.synchronize().unwrap();
    let mut value = 0;
    // SAFETY: the variable has this type, or the call returns an error.
    let counter = unsafe { module.get_global::<u32>("counter").unwrap() };
    counter.copy_to(&mut value).unwrap();
    assert_eq!(value, 7 + 60 * 32);
}

#[test]
fn a_wrong_number_of_arguments_is_an_error() {
    let _context = init();
    let (module, stream) = (module(), stream());
    // SAFETY: the launches return errors.
    let (few, many, raw) = unsafe {
        (
            launch!(module.add<<<1, 1, 0, stream>>>(1u64, 2u64)).failure(),
            launch!(module.count<<<1, 1, 0, stream>>>(1u8)).failure(),
            stream
                .launch_raw(&module.get_function("add").unwrap(), 1, 1, 0, &[])
                .failure(),
        )
    };
    assert_eq!(
        few.to_string(),
        "the kernel `add` takes 5 parameters, but 2 arguments were given (a slice is two: \
         pointer and length; a zero-sized argument is none)"
    );
    assert!(matches!(
        many,
        Error::ArgumentCount {
            expected: 0,
            found: 1,
            ..
        }
    ));
    assert!(matches!(
        raw,
        Error::ArgumentCount {
            expected: 5,
            found: 0,
            ..
        }
    ));
}

#[test]
fn an_argument_of_the_wrong_size_is_an_error() {
    let _context = init();
    let (module, stream) = (module(), stream());
    // SAFETY: the launch returns an error.
    let error = unsafe { launch!(module.scale<<<1, 1, 0, stream>>>(1u64, 2u32)) }.failure();
    assert_eq!(
        error.to_string(),
        "argument 1 of the kernel `scale` is a u32 of 4 bytes, but the parameter has 16"
    );
}

#[test]
fn a_missing_kernel_is_an_error_of_the_launch() {
    let _context = init();
    let (module, stream) = (module(), stream());
    // SAFETY: the launch returns an error.
    let error = unsafe { launch!(module.subtract<<<1, 1, 0, stream>>>()) }.failure();
    assert!(matches!(error, Error::KernelNotFound { .. }));
}

#[test]
fn sizes_that_the_device_does_not_have_are_errors() {
    let _context = init();
    let (module, stream) = (module(), stream());
    let count = module.get_function("count").unwrap();
    // SAFETY: the launches return errors.
    let (block, grid, shared) = unsafe {
        (
            launch!(count<<<1, 2048, 0, stream>>>()).failure(),
            launch!(count<<<0, 1, 0, stream>>>()).failure(),
            launch!(count<<<1, 1, 1 << 20, stream>>>()).failure(),
        )
    };
    assert_eq!(
        block.to_string(),
        "launching the kernel `count` with grid (1, 1, 1), block (2048, 1, 1) and 0 bytes of \
         dynamic shared memory: invalid argument (CUDA_ERROR_INVALID_VALUE)"
    );
    assert_eq!(grid.code(), Some(CudaError::InvalidValue));
    assert_eq!(shared.code(), Some(CudaError::InvalidValue));
    stream.synchronize().unwrap();
}

#[test]
fn kernels_tell_their_attributes() {
    let _context = init();
    let module = module();
    let bounded = module.get_function("bounded").unwrap();
    let max = bounded.get_attribute(FunctionAttribute::MaxThreadsPerBlock);
    assert_eq!(max, Ok(64));
    let mut count = module.get_function("count").unwrap();
    count
        .set_cache_config(cust::function::CacheConfig::PreferL1)
        .unwrap();
    let shared = FunctionAttribute::MaxDynamicSharedSizeBytes;
    count.set_attribute(shared, 64 << 10).unwrap();
    assert_eq!(count.get_attribute(shared), Ok(64 << 10));
    assert!(
        count
            .max_active_blocks_per_multiprocessor(256.into(), 0)
            .unwrap()
            >= 1
    );
    assert!(
        count
            .available_dynamic_shared_memory_per_block(1, 256.into())
            .unwrap()
            > 0
    );
    let (grid, block) = count.suggested_launch_configuration(0, 128.into()).unwrap();
    assert!(grid >= 1 && (1..=128).contains(&block));
}

#[test]
fn events_measure_and_order() {
    let _context = init();
    let (module, first, second) = (module(), stream(), stream());
    let (start, stop) = (
        Event::new(EventFlags::DEFAULT).unwrap(),
        Event::new(EventFlags::DEFAULT).unwrap(),
    );
    start.record(&first).unwrap();
    // SAFETY: the kernel has no parameters.
    unsafe { launch!(module.count<<<1000, 64, 0, first>>>()).unwrap() };
    stop.record(&first).unwrap();
    second
        .wait_event(&stop, StreamWaitEventFlags::DEFAULT)
        .unwrap();
    second.synchronize().unwrap();
    assert_eq!(stop.query(), Ok(EventStatus::Ready));
    stop.synchronize().unwrap();
    assert!(stop.elapsed(&start).unwrap() > Duration::ZERO);
    assert!(stop.elapsed_time_f32(&start).unwrap() > 0.0);
    assert_eq!(first.query(), Ok(true));
}

#[test]
fn callbacks_run_in_the_order_of_the_stream() {
    let _context = init();
    let stream = stream();
    let (sender, receiver) = mpsc::channel();
    for i in 0..5 {
        let sender = sender.clone();
        stream
            .add_callback(move || sender.send(i).unwrap())
            .unwrap();
    }
    stream.add_callback(|| panic!("this is caught")).unwrap();
    stream.synchronize().unwrap();
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn many_threads_launch_at_once() {
    let _context = init();
    let module = module();
    let done = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let stream = stream();
                for _ in 0..25 {
                    // SAFETY: the kernel has no parameters.
                    unsafe { launch!(module.count<<<4, 32, 0, stream>>>()).unwrap() };
                }
                stream.synchronize().unwrap();
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(done.load(Ordering::Relaxed), 4);
    let mut value = 0;
    // SAFETY: the variable has this type, or the call returns an error.
    let counter = unsafe { module.get_global::<u32>("counter").unwrap() };
    counter.copy_to(&mut value).unwrap();
    assert_eq!(value, 7 + 4 * 25 * 128);
}
