//! The program location at which the standard library was called, for reports of failures inside
//! the library.
//!
//! A failed allocation ends in a function of `cuda_std`, which calls `__cuda_std_program_location`.
//! That function returns the location where the program's code called the standard library. The
//! functions of the standard library between these two calls receive the location in an additional
//! last parameter. rustc's `#[track_caller]` does the same, but only for functions with the
//! attribute, which most allocating functions lack.
//!
//! A function whose address is taken, for example for a trait object, has a fixed signature: its
//! callees receive an unknown location, with an empty file name.

use std::collections::HashSet;

use nvvm_ir::{Block, Func, InstKind, Value, passes};
use rustc_abi::{self as abi, Primitive};
use rustc_codegen_ssa::traits::*;
use rustc_data_structures::fx::FxHashMap;
use rustc_middle::mir::{BasicBlock, Body, ConstValue, START_BLOCK, SourceInfo, TerminatorKind};
use rustc_middle::ty::{Instance, TyCtxt};
use rustc_span::{Span, Symbol};

use crate::context::CodegenCx;
use crate::device_functions::PROGRAM_LOCATION;
use crate::known_items::is_allocating_library;

/// Returns the address of the unknown `Location`.
pub(crate) fn unknown(cx: &CodegenCx<'_>) -> Value {
    let location = cx.tcx.const_caller_location(Symbol::intern(""), 0, 0);
    address(cx, location)
}

fn address(cx: &CodegenCx<'_>, location: ConstValue) -> Value {
    let scalar = location.try_to_scalar().expect("a reference");
    let layout = abi::Scalar::Initialized {
        value: Primitive::Pointer(abi::AddressSpace::ZERO),
        valid_range: abi::WrappingRange::full(cx.tcx.data_layout.pointer_size()),
    };
    cx.scalar_to_backend(scalar, layout, cx.type_ptr())
}

/// The source locations, within the program, of the lowered calls.
#[derive(Default)]
pub(crate) struct Locations<'tcx> {
    /// The body of the function being lowered.
    body: Option<&'tcx Body<'tcx>>,
    /// For each IR block, the MIR block that it continues with. `rustc_codegen_ssa` merges MIR
    /// blocks.
    blocks: FxHashMap<Block, BasicBlock>,
    /// For each IR call, the span of the program's call that it is part of.
    calls: FxHashMap<Value, Span>,
}

impl<'tcx> Locations<'tcx> {
    /// Starts the lowering of a function.
    pub(crate) fn enter(&mut self, tcx: TyCtxt<'tcx>, instance: Instance<'tcx>) {
        self.body = Some(tcx.instance_mir(instance.def));
        self.blocks.clear();
    }

    /// Records the MIR block of an IR block, from the name that `rustc_codegen_ssa` gives it.
    pub(crate) fn note_block(&mut self, block: Block, name: &str) {
        let number = name
            .strip_prefix("bb")
            .and_then(|n| n.parse::<usize>().ok());
        let of_mir = match number {
            Some(number) => BasicBlock::from_usize(number),
            None if name == "start" => START_BLOCK,
            None => return,
        };
        self.blocks.insert(block, of_mir);
    }

    /// Records a block that continues the code of another block.
    pub(crate) fn note_sibling(&mut self, block: Block, of: Block) {
        if let Some(&of_mir) = self.blocks.get(&of) {
            self.blocks.insert(block, of_mir);
        }
    }

    /// Records the call that a terminator with this span was lowered to.
    pub(crate) fn note_call(&mut self, tcx: TyCtxt<'tcx>, call: Value, block: Block, span: Span) {
        let (Some(body), Some(&first)) = (self.body, self.blocks.get(&block)) else {
            return;
        };
        let blocks = &body.basic_blocks;
        let mut next = Some(first);
        while let Some(current) = next.filter(|&current| current < blocks.next_index()) {
            let terminator = blocks[current].terminator();
            let mut successors = terminator.successors();
            next = successors
                .next()
                .filter(|&next| blocks.predecessors()[next].len() == 1);
            // For a method call, `rustc_codegen_ssa` uses the span of the method and its arguments.
            let info = match terminator.kind {
                TerminatorKind::Call { fn_span, .. } => SourceInfo {
                    span: fn_span,
                    ..terminator.source_info
                },
                TerminatorKind::Drop { .. } => terminator.source_info,
                _ => continue,
            };
            if info.span == span {
                if let Some(span) = in_program(tcx, body, info) {
                    self.calls.insert(call, span);
                }
                match next {
                    Some(next) => self.blocks.insert(block, next),
                    None => self.blocks.remove(&block),
                };
                return;
            }
        }
    }
}

/// Returns the innermost span in the program's code for source information, if the code is part of
/// the program or was inlined into it by MIR passes.
fn in_program<'tcx>(tcx: TyCtxt<'tcx>, body: &Body<'tcx>, mut info: SourceInfo) -> Option<Span> {
    loop {
        let scope = &body.source_scopes[info.scope];
        if let Some((callee, call)) = scope.inlined {
            if !is_allocating_library(tcx, callee.def_id().krate) {
                return Some(info.span);
            }
            info.span = call;
        }
        match scope.inlined_parent_scope {
            Some(parent) => info.scope = parent,
            None => break,
        }
    }
    (!is_allocating_library(tcx, body.source.def_id().krate)).then_some(info.span)
}

/// Passes the location through the library's functions to `__cuda_std_program_location`, if the
/// program calls it.
pub(crate) fn pass_on(cx: &CodegenCx<'_>) {
    let root = {
        let module = cx.module.borrow();
        let named = module.named(PROGRAM_LOCATION);
        let Some(root) = named.and_then(|value| module.as_func(value)) else {
            return;
        };
        root
    };
    let mut library = library_functions(cx);
    library.insert(root);
    let name = "location";
    let inherited = passes::inherit_parameter(&mut cx.module.borrow_mut(), root, &library, name);
    if let Some(&param) = inherited.params.get(&root) {
        return_value(cx, root, param);
    }
    for (caller, call) in inherited.calls {
        let span = cx.locations.borrow().calls.get(&call).copied();
        let argument = match (span, inherited.params.get(&caller)) {
            (Some(span), _) => address(cx, cx.tcx.span_as_caller_location(span)),
            (None, Some(&param)) => param,
            (None, None) => unknown(cx),
        };
        passes::push_argument(&mut cx.module.borrow_mut(), call, argument);
    }
}

/// Returns the library functions that the module defines.
fn library_functions(cx: &CodegenCx<'_>) -> HashSet<Func> {
    let module = cx.module.borrow();
    let functions = cx.functions.borrow();
    let of_library = functions.iter().filter_map(|(instance, &value)| {
        // A foreign declaration resolves to another function.
        let def_id = instance.def_id();
        let defined =
            !cx.tcx.is_foreign_item(def_id) && is_allocating_library(cx.tcx, def_id.krate);
        defined.then(|| module.as_func(value)).flatten()
    });
    of_library.collect()
}

/// Replaces the value that a function returns.
fn return_value(cx: &CodegenCx<'_>, func: Func, value: Value) {
    let mut module = cx.module.borrow_mut();
    for block in module.func(func).blocks.clone() {
        let Some(ret) = module.terminator(block) else {
            continue;
        };
        if let Some(InstKind::Ret(Some(returned))) = module.inst_mut(ret).map(|inst| &mut inst.kind)
        {
            *returned = value;
        }
    }
}
