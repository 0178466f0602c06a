//! Diagnostics about the environment: the requested architecture, the installed libnvvm, and
//! internal compiler errors.

use std::path::PathBuf;

use nvvm::{Arch, Error, Slow};
use rustc_errors::Diag;
use rustc_middle::ty::print::with_no_trimmed_paths;
use rustc_middle::ty::{Instance, TyCtxt};
use rustc_session::{EarlySession, Session};
use rustc_span::Span;

use crate::single_source;

/// Rejects an unknown architecture before anything is compiled.
pub(crate) fn check_arch(sess: &EarlySession) {
    let Some(cpu) = &sess.opts.cg.target_cpu else {
        return;
    };
    let unsupported = |name: &str| sess.target.unsupported_cpus.iter().any(|cpu| cpu == name);
    let message = match cpu.parse::<Arch>() {
        Ok(arch) if unsupported(&arch.sm()) => {
            format!("rustc no longer compiles for the GPU architecture `{cpu}`")
        }
        // libnvvm's architecture names differ from rustc's.
        Ok(arch) if arch.sm() == *cpu => return,
        _ => format!("unknown GPU architecture `{cpu}`"),
    };
    let known: Vec<String> = Arch::KNOWN
        .iter()
        .map(|arch| arch.sm())
        .filter(|name| !unsupported(name))
        .collect();
    sess.dcx()
        .struct_err(message)
        .with_note("it was requested with `-Ctarget-cpu`")
        .with_help(format!("the known architectures are {}", known.join(", ")))
        .emit();
    sess.dcx().abort_if_errors();
}

/// Notes that no stack size is known to suffice for recursion: one note for all cycles.
pub(crate) fn unbounded_stack(sess: &Session, cycles: &[ptx::stack::Cycle]) {
    const SHOWN: usize = 4;
    let Some(bytes) = cycles.iter().map(|cycle| cycle.bytes).max() else {
        return;
    };
    let mut diag = sess.dcx().struct_note(
        "the stack of kernels is not bounded: they may call functions that call themselves",
    );
    for cycle in cycles.iter().take(SHOWN) {
        diag.note(cycle.to_string());
    }
    if cycles.len() > SHOWN {
        diag.note(format!("… and {} further cycles", cycles.len() - SHOWN));
    }
    let option = match single_source::is_host(sess) {
        true => "the option `recursion-depth` in `NVVM_OPTIONS`",
        false => "`CudaBuilder::recursion_depth`",
    };
    diag.help(format!(
        "{bytes} bytes of stack are reserved for that; `#[kernel(stack_size = BYTES)]` or {option} \
         changes it"
    ));
    diag.emit();
}

/// Returns how to set an option of the backend: `builder` is `cuda_builder`'s function, `option`
/// the backend's name with the value.
fn setting(sess: &Session, builder: &str, option: &str) -> String {
    match single_source::is_host(sess) {
        true => format!("`{option}` in the environment variable `NVVM_OPTIONS`"),
        false => format!("`CudaBuilder::{builder}`, or `-Cllvm-args=--{option}`,"),
    }
}

/// Reports that libnvvm cannot be loaded.
pub(crate) fn no_libnvvm(sess: &Session, err: &Error) {
    match err {
        Error::NotFound { searched } => {
            let mut diag = sess.dcx().struct_err("libnvvm was not found");
            add_searched(&mut diag, searched);
            diag.emit();
        }
        Error::Broken { .. } => {
            let mut diag = sess.dcx().struct_err(err.to_string());
            diag.help(
                "set `CUDA_HOME`, or pass `-Cllvm-args=--cuda=DIR`, to use another CUDA toolkit",
            );
            diag.emit();
        }
        _ => {
            sess.dcx().err(err.to_string());
        }
    }
}

/// Warns that LLVM failed to optimize the program. libnvvm compiles it nevertheless.
pub(crate) fn not_pre_optimized(sess: &Session, failure: &crate::llvm::Failure) {
    let mut diag = sess
        .dcx()
        .struct_warn("LLVM did not optimize the kernels; only libnvvm optimizes them");
    diag.note(failure.to_string());
    diag.note("kernels may be slower and need more stack");
    our_fault(&mut diag);
    diag.emit();
}

