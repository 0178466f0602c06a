//! The engine of both sweeps: visits a function's instructions, replaces those that a rule selects,
//! and then redirects all uses at once.

use std::collections::HashMap;

use super::{LegalizeError, Target};
use crate::inst::*;
use crate::metadata::Di;
use crate::module::Module;
use crate::types::{Type, TypeKind};
use crate::value::{Block, Func, Value, ValueKind};

/// Replaces an instruction with this result type: emits the replacement, and returns the value that
/// replaces the result. Returns `None`, without having emitted anything, to keep the instruction.
pub(super) type Rule = fn(&mut Rewriter, Type, &InstKind) -> Option<Value>;

/// Rewrites one function.
pub(super) struct Rewriter<'m> {
    pub module: &'m mut Module,
    pub target: Target,
    /// The types of values before the type sweep changed them; empty in the other sweep.
    pub old_types: &'m [Type],
    /// The replacement of each type in the type sweep, by handle; empty in the other sweep.
    pub new_types: &'m [Type],
    /// The quotient and the remainder of each division of the current block that `division`
    /// replaced, by dividend, divisor, and whether they are signed.
    pub divisions: HashMap<(Value, Value, bool), (Value, Value)>,
    func: Func,
    block: Block,
    loc: Option<Di>,
    /// Constants that are replaced in the whole module.
    consts: &'m HashMap<Value, Value>,
    /// Results that are replaced in this function.
    replaced: HashMap<Value, Value>,
    /// For each block that was split, the block in which its code now ends.
    tails: HashMap<Block, Block>,
    layout: Vec<Block>,
    /// The first value that this rewriter created.
    first_new: usize,
    /// The rule that emitted instructions are subject to.
    rule: Option<Rule>,
    errors: &'m mut Vec<LegalizeError>,
}

impl<'m> Rewriter<'m> {
    pub fn new(
        module: &'m mut Module,
        target: Target,
        func: Func,
        consts: &'m HashMap<Value, Value>,
        errors: &'m mut Vec<LegalizeError>,
    ) -> Self {
        let block = module.func(func).blocks[0];
        let first_new = module.values.len();
        Rewriter {
            module,
            target,
            old_types: &[],
            new_types: &[],
            divisions: HashMap::new(),
            func,
            block,
            loc: None,
            consts,
            replaced: HashMap::new(),
            tails: HashMap::new(),
            layout: Vec::new(),
            first_new,
            rule: None,
            errors,
        }
    }

    /// Applies the rule to all instructions, also to those that it emits.
    pub fn run(&mut self, rule: Rule) {
        self.rule = Some(rule);
        self.walk(rule);
        self.redirect();
    }

    /// Applies the rule to all instructions, but not to those that it emits.
    pub fn run_once(&mut self, rule: Rule) {
        self.walk(rule);
        self.redirect();
    }

    /// Emits code at the function's start, and replaces values as the returned map says.
    pub fn prepend_to_entry(&mut self, emit: impl FnOnce(&mut Self) -> HashMap<Value, Value>) {
        let insts = std::mem::take(&mut self.module.block_mut(self.block).insts);
        let is_alloca = |&inst: &Value| {
            self.module
                .inst(inst)
                .is_some_and(|data| matches!(data.kind, InstKind::Alloca { .. }))
        };
        let allocas = insts.iter().take_while(|inst| is_alloca(inst)).count();
        self.module.block_mut(self.block).insts = insts[..allocas].to_vec();
        self.replaced = emit(self);
        self.module
            .block_mut(self.block)
            .insts
            .extend(&insts[allocas..]);
        self.redirect();
    }

    fn walk(&mut self, rule: Rule) {
        for block in std::mem::take(&mut self.module.func_mut(self.func).blocks) {
            self.layout.push(block);
            self.block = block;
            self.divisions.clear();
            for inst in std::mem::take(&mut self.module.block_mut(block).insts) {
                self.walk_inst(inst, rule);
            }
            if self.block != block {
                self.tails.insert(block, self.block);
            }
        }
        self.module.func_mut(self.func).blocks = std::mem::take(&mut self.layout);
    }

    fn walk_inst(&mut self, inst: Value, rule: Rule) {
        let ty = self.old_ty(inst);
        let Some(data) = self.module.inst_mut(inst) else {
            return;
        };
        self.loc = data.loc;
        let kind = std::mem::replace(&mut data.kind, InstKind::Unreachable);
        let Some(new) = rule(self, ty, &kind) else {
            let block = self.block;
            if let Some(data) = self.module.inst_mut(inst) {
                (data.kind, data.block) = (kind, block);
            }
            self.module.block_mut(block).insts.push(inst);
            return;
        };
        let name = self.module.value_mut(inst).name.take();
        let new_value = self.module.value_mut(new);
        if new_value.name.is_none() && matches!(new_value.kind, ValueKind::Inst(_)) {
            new_value.name = name;
        }
        self.replaced.insert(inst, new);
    }

