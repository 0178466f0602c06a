//! Error types: [`Error`] describes the failed operation and the cause; [`CudaError`] is the
//! driver's error code.
//!
//! # Examples
//!
//! ```
//! use cust::error::Error;
//! use cust::prelude::*;
//!
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let mut buffer = DeviceBuffer::<u32>::zeroed(3)?;
//! match buffer.copy_from(&[1, 2]) {
//!     Err(Error::SizeMismatch { source_len, destination_len, .. }) => {
//!         assert_eq!((source_len, destination_len), (2, 3));
//!     }
//!     other => other?,
//! }
//! # Ok::<(), cust::error::Error>(())
//! ```

use std::fmt;

use cust_raw::CUresult;

use crate::dimensions::{BlockSize, GridSize};

/// The result type of this crate.
pub type CudaResult<T> = Result<T, Error>;

macro_rules! cuda_error {
    ($($variant:ident = $name:ident;)*) => {
        /// An error code of the driver. The variants are named after those of `CUresult` in
        /// `cuda.h`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum CudaError {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                $variant,
            )*
            /// A code that this crate does not know, from a newer driver.
            Unrecognized(u32),
        }

        impl CudaError {
            /// Converts a result code. Returns `None` for `CUDA_SUCCESS`.
            pub fn from_raw(result: CUresult) -> Option<CudaError> {
                match result {
                    CUresult::CUDA_SUCCESS => None,
                    $(CUresult::$name => Some(CudaError::$variant),)*
                    CUresult(code) => Some(CudaError::Unrecognized(code)),
                }
            }

            /// Returns the result code.
            pub fn as_raw(self) -> CUresult {
                match self {
                    $(CudaError::$variant => CUresult::$name,)*
                    CudaError::Unrecognized(code) => CUresult(code),
                }
            }

            /// Returns the name in `cuda.h`, such as `CUDA_ERROR_INVALID_VALUE`.
            pub fn name(self) -> &'static str {
                match self {
                    $(CudaError::$variant => stringify!($name),)*
                    CudaError::Unrecognized(_) => "an error unknown to this version",
                }
            }
        }
    };
}

cust_raw::for_each_result!(cuda_error);

impl CudaError {
    /// Returns whether the error is sticky: the context is lost, and every later call in it returns
    /// the same error, until the device's context is reset or the process exits.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// assert!(CudaError::IllegalAddress.is_sticky());
    /// assert!(!CudaError::InvalidValue.is_sticky());
    /// ```
    pub fn is_sticky(self) -> bool {
        use CudaError::*;
        matches!(
            self,
            IllegalAddress
                | LaunchTimeout
                | HardwareStackError
                | IllegalInstruction
                | MisalignedAddress
                | InvalidAddressSpace
                | InvalidPc
                | LaunchFailed
                | Assert
                | EccUncorrectable
                | TensorMemoryLeak
        )
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CudaError::Unrecognized(code) => write!(f, "CUDA error {code}"),
            error => f.write_str(error.name()),
        }
    }
}

impl std::error::Error for CudaError {}

