//! Programs of the chapter "Warps".

use crate::{KERNELS, Outcome};
use cust::prelude::*;

pub fn sum_warps() -> Outcome {
    use guide_kernels::warps::{tiles, warp_sums};

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let numbers: Vec<f32> = (0..128).map(|i| i as f32).collect();
    let mut sums = vec![0.0; 128];
    module.launch(&stream, (2, 64), warp_sums::args(&numbers, &mut sums))?;
    for (i, sum) in sums.into_iter().enumerate() {
        assert_eq!(sum, numbers[i / 32 * 32..][..32].iter().sum::<f32>());
    }

    let numbers: Vec<u32> = (0..64).map(|i| i * 7 % 10).collect();
    let (mut maxima, mut sums) = (vec![0; 64], vec![0; 64]);
    module.launch(
        &stream,
        (1, 64),
        tiles::args(&numbers, &mut maxima, &mut sums),
    )?;
    for i in 0..64 {
        assert_eq!(Some(&maxima[i]), numbers[i / 8 * 8..][..8].iter().max());
        assert_eq!(sums[i], numbers[i / 32 * 32..=i].iter().sum::<u32>());
    }
    Ok(())
}

pub fn compact_positive() -> Outcome {
    use guide_kernels::warps::compact;

    let module = KERNELS.load()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let numbers: Vec<f32> = (0..200).map(|i| (i * 37 % 101) as f32 - 50.0).collect();
    let from = numbers.as_dbuf()?;
    // ANCHOR: compact
    let mut to = DeviceBuffer::<f32>::zeroed(numbers.len())?;
    let mut count = DeviceBox::new(&0u32)?;
    let config = LaunchConfig::for_elements(numbers.len(), 128);
    module.launch(&stream, config, compact::args(&from, &mut to, &mut count))?;
    let mut found = to.as_host_vec()?;
    found.truncate(count.as_host_value()? as usize);
    // ANCHOR_END: compact
    found.sort_by(f32::total_cmp);
    let mut expected: Vec<f32> = numbers.into_iter().filter(|x| *x > 0.0).collect();
    expected.sort_by(f32::total_cmp);
    assert_eq!(found, expected);
    Ok(())
}
