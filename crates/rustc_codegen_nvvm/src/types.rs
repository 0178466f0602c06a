//! Types of Rust values in registers and in memory.
//!
//! In memory an aggregate is `[size x i8]`: rustc alone determines layouts, and fields are
//! addressed by byte offsets.

use nvvm_ir::{AddrSpace, Type, TypeKind as Kind};
use rustc_abi::{AddressSpace, BackendRepr, Float, Primitive, Reg, RegKind, Scalar};
use rustc_codegen_ssa::common::TypeKind;
use rustc_codegen_ssa::traits::*;
use rustc_middle::ty::Ty;
use rustc_middle::ty::layout::TyAndLayout;
use rustc_span::bug;
use rustc_target::callconv::{CastTarget, FnAbi};

use crate::context::CodegenCx;

/// Converts a rustc address space, whose number is LLVM's.
pub(crate) fn addr_space(space: AddressSpace) -> AddrSpace {
    AddrSpace::from_number(space.0)
        .unwrap_or_else(|| bug!("address space {} is none of NVVM IR's", space.0))
}

impl<'tcx> CodegenCx<'tcx> {
    pub(crate) fn int(&self, bits: u64) -> Type {
        self.ty(|t| t.int(bits as u32))
    }

    pub(crate) fn scalar_type(&self, scalar: Scalar) -> Type {
        match scalar.primitive() {
            Primitive::Int(int, _) => self.int(int.size().bits()),
            Primitive::Float(float) => self.float_type(float),
            Primitive::Pointer(space) => self.ty(|t| t.ptr_in(addr_space(space))),
        }
    }

    pub(crate) fn float_type(&self, float: Float) -> Type {
        self.ty(|t| {
            t.intern(match float {
                Float::F16 => Kind::Half,
                Float::F16B => Kind::BFloat,
                Float::F32 => Kind::Float,
                Float::F64 => Kind::Double,
                Float::F128 => Kind::Fp128,
                Float::PpcF128 => bug!("ppc_fp128 on a GPU"),
            })
        })
    }

    /// Returns the type of a scalar in a register, where `bool` is `i1`.
    pub(crate) fn immediate_scalar_type(&self, scalar: Scalar) -> Type {
        if scalar.is_bool() {
            self.int(1)
        } else {
            self.scalar_type(scalar)
        }
    }

    /// Returns the type `[size x i8]`.
    pub(crate) fn bytes(&self, size: u64) -> Type {
        self.ty(|t| {
            let byte = t.int(8);
            t.array(byte, size)
        })
    }

    /// Returns the type of a value of `size` bytes that the ABI passes in registers: an integer if
    /// one has that size, otherwise an array of the largest integers that fill it.
    fn abi_integer(&self, size: u64) -> Type {
        match size {
            1 | 2 | 4 | 8 => self.int(size * 8),
            _ => {
                let unit = [8, 4, 2, 1]
                    .into_iter()
                    .find(|&unit| size.is_multiple_of(unit))
                    .unwrap();
                self.ty(|t| {
                    let int = t.int(unit as u32 * 8);
                    t.array(int, size / unit)
                })
            }
        }
    }
}

impl<'tcx> BaseTypeCodegenMethods for CodegenCx<'tcx> {
    fn type_i8(&self) -> Type {
        self.int(8)
    }
    fn type_i16(&self) -> Type {
        self.int(16)
    }
    fn type_i32(&self) -> Type {
        self.int(32)
    }
    fn type_i64(&self) -> Type {
        self.int(64)
    }
    fn type_i128(&self) -> Type {
        self.int(128)
    }
    fn type_isize(&self) -> Type {
        self.int(64)
    }
    fn type_f16(&self) -> Type {
        self.float_type(Float::F16)
    }
    fn type_f16b(&self) -> Type {
        self.float_type(Float::F16B)
    }
    fn type_f32(&self) -> Type {
        self.float_type(Float::F32)
    }
    fn type_f64(&self) -> Type {
        self.float_type(Float::F64)
    }
    fn type_f128(&self) -> Type {
        self.float_type(Float::F128)
    }
    fn type_ppcf128(&self) -> Type {
        bug!("ppc_fp128 on a GPU")
    }
    fn type_func(&self, args: &[Type], ret: Type) -> Type {
        self.ty(|t| t.func(ret, args, false))
    }
    fn type_kind(&self, ty: Type) -> TypeKind {
        match self.module.borrow().types.kind(ty) {
            Kind::Void => TypeKind::Void,
            Kind::Int(_) => TypeKind::Integer,
            Kind::Half => TypeKind::Half,
            Kind::BFloat => TypeKind::BFloat,
            Kind::Float => TypeKind::Float,
            Kind::Double => TypeKind::Double,
            Kind::Fp128 => TypeKind::FP128,
            Kind::Ptr(_) => TypeKind::Pointer,
            Kind::Array(..) => TypeKind::Array,
            Kind::Vector(..) => TypeKind::Vector,
            Kind::Struct { .. } => TypeKind::Struct,
            Kind::Func { .. } => TypeKind::Function,
        }
    }
    fn type_ptr(&self) -> Type {
        self.ty(|t| t.ptr())
    }
    fn type_ptr_ext(&self, space: AddressSpace) -> Type {
        self.ty(|t| t.ptr_in(addr_space(space)))
    }
    fn element_type(&self, ty: Type) -> Type {
        match *self.module.borrow().types.kind(ty) {
            Kind::Array(element, _) | Kind::Vector(element, _) => element,
            ref kind => bug!("{kind:?} has no element type"),
        }
    }
    fn vector_length(&self, ty: Type) -> usize {
        match *self.module.borrow().types.kind(ty) {
            Kind::Vector(_, len) => len as usize,
            ref kind => bug!("{kind:?} is no vector"),
        }
    }
    fn float_width(&self, ty: Type) -> usize {
        self.module.borrow().types.bits(ty) as usize
    }
    fn int_width(&self, ty: Type) -> u64 {
        self.module.borrow().types.bits(ty)
    }
    fn val_ty(&self, value: nvvm_ir::Value) -> Type {
        self.module.borrow().ty(value)
    }
}

