//! `Exchange::split_phases`, `Exchange::unroll_resumed` and `Exchange::test_choices`: random functions behave the same before and
//! after, and the loops that they change and those that they leave alone.

mod trace;

use nvvm_ir::llvm::Exchange;
use nvvm_ir::{read_module, verify};

use trace::{Random, WRONG, trace};

/// Applies a change to a text, which remains valid.
fn changed(text: &str, change: impl Fn(&str) -> Result<String, nvvm_ir::ReadError>) -> String {
    let new = change(text).unwrap();
    let module = read_module(&new).unwrap_or_else(|error| panic!("{error}\n{text}\n{new}"));
    verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{text}\n{new}"));
    new
}

/// Splits the loops of a text.
fn split(text: &str) -> String {
    changed(text, Exchange::split_phases)
}

/// Variables of each block of a random function. The first one is often a constant.
const VARIABLES: usize = 3;

/// Returns a function with a loop whose blocks lead to later ones, to the header `b0`, or to one of two
/// exits. Each block has phis of the variables, and tests them or what it computes from them; blocks
/// also use values of the header.
fn random(random: &mut Random) -> String {
    let count = 2 + random.below(6);
    let target = |random: &mut Random, block: usize| match random.below(count + 4) {
        0 => "exit0".to_owned(),
        1 => "exit1".to_owned(),
        2 => "b0".to_owned(),
        3 => format!("b{}", random.below(block + 1)),
        _ if block + 1 == count => "b0".to_owned(),
        _ => format!("b{}", block + 1 + random.below((count - block - 1).min(3))),
    };
    let to: Vec<Vec<String>> = (0..count)
        .map(|block| {
            let ways = 1 + random.below(3);
            (0..ways).map(|_| target(random, block)).collect()
        })
        .collect();
    let phis = |random: &mut Random, block: &str| {
        let mut text = String::new();
        for variable in 0..VARIABLES {
            let mut incoming: Vec<String> = Vec::new();
            if block == "b0" {
                let start = ["0", "1", "%a", "%b", "undef"][random.below(5)];
                incoming.push(format!("[ {start}, %entry ]"));
            }
            for (from, to) in to.iter().enumerate() {
                let other = random.below(VARIABLES);
                let value = match random.below(if variable == 0 { 12 } else { 24 }) {
                    0 | 1 => "0".to_owned(),
                    2 => "1".to_owned(),
                    3 => "2".to_owned(),
                    4 => format!("%x{from}"),
                    5 => format!("%v{from}.{other}"),
                    6 => format!("%v0.{variable}"),
                    7 => "%y0".to_owned(),
                    8 | 9 => format!("%s{from}"),
                    _ => format!("%v{from}.{variable}"),
                };
                for _ in to.iter().filter(|to| *to == block) {
                    incoming.push(format!("[ {value}, %b{from} ]"));
                }
            }
            if incoming.is_empty() {
                text += &format!("  %v{block}.{variable} = add i64 %a, {variable}\n");
            } else {
                let incoming = incoming.join(", ");
                text += &format!("  %v{block}.{variable} = phi i64 {incoming}\n");
            }
        }
        text.replace("%vb", "%v")
    };
    let mut text = "declare void @seen(i64)\ndeclare void @llvm.assume(i1)\n\ndefine void @f(i64 %a, i64 %b) {\nentry:\n  \
                    %m = getelementptr inbounds i8, ptr inttoptr (i64 8 to ptr), i64 %a\n  \
                    br label %b0\n\n"
        .to_owned();
    for block in 0..count {
        text += &format!("b{block}:\n{}", phis(random, &format!("b{block}")));
        let any = |random: &mut Random| match random.below(6) {
            0 => "%v0.0".to_owned(),
            1 => "%v0.1".to_owned(),
            _ => format!("%v{block}.{}", random.below(VARIABLES)),
        };
        let (a, b, c) = (any(random), any(random), random.below(3));
        let pred = ["eq", "ne"][random.below(2)];
        text += &format!("  %w{block} = mul i64 {a}, 3\n  %y{block} = add i64 %w{block}, {c}\n");
        text += &format!("  %x{block} = and i64 {b}, 3\n");
        text += &format!("  %p{block} = inttoptr i64 %x{block} to ptr\n");
        text += &format!("  %g{block} = getelementptr inbounds i8, ptr %p{block}, i64 4\n");
        text += &format!("  %c{block} = icmp {pred} i64 {}, {c}\n", any(random));
        text += &format!("  %n{block} = icmp eq ptr %p{block}, null\n");
        text += &format!("  %q{block} = select i1 %n{block}, ptr null, ptr %g{block}\n");
        text += &format!("  %s{block} = ptrtoint ptr %q{block} to i64\n");
        text += &format!("  %k{block} = select i1 %c{block}, ptr %m, ptr null\n");
        text += &format!("  %l{block} = select i1 %n{block}, ptr %k{block}, ptr %m\n");
        text += &format!("  %h{block} = icmp {pred} ptr %l{block}, null\n");
        let other = ["%n", "%c"][random.below(2)];
        text += &match random.below(7) {
            0 => format!("  %d{block} = select i1 %c{block}, i1 true, i1 %n{block}\n"),
            1 => format!("  %d{block} = select i1 %n{block}, i1 {other}0, i1 false\n"),
            2 => format!("  %d{block} = xor i1 {other}{block}, true\n"),
            3 => format!("  %d{block} = or i1 %c{block}, {other}0\n"),
            4 => format!("  %d{block} = and i1 %n{block}, {other}0\n"),
            5 => format!("  %d{block} = and i1 %h{block}, {other}0\n"),
            _ => format!("  %d{block} = icmp ne i64 %s{block}, 0\n"),
        };
        text += &format!("  %e{block} = zext i1 %d{block} to i64\n");
        if random.below(8) == 0 {
            let assumed = ["%c", "%d", "%h"][random.below(3)];
            text += &format!("  call void @llvm.assume(i1 {assumed}{block})\n");
        }
        let recorded = ["%y0", "%v0.0", "%e0"][random.below(3)];
        text += &format!("  %r{block} = add i64 %y{block}, {recorded}\n");
        text += &format!("  %t{block} = add i64 %r{block}, %e{block}\n");
        text += &format!("  call void @seen(i64 %t{block})\n");
        match &to[block][..] {
            [only] => text += &format!("  br label %{only}\n\n"),
            [then, otherwise] => {
                let tested = ["d", "c", "n"][random.below(3)];
                text += &format!("  br i1 %{tested}{block}, label %{then}, label %{otherwise}\n\n");
            }
            [default, cases @ ..] => {
                let tested = [
                    format!("%x{block}"),
                    format!("%v{block}.0"),
                    "%e0".to_owned(),
                ];
                let tested = &tested[random.below(3)];
                text += &format!("  switch i64 {tested}, label %{default} [\n");
                for (case, to) in cases.iter().enumerate() {
                    text += &format!("    i64 {case}, label %{to}\n");
                }
                text += "  ]\n\n";
            }
            [] => unreachable!(),
        }
    }
    for exit in ["exit0", "exit1"] {
        text += &format!("{exit}:\n{}", phis(random, exit));
        let last = [format!("%v{exit}.0"), "%y0".to_owned(), "%v0.1".to_owned()];
        let last = &last[random.below(3)];
        text += &format!("  call void @seen(i64 {last})\n  call void @seen(i64 %v{exit}.1)\n");
        text += "  ret void\n\n";
    }
    text + "}\n"
}

