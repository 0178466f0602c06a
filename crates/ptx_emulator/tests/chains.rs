//! Runs random chains of branches and conditional loads, before and after `ptx::finish` optimizes
//! them, in blocks of 32 threads: memory must be equal.

mod common;

use std::fmt::Write as _;

use common::generator::{Code, Generator, settings};
use common::{Device, Params, before_and_after};
use fastrand::Rng;

/// The number of threads. Each writes two words.
const THREADS: usize = 32;

/// A function that exits. Its calls are panics.
const PANIC: &str = "
    .func panic (.param .b64 to, .param .b64 place) .noreturn {
        .reg .b64 %rd<3>;
        ld.param.u64 %rd1, [to];
        ld.param.u64 %rd2, [place];
        st.global.u64 [%rd1], %rd2;
        exit;
    }
    ";

/// The text of a kernel whose parameters are two slices of `u32`, the address of the output, and
/// three numbers.
struct Text<'r> {
    rng: &'r mut Rng,
    code: Code,
    /// The 64-bit registers with numbers.
    values: Vec<String>,
    /// The 32-bit ones.
    words: Vec<String>,
}

impl Generator for Text<'_> {
    fn code(&mut self) -> &mut Code {
        &mut self.code
    }
}

impl<'r> Text<'r> {
    fn new(rng: &'r mut Rng) -> Text<'r> {
        let mut text = Text {
            rng,
            code: Code {
                body: "
                ld.param.u64 %base_xs, [k_param_0];
                cvta.to.global.u64 %xs, %base_xs;
                ld.param.u64 %xs_len, [k_param_1];
                ld.param.u64 %base_ys, [k_param_2];
                cvta.to.global.u64 %ys, %base_ys;
                ld.param.u64 %ys_len, [k_param_3];
                ld.param.u64 %base_out, [k_param_4];
                cvta.to.global.u64 %all, %base_out;
                mov.u32 %tid, %tid.x;
                mul.wide.u32 %offset, %tid, 16;
                add.s64 %out, %all, %offset;
                ld.param.u64 %a, [k_param_5];
                ld.param.u64 %b, [k_param_6];
                ld.param.u64 %c, [k_param_7];
                "
                .to_owned(),
                count: 1,
                ..Code::default()
            },
            values: ["%xs_len", "%ys_len", "%a", "%b", "%c"]
                .map(str::to_owned)
                .to_vec(),
            words: vec!["%tid".to_owned()],
        };
        for _ in 0..3 {
            let thread = text.op("%rd", "cvt.u64.u32", "%tid");
            text.values.push(thread);
        }
        // Numbers that are known to be small.
        for name in ["%a", "%b", "%c"] {
            let mask = [7, 31, 255][text.rng.usize(..3)];
            let masked = text.op("%rd", "and.b64", &format!("{name}, {mask}"));
            text.values.push(masked);
        }
        text
    }

    /// Returns one of the values, mostly one of the last.
    fn value(&mut self) -> String {
        let from = match self.rng.bool() {
            true => self.values.len() - 4,
            false => 0,
        };
        let index = self.rng.usize(from..self.values.len());
        self.values[index].clone()
    }

    fn word(&mut self) -> String {
        let index = self.rng.usize(..self.words.len());
        self.words[index].clone()
    }

    /// Emits a comparison, and returns the predicate.
    fn comparison(&mut self) -> String {
        let (a, b) = (self.value(), self.value());
        let constant = self.rng.u32(..6).to_string();
        let b = if self.rng.u32(..3) == 0 { constant } else { b };
        let relation = ["lt", "le", "gt", "ge", "lt", "ge"][self.rng.usize(..6)];
        let ty = match self.rng.u32(..8) {
            0 => "s64",
            _ => "u64",
        };
        match self.rng.u32(..10) {
            0 => self.op("%p", "setp.eq.s64", &format!("{a}, {b}")),
            1 => self.op("%p", "setp.ne.s64", &format!("{a}, {b}")),
            2 => {
                let (a, b) = (self.word(), self.word());
                let setp = format!("setp.{relation}.u32");
                self.op("%p", &setp, &format!("{a}, {b}"))
            }
            _ => self.op("%p", &format!("setp.{relation}.{ty}"), &format!("{a}, {b}")),
        }
    }

    /// Emits an instruction that computes a number from others.
    fn compute(&mut self) {
        let (a, b) = (self.value(), self.value());
        let constant = self.rng.u32(1..6);
        let value = match self.rng.u32(..16) {
            0 | 1 => self.op("%rd", "add.s64", &format!("{a}, -{constant}")),
            2 => self.op("%rd", "add.s64", &format!("{a}, {constant}")),
            3..6 => self.op("%rd", "sub.s64", &format!("{a}, {b}")),
            6 => self.op("%rd", "add.s64", &format!("{a}, {b}")),
            7 => self.op("%rd", "min.u64", &format!("{a}, {b}")),
            8 => self.op("%rd", "max.u64", &format!("{a}, {b}")),
            9 => self.op("%rd", "mul.lo.s64", &format!("{a}, {b}")),
            10 => {
                let p = self.comparison();
                self.op("%rd", "selp.b64", &format!("{a}, {b}, {p}"))
            }
            // A saturating subtraction.
            11 => {
                let p = self.op("%p", "setp.lt.u64", &format!("{a}, {constant}"));
                let less = self.op("%rd", "add.s64", &format!("{a}, -{constant}"));
                self.op("%rd", "selp.b64", &format!("0, {less}, {p}"))
            }
            12 => self.op("%rd", "mad.lo.s64", &format!("{a}, {constant}, {b}")),
            13 => self.op("%rd", "neg.s64", &a),
            _ => {
                let (x, y) = (self.word(), self.word());
                let word = match self.rng.u32(..6) {
                    0 => self.op("%r", "cvt.u32.u64", &a),
                    1 => self.op("%r", "add.s32", &format!("{x}, -{constant}")),
                    2 => self.op("%r", "sub.s32", &format!("{x}, {y}")),
                    3 => {
                        let p = self.op("%p", "setp.lt.u32", &format!("{x}, {constant}"));
                        let less = self.op("%r", "add.s32", &format!("{x}, -{constant}"));
                        self.op("%r", "selp.b32", &format!("0, {less}, {p}"))
                    }
                    4 => {
                        let p = self.op("%p", "setp.gt.u32", &format!("{x}, {constant}"));
                        let less = self.op("%r", "sub.s32", &format!("{x}, {constant}"));
                        self.op("%r", "selp.b32", &format!("{less}, 0, {p}"))
                    }
                    _ => self.op("%r", "min.u32", &format!("{x}, {y}")),
                };
                self.words.push(word.clone());
                let widen = ["cvt.u64.u32", "cvt.s64.s32"][self.rng.usize(..2)];
                self.op("%rd", widen, &word)
            }
        };
        self.values.push(value);
    }

    /// Emits branches to the end if differences of small numbers are negative or too large, as those
    /// of `checked_sub` and `get`.
    fn differences(&mut self) {
        let small = |text: &mut Self| {
            let index = text.rng.usize(5..11);
            text.values[index].clone()
        };
        let mut last = small(self);
        for _ in 0..self.rng.u32(2..4) {
            let other = match self.rng.u32(..3) {
                0 => self.rng.u32(1..9).to_string(),
                _ => small(self),
            };
            let (relation, difference) = match self.rng.bool() {
                true => (
                    ["lt", "le"][self.rng.usize(..2)],
                    format!("{last}, {other}"),
                ),
                false if other.starts_with('%') => (
                    ["ge", "gt"][self.rng.usize(..2)],
                    format!("{other}, {last}"),
                ),
                false => ("lt", format!("{last}, {other}")),
            };
            let p = self.op(
                "%p",
                &format!("setp.{relation}.u64"),
                &format!("{last}, {other}"),
            );
            self.line(&format!("@{p} bra $none;"));
            last = self.op("%rd", "sub.s64", &difference);
            if self.rng.u32(..3) == 0 {
                last = self.op("%rd", "add.s64", &format!("{last}, -1"));
            }
        }
        let limit = small(self);
        let p = self.op("%p", "setp.ge.u64", &format!("{last}, {limit}"));
        self.line(&format!("@{p} bra $none;"));
        self.values.push(last);
    }

    /// Emits a check that panics unless a predicate has a value.
    fn check(&mut self, predicate: &str, passes: bool) {
        self.code.count += 1;
        let place = self.code.count;
        let not = if passes { "!" } else { "" };
        self.line(&format!("@{not}{predicate} bra $P{place};"));
        let _ = writeln!(
            self.code.panics,
            "$P{place}: {{
                .param .b64 a;
                st.param.b64 [a], %out;
                .param .b64 b;
                st.param.b64 [b], {place};
                call.uni panic, (a, b);
            }}"
        );
    }

    /// Emits a load with a check, whose index may be a loaded one.
    fn load(&mut self) {
        let (slice, load) = [
            ("%xs", "ld.global.nc.u32"),
            ("%ys", "ld.global.nc.u32"),
            ("%xs", "ld.global.u32"),
        ][self.rng.usize(..3)];
        let index = match self.rng.bool() {
            true => self.value(),
            false => {
                let word = self.word();
                self.op("%rd", "cvt.u64.u32", &word)
            }
        };
        let p = self.op("%p", "setp.lt.u64", &format!("{index}, {slice}_len"));
        if self.rng.u32(..3) == 0 {
            self.line(&format!("@!{p} bra $none;"));
        } else {
            self.check(&p, true);
        }
        let bytes = self.op("%rd", "shl.b64", &format!("{index}, 2"));
        let at = self.op("%rd", "add.s64", &format!("{slice}, {bytes}"));
        let word = self.op("%r", load, &format!("[{at}]"));
        self.words.push(word.clone());
        if self.rng.bool() {
            let value = self.op("%rd", "cvt.u64.u32", &word);
            self.values.push(value);
        }
    }

    /// Returns the module, whose kernel stores a hash of all numbers at the end.
    fn finish(mut self) -> String {
        self.line("mov.u64 %hash, 7;");
        for value in self.values.clone() {
            self.line(&format!("mad.lo.s64 %hash, %hash, 31, {value};"));
        }
        for word in self.words.clone() {
            let value = self.op("%rd", "cvt.u64.u32", &word);
            self.line(&format!("mad.lo.s64 %hash, %hash, 33, {value};"));
        }
        let params: Vec<String> = (0..8)
            .map(|index| format!(".param .u64 k_param_{index}"))
            .collect();
        let count = self.code.count + 1;
        format!(
            "
                .version 8.7
                .target sm_90
                .address_size 64
                {PANIC}
                .visible .entry k({}) {{
                    .reg .pred %p<{count}>;
                    .reg .b32 %tid, %r<{count}>;
                    .reg .b64 %xs, %ys, %base_xs, %base_ys, %base_out, %all, %offset, %out;
                    .reg .b64 %xs_len, %ys_len, %a, %b, %c, %hash, %rd<{count}>;
                    {}
                    st.global.u64 [%out+8], %hash;
                    $none:
                    ret;
                    {}
                }}
                ",
            params.join(", "),
            self.code.body,
            self.code.panics
        )
    }
}

