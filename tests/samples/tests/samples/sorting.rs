use crate::{Outcome, hash, integers, start};
use cust::prelude::*;
use samples_kernels::sorting::*;

fn sorted(mut data: Vec<u32>) -> Vec<u32> {
    data.sort_unstable();
    data
}

#[test]
fn bitonic() -> Outcome {
    let (module, stream) = start();
    let data: Vec<u32> = (0..1024).map(hash).collect();
    let mut keys = data.as_dbuf()?;
    module.launch(&stream, (4, 256), bitonic_blocks::args(&mut keys))?;
    let mut size = 2 * SORTED;
    while size <= data.len() {
        let mut stride = size / 2;
        while stride > 0 {
            let args = bitonic_step::args(size as u32, stride as u32, &mut keys);
            module.launch(&stream, (2, 256), args)?;
            stride /= 2;
        }
        size *= 2;
    }
    assert_eq!(keys.as_host_vec()?, sorted(data));
    Ok(())
}

#[test]
fn odd_even_and_merge() -> Outcome {
    let (module, stream) = start();
    let data = integers(2048, 500);
    let mut keys = data.as_dbuf()?;
    module.launch(&stream, (8, 128), odd_even::args(&mut keys))?;
    let expected: Vec<u32> = data
        .chunks(SORTED)
        .flat_map(|block| sorted(block.to_vec()))
        .collect();
    assert_eq!(keys.as_host_vec()?, expected);

    let mut other = DeviceBuffer::<u32>::zeroed(data.len())?;
    let mut run = SORTED;
    while run < data.len() {
        module.launch(&stream, (8, 128), merge_runs::args(run, &keys, &mut other))?;
        std::mem::swap(&mut keys, &mut other);
        run *= 2;
    }
    assert_eq!(keys.as_host_vec()?, sorted(data));
    Ok(())
}

#[test]
fn radix() -> Outcome {
    let (module, stream) = start();
    let data = integers(1500, 1 << 16);
    let mut keys = data.as_dbuf()?;
    let mut other = DeviceBuffer::<u32>::zeroed(data.len())?;
    let config = LaunchConfig::for_elements(data.len(), 256);
    let count = config.grid.x as usize * DIGITS;
    let mut counts = DeviceBuffer::<u32>::zeroed(count)?;
    let mut starts = DeviceBuffer::<u32>::zeroed(count)?;
    for shift in (0..16).step_by(2) {
        module.launch(
            &stream,
            config,
            radix_count::args(shift, &keys, &mut counts),
        )?;
        module.launch(
            &stream,
            (1, count as u32),
            radix_scan::args(&counts, &mut starts),
        )?;
        module.launch(
            &stream,
            config,
            radix_scatter::args(shift, &keys, &starts, &mut other),
        )?;
        std::mem::swap(&mut keys, &mut other);
    }
    assert_eq!(keys.as_host_vec()?, sorted(data));
    Ok(())
}
