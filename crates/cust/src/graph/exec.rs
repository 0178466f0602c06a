//! Executable graphs.

use std::sync::Arc;

use cust_core::kernel::{Access, Args, Pass};
use cust_raw::{
    CUgraph, CUgraphExec, CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo, CUresult,
};

use super::{GraphBuffer, GraphBuilder, Kept, Node, Owned, kernel_checks, kernel_node};
use crate::backend::Api;
use crate::context::Context;
use crate::error::{CudaResult, Error, GraphUpdateFailure};
use crate::event::Event;
use crate::function::Function;
use crate::kernel::{Collector, Kernel, KernelType, LaunchConfig, check_block_size, doing};
use crate::stream::Stream;
use crate::tracker::{self, Captured, Dependency, Tracker};

/// An executable graph, which owns its buffers. See the [module's documentation](super).
pub struct GraphExec<'m> {
    raw: CUgraphExec,
    /// Tracks launches of the graph.
    tracker: Tracker,
    /// The nodes and the buffers. Dropped after `Drop` has destroyed `raw`.
    graph: GraphBuilder<'m>,
    /// Whether `graph` is not the graph that `raw` was instantiated from.
    updated: bool,
}

// SAFETY: any thread may use the graph, and `&mut` in `launch` ensures that one thread at a time
// does.
unsafe impl Send for GraphExec<'_> {}

impl<'m> GraphBuilder<'m> {
    /// Creates an executable graph.
    ///
    /// # Errors
    ///
    /// Returns [`Error::UnusedCondition`] if a condition has no conditional node,
    /// [`Error::GraphExchanged`] if the graph was moved out of the closure that fills a conditional
    /// body, and the driver's error if it rejects the graph.
    pub fn instantiate(mut self) -> CudaResult<GraphExec<'m>> {
        self.require_complete()?;
        self.free_scratch()?;
        let api = self.context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the call, and the graph is alive.
        let result = unsafe {
            api.driver
                .cuGraphInstantiateWithFlags(&mut raw, self.raw, 0)
        };
        api.check(result, || {
            format!("instantiating a graph of {} nodes", self.nodes.len())
        })?;
        Ok(GraphExec {
            raw,
            tracker: Tracker::new(self.context.clone()),
            graph: self,
            updated: false,
        })
    }
}

impl<'m> GraphExec<'m> {
    /// Enqueues a launch of the whole graph into a stream, after the pending work that uses its
    /// buffers.
    ///
    /// The next `synchronize`, or the next access to a buffer that waits, returns errors that occur
    /// while the graph runs.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`] if the stream belongs to another context, and
    /// [`Error::Capturing`] while the stream is being captured.
    pub fn launch(&mut self, stream: &Stream) -> CudaResult<()> {
        let graph = &self.graph;
        let doing = || format!("launching a graph of {} nodes", graph.nodes.len());
        stream.context().require_same(&graph.context, doing)?;
        let mut dependencies = Vec::with_capacity(graph.buffers.len() + 1);
        for (number, buffer) in graph.buffers.iter().enumerate() {
            let Some(tracker) = buffer.tracker else {
                continue;
            };
            let uses = graph.nodes.iter().flat_map(|node| &node.uses);
            let mut uses = uses.filter(|(used, _)| *used == number).peekable();
            if uses.peek().is_none() {
                continue;
            }
            let writes = uses.any(|(_, access)| *access == Access::Write);
            let access = if writes { Access::Write } else { Access::Read };
            let tracker = tracker(&*buffer.value);
            dependencies.push(Dependency::new(
                tracker,
                access,
                buffer.address,
                buffer.bytes,
            ));
        }
        // The driver serializes launches of the same executable graph, even in different streams.
        dependencies.push(Dependency::new(&self.tracker, Access::Write, 0, usize::MAX));
        let mut collector = Collector::default();
        let mut functions: Vec<&Function<'_>> = Vec::new();
        for node in &graph.nodes {
            if let Kept::Kernel(function, arguments) = &node.kept {
                arguments.pass(&mut collector);
                functions.push(function);
            }
        }
        dependencies.extend_from_slice(collector.dependencies());
        for function in &functions {
            crate::launch::record_launch(function, stream)?;
        }
        let refused = Captured::Refused;
        // Lock the positions of the recorded events, so that no other thread reads one between the
        // recording and its bookkeeping. All graphs lock in the same order, to avoid deadlocks.
        let mut events: Vec<&Arc<Event>> = graph.events.iter().collect();
        events.sort_by_key(|event| Arc::as_ptr(event));
        events.dedup_by_key(|event| Arc::as_ptr(event));
        let marks: Vec<_> = events
            .into_iter()
            .map(|event| event.forget_mark())
            .collect();
        // SAFETY: the graph accesses only the memory that its nodes declare.
        unsafe {
            tracker::enqueue(stream.inner(), &dependencies, refused, doing, |api, raw| {
                api.driver.cuGraphLaunch(self.raw, raw)
            })?;
        }
        drop(marks);
        let issued = stream.inner().issued();
        for function in functions {
            crate::launch::record_launched(function, stream.inner(), issued);
        }
        Ok(())
    }

