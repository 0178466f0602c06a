//! The variables that a module's stack checks share with the host.

use core::ffi::CStr;
use core::mem::offset_of;

/// The prefix of the name of a kernel's [`Record`], which is followed by the kernel's name.
pub const RECORD_PREFIX: &str = "__cuda_std_stack_of_";

/// The 8-byte variable with the address of the end of the stack, for recursive functions. The host
/// writes it.
pub const FLOOR: &CStr = c"__cuda_std_stack_floor";

/// How much stack a kernel needs.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Record {
    /// The number of bytes; 0 if the driver computes it.
    pub bytes: u32,
    /// 1 if the kernel is recursive.
    pub recursive: u32,
}

const _: () = {
    assert!(offset_of!(Record, bytes) == 0 && offset_of!(Record, recursive) == 4);
    assert!(size_of::<Record>() == 8);
};
