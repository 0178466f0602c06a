//! Every way in which a call of this crate can fail, as types: [`Error`] says what was being done
//! and what went wrong; [`CudaError`] is the driver's own code.

use std::fmt;

use cust_raw::CUresult;

use crate::function::{BlockSize, GridSize};

/// What calls of this crate return.
pub type CudaResult<T> = Result<T, Error>;

macro_rules! cuda_error {
    ($($variant:ident = $name:ident;)*) => {
        /// A result code of the driver, by the name that `cuda.h` gives it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum CudaError {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                $variant,
            )*
            /// A code that this version of `cuda.h` does not know: the driver is newer.
            Unrecognised(u32),
        }

        impl CudaError {
            /// The error for a result code, or `None` for success.
            pub fn from_raw(result: CUresult) -> Option<CudaError> {
                match result {
                    CUresult::CUDA_SUCCESS => None,
                    $(CUresult::$name => Some(CudaError::$variant),)*
                    CUresult(code) => Some(CudaError::Unrecognised(code)),
                }
            }

            /// The result code.
            pub fn as_raw(self) -> CUresult {
                match self {
                    $(CudaError::$variant => CUresult::$name,)*
                    CudaError::Unrecognised(code) => CUresult(code),
                }
            }

            /// Its name in `cuda.h`, such as `CUDA_ERROR_INVALID_VALUE`.
            pub fn name(self) -> &'static str {
                match self {
                    $(CudaError::$variant => stringify!($name),)*
                    CudaError::Unrecognised(_) => "an error unknown to this version",
                }
            }
        }
    };
}

cust_raw::for_each_result!(cuda_error);

impl CudaError {
    /// Whether the context is lost: every later call in it returns the same error, until the
    /// device's context is reset or the process ends.
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
            CudaError::Unrecognised(code) => write!(f, "CUDA error {code}"),
            error => f.write_str(error.name()),
        }
    }
}

impl std::error::Error for CudaError {}

