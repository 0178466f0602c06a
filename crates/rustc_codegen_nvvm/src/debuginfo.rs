//! Debug information: line tables and, without optimizations, variables.

mod types;

use std::cell::{Cell, RefCell};
use std::ops::Range;

use nvvm_ir::{DbgDeclare, Di, DiNode, DwarfOp, Module, Value};
use rustc_abi::Size;
use rustc_codegen_ssa::mir::debuginfo::VariableKind;
use rustc_codegen_ssa::traits::*;
use rustc_data_structures::fx::FxHashMap;
use rustc_middle::ty::print::with_no_trimmed_paths;
use rustc_middle::ty::{ExistentialTraitRef, Instance, Ty};
use rustc_session::Session;
use rustc_session::config::DebugInfo;
use rustc_span::{BytePos, FileName, RemapPathScopeComponents, SourceFile, Span, Symbol};
use rustc_target::callconv::FnAbi;

use crate::builder::Builder;
use crate::context::CodegenCx;

/// Returns whether debug information describes variables. libnvvm accepts that only without
/// optimizations.
pub(crate) fn has_variables(sess: &Session) -> bool {
    sess.opts.debuginfo == DebugInfo::Full && !crate::options::optimizes(sess)
}

/// The nodes of debug information that several functions share.
#[derive(Default)]
pub(crate) struct DebugNodes<'tcx> {
    unit: Cell<Option<Di>>,
    /// The subprogram of each function.
    subprograms: RefCell<FxHashMap<Instance<'tcx>, Di>>,
    /// The types of variables, by the number of pointers that lead to them.
    types: RefCell<FxHashMap<(Ty<'tcx>, u32), Di>>,
}

impl<'tcx> CodegenCx<'tcx> {
    /// Returns whether debug information describes variables.
    pub(crate) fn has_variables(&self) -> bool {
        has_variables(self.tcx.sess)
    }

    fn di(&self, node: DiNode) -> Di {
        self.module.borrow_mut().add_di(node)
    }

    fn di_file(&self, file: &SourceFile) -> Di {
        let name = match &file.name {
            FileName::Real(name) => name
                .path(RemapPathScopeComponents::DEBUGINFO)
                .to_string_lossy()
                .into_owned(),
            other => other
                .display(RemapPathScopeComponents::DEBUGINFO)
                .to_string(),
        };
        let directory = std::env::current_dir()
            .map(|dir| dir.to_string_lossy().into_owned())
            .unwrap_or_default();
        self.di(DiNode::File { name, directory })
    }

    fn di_unit(&self, file: Di) -> Di {
        if let Some(unit) = self.debug.unit.get() {
            return unit;
        }
        let unit = self.di(DiNode::CompileUnit {
            file,
            producer: "rustc_codegen_nvvm".to_owned(),
            optimized: self.optimizes(),
            line_tables_only: !self.has_variables(),
        });
        self.debug.unit.set(Some(unit));
        unit
    }

    /// Returns a function's subprogram. Each function needs a distinct node, and equal nodes are
    /// merged: `suffix` distinguishes a kernel's entry from the kernel's function.
    fn di_subprogram(&self, instance: Instance<'tcx>, suffix: &str) -> Di {
        let tcx = self.tcx;
        let span = tcx.def_span(instance.def_id());
        let loc = tcx.sess.source_map().lookup_char_pos(span.lo());
        let file = self.di_file(&loc.file);
        let unit = self.di_unit(file);
        self.di(DiNode::Subprogram {
            name: with_no_trimmed_paths!(
                tcx.def_path_str_with_args(instance.def_id(), instance.args)
            ),
            linkage_name: format!("{}{suffix}", self.symbol(instance)),
            file,
            line: loc.line as u32,
            unit,
            local: true,
            optimized: self.optimizes(),
        })
    }
}

/// Returns the location of the call in a kernel's entry, and makes the entry a subprogram.
///
/// LLVM's inliner drops the locations of a function that it inlines into one without a subprogram,
/// so optimized kernels would have no line table. Unoptimized entries get none: a debugger would
/// find two functions of the kernel's name.
pub(crate) fn entry_location<'tcx>(
    cx: &CodegenCx<'tcx>,
    instance: Instance<'tcx>,
    entry: nvvm_ir::Func,
) -> Option<Di> {
    let tcx = cx.tcx;
    if tcx.sess.opts.debuginfo == DebugInfo::None || !cx.optimizes() {
        return None;
    }
    let scope = cx.di_subprogram(instance, "_entry");
    cx.module.borrow_mut().func_mut(entry).subprogram = Some(scope);
    let span = tcx.def_span(instance.def_id());
    let loc = tcx.sess.source_map().lookup_char_pos(span.lo());
    Some(cx.di(DiNode::Location {
        line: loc.line as u32,
        column: loc.col_display as u32 + 1,
        scope,
        inlined_at: None,
    }))
}

impl<'tcx> DebugInfoCodegenMethods<'tcx> for CodegenCx<'tcx> {
    fn create_vtable_debuginfo(
        &self,
        _ty: Ty<'tcx>,
        _trait_ref: Option<ExistentialTraitRef<'tcx>>,
        _vtable: Value,
    ) {
    }
}

