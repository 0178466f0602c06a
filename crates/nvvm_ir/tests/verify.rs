//! The verifier: for each rule, modules that observe it and modules that violate it.

mod common;

use nvvm_ir::*;

/// Returns the rules that a module violates.
fn rules(module: &Module) -> Vec<Rule> {
    match verify_legalized(module) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.iter().map(|error| error.rule).collect(),
    }
}

fn read(text: &str) -> Module {
    read_module(text).unwrap_or_else(|err| panic!("{err}\n{text}"))
}

/// Checks that the module violates this rule and no other.
#[track_caller]
fn breaks(text: &str, rule: Rule) {
    assert_eq!(rules(&read(text)), [rule], "{text}");
}

/// Checks that the module is valid and, after the change, violates this rule and no other.
#[track_caller]
fn change_breaks(text: &str, change: impl FnOnce(&mut Module), rule: Rule) {
    let mut module = read(text);
    assert_eq!(rules(&module), [], "{text}");
    change(&mut module);
    assert_eq!(rules(&module), [rule], "{text}");
}

#[track_caller]
fn holds(text: &str) {
    let module = read(text);
    if let Err(errors) = verify_legalized(&module) {
        panic!("{}\n{text}", errors[0]);
    }
}

fn func(module: &Module, name: &str) -> Func {
    module
        .named(name)
        .and_then(|value| module.as_func(value))
        .expect("it is a function")
}

fn global(module: &Module, name: &str) -> Global {
    module
        .named(name)
        .and_then(|value| module.as_global(value))
        .expect("it is a global")
}

/// Returns the n-th instruction of a function.
fn inst(module: &Module, name: &str, n: usize) -> Value {
    let blocks = &module.func(func(module, name)).blocks;
    blocks
        .iter()
        .flat_map(|&block| module.block(block).insts.clone())
        .nth(n)
        .expect("it is there")
}

fn kind<'m>(module: &'m mut Module, name: &str, n: usize) -> &'m mut InstKind {
    let value = inst(module, name, n);
    &mut module.inst_mut(value).expect("it is an instruction").kind
}

/// Returns a function `f` with this body; `%p` is a pointer, `%x` an `i32`, `%d` a `double`, `%c`
/// an `i1`.
fn body(body: &str) -> String {
    format!("define void @f(ptr %p, i32 %x, double %d, i1 %c) {{\nstart:\n{body}}}\n")
}

const EMPTY: &str = "define void @f(i32 %x) {\nstart:\n  ret void\n}\n";

#[test]
fn the_sample_observes_all_rules() {
    for debug in [false, true] {
        let mut sample = common::sample(debug);
        passes::convergence(&mut sample);
        assert_eq!(rules(&sample), []);
    }
}

#[test]
fn the_rules_are_numbered() {
    assert_eq!(Rule::ALL.len(), 22);
    assert_eq!(Rule::Symbols.number(), 1);
    assert_eq!(Rule::Convergence.number(), 22);
}

#[test]
fn rule_1_symbols() {
    change_breaks(
        EMPTY,
        |m| {
            let f = func(m, "f");
            m.func_mut(f).name.clear()
        },
        Rule::Symbols,
    );
    let two = "define void @f() {\nstart:\n  ret void\n}\n@g = addrspace(1) global i8 0, align 1\n";
    change_breaks(
        two,
        |m| {
            let f = func(m, "f");
            m.func_mut(f).name = "g".into()
        },
        Rule::Symbols,
    );
}

#[test]
fn rule_2_signatures() {
    change_breaks(
        EMPTY,
        |m| {
            let f = func(m, "f");
            m.func_mut(f).param_attrs.clear()
        },
        Rule::Signatures,
    );
    breaks("declare void @f({})\n", Rule::Signatures);
    breaks("declare i32 (i32) @f()\n", Rule::Signatures);
}

