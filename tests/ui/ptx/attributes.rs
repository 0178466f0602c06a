//! What the backend tells libnvvm about references, intrinsics, memory accesses and operations;
//! `tests/ptx.rs` has what each kernel must and must not become.
//@ check-pass
#![no_std]
#![feature(core_float_math, link_llvm_intrinsics, asm_experimental_arch, portable_simd)]
#![allow(internal_features)]

use core::cell::{Cell, UnsafeCell};
use core::simd::{Simd, num::SimdInt};
use core::sync::atomic::AtomicU32;
use cuda_std::prelude::*;

#[inline(never)]
fn cells(a: &Cell<u32>, b: &Cell<u32>) -> u32 {
    a.set(1);
    b.set(2);
    a.get()
}

#[inline(never)]
fn nested(a: &(u32, [Cell<u32>; 2]), b: &Cell<u32>) -> u32 {
    a.1[1].set(1);
    b.set(2);
    a.1[1].get()
}

#[inline(never)]
unsafe fn unsafe_cells(a: &UnsafeCell<u32>, b: &UnsafeCell<u32>) -> u32 {
    unsafe {
        *a.get() = 1;
        *b.get() = 2;
        *a.get()
    }
}

#[inline(never)]
fn slices(a: &[Cell<u32>], b: &[Cell<u32>]) -> u32 {
    let (Some(a), Some(b)) = (a.first(), b.first()) else {
        return 0;
    };
    a.set(1);
    b.set(2);
    a.get()
}

/// References without interior mutability: libnvvm may keep the 1 in a register.
#[inline(never)]
fn unique(a: &mut u32, b: &mut u32) -> u32 {
    *a = 1;
    *b = 2;
    *a
}

#[kernel]
pub unsafe fn aliases(p: *mut u32, q: *mut u32) {
    unsafe {
        let (a, b) = (&*p.cast::<Cell<u32>>(), &*q.cast::<Cell<u32>>());
        let mut sum = cells(a, b);
        sum += nested(&*p.cast(), b);
        sum += unsafe_cells(&*p.cast(), &*q.cast());
        sum += slices(core::slice::from_ref(a), core::slice::from_ref(b));
        sum += unique(&mut *p.add(4), &mut *q.add(8));
        *p = sum;
    }
}

/// Another thread may write to it.
#[kernel]
pub unsafe fn reads_atomic(from: &AtomicU32, mut to: PerThread<u32>) {
    let value = unsafe { *from.as_ptr() };
    to.each(|_, to| *to = value);
}

/// Both may be the same variable.
#[kernel]
pub unsafe fn alias_atomics(a: &AtomicU32, b: &AtomicU32, to: *mut u32) {
    unsafe {
        *a.as_ptr() = 1;
        *b.as_ptr() = 2;
        *to = *a.as_ptr();
    }
}

/// An optional reference is null if there is none.
#[kernel]
pub unsafe fn optional(a: Option<&u32>, to: *mut u32) {
    unsafe { *to = a.copied().unwrap_or(7) }
}

/// Nobody may write to it.
#[kernel]
pub fn reads_slice(from: &[u32], mut to: PerThread<u32>) {
    to.each(|i, to| *to = from[i]);
}

#[kernel]
pub unsafe fn volatile(p: *mut u32) {
    unsafe {
        p.write_volatile(1);
        p.write_volatile(2);
        p.read_volatile();
    }
}

#[kernel]
pub unsafe fn round_even(p: *mut f32, q: *mut f64) {
    unsafe {
        *p = core::f32::math::round_ties_even(*p);
        *q = core::f64::math::round_ties_even(*q);
    }
}

#[kernel]
pub unsafe fn round_away(p: *mut f32) {
    unsafe { *p = core::f32::math::round(*p) };
}

#[repr(align(16))]
pub struct Aligned {
    pair: (u32, f32),
}

#[inline(never)]
fn pair(from: &Aligned) -> (u32, f32) {
    from.pair
}

#[kernel]
pub unsafe fn pairs(p: *const Aligned, to: *mut (u32, f32)) {
    unsafe { *to = pair(&*p) };
}

unsafe extern "C" {
    #[link_name = "llvm.nvvm.barrier0"]
    fn barrier0();
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(mask: u32);
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl(mask: u32, value: u32, lane: u32, c: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    fn match_any(mask: u32, value: u32) -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    fn lane() -> u32;
}

#[kernel]
pub unsafe fn named(p: *mut u32) {
    unsafe {
        barrier0();
        bar_warp_sync(u32::MAX);
        *p = vote_ballot(u32::MAX, *p == 1)
            ^ shfl(u32::MAX, *p, 1, 31)
            ^ match_any(u32::MAX, *p)
            ^ lane();
    }
}

/// A row of `cuda_std`'s table of intrinsics.
#[kernel]
pub unsafe fn shuffle(p: *mut u32) {
    unsafe { *p = warp::shuffle_xor(warp::FULL, *p, 1) };
}

#[inline(never)]
fn flag(set: bool, number: u32) -> u32 {
    number << u32::from(set)
}

/// Operations of types that no other code here has.
#[kernel]
pub unsafe fn operations(a: *mut i64, b: *mut [i32; 4], c: *mut i16, d: *mut u16, x: *mut f64) {
    unsafe {
        *a = (*a).saturating_add(*a.add(1));
        let vectors = (Simd::from_array(*b), Simd::from_array(*b.add(1)));
        *b = vectors.0.saturating_add(vectors.1).to_array();
        *c >>= 3;
        *d = (*d).unchecked_add(*d.add(1));
        *x = core::f64::math::ceil(*x);
        *a += i64::from(flag(*a > 3, *d as u32));
    }
}

/// A shuffle that claims to depend on its operands alone.
#[kernel]
pub unsafe fn pure_asm(p: *mut u32, n: u32) {
    let lane = thread::thread_idx_x();
    for i in 0..n {
        if lane & 1 == i & 1 {
            unsafe { p.add(lane as usize).write_volatile(i) };
        }
        let got: u32;
        unsafe {
            core::arch::asm!(
                "shfl.sync.bfly.b32 {}, {}, 1, 31, 0xffffffff;",
                out(reg32) got, in(reg32) lane + i,
                options(pure, nomem, nostack),
            )
        };
        if lane & 1 == 0 {
            unsafe { p.add(1).write_volatile(got * 3) };
        } else {
            unsafe { p.add(2).write_volatile(got * 5) };
        }
    }
}