/// Reports that libdevice is needed but not found.
pub(crate) fn no_libdevice(sess: &Session, function: &str, searched: &[PathBuf]) {
    let mut diag = sess.dcx().struct_err(format!(
        "libdevice was not found, but the program calls its function `{function}`"
    ));
    add_searched(&mut diag, searched);
    diag.emit();
}

fn add_searched(diag: &mut Diag<'_>, searched: &[PathBuf]) {
    let searched: Vec<String> = searched
        .iter()
        .map(|path| format!("`{}`", path.display()))
        .collect();
    diag.note(format!("searched: {}", searched.join(", ")));
    diag.help(
        "if a CUDA toolkit is installed, set the environment variable `CUDA_HOME` to its directory",
    );
    diag.help(format!(
        "otherwise, `{} DIR` downloads it; then set `CUDA_HOME` to DIR",
        cuda_toolkit::PIP_COMMAND.replace("python3 -m pip", "pip")
    ));
}

/// Reports that libnvvm rejected the module.
pub(crate) fn refused(sess: &Session, err: &Error, text: &str) {
    if let Error::UnsupportedArch {
        arch, supported, ..
    } = err
    {
        let supported: Vec<String> = supported.iter().map(|arch| arch.sm()).collect();
        sess.dcx()
            .struct_err(format!("the installed libnvvm does not support {arch}"))
            .with_note(format!("it supports {}", supported.join(", ")))
            .with_help("`-Ctarget-cpu` chooses the architecture, and `CUDA_HOME` the libnvvm")
            .emit();
        return;
    }
    let mut diag = sess
        .dcx()
        .struct_err(format!("libnvvm rejected the module: {err}"));
    let mut named = Vec::new();
    for entry in err.log() {
        let function = entry
            .line
            .and_then(|line| function_around(text, line as usize));
        if let Some(function) = function
            && !named.contains(&function)
        {
            diag.note(format!("the error is in the function `{function}`"));
            named.push(function);
        }
    }
    our_fault(&mut diag);
    diag.emit();
}

/// Adds the closing note of every internal compiler error.
pub(crate) fn our_fault(diag: &mut Diag<'_>) {
    diag.note(OUR_FAULT);
    diag.help(DUMP);
}

const OUR_FAULT: &str = "this is a bug in the codegen backend";
const DUMP: &str = "`-Cllvm-args=--dump=DIR` writes every stage of the module to a directory";

/// Warns that the parts of a split module could not be joined: it is compiled whole.
pub(crate) fn parts_not_joined(sess: &Session, error: &ptx::Error) {
    let mut diag = sess.dcx().struct_warn(format!(
        "the parts into which libnvvm split the module cannot be joined: {error}"
    ));
    our_fault(&mut diag);
    diag.emit();
}

/// Warns about a function that exceeded libnvvm's time limit.
pub(crate) fn left_unoptimized(sess: &Session, path: &str, slow: &Slow) {
    let mut diag = sess.dcx().struct_warn(format!(
        "libnvvm took more than {:.0} s to optimize the function `{path}`, which is left \
         unoptimized",
        slow.time.as_secs_f64()
    ));
    diag.note(format!("it was in the pass `{}`", slow.pass));
    let builder = format!("leave_unoptimized(\"{path}\")");
    let setting = setting(sess, &builder, &format!("leave-unoptimized={path}"));
    diag.help(format!(
        "{setting} saves that time and makes the result independent of the machine's speed"
    ));
    diag.emit();
}

/// Warns that large functions are left unoptimized, after several functions or something other than
/// a function exceeded the limit.
pub(crate) fn large_left_unoptimized(sess: &Session, limit: usize) {
    let mut diag = sess.dcx().struct_warn(format!(
        "libnvvm takes too long: functions of more than {limit} instructions are left unoptimized"
    ));
    let builder = format!("optimize_up_to({limit})");
    let setting = setting(sess, &builder, &format!("optimize-up-to={limit}"));
    diag.help(format!("{setting} saves that time"));
    diag.emit();
}

/// Warns that the whole program is left unoptimized: the last resort.
pub(crate) fn all_left_unoptimized(sess: &Session, krate: &str) {
    sess.dcx().warn(format!(
        "libnvvm takes too long: `{krate}` is compiled without optimization"
    ));
}

