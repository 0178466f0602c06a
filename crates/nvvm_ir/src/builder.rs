//! The builder: appends instructions to a block and rejects ill-typed instructions.
//!
//! A rejected instruction panics: it is a bug in the calling compiler code, never in a user's
//! program.

use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::metadata::Di;
use crate::module::Module;
use crate::types::{AddrSpace, Type, TypeKind};
use crate::value::{Block, Const, Value};

/// Appends instructions to a basic block.
///
/// # Panics
///
/// Each method that appends an instruction panics if the instruction is ill-typed.
pub struct Builder<'m> {
    /// The module being built.
    pub module: &'m mut Module,
    block: Block,
    loc: Option<Di>,
}

macro_rules! check {
    ($cond:expr, $($message:tt)*) => {
        assert!($cond, $($message)*)
    };
}

impl<'m> Builder<'m> {
    /// Creates a builder that appends to `block`.
    pub fn new(module: &'m mut Module, block: Block) -> Self {
        Builder {
            module,
            block,
            loc: None,
        }
    }

    /// Creates a builder that appends to `block` and gives instructions the source location `loc`.
    pub fn at(module: &'m mut Module, block: Block, loc: Option<Di>) -> Self {
        Builder { module, block, loc }
    }

    /// Returns the block that instructions are appended to.
    pub fn block(&self) -> Block {
        self.block
    }

    /// Appends to `block` from now on.
    pub fn switch_to(&mut self, block: Block) {
        self.block = block;
    }

    fn push(&mut self, ty: Type, kind: InstKind) -> Value {
        debug_assert!(
            self.module.terminator(self.block).is_none(),
            "an instruction after the terminator of block `{}`",
            self.module.block(self.block).name
        );
        self.module.push_inst(self.block, ty, kind, self.loc)
    }

    fn push_void(&mut self, kind: InstKind) -> Value {
        let void = self.module.types.void();
        self.push(void, kind)
    }

    fn check_ptr(&self, value: Value, what: &str) {
        check!(
            self.module.types.is_ptr(self.module.ty(value)),
            "{what}: not a pointer"
        );
    }

    /// Appends a `ret`.
    pub fn ret(&mut self, value: Option<Value>) -> Value {
        let func = self.module.block(self.block).func;
        let void = self.module.types.void();
        let ty = value.map_or(void, |v| self.module.ty(v));
        let sig = self.module.types.kind(self.module.func(func).sig);
        check!(
            matches!(*sig, TypeKind::Func { ret, .. } if ty == ret),
            "ret: the value is not of the function's return type"
        );
        self.push_void(InstKind::Ret(value))
    }

    /// Appends an unconditional branch.
    pub fn br(&mut self, to: Block) -> Value {
        self.push_void(InstKind::Br(to))
    }

    /// Appends a conditional branch.
    pub fn cond_br(&mut self, cond: Value, then: Block, otherwise: Block) -> Value {
        let i1 = self.module.types.int(1);
        check!(
            self.module.ty(cond) == i1,
            "cond_br: the condition is not an i1"
        );
        self.push_void(InstKind::CondBr {
            cond,
            then,
            otherwise,
        })
    }

    /// Appends a `switch` on an integer.
    pub fn switch(&mut self, value: Value, default: Block, cases: Vec<(u128, Block)>) -> Value {
        check!(
            self.module.types.int_bits(self.module.ty(value)).is_some(),
            "switch: not an integer"
        );
        self.push_void(InstKind::Switch {
            value,
            default,
            cases,
        })
    }

    /// Appends an `unreachable`.
    pub fn unreachable(&mut self) -> Value {
        self.push_void(InstKind::Unreachable)
    }

    /// Allocates stack memory, at the start of the function's entry block.
    pub fn alloca(&mut self, ty: Type, align: u64) -> Value {
        let func = self.module.block(self.block).func;
        let entry = self.module.func(func).blocks[0];
        let ptr = self.module.types.ptr();
        let kind = InstKind::Alloca {
            ty,
            count: None,
            align,
        };
        let value = self.module.push_value(
            ptr,
            crate::value::ValueKind::Inst(InstData {
                kind,
                block: entry,
                loc: None,
            }),
        );
        let module = &*self.module;
        let at = module
            .block(entry)
            .insts
            .iter()
            .position(|&i| {
                !matches!(
                    module.inst(i).map(|d| &d.kind),
                    Some(InstKind::Alloca { .. })
                )
            })
            .unwrap_or(module.block(entry).insts.len());
        self.module.block_mut(entry).insts.insert(at, value);
        value
    }

