//! The tables behind the handles: contexts, and the objects in them.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, RwLock};
use std::time::Instant;

use cust_raw::CUresult;

use super::graph::{Capture, Exec, Graph};
use super::queue::Queue;
use crate::memory::alias_of;
use crate::{KernelId, Memory, Program};

/// A handle as a number. The API's handle types are pointers, which are never dereferenced.
pub(super) type Handle = u64;

/// Converts a handle to a pointer type of the API.
pub(super) fn to_pointer<T>(handle: Handle) -> *mut T {
    std::ptr::without_provenance_mut(handle as usize)
}

/// Converts a pointer type of the API to a handle.
pub(super) fn from_pointer<T>(pointer: *mut T) -> Handle {
    pointer.addr() as Handle
}

/// The handle of the primary context, which does not change after a reset.
const PRIMARY: Handle = 0x1000;

/// Returns a handle that has never been used. Handles are multiples of 16, as programs may expect.
fn fresh() -> Handle {
    static NEXT: AtomicU64 = AtomicU64::new(PRIMARY / 16 + 1);
    NEXT.fetch_add(1, Ordering::Relaxed) * 16
}

/// The state of the process.
pub(super) struct State {
    pub(super) initialized: AtomicBool,
    contexts: Mutex<HashMap<Handle, Arc<Context>>>,
    pub(super) primary: Mutex<Primary>,
    objects: Mutex<HashMap<Handle, Object>>,
}

/// The number of times that the primary context is retained, and its flags.
#[derive(Default)]
pub(super) struct Primary {
    pub(super) retained: usize,
    pub(super) flags: u32,
}

static STATE: LazyLock<State> = LazyLock::new(|| State {
    initialized: AtomicBool::new(false),
    contexts: Mutex::default(),
    primary: Mutex::default(),
    objects: Mutex::default(),
});

thread_local! {
    /// The stack of contexts that this thread made current.
    static CURRENT: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// Returns the state of the process, or an error before `cuInit`.
pub(super) fn state() -> Result<&'static State, CUresult> {
    let state = &*STATE;
    if !state.initialized.load(Ordering::Relaxed) {
        return Err(CUresult::CUDA_ERROR_NOT_INITIALIZED);
    }
    Ok(state)
}

/// Implements `cuInit`.
pub(super) fn initialize() {
    STATE.initialized.store(true, Ordering::Relaxed);
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// A context: an address space of the device, and everything in it.
pub(super) struct Context {
    pub(super) handle: Handle,
    pub(super) flags: AtomicU32,
    pub(super) memory: Memory,
    pub(super) limits: Mutex<Limits>,
    /// The error after a kernel's fault, which every call returns.
    pub(super) sticky: Mutex<Option<CUresult>>,
    /// The allocated and registered blocks, by address.
    pub(super) blocks: Mutex<BTreeMap<u64, Block>>,
    pub(super) null_stream: Arc<Stream>,
    /// Streams that were destroyed with pending work.
    pub(super) leaving: Mutex<Vec<Arc<Stream>>>,
    /// Work in the default stream excludes work in streams that synchronize with it.
    pub(super) legacy: RwLock<()>,
    /// Reserved address ranges, by start.
    pub(super) reservations: Mutex<BTreeMap<u64, Reservation>>,
    /// The handle of the device's default pool, once it has been requested.
    pub(super) default_pool: Mutex<Option<Handle>>,
}

/// A block of memory and its origin.
#[derive(Clone)]
pub(super) struct Block {
    pub(super) size: usize,
    pub(super) kind: BlockKind,
    /// The flags of its allocation or registration.
    pub(super) flags: u32,
    /// The pool that it was allocated from.
    pub(super) pool: Option<Arc<Pool>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Device,
    Managed,
    /// Allocated by `cuMemHostAlloc`.
    Host,
    /// The caller's memory, pinned by `cuMemHostRegister`.
    Registered,
    /// As `Registered`, at another address for the device than for the host.
    Aliased,
}

impl BlockKind {
    /// Returns the device address of the byte at a host address.
    pub(super) fn device_address(self, host: u64) -> u64 {
        match self {
            BlockKind::Aliased => alias_of(host),
            _ => host,
        }
    }
}

/// The limits of `cuCtxSetLimit`.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    pub(super) stack: usize,
    pub(super) printf: usize,
    pub(super) heap: usize,
    pub(super) sync_depth: usize,
    pub(super) pending_launches: usize,
    pub(super) l2_fetch: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            stack: 1024,
            printf: 1 << 20,
            heap: 8 << 20,
            sync_depth: 2,
            pending_launches: 2048,
            l2_fetch: 64,
        }
    }
}

