//! Lowers instructions of SSE and SSE2 lane by lane, for crates that call them without feature
//! detection because all x86-64 processors have them.
//!
//! `core` expresses most functions of `std::arch` by portable operations. These are the others,
//! without `rcp` and `rsqrt`, whose results depend on the processor, and without access to the
//! processor's state and caches.

use nvvm_ir::{Intrinsic, Type, Value};
use rustc_codegen_ssa::common::{IntPredicate, RealPredicate, SynchronizationScope};
use rustc_codegen_ssa::traits::*;
use rustc_middle::ty::AtomicOrdering;

use crate::builder::Builder;

impl<'a, 'tcx> Builder<'a, 'tcx> {
    /// Lowers the instruction `name`, such as `sse2.pmulhu.w`, and returns its result of type
    /// `ret`. Returns `None` if the instruction has no equivalent.
    pub(crate) fn sse(&mut self, name: &str, ret: Type, args: &[Value]) -> Option<Value> {
        let name = name.strip_prefix("sse2.").or(name.strip_prefix("sse."))?;
        let value = match (name, args) {
            ("sfence" | "lfence" | "mfence", []) => {
                let order = AtomicOrdering::SeqCst;
                self.atomic_fence(order, SynchronizationScope::CrossThread);
                self.const_undef(self.type_i32())
            }
            ("pmulh.w" | "pmulhu.w", &[a, b]) => {
                let signed = name == "pmulh.w";
                self.widened(a, b, signed, 16, |bx, a, b| {
                    let product = bx.mul(a, b);
                    let shift = bx.const_i32(16);
                    bx.lshr(product, shift)
                })
            }
            ("pavg.b" | "pavg.w", &[a, b]) => {
                let bits = if name == "pavg.b" { 8 } else { 16 };
                self.widened(a, b, false, bits, |bx, a, b| {
                    let (sum, one) = (bx.add(a, b), bx.const_i32(1));
                    let rounded = bx.add(sum, one);
                    bx.lshr(rounded, one)
                })
            }
            ("pmadd.wd", &[a, b]) => {
                let (a, b) = (self.wide_lanes(a, true), self.wide_lanes(b, true));
                let products: Vec<Value> = (a.into_iter().zip(b))
                    .map(|(a, b)| self.mul(a, b))
                    .collect();
                let sums: Vec<Value> = (products.chunks(2))
                    .map(|pair| self.add(pair[0], pair[1]))
                    .collect();
                self.vector_of(&sums)
            }
            ("psad.bw", &[a, b]) => {
                let (a, b) = (self.wide_lanes(a, false), self.wide_lanes(b, false));
                let distances: Vec<Value> = (a.into_iter().zip(b))
                    .map(|(a, b)| {
                        let (forward, backward) = (self.sub(a, b), self.sub(b, a));
                        self.extreme_of(Intrinsic::SMax, forward, backward)
                    })
                    .collect();
                let i64 = self.type_i64();
                let sums: Vec<Value> = (distances.chunks(8))
                    .map(|part| {
                        let sum = part[1..].iter().fold(part[0], |sum, &it| self.add(sum, it));
                        self.zext(sum, i64)
                    })
                    .collect();
                self.vector_of(&sums)
            }
            ("packsswb.128", &[a, b]) => self.packed(a, b, 8, -0x80, 0x7f),
            ("packuswb.128", &[a, b]) => self.packed(a, b, 8, 0, 0xff),
            ("packssdw.128", &[a, b]) => self.packed(a, b, 16, -0x8000, 0x7fff),
            (
                "psll.w" | "psll.d" | "psll.q" | "psrl.w" | "psrl.d" | "psrl.q" | "psra.w"
                | "psra.d",
                &[a, count],
            ) => self.shifted(&name[..4], a, count),
            ("min.ps" | "min.pd", &[a, b]) => self.each_lane(a, b, Self::less),
            ("max.ps" | "max.pd", &[a, b]) => self.each_lane(a, b, Self::greater),
            ("min.ss" | "min.sd", &[a, b]) => self.first_lane(a, b, Self::less),
            ("max.ss" | "max.sd", &[a, b]) => self.first_lane(a, b, Self::greater),
            ("cmp.ps" | "cmp.pd" | "cmp.ss" | "cmp.sd", &[a, b, predicate]) => {
                let predicate = comparison(self.const_to_opt_uint(predicate)?)?;
                let compare = |bx: &mut Self, a, b| bx.mask_of(predicate, a, b);
                match name.starts_with("cmp.p") {
                    true => self.each_lane(a, b, compare),
                    false => self.first_lane(a, b, compare),
                }
            }
            ("cvtsd2ss", &[a, b]) => {
                let f32 = self.type_f32();
                let double = self.lanes(b)[0];
                let first = self.fptrunc(double, f32);
                self.with_first(a, first)
            }
            ("cvtss2si" | "cvtsd2si" | "cvtss2si64" | "cvtsd2si64", &[a]) => {
                let first = self.lanes(a)[0];
                self.int_of(first, ret, Intrinsic::Rint)
            }
            ("cvttss2si" | "cvttsd2si" | "cvttss2si64" | "cvttsd2si64", &[a]) => {
                let first = self.lanes(a)[0];
                self.int_of(first, ret, Intrinsic::Trunc)
            }
            ("cvtps2dq" | "cvtpd2dq", &[a]) => self.ints_of(a, Intrinsic::Rint),
            ("cvttps2dq" | "cvttpd2dq", &[a]) => self.ints_of(a, Intrinsic::Trunc),
            (_, &[a, b]) => {
                let compared = name.strip_prefix('u').unwrap_or(name);
                let predicate = match compared.strip_prefix("comi")?.split_once('.')?.0 {
                    "eq" => RealPredicate::RealOEQ,
                    "lt" => RealPredicate::RealOLT,
                    "le" => RealPredicate::RealOLE,
                    "gt" => RealPredicate::RealOGT,
                    "ge" => RealPredicate::RealOGE,
                    "neq" => RealPredicate::RealUNE,
                    _ => return None,
                };
                let (a, b) = (self.lanes(a)[0], self.lanes(b)[0]);
                let holds = self.fcmp(predicate, a, b);
                self.zext(holds, ret)
            }
            _ => return None,
        };
        Some(value)
    }