    /// Appends a load.
    pub fn load(&mut self, ty: Type, ptr: Value, access: MemAccess) -> Value {
        self.check_ptr(ptr, "load");
        self.push(ty, InstKind::Load { ptr, access })
    }

    /// Appends a store.
    pub fn store(&mut self, value: Value, ptr: Value, access: MemAccess) -> Value {
        self.check_ptr(ptr, "store");
        self.push_void(InstKind::Store { value, ptr, access })
    }

    /// Appends a `getelementptr`. The result is in the address space of `base`.
    pub fn gep(&mut self, element: Type, base: Value, indices: &[Value], inbounds: bool) -> Value {
        self.check_ptr(base, "gep");
        for &index in indices {
            check!(
                self.module.types.int_bits(self.module.ty(index)).is_some(),
                "gep: an index is not an integer"
            );
        }
        let ty = self.module.ty(base);
        self.push(
            ty,
            InstKind::Gep {
                element,
                base,
                indices: indices.to_vec(),
                inbounds,
            },
        )
    }

    /// Appends an atomic read-modify-write operation, which returns the previous value.
    pub fn atomic_rmw(
        &mut self,
        op: RmwOp,
        ptr: Value,
        value: Value,
        ordering: Ordering,
        scope: Scope,
    ) -> Value {
        self.check_ptr(ptr, "atomic_rmw");
        let ty = self.module.ty(value);
        self.push(
            ty,
            InstKind::AtomicRmw {
                op,
                ptr,
                value,
                ordering,
                scope,
            },
        )
    }

    /// Appends an atomic compare-and-exchange, which returns `{T, i1}`: the previous value and
    /// whether the exchange took place.
    pub fn cmpxchg(
        &mut self,
        ptr: Value,
        expected: Value,
        new: Value,
        (success, failure): (Ordering, Ordering),
        scope: Scope,
    ) -> Value {
        self.check_ptr(ptr, "cmpxchg");
        let ty = self.module.ty(new);
        check!(
            self.module.ty(expected) == ty,
            "cmpxchg: operands of different types"
        );
        let i1 = self.module.types.int(1);
        let pair = self.module.types.structure(&[ty, i1], false);
        self.push(
            pair,
            InstKind::CmpXchg {
                ptr,
                expected,
                new,
                success,
                failure,
                scope,
            },
        )
    }

    /// Appends a fence, which orders memory accesses.
    pub fn fence(&mut self, ordering: Ordering, scope: Scope) -> Value {
        self.push_void(InstKind::Fence { ordering, scope })
    }

    /// Appends a binary operation.
    pub fn bin(&mut self, op: BinOp, lhs: Value, rhs: Value) -> Value {
        self.bin_flags(op, lhs, rhs, Flags::default())
    }

    /// Appends a binary operation with flags.
    pub fn bin_flags(&mut self, op: BinOp, lhs: Value, rhs: Value, flags: Flags) -> Value {
        let ty = self.module.ty(lhs);
        check!(
            ty == self.module.ty(rhs),
            "{op:?}: operands of different types: {:?} and {:?}",
            self.module.types.kind(ty),
            self.module.types.kind(self.module.ty(rhs))
        );
        let fits = if op.is_float() {
            self.module.types.is_float_or_vector(ty)
        } else {
            self.module.types.is_int_or_vector(ty)
        };
        check!(
            fits,
            "{op:?}: operands of type {:?}",
            self.module.types.kind(ty)
        );
        self.push(
            ty,
            InstKind::Bin {
                op,
                lhs,
                rhs,
                flags,
            },
        )
    }

    /// Appends an `fneg`, which flips the sign of a float.
    pub fn fneg(&mut self, value: Value) -> Value {
        let ty = self.module.ty(value);
        check!(
            self.module.types.is_float_or_vector(ty),
            "fneg: not a float"
        );
        self.push(ty, InstKind::FNeg(value))
    }

