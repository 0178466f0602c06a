//! Optimizes a module with the LLVM of the pinned toolchain, before libnvvm compiles it.
//!
//! libnvvm's own optimizer is LLVM 7. It does not unroll loops over Rust's iterators early enough
//! to keep arrays in registers, does not terminate on some functions, and needs large stack frames
//! for values that move through many calls. rustc is linked with LLVM, so this module looks up
//! LLVM's C API in the process at run time. LLVM runs in a child process: there it can be stopped,
//! its options do not apply to host code, and a crash costs only the optimization.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::time::Duration;

use libloading::os::unix::Library;
use nvvm_ir::llvm::{Exchange, Messages};
use nvvm_ir::{Module, passes};
use rustc_session::Session;
use rustc_session::config::OptLevel;

use crate::inlining;
use crate::pipeline::Dumper;

type Handle = *mut c_void;

/// Declares the functions of LLVM's C API that this module calls (`llvm-c/Core.h`, `IRReader.h`,
/// `Transforms/PassBuilder.h`).
macro_rules! functions {
    ($($field:ident = $name:literal: fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        struct Llvm { $($field: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)* }

        impl Llvm {
            /// Looks the functions up in the libraries that this process is linked with.
            fn find() -> Option<Llvm> {
                let this = Library::this();
                // SAFETY: the signatures are those of LLVM's headers.
                unsafe {
                    Some(Llvm { $($field: *this.get($name).ok()?,)* })
                }
            }
        }
    };
}

functions! {
    context_create = b"LLVMContextCreate\0": fn() -> Handle;
    discard_value_names = b"LLVMContextSetDiscardValueNames\0": fn(Handle, c_int);
    memory_buffer = b"LLVMCreateMemoryBufferWithMemoryRangeCopy\0":
        fn(*const c_char, usize, *const c_char) -> Handle;
    parse = b"LLVMParseIRInContext\0": fn(Handle, Handle, *mut Handle, *mut *mut c_char) -> c_int;
    print = b"LLVMPrintModuleToString\0": fn(Handle) -> *mut c_char;
    parse_options = b"LLVMParseCommandLineOptions\0":
        fn(c_int, *const *const c_char, *const c_char);
    pass_options = b"LLVMCreatePassBuilderOptions\0": fn() -> Handle;
    set_loop_unrolling = b"LLVMPassBuilderOptionsSetLoopUnrolling\0": fn(Handle, c_int);
    set_inliner_threshold = b"LLVMPassBuilderOptionsSetInlinerThreshold\0": fn(Handle, c_int);
    named_function = b"LLVMGetNamedFunction\0": fn(Handle, *const c_char) -> Handle;
    first_use = b"LLVMGetFirstUse\0": fn(Handle) -> Handle;
    user = b"LLVMGetUser\0": fn(Handle) -> Handle;
    erase = b"LLVMInstructionEraseFromParent\0": fn(Handle);
    add_function = b"LLVMAddFunction\0": fn(Handle, *const c_char, Handle) -> Handle;
    delete_function = b"LLVMDeleteFunction\0": fn(Handle);
    void_type = b"LLVMVoidTypeInContext\0": fn(Handle) -> Handle;
    function_type = b"LLVMFunctionType\0": fn(Handle, *const Handle, c_uint, c_int) -> Handle;
    attribute_kind = b"LLVMGetEnumAttributeKindForName\0": fn(*const c_char, usize) -> c_uint;
    attribute = b"LLVMCreateEnumAttribute\0": fn(Handle, c_uint, u64) -> Handle;
    add_attribute = b"LLVMAddAttributeAtIndex\0": fn(Handle, c_uint, Handle);
    first_block = b"LLVMGetFirstBasicBlock\0": fn(Handle) -> Handle;
    next_block = b"LLVMGetNextBasicBlock\0": fn(Handle) -> Handle;
    terminator = b"LLVMGetBasicBlockTerminator\0": fn(Handle) -> Handle;
    builder = b"LLVMCreateBuilderInContext\0": fn(Handle) -> Handle;
    position_before = b"LLVMPositionBuilderBefore\0": fn(Handle, Handle);
    build_call = b"LLVMBuildCall2\0":
        fn(Handle, Handle, Handle, *const Handle, c_uint, *const c_char) -> Handle;
    run_passes = b"LLVMRunPasses\0": fn(Handle, *const c_char, Handle, Handle) -> Handle;
    error_message = b"LLVMGetErrorMessage\0": fn(Handle) -> *mut c_char;
}

/// LLVM's command line. These options are not in the C API.
const OPTIONS: [&CStr; 8] = [
    c"rustc_codegen_nvvm",
    // A GPU thread has no vector arithmetic, and libnvvm vectorizes loads and stores.
    c"-vectorize-slp=false",
    c"-vectorize-loops=false",
    // An array is in registers only if all loops over it are unrolled.
    c"-unroll-threshold=600",
    inlining::LLVM_RECURSIVE,
    // LLVM asks the target whether 64-bit additions cost more than 32-bit ones, and here it has none.
    // `nvvm_ir`'s `widen_counters` widens the counters of loops that libnvvm unrolls.
    c"-indvars-widen-indvars=false",
    // LLVM 23.1 combines multiplications of `u128` into multiplications of `i256`, which libnvvm
    // does not support: `fmodf128` in tests/run.
    c"-opt-disable=aggressive-instcombine",
    // Else LLVM writes a line to the standard error for every run of a pass.
    c"-opt-bisect-verbose=false",
];

/// The option for the runs of LLVM that unroll loops.
///
/// In a loop, jump threading removes the test of a `None` that the same iteration has set. In a loop
/// that has been unrolled, it also skips tests of later iterations, and then the threads of a warp
/// that took different branches in one iteration do not meet before the next.
const WITHOUT_THREADING: &CStr = c"-opt-disable=jump-threading";

/// The CPU time limit of LLVM, to which [`TIME_PER_MEGABYTE`] of the module's text is added.
const TIME: Duration = Duration::from_secs(10);
const TIME_PER_MEGABYTE: Duration = Duration::from_secs(5);

/// Why LLVM did not optimize the module.
#[derive(Debug)]
pub(crate) enum Failure {
    /// LLVM was not found, rejected the module, crashed or exceeded its time limit.
    Llvm(String),
    /// LLVM's output cannot be read.
    Read(nvvm_ir::ReadError),
    /// LLVM's output is not valid.
    Verify(nvvm_ir::VerifyError),
    /// The legalizer cannot handle an instruction of LLVM's output.
    Legalize(Option<nvvm_ir::legalize::LegalizeError>),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Llvm(message) => f.write_str(message),
            Failure::Read(error) => write!(f, "line {error}"),
            Failure::Verify(error) => error.fmt(f),
            Failure::Legalize(Some(error)) => error.fmt(f),
            Failure::Legalize(None) => f.write_str("legalization failed"),
        }
    }
}

