//! Debug information: the types of variables.
//!
//! An enum is a struct of its tag and all its overlapping variants: a debugger shows all variants,
//! and the tag identifies the active one. Recursive types are cut off after a few pointers.

use nvvm_ir::{Di, DiNode};
use rustc_abi::{FieldsShape, Integer, Primitive, Size, VariantIdx, Variants};
use rustc_middle::ty::layout::{HasTypingEnv, LayoutOf, TyAndLayout};
use rustc_middle::ty::print::with_no_trimmed_paths;
use rustc_middle::ty::{self, FloatTy, Ty};

use crate::context::CodegenCx;

/// The number of pointers that are followed.
const POINTERS: u32 = 3;

/// DWARF's encodings of basic types (DWARF 5, 7.8).
mod encoding {
    pub const BOOLEAN: u32 = 2;
    pub const FLOAT: u32 = 4;
    pub const SIGNED: u32 = 5;
    pub const UNSIGNED: u32 = 7;
    pub const UTF: u32 = 16;
}

impl<'tcx> CodegenCx<'tcx> {
    /// Returns the node of a variable's type.
    pub(super) fn di_type(&self, ty: Ty<'tcx>) -> Di {
        self.di_type_behind(ty, 0)
    }

    /// Returns the node of a type that is reached through `pointers` pointers.
    fn di_type_behind(&self, ty: Ty<'tcx>, pointers: u32) -> Di {
        if let Some(&di) = self.debug.types.borrow().get(&(ty, pointers)) {
            return di;
        }
        let node = self.di_type_node(ty, pointers);
        let di = self.di(node);
        self.debug.types.borrow_mut().insert((ty, pointers), di);
        di
    }

    fn di_type_node(&self, ty: Ty<'tcx>, pointers: u32) -> DiNode {
        let layout = self.layout_of(ty);
        let name = with_no_trimmed_paths!(ty.to_string());
        let bits = layout.size.bits();
        let basic = |encoding| DiNode::BasicType {
            name: name.clone(),
            bits,
            encoding,
        };
        match *ty.kind() {
            ty::Bool => basic(encoding::BOOLEAN),
            ty::Char => basic(encoding::UTF),
            ty::Int(_) => basic(encoding::SIGNED),
            ty::Uint(_) => basic(encoding::UNSIGNED),
            // Debuggers know only `f32` and `f64`; the other floats are shown as integers.
            ty::Float(FloatTy::F32 | FloatTy::F64) => basic(encoding::FLOAT),
            ty::Float(_) => basic(encoding::UNSIGNED),
            ty::RawPtr(to, _) | ty::Ref(_, to, _) => self.di_pointer(name, layout, to, pointers),
            ty::FnPtr(..) => DiNode::PointerType {
                name,
                to: self.di_opaque("fn".to_owned(), 0),
                bits,
            },
            ty::Array(element, _) if layout.size != Size::ZERO => DiNode::ArrayType {
                element: self.di_type_behind(element, pointers),
                count: layout.fields.count() as u64,
                bits,
            },
            _ => DiNode::StructType {
                members: self.di_members(layout, pointers),
                name,
                bits,
            },
        }
    }

    /// Returns a type with only a name and a size.
    fn di_opaque(&self, name: String, bits: u64) -> Di {
        self.di(DiNode::StructType {
            name,
            bits,
            members: Vec::new(),
        })
    }

