//! Rules about memory: accesses, allocations, addresses and atomics.

use super::insts::{Check, ensure};
use super::{Rule, Verifier};
use crate::inst::{MemAccess, Ordering, RmwOp};
use crate::types::{AddrSpace, Type, TypeKind};
use crate::value::{Const, Value};

impl Verifier<'_> {
    pub(super) fn check_access(&self, ty: Type, access: &MemAccess, load: bool) -> Check {
        let memory = |ok: bool, message: &str| ensure(ok, Rule::Memory, || message.into());
        memory(self.is_sized(ty), "the accessed type has no size")?;
        ensure(access.align.is_power_of_two(), Rule::Memory, || {
            format!("the alignment is {}", access.align)
        })?;
        memory(
            load || !access.invariant && access.range.is_none() && !access.nonnull,
            "a store with properties of a load",
        )?;
        let int = self.m.types.int_bits(ty).is_some();
        memory(
            access.range.is_none() || int,
            "a range on a type that is not an integer",
        )?;
        let pointer = matches!(self.kind(ty), TypeKind::Ptr(_));
        memory(
            !access.nonnull || pointer,
            "`nonnull` on a type that is not a pointer",
        )?;
        let Some((ordering, _)) = access.atomic else {
            return Ok(());
        };
        let atomics = |ok: bool, message: &str| ensure(ok, Rule::Atomics, || message.into());
        let wrong = if load {
            Ordering::Release
        } else {
            Ordering::Acquire
        };
        ensure(
            ordering != wrong && ordering != Ordering::AcqRel,
            Rule::Atomics,
            || {
                format!(
                    "an atomic {} with {ordering:?}",
                    if load { "load" } else { "store" }
                )
            },
        )?;
        let types = &self.m.types;
        atomics(
            self.is_atomic(ty) || types.is_float(ty),
            "an atomic access of an unsupported type",
        )?;
        atomics(
            access.align >= types.size(ty),
            "an atomic access that is not aligned",
        )
    }

    /// Returns whether a type is a pointer or an integer whose size is a power of two of at least
    /// one byte.
    fn is_atomic(&self, ty: Type) -> bool {
        let power = |bits: u32| bits >= 8 && bits.is_power_of_two();
        self.m.types.is_ptr(ty) || self.m.types.int_bits(ty).is_some_and(power)
    }

    pub(super) fn check_rmw(&self, op: RmwOp, ty: Type) -> Check {
        let types = &self.m.types;
        let fits = match op {
            RmwOp::FAdd => types.is_float_or_vector(ty),
            RmwOp::Xchg => self.is_atomic(ty) || types.is_float(ty),
            _ => self.is_atomic(ty) && !types.is_ptr(ty),
        };
        ensure(fits, Rule::Atomics, || {
            format!("atomic {op:?} of `{}`", self.type_name(ty))
        })
    }

    pub(super) fn check_cmpxchg(&self, ty: Type, failure: Ordering) -> Check {
        ensure(self.is_atomic(ty), Rule::Atomics, || {
            format!("a compare-and-exchange of `{}`", self.type_name(ty))
        })?;
        let fits = !matches!(failure, Ordering::Release | Ordering::AcqRel);
        ensure(fits, Rule::Atomics, || {
            format!("{failure:?} on failure, which is a load")
        })
    }

    pub(super) fn check_writable(&self, ptr: Type) -> Check {
        let constant = self.m.types.addr_space(ptr) == Some(AddrSpace::Constant);
        ensure(!constant, Rule::AddressSpaces, || {
            "a write to constant memory".into()
        })
    }

    pub(super) fn check_alloca(
        &self,
        inst: Value,
        ty: Type,
        count: Option<Value>,
        align: u64,
    ) -> Check {
        let m = self.m;
        ensure(m.types.is_ptr(m.ty(inst)), Rule::Types, || {
            "the result is not a pointer".into()
        })?;
        ensure(self.is_sized(ty), Rule::Memory, || {
            "the allocated type has no size".into()
        })?;
        ensure(align.is_power_of_two(), Rule::Memory, || {
            format!("the alignment is {align}")
        })?;
        match count {
            Some(count) => {
                let int = m.types.int_bits(m.ty(count)).is_some();
                ensure(int, Rule::Types, || "the count is not an integer".into())
            }
            None => {
                let entry = m.func(self.func).blocks.first().copied();
                let home = m.inst(inst).map(|data| data.block);
                ensure(home == entry, Rule::Allocations, || {
                    "an allocation of a fixed size outside the entry block".into()
                })
            }
        }
    }

    pub(super) fn check_gep(
        &self,
        ty: Type,
        element: Type,
        base: Type,
        indices: &[Value],
    ) -> Check {
        let m = self.m;
        let types = |ok: bool, message: &str| ensure(ok, Rule::Types, || message.into());
        types(m.types.is_ptr(base), "the base is not a pointer")?;
        types(ty == base, "the result does not have the base's type")?;
        types(self.is_sized(element), "the element has no size")?;
        types(!indices.is_empty(), "no index")?;
        let ints = indices
            .iter()
            .all(|&index| m.types.int_bits(m.ty(index)).is_some());
        types(ints, "an index is not an integer")?;
        let mut at = element;
        for &index in &indices[1..] {
            at = match self.kind(at) {
                TypeKind::Array(element, _) | TypeKind::Vector(element, _) => *element,
                TypeKind::Struct { fields, .. } => {
                    types(
                        m.types.int_bits(m.ty(index)) == Some(32),
                        "a field index is not an `i32`",
                    )?;
                    match m.as_const(index) {
                        Some(Const::Int(field)) if (*field as usize) < fields.len() => {
                            fields[*field as usize]
                        }
                        _ => return types(false, "a field index is out of bounds"),
                    }
                }
                _ => return types(false, "an index into a type without elements"),
            };
        }
        Ok(())
    }
}
