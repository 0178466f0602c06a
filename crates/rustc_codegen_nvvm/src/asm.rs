//! `asm!` and `global_asm!`: inline PTX.
//!
//! Each operand uses an untyped register of its class (`.b16`, `.b32`, `.b64`), which PTX allows
//! for any instruction of that width (PTX ISA, "Operand Type Checking"): floats are bitcast, and
//! operands narrower than their class are zero-extended.
//!
//! LLVM 7 has no `asm goto`. An `asm!` with Rust labels gets an additional output with the index of
//! the label that it jumps to, and a `switch` after it jumps there.

use nvvm_ir::{Block, InlineAsm, Linkage, Type, Value};
use rustc_abi::{BackendRepr, Primitive};
use rustc_ast::{InlineAsmOptions, InlineAsmTemplatePiece};
use rustc_codegen_ssa::common::{SynchronizationScope, asm_const_to_str};
use rustc_codegen_ssa::mir::operand::{OperandRef, OperandValue};
use rustc_codegen_ssa::mir::place::PlaceRef;
use rustc_codegen_ssa::traits::*;
use rustc_middle::mir::interpret::{GlobalAlloc, Scalar};
use rustc_middle::ty::layout::{FnAbiOf, LayoutOf, TyAndLayout};
use rustc_middle::ty::{self, AtomicOrdering, Instance};
use rustc_span::Span;
use rustc_target::asm::{InlineAsmRegClass, InlineAsmRegOrRegClass, NvptxInlineAsmRegClass};
use rustc_target::callconv::PassMode;

use crate::builder::Builder;
use crate::context::CodegenCx;
use crate::{inlining, tool_attributes};

/// Returns the constraint letter and the width in bits of a register class.
fn class(reg: InlineAsmRegOrRegClass) -> Option<(&'static str, u64)> {
    match reg.reg_class() {
        InlineAsmRegClass::Nvptx(NvptxInlineAsmRegClass::reg16) => Some(("h", 16)),
        InlineAsmRegClass::Nvptx(NvptxInlineAsmRegClass::reg32) => Some(("r", 32)),
        InlineAsmRegClass::Nvptx(NvptxInlineAsmRegClass::reg64) => Some(("l", 64)),
        _ => None,
    }
}

/// Escapes `text` for LLVM's inline assembly templates.
fn escape(text: &str) -> String {
    text.replace('$', "$$")
}

impl<'a, 'tcx> Builder<'a, 'tcx> {
    pub(crate) fn emit_to_register(
        &mut self,
        value: Value,
        layout: TyAndLayout<'tcx>,
        bits: u64,
    ) -> Value {
        let value = match layout.backend_repr {
            BackendRepr::Scalar(scalar) => match scalar.primitive() {
                Primitive::Float(float) => {
                    let int = self.int(float.size().bits());
                    self.bitcast(value, int)
                }
                Primitive::Pointer(_) => {
                    let int = self.type_i64();
                    self.ptrtoint(value, int)
                }
                Primitive::Int(..) => value,
            },
            BackendRepr::SimdVector { .. } => {
                let int = self.int(layout.size.bits());
                self.bitcast(value, int)
            }
            _ => value,
        };
        let int = self.int(bits);
        self.intcast(value, int, false)
    }

