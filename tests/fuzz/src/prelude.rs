pub use alloc::boxed::Box;
pub use alloc::vec::Vec;
pub use core::cell::Cell;
pub use core::num::Wrapping;
pub use core::sync::atomic::*;

/// A checksum of the thread's results so far.
#[derive(Default)]
pub struct H(Cell<u64>);

impl H {
    #[inline(never)]
    pub fn word(&self, x: u64) {
        let mut z = (self.0.get() ^ x).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.0.set(z ^ (z >> 27));
    }
    pub fn put(&self, x: impl Put) {
        x.put(self);
    }
    pub fn get(&self) -> u64 {
        self.0.get()
    }
}

pub trait Put {
    fn put(&self, h: &H);
}

macro_rules! integers {
    ($($t:ident $u:ident $bits:literal)*) => {$(
        impl Put for $t {
            fn put(&self, h: &H) {
                h.word(*self as u64);
                if $bits > 64 {
                    h.word((*self as u128 >> 64) as u64);
                }
            }
        }
        impl Num for $t {
            const ONE: Self = 1;
            const LOW: Self = Self::MIN;
            const HIGH: Self = Self::MAX;
            fn add(self, x: Self) -> Self { self.wrapping_add(x) }
            fn sub(self, x: Self) -> Self { self.wrapping_sub(x) }
            fn mul(self, x: Self) -> Self { self.wrapping_mul(x) }
            fn xor(self, x: Self) -> Self { self ^ x }
            fn shr(self, x: Self) -> Self { self >> (x as u32 & ($bits - 1)) }
            fn rem(self, x: Self) -> Self { self.checked_rem(x).unwrap_or(x) }
        }
        impl Over for ($t, bool) {
            type Of = $t;
            fn over(self) -> $t { if self.1 { !self.0 } else { self.0 } }
        }
        impl Slices for [$t] {
            type Of = $t;
            fn slices(&self) -> $t {
                let mut sum = 0;
                for n in 1..3 {
                    for part in self.chunks_exact(n) {
                        sum = part.iter().fold(sum, |a: $t, x| a.wrapping_mul(31).wrapping_add(*x));
                    }
                }
                let (a, b) = self.split_at(self.len() / 2);
                if a < b { sum } else { !sum }
            }
        }
    )*};
}
integers!(i8 u8 8 u8 u8 8 i16 u16 16 u16 u16 16 i32 u32 32 u32 u32 32 i64 u64 64 u64 u64 64
    isize usize 64 usize usize 64 i128 u128 128 u128 u128 128);

pub trait Num: Copy + PartialOrd {
    const ONE: Self;
    const LOW: Self;
    const HIGH: Self;
    fn add(self, x: Self) -> Self;
    fn sub(self, x: Self) -> Self;
    fn mul(self, x: Self) -> Self;
    fn xor(self, x: Self) -> Self;
    fn shr(self, x: Self) -> Self;
    fn rem(self, x: Self) -> Self;
}

pub trait Over {
    type Of;
    fn over(self) -> Self::Of;
}
pub fn over<T: Over>(x: T) -> T::Of {
    x.over()
}

pub trait Slices {
    type Of;
    fn slices(&self) -> Self::Of;
}
#[inline(never)]
pub fn slices<T>(x: &[T]) -> <[T] as Slices>::Of
where
    [T]: Slices,
{
    x.slices()
}

impl Put for bool {
    fn put(&self, h: &H) {
        h.word(*self as u64);
    }
}
impl Put for char {
    fn put(&self, h: &H) {
        h.word(*self as u64);
    }
}
macro_rules! floats {
    ($($t:ident)*) => {$(
        impl Put for $t {
            fn put(&self, h: &H) {
                h.word(if self.is_nan() { 1 } else { self.to_bits() as u64 });
            }
        }
        impl Plain for $t {
            fn plain(self) -> $t { if self.is_nan() { 1.5 } else { self } }
        }
    )*};
}
floats!(f32 f64);

pub trait Plain {
    fn plain(self) -> Self;
}
/// The number, or another one instead of NaN, whose bits are not specified.
pub fn plain<T: Plain>(x: T) -> T {
    x.plain()
}

impl<T: Put> Put for Option<T> {
    fn put(&self, h: &H) {
        match self {
            Some(x) => {
                h.word(1);
                x.put(h);
            }
            None => h.word(0),
        }
    }
}
impl<T: Put, const N: usize> Put for [T; N] {
    fn put(&self, h: &H) {
        for x in self {
            x.put(h);
        }
    }
}
impl<A: Put, B: Put> Put for (A, B) {
    fn put(&self, h: &H) {
        self.0.put(h);
        self.1.put(h);
    }
}
impl<A: Put, B: Put, C: Put> Put for (A, B, C) {
    fn put(&self, h: &H) {
        self.0.put(h);
        self.1.put(h);
        self.2.put(h);
    }
}

pub trait Tr {
    fn read(&self, x: u32, h: &H) -> i64;
    fn change(&mut self, x: u32, h: &H);
    fn hint(&self) -> u32 {
        17
    }
}
#[inline(never)]
pub fn change(o: &mut dyn Tr, x: u32, h: &H) {
    o.change(x, h);
    h.word(o.hint() as u64);
}

#[inline(never)]
pub fn pick<T>(c: bool, a: T, b: T) -> T {
    if c { a } else { b }
}
pub fn twice<T>(c: &mut dyn FnMut(T) -> T, x: T) -> T {
    let y = c(x);
    c(y)
}
pub fn transpose<T: Copy, const N: usize, const M: usize>(a: [[T; M]; N]) -> [[T; N]; M] {
    core::array::from_fn(|i| core::array::from_fn(|j| a[j][i]))
}
#[inline(never)]
pub fn turn<T, const N: usize>(mut a: [T; N], by: usize) -> [T; N] {
    a.rotate_left(by);
    a
}
pub fn same<T: PartialEq>(a: &T, b: &T) -> bool {
    a == b
}
pub fn less<T: PartialOrd>(a: &T, b: &T) -> bool {
    a < b
}

/// The data that the threads of a program share: each element has one operation.
#[repr(C)]
#[derive(Default)]
pub struct Shared {
    pub add32: AtomicU32,
    pub min32: AtomicI32,
    pub xor64: AtomicU64,
    pub max64: AtomicI64,
    pub or16: AtomicU16,
    pub sub16: AtomicI16,
    pub and8: AtomicU8,
    pub add8: AtomicU8,
    pub rest: u16,
}
