//! Lowers the `simd_*` intrinsics lane by lane.
//!
//! A GPU thread has no vector arithmetic: an operation on vectors becomes one instruction per lane.
//! Loads and stores of whole vectors are kept.

use nvvm_ir::{Intrinsic, TypeKind as Kind, Value};
use rustc_abi::{Align, BackendRepr};
use rustc_codegen_ssa::common::{IntPredicate, RealPredicate};
use rustc_codegen_ssa::mir::operand::{OperandRef, OperandValue};
use rustc_codegen_ssa::traits::*;
use rustc_middle::ty::layout::{LayoutOf, TyAndLayout};
use rustc_middle::ty::{self, Instance, Ty};
use rustc_span::Symbol;

use crate::builder::Builder;

/// The element type of a vector.
#[derive(Copy, Clone, PartialEq)]
enum Lane {
    Int { signed: bool },
    Float,
    Pointer,
}

fn lane(ty: Ty<'_>) -> Lane {
    match ty.kind() {
        ty::Float(_) => Lane::Float,
        ty::RawPtr(..) | ty::Ref(..) | ty::FnPtr(..) => Lane::Pointer,
        ty::Int(_) => Lane::Int { signed: true },
        _ => Lane::Int { signed: false },
    }
}

impl<'a, 'tcx> Builder<'a, 'tcx> {
    pub(crate) fn lanes(&mut self, vector: Value) -> Vec<Value> {
        let ty = self.val_ty(vector);
        let count = self.vector_length(ty);
        (0..count)
            .map(|i| {
                let index = self.const_i32(i as i32);
                self.extract_element(vector, index)
            })
            .collect()
    }

    pub(crate) fn vector_of(&mut self, lanes: &[Value]) -> Value {
        self.ir(|b| {
            let element = b.module.ty(lanes[0]);
            let ty = b.module.types.vector(element, lanes.len() as u32);
            let mut vector = b.module.const_undef(ty);
            for (i, &lane) in lanes.iter().enumerate() {
                let index = b.module.const_i32(i as i32);
                vector = b.insert_element(vector, lane, index);
            }
            vector
        })
    }

    /// Returns a vector argument, loading it if it is passed in memory (`repr(packed, simd)`).
    fn vector_arg(&mut self, arg: &OperandRef<'tcx, Value>) -> Value {
        match arg.val {
            OperandValue::Ref(place) => {
                let (count, element) = arg.layout.ty.simd_size_and_type(self.tcx);
                let layout = self.layout_of(element);
                let element = self.backend_type(layout);
                let ty = self.cx.ty(|t| t.vector(element, count as u32));
                self.load(ty, place.llval, place.align)
            }
            _ => arg.immediate(),
        }
    }

    /// Returns a mask lane as an `i1`: its highest bit.
    fn is_set(&mut self, lane: Value) -> Value {
        let zero = self.const_null(self.val_ty(lane));
        self.icmp(IntPredicate::IntSLT, lane, zero)
    }

    /// Returns a mask's lanes as `i1`. The mask is a vector, an integer bit mask or an array of
    /// bytes.
    fn mask(&mut self, arg: &OperandRef<'tcx, Value>, count: usize) -> Vec<Value> {
        if arg.layout.ty.is_simd() {
            let vector = self.vector_arg(arg);
            let lanes = self.lanes(vector);
            return lanes.into_iter().map(|lane| self.is_set(lane)).collect();
        }
        let bits = match arg.val {
            OperandValue::Ref(place) => {
                let ty = self.int(arg.layout.size.bits());
                self.load(ty, place.llval, place.align)
            }
            _ => arg.immediate(),
        };
        let ty = self.val_ty(bits);
        let i1 = self.int(1);
        (0..count)
            .map(|i| {
                let shift = self.const_uint(ty, i as u64);
                let bit = self.lshr(bits, shift);
                self.trunc(bit, i1)
            })
            .collect()
    }

