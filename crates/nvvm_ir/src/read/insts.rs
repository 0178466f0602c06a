//! Instructions. Those whose syntax is regular are in `text`.

use super::lexer::Tok;
use super::types::TextType;
use super::{Local, Reader, Result};
use crate::inst::*;
use crate::metadata::Di;
use crate::types::{Type, TypeKind};
use crate::value::{Block, Value};
use crate::write::words::Word;

/// The metadata attached to an instruction.
#[derive(Default)]
pub(super) struct Attached {
    pub(super) align: u64,
    pub(super) range: Option<(u128, u128)>,
    pub(super) invariant: bool,
    pub(super) nonnull: bool,
    pub(super) loc: Option<Di>,
    pub(super) no_unroll: bool,
    pub(super) unroll_count: Option<u32>,
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
        let disjoint = op == "or" && self.peek() == Tok::Word("disjoint");
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
                while self.eat_word("nuw") || self.eat_word("nusw") {}
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
            "atomicrmw" if self.peek() == Tok::Word("volatile") => {
                return self.error("volatile atomic operations are not read here");
            }
            "phi" => self.phi()?,
            "call" | "tail" | "musttail" | "notail" => {
                if op != "call" {
                    self.expect(Tok::Word("call"))?;
                }
                match self.call(op == "musttail", block)? {
                    Some(call) => call,
                    None => return Ok(()),
                }
            }
            "extractvalue" => {
                let aggregate = self.typed()?;
                let path = self.path()?;
                let (&last, outer) = path.split_last().unwrap_or((&0, &[]));
                let wholes = self.fields_on(block, aggregate, outer)?;
                let aggregate = wholes.last().copied().unwrap_or(aggregate);
                match self.field(aggregate, last) {
                    Some(ty) => (
                        ty,
                        InstKind::ExtractValue {
                            aggregate,
                            index: last,
                        },
                    ),
                    None => return self.error_at(self.at - 1, "there is no such field"),
                }
            }
            "insertvalue" => {
                let aggregate = self.typed()?;
                self.punct(',')?;
                let mut value = self.typed()?;
                let path = self.path()?;
                let (&first, inner) = path.split_first().unwrap_or((&0, &[]));
                // Each aggregate around the field is rebuilt, the innermost first.
                let (_, outer) = path.split_last().unwrap_or((&0, &[]));
                let wholes = self.fields_on(block, aggregate, outer)?;
                for (&index, &aggregate) in inner.iter().zip(&wholes[1..]).rev() {
                    let kind = InstKind::InsertValue {
                        aggregate,
                        value,
                        index,
                    };
                    let ty = self.m.ty(aggregate);
                    value = self.m.push_inst(block, ty, kind, None);
                }
                (
                    self.m.ty(aggregate),
                    InstKind::InsertValue {
                        aggregate,
                        value,
                        index: first,
                    },
                )
            }
            // The address without its provenance.
            "ptrtoaddr" => {
                let value = self.typed()?;
                self.expect(Tok::Word("to"))?;
                let op = CastOp::PtrToInt;
                (self.ty()?.ty, InstKind::Cast { op, value })
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
            _ => match self.regular(op)? {
                Some(inst) => inst,
                None => return self.error_at(op_at, format!("there is no instruction `{op}`")),
            },
        };
        if disjoint && matches!(self.m.types.int_bits(ty), Some(32 | 64)) {
            self.disjoint.extend(name);
        }
        if matches!(kind, InstKind::Alloca { .. } | InstKind::Gep { .. }) {
            self.cast_result(&mut name)?;
        }
        self.attached(&mut attached)?;
        let data = self.m.block_mut(block);
        data.no_unroll |= attached.no_unroll;
        data.unroll_count = data.unroll_count.or(attached.unroll_count);
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

    /// LLVM 7: a value computed as `%.N` and cast in the next instruction has the name of the cast.
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

    /// Returns whether a pointer's type in the text is the one in which values are stored.
    pub(super) fn keeps(&self, ty: TextType) -> bool {
        ty.pointee
            .is_none_or(|pointee| self.m.types.int_bits(pointee) == Some(8))
    }

    /// `, 0, 1`: the indices of a field.
    fn path(&mut self) -> Result<Vec<u32>> {
        let mut path = Vec::new();
        while self.peek() == Tok::Punct(',') && matches!(self.peek2(), Tok::Number(_)) {
            self.at += 1;
            path.push(self.unsigned()?);
        }
        match path.is_empty() {
            true => self.expected("the index of a field"),
            false => Ok(path),
        }
    }

