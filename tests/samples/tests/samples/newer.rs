use crate::{Outcome, close, floats, hash, integers};
use cuda_std::copy;
use cuda_std::half::{Bf16, Bf16x2};
use cust::prelude::*;
use cust::tensor_map::{TensorMap, TiledTensor};
use samples_newer::*;
use std::collections::HashMap;

/// A module and a stream, if the device is new enough.
fn start() -> Option<(Module, Stream)> {
    let device = crate::device().context().device();
    let capability = device.compute_capability().expect("it has one");
    if capability < (9, 0) {
        test_outcome::skip("compute capability below 9.0");
        return None;
    }
    let module = crate::module_of!("newer", histogram_cluster);
    Some((module, crate::stream()))
}

#[test]
fn histogram_of_a_cluster() -> Outcome {
    let Some((module, stream)) = start() else {
        return Ok(());
    };
    let data = integers(3000, 1 << 20);
    let mut total = DeviceBuffer::<u32>::zeroed(4 * BINS)?;
    module.launch(
        &stream,
        LaunchConfig::new(8, 128).cluster(4),
        histogram_cluster::args(&data.as_dbuf()?, &mut total),
    )?;
    let mut expected = vec![0; 4 * BINS];
    for x in data {
        expected[x as usize % (4 * BINS)] += 1;
    }
    assert_eq!(total.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn specialised_warps_of_a_block() -> Outcome {
    let Some((module, stream)) = start() else {
        return Ok(());
    };
    const ROUNDS: usize = 11;
    let from: Vec<f32> = integers(2 * ROUNDS * ROW, 1000)
        .iter()
        .map(|&x| x as f32)
        .collect();
    let device = from.as_dbuf()?;
    let mut to = DeviceBuffer::<f32>::zeroed(2 * ROW)?;
    // SAFETY: the buffers have this number of rows.
    let args = unsafe { specialised_warps::args(device.as_device_ptr(), ROUNDS as u32, &mut to) };
    module.launch(&stream, (2, 128), args)?;
    let expected: Vec<f32> = (0..2 * ROW)
        .map(|i| {
            let rows = from[i / ROW * ROUNDS * ROW..].chunks(ROW).take(ROUNDS);
            rows.map(|row| row[i % ROW]).sum()
        })
        .collect();
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn stencil_of_boxes() -> Outcome {
    let Some((module, stream)) = start() else {
        return Ok(());
    };
    const W: usize = 2 * WIDTH;
    const H: usize = 5 * HEIGHT - 3;
    let picture: Vec<f32> = integers(W * H, 100).iter().map(|&x| x as f32).collect();
    let from = picture.as_dbuf()?;
    let to = DeviceBuffer::<f32>::zeroed(W * H)?;
    let map =
        |buffer: &DeviceBuffer<f32>, box_sizes: &[u32]| -> Result<_, Box<dyn std::error::Error>> {
            let tensor = TiledTensor {
                sizes: &[W as u64, H as u64],
                strides: &[W as u64 * 4],
                box_sizes,
                element_strides: &[1, 1],
                ..TiledTensor::default()
            };
            // SAFETY: the memory has that many elements, and lives as long as the launch.
            let map = unsafe { TensorMap::tiled(buffer.as_device_ptr(), &tensor) }?;
            Ok(copy::TensorMap::from_words(map.to_words()))
        };
    let maps = (
        map(&from, &[BOX as u32, HEIGHT as u32 + 2])?,
        map(&to, &[WIDTH as u32, HEIGHT as u32])?,
    );
    // SAFETY: such maps.
    let args = unsafe { stencil_boxes::args(maps.0, maps.1, 5) };
    module.launch(&stream, (2, (32, 8)), args)?;
    stream.synchronize()?;
    let at = |x: usize, y: usize| match (x.checked_sub(1), y.checked_sub(1)) {
        (Some(x), Some(y)) if x < W && y < H => picture[y * W + x],
        _ => 0.0,
    };
    let expected: Vec<f32> = (0..W * H)
        .map(|i| {
            let (x, y) = (i % W + 1, i / W + 1);
            at(x, y) + at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1)
        })
        .collect();
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn table_of_wide_slots() -> Outcome {
    let Some((module, stream)) = start() else {
        return Ok(());
    };
    let pairs: Vec<[u64; 2]> = (0..500)
        .map(|i| {
            [
                u64::from(hash(i) % 150) << 33,
                u64::from(hash(i + 9000)) << 7,
            ]
        })
        .collect();
    let mut slots = vec![EMPTY; 256].as_dbuf()?;
    module.launch(
        &stream,
        (4, 64),
        table_of_pairs::args(&pairs.as_dbuf()?, &mut slots),
    )?;
    let mut expected = HashMap::new();
    for [key, value] in pairs {
        let entry = expected.entry(key).or_insert(0);
        *entry = value.max(*entry);
    }
    let full = slots
        .as_host_vec()?
        .into_iter()
        .filter(|&slot| slot != EMPTY);
    let found: Vec<(u64, u64)> = full
        .map(|slot| ((slot >> 64) as u64, slot as u64))
        .collect();
    assert_eq!(found.len(), expected.len());
    assert_eq!(found.into_iter().collect::<HashMap<_, _>>(), expected);
    Ok(())
}

#[test]
fn layer_on_tensor_cores() -> Outcome {
    let Some((module, stream)) = start() else {
        return Ok(());
    };
    const N: usize = 64;
    // Products of such numbers are exact.
    let small = |offset: usize| -> Vec<f32> {
        (0..N * N)
            .map(|i| (hash(i + offset) % 17) as f32 / 16.0 - 0.5)
            .collect()
    };
    let (a, b, bias) = (small(0), small(5000), floats(N));
    let (device_a, device_b, device_bias) = (a.as_dbuf()?, b.as_dbuf()?, bias.as_dbuf()?);
    let mut to = DeviceBuffer::<f32>::zeroed(N * N)?;
    // SAFETY: such sides, and buffers are aligned.
    let args = unsafe { layer_tf32::args(N, &device_a, &device_b, &device_bias, &mut to) };
    module.launch(&stream, ((2, 4), 128), args)?;
    let expected: Vec<f32> = (0..N * N)
        .map(|i| {
            let product: f32 = (0..N).map(|k| a[i / N * N + k] * b[k * N + i % N]).sum();
            let x = product + bias[i % N];
            0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x * x * x)).tanh())
        })
        .collect();
    close(&to.as_host_vec()?, &expected, 1e-5);
    Ok(())
}

