//! What a panic does on the device: it becomes an error on the host, and the context lives on.
//!
//! With the feature `panic-handler` (on by default), the first thread of a launch that panics
//! writes its message, `file:line:column`, block and thread into memory that the host reads too,
//! and ends; other panicking threads just end. The launch completes, and the host's next
//! `synchronize` returns the report as an error. A host that does not know of the report (one not
//! written with `cust`) gets the message on the output of `printf`, and the launch fails.
//!
//! [`ReportSlot`] and the constants of [`report`] are what device and host agree on.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// The name of the [`ReportSlot`] in a module whose kernels can panic.
pub const SLOT_SYMBOL: &str = "__cuda_std_report";

/// Where a module's panics go: a global variable of the module, which the host fills in once.
#[repr(C)]
#[derive(Debug)]
pub struct ReportSlot {
    /// The device address of a report in memory that the host reads too, or 0 where there is none.
    pub buffer: AtomicU64,
    /// 0 until a thread has claimed the report, then a number of that thread's. It is apart from
    /// the report because it has to be in device memory for the claim to be cheap and certain.
    pub claim: AtomicU32,
    /// Nothing; the struct's size is 16.
    pub pad: AtomicU32,
}

/// The layout of a report: offsets in bytes, every number little endian.
pub mod report {
    /// The report's size.
    pub const SIZE: usize = 4096;
    /// `u32`: one of the states below.
    pub const STATE: usize = 0;
    /// `[u32; 3]`: the index of the panicking thread's block.
    pub const BLOCK: usize = 8;
    /// `[u32; 3]`: the panicking thread's index in its block.
    pub const THREAD: usize = 20;
    /// `u32`: the line, from 1.
    pub const LINE: usize = 32;
    /// `u32`: the column, from 1.
    pub const COLUMN: usize = 36;
    /// `u32`: the length of the file's name, in bytes.
    pub const FILE_LEN: usize = 40;
    /// `u32`: the length of the message as stored.
    pub const MESSAGE_LEN: usize = 44;
    /// `u32`: the length of the message before it was cut to fit.
    pub const MESSAGE_TOTAL: usize = 48;
    /// The file's name, and behind it the message, in UTF-8.
    pub const TEXT: usize = 64;

    /// State: no thread has panicked.
    pub const EMPTY: u32 = 0;
    /// State: a thread is writing the report.
    pub const WRITING: u32 = 1;
    /// State: the report is complete.
    pub const COMPLETE: u32 = 2;
}

#[cfg(all(target_arch = "nvptx64", feature = "panic-handler"))]
mod device {
    use super::{ReportSlot, report};
    use crate::{intrinsics, io, thread};
    use core::fmt::{self, Write};
    use core::panic::PanicInfo;
    use core::ptr::{copy_nonoverlapping, with_exposed_provenance_mut};
    use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    #[unsafe(no_mangle)]
    static __cuda_std_report: ReportSlot = ReportSlot {
        buffer: AtomicU64::new(0),
        claim: AtomicU32::new(0),
        pad: AtomicU32::new(0),
    };

    #[panic_handler]
    fn panic(info: &PanicInfo<'_>) -> ! {
        let address = __cuda_std_report.buffer.load(Ordering::Relaxed);
        if address == 0 {
            print_and_trap(info);
        }
        let report = Report {
            base: with_exposed_provenance_mut(address as usize),
        };
        let claim = &__cuda_std_report.claim;
        // Not zero, and another for each thread of a grid of less than 2³² threads.
        let mine = (thread::index() as u32).wrapping_add(1).max(1);
        // SAFETY: a non-zero address is that of a report which the host keeps as long as the
        // module is loaded, and the claim makes this thread its only writer.
        match claim.compare_exchange(0, mine, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => unsafe { report.write(info) },
            // This thread's own claim: the message panicked while it was formatted. What there is
            // of it is all there will be.
            Err(theirs) if theirs == mine && report.is_of_this_thread() => report.complete(),
            Err(_) => {}
        }
        intrinsics::__nvvm_exit()
    }

