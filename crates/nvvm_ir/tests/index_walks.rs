//! `passes::index_walks`: random loops over two slices behave the same before and after.

mod trace;

use nvvm_ir::{Dialect, passes, read_module, verify, write_module};

use trace::{Random, UNDEF, trace};

/// Returns the text of a module after the pass, if the pass changed something.
fn indexed(text: &str) -> Option<String> {
    let mut module = read_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let before = write_module(&module, Dialect::Modern);
    passes::index_walks(&mut module);
    let new = write_module(&module, Dialect::Modern);
    verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{new}"));
    (new != before).then_some(new)
}

/// The number of words of each slice.
const WORDS: usize = 8;

/// Returns a function with a loop that takes elements from two slices in one of several ways, and goes
/// on under some condition. The condition may be wrong.
fn random(random: &mut Random) -> String {
    let mut text =
        "declare void @seen(i64)\n\ndefine void @f(i64 %a, i64 %b) {\nentry:\n".to_owned();
    for slice in ["p", "q"] {
        text += &format!("  %m{slice} = alloca [{WORDS} x i64], align 8\n");
        for word in 0..WORDS {
            text += &format!(
                "  %{slice}{word} = getelementptr i8, ptr %m{slice}, i64 {}\n",
                8 * word
            );
            text += &format!(
                "  store i64 {}, ptr %{slice}{word}, align 8\n",
                random.below(3)
            );
        }
    }
    for (slice, arg) in [("p", "a"), ("q", "b")] {
        text += &match random.below(6) {
            0 => format!("  %n{slice} = add i64 %{arg}, 0\n"),
            _ => format!("  %n{slice} = and i64 %{arg}, 7\n"),
        };
    }
    let guard = |random: &mut Random, name: &str, p: &str, q: &str| {
        let mut text = String::new();
        for (slice, length) in [("p", p), ("q", q)] {
            let (pred, limit) = match random.below(12) {
                0 => ("ugt", 1),
                1 => ("ult", 7),
                2 => ("ne", 1),
                3 => ("uge", 0),
                4 => ("ugt", 0),
                _ => ("ne", 0),
            };
            text += &format!("  %{name}{slice} = icmp {pred} i64 {length}, {limit}\n");
        }
        text + &match random.below(10) {
            0 => format!("  %{name} = or i1 %{name}p, %{name}q\n"),
            1 => format!("  %{name} = and i1 %{name}p, %{name}p\n"),
            2..5 => format!("  %{name} = and i1 %{name}p, %{name}q\n"),
            _ => format!("  %{name} = select i1 %{name}p, i1 %{name}q, i1 false\n"),
        }
    };
    text += &guard(random, "enters", "%np", "%nq");
    text += "  br i1 %enters, label %loop, label %exit\n\nloop:\n";
    for slice in ["p", "q"] {
        text +=
            &format!("  %at{slice} = phi ptr [ %m{slice}, %entry ], [ %next{slice}, %latch ]\n");
        text +=
            &format!("  %left{slice} = phi i64 [ %n{slice}, %entry ], [ %rest{slice}, %latch ]\n");
    }
    let mut last = String::new();
    let mut merged = String::new();
    for slice in ["p", "q"] {
        let from_end = random.below(5) == 0;
        text += &format!("  %less{slice} = add i64 %left{slice}, -1\n");
        let place = match from_end {
            true => format!("getelementptr i64, ptr %at{slice}, i64 %less{slice}"),
            false => format!("getelementptr i8, ptr %at{slice}, i64 0"),
        };
        text += &format!("  %place{slice} = {place}\n");
        text += &format!("  %x{slice} = load i64, ptr %place{slice}, align 8\n");
        let by = [8, 8, 8, 8, 16][random.below(5)];
        text +=
            &format!("  %behind{slice} = getelementptr inbounds i8, ptr %at{slice}, i64 {by}\n");
        // Which of the ways take an element, for the length and for the address.
        let ways = [1, 2, 3, 3, 3][random.below(5)];
        let of_address = if random.below(6) == 0 {
            random.below(4)
        } else {
            ways
        };
        let of_address = if from_end { 0 } else { of_address };
        let chooses = random.below(3) == 0;
        for (name, old, new, ty, ways) in [
            ("rest", "left", "less", "i64", ways),
            ("next", "at", "behind", "ptr", of_address),
        ] {
            let way = |way: usize| match ways & way {
                0 => format!("%{old}{slice}"),
                _ => format!("%{new}{slice}"),
            };
            match chooses {
                true => {
                    last += &format!(
                        "  %{name}{slice} = select i1 %less, {ty} {}, {ty} {}\n",
                        way(1),
                        way(2)
                    );
                }
                false => {
                    merged += &format!(
                        "  %{name}{slice} = phi {ty} [ {}, %then ], [ {}, %else ]\n",
                        way(1),
                        way(2)
                    );
                }
            }
        }
    }
    text += "  call void @seen(i64 %xp)\n  call void @seen(i64 %xq)\n";
    text += "  %less = icmp ult i64 %xp, %xq\n  br i1 %less, label %then, label %else\n\n";
    let leaves = random.below(2) == 0;
    text += "then:\n  br label %latch\n\nelse:\n";
    text += match leaves {
        true => "  %is.2 = icmp eq i64 %xp, 2\n  br i1 %is.2, label %exit, label %latch\n\n",
        false => "  br label %latch\n\n",
    };
    text += &format!("latch:\n{merged}{last}");
    text += &guard(random, "more", "%restp", "%restq");
    text += "  br i1 %more, label %loop, label %exit\n\nexit:\n";
    for (slice, arg) in [("p", "%np"), ("q", "%nq")] {
        let other = if leaves {
            format!(", [ %left{slice}, %else ]")
        } else {
            String::new()
        };
        text += &format!(
            "  %end{slice} = phi i64 [ {arg}, %entry ], [ %rest{slice}, %latch ]{other}\n"
        );
        let other = if leaves {
            format!(", [ %at{slice}, %else ]")
        } else {
            String::new()
        };
        text += &format!(
            "  %stop{slice} = phi ptr [ %m{slice}, %entry ], [ %next{slice}, %latch ]{other}\n"
        );
    }
    for slice in ["p", "q"] {
        text += &format!("  %number{slice} = ptrtoint ptr %stop{slice} to i64\n");
        text +=
            &format!("  call void @seen(i64 %end{slice})\n  call void @seen(i64 %number{slice})\n");
    }
    text + "  ret void\n}\n"
}

#[test]
fn random_loops_behave_the_same() {
    let mut state = Random(0x9e37_79b9_7f4a_7c15);
    let (mut valid, mut changed) = (0, 0);
    for _ in 0..10_000 {
        let text = random(&mut state);
        let module = read_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        valid += 1;
        let Some(new) = indexed(&text) else {
            continue;
        };
        changed += 1;
        for args in [[0, 0], [0, 3], [1, 1], [2, 5], [7, 6], [1 << 40, 4]] {
            let (old, now) = (trace(&text, args, 60), trace(&new, args, 60));
            let is_same = old.len() <= now.len()
                && (old.iter().zip(&now)).all(|(&old, &now)| old == UNDEF || old == now);
            assert!(is_same, "{args:?}\n{text}\n{new}\n{old:?}\n{now:?}");
        }
    }
    assert!(changed > 1000, "{changed} of {valid}");
}
