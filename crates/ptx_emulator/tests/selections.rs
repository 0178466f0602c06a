//! Runs selections between predicates, and variables for floats and for their bits, before and after
//! `ptx::finish` simplifies them: all threads must have the same results.

mod common;

use std::fmt::Write;

use common::generator::settings;
use common::{Device, Params, before_and_after, module};
use fastrand::Rng;

const THREADS: usize = 32;

/// The text of a kernel. Each of the predicates `%q1`, `%q2`, ... is set once.
struct Text<'r> {
    rng: &'r mut Rng,
    text: String,
    predicates: usize,
    labels: usize,
}

impl Text<'_> {
    fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.rng.usize(..all.len())]
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    /// Emits an instruction that sets a new predicate.
    fn set(&mut self, opcode: &str, sources: &str) -> String {
        self.predicates += 1;
        let to = format!("%q{}", self.predicates);
        self.line(&format!("{opcode} {to}, {sources};"));
        to
    }

    /// Returns a predicate that was set, most often one of the last ones.
    fn predicate(&mut self) -> String {
        let first = match self.rng.u32(..3) {
            0 => 1,
            _ => self.predicates.saturating_sub(5).max(1),
        };
        format!("%q{}", self.rng.usize(first..=self.predicates))
    }

    /// Emits a comparison, most often of numbers that do not change.
    fn comparison(&mut self) -> String {
        let relation = self.pick(&["lt", "le", "gt", "ge", "eq", "ne"]);
        let ty = self.pick(&["u32", "s32"]);
        let sides = match self.rng.u32(..8) {
            0..3 => format!("%w1, {}", self.rng.u32(..3)),
            3 => format!("{}, %w1", self.rng.u32(..3)),
            4 => format!("%w1, {}", self.pick(&["-1", "0x7FFFFFFF", "0xFFFFFFFF"])),
            5 => "%w1, %w2".to_owned(),
            6 => "%other, %number".to_owned(),
            _ => {
                let relation = self.pick(&["gt", "eq", "neu", "leu"]);
                return self.set(&format!("setp.{relation}.f32"), "%g, %f");
            }
        };
        self.set(&format!("setp.{relation}.{ty}"), &sides)
    }

    /// Emits a selection between two predicates.
    fn selection(&mut self) {
        let [condition, mut x, mut y] = [self.predicate(), self.predicate(), self.predicate()];
        let common = self.predicate();
        if self.rng.bool() {
            x = self.set("xor.pred", &format!("{x}, {common}"));
        }
        if self.rng.bool() {
            y = self.set("xor.pred", &format!("{common}, {y}"));
        }
        if self.rng.u32(..4) == 0 {
            y = self.set("not.pred", &x);
        }
        let opposite = match self.rng.u32(..8) {
            0 => self.predicate(),
            _ => self.set("not.pred", &condition),
        };
        let a = self.set("and.pred", &format!("{condition}, {x}"));
        let b = match self.rng.bool() {
            true => self.set("and.pred", &format!("{y}, {opposite}")),
            false => self.set("and.pred", &format!("{opposite}, {y}")),
        };
        self.set("or.pred", &format!("{a}, {b}"));
    }

    /// Changes a float and its bits, or perhaps only one of them.
    fn change(&mut self) {
        let label = self.labels;
        self.labels += 1;
        let condition = self.predicate();
        self.line(&format!("@{condition} bra $L{label};"));
        let (float, bits) = match self.rng.u32(..6) {
            0..3 => ("mov.f32 %f, %g;", "mov.b32 %bits, %other;"),
            3 => ("add.f32 %f, %f, %g;", "mov.b32 %bits, %f;"),
            4 => ("mov.b32 %f, %other;", "mov.b32 %bits, %other;"),
            _ => ("", "mov.b32 %bits, %other;"),
        };
        match self.rng.bool() && !float.starts_with("add") {
            true => self.line(&format!("{bits}\n{float}")),
            false => self.line(&format!("{float}\n{bits}")),
        }
        self.line(&format!("$L{label}:"));
    }
}