/// What went wrong, and what was being done.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver returned an error code.
    #[error(transparent)]
    Driver(Box<DriverError>),

    /// A kernel panicked. The context goes on working; what the panicking thread had not yet
    /// written is missing.
    #[error(transparent)]
    KernelPanic(Box<KernelPanic>),

    /// A recursive function of a kernel had too little stack left. The context goes on working; what
    /// the thread had not yet written is missing.
    #[error(transparent)]
    StackOverflow(Box<StackOverflow>),

    /// There is no CUDA driver on this machine.
    #[error(
        "{reason}. Install NVIDIA's driver, or run on the PTX emulator: \
        set CUST_DEVICE=emulator, or pass Backend::Emulator"
    )]
    NoDriver {
        /// Which library was searched for, and the loader's message.
        reason: String,
    },

    /// The driver is installed, but it finds no usable GPU.
    #[error(
        "the CUDA driver finds no GPU ({code}: {text}). To run on the PTX emulator, \
        set CUST_DEVICE=emulator, or pass Backend::Emulator"
    )]
    NoDevice {
        /// What the driver said.
        code: CudaError,
        /// The driver's text for it.
        text: String,
    },

    /// `CUST_DEVICE` has a value that is not a device.
    #[error("CUST_DEVICE is `{value}`, but it has to be `gpu` or `emulator`")]
    UnknownBackend {
        /// The variable's value.
        value: String,
    },

    /// No context is alive, so there is no device to work on.
    #[error(
        "{doing}: there is no context\nhelp: call `cust::quick_init()` or `cust::init_auto()` first, \
        and after `Context::reset` make a new context"
    )]
    NoContext {
        /// What was being done.
        doing: &'static str,
    },

    /// Two objects that have to belong to one context belong to different ones.
    #[error("{doing}: the objects belong to different contexts")]
    WrongContext {
        /// What was being done.
        doing: String,
    },

    /// The stream is being captured into a graph: what is put in now happens when the graph is
    /// launched, and nothing would keep the buffers alive until then.
    #[error(
        "{doing}: the stream is being captured into a graph, which only the unsafe forms of \
        launches and copies can be"
    )]
    Capturing {
        /// What was being done.
        doing: String,
    },

    /// A buffer that a graph owns was used outside of that graph.
    #[error("{doing}: a buffer of a graph is used only by the nodes of that graph")]
    BufferOfGraph {
        /// What was being done.
        doing: String,
    },

    /// One buffer of a graph as two arguments of a kernel, of which it writes at least one.
    #[error("a buffer is passed to a kernel twice, and the kernel writes to it")]
    AliasedBuffer,

    /// A texture and a surface of one array as two arguments of a launch: what the texture would
    /// read of what the surface writes is undefined.
    #[error(
        "the kernel `{kernel}` would read an array by a texture and write it by a surface in the \
        same launch: read it by the surface, or launch two kernels"
    )]
    AliasedImage {
        /// The kernel.
        kernel: String,
    },

    /// A node of a graph cannot come after one that was added later.
    #[error("a node of a graph can only be told to come after nodes that were added before it")]
    GraphOrder,

    /// A closure that fills the body of a conditional node put another graph in the place of its
    /// graph. Neither graph can be used any further.
    #[error(
        "the closure that fills the body of a conditional node exchanged the graph for another one"
    )]
    GraphExchanged,

    /// A condition of the graph has no conditional node, so the driver would refuse the graph.
    #[error("a condition of the graph has no conditional node")]
    UnusedCondition,

    /// A second conditional node was added for one condition.
    #[error("the condition has a conditional node already: each node needs a condition of its own")]
    UsedCondition,

    /// A node of another kind was expected.
    #[error("the node of the graph is not a launch of a kernel")]
    GraphNodeKind,

    /// A node cannot be changed by itself: it is in the body of a conditional node or in a child
    /// graph, or the graph was updated since the node was added.
    #[error("the node cannot be changed by itself, only by an update of the whole graph")]
    GraphNode,

    /// A graph cannot be updated to one that differs too much.
    #[error("updating a graph to another one: {reason}")]
    GraphUpdate {
        /// In what they differ.
        reason: crate::graph::GraphUpdateFailure,
    },

    /// A launch in a graph that was to be changed would use other buffers, or use them otherwise.
    #[error(
        "the node of the graph would use other buffers than before, or write to what it only read: \
        the order of the graph's nodes would no longer be right"
    )]
    GraphUses,

    /// A launch in a graph that may begin early, or a launch in a graph that is changed to one with
    /// attributes.
    #[error(
        "launches in graphs do not begin early, and keep the attributes that they were added with"
    )]
    GraphLaunchAttribute,

    /// A tensor of another library that cannot be taken over.
    #[error("the tensor cannot be used: {reason}")]
    Tensor {
        /// What is wrong with it.
        reason: String,
    },

    /// Another library's part of an exchange failed.
    #[error("{doing}: {reason}")]
    Foreign {
        /// What was being done.
        doing: &'static str,
        /// What the other library said.
        reason: String,
    },

    /// The two sides of a copy differ in length.
    #[error("{doing}: the source has {source_len} elements, the destination {destination_len}")]
    SizeMismatch {
        /// What was being done.
        doing: &'static str,
        /// Elements to be copied.
        source_len: usize,
        /// Elements that there is room for.
        destination_len: usize,
    },

    /// A range that lies outside a buffer.
    #[error("the range {start}..{end} is not inside a buffer of {len} elements")]
    OutOfBounds {
        /// The first element asked for.
        start: usize,
        /// One past the last element asked for.
        end: usize,
        /// The buffer's length.
        len: usize,
    },

    /// An allocation's size in bytes does not fit the address space.
    #[error("{len} elements of {element_size} bytes are more than the address space holds")]
    AllocationTooLarge {
        /// Elements asked for.
        len: usize,
        /// The size of one.
        element_size: usize,
    },

    /// A type whose alignment the driver's allocations do not have.
    #[error(
        "`{type_name}` is aligned to {align} bytes, and allocations are aligned to {most} bytes"
    )]
    Alignment {
        /// The type of the elements.
        type_name: &'static str,
        /// Its alignment.
        align: usize,
        /// The alignment of allocations.
        most: usize,
    },

    /// PTX that is newer than the driver understands.
    #[error(transparent)]
    PtxTooNew(Box<PtxTooNew>),

    /// Text that is no PTX, or PTX that the driver's compiler refuses.
    #[error(transparent)]
    InvalidPtx(Box<InvalidPtx>),

    /// A module that is not for this device.
    #[error(transparent)]
    WrongDevice(Box<WrongDevice>),

    /// A file that could not be read.
    #[error("reading `{path}`: {reason}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
    },

    /// A name that contains a NUL byte, which no name in a module does.
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
        /// The name asked for.
        name: String,
        /// The kernels it has, as far as the driver tells.
        available: Vec<String>,
    },

    /// The module has no global variable of this name.
    #[error("the module has no global variable `{name}`")]
    GlobalNotFound {
        /// The name asked for.
        name: String,
    },

    /// A global variable is not of the size of the type asked for.
    #[error(
        "the global variable `{name}` has {found} bytes, but the type asked for has {expected}"
    )]
    GlobalSize {
        /// The variable.
        name: String,
        /// The size of the type.
        expected: usize,
        /// The variable's size.
        found: usize,
    },

    /// A kernel of a crate was asked of a module that is not known to be built from that crate.
    #[error(
        "the module is not known to be built from the package `{package}`, which the kernel \
        `{kernel}` is of. Load a module that `cuda_builder` embedded, with `cust::include_module!`"
    )]
    ForeignModule {
        /// The kernel.
        kernel: &'static str,
        /// The package that it is in.
        package: &'static str,
    },

    /// A kernel of the program was asked of a module that
    /// [`Module::own`](crate::module::Module::own) loaded for a kernel of another crate.
    #[error(
        "the module does not have the kernel `{kernel}`, which is compiled with another crate of the \
        program. Load the module that has it with `Module::own::<{kernel}>()`"
    )]
    OtherCrate {
        /// The kernel.
        kernel: &'static str,
    },

    /// A static that several modules of the program have.
    #[error(
        "the program has the static `{global}` more than once: kernels that different crates launch use \
        it, and the device code of each crate has its own. Load one of the modules with `Module::own`"
    )]
    SeveralGlobals {
        /// The static.
        global: &'static str,
    },

    /// A kernel or a static has another type in the module than in this program.
    #[error(transparent)]
    Signature(Box<SignatureMismatch>),

    /// A typed global variable of a module that may be built from something else.
    #[error(
        "the module is not known to be built from the package `{package}`, which the static \
        `{global}` is of. Load a module that `cuda_builder` embedded, with `cust::include_module!`"
    )]
    ForeignGlobal {
        /// The static.
        global: &'static str,
        /// The package that it is in.
        package: &'static str,
    },

    /// Kernels call functions of the device's runtime library, which is not there.
    #[error(
        "the kernels need NVIDIA's `libcudadevrt.a`, which is part of the CUDA toolkit; set \
        CUST_CUDADEVRT to where it is. Not found: {}",
        searched.join(", ")
    )]
    DeviceRuntime {
        /// Where it was looked for.
        searched: Vec<String>,
    },

    /// The linker for LTO-IR cannot be used.
    #[error("NVIDIA's nvJitLink, which is part of the CUDA toolkit, cannot be used: {reason}")]
    NoLinker {
        /// Why not.
        reason: String,
    },

    /// The linker for LTO-IR refused something.
    #[error("{doing}: nvJitLink's error {code}{}", log_text(log))]
    Linker {
        /// What was being done.
        doing: String,
        /// The linker's number of the error.
        code: i32,
        /// What the linker says of it.
        log: String,
    },

    /// A kernel that needs more shared memory than a block can have.
    #[error(transparent)]
    SharedMemory(Box<SharedMemory>),

    /// A launch with sizes that the kernel or the device does not allow.
    #[error(transparent)]
    LaunchSize(Box<LaunchSize>),

    /// A launch on the CPU that could not be carried out.
    #[error(transparent)]
    CpuLaunch(Box<CpuLaunch>),

    /// A launch with too few or too many arguments.
    #[error(
        "the kernel `{kernel}` takes {expected} parameters, but {found} arguments were given \
        (a slice is two: pointer and length; a zero-sized argument is none)"
    )]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// The parameters of its entry in the module.
        expected: usize,
        /// Arguments that take up space.
        found: usize,
    },

    /// A launch with an argument of a size that its parameter does not have.
    #[error(
        "argument {index} of the kernel `{kernel}` is a {type_name} of {found} bytes, \
        but the parameter has {expected}"
    )]
    ArgumentSize {
        /// The kernel.
        kernel: String,
        /// The argument's position, from 0.
        index: usize,
        /// Its type in Rust.
        type_name: &'static str,
        /// The parameter's size in bytes.
        expected: usize,
        /// The argument's size in bytes.
        found: usize,
    },

    /// A launch in a graph with elements of the host's memory, which are there for one launch only.
    #[error(
        "{doing}: slices of the host cannot be arguments of a graph's launches\n\
        help: give the graph a buffer with `GraphBuilder::buffer`"
    )]
    HostMemoryInGraph {
        /// What was being done.
        doing: String,
    },

    /// A launch by [`Stream::launch`](crate::stream::Stream::launch) in a program without device code
    /// of its own.
    #[error(
        "launching the kernel `{kernel}`: the program has no embedded device code\n\
        help: build it with `cargo cuda`, or launch the kernel from a module that `cuda_builder` \
        built, with `Module::launch`"
    )]
    NoDeviceCode {
        /// The kernel.
        kernel: &'static str,
    },

    /// A launch by [`Stream::launch`](crate::stream::Stream::launch) of a kernel that the program's
    /// device code lacks.
    #[error(
        "launching the kernel `{kernel}`: the program's device code does not have it; the crate \
        `{package}` was compiled without `cargo cuda`"
    )]
    NotEmbedded {
        /// The kernel.
        kernel: &'static str,
        /// The package that it is in.
        package: &'static str,
    },

    /// A launch with a texture or a surface that shows something else than its parameter reads.
    #[error(transparent)]
    Image(Box<ImageMismatch>),
}

