//! Logarithm, sine and cosine with the same results on all machines.
//!
//! They consist of operations that round once (sums, products, quotients, square roots, and fused
//! multiply-adds), written such that no contraction by a compiler is possible. They accept only the
//! arguments that distributions need, and are accurate to a few ulps.

use crate::float::GpuFloat;

/// A float type with these functions.
pub trait Math: Copy {
    /// Returns the natural logarithm of a positive normal number.
    fn logarithm(self) -> Self;
    /// Returns sine and cosine of an angle in turns, from 0 to 1.
    fn sin_cos_turns(self) -> (Self, Self);
}

/// Evaluates a polynomial by Horner's method; coefficients start with the highest degree.
macro_rules! horner {
    ($x:expr, $last:expr $(, $rest:expr)*) => {{
        let sum = $last;
        $(let sum = GpuFloat::mul_add(sum, $x, $rest);)*
        sum
    }};
}

macro_rules! math {
    ($ty:ident, $bits:ident, $signed:ident, $fraction:literal, $half_root:literal,
     [$($ln:expr),*], [$($sin:expr),*], [$($cos:expr),*]) => {
        impl Math for $ty {
            #[inline]
            fn logarithm(self) -> $ty {
                // 2^e * m, with m between sqrt(1/2) and sqrt(2).
                let shifted = self.to_bits().wrapping_sub($half_root);
                let exponent = (shifted as $signed >> $fraction) as $ty;
                let m = $ty::from_bits((shifted & ((1 << $fraction) - 1)).wrapping_add($half_root));
                // ln m = 2 artanh s.
                let s = (m - 1.0) / (m + 1.0);
                let square = s * s;
                let double = s + s;
                let series = horner!(square, $($ln),*);
                let tail = double * square;
                let ln = GpuFloat::mul_add(tail, series, double);
                GpuFloat::mul_add(exponent, core::$ty::consts::LN_2, ln)
            }

            #[inline]
            fn sin_cos_turns(self) -> ($ty, $ty) {
                // At most an eighth of a turn from a whole number of quarters.
                let quarter = GpuFloat::floor(GpuFloat::mul_add(self, 4.0, 0.5));
                let angle = GpuFloat::mul_add(quarter, -0.25, self) * core::$ty::consts::TAU;
                let square = angle * angle;
                let tail = angle * square;
                let sin = GpuFloat::mul_add(tail, horner!(square, $($sin),*), angle);
                let cos = GpuFloat::mul_add(square, horner!(square, $($cos),*), 1.0);
                match quarter as u32 & 3 {
                    0 => (sin, cos),
                    1 => (cos, -sin),
                    2 => (-sin, -cos),
                    _ => (-cos, sin),
                }
            }
        }
    };
}

math!(
    f32,
    u32,
    i32,
    23,
    0x3f35_04f3,
    [1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0],
    [1.0 / 362_880.0, -1.0 / 5_040.0, 1.0 / 120.0, -1.0 / 6.0],
    [
        -1.0 / 3_628_800.0,
        1.0 / 40_320.0,
        -1.0 / 720.0,
        1.0 / 24.0,
        -0.5
    ]
);

math!(
    f64,
    u64,
    i64,
    52,
    0x3fe6_a09e_667f_3bcd,
    [
        1.0 / 23.0,
        1.0 / 21.0,
        1.0 / 19.0,
        1.0 / 17.0,
        1.0 / 15.0,
        1.0 / 13.0,
        1.0 / 11.0,
        1.0 / 9.0,
        1.0 / 7.0,
        1.0 / 5.0,
        1.0 / 3.0
    ],
    [
        1.0 / 355_687_428_096_000.0,
        -1.0 / 1_307_674_368_000.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 39_916_800.0,
        1.0 / 362_880.0,
        -1.0 / 5_040.0,
        1.0 / 120.0,
        -1.0 / 6.0
    ],
    [
        -1.0 / 6_402_373_705_728_000.0,
        1.0 / 20_922_789_888_000.0,
        -1.0 / 87_178_291_200.0,
        1.0 / 479_001_600.0,
        -1.0 / 3_628_800.0,
        1.0 / 40_320.0,
        -1.0 / 720.0,
        1.0 / 24.0,
        -0.5
    ]
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_the_truth() {
        for step in 1..=10_000 {
            let x = f64::from(step) / 10_000.0;
            let near = |got: f64, want: f64, places: f64| {
                assert!((got - want).abs() <= places, "{x}: {got}, not {want}");
            };
            near(x.logarithm(), x.ln(), 4e-15);
            let ln = f64::from((x as f32).logarithm());
            near(ln, f64::from(x as f32).ln(), 1e-6);
            let (sin, cos) = x.sin_cos_turns();
            near(sin, (x * core::f64::consts::TAU).sin(), 2e-15);
            near(cos, (x * core::f64::consts::TAU).cos(), 2e-15);
            let (sin, cos) = (x as f32).sin_cos_turns();
            let angle = f64::from(x as f32) * core::f64::consts::TAU;
            near(sin.into(), angle.sin(), 2e-7);
            near(cos.into(), angle.cos(), 2e-7);
        }
    }
}