/// Checks that random functions behave the same after a change.
fn check(least: usize, change: impl Fn(&str) -> Result<String, nvvm_ir::ReadError>) {
    let mut state = Random(0x9e37_79b9_7f4a_7c15);
    let (mut count, mut valid) = (0, 0);
    for _ in 0..8_000 {
        let text = random(&mut state);
        if verify(&read_module(&text).unwrap()).is_err() {
            continue;
        }
        valid += 1;
        let new = changed(&text, &change);
        if new == text {
            continue;
        }
        count += 1;
        for args in [[0, 1], [1, 0], [2, 2], [3, 8], [7, 250]] {
            let (before, after) = (trace(&text, args, 60), trace(&new, args, 60));
            // Behind a wrong assumption, everything is right.
            match before.split_last() {
                Some((&WRONG, before)) => {
                    assert!(after.starts_with(before), "{args:?}\n{text}\n{new}");
                }
                _ => assert_eq!(before, after, "{args:?}\n{text}\n{new}"),
            }
        }
    }
    assert!(count >= least, "{count} of {valid}");
}

#[test]
fn random_functions_behave_the_same() {
    check(100, Exchange::split_phases);
}

#[test]
fn random_functions_behave_the_same_without_resumed_loops() {
    check(0, Exchange::unroll_resumed);
}

