//! Atomic operations: each operation, width and kind of memory, including the surrounding bytes;
//! and many threads at once on the bytes of one word.

use crate::harness::{Suite, Ty, Want, edges, mask, signed};
use nvvm_ir::*;

const ORDERINGS: [Ordering; 5] = [
    Ordering::Relaxed,
    Ordering::Acquire,
    Ordering::Release,
    Ordering::AcqRel,
    Ordering::SeqCst,
];
const SCOPES: [Scope; 4] = [Scope::Block, Scope::Cluster, Scope::Device, Scope::System];
const OPS: [RmwOp; 11] = [
    RmwOp::Xchg,
    RmwOp::Add,
    RmwOp::Sub,
    RmwOp::And,
    RmwOp::Nand,
    RmwOp::Or,
    RmwOp::Xor,
    RmwOp::Max,
    RmwOp::Min,
    RmwOp::UMax,
    RmwOp::UMin,
];

/// The memory that a test accesses.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Place {
    /// Global memory through a generic pointer.
    Generic,
    /// Global memory, known to be a static.
    Static,
    Shared,
    /// Local memory through a generic pointer.
    HiddenLocal,
    Local,
}

const PLACES: [Place; 5] = [
    Place::Generic,
    Place::Static,
    Place::Shared,
    Place::HiddenLocal,
    Place::Local,
];

fn access(align: u64) -> MemAccess {
    MemAccess {
        align,
        ..MemAccess::default()
    }
}

/// Returns the address of sixteen bytes for this thread in a place, filled with `slot`.
fn put(b: &mut Builder, place: Place, slot: Value) -> Value {
    let i128 = b.module.types.int(128);
    let ptr = match place {
        Place::Generic => return slot,
        Place::Local | Place::HiddenLocal => b.alloca(i128, 16),
        Place::Static | Place::Shared => {
            let (name, space, slots) = match place {
                Place::Shared => ("shared_slots", AddrSpace::Shared, 128),
                _ => ("static_slots", AddrSpace::Global, 1024),
            };
            let table = b.module.types.array(i128, slots);
            let base = match b.module.named(name) {
                Some(base) => base,
                None => {
                    let global = b.module.add_global(name, table, space).unwrap();
                    b.module.global_mut(global).linkage = Linkage::Internal;
                    let init = match space {
                        AddrSpace::Shared => b.module.const_undef(table),
                        _ => b.module.const_zero(table),
                    };
                    b.module.global_mut(global).init = Some(init);
                    b.module.global(global).value
                }
            };
            let i32 = b.module.types.int(32);
            let sig = b.module.types.func(i32, &[], false);
            let [tid, ctaid] = ["tid", "ctaid"].map(|name| {
                let name = format!("llvm.nvvm.read.ptx.sreg.{name}.x");
                let sreg = b.module.named(&name).unwrap();
                b.call(sig, sreg, &[])
            });
            let mut index = tid;
            if place == Place::Static {
                // All blocks share one static.
                let threads = b.module.const_i32(128);
                let before = b.bin(BinOp::Mul, ctaid, threads);
                index = b.bin(BinOp::Add, before, tid);
            }
            let base = b.addr_of(base);
            b.gep(i128, base, &[index], true)
        }
    };
    let contents = b.load(i128, slot, access(16));
    b.store(contents, ptr, access(16));
    if place == Place::HiddenLocal {
        let ty = b.module.ty(ptr);
        let asm = InlineAsm {
            template: "mov.b64 $0, $1;".into(),
            constraints: "=l,l".into(),
            side_effects: true,
            convergent: false,
            read_none: false,
        };
        return b.asm(asm, ty, &[ptr]);
    }
    ptr
}

fn field(b: &mut Builder, ptr: Value, offset: u64) -> Value {
    let i8 = b.module.types.int(8);
    let offset = b.module.const_i64(offset as i64);
    b.gep(i8, ptr, &[offset], true)
}

fn whole(b: &mut Builder, ptr: Value) -> Value {
    let i128 = b.module.types.int(128);
    b.load(
        i128,
        ptr,
        MemAccess {
            volatile: true,
            ..access(16)
        },
    )
}

