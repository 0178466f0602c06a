//! Runs kernels with random control flow, before and after the passes for speed: what each thread
//! computes, and the panics, must be equal.
//!
//! Any block may jump to any other, so loops may have several entries. Each block takes a step of
//! the fuel, so that all kernels end.

mod common;

use common::generator::{Code, Generator, PANIC, settings};
use common::{Device, Params};
use fastrand::Rng;
use ptx::{Kernels, Parameter, Purpose, Slice, stack};

/// The parameters: two slices, of which the second is the output, the reports, and three numbers.
const PARAMS: [&str; 8] = ["xs", "xs_len", "out", "out_len", "report", "n", "m", "k"];

/// The number of threads.
const THREADS: u32 = 3;

/// The number of variables of each type.
const VARIABLES: usize = 5;

struct Text<'r> {
    rng: &'r mut Rng,
    /// Whether most branches lead forward.
    structured: bool,
    /// The number of loops around the instruction.
    depth: u32,
    code: Code,
    blocks: usize,
}

impl Generator for Text<'_> {
    fn code(&mut self) -> &mut Code {
        &mut self.code
    }
}

impl Text<'_> {
    fn pick(&mut self, all: &[&str]) -> String {
        all[self.rng.usize(..all.len())].to_owned()
    }

    fn wide(&mut self) -> String {
        match self.rng.u32(..8) {
            0 => self.pick(&["%n", "%m", "%k", "%xs_len"]),
            1 => "%place".to_owned(),
            _ => format!("%w{}", self.rng.usize(..VARIABLES)),
        }
    }

    fn word(&mut self) -> String {
        format!("%a{}", self.rng.usize(..VARIABLES))
    }

    fn flag(&mut self) -> String {
        format!("%flag{}", self.rng.usize(..3))
    }

    /// Returns a 64-bit operand: mostly a register.
    fn operand(&mut self) -> String {
        match self.rng.u32(..3) {
            0 => self.pick(&["1", "-1", "2", "0", "3", "16", "1073741823", "4294967295"]),
            _ => self.wide(),
        }
    }

    /// Emits an instruction on the variables.
    fn instruction(&mut self) {
        let to = format!("%w{}", self.rng.usize(..VARIABLES));
        let [a, b] = [self.wide(), self.operand()];
        match self.rng.u32(..36) {
            0..4 => self.line(&format!("add.s64 {to}, {a}, {b};")),
            4 => self.line(&format!("sub.s64 {to}, {a}, {b};")),
            5 => self.line(&format!("mul.lo.s64 {to}, {a}, {b};")),
            6 => self.line(&format!("min.u64 {to}, {a}, {b};")),
            7 => self.line(&format!("max.u64 {to}, {a}, {b};")),
            8 => self.line(&format!("and.b64 {to}, {a}, {b};")),
            9 => self.line(&format!("or.b64 {to}, {a}, {b};")),
            10 => {
                let opcode = self.pick(&["shr.u64", "shl.b64", "shr.s64"]);
                let by = self.rng.u32(..5);
                self.line(&format!("{opcode} {to}, {a}, {by};"));
            }
            11 => {
                let opcode = self.pick(&["rem.u64", "div.u64"]);
                let by = self.rng.u32(1..9);
                self.line(&format!("{opcode} {to}, {a}, {by};"));
            }
            12 | 13 => self.line(&format!("mov.u64 {to}, {b};")),
            14 => {
                let p = self.condition();
                self.line(&format!("selp.b64 {to}, {a}, {b}, {p};"));
            }
            15 => {
                let (from, widen) = (self.word(), self.pick(&["cvt.u64.u32", "cvt.s64.s32"]));
                self.line(&format!("{widen} {to}, {from};"));
            }
            16 => {
                let word = self.word();
                self.line(&format!("cvt.u32.u64 {word}, {a};"));
            }
            17 => {
                let [to, a, b] = [self.word(), self.word(), self.word()];
                let all = [
                    "add.s32",
                    "sub.s32",
                    "mul.lo.s32",
                    "min.u32",
                    "xor.b32",
                    "and.b32",
                ];
                let opcode = self.pick(&all);
                self.line(&format!("{opcode} {to}, {a}, {b};"));
            }
            18 => {
                let [to, a] = [self.word(), self.word()];
                let by = self.pick(&["1", "-1", "7"]);
                self.line(&format!("add.s32 {to}, {a}, {by};"));
            }
            19 | 20 => {
                let (flag, value) = (self.flag(), self.rng.u32(..2));
                self.line(&format!("mov.pred {flag}, {value};"));
            }
            21 => {
                let (p, flag) = (self.condition(), self.flag());
                self.line(&format!("mov.pred {flag}, {p};"));
            }
            22 => {
                let [a, b] = [self.word(), self.word()];
                let multiply = self.pick(&["mul.wide.u32", "mul.wide.s32"]);
                self.line(&format!("{multiply} {to}, {a}, {b};"));
            }
            23 => self.line(&format!("mad.lo.s64 {to}, {a}, {b}, {to};")),
            24 => self.line(&format!("neg.s64 {to}, {a};")),
            25 => {
                // A subtraction that saturates.
                let p = self.register("%p");
                let less = self.register("%rd");
                self.line(&format!(
                    "setp.lt.u64 {p}, {a}, 2;\nadd.s64 {less}, {a}, -2;"
                ));
                self.line(&format!("selp.b64 {to}, 0, {less}, {p};"));
            }
            26 => {
                let p = self.condition();
                let (opcode, not) = (self.pick(&["add.s64", "min.u64"]), self.pick(&["", "!"]));
                self.line(&format!("@{not}{p} {opcode} {to}, {a}, {b};"));
            }
            27 => self.line(&format!(
                "{{\n.reg .b64 %own;\nadd.s64 %own, {a}, 1;\nadd.s64 {to}, %own, {a};\n}}"
            )),
            28 => {
                let [low, high] = [self.word(), self.word()];
                match self.rng.bool() {
                    true if low != high => self.line(&format!("mov.b64 {{{low}, {high}}}, {a};")),
                    _ => self.line(&format!("mov.b64 {to}, {{{low}, {high}}};")),
                }
            }
            29 => {
                let float = self.register("%f");
                let factor = self.pick(&["0f3F800000", "0f3F000000", "0fBF800000", "0f7FC00000"]);
                self.line(&format!("cvt.rn.f32.u64 {float}, {a};"));
                self.line(&format!("mul.f32 {float}, {float}, {factor};"));
                self.line(&format!("cvt.rzi.u64.f32 {to}, {float};"));
            }
            30 => {
                let factor = self.pick(&["-6148914691236517205", "4294967296", "3"]);
                self.line(&format!("mul.hi.u64 {to}, {a}, {factor};"));
            }
            31 | 32 if self.depth < 2 => self.repeat(),
            _ => self.access(),
        }
    }

    /// Emits a loop with a counter, which may be a grid-stride loop.
    fn repeat(&mut self) {
        self.depth += 1;
        let (counter, start) = (self.register("%rd"), self.operand());
        let (bound, label, done) = (self.wide(), self.register("$I"), self.register("$E"));
        let step = match self.rng.u32(..3) {
            0 => "%threads".to_owned(),
            1 => self.pick(&["-1", "2", "4"]),
            _ => "1".to_owned(),
        };
        self.line(&format!("mov.u64 {counter}, {start};"));
        if self.rng.u32(..4) > 0 {
            let p = self.register("%p");
            self.line(&format!(
                "setp.ge.u64 {p}, {counter}, {bound};\n@{p} bra {done};"
            ));
        }
        let early = self.rng.u32(..4) == 0;
        self.line(&format!("{label}:"));
        self.line("add.s32 %fuel, %fuel, 1;\nsetp.gt.u32 %empty, %fuel, 40;\n@%empty bra $end;");
        let next = format!("add.s64 {counter}, {counter}, {step};");
        if early {
            self.line(&next);
        }
        for _ in 0..self.rng.u32(..3) {
            self.instruction();
        }
        let to = self.rng.usize(..VARIABLES);
        let use_counter = self.pick(&["add.s64", "max.u64", "xor.b64"]);
        self.line(&format!("{use_counter} %w{to}, %w{to}, {counter};"));
        for _ in 0..self.rng.u32(..3) {
            self.instruction();
        }
        if !early {
            self.line(&next);
        }
        let p = self.register("%p");
        let relation = self.pick(&["lt.u64", "ne.s64", "lt.s64"]);
        self.line(&format!(
            "setp.{relation} {p}, {counter}, {bound};\n@{p} bra {label};\n{done}:"
        ));
        self.depth -= 1;
    }

    /// Emits an access of an element, mostly with a check.
    fn access(&mut self) {
        let index = self.wide();
        let slice = self.pick(&["%xs", "%xs", "%out"]);
        let (p, n) = (self.register("%p"), self.code.count);
        let panics = self.rng.u32(..3) > 0;
        let target = if panics {
            format!("$P{n}")
        } else {
            format!("$S{n}")
        };
        let compare = match self.rng.u32(..3) {
            0 => format!("setp.lt.u64 {p}, {index}, {slice}_len;\n@!{p}"),
            1 => format!("setp.ge.u64 {p}, {index}, {slice}_len;\n@{p}"),
            _ => format!("setp.le.u64 {p}, {slice}_len, {index};\n@{p}"),
        };
        self.line(&format!("{compare} bra {target};"));
        if panics {
            self.add_panic("panic", "%own_report", n, &index, &format!("{slice}_len"));
        }
        let [bytes, at] = [self.register("%rd"), self.register("%rd")];
        self.line(&format!(
            "shl.b64 {bytes}, {index}, 2;\nadd.s64 {at}, {slice}, {bytes};"
        ));
        let word = self.word();
        match (slice.as_str(), self.rng.bool()) {
            ("%out", true) => self.line(&format!("red.global.add.u32 [{at}], {n};")),
            ("%out", false) => {}
            (_, nc) => {
                let load = if nc {
                    "ld.global.nc.u32"
                } else {
                    "ld.global.u32"
                };
                self.line(&format!("{load} {word}, [{at}];"));
            }
        }
        if !panics {
            self.line(&format!("$S{n}:"));
        }
    }

    fn condition(&mut self) -> String {
        let p = self.register("%p");
        match self.rng.u32(..10) {
            0 | 1 => return self.flag(),
            2 => {
                let [a, b] = [self.flag(), self.flag()];
                let opcode = self.pick(&["and", "or", "xor"]);
                self.line(&format!("{opcode}.pred {p}, {a}, {b};"));
            }
            3 => {
                let flag = self.flag();
                self.line(&format!("not.pred {p}, {flag};"));
            }
            4 => {
                let relation = self.pick(&["lt.u32", "lt.s32", "eq.s32", "ge.u32", "gt.s32"]);
                let (a, b) = (self.word(), self.pick(&["%a0", "%a1", "0", "5", "-1"]));
                self.line(&format!("setp.{relation} {p}, {a}, {b};"));
            }
            _ => {
                let relation = self.pick(&["lt", "le", "gt", "ge", "eq", "ne"]);
                let sign = self.pick(&["u", "u", "s"]);
                let (a, b) = (self.wide(), self.operand());
                self.line(&format!("setp.{relation}.{sign}64 {p}, {a}, {b};"));
            }
        }
        p
    }

    /// Emits the end of a block.
    fn end(&mut self, block: usize) {
        let blocks = self.blocks;
        let any = |text: &mut Self| match text.structured {
            true if text.rng.u32(..4) > 0 => text.rng.usize(block + 1..=blocks),
            _ => text.rng.usize(..=blocks),
        };
        let to = any(self);
        match self.rng.u32(..8) {
            0 => self.line(&format!("bra.uni $B{to};")),
            _ => {
                let p = self.condition();
                let not = self.pick(&["", "!"]);
                self.line(&format!("@{not}{p} bra $B{to};"));
                if self.rng.u32(..4) == 0 {
                    let other = any(self);
                    self.line(&format!("bra.uni $B{other};"));
                }
            }
        }
    }

    fn finish(self) -> String {
        let params: Vec<String> = (0..PARAMS.len())
            .map(|index| format!(".param .u64 k_param_{index}"))
            .collect();
        let registers: Vec<String> = (PARAMS.iter())
            .map(|name| format!(".reg .b64 %{name};"))
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
                    .reg .pred %flag<3>;
                    .reg .b32 %a<{VARIABLES}>;
                    .reg .b64 %w<{VARIABLES}>;
                    .reg .b64 %rd<{count}>;
                    .reg .b32 %fuel, %thread, %sum;
                    .reg .f32 %f<{count}>;
                    .reg .b64 %own_report, %place, %threads;
                    .reg .pred %empty;
                    {}
                    {}{}
                }}
                ",
            params.join(", "),
            registers.join(" "),
            self.code.body,
            self.code.panics
        )
    }
}

