//! Graphs recorded from streams: what is put into a stream while it is captured becomes nodes
//! instead of being done.

use cust_raw::{CUgraph, CUgraphExec, CUstreamCaptureMode};

use crate::context::Context;
use crate::error::CudaResult;
use crate::stream::Stream;

/// Which calls of the driver are errors while a stream is captured, because they could hide a
/// dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CaptureMode {
    /// Those of all threads.
    #[default]
    Global,
    /// Those of the capturing thread.
    ThreadLocal,
    /// None.
    Relaxed,
}

/// A graph recorded from streams.
pub struct CapturedGraph {
    raw: CUgraph,
    context: Context,
}

/// A recorded graph that can be launched.
pub struct CapturedExec {
    raw: CUgraphExec,
    context: Context,
}

// SAFETY: the driver's graphs are used by one thread at a time, but by any.
unsafe impl Send for CapturedGraph {}
// SAFETY: as above.
unsafe impl Send for CapturedExec {}

impl Stream {
    /// Records the work that `record` puts into the stream, and into others that wait for events
    /// recorded in it, as a graph. Launches and copies have to be of the unsafe forms, such as
    /// [`launch!`](crate::launch!): the others are errors, since nothing would keep their buffers.
    ///
    /// # Safety
    ///
    /// What is recorded has to be sound whenever the graph is launched: memory, modules and events
    /// that it uses are alive then and until the launch is done, and nothing else uses the memory
    /// meanwhile.
    ///
    /// ```
    /// use cust::prelude::*;
    /// use cust::graph::CaptureMode;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let mut buffer = DeviceBuffer::from_slice(&[1u8; 4])?;
    /// // SAFETY: the buffer lives until the launches are done, and nobody else uses it.
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
        // Buffers that the stream used need not wait for it any more: waiting for a stream that is
        // captured is an error.
        self.inner().settle()?;
        let api = self.context().bind()?;
        // SAFETY: the stream is alive.
        let result = unsafe { api.driver.cuStreamBeginCapture_v2(self.as_inner(), mode) };
        api.check(result, doing)?;
        self.inner().set_capturing(true);
        /// Ends the capture also when `record` panics.
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
                    // SAFETY: just made, and known to nobody else.
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

    /// Whether the stream is being captured into a graph.
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
    /// Makes the graph ready to be launched.
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

    /// The number of its nodes.
    pub fn node_count(&self) -> CudaResult<usize> {
        let api = self.context.bind()?;
        let mut count = 0;
        // SAFETY: without a list only the count is written.
        let result = unsafe {
            api.driver
                .cuGraphGetNodes(self.raw, std::ptr::null_mut(), &mut count)
        };
        api.check(result, || "counting a graph's nodes".to_owned())?;
        Ok(count)
    }

    /// The driver's handle.
    pub fn as_raw(&self) -> CUgraph {
        self.raw
    }
}

impl CapturedExec {
    /// Puts a launch of the graph into a stream.
    ///
    /// # Safety
    ///
    /// As for [`Stream::capture`]: what was recorded is sound now.
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

    /// Makes this a graph of the same shape with other parameters: what `graph` recorded.
    ///
    /// # Errors
    ///
    /// [`Error::GraphUpdate`](crate::error::Error::GraphUpdate) says in what the graphs differ.
    /// This one stays as it was.
    pub fn update(&mut self, graph: &CapturedGraph) -> CudaResult<()> {
        let doing = || "updating a graph".to_owned();
        self.context.require_same(&graph.context, doing)?;
        let api = self.context.bind()?;
        super::exec::update(api, self.raw, graph.raw)
    }

    /// The driver's handle.
    pub fn as_raw(&self) -> CUgraphExec {
        self.raw
    }
}

impl Drop for CapturedGraph {
    fn drop(&mut self) {
        // An error means that the context is gone, and the graph with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: made once, destroyed once.
            let _ = unsafe { api.driver.cuGraphDestroy(self.raw) };
        }
    }
}

impl Drop for CapturedExec {
    fn drop(&mut self) {
        if let Ok(api) = self.context.bind() {
            // SAFETY: made once, destroyed once; the driver keeps what a launch still needs.
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
