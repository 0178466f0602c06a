//! Language and device features other than arithmetic.

extern crate alloc;

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::ops::{Add, Mul};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cuda_std::intrinsics::float::{add_rm_f32, add_rp_f32, mul_rm_f32, mul_rp_f32};
use cuda_std::prelude::*;
use cuda_std::{ptx, time};
use cust_core::DeviceCopy;

/// Asserts that there are fewer threads than a limit.
#[kernel]
pub fn simple_assert(limit: u32) {
    let i = thread::index_1d();
    assert!(i < limit, "thread {i} is beyond {limit}");
}

/// Prints a line for each thread.
#[kernel]
pub fn simple_printf(value: u32) {
    println!(
        "[{}, {}]: the value is {value}",
        thread::block_idx_x(),
        thread::thread_idx_x()
    );
}

/// The least number of cycles that a block takes for a reduction, as `clock` has it.
#[kernel]
pub fn clock(from: &[f32], mut to: PerThread<[f32; 2]>) {
    let start = time::clock64();
    let least = from.iter().copied().fold(f32::INFINITY, f32::min);
    let cycles = time::clock64() - start;
    to.each(|_, to| *to = [least, cycles as f32]);
}

fn double(x: f32) -> f32 {
    x + x
}

fn square(x: f32) -> f32 {
    x * x
}

fn negative(x: f32) -> f32 {
    -x
}

static FUNCTIONS: [fn(f32) -> f32; 3] = [double, square, negative];

/// Calls functions by pointers out of a table.
#[kernel]
pub fn function_pointers(which: &[u32], mut to: PerThread<f32>) {
    to.each(|i, to| *to = FUNCTIONS[which[i] as usize](*to));
}

/// A shape, as C++ has virtual functions for it.
trait Shape {
    fn area(&self) -> f32;
}

struct Square(f32);
struct Circle(f32);

impl Shape for Square {
    fn area(&self) -> f32 {
        self.0 * self.0
    }
}

impl Shape for Circle {
    fn area(&self) -> f32 {
        core::f32::consts::PI * self.0 * self.0
    }
}

/// Calls functions of trait objects that the thread makes.
#[kernel]
pub fn virtual_functions(sizes: &[f32], mut to: PerThread<f32>) {
    to.each(|i, to| {
        let (square, circle) = (Square(sizes[i]), Circle(sizes[i]));
        let shape: &dyn Shape = if i % 3 == 0 { &square } else { &circle };
        *to = shape.area();
    });
}

/// `a * x + y` of any numbers.
fn axpy<T: Copy + Mul<Output = T> + Add<Output = T>>(a: T, x: &[T], mut y: PerThread<T>) {
    y.each_with(x, |_, y, &x| *y = a * x + *y);
}

macro_rules! templates {
    ($($name:ident $ty:ty;)*) => {$(
        #[doc = concat!("`axpy` of `", stringify!($ty), "`.")]
        #[kernel]
        pub fn $name(a: $ty, x: &[$ty], y: PerThread<$ty>) {
            axpy(a, x, y);
        }
    )*};
}
templates! {
    axpy_f32 f32;
    axpy_f64 f64;
    axpy_i32 i32;
}

/// Adds one to each element: for streams, graphs, mapped and unified memory.
#[kernel]
pub fn increment(by: u32, mut data: PerThread<u32>) {
    data.each(|_, element| *element += by);
}

/// As [`increment()`], by an address: for memory of the host's.
///
/// # Safety
/// There are `len` elements, which nobody else accesses.
#[kernel]
pub unsafe fn increment_mapped(by: u32, data: *mut u32, len: usize) {
    for i in thread::grid_stride(len) {
        // SAFETY: inside, and of this thread alone.
        unsafe { *data.add(i) += by };
    }
}

/// The sum of two vectors.
#[kernel]
pub fn vector_add(a: &[f32], b: &[f32], mut c: PerThread<f32>) {
    c.each_with((a, b), |_, c, (a, b)| *c = a + b);
}

/// The lanes below, by the instruction itself.
#[kernel]
pub fn inline_ptx(mut to: PerThread<u32>) {
    let mask: u32;
    // SAFETY: it reads a register.
    unsafe { ptx!("mov.u32 {}, %lanemask_lt;", out(reg32) mask, options(pure, nomem)) };
    to.each(|_, to| *to = mask);
}

/// Containers on the device's heap, for each thread.
#[kernel]
pub fn new_delete(mut to: PerThread<u64>) {
    to.each(|i, to| {
        let mut numbers: Vec<u64> = (0..i as u64 % 7).collect();
        numbers.extend([1, 2, 3]);
        let shapes: Vec<Box<dyn Shape>> = numbers
            .iter()
            .map(|&x| -> Box<dyn Shape> {
                if x % 2 == 0 {
                    Box::new(Square(x as f32))
                } else {
                    Box::new(Circle(0.0))
                }
            })
            .collect();
        let text = format!(
            "{}",
            shapes.iter().map(|shape| shape.area() as u64).sum::<u64>()
        );
        *to = text.parse().unwrap_or(u64::MAX);
    });
}

