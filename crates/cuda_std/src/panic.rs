//! Panics on the device: a panic becomes an error on the host, and the context remains usable.
//!
//! With the feature `panic-handler` (enabled by default), the first thread of a launch that panics
//! writes its message, `file:line:column`, block and thread to memory that the host can read, and
//! exits. Other threads that panic only exit; so do threads that wait for them at the grid barrier.
//! The launch completes, and the host's next `synchronize` returns the report as an error. If the
//! host does not provide report memory (because it does not use `cust`), the launch fails. A panic whose
//! message the device formats, and every panic in an unoptimized build, then behaves like a failed
//! `assert` of CUDA C++: it prints the message to standard error.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// Divides 1000 by each element. For an element 0, `synchronize` returns this message.
//! #[kernel]
//! pub fn divide(from: &[u32], mut to: PerThread<u32>) {
//!     for (i, to) in to.own() {
//!         assert!(from[i] != 0, "element {i} is 0");
//!         *to = 1000 / from[i];
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! [`ReportSlot`] and the constants of [`report`] are the protocol between device and host.

pub use cust_core::report;
pub use cust_core::report::Slot as ReportSlot;

#[cfg(feature = "panic-handler")]
use crate::session::on_device;

/// Returns whether a thread of this launch has panicked. Called by threads that wait for others.
#[inline(never)]
#[cold]
pub(crate) fn launch_has_panicked() -> bool {
    #[cfg(feature = "panic-handler")]
    return on_device!(device::launch_has_panicked(), false);
    #[cfg(not(feature = "panic-handler"))]
    false
}

#[cfg(all(
    any(target_arch = "nvptx64", nvvm_single_source),
    feature = "panic-handler"
))]
mod device {
    use super::{ReportSlot, report};
    use crate::{intrinsics, thread};
    use core::fmt::{self, Write};
    use core::ops::Range;
    use core::panic::Location;
    #[cfg(target_arch = "nvptx64")]
    use core::panic::PanicInfo;
    use core::ptr::with_exposed_provenance_mut;
    use core::slice::from_raw_parts;
    use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    #[unsafe(no_mangle)]
    static __cuda_std_report_slot: ReportSlot = ReportSlot {
        claim: AtomicU32::new(0),
        pad: AtomicU32::new(0),
        buffer: AtomicU64::new(0),
    };

    /// The grid IDs of launches that panicked, plus one, at the index `grid ID % 128`; a GPU runs
    /// at most 128 grids concurrently. The compiler's stack checks also record stack overflows
    /// here, hence the symbol name.
    #[unsafe(no_mangle)]
    static __cuda_std_panicked_launches: [AtomicU64; 128] = [const { AtomicU64::new(0) }; 128];

    /// Returns this launch's value and slot in [`__cuda_std_panicked_launches`].
    fn launch() -> (u64, &'static AtomicU64) {
        let number = intrinsics::special::gridid();
        let place = &__cuda_std_panicked_launches[(number % 128) as usize];
        (number.wrapping_add(1), place)
    }

    pub(super) fn launch_has_panicked() -> bool {
        __cuda_std_launch_has_panicked()
    }

    /// As [`super::launch_has_panicked`]. The compiler knows its name: without it, a module has no
    /// use for [`__cuda_std_panicked_launches`].
    #[unsafe(no_mangle)]
    #[cold]
    #[inline(never)]
    fn __cuda_std_launch_has_panicked() -> bool {
        let (number, place) = launch();
        // Launches of a graph reuse grid IDs: a panic that the host has already received no longer
        // counts.
        place.load(Ordering::Relaxed) == number
            && __cuda_std_report_slot.claim.load(Ordering::Relaxed) != 0
    }

    /// Returns a number that is not zero, and unique in a grid of less than 2³² threads.
    #[inline(always)]
    fn number() -> u32 {
        (thread::index() as u32).wrapping_add(1).max(1)
    }

    /// Records that this launch has panicked, for threads that wait for this one.
    #[inline(never)]
    #[optimize(size)]
    fn record_launch() {
        let (number, place) = launch();
        place.store(number, Ordering::Relaxed);
    }