    /// Appends a conversion to `ty`.
    pub fn cast(&mut self, op: CastOp, value: Value, ty: Type) -> Value {
        let types = &self.module.types;
        let from = self.module.ty(value);
        let ok = match op {
            CastOp::Trunc => {
                types.is_int_or_vector(from)
                    && types.is_int_or_vector(ty)
                    && types.bits(types.scalar(from)) > types.bits(types.scalar(ty))
            }
            CastOp::ZExt | CastOp::SExt => {
                types.is_int_or_vector(from)
                    && types.is_int_or_vector(ty)
                    && types.bits(types.scalar(from)) < types.bits(types.scalar(ty))
            }
            CastOp::FpTrunc | CastOp::FpExt => {
                types.is_float_or_vector(from) && types.is_float_or_vector(ty)
            }
            CastOp::FpToUi | CastOp::FpToSi => {
                types.is_float_or_vector(from) && types.is_int_or_vector(ty)
            }
            CastOp::UiToFp | CastOp::SiToFp => {
                types.is_int_or_vector(from) && types.is_float_or_vector(ty)
            }
            CastOp::PtrToInt => types.is_ptr(types.scalar(from)) && types.is_int_or_vector(ty),
            CastOp::IntToPtr => types.is_int_or_vector(from) && types.is_ptr(types.scalar(ty)),
            CastOp::Bitcast => {
                types.is_ptr(from) == types.is_ptr(ty) && types.size(from) == types.size(ty)
            }
            CastOp::AddrSpaceCast => types.is_ptr(from) && types.is_ptr(ty),
        };
        check!(
            ok,
            "{op:?} from {:?} to {:?}",
            types.kind(from),
            types.kind(ty)
        );
        self.push(ty, InstKind::Cast { op, value })
    }

    fn bool_like(&mut self, ty: Type) -> Type {
        let i1 = self.module.types.int(1);
        match *self.module.types.kind(ty) {
            TypeKind::Vector(_, len) => self.module.types.vector(i1, len),
            _ => i1,
        }
    }

    /// Appends a comparison of integers or pointers.
    pub fn icmp(&mut self, pred: IntPred, lhs: Value, rhs: Value) -> Value {
        let ty = self.module.ty(lhs);
        check!(
            ty == self.module.ty(rhs),
            "icmp: operands of different types"
        );
        let scalar = self.module.types.scalar(ty);
        check!(
            self.module.types.is_ptr(scalar) || self.module.types.int_bits(scalar).is_some(),
            "icmp: neither integers nor pointers"
        );
        let result = self.bool_like(ty);
        self.push(result, InstKind::ICmp { pred, lhs, rhs })
    }

    /// Appends a comparison of floats.
    pub fn fcmp(&mut self, pred: FloatPred, lhs: Value, rhs: Value) -> Value {
        let ty = self.module.ty(lhs);
        check!(
            ty == self.module.ty(rhs),
            "fcmp: operands of different types"
        );
        check!(self.module.types.is_float_or_vector(ty), "fcmp: not floats");
        let result = self.bool_like(ty);
        self.push(result, InstKind::FCmp { pred, lhs, rhs })
    }

    /// Appends a `select` of one of two values.
    pub fn select(&mut self, cond: Value, then: Value, otherwise: Value) -> Value {
        let ty = self.module.ty(then);
        check!(
            ty == self.module.ty(otherwise),
            "select: values of different types"
        );
        self.push(
            ty,
            InstKind::Select {
                cond,
                then,
                otherwise,
            },
        )
    }

    /// Appends a phi: the value of the edge through which the block was entered.
    pub fn phi(&mut self, ty: Type, incoming: Vec<(Value, Block)>) -> Value {
        for &(value, _) in &incoming {
            check!(self.module.ty(value) == ty, "phi: a value of another type");
        }
        self.push(ty, InstKind::Phi(incoming))
    }

    /// Calls a function or a function pointer with the signature `sig`.
    pub fn call(&mut self, sig: Type, callee: Value, args: &[Value]) -> Value {
        self.call_with(Call::new(Callee::Value(callee), sig, args.to_vec()))
    }

