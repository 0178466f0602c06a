//! Generic kernels: of this crate and of the library `kernels`, with closures, functions, structs and
//! constants as arguments.

use cuda_std::AnyBits;
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cust::prelude::*;
use kernels::map;
use std::error::Error;
use std::ops::{Add, Mul};

#[kernel]
pub fn zip_with<A, B, R>(a: &[A], b: &[B], mut r: PerThread<R>, f: impl Fn(A, B) -> R + Copy)
where
    A: Copy,
    B: Copy,
    R: Copy,
{
    for (i, r) in r.own() {
        *r = f(a[i], b[i]);
    }
}

/// A closure that takes references, and a constant of the grid.
#[kernel]
pub fn best<T: DeviceCopy, W: Copy>(
    values: &[T],
    #[grid_constant] wanted: &W,
    is_better: impl Fn(&W, &T, &T) -> bool + Copy,
    mut to: PerThread<T>,
) {
    for (i, to) in to.own() {
        let mut row = values[i * 4..][..4].iter();
        let first = row.next().unwrap();
        *to = *row.fold(
            first,
            |best, x| if is_better(wanted, x, best) { x } else { best },
        );
    }
}

mod inner {
    use super::*;
    #[kernel]
    pub fn poly<T, const N: usize>(c: [T; N], xs: &[T], mut ys: PerThread<T>)
    where
        T: Copy + Add<Output = T> + Mul<Output = T> + Default,
    {
        for (i, y) in ys.own() {
            let mut r = T::default();
            for &c in c.iter().rev() {
                r = r * xs[i] + c;
            }
            *y = r;
        }
    }

    #[kernel(block_size(64))]
    pub fn reverse_blocks<T: Copy + Default + AnyBits + Send + Sync, const N: usize>(
        #[shared] mut tile: Shared<Array<T, N>>,
        xs: &[T],
        mut ys: PerThread<T>,
    ) {
        let me = thread::thread_idx_x() as usize;
        let start = thread::block_idx_x() as usize * N;
        tile.own().each(|j, to| *to = xs[start + j]);
        tile.read(|tile| {
            for (_, y) in ys.own() {
                *y = tile[N - 1 - me];
            }
        });
    }
}

trait Shape: DeviceCopy {
    fn area(&self) -> f32;
}

#[derive(Clone, Copy, DeviceCopy)]
struct Circle(f32);

#[derive(Clone, Copy, DeviceCopy)]
struct Rectangle(f32, f32);

impl Shape for Circle {
    fn area(&self) -> f32 {
        3.0 * self.0 * self.0
    }
}

impl Shape for Rectangle {
    fn area(&self) -> f32 {
        self.0 * self.1
    }
}

#[kernel]
fn areas<S: Shape>(shapes: &[S], more: S, mut to: PerThread<f32>) {
    for (i, to) in to.own() {
        *to = shapes[i].area() + more.area();
    }
}

/// Kernels in an `impl`.
#[derive(Clone, Copy, DeviceCopy)]
struct Line<T> {
    slope: T,
    offset: T,
}

impl<T: DeviceCopy + Add<Output = T> + Mul<Output = T> + 'static> Line<T> {
    fn at(self, x: T) -> T {
        self.slope * x + self.offset
    }

    #[kernel(associated)]
    fn evaluate(self, xs: &[T], mut ys: PerThread<T>) {
        for (i, y) in ys.own() {
            *y = self.at(xs[i]);
        }
    }

    #[kernel(associated)]
    fn map_slope<U: Copy>(lines: &[Line<T>], f: impl Fn(T) -> U + Copy, mut to: PerThread<U>) {
        for (i, to) in to.own() {
            *to = f(lines[i].slope);
        }
    }
}

/// A kernel in a trait, which one of the types has of its own.
trait Step: DeviceCopy + 'static {
    fn step(&self, x: u32) -> u32;

    #[kernel(associated)]
    fn run(self, steps: u32, mut to: PerThread<u32>) {
        for (i, to) in to.own() {
            *to = (0..steps).fold(i as u32, |x, _| self.step(x));
        }
    }
}