impl<'a, 'tcx> DebugInfoBuilderMethods<'tcx> for Builder<'a, 'tcx> {
    fn dbg_scope_fn(
        &mut self,
        instance: Instance<'tcx>,
        _abi: &FnAbi<'tcx, Ty<'tcx>>,
        definition: Option<Value>,
    ) -> Di {
        let cx = self.cx;
        let known = cx.debug.subprograms.borrow().get(&instance).copied();
        let scope = known.unwrap_or_else(|| {
            let scope = cx.di_subprogram(instance, "");
            cx.debug.subprograms.borrow_mut().insert(instance, scope);
            scope
        });
        if let Some(value) = definition {
            let mut module = cx.module.borrow_mut();
            if let Some(func) = module.as_func(value) {
                module.func_mut(func).subprogram = Some(scope);
            }
        }
        scope
    }

    fn dbg_create_lexical_block(&mut self, pos: BytePos, parent: Di) -> Di {
        let loc = self.tcx.sess.source_map().lookup_char_pos(pos);
        let file = self.cx.di_file(&loc.file);
        self.cx.di(DiNode::LexicalBlock {
            scope: parent,
            file,
            line: loc.line as u32,
            column: loc.col_display as u32 + 1,
        })
    }

    fn dbg_location_clone_with_discriminator(
        &mut self,
        loc: Di,
        _discriminator: u32,
    ) -> Option<Di> {
        Some(loc)
    }

    fn dbg_loc(&mut self, scope: Di, inlined_at: Option<Di>, span: Span) -> Di {
        let (line, column) = if span.is_dummy() {
            (0, 0)
        } else {
            let loc = self.tcx.sess.source_map().lookup_char_pos(span.lo());
            (loc.line as u32, loc.col_display as u32 + 1)
        };
        self.cx.di(DiNode::Location {
            line,
            column,
            scope,
            inlined_at,
        })
    }

    fn extend_scope_to_file(&mut self, scope: Di, file: &SourceFile) -> Di {
        let file = self.cx.di_file(file);
        self.cx.di(DiNode::LexicalBlock {
            scope,
            file,
            line: 0,
            column: 0,
        })
    }

    fn create_dbg_var(
        &mut self,
        name: Symbol,
        ty: Ty<'tcx>,
        scope: Di,
        kind: VariableKind,
        span: Span,
    ) -> Di {
        let cx = self.cx;
        if cx.optimizes() {
            return scope;
        }
        let loc = cx.tcx.sess.source_map().lookup_char_pos(span.lo());
        let file = cx.di_file(&loc.file);
        let ty = cx.di_type(ty);
        cx.di(DiNode::LocalVariable {
            name: name.to_string(),
            scope,
            file,
            line: loc.line as u32,
            ty,
            arg: match kind {
                VariableKind::ArgumentVariable(index) => index as u32,
                VariableKind::LocalVariable => 0,
            },
        })
    }

    fn dbg_var_addr(
        &mut self,
        variable: Di,
        _loc: Di,
        alloca: Value,
        direct_offset: Size,
        indirect_offsets: &[Size],
        fragment: &Option<Range<Size>>,
    ) {
        let mut module = self.cx.module.borrow_mut();
        let DiNode::LocalVariable { scope, .. } = module.di(variable) else {
            return;
        };
        let func = module.block(self.block).func;
        // A variable of a function that MIR passes inlined would need an inlined-at location, and a
        // fragment of a variable has no address.
        if fragment.is_some() || subprogram_of(&module, *scope) != module.func(func).subprogram {
            return;
        }
        let ty = match module.inst(alloca).map(|inst| &inst.kind) {
            Some(nvvm_ir::InstKind::Alloca { ty, .. }) => *ty,
            _ => module.types.int(8),
        };
        let mut expression = Vec::new();
        let plus = |expression: &mut Vec<DwarfOp>, offset: Size| {
            if offset != Size::ZERO {
                expression.push(DwarfOp::Plus(offset.bytes()));
            }
        };
        plus(&mut expression, direct_offset);
        for &offset in indirect_offsets {
            expression.push(DwarfOp::Deref);
            plus(&mut expression, offset);
        }
        let declare = DbgDeclare {
            variable,
            expression,
            ty,
        };
        module.func_mut(func).variables.push((alloca, declare));
    }

    fn dbg_var_value(
        &mut self,
        _variable: Di,
        _loc: Di,
        _value: Value,
        _direct_offset: Size,
        _indirect_offsets: &[Size],
        _fragment: &Option<Range<Size>>,
    ) {
    }

    fn set_dbg_loc(&mut self, loc: Di) {
        self.loc = Some(loc);
    }

    fn clear_dbg_loc(&mut self) {
        self.loc = None;
    }

    fn insert_reference_to_gdb_debug_scripts_section_global(&mut self) {}

    fn set_var_name(&mut self, value: Value, name: &str) {
        let mut module = self.cx.module.borrow_mut();
        let data = module.value_mut(value);
        if data.name.is_none()
            && matches!(
                data.kind,
                nvvm_ir::ValueKind::Inst(_) | nvvm_ir::ValueKind::Param(..)
            )
        {
            data.name = Some(crate::context::sanitize(name).into());
        }
    }
}

/// Returns the subprogram that a scope belongs to.
fn subprogram_of(module: &Module, mut scope: Di) -> Option<Di> {
    loop {
        match module.di(scope) {
            DiNode::Subprogram { .. } => return Some(scope),
            DiNode::LexicalBlock { scope: outer, .. } => scope = *outer,
            _ => return None,
        }
    }
}
