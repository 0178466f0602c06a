//! Graphs: work that is described once and launched repeatedly, built node by node or captured from
//! streams.
//!
//! A node runs the same work as a stream would. A launch of a graph is one item of work in its
//! stream, which runs the nodes one after another in an order that respects their dependencies.

use std::collections::HashMap;
use std::ffi::{c_char, c_uint, c_ulonglong};
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use cust_raw::{
    CUDA_GRAPH_INSTANTIATE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUcontext, CUevent, CUgraph, CUgraphEdgeData, CUgraphExec,
    CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo, CUgraphInstantiateResult, CUgraphNode,
    CUgraphNodeType, CUkernelNodeAttrID, CUkernelNodeAttrValue, CUresult, CUstream,
    CUstreamCaptureMode, CUstreamCaptureStatus,
};

use super::condition::{Choice, Condition};
use super::copy::{copy_node, set_node};
use super::launch::{Attributes, Launch, LaunchWork};
use super::queue::{Work, in_stream, is_deferred};
use super::state::{Context, Handle, Object, State, Stream, from_pointer, lock, state, to_pointer};
use super::stream::host_work;
use super::{Outcome, api, put, put_optional};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// A graph that can be modified.
pub(super) struct Graph {
    pub(super) context: Handle,
    nodes: Mutex<Vec<Node>>,
    /// The conditions created for the graph.
    pub(super) conditions: Mutex<Vec<Arc<Condition>>>,
    /// The graph whose conditional node has this graph as a body.
    outer: Weak<Graph>,
    /// The handles of the bodies of conditional nodes, in lists that callers may read.
    pub(super) lists: Mutex<Vec<Box<[usize]>>>,
}

#[derive(Clone)]
struct Node {
    kind: CUgraphNodeType,
    action: Action,
    /// The numbers of the nodes that it depends on.
    after: Vec<usize>,
    /// The attributes of a kernel node.
    attributes: Attributes,
    /// The handle, once it has been requested.
    handle: Handle,
    destroyed: bool,
}

#[derive(Clone)]
pub(super) enum Action {
    Nothing,
    Work(Work),
    Kernel(LaunchWork),
    Child(Arc<Graph>),
    Conditional(Arc<Condition>, Choice, Vec<Arc<Graph>>),
}

/// A graph that can be launched, with its nodes in a topological order.
pub(super) struct Exec {
    pub(super) context: Handle,
    nodes: Mutex<Vec<ExecNode>>,
    /// The conditions, which a launch resets to their defaults.
    conditions: Mutex<Vec<Arc<Condition>>>,
}

#[derive(Clone)]
struct ExecNode {
    /// The number of the node in the original graph.
    number: usize,
    kind: CUgraphNodeType,
    action: ExecAction,
    /// The attributes of a kernel node.
    attributes: Attributes,
    enabled: bool,
}

#[derive(Clone)]
enum ExecAction {
    Nothing,
    Work(Work),
    Kernel(LaunchWork),
    Child(Vec<ExecNode>),
    Conditional(Arc<Condition>, Choice, Vec<Body>),
}

/// A body of a conditional node.
#[derive(Clone)]
struct Body {
    nodes: Vec<ExecNode>,
    conditions: Vec<Arc<Condition>>,
}

impl Graph {
    pub(super) fn new(context: Handle) -> Graph {
        Graph {
            context,
            nodes: Mutex::default(),
            conditions: Mutex::default(),
            outer: Weak::new(),
            lists: Mutex::default(),
        }
    }

    /// Creates an empty body for a conditional node in `outer`.
    pub(super) fn body_of(outer: &Arc<Graph>) -> Graph {
        Graph {
            outer: Arc::downgrade(outer),
            ..Graph::new(outer.context)
        }
    }

