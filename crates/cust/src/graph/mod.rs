//! CUDA graphs: work that is defined once and launched many times, with a single call.
//!
//! A [`GraphBuilder`] takes ownership of the buffers that the graph uses. Nodes are then added in
//! program order; their dependencies follow from the buffers that they read and write, and
//! independent nodes may run concurrently. [`GraphBuilder::instantiate`] creates a [`GraphExec`],
//! which is launched into streams, and which gives access to the buffers between launches.
//!
//! # Examples
//!
//! ```
//! use cust::prelude::*;
//!
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//!
//! let mut graph = GraphBuilder::new()?;
//! let input = graph.buffer(LockedBuffer::from_slice(&[1u32, 2, 3])?);
//! let device = graph.buffer(DeviceBuffer::<u32>::zeroed(3)?);
//! let output = graph.buffer(LockedBuffer::<u32>::zeroed(3)?);
//! graph.copy(input, device)?;
//! // … kernels: graph.launch(&kernel, (1, 32), name::args(device.write()))?;
//! graph.copy(device, output)?;
//!
//! let mut graph = graph.instantiate()?;
//! for round in 0..3 {
//!     graph.get_mut(input)[0] = round;
//!     graph.launch(&stream)?;
//!     assert_eq!(graph.get(output)[..], [round, 2, 3]); // waits for the launch
//! }
//! # Ok::<(), cust::error::Error>(())
//! ```
//!
//! # Stream capture
//!
//! [`Stream::capture`](crate::stream::Stream::capture) creates a graph by recording the work that
//! is enqueued into a stream. It does not track the memory that the work uses, so it is unsafe.

// This file contains the builder with kernel, copy, fill and host nodes; `nodes.rs` the other kinds
// of nodes; `conditional.rs` conditional nodes; `exec.rs` executable graphs; and `capture.rs`
// stream capture.

mod capture;
mod conditional;
mod exec;
mod nodes;
#[cfg(unix)]
mod semaphores;

use std::any::Any;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cust_core::kernel::{Access, Argument, Launch, Output, Pass, Reference, bytes_of};
use cust_raw::{
    CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS,
    CUgraph, CUgraphNode, CUmemorytype,
};

use crate::backend::Api;
use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::event::Event;
use crate::function::Function;
use crate::host_call;
use crate::kernel::{
    Collector, InGraph, Kernel, KernelType, LaunchConfig, attributes, check_block_size, check_size,
    doing,
};
use crate::memory::{
    DeviceBuffer, DeviceCopy, DeviceSliceMut, LockedBuffer, UnifiedBuffer, Zeroable, empty_address,
};
use crate::tracker::Tracker;
use cust_core::kernel::Args;

pub use crate::error::GraphUpdateFailure;
pub use capture::{CaptureMode, CapturedExec, CapturedGraph};
pub use conditional::GraphCondition;
pub use exec::GraphExec;
pub use nodes::Scratch;

/// Memory that nodes of a graph can use.
pub trait GraphMemory: Any {
    /// The type of the elements.
    type Element: DeviceCopy;
}

/// Memory that a graph can own, and gives access to between launches.
///
/// # Safety
///
/// `place` must return the location of the elements, which must not change while the value lives,
/// even if the value is moved.
pub unsafe trait Owned: GraphMemory + Send {
    /// A mutable borrow of the elements that does not allow replacing the buffer.
    type Mut<'a>
    where
        Self: 'a;
    /// Borrows the elements mutably.
    fn elements_mut(&mut self) -> Self::Mut<'_>;
    /// Returns the device's address, the number of elements, and the host's address of host memory.
    fn place(&self) -> (u64, usize, Option<u64>);
    #[doc(hidden)]
    fn tracker(&self) -> &dyn Any;
}