fn kernel(rng: &mut Rng) -> String {
    let (structured, blocks) = (rng.u32(..3) > 0, rng.usize(2..9));
    let mut text = Text {
        rng,
        structured,
        depth: 0,
        code: Code::default(),
        blocks,
    };
    for (index, name) in PARAMS.iter().enumerate() {
        text.line(&format!("ld.param.u64 %{name}, [k_param_{index}];"));
    }
    text.line(
        "
        cvta.to.global.u64 %xs, %xs;
        cvta.to.global.u64 %out, %out;
        mov.u32 %thread, %tid.x;
        cvt.u64.u32 %place, %thread;
        mul.wide.u32 %own_report, %thread, 64;
        add.s64 %own_report, %own_report, %report;
        mov.b32 %fuel, 0;
        mov.u32 %sum, %nctaid.x;
        mov.u32 %a0, %ntid.x;
        mul.wide.u32 %threads, %sum, %a0;
        ",
    );
    // Iterators start with constants, and with values that the launch determines.
    for index in 0..VARIABLES {
        let start = text.pick(&["0", "%place", "%n", "%m", "%k", "1", "%xs_len"]);
        text.line(&format!("mov.u64 %w{index}, {start};"));
        let start = text.pick(&["0", "%thread", "%ntid.x", "%nctaid.x", "7"]);
        text.line(&format!("mov.u32 %a{index}, {start};"));
    }
    for index in 0..3 {
        let value = text.rng.u32(..2);
        text.line(&format!("mov.pred %flag{index}, {value};"));
    }
    for block in 0..blocks {
        text.line(&format!("$B{block}:"));
        text.line("add.s32 %fuel, %fuel, 1;\nsetp.gt.u32 %empty, %fuel, 40;\n@%empty bra $end;");
        for _ in 0..text.rng.u32(..6) {
            text.instruction();
        }
        text.end(block);
    }
    text.line(&format!("$B{blocks}:\n$end:"));
    text.line("mov.b32 %sum, %fuel;");
    for index in 0..VARIABLES {
        text.line(&format!("mad.lo.s32 %sum, %sum, 31, %a{index};"));
        if text.rng.u32(..3) > 0 {
            text.line(&format!(
                "st.global.u64 [%own_report+{}], %w{index};",
                24 + 8 * index
            ));
        }
    }
    text.line("st.global.u32 [%own_report+16], %sum;\nret;");
    if text.rng.u32(..3) == 0 {
        text.code.body = mirrored(text.rng, &text.code.body);
    }
    text.finish()
}

