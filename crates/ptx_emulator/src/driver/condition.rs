//! Conditional nodes of graphs, memory nodes, and nodes that write values and wait for them.
//!
//! A condition is a word of device memory, and its handle is the word's address: kernels set it
//! with `cudaGraphSetConditional`.

use std::ffi::c_uint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use cust_raw::{
    CU_GRAPH_COND_ASSIGN_DEFAULT, CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS,
    CUcontext, CUdeviceptr, CUevent, CUgraph, CUgraphConditionalHandle, CUgraphConditionalNodeType,
    CUgraphEdgeData, CUgraphNode, CUgraphNodeParams, CUgraphNodeType, CUresult,
    CUstreamBatchMemOpType,
};

use super::graph::{Action, Graph, add_node};
use super::queue::Work;
use super::state::{Context, Object, from_pointer, lock, state};
use super::stream::word_at;
use super::{api, put};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The maximum number of bodies of a switch. Each is a graph, so 2³² of them would exhaust the
/// host's memory.
const MAX_CASES: c_uint = 1 << 16;

/// Memory that is freed with the last graph that uses it.
struct Place {
    context: Arc<Context>,
    address: u64,
}

impl Place {
    fn new(context: &Arc<Context>, size: usize) -> Result<Place, CUresult> {
        let address = context.memory.alloc(size, 256);
        Ok(Place {
            context: Arc::clone(context),
            address: address.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.context.memory.free(self.address);
    }
}

/// The condition of a conditional node.
pub(super) struct Condition {
    place: Place,
    default: Option<u32>,
    /// Whether a conditional node uses the condition.
    used: AtomicBool,
}

impl Condition {
    fn word(&self) -> &AtomicU32 {
        let word: *const AtomicU32 = std::ptr::with_exposed_provenance(self.place.address as usize);
        // SAFETY: this condition owns the memory; all bit patterns are valid.
        unsafe { &*word }
    }

    pub(super) fn handle(&self) -> u64 {
        self.place.address
    }

    pub(super) fn value(&self) -> u32 {
        self.word().load(Ordering::Relaxed)
    }

    /// Sets the default value, at the start of a launch.
    pub(super) fn reset(&self) {
        if let Some(default) = self.default {
            self.word().store(default, Ordering::Relaxed);
        }
    }
}

/// How a condition selects a body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    If,
    While,
    Switch,
}

impl Choice {
    /// Returns the index of the body that a value selects, if it exists.
    pub(super) fn body(self, value: u32) -> Option<usize> {
        match self {
            Choice::If => Some(usize::from(value == 0)),
            Choice::While => (value != 0).then_some(0),
            Choice::Switch => Some(value as usize),
        }
    }
}

api! {
    fn cuGraphConditionalHandleCreate(
        handle: *mut CUgraphConditionalHandle,
        graph: CUgraph,
        _context: CUcontext,
        default: c_uint,
        flags: c_uint,
    ) {
        let state = state()?;
        let graph = state.graph(from_pointer(graph))?;
        let context = state.context(graph.context);
        let context = context.ok_or(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
        let condition = Condition {
            place: Place::new(&context, size_of::<u32>())?,
            default: (flags & CU_GRAPH_COND_ASSIGN_DEFAULT != 0).then_some(default),
            used: AtomicBool::new(false),
        };
        condition.word().store(0, Ordering::Relaxed);
        let address = condition.place.address;
        lock(&graph.conditions).push(Arc::new(condition));
        // SAFETY: the caller's pointer, as `cuda.h` requires.
        unsafe { put(handle, address) }
    }

    fn cuGraphAddNode_v2(
        node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        _edges: *const CUgraphEdgeData,
        count: usize,
        parameters: *mut CUgraphNodeParams,
    ) {
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
        // SAFETY: as above; the type determines the active field of the union.
        unsafe {
            if parameters.is_null() || (*parameters).type_ != kind {
                // The other kinds have their own functions.
                return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
            }
            let parameters = &mut (*parameters).__bindgen_anon_1.conditional;
            let owner = state()?.graph(from_pointer(graph))?;
            add_node(node, graph, dependencies, count, kind, |state, _| {
                use CUgraphConditionalNodeType as Type;
                let condition = owner.condition(parameters.handle).ok_or(INVALID)?;
                let (choice, most) = match parameters.type_ {
                    Type::CU_GRAPH_COND_TYPE_IF => (Choice::If, 2),
                    Type::CU_GRAPH_COND_TYPE_WHILE => (Choice::While, 1),
                    Type::CU_GRAPH_COND_TYPE_SWITCH => (Choice::Switch, c_uint::MAX),
                    _ => return Err(INVALID),
                };
                if parameters.size == 0 || parameters.size > most {
                    return Err(INVALID);
                }
                if parameters.size > MAX_CASES {
                    return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
                }
                // A condition can have only one node.
                if condition.used.swap(true, Ordering::Relaxed) {
                    return Err(INVALID);
                }
                let bodies: Vec<Arc<Graph>> = (0..parameters.size)
                    .map(|_| Arc::new(Graph::body_of(&owner)))
                    .collect();
                let handle = |body| state.add(Object::Graph(Arc::clone(body))) as usize;
                let mut handles: Box<[usize]> = bodies.iter().map(handle).collect();
                // The caller may read the list while the node exists.
                parameters.phGraph_out = handles.as_mut_ptr().cast::<CUgraph>();
                lock(&owner.lists).push(handles);
                Ok(Action::Conditional(condition, choice, bodies))
            })
        }
    }

    fn cuGraphAddMemAllocNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        count: usize,
        parameters: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
    ) {
        if parameters.is_null() {
            return Err(INVALID);
        }
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC;
        // SAFETY: as above.
        unsafe {
            add_node(node, graph, dependencies, count, kind, |_, context| {
                let size = (*parameters).bytesize;
                if size == 0 {
                    return Err(INVALID);
                }
                let place = Place::new(context, size)?;
                (*parameters).dptr = place.address;
                // The memory exists as long as the node.
                Ok(Action::Work(Arc::new(move || {
                    let _ = &place;
                    Ok(())
                })))
            })
        }
    }

    fn cuGraphAddMemFreeNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        count: usize,
        address: CUdeviceptr,
    ) {
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_FREE;
        // SAFETY: as above.
        unsafe {
            add_node(node, graph, dependencies, count, kind, |_, context| {
                context.memory.range_of(address).ok_or(INVALID)?;
                Ok(Action::Nothing)
            })
        }
    }

    fn cuGraphAddEventWaitNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        count: usize,
        event: CUevent,
    ) {
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_WAIT_EVENT;
        // SAFETY: as above.
        unsafe {
            add_node(node, graph, dependencies, count, kind, |state, context| {
                let event = state.event(from_pointer(event))?;
                let context = Arc::clone(context);
                Ok(Action::Work(Arc::new(move || {
                    event.is_over(|stream, number| {
                        stream.run_up_to(&context, number);
                        true
                    });
                    Ok(())
                })))
            })
        }
    }

    fn cuGraphAddBatchMemOpNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        count: usize,
        parameters: *const CUDA_BATCH_MEM_OP_NODE_PARAMS,
    ) {
        if parameters.is_null() {
            return Err(INVALID);
        }
        let kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
        // SAFETY: as above.
        unsafe {
            add_node(node, graph, dependencies, count, kind, |_, context| {
                let parameters = &*parameters;
                let mut all: Vec<Work> = Vec::new();
                for i in 0..parameters.count as usize {
                    let operation = &*parameters.paramArray.add(i);
                    use CUstreamBatchMemOpType as Type;
                    let write = &operation.writeValue;
                    match operation.operation {
                        Type::CU_STREAM_MEM_OP_WRITE_VALUE_32 => {
                            let word = word_at::<AtomicU32>(context, write.address)?;
                            let value = write.__bindgen_anon_1.value;
                            all.push(Arc::new(move || {
                                (*word.get()).store(value, Ordering::SeqCst);
                                Ok(())
                            }));
                        }
                        Type::CU_STREAM_MEM_OP_WRITE_VALUE_64 => {
                            let word = word_at::<AtomicU64>(context, write.address)?;
                            let value = write.__bindgen_anon_1.value64;
                            all.push(Arc::new(move || {
                                (*word.get()).store(value, Ordering::SeqCst);
                                Ok(())
                            }));
                        }
                        // A launch runs all nodes of the graph in turn, so no other node could
                        // write the value.
                        _ => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
                    }
                }
                Ok(Action::Work(Arc::new(move || all.iter().try_for_each(|work| work()))))
            })
        }
    }
}
