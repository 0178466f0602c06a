//! What kernels depend on, in pairs of modules.

use nvvm_ir::{Dependencies, dependencies, read_module};

/// Three kernels: `a` and `b` share a function and a constant, `b` and `c` a variable.
const MODULE: &str = r#"
@name = internal addrspace(1) constant [2 x i8] c"hi", align 1
@table = internal addrspace(1) constant { ptr } { ptr addrspacecast (ptr addrspace(1) @name to ptr) }, align 8
@state = internal addrspace(1) global i32 0, align 4
@tile = internal addrspace(3) global [8 x i8] undef, align 4
@exported = addrspace(1) global i32 1, align 4
@unused = addrspace(1) global i32 1, align 4
define internal i32 @f() !dbg !4 {
start:
  %x = load i32, ptr addrspacecast (ptr addrspace(1) @name to ptr), align 1, !dbg !5
  ret i32 %x
}
define void @a() {
start:
  %x = call i32 @f()
  store i32 %x, ptr addrspacecast (ptr addrspace(3) @tile to ptr), align 4
  ret void
}
define void @b() {
start:
  %x = call i32 @f()
  store i32 %x, ptr addrspacecast (ptr addrspace(1) @state to ptr), align 4
  store i32 %x, ptr addrspacecast (ptr addrspace(1) @exported to ptr), align 4
  ret void
}
define void @c(ptr %out) {
start:
  %x = load i32, ptr addrspacecast (ptr addrspace(1) @state to ptr), align 4
  %y = load i64, ptr addrspacecast (ptr addrspace(1) @table to ptr), align 8
  store i32 %x, ptr %out, align 4
  ret void
}
!nvvm.annotations = !{!0, !1, !2}
!llvm.module.flags = !{!8}
!llvm.dbg.cu = !{!6}
!0 = !{ptr @a, !"kernel", i32 1}
!1 = !{ptr @b, !"kernel", i32 1}
!2 = !{ptr @c, !"kernel", i32 1}
!4 = distinct !DISubprogram(name: "f", linkageName: "f", scope: !7, file: !7, line: 3, type: !9, isLocal: true, isDefinition: true, scopeLine: 3, isOptimized: true, unit: !6)
!5 = !DILocation(line: 4, column: 9, scope: !4)
!6 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !7, producer: "rustc", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!7 = !DIFile(filename: "a.rs", directory: "/")
!8 = !{i32 2, !"Debug Info Version", i32 3}
!9 = !DISubroutineType(types: !{null})
"#;

fn of(text: &str) -> Dependencies<String> {
    dependencies(&read_module(text).unwrap(), str::to_owned)
}

/// Returns the kernels whose dependencies a change of the text affects.
fn affected(from: &str, to: &str) -> String {
    let changed = MODULE.replacen(from, to, 1);
    assert_ne!(changed, MODULE, "`{from}` is not in the module");
    let (before, after) = (of(MODULE), of(&changed));
    assert_eq!(before.rest, after.rest);
    let kernels = before.kernels.iter().zip(&after.kernels).zip("abc".chars());
    let kernels = kernels.filter(|((before, after), _)| before.symbols != after.symbols);
    kernels.map(|(_, name)| name).collect()
}

#[test]
fn a_change_affects_the_kernels_that_reach_it() {
    assert_eq!(
        affected("store i32 %x, ptr %out", "store i32 0, ptr %out"),
        "c"
    );
    assert_eq!(affected("c\"hi\"", "c\"ho\""), "abc");
    assert_eq!(
        affected(
            "{ ptr addrspacecast (ptr addrspace(1) @name to ptr) }",
            "{ ptr null }"
        ),
        "c"
    );
    assert_eq!(
        affected(
            "@state = internal addrspace(1) global i32 0",
            "@state = internal addrspace(1) global i32 1"
        ),
        "bc"
    );
    assert_eq!(
        affected("internal i32 @f()", "internal i32 @f() cold"),
        "ab"
    );
    // Debug information, of an instruction and of a function.
    assert_eq!(affected("line: 4, column: 9", "line: 5, column: 9"), "ab");
    assert_eq!(affected("file: !7, line: 3", "file: !7, line: 2"), "ab");
    // An attribute of a kernel.
    let bounded = "!\"kernel\", i32 1}\n!3 = !{ptr @b, !\"maxntidx\", i32 64}";
    let marked = MODULE.replacen("!0, !1, !2", "!0, !1, !2, !3", 1);
    let marked = marked.replacen("@b, !\"kernel\", i32 1}", &format!("@b, {bounded}"), 1);
    let (before, after) = (of(MODULE), of(&marked));
    assert_ne!(before.kernels[1].symbols, after.kernels[1].symbols);
    assert_eq!(before.kernels[2].symbols, after.kernels[2].symbols);
}

#[test]
fn other_symbols_do_not_matter() {
    // Functions before all others, with debug information that gets the first numbers.
    let first = "define void @0z() !dbg !10 {\nstart:\n  ret void, !dbg !11\n}\n\
                 define internal i32 @f()";
    let more = "!10 = distinct !DISubprogram(name: \"z\", linkageName: \"z\", scope: !7, file: !7, \
                line: 9, type: !9, isLocal: true, isDefinition: true, scopeLine: 3, \
                isOptimized: true, unit: !6)\n!11 = !DILocation(line: 9, column: 9, scope: !10)\n";
    let text = MODULE
        .replacen("define internal i32 @f()", first, 1)
        .replacen("@0z", "@aa", 1);
    let (before, after) = (of(MODULE), of(&(text + more)));
    for (before, after) in before.kernels.iter().zip(&after.kernels) {
        assert_eq!(before.symbols, after.symbols);
    }
    assert_ne!(before.rest, after.rest);
}

#[test]
fn unreached_symbols_concern_all_kernels() {
    let before = of(MODULE);
    assert_eq!(before.rest.len(), 1);
    assert!(before.rest[0].contains("@unused"));
    let changed = MODULE.replacen(
        "@unused = addrspace(1) global i32 1",
        "@unused = addrspace(1) global i32 2",
        1,
    );
    assert_ne!(before.rest, of(&changed).rest);
    let with_assembly = format!("module asm \".global .u32 x;\"\n{MODULE}");
    assert_ne!(before.rest, of(&with_assembly).rest);
}

#[test]
fn kernels_exchange_values_through_internal_variables() {
    let module = read_module(MODULE).unwrap();
    let kernels = dependencies(&module, |_| ()).kernels;
    let names = |index: usize| {
        let variables = kernels[index].variables.iter();
        variables
            .map(|&it| &*module.global(it).name)
            .collect::<Vec<_>>()
    };
    // Neither constants, nor shared memory, nor variables of which an optimizer knows that others
    // use them.
    assert!(names(0).is_empty());
    assert_eq!(names(1), ["state"]);
    assert_eq!(names(2), ["state"]);
}
