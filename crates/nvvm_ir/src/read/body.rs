//! Function bodies: blocks, and the names defined in them.

use std::collections::HashSet;

use super::lexer::Tok;
use super::{Local, Reader, Result};
use crate::inst::{BinOp, InstData, InstKind};
use crate::metadata::Di;
use crate::types::Type;
use crate::value::{Block, Func, Value, ValueKind};

impl<'t> Reader<'t> {
    pub(super) fn body(&mut self, func: Func, names: Vec<Option<Local<'t>>>) -> Result<()> {
        self.func = func;
        self.in_body = true;
        self.constants = 0;
        self.locals.clear();
        self.placeholders.clear();
        self.blocks.clear();
        self.disjoint.clear();
        let numbers = self.name_params(func, names);
        self.labels(func, numbers)?;
        self.punct('{')?;
        // The entry may have a number without a label: see `labels`.
        let mut block = self.m.func(func).blocks.first().copied();
        loop {
            let start = self.at;
            match (self.next(), block) {
                (Tok::Punct('}'), _) => break,
                (Tok::Label(name), _) => block = self.blocks.get(name).copied(),
                (Tok::Local(name), Some(block)) => {
                    self.punct('=')?;
                    self.inst(block, Some(Local::new(name)), start)?;
                }
                (Tok::Word(_), Some(block)) => {
                    self.at = start;
                    self.inst(block, None, start)?;
                }
                (_, block) => {
                    self.at = start;
                    let what = if block.is_some() {
                        "an instruction"
                    } else {
                        "a label"
                    };
                    return self.expected(what);
                }
            }
        }
        if let Some(&at) = self.placeholders.values().min() {
            return self.error_at(at, format!("{} is not defined", self.tokens[at].tok));
        }
        self.add_disjoint();
        Ok(())
    }

    /// Replaces each `or disjoint` that depends on a loop's variables by an addition, which has the
    /// same result and carries nothing. `nvvm_ir` has no such flag, and without it neither libnvvm
    /// nor the passes on PTX see that an index such as `row * 64 | column` grows with `row`. The same
    /// for an index and a constant, such as `lane | 32`: libnvvm makes the constant a part of the
    /// instruction that accesses the element.
    ///
    /// An operand of a product stays: libnvvm would compute `n * (y | 16)` as `n * y + n * 16`, and
    /// keep each multiple of `n` in a register.
    fn add_disjoint(&mut self) {
        let disjoint = std::mem::take(&mut self.disjoint);
        if disjoint.is_empty() {
            return;
        }
        let (factors, indices) = (self.factors(), self.indices());
        for local in disjoint {
            let value = self.locals[&local];
            if !factors.contains(&value)
                && (indices.contains(&value) || self.depends_on_phi(value))
                && let Some(data) = self.m.inst_mut(value)
                && let InstKind::Bin { op, flags, .. } = &mut data.kind
            {
                *op = BinOp::Add;
                (flags.nuw, flags.nsw) = (true, true);
            }
        }
    }

    /// Returns the sums with a constant that are indices of elements, and not terms of other numbers:
    /// with all of those, ptxas keeps more values in registers.
    fn indices(&self) -> HashSet<Value> {
        let blocks = self.m.func(self.func).blocks.iter();
        let insts = blocks.flat_map(|&block| &self.m.block(block).insts);
        let kind = |value| self.m.inst(value).map(|it| &it.kind);
        let (mut indices, mut terms) = (HashSet::new(), HashSet::new());
        for &inst in insts {
            match kind(inst) {
                Some(InstKind::Gep { indices: of, .. }) => {
                    indices.extend(of.iter().map(|&index| match kind(index) {
                        Some(&InstKind::Cast { value, .. }) => value,
                        _ => index,
                    }));
                }
                Some(&InstKind::Bin { lhs, rhs, .. }) => terms.extend([lhs, rhs]),
                _ => {}
            }
        }
        indices.retain(|&index| match kind(index) {
            Some(&InstKind::Bin { rhs, .. }) => {
                self.m.as_const(rhs).is_some() && !terms.contains(&index)
            }
            _ => false,
        });
        indices
    }

    /// Returns the values that the function multiplies by a variable, and the terms of their sums.
    fn factors(&self) -> HashSet<Value> {
        let blocks = self.m.func(self.func).blocks.iter();
        let insts = blocks.flat_map(|&block| &self.m.block(block).insts);
        let mut factors = HashSet::new();
        let mut pending = Vec::new();
        for &inst in insts {
            if let Some(&InstKind::Bin { op, lhs, rhs, .. }) = self.m.inst(inst).map(|it| &it.kind)
                && op == BinOp::Mul
                && self.m.as_const(rhs).is_none()
            {
                pending.extend([lhs, rhs]);
            }
        }
        while let Some(value) = pending.pop() {
            if factors.insert(value) {
                match self.m.inst(value).map(|it| &it.kind) {
                    Some(&InstKind::Bin {
                        op: BinOp::Add | BinOp::Or | BinOp::Sub,
                        lhs,
                        rhs,
                        ..
                    }) => pending.extend([lhs, rhs]),
                    Some(&InstKind::Cast { value, .. }) => pending.push(value),
                    _ => {}
                }
            }
        }
        factors
    }

