//! Diagnostics about the environment: the requested architecture, the installed libnvvm, and
//! internal compiler errors.

use std::path::PathBuf;

use nvvm::{Arch, Error, Slow};
use rustc_errors::Diag;
use rustc_middle::ty::print::with_no_trimmed_paths;
use rustc_middle::ty::{Instance, TyCtxt};
use rustc_session::{EarlySession, Session};
use rustc_span::Span;

/// Refuses an architecture that there is not, before anything is compiled for it.
pub(crate) fn check_arch(sess: &EarlySession) {
    let Some(cpu) = &sess.opts.cg.target_cpu else {
        return;
    };
    let unsupported = |name: &str| sess.target.unsupported_cpus.iter().any(|cpu| cpu == name);
    let message = match cpu.parse::<Arch>() {
        Ok(arch) if unsupported(&arch.sm()) => {
            format!("rustc no longer compiles for the GPU architecture `{cpu}`")
        }
        // The names of libnvvm's are not those of rustc's.
        Ok(arch) if arch.sm() == *cpu => return,
        _ => format!("there is no GPU architecture `{cpu}`"),
    };
    let known: Vec<String> = Arch::KNOWN
        .iter()
        .map(|arch| arch.sm())
        .filter(|name| !unsupported(name))
        .collect();
    sess.dcx()
        .struct_err(message)
        .with_note("it is asked for by `-Ctarget-cpu`")
        .with_help(format!("there are {}", known.join(", ")))
        .emit();
    sess.dcx().abort_if_errors();
}

/// Recursion, for which no stack is known to be enough: one note for all of it.
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
    diag.help(format!(
        "{bytes} bytes of stack are reserved for that; `#[kernel(stack_size = BYTES)]` or \
         `CudaBuilder::recursion_depth` changes it"
    ));
    diag.emit();
}

/// libnvvm cannot be loaded.
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
                "the environment variable `CUDA_HOME`, or `-Cllvm-args=--cuda=DIR`, chooses another",
            );
            diag.emit();
        }
        _ => {
            sess.dcx().err(err.to_string());
        }
    }
}

/// LLVM did not optimize the program, which libnvvm compiles all the same.
pub(crate) fn not_pre_optimized(sess: &Session, failure: &crate::llvm::Failure) {
    let mut diag = sess
        .dcx()
        .struct_warn("LLVM did not optimize the kernels; libnvvm does it alone");
    diag.note(failure.to_string());
    diag.note("kernels may be slower, and need more stack");
    our_fault(&mut diag);
    diag.emit();
}

