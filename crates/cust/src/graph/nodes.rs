//! The rarer kinds of nodes: graphs inside of graphs, memory that a graph allocates itself, events,
//! values that other devices wait for, and semaphores of other interfaces.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use cust_core::kernel::Access;
use cust_raw::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, CUDA_EXT_SEM_WAIT_NODE_PARAMS,
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
    CUDA_MEM_ALLOC_NODE_PARAMS, CUgraph, CUgraphNode, CUmemAllocationType, CUmemLocationType,
    CUresult, CUstreamBatchMemOpParams,
};

use super::{AnyBuffer, GraphBuffer, GraphBuilder, GraphMemory, Kept, Node, Scope};
use crate::backend::Api;
use crate::error::{CudaResult, Error};
use crate::event::Event;
use crate::external::ExternalSemaphore;
use crate::kernel::InGraph;
use crate::memory::{DeviceCopy, Zeroable, check_alignment};
use crate::module::c_name;
use crate::stream::StreamValue;

/// Memory that a graph allocates when it is launched, and frees at the end of the launch: see
/// [`GraphBuilder::scratch`]. There is nothing of it between launches.
#[derive(Debug)]
pub struct Scratch<T>(PhantomData<fn() -> T>);

impl<T: DeviceCopy + 'static> GraphMemory for Scratch<T> {
    type Element = T;
}