/// The objects that handles refer to, except contexts.
#[derive(Clone)]
pub(super) enum Object {
    Module(Arc<Module>),
    Function(Arc<Function>),
    Stream(Arc<Stream>),
    Event(Arc<Event>),
    Pool(Arc<Pool>),
    Array(Arc<Array>),
    Physical(Arc<Physical>),
    Link(Arc<Link>),
    Graph(Arc<Graph>),
    /// A node: its graph and its number.
    Node(Arc<Graph>, usize),
    Exec(Arc<Exec>),
    /// A mipmapped array: its context, and the handles of its levels.
    Mipmapped(Handle, Arc<Vec<Handle>>),
    Green(Arc<super::green_context::Green>),
}

/// A reserved address range, to parts of which memory is mapped.
pub(super) struct Reservation {
    /// The memory behind the whole range.
    #[expect(dead_code, reason = "kept for the addresses in it")]
    pub(super) memory: Vec<u8>,
    pub(super) size: usize,
    /// The mapped ranges: sizes and handles, by address.
    pub(super) pieces: BTreeMap<u64, (usize, Handle)>,
    /// The starts of the ranges that kernels and copies can access.
    pub(super) published: Vec<u64>,
}

/// Memory that can be mapped.
pub(super) struct Physical {
    pub(super) context: Handle,
    pub(super) size: usize,
}

/// The state of the linker.
pub(super) struct Link {
    pub(super) context: Handle,
    pub(super) texts: Mutex<Vec<String>>,
    /// The linked module.
    pub(super) output: Mutex<Option<CString>>,
}

/// An array, stored as rows in linear memory.
pub(super) struct Array {
    pub(super) context: Handle,
    pub(super) memory: Memory,
    pub(super) address: u64,
    /// The size of a row in bytes.
    pub(super) row: usize,
    pub(super) height: usize,
    pub(super) descriptor: cust_raw::CUDA_ARRAY3D_DESCRIPTOR,
}

impl Drop for Array {
    fn drop(&mut self) {
        self.memory.free(self.address);
    }
}

/// A memory pool. Freed memory is released to the host immediately, so the pool only counts.
pub(super) struct Pool {
    pub(super) context: Handle,
    /// The attributes that a program has set, by number.
    pub(super) attributes: Mutex<HashMap<u32, u64>>,
    pub(super) used: AtomicU64,
    pub(super) used_high: AtomicU64,
}

pub(super) struct Module {
    pub(super) context: Handle,
    pub(super) program: Program,
    /// The handles of the kernels that have been requested.
    pub(super) functions: Mutex<HashMap<String, Handle>>,
}

pub(super) struct Function {
    pub(super) module: Handle,
    pub(super) context: Handle,
    pub(super) program: Program,
    pub(super) kernel: KernelId,
    pub(super) name: CString,
    /// The maximum dynamic shared memory of a launch, if the program has set it.
    pub(super) max_dynamic_shared: Mutex<Option<i32>>,
    pub(super) carveout: Mutex<i32>,
    /// Whether clusters may have more than eight blocks.
    pub(super) large_clusters: AtomicBool,
}

pub(super) struct Stream {
    pub(super) context: Handle,
    pub(super) flags: u32,
    pub(super) priority: i32,
    pub(super) id: u64,
    /// The work of the stream.
    pub(super) queue: Queue,
    /// The graph into which the stream is being captured.
    pub(super) capture: Mutex<Option<Arc<Capture>>>,
}

pub(super) struct Event {
    pub(super) context: Handle,
    pub(super) flags: u32,
    /// The time at which the event last completed.
    pub(super) happened: Mutex<Option<Instant>>,
    /// The stream in which the event was last recorded, and the number of the work there.
    pub(super) mark: Mutex<Option<(Arc<Stream>, u64)>>,
    /// The nodes that the event represents, if it was recorded in a stream that is being captured.
    pub(super) captured: Mutex<Option<(Arc<Capture>, Vec<usize>)>>,
}

impl Object {
    fn context(&self) -> Handle {
        match self {
            Object::Module(module) => module.context,
            Object::Function(function) => function.context,
            Object::Stream(stream) => stream.context,
            Object::Event(event) => event.context,
            Object::Pool(pool) => pool.context,
            Object::Array(array) => array.context,
            Object::Physical(physical) => physical.context,
            Object::Link(link) => link.context,
            Object::Graph(graph) | Object::Node(graph, _) => graph.context,
            Object::Exec(exec) => exec.context,
            Object::Mipmapped(context, _) => *context,
            Object::Green(green) => green.context,
        }
    }
}