/// Adds to each change of a variable the same change of another one, in most kernels to all.
fn mirrored(rng: &mut Rng, body: &str) -> String {
    let omitted = rng.bool();
    let mut mirrored = String::new();
    for line in body.lines() {
        let mut words = line
            .split_whitespace()
            .filter(|word| !word.starts_with('@'));
        let changed = words.nth(1);
        if changed == Some("%w4,") {
            continue;
        }
        mirrored += &format!("{line}\n");
        if changed == Some("%w3,") && !(omitted && rng.u32(..16) == 0) {
            mirrored += &format!("{}\n", line.replace("%w3", "%w4"));
        }
    }
    mirrored
}

/// Returns the kernel before and after the passes.
fn finished(text: &str) -> [String; 2] {
    let sizes = [5, 6, 7].map(|index| Parameter {
        kernel: "k".to_owned(),
        index,
    });
    let slices = [0, 2].map(|pointer| Slice {
        kernel: "k".to_owned(),
        pointer,
        length: pointer + 1,
        element: 4,
    });
    let kernels = Kernels {
        slices: &slices,
        sizes: &sizes,
        ordinary_entries: common::has_ordinary_entries(text),
        ..Kernels::default()
    };
    let options = stack::Options::default();
    [Purpose::Plain, Purpose::Speed(kernels)]
        .map(|purpose| ptx::finish(text, &[], purpose, &options).unwrap().text)
}

