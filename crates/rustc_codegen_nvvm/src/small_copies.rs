//! Emits small copies as loads and stores of words in optimized code.
//!
//! SROA in libnvvm's LLVM turns a `memcpy` between variables into loads and stores of whole
//! aggregates. It has lost a field that was stored before the remaining fields were copied around
//! it (`Thing { field: x, ..other }` in a loop; libnvvm 13.0). SROA promotes words to values
//! correctly, and the `memcpy` would end up as words anyway.
//!
//! The halves of a word that are scalars of their own are copied separately. SROA promotes them to
//! values of their own, too, but LLVM keeps a copied word in addition, and computes both whenever
//! the variable changes. Loads and stores of adjacent halves become those of a vector.

use std::collections::HashSet;

use nvvm_ir::Value;
use rustc_abi::{Align, BackendRepr, FieldsShape, HasDataLayout, Size, Variants};
use rustc_codegen_ssa::mir::place::PlaceValue;
use rustc_codegen_ssa::traits::{BaseTypeCodegenMethods, BuilderMethods, ConstCodegenMethods};
use rustc_middle::ty::layout::TyAndLayout;

use crate::builder::Builder;
use crate::context::CodegenCx;

/// The maximum number of words in a small copy.
const WORDS: u64 = 16;
/// The maximum for words of one or two bytes. Data copied in such words may later be read in larger
/// ones.
const NARROW_WORDS: u64 = 4;

/// Returns the words of a copy as pairs of offset and size, in bytes, or `None` if the copy is not
/// small.
fn words(size: u64, align: u64) -> Option<Vec<(u64, u64)>> {
    let unit = align.min(8);
    let most = if unit < 4 { NARROW_WORDS } else { WORDS };
    if size > most * unit {
        return None;
    }
    let mut words = Vec::new();
    let mut at = 0;
    while at < size {
        // The tail, if the size is not a multiple of the unit.
        let left = size - at;
        let bytes = unit.min(1 << left.ilog2());
        words.push((at, bytes));
        at += bytes;
    }
    Some(words)
}

/// Splits the words of eight bytes of which both halves are scalars, given the offsets of the
/// scalars of four bytes, unless that makes too many words.
fn split(words: Vec<(u64, u64)>, scalars: &HashSet<u64>) -> Vec<(u64, u64)> {
    let parts = |&(at, bytes): &(u64, u64)| match bytes == 8
        && scalars.contains(&at)
        && scalars.contains(&(at + 4))
    {
        true => vec![(at, 4), (at + 4, 4)],
        false => vec![(at, bytes)],
    };
    let split: Vec<(u64, u64)> = words.iter().flat_map(parts).collect();
    match split.len() as u64 <= WORDS {
        true => split,
        false => words,
    }
}

/// Adds the offsets of the scalars of four bytes of a value at an offset, except in unions and
/// enums, of which the active field is unknown.
fn add_scalars<'tcx>(
    cx: &CodegenCx<'tcx>,
    layout: TyAndLayout<'tcx>,
    at: Size,
    scalars: &mut HashSet<u64>,
) {
    let mut add = |size: Size, at: Size| {
        if size.bytes() == 4 {
            scalars.insert(at.bytes());
        }
    };
    match layout.backend_repr {
        BackendRepr::Scalar(scalar) => add(scalar.size(cx.data_layout()), at),
        BackendRepr::ScalarPair { a, b, b_offset } => {
            add(a.size(cx.data_layout()), at);
            add(b.size(cx.data_layout()), at + b_offset);
        }
        BackendRepr::Memory { .. }
            if matches!(layout.variants, Variants::Single { .. })
                && matches!(
                    layout.fields,
                    FieldsShape::Array { .. } | FieldsShape::Arbitrary { .. }
                ) =>
        {
            for index in 0..layout.fields.count() {
                let offset = at + layout.fields.offset(index);
                add_scalars(cx, layout.field(cx, index), offset, scalars);
            }
        }
        _ => {}
    }
}

/// Emits a small copy of a value of a type. Returns false, and emits nothing, if the copy is not
/// small.
pub(crate) fn copy_typed<'tcx>(
    bx: &mut Builder<'_, 'tcx>,
    dst: PlaceValue<Value>,
    src: PlaceValue<Value>,
    layout: TyAndLayout<'tcx>,
) -> bool {
    let align = dst.align.min(src.align);
    let Some(words) = words(layout.size.bytes(), align.bytes()) else {
        return false;
    };
    let mut scalars = HashSet::new();
    if words.iter().any(|&(_, bytes)| bytes == 8) {
        add_scalars(bx.cx, layout, Size::ZERO, &mut scalars);
    }
    copy_words(
        bx,
        (dst.llval, dst.align),
        (src.llval, src.align),
        split(words, &scalars),
    );
    true
}

/// Emits a small copy. Returns false, and emits nothing, if the copy is not small.
pub(crate) fn copy(
    bx: &mut Builder<'_, '_>,
    dst: (Value, Align),
    src: (Value, Align),
    size: Value,
) -> bool {
    let align = dst.1.min(src.1);
    let small = (bx.cx.const_to_opt_uint(size)).and_then(|size| words(size, align.bytes()));
    let Some(words) = small else {
        return false;
    };
    copy_words(bx, dst, src, words);
    true
}

/// Emits loads and stores of words.
fn copy_words(
    bx: &mut Builder<'_, '_>,
    (dst, dst_align): (Value, Align),
    (src, src_align): (Value, Align),
    words: Vec<(u64, u64)>,
) {
    for (at, bytes) in words {
        let ty = match bytes {
            1 => bx.cx.type_i8(),
            2 => bx.cx.type_i16(),
            4 => bx.cx.type_i32(),
            _ => bx.cx.type_i64(),
        };
        let offset = bx.cx.const_usize(at);
        let (from, to) = (
            bx.inbounds_ptradd(src, offset),
            bx.inbounds_ptradd(dst, offset),
        );
        // Source and destination keep their own alignments: LLVM combines loads of words that are
        // aligned as a whole into a vector load, also if the destination has a smaller alignment.
        let at = rustc_abi::Size::from_bytes(at);
        let word = bx.load(ty, from, src_align.restrict_for_offset(at));
        bx.store(word, to, dst_align.restrict_for_offset(at));
    }
}

#[cfg(test)]
mod tests {
    use super::{split, words};

    #[test]
    fn words_cover_the_size() {
        assert_eq!(words(0, 8), Some(vec![]));
        assert_eq!(
            words(23, 8),
            Some(vec![(0, 8), (8, 8), (16, 4), (20, 2), (22, 1)])
        );
        assert_eq!(words(12, 16), Some(vec![(0, 8), (8, 4)]));
        assert_eq!(words(3, 1), Some(vec![(0, 1), (1, 1), (2, 1)]));
        assert_eq!(words(128, 8).map(|words| words.len()), Some(16));
        assert_eq!(
            (words(129, 8), words(5, 1), words(65, 4)),
            (None, None, None)
        );
    }

    #[test]
    fn words_of_two_scalars_are_split() {
        let whole = vec![(0, 8), (8, 8), (16, 4)];
        let parts = |scalars: &[u64]| split(whole.clone(), &scalars.iter().copied().collect());
        assert_eq!(
            parts(&[0, 4, 12, 16]),
            vec![(0, 4), (4, 4), (8, 8), (16, 4)]
        );
        assert_eq!(parts(&[4, 8]), whole);
        let many: Vec<(u64, u64)> = (0..16).map(|word| (word * 8, 8)).collect();
        assert_eq!(split(many.clone(), &[0, 4].into()), many);
    }
}