#[test]
fn random_functions_behave_the_same_with_tests_of_choices() {
    check(15, Exchange::test_choices);
}

/// A loop over the numbers of `%0..5`, then of `0..%1`. `%3` is the next number of the first range, or
/// null.
const CHAIN: &str = "
declare void @seen(i64)

define void @f(i64 %0, i64 %1) {
start:
  %2 = getelementptr inbounds i8, ptr inttoptr (i64 1 to ptr), i64 %0
  %end = inttoptr i64 5 to ptr
  br label %4

4:                                                ; preds = %14, %start
  %3 = phi ptr [ %2, %start ], [ %15, %14 ]
  %5 = phi i64 [ 0, %start ], [ %16, %14 ]
  %6 = icmp eq ptr %3, null
  br i1 %6, label %10, label %7

7:                                                ; preds = %4
  %8 = icmp eq ptr %3, %end
  %9 = getelementptr inbounds i8, ptr %3, i64 1
  %x = select i1 %8, ptr null, ptr %9
  br i1 %8, label %10, label %14

10:                                               ; preds = %7, %4
  %11 = phi ptr [ null, %4 ], [ %x, %7 ]
  %12 = icmp eq i64 %5, %1
  br i1 %12, label %18, label %13

13:                                               ; preds = %10
  %y = add i64 %5, 1
  br label %14

14:                                               ; preds = %13, %7
  %15 = phi ptr [ %11, %13 ], [ %x, %7 ]
  %16 = phi i64 [ %y, %13 ], [ %5, %7 ]
  %17 = phi ptr [ null, %13 ], [ %3, %7 ]
  %n = ptrtoint ptr %17 to i64
  %z = add i64 %n, %16
  call void @seen(i64 %z)
  br label %4

18:                                               ; preds = %10
  ret void
}
";

/// Whether the loop of [`CHAIN`] is split after replacements.
fn is_split(replacements: &[(&str, &str)]) -> bool {
    let text = replacements
        .iter()
        .fold(CHAIN.to_owned(), |text, (old, new)| {
            assert!(text.contains(old), "{old}");
            text.replace(old, new)
        });
    let new = split(&text);
    if new != text && !text.contains("asm") {
        for args in [[0, 0], [1, 3], [4, 2], [2, 1]] {
            assert_eq!(trace(&text, args, 60), trace(&new, args, 60), "{new}");
        }
    }
    new != text
}

/// A loop over the numbers below `%1`, of which `%0` are skipped first. `%2` is the number that is still
/// to skip.
const SKIP: &str = "
declare void @seen(i64)

