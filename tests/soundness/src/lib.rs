//! Programs without unsafe code that try to break what the libraries promise. Each of them must be
//! harmless, or end in a typed error; what must not compile is in `tests/ui` and `crates/cust/tests/ui`.

#![forbid(unsafe_code)]

use cust::prelude::*;

/// The kernels.
pub static KERNELS: Embedded = cust::include_module!("kernels");
