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
    // What a thread takes another one may still have to put there: all have to run.
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
