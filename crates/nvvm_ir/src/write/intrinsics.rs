//! Names of intrinsics, which contain the types they are used with, and their declarations.

use super::Writer;
use crate::intrinsic::{Intrinsic, Overload};
use crate::types::{Type, TypeKind};

impl Writer<'_> {
    /// Prints `@llvm.name.types`, and records that it needs a declaration.
    pub(super) fn intrinsic_name(&mut self, intrinsic: Intrinsic, sig: Type) {
        if let Some(name) = self.intrinsic_ids.get(&(intrinsic, sig)) {
            self.out.push_str(name);
            return;
        }
        let name = self.mangle(intrinsic, sig);
        self.s(&name);
        self.intrinsics.push((intrinsic, sig));
        self.intrinsic_ids.insert((intrinsic, sig), name);
    }

    fn mangle(&self, intrinsic: Intrinsic, sig: Type) -> String {
        let mut name = format!("@llvm.{}", intrinsic.base_name());
        let TypeKind::Func { ret, params, .. } = self.m.types.kind(sig) else {
            return name;
        };
        let parts: &[Option<Type>] = &match intrinsic.overload() {
            Overload::None => [None; 3],
            Overload::Result => [Some(*ret), None, None],
            Overload::ResultAndArg => [Some(*ret), params.first().copied(), None],
            Overload::Arg => [params.first().copied(), None, None],
            Overload::Copy => [
                params.first().copied(),
                params.get(1).copied(),
                params.get(2).copied(),
            ],
            Overload::Set => [params.first().copied(), params.get(2).copied(), None],
            Overload::Lifetime => [params.get(1).copied(), None, None],
        };
        for &part in parts.iter().flatten() {
            name.push('.');
            name.push_str(&self.type_mangling(part));
        }
        name
    }

    fn type_mangling(&self, ty: Type) -> String {
        match self.m.types.kind(ty) {
            TypeKind::Int(bits) => format!("i{bits}"),
            TypeKind::Half => "f16".into(),
            TypeKind::BFloat => "bf16".into(),
            TypeKind::Float => "f32".into(),
            TypeKind::Double => "f64".into(),
            TypeKind::Fp128 => "f128".into(),
            TypeKind::Ptr(space) if self.llvm7() => format!("p{}i8", space.number()),
            TypeKind::Ptr(space) => format!("p{}", space.number()),
            TypeKind::Vector(element, len) => format!("v{len}{}", self.type_mangling(*element)),
            TypeKind::Array(element, len) => format!("a{len}{}", self.type_mangling(*element)),
            TypeKind::Struct { fields, .. } => {
                let fields: String = fields.iter().map(|&f| self.type_mangling(f)).collect();
                format!("sl_{fields}s")
            }
            TypeKind::Void | TypeKind::Func { .. } => "isVoid".into(),
        }
    }

    /// Declares each intrinsic in use.
    pub(super) fn intrinsic_declarations(&mut self) {
        if !self.intrinsics.is_empty() || self.declares_variables {
            self.s("\n");
        }
        for (intrinsic, sig) in std::mem::take(&mut self.intrinsics) {
            let m = self.m;
            let TypeKind::Func { ret, params, .. } = m.types.kind(sig) else {
                continue;
            };
            self.s("declare ");
            self.ty(*ret);
            self.s(" ");
            self.intrinsic_name(intrinsic, sig);
            self.s("(");
            for (i, &param) in params.iter().enumerate() {
                self.s(if i == 0 { "" } else { ", " });
                self.ty(param);
            }
            self.s(")\n");
        }
        if self.declares_variables {
            self.s("declare void @llvm.dbg.declare(metadata, metadata, metadata)\n");
        }
    }
}
