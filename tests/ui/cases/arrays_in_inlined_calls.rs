//! Arrays in calls that are all inlined: LLVM's inliner would make one variable of those that have
//! the same type, and libnvvm's optimizer once crashed on the merged alloca.
//@ check-pass
//@ compile-flags: -Copt-level=3
#![no_std]

use core::ops::{Add, Mul};
use cuda_std::prelude::*;

#[derive(Clone, Copy)]
struct Matrix<T, const ROWS: usize, const COLUMNS: usize>([[T; COLUMNS]; ROWS]);

impl<T: Copy + Default + Add<Output = T> + Mul<Output = T>, const R: usize, const C: usize>
    Matrix<T, R, C>
{
    fn from_fn(f: impl Fn(usize, usize) -> T) -> Self {
        Self(core::array::from_fn(|r| core::array::from_fn(|c| f(r, c))))
    }
    fn times<const D: usize>(&self, other: &Matrix<T, C, D>) -> Matrix<T, R, D> {
        Matrix::from_fn(|r, d| {
            (0..C).fold(T::default(), |sum, c| sum + self.0[r][c] * other.0[c][d])
        })
    }
    fn transposed(&self) -> Matrix<T, C, R> {
        Matrix::from_fn(|c, r| self.0[r][c])
    }
}
#[inline(never)]
fn put(x: f32, out: &mut f32) {
    *out += x;
}
#[inline(never)]
fn puti(x: i64, out: &mut f32) {
    *out += x as f32;
}

#[kernel]
pub unsafe fn run(i: u32, out: *mut f32) {
    let record = unsafe { &mut *out };
    let a = Matrix::<i64, 2, 3>::from_fn(|r, c| (r * 3 + c) as i64 + i64::from(i));
    let b = Matrix::<i64, 3, 4>::from_fn(|r, c| (r as i64 - c as i64) * 7);
    for row in a.times(&b).transposed().0 {
        for x in row {
            puti(x, record);
        }
    }
    let a = Matrix::<f32, 3, 3>::from_fn(|r, c| (r + 2 * c) as f32 * 0.5 + i as f32);
    for row in a.times(&a.transposed()).0 {
        for x in row {
            put(x, record);
        }
    }
}
