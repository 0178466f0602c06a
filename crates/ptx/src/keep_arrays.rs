//! Keeps small local arrays in memory.
//!
//! ptxas 13.0 keeps a local array of up to 112 bytes in registers if the function initializes some of
//! it. Rust requires that, CUDA C++ does not. An access at a variable index then selects among all
//! elements: each push on a stack of eight floats takes 16 to 25 instructions. In local memory, it
//! takes one.
//!
//! The pass hides from ptxas that such an array is initialized: the stores at constant indices write to
//! addresses that ptxas does not know. It leaves alone arrays that are mostly read at constant indices,
//! since sorting networks and insertion sorts are faster in registers, and arrays of bytes, which ptxas
//! keeps in memory.

use crate::hash::HashSet;
use crate::optimize::Names;
use crate::optimize::instructions::instructions;
use crate::promote_arrays::{Use, addresses, described, local_variable, own_bytes, usage, word};
use crate::rewrite::{instruction, registers};
use crate::survey::constant_addresses;
use crate::{Base, Function, Instruction, Integer, Item, Module, Operand, Statement, Type};

/// The minimum size of an array in bytes. Fewer elements are selected in about the time of a load.
const SMALLEST: u64 = 32;

/// The maximum size in bytes of an array that ptxas keeps in registers.
const LARGEST: u64 = 116;

/// Hides the initialization of local arrays from ptxas. Returns the number of changed functions.
pub(crate) fn keep_arrays<'a>(module: &mut Module<'a>, names: &'a Names) -> usize {
    let described = described(module);
    let mut count = 0;
    for item in &mut module.items {
        if let Item::Function(function) = item
            && let Some(addresses) = kept(function, &described)
        {
            hide(function, &addresses, names);
            count += 1;
        }
    }
    count
}

/// Returns the registers with constant addresses in a function's local array, if the array is better
/// kept in memory.
fn kept<'a>(function: &Function<'a>, described: &HashSet<&'a str>) -> Option<HashSet<&'a str>> {
    let (local, bytes) = local_variable(function)?;
    if !(SMALLEST..=LARGEST).contains(&bytes) || described.contains(local) {
        return None;
    }
    let body = function.body.as_deref()?;
    let mut all = Vec::new();
    for statement in body {
        instructions(statement, &mut |it| all.push(it));
    }
    if own_bytes(&all, bytes) < SMALLEST {
        return None;
    }
    let addresses = addresses(&all, local)?;
    word(&all, &addresses)?;
    let mut fixed = constant_addresses(all.iter().copied(), body);
    fixed.retain(|name| addresses.contains(name));
    let (mut reads, mut writes, mut fixed_reads) = (0, 0, 0);
    for it in all {
        if matches!(usage(it, &addresses), Use::Inside) {
            match (it.opcode, base(it).is_some_and(|name| fixed.contains(name))) {
                ("ld", true) => fixed_reads += 1,
                ("ld", false) => reads += 1,
                ("st", false) => writes += 1,
                _ => {}
            }
        }
    }
    (writes > 0 && reads > fixed_reads).then_some(fixed)
}

/// Returns the register with the address of an access.
fn base<'a>(it: &Instruction<'a>) -> Option<&'a str> {
    it.operands.iter().find_map(|operand| match operand {
        Operand::Address(Base::Name(name), _) => Some(*name),
        _ => None,
    })
}

