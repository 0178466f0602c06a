//! Literals, patterns, lifetimes and keywords: what compiles. Not a case of `ui.rs`: with one that
//! compiles, `trybuild` builds all dependencies again, which takes minutes, and else it checks them.

#![allow(missing_docs, clippy::unused_unit)]

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
    let _ = inner::i128;
}