#[test]
fn programmatic_launches() -> Outcome {
    let Some((module, stream)) = start() else {
        return Ok(());
    };
    let from = integers(256, 1000);
    let device = from.as_dbuf()?;
    let between = DeviceBuffer::<u32>::zeroed(256)?;
    let mut to = DeviceBuffer::<u32>::zeroed(256)?;
    // SAFETY: an element for each thread, and the second kernel waits for the first.
    unsafe {
        let first = programmatic_first::args(&device, between.as_device_ptr());
        module.launch(&stream, (4, 64), first)?;
        let second = programmatic_second::args(between.as_device_ptr(), &mut to);
        module.launch(&stream, LaunchConfig::new(4, 64).programmatic(), second)?;
    }
    let expected: Vec<u32> = (0..).zip(&from).map(|(i, x)| i + 3 * x).collect();
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn sums_of_clusters() -> Outcome {
    let Some((module, stream)) = start() else {
        return Ok(());
    };
    let from = integers(2000, 1000);
    let mut to = DeviceBuffer::<u32>::zeroed(3)?;
    module.launch(
        &stream,
        LaunchConfig::new(6, 64).cluster(2),
        reduce_clusters::args(&from.as_dbuf()?, &mut to),
    )?;
    assert_eq!(to.as_host_vec()?.iter().sum::<u32>(), from.iter().sum());
    Ok(())
}

#[test]
fn gradients_in_halves() -> Outcome {
    let Some((module, stream)) = start() else {
        return Ok(());
    };
    let places = integers(300, 40);
    // All sums are exact.
    let gradients: Vec<[f32; 2]> = (0..300)
        .map(|i| [(hash(i) % 5) as f32, -((hash(i + 500) % 3) as f32)])
        .collect();
    let halves: Vec<Bf16x2> = gradients
        .iter()
        .map(|g| Bf16x2::new(Bf16::from_f32(g[0]), Bf16::from_f32(g[1])))
        .collect();
    let mut to = DeviceBuffer::<u32>::zeroed(40)?;
    module.launch(
        &stream,
        (2, 64),
        scatter_gradients::args(&places.as_dbuf()?, &halves.as_dbuf()?, 0.5, &mut to),
    )?;
    let mut expected = vec![[0.0; 2]; 40];
    for (&place, gradient) in places.iter().zip(&gradients) {
        expected[place as usize][0] += 0.5 * gradient[0];
        expected[place as usize][1] += 0.5 * gradient[1];
    }
    let found: Vec<[f32; 2]> = to
        .as_host_vec()?
        .into_iter()
        .map(Bf16x2::from_bits)
        .map(|x| [x.low().to_f32(), x.high().to_f32()])
        .collect();
    assert_eq!(found, expected);
    Ok(())
}

#[test]
fn blocks_in_turn() -> Outcome {
    let Some((module, stream)) = start() else {
        return Ok(());
    };
    let (mut next, mut serving) = (DeviceBox::new(&0u32)?, DeviceBox::new(&0u32)?);
    let mut list = DeviceBuffer::<u32>::zeroed(9)?;
    let args = tickets::args(&mut next, &mut serving, &mut list);
    module.launch(&stream, (9, 32), args)?;
    assert_eq!(list.as_host_vec()?, [0, 1, 3, 6, 10, 15, 21, 28, 36]);
    Ok(())
}

#[test]
fn sums_in_structs() -> Outcome {
    let Some((module, stream)) = start() else {
        return Ok(());
    };
    let keys: Vec<u8> = integers(700, KEYS as u32)
        .iter()
        .map(|&x| x as u8)
        .collect();
    let values: Vec<f32> = (0..700).map(|i| (hash(i) % 100) as f32).collect();
    let mut to = DeviceBuffer::<[f32; 2]>::zeroed(KEYS)?;
    let (device_keys, device_values) = (keys.as_dbuf()?, values.as_dbuf()?);
    module.launch(
        &stream,
        (3, 64),
        group_by::args(&device_keys, &device_values, &mut to),
    )?;
    let mut expected = vec![[0.0; 2]; KEYS];
    for (&key, value) in keys.iter().zip(values) {
        expected[usize::from(key)][0] += 1.0;
        expected[usize::from(key)][1] += value;
    }
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn ring_of_blocks() -> Outcome {
    let Some((module, stream)) = start() else {
        return Ok(());
    };
    let from = integers(8 * 32, 1000);
    let device = from.as_dbuf()?;
    let mut to = DeviceBuffer::<u32>::zeroed(from.len())?;
    // SAFETY: an element for each thread.
    let args = unsafe { ring::args(&device, &mut to) };
    module.launch(&stream, (8, 32), args)?;
    let expected: Vec<u32> = (0..from.len())
        .map(|i| {
            let cluster = &from[i / 128 * 128..][..128];
            cluster.iter().skip(i % 32).step_by(32).sum()
        })
        .collect();
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn copies_of_all_threads() -> Outcome {
    let Some((module, stream)) = start() else {
        return Ok(());
    };
    const ROUNDS: usize = 7;
    let from = integers(2 * ROUNDS * 64, 1000);
    let device = from.as_dbuf()?;
    let mut to = DeviceBuffer::<u32>::zeroed(2 * 64)?;
    // SAFETY: the buffers have this number of rows.
    let args = unsafe { copies_that_arrive::args(device.as_device_ptr(), ROUNDS, &mut to) };
    module.launch(&stream, (2, 64), args)?;
    let expected: Vec<u32> = (0..2 * 64)
        .map(|i| {
            let rows = from[i / 64 * ROUNDS * 64..].chunks(64).take(ROUNDS);
            rows.fold(0, |sum, row| sum * 3 + row[63 - i % 64])
        })
        .collect();
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn boxes_that_are_added() -> Outcome {
    let Some((module, stream)) = start() else {
        return Ok(());
    };
    let sum = DeviceBuffer::from_slice(&[5i32; 64 * 4])?;
    let own = DeviceBuffer::<i32>::zeroed(6 * 128)?;
    let tensor = TiledTensor {
        sizes: &[64, 4],
        strides: &[256],
        box_sizes: &[32, 4],
        element_strides: &[1, 1],
        ..TiledTensor::default()
    };
    // SAFETY: the memory has that many elements, and lives as long as the launch.
    let map = unsafe { TensorMap::tiled(sum.as_device_ptr(), &tensor) }?;
    let map = copy::TensorMap::from_words(map.to_words());
    // SAFETY: such a map, and room for six boxes.
    let args = unsafe { add_boxes::args(map, own.as_device_ptr(), -2) };
    module.launch(&stream, (6, (32, 4)), args)?;
    stream.synchronize()?;
    let expected: Vec<i32> = (0..6 * 128)
        .map(|i| (i / 128 + 1) * (i % 128) * -2)
        .collect();
    assert_eq!(own.as_host_vec()?, expected);
    let expected: Vec<i32> = (0..256)
        .map(|i| {
            let (x, y) = (i % 64, i / 64);
            let blocks = if x < 32 { 1 + 3 + 5 } else { 2 + 4 + 6 };
            5 - 2 * blocks * (y * 32 + x % 32)
        })
        .collect();
    assert_eq!(sum.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn streams_through_the_caches() -> Outcome {
    let Some((module, stream)) = start() else {
        return Ok(());
    };
    let (from, table) = (floats(1200), floats(7));
    let rows: Vec<[f32; 4]> = from.as_chunks().0.to_vec();
    let mut to = DeviceBuffer::<[f32; 4]>::zeroed(rows.len())?;
    module.launch(
        &stream,
        (2, 64),
        streaming::args(&rows.as_dbuf()?, &table.as_dbuf()?, &mut to),
    )?;
    let expected: Vec<f32> = (0..1200).map(|i| from[i] * table[i / 4 % 7]).collect();
    assert_eq!(to.as_host_vec()?.as_flattened(), expected);
    Ok(())
}
