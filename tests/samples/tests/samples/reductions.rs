use crate::{Outcome, floats, integers, start};
use cust::prelude::*;
use samples_kernels::reductions::*;

#[test]
fn histograms() -> Outcome {
    let (module, stream) = start();
    let data: Vec<u8> = integers(10_000, 256)
        .iter()
        .map(|&x| (x * x / 256) as u8)
        .collect();
    let device = data.as_dbuf()?;
    let mut bins = DeviceBuffer::<u32>::zeroed(256)?;
    module.launch(
        &stream,
        (4, THREADS as u32),
        histogram256::args(&device, &mut bins),
    )?;
    let mut expected = vec![0; 256];
    for &byte in &data {
        expected[usize::from(byte)] += 1;
    }
    assert_eq!(bins.as_host_vec()?, expected);

    let mut bins = DeviceBuffer::<u32>::zeroed(64)?;
    module.launch(&stream, (3, 64), histogram64::args(&device, &mut bins))?;
    let expected: Vec<u32> = expected.chunks(4).map(|four| four.iter().sum()).collect();
    assert_eq!(bins.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn scans() -> Outcome {
    let (module, stream) = start();
    let data = integers(5000, 1000);
    let blocks = data.len().div_ceil(THREADS);
    let config = LaunchConfig::for_elements(data.len(), THREADS as u32);
    let device = data.as_dbuf()?;
    let mut sums = DeviceBuffer::<u32>::zeroed(blocks)?;
    let mut scanned = DeviceBuffer::<u32>::zeroed(data.len())?;
    module.launch(
        &stream,
        config,
        scan_blocks::args(&device, &mut scanned, &mut sums),
    )?;
    // The blocks' sums fit one block.
    let (mut offsets, mut total) = (
        DeviceBuffer::<u32>::zeroed(blocks)?,
        DeviceBuffer::<u32>::zeroed(1)?,
    );
    module.launch(
        &stream,
        (1, THREADS as u32),
        scan_blocks::args(&sums, &mut offsets, &mut total),
    )?;
    module.launch(&stream, config, add_uniform::args(&offsets, &mut scanned))?;
    let mut sum = 0;
    let expected: Vec<u32> = data
        .iter()
        .map(|x| {
            sum += x;
            sum - x
        })
        .collect();
    assert_eq!(scanned.as_host_vec()?, expected);
    assert_eq!(total.as_host_vec()?, [sum]);

    module.launch(&stream, config, scan_shuffle::args(&device, &mut scanned))?;
    let expected: Vec<u32> = data
        .chunks(THREADS)
        .flat_map(|block| {
            block.iter().scan(0, |sum, x| {
                *sum += x;
                Some(*sum)
            })
        })
        .collect();
    assert_eq!(scanned.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn reductions() -> Outcome {
    let (module, stream) = start();
    let data: Vec<i32> = integers(10_001, 1000)
        .iter()
        .map(|&x| x as i32 - 500)
        .collect();
    let device = data.as_dbuf()?;
    let mut sum = DeviceBox::new(&0)?;
    module.launch(&stream, (5, 160), reduce_groups::args(&device, &mut sum))?;
    assert_eq!(sum.as_host_value()?, data.iter().sum::<i32>());

    let mut sums = DeviceBuffer::<[i32; 2]>::zeroed(256)?;
    module.launch(&stream, (2, 128), reduce_tiles::args(&device, &mut sums))?;
    for (i, [tile, warp]) in sums.as_host_vec()?.into_iter().enumerate() {
        let sum = |n: usize| data[i / n * n..][..n].iter().sum::<i32>();
        assert_eq!([tile, warp], [sum(8), sum(32)], "thread {i}");
    }
    Ok(())
}

#[test]
fn threadfence_reduction() -> Outcome {
    let (module, stream) = start();
    let data = floats(20_000);
    let device = data.as_dbuf()?;
    let mut partial = DeviceBuffer::<f32>::zeroed(7)?;
    let mut done = DeviceBox::new(&0u32)?;
    let mut sum = DeviceBuffer::<f32>::zeroed(7 * 128)?;
    // A second launch finds the counter as the first one did.
    for _ in 0..2 {
        let args = reduce_last_block::args(&device, &mut partial, &mut done, &mut sum);
        module.launch(&stream, (7, 128), args)?;
    }
    let expected: f32 = data.iter().sum();
    let sums = sum.as_host_vec()?;
    let of_last: Vec<f32> = sums.into_iter().filter(|&sum| sum != 0.0).collect();
    assert!(of_last.len() >= 128);
    crate::close(&of_last, &vec![expected; of_last.len()], 1e-5);
    assert_eq!(done.as_host_value()?, 0);
    Ok(())
}

#[test]
fn simple_vote_intrinsics() -> Outcome {
    let (module, stream) = start();
    let mut data = integers(128, 100);
    data[32..64].fill(3);
    data[64..96].fill(4);
    let mut votes = DeviceBuffer::<[u32; 3]>::zeroed(data.len())?;
    module.launch(
        &stream,
        (2, 64),
        samples_kernels::reductions::votes::args(&data.as_dbuf()?, &mut votes),
    )?;
    for (warp, found) in data.chunks(32).zip(votes.as_host_vec()?.chunks(32)) {
        let odd = |x: &u32| x % 2 == 1;
        let ballot = warp
            .iter()
            .rev()
            .fold(0, |bits, x| bits << 1 | u32::from(odd(x)));
        let expected = [
            warp.iter().any(odd).into(),
            warp.iter().all(odd).into(),
            ballot,
        ];
        assert_eq!(found, [expected; 32]);
    }
    Ok(())
}

#[test]
fn warp_aggregated_atomics() -> Outcome {
    let (module, stream) = start();
    let data: Vec<i32> = integers(5000, 100).iter().map(|&x| x as i32).collect();
    let mut kept = DeviceBuffer::<i32>::zeroed(data.len())?;
    let mut count = DeviceBox::new(&0u32)?;
    module.launch(
        &stream,
        (4, 128),
        filter::args(&data.as_dbuf()?, 60, &mut kept, &mut count),
    )?;
    let mut found = kept.as_host_vec()?;
    found.truncate(count.as_host_value()? as usize);
    found.sort_unstable();
    let mut expected: Vec<i32> = data.into_iter().filter(|&x| x > 60).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
    Ok(())
}

#[test]
fn binary_partition() -> Outcome {
    let (module, stream) = start();
    let data = integers(512, 1000);
    let (mut odd, mut even) = (DeviceBox::new(&0u32)?, DeviceBox::new(&0u32)?);
    module.launch(
        &stream,
        (4, 128),
        partitions::args(&data.as_dbuf()?, &mut odd, &mut even),
    )?;
    let sum = |which| data.iter().filter(|&x| x % 2 == which).sum::<u32>();
    assert_eq!(odd.as_host_value()?, sum(1));
    assert_eq!(even.as_host_value()?, sum(0));
    Ok(())
}

#[test]
fn integral_image() -> Outcome {
    let (module, stream) = start();
    let (width, height) = (75, 10);
    let from = integers(width * height, 100);
    let device = from.as_dbuf()?;
    let mut to = DeviceBuffer::<u32>::zeroed(from.len())?;
    module.launch(
        &stream,
        ((1, 3), (32, 4)),
        integral_rows::args(width, &device, &mut to),
    )?;
    let sums = |row: &[u32]| {
        row.iter()
            .scan(0, |sum, x| {
                *sum += x;
                Some(*sum)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        to.as_host_vec()?,
        from.chunks(width).flat_map(sums).collect::<Vec<_>>()
    );
    Ok(())
}

#[test]
fn visible_points() -> Outcome {
    let (module, stream) = start();
    let mut heights = floats(256);
    heights
        .iter_mut()
        .enumerate()
        .for_each(|(i, height)| *height += 0.01 * (i * i) as f32 / 50.0);
    let mut seen = DeviceBuffer::<u8>::zeroed(256)?;
    module.launch(
        &stream,
        (1, 256),
        line_of_sight::args(&heights.as_dbuf()?, &mut seen),
    )?;
    let angle = |i: usize| (heights[i] - heights[0]) / i as f32;
    let expected: Vec<u8> = (0..256)
        .map(|i| u8::from((1..i).all(|before| angle(i) > angle(before))))
        .collect();
    assert_eq!(seen.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn stream_compaction() -> Outcome {
    let (module, stream) = start();
    let data: Vec<i32> = integers(1000, 100).iter().map(|&x| x as i32).collect();
    let mut kept = DeviceBuffer::<i32>::zeroed(data.len())?;
    let mut count = DeviceBox::new(&0u32)?;
    module.launch(
        &stream,
        (1, 256),
        compact::args(&data.as_dbuf()?, 30, &mut kept, &mut count),
    )?;
    let mut found = kept.as_host_vec()?;
    found.truncate(count.as_host_value()? as usize);
    assert_eq!(
        found,
        data.into_iter().filter(|&x| x > 30).collect::<Vec<_>>()
    );
    Ok(())
}

#[test]
fn products_of_vectors() -> Outcome {
    let (module, stream) = start();
    let (a, b) = (floats(700), floats(1700)[1000..].to_vec());
    let mut to = DeviceBuffer::<f32>::zeroed(7)?;
    module.launch(
        &stream,
        (3, 64),
        scalar_products::args(&a.as_dbuf()?, &b.as_dbuf()?, &mut to),
    )?;
    let product = |(a, b): (&[f32], &[f32])| a.iter().zip(b).map(|(a, b)| a * b).sum();
    let expected: Vec<f32> = a.chunks(100).zip(b.chunks(100)).map(product).collect();
    crate::close(&to.as_host_vec()?, &expected, 1e-5);
    Ok(())
}

#[test]
fn atomics_of_the_whole_system() -> Outcome {
    let (module, stream) = start();
    let mut numbers = UnifiedBuffer::from_slice(&[0, 0, -1, 0, 100, 0, -1, 0xff, 0, 0xff])?;
    module.launch(&stream, (2, 64), system_wide_atomics::args(&mut numbers))?;
    stream.synchronize()?;
    let found = &numbers[..];
    assert_eq!(found[..2], [1280, -1280]);
    assert!((0..128).contains(&found[2]));
    assert_eq!(found[3..6], [127, 0, 128 % 18]);
    assert!((-1..128).contains(&found[6]));
    let all = || 0..128;
    assert_eq!(found[7], all().fold(0xff, |x, i| x & (2 * i + 7)));
    assert_eq!(found[8], all().fold(0, |x, i| x | 1 << (i % 31)));
    assert_eq!(found[9], all().fold(0xff, |x, i| x ^ i));
    Ok(())
}
