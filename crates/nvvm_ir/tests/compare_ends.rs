//! The pass `compare_ends` decides comparisons only as they are for all elements.

use nvvm_ir::passes::compare_ends;
use nvvm_ir::{Dialect, read_module, write_module};

/// Returns which of its two blocks the function for some numbers may reach after the pass.
fn reached([before, after, last, limit]: [u64; 4], pred: &str, number: Option<u64>) -> [bool; 2] {
    let comparison = match number {
        Some(number) => format!("icmp {pred} i64 %length, {number}"),
        None => format!("icmp {pred} i64 %high, %low"),
    };
    let text = format!(
        "declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)
declare void @llvm.assume(i1)
define i64 @f(i64 %x) {{
start:
  %is_inside = icmp ult i64 %x, {limit}
  call void @llvm.assume(i1 %is_inside)
  %low = call i64 @llvm.usub.sat.i64(i64 %x, i64 {before})
  %nearest = call i64 @llvm.umin.i64(i64 %x, i64 {last})
  %high = add nuw i64 %nearest, {after}
  %length = sub nuw i64 %high, %low
  %test = {comparison}
  br i1 %test, label %yes, label %no
yes:
  ret i64 11
no:
  ret i64 22
}}
"
    );
    let mut module = read_module(&text).unwrap();
    compare_ends(&mut module);
    let text = write_module(&module, Dialect::Modern);
    ["ret i64 11", "ret i64 22"].map(|it| text.contains(it))
}

#[test]
fn decided_comparisons_hold_for_all_elements() {
    let mut decided = 0;
    for all in 0..3u64 * 4 * 5 * 7 {
        let numbers = [all % 3, all / 3 % 4, all / 12 % 5, 1 + all / 60];
        let [before, after, last, limit] = numbers;
        for (pred, holds) in [
            ("eq", u64::eq as fn(&u64, &u64) -> bool),
            ("ne", u64::ne),
            ("ult", u64::lt),
            ("ule", u64::le),
            ("ugt", u64::gt),
            ("uge", u64::ge),
        ] {
            for number in [None, Some(0), Some(1), Some(2), Some(3)] {
                let reached = reached(numbers, pred, number);
                decided += u32::from(reached != [true, true]);
                for x in 0..limit {
                    let (low, high) = (x.saturating_sub(before), x.min(last) + after);
                    let outcome = match number {
                        // The difference of the ends must not be negative.
                        Some(_) if high < low => continue,
                        Some(number) => holds(&(high - low), &number),
                        None => holds(&high, &low),
                    };
                    assert!(
                        reached[usize::from(!outcome)],
                        "{numbers:?} {pred} {number:?}: {x}"
                    );
                }
            }
        }
    }
    assert!(decided > 1000, "{decided}");
}
