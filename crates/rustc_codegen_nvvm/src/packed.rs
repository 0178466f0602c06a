//! Functions that handle values of packed types or of unions, whose loads and stores libnvvm is not to
//! put together to vectors.
//!
//! An `f64` in a `packed(4)` struct is loaded by two words, which SROA makes an `i64` and a `double`
//! of, where both are wanted. If the vectorizer has loaded the words in the middle of four at once,
//! instcombine shuffles them out for the first of the two, and for the second it shuffles once more what
//! it has shuffled already: one word is there twice, and the other is gone (seen with libnvvm 13.0, in
//! both dialects; LLVM's own `visitShuffleVectorInst` writes over the vector that its loop over the
//! casts begins with). Other types than these are loaded as what they are.

use rustc_data_structures::fx::FxHashSet;
use rustc_middle::ty::layout::LayoutOf;
use rustc_middle::ty::{self, Instance, Ty};

use crate::context::CodegenCx;

/// How many types are looked at for a function's variable; there are types without end.
const MOST: usize = 1000;

/// Whether a function has such values, or pointers to them, among its variables.
pub(crate) fn handles_packed<'tcx>(cx: &CodegenCx<'tcx>, instance: Instance<'tcx>) -> bool {
    let typing_env = ty::TypingEnv::fully_monomorphized();
    cx.tcx
        .instance_mir(instance.def)
        .local_decls
        .iter()
        .any(|local| {
            let ty = instance.instantiate_mir_and_normalize_erasing_regions(
                cx.tcx,
                typing_env,
                ty::EarlyBinder::bind(cx.tcx, local.ty),
            );
            let known = cx.packed.borrow().get(&ty).copied();
            known.unwrap_or_else(|| {
                let found = holds_packed(cx, ty);
                cx.packed.borrow_mut().insert(ty, found);
                found
            })
        })
}

/// Whether there is a packed type or a union somewhere in a type, or where it points.
fn holds_packed<'tcx>(cx: &CodegenCx<'tcx>, ty: Ty<'tcx>) -> bool {
    let mut seen = FxHashSet::default();
    let mut rest = vec![ty];
    while let Some(ty) = rest.pop() {
        if seen.len() == MOST || !seen.insert(ty) {
            continue;
        }
        match *ty.kind() {
            ty::Adt(adt, args) => {
                let fields: Vec<Ty<'tcx>> = adt
                    .all_fields()
                    .map(|field| {
                        let ty = field.ty(cx.tcx, args);
                        let typing_env = ty::TypingEnv::fully_monomorphized();
                        cx.tcx.normalize_erasing_regions(typing_env, ty)
                    })
                    .collect();
                if adt.repr().packed() && is_under_aligned(cx, ty, &fields)
                    || adt.is_union() && is_ambiguous(cx, &fields)
                {
                    return true;
                }
                rest.extend(fields);
            }
            ty::Ref(_, inner, _)
            | ty::RawPtr(inner, _)
            | ty::Array(inner, _)
            | ty::Slice(inner) => {
                rest.push(inner);
            }
            ty::Tuple(parts) => rest.extend(parts),
            ty::Closure(_, args) => rest.extend(args.as_closure().upvar_tys()),
            _ => {}
        }
    }
    false
}

/// Whether a field lies where its type alone would not.
fn is_under_aligned<'tcx>(cx: &CodegenCx<'tcx>, ty: Ty<'tcx>, fields: &[Ty<'tcx>]) -> bool {
    let align = |ty| cx.layout_of(ty).align.abi;
    fields.iter().any(|&field| align(field) > align(ty))
}

/// Whether a union has more than one field that holds something; `MaybeUninit` has not.
fn is_ambiguous<'tcx>(cx: &CodegenCx<'tcx>, fields: &[Ty<'tcx>]) -> bool {
    let holds = |&&ty: &&Ty<'tcx>| !cx.layout_of(ty).is_zst();
    fields.iter().filter(holds).count() > 1
}
