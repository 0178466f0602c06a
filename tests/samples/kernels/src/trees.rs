//! Trees, lists in the device heap, bit manipulation, and fp8, fp6 and fp4.

extern crate alloc;

use alloc::boxed::Box;
use core::sync::atomic::AtomicPtr;
use cuda_std::atomic::{Atomic, Ordering::*};
use cuda_std::group::{self, Group};
use cuda_std::half::Bf16;
use cuda_std::intrinsics::float::{
    add_rm_f64, add_rp_f64, div_rm_f64, div_rp_f64, sqrt_rm_f64, sqrt_rp_f64,
};
use cuda_std::intrinsics::integer::{
    dp2a_lo_s32_s32, lop3_b32, prmt_b32, shf_l_wrap_b32, shf_r_wrap_b32,
};
use cuda_std::matrix::wmma;
use cuda_std::minifloat::E4m3;
use cuda_std::prelude::*;
use cuda_std::scope::Device;
use cuda_std::shared::{Array, Shared};
use cuda_std::{PerBlock, PerThread2d};
use cust_core::DeviceCopy;

/// A node's children and its parent: a leaf's number is behind all inner nodes'.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Node {
    /// The two below.
    pub children: [u32; 2],
}

/// How many leading bits two codes have in common; equal ones go on with their places.
fn common(codes: &[u32], i: usize, j: Option<usize>) -> i32 {
    match j.and_then(|j| codes.get(j).map(|&code| (j, code))) {
        None => -1,
        Some((j, code)) if code == codes[i] => 32 + (i as u32 ^ j as u32).leading_zeros() as i32,
        Some((_, code)) => (code ^ codes[i]).leading_zeros() as i32,
    }
}

/// A tree over sorted codes of places, all inner nodes at once: each finds the range of its leaves, and
/// where it is divided.
#[kernel]
pub fn tree_build(codes: &[u32], mut nodes: PerThread<Node>, parents: &[Atomic<u32, Device>]) {
    let inner = codes.len() - 1;
    nodes.each(|i, node| {
        let at = |distance: isize| i.checked_add_signed(distance);
        let rises = common(codes, i, at(1)) > common(codes, i, at(-1));
        let way: isize = if rises { 1 } else { -1 };
        let least = common(codes, i, at(-way));
        let mut bound = 2;
        while common(codes, i, at(bound * way)) > least {
            bound *= 2;
        }
        let (mut length, mut step) = (0, bound / 2);
        while step > 0 {
            if common(codes, i, at((length + step) * way)) > least {
                length += step;
            }
            step /= 2;
        }
        let of_node = common(codes, i, at(length * way));
        let (mut split, mut step) = (0, length);
        while step > 1 {
            step = (step + 1) / 2;
            if common(codes, i, at((split + step) * way)) > of_node {
                split += step;
            }
        }
        let first = i.wrapping_add_signed(split * way + way.min(0));
        let end = i.wrapping_add_signed(length * way);
        let child = |at: usize, leaf: bool| if leaf { inner + at } else { at };
        let children = [
            child(first, first == i.min(end)),
            child(first + 1, first + 1 == i.max(end)),
        ];
        node.children = children.map(|child| child as u32);
        for child in children {
            parents[child].store(i as u32, Relaxed);
        }
    });
}

/// The boxes of all nodes, from the leaves up: the second one that comes to a node goes on.
#[kernel]
pub fn tree_boxes(
    points: &[[f32; 2]],
    nodes: &[Node],
    parents: &[u32],
    visits: &[Atomic<u32, Device>],
    boxes: &[[Atomic<f32, Device>; 4]],
) {
    let inner = nodes.len();
    for (i, &[x, y]) in thread::elements(points) {
        let put = |node: usize, sides: [f32; 4]| {
            for (to, side) in boxes[node].iter().zip(sides) {
                to.store(side, Relaxed);
            }
        };
        let get = |node: u32| {
            let sides = &boxes[node as usize];
            core::array::from_fn::<f32, 4, _>(|i| sides[i].load(Relaxed))
        };
        put(inner + i, [x, y, x, y]);
        let mut node = parents[inner + i] as usize;
        while visits[node].fetch_add(1, AcqRel) == 1 {
            let [a, b] = nodes[node].children.map(get);
            put(
                node,
                [
                    a[0].min(b[0]),
                    a[1].min(b[1]),
                    a[2].max(b[2]),
                    a[3].max(b[3]),
                ],
            );
            if node == 0 {
                break;
            }
            node = parents[node] as usize;
        }
    }
}

