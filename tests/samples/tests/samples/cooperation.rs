use crate::{Outcome, close, floats, hash, integers, start};
use cust::prelude::*;
use samples_kernels::cooperation::*;
use std::collections::BTreeMap;

#[test]
fn scan_in_one_pass() -> Outcome {
    let (module, stream) = start();
    // More tiles than a warp looks at once, and a last one that is not full.
    let from = integers(45 * TILE - 17, 1000);
    let tiles = from.len().div_ceil(TILE);
    let mut states = DeviceBuffer::<u64>::zeroed(tiles)?;
    let mut next = DeviceBox::new(&0u32)?;
    let mut to = DeviceBuffer::<u32>::zeroed(from.len())?;
    let device = from.as_dbuf()?;
    module.launch(
        &stream,
        (tiles as u32, TILE as u32),
        scan_look_back::args(&device, &mut next, &mut states, &mut to),
    )?;
    let expected: Vec<u32> = from
        .iter()
        .scan(0, |sum, x| {
            *sum += x;
            Some(*sum - x)
        })
        .collect();
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn sorted_pairs() -> Outcome {
    let (module, stream) = start();
    let mut pairs: Vec<Pair> = (0..512)
        .map(|i| Pair {
            key: hash(i) & 0xf00f_0f0f,
            value: i as u32,
        })
        .collect();
    let mut data = pairs.as_dbuf()?;
    module.launch(&stream, (2, 256), radix_sort_block::args(&mut data))?;
    for block in pairs.chunks_mut(256) {
        block.sort_by_key(|pair| pair.key);
    }
    assert_eq!(data.as_host_vec()?, pairs);
    Ok(())
}

#[test]
fn sorted_records() -> Outcome {
    let (module, stream) = start();
    let mut records: Vec<Record> = (0..96)
        .map(|i| Record {
            key: u64::from(hash(i)) << 30 | i as u64,
            place: [i as f32, -0.5],
            name: hash(i + 1000),
            flags: i as u16,
        })
        .collect();
    let mut data = records.as_dbuf()?;
    module.launch(&stream, (1, 96), sort_warps::args(&mut data))?;
    for warp in records.chunks_mut(32) {
        warp.sort_by_key(|record| record.key);
    }
    assert_eq!(data.as_host_vec()?, records);
    Ok(())
}

#[test]
fn sums_by_key() -> Outcome {
    let (module, stream) = start();
    let mut keys = integers(1000, 70);
    keys.sort_unstable();
    let values: Vec<f64> = (0..1000).map(|i| f64::from(hash(i) % 1000)).collect();
    let mut unique = DeviceBuffer::<u32>::zeroed(100)?;
    let mut sums = DeviceBuffer::<f64>::zeroed(100)?;
    let mut count = DeviceBox::new(&0u32)?;
    let (device_keys, device_values) = (keys.as_dbuf()?, values.as_dbuf()?);
    module.launch(
        &stream,
        (1, 128),
        reduce_by_key::args(
            &device_keys,
            &device_values,
            &mut unique,
            &mut sums,
            &mut count,
        ),
    )?;
    let mut expected = BTreeMap::new();
    for (key, value) in keys.iter().zip(&values) {
        *expected.entry(*key).or_insert(0.0) += value;
    }
    let count = count.as_host_value()? as usize;
    let found: Vec<(u32, f64)> = unique
        .as_host_vec()?
        .into_iter()
        .zip(sums.as_host_vec()?)
        .take(count)
        .collect();
    assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    Ok(())
}

#[test]
fn limited_access() -> Outcome {
    let (module, stream) = start();
    let mut permits = DeviceBox::new(&3u32)?;
    let mut inside = DeviceBox::new(&0u32)?;
    let (mut most, mut done) = (DeviceBox::new(&0u32)?, DeviceBox::new(&0u32)?);
    let args = semaphore::args(&mut permits, &mut inside, &mut most, &mut done);
    module.launch(&stream, (12, 64), args)?;
    assert_eq!(done.as_host_value()?, 12 * 64);
    assert_eq!(permits.as_host_value()?, 3);
    assert_eq!(inside.as_host_value()?, 0);
    assert!((1..=3).contains(&most.as_host_value()?));
    Ok(())
}

#[test]
fn producer_with_named_barriers() -> Outcome {
    let (module, stream) = start();
    let from = integers(96 * 11, 1000);
    let mut sums = DeviceBuffer::<u64>::zeroed(96)?;
    module.launch(
        &stream,
        (1, 128),
        producer_and_consumers::args(&from.as_dbuf()?, &mut sums),
    )?;
    let expected: Vec<u64> = (0..96)
        .map(|i| from.chunks(96).map(|row| u64::from(row[95 - i])).sum())
        .collect();
    assert_eq!(sums.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn all_shortest_ways() -> Outcome {
    let (module, stream) = start();
    const PLACES: usize = 24;
    let mut expected: Vec<u32> = (0..PLACES * PLACES)
        .map(|i| match hash(i) % 5 {
            _ if i % PLACES == i / PLACES => 0,
            0 => hash(i + 7) % 100 + 1,
            _ => u32::MAX,
        })
        .collect();
    let mut distances = expected.as_dbuf()?;
    let mut shorter = DeviceBox::new(&0u32)?;
    module.launch(
        &stream,
        LaunchConfig::new(3, 64).cooperative(),
        shortest_ways::args(PLACES, &mut distances, &mut shorter),
    )?;
    let mut changes = 0;
    for middle in 0..PLACES {
        for i in 0..PLACES * PLACES {
            let (y, x) = (i / PLACES, i % PLACES);
            let around =
                expected[y * PLACES + middle].saturating_add(expected[middle * PLACES + x]);
            changes += u32::from(around < expected[i]);
            expected[i] = expected[i].min(around);
        }
    }
    assert_eq!(shorter.as_host_value()?, changes);
    assert_eq!(distances.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn attention_in_one_pass() -> Outcome {
    let (module, stream) = start();
    let rows = |count: usize, offset: usize| -> Vec<[f32; HEAD]> {
        let numbers = floats(offset + count * HEAD);
        let rows = numbers[offset..].as_chunks::<HEAD>().0.iter();
        rows.map(|row| row.map(|x| 4.0 * x - 2.0)).collect()
    };
    let (queries, keys, values) = (rows(6, 0), rows(75, 1000), rows(75, 5000));
    let mut to = DeviceBuffer::<[f32; HEAD]>::zeroed(queries.len())?;
    let (device_queries, device_keys, device_values) =
        (queries.as_dbuf()?, keys.as_dbuf()?, values.as_dbuf()?);
    module.launch(
        &stream,
        (2, 128),
        attention::args(&device_queries, &device_keys, &device_values, &mut to),
    )?;
    let mut expected = Vec::new();
    for query in &queries {
        let score = |key: &[f32; HEAD]| key.iter().zip(query).map(|(a, b)| a * b).sum::<f32>();
        let scores: Vec<f32> = keys.iter().map(score).collect();
        let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weights: Vec<f32> = scores.iter().map(|x| (x - largest).exp()).collect();
        let total: f32 = weights.iter().sum();
        for i in 0..HEAD {
            let sum: f32 = weights.iter().zip(&values).map(|(w, v)| w * v[i]).sum();
            expected.push(sum / total);
        }
    }
    close(to.as_host_vec()?.as_flattened(), &expected, 1e-4);
    Ok(())
}

#[test]
fn normalized_rows() -> Outcome {
    let (module, stream) = start();
    let from: Vec<f32> = floats(5 * 200).iter().map(|x| 100.0 + 3.0 * x).collect();
    let mut to = DeviceBuffer::<f32>::zeroed(from.len())?;
    module.launch(&stream, (3, 64), normalize::args(&from.as_dbuf()?, &mut to))?;
    let mut expected = Vec::new();
    for row in from.chunks(200) {
        let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / 200.0;
        let variance = row
            .iter()
            .map(|&x| (f64::from(x) - mean).powi(2))
            .sum::<f64>()
            / 200.0;
        let scale = (variance + 1e-5).sqrt().recip();
        expected.extend(row.iter().map(|&x| ((f64::from(x) - mean) * scale) as f32));
    }
    close(&to.as_host_vec()?, &expected, 1e-4);
    Ok(())
}

#[test]
fn selection_by_digits() -> Outcome {
    let (module, stream) = start();
    let data: Vec<u32> = (0..700).map(|i| hash(i / 2)).collect();
    let mut sorted = data.clone();
    sorted.sort_unstable();
    let device = data.as_dbuf()?;
    for rank in [0, 350, 699] {
        let mut to = DeviceBox::new(&0u32)?;
        module.launch(&stream, (1, 256), select::args(&device, rank, &mut to))?;
        assert_eq!(to.as_host_value()?, sorted[rank as usize]);
    }
    Ok(())
}

#[test]
fn merging_by_diagonals() -> Outcome {
    let (module, stream) = start();
    let (mut a, mut b) = (integers(301, 500), integers(900, 500)[400..].to_vec());
    a.sort_unstable();
    b.sort_unstable();
    let mut to = DeviceBuffer::<u32>::zeroed(a.len() + b.len())?;
    module.launch(
        &stream,
        (2, 64),
        merge_path::args(&a.as_dbuf()?, &b.as_dbuf()?, &mut to),
    )?;
    let mut expected = [a, b].concat();
    expected.sort_unstable();
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn connected_components() -> Outcome {
    let (module, stream) = start();
    const NODES: usize = 500;
    let edges: Vec<[u32; 2]> = (0..300)
        .map(|i| [hash(i) % NODES as u32, hash(i + 1000) % NODES as u32])
        .collect();
    let mut parents = (0..NODES as u32).collect::<Vec<_>>().as_dbuf()?;
    module.launch(
        &stream,
        (3, 64),
        components::args(&edges.as_dbuf()?, &mut parents),
    )?;
    let mut found = DeviceBuffer::<u32>::zeroed(NODES)?;
    module.launch(
        &stream,
        (8, 64),
        component_roots::args(&parents, &mut found),
    )?;
    let mut expected: Vec<u32> = (0..NODES as u32).collect();
    for _ in 0..NODES {
        for &[a, b] in &edges {
            let least = expected[a as usize].min(expected[b as usize]);
            expected[a as usize] = least;
            expected[b as usize] = least;
        }
    }
    assert_eq!(found.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn dynamic_memory() -> Outcome {
    let (module, stream) = start();
    let from: Vec<u32> = (0..128).map(hash).collect();
    let device = from.as_dbuf()?;
    let mut to = DeviceBuffer::<u32>::zeroed(from.len())?;
    let config = LaunchConfig::new(2, 64).shared_mem_bytes(64 * 7);
    // SAFETY: the launch has the block size and the shared memory that the kernel requires.
    let args = unsafe { divided_memory::args(&device, &mut to) };
    module.launch(&stream, config, args)?;
    let mut expected = Vec::new();
    for block in from.chunks(64) {
        expected.extend((0..64).map(|i| {
            let other = 63 - i;
            block[other] ^ (block[i ^ 1] & 0xffff) << 8 ^ block[i ^ 2] & 0xff
        }));
    }
    // The bytes' part is read at the place beside the own one.
    assert_eq!(to.as_host_vec()?, expected);

    let pairs: Vec<Pair> = (0..96)
        .map(|i| Pair {
            key: hash(i),
            value: i as u32,
        })
        .collect();
    let mut data = pairs.as_dbuf()?;
    let config = LaunchConfig::new(3, 32).shared_mem_bytes(32 * 8);
    module.launch(&stream, config, reverse_dynamic::args(&mut data))?;
    let expected: Vec<Pair> = pairs
        .chunks(32)
        .flat_map(|block| block.iter().rev().copied())
        .collect();
    assert_eq!(data.as_host_vec()?, expected);
    Ok(())
}
