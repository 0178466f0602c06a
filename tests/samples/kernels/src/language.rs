//! What the language and the device have beside arithmetic.

use core::ops::{Add, Mul};
use cuda_std::prelude::*;
use cuda_std::time;

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

/// As [`increment`], by an address: for memory of the host's.
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
