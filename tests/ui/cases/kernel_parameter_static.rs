//! A kernel's references end with the launch: it could keep a `'static` one in a static.
#![no_std]

use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};

type Forever = &'static [u32];

#[derive(Clone, Copy)]
pub struct Held(pub Forever);

#[derive(Clone, Copy)]
pub struct Bounded<'a>(pub &'a [u32])
where
    'a: 'static;

#[derive(Clone, Copy)]
pub struct Any<T: 'static>(pub T);

#[derive(Clone, Copy)]
pub struct Named<'a> {
    pub data: *const u32,
    pub lifetime: core::marker::PhantomData<&'a u32>,
}

pub trait Pointee {
    type Pointer;
}

impl Pointee for u32 {
    type Pointer = <Named<'static> as Pointee>::Pointer;
}

impl<'a> Pointee for Named<'a> {
    type Pointer = &'a u32;
}

pub struct Hidden<T: Pointee>(pub T::Pointer);

impl<T: Pointee> Clone for Hidden<T> {
    fn clone(&self) -> Self {
        loop {}
    }
}

impl<T: Pointee> Copy for Hidden<T> where T::Pointer: Copy {}

pub trait Keep {}
impl Keep for &'static u32 {}

#[kernel]
pub fn plain(_: &'static [u32]) {} //~ ERROR a kernel's parameter cannot hold a `'static` reference

#[kernel]
pub fn by_alias(_: u32, _: Forever) {} //~ ERROR a kernel's parameter cannot hold a `'static` reference

#[kernel]
pub fn bounded<'a: 'static>(_: &'a [u32]) {} //~ ERROR a kernel's parameter cannot hold a `'static` reference

#[kernel]
pub fn bounded_by_another<'a, 'b>(_: &'a u32, _: &'b u32) //~ ERROR a kernel's parameter cannot hold a `'static` reference
where
    'a: 'b,
    'b: 'static, //~^^^ ERROR a kernel's parameter cannot hold a `'static` reference
{
}

#[kernel]
pub fn implied(_: Bounded<'_>) {} //~ ERROR a kernel's parameter cannot hold a `'static` reference

#[kernel]
pub fn implied_by_a_type(_: Any<&u32>) {} //~ ERROR a kernel's parameter cannot hold a `'static` reference

#[kernel]
pub fn in_a_field(_: Option<(u8, [Held; 2])>) {} //~ ERROR a kernel's parameter cannot hold a `'static` reference

#[kernel]
pub fn behind_a_reference(_: &[Held]) {} //~ ERROR a kernel's parameter cannot hold a `'static` reference

#[kernel]
pub fn argument(_: Named<'static>) {} //~ ERROR a kernel's parameter cannot hold a `'static` reference

#[kernel]
pub fn associated(_: Hidden<u32>) {} //~ ERROR a kernel's parameter cannot hold a `'static` reference

#[kernel]
pub fn text(_: &'static str) {} //~ ERROR a kernel's parameter cannot hold a `'static` reference

#[kernel]
pub fn constant(#[grid_constant] _: &'static [u32; 4]) {} //~ ERROR a kernel's parameter cannot hold a `'static` reference

#[kernel(block_size(32))]
pub fn of_a_block_size(_: &'static [u32]) {} //~ ERROR a kernel's parameter cannot hold a `'static` reference

#[kernel]
pub fn with_shared_memory(
    #[shared] _tile: Shared<Array<u32, 32>>,
    _: &'static [u32], //~ ERROR a kernel's parameter cannot hold a `'static` reference
) {
}

#[kernel]
pub fn bound_on_a_trait<'a>(_: &'a u32) //~ ERROR a kernel's lifetimes cannot have trait bounds
where
    &'a u32: Keep,
{
}

#[kernel]
pub fn function(_: fn(u32) -> u32) {} //~ ERROR a kernel's parameter cannot hold a function pointer

#[kernel]
pub fn function_in_a_field(_: Option<fn(u32) -> u32>) {} //~ ERROR a kernel's parameter cannot hold a function pointer