    /// Borrows a buffer. Its accesses and copies to the host wait for pending launches.
    ///
    /// # Panics
    ///
    /// Panics if the buffer belongs to another graph.
    pub fn get<B: Owned>(&self, buffer: GraphBuffer<B>) -> &B {
        let number = self.graph.place(buffer.id);
        let number = number.expect("the buffer is this graph's");
        let value = &self.graph.buffers[number].value;
        value
            .downcast_ref()
            .expect("a buffer's number goes with its type")
    }

    /// Borrows the elements of a buffer mutably, as a `DeviceSliceMut` or a `&mut [T]`. Operations
    /// on them wait for pending launches.
    ///
    /// # Panics
    ///
    /// Panics if the buffer belongs to another graph.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let mut graph = GraphBuilder::new()?;
    /// let input = graph.buffer(LockedBuffer::<u32>::zeroed(2)?);
    /// let output = graph.buffer(LockedBuffer::<u32>::zeroed(2)?);
    /// graph.copy(input, output)?;
    /// let mut graph = graph.instantiate()?;
    /// graph.get_mut(input).copy_from_slice(&[1, 2]);
    /// graph.launch(&stream)?;
    /// assert_eq!(graph.get(output)[..], [1, 2]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn get_mut<B: Owned>(&mut self, buffer: GraphBuffer<B>) -> B::Mut<'_> {
        let number = self.graph.place(buffer.id);
        let number = number.expect("the buffer is this graph's");
        let value = &mut self.graph.buffers[number].value;
        let value: &mut B = (value.downcast_mut()).expect("a buffer's number goes with its type");
        value.elements_mut()
    }

    /// Changes the kernel, the dimensions and the arguments of a kernel node, for later launches.
    ///
    /// The new launch must use the same buffers with the same kind of access.
    ///
    /// # Errors
    ///
    /// Returns [`Error::GraphUses`] if the buffers or accesses differ, [`Error::GraphNodeKind`] for
    /// a node that is not a kernel node, [`Error::GraphNode`] for a node that cannot be changed
    /// individually, [`Error::GraphLaunchAttribute`] if `config` has launch attributes, and the
    /// errors of [`GraphBuilder::launch`].
    pub fn set_launch<K: KernelType, A: Pass + Send + 'static>(
        &mut self,
        node: Node,
        kernel: &Kernel<'m, K>,
        config: impl Into<LaunchConfig>,
        args: Args<K, A>,
    ) -> CudaResult<()> {
        let (function, config): (Function<'m>, LaunchConfig) = ((**kernel).clone(), config.into());
        check_block_size::<K>(&config)?;
        let doing = || format!("changing a node of a graph: {}", doing(&function, &config));
        let number = self.node(node, doing)?;
        if !matches!(self.graph.nodes[number].kept, Kept::Kernel(..)) {
            return Err(Error::GraphNodeKind);
        }
        // The driver cannot change attributes of a node of an executable graph.
        if config.has_attributes() {
            return Err(Error::GraphLaunchAttribute);
        }
        let kept: Box<dyn Pass + Send> = Box::new(args.into_arguments());
        let mut collector = Collector::of(&function);
        kept.pass(&mut collector);
        let uses = self.graph.uses(&collector, doing)?;
        if !same_uses(&uses, &self.graph.nodes[number].uses) {
            return Err(Error::GraphUses);
        }
        let context = &self.graph.context;
        let pointers = kernel_checks(context, &function, &config, &mut collector, doing)?;
        // SAFETY: `kernel_checks` has compared the number of parameters with the kernel's.
        let raw = unsafe { kernel_node(&function, &config, pointers) };
        let api = context.bind()?;
        // SAFETY: node and graph are alive; the driver copies the parameters.
        let result = unsafe {
            let node = self.graph.nodes[number].raw;
            api.driver
                .cuGraphExecKernelNodeSetParams_v2(self.raw, node, &raw)
        };
        api.check(result, doing)?;
        drop(collector);
        self.graph.nodes[number].kept = Kept::Kernel(function, kept);
        Ok(())
    }

    /// Enables or disables a kernel, copy or fill node, for later launches.
    ///
    /// # Errors
    ///
    /// Returns [`Error::GraphNode`] for a node that cannot be changed individually, and the
    /// driver's error for other kinds of nodes.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let mut graph = GraphBuilder::new()?;
    /// let buffer = graph.buffer(DeviceBuffer::from_slice(&[1u32, 2])?);
    /// let clear = graph.set_zero(buffer)?;
    /// let mut graph = graph.instantiate()?;
    /// graph.set_enabled(clear, false)?;
    /// graph.launch(&stream)?;
    /// assert_eq!(graph.get(buffer).as_host_vec()?, [1, 2]);
    /// graph.set_enabled(clear, true)?;
    /// graph.launch(&stream)?;
    /// assert_eq!(graph.get(buffer).as_host_vec()?, [0, 0]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn set_enabled(&mut self, node: Node, enabled: bool) -> CudaResult<()> {
        let doing = || "enabling or disabling a node of a graph".to_owned();
        let number = self.node(node, doing)?;
        let api = self.graph.context.bind()?;
        // SAFETY: node and graph are alive.
        let result = unsafe {
            let node = self.graph.nodes[number].raw;
            api.driver
                .cuGraphNodeSetEnabled(self.raw, node, enabled.into())
        };
        api.check(result, doing)
    }

    /// Returns whether a node is enabled.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`GraphExec::set_enabled`].
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let mut graph = GraphBuilder::new()?;
    /// let buffer = graph.buffer(DeviceBuffer::<u32>::zeroed(2)?);
    /// let clear = graph.set_zero(buffer)?;
    /// let mut graph = graph.instantiate()?;
    /// assert!(graph.is_enabled(clear)?);
    /// graph.set_enabled(clear, false)?;
    /// assert!(!graph.is_enabled(clear)?);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn is_enabled(&self, node: Node) -> CudaResult<bool> {
        let doing = || "querying whether a node of a graph is enabled".to_owned();
        let number = self.node(node, doing)?;
        let api = self.graph.context.bind()?;
        let mut enabled = 0;
        // SAFETY: node and graph are alive, and the pointer is valid for the call.
        let result = unsafe {
            let node = self.graph.nodes[number].raw;
            api.driver
                .cuGraphNodeGetEnabled(self.raw, node, &mut enabled)
        };
        api.check(result, doing)?;
        Ok(enabled != 0)
    }

    /// Returns the index of a node that can be changed individually.
    fn node(&self, node: Node, doing: impl Fn() -> String) -> CudaResult<usize> {
        let number = self.graph.numbers(&[node], doing)?[0];
        if self.updated || self.graph.nodes[number].scope != self.graph.scope {
            return Err(Error::GraphNode);
        }
        Ok(number)
    }

    /// Updates this executable graph to `graph`, which is faster than instantiating `graph`.
    ///
    /// The graphs must have the same topology and kinds of nodes; parameters and buffers may
    /// differ. The buffers of the former graph are dropped after its last launch is complete.
    ///
    /// # Errors
    ///
    /// Returns [`Error::GraphUpdate`] with the difference if the graphs differ too much; this graph
    /// is then unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// type Copy = (GraphBuilder<'static>, GraphBuffer<LockedBuffer<u32>>);
    ///
    /// /// Returns a graph that copies `elements`, and the buffer that it copies them to.
    /// fn copy(elements: &[u32]) -> CudaResult<Copy> {
    ///     let mut graph = GraphBuilder::new()?;
    ///     let from = graph.buffer(LockedBuffer::from_slice(elements)?);
    ///     let to = graph.buffer(LockedBuffer::zeroed(elements.len())?);
    ///     graph.copy(from, to)?;
    ///     Ok((graph, to))
    /// }
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let mut graph = copy(&[1, 2])?.0.instantiate()?;
    /// graph.launch(&stream)?;
    /// let (other, to) = copy(&[3, 4, 5])?;
    /// graph.update(other)?;
    /// graph.launch(&stream)?;
    /// assert_eq!(graph.get(to)[..], [3, 4, 5]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn update(&mut self, mut graph: GraphBuilder<'m>) -> CudaResult<()> {
        let doing = || "updating a graph".to_owned();
        self.graph.context.require_same(&graph.context, doing)?;
        graph.require_complete()?;
        graph.free_scratch()?;
        let api = self.graph.context.bind()?;
        // The last launch uses the buffers and the host functions of the former graph.
        self.tracker.settle(Access::Write)?;
        update(api, self.raw, graph.raw)?;
        self.graph = graph;
        self.updated = true;
        Ok(())
    }

    /// Uploads the graph to the device in advance, so that the first launch is as fast as later
    /// ones.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`] if the stream belongs to another context, and the driver's
    /// error if it cannot upload the graph.
    pub fn upload(&self, stream: &Stream) -> CudaResult<()> {
        let doing = || "uploading a graph".to_owned();
        stream.context().require_same(&self.graph.context, doing)?;
        let api = self.graph.context.bind()?;
        // SAFETY: both are alive.
        let result = unsafe { api.driver.cuGraphUpload(self.raw, stream.as_inner()) };
        api.check(result, doing)
    }

    /// Returns the context that the graph belongs to.
    pub fn context(&self) -> &Context {
        &self.graph.context
    }
}