    /// Returns the condition with a handle, which was created for this graph or an enclosing one.
    pub(super) fn condition(&self, handle: u64) -> Option<Arc<Condition>> {
        let conditions = lock(&self.conditions);
        let found = conditions.iter().find(|it| it.handle() == handle);
        found
            .cloned()
            .or_else(|| self.outer.upgrade()?.condition(handle))
    }

    /// Adds a node and returns its number.
    fn add(&self, kind: CUgraphNodeType, action: Action, after: Vec<usize>) -> usize {
        let mut nodes = lock(&self.nodes);
        nodes.push(Node {
            kind,
            action,
            after,
            attributes: Attributes::default(),
            handle: 0,
            destroyed: false,
        });
        nodes.len() - 1
    }

    /// Returns the handle of a node, which is created by the first call.
    fn handle_of(self: &Arc<Graph>, state: &State, number: usize) -> Handle {
        let mut nodes = lock(&self.nodes);
        let node = &mut nodes[number];
        if node.handle == 0 {
            node.handle = state.add(Object::Node(Arc::clone(self), number));
        }
        node.handle
    }

    /// Returns whether a conditional node of the graph or of its bodies uses the condition.
    fn uses(&self, condition: &Arc<Condition>) -> bool {
        let nodes = lock(&self.nodes).clone();
        nodes.iter().any(|node| match &node.action {
            Action::Conditional(used, _, bodies) if !node.destroyed => {
                Arc::ptr_eq(used, condition) || bodies.iter().any(|body| body.uses(condition))
            }
            _ => false,
        })
    }

    /// Rejects a graph with conditions: the driver neither clones such a graph nor accepts it as a
    /// child node (driver 580.159.04, on an H100).
    fn require_no_conditions(&self) -> Outcome {
        match lock(&self.conditions).is_empty() {
            true => Ok(()),
            false => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        }
    }

    /// Returns the nodes in a topological order, or `None` if they have a cycle or a condition has
    /// no node, which the driver rejects as well. With the deferred schedule, the node added last
    /// comes first among independent nodes.
    fn ordered(&self) -> Option<Vec<ExecNode>> {
        let conditions = lock(&self.conditions).clone();
        if !conditions.iter().all(|condition| self.uses(condition)) {
            return None;
        }
        let nodes = lock(&self.nodes).clone();
        let mut done = vec![false; nodes.len()];
        let mut ordered = Vec::new();
        let mut missing = nodes.iter().filter(|node| !node.destroyed).count();
        while missing > 0 {
            let ready = |(number, node): &(usize, &Node)| {
                let is_done = |&before: &usize| done[before] || nodes[before].destroyed;
                !done[*number] && !node.destroyed && node.after.iter().all(is_done)
            };
            let mut nodes = nodes.iter().enumerate();
            let (number, node) = match is_deferred() {
                true => nodes.rfind(ready)?,
                false => nodes.find(ready)?,
            };
            let action = match &node.action {
                Action::Nothing => ExecAction::Nothing,
                Action::Work(work) => ExecAction::Work(Arc::clone(work)),
                Action::Kernel(work) => ExecAction::Kernel(Arc::clone(work)),
                Action::Child(child) => ExecAction::Child(child.ordered()?),
                Action::Conditional(condition, choice, bodies) => {
                    let body = |body: &Arc<Graph>| {
                        Some(Body {
                            nodes: body.ordered()?,
                            conditions: lock(&body.conditions).clone(),
                        })
                    };
                    let bodies = bodies.iter().map(body).collect::<Option<_>>()?;
                    ExecAction::Conditional(Arc::clone(condition), *choice, bodies)
                }
            };
            ordered.push(ExecNode {
                number,
                kind: node.kind,
                action,
                attributes: node.attributes,
                enabled: true,
            });
            done[number] = true;
            missing -= 1;
        }
        Some(ordered)
    }

