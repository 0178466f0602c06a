//! Programs of the chapter "Atomics".

use crate::{KERNELS, Outcome};
use cust::prelude::*;

pub fn count() -> Outcome {
    use guide_kernels::atomics::count_above;

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    // ANCHOR: count
    let data: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let mut count = DeviceBox::new(&0u32)?;
    module.launch(
        &stream,
        (2, 128),
        count_above::args(500.0, &data, &mut count),
    )?;
    assert_eq!(count.as_host_value()?, 499);
    // ANCHOR_END: count
    Ok(())
}

pub fn count_bytes() -> Outcome {
    use guide_kernels::atomics::histogram;

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let data: Vec<u8> = (0..5000u32).map(|i| ((i * i) >> 4) as u8).collect();
    let mut bins = vec![0u32; 256];
    module.launch(&stream, (3, 256), histogram::args(&data, &mut bins))?;
    let mut expected = vec![0; 256];
    for byte in data {
        expected[usize::from(byte)] += 1;
    }
    assert_eq!(bins, expected);
    Ok(())
}

pub fn sum_in_one_launch() -> Outcome {
    use guide_kernels::atomics::sum_last_block;

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let data = vec![1.0f32; 3000];
    let mut sums = vec![0.0f32; 5];
    let (mut finished, mut total) = (DeviceBox::new(&0u32)?, DeviceBox::new(&0.0f32)?);
    let args = sum_last_block::args(&data, &mut sums, &mut finished, &mut total);
    module.launch(&stream, (5, 128), args)?;
    assert_eq!(total.as_host_value()?, 3000.0);
    Ok(())
}
