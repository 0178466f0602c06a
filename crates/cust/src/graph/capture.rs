//! Stream capture: work that is enqueued into a stream during a capture becomes nodes of a graph
//! instead of being executed.

use cust_raw::{CUgraph, CUgraphExec, CUstreamCaptureMode};

use crate::context::Context;
use crate::error::CudaResult;
use crate::stream::Stream;

/// Determines which threads may not make potentially unsafe driver calls during a capture. Such
/// calls could introduce dependencies that the graph does not contain. Other threads that use a
/// context of this crate may always make them: waits and allocations do not fail because of a capture
/// elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CaptureMode {
    /// Prohibits unsafe calls from the capturing thread, and from those that call the driver without
    /// this crate.
    #[default]
    Global,
    /// Prohibits unsafe calls from the capturing thread.
    ThreadLocal,
    /// Prohibits no calls.
    Relaxed,
}

/// A graph captured from streams.
pub struct CapturedGraph {
    raw: CUgraph,
    context: Context,
}

/// An executable captured graph.
pub struct CapturedExec {
    raw: CUgraphExec,
    context: Context,
}

// SAFETY: the driver's graphs may be used from any thread, by one thread at a time.
unsafe impl Send for CapturedGraph {}
// SAFETY: as above.
unsafe impl Send for CapturedExec {}

impl Stream {
    /// Captures the work that `record` enqueues into the stream, and into other streams that wait
    /// for events recorded in it, as a graph.
    ///
    /// Only unsafe launches and copies can be captured, such as [`launch!`](crate::launch!). Safe
    /// ones return [`Error::Capturing`](crate::error::Error::Capturing), because nothing would keep
    /// their buffers alive.
    ///
    /// # Errors
    ///
    /// Returns the error of `record`, and the driver's error if the capture fails.
    ///
    /// # Safety
    ///
    /// During the capture, no other thread may use the stream or a stream that has joined the
    /// capture. During every launch of the graph, the memory, modules and events that the captured
    /// work uses must be alive, and nothing else may access the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    /// use cust::graph::CaptureMode;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let mut buffer = DeviceBuffer::from_slice(&[1u8; 4])?;
    /// // SAFETY: the buffer lives until the launch is complete, and nothing else uses it.
    /// let graph = unsafe {
    ///     stream.capture(CaptureMode::Global, |stream| {
    ///         buffer.as_mut_slice().set_8_async(3, stream)
    ///     })?
    /// };
    /// assert_eq!(buffer.as_host_vec()?, [1; 4]);
    /// let graph = graph.instantiate()?;
    /// // SAFETY: as above.
    /// unsafe { graph.launch(&stream)? };
    /// stream.synchronize()?;
    /// assert_eq!(buffer.as_host_vec()?, [3; 4]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub unsafe fn capture(
        &self,
        mode: CaptureMode,
        record: impl FnOnce(&Stream) -> CudaResult<()>,
    ) -> CudaResult<CapturedGraph> {
        let doing = || "capturing a stream into a graph".to_owned();
        let mode = match mode {
            CaptureMode::Global => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
            CaptureMode::ThreadLocal => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            CaptureMode::Relaxed => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
        };
        // Complete the stream's pending work, so that buffers need not wait for it during the
        // capture: waiting for a stream that is being captured is an error.
        self.inner().settle()?;
        let api = self.context().bind()?;
        // SAFETY: the stream is alive.
        let result = unsafe { api.driver.cuStreamBeginCapture_v2(self.as_inner(), mode) };
        api.check(result, doing)?;
        self.inner().set_capturing(true);
        /// Ends the capture, even if `record` panics.
        struct End<'a>(&'a Stream);
        impl End<'_> {
            fn end(&self) -> CudaResult<CUgraph> {
                let stream = self.0;
                stream.inner().set_capturing(false);
                let api = stream.context().bind()?;
                let mut raw = std::ptr::null_mut();
                // SAFETY: the stream is alive, and the pointer is valid for the call.
                let result = unsafe { api.driver.cuStreamEndCapture(stream.as_inner(), &mut raw) };
                api.check(result, || "ending the capture of a stream".to_owned())?;
                Ok(raw)
            }
        }
        impl Drop for End<'_> {
            fn drop(&mut self) {
                if let Ok(raw) = self.end()
                    && let Ok(api) = self.0.context().bind()
                {
                    // SAFETY: just created, and not shared.
                    let _ = unsafe { api.driver.cuGraphDestroy(raw) };
                }
            }
        }
        let end = End(self);
        record(self)?;
        let raw = end.end();
        std::mem::forget(end);
        Ok(CapturedGraph {
            raw: raw?,
            context: self.context().clone(),
        })
    }

    /// Returns whether the stream is being captured into a graph.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    pub fn is_capturing(&self) -> CudaResult<bool> {
        use cust_raw::CUstreamCaptureStatus as Status;
        let api = self.context().bind()?;
        let mut status = Status::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the stream is alive, and the pointer is valid for the call.
        let result = unsafe { api.driver.cuStreamIsCapturing(self.as_inner(), &mut status) };
        api.check(result, || {
            "querying whether a stream is captured".to_owned()
        })?;
        Ok(status != Status::CU_STREAM_CAPTURE_STATUS_NONE)
    }
}

