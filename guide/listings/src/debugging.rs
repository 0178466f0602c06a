//! Programs of the chapter "Debugging".

use crate::{KERNELS, Outcome};
use cust::prelude::*;

pub fn catch_a_panic() -> Outcome {
    use guide_kernels::debugging::{gather, report};

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    // ANCHOR: panic
    let from = [1.0f32, 2.0, 3.0].as_dbuf()?;
    let indices = [0u32, 1, 7, 2].as_dbuf()?;
    let mut to = DeviceBuffer::<f32>::zeroed(4)?;
    module.launch(&stream, (1, 32), gather::args(&from, &indices, &mut to))?;
    let error = stream.synchronize().expect_err("an index is out of bounds");
    let panic = error.panic().expect("the error is a panic");
    assert_eq!(panic.kernel(), Some("gather"));
    assert_eq!(panic.thread, [2, 0, 0]);
    assert!(panic.message.contains("index out of bounds"));
    println!("{error}");
    // The context is still usable, and the other threads have completed.
    assert_eq!(to.as_host_vec()?, [1.0, 2.0, 0.0, 3.0]);
    // ANCHOR_END: panic
    module.launch(&stream, (1, 32), report::args(&[0.5, f32::NAN, 1.0]))?;
    Ok(())
}

/// A fault loses the context, so nothing else can run in the process.
pub fn find_a_fault() -> Outcome {
    use guide_kernels::debugging::write_at;

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    // ANCHOR: fault
    let to = DeviceBuffer::<u32>::zeroed(4)?;
    // Undefined behavior: the kernel writes far out of bounds.
    let args = unsafe { write_at::args(to.as_device_ptr(), 1 << 40) };
    module.launch(&stream, (1, 1), args)?;
    let error = stream.synchronize().expect_err("the address is invalid");
    assert_eq!(error.code(), Some(CudaError::IllegalAddress));
    println!("{error}");
    // ANCHOR_END: fault
    Ok(())
}
