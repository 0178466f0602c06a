//! Graphs: work that is described once and launched often, with one call for all of it.
//!
//! A [`GraphBuilder`] takes over the buffers that the work is about, and then the work in the order
//! in which a program would do it. Which nodes have to come before which follows from what they
//! read and write; the others may run at the same time. [`GraphBuilder::instantiate`] makes a
//! [`GraphExec`] of it, which is launched into streams, and which lends the buffers out between
//! launches.
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
//! `capture.rs` is the other way to a graph, which records what is put into streams; it cannot know
//! what memory the work uses, and is unsafe. This file is the builder, with kernels, copies and
//! calls; `nodes.rs` adds the other kinds of nodes, `conditional.rs` those that choose and repeat,
//! and `exec.rs` is what is launched.

mod capture;
mod conditional;
mod exec;
mod nodes;

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
    DeviceBuffer, DeviceCopy, DeviceSliceMut, LockedBuffer, UnifiedBuffer, Zeroable,
};
use crate::tracker::Tracker;
use cust_core::kernel::Args;

pub use capture::{CaptureMode, CapturedExec, CapturedGraph};
pub use conditional::GraphCondition;
pub use exec::{GraphExec, GraphUpdateFailure};
pub use nodes::Scratch;

/// Memory that nodes of a graph can use.
pub trait GraphMemory: Any {
    /// The type of the elements.
    type Element: DeviceCopy;
}

/// Memory that a graph can own, and lends out between launches.
///
/// # Safety
///
/// `place` is where the elements are for as long as the value lives, wherever it is moved.
pub unsafe trait Owned: GraphMemory + Send {
    /// The elements, borrowed to be changed, without the buffer's being.
    type Mut<'a>
    where
        Self: 'a;
    /// The elements, to be changed.
    fn elements_mut(&mut self) -> Self::Mut<'_>;
    /// Address, number of elements, and whether it is the host's memory.
    fn place(&self) -> (u64, usize, bool);
    #[doc(hidden)]
    fn tracker(&self) -> &dyn Any;
}

macro_rules! owned {
    ($($ty:ident $host:literal $mut:ty;)*) => {
        $(
            impl<T: DeviceCopy + Send + 'static> GraphMemory for $ty<T> {
                type Element = T;
            }

            // SAFETY: the memory stays where it is until the buffer is dropped.
            unsafe impl<T: DeviceCopy + Send + 'static> Owned for $ty<T> {
                type Mut<'m> = $mut;

                fn elements_mut(&mut self) -> Self::Mut<'_> {
                    self.as_mut_slice()
                }

                fn place(&self) -> (u64, usize, bool) {
                    let range = self.range();
                    (range.address, range.len, $host)
                }

                fn tracker(&self) -> &dyn Any {
                    self.range().tracker
                }
            }
        )*
    };
}
owned! {
    DeviceBuffer false DeviceSliceMut<'m, T>;
    UnifiedBuffer false &'m mut [T];
    LockedBuffer true &'m mut [T];
}

/// A buffer that a graph owns. It is a number, free to copy, that means something to that graph.
pub struct GraphBuffer<B> {
    id: InGraph,
    address: u64,
    len: usize,
    host: bool,
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
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// As an argument for a kernel's parameter `&[T]`.
    pub fn read(self) -> Reading<B> {
        Reading(self)
    }

    /// As an argument for a kernel's parameter that writes, such as `PerThread<T>`.
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

/// A buffer of a graph, as a kernel gets it.
pub struct PassedInGraph {
    id: InGraph,
    words: [u64; 2],
    bytes: usize,
    wide: bool,
    access: Access,
}

// SAFETY: address and length are the buffer's, and only nodes of the graph that owns it are made
// with it.
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
        0 => align_of::<B::Element>() as u64,
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

// SAFETY: the graph orders its nodes such that nothing writes meanwhile.
unsafe impl<B: GraphMemory<Element = T>, T: DeviceCopy> Argument<&[T]> for Reading<B> {
    type Passed = PassedInGraph;

    fn into_passed(self) -> PassedInGraph {
        passed(self.0, true, Access::Read)
    }
}

// SAFETY: as above.
unsafe impl<B: GraphMemory<Element = T>, T: DeviceCopy> Argument<Reference<'_, [T]>>
    for Reading<B>
{
    type Passed = PassedInGraph;

    fn into_passed(self) -> PassedInGraph {
        passed(self.0, true, Access::Read)
    }
}

// SAFETY: the graph orders its nodes such that nothing else uses it meanwhile.
unsafe impl<B: GraphMemory, P: Output<Element = B::Element>> Argument<P> for Writing<B> {
    type Passed = PassedInGraph;

