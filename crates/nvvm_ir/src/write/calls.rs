//! Calls of functions, pointers, intrinsics and inline PTX.

use super::Writer;
use super::memory::Ptr;
use crate::inst::{Call, Callee, InlineAsm, ParamAttrs};
use crate::types::{Type, TypeKind};
use crate::value::{Const, Func, Value, ValueKind};

impl Writer<'_> {
    pub(super) fn call(&mut self, inst: Value, call: &Call) {
        let m = self.m;
        let no_attrs = ParamAttrs::default();
        let TypeKind::Func {
            ret,
            ref params,
            variadic,
        } = *m.types.kind(call.sig)
        else {
            return self.s("  <call with a type that is not a signature>");
        };
        // LLVM 7: by-value pointers must point to the copied type.
        let args: Vec<Option<(Type, Ptr)>> = (call.args.iter().enumerate())
            .map(|(i, &arg)| {
                let pointee = call.arg_attrs.get(i)?.byval.filter(|_| self.llvm7())?;
                Some((pointee, self.cast_ptr(arg, pointee)))
            })
            .collect();
        let callee = match &call.callee {
            Callee::Value(value) => self.callee(*value, call),
            Callee::Intrinsic(_) | Callee::Asm(_) => Ptr::Plain,
        };
        self.s("  ");
        if !matches!(m.types.kind(ret), TypeKind::Void) {
            self.local(inst);
            self.s(" = ");
        }
        self.s(if call.musttail {
            "musttail call "
        } else {
            "call "
        });
        self.param_attrs_before(&call.ret_attrs);
        if variadic {
            self.call_type(call.sig, &call.arg_attrs);
        } else {
            self.ty(ret);
        }
        self.s(" ");
        match &call.callee {
            Callee::Value(value) => {
                let attrs = &call.arg_attrs;
                self.cast_ptr_name(*value, callee, |w| {
                    w.call_type(call.sig, attrs);
                    w.s("*");
                });
            }
            Callee::Intrinsic(intrinsic) => self.intrinsic_name(*intrinsic, call.sig),
            Callee::Asm(asm) => self.asm(asm),
        }
        self.s("(");
        for (i, &arg) in call.args.iter().enumerate() {
            self.s(if i == 0 { "" } else { ", " });
            let attrs = call.arg_attrs.get(i).unwrap_or(&no_attrs);
            let ty = params.get(i).copied().unwrap_or(m.ty(arg));
            self.param_type(ty, attrs);
            self.param_attrs(attrs);
            self.s(" ");
            match args[i] {
                Some((pointee, how)) => {
                    let space = self.space_of(arg);
                    self.cast_ptr_name(arg, how, |w| w.ptr_to(pointee, space));
                }
                None => self.val(arg),
            }
        }
        self.s(")");
        if call.noreturn {
            self.s(" noreturn");
        }
        let asm = matches!(&call.callee, Callee::Asm(asm) if asm.convergent);
        if call.convergent || asm {
            self.s(" convergent");
        }
        if matches!(&call.callee, Callee::Asm(asm) if asm.read_none) {
            self.s(if self.llvm7() {
                " nounwind readnone"
            } else {
                " nounwind memory(none)"
            });
        }
    }

    /// Returns how to print the called pointer.
    pub(super) fn callee(&mut self, value: Value, call: &Call) -> Ptr {
        let func = match self.m.value(value).kind {
            ValueKind::Func(func) => Some(func),
            ValueKind::Const(Const::Addr { base, offset: 0 }) => self.m.as_func(base),
            _ => None,
        };
        if let Some(func) = func {
            let data = self.m.func(func);
            let byval = |attrs: Option<&ParamAttrs>| attrs.and_then(|a| a.byval);
            let same = data.sig == call.sig
                && (0..data.params.len())
                    .all(|i| byval(data.param_attrs.get(i)) == byval(call.arg_attrs.get(i)));
            if same || !self.llvm7() {
                return Ptr::Symbol(data.value);
            }
            return Ptr::Constant;
        }
        if !self.llvm7() {
            return Ptr::Plain;
        }
        if matches!(
            self.m.value(value).kind,
            ValueKind::Const(_) | ValueKind::Global(_)
        ) {
            return Ptr::Constant;
        }
        let temp = self.temp();
        self.s("  ");
        self.temp_name(temp);
        self.s(" = bitcast ");
        self.typed(value);
        self.s(" to ");
        self.call_type(call.sig, &call.arg_attrs);
        self.s("*\n");
        Ptr::Temp(temp)
    }

    /// Prints a signature. In LLVM 7 a by-value parameter has the type of a pointer to the copied
    /// type.
    pub(super) fn call_type(&mut self, sig: Type, attrs: &[ParamAttrs]) {
        let TypeKind::Func {
            ret,
            ref params,
            variadic,
        } = *self.m.types.kind(sig)
        else {
            return;
        };
        self.ty(ret);
        self.s(" (");
        let none = ParamAttrs::default();
        for (i, &param) in params.iter().enumerate() {
            self.s(if i == 0 { "" } else { ", " });
            self.param_type(param, attrs.get(i).unwrap_or(&none));
        }
        if variadic {
            self.s(if params.is_empty() { "..." } else { ", ..." });
        }
        self.s(")");
    }

    /// LLVM 7: prints the type of a pointer to a function.
    pub(super) fn func_ptr_type(&mut self, func: Func) {
        let data = self.m.func(func);
        self.call_type(data.sig, &data.param_attrs);
        self.s("*");
    }

    pub(super) fn asm(&mut self, asm: &InlineAsm) {
        self.s(if asm.side_effects {
            "asm sideeffect \""
        } else {
            "asm \""
        });
        super::escape(&mut self.out, asm.template.as_bytes());
        self.s("\", \"");
        super::escape(&mut self.out, asm.constraints.as_bytes());
        self.s("\"");
    }
}