#[derive(Clone, Copy, DeviceCopy)]
struct Collatz;

impl Step for Collatz {
    fn step(&self, x: u32) -> u32 {
        if x % 2 == 0 { x / 2 } else { 3 * x + 1 }
    }
}

#[derive(Clone, Copy, DeviceCopy)]
struct Add2(u32);

impl Step for Add2 {
    fn step(&self, x: u32) -> u32 {
        x + self.0
    }

    fn run(self, steps: u32, mut to: PerThread<u32>) {
        for (i, to) in to.own() {
            *to = i as u32 + steps * self.0;
        }
    }
}

/// A kernel in a trait, with parameters of an associated type.
trait Automaton: DeviceCopy + 'static {
    type Cell: DeviceCopy;

    fn next(&self, left: Self::Cell, cell: Self::Cell) -> Self::Cell;

    #[kernel(associated)]
    fn advance(self, border: Self::Cell, from: &[Self::Cell], mut to: PerThread<Self::Cell>) {
        for (i, to) in to.own() {
            let left = i.checked_sub(1).map_or(border, |left| from[left]);
            *to = self.next(left, from[i]);
        }
    }
}

#[derive(Clone, Copy, DeviceCopy)]
struct Parity<const N: usize>;

impl<const N: usize> Automaton for Parity<N> {
    type Cell = [bool; N];

    fn next(&self, left: [bool; N], cell: [bool; N]) -> [bool; N] {
        std::array::from_fn(|i| left[i] != cell[i])
    }
}

/// Errors name associated kernels with their types.
fn check_names(stream: &Stream) {
    let line = Line {
        slope: 1u64,
        offset: 0,
    };
    let mut to = [0; 2];
    let panic = stream.launch((1, 2), line.evaluate_args(&[1], &mut to));
    let panic = panic.and_then(|()| stream.synchronize());
    let no_blocks = stream.launch((0, 2), Collatz.run_args(1, &mut [0; 2]));
    for (error, expected) in [
        (panic, "the kernel `Line<u64>::evaluate` panicked at "),
        (no_blocks, "::Collatz as "),
    ] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "`{expected}` is not in `{error}`");
    }
}

