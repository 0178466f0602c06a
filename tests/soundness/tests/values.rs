//! Values with padding, and coordinates far out of bounds.

#![forbid(unsafe_code)]

use std::sync::Arc;

use cust::memory::{Array, ArrayFlags};
use cust::prelude::*;
use cust::texture::Surface;
use soundness_tests::KERNELS;
use soundness_tests_kernels::values;

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[test]
fn values_with_padding_are_moved() -> Outcome {
    let _device = cust::init_auto()?;
    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let mut to = DeviceBuffer::from_slice(&[[0u32; 5]; 32])?;
    let kernel = module.kernel::<values::padding>()?;
    kernel.launch(&stream, (1, 32), values::padding::args(&mut to))?;
    let found = to.as_host_vec()?;
    for (lane, found) in (0..).zip(found) {
        let other = lane ^ 1;
        assert_eq!(
            found,
            [other, 1001 * other, lane ^ 2, 496, 1],
            "lane {lane}"
        );
    }
    Ok(())
}

#[test]
fn surfaces_have_nothing_far_outside() -> Outcome {
    let _device = cust::init_auto()?;
    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let flags = ArrayFlags::SURFACE_LDST;
    let array = Arc::new(Array::from_slice(&[5u32; 8], 8, flags)?);
    let wide = Arc::new(Array::from_slice(&[[5.0f32; 4]; 8], (4, 2), flags)?);
    let surface = Surface::new(Arc::clone(&array))?;
    let wide_surface = Surface::new(Arc::clone(&wide))?;
    let mut to = DeviceBuffer::from_slice(&[7u32; 32])?;
    let kernel = module.kernel::<values::far_outside>()?;
    let args = values::far_outside::args(&surface, &wide_surface, &mut to);
    kernel.launch(&stream, (1, 32), args)?;
    assert_eq!(to.as_host_vec()?, [0; 32]);
    let mut found = [0; 8];
    array.copy_to(&mut found)?;
    assert_eq!(found, [5; 8]);
    let mut found = [[0.0; 4]; 8];
    wide.copy_to(&mut found)?;
    assert_eq!(found, [[5.0; 4]; 8]);
    Ok(())
}