/// Warns about a function whose variables take much stack.
pub(crate) fn large_frame<'tcx>(
    tcx: TyCtxt<'tcx>,
    symbol: &str,
    instance: Option<Instance<'tcx>>,
    bytes: u64,
) {
    let name = match instance {
        Some(instance) => with_no_trimmed_paths!(instance.to_string()),
        None => symbol.to_owned(),
    };
    let message = format!("the stack frame of `{name}` has {bytes} bytes");
    let mut diag = tcx.dcx().struct_warn(message);
    if let Some(instance) = instance {
        diag.span(tcx.def_span(instance.def_id()));
    }
    diag.note(
        "each thread has this frame in local memory; it includes variables of inlined functions",
    );
    diag.help(
        "pass large values by reference, or keep them in global or shared memory; \
         `-Cllvm-args=--frame-warning=off` silences this warning",
    );
    diag.emit();
}

/// Returns the message to print if libnvvm crashes, formatted like rustc's errors. After a crash
/// only a fixed string can be written.
pub(crate) fn crashed(krate: &str) -> String {
    format!(
        "error: libnvvm crashed while compiling `{krate}`\n  |\n  \
         = note: this is a bug in the compiler, not in the program\n  \
         = help: {DUMP}: `{krate}.written.ll` is libnvvm's input\n\n"
    )
}

/// Returns the function around a line of NVVM IR; lines are one-based.
fn function_around(text: &str, line: usize) -> Option<&str> {
    let lines: Vec<&str> = text.lines().take(line).collect();
    let head = lines.into_iter().rev().take_while(|line| *line != "}");
    let head = head.into_iter().find(|line| line.starts_with("define "))?;
    let (_, name) = head.split_once('@')?;
    name.split('(').next().map(|name| name.trim_matches('"'))
}

/// Returns the first libdevice function that a module references.
pub(crate) fn libdevice_function(text: &str) -> Option<&str> {
    let declarations = text.lines().filter(|line| line.starts_with("declare "));
    declarations
        .filter_map(|line| line.split_once('@')?.1.split('(').next())
        .find(|name| name.starts_with("__nv_"))
}

/// Reports a line of inline assembly that ptxas rejects, with ptxas's message and the line of PTX.
pub(crate) fn assembly(sess: &Session, span: Span, what: &str, line: Option<&str>) {
    let mut diag = sess
        .dcx()
        .struct_span_err(span, format!("ptxas rejects this: {what}"));
    if let Some(line) = line {
        diag.note(format!("the line of PTX is `{}`", line.trim()));
    }
    diag.emit();
}

/// Reports a call of an LLVM intrinsic that libnvvm does not know.
pub(crate) fn unknown_intrinsic(sess: &Session, span: Option<Span>, name: &str) {
    let message = format!("libnvvm does not know the intrinsic `{name}`");
    let mut diag = match span {
        Some(span) => sess.dcx().struct_span_err(span, message),
        None => sess.dcx().struct_err(message),
    };
    diag.note("its LLVM is older than rustc's, or has no intrinsic of this name");
    diag.help("`cuda_std` has a function for every instruction, and `asm!` takes PTX");
    diag.emit();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_is_reported_in_rustcs_format() {
        let text = crashed("kernels");
        assert!(text.starts_with("error: libnvvm crashed while compiling `kernels`\n"));
        assert!(text.contains("--dump=DIR"));
    }

    const TEXT: &str = "declare float @__nv_sinf(float)\n\n\
                        define internal void @first(i32 %x) {\nstart:\n  ret void\n}\n\n\
                        define void @second() {\nstart:\n  ret void\n}\n";

    #[test]
    fn lines_of_ir_belong_to_functions() {
        assert_eq!(function_around(TEXT, 5), Some("first"));
        assert_eq!(function_around(TEXT, 10), Some("second"));
        assert_eq!(function_around(TEXT, 1), None);
        assert_eq!(function_around(TEXT, 7), None);
        assert_eq!(function_around("", 7), None);
    }

    #[test]
    fn functions_of_libdevice_are_found() {
        assert_eq!(libdevice_function(TEXT), Some("__nv_sinf"));
        assert_eq!(libdevice_function("declare void @vprintf(i8*)"), None);
    }
}
