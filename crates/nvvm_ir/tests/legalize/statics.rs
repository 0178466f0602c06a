//! Statics that form a reference cycle.

use crate::harness::{Suite, Ty, Want};
use nvvm_ir::legalize::{LegalizeError, Target, legalize};
use nvvm_ir::*;

fn access(align: u64) -> MemAccess {
    MemAccess {
        align,
        ..MemAccess::default()
    }
}

/// A cyclic list of four nodes, a static that points into itself at an unaligned offset, a table
/// that refers to them, and strings that they refer to.
#[test]
fn cycles() {
    let mut suite = Suite::new("cycles");
    let m = &mut suite.module;
    let (i8, i32, ptr) = (m.types.int(8), m.types.int(32), m.types.ptr());
    let node = m.types.structure(&[i32, ptr, ptr], false);
    let text = m.const_bytes(b"abcdefghijk");
    let text_ty = m.ty(text);
    let text_global = m.add_global("text", text_ty, AddrSpace::Global).unwrap();
    m.global_mut(text_global).init = Some(text);
    m.global_mut(text_global).align = 1;
    let text = m.global(text_global).value;
    let nodes: Vec<Global> = (0..4)
        .map(|i| {
            m.add_global(&format!("node.{i}"), node, AddrSpace::Global)
                .unwrap()
        })
        .collect();
    for (i, &global) in nodes.iter().enumerate() {
        let next = m.global(nodes[(i + 1) % 4]).value;
        let number = m.const_i32(i as i32 * 11);
        let (next, letter) = (m.const_addr(next, 0), m.const_addr(text, i as i64));
        let init = m.const_struct(&[number, next, letter], false);
        m.global_mut(global).init = Some(init);
        m.global_mut(global).linkage = Linkage::Internal;
    }
    let packed = m.types.structure(&[i8, ptr, i8], true);
    let own = m.add_global("own", packed, AddrSpace::Global).unwrap();
    let (one, two) = (m.const_int(i8, 1), m.const_int(i8, 2));
    let own_value = m.global(own).value;
    let address = m.const_addr(own_value, 9);
    let init = m.const_struct(&[one, address, two], true);
    m.global_mut(own).init = Some(init);
    let table_ty = m.types.array(ptr, 2);
    let values = [m.global(nodes[2]).value, m.global(nodes[1]).value].map(|v| m.const_addr(v, 0));
    let table = m.constant(table_ty, Const::Aggregate(values.to_vec()));
    let table_global = m.add_global("table", table_ty, AddrSpace::Global).unwrap();
    m.global_mut(table_global).init = Some(table);
    let table = m.global(table_global).value;

    suite.case(
        "walk",
        &[Ty::I(64)],
        &[Ty::I(32), Ty::I(8), Ty::I(8)],
        vec![vec![0], vec![1]],
        |b, args| {
            let base = b.addr_of(table);
            let entry = b.gep(ptr, base, &[args[0]], true);
            let mut at = b.load(ptr, entry, access(8));
            let eight = b.module.const_i64(8);
            for _ in 0..5 {
                let next = b.gep(i8, at, &[eight], true);
                at = b.load(ptr, next, access(8));
            }
            let number = b.load(i32, at, access(4));
            let sixteen = b.module.const_i64(16);
            let letter = b.gep(i8, at, &[sixteen], true);
            let letter = b.load(ptr, letter, access(8));
            let letter = b.load(i8, letter, access(1));
            // Through its own address, at an unaligned offset, to its last byte.
            let field = b.module.const_addr(own_value, 1);
            let last = b.load(ptr, field, access(1));
            vec![number, letter, b.load(i8, last, access(1))]
        },
        |a| {
            // Two and one steps, and five more: three and two.
            let node = 3 - a[0];
            vec![
                Want::Bits(node * 11),
                Want::Bits(u128::from(b'a') + node),
                Want::Bits(2),
            ]
        },
    );
    suite.run();
}

/// The function keeps its name, which the statics' PTX uses. `tests/run` calls such functions.
#[test]
fn a_cycle_with_a_function() {
    let mut m = Module::new("cycle");
    let (void, ptr) = (m.types.void(), m.types.ptr());
    let sig = m.types.func(void, &[], false);
    let func = m.add_func("f", sig).unwrap();
    m.func_mut(func).linkage = Linkage::Internal;
    let entry = m.add_block(func, "entry");
    Builder::new(&mut m, entry).ret(None);
    let pair = m.types.array(ptr, 2);
    let global = m.add_global("me", pair, AddrSpace::Global).unwrap();
    let (me, f) = (m.global(global).value, m.func(func).value);
    let fields = vec![m.const_addr(me, 0), f];
    let init = m.constant(pair, Const::Aggregate(fields));
    m.global_mut(global).init = Some(init);
    legalize(&mut m, &Target::new(75)).unwrap();
    assert_eq!(m.func(func).linkage, Linkage::External);
    let text = write_module(&m, Dialect::Llvm7);
    assert!(text.contains("me[2] = {generic(me), f};"), "{text}");
}

#[test]
fn a_cycle_in_constant_memory_is_rejected() {
    let mut m = Module::new("cycle");
    let ptr = m.types.ptr();
    let global = m.add_global("me", ptr, AddrSpace::Constant).unwrap();
    let me = m.global(global).value;
    let init = m.const_addr(me, 0);
    m.global_mut(global).init = Some(init);
    let errors = legalize(&mut m, &Target::new(75)).unwrap_err();
    assert!(matches!(&errors[..], [LegalizeError::CyclicStatics { .. }]));
    assert_eq!(
        errors[0].to_string(),
        "the initializers of the statics `me` form a reference cycle: one of them is \
         not in global memory"
    );
}