macro_rules! owned {
    ($($ty:ident $mut:ty, $host:expr;)*) => {
        $(
            impl<T: DeviceCopy + Send + 'static> GraphMemory for $ty<T> {
                type Element = T;
            }

            // SAFETY: the memory does not move until the buffer is dropped.
            unsafe impl<T: DeviceCopy + Send + 'static> Owned for $ty<T> {
                type Mut<'m> = $mut;

                fn elements_mut(&mut self) -> Self::Mut<'_> {
                    self.as_mut_slice()
                }

                fn place(&self) -> (u64, usize, Option<u64>) {
                    let (range, host): (_, fn(&Self) -> Option<u64>) = (self.range(), $host);
                    (range.address, range.len, host(self))
                }

                fn tracker(&self) -> &dyn Any {
                    self.range().tracker
                }
            }
        )*
    };
}
owned! {
    DeviceBuffer DeviceSliceMut<'m, T>, |_| None;
    UnifiedBuffer &'m mut [T], |_| None;
    LockedBuffer &'m mut [T], |buffer| Some(buffer.as_pointer().expose_provenance() as u64);
}

/// A handle of a buffer that a graph owns. It can be copied, and is valid only for that graph.
pub struct GraphBuffer<B> {
    id: InGraph,
    address: u64,
    len: usize,
    /// The host's address of host memory.
    host: Option<u64>,
    buffer: PhantomData<fn() -> B>,
}

impl<B> Clone for GraphBuffer<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for GraphBuffer<B> {}

impl<B> std::fmt::Debug for GraphBuffer<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "buffer {} of a graph, of {} elements",
            self.id.buffer, self.len
        )
    }
}

impl<B: GraphMemory> GraphBuffer<B> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns an argument for a kernel parameter of type `&[T]`.
    pub fn read(self) -> Reading<B> {
        Reading(self)
    }

    /// Returns an argument for a kernel parameter of an output type, such as `PerThread<T>`.
    pub fn write(self) -> Writing<B> {
        Writing(self)
    }

    fn bytes(&self) -> usize {
        self.len * size_of::<B::Element>()
    }
}

/// A buffer of a graph that a kernel reads.
#[derive(Clone, Copy)]
pub struct Reading<B>(GraphBuffer<B>);

/// A buffer of a graph that a kernel writes.
#[derive(Clone, Copy)]
pub struct Writing<B>(GraphBuffer<B>);

/// A buffer of a graph, as passed to a kernel.
pub struct PassedInGraph {
    id: InGraph,
    words: [u64; 2],
    bytes: usize,
    wide: bool,
    access: Access,
}

// SAFETY: address and length are the buffer's, and only nodes of the owning graph can use it.
unsafe impl Pass for PassedInGraph {
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        let name = || "a buffer of a graph";
        if self.wide {
            launch.parameter(bytes_of(&self.words[0]), name);
            launch.parameter(bytes_of(&self.words[1]), name);
        } else {
            launch.parameter(bytes_of(&self.words), name);
        }
        launch.resource(&self.id, self.access, self.words[0], self.bytes);
    }
}

fn passed<B: GraphMemory>(buffer: GraphBuffer<B>, wide: bool, access: Access) -> PassedInGraph {
    let address = match buffer.address {
        0 => empty_address(align_of::<B::Element>()),
        address => address,
    };
    PassedInGraph {
        id: buffer.id,
        words: [address, buffer.len as u64],
        bytes: buffer.bytes(),
        wide,
        access,
    }
}

// SAFETY: the graph orders its nodes so that no other node writes the buffer concurrently.
#[diagnostic::do_not_recommend]
unsafe impl<B: GraphMemory<Element = T>, T: DeviceCopy> Argument<&[T]> for Reading<B> {
    type Passed = PassedInGraph;

    fn into_passed(self) -> PassedInGraph {
        passed(self.0, true, Access::Read)
    }
}

