//! Instructions.

use super::lexer::Tok;
use super::types::TextType;
use super::{Local, Reader, Result};
use crate::inst::*;
use crate::metadata::Di;
use crate::types::{Type, TypeKind};
use crate::value::{Block, Value};
use crate::write::words;

/// What is attached at an instruction's end.
#[derive(Default)]
pub(super) struct Attached {
    pub(super) align: u64,
    pub(super) range: Option<(u128, u128)>,
    pub(super) invariant: bool,
    pub(super) loc: Option<Di>,
}

impl<'t> Reader<'t> {
    pub(super) fn inst(
        &mut self,
        block: Block,
        mut name: Option<Local<'t>>,
        start: usize,
    ) -> Result<()> {
        let op_at = self.at;
        let op = self.word("an instruction")?;
        let void = self.m.types.void();
        let mut attached = Attached::default();
        let (ty, kind) = match op {
            "ret" => {
                let ty = self.ty()?.ty;
                let value = if ty == void {
                    None
                } else {
                    Some(self.value(ty)?)
                };
                (void, InstKind::Ret(value))
            }
            "br" if self.peek() == Tok::Word("label") => (void, InstKind::Br(self.label()?)),
            "br" => {
                let cond = self.typed()?;
                self.punct(',')?;
                let then = self.label()?;
                self.punct(',')?;
                (
                    void,
                    InstKind::CondBr {
                        cond,
                        then,
                        otherwise: self.label()?,
                    },
                )
            }
            "switch" => (void, self.switch()?),
            "unreachable" => (void, InstKind::Unreachable),
            "alloca" => {
                let ty = self.ty()?.ty;
                let counted = self.peek() == Tok::Punct(',')
                    && !matches!(self.peek2(), Tok::Word("align") | Tok::Meta(_));
                let count = if counted {
                    self.at += 1;
                    Some(self.typed()?)
                } else {
                    None
                };
                self.attached(&mut attached)?;
                let align = attached.align;
                (self.m.types.ptr(), InstKind::Alloca { ty, count, align })
            }
            "load" => {
                let (atomic, volatile) = (self.eat_word("atomic"), self.eat_word("volatile"));
                let ty = self.ty()?.ty;
                self.punct(',')?;
                let ptr = self.typed()?;
                let access = self.access(atomic, volatile, &mut attached)?;
                (ty, InstKind::Load { ptr, access })
            }
            "store" => {
                let (atomic, volatile) = (self.eat_word("atomic"), self.eat_word("volatile"));
                let value = self.typed()?;
                self.punct(',')?;
                let ptr = self.typed()?;
                let access = self.access(atomic, volatile, &mut attached)?;
                (void, InstKind::Store { value, ptr, access })
            }
            "getelementptr" => {
                let inbounds = self.eat_word("inbounds");
                let element = self.ty()?.ty;
                self.punct(',')?;
                let base = self.typed()?;
                let mut indices = Vec::new();
                while self.peek() == Tok::Punct(',') && !matches!(self.peek2(), Tok::Meta(_)) {
                    self.at += 1;
                    indices.push(self.typed()?);
                }
                (
                    self.m.ty(base),
                    InstKind::Gep {
                        element,
                        base,
                        indices,
                        inbounds,
                    },
                )
            }
            "atomicrmw" => {
                let at = self.at;
                let op = self.word("an operation")?;
                let Some(op) = words::rmw_from_name(op) else {
                    return self.error_at(at, format!("there is no operation `{op}`"));
                };
                let ptr = self.typed()?;
                self.punct(',')?;
                let value = self.typed()?;
                let scope = self.scope()?;
                let ordering = self.ordering()?;
                (
                    self.m.ty(value),
                    InstKind::AtomicRmw {
                        op,
                        ptr,
                        value,
                        ordering,
                        scope,
                    },
                )
            }
            "cmpxchg" => {
                let ptr = self.typed()?;
                self.punct(',')?;
                let expected = self.typed()?;
                self.punct(',')?;
                let new = self.typed()?;
                let scope = self.scope()?;
                let (success, failure) = (self.ordering()?, self.ordering()?);
                let (of, i1) = (self.m.ty(new), self.m.types.int(1));
                let pair = self.m.types.structure(&[of, i1], false);
                (
                    pair,
                    InstKind::CmpXchg {
                        ptr,
                        expected,
                        new,
                        success,
                        failure,
                        scope,
                    },
                )
            }
            "fence" => {
                let scope = self.scope()?;
                (
                    void,
                    InstKind::Fence {
                        ordering: self.ordering()?,
                        scope,
                    },
                )
            }
            "fneg" => {
                let value = self.typed()?;
                (self.m.ty(value), InstKind::FNeg(value))
            }
            "freeze" => {
                let value = self.typed()?;
                (self.m.ty(value), InstKind::Freeze(value))
            }
            "icmp" => {
                let at = self.at;
                let pred = self.word("a predicate")?;
                let Some(pred) = words::int_pred_from_name(pred) else {
                    return self.error_at(at, format!("there is no predicate `{pred}`"));
                };
                let (lhs, rhs) = self.pair()?;
                (self.bool_like(lhs), InstKind::ICmp { pred, lhs, rhs })
            }
            "fcmp" => {
                let at = self.at;
                let pred = self.word("a predicate")?;
                let Some(pred) = words::float_pred_from_name(pred) else {
                    return self.error_at(at, format!("there is no predicate `{pred}`"));
                };
                let (lhs, rhs) = self.pair()?;
                (self.bool_like(lhs), InstKind::FCmp { pred, lhs, rhs })
            }
            "select" => {
                let cond = self.typed()?;
                self.punct(',')?;
                let then = self.typed()?;
                self.punct(',')?;
                let otherwise = self.typed()?;
                (
                    self.m.ty(then),
                    InstKind::Select {
                        cond,
                        then,
                        otherwise,
                    },
                )
            }
            "phi" => self.phi()?,
            "call" | "tail" | "musttail" => {
                if op != "call" {
                    self.expect(Tok::Word("call"))?;
                }
                match self.call(op == "musttail")? {
                    Some(call) => call,
                    None => return Ok(()),
                }
            }
            "extractvalue" => {
                let aggregate = self.typed()?;
                self.punct(',')?;
                let index = self.unsigned()?;
                match self.field(aggregate, index) {
                    Some(ty) => (ty, InstKind::ExtractValue { aggregate, index }),
                    None => return self.error_at(self.at - 1, "there is no such field"),
                }
            }
            "insertvalue" => {
                let aggregate = self.typed()?;
                self.punct(',')?;
                let value = self.typed()?;
                self.punct(',')?;
                let index = self.unsigned()?;
                (
                    self.m.ty(aggregate),
                    InstKind::InsertValue {
                        aggregate,
                        value,
                        index,
                    },
                )
            }
            "extractelement" => {
                let vector = self.typed()?;
                self.punct(',')?;
                let index = self.typed()?;
                (
                    self.m.types.scalar(self.m.ty(vector)),
                    InstKind::ExtractElement { vector, index },
                )
            }
            "insertelement" => {
                let vector = self.typed()?;
                self.punct(',')?;
                let value = self.typed()?;
                self.punct(',')?;
                let index = self.typed()?;
                (
                    self.m.ty(vector),
                    InstKind::InsertElement {
                        vector,
                        value,
                        index,
                    },
                )
            }
            "shufflevector" => self.shuffle()?,
            "bitcast" => {
                let from = self.ty()?;
                let value = self.value(from.ty)?;
                self.expect(Tok::Word("to"))?;
                let to = self.ty()?;
                if from.ty == to.ty && !(self.keeps(from) && self.keeps(to)) {
                    self.attached(&mut attached)?;
                    return self.alias(name, value, start);
                }
                (
                    to.ty,
                    InstKind::Cast {
                        op: CastOp::Bitcast,
                        value,
                    },
                )
            }
            _ => {
                if let Some(op) = words::bin_from_name(op) {
                    let flags = self.flags();
                    let (lhs, rhs) = self.pair()?;
                    (
                        self.m.ty(lhs),
                        InstKind::Bin {
                            op,
                            lhs,
                            rhs,
                            flags,
                        },
                    )
                } else if let Some(op) = words::cast_from_name(op) {
                    let value = self.typed()?;
                    self.expect(Tok::Word("to"))?;
                    (self.ty()?.ty, InstKind::Cast { op, value })
                } else {
                    return self.error_at(op_at, format!("there is no instruction `{op}`"));
                }
            }
        };
        if matches!(kind, InstKind::Alloca { .. } | InstKind::Gep { .. }) {
            self.cast_result(&mut name)?;
        }
        self.attached(&mut attached)?;
        if name.is_none() != (ty == void) {
            let message = if ty == void {
                "this has no result"
            } else {
                "the result has no name"
            };
            return self.error_at(op_at, message);
        }
        self.define_inst(block, name, start, ty, kind, attached.loc)
    }