define void @f(i64 %0, i64 %1) {
start:
  br label %4

4:                                                ; preds = %8, %start
  %2 = phi i64 [ %0, %start ], [ 0, %8 ]
  %3 = phi i64 [ 0, %start ], [ %10, %8 ]
  %5 = icmp eq i64 %2, 0
  br i1 %5, label %7, label %6

6:                                                ; preds = %4
  %skipped = add i64 %3, %2
  br label %7

7:                                                ; preds = %6, %4
  %9 = phi i64 [ %skipped, %6 ], [ %3, %4 ]
  %end = icmp uge i64 %9, %1
  br i1 %end, label %11, label %8

8:                                                ; preds = %7
  %10 = add i64 %9, 1
  call void @seen(i64 %9)
  br label %4

11:                                               ; preds = %7
  ret void
}
";

#[test]
fn loops_that_skip_at_the_start_are_split() {
    assert_eq!(trace(SKIP, [2, 5], 60), [2, 3, 4]);
    let new = split(SKIP);
    // Only the first iteration tests what is to skip: its copy of the header branches to the next block.
    let (_, later) = new.split_once("phase.0.1.4:\n").expect(&new);
    assert!(!later.contains("br i1"), "{new}");
    for args in [[0, 0], [1, 3], [4, 2], [2, 9]] {
        assert_eq!(trace(SKIP, args, 60), trace(&new, args, 60), "{new}");
    }
    // Later iterations skip, too.
    let again = SKIP.replace("[ 0, %8 ]", "[ 1, %8 ]");
    assert_eq!(split(&again), again);
}

#[test]
fn loops_over_two_iterators_are_split() {
    assert_eq!(trace(CHAIN, [1, 2], 60), [2, 3, 4, 1, 2]);
    assert!(is_split(&[]));
    // Each header is entered from one phase.
    let new = split(CHAIN);
    assert!(
        new.contains("phase.0.1.4:\n") && new.contains("phase.0.1.14:\n"),
        "{new}"
    );
    assert!(!new.contains("phase.0.1.10:\n"), "{new}");
    // The state is a number, or the address as one.
    assert!(is_split(&[(
        "  %6 = icmp eq ptr %3, null",
        "  %i = ptrtoint ptr %3 to i64\n  %6 = icmp eq i64 %i, 0"
    ),]));
    // The address at which the first iterator starts is not known not to be null, so the first iteration
    // has a header of its own.
    assert!(is_split(&[(
        "%2 = getelementptr inbounds i8, ptr inttoptr (i64 1 to ptr), i64 %0",
        "%2 = inttoptr i64 %0 to ptr"
    )]));
    // The address may be null before the end, so the first phase keeps the test.
    let nullable = [("%9 = getelementptr inbounds i8", "%9 = getelementptr i8")];
    assert!(is_split(&nullable));
    // Values of the loop are used behind it, also by phis.
    assert!(is_split(&[(
        "  ret void",
        "  %u = add i64 %5, %1\n  call void @seen(i64 %u)\n  ret void"
    )]));
    assert!(is_split(&[(
        "18:                                               ; preds = %10\n",
        "18:                                               ; preds = %10\n  \
         %p = phi i64 [ %5, %10 ]\n  call void @seen(i64 %p)\n"
    )]));
    // An inner loop is part of each phase.
    assert!(is_split(&[
        (
            "  %n = ptrtoint ptr %17 to i64",
            "  br label %inner\n\ninner:\n  %k = phi i64 [ 0, %14 ], [ %k1, %inner ]\n  \
             %k1 = add i64 %k, 1\n  %ke = icmp eq i64 %k1, 3\n  \
             br i1 %ke, label %after, label %inner\n\nafter:\n  %n = ptrtoint ptr %17 to i64"
        ),
        ("[ %15, %14 ]", "[ %15, %after ]"),
        ("[ %16, %14 ]", "[ %16, %after ]"),
    ]));
    // The block before the loop has no label.
    assert!(is_split(&[
        ("%3", "%s"),
        ("%2", "%3"),
        ("start:\n", ""),
        ("%start", "%2"),
    ]));
    // A number that tells whether an element was skipped has a phase of its own.
    assert!(is_split(&[
        (
            "  %5 = phi",
            "  %skip = phi i64 [ 1, %start ], [ 0, %14 ]\n  %5 = phi"
        ),
        (
            "  %8 = icmp eq ptr %3, %end",
            "  %first = icmp eq i64 %skip, 1\n  %is = icmp eq ptr %3, %end\n  \
             %8 = xor i1 %first, %is"
        ),
    ]));
}

