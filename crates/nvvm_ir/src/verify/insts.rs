//! Rules about the types of instructions, calls and intrinsics.

use super::{Rule, Verifier};
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::types::{AddrSpace, Type, TypeKind};
use crate::value::Value;

/// The result of checking an instruction: the violated rule and a description.
pub(super) type Check = Result<(), (Rule, String)>;

/// Returns the error of a rule unless `ok` holds.
pub(super) fn ensure(ok: bool, rule: Rule, message: impl FnOnce() -> String) -> Check {
    if ok { Ok(()) } else { Err((rule, message())) }
}

fn types(ok: bool, message: &str) -> Check {
    ensure(ok, Rule::Types, || message.into())
}

impl Verifier<'_> {
    pub(super) fn check_inst(&mut self, inst: Value) {
        if let Some(data) = self.m.inst(inst)
            && let Err((rule, message)) = self.inst_rules(inst, &data.kind)
        {
            self.inst_error(rule, inst, message);
        }
    }

    fn inst_rules(&self, inst: Value, kind: &InstKind) -> Check {
        let m = self.m;
        let ty = m.ty(inst);
        let t = |value: &Value| m.ty(*value);
        let without_result =
            kind.is_terminator() || matches!(kind, InstKind::Store { .. } | InstKind::Fence { .. });
        if without_result {
            types(
                self.is_void(ty),
                "the type is not `void`, but the instruction has no result",
            )?;
        }
        match kind {
            InstKind::Br(_) | InstKind::Unreachable => Ok(()),
            InstKind::Ret(value) => self.check_ret(*value),
            InstKind::CondBr { cond, .. } => {
                types(self.is_bool(t(cond)), "the condition is not an `i1`")
            }
            InstKind::Switch { value, cases, .. } => self.check_switch(t(value), cases),
            InstKind::Alloca {
                ty: contents,
                count,
                align,
            } => self.check_alloca(inst, *contents, *count, *align),
            InstKind::Load { ptr, access } => {
                types(m.types.is_ptr(t(ptr)), "the address is not a pointer")?;
                self.check_access(ty, access, true)
            }
            InstKind::Store { value, ptr, access } => {
                types(m.types.is_ptr(t(ptr)), "the address is not a pointer")?;
                self.check_writable(t(ptr))?;
                self.check_access(t(value), access, false)
            }
            InstKind::Gep {
                element,
                base,
                indices,
                ..
            } => self.check_gep(ty, *element, t(base), indices),
            InstKind::AtomicRmw { op, ptr, value, .. } => {
                types(m.types.is_ptr(t(ptr)), "the address is not a pointer")?;
                types(
                    ty == t(value),
                    "the result does not have the operand's type",
                )?;
                self.check_writable(t(ptr))?;
                self.check_rmw(*op, ty)
            }
            InstKind::CmpXchg {
                ptr,
                expected,
                new,
                success: _,
                failure,
                ..
            } => {
                types(m.types.is_ptr(t(ptr)), "the address is not a pointer")?;
                types(t(expected) == t(new), "the operands have different types")?;
                let pair = matches!(self.kind(ty), TypeKind::Struct { fields, packed: false }
                    if fields.len() == 2 && fields[0] == t(new) && self.is_bool(fields[1]));
                types(pair, "the result is not `{ T, i1 }`")?;
                self.check_writable(t(ptr))?;
                self.check_cmpxchg(t(new), *failure)
            }
            InstKind::Fence { ordering, .. } => {
                ensure(*ordering != Ordering::Relaxed, Rule::Atomics, || {
                    "a relaxed fence".into()
                })
            }
            InstKind::Bin { op, lhs, rhs, .. } => {
                types(
                    t(lhs) == t(rhs) && ty == t(lhs),
                    "operands and result have different types",
                )?;
                let fits = if op.is_float() {
                    m.types.is_float_or_vector(ty)
                } else {
                    m.types.is_int_or_vector(ty)
                };
                types(fits, "the operation is not defined for this type")
            }
            InstKind::FNeg(value) => types(
                ty == t(value) && m.types.is_float_or_vector(ty),
                "operand and result are not of the same float type",
            ),
            InstKind::Freeze(value) => {
                types(ty == t(value), "operand and result have different types")
            }
            InstKind::Cast { op, value } => self.check_cast(*op, t(value), ty),
            InstKind::ICmp { lhs, rhs, .. } => {
                let scalar = m.types.scalar(t(lhs));
                types(t(lhs) == t(rhs), "the operands have different types")?;
                types(
                    m.types.is_ptr(scalar) || m.types.int_bits(scalar).is_some(),
                    "the operands are neither integers nor pointers",
                )?;
                types(self.is_bool_like(ty, t(lhs)), "the result is not an `i1`")
            }
            InstKind::FCmp { lhs, rhs, .. } => {
                types(t(lhs) == t(rhs), "the operands have different types")?;
                types(
                    m.types.is_float_or_vector(t(lhs)),
                    "the operands are not floats",
                )?;
                types(self.is_bool_like(ty, t(lhs)), "the result is not an `i1`")
            }
            InstKind::Select {
                cond,
                then,
                otherwise,
            } => {
                types(
                    t(then) == ty && t(otherwise) == ty,
                    "values and result have different types",
                )?;
                types(
                    self.is_bool(t(cond)) || self.is_bool_like(t(cond), ty),
                    "the condition is not an `i1`",
                )
            }
            InstKind::Phi(incoming) => {
                types(self.is_sized(ty), "a phi of a type without a size")?;
                types(
                    incoming.iter().all(|(v, _)| t(v) == ty),
                    "a value of another type",
                )
            }
            InstKind::Call(call) => {
                self.check_call(ty, call)?;
                self.check_musttail(inst, call)
            }
            InstKind::ExtractValue { aggregate, index } => types(
                self.field(t(aggregate), *index) == Some(ty),
                "no field of that type",
            ),
            InstKind::InsertValue {
                aggregate,
                value,
                index,
            } => {
                types(
                    self.field(ty, *index) == Some(t(value)),
                    "no field of that type",
                )?;
                types(
                    t(aggregate) == ty,
                    "the result does not have the aggregate's type",
                )
            }
            InstKind::ExtractElement { vector, index } => {
                types(
                    self.element(t(vector)) == Some(ty),
                    "the result does not have the element type",
                )?;
                types(
                    m.types.int_bits(t(index)).is_some(),
                    "the index is not an integer",
                )
            }
            InstKind::InsertElement {
                vector,
                value,
                index,
            } => {
                types(
                    self.element(ty) == Some(t(value)),
                    "the value does not have the element type",
                )?;
                types(
                    t(vector) == ty,
                    "the result does not have the vector's type",
                )?;
                types(
                    m.types.int_bits(t(index)).is_some(),
                    "the index is not an integer",
                )
            }
            InstKind::ShuffleVector { a, b, mask } => {
                let TypeKind::Vector(element, len) = *self.kind(t(a)) else {
                    return types(false, "the operands are not vectors");
                };
                types(t(b) == t(a), "the operands have different types")?;
                let fits = matches!(*self.kind(ty), TypeKind::Vector(e, n)
                    if e == element && n as usize == mask.len());
                types(
                    fits,
                    "the result does not have the element type and the mask's length",
                )?;
                types(
                    mask.iter().flatten().all(|&i| i < 2 * len),
                    "an index is out of bounds",
                )
            }
        }
    }

    fn field(&self, aggregate: Type, index: u32) -> Option<Type> {
        match self.kind(aggregate) {
            TypeKind::Struct { fields, .. } => fields.get(index as usize).copied(),
            TypeKind::Array(element, len) => (u64::from(index) < *len).then_some(*element),
            _ => None,
        }
    }

    fn element(&self, vector: Type) -> Option<Type> {
        match *self.kind(vector) {
            TypeKind::Vector(element, _) => Some(element),
            _ => None,
        }
    }

    /// Returns the length of a vector, or `None` for a scalar.
    fn lanes(&self, ty: Type) -> Option<u32> {
        match *self.kind(ty) {
            TypeKind::Vector(_, len) => Some(len),
            _ => None,
        }
    }

    fn is_bool_like(&self, ty: Type, operand: Type) -> bool {
        self.is_bool(self.m.types.scalar(ty)) && self.lanes(ty) == self.lanes(operand)
    }

    fn check_ret(&self, value: Option<Value>) -> Check {
        let TypeKind::Func { ret, .. } = *self.kind(self.m.func(self.func).sig) else {
            return Ok(());
        };
        let fits = match value {
            Some(value) => self.m.ty(value) == ret,
            None => self.is_void(ret),
        };
        ensure(fits, Rule::Returns, || {
            format!("the function returns `{}`", self.type_name(ret))
        })
    }

    fn check_switch(&self, ty: Type, cases: &[(u128, crate::value::Block)]) -> Check {
        let Some(bits) = self.m.types.int_bits(ty) else {
            return types(false, "a switch on a value that is not an integer");
        };
        let mut values: Vec<u128> = cases.iter().map(|(value, _)| *value).collect();
        values.sort_unstable();
        for pair in values.windows(2) {
            ensure(pair[0] != pair[1], Rule::Switches, || {
                format!("duplicate case {}", pair[0])
            })?;
        }
        let fits = |value: &u128| bits >= 128 || value >> bits == 0;
        ensure(values.iter().all(fits), Rule::Switches, || {
            "a case is wider than the type".into()
        })
    }

    fn check_cast(&self, op: CastOp, from: Type, to: Type) -> Check {
        let all = &self.m.types;
        let ints = all.is_int_or_vector(from) && all.is_int_or_vector(to);
        let floats = all.is_float_or_vector(from) && all.is_float_or_vector(to);
        let bits = |ty: Type| all.bits(all.scalar(ty));
        let (from_ptr, to_ptr) = (all.is_ptr(all.scalar(from)), all.is_ptr(all.scalar(to)));
        let lanes = self.lanes(from) == self.lanes(to);
        let fits = match op {
            CastOp::Trunc => lanes && ints && bits(from) > bits(to),
            CastOp::ZExt | CastOp::SExt => lanes && ints && bits(from) < bits(to),
            CastOp::FpTrunc => lanes && floats && bits(from) > bits(to),
            CastOp::FpExt => lanes && floats && bits(from) < bits(to),
            CastOp::FpToUi | CastOp::FpToSi => {
                lanes && all.is_float_or_vector(from) && all.is_int_or_vector(to)
            }
            CastOp::UiToFp | CastOp::SiToFp => {
                lanes && all.is_int_or_vector(from) && all.is_float_or_vector(to)
            }
            CastOp::PtrToInt => lanes && from_ptr && all.is_int_or_vector(to),
            CastOp::IntToPtr => lanes && to_ptr && all.is_int_or_vector(from),
            CastOp::Bitcast => {
                let aggregate = |ty: Type| {
                    matches!(
                        self.kind(ty),
                        TypeKind::Struct { .. }
                            | TypeKind::Array(..)
                            | TypeKind::Void
                            | TypeKind::Func { .. }
                    )
                };
                if from_ptr && to_ptr {
                    let same = all.addr_space(all.scalar(from)) == all.addr_space(all.scalar(to));
                    return ensure(lanes && same, Rule::AddressSpaces, || {
                        "a bitcast to another address space".into()
                    });
                }
                let width = |ty: Type| bits(ty) * u64::from(self.lanes(ty).unwrap_or(1));
                from_ptr == to_ptr && !aggregate(from) && !aggregate(to) && width(from) == width(to)
            }
            CastOp::AddrSpaceCast => {
                let spaces = (all.addr_space(from), all.addr_space(to));
                return match spaces {
                    (Some(a), Some(b)) => {
                        let generic = a == AddrSpace::Generic || b == AddrSpace::Generic;
                        ensure(generic && a != b, Rule::AddressSpaces, || {
                            format!("a cast from {a:?} to {b:?}")
                        })
                    }
                    _ => types(
                        false,
                        "an address-space cast of a value that is not a pointer",
                    ),
                };
            }
        };
        ensure(fits, Rule::Types, || {
            format!(
                "no {op:?} from `{}` to `{}`",
                self.type_name(from),
                self.type_name(to)
            )
        })
    }

    fn check_call(&self, ty: Type, call: &Call) -> Check {
        let m = self.m;
        let calls = |ok: bool, message: &str| ensure(ok, Rule::Calls, || message.into());
        let TypeKind::Func {
            ret,
            ref params,
            variadic,
        } = *self.kind(call.sig)
        else {
            return calls(false, "a call with a type that is not a signature");
        };
        calls(
            ty == ret,
            "the result does not have the signature's return type",
        )?;
        let (got, want) = (call.args.len(), params.len());
        ensure(got == want || variadic && got > want, Rule::Calls, || {
            format!("{got} arguments for {want} parameters")
        })?;
        for (i, &arg) in call.args.iter().enumerate() {
            let arg = m.ty(arg);
            if let Some(&param) = params.get(i) {
                ensure(arg == param, Rule::Calls, || {
                    format!(
                        "argument {i} is of type `{}`, the parameter of type `{}`",
                        self.type_name(arg),
                        self.type_name(param)
                    )
                })?;
            } else {
                calls(self.is_sized(arg), "an argument has no size")?;
            }
        }
        let attrs = call.arg_attrs.len();
        calls(
            attrs == 0 || attrs == got,
            "attributes for some arguments only",
        )?;
        for (&arg, attrs) in call.args.iter().zip(&call.arg_attrs) {
            self.check_attrs(m.ty(arg), attrs)
                .map_err(|message| (Rule::Attributes, message))?;
        }
        self.check_attrs(ret, &call.ret_attrs)
            .map_err(|message| (Rule::Attributes, message))?;
        self.check_convergence(call)?;
        match &call.callee {
            Callee::Value(value) => {
                let generic = m.types.addr_space(m.ty(*value)) == Some(AddrSpace::Generic);
                calls(generic, "the callee is not a generic pointer")?;
                // libnvvm crashes if an intrinsic is called with a different signature.
                match m.as_func(*value).map(|func| m.func(func)) {
                    Some(func) if func.name.starts_with("llvm.") && func.sig != call.sig => Err((
                        Rule::Intrinsics,
                        format!("`{}` is called with another signature", func.name),
                    )),
                    _ => Ok(()),
                }
            }
            Callee::Intrinsic(intrinsic) => self.check_intrinsic(*intrinsic, ret, params),
            Callee::Asm(asm) => self.check_asm(asm, ret, params),
        }
    }

    /// Checks rule 22.
    fn check_convergence(&self, call: &Call) -> Check {
        let m = self.m;
        let convergent = match &call.callee {
            Callee::Value(value) => m
                .as_func(*value)
                .is_some_and(|func| m.func(func).attrs.convergent),
            Callee::Asm(asm) => asm.convergent,
            Callee::Intrinsic(_) => false,
        };
        let here = m.func(self.func).attrs.convergent;
        ensure(
            !self.legalized || convergent <= call.convergent && call.convergent <= here,
            Rule::Convergence,
            || match call.convergent {
                true => "a convergent call in a function that is not convergent".into(),
                false => "a convergent callee is called without `convergent`".into(),
            },
        )
    }

    fn check_musttail(&self, inst: Value, call: &Call) -> Check {
        if !call.musttail {
            return Ok(());
        }
        let next = self.m.inst(inst).and_then(|data| {
            let after = self.position[inst.index()] as usize + 1;
            let next = *self.m.block(data.block).insts.get(after)?;
            Some(&self.m.inst(next)?.kind)
        });
        let returned = match next {
            Some(InstKind::Ret(Some(value))) => *value == inst,
            Some(InstKind::Ret(None)) => self.is_void(self.m.ty(inst)),
            _ => false,
        };
        let same = self.m.func(self.func).sig == call.sig;
        ensure(returned && same, Rule::Calls, || {
            "a `musttail` call whose result is not returned immediately, or with another signature"
                .into()
        })
    }

    /// Checks rule 15: a letter of the signature for the result and for each parameter.
    fn check_intrinsic(&self, intrinsic: Intrinsic, ret: Type, params: &[Type]) -> Check {
        let all = &self.m.types;
        let signature = intrinsic.signature();
        let mut ints = None;
        let mut floats = None;
        let mut fits = |letter: char, ty: Type| {
            let one = |slot: &mut Option<Type>, ok: bool| ok && *slot.get_or_insert(ty) == ty;
            match letter {
                'v' => self.is_void(ty),
                'p' => all.is_ptr(ty),
                'b' => self.is_bool(ty),
                'c' => all.int_bits(ty) == Some(8),
                'q' => all.int_bits(ty) == Some(64),
                'n' => all.int_bits(ty).is_some(),
                'I' => one(&mut ints, all.is_int_or_vector(ty)),
                'F' => one(&mut floats, all.is_float_or_vector(ty)),
                _ => match self.kind(ty) {
                    TypeKind::Struct {
                        fields,
                        packed: false,
                    } if fields.len() == 2 => {
                        let of = fields[0];
                        self.is_bool_like(fields[1], of)
                            && all.is_int_or_vector(of)
                            && *ints.get_or_insert(of) == of
                    }
                    _ => false,
                },
            }
        };
        let ok = signature.len() == params.len() + 1
            && signature
                .chars()
                .zip(std::iter::once(&ret).chain(params))
                .all(|(l, &t)| fits(l, t));
        ensure(ok, Rule::Intrinsics, || {
            let params: Vec<String> = params.iter().map(|&p| self.type_name(p)).collect();
            format!(
                "`llvm.{}` as `{} ({})`, its signature is `{signature}`",
                intrinsic.base_name(),
                self.type_name(ret),
                params.join(", ")
            )
        })
    }

    /// Checks rule 20.
    fn check_asm(&self, asm: &InlineAsm, ret: Type, params: &[Type]) -> Check {
        let parts = asm.constraints.split(',').filter(|part| !part.is_empty());
        let (mut outputs, mut inputs) = (0, 0);
        for part in parts {
            match part.as_bytes()[0] {
                b'~' => {}
                b'=' => outputs += 1,
                _ => inputs += 1,
            }
        }
        let results = match self.kind(ret) {
            TypeKind::Void => 0,
            TypeKind::Struct { fields, .. } => fields.len(),
            _ => 1,
        };
        ensure(
            results == outputs && params.len() == inputs,
            Rule::InlinePtx,
            || {
                format!(
                    "the constraints `{}` are for {outputs} results and {inputs} operands, \
                 and there are {results} and {}",
                    asm.constraints,
                    params.len()
                )
            },
        )
    }
}