/// The error type of this crate. Its message states the failed operation and the cause.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver returned an error code.
    #[error(transparent)]
    Driver(Box<DriverError>),

    /// A kernel panicked. The context stays usable; the panicking thread's remaining writes did not
    /// happen.
    #[error(transparent)]
    KernelPanic(Box<KernelPanic>),

    /// A recursive function of a kernel had too little stack left. The context stays usable; the
    /// thread's remaining writes did not happen.
    #[error(transparent)]
    StackOverflow(Box<StackOverflow>),

    /// There is no CUDA driver on this machine.
    #[error(
        "{reason}\nhelp: install NVIDIA's driver, or run on the PTX emulator: \
        set CUST_DEVICE=emulator, or pass Backend::Emulator"
    )]
    NoDriver {
        /// The library that was searched for, and the loader's message.
        reason: String,
    },

    /// The driver is installed, but it finds no usable GPU.
    #[error(
        "the CUDA driver found no GPU ({code}: {text})\nhelp: to run on the PTX emulator, \
        set CUST_DEVICE=emulator, or pass Backend::Emulator"
    )]
    NoDevice {
        /// The driver's code.
        code: CudaError,
        /// The driver's description of the code.
        text: String,
    },

    /// The environment variable `CUST_DEVICE` has an invalid value.
    #[error("invalid value `{value}` of CUST_DEVICE: expected `gpu` or `emulator`")]
    UnknownBackend {
        /// The variable's value.
        value: String,
    },

    /// No context is alive.
    #[error(
        "{doing}: there is no context\nhelp: call `cust::quick_init()` or `cust::init_auto()` \
        first; after `Context::reset`, create a new context"
    )]
    NoContext {
        /// The failed operation.
        doing: &'static str,
    },

    /// Objects that must belong to the same context belong to different contexts.
    #[error("{doing}: the objects belong to different contexts")]
    WrongContext {
        /// The failed operation.
        doing: String,
    },

    /// Objects of the GPU's driver and of the emulator were used together.
    #[error("{doing}: one object belongs to the GPU's driver, the other to the emulator")]
    WrongBackend {
        /// The failed operation.
        doing: String,
    },

    /// An extent contradicts itself, or does not suit the memory.
    #[error(
        "{doing}: invalid extent {} × {} × {}: {reason}",
        sizes[0],
        sizes[1],
        sizes[2]
    )]
    Extent {
        /// The failed operation.
        doing: &'static str,
        /// Width, height and depth in elements.
        sizes: [usize; 3],
        /// The contradiction.
        reason: String,
    },

    /// A safe operation was enqueued into a stream that is being captured into a graph. The
    /// operation would execute when the graph is launched, and nothing would keep its buffers alive
    /// until then.
    #[error(
        "{doing}: the stream is being captured into a graph, which records only unsafe launches \
        and copies"
    )]
    Capturing {
        /// The failed operation.
        doing: String,
    },

    /// A buffer that belongs to a graph was used outside the graph.
    #[error("{doing}: a buffer of a graph can be used only by the nodes of that graph")]
    BufferOfGraph {
        /// The failed operation.
        doing: String,
    },

    /// A node of a graph uses a buffer twice, and writes to it: a buffer is passed to a kernel
    /// twice, or copied to itself.
    #[error("a node of the graph uses a buffer twice, and writes to it")]
    AliasedBuffer,

    /// A launch has a texture and a surface of the same array as arguments. Texture caches are not
    /// coherent with surface writes of the same launch.
    #[error(
        "the kernel `{kernel}` would read an array through a texture and write it through a \
        surface in the same launch\nhelp: read the array through the surface, or launch two kernels"
    )]
    AliasedImage {
        /// The kernel.
        kernel: String,
    },

    /// A node of a graph was made to depend on a node that was added later.
    #[error("a node of a graph can depend only on nodes that were added before it")]
    GraphOrder,

    /// The closure that fills the body of a conditional node replaced its graph by another one.
    /// Neither graph can be used afterwards.
    #[error(
        "the closure that fills the body of a conditional node replaced the graph with another"
    )]
    GraphExchanged,

    /// A condition of the graph has no conditional node, so the driver would reject the graph.
    #[error("a condition of the graph has no conditional node")]
    UnusedCondition,

    /// A second conditional node was added for the same condition.
    #[error("the condition already has a conditional node\nhelp: create a condition for each node")]
    UsedCondition,

    /// A node is not a kernel node.
    #[error("the node of the graph is not a kernel launch")]
    GraphNodeKind,

    /// A node cannot be changed individually: it is in the body of a conditional node or in a child
    /// graph, or the graph was updated since the node was added.
    #[error(
        "the node cannot be changed individually\nhelp: update the whole graph with \
        `GraphExec::update`"
    )]
    GraphNode,

    /// A graph cannot be updated to another graph because they differ too much.
    #[error("updating a graph to another one: {reason}")]
    GraphUpdate {
        /// The difference.
        reason: GraphUpdateFailure,
    },

    /// A change to a launch in a graph would make it use other buffers, or write buffers that it
    /// only read.
    #[error(
        "the changed node of the graph would use other buffers, or write buffers that it only \
        read, so the dependencies between the graph's nodes would be wrong"
    )]
    GraphUses,

    /// A launch in a graph uses programmatic dependent launch, or is changed to one with launch
    /// attributes.
    #[error(
        "launches in graphs do not support programmatic dependent launch, and their launch \
        attributes cannot be changed"
    )]
    GraphLaunchAttribute,

    /// A tensor of another library cannot be imported.
    #[error("the tensor cannot be used: {reason}")]
    Tensor {
        /// The cause.
        reason: String,
    },

    /// Another library's part of an exchange failed.
    #[error("{doing}: {reason}")]
    Foreign {
        /// The failed operation.
        doing: &'static str,
        /// The other library's message.
        reason: String,
    },

    /// Source and destination of a copy differ in length.
    #[error("{doing}: the source has {source_len} elements, the destination {destination_len}")]
    SizeMismatch {
        /// The failed operation.
        doing: &'static str,
        /// The number of elements of the source.
        source_len: usize,
        /// The number of elements of the destination.
        destination_len: usize,
    },

    /// A range is not inside a buffer.
    #[error("the range {start}..{end} is not inside a buffer of {len} elements")]
    OutOfBounds {
        /// The start of the range.
        start: usize,
        /// The end of the range.
        end: usize,
        /// The buffer's length.
        len: usize,
    },

    /// The size of an allocation in bytes overflows the address space.
    #[error("{len} elements of {element_size} bytes are larger than the address space")]
    AllocationTooLarge {
        /// The number of elements.
        len: usize,
        /// The size of an element in bytes.
        element_size: usize,
    },

    /// The alignment of a type exceeds that of the driver's allocations.
    #[error(
        "the type `{type_name}` requires an alignment of {align} bytes, but allocations are \
        aligned to {most} bytes"
    )]
    Alignment {
        /// The element type.
        type_name: &'static str,
        /// The type's alignment.
        align: usize,
        /// The alignment of allocations.
        most: usize,
    },

    /// Scalars in device memory cannot be viewed as vectors.
    #[error(
        "cannot view {len} scalars at address {address:#x} as `{type_name}`: the length must be a \
        multiple of {lanes}, the address of {align}"
    )]
    NotVectors {
        /// The vector type.
        type_name: &'static str,
        /// The number of scalars.
        len: usize,
        /// The address of the first scalar.
        address: u64,
        /// The number of scalars in a vector.
        lanes: usize,
        /// The vector type's alignment.
        align: usize,
    },

    /// The PTX version is newer than the driver supports.
    #[error(transparent)]
    PtxTooNew(Box<PtxTooNew>),

    /// A string is not PTX, or is PTX that the driver's compiler rejects.
    #[error(transparent)]
    InvalidPtx(Box<InvalidPtx>),

    /// A module is not for this device.
    #[error(transparent)]
    WrongDevice(Box<WrongDevice>),

    /// A file cannot be read.
    #[error("reading `{path}`: {reason}")]
    File {
        /// The file.
        path: String,
        /// The operating system's message.
        reason: String,
    },

    /// A name contains a NUL byte.
    #[error("the name {name:?} contains a NUL byte")]
    NulInName {
        /// The name.
        name: String,
    },

    /// The module has no kernel of this name.
    #[error(
        "the module has no kernel `{name}`; {}",
        list_names("its kernels are", available)
    )]
    KernelNotFound {
        /// The requested name.
        name: String,
        /// The names of the module's kernels, as far as they are known.
        available: Vec<String>,
    },

    /// The module has no global variable of this name.
    #[error("the module has no global variable `{name}`")]
    GlobalNotFound {
        /// The requested name.
        name: String,
    },

    /// The size of a global variable differs from that of the requested type.
    #[error(
        "the global variable `{name}` has {found} bytes, but the requested type has {expected}"
    )]
    GlobalSize {
        /// The variable.
        name: String,
        /// The size of the type.
        expected: usize,
        /// The variable's size.
        found: usize,
    },

    /// A typed kernel was requested from a module that is not known to be built from its crate.
    #[error(
        "the module is not known to be built from the package `{package}`, which defines the \
        kernel `{kernel}`\nhelp: load a module that `cuda_builder` embedded, with `cust::include_module!`"
    )]
    ForeignModule {
        /// The kernel.
        kernel: &'static str,
        /// The kernel's package.
        package: &'static str,
    },

    /// A kernel of the program was requested from a module that
    /// [`Module::own`](crate::module::Module::own) loaded for a kernel of another crate.
    #[error(
        "the module does not contain the kernel `{kernel}`, which is compiled with another crate \
        of the program\nhelp: load its module with `Module::own::<{kernel}>()`"
    )]
    OtherCrate {
        /// The kernel.
        kernel: &'static str,
    },

    /// A requested static is in several modules of the program.
    #[error(
        "the program has several copies of the static `{global}`: kernels that different crates \
        launch use it, and the device code of each crate has its own copy\nhelp: load one of the \
        modules with `Module::own`"
    )]
    SeveralGlobals {
        /// The static.
        global: &'static str,
    },

    /// A kernel or a static has another type in the module than in this program.
    #[error(transparent)]
    Signature(Box<SignatureMismatch>),

    /// A typed static was requested from a module that is not known to be built from its crate.
    #[error(
        "the module is not known to be built from the package `{package}`, which defines the \
        static `{global}`\nhelp: load a module that `cuda_builder` embedded, with `cust::include_module!`"
    )]
    ForeignGlobal {
        /// The static.
        global: &'static str,
        /// The static's package.
        package: &'static str,
    },

    /// The kernels call functions of the CUDA device runtime library, which was not found.
    #[error(
        "the kernels require NVIDIA's `libcudadevrt.a`, which is part of the CUDA toolkit; \
        searched: {}\nhelp: set CUST_CUDADEVRT to its path",
        searched.join(", ")
    )]
    DeviceRuntime {
        /// The paths that were searched.
        searched: Vec<String>,
    },

    /// The linker for LTO-IR cannot be used.
    #[error("NVIDIA's nvJitLink, which is part of the CUDA toolkit, cannot be used: {reason}")]
    NoLinker {
        /// The cause.
        reason: String,
    },

    /// The linker for LTO-IR returned an error.
    #[error("{doing}: nvJitLink's error {code}{}", log_text(log))]
    Linker {
        /// The failed operation.
        doing: String,
        /// The linker's error code.
        code: i32,
        /// The linker's error log.
        log: String,
    },

    /// A kernel needs more shared memory than a block can have.
    #[error(transparent)]
    SharedMemory(Box<SharedMemory>),

    /// The grid or block dimensions of a launch exceed a limit of the kernel or the device.
    #[error(transparent)]
    LaunchSize(Box<LaunchSize>),

    /// A launch on the CPU failed.
    #[error(transparent)]
    CpuLaunch(Box<CpuLaunch>),

    /// A launch has too few or too many arguments.
    #[error(
        "the kernel `{kernel}` takes {expected} parameters, but {found} arguments were given \
        (a slice is two: pointer and length; a zero-sized argument is none)"
    )]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// The number of parameters of the kernel's entry in the module.
        expected: usize,
        /// The number of arguments that are not zero-sized.
        found: usize,
    },

    /// The size of an argument differs from that of the kernel's parameter.
    #[error(
        "argument {index} of the kernel `{kernel}` is a {type_name} of {found} bytes, \
        but the parameter has {expected}"
    )]
    ArgumentSize {
        /// The kernel.
        kernel: String,
        /// The argument's index, from 0.
        index: usize,
        /// The argument's Rust type.
        type_name: &'static str,
        /// The parameter's size in bytes.
        expected: usize,
        /// The argument's size in bytes.
        found: usize,
    },

    /// A launch in a graph has a host slice as an argument. Host slices are borrowed for a single
    /// launch.
    #[error(
        "{doing}: host slices cannot be arguments of launches in a graph\n\
        help: add a buffer to the graph with `GraphBuilder::buffer`"
    )]
    HostMemoryInGraph {
        /// The failed operation.
        doing: String,
    },

    /// [`Stream::launch`](crate::stream::Stream::launch) was called in a program without embedded
    /// device code.
    #[error(
        "launching the kernel `{kernel}`: the program has no embedded device code\n\
        help: build it with `cargo cuda`, or with cargo after `cargo cuda init` and without \
        `RUSTC_WRAPPER`, or launch the kernel from a module that `cuda_builder` built, with \
        `Module::launch`"
    )]
    NoDeviceCode {
        /// The kernel.
        kernel: &'static str,
    },

    /// [`Stream::launch`](crate::stream::Stream::launch) was called with a kernel that the
    /// program's embedded device code does not contain.
    #[error(
        "launching the kernel `{kernel}`: the program's embedded device code does not contain it, \
        because the crate `{package}` was compiled without `cargo cuda`"
    )]
    NotEmbedded {
        /// The kernel.
        kernel: &'static str,
        /// The kernel's package.
        package: &'static str,
    },

    /// A texture or surface argument of a launch does not match its parameter.
    #[error(transparent)]
    Image(Box<ImageMismatch>),
}

