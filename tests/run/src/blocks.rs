//! Runs the kernels whose threads cooperate, and compares their results with the expected ones.

use crate::{Build, Session, expect, trial};
use cust::prelude::*;
use device_tests_kernels::blocks::{BLOCK, FACTORS, Image};
use device_tests_kernels::mix;
use libtest_mimic::{Failed, Trial};

/// A trial for each kernel.
pub fn trials(build: Build) -> Vec<Trial> {
    vec![
        trial(build, "block_sum", sum),
        trial(build, "block_reverse", reverse),
        trial(build, "block_votes", votes),
        trial(build, "block_indices", indices),
        trial(build, "block_histogram", histogram),
        trial(build, "block_contention", contention),
        trial(build, "block_two_statics", two_statics),
        trial(build, "block_exit", exit),
        trial(build, "block_constants", constants),
        trial(build, "block_image", image),
    ]
}

fn random(n: usize) -> Vec<u32> {
    (0..n as u64).map(|k| (mix(k) % 1000) as u32).collect()
}

fn sum(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    let input = random(5 * BLOCK - 7);
    let input_device = input.as_dbuf()?;
    let sums = DeviceBuffer::<u32>::zeroed(5)?;
    // SAFETY: there is a sum for each block, and blocks have the kernel's size.
    unsafe {
        launch!(module.block_sum<<<5, BLOCK as u32, 0, stream>>>(
            input_device.as_device_ptr(),
            input_device.len(),
            sums.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    let expected: Vec<u32> = input
        .chunks(BLOCK)
        .map(|block| block.iter().sum())
        .collect();
    expect(sums.as_host_vec()?, expected, "the blocks' sums")
}

fn reverse(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    for block in [1, 32, 100] {
        let mut data: Vec<u64> = (0..3 * block as u64).map(mix).collect();
        let device = data.as_dbuf()?;
        let bytes = block * size_of::<u64>() as u32;
        // SAFETY: there is an element for each thread, and shared memory for each of a block.
        unsafe {
            launch!(module.block_reverse<<<3, block, bytes, stream>>>(device.as_device_ptr()))?;
        }
        stream.synchronize()?;
        data.chunks_mut(block as usize).for_each(<[u64]>::reverse);
        expect(device.as_host_vec()?, data, "the reversed data")?;
    }
    Ok(())
}

fn votes(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    // Blocks of 40: all zero, all set, mixed.
    let input: Vec<u32> = (0..120).map(|i| [0, i, i % 3][i as usize / 40]).collect();
    let input_device = input.as_dbuf()?;
    let votes = DeviceBuffer::<[u32; 3]>::zeroed(120)?;
    // SAFETY: both buffers have an element for each thread.
    unsafe {
        launch!(module.block_votes<<<3, 40, 0, stream>>>(
            input_device.as_device_ptr(),
            input_device.len(),
            votes.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    let expected: Vec<[u32; 3]> = input
        .chunks(40)
        .flat_map(|block| {
            let count = block.iter().filter(|x| **x != 0).count() as u32;
            [[count, u32::from(count == 40), u32::from(count > 0)]; 40]
        })
        .collect();
    expect(votes.as_host_vec()?, expected, "the votes")
}

fn indices(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    let (blocks, threads) = ((2, 3, 2), (5, 4, 3));
    let places = DeviceBuffer::<[u32; 20]>::zeroed(12 * 60)?;
    // SAFETY: there is an element for each thread.
    unsafe {
        launch!(module.block_indices<<<blocks, threads, 0, stream>>>(places.as_device_ptr()))?;
    }
    stream.synchronize()?;
    let mut expected = Vec::new();
    let all = |(x, y, z): (u32, u32, u32)| {
        (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| (i, j, k))))
    };
    for (bx, by, bz) in all(blocks) {
        for (x, y, z) in all(threads) {
            let in_block = (z * threads.1 + y) * threads.0 + x;
            let global = (bx * threads.0 + x, by * threads.1 + y, bz * threads.2 + z);
            expected.push([
                x,
                y,
                z,
                bx,
                by,
                bz,
                threads.0,
                threads.1,
                threads.2,
                blocks.0,
                blocks.1,
                blocks.2,
                global.0,
                global.1,
                global.2,
                global.0,
                in_block,
                in_block % 32,
                in_block / 32,
                u32::from(in_block == 0 && (bx, by, bz) == (0, 0, 0)),
            ]);
        }
    }
    expect(places.as_host_vec()?, expected, "the threads' places")
}

fn histogram(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    let input: Vec<u8> = (0..1000).map(|k| mix(k) as u8).collect();
    let input_device = input.as_dbuf()?;
    let counts = DeviceBuffer::<u32>::zeroed(16)?;
    // SAFETY: there are as many counts as the kernel has bins.
    unsafe {
        launch!(module.block_histogram<<<3, 64, 0, stream>>>(
            input_device.as_device_ptr(),
            input_device.len(),
            counts.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    let mut expected = vec![0; 16];
    input
        .iter()
        .for_each(|byte| expected[usize::from(byte % 16)] += 1);
    expect(counts.as_host_vec()?, expected, "the counts")
}

fn contention(session: &Session, build: Build) -> Result<(), Failed> {
    // The kernel's struct, without atomics.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    struct Contended {
        sum: u32,
        largest: u64,
        bits: u16,
        turns: u8,
        product: u64,
    }
    // SAFETY: numbers only.
    unsafe impl DeviceCopy for Contended {}

    let (module, stream) = (session.module(build)?, &session.stream);
    let mut all = Contended {
        sum: 0,
        largest: 0,
        bits: 0,
        turns: 0,
        product: 1,
    };
    let device = DeviceBox::new(&all)?;
    // SAFETY: the struct has the kernel's layout, and all its threads' accesses are atomic.
    unsafe { launch!(module.block_contention<<<4, 96, 0, stream>>>(device.as_device_ptr()))? };
    stream.synchronize()?;
    for i in 0..4 * 96 {
        all.sum += i;
        all.largest = u64::from(i) << 33;
        all.bits ^= i as u16;
        all.turns = all.turns.wrapping_add(3);
        all.product = all.product.wrapping_mul(u64::from(i) * 2 + 1);
    }
    expect(device.as_host_value()?, all, "what all threads changed")
}

fn two_statics(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    let input = random(2 * BLOCK);
    let input_device = input.as_dbuf()?;
    let output = DeviceBuffer::<[u32; 2]>::zeroed(input.len())?;
    // SAFETY: both buffers have an element for each thread, and blocks have the kernel's size.
    unsafe {
        launch!(module.block_two_statics<<<2, BLOCK as u32, 0, stream>>>(
            input_device.as_device_ptr(),
            input_device.len(),
            output.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    let expected: Vec<[u32; 2]> = input
        .chunks(BLOCK)
        .flat_map(|block| {
            block.iter().rev().map(|x| {
                let mut pair = [1000, 2000];
                pair[(x % 2) as usize] += x;
                pair
            })
        })
        .collect();
    expect(output.as_host_vec()?, expected, "the two statics")
}

fn exit(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    let output = DeviceBuffer::<u32>::zeroed(128)?;
    // SAFETY: there is an element for each thread.
    unsafe { launch!(module.block_exit<<<2, 64, 0, stream>>>(output.as_device_ptr()))? };
    stream.synchronize()?;
    let expected: Vec<u32> = (0..128).map(|i| 1 - i % 2).collect();
    expect(output.as_host_vec()?, expected, "what the threads wrote")
}

fn constants(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    // SAFETY: the module is of that crate, and the second variable is of this type.
    let (factors, mut launches) = unsafe {
        (
            module.global_unchecked::<FACTORS>()?,
            module.get_global::<[u32; 3]>("LAUNCHES")?,
        )
    };
    let initial = [1.0, 2.0, 3.0, 4.0];
    let mut before = initial;
    for (k, values) in [initial, [0.5, -1.0, 10.0, 0.0]].into_iter().enumerate() {
        expect(factors.get()?, before, "the factors")?;
        // SAFETY: nothing is launched meanwhile.
        unsafe { factors.set_unchecked(&values)? };
        before = values;
        let data = [1.0f32, 2.0, 3.0, 4.0, 5.0].as_dbuf()?;
        // SAFETY: there is an element for each thread.
        unsafe { launch!(module.block_constants<<<1, 5, 0, stream>>>(data.as_device_ptr()))? };
        stream.synchronize()?;
        let expected = (0..5)
            .map(|i| (i + 1) as f32 * values[i % 4])
            .collect::<Vec<_>>();
        expect(data.as_host_vec()?, expected, "the scaled data")?;
        let mut trace = [0; 3];
        launches.copy_to(&mut trace)?;
        expect(trace, [101 + k as u32, 1, 7], "the trace in global memory")?;
    }
    launches.copy_from(&[100, 0, 7])?;
    // SAFETY: as above.
    unsafe { factors.set_unchecked(&initial)? };
    Ok(())
}

fn image(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    let (width, height) = (37, 21);
    let pixels = DeviceBuffer::<u8>::zeroed((width * height) as usize)?;
    let image = Image {
        pixels: pixels.as_device_ptr().as_mut_ptr(),
        width,
        height,
    };
    // SAFETY: the image's pointer is to as many pixels as it says.
    unsafe { launch!(module.block_image<<<(5, 3), (8, 8), 0, stream>>>(image))? };
    stream.synchronize()?;
    let expected = (0..height)
        .flat_map(|y| (0..width).map(move |x| (x * 3 + y * 5) as u8))
        .collect::<Vec<_>>();
    expect(pixels.as_host_vec()?, expected, "the image")
}