/// A loop around another one, whose first iteration makes twice as many iterations of it.
const FIRST: &str = "
declare void @seen(i64)

define void @f(i64 %0, i64 %1) {
start:
  br label %head

head:
  %i = phi i64 [ 0, %start ], [ %i1, %last ]
  %later = phi i1 [ false, %start ], [ true, %last ]
  br i1 %later, label %search, label %twice

twice:
  call void @seen(i64 77)
  br label %search

search:
  %k = phi i64 [ %i, %head ], [ %0, %twice ], [ %k1, %search ]
  call void @seen(i64 %k)
  %k1 = add i64 %k, 1
  %m = and i64 %k, 3
  %found = icmp eq i64 %m, 0
  br i1 %found, label %last, label %search

last:
  call void @seen(i64 %k1)
  %i1 = add i64 %i, 1
  %e = icmp ugt i64 %i1, %1
  br i1 %e, label %end, label %head

end:
  ret void
}
";

#[test]
fn first_iterations_of_outer_loops_are_split_off() {
    let check = |text: &str| {
        let new = split(text);
        for args in [[0, 0], [1, 3], [4, 2], [2, 1]] {
            assert_eq!(trace(text, args, 60), trace(&new, args, 60), "{new}");
        }
        new != text
    };
    assert!(check(FIRST));
    // LLVM peels loops without inner loops.
    let inner = FIRST
        .replace("[ %k1, %search ]", "[ %k1, %never ]")
        .replace("label %last, label %search", "label %last, label %never")
        .replace("last:\n", "never:\n  br label %last\n\nlast:\n")
        .replace(", [ %k1, %never ]", "");
    assert!(!check(&inner));
    // The iterations after the first one do not differ.
    assert!(!check(
        &FIRST.replace("[ true, %last ]", "[ false, %last ]")
    ));
    // It is not known whether the first iteration is the last one that differs.
    let some = FIRST.replace("[ true, %last ]", "[ %found, %last ]");
    assert!(!check(&some));
}

#[test]
fn addresses_in_statics_are_not_null() {
    let text = CHAIN
        .replace(
            "declare void @seen(i64)",
            "@tile = internal addrspace(3) global [16 x i8] undef\n\ndeclare void @seen(i64)",
        )
        .replace(
            "[ %2, %start ]",
            "[ addrspacecast (ptr addrspace(3) @tile to ptr), %start ]",
        );
    let new = split(&text);
    // There is no third header, for an address that may be null.
    assert!(new.contains("phase.0.1.4:\n"), "{new}");
    assert!(!new.contains("phase.0.2.4:\n"), "{new}");
}

#[test]
fn all_loops_of_a_function_are_split() {
    // A loop that remains, because the type of `%17` is no number, and one that is split.
    let (head, body) = CHAIN.split_once("  br label %4\n").unwrap();
    let mut second = body.to_owned();
    for name in [
        "%3", "%4", "%5", "%6", "%7", "%8", "%9", "%10", "%11", "%12", "%13", "%14",
    ] {
        for end in [" ", ",", "\n"] {
            second = second.replace(&format!("{name}{end}"), &format!("%b{}{end}", &name[1..]));
        }
    }
    for name in ["%15", "%16", "%17", "%18", "%x", "%y", "%n", "%z"] {
        for end in [" ", ",", "\n", ")"] {
            second = second.replace(&format!("{name}{end}"), &format!("%b{}{end}", &name[1..]));
        }
    }
    for label in ["4", "7", "10", "13", "14", "18"] {
        second = second.replace(&format!("\n{label}:"), &format!("\nb{label}:"));
    }
    let first = body
        .replace(
            "  %n = ptrtoint ptr %17 to i64\n",
            "  %pair = insertvalue { ptr, i64 } undef, ptr %17, 0\n  br label %last\n\nlast:\n  \
             %own = extractvalue { ptr, i64 } %pair, 0\n  %n = ptrtoint ptr %own to i64\n",
        )
        .replace("[ %15, %14 ]", "[ %15, %last ]")
        .replace("[ %16, %14 ]", "[ %16, %last ]")
        .replace("  ret void\n}\n", "  br label %b4\n");
    let second = second.replace("%start", "%18");
    let text = format!("{head}  br label %4\n{first}{second}");
    let new = split(&text);
    assert!(new.contains("phase.0.1.b4:\n"), "{new}");
    assert!(!new.contains("phase.0.1.4:\n"), "{new}");
}

