//! `passes::select_elements`: random functions behave the same before and after.

mod trace;

use nvvm_ir::{Dialect, passes, read_module, verify, write_module};

use trace::{Random, UNDEF, trace};

/// Returns the text of a module after the pass, if the pass changed something.
fn selected(text: &str) -> Option<String> {
    let mut module = read_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let before = write_module(&module, Dialect::Modern);
    passes::select_elements(&mut module);
    let new = write_module(&module, Dialect::Modern);
    verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{text}\n{new}"));
    (new != before).then_some(new)
}

/// Returns a function with loops whose blocks access a variable through addresses that phis and selects
/// choose, and at variable indices.
fn random(random: &mut Random) -> String {
    let words = 2 + random.below(5);
    let count = 2 + random.below(4);
    // Accesses at variable indices change at most two words.
    let indexed = words <= 4 && random.below(2) == 0;
    // An access to the first variable ends a run, as one to the null address does.
    let mut text = format!(
        "declare void @seen(i64)\n\ndefine void @f(i64 %a, i64 %b) {{\nentry:\n  %dead = alloca i64, align \
         8\n  %m = alloca [{words} x i64], align 8\n  %o = alloca [2 x i64], align 8\n  %counter = alloca \
         i64, align 8\n  call void @llvm.lifetime.start.p0(i64 8, ptr %dead)\n  call void \
         @llvm.lifetime.end.p0(i64 8, ptr %dead)\n  store i64 %b, ptr %counter, align 8\n"
    );
    if random.below(8) == 0 {
        text += &format!(
            "  call void @llvm.lifetime.start.p0(i64 {}, ptr %m)\n",
            8 * words
        );
    }
    for word in 0..words {
        text += &format!(
            "  %e{word} = getelementptr inbounds i8, ptr %m, i64 {}\n",
            8 * word
        );
        if random.below(8) > 0 {
            text += &format!("  store i64 {}, ptr %e{word}, align 8\n", random.below(9));
        }
    }
    text += "  br label %b0\n\n";
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
                let other = from.strip_prefix('b').filter(|_| random.below(2) > 0);
                let value = match (other, random.below(12)) {
                    (_, 0) => "null".to_owned(),
                    (Some(other), 1..4) => format!("%q{other}"),
                    (Some(other), _) => format!("%r{other}"),
                    _ => format!("%e{}", random.below(words)),
                };
                format!("[ {value}, %{from} ]")
            })
            .collect();
        text += &format!("  %q{block} = phi ptr {}\n", pairs.join(", "));
        text += &format!("  %i{block} = load i64, ptr %counter, align 8\n");
        text += &format!("  %s{block} = add i64 %i{block}, 1\n");
        text += &format!("  store i64 %s{block}, ptr %counter, align 8\n");
        text += &format!("  call void @seen(i64 %i{block})\n");
        let address = |random: &mut Random, text: &mut String, name: &str| match random.below(8) {
            0..2 => format!("%e{}", random.below(words)),
            2..4 => format!("%q{block}"),
            4 => format!("%q{}", random.below(count)),
            5 => format!("%r{}", random.below(count)),
            _ => {
                let by = [8, 8, 16, -8][random.below(4)];
                let base = ["q", "q", "r"][random.below(3)];
                *text += &format!("  %{name} = getelementptr i8, ptr %{base}{block}, i64 {by}\n");
                format!("%{name}")
            }
        };
        let chosen = random.below(3);
        for access in 0..1 + random.below(4) {
            if access == chosen {
                let a = address(random, &mut text, &format!("x{block}"));
                text += &format!("  %t{block} = and i64 %i{block}, {}\n", 1 + random.below(3));
                text += &format!("  %u{block} = icmp eq i64 %t{block}, {}\n", random.below(2));
                text += &format!("  %r{block} = select i1 %u{block}, ptr %q{block}, ptr {a}\n");
            }
            let name = format!("{block}.{access}");
            let line = match random.below(8) {
                0 => format!(
                    "  store i64 %i{block}, ptr %e{}, align 8\n",
                    random.below(words)
                ),
                1 if random.below(4) == 0 => {
                    let at = random.below(words - 1);
                    format!(
                        "  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %e{at}, ptr align 8 %o, i64 16, i1 false)\n"
                    )
                }
                2 if indexed => {
                    let scale = ["i64", "[2 x i64]"][random.below(2)];
                    let base = random.below(2);
                    format!(
                        "  %j{name} = and i64 %i{block}, 1\n  %g{name} = getelementptr inbounds {scale}, ptr \
                         %e{base}, i64 %j{name}\n  store i64 %i{block}, ptr %g{name}, align 8\n"
                    )
                }
                3 if indexed => format!(
                    "  %j{name} = and i64 %i{block}, 3\n  %g{name} = getelementptr inbounds i64, ptr %m, i64 \
                     %j{name}\n  %l{name} = load i64, ptr %g{name}, align 8\n  call void @seen(i64 %l{name})\n"
                ),
                _ => {
                    let a = address(random, &mut text, &format!("y{name}"));
                    format!(
                        "  %l{name} = load i64, ptr {a}, align 8\n  call void @seen(i64 %l{name})\n"
                    )
                }
            };
            text += &line;
        }
        if !text.contains(&format!("%r{block} = ")) {
            let word = random.below(words);
            text += &format!("  %r{block} = getelementptr i8, ptr %e{word}, i64 0\n");
        }
        let name = |block: usize| match block == count {
            true => "end".to_owned(),
            false => format!("b{block}"),
        };
        let [mut then, mut otherwise] = to[block];
        if random.below(2) == 0 {
            (then, otherwise) = (otherwise, then);
        }
        text += &format!(
            "  %d{block} = and i64 %i{block}, {}\n  %c{block} = icmp eq i64 %d{block}, 1\n  br i1 %c{block}, \
             label %{}, label %{}\n\n",
            1 + random.below(3),
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
        let Some(new) = selected(&text) else {
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
    assert!(changed > 1500, "{changed} of {valid}");
}