fn combined(op: RmwOp, width: u32, old: u128, value: u128) -> u128 {
    let (so, sv) = (signed(old, width), signed(value, width));
    let new = match op {
        RmwOp::Xchg | RmwOp::FAdd => value,
        RmwOp::Add => old.wrapping_add(value),
        RmwOp::Sub => old.wrapping_sub(value),
        RmwOp::And => old & value,
        RmwOp::Nand => !(old & value),
        RmwOp::Or => old | value,
        RmwOp::Xor => old ^ value,
        RmwOp::Max => so.max(sv) as u128,
        RmwOp::Min => so.min(sv) as u128,
        RmwOp::UMax => old.max(value),
        RmwOp::UMin => old.min(value),
    };
    new & mask(width)
}

/// Returns the slot's contents with a field replaced.
fn replaced(slot: u128, offset: u64, width: u32, new: u128) -> u128 {
    let shift = offset * 8;
    slot & !(mask(width) << shift) | new << shift
}

fn slots(width: u32) -> Vec<u128> {
    let filler = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210u128;
    let values = edges(width);
    let repeat = |v: u128| (0..128 / width).fold(0, |all, i| all | v << (i * width));
    values
        .iter()
        .flat_map(|&v| [filler ^ repeat(v), repeat(v)])
        .take(24)
        .collect()
}

fn read_modify_write(suite: &mut Suite, widths: &[u32]) {
    let mut count = 0;
    for &width in widths {
        for place in PLACES {
            for op in OPS {
                let offset = u64::from(width / 8) * (count % 4) % 16;
                let (ordering, scope) = (
                    ORDERINGS[count as usize % 5],
                    SCOPES[count as usize / 5 % 4],
                );
                count += 1;
                let operands: Vec<u128> = edges(width).into_iter().step_by(4).collect();
                let inputs = slots(width)
                    .into_iter()
                    .flat_map(|slot| operands.iter().map(move |&v| vec![slot, v]))
                    .collect();
                let name = format!("{op:?}{width}_{place:?}");
                suite.case(
                    &name,
                    &[Ty::Ptr, Ty::I(width)],
                    &[Ty::I(width), Ty::I(128)],
                    inputs,
                    |b, args| {
                        let slot = put(b, place, args[0]);
                        let ptr = field(b, slot, offset);
                        let old = b.atomic_rmw(op, ptr, args[1], ordering, scope);
                        vec![old, whole(b, slot)]
                    },
                    |a| {
                        let old = a[0] >> (offset * 8) & mask(width);
                        let new = combined(op, width, old, a[1]);
                        vec![
                            Want::Bits(old),
                            Want::Bits(replaced(a[0], offset, width, new)),
                        ]
                    },
                );
            }
        }
    }
}

fn compare_exchange(suite: &mut Suite, widths: &[u32]) {
    let mut count = 0;
    for &width in widths {
        for place in PLACES {
            for success in ORDERINGS {
                let failure =
                    [Ordering::Relaxed, Ordering::Acquire, Ordering::SeqCst][count as usize % 3];
                let offset = u64::from(width / 8) * (count % 4) % 16;
                let scope = SCOPES[count as usize % 4];
                count += 1;
                let inputs = slots(width)
                    .into_iter()
                    .flat_map(|slot| {
                        let old = slot >> (offset * 8) & mask(width);
                        [
                            vec![slot, old, 0x5A & mask(width)],
                            vec![slot, old ^ 1, 3],
                            vec![slot, old, old],
                        ]
                    })
                    .collect();
                suite.case(
                    &format!("cas{width}_{place:?}_{success:?}"),
                    &[Ty::Ptr, Ty::I(width), Ty::I(width)],
                    &[Ty::I(width), Ty::I(1), Ty::I(128)],
                    inputs,
                    |b, args| {
                        let slot = put(b, place, args[0]);
                        let ptr = field(b, slot, offset);
                        let pair = b.cmpxchg(ptr, args[1], args[2], (success, failure), scope);
                        vec![
                            b.extract_value(pair, 0),
                            b.extract_value(pair, 1),
                            whole(b, slot),
                        ]
                    },
                    |a| {
                        let old = a[0] >> (offset * 8) & mask(width);
                        let equal = old == a[1];
                        let new = if equal { a[2] } else { old };
                        let slot = replaced(a[0], offset, width, new);
                        vec![Want::Bits(old), Want::Bits(equal.into()), Want::Bits(slot)]
                    },
                );
            }
        }
    }
}