#[test]
fn loops_without_phases_remain() {
    // A counter only sets the first iteration apart.
    assert!(!is_split(&[("icmp eq ptr %3, null", "icmp eq i64 %5, 0")]));
    // No state decides a branch.
    assert!(!is_split(&[("icmp eq ptr %3, null", "icmp eq i64 %5, 7")]));
    // A phase follows a later one: the first iterator starts again.
    assert!(!is_split(&[
        ("[ %11, %13 ]", "[ %again, %13 ]"),
        (
            "  %y = add i64 %5, 1",
            "  %y = add i64 %5, 1\n  %odd = and i64 %5, 1\n  %is = icmp eq i64 %odd, 0\n  \
             %again = select i1 %is, ptr %2, ptr null"
        ),
    ]));
    // The threads of a warp may meet in the loop.
    assert!(!is_split(&[(
        "  call void @seen(i64 %z)",
        "  call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"() convergent"
    )]));
    assert!(!is_split(&[(
        "declare void @seen(i64)",
        "declare void @seen(i64) convergent"
    )]));
    // A local variable of the loop.
    assert!(!is_split(&[(
        "  %z = add i64 %n, %16",
        "  %l = alloca i64, i64 %1, align 8\n  %z = add i64 %n, %16"
    )]));
    // The program asks for a loop that remains.
    assert!(!is_split(&[
        ("  br label %4\n\n18", "  br label %4, !llvm.loop !0\n\n18"),
        (
            "  ret void\n}",
            "  ret void\n}\n\n!0 = distinct !{!0, !1}\n!1 = !{!\"llvm.loop.unroll.disable\"}"
        ),
    ]));
}

#[test]
fn loops_over_options_become_straight_code() {
    let text = "
declare void @seen(i64)

define void @f(i64 %0, i64 %1) {
start:
  %p = inttoptr i64 %0 to ptr
  %q = inttoptr i64 %1 to ptr
  br label %2

2:
  %3 = phi i1 [ true, %start ], [ %f, %8 ]
  %4 = phi ptr [ %p, %start ], [ %a, %8 ]
  %5 = phi ptr [ %q, %start ], [ %b, %8 ]
  br i1 %3, label %6, label %7

6:
  %t = icmp eq ptr %4, null
  br i1 %t, label %7, label %8

7:
  %r = phi ptr [ %4, %2 ], [ null, %6 ]
  %u = icmp eq ptr %5, null
  br i1 %u, label %9, label %8

8:
  %x = phi ptr [ %5, %7 ], [ %4, %6 ]
  %b = phi ptr [ null, %7 ], [ %5, %6 ]
  %a = phi ptr [ %r, %7 ], [ null, %6 ]
  %f = phi i1 [ false, %7 ], [ true, %6 ]
  %n = ptrtoint ptr %x to i64
  call void @seen(i64 %n)
  br label %2

9:
  ret void
}
";
    // The addresses as numbers, which the loop does not compute.
    let as_numbers = [
        (
            "%p = inttoptr i64 %0 to ptr",
            "%i = inttoptr i64 %0 to ptr\n  %p = ptrtoint ptr %i to i64",
        ),
        (
            "%q = inttoptr i64 %1 to ptr",
            "%j = inttoptr i64 %1 to ptr\n  %q = ptrtoint ptr %j to i64",
        ),
        ("%n = ptrtoint ptr %x to i64", "%n = add i64 %x, 0"),
        ("phi ptr", "phi i64"),
        ("icmp eq ptr", "icmp eq i64"),
        ("null", "0"),
    ];
    let numbers = (as_numbers.iter()).fold(text.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    });
    for text in [text, &numbers] {
        let new = split(text);
        for args in [[0, 0], [1, 0], [0, 2], [3, 4]] {
            let expected: Vec<u64> = args.into_iter().filter(|&arg| arg != 0).collect();
            assert_eq!(trace(text, args, 60), expected);
            assert_eq!(trace(&new, args, 60), expected, "{new}");
        }
        assert_eq!(new.matches("call void @seen").count(), 2, "{new}");
    }
}