    /// Redirects all uses of replaced values, and makes phis name the blocks from which edges now
    /// come.
    fn redirect(&mut self) {
        if self.replaced.is_empty() && self.tails.is_empty() && self.consts.is_empty() {
            return;
        }
        let module = &mut *self.module;
        for &block in &module.funcs[self.func.0 as usize].blocks {
            for &inst in &module.blocks[block.0 as usize].insts {
                let ValueKind::Inst(data) = &mut module.values[inst.index()].kind else {
                    continue;
                };
                data.kind
                    .for_each_operand_mut(|v| *v = resolve(&self.replaced, self.consts, *v));
                // Phis that the rewriter emitted already name the right part of a split block.
                let InstKind::Phi(incoming) = &mut data.kind else {
                    continue;
                };
                if inst.index() < self.first_new {
                    for (_, from) in incoming {
                        *from = self.tails.get(from).copied().unwrap_or(*from);
                    }
                }
            }
        }
    }

    // Looking.

    /// Returns the replacement of a value, or the value itself.
    pub fn current(&self, value: Value) -> Value {
        resolve(&self.replaced, self.consts, value)
    }

    /// Returns the type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.module.ty(value)
    }

    /// Returns the type of a value before the type sweep.
    pub fn old_ty(&self, value: Value) -> Type {
        self.old_types
            .get(value.index())
            .copied()
            .unwrap_or_else(|| self.module.ty(value))
    }

    /// Returns the replacement of a type in the type sweep.
    pub fn new_ty(&self, ty: Type) -> Type {
        self.new_types.get(ty.0 as usize).copied().unwrap_or(ty)
    }

    /// Returns the kind of a type.
    pub fn kind(&self, ty: Type) -> &TypeKind {
        self.module.types.kind(ty)
    }

    /// Returns the width in bits of a scalar, or of a vector's elements.
    pub fn bits(&self, ty: Type) -> u32 {
        self.module.types.bits(self.module.types.scalar(ty)) as u32
    }

    /// Returns the length of a vector type.
    pub fn vector_len(&self, ty: Type) -> Option<u32> {
        match *self.kind(ty) {
            TypeKind::Vector(_, len) => Some(len),
            _ => None,
        }
    }

    // Refusing.

    /// Records that an operation has no replacement.
    pub fn unsupported(&mut self, ty: Type, what: impl Into<String>) -> Value {
        let func = self.module.func(self.func).name.clone();
        self.errors.push(LegalizeError::Unsupported {
            func,
            what: what.into(),
            loc: self.loc,
        });
        self.undef(ty)
    }

    /// Records that an operation needs a later architecture.
    pub fn needs_arch(&mut self, ty: Type, what: impl Into<String>, needs: u32) -> Value {
        let func = self.module.func(self.func).name.clone();
        let (what, sm, loc) = (what.into(), self.target.sm, self.loc);
        self.errors.push(LegalizeError::NeedsArch {
            func,
            what,
            needs,
            sm,
            loc,
        });
        self.undef(ty)
    }

    pub fn undef(&mut self, ty: Type) -> Value {
        self.module.const_undef(ty)
    }

    // Emitting; see also `emit`.

    /// Emits an instruction or its replacement.
    pub fn emit(&mut self, ty: Type, kind: InstKind) -> Value {
        match self.rule.and_then(|rule| rule(self, ty, &kind)) {
            Some(value) => value,
            None => self.push(ty, kind),
        }
    }

    /// Emits an instruction unchanged.
    pub fn push(&mut self, ty: Type, kind: InstKind) -> Value {
        self.module.push_inst(self.block, ty, kind, self.loc)
    }

    /// Sets the values of an emitted phi.
    pub fn set_incoming(&mut self, phi: Value, incoming: Vec<(Value, Block)>) {
        if let Some(data) = self.module.inst_mut(phi) {
            data.kind = InstKind::Phi(incoming);
        }
    }

    /// Emits an instruction without a result.
    pub fn emit_void(&mut self, kind: InstKind) -> Value {
        let void = self.module.types.void();
        self.emit(void, kind)
    }

    // Control flow.

    /// Returns the block that instructions are appended to.
    pub fn block(&self) -> Block {
        self.block
    }

    /// Adds a block to the function. [`Self::go_to`] determines its position.
    pub fn new_block(&mut self, name: &str) -> Block {
        let block = self.module.add_block(self.func, name);
        self.module.func_mut(self.func).blocks.pop();
        block
    }

    /// Continues emitting in a new block.
    pub fn go_to(&mut self, block: Block) {
        self.layout.push(block);
        self.block = block;
    }

    pub fn br(&mut self, to: Block) {
        self.emit_void(InstKind::Br(to));
    }

    pub fn cond_br(&mut self, cond: Value, then: Block, otherwise: Block) {
        self.emit_void(InstKind::CondBr {
            cond,
            then,
            otherwise,
        });
    }
}

/// Follows chains of replacements.
fn resolve(
    replaced: &HashMap<Value, Value>,
    consts: &HashMap<Value, Value>,
    mut value: Value,
) -> Value {
    while let Some(&new) = replaced.get(&value) {
        value = new;
    }
    consts.get(&value).copied().unwrap_or(value)
}