/// Implements `Debug` as `Display`, because `main` and `unwrap` print errors with `Debug`.
macro_rules! debug_as_display {
    ($($ty:ident)*) => {$(
        impl fmt::Debug for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}
debug_as_display! {
    Error DriverError KernelPanic PtxTooNew InvalidPtx WrongDevice SharedMemory LaunchSize ImageMismatch
    CpuLaunch
}

/// Returns `prefix` followed by the sorted names, or that the module has no kernels.
fn list_names(prefix: &str, names: &[String]) -> String {
    const SHOWN: usize = 20;
    if names.is_empty() {
        return "it has no kernels".to_owned();
    }
    // Drivers return the names in different orders.
    let mut names: Vec<&String> = names.iter().collect();
    names.sort();
    let shown: Vec<_> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = names.len().saturating_sub(SHOWN);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{prefix} {}{rest}", shown.join(", "))
}

impl Error {
    /// Returns the driver's error code, if the driver reported the error.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let error = Device::from_pci_bus_id("nonsense").unwrap_err();
    /// assert_eq!(error.code(), Some(CudaError::InvalidDevice));
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn code(&self) -> Option<CudaError> {
        match self {
            Error::GraphUpdate { .. } => Some(CudaError::GraphExecUpdateFailure),
            Error::Driver(error) => Some(error.code),
            Error::NoDevice { code, .. } => Some(*code),
            Error::WrongDevice(error) => Some(error.code),
            Error::InvalidPtx(error) => error.code,
            Error::PtxTooNew(_) => Some(CudaError::UnsupportedPtxVersion),
            _ => None,
        }
    }

    /// Returns whether the error means that the context was destroyed or lost, so that no work in
    /// it executes any more.
    pub(crate) fn ends_all_work(&self) -> bool {
        self.code().is_some_and(|code| {
            code.is_sticky()
                || matches!(
                    code,
                    CudaError::ContextIsDestroyed
                        | CudaError::InvalidContext
                        | CudaError::Deinitialized
                )
        })
    }

    /// Returns the panic, if a kernel panicked.
    pub fn panic(&self) -> Option<&KernelPanic> {
        match self {
            Error::KernelPanic(panic) => Some(panic),
            _ => None,
        }
    }
}

/// The reason why a graph cannot be updated to another graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraphUpdateFailure {
    /// The nodes or their dependencies differ.
    Topology,
    /// The kind of a node differs.
    NodeType,
    /// The kernel of a node cannot be replaced, for example by a kernel of another context.
    Function,
    /// A parameter of a node differs that cannot be changed.
    Parameters,
    /// Attributes of a node differ.
    Attributes,
    /// The driver does not support updating a node.
    NotSupported,
    /// Another reason, with the driver's code.
    Other(u32),
}

impl fmt::Display for GraphUpdateFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GraphUpdateFailure::Topology => "the nodes or their dependencies differ",
            GraphUpdateFailure::NodeType => "the kind of a node differs",
            GraphUpdateFailure::Function => {
                "the kernel of a node cannot be replaced by the new one"
            }
            GraphUpdateFailure::Parameters => "a parameter that cannot be changed differs",
            GraphUpdateFailure::Attributes => "attributes of a node differ",
            GraphUpdateFailure::NotSupported => "the driver does not support updating a node",
            GraphUpdateFailure::Other(code) => return write!(f, "the driver's code {code}"),
        })
    }
}