/// Returns a kernel with branches to the end, to panics, and around code.
fn kernel(rng: &mut Rng) -> String {
    let mut text = Text::new(rng);
    for _ in 0..text.rng.u32(4..14) {
        for _ in 0..text.rng.u32(..4) {
            text.compute();
        }
        match text.rng.u32(..8) {
            7 => text.differences(),
            0..3 => {
                let p = text.comparison();
                let not = ["", "!"][text.rng.usize(..2)];
                text.line(&format!("@{not}{p} bra $none;"));
            }
            3 => {
                let p = text.comparison();
                let passes = text.rng.bool();
                text.check(&p, passes);
            }
            4 | 5 => text.load(),
            // A store that only some threads execute.
            _ => {
                let p = text.comparison();
                text.code.count += 1;
                let skip = text.code.count;
                let value = text.value();
                text.line(&format!(
                    "@{p} bra $S{skip};\n    st.global.u64 [%out], {value};\n$S{skip}:"
                ));
            }
        }
    }
    text.finish()
}

/// Returns the kernel before and after the passes. `with_sizes`: with a copy for small numbers.
fn finished(text: &str, with_sizes: bool) -> [String; 2] {
    match with_sizes {
        true => before_and_after(text, &[(0, 4), (2, 4)], &[5, 6]),
        false => before_and_after(text, &[], &[]),
    }
}

