//! libnvvm accepts the writer's output, and ptxas the PTX, for the oldest and newest architecture
//! of each dialect, with and without debug information and optimization.

mod common;

use std::path::{Path, PathBuf};

use nvvm::{DebugInfo, Library, OptLevel, Options, Program};
use nvvm_ir::*;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/cuda")
}

#[test]
fn libnvvm_and_ptxas_accept_the_sample() {
    let Ok(library) = Library::find_with(&[directory()]) else {
        test_outcome::skip("libnvvm is not installed");
        return;
    };
    for sm in [75, 90, 100, 120] {
        for debug in [false, true] {
            let full = write_module(&common::sample(debug), Dialect::for_arch(sm));
            for (opt_level, debug) in [
                (
                    OptLevel::O3,
                    if debug {
                        DebugInfo::LineInfo
                    } else {
                        DebugInfo::None
                    },
                ),
                (
                    OptLevel::O0,
                    if debug {
                        DebugInfo::Full
                    } else {
                        DebugInfo::None
                    },
                ),
            ] {
                let arch = format!("sm_{sm}").parse().expect("it is an architecture");
                let mut options = Options::new(arch);
                options.opt_level = opt_level;
                options.debug = debug;
                // Both kinds of debug information.
                let text = match options.debug {
                    DebugInfo::LineInfo => full.replace("FullDebug", "LineTablesOnly"),
                    _ => full.clone(),
                };
                let ptx = compile(&library, &text, &options);
                assert!(ptx.contains(".entry kernel"), "{ptx}");
                assert!(
                    ptx.contains(".visible .global .align 8 .u64 table")
                        || ptx.contains(".global .align 8 .u64 table"),
                    "{ptx}"
                );
                // The payload of the signaling NaN is preserved.
                assert!(
                    ptx.contains("{52, 18, 192, 127, 52, 18, 128, 255, 1}"),
                    "{ptx}"
                );
                assert!(ptx.contains(".maxntid 256"), "{ptx}");
                assemble("sample", &ptx, sm);
            }
        }
    }
}

/// libnvvm replaces the operand of `isspacep` with the pointer that it is computed from, without the
/// cast to `i8*` that the pointer to an element needs.
#[test]
fn address_space_of_an_element() {
    let Ok(library) = Library::find_with(&[directory()]) else {
        test_outcome::skip("libnvvm is not installed");
        return;
    };
    let mut m = Module::new("element");
    let (void, i8, i32, i64) = (
        m.types.void(),
        m.types.int(8),
        m.types.int(32),
        m.types.int(64),
    );
    let (ptr, element) = (m.types.ptr(), m.types.array(i8, 16));
    let sig = m.types.func(void, &[ptr, i64], false);
    let func = m.add_func("add", sig).expect("the name is free");
    let (elements, index) = (m.func(func).params[0], m.func(func).params[1]);
    let (one, eight) = (m.const_int(i32, 1), m.const_int(i64, 8));
    let entry = m.add_block(func, "entry");
    let mut b = Builder::new(&mut m, entry);
    let at = b.gep(element, elements, &[index], true);
    let field = b.gep(i8, at, &[eight], true);
    b.atomic_rmw(RmwOp::Add, field, one, Ordering::Relaxed, Scope::Device);
    b.ret(None);
    for sm in [75, 100] {
        let mut m = m.clone();
        legalize::legalize(&mut m, &legalize::Target::new(sm)).expect("the module is legalized");
        let text = write_module(&m, Dialect::for_arch(sm));
        let mut options = Options::new(format!("sm_{sm}").parse().expect("it is an architecture"));
        options.opt_level = OptLevel::O3;
        let ptx = compile(&library, &text, &options);
        assert!(ptx.contains("isspacep.local"), "{ptx}");
        assemble("element", &ptx, sm);
    }
}

fn compile(library: &Library, text: &str, options: &Options) -> String {
    let mut program = Program::new(library).expect("libnvvm makes a program");
    program
        .add_module("sample", text.as_bytes())
        .expect("libnvvm takes a module");
    program
        .verify(options)
        .unwrap_or_else(|err| panic!("{err}\n{text}"));
    let ptx = program
        .compile(options)
        .unwrap_or_else(|err| panic!("{err}\n{text}"));
    String::from_utf8(ptx).expect("PTX is text")
}

fn assemble(name: &str, ptx: &str, sm: u32) {
    let Some(ptxas) = cuda_toolkit::find(&[directory()]).ptxas else {
        return;
    };
    let file = std::env::temp_dir().join(format!("nvvm_ir_{name}_{}_{sm}.ptx", std::process::id()));
    std::fs::write(&file, ptx).expect("the file is written");
    let output = std::process::Command::new(&ptxas.path)
        .args(["-c", &format!("-arch=sm_{sm}"), "-o", "/dev/null"])
        .arg(&file)
        .output()
        .expect("ptxas runs");
    std::fs::remove_file(&file).expect("the file goes away");
    assert!(
        output.status.success(),
        "{}\n{ptx}",
        String::from_utf8_lossy(&output.stderr)
    );
}