/// An error that the driver returned.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{doing}: {text} ({code}){}{}",
    detail_text(detail),
    kernels_text(kernels)
)]
#[non_exhaustive]
pub struct DriverError {
    /// The driver's code.
    pub code: CudaError,
    /// The driver's description of the code.
    pub text: String,
    /// The failed operation, with names and sizes.
    pub doing: String,
    /// Further information, such as the location in the kernel at which the emulator detected the
    /// fault.
    pub detail: Option<String>,
    /// For a fault in a kernel, the kernels that may have been running: those that were launched
    /// and not known to be complete when the error occurred.
    pub kernels: Vec<String>,
}

fn kernels_text(kernels: &[String]) -> String {
    match kernels {
        [] => String::new(),
        kernels => format!("; kernels in flight: `{}`", kernels.join("`, `")),
    }
}

fn detail_text(detail: &Option<String>) -> String {
    match detail {
        Some(detail) => format!(": {detail}"),
        None => String::new(),
    }
}

/// A panic in a kernel, as its first panicking thread reported it.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct KernelPanic {
    /// The panic's message.
    pub message: String,
    /// The number of bytes of the message that did not fit into the report.
    pub truncated: usize,
    /// The source file; empty if the location is not known, as for an allocation failure behind an
    /// indirect call.
    pub file: String,
    /// The line number.
    pub line: u32,
    /// The column number.
    pub column: u32,
    /// The index of the thread's block in the grid.
    pub block: [u32; 3],
    /// The index of the thread in its block.
    pub thread: [u32; 3],
    /// The kernels of the module that were launched and not yet waited for. One of them panicked.
    pub kernels: Vec<String>,
}