fn run(text: &str, slices: [&[u32]; 2], numbers: [u64; 3]) -> (Vec<u64>, Option<String>) {
    let device = Device::new(text);
    let mut params = Params::new();
    for slice in slices {
        params = params.u64(device.upload(slice)).u64(slice.len() as u64);
    }
    let out = device.upload(&[0u64; 2 * THREADS]);
    let params = (numbers.into_iter()).fold(params.u64(out), |params, number| params.u64(number));
    let fault = device.launch("k", 1, THREADS as u32, params).err();
    let fault = fault.map(|fault| format!("{:?}", fault.kind));
    (device.download(out, 2 * THREADS), fault)
}

#[test]
fn optimized_chains_have_the_same_results() {
    let (seed, kernels) = settings(300);
    let (mut changed, mut early) = (0, 0);
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = kernel(&mut rng);
        let with_sizes = rng.bool();
        let [plain, moved] = finished(&text, with_sizes);
        changed += u64::from(plain != moved);
        early += u64::from(moved.lines().any(|line| {
            let line = line.trim();
            line.starts_with('@') && line.contains("ld.global")
        }));
        for _ in 0..12 {
            let mut slice = |below: u32| -> Vec<u32> {
                let len = rng.usize(1..40);
                (0..len).map(|_| rng.u32(..below)).collect()
            };
            let (xs, ys) = (slice(40), slice(40));
            let mut number = || match rng.u32(..10) {
                0 => u64::MAX - rng.u64(..4),
                1 => (1 << 32) + rng.u64(..4) - 2,
                2 => (1 << 30) + rng.u64(..4) - 2,
                _ => rng.u64(..20),
            };
            let numbers = [number(), number(), number()];
            let expected = run(&plain, [&xs, &ys], numbers);
            let found = run(&moved, [&xs, &ys], numbers);
            assert_eq!(found, expected, "seed {seed}: {numbers:?}\n{text}\n{moved}");
        }
    }
    assert!(
        (changed > kernels / 2 && early > kernels / 10) || seed.is_some(),
        "of {kernels}, {changed} change, and {early} have an early load"
    );
}