fn load_and_store(suite: &mut Suite, types: &[Ty]) {
    let mut count = 0;
    for &ty in types {
        let width = ty.bytes() as u32 * 8;
        for place in PLACES {
            for ordering in [Ordering::Relaxed, Ordering::Acquire, Ordering::SeqCst] {
                let offset = u64::from(width / 8) * (count % 4) % 16;
                let scope = SCOPES[count as usize % 4];
                count += 1;
                let inputs = slots(width)
                    .into_iter()
                    .map(|slot| vec![slot, slot >> 3 & mask(width)])
                    .collect();
                let store = if ordering == Ordering::Acquire {
                    Ordering::Release
                } else {
                    ordering
                };
                suite.case(
                    &format!("ldst_{ty:?}_{place:?}_{ordering:?}").replace(['(', ')'], "_"),
                    &[Ty::Ptr, ty],
                    &[ty, Ty::I(128)],
                    inputs,
                    |b, args| {
                        let slot = put(b, place, args[0]);
                        let ptr = field(b, slot, offset);
                        let align = u64::from(width / 8);
                        let load = MemAccess {
                            atomic: Some((ordering, scope)),
                            ..access(align)
                        };
                        let ty = b.module.ty(args[1]);
                        let old = b.load(ty, ptr, load);
                        b.store(
                            args[1],
                            ptr,
                            MemAccess {
                                atomic: Some((store, scope)),
                                ..load
                            },
                        );
                        b.fence(Ordering::AcqRel, scope);
                        b.fence(Ordering::SeqCst, scope);
                        vec![old, whole(b, slot)]
                    },
                    |a| {
                        let old = a[0] >> (offset * 8) & mask(width);
                        vec![
                            Want::Bits(old),
                            Want::Bits(replaced(a[0], offset, width, a[1])),
                        ]
                    },
                );
            }
        }
    }
}

#[test]
fn read_modify_writes() {
    let mut suite = Suite::new("rmw");
    read_modify_write(&mut suite, &[8, 16, 32, 64]);
    suite.run();
}

#[test]
fn compare_exchanges() {
    let mut suite = Suite::new("cas");
    compare_exchange(&mut suite, &[8, 16, 32, 64]);
    suite.run();
}

#[test]
fn loads_and_stores() {
    let mut suite = Suite::new("ldst");
    load_and_store(
        &mut suite,
        &[
            Ty::I(8),
            Ty::I(16),
            Ty::I(32),
            Ty::I(64),
            Ty::F16,
            Ty::F32,
            Ty::F64,
        ],
    );
    suite.run();
}

#[test]
fn of_128_bits() {
    let mut suite = Suite::new("atomics128");
    suite.archs = &[90, 100, 120];
    load_and_store(&mut suite, &[Ty::I(128)]);
    read_modify_write(&mut suite, &[128]);
    compare_exchange(&mut suite, &[128]);
    suite.run();
}

#[test]
fn of_floats() {
    let mut suite = Suite::new("atomic_floats");
    for (ty, one, three, four) in [
        (Ty::F16, 0x3C00, 0x4200, 0x4400),
        (Ty::F32, 0x3F80_0000, 0x4040_0000, 0x4080_0000),
        (Ty::F64, 0x3FF0 << 48, 0x4008 << 48, 0x4010 << 48),
    ] {
        for place in PLACES {
            for (op, want) in [(RmwOp::FAdd, four), (RmwOp::Xchg, three)] {
                let width = ty.bytes() as u32 * 8;
                suite.case(
                    &format!("{op:?}{ty:?}_{place:?}"),
                    &[Ty::Ptr, ty],
                    &[ty, Ty::I(128)],
                    vec![vec![one, three]],
                    |b, args| {
                        let slot = put(b, place, args[0]);
                        let old = b.atomic_rmw(op, slot, args[1], Ordering::AcqRel, Scope::Device);
                        vec![old, whole(b, slot)]
                    },
                    |a| vec![Want::Bits(a[0]), Want::Bits(replaced(a[0], 0, width, want))],
                );
            }
        }
    }
    suite.run();
}

