//! Panic reports: how the host learns of a panic in a kernel.
//!
//! A module whose kernels can panic has a global variable `__cuda_std_report_slot`. After loading the
//! module, the host stores the address of a mapped, pinned buffer in it. The first thread that
//! panics claims the report, fills the buffer and exits; the grid continues and the context stays
//! usable. Every `synchronize` of this crate checks the buffers, takes complete reports, and rearms
//! the buffers. A report is returned as [`Error::KernelPanic`] once for each stream in which
//! kernels of the module were pending, by the next wait for that stream.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard};

use cust_raw::{CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE};
use cust_raw::{CUdeviceptr, CUmodule, CUresult};

use cust_core::report::{self, Slot};

use crate::backend::Api;
use crate::error::{CudaResult, KernelPanic, StackOverflow};
use crate::launch_log::LastLaunch;

/// The content of a report.
#[derive(Clone)]
pub(crate) enum Reported {
    Panic(KernelPanic),
    Overflow(StackOverflow),
}

impl std::fmt::Display for Reported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reported::Panic(panic) => panic.fmt(f),
            Reported::Overflow(overflow) => overflow.fmt(f),
        }
    }
}

/// The work that a wait has waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// All work of the stream with this ID.
    Stream(u64),
    /// All work of the context.
    Context,
    /// An event, or several streams. It is not known which launches precede it.
    Unknown,
}

/// A panic that is still to be returned by a wait.
pub(crate) struct Pending {
    pub(crate) panic: Reported,
    /// The streams in which the panic may have occurred, each of which has to report it. If empty,
    /// the next wait reports it.
    streams: Vec<u64>,
}

impl Pending {
    /// Offers the panic to a wait. Returns whether the wait has to return it, and whether another
    /// stream has to report it as well.
    fn tell(&mut self, waited: Waited) -> (bool, bool) {
        let stream = match waited {
            Waited::Stream(stream) if !self.streams.is_empty() => stream,
            _ => return (true, false),
        };
        let before = self.streams.len();
        self.forget(stream);
        (self.streams.len() != before, !self.streams.is_empty())
    }

    /// Removes a stream, because its wait has returned the panic or because it is destroyed.
    pub(crate) fn forget(&mut self, stream: u64) {
        self.streams.retain(|known| *known != stream);
    }
}

/// Returns the first panic that a wait has to return.
pub(crate) fn tell(pending: &mut Vec<Pending>, waited: Waited) -> Option<Reported> {
    for at in 0..pending.len() {
        let (told, more) = pending[at].tell(waited);
        if told {
            return Some(if more {
                pending[at].panic.clone()
            } else {
                pending.remove(at).panic
            });
        }
    }
    None
}

/// Prints the panics that no wait has returned to stderr.
pub(crate) fn print_unreported(pending: &mut Vec<Pending>) {
    for Pending { panic, .. } in pending.drain(..) {
        use std::io::Write;
        // stderr may be closed: ignore the error.
        let _ = writeln!(
            std::io::stderr(),
            "warning: {panic}\nhelp: call `synchronize` on the kernel's stream to receive the \
             panic as an error"
        );
    }
}

/// The report of one module.
pub(crate) struct Report {
    /// The buffer in mapped, pinned memory: `report::SIZE` bytes.
    host: *mut u8,
    /// The buffer's address on the device.
    device: CUdeviceptr,
    /// The address of the module's [`Slot`].
    slot: CUdeviceptr,
    /// The module's [`report::TABLE`], read in advance: after an error, the host cannot read it.
    table: Vec<u8>,
    /// The kernels that were launched and not yet waited for, each with its stream.
    launched: Mutex<Vec<(u64, Arc<str>)>>,
    /// The last entry of `launched`, which is usually repeated.
    last: LastLaunch,
}

// SAFETY: the buffer is accessed by volatile reads and writes, because a kernel may write it at any
// time, and freed only by `Report::free`.
unsafe impl Send for Report {}
// SAFETY: as above.
unsafe impl Sync for Report {}

