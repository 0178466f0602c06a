//! Removes local arrays that are never read.
//!
//! libnvvm replaces loads from an array by the values that were stored, after it unrolled the loops
//! around them. It removes the array before that, but not afterward, so the stores stay. ptxas keeps
//! them, too: each store to local memory goes on to L2.
//!
//! Only arrays whose addresses are used for nothing but stores are removed.

use crate::ast::{Instruction, Item, Module, Operand, Statement};
use crate::dead::visit_operand;
use crate::hash::HashSet;
use crate::optimize::instructions::{instructions, results};
use crate::promote_arrays::{Use, addresses, described, local_variable, usage};

/// Removes the unread local arrays of a module's functions. Returns the number of changed functions.
pub(crate) fn remove_unread_arrays(module: &mut Module<'_>) -> usize {
    let described = described(module);
    let mut count = 0;
    for item in &mut module.items {
        let Item::Function(function) = item else {
            continue;
        };
        let Some((local, _)) = local_variable(function) else {
            continue;
        };
        let Some(body) = function.body.as_mut() else {
            continue;
        };
        if described.contains(local) {
            continue;
        }
        if let Some(addresses) = unread(body, local) {
            remove(body, &|it| is_store(it, &addresses));
            remove_addresses(body, &addresses);
            if !is_used(body, local) {
                body.retain(|it| !matches!(it, Statement::Variable(it) if it.name == local));
            }
            count += 1;
        }
    }
    count
}

/// Returns the registers that hold an address in a variable if they are used for stores, and for
/// nothing else that depends on the variable.
fn unread<'a>(body: &[Statement<'a>], local: &'a str) -> Option<HashSet<&'a str>> {
    let mut all = Vec::new();
    for statement in body {
        instructions(statement, &mut |it| all.push(it));
    }
    let addresses = addresses(&all, local)?;
    let is_read =
        |it: &&Instruction<'a>| it.opcode == "ld" && matches!(usage(it, &addresses), Use::Inside);
    let has_store = all.iter().any(|it| is_store(it, &addresses));
    (has_store && !all.iter().any(is_read)).then_some(addresses)
}

/// Returns whether an instruction stores at one of the addresses.
fn is_store<'a>(it: &Instruction<'a>, addresses: &HashSet<&'a str>) -> bool {
    it.opcode == "st" && matches!(usage(it, addresses), Use::Inside)
}

/// Removes computations of addresses that are not used.
fn remove_addresses<'a>(body: &mut Vec<Statement<'a>>, addresses: &HashSet<&'a str>) {
    loop {
        let mut unused: HashSet<&'a str> = addresses.clone();
        let mut found = false;
        for statement in body.iter() {
            instructions(statement, &mut |it| {
                let first = usize::from(matches!(usage(it, addresses), Use::Address));
                found |= first == 1;
                for operand in it.operands.iter().skip(first) {
                    visit_operand(operand, &mut |name| _ = unused.remove(name));
                }
            });
        }
        let is_unused = |it: &Instruction<'a>| {
            let mut is_unused = matches!(usage(it, addresses), Use::Address);
            results(it, &mut |name| is_unused &= unused.contains(name));
            is_unused
        };
        if !found || !remove(body, &is_unused) {
            return;
        }
    }
}

/// Removes instructions. Returns whether there were any.
fn remove<'a>(
    body: &mut Vec<Statement<'a>>,
    is_removed: &impl Fn(&Instruction<'a>) -> bool,
) -> bool {
    let mut removed = false;
    body.retain_mut(|statement| match statement {
        Statement::Instruction(it) if is_removed(it) => {
            removed = true;
            false
        }
        Statement::Block(inner) => {
            removed |= remove(inner, is_removed);
            true
        }
        _ => true,
    });
    removed
}

/// Returns whether an operand is a name.
fn is_used(body: &[Statement<'_>], name: &str) -> bool {
    let mut found = false;
    for statement in body {
        instructions(statement, &mut |it| {
            let visit =
                |operand: &Operand<'_>| visit_operand(operand, &mut |it| found |= it == name);
            it.operands.iter().for_each(visit);
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the body of a kernel with an array of 16 bytes and an address in `%rd1`, afterward.
    fn without(code: &str) -> String {
        let text = format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n
            .visible .entry k(.param .u64 to) {{
            .local .align 8 .b8 depot[16];
            .reg .b64 %SP; .reg .b64 %SPL; .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<9>;
            mov.u64 %SPL, depot;
            cvta.local.u64 %SP, %SPL;
            add.u64 %rd1, %SPL, 0;
            {code}
            ret; }}"
        );
        let mut module = Module::parse(&text).expect("PTX");
        remove_unread_arrays(&mut module);
        module.to_string()
    }

    #[test]
    fn stores_that_are_never_read_are_removed() {
        let text = without(
            "st.local.u32 [%rd1], 5;
            @%p1 st.local.v2.u32 [%rd1+8], {%r1, %r2};
            mad.wide.u32 %rd2, %r1, 4, %rd1; st.local.u32 [%rd2+4], %r2;",
        );
        assert!(!text.contains("st.local"), "{text}");
        assert!(!text.contains("depot"), "{text}");
    }

    #[test]
    fn comparisons_of_addresses_stay() {
        let text = without(
            "add.u64 %rd2, %rd1, 8; st.local.u64 [%rd2], %rd3;
            setp.eq.u64 %p1, %rd2, %rd1; @%p1 bra $end; st.global.u32 [%rd4], 1; $end:",
        );
        assert!(!text.contains("st.local"), "{text}");
        assert!(text.contains("setp.eq.u64"), "{text}");
        assert!(text.contains("depot[16]"), "{text}");
    }

    #[test]
    fn arrays_that_something_may_read_stay() {
        for reader in [
            // Another element, or the same one before the store in a loop.
            "ld.local.u32 %r1, [%rd1+4];",
            "ld.volatile.local.u32 %r1, [%rd1];",
            "ld.u32 %r1, [%SP];",
            "mov.u64 %rd2, %rd1; ld.local.u32 %r1, [%rd2];",
            "selp.b64 %rd2, %rd1, %rd3, %p1; ld.local.u32 %r1, [%rd2];",
            "mul.lo.u64 %rd2, %rd1, 1;",
            "st.global.u64 [%rd4], %SP;",
            "st.local.u64 [%rd1+8], %rd1;",
            "st.volatile.local.u32 [%rd1], 5;",
            "st.u32 [%SP], 5;",
            "atom.add.u32 %r1, [%SP], 1;",
            "{ .param .b64 a; st.param.b64 [a], %SP; call.uni f, (a); }",
            "{ .reg .b64 t; mov.u64 t, %rd1; ld.local.u32 %r1, [t]; }",
            "mov.b64 {%r1, %r2}, %rd1;",
            "ld.local.u32 %r1, [depot+4];",
            // One register, two variables.
            "@%p1 mov.u64 %rd1, %rd3;",
        ] {
            let text = without(&format!("st.local.u32 [%rd1], 5; {reader}"));
            assert!(text.contains("st.local.u32"), "{reader}: {text}");
            assert!(text.contains("depot[16]"), "{reader}: {text}");
        }
    }
}
