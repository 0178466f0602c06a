//! Indices that almost satisfy what the compiler proves about them.
//!
//! The compiler gives a kernel a second body, for launches whose lengths and extents are below 2³⁰
//! and whose grid has a thread for each element. There, it computes indices in 32 bits and removes
//! the checks that it proves. Each kernel here has an index that an unsound proof would accept:
//! integers that wrap, conversions that change the value, counters that wrap around.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cuda_std::prelude::*;

/// Declares kernels with the same parameters: a slice with elements, a slice that may have any
/// length because its elements have no bytes, two numbers, and an output for the value that the
/// expression computes for the element's index.
macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: |$i:ident, $xs:ident, $zs:ident, $a:ident, $b:ident| $value:expr;)*) => {
        $($(#[$doc])*
        #[kernel]
        #[allow(unused_variables)]
        pub fn $name($xs: &[u32], $zs: &[()], $a: usize, $b: usize, mut to: PerThread<u32>) {
            to.each(|$i, to| *to = $value);
        })*
    };
}

/// The number of an element without bytes, if the index is in bounds.
fn at(zs: &[()], index: usize) -> u32 {
    let () = zs[index];
    index as u32
}

/// Floats around those at which integers no longer hold them.
const FLOATS: [f64; 20] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    -1.5,
    0.5,
    1.0,
    3.0,
    7.5,
    40.0,
    1023.0,
    // 2³⁰, and 2³¹ - 2048, - 1024 and - 128.
    1073741824.0,
    2147481600.0,
    2147482624.0,
    2147483520.0,
    2147483648.0,
    4294967040.0,
    4294967296.0,
    9223372036854775808.0,
    // The largest `f64` below 2⁶⁴, and 2⁶⁴.
    18446744073709549568.0,
    18446744073709551616.0,
];

/// Reads neighbors of a converted float, as a filter does.
macro_rules! filter {
    ($x:expr, $xs:ident, $zs:ident) => {{
        let at = $x as usize;
        let (last, len) = ($xs.len().saturating_sub(1), $zs.len());
        let left = at.saturating_sub(1).min(last);
        let next = at.wrapping_add(1).min(last);
        let far = at.wrapping_add(2).saturating_sub(4).min(last);
        let before = at.wrapping_sub(3).min(last);
        let mut sum = left + 100 * next + 10_000 * far + 1_000_000 * before;
        sum += 7 * usize::from(at.wrapping_add(1) == 0) + 70 * usize::from(at.wrapping_sub(1) == 6);
        sum += 700 * usize::from(at.wrapping_add(512) < len) + 7_000 * usize::from(at == last);
        let far = at.wrapping_add(600).min(last) + at.wrapping_sub(600).min(last);
        sum as u32 + far as u32 + $xs[left] + $xs[next] + at_most($zs, at.wrapping_add(5))
    }};
}

/// Whether an index is in bounds, and then the element's number.
fn at_most(zs: &[()], index: usize) -> u32 {
    if index < zs.len() { at(zs, index) } else { 3 }
}

