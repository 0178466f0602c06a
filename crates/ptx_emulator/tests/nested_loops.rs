//! Runs random nested loops before and after `ptx::finish` optimizes them: loops that continue outer
//! ones, whose counters change early or late, with the loads and divisions of unrolled ones.

mod common;

use std::fmt::Write as _;

use common::generator::{Code, Generator, registers, settings};
use common::{Device, Params, before_and_after};
use fastrand::Rng;

/// The number of words of the slice that the loops load from.
const WORDS: usize = 64;

/// The 64-bit and 32-bit registers that all code may change.
const SHARED: usize = 4;

struct Text<'r> {
    rng: &'r mut Rng,
    code: Code,
    /// The labels at which an enclosing loop continues.
    open: Vec<String>,
    /// The counters of the enclosing loops: register, and width in bits.
    counters: Vec<(String, u32)>,
    /// Whether there are loops with several latches.
    has_latches: bool,
}

impl Generator for Text<'_> {
    fn code(&mut self) -> &mut Code {
        &mut self.code
    }
}

impl Text<'_> {
    fn number(&mut self) -> u32 {
        self.code.count += 1;
        self.code.count
    }

    /// Returns a 64-bit register.
    fn wide(&mut self) -> String {
        let counters = self.counters.iter().filter(|(_, bits)| *bits == 64);
        let counters: Vec<String> = counters.map(|(name, _)| name.clone()).collect();
        match self.rng.usize(..6) {
            0 if !counters.is_empty() => counters[self.rng.usize(..counters.len())].clone(),
            1 => ["%a", "%b", "%xs_len"][self.rng.usize(..3)].to_owned(),
            _ => format!("%w{}", self.rng.usize(..SHARED)),
        }
    }

    /// Emits a change of a shared register.
    fn change(&mut self) {
        let to = self.rng.usize(..SHARED);
        let (value, constant) = (self.wide(), self.rng.u32(1..5));
        match self.rng.u32(..6) {
            0 => self.line(&format!("add.s64 %w{to}, %w{to}, {constant};")),
            1 => self.line(&format!("add.s64 %w{to}, %w{to}, %a;")),
            2 => self.line(&format!("add.s64 %w{to}, %w{to}, {value};")),
            3 => self.line(&format!("add.s32 %v{to}, %v{to}, {constant};")),
            4 => {
                let low = self.op("%r", "cvt.u32.u64", &value);
                self.line(&format!("mad.lo.s32 %v{to}, %v{to}, 31, {low};"));
            }
            _ => {
                let rest = self.op("%rd", "and.b64", &format!("{value}, {}", WORDS - 1));
                let bytes = self.op("%rd", "shl.b64", &format!("{rest}, 2"));
                let at = self.op("%rd", "add.s64", &format!("%xs, {bytes}"));
                let load = ["ld.global.u32", "ld.global.nc.u32"][self.rng.usize(..2)];
                let word = self.op("%r", load, &format!("[{at}]"));
                self.line(&format!("xor.b32 %v{to}, %v{to}, {word};"));
                if self.rng.u32(..3) == 0 {
                    let wide = self.op("%rd", "mul.wide.u32", &format!("{word}, 2000000011"));
                    let quotient = self.op("%rd", "div.u64", &format!("{wide}, 7"));
                    let low = self.op("%r", "cvt.u32.u64", &quotient);
                    self.line(&format!("add.s32 %v{to}, %v{to}, {low};"));
                }
            }
        }
    }

    /// Emits a condition, and returns the predicate.
    fn condition(&mut self) -> String {
        let constant = self.rng.u32(..8);
        match self.rng.u32(..3) {
            0 => {
                let from = self.rng.usize(..SHARED);
                let bits = self.op("%r", "and.b32", &format!("%v{from}, 3"));
                self.op("%p", "setp.eq.s32", &format!("{bits}, 1"))
            }
            1 => {
                let value = self.wide();
                self.op("%p", "setp.gt.u64", &format!("{value}, {constant}"))
            }
            _ => {
                let (a, b) = (self.wide(), self.wide());
                self.op("%p", "setp.lt.u64", &format!("{a}, {b}"))
            }
        }
    }

    /// Emits an exit of the kernel after a number of steps.
    fn limit(&mut self) {
        self.line("add.s32 %steps, %steps, 1;");
        let p = self.op("%p", "setp.gt.u32", "%steps, 60");
        self.line(&format!("@{p} bra $end;"));
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..self.rng.u32(1..4) {
            match self.rng.u32(..8) {
                0 | 1 if depth > 0 => self.counted_loop(depth - 1),
                2 if depth > 0 => self.shared_latch(depth - 1),
                3 if depth > 0 => {
                    let (p, skip) = (self.condition(), self.number());
                    self.line(&format!("@{p} bra $S{skip};"));
                    self.statements(depth - 1);
                    self.line(&format!("$S{skip}:"));
                }
                5 | 6 if self.has_latches && depth > 0 => self.several_latches(depth - 1),
                4 if !self.open.is_empty() => {
                    self.limit();
                    let p = self.condition();
                    let to = self.open[self.rng.usize(..self.open.len())].clone();
                    self.line(&format!("@{p} bra {to};"));
                }
                _ => self.change(),
            }
        }
    }

    /// Emits a loop with a counter, whose step may precede the rest of the body.
    fn counted_loop(&mut self, depth: u32) {
        let label = self.number();
        let bits = [32, 64][self.rng.usize(..2)];
        let (prefix, suffix) = registers(bits);
        let down = self.rng.u32(..4) == 0;
        let bound = format!("%{}{suffix}", ["a", "b"][self.rng.usize(..2)]);
        let start = if down { bound.clone() } else { "0".to_owned() };
        let limit = if down { "0".to_owned() } else { bound };
        // The numbers are positive, and multiples of four.
        let step = [1, 1, 2, 4][self.rng.usize(..4)];
        let step = if down { -step } else { step };
        let relation = match (down, self.rng.u32(..3)) {
            (_, 0) => "ne.s".to_owned(),
            (true, _) => "gt.s".to_owned(),
            (false, 1) => "lt.s".to_owned(),
            (false, _) => "lt.u".to_owned(),
        };
        let counter = self.op(prefix, &format!("mov.b{bits}"), &start);
        self.line(&format!("$L{label}:"));
        self.open.push(format!("$N{label}"));
        self.counters.push((counter.clone(), bits));
        let add = format!("add.s{bits} {counter}, {counter}, {step};");
        let early = self.rng.u32(..3);
        if early == 0 {
            self.line(&add);
        }
        self.statements(depth);
        if early == 1 {
            self.line(&add);
            let p = self.condition();
            self.line(&format!("@{p} bra $N{label};"));
            self.change();
        }
        self.line(&format!("$N{label}:"));
        if early == 2 {
            self.line(&add);
        }
        self.counters.pop();
        self.open.pop();
        // With a step that was left out, the counter might never meet the bound.
        self.limit();
        let p = self.op(
            "%p",
            &format!("setp.{relation}{bits}"),
            &format!("{counter}, {limit}"),
        );
        self.line(&format!("@{p} bra $L{label};"));
    }

    /// Emits a loop that ends in the middle of an iteration, by the sum of the counter and a number,
    /// and whose iterations end in one of several blocks.
    fn several_latches(&mut self, depth: u32) {
        let label = self.number();
        let bits = [32, 64][self.rng.usize(..2)];
        let (prefix, suffix) = registers(bits);
        let step = [1, 1, 2, 4, -1, -2, -4][self.rng.usize(..7)];
        let numbers = [4 * self.rng.i64(0..5), 4 * self.rng.i64(0..5) - 4];
        let [mut start, mut limit] = numbers.map(|number| number.to_string());
        for number in [&mut start, &mut limit] {
            if self.rng.u32(..3) == 0 {
                *number = format!("%{}{suffix}", ["a", "b"][self.rng.usize(..2)]);
            }
        }
        let relation = match (step < 0, self.rng.u32(..4)) {
            (_, 0 | 1) => "ne.s",
            (true, 2) => "gt.s",
            (true, _) => "ge.s",
            (false, 2) => "lt.s",
            (false, _) => ["lt.u", "le.u"][self.rng.usize(..2)],
        };
        let offset = match self.rng.u32(..5) {
            0 => 2 * step,
            1 => -step,
            _ => self.rng.i64(step.min(0)..=step.max(0)),
        };
        let counter = self.op(prefix, &format!("mov.b{bits}"), &start);
        self.line(&format!("$L{label}:"));
        self.counters.push((counter.clone(), bits));
        let add = format!("add.s{bits} {counter}, {counter}, {step};");
        let place = self.rng.u32(..4);
        if place == 0 {
            self.line(&add);
        }
        self.change();
        let mut sum = self.op(
            prefix,
            &format!("add.s{bits}"),
            &format!("{counter}, {offset}"),
        );
        if self.rng.u32(..4) == 0 {
            sum = self.op(prefix, &format!("add.s{bits}"), &format!("{sum}, {step}"));
        }
        if place == 1 {
            self.line(&add);
        }
        self.limit();
        let go_on = self.op(
            "%p",
            &format!("setp.{relation}{bits}"),
            &format!("{sum}, {limit}"),
        );
        match self.rng.bool() {
            true => self.line(&format!("@!{go_on} bra $X{label};")),
            false => self.line(&format!(
                "@{go_on} bra $Y{label};\n    bra.uni $X{label};\n$Y{label}:"
            )),
        }
        if place == 2 {
            self.line(&add);
        }
        self.statements(depth);
        if place == 3 {
            self.line(&add);
        }
        for _ in 0..self.rng.u32(1..3) {
            let p = self.condition();
            self.line(&format!("@{p} bra $L{label};"));
            self.change();
        }
        self.line(&format!("bra.uni $L{label};\n$X{label}:"));
        self.counters.pop();
    }

    /// Emits two loops that end with the same block.
    fn shared_latch(&mut self, depth: u32) {
        let (outer, inner) = (self.number(), self.number());
        // Perhaps a counter that only the last block reads.
        let counter = self.op("%rd", "mov.u64", "0");
        self.line(&format!("$L{outer}:"));
        if self.rng.bool() {
            self.line(&format!("add.s64 {counter}, {counter}, 1;"));
        }
        self.statements(depth);
        self.line(&format!("$L{inner}:"));
        self.change();
        self.limit();
        self.change();
        if self.rng.bool() {
            let p = self.condition();
            self.line(&format!("@{p} bra $O{outer};"));
        }
        let to = self.rng.usize(..SHARED);
        self.line(&format!("add.s64 %w{to}, %w{to}, {counter};"));
        let p = self.condition();
        self.line(&format!(
            "@{p} bra $L{inner};\n    bra.uni $L{outer};\n$O{outer}:"
        ));
    }
}

