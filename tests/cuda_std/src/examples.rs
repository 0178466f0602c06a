//! Runs the examples of `cuda_std`'s documentation, and compares their results with the CPU's.

use crate::{Arch, Session, expect, trial};
use cuda_std_tests_kernels::examples::*;
use cuda_std_tests_kernels::random;
use cust::prelude::*;
use cust::vector::F32x4;
use libtest_mimic::{Failed, Trial};

/// A launch of a kernel of this package.
macro_rules! launch_example {
    ($session:ident, $module:ident, $kernel:ident, $blocks:expr, $threads:expr, $($arg:expr),* $(,)?) => {{
        // SAFETY: the module is built from the kernel's crate.
        let kernel = unsafe { $module.kernel_unchecked::<$kernel>()? };
        kernel.launch(&$session.stream, ($blocks, $threads), $kernel::args($($arg),*))?;
        $session.stream.synchronize()?;
    }};
}

macro_rules! examples {
    ($($kernel:ident |$session:ident, $module:ident| $run:block)*) => {
        /// The kernels that run here.
        const RUN: &[&str] = &[$(stringify!($kernel)),*];

        /// Returns the trials, and one that checks that every example is among them.
        pub fn trials() -> Vec<Trial> {
            let all = Trial::test("examples::all_are_run", || {
                for kernel in KERNELS {
                    expect(RUN.contains(kernel), true, kernel)?;
                }
                Ok(())
            });
            let mut trials = vec![all];
            $({
                fn run($session: &Session, $module: &Module) -> Result<(), Failed> {
                    $run;
                    Ok(())
                }
                trials.push(trial(Arch::Sm75, concat!("examples::", stringify!($kernel)), run));
            })*
            trials
        }
    };
}

fn floats(n: u32) -> Vec<f32> {
    (0..n).map(|i| (random(i) % 100) as f32).collect()
}

fn words(n: u32) -> Vec<u32> {
    (0..n).map(|i| random(i) as u32 % 200).collect()
}

