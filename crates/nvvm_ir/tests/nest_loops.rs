//! `Exchange::nest_loops`: random functions behave the same before and after, and the loops that it
//! nests and those that it leaves alone.

mod trace;

use nvvm_ir::llvm::Exchange;
use nvvm_ir::{read_module, verify};

use trace::{Random, trace};

/// Nests the loops of a text, which remains valid.
fn nested(text: &str) -> String {
    let nested = Exchange::nest_loops(text).unwrap();
    let module = read_module(&nested).unwrap_or_else(|error| panic!("{error}\n{nested}"));
    verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{nested}"));
    nested
}

/// Variables of each block of a random function.
const VARIABLES: usize = 3;

/// Returns a function whose blocks all follow a header `b0`. Each block has phis of the variables,
/// changes one, and records it; blocks also use the header's values directly.
fn random(random: &mut Random) -> String {
    let count = 4 + random.below(5);
    let target = |random: &mut Random| match random.below(count + 1) {
        0 => "exit".to_owned(),
        block => format!("b{}", block - 1),
    };
    // The successors of each block.
    let to: Vec<Vec<String>> = (0..count)
        .map(|block| {
            let ways = match block {
                0 => 2,
                _ => 1 + random.below(3),
            };
            let mut to: Vec<String> = (0..ways).map(|_| target(random)).collect();
            if block > 0 {
                to.sort();
                to.dedup();
            }
            to
        })
        .collect();
    let mut text = "declare void @seen(i64)\n\ndefine void @f(i64 %a, i64 %b) {\nentry:\n  \
                    br label %b0\n\n"
        .to_owned();
    for block in 0..count {
        text += &format!("b{block}:\n");
        for variable in 0..VARIABLES {
            let mut incoming: Vec<String> = Vec::new();
            if block == 0 {
                let start = ["0", "%a", "%b", "undef"][match variable {
                    0 => 0,
                    _ => random.below(3),
                }];
                incoming.push(format!("[ {start}, %entry ]"));
            }
            for (from, to) in to.iter().enumerate() {
                for _ in to.iter().filter(|to| **to == format!("b{block}")) {
                    let other = random.below(VARIABLES);
                    let value = match (from * 7 + variable * 3 + block) % 5 {
                        0 => format!("%x{from}"),
                        1 => format!("%v{from}.{other}"),
                        2 if from > 0 => format!("%v0.{other}"),
                        3 if from > 0 => "%y0".to_owned(),
                        _ => format!("%v{from}.{variable}"),
                    };
                    incoming.push(format!("[ {value}, %b{from} ]"));
                }
            }
            if incoming.is_empty() {
                // Nothing leads here.
                text += &format!("  %v{block}.{variable} = add i64 %a, {variable}\n");
            } else {
                // Equal edges have equal values.
                for at in 1..incoming.len() {
                    let from = |text: &str| text.rsplit('%').next().unwrap().to_owned();
                    if let Some(first) =
                        (0..at).find(|&it| from(&incoming[it]) == from(&incoming[at]))
                    {
                        incoming[at] = incoming[first].clone();
                    }
                }
                text += &format!("  %v{block}.{variable} = phi i64 {}\n", incoming.join(", "));
            }
        }
        let of = random.below(VARIABLES);
        let is_used = block > 0 && random.below(2) == 0;
        let other = match is_used {
            true => ["%v0.1", "%y0", "%x0"][random.below(3)].to_owned(),
            false => format!("%v{block}.{}", random.below(VARIABLES)),
        };
        let (a, b) = (random.below(5) + 1, random.below(9));
        text += &format!("  %w{block} = mul i64 %v{block}.{of}, {a}\n");
        text += &format!("  %z{block} = add i64 %w{block}, {b}\n");
        text += &format!("  %y{block} = xor i64 %z{block}, %v{block}.0\n");
        text += &match block {
            0 => "  %x0 = and i64 %y0, 255\n".to_owned(),
            _ => format!("  %x{block} = and i64 {other}, 3\n"),
        };
        if block > 0 {
            text += &format!("  %r{block} = add i64 %y{block}, {other}\n");
            text += &format!("  call void @seen(i64 %r{block})\n");
        }
        match &to[block][..] {
            [only] => text += &format!("  br label %{only}\n\n"),
            [then, otherwise] => {
                let tested = match block {
                    0 => "%v0.0".to_owned(),
                    _ if random.below(3) == 0 => "%v0.0".to_owned(),
                    _ => format!("%w{block}"),
                };
                text += &format!("  %c{block} = icmp eq i64 {tested}, 0\n");
                text += &format!("  br i1 %c{block}, label %{then}, label %{otherwise}\n\n");
            }
            [default, cases @ ..] => {
                text += &format!("  switch i64 %x{block}, label %{default} [\n");
                for (case, to) in cases.iter().enumerate() {
                    text += &format!("    i64 {case}, label %{to}\n");
                }
                text += "  ]\n\n";
            }
            [] => unreachable!(),
        }
    }
    let last = ["%v0.1", "%x0"][random.below(2)];
    text + &format!("exit:\n  call void @seen(i64 {last})\n  ret void\n}}\n")
}

