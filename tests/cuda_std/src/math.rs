//! libdevice's functions: within a few ulps of the host's, or checked through their inverses.

use crate::{Arch, Session, per_thread_argument, trial};
use cuda_std_tests_kernels::math::{argument, quick};
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};

/// Returns the trials.
pub fn trials() -> Vec<Trial> {
    vec![
        trial(Arch::Sm75, "math::f64", |session, module| {
            compare(session, module, "math_f64", 1e-13, |x| {
                all(x, 2.0f64.powi(-52))
            })
        }),
        trial(Arch::Sm75, "math::f32", |session, module| {
            compare(session, module, "math_f32", 1e-5, |x| {
                all(f64::from(x as f32), 2.0f64.powi(-23))
            })
        }),
        trial(Arch::Sm75, "math::sin_cos", |session, module| {
            compare(session, module, "math_sin_cos", 0.0, |_| [0.0; 2])
        }),
        trial(Arch::Sm75, "math::fast", |session, module| {
            compare(session, module, "math_fast", 1e-4, |x| {
                let x = x as f32;
                let values = quick(x);
                core::array::from_fn::<f64, 12, _>(|k| match k {
                    0..10 => values[k].into(),
                    10 => x.sin().into(),
                    _ => x.cos().into(),
                })
            })
        }),
    ]
}

/// Compares the numbers that 128 threads wrote, each with a tolerance relative to its magnitude or
/// to 1.
fn compare<const N: usize>(
    session: &Session,
    module: &Module,
    name: &str,
    tolerance: f64,
    expected: impl Fn(f64) -> [f64; N],
) -> Result<(), Failed> {
    let stream = &session.stream;
    let to = DeviceBuffer::<f64>::zeroed(128 * N)?;
    let kernel = module.get_function(name)?;
    // SAFETY: the kernel's parameters are an output.
    unsafe { launch!(kernel<<<2, 64, 0, stream>>>(per_thread_argument(&to, 128)))? };
    stream.synchronize()?;
    for (thread, found) in to.as_host_vec()?.chunks(N).enumerate() {
        let expected = expected(argument(thread as u32));
        for k in 0..N {
            let (found, expected) = (found[k], expected[k]);
            let near = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
            if !near {
                let message = format!(
                    "{name}, thread {thread}, number {k}: {found}, but should be {expected}"
                );
                return Err(message.into());
            }
        }
    }
    Ok(())
}

/// Returns the remainder with the smallest magnitude; ties choose the even quotient.
fn remainder(x: f64, y: f64) -> (f64, f64) {
    let quotient = (x / y).round_ties_even();
    (x - quotient * y, quotient)
}

/// Returns the cumulative distribution function of the normal distribution, by its series.
fn normal(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for k in 1..60 {
        term *= -x * x / (2.0 * f64::from(k));
        sum += term / f64::from(2 * k + 1);
    }
    0.5 + sum / (2.0 * core::f64::consts::PI).sqrt()
}

/// Returns the modified Bessel functions of orders 0 and 1, by their series.
fn bessel(x: f64) -> (f64, f64) {
    let (mut zero, mut one, mut term) = (0.0, 0.0, 1.0);
    for k in 0..40 {
        let k = f64::from(k);
        zero += term;
        one += term * x / 2.0 / (k + 1.0);
        term *= x * x / 4.0 / ((k + 1.0) * (k + 1.0));
    }
    (zero, one)
}

/// Returns the complementary error function, from the normal distribution.
fn erfc(x: f64) -> f64 {
    2.0 - 2.0 * normal(x * core::f64::consts::SQRT_2)
}

fn all(x: f64, epsilon: f64) -> [f64; 40] {
    let single = epsilon > 1e-10;
    let round = |x: f64| if single { f64::from(x as f32) } else { x };
    let y = round(round(x * round(0.7)) + 3.0);
    let unit = (x / 2.0).abs();
    let exponent = x.abs().log2().floor();
    let five = round(y * 5.0);
    let three = round(x * 3.0);
    let (rest, quotient) = remainder(five, x);
    let (zero, one) = bessel(x);
    let pi = core::f64::consts::PI;
    let values = [
        y.copysign(x),
        (x * pi).cos(),
        (x * pi).sin(),
        x.abs(),
        (x - 0.5).max(0.0),
        x.max(0.5),
        x.min(0.5),
        five % x,
        exponent,
        three.round_ties_even(),
        0.0,
        (x * x + y * y + 4.0).sqrt(),
        (x * x + y * y + 13.0).sqrt(),
        rest,
        1.0 / x.hypot(y),
        1.0 / (x * x + y * y + 4.0).sqrt(),
        1.0 / (x * x + y * y + 13.0).sqrt(),
        x * 32.0,
        exponent,
        x * x * x,
        x / (exponent + 1.0).exp2(),
        exponent + 1.0,
        three.fract(),
        three.trunc(),
        rest,
        quotient.rem_euclid(2.0),
        x.sin(),
        x.cos(),
        (x * pi).sin(),
        (x * pi).cos(),
        unit,
        unit + 0.001,
        erfc(unit),
        normal(x),
        unit * 0.98 + 0.01,
        zero - one * 2.0 / x,
        0.0,
        0.0,
    ];
    core::array::from_fn(|k| values.get(k).copied().unwrap_or(0.0))
}
