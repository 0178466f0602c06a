//! Kernels in the style of Rust-CUDA's guide.

use crate::{Arch, Session, expect, trial};
use cuda_std_tests_kernels::guide::Options;
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};

/// Returns the trials.
pub fn trials() -> Vec<Trial> {
    vec![
        trial(Arch::Sm75, "guide::vecadd", vecadd),
        trial(Arch::Sm75, "guide::reverse", reverse),
        trial(Arch::Sm75, "guide::struct", structure),
    ]
}

fn vecadd(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    let a: Vec<f32> = (0..100u8).map(f32::from).collect();
    let (device, sum) = (a.as_dbuf()?, DeviceBuffer::<f32>::zeroed(100)?);
    // SAFETY: the kernel's parameters are two slices and a pointer to as many numbers.
    unsafe {
        launch!(module.guide_vecadd<<<4, 32, 0, stream>>>(
            device.as_device_ptr(),
            device.len(),
            device.as_device_ptr(),
            device.len(),
            sum.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    let expected: Vec<f32> = a.iter().map(|a| a + a).collect();
    expect(sum.as_host_vec()?, expected, "the sums")
}

fn reverse(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    let data = (0..64).collect::<Vec<i32>>().as_dbuf()?;
    // SAFETY: the kernel's parameters are 64 numbers.
    unsafe {
        launch!(module.guide_reverse<<<1, 64, 0, stream>>>(data.as_device_ptr(), 64usize))?;
    }
    stream.synchronize()?;
    expect(
        data.as_host_vec()?,
        (0..64).rev().collect(),
        "the reversed numbers",
    )
}

/// The struct as the host passes it.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Passed(Options);

// SAFETY: the struct consists of numbers.
unsafe impl DeviceCopy for Passed {}

fn structure(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    let data = vec![2.0f32; 40].as_dbuf()?;
    let options = Options {
        factor: 3.0,
        count: 33,
        offsets: [0.5, 0.25],
    };
    // SAFETY: the kernel's parameters are the struct and a pointer to as many numbers as it says.
    unsafe {
        launch!(module.guide_struct<<<2, 32, 0, stream>>>(Passed(options), data.as_device_ptr()))?;
    }
    stream.synchronize()?;
    let expected: Vec<f32> = (0..40)
        .map(|i| {
            if i < 33 {
                6.0 + [0.5, 0.25][i % 2]
            } else {
                2.0
            }
        })
        .collect();
    expect(data.as_host_vec()?, expected, "the scaled numbers")
}
