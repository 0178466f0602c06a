//! Graphs that can be launched.

use std::sync::Arc;

use cust_core::kernel::{Access, Args, Pass};
use cust_raw::{
    CUgraph, CUgraphExec, CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo, CUresult,
};

use super::{GraphBuffer, GraphBuilder, Kept, Node, Owned, kernel_checks, kernel_node};
use crate::backend::Api;
use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::event::Event;
use crate::function::Function;
use crate::kernel::{Collector, Kernel, KernelType, LaunchConfig, check_block_size, doing};
use crate::stream::Stream;
use crate::tracker::{self, Captured, Dependency, Tracker};

/// A graph that can be launched, with the buffers that it works on. See the
/// [module's documentation](super).
pub struct GraphExec<'m> {
    raw: CUgraphExec,
    /// Launches of the graph itself.
    tracker: Tracker,
    /// Dropped after `raw`, by `Drop`: the nodes and the buffers.
    graph: GraphBuilder<'m>,
    /// Whether `graph` is another one than it was made of.
    updated: bool,
}

// SAFETY: one thread at a time launches it, since that takes `&mut`, but any may.
unsafe impl Send for GraphExec<'_> {}

impl<'m> GraphBuilder<'m> {
    /// Makes the graph ready to be launched.
    ///
    /// # Errors
    ///
    /// What the driver says, such as that a node cannot stand where it does.
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
    /// Puts a launch of the whole graph into a stream, after the work that its buffers are used
    /// by. What goes wrong in kernels is returned by the next `synchronize`, or access to a buffer.
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
        // Launches of one graph never overlap, in whatever streams: the driver sees to that.
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
            crate::launch::note_launch(function, stream)?;
        }
        let refused = Captured::Refused;
        // Nobody finds out about an event between its being recorded anew and the note of it. The
        // order is the same for all graphs.
        let mut events: Vec<&Arc<Event>> = graph.events.iter().collect();
        events.sort_by_key(|event| Arc::as_ptr(event));
        events.dedup_by_key(|event| Arc::as_ptr(event));
        let marks: Vec<_> = events
            .into_iter()
            .map(|event| event.forget_mark())
            .collect();
        // SAFETY: the graph accesses just what its nodes say.
        unsafe {
            tracker::enqueue(stream.inner(), &dependencies, refused, doing, |api, raw| {
                api.driver.cuGraphLaunch(self.raw, raw)
            })?;
        }
        drop(marks);
        let issued = stream.inner().issued();
        for function in functions {
            crate::launch::note_launched(function, stream.inner(), issued);
        }
        Ok(())
    }

    /// A buffer, to read. Copies to the host wait for launches.
    ///
    /// # Panics
    ///
    /// If the buffer is another graph's.
    pub fn get<B: Owned>(&self, buffer: GraphBuffer<B>) -> &B {
        let number = self.graph.place(buffer.id);
        let number = number.expect("the buffer is this graph's");
        let value = &self.graph.buffers[number].value;
        value
            .downcast_ref()
            .expect("a buffer's number goes with its type")
    }

    /// The elements of a buffer, to change: a `DeviceSliceMut` or a `&mut [T]`. What is done with
    /// them waits for launches.
    ///
    /// # Panics
    ///
    /// If the buffer is another graph's.
    pub fn get_mut<B: Owned>(&mut self, buffer: GraphBuffer<B>) -> B::Mut<'_> {
        let number = self.graph.place(buffer.id);
        let number = number.expect("the buffer is this graph's");
        let value = &mut self.graph.buffers[number].value;
        let value: &mut B = (value.downcast_mut()).expect("a buffer's number goes with its type");
        value.elements_mut()
    }

    /// Gives a kernel's node other sizes and arguments, for the launches from now on. It has to
    /// use the same buffers in the same way.
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
        // The driver has no way to give the node of a launchable graph other attributes.
        if config.has_attributes() {
            return Err(Error::GraphLaunchAttribute);
        }
        let kept: Box<dyn Pass + Send> = Box::new(args.into_arguments());
        let mut collector = Collector::default();
        kept.pass(&mut collector);
        let uses = self.graph.uses(&collector, doing)?;
        if !same_uses(&uses, &self.graph.nodes[number].uses) {
            return Err(Error::GraphUses);
        }
        let context = &self.graph.context;
        let mut pointers = kernel_checks(context, &function, &config, &collector, doing)?;
        let raw = kernel_node(&function, &config, &mut pointers);
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

    /// Says whether a node of a kernel, copy or setting is done in the launches from now on.
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

    /// Whether a node is done in launches.
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

    /// The number of a node that the driver knows.
    fn node(&self, node: Node, doing: impl Fn() -> String) -> CudaResult<usize> {
        let number = self.graph.numbers(&[node], doing)?[0];
        if self.updated || self.graph.nodes[number].scope != self.graph.scope {
            return Err(Error::GraphNode);
        }
        Ok(number)
    }

    /// Makes this the graph that `graph` describes, which has to have the same shape: nodes of the
    /// same kinds in the same order, with other parameters and buffers. That is faster than to
    /// instantiate it. The buffers of the former graph are dropped, after its last launch.
    ///
    /// # Errors
    ///
    /// [`Error::GraphUpdate`] says in what the graphs differ. This one stays as it was.
    pub fn update(&mut self, mut graph: GraphBuilder<'m>) -> CudaResult<()> {
        let doing = || "updating a graph".to_owned();
        self.graph.context.require_same(&graph.context, doing)?;
        graph.require_complete()?;
        graph.free_scratch()?;
        let api = self.graph.context.bind()?;
        // Kernels of the last launch use the buffers, and its calls of the host the functions.
        self.tracker.settle(Access::Write)?;
        update(api, self.raw, graph.raw)?;
        self.graph = graph;
        self.updated = true;
        Ok(())
    }

    /// Moves what the graph needs on the device there, so that the first launch is as fast as the
    /// others.
    pub fn upload(&self, stream: &Stream) -> CudaResult<()> {
        let doing = || "uploading a graph".to_owned();
        stream.context().require_same(&self.graph.context, doing)?;
        let api = self.graph.context.bind()?;
        // SAFETY: both are alive.
        let result = unsafe { api.driver.cuGraphUpload(self.raw, stream.as_inner()) };
        api.check(result, doing)
    }

    /// The context that it belongs to.
    pub fn context(&self) -> &Context {
        &self.graph.context
    }
}