/// `main` and `unwrap` print errors by `Debug`: the same text as by `Display`. What an error is made of
/// can be had from its fields.
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

/// `prefix a, b, c`, or that nothing is known.
fn list_names(prefix: &str, names: &[String]) -> String {
    const SHOWN: usize = 20;
    if names.is_empty() {
        return "it has no kernels".to_owned();
    }
    // The order of drivers differs.
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
    /// The driver's code, where the driver is what failed.
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

    /// Whether the context is gone or lost, so that no work in it runs any more.
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

    /// The panic, if a kernel panicked.
    pub fn panic(&self) -> Option<&KernelPanic> {
        match self {
            Error::KernelPanic(panic) => Some(panic),
            _ => None,
        }
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
    /// The driver's text for the code.
    pub text: String,
    /// What was being done, with names and sizes.
    pub doing: String,
    /// What else is known, such as where in the kernel the emulator found the fault.
    pub detail: Option<String>,
    /// For a fault in a kernel, the kernels that may have been running: launched, and not known to
    /// be done when the error came.
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
    /// How many bytes of the message did not fit the report.
    pub truncated: usize,
    /// The source file; empty where the location is not known, as for an allocation that fails behind a
    /// call through a pointer.
    pub file: String,
    /// The line in it.
    pub line: u32,
    /// The column in that line.
    pub column: u32,
    /// The index of the thread's block in the grid.
    pub block: [u32; 3],
    /// The index of the thread in its block.
    pub thread: [u32; 3],
    /// The kernels of the module that were launched and not yet waited for: one of them panicked.
    pub kernels: Vec<String>,
}

impl KernelPanic {
    /// The kernel that panicked, if only one of the module's can have been running.
    pub fn kernel(&self) -> Option<&str> {
        match &self.kernels[..] {
            [kernel] => Some(kernel),
            _ => None,
        }
    }

    /// Whether it is the report of `cuda_std`'s allocator.
    pub(crate) fn is_out_of_heap(&self) -> bool {
        self.message.starts_with("memory allocation of ")
            && self
                .message
                .ends_with(" bytes failed: the device's heap is used up")
    }

    /// Adds the heap's size and what to do.
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

/// A stack overflow that a recursive function found before it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StackOverflow {
    /// The function that was entered.
    pub function: String,
    /// The bytes of stack that were left in it.
    pub left: i32,
    /// The stack's size in bytes, as the context's limit is now.
    pub limit: Option<usize>,
    /// The index of the thread's block in the grid.
    pub block: [u32; 3],
    /// The index of the thread in its block.
    pub thread: [u32; 3],
    /// The kernels of the module that were launched and not yet waited for: one of them did it.
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
        f.write_str(
            "\nhelp: set the stack of the kernel with `#[kernel(stack_size = BYTES)]`, that of all \
             recursion with `CudaBuilder::recursion_depth`, or the limit with \
             `Context::set_resource_limit(ResourceLimit::StackSize, BYTES)`",
        )
    }
}