/// Returns a kernel whose parameters are a slice of `u32`, the address of the output, and two
/// numbers. `has_latches`: its loops may have several latches.
fn kernel(rng: &mut Rng, has_latches: bool) -> String {
    let mut text = Text {
        rng,
        code: Code::default(),
        open: Vec::new(),
        counters: Vec::new(),
        has_latches,
    };
    // The copy of the body for small numbers needs some operations on them.
    let last = text.op("%rd", "add.s64", "%b, -1");
    let least = text.op("%rd", "min.u64", &format!("%a, {last}"));
    text.line(&format!("add.s64 %w0, %w0, {least};"));
    for _ in 0..3 {
        text.statements(3);
    }
    let mut stores = String::new();
    for index in 0..SHARED {
        let (wide, word) = (8 * index, 8 * SHARED + 4 * index);
        let _ = writeln!(
            stores,
            "st.global.u64 [%out+{wide}], %w{index};
            st.global.u32 [%out+{word}], %v{index};"
        );
    }
    let starts: String = (0..SHARED)
        .map(|index| format!("mov.u64 %w{index}, {index};\nmov.u32 %v{index}, {index};\n"))
        .collect();
    let count = text.code.count + 1;
    format!(
        "
            .version 8.7
            .target sm_90
            .address_size 64
            .visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1,
                .param .u64 k_param_2, .param .u64 k_param_3, .param .u64 k_param_4) {{
                .reg .pred %p<{count}>;
                .reg .b32 %r<{count}>, %v<{SHARED}>, %steps, %a32, %b32;
                .reg .b64 %rd<{count}>, %w<{SHARED}>, %xs, %xs_len, %out, %a, %b, %base, %to;
                ld.param.u64 %base, [k_param_0];
                cvta.to.global.u64 %xs, %base;
                ld.param.u64 %xs_len, [k_param_1];
                ld.param.u64 %to, [k_param_2];
                cvta.to.global.u64 %out, %to;
                ld.param.u64 %a, [k_param_3];
                ld.param.u64 %b, [k_param_4];
                cvt.u32.u64 %a32, %a;
                cvt.u32.u64 %b32, %b;
                mov.u32 %steps, 0;
                {starts}
                {}
                $end:
                {stores}
                ret;
            }}
            ",
        text.code.body
    )
}

