use crate::{Outcome, hash, integers, start};
use cust::prelude::*;
use samples_kernels::structures::*;
use std::collections::HashMap;

#[test]
fn queue_of_many_producers() -> Outcome {
    let (module, stream) = start();
    let from = integers(600, 10_000);
    let mut slots = DeviceBuffer::<u32>::zeroed(600)?;
    let (mut tail, mut head) = (DeviceBox::new(&0u32)?, DeviceBox::new(&0u32)?);
    let mut to = DeviceBuffer::<u32>::zeroed(600)?;
    let device = from.as_dbuf()?;
    let args = queue::args(&device, &mut slots, &mut tail, &mut head, &mut to);
    // A thread may wait for an element that another one has yet to insert: all have to be resident.
    module.launch(&stream, LaunchConfig::new(3, 128).cooperative(), args)?;
    let (mut found, mut expected) = (to.as_host_vec()?, from);
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    Ok(())
}

#[test]
fn hash_table() -> Outcome {
    let (module, stream) = start();
    let pairs: Vec<[u32; 2]> = (0..600).map(|i| [hash(i) % 400, i as u32]).collect();
    let mut keys = vec![EMPTY; 1024].as_dbuf()?;
    let mut values = DeviceBuffer::<u32>::zeroed(1024)?;
    module.launch(
        &stream,
        (3, 128),
        table_insert::args(&pairs.as_dbuf()?, &mut keys, &mut values),
    )?;
    let wanted: Vec<u32> = (0..500).collect();
    let mut found = DeviceBuffer::<u32>::zeroed(wanted.len())?;
    module.launch(
        &stream,
        (4, 128),
        table_find::args(&wanted.as_dbuf()?, &keys, &values, &mut found),
    )?;
    let mut table = HashMap::new();
    for [key, value] in pairs {
        *table.entry(key).or_insert(0) += value;
    }
    let expected: Vec<u32> = wanted
        .iter()
        .map(|key| table.get(key).copied().unwrap_or(EMPTY))
        .collect();
    assert_eq!(found.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn breadth_first_search() -> Outcome {
    let (module, stream) = start();
    const NODES: usize = 700;
    let (mut rows, mut columns) = (vec![0u32], Vec::new());
    for node in 0..NODES {
        // Some nodes are not connected with the first.
        let edges = if node % 10 == 9 { 0 } else { 3 };
        columns.extend((0..edges).map(|k| {
            let other = hash(node * 3 + k) as usize % NODES;
            (if other % 10 == 9 { other - 1 } else { other }) as u32
        }));
        rows.push(columns.len() as u32);
    }
    let (device_rows, device_columns) = (rows.as_dbuf()?, columns.as_dbuf()?);
    let mut start = vec![u32::MAX; NODES];
    start[0] = 0;
    let mut levels = start.as_dbuf()?;
    let (mut frontier, mut next) = (
        DeviceBuffer::<u32>::zeroed(NODES)?,
        DeviceBuffer::<u32>::zeroed(NODES)?,
    );
    let mut len = 1;
    let mut level = 0;
    while len > 0 {
        let mut count = DeviceBox::new(&0u32)?;
        let args = bfs_level::args(
            level,
            &device_rows,
            &device_columns,
            frontier.index(..len)?,
            &mut levels,
            &mut next,
            &mut count,
        );
        module.launch(&stream, LaunchConfig::for_elements(len, 64), args)?;
        len = count.as_host_value()? as usize;
        std::mem::swap(&mut frontier, &mut next);
        level += 1;
    }
    let mut expected = vec![u32::MAX; NODES];
    expected[0] = 0;
    let mut queue = std::collections::VecDeque::from([0]);
    while let Some(node) = queue.pop_front() {
        for &other in &columns[rows[node] as usize..rows[node + 1] as usize] {
            if expected[other as usize] == u32::MAX {
                expected[other as usize] = expected[node] + 1;
                queue.push_back(other as usize);
            }
        }
    }
    assert_eq!(levels.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn cells_of_particles() -> Outcome {
    let (module, stream) = start();
    let mut cells = integers(500, 60);
    cells.sort_unstable();
    cells.retain(|&cell| cell != 17);
    let (mut starts, mut ends) = (
        DeviceBuffer::<u32>::zeroed(60)?,
        DeviceBuffer::<u32>::zeroed(60)?,
    );
    let config = LaunchConfig::for_elements(cells.len(), 128);
    module.launch(
        &stream,
        config,
        cell_bounds::args(&cells.as_dbuf()?, &mut starts, &mut ends),
    )?;
    let (starts, ends) = (starts.as_host_vec()?, ends.as_host_vec()?);
    for cell in 0..60 {
        let range = starts[cell as usize] as usize..ends[cell as usize] as usize;
        assert_eq!(range.len(), cells.iter().filter(|&&c| c == cell).count());
        assert!(cells[range].iter().all(|&c| c == cell));
    }
    Ok(())
}

#[test]
fn text_search() -> Outcome {
    let (module, stream) = start();
    let text: Vec<u8> = integers(1000, 2).iter().map(|&x| b'a' + x as u8).collect();
    let mut places = DeviceBuffer::<u32>::zeroed(text.len().div_ceil(32))?;
    let (device, wanted) = (text.as_dbuf()?, b"abba".as_dbuf()?);
    module.launch(
        &stream,
        (2, 128),
        find_text::args(&device, &wanted, &mut places),
    )?;
    let places = places.as_host_vec()?;
    for i in 0..text.len() {
        assert_eq!(
            places[i / 32] >> (i % 32) & 1 == 1,
            text[i..].starts_with(b"abba"),
            "{i}"
        );
    }
    Ok(())
}

#[test]
fn changes_between_texts() -> Outcome {
    let (module, stream) = start();
    let word = |offset: usize, len: usize| {
        (0..len)
            .map(|i| hash(i + offset) as u8 % 4)
            .collect::<Vec<_>>()
    };
    for (a, b) in [
        (word(0, 50), word(20, 60)),
        (word(0, 63), word(3, 5)),
        (word(0, 0), word(0, 9)),
    ] {
        let mut distance = DeviceBuffer::<u32>::zeroed(64)?;
        module.launch(
            &stream,
            (1, 64),
            edit_distance::args(&a.as_dbuf()?, &b.as_dbuf()?, &mut distance),
        )?;
        let mut row: Vec<u32> = (0..=b.len() as u32).collect();
        for (i, x) in a.iter().enumerate() {
            let mut corner = row[0];
            row[0] = i as u32 + 1;
            for (j, y) in b.iter().enumerate() {
                let replaced = corner + u32::from(x != y);
                corner = row[j + 1];
                row[j + 1] = replaced.min(corner + 1).min(row[j] + 1);
            }
        }
        assert_eq!(distance.as_host_vec()?[a.len()], row[b.len()]);
    }
    Ok(())
}

#[test]
fn means_of_clusters() -> Outcome {
    let (module, stream) = start();
    const CENTERS: [[f32; 2]; 3] = [[0.0, 0.0], [5.0, 1.0], [2.0, 7.0]];
    let points: Vec<[f32; 2]> = (0..300)
        .map(|i| {
            let noise = |k: usize| (hash(2 * i + k) % 1000) as f32 / 500.0 - 1.0;
            let [x, y] = CENTERS[i % 3];
            [x + noise(0), y + noise(1)]
        })
        .collect();
    let device = points.as_dbuf()?;
    let mut centers = vec![[1.0f32, 1.0], [4.0, 0.0], [3.0, 5.0]];
    let mut labels = DeviceBuffer::<u32>::zeroed(300)?;
    for _ in 0..3 {
        let (mut sums, mut counts) = (
            DeviceBuffer::<f32>::zeroed(6)?,
            DeviceBuffer::<u32>::zeroed(3)?,
        );
        let device_centers = centers.as_dbuf()?;
        let args = nearest::args(
            &device,
            &device_centers,
            &mut labels,
            &mut sums,
            &mut counts,
        );
        module.launch(&stream, (3, 128), args)?;
        let (sums, counts) = (sums.as_host_vec()?, counts.as_host_vec()?);
        for (i, center) in centers.iter_mut().enumerate() {
            *center = [0, 1].map(|k| sums[2 * i + k] / counts[i] as f32);
        }
    }
    for (i, label) in labels.as_host_vec()?.into_iter().enumerate() {
        assert_eq!(label as usize, i % 3, "point {i}");
    }
    for (found, expected) in centers.iter().zip(CENTERS) {
        assert!((found[0] - expected[0]).abs() < 0.3 && (found[1] - expected[1]).abs() < 0.3);
    }
    Ok(())
}

#[test]
fn locks() -> Outcome {
    let (module, stream) = start();
    let mut lock = DeviceBox::new(&0u32)?;
    let mut balance = vec![1000u32; 5].as_dbuf()?;
    // Not a multiple of five threads, so that not all accounts come out even.
    module.launch(&stream, (2, 48), locked::args(&mut lock, &mut balance))?;
    let mut expected = vec![1000u32; 5];
    for i in 0..96 {
        expected[i % 5] -= 1;
        expected[(i + 1) % 5] += 1;
    }
    assert_eq!(balance.as_host_vec()?, expected);
    assert_eq!(lock.as_host_value()?, 0);
    Ok(())
}