#[test]
fn rule_3_kernels() {
    let kernel = |m: &mut Module| {
        let f = func(m, "f");
        m.func_mut(f).kernel = Some(KernelAttrs::default())
    };
    holds(
        "define void @k() {\nstart:\n  ret void\n}\n!nvvm.annotations = !{!0}\n!0 = !{ptr @k, !\"kernel\", i32 1}\n",
    );
    change_breaks("declare void @f()\n", kernel, Rule::Kernels);
    change_breaks(
        "define i32 @f() {\nstart:\n  ret i32 0\n}\n",
        kernel,
        Rule::Kernels,
    );
    change_breaks(
        "define void @f(i32 %x, ...) {\nstart:\n  ret void\n}\n",
        kernel,
        Rule::Kernels,
    );
    change_breaks(
        "define internal void @f() {\nstart:\n  ret void\n}\n",
        kernel,
        Rule::Kernels,
    );
}

#[test]
fn rule_4_statics() {
    holds("@g = internal addrspace(3) global i32 undef, align 4\n");
    breaks(
        "@g = internal addrspace(3) global i32 5, align 4\n",
        Rule::Statics,
    );
    breaks(
        "@g = external addrspace(5) global i32, align 4\n",
        Rule::Statics,
    );
    breaks("@g = addrspace(1) global i32 0, align 3\n", Rule::Statics);
    breaks(
        "@g = external addrspace(1) global void (), align 1\n",
        Rule::Statics,
    );
    let int = "@g = addrspace(1) global i32 0, align 4\n";
    change_breaks(
        int,
        |m| {
            let g = global(m, "g");
            let wide = m.const_i64(0);
            m.global_mut(g).init = Some(wide)
        },
        Rule::Statics,
    );
}

#[test]
fn rule_5_constants() {
    breaks(
        "@g = addrspace(1) global [2 x i8] c\"abc\", align 1\n",
        Rule::Constants,
    );
    breaks(
        "@g = addrspace(1) global { i8, i32 } { i8 1, i8 2 }, align 4\n",
        Rule::Constants,
    );
    breaks(
        "@g = addrspace(1) global <2 x i8> <i8 1>, align 2\n",
        Rule::Constants,
    );
    let address =
        "@g = addrspace(1) global i32 0, align 4\n@h = addrspace(1) global ptr null, align 8\n";
    change_breaks(
        address,
        |m| {
            let (g, h) = (global(m, "g"), global(m, "h"));
            let shared = m.types.ptr_in(AddrSpace::Shared);
            let base = m.global(g).value;
            let wrong = m.constant(shared, Const::Addr { base, offset: 0 });
            m.global_mut(h).ty = shared;
            m.global_mut(h).init = Some(wrong);
        },
        Rule::Constants,
    );
    change_breaks(
        "declare void @g()\ndefine void @f() {\nstart:\n  call void @g()\n  ret void\n}\n",
        |m| {
            let g = func(m, "g");
            m.remove_func(g)
        },
        Rule::Constants,
    );
}

#[test]
fn rule_6_cycles() {
    let to = |name: &str| format!("ptr addrspacecast (ptr addrspace(1) @{name} to ptr)");
    let itself = format!("@a = addrspace(1) global {}, align 8\n", to("a"));
    breaks(&itself, Rule::Cycles);
    assert_eq!(verify(&read(&itself)), Ok(()));
    let three = format!(
        "@a = addrspace(1) global {}, align 8\n@b = addrspace(1) global [1 x ptr] [{}], align 8\n\
         @c = addrspace(1) global {}, align 8\n",
        to("b"),
        to("c"),
        to("a"),
    );
    breaks(&three, Rule::Cycles);
    let twice = format!(
        "@a = addrspace(1) global [2 x ptr] [{}, {}], align 8\n@b = addrspace(1) global {}, align 8\n\
         @c = addrspace(1) global i32 0, align 4\n",
        to("b"),
        to("b"),
        to("c"),
    );
    holds(&twice);
}

