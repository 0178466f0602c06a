//! `GpuFloat` and `FloatExt`: exact functions exactly, the others up to CUDA's error bounds.

use crate::{cases, mix};
use cuda_std::float;
use cuda_std::prelude::*;

/// A float in `-scale..scale`.
fn random(i: u32, scale: f64) -> f64 {
    ((mix(i.into()) >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * scale
}

fn generic_norm<T: GpuFloat + core::ops::Mul<Output = T> + core::ops::Add<Output = T>>(
    x: T,
    y: T,
) -> T {
    x.mul_add(x, y * y).sqrt()
}

cases! {
    fn math_exact(i, record) {
        for scale in [1.0, 100.0, 1e15] {
            let (x, y) = (random(i, scale), random(i + 1, scale));
            record.put((x.abs().sqrt(), x.mul_add(y, 1.0), x.powi(3), x.powi(-5)));
            record.put((x.rem_euclid(y), x.div_euclid(y), x.fract(), x.copysign(y)));
            let (x, y) = (x as f32, y as f32);
            record.put((x.abs().sqrt(), x.mul_add(y, 1.0), x.powi(3), x.powi(-5)));
            record.put((x.rem_euclid(y), x.div_euclid(y), x.fract(), x.copysign(y)));
        }
        record.put(((-1.0f64).sqrt(), (-0.0f32).sqrt(), f64::INFINITY.sqrt()));
    }

    fn math_trigonometric(i, record) {
        for scale in [1.0, 30.0, 1e6] {
            let x = random(i, scale);
            record.near64(x.sin());
            record.near64(x.cos());
            record.near64(x.tan());
            record.near64(x.atan());
            record.near64(x.atan2(0.7));
            let (sin, cos) = (x as f32).sin_cos();
            record.near32(sin);
            record.near32(cos);
            record.near32((x as f32).atan());
        }
        let x = random(i, 1.0);
        record.near64(x.asin());
        record.near64(x.acos());
        record.near32((x as f32).asin());
        record.near32((x as f32).acos());
        record.near32((x as f32).tan());
    }

    fn math_exponential(i, record) {
        let x = random(i, 20.0);
        record.near64(x.exp());
        record.near64(x.exp2());
        record.near64(x.exp_m1());
        record.near64(x.exp10());
        let p = x.abs() + 0.1;
        record.near64(p.ln());
        record.near64(p.log2());
        record.near64(p.log10());
        record.near64(p.ln_1p());
        record.near64(p.log(3.0));
        record.near64(p.powf(1.37));
        record.near64(x.cbrt());
        record.near64(x.hypot(3.0));
        let (x, p) = (x as f32, p as f32);
        record.near32(x.exp());
        record.near32(x.exp2());
        record.near32(x.exp_m1());
        record.near32(p.ln());
        record.near32(p.log2());
        record.near32(p.log10());
        record.near32(p.powf(1.37));
        record.near32(x.cbrt());
        record.near32(x.hypot(3.0));
    }

    fn math_hyperbolic(i, record) {
        let x = random(i, 5.0);
        record.near64(x.sinh());
        record.near64(x.cosh());
        record.near64(x.tanh());
        record.near64(x.asinh());
        record.near64((x.abs() + 1.0).acosh());
        record.near64((x / 6.0).atanh());
        record.near32((x as f32).tanh());
        record.near32((x as f32).sinh());
        record.near32((x as f32).cosh());
    }

    fn math_special(i, record) {
        let x = random(i, 3.0);
        record.near64(float::erf(x));
        record.near64(float::erfc(x));
        record.near64((x.abs() + 0.5).tgamma());
        record.near64((x.abs() + 2.5).lgamma());
        record.near64((x.abs() + 0.1).rsqrt());
        record.near64((x.abs() + 0.1).rcbrt());
        record.near32(float::erf(x as f32));
        record.near32((x.abs() as f32 + 0.5).tgamma());
        record.near32((x.abs() as f32 + 0.1).rsqrt());
    }

    fn math_edges(_, record) {
        record.put(0.0f64.ln());
        record.put((-1.0f64).ln());
        record.put((1e4f64.exp(), (-1e4f64).exp()));
        record.put((0.0f32.powf(0.0), f32::NAN.powf(0.0), 1.0f32.powf(f32::NAN)));
        record.put((0.0f64.atan2(-0.0), f64::INFINITY.atan()).1.to_bits() > 0);
        record.put((f64::INFINITY.sin(), f32::NAN.cos()));
        record.put((2.0f64.powi(i32::MIN), 1.0f32.powi(i32::MAX), 0.0f64.powi(0)));
    }

    fn math_generic(i, record) {
        record.put(generic_norm(i as f32, 4.0));
        record.put(generic_norm(f64::from(i) * 0.1, 4.0));
    }
}