    /// Returns the lanes of a vector of integers as `i32`s.
    fn wide_lanes(&mut self, vector: Value, signed: bool) -> Vec<Value> {
        let i32 = self.type_i32();
        let lanes = self.lanes(vector);
        let wide = lanes
            .into_iter()
            .map(|lane| self.intcast(lane, i32, signed));
        wide.collect()
    }

    /// Computes each lane as an `i32`, and truncates it to `bits`.
    fn widened(
        &mut self,
        a: Value,
        b: Value,
        signed: bool,
        bits: u64,
        mut f: impl FnMut(&mut Self, Value, Value) -> Value,
    ) -> Value {
        let narrow = self.int(bits);
        let (a, b) = (self.wide_lanes(a, signed), self.wide_lanes(b, signed));
        let lanes: Vec<Value> = (a.into_iter().zip(b))
            .map(|(a, b)| {
                let wide = f(self, a, b);
                self.trunc(wide, narrow)
            })
            .collect();
        self.vector_of(&lanes)
    }

    fn each_lane(
        &mut self,
        a: Value,
        b: Value,
        mut f: impl FnMut(&mut Self, Value, Value) -> Value,
    ) -> Value {
        let (a, b) = (self.lanes(a), self.lanes(b));
        let lanes: Vec<Value> = a.into_iter().zip(b).map(|(a, b)| f(self, a, b)).collect();
        self.vector_of(&lanes)
    }

    /// Computes the first lane. The others are those of `a`.
    fn first_lane(
        &mut self,
        a: Value,
        b: Value,
        f: impl FnOnce(&mut Self, Value, Value) -> Value,
    ) -> Value {
        let (first, second) = (self.lanes(a)[0], self.lanes(b)[0]);
        let first = f(self, first, second);
        self.with_first(a, first)
    }

    fn with_first(&mut self, vector: Value, first: Value) -> Value {
        let mut lanes = self.lanes(vector);
        lanes[0] = first;
        self.vector_of(&lanes)
    }

    /// Returns the lesser number, and `b` if one is NaN or both are zero.
    fn less(&mut self, a: Value, b: Value) -> Value {
        let first = self.fcmp(RealPredicate::RealOLT, a, b);
        self.select(first, a, b)
    }

    /// Returns the greater number, and `b` if one is NaN or both are zero.
    fn greater(&mut self, a: Value, b: Value) -> Value {
        let first = self.fcmp(RealPredicate::RealOGT, a, b);
        self.select(first, a, b)
    }