    /// LLVM 7: what is computed as `%.N` and cast right after has the name of the cast.
    pub(super) fn cast_result(&mut self, name: &mut Option<Local<'t>>) -> Result<()> {
        let next = |n: usize| self.tokens.get(self.at + n).map(|t| t.tok);
        if let (Some(Local::Name(temp)), Some(Tok::Local(result))) = (*name, next(0))
            && temp.starts_with('.')
            && next(2) == Some(Tok::Word("bitcast"))
        {
            let start = self.at;
            self.at += 3;
            self.ty()?;
            if self.eat(Tok::Local(temp)) {
                self.expect(Tok::Word("to"))?;
                self.ty()?;
                *name = Some(Local::new(result));
            } else {
                self.at = start;
            }
        }
        Ok(())
    }

    /// Whether a pointer's type in the text is the one that pointers are kept in.
    pub(super) fn keeps(&self, ty: TextType) -> bool {
        ty.pointee
            .is_none_or(|pointee| self.m.types.int_bits(pointee) == Some(8))
    }

    pub(super) fn label(&mut self) -> Result<Block> {
        self.expect(Tok::Word("label"))?;
        self.block_name()
    }

    pub(super) fn block_name(&mut self) -> Result<Block> {
        if let Tok::Local(name) = self.peek()
            && let Some(&block) = self.blocks.get(name)
        {
            self.at += 1;
            return Ok(block);
        }
        self.expected("the name of a block of this function")
    }