    /// Functions that the compiler calls in place of `core`'s functions of the same names. `core`'s
    /// format their messages through function pointers. A kernel that may call through a pointer is
    /// assigned as many registers as the most demanding function of the program, and its stack size
    /// is unknown: a bounds check would cost a memory-bound kernel most of its speed.
    ///
    /// These replacements record what the host needs to format the message, and call only
    /// [`report_failure`]. In optimized builds, the compiler puts one copy of them into each kernel,
    /// in place of the calls: for ptxas, a call in divergent code costs registers in the hot path.
    mod replacements {
        use super::{__cuda_std_panic_with_arguments, Location, fmt, report, report_failure};
        #[cfg(nvvm_single_source)]
        use alloc::{boxed::Box, string::String};
        #[cfg(nvvm_single_source)]
        use core::any::Any;

        cuda_std_macros::foreign! {
            /// Returns the location at which the program's own code called the standard library, as
            /// far as the backend knows it; otherwise a location with an empty file name.
            // Not a C function.
            #[allow(improper_ctypes)]
            fn __cuda_std_program_location() -> &'static Location<'static>;
        }

        /// `panic!` with a message to format. The backend inlines it, so that no formatting code
        /// remains if the message is constant.
        #[unsafe(no_mangle)]
        #[track_caller]
        fn __cuda_std_panic_fmt(message: fmt::Arguments<'_>) -> ! {
            match message.as_str() {
                Some(message) => __cuda_std_panic_str(message),
                None => __cuda_std_panic_with_arguments(message, Location::caller()),
            }
        }

        /// Like `__cuda_std_panic_fmt`, for panics that must not unwind.
        #[unsafe(no_mangle)]
        #[track_caller]
        #[inline(never)]
        #[cold]
        fn __cuda_std_panic_nounwind_fmt(message: fmt::Arguments<'_>, _: bool) -> ! {
            __cuda_std_panic_fmt(message)
        }

        /// `panic!` with a plain string, and `expect` on a `None`.
        #[unsafe(no_mangle)]
        #[track_caller]
        #[inline(never)]
        #[cold]
        fn __cuda_std_panic_str(message: &str) -> ! {
            report_failure(report::PANIC, [0; 3], message, Location::caller())
        }

        /// An index out of bounds.
        #[unsafe(no_mangle)]
        #[track_caller]
        #[inline(never)]
        #[cold]
        fn __cuda_std_panic_bounds_check(index: usize, len: usize) -> ! {
            report_failure(report::INDEX, [index, len, 0], "", Location::caller())
        }

        /// A range out of bounds.
        #[unsafe(no_mangle)]
        #[track_caller]
        #[inline(never)]
        #[cold]
        fn __cuda_std_slice_index_fail(start: usize, end: usize, len: usize) -> ! {
            report_failure(report::RANGE, [start, end, len], "", Location::caller())
        }

        /// `RefCell::borrow_mut` of a value that is borrowed.
        #[unsafe(no_mangle)]
        #[track_caller]
        #[inline(never)]
        #[cold]
        fn __cuda_std_panic_already_borrowed(_: core::cell::BorrowMutError) -> ! {
            let message = "RefCell already borrowed";
            report_failure(report::PANIC, [0; 3], message, Location::caller())
        }

        /// `RefCell::borrow` of a value that is mutably borrowed.
        #[unsafe(no_mangle)]
        #[track_caller]
        #[inline(never)]
        #[cold]
        fn __cuda_std_panic_already_mutably_borrowed(_: core::cell::BorrowError) -> ! {
            let message = "RefCell already mutably borrowed";
            report_failure(report::PANIC, [0; 3], message, Location::caller())
        }

        /// An allocation failure that the program does not handle. The host adds the size of the
        /// heap.
        #[unsafe(no_mangle)]
        #[inline(never)]
        #[cold]
        fn __cuda_std_alloc_error_handler(size: usize, _align: usize) -> ! {
            let location = __cuda_std_program_location();
            report_failure(report::ALLOCATION, [size, 0, 0], "", location)
        }

        /// `panic_any`, and the macro of the editions before 2021 with a value that is not a
        /// `&str`. The message is the host's: that of a `String`, otherwise `Box<dyn Any>`.
        #[cfg(nvvm_single_source)]
        #[unsafe(no_mangle)]
        #[inline(never)]
        #[cold]
        fn __cuda_std_panic_with_payload(
            payload: &mut dyn alloc::panicking::PanicPayload,
            location: &'static Location<'static>,
            _can_unwind: bool,
            _force_no_backtrace: bool,
        ) -> ! {
            __cuda_std_panic_with_arguments(format_args!("{payload}"), location)
        }