// SAFETY: as above.
#[diagnostic::do_not_recommend]
unsafe impl<B: GraphMemory<Element = T>, T: DeviceCopy> Argument<Reference<'_, [T]>>
    for Reading<B>
{
    type Passed = PassedInGraph;

    fn into_passed(self) -> PassedInGraph {
        passed(self.0, true, Access::Read)
    }
}

// SAFETY: the graph orders its nodes so that no other node uses the buffer concurrently.
#[diagnostic::do_not_recommend]
unsafe impl<B: GraphMemory, P: Output<Element = B::Element>> Argument<P> for Writing<B> {
    type Passed = PassedInGraph;

    fn into_passed(self) -> PassedInGraph {
        passed(self.0, P::WIDE, Access::Write)
    }
}

/// A handle of a node of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    graph: u64,
    number: usize,
}

/// A node, with the resources that it uses.
struct NodeData<'m> {
    raw: CUgraphNode,
    /// The driver's graph that the node is in: the whole graph, or a body of a conditional node.
    scope: Scope,
    /// The indices of the graph's buffers that the node uses.
    uses: Vec<(usize, Access)>,
    /// The indices of the nodes that the node depends on, as passed to the driver.
    after: Vec<usize>,
    /// The objects that the node keeps alive.
    kept: Kept<'m>,
}

/// A graph of the driver, within which nodes are ordered.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Scope {
    number: usize,
    raw: CUgraph,
}

enum Kept<'m> {
    Nothing,
    /// A kernel, and its arguments, which may refer to buffers with a `'static` lifetime.
    Kernel(Function<'m>, Box<dyn Pass + Send>),
    /// A host function, an event, or a semaphore.
    Other(#[expect(dead_code, reason = "kept for the driver")] Box<dyn Any + Send>),
}

/// A type-erased buffer; or another resource that orders the nodes that use it, without a tracker.
struct AnyBuffer {
    value: Box<dyn Any + Send>,
    tracker: Option<fn(&dyn Any) -> &Tracker>,
    address: u64,
    bytes: usize,
}

/// The value of an [`AnyBuffer`] that represents an array which kernels use through textures and
/// surfaces: the address of the array's tracker.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Image(usize);

/// Returns the tracker of a buffer of type `B`.
fn tracker_of<B: Owned>(value: &dyn Any) -> &Tracker {
    let buffer = value.downcast_ref::<B>().map(B::tracker);
    let tracker = buffer.and_then(|tracker| tracker.downcast_ref());
    tracker.expect("the value is of this type, which has a tracker")
}

/// Builds a graph. See the [module's documentation](self).
pub struct GraphBuilder<'m> {
    raw: CUgraph,
    context: Context,
    id: u64,
    buffers: Vec<AnyBuffer>,
    nodes: Vec<NodeData<'m>>,
    /// The driver's graph that nodes are currently added to.
    scope: Scope,
    /// The number of scopes created so far.
    scopes: usize,
    /// Child graphs: the ID of each, and the index of its first buffer in `buffers`.
    children: Vec<(u64, usize)>,
    /// The handles of child graphs, destroyed together with this graph.
    child_graphs: Vec<CUgraph>,
    /// Memory that the graph allocates itself: the index of the buffer, and the address to free.
    scratch: Vec<(usize, u64)>,
    /// The events that nodes record.
    events: Vec<Arc<Event>>,
    /// Conditions without a conditional node: their indices in `buffers`.
    unused_conditions: Vec<usize>,
}

// SAFETY: the driver's graphs and functions may be used from any thread, by one thread at a time.
unsafe impl Send for GraphBuilder<'_> {}