    /// Writes zeros to the outputs, as a processor without any optional feature would.
    fn write_zeros(&mut self, operands: &[InlineAsmOperandRef<'tcx, Self>]) {
        for operand in operands {
            let place = match operand {
                InlineAsmOperandRef::Out { place, .. } => *place,
                InlineAsmOperandRef::InOut { out_place, .. } => *out_place,
                _ => None,
            };
            if let Some(place) = place {
                let zero = self.const_u32(0);
                self.store_register(zero, place);
            }
        }
    }

    /// Writes the inputs of `inout` operands to their outputs, as an assembly without instructions
    /// does. Operands that are only outputs are unspecified, so they become zero.
    fn keep_inputs(&mut self, operands: &[InlineAsmOperandRef<'tcx, Self>]) {
        self.write_zeros(operands);
        for operand in operands {
            if let InlineAsmOperandRef::InOut {
                in_value,
                out_place: Some(place),
                ..
            } = operand
            {
                in_value.val.store(self, *place);
            }
        }
    }

    pub(crate) fn store_register(&mut self, value: Value, place: PlaceRef<'tcx, Value>) {
        let layout = place.layout;
        let int = self.int(layout.size.bits());
        let value = self.intcast(value, int, false);
        let value = match layout.backend_repr {
            BackendRepr::Scalar(scalar) => match scalar.primitive() {
                Primitive::Float(float) => {
                    let ty = self.float_type(float);
                    self.bitcast(value, ty)
                }
                Primitive::Pointer(_) => {
                    let ty = self.type_ptr();
                    self.inttoptr(value, ty)
                }
                Primitive::Int(..) => self.to_immediate_scalar(value, scalar),
            },
            BackendRepr::SimdVector { .. } => {
                let ty = self.backend_type(layout);
                self.bitcast(value, ty)
            }
            _ => value,
        };
        OperandValue::Immediate(value).store(self, place);
    }
}

impl<'a, 'tcx> AsmBuilderMethods<'tcx> for Builder<'a, 'tcx> {
    fn codegen_inline_asm(
        &mut self,
        template: &[InlineAsmTemplatePiece],
        operands: &[InlineAsmOperandRef<'tcx, Self>],
        options: InlineAsmOptions,
        line_spans: &[Span],
        instance: Instance<'_>,
        dest: Option<Self::BasicBlock>,
        _catch_funclet: Option<(Self::BasicBlock, Option<&Self::Funclet>)>,
    ) {
        if let Some(&span) = line_spans.first() {
            self.span = span;
        }
        if self.cx.host && !tool_attributes::has(self.tcx, instance.def_id(), "asm") {
            if queries_features(template) {
                self.write_zeros(operands);
            } else if is_comment(template) {
                self.keep_inputs(operands);
                let order = AtomicOrdering::SeqCst;
                self.atomic_fence(order, SynchronizationScope::SingleThread);
            } else if self.asm_of_x86(template, operands, options).is_none() {
                self.unsupported("inline assembly for the host");
            }
            if let Some(dest) = dest {
                self.br(dest);
                self.switch_to_block(dest);
            }
            return;
        }
        let Some(numbered) = self.asm_operands(operands) else {
            return;
        };
        let mark = mark_of_table(template);
        let text = self.asm_template(template, operands, &numbered, mark, line_spans);
        let Operands {
            outputs,
            types,
            places,
            inputs,
            args,
            labels,
            ..
        } = numbered;
        let count = outputs.len();
        let mut constraints = outputs;
        constraints.extend(inputs);
        if !options.contains(InlineAsmOptions::NOMEM) {
            constraints.push("~{memory}".to_owned());
        }
        let pure_ = options.contains(InlineAsmOptions::PURE);
        let ret = match types[..] {
            [] => self.cx.ty(|t| t.void()),
            [single] => single,
            _ => self.cx.ty(|t| t.structure(&types, false)),
        };
        let asm = InlineAsm {
            template: text,
            constraints: constraints.join(","),
            side_effects: !pure_,
            convergent: match mark {
                Some(mark) => !pure_ && mark != DIVERGENT,
                None => !pure_ || is_synchronizing(template),
            },
            read_none: false,
        };
        let result = self.ir(|b| b.asm(asm, ret, &args));
        let output = |bx: &mut Self, index: usize| match count {
            1 => result,
            _ => bx.extract_value(result, index as u64),
        };
        if labels.is_empty() {
            if options.contains(InlineAsmOptions::NORETURN) {
                // `rustc_codegen_ssa` adds the `unreachable` that follows.
                return;
            }
            if let Some(dest) = dest {
                self.br(dest);
                self.switch_to_block(dest);
            }
        }
        for (index, place) in places.iter().enumerate() {
            if let Some(place) = *place {
                let value = output(self, index);
                self.store_register(value, place);
            }
        }
        if !labels.is_empty() {
            let end = dest.expect("an assembly with labels has a block to continue in");
            let target = output(self, places.len());
            let targets: Vec<_> = (1..).zip(labels.iter().copied()).collect();
            self.switch(target, end, targets.into_iter());
        }
    }
}

/// The operands of an inline assembly, as LLVM's template and constraints number them.
#[derive(Default)]
struct Operands<'tcx> {
    /// The constraints of the outputs, which come first, and their types.
    outputs: Vec<String>,
    types: Vec<Type>,
    /// Where the outputs are stored, except the index of the label that the assembly jumps to,
    /// which is the last output of an assembly with labels.
    places: Vec<Option<PlaceRef<'tcx, Value>>>,
    /// The constraints and values of the inputs.
    inputs: Vec<String>,
    args: Vec<Value>,
    labels: Vec<Block>,
    /// For each Rust operand, its number in the template, or of a label the number among the
    /// labels, from 1.
    numbers: Vec<usize>,
}

impl<'a, 'tcx> Builder<'a, 'tcx> {
    /// Returns the operands of an assembly, with the inputs in registers. Returns `None` after
    /// reporting an unsupported operand.
    fn asm_operands(
        &mut self,
        operands: &[InlineAsmOperandRef<'tcx, Self>],
    ) -> Option<Operands<'tcx>> {
        let mut result = Operands {
            numbers: vec![0; operands.len()],
            ..Operands::default()
        };
        for (index, operand) in operands.iter().enumerate() {
            let (reg, late, place) = match operand {
                InlineAsmOperandRef::Out { reg, late, place } => (*reg, *late, *place),
                InlineAsmOperandRef::InOut {
                    reg,
                    late,
                    out_place,
                    ..
                } => (*reg, *late, *out_place),
                _ => continue,
            };
            let Some((letter, bits)) = class(reg) else {
                continue;
            };
            result.numbers[index] = result.outputs.len();
            let early = if late { "=" } else { "=&" };
            result.outputs.push(format!("{early}{letter}"));
            result.types.push(self.int(bits));
            result.places.push(place);
        }
        for (index, operand) in operands.iter().enumerate() {
            if let InlineAsmOperandRef::Label { label } = operand {
                result.labels.push(*label);
                result.numbers[index] = result.labels.len();
            }
        }
        if !result.labels.is_empty() {
            result.outputs.push("=&r".to_owned());
            result.types.push(self.int(32));
        }
        for (index, operand) in operands.iter().enumerate() {
            match operand {
                InlineAsmOperandRef::In { reg, value } => {
                    let Some((letter, bits)) = class(*reg) else {
                        continue;
                    };
                    result.numbers[index] = result.outputs.len() + result.inputs.len();
                    result.inputs.push(letter.to_owned());
                    let value = self.emit_to_register(value.immediate(), value.layout, bits);
                    result.args.push(value);
                }
                InlineAsmOperandRef::InOut { reg, in_value, .. } => {
                    let Some((_, bits)) = class(*reg) else {
                        continue;
                    };
                    result.inputs.push(result.numbers[index].to_string());
                    let value = self.emit_to_register(in_value.immediate(), in_value.layout, bits);
                    result.args.push(value);
                }
                InlineAsmOperandRef::SymThreadLocalStatic { .. } => {
                    self.unsupported("a thread-local static");
                    return None;
                }
                _ => {}
            }
        }
        Some(result)
    }

