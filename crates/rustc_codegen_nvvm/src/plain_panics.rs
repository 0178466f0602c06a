//! Calls the replacement of `panic_fmt` for messages to format only. A constant message, as in
//! `panic!("no data")`, goes to the replacement of `panic_str`.
//!
//! `core` passes both kinds of messages to `panic_fmt` as `fmt::Arguments`, and the replacement
//! distinguishes them with `Arguments::as_str`. LLVM folds that test, but only after the code that
//! formats has been lowered and optimized: two thirds of a small module. Every kernel that can
//! panic reached it, since an atomic load panics with a constant message if its ordering is
//! invalid.

use nvvm_ir::{BinOp, CastOp, Const, InstKind, Module, Value, passes};
use rustc_codegen_ssa::traits::MiscCodegenMethods;
use rustc_middle::ty::layout::FnAbiOf;
use rustc_middle::ty::{self, Instance};
use rustc_span::Symbol;

use crate::builder::Builder;
use crate::context::{CodegenCx, Item};

/// The replacement of `core::panicking::panic_fmt`, which formats.
const FORMATTED: &str = "__cuda_std_panic_fmt";

/// The replacement of `core::panicking::panic`, with the same message as `&str`.
const PLAIN: &str = "__cuda_std_panic_str";

/// Records the function if it is the replacement of `panic_fmt`, which [`require_used`] requires
/// later. Returns whether it is. Single-source sessions defer all functions in this way.
pub(crate) fn defer<'tcx>(
    cx: &CodegenCx<'tcx>,
    symbol: &str,
    value: Value,
    instance: Instance<'tcx>,
) -> bool {
    if cx.host || symbol != FORMATTED {
        return false;
    }
    cx.note_referrer(Item::Fn(instance));
    cx.panic_fmt.set(Some((value, instance)));
    true
}

/// Requires the replacement of `panic_fmt` if lowered code references it. Returns whether it does.
pub(crate) fn require_used(cx: &CodegenCx<'_>) -> bool {
    let Some((value, _)) = cx.panic_fmt.get() else {
        return false;
    };
    let is_used = {
        let module = cx.module.borrow();
        let mut initializers = module
            .globals()
            .filter_map(|global| module.global(global).init);
        module
            .funcs()
            .any(|func| passes::symbols_of(&module, func).contains(&value))
            || initializers.any(|init| passes::symbols_in(&module, init).contains(&value))
    };
    is_used && require(cx)
}

/// Requires the replacement of `panic_fmt` if lowered code has mentioned it. Returns whether it has
/// and the function has not been required before.
pub(crate) fn require(cx: &CodegenCx<'_>) -> bool {
    let deferred = cx.panic_fmt.take();
    if let Some((_, instance)) = deferred {
        cx.enqueue(Item::Fn(instance));
    }
    deferred.is_some()
}

/// Emits the call of the replacement of `panic_str` in place of a call of `func` with a constant
/// message, if it is one.
pub(crate) fn call<'tcx>(
    builder: &mut Builder<'_, 'tcx>,
    func: Value,
    args: &[Value],
) -> Option<Value> {
    let cx = builder.cx;
    // A `fmt::Arguments` and the caller's location.
    let &[template, arguments, location] = args else {
        return None;
    };
    {
        let module = cx.module.borrow();
        let callee = module.as_func(func)?;
        if module.func(callee).name != FORMATTED || !is_odd_address(&module, arguments) {
            return None;
        }
    }
    let definition = *cx.symbols.get(&Symbol::intern(PLAIN))?;
    let plain = Instance::mono(cx.tcx, definition);
    let abi = cx.fn_abi_of_instance(plain, ty::List::empty());
    let sig = crate::abi::signature(cx, abi);
    let plain = cx.get_fn(plain);
    // `Arguments::as_str` of a constant message: the first pointer is that of the string, and the
    // second one is twice the length plus one. The tests of panics' messages in tests/run fail if
    // `core` changes that.
    let length = builder.ir(|b| {
        let i64 = b.module.types.int(64);
        let twice = b.cast(CastOp::PtrToInt, arguments, i64);
        let one = b.module.const_int(i64, 1);
        b.bin(BinOp::LShr, twice, one)
    });
    Some(builder.emit_direct_call(sig, abi, plain, &[template, length, location]))
}

/// Returns whether a pointer is computed as `(x | 1) as *const _` or is a constant odd address.
fn is_odd_address(module: &Module, pointer: Value) -> bool {
    if let Some(constant) = module.as_const(pointer) {
        return matches!(constant, Const::IntToPtr(address) if address % 2 == 1);
    }
    let Some(InstKind::Cast {
        op: CastOp::IntToPtr,
        value,
    }) = kind(module, pointer)
    else {
        return false;
    };
    match (module.as_const(*value), kind(module, *value)) {
        (Some(Const::Int(address)), _) => address % 2 == 1,
        (
            _,
            Some(InstKind::Bin {
                op: BinOp::Or,
                lhs,
                rhs,
                ..
            }),
        ) => [lhs, rhs]
            .into_iter()
            .any(|&side| matches!(module.as_const(side), Some(Const::Int(bits)) if bits % 2 == 1)),
        _ => false,
    }
}

fn kind(module: &Module, value: Value) -> Option<&InstKind> {
    module.inst(value).map(|inst| &inst.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_addresses_are_recognized() {
        let text = "
define void @f(i64 %x, ptr %p) {
start:
  %odd = or i64 %x, 3
  %even = or i64 %x, 2
  %sum = add i64 %x, 1
  %a = inttoptr i64 %odd to ptr
  %b = inttoptr i64 %even to ptr
  %c = inttoptr i64 %sum to ptr
  ret void
}
";
        let module = nvvm_ir::read_module(text).expect("the text is valid");
        let func = module.funcs().next().expect("there is a function");
        let pointers = (module.func(func).blocks.iter())
            .flat_map(|&block| &module.block(block).insts)
            .copied()
            .filter(|&inst| {
                let op = kind(&module, inst);
                matches!(op, Some(InstKind::Cast { .. }))
            });
        let odd: Vec<bool> = pointers
            .map(|pointer| is_odd_address(&module, pointer))
            .collect();
        assert_eq!(odd, [true, false, false]);
        let parameter = module.func(func).params[1];
        assert!(!is_odd_address(&module, parameter));
    }
}
