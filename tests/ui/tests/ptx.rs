//! Checks the compiler's PTX and IR for properties that results on one device do not show. The
//! sources are in `ptx/`.
//!
//! `BLESS=1` regenerates `ptx/atomics.txt`.

use cust::raw::CUresult;
use ptx::{Function, Instruction, Item, Module, Operand, Statement};
use std::ffi::{CString, c_void};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::OnceLock;
use ui_tests::toolchain::{Made, Toolchain};

fn toolchain() -> &'static Toolchain {
    static TOOLCHAIN: OnceLock<Toolchain> = OnceLock::new();
    TOOLCHAIN.get_or_init(|| Toolchain::prepare().unwrap_or_else(|error| panic!("{error:#}")))
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx")
}

fn compile(source: &Path, arch: &str, opt_level: u32) -> Made {
    compile_with(source, arch, opt_level, "")
}

fn compile_with(source: &Path, arch: &str, opt_level: u32, options: &str) -> Made {
    let made = toolchain().compile_for(source, arch, opt_level, options);
    made.unwrap_or_else(|error| panic!("{error:#}"))
}

fn functions<'m, 'a>(module: &'m Module<'a>) -> impl Iterator<Item = &'m Function<'a>> {
    module.items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        _ => None,
    })
}

/// The definition of a function, whose name is `name` or, mangled, ends in it.
fn function<'m, 'a>(module: &'m Module<'a>, name: &str) -> &'m Function<'a> {
    let mangled = format!("{}{name}", name.len());
    functions(module)
        .filter(|function| function.body.is_some())
        .find(|function| function.name == name || function.name.ends_with(&mangled))
        .unwrap_or_else(|| panic!("there is no function `{name}`"))
}