#[test]
fn random_functions_behave_the_same() {
    let mut state = Random(0x9e37_79b9_7f4a_7c15);
    let mut changed = 0;
    for _ in 0..4_000 {
        let text = random(&mut state);
        if verify(&read_module(&text).unwrap()).is_err() {
            continue;
        }
        let new = nested(&text);
        if new == text {
            continue;
        }
        changed += 1;
        for args in [[0, 1], [1, 0], [3, 8], [7, 250]] {
            assert_eq!(
                trace(&text, args, 60),
                trace(&new, args, 60),
                "{text}\n{new}"
            );
        }
    }
    assert!(changed > 100, "{changed}");
}

/// A loop over the elements of the ranges `0..3` of `%n` numbers.
const FLAT: &str = "
declare void @seen(i64)

define void @f(i64 %0, i64 %1) {
start:
  br label %2

2:                                                ; preds = %12, %start
  %3 = phi i1 [ false, %start ], [ true, %12 ]
  %4 = phi i64 [ undef, %start ], [ %14, %12 ]
  %5 = phi i64 [ 0, %start ], [ %11, %12 ]
  %6 = icmp ult i64 %4, 3
  %7 = select i1 %3, i1 %6, i1 false
  br i1 %7, label %12, label %8

8:                                                ; preds = %2
  %9 = icmp eq i64 %5, %0
  br i1 %9, label %15, label %10

10:                                               ; preds = %8
  %x = add i64 %5, 1
  br label %12

12:                                               ; preds = %10, %2
  %11 = phi i64 [ %x, %10 ], [ %5, %2 ]
  %13 = phi i64 [ 0, %10 ], [ %4, %2 ]
  %14 = add i64 %13, 1
  %y = mul i64 %11, 10
  %z = add i64 %y, %13
  call void @seen(i64 %z)
  br label %2

15:                                               ; preds = %8
  ret void
}
";

/// Whether the loop of [`FLAT`] is nested after replacements.
fn is_nested(replacements: &[(&str, &str)]) -> bool {
    let text = replacements
        .iter()
        .fold(FLAT.to_owned(), |text, (old, new)| {
            assert!(text.contains(old), "{old}");
            text.replace(old, new)
        });
    let new = nested(&text);
    if new != text && !text.contains("asm") {
        for args in [[0, 0], [1, 0], [4, 2]] {
            assert_eq!(trace(&text, args, 60), trace(&new, args, 60), "{new}");
        }
    }
    new != text
}

#[test]
fn loops_of_iterators_of_iterators_are_nested() {
    assert_eq!(trace(FLAT, [2, 0], 60), [10, 11, 12, 20, 21, 22]);
    assert!(is_nested(&[]));
    // The header's values are used elsewhere, also behind the loop.
    assert!(is_nested(&[("add i64 %y, %13", "add i64 %y, %4")]));
    assert!(is_nested(&[(
        "  ret void",
        "  call void @seen(i64 %4)\n  ret void"
    )]));
    assert!(is_nested(&[(
        "15:                                               ; preds = %8\n",
        "15:                                               ; preds = %8\n  \
         %p = phi i64 [ %4, %8 ]\n  call void @seen(i64 %p)\n"
    )]));
}

#[test]
fn other_loops_remain() {
    // Whether there is an inner iterator is not known at first.
    assert!(!is_nested(&[
        ("false, %start", "%c, %start"),
        (
            "  br label %2\n\n2:",
            "  %c = icmp eq i64 %1, 0\n  br label %2\n\n2:"
        )
    ]));
    // The threads of a warp may meet in the loop.
    assert!(!is_nested(&[(
        "  call void @seen(i64 %z)",
        "  call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"() convergent"
    )]));
    assert!(!is_nested(&[(
        "declare void @seen(i64)",
        "declare void @seen(i64) convergent"
    )]));
    // The program asks for a loop that remains.
    assert!(!is_nested(&[
        ("  br label %2\n\n15", "  br label %2, !llvm.loop !0\n\n15"),
        (
            "  ret void\n}",
            "  ret void\n}\n\n!0 = distinct !{!0, !1}\n!1 = !{!\"llvm.loop.unroll.disable\"}"
        ),
    ]));
    // The next inner iterator does not end the loop.
    assert!(!is_nested(&[
        ("br i1 %9, label %15, label %10", "br label %10"),
        (
            "  br label %2\n\n15",
            "  br i1 %e, label %2, label %15\n\n15"
        ),
        ("  %z = add", "  %e = icmp ult i64 %y, 30\n  %z = add"),
        ("preds = %8\n  ret", "preds = %12\n  ret"),
    ]));
    // A way from the end of the first iterator into the middle of the body would make a loop with
    // two entries.
    assert!(!is_nested(&[
        (
            "  br label %12\n\n12:",
            "  br i1 %9, label %12, label %16\n\n12:"
        ),
        (
            "  call void @seen(i64 %z)\n  br label %2",
            "  br label %16\n\n16:\n  %w = phi i64 [ %z, %12 ], [ %5, %10 ]\n  %u = phi i64 [ %14, %12 ], [ 1, %10 ]\n  %t = phi i64 [ %11, %12 ], [ %x, %10 ]\n  call void @seen(i64 %w)\n  br label %2"
        ),
        ("[ true, %12 ]", "[ true, %16 ]"),
        ("[ %14, %12 ]\n  %5", "[ %u, %16 ]\n  %5"),
        ("[ %11, %12 ]\n  %6", "[ %t, %16 ]\n  %6"),
    ]));
}
