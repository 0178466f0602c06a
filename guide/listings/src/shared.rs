//! Programs of the chapter "Shared memory and barriers".

use crate::{KERNELS, Outcome};
use cust::prelude::*;

pub fn smooth_a_signal() -> Outcome {
    // ANCHOR: smooth
    use guide_kernels::shared::{CHUNK, smooth};

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let signal: Vec<f32> = (0..1000).map(|i| (i * i % 100) as f32).collect();
    let mut smoothed = vec![0.0; signal.len()];
    let blocks = signal.len().div_ceil(CHUNK) as u32;
    module.launch(
        &stream,
        (blocks, CHUNK as u32),
        smooth::args(&signal, &mut smoothed),
    )?;
    // ANCHOR_END: smooth
    for (i, x) in smoothed.into_iter().enumerate() {
        let at = |i: usize| signal[i.min(signal.len() - 1)];
        assert_eq!(x, (at(i.saturating_sub(1)) + at(i) + at(i + 1)) / 3.0);
    }
    Ok(())
}

pub fn transpose_a_matrix() -> Outcome {
    use guide_kernels::shared::transpose;

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let (width, height) = (70usize, 40usize);
    let matrix: Vec<f32> = (0..width * height).map(|i| i as f32).collect();
    let from = matrix.as_dbuf()?;
    let mut to = DeviceBuffer::<f32>::zeroed(matrix.len())?;
    // ANCHOR: transpose
    // The result has `height` columns and `width` rows.
    let tiles = (height.div_ceil(32) as u32, width.div_ceil(32) as u32);
    module.launch(
        &stream,
        (tiles, (32, 8)),
        transpose::args(&from, to.rows_mut(height)),
    )?;
    // ANCHOR_END: transpose
    let expected = (0..matrix.len()).map(|i| matrix[i % height * width + i / height]);
    assert!(to.as_host_vec()?.into_iter().eq(expected));
    Ok(())
}

pub fn sum_blocks() -> Outcome {
    use guide_kernels::shared::{block_sums, block_sums_raw};

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let numbers: Vec<f32> = (0..1024).map(|i| (i % 10) as f32).collect();
    let from = numbers.as_dbuf()?;
    let mut sums = DeviceBuffer::<f32>::zeroed(4)?;
    module.launch(&stream, (4, 256), block_sums::args(&from, &mut sums))?;
    let expected: Vec<f32> = numbers
        .chunks(256)
        .map(|block| block.iter().sum())
        .collect();
    assert_eq!(sums.as_host_vec()?, expected);
    sums.set_zero()?;
    // SAFETY: 4 blocks of 256 threads, with 256 elements and one sum each.
    let args = unsafe { block_sums_raw::args(from.as_device_ptr(), sums.as_device_ptr()) };
    module.launch(&stream, (4, 256), args)?;
    stream.synchronize()?;
    assert_eq!(sums.as_host_vec()?, expected);
    Ok(())
}