    fn compare(&mut self, name: &str, lane: Lane, a: Value, b: Value) -> Value {
        use {IntPredicate::*, RealPredicate::*};
        if lane == Lane::Float {
            let pred = match name {
                "eq" => RealOEQ,
                "ne" => RealUNE,
                "lt" => RealOLT,
                "le" => RealOLE,
                "gt" => RealOGT,
                _ => RealOGE,
            };
            return self.fcmp(pred, a, b);
        }
        let signed = lane == Lane::Int { signed: true };
        let pred = match (name, signed) {
            ("eq", _) => IntEQ,
            ("ne", _) => IntNE,
            ("lt", true) => IntSLT,
            ("le", true) => IntSLE,
            ("gt", true) => IntSGT,
            ("ge", true) => IntSGE,
            ("lt", false) => IntULT,
            ("le", false) => IntULE,
            ("gt", false) => IntUGT,
            _ => IntUGE,
        };
        self.icmp(pred, a, b)
    }

    fn extreme(&mut self, max: bool, lane: Lane, a: Value, b: Value) -> Value {
        let ty = self.val_ty(a);
        let intrinsic = match (lane, max) {
            (Lane::Float, true) => Intrinsic::MaxNum,
            (Lane::Float, false) => Intrinsic::MinNum,
            (Lane::Int { signed: true }, true) => Intrinsic::SMax,
            (Lane::Int { signed: true }, false) => Intrinsic::SMin,
            (_, true) => Intrinsic::UMax,
            (_, false) => Intrinsic::UMin,
        };
        self.intrinsic(intrinsic, ty, &[a, b])
    }

    fn binary(&mut self, name: &str, lane: Lane, a: Value, b: Value) -> Option<Value> {
        let signed = lane == Lane::Int { signed: true };
        let float = lane == Lane::Float;
        let ty = self.val_ty(a);
        Some(match name {
            "add" if float => self.fadd(a, b),
            "sub" if float => self.fsub(a, b),
            "mul" if float => self.fmul(a, b),
            "div" if float => self.fdiv(a, b),
            "rem" if float => self.frem(a, b),
            "add" => self.add(a, b),
            "sub" => self.sub(a, b),
            "mul" => self.mul(a, b),
            "div" if signed => self.sdiv(a, b),
            "div" => self.udiv(a, b),
            "rem" if signed => self.srem(a, b),
            "rem" => self.urem(a, b),
            "shl" => self.shl(a, b),
            "shr" if signed => self.ashr(a, b),
            "shr" => self.lshr(a, b),
            "and" => self.and(a, b),
            "or" => self.or(a, b),
            "xor" => self.xor(a, b),
            "max" | "maximum_number_nsz" => self.extreme(true, lane, a, b),
            "min" | "minimum_number_nsz" => self.extreme(false, lane, a, b),
            "saturating_add" | "saturating_sub" => {
                let intrinsic = match (name, signed) {
                    ("saturating_add", true) => Intrinsic::SAddSat,
                    ("saturating_add", false) => Intrinsic::UAddSat,
                    (_, true) => Intrinsic::SSubSat,
                    (_, false) => Intrinsic::USubSat,
                };
                self.intrinsic(intrinsic, ty, &[a, b])
            }
            "carryless_mul" => self.carryless_product(a, b),
            _ => return None,
        })
    }

    /// Returns the carry-less product: long multiplication with XOR in place of addition.
    fn carryless_product(&mut self, a: Value, b: Value) -> Value {
        let ty = self.val_ty(a);
        let one = self.const_uint(ty, 1);
        let mut product = self.const_uint(ty, 0);
        for bit in 0..self.int_width(ty) {
            let by = self.const_uint(ty, bit);
            let digit = self.lshr(b, by);
            let digit = self.and(digit, one);
            let all_or_none = self.neg(digit);
            let shifted = self.shl(a, by);
            let term = self.and(shifted, all_or_none);
            product = self.xor(product, term);
        }
        product
    }

    fn unary(&mut self, name: &str, lane: Lane, element: Ty<'tcx>, a: Value) -> Option<Value> {
        let ty = self.val_ty(a);
        let no = self.const_bool(false);
        let direct = |this: &mut Self, intrinsic| this.intrinsic(intrinsic, ty, &[a]);
        Some(match name {
            "neg" if lane == Lane::Float => self.fneg(a),
            "neg" => self.neg(a),
            "fabs" => direct(self, Intrinsic::Fabs),
            "fsqrt" => direct(self, Intrinsic::Sqrt),
            "floor" => direct(self, Intrinsic::Floor),
            "ceil" => direct(self, Intrinsic::Ceil),
            "trunc" => direct(self, Intrinsic::Trunc),
            "round" => direct(self, Intrinsic::Round),
            "round_ties_even" => direct(self, Intrinsic::Rint),
            "ctpop" => direct(self, Intrinsic::Ctpop),
            "bitreverse" => direct(self, Intrinsic::Bitreverse),
            "bswap" if self.int_width(ty) == 8 => a,
            "bswap" => direct(self, Intrinsic::Bswap),
            "ctlz" => self.intrinsic(Intrinsic::Ctlz, ty, &[a, no]),
            "cttz" => self.intrinsic(Intrinsic::Cttz, ty, &[a, no]),
            "fsin" | "fcos" | "fexp" | "fexp2" | "flog" | "flog2" | "flog10" => {
                self.libdevice_of(&name[1..], element, &[a])?
            }
            _ => return None,
        })
    }