    pub(super) fn pair(&mut self) -> Result<(Value, Value)> {
        let lhs = self.typed()?;
        self.punct(',')?;
        let ty = self.m.ty(lhs);
        Ok((lhs, self.value(ty)?))
    }

    pub(super) fn bool_like(&mut self, operand: Value) -> Type {
        let i1 = self.m.types.int(1);
        match *self.m.types.kind(self.m.ty(operand)) {
            TypeKind::Vector(_, len) => self.m.types.vector(i1, len),
            _ => i1,
        }
    }

    pub(super) fn field(&self, aggregate: Value, index: u32) -> Option<Type> {
        match self.m.types.kind(self.m.ty(aggregate)) {
            TypeKind::Struct { fields, .. } => fields.get(index as usize).copied(),
            TypeKind::Array(element, len) => (u64::from(index) < *len).then_some(*element),
            _ => None,
        }
    }

    pub(super) fn switch(&mut self) -> Result<InstKind> {
        let value = self.typed()?;
        self.punct(',')?;
        let default = self.label()?;
        self.punct('[')?;
        let mut cases = Vec::new();
        while !self.eat(Tok::Punct(']')) {
            let ty = self.ty()?.ty;
            let case = self.int(ty)?;
            self.punct(',')?;
            cases.push((case, self.label()?));
        }
        Ok(InstKind::Switch {
            value,
            default,
            cases,
        })
    }