impl Report {
    /// Allocates a report buffer for the module if its kernels can panic. The context must be
    /// current.
    pub(crate) fn install(api: &Api, module: CUmodule) -> CudaResult<Option<Report>> {
        let (mut slot, mut size) = (0, 0);
        // SAFETY: the pointers are valid for the call, and the module is loaded.
        let found = unsafe {
            api.driver
                .cuModuleGetGlobal_v2(&mut slot, &mut size, module, report::SYMBOL.as_ptr())
        };
        if found == CUresult::CUDA_ERROR_NOT_FOUND {
            return Ok(None);
        }
        let doing = || "preparing the module's panic report".to_owned();
        api.check(found, doing)?;
        if size != size_of::<Slot>() {
            // An unrelated variable that happens to have this name.
            return Ok(None);
        }
        let mut host: *mut c_void = std::ptr::null_mut();
        let flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { api.driver.cuMemHostAlloc(&mut host, report::SIZE, flags) };
        api.check(result, doing)?;
        // SAFETY: the buffer was just allocated with this size.
        unsafe { host.cast::<u8>().write_bytes(0, report::SIZE) };
        let mut report = Report {
            host: host.cast(),
            device: 0,
            slot,
            table: Vec::new(),
            launched: Mutex::default(),
            last: LastLaunch::default(),
        };
        // SAFETY: `host` is a mapped host allocation.
        let mapped = unsafe {
            api.driver
                .cuMemHostGetDevicePointer_v2(&mut report.device, host, 0)
        };
        let armed = (api.check(mapped, doing))
            .and_then(|()| report.arm(api))
            .and_then(|()| report.read_table(api, module));
        if let Err(error) = armed {
            report.free(api);
            return Err(error);
        }
        Ok(Some(report))
    }

    /// Arms the report: stores the buffer's address in the slot, and clears the claim.
    fn arm(&self, api: &Api) -> CudaResult<()> {
        let slot = Slot {
            claim: 0.into(),
            pad: 0.into(),
            buffer: self.device.into(),
        };
        // SAFETY: `install` checked that the variable has this size.
        let result = unsafe {
            api.driver
                .cuMemcpyHtoD_v2(self.slot, (&raw const slot).cast(), size_of::<Slot>())
        };
        api.check(result, || "arming the module's panic report".to_owned())
    }

    /// Reads the table of the module's panics, if it has one.
    fn read_table(&mut self, api: &Api, module: CUmodule) -> CudaResult<()> {
        let (mut address, mut size) = (0, 0);
        // SAFETY: the pointers are valid for the call, and the module is loaded.
        let found = unsafe {
            api.driver
                .cuModuleGetGlobal_v2(&mut address, &mut size, module, report::TABLE.as_ptr())
        };
        if found == CUresult::CUDA_ERROR_NOT_FOUND {
            return Ok(());
        }
        let doing = || "reading the module's table of panics".to_owned();
        api.check(found, doing)?;
        self.table = vec![0; size];
        // SAFETY: the vector and the variable have this size.
        let copied =
            unsafe { (api.driver).cuMemcpyDtoH_v2(self.table.as_mut_ptr().cast(), address, size) };
        api.check(copied, doing)
    }

    /// Records a launch, so that a panic can be attributed to its kernel.
    #[inline]
    pub(crate) fn record_launch(&self, stream: u64, kernel: &Arc<str>) {
        if !self.last.is(stream, kernel) {
            self.record_new_launch(stream, kernel);
        }
    }

    #[inline(never)]
    fn record_new_launch(&self, stream: u64, kernel: &Arc<str>) {
        let mut launched = self.launched();
        let known = |(s, k): &(u64, Arc<str>)| *s == stream && Arc::ptr_eq(k, kernel);
        if !launched.iter().any(known) {
            launched.push((stream, Arc::clone(kernel)));
        }
        self.last.set(stream, kernel);
    }

    /// Forgets the launches that were waited for.
    pub(crate) fn record_synchronized(&self, waited: Waited) {
        let mut launched = self.launched();
        self.last.forget();
        match waited {
            Waited::Stream(stream) => launched.retain(|(s, _)| *s != stream),
            Waited::Context => launched.clear(),
            Waited::Unknown => {}
        }
    }

    fn launched(&self) -> MutexGuard<'_, Vec<(u64, Arc<str>)>> {
        self.launched.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn word(&self, offset: usize) -> u32 {
        // SAFETY: `offset` is a multiple of four inside the header. The read is volatile because
        // the device may write at any time.
        unsafe { self.host.add(offset).cast::<u32>().read_volatile() }
    }

    /// Takes a complete report and rearms the buffer. `api` is `None` in a lost context, where no
    /// further reports occur.
    pub(crate) fn take(&self, api: Option<&Api>, waited: Waited) -> Option<Pending> {
        let over = match waited {
            Waited::Stream(stream) => self.launched().iter().all(|(s, _)| *s == stream),
            Waited::Context => true,
            Waited::Unknown => self.launched().is_empty(),
        };
        let pending = self.read(over)?;
        for offset in (0..report::SIZE).step_by(size_of::<u32>()) {
            // SAFETY: the offset is inside the buffer, and aligned.
            unsafe { self.host.add(offset).cast::<u32>().write_volatile(0) };
        }
        if let Some(api) = api {
            // An error means that the context is gone, so there are no further reports.
            let _ = self.arm(api);
        }
        Some(pending)
    }

