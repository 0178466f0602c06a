//! Loops that libnvvm unswitches and unrolls, and branches with equal arms, around barriers,
//! shuffles and votes behind every kind of call; `tests/ptx.rs` counts them.
//@ check-pass
#![no_std]
#![feature(asm_experimental_arch)]
use cuda_std::prelude::*;
use cuda_std::{thread, warp};

/// Stores that keep the arms of a branch apart.
macro_rules! put { ($p:ident, $i:expr, $v:expr) => { unsafe { $p.add($i as usize).write_volatile($v) } } }

/// The shape that the loop unswitcher, jump threading and tail duplication like.
macro_rules! shape {
    ($(#[$attr:meta])* $name:ident, $p:ident, $i:ident, $t:ident, ($($arg:ident: $ty:ty),*), $call:expr) => {
        #[kernel]
        pub unsafe fn $name($p: *mut u32, n: u32, $($arg: $ty),*) {
            let $t = thread::thread_idx_x();
            for $i in 0..n {
                if $t & 1 == $i & 1 { put!($p, $t, $i); }
                $call;
                if $t & 1 == 0 { put!($p, $t + 1, $i * 3); } else { put!($p, $t + 2, $i * 5); }
            }
        }
    };
}

#[inline(never)]
fn barrier(p: *mut u32, i: u32) { put!(p, i, i); thread::sync_threads(); put!(p, i, i + 1); }
#[inline(never)]
fn shuffle(v: u32) -> u32 { warp::shuffle_xor(warp::FULL, v, 1) }
#[inline(never)]
fn vote(v: bool) -> u32 { warp::ballot(warp::FULL, v) }
#[inline(never)]
fn deep(p: *mut u32, i: u32) { barrier(p, i); put!(p, i, i + 9); }
#[inline(never)]
fn recursive(p: *mut u32, i: u32) { if i == 0 { barrier(p, i) } else { recursive(p, i / 2); put!(p, i, 4) } }
#[inline(never)]
fn even(p: *mut u32, i: u32) { if i == 0 { thread::sync_threads() } else { odd(p, i - 1); put!(p, i, 4) } }
#[inline(never)]
fn odd(p: *mut u32, i: u32) { if i != 0 { even(p, i - 1); put!(p, i, 5) } }

trait Act { fn act(&self, p: *mut u32, i: u32); }
struct Waits; struct Counts;
impl Act for Waits { #[inline(never)] fn act(&self, p: *mut u32, i: u32) { barrier(p, i) } }
impl Act for Counts { #[inline(never)] fn act(&self, p: *mut u32, i: u32) { put!(p, i, 7) } }
#[inline(never)]
fn generic<A: Act>(a: &A, p: *mut u32, i: u32) { a.act(p, i); put!(p, i, 3); }

shape!(a2_inlined, p, i, t, (), { put!(p, i, i); thread::sync_threads() });
shape!(a2_noinline, p, i, t, (), barrier(p, i));
shape!(a2_deep, p, i, t, (), deep(p, i));
shape!(a2_shuffle, p, i, t, (), put!(p, t, shuffle(t + i)));
shape!(a2_vote, p, i, t, (), put!(p, t, vote(i & t == 0)));
shape!(a2_recursive, p, i, t, (), recursive(p, i));
shape!(a2_mutual, p, i, t, (), even(p, i));
shape!(a2_generic, p, i, t, (), generic(&Waits, p, i));
shape!(a2_generic_none, p, i, t, (), generic(&Counts, p, i));
static TABLE: [fn(*mut u32, u32); 2] = [barrier, deep];
shape!(a2_pointer, p, i, t, (k: u32), TABLE[(k & 1) as usize](p, i));
shape!(a2_parameter, p, i, t, (f: u64), (unsafe { core::mem::transmute::<u64, fn(u8, u64)>(f) })(3, 4));
static ACTS: [&(dyn Act + Sync); 2] = [&Waits, &Counts];
shape!(a2_dyn, p, i, t, (k: u32), ACTS[(k & 1) as usize].act(p, i));
shape!(a2_closure, p, i, t, (k: u32), {
    let f: &dyn Fn(u32) = if k == 0 { &|i| barrier(p, i) } else { &|i| put!(p, i, k) };
    core::hint::black_box(f)(i)
});
shape!(a2_inlined_shuffle, p, i, t, (), put!(p, t, warp::shuffle_xor(warp::FULL, t + i, 1)));
shape!(a2_inlined_vote, p, i, t, (), put!(p, t, warp::ballot(warp::FULL, i & t == 0)));
shape!(a2_asm, p, i, t, (), unsafe { core::arch::asm!("bar.warp.sync 0xffffffff;") });

// Both arms of a branch.
#[kernel]
pub unsafe fn arms_barrier(p: *mut u32) {
    let t = thread::thread_idx_x();
    if t & 1 == 0 { put!(p, 1, 1); thread::sync_threads(); put!(p, 2, 1) } else { put!(p, 3, 1); thread::sync_threads(); put!(p, 4, 1) }
}
#[kernel]
pub unsafe fn arms_shuffle(p: *mut u32) {
    let t = thread::thread_idx_x();
    let v = if t & 1 == 0 { warp::shuffle_xor(0x5555_5555, t, 2) } else { warp::shuffle_xor(0x5555_5555, t, 2) };
    put!(p, t, v);
}
#[kernel]
pub unsafe fn arms_vote(p: *mut u32, q: *const u32) {
    let t = thread::thread_idx_x();
    let v = if t & 1 == 0 { warp::ballot(0x5555_5555, unsafe { *q } > 4) } else { warp::ballot(0xaaaa_aaaa, unsafe { *q } > 5) };
    put!(p, t, v);
}
#[kernel]
pub unsafe fn arms_active(p: *mut u32) {
    let t = thread::thread_idx_x();
    let v = if t & 1 == 0 { warp::active_mask() } else { warp::active_mask() };
    put!(p, t, v);
}
#[kernel]
pub unsafe fn arms_noinline(p: *mut u32) {
    let t = thread::thread_idx_x();
    let v = if t & 1 == 0 { vote(t > 1) } else { vote(t > 1) };
    put!(p, t, v);
}
#[kernel]
pub unsafe fn sink(p: *mut u32) {
    let t = thread::thread_idx_x();
    let v = warp::ballot(warp::FULL, t > 3);
    let w = shuffle(t);
    if t & 1 == 0 { put!(p, t, v); put!(p, t, w); }
}
#[kernel]
pub unsafe fn thread_jump(p: *mut u32, n: u32) {
    let t = thread::thread_idx_x();
    let a = if t < n { put!(p, 1, 1); Some(t) } else { put!(p, 2, 1); None };
    barrier(p, t);
    thread::sync_threads();
    match a { Some(x) => put!(p, x, 4), None => put!(p, t, 5) }
}
#[kernel]
pub unsafe fn tail(p: *mut u32, n: u32) {
    let t = thread::thread_idx_x();
    match t % 5 { 0 => put!(p, 1, 1), 1 => put!(p, 3, 1), 2 => { put!(p, 5, 9); if n > 3 { put!(p, 6, 1) } }, 3 => put!(p, 8, 8), _ => put!(p, 9, 9) }
    barrier(p, t);
    put!(p, 77, warp::ballot(warp::FULL, n > t));
}
#[kernel]
pub unsafe fn rotate(p: *mut u32, q: *const u32) {
    let t = thread::thread_idx_x();
    let mut i = 0;
    while warp::any(warp::FULL, unsafe { q.add((t + i) as usize).read_volatile() } > 3) {
        if unsafe { q.add(i as usize).read_volatile() } == 9 { barrier(p, i); continue }
        i += 1;
    }
}