impl GraphUpdateFailure {
    fn from_raw(raw: CUgraphExecUpdateResult) -> GraphUpdateFailure {
        use CUgraphExecUpdateResult as Raw;
        match raw {
            Raw::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED => GraphUpdateFailure::Topology,
            Raw::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED => GraphUpdateFailure::NodeType,
            Raw::CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED
            | Raw::CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE => {
                GraphUpdateFailure::Function
            }
            Raw::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED => GraphUpdateFailure::Parameters,
            Raw::CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED => GraphUpdateFailure::Attributes,
            Raw::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED => GraphUpdateFailure::NotSupported,
            other => GraphUpdateFailure::Other(other.0),
        }
    }
}

/// Updates an executable graph to another graph.
pub(super) fn update(api: &Api, exec: CUgraphExec, graph: CUgraph) -> CudaResult<()> {
    // SAFETY: all-zero bytes are valid for these integers and pointers.
    let mut info: CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
    // SAFETY: the callers keep both alive, and the pointer is valid for the call.
    let result = unsafe { api.driver.cuGraphExecUpdate_v2(exec, graph, &mut info) };
    if result == CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE {
        return Err(Error::GraphUpdate {
            reason: GraphUpdateFailure::from_raw(info.result),
        });
    }
    api.check(result, || "updating a graph".to_owned())
}

