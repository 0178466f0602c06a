//! Removes the declarations of registers that passes no longer use, and joins the others of a type:
//! declarations would be a quarter of an optimized kernel's text.

use crate::dead::visit_operand;
use crate::hash::HashSet;
use crate::rewrite::bodies;
use crate::{Module, Registers, Statement, Type};

/// The number of names in one declaration.
const NAMES: usize = 16;

/// Removes and joins declarations of single registers.
pub fn join_declarations(module: &mut Module<'_>) {
    for body in bodies(module) {
        let mut used = HashSet::default();
        visit(body, &mut used);
        // One list for each type, in the order of the first declarations.
        let mut single: Vec<(Type, Vec<&str>)> = Vec::new();
        body.retain_mut(|statement| {
            let Statement::Registers(registers) = statement else {
                return true;
            };
            let mut keep = |name| match single.iter_mut().find(|(ty, _)| *ty == registers.ty) {
                Some((_, names)) => names.push(name),
                None => single.push((registers.ty, vec![name])),
            };
            if registers.vector.is_none() {
                registers.names.retain(|&(name, count)| {
                    if count.is_none() && used.contains(name) {
                        keep(name);
                    }
                    count.is_some()
                });
            }
            !registers.names.is_empty()
        });
        let joined = single.iter().flat_map(|(ty, names)| {
            names.chunks(NAMES).map(|names| {
                Statement::Registers(Box::new(Registers {
                    ty: *ty,
                    vector: None,
                    names: names.iter().map(|&name| (name, None)).collect(),
                    line: 0,
                }))
            })
        });
        body.splice(0..0, joined.collect::<Vec<_>>());
    }
}

/// Adds the names that the instructions of `body` use.
fn visit<'a>(body: &[Statement<'a>], used: &mut HashSet<&'a str>) {
    for statement in body {
        match statement {
            Statement::Instruction(instruction) => {
                used.extend(instruction.guard.as_ref().map(|guard| guard.register));
                for operand in &instruction.operands {
                    visit_operand(operand, &mut |name| {
                        used.insert(name);
                    });
                }
            }
            Statement::Block(inner) => visit(inner, used),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_what_is_used() {
        let mut module = Module::parse(
            ".version 9.0 .target sm_90 .address_size 64
            .visible .entry k() {
                .reg .b32 %r<3>;
                .reg .b32 %x1;
                .reg .b64 %x2;
                .reg .b32 %x3;
                .reg .pred %x4, %x5;
                .reg .b32 %x6;
                .reg .v4 .b32 %x7;
                mov.b32 %x6, %x1;
                @%x5 bra end;
                { .reg .b32 %x8; ld.global.b32 %r1, [%x2+4]; }
            end:
                ret;
            }",
        )
        .expect("valid");
        join_declarations(&mut module);
        let text = module.to_string();
        let lines: Vec<&str> = (text.lines())
            .map(str::trim)
            .filter(|line| line.starts_with(".reg"))
            .collect();
        assert_eq!(
            lines,
            [
                ".reg .b32 %x1, %x6;",
                ".reg .b64 %x2;",
                ".reg .pred %x5;",
                ".reg .b32 %r<3>;",
                ".reg .v4 .b32 %x7;",
                ".reg .b32 %x8;",
            ]
        );
    }
}
