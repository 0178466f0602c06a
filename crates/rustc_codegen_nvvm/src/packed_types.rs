//! Functions that handle values of packed types or of unions, whose loads and stores libnvvm must
//! not vectorize.
//!
//! An `f64` in a `packed(4)` struct is loaded as two words. Where both an `i64` and a `double` are
//! needed, SROA creates both from the words. If the vectorizer has loaded the words as the middle
//! of a vector of four, instcombine shuffles them out for the first value, and for the second value
//! it shuffles the result of the first shuffle again: one word occurs twice, and the other is lost
//! (libnvvm 13.0, both dialects; LLVM's `visitShuffleVectorInst` overwrites the vector with which
//! its loop over the casts starts). Other types are loaded with their own type and are not
//! affected.

use rustc_data_structures::fx::{FxHashMap, FxHashSet};
use rustc_middle::ty::layout::{HasTypingEnv, TyAndLayout};
use rustc_middle::ty::{self, Instance, Ty};

use crate::context::CodegenCx;

/// The number of pointers that are followed: a type may point to ever larger types.
const HOPS: usize = 4;

/// Whether types contain, or point to, a packed type or a union.
#[derive(Default)]
pub(crate) struct PackedTypes<'tcx>(FxHashMap<Ty<'tcx>, bool>);

impl<'tcx> PackedTypes<'tcx> {
    /// Returns whether a function has a variable that contains, or points to, a value of a packed
    /// type or of a union.
    pub(crate) fn are_handled_by(
        &mut self,
        cx: &CodegenCx<'tcx>,
        instance: Instance<'tcx>,
    ) -> bool {
        let body = cx.tcx.instance_mir(instance.def);
        body.local_decls.iter().any(|local| {
            let ty = instance.instantiate_mir_and_normalize_erasing_regions(
                cx.tcx,
                cx.typing_env(),
                ty::EarlyBinder::bind(cx.tcx, local.ty),
            );
            *self.0.entry(ty).or_insert_with(|| holds_packed(cx, ty))
        })
    }
}

/// Returns whether a type contains, or points to, a packed type or a union.
fn holds_packed<'tcx>(cx: &CodegenCx<'tcx>, ty: Ty<'tcx>) -> bool {
    let mut seen = FxHashSet::default();
    let mut rest = vec![(ty, HOPS)];
    while let Some((ty, hops)) = rest.pop() {
        if !seen.insert(ty) {
            continue;
        }
        match *ty.kind() {
            ty::Adt(adt, args) => {
                let fields: Vec<Ty<'tcx>> = adt
                    .all_fields()
                    .filter_map(|field| {
                        let ty = field.ty(cx.tcx, args);
                        let normal = cx.tcx.try_normalize_erasing_regions(cx.typing_env(), ty);
                        normal.ok()
                    })
                    .collect();
                if adt.repr().packed() && is_under_aligned(cx, ty, &fields)
                    || adt.is_union() && is_ambiguous(cx, &fields)
                {
                    return true;
                }
                rest.extend(fields.into_iter().map(|field| (field, hops)));
                // A `PhantomData` field marks a type that owns elements behind an untyped pointer.
                if adt.is_phantom_data() && hops > 0 {
                    rest.extend(args.types().map(|ty| (ty, hops - 1)));
                }
            }
            ty::Ref(_, inner, _) | ty::RawPtr(inner, _) if hops > 0 => rest.push((inner, hops - 1)),
            ty::Array(inner, _) | ty::Slice(inner) => rest.push((inner, hops)),
            ty::Tuple(parts) => rest.extend(parts.iter().map(|part| (part, hops))),
            ty::Closure(_, args) => {
                let captured = args.as_closure().upvar_tys();
                rest.extend(captured.iter().map(|ty| (ty, hops)));
            }
            _ => {}
        }
    }
    false
}

fn layout<'tcx>(cx: &CodegenCx<'tcx>, ty: Ty<'tcx>) -> Option<TyAndLayout<'tcx>> {
    cx.tcx.layout_of(cx.typing_env().as_query_input(ty)).ok()
}

/// Returns whether a field's offset is not a multiple of its type's alignment.
fn is_under_aligned<'tcx>(cx: &CodegenCx<'tcx>, ty: Ty<'tcx>, fields: &[Ty<'tcx>]) -> bool {
    let align = |ty| layout(cx, ty).map(|layout| layout.align.abi);
    fields.iter().any(|&field| align(field) > align(ty))
}

/// Returns whether a union has more than one field that is not zero-sized. `MaybeUninit` has one.
fn is_ambiguous<'tcx>(cx: &CodegenCx<'tcx>, fields: &[Ty<'tcx>]) -> bool {
    let holds = |&&ty: &&Ty<'tcx>| layout(cx, ty).is_some_and(|layout| !layout.is_zst());
    fields.iter().filter(holds).count() > 1
}
