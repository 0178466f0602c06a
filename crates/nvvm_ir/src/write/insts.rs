//! Instructions. Those whose syntax is regular are in `text`.

use super::Writer;
use crate::inst::*;
use crate::types::TypeKind;
use crate::value::Value;

impl Writer<'_> {
    /// Prints an instruction with the casts it needs, one per line.
    pub(super) fn inst(&mut self, inst: Value) {
        let m = self.m;
        let Some(data) = m.inst(inst) else { return };
        let ty = m.ty(inst);
        match &data.kind {
            InstKind::Ret(None) => self.s("  ret void"),
            InstKind::Ret(Some(value)) => {
                self.s("  ret ");
                self.typed(*value);
            }
            InstKind::Br(to) => {
                self.s("  br ");
                self.block_operand(*to);
            }
            InstKind::CondBr {
                cond,
                then,
                otherwise,
            } => {
                self.s("  br ");
                self.typed(*cond);
                self.s(", ");
                self.block_operand(*then);
                self.s(", ");
                self.block_operand(*otherwise);
            }
            InstKind::Switch {
                value,
                default,
                cases,
            } => {
                self.s("  switch ");
                self.typed(*value);
                self.s(", ");
                self.block_operand(*default);
                self.s(" [");
                let ty = m.ty(*value);
                for &(case, to) in cases {
                    self.s("\n    ");
                    self.ty(ty);
                    self.s(" ");
                    self.int(ty, case);
                    self.s(", ");
                    self.block_operand(to);
                }
                self.s(if cases.is_empty() { "]" } else { "\n  ]" });
            }
            InstKind::Unreachable => self.s("  unreachable"),
            InstKind::Alloca { ty, count, align } => self.alloca(inst, *ty, *count, *align),
            InstKind::Load { ptr, access } => self.load(inst, ty, *ptr, access),
            InstKind::Store { value, ptr, access } => self.store(*value, *ptr, access),
            InstKind::Gep {
                element,
                base,
                indices,
                inbounds,
            } => self.gep(inst, *element, *base, indices, *inbounds),
            InstKind::Phi(incoming) => {
                self.define(inst);
                self.s("phi ");
                self.ty(ty);
                for (i, &(value, block)) in incoming.iter().enumerate() {
                    self.s(if i == 0 { " [ " } else { ", [ " });
                    self.val(value);
                    self.s(", %");
                    self.label(block);
                    self.s(" ]");
                }
            }
            InstKind::Call(call) => self.call(inst, call),
            InstKind::ExtractValue { aggregate, index } => {
                self.simple(inst, "extractvalue ", &[*aggregate]);
                self.s(", ");
                self.num(*index);
            }
            InstKind::InsertValue {
                aggregate,
                value,
                index,
            } => {
                self.simple(inst, "insertvalue ", &[*aggregate, *value]);
                self.s(", ");
                self.num(*index);
            }
            InstKind::ShuffleVector { a, b, mask } => {
                self.simple(inst, "shufflevector ", &[*a, *b]);
                self.s(", <");
                self.num(mask.len() as u64);
                self.s(" x i32> <");
                for (i, index) in mask.iter().enumerate() {
                    self.s(if i == 0 { "i32 " } else { ", i32 " });
                    match index {
                        Some(index) => self.num(*index),
                        None => self.s("undef"),
                    }
                }
                self.s(">");
            }
            kind => self.regular(inst, kind),
        }
        self.loc(data);
        if data.kind.is_terminator() {
            let block = self.m.block(data.block);
            match (block.no_unroll, block.unroll_count) {
                (true, _) => self.no_unroll(),
                (false, Some(count)) => self.unroll_count(count),
                (false, None) => {}
            }
        }
        self.s("\n");
    }

    /// Prints `  %name = `, or only the indentation if there is no result.
    pub(super) fn define(&mut self, inst: Value) {
        self.s("  ");
        let ty = self.m.ty(inst);
        if !matches!(self.m.types.kind(ty), TypeKind::Void) {
            self.local(inst);
            self.s(" = ");
        }
    }

    pub(super) fn simple(&mut self, inst: Value, name: &str, operands: &[Value]) {
        self.define(inst);
        self.s(name);
        for (i, &operand) in operands.iter().enumerate() {
            self.s(if i == 0 { "" } else { ", " });
            self.typed(operand);
        }
    }

    pub(super) fn flags(&mut self, flags: Flags) {
        for (on, text) in [
            (flags.nuw, " nuw"),
            (flags.nsw, " nsw"),
            (flags.exact, " exact"),
            (flags.fast, " fast"),
            (flags.algebraic && !flags.fast, " reassoc nsz arcp contract"),
        ] {
            if on {
                self.s(text);
            }
        }
    }
}