    fn convert(&mut self, wrapping: bool, from: Lane, to: Ty<'tcx>, value: Value) -> Value {
        let layout = self.layout_of(to);
        let ty = self.backend_type(layout);
        match (from, lane(to)) {
            (Lane::Int { signed }, Lane::Int { .. }) => self.intcast(value, ty, signed),
            (Lane::Int { signed: true }, Lane::Float) => self.sitofp(value, ty),
            (Lane::Int { .. }, Lane::Float) => self.uitofp(value, ty),
            // `simd_as` saturates as `as` does; `simd_cast` may assume that the value fits.
            (Lane::Float, Lane::Int { signed }) => match (signed, wrapping) {
                (true, true) => self.fptosi_sat(value, ty),
                (false, true) => self.fptoui_sat(value, ty),
                (true, false) => self.fptosi(value, ty),
                (false, false) => self.fptoui(value, ty),
            },
            (Lane::Float, Lane::Float) => {
                let (a, b) = (self.float_width(self.val_ty(value)), self.float_width(ty));
                match a.cmp(&b) {
                    std::cmp::Ordering::Less => self.fpext(value, ty),
                    std::cmp::Ordering::Equal => value,
                    std::cmp::Ordering::Greater => self.fptrunc(value, ty),
                }
            }
            (Lane::Pointer, Lane::Int { .. }) => self.ptrtoint(value, ty),
            (Lane::Int { .. }, Lane::Pointer) => self.inttoptr(value, ty),
            (Lane::Pointer, _) | (_, Lane::Pointer) => value,
        }
    }

