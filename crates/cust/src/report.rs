//! Panic reports: how a panic in a kernel comes back to the host.
//!
//! A module that can panic has a global variable `__cuda_std_report`. After loading it, the host
//! writes the address of a mapped, pinned buffer there. The first thread that panics claims the
//! report, fills the buffer and exits; the grid and the context go on. Every `synchronize` of this
//! crate looks at the buffers, takes complete reports out, and makes the buffers ready for the
//! next. A report is returned as [`Error::KernelPanic`] to whoever waits for a stream in which the
//! module's kernels were in flight, once for each, and not to others.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard};

use cust_raw::{CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE};
use cust_raw::{CUdeviceptr, CUmodule, CUresult};

use cust_core::report::{self, Slot};

use crate::backend::Api;
use crate::error::{CudaResult, KernelPanic, StackOverflow};

/// What a report is of.
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

/// A panic that somebody has still to be told of.
pub(crate) struct Pending {
    pub(crate) panic: Reported,
    /// The streams that it may have happened in: whoever waits for one of them is told. If there
    /// is none left, whoever waits next.
    streams: Vec<usize>,
}

impl Pending {
    /// Tells it to a wait for a stream, or for what is not one stream; whether that is to be told,
    /// and whether somebody else has to be told as well.
    fn tell(&mut self, stream: Option<usize>) -> (bool, bool) {
        let Some(stream) = stream.filter(|_| !self.streams.is_empty()) else {
            return (true, false);
        };
        let before = self.streams.len();
        self.forget(stream);
        (self.streams.len() != before, !self.streams.is_empty())
    }

    /// Nobody can wait for the stream any more.
    pub(crate) fn forget(&mut self, stream: usize) {
        self.streams.retain(|known| *known != stream);
    }
}

