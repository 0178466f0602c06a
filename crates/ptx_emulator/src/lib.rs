//! A PTX emulator behind the CUDA driver API.
//!
//! [`Memory`] is the device's memory, [`Program::load`] decodes PTX text, and [`launch`] runs a
//! kernel on the host's cores. The module `driver` implements the CUDA driver's functions on top,
//! so that host programs run unchanged.
//!
//! The module `exec` lists the supported instructions.

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
