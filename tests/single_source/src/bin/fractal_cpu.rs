//! Newton and Mandelbrot fractals, in floating and fixed point.
use fixed::types::I8F24;
use half::f16;
use num_complex::Complex;
use std::ops::{Add, Mul, Sub};

trait Number: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + PartialOrd {
    const FOUR: Self;
    fn scaled(i: usize, n: usize) -> Self;
}
impl Number for f32 {
    const FOUR: f32 = 4.0;
    fn scaled(i: usize, n: usize) -> f32 {
        i as f32 * 3.0 / n as f32 - 2.0
    }
}
impl Number for I8F24 {
    const FOUR: I8F24 = I8F24::lit("4");
    fn scaled(i: usize, n: usize) -> I8F24 {
        I8F24::from_num(i) * I8F24::lit("3") / I8F24::from_num(n) - I8F24::lit("2")
    }
}

fn escape<T: Number>(c: (T, T)) -> u32 {
    let (mut x, mut y) = c;
    for n in 0..50 {
        let (xx, yy) = (x * x, y * y);
        if xx + yy > T::FOUR {
            return n;
        }
        (x, y) = (xx - yy + c.0, x * y + x * y + c.1);
    }
    50
}

const SIZE: usize = 40;

fn mandelbrot<T: Number>() -> Vec<u32> {
    (0..SIZE * SIZE)
        .map(|i| escape((T::scaled(i % SIZE, SIZE), T::scaled(i / SIZE, SIZE))))
        .collect()
}

fn newton(
    f: impl Fn(Complex<f32>) -> Complex<f32>,
    d: impl Fn(Complex<f32>) -> Complex<f32>,
    starts: &[Complex<f32>],
) -> Vec<(f16, f16)> {
    starts
        .iter()
        .map(|&z| (0..30).fold(z, |z, _| z - f(z) / d(z)))
        .map(|z| (f16::from_f32(z.re), f16::from_f32(z.im)))
        .collect()
}

fn main() {
    let sum = |v: Vec<u32>| v.iter().sum::<u32>();
    println!(
        "{} {}",
        sum(mandelbrot::<f32>()),
        sum(mandelbrot::<I8F24>())
    );
    let one = Complex::new(1.0, 0.0);
    let starts: Vec<_> = (0..64)
        .map(|i| Complex::new(i as f32 / 10.0 - 3.0, 0.7))
        .collect();
    let roots = newton(|z| z * z * z - one, |z| z * z * 3.0, &starts);
    println!("{:?} {:?}", roots[3], roots[60]);
}