/// Runs a kernel. Returns the output and the reports.
fn run(text: &str, xs: &[u32], out: usize, numbers: [u64; 3]) -> (Vec<u32>, Vec<u64>) {
    let device = Device::new(text);
    let reports = 8 * THREADS as usize;
    let [to, report] = [out, 2 * reports].map(|count| device.upload(&vec![0u32; count]));
    let params = Params::new()
        .u64(device.upload(xs))
        .u64(xs.len() as u64)
        .u64(to)
        .u64(out as u64);
    let params = numbers
        .iter()
        .fold(params.u64(report), |params, &number| params.u64(number));
    if let Err(fault) = device.launch("k", 1, THREADS, params) {
        panic!("{fault}\n{text}");
    }
    (device.download(to, out), device.download(report, reports))
}

#[test]
fn any_control_flow_is_preserved() {
    let (seed, kernels) = settings(700);
    let (mut changed, mut copied) = (0, 0);
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = kernel(&mut rng);
        let texts = finished(&text);
        changed += u64::from(texts[0] != texts[1]);
        copied += u64::from(
            texts[1].matches(" setp").count() + texts[1].matches("\tsetp").count()
                > texts[0].matches("setp").count() + 3,
        );
        for _ in 0..10 {
            let xs: Vec<u32> = (0..rng.usize(1..20)).map(|_| rng.u32(..24)).collect();
            let numbers = [(); 3].map(|()| match rng.u32(..10) {
                0 => (1 << 30) - rng.u64(..4),
                1 => (1 << 32) + 2 - rng.u64(..4),
                2 => u64::MAX - rng.u64(..4),
                3 => 0,
                _ => rng.u64(..20),
            });
            let out = rng.usize(1..20);
            let [expected, found] = texts.each_ref().map(|text| run(text, &xs, out, numbers));
            assert_eq!(
                found, expected,
                "seed {seed}: {numbers:?}\n{text}\n{}",
                texts[1]
            );
        }
    }
    assert!(
        (changed > kernels / 2 && copied > kernels / 4) || seed.is_some(),
        "{changed} changed and {copied} copied of {kernels}"
    );
}
