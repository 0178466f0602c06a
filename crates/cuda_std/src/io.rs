//! Printing from kernels: `print!`, `println!`, `eprint!`, `eprintln!`, formatted by `core::fmt`.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::println;
//!
//! /// Prints the negative elements.
//! #[kernel]
//! pub fn complain(data: &[i32]) {
//!     for i in thread::grid_stride(data.len()) {
//!         if data[i] < 0 {
//!             println!("element {i} is {}", data[i]);
//!         }
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! A short string is formatted on the stack, a long one in the device heap. The string of one call
//! is sent to the host as a unit, so lines of different threads do not interleave; the order of
//! lines of different threads is unspecified. The output appears at the host's next
//! synchronization. The device's buffer has 1 MiB unless the host sets another limit
//! (`cuCtxSetLimit`, `CU_LIMIT_PRINTF_FIFO_SIZE`); CUDA drops output that does not fit.
//!
//! The device has one output, so `eprint!` prints to the same output as `print!`. NUL characters
//! are not printed. On the host, these are the standard library's macros.

/// Prints a formatted string, without a newline.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => {
        $crate::io::print_fmt(::core::format_args!($($arg)*))
    };
}

/// Prints a formatted string, with a newline.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! println {
    () => {
        $crate::print!("\n")
    };
    ($($arg:tt)*) => {
        $crate::print!("{}\n", ::core::format_args!($($arg)*))
    };
}

/// Prints a formatted string to standard error (on the device: to its only output), without a
/// newline.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! eprint {
    ($($arg:tt)*) => {
        $crate::io::eprint_fmt(::core::format_args!($($arg)*))
    };
}

/// Prints a formatted string to standard error (on the device: to its only output), with a newline.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! eprintln {
    () => {
        $crate::eprint!("\n")
    };
    ($($arg:tt)*) => {
        $crate::eprint!("{}\n", ::core::format_args!($($arg)*))
    };
}

#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
pub use device::{print_fmt, print_fmt as eprint_fmt};

/// The device's replacements for `std`'s own macros in a single-source session.
#[cfg(nvvm_single_source)]
mod of_std {
    use super::device::print_fmt;
    use core::fmt::Arguments;

    #[unsafe(no_mangle)]
    fn __cuda_std_print(args: Arguments<'_>) {
        print_fmt(args);
    }

    #[unsafe(no_mangle)]
    fn __cuda_std_eprint(args: Arguments<'_>) {
        print_fmt(args);
    }
}

#[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
mod device {
    use crate::intrinsics::{free, malloc, vprintf};
    use core::fmt::{self, Write};
    use core::mem::MaybeUninit;
    use core::ptr::{copy_nonoverlapping, null_mut};

    /// The size of the buffer on the stack, including the terminating NUL. Longer strings go to the
    /// heap.
    const STACK: usize = 256;

    /// Formats a string and sends it to the host as a unit.
    #[cold]
    pub fn print_fmt(args: fmt::Arguments<'_>) {
        let mut text = Text {
            stack: [MaybeUninit::uninit(); STACK],
            heap: null_mut(),
            len: 0,
            capacity: STACK,
        };
        // An error means that a user's `Display` failed: the text before it is printed.
        let _ = text.write_fmt(args);
        text.flush();
    }

    /// A growable string with space for a terminating NUL.
    struct Text {
        stack: [MaybeUninit<u8>; STACK],
        /// The buffer of a string that is longer than the stack buffer; null before.
        heap: *mut u8,
        len: usize,
        capacity: usize,
    }

    impl Text {
        fn start(&mut self) -> *mut u8 {
            if self.heap.is_null() {
                self.stack.as_mut_ptr().cast()
            } else {
                self.heap
            }
        }

        /// Makes space for `more` bytes and the NUL. Returns `false` if the heap is exhausted.
        fn reserve(&mut self, more: usize) -> bool {
            let needed = self.len + more + 1;
            if needed <= self.capacity {
                return true;
            }
            let capacity = needed.max(self.capacity * 2);
            let grown = unsafe { malloc(capacity) };
            if grown.is_null() {
                return false;
            }
            // SAFETY: both buffers have at least `len` bytes, and the new one is exclusive.
            unsafe { copy_nonoverlapping(self.start(), grown, self.len) };
            if !self.heap.is_null() {
                unsafe { free(self.heap) };
            }
            self.heap = grown;
            self.capacity = capacity;
            true
        }

        /// Sends the string to the host and clears it.
        fn flush(&mut self) {
            if self.len > 0 {
                let start = self.start();
                // SAFETY: `reserve` keeps a byte free for the NUL. `vprintf` reads one pointer from
                // its arguments, for the only `%s`.
                unsafe {
                    start.add(self.len).write(0);
                    vprintf(c"%s".as_ptr().cast(), (&raw const start).cast());
                }
                self.len = 0;
            }
        }

        /// Appends bytes for which the caller has reserved space.
        fn push(&mut self, bytes: &[u8]) {
            let end = unsafe { self.start().add(self.len) };
            // SAFETY: the caller has reserved the space.
            unsafe { copy_nonoverlapping(bytes.as_ptr(), end, bytes.len()) };
            self.len += bytes.len();
        }
    }

    impl Write for Text {
        fn write_str(&mut self, s: &str) -> fmt::Result {
            // `%s` would stop at a NUL.
            for part in s.as_bytes().split(|&byte| byte == 0) {
                if self.reserve(part.len()) {
                    self.push(part);
                    continue;
                }
                // The heap is exhausted: send the complete string in several parts.
                for piece in part.chunks(self.capacity - 1) {
                    if self.len + piece.len() >= self.capacity {
                        self.flush();
                    }
                    self.push(piece);
                }
            }
            Ok(())
        }
    }

    impl Drop for Text {
        fn drop(&mut self) {
            if !self.heap.is_null() {
                unsafe { free(self.heap) };
            }
        }
    }
}
