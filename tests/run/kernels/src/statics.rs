//! Statics: tables, strings, pointers to other statics, functions in tables, mutable and
//! zero-sized ones, and constants evaluated when compiling.

use crate::{cases, mix};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicI8, AtomicU32, Ordering};

static NUMBERS: [u32; 5] = [3, 1, 4, 1, 5];
static POINTER: &[u32; 5] = &NUMBERS;
static SLICE: &[u32] = &[7, 8, 9];
static NAMES: [&str; 4] = ["zero", "one", "two", ""];
static NESTED: &[&[(&str, Option<&u32>)]] = &[
    &[("first", Some(&NUMBERS[2])), ("none", None)],
    &[],
    &[("last", Some(&SEVEN))],
];
static SEVEN: u32 = 7;
static FUNCTIONS: &[(&str, fn(u32) -> u32)] = &[
    ("square", |x| x.wrapping_mul(x)),
    ("next", next),
    ("count", u32::count_ones),
];
static OBJECTS: [&(dyn Describe + Sync); 3] = [&SEVEN, &"text", &Unit];
static UNIT: () = ();
static EMPTY: [u64; 0] = [];
static WIDE: i128 = -170_141_183_460_469_231_731_687_303_715_884_105_728;
static MIXED: Mixed = Mixed {
    byte: 3,
    text: "mixed",
    float: 2.5,
    inner: Some(&MIXED_INNER),
};
static MIXED_INNER: Mixed = Mixed {
    byte: 4,
    text: "inner",
    float: -0.0,
    inner: None,
};
static COUNTER: AtomicU32 = AtomicU32::new(5);
static mut TOTALS: [u64; 128] = [1; 128];
const POWERS: [u64; 10] = powers(3);
const MESSAGE: &str = concat!("made ", "of ", 3, " parts");

/// Statics that refer to each other in a cycle, with functions and with vtables.
static RING: [Station; 3] = [
    Station {
        next: &RING[1],
        visit: next,
        stop: &STOP,
    },
    Station {
        next: &RING[2],
        visit: |x| x.wrapping_mul(3),
        stop: &SEVEN,
    },
    Station {
        next: &RING[0],
        visit: u32::reverse_bits,
        stop: &"ring",
    },
];
static STOP: Stop = Stop(&RING[2]);

struct Station {
    next: &'static Station,
    visit: fn(u32) -> u32,
    stop: &'static (dyn Describe + Sync),
}

struct Stop(&'static Station);

impl Describe for Stop {
    fn describe(&self) -> usize {
        self.0.stop.describe() + 1
    }
}

struct Mixed {
    byte: u8,
    text: &'static str,
    float: f64,
    inner: Option<&'static Mixed>,
}

struct Unit;

trait Describe {
    fn describe(&self) -> usize;
}

impl Describe for u32 {
    fn describe(&self) -> usize {
        *self as usize
    }
}

impl Describe for &str {
    fn describe(&self) -> usize {
        self.len() + 100
    }
}

impl Describe for Unit {
    fn describe(&self) -> usize {
        1000
    }
}

fn next(x: u32) -> u32 {
    x + 1
}

const fn powers(base: u64) -> [u64; 10] {
    let mut table = [1; 10];
    let mut k = 1;
    while k < 10 {
        table[k] = table[k - 1] * base;
        k += 1;
    }
    table
}

cases! {
    fn statics_in_a_circle(i, record) {
        let mut station = &RING[i as usize % 3];
        let mut x = i;
        for _ in 0..i % 7 {
            x = (station.visit)(x);
            record.put(station.stop.describe());
            station = station.next;
        }
        record.put(x);
        record.put(core::ptr::eq(station.next.next.next, station));
    }

    fn static_tables(i, record) {
        record.put(NUMBERS[i as usize % 5] + POINTER[2] + SLICE[i as usize % 3]);
        record.put(NAMES[i as usize % 4]);
        record.put(POWERS[i as usize % 10]);
        record.put((MESSAGE, WIDE, EMPTY.len(), UNIT));
    }

    fn static_pointers(i, record) {
        for row in NESTED {
            for (name, value) in *row {
                record.put((*name, value.copied()));
            }
        }
        record.put(core::ptr::eq(POINTER, &NUMBERS));
        let mut mixed = Some(&MIXED);
        while let Some(m) = mixed {
            record.put((m.byte, m.text, m.float, i));
            mixed = m.inner;
        }
    }

    fn static_functions(i, record) {
        for (name, f) in FUNCTIONS {
            record.put((*name, f(i + 3)));
        }
        for object in OBJECTS {
            record.put(object.describe());
        }
    }

    fn static_mutable(i, record) {
        // Each thread has its own element.
        unsafe {
            let mine = (&raw mut TOTALS).cast::<u64>().add(i as usize % 128);
            *mine = 1;
            for k in 0..5 {
                *mine = *mine * 3 + k;
            }
            record.put(*mine);
        }
    }

    fn static_atomic(i, record) {
        let before = COUNTER.fetch_add(i, Ordering::Relaxed);
        COUNTER.fetch_sub(i, Ordering::Relaxed);
        record.put(before >= 5);
    }

    // A byte's atomic operations change the word around it, which may reach beyond what the byte
    // is in.
    fn static_atomic_byte(i, record) {
        static FLAG: AtomicBool = AtomicBool::new(true);
        static BYTE: AtomicI8 = AtomicI8::new(-7);
        record.put(FLAG.fetch_and(true, Ordering::AcqRel));
        record.put(BYTE.fetch_max(-7, Ordering::Relaxed) as i32);
        let boxed = Box::new(AtomicI8::new(i as i8));
        record.put(boxed.fetch_add(100, Ordering::Relaxed) as i32);
        record.put(boxed.swap(3, Ordering::Relaxed) as i32);
        record.put(boxed.into_inner() as i32);
    }

    fn static_constants(i, record) {
        const LIMIT: u32 = if size_of::<usize>() == 8 { 64 } else { 32 };
        const NEGATIVE: [i8; 3] = [-1, i8::MIN, 0x7f];
        record.put((LIMIT, NEGATIVE[i as usize % 3]));
        record.put((u32::MAX, f32::EPSILON, f64::consts_pi(), i64::MIN, char::MAX));
        const { assert!(LIMIT == 64) };
        let literal: &'static [f32] = &[1.0, 2.5, 1e-45];
        record.put(literal);
        record.put(*b"bytes");
        record.put(mix(POWERS[9]));
    }
}

trait Pi {
    fn consts_pi() -> f64;
}

impl Pi for f64 {
    fn consts_pi() -> f64 {
        core::f64::consts::PI
    }
}
