//! Kernels of a loaded module, their attributes, and grid and block dimensions.
//!
//! # Examples
//!
//! ```
//! use cust::prelude::*;
//!
//! # const PTX: &str = "
//! # .version 7.0
//! # .target sm_70
//! # .address_size 64
//! # .visible .entry fill(.param .u64 data, .param .u64 len) { ret; }";
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let module = Module::from_ptx(PTX, &[])?;
//! let function = module.get_function("fill")?;
//! assert_eq!(function.parameter_sizes(), Some(&[8, 8][..]));
//! let (_, block_size) = function.suggested_launch_configuration(0, 0.into())?;
//! let config = LaunchConfig::for_elements(1_000_000, block_size);
//! # assert!(config.block.x > 0);
//! # Ok::<(), cust::error::Error>(())
//! ```

pub use crate::context::CacheConfig;
pub use crate::dimensions::{BlockSize, GridSize};
pub use crate::module::{Function, FunctionAttribute};