impl<'tcx> LayoutTypeCodegenMethods<'tcx> for CodegenCx<'tcx> {
    fn backend_type(&self, layout: TyAndLayout<'tcx>) -> Type {
        match layout.backend_repr {
            BackendRepr::Scalar(scalar) => self.scalar_type(scalar),
            BackendRepr::SimdVector { element, count } => {
                let element = self.scalar_type(element);
                self.ty(|t| t.vector(element, count.as_u64() as u32))
            }
            BackendRepr::SimdScalableVector { .. } => bug!("scalable vectors on a GPU"),
            // The type of an unsized value's elements.
            BackendRepr::Memory { sized: false } => match layout.ty.kind() {
                rustc_middle::ty::Slice(_) => self.backend_type(layout.field(self, 0)),
                rustc_middle::ty::Str => self.int(8),
                _ => self.bytes(layout.size.bytes()),
            },
            BackendRepr::Memory { .. } | BackendRepr::ScalarPair { .. } => {
                self.bytes(layout.size.bytes())
            }
        }
    }

    fn cast_backend_type(&self, cast: &CastTarget) -> Type {
        let unit = cast.rest.unit;
        if cast.prefix.is_empty() && cast.rest.total == unit.size {
            return self.reg_backend_type(&unit);
        }
        let count = if unit.size.bytes() == 0 {
            0
        } else {
            cast.rest.total.bytes().div_ceil(unit.size.bytes())
        };
        let unit = self.reg_backend_type(&unit);
        if cast.prefix.is_empty() {
            return self.ty(|t| t.array(unit, count));
        }
        let mut fields: Vec<Type> = cast
            .prefix
            .iter()
            .map(|reg| self.reg_backend_type(reg))
            .collect();
        fields.extend((0..count).map(|_| unit));
        self.ty(|t| t.structure(&fields, false))
    }

    fn fn_decl_backend_type(&self, abi: &FnAbi<'tcx, Ty<'tcx>>) -> Type {
        crate::abi::signature(self, abi)
    }

    fn fn_ptr_backend_type(&self, _abi: &FnAbi<'tcx, Ty<'tcx>>) -> Type {
        self.type_ptr()
    }

    fn reg_backend_type(&self, reg: &Reg) -> Type {
        match reg.kind {
            RegKind::Integer => self.abi_integer(reg.size.bytes()),
            RegKind::Float => match reg.size.bits() {
                16 => self.type_f16(),
                32 => self.type_f32(),
                64 => self.type_f64(),
                _ => self.type_f128(),
            },
            RegKind::Vector { hint_vector_elem } => {
                let element = self.type_from_primitive(hint_vector_elem);
                let bytes = hint_vector_elem.size(self).bytes();
                self.ty(|t| t.vector(element, (reg.size.bytes() / bytes) as u32))
            }
            RegKind::PpcF128 => bug!("ppc_fp128 on a GPU"),
        }
    }

    fn immediate_backend_type(&self, layout: TyAndLayout<'tcx>) -> Type {
        match layout.backend_repr {
            BackendRepr::Scalar(scalar) => self.immediate_scalar_type(scalar),
            BackendRepr::ScalarPair { a, b, .. } => {
                let fields = [self.immediate_scalar_type(a), self.immediate_scalar_type(b)];
                self.ty(|t| t.structure(&fields, false))
            }
            _ => self.backend_type(layout),
        }
    }

    fn scalar_pair_element_backend_type(
        &self,
        layout: TyAndLayout<'tcx>,
        index: usize,
        immediate: bool,
    ) -> Type {
        let BackendRepr::ScalarPair { a, b, .. } = layout.backend_repr else {
            bug!("{:?} is no pair of scalars", layout.ty)
        };
        let scalar = [a, b][index];
        if immediate {
            self.immediate_scalar_type(scalar)
        } else {
            self.scalar_type(scalar)
        }
    }
}

impl<'tcx> TypeMembershipCodegenMethods<'tcx> for CodegenCx<'tcx> {}