impl State {
    /// Creates a context; `primary` is whether it is the device's primary context.
    pub(super) fn make_context(&self, flags: u32, primary: bool) -> Arc<Context> {
        let handle = if primary { PRIMARY } else { fresh() };
        let context = Arc::new(Context {
            handle,
            flags: AtomicU32::new(flags),
            memory: Memory::new(),
            limits: Mutex::default(),
            sticky: Mutex::default(),
            blocks: Mutex::default(),
            null_stream: Arc::new(Stream::new(handle, 0, 0)),
            leaving: Mutex::default(),
            legacy: RwLock::new(()),
            reservations: Mutex::default(),
            default_pool: Mutex::default(),
        });
        lock(&self.contexts).insert(handle, Arc::clone(&context));
        context
    }

    /// Destroys a context and everything in it. Work that other threads still run in it keeps the
    /// memory that it uses.
    pub(super) fn destroy_context(&self, handle: Handle) -> Result<(), CUresult> {
        let Some(context) = lock(&self.contexts).remove(&handle) else {
            return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        };
        let mut dead = Vec::new();
        lock(&self.objects).retain(|_, object| {
            let keep = object.context() != handle;
            if !keep {
                dead.push(object.clone());
            }
            keep
        });
        // Outside the lock: dropping programs frees their variables.
        drop(dead);
        for (&address, block) in lock(&context.blocks).iter() {
            if matches!(block.kind, BlockKind::Registered | BlockKind::Aliased) {
                context
                    .memory
                    .unregister(block.kind.device_address(address));
            } else {
                context.memory.free(address);
            }
        }
        Ok(())
    }

    pub(super) fn context(&self, handle: Handle) -> Option<Arc<Context>> {
        lock(&self.contexts).get(&handle).cloned()
    }

    /// Returns the primary context, if it is active.
    pub(super) fn primary_context(&self) -> Option<Arc<Context>> {
        self.context(PRIMARY)
    }

    pub(super) fn is_primary(handle: Handle) -> bool {
        handle == PRIMARY
    }

    /// Adds an object and returns its handle.
    pub(super) fn add(&self, object: Object) -> Handle {
        let handle = fresh();
        lock(&self.objects).insert(handle, object);
        handle
    }

    pub(super) fn remove(&self, handle: Handle) -> Option<Object> {
        lock(&self.objects).remove(&handle)
    }

    /// Removes a module and the handles of its functions.
    pub(super) fn remove_module(&self, handle: Handle) -> Result<(), CUresult> {
        self.module(handle)?;
        let mut dead = Vec::new();
        lock(&self.objects).retain(|&key, object| {
            let gone = match object {
                Object::Module(_) => key == handle,
                Object::Function(function) => function.module == handle,
                _ => false,
            };
            if gone {
                dead.push(object.clone());
            }
            !gone
        });
        drop(dead);
        Ok(())
    }

    fn object(&self, handle: Handle) -> Option<Object> {
        lock(&self.objects).get(&handle).cloned()
    }

    pub(super) fn module(&self, handle: Handle) -> Result<Arc<Module>, CUresult> {
        match self.object(handle) {
            Some(Object::Module(module)) => Ok(module),
            _ => Err(CUresult::CUDA_ERROR_INVALID_HANDLE),
        }
    }

    pub(super) fn function(&self, handle: Handle) -> Result<Arc<Function>, CUresult> {
        match self.object(handle) {
            Some(Object::Function(function)) => Ok(function),
            _ => Err(CUresult::CUDA_ERROR_INVALID_HANDLE),
        }
    }

    pub(super) fn event(&self, handle: Handle) -> Result<Arc<Event>, CUresult> {
        match self.object(handle) {
            Some(Object::Event(event)) => Ok(event),
            _ => Err(CUresult::CUDA_ERROR_INVALID_HANDLE),
        }
    }

