//! The C library's functions, by CUDA's libdevice.

macro_rules! libdevice {
    ($($name:ident $nv:ident $float:ident($($arg:ident),*);)*) => {
        unsafe extern "C" {
            $(safe fn $nv($($arg: $float),*) -> $float;)*
        }
        $(
            #[inline]
            pub fn $name($($arg: $float),*) -> $float {
                $nv($($arg),*)
            }
        )*
    };
}

libdevice! {
    acos __nv_acos f64(x);
    acosf __nv_acosf f32(x);
    acosh __nv_acosh f64(x);
    acoshf __nv_acoshf f32(x);
    asin __nv_asin f64(x);
    asinf __nv_asinf f32(x);
    asinh __nv_asinh f64(x);
    asinhf __nv_asinhf f32(x);
    atan __nv_atan f64(x);
    atanf __nv_atanf f32(x);
    atan2 __nv_atan2 f64(y, x);
    atan2f __nv_atan2f f32(y, x);
    cbrt __nv_cbrt f64(x);
    cbrtf __nv_cbrtf f32(x);
    cosh __nv_cosh f64(x);
    coshf __nv_coshf f32(x);
    expm1 __nv_expm1 f64(x);
    expm1f __nv_expm1f f32(x);
    fdim __nv_fdim f64(x, y);
    fdimf __nv_fdimf f32(x, y);
    hypot __nv_hypot f64(x, y);
    hypotf __nv_hypotf f32(x, y);
    log1p __nv_log1p f64(x);
    log1pf __nv_log1pf f32(x);
    sinh __nv_sinh f64(x);
    sinhf __nv_sinhf f32(x);
    tan __nv_tan f64(x);
    tanf __nv_tanf f32(x);
    tanh __nv_tanh f64(x);
    tanhf __nv_tanhf f32(x);
    tgamma __nv_tgamma f64(x);
    tgammaf __nv_tgammaf f32(x);
    erf __nv_erf f64(x);
    erff __nv_erff f32(x);
    erfc __nv_erfc f64(x);
    erfcf __nv_erfcf f32(x);
    lgamma __nv_lgamma f64(x);
    lgammaf __nv_lgammaf f32(x);
}

/// The gamma function's sign: negative between a negative even number and the odd one below it.
fn gamma_sign(x: f64) -> i32 {
    let negative = if x == 0.0 {
        x.is_sign_negative()
    } else {
        let floor = x.floor();
        x < 0.0 && x != floor && (floor * 0.5).floor() != floor * 0.5
    };
    if negative { -1 } else { 1 }
}

pub fn lgamma_r(x: f64, sign: &mut i32) -> f64 {
    *sign = gamma_sign(x);
    lgamma(x)
}

pub fn lgammaf_r(x: f32, sign: &mut i32) -> f32 {
    *sign = gamma_sign(x.into());
    lgammaf(x)
}
