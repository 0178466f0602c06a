//! Types, interned: equal types have the same handle.
//!
//! In memory, pointers are opaque and carry only their address space; the pointee type is part of
//! the instruction that uses the pointer. The writers add what their dialect requires.

use std::collections::HashMap;

/// An address space of the NVPTX memory model (NVVM IR specification, "Address Spaces").
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AddrSpace {
    /// The generic address space: an address of any other space, resolved at run time. Functions
    /// are in it too.
    Generic,
    /// Device memory.
    Global,
    /// Memory shared by the threads of a block.
    Shared,
    /// Read-only constant memory.
    Constant,
    /// Local memory, private to each thread.
    Local,
}

impl AddrSpace {
    /// Returns the number that NVVM IR uses.
    pub fn number(self) -> u32 {
        match self {
            AddrSpace::Generic => 0,
            AddrSpace::Global => 1,
            AddrSpace::Shared => 3,
            AddrSpace::Constant => 4,
            AddrSpace::Local => 5,
        }
    }

    /// Returns the address space with a number.
    pub fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => AddrSpace::Generic,
            1 => AddrSpace::Global,
            3 => AddrSpace::Shared,
            4 => AddrSpace::Constant,
            5 => AddrSpace::Local,
            _ => return None,
        })
    }
}

/// A handle to an interned type.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type(pub(crate) u32);

/// The structure of a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// No value.
    Void,
    /// An integer of this many bits.
    Int(u32),
    /// IEEE 754 binary16.
    Half,
    /// bfloat16.
    BFloat,
    /// IEEE 754 binary32.
    Float,
    /// IEEE 754 binary64.
    Double,
    /// IEEE 754 binary128. libnvvm does not support it; the legalizer replaces it.
    Fp128,
    /// A pointer into an address space.
    Ptr(AddrSpace),
    /// An array: element type and length.
    Array(Type, u64),
    /// A vector: element type and length.
    Vector(Type, u32),
    /// A struct.
    Struct {
        /// The types of the fields, in order.
        fields: Vec<Type>,
        /// Whether there is no padding between fields.
        packed: bool,
    },
    /// A function's signature.
    Func {
        /// The return type.
        ret: Type,
        /// The parameter types.
        params: Vec<Type>,
        /// Whether it takes additional arguments.
        variadic: bool,
    },
}

/// The type interner. Each module has its own.
#[derive(Clone, Debug, Default)]
pub struct Types {
    kinds: Vec<TypeKind>,
    ids: HashMap<TypeKind, Type>,
}

impl Types {
    /// Interns a type.
    pub fn intern(&mut self, kind: TypeKind) -> Type {
        if let Some(&ty) = self.ids.get(&kind) {
            return ty;
        }
        let ty = Type(self.kinds.len() as u32);
        self.kinds.push(kind.clone());
        self.ids.insert(kind, ty);
        ty
    }

    /// Returns whether the module has a type.
    pub fn has(&self, kind: &TypeKind) -> bool {
        self.ids.contains_key(kind)
    }

    /// Returns the number of types.
    pub(crate) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Returns the structure of a type.
    pub fn kind(&self, ty: Type) -> &TypeKind {
        &self.kinds[ty.0 as usize]
    }

    /// Returns all types, each after the types that it contains.
    pub(crate) fn all(&self) -> impl Iterator<Item = Type> + use<> {
        (0..self.kinds.len() as u32).map(Type)
    }

    /// Returns the type `void`.
    pub fn void(&mut self) -> Type {
        self.intern(TypeKind::Void)
    }

    /// Returns an integer type.
    pub fn int(&mut self, bits: u32) -> Type {
        self.intern(TypeKind::Int(bits))
    }

    /// Returns the type of generic pointers.
    pub fn ptr(&mut self) -> Type {
        self.ptr_in(AddrSpace::Generic)
    }

    /// Returns the type of pointers into an address space.
    pub fn ptr_in(&mut self, space: AddrSpace) -> Type {
        self.intern(TypeKind::Ptr(space))
    }

    /// Returns an array type.
    pub fn array(&mut self, element: Type, len: u64) -> Type {
        self.intern(TypeKind::Array(element, len))
    }

    /// Returns a vector type.
    pub fn vector(&mut self, element: Type, len: u32) -> Type {
        self.intern(TypeKind::Vector(element, len))
    }

    /// Returns a struct type.
    pub fn structure(&mut self, fields: &[Type], packed: bool) -> Type {
        self.intern(TypeKind::Struct {
            fields: fields.to_vec(),
            packed,
        })
    }