#[test]
fn rule_7_blocks() {
    breaks(&body("  %y = add i32 %x, 1\n"), Rule::Blocks);
    breaks(&body("  ret void\n  ret void\n"), Rule::Blocks);
    breaks(&body("  br label %start\n"), Rule::Blocks);
    change_breaks(
        &body("  fence seq_cst\n  ret void\n"),
        |m| {
            let (f, fence) = (func(m, "f"), inst(m, "f", 0));
            let start = m.func(f).blocks[0];
            m.block_mut(start).insts.insert(0, fence);
        },
        Rule::Blocks,
    );
    let two = "define void @f() {\nstart:\n  br label %end\nend:\n  ret void\n}\n\
               define void @g() {\nstart:\n  ret void\n}\n";
    change_breaks(
        two,
        |m| {
            let g = func(m, "g");
            let to = m.func(g).blocks[0];
            *kind(m, "f", 0) = InstKind::Br(to)
        },
        Rule::Blocks,
    );
}

#[test]
fn rule_8_phis() {
    let phi = |phi: &str| {
        body(&format!(
            "  br i1 %c, label %a, label %b\na:\n  br label %b\nb:\n{phi}  ret void\n"
        ))
    };
    holds(&phi("  %y = phi i32 [ 1, %start ], [ %x, %a ]\n"));
    breaks(&phi("  %y = phi i32 [ 1, %start ]\n"), Rule::Phis);
    breaks(
        &phi("  %y = phi i32 [ 1, %start ], [ 2, %a ], [ 3, %b ]\n"),
        Rule::Phis,
    );
    breaks(
        &phi("  fence seq_cst\n  %y = phi i32 [ 1, %start ], [ %x, %a ]\n"),
        Rule::Phis,
    );
    let double = |phi: &str| {
        body(&format!(
            "  br i1 %c, label %b, label %b\nb:\n{phi}  ret void\n"
        ))
    };
    holds(&double("  %y = phi i32 [ %x, %start ], [ %x, %start ]\n"));
    breaks(&double("  %y = phi i32 [ %x, %start ]\n"), Rule::Phis);
    breaks(
        &double("  %y = phi i32 [ 1, %start ], [ 2, %start ]\n"),
        Rule::Phis,
    );
}

#[test]
fn rule_9_dominance() {
    let diamond = "  br i1 %c, label %a, label %b\na:\n  %y = add i32 %x, 1\n  br label %end\n\
                   b:\n  br label %end\nend:\n";
    breaks(
        &body(&format!("{diamond}  %z = add i32 %y, 1\n  ret void\n")),
        Rule::Dominance,
    );
    holds(&body(&format!(
        "{diamond}  %z = phi i32 [ %y, %a ], [ 0, %b ]\n  ret void\n"
    )));
    breaks(
        &body(&format!(
            "{diamond}  %z = phi i32 [ 0, %a ], [ %y, %b ]\n  ret void\n"
        )),
        Rule::Dominance,
    );
    breaks(
        &body("  %z = add i32 %y, 1\n  %y = add i32 %x, 1\n  ret void\n"),
        Rule::Dominance,
    );
    // A loop's header dominates its body; in the text the body comes first.
    holds(&body(
        "  br label %head\nbody:\n  %j = add i32 %i, 1\n  br label %head\n\
         head:\n  %i = phi i32 [ 0, %start ], [ %j, %body ]\n  br i1 %c, label %body, label %end\n\
         end:\n  ret void\n",
    ));
    // An unreachable block.
    holds(&body(
        "  ret void\ndead:\n  %y = add i32 %y, 1\n  ret void\n",
    ));
    let other = "define void @f(i32 %x) {\nstart:\n  %y = add i32 %x, 1\n  ret void\n}\n\
                 define void @g(i32 %x) {\nstart:\n  %y = add i32 %x, 1\n  ret void\n}\n";
    change_breaks(
        other,
        |m| {
            let g = func(m, "g");
            let x = m.func(g).params[0];
            if let InstKind::Bin { lhs, .. } = kind(m, "f", 0) {
                *lhs = x;
            }
        },
        Rule::Dominance,
    );
}

