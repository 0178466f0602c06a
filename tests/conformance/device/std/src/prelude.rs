//! The preludes.

macro_rules! prelude {
    ($name:ident) => {
        pub mod $name {
            pub use crate::panic;
            pub use crate::{dbg, eprint, eprintln, print, println, thread_local};
            pub use alloc_crate::borrow::ToOwned;
            pub use alloc_crate::boxed::Box;
            pub use alloc_crate::string::{String, ToString};
            pub use alloc_crate::vec::Vec;
            pub use alloc_crate::{format, vec};
            pub use core::prelude::$name::*;
            pub use core::{
                assert_eq, assert_ne, debug_assert, debug_assert_eq, debug_assert_ne, matches,
                todo, unimplemented, unreachable, write, writeln,
            };
        }
    };
}
prelude!(v1);
prelude!(rust_2021);
prelude!(rust_2024);
