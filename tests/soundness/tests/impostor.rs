//! A program that declares itself as `core`: `include_module!` must still embed the build script's
//! files.

#![forbid(unsafe_code)]

extern crate self as core;

use cust::module::Embedded;
use cust::prelude::*;
use soundness_tests_kernels::values;

/// A replacement for `core::include!`.
#[macro_export]
macro_rules! include {
    ($($t:tt)*) => {
        (
            &["soundness-tests-kernels"],
            &[("sm_75", Image::Ptx("forged"))],
            &[],
        )
    };
}

/// A replacement for `core::include_str!`.
#[macro_export]
macro_rules! include_str {
    ($($t:tt)*) => {
        "forged"
    };
}

/// A replacement for `core::env!`.
#[macro_export]
macro_rules! env {
    ($($t:tt)*) => {
        "/nowhere"
    };
}

/// A replacement for `core::concat!`.
#[macro_export]
macro_rules! concat {
    ($($t:tt)*) => {
        "/nowhere"
    };
}

static KERNELS: Embedded = cust::include_module!("kernels");

#[test]
fn what_is_embedded_is_the_build_scripts() -> CudaResult<()> {
    let _device = cust::init_auto()?;
    let module = KERNELS.load()?;
    module.kernel::<values::padding>()?;
    Ok(())
}