impl std::error::Error for StackOverflow {}

/// PTX of a newer version than the driver knows.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the driver, of CUDA {driver}, is too old for this PTX{}. Update the driver, or build a cubin \
     for this device's architecture, which older drivers load too",
    version_text(ptx)
)]
#[non_exhaustive]
pub struct PtxTooNew {
    /// The PTX's version, if it could be read from the text.
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
    /// What is wrong.
    pub reason: String,
    /// The log of the driver's compiler.
    pub log: String,
    /// The driver's code, unless the text was refused before it reached the driver.
    pub code: Option<CudaError>,
}

fn log_text(log: &str) -> String {
    match log.trim() {
        "" => String::new(),
        log => format!("\n{log}"),
    }
}

/// A launch with sizes that the kernel or the device does not allow.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("launching the kernel `{kernel}` with grid {grid} and block {block}: {reason}")]
#[non_exhaustive]
pub struct LaunchSize {
    /// The kernel.
    pub kernel: String,
    /// The grid asked for.
    pub grid: GridSize,
    /// The block asked for.
    pub block: BlockSize,
    /// What does not fit, and what would.
    pub reason: String,
}

/// A launch on the CPU that could not be carried out, and why.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("running the kernel `{kernel}` on the CPU: {reason}")]
#[non_exhaustive]
pub struct CpuLaunch {
    /// The kernel.
    pub kernel: String,
    /// What went wrong.
    pub reason: CpuFault,
}

