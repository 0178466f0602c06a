//! Kernels with literals, patterns, lifetimes and keywords that must compile. They are not cases of
//! `ui.rs`: for cases that compile, `trybuild` builds all dependencies again, which takes minutes,
//! instead of only checking them.

#![allow(missing_docs, clippy::unused_unit, clippy::needless_lifetimes)]

use std::num::Wrapping;
use std::sync::atomic::AtomicU64;

use cuda_std::prelude::*;
use cust::prelude::*;

#[kernel]
pub fn all<'a>(
    small: u8,
    (low, high): (u32, u32),
    r#type: i64,
    first: &'a [f64],
    _: [u16; 3],
    sums: &'a [AtomicU64],
    mut out: PerThread<u8>,
) where
    'a: 'a,
{
    let _ = (low, high, r#type, first, sums);
    for (_, out) in out.own() {
        *out = small;
    }
}

#[kernel]
#[cfg(any())]
pub fn never(_x: NoSuchType) {}

#[derive(Clone, Copy)]
pub struct Pair<'a, 'b: 'a>(pub &'a u32, pub &'b u32);

/// Implied bounds.
#[kernel]
#[cfg(not(target_arch = "nvptx64"))]
pub fn implied<'a, 'b: 'a>(_a: &'a &'b u32, _b: &Pair<'a, 'b>, _c: &'a Option<&u32>) {}

#[kernel]
#[cfg(not(target_arch = "nvptx64"))]
pub fn implied_alone<'a, 'b>(_a: &'a &'b u32, _b: &Wrapping<&'a [f32]>) {}

#[kernel(block_size(8))]
#[cfg(not(target_arch = "nvptx64"))]
pub fn implied_and_elided<'a>(_a: &'a [&u32], _b: &[&'a u32]) {}

/// A module whose names shadow those of the prelude.
#[allow(dead_code, unused_macros, non_camel_case_types)]
mod shadowed {
    use cust::module::Module;
    use cust::stream::Stream;

    pub struct Ok;
    pub struct Err;
    pub struct Some;
    pub struct Result;
    pub struct Option;
    pub struct u32;
    macro_rules! stringify {
        ($($t:tt)*) => {
            7
        };
    }

    pub fn launch(module: &Module, stream: &Stream) -> bool {
        // SAFETY: it is never called.
        unsafe { cust::launch!(module.one<<<1, 1, 0, stream>>>(1i32)).is_ok() }
    }
}

mod inner {
    use cuda_std::prelude::*;

    #[kernel]
    pub(crate) fn r#loop(_n: usize) {}

    #[kernel]
    pub fn i128(_n: i128) -> () {}
}

fn launch(
    module: &Module,
    stream: &Stream,
    first: DeviceSlice<'_, f64>,
    sums: &mut DeviceBuffer<u64>,
    out: &mut DeviceBuffer<u8>,
) -> CudaResult<()> {
    let args = all::args(1, (2, 3), -4, first, [5, 6, 7], &mut *sums, &mut *out);
    module.launch(stream, (1, 1), args)?;
    let n: usize = 3;
    module.launch(stream, ((1, 1), (8, 8), 1024), inner::r#loop::args(n))
}

#[test]
fn kernels_of_all_shapes_compile() {
    let _ = launch;
    let _ = shadowed::launch;
    let _ = inner::i128;
}
