//! Constants and addresses as operands.

use super::{Writer, escape};
use crate::types::{AddrSpace, Type, TypeKind};
use crate::value::{Const, Value, ValueKind};

impl Writer<'_> {
    /// Prints `type value`.
    pub(super) fn typed(&mut self, value: Value) {
        self.ty(self.m.ty(value));
        self.s(" ");
        self.val(value);
    }

    /// Prints a value. In the LLVM 7 dialect, pointers are printed as `i8*` of their address space.
    pub(super) fn val(&mut self, value: Value) {
        let m = self.m;
        match &m.value(value).kind {
            ValueKind::Const(constant) => self.constant(m.ty(value), constant),
            ValueKind::Global(global) => self.address(value, 0, m.global(*global).space),
            ValueKind::Func(_) => self.address(value, 0, AddrSpace::Generic),
            ValueKind::Param(..) | ValueKind::Inst(_) => self.local(value),
        }
    }

    fn constant(&mut self, ty: Type, constant: &Const) {
        match constant {
            Const::Int(int) => self.int(ty, *int),
            Const::Float(bits) => self.float(ty, *bits),
            Const::Zero => match self.m.types.kind(ty) {
                TypeKind::Int(1) => self.s("false"),
                TypeKind::Int(_) => self.s("0"),
                TypeKind::Ptr(_) => self.s("null"),
                _ if self.m.types.is_float(ty) => self.float(ty, 0),
                _ => self.s("zeroinitializer"),
            },
            Const::Undef => self.s("undef"),
            Const::Poison => self.s(if self.llvm7() { "undef" } else { "poison" }),
            Const::Aggregate(elements) => self.aggregate(ty, elements),
            Const::Bytes(bytes) => {
                self.s("c\"");
                escape(&mut self.out, bytes);
                self.s("\"");
            }
            Const::Addr { base, offset } => {
                let space = self.m.types.addr_space(ty).unwrap_or(AddrSpace::Generic);
                self.address(*base, *offset, space);
            }
            Const::PtrToInt(ptr) => {
                self.s("ptrtoint (");
                self.typed(*ptr);
                self.s(" to ");
                self.ty(ty);
                self.s(")");
            }
            Const::IntToPtr(address) => {
                self.s("inttoptr (i64 ");
                self.num(*address);
                self.s(" to ");
                self.ty(ty);
                self.s(")");
            }
        }
    }

    /// Prints an integer: signed, as LLVM does; an `i1` as `true` or `false`.
    pub(super) fn int(&mut self, ty: Type, int: u128) {
        let bits = self.m.types.int_bits(ty).unwrap_or(128);
        if bits == 1 {
            return self.s(if int == 0 { "false" } else { "true" });
        }
        let (negative, magnitude) = if bits <= 128 && int >> (bits - 1) & 1 == 1 {
            let mask = if bits == 128 {
                u128::MAX
            } else {
                (1 << bits) - 1
            };
            (true, int.wrapping_neg() & mask)
        } else {
            (false, int)
        };
        if negative {
            self.s("-");
        }
        match u64::try_from(magnitude) {
            Ok(small) => self.num(small),
            Err(_) => self.s(&magnitude.to_string()),
        }
    }

    fn float(&mut self, ty: Type, bits: u128) {
        let text = match self.m.types.kind(ty) {
            TypeKind::Half => format!("0xH{bits:04X}"),
            TypeKind::BFloat => format!("0xR{bits:04X}"),
            TypeKind::Double => format!("0x{bits:016X}"),
            // The low half comes first.
            TypeKind::Fp128 => format!("0xL{:016X}{:016X}", bits as u64, (bits >> 64) as u64),
            _ => {
                let bits = bits as u32;
                let float = f32::from_bits(bits);
                if !float.is_nan() {
                    format!("0x{:016X}", f64::from(float).to_bits())
                } else if bits & 0x0040_0000 == 0 {
                    // LLVM 7 quiets a signaling NaN that it reads as a double.
                    format!("bitcast (i32 {} to float)", bits as i32)
                } else {
                    let sign = u64::from(bits >> 31) << 63;
                    let payload = u64::from(bits & 0x007F_FFFF) << 29;
                    format!("0x{:016X}", sign | 0x7FF << 52 | payload)
                }
            }
        };
        self.s(&text);
    }

    fn aggregate(&mut self, ty: Type, elements: &[Value]) {
        let (open, close) = match self.m.types.kind(ty) {
            TypeKind::Struct { packed: true, .. } if elements.is_empty() => ("<{", "}>"),
            TypeKind::Struct { .. } if elements.is_empty() => ("{", "}"),
            TypeKind::Struct { packed: true, .. } => ("<{ ", " }>"),
            TypeKind::Struct { .. } => ("{ ", " }"),
            TypeKind::Vector(..) => ("<", ">"),
            _ => ("[", "]"),
        };
        self.s(open);
        for (i, &element) in elements.iter().enumerate() {
            self.s(if i == 0 { "" } else { ", " });
            self.typed(element);
        }
        self.s(close);
    }

    /// Prints the address of a global or function plus an offset, as a pointer into an address
    /// space.
    pub(super) fn address(&mut self, base: Value, offset: i64, space: AddrSpace) {
        let own = match self.m.value(base).kind {
            ValueKind::Global(global) => self.m.global(global).space,
            _ => AddrSpace::Generic,
        };
        let cast = own != space;
        if cast {
            self.s("addrspacecast (");
            self.byte_ptr_type(own);
            self.s(" ");
        }
        if offset != 0 {
            let inside = match self.m.value(base).kind {
                ValueKind::Global(global) => {
                    let size = self.m.types.size(self.m.global(global).ty);
                    u64::try_from(offset).is_ok_and(|offset| offset <= size)
                }
                _ => false,
            };
            self.s(if inside {
                "getelementptr inbounds (i8, "
            } else {
                "getelementptr (i8, "
            });
            self.byte_ptr_type(own);
            self.s(" ");
        }
        self.symbol_as_byte_ptr(base, own);
        if offset != 0 {
            self.s(if offset < 0 { ", i64 -" } else { ", i64 " });
            self.num(offset.unsigned_abs());
            self.s(")");
        }
        if cast {
            self.s(" to ");
            self.byte_ptr_type(space);
            self.s(")");
        }
    }

    /// Prints the type that represents pointers.
    fn byte_ptr_type(&mut self, space: AddrSpace) {
        if self.llvm7() {
            self.s("i8");
            self.star(space);
        } else {
            self.s("ptr");
            if space != AddrSpace::Generic {
                self.s(" addrspace(");
                self.num(space.number());
                self.s(")");
            }
        }
    }

    /// Prints a symbol as a pointer to bytes in its own address space.
    fn symbol_as_byte_ptr(&mut self, base: Value, own: AddrSpace) {
        let plain = match self.m.value(base).kind {
            ValueKind::Global(global) => self.is_i8(self.m.global(global).ty),
            _ => false,
        };
        if plain || !self.llvm7() {
            return self.symbol(base);
        }
        self.s("bitcast (");
        match self.m.value(base).kind {
            ValueKind::Global(global) => self.ptr_to(self.m.global(global).ty, own),
            ValueKind::Func(func) => self.func_ptr_type(func),
            _ => unreachable!("an address is that of a global or a function"),
        }
        self.s(" ");
        self.symbol(base);
        self.s(" to ");
        self.byte_ptr_type(own);
        self.s(")");
    }
}