    fn copy(&self) -> Graph {
        let mut nodes = lock(&self.nodes).clone();
        for node in &mut nodes {
            node.handle = 0;
        }
        Graph {
            context: self.context,
            nodes: Mutex::new(nodes),
            conditions: Mutex::new(lock(&self.conditions).clone()),
            outer: Weak::new(),
            lists: Mutex::default(),
        }
    }
}

fn run(nodes: &[ExecNode], conditions: &[Arc<Condition>]) -> Outcome {
    for condition in conditions {
        condition.reset();
    }

    for node in nodes.iter().filter(|node| node.enabled) {
        match &node.action {
            ExecAction::Nothing => {}
            ExecAction::Work(work) => work()?,
            ExecAction::Kernel(work) => work(node.attributes)?,
            ExecAction::Child(nodes) => run(nodes, &[])?,
            ExecAction::Conditional(condition, choice, bodies) => {
                while let Some(body) = choice.body(condition.value()) {
                    if let Some(body) = bodies.get(body) {
                        run(&body.nodes, &body.conditions)?;
                    }
                    if *choice != Choice::While {
                        break;
                    }
                }
            }
        }
    }
    Ok(())
}

/// The capture of one or more streams into a graph.
pub(super) struct Capture {
    graph: Arc<Graph>,
    origin: u64,
    /// For each stream, by id, the nodes that its next node depends on.
    last: Mutex<HashMap<u64, Vec<usize>>>,
}

impl Capture {
    /// Captures work enqueued in a stream as a node.
    pub(super) fn record(&self, stream: &Stream, kind: CUgraphNodeType, work: Work) -> Outcome {
        let mut last = lock(&self.last);
        let after = last.entry(stream.id).or_default();
        *after = vec![self.graph.add(kind, Action::Work(work), after.clone())];
        Ok(())
    }

    /// Returns the nodes that an event recorded in the stream now represents.
    pub(super) fn last_of(&self, stream: &Stream) -> Vec<usize> {
        lock(&self.last)
            .get(&stream.id)
            .cloned()
            .unwrap_or_default()
    }

    /// Makes subsequent work of the stream depend on the nodes. A stream that is not being captured
    /// joins the capture.
    pub(super) fn join(self: &Arc<Capture>, stream: &Stream, nodes: &[usize]) -> Outcome {
        let mut current = lock(&stream.capture);
        match &*current {
            Some(capture) if !Arc::ptr_eq(capture, self) => {
                return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE);
            }
            Some(_) => {}
            None => *current = Some(Arc::clone(self)),
        }
        let mut last = lock(&self.last);
        let after = last.entry(stream.id).or_default();
        for node in nodes {
            if !after.contains(node) {
                after.push(*node);
            }
        }
        Ok(())
    }
}

impl Stream {
    /// Returns the capture that the stream is part of.
    pub(super) fn capture(&self) -> Option<Arc<Capture>> {
        lock(&self.capture).clone()
    }

    /// Returns an error for a call that would wait for work that is only captured.
    pub(super) fn refuse_capture(&self) -> Outcome {
        match self.capture() {
            Some(_) => Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
            None => Ok(()),
        }
    }
}

/// Returns the numbers of nodes, given their handles.
///
/// # Safety
///
/// The list has `count` entries.
unsafe fn numbers(
    state: &State,
    graph: &Arc<Graph>,
    nodes: *const CUgraphNode,
    count: usize,
) -> Result<Vec<usize>, CUresult> {
    if nodes.is_null() && count > 0 {
        return Err(INVALID);
    }
    let number = |i| {
        // SAFETY: `i` is inside the list.
        let (found, number) = state.node(from_pointer(unsafe { nodes.add(i).read() }))?;
        if !Arc::ptr_eq(&found, graph) {
            return Err(INVALID);
        }
        Ok(number)
    };
    (0..count).map(number).collect()
}

