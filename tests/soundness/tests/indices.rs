//! Kernels whose indices are almost in bounds do on the device what they do on the CPU.

#![forbid(unsafe_code)]

use std::sync::{Mutex, PoisonError};

use cust::error::Error;
use cust::prelude::*;
use soundness_tests::KERNELS;
use soundness_tests_kernels::indices;

type Outcome = Result<(), Box<dyn std::error::Error>>;

static TURN: Mutex<()> = Mutex::new(());

/// The result of a launch.
#[derive(Debug, PartialEq)]
enum Found {
    Values(Vec<u32>),
    Panic(u32, String),
}

impl Found {
    fn new(result: CudaResult<()>, values: Vec<u32>) -> CudaResult<Found> {
        match result {
            Ok(()) => Ok(Found::Values(values)),
            Err(Error::KernelPanic(panic)) => Ok(Found::Panic(panic.line, panic.message)),
            Err(other) => Err(other),
        }
    }

    /// Returns whether the result says nothing about the device, whose kernels do not check
    /// arithmetic for overflow.
    fn overflows(&self) -> bool {
        matches!(self, Found::Panic(_, message) if message.contains("overflow"))
    }
}

/// Lengths and numbers around those at which integers and their products no longer fit.
const NUMBERS: [usize; 16] = [
    0,
    1,
    3,
    7,
    16,
    40,
    (1 << 15) + 1,
    (1 << 30) - 1,
    1 << 30,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 1,
    1 << 63,
    usize::MAX,
];

/// Grids and blocks, the length of the output, and lengths of the slice with elements.
const LAUNCHES: [((u32, u32), usize, &[u32]); 5] = [
    ((1, 1), 1, &[16, 3, 0, 64]),
    ((1, 32), 1, &[16]),
    ((1, 32), 32, &[16, 40]),
    ((2, 16), 32, &[32, 0]),
    ((1, 8), 21, &[16]),
];

/// Returns whether a kernel takes long with these numbers.
fn is_slow(kernel: &str, a: usize, b: usize) -> bool {
    let loops = [
        "reversed",
        "early_exit",
        "steps",
        "last_of_step",
        "triangle",
    ];
    loops.contains(&kernel) && a > 1 << 20 && b < 1 << 30
}

/// Launches kernels on the CPU and on the device with every `EVERY`th combination of arguments.
macro_rules! compare {
    ($module:expr, $stream:expr; $($kernel:ident)*) => {{
        const EVERY: u32 = 13;
        const EMPTY: [usize; 9] =
            [0, 1, 7, 16, 40, (1 << 30) - 1, 1 << 30, 1 << 32, usize::MAX];
        let mut case = 0;
        $(
            let kernel = $module.kernel::<indices::$kernel>()?;
            let launches = LAUNCHES.iter().flat_map(|(shape, len, lengths)| {
                lengths.iter().flat_map(move |xs| EMPTY.map(|zs| (*shape, *len, *xs, zs)))
            });
            for (shape, len, xs, zs) in launches {
                let xs: Vec<u32> = (0..xs).map(|x| x * x % 11).collect();
                let zs = &vec![(); zs][..];
                for (a, b) in NUMBERS.into_iter().flat_map(|a| NUMBERS.map(|b| (a, b))) {
                    case += 1;
                    if case % EVERY != 0 || is_slow(stringify!($kernel), a, b) {
                        continue;
                    }
                    let mut cpu = vec![77; len];
                    let args = indices::$kernel::args(&xs, zs, a, b, &mut cpu);
                    let cpu = Found::new(cust::launch_cpu(shape, args), cpu)?;
                    if cpu.overflows() {
                        continue;
                    }
                    let mut device = vec![77; len];
                    let args = indices::$kernel::args(&xs, zs, a, b, &mut device);
                    let device = Found::new(kernel.launch($stream, shape, args), device)?;
                    // Several threads may panic, and any of them reports it.
                    let equal = match (&cpu, &device) {
                        (Found::Panic(..), Found::Panic(..)) if shape.1 > 1 => true,
                        (cpu, device) => cpu == device,
                    };
                    assert!(
                        equal,
                        "{} in a launch of {shape:?} with {} elements, {} without bytes, {a:#x} and \
                         {b:#x}: {cpu:?} on the CPU, {device:?} on the device",
                        stringify!($kernel),
                        xs.len(),
                        zs.len(),
                    );
                }
            }
        )*
    }};
}

#[test]
fn indices_are_checked_as_on_the_cpu() -> Outcome {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let _device = cust::init_auto()?;
    let module = KERNELS.load()?;
    let stream = &Stream::new(StreamFlags::NON_BLOCKING, None)?;
    compare!(module, stream;
        neighbors_of_float neighbors_of_double bits_of_float bits_of_double bits_of_float_in_rows sign_of_word sixteen_bits
        eight_bits_with_sign rows rows_of_wrapping_width rows_and_neighbors row_below column_beside
        rows_of_another_pitch narrow_product shifted_out below_zero below_zero_and_back distance
        signed negative_factor reversed narrow_counter wide_counter steps steps_of_eight
        last_of_step shadowed_length length_of_another lengths_through_a_third rest_of_slice
        both_ends chunks split early_exit triangle volume masked remainder quotient rounded_up
        least_and_greatest unlike high_bits overflowing
    );
    Ok(())
}

#[test]
fn loops_over_the_grid_end_when_they_do_on_the_cpu() -> Outcome {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let _device = cust::init_auto()?;
    let module = KERNELS.load()?;
    let stream = &Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let xs: Vec<u32> = (1..20).collect();
    macro_rules! compare {
        ($shape:expr, $kernel:ident($($argument:expr),*)) => {{
            let (mut cpu, mut device) = (vec![0u32; 16], vec![0u32; 16]);
            let args = indices::$kernel::args($($argument,)* &xs, &mut cpu);
            cust::launch_cpu($shape, args)?;
            let args = indices::$kernel::args($($argument,)* &xs, &mut device);
            module.kernel::<indices::$kernel>()?.launch(stream, $shape, args)?;
            let arguments = [$($argument),*];
            assert_eq!(cpu, device, "{} {:?} {arguments:?}", stringify!($kernel), $shape);
        }};
    }
    for shape in [(1, 1), (1, 32), (4, 8), (3, 33)] {
        for n in [0, 1, 31, 64, 1000, 1 << 20, (1 << 20) + 1, 1 << 30, 1 << 62] {
            compare!(shape, steps_down(n));
            for first in [
                0,
                1,
                n / 2,
                n,
                (1 << 32) - 1,
                1 << 32,
                usize::MAX - 1,
                usize::MAX,
            ] {
                compare!(shape, starts_high(first, n));
            }
            if n > 1000 {
                continue;
            }
            for by in [0, 2, 6, 1 << 40] {
                for times in [1, 2, 1 << 31, 1 << 60, usize::MAX, usize::MAX - 1] {
                    compare!(shape, other_steps(n, by, times));
                }
            }
        }
    }
    Ok(())
}
