//! `passes::separate_fields`: random functions behave the same before and after.

mod trace;

use nvvm_ir::{Dialect, passes, read_module, verify, write_module};

use trace::{Random, UNDEF, trace};

/// Returns the text of a module after the pass, if the pass changed something.
fn separated(text: &str) -> Option<String> {
    let mut module = read_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let before = write_module(&module, Dialect::Modern);
    passes::separate_fields(&mut module);
    let new = write_module(&module, Dialect::Modern);
    verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{new}"));
    (new != before).then_some(new)
}

/// The number of words of the variable.
const WORDS: usize = 8;

/// Returns a function with loops whose blocks access a variable, most of them behind checks of indices.
fn random(random: &mut Random) -> String {
    let count = 3 + random.below(5);
    let mut text = format!(
        "declare void @seen(i64)\n\ndefine void @f(i64 %a, i64 %b) {{\nentry:\n  %m = alloca [{WORDS} x \
         i64], align 8\n  %counter = alloca i64, align 8\n  store i64 %b, ptr %counter, align 8\n"
    );
    for word in 0..WORDS {
        text += &format!("  %e{word} = getelementptr i8, ptr %m, i64 {}\n", 8 * word);
        text += &format!("  store i64 {}, ptr %e{word}, align 8\n", random.below(9));
    }
    text += "  br label %b0\n\n";
    // The successors of each block.
    let to: Vec<[usize; 2]> = (0..count)
        .map(|block| match block + 1 == count {
            true => [0, count],
            false => [block + 1, random.below(count)],
        })
        .collect();
    for block in 0..count {
        text += &format!("b{block}:\n");
        let mut from: Vec<String> = Vec::new();
        for (other, to) in to.iter().enumerate() {
            if to.contains(&block) {
                from.push(format!("b{other}"));
            }
        }
        if block == 0 {
            from.push("entry".to_owned());
        }
        let pairs: Vec<String> = (from.iter())
            .map(|from| {
                let value = match from.strip_prefix('b') {
                    Some(other) if random.below(4) > 0 => format!("%n{other}"),
                    _ => random.below(4).to_string(),
                };
                format!("[ {value}, %{from} ]")
            })
            .collect();
        text += &format!("  %p{block} = phi i64 {}\n", pairs.join(", "));
        text += &format!("  %i{block} = load i64, ptr %counter, align 8\n");
        text += &format!("  %s{block} = add i64 %i{block}, 1\n");
        text += &format!("  store i64 %s{block}, ptr %counter, align 8\n");
        text += &format!("  call void @seen(i64 %p{block})\n");
        let number = random.below(WORDS);
        text += &match random.below(4) {
            0 => format!("  %n{block} = and i64 %i{block}, {}\n", random.below(4)),
            1 => format!("  %n{block} = load i64, ptr %e{number}, align 8\n"),
            _ => format!(
                "  %n{block} = add i64 %p{block}, {}\n",
                [1, 1, 2, -1, -2][random.below(5)]
            ),
        };
        for access in 0..random.below(4) {
            let name = format!("{block}.{access}");
            // The index is of this block, and checked in a block before perhaps.
            let index = match random.below(3) {
                0 => format!("%n{block}"),
                _ => format!("%p{block}"),
            };
            let constant = random.below(3) > 0;
            let by = random.below(3) as i64 - 1;
            let address = match constant {
                true => format!("%e{}", WORDS - 1 - random.below(4)),
                false => {
                    text += &format!("  %g{name} = getelementptr i64, ptr %m, i64 {index}\n");
                    text += &format!("  %h{name} = getelementptr i64, ptr %g{name}, i64 {by}\n");
                    format!("%h{name}")
                }
            };
            text += &match random.below(2) {
                0 => format!("  store i64 %i{block}, ptr {address}, align 8\n"),
                _ => format!(
                    "  %l{name} = load i64, ptr {address}, align 8\n  call void @seen(i64 %l{name})\n"
                ),
            };
        }
        let name = |block: usize| match block == count {
            true => "end".to_owned(),
            false => format!("b{block}"),
        };
        let [mut then, mut otherwise] = to[block];
        if random.below(2) == 0 {
            (then, otherwise) = (otherwise, then);
        }
        for side in ["c", "d"] {
            let pred = ["ult", "ule", "ugt", "uge", "eq", "ne"][random.below(6)];
            let tested = match random.below(5) {
                0 => format!("%i{block}"),
                1 => format!("%p{block}"),
                _ => format!("%n{block}"),
            };
            text += &format!(
                "  %{side}{block} = icmp {pred} i64 {tested}, {}\n",
                random.below(6)
            );
        }
        let (c, d) = (format!("%c{block}"), format!("%d{block}"));
        text += &match random.below(8) {
            0 => format!("  %both{block} = or i1 {c}, {d}\n"),
            1 => format!("  %both{block} = and i1 {c}, {d}\n"),
            2 => format!("  %both{block} = select i1 {c}, i1 true, i1 {d}\n"),
            3 => format!("  %both{block} = select i1 {c}, i1 {d}, i1 false\n"),
            _ => format!("  %both{block} = and i1 {c}, true\n"),
        };
        let cond = match random.below(2) {
            0 => format!("%both{block}"),
            _ => c,
        };
        text += &format!(
            "  br i1 {cond}, label %{}, label %{}\n\n",
            name(then),
            name(otherwise)
        );
    }
    text + "end:\n  ret void\n}\n"
}

#[test]
fn random_functions_behave_the_same() {
    let mut state = Random(0x2545_f491_4f6c_dd1d);
    let (mut valid, mut changed) = (0, 0);
    for _ in 0..40_000 {
        let text = random(&mut state);
        if read_module(&text).is_ok_and(|module| verify(&module).is_err()) {
            continue;
        }
        valid += 1;
        let Some(new) = separated(&text) else {
            continue;
        };
        changed += 1;
        for args in [[0, 0], [0, 1], [0, 2], [0, 7]] {
            let (old, now) = (trace(&text, args, 60), trace(&new, args, 60));
            let is_same = old.len() <= now.len()
                && (old.iter().zip(&now)).all(|(&old, &now)| old == UNDEF || old == now);
            assert!(is_same, "{args:?}\n{text}\n{new}\n{old:?}\n{now:?}");
        }
    }
    assert!(changed > 300, "{changed} of {valid}");
}