    pub(super) fn pool(&self, handle: Handle) -> Result<Arc<Pool>, CUresult> {
        match self.object(handle) {
            Some(Object::Pool(pool)) => Ok(pool),
            _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }

    pub(super) fn array(&self, handle: Handle) -> Result<Arc<Array>, CUresult> {
        match self.object(handle) {
            Some(Object::Array(array)) => Ok(array),
            _ => Err(CUresult::CUDA_ERROR_INVALID_HANDLE),
        }
    }

    pub(super) fn mipmapped(&self, handle: Handle) -> Result<Arc<Vec<Handle>>, CUresult> {
        match self.object(handle) {
            Some(Object::Mipmapped(_, levels)) => Ok(levels),
            _ => Err(CUresult::CUDA_ERROR_INVALID_HANDLE),
        }
    }

    pub(super) fn green(
        &self,
        handle: Handle,
    ) -> Result<Arc<super::green_context::Green>, CUresult> {
        match self.object(handle) {
            Some(Object::Green(green)) => Ok(green),
            _ => Err(CUresult::CUDA_ERROR_INVALID_CONTEXT),
        }
    }

    pub(super) fn physical(&self, handle: Handle) -> Result<Arc<Physical>, CUresult> {
        match self.object(handle) {
            Some(Object::Physical(physical)) => Ok(physical),
            _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }

    pub(super) fn link(&self, handle: Handle) -> Result<Arc<Link>, CUresult> {
        match self.object(handle) {
            Some(Object::Link(link)) => Ok(link),
            _ => Err(CUresult::CUDA_ERROR_INVALID_HANDLE),
        }
    }

    pub(super) fn graph(&self, handle: Handle) -> Result<Arc<Graph>, CUresult> {
        match self.object(handle) {
            Some(Object::Graph(graph)) => Ok(graph),
            _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }

    pub(super) fn node(&self, handle: Handle) -> Result<(Arc<Graph>, usize), CUresult> {
        match self.object(handle) {
            Some(Object::Node(graph, number)) => Ok((graph, number)),
            _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }

    pub(super) fn exec(&self, handle: Handle) -> Result<Arc<Exec>, CUresult> {
        match self.object(handle) {
            Some(Object::Exec(exec)) => Ok(exec),
            _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }

    /// Removes all objects for which `gone` returns true.
    pub(super) fn remove_where(&self, gone: impl Fn(&Object) -> bool) {
        let mut dead = Vec::new();
        lock(&self.objects).retain(|_, object| {
            let keep = !gone(object);
            if !keep {
                dead.push(object.clone());
            }
            keep
        });
        drop(dead);
    }

    /// Returns a stream and its context. The handles 0, 1 and 2 are the current context's default
    /// stream.
    pub(super) fn stream(&self, handle: Handle) -> Result<(Arc<Context>, Arc<Stream>), CUresult> {
        if handle <= 2 {
            let context = self.current()?;
            let stream = Arc::clone(&context.null_stream);
            return Ok((context, stream));
        }
        match self.object(handle) {
            Some(Object::Stream(stream)) => match self.context(stream.context) {
                Some(context) => Ok((context, stream)),
                None => Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED),
            },
            _ => Err(CUresult::CUDA_ERROR_INVALID_HANDLE),
        }
    }

    /// Returns all streams of a context, including the default one.
    pub(super) fn streams(&self, context: &Context) -> Vec<Arc<Stream>> {
        let mut streams = vec![Arc::clone(&context.null_stream)];
        streams.extend(lock(&context.leaving).iter().cloned());
        for object in lock(&self.objects).values() {
            if let Object::Stream(stream) = object
                && stream.context == context.handle
            {
                streams.push(Arc::clone(stream));
            }
        }
        streams
    }

    /// Returns the current context of the thread.
    pub(super) fn current(&self) -> Result<Arc<Context>, CUresult> {
        let handle = current_handle().ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
        self.context(handle)
            .ok_or(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)
    }

    /// Returns the current context of the thread, or an error after a fault.
    pub(super) fn usable(&self) -> Result<Arc<Context>, CUresult> {
        let context = self.current()?;
        context.check()?;
        Ok(context)
    }
}

impl Context {
    /// Returns an error after a fault.
    pub(super) fn check(&self) -> Result<(), CUresult> {
        match *lock(&self.sticky) {
            Some(code) => Err(code),
            None => Ok(()),
        }
    }
}

impl Stream {
    pub(super) fn new(context: Handle, flags: u32, priority: i32) -> Stream {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        Stream {
            context,
            flags,
            priority,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            queue: Queue::default(),
            capture: Mutex::default(),
        }
    }
}

/// Returns the handle of the context on top of this thread's stack.
pub(super) fn current_handle() -> Option<Handle> {
    CURRENT.with_borrow(|stack| stack.last().copied())
}

/// Replaces the top of this thread's stack; 0 pops it.
pub(super) fn set_current(handle: Handle) {
    CURRENT.with_borrow_mut(|stack| {
        stack.pop();
        if handle != 0 {
            stack.push(handle);
        }
    });
}

pub(super) fn push_current(handle: Handle) {
    CURRENT.with_borrow_mut(|stack| stack.push(handle));
}

pub(super) fn pop_current() -> Option<Handle> {
    CURRENT.with_borrow_mut(Vec::pop)
}