impl KernelPanic {
    /// Returns the kernel that panicked, if only one kernel of the module can have been running.
    pub fn kernel(&self) -> Option<&str> {
        match &self.kernels[..] {
            [kernel] => Some(kernel),
            _ => None,
        }
    }

    /// Returns whether the panic reports an allocation failure of `cuda_std`'s allocator.
    pub(crate) fn is_out_of_heap(&self) -> bool {
        self.message.starts_with("memory allocation of ")
            && self
                .message
                .ends_with(" bytes failed: the device's heap is used up")
    }

    /// Adds the heap's size and a hint to enlarge it to the message.
    pub(crate) fn explain_heap(&mut self, limit: Option<usize>) {
        if let Some(limit) = limit {
            self.message += &format!(", which has {limit} bytes");
        }
        self.message += "\nhelp: before the first launch, set a larger size with \
             `Context::set_resource_limit(ResourceLimit::MallocHeapSize, BYTES)`";
    }
}

impl fmt::Display for KernelPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kernels[..] {
            [] => write!(f, "a kernel panicked")?,
            [kernel] => write!(f, "the kernel `{kernel}` panicked")?,
            kernels => write!(f, "one of the kernels `{}` panicked", kernels.join("`, `"))?,
        }
        let [bx, by, bz] = self.block;
        let [tx, ty, tz] = self.thread;
        if !self.file.is_empty() {
            write!(f, " at {}:{}:{}", self.file, self.line, self.column)?;
        }
        write!(
            f,
            " in block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz}): {}",
            self.message
        )?;
        if self.truncated > 0 {
            write!(f, " … ({} bytes more)", self.truncated)?;
        }
        Ok(())
    }
}

