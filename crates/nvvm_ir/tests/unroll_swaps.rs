//! `Exchange::unroll_swaps`: random functions behave the same before and after, and the loops that
//! it unrolls and those that it leaves alone.

mod trace;

use nvvm_ir::llvm::Exchange;
use nvvm_ir::{read_module, verify};

use trace::{Random, trace};

/// Unrolls the loops of a text, which remains valid.
fn unrolled(text: &str) -> String {
    let new = Exchange::unroll_swaps(text).unwrap();
    let module = read_module(&new).unwrap_or_else(|error| panic!("{error}\n{new}"));
    verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{new}"));
    new
}

/// The next values of the pointers `%p0`, `%p1` and `%p2`.
const EXCHANGES: [[usize; 3]; 5] = [[1, 0, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1], [0, 1, 2]];

/// Returns a function with a loop from `b0` that exchanges pointers, whose other blocks may be loops,
/// leave the loop, and use the values of all blocks before.
fn random(random: &mut Random) -> String {
    let count = 2 + random.below(5);
    let latch = count - 1;
    let mut text =
        "declare void @seen(i64)\n\ndefine void @f(i64 %a, i64 %b) {\nentry:\n".to_owned();
    for variable in 0..3 {
        text += &format!("  %m{variable} = alloca i64, align 8\n");
    }
    for variable in 0..3 {
        text += &format!("  store i64 {}, ptr %m{variable}, align 8\n", variable + 5);
    }
    text += "  br label %b0\n\n";
    // The predecessors of each block of the loop, and of the blocks behind it.
    let mut to: Vec<Vec<usize>> = Vec::new();
    let exits = [count, count + 1];
    for block in 0..latch {
        let mut own = vec![block + 1];
        match random.below(4) {
            0 => own.push(exits[random.below(2)]),
            1 if block > 0 => own.push(1 + random.below(block)),
            2 => own.push(block + 1 + random.below(latch - block)),
            _ => {}
        }
        own.dedup();
        to.push(own);
    }
    to.push(vec![0, exits[random.below(2)]]);
    let name = |block: usize| match block {
        block if block < count => format!("b{block}"),
        block => format!("x{}", block - count),
    };
    let exchange = EXCHANGES[random.below(5)];
    for block in 0..count + 2 {
        let from: Vec<usize> = (0..count).filter(|&it| to[it].contains(&block)).collect();
        if from.is_empty() {
            continue;
        }
        text += &format!("{}:\n", name(block));
        if block == 0 {
            for (variable, next) in exchange.iter().enumerate() {
                let start = match random.below(8) {
                    0 => "%m0".to_owned(),
                    _ => format!("%m{variable}"),
                };
                text += &format!(
                    "  %p{variable} = phi ptr [ {start}, %entry ], [ %p{next}, %b{latch} ]\n"
                );
            }
            text += &format!("  %i = phi i64 [ 0, %entry ], [ %n, %b{latch} ]\n");
            text += &format!("  %v0 = phi i64 [ %b, %entry ], [ %y{latch}, %b{latch} ]\n");
        } else {
            let mut pairs = Vec::new();
            for &from in &from {
                let value = ["%i", "%v0", "%y0", "%a"][random.below(4)];
                let value = match random.below(2) {
                    0 => format!("%y{from}"),
                    _ => value.to_owned(),
                };
                pairs.push(format!("[ {value}, %b{from} ]"));
            }
            text += &format!("  %v{block} = phi i64 {}\n", pairs.join(", "));
        }
        let used = random.below(block + 1).min(count - 1);
        text += &format!(
            "  %l{block} = load i64, ptr %p{}, align 8\n",
            random.below(3)
        );
        text += &format!("  %w{block} = mul i64 %l{block}, {}\n", 1 + random.below(5));
        text += &format!("  %z{block} = add i64 %w{block}, %i\n");
        let other = match used < block {
            true => format!("%y{used}"),
            false => "%v0".to_owned(),
        };
        text += &format!("  %u{block} = xor i64 %z{block}, {other}\n");
        text += &format!("  %y{block} = add i64 %u{block}, %v{block}\n");
        text += &format!("  call void @seen(i64 %y{block})\n");
        text += &format!(
            "  store i64 %y{block}, ptr %p{}, align 8\n",
            random.below(3)
        );
        if block >= count {
            text += "  ret void\n\n";
            continue;
        }
        if block == latch {
            text += "  %n = add i64 %i, 1\n";
        }
        match &to[block][..] {
            [only] => text += &format!("  br label %{}\n\n", name(*only)),
            [then, otherwise] => {
                text += &format!("  %k{block} = and i64 %y{block}, {}\n", 1 + random.below(7));
                text += &format!("  %c{block} = icmp eq i64 %k{block}, 0\n");
                let (then, otherwise) = (name(*then), name(*otherwise));
                text += &match random.below(3) {
                    0 => format!(
                        "  switch i64 %k{block}, label %{then} [\n    i64 1, label %{otherwise}\n    \
                         i64 3, label %{then}\n  ]\n\n"
                    ),
                    1 => format!("  br i1 %c{block}, label %{then}, label %{otherwise}\n\n"),
                    _ => format!("  br i1 %c{block}, label %{otherwise}, label %{then}\n\n"),
                };
            }
            _ => unreachable!(),
        }
    }
    text + "}\n"
}

