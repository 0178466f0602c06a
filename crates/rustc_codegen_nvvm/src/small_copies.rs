//! Emits small copies as loads and stores of words in optimized code.
//!
//! SROA in libnvvm's LLVM turns a `memcpy` between variables into loads and stores of whole
//! aggregates. It has lost a field that was stored before the remaining fields were copied around
//! it (`Thing { field: x, ..other }` in a loop; libnvvm 13.0). SROA promotes words to values
//! correctly, and the `memcpy` would end up as words anyway.

use nvvm_ir::Value;
use rustc_abi::Align;
use rustc_codegen_ssa::traits::{BaseTypeCodegenMethods, BuilderMethods, ConstCodegenMethods};

use crate::builder::Builder;

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

/// Emits a small copy. Returns false, and emits nothing, if the copy is not small.
pub(crate) fn copy(
    bx: &mut Builder<'_, '_>,
    (dst, dst_align): (Value, Align),
    (src, src_align): (Value, Align),
    size: Value,
) -> bool {
    let align = dst_align.min(src_align);
    let small = (bx.cx.const_to_opt_uint(size)).and_then(|size| words(size, align.bytes()));
    let Some(words) = small else {
        return false;
    };
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
    true
}

#[cfg(test)]
mod tests {
    use super::words;

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
}
