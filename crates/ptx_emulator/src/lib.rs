//! A PTX emulator behind the CUDA driver API.
//!
//! [`Memory`] is the device's memory, [`Program::load`] decodes PTX text, and [`launch`] runs a
//! kernel on the host's cores. The module `driver` implements the CUDA driver's functions on top,
//! so that host programs run unchanged.
//!
//! The module `exec` lists the supported instructions.
//!
//! ```
//! use ptx_emulator::{LaunchConfig, Memory, Program, launch};
//!
//! let memory = Memory::new();
//! let text = ".version 8.0\n.target sm_90\n.address_size 64\n
//!     .visible .entry indices(.param .u64 out) {
//!         .reg .u64 %rd<3>; .reg .u32 %r<2>;
//!         ld.param.u64 %rd1, [out];
//!         mov.u32 %r1, %ctaid.x;
//!         mul.wide.u32 %rd2, %r1, 4;
//!         add.u64 %rd1, %rd1, %rd2;
//!         st.global.u32 [%rd1], %r1;
//!         ret;
//!     }";
//! let program = Program::load(text, &memory)?;
//! let out = memory.alloc(16, 4).expect("the host has 16 bytes");
//! let config = LaunchConfig {
//!     grid: [4, 1, 1],
//!     params: out.to_le_bytes().to_vec(),
//!     ..LaunchConfig::default()
//! };
//! let kernel = program.kernel("indices").expect("the program has the kernel");
//! launch(&program, kernel, &config)?;
//!
//! // SAFETY: addresses of global memory are host addresses, and the kernel has completed.
//! let indices = unsafe { std::slice::from_raw_parts(out as *const u32, 4) };
//! assert_eq!(indices, [0, 1, 2, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decode;
pub mod driver;
mod exec;
mod fault;
mod launch;
mod memory;
mod printf;
mod program;
mod soft_float;
mod tensor_map;
mod texture;

pub use fault::{Fault, FaultKind, LoadError, SourceLocation};
pub use launch::{LaunchConfig, LaunchStats, MAX_THREADS_PER_BLOCK, Output, launch};
pub use memory::Memory;
pub use program::{KernelId, KernelInfo, ParamInfo, Program};