    /// Returns a function type.
    pub fn func(&mut self, ret: Type, params: &[Type], variadic: bool) -> Type {
        self.intern(TypeKind::Func {
            ret,
            params: params.to_vec(),
            variadic,
        })
    }

    /// Returns the width of an integer type in bits.
    pub fn int_bits(&self, ty: Type) -> Option<u32> {
        match *self.kind(ty) {
            TypeKind::Int(bits) => Some(bits),
            _ => None,
        }
    }

    /// Returns whether the type is a pointer.
    pub fn is_ptr(&self, ty: Type) -> bool {
        matches!(self.kind(ty), TypeKind::Ptr(_))
    }

    /// Returns the address space of a pointer type.
    pub fn addr_space(&self, ty: Type) -> Option<AddrSpace> {
        match *self.kind(ty) {
            TypeKind::Ptr(space) => Some(space),
            _ => None,
        }
    }

    /// Returns whether the type is a float.
    pub fn is_float(&self, ty: Type) -> bool {
        use TypeKind::*;
        matches!(self.kind(ty), Half | BFloat | Float | Double | Fp128)
    }

    /// Returns the element type of a vector, and any other type itself.
    pub fn scalar(&self, ty: Type) -> Type {
        match *self.kind(ty) {
            TypeKind::Vector(element, _) => element,
            _ => ty,
        }
    }

    /// Returns whether the type is an integer or a vector of integers.
    pub fn is_int_or_vector(&self, ty: Type) -> bool {
        self.int_bits(self.scalar(ty)).is_some()
    }

    /// Returns whether the type is a float or a vector of floats.
    pub fn is_float_or_vector(&self, ty: Type) -> bool {
        self.is_float(self.scalar(ty))
    }

    /// Returns the size in bytes, including trailing padding (data layout of nvptx64).
    pub fn size(&self, ty: Type) -> u64 {
        match self.kind(ty) {
            TypeKind::Vector(element, len) => {
                let bits = self.bits(*element) * u64::from(*len);
                bits.div_ceil(8).next_multiple_of(self.align(ty))
            }
            TypeKind::Array(element, len) => self.size(*element) * len,
            TypeKind::Struct { fields, packed } => {
                let mut offset = 0u64;
                for &field in fields {
                    if !packed {
                        offset = offset.next_multiple_of(self.align(field));
                    }
                    offset += self.size(field);
                }
                offset.next_multiple_of(self.align(ty))
            }
            TypeKind::Void | TypeKind::Func { .. } => 0,
            _ => self.bits(ty).div_ceil(8).next_multiple_of(self.align(ty)),
        }
    }

    /// Returns the ABI alignment in bytes (data layout of nvptx64).
    pub fn align(&self, ty: Type) -> u64 {
        match self.kind(ty) {
            TypeKind::Array(element, _) => self.align(*element),
            TypeKind::Struct { packed: true, .. } => 1,
            TypeKind::Struct { fields, .. } => {
                fields.iter().map(|&f| self.align(f)).max().unwrap_or(1)
            }
            TypeKind::Vector(element, len) => (self.bits(*element) * u64::from(*len))
                .div_ceil(8)
                .next_power_of_two()
                .max(1),
            TypeKind::Void | TypeKind::Func { .. } => 1,
            _ => self.bits(ty).div_ceil(8).next_power_of_two().min(16),
        }
    }

    /// Returns the byte offset of a struct's field.
    pub fn field_offset(&self, ty: Type, index: usize) -> u64 {
        let TypeKind::Struct { fields, packed } = self.kind(ty) else {
            panic!("field_offset of a type that is not a struct")
        };
        let mut offset = 0u64;
        for (i, &field) in fields.iter().enumerate() {
            if !packed {
                offset = offset.next_multiple_of(self.align(field));
            }
            if i == index {
                return offset;
            }
            offset += self.size(field);
        }
        panic!("field_offset: no field {index}")
    }

    /// Returns the width of a scalar in bits.
    pub fn bits(&self, ty: Type) -> u64 {
        match *self.kind(ty) {
            TypeKind::Int(bits) => u64::from(bits),
            TypeKind::Half | TypeKind::BFloat => 16,
            TypeKind::Float => 32,
            TypeKind::Double => 64,
            TypeKind::Fp128 => 128,
            TypeKind::Ptr(AddrSpace::Shared | AddrSpace::Local) => 64,
            TypeKind::Ptr(_) => 64,
            _ => self.size(ty) * 8,
        }
    }
}
