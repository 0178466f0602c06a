//! Printing from kernels: `print!`, `println!`, `eprint!`, `eprintln!`, formatted by `core::fmt`.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::println;
//!
//! /// Prints what is negative.
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
//! Nothing is allocated for a short text: it is formatted on the stack, and a long one in the device's
//! heap. One call's text goes to the host in one piece, so lines of different threads never mix; which
//! thread's line comes first is not defined. The text shows at the host's next synchronize. The
//! device's buffer is 1 MiB unless the host sets another limit (`cuCtxSetLimit`,
//! `CU_LIMIT_PRINTF_FIFO_SIZE`); CUDA drops what does not fit.
//!
//! The device has one output, so `eprint!` prints where `print!` does. A NUL character is not
//! printed. On the host these are the standard library's macros.

/// Prints, without a line break at the end.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => {
        $crate::io::print_fmt(::core::format_args!($($arg)*))
    };
}

/// Prints a line.
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

/// Prints to standard error, or on the device to its one output, without a line break at the end.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! eprint {
    ($($arg:tt)*) => {
        $crate::io::eprint_fmt(::core::format_args!($($arg)*))
    };
}

/// Prints a line to standard error, or on the device to its one output.
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

/// What `std`'s own macros become on the device in a single-source session.
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

    /// Texts up to this length, less one for the terminating NUL, stay on the stack.
    const STACK: usize = 256;

    /// Formats a text and sends it to the host in one piece.
    #[cold]
    pub fn print_fmt(args: fmt::Arguments<'_>) {
        let mut text = Text {
            stack: [MaybeUninit::uninit(); STACK],
            heap: null_mut(),
            len: 0,
            capacity: STACK,
        };
        // An error means that a `Display` of the caller's failed: what came before is printed.
        let _ = text.write_fmt(args);
        text.flush();
    }

    /// A text that grows, with room for a NUL at its end.
    struct Text {
        stack: [MaybeUninit<u8>; STACK],
        /// Where the text is once it is longer than the stack's part; null before.
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

        /// Makes room for `more` bytes and the NUL; false if the heap has none.
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
            // SAFETY: both are at least `len` long, and the new one belongs to nobody else.
            unsafe { copy_nonoverlapping(self.start(), grown, self.len) };
            if !self.heap.is_null() {
                unsafe { free(self.heap) };
            }
            self.heap = grown;
            self.capacity = capacity;
            true
        }

        /// Sends the text to the host and empties it.
        fn flush(&mut self) {
            if self.len > 0 {
                let start = self.start();
                // SAFETY: `reserve` keeps a byte free for the NUL. `vprintf` reads one pointer
                // from its arguments, for the one `%s`.
                unsafe {
                    start.add(self.len).write(0);
                    vprintf(c"%s".as_ptr().cast(), (&raw const start).cast());
                }
                self.len = 0;
            }
        }

        /// Appends bytes for which there is room.
        fn push(&mut self, bytes: &[u8]) {
            let end = unsafe { self.start().add(self.len) };
            // SAFETY: the caller has reserved the room.
            unsafe { copy_nonoverlapping(bytes.as_ptr(), end, bytes.len()) };
            self.len += bytes.len();
        }
    }

    impl Write for Text {
        fn write_str(&mut self, s: &str) -> fmt::Result {
            // `%s` would end at a NUL.
            for part in s.as_bytes().split(|&byte| byte == 0) {
                if self.reserve(part.len()) {
                    self.push(part);
                    continue;
                }
                // The heap is used up: the text goes out in pieces, whole all the same.
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
