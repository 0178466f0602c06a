//! Safe launches: arguments of all kinds, and errors for invalid dimensions.

mod common;
#[path = "common/typed.rs"]
mod kernels;

use common::{init, stream};
use cust::error::Error;
use cust::module::{Embedded, Image};
use cust::prelude::*;
use kernels::*;
use test_outcome::Failure;

#[test]
fn slices_go_in_and_an_output_comes_back() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let a = values.as_dbuf().unwrap();
    let b = DeviceBuffer::from_slice(&[0.5f32; 1000]).unwrap();
    let mut c = DeviceBuffer::<f32>::zeroed(1000).unwrap();
    let config = LaunchConfig::for_elements(1000, 128);
    let args = add::args(&a, &b, &mut c);
    module.launch(&stream, config, args).unwrap();
    let expected: Vec<f32> = values.iter().map(|v| v + 0.5).collect();
    assert_eq!(c.as_host_vec().unwrap(), expected);
}

#[test]
fn values_structs_and_parts_of_buffers_are_arguments() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let kernel = module.kernel::<affine>().unwrap();
    let stream = stream();
    let from = DeviceBuffer::from_slice(&[1.0f32, 2.0, 3.0, 4.0]).unwrap();
    let mut to = DeviceBuffer::from_slice(&[9.0f32; 4]).unwrap();
    let offset = Offset {
        unused: 7,
        value: 0.25,
    };
    let (mut left, right) = to.split_at_mut(2).unwrap();
    let args = affine::args(2.0, offset, from.index(1..3).unwrap(), &mut left);
    kernel.launch(&stream, (1, 32), args).unwrap();
    let args = affine::args(-1.0, offset, &from, right);
    kernel.launch(&stream, (1, 2), args).unwrap();
    assert_eq!(to.as_host_vec().unwrap(), [4.25, 6.25, -0.75, -1.75]);
}

#[test]
fn atomics_are_shared_by_all_threads() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let mut counter = DeviceBox::new(&1u32).unwrap();
    let mut bins = DeviceBuffer::<u32>::zeroed(4).unwrap();
    for _ in 0..3 {
        let args = count::args(2u32, &mut counter, &mut bins);
        module.launch(&stream, (2, 4), args).unwrap();
    }
    assert_eq!(counter.as_host_value().unwrap(), 1 + 3 * 8 * 2);
    assert_eq!(bins.as_host_vec().unwrap(), [12; 4]);
}

#[test]
fn boxes_and_unified_memory_are_arguments() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let factor = DeviceBox::new(&3.0f32).unwrap();
    let mut unified = UnifiedBuffer::new(&2.0f32, 4).unwrap();
    let args = scale_first::args(&factor, &mut unified);
    module.launch(&stream, (1, 1), args).unwrap();
    // The host's access waits for the kernel.
    assert_eq!(unified[0], 6.0);
    unified[0] = 1.5;
    let mut device = DeviceBuffer::<f32>::zeroed(4).unwrap();
    let factor = UnifiedBox::new(2.0f32).unwrap();
    module
        .launch(&stream, (1, 4), add::args(&unified, &unified, &mut device))
        .unwrap();
    module
        .launch(&stream, (1, 1), scale_first::args(&factor, &mut device))
        .unwrap();
    assert_eq!(device.as_host_vec().unwrap(), [6.0, 4.0, 4.0, 4.0]);
}

#[test]
fn empty_buffers_are_arguments() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let empty = DeviceBuffer::<f32>::zeroed(0).unwrap();
    let mut none = DeviceBuffer::<f32>::zeroed(0).unwrap();
    let config = LaunchConfig::for_elements(0, 64);
    let args = add::args(&empty, &empty, &mut none);
    module.launch(&stream, config, args).unwrap();
    assert_eq!(none.as_host_vec().unwrap(), []);
}

#[test]
fn kernels_that_take_pointers_are_unsafe_to_pass_arguments_to() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let number = DeviceBox::new(&1u32).unwrap();
    // SAFETY: the box is a `u32` that lives until the stream is done.
    let args = unsafe { poke::args(number.as_device_ptr(), 42) };
    module.launch(&stream, (1, 1), args).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(number.as_host_value().unwrap(), 42);
}