/// Calls a kernel with any closure, and compares with the closure's results here.
fn check<F: Fn(f32) -> f32 + Copy + 'static>(
    stream: &Stream,
    xs: &[f32],
    f: F,
) -> Result<(), Box<dyn Error>> {
    let mut ys = vec![0.0; xs.len()];
    stream.launch((4, 256), map::args(f, xs, &mut ys))?;
    let expected: Vec<f32> = xs.iter().map(|&x| f(x)).collect();
    assert_eq!(ys, expected);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    cust::init_auto()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let xs: Vec<f32> = (0..1000u16).map(f32::from).collect();

    check_names(&stream);
    let factor = 2.5f32;
    let (table, offset) = ([1.0f32, 2.0, 3.0], (7u8, 0.5f32));
    let nested = move |x: f32| x + factor;
    check(&stream, &xs, move |x| x * factor)?;
    check(&stream, &xs, f32::abs)?;
    check(&stream, &xs, move |x| nested(nested(x)))?;
    check(&stream, &xs, move |x| {
        table[x as usize % 3] + offset.1 * x + f32::from(offset.0)
    })?;

    let numbers: Vec<u64> = (0..128).collect();
    let mut squares = vec![0u64; 128];
    stream.launch(
        (1, 128),
        map::<u64, u64, _>::args(|x| x * x, &numbers, &mut squares),
    )?;
    assert!(squares.iter().zip(&numbers).all(|(y, x)| *y == x * x));

    let mut sums = vec![0f64; 128];
    let add = |a: u64, b: f32| a as f64 + f64::from(b);
    stream.launch(
        (1, 128),
        zip_with::args(&numbers, &xs[..128], &mut sums, add),
    )?;
    assert!(
        sums.iter()
            .enumerate()
            .all(|(i, &sum)| sum == 2.0 * i as f64)
    );

    let mut values = vec![0f32; 1000];
    stream.launch(
        (4, 256),
        inner::poly::args([1.0, 2.0, 3.0], &xs, &mut values),
    )?;
    assert!(
        values
            .iter()
            .zip(&xs)
            .all(|(y, x)| *y == 1.0 + x * (2.0 + x * 3.0))
    );
    let mut values = vec![0u64; 128];
    stream.launch(
        (1, 128),
        inner::poly::<_, 2>::args([1, 2], &numbers, &mut values),
    )?;
    assert!(values.iter().zip(&numbers).all(|(y, x)| *y == 1 + x * 2));

    // Two instances, each with shared memory of its own type.
    let mut back = vec![0u64; 128];
    stream.launch(
        (2, 64),
        inner::reverse_blocks::<_, 64>::args(&numbers, &mut back),
    )?;
    assert_eq!((back[0], back[64], back[127]), (63, 127, 64));
    let mut back = vec![0f32; 128];
    stream.launch(
        (2, 64),
        inner::reverse_blocks::<_, 64>::args(&xs[..128], &mut back),
    )?;
    assert_eq!((back[0], back[64], back[127]), (63.0, 127.0, 64.0));

    let mut to = vec![0.0; 2];
    let circles = [Circle(1.0), Circle(2.0)];
    stream.launch((1, 2), areas::args(&circles, Circle(0.0), &mut to))?;
    assert_eq!(to, [3.0, 12.0]);
    let rectangles = [Rectangle(1.0, 2.0); 2];
    stream.launch(
        (1, 2),
        areas::args(&rectangles, Rectangle(1.0, 1.0), &mut to),
    )?;
    assert_eq!(to, [3.0, 3.0]);

    let mut to = vec![0u64; 32];
    let nearer =
        |wanted: &(u64, bool), a: &u64, b: &u64| a.abs_diff(wanted.0) < b.abs_diff(wanted.0);
    stream.launch((1, 32), best::args(&numbers, (61, true), nearer, &mut to))?;
    assert_eq!(to[14..17], [59, 61, 64]);

    let line = Line {
        slope: 2.0f32,
        offset: 1.0,
    };
    let mut ys = vec![0f32; 100];
    stream.launch((1, 128), line.evaluate_args(&xs[..100], &mut ys))?;
    assert!(ys.iter().zip(&xs).all(|(&y, &x)| y == line.at(x)));
    let mut slopes = vec![0u8; 2];
    stream.launch(
        (1, 2),
        Line::map_slope_args(&[line; 2], |slope| slope as u8, &mut slopes),
    )?;
    assert_eq!(slopes, [2, 2]);

    let mut numbers_after = [0; 8];
    stream.launch((1, 8), Collatz.run_args(3, &mut numbers_after))?;
    assert_eq!(numbers_after, [0, 1, 2, 16, 4, 4, 5, 34]);
    stream.launch((1, 8), Add2(2).run_args(3, &mut numbers_after))?;
    assert_eq!(numbers_after, [6, 7, 8, 9, 10, 11, 12, 13]);
    cust::launch_cpu((1, 8), Collatz.run_args(3, &mut numbers_after))?;
    assert_eq!(numbers_after, [0, 1, 2, 16, 4, 4, 5, 34]);
    cust::launch_cpu(
        (1, 2),
        Line::map_slope_args(&[line; 2], |slope| slope as u8 + 1, &mut slopes),
    )?;
    assert_eq!(slopes, [3, 3]);

    let (from, mut to) = (
        [[true, false], [true, true], [false, true]],
        [[false; 2]; 3],
    );
    stream.launch((1, 32), Parity.advance_args([false, true], &from, &mut to))?;
    assert_eq!(to, [[true, true], [false, true], [true, false]]);

    // Instances in the library: one that it launches itself, and those of its generic functions.
    assert_eq!(kernels::halved(&stream, &xs)?[3], 1.5);
    assert_eq!(kernels::mapped(&stream, &numbers, |x| x as u8)?[3], 3);
    let error = kernels::mapped(&stream, &numbers, |x| 10 / (x / 200))
        .unwrap_err()
        .to_string();
    assert!(error.contains("attempt to divide by zero"), "{error}");
    println!("the generic kernels gave what the host computes");
    Ok(())
}
