//! `tests/processes.rs` shares memory and events with another process, `tests/vulkan.rs` memory,
//! images and semaphores with Vulkan, where that is. They need a GPU, and run with `--ignored`; the
//! emulator shares nothing.

/// A kernel that adds to each element of an array.
pub const BUMP: &str = include_str!("bump.ptx");
