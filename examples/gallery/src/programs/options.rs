//! `options`: the price of a call option by simulation, and its convergence to Black and Scholes.
//!
//! The device simulates more and more paths ([the kernel](gallery_kernels::options)). In the plot,
//! the number of paths grows to the right, by the factor 2 in each step; the blue line is the
//! estimate, with two standard errors up and down in gray, and the red line is the formula. The CPU
//! simulates the first paths with the same random numbers; only the exponential function differs in
//! its last bits.

use crate::picture::{Color, INK, PAPER, Picture};
use crate::{Outcome, Program, Report, Setup, Sizes, progress};
use gallery_kernels::options::{Call, payoff, simulate};

/// The program.
pub const PROGRAM: Program = Program {
    name: "options",
    about: "Monte Carlo price of an option, which converges to Black and Scholes (plot)",
    sizes: Sizes {
        unit: "doublings of 64 paths",
        least: 3,
        emulator: 14,
        gpu: 22,
        most: 30,
    },
    run,
};

const CALL: Call = Call {
    spot: 100.0,
    strike: 105.0,
    rate: 0.03,
    volatility: 0.25,
    years: 1.0,
};
const SEED: u64 = 2026;
/// The first number of paths.
const FEW: u64 = 64;

/// The price after a number of paths, and its standard error.
struct Estimate {
    price: f64,
    error: f64,
}

fn run(setup: &Setup) -> Outcome<Report> {
    let mut paths = 0;
    let mut sums = [0.0; 2];
    let mut estimates = Vec::new();
    let bar = progress(setup.size);
    for doubling in 0..=setup.size {
        let count = (FEW << doubling) - paths;
        let blocks = count.div_ceil(128 * 8).min(1024) as usize;
        let mut of_blocks = vec![[0.0; 2]; blocks];
        let args = simulate::args(CALL, SEED, paths, count, &mut of_blocks);
        (setup.module).launch(&setup.stream, (blocks as u32, 128), args)?;
        let new = (of_blocks.iter()).fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
        if doubling < 8 {
            compare(paths, count, new)?;
        }
        sums = [sums[0] + new[0], sums[1] + new[1]];
        paths += count;
        let n = paths as f64;
        let price = sums[0] / n;
        estimates.push(Estimate {
            price,
            error: ((sums[1] / n - price * price).max(0.0) / n).sqrt(),
        });
        bar.set_position(doubling as u64);
    }
    bar.finish_and_clear();
    let formula = black_scholes(&CALL);
    let Some(last) = estimates.last() else {
        return Err("no paths".into());
    };
    // Six standard errors: less than one of 10⁸ seeds is further off.
    if (last.price - formula).abs() > 6.0 * last.error {
        return Err(format!(
            "the price is {:.4} ± {:.4}, but {formula:.4} by Black and Scholes",
            last.price, last.error
        )
        .into());
    }
    let notes = vec![
        format!(
            "{paths} paths: {:.4} ± {:.4}; by Black and Scholes {formula:.4}",
            last.price, last.error
        ),
        "the sums of the first paths agree with the CPU's to 1e-6".into(),
    ];
    Ok(Report {
        picture: plot(&estimates, formula),
        notes,
    })
}

fn compare(first: u64, count: u64, device: [f64; 2]) -> Outcome {
    let mut cpu = [0.0; 2];
    for path in first..first + count {
        let payoff = f64::from(payoff(&CALL, SEED, path));
        cpu = [cpu[0] + payoff, cpu[1] + payoff * payoff];
    }
    for (device, cpu) in device.into_iter().zip(cpu) {
        if (device - cpu).abs() > 1e-6 * cpu.abs() {
            return Err(format!("a sum of payoffs is {device}, but {cpu} on the CPU").into());
        }
    }
    Ok(())
}

/// The price of a call by the formula of Black and Scholes.
fn black_scholes(call: &Call) -> f64 {
    let [spot, strike, rate, volatility, years] = [
        call.spot,
        call.strike,
        call.rate,
        call.volatility,
        call.years,
    ]
    .map(f64::from);
    let deviation = volatility * years.sqrt();
    let d = ((spot / strike).ln() + rate * years) / deviation + deviation / 2.0;
    spot * normal(d) - strike * (-rate * years).exp() * normal(d - deviation)
}

/// The normal distribution function, by the Taylor series of George Marsaglia, "Evaluating the
/// normal distribution", *Journal of Statistical Software* 11 (2004).
fn normal(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for i in 1..100 {
        term *= x * x / f64::from(2 * i + 1);
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

fn plot(estimates: &[Estimate], formula: f64) -> Picture {
    const SIZE: (f64, f64) = (360.0, 220.0);
    const MARGIN: f64 = 12.0;
    const BAND: Color = [215, 220, 230];
    let mut picture = Picture::new(SIZE.0 as usize, SIZE.1 as usize, PAPER);
    // The band of the second estimate fits the plot.
    let range = estimates[1..]
        .iter()
        .map(|e| (e.price - formula).abs() + 2.0 * e.error)
        .fold(1e-9, f64::max);
    let x = |i: f64| MARGIN + i * (SIZE.0 - 2.0 * MARGIN) / (estimates.len() - 1) as f64;
    let y = |price: f64| {
        let at = ((price - formula) / range).clamp(-1.0, 1.0);
        SIZE.1 / 2.0 - at * (SIZE.1 / 2.0 - MARGIN)
    };
    for (i, pair) in estimates.windows(2).enumerate() {
        for column in x(i as f64).round() as usize..=x(i as f64 + 1.0).round() as usize {
            let t = (column as f64 - x(i as f64)) / (x(1.0) - x(0.0));
            let mix = |a: f64, b: f64| a + t.clamp(0.0, 1.0) * (b - a);
            let price = mix(pair[0].price, pair[1].price);
            let error = 2.0 * mix(pair[0].error, pair[1].error);
            let column = column as f64;
            picture.line((column, y(price - error)), (column, y(price + error)), BAND);
        }
    }
    picture.line(
        (x(0.0), y(formula)),
        (SIZE.0 - MARGIN, y(formula)),
        [200, 40, 40],
    );
    for (i, pair) in estimates.windows(2).enumerate() {
        let from = (x(i as f64), y(pair[0].price));
        let to = (x(i as f64 + 1.0), y(pair[1].price));
        for down in [0.0, 1.0] {
            let lower = |(x, y)| (x, y + down);
            picture.line(lower(from), lower(to), [30, 80, 180]);
        }
    }
    let (left, bottom) = (MARGIN, SIZE.1 - MARGIN);
    picture.line((left, MARGIN), (left, bottom), INK);
    picture.line((left, bottom), (SIZE.0 - MARGIN, bottom), INK);
    for i in 0..estimates.len() {
        picture.line((x(i as f64), bottom), (x(i as f64), bottom + 4.0), INK);
    }
    picture
}
