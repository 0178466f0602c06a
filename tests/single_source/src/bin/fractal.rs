//! Newton and Mandelbrot fractals, in floating and fixed point.
use cuda_std::prelude::*;
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

#[kernel]
fn draw<T: Number>(mut to: PerThread<u32>) {
    to.each(|i, to| *to = escape((T::scaled(i % SIZE, SIZE), T::scaled(i / SIZE, SIZE))));
}

fn mandelbrot<T: Number + 'static>() -> Vec<u32> {
    let mut image = vec![0; SIZE * SIZE];
    cust::launch((7, 256), draw::<T>::args(&mut image)).unwrap();
    image
}

#[kernel]
fn newton(
    f: impl Fn(Complex<f32>) -> Complex<f32> + Copy,
    d: impl Fn(Complex<f32>) -> Complex<f32> + Copy,
    starts: &[Complex<f32>],
    mut to: PerThread<(f16, f16)>,
) {
    to.each(|i, to| {
        let z = (0..30).fold(starts[i], |z, _| z - f(z) / d(z));
        *to = (f16::from_f32(z.re), f16::from_f32(z.im));
    });
}

fn main() {
    cust::init_auto().unwrap();
    let of_cpu = |i| {
        escape::<I8F24>((
            Number::scaled(i % SIZE, SIZE),
            Number::scaled(i / SIZE, SIZE),
        ))
    };
    assert!((0..SIZE * SIZE).map(of_cpu).eq(mandelbrot::<I8F24>()));
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
    let mut roots = vec![(f16::ZERO, f16::ZERO); starts.len()];
    cust::launch(
        (1, 64),
        newton::args(
            move |z| z * z * z - one,
            |z| z * z * 3.0,
            &starts,
            &mut roots,
        ),
    )
    .unwrap();
    for (re, im) in &roots {
        let root = Complex::new(re.to_f32(), im.to_f32());
        assert!((root * root * root - one).norm() < 1e-2, "{root}");
    }
    println!("{:?} {:?}", roots[3], roots[60]);
}