#[test]
fn rule_10_types() {
    let wrong = |text: &str| {
        change_breaks(
            &body(&format!("{text}  ret void\n")),
            |m| {
                let i64 = m.types.int(64);
                let first = inst(m, "f", 0);
                m.value_mut(first).ty = i64;
            },
            Rule::Types,
        )
    };
    wrong("  %y = add i32 %x, 1\n");
    wrong("  %y = fadd double %d, %d\n");
    wrong("  %y = fneg double %d\n");
    wrong("  %y = freeze i32 %x\n");
    wrong("  %y = icmp eq i32 %x, 1\n");
    wrong("  %y = fcmp oeq double %d, %d\n");
    wrong("  %y = select i1 %c, i32 %x, i32 1\n");
    wrong("  %y = trunc i32 %x to i16\n");
    wrong("  %y = getelementptr i32, ptr %p, i64 1\n");
    wrong("  %y = alloca i32, align 4\n");
    wrong("  store i32 %x, ptr %p, align 4\n");
    wrong("  %y = extractvalue { i32, i8 } zeroinitializer, 0\n");
    wrong("  %y = insertvalue { i32, i8 } zeroinitializer, i32 %x, 0\n");
    wrong("  %y = extractelement <2 x i32> zeroinitializer, i32 0\n");
    wrong("  %y = insertelement <2 x i32> zeroinitializer, i32 %x, i32 0\n");
    wrong("  %y = atomicrmw add ptr %p, i32 %x monotonic\n");
    wrong("  %y = cmpxchg ptr %p, i32 %x, i32 1 monotonic monotonic\n");
    let shuffle = "  %y = shufflevector <2 x i32> zeroinitializer, <2 x i32> zeroinitializer, \
                   <2 x i32> <i32 0, i32 4>\n  ret void\n";
    breaks(&body(shuffle), Rule::Types);
    breaks(
        &body(
            "  %y = add i32 %x, 1\n  br i1 %c, label %a, label %a\na:\n  %z = and double %d, %d\n  ret void\n",
        ),
        Rule::Types,
    );
    breaks(
        &body("  %y = zext i32 %x to i16\n  ret void\n"),
        Rule::Types,
    );
    breaks(
        &body("  %y = bitcast i32 %x to double\n  ret void\n"),
        Rule::Types,
    );
    breaks(
        &body("  %y = getelementptr { i32, i8 }, ptr %p, i64 0, i32 2\n  ret void\n"),
        Rule::Types,
    );
    breaks(
        &body("  %y = getelementptr { i32, i8 }, ptr %p, i64 0, i64 1\n  ret void\n"),
        Rule::Types,
    );
    breaks(
        &body("  br i32 %x, label %a, label %a\na:\n  ret void\n"),
        Rule::Types,
    );
}

#[test]
fn rule_11_memory() {
    let access = |change: fn(&mut MemAccess)| {
        move |m: &mut Module| match kind(m, "f", 0) {
            InstKind::Load { access, .. } | InstKind::Store { access, .. } => change(access),
            _ => unreachable!("the first instruction is an access"),
        }
    };
    let load = body("  %y = load i32, ptr %p, align 4\n  ret void\n");
    let store = body("  store double %d, ptr %p, align 4\n  ret void\n");
    change_breaks(&load, access(|a| a.align = 0), Rule::Memory);
    change_breaks(&load, access(|a| a.align = 6), Rule::Memory);
    change_breaks(&store, access(|a| a.invariant = true), Rule::Memory);
    change_breaks(&load, access(|a| a.nonnull = true), Rule::Memory);
    change_breaks(
        &body("  %y = load double, ptr %p, align 8\n  ret void\n"),
        access(|a| a.range = Some((0, 1))),
        Rule::Memory,
    );
    breaks(
        &body("  %y = alloca void (), align 4\n  ret void\n"),
        Rule::Memory,
    );
    breaks(
        &body("  %y = alloca i32, align 5\n  ret void\n"),
        Rule::Memory,
    );
}