impl std::error::Error for KernelPanic {}

/// A stack overflow that a recursive function detected before it occurred.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StackOverflow {
    /// The function that was called.
    pub function: String,
    /// The bytes of stack that were left.
    pub left: i32,
    /// The stack size per thread in bytes: the context's limit when the error was returned.
    pub limit: Option<usize>,
    /// The stack size per thread in bytes that one of the kernels needs, if the device had no memory
    /// for it: it had to be there for all threads that run at once.
    pub need: Option<usize>,
    /// The index of the thread's block in the grid.
    pub block: [u32; 3],
    /// The index of the thread in its block.
    pub thread: [u32; 3],
    /// The kernels of the module that were launched and not yet waited for. One of them overflowed
    /// its stack.
    pub kernels: Vec<String>,
}

impl fmt::Display for StackOverflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stack overflow in ")?;
        match &self.kernels[..] {
            [] => write!(f, "a kernel")?,
            [kernel] => write!(f, "the kernel `{kernel}`")?,
            kernels => write!(f, "one of the kernels `{}`", kernels.join("`, `"))?,
        }
        let [bx, by, bz] = self.block;
        let [tx, ty, tz] = self.thread;
        write!(
            f,
            ", in the recursive function `{}`, block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})",
            self.function
        )?;
        if let Some(limit) = self.limit {
            write!(
                f,
                ": each thread has {limit} bytes, of which {} are left",
                self.left
            )?;
        }
        if let Some(need) = self.need {
            write!(
                f,
                "; a kernel needs {need}, for which the device had no memory"
            )?;
        }
        f.write_str(
            "\nhelp: set the kernel's stack size with `#[kernel(stack_size = BYTES)]`, the depth \
             of all recursion with `CudaBuilder::recursion_depth`, or the context's limit with \
             `Context::set_resource_limit(ResourceLimit::StackSize, BYTES)`",
        )
    }
}