        /// `resume_unwind`, which is the end of the thread: no kernel catches a panic.
        #[cfg(nvvm_single_source)]
        #[unsafe(no_mangle)]
        #[inline(never)]
        #[cold]
        fn __cuda_std_resume_unwind(payload: Box<dyn Any + Send>) -> ! {
            let message = match payload.downcast_ref::<&'static str>() {
                Some(message) => message,
                None => (payload.downcast_ref::<String>()).map_or("Box<dyn Any>", String::as_str),
            };
            let location = __cuda_std_program_location();
            __cuda_std_panic_with_arguments(format_args!("{message}"), location)
        }

        /// `std::process::abort`. As after a panic, the thread runs no further code.
        #[cfg(nvvm_single_source)]
        #[unsafe(no_mangle)]
        #[inline(never)]
        #[cold]
        fn __cuda_std_abort() -> ! {
            __cuda_std_missing_instruction("the program called `std::process::abort`")
        }

        /// An instruction of the host's processor, which only code behind a detection of the
        /// host's features may execute. `message` names it.
        #[cfg(nvvm_single_source)]
        #[unsafe(no_mangle)]
        #[inline(never)]
        #[cold]
        fn __cuda_std_missing_instruction(message: &str) -> ! {
            let location = __cuda_std_program_location();
            report_failure(report::PANIC, [0; 3], message, location)
        }

