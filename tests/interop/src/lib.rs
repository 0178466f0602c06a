//! `tests/processes.rs` shares memory and events with another process; `tests/vulkan.rs` shares
//! memory, images and semaphores with Vulkan, if it is installed. Both need a GPU and run with
//! `--ignored`; the emulator does not support sharing.

/// A kernel that adds to each element of an array.
pub const BUMP: &str = include_str!("bump.ptx");
