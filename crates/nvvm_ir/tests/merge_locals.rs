//! `Exchange::merge_locals`: random functions behave the same before and after, and the variables that
//! it merges and those that it leaves apart.

mod trace;

use nvvm_ir::llvm::Exchange;
use nvvm_ir::{read_module, verify};

use trace::{Random, UNDEF, trace};

/// Merges the variables of a text, which remains valid.
fn merged(text: &str) -> String {
    let new = Exchange::merge_locals(text).unwrap();
    let module = read_module(&new).unwrap_or_else(|error| panic!("{error}\n{new}"));
    verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{new}"));
    new
}

/// The sizes of the variables in words.
const WORDS: [usize; 4] = [3, 3, 5, 3];

/// Appends a random access to the variables to a text.
fn access(random: &mut Random, text: &mut String, number: &mut usize) {
    *number += 1;
    let n = *number;
    let (a, b) = (random.below(4), random.below(4));
    // An address at a constant or variable index.
    let place = |random: &mut Random, text: &mut String, local: usize, name: String| {
        let index = match random.below(3) {
            0 => {
                *text += &format!("  {name}i = and i64 %i, 1\n");
                format!("{name}i")
            }
            _ => random.below(WORDS[local]).to_string(),
        };
        *text += &format!("  {name} = getelementptr inbounds i64, ptr %m{local}, i64 {index}\n");
    };
    match random.below(11) {
        0 | 1 => {
            place(random, text, a, format!("%p{n}"));
            *text += &format!("  %x{n} = add i64 %i, {n}\n");
            *text += &format!("  store i64 %x{n}, ptr %p{n}, align 8\n");
        }
        2 | 3 => {
            place(random, text, a, format!("%p{n}"));
            *text += &format!("  %x{n} = load i64, ptr %p{n}, align 8\n");
            *text += &format!("  call void @seen(i64 %x{n})\n");
        }
        4 => {
            place(random, text, a, format!("%p{n}"));
            place(random, text, b, format!("%q{n}"));
            *text += &format!("  %c{n} = icmp ult i64 %i, 3\n");
            *text += &format!("  %s{n} = select i1 %c{n}, ptr %p{n}, ptr %q{n}\n");
            *text += &format!("  store i64 %a, ptr %s{n}, align 8\n");
        }
        5..=7 => {
            let which = ["start", "end"][random.below(2)];
            *text += &format!("  call void @llvm.lifetime.{which}.p0(i64 -1, ptr %m{a})\n");
        }
        // Copies of a whole variable, as a part of the third one perhaps.
        kind => {
            let words = WORDS[a].min(WORDS[b]);
            let start = |random: &mut Random, local: usize| random.below(WORDS[local] - words + 1);
            let (from, to) = (start(random, a), start(random, b));
            if a == b {
                return;
            }
            let bytes = 8 * words;
            *text += &format!("  %p{n} = getelementptr inbounds i64, ptr %m{a}, i64 {from}\n");
            *text += &format!("  %q{n} = getelementptr inbounds i64, ptr %m{b}, i64 {to}\n");
            if kind < 10 {
                *text += &format!(
                    "  call void @llvm.memcpy.p0.p0.i64(ptr %q{n}, ptr %p{n}, i64 {bytes}, i1 false)\n"
                );
                return;
            }
            let mut stores = String::new();
            let at_once = random.below(2) == 0;
            for word in 0..words {
                for (name, base) in [("f", 'p'), ("t", 'q')] {
                    *text += &format!(
                        "  %{name}{n}.{word} = getelementptr inbounds i64, ptr %{base}{n}, i64 {word}\n"
                    );
                }
                *text += &format!("  %v{n}.{word} = load i64, ptr %f{n}.{word}, align 8\n");
                stores += &format!("  store i64 %v{n}.{word}, ptr %t{n}.{word}, align 8\n");
                if at_once {
                    *text += &std::mem::take(&mut stores);
                }
                if random.below(6) == 0 {
                    let local = random.below(4);
                    place(random, text, local, format!("%g{n}.{word}"));
                    *text += &format!("  store i64 {n}, ptr %g{n}.{word}, align 8\n");
                }
            }
            *text += &stores;
        }
    }
}