/// Adds a number to the addresses of stores that is zero in every launch: the sign of `%nctaid.z`,
/// which is at most 65,535 (PTX ISA, "Special Registers").
fn hide<'a>(function: &mut Function<'a>, fixed: &HashSet<&'a str>, names: &'a Names) {
    let name = Operand::Name;
    let [blocks, sign] = [names.register(), names.register()];
    let zero = names.register();
    let mut doubles = vec![zero];
    let mut made = Vec::new();
    let shift = Operand::Integer(Integer::unsigned(31));
    let mut start = vec![
        instruction("mov", &["u32"], vec![name(blocks), name("%nctaid.z")]),
        instruction("shr", &["u32"], vec![name(sign), name(blocks), shift]),
        instruction("cvt", &["u64", "u32"], vec![name(zero), name(sign)]),
    ];
    for statement in function.body.take().unwrap_or_default() {
        if let Statement::Instruction(_) | Statement::Label(_) | Statement::Block(_) = statement {
            made.append(&mut start);
        }
        let Statement::Instruction(mut it) = statement else {
            made.push(statement);
            continue;
        };
        if it.opcode == "st"
            && let Some(Operand::Address(Base::Name(base), _)) = it.operands.first_mut()
            && fixed.contains(base)
        {
            let [shown, hidden] = [names.register(), names.register()];
            doubles.extend([shown, hidden]);
            let base = std::mem::replace(base, hidden);
            made.extend([
                instruction("mov", &["u64"], vec![name(shown), name(base)]),
                instruction("add", &["s64"], vec![name(hidden), name(shown), name(zero)]),
            ]);
        }
        made.push(Statement::Instruction(it));
    }
    let declared = [
        registers(Type::B32, &[blocks, sign], function.line),
        registers(Type::B64, &doubles, function.line),
    ];
    made.splice(0..0, declared);
    function.body = Some(made);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack of eight floats: stores the values at `%rd3` of a loop's iterations, and loads them again.
    const STACK: &str = ".version 9.0\n.target sm_90\n.address_size 64\n
        .visible .entry k(.param .u64 k_param_0) {
            .local .align 16 .b8 depot[32];
            .reg .b64 %rd<6>;
            .reg .f32 %f<3>;
            .reg .pred %p1;
        start:
            mov.u64 %rd1, depot;
            add.u64 %rd2, %rd1, 0;
            mov.f32 %f1, 0f00000000;
            st.local.v4.f32 [%rd2], {%f1, %f1, %f1, %f1};
            st.local.v4.f32 [%rd2+16], {%f1, %f1, %f1, %f1};
            ld.param.u64 %rd3, [k_param_0];
        loop:
            shl.b64 %rd4, %rd3, 2;
            add.s64 %rd5, %rd2, %rd4;
            ld.local.f32 %f2, [%rd5];
            add.f32 %f2, %f2, 0f3F800000;
            st.local.f32 [%rd5+4], %f2;
            sub.s64 %rd3, %rd3, 1;
            setp.ne.s64 %p1, %rd3, 0;
            @%p1 bra loop;
            ret;
        }";

    fn kept_in(text: &str) -> String {
        let names = Names::default();
        let mut module = Module::parse(text).unwrap();
        keep_arrays(&mut module, &names);
        module.to_string()
    }

    #[test]
    fn a_stack_stays_in_memory() {
        let text = kept_in(STACK);
        for line in [
            "mov.u32 %x0, %nctaid.z;\n\tshr.u32 %x1, %x0, 31;\n\tcvt.u64.u32 %x2, %x1;\nstart:",
            "add.s64 %x4, %x3, %x2;",
            "st.local.v4.f32 [%x4], {%f1, %f1, %f1, %f1};",
            "add.s64 %x6, %x5, %x2;",
            "st.local.v4.f32 [%x6+16], {%f1, %f1, %f1, %f1};",
            "ld.local.f32 %f2, [%rd5];",
            "st.local.f32 [%rd5+4], %f2;",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn other_arrays_are_left_to_ptxas() {
        let unchanged = Module::parse(STACK).unwrap().to_string();
        for (what, from, to) in [
            ("smaller", "depot[32]", "depot[28]"),
            ("larger", "depot[32]", "depot[120]"),
            (
                "of bytes",
                "ld.param.u64 %rd3, [k_param_0];",
                "ld.param.u64 %rd3, [k_param_0]; st.local.u8 [%rd2], 0;",
            ),
            (
                "only read",
                "st.local.f32 [%rd5+4]",
                "st.local.f32 [%rd2+4]",
            ),
            (
                "read at a constant index",
                "ld.local.f32 %f2, [%rd5];",
                "ld.local.f32 %f2, [%rd5]; ld.local.f32 %f1, [%rd2+4];",
            ),
            (
                "of a variable address",
                "ld.param.u64 %rd3, [k_param_0];",
                "add.s64 %rd3, %rd2, %rd2;",
            ),
        ] {
            assert_eq!(STACK.matches(from).count(), 1, "{what}");
            let text = STACK.replace(from, to);
            let same = Module::parse(&text).unwrap().to_string();
            assert_ne!(same, unchanged, "{what}");
            assert_eq!(kept_in(&text), same, "{what}");
        }
    }
}