    fn into_passed(self) -> PassedInGraph {
        passed(self.0, P::WIDE, Access::Write)
    }
}

/// A piece of work in a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    graph: u64,
    number: usize,
}

/// A node with what it uses.
struct NodeData<'m> {
    raw: CUgraphNode,
    /// The graph that it is in: the whole one, or a body of a conditional node.
    scope: Scope,
    /// The graph's buffers that it uses.
    uses: Vec<(usize, Access)>,
    /// The nodes that it comes after, as far as the driver was told.
    after: Vec<usize>,
    /// What it keeps: arguments, functions.
    kept: Kept<'m>,
}

/// A graph whose nodes are ordered among each other.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Scope {
    number: usize,
    raw: CUgraph,
}

enum Kept<'m> {
    Nothing,
    /// A kernel's arguments may refer to buffers that live forever.
    Kernel(Function<'m>, Box<dyn Pass + Send>),
    /// A function of the host, an event, a semaphore.
    Other(#[expect(dead_code, reason = "kept for the driver")] Box<dyn Any + Send>),
}

/// A buffer, without its type; or something else that nodes use in an order, without a tracker.
struct AnyBuffer {
    value: Box<dyn Any + Send>,
    tracker: Option<fn(&dyn Any) -> &Tracker>,
    address: u64,
    bytes: usize,
}

/// The value of an [`AnyBuffer`] that stands for an array which kernels use by textures and
/// surfaces: the address of its tracker. The driver does not order nodes by what they use.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Image(usize);

/// The tracker of a buffer of this type.
fn tracker_of<B: Owned>(value: &dyn Any) -> &Tracker {
    let buffer = value.downcast_ref::<B>().map(B::tracker);
    let tracker = buffer.and_then(|tracker| tracker.downcast_ref());
    tracker.expect("the value is of this type, which has a tracker")
}

/// Puts a graph together. See the [module's documentation](self).
pub struct GraphBuilder<'m> {
    raw: CUgraph,
    context: Context,
    id: u64,
    buffers: Vec<AnyBuffer>,
    nodes: Vec<NodeData<'m>>,
    /// What nodes are added to now.
    scope: Scope,
    /// How many scopes there were so far.
    scopes: usize,
    /// Graphs that became nodes of this one: their numbers, and from where on their buffers are
    /// among this one's.
    children: Vec<(u64, usize)>,
    /// Their handles, which go with this one.
    child_graphs: Vec<CUgraph>,
    /// Memory that the graph allocates itself: which buffer, and the address to free.
    scratch: Vec<(usize, u64)>,
    /// The events that its nodes record.
    events: Vec<Arc<Event>>,
    /// Conditions without a conditional node: their numbers among the buffers.
    unused_conditions: Vec<usize>,
}

// SAFETY: the driver's graphs are used by one thread at a time, but by any; the kernels' handles
// likewise.
unsafe impl Send for GraphBuilder<'_> {}

impl<'m> GraphBuilder<'m> {
    /// An empty graph in the current context.
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

    /// Takes over a buffer: a [`DeviceBuffer`], [`UnifiedBuffer`] or [`LockedBuffer`].
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