    fn reduce(
        &mut self,
        name: &str,
        kind: Lane,
        args: &[OperandRef<'tcx, Value>],
    ) -> Option<Value> {
        let vector = self.vector_arg(&args[0]);
        let lanes = self.lanes(vector);
        let fold = |this: &mut Self, start: Option<Value>, op: &str| {
            let mut lanes = lanes.iter().copied();
            let mut result = match start {
                Some(start) => start,
                None => lanes.next()?,
            };
            for lane in lanes {
                result = this.binary(op, kind, result, lane)?;
            }
            Some(result)
        };
        match name {
            "add_ordered" => fold(self, Some(args[1].immediate()), "add"),
            "mul_ordered" => fold(self, Some(args[1].immediate()), "mul"),
            "add_unordered" => fold(self, None, "add"),
            "mul_unordered" => fold(self, None, "mul"),
            "max" | "min" | "and" | "or" | "xor" => fold(self, None, name),
            "all" | "any" => {
                let mut result = self.const_bool(name == "all");
                for lane in lanes {
                    let set = self.is_set(lane);
                    result = if name == "all" {
                        self.and(result, set)
                    } else {
                        self.or(result, set)
                    };
                }
                Some(result)
            }
            _ => None,
        }
    }

    /// Returns the result of an operation on the lanes of three vectors, the first of which is
    /// `lanes`.
    fn ternary(&mut self, name: &str, lanes: &[Value], args: &[OperandRef<'tcx, Value>]) -> Value {
        let (second, third) = (self.vector_arg(&args[1]), self.vector_arg(&args[2]));
        let (second, third) = (self.lanes(second), self.lanes(third));
        let intrinsic = match name {
            "funnel_shl" => Intrinsic::Fshl,
            "funnel_shr" => Intrinsic::Fshr,
            _ => Intrinsic::Fma,
        };
        let mut out = Vec::new();
        for ((&a, &b), &c) in lanes.iter().zip(&second).zip(&third) {
            let ty = self.val_ty(a);
            out.push(self.intrinsic(intrinsic, ty, &[a, b, c]));
        }
        self.vector_of(&out)
    }

    /// Returns an integer with a bit for each lane of a mask.
    fn bitmask(&mut self, lanes: &[Value]) -> Value {
        let bits = lanes.len().next_multiple_of(8) as u64;
        let ty = self.int(bits);
        let mut mask = self.const_null(ty);
        for (i, &lane) in lanes.iter().enumerate() {
            let set = self.is_set(lane);
            let wide = self.intcast(set, ty, false);
            let shift = self.const_uint(ty, i as u64);
            let bit = self.shl(wide, shift);
            mask = self.or(mask, bit);
        }
        mask
    }

    /// Loads or stores the lanes whose mask bit is set. Returns the loaded vector, which has the
    /// lanes of `values` where the bit is not set; the result of a store has no meaning.
    fn masked_access(
        &mut self,
        mask: &[Value],
        pointers: &[Value],
        values: &[Value],
        align: Align,
        store: bool,
    ) -> Value {
        let mut results = Vec::new();
        for ((&set, &pointer), &value) in mask.iter().zip(pointers).zip(values) {
            let access = self.append_sibling_block("lane");
            let next = self.append_sibling_block("lane_next");
            let before = self.block;
            self.cond_br(set, access, next);
            self.switch_to_block(access);
            let ty = self.val_ty(value);
            let loaded = if store {
                self.store(value, pointer, align);
                value
            } else {
                self.load(ty, pointer, align)
            };
            self.br(next);
            self.switch_to_block(next);
            if !store {
                results.push(self.ir(|b| b.phi(ty, vec![(value, before), (loaded, access)])));
            }
        }
        match results[..] {
            [] => self.const_undef(self.cx.ty(|t| t.void())),
            _ => self.vector_of(&results),
        }
    }
}

/// Returns the result of a SIMD intrinsic, or `None` if the intrinsic is unknown.
pub(crate) fn intrinsic<'tcx>(
    bx: &mut Builder<'_, 'tcx>,
    name: Symbol,
    instance: Instance<'tcx>,
    args: &[OperandRef<'tcx, Value>],
    result: TyAndLayout<'tcx>,
) -> Option<Value> {
    let name = name.as_str().strip_prefix("simd_")?;
    let tcx = bx.tcx;
    if name == "splat" {
        let (count, _) = result.ty.simd_size_and_type(tcx);
        let value = args[0].immediate();
        let value = bx.from_immediate(value);
        return Some(bx.vector_splat(count as usize, value));
    }
    if name == "select_bitmask" || name == "select" {
        let (count, _) = args[1].layout.ty.simd_size_and_type(tcx);
        let mask = bx.mask(&args[0], count as usize);
        let (yes, no) = (bx.vector_arg(&args[1]), bx.vector_arg(&args[2]));
        let (yes, no) = (bx.lanes(yes), bx.lanes(no));
        let lanes: Vec<Value> = mask
            .iter()
            .zip(yes.iter().zip(&no))
            .map(|(&m, (&y, &n))| bx.select(m, y, n))
            .collect();
        return Some(bx.vector_of(&lanes));
    }
    let element_of = |ty: Ty<'tcx>| ty.is_simd().then(|| ty.simd_size_and_type(tcx).1);
    let element = element_of(args.first()?.layout.ty)?;
    let kind = lane(element);
    let first = bx.vector_arg(&args[0]);
    let lanes = bx.lanes(first);
    let result_element = element_of(result.ty);
    Some(match name {
        "insert" | "insert_dyn" => {
            let value = args[2].immediate();
            let value = bx.from_immediate(value);
            bx.ir(|b| b.insert_element(first, value, args[1].immediate()))
        }
        "extract" | "extract_dyn" => {
            let value = bx.extract_element(first, args[1].immediate());
            match result.backend_repr {
                BackendRepr::Scalar(scalar) => bx.to_immediate_scalar(value, scalar),
                _ => value,
            }
        }
        "shuffle" => {
            let second = bx.vector_arg(&args[1]);
            let mut all = lanes;
            all.extend(bx.lanes(second));
            let indices = shuffle_indices(bx, &args[2])?;
            let picked: Option<Vec<Value>> = indices
                .iter()
                .map(|&i| all.get(i as usize).copied())
                .collect();
            bx.vector_of(&picked?)
        }
        "eq" | "ne" | "lt" | "le" | "gt" | "ge" => {
            let second = bx.vector_arg(&args[1]);
            let other = bx.lanes(second);
            let layout = bx.layout_of(result_element?);
            let ty = bx.backend_type(layout);
            let out: Vec<Value> = lanes
                .iter()
                .zip(&other)
                .map(|(&a, &b)| {
                    let bit = bx.compare(name, kind, a, b);
                    bx.sext(bit, ty)
                })
                .collect();
            bx.vector_of(&out)
        }
        "cast" | "as" | "cast_ptr" | "expose_provenance" | "with_exposed_provenance" => {
            let to = result_element?;
            let out: Vec<Value> = lanes
                .iter()
                .map(|&v| bx.convert(name == "as", kind, to, v))
                .collect();
            bx.vector_of(&out)
        }
        "fma" | "relaxed_fma" | "funnel_shl" | "funnel_shr" => bx.ternary(name, &lanes, args),
        "arith_offset" => {
            let second = bx.vector_arg(&args[1]);
            let offsets = bx.lanes(second);
            let pointee = element.builtin_deref(true)?;
            let layout = bx.layout_of(pointee);
            let ty = bx.backend_type(layout);
            let out: Vec<Value> = lanes
                .iter()
                .zip(&offsets)
                .map(|(&p, &o)| bx.gep(ty, p, &[o]))
                .collect();
            bx.vector_of(&out)
        }
        "bitmask" => bx.bitmask(&lanes),
        "gather" | "scatter" => {
            let pointers = bx.vector_arg(&args[1]);
            let pointers = bx.lanes(pointers);
            let mask = bx.mask(&args[2], lanes.len());
            let align = bx.layout_of(element).align.abi;
            bx.masked_access(&mask, &pointers, &lanes, align, name == "scatter")
        }
        "masked_load" | "masked_store" => {
            let values = bx.vector_arg(&args[2]);
            let values = bx.lanes(values);
            let mask = bx.mask(&args[0], values.len());
            let base = args[1].immediate();
            let element = args[2].layout.ty.simd_size_and_type(tcx).1;
            let layout = bx.layout_of(element);
            let ty = bx.backend_type(layout);
            let pointers: Vec<Value> = (0..values.len())
                .map(|i| {
                    let index = bx.const_usize(i as u64);
                    bx.gep(ty, base, &[index])
                })
                .collect();
            // The guaranteed alignment is at least this one, or none.
            let align = match masked_alignment(instance) {
                Some(0) => Align::ONE,
                _ => layout.align.abi,
            };
            bx.masked_access(&mask, &pointers, &values, align, name == "masked_store")
        }
        _ => match name.strip_prefix("reduce_") {
            Some(name) => bx.reduce(name, kind, args)?,
            None => {
                let out: Option<Vec<Value>> = if let Some(second) = args.get(1) {
                    let second = bx.vector_arg(second);
                    let other = bx.lanes(second);
                    lanes
                        .iter()
                        .zip(&other)
                        .map(|(&a, &b)| bx.binary(name, kind, a, b))
                        .collect()
                } else {
                    lanes
                        .iter()
                        .map(|&a| bx.unary(name, kind, element, a))
                        .collect()
                };
                bx.vector_of(&out?)
            }
        },
    })
}

/// Returns the constant indices of a shuffle: a constant vector.
fn shuffle_indices<'tcx>(
    bx: &Builder<'_, 'tcx>,
    arg: &OperandRef<'tcx, Value>,
) -> Option<Vec<u128>> {
    let OperandValue::Immediate(vector) = arg.val else {
        return None;
    };
    let module = bx.module.borrow();
    let Kind::Vector(_, count) = *module.types.kind(module.ty(vector)) else {
        return None;
    };
    match module.as_const(vector)? {
        nvvm_ir::Const::Aggregate(elements) => elements
            .iter()
            .map(|&e| match module.as_const(e)? {
                nvvm_ir::Const::Int(index) => Some(*index),
                _ => None,
            })
            .collect(),
        nvvm_ir::Const::Zero => Some(vec![0; count as usize]),
        _ => None,
    }
}

/// Returns the `SimdAlign` of a masked access: 0 unaligned, 1 the element's, 2 the vector's.
fn masked_alignment(instance: Instance<'_>) -> Option<u32> {
    let branch = instance.args.const_at(3).try_to_value()?.to_branch();
    Some(branch.first()?.to_leaf().to_u32())
}
