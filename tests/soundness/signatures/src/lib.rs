//! Kernels and statics whose types differ between host and device, because of a feature or the
//! target.

#![no_std]
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "the names say it")]

#[cfg(not(target_arch = "nvptx64"))]
use core::marker::PhantomData;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::prelude::*;
use cust_core::DeviceCopy;

pub mod left;
pub mod right;
pub mod shadowed;

#[cfg(feature = "host")]
pub type Real = f32;
#[cfg(not(feature = "host"))]
pub type Real = f64;

/// Two types that two versions of a dependency would give the same name.
#[cfg(feature = "host")]
pub type Handle<'a> = u64;
#[cfg(not(feature = "host"))]
pub type Handle<'a> = &'a AtomicU32;

#[cfg(target_arch = "nvptx64")]
pub type Counter<'a> = &'a AtomicU32;
#[cfg(not(target_arch = "nvptx64"))]
pub type Counter<'a> = PhantomData<&'a AtomicU32>;

#[kernel]
pub fn output_of_another_element(mut to: PerThread<Real>) {
    to.each(|_, to| *to = 1.0);
}

#[kernel]
pub fn slice_of_another_element(from: &[Real], mut to: PerThread<u32>) {
    to.each(|i, to| *to = from[i] as u32);
}

#[kernel]
pub fn number_as_reference(counter: Handle<'_>) {
    #[cfg(not(feature = "host"))]
    counter.fetch_add(1, Ordering::Relaxed);
    let _ = counter;
}

#[kernel]
pub fn nothing_as_reference<'a>(counter: Counter<'a>) {
    #[cfg(target_arch = "nvptx64")]
    counter.fetch_add(1, Ordering::Relaxed);
    let _ = counter;
}

macro_rules! pairs {
    ($(#[$cfg:meta])* $first:ident $second:ident $one:literal $two:literal $nonzero:ty) => {
        #[derive(Clone, Copy, DeviceCopy)]
        #[repr(C)]
        $(#[$cfg])*
        pub struct Swapped {
            pub $first: u32,
            pub $second: f32,
        }

        #[derive(Clone, Copy, DeviceCopy)]
        #[repr(u8)]
        $(#[$cfg])*
        pub enum Renumbered {
            One = $one,
            Two = $two,
        }

        #[derive(Clone, Copy, DeviceCopy)]
        #[repr(C)]
        $(#[$cfg])*
        pub enum Shape {
            Point,
            Disk { id: $nonzero },
        }

        #[derive(Clone, Copy, DeviceCopy)]
        $(#[$cfg])*
        pub struct Generic<T>(pub T, pub $nonzero);
    };
}
pairs! { #[cfg(feature = "host")] a b 0 1 u32 }
pairs! { #[cfg(not(feature = "host"))] b a 1 0 NonZeroU32 }

#[kernel]
pub fn fields_swapped(pair: Swapped, mut to: PerThread<u32>) {
    to.each(|_, to| *to = size_of_val(&pair) as u32);
}

#[kernel]
pub fn variants_renumbered(which: Renumbered) {
    let _ = which;
}

#[kernel]
pub fn field_of_another_type(shape: &Shape) {
    let _ = shape;
}

#[kernel]
pub fn field_of_a_generic_type(value: Generic<[f32; 2]>) {
    let _ = value;
}

#[kernel]
pub fn length_of_an_array(value: [(u8, u16); if cfg!(feature = "host") { 2 } else { 3 }]) {
    let _ = value;
}

#[kernel]
pub fn inside_of_an_option(value: Option<Generic<u8>>) {
    let _ = value;
}

#[kernel]
pub fn grid_constant(#[grid_constant] value: &Swapped) {
    let _ = value;
}

#[cfg(feature = "host")]
#[kernel]
pub fn safety() {}
#[cfg(not(feature = "host"))]
#[kernel]
pub fn safety(pointer: *mut u32) {
    let _ = pointer;
}

#[cfg_attr(feature = "host", kernel)]
#[cfg_attr(not(feature = "host"), kernel(block_size(32)))]
pub fn block_size_of_another_build(mut to: PerThread<u32>) {
    to.each(|_, to| *to = 1);
}

/// The same on both sides.
#[derive(Clone, Copy, DeviceCopy)]
pub struct Same<T> {
    pub small: u8,
    pub value: T,
    pub r#type: Option<NonZeroU32>,
}

#[derive(Clone, Copy, DeviceCopy)]
pub enum Choice {
    First(u32),
    Second { x: f32, y: [u8; 3] },
    Third,
}

#[kernel]
#[allow(
    clippy::needless_lifetimes,
    reason = "a lifetime with a name is tested, too"
)]
pub fn same<'a>(
    values: &'a [Same<(f32, bool)>],
    choice: Choice,
    option: Option<u32>,
    total: &AtomicU32,
    #[grid_constant] constant: &Same<u64>,
    mut to: PerThread<u32>,
) {
    let Choice::Second { x, y } = choice else {
        return;
    };
    total.fetch_add(1, Ordering::Relaxed);
    to.each(|i, to| {
        let Same {
            small,
            value,
            r#type,
        } = values[i];
        *to = u32::from(small) + value.0 as u32 + u32::from(value.1);
        *to += r#type.map_or(0, NonZeroU32::get) + x as u32 + u32::from(y[2]);
        *to += option.unwrap_or(0) + constant.value as u32;
    });
}

#[cfg(feature = "host")]
type Limit = u32;
#[cfg(not(feature = "host"))]
type Limit = NonZeroU32;

/// A number that is nonzero for the device but not for the host.
#[constant]
pub static LIMIT: Limit = match NonZeroU32::new(1) {
    #[cfg(feature = "host")]
    Some(limit) => limit.get(),
    #[cfg(not(feature = "host"))]
    Some(limit) => limit,
    None => panic!(),
};

macro_rules! limits {
    ($module:ident $ty:ty = $value:expr) => {
        pub mod $module {
            use cuda_std::prelude::*;

            #[constant]
            pub static LIMIT: $ty = $value;
        }
    };
}
limits! { plain u32 = 5 }
limits! { nonzero core::num::NonZeroU32 = core::num::NonZeroU32::MIN }

#[kernel]
pub fn limits(mut to: PerThread<u32>) {
    #[cfg(not(feature = "host"))]
    to.each(|i, to| {
        *to = match i {
            0 => *plain::LIMIT,
            1 => nonzero::LIMIT.get(),
            _ => LIMIT.get(),
        }
    });
    let _ = &mut to;
}

#[kernel]
pub fn factors(mut to: PerThread<f32>) {
    to.each(|i, to| *to = left::FACTORS[i] * 10.0 + right::FACTORS[i]);
}