/// Optimizes a module that the verifier accepts.
pub(crate) fn optimize(
    sess: &Session,
    module: &Module,
    messages: Option<&Messages>,
    dumper: &Dumper<'_>,
) -> Result<Module, Failure> {
    static LLVM: OnceLock<Option<Llvm>> = OnceLock::new();
    let Some(llvm) = LLVM.get_or_init(Llvm::find) else {
        return Err(Failure::Llvm("rustc is not linked with LLVM".to_owned()));
    };
    let runs = Run::all(sess.opts.optimize);
    let exchange = Exchange::new(module);
    dumper.dump("for_llvm.ll", || exchange.text.clone());
    let inlining = runs.iter().take_while(|run| !run.unrolls).count();
    let defers = inlining > 0 && Exchange::may_defer_unrolling(module);
    let text = if inlining > 0 {
        let inlined = run(llvm, &exchange.text, &runs[..inlining]).map_err(Failure::Llvm)?;
        dumper.dump("inlined.ll", || inlined.clone());
        let text = Exchange::before_unrolling(&inlined, messages, defers).map_err(Failure::Read)?;
        run(llvm, &text, &runs[inlining..]).map_err(Failure::Llvm)?
    } else {
        run(llvm, &exchange.text, &runs).map_err(Failure::Llvm)?
    };
    dumper.dump("llvm.ll", || text.clone());
    let mut optimized = exchange.read(&text, module).map_err(Failure::Read)?;
    if defers {
        passes::resume_unrolling(&mut optimized);
    }
    match nvvm_ir::verify(&optimized) {
        Ok(()) => Ok(optimized),
        Err(errors) => Err(Failure::Verify(
            errors
                .into_iter()
                .next()
                .unwrap_or_else(|| unreachable!("there is an error")),
        )),
    }
}