/// No updates of adjacent bytes and half-words by different threads are lost.
#[test]
fn contention() {
    let mut suite = Suite::new("contention");
    let ops = [RmwOp::Add, RmwOp::Sub, RmwOp::Xor];
    for width in [8u32, 16, 32, 64] {
        for op in ops {
            let name = format!("counters_{op:?}{width}");
            let ty = suite.module.types.int(width);
            let table = suite.module.types.array(ty, 4);
            let global = suite
                .module
                .add_global(&name, table, AddrSpace::Global)
                .unwrap();
            let zero = suite.module.const_zero(table);
            suite.module.global_mut(global).init = Some(zero);
            suite.module.global_mut(global).align = 8;
            let counters = suite.module.global(global).value;
            // Each thread adds 3 to the counter with its number.
            let inputs: Vec<Vec<u128>> = (0..4096).map(|i| vec![i % 4]).collect();
            suite.case(
                &format!("contend_{op:?}{width}"),
                &[Ty::I(64)],
                &[Ty::I(8)],
                inputs,
                |b, args| {
                    let base = b.addr_of(counters);
                    let ty = b.module.types.int(width);
                    let ptr = b.gep(ty, base, &[args[0]], true);
                    let three = b.module.const_int(ty, 3);
                    b.atomic_rmw(op, ptr, three, Ordering::Relaxed, Scope::Device);
                    let i8 = b.module.types.int(8);
                    vec![b.module.const_zero(i8)]
                },
                |_| vec![Want::Any],
            );
            suite.case(
                &format!("counted_{op:?}{width}"),
                &[Ty::I(64)],
                &[Ty::I(width)],
                (0..4).map(|i| vec![i]).collect(),
                |b, args| {
                    let base = b.addr_of(counters);
                    let ty = b.module.types.int(width);
                    let ptr = b.gep(ty, base, &[args[0]], true);
                    vec![b.load(ty, ptr, access(u64::from(width / 8)))]
                },
                |_| {
                    let total = match op {
                        RmwOp::Add => 3072,
                        RmwOp::Sub => 0u128.wrapping_sub(3072),
                        _ => 0,
                    };
                    vec![Want::Bits(total & mask(width))]
                },
            );
        }
    }
    suite.run();
}

/// There is no 128-bit exchange before sm_90: legalization reports an error.
#[test]
fn too_old_for_128_bits() {
    use nvvm_ir::legalize::{LegalizeError, Target, legalize};
    let mut m = Module::new("old");
    let (i128, ptr) = (m.types.int(128), m.types.ptr());
    let sig = m.types.func(i128, &[ptr, i128], false);
    let func = m.add_func("f", sig).unwrap();
    let (p, v) = (m.func(func).params[0], m.func(func).params[1]);
    let entry = m.add_block(func, "entry");
    let mut b = Builder::new(&mut m, entry);
    let old = b.atomic_rmw(RmwOp::Xchg, p, v, Ordering::Relaxed, Scope::System);
    b.ret(Some(old));
    let errors = legalize(&mut m.clone(), &Target::new(80)).unwrap_err();
    assert!(
        matches!(
            &errors[..],
            [LegalizeError::NeedsArch {
                needs: 90,
                sm: 80,
                ..
            }]
        ),
        "{errors:?}"
    );
    assert_eq!(
        errors[0].to_string(),
        "`f` uses an atomic operation of 128 bits, which needs sm_90 or later; the target is sm_80"
    );
    legalize(&mut m, &Target::new(90)).unwrap();
}
