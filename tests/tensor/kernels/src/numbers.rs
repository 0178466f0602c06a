//! Functions that the host has too: halves, small floats, random numbers. Each thread's number gives
//! its operands; results must be the host's, bit for bit.

use crate::kernel;
use crate::values::hash;
use cuda_std::half::{Bf16, Bf16x2, F16, F16x2};
use cuda_std::minifloat::{E2m1, E2m3, E3m2, E4m3, E5m2, Ue8m0};
use cuda_std::prelude::*;
use cuda_std::random::{
    Bernoulli, Distribution, Exponential, HalfOpen, Normal, Philox, Poisson, Positive, Uniform,
    Xorwow, philox4x32,
};

/// Words that each thread computes, at most.
pub const WORDS: usize = 128;
pub const THREADS: usize = 128;

macro_rules! half_cases {
    ($name:ident $ty:ident $pair:ident) => {
        #[inline(always)]
        pub fn $name(thread: usize, mut put: impl FnMut(u64)) {
            let bits = |i: usize| hash(7, thread, i) as u16;
            let special = [
                0, 0x8000, 0x3c00, 0x3f80, 0x7c00, 0x7f80, 0xfc00, 0x7fff, 1, 0x8001,
            ];
            let operand = |i: usize| match hash(8, thread, i) as usize % 24 {
                index if index < special.len() => $ty::from_bits(special[index]),
                index if index < 18 => $ty::from_f32((bits(i) as i16) as f32 / 64.0),
                _ => $ty::from_bits(bits(i)),
            };
            for round in 0..4 {
                let (a, b, c) = (
                    operand(3 * round),
                    operand(3 * round + 1),
                    operand(3 * round + 2),
                );
                let quiet = |x: $ty| {
                    if x.is_nan() {
                        0x7fffu64
                    } else {
                        x.to_bits().into()
                    }
                };
                put(quiet(a + b));
                put(quiet(a - b));
                put(quiet(a * b));
                put(quiet(a / b));
                put(quiet(a.mul_add(b, c)));
                put(quiet(a.mul_add_relu(b, c)));
                put(quiet(a.min(b)));
                put(quiet(a.max(b)));
                put(quiet(-a));
                put(quiet(a.abs()));
                put((a < b) as u64 | ((a == b) as u64) << 1 | ((a >= b) as u64) << 2);
                put(if a.is_nan() {
                    0
                } else {
                    a.to_f32().to_bits().into()
                });
                put(quiet($ty::from_f32(f32::from_bits(hash(9, thread, round)))));
                let (x, y, z) = ($pair::new(a, b), $pair::new(b, c), $pair::new(c, a));
                let both = |x: $pair| quiet(x.low()) | quiet(x.high()) << 16;
                put(both(x + y));
                put(both(x - y));
                put(both(x * y));
                put(both(x.mul_add(y, z)));
                put(both(x.mul_add_relu(y, z)));
                put(both(x.min(y)));
                put(both(x.max(y)));
            }
        }
    };
}
half_cases!(f16 F16 F16x2);
half_cases!(bf16 Bf16 Bf16x2);

#[inline(always)]
pub fn tiny(thread: usize, mut put: impl FnMut(u64)) {
    for round in 0..8 {
        let random = hash(10, thread, round);
        let x = match round % 2 {
            0 => f32::from_bits(random),
            _ => (random as i32 >> 20) as f32 / 16.0,
        };
        put(E4m3::from_f32(x).to_bits().into());
        put(E5m2::from_f32(x).to_bits().into());
        put(E3m2::from_f32(x).to_bits().into());
        put(E2m3::from_f32(x).to_bits().into());
        put(E2m1::from_f32(x).to_bits().into());
        put(Ue8m0::above(x).to_bits().into());
        let byte = random as u8;
        put(E4m3::from_bits(byte).to_f32().to_bits().into());
        put(E5m2::from_bits(byte).to_f32().to_bits().into());
        put(E3m2::from_bits(byte).to_f32().to_bits().into());
        put(E2m3::from_bits(byte).to_f32().to_bits().into());
        put(E2m1::from_bits(byte).to_f32().to_bits().into());
        put(Ue8m0::from_bits(byte).to_f32().to_bits().into());
    }
}

#[inline(always)]
pub fn random(thread: usize, mut put: impl FnMut(u64)) {
    let number = thread as u64;
    let mut philox = Philox::new(0x1234_5678_9abc, number, number % 7);
    let mut xorwow = Xorwow::new(0x1234_5678_9abc ^ number, number % 3, number % 5);
    for word in philox4x32([thread as u32, 1, 2, 3], [4, 5]) {
        put(word.into());
    }
    for _ in 0..5 {
        put(philox.next_u32().into());
        put(xorwow.next_u32().into());
        put(philox.next_u64());
    }
    for word in philox.next4() {
        put(word.into());
    }
    philox.skip(number);
    xorwow.skip(number);
    put(philox.next_u32().into());
    put(xorwow.next_u64());
    macro_rules! both {
        ($($distribution:expr, $ty:ty, $bits:expr;)*) => {$(
            let x: $ty = $distribution.sample(&mut philox);
            put($bits(x));
            let x: $ty = $distribution.sample(&mut xorwow);
            put($bits(x));
        )*};
    }
    let single = |x: f32| u64::from(x.to_bits());
    both! {
        Positive, f32, single;
        Positive, f64, f64::to_bits;
        HalfOpen, f32, single;
        HalfOpen, f64, f64::to_bits;
        Uniform::<f32>::new(-1.0, 3.0), f32, single;
        Uniform::<f64>::new(-1.0, 3.0), f64, f64::to_bits;
        Uniform::<i32>::new(-100, 77), i32, |x| x as u32 as u64;
        Uniform::<u64>::new(3, 1 << 60), u64, |x| x;
        Uniform::<u8>::new(0, 5), u8, u64::from;
        Normal::<f32>::new(1.0, 2.5), f32, single;
        Normal::<f64>::new(1.0, 2.5), f64, f64::to_bits;
        Exponential::<f32>::new(2.0), f32, single;
        Exponential::<f64>::new(0.5), f64, f64::to_bits;
        Bernoulli::new(0.3), bool, u64::from;
        Poisson::new(2.5), u32, u64::from;
    }
    for x in Normal::<f32>::new(0.0, 1.0).sample2(&mut philox) {
        put(single(x));
    }
}

macro_rules! kernels {
    ($($kernel:ident $function:ident;)*) => {$(
        kernel! {
            $kernel(input, output) {
                let thread = thread::index_1d() as usize;
                // SAFETY: the output has this number of words for each thread.
                let to = unsafe { output.cast::<u64>().add(thread * WORDS) };
                let mut count = 0;
                $function(thread, |bits| {
                    if count < WORDS {
                        // SAFETY: as above.
                        unsafe { to.add(count).write(bits) };
                    }
                    count += 1;
                });
            }
        }
    )*};
}
kernels! {
    number_f16 f16;
    number_bf16 bf16;
    number_tiny tiny;
    number_random random;
}