    #[cold]
    fn print_and_trap(info: &PanicInfo<'_>) -> ! {
        let (block, thread) = (thread::block_idx(), thread::thread_idx());
        io::print_fmt(format_args!(
            "block ({}, {}, {}), thread ({}, {}, {}): {info}\n",
            block.x, block.y, block.z, thread.x, thread.y, thread.z
        ));
        intrinsics::__nvvm_trap()
    }

    /// A report in memory that the host reads too.
    #[derive(Clone, Copy)]
    struct Report {
        base: *mut u8,
    }

    impl Report {
        /// Writes all of it.
        unsafe fn write(self, info: &PanicInfo<'_>) {
            self.state().store(report::WRITING, Ordering::Relaxed);
            let (block, thread) = (thread::block_idx(), thread::thread_idx());
            for (i, value) in [block.x, block.y, block.z].into_iter().enumerate() {
                self.set(report::BLOCK + 4 * i, value);
            }
            for (i, value) in [thread.x, thread.y, thread.z].into_iter().enumerate() {
                self.set(report::THREAD + 4 * i, value);
            }

            let mut text = TextWriter {
                report: self,
                len: 0,
                total: 0,
            };
            if let Some(location) = info.location() {
                text.push(location.file());
                self.set(report::LINE, location.line());
                self.set(report::COLUMN, location.column());
            }
            self.set(report::FILE_LEN, text.len as u32);

            let (start, before) = (text.len, text.total);
            let mut message = MessageWriter {
                text,
                start,
                before,
            };
            // An error means that a `Display` of the user's failed: what came before stands.
            let _ = write!(message, "{}", info.message());
            self.complete();
        }

        /// Makes all of it visible to the host.
        fn complete(self) {
            intrinsics::__nvvm_membar_sys();
            self.state().store(report::COMPLETE, Ordering::Release);
        }

        /// Whether this thread has begun to write it.
        fn is_of_this_thread(self) -> bool {
            let (block, thread) = (thread::block_idx(), thread::thread_idx());
            let at = |offset| (self.get(offset), self.get(offset + 4), self.get(offset + 8));
            self.state().load(Ordering::Relaxed) == report::WRITING
                && at(report::BLOCK) == (block.x, block.y, block.z)
                && at(report::THREAD) == (thread.x, thread.y, thread.z)
        }

        fn state(&self) -> &AtomicU32 {
            // SAFETY: the state is inside the report, aligned, and only ever used atomically.
            unsafe { AtomicU32::from_ptr(self.base.add(report::STATE).cast()) }
        }

        fn set(&self, offset: usize, value: u32) {
            // SAFETY: `offset` is one of the header's, all inside the report and aligned.
            unsafe { self.base.add(offset).cast::<u32>().write_volatile(value) };
        }

        fn get(&self, offset: usize) -> u32 {
            // SAFETY: as above.
            unsafe { self.base.add(offset).cast::<u32>().read_volatile() }
        }
    }

    /// Fills the part behind the header, as far as it goes.
    struct TextWriter {
        report: Report,
        /// How much of the part is used.
        len: usize,
        /// How much there was to write.
        total: usize,
    }

    impl TextWriter {
        fn push(&mut self, s: &str) {
            let room = report::SIZE - report::TEXT - self.len;
            // Once something did not fit, nothing after it is written: the text has no holes.
            let room = if self.total > self.len { 0 } else { room };
            let stored = s.floor_char_boundary(room.min(s.len()));
            // SAFETY: `stored` bytes fit behind what is used.
            unsafe {
                let end = self.report.base.add(report::TEXT + self.len);
                copy_nonoverlapping(s.as_ptr(), end, stored);
            }
            self.len += stored;
            self.total += s.len();
        }
    }

    /// Appends to the text and keeps the message's lengths up to date, so that they are right even
    /// if a `Display` panics in the middle.
    struct MessageWriter {
        text: TextWriter,
        start: usize,
        before: usize,
    }

    impl Write for MessageWriter {
        fn write_str(&mut self, s: &str) -> fmt::Result {
            self.text.push(s);
            let report = &self.text.report;
            report.set(report::MESSAGE_LEN, (self.text.len - self.start) as u32);
            report.set(
                report::MESSAGE_TOTAL,
                (self.text.total - self.before) as u32,
            );
            Ok(())
        }
    }
}
