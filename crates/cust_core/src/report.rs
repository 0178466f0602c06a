//! The layout of the report of a panic or a stack overflow, which `cuda_std` and the compiler write
//! and `cust` reads.
//!
//! A module whose kernels can panic has a variable named [`SYMBOL`], a [`Slot`]. The constants
//! describe the report that it points to: offsets in bytes, all numbers little-endian.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// The name of the variable of type [`Slot`], and of the static in `cuda_std`.
pub const SYMBOL: &core::ffi::CStr = c"__cuda_std_report";

/// The destination of a module's panics: a global variable of the module, which the host sets once.
#[repr(C)]
#[derive(Debug)]
pub struct Slot {
    /// The device address of a report in memory that the host can read, or 0 without one.
    pub buffer: AtomicU64,
    /// 0 until a thread claims the report, then the thread's number. Not part of the report,
    /// because a claim in device memory is cheap and reliable.
    pub claim: AtomicU32,
    /// Padding; the struct's size is 16.
    pub pad: AtomicU32,
}

/// The size of the report in bytes.
pub const SIZE: usize = 4096;
/// `u32`: one of the states below.
pub const STATE: usize = 0;
/// `[u32; 3]`: the index of the panicking thread's block.
pub const BLOCK: usize = 8;
/// `[u32; 3]`: the panicking thread's index in its block.
pub const THREAD: usize = 20;
/// `u32`: the line, from 1. For a stack overflow, `i32`: the remaining bytes of stack.
pub const LINE: usize = 32;
/// `u32`: the column, from 1.
pub const COLUMN: usize = 36;
/// `u32`: the length of the file name in bytes.
pub const FILE_LEN: usize = 40;
/// `u32`: the length of the message as stored.
pub const MESSAGE_LEN: usize = 44;
/// `u32`: the length of the message before truncation.
pub const MESSAGE_TOTAL: usize = 48;
/// `u32`: one of the kinds below.
pub const KIND: usize = 52;
/// `u64`: the number of the panicking thread's launch.
pub const LAUNCH: usize = 56;
/// `[u64; 3]`: the numbers of a message that the host formats, see [`parts`].
pub const ARGUMENTS: usize = 64;
/// The file name followed by the message, in UTF-8. For a stack overflow: the function's name.
pub const TEXT: usize = 88;

/// State: no thread has panicked.
pub const EMPTY: u32 = 0;
/// State: a thread is writing the report.
pub const WRITING: u32 = 1;
/// State: the report is complete.
pub const COMPLETE: u32 = 2;

/// Kind: a panic with a message.
pub const PANIC: u32 = 0;
/// Kind: a stack overflow, which the compiler's check of recursive functions reports.
pub const OVERFLOW: u32 = 1;
/// Kind: an index out of bounds: index, length.
pub const INDEX: u32 = 2;
/// Kind: a range out of bounds: start, end, length.
pub const RANGE: u32 = 3;
/// Kind: a copy between slices of different lengths: the destination's length, the source's.
pub const LENGTHS: u32 = 4;
/// Kind: a failed allocation: the size in bytes.
pub const ALLOCATION: u32 = 5;

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A string.
    Text(&'static str),
    /// A number, printed in decimal.
    Number(u64),
}

/// Returns the message of a kind of panic that only has [`ARGUMENTS`], or `None` for other kinds.
/// The host formats these messages, so kernels contain no formatting code for them.
///
/// ```
/// use cust_core::report::{INDEX, Part, parts};
///
/// let parts = parts(INDEX, [7, 5, 0]).unwrap();
/// assert_eq!(parts[1], Part::Number(5));
/// ```
pub const fn parts(kind: u32, arguments: [u64; 3]) -> Option<[Part; 5]> {
    use Part::{Number, Text};
    const OF_LENGTH: Part = Text(" out of range for slice of length ");
    let none = Text("");
    Some(match (kind, arguments) {
        (INDEX, [index, len, _]) => [
            Text("index out of bounds: the len is "),
            Number(len),
            Text(" but the index is "),
            Number(index),
            none,
        ],
        (RANGE, [start, _, len]) if start > len => [
            Text("range start index "),
            Number(start),
            OF_LENGTH,
            Number(len),
            none,
        ],
        (RANGE, [start, end, len]) if end <= len && start > end => [
            Text("slice index starts at "),
            Number(start),
            Text(" but ends at "),
            Number(end),
            none,
        ],
        // Also an inclusive range that ends at the largest number.
        (RANGE, [_, end, len]) => [
            Text("range end index "),
            Number(end),
            OF_LENGTH,
            Number(len),
            none,
        ],
        (LENGTHS, [destination, source, _]) => [
            Text("copy_from_slice: source slice length ("),
            Number(source),
            Text(") does not match destination slice length ("),
            Number(destination),
            Text(")"),
        ],
        (ALLOCATION, [size, ..]) => [
            Text("memory allocation of "),
            Number(size),
            Text(" bytes failed: the device's heap is used up"),
            none,
            none,
        ],
        _ => return None,
    })
}