    /// Returns LLVM's template for an assembly. `mark` is the mark at the start of Rust's template,
    /// if it is from `cuda_std`'s table.
    fn asm_template(
        &mut self,
        template: &[InlineAsmTemplatePiece],
        operands: &[InlineAsmOperandRef<'tcx, Self>],
        numbered: &Operands<'tcx>,
        mark: Option<&'static str>,
        line_spans: &[Span],
    ) -> String {
        let mut text = match mark {
            Some(_) => String::new(),
            None => self.cx.asm_mark(line_spans),
        };
        for (index, piece) in template.iter().enumerate() {
            match piece {
                InlineAsmTemplatePiece::String(piece) => {
                    let marked = mark.filter(|_| index == 0).unwrap_or_default();
                    text.push_str(&escape(&piece[marked.len()..]));
                }
                InlineAsmTemplatePiece::Placeholder { operand_idx, .. } => {
                    let number = numbered.numbers[*operand_idx];
                    match &operands[*operand_idx] {
                        InlineAsmOperandRef::Const { value, ty } => {
                            text.push_str(&escape(&self.cx.asm_const(*value, *ty, self.span)));
                        }
                        InlineAsmOperandRef::Label { .. } => text.push_str(&label_name(number)),
                        _ => text.push_str(&format!("${number}")),
                    }
                }
            }
        }
        match numbered.labels.len() {
            0 => text,
            labels => with_exits(&text, labels, numbered.places.len()),
        }
    }
}

/// Returns the device function for an item with `#[nvvm::asm("TEMPLATE", "OPERANDS", "OPTIONS")]`,
/// in a single-source session. There rustc accepts inline assembly for the session's own target
/// only, so the attribute carries the PTX.
pub(crate) fn function<'tcx>(
    cx: &CodegenCx<'tcx>,
    instance: Instance<'tcx>,
    texts: &[&str],
) -> Value {
    let abi = cx.fn_abi_of_instance(instance, ty::List::empty());
    let sig = crate::abi::signature(cx, abi);
    let name = match cx.symbol(instance) {
        name if cx.module.borrow().named(&name).is_none() => name,
        taken => cx.fresh_name(&taken),
    };
    let value = {
        let mut module = cx.module.borrow_mut();
        let func = module.add_func(&name, sig).expect("the name is free");
        crate::abi::apply_function_attrs(cx, &mut module, func, abi);
        let data = module.func_mut(func);
        data.linkage = Linkage::Internal;
        data.attrs.no_unwind = true;
        inlining::always(&mut data.attrs);
        data.value
    };
    let block = Builder::append_block(cx, value, "start");
    let mut bx = Builder::build(cx, block);
    let span = cx.tcx.def_span(instance.def_id());

    let mut index = 0;
    let result = abi.ret.layout;
    let result = match &abi.ret.mode {
        PassMode::Indirect { .. } => {
            index = 1;
            PlaceRef::new_sized(bx.get_param(0), result)
        }
        PassMode::Cast { cast, .. } => {
            let size = cast.size(cx).max(result.size);
            let align = cast.align(cx).max(result.align.abi);
            let slot = bx.alloca(size, align);
            PlaceRef::new_sized_aligned(slot, result, align)
        }
        _ => PlaceRef::alloca(&mut bx, result),
    };
    let mut inputs = Vec::new();
    for arg in &abi.args {
        let place = PlaceRef::alloca(&mut bx, arg.layout);
        bx.store_fn_arg(arg, &mut index, place);
        inputs.push(bx.load_operand(place));
    }
    let [template, operands, options] = texts else {
        bx.unsupported("an assembly without template, operands and options");
        bx.unreachable();
        return value;
    };
    let operands = match bx.operands_of(operands, inputs, result, instance) {
        Ok(operands) => operands,
        Err(operand) => {
            bx.unsupported(&format!("the operand `{operand}` of an assembly"));
            bx.unreachable();
            return value;
        }
    };
    let options = options_of(options);
    let pieces = pieces_of(template, span);
    bx.codegen_inline_asm(&pieces, &operands, options, &[span], instance, None, None);
    match &abi.ret.mode {
        _ if options.contains(InlineAsmOptions::NORETURN) => bx.unreachable(),
        PassMode::Direct(_) | PassMode::Pair(..) => {
            let result = bx.load_operand(result);
            let result = result.immediate_or_packed_pair(&mut bx);
            bx.ret(result);
        }
        PassMode::Cast { cast, .. } => {
            let ty = cx.cast_backend_type(cast);
            let result = bx.load(ty, result.val.llval, result.val.align);
            bx.ret(result);
        }
        _ => bx.ret_void(),
    }
    value
}

impl<'a, 'tcx> Builder<'a, 'tcx> {
    /// Returns the operands that the attribute `nvvm::asm` lists, such as `in reg32, out reg64`:
    /// inputs are the function's arguments, in order, outputs its result or the fields of its
    /// result, and constants its const arguments. Returns an unknown operand as an error.
    fn operands_of<'t>(
        &mut self,
        list: &'t str,
        inputs: Vec<OperandRef<'tcx, Value>>,
        result: PlaceRef<'tcx, Value>,
        instance: Instance<'tcx>,
    ) -> Result<Vec<InlineAsmOperandRef<'tcx, Self>>, &'t str> {
        let mut inputs = inputs.into_iter();
        let mut constants = instance.args.consts();
        let is_tuple = matches!(result.layout.ty.kind(), ty::Tuple(_));
        let mut outputs = 0;
        let mut output = |bx: &mut Self| {
            outputs += 1;
            match is_tuple {
                true => result.project_field(bx, outputs - 1),
                false => result,
            }
        };
        let mut all = Vec::new();
        for operand in list.split(',').map(str::trim).filter(|o| !o.is_empty()) {
            let (kind, class) = operand.split_once(' ').unwrap_or((operand, ""));
            let class = match class.trim() {
                "reg16" => NvptxInlineAsmRegClass::reg16,
                "reg64" => NvptxInlineAsmRegClass::reg64,
                _ => NvptxInlineAsmRegClass::reg32,
            };
            let reg = InlineAsmRegOrRegClass::RegClass(InlineAsmRegClass::Nvptx(class));
            let late = kind.contains("late");
            let next = match kind {
                "in" => inputs
                    .next()
                    .map(|value| InlineAsmOperandRef::In { reg, value }),
                "out" | "lateout" => Some(InlineAsmOperandRef::Out {
                    reg,
                    late,
                    place: Some(output(self)),
                }),
                "inout" | "inlateout" => inputs.next().map(|in_value| InlineAsmOperandRef::InOut {
                    reg,
                    late,
                    in_value,
                    out_place: Some(output(self)),
                }),
                "const" => constants.next().and_then(|constant| {
                    let constant = constant.try_to_value()?;
                    let value = Scalar::Int(constant.try_to_leaf()?);
                    let ty = constant.ty;
                    Some(InlineAsmOperandRef::Const { value, ty })
                }),
                _ => None,
            };
            all.push(next.ok_or(operand)?);
        }
        Ok(all)
    }
}