#[test]
fn sizes_are_checked_before_the_driver_sees_them() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let error = |config: LaunchConfig| {
        let launched = module.launch(&stream, config, nothing::args());
        match launched.failure() {
            Error::LaunchSize(error) => error.reason,
            other => panic!("{other}"),
        }
    };
    assert_eq!(error(((0, 1), 32).into()), "the grid has no blocks along x");
    assert_eq!(
        error((1, (1, 1, 0)).into()),
        "the block has no threads along z"
    );
    assert_eq!(
        error(((1, 70_000), 32).into()),
        "the grid has 70000 blocks along y, and the device allows 65535"
    );
    assert_eq!(
        error((1, 2048).into()),
        "the block has 2048 threads along x, and the device allows 1024"
    );
    assert_eq!(
        error((1, (32, 64)).into()),
        "a block has 2048 threads, and the kernel allows 1024"
    );
    assert_eq!(
        error(LaunchConfig::new(3, 32).cluster(2)),
        "the grid cannot be divided into clusters of 2 × 1 × 1 blocks"
    );
    let config = LaunchConfig::new(1, 32).shared_mem_bytes(1 << 30);
    match module.launch(&stream, config, nothing::args()).failure() {
        Error::SharedMemory(error) => {
            assert_eq!((error.own, error.dynamic), (0, 1 << 30));
            assert!((48 << 10..1 << 20).contains(&error.most), "{error}");
        }
        other => panic!("{other}"),
    }

    let launched = module.launch(&stream, (1, 128), limited::args());
    assert_eq!(
        launched.unwrap_err().to_string(),
        "launching the kernel `limited` with grid (1, 1, 1) and block (128, 1, 1): a block has \
         128 threads, and the kernel allows 64"
    );
    module.launch(&stream, (1, 64), limited::args()).unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn more_shared_memory_than_the_default_is_given() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    for bytes in [1, 40 << 10, 60 << 10] {
        module
            .launch(&stream, (1, 32, bytes), nothing::args())
            .unwrap();
    }
    stream.synchronize().unwrap();
}

#[test]
fn cooperative_launches_and_priorities() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let mut counter = DeviceBox::new(&0u32).unwrap();
    let mut bins = DeviceBuffer::<u32>::zeroed(8).unwrap();
    let config = LaunchConfig::new(2, 8).cooperative().priority(0);
    let args = count::args(1u32, &mut counter, &mut bins);
    module.launch(&stream, config, args).unwrap();
    assert_eq!(counter.as_host_value().unwrap(), 16);
}

#[test]
fn a_module_that_is_not_of_the_kernels_crate_is_refused() {
    let _context = init();
    let module = Module::from_ptx(include_str!("ptx/typed.ptx"), &[]).unwrap();
    let error = module.kernel::<nothing>().failure();
    assert!(matches!(error, Error::ForeignModule { .. }), "{error}");
    // SAFETY: the module nevertheless contains these kernels.
    let kernel = unsafe { module.kernel_unchecked::<nothing>() }.unwrap();
    kernel.launch(&stream(), (1, 1), nothing::args()).unwrap();

    let module = KERNELS.load().unwrap();
    let error = module.kernel::<missing>().failure();
    assert!(matches!(error, Error::KernelNotFound { .. }), "{error}");
    let args = newer::poke::args(1u32);
    let error = module.launch(&stream(), (1, 1), args).failure();
    assert!(matches!(error, Error::ArgumentCount { .. }), "{error}");
}

#[test]
fn an_image_that_fits_is_chosen() {
    let context = init();
    let ptx = include_str!("ptx/typed.ptx");
    // SAFETY: no kernel of these modules is launched.
    let newer: Embedded = unsafe {
        Embedded::new(
            &[],
            Box::leak(Box::new([
                ("sm_999", Image::Ptx("not even PTX")),
                ("sm_999", Image::Cubin(b"no")),
                ("sm_70", Image::Ptx(ptx)),
            ])),
        )
    };
    assert_eq!(newer.load().unwrap().kernel_names().len(), 9);
    // SAFETY: as above.
    let none = unsafe { Embedded::new(&[], &[("sm_999", Image::Ptx("not even PTX"))]) };
    let (major, minor) = context.device().compute_capability().unwrap();
    assert_eq!(
        none.load().unwrap_err().to_string(),
        format!(
            "loading an embedded module: the device is sm_{major}{minor}, but the module has only \
             PTX for sm_999\nhelp: build for an architecture that is not newer than the device's"
        )
    );
}