/// Returns the kernel before and after the passes. `with_sizes`: with a copy for small numbers.
fn finished(text: &str, with_sizes: bool) -> [String; 2] {
    match with_sizes {
        true => before_and_after(text, &[(0, 4)], &[3, 4]),
        false => before_and_after(text, &[], &[]),
    }
}

fn run(text: &str, words: &[u32], numbers: [u64; 2]) -> (Vec<u32>, Option<String>) {
    let device = Device::new(text);
    let xs = device.upload(words);
    let out = device.upload(&[0u32; 3 * SHARED]);
    let params = Params::new().u64(xs).u64(WORDS as u64).u64(out);
    let params = params.u64(numbers[0]).u64(numbers[1]);
    let fault = device.launch("k", 1, 1, params).err();
    let fault = fault.map(|fault| format!("{:?}", fault.kind));
    (device.download(out, 3 * SHARED), fault)
}

/// Seeds that found a fault: a block that no path reached any more took over the block after it.
const FAILED: [u64; 1] = [688];

#[test]
fn optimized_loops_have_the_same_results() {
    compare(false, &FAILED);
}

#[test]
fn loops_with_several_latches_have_the_same_results() {
    compare(true, &[]);
}

/// Compares the results of random kernels before and after the passes.
fn compare(has_latches: bool, failed: &[u64]) {
    let (seed, kernels) = settings(300);
    let mut changed = 0;
    let seeds: Vec<u64> = match seed {
        Some(seed) => vec![seed],
        None => (0..kernels).chain(failed.iter().copied()).collect(),
    };
    for seed in seeds {
        let mut rng = Rng::with_seed(seed);
        let text = kernel(&mut rng, has_latches);
        let with_sizes = rng.bool();
        let [plain, moved] = finished(&text, with_sizes);
        changed += u64::from(plain != moved);
        for _ in 0..6 {
            let words: Vec<u32> = (0..WORDS).map(|_| rng.u32(..)).collect();
            let mut number = || match rng.u32(..8) {
                0 => (1 << 31) - 4 * rng.u64(..3),
                1 => (1 << 30) - 4 * rng.u64(..3),
                _ => 4 * rng.u64(1..5),
            };
            let numbers = [number(), number()];
            let expected = run(&plain, &words, numbers);
            let found = run(&moved, &words, numbers);
            assert_eq!(found, expected, "seed {seed}: {numbers:?}\n{text}\n{moved}");
        }
    }
    assert!(
        changed > kernels / 3 || seed.is_some(),
        "{changed} of {kernels} change"
    );
}
