//! A PTX emulator that stands behind the CUDA driver API.
//!
//! The engine: [`Memory`] is what a device has, [`Program::load`] makes code of PTX text, and
//! [`launch`] runs a kernel of it over the host's cores. `driver` puts the CUDA driver's functions
//! in front of that, so that a host program does not know the difference.
//!
//! `exec` lists the instructions that are supported.

mod decode;
pub mod driver;
mod exact;
mod exec;
mod fault;
mod launch;
mod memory;
mod printf;
mod program;
mod tensor_map;
mod texture;

pub use fault::{Fault, FaultKind, LoadError, SourceLocation};
pub use launch::{LaunchConfig, LaunchStats, MAX_THREADS_PER_BLOCK, Output, launch};
pub use memory::Memory;
pub use program::{KernelId, KernelInfo, ParamInfo, Program};
