//! Numbers: generic arithmetic, matrices, transforms, integration, simulations, geometry.

use crate::{Put, Record, cases, mix};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::array;
use core::iter::{Product, Sum, successors};
use core::ops::{Add, AddAssign, Index, IndexMut, Mul, Neg, Rem, Sub};
use cuda_std::prelude::*;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Complex<T> {
    re: T,
    im: T,
}

impl<T: Copy + Add<Output = T>> Add for Complex<T> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
}

impl<T: Copy + Sub<Output = T>> Sub for Complex<T> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            re: self.re - other.re,
            im: self.im - other.im,
        }
    }
}

impl<T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T>> Mul for Complex<T> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

impl<T: Copy + Default + Add<Output = T>> Sum for Complex<T> {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), |a, b| a + b)
    }
}

/// A transform over the numbers modulo a prime: exact, and of the same shape as Fourier's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Modular<const P: u64>(u64);

impl<const P: u64> Add for Modular<P> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self((self.0 + other.0) % P)
    }
}

impl<const P: u64> Sub for Modular<P> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self((self.0 + P - other.0) % P)
    }
}

impl<const P: u64> Mul for Modular<P> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self((u128::from(self.0) * u128::from(other.0) % u128::from(P)) as u64)
    }
}

impl<const P: u64> Product for Modular<P> {
    fn product<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self(1), Mul::mul)
    }
}

impl<const P: u64> Modular<P> {
    fn power(self, mut n: u64) -> Self {
        let (mut base, mut result) = (self, Self(1));
        while n > 0 {
            if n & 1 == 1 {
                result = result * base;
            }
            base = base * base;
            n >>= 1;
        }
        result
    }
}

trait Ring: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {}
impl<T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T>> Ring for T {}

fn transform<T: Ring>(values: &[T], root: T, one: T) -> Vec<T> {
    if let [only] = values {
        return vec![*only];
    }
    let half = |offset: usize| -> Vec<T> {
        let part: Vec<T> = values.iter().copied().skip(offset).step_by(2).collect();
        transform(&part, root * root, one)
    };
    let (even, odd) = (half(0), half(1));
    let twiddles = successors(Some(one), |&w| Some(w * root));
    let (low, high): (Vec<T>, Vec<T>) = even
        .iter()
        .zip(&odd)
        .zip(twiddles)
        .map(|((&e, &o), w)| (e + w * o, e - w * o))
        .unzip();
    [low, high].concat()
}

#[derive(Clone, PartialEq, Debug)]
struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (r, c): (usize, usize)) -> &f64 {
        assert!(c < self.columns, "column {c} of {}", self.columns);
        &self.data[r * self.columns + c]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (r, c): (usize, usize)) -> &mut f64 {
        &mut self.data[r * self.columns + c]
    }
}

impl Matrix {
    fn from_fn(rows: usize, columns: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        let data = (0..rows * columns)
            .map(|k| f(k / columns, k % columns))
            .collect();
        Self {
            rows,
            columns,
            data,
        }
    }

    fn determinant(mut self) -> f64 {
        let n = self.rows;
        let mut result = 1.0;
        for k in 0..n {
            let pivot = (k..n)
                .max_by(|&a, &b| self[(a, k)].abs().total_cmp(&self[(b, k)].abs()))
                .unwrap();
            if self[(pivot, k)] == 0.0 {
                return 0.0;
            }
            if pivot != k {
                for c in 0..n {
                    self.data.swap(pivot * n + c, k * n + c);
                }
                result = -result;
            }
            result *= self[(k, k)];
            for r in k + 1..n {
                let factor = self[(r, k)] / self[(k, k)];
                for c in k..n {
                    let above = self[(k, c)];
                    self[(r, c)] -= factor * above;
                }
            }
        }
        result
    }
}