/// Why a launch on the CPU could not be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CpuFault {
    /// The kernel, or its launch, uses what only a device has: a function, by its name, or clusters.
    #[error("{0} has no form on the CPU\nhelp: launch it on a device, or on the PTX emulator")]
    Unsupported(String),
    /// An argument of this type is in memory of a device.
    #[error(
        "an argument of the type `{0}` is in memory of a device\nhelp: pass slices, arrays or `Vec`s of the \
        host"
    )]
    DeviceMemory(&'static str),
    /// Threads of a block wait for others that never come.
    #[error("in block ({}, {}, {}), {waiting}, and no thread is left that could come", .block[0], .block[1], .block[2])]
    Deadlock {
        /// The block's index.
        block: [u32; 3],
        /// How many threads wait, and where.
        waiting: String,
    },
    /// A barrier or an operation of a warp that no device can carry out.
    #[error("{0}")]
    Invalid(String),
    /// The kernel called `trap`.
    #[error("the kernel trapped")]
    Trap,
    /// The program is compiled with `panic = "abort"`, so that threads cannot end.
    #[error("the program is compiled with `panic = \"abort\"`\nhelp: leave it out of the profile")]
    NoUnwinding,
    /// The operating system provided no thread or no stack.
    #[error("the system provides no more threads or stacks: {0}")]
    System(String),
}

/// A texture or a surface that shows something else than the kernel's parameter reads.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the kernel `{kernel}` has a parameter {parameter}, which is {expected}, but the argument has \
    {found}"
)]
#[non_exhaustive]
pub struct ImageMismatch {
    /// The kernel.
    pub kernel: String,
    /// The parameter's type in Rust.
    pub parameter: &'static str,
    /// What the parameter shows.
    pub expected: String,
    /// What the texture or surface shows.
    pub found: String,
}

/// A kernel that needs more shared memory than a block can have: found when its module is loaded if
/// its own is too much, or at a launch that asks for too much besides.
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
    /// What was being done.
    pub doing: String,
    /// The kernel.
    pub kernel: String,
    /// Bytes of shared memory that it declares.
    pub own: u64,
    /// Bytes of dynamic shared memory that the launch asks for.
    pub dynamic: u64,
    /// The most bytes that a block can have.
    pub most: u64,
}

/// A binary module that does not fit the device.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{doing}: {reason}")]
#[non_exhaustive]
pub struct WrongDevice {
    /// What was being done.
    pub doing: String,
    /// Why it does not fit, and what would.
    pub reason: String,
    /// The driver's code, or the one that it would have returned.
    pub code: CudaError,
}

/// A kernel or a static that has another type in the module than in this program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignatureMismatch {
    /// The kernel's or static's name.
    pub name: String,
    /// Its signature in this program.
    pub host: String,
    /// Its signature in the module; empty if the module has none for it.
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
            "`{name}` is not the same in this program and in the module\n  host:   {host}\n  device: \
            {device}\nhelp: build both from the same source, with the same features \
            (`CudaBuilder::features`) and the same versions of dependencies"
        )?;
        let by_compiler = host.contains("laid out by") || device.contains("laid out by");
        if by_compiler {
            f.write_str(
                "\nhelp: build both with the same compiler, or give each type whose layout is the \
                compiler's choice a `repr(C)` or `repr(u32)`",
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
        assert_eq!(unknown, CudaError::Unrecognised(123_456));
        assert_eq!(unknown.to_string(), "CUDA error 123456");
    }

    #[test]
    fn results_stay_small() {
        assert!(size_of::<Error>() <= 80);
    }
}
