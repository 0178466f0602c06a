//! Programs of the chapter "Threads and blocks".

use crate::{KERNELS, Outcome};

// ANCHOR: square
use cust::prelude::*;
use guide_kernels::threads::square;

pub fn square_all() -> Outcome {
    let device = cust::init_auto()?;
    println!("running on {device}");
    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    let numbers: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let from = numbers.as_dbuf()?;
    let mut to = DeviceBuffer::<f32>::zeroed(1000)?;
    // At least 1000 threads, in blocks of 256: 4 blocks.
    let config = LaunchConfig::for_elements(1000, 256);
    module.launch(&stream, config, square::args(&from, &mut to))?;

    let squares = to.as_host_vec()?;
    assert!(
        squares
            .iter()
            .zip(&numbers)
            .all(|(square, x)| *square == x * x)
    );
    Ok(())
}
// ANCHOR_END: square

pub fn square_through_a_pointer() -> Outcome {
    use guide_kernels::threads::square_raw;

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    // ANCHOR: square_raw
    let from = [1.0f32, 2.0, 3.0].as_dbuf()?;
    let to = DeviceBuffer::<f32>::zeroed(3)?;
    // SAFETY: `to` has as many elements as `from`, and nothing else uses them meanwhile.
    let args = unsafe { square_raw::args(&from, to.as_device_ptr()) };
    module.launch(&stream, (1, 32), args)?;
    stream.synchronize()?; // a pointer does not tell `cust` which buffer the kernel writes
    assert_eq!(to.as_host_vec()?, [1.0, 4.0, 9.0]);
    // ANCHOR_END: square_raw
    Ok(())
}

pub fn brighten_an_image() -> Outcome {
    use guide_kernels::threads::brighten;

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    // ANCHOR: brighten
    let (width, height) = (100, 60);
    let image: Vec<u8> = (0..width * height).map(|i| (i % 251) as u8).collect();
    let from = image.as_dbuf()?;
    let mut to = DeviceBuffer::<u8>::zeroed(image.len())?;
    // 4 by 4 blocks of 32 by 16 threads cover 128 by 64 pixels.
    let args = brighten::args(1.5, &from, to.rows_mut(width));
    module.launch(&stream, ((4, 4), (32, 16)), args)?;
    // ANCHOR_END: brighten
    let expected = image.iter().map(|&x| (f32::from(x) * 1.5).min(255.0) as u8);
    assert!(to.as_host_vec()?.into_iter().eq(expected));
    assert_eq!(height, 60);
    Ok(())
}