    /// Adds a launch of a kernel. Its arguments are values and the graph's buffers.
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
        let mut collector = Collector::default();
        kept.pass(&mut collector);
        let uses = self.uses(&collector, doing)?;
        let mut pointers = kernel_checks(&self.context, &function, &config, &collector, doing)?;
        let raw = kernel_node(&function, &config, &mut pointers);
        let node = self.add(uses, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call, in which the driver copies the parameters;
            // their number and sizes were checked.
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
            // SAFETY: the node is alive, and the value is of the attribute's kind.
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

    /// Adds a copy between two of the graph's buffers.
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
        if bytes == 0 {
            return self.join(uses);
        }
        let raw = copy_node((from.address, from.host), (to.address, to.host), bytes);
        let context = self.context.as_raw();
        self.add(uses, doing, |api, node, graph, after| {
            // SAFETY: the lists live through the call; both buffers have as many bytes.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddMemcpyNode(node, graph, list, count, &raw, context)
            }
        })
    }

    /// Adds setting every byte of a buffer to zero.
    pub fn set_zero<B: GraphMemory>(&mut self, buffer: GraphBuffer<B>) -> CudaResult<Node>
    where
        B::Element: Zeroable,
    {
        let bytes = buffer.bytes();
        let doing = || format!("adding setting of {bytes} bytes to a graph");
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
            // SAFETY: the lists live through the call; the buffer has as many bytes.
            unsafe {
                let (list, count) = (after.as_ptr(), after.len());
                api.driver
                    .cuGraphAddMemsetNode(node, graph, list, count, &raw, context)
            }
        })
    }

    /// Adds a call of `function` on another thread, after the nodes given. What comes after it
    /// waits until it returns, or calls a function of this crate that calls the driver, as with
    /// [`Stream::add_callback`](crate::stream::Stream::add_callback). A panic in it is caught and
    /// dropped.
    pub fn call<F>(&mut self, after: &[Node], function: F) -> CudaResult<Node>
    where
        F: Fn() + Send + Sync + 'static,
    {
        unsafe extern "C" fn call<F: Fn() + Send + Sync + 'static>(function: *mut c_void) {
            let function = function.cast_const().cast::<F>();
            // The call may outlive its launch, and so the graph.
            // SAFETY: the graph keeps the function, which is an `Arc`'s, while it is launched.
            let function = unsafe {
                Arc::increment_strong_count(function);
                Arc::from_raw(function)
            };
            host_call::call_and_wait(move || function());
        }
        let doing = || "adding a call of the host to a graph".to_owned();
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

    /// Lets a node come after others, besides those that it depends on by what they use.
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
            // SAFETY: both nodes are of this graph.
            let result = unsafe {
                api.driver
                    .cuGraphAddDependencies_v2(scope.raw, &from, &to, std::ptr::null(), 1)
            };
            api.check(result, doing)?;
            self.nodes[own].after.push(before);
        }
        Ok(())
    }

    /// An empty node.
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

    /// Refuses a graph that is inside the body of a conditional node: it was moved out of the
    /// closure that fills the body.
    fn require_complete(&self) -> CudaResult<()> {
        match (self.scope.number, &self.unused_conditions[..]) {
            (0, []) => Ok(()),
            (0, _) => Err(Error::UnusedCondition),
            _ => Err(Error::GraphExchanged),
        }
    }

    /// The number of a buffer of this graph.
    fn own(&self, id: InGraph, doing: impl FnOnce() -> String) -> CudaResult<usize> {
        self.place(id)
            .ok_or_else(|| Error::BufferOfGraph { doing: doing() })
    }

    /// As `own`; also buffers of graphs that became nodes of this one.
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

    /// The graph's buffers that a kernel uses, and the arrays that it uses by textures and
    /// surfaces, which live forever. Several arguments may be of one array.
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

    /// The number by which uses are compared: arrays that a child graph uses have their own.
    fn canonical(&self, number: usize) -> usize {
        let image = self
            .buffers
            .get(number)
            .and_then(|b| b.value.downcast_ref());
        let first = image.and_then(|&image| self.number_of(image));
        first.unwrap_or(number)
    }

    /// Adds a node after the earlier ones that it conflicts with.
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

    /// The nodes of a scope, of those before one, that something with these uses comes after.
    fn conflicts(&self, uses: &[(usize, Access)], scope: Scope, before: usize) -> Vec<usize> {
        let mut after = Vec::new();
        for &(buffer, access) in uses {
            let buffer = self.canonical(buffer);
            // Back to the last writer; readers in between matter to a writer only.
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

/// One buffer as two arguments of a kernel, of which it writes one, would be two `&mut` to it.
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

/// The checks before a kernel becomes a node, and the pointers to its parameters.
fn kernel_checks(
    context: &Context,
    function: &Function<'_>,
    config: &LaunchConfig,
    collector: &Collector<'_>,
    doing: impl Fn() -> String,
) -> CudaResult<smallvec::SmallVec<[*mut c_void; 16]>> {
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

fn kernel_node(
    function: &Function<'_>,
    config: &LaunchConfig,
    pointers: &mut [*mut c_void],
) -> CUDA_KERNEL_NODE_PARAMS {
    CUDA_KERNEL_NODE_PARAMS {
        func: function.to_raw(),
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

/// The description of a copy of one row.
fn copy_node(from: (u64, bool), to: (u64, bool), bytes: usize) -> CUDA_MEMCPY3D {
    // SAFETY: zeros are valid for these plain numbers and pointers.
    let mut copy: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    let kind = |host| {
        if host {
            CUmemorytype::CU_MEMORYTYPE_HOST
        } else {
            CUmemorytype::CU_MEMORYTYPE_DEVICE
        }
    };
    let pointer = |address: u64| std::ptr::with_exposed_provenance_mut::<c_void>(address as usize);
    copy.srcMemoryType = kind(from.1);
    copy.dstMemoryType = kind(to.1);
    if from.1 {
        copy.srcHost = pointer(from.0);
    } else {
        copy.srcDevice = from.0;
    }
    if to.1 {
        copy.dstHost = pointer(to.0);
    } else {
        copy.dstDevice = to.0;
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
                    // SAFETY: made by `new`, destroyed once.
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
