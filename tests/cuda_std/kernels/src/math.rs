//! libdevice's functions besides those of `GpuFloat` and `FloatExt`, and the fast approximations.

use core::hint::black_box;

use cuda_std::float::{erf, fast};
use cuda_std::intrinsics::libdevice::*;
use cuda_std::prelude::*;

use crate::random;

/// Returns a thread's argument, from -2 to 2 and never an integer.
#[inline(always)]
pub fn argument(thread: u32) -> f64 {
    f64::from(thread) / 32.0 - 1.98
}

macro_rules! functions {
    ($name:ident $ty:ident: $($function:ident)*) => {
        /// All functions of one width. Those that the host lacks are combined with their inverses.
        #[kernel]
        pub fn $name(mut to: PerThread<[f64; 40]>) {
            functions!(@names $($function)*);
            to.each(|i, to| {
                let x = argument(i as u32) as $ty;
                let (y, unit) = (x * 0.7 + 3.0, (x / 2.0).abs());
                let (mut power, mut whole, mut quotient) = (0, 0.0, 0);
                let (mut sine, mut cosine, mut sine_pi, mut cosine_pi) = (0.0, 0.0, 0.0, 0.0);
                // SAFETY: the pointers are to local variables.
                let (fraction, part, rest) = unsafe {
                    sincos(x, &mut sine, &mut cosine);
                    sincospi(x, &mut sine_pi, &mut cosine_pi);
                    (frexp(x, &mut power), modf(x * 3.0, &mut whole), remquo(y * 5.0, x, &mut quotient))
                };
                let values: [$ty; 38] = [
                    copysign(y, x),
                    cospi(x),
                    sinpi(x),
                    fabs(x),
                    fdim(x, 0.5),
                    fmax(x, 0.5),
                    fmin(x, 0.5),
                    fmod(y * 5.0, x),
                    logb(x),
                    nearbyint(x * 3.0),
                    nextafter(x, 5.0) - x,
                    norm3d(x, y, 2.0),
                    norm4d(x, y, 2.0, 3.0),
                    remainder(y * 5.0, x),
                    rhypot(x, y),
                    rnorm3d(x, y, 2.0),
                    rnorm4d(x, y, 2.0, 3.0),
                    ldexp(x, 5),
                    ilogb(x) as $ty,
                    powi(x, 3),
                    fraction,
                    power as $ty,
                    part,
                    whole,
                    rest,
                    (quotient & 1) as $ty,
                    sine,
                    cosine,
                    sine_pi,
                    cosine_pi,
                    erf(erfinv(unit)),
                    1.0 - erf(erfcinv(unit + 0.001)),
                    erfcx(unit) / (unit * unit).exp(),
                    normcdf(x),
                    normcdf(normcdfinv(unit * 0.98 + 0.01)),
                    cyl_bessel_i0(x) - cyl_bessel_i1(x) * 2.0 / x,
                    jn(2, y) - (2.0 / y * y.j1() - y.j0()),
                    yn(2, y) - (2.0 / y * y.y1() - y.y0()),
                ];
                *to = core::array::from_fn(|k| if k < 38 { f64::from(values[k]) } else { 0.0 });
            });
        }
    };
    (@names
        $copysign:ident $cospi:ident $sinpi:ident $fabs:ident $fdim:ident $fmax:ident $fmin:ident
        $fmod:ident $logb:ident $nearbyint:ident $nextafter:ident $norm3d:ident $norm4d:ident
        $remainder:ident $rhypot:ident $rnorm3d:ident $rnorm4d:ident $ldexp:ident $ilogb:ident
        $powi:ident $frexp:ident $modf:ident $remquo:ident $sincos:ident $sincospi:ident
        $erfinv:ident $erfcinv:ident $erfcx:ident $normcdf:ident $normcdfinv:ident
        $cyl_bessel_i0:ident $cyl_bessel_i1:ident $jn:ident $yn:ident
    ) => {
        use cuda_std::intrinsics::libdevice::{
            $copysign as copysign, $cospi as cospi, $cyl_bessel_i0 as cyl_bessel_i0,
            $cyl_bessel_i1 as cyl_bessel_i1, $erfcinv as erfcinv, $erfcx as erfcx,
            $erfinv as erfinv, $fabs as fabs, $fdim as fdim, $fmax as fmax, $fmin as fmin,
            $fmod as fmod, $frexp as frexp, $ilogb as ilogb, $jn as jn, $ldexp as ldexp,
            $logb as logb, $modf as modf, $nearbyint as nearbyint, $nextafter as nextafter,
            $norm3d as norm3d, $norm4d as norm4d, $normcdf as normcdf,
            $normcdfinv as normcdfinv, $powi as powi, $remainder as remainder,
            $remquo as remquo, $rhypot as rhypot, $rnorm3d as rnorm3d, $rnorm4d as rnorm4d,
            $sincos as sincos, $sincospi as sincospi, $sinpi as sinpi, $yn as yn,
        };
    };
}
functions! { math_f64 f64:
    __nv_copysign __nv_cospi __nv_sinpi __nv_fabs __nv_fdim __nv_fmax __nv_fmin __nv_fmod __nv_logb
    __nv_nearbyint __nv_nextafter __nv_norm3d __nv_norm4d __nv_remainder __nv_rhypot __nv_rnorm3d
    __nv_rnorm4d __nv_ldexp __nv_ilogb __nv_powi __nv_frexp __nv_modf __nv_remquo __nv_sincos
    __nv_sincospi __nv_erfinv __nv_erfcinv __nv_erfcx __nv_normcdf __nv_normcdfinv
    __nv_cyl_bessel_i0 __nv_cyl_bessel_i1 __nv_jn __nv_yn
}
functions! { math_f32 f32:
    __nv_copysignf __nv_cospif __nv_sinpif __nv_fabsf __nv_fdimf __nv_fmaxf __nv_fminf __nv_fmodf
    __nv_logbf __nv_nearbyintf __nv_nextafterf __nv_norm3df __nv_norm4df __nv_remainderf
    __nv_rhypotf __nv_rnorm3df __nv_rnorm4df __nv_ldexpf __nv_ilogbf __nv_powif __nv_frexpf
    __nv_modff __nv_remquof __nv_sincosf __nv_sincospif __nv_erfinvf __nv_erfcinvf __nv_erfcxf
    __nv_normcdff __nv_normcdfinvf __nv_cyl_bessel_i0f __nv_cyl_bessel_i1f __nv_jnf __nv_ynf
}