/// One run of LLVM's optimizer.
#[derive(Clone, Copy)]
struct Run {
    passes: &'static CStr,
    unrolls: bool,
    /// Whether jump threading is enabled: see [`WITHOUT_THREADING`].
    threads: bool,
    /// Whether the run moves invariant conditions out of loops.
    unswitches: bool,
}

impl Run {
    /// Returns the runs for an optimization level.
    ///
    /// The first one does not unroll: see [`WITHOUT_THREADING`]. Two more runs, since the second one
    /// unrolls some loops only at its end. Only the last one (`O3`) moves loop-invariant conditions
    /// out of loops: the copies of a loop that result prevent unrolling.
    fn all(level: OptLevel) -> Vec<Run> {
        let single = |passes| {
            vec![Run {
                passes,
                unrolls: true,
                threads: true,
                unswitches: false,
            }]
        };
        let unrolling = |passes| Run {
            passes,
            unrolls: true,
            threads: false,
            unswitches: false,
        };
        match level {
            OptLevel::Less => single(c"default<O1>"),
            // LLVM 23 has no pipelines for size, and exits if one is requested.
            OptLevel::More | OptLevel::Size | OptLevel::SizeMin => single(c"default<O2>"),
            OptLevel::No | OptLevel::Aggressive => vec![
                Run {
                    passes: c"default<O2>",
                    unrolls: false,
                    threads: true,
                    unswitches: false,
                },
                unrolling(c"default<O2>"),
                // Loops of few iterations whose exact number is not constant, such as those over a
                // slice's elements in steps of a warp: the lane is below 32.
                unrolling(c"function(loop-simplify,lcssa,loop-unroll<O3;no-partial;no-peeling;no-runtime;upperbound>)"),
                Run {
                    unswitches: true,
                    ..unrolling(c"default<O3>")
                },
            ],
        }
    }
}

/// Runs LLVM on a module's text in a child process.
fn run(llvm: &Llvm, text: &str, runs: &[Run]) -> Result<String, String> {
    let limit = TIME + TIME_PER_MEGABYTE * (text.len() >> 20) as u32;
    // The first byte of the child's output tells whether the rest is a module or an error.
    let work = || {
        // SAFETY: the child has one thread, and the handles come from LLVM.
        Some(match unsafe { run_here(llvm, text, runs) } {
            Ok(text) => [b"+", text.as_bytes()].concat(),
            Err(message) => [b"-", message.as_bytes()].concat(),
        })
    };
    let output = nvvm::in_child(limit, work)
        .map_err(|error| format!("cannot start a process for LLVM: {error}"))?
        .ok_or_else(|| format!("LLVM crashed or exceeded {} s of CPU time", limit.as_secs()))?;
    let Some((kind, text)) = output.split_first() else {
        return Err("LLVM returned nothing".to_owned());
    };
    let text = String::from_utf8_lossy(text).into_owned();
    if *kind == b'+' { Ok(text) } else { Err(text) }
}