impl<'m> GraphBuilder<'m> {
    /// Creates an empty graph in the current context.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] without a context.
    pub fn new() -> CudaResult<GraphBuilder<'m>> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let context = Context::current("creating a graph")?;
        let api = context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { api.driver.cuGraphCreate(&mut raw, 0) };
        api.check(result, || "creating a graph".to_owned())?;
        Ok(GraphBuilder {
            raw,
            context,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            buffers: Vec::new(),
            nodes: Vec::new(),
            scope: Scope { number: 0, raw },
            scopes: 1,
            children: Vec::new(),
            child_graphs: Vec::new(),
            scratch: Vec::new(),
            events: Vec::new(),
            unused_conditions: Vec::new(),
        })
    }

    /// Takes ownership of a buffer: a [`DeviceBuffer`], [`UnifiedBuffer`] or [`LockedBuffer`].
    pub fn buffer<B: Owned>(&mut self, buffer: B) -> GraphBuffer<B> {
        let (address, len, host) = buffer.place();
        let id = InGraph {
            graph: self.id,
            buffer: self.buffers.len(),
        };
        self.buffers.push(AnyBuffer {
            value: Box::new(buffer),
            tracker: Some(tracker_of::<B>),
            address,
            bytes: len * size_of::<B::Element>(),
        });
        GraphBuffer {
            id,
            address,
            len,
            host,
            buffer: PhantomData,
        }
    }

    /// Adds a kernel node. Its arguments are values and buffers of the graph.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Kernel::launch`], [`Error::AliasedBuffer`] if the kernel writes a
    /// buffer that is passed twice, [`Error::HostMemoryInGraph`] for host slices, and
    /// [`Error::GraphLaunchAttribute`] for programmatic dependent launch.
    pub fn launch<K: KernelType, A: Pass + Send + 'static>(
        &mut self,
        kernel: &Kernel<'m, K>,
        config: impl Into<LaunchConfig>,
        args: Args<K, A>,
    ) -> CudaResult<Node> {
        let (function, config): (Function<'m>, LaunchConfig) = ((**kernel).clone(), config.into());
        check_block_size::<K>(&config)?;
        let doing = || format!("adding to a graph: {}", doing(&function, &config));
        let kept: Box<dyn Pass + Send> = Box::new(args.into_arguments());
        let mut collector = Collector::of(&function);
        kept.pass(&mut collector);
        let uses = self.uses(&collector, doing)?;
        let pointers = kernel_checks(&self.context, &function, &config, &mut collector, doing)?;
        // SAFETY: `kernel_checks` has compared the number of parameters with the kernel's.
        let raw = unsafe { kernel_node(&function, &config, pointers) };
        let node = self.add(uses, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call, and the driver copies the parameters during
            // the call. The number and sizes of the parameters were checked.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddKernelNode_v2(node, graph, list, count, &raw)
            }
        })?;
        drop(collector);
        self.nodes[node.number].kept = Kept::Kernel(function, kept);
        let api = self.context.bind()?;
        for attribute in &attributes(&config) {
            let raw = self.nodes[node.number].raw;
            // SAFETY: the node is alive, and the value has the attribute's kind.
            let result = unsafe {
                api.driver
                    .cuGraphKernelNodeSetAttribute(raw, attribute.id, &attribute.value)
            };
            api.check(result, || {
                format!("setting an attribute of a launch in a graph of {config:?}")
            })?;
        }
        Ok(node)
    }

    /// Adds a copy between two buffers of the graph.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] if the lengths differ, [`Error::BufferOfGraph`] if a buffer
    /// belongs to another graph, and [`Error::AliasedBuffer`] for a copy of a buffer to itself.
    pub fn copy<A, B>(&mut self, from: GraphBuffer<A>, to: GraphBuffer<B>) -> CudaResult<Node>
    where
        A: GraphMemory,
        B: GraphMemory<Element = A::Element>,
    {
        if from.len != to.len {
            return Err(Error::SizeMismatch {
                doing: "copying in a graph",
                source_len: from.len,
                destination_len: to.len,
            });
        }
        let bytes = from.bytes();
        let doing = || format!("adding a copy of {bytes} bytes to a graph");
        let uses = vec![
            (self.own(from.id, doing)?, Access::Read),
            (self.own(to.id, doing)?, Access::Write),
        ];
        refuse_aliases(&uses)?;
        if bytes == 0 {
            return self.join(uses);
        }
        let raw = copy_node((from.address, from.host), (to.address, to.host), bytes);
        let context = self.context.as_raw();
        self.add(uses, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call; both buffers have `bytes` bytes.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddMemcpyNode(node, graph, list, count, &raw, context)
            }
        })
    }

    /// Adds a node that sets every byte of a buffer to zero.
    ///
    /// # Errors
    ///
    /// Returns [`Error::BufferOfGraph`] if the buffer belongs to another graph.
    pub fn set_zero<B: GraphMemory>(&mut self, buffer: GraphBuffer<B>) -> CudaResult<Node>
    where
        B::Element: Zeroable,
    {
        let bytes = buffer.bytes();
        let doing = || format!("adding a fill of {bytes} bytes to a graph");
        let uses = vec![(self.own(buffer.id, doing)?, Access::Write)];
        if bytes == 0 {
            return self.join(uses);
        }
        let raw = CUDA_MEMSET_NODE_PARAMS {
            dst: buffer.address,
            pitch: bytes,
            value: 0,
            elementSize: 1,
            width: bytes,
            height: 1,
        };
        let context = self.context.as_raw();
        self.add(uses, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call; the buffer has `bytes` bytes.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddMemsetNode(node, graph, list, count, &raw, context)
            }
        })
    }

    /// Adds a host node, which calls `function` on another thread after the nodes `after`.
    ///
    /// Nodes that depend on it wait until `function` returns or calls a function of this crate that
    /// calls the driver, as with [`Stream::add_callback`](crate::stream::Stream::add_callback). A
    /// panic in `function` is caught and discarded.
    ///
    /// # Errors
    ///
    /// Returns [`Error::BufferOfGraph`] if a node belongs to another graph.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let calls = Arc::new(AtomicU32::new(0));
    /// let mut graph = GraphBuilder::new()?;
    /// let buffer = graph.buffer(DeviceBuffer::<u32>::zeroed(3)?);
    /// let cleared = graph.set_zero(buffer)?;
    /// let counter = Arc::clone(&calls);
    /// graph.call(&[cleared], move || {
    ///     counter.fetch_add(1, Ordering::Relaxed);
    /// })?;
    /// let mut graph = graph.instantiate()?;
    /// graph.launch(&stream)?;
    /// graph.launch(&stream)?;
    /// stream.synchronize()?;
    /// assert_eq!(calls.load(Ordering::Relaxed), 2);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn call<F>(&mut self, after: &[Node], function: F) -> CudaResult<Node>
    where
        F: Fn() + Send + Sync + 'static,
    {
        unsafe extern "C" fn call<F: Fn() + Send + Sync + 'static>(function: *mut c_void) {
            let function = function.cast_const().cast::<F>();
            // The call may outlive the launch and the graph, so it needs its own reference.
            // SAFETY: the pointer is from an `Arc`, which the graph keeps alive during a launch.
            let function = unsafe {
                Arc::increment_strong_count(function);
                Arc::from_raw(function)
            };
            host_call::call_and_wait(move || function());
        }
        let doing = || "adding a host function to a graph".to_owned();
        let function = Arc::new(function);
        let raw = CUDA_HOST_NODE_PARAMS {
            fn_: Some(call::<F>),
            userData: Arc::as_ptr(&function).cast_mut().cast(),
        };
        let after = self.numbers(after, doing)?;
        let node = self.add_after(Vec::new(), after, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddHostNode(node, graph, list, count, &raw)
            }
        })?;
        self.nodes[node.number].kept = Kept::Other(Box::new(function));
        Ok(node)
    }

    /// Adds dependencies of a node, besides those that follow from the buffers it uses.
    ///
    /// # Errors
    ///
    /// Returns [`Error::GraphOrder`] if a node in `after` was added later than `node`, or is in
    /// another body of a conditional node, and [`Error::BufferOfGraph`] if a node belongs to
    /// another graph.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let mut graph = GraphBuilder::new()?;
    /// let first = graph.buffer(DeviceBuffer::from_slice(&[1u32, 2])?);
    /// let second = graph.buffer(DeviceBuffer::from_slice(&[3u32, 4])?);
    /// let before = graph.set_zero(first)?;
    /// let after = graph.set_zero(second)?; // independent: may run concurrently
    /// graph.order(after, &[before])?;
    /// assert!(graph.order(before, &[after]).is_err());
    /// graph.instantiate()?.launch(&stream)?;
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn order(&mut self, node: Node, after: &[Node]) -> CudaResult<()> {
        let doing = || "ordering the nodes of a graph".to_owned();
        let own = self.numbers(&[node], doing)?[0];
        let after = self.numbers(after, doing)?;
        self.order_numbers(own, &after)
    }

    fn order_numbers(&mut self, own: usize, after: &[usize]) -> CudaResult<()> {
        let doing = || "ordering the nodes of a graph".to_owned();
        let api = self.context.bind()?;
        let scope = self.nodes[own].scope;
        for &before in after {
            if before >= own || self.nodes[before].scope != scope {
                return Err(Error::GraphOrder);
            }
            if self.nodes[own].after.contains(&before) {
                continue;
            }
            let (from, to) = (self.nodes[before].raw, self.nodes[own].raw);
            // SAFETY: both nodes belong to this graph.
            let result = unsafe {
                api.driver
                    .cuGraphAddDependencies_v2(scope.raw, &from, &to, std::ptr::null(), 1)
            };
            api.check(result, doing)?;
            self.nodes[own].after.push(before);
        }
        Ok(())
    }

    /// Adds an empty node with the dependencies of `uses`.
    fn join(&mut self, uses: Vec<(usize, Access)>) -> CudaResult<Node> {
        let doing = || "adding an empty node to a graph".to_owned();
        self.add(uses, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver.cuGraphAddEmptyNode(node, graph, list, count)
            }
        })
    }

    /// Returns an error if a condition has no conditional node, or if the graph is still inside the
    /// body of a conditional node because it was moved out of the closure that fills the body.
    fn require_complete(&self) -> CudaResult<()> {
        match (self.scope.number, &self.unused_conditions[..]) {
            (0, []) => Ok(()),
            (0, _) => Err(Error::UnusedCondition),
            _ => Err(Error::GraphExchanged),
        }
    }

    /// Returns the index of a buffer of this graph, or an error if it belongs to another graph.
    fn own(&self, id: InGraph, doing: impl FnOnce() -> String) -> CudaResult<usize> {
        self.place(id)
            .ok_or_else(|| Error::BufferOfGraph { doing: doing() })
    }

    /// Returns the index of a buffer of this graph or of a child graph.
    fn place(&self, id: InGraph) -> Option<usize> {
        if id.graph == self.id {
            return Some(id.buffer);
        }
        let child = self.children.iter().find(|(child, _)| *child == id.graph);
        child.map(|(_, first)| first + id.buffer)
    }

    fn numbers(&self, nodes: &[Node], doing: impl Fn() -> String) -> CudaResult<Vec<usize>> {
        let number = |node: &Node| {
            if node.graph != self.id {
                return Err(Error::BufferOfGraph { doing: doing() });
            }
            Ok(node.number)
        };
        nodes.iter().map(number).collect()
    }

    /// Returns the graph's buffers that a kernel uses, and the arrays that it uses through textures
    /// and surfaces, which have a `'static` lifetime. Several arguments may refer to the same
    /// array.
    fn uses(
        &mut self,
        collector: &Collector<'_>,
        doing: impl Fn() -> String,
    ) -> CudaResult<Vec<(usize, Access)>> {
        let uses = collector.in_graphs().iter();
        let mut uses: Vec<_> = uses
            .map(|(id, access)| Ok((self.own(**id, &doing)?, *access)))
            .collect::<CudaResult<_>>()?;
        refuse_aliases(&uses)?;
        for (tracker, access) in collector.images() {
            let image = Image(std::ptr::from_ref(tracker).addr());
            let number = self.number_of(image).unwrap_or_else(|| {
                self.buffers.push(AnyBuffer {
                    value: Box::new(image),
                    tracker: None,
                    address: 0,
                    bytes: 0,
                });
                self.buffers.len() - 1
            });
            uses.push((number, access));
        }
        Ok(uses)
    }

    fn number_of(&self, image: Image) -> Option<usize> {
        let is_image = |buffer: &AnyBuffer| buffer.value.downcast_ref::<Image>() == Some(&image);
        self.buffers.iter().position(is_image)
    }

    /// Returns the index by which uses are compared: an array that a child graph uses as well has
    /// several indices.
    fn canonical(&self, number: usize) -> usize {
        let image = self
            .buffers
            .get(number)
            .and_then(|b| b.value.downcast_ref());
        let first = image.and_then(|&image| self.number_of(image));
        first.unwrap_or(number)
    }

    /// Adds a node that depends on the earlier nodes that it conflicts with.
    fn add(
        &mut self,
        uses: Vec<(usize, Access)>,
        doing: impl Fn() -> String,
        add: impl FnOnce(&Api, &mut CUgraphNode, CUgraph, &[CUgraphNode]) -> cust_raw::CUresult,
    ) -> CudaResult<Node> {
        self.add_after(uses, Vec::new(), doing, add)
    }

    fn add_after(
        &mut self,
        uses: Vec<(usize, Access)>,
        mut after: Vec<usize>,
        doing: impl Fn() -> String,
        add: impl FnOnce(&Api, &mut CUgraphNode, CUgraph, &[CUgraphNode]) -> cust_raw::CUresult,
    ) -> CudaResult<Node> {
        let scope = self.scope;
        if after
            .iter()
            .any(|&before| self.nodes[before].scope != scope)
        {
            return Err(Error::GraphOrder);
        }
        after.extend(self.conflicts(&uses, scope, self.nodes.len()));
        after.sort_unstable();
        after.dedup();
        let before: Vec<CUgraphNode> = after.iter().map(|&i| self.nodes[i].raw).collect();
        let api = self.context.bind()?;
        let mut raw = std::ptr::null_mut();
        api.check(add(api, &mut raw, scope.raw, &before), doing)?;
        let number = self.nodes.len();
        self.nodes.push(NodeData {
            raw,
            scope,
            uses,
            after,
            kept: Kept::Nothing,
        });
        Ok(Node {
            graph: self.id,
            number,
        })
    }

    /// Returns the nodes in `scope` with an index below `before` that a node with these uses
    /// depends on.
    fn conflicts(&self, uses: &[(usize, Access)], scope: Scope, before: usize) -> Vec<usize> {
        let mut after = Vec::new();
        for &(buffer, access) in uses {
            let buffer = self.canonical(buffer);
            // Search backward to the last writer. Only a writer depends on the readers in between.
            for (number, node) in self.nodes[..before].iter().enumerate().rev() {
                let uses = node
                    .uses
                    .iter()
                    .filter(|(used, _)| self.canonical(*used) == buffer);
                let used_for = uses.map(|(_, access)| *access);
                let used_for = used_for.max_by_key(|access| *access == Access::Write);
                let (Some(used_for), true) = (used_for, node.scope == scope) else {
                    continue;
                };
                if access == Access::Write || used_for == Access::Write {
                    after.push(number);
                }
                if used_for == Access::Write {
                    break;
                }
            }
        }
        after
    }
}