/// Splits a template with placeholders `{0}` into pieces; `{{` and `}}` are literal braces.
fn pieces_of(template: &str, span: Span) -> Vec<InlineAsmTemplatePiece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, after) = rest.split_at(at);
        text.push_str(before);
        if after.starts_with("{{") || after.starts_with("}}") {
            text.push_str(&after[..1]);
            rest = &after[2..];
            continue;
        }
        let end = after.find('}').unwrap_or(after.len() - 1);
        if let Ok(operand_idx) = after[1..end.max(1)].trim().parse() {
            pieces.push(InlineAsmTemplatePiece::String(
                std::mem::take(&mut text).into(),
            ));
            pieces.push(InlineAsmTemplatePiece::Placeholder {
                operand_idx,
                modifier: None,
                span,
            });
        }
        rest = &after[end + 1..];
    }
    text.push_str(rest);
    pieces.push(InlineAsmTemplatePiece::String(text.into()));
    pieces
}

fn options_of(names: &str) -> InlineAsmOptions {
    let option = |name: &str| match name.trim() {
        "pure" => InlineAsmOptions::PURE,
        "nomem" => InlineAsmOptions::NOMEM,
        "readonly" => InlineAsmOptions::READONLY,
        "noreturn" => InlineAsmOptions::NORETURN,
        _ => InlineAsmOptions::empty(),
    };
    (names.split(',').map(option)).fold(InlineAsmOptions::empty(), InlineAsmOptions::union)
}

