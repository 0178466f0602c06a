//! Leaves out the parts of a panic's report that an optimized module does not need. Otherwise they
//! are a third of the instructions of a small module, for LLVM and for libnvvm, in each build.

use nvvm_ir::{InlineAsm, Intrinsic, Value};
use rustc_middle::ty::Instance;

use crate::context::{CodegenCx, Item, with_builder};

/// The function that reports a panic to hosts that do not support reports. It prints the message
/// in unoptimized modules only.
const WITHOUT_REPORT: &str = "__cuda_std_panic_without_report";

/// The function that ends a thread whose report cannot be claimed. It publishes the thread's own
/// message if the thread is formatting that.
const IS_CLAIMED: &str = "__cuda_std_report_is_claimed";

/// The only function that formats a message in optimized modules.
const FORMATS: &str = "__cuda_std_panic_with_arguments";

/// What a thread does instead of reporting.
#[derive(Clone, Copy)]
enum End {
    Trap,
    Exit,
}

/// Defines a function that has been declared as `value`, or records it for [`complete`], if it is
/// one of a report that an optimized module may not need. Returns whether it is.
pub(crate) fn leave_out<'tcx>(
    cx: &CodegenCx<'tcx>,
    symbol: &str,
    value: Value,
    instance: Instance<'tcx>,
) -> bool {
    if !cx.optimizes() {
        return false;
    }
    match symbol {
        WITHOUT_REPORT => {
            define(cx, value, End::Trap);
            true
        }
        // Single-source sessions do not know yet whether the code that formats is reached.
        IS_CLAIMED if !cx.host => {
            cx.note_referrer(Item::Fn(instance));
            cx.is_claimed.set(Some((value, instance)));
            true
        }
        _ => false,
    }
}

/// Requires [`IS_CLAIMED`] if the lowered code formats messages, and otherwise defines it as an
/// exit. Returns whether it has required it.
pub(crate) fn complete(cx: &CodegenCx<'_>) -> bool {
    let Some((value, instance)) = cx.is_claimed.take() else {
        return false;
    };
    let formats = cx.module.borrow().named(FORMATS).is_some();
    match formats {
        true => cx.enqueue(Item::Fn(instance)),
        false => define(cx, value, End::Exit),
    }
    formats
}

/// Defines a declared function that only ends the thread.
fn define(cx: &CodegenCx<'_>, value: Value, end: End) {
    let block = {
        let mut module = cx.module.borrow_mut();
        let func = module.as_func(value).expect("a declared function");
        let attrs = &mut module.func_mut(func).attrs;
        attrs.no_inline = false;
        crate::inlining::always(attrs);
        module.add_block(func, "entry")
    };
    with_builder(cx, block, None, |b| {
        let void = b.module.types.void();
        match end {
            End::Trap => b.intrinsic(Intrinsic::Trap, void, &[]),
            End::Exit => {
                let exit = InlineAsm {
                    template: "exit;".to_owned(),
                    constraints: "~{memory}".to_owned(),
                    side_effects: true,
                    // A convergent panic would make kernels convergent.
                    convergent: false,
                    read_none: false,
                };
                b.asm(exit, void, &[])
            }
        };
        b.unreachable();
    });
}