/// The first that a wait for a stream, or for what is not one stream, is told.
pub(crate) fn tell(pending: &mut Vec<Pending>, stream: Option<usize>) -> Option<Reported> {
    for at in 0..pending.len() {
        let (told, more) = pending[at].tell(stream);
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

/// Says on stderr what nobody was told.
pub(crate) fn print_untold(pending: &mut Vec<Pending>) {
    for Pending { panic, .. } in pending.drain(..) {
        use std::io::Write;
        // A closed stderr is nobody's fault.
        let _ = writeln!(
            std::io::stderr(),
            "warning: {panic}\nhelp: nobody waited for the kernel; `synchronize` of its stream \
             returns the panic as an error"
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
    /// Kernels launched and not yet waited for, each with its stream.
    launched: Mutex<Vec<(usize, Arc<str>)>>,
}

// SAFETY: the buffer is read through volatile reads, and freed by `Report::free` alone.
unsafe impl Send for Report {}
// SAFETY: as above.
unsafe impl Sync for Report {}

impl Report {
    /// Gives the module a report buffer, if it can panic. The context has to be current.
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
            // Some other program's variable of that name.
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
            launched: Mutex::new(Vec::new()),
        };
        // SAFETY: `host` is a mapped host allocation.
        let mapped = unsafe {
            api.driver
                .cuMemHostGetDevicePointer_v2(&mut report.device, host, 0)
        };
        let armed = api.check(mapped, doing).and_then(|()| report.arm(api));
        if let Err(error) = armed {
            report.free(api);
            return Err(error);
        }
        Ok(Some(report))
    }

    /// Writes the slot: the buffer's address, and no claim.
    fn arm(&self, api: &Api) -> CudaResult<()> {
        let slot = Slot {
            buffer: self.device.into(),
            claim: 0.into(),
            pad: 0.into(),
        };
        // SAFETY: the slot is a variable of exactly this size.
        let result = unsafe {
            api.driver
                .cuMemcpyHtoD_v2(self.slot, (&raw const slot).cast(), size_of::<Slot>())
        };
        api.check(result, || "arming the module's panic report".to_owned())
    }

    /// Notes that a kernel was launched, so that a panic can be told to be its.
    pub(crate) fn note_launch(&self, stream: usize, kernel: &Arc<str>) {
        let mut launched = self.launched();
        let known = |(s, k): &(usize, Arc<str>)| *s == stream && Arc::ptr_eq(k, kernel);
        if !launched.iter().any(known) {
            launched.push((stream, Arc::clone(kernel)));
        }
    }

    /// Forgets the kernels of a stream that was waited for, or of all.
    pub(crate) fn note_synchronized(&self, stream: Option<usize>) {
        match stream {
            Some(stream) => self.launched().retain(|(s, _)| *s != stream),
            None => self.launched().clear(),
        }
    }

    fn launched(&self) -> MutexGuard<'_, Vec<(usize, Arc<str>)>> {
        self.launched.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn word(&self, offset: usize) -> u32 {
        // SAFETY: `offset` is a multiple of four inside the header. The device may write at any
        // time, hence volatile.
        unsafe { self.host.add(offset).cast::<u32>().read_volatile() }
    }

    /// Takes a complete report out, and makes the buffer ready for the next. `waited` is the stream
    /// that was waited for, `None` for all. In a context that is lost there is no next, and `api` is
    /// none.
    pub(crate) fn take(&self, api: Option<&Api>, waited: Option<usize>) -> Option<Pending> {
        let over = waited.is_none_or(|waited| self.launched().iter().all(|(s, _)| *s == waited));
        let pending = self.read(over)?;
        // SAFETY: the buffer has this size, and its writer is done.
        unsafe { self.host.write_bytes(0, report::SIZE) };
        if let Some(api) = api {
            // An error means that the context is gone; then there are no further reports either.
            let _ = self.arm(api);
        }
        Some(pending)
    }

    /// The report, if it is complete, or if nobody is there any more to complete it: where no launch is
    /// pending (`over`), a thread that writes one has exited in a `Display` of the message.
    pub(crate) fn read(&self, over: bool) -> Option<Pending> {
        let state = self.word(report::STATE);
        if state != report::COMPLETE && !(over && state == report::WRITING) {
            return None;
        }
        std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        let words = |offset: usize| [0, 4, 8].map(|i| self.word(offset + i));
        let room = report::SIZE - report::TEXT;
        let file_len = (self.word(report::FILE_LEN) as usize).min(room);
        let message_len = (self.word(report::MESSAGE_LEN) as usize).min(room - file_len);
        let mut kernels: Vec<String> = Vec::new();
        let mut streams: Vec<usize> = Vec::new();
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
            };
            return Some(Pending {
                panic: Reported::Overflow(overflow),
                streams,
            });
        }
        let mut message = self.text(report::TEXT + file_len, message_len);
        if state == report::WRITING {
            message.push_str(" [the thread exited while it formatted this message]");
        }
        let panic = KernelPanic {
            message,
            truncated: (self.word(report::MESSAGE_TOTAL) as usize).saturating_sub(message_len),
            file: self.text(report::TEXT, file_len),
            line: self.word(report::LINE),
            column: self.word(report::COLUMN),
            block: words(report::BLOCK),
            thread: words(report::THREAD),
            kernels,
        };
        Some(Pending {
            panic: Reported::Panic(panic),
            streams,
        })
    }

    fn text(&self, offset: usize, len: usize) -> String {
        // SAFETY: the caller keeps the range inside the buffer; the writer is done.
        let bytes = unsafe { std::slice::from_raw_parts(self.host.add(offset), len) };
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// Frees the buffer. Called once, after the module is unloaded.
    pub(crate) fn free(&self, api: &Api) {
        // SAFETY: allocated by `cuMemHostAlloc`, freed only here. An error means that the context
        // is gone, and the memory with it.
        let _ = unsafe { api.driver.cuMemFreeHost(self.host.cast()) };
    }
}