impl<'m> GraphBuilder<'m> {
    /// Adds a whole graph as one node, which comes after the nodes given. Its buffers become this
    /// graph's, under the same names; its own nodes cannot be named any more.
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let mut inner = GraphBuilder::new()?;
    /// let buffer = inner.buffer(DeviceBuffer::from_slice(&[1u32, 2])?);
    /// inner.set_zero(buffer)?;
    /// let mut outer = GraphBuilder::new()?;
    /// let from = outer.buffer(DeviceBuffer::from_slice(&[3u32, 4])?);
    /// outer.child(inner, &[])?;
    /// let result = outer.buffer(LockedBuffer::<u32>::zeroed(2)?);
    /// outer.copy(buffer, result)?; // comes after the child, which writes it
    /// outer.copy(from, buffer)?;
    /// let mut graph = outer.instantiate()?;
    /// graph.launch(&stream)?;
    /// assert_eq!(graph.get(result)[..], [0, 0]);
    /// assert_eq!(graph.get(buffer).as_host_vec()?, [3, 4]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The driver's, for instance for a child that allocates memory or has conditions.
    pub fn child(&mut self, mut child: GraphBuilder<'m>, after: &[Node]) -> CudaResult<Node> {
        let doing = || format!("adding a graph of {} nodes to a graph", child.nodes.len());
        self.context.require_same(&child.context, doing)?;
        child.require_complete()?;
        let after = self.numbers(after, doing)?;
        child.free_scratch()?;
        let first = self.buffers.len();
        let mut uses: Vec<(usize, Access)> = Vec::new();
        for node in &child.nodes {
            for &(buffer, access) in &node.uses {
                uses.push((first + buffer, access));
            }
        }
        uses.dedup();
        self.buffers.append(&mut child.buffers);
        let doing = || "adding a graph to a graph".to_owned();
        let raw = child.raw;
        let node = self.add_after(uses, after, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call; the driver makes a copy of the graph.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddChildGraphNode(node, graph, list, count, raw)
            }
        })?;
        self.events.append(&mut child.events);
        self.children.push((child.id, first));
        let inside = child.children.drain(..);
        self.children
            .extend(inside.map(|(id, offset)| (id, first + offset)));
        // The nodes are kept for what they keep; no new node is ordered with them.
        for mut inside in child.nodes.drain(..) {
            for (buffer, _) in &mut inside.uses {
                *buffer += first;
            }
            inside.after.clear();
            inside.scope = Scope {
                number: self.scopes + inside.scope.number,
                raw: inside.scope.raw,
            };
            self.nodes.push(inside);
        }
        self.scopes += child.scopes;
        self.child_graphs.append(&mut child.child_graphs);
        self.child_graphs
            .push(std::mem::replace(&mut child.raw, std::ptr::null_mut()));
        Ok(node)
    }

    /// Memory of `len` elements that the graph allocates itself and frees after its last use, so
    /// that graphs which do not run at the same time can share it. It is zero at first.
    ///
    /// # Errors
    ///
    /// The driver's, for instance in the body of a conditional node, or for a device without pools.
    pub fn scratch<T>(&mut self, len: usize) -> CudaResult<GraphBuffer<Scratch<T>>>
    where
        T: DeviceCopy + Zeroable + 'static,
    {
        let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| bytes > 0);
        let Some(bytes) = bytes else {
            return Err(Error::SizeMismatch {
                doing: "allocating memory in a graph",
                source_len: len,
                destination_len: 0,
            });
        };
        check_alignment::<T>()?;
        let doing = || format!("adding an allocation of {bytes} bytes to a graph");
        // SAFETY: zeros are valid for these plain numbers and pointers.
        let mut raw: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
        raw.poolProps.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        raw.poolProps.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        raw.poolProps.location.id = self.context.device().as_raw();
        raw.bytesize = bytes;
        let number = self.buffers.len();
        let uses = vec![(number, Access::Write)];
        self.add(uses, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddMemAllocNode(node, graph, list, count, &mut raw)
            }
        })?;
        self.buffers.push(AnyBuffer {
            value: Box::new(()),
            tracker: None,
            address: raw.dptr,
            bytes,
        });
        self.scratch.push((number, raw.dptr));
        let buffer = GraphBuffer {
            id: InGraph {
                graph: self.id,
                buffer: number,
            },
            address: raw.dptr,
            len,
            host: false,
            buffer: PhantomData,
        };
        self.set_zero(buffer)?;
        Ok(buffer)
    }

    /// Frees what the graph allocates, after its last use.
    pub(super) fn free_scratch(&mut self) -> CudaResult<()> {
        while let Some((number, address)) = self.scratch.pop() {
            let doing = || "adding a free to a graph".to_owned();
            let uses = vec![(number, Access::Write)];
            self.add(uses, doing, |api, node, graph, after| {
                // SAFETY: the lists live through the call; the graph allocates the memory.
                unsafe {
                    let (list, count) = (after.as_ptr(), after.len());
                    api.driver
                        .cuGraphAddMemFreeNode(node, graph, list, count, address)
                }
            })?;
        }
        Ok(())
    }

    /// Adds recording an event, after the nodes given.
    ///
    /// # Errors
    ///
    /// [`Error::WrongContext`], and the driver's.
    pub fn record_event(&mut self, event: &Arc<Event>, after: &[Node]) -> CudaResult<Node> {
        let doing = || "adding recording of an event to a graph".to_owned();
        self.context.require_same(event.context(), doing)?;
        let after = self.numbers(after, doing)?;
        let raw = event.as_raw();
        let node = self.add_after(Vec::new(), after, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call; the graph keeps the event.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddEventRecordNode(node, graph, list, count, raw)
            }
        })?;
        self.events.push(Arc::clone(event));
        Ok(node)
    }

    /// Adds a wait for an event, after the nodes given: for what was recorded last when the graph
    /// is launched. [`GraphBuilder::order`] says what comes after it.
    ///
    /// # Errors
    ///
    /// [`Error::WrongContext`], and the driver's.
    pub fn wait_event(&mut self, event: &Arc<Event>, after: &[Node]) -> CudaResult<Node> {
        let doing = || "adding a wait for an event to a graph".to_owned();
        self.context.require_same(event.context(), doing)?;
        let after = self.numbers(after, doing)?;
        let raw = event.as_raw();
        let node = self.add_after(Vec::new(), after, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call; the node keeps the event.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddEventWaitNode(node, graph, list, count, raw)
            }
        })?;
        self.nodes[node.number].kept = Kept::Other(Box::new(Arc::clone(event)));
        Ok(node)
    }

    /// Adds writing one element of a buffer, as [`Stream::write_value`] does: memory of the host's
    /// does, and of the device's what is not of a pool.
    ///
    /// [`Stream::write_value`]: crate::stream::Stream::write_value
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] for an index beyond the buffer, and the driver's.
    pub fn write_value<B>(
        &mut self,
        to: GraphBuffer<B>,
        index: usize,
        value: B::Element,
    ) -> CudaResult<Node>
    where
        B: GraphMemory,
        B::Element: StreamValue,
    {
        let doing = || "adding writing of a value to a graph".to_owned();
        let uses = vec![(self.own(to.id, doing)?, Access::Write)];
        if index >= to.len {
            return Err(Error::OutOfBounds {
                start: index,
                end: index.saturating_add(1),
                len: to.len,
            });
        }
        let address = to.address + (index * size_of::<B::Element>()) as u64;
        let mut operation: CUstreamBatchMemOpParams = value.write_operation(address);
        let raw = CUDA_BATCH_MEM_OP_NODE_PARAMS {
            ctx: self.context.as_raw(),
            count: 1,
            paramArray: &mut operation,
            flags: 0,
        };
        self.add(uses, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddBatchMemOpNode(node, graph, list, count, &raw)
            }
        })
    }

    /// Adds signalling a semaphore of another interface, with a value if it counts, after the
    /// nodes given.
    ///
    /// # Errors
    ///
    /// [`Error::WrongContext`], and the driver's.
    pub fn signal_semaphore(
        &mut self,
        semaphore: &Arc<ExternalSemaphore>,
        value: u64,
        after: &[Node],
    ) -> CudaResult<Node> {
        let doing = || "adding signalling of an external semaphore to a graph".to_owned();
        // SAFETY: zeros are valid for these plain numbers and pointers.
        let mut signal: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS = unsafe { std::mem::zeroed() };
        signal.params.fence.value = value;
        let mut handle = semaphore.as_raw();
        let raw = CUDA_EXT_SEM_SIGNAL_NODE_PARAMS {
            extSemArray: &mut handle,
            paramsArray: &signal,
            numExtSems: 1,
        };
        self.add_semaphore(semaphore, after, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call; the node keeps the semaphore.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddExternalSemaphoresSignalNode(node, graph, list, count, &raw)
            }
        })
    }

    /// Adds a wait for a semaphore of another interface, until it has the value if it counts, after
    /// the nodes given. [`GraphBuilder::order`] says what comes after it.
    ///
    /// # Errors
    ///
    /// [`Error::WrongContext`], and the driver's.
    pub fn wait_semaphore(
        &mut self,
        semaphore: &Arc<ExternalSemaphore>,
        value: u64,
        after: &[Node],
    ) -> CudaResult<Node> {
        let doing = || "adding a wait for an external semaphore to a graph".to_owned();
        // SAFETY: zeros are valid for these plain numbers and pointers.
        let mut wait: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS = unsafe { std::mem::zeroed() };
        wait.params.fence.value = value;
        let mut handle = semaphore.as_raw();
        let raw = CUDA_EXT_SEM_WAIT_NODE_PARAMS {
            extSemArray: &mut handle,
            paramsArray: &wait,
            numExtSems: 1,
        };
        self.add_semaphore(semaphore, after, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call; the node keeps the semaphore.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddExternalSemaphoresWaitNode(node, graph, list, count, &raw)
            }
        })
    }

    /// Adds a node of a semaphore, which the node keeps.
    fn add_semaphore(
        &mut self,
        semaphore: &Arc<ExternalSemaphore>,
        after: &[Node],
        doing: impl Fn() -> String + Copy,
        add: impl FnOnce(&Api, &mut CUgraphNode, CUgraph, &[CUgraphNode]) -> CUresult,
    ) -> CudaResult<Node> {
        self.context.require_same(semaphore.context(), doing)?;
        let after = self.numbers(after, doing)?;
        let node = self.add_after(Vec::new(), after, doing, add)?;
        self.nodes[node.number].kept = Kept::Other(Box::new(Arc::clone(semaphore)));
        Ok(node)
    }

    /// Writes a picture of the graph to a file, in the language of Graphviz.
    ///
    /// # Errors
    ///
    /// The driver's, if the file cannot be written.
    pub fn write_dot(&self, path: impl AsRef<Path>) -> CudaResult<()> {
        let path = path.as_ref().display().to_string();
        let name = c_name(&path)?;
        let api = self.context.bind()?;
        // SAFETY: the graph is alive, and the name lives through the call.
        let result = unsafe { api.driver.cuGraphDebugDotPrint(self.raw, name.as_ptr(), 0) };
        api.check(result, || format!("writing a graph to `{path}`"))
    }
}
