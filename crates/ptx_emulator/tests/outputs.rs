//! Runs random kernels with several outputs on grids of up to three dimensions, before and after
//! the passes for speed: memory, panics and what each thread computes must be equal.

mod common;

use common::generator::{Code, Generator, PANIC, settings};
use common::{Device, Params};
use fastrand::Rng;
use ptx::{Kernels, Parameter, Purpose, Slice, stack};
use ptx_emulator::{LaunchConfig, launch};

/// The maximum number of threads of a launch.
const THREADS: usize = 1024;

/// The number of elements of each output.
const ELEMENTS: usize = 96;

/// The parameters after the outputs: a slice of `u32`, the reports, and two numbers.
const LAST: [&str; 5] = ["xs", "xs_len", "report", "n", "m"];

/// An output: its address, its length, and its extents.
#[derive(Clone, Copy, Debug)]
struct Output {
    dimensions: usize,
}

impl Output {
    /// Returns the number of integers after the address.
    fn integers(self) -> usize {
        match self.dimensions {
            1 => 1,
            dimensions => dimensions + 1,
        }
    }

    fn bytes(self) -> usize {
        8 + 8 * self.integers()
    }
}

/// The text of a generated kernel.
struct Text<'r> {
    rng: &'r mut Rng,
    outputs: Vec<Output>,
    /// Whether the first index of a place is that among all threads of the grid.
    flat: bool,
    code: Code,
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

    /// Emits a branch unless `index < len`: to a panic, or to `skip`.
    fn check(&mut self, index: &str, len: &str, skip: Option<&str>) {
        let n = self.code.count + 1;
        let p = self.register("%p");
        let target = match skip {
            Some(skip) => skip.to_owned(),
            None => format!("$P{n}"),
        };
        match self.rng.u32(..3) {
            0 => self.line(&format!(
                "setp.lt.u64 {p}, {index}, {len};\n@!{p} bra {target};"
            )),
            1 => self.line(&format!(
                "setp.ge.u64 {p}, {index}, {len};\n@{p} bra {target};"
            )),
            _ => self.line(&format!(
                "setp.le.u64 {p}, {len}, {index};\n@{p} bra {target};"
            )),
        }
        if skip.is_none() {
            self.add_panic("panic", "%own_report", n, index, len);
        }
    }

    /// Emits the index of the thread in a dimension, and the number of threads.
    fn place(&mut self, dimension: &str) -> [String; 2] {
        let special = ["ctaid", "ntid", "tid", "nctaid"]
            .map(|name| self.op("%r", "mov.u32", &format!("%{name}.{dimension}")));
        let [block, size, thread, blocks] = special;
        match self.rng.u32(..3) {
            0 => {
                let index = self.op("%r", "mad.lo.s32", &format!("{block}, {size}, {thread}"));
                let threads = self.op("%r", "mul.lo.s32", &format!("{size}, {blocks}"));
                [index, threads].map(|it| self.op("%rd", "cvt.u64.u32", &it))
            }
            1 => {
                let first = self.op("%rd", "mul.wide.u32", &format!("{block}, {size}"));
                let thread = self.op("%rd", "cvt.u64.u32", &thread);
                let index = self.op("%rd", "add.s64", &format!("{first}, {thread}"));
                let threads = self.op("%rd", "mul.wide.u32", &format!("{blocks}, {size}"));
                [index, threads]
            }
            _ => {
                let [block, size, thread, blocks] =
                    [block, size, thread, blocks].map(|it| self.op("%rd", "cvt.u64.u32", &it));
                let first = self.op("%rd", "mul.lo.s64", &format!("{size}, {block}"));
                let index = self.op("%rd", "add.s64", &format!("{thread}, {first}"));
                let threads = self.op("%rd", "mul.lo.s64", &format!("{blocks}, {size}"));
                [index, threads]
            }
        }
    }

    /// Emits a number near `value`.
    fn near(&mut self, value: &str, others: &[&str]) -> String {
        let mut value = value.to_owned();
        for _ in 0..self.rng.u32(..4) {
            let other = self.pick(others);
            let k = self.rng.u32(1..5);
            value = match self.rng.u32(..30) {
                0 => self.op("%rd", "add.s64", &format!("{value}, {k}")),
                1 => self.op("%rd", "add.s64", &format!("{value}, -{k}")),
                2 => self.op("%rd", "add.s64", &format!("{value}, {other}")),
                3 => self.op("%rd", "sub.s64", &format!("{value}, {other}")),
                4 => self.op("%rd", "min.u64", &format!("{value}, {other}")),
                5 => self.op("%rd", "max.u64", &format!("{value}, {other}")),
                6 => self.op("%rd", "mul.lo.s64", &format!("{value}, {other}")),
                7 => self.op("%rd", "mad.lo.s64", &format!("{value}, {k}, {other}")),
                8 => self.op("%rd", "shr.u64", &format!("{value}, {k}")),
                9 => self.op("%rd", "shl.b64", &format!("{value}, {k}")),
                10 => self.op("%rd", "rem.u64", &format!("{value}, {k}")),
                11 => self.op("%rd", "div.u64", &format!("{value}, {k}")),
                12 => {
                    let last = self.op("%rd", "add.s64", &format!("{other}, -1"));
                    self.op("%rd", "min.u64", &format!("{value}, {last}"))
                }
                13 => {
                    let p = self.op("%p", "setp.lt.u64", &format!("{value}, {k}"));
                    let less = self.op("%rd", "add.s64", &format!("{value}, -{k}"));
                    self.op("%rd", "selp.b64", &format!("0, {less}, {p}"))
                }
                14 => {
                    let low = self.op("%r", "cvt.u32.u64", &value);
                    let low = self.op("%r", "add.s32", &format!("{low}, -{k}"));
                    self.op("%rd", "cvt.s64.s32", &low)
                }
                15 => {
                    let low = self.op("%r", "cvt.u32.u64", &value);
                    let low = self.op("%r", "sub.s32", &format!("{low}, {k}"));
                    self.op("%rd", "cvt.u64.u32", &low)
                }
                16 => {
                    let half = self.op("%h", "cvt.u16.u64", &value);
                    let half = self.op("%h", "add.s16", &format!("{half}, -{k}"));
                    let widen = self.pick(&["cvt.u64.u16", "cvt.s64.s16"]);
                    self.op("%rd", &widen, &half)
                }
                17 => {
                    let low = self.op("%r", "cvt.u32.u64", &value);
                    let shift = self.pick(&["shr.s32", "shr.u32"]);
                    let low = self.op("%r", &shift, &format!("{low}, {k}"));
                    let widen = self.pick(&["cvt.s64.s32", "cvt.u64.u32"]);
                    self.op("%rd", &widen, &low)
                }
                18 => {
                    let limit = self.pick(&["1073741823", "2147483647", "4294967295", "255"]);
                    self.op("%rd", "and.b64", &format!("{value}, {limit}"))
                }
                19 => self.op("%rd", "xor.b64", &format!("{value}, {other}")),
                20 => self.op("%rd", "or.b64", &format!("{value}, {other}")),
                21 => {
                    let low = self.op("%r", "cvt.u32.u64", &value);
                    let factor = self.pick(&["3", "65537", "-1", "-3"]);
                    let multiply = self.pick(&["mul.wide.s32", "mul.wide.s32", "mul.wide.u32"]);
                    let factor = match multiply.as_str() {
                        "mul.wide.u32" => factor.trim_start_matches('-').to_owned(),
                        _ => factor,
                    };
                    self.op("%rd", &multiply, &format!("{low}, {factor}"))
                }
                23 => {
                    let p = self.condition(&value, others);
                    self.op("%rd", "selp.b64", &format!("{value}, {other}, {p}"))
                }
                24 | 25 => {
                    // A join of two values.
                    let joined = self.op("%rd", "mov.u64", &value);
                    let p = self.condition(&value, others);
                    let label = self.register("$J");
                    let opcode = self.pick(&["add.s64", "sub.s64", "min.u64", "mul.lo.s64"]);
                    self.line(&format!("@{p} bra {label};"));
                    self.line(&format!("{opcode} {joined}, {joined}, {k};\n{label}:"));
                    joined
                }
                26 | 27 => {
                    // An index from memory.
                    let last = self.op("%rd", "add.s64", "%xs_len, -1");
                    let index = self.op("%rd", "min.u64", &format!("{value}, {last}"));
                    let at = self.address("%xs", &index);
                    let load = self.pick(&["ld.global.nc.u32", "ld.global.u32"]);
                    let loaded = self.op("%r", &load, &format!("[{at}]"));
                    let by = self.rng.u32(..30);
                    let loaded = self.op("%r", "shr.u32", &format!("{loaded}, {by}"));
                    self.op("%rd", "cvt.u64.u32", &loaded)
                }
                28 => {
                    let low = self.op("%r", "cvt.u32.u64", &value);
                    let opcode =
                        self.pick(&["min.s32", "max.s32", "min.u32", "sub.s32", "and.b32"]);
                    let limit = self.pick(&["-1", "0", "7", "-8", "2147483647"]);
                    let low = self.op("%r", &opcode, &format!("{low}, {limit}"));
                    let widen = self.pick(&["cvt.s64.s32", "cvt.u64.u32"]);
                    self.op("%rd", &widen, &low)
                }
                22 => {
                    let p = self.op("%p", "setp.gt.s64", &format!("{value}, {other}"));
                    self.op("%rd", "selp.b64", &format!("{value}, {other}, {p}"))
                }
                _ => self.op("%rd", "neg.s64", &value),
            };
        }
        value
    }

    /// Emits a condition of numbers.
    fn condition(&mut self, value: &str, others: &[&str]) -> String {
        let relation = ["eq", "ne", "lt", "le", "gt", "ge"][self.rng.usize(..6)];
        let sign = if self.rng.bool() { 's' } else { 'u' };
        let mut other = self.pick(others);
        if self.rng.u32(..3) == 0 {
            other = self.pick(&["0", "1", "-1", "5", "1073741824", "2147483648"]);
        }
        let is_register = other.starts_with('%');
        let p = match self.rng.u32(..6) {
            0 => {
                let narrow = |text: &mut Self, it: &str| text.op("%r", "cvt.u32.u64", it);
                let value = narrow(self, value);
                let other = match is_register {
                    true => narrow(self, &other),
                    false => ["0", "1", "-1", "7"][self.rng.usize(..4)].to_owned(),
                };
                let setp = format!("setp.{relation}.{sign}32");
                self.op("%p", &setp, &format!("{value}, {other}"))
            }
            1 => {
                let value = self.op("%h", "cvt.u16.u64", value);
                let setp = format!("setp.{relation}.{sign}16");
                self.op("%p", &setp, &format!("{value}, 3"))
            }
            _ => {
                let setp = format!("setp.{relation}.{sign}64");
                self.op("%p", &setp, &format!("{value}, {other}"))
            }
        };
        if self.rng.u32(..3) > 0 {
            return p;
        }
        let second = self.condition(value, others);
        match self.rng.u32(..4) {
            0 => self.op("%p", "and.pred", &format!("{p}, {second}")),
            1 => self.op("%p", "or.pred", &format!("{second}, {p}")),
            2 => self.op("%p", "xor.pred", &format!("{p}, {second}")),
            _ => self.op("%p", "not.pred", &p),
        }
    }

    /// Emits the address of an element of four bytes.
    fn address(&mut self, base: &str, index: &str) -> String {
        let bytes = match self.rng.u32(..3) {
            0 => {
                let low = self.op("%r", "cvt.u32.u64", index);
                self.op("%rd", "mul.wide.u32", &format!("{low}, 4"))
            }
            _ => self.op("%rd", "shl.b64", &format!("{index}, 2")),
        };
        self.op("%rd", "add.s64", &format!("{base}, {bytes}"))
    }

    /// Emits the start of a loop. Returns its counter, another one, the number of iterations, and its
    /// label.
    fn open_loop(&mut self, starts: &[&str]) -> [String; 4] {
        let start = self.pick(starts);
        let zero = self.pick(&["0", "0", "1"]);
        let counter = self.op("%rd", "mov.u64", &zero);
        let other = self.op("%rd", "mov.u64", &start);
        let iterations = self.op("%r", "mov.b32", "0");
        let label = self.register("$I");
        self.line(&format!("{label}:"));
        [counter, other, iterations, label]
    }

    fn close_loop(&mut self, [counter, other, iterations, label]: &[String; 4], bounds: &[&str]) {
        self.line(&format!("add.s32 {iterations}, {iterations}, 1;"));
        let p = self.op("%p", "setp.gt.u32", &format!("{iterations}, 6"));
        let done = self.register("$E");
        self.line(&format!("@{p} bra {done};"));
        let step = self.rng.u32(1..3);
        let steps = [
            format!("add.s64 {counter}, {counter}, {step};"),
            format!(
                "add.s64 {other}, {other}, {};",
                self.pick(&["-1", "2", "4"])
            ),
        ];
        let early = self.rng.usize(..3);
        for step in &steps[..early] {
            self.line(step);
        }
        if self.rng.bool() {
            let (p, skip) = (self.condition(counter, bounds), self.register("$J"));
            self.line(&format!("@{p} bra {skip};"));
            let read = self.pick(&[counter, other]);
            let low = self.op("%r", "cvt.u32.u64", &read);
            self.line(&format!("mad.lo.s32 %acc, %acc, 5, {low};\n{skip}:"));
        }
        for step in &steps[early..] {
            self.line(step);
        }
        let bound = self.pick(bounds);
        let relation = self.pick(&["lt.u64", "ne.s64", "lt.s64", "le.u64"]);
        let mut p = self.op(
            "%p",
            &format!("setp.{relation}"),
            &format!("{counter}, {bound}"),
        );
        // The loop may also end early.
        if self.rng.u32(..4) == 0 {
            let second = self.condition(other, bounds);
            p = self.op("%p", "and.pred", &format!("{second}, {p}"));
        }
        self.line(&format!("@{p} bra {label};\n{done}:"));
    }

    /// Emits accesses of a place of an output, with what precedes them.
    fn access(&mut self, output: usize, [x, y, z]: [&str; 3], skip: &str) {
        let Output { dimensions } = self.outputs[output];
        let name = |part: &str| format!("%out{output}_{part}");
        let (w, h, d) = (name("w"), name("h"), name("d"));
        let near = [x, y, "%n", "%m", "%xs_len", &name("len")];
        let leaves = |text: &mut Self| match text.rng.u32(..3) {
            0 => None,
            1 => Some(skip.to_owned()),
            _ => Some("$end".to_owned()),
        };
        // Of the places with the same index, one accesses the element.
        let others = if self.flat { 3 } else { dimensions };
        for at in [x, y, z].into_iter().skip(others) {
            let p = self.op("%p", "setp.ne.s64", &format!("{at}, 0"));
            self.line(&format!("@{p} bra {skip};"));
        }
        let mut own = x.to_owned();
        if dimensions > 1 {
            for (at, extent) in [(x, &w), (y, &h), (z, &d)].into_iter().take(dimensions) {
                let to = leaves(self);
                self.check(at, extent, to.as_deref());
            }
            let mut row = y.to_owned();
            if dimensions > 2 {
                row = match self.rng.bool() {
                    true => {
                        let plane = self.op("%rd", "mul.lo.s64", &format!("{z}, {h}"));
                        self.op("%rd", "add.s64", &format!("{plane}, {y}"))
                    }
                    false => self.op("%rd", "mad.lo.s64", &format!("{h}, {z}, {y}")),
                };
            }
            own = match self.rng.bool() {
                true => {
                    let row = self.op("%rd", "mul.lo.s64", &format!("{row}, {w}"));
                    self.op("%rd", "add.s64", &format!("{row}, {x}"))
                }
                false => self.op("%rd", "mad.lo.s64", &format!("{w}, {row}, {x}")),
            };
        }
        let inner = (self.rng.u32(..4) == 0).then(|| self.open_loop(&near));
        let loads = self.rng.u32(..3);
        for _ in 0..loads {
            if self.rng.u32(..3) == 0 {
                let p = self.condition(&own, &near);
                self.line(&format!("@{p} bra {skip};"));
            }
            let base = match &inner {
                Some(inner) if self.rng.bool() => inner[self.rng.usize(..2)].clone(),
                _ => own.clone(),
            };
            let near = self.near(&base, &near);
            let to = leaves(self);
            self.check(&near, "%xs_len", to.as_deref());
            let at = self.address("%xs", &near);
            let load = self.pick(&["ld.global.nc.u32", "ld.global.u32"]);
            let value = self.op("%r", &load, &format!("[{at}]"));
            self.line(&format!("mad.lo.s32 %acc, %acc, 31, {value};"));
        }
        if let Some(inner) = inner {
            self.close_loop(&inner, &near);
        }
        let to = leaves(self);
        self.check(&own, &name("len"), to.as_deref());
        let at = self.address(&name("ptr"), &own);
        if self.rng.bool() {
            let old = self.op("%r", "ld.global.u32", &format!("[{at}]"));
            self.line(&format!("mad.lo.s32 %acc, %acc, 7, {old};"));
        }
        self.line(&format!("st.global.u32 [{at}], %acc;"));
    }

    /// Returns the module.
    fn finish(self) -> String {
        let count = self.outputs.len();
        let mut params: Vec<String> = (self.outputs.iter().enumerate())
            .map(|(index, it)| format!(".param .align 8 .b8 k_param_{index}[{}]", it.bytes()))
            .collect();
        params.extend((0..LAST.len()).map(|k| format!(".param .u64 k_param_{}", count + k)));
        let mut names: Vec<String> = LAST.iter().map(|it| (*it).to_owned()).collect();
        for output in 0..count {
            names.extend(["ptr", "len", "w", "h", "d"].map(|part| format!("out{output}_{part}")));
        }
        let registers: Vec<String> = (names.iter())
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
                    .reg .b32 %r<{count}>;
                    .reg .b64 %rd<{count}>;
                    .reg .b16 %h<{count}>;
                    .reg .b32 %acc;
                    .reg .b64 %own_report;
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

/// Returns a kernel and its outputs.
fn kernel(rng: &mut Rng) -> (String, Vec<Output>) {
    let most = rng.usize(1..4);
    let many = rng.bool();
    let outputs: Vec<Output> = (0..if many {
        rng.usize(4..7)
    } else {
        rng.usize(1..4)
    })
        .map(|_| Output {
            dimensions: if rng.u32(..6) == 0 {
                rng.usize(1..4)
            } else {
                most
            },
        })
        .collect();
    let mut text = Text {
        rng,
        outputs: outputs.clone(),
        flat: false,
        code: Code {
            count: 10,
            ..Code::default()
        },
    };
    for (index, output) in outputs.iter().enumerate() {
        for (k, part) in ["ptr", "len", "w", "h", "d"].into_iter().enumerate() {
            if k <= output.integers() {
                let offset = 8 * k;
                text.line(&format!(
                    "ld.param.u64 %out{index}_{part}, [k_param_{index}+{offset}];"
                ));
            }
        }
        text.line(&format!(
            "cvta.to.global.u64 %out{index}_ptr, %out{index}_ptr;"
        ));
    }
    for (k, name) in LAST.into_iter().enumerate() {
        text.line(&format!(
            "ld.param.u64 %{name}, [k_param_{}];",
            outputs.len() + k
        ));
    }
    text.line("cvta.to.global.u64 %xs, %xs;\nmov.u32 %acc, 7;");
    // The report of the thread.
    let places = ["x", "y", "z"].map(|dimension| text.place(dimension));
    let [[x, width], [y, height], [z, _]] = &places;
    let row = text.op("%rd", "mad.lo.s64", &format!("{z}, {height}, {y}"));
    let linear = text.op("%rd", "mad.lo.s64", &format!("{row}, {width}, {x}"));
    text.line(&format!("mad.lo.s64 %own_report, {linear}, 32, %report;"));
    // A thread has a place, or several in a grid-stride loop in one or two dimensions.
    let loops = text.rng.u32(..4).saturating_sub(1).min(most as u32);
    let mut x = [x.clone(), y.clone(), z.clone()];
    let flat = most == 1 && text.rng.bool();
    let mut strides = [width.clone(), height.clone()];
    if flat {
        text.flat = true;
        // The index among all threads of the grid, with its number of threads.
        let all = text.op("%rd", "mul.lo.s64", &format!("{width}, {height}"));
        let depth = text.op("%r", "mov.u32", "%nctaid.z");
        let size = text.op("%r", "mov.u32", "%ntid.z");
        let depth = text.op("%rd", "mul.wide.u32", &format!("{depth}, {size}"));
        strides[0] = text.op("%rd", "mul.lo.s64", &format!("{all}, {depth}"));
        x[0] = linear.clone();
    }
    let own = &format!(
        "%out0_{}",
        if outputs[0].dimensions > 1 {
            "w"
        } else {
            "len"
        }
    );
    let bounds = [own.clone(), "%out0_h".to_owned()];
    let two = loops == 2 && outputs[0].dimensions > 1;
    let dims: &[usize] = match (loops, two) {
        (0, _) => &[],
        (_, false) => &[0],
        (_, true) => &[1, 0],
    };
    for &dim in dims {
        let counter = text.op("%rd", "mov.u64", &x[dim]);
        let p = text.op("%p", "setp.ge.u64", &format!("{counter}, {}", bounds[dim]));
        text.line(&format!("@{p} bra $after{dim};\n$loop{dim}:"));
        x[dim] = counter;
    }
    let [x, y, z] = &x;
    let steps = text.rng.u32(1..=outputs.len() as u32 + 1);
    for number in 0..steps {
        let skip = format!("$S{number}");
        let output = match many {
            true => number as usize % outputs.len(),
            false => text.rng.usize(..outputs.len()),
        };
        text.access(output, [x, y, z], &skip);
        text.line(&format!("{skip}:"));
    }
    for &dim in dims.iter().rev() {
        let counter = [x, y][dim];
        text.line(&format!("add.s64 {counter}, {counter}, {};", strides[dim]));
        let p = text.op("%p", "setp.lt.u64", &format!("{counter}, {}", bounds[dim]));
        text.line(&format!("@{p} bra $loop{dim};\n$after{dim}:"));
    }
    text.line("$end:\nst.global.u32 [%own_report+24], %acc;\nret;");
    (text.finish(), outputs)
}

/// Returns the kernel before and after the passes.
fn finished(text: &str, outputs: usize) -> [String; 2] {
    let parameter = |index: usize| Parameter {
        kernel: "k".to_owned(),
        index,
    };
    let partitions: Vec<Parameter> = (0..outputs).map(parameter).collect();
    let sizes = [outputs + 3, outputs + 4].map(parameter);
    let slices = [Slice {
        kernel: "k".to_owned(),
        pointer: outputs,
        length: outputs + 1,
        element: 4,
    }];
    let kernels = Kernels {
        slices: &slices,
        partitions: &partitions,
        sizes: &sizes,
        ordinary_entries: common::has_ordinary_entries(text),
        ..Kernels::default()
    };
    let options = stack::Options::default();
    [Purpose::Plain, Purpose::Speed(kernels)]
        .map(|purpose| ptx::finish(text, &[], purpose, &options).unwrap().text)
}

/// A launch: the extents of each output after its length, which is the first number.
#[derive(Debug)]
struct Launch {
    grid: [u32; 3],
    block: [u32; 3],
    extents: Vec<[u64; 4]>,
    xs: Vec<u32>,
    numbers: [u64; 2],
}

impl Launch {
    fn new(rng: &mut Rng, outputs: &[Output]) -> Launch {
        let most = outputs.iter().map(|it| it.dimensions).max().unwrap_or(1);
        let size = |rng: &mut Rng, of: usize| match of < most || rng.u32(..8) == 0 {
            true => rng.u32(1..4),
            false => 1,
        };
        let grid = [0, 1, 2].map(|of| size(rng, of));
        let block = [0, 1, 2].map(|of| size(rng, of));
        let extent = |rng: &mut Rng, of: usize| match rng.u32(..24) {
            0 => (1 << 30) - rng.u64(..3),
            1 => (1 << 31) - rng.u64(..3),
            2 => (1 << 32) + 2 - rng.u64(..5),
            3 => 1 << 62,
            4 => u64::MAX - rng.u64(..2),
            5 => 0,
            // As many as there are threads, or other numbers.
            6..14 => u64::from(grid[of] * block[of]),
            _ => rng.u64(1..10),
        };
        let common = [0, 1, 2].map(|of| extent(rng, of));
        let length = |rng: &mut Rng, [w, h, d]: [u64; 3], dimensions: usize| {
            let all = match dimensions {
                1 => w,
                2 => w.saturating_mul(h),
                _ => w.saturating_mul(h).saturating_mul(d),
            };
            let partial = match rng.u32(..6) {
                0 => all.saturating_sub(rng.u64(1..3)),
                1 => all.saturating_add(rng.u64(1..3)),
                _ => all,
            };
            partial.min(ELEMENTS as u64)
        };
        let differs = rng.u32(..3) == 0;
        let extents = (outputs.iter())
            .map(|output| {
                let mut own = common;
                if differs && rng.u32(..4) == 0 {
                    let of = rng.usize(..3);
                    own[of] = extent(rng, of);
                }
                let len = length(rng, own, output.dimensions);
                [len, own[0], own[1], own[2]]
            })
            .collect();
        let xs = (0..rng.usize(1..80)).map(|_| rng.u32(..)).collect();
        let number = |rng: &mut Rng| match rng.u32(..8) {
            0 => u64::MAX - rng.u64(..4),
            1 => (1 << 30) + rng.u64(..4) - 2,
            2 => (1 << 32) + rng.u64(..4) - 2,
            _ => rng.u64(..10),
        };
        Launch {
            grid,
            block,
            extents,
            xs,
            numbers: [number(rng), number(rng)],
        }
    }

    /// Runs a kernel. Returns the outputs and the reports.
    fn run(&self, text: &str, outputs: &[Output]) -> (Vec<Vec<u32>>, Vec<u64>, Option<String>) {
        let device = Device::new(text);
        let mut params = Params::new();
        let mut addresses = Vec::new();
        for (output, extents) in outputs.iter().zip(&self.extents) {
            let initial: Vec<u32> = (0..ELEMENTS as u32).collect();
            let address = device.upload(&initial);
            params = params.u64(address);
            for &extent in &extents[..output.integers()] {
                params = params.u64(extent);
            }
            addresses.push(address);
        }
        let report = device.upload(&vec![0u64; 4 * THREADS]);
        params = (params
            .u64(device.upload(&self.xs))
            .u64(self.xs.len() as u64))
        .u64(report);
        for number in self.numbers {
            params = params.u64(number);
        }
        let config = LaunchConfig {
            grid: self.grid,
            block: self.block,
            params: params.bytes(),
            ..device.config.clone()
        };
        let fault = launch(&device.program, device.entry("k", &config), &config).err();
        (
            addresses
                .into_iter()
                .map(|it| device.download(it, ELEMENTS))
                .collect(),
            device.download(report, 4 * THREADS),
            fault.map(|fault| format!("{:?}", fault.kind)),
        )
    }

    /// Returns whether indices of different places are equal because they wrap around.
    fn wraps(&self) -> bool {
        (self.extents.iter()).any(|&[_, w, h, d]| {
            let product = w.checked_mul(h).and_then(|it| it.checked_mul(d.min(12)));
            product.is_none()
        })
    }

    /// Returns whether a loop over the extents has few iterations.
    fn is_short(&self) -> bool {
        let [len, w, h, _] = self.extents[0];
        len < 200 && w < 200 && h < 200
    }
}

#[test]
fn outputs_of_grids_change_nothing() {
    let (seed, kernels) = settings(300);
    let (mut copied, mut narrowed) = (0, 0);
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let (text, outputs) = kernel(&mut rng);
        let texts = finished(&text, outputs.len());
        let count = |text: &str, what: &str| text.matches(what).count();
        let [before, after] = &texts;
        copied += u64::from(count(after, ".nc.u32") > count(before, ".nc.u32"));
        // The copy computes comparisons in 32 bits.
        narrowed += u64::from(count(after, ".u32 %x") > count(before, ".u32 %x") + 8);
        for _ in 0..16 {
            let launch = Launch::new(&mut rng, &outputs);
            if (text.contains("$loop") && !launch.is_short()) || launch.wraps() {
                continue;
            }
            let [expected, found] = texts.each_ref().map(|text| launch.run(text, &outputs));
            if let Some(fault) = &expected.2 {
                panic!("seed {seed}: {launch:?}\n{fault}\n{text}");
            }
            assert!(
                found == expected,
                "seed {seed}: {launch:?}\n{found:?}\n{expected:?}\n{text}\n{}",
                texts[1]
            );
        }
    }
    assert!(
        (copied > kernels / 4 && narrowed > kernels / 4) || seed.is_some(),
        "{copied} copied and {narrowed} narrowed of {kernels}"
    );
}
