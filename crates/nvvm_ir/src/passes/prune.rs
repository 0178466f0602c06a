//! `prune`, for a compiler that lowers functions one at a time: items that a function does not
//! reach need not be lowered.

use super::remove_unreachable_blocks::remove_unreachable_blocks_of;
use crate::inst::InstKind;
use crate::module::Module;
use crate::uses::{Symbol, for_each_outside_operand, for_each_symbol};
use crate::value::{Block, Const, Func, Value};

/// Replaces branches on constants in a function with unconditional branches, and removes the blocks
/// that are then unreachable.
pub fn prune(module: &mut Module, func: Func) {
    for block in module.func(func).blocks.clone() {
        let Some(terminator) = module.terminator(block) else {
            continue;
        };
        let number = |value: Value| match module.as_const(value)? {
            Const::Int(number) => Some(*number),
            Const::Zero => Some(0),
            _ => None,
        };
        let target = match module.inst(terminator).map(|inst| &inst.kind) {
            Some(&InstKind::CondBr {
                cond,
                then,
                otherwise,
            }) => number(cond).map(|number| if number != 0 { then } else { otherwise }),
            Some(InstKind::Switch {
                value,
                default,
                cases,
            }) => number(*value).map(|number| {
                let case = cases.iter().find(|(of, _)| *of == number);
                case.map_or(*default, |&(_, block)| block)
            }),
            _ => None,
        };
        if let Some(target) = target {
            redirect(module, block, terminator, target);
        }
    }
    remove_unreachable_blocks_of(module, func);
}

/// Replaces a block's terminator with a branch to one of its successors.
fn redirect(module: &mut Module, block: Block, terminator: Value, target: Block) {
    let left = module
        .inst(terminator)
        .map(|inst| inst.kind.successors())
        .unwrap_or_default();
    // A phi has one value for each edge: none is left to the other successors, and one to the
    // target, even if several edges led there.
    for successor in left {
        if successor == target {
            module.merge_incoming(successor, block);
        } else {
            module.retain_incoming(successor, |from| from != block);
        }
    }
    if let Some(inst) = module.inst_mut(terminator) {
        inst.kind = InstKind::Br(target);
    }
}

/// Returns the functions and globals that a function references, each once.
pub fn symbols_of(module: &Module, func: Func) -> Vec<Value> {
    let mut symbols = Vec::new();
    for_each_outside_operand(module, func, |operand| add(module, operand, &mut symbols));
    symbols.sort_unstable();
    symbols.dedup();
    symbols
}

/// Returns the functions and globals that a constant references.
pub fn symbols_in(module: &Module, constant: Value) -> Vec<Value> {
    let mut symbols = Vec::new();
    add(module, constant, &mut symbols);
    symbols
}

fn add(module: &Module, constant: Value, symbols: &mut Vec<Value>) {
    for_each_symbol(module, constant, &mut |symbol| {
        symbols.push(match symbol {
            Symbol::Global(global) => module.global(global).value,
            Symbol::Func(func) => module.func(func).value,
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{read_module, verify};

    const TEXT: &str = "
        declare void @host()
        declare void @device()
        define void @f(i1 %unknown) {
        start:
          br i1 true, label %yes, label %no
        yes:
          call void @device()
          br i1 %unknown, label %end, label %no2
        no:
          call void @host()
          br label %end
        no2:
          switch i32 2, label %no [
            i32 1, label %no
            i32 2, label %end
          ]
        end:
          %x = phi i32 [ 1, %yes ], [ 2, %no ], [ 3, %no2 ]
          ret void
        }
    ";

    #[test]
    fn branches_on_constants_are_removed() {
        let mut module = read_module(TEXT).expect("a module");
        let func = module.as_func(module.named("f").expect("f")).expect("f");
        let names = |module: &Module| {
            let mut names: Vec<_> = symbols_of(module, func)
                .into_iter()
                .filter_map(|value| Some(module.func(module.as_func(value)?).name.clone()))
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(&module), ["device", "host"]);
        prune(&mut module, func);
        verify(&module).expect("it is still well-formed");
        assert_eq!(names(&module), ["device"]);
        assert_eq!(module.func(func).blocks.len(), 4);
    }
}
