//! The pass `expand_moves`.

use super::unroll_array_loops::number;
use crate::inst::{Callee, InstKind, MemAccess};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Const, Func, Value};

/// The maximum number of words that are moved.
const WORDS: u64 = 32;

/// Replaces moves of a few words in memory by loads and stores.
///
/// `array.rotate_left(1)` and `array.copy_within(1.., 0)` move all elements but one by one place. The
/// old and the new place overlap, so that LLVM neither splits the copy into words nor keeps the array
/// in registers, and libnvvm asks at run time which word is first.
pub fn expand_moves(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        for block in module.func(func).blocks.clone() {
            let insts = module.block(block).insts.iter().copied();
            let moves: Vec<Move> = insts.filter_map(|inst| Move::of(module, inst)).collect();
            for each in moves {
                each.expand(module);
            }
        }
    }
}

/// A call of `memmove` with a constant size.
struct Move {
    call: Value,
    to: Value,
    from: Value,
    /// The number of words.
    count: u64,
    /// The size of a word in bytes, which the addresses are aligned to.
    word: u64,
}

impl Move {
    fn of(module: &Module, inst: Value) -> Option<Move> {
        let InstKind::Call(call) = &module.inst(inst)?.kind else {
            return None;
        };
        let (Callee::Intrinsic(Intrinsic::Memmove), &[to, from, size, volatile]) =
            (&call.callee, &call.args[..])
        else {
            return None;
        };
        if !matches!(module.as_const(volatile)?, Const::Zero | Const::Int(0)) {
            return None;
        }
        let size = u64::try_from(number(module, size)?).ok()?;
        let align = |index: usize| call.arg_attrs.get(index).map_or(1, |it| it.align.max(1));
        let word = align(0).min(align(1)).min(8);
        let count = size / word;
        let is_small = size > 0 && size % word == 0 && count <= WORDS;
        is_small.then_some(Move {
            call: inst,
            to,
            from,
            count,
            word,
        })
    }

    /// Loads all words before the first is stored.
    fn expand(&self, module: &mut Module) {
        let Some(data) = module.inst(self.call) else {
            return;
        };
        let (block, loc) = (data.block, data.loc);
        let insts = &module.block(block).insts;
        let Some(place) = insts.iter().position(|&inst| inst == self.call) else {
            return;
        };
        let rest = module.block_mut(block).insts.split_off(place);
        let word = module.types.int(self.word as u32 * 8);
        let int = module.types.int(64);
        let access = MemAccess {
            align: self.word,
            ..MemAccess::default()
        };
        let at = |module: &mut Module, base: Value, index: u64| {
            if index == 0 {
                return base;
            }
            let kind = InstKind::Gep {
                element: word,
                base,
                indices: vec![module.const_int(int, index.into())],
                inbounds: true,
            };
            module.push_inst(block, module.ty(base), kind, loc)
        };
        let mut words = Vec::new();
        for index in 0..self.count {
            let ptr = at(module, self.from, index);
            let kind = InstKind::Load { ptr, access };
            words.push(module.push_inst(block, word, kind, loc));
        }
        for (index, value) in (0..).zip(words) {
            let ptr = at(module, self.to, index);
            let kind = InstKind::Store { value, ptr, access };
            let void = module.types.void();
            module.push_inst(block, void, kind, loc);
        }
        let after = rest.into_iter().filter(|&inst| inst != self.call);
        module.block_mut(block).insts.extend(after);
    }
}