/// A loop that goes on while it chooses one of two addresses instead of null.
const CHOICE: &str = "
declare void @seen(i64)

define void @f(i64 %0, i64 %1) {
start:
  %2 = getelementptr inbounds i8, ptr inttoptr (i64 1 to ptr), i64 %0
  %end = inttoptr i64 9 to ptr
  br label %3

3:
  %4 = phi ptr [ %2, %start ], [ %9, %3 ]
  %5 = phi ptr [ %2, %start ], [ %10, %3 ]
  %6 = ptrtoint ptr %4 to i64
  call void @seen(i64 %6)
  %bit = and i64 %6, %1
  %stays = icmp ne i64 %bit, 0
  %at_end = icmp eq ptr %5, %end
  %8 = select i1 %at_end, ptr null, ptr %5
  %9 = select i1 %stays, ptr %4, ptr %8
  %10 = getelementptr inbounds i8, ptr %5, i64 1
  %11 = icmp eq ptr %9, null
  br i1 %11, label %12, label %3

12:
  ret void
}
";

#[test]
fn choices_are_tested() {
    let new = changed(CHOICE, Exchange::test_choices);
    assert!(
        new.contains("= select i1 %at_end, i1 true, i1 false"),
        "{new}"
    );
    assert!(
        new.contains("= select i1 %stays, i1 false, i1 %choice"),
        "{new}"
    );
    for args in [[0, 0], [3, 1], [1, 2], [8, 0]] {
        assert_eq!(trace(CHOICE, args, 60), trace(&new, args, 60), "{new}");
    }
    // Two tests of one block.
    let text = CHOICE.replace(
        "  %11 = icmp eq ptr %9, null\n",
        "  %a = icmp ne ptr %8, null\n  %b = icmp eq ptr %9, null\n  %11 = select i1 %a, i1 %b, i1 true\n",
    );
    let new = changed(&text, Exchange::test_choices);
    assert!(new.contains("%a = or") && new.contains("%b = or"), "{new}");
    for args in [[0, 0], [3, 1], [1, 2], [8, 0]] {
        assert_eq!(trace(&text, args, 60), trace(&new, args, 60), "{new}");
    }
    // The address that is chosen may be null.
    for (old, new) in [
        ("ptr inttoptr (i64 1 to ptr)", "ptr null"),
        ("%10 = getelementptr inbounds i8", "%10 = getelementptr i8"),
        ("[ %10, %3 ]", "[ %8, %3 ]"),
    ] {
        let text = CHOICE.replace(old, new);
        assert!(
            text != CHOICE && changed(&text, Exchange::test_choices) == text,
            "{text}"
        );
    }
}

/// As `for (i, k) in (0..3).flat_map(|i| (0..2).filter(odd)…)`: `%pos` is where the inner range of `%row` goes
/// on, if `%has`.
const RESUMED: &str = "
declare void @seen(i64)

