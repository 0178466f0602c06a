//! Attributes of functions, parameters and calls.

use super::Writer;
use crate::inst::ParamAttrs;
use crate::module::FuncAttrs;
use crate::types::Type;

impl Writer<'_> {
    pub(super) fn func_attrs(&mut self, attrs: &FuncAttrs) {
        for (on, text) in [
            (attrs.always_inline, " alwaysinline"),
            (attrs.no_inline, " noinline"),
            (attrs.inline_hint, " inlinehint"),
            (attrs.cold, " cold"),
            (attrs.opt_size, " optsize"),
            (attrs.opt_none, " optnone"),
            (attrs.no_return, " noreturn"),
            (attrs.convergent, " convergent"),
            (
                attrs.read_none,
                if self.llvm7() {
                    " readnone"
                } else {
                    " memory(none)"
                },
            ),
            (attrs.no_unwind, " nounwind"),
            (attrs.no_implicit_float, " noimplicitfloat"),
        ] {
            if on {
                self.s(text);
            }
        }
    }

    /// Prints attributes as they appear after a parameter's type.
    pub(super) fn param_attrs(&mut self, attrs: &ParamAttrs) {
        for (on, text) in [
            (attrs.zeroext, " zeroext"),
            (attrs.signext, " signext"),
            (attrs.noalias, " noalias"),
            (attrs.nonnull, " nonnull"),
            (attrs.readonly, " readonly"),
            (attrs.nocapture, " nocapture"),
        ] {
            if on {
                self.s(text);
            }
        }
        if attrs.align != 0 {
            self.s(" align ");
            self.num(attrs.align);
        }
        if attrs.dereferenceable != 0 {
            self.s(" dereferenceable(");
            self.num(attrs.dereferenceable);
            self.s(")");
        }
        self.typed_attr(" byval", attrs.byval);
        self.typed_attr(" sret", attrs.sret);
    }

    /// In LLVM 7, `byval` takes its type from the pointer, and `sret` has no type.
    fn typed_attr(&mut self, name: &str, ty: Option<Type>) {
        let Some(ty) = ty else { return };
        self.s(name);
        if !self.llvm7() {
            self.s("(");
            self.ty(ty);
            self.s(")");
        }
    }

    /// Prints attributes as they appear before a result's type.
    pub(super) fn param_attrs_before(&mut self, attrs: &ParamAttrs) {
        if *attrs == ParamAttrs::default() {
            return;
        }
        let start = self.out.len();
        self.param_attrs(attrs);
        // The same text, with the space after it instead of before.
        if self.out.len() > start {
            self.out.remove(start);
            self.out.push(' ');
        }
    }

    /// Prints the type of a parameter or argument. LLVM 7: returns the pointee type that a by-value
    /// pointer requires.
    pub(super) fn param_type(&mut self, ty: Type, attrs: &ParamAttrs) -> Option<Type> {
        match (attrs.byval, self.m.types.addr_space(ty)) {
            (Some(pointee), Some(space)) if self.llvm7() => {
                self.ptr_to(pointee, space);
                Some(pointee)
            }
            _ => {
                self.ty(ty);
                None
            }
        }
    }
}