examples! {
    lib_add |session, module| {
        let a = floats(100);
        let mut sum = DeviceBuffer::<f32>::zeroed(100)?;
        launch_example!(session, module, lib_add, 2, 32, &a.as_dbuf()?, &a.as_dbuf()?, &mut sum);
        expect(sum.as_host_vec()?, a.iter().map(|a| a + a).collect(), "the sums")?
    }
    atomic_sum |session, module| {
        let a = floats(100);
        let mut sum = DeviceBox::new(&0.0f32)?;
        launch_example!(session, module, atomic_sum, 2, 32, &a.as_dbuf()?, &mut sum);
        expect(sum.as_host_value()?, a.iter().sum(), "the sum")?
    }
    atomic_histogram |session, module| {
        let bytes: Vec<u8> = (0..1000).map(|i| (i * i % 7 + i % 200) as u8).collect();
        let mut to = DeviceBuffer::<u32>::zeroed(256)?;
        launch_example!(session, module, atomic_histogram, 3, 64, &bytes.as_dbuf()?, &mut to);
        let count = |value| bytes.iter().filter(|&&byte| u32::from(byte) == value).count() as u32;
        expect(to.as_host_vec()?, (0..256).map(count).collect(), "the counts")?
    }
    atomic_count |session, module| {
        let from = words(200);
        let mut to = DeviceBuffer::<u32>::zeroed(8)?;
        launch_example!(session, module, atomic_count, 2, 64, &from.as_dbuf()?, &mut to);
        // Each block processes 64 elements at a time.
        let count = |block: usize, value: u32| {
            let own = |i: &usize| i / 64 % 2 == block && from[*i] % 4 == value;
            (0..from.len()).filter(own).count() as u32
        };
        let expected = (0..2).flat_map(|block| (0..4).map(move |value| (block, value)));
        let expected = expected.map(|(block, value)| count(block, value)).collect();
        expect(to.as_host_vec()?, expected, "the counts of each block")?
    }
    barrier_hand_over |session, module| {
        let mut to = DeviceBuffer::<u32>::zeroed(128)?;
        launch_example!(session, module, barrier_hand_over, 2, 64, &mut to);
        expect(to.as_host_vec()?, (0..128).collect(), "the indices")?
    }
    bits_largest |session, module| {
        let data = floats(100);
        let mut to = DeviceBuffer::<u32>::zeroed(2)?;
        launch_example!(session, module, bits_largest, 2, 64, &data.as_dbuf()?, &mut to);
        let found = to.as_host_vec()?;
        for (block, found) in data.chunks(64).zip(found) {
            let largest = block.iter().copied().fold(0.0, f32::max);
            expect(data[found as usize], largest, "the largest")?;
        }
    }
    constant_scale |session, module| {
        let data = floats(64);
        let scaled = |factors: [f32; 2]| -> Result<(), Failed> {
            let mut to = DeviceBuffer::<f32>::zeroed(64)?;
            launch_example!(session, module, constant_scale, 1, 64, &data.as_dbuf()?, &mut to);
            let expected = data.iter().enumerate().map(|(i, x)| factors[i % 2] * x);
            expect(to.as_host_vec()?, expected.collect(), "the scaled numbers")
        };
        scaled([1.0, 1.0])?;
        // SAFETY: the module is built from the static's crate, and one test runs at a time.
        unsafe { module.global_unchecked::<FACTORS>()?.set_unchecked(&[0.5, 2.0])? };
        scaled([0.5, 2.0])?;
    }
    debug_count_events |session, module| {
        let data = words(64);
        let mut to = DeviceBuffer::<u32>::zeroed(64)?;
        launch_example!(session, module, debug_count_events, 1, 64, &data.as_dbuf()?, &mut to);
        expect(to.as_host_vec()?, data, "the copy")?
    }
    fence_publish |session, module| {
        let data = DeviceBuffer::<u32>::zeroed(2)?;
        let stream = &session.stream;
        // SAFETY: the kernel's parameters are pointers to one number each.
        unsafe {
            launch!(module.fence_publish<<<1, 32, 0, stream>>>(
                data.as_device_ptr(), data.as_device_ptr().as_raw() + 4
            ))?;
        }
        stream.synchronize()?;
        expect(data.as_host_vec()?, vec![7, 1], "what was published")?
    }
    float_shade |session, module| {
        let angles: Vec<f32> = floats(100).iter().map(|x| x * 0.01).collect();
        let mut to = DeviceBuffer::<f32>::zeroed(100)?;
        launch_example!(session, module, float_shade, 2, 32, &angles.as_dbuf()?, &mut to);
        for (found, x) in to.as_host_vec()?.into_iter().zip(&angles) {
            expect((found - x.cos().exp()).abs() < 1e-5, true, "the shade")?;
        }
    }
    float_distances |session, module| {
        let points = floats(200).as_chunks::<2>().0.to_vec();
        let mut to = DeviceBuffer::<f32>::zeroed(100)?;
        launch_example!(session, module, float_distances, 2, 32, &points.as_dbuf()?, &mut to);
        // The squares and their sums are exact.
        let distances = points.iter().map(|[x, y]| (x * x + y * y).sqrt());
        expect(to.as_host_vec()?, distances.collect(), "the distances")?
    }
    group_largest |session, module| {
        let data = words(128);
        let mut to = DeviceBuffer::<u32>::zeroed(2)?;
        let mut sums = DeviceBuffer::<u32>::zeroed(128)?;
        launch_example!(session, module, group_largest, 2, 64, &data.as_dbuf()?, &mut to, &mut sums);
        let largest = data.chunks(64).map(|block| block.iter().copied().max().unwrap_or(0));
        expect(to.as_host_vec()?, largest.collect(), "the largest")?;
        let scan = data.chunks(32).flat_map(|warp| {
            warp.iter().scan(0, |sum, x| {
                *sum += x;
                Some(*sum)
            })
        });
        expect(sums.as_host_vec()?, scan.collect(), "the sums so far")?
    }
    io_complain |session, module| {
        let data = [1i32, 2, 3].as_dbuf()?;
        launch_example!(session, module, io_complain, 1, 32, &data)
    }
    memory_copy |session, module| {
        let data: Vec<f64> = floats(100).into_iter().map(f64::from).collect();
        let mut to = DeviceBuffer::<f64>::zeroed(100)?;
        launch_example!(session, module, memory_copy, 2, 32, &data.as_dbuf()?, &mut to);
        expect(to.as_host_vec()?, data, "the copy")?
    }
    memory_warp_sums |session, module| {
        let data: Vec<u64> = words(128).into_iter().map(u64::from).collect();
        let mut to = DeviceBuffer::<u64>::zeroed(128)?;
        launch_example!(session, module, memory_warp_sums, 2, 64, &data.as_dbuf()?, &mut to);
        let sums = (0..128).map(|i| match (i / 64, i % 32) {
            (block, warp @ 0..2) => data[64 * block + 32 * warp..][..32].iter().sum(),
            _ => 0,
        });
        expect(to.as_host_vec()?, sums.collect(), "the sums of the warps")?
    }
    per_block_double |session, module| {
        let mut to = (0..103).collect::<Vec<u32>>().as_dbuf()?;
        launch_example!(session, module, per_block_double, 2, 8, &mut to);
        expect(to.as_host_vec()?, (0..103).map(|x| 2 * x).collect(), "the doubles")?
    }
    per_block_sums |session, module| {
        let data = words(150);
        let mut to = DeviceBuffer::<u32>::zeroed(3)?;
        launch_example!(session, module, per_block_sums, 3, 50, &data.as_dbuf()?, &mut to);
        expect(to.as_host_vec()?, data.chunks(50).map(|block| block.iter().sum()).collect(), "the sums")?
    }
    per_thread_scale |session, module| {
        let data = floats(100);
        let mut to = DeviceBuffer::<f32>::zeroed(100)?;
        launch_example!(session, module, per_thread_scale, 2, 32, 2.5, &data.as_dbuf()?, &mut to);
        expect(to.as_host_vec()?, data.iter().map(|x| 2.5 * x).collect(), "the products")?
    }
    per_thread_vecadd |session, module| {
        let (a, b) = (floats(100), floats(90));
        let mut sum = DeviceBuffer::<f32>::zeroed(100)?;
        launch_example!(session, module, per_thread_vecadd, 2, 32, &a.as_dbuf()?, &b.as_dbuf()?, &mut sum);
        // Up to the end of the shortest slice.
        let sums = (0..100).map(|i| if i < 90 { a[i] + b[i] } else { 0.0 });
        expect(sum.as_host_vec()?, sums.collect(), "the sums")?
    }
    per_thread_2d_transpose |session, module| {
        let data = floats(7 * 5);
        let mut to = DeviceBuffer::<f32>::zeroed(35)?;
        launch_example!(session, module, per_thread_2d_transpose, (2, 2), (4, 2), &data.as_dbuf()?, to.rows_mut(7));
        expect(to.as_host_vec()?, (0..35).map(|i| data[i % 7 * 5 + i / 7]).collect(), "the transpose")?
    }
    per_row_collatz |session, module| {
        let starts: Vec<u32> = (1..=40).collect();
        let mut to = DeviceBuffer::<u32>::zeroed(40 * 9)?;
        launch_example!(session, module, per_row_collatz, 2, 32, &starts.as_dbuf()?, to.rows_mut(40));
        let mut row = starts;
        let rows = (0..9).flat_map(|_| {
            let next = row.iter().map(|n| if n % 2 == 0 { n / 2 } else { 3 * n + 1 }).collect();
            std::mem::replace(&mut row, next)
        });
        expect(to.as_host_vec()?, rows.collect(), "the sequences")?
    }
    per_row_normalize |session, module| {
        // The last row is shorter.
        let from: Vec<f32> = (1..=33).map(|i| i as f32).collect();
        let mut matrix = from.as_dbuf()?;
        launch_example!(session, module, per_row_normalize, 3, 256, matrix.rows_mut(5));
        let quotients = from.chunks(5).flat_map(|row| {
            let sum: f32 = row.iter().sum();
            row.iter().map(move |x| x / sum)
        });
        expect(matrix.as_host_vec()?, quotients.collect(), "the rows")?
    }
    per_thread_3d_distance |session, module| {
        let mut to = DeviceBuffer::<f32>::zeroed(7 * 5 * 3)?;
        let from = [3.0, 0.5, 2.0];
        launch_example!(session, module, per_thread_3d_distance, (2, 2, 2), (4, 2, 2), from, to.volume_mut(7, 5));
        let distances = (0..105).map(|i| {
            let place = [i % 7, i / 7 % 5, i / 35].map(|place| place as f32);
            let [x, y, z] = [0, 1, 2].map(|d| place[d] - from[d]);
            // With fused multiply-adds, as on the device.
            z.mul_add(z, y.mul_add(y, x * x)).sqrt()
        });
        expect(to.as_host_vec()?, distances.collect(), "the distances")?
    }
    matrix_view_smooth |session, module| {
        let data = floats(7 * 5);
        let mut to = DeviceBuffer::<f32>::zeroed(35)?;
        launch_example!(session, module, matrix_view_smooth, (2, 2), (4, 2), &data.as_dbuf()?, to.rows_mut(7));
        let at = |x: usize, y: usize| if x < 7 { data[y * 7 + x] } else { 0.0 };
        let means = (0..35usize).map(|i| {
            let (x, y) = (i % 7, i / 7);
            (at(x.wrapping_sub(1), y) + at(x, y) + at(x + 1, y)) / 3.0
        });
        expect(to.as_host_vec()?, means.collect(), "the means")?
    }
    shared_transpose |session, module| {
        let data = floats(70 * 50);
        let mut to = DeviceBuffer::<f32>::zeroed(3500)?;
        launch_example!(session, module, shared_transpose, (2, 2), (32, 8), &data.as_dbuf()?, to.rows_mut(70));
        expect(to.as_host_vec()?, (0..3500).map(|i| data[i % 70 * 50 + i / 70]).collect(), "the transpose")?
    }
    shared_phases_reverse |session, module| {
        let data = words(128);
        let mut to = DeviceBuffer::<u32>::zeroed(128)?;
        launch_example!(session, module, shared_phases_reverse, 2, 64, &data.as_dbuf()?, &mut to);
        let reversed = data.chunks(64).flat_map(|block| block.iter().rev().copied());
        expect(to.as_host_vec()?, reversed.collect(), "the reversed blocks")?
    }
    thread_transpose |session, module| {
        let data = floats(25).as_dbuf()?;
        let to = DeviceBuffer::<f32>::zeroed(25)?;
        let stream = &session.stream;
        // SAFETY: the kernel's parameters are the matrices' size, a slice, and a pointer to as many
        // numbers.
        unsafe {
            launch!(module.thread_transpose<<<(1, 1), (8, 8), 0, stream>>>(
                5u32, data.as_device_ptr(), data.len(), to.as_device_ptr()
            ))?;
        }
        stream.synchronize()?;
        let data = data.as_host_vec()?;
        expect(to.as_host_vec()?, (0..25).map(|i| data[i % 5 * 5 + i / 5]).collect(), "the transpose")?
    }
    thread_count |session, module| {
        let data: Vec<u32> = words(100).iter().map(|x| x % 3).collect();
        let mut zeros = DeviceBox::new(&0u32)?;
        launch_example!(session, module, thread_count, 2, 32, &data.as_dbuf()?, &mut zeros);
        expect(zeros.as_host_value()?, data.iter().filter(|&&x| x == 0).count() as u32, "the count")?
    }
    thread_sum |session, module| {
        let data = floats(150);
        let mut to = DeviceBuffer::<f32>::zeroed(2)?;
        launch_example!(session, module, thread_sum, 2, 50, &data.as_dbuf()?, &mut to);
        let of_block = |block| (0..150).filter(move |i| i / 50 % 2 == block);
        let sums = (0..2).map(|block| of_block(block).map(|i| data[i]).sum());
        expect(to.as_host_vec()?, sums.collect(), "the sums")?
    }
    thread_row_sums |session, module| {
        let matrix = floats(12 * 50);
        let mut to = DeviceBuffer::<f32>::zeroed(12)?;
        launch_example!(session, module, thread_row_sums, 2, 256, 50usize, &matrix.as_dbuf()?, &mut to);
        let sums = matrix.chunks(50).map(|row| row.iter().sum());
        expect(to.as_host_vec()?, sums.collect(), "the sums of the rows")?
    }
    time_measure |session, module| {
        let mut to = DeviceBuffer::from_slice(&[[0u64; 2]; 32])?;
        launch_example!(session, module, time_measure, 1, 32, 1000u64, 7u64, &mut to);
        for [quotient, cycles] in to.as_host_vec()? {
            expect((quotient, cycles < 1 << 40), (142, true), "the quotient and its time")?;
        }
    }
    unroll_polynomial |session, module| {
        let factors: [f32; 12] = core::array::from_fn(|k| k as f32 - 4.0);
        let at: Vec<f32> = floats(100).iter().map(|x| x * 0.01).collect();
        let mut to = DeviceBuffer::<f32>::zeroed(100)?;
        launch_example!(session, module, unroll_polynomial, 2, 32, factors, &at.as_dbuf()?, &mut to);
        let value = |&x: &f32| factors.iter().fold(0.0, |value, factor| value * x + factor);
        expect(to.as_host_vec()?, at.iter().map(value).collect(), "the values")?
    }
    vector_axpy |session, module| {
        let (x, y) = (floats(100).as_dbuf()?, floats(100));
        let mut to = y.as_dbuf()?;
        launch_example!(
            session, module, vector_axpy, 1, 32,
            3.0, x.as_vectors::<F32x4>()?, to.as_vectors_mut::<F32x4>()?
        );
        expect(to.as_host_vec()?, y.iter().map(|y| 3.0 * y + y).collect(), "the sums")?
    }
    vector_zeros |session, module| {
        let data: Vec<u32> = words(100).iter().map(|x| x % 3).collect();
        let mut zeros = DeviceBox::new(&0u32)?;
        launch_example!(session, module, vector_zeros, 1, 16, &data.as_dbuf()?, &mut zeros);
        expect(zeros.as_host_value()?, data.iter().filter(|&&x| x == 0).count() as u32, "the count")?
    }
    warp_warp_sums |session, module| {
        let data = words(128);
        let mut to = DeviceBuffer::<u32>::zeroed(128)?;
        launch_example!(session, module, warp_warp_sums, 2, 64, &data.as_dbuf()?, &mut to);
        let sums = data.chunks(32).flat_map(|warp| [warp.iter().sum::<u32>(); 32]);
        expect(to.as_host_vec()?, sums.collect(), "the warps' sums")?
    }
}