    /// Appends a call with all its attributes.
    pub fn call_with(&mut self, call: Call) -> Value {
        let TypeKind::Func {
            ret,
            params,
            variadic,
        } = self.module.types.kind(call.sig).clone()
        else {
            panic!("call: the type is not a signature")
        };
        check!(
            call.args.len() == params.len() || variadic && call.args.len() > params.len(),
            "call: {} arguments for {} parameters",
            call.args.len(),
            params.len()
        );
        for (i, (&arg, &param)) in call.args.iter().zip(&params).enumerate() {
            check!(
                self.module.ty(arg) == param,
                "call: argument {i} is {:?}, the parameter {:?}",
                self.module.types.kind(self.module.ty(arg)),
                self.module.types.kind(param)
            );
        }
        self.push(ret, InstKind::Call(Box::new(call)))
    }

    /// Calls an intrinsic with these arguments and this result type.
    pub fn intrinsic(&mut self, intrinsic: Intrinsic, ret: Type, args: &[Value]) -> Value {
        let sig = self.module.signature(ret, args);
        self.call_with(Call {
            noreturn: intrinsic == Intrinsic::Trap,
            ..Call::new(Callee::Intrinsic(intrinsic), sig, args.to_vec())
        })
    }

    /// Appends inline PTX.
    pub fn asm(&mut self, asm: InlineAsm, ret: Type, args: &[Value]) -> Value {
        let sig = self.module.signature(ret, args);
        self.call_with(Call {
            convergent: asm.convergent,
            ..Call::new(Callee::Asm(Box::new(asm)), sig, args.to_vec())
        })
    }

    fn field_type(&self, aggregate: Type, index: u32) -> Type {
        match self.module.types.kind(aggregate) {
            TypeKind::Struct { fields, .. } => fields[index as usize],
            TypeKind::Array(element, len) if u64::from(index) < *len => *element,
            kind => panic!("no field {index} in {kind:?}"),
        }
    }

    /// Extracts a field of an aggregate value.
    pub fn extract_value(&mut self, aggregate: Value, index: u32) -> Value {
        let ty = self.field_type(self.module.ty(aggregate), index);
        self.push(ty, InstKind::ExtractValue { aggregate, index })
    }

    /// Inserts `value` as a field of an aggregate value.
    pub fn insert_value(&mut self, aggregate: Value, value: Value, index: u32) -> Value {
        let ty = self.module.ty(aggregate);
        check!(
            self.field_type(ty, index) == self.module.ty(value),
            "insert_value: not of the field's type"
        );
        self.push(
            ty,
            InstKind::InsertValue {
                aggregate,
                value,
                index,
            },
        )
    }

    /// Extracts an element of a vector.
    pub fn extract_element(&mut self, vector: Value, index: Value) -> Value {
        let TypeKind::Vector(element, _) = *self.module.types.kind(self.module.ty(vector)) else {
            panic!("extract_element: not a vector")
        };
        self.push(element, InstKind::ExtractElement { vector, index })
    }

    /// Inserts `value` as an element of a vector.
    pub fn insert_element(&mut self, vector: Value, value: Value, index: Value) -> Value {
        let ty = self.module.ty(vector);
        check!(
            matches!(*self.module.types.kind(ty), TypeKind::Vector(e, _) if e == self.module.ty(value)),
            "insert_element: not of the element type"
        );
        self.push(
            ty,
            InstKind::InsertElement {
                vector,
                value,
                index,
            },
        )
    }

    /// Shuffles the elements of two vectors by constant indices.
    pub fn shuffle(&mut self, a: Value, b: Value, mask: Vec<Option<u32>>) -> Value {
        let TypeKind::Vector(element, _) = *self.module.types.kind(self.module.ty(a)) else {
            panic!("shuffle: not a vector")
        };
        let ty = self.module.types.vector(element, mask.len() as u32);
        self.push(ty, InstKind::ShuffleVector { a, b, mask })
    }

    /// Appends a `freeze`, which turns an undefined value into an arbitrary but fixed one.
    pub fn freeze(&mut self, value: Value) -> Value {
        let ty = self.module.ty(value);
        self.push(ty, InstKind::Freeze(value))
    }

    /// Returns the address of a global or function as a generic pointer.
    pub fn addr_of(&mut self, base: Value) -> Value {
        let ptr = self.module.types.ptr_in(AddrSpace::Generic);
        self.module.constant(ptr, Const::Addr { base, offset: 0 })
    }
}