/// Returns whether an x86 assembly template queries the features of the processor.
fn queries_features(template: &[InlineAsmTemplatePiece]) -> bool {
    template.iter().any(|piece| match piece {
        InlineAsmTemplatePiece::String(text) => text.contains("cpuid") || text.contains("xgetbv"),
        InlineAsmTemplatePiece::Placeholder { .. } => false,
    })
}

/// Returns whether an assembly template is empty or a comment. Crates use such assembly to keep
/// LLVM from certain optimizations for the host.
fn is_comment(template: &[InlineAsmTemplatePiece]) -> bool {
    let text: String = (template.iter())
        .map(|piece| match piece {
            InlineAsmTemplatePiece::String(text) => text,
            InlineAsmTemplatePiece::Placeholder { .. } => "",
        })
        .collect();
    text.lines().all(|line| {
        let line = line.trim();
        let inside = line.strip_prefix("/*").and_then(|it| it.strip_suffix("*/"));
        line.is_empty() || line.starts_with('#') || inside.is_some_and(|it| !it.contains("*/"))
    })
}

/// The first line of the assembly of each row of `cuda_std`'s table of intrinsics. The table's own
/// test assembles the rows with ptxas, so they need no check here.
const TESTED: &str = "//@ tested\n";
/// As [`TESTED`], for instructions that the threads of a warp need not execute together: these may
/// be moved and duplicated.
const DIVERGENT: &str = "//@ tested divergent\n";

/// Returns the mark at the start of an assembly template of `cuda_std`'s table.
fn mark_of_table(template: &[InlineAsmTemplatePiece]) -> Option<&'static str> {
    let InlineAsmTemplatePiece::String(first) = template.first()? else {
        return None;
    };
    [TESTED, DIVERGENT]
        .into_iter()
        .find(|mark| first.starts_with(mark))
}

/// Returns whether a template contains an instruction that the threads of a warp execute together.
/// An assembly with the option `pure` may contain one: its author may count the operands of the
/// other threads among the operands that the result of a shuffle depends on.
fn is_synchronizing(template: &[InlineAsmTemplatePiece]) -> bool {
    const WORDS: [&str; 4] = [".sync", ".aligned", "activemask", "bar"];
    template.iter().any(|piece| match piece {
        InlineAsmTemplatePiece::String(text) => WORDS.iter().any(|word| text.contains(word)),
        InlineAsmTemplatePiece::Placeholder { .. } => false,
    })
}

