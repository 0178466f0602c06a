//! Runs branches around comparisons before and after `ptx::finish` computes their conditions without
//! branches: all threads must have the same results.

mod common;

use std::fmt::Write;

use common::generator::settings;
use common::{Device, Params, before_and_after, module};
use fastrand::Rng;

const THREADS: usize = 16;

/// The text of a kernel whose threads branch on predicates in a loop.
struct Text<'r> {
    rng: &'r mut Rng,
    text: String,
}

impl Text<'_> {
    fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.rng.usize(..all.len())]
    }

    fn predicate(&mut self) -> &'static str {
        self.pick(&["%q1", "%q2", "%q3"])
    }

    /// Emits up to `count` instructions, most of which compute a predicate.
    fn instructions(&mut self, count: usize) {
        for _ in 0..self.rng.usize(..=count) {
            let [to, a, b] = [self.predicate(), self.predicate(), self.predicate()];
            let [x, y] = [(); 2].map(|()| self.pick(&["%w1", "%w2", "%w3"]));
            let line = match self.rng.u32(..12) {
                0..4 => format!("setp.{}.u32 {to}, {x}, {y};", self.pick(&["lt", "eq"])),
                4..6 => format!("xor.pred {to}, {a}, {b};"),
                6..8 => format!("mov.pred {to}, {a};"),
                8 => format!("not.pred {to}, {a};"),
                9 => format!("setp.lt.u32 %t, {x}, {y};\nxor.pred {to}, %t, {a};"),
                10 => format!("@{a} xor.pred {to}, {b}, {to};"),
                _ => format!("add.s32 {x}, {y}, 1;"),
            };
            let _ = writeln!(self.text, "{line}");
        }
    }

    /// Emits a branch, perhaps with two arms, and a branch on a predicate where the arms join.
    fn step(&mut self, step: usize) {
        self.instructions(2);
        if self.rng.u32(..4) == 0 {
            // Another predecessor of the join.
            let skips = self.predicate();
            let _ = writeln!(self.text, "@{skips} bra $join{step};");
            self.instructions(2);
        }
        let not = ["", "!"].map(|_| self.pick(&["", "!"]));
        let guard = self.predicate();
        let has_else = self.rng.bool();
        let to = if has_else { "other" } else { "join" };
        let _ = writeln!(self.text, "@{}{guard} bra ${to}{step};", not[0]);
        self.instructions(2);
        if has_else {
            let _ = writeln!(self.text, "bra.uni $join{step};\n$other{step}:");
            self.instructions(2);
        }
        let _ = writeln!(self.text, "$join{step}:");
        self.instructions(1);
        let result = self.predicate();
        let _ = writeln!(
            self.text,
            "@{}{result} bra $end{step};\nxor.b32 %sum, %sum, {step};\n$end{step}:
            mad.lo.s32 %sum, %sum, 31, 1;",
            not[1]
        );
        if self.rng.bool() {
            let read = self.predicate();
            let _ = writeln!(self.text, "@{read} add.s32 %sum, %sum, 7;");
        }
    }
}

fn kernel(rng: &mut Rng) -> String {
    let steps = rng.usize(1..4);
    let mut text = Text {
        rng,
        text: String::new(),
    };
    for step in 1..=steps {
        text.step(step);
    }
    let last = text.pick(&["", "mov.pred %q1, %q2;", "mov.pred %q3, %q1;"]);
    let body = format!(
        "
        .reg .pred %q<4>, %t, %more;
        .reg .b32 %w<4>, %tid, %sum, %j, %bit;
        .reg .b64 %from, %to, %at;
        ld.param.u64 %from, [k_param_0];
        ld.param.u64 %to, [k_param_1];
        mov.u32 %tid, %tid.x;
        mul.wide.u32 %at, %tid, 16;
        add.s64 %from, %from, %at;
        ld.global.u32 %w1, [%from];
        ld.global.u32 %w2, [%from+4];
        ld.global.u32 %w3, [%from+8];
        ld.global.u32 %bit, [%from+12];
        setp.gt.u32 %q1, %bit, 3;
        setp.lt.u32 %q2, %bit, 2;
        setp.eq.u32 %q3, %bit, 5;
        mov.u32 %sum, 0;
        mov.u32 %j, 0;
    $loop:
        {}
        {last}
        add.s32 %j, %j, 1;
        setp.lt.u32 %more, %j, 3;
        @%more bra $loop;
        mul.wide.u32 %at, %tid, 4;
        add.s64 %to, %to, %at;
        st.global.u32 [%to], %sum;
        ret;",
        text.text
    );
    module("", ".param .u64 k_param_0, .param .u64 k_param_1", &body)
}

#[test]
fn conditions_have_the_same_values() {
    let (seed, count) = settings(600);
    let mut replaced = 0;
    for seed in seed.map_or(0..count, |seed: u64| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = kernel(&mut rng);
        let [plain, fast] = before_and_after(&text, &[], &[]);
        replaced += u64::from(fast.contains("or.pred") && !fast.contains("selp"));
        let words: Vec<u32> = (0..4 * THREADS)
            .map(|index| rng.u32(..if index % 4 == 3 { 7 } else { 4 }))
            .collect();
        let run = |text: &str| {
            let device = Device::new(text);
            let to = device.upload(&[0u32; THREADS]);
            let params = Params::new().u64(device.upload(&words)).u64(to);
            device.launch("k", 1, THREADS as u32, params).unwrap();
            device.download::<u32>(to, THREADS)
        };
        assert_eq!(run(&fast), run(&plain), "seed {seed}\n{text}\n{fast}");
    }
    assert!(
        replaced > count / 16 || seed.is_some(),
        "{replaced} of {count} kernels have a condition without a branch"
    );
}
