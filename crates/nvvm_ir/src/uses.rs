//! References between values of a module: the globals and functions that operands and initializers
//! refer to, and the functions that functions call.

use crate::inst::{Callee, InstKind};
use crate::module::Module;
use crate::value::{Const, Func, Global, Value, ValueKind};

/// A global or a function.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Symbol {
    Global(Global),
    Func(Func),
}

/// Walks constants, each at most once, and finds the symbols in them.
pub(crate) struct SymbolWalk {
    seen: Vec<bool>,
    stack: Vec<Value>,
}

impl SymbolWalk {
    pub(crate) fn new(module: &Module) -> Self {
        SymbolWalk {
            seen: vec![false; module.values.len()],
            stack: Vec::new(),
        }
    }

    /// Calls `f` for each symbol that a value references, except through values that have already
    /// been walked.
    pub(crate) fn walk(&mut self, module: &Module, value: Value, f: &mut impl FnMut(Symbol)) {
        self.stack.push(value);
        while let Some(value) = self.stack.pop() {
            if std::mem::replace(&mut self.seen[value.index()], true) {
                continue;
            }
            match &module.value(value).kind {
                ValueKind::Global(global) => f(Symbol::Global(*global)),
                ValueKind::Func(func) => f(Symbol::Func(*func)),
                ValueKind::Const(Const::Addr { base, .. }) => self.stack.push(*base),
                ValueKind::Const(Const::PtrToInt(ptr)) => self.stack.push(*ptr),
                ValueKind::Const(Const::Aggregate(elements)) => self.stack.extend(elements),
                _ => {}
            }
        }
    }

    /// The same for all operands of a function.
    pub(crate) fn walk_func(&mut self, module: &Module, func: Func, f: &mut impl FnMut(Symbol)) {
        for_each_outside_operand(module, func, |operand| self.walk(module, operand, f));
    }
}

/// Calls `f` for each operand of a function that is neither a parameter nor an instruction of it.
pub(crate) fn for_each_outside_operand(module: &Module, func: Func, mut f: impl FnMut(Value)) {
    for &block in &module.func(func).blocks {
        for &inst in &module.block(block).insts {
            if let Some(data) = module.inst(inst) {
                data.kind.for_each_operand(|operand| {
                    if !matches!(
                        module.value(operand).kind,
                        ValueKind::Inst(_) | ValueKind::Param(..)
                    ) {
                        f(operand);
                    }
                });
            }
        }
    }
}

/// Calls `f` for each symbol in a constant, once for each occurrence.
pub(crate) fn for_each_symbol(module: &Module, value: Value, f: &mut impl FnMut(Symbol)) {
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        match &module.value(value).kind {
            ValueKind::Global(global) => f(Symbol::Global(*global)),
            ValueKind::Func(func) => f(Symbol::Func(*func)),
            ValueKind::Const(Const::Addr { base, .. }) => stack.push(*base),
            ValueKind::Const(Const::PtrToInt(ptr)) => stack.push(*ptr),
            ValueKind::Const(Const::Aggregate(elements)) => stack.extend(elements),
            _ => {}
        }
    }
}

/// Returns the functions that a function calls, once for each call.
pub(crate) fn calls_of(module: &Module, func: Func) -> Vec<Func> {
    let mut calls = Vec::new();
    for &block in &module.func(func).blocks {
        for &inst in &module.block(block).insts {
            if let Some(data) = module.inst(inst)
                && let InstKind::Call(call) = &data.kind
                && let Callee::Value(callee) = call.callee
                && let ValueKind::Func(callee) = module.value(callee).kind
            {
                calls.push(callee);
            }
        }
    }
    calls
}

/// Returns the functions that each function calls, by handle.
pub(crate) fn all_calls(module: &Module) -> Vec<Vec<Func>> {
    let mut calls = vec![Vec::new(); module.funcs.len()];
    for func in module.funcs() {
        calls[func.0 as usize] = calls_of(module, func);
    }
    calls
}
