//! Names of the prelude and of the expansions that the user has redefined.

#![allow(
    dead_code,
    unused_macros,
    non_camel_case_types,
    non_local_definitions,
    clippy::upper_case_acronyms
)]

use cuda_std::prelude::{PerThread, address_space, constant, kernel};

macro_rules! shadow {
    ($($name:ident)*) => { $(pub struct $name;)* };
}
shadow! {
    Option Some None Result Ok Err Vec String Box Copy Clone Sized Send Sync Default Drop Fn Iterator
    u8 u64 usize str bool i128 Kernel Args Argument Record Signature Parameter Probe __SIGNATURE
    __BYTES __RECORD SYMBOL
}

macro_rules! env {
    ($($t:tt)*) => {
        "another package"
    };
}
macro_rules! concat {
    ($($t:tt)*) => {
        "another package"
    };
}
macro_rules! stringify {
    ($($t:tt)*) => {
        "another package"
    };
}
macro_rules! module_path {
    ($($t:tt)*) => {
        "another::path"
    };
}
macro_rules! include {
    ($($t:tt)*) => {
        "another file"
    };
}

/// A type with the name of a type parameter of the expansion.
#[derive(::core::clone::Clone, ::core::marker::Copy, cust_core::DeviceCopy)]
pub struct __A0(pub u32);

#[derive(::core::clone::Clone, ::core::marker::Copy, cust_core::DeviceCopy)]
#[repr(u8)]
pub enum Choice {
    First(u32),
    Second { x: f32 } = 7,
    Third,
}

#[constant]
pub static OFFSET: u32 = 3;

#[address_space(global)]
pub static TOTAL: ::core::sync::atomic::AtomicU32 = ::core::sync::atomic::AtomicU32::new(0);

#[kernel(block_size(32))]
pub fn shadowed(first: __A0, second: &[__A0], choice: Choice, mut to: PerThread<u32>) {
    TOTAL.fetch_add(1, ::core::sync::atomic::Ordering::Relaxed);
    let Choice::Second { x } = choice else {
        return;
    };
    to.each(|i, to| *to = first.0 + second[i].0 + *OFFSET + x as u32);
}

#[kernel]
#[allow(clippy::needless_lifetimes, reason = "the name is what is tested")]
pub fn lifetime<'__k>(first: &'__k [u32], second: &[u32], mut to: PerThread<u32>) {
    to.each(|i, to| *to = first[i] + second[i]);
}