#[test]
fn statics_are_global_variables_by_their_types() {
    let _context = init();
    let mut module = KERNELS.load().unwrap();
    let stream = stream();
    let ticks = module.global::<TICKS>().unwrap();
    assert_eq!(ticks.name(), "TICKS");
    assert_eq!(ticks.load().unwrap(), 5);
    module.launch(&stream, (1, 1), tick::args()).unwrap();
    assert_eq!(ticks.load().unwrap(), 6);
    ticks.store(&70).unwrap();
    module.launch(&stream, (1, 1), tick::args()).unwrap();

    let mut count = module.global_mut::<plain::COUNT>().unwrap();
    assert_eq!(count.get().unwrap(), 71);
    count.set(&8).unwrap();
    let count = module.global::<plain::COUNT>().unwrap();
    assert_eq!(count.get().unwrap(), 8);
    module.launch(&stream, (1, 1), tick::args()).unwrap();
    assert_eq!(count.get().unwrap(), 9);
}

#[test]
fn statics_that_the_module_lacks_are_errors() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let error = module.global::<UNUSED>().failure();
    assert!(
        matches!(&error, Error::GlobalNotFound { name } if name == "UNUSED"),
        "{error}"
    );
    let error = module.global::<plain::WIDE>().failure();
    assert_eq!(
        error.to_string(),
        "the global variable `WIDE` has 4 bytes, but the requested type has 8"
    );
    let foreign = Module::from_ptx(".version 7.0\n.target sm_70\n.address_size 64", &[]).unwrap();
    let error = foreign.global::<TICKS>().failure();
    assert!(matches!(error, Error::ForeignGlobal { .. }), "{error}");
}

#[test]
fn another_library_may_change_the_current_context() {
    let context = init();
    let module = KERNELS.load().unwrap();
    let kernel = module.kernel::<tick>().unwrap();
    let stream = stream();
    for _ in 0..3 {
        kernel.launch(&stream, (1, 1), tick::args()).unwrap();
        let driver = context.driver().unwrap();
        // SAFETY: no context is current from here on, as after another library's calls.
        let result = unsafe { driver.cuCtxSetCurrent(std::ptr::null_mut()) };
        assert_eq!(result, cust::raw::CUresult::CUDA_SUCCESS);
        kernel.launch(&stream, (1, 1), tick::args()).unwrap();
        // SAFETY: as above; the kernel takes no arguments.
        unsafe {
            assert_eq!(
                driver.cuCtxSetCurrent(std::ptr::null_mut()),
                cust::raw::CUresult::CUDA_SUCCESS
            );
            launch!(module.tick<<<1, 1, 0, stream>>>()).unwrap();
        }
    }
    let ticks = module.global::<TICKS>().unwrap();
    assert_eq!(ticks.load().unwrap(), 5 + 9);
}

#[test]
fn blocks_have_the_size_that_the_kernel_says() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let error = module.launch(&stream, (1, 32), sized::limited::args());
    assert_eq!(
        error.unwrap_err().to_string(),
        "launching the kernel `limited` with grid (1, 1, 1) and block (32, 1, 1): its \
         `block_size` requires blocks of 16 × 2 × 1 threads"
    );
    let args = sized::limited::args();
    module.launch(&stream, (1, (16, 2)), args).unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn kernels_use_pinned_memory_where_it_is() {
    let _context = init();
    let module = KERNELS.load().unwrap();
    let stream = stream();
    let a = LockedBuffer::from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
    let b = LockedBuffer::from_vec(vec![0.5f32; 3]).unwrap();
    let mut c = LockedBuffer::<f32>::zeroed(3).unwrap();
    module
        .launch(&stream, (1, 32), add::args(&a, &b, &mut c))
        .unwrap();
    // The access waits for the kernel.
    assert_eq!(*c, [1.5, 2.5, 3.5]);
}