        /// `copy_from_slice` and similar functions with slices of different lengths.
        #[unsafe(no_mangle)]
        #[track_caller]
        #[inline(never)]
        #[cold]
        fn __cuda_std_len_mismatch_fail(destination: usize, source: usize) -> ! {
            let lengths = [destination, source, 0];
            report_failure(report::LENGTHS, lengths, "", Location::caller())
        }
    }

    /// Handles panics that no replacement covers: those that the program raises by other means.
    #[cfg(target_arch = "nvptx64")]
    #[panic_handler]
    fn panic(info: &PanicInfo<'_>) -> ! {
        let location = info.location().unwrap_or(Location::caller());
        __cuda_std_panic_with_arguments(format_args!("{}", info.message()), location)
    }

    /// Reports a message that must be formatted. The compiler knows its name: without it, a thread
    /// has no message of its own in [`__cuda_std_report_is_claimed`].
    #[unsafe(no_mangle)]
    #[cold]
    #[inline(never)]
    #[optimize(size)]
    fn __cuda_std_panic_with_arguments(message: fmt::Arguments<'_>, location: &Location<'_>) -> ! {
        let mut report = Report::new();
        if report.claim() {
            report.push(location.file());
            report.describe(location);
            // An error means that a user's `Display` failed: the text before it is kept.
            let _ = report.write_fmt(message);
            report.complete();
        }
        intrinsics::synchronization::exit()
    }

    /// Reports a panic whose message is `text`, or which the host formats from `arguments`
    /// according to `kind`.
    #[cold]
    #[inline(always)]
    fn report_failure(kind: u32, [a, b, c]: [usize; 3], text: &str, location: &Location<'_>) -> ! {
        __cuda_std_report_failure(kind, a, b, c, text.as_ptr(), text.len(), location)
    }

    /// As [`report_failure`]. The compiler replaces calls in kernels of modules whose threads do not
    /// wait at the grid barrier by [`__cuda_std_report_to_host`].
    #[unsafe(no_mangle)]
    #[cold]
    #[inline(never)]
    #[optimize(size)]
    fn __cuda_std_report_failure(
        kind: u32,
        a: usize,
        b: usize,
        c: usize,
        text: *const u8,
        text_len: usize,
        location: &Location<'_>,
    ) -> ! {
        let (number, place) = launch();
        place.store(number, Ordering::Relaxed);
        __cuda_std_report_to_host(kind, a, b, c, text, text_len, location)
    }

    /// As [`report_failure`], without [`record_launch`]. The compiler puts a copy into kernels where
    /// the location or the text is not constant, so this function is short: it stores vectors, and
    /// does not compute the thread's number. For other panics in kernels, the compiler has a report
    /// that stores a number (`ptx::number_panics`).
    #[unsafe(no_mangle)]
    #[cold]
    #[inline(never)]
    #[optimize(size)]
    fn __cuda_std_report_to_host(
        kind: u32,
        a: usize,
        b: usize,
        c: usize,
        text: *const u8,
        text_len: usize,
        location: &Location<'_>,
    ) -> ! {
        let address = __cuda_std_report_slot.buffer.load(Ordering::Relaxed);
        if address == 0 {
            __cuda_std_panic_without_report(kind, a, b, c, text, text_len, location)
        }
        let claim = &__cuda_std_report_slot.claim;
        // Any value but 0: this thread cannot panic again before the report is complete.
        let claimed = claim.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
        if claimed.is_err() {
            __cuda_std_report_is_claimed()
        }
        let report = Report::at(with_exposed_provenance_mut(address as usize), true);
        let file = location.file();
        let (start, room) = (report::TEXT as u32, (report::SIZE - report::TEXT) as u32);
        let file_len = report.copy(start, room, file.as_ptr(), file.len() as u32);
        let (start, room) = (start + file_len, room - file_len);
        let stored = report.copy(start, room, text, text_len as u32);
        let (block, thread) = (thread::block_idx(), thread::thread_idx());
        let launch = intrinsics::special::gridid();
        report.set_two(report::BLOCK, [block.x, block.y]);
        report.set_four(report::BLOCK + 8, [block.z, thread.x, thread.y, thread.z]);
        report.set_four(
            report::LINE,
            [location.line(), location.column(), file_len, stored],
        );
        report.set_four(
            report::MESSAGE_TOTAL,
            [text_len as u32, kind, launch as u32, (launch >> 32) as u32],
        );
        report.set_two_wide(report::ARGUMENTS, [a as u64, b as u64]);
        report.set_wide(report::ARGUMENTS + 16, c as u64);
        report.publish();
        intrinsics::synchronization::exit()
    }

    /// Ends a thread whose panic is not reported because another one claimed the report, or the same
    /// thread: if it panicked while it formatted its message, the part that was written is
    /// published. The compiler replaces calls in kernels by `exit`, because a kernel's body formats
    /// nothing itself. In optimized modules without [`__cuda_std_panic_with_arguments`], it replaces
    /// this body by `exit`.
    #[unsafe(no_mangle)]
    #[cold]
    #[inline(never)]
    #[optimize(size)]
    fn __cuda_std_report_is_claimed() -> ! {
        let report = Report::new();
        if report.is_claimed_by(__cuda_std_report_slot.claim.load(Ordering::Relaxed)) {
            report.publish();
        }
        intrinsics::synchronization::exit()
    }

    /// As [`report_failure`], for hosts that do not support reports. In optimized modules, the
    /// compiler replaces this body by a trap.
    #[unsafe(no_mangle)]
    #[cold]
    #[inline(never)]
    #[optimize(size)]
    fn __cuda_std_panic_without_report(
        kind: u32,
        a: usize,
        b: usize,
        c: usize,
        text: *const u8,
        text_len: usize,
        location: &Location<'_>,
    ) -> ! {
        let mut report = Report::new();
        if report.claim() {
            report.push(location.file());
            report.describe(location);
            match report::parts(kind, [a as u64, b as u64, c as u64]) {
                Some(parts) => {
                    for part in parts {
                        match part {
                            report::Part::Text(text) => report.push(text),
                            report::Part::Number(number) => report.push_number(number as usize),
                        }
                    }
                }
                // SAFETY: these are the parts of a `&str`.
                None => {
                    report.push(unsafe { str::from_utf8_unchecked(from_raw_parts(text, text_len)) })
                }
            }
            report.complete();
        }
        intrinsics::synchronization::exit()
    }

    /// A report that this thread writes: in memory that the host can read, or, if the host does not
    /// support reports, in the device heap.
    struct Report {
        base: *mut u8,
        /// The end of the text so far.
        end: *mut u8,
        /// The end of the available memory.
        limit: *mut u8,
        /// The start of the message, after the file name.
        message: *mut u8,
        /// Whether the host can read it.
        shared: bool,
    }

    impl Report {
        fn new() -> Report {
            let address = __cuda_std_report_slot.buffer.load(Ordering::Relaxed);
            Report::at(with_exposed_provenance_mut(address as usize), address != 0)
        }

        fn at(base: *mut u8, shared: bool) -> Report {
            let text = base.wrapping_add(report::TEXT);
            Report {
                base,
                end: text,
                limit: base.wrapping_add(report::SIZE),
                message: text,
                shared,
            }
        }

        /// Returns whether this thread may write the report.
        #[inline(never)]
        #[optimize(size)]
        fn claim(&mut self) -> bool {
            if !self.shared {
                // SAFETY: the code checks for null.
                let base = unsafe { intrinsics::malloc(report::SIZE + 1) };
                if base.is_null() {
                    intrinsics::synchronization::trap();
                }
                *self = Report::at(base, false);
                self.set(report::MESSAGE_TOTAL, 0);
                return true;
            }
            record_launch();
            match self.try_claim() {
                Ok(()) => true,
                Err(own) => {
                    // This thread panicked while formatting its message. Publish the part that was
                    // written.
                    if own {
                        self.publish();
                    }
                    false
                }
            }
        }

        /// Claims the report for this thread. The error tells whether the thread has claimed it
        /// before, and not completed it.
        #[inline(always)]
        fn try_claim(&self) -> Result<(), bool> {
            let claim = &__cuda_std_report_slot.claim;
            match claim.compare_exchange(0, number(), Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    self.set(report::STATE, report::WRITING);
                    Ok(())
                }
                Err(theirs) => Err(self.is_claimed_by(theirs)),
            }
        }

        /// Returns whether the thread with this number is this thread, and is formatting its
        /// message.
        #[inline(always)]
        fn is_claimed_by(&self, theirs: u32) -> bool {
            let launch = intrinsics::special::gridid();
            theirs == number()
                && self.get(report::STATE) == report::WRITING
                && self.get(report::LAUNCH) == launch as u32
                && self.get(report::LAUNCH + 4) == (launch >> 32) as u32
        }

        /// Writes all fields of the header, after the file name and before the message.
        #[inline(never)]
        #[optimize(size)]
        fn describe(&mut self, location: &Location<'_>) {
            // The length recorded so far is that of the file name.
            self.set(report::FILE_LEN, self.get(report::MESSAGE_LEN));
            self.set(report::MESSAGE_LEN, 0);
            self.set(report::MESSAGE_TOTAL, 0);
            if !self.shared && self.end != self.limit {
                // SAFETY: `end` is not at the limit.
                unsafe {
                    self.end.write(0);
                    self.end = self.end.add(1);
                }
            }
            self.message = self.end;
            self.set(report::LINE, location.line());
            self.set(report::COLUMN, location.column());
            self.set_thread();
        }

        /// Records which thread panicked in which launch.
        #[inline(always)]
        fn set_thread(&self) {
            let (block, thread) = (thread::block_idx(), thread::thread_idx());
            self.set(report::BLOCK, block.x);
            self.set(report::BLOCK + 4, block.y);
            self.set(report::BLOCK + 8, block.z);
            self.set(report::THREAD, thread.x);
            self.set(report::THREAD + 4, thread.y);
            self.set(report::THREAD + 8, thread.z);
            let launch = intrinsics::special::gridid();
            self.set(report::LAUNCH, launch as u32);
            self.set(report::LAUNCH + 4, (launch >> 32) as u32);
        }

        /// Copies as much of a string as fits in `room` bytes to the offset `at`, and returns the
        /// number of bytes. May split a character.
        #[inline(always)]
        fn copy(&self, at: u32, room: u32, mut from: *const u8, len: u32) -> u32 {
            let len = len.min(room);
            let mut to = self.base.wrapping_add(at as usize);
            // Pointers and a counter of 32 bits take fewer instructions than an index.
            let mut left = len;
            while left != 0 {
                // SAFETY: as many bytes are left in the string and in the report. Volatile, so that
                // the loop remains one.
                unsafe { to.write_volatile(*from) };
                from = from.wrapping_add(1);
                to = to.wrapping_add(1);
                left -= 1;
            }
            len
        }

        /// Appends as much of `text` as fits. Keeps the message's lengths up to date, so that they
        /// are correct even if a `Display` panics in between.
        ///
        /// Every function that can panic pays for the registers of this loop, hence pointers
        /// instead of lengths.
        #[inline(never)]
        #[optimize(size)]
        fn push(&mut self, text: &str) {
            let total = self.get(report::MESSAGE_TOTAL) + text.len() as u32;
            self.set(report::MESSAGE_TOTAL, total);
            let Range { mut start, end } = text.as_bytes().as_ptr_range();
            let mut at = self.end;
            // SAFETY: reads stop at the end of `text`, and writes at the limit.
            unsafe {
                while start != end && at != self.limit {
                    // Volatile, to keep ptxas from unrolling the loop.
                    at.write_volatile(*start);
                    start = start.add(1);
                    at = at.add(1);
                }
                if start != end {
                    // Do not split a character, and append nothing after it, so that the text has
                    // no gaps.
                    while *start & 0xC0 == 0x80 {
                        start = start.sub(1);
                        at = at.sub(1);
                    }
                    self.limit = at;
                }
            }
            self.end = at;
            // SAFETY: the message's start and end are in the same report.
            let stored = unsafe { at.offset_from_unsigned(self.message) };
            self.set(report::MESSAGE_LEN, stored as u32);
        }

        /// Appends a number in decimal.
        #[inline(never)]
        #[optimize(size)]
        fn push_number(&mut self, number: usize) {
            let mut digits = [0u8; 20];
            let end = digits.as_mut_ptr_range().end;
            let (mut first, mut rest) = (end, number);
            loop {
                // SAFETY: a `usize` has at most 20 digits.
                unsafe {
                    first = first.sub(1);
                    first.write(b'0' + (rest % 10) as u8);
                }
                rest /= 10;
                if rest == 0 {
                    break;
                }
            }
            // SAFETY: the range is from the first digit to the end of the array, and digits are
            // UTF-8.
            self.push(unsafe {
                let digits = from_raw_parts(first, end.offset_from_unsigned(first));
                str::from_utf8_unchecked(digits)
            });
        }

        /// Passes the report to the host.
        fn complete(&self) {
            if self.shared {
                self.publish();
            } else {
                self.fail()
            }
        }

        /// Makes the report visible to the host.
        fn publish(&self) {
            intrinsics::synchronization::membar_sys();
            self.set(report::STATE, report::COMPLETE);
        }

        /// Fails the launch as a failed `assert` of CUDA C++ does: with a message on the host's
        /// standard error, and an error that destroys the context.
        #[cold]
        fn fail(&self) -> ! {
            // SAFETY: the memory has `SIZE + 1` bytes, and the file name ends with a NUL.
            unsafe {
                let file = self.base.add(report::TEXT);
                self.end.write(0);
                let function = c"kernel".as_ptr().cast();
                intrinsics::__assertfail(self.message, file, self.get(report::LINE), function, 1)
            }
            intrinsics::synchronization::trap()
        }

        fn set(&self, offset: usize, value: u32) {
            // SAFETY: `offset` is a field of the header, which is in the report and aligned.
            unsafe { self.base.add(offset).cast::<u32>().write_volatile(value) };
        }

        fn set_two(&self, offset: usize, values: [u32; 2]) {
            // SAFETY: the fields are in the report, whose address is a multiple of a page, and the
            // offset is a multiple of the vector's size.
            unsafe { intrinsics::memory::st_wb_v2_b32(self.base.add(offset).cast(), values) };
        }

        fn set_four(&self, offset: usize, values: [u32; 4]) {
            // SAFETY: as above.
            unsafe { intrinsics::memory::st_wb_v4_b32(self.base.add(offset).cast(), values) };
        }

        fn set_two_wide(&self, offset: usize, values: [u64; 2]) {
            // SAFETY: as above.
            unsafe { intrinsics::memory::st_wb_v2_b64(self.base.add(offset).cast(), values) };
        }

        fn set_wide(&self, offset: usize, value: u64) {
            // SAFETY: as above.
            unsafe { intrinsics::memory::st_wb_b64(self.base.add(offset).cast(), value) };
        }

        fn get(&self, offset: usize) -> u32 {
            // SAFETY: as above.
            unsafe { self.base.add(offset).cast::<u32>().read_volatile() }
        }
    }

    impl Write for Report {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.push(text);
            Ok(())
        }
    }
}