/// A number that is between two.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Interval {
    /// It is not less.
    pub low: f32,
    /// It is not more.
    pub high: f32,
}

impl Add for Interval {
    type Output = Interval;

    fn add(self, other: Interval) -> Interval {
        Interval {
            low: add_rm_f32(self.low, other.low),
            high: add_rp_f32(self.high, other.high),
        }
    }
}

impl Mul for Interval {
    type Output = Interval;

    fn mul(self, other: Interval) -> Interval {
        let pairs = [
            (self.low, other.low),
            (self.low, other.high),
            (self.high, other.low),
            (self.high, other.high),
        ];
        let low = pairs.map(|(a, b)| mul_rm_f32(a, b));
        let high = pairs.map(|(a, b)| mul_rp_f32(a, b));
        Interval {
            low: low.into_iter().fold(f32::INFINITY, f32::min),
            high: high.into_iter().fold(f32::NEG_INFINITY, f32::max),
        }
    }
}

/// A polynomial of intervals, rounded outwards.
#[kernel]
pub fn intervals(factors: [f32; 5], mut to: PerThread<Interval>) {
    to.each(|_, x| {
        let point = |x| Interval { low: x, high: x };
        *x = factors
            .iter()
            .fold(point(0.0), |sum, &factor| sum * *x + point(factor));
    });
}

/// The task of a thread.
#[derive(Clone, Copy, Debug, DeviceCopy)]
pub enum Task {
    /// Nothing.
    Rest,
    /// Ackermann's function, which calls itself.
    Ackermann(u32, u32),
    /// Sorts numbers that are made of a seed, and says how they lie.
    Sort {
        /// Their components.
        seed: u32,
        /// How many.
        count: u8,
    },
}

/// Does it, on either side.
pub fn perform(task: Task) -> u64 {
    fn ackermann(m: u32, n: u32) -> u32 {
        match (m, n) {
            (0, n) => n + 1,
            (m, 0) => ackermann(m - 1, 1),
            (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
        }
    }
    fn quicksort(numbers: &mut [u32]) {
        if let Some((&mut pivot, rest)) = numbers.split_first_mut() {
            let mut low = 0;
            for i in 0..rest.len() {
                if rest[i] < pivot {
                    rest.swap(i, low);
                    low += 1;
                }
            }
            numbers.swap(0, low);
            let (left, right) = numbers.split_at_mut(low);
            quicksort(left);
            quicksort(&mut right[1..]);
        }
    }
    match task {
        Task::Rest => 0,
        Task::Ackermann(m, n) => ackermann(m, n).into(),
        Task::Sort { seed, count } => {
            let mut numbers = [0; 32];
            let numbers = &mut numbers[..usize::from(count)];
            let mut x = seed;
            for number in numbers.iter_mut() {
                x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *number = x >> 16;
            }
            quicksort(numbers);
            let sum =
                |sum: u64, (i, &x): (usize, &u32)| sum.wrapping_mul(31) ^ u64::from(x) << (i % 32);
            numbers.iter().enumerate().fold(1, sum)
        }
    }
}

/// Each thread's task.
#[kernel]
pub fn tasks(tasks: &[Task], mut to: PerThread<u64>) {
    to.each(|i, to| *to = perform(tasks[i]));
}

/// Threads that have come by since the module was loaded.
#[address_space(global)]
pub static VISITS: AtomicU32 = AtomicU32::new(0);

/// Counts its threads.
#[kernel]
pub fn visit() {
    VISITS.fetch_add(1, Relaxed);
}

/// Whether numbers are prime, after Miller and Rabin, with products of 128 bits.
pub fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    let product = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(n)) as u64;
    if let Some(base) = BASES.iter().find(|&&base| n.is_multiple_of(base)) {
        return n == *base;
    }
    if n < 2 {
        return false;
    }
    let twos = (n - 1).trailing_zeros();
    BASES.iter().all(|&base| {
        let (mut x, mut power, mut bits) = (1, base, (n - 1) >> twos);
        while bits > 0 {
            if bits & 1 == 1 {
                x = product(x, power);
            }
            power = product(power, power);
            bits >>= 1;
        }
        let mut passes = x == 1;
        for _ in 0..twos {
            passes |= x == n - 1;
            x = product(x, x);
        }
        passes
    })
}

/// Whether each of the numbers is prime.
#[kernel]
pub fn primes(numbers: &[u64], mut to: PerThread<u8>) {
    to.each_with(numbers, |_, to, &n| *to = is_prime(n).into());
}

/// The sum of the numbers in each line of a string, or its error: the line's number is made
/// negative. Lines lie one after the other, and `ends` says where each ends.
#[kernel]
pub fn sum_lines(text: &[u8], ends: &[u32], mut to: PerThread<f64>) {
    to.each(|i, to| {
        let start = i.checked_sub(1).map_or(0, |before| ends[before] as usize);
        let line = &text[start..ends[i] as usize];
        let sum = core::str::from_utf8(line).ok().and_then(|line| {
            let fields = line
                .trim()
                .split(';')
                .map(|field| field.trim().parse::<f64>());
            fields.sum::<Result<f64, _>>().ok()
        });
        *to = sum.unwrap_or(-(i as f64));
    });
}
