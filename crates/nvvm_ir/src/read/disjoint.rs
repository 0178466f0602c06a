//! `or disjoint`, the `or` of operands without common bits. `nvvm_ir` has no such flag.

use std::collections::{HashMap, HashSet};

use super::Reader;
use crate::inst::{BinOp, InstKind};
use crate::types::Type;
use crate::value::{Const, Value};

/// An element of an array.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Element {
    /// The type of the elements.
    element: Type,
    base: Value,
    index: Value,
}

/// The new order of a block's instructions.
#[derive(Default)]
struct Order {
    insts: Vec<Value>,
    placed: HashSet<Value>,
}

impl Reader<'_> {
    /// Replaces some instructions `or disjoint` of the function that was read.
    pub(super) fn disjoint_bits(&mut self) {
        let disjoint = std::mem::take(&mut self.disjoint);
        if disjoint.is_empty() {
            return;
        }
        let disjoint: Vec<Value> = disjoint.iter().map(|local| self.locals[local]).collect();
        self.share_bases(&disjoint.iter().copied().collect());
        self.add_disjoint(&disjoint);
    }

    /// Computes the address of element `even | 1` as that of element `even` plus a constant, if a
    /// block computes both; so with other constants. libnvvm knows the alignment of sums only from
    /// the low bits of the terms that are zero: `even | 1` has none, so it would not access both
    /// elements with one instruction.
    fn share_bases(&mut self, disjoint: &HashSet<Value>) {
        for block in self.m.func(self.func).blocks.clone() {
            let insts = self.m.block(block).insts.clone();
            let mut elements: HashMap<Element, Value> = HashMap::new();
            for &inst in &insts {
                if let Some(element) = self.element(inst) {
                    elements.entry(element).or_insert(inst);
                }
            }
            let mut order = Order::default();
            for inst in insts {
                self.place(inst, &elements, disjoint, &mut order);
            }
            self.m.block_mut(block).insts = order.insts;
        }
    }

    /// Places an instruction at the end of a block, behind the address on which it is based now.
    fn place(
        &mut self,
        inst: Value,
        elements: &HashMap<Element, Value>,
        disjoint: &HashSet<Value>,
        order: &mut Order,
    ) {
        if !order.placed.insert(inst) {
            return;
        }
        if let Some(element) = self.element(inst)
            && let Some((index, offset)) = self.offset(element.index, disjoint)
            && let Some(&even) = elements.get(&Element { index, ..element })
        {
            self.place(even, elements, disjoint, order);
            // Perhaps only one of the elements is accessed.
            self.rebase(even, None);
            self.rebase(inst, Some((even, offset)));
        }
        order.insts.push(inst);
    }

    /// Gives an address another base and index, if there are any, and lets it be outside of the base's
    /// allocation.
    fn rebase(&mut self, inst: Value, to: Option<(Value, Value)>) {
        if let Some(data) = self.m.inst_mut(inst)
            && let InstKind::Gep {
                base,
                indices,
                inbounds,
                ..
            } = &mut data.kind
        {
            *inbounds = false;
            if let Some((even, offset)) = to {
                *base = even;
                *indices = vec![offset];
            }
        }
    }

    /// Returns the element whose address an instruction computes.
    fn element(&self, inst: Value) -> Option<Element> {
        match self.m.inst(inst)?.kind {
            InstKind::Gep {
                element,
                base,
                ref indices,
                ..
            } => match indices[..] {
                [index] => Some(Element {
                    element,
                    base,
                    index,
                }),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the terms of an index that is the sum of a variable and a constant.
    fn offset(&self, index: Value, disjoint: &HashSet<Value>) -> Option<(Value, Value)> {
        match self.m.inst(index)?.kind {
            InstKind::Bin { lhs, rhs, .. } if disjoint.contains(&index) => {
                // An index has a sign.
                let bits = self.m.types.int_bits(self.m.ty(rhs))?;
                match self.m.as_const(rhs)? {
                    Const::Int(number) if number >> (bits - 1) == 0 => Some((lhs, rhs)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Replaces each `or disjoint` that depends on a loop's variables by an addition, which has the
    /// same result and carries nothing. `nvvm_ir` has no such flag, and without it neither libnvvm
    /// nor the passes on PTX see that an index such as `row * 64 | column` grows with `row`.
    ///
    /// An operand of a product stays: libnvvm would compute `n * (y | 16)` as `n * y + n * 16`, and
    /// keep each multiple of `n` in a register.
    fn add_disjoint(&mut self, disjoint: &[Value]) {
        let factors = self.factors();
        for &value in disjoint {
            if !factors.contains(&value)
                && self.depends_on_phi(value)
                && let Some(data) = self.m.inst_mut(value)
                && let InstKind::Bin { op, flags, .. } = &mut data.kind
            {
                *op = BinOp::Add;
                (flags.nuw, flags.nsw) = (true, true);
            }
        }
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
}
