//! Programs without `unsafe` that try to break the libraries' guarantees. Each must be harmless or
//! end in a typed error. Programs that must not compile are in `tests/ui` and
//! `crates/cust/tests/ui`.

#![forbid(unsafe_code)]

use cust::prelude::*;

/// The kernels.
pub static KERNELS: Embedded = cust::include_module!("kernels");