/// Returns a function with loops whose blocks access and copy variables.
fn random(random: &mut Random) -> String {
    let count = 2 + random.below(5);
    let mut text =
        "declare void @seen(i64)\n\ndefine void @f(i64 %a, i64 %b) {\nentry:\n".to_owned();
    for (local, words) in WORDS.iter().enumerate() {
        text += &format!("  %m{local} = alloca [{words} x i64], align 8\n");
    }
    text += "  %counter = alloca i64, align 8\n  store i64 %b, ptr %counter, align 8\n  br label %b0\n\n";
    let mut number = 0;
    for block in 0..count {
        text += &format!("b{block}:\n");
        // The number of the block in the trace, which differs each time.
        let own = format!("%own{block}");
        text += &format!("  {own} = load i64, ptr %counter, align 8\n");
        text += &format!("  %next{block} = add i64 {own}, 1\n");
        text += &format!("  store i64 %next{block}, ptr %counter, align 8\n");
        text += &format!("  call void @seen(i64 {own})\n");
        let mut accesses = String::new();
        for _ in 0..1 + random.below(6) {
            access(random, &mut accesses, &mut number);
        }
        text += &accesses.replace("%i,", &format!("{own},"));
        if block + 1 == count {
            text += &format!("  %k = icmp ult i64 {own}, 40\n");
            text += "  br i1 %k, label %b0, label %end\n\n";
            continue;
        }
        let other = random.below(count);
        text += &format!("  %bits{block} = and i64 {own}, {}\n", 1 + random.below(7));
        text += &format!("  %cond{block} = icmp eq i64 %bits{block}, 0\n");
        text += &format!(
            "  br i1 %cond{block}, label %b{other}, label %b{}\n\n",
            block + 1
        );
    }
    text + "end:\n  ret void\n}\n"
}

#[test]
fn random_functions_behave_the_same() {
    let mut state = Random(0x2545_f491_4f6c_dd1d);
    let mut changed = 0;
    for _ in 0..16_000 {
        let text = random(&mut state);
        let new = merged(&text);
        if new == text {
            continue;
        }
        changed += 1;
        for args in [[100, 1], [200, 0], [300, 8]] {
            let (old, now) = (trace(&text, args, 80), trace(&new, args, 80));
            let is_same = old.len() <= now.len()
                && (old.iter().zip(&now)).all(|(&old, &now)| old == UNDEF || old == now);
            assert!(is_same, "{args:?}\n{text}\n{new}\n{old:?}\n{now:?}");
        }
    }
    assert!(changed > 300, "{changed}");
}

/// A constructor that is called in a loop.
const LOOP: &str = "
define void @f(ptr %0, i64 %1) {
start:
  %2 = alloca [9 x i32], align 4
  %3 = alloca [9 x i32], align 4
  br label %4

4:                                                ; preds = %4, %start
  %5 = phi i64 [ 0, %start ], [ %10, %4 ]
  call void @llvm.lifetime.start.p0(ptr nonnull %3), !noalias !0
  call void @llvm.lifetime.start.p0(ptr nonnull %2)
  call void @llvm.memset.p0.i64(ptr nonnull align 4 %2, i8 0, i64 36, i1 false), !alias.scope !0
  %6 = getelementptr inbounds i32, ptr %2, i64 %5
  store i32 1, ptr %6, align 4, !alias.scope !0
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %3, ptr align 4 %2, i64 36, i1 false)
  call void @llvm.lifetime.end.p0(ptr nonnull %2)
  %7 = getelementptr inbounds i32, ptr %3, i64 %1
  %8 = load i32, ptr %7, align 4, !noalias !0
  %9 = getelementptr inbounds i32, ptr %0, i64 %5
  store i32 %8, ptr %9, align 4, !noalias !0
  call void @llvm.lifetime.end.p0(ptr nonnull %3)
  %10 = add i64 %5, 1
  %11 = icmp eq i64 %10, %1
  br i1 %11, label %12, label %4