/// Returns an error if a kernel would write a buffer that is passed to it twice: the arguments
/// would be aliasing mutable references.
fn refuse_aliases(uses: &[(usize, Access)]) -> CudaResult<()> {
    for (i, (buffer, access)) in uses.iter().enumerate() {
        let again = uses[..i].iter().find(|(other, _)| other == buffer);
        if let Some((_, other)) = again
            && (*access == Access::Write || *other == Access::Write)
        {
            return Err(Error::AliasedBuffer);
        }
    }
    Ok(())
}

/// Checks a kernel launch before it becomes a node, and returns the pointers to its parameters.
fn kernel_checks<'c>(
    context: &Context,
    function: &Function<'_>,
    config: &LaunchConfig,
    collector: &'c mut Collector<'_>,
    doing: impl Fn() -> String,
) -> CudaResult<&'c mut [*mut c_void]> {
    context.require_same(function.context(), &doing)?;
    if collector.has_host_memory() {
        return Err(Error::HostMemoryInGraph { doing: doing() });
    }
    check_size(function, config)?;
    if config.is_programmatic() {
        return Err(Error::GraphLaunchAttribute);
    }
    collector.pointers(function)
}

/// Returns the driver's description of a kernel node.
///
/// # Safety
///
/// `pointers` must have a pointer to an argument for each parameter.
unsafe fn kernel_node(
    function: &Function<'_>,
    config: &LaunchConfig,
    pointers: &mut [*mut c_void],
) -> CUDA_KERNEL_NODE_PARAMS {
    CUDA_KERNEL_NODE_PARAMS {
        // SAFETY: as the caller promises.
        func: unsafe { function.entry_for(config.grid, config.block, pointers.as_ptr()) },
        gridDimX: config.grid.x,
        gridDimY: config.grid.y,
        gridDimZ: config.grid.z,
        blockDimX: config.block.x,
        blockDimY: config.block.y,
        blockDimZ: config.block.z,
        sharedMemBytes: config.shared_mem_bytes,
        kernelParams: pointers.as_mut_ptr(),
        extra: std::ptr::null_mut(),
        kern: std::ptr::null_mut(),
        ctx: std::ptr::null_mut(),
    }
}

