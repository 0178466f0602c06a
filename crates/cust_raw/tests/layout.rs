//! Layouts and constants that other crates and the driver's binary interface rely on. The generated
//! `bindings.rs` asserts the size and offsets of every structure at compile time; this test
//! compares with NVIDIA's documentation, to detect a wrong header.

use std::mem::{align_of, offset_of, size_of};

use cust_raw::*;

#[test]
fn structures_have_the_documented_layout() {
    assert_eq!(size_of::<CUdeviceptr>(), 8);
    assert_eq!(size_of::<CUcontext>(), size_of::<usize>());
    assert_eq!(size_of::<CUuuid>(), 16);
    assert_eq!(size_of::<CUDA_MEMCPY2D>(), 128);
    assert_eq!(offset_of!(CUDA_MEMCPY2D, srcHost), 24);
    assert_eq!(offset_of!(CUDA_MEMCPY2D, WidthInBytes), 112);
    assert_eq!(size_of::<CUlaunchConfig>(), 56);
    assert_eq!(offset_of!(CUlaunchConfig, hStream), 32);
    assert_eq!(size_of::<CUlaunchAttribute>(), 72);
    assert_eq!(align_of::<CUtensorMap>(), 128);
    assert_eq!(size_of::<CUipcMemHandle>(), CU_IPC_HANDLE_SIZE as usize);
}

#[test]
fn constants_have_the_documented_values() {
    assert_eq!(CUDA_VERSION, 13000);
    assert_eq!(CUresult::CUDA_SUCCESS.0, 0);
    assert_eq!(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION.0, 222);
    assert_eq!(CUresult::CUDA_ERROR_LAUNCH_FAILED.0, 719);
    assert_eq!(
        CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR.0,
        75
    );
    assert_eq!(CUlimit::CU_LIMIT_STACK_SIZE.0, 0);
    assert_eq!(CUjit_option::CU_JIT_ERROR_LOG_BUFFER.0, 5);
}
