//! Generics: functions, types and constants, monomorphized many ways.

use crate::{Put, Record, cases, mix};
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::{Add, Mul};

#[derive(Clone, Copy, Debug, PartialEq)]
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

struct Stack<T, const N: usize> {
    items: [Option<T>; N],
    len: usize,
}

impl<T, const N: usize> Stack<T, N> {
    const EMPTY: Option<T> = None;

    fn new() -> Self {
        Self {
            items: [Self::EMPTY; N],
            len: 0,
        }
    }

    fn push(&mut self, item: T) -> Result<(), T> {
        let Some(slot) = self.items.get_mut(self.len) else {
            return Err(item);
        };
        *slot = Some(item);
        self.len += 1;
        Ok(())
    }

    fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        self.items[self.len].take()
    }
}

struct Meters<T>(f64, PhantomData<T>);
struct Kilo;
struct Milli;

trait Prefix {
    const FACTOR: f64;
}
impl Prefix for Kilo {
    const FACTOR: f64 = 1000.0;
}
impl Prefix for Milli {
    const FACTOR: f64 = 0.001;
}

impl<T: Prefix> Meters<T> {
    fn convert<U: Prefix>(self) -> Meters<U> {
        Meters(self.0 * T::FACTOR / U::FACTOR, PhantomData)
    }
}

fn largest<T: PartialOrd + Copy>(values: &[T]) -> Option<T> {
    let mut values = values.iter().copied();
    let first = values.next()?;
    Some(values.fold(first, |a, b| if b > a { b } else { a }))
}

fn polynomial<T, const N: usize>(coefficients: [T; N], x: T) -> T
where
    T: Copy + Default + Add<Output = T> + Mul<Output = T>,
{
    coefficients
        .into_iter()
        .rev()
        .fold(T::default(), |sum, c| sum * x + c)
}

fn put_all<'a, I>(items: I, record: &mut Record)
where
    I: IntoIterator,
    I::Item: Put,
{
    for item in items {
        record.put(item);
    }
}

/// Calls itself with another type, four levels deep.
trait Nested {
    fn depth() -> u32;
}
impl Nested for () {
    fn depth() -> u32 {
        0
    }
}
impl<T: Nested> Nested for Option<T> {
    fn depth() -> u32 {
        T::depth() + 1
    }
}

cases! {
    fn generic_matrices(i, record) {
        let a = Matrix::<i64, 2, 3>::from_fn(|r, c| (r * 3 + c) as i64 + i64::from(i));
        let b = Matrix::<i64, 3, 4>::from_fn(|r, c| (r as i64 - c as i64) * 7);
        for row in a.times(&b).transposed().0 {
            record.put(row);
        }
        let a = Matrix::<f32, 3, 3>::from_fn(|r, c| (r + 2 * c) as f32 * 0.5 + i as f32);
        for row in a.times(&a.transposed()).0 {
            record.put(row);
        }
    }

    fn generic_stacks(i, record) {
        let mut numbers = Stack::<u64, 5>::new();
        let mut pairs = Stack::<(u8, Vec<u32>), 2>::new();
        for k in 0..7 {
            record.put(numbers.push(mix(u64::from(i + k))).is_ok());
            record.put(pairs.push((k as u8, alloc::vec![i; k as usize])).is_err());
        }
        while let Some(n) = numbers.pop() {
            record.put(n);
        }
        record.put(pairs.pop().map(|(a, b)| (a, b.len())));
    }

    fn generic_functions(i, record) {
        record.put(largest(&[1.5, i as f32, -3.0]));
        record.put(largest(&[i, 4, 9]));
        record.put(largest(&["b", "abc", "ab"]));
        record.put(largest::<char>(&[]));
        record.put(polynomial([1, 2, 3, i64::from(i)], 5));
        record.put(polynomial([0.5, -1.25], f64::from(i)));
        record.put(polynomial([] as [u8; 0], 3));
        put_all([1u8, 2], record);
        put_all(Some("x"), record);
        put_all((0..3).map(|k| (k, k * i)), record);
    }

    fn generic_phantoms(i, record) {
        let length = Meters::<Kilo>(f64::from(i), PhantomData);
        record.put(length.convert::<Milli>().0);
        record.put(size_of::<Meters<Kilo>>());
        record.put(<Option<Option<Option<()>>> as Nested>::depth());
    }

    fn generic_swaps(i, record) {
        let (mut a, mut b) = ([i; 20], [7; 20]);
        core::mem::swap(&mut a, &mut b);
        record.put((a[19], b[0]));
        let mut text = ("left", "right");
        core::mem::swap(&mut text.0, &mut text.1);
        record.put(text.0);
        record.put(core::mem::take(&mut a).len());
    }
}