    /// Returns the report if it is complete, or if it is incomplete and no launch is pending
    /// (`over`): then the thread that was writing it exited while it formatted the message.
    pub(crate) fn read(&self, over: bool) -> Option<Pending> {
        let state = self.word(report::STATE);
        let complete = matches!(state, report::COMPLETE | report::NUMBERED);
        if !complete && !(over && state == report::WRITING) {
            return None;
        }
        std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        let words = |offset: usize| [0, 4, 8].map(|i| self.word(offset + i));
        let room = report::SIZE - report::TEXT;
        let file_len = (self.word(report::FILE_LEN) as usize).min(room);
        let message_len = (self.word(report::MESSAGE_LEN) as usize).min(room - file_len);
        let mut kernels: Vec<String> = Vec::new();
        let mut streams: Vec<u64> = Vec::new();
        for (stream, kernel) in self.launched().iter() {
            if !kernels.iter().any(|known| **known == **kernel) {
                kernels.push(kernel.to_string());
            }
            if !streams.contains(stream) {
                streams.push(*stream);
            }
        }
        if self.word(report::KIND) == report::OVERFLOW {
            let overflow = StackOverflow {
                function: self.text(report::TEXT, file_len),
                left: self.word(report::LINE) as i32,
                block: words(report::BLOCK),
                thread: words(report::THREAD),
                kernels,
                limit: None,
                need: None,
            };
            return Some(Pending {
                panic: Reported::Overflow(overflow),
                streams,
            });
        }
        let arguments = [0, 8, 16].map(|i| {
            let at = report::ARGUMENTS + i;
            u64::from(self.word(at)) | u64::from(self.word(at + 4)) << 32
        });
        let number = self.word(report::NUMBER);
        let site = match state {
            report::NUMBERED => report::site(&self.table, number),
            _ => None,
        };
        let string = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let text = match &site {
            Some(site) => string(site.message),
            None => self.text(report::TEXT + file_len, message_len),
        };
        let total = self.word(report::MESSAGE_TOTAL) as usize;
        let truncated = total.saturating_sub(text.len());
        let kind = site.map_or(self.word(report::KIND), |site| site.kind);
        let mut message = match report::parts(kind, arguments) {
            Some(parts) => parts.map(part_text).concat(),
            None if kind == report::VALUES => {
                let mut message = String::new();
                // A `String` accepts everything.
                let _ = report::write_message(&mut message, &text, arguments);
                message
            }
            None => text,
        };
        if state == report::WRITING {
            message.push_str(" [the thread exited while it formatted this message]");
        }
        let panic = KernelPanic {
            message,
            truncated,
            file: site.map_or_else(
                || self.text(report::TEXT, file_len),
                |site| string(site.file),
            ),
            line: site.map_or_else(|| self.word(report::LINE), |site| site.line),
            column: site.map_or_else(|| self.word(report::COLUMN), |site| site.column),
            block: words(report::BLOCK),
            thread: words(report::THREAD),
            kernels,
        };
        Some(Pending {
            panic: Reported::Panic(panic),
            streams,
        })
    }

    /// Returns a string without its last character if that is incomplete, because it did not fit.
    fn text(&self, offset: usize, len: usize) -> String {
        // No reference: a kernel that was launched after the wait may be writing.
        // SAFETY: the caller keeps the range inside the buffer.
        let byte = |at| unsafe { self.host.add(at).read_volatile() };
        let copy: Vec<u8> = (offset..offset + len).map(byte).collect();
        let mut bytes = &copy[..];
        if let Err(error) = str::from_utf8(bytes)
            && error.error_len().is_none()
        {
            bytes = &bytes[..error.valid_up_to()];
        }
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// Frees the buffer. Called once, after the module is unloaded.
    pub(crate) fn free(&self, api: &Api) {
        // SAFETY: allocated by `cuMemHostAlloc`, freed only here. An error means that the context
        // is gone, and the memory with it.
        let _ = unsafe { api.driver.cuMemFreeHost(self.host.cast()) };
    }
}

fn part_text(part: report::Part) -> String {
    match part {
        report::Part::Text(text) => text.to_owned(),
        report::Part::Number(number) => number.to_string(),
    }
}