/// # Safety
/// May be called only once in a process, since it sets LLVM's options. The process should exit soon
/// after: LLVM's objects are leaked.
unsafe fn run_here(llvm: &Llvm, text: &str, runs: &[Run]) -> Result<String, String> {
    let string = |text: *mut c_char| {
        // SAFETY: LLVM returns C strings.
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    };
    // SAFETY: all handles come from LLVM, strings end with zero, and out-pointers are valid.
    unsafe {
        let options = OPTIONS.map(CStr::as_ptr);
        (llvm.parse_options)(options.len() as c_int, options.as_ptr(), std::ptr::null());
        let context = (llvm.context_create)();
        let text = CString::new(text).map_err(|_| "the module contains a null byte".to_owned())?;
        let bytes = text.as_bytes();
        let buffer = (llvm.memory_buffer)(text.as_ptr(), bytes.len(), c"kernels".as_ptr());
        let (mut module, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
        if (llvm.parse)(context, buffer, &mut module, &mut message) != 0 {
            return Err(string(message));
        }
        // The names of inlined blocks would be most of the text. LLVM's reader needs names.
        (llvm.discard_value_names)(context, 1);
        let pass_options = (llvm.pass_options)();
        (llvm.set_inliner_threshold)(pass_options, inlining::LLVM_THRESHOLD);
        let mut threads = true;
        for run in runs {
            (llvm.set_loop_unrolling)(pass_options, c_int::from(run.unrolls));
            if threads && !run.threads {
                threads = false;
                let options = [OPTIONS[0], WITHOUT_THREADING].map(CStr::as_ptr);
                (llvm.parse_options)(options.len() as c_int, options.as_ptr(), std::ptr::null());
                remove_lifetimes(llvm, module);
            }
            let marker = match run.unswitches {
                true => mark_divergent_loops(llvm, context, module, &string((llvm.print)(module))),
                false => None,
            };
            let error = (llvm.run_passes)(
                module,
                run.passes.as_ptr(),
                std::ptr::null_mut(),
                pass_options,
            );
            if !error.is_null() {
                return Err(string((llvm.error_message)(error)));
            }
            if marker.is_some() {
                let marker = (llvm.named_function)(module, MARKER.as_ptr());
                if !marker.is_null() {
                    remove_calls(llvm, marker);
                    (llvm.delete_function)(marker);
                }
            }
        }
        Ok(string((llvm.print)(module)))
    }
}

/// Removes the markers of local variables' lifetimes.
///
/// They have served to merge variables of inlined functions, and libnvvm gets none. Around the
/// arrays of an unrolled loop, they leave loads and checks in place that LLVM 23 removes without
/// them: a texture compression has 13 % fewer instructions, and no other of 166 kernels has more.
///
/// # Safety
/// `module` is a module of LLVM's.
unsafe fn remove_lifetimes(llvm: &Llvm, module: Handle) {
    for marker in [c"llvm.lifetime.start.p0", c"llvm.lifetime.end.p0"] {
        // SAFETY: as above; only calls use a marker.
        unsafe {
            let function = (llvm.named_function)(module, marker.as_ptr());
            if function.is_null() {
                continue;
            }
            remove_calls(llvm, function);
        }
    }
}

/// Removes all calls of a function.
///
/// # Safety
/// `function` is a function of LLVM's that only calls use, whose results nothing uses.
unsafe fn remove_calls(llvm: &Llvm, function: Handle) {
    // SAFETY: as above.
    unsafe {
        loop {
            let first = (llvm.first_use)(function);
            if first.is_null() {
                break;
            }
            (llvm.erase)((llvm.user)(first));
        }
    }
}

/// The function that [`mark_divergent_loops`] calls.
const MARKER: &CStr = c"__nvvm_keep_conditions";

/// The effects of the marker, as LLVM encodes them: it reads and writes memory that nothing else does.
const INACCESSIBLE: u64 = 3 << 2;

/// Keeps LLVM from moving conditions out of loops with one that differs between the threads of a warp:
/// see [`Exchange::divergent_loops`]. LLVM copies no loop with a convergent call. Returns the called
/// function, if any call was added.
///
/// # Safety
/// `module` is a module of LLVM's in `context`, and `text` its text.
unsafe fn mark_divergent_loops(
    llvm: &Llvm,
    context: Handle,
    module: Handle,
    text: &str,
) -> Option<Handle> {
    // What cannot be read now is an error at the end.
    let loops = Exchange::divergent_loops(text).ok()?;
    if loops.is_empty() {
        return None;
    }
    // SAFETY: all handles come from LLVM.
    unsafe {
        let void = (llvm.void_type)(context);
        let ty = (llvm.function_type)(void, std::ptr::null(), 0, 0);
        let marker = (llvm.add_function)(module, MARKER.as_ptr(), ty);
        let attributes = [
            (c"convergent", 0),
            (c"nounwind", 0),
            (c"willreturn", 0),
            (c"memory", INACCESSIBLE),
        ];
        for (name, value) in attributes {
            let kind = (llvm.attribute_kind)(name.as_ptr(), name.count_bytes());
            let attribute = (llvm.attribute)(context, kind, value);
            (llvm.add_attribute)(marker, c_uint::MAX, attribute);
        }
        let builder = (llvm.builder)(context);
        for (name, latch) in loops {
            let name = CString::new(name).ok()?;
            let mut block = (llvm.first_block)((llvm.named_function)(module, name.as_ptr()));
            for _ in 0..latch {
                block = (llvm.next_block)(block);
            }
            (llvm.position_before)(builder, (llvm.terminator)(block));
            (llvm.build_call)(builder, ty, marker, std::ptr::null(), 0, c"".as_ptr());
        }
        Some(marker)
    }
}
