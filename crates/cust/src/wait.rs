//! Waits, and the panics and faults of kernels that they report to the host.

use std::sync::{Arc, Mutex};

use crate::context::{Context, CurrentContext, Extension, ResourceLimit, Slot, lock};
use crate::error::{CudaResult, Error};
use crate::launch_log::LaunchLog;
use crate::progress::Progress;
use crate::report::{self, Pending, Report, Reported, Waited};
use crate::stack;

/// Reports of a context's kernels that a later wait returns.
#[derive(Default)]
struct Faults {
    /// The reports of the modules that can panic.
    reports: Mutex<Vec<Arc<Report>>>,
    /// Panics that were read from the reports, and are still to be returned by a wait.
    pending: Mutex<Vec<Pending>>,
    launches: LaunchLog,
}

impl Slot for Faults {
    const SLOT: usize = 0;
}

impl Extension for Faults {
    fn on_reset(&self) {
        lock(&self.reports).clear();
    }

    /// Prints panics that were never returned. Reads host memory only.
    fn at_exit(&self) {
        if let (Ok(reports), Ok(mut pending)) = (self.reports.try_lock(), self.pending.try_lock()) {
            pending.extend(reports.iter().filter_map(|report| report.read(false)));
            report::print_unreported(&mut pending);
        }
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        report::print_unreported(&mut lock(&self.pending));
    }
}

impl CurrentContext {
    /// See [`Context::synchronize`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::synchronize`], and [`Error::NoContext`] without a context.
    pub fn synchronize() -> CudaResult<()> {
        Context::current("waiting for the context")?.synchronize()
    }
}

impl Context {
    fn faults(&self) -> &Faults {
        self.extension()
    }

    /// Waits until all work in the context is complete.
    ///
    /// # Errors
    ///
    /// Returns [`Error::KernelPanic`] or [`Error::StackOverflow`] if a kernel reported one, and
    /// [`Error::Driver`] if a kernel faulted.
    pub fn synchronize(&self) -> CudaResult<()> {
        let api = self.bind()?;
        // SAFETY: takes no arguments.
        let result = unsafe { api.driver.cuCtxSynchronize() };
        let waited = api.check(result, || "waiting for the context".to_owned());
        self.finish_wait(waited, Waited::Context)
    }

    /// Records a launch: `number` is its sequence number in the stream.
    pub(crate) fn record_kernel(&self, kernel: &Arc<str>, stream: &Arc<Progress>, number: u64) {
        self.faults().launches.note(kernel, stream, number);
    }

    pub(crate) fn add_report(&self, report: &Arc<Report>) {
        lock(&self.faults().reports).push(Arc::clone(report));
    }

    /// Removes the report of a module that is being dropped and has no pending kernels. A panic in
    /// the report is kept for the next `synchronize`. From here on, no thread arms the report.
    pub(crate) fn remove_report(&self, report: &Arc<Report>) {
        let mut reports = lock(&self.faults().reports);
        if self.is_reset() {
            return;
        }
        reports.retain(|known| !Arc::ptr_eq(known, report));
        // `read` instead of `take`: nothing will read the rearmed report.
        if let Some(panic) = report.read(true) {
            lock(&self.faults().pending).push(panic);
        }
    }

    /// Forgets the launches in a stream whose work is complete and which is being destroyed.
    pub(crate) fn forget_stream(&self, stream: u64) {
        let reports = lock(&self.faults().reports);
        let mut pending = lock(&self.faults().pending);
        self.take_reports(&reports, &mut pending, Waited::Stream(stream));
        for report in reports.iter() {
            report.record_synchronized(Waited::Stream(stream));
        }
        for panic in pending.iter_mut() {
            panic.forget(stream);
        }
    }

    /// Completes a wait: checks for panic reports, and adds the pending kernels to the error of a
    /// fault.
    pub(crate) fn finish_wait(&self, waited: CudaResult<()>, waited_for: Waited) -> CudaResult<()> {
        let panic = self.take_panic(waited_for);
        let waited = waited.map_err(|error| match error {
            Error::Driver(mut error) if error.code.is_sticky() => {
                error.kernels = self.faults().launches.kernels_in_flight();
                let recursive = self.stack().doubtful_among(&error.kernels);
                if !recursive.is_empty() {
                    stack::hint(&mut error, &recursive);
                }
                Error::Driver(error)
            }
            error => error,
        });
        if waited.is_ok() {
            for report in lock(&self.faults().reports).iter() {
                report.record_synchronized(waited_for);
            }
        }
        match (waited, panic) {
            (Ok(()), None) => Ok(()),
            (Ok(()), Some(Reported::Panic(panic))) => Err(Error::KernelPanic(Box::new(panic))),
            (Ok(()), Some(Reported::Overflow(mut overflow))) => {
                overflow.limit = self.stack_limit();
                overflow.need = self.stack().missing();
                Err(Error::StackOverflow(Box::new(overflow)))
            }
            (Err(Error::Driver(mut error)), Some(panic)) => {
                let detail = error.detail.take().map_or(String::new(), |d| d + "; ");
                error.detail = Some(format!("{detail}before that, {panic}"));
                Err(Error::Driver(error))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Returns the next reported panic that a wait has to return.
    fn take_panic(&self, waited: Waited) -> Option<Reported> {
        let reports = lock(&self.faults().reports);
        let mut pending = lock(&self.faults().pending);
        self.take_reports(&reports, &mut pending, waited);
        let mut reported = report::tell(&mut pending, waited)?;
        if let Reported::Panic(panic) = &mut reported
            && panic.is_out_of_heap()
        {
            let limit = self.get_resource_limit(ResourceLimit::MallocHeapSize);
            panic.explain_heap(limit.ok());
        }
        Some(reported)
    }

    /// Moves complete reports to `pending`.
    fn take_reports(&self, reports: &[Arc<Report>], pending: &mut Vec<Pending>, waited: Waited) {
        let api = (!self.is_lost()).then(|| self.api());
        let taken = reports.iter().filter_map(|report| report.take(api, waited));
        pending.extend(taken);
    }
}