/// Returns the driver's description of a one-dimensional copy. Each side is the device's address,
/// and the host's address of host memory.
fn copy_node(from: (u64, Option<u64>), to: (u64, Option<u64>), bytes: usize) -> CUDA_MEMCPY3D {
    // SAFETY: all-zero bytes are valid for these integers and pointers.
    let mut copy: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    let kind = |host: Option<u64>| match host {
        Some(_) => CUmemorytype::CU_MEMORYTYPE_HOST,
        None => CUmemorytype::CU_MEMORYTYPE_DEVICE,
    };
    let pointer = |address: u64| std::ptr::with_exposed_provenance_mut::<c_void>(address as usize);
    copy.srcMemoryType = kind(from.1);
    copy.dstMemoryType = kind(to.1);
    match from.1 {
        Some(host) => copy.srcHost = pointer(host),
        None => copy.srcDevice = from.0,
    }
    match to.1 {
        Some(host) => copy.dstHost = pointer(host),
        None => copy.dstDevice = to.0,
    }
    copy.WidthInBytes = bytes;
    copy.Height = 1;
    copy.Depth = 1;
    copy
}

impl Drop for GraphBuilder<'_> {
    fn drop(&mut self) {
        // An error means that the context is gone, and the graph with it.
        if let Ok(api) = self.context.bind() {
            for graph in self.child_graphs.drain(..).chain([self.raw]) {
                if !graph.is_null() {
                    // SAFETY: created once, destroyed once.
                    let _ = unsafe { api.driver.cuGraphDestroy(graph) };
                }
            }
        }
    }
}

impl std::fmt::Debug for GraphBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GraphBuilder")
            .field("nodes", &self.nodes.len())
            .field("buffers", &self.buffers.len())
            .finish_non_exhaustive()
    }
}