fn instructions<'m, 'a>(function: &'m Function<'a>) -> Vec<&'m Instruction<'a>> {
    fn add<'m, 'a>(statements: &'m [Statement<'a>], to: &mut Vec<&'m Instruction<'a>>) {
        for statement in statements {
            match statement {
                Statement::Instruction(instruction) => to.push(instruction),
                Statement::Block(statements) => add(statements, to),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    add(function.body.as_deref().unwrap_or_default(), &mut found);
    found
}

/// The opcode with its modifiers.
fn full_name(instruction: &Instruction) -> String {
    let mut name = instruction.opcode.to_owned();
    for modifier in &instruction.modifiers {
        name.push('.');
        name.push_str(modifier);
    }
    name
}

fn names(function: &Function) -> Vec<String> {
    instructions(function).into_iter().map(full_name).collect()
}

/// How many instructions of a function start like this.
fn count(function: &Function, start: &str) -> usize {
    let names = names(function);
    names.iter().filter(|name| name.starts_with(start)).count()
}

/// How many calls there are of functions with this in their names, or through pointers (`%`). Several
/// are separated by `/`.
fn calls(function: &Function, callee: &str) -> usize {
    let called = |instruction: &&Instruction| {
        instruction.opcode == "call"
            && instruction.operands.iter().any(|operand| match operand {
                Operand::Name(name) => callee.split('/').any(|callee| match callee {
                    "%" => name.starts_with('%'),
                    _ => name.contains(callee),
                }),
                _ => false,
            })
    };
    instructions(function)
        .into_iter()
        .filter(|i| called(i))
        .count()
}

/// The instructions of a kernel of `convergence.rs`, and their number: in its loop, libnvvm 13.0
/// makes five of one, four by unrolling and one for the rest. Without convergence, it makes seven
/// or more.
const CONVERGENT: &[(&str, &str, usize)] = &[
    ("a2_inlined", "bar.sync", 5),
    ("a2_noinline", "call 7barrier", 5),
    ("a2_deep", "call 4deep", 5),
    ("a2_shuffle", "call 7shuffle", 5),
    ("a2_vote", "call 4vote", 5),
    ("a2_recursive", "call 9recursive", 5),
    ("a2_mutual", "call 4even", 5),
    ("a2_generic", "call 7generic", 5),
    ("a2_parameter", "call %", 5),
    // Optimized, these call the functions directly.
    ("a2_pointer", "call 4deep/%", 5),
    ("a2_dyn", "call 5Waits/%", 5),
    ("a2_closure", "call 7barrier/%", 5),
    ("a2_inlined_shuffle", "shfl.sync", 5),
    ("a2_inlined_vote", "vote.sync", 5),
    ("a2_asm", "bar.warp.sync", 5),
    ("arms_barrier", "bar.sync", 2),
    ("arms_shuffle", "shfl.sync", 2),
    ("arms_vote", "vote.sync", 2),
    ("arms_noinline", "call 4vote", 2),
    ("sink", "vote.sync", 1),
    ("sink", "call 7shuffle", 1),
    ("thread_jump", "call 7barrier", 1),
    ("thread_jump", "bar.sync", 1),
    ("tail", "call 7barrier", 1),
    ("tail", "vote.sync", 1),
    ("rotate", "call 7barrier", 1),
    ("rotate", "vote.sync", 1),
];

#[test]
fn convergent_operations_are_not_duplicated() {
    let mut wrong = String::new();
    for arch in ["sm_75", "sm_90", "sm_100", "sm_120"] {
        for opt_level in [3, 0] {
            let made = compile(&directory().join("convergence.rs"), arch, opt_level);
            let module = Module::parse(&made.ptx).expect("it is PTX");
            for &(kernel, operation, times) in CONVERGENT {
                // The kernel's body is a function of its own where nothing is inlined.
                let body = functions(&module).filter(|function| {
                    function.name == kernel || function.name == format!("{kernel}__body")
                });
                let found: usize = body
                    .map(|function| match operation.strip_prefix("call ") {
                        Some(callee) => calls(function, callee),
                        None => count(function, operation),
                    })
                    .sum();
                // Unoptimized, nothing is unrolled, and what would be inlined stays a call.
                let expected = match (opt_level, operation.starts_with("call ")) {
                    (3, _) => times,
                    (_, true) => times.min(2) - usize::from(times == 5),
                    _ => continue,
                };
                if found != expected {
                    let _ = writeln!(
                        wrong,
                        "{arch}, opt-level {opt_level}: {kernel} has {found} times `{operation}`, not {expected}"
                    );
                }
            }
            if opt_level == 3 {
                // Functions that reach no convergent operation are not marked: that would cost
                // speed.
                let marked = |name: &str| {
                    let lines = made.ir.lines().filter(|line| line.starts_with("define "));
                    let mut lines = lines.filter(|line| line.contains(name));
                    lines.next().map(|line| line.contains(" convergent"))
                };
                assert_eq!(marked("@a2_generic_none("), Some(false), "{arch}");
                assert_eq!(marked("@a2_generic("), Some(true), "{arch}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn attributes_are_right() {
    let mut wrong = String::new();
    for arch in ["sm_75", "sm_100"] {
        // The output of lowering, before LLVM infers more and folds operations.
        let source = directory().join("attributes.rs");
        let made = compile_with(&source, arch, 3, "--pre-optimize=off");
        let module = Module::parse(&made.ptx).expect("it is PTX");
        let mut check = |what: &str, right: bool| {
            if !right {
                let _ = writeln!(wrong, "{arch}: {what}");
            }
        };
        let count = |name: &str, part: &str| {
            let names = names(function(&module, name));
            names.iter().filter(|name| name.contains(part)).count()
        };
        let loads = |name: &str| count(name, "ld.") - count(name, "ld.param");
        for name in ["cells", "nested", "unsafe_cells", "slices"] {
            check(
                &format!("`{name}`: a reference with interior mutability is `noalias`"),
                loads(name) == 1,
            );
        }
        check("`unique`: `&mut` is not `noalias`", loads("unique") == 0);
        check(
            "`reads_atomic`: a parameter with interior mutability is read-only",
            count("reads_atomic", "ld.global") > 0 && count("reads_atomic", ".nc") == 0,
        );
        check(
            "`alias_atomics`: parameters with interior mutability are `noalias`",
            count("alias_atomics", "ld.global") == 1,
        );
        check(
            "`reads_slice`: a shared slice is not read-only",
            count("reads_slice", "ld.global.nc") > 0,
        );
        check(
            "`volatile`: an access is not volatile",
            count("volatile", "st.volatile") == 2 && count("volatile", "ld.volatile") == 1,
        );
        check(
            "`round_even`: not to the nearest even",
            count("round_even", "cvt.rni.f32.f32") == 1
                && count("round_even", "cvt.rni.f64.f64") == 1,
        );
        check("`round_away`: to even", count("round_away", "cvt.rni") == 0);
        let body = made.ir.split("4pair(").find(|text| {
            text.lines()
                .next()
                .is_some_and(|line| line.contains("noinline"))
        });
        let body = body.and_then(|text| text.split("\n}").next());
        let loads: Vec<&str> = (body.unwrap_or_default().lines())
            .filter(|line| line.contains(" = load "))
            .collect();
        check(
            "`pair`: the second half is not aligned to 4 bytes",
            loads.len() == 2 && loads[0].ends_with("align 16") && loads[1].ends_with("align 4"),
        );
        for name in [
            "barrier0",
            "bar.warp.sync",
            "vote.ballot.sync",
            "shfl.sync.bfly.i32",
            "match.any.sync.i32",
        ] {
            let lines = || {
                let name = format!("@llvm.nvvm.{name}(");
                made.ir.lines().filter(move |line| line.contains(&name))
            };
            check(
                &format!("`{name}` is not convergent"),
                lines().count() == 2 && lines().all(|line| line.contains(") convergent")),
            );
        }
        let is_shuffle = |line: &&str| line.contains("shfl.sync.bfly.b32");
        let lines = || made.ir.lines().filter(is_shuffle);
        check(
            "a shuffle by assembly is not convergent",
            lines().count() == 2 && lines().all(|line| line.contains(") convergent")),
        );
        let defined = |name: &str| {
            let names = [format!("@{name}("), format!("{}{name}(", name.len())];
            let mut lines = made.ir.lines().filter(|line| line.starts_with("define "));
            let found = lines.find(|line| names.iter().any(|name| line.contains(name)));
            found.unwrap_or_default()
        };
        for (name, has, lacks) in [
            ("unique", "noalias", "readonly"),
            ("cells", "nonnull", "readonly"),
            ("cells", "nonnull", "noalias"),
            ("reads_slice", "noalias nonnull readonly", "dereferenceable"),
            ("reads_slice", "align 4", "dereferenceable"),
            ("optional", "@optional(", "nonnull"),
            ("reads_atomic", "@reads_atomic(", "readonly"),
            ("flag", "zeroext", "signext"),
        ] {
            let line = defined(name);
            check(
                &format!("`{name}`: {line}"),
                line.contains(has) && !line.contains(lacks),
            );
        }
        // The kernel itself calls its body.
        let start = "internal void @operations__body(";
        let mut definitions = made.ir.split("\ndefine ");
        let operations = definitions.find(|text| text.starts_with(start));
        for (operation, times) in [
            // LLVM 7 has no saturating operations.
            ("sadd.sat.i64(", usize::from(arch == "sm_100")),
            ("sadd.sat.i32(", if arch == "sm_100" { 4 } else { 0 }),
            ("ashr i16 ", 1),
            ("add nuw i16 ", 1),
            ("llvm.ceil.f64(", 1),
        ] {
            let found = operations.map(|body| body.matches(operation).count());
            check(
                &format!("`operations`: `{operation}`, {found:?} times"),
                found == Some(times),
            );
        }
        let lane = "@llvm.nvvm.read.ptx.sreg.laneid() convergent";
        check("`laneid` is convergent", !made.ir.contains(lane));
        check(
            "a pure shuffle is not convergent",
            count("pure_asm", "shfl.sync") == 5,
        );
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The size of every access to global and shared memory in a kernel of `vectors.rs`, in bytes.
const VECTOR_ACCESSES: &[(&str, u32)] = &[
    ("scale_f32x2", 8),
    ("scale_f32x4", 16),
    ("scale_f64x2", 16),
    ("scale_i16x4", 8),
    ("scale_u8x4", 4),
    ("scale_u32x4", 16),
    ("scale_u64x2", 16),
    ("copy_f32x4", 16),
    ("copy_u64x2", 16),
    ("in_place", 16),
    ("mapped", 16),
    ("by_element", 16),
    ("chunks", 16),
    ("viewed", 16),
    ("in_shared", 16),
    ("raw", 16),
    ("shuffled", 16),
];

/// Returns the number of bytes that a load or store accesses: 16 for `ld.global.nc.v4.f32`.
fn access_size(name: &str) -> u32 {
    let lanes = [(".v2.", 2), (".v4.", 4)];
    let lanes = lanes.iter().find(|(part, _)| name.contains(part));
    let bits = name.rsplit('.').next().unwrap_or_default();
    let bits: u32 = bits[1..].parse().expect("the type of the elements");
    lanes.map_or(1, |(_, lanes)| *lanes) * bits / 8
}

#[test]
fn vectors_are_accessed_by_one_instruction() {
    let mut wrong = String::new();
    for arch in ["sm_75", "sm_90", "sm_100"] {
        let made = compile(&directory().join("vectors.rs"), arch, 3);
        let module = Module::parse(&made.ptx).expect("it is PTX");
        for &(kernel, bytes) in VECTOR_ACCESSES {
            let names = names(function(&module, kernel));
            let is_access = |name: &&String| {
                (name.starts_with("ld.") || name.starts_with("st.")) && !name.contains(".param")
            };
            let accesses: Vec<&String> = names.iter().filter(is_access).collect();
            let nc = accesses
                .iter()
                .any(|name| name.starts_with("ld.global.nc."));
            let reads_slice =
                !["in_place", "mapped", "by_element", "raw", "shuffled"].contains(&kernel);
            if nc != reads_slice || accesses.iter().any(|name| access_size(name) != bytes) {
                let _ = writeln!(wrong, "{arch}: {kernel}, {bytes} bytes: {accesses:?}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

const ORDERS: [&str; 5] = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
const LOADS: [&str; 3] = ["Relaxed", "Acquire", "SeqCst"];
const STORES: [&str; 3] = ["Relaxed", "Release", "SeqCst"];
const SCOPES: [&str; 4] = ["Block", "Cluster", "Device", "System"];

/// The kernels of `atomics.txt`: a name, and the source. `core` stands for the types of
/// `core::sync::atomic`, other scopes for `cuda_std::atomic::Atomic`.
fn atomic_kernels() -> Vec<(String, String)> {
    let mut kernels = Vec::new();
    for scope in ["core"].into_iter().chain(SCOPES) {
        for int in ["u8", "u16", "u32", "i32", "u64", "i64", "u128"] {
            for (operation, orders, call) in atomic_operations(scope, int) {
                let name = [scope, int, operation, &orders].join("_");
                let atomic = match scope {
                    "core" => format!("core::sync::atomic::Atomic{}", int.to_uppercase()),
                    _ => format!("Atomic<{int}, {scope}>"),
                };
                let source = format!(
                    "#[kernel]\npub unsafe fn {name}(p: *mut u8, to: *mut {int}, v: {int}, w: {int}) \
                     {{ unsafe {{ let a = &*p.cast::<{atomic}>(); {call}; }} }}\n"
                );
                kernels.push((name, source));
            }
        }
        let mut fence = |name: String, call: String| {
            let source = format!("#[kernel]\npub fn {name}() {{ {call} }}\n");
            kernels.push((name, source));
        };
        if scope == "core" {
            for order in &ORDERS[1..] {
                let call = format!("core::sync::atomic::fence({order})");
                fence(format!("core_fence_{order}"), call);
            }
            let call = "core::sync::atomic::compiler_fence(SeqCst)".to_owned();
            fence("core_compiler_fence_SeqCst".to_owned(), call);
        } else {
            for kind in ["acquire_release", "sequentially_consistent"] {
                let call = format!("cuda_std::fence::{kind}({scope})");
                fence(format!("{scope}_fence_{kind}"), call);
            }
        }
    }
    kernels
}

/// The operations that a type has: a name, the orderings, and a call with `a`, `to`, `v` and `w`.
fn atomic_operations(scope: &str, int: &str) -> Vec<(&'static str, String, String)> {
    let core = scope == "core";
    let narrow = matches!(int, "u8" | "u16");
    let signed = int.starts_with('i');
    let mut operations = Vec::new();
    if !signed && int != "u128" {
        let loads = LOADS.map(|order| ("load", order.to_owned(), format!("*to = a.load({order})")));
        let stores =
            STORES.map(|order| ("store", order.to_owned(), format!("a.store(v, {order})")));
        operations.extend(loads.into_iter().chain(stores));
    }
    let updates: &[(&str, &str)] = match int {
        "u128" if core => &[],
        "u128" => &[("swap", "swap")],
        "i32" | "i64" => &[("min", "fetch_min"), ("max", "fetch_max")],
        _ if narrow && !core => &[],
        _ => &[
            ("swap", "swap"),
            ("add", "fetch_add"),
            ("and", "fetch_and"),
            ("or", "fetch_or"),
            ("xor", "fetch_xor"),
            ("min", "fetch_min"),
            ("max", "fetch_max"),
        ],
    };
    for (name, method) in updates {
        let update = |order: &str| {
            (
                *name,
                order.to_owned(),
                format!("*to = a.{method}(v, {order})"),
            )
        };
        operations.extend(ORDERS.map(update));
    }
    let exchanges = match int {
        "u8" => core,
        "u128" => !core,
        _ => !signed,
    };
    for success in ORDERS.into_iter().filter(|_| exchanges) {
        for failure in LOADS {
            let call = format!(
                "*to = match a.compare_exchange(v, w, {success}, {failure}) {{ Ok(x) | Err(x) => x }}"
            );
            operations.push(("cas", format!("{success}_{failure}"), call));
        }
    }
    operations
}

/// Whether an instruction orders memory, or accesses it atomically.
fn is_atomic(name: &str) -> bool {
    let mut words = name.split('.');
    match words.next() {
        Some("atom" | "red" | "fence" | "membar") => true,
        Some("ld" | "st") => words.any(|word| {
            matches!(
                word,
                "relaxed" | "acquire" | "release" | "volatile" | "mmio"
            )
        }),
        _ => false,
    }
}

/// Optimized modules have only the parts of a panic's report that they need.
#[test]
fn optimized_modules_have_short_reports() {
    let parts = |source: &str, opt_level| {
        let ptx = compile(&directory().join(source), "sm_75", opt_level).ptx;
        let module = Module::parse(&ptx).expect("it is PTX");
        let has = |name: &str| functions(&module).any(|function| function.name == name);
        [
            "__cuda_std_report_to_host",
            "__cuda_std_report_is_claimed",
            "__cuda_std_panic_without_report",
        ]
        .map(has)
    };
    assert_eq!(parts("reports.rs", 3), [true, false, false]);
    assert_eq!(parts("reports_formatted.rs", 3), [true, true, false]);
    assert_eq!(parts("reports.rs", 0), [true, true, true]);
}

/// Splitting changes only optimized modules above the limit, always in the same way.
#[test]
fn only_large_optimized_modules_are_split() {
    let source = directory().join("attributes.rs");
    for arch in ["sm_75", "sm_100"] {
        let compile = |opt_level, limit| {
            let options = format!("--split-above={limit}");
            compile_with(&source, arch, opt_level, &options).ptx
        };
        assert_eq!(compile(0, "0"), compile(0, "off"), "without optimization");
        let whole = compile(3, "off");
        assert_eq!(compile(3, "100000"), whole, "a small module");
        let split = compile(3, "0");
        assert_ne!(split, whole, "a module above the limit");
        assert_eq!(split, compile(3, "0"), "the order of the parts");
        let entries = |ptx: &str| {
            let module = Module::parse(ptx).expect("it is PTX");
            let mut names: Vec<String> = functions(&module)
                .filter(|function| function.entry)
                .map(|function| function.name.to_owned())
                .collect();
            names.sort_unstable();
            names
        };
        assert_eq!(entries(&split), entries(&whole));
    }
}

#[test]
fn atomics_have_their_orders_and_scopes() {
    let kernels = atomic_kernels();
    let mut source = String::from(
        "#![no_std]\n#![allow(non_snake_case)]\nuse core::sync::atomic::Ordering::*;\n\
         use cuda_std::{atomic::Atomic, prelude::*, scope::*};\n",
    );
    source.extend(kernels.iter().map(|(_, text)| text.as_str()));
    let file = toolchain()
        .sources()
        .expect("a directory")
        .join("atomics.rs");
    fs::write(&file, source).expect("it is written");
    let made = compile(&file, "sm_90", 3);
    let module = Module::parse(&made.ptx).expect("it is PTX");
    let row = |(name, _): &(String, String)| {
        let mut names = names(function(&module, name));
        names.retain(|name| is_atomic(name));
        format!("{name}: {}\n", names.join("; "))
    };
    let table: String = kernels.iter().map(row).collect();
    let path = directory().join("atomics.txt");
    if std::env::var_os("BLESS").is_some_and(|value| !value.is_empty()) {
        fs::write(&path, &table).expect("it is written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let differ = expected.lines().zip(table.lines());
    let differ: Vec<_> = differ.filter(|(expected, got)| expected != got).collect();
    assert!(differ.is_empty(), "expected, got: {differ:#?}");
    assert_eq!(expected.lines().count(), table.lines().count());
}

/// `extern "ptx-kernel"` makes a kernel, without `cuda_std`, which the driver's functions launch.
#[test]
fn a_kernel_of_core_alone_runs() -> Result<(), Box<dyn std::error::Error>> {
    const THREADS: u32 = 1024;
    let made = compile(&directory().join("by_hand.rs"), "sm_75", 3);
    let ptx = CString::new(made.ptx)?;
    let device = cust::init_auto()?;
    let cuda = device.context().driver()?;
    let mut len = (THREADS * THREADS) as usize;
    let bytes = len * size_of::<u32>();
    let [mut clocks, mut indices] = [0u32, 0].map(|zero| vec![zero; len]);
    let check = |result| assert_eq!(result, CUresult::CUDA_SUCCESS);
    // SAFETY: the pointers are valid for the calls, the arguments are those of the kernel's parameters,
    // and the kernel writes inside the allocations.
    unsafe {
        let (mut module, mut function) = (null_mut(), null_mut());
        check(cuda.cuModuleLoadData(&mut module, ptx.as_ptr().cast()));
        check(cuda.cuModuleGetFunction(&mut function, module, c"clocks".as_ptr()));
        let (mut first, mut second) = (0u64, 0u64);
        check(cuda.cuMemAlloc_v2(&mut first, bytes));
        check(cuda.cuMemAlloc_v2(&mut second, bytes));
        let mut arguments: [*mut c_void; 4] = [
            (&raw mut first).cast(),
            (&raw mut len).cast(),
            (&raw mut second).cast(),
            (&raw mut len).cast(),
        ];
        let (stream, extra) = (null_mut(), null_mut());
        let arguments = arguments.as_mut_ptr();
        check(cuda.cuLaunchKernel(
            function, THREADS, 1, 1, THREADS, 1, 1, 0, stream, arguments, extra,
        ));
        check(cuda.cuMemcpyDtoH_v2(clocks.as_mut_ptr().cast(), first, bytes));
        check(cuda.cuMemcpyDtoH_v2(indices.as_mut_ptr().cast(), second, bytes));
        check(cuda.cuMemFree_v2(first));
        check(cuda.cuMemFree_v2(second));
        check(cuda.cuModuleUnload(module));
    }
    assert!(indices.into_iter().eq(0..THREADS * THREADS));
    assert!(clocks.iter().any(|&clock| clock != clocks[0]));
    Ok(())
}