kernels! {
    neighbors_of_float: |i, xs, zs, a, b| {
        filter!(FLOATS[i.wrapping_add(a).wrapping_add(b / 2) % 20] as f32, xs, zs)
    };
    neighbors_of_double: |i, xs, zs, a, b| {
        filter!(FLOATS[i.wrapping_add(a).wrapping_add(b / 2) % 20], xs, zs)
    };
    /// The bits of a float are not the integer that was converted.
    bits_of_float: |i, xs, zs, a, b| {
        let bits = (i as f32).to_bits() as usize;
        if i < xs.len() { xs[bits] + xs[bits / 2] + xs[i] } else { 1 }
    };
    bits_of_double: |i, xs, zs, a, b| {
        let bits = (i as f64).to_bits() as usize;
        if i < xs.len() { xs[bits] ^ (xs[bits] + xs[i]) } else { 1 }
    };
    bits_of_float_in_rows: |i, xs, zs, a, b| {
        let (x, y) = (i % 8, i / 8);
        if x < a && y < b {
            let y = (y as f32).to_bits() as usize;
            xs[y * a + x] + xs[y * a + x + 1 - 1]
        } else { 2 }
    };
    /// A sign that appears when the index is narrowed.
    sign_of_word: |i, xs, zs, a, b| {
        let wide = (thread::thread_idx_x() * 4_000_000) as i32 as usize;
        if i < zs.len() { at(zs, wide) + at(zs, wide / 2) + at(zs, i) } else { 3 }
    };
    sixteen_bits: |i, xs, zs, a, b| {
        let low = (i.wrapping_mul(a)) as u16 as usize;
        if i < xs.len() { xs[low] + xs[low / 3] + xs[i] } else { 1 }
    };
    eight_bits_with_sign: |i, xs, zs, a, b| {
        let low = (i.wrapping_add(a)) as i8 as usize;
        if i < xs.len() { xs[low] + xs[low & 7] + xs[i] } else { 1 }
    };
    rows: |i, xs, zs, a, b| {
        let (x, y) = (i % 7, i / 7);
        if x < a && y < b { at(zs, y * a + x) + xs[(y * a + x) % 16] } else { 9 }
    };
    rows_of_wrapping_width: |i, xs, zs, a, b| {
        let (x, y) = (i % 7, i / 7);
        if x < a && y < b { at(zs, y.wrapping_mul(a).wrapping_add(x)) } else { 9 }
    };
    rows_and_neighbors: |i, xs, zs, a, b| {
        let (x, y) = (i % 7, i / 7);
        if x >= 1 && y >= 1 && x + 1 < a && y + 1 < b {
            at(zs, y * a + x - 1) + at(zs, y * a + x + 1) + at(zs, (y - 1) * a + x) + at(zs, (y + 1) * a + x)
        } else { 9 }
    };
    /// One row too far.
    row_below: |i, xs, zs, a, b| {
        let (x, y) = (i % 7, i / 7);
        if x < a && y < b { at(zs, (y + 1) * a + x) + at(zs, y * a + x) } else { 9 }
    };
    /// One column too far is in bounds except in the last row.
    column_beside: |i, xs, zs, a, b| {
        let (x, y) = (i % 7, i / 7);
        if x < a && y < b { at(zs, y * a + x + 1) + at(zs, y * a + x) } else { 9 }
    };
    /// The pitch is not the width.
    rows_of_another_pitch: |i, xs, zs, a, b| {
        let (x, y) = (i % 7, i / 7);
        if x < b && y < b { at(zs, y * a + x) + at(zs, x * a + y) } else { 9 }
    };
    narrow_product: |i, xs, zs, a, b| {
        let (x, y) = ((i % 7) as u32, (i / 7) as u32);
        if (x as usize) < a && (y as usize) < b {
            let index = y.wrapping_mul(a as u32).wrapping_add(x);
            at(zs, index as usize) + at(zs, index as usize / 2)
        } else { 9 }
    };
    shifted_out: |i, xs, zs, a, b| {
        if i < a { at(zs, (i << 32) >> 30) + at(zs, i << 29) + at(zs, i) } else { 4 }
    };
    below_zero: |i, xs, zs, a, b| {
        if i < a { at(zs, i.wrapping_sub(b)) + at(zs, i) + at(zs, a - i) } else { 4 }
    };
    below_zero_and_back: |i, xs, zs, a, b| {
        if i < a { at(zs, i.wrapping_sub(b).wrapping_add(1)) + at(zs, a - 1 - i) } else { 4 }
    };
    distance: |i, xs, zs, a, b| {
        let index = (i as i64 - a as i64).unsigned_abs() as usize;
        at(zs, index) + at(zs, index / 2) + at(zs, i)
    };
    signed: |i, xs, zs, a, b| {
        let index = i as i32 - a as i32;
        if index < b as i32 { at(zs, index as usize) + at(zs, index as u32 as usize) } else { 3 }
    };
    negative_factor: |i, xs, zs, a, b| {
        let index = (i as i64).wrapping_mul(-(a as i64)) as usize;
        if i < b { at(zs, index) + at(zs, index.wrapping_neg()) } else { 3 }
    };
    reversed: |i, xs, zs, a, b| {
        let mut sum = 0u32;
        let mut k = a;
        while k > b {
            k = k.wrapping_sub(1 + i % 2);
            sum = sum.wrapping_add(at(zs, k));
            if sum > 1 << 20 { break; }
        }
        sum
    };
    /// A counter that wraps around 2³².
    narrow_counter: |i, xs, zs, a, b| {
        let mut sum = 0u32;
        let mut k = (a as u32).wrapping_add(i as u32);
        for _ in 0..8 {
            sum = sum.wrapping_add(xs[k as usize % 16]).wrapping_add(at(zs, k as usize));
            k = k.wrapping_add(b as u32);
        }
        sum
    };
    wide_counter: |i, xs, zs, a, b| {
        let mut sum = 0u32;
        let mut k = a + i;
        for _ in 0..8 {
            sum = sum.wrapping_add(xs[k % 16]).wrapping_add(at(zs, k));
            k = k.wrapping_add(b);
        }
        sum
    };
    steps: |i, xs, zs, a, b| {
        let mut sum = 0u32;
        let mut k = i;
        while k < a {
            sum = sum.wrapping_add(xs[k]);
            k = k.wrapping_add(b | 1);
            if sum > 1 << 20 { break; }
        }
        sum
    };
    steps_of_eight: |i, xs, zs, a, b| {
        let mut sum = 0u32;
        let mut k = i % 8;
        while k != a {
            sum = sum.wrapping_add(xs[k]);
            k = k.wrapping_add(8);
        }
        sum
    };
    last_of_step: |i, xs, zs, a, b| {
        let mut sum = 0u32;
        for k in (0..a).step_by(3) { sum = sum.wrapping_add(xs[k + 2]); }
        sum
    };
    shadowed_length: |i, xs, zs, a, b| {
        let all = xs;
        let xs = &xs[..a];
        if i < all.len() { xs[i] + all[i] } else { 5 }
    };
    length_of_another: |i, xs, zs, a, b| {
        if i < zs.len() { xs[i] + xs[i / 2] } else { 5 }
    };
    lengths_through_a_third: |i, xs, zs, a, b| {
        if xs.len() >= a && zs.len() >= a && i < zs.len() { xs[i] + at(zs, i) } else { 5 }
    };
    rest_of_slice: |i, xs, zs, a, b| {
        let mut sum = 0u32;
        let mut left = xs;
        while let [first, second, rest @ ..] = left {
            sum = sum.wrapping_mul(3) + first + second;
            left = rest;
        }
        sum + left[i % 2]
    };
    both_ends: |i, xs, zs, a, b| {
        let mut sum = 0u32;
        let mut left = &xs[..xs.len() - i % 3];
        while let [first, middle @ .., last] = left {
            sum = sum.wrapping_mul(3) + first + last * xs[middle.len() + 1];
            left = middle;
        }
        sum
    };
    chunks: |i, xs, zs, a, b| {
        let mut sum = 0u32;
        for chunk in xs.chunks(3) { sum = sum.wrapping_add(chunk[0]).wrapping_add(chunk[a % 4]); }
        sum
    };
    split: |i, xs, zs, a, b| {
        let (left, right) = xs.split_at(a);
        left[i % 8].wrapping_add(right[i % 8]).wrapping_add(xs[a + i % 8])
    };
    early_exit: |i, xs, zs, a, b| {
        let mut sum = 0u32;
        'all: for y in 0..a {
            for x in 0..b {
                if sum > 300 { break 'all; }
                sum = sum.wrapping_add(xs[y * b + x]);
                if x > i { continue 'all; }
            }
        }
        sum
    };
    triangle: |i, xs, zs, a, b| {
        let mut sum = 0u32;
        for y in 0..a { for x in 0..=y { sum = sum.wrapping_add(xs[y * (y + 1) / 2 + x]); } }
        sum
    };
    /// A product of three extents, the first two of which wrap.
    volume: |i, xs, zs, a, b| {
        let (x, y, z) = (i % 2, i / 2 % 2, i / 4);
        if x < a && y < b && z < zs.len() {
            let index = (z.wrapping_mul(b).wrapping_add(y)).wrapping_mul(a).wrapping_add(x);
            at(zs, index) + xs[index % 16]
        } else { 6 }
    };
    masked: |i, xs, zs, a, b| {
        if a > 0 { xs[i & (a - 1)] + at(zs, (i + b) & (a - 1)) } else { at(zs, a) }
    };
    remainder: |i, xs, zs, a, b| {
        if !zs.is_empty() { at(zs, i.wrapping_mul(a) % zs.len()) + at(zs, i.wrapping_add(b) % (zs.len() + 1)) } else { 6 }
    };
    quotient: |i, xs, zs, a, b| {
        if b > 0 && i < a { at(zs, a / b) + at(zs, i / b) + at(zs, a.div_ceil(b)) } else { 6 }
    };
    rounded_up: |i, xs, zs, a, b| {
        let tiles = a.wrapping_add(15) / 16;
        if i < tiles { at(zs, i * 16) + at(zs, i * 16 + 15) } else { 6 }
    };
    least_and_greatest: |i, xs, zs, a, b| {
        let least = a.min(zs.len()).min(b);
        if i < least { at(zs, i) + at(zs, a.max(b) - least) + xs[least - i - 1] } else { 6 }
    };
    unlike: |i, xs, zs, a, b| {
        if i <= a && i != b { at(zs, i) + at(zs, a - i) } else { 6 }
    };
    high_bits: |i, xs, zs, a, b| {
        let index = (i | a << 32) ^ (b << 32);
        if index < zs.len() || i < a { at(zs, index) + at(zs, index >> 1) } else { 6 }
    };
    overflowing: |i, xs, zs, a, b| {
        let (sum, over) = (a as u32).overflowing_add(i as u32 * 3);
        if !over { at(zs, sum as usize) + at(zs, sum as usize / 2) } else { at(zs, a + i * 3) }
    };
}

/// A grid-stride loop whose step wraps around: it counts down.
#[kernel]
pub fn steps_down(n: usize, xs: &[u32], counts: &[AtomicU32]) {
    let step = thread::grid_dim_x() as usize ^ 0xffff_ffff_ffff_0000;
    let mut i = thread::thread_idx_x() as usize * 65536;
    while i < n {
        let k = i / 65536;
        let near = xs[k % 8] + xs[k % 8 + 1] + xs[k % 8 + 2] * xs[k % 4 + 3];
        counts[k % counts.len()].fetch_add(near, Relaxed);
        i = i.wrapping_add(step);
    }
}

/// A grid-stride loop whose counter does not start at the thread's index.
#[kernel]
pub fn starts_high(first: usize, n: usize, xs: &[u32], counts: &[AtomicU32]) {
    let grid = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut i = first.wrapping_add(thread::index_1d() as usize);
    let mut rounds = 0;
    while i < n && rounds < 50 {
        let near = xs[i % 8] + xs[i % 8 + 1] + xs[i % 8 + 2] * xs[i % 4 + 3];
        counts[i % counts.len()].fetch_add(near, Relaxed);
        i = i.wrapping_add(grid);
        rounds += 1;
    }
}

/// A step that is a part of the grid, and a step that is a multiple of it modulo 2⁶⁴.
#[kernel]
pub fn other_steps(n: usize, by: usize, times: usize, xs: &[u32], counts: &[AtomicU32]) {
    let grid = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut i = thread::index_1d() as usize;
    while i < n {
        let near = xs[i % 8] + xs[i % 8 + 1] + xs[i % 8 + 2] * xs[i % 4 + 3];
        counts[i % counts.len()].fetch_add(near, Relaxed);
        i = i.wrapping_add((grid / (by | 1)).max(1));
    }
    let mut i = thread::index_1d() as usize;
    while i < n {
        counts[i % counts.len()].fetch_add(100 + xs[i % 16], Relaxed);
        let next = i.wrapping_add(grid.wrapping_mul(times));
        if next == i {
            break;
        }
        i = next;
    }
}
