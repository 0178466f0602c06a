//! Calls of functions, pointers, intrinsics and inline PTX, and debug declarations of variables,
//! which are written as calls.

use super::insts::Attached;
use super::lexer::Tok;
use super::{Reader, Result, expansions};
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::metadata::{DbgDeclare, DwarfOp};
use crate::types::{Type, TypeKind};
use crate::value::{Block, Value};

impl Reader<'_> {
    /// From after `call` to before the metadata. Nothing for a declaration of a variable, and for calls
    /// that tell LLVM something and have no other effect.
    pub(super) fn call(
        &mut self,
        musttail: bool,
        block: Block,
    ) -> Result<Option<(Type, InstKind)>> {
        self.flags();
        self.calling_convention();
        let ret_attrs = self.param_attrs(None)?;
        let ty = self.ty()?.ty;
        let (ret, full) = match *self.m.types.kind(ty) {
            TypeKind::Func { ret, .. } => (ret, Some(ty)),
            _ => (ty, None),
        };
        let mut expansion = None;
        let callee = match self.peek() {
            Tok::Global("llvm.dbg.declare") => {
                self.variable()?;
                return Ok(None);
            }
            Tok::Global("llvm.experimental.noalias.scope.decl") => {
                self.skip_call()?;
                return Ok(None);
            }
            // Since LLVM 22 without a size. What they allow, LLVM has done.
            Tok::Global(name)
                if name.starts_with("llvm.lifetime.")
                    && self.tokens.get(self.at + 2).map(|t| t.tok) == Some(Tok::Word("ptr")) =>
            {
                self.skip_call()?;
                return Ok(None);
            }
            Tok::Word("asm") => self.asm()?,
            Tok::Global(name) if self.m.named(name).is_none() => {
                if let Some(intrinsic) = Intrinsic::named(name) {
                    self.at += 1;
                    Callee::Intrinsic(intrinsic)
                } else {
                    expansion = expansions::named(name);
                    if expansion.is_none() {
                        return self.error(format!("there is no `@{name}`"));
                    }
                    self.at += 1;
                    Callee::Value(Value(0))
                }
            }
            _ => {
                let ptr = self.m.types.ptr();
                Callee::Value(self.value(ptr)?)
            }
        };
        self.punct('(')?;
        let (mut params, mut args, mut arg_attrs) = (Vec::new(), Vec::new(), Vec::new());
        while !self.eat(Tok::Punct(')')) {
            if !args.is_empty() {
                self.punct(',')?;
            }
            let ty = self.ty()?;
            arg_attrs.push(self.param_attrs(ty.pointee)?);
            params.push(ty.ty);
            args.push(self.value(ty.ty)?);
        }
        if arg_attrs
            .iter()
            .all(|attrs| *attrs == ParamAttrs::default())
        {
            arg_attrs.clear();
        }
        let (mut noreturn, mut convergent, mut read_none) = (false, false, false);
        loop {
            if self.eat_word("noreturn") {
                noreturn = true;
            } else if self.eat_word("convergent") {
                convergent = true;
            } else if let Some(group) = self.attr_group()? {
                noreturn |= group.no_return;
                convergent |= group.convergent;
                read_none |= group.read_none;
            } else if matches!(self.peek(), Tok::Word("nounwind" | "willreturn" | "memory")) {
                read_none |= self.func_attrs()?.read_none;
            } else {
                break;
            }
        }
        if self.peek() == Tok::Punct('[') {
            // Operand bundles: an assumption's, of alignment for example.
            if !matches!(callee, Callee::Intrinsic(Intrinsic::Assume)) {
                return self.error("only assumptions have operand bundles");
            }
            while !self.eat(Tok::Punct(']')) {
                if self.next() == Tok::End {
                    return self.expected("`]`");
                }
            }
            self.attached(&mut Attached::default())?;
            return Ok(None);
        }
        if let Some(expand) = expansion {
            return expand(self, block, ret, &args).map(Some);
        }
        let sig = match full {
            Some(sig) => sig,
            None => self.m.types.func(ret, &params, false),
        };
        let mut callee = callee;
        if let Callee::Asm(asm) = &mut callee {
            asm.convergent = convergent;
            asm.read_none = read_none;
        }
        let call = Call {
            callee,
            sig,
            args,
            arg_attrs,
            ret_attrs,
            noreturn,
            convergent,
            musttail,
        };
        Ok(Some((ret, InstKind::Call(Box::new(call)))))
    }

    /// Skips a call, from its callee to its metadata.
    fn skip_call(&mut self) -> Result<()> {
        self.at += 1;
        self.punct('(')?;
        self.skip_to_closing()?;
        self.attr_group()?;
        self.attached(&mut Attached::default())
    }

    pub(super) fn asm(&mut self) -> Result<Callee> {
        self.at += 1;
        let side_effects = self.eat_word("sideeffect");
        let template = self.text()?;
        self.punct(',')?;
        let constraints = self.text()?;
        let asm = InlineAsm {
            template,
            constraints,
            side_effects,
            convergent: false,
            read_none: false,
        };
        Ok(Callee::Asm(Box::new(asm)))
    }

    /// `@llvm.dbg.declare(metadata ptr %x, metadata !1, metadata !DIExpression()), !dbg !2`
    pub(super) fn variable(&mut self) -> Result<()> {
        self.at += 1;
        self.punct('(')?;
        self.expect(Tok::Word("metadata"))?;
        let ptr = self.typed()?;
        self.punct(',')?;
        self.expect(Tok::Word("metadata"))?;
        let node = self.node_ref()?;
        let variable = self.di(node)?;
        self.punct(',')?;
        self.expect(Tok::Word("metadata"))?;
        self.expect(Tok::Meta("DIExpression"))?;
        let expression = self.dwarf_ops()?;
        self.punct(')')?;
        self.attached(&mut Attached::default())?;
        let ty = match self.m.inst(ptr).map(|data| &data.kind) {
            Some(InstKind::Alloca { ty, .. }) => *ty,
            _ => self.m.types.int(8),
        };
        self.m.func_mut(self.func).variables.push((
            ptr,
            DbgDeclare {
                variable,
                expression,
                ty,
            },
        ));
        Ok(())
    }

    /// `(DW_OP_plus_uconst, 8, DW_OP_deref)`
    fn dwarf_ops(&mut self) -> Result<Vec<DwarfOp>> {
        let mut ops = Vec::new();
        self.punct('(')?;
        while !self.eat(Tok::Punct(')')) {
            if !ops.is_empty() {
                self.punct(',')?;
            }
            let at = self.at;
            ops.push(match self.word("an operation")? {
                "DW_OP_deref" => DwarfOp::Deref,
                "DW_OP_plus_uconst" => {
                    self.punct(',')?;
                    DwarfOp::Plus(self.unsigned()?)
                }
                other => {
                    return self.error_at(at, format!("the operation `{other}` is not read here"));
                }
            });
        }
        Ok(ops)
    }
}
