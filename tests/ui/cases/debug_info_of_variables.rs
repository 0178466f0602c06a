//! Variables of all kinds of types, in full debug information.
//@ check-pass
//@ compile-flags: -Copt-level=0 -Cdebuginfo=2

#![no_std]
#![allow(dead_code)]
#![feature(f16)]

extern crate alloc;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;
use cuda_std::prelude::*;

struct Node<'a> {
    next: Option<&'a Node<'a>>,
    boxed: Option<Box<Node<'a>>>,
    words: [u16; 3],
    unit: (),
}

enum Kind {
    Nothing,
    Number(i128),
    Named { name: &'static str, inner: Result<f64, char> },
}

union Bits {
    int: u32,
    float: f32,
}

trait Speaks {
    fn speak(&self) -> u32;
}

impl Speaks for Cell<u32> {
    fn speak(&self) -> u32 {
        self.get()
    }
}

#[inline(never)]
fn use_all(node: &Node<'_>, kind: Kind, bits: Bits, speaker: &dyn Speaks, slice: &mut [Kind]) -> u32 {
    let closure = |n: u32| n + node.words[0] as u32 + speaker.speak();
    let function: fn(u32) -> Option<char> = char::from_u32;
    let (left, right) = slice.split_at_mut(1);
    let Kind::Named { name, inner } = kind else {
        return left.len() as u32;
    };
    let list: Vec<String> = Vec::new();
    let never = match inner {
        Ok(float) => float as u32,
        Err(letter) => letter as u32,
    };
    let unit = node.unit;
    let () = unit;
    // SAFETY: all bits are a number.
    let number = unsafe { bits.int };
    let next = node.next.is_some() || node.boxed.is_some();
    closure(number) + never + name.len() as u32 + list.len() as u32 + right.len() as u32
        + function(number).map_or(0, u32::from) + u32::from(next)
}

#[kernel]
pub unsafe fn debugged(out: *mut u32, half: f16, pair: (u8, bool)) {
    let last = Node { next: None, boxed: None, words: [1, 2, 3], unit: () };
    let node = Node { next: Some(&last), boxed: None, words: [4; 3], unit: () };
    let cell = Cell::new(thread::index_1d());
    let kind = Kind::Named { name: "name", inner: if pair.1 { Ok(1.5) } else { Err('x') } };
    let mut kinds = [Kind::Nothing, Kind::Number(pair.0.into())];
    let bits = Bits { float: half as f32 };
    // SAFETY: the caller's.
    unsafe { *out = use_all(&node, kind, bits, &cell, &mut kinds) };
}