/// libdevice is needed and not there.
pub(crate) fn no_libdevice(sess: &Session, function: &str, searched: &[PathBuf]) {
    let mut diag = sess.dcx().struct_err(format!(
        "libdevice was not found, and the program calls `{function}` of it"
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
        "where a CUDA toolkit is installed, name its folder by the environment variable `CUDA_HOME`",
    );
    diag.help(format!(
        "without one, `{} DIR` fetches what is needed; then `CUDA_HOME` is DIR",
        cuda_toolkit::PIP_COMMAND.replace("python3 -m pip", "pip")
    ));
}

/// libnvvm does not compile the module.
pub(crate) fn refused(sess: &Session, err: &Error, text: &str) {
    if let Error::UnsupportedArch {
        arch, supported, ..
    } = err
    {
        let supported: Vec<String> = supported.iter().map(|arch| arch.sm()).collect();
        sess.dcx()
            .struct_err(format!(
                "the libnvvm that was found does not compile for {arch}"
            ))
            .with_note(format!("it does for {}", supported.join(", ")))
            .with_help("`-Ctarget-cpu` chooses the architecture, and `CUDA_HOME` the libnvvm")
            .emit();
        return;
    }
    let mut diag = sess
        .dcx()
        .struct_err(format!("libnvvm refused the module: {err}"));
    let mut named = Vec::new();
    for entry in err.log() {
        let function = entry
            .line
            .and_then(|line| function_around(text, line as usize));
        if let Some(function) = function
            && !named.contains(&function)
        {
            diag.note(format!("that is in the function `{function}`"));
            named.push(function);
        }
    }
    our_fault(&mut diag);
    diag.emit();
}

/// What every failure of our own says at its end.
pub(crate) fn our_fault(diag: &mut Diag<'_>) {
    diag.note(OUR_FAULT);
    diag.help(DUMP);
}

const OUR_FAULT: &str = "this is a bug of the compiler's backend";
const DUMP: &str = "`-Cllvm-args=--dump=DIR` writes every stage of the module to a folder";

/// A function that libnvvm took too long for.
pub(crate) fn left_unoptimized(sess: &Session, path: &str, slow: &Slow) {
    let mut diag = sess.dcx().struct_warn(format!(
        "libnvvm took more than {:.0} s to optimize the function `{path}`, which is left unoptimized",
        slow.time.as_secs_f64()
    ));
    diag.note(format!("it was in the pass `{}`", slow.pass));
    diag.help(format!(
        "`CudaBuilder::leave_unoptimized(\"{path}\")`, or \
         `-Cllvm-args=--leave-unoptimized={path}`, spares that time, and makes the result \
         independent of the machine's speed"
    ));
    diag.emit();
}

/// Several functions that libnvvm took too long for, or something that is no function.
pub(crate) fn large_left_unoptimized(sess: &Session, limit: usize) {
    let mut diag = sess.dcx().struct_warn(format!(
        "libnvvm takes too long: functions of more than {limit} instructions are left unoptimized"
    ));
    diag.help(format!(
        "`CudaBuilder::optimize_up_to({limit})`, or `-Cllvm-args=--optimize-up-to={limit}`, spares \
         that time"
    ));
    diag.emit();
}

/// The last resort.
pub(crate) fn all_left_unoptimized(sess: &Session, krate: &str) {
    sess.dcx().warn(format!(
        "libnvvm takes too long: `{krate}` is compiled without optimization"
    ));
}

/// A function whose variables take much stack.
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
        "each thread of a launch has such a frame in local memory; functions that are inlined count",
    );
    diag.help(
        "pass large values by reference, or keep them in global or shared memory; \
         `-Cllvm-args=--frame-warning=off` silences this warning",
    );
    diag.emit();
}

/// libnvvm crashed, and nothing but a text can be written any more. rustc's errors look so.
pub(crate) fn crashed(krate: &str) -> String {
    format!(
        "error: libnvvm crashed while compiling `{krate}`\n  |\n  \
         = note: this is a fault of the compiler, not of the program\n  \
         = help: {DUMP}: `{krate}.written.ll` is what libnvvm got\n\n"
    )
}

/// The function that a line of NVVM IR, counted from 1, stands in.
fn function_around(text: &str, line: usize) -> Option<&str> {
    let lines: Vec<&str> = text.lines().take(line).collect();
    let head = lines.into_iter().rev().take_while(|line| *line != "}");
    let head = head.into_iter().find(|line| line.starts_with("define "))?;
    let (_, name) = head.split_once('@')?;
    name.split('(').next().map(|name| name.trim_matches('"'))
}

/// The first function of libdevice's that a module refers to.
pub(crate) fn libdevice_function(text: &str) -> Option<&str> {
    let declarations = text.lines().filter(|line| line.starts_with("declare "));
    declarations
        .filter_map(|line| line.split_once('@')?.1.split('(').next())
        .find(|name| name.starts_with("__nv_"))
}

/// A line of an inline assembly that ptxas refuses: what it says, and the line as PTX.
pub(crate) fn assembly(sess: &Session, span: Span, what: &str, line: Option<&str>) {
    let mut diag = sess
        .dcx()
        .struct_span_err(span, format!("ptxas refuses this: {what}"));
    if let Some(line) = line {
        diag.note(format!("the line of PTX is `{}`", line.trim()));
    }
    diag.emit();
}

/// A call of an intrinsic that a crate names itself and that libnvvm does not know.
pub(crate) fn unknown_intrinsic(sess: &Session, span: Option<Span>, name: &str) {
    let message = format!("libnvvm does not know the intrinsic `{name}`");
    let mut diag = match span {
        Some(span) => sess.dcx().struct_span_err(span, message),
        None => sess.dcx().struct_err(message),
    };
    diag.note("its LLVM is older than rustc's, or has none of this name");
    diag.help("`cuda_std` has a function for every instruction, and `asm!` takes PTX");
    diag.emit();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_is_said_as_rustc_says_errors() {
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