/// The fast approximations.
#[inline(always)]
pub fn quick(x: f32) -> [f32; 10] {
    let y = x * 0.7 + 3.0;
    [
        fast::sin(x),
        fast::cos(x),
        fast::tan(x * 0.5),
        fast::exp(x),
        fast::exp10(x),
        fast::ln(y),
        fast::log2(y),
        fast::log10(y),
        fast::powf(y, x),
        fast::div(x, y),
    ]
}

/// The fast approximations, including sine and cosine in one call.
#[kernel]
pub fn math_fast(mut to: PerThread<[f64; 12]>) {
    to.each(|i, to| {
        let x = argument(i as u32) as f32;
        let values = quick(x);
        let (mut sine, mut cosine) = (0.0, 0.0);
        // SAFETY: the pointers are to local variables.
        unsafe { __nv_fast_sincosf(x, &mut sine, &mut cosine) };
        *to = core::array::from_fn(|k| match k {
            0..10 => values[k].into(),
            10 => sine.into(),
            _ => cosine.into(),
        });
    });
}

/// Counts the arguments for which `sin_cos` differs from `sin` and `cos` in any bit, for `f32` and
/// `f64`: special values, values of any exponent, and values near 0.
#[kernel]
pub fn math_sin_cos(mut to: PerThread<[f64; 2]>) {
    const SPECIAL: [f64; 12] = [
        0.0,
        -0.0,
        1e-310,
        f64::MIN_POSITIVE,
        core::f64::consts::FRAC_PI_4,
        core::f64::consts::PI,
        105_615.0,
        1e10,
        1e22,
        f64::MAX,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    to.each(|i, to| {
        let mut different = [0, 0];
        for k in 0..32 {
            let bits = random(32 * i as u32 + k);
            let special = SPECIAL[(i + k as usize) % SPECIAL.len()];
            let near = bits as i32 as f64 / f64::from(1 << 24);
            for x in [special as f32, f32::from_bits(bits as u32), near as f32] {
                let x = black_box(x);
                let (sin, cos) = x.sin_cos();
                let same = sin.to_bits() == x.sin().to_bits() && cos.to_bits() == x.cos().to_bits();
                different[0] += u32::from(!same);
            }
            for x in [special, f64::from_bits(bits), near] {
                let x = black_box(x);
                let (sin, cos) = x.sin_cos();
                let same = sin.to_bits() == x.sin().to_bits() && cos.to_bits() == x.cos().to_bits();
                different[1] += u32::from(!same);
            }
        }
        *to = different.map(f64::from);
    });
}

/// Returns the products of all pairs of two rows of four, summed over all rows.
#[kernel]
pub fn unroll_nested(a: &[[f32; 4]], b: &[[f32; 4]], mut to: PerThread<[[f32; 4]; 4]>) {
    use cuda_std::unroll::unroll;
    let mut sums = [[0.0; 4]; 4];
    for (a, b) in a.iter().zip(b) {
        unroll::<4>(|i| unroll::<4>(|j| sums[i][j] += a[i] * b[j]));
    }
    to.each(|_, to| *to = sums);
}
