//! The `simd_*` intrinsics.

use nvvm_ir::Value;
use rustc_codegen_ssa::mir::operand::OperandRef;
use rustc_codegen_ssa::mir::place::PlaceValue;
use rustc_middle::ty::Instance;
use rustc_middle::ty::layout::TyAndLayout;
use rustc_span::Symbol;

use crate::builder::Builder;

/// The result of a SIMD intrinsic, `None` if it is none that we know.
pub(crate) fn intrinsic<'tcx>(
    _bx: &mut Builder<'_, 'tcx>,
    _name: Symbol,
    _instance: Instance<'tcx>,
    _args: &[OperandRef<'tcx, Value>],
    _result: TyAndLayout<'tcx>,
    _place: Option<PlaceValue<Value>>,
) -> Option<Value> {
    None
}