impl CapturedGraph {
    /// Creates an executable graph.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if it rejects the graph.
    pub fn instantiate(&self) -> CudaResult<CapturedExec> {
        let api = self.context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the call, and the graph is alive.
        let result = unsafe {
            api.driver
                .cuGraphInstantiateWithFlags(&mut raw, self.raw, 0)
        };
        api.check(result, || "instantiating a captured graph".to_owned())?;
        Ok(CapturedExec {
            raw,
            context: self.context.clone(),
        })
    }

    /// Returns the number of nodes.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    pub fn node_count(&self) -> CudaResult<usize> {
        let api = self.context.bind()?;
        let mut count = 0;
        // SAFETY: if the list is null, the driver writes only the count.
        let result = unsafe {
            api.driver
                .cuGraphGetNodes(self.raw, std::ptr::null_mut(), &mut count)
        };
        api.check(result, || "counting a graph's nodes".to_owned())?;
        Ok(count)
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUgraph {
        self.raw
    }
}

impl CapturedExec {
    /// Enqueues a launch of the graph into a stream.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`](crate::error::Error::WrongContext) if the stream belongs to
    /// another context.
    ///
    /// # Safety
    ///
    /// The requirements of [`Stream::capture`] must hold until the launch is complete.
    pub unsafe fn launch(&self, stream: &Stream) -> CudaResult<()> {
        let doing = || "launching a captured graph".to_owned();
        stream.context().require_same(&self.context, doing)?;
        let api = self.context.bind()?;
        // SAFETY: as the caller promises.
        let result = unsafe { api.driver.cuGraphLaunch(self.raw, stream.as_inner()) };
        api.check(result, doing)?;
        stream.inner().next_number();
        Ok(())
    }

    /// Updates this executable graph to `graph`, which must have the same topology and kinds of
    /// nodes; parameters may differ.
    ///
    /// # Errors
    ///
    /// Returns [`Error::GraphUpdate`](crate::error::Error::GraphUpdate) with the difference if the
    /// graphs differ too much; this graph is then unchanged.
    pub fn update(&mut self, graph: &CapturedGraph) -> CudaResult<()> {
        let doing = || "updating a graph".to_owned();
        self.context.require_same(&graph.context, doing)?;
        let api = self.context.bind()?;
        super::exec::update(api, self.raw, graph.raw)
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUgraphExec {
        self.raw
    }
}

impl Drop for CapturedGraph {
    fn drop(&mut self) {
        // An error means that the context is gone, and the graph with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: created once, destroyed once.
            let _ = unsafe { api.driver.cuGraphDestroy(self.raw) };
        }
    }
}

impl Drop for CapturedExec {
    fn drop(&mut self) {
        if let Ok(api) = self.context.bind() {
            // SAFETY: created once, destroyed once; the driver defers the destruction until pending
            // launches are complete.
            let _ = unsafe { api.driver.cuGraphExecDestroy(self.raw) };
        }
    }
}

impl std::fmt::Debug for CapturedGraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CapturedGraph({:p})", self.raw)
    }
}

impl std::fmt::Debug for CapturedExec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CapturedExec({:p})", self.raw)
    }
}
