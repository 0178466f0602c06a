//! Faults in kernels: the error says what and where, and stays until the context is reset. One
//! test, because a fault takes the whole context with it.

mod common;

use common::{FAULTS, KERNELS, init, stream};
use cust::prelude::*;

#[test]
fn faults_lose_the_context_and_a_reset_makes_a_new_one() {
    let context = init();
    if context.backend() == Backend::Gpu {
        test_outcome::skip("on a GPU a fault may end the process's use of the device for good");
        return;
    }
    let device = context.device();
    let module = Module::from_ptx(FAULTS, &[]).unwrap();
    let buffer = DeviceBuffer::<u32>::zeroed(4).unwrap();
    let stream_1 = stream();
    // SAFETY: the kernel's fault is what is tested.
    unsafe { launch!(module.store<<<1, 1, 0, stream_1>>>(16u64)).unwrap() };
    let error = stream_1.synchronize().unwrap_err();
    assert_eq!(error.code(), Some(CudaError::IllegalAddress));
    let text = error.to_string();
    assert!(text.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{text}");
    assert!(text.contains("`store`"), "{text}");
    assert!(text.contains("PTX line 13"), "{text}");
    assert!(text.ends_with("; kernels in flight: `store`"), "{text}");
    // It stays.
    assert!(buffer.as_host_vec().is_err());
    assert!(Module::from_ptx(KERNELS, &[]).is_err());
    assert!(context.synchronize().is_err());

    // SAFETY: there is no pinned and no managed memory.
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
}