#[test]
fn rule_12_allocations() {
    let late = "  br label %a\na:\n  %y = alloca i32, align 4\n  ret void\n";
    breaks(&body(late), Rule::Allocations);
    holds(&body(
        "  br label %a\na:\n  %y = alloca i8, i32 %x, align 4\n  ret void\n",
    ));
}

#[test]
fn rule_13_switches() {
    let twice =
        "  switch i32 %x, label %a [ i32 -1, label %a i32 4294967295, label %a ]\na:\n  ret void\n";
    breaks(&body(twice), Rule::Switches);
}

#[test]
fn rule_14_calls() {
    let call = "declare i32 @g(i32)\ndefine void @f(i32 %x) {\nstart:\n  %y = call i32 @g(i32 %x)\n  ret void\n}\n";
    let change = |change: fn(&mut Call)| {
        move |m: &mut Module| match kind(m, "f", 0) {
            InstKind::Call(call) => change(call),
            _ => unreachable!("the first instruction is a call"),
        }
    };
    holds(call);
    change_breaks(call, change(|c| c.args.clear()), Rule::Calls);
    change_breaks(call, change(|c| c.args.push(c.args[0])), Rule::Calls);
    change_breaks(
        call,
        change(|c| c.arg_attrs = vec![ParamAttrs::default(); 2]),
        Rule::Calls,
    );
    change_breaks(
        call,
        change(|c| c.callee = Callee::Value(c.args[0])),
        Rule::Calls,
    );
    let tail = |after: &str| {
        format!(
            "declare i32 @g(i32)\ndefine i32 @f(i32 %x) {{\nstart:\n  %y = musttail call i32 @g(i32 %x)\n{after}}}\n"
        )
    };
    holds(&tail("  ret i32 %y\n"));
    breaks(&tail("  ret i32 1\n"), Rule::Calls);
    breaks(&tail("  %z = add i32 %y, 1\n  ret i32 %y\n"), Rule::Calls);
    // A call with a different signature: LLVM permits it, at the caller's risk.
    holds(
        "declare i32 @g(i32)\ndefine void @f(i64 %x) {\nstart:\n  call void @g(i64 %x)\n  ret void\n}\n",
    );
}

#[test]
fn rule_15_intrinsics() {
    let call = |text: &str| body(&format!("  {text}\n  ret void\n"));
    holds(&call("%y = call i32 @llvm.ctlz.i32(i32 %x, i1 true)"));
    breaks(
        &call("%y = call i32 @llvm.ctlz.i32(i32 %x)"),
        Rule::Intrinsics,
    );
    breaks(
        &call("%y = call i64 @llvm.ctpop.i64(i32 %x)"),
        Rule::Intrinsics,
    );
    holds(&call(
        "%y = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %x, i32 1)",
    ));
    breaks(
        &call("%y = call { i32, i32 } @llvm.uadd.with.overflow.i32(i32 %x, i32 1)"),
        Rule::Intrinsics,
    );
    breaks(
        &call("%y = call i32 @llvm.sqrt.i32(i32 %x)"),
        Rule::Intrinsics,
    );
    holds(&call("%y = call i8 @llvm.fptosi.sat.i8.f64(double %d)"));
    let declared = format!(
        "declare i32 @llvm.nvvm.barrier0.popc(i32)\n{}",
        call("%y = call i32 @llvm.nvvm.barrier0.popc(i64 1)")
    );
    breaks(&declared, Rule::Intrinsics);
    breaks(
        &call("call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %p, i32 %x, i32 %x)"),
        Rule::Intrinsics,
    );
}