impl std::error::Error for StackOverflow {}

/// PTX of a newer version than the driver supports.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the driver, of CUDA {driver}, is too old for this PTX{}\nhelp: update the driver, or build a \
     cubin for this device's architecture, which older drivers can load",
    version_text(ptx)
)]
#[non_exhaustive]
pub struct PtxTooNew {
    /// The PTX version, if the PTX states it.
    pub ptx: Option<String>,
    /// The CUDA version that the driver supports.
    pub driver: String,
}

fn version_text(version: &Option<String>) -> String {
    match version {
        Some(version) => format!(" (.version {version})"),
        None => String::new(),
    }
}

/// PTX that could not be loaded.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the PTX could not be loaded: {reason}{}", log_text(log))]
#[non_exhaustive]
pub struct InvalidPtx {
    /// The cause.
    pub reason: String,
    /// The log of the driver's compiler.
    pub log: String,
    /// The driver's code, or `None` if this crate rejected the string before calling the driver.
    pub code: Option<CudaError>,
}

fn log_text(log: &str) -> String {
    match log.trim() {
        "" => String::new(),
        log => format!("\n{log}"),
    }
}

/// A launch whose grid or block dimensions exceed a limit of the kernel or the device.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("launching the kernel `{kernel}` with grid {grid} and block {block}: {reason}")]
#[non_exhaustive]
pub struct LaunchSize {
    /// The kernel.
    pub kernel: String,
    /// The requested grid dimensions.
    pub grid: GridSize,
    /// The requested block dimensions.
    pub block: BlockSize,
    /// The value that exceeds its limit, and the limit.
    pub reason: String,
}

/// A launch on the CPU that failed.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("running the kernel `{kernel}` on the CPU: {reason}")]
#[non_exhaustive]
pub struct CpuLaunch {
    /// The kernel.
    pub kernel: String,
    /// The cause.
    pub reason: CpuFault,
}

/// The cause of a failed launch on the CPU.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CpuFault {
    /// The kernel or its launch uses a feature that only devices have: the named function, or
    /// clusters.
    #[error(
        "{0} is not supported on the CPU\nhelp: launch the kernel on a device or on the PTX emulator"
    )]
    Unsupported(String),
    /// An argument of this type is in device memory.
    #[error(
        "an argument of type `{0}` is in device memory\nhelp: pass slices, arrays or `Vec`s in \
        host memory"
    )]
    DeviceMemory(&'static str),
    /// Threads of a block wait for threads that never arrive.
    #[error("deadlock in block ({}, {}, {}): {waiting}, and no thread is left that could arrive", .block[0], .block[1], .block[2])]
    Deadlock {
        /// The block's index.
        block: [u32; 3],
        /// How many threads wait, and for what.
        waiting: String,
    },
    /// An invalid use of a barrier or of a warp operation.
    #[error("{0}")]
    Invalid(String),
    /// The kernel called `trap`.
    #[error("the kernel trapped")]
    Trap,
    /// The program is compiled with `panic = "abort"`, so threads cannot exit by unwinding.
    #[error("the program is compiled with `panic = \"abort\"`\nhelp: remove it from the profile")]
    NoUnwinding,
    /// The operating system could not create a thread or allocate a stack.
    #[error("the operating system cannot provide more threads or stacks: {0}")]
    System(String),
}

