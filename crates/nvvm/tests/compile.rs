//! Compiles small modules with the real libnvvm, and checks the errors without a libnvvm or with a
//! broken one.
//!
//! Tests that need libnvvm are skipped without it.

use nvvm::{
    Arch, Bound, DebugInfo, Error, Library, OptLevel, Options, Outcome, Program, Severity, Stage,
    Status,
};
use std::fs;
use std::path::{Path, PathBuf};

fn fetched() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/cuda")
}

/// Returns the library, or `None` with a message. A broken library is a failure, not a reason to
/// skip.
fn library() -> Option<Library> {
    match Library::find_with(&[fetched()]) {
        Ok(library) => Some(library),
        Err(error @ Error::NotFound { .. }) => {
            test_outcome::skip(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

const HEADER: &str = concat!(
    "target datalayout = \"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-",
    "f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64\"\n",
    "target triple = \"nvptx64-nvidia-cuda\"\n",
);

/// Returns a kernel `f(float*, float, float)` with this body and the parameters `%p`, `%a` and
/// `%b`.
fn kernel(body: &str, declarations: &str) -> String {
    format!(
        "{HEADER}{declarations}\ndefine void @f(float* %p, float %a, float %b) {{\n{body}\n  ret void\n}}\n\
         !nvvm.annotations = !{{!0}}\n!0 = !{{void (float*, float, float)* @f, !\"kernel\", i32 1}}\n\
         !nvvmir.version = !{{!1}}\n!1 = !{{i32 2, i32 0}}\n"
    )
}

fn compile(library: &Library, module: &str, options: &Options) -> Result<String, Error> {
    let mut program = Program::new(library)?;
    program.add_module("test.ll", module.as_bytes())?;
    program.verify(options)?;
    Ok(String::from_utf8(program.compile(options)?).unwrap())
}

const MULTIPLY_ADD: &str =
    "  %m = fmul float %a, %b\n  %s = fadd float %m, %a\n  store float %s, float* %p";

/// Returns a module that libnvvm compiles in about a second.
fn large() -> String {
    let mut body = String::new();
    for n in 0..4000 {
        let before = if n == 0 {
            "%a".to_owned()
        } else {
            format!("%x{}", n - 1)
        };
        body += &format!(
            "  %q{n} = getelementptr float, float* %p, i64 {n}\n  %l{n} = load float, float* %q{n}\n  \
             %x{n} = fadd float %l{n}, {before}\n  store float %x{n}, float* %q{n}\n"
        );
    }
    kernel(&body, "")
}

#[test]
fn a_compilation_is_bounded() {
    // In a separate process: the bound is on CPU time, and libnvvm's options are global.
    let program = std::env::current_exe().unwrap();
    let status = std::process::Command::new(program)
        .args(["--exact", "bounded_compilations", "--ignored"])
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
#[ignore = "runs in the process that `a_compilation_is_bounded` starts"]
fn bounded_compilations() {
    use std::time::Duration;
    let Some(library) = library() else { return };
    let options = Options::new(Arch::SM_90);
    let within = |module: &str, bound| {
        let mut program = Program::new(&library).unwrap();
        program.add_module("test.ll", module.as_bytes()).unwrap();
        program.compile_within(&options, bound)
    };
    let (no, much) = (Duration::ZERO, Duration::from_secs(600));
    let small = kernel(MULTIPLY_ADD, "");
    let expected = compile(&library, &small, &options).unwrap();
    let watched = |pass, all, total| Bound::Function { pass, all, total };
    for bound in [Bound::Total(much), watched(much, much, much)] {
        let outcome = within(&small, bound).unwrap();
        assert!(matches!(outcome, Outcome::Compiled(ptx) if ptx == expected.as_bytes()));
    }
    // Errors and their logs come back from the child.
    let wrong = kernel("  %m = call float @nowhere(float %a)", "");
    let error = within(&wrong, Bound::Total(much)).unwrap_err();
    assert!(!error.log().is_empty(), "{error}");

    let large = large();
    let outcome = within(&large, Bound::Total(no)).unwrap();
    assert!(matches!(outcome, Outcome::TookLong), "{outcome:?}");
    let outcome = within(&large, watched(much, much, no)).unwrap();
    assert!(matches!(outcome, Outcome::TookLong), "{outcome:?}");
    // Repeated: the first read may precede the first pass.
    let some = Duration::from_millis(120);
    match within(&large, watched(much, some, much)).unwrap() {
        Outcome::Slow(slow) => assert_eq!(slow.function.as_deref(), Some("f"), "{slow:?}"),
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn the_library_reports_versions_and_architectures() {
    let Some(library) = library() else { return };
    assert!(library.version().major >= 1, "{:?}", library.version());
    assert_eq!(library.ir_version().ir.major, 2);
    let archs = library.supported_archs().unwrap();
    assert!(archs.contains(&Arch::SM_90), "{archs:?}");
    assert!(archs.is_sorted());
    assert_eq!(library.dialect(Arch::SM_90), Arch::SM_90.dialect());
    assert_eq!(library.dialect(Arch::SM_100), Arch::SM_100.dialect());
}

#[test]
fn every_supported_architecture_compiles() {
    let Some(library) = library() else { return };
    for &arch in library.supported_archs().unwrap() {
        let ptx = compile(&library, &kernel(MULTIPLY_ADD, ""), &Options::new(arch)).unwrap();
        assert!(ptx.contains(&format!(".target {}", arch.sm())), "{ptx}");
        assert!(ptx.contains(".visible .entry f("), "{ptx}");
        assert!(!ptx.contains('\0'));
    }
}

#[test]
fn options_reach_the_compiler() {
    let Some(library) = library() else { return };
    let module = kernel(MULTIPLY_ADD, "");
    let mut options = Options::new(Arch::SM_90);
    assert!(
        compile(&library, &module, &options)
            .unwrap()
            .contains("fma.rn.f32")
    );
    options.fma = false;
    let ptx = compile(&library, &module, &options).unwrap();
    assert!(
        ptx.contains("mul.rn.f32") && ptx.contains("add.rn.f32"),
        "{ptx}"
    );
    options.ftz = true;
    assert!(
        compile(&library, &module, &options)
            .unwrap()
            .contains("mul.rn.ftz.f32")
    );
    let divide = kernel("  %d = fdiv float %a, %b\n  store float %d, float* %p", "");
    options = Options::new(Arch::SM_90);
    assert!(
        compile(&library, &divide, &options)
            .unwrap()
            .contains("div.rn.f32")
    );
    options.prec_div = false;
    assert!(
        compile(&library, &divide, &options)
            .unwrap()
            .contains("div.full.f32")
    );
    for (debug, opt_level) in [
        (DebugInfo::Full, OptLevel::O0),
        (DebugInfo::Full, OptLevel::O3),
        (DebugInfo::LineInfo, OptLevel::O3),
        (DebugInfo::LineInfo, OptLevel::O0),
    ] {
        let options = Options {
            debug,
            opt_level,
            ..Options::new(Arch::SM_90)
        };
        compile(&library, &module, &options).unwrap();
    }
}

#[test]
fn libdevice_is_linked() {
    let Some(library) = library() else { return };
    let toolkit = cuda_toolkit::find(&[fetched()]);
    let Some(libdevice) = toolkit.libdevice else {
        test_outcome::skip(format_args!(
            "no libdevice; searched {:?}",
            toolkit.searched
        ));
        return;
    };
    let module = kernel(
        "  %s = call float @__nv_sinf(float %a)\n  store float %s, float* %p",
        "declare float @__nv_sinf(float)",
    );
    let mut program = Program::new(&library).unwrap();
    program.add_module("test.ll", module.as_bytes()).unwrap();
    program
        .add_libdevice_lazily(&fs::read(libdevice.path).unwrap())
        .unwrap();
    let options = Options::new(Arch::SM_90);
    program.verify(&options).unwrap();
    let ptx = String::from_utf8(program.compile(&options).unwrap()).unwrap();
    assert!(
        !ptx.contains(".extern .func") && !ptx.contains("__nv_cosf"),
        "{ptx}"
    );
}

#[test]
fn a_syntax_error_has_a_location() {
    let Some(library) = library() else { return };
    let module = kernel("  %x = add i32 1, foo", "");
    let error = compile(&library, &module, &Options::new(Arch::SM_90)).unwrap_err();
    let Error::Compile {
        stage: Stage::Verify,
        status: Status::InvalidIr,
        log,
    } = &error
    else {
        panic!("{error:?}")
    };
    let line = 1 + module
        .lines()
        .position(|line| line.contains("foo"))
        .unwrap() as u32;
    assert_eq!(log[0].severity, Severity::Error);
    assert_eq!(
        (log[0].module.as_deref(), log[0].line),
        (Some("test.ll"), Some(line))
    );
    assert!(
        error
            .to_string()
            .contains(&format!("test.ll:{line}:19: error: parse")),
        "{error}"
    );
}

#[test]
fn an_architecture_that_the_library_lacks() {
    let Some(library) = library() else { return };
    let supported = library.supported_archs().unwrap();
    let Some(&arch) = Arch::KNOWN.iter().find(|arch| !supported.contains(arch)) else {
        test_outcome::skip("the library supports every known architecture");
        return;
    };
    let error = compile(&library, &kernel("", ""), &Options::new(arch)).unwrap_err();
    assert!(matches!(error, Error::UnsupportedArch { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&format!("does not support {arch}")), "{text}");
    assert!(text.contains("sm_90"), "{text}");
}

#[test]
fn a_program_without_modules() {
    let Some(library) = library() else { return };
    let error = Program::new(&library)
        .unwrap()
        .verify(&Options::new(Arch::SM_90))
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::Compile {
                status: Status::NoModule,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "libnvvm failed to verify the program: the program has no module"
    );
}

#[test]
fn programs_compile_on_several_threads() {
    let Some(library) = library() else { return };
    let module = kernel(MULTIPLY_ADD, "");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..4 {
                    compile(&library, &module, &Options::new(Arch::SM_90)).unwrap();
                }
            });
        }
    });
}

#[test]
fn no_libnvvm() {
    let root = PathBuf::from("/nonexistent/cuda");
    let toolkit = cuda_toolkit::find_in(&[(root.clone(), cuda_toolkit::Origin::Caller)]);
    let error = Library::from_toolkit(&toolkit).unwrap_err();
    let Error::NotFound { searched } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(*searched, [root]);
    let text = error.to_string();
    for part in [
        "/nonexistent/cuda",
        "CUDA_HOME",
        "pip install nvidia-nvvm==",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn broken_libnvvm() {
    let path = std::env::temp_dir().join(format!("nvvm-broken-{}.so", std::process::id()));
    fs::write(&path, "this is no library").unwrap();
    let error = Library::open(&path).unwrap_err();
    fs::remove_file(&path).unwrap();
    assert!(matches!(error, Error::Broken { .. }), "{error:?}");
    let text = error.to_string();
    // The loader's message follows the path.
    assert!(
        text.contains(&format!(
            "the libnvvm at `{}` cannot be used",
            path.display()
        )),
        "{text}"
    );
    assert!(
        text.contains("file too short") || text.contains("ELF"),
        "{text}"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_library_that_is_not_libnvvm() {
    let text = Library::open("libc.so.6").unwrap_err().to_string();
    assert!(
        text.contains("`libc.so.6` cannot be used: it has no function `nvvm"),
        "{text}"
    );
}

/// A function that returns its argument, called often: libnvvm's "Simplify Live Out" replaced each
/// result that another block uses by the argument, and deleted some of the calls.
#[test]
fn calls_whose_result_is_their_argument_are_kept() {
    let Some(library) = library() else { return };
    const CALLS: usize = 12;
    let mut body = String::new();
    for i in 0..CALLS {
        body += &format!("  %a{i} = alloca i8\n");
    }
    body += "  br label %b0\n";
    for i in 0..CALLS {
        body += &format!(
            "b{i}:\n  call void @llvm.lifetime.start.p0i8(i64 1, i8* %a{i})\n  store i8 {i}, i8* %a{i}\n  \
             %r{i} = call i8* @add(i8* %a{i}, i8 4)\n  %x{i} = load i8, i8* %r{i}\n  \
             %c{i} = icmp eq i8 %x{i}, {sum}\n  br i1 %c{i}, label %end{i}, label %wrong{i}\n\
             wrong{i}:\n  call void @report(i8* %r{i})\n  unreachable\n\
             end{i}:\n  call void @llvm.lifetime.end.p0i8(i64 1, i8* %a{i})\n  br label %b{next}\n",
            sum = i + 4,
            next = i + 1,
        );
    }
    let module = format!(
        "{HEADER}declare void @report(i8*)\ndeclare void @llvm.lifetime.start.p0i8(i64, i8*)\n\
         declare void @llvm.lifetime.end.p0i8(i64, i8*)\n\
         define internal i8* @add(i8* %p, i8 %by) noinline nounwind {{\n  %old = load i8, i8* %p\n  \
         %new = add i8 %old, %by\n  store i8 %new, i8* %p\n  ret i8* %p\n}}\n\
         define void @f() nounwind {{\nstart:\n{body}b{CALLS}:\n  ret void\n}}\n\
         !nvvmir.version = !{{!0}}\n!0 = !{{i32 2, i32 0}}\n"
    );
    let ptx = compile(&library, &module, &Options::new(Arch::SM_90)).unwrap();
    assert_eq!(ptx.matches("call.uni (retval0)").count(), CALLS, "{ptx}");
}