    /// Returns a float whose bits are all set if the comparison holds, and otherwise clear.
    fn mask_of(&mut self, predicate: RealPredicate, a: Value, b: Value) -> Value {
        let float = self.val_ty(a);
        let int = match float == self.type_f64() {
            true => self.type_i64(),
            false => self.type_i32(),
        };
        let holds = self.fcmp(predicate, a, b);
        let mask = self.sext(holds, int);
        self.bitcast(mask, float)
    }

    fn extreme_of(&mut self, intrinsic: Intrinsic, a: Value, b: Value) -> Value {
        let ty = self.val_ty(a);
        self.intrinsic(intrinsic, ty, &[a, b])
    }

    /// Clamps the signed lanes of `a` and `b` to `min..=max`, and returns all in one vector.
    fn packed(&mut self, a: Value, b: Value, bits: u64, min: i32, max: i32) -> Value {
        let narrow = self.int(bits);
        let (min, max) = (self.const_i32(min), self.const_i32(max));
        let mut lanes = self.wide_lanes(a, true);
        lanes.extend(self.wide_lanes(b, true));
        for lane in &mut lanes {
            let below = self.extreme_of(Intrinsic::SMin, *lane, max);
            let clamped = self.extreme_of(Intrinsic::SMax, below, min);
            *lane = self.trunc(clamped, narrow);
        }
        self.vector_of(&lanes)
    }

    /// Shifts all lanes by the number in the lower 64 bits of `count`, which may be greater than
    /// the number of bits of a lane.
    fn shifted(&mut self, shift: &str, vector: Value, count: Value) -> Value {
        let i64 = self.type_i64();
        let pair = self.cx.ty(|types| types.vector(i64, 2));
        let pair = self.bitcast(count, pair);
        let count = self.lanes(pair)[0];
        let lanes = self.lanes(vector);
        let ty = self.val_ty(lanes[0]);
        let bits = 128 / lanes.len() as u64;
        let last = self.const_uint(i64, bits - 1);
        let in_range = self.icmp(IntPredicate::IntULE, count, last);
        let count = self.select(in_range, count, last);
        let count = self.intcast(count, ty, false);
        let zero = self.const_null(ty);
        let lanes: Vec<Value> = (lanes.into_iter())
            .map(|lane| match shift {
                "psra" => self.ashr(lane, count),
                _ => {
                    let shifted = match shift {
                        "psll" => self.shl(lane, count),
                        _ => self.lshr(lane, count),
                    };
                    self.select(in_range, shifted, zero)
                }
            })
            .collect();
        self.vector_of(&lanes)
    }

    /// Converts a rounded float. The result is the least integer if the float is out of range.
    fn int_of(&mut self, float: Value, ty: Type, rounding: Intrinsic) -> Value {
        let float_ty = self.val_ty(float);
        let rounded = self.intrinsic(rounding, float_ty, &[float]);
        let min = match ty == self.type_i64() {
            true => i64::MIN,
            false => i32::MIN.into(),
        };
        let first = self.const_real(float_ty, min as f64);
        let end = self.const_real(float_ty, -(min as f64));
        let not_below = self.fcmp(RealPredicate::RealOGE, rounded, first);
        let below_end = self.fcmp(RealPredicate::RealOLT, rounded, end);
        let in_range = self.and(not_below, below_end);
        let int = self.fptosi(rounded, ty);
        let min = self.const_int(ty, min);
        self.select(in_range, int, min)
    }

    /// Converts all lanes to `i32`s. The lanes that two `f64`s leave are zero.
    fn ints_of(&mut self, vector: Value, rounding: Intrinsic) -> Value {
        let i32 = self.type_i32();
        let lanes = self.lanes(vector);
        let mut ints: Vec<Value> = (lanes.into_iter())
            .map(|lane| self.int_of(lane, i32, rounding))
            .collect();
        ints.resize(4, self.const_i32(0));
        self.vector_of(&ints)
    }
}

/// Returns the predicate of the immediate of `cmpps`.
fn comparison(immediate: u64) -> Option<RealPredicate> {
    Some(match immediate {
        0 => RealPredicate::RealOEQ,
        1 => RealPredicate::RealOLT,
        2 => RealPredicate::RealOLE,
        3 => RealPredicate::RealUNO,
        4 => RealPredicate::RealUNE,
        5 => RealPredicate::RealUGE,
        6 => RealPredicate::RealUGT,
        7 => RealPredicate::RealORD,
        _ => return None,
    })
}