/// A texture or surface that does not match the kernel's parameter.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the kernel `{kernel}` has a parameter {parameter}, which is {expected}, but the argument has \
    {found}"
)]
#[non_exhaustive]
pub struct ImageMismatch {
    /// The kernel.
    pub kernel: String,
    /// The parameter's Rust type.
    pub parameter: &'static str,
    /// The kind of texture or surface that the parameter requires.
    pub expected: String,
    /// The kind of texture or surface that was passed.
    pub found: String,
}

/// A kernel that needs more shared memory than a block can have.
///
/// Loading a module returns this error if a kernel's static shared memory is too large; a launch
/// returns it if the sum of static and dynamic shared memory is.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{doing}: the kernel `{kernel}` has {own} bytes of shared memory{}, and a block can have {most}",
    if *.dynamic == 0 {
        String::new()
    } else {
        format!(" and is to get {} bytes of dynamic shared memory", .dynamic)
    }
)]
#[non_exhaustive]
pub struct SharedMemory {
    /// The failed operation.
    pub doing: String,
    /// The kernel.
    pub kernel: String,
    /// The bytes of static shared memory that the kernel declares.
    pub own: u64,
    /// The bytes of dynamic shared memory that the launch requests.
    pub dynamic: u64,
    /// The maximum number of bytes per block.
    pub most: u64,
}

/// A binary module that does not fit the device.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{doing}: {reason}")]
#[non_exhaustive]
pub struct WrongDevice {
    /// The failed operation.
    pub doing: String,
    /// Why the module does not fit the device, and which device it fits.
    pub reason: String,
    /// The driver's code, or the code that it would have returned.
    pub code: CudaError,
}

/// A kernel or a static that has another type in the module than in this program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignatureMismatch {
    /// The name of the kernel or static.
    pub name: String,
    /// The signature in this program.
    pub host: String,
    /// The signature in the module; empty if the module has no signature for the name.
    pub device: String,
}

impl std::error::Error for SignatureMismatch {}

impl std::fmt::Display for SignatureMismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SignatureMismatch { name, host, device } = self;
        let device = match &**device {
            "" => "nothing that the host can launch or access",
            device => device,
        };
        write!(
            f,
            "`{name}` is not the same in this program and in the module\n  host:   {host}\n  \
            device: {device}\nhelp: build both from the same source, with the same features \
            (`CudaBuilder::features`) and the same versions of dependencies"
        )?;
        let by_compiler = host.contains("laid out by") || device.contains("laid out by");
        if by_compiler {
            f.write_str(
                "\nhelp: build both with the same compiler, or add `repr(C)` or `repr(u32)` to \
                each type whose layout the compiler chooses",
            )?;
        }
        if device.contains("not `DeviceCopy`") {
            f.write_str(
                "\nhelp: enable the feature of `cuda_std` or `cust_core` that makes the type \
                `DeviceCopy` in the crate of kernels too",
            )?;
        }
        Ok(())
    }
}

#[cold]
pub(crate) fn signature_mismatch(name: &str, host: &str, device: &str) -> Error {
    Error::Signature(Box::new(SignatureMismatch {
        name: name.to_owned(),
        host: host.to_owned(),
        device: device.to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip() {
        for &(code, name) in CUresult::ERRORS {
            let error = CudaError::from_raw(code).unwrap();
            assert_eq!(error.as_raw(), code);
            assert_eq!(error.name(), name);
        }
        assert_eq!(CudaError::from_raw(CUresult::CUDA_SUCCESS), None);
        let unknown = CudaError::from_raw(CUresult(123_456)).unwrap();
        assert_eq!(unknown, CudaError::Unrecognized(123_456));
        assert_eq!(unknown.to_string(), "CUDA error 123456");
    }

    #[test]
    fn overflows_say_how_much_stack_was_missing() {
        let overflow = StackOverflow {
            function: "down".to_owned(),
            left: 288,
            limit: Some(36_016),
            need: Some(71_008),
            block: [0; 3],
            thread: [0; 3],
            kernels: vec!["dive".to_owned()],
        };
        let text = overflow.to_string();
        let expected = ": each thread has 36016 bytes, of which 288 are left; a kernel needs 71008, \
                        for which the device had no memory\nhelp: ";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn results_stay_small() {
        assert!(size_of::<Error>() <= 80);
    }
}
