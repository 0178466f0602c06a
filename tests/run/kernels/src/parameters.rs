//! Kernels with parameters of all kinds. What a kernel makes of its arguments is in a function
//! that the host calls too.

use crate::Record;
use core::cmp::{Ordering, Reverse};
use core::num::Saturating;
use core::ptr::NonNull;
use core::time::Duration;
use cuda_std::prelude::*;
use cust_core::DeviceCopy;

/// A struct whose fields the compiler reorders.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
pub struct Plain {
    pub a: u8,
    pub b: u64,
    pub c: [u16; 3],
    pub d: Option<u32>,
    pub e: f32,
    pub f: i128,
    pub g: (),
    pub h: char,
    pub i: bool,
}

/// An enum without data.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
pub enum Color {
    Red,
    Green,
}

/// An enum with data.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
pub enum Shape {
    Circle(f32),
    Box { width: u16, height: u64 },
    Nothing,
}

/// No data at all.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
pub struct Empty;

/// One number in a struct.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(transparent)]
pub struct Meters(pub f32);

/// One number in an ordinary struct.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
pub struct Id(pub u64);

/// More than its size asks for.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C, align(32))]
pub struct Aligned(pub u8, pub u16);

/// A struct that is large.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Large {
    pub table: [u32; 100],
    pub last: u8,
}

impl Plain {
    fn put(&self, record: &mut Record) {
        record.put((self.a, self.b, self.c, self.d));
        record.put((self.e, self.f, self.g, self.h, self.i));
    }
}

/// One scalar of each type.
pub type Scalars = (
    (u8, i8, u16, i16, u32, i32),
    (u64, i64, u128, i128, usize, isize),
    (f32, f64, bool, char),
);

pub fn put_scalars((a, b, c): Scalars, record: &mut Record) {
    record.put(a);
    record.put(b);
    record.put(c);
}

#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn parameter_scalars(
    record: *mut Record,
    a: u8,
    b: i8,
    c: u16,
    d: i16,
    e: u32,
    f: i32,
    g: u64,
    h: i64,
    i: u128,
    j: i128,
    k: usize,
    l: isize,
    m: f32,
    n: f64,
    o: bool,
    p: char,
) {
    let all = ((a, b, c, d, e, f), (g, h, i, j, k, l), (m, n, o, p));
    put_scalars(all, unsafe { &mut *record });
}

pub fn put_aggregates(
    plain: Plain,
    array: [u16; 5],
    pair: (u8, u64),
    color: Color,
    shape: Shape,
    large: Large,
    record: &mut Record,
) {
    plain.put(record);
    record.put(array);
    record.put(pair);
    record.put(color as u8);
    match shape {
        Shape::Circle(radius) => record.put(radius),
        Shape::Box { width, height } => record.put((width, height)),
        Shape::Nothing => record.put(77u8),
    }
    record.put((large.table.iter().sum::<u32>(), large.last));
}

#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn parameter_aggregates(
    plain: Plain,
    array: [u16; 5],
    pair: (u8, u64),
    color: Color,
    shape: Shape,
    large: Large,
    record: *mut Record,
) {
    put_aggregates(plain, array, pair, color, shape, large, unsafe {
        &mut *record
    });
}

pub fn put_small(
    meters: Meters,
    id: Id,
    aligned: Aligned,
    optional: Option<u32>,
    tiny: [u8; 1],
    record: &mut Record,
) {
    record.put((meters.0, id.0, aligned.0, aligned.1, optional, tiny));
}

#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn parameter_small(
    record: *mut Record,
    _: Empty,
    Meters(meters): Meters,
    id: Id,
    (): (),
    aligned: Aligned,
    mut optional: Option<u32>,
    none: [u64; 0],
    tiny: [u8; 1],
) {
    optional = optional.map(|x| x + none.len() as u32);
    put_small(Meters(meters), id, aligned, optional, tiny, unsafe {
        &mut *record
    });
}

pub fn put_references(
    bytes: &[u8],
    plain: &Plain,
    plains: &[Plain],
    text: &str,
    pairs: &[(u8, u32); 3],
    record: &mut Record,
) {
    record.put(bytes);
    plain.put(record);
    for plain in plains {
        plain.put(record);
    }
    record.put(text);
    record.put(pairs.as_slice());
}

#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn parameter_references<'a>(
    bytes: &'a [u8],
    plain: &Plain,
    plains: &'a [Plain],
    text: &str,
    pairs: &[(u8, u32); 3],
    record: *mut Record,
) {
    put_references(bytes, plain, plains, text, pairs, unsafe { &mut *record });
}

/// Types of `core`'s that are numbers or addresses.
pub type OfCore = (Ordering, Reverse<u16>, Saturating<i8>, Duration);

pub fn put_of_core((order, reverse, saturating, time): OfCore, record: &mut Record) {
    record.put(order);
    record.put((reverse < Reverse(7), (saturating + Saturating(100)).0));
    record.put((time.as_secs(), time.subsec_nanos()));
}

#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn parameter_of_core(
    record: NonNull<Record>,
    order: Ordering,
    reverse: Reverse<u16>,
    saturating: Saturating<i8>,
    time: Duration,
) {
    let mut record = record;
    put_of_core((order, reverse, saturating, time), unsafe {
        record.as_mut()
    });
}

/// No parameters, and a name that PTX and C know otherwise.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub fn add() {
    let _ = thread::index_1d();
}