fn kernel(rng: &mut Rng) -> String {
    let steps = rng.usize(1..5);
    let distance = 1 << rng.u32(..5);
    let mut text = Text {
        rng,
        text: String::new(),
        predicates: 0,
        labels: 0,
    };
    for _ in 0..3 {
        text.comparison();
    }
    for _ in 0..steps {
        for _ in 0..text.rng.usize(1..4) {
            match text.rng.u32(..6) {
                0 | 1 => _ = text.comparison(),
                2 => {
                    let sources = format!("{}, {}", text.predicate(), text.predicate());
                    text.set("xor.pred", &sources);
                }
                3 => {
                    let source = text.predicate();
                    text.set("mov.pred", &source);
                }
                _ => text.selection(),
            }
        }
        text.selection();
        let read = format!("%q{}", text.predicates);
        text.line(&format!("selp.u32 %w3, 5, 9, {read};"));
        text.line("mad.lo.s32 %sum, %sum, 31, %w3;");
        text.change();
        text.line("mov.b32 %w3, %f;\nmad.lo.s32 %sum, %sum, 31, %w3;");
        text.line("mad.lo.s32 %sum, %sum, 31, %bits;");
    }
    let body = format!(
        "
        .reg .pred %q<{}>, %more, %none;
        .reg .f32 %f, %g;
        .reg .b32 %w<4>, %tid, %sum, %j, %bits, %number, %other;
        .reg .b64 %from, %to, %at;
        ld.param.u64 %from, [k_param_0];
        ld.param.u64 %to, [k_param_1];
        mov.u32 %tid, %tid.x;
        mul.wide.u32 %at, %tid, 16;
        add.s64 %from, %from, %at;
        ld.global.u32 %w1, [%from];
        ld.global.u32 %w2, [%from+4];
        ld.global.u32 %number, [%from+8];
        mov.f32 %f, 0f3F800000;
        setp.eq.u32 %none, %number, 0;
        @%none bra $start;
        ld.global.f32 %f, [%from+12];
    $start:
        mov.b32 %bits, %f;
        mov.u32 %sum, 0;
        mov.u32 %j, 0;
    $loop:
        shfl.sync.bfly.b32 %other, %bits, {distance}, 31, -1;
        mov.b32 %g, %other;
        {}
        add.s32 %j, %j, 1;
        setp.lt.u32 %more, %j, 3;
        @%more bra $loop;
        mul.wide.u32 %at, %tid, 4;
        add.s64 %to, %to, %at;
        st.global.u32 [%to], %sum;
        ret;",
        text.predicates + 1,
        text.text
    );
    module("", ".param .u64 k_param_0, .param .u64 k_param_1", &body)
}

#[test]
fn selections_have_the_same_values() {
    let (seed, count) = settings(600);
    let (mut merged, mut smaller) = (0, 0);
    for seed in seed.map_or(0..count, |seed: u64| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = kernel(&mut rng);
        let [plain, fast] = before_and_after(&text, &[], &[]);
        let operations = |text: &str| {
            let all = ["and.pred", "or.pred", "xor.pred", "not.pred"];
            all.map(|it| text.matches(it).count()).iter().sum::<usize>()
        };
        smaller += u64::from(operations(&fast) + 1 < operations(&plain));
        merged += u64::from(!fast.contains("mov.b32 %bits"));
        let words: Vec<u32> = (0..4 * THREADS)
            .map(|index| match (index % 4, rng.u32(..8)) {
                (3, 0) => 1.5f32.to_bits(),
                (3, _) => (rng.u32(..4) as f32).to_bits(),
                (_, 0) => *rng.choice(&[u32::MAX, 1 << 31, i32::MAX as u32]).unwrap(),
                _ => rng.u32(..4),
            })
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
        merged > count / 16 && smaller > count / 16 || seed.is_some(),
        "of {count} kernels, {merged} have one variable less and {smaller} fewer operations"
    );
}
