//! `asm!` and `global_asm!`.

use rustc_ast::{InlineAsmOptions, InlineAsmTemplatePiece};
use rustc_codegen_ssa::traits::*;
use rustc_middle::ty::Instance;
use rustc_span::Span;

use crate::builder::Builder;
use crate::context::CodegenCx;

impl<'a, 'tcx> AsmBuilderMethods<'tcx> for Builder<'a, 'tcx> {
    fn codegen_inline_asm(
        &mut self,
        _template: &[InlineAsmTemplatePiece],
        _operands: &[InlineAsmOperandRef<'tcx, Self>],
        _options: InlineAsmOptions,
        line_spans: &[Span],
        _instance: Instance<'_>,
        _dest: Option<Self::BasicBlock>,
        _catch_funclet: Option<(Self::BasicBlock, Option<&Self::Funclet>)>,
    ) {
        if let Some(&span) = line_spans.first() {
            self.span = span;
        }
        self.unsupported("inline assembly");
    }
}

impl<'tcx> AsmCodegenMethods<'tcx> for CodegenCx<'tcx> {
    fn codegen_global_asm(
        &mut self,
        _template: &[InlineAsmTemplatePiece],
        _operands: &[GlobalAsmOperandRef<'tcx>],
        _options: InlineAsmOptions,
        _line_spans: &[Span],
        _extra_rust_target_features: &[String],
    ) {
    }

    fn mangled_name(&self, instance: Instance<'tcx>) -> String {
        self.symbol(instance)
    }
}