    fn di_pointer(
        &self,
        name: String,
        layout: TyAndLayout<'tcx>,
        to: Ty<'tcx>,
        pointers: u32,
    ) -> DiNode {
        let word = self.tcx.data_layout.pointer_size();
        let element = match *to.kind() {
            ty::Slice(element) => element,
            ty::Str => self.tcx.types.u8,
            _ => to,
        };
        let to = if pointers == POINTERS || !element.is_sized(self.tcx, self.typing_env()) {
            self.di_opaque(with_no_trimmed_paths!(element.to_string()), 0)
        } else {
            self.di_type_behind(element, pointers + 1)
        };
        if layout.size == word {
            let bits = word.bits();
            return DiNode::PointerType { name, to, bits };
        }
        let pointer = self.di(DiNode::PointerType {
            name: format!("*{name}"),
            to,
            bits: word.bits(),
        });
        // A length, or the address of a vtable.
        let word_type = self.di_type(self.tcx.types.usize);
        DiNode::StructType {
            name,
            bits: layout.size.bits(),
            members: vec![
                self.di_member("data_ptr", pointer, word, Size::ZERO),
                self.di_member("metadata", word_type, word, word),
            ],
        }
    }

    fn di_member(&self, name: &str, ty: Di, size: Size, offset: Size) -> Di {
        self.di(DiNode::Member {
            name: name.to_owned(),
            ty,
            bits: size.bits(),
            offset: offset.bits(),
        })
    }

    /// Returns the members of a struct, tuple, closure, union, coroutine or enum.
    fn di_members(&self, layout: TyAndLayout<'tcx>, pointers: u32) -> Vec<Di> {
        match &layout.variants {
            Variants::Empty => Vec::new(),
            Variants::Single { index } => self.di_fields(layout, *index, pointers),
            Variants::Multiple {
                tag,
                tag_field,
                variants,
                ..
            } => {
                let tag_type = match tag.primitive() {
                    Primitive::Int(Integer::I8, _) => self.tcx.types.u8,
                    Primitive::Int(Integer::I16, _) => self.tcx.types.u16,
                    Primitive::Int(Integer::I32, _) => self.tcx.types.u32,
                    Primitive::Int(Integer::I128, _) => self.tcx.types.u128,
                    _ => self.tcx.types.u64,
                };
                let offset = layout.fields.offset(tag_field.index());
                let tag_type = self.di_type(tag_type);
                let tag = self.di_member("tag", tag_type, tag.size(self), offset);
                let mut members = vec![tag];
                for index in variants.indices() {
                    let variant = layout.for_variant(self, index);
                    let fields = self.di_fields(variant, index, pointers);
                    if fields.is_empty() {
                        continue;
                    }
                    let name = self.variant_name(layout.ty, index);
                    let ty = self.di(DiNode::StructType {
                        name: name.clone(),
                        bits: layout.size.bits(),
                        members: fields,
                    });
                    members.push(self.di_member(&name, ty, layout.size, Size::ZERO));
                }
                members
            }
        }
    }

    fn variant_name(&self, ty: Ty<'tcx>, index: VariantIdx) -> String {
        match ty.kind() {
            ty::Adt(adt, _) => adt.variant(index).name.to_string(),
            _ => format!("variant{}", index.as_u32()),
        }
    }

    /// Returns the fields of a variant that are not zero-sized.
    fn di_fields(&self, layout: TyAndLayout<'tcx>, variant: VariantIdx, pointers: u32) -> Vec<Di> {
        if matches!(
            layout.fields,
            FieldsShape::Primitive | FieldsShape::Array { .. }
        ) {
            return Vec::new();
        }
        let name = |index: usize| match layout.ty.kind() {
            ty::Adt(adt, _) if !adt.is_enum() || adt.variants().len() > variant.as_usize() => {
                let fields = &adt.variant(variant).fields;
                fields.iter().nth(index).map(|field| field.name.to_string())
            }
            _ => None,
        };
        (0..layout.fields.count())
            .filter_map(|index| {
                let field = layout.field(self, index);
                if field.is_zst() {
                    return None;
                }
                let name = name(index).unwrap_or_else(|| format!("__{index}"));
                // A debugger would parse a name that starts with a digit as a number.
                let name = match name.starts_with(|c: char| c.is_ascii_digit()) {
                    true => format!("__{name}"),
                    false => name,
                };
                let ty = self.di_type_behind(field.ty, pointers);
                Some(self.di_member(&name, ty, field.size, layout.fields.offset(index)))
            })
            .collect()
    }
}
