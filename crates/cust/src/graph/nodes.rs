//! Further kinds of nodes: child graphs, memory allocations, events and value writes.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use cust_core::kernel::Access;
use cust_raw::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS, CUmemAllocationType,
    CUmemLocationType, CUstreamBatchMemOpParams,
};

use super::{AnyBuffer, GraphBuffer, GraphBuilder, GraphMemory, Kept, Node, Scope};
use crate::backend::c_name;
use crate::error::{CudaResult, Error};
use crate::event::Event;
use crate::kernel::InGraph;
use crate::memory::{DeviceCopy, Zeroable, check_alignment};
use crate::stream::StreamValue;

/// Memory that a graph allocates and frees during each launch: see [`GraphBuilder::scratch`]. It
/// does not exist between launches.
#[derive(Debug)]
pub struct Scratch<T>(PhantomData<fn() -> T>);

impl<T: DeviceCopy + 'static> GraphMemory for Scratch<T> {
    type Element = T;
}

impl<'m> GraphBuilder<'m> {
    /// Adds a child graph as a single node, after the nodes `after`.
    ///
    /// The child's buffers become buffers of this graph, and their handles stay valid. Handles of
    /// the child's nodes become invalid.
    ///
    /// # Examples
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
    /// outer.copy(buffer, result)?; // depends on the child, which writes `buffer`
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
    /// Returns [`Error::WrongContext`] for a graph of another context, and the driver's error, for
    /// example for a child that allocates memory or has conditions.
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
        // The child's nodes stay in the list to keep their resources alive. They are in scopes of
        // their own, so no new node depends on them.
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

    /// Adds an allocation of `len` zeroed elements, which the graph frees after the last use.
    /// Graphs that do not run concurrently can share the physical memory.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] for a size of zero bytes, [`Error::Alignment`] for types
    /// that cannot be allocated, and the driver's error, for example in the body of a conditional
    /// node or for a device that does not support memory pools.
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
        // SAFETY: all-zero bytes are valid for these integers and pointers.
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
            host: None,
            buffer: PhantomData,
        };
        self.set_zero(buffer)?;
        Ok(buffer)
    }

    /// Adds the frees of memory that the graph allocates, after its last use.
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

    /// Adds a node that records an event, after the nodes `after`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`] if the event belongs to another context.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let event = Arc::new(Event::new(EventFlags::DEFAULT)?);
    /// let mut graph = GraphBuilder::new()?;
    /// let buffer = graph.buffer(DeviceBuffer::<u32>::zeroed(3)?);
    /// let cleared = graph.set_zero(buffer)?;
    /// graph.record_event(&event, &[cleared])?;
    /// graph.instantiate()?.launch(&stream)?;
    /// event.synchronize()?; // `buffer` is cleared
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn record_event(&mut self, event: &Arc<Event>, after: &[Node]) -> CudaResult<Node> {
        let doing = || "adding an event record to a graph".to_owned();
        self.context.require_same(event.context(), doing)?;
        let after = self.numbers(after, doing)?;
        let raw = event.as_raw();
        let node = self.add_after(Vec::new(), after, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call; the graph keeps the event alive.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddEventRecordNode(node, graph, list, count, raw)
            }
        })?;
        self.events.push(Arc::clone(event));
        Ok(node)
    }

    /// Adds a node that waits for an event, after the nodes `after`.
    ///
    /// A launch waits for the most recent record of the event. Use [`GraphBuilder::order`] to make
    /// other nodes depend on the wait.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`] if the event belongs to another context.
    pub fn wait_event(&mut self, event: &Arc<Event>, after: &[Node]) -> CudaResult<Node> {
        let doing = || "adding a wait for an event to a graph".to_owned();
        self.context.require_same(event.context(), doing)?;
        let after = self.numbers(after, doing)?;
        let raw = event.as_raw();
        let node = self.add_after(Vec::new(), after, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call; the node keeps the event alive.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddEventWaitNode(node, graph, list, count, raw)
            }
        })?;
        self.nodes[node.number].kept = Kept::Other(Box::new(Arc::clone(event)));
        Ok(node)
    }

    /// Adds a write of one element of a buffer, like [`Stream::write_value`].
    ///
    /// The buffer must be in host memory, or in device memory that does not belong to a memory
    /// pool.
    ///
    /// [`Stream::write_value`]: crate::stream::Stream::write_value
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfBounds`] if `index` is out of bounds, [`Error::BufferOfGraph`] if the
    /// buffer belongs to another graph, and the driver's error for pool memory.
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
        let doing = || "adding a write of a value to a graph".to_owned();
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

    /// Writes a description of the graph in Graphviz DOT format to a file.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the file cannot be written.
    pub fn write_dot(&self, path: impl AsRef<Path>) -> CudaResult<()> {
        let path = path.as_ref().display().to_string();
        let name = c_name(&path)?;
        let api = self.context.bind()?;
        // SAFETY: the graph is alive, and the name lives through the call.
        let result = unsafe { api.driver.cuGraphDebugDotPrint(self.raw, name.as_ptr(), 0) };
        api.check(result, || format!("writing a graph to `{path}`"))
    }
}