#[test]
fn rule_16_address_spaces() {
    let f = |body: &str| {
        format!("define void @f(ptr addrspace(4) %p) {{\nstart:\n  {body}\n  ret void\n}}\n")
    };
    holds(&f("%q = addrspacecast ptr addrspace(4) %p to ptr"));
    breaks(
        &f("%q = addrspacecast ptr addrspace(4) %p to ptr addrspace(1)"),
        Rule::AddressSpaces,
    );
    breaks(
        &f("%q = bitcast ptr addrspace(4) %p to ptr addrspace(1)"),
        Rule::AddressSpaces,
    );
    breaks(
        &f("store i32 1, ptr addrspace(4) %p, align 4"),
        Rule::AddressSpaces,
    );
}

#[test]
fn rule_17_returns() {
    breaks(&body("  ret i32 %x\n"), Rule::Returns);
    breaks(
        "define i32 @f(i64 %x) {\nstart:\n  ret i64 %x\n}\n",
        Rule::Returns,
    );
    breaks(
        "define i32 @f(i64 %x) {\nstart:\n  ret void\n}\n",
        Rule::Returns,
    );
}

#[test]
fn rule_18_debug_information() {
    let nodes = "!0 = distinct !DISubprogram(name: \"f\", linkageName: \"f\", file: !2, line: 1, unit: !3)\n\
                 !1 = !DILocation(line: 2, column: 3, scope: !0)\n\
                 !2 = !DIFile(filename: \"a.rs\", directory: \"/\")\n\
                 !3 = distinct !DICompileUnit(file: !2, producer: \"x\")\n\
                 !4 = distinct !DISubprogram(name: \"g\", linkageName: \"g\", file: !2, line: 9, unit: !3)\n\
                 !5 = !DILocation(line: 9, column: 3, scope: !4)\n\
                 !6 = !DILocation(line: 9, column: 3, scope: !4, inlinedAt: !1)\n\
                 !7 = distinct !DISubprogram(name: \"h\", linkageName: \"h\", file: !3, line: 9, unit: !2)\n\
                 !8 = !DILocalVariable(name: \"v\", scope: !0, file: !2, line: 3, type: !9)\n\
                 !9 = !DIBasicType(name: \"i32\", size: 32, encoding: 5)\n";
    let f = |subprogram: &str, loc: &str| {
        format!(
            "define void @f() !dbg {subprogram} {{\nstart:\n  %v = alloca i32, align 4\n  \
                 ret void, !dbg {loc}\n}}\n{nodes}"
        )
    };
    holds(&f("!0", "!1"));
    holds(&f("!0", "!6"));
    breaks(&f("!0", "!5"), Rule::DebugInformation);
    breaks(&f("!0", "!2"), Rule::DebugInformation);
    breaks(&f("!1", "!1"), Rule::DebugInformation);
    breaks(&f("!7", "!1"), Rule::DebugInformation);
    let shared = format!(
        "{}define void @g() !dbg !0 {{\nstart:\n  ret void\n}}\n",
        f("!0", "!1")
    );
    breaks(&shared, Rule::DebugInformation);
    let variable = |body: &str| {
        let declare = "call void @llvm.dbg.declare(metadata ptr %v, metadata !8, metadata !DIExpression()), !dbg !1";
        format!(
            "define void @f(ptr %p) !dbg !0 {{\nstart:\n{body}  {declare}\n  ret void\n}}\n{nodes}"
        )
    };
    holds(&variable("  %v = alloca i32, align 4\n"));
    breaks(
        &variable("  %v = getelementptr i8, ptr %p, i64 4\n"),
        Rule::DebugInformation,
    );
}

#[test]
fn rule_19_attributes() {
    breaks("declare void @f(i32 noalias)\n", Rule::Attributes);
    breaks("declare void @f(ptr zeroext)\n", Rule::Attributes);
    breaks("declare void @f(ptr align 3)\n", Rule::Attributes);
    breaks("declare void @f(ptr byval({}))\n", Rule::Attributes);
    breaks("declare nonnull i32 @f()\n", Rule::Attributes);
    let call = "declare void @g(i32)\ndefine void @f(i32 %x) {\nstart:\n  call void @g(i32 nonnull %x)\n  ret void\n}\n";
    breaks(call, Rule::Attributes);
}

