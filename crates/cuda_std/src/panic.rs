//! What a panic does on the device: it becomes an error on the host, and the context lives on.
//!
//! With the feature `panic-handler` (on by default), the first thread of a launch that panics
//! writes its message, `file:line:column`, block and thread into memory that the host reads too,
//! and ends; other panicking threads just end. Threads that wait for them at the barrier of the grid
//! exit, too. The launch completes, and the host's next
//! `synchronize` returns the report as an error. On a host that does not know of the report (one not
//! written with `cust`) a panic is a failed `assert` of CUDA C++: the message goes to standard
//! error, and the launch fails.
//!
//! [`ReportSlot`] and the constants of [`report`] are what device and host agree on.

pub use cust_core::report;
pub use cust_core::report::Slot as ReportSlot;

#[cfg(feature = "panic-handler")]
use crate::session::on_device;

/// Whether a thread of this launch has panicked, as threads ask that wait for others.
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
    static __cuda_std_report: ReportSlot = ReportSlot {
        buffer: AtomicU64::new(0),
        claim: AtomicU32::new(0),
        pad: AtomicU32::new(0),
    };

    /// The numbers of launches that panicked, one more than they are, each at its number's remainder: a
    /// GPU runs 128 grids at a time. Stack overflows, which the compiler's check reports, are recorded
    /// here, too, hence the name.
    #[unsafe(no_mangle)]
    static __cuda_std_panicked_launches: [AtomicU64; 128] = [const { AtomicU64::new(0) }; 128];

    /// This launch's number as [`__cuda_std_panicked_launches`] has it, and where.
    fn launch() -> (u64, &'static AtomicU64) {
        let number = intrinsics::special::gridid();
        let place = &__cuda_std_panicked_launches[(number % 128) as usize];
        (number.wrapping_add(1), place)
    }

    pub(super) fn launch_has_panicked() -> bool {
        let (number, place) = launch();
        // A graph's launches have their numbers again and again: what the host has been told is over.
        place.load(Ordering::Relaxed) == number
            && __cuda_std_report.claim.load(Ordering::Relaxed) != 0
    }

    /// Lets those that wait for this thread know.
    #[inline(never)]
    #[optimize(size)]
    fn note_launch() {
        let (number, place) = launch();
        place.store(number, Ordering::Relaxed);
    }

    /// The functions that the compiler calls in place of core's of the same names. core's format
    /// their messages through function pointers, and a kernel that might call through a pointer
    /// gets as many registers as the hungriest function of the program needs, and a stack of
    /// unknown size: a bounds check then costs a memory-bound kernel most of its speed. These
    /// write their messages piece by piece and call nothing that is not known.
    mod replacements {
        use super::Piece::{Number, Text};
        use super::{Location, fmt, panic_with, panic_with_arguments};

        cuda_std_macros::foreign! {
            /// Where the program's own code called the standard library, as the backend knows; with an
            /// empty file name if it does not.
            // It is no function of C's.
            #[allow(improper_ctypes)]
            fn __cuda_std_program_location() -> &'static Location<'static>;
        }

        /// `panic!` with a message to format. The backend inlines it, so that a message which is
        /// known to be constant leaves nothing of the formatting.
        #[unsafe(no_mangle)]
        #[track_caller]
        fn __cuda_std_panic_fmt(message: fmt::Arguments<'_>) -> ! {
            match message.as_str() {
                Some(message) => __cuda_std_panic_str(message),
                None => panic_with_arguments(message, Location::caller()),
            }
        }

        /// As above, for those that must not unwind.
        #[unsafe(no_mangle)]
        #[track_caller]
        #[inline(never)]
        #[cold]
        fn __cuda_std_panic_nounwind_fmt(message: fmt::Arguments<'_>, _: bool) -> ! {
            __cuda_std_panic_fmt(message)
        }

        /// `panic!` with a plain text, and `expect` on a `None`.
        #[unsafe(no_mangle)]
        #[track_caller]
        #[inline(never)]
        #[cold]
        fn __cuda_std_panic_str(message: &str) -> ! {
            panic_with(&[Text(message)], Location::caller())
        }

        /// An index out of bounds.
        #[unsafe(no_mangle)]
        #[track_caller]
        #[inline(never)]
        #[cold]
        fn __cuda_std_panic_bounds_check(index: usize, len: usize) -> ! {
            let pieces = [
                Text("index out of bounds: the len is "),
                Number(len),
                Text(" but the index is "),
                Number(index),
            ];
            panic_with(&pieces, Location::caller())
        }

        /// A range out of bounds.
        #[unsafe(no_mangle)]
        #[track_caller]
        #[inline(never)]
        #[cold]
        fn __cuda_std_slice_index_fail(start: usize, end: usize, len: usize) -> ! {
            let pieces = if start > len {
                [
                    Text("range start index "),
                    Number(start),
                    Text(" out of range for slice of length "),
                    Number(len),
                ]
            } else if end > len {
                [
                    Text("range end index "),
                    Number(end),
                    Text(" out of range for slice of length "),
                    Number(len),
                ]
            } else if start > end {
                [
                    Text("slice index starts at "),
                    Number(start),
                    Text(" but ends at "),
                    Number(end),
                ]
            } else {
                // An inclusive range whose end is `usize::MAX` leaves only this.
                [
                    Text("range end index "),
                    Number(end),
                    Text(" out of range for slice of length "),
                    Number(len),
                ]
            };
            panic_with(&pieces, Location::caller())
        }

        /// `RefCell::borrow_mut` of what is borrowed.
        #[unsafe(no_mangle)]
        #[track_caller]
        #[inline(never)]
        #[cold]
        fn __cuda_std_panic_already_borrowed(_: core::cell::BorrowMutError) -> ! {
            panic_with(&[Text("RefCell already borrowed")], Location::caller())
        }

        /// `RefCell::borrow` of what is mutably borrowed.
        #[unsafe(no_mangle)]
        #[track_caller]
        #[inline(never)]
        #[cold]
        fn __cuda_std_panic_already_mutably_borrowed(_: core::cell::BorrowError) -> ! {
            let pieces = [Text("RefCell already mutably borrowed")];
            panic_with(&pieces, Location::caller())
        }

        /// No memory, where the program does not say what to do then. The host adds the heap's size.
        #[unsafe(no_mangle)]
        #[inline(never)]
        #[cold]
        fn __cuda_std_alloc_error_handler(size: usize, _align: usize) -> ! {
            let pieces = [
                Text("memory allocation of "),
                Number(size),
                Text(" bytes failed: the device's heap is used up"),
            ];
            panic_with(&pieces, __cuda_std_program_location())
        }

        /// `copy_from_slice` and the like with two lengths.
        #[unsafe(no_mangle)]
        #[track_caller]
        #[inline(never)]
        #[cold]
        fn __cuda_std_len_mismatch_fail(destination: usize, source: usize) -> ! {
            let pieces = [
                Text("copy_from_slice: source slice length ("),
                Number(source),
                Text(") does not match destination slice length ("),
                Number(destination),
                Text(")"),
            ];
            panic_with(&pieces, Location::caller())
        }
    }

    /// What no replacement has caught: panics that code in the program makes by other means.
    #[cfg(target_arch = "nvptx64")]
    #[panic_handler]
    fn panic(info: &PanicInfo<'_>) -> ! {
        let location = info.location().unwrap_or(Location::caller());
        panic_with_arguments(format_args!("{}", info.message()), location)
    }

    /// Reports a message that has to be formatted.
    #[cold]
    #[inline(never)]
    #[optimize(size)]
    fn panic_with_arguments(message: fmt::Arguments<'_>, location: &Location<'_>) -> ! {
        let mut report = Report::new();
        if report.claim() {
            report.push(location.file());
            report.describe(location);
            // An error means that a `Display` of the user's failed: what came before stands.
            let _ = report.write_fmt(message);
            report.complete();
        }
        intrinsics::synchronization::exit()
    }

    /// A part of a message that needs no formatting.
    enum Piece<'a> {
        Text(&'a str),
        Number(usize),
    }

    /// Reports a message of simple parts.
    #[cold]
    #[inline(never)]
    #[optimize(size)]
    fn panic_with(pieces: &[Piece<'_>], location: &Location<'_>) -> ! {
        let mut report = Report::new();
        if report.claim() {
            report.push(location.file());
            report.describe(location);
            for piece in pieces {
                match *piece {
                    Piece::Text(text) => report.push(text),
                    Piece::Number(number) => report.push_number(number),
                }
            }
            report.complete();
        }
        intrinsics::synchronization::exit()
    }

    /// A report that this thread writes: in memory that the host reads too, or, for a host that
    /// does not know of reports, in the device's heap.
    struct Report {
        base: *mut u8,
        /// Where the text ends.
        end: *mut u8,
        /// Where it has to end.
        limit: *mut u8,
        /// Where the message starts: behind the file's name.
        message: *mut u8,
        /// Whether the host knows of it.
        shared: bool,
    }

    impl Report {
        fn new() -> Report {
            let address = __cuda_std_report.buffer.load(Ordering::Relaxed);
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

        /// Whether this thread is the one to write it.
        #[inline(never)]
        #[optimize(size)]
        fn claim(&mut self) -> bool {
            if !self.shared {
                // SAFETY: null is looked for.
                let base = unsafe { intrinsics::malloc(report::SIZE + 1) };
                if base.is_null() {
                    intrinsics::synchronization::trap();
                }
                *self = Report::at(base, false);
                self.set(report::MESSAGE_TOTAL, 0);
                return true;
            }
            note_launch();
            // Not zero, and another for each thread of a grid of less than 2³² threads.
            let mine = (thread::index() as u32).wrapping_add(1).max(1);
            let claim = &__cuda_std_report.claim;
            match claim.compare_exchange(0, mine, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    self.set(report::STATE, report::WRITING);
                    true
                }
                Err(theirs) => {
                    // This thread's own claim: the message panicked while it was formatted. What
                    // there is of it is all there will be.
                    if theirs == mine && self.is_of_this_thread() {
                        self.publish();
                    }
                    false
                }
            }
        }

        /// Writes all but the file's name, which is the text so far, and the message.
        #[inline(never)]
        #[optimize(size)]
        fn describe(&mut self, location: &Location<'_>) {
            // What stands there is that of the file's name.
            self.set(report::FILE_LEN, self.get(report::MESSAGE_LEN));
            self.set(report::MESSAGE_LEN, 0);
            self.set(report::MESSAGE_TOTAL, 0);
            if !self.shared && self.end != self.limit {
                // SAFETY: there is room.
                unsafe {
                    self.end.write(0);
                    self.end = self.end.add(1);
                }
            }
            self.message = self.end;
            self.set(report::LINE, location.line());
            self.set(report::COLUMN, location.column());
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

        /// Appends to the text, as far as there is room, and keeps the message's lengths up to
        /// date, so that they are right even if a `Display` panics in the middle.
        ///
        /// Everything that can panic has the registers of this loop, hence pointers instead of
        /// lengths.
        #[inline(never)]
        #[optimize(size)]
        fn push(&mut self, text: &str) {
            let total = self.get(report::MESSAGE_TOTAL) + text.len() as u32;
            self.set(report::MESSAGE_TOTAL, total);
            let Range { mut start, end } = text.as_bytes().as_ptr_range();
            let mut at = self.end;
            // SAFETY: up to its end the text can be read, and there is room up to the limit.
            unsafe {
                while start != end && at != self.limit {
                    // Volatile, lest ptxas unrolls the loop.
                    at.write_volatile(*start);
                    start = start.add(1);
                    at = at.add(1);
                }
                if start != end {
                    // Not in the middle of a character, and nothing after it: no holes.
                    while *start & 0xC0 == 0x80 {
                        start = start.sub(1);
                        at = at.sub(1);
                    }
                    self.limit = at;
                }
            }
            self.end = at;
            // SAFETY: the message starts and ends in the report.
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
                // SAFETY: the largest number has 20 digits.
                unsafe {
                    first = first.sub(1);
                    first.write(b'0' + (rest % 10) as u8);
                }
                rest /= 10;
                if rest == 0 {
                    break;
                }
            }
            // SAFETY: from the first digit to the end of the array, and digits are UTF-8.
            self.push(unsafe {
                let digits = from_raw_parts(first, end.offset_from_unsigned(first));
                str::from_utf8_unchecked(digits)
            });
        }

        /// Gives it to the host.
        fn complete(&self) {
            if self.shared {
                self.publish();
            } else {
                self.fail()
            }
        }

        /// Makes all of it visible to the host.
        fn publish(&self) {
            intrinsics::synchronization::membar_sys();
            self.set(report::STATE, report::COMPLETE);
        }

        /// Ends the launch as a failed `assert` of CUDA C++ does: a message on the host's standard
        /// error, and an error that the context does not survive.
        #[cold]
        fn fail(&self) -> ! {
            // SAFETY: the memory is `SIZE + 1` long, and the file's name ends with a NUL.
            unsafe {
                let file = self.base.add(report::TEXT);
                self.end.write(0);
                let function = c"kernel".as_ptr().cast();
                intrinsics::__assertfail(self.message, file, self.get(report::LINE), function, 1)
            }
            intrinsics::synchronization::trap()
        }

        /// Whether this thread has begun to write it.
        fn is_of_this_thread(&self) -> bool {
            let (block, thread) = (thread::block_idx(), thread::thread_idx());
            let at = |offset| (self.get(offset), self.get(offset + 4), self.get(offset + 8));
            let launch = intrinsics::special::gridid();
            self.get(report::STATE) == report::WRITING
                && self.get(report::LAUNCH) == launch as u32
                && self.get(report::LAUNCH + 4) == (launch >> 32) as u32
                && at(report::BLOCK) == (block.x, block.y, block.z)
                && at(report::THREAD) == (thread.x, thread.y, thread.z)
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

    impl Write for Report {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.push(text);
            Ok(())
        }
    }
}
