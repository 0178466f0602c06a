//! Lifetimes that a kernel's parameters may have, and `'static` where it says nothing of memory.
//@ check-pass
#![no_std]

use core::marker::PhantomData;
use cuda_std::prelude::*;

static NAMES: [&str; 2] = ["one", "two"];

#[derive(Clone, Copy)]
pub struct Any<T: 'static>(pub T);

#[derive(Clone, Copy)]
pub struct Tagged<'a, T: 'static> {
    pub data: &'a [u32],
    pub tag: PhantomData<(&'static T, fn(T) -> T)>,
    pub raw: *const &'static u32,
}

#[derive(Clone, Copy)]
pub struct List<'a> {
    pub value: u32,
    pub next: Option<&'a List<'a>>,
}

#[kernel]
pub fn named<'a: 'b, 'b>(_: &'a [u32], _: &'b [&'a u32], _: Tagged<'b, fn(u32)>, _: List<'a>) {}

#[derive(Clone, Copy)]
pub struct Pair<'a, 'b: 'a>(pub &'a [u32], pub &'b u32);

/// Bounds that the types imply.
#[kernel]
pub fn implied<'a, 'b>(_: &'a &'b u32, _: &List<'a>, _: &'a Option<&u32>, _: Pair<'a, 'b>) {}

#[kernel(block_size(32))]
pub fn implied_with_entry<'a, 'b>(_: &'a &'b u32, _: Pair<'a, 'b>, _: &'a List<'_>) {}

#[kernel]
pub fn no_lifetimes(_: Any<u32>, _: *const fn(), _: PhantomData<&'static u32>, mut to: PerThread<u32>) {
    let text: &'static str = NAMES[1];
    to.each(|_, to| *to = text.len() as u32);
}

#[kernel]
pub fn constant(#[grid_constant] _: &[u32; 4]) {}