#[test]
fn random_functions_behave_the_same() {
    let mut state = Random(0x2545_f491_4f6c_dd1d);
    let (mut valid, mut changed) = (0, 0);
    for _ in 0..6_000 {
        let text = random(&mut state);
        if read_module(&text).is_ok_and(|module| verify(&module).is_err()) {
            continue;
        }
        valid += 1;
        let new = unrolled(&text);
        if new == text {
            continue;
        }
        changed += 1;
        for args in [[0, 1], [1, 0], [3, 8], [7, 250]] {
            assert_eq!(
                trace(&text, args, 80),
                trace(&new, args, 80),
                "{text}\n{new}"
            );
        }
    }
    assert!(changed > 300, "{changed} of {valid}");
}

/// A loop that exchanges two arrays in shared memory.
const SWAP: &str = "
@even = internal addrspace(3) global [64 x i32] undef, align 4
@odd = internal addrspace(3) global [64 x i32] undef, align 4

declare void @barrier() #0

define void @f(ptr %0, i64 %1) {
start:
  br label %2

2:                                                ; preds = %2, %start
  %3 = phi ptr [ addrspacecast (ptr addrspace(3) @even to ptr), %start ], [ %4, %2 ]
  %4 = phi ptr [ addrspacecast (ptr addrspace(3) @odd to ptr), %start ], [ %3, %2 ]
  %5 = phi i64 [ 0, %start ], [ %8, %2 ]
  %6 = load i32, ptr %3, align 4
  call void @barrier() #0
  %7 = add i32 %6, 1
  store i32 %7, ptr %4, align 4
  %8 = add i64 %5, 1
  %9 = icmp eq i64 %8, %1
  br i1 %9, label %10, label %2

10:                                               ; preds = %2
  store i32 %7, ptr %0, align 4
  ret void
}

attributes #0 = { convergent }
";

/// The number of copies of the loop of [`SWAP`] after replacements.
fn copies(replacements: &[(&str, &str)]) -> usize {
    let text = (replacements.iter()).fold(SWAP.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    });
    unrolled(&text).matches(" = add i64 ").count()
}

#[test]
fn loops_that_exchange_variables_are_unrolled() {
    assert_eq!(copies(&[]), 2);
    // In parts of variables.
    let part =
        "getelementptr (i8, ptr addrspacecast (ptr addrspace(3) @odd to ptr), i64 4), %start";
    let old = "addrspacecast (ptr addrspace(3) @odd to ptr), %start";
    assert_eq!(copies(&[(old, part)]), 2);
}

#[test]
fn other_loops_remain() {
    // The pointers stay.
    assert_eq!(copies(&[("[ %4, %2 ]", "[ %3, %2 ]")]), 1);
    // One of them has an unknown start.
    let start = "addrspacecast (ptr addrspace(3) @odd to ptr), %start";
    assert_eq!(copies(&[(start, "%0, %start")]), 1);
    // A pointer becomes the other one, and remains that.
    assert_eq!(copies(&[("[ %3, %2 ]", "[ %4, %2 ]")]), 1);
    // The copies would be long.
    let declaration = "declare void @barrier() #0";
    let math = format!("{declaration}\ndeclare double @__nv_sin(double)");
    let barrier = "call void @barrier() #0";
    let calls = format!(
        "{barrier}\n{}",
        "  call double @__nv_sin(double 1.0)\n".repeat(3)
    );
    let calls = calls
        .replacen("  call double", "  %a = call double", 1)
        .replacen("  call double", "  %b = call double", 1)
        .replacen("  call double", "  %c = call double", 1);
    assert_eq!(copies(&[(declaration, &math), (barrier, &calls)]), 1);
    // Unrolling is disabled.
    let branch = "label %10, label %2";
    let disabled = "label %10, label %2, !llvm.loop !0";
    let end = "attributes #0 = { convergent }";
    let nodes = "attributes #0 = { convergent }\n\n!0 = distinct !{!0, !1}\n!1 = \
                 !{!\"llvm.loop.unroll.disable\"}";
    assert_eq!(copies(&[(branch, disabled), (end, nodes)]), 1);
}

#[test]
fn scopes_of_aliases_hold_for_one_copy() {
    let end = "attributes #0 = { convergent }";
    let nodes = "attributes #0 = { convergent }\n\n!0 = !{!1}\n!1 = distinct !{!1, !2}\n!2 = \
                 distinct !{!2}";
    let text = SWAP
        .replace(
            "%6 = load i32, ptr %3, align 4",
            "%6 = load i32, ptr %3, align 4, !alias.scope !0",
        )
        .replace(
            "store i32 %7, ptr %4, align 4",
            "store i32 %7, ptr %4, align 4, !noalias !0, !tbaa !0",
        )
        .replace(end, nodes);
    let new = Exchange::unroll_swaps(&text).unwrap();
    assert_eq!(new.matches("!alias.scope").count(), 1, "{new}");
    assert_eq!(new.matches("!noalias").count(), 1, "{new}");
    assert_eq!(new.matches("!tbaa !0").count(), 2, "{new}");
}