12:                                               ; preds = %4
  ret void
}

!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = distinct !{!2}
";

/// [`LOOP`] after replacements.
fn replaced(replacements: &[(&str, &str)]) -> String {
    (replacements.iter()).fold(LOOP.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    })
}

/// Returns whether the variables of [`LOOP`] are merged after replacements.
fn is_merged(replacements: &[(&str, &str)]) -> bool {
    let text = replaced(replacements);
    merged(&text) != text
}

const COPY: &str =
    "call void @llvm.memcpy.p0.p0.i64(ptr align 4 %3, ptr align 4 %2, i64 36, i1 false)";
const LOAD: &str = "%7 = getelementptr inbounds i32, ptr %3, i64 %1";

#[test]
fn variables_that_a_copy_connects_are_merged() {
    let new = merged(LOOP);
    assert!(!new.contains("call void @llvm.lifetime"), "{new}");
    // One of the accesses to the variables and another one.
    assert!(!new.contains("!alias.scope"), "{new}");
    assert_eq!(new.matches("!noalias").count(), 1, "{new}");
    assert!(
        new.contains("%merged.0 = getelementptr inbounds i8, ptr %2, i64 0"),
        "{new}"
    );
    let copy = "(ptr align 4 %merged.0, ptr align 4 %2, i64 36, i1 false)";
    assert!(new.contains(copy), "{new}");
    // A part of a larger variable.
    let large = ("%3 = alloca [9 x i32]", "%3 = alloca [12 x i32]");
    assert!(is_merged(&[large]));
    // LLVM has shortened the copy.
    assert!(is_merged(&[(COPY, &COPY.replace("36", "32"))]));
    // Words.
    let word = |at: u64| {
        format!(
            "%f{at} = getelementptr inbounds i8, ptr %2, i64 {at}\n  %t{at} = getelementptr \
             inbounds i8, ptr %3, i64 {at}\n  %w{at} = load i32, ptr %f{at}, align 4\n  store i32 \
             %w{at}, ptr %t{at}, align 4\n"
        )
    };
    let words: String = (0..9).map(|at| word(4 * at)).collect();
    assert!(is_merged(&[(COPY, &words)]));
}

#[test]
fn other_variables_remain() {
    // Both are read behind the copy.
    let end = "  call void @llvm.lifetime.end.p0(ptr nonnull %2)\n";
    let read = format!("{LOAD}\n  %x = load i32, ptr %2, align 4");
    assert!(!is_merged(&[(end, ""), (LOAD, &read)]));
    // The destination keeps what an earlier iteration wrote, and the copy is of a part of it.
    let large = ("%3 = alloca [9 x i32]", "%3 = alloca [12 x i32]");
    let start = "  call void @llvm.lifetime.start.p0(ptr nonnull %3), !noalias !0\n";
    let end = "  call void @llvm.lifetime.end.p0(ptr nonnull %3)\n";
    assert!(!is_merged(&[large, (start, ""), (end, "")]));
    // The address is in memory.
    let kept = format!("{LOAD}\n  store ptr %2, ptr %0, align 8");
    assert!(!is_merged(&[(LOAD, &kept)]));
    // Volatile.
    assert!(!is_merged(&[(COPY, &COPY.replace("i1 false", "i1 true"))]));
    // The smaller one has a larger alignment.
    let aligned = "%2 = alloca [9 x i32], align 16";
    assert!(!is_merged(&[
        ("%2 = alloca [9 x i32], align 4", aligned),
        large
    ]));
    // Few words.
    assert!(!is_merged(&[(COPY, &COPY.replace("36", "8"))]));
}
