//! Example `i128`: 128-bit arithmetic on the device, compared with the CPU.

use cust::prelude::*;
use i128_kernels::{Operands, Results, compute};
use std::error::Error;
use std::time::Instant;

/// The module that `build.rs` compiled from the crate `kernels`.
static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

const HELP: &str = "\
Computes with 128-bit integers on the device and checks the results.

usage: example-i128 [SIZE]

SIZE is how many pairs of numbers: by default 1048576 on a GPU and 500 on the emulator.";

/// The modulus of the power: a prime below 2⁶⁴.
const MODULUS: u64 = 0xffff_ffff_ffff_ffc5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = pico_args::Arguments::from_env();
    if args.contains(["-h", "--help"]) {
        println!("{HELP}");
        return Ok(());
    }
    let size = args.opt_free_from_str()?;
    if let Some(unknown) = args.finish().first() {
        return Err(format!("unknown argument {unknown:?}\n\n{HELP}").into());
    }
    run(size)
}

fn run(size: Option<usize>) -> Result<(), Box<dyn Error>> {
    let device = cust::init_auto()?;
    println!("running on {device}");
    let size = size.unwrap_or(match device.backend() {
        Backend::Gpu => 1 << 20,
        Backend::Emulator => 500,
    });
    let operands: Vec<Operands> = operands().take(size.max(1)).collect();
    let (last, others) = operands
        .split_last()
        .ok_or("at least one pair of numbers")?;

    let module = Module::from_ptx(PTX, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let input = others.as_dbuf()?;
    let output = vec![Results::default(); operands.len()].as_dbuf()?;
    let grid = u32::try_from(operands.len().div_ceil(128))?;
    let start = Instant::now();
    // SAFETY: the output has an element for each thread with work, and the buffers live until the
    // stream is synchronized.
    unsafe {
        launch!(module.arithmetic<<<grid, 128, 0, stream>>>(
            input.as_device_ptr(),
            input.len(),
            *last,
            MODULUS,
            output.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    let time = start.elapsed();

    for (i, (operands, results)) in operands.iter().zip(output.as_host_vec()?).enumerate() {
        let expected = compute(*operands, MODULUS);
        if results != expected {
            return Err(format!(
                "{i}: of {operands:#x?}\n{results:#x?}\nbut should be\n{expected:#x?}"
            )
            .into());
        }
    }
    println!(
        "computed with {} pairs of numbers in {time:.3?}; all results are right",
        operands.len()
    );
    Ok(())
}

/// Pairs of numbers: first all pairs of special ones, then random ones of all lengths.
fn operands() -> impl Iterator<Item = Operands> {
    const SPECIAL: [u128; 9] = [
        1,
        2,
        0xffff_ffff,
        1 << 32,
        u64::MAX as u128,
        1 << 64,
        i128::MAX as u128,
        1 << 127,
        u128::MAX,
    ];
    let special = SPECIAL
        .into_iter()
        .flat_map(|a| SPECIAL.map(move |b| Operands { a, b }));
    let random = (0..).map(|i| {
        let (a, b) = (random(2 * i), random(2 * i + 1));
        Operands {
            a: a >> (a % 128),
            b: (b >> (b % 128)).max(1),
        }
    });
    special.chain(random)
}

/// A number that looks random (splitmix64, twice).
fn random(seed: u64) -> u128 {
    let half = |seed: u64| {
        let mut z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u128::from(z ^ (z >> 31))
    };
    half(2 * seed) << 64 | half(2 * seed + 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn special_and_random_numbers() -> Result<(), Box<dyn std::error::Error>> {
        super::run(Some(1))?;
        super::run(Some(200))
    }
}