define void @f(i64 %0, i64 %1) {
start:
  br label %head

head:
  %has = phi i1 [ false, %start ], [ true, %found ]
  %i = phi i64 [ 0, %start ], [ %ni, %found ]
  %pos = phi i64 [ undef, %start ], [ %npos, %found ]
  %row = phi i64 [ undef, %start ], [ %nrow, %found ]
  %below = icmp ult i64 %pos, 2
  %more = select i1 %has, i1 %below, i1 false
  br i1 %more, label %front, label %rest

front:
  %k = phi i64 [ %pos, %head ], [ %k1, %skip ]
  %k1 = add i64 %k, 1
  %s = add i64 %row, %k
  %t = add i64 %s, %0
  %odd = trunc i64 %t to i1
  br i1 %odd, label %found, label %skip

skip:
  %e = icmp eq i64 %k1, 2
  br i1 %e, label %rest, label %front

rest:
  %any = icmp ult i64 %i, 3
  br i1 %any, label %take, label %end

take:
  %n = phi i64 [ %i, %rest ], [ %n1, %done ]
  %n1 = add i64 %n, 1
  br label %second

second:
  %j = phi i64 [ 0, %take ], [ %j1, %skip2 ]
  %j1 = add i64 %j, 1
  %u = add i64 %n, %j
  %v = add i64 %u, %0
  %odd2 = trunc i64 %v to i1
  br i1 %odd2, label %found, label %skip2

skip2:
  %e2 = icmp eq i64 %j1, 2
  br i1 %e2, label %done, label %second

done:
  %e3 = icmp eq i64 %n1, 3
  br i1 %e3, label %end, label %take

found:
  %x = phi i64 [ %k, %front ], [ %j, %second ]
  %nrow = phi i64 [ %row, %front ], [ %n, %second ]
  %ni = phi i64 [ %i, %front ], [ %n1, %second ]
  %npos = phi i64 [ %k1, %front ], [ %j1, %second ]
  %y = mul i64 %nrow, 10
  %z = add i64 %y, %x
  call void @seen(i64 %z)
  br label %head

end:
  ret void
}
";

#[test]
fn loops_that_go_on_with_inner_loops_are_unrolled() {
    assert_eq!(trace(RESUMED, [0, 0], 60), [1, 10, 21]);
    assert_eq!(trace(RESUMED, [1, 0], 60), [0, 11, 20]);
    let check = |replacements: &[(&str, &str)]| {
        let text = (replacements.iter()).fold(RESUMED.to_owned(), |text, (old, new)| {
            assert!(text.contains(old), "{old}");
            text.replace(old, new)
        });
        let new = changed(&text, Exchange::unroll_resumed);
        for args in [[0, 0], [1, 3], [4, 2], [3, 1]] {
            assert_eq!(trace(&text, args, 60), trace(&new, args, 60), "{new}");
        }
        new.matches("call void @seen").count()
    };
    let is_rolled = |replacements: &[(&str, &str)]| check(replacements) < 6;
    // Each element has a copy of the body.
    assert_eq!(check(&[]), 6);
    // A range ends at a number that is not a constant.
    assert!(is_rolled(&[
        ("%any = icmp ult i64 %i, 3", "%any = icmp ult i64 %i, %1"),
        ("%e3 = icmp eq i64 %n1, 3", "%e3 = icmp uge i64 %n1, %1")
    ]));
    // The copies would have too many instructions.
    let many: String = (0..150)
        .map(|i| format!("  %q{i} = mul i64 %z, {i}\n"))
        .collect();
    assert!(is_rolled(&[(
        "  call void @seen(i64 %z)\n",
        &format!("{many}  call void @seen(i64 %z)\n")
    )]));
    // Inner loops start anew, as those that LLVM unrolls.
    assert!(is_rolled(&[
        ("[ %npos, %found ]", "[ 0, %found ]"),
        ("[ %nrow, %found ]", "[ 0, %found ]"),
        ("icmp ult i64 %i, 3", "icmp ult i64 %i, 1")
    ]));
}
