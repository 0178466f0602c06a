//! Optimizes a module with the LLVM of the pinned toolchain, before libnvvm compiles it.
//!
//! libnvvm's own optimizer is LLVM 7. It does not unroll loops over Rust's iterators early enough to
//! keep arrays in registers, does not finish with some functions, and needs large stack frames for
//! values that move through many calls. LLVM is already in this process, since rustc is linked with it:
//! its C API is looked up at run time. It runs in a child process, so that it can be stopped, its options do
//! not apply to host code, and a crash of it costs only the optimization.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::time::Duration;

use libloading::os::unix::Library;
use nvvm_ir::Module;
use nvvm_ir::llvm::Exchange;
use rustc_session::Session;
use rustc_session::config::OptLevel;

use crate::inlining;
use crate::pipeline::Dumper;

type Handle = *mut c_void;

/// LLVM's functions that are called here (llvm-c, `Core.h`, `IRReader.h`, `Transforms/PassBuilder.h`).
macro_rules! functions {
    ($($field:ident = $name:literal: fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        struct Llvm { $($field: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)* }

        impl Llvm {
            /// Looks them up among the libraries that this process is linked with.
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
    memory_buffer = b"LLVMCreateMemoryBufferWithMemoryRangeCopy\0":
        fn(*const c_char, usize, *const c_char) -> Handle;
    parse = b"LLVMParseIRInContext\0": fn(Handle, Handle, *mut Handle, *mut *mut c_char) -> c_int;
    print = b"LLVMPrintModuleToString\0": fn(Handle) -> *mut c_char;
    parse_options = b"LLVMParseCommandLineOptions\0":
        fn(c_int, *const *const c_char, *const c_char);
    pass_options = b"LLVMCreatePassBuilderOptions\0": fn() -> Handle;
    set_inliner_threshold = b"LLVMPassBuilderOptionsSetInlinerThreshold\0": fn(Handle, c_int);
    run_passes = b"LLVMRunPasses\0": fn(Handle, *const c_char, Handle, Handle) -> Handle;
    error_message = b"LLVMGetErrorMessage\0": fn(Handle) -> *mut c_char;
}

/// LLVM's options, which have no place in the C API.
const OPTIONS: [&CStr; 7] = [
    c"rustc_codegen_nvvm",
    // Lanes are threads here: vectors are for 16-byte accesses, which libnvvm makes.
    c"-vectorize-slp=false",
    c"-vectorize-loops=false",
    // Arrays of a thread become registers only if all loops over them are unrolled.
    c"-unroll-threshold=600",
    inlining::LLVM_RECURSIVE,
    // LLVM 23.1 makes multiplications of `i256` of those of `u128`, which libnvvm has not: tests/run,
    // `fmodf128`.
    c"-opt-disable=aggressive-instcombine",
    c"-opt-disable-enable-verbosity=false",
];

/// The CPU time that LLVM has: so much, and so much for each byte of text.
const TIME: Duration = Duration::from_secs(10);
const TIME_PER_MEGABYTE: Duration = Duration::from_secs(5);

/// What was not possible.
#[derive(Debug)]
pub(crate) enum Failure {
    /// LLVM is not there, refused the text, crashed or took too long.
    Llvm(String),
    /// What it made of the text could not be read.
    Read(nvvm_ir::ReadError),
    /// The module that was read is wrong.
    Verify(nvvm_ir::VerifyError),
    /// The legalizer has no replacement for something in it.
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
    dumper: &Dumper<'_>,
) -> Result<Module, Failure> {
    static LLVM: OnceLock<Option<Llvm>> = OnceLock::new();
    let Some(llvm) = LLVM.get_or_init(Llvm::find) else {
        return Err(Failure::Llvm("rustc is not linked with LLVM".to_owned()));
    };
    // Twice: what unrolling made of loops shows only at the end of the first run. Conditions that do
    // not change in a loop are taken out of it by the second run alone (`O3`), since the copies of the
    // loop are in the way of unrolling.
    let passes: &[&CStr] = match sess.opts.optimize {
        OptLevel::Less => &[c"default<O1>"],
        // LLVM 23 has no pipelines for size, and exits if it is asked for one.
        OptLevel::More | OptLevel::Size | OptLevel::SizeMin => &[c"default<O2>"],
        OptLevel::No | OptLevel::Aggressive => &[c"default<O2>", c"default<O3>"],
    };
    let exchange = Exchange::new(module);
    dumper.dump("for_llvm.ll", || exchange.text.clone());
    let text = run(llvm, &exchange.text, passes).map_err(Failure::Llvm)?;
    dumper.dump("llvm.ll", || text.clone());
    let optimized = exchange.read(&text, module).map_err(Failure::Read)?;
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

/// Runs LLVM on a text in a child process.
fn run(llvm: &Llvm, text: &str, passes: &[&CStr]) -> Result<String, String> {
    let limit = TIME + TIME_PER_MEGABYTE * (text.len() >> 20) as u32;
    // What goes wrong is told by the first byte.
    let work = || {
        // SAFETY: the child has one thread, and the handles come from LLVM.
        Some(match unsafe { run_here(llvm, text, passes) } {
            Ok(text) => [b"+", text.as_bytes()].concat(),
            Err(message) => [b"-", message.as_bytes()].concat(),
        })
    };
    let output = nvvm::in_child(limit, work)
        .map_err(|error| format!("no process for LLVM: {error}"))?
        .ok_or_else(|| format!("LLVM crashed, or took longer than {} s", limit.as_secs()))?;
    let Some((kind, text)) = output.split_first() else {
        return Err("LLVM returned nothing".to_owned());
    };
    let text = String::from_utf8_lossy(text).into_owned();
    if *kind == b'+' { Ok(text) } else { Err(text) }
}

/// # Safety
/// To be called once in a process that ends soon: LLVM's options are changed, and nothing is freed.
unsafe fn run_here(llvm: &Llvm, text: &str, passes: &[&CStr]) -> Result<String, String> {
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
        let text = CString::new(text).map_err(|_| "a zero in the text".to_owned())?;
        let bytes = text.as_bytes();
        let buffer = (llvm.memory_buffer)(text.as_ptr(), bytes.len(), c"kernels".as_ptr());
        let (mut module, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
        if (llvm.parse)(context, buffer, &mut module, &mut message) != 0 {
            return Err(string(message));
        }
        let pass_options = (llvm.pass_options)();
        (llvm.set_inliner_threshold)(pass_options, inlining::LLVM_THRESHOLD);
        for passes in passes {
            let error =
                (llvm.run_passes)(module, passes.as_ptr(), std::ptr::null_mut(), pass_options);
            if !error.is_null() {
                return Err(string((llvm.error_message)(error)));
            }
        }
        Ok(string((llvm.print)(module)))
    }
}
