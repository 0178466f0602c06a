//! What every crate of kernels imports: `use cuda_std::prelude::*;`.

pub use crate::float::{FloatExt, GpuFloat};
// For their methods.
pub use crate::group::{Group as _, Lanes as _};
pub use crate::per_thread::PerThread;
pub use crate::{address_space, constant, kernel};
#[cfg(target_arch = "nvptx64")]
pub use crate::{eprint, eprintln, print, println};
pub use crate::{shared, shared_array, thread, warp};
// What a host's crate has without the prelude, too: other macros of these names would be ambiguous.
#[cfg(not(target_arch = "nvptx64"))]
pub use std::{eprint, eprintln, print, println};