/// How many points are within a distance of each place, by the tree.
#[kernel]
pub fn tree_count(
    distance: f32,
    places: &[[f32; 2]],
    nodes: &[Node],
    boxes: &[[f32; 4]],
    mut to: PerThread<u32>,
) {
    to.each_with(places, |_, to, &[x, y]| {
        let (mut stack, mut depth, mut count) = ([0u32; 40], 1, 0);
        while depth > 0 {
            depth -= 1;
            let node = stack[depth] as usize;
            let [x0, y0, x1, y1] = boxes[node];
            let (dx, dy) = (x - x.clamp(x0, x1), y - y.clamp(y0, y1));
            if dx * dx + dy * dy > distance * distance {
                continue;
            }
            match nodes.get(node) {
                Some(node) => {
                    stack[depth..depth + 2].copy_from_slice(&node.children);
                    depth += 2;
                }
                None => count += 1,
            }
        }
        *to = count;
    });
}

/// Something in a list.
struct Link {
    value: u32,
    next: *mut Link,
}

/// The first link of a list on the device's heap, which lives from launch to launch.
#[address_space(global)]
static LIST: AtomicPtr<Link> = AtomicPtr::new(core::ptr::null_mut());

/// Puts each number in front of the list.
#[kernel]
pub fn list_push(from: &[u32]) {
    for (_, &value) in thread::elements(from) {
        let link = Box::into_raw(Box::new(Link {
            value,
            next: core::ptr::null_mut(),
        }));
        let mut next = LIST.load(Relaxed);
        loop {
            // SAFETY: nobody else knows it yet.
            unsafe { (*link).next = next };
            match LIST.compare_exchange_weak(next, link, Release, Relaxed) {
                Ok(_) => break,
                Err(now) => next = now,
            }
        }
    }
}

/// Takes the whole list, frees it, and says how many numbers there were and their sum.
#[kernel]
pub fn list_take(mut to: PerThread<[u32; 2]>) {
    to.each(|_, to| {
        let mut link = LIST.swap(core::ptr::null_mut(), Acquire);
        *to = [0, 0];
        while !link.is_null() {
            // SAFETY: a box of `list_push`, which nobody else can reach any more.
            let taken = unsafe { Box::from_raw(link) };
            to[0] += 1;
            to[1] = to[1].wrapping_add(taken.value);
            link = taken.next;
        }
    });
}

/// Both bits of the sum of three.
fn add_bits(a: u32, b: u32, c: u32) -> (u32, u32) {
    (lop3_b32::<0x96>(a, b, c), lop3_b32::<0xe8>(a, b, c))
}

/// A step of Conway's game of life on a torus, 32 cells in a word: sums of bits side by side.
#[kernel]
pub fn life_bits(from: &[u32], mut to: PerThread2d<u32>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| {
        let row = |dy: usize| {
            let row = &from[(y + height + dy - 1) % height * width..][..width];
            let (left, own, right) = (row[(x + width - 1) % width], row[x], row[(x + 1) % width]);
            // The cell of bit 0 is on the left.
            (
                shf_l_wrap_b32(left, own, 1),
                own,
                shf_r_wrap_b32(own, right, 1),
            )
        };
        let (above, here, below) = (row(0), row(1), row(2));
        let (a0, a1) = add_bits(above.0, above.1, above.2);
        let (b0, b1) = add_bits(below.0, below.1, below.2);
        let (c0, c1) = (here.0 ^ here.2, here.0 & here.2);
        let (ones, carry) = add_bits(a0, b0, c0);
        let (s, fours) = add_bits(a1, b1, c1);
        let (twos, more) = (s ^ carry, s & carry);
        // Two or three neighbors, and alive already or three.
        *to = twos & !(fours | more) & (ones | here.1);
    });
}

/// Numbers of the other order of bytes, by one permutation; and their even bytes side by side.
#[kernel]
pub fn swap_bytes(from: &[u32], mut to: PerThread<[u32; 2]>) {
    to.each(|i, to| {
        let (x, y) = (from[i], from[(i + 1) % from.len()]);
        *to = [prmt_b32(x, 0, 0x0123), prmt_b32(x, y, 0x6420)];
    });
}

/// A filter of 16-bit samples by eight weights of 8 bits.
#[kernel]
pub fn fir(samples: &[u32], weights: [u32; 2], mut to: PerThread<i32>) {
    to.each(|i, to| {
        // Two samples in a word; an output for each word.
        let mut sum = 0;
        for (k, weights) in weights.iter().enumerate() {
            for half in 0..2 {
                let word = samples.get(i + 2 * k + half).copied().unwrap_or(0) as i32;
                let weights = (weights >> (16 * half)) as i32;
                sum = dp2a_lo_s32_s32(word, weights, sum);
            }
        }
        *to = sum;
    });
}

/// Points of Halton's sequence: digits behind the point, the other way around.
#[kernel]
pub fn halton(mut to: PerThread<[f32; 3]>) {
    let inverse = |mut i: u32, base: u32| {
        let (mut numerator, mut denominator) = (0u32, 1u32);
        while i > 0 {
            numerator = numerator * base + i % base;
            denominator *= base;
            i /= base;
        }
        numerator as f32 / denominator as f32
    };
    to.each(|i, to| {
        let i = i as u32;
        let two = (i.reverse_bits() >> 8) as f32 / (1 << 24) as f32;
        *to = [two, inverse(i, 3), inverse(i, 5)];
    });
}