/// Why a graph could not be updated to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraphUpdateFailure {
    /// It has other nodes, or another order of them.
    Topology,
    /// A node is of another kind.
    NodeType,
    /// A node launches a kernel of another context, or one that cannot be exchanged.
    Function,
    /// A parameter that cannot be changed differs.
    Parameters,
    /// Attributes of a node differ.
    Attributes,
    /// The driver cannot update such a node.
    NotSupported,
    /// Something else, by the driver's number.
    Other(u32),
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

impl std::fmt::Display for GraphUpdateFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            GraphUpdateFailure::Topology => "it has other nodes, or another order of them",
            GraphUpdateFailure::NodeType => "a node is of another kind",
            GraphUpdateFailure::Function => "a node's kernel cannot be exchanged for that one",
            GraphUpdateFailure::Parameters => "a parameter that cannot be changed differs",
            GraphUpdateFailure::Attributes => "attributes of a node differ",
            GraphUpdateFailure::NotSupported => "the driver cannot update such a node",
            GraphUpdateFailure::Other(number) => return write!(f, "the driver's reason {number}"),
        })
    }
}

/// Updates a graph to another one.
pub(super) fn update(api: &Api, exec: CUgraphExec, graph: CUgraph) -> CudaResult<()> {
    // SAFETY: zeros are valid for these plain numbers and pointers.
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
        // Functions of the host's are freed with the nodes.
        if self.tracker.settle(Access::Write).is_err() {
            // What a launch may still use is leaked.
            std::mem::forget(std::mem::take(&mut self.graph.buffers));
            std::mem::forget(std::mem::take(&mut self.graph.nodes));
            return;
        }
        // An error means that the context is gone, and the graph with it.
        if let Ok(api) = self.graph.context.bind() {
            // SAFETY: made by `instantiate`, destroyed once.
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
                "it has other nodes, or another order of them",
            ),
            (
                Raw::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED,
                GraphUpdateFailure::NodeType,
                "a node is of another kind",
            ),
            (
                Raw::CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED,
                GraphUpdateFailure::Function,
                "a node's kernel cannot be exchanged for that one",
            ),
            (
                Raw::CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE,
                GraphUpdateFailure::Function,
                "a node's kernel cannot be exchanged for that one",
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
                "the driver cannot update such a node",
            ),
            (
                Raw(1),
                GraphUpdateFailure::Other(1),
                "the driver's reason 1",
            ),
            (
                Raw(99),
                GraphUpdateFailure::Other(99),
                "the driver's reason 99",
            ),
        ];
        for (raw, expected, text) in kinds {
            let reason = GraphUpdateFailure::from_raw(raw);
            assert_eq!((reason, reason.to_string().as_str()), (expected, text));
        }
    }
}