#[test]
fn rule_20_inline_ptx() {
    let asm = |text: &str| body(&format!("  {text}\n  ret void\n"));
    holds(&asm(
        "%y = call i32 asm sideeffect \"mov.u32 $0, $1;\", \"=r,r,~{memory}\"(i32 %x)",
    ));
    breaks(
        &asm("%y = call i32 asm \"mov.u32 $0, $1;\", \"=r,r\"()"),
        Rule::InlinePtx,
    );
    breaks(
        &asm("call void asm \"mov.u32 $0, $1;\", \"=r,r\"(i32 %x)"),
        Rule::InlinePtx,
    );
    holds(&asm("%y = call { i32, i32 } asm \"\", \"=r,=r\"()"));
}

#[test]
fn rule_21_atomics() {
    let f = |text: &str| body(&format!("  {text}\n  ret void\n"));
    breaks(
        &f("%y = load atomic i32, ptr %p release, align 4"),
        Rule::Atomics,
    );
    breaks(
        &f("store atomic i32 %x, ptr %p acquire, align 4"),
        Rule::Atomics,
    );
    breaks(
        &f("store atomic i32 %x, ptr %p release, align 2"),
        Rule::Atomics,
    );
    breaks(
        &f("store atomic i24 1, ptr %p release, align 4"),
        Rule::Atomics,
    );
    breaks(&f("fence monotonic"), Rule::Atomics);
    breaks(
        &f("%y = atomicrmw add ptr %p, double %d monotonic"),
        Rule::Atomics,
    );
    holds(&f("%y = atomicrmw fadd ptr %p, double %d monotonic"));
    holds(&f("%y = atomicrmw xchg ptr %p, ptr %p monotonic"));
    breaks(
        &f("%y = cmpxchg ptr %p, i32 %x, i32 1 seq_cst release"),
        Rule::Atomics,
    );
    breaks(
        &f("%y = cmpxchg ptr %p, double %d, double %d seq_cst monotonic"),
        Rule::Atomics,
    );
}

#[test]
fn an_error_shows_the_instructions_around_it() {
    let text = body("  %y = add i32 %x, 1\n  fence monotonic\n  ret void\n");
    let errors = verify(&read(&text)).unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "in `f`: a relaxed fence (rule 21: Atomics)\n    %y = add i32 %x, 1\n->  fence monotonic\n    ret void"
    );
}

#[test]
fn verification_of_long_functions_takes_linear_time() {
    let mut text = String::from("  br label %b0\n");
    for n in 0..20_000 {
        text.push_str(&format!(
            "b{n}:\n  %v{n} = add i32 %x, {n}\n  br i1 %c, label %b{}, label %end\n",
            n + 1
        ));
    }
    text.push_str("b20000:\n  br label %end\nend:\n  ret void\n");
    let module = read(&body(&text));
    let start = std::time::Instant::now();
    assert_eq!(rules(&module), []);
    // On a busy machine linear time is seconds; quadratic time would be minutes.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn rule_22_convergence() {
    let text = |f: &str, call: &str| {
        format!(
            "declare void @g() convergent\ndefine void @f() {f} {{\nstart:\n  call void {call}\n  ret void\n}}\n"
        )
    };
    let asm = r#"asm sideeffect "bar.sync 0;", ""()"#;
    holds(&text("convergent", "@g() convergent"));
    holds(&text("convergent", &format!("{asm} convergent")));
    holds(&text("", asm));
    // An unnecessary mark is slow, but valid.
    holds(&text("convergent", asm));
    breaks(&text("", "@g() convergent"), Rule::Convergence);
    breaks(&text("convergent", "@g()"), Rule::Convergence);
    breaks(&text("", &format!("{asm} convergent")), Rule::Convergence);
    // Before the pass has run, the rule does not apply.
    assert_eq!(verify(&read(&text("", "@g()"))), Ok(()));
}
