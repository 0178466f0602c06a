//! Programs from the Rust-CUDA guide, for the host side of `docs/from-rust-cuda.md`: only the
//! manifest and the PTX differ.

use std::error::Error;

use cust::prelude::*;

static PTX: &str = include_str!("ptx/kernels.ptx");

/// How many numbers to generate and add together.
const NUMBERS_LEN: usize = 100_000;

/// The guide's first program, which here also runs on the emulator.
fn vecadd() -> Result<(), Box<dyn Error>> {
    // generate our vectors.
    let lhs: Vec<f32> = (0..NUMBERS_LEN).map(|i| i as f32).collect();
    let rhs = vec![0.5f32; NUMBERS_LEN];

    // initialize CUDA, this will pick the first available device and will
    // make a CUDA context from it.
    let _ctx = cust::init_auto()?;

    // Make the CUDA module, modules just house the GPU code for the kernels we created.
    let module = Module::from_ptx(PTX, &[])?;

    // make a CUDA stream to issue calls to.
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    // allocate the GPU memory needed to house our numbers and copy them over.
    let lhs_gpu = lhs.as_slice().as_dbuf()?;
    let rhs_gpu = rhs.as_slice().as_dbuf()?;

    // allocate our output buffer. You could also use DeviceBuffer::uninitialized() to avoid the
    // cost of the copy, but you need to be careful not to read from the buffer.
    let mut out = vec![0.0f32; NUMBERS_LEN];
    let out_buf = out.as_slice().as_dbuf()?;

    // retrieve the add kernel from the module so we can calculate the right launch config.
    let func = module.get_function("add")?;

    // use the CUDA occupancy API to find an optimal launch configuration for the grid and block
    // size.
    let (_, block_size) = func.suggested_launch_configuration(0, 0.into())?;
    let grid_size = (NUMBERS_LEN as u32).div_ceil(block_size);

    // Actually launch the GPU kernel. This will queue up the launch on the stream.
    unsafe {
        launch!(
            // slices are passed as two parameters, the pointer and the length.
            func<<<grid_size, block_size, 0, stream>>>(
                lhs_gpu.as_device_ptr(),
                lhs_gpu.len(),
                rhs_gpu.as_device_ptr(),
                rhs_gpu.len(),
                out_buf.as_device_ptr(),
            )
        )?;
    }
    stream.synchronize()?;

    // copy back the data from the GPU.
    out_buf.copy_to(&mut out)?;
    assert!(out.iter().zip(&lhs).all(|(sum, l)| *sum == l + 0.5));
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, cust::DeviceCopy)]
#[repr(C)]
struct Matrix {
    rows: [[f32; 2]; 2],
}

/// The guide's examples of memory, streams, events and modules.
fn the_rest() -> Result<(), Box<dyn Error>> {
    cust::init(CudaFlags::empty())?;
    let context = cust::init_auto()?.into_context();
    let device = context.device();
    assert!(device.name()?.len() > 1);
    assert!(device.total_memory()? > 1 << 20);
    assert!(device.get_attribute(DeviceAttribute::MaxThreadsPerBlock)? >= 32);

    let matrix = Matrix {
        rows: [[1.0, 2.0], [3.0, 4.0]],
    };
    let boxed = matrix.as_dbox()?;
    assert_eq!(boxed.as_host_value()?, matrix);
    let unified = UnifiedBox::new(5u64)?;
    assert_eq!(*unified, 5);
    let mut many = UnifiedBuffer::new(&1u32, 5)?;
    many[0] = 7;
    assert_eq!(many.as_slice(), [7, 1, 1, 1, 1]);
    let locked = LockedBuffer::new(&0u64, 5)?;
    let mut buffer = unsafe { DeviceBuffer::<u64>::uninitialized(5)? };
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    unsafe { buffer.async_copy_from(&locked, &stream)? };
    stream.synchronize()?;
    buffer.copy_from(&[1, 2, 3, 4, 5])?;
    let (left, right) = buffer.split_at(2)?;
    assert_eq!((left.len(), right.len()), (2, 3));

    let start = Event::new(EventFlags::DEFAULT)?;
    let stop = Event::new(EventFlags::DEFAULT)?;
    start.record(&stream)?;
    stop.record(&stream)?;
    stop.synchronize()?;
    assert!(stop.elapsed_time_f32(&start)? >= 0.0);
    assert_eq!(stop.query()?, EventStatus::Ready);

    let module = Module::from_ptx(PTX, &[ModuleJitOption::MaxRegisters(64)])?;
    // SAFETY: the variable is a `u32`.
    let mut counter = unsafe { module.get_global::<u32>(c"counter")? };
    counter.copy_from(&3)?;
    let mut value = 0;
    counter.copy_to(&mut value)?;
    assert_eq!(value, 3);
    let limit = CurrentContext::get_resource_limit(ResourceLimit::StackSize)?;
    CurrentContext::set_resource_limit(ResourceLimit::StackSize, limit)?;
    CurrentContext::set_current(&context)?;
    CurrentContext::synchronize()?;
    Ok(())
}

#[test]
fn the_guides_programs_compile_and_run() {
    vecadd().unwrap();
    the_rest().unwrap();
}