    pub(super) fn phi(&mut self) -> Result<(Type, InstKind)> {
        let ty = self.ty()?.ty;
        let mut incoming = Vec::new();
        // A phi without predecessors, in a block that nothing jumps to, has no values.
        if self.peek() == Tok::Punct('[') {
            loop {
                self.punct('[')?;
                let value = self.value(ty)?;
                self.punct(',')?;
                incoming.push((value, self.block_name()?));
                self.punct(']')?;
                let more = self.peek2() == Tok::Punct('[');
                if !more || !self.eat(Tok::Punct(',')) {
                    break;
                }
            }
        }
        Ok((ty, InstKind::Phi(incoming)))
    }

    pub(super) fn shuffle(&mut self) -> Result<(Type, InstKind)> {
        let a = self.typed()?;
        self.punct(',')?;
        let b = self.typed()?;
        self.punct(',')?;
        self.ty()?;
        self.punct('<')?;
        let mut mask = Vec::new();
        while !self.eat(Tok::Punct('>')) {
            if !mask.is_empty() {
                self.punct(',')?;
            }
            self.ty()?;
            let index = if self.eat_word("undef") {
                None
            } else {
                Some(self.unsigned()?)
            };
            mask.push(index);
        }
        let element = self.m.types.scalar(self.m.ty(a));
        let ty = self.m.types.vector(element, mask.len() as u32);
        Ok((ty, InstKind::ShuffleVector { a, b, mask }))
    }

    pub(super) fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        while let Tok::Word(word) = self.peek() {
            match word {
                "nuw" => flags.nuw = true,
                "nsw" => flags.nsw = true,
                "exact" => flags.exact = true,
                "fast" => flags.fast = true,
                "reassoc" | "nsz" | "arcp" | "contract" => flags.algebraic = true,
                _ => break,
            }
            self.at += 1;
        }
        flags
    }

    pub(super) fn scope(&mut self) -> Result<Scope> {
        if !self.eat_word("syncscope") {
            return Ok(Scope::System);
        }
        self.punct('(')?;
        let at = self.at;
        let scope = match self.text()?.as_str() {
            "block" => Scope::Block,
            "cluster" => Scope::Cluster,
            "device" => Scope::Device,
            other => return self.error_at(at, format!("there is no scope `{other}`")),
        };
        self.punct(')')?;
        Ok(scope)
    }

    pub(super) fn ordering(&mut self) -> Result<Ordering> {
        let at = self.at;
        let word = self.word("an ordering")?;
        match words::ordering_from_name(word) {
            Some(ordering) => Ok(ordering),
            None => self.error_at(at, format!("there is no ordering `{word}`")),
        }
    }

    pub(super) fn access(
        &mut self,
        atomic: bool,
        volatile: bool,
        attached: &mut Attached,
    ) -> Result<MemAccess> {
        let atomic = if atomic {
            let scope = self.scope()?;
            Some((self.ordering()?, scope))
        } else {
            None
        };
        self.attached(attached)?;
        Ok(MemAccess {
            align: attached.align,
            volatile,
            atomic,
            invariant: attached.invariant,
            range: attached.range,
        })
    }

    /// `, align 4, !range !1, !dbg !2`
    pub(super) fn attached(&mut self, attached: &mut Attached) -> Result<()> {
        while self.peek() == Tok::Punct(',') {
            self.at += 1;
            match self.next() {
                Tok::Word("align") => attached.align = self.unsigned()?,
                Tok::Meta("range") => attached.range = Some(self.range()?),
                Tok::Meta("invariant.load") => {
                    attached.invariant = true;
                    self.node_ref()?;
                }
                Tok::Meta("dbg") => {
                    let node = self.node_ref()?;
                    attached.loc = Some(self.di(node)?);
                }
                _ => {
                    self.at -= 1;
                    return self.expected("an alignment or metadata");
                }
            }
        }
        Ok(())
    }
}