/// Bounds of square roots of intervals by Heron's method, and by the instruction: all roundings outwards.
#[kernel]
pub fn roots(mut to: PerThread<[f64; 4]>) {
    to.each(|_, to| {
        let [low, high, ..] = *to;
        let (mut a, mut b) = (1.0f64.min(low), 1.0f64.max(high));
        for _ in 0..60 {
            // An estimate above the root gives one below it, and vice versa.
            let (m_low, m_high) = (add_rm_f64(a, b) / 2.0, add_rp_f64(a, b) / 2.0);
            let (x, y) = (div_rm_f64(low, m_high), div_rp_f64(high, m_low));
            (a, b) = (a.max(x.min(m_low)), b.min(y.max(m_high)));
        }
        *to = [a, b, sqrt_rm_f64(low), sqrt_rp_f64(high)];
    });
}

/// How many ways there are to put queens on a board so that none attacks another, each thread with the
/// first two rows of its own.
#[kernel]
pub fn queens(n: u32, count: &Atomic<u32, Device>) {
    fn ways(all: u32, columns: u32, left: u32, right: u32) -> u32 {
        if columns == all {
            return 1;
        }
        let mut free = all & !(columns | left | right);
        let mut count = 0;
        while free != 0 {
            let bit = free.isolate_lowest_one();
            free ^= bit;
            count += ways(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
        }
        count
    }
    let mut mine = 0;
    for start in thread::grid_stride((n * n) as usize) {
        let (first, second) = (1 << (start as u32 / n), 1 << (start as u32 % n));
        let (left, right) = (first << 1, first >> 1);
        if second & (first | left | right) == 0 {
            let (left, right) = ((left | second) << 1, (right | second) >> 1);
            mine += ways((1 << n) - 1, first | second, left, right);
        }
    }
    let all = group::block().reduce(mine, |a, b| a + b);
    if group::block().is_first() {
        count.fetch_add(all, Relaxed);
    }
}

/// Rows as bytes of floating point, with a scale for each: a block for a row.
#[kernel(block_size(64))]
pub fn quantize(from: &[Bf16], mut to: PerBlock<E4m3, 96>, mut scales: PerBlock<f32>) {
    let mut largest = 0.0;
    for mut row in to.pieces() {
        let start = row.start();
        let mine = thread::block_stride(row.len())
            .map(|i| from[start + i].to_f32().abs())
            .fold(0.0, f32::max);
        largest = group::block().reduce(mine, f32::max);
        let scale = E4m3::MAX.to_f32() / largest.max(1e-12);
        row.each(|i, to| *to = E4m3::from_f32(from[i].to_f32() * scale));
    }
    // A block has one row.
    scales.each(|_, to| *to = largest / E4m3::MAX.to_f32());
}

/// A product of bytes by `wmma`, and what comes after it in the same launch: a bias, no negative numbers,
/// and bytes again. A warp for each tile.
///
/// # Safety
/// The matrices are square with sides of `n`, a multiple of 16; the second lies column after column.
#[kernel(block_size(32))]
pub unsafe fn layer_bytes(
    #[shared] mut sums: Shared<Array<i32, 256>>,
    n: u32,
    a: &[i8],
    b: &[i8],
    bias: &[i32],
    shift: u32,
    to: &[Atomic<u8, Device>],
) {
    type Tile = wmma::Wmma<16, 16, 16, i8, i32>;
    let (row, column) = (thread::block_idx_y() * 16, thread::block_idx_x() * 16);
    let mut sum = wmma::Accumulator::<Tile>::zero();
    for k in (0..n).step_by(16) {
        // SAFETY: tiles within the matrices.
        sum = unsafe {
            let a =
                wmma::A::<Tile, wmma::RowMajor>::load(a.as_ptr().add((row * n + k) as usize), n);
            let b = wmma::B::<Tile, wmma::ColumnMajor>::load(
                b.as_ptr().add((column * n + k) as usize),
                n,
            );
            wmma::Multiply::multiply(a, b, sum)
        };
    }
    let sum = sum.map(|x| x.max(-1_000_000));
    // SAFETY: room for a tile, which is stored before anyone reads.
    unsafe {
        let tile = shared_array![i32; 256];
        sum.store(tile, 16);
        warp::sync(u32::MAX);
        sums.own().each(|i, to| *to = tile.add(i).read());
    }
    sums.read(|sums| {
        for i in thread::block_stride(256) {
            let (y, x) = (row as usize + i / 16, column as usize + i % 16);
            let value = (sums[i] + bias[x]) >> shift;
            to[y * n as usize + x].store(value.clamp(0, 255) as u8, Relaxed);
        }
    });
}