    /// Returns whether a value is computed from a phi by arithmetic.
    fn depends_on_phi(&self, value: Value) -> bool {
        let mut seen = HashSet::new();
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            if !seen.insert(value) {
                continue;
            }
            match self.m.inst(value).map(|it| &it.kind) {
                Some(InstKind::Phi(_)) => return true,
                Some(&InstKind::Bin { lhs, rhs, .. }) => pending.extend([lhs, rhs]),
                Some(&InstKind::Cast { value, .. }) => pending.push(value),
                _ => {}
            }
        }
        false
    }

    /// LLVM 7 does not print the numbers of parameters, and they count all the same.
    /// Returns how many numbers they have.
    pub(super) fn name_params(&mut self, func: Func, names: Vec<Option<Local<'t>>>) -> u32 {
        let mut next = 0;
        for (param, name) in self.m.func(func).params.clone().into_iter().zip(names) {
            let local = name.unwrap_or(Local::Number(next));
            if let Local::Number(_) = local {
                next += 1;
            }
            self.m.value_mut(param).name = local.to_keep();
            self.locals.insert(local, param);
        }
        next
    }

    pub(super) fn labels(&mut self, func: Func, params: u32) -> Result<()> {
        self.unlabeled_entry = None;
        let mut depth = 0;
        for at in self.at.. {
            match self.tokens[at].tok {
                Tok::Punct('{') if depth == 0 => {
                    depth += 1;
                    // LLVM does not print the entry's label if it is a number. It is the one behind
                    // the parameters'.
                    if !matches!(self.tokens.get(at + 1).map(|t| t.tok), Some(Tok::Label(_))) {
                        let block = self.m.add_block(func, "start");
                        self.unlabeled_entry = Some((params, block));
                    }
                }
                Tok::Punct('{') => depth += 1,
                Tok::Punct('}') => depth -= 1,
                Tok::Label(name) => {
                    let block = self.m.add_block(func, name);
                    if self.blocks.insert(name, block).is_some() {
                        return self.error_at(at, format!("two blocks are called `{name}`"));
                    }
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        Ok(())
    }

    /// A value that is used before its definition.
    pub(super) fn placeholder(&mut self, ty: Type) -> Value {
        let kind = InstKind::Unreachable;
        let block = self
            .m
            .func(self.func)
            .blocks
            .first()
            .copied()
            .unwrap_or(Block(0));
        self.m.push_value(
            ty,
            ValueKind::Inst(InstData {
                kind,
                block,
                loc: None,
            }),
        )
    }

    pub(super) fn define_inst(
        &mut self,
        block: Block,
        name: Option<Local<'t>>,
        start: usize,
        ty: Type,
        kind: InstKind,
        loc: Option<Di>,
    ) -> Result<()> {
        let data = InstData { kind, block, loc };
        let Some(local) = name else {
            let value = self.m.push_value(ty, ValueKind::Inst(data));
            self.m.block_mut(block).insts.push(value);
            return Ok(());
        };
        let value = if self.placeholders.remove(&local).is_some() {
            let value = self.locals[&local];
            if self.m.ty(value) != ty {
                return self.error_at(start, "it was used before as of another type");
            }
            self.m.value_mut(value).kind = ValueKind::Inst(data);
            value
        } else {
            let value = self.m.push_value(ty, ValueKind::Inst(data));
            if self.locals.insert(local, value).is_some() {
                return self.error_at(start, "this name is defined twice");
            }
            value
        };
        self.m.value_mut(value).name = local.to_keep();
        self.m.block_mut(block).insts.push(value);
        Ok(())
    }

    /// LLVM 7: a name for a pointer of another type is another name for the pointer.
    pub(super) fn alias(
        &mut self,
        name: Option<Local<'t>>,
        value: Value,
        start: usize,
    ) -> Result<()> {
        let Some(local) = name else {
            return self.error_at(start, "the cast has no name");
        };
        if let ValueKind::Param(..) = self.m.value(value).kind
            && self.m.value(value).name.is_none()
        {
            self.m.value_mut(value).name = local.to_keep();
        }
        if self.placeholders.contains_key(&local) || self.locals.insert(local, value).is_some() {
            return self.error_at(start, "this name is used before, or defined twice");
        }
        Ok(())
    }
}