fn same_uses(a: &[(usize, Access)], b: &[(usize, Access)]) -> bool {
    let inside =
        |a: &[(usize, Access)], b: &[(usize, Access)]| a.iter().all(|use_| b.contains(use_));
    inside(a, b) && inside(b, a)
}

impl Drop for GraphExec<'_> {
    fn drop(&mut self) {
        // Dropping the nodes frees the host functions, so wait for the last launch.
        if self.tracker.settle(Access::Write).is_err() {
            // Leak what a pending launch may use.
            std::mem::forget(std::mem::take(&mut self.graph.buffers));
            std::mem::forget(std::mem::take(&mut self.graph.nodes));
            return;
        }
        // An error means that the context is gone, and the graph with it.
        if let Ok(api) = self.graph.context.bind() {
            // SAFETY: created by `instantiate`, destroyed once.
            let _ = unsafe { api.driver.cuGraphExecDestroy(self.raw) };
        }
    }
}

impl std::fmt::Debug for GraphExec<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GraphExec")
            .field("nodes", &self.graph.nodes.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_says_why_a_graph_cannot_be_updated() {
        use CUgraphExecUpdateResult as Raw;
        let kinds = [
            (
                Raw::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
                GraphUpdateFailure::Topology,
                "the nodes or their dependencies differ",
            ),
            (
                Raw::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED,
                GraphUpdateFailure::NodeType,
                "the kind of a node differs",
            ),
            (
                Raw::CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED,
                GraphUpdateFailure::Function,
                "the kernel of a node cannot be replaced by the new one",
            ),
            (
                Raw::CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE,
                GraphUpdateFailure::Function,
                "the kernel of a node cannot be replaced by the new one",
            ),
            (
                Raw::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
                GraphUpdateFailure::Parameters,
                "a parameter that cannot be changed differs",
            ),
            (
                Raw::CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED,
                GraphUpdateFailure::Attributes,
                "attributes of a node differ",
            ),
            (
                Raw::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED,
                GraphUpdateFailure::NotSupported,
                "the driver does not support updating a node",
            ),
            (Raw(1), GraphUpdateFailure::Other(1), "the driver's code 1"),
            (
                Raw(99),
                GraphUpdateFailure::Other(99),
                "the driver's code 99",
            ),
        ];
        for (raw, expected, text) in kinds {
            let reason = GraphUpdateFailure::from_raw(raw);
            assert_eq!((reason, reason.to_string().as_str()), (expected, text));
        }
    }
}