    /// Returns an aggregate and the value at each index of a path into it.
    fn fields_on(&mut self, block: Block, aggregate: Value, path: &[u32]) -> Result<Vec<Value>> {
        let mut values = vec![aggregate];
        let mut aggregate = aggregate;
        for &index in path {
            let Some(ty) = self.field(aggregate, index) else {
                return self.error_at(self.at - 1, "there is no such field");
            };
            let kind = InstKind::ExtractValue { aggregate, index };
            aggregate = self.m.push_inst(block, ty, kind, None);
            values.push(aggregate);
        }
        Ok(values)
    }

    pub(super) fn label(&mut self) -> Result<Block> {
        self.expect(Tok::Word("label"))?;
        self.block_name()
    }

    pub(super) fn block_name(&mut self) -> Result<Block> {
        if let Tok::Local(name) = self.peek() {
            let entry = || {
                let (number, block) = self.unlabeled_entry?;
                (name.parse() == Ok(number)).then_some(block)
            };
            if let Some(block) = self.blocks.get(name).copied().or_else(entry) {
                self.at += 1;
                return Ok(block);
            }
        }
        self.expected("the name of a block of this function")
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
        self.flags();
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
        let lanes = self.ty()?.ty;
        let TypeKind::Vector(_, len) = *self.m.types.kind(lanes) else {
            return self.error_at(self.at - 1, "the indices are no vector");
        };
        let mask = match self.peek() {
            Tok::Word("zeroinitializer") => {
                self.at += 1;
                vec![Some(0); len as usize]
            }
            Tok::Word("poison" | "undef") => {
                self.at += 1;
                vec![None; len as usize]
            }
            Tok::Word("splat") => {
                self.at += 1;
                self.punct('(')?;
                self.ty()?;
                let index = self.unsigned()?;
                self.punct(')')?;
                vec![Some(index); len as usize]
            }
            _ => self.mask()?,
        };
        let element = self.m.types.scalar(self.m.ty(a));
        let ty = self.m.types.vector(element, mask.len() as u32);
        Ok((ty, InstKind::ShuffleVector { a, b, mask }))
    }

    /// `<i32 0, i32 poison>`
    fn mask(&mut self) -> Result<Vec<Option<u32>>> {
        self.punct('<')?;
        let mut mask = Vec::new();
        while !self.eat(Tok::Punct('>')) {
            if !mask.is_empty() {
                self.punct(',')?;
            }
            self.ty()?;
            let index = if self.eat_word("undef") || self.eat_word("poison") {
                None
            } else {
                Some(self.unsigned()?)
            };
            mask.push(index);
        }
        Ok(mask)
    }

    /// Flags of an operation. Those that `nvvm_ir` does not have are skipped: each only allows more.
    pub(super) fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        let (mut reassociates, mut contracts) = (false, false);
        while let Tok::Word(word) = self.peek() {
            match word {
                "nuw" => flags.nuw = true,
                "nsw" => flags.nsw = true,
                "exact" => flags.exact = true,
                "fast" => flags.fast = true,
                "reassoc" => reassociates = true,
                "contract" => contracts = true,
                "nsz" | "arcp" | "nnan" | "ninf" | "afn" | "disjoint" | "nneg" => {}
                _ => break,
            }
            self.at += 1;
        }
        flags.algebraic = reassociates && contracts;
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

    /// Reads one of LLVM's keywords for a kind of operation.
    pub(super) fn keyword<W: Word>(&mut self) -> Result<W> {
        let at = self.at;
        let word = self.word(W::WHAT)?;
        match W::from_name(word) {
            Some(word) => Ok(word),
            None => self.error_at(at, format!("expected {}, found `{word}`", W::WHAT)),
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
            Some((self.keyword()?, scope))
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
            nonnull: attached.nonnull,
        })
    }

    /// `, align 4, !range !1, !dbg !2`
    pub(super) fn attached(&mut self, attached: &mut Attached) -> Result<()> {
        while self.peek() == Tok::Punct(',') {
            self.at += 1;
            match self.next() {
                Tok::Word("align") => attached.align = self.unsigned()?,
                Tok::Meta("range") => attached.range = self.range()?,
                Tok::Meta("invariant.load") => {
                    attached.invariant = true;
                    self.node_ref()?;
                }
                Tok::Meta("nonnull") => {
                    attached.nonnull = true;
                    self.node_ref()?;
                }
                Tok::Meta("dbg") => {
                    let node = self.node_ref()?;
                    let di = self.di(node)?;
                    attached.loc = self.with_line(di);
                }
                Tok::Meta("llvm.loop") => {
                    let node = self.node_ref()?;
                    (attached.no_unroll, attached.unroll_count) = self.unrolling(node)?;
                }
                // Attributes that only LLVM knows.
                Tok::Meta(_) => {
                    self.node_ref()?;
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
