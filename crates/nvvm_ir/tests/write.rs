//! The writer. The text of each instruction is tested by `tests/ir`.

mod common;

use nvvm_ir::*;

fn function(m: &mut Module, name: &str) -> Func {
    let void = m.types.void();
    let sig = m.types.func(void, &[], false);
    let func = m.add_func(name, sig).expect("the name is free");
    let block = m.add_block(func, "start");
    Builder::new(m, block).ret(None);
    func
}

#[test]
fn symbols_that_libnvvm_rejects_are_renamed() {
    let mut m = Module::new("m");
    let names = [
        "a.b", "a_x2Eb", "a$b", "<T>", "0", "_", "ä", "fine_1", "a_x2Eb_1",
    ];
    let symbols: Vec<Func> = names.iter().map(|name| function(&mut m, name)).collect();
    let text = write_module(&m, Dialect::Modern);
    let defined: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("define void @")?.strip_suffix("() {"))
        .collect();
    assert_eq!(
        defined,
        [
            "a_x2Eb_2",
            "a_x2Eb",
            "a_x24b",
            "_x3CT_x3E",
            "_x_0",
            "_x__",
            "_xC3_xA4",
            "fine_1",
            "a_x2Eb_1"
        ]
    );
    let renamed = write::symbol_names(&m);
    assert_eq!(renamed[&m.func(symbols[0]).value], "a_x2Eb_2");
    assert!(!renamed.contains_key(&m.func(symbols[7]).value));
}

#[test]
fn declared_intrinsics_keep_their_names() {
    let mut m = Module::new("m");
    let i32 = m.types.int(32);
    let sig = m.types.func(i32, &[], false);
    m.add_func("llvm.nvvm.read.ptx.sreg.tid.x", sig).unwrap();
    assert!(
        write_module(&m, Dialect::Llvm7).contains("declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
    );
}

#[test]
fn local_names_are_unique_and_clean() {
    let mut m = Module::new("m");
    let i32 = m.types.int(32);
    let void = m.types.void();
    let sig = m.types.func(void, &[i32], false);
    let func = m.add_func("f", sig).unwrap();
    let param = m.func(func).params[0];
    m.value_mut(param).name = Some("x".into());
    let block = m.add_block(func, "x");
    let mut b = Builder::new(&mut m, block);
    for name in ["x", "x.1", "1", ".0", "a b\"", "", "x"] {
        let value = b.bin(BinOp::Add, param, param);
        b.module.value_mut(value).name = Some(name.into());
    }
    b.ret(None);
    let text = write_module(&m, Dialect::Modern);
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.trim().strip_suffix(" = add i32 %x.1, %x.1"))
        .collect();
    assert_eq!(
        names,
        ["%x.2", "%x.1.1", "%_1", "%_.0", "%a_b_", "%0", "%x.3"]
    );
    assert!(text.contains("define void @f(i32 %x.1) {\nx:\n"), "{text}");
}

#[test]
fn calls_without_a_location_get_that_of_the_function() {
    let text = write_module(&common::sample(true), Dialect::Llvm7);
    let call = text
        .lines()
        .find(|line| line.contains("call void @bytes_by_value"))
        .unwrap();
    let (_, node) = call.split_once("!dbg ").unwrap();
    let location = format!("\n{node} = !DILocation(line: 30, column: 0, scope: ");
    assert!(text.contains(&location), "{text}");
    // No locations without a subprogram.
    assert!(!write_module(&common::sample(false), Dialect::Llvm7).contains("!dbg"));
}

#[test]
fn poison_is_undefined_in_llvm_7() {
    let module = common::sample(false);
    assert!(write_module(&module, Dialect::Modern).contains(", poison\n"));
    assert!(!write_module(&module, Dialect::Llvm7).contains("poison"));
}

#[test]
fn a_single_function() {
    let mut m = Module::new("m");
    let func = function(&mut m, "f");
    function(&mut m, "g");
    assert_eq!(
        write_func(&m, func, Dialect::Modern),
        "define void @f() {\nstart:\n  ret void\n}\n"
    );
}

#[test]
fn a_million_instructions() {
    let mut m = Module::new("m");
    let (i32, ptr, void) = (m.types.int(32), m.types.ptr(), m.types.void());
    let sig = m.types.func(void, &[ptr, i32], false);
    for n in 0..1000 {
        let func = m.add_func(&format!("f{n}"), sig).unwrap();
        let (p, mut x) = (m.func(func).params[0], m.func(func).params[1]);
        let block = m.add_block(func, "start");
        let mut b = Builder::new(&mut m, block);
        for _ in 0..250 {
            let slot = b.gep(i32, p, &[x], true);
            let loaded = b.load(i32, slot, common::ACCESS4);
            x = b.bin(BinOp::Add, loaded, x);
            b.store(x, slot, common::ACCESS4);
        }
        b.ret(None);
    }
    let start = std::time::Instant::now();
    let text = write_module(&m, Dialect::Llvm7);
    let written = start.elapsed();
    verify(&m).unwrap();
    println!(
        "{} MB: written {written:?}, verified {:?}",
        text.len() >> 20,
        start.elapsed() - written
    );
    assert!(start.elapsed().as_secs() < 20);
}