/// Returns the name of label `number` in an assembly template. `${:uid}` makes the name unique in
/// each copy of the assembly.
fn label_name(number: usize) -> String {
    format!("$$L__rust_${{:uid}}_{number}")
}

/// Appends an exit for each of the `labels` labels to a template. An exit writes the label's number
/// to the operand `output`; falling through writes 0.
fn with_exits(text: &str, labels: usize, output: usize) -> String {
    let mut result = format!(
        "{{\n\t{text}\n\tmov.b32 ${output}, 0;\n\tbra {};\n",
        label_name(0)
    );
    for number in 1..=labels {
        result += &format!(
            "{}:\n\tmov.b32 ${output}, {number};\n\tbra {};\n",
            label_name(number),
            label_name(0)
        );
    }
    result + &format!("{}:\n\t}}", label_name(0))
}

/// The start of the comment that precedes each inline assembly, by which errors of ptxas are
/// attributed to the source.
pub(crate) const MARK: &str = "// asm! number ";

impl<'tcx> CodegenCx<'tcx> {
    fn asm_mark(&self, line_spans: &[Span]) -> String {
        let mut spans = self.asm_spans.borrow_mut();
        spans.push(line_spans.to_vec());
        format!("{MARK}{}\n\t", spans.len() - 1)
    }

    /// Formats a constant operand: a number, or a symbol, which then keeps its name.
    fn asm_const(&self, value: Scalar, ty: rustc_middle::ty::Ty<'tcx>, span: Span) -> String {
        match value {
            Scalar::Int(int) => asm_const_to_str(self.tcx, span, int, self.layout_of(ty)),
            Scalar::Ptr(pointer, _) => {
                let (provenance, offset) = pointer.prov_and_relative_offset();
                let value = match self.tcx.global_alloc(provenance.alloc_id()) {
                    GlobalAlloc::Function { instance } => self.get_fn(instance),
                    GlobalAlloc::Static(def_id) => self.global_of(self.static_address(def_id)),
                    GlobalAlloc::Memory(alloc) => self.global_of(self.static_addr_of(alloc, None)),
                    _ => {
                        crate::diagnostics::unsupported(
                            self,
                            span,
                            "a symbol operand of this kind",
                        );
                        return String::new();
                    }
                };
                let mut module = self.module.borrow_mut();
                let name = if let Some(func) = module.as_func(value) {
                    let data = module.func_mut(func);
                    data.linkage = Linkage::External;
                    data.name.clone()
                } else {
                    let global = module.as_global(value).expect("a function or a global");
                    let data = module.global_mut(global);
                    data.linkage = Linkage::External;
                    data.used = true;
                    data.name.clone()
                };
                match offset.bytes() {
                    0 => name,
                    offset => format!("{name}+{offset}"),
                }
            }
        }
    }

    /// Returns the global that `address` is the address of.
    fn global_of(&self, address: Value) -> Value {
        match self.module.borrow().as_const(address) {
            Some(&nvvm_ir::Const::Addr { base, .. }) => base,
            _ => address,
        }
    }
}

impl<'tcx> AsmCodegenMethods<'tcx> for CodegenCx<'tcx> {
    fn codegen_global_asm(
        &mut self,
        template: &[InlineAsmTemplatePiece],
        operands: &[GlobalAsmOperandRef<'tcx>],
        _options: InlineAsmOptions,
        line_spans: &[Span],
        _extra_rust_target_features: &[String],
    ) {
        let span = line_spans.first().copied().unwrap_or_default();
        let mut text = self.asm_mark(line_spans);
        for piece in template {
            match piece {
                InlineAsmTemplatePiece::String(piece) => text.push_str(piece),
                InlineAsmTemplatePiece::Placeholder { operand_idx, .. } => {
                    match &operands[*operand_idx] {
                        GlobalAsmOperandRef::Const { value, ty } => {
                            text.push_str(&self.asm_const(*value, *ty, span));
                        }
                        GlobalAsmOperandRef::SymThreadLocalStatic { .. } => {
                            crate::diagnostics::unsupported(self, span, "a thread-local static");
                            return;
                        }
                    }
                }
            }
        }
        self.module.borrow_mut().asm.push(text);
    }

    fn mangled_name(&self, instance: Instance<'tcx>) -> String {
        self.symbol(instance)
    }
}