impl Mul for &Matrix {
    type Output = Matrix;
    fn mul(self, other: &Matrix) -> Matrix {
        Matrix::from_fn(self.rows, other.columns, |r, c| {
            (0..self.columns)
                .map(|k| self[(r, k)] * other[(k, c)])
                .sum()
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct V3([f32; 3]);

impl V3 {
    fn dot(self, other: V3) -> f32 {
        self.0.iter().zip(other.0).map(|(a, b)| a * b).sum()
    }

    fn normal(self) -> Option<V3> {
        let length = self.dot(self).sqrt();
        (length > 1e-6).then(|| self * (1.0 / length))
    }
}

impl Add for V3 {
    type Output = V3;
    fn add(self, other: V3) -> V3 {
        V3(array::from_fn(|k| self.0[k] + other.0[k]))
    }
}

impl Neg for V3 {
    type Output = V3;
    fn neg(self) -> V3 {
        V3(self.0.map(Neg::neg))
    }
}

impl Sub for V3 {
    type Output = V3;
    fn sub(self, other: V3) -> V3 {
        self + -other
    }
}

impl Mul<f32> for V3 {
    type Output = V3;
    fn mul(self, factor: f32) -> V3 {
        V3(self.0.map(|x| x * factor))
    }
}

impl AddAssign for V3 {
    fn add_assign(&mut self, other: V3) {
        *self = *self + other;
    }
}

struct Ray {
    from: V3,
    along: V3,
}

trait Shape {
    fn hit(&self, ray: &Ray) -> Option<(f32, V3)>;
    fn color(&self, at: V3) -> [f32; 3] {
        let _ = at;
        [0.5; 3]
    }
}

struct Sphere {
    center: V3,
    radius: f32,
}

struct Floor(f32);

impl Shape for Sphere {
    fn hit(&self, ray: &Ray) -> Option<(f32, V3)> {
        let offset = ray.from - self.center;
        let b = offset.dot(ray.along);
        let c = offset.dot(offset) - self.radius * self.radius;
        let root = b * b - c;
        if root < 0.0 {
            return None;
        }
        let t = -b - root.sqrt();
        let normal = (ray.from + ray.along * t - self.center).normal()?;
        (t > 1e-3).then_some((t, normal))
    }
}

impl Shape for Floor {
    fn hit(&self, ray: &Ray) -> Option<(f32, V3)> {
        let t = (self.0 - ray.from.0[1]) / ray.along.0[1];
        (t.is_finite() && t > 1e-3).then_some((t, V3([0.0, 1.0, 0.0])))
    }

    fn color(&self, at: V3) -> [f32; 3] {
        let dark = (at.0[0].floor() as i32 + at.0[2].floor() as i32).rem_euclid(2) == 0;
        if dark {
            [0.0, 0.1, 0.2]
        } else {
            [1.0, 0.9, 0.8]
        }
    }
}

fn trace(scene: &[Box<dyn Shape>], ray: &Ray, depth: u32) -> [f32; 3] {
    let nearest = scene
        .iter()
        .filter_map(|shape| shape.hit(ray).map(|(t, n)| (t, n, shape)))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((t, normal, shape)) = nearest else {
        return ray.along.0.map(|x| x * 0.5 + 0.5);
    };
    let at = ray.from + ray.along * t;
    let own = shape.color(at);
    if depth == 0 {
        return own;
    }
    let along = ray.along - normal * (2.0 * normal.dot(ray.along));
    let mirrored = trace(scene, &Ray { from: at, along }, depth - 1);
    array::from_fn(|k| 0.75 * own[k] + 0.25 * mirrored[k])
}

/// One step of the classical Runge-Kutta method.
fn step<const N: usize>(
    f: &impl Fn(f64, &[f64; N]) -> [f64; N],
    t: f64,
    y: [f64; N],
    h: f64,
) -> [f64; N] {
    let shifted = |k: &[f64; N], by: f64| array::from_fn(|n| y[n] + by * k[n]);
    let k1 = f(t, &y);
    let k2 = f(t + h / 2.0, &shifted(&k1, h / 2.0));
    let k3 = f(t + h / 2.0, &shifted(&k2, h / 2.0));
    let k4 = f(t + h, &shifted(&k3, h));
    array::from_fn(|n| y[n] + h / 6.0 * (k1[n] + 2.0 * k2[n] + 2.0 * k3[n] + k4[n]))
}

fn integral(f: &dyn Fn(f64) -> f64, from: f64, to: f64, parts: u32) -> f64 {
    let h = (to - from) / f64::from(parts);
    (0..=parts)
        .map(|k| {
            let weight = match k {
                0 => 1.0,
                k if k == parts => 1.0,
                k if k % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * f(from + h * f64::from(k))
        })
        .sum::<f64>()
        * h
        / 3.0
}

fn is_prime(n: u64) -> bool {
    const WITNESSES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 || WITNESSES.iter().any(|&p| n != p && n % p == 0) {
        return false;
    }
    let twos = (n - 1).trailing_zeros();
    let odd = (n - 1) >> twos;
    let product = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(n)) as u64;
    WITNESSES.into_iter().filter(|&w| w < n).all(|witness| {
        let mut x = (0..64)
            .rev()
            .map(|bit| odd >> bit & 1 == 1)
            .fold(1, |x, bit| {
                let square = product(x, x);
                if bit {
                    product(square, witness)
                } else {
                    square
                }
            });
        x == 1
            || (0..twos).any(|_| {
                let found = x == n - 1;
                x = product(x, x);
                found
            })
    })
}

fn gcd<T: Copy + PartialEq + Default + Rem<Output = T>>(a: T, b: T) -> T {
    if b == T::default() { a } else { gcd(b, a % b) }
}

cases! {
    fn program_transforms(i, record) {
        type M = Modular<998_244_353>;
        let root = Modular(3).power((998_244_353 - 1) / 16);
        let values: Vec<M> = (0..16).map(|k| Modular(mix(u64::from(i * 16 + k)) % 998_244_353)).collect();
        let there = transform(&values, root, Modular(1));
        for value in &there {
            record.put(value.0);
        }
        let inverse = root.power(15);
        let back = transform(&there, inverse, Modular(1));
        let sixteenth = Modular::<998_244_353>(16).power(998_244_353 - 2);
        record.put(back.iter().zip(&values).all(|(&b, &v)| b * sixteenth == v));
        record.put(values.into_iter().product::<M>().0);

        let quarter = Complex { re: 0i64, im: -1 };
        let data: [Complex<i64>; 4] = array::from_fn(|k| Complex { re: i64::from(i) + k as i64, im: 2 - k as i64 });
        for c in transform(&data, quarter, Complex { re: 1, im: 0 }) {
            record.put((c.re, c.im));
        }
        let sum: Complex<i64> = data.into_iter().sum();
        record.put((sum.re, sum.im));
    }

    fn program_matrices(i, record) {
        let n = i as usize % 5 + 1;
        let a = Matrix::from_fn(n, n, |r, c| (mix((i as u64) << 8 | (r * 8 + c) as u64) % 19) as f64 - 9.0);
        let b = Matrix::from_fn(n, 2, |r, c| (r + c) as f64);
        let product = &a * &b;
        for value in &product.data {
            record.near64(*value);
        }
        record.near64(a.clone().determinant().round());
        record.put((&a * &Matrix::from_fn(n, n, |r, c| f64::from(u8::from(r == c)))) == a);
    }

    fn program_rays(i, record) {
        let scene: Vec<Box<dyn Shape>> = vec![
            Box::new(Floor(-1.0)),
            Box::new(Sphere { center: V3([0.0, 0.0, 4.0]), radius: 1.0 }),
            Box::new(Sphere { center: V3([1.5, 0.25, 3.0 + i as f32 / 32.0]), radius: 0.5 }),
        ];
        for k in 0..6 {
            let (x, y) = ((i % 8) as f32 / 4.0 - 0.87, k as f32 / 3.0 - 0.91);
            let along = V3([x, y, 1.3]).normal().unwrap_or_default();
            for channel in trace(&scene, &Ray { from: V3::default(), along }, 2) {
                record.near32((channel * 64.0).round());
            }
        }
    }

    fn program_bodies(i, record) {
        let mut bodies: [(V3, V3, f32); 5] = array::from_fn(|k| {
            let place = V3(array::from_fn(|axis| (mix(u64::from(i) * 16 + (k * 3 + axis) as u64) % 200) as f32 / 20.0 - 5.0));
            (place, V3::default(), 1.0 + k as f32)
        });
        for _ in 0..4 {
            let forces: [V3; 5] = array::from_fn(|a| {
                bodies.iter().enumerate().filter(|(b, _)| *b != a).fold(V3::default(), |sum, (_, &(place, _, mass))| {
                    let offset = place - bodies[a].0;
                    let square = offset.dot(offset) + 0.5;
                    sum + offset * (mass / (square * square.sqrt()))
                })
            });
            for ((place, speed, _), force) in bodies.iter_mut().zip(forces) {
                *speed += force * 0.125;
                *place += *speed * 0.125;
            }
        }
        for (place, speed, _) in bodies {
            place.0.into_iter().chain(speed.0).for_each(|x| record.near32((x * 256.0).round()));
        }
    }

    fn program_equations(i, record) {
        let spring = |_: f64, y: &[f64; 2]| [y[1], -y[0] - 0.1 * y[1]];
        let mut y = [f64::from(i) / 8.0, 0.0];
        for k in 0..10 {
            y = step(&spring, f64::from(k) * 0.1, y, 0.1);
        }
        record.near64(y[0]);
        record.near64(y[1]);
        let scale = f64::from(i) + 1.0;
        record.near64(integral(&|x| x * x * scale, 0.0, 3.0, 8));
        record.near64(integral(&f64::exp, -1.0, 1.0, 16));
        let root = successors(Some(scale), |x| {
            let better = (x + scale / x) / 2.0;
            ((better - x).abs() > 1e-12).then_some(better)
        });
        record.near64(root.last().unwrap());
    }

    fn program_primes(i, record) {
        let start = mix(u64::from(i)) >> (i % 40);
        record.put((start..).find(|&n| is_prime(n)));
        let limit = 200 + i as usize;
        let mut composite = vec![0u64; limit / 64 + 1];
        let mut primes = Vec::new();
        for n in 2..limit {
            if composite[n / 64] >> (n % 64) & 1 == 0 {
                primes.push(n);
                (n * n..limit).step_by(n).for_each(|m| composite[m / 64] |= 1 << (m % 64));
            }
        }
        record.put((primes.len(), primes.last().copied(), primes.iter().sum::<usize>()));
        record.put(gcd(u64::from(i) * 36, 84));
        record.put(gcd(i128::from(i) * 36 - 100, 84));
        let fibonacci = successors(Some((0u128, 1u128)), |&(a, b)| Some((b, a.checked_add(b)?)));
        record.put(fibonacci.map(|(a, _)| a).nth(i as usize * 2));
    }
}