/// Adds a node to a graph and writes its handle to `node`.
///
/// # Safety
///
/// The list has `count` entries, and `node` is null or valid for a write.
pub(super) unsafe fn add_node(
    node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    kind: CUgraphNodeType,
    action: impl FnOnce(&State, &Arc<Context>) -> Result<Action, CUresult>,
) -> Outcome {
    let state = state()?;
    let graph = state.graph(from_pointer(graph))?;
    let context = state.context(graph.context);
    let context = context.ok_or(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
    if node.is_null() {
        return Err(INVALID);
    }
    // SAFETY: as the caller promises.
    let after = unsafe { numbers(state, &graph, dependencies, count)? };
    let action = action(state, &context)?;
    let number = graph.add(kind, action, after);
    let handle = graph.handle_of(state, number);
    // SAFETY: as the caller promises.
    unsafe { put(node, to_pointer(handle)) }
}

/// Returns the work of a kernel node.
///
/// # Safety
///
/// The parameters are as `cuda.h` requires.
unsafe fn kernel_work(
    state: &State,
    context: &Arc<Context>,
    node: *const CUDA_KERNEL_NODE_PARAMS,
) -> Result<LaunchWork, CUresult> {
    if node.is_null() {
        return Err(INVALID);
    }
    // SAFETY: as the caller promises.
    let node = unsafe { &*node };
    let launch = Launch {
        function: node.func,
        grid: [node.gridDimX, node.gridDimY, node.gridDimZ],
        block: [node.blockDimX, node.blockDimY, node.blockDimZ],
        shared: node.sharedMemBytes,
        attributes: Attributes::default(),
        stream: std::ptr::null_mut(),
        params: node.kernelParams,
        extra: node.extra,
    };
    // SAFETY: as the caller promises.
    unsafe { launch.launch_work(state, context) }
}

/// Replaces the work of a node in an executable graph.
fn set_exec(
    exec: CUgraphExec,
    node: CUgraphNode,
    action: impl FnOnce(&State, &Arc<Context>) -> Result<ExecAction, CUresult>,
) -> Outcome {
    let state = state()?;
    let exec = state.exec(from_pointer(exec))?;
    let (_, number) = state.node(from_pointer(node))?;
    let context = state.context(exec.context);
    let context = context.ok_or(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
    let action = action(state, &context)?;
    let mut nodes = lock(&exec.nodes);
    let found = nodes.iter_mut().find(|node| node.number == number);
    found.ok_or(INVALID)?.action = action;
    Ok(())
}

fn instantiate(graph: CUgraph) -> Result<CUgraphExec, CUresult> {
    let state = state()?;
    let graph = state.graph(from_pointer(graph))?;
    let nodes = graph.ordered().ok_or(INVALID)?;
    let exec = Object::Exec(Arc::new(Exec {
        context: graph.context,
        nodes: Mutex::new(nodes),
        conditions: Mutex::new(lock(&graph.conditions).clone()),
    }));
    Ok(to_pointer(state.add(exec)))
}

/// Writes a list of nodes, or only their number if `list` is null.
///
/// # Safety
///
/// `list` is null or has `*count` entries.
unsafe fn put_list(found: &[Handle], list: *mut CUgraphNode, count: *mut usize) -> Outcome {
    if count.is_null() {
        return Err(INVALID);
    }
    // SAFETY: as the caller promises.
    unsafe {
        if list.is_null() {
            return put(count, found.len());
        }
        let room = count.read();
        for i in 0..room {
            let handle = found.get(i).copied().unwrap_or(0);
            list.add(i).write(to_pointer(handle));
        }
        put(count, found.len().min(room))
    }
}

api! {
    fn cuGraphCreate(graph: *mut CUgraph, flags: c_uint) {
        let state = state()?;
        let context = state.usable()?;
        if graph.is_null() || flags != 0 {
            return Err(INVALID);
        }
        let handle = state.add(Object::Graph(Arc::new(Graph::new(context.handle))));
        // SAFETY: the caller's pointer, as `cuda.h` requires.
        unsafe { put(graph, to_pointer(handle)) }
    }

    fn cuGraphDestroy(graph: CUgraph) {
        let state = state()?;
        let handle = from_pointer(graph);
        let graph = state.graph(handle)?;
        state.remove(handle);
        state.remove_where(|object| {
            matches!(object, Object::Node(owner, _) if Arc::ptr_eq(owner, &graph))
        });
        Ok(())
    }

    fn cuGraphClone(clone: *mut CUgraph, graph: CUgraph) {
        let state = state()?;
        let graph = state.graph(from_pointer(graph))?;
        graph.require_no_conditions()?;
        let handle = state.add(Object::Graph(Arc::new(graph.copy())));
        // SAFETY: as above.
        unsafe { put(clone, to_pointer(handle)) }
    }

    fn cuGraphAddKernelNode_v2(
        node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        count: usize,
        parameters: *const CUDA_KERNEL_NODE_PARAMS,
    ) {
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL;
        // SAFETY: as above.
        unsafe {
            add_node(node, graph, dependencies, count, kind, |state, context| {
                kernel_work(state, context, parameters).map(Action::Kernel)
            })
        }
    }

    fn cuGraphKernelNodeSetAttribute(
        node: CUgraphNode,
        attribute: CUkernelNodeAttrID,
        value: *const CUkernelNodeAttrValue,
    ) {
        let (graph, number) = state()?.node(from_pointer(node))?;
        let mut nodes = lock(&graph.nodes);
        let node = &mut nodes[number];
        if value.is_null() || node.kind != CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL {
            return Err(INVALID);
        }
        // SAFETY: as above; the value has the attribute's type.
        unsafe { node.attributes.set(attribute, &*value) };
        Ok(())
    }

    fn cuGraphAddMemcpyNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        count: usize,
        copy: *const CUDA_MEMCPY3D,
        _context: CUcontext,
    ) {
        if copy.is_null() {
            return Err(INVALID);
        }
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY;
        // SAFETY: as above.
        unsafe {
            add_node(node, graph, dependencies, count, kind, |state, context| {
                copy_node(state, context, &*copy).map(Action::Work)
            })
        }
    }

    fn cuGraphAddMemsetNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        count: usize,
        set: *const CUDA_MEMSET_NODE_PARAMS,
        _context: CUcontext,
    ) {
        if set.is_null() {
            return Err(INVALID);
        }
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET;
        // SAFETY: as above.
        unsafe {
            add_node(node, graph, dependencies, count, kind, |_, context| {
                set_node(context, &*set).map(Action::Work)
            })
        }
    }

    fn cuGraphAddHostNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        count: usize,
        host: *const CUDA_HOST_NODE_PARAMS,
    ) {
        if host.is_null() {
            return Err(INVALID);
        }
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST;
        // SAFETY: as above.
        unsafe {
            let function = (*host).fn_.ok_or(INVALID)?;
            let data = (*host).userData;
            add_node(node, graph, dependencies, count, kind, |_, _| {
                Ok(Action::Work(host_work(function, data)))
            })
        }
    }

    fn cuGraphAddEmptyNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        count: usize,
    ) {
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
        // SAFETY: as above.
        unsafe { add_node(node, graph, dependencies, count, kind, |_, _| Ok(Action::Nothing)) }
    }

    fn cuGraphAddChildGraphNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        count: usize,
        child: CUgraph,
    ) {
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH;
        // SAFETY: as above.
        unsafe {
            add_node(node, graph, dependencies, count, kind, |state, _| {
                let child = state.graph(from_pointer(child))?;
                child.require_no_conditions()?;
                Ok(Action::Child(Arc::new(child.copy())))
            })
        }
    }

    fn cuGraphAddEventRecordNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        count: usize,
        event: CUevent,
    ) {
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD;
        // SAFETY: as above.
        unsafe {
            add_node(node, graph, dependencies, count, kind, |state, _| {
                let event = state.event(from_pointer(event))?;
                Ok(Action::Work(Arc::new(move || {
                    *lock(&event.happened) = Some(Instant::now());
                    *lock(&event.mark) = None;
                    Ok(())
                })))
            })
        }
    }

    fn cuGraphAddDependencies_v2(
        graph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        _edges: *const CUgraphEdgeData,
        count: usize,
    ) {
        let state = state()?;
        let graph = state.graph(from_pointer(graph))?;
        // SAFETY: as above.
        let (from, to) = unsafe {
            (numbers(state, &graph, from, count)?, numbers(state, &graph, to, count)?)
        };
        let mut nodes = lock(&graph.nodes);
        for (from, to) in from.into_iter().zip(to) {
            if nodes[to].after.contains(&from) {
                return Err(INVALID);
            }
            nodes[to].after.push(from);
        }
        Ok(())
    }

    fn cuGraphDestroyNode(node: CUgraphNode) {
        let state = state()?;
        let handle = from_pointer(node);
        let (graph, number) = state.node(handle)?;
        lock(&graph.nodes)[number].destroyed = true;
        state.remove(handle);
        Ok(())
    }

    fn cuGraphGetNodes(graph: CUgraph, list: *mut CUgraphNode, count: *mut usize) {
        let state = state()?;
        let graph = state.graph(from_pointer(graph))?;
        let all: Vec<usize> = {
            let nodes = lock(&graph.nodes);
            (0..nodes.len()).filter(|&i| !nodes[i].destroyed).collect()
        };
        let found: Vec<Handle> = all.iter().map(|&i| graph.handle_of(state, i)).collect();
        // SAFETY: as above.
        unsafe { put_list(&found, list, count) }
    }

    fn cuGraphGetRootNodes(graph: CUgraph, list: *mut CUgraphNode, count: *mut usize) {
        let state = state()?;
        let graph = state.graph(from_pointer(graph))?;
        let roots: Vec<usize> = {
            let nodes = lock(&graph.nodes);
            let is_root = |&i: &usize| !nodes[i].destroyed && nodes[i].after.is_empty();
            (0..nodes.len()).filter(is_root).collect()
        };
        let found: Vec<Handle> = roots.iter().map(|&i| graph.handle_of(state, i)).collect();
        // SAFETY: as above.
        unsafe { put_list(&found, list, count) }
    }

    fn cuGraphNodeGetType(node: CUgraphNode, kind: *mut CUgraphNodeType) {
        let (graph, number) = state()?.node(from_pointer(node))?;
        let found = lock(&graph.nodes)[number].kind;
        // SAFETY: as above.
        unsafe { put(kind, found) }
    }

    fn cuGraphNodeGetDependencies_v2(
        node: CUgraphNode,
        list: *mut CUgraphNode,
        _edges: *mut CUgraphEdgeData,
        count: *mut usize,
    ) {
        let state = state()?;
        let (graph, number) = state.node(from_pointer(node))?;
        let after = lock(&graph.nodes)[number].after.clone();
        let found: Vec<Handle> = after.iter().map(|&i| graph.handle_of(state, i)).collect();
        // SAFETY: as above.
        unsafe { put_list(&found, list, count) }
    }

    fn cuGraphInstantiateWithFlags(
        exec: *mut CUgraphExec,
        graph: CUgraph,
        _flags: c_ulonglong,
    ) {
        let made = instantiate(graph)?;
        // SAFETY: as above.
        unsafe { put(exec, made) }
    }

    fn cuGraphInstantiateWithParams(
        exec: *mut CUgraphExec,
        graph: CUgraph,
        parameters: *mut CUDA_GRAPH_INSTANTIATE_PARAMS,
    ) {
        let made = instantiate(graph)?;
        // SAFETY: as above.
        unsafe {
            if !parameters.is_null() {
                (*parameters).result_out = CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_SUCCESS;
            }
            put(exec, made)
        }
    }

    fn cuGraphExecDestroy(exec: CUgraphExec) {
        let state = state()?;
        let handle = from_pointer(exec);
        state.exec(handle)?;
        state.remove(handle);
        Ok(())
    }

    fn cuGraphLaunch(exec: CUgraphExec, stream: CUstream) {
        let state = state()?;
        let exec = state.exec(from_pointer(exec))?;
        let (context, stream) = state.stream(from_pointer(stream))?;
        context.check()?;
        if exec.context != context.handle {
            return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        }
        // A snapshot: later changes apply to later launches.
        let nodes = lock(&exec.nodes).clone();
        let conditions = lock(&exec.conditions).clone();
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH;
        let work = Arc::new(move || run(&nodes, &conditions));
        in_stream(state, &context, &stream, kind, work)
    }

    fn cuGraphUpload(exec: CUgraphExec, stream: CUstream) {
        let state = state()?;
        state.exec(from_pointer(exec))?;
        state.stream(from_pointer(stream)).map(|_| ())
    }

    fn cuGraphExecKernelNodeSetParams_v2(
        exec: CUgraphExec,
        node: CUgraphNode,
        parameters: *const CUDA_KERNEL_NODE_PARAMS,
    ) {
        // SAFETY: as above.
        set_exec(exec, node, |state, context| unsafe {
            kernel_work(state, context, parameters).map(ExecAction::Kernel)
        })
    }

    fn cuGraphExecMemcpyNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        copy: *const CUDA_MEMCPY3D,
        _context: CUcontext,
    ) {
        if copy.is_null() {
            return Err(INVALID);
        }
        // SAFETY: as above.
        set_exec(exec, node, |state, context| unsafe {
            copy_node(state, context, &*copy).map(ExecAction::Work)
        })
    }

    fn cuGraphExecMemsetNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        set: *const CUDA_MEMSET_NODE_PARAMS,
        _context: CUcontext,
    ) {
        if set.is_null() {
            return Err(INVALID);
        }
        // SAFETY: as above.
        set_exec(exec, node, |_, context| {
            set_node(context, unsafe { &*set }).map(ExecAction::Work)
        })
    }

    fn cuGraphExecHostNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        host: *const CUDA_HOST_NODE_PARAMS,
    ) {
        if host.is_null() {
            return Err(INVALID);
        }
        // SAFETY: as above.
        let (function, data) = unsafe { ((*host).fn_.ok_or(INVALID)?, (*host).userData) };
        set_exec(exec, node, |_, _| Ok(ExecAction::Work(host_work(function, data))))
    }

    fn cuGraphExecUpdate_v2(
        exec: CUgraphExec,
        graph: CUgraph,
        info: *mut CUgraphExecUpdateResultInfo,
    ) {
        let state = state()?;
        let exec = state.exec(from_pointer(exec))?;
        let graph = state.graph(from_pointer(graph))?;
        let new = graph.ordered().ok_or(INVALID)?;
        let mut nodes = lock(&exec.nodes);
        let same = new.len() == nodes.len()
            && new.iter().zip(nodes.iter()).all(|(a, b)| a.kind == b.kind);
        let result = if same {
            CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS
        } else {
            CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
        };
        if !info.is_null() {
            // SAFETY: as above.
            unsafe { (*info).result = result };
        }
        if !same {
            return Err(CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
        }
        *nodes = new;
        *lock(&exec.conditions) = lock(&graph.conditions).clone();
        Ok(())
    }

    fn cuGraphNodeSetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: c_uint) {
        let state = state()?;
        let exec = state.exec(from_pointer(exec))?;
        let (_, number) = state.node(from_pointer(node))?;
        let mut nodes = lock(&exec.nodes);
        let found = nodes.iter_mut().find(|node| node.number == number);
        found.ok_or(INVALID)?.enabled = enabled != 0;
        Ok(())
    }

    fn cuGraphNodeGetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: *mut c_uint) {
        let state = state()?;
        let exec = state.exec(from_pointer(exec))?;
        let (_, number) = state.node(from_pointer(node))?;
        let nodes = lock(&exec.nodes);
        let found = nodes.iter().find(|node| node.number == number);
        // SAFETY: as above.
        unsafe { put(enabled, found.ok_or(INVALID)?.enabled.into()) }
    }

    fn cuGraphDebugDotPrint(graph: CUgraph, path: *const c_char, _flags: c_uint) {
        let graph = state()?.graph(from_pointer(graph))?;
        if path.is_null() {
            return Err(INVALID);
        }
        // SAFETY: a C string, as `cuda.h` requires.
        let path = unsafe { std::ffi::CStr::from_ptr(path) }.to_string_lossy().into_owned();
        let mut text = "digraph dot {\n".to_owned();
        for (number, node) in lock(&graph.nodes).iter().enumerate() {
            text += &format!("n{number} [label=\"{}\"];\n", node.kind.0);
            for before in &node.after {
                text += &format!("n{before} -> n{number};\n");
            }
        }
        text += "}\n";
        std::fs::write(path, text).map_err(|_| CUresult::CUDA_ERROR_OPERATING_SYSTEM)
    }

    fn cuStreamBeginCapture_v2(stream: CUstream, _mode: CUstreamCaptureMode) {
        let state = state()?;
        let (context, stream) = state.stream(from_pointer(stream))?;
        context.check()?;
        if Arc::ptr_eq(&stream, &context.null_stream) {
            return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        let mut capture = lock(&stream.capture);
        if capture.is_some() {
            return Err(CUresult::CUDA_ERROR_ILLEGAL_STATE);
        }
        *capture = Some(Arc::new(Capture {
            graph: Arc::new(Graph::new(context.handle)),
            origin: stream.id,
            last: Mutex::default(),
        }));
        Ok(())
    }

    fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph) {
        let state = state()?;
        let (context, stream) = state.stream(from_pointer(stream))?;
        let capture = stream.capture().ok_or(CUresult::CUDA_ERROR_ILLEGAL_STATE)?;
        if capture.origin != stream.id {
            return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
        }
        let joined = capture.last_of(&stream);
        let mut unjoined = false;
        for other in state.streams(&context) {
            let mut current = lock(&other.capture);
            if !current.as_ref().is_some_and(|c| Arc::ptr_eq(c, &capture)) {
                continue;
            }
            *current = None;
            let after = capture.last_of(&other);
            unjoined |= other.id != stream.id
                && after.iter().any(|node| !comes_before(&capture.graph, *node, &joined));
        }
        if unjoined {
            return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        }
        let handle = state.add(Object::Graph(Arc::clone(&capture.graph)));
        // SAFETY: as above.
        unsafe { put(graph, to_pointer(handle)) }
    }

    fn cuStreamIsCapturing(stream: CUstream, status: *mut CUstreamCaptureStatus) {
        let (_, stream) = state()?.stream(from_pointer(stream))?;
        let found = match stream.capture() {
            Some(_) => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE,
            None => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE,
        };
        // SAFETY: as above.
        unsafe { put(status, found) }
    }

    fn cuThreadExchangeStreamCaptureMode(mode: *mut CUstreamCaptureMode) {
        let global = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        // SAFETY: as above.
        unsafe {
            put_optional(mode, global);
        }
        Ok(())
    }
}

/// Returns whether a node is one of `last` or precedes one of them.
fn comes_before(graph: &Graph, node: usize, last: &[usize]) -> bool {
    let nodes = lock(&graph.nodes);
    let mut open = last.to_vec();
    let mut seen = vec![false; nodes.len()];
    while let Some(next) = open.pop() {
        if next == node {
            return true;
        }
        if !std::mem::replace(&mut seen[next], true) {
            open.extend(&nodes[next].after);
        }
    }
    false
}
