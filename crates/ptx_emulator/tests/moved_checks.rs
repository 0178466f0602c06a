//! Runs random kernels with checks in loops, before and after `ptx::finish` moves the checks:
//! memory and panics must be equal.

mod common;

use common::generator::{Code, Generator, PANIC, registers, settings};
use common::{Device, Params};
use fastrand::Rng;
use ptx::{Purpose, Slice, stack};

/// The kernel's parameters. The first three pairs are slices of `u32`.
const PARAMS: [&str; 11] = [
    "xs", "xs_len", "ys", "ys_len", "out", "out_len", "report", "start", "bound", "stride",
    "offset",
];

/// The text of a generated kernel.
struct Text<'r> {
    rng: &'r mut Rng,
    code: Code,
}

impl Generator for Text<'_> {
    fn code(&mut self) -> &mut Code {
        &mut self.code
    }
}

impl<'r> Text<'r> {
    /// Returns the start of a kernel, which loads the parameters.
    fn new(rng: &'r mut Rng) -> Text<'r> {
        let mut text = Text {
            rng,
            code: Code {
                count: 10,
                ..Code::default()
            },
        };
        for name in PARAMS {
            text.line(&format!("ld.param.u64 %{name}, [k_param_{}];", param(name)));
            if matches!(name, "xs" | "ys" | "out") {
                text.line(&format!("cvta.to.global.u64 %{name}, %{name};"));
            }
        }
        text
    }

    /// Emits a branch to a panic unless `index < len`, in one of the forms that compilers use.
    fn check(&mut self, index: &str, len: &str) {
        let len = &self.again(len);
        let p = self.register("%p");
        self.code.count += 1;
        let n = self.code.count;
        let mut index = index;
        if self.rng.u32(..4) == 0 {
            // Checks of unrolled iterations share a register.
            self.line(&format!("add.s64 %common, {index}, 0;"));
            index = "%common";
        }
        match self.rng.u32(..4) {
            0 => self.line(&format!(
                "setp.lt.u64 {p}, {index}, {len};\n    @!{p} bra $P{n};"
            )),
            1 => self.line(&format!(
                "setp.ge.u64 {p}, {index}, {len};\n    @{p} bra $P{n};"
            )),
            2 => self.line(&format!(
                "setp.gt.u64 {p}, {len}, {index};\n    @!{p} bra $P{n};"
            )),
            _ => self.line(&format!(
                "setp.lt.u64 {p}, {index}, {len};\n    @{p} bra $C{n};\n    bra.uni $P{n};\n$C{n}:"
            )),
        }
        self.panic(n, index, len);
    }

    /// Sometimes loads a parameter again, as libnvvm does where many registers are live.
    fn again(&mut self, register: &str) -> String {
        let name = register.trim_start_matches('%');
        match PARAMS.iter().position(|param| *param == name) {
            Some(index) if self.rng.u32(..3) == 0 => {
                self.op("%rd", "ld.param.u64", &format!("[k_param_{index}]"))
            }
            _ => register.to_owned(),
        }
    }

    /// Emits a branch to a panic unless `start <= len`.
    fn check_at_most(&mut self, start: &str, len: &str) {
        let p = self.register("%p");
        self.code.count += 1;
        let n = self.code.count;
        match self.rng.u32(..3) {
            0 => self.line(&format!(
                "setp.gt.u64 {p}, {start}, {len};\n    @{p} bra $P{n};"
            )),
            1 => self.line(&format!(
                "setp.le.u64 {p}, {start}, {len};\n    @!{p} bra $P{n};"
            )),
            _ => self.line(&format!(
                "setp.lt.u64 {p}, {len}, {start};\n    @{p} bra $P{n};"
            )),
        }
        self.panic(n, start, len);
    }

    /// Emits the check of a range of `count` elements, as `&slice[start..start + count]` has it.
    fn check_range(&mut self, start: &str, count: u32, len: &str) {
        self.code.count += 1;
        let n = self.code.count;
        let wraps = match self.rng.bool() {
            true => self.op("%p", "setp.gt.u64", &format!("{start}, -{}", count + 1)),
            false => self.op("%p", "setp.ge.u64", &format!("{start}, -{count}")),
        };
        let end = self.op("%rd", "add.s64", &format!("{start}, {count}"));
        let beyond = match self.rng.bool() {
            true => self.op("%p", "setp.gt.u64", &format!("{end}, {len}")),
            false => self.op("%p", "setp.lt.u64", &format!("{len}, {end}")),
        };
        let fails = self.op("%p", "or.pred", &format!("{wraps}, {beyond}"));
        self.line(&format!("@{fails} bra $P{n};"));
        self.panic(n, start, len);
    }

    /// Adds a panic, to which a check branches.
    fn panic(&mut self, n: u32, index: &str, len: &str) {
        self.add_panic("panic", "%report", n, index, len);
    }

    /// Returns the module with the kernel. `words` are further 32-bit registers besides `%acc`.
    fn finish(self, words: &str) -> String {
        let params: Vec<String> = (0..PARAMS.len())
            .map(|index| format!(".param .u64 k_param_{index}"))
            .collect();
        let registers: Vec<String> = (PARAMS.iter())
            .map(|name| format!(".reg .b64 %{name};"))
            .collect();
        let count = self.code.count + 1;
        let words = match words {
            "" => "%acc".to_owned(),
            words => format!("%acc, {words}"),
        };
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
                    .reg .f32 %f<{count}>;
                    .reg .f64 %fd<{count}>;
                    .reg .f64 %g<{count}>;
                    .reg .b32 {words};
                    .reg .b64 %common;
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

    fn address(&mut self, base: &str, index: &str) -> String {
        let bytes = self.op("%rd", "shl.b64", &format!("{index}, 2"));
        self.op("%rd", "add.s64", &format!("{base}, {bytes}"))
    }

    /// Emits an index that depends on the loop counter, in 64 bits.
    fn index(&mut self, counter: &str, bits: u32) -> String {
        let narrow = bits == 32;
        let mut value = counter.to_owned();
        let (reg, ty) = if narrow {
            ("%r", "s32")
        } else {
            ("%rd", "s64")
        };
        let shift = if narrow { "b32" } else { "b64" };
        let [offset, stride] = ["offset", "stride"].map(|name| match narrow {
            true => format!("%{name}32"),
            false => self.again(&format!("%{name}")),
        });
        for _ in 0..self.rng.u32(..3) {
            let constant = self.rng.u32(..4);
            value = match self.rng.u32(..8) {
                0 => self.op(reg, &format!("add.{ty}"), &format!("{value}, {constant}")),
                1 => self.op(reg, &format!("add.{ty}"), &format!("{value}, -{constant}")),
                2 => self.op(reg, &format!("add.{ty}"), &format!("{value}, {offset}")),
                3 => self.op(reg, &format!("mul.lo.{ty}"), &format!("{value}, {stride}")),
                4 => self.op(reg, &format!("shl.{shift}"), &format!("{value}, 1")),
                // A subtraction that saturates, or almost one.
                5 => {
                    let limit = constant + u32::from(self.rng.u32(..4) == 0);
                    let p = self.op(
                        "%p",
                        &format!("setp.lt.u{bits}"),
                        &format!("{value}, {limit}"),
                    );
                    let less = format!("{value}, -{constant}");
                    let less = self.op(reg, &format!("add.{ty}"), &less);
                    self.op(reg, &format!("selp.{shift}"), &format!("0, {less}, {p}"))
                }
                6 => self.op(reg, &format!("sub.{ty}"), &format!("{offset}, {value}")),
                // Without the offset and one.
                _ => {
                    let not = self.op(reg, &format!("not.{shift}"), &offset);
                    self.op(reg, &format!("add.{ty}"), &format!("{value}, {not}"))
                }
            };
        }
        if narrow {
            let widen = ["cvt.u64.u32", "cvt.s64.s32"][self.rng.usize(..2)];
            value = self.op("%rd", widen, &value);
        }
        value
    }

    /// Emits a part of the loop body that may run in some iterations only.
    fn guarded_part(&mut self, counter: &str, bits: u32, may_store: bool) {
        if self.rng.u32(..3) > 0 {
            return self.part(counter, bits, may_store);
        }
        self.code.count += 1;
        let skip = format!("$S{}", self.code.count);
        let (reg, suffix) = registers(bits);
        if self.rng.bool() {
            self.nearly_guarded(counter, bits, &skip);
            return self.line(&format!("{skip}:"));
        }
        for _ in 0..self.rng.u32(1..3) {
            let tested = match self.rng.u32(..3) {
                0 => self.op(
                    reg,
                    &format!("add.s{bits}"),
                    &format!("{counter}, %offset{suffix}"),
                ),
                _ => counter.to_owned(),
            };
            let limit = match self.rng.u32(..4) {
                0 => format!("%bound{suffix}"),
                1 => format!("%stride{suffix}"),
                2 => self.rng.u32(..6).to_string(),
                _ => format!("%offset{suffix}"),
            };
            let relation = ["lt", "le", "gt", "ge", "ne"][self.rng.usize(..5)];
            let sign = if self.rng.u32(..5) == 0 { 's' } else { 'u' };
            let ty = if relation == "ne" { 's' } else { sign };
            let operands = format!("{tested}, {limit}");
            let p = self.op("%p", &format!("setp.{relation}.{ty}{bits}"), &operands);
            self.line(&format!("@!{p} bra {skip};"));
        }
        self.part(counter, bits, may_store);
        self.line(&format!("{skip}:"));
    }

    /// Emits a load whose index begins or ends near the limit of a test of the counter.
    fn nearly_guarded(&mut self, counter: &str, bits: u32, skip: &str) {
        let (reg, suffix) = registers(bits);
        let (upper, away) = (self.rng.bool(), self.rng.u32(..3));
        let more = self.rng.i32(-1..3);
        let limit = match (upper, bits) {
            (true, 32) => {
                let len = self.op("%r", "cvt.u32.u64", "%xs_len");
                self.op("%r", "add.s32", &format!("{len}, {more}"))
            }
            (true, _) => self.op("%rd", "add.s64", &format!("%xs_len, {more}")),
            (false, _) => format!("%offset{suffix}"),
        };
        let relation = match upper {
            true => ["lt", "le"],
            false => ["gt", "ge"],
        }[self.rng.usize(..2)];
        let (p, limit) = match !upper && self.rng.u32(..4) == 0 {
            true => {
                let p = self.op("%p", &format!("setp.ne.s{bits}"), &format!("{counter}, 0"));
                (p, "1".to_owned())
            }
            false => {
                let operands = format!("{counter}, {limit}");
                let p = self.op("%p", &format!("setp.{relation}.u{bits}"), &operands);
                (p, limit)
            }
        };
        self.line(&format!("@!{p} bra {skip};"));
        if self.rng.u32(..3) == 0 {
            let number = self.rng.u32(..4);
            let q = self.op(
                "%p",
                &format!("setp.gt.u{bits}"),
                &format!("{counter}, {number}"),
            );
            self.line(&format!("@{q} bra {skip}_more;"));
            self.line(&format!("add.s32 %acc, %acc, 5;\n{skip}_more:"));
        }
        let mut index = counter.to_owned();
        if !upper {
            index = self.op(reg, &format!("sub.s{bits}"), &format!("{index}, {limit}"));
            index = self.op(reg, &format!("add.s{bits}"), &format!("{index}, -{away}"));
        }
        if bits == 32 {
            index = self.op("%rd", "cvt.u64.u32", &index);
        }
        self.check(&index, "%xs_len");
        let at = self.address("%xs", &index);
        let value = self.op("%r", "ld.global.nc.u32", &format!("[{at}]"));
        self.line(&format!("mad.lo.s32 %acc, %acc, 31, {value};"));
    }

    /// Emits a part of the loop body.
    fn part(&mut self, counter: &str, bits: u32, may_store: bool) {
        let index = self.index(counter, bits);
        match self.rng.u32(..if may_store { 6 } else { 4 }) {
            0 => {
                self.check(&index, "%xs_len");
                let at = self.address("%xs", &index);
                let value = self.op("%r", "ld.global.nc.u32", &format!("[{at}]"));
                self.line(&format!("mad.lo.s32 %acc, %acc, 31, {value};"));
            }
            // An index from memory.
            1 | 2 => {
                self.check(&index, "%xs_len");
                let at = self.address("%xs", &index);
                let value = self.op("%r", "ld.global.nc.u32", &format!("[{at}]"));
                let second = self.op("%rd", "cvt.u64.u32", &value);
                self.check(&second, "%ys_len");
                let at = self.address("%ys", &second);
                let value = self.op("%r", "ld.global.nc.u32", &format!("[{at}]"));
                self.line(&format!("mad.lo.s32 %acc, %acc, 17, {value};"));
            }
            3 => self.constants(&index),
            4 => {
                self.check(&index, "%out_len");
                let at = self.address("%out", &index);
                self.line(&format!("st.global.u32 [{at}], %acc;"));
            }
            // What another iteration may have stored.
            _ => {
                self.check(&index, "%out_len");
                let at = self.address("%out", &index);
                let value = self.op("%r", "ld.global.u32", &format!("[{at}]"));
                self.line(&format!("mad.lo.s32 %acc, %acc, 13, {value};"));
            }
        }
    }

    /// Emits loads at constant indices of a part of `xs`, whose length is compared with each index,
    /// or, if the earlier comparisons have left only one length too few, with that one.
    fn constants(&mut self, start: &str) {
        self.check_at_most(start, "%xs_len");
        let len = self.op("%rd", "sub.s64", &format!("%xs_len, {start}"));
        let at = self.address("%xs", start);
        let ordered = self.rng.u32(..24);
        let mut within = None;
        for index in 0..self.rng.u32(2..24) {
            if self.rng.u32(..8) == 0 {
                continue;
            }
            let p = self.register("%p");
            self.code.count += 1;
            let n = self.code.count;
            let next = index + 1;
            let (comparison, branch) = match self.rng.u32(if index < ordered { 0 } else { 5 }..7) {
                0 => (format!("setp.gt.u64 {p}, {len}, {index}"), "@!"),
                1 => (format!("setp.lt.u64 {p}, {index}, {len}"), "@!"),
                2 => (format!("setp.ge.u64 {p}, {len}, {next}"), "@!"),
                3 => (format!("setp.le.u64 {p}, {len}, {index}"), "@"),
                4 => (format!("setp.lt.u64 {p}, {len}, {next}"), "@"),
                5 => (format!("setp.eq.s64 {p}, {len}, {index}"), "@"),
                _ => (format!("setp.ne.s64 {p}, {len}, {index}"), "@!"),
            };
            self.line(&format!("{comparison};\n    {branch}{p} bra $P{n};"));
            self.panic(n, &index.to_string(), &len);
            // A comparison with one length only does not keep the load in bounds.
            if !comparison.contains("s64") {
                within = Some(4 * index);
            }
            if let Some(bytes) = within {
                let value = self.op("%r", "ld.global.nc.u32", &format!("[{at}+{bytes}]"));
                self.line(&format!("mad.lo.s32 %acc, %acc, 7, {value};"));
            }
        }
    }

    /// Emits accesses without checks and a division, before which loads of several iterations may
    /// start. The slices are not empty.
    fn divide(&mut self, counter: &str, bits: u32, may_store: bool) {
        let low = match bits {
            32 => counter.to_owned(),
            _ => self.op("%r", "cvt.u32.u64", counter),
        };
        for _ in 0..self.rng.u32(1..4) {
            let slice = if may_store { self.rng.usize(..4) } else { 0 };
            let base = ["%xs", "%out", "%out", "%out"][slice];
            let len = self.op("%r", "cvt.u32.u64", &format!("{base}_len"));
            let by = self.rng.u32(..3);
            let index = self.op("%r", "add.s32", &format!("{low}, {by}"));
            let index = self.op("%r", "rem.u32", &format!("{index}, {len}"));
            let bytes = self.op("%rd", "mul.wide.u32", &format!("{index}, 4"));
            let at = self.op("%rd", "add.s64", &format!("{base}, {bytes}"));
            match slice {
                0 | 1 => {
                    let load = ["ld.global.nc.u32", "ld.global.u32"][slice];
                    let value = self.op("%r", load, &format!("[{at}]"));
                    self.line(&format!("mad.lo.s32 %acc, %acc, 13, {value};"));
                }
                _ => self.line(&format!("st.global.u32 [{at}], %acc;")),
            }
            if self.rng.bool() {
                let wide = self.op("%rd", "mul.wide.u32", "%acc, 2000000011");
                let quotient = self.op("%rd", "div.u64", &format!("{wide}, 3"));
                self.line(&format!("cvt.u32.u64 %acc, {quotient};"));
            }
        }
    }
}

/// How the loop of a kernel counts.
struct Count {
    bits: u32,
    signed: bool,
    /// The step, or `None` for the parameter `stride`.
    step: Option<i64>,
    relation: &'static str,
    /// Whether the counter is compared with the bound before it is increased.
    tests_last: bool,
    /// Whether the counter is the remaining length of a loop over chunks of `stride`.
    chunks: bool,
}

impl Count {
    /// Returns whether the loop exits after a limited number of iterations if all checks pass.
    fn ends(&self, [start, bound, stride, _]: [u64; 4]) -> bool {
        const MOST: u32 = 200;
        let value = |number: u64| match (self.bits, self.signed) {
            (32, true) => i128::from(number as i32),
            (32, false) => i128::from(number as u32),
            (_, true) => i128::from(number as i64),
            (_, false) => i128::from(number),
        };
        let step = match self.step {
            Some(step) => step as u64,
            None if self.chunks => stride.wrapping_neg(),
            None => stride,
        };
        let bound = if self.chunks { stride } else { bound };
        let limit = if self.tests_last {
            bound.wrapping_sub(1)
        } else {
            bound
        };
        let mut counter = start;
        for _ in 0..MOST {
            let next = counter.wrapping_add(step);
            let tested = value(if self.tests_last { counter } else { next });
            let goes_on = match self.relation {
                "lt" => tested < value(limit),
                "gt" => tested > value(limit),
                "ge" => tested >= value(limit),
                _ => tested != value(limit),
            };
            if !goes_on {
                return true;
            }
            counter = next;
        }
        false
    }
}

/// Returns a kernel with a loop whose counter runs from `start` to `bound`.
fn kernel(rng: &mut Rng) -> (String, Count) {
    let bits = if rng.bool() { 32 } else { 64 };
    let (reg, suffix) = registers(bits);
    let sign = if rng.u32(..4) == 0 { 's' } else { 'u' };
    let mut text = Text::new(rng);
    for name in ["start", "bound", "stride", "offset"] {
        text.line(&format!("cvt.u32.u64 %{name}32, %{name};"));
    }
    // An artificial outer loop, so that the loop is entered more than once.
    text.line("mov.u32 %acc, 7;\n    mov.u32 %again, 0;\n$again:");
    let before = text.register("%p");
    let (start, bound) = (format!("%start{suffix}"), format!("%bound{suffix}"));
    let chunks = text.rng.u32(..8) == 0;
    let down = !chunks && text.rng.u32(..5) == 0;
    let (none, bound) = match (chunks, down) {
        (true, _) => ("lt", format!("%stride{suffix}")),
        (_, true) => ("le", bound),
        _ => ("ge", bound),
    };
    text.line(&format!(
        "setp.{none}.{sign}{bits} {before}, {start}, {bound};"
    ));
    text.line(&format!("@{before} bra $end;"));
    // For a comparison of the counter minus the bound with zero, to which libnvvm compiles `!=`.
    let minus_bound = text.op(reg, &format!("neg.s{bits}"), &bound);
    let last = text.op(reg, &format!("add.s{bits}"), &format!("{bound}, -1"));
    let counter = text.register(reg);
    text.line(&format!("mov.b{bits} {counter}, {start};\n$loop:"));
    let early = text.rng.bool();
    let step = match (down, text.rng.u32(..6)) {
        _ if chunks => "%stride",
        (true, _) => "-1",
        (_, 0) => "2",
        (_, 1) => "3",
        (_, 2 | 3) => "%stride",
        _ => "1",
    };
    let step = match step {
        "%stride" => format!("%stride{suffix}"),
        step => step.to_owned(),
    };
    let add = match chunks {
        true => format!("sub.s{bits}"),
        false => format!("add.s{bits}"),
    };
    let mut next = String::new();
    if early {
        next = text.op(reg, &add, &format!("{counter}, {step}"));
    }
    let may_store = text.rng.bool();
    if chunks && text.rng.bool() {
        // Without a check, so that the loop is unrolled. The slice is not empty.
        let loaded = text.op("%r", "ld.global.u32", "[%xs]");
        text.line(&format!("mad.lo.s32 %acc, %acc, 31, {loaded};"));
        let low = match bits {
            32 => counter.clone(),
            _ => text.op("%r", "cvt.u32.u64", &counter),
        };
        text.line(&format!("xor.b32 %acc, %acc, {low};"));
    } else if text.rng.u32(..4) == 0 {
        text.divide(&counter, bits, may_store);
    } else {
        for _ in 0..text.rng.u32(1..4) {
            text.guarded_part(&counter, bits, may_store);
        }
    }
    if !early {
        next = text.op(reg, &add, &format!("{counter}, {step}"));
    }
    let on = text.register("%p");
    let relation = match (down, step.as_str(), text.rng.bool()) {
        (true, _, true) => "gt",
        (false, "1" | "-1", true) | (true, ..) => "ne",
        _ if chunks => "ge",
        _ => "lt",
    };
    // The last value instead of the one after it.
    let tests_last = relation == "lt" && text.rng.u32(..3) == 0;
    let (tested, limit) = match tests_last {
        true if text.rng.bool() => (counter.clone(), last),
        true => (counter.clone(), text.op(reg, &add, &format!("{bound}, -1"))),
        false if relation == "ne" && text.rng.bool() => {
            let sum = text.op(reg, &add, &format!("{minus_bound}, {next}"));
            (sum, "0".to_owned())
        }
        false => (next.clone(), bound),
    };
    let count_of = Count {
        bits,
        signed: sign == 's' && relation != "ne",
        step: step.parse().ok(),
        relation,
        tests_last,
        chunks,
    };
    let ty = if relation == "ne" { 's' } else { sign };
    text.line(&format!(
        "setp.{relation}.{ty}{bits} {on}, {tested}, {limit};"
    ));
    text.line(&format!("mov.b{bits} {counter}, {next};"));
    if text.rng.bool() {
        text.line(&format!("@{on} bra $loop;"));
    } else {
        let not = text.register("%p");
        text.line(&format!(
            "not.pred {not}, {on};\n    @{not} bra $end;\n    bra.uni $loop;"
        ));
    }
    text.line("$end:\n    add.s32 %again, %again, 1;");
    text.line("setp.lt.u32 %p1, %again, 2;\n    @%p1 bra $again;");
    text.line(
        "
        st.global.u32 [%report+24], %acc;
        ret;
        ",
    );
    let text = text.finish("%again, %start32, %bound32, %stride32, %offset32");
    (text, count_of)
}

fn param(name: &str) -> usize {
    PARAMS.iter().position(|param| *param == name).unwrap()
}

/// Runs a kernel, and returns its output, the report, and its fault.
fn run(text: &str, slices: [&[u32]; 3], numbers: [u64; 4]) -> (Vec<u32>, Vec<u64>, Option<String>) {
    run_blocks(text, 1, [1; 3], slices, numbers)
}

/// Runs a kernel with blocks of threads.
fn run_blocks(
    text: &str,
    grid: u32,
    block: [u32; 3],
    slices: [&[u32]; 3],
    numbers: [u64; 4],
) -> (Vec<u32>, Vec<u64>, Option<String>) {
    let device = Device::new(text);
    let uploaded = slices.map(|slice| device.upload(slice));
    let report = device.upload(&[0u64; 4]);
    let mut params = Params::new();
    for (slice, address) in slices.iter().zip(uploaded) {
        params = params.u64(address).u64(slice.len() as u64);
    }
    params = params.u64(report);
    for number in numbers {
        params = params.u64(number);
    }
    let fault = device.launch_blocks("k", grid, block, params).err();
    (
        device.download(uploaded[2], slices[2].len()),
        device.download(report, 4),
        fault.map(|fault| format!("{:?}", fault.kind)),
    )
}

/// Returns the kernel before and after the passes.
fn finished(text: &str) -> (String, String) {
    let slices = [0, 2, 4].map(|pointer| Slice {
        kernel: "k".to_owned(),
        pointer,
        length: pointer + 1,
        element: 4,
    });
    let sizes: Vec<usize> = (7..PARAMS.len()).collect();
    let sizes = common::parameters(&sizes);
    let options = stack::Options::default();
    let finish = |purpose| ptx::finish(text, &[], purpose, &options).unwrap().text;
    (
        finish(Purpose::Plain),
        finish(Purpose::Speed(ptx::Kernels {
            slices: &slices,
            sizes: &sizes,
            ordinary_entries: common::has_ordinary_entries(text),
            ..ptx::Kernels::default()
        })),
    )
}

#[test]
fn moved_checks_change_nothing() {
    let (seed, kernels) = settings(300);
    let mut changed = 0;
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let (text, count) = kernel(&mut rng);
        let (plain, moved) = finished(&text);
        changed += u64::from(plain != moved);
        for _ in 0..24 {
            let most = rng.usize(1..20);
            let mut slice = |below: u32| -> Vec<u32> {
                let len = rng.usize(1..=most.max(1));
                (0..len).map(|_| rng.u32(..below)).collect()
            };
            // Occasionally an element is out of bounds of the second slice.
            let (xs, ys, out) = (slice(most as u32 + 1), slice(1000), slice(1000));
            let mut number = || match rng.u32(..12) {
                0 => u64::MAX - rng.u64(..4),
                1 => u64::from(u32::MAX) - rng.u64(..4),
                2 => (1 << 63) - rng.u64(..4),
                3 => (1 << 31) - rng.u64(..4),
                _ => rng.u64(..16),
            };
            let mut numbers = [number(), number(), number(), number()];
            if rng.bool() {
                let away = rng.u64(..12);
                numbers[1] = match count.step {
                    Some(-1) => numbers[0].wrapping_sub(away),
                    _ => numbers[0].wrapping_add(away),
                };
            }
            if !count.ends(numbers) {
                continue;
            }
            let slices = [&xs[..], &ys, &out];
            let expected = run(&plain, slices, numbers);
            let found = run(&moved, slices, numbers);
            assert_eq!(found, expected, "seed {seed}: {numbers:?}\n{text}\n{moved}");
        }
    }
    // Most of the generated kernels must have checks to move.
    assert!(
        changed > kernels / 2 || seed.is_some(),
        "{changed} of {kernels}"
    );
}

/// Returns a kernel with a loop in which some iterations load an element.
fn loads_of_some_iterations(rng: &mut Rng) -> String {
    let mut text = Text::new(rng);
    let counter = text.register("%rd");
    text.line(&format!(
        "mov.u32 %acc, 7;\n    mov.u64 {counter}, %start;\n$loop:"
    ));
    text.nearly_guarded(&counter, 64, "$skip");
    let step = [1, 1, 2, 4][text.rng.usize(..4)];
    let on = text.register("%p");
    text.line(&format!(
        "$skip:\n    add.s64 {counter}, {counter}, {step};\n    setp.lt.u64 {on}, {counter}, %bound;"
    ));
    text.line(&format!(
        "@{on} bra $loop;\n    st.global.u32 [%report+24], %acc;\n    ret;"
    ));
    text.finish("%again")
}

#[test]
fn checks_of_some_iterations_fail_where_they_did() {
    let (seed, kernels) = settings(16);
    let mut changed = 0;
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let text = loads_of_some_iterations(&mut Rng::with_seed(seed));
        let (plain, moved) = finished(&text);
        changed += u64::from(moved.matches("ld.global").count() > 1);
        let element = [9; 5];
        for len in 1..6 {
            for (start, bound, offset) in (0..3)
                .flat_map(|start| (start + 1..9).map(move |bound| (start, bound)))
                .flat_map(|(start, bound)| (0..5).map(move |offset| (start, bound, offset)))
            {
                let slices = [&element[..len], &[], &[]];
                let numbers = [start, bound, 1, offset];
                let expected = run(&plain, slices, numbers);
                let found = run(&moved, slices, numbers);
                assert_eq!(found, expected, "seed {seed}: {numbers:?}\n{text}\n{moved}");
            }
        }
    }
    assert!(changed > kernels / 2 || seed.is_some(), "{changed}");
}

impl Text<'_> {
    /// Emits a condition that leads to `skip` unless it holds.
    fn guard(&mut self, x: &str, y: &str, skip: &str) {
        let p = self.register("%p");
        let comparison = match self.rng.u32(..10) {
            8 => {
                let factor = [x, y, "%offset"][self.rng.usize(..3)];
                let high = self.op("%rd", "mul.hi.u64", &format!("{factor}, %bound"));
                format!("setp.ne.s64 {p}, {high}, 0")
            }
            9 => {
                let extent = ["%bound", "%offset", x][self.rng.usize(..3)];
                let by = self.rng.u32(..3);
                let last = self.op("%rd", "add.s64", &format!("{extent}, -{by}"));
                let relation = ["lt", "le", "gt", "ge"][self.rng.usize(..4)];
                let number = self.rng.i32(-3..3);
                format!("setp.{relation}.s64 {p}, {last}, {number}")
            }
            6 => {
                let relation = ["gt", "ge"][self.rng.usize(..2)];
                format!("setp.{relation}.u64 {p}, {x}, %bound")
            }
            7 => {
                let by = self.rng.u32(1..3);
                let last = self.op("%rd", "add.s64", &format!("%bound, -{by}"));
                format!("setp.eq.s64 {p}, {x}, {last}")
            }
            0 => format!("setp.eq.s64 {p}, {x}, 0"),
            1 => format!("setp.lt.u64 {p}, {y}, {}", self.rng.u32(1..3)),
            2 => {
                let next = self.op("%rd", "add.s64", &format!("{x}, 1"));
                format!("setp.ge.u64 {p}, {next}, %bound")
            }
            3 => {
                let by = self.rng.u32(1..4);
                let next = self.op("%rd", "add.s64", &format!("{y}, {by}"));
                format!("setp.ge.u64 {p}, {next}, %offset")
            }
            4 => format!("setp.le.s64 {p}, %stride, {x}"),
            _ => {
                let (a, b) = (self.register("%p"), self.register("%p"));
                self.line(&format!("setp.gt.u64 {a}, {x}, %stride;"));
                self.line(&format!("setp.eq.s64 {b}, {y}, 3;"));
                self.line(&format!("or.pred {p}, {a}, {b};"));
                self.line(&format!("@{p} bra {skip};"));
                return;
            }
        };
        self.line(&format!("{comparison};"));
        self.line(&format!("@{p} bra {skip};"));
    }

    /// Emits the index of a neighbor in a matrix whose rows and columns wrap around.
    fn wrapped(&mut self, x: &str, y: &str) -> String {
        let place = [(x, "%bound"), (y, "%offset")].map(|(at, extent)| {
            let number = self.rng.i32(-2..3).to_string();
            let by = [&number, extent][self.rng.usize(..2)];
            let mut moved = self.op("%rd", "add.s64", &format!("{at}, {by}"));
            if self.rng.bool() {
                let number = self.rng.i32(-2..3);
                moved = self.op("%rd", "add.s64", &format!("{moved}, {number}"));
            }
            let mut divisor = extent.to_owned();
            if self.rng.u32(..6) == 0 {
                let other = ["%xs_len", "%offset", "%stride"][self.rng.usize(..3)];
                divisor = self.op("%rd", "add.s64", &format!("{other}, -1"));
            }
            let zero = self.op("%p", "setp.eq.s64", &format!("{divisor}, 0"));
            self.line(&format!("@{zero} bra $end;"));
            if self.rng.u32(..4) > 0 {
                return self.op("%rd", "rem.u64", &format!("{moved}, {divisor}"));
            }
            // With the quotient, which other code may need.
            let quotient = self.op("%rd", "div.u64", &format!("{moved}, {divisor}"));
            let product = self.op("%rd", "mul.lo.s64", &format!("{quotient}, {divisor}"));
            if self.rng.bool() {
                return self.op("%rd", "sub.s64", &format!("{moved}, {product}"));
            }
            let less = self.op("%rd", "not.b64", &product);
            let before = self.op("%rd", "add.s64", &format!("{moved}, {less}"));
            self.op("%rd", "add.s64", &format!("{before}, 1"))
        });
        let [column, row] = place;
        let row = self.op("%rd", "mul.lo.s64", &format!("{row}, %bound"));
        self.op("%rd", "add.s64", &format!("{row}, {column}"))
    }

    /// Emits an index near an element.
    fn near(&mut self, x: &str, y: &str, own: &str) -> String {
        let mut value = [x, y, own, own, own][self.rng.usize(..5)].to_owned();
        for _ in 0..self.rng.u32(..3) {
            let constant = self.rng.u32(1..4);
            value = match self.rng.u32(..33) {
                28 => {
                    let factor = ["%offset", "%bound"][self.rng.usize(..2)];
                    let row = self.op("%rd", "shr.u64", &format!("{y}, {constant}"));
                    let row = self.op("%rd", "mul.lo.s64", &format!("{row}, {factor}"));
                    self.op("%rd", "add.s64", &format!("{row}, {value}"))
                }
                // Divisions by a constant.
                29 => {
                    let factor = [
                        "-6148914691236517205",
                        "-3689348814741910323",
                        "2635249153387078803",
                        "4294967296",
                        "4294967295",
                    ][self.rng.usize(..5)];
                    let high = self.op("%rd", "mul.hi.u64", &format!("{value}, {factor}"));
                    self.op("%rd", "shr.u64", &format!("{high}, {}", constant - 1))
                }
                30 => {
                    let half = self.op("%h", "cvt.u16.u64", &value);
                    let product = self.op("%r", "mul.wide.u16", &format!("{half}, -21845"));
                    let quotient = self.op("%r", "shr.u32", &format!("{product}, 17"));
                    self.op("%rd", "cvt.u64.u32", &quotient)
                }
                // A coordinate with sign, compared as an integer of 32 bits.
                32 => {
                    let mut moved = |of: &str| {
                        let low = self.op("%r", "cvt.u32.u64", of);
                        let by = self.rng.i32(-2..3);
                        self.op("%r", "add.s32", &format!("{low}, {by}"))
                    };
                    let (own, other) = (moved(&value), moved(y));
                    let both = self.op("%r", "or.b32", &format!("{own}, {other}"));
                    let (relation, not) = [("lt.s32", ""), ("ge.s32", "!")][self.rng.usize(..2)];
                    let p = self.op("%p", &format!("setp.{relation}"), &format!("{both}, 0"));
                    self.line(&format!("@{not}{p} bra $end;"));
                    let extent = ["%bound", "%offset"][self.rng.usize(..2)];
                    let extent = self.op("%r", "cvt.u32.u64", extent);
                    let outside = self.op("%p", "setp.ge.s32", &format!("{own}, {extent}"));
                    self.line(&format!("@{outside} bra $end;"));
                    let widened = ["cvt.u64.u32", "cvt.s64.s32"][self.rng.usize(..2)];
                    self.op("%rd", widened, &own)
                }
                // libnvvm divides in 32 bits if both numbers fit.
                31 => {
                    let both = self.op("%rd", "or.b64", &format!("{value}, %offset"));
                    let high = self.op("%rd", "and.b64", &format!("{both}, -4294967296"));
                    let p = self.op("%p", "setp.eq.s64", &format!("{high}, 0"));
                    let quotient = self.op("%rd", "max.u64", "%offset, 1");
                    let (a, b) = (
                        self.op("%r", "cvt.u32.u64", &value),
                        self.op("%r", "cvt.u32.u64", &quotient),
                    );
                    self.code.count += 1;
                    let label = self.code.count;
                    self.line(&format!("@{p} bra $D{label};"));
                    self.line(&format!("div.u64 {quotient}, {value}, {quotient};"));
                    self.line(&format!("bra.uni $E{label};\n$D{label}:"));
                    let low = self.op("%r", "div.u32", &format!("{a}, {b}"));
                    self.line(&format!("cvt.u64.u32 {quotient}, {low};\n$E{label}:"));
                    quotient
                }
                0 => self.op("%rd", "add.s64", &format!("{value}, {constant}")),
                1 => self.op("%rd", "add.s64", &format!("{value}, -{constant}")),
                2 => self.op("%rd", "add.s64", &format!("{value}, %bound")),
                3 => self.op("%rd", "sub.s64", &format!("{value}, %bound")),
                4 => self.op("%rd", "sub.s64", &format!("{value}, %stride")),
                5 => self.op("%rd", "min.u64", &format!("{value}, %offset")),
                6 => self.op("%rd", "mul.lo.s64", &format!("{value}, {constant}")),
                7 => self.op("%rd", "max.u64", &format!("{value}, %offset")),
                8 => self.op("%rd", "div.u64", &format!("{value}, {constant}")),
                9 => self.op("%rd", "rem.u64", &format!("{value}, {constant}")),
                10 => self.op("%rd", "shr.u64", &format!("{value}, {constant}")),
                11 => self.op("%rd", "shl.b64", &format!("{value}, {constant}")),
                12 => self.op("%rd", "and.b64", &format!("{value}, 7")),
                13 => self.op("%rd", "or.b64", &format!("{value}, {constant}")),
                14 => self.op("%rd", "xor.b64", &format!("{value}, {constant}")),
                15 => self.op("%rd", "mad.lo.s64", &format!("{value}, {constant}, {x}")),
                16 => self.op("%rd", "mul.lo.s64", &format!("{value}, %offset")),
                17 => {
                    let p = self.op("%p", "setp.lt.u64", &format!("{value}, {constant}"));
                    self.op("%rd", "selp.b64", &format!("{value}, {y}, {p}"))
                }
                18 => {
                    let low = self.op("%r", "cvt.u32.u64", &value);
                    self.op("%rd", "cvt.u64.u32", &low)
                }
                19 => {
                    let low = self.op("%r", "cvt.u32.u64", &value);
                    self.op("%rd", "mul.wide.u32", &format!("{low}, {constant}"))
                }
                // Conversions that change the integer.
                20 => {
                    let float = self.op("%f", "cvt.rn.f32.u64", &value);
                    let bits = self.op("%r", "mov.b32", &float);
                    self.op("%rd", "cvt.u64.u32", &bits)
                }
                21 => {
                    let float = self.op("%g", "cvt.rn.f64.s64", &value);
                    self.op("%rd", "mov.b64", &float)
                }
                22 => {
                    let half = self.op("%h", "cvt.u16.u64", &value);
                    self.op("%rd", "cvt.u64.u16", &half)
                }
                23 => {
                    let low = self.op("%r", "cvt.u32.u64", &value);
                    let low = self.op("%r", "mul.lo.s32", &format!("{low}, 2000000000"));
                    self.op("%rd", "cvt.s64.s32", &low)
                }
                24 | 25 => self.through_float(&value),
                26 => {
                    let last = self.op("%rd", "add.s64", "%offset, -1");
                    self.op("%rd", "min.u64", &format!("{value}, {last}"))
                }
                _ => {
                    // A join of two values.
                    let joined = self.op("%rd", "mov.u64", &value);
                    let p = self.op("%p", "setp.lt.u64", &format!("{value}, {constant}"));
                    self.code.count += 1;
                    let label = self.code.count;
                    self.line(&format!("@{p} bra $J{label};"));
                    self.line(&format!(
                        "sub.s64 {joined}, {value}, {constant};\n$J{label}:"
                    ));
                    joined
                }
            };
        }
        value
    }

    /// Emits `(value as f32 * factor) as u64`, perhaps limited.
    fn through_float(&mut self, value: &str) -> String {
        let (ty, factors) = [
            (
                "f32",
                [
                    "0f3F800000",
                    "0f3F000000",
                    "0fBF800000",
                    "0f7F800000",
                    "0f7FC00000",
                ],
            ),
            (
                "f64",
                [
                    "0d3FF0000000000000",
                    "0d3FE0000000000000",
                    "0d41F0000000000000",
                    "0d7FF0000000000000",
                    "0d7FF8000000000000",
                ],
            ),
        ][self.rng.usize(..2)];
        let factor = factors[self.rng.usize(..5)];
        let prefix = if ty == "f32" { "%f" } else { "%fd" };
        let float = self.op(prefix, &format!("cvt.rn.{ty}.u64"), value);
        let float = self.op(prefix, &format!("mul.{ty}"), &format!("{float}, {factor}"));
        let integer = self.op("%rd", &format!("cvt.rzi.u64.{ty}"), &float);
        let integer = match self.rng.bool() {
            true => {
                let p = self.op(
                    "%p",
                    &format!("setp.nan.{ty}"),
                    &format!("{float}, {float}"),
                );
                self.op("%rd", "selp.b64", &format!("0, {integer}, {p}"))
            }
            false => {
                let p = self.op(
                    "%p",
                    &format!("setp.num.{ty}"),
                    &format!("{float}, {float}"),
                );
                self.op("%rd", "selp.b64", &format!("{integer}, 0, {p}"))
            }
        };
        match self.rng.u32(..3) {
            0 => integer,
            1 => self.op("%rd", "min.u64", &format!("{integer}, %offset")),
            _ => {
                let last = self.op("%rd", "add.s64", "%offset, -1");
                self.op("%rd", "min.u64", &format!("{integer}, {last}"))
            }
        }
    }

    /// Emits the indices of several elements per place, or of a matrix with borders.
    fn several(&mut self, x: &str, y: &str, own: &str) -> Vec<String> {
        let count = self.rng.u32(2..5);
        if self.rng.bool() {
            let first = self.op("%rd", "mul.lo.s64", &format!("{own}, {count}"));
            let next = |k| self.op("%rd", "add.s64", &format!("{first}, {k}"));
            return (0..count).map(next).collect();
        }
        let border = self.rng.u32(1..3);
        let width = self.op("%rd", "add.s64", &format!("%bound, {border}"));
        let mut next = |k: u32| {
            let row = self.op("%rd", "add.s64", &format!("{y}, {}", k / 2));
            let row = self.op("%rd", "mul.lo.s64", &format!("{row}, {width}"));
            let column = self.op("%rd", "add.s64", &format!("{x}, {}", k % 2));
            self.op("%rd", "add.s64", &format!("{row}, {column}"))
        };
        (0..count).map(&mut next).collect()
    }

    /// Emits an access with a check, or several.
    fn access(&mut self, x: &str, y: &str, own: &str) {
        if self.rng.u32(..4) == 0 {
            for index in self.several(x, y, own) {
                self.check(&index, "%xs_len");
                let at = self.address("%xs", &index);
                let value = self.op("%r", "ld.global.u32", &format!("[{at}]"));
                self.line(&format!("mad.lo.s32 %acc, %acc, 31, {value};"));
            }
            return;
        }
        let index = match self.rng.u32(..6) {
            0 => self.wrapped(x, y),
            _ => self.near(x, y, own),
        };
        if self.rng.u32(..3) == 0 {
            self.check(&index, "%out_len");
            let at = self.address("%out", &index);
            self.line(&format!("st.global.u32 [{at}], %acc;"));
        } else {
            let mut index = index;
            if self.rng.u32(..3) == 0 {
                let count = self.rng.u32(1..4);
                self.check_range(&index, count, "%xs_len");
                let number = self.rng.u32(..count);
                index = self.op("%rd", "add.s64", &format!("{index}, {number}"));
            } else {
                self.check(&index, "%xs_len");
            }
            let at = self.address("%xs", &index);
            let value = self.op("%r", "ld.global.u32", &format!("[{at}]"));
            self.line(&format!("mad.lo.s32 %acc, %acc, 31, {value};"));
        }
    }
}

/// A loop that ends when a counter reaches a bound.
struct Inner {
    /// The counter that ends the loop, and another one.
    counters: [String; 2],
    steps: [String; 2],
    /// The type and the relation of the comparison under which the loop continues.
    relation: &'static str,
    bound: String,
    /// Whether the counter is compared before it changes.
    compares_first: bool,
    /// The number of iterations, which is limited: the counter may pass the bound.
    iterations: String,
}

impl Inner {
    fn any_counter(&self, rng: &mut Rng) -> &str {
        &self.counters[rng.usize(..2)]
    }
}

impl Text<'_> {
    /// Emits the start of a loop, as compilers write them. Skips the loop for some numbers.
    fn open_loop(&mut self, number: u32, skip: &str) -> Inner {
        let count = ["%offset", "%stride", "%bound", "%xs_len"][self.rng.usize(..4)];
        let mut count = match self.rng.u32(..3) {
            0 => self.op("%rd", "and.b64", &format!("{count}, 15")),
            1 => self.op("%rd", "min.u64", &format!("{count}, 9")),
            _ => {
                let most = [4, 12][self.rng.usize(..2)];
                let number = self.rng.u32(..most);
                self.op("%rd", "mov.u64", &number.to_string())
            }
        };
        let guarded = self.rng.u32(..4) > 0;
        if guarded {
            let p = self.op("%p", "setp.eq.s64", &format!("{count}, 0"));
            self.line(&format!("@{p} bra {skip};"));
        }
        // The bound of a step of 1, perhaps rounded to a power of two.
        let mut step = 1;
        match self.rng.u32(..4) {
            0 => {
                let by = self.rng.u32(1..3);
                let rest = self.op("%rd", "and.b64", &format!("{count}, {}", (1 << by) - 1));
                let p = self.op("%p", "setp.ne.s64", &format!("{rest}, 0"));
                let excess = self.op("%rd", "selp.u64", &format!("1, 0, {p}"));
                let quotient = self.op("%rd", "shr.u64", &format!("{count}, {by}"));
                count = self.op("%rd", "add.s64", &format!("{quotient}, {excess}"));
            }
            1 => {
                step = [2, 4][self.rng.usize(..2)];
                let all = self.op("%rd", "add.s64", &format!("{count}, -1"));
                let least = match guarded {
                    true => step - 1,
                    false => self.rng.i64(..step),
                };
                let p = self.op("%p", "setp.lt.u64", &format!("{all}, {least}"));
                self.line(&format!("@{p} bra {skip};"));
                count = match self.rng.bool() {
                    true => self.op("%rd", "and.b64", &format!("{count}, {}", -step)),
                    false => {
                        let rest = self.op("%rd", "and.b64", &format!("{count}, {}", step - 1));
                        self.op("%rd", "sub.s64", &format!("{count}, {rest}"))
                    }
                };
            }
            _ => {}
        }
        let zero = || "0".to_owned();
        let (start, step, relation, bound) = match self.rng.u32(..6) {
            0 => (count, -step, "ne.s64", zero()),
            1 => (self.op("%rd", "neg.s64", &count), step, "ne.s64", zero()),
            2 => (zero(), step, "ne.s64", count),
            3 => (zero(), step, "lt.u64", count),
            4 => (count, -step, "gt.s64", zero()),
            // Starts elsewhere, so it may pass the bound.
            _ => (
                self.rng.u32(..3).to_string(),
                step,
                ["ne.s64", "lt.u64", "le.s64"][self.rng.usize(..3)],
                count,
            ),
        };
        let counter = self.op("%rd", "mov.u64", &start);
        let start = ["0", "7", "%rd4", "%rd5", &bound][self.rng.usize(..5)].to_owned();
        // The first or any element of a row, to which each iteration adds the width.
        let (start, other_step) = match self.rng.bool() {
            true => ("%rd4".to_owned(), "%bound"),
            false => (start, ["1", "-1", "3", "32"][self.rng.usize(..4)]),
        };
        let other = self.op("%rd", "mov.u64", &start);
        let iterations = self.op("%r", "mov.u32", "0");
        self.line(&format!("$I{number}:"));
        Inner {
            counters: [counter, other],
            steps: [step.to_string(), other_step.to_owned()],
            relation,
            bound,
            compares_first: self.rng.u32(..4) == 0,
            iterations,
        }
    }

    fn close_loop(&mut self, number: u32, inner: &Inner) {
        let iterations = &inner.iterations;
        self.line(&format!("add.s32 {iterations}, {iterations}, 1;"));
        let p = self.op("%p", "setp.gt.u32", &format!("{iterations}, 20"));
        self.line(&format!("@{p} bra $O{number};"));
        let [counter, other] = &inner.counters;
        let compare = |text: &mut Self| {
            let setp = format!("setp.{}", inner.relation);
            text.op("%p", &setp, &format!("{counter}, {}", inner.bound))
        };
        let first = inner.compares_first.then(|| compare(self));
        let mut steps = vec![(counter, &inner.steps[0]), (other, &inner.steps[1])];
        // Perhaps some steps precede a branch, after which the old or the new value may be read.
        let early = match self.rng.bool() {
            true => 0,
            false => self.rng.usize(..3),
        };
        for (counter, step) in steps.drain(..early) {
            self.line(&format!("add.s64 {counter}, {counter}, {step};"));
        }
        if early > 0 {
            let bit = self.op("%r", "and.b32", "%acc, 1");
            let p = self.op("%p", "setp.eq.s32", &format!("{bit}, 0"));
            self.line(&format!("@{p} bra $M{number};"));
            if self.rng.u32(..3) == 0 {
                let counter = inner.any_counter(self.rng);
                let low = self.op("%r", "cvt.u32.u64", counter);
                self.line(&format!("mad.lo.s32 %acc, %acc, 3, {low};"));
            }
            self.line(&format!("$M{number}:"));
        }
        let late = |text: &mut Self, steps: &[(&String, &String)]| {
            for (counter, step) in steps {
                text.line(&format!("add.s64 {counter}, {counter}, {step};"));
            }
        };
        let (before, after) = steps.split_at(usize::from(early == 0));
        late(self, before);
        let p = first.unwrap_or_else(|| compare(self));
        late(self, after);
        match self.rng.bool() {
            true => self.line(&format!("@{p} bra $I{number};")),
            false => self.line(&format!("@!{p} bra $O{number};\n    bra.uni $I{number};")),
        }
        self.line(&format!("$O{number}:"));
        if self.rng.bool() {
            let counter = inner.any_counter(self.rng);
            let low = self.op("%r", "cvt.u32.u64", counter);
            self.line(&format!("mad.lo.s32 %acc, %acc, 5, {low};"));
        }
    }
}

/// Returns a kernel with a grid-stride loop over `start..bound`, perhaps in one over `0..offset`.
/// The bodies are conditional accesses.
fn grid_stride(rng: &mut Rng) -> String {
    let mut text = Text::new(rng);
    let nested = text.rng.bool();
    text.line(
        "
        mov.u32 %acc, 7;
        mov.u32 %r1, %tid.x;
        ",
    );
    let flat = text.rng.bool();
    text.line(
        "
        mov.u32 %r2, %nctaid.x;
        cvt.u64.u32 %rd9, %r2;
        ",
    );
    // The counter goes down, or by more than one. Without a limit, it might wrap around for ever.
    let (limit, stride) = match text.rng.u32(..6) {
        0 => (64, format!("add.s64 %rd2, %rd9, -{};", text.rng.u32(2..5))),
        1 => (
            1 << 40,
            format!("shl.b64 %rd2, %rd9, {};", text.rng.u32(1..3)),
        ),
        _ => (u64::MAX, "mov.u64 %rd2, %rd9;".to_owned()),
    };
    text.line(&format!(
        "setp.gt.u64 %p5, %bound, {limit};\n@%p5 bra $end;"
    ));
    text.line(&stride);
    if flat {
        // The index of the block among those of the grid.
        text.line(
            "
            mov.u32 %r5, %ctaid.y;
            mov.u32 %r6, %ctaid.z;
            mov.u32 %r7, %nctaid.y;
            ",
        );
        text.line(
            "
            mad.lo.s32 %r8, %r7, %r6, %r5;
            mov.u32 %r9, %ctaid.x;
            ",
        );
        text.line(
            "
            mad.lo.s32 %r9, %r8, %r2, %r9;
            add.s32 %r1, %r1, %r9;
            ",
        );
    }
    text.line("cvt.u64.u32 %rd1, %r1;");
    text.line("add.s64 %rd3, %start, %rd1;");
    text.line(
        "
        setp.ge.u64 %p1, %rd3, %bound;
        @%p1 bra $end;
        ",
    );
    text.line(
        "
        mov.u32 %r3, %tid.y;
        cvt.u64.u32 %rd5, %r3;
        ",
    );
    text.line(
        "
        mov.u32 %r4, %nctaid.y;
        cvt.u64.u32 %rd6, %r4;
        ",
    );
    if nested {
        text.line(
            "
            setp.ge.u64 %p2, %rd5, %offset;
            @%p2 bra $end;
            $rows:
            ",
        );
        text.line("add.s64 %rd7, %rd5, %rd6;");
    }
    text.line("mov.u64 %rd4, %rd3;\n$loop:");
    text.line("add.s64 %rd8, %rd4, %rd2;");
    let own = text.op("%rd", "mul.lo.s64", "%rd5, %bound");
    let own = text.op("%rd", "add.s64", &format!("{own}, %rd4"));
    for number in 0..text.rng.u32(1..4) {
        let skip = format!("$S{number}");
        for _ in 0..text.rng.u32(..3) {
            text.guard("%rd4", "%rd5", &skip);
        }
        // Perhaps in a loop with counters of its own.
        let inner = (text.rng.bool()).then(|| text.open_loop(number, &skip));
        for _ in 0..text.rng.u32(1..5) {
            let (x, own) = match &inner {
                Some(inner) if text.rng.bool() => {
                    let x = inner.any_counter(text.rng).to_owned();
                    let row = text.rng.i32(-2..3);
                    let row = text.op("%rd", "add.s64", &format!("%rd5, {row}"));
                    let row = text.op("%rd", "mul.lo.s64", &format!("{row}, %bound"));
                    let own = text.op("%rd", "add.s64", &format!("{row}, {x}"));
                    (x, own)
                }
                _ => ("%rd4".to_owned(), own.clone()),
            };
            text.access(&x, "%rd5", &own);
        }
        if let Some(inner) = inner {
            text.close_loop(number, &inner);
        }
        text.line(&format!("{skip}:"));
    }
    // Threads without elements may leave without any effect.
    let store = "st.global.u32 [%report+24], %acc;";
    let (in_loop, at_end) = match text.rng.bool() {
        true => (store, ""),
        false => ("", store),
    };
    text.line(&format!(
        "
        {in_loop}
        setp.lt.u64 %p3, %rd8, %bound;
        mov.u64 %rd4, %rd8;
        "
    ));
    text.line("@%p3 bra $loop;");
    if nested {
        text.line(
            "
            setp.lt.u64 %p4, %rd7, %offset;
            mov.u64 %rd5, %rd7;
            ",
        );
        text.line("@%p4 bra $rows;");
    }
    text.line(&format!("$end:\n{at_end}\nret;"));
    text.finish("")
}

#[test]
fn specialized_kernels_change_nothing() {
    let (seed, kernels) = settings(300);
    let (mut changed, mut narrowed) = (0, 0);
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = grid_stride(&mut rng);
        let (plain, moved) = finished(&text);
        changed += u64::from(plain != moved);
        narrowed += u64::from(moved.contains("setp.lt.u32"));
        for _ in 0..24 {
            let mut slice = |most: usize| -> Vec<u32> {
                let len = rng.usize(1..=most);
                (0..len).map(|_| rng.u32(..1000)).collect()
            };
            let slices = [slice(40), slice(8), slice(40)];
            // Extents around the bound of 32-bit arithmetic, with few iterations.
            let bound = match rng.u32(..8) {
                0 => u64::MAX - rng.u64(..4),
                1 => (1 << 32) + rng.u64(..8) - 4,
                2 => (1 << 31) + rng.u64(..8) - 4,
                3 => (1 << 30) + rng.u64(..8) - 4,
                _ => rng.u64(..9),
            };
            let start = match rng.bool() {
                true => bound.saturating_sub(rng.u64(..6)),
                false if bound < 16 => rng.u64(..4),
                false => bound.saturating_sub(rng.u64(..2)),
            };
            let stride = match rng.u32(..6) {
                0 => u64::MAX - rng.u64(..4),
                1 => (1 << 30) + rng.u64(..8) - 4,
                _ => rng.u64(..6),
            };
            let numbers = [start, bound, stride, rng.u64(..6)];
            let slices = [&slices[0][..], &slices[1], &slices[2]];
            let expected = run(&plain, slices, numbers);
            let found = run(&moved, slices, numbers);
            assert_eq!(found, expected, "seed {seed}: {numbers:?}\n{text}\n{moved}");
        }
    }
    assert!(
        (changed > kernels / 2 && narrowed > kernels / 4) || seed.is_some(),
        "{changed} changed and {narrowed} narrowed of {kernels}"
    );
}

/// Returns a kernel that loads as many elements as a number says, each at a distance from the one
/// before, and whether they are a row or a column of a matrix. Like LLVM, its loop mostly counts down.
fn terms(rng: &mut Rng) -> (String, bool) {
    let mut text = Text::new(rng);
    let mut pick = |range| text.rng.i64(range);
    let (first, distance, row, column) = match pick(0..6) {
        0 | 1 => ("mul.lo.s64 %rd6, %rd2, %stride;", "1", true, false),
        2 | 3 => ("mov.u64 %rd6, %rd5;", "%bound", false, true),
        4 => ("mad.lo.s64 %rd6, %rd2, %stride, 1;", "1", false, false),
        _ => ("mul.lo.s64 %rd6, %rd2, %stride;", "2", false, false),
    };
    let (start, step, relation, last) = match pick(0..6) {
        0 => ("0", 1, "lt.u64", "%stride"),
        1 => ("0", 1, "ne.s64", "%stride"),
        2 => ("%stride", -1, "gt.s64", "0"),
        _ => ("%stride", -1, "ne.s64", "0"),
    };
    // Sometimes the counter starts too late, or ends too early.
    let late = if pick(0..6) == 0 { pick(-1..2) } else { 0 };
    let mut steps = [
        format!("add.s64 %rd6, %rd6, {distance};"),
        format!("add.s64 %rd9, %rd9, {step};"),
    ];
    if text.rng.bool() {
        steps.swap(0, 1);
    }
    text.line("mov.u32 %acc, 7;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;");
    text.line("mov.u32 %r3, %nctaid.x;\nmov.u32 %r5, %ctaid.z;");
    text.line("cvt.u64.u32 %rd1, %r1;\ncvt.u64.u32 %rd2, %r2;");
    text.line("cvt.u64.u32 %rd3, %r3;\ncvt.u64.u32 %rd7, %r5;");
    text.line("or.b64 %rd4, %rd7, %rd1;");
    text.line("setp.ge.u64 %p1, %rd4, %bound;\n@%p1 bra $end;");
    text.line("setp.ge.u64 %p2, %rd2, %offset;\n@%p2 bra $end;");
    text.line("$rows:\nor.b64 %rd5, %rd7, %rd1;\n$columns:");
    text.line("setp.eq.s64 %p5, %stride, 0;\n@%p5 bra $skip;");
    text.line(&format!("{first}\nmov.u64 %rd9, {start};"));
    if late != 0 {
        text.line(&format!("add.s64 %rd9, %rd9, {late};"));
    }
    // Counters that miss their ends would take too long.
    text.line("mov.u32 %r9, 0;\n$terms:");
    text.check("%rd6", "%xs_len");
    let at = text.address("%xs", "%rd6");
    let value = text.op("%r", "ld.global.u32", &format!("[{at}]"));
    text.line(&format!("mad.lo.s32 %acc, %acc, 31, {value};"));
    for step in steps {
        text.line(&step);
    }
    if late != 0 {
        text.line("add.s32 %r9, %r9, 1;\nsetp.gt.u32 %p7, %r9, 9;\n@%p7 bra $skip;");
    }
    text.line(&format!(
        "setp.{relation} %p6, %rd9, {last};\n@%p6 bra $terms;"
    ));
    text.line("$skip:");
    let own = text.op("%rd", "mad.lo.s64", "%rd2, %bound, %rd5");
    let at = text.address("%out", &own);
    text.line(&format!("st.global.u32 [{at}], %acc;"));
    text.line("add.s64 %rd5, %rd5, %rd3;\nsetp.lt.u64 %p3, %rd5, %bound;\n@%p3 bra $columns;");
    text.line("add.s64 %rd2, %rd2, %rd3;\nsetp.lt.u64 %p4, %rd2, %offset;\n@%p4 bra $rows;");
    text.line("$end:\nret;");
    (text.finish(""), (row || column) && late == 0)
}

/// Runs kernels that load elements of a matrix with and without the passes, with slices and numbers by
/// `launch`. Of the kernels whose elements are within the matrix, more than one in `parts` must have an
/// entry for ordinary launches that cannot panic.
fn loads_of_matrices_change_nothing(
    kernel: fn(&mut Rng) -> (String, bool),
    launch: fn(&mut Rng) -> (u64, [u64; 4]),
    parts: u64,
) {
    let (seed, kernels) = settings(300);
    let (mut proven, mut within) = (0, 0);
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let (text, is_within) = kernel(&mut rng);
        let (plain, moved) = finished(&text);
        within += u64::from(is_within);
        // The entry for ordinary launches cannot panic.
        let ordinary = moved.split_once("k$ordinary");
        let is_proven = ordinary.is_some_and(|(_, entries)| {
            let entry = entries.split("k$strided").next();
            !entry.unwrap_or_default().contains("exit")
        });
        proven += u64::from(is_within && is_proven);
        for _ in 0..8 {
            let (len, numbers) = launch(&mut rng);
            let elements: Vec<u32> = (0..len.max(1) as u32).collect();
            let slices = [&elements[..], &[1], &[1; 36]];
            // As many blocks as places in a row or column: each thread has one place.
            let run = |text: &str| run_blocks(text, 6, [6, 6, 1], slices, numbers);
            let (expected, found) = (run(&plain), run(&moved));
            assert_eq!(found, expected, "seed {seed}: {numbers:?}\n{text}\n{moved}");
        }
    }
    assert!(
        proven > within / parts || seed.is_some(),
        "{proven} proven of {within}"
    );
}

#[test]
fn terms_of_products_of_matrices_change_nothing() {
    let launch = |rng: &mut Rng| {
        let (width, height, terms) = (rng.u64(..7), rng.u64(..7), rng.u64(..7));
        let len = match rng.u32(..4) {
            0 => rng.u64(..40),
            1 => height * terms,
            2 => width * terms,
            _ => width.max(height) * terms,
        };
        (len, [0, width, terms, height])
    };
    loads_of_matrices_change_nothing(terms, launch, 3);
}

/// Returns a kernel that loads from several rows of a matrix, and whether all of these elements are
/// within the matrix. Like LLVM, the inner loop adds the width instead of multiplying again.
fn window(rng: &mut Rng) -> (String, bool) {
    let mut text = Text::new(rng);
    let mut pick = |range| text.rng.i64(range);
    let (above, below) = (pick(0..3), pick(0..4));
    let (left, right) = (pick(0..3), pick(0..3));
    let (row, column, rows) = (pick(-2..2), pick(-2..3), pick(1..5));
    let is_within = row >= -above && row + rows - 1 <= below && column >= -left && column <= right;
    let (first, step, relation, last) = match text.rng.u32(..4) {
        0 => (rows, -1, "ne.s32", 0),
        1 => (0, 1, "lt.u32", rows),
        2 => (0, 1, "ne.s32", rows),
        _ => (7, -1, "ne.s32", 7 - rows),
    };
    // The counter changes before or after the register with the column.
    let mut steps = [
        "add.s64 %rd6, %rd6, %bound;".to_owned(),
        format!("add.s32 %r9, %r9, {step};"),
    ];
    if text.rng.bool() {
        steps.swap(0, 1);
    }
    text.line("mov.u32 %acc, 7;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;");
    text.line("mov.u32 %r3, %nctaid.x;\nmov.u32 %r4, %nctaid.x;");
    text.line("cvt.u64.u32 %rd1, %r1;\ncvt.u64.u32 %rd2, %r2;");
    text.line("cvt.u64.u32 %rd3, %r3;\ncvt.u64.u32 %rd4, %r4;");
    text.line("setp.ge.u64 %p1, %rd1, %bound;\n@%p1 bra $end;");
    text.line("setp.ge.u64 %p2, %rd2, %offset;\n@%p2 bra $end;");
    text.line("$rows:\nmov.u64 %rd5, %rd1;\n$columns:");
    for (place, extent, before, after) in [
        ("%rd5", "%bound", left, right),
        ("%rd2", "%offset", above, below),
    ] {
        let p = text.op("%p", "setp.lt.u64", &format!("{place}, {before}"));
        text.line(&format!("@{p} bra $skip;"));
        let end = text.op("%rd", "add.s64", &format!("{place}, {after}"));
        let p = text.op("%p", "setp.ge.u64", &format!("{end}, {extent}"));
        text.line(&format!("@{p} bra $skip;"));
    }
    text.line(&format!(
        "mov.u64 %rd6, %rd5;\nmov.u32 %r9, {first};\n$window:"
    ));
    let index = text.op("%rd", "add.s64", &format!("%rd2, {row}"));
    let index = text.op("%rd", "mul.lo.s64", &format!("{index}, %bound"));
    let index = text.op("%rd", "add.s64", &format!("{index}, {column}"));
    let index = text.op("%rd", "add.s64", &format!("{index}, %rd6"));
    text.check(&index, "%xs_len");
    let at = text.address("%xs", &index);
    let value = text.op("%r", "ld.global.u32", &format!("[{at}]"));
    text.line(&format!("mad.lo.s32 %acc, %acc, 31, {value};"));
    for step in steps {
        text.line(&step);
    }
    text.line(&format!(
        "setp.{relation} %p5, %r9, {last};\n@%p5 bra $window;"
    ));
    text.line("$skip:");
    let own = text.op("%rd", "mad.lo.s64", "%rd2, %bound, %rd5");
    let at = text.address("%out", &own);
    text.line(&format!("st.global.u32 [{at}], %acc;"));
    text.line("add.s64 %rd5, %rd5, %rd3;\nsetp.lt.u64 %p3, %rd5, %bound;\n@%p3 bra $columns;");
    text.line("add.s64 %rd2, %rd2, %rd4;\nsetp.lt.u64 %p4, %rd2, %offset;\n@%p4 bra $rows;");
    text.line("$end:\nret;");
    (text.finish(""), is_within)
}

/// Returns a kernel that loads a neighbor of each element of a matrix whose index it computes before
/// it compares the neighbor's coordinates, as LLVM does, and whether all neighbors are within the
/// matrix. The integers have 64 bits, or 32 bits with sign.
fn neighbor(rng: &mut Rng) -> (String, bool) {
    let mut text = Text::new(rng);
    let mut pick = |range| text.rng.i64(range);
    let (row, column) = (pick(-2..3), pick(-2..3));
    // Sometimes the kernel compares others.
    let is_within = pick(0..4) > 0;
    let (tested_row, tested_column) = match is_within {
        true => (row, column),
        false => (pick(-2..3), pick(-2..3)),
    };
    let is_wide = text.rng.bool();
    let (register, ty) = match is_wide {
        true => ("%rd", "s64"),
        false => ("%r", "s32"),
    };
    text.line("mov.u32 %acc, 7;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;");
    text.line("mov.u32 %r3, %nctaid.x;\nmov.u32 %r4, %nctaid.x;");
    text.line("cvt.u64.u32 %rd1, %r1;\ncvt.u64.u32 %rd2, %r2;");
    text.line("cvt.u64.u32 %rd3, %r3;\ncvt.u64.u32 %rd4, %r4;");
    text.line("setp.ge.u64 %p1, %rd1, %bound;\n@%p1 bra $end;");
    text.line("setp.ge.u64 %p2, %rd2, %offset;\n@%p2 bra $end;");
    text.line("$rows:\nmov.u64 %rd5, %rd1;\n$columns:");
    let [x, y, width, height] = ["%rd5", "%rd2", "%bound", "%offset"].map(|name| match is_wide {
        true => name.to_owned(),
        false => text.op("%r", "cvt.u32.u64", name),
    });
    let mut add = |a: &str, b: &str| text.op(register, &format!("add.{ty}"), &format!("{a}, {b}"));
    let (own_row, own_column) = (add(&y, &row.to_string()), add(&x, &column.to_string()));
    let tested = [
        (add(&y, &tested_row.to_string()), &height),
        (add(&x, &tested_column.to_string()), &width),
    ];
    let index = match is_wide || text.rng.bool() {
        true => {
            let operands = format!("{own_row}, {width}");
            let start = text.op(register, &format!("mul.lo.{ty}"), &operands);
            text.op(
                register,
                &format!("add.{ty}"),
                &format!("{start}, {own_column}"),
            )
        }
        false => {
            let operands = format!("{own_row}, {width}, {own_column}");
            text.op(register, "mad.lo.s32", &operands)
        }
    };
    let index = match is_wide {
        true => index,
        false => text.op("%rd", "cvt.s64.s32", &index),
    };
    for (coordinate, extent) in &tested {
        let comparisons = match is_wide {
            true => vec![("setp.ge.u64", &extent[..])],
            false => vec![("setp.lt.s32", "0"), ("setp.ge.s32", extent)],
        };
        for (opcode, limit) in comparisons {
            let p = text.op("%p", opcode, &format!("{coordinate}, {limit}"));
            text.line(&format!("@{p} bra $skip;"));
        }
    }
    text.check(&index, "%xs_len");
    let at = text.address("%xs", &index);
    let value = text.op("%r", "ld.global.u32", &format!("[{at}]"));
    text.line(&format!("mad.lo.s32 %acc, %acc, 31, {value};"));
    text.line("$skip:");
    let own = text.op("%rd", "mad.lo.s64", "%rd2, %bound, %rd5");
    let at = text.address("%out", &own);
    text.line(&format!("st.global.u32 [{at}], %acc;"));
    text.line("add.s64 %rd5, %rd5, %rd3;\nsetp.lt.u64 %p3, %rd5, %bound;\n@%p3 bra $columns;");
    text.line("add.s64 %rd2, %rd2, %rd4;\nsetp.lt.u64 %p4, %rd2, %offset;\n@%p4 bra $rows;");
    text.line("$end:\nret;");
    (text.finish(""), is_within)
}

/// Returns the length of a slice with a matrix, perhaps another one, and the numbers of the launch.
fn matrix(rng: &mut Rng) -> (u64, [u64; 4]) {
    let (width, height) = (rng.u64(..7), rng.u64(..7));
    let len = match rng.u32(..4) {
        0 => rng.u64(..40),
        _ => width * height,
    };
    (len, [0, width, 0, height])
}

#[test]
fn windows_of_matrices_change_nothing() {
    loads_of_matrices_change_nothing(window, matrix, 2);
}

#[test]
fn neighbors_in_matrices_change_nothing() {
    loads_of_matrices_change_nothing(neighbor, matrix, 3);
}

/// Returns a kernel that loads the elements of a matrix between two rows and two columns that are
/// clamped to the matrix, and whether all of these elements are within it. Like libnvvm, it may compute
/// the ends of the loops again in each iteration.
fn clamped_window(rng: &mut Rng) -> (String, bool) {
    let mut text = Text::new(rng);
    let offset = *text.rng.choice(&[0, 0, 0, 0, 1, -1]).unwrap();
    let mut is_within = offset == 0;
    text.line("mov.u32 %acc, 7;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;");
    text.line("mov.u32 %r3, %nctaid.x;\nmov.u32 %r4, %nctaid.x;");
    text.line("cvt.u64.u32 %rd1, %r1;\ncvt.u64.u32 %rd2, %r2;");
    text.line("cvt.u64.u32 %rd3, %r3;\ncvt.u64.u32 %rd4, %r4;");
    text.line("setp.ge.u64 %p1, %rd1, %bound;\n@%p1 bra $end;");
    text.line("setp.ge.u64 %p2, %rd2, %offset;\n@%p2 bra $end;");
    text.line("$rows:\nmov.u64 %rd5, %rd1;\n$columns:");
    // The start and the end of a loop, and how it ends.
    let mut loops = Vec::new();
    for (place, extent) in [("%rd2", "%offset"), ("%rd5", "%bound")] {
        let (before, after) = (text.rng.u64(..3), text.rng.u64(1..4));
        let more = text.rng.choice(&[0, 0, 0, 0, 0, 1]).copied().unwrap();
        let factor = text.rng.u64(1..3);
        let ends = move |text: &mut Text<'_>| {
            let place = match factor {
                1 => place.to_owned(),
                _ => text.op("%rd", "shl.b64", &format!("{place}, 1")),
            };
            let first = match before {
                0 => place.clone(),
                _ => {
                    let p = text.op("%p", "setp.lt.u64", &format!("{place}, {before}"));
                    let less = text.op("%rd", "sub.s64", &format!("{place}, {before}"));
                    text.op("%rd", "selp.b64", &format!("0, {less}, {p}"))
                }
            };
            let sum = text.op("%rd", "add.s64", &format!("{place}, {after}"));
            let limit = match more {
                0 => extent.to_owned(),
                _ => text.op("%rd", "add.s64", &format!("{extent}, {more}")),
            };
            let end = text.op("%rd", "min.u64", &format!("{sum}, {limit}"));
            [first, end]
        };
        let [first, end] = ends(&mut text);
        // A loop that is entered with the end ends before it wraps around.
        let (skips, relation) = match text.rng.u32(..6) {
            0 => ("gt", "lt.u64"),
            1 | 2 => ("ge", "lt.u64"),
            _ => ("ge", "ne.s64"),
        };
        is_within &= more == 0 && skips == "ge";
        let p = text.op(
            "%p",
            &format!("setp.{skips}.u64"),
            &format!("{first}, {end}"),
        );
        text.line(&format!("@{p} bra $skip;"));
        loops.push((first, end, relation, ends));
    }
    let [
        (row, last_row, row_relation, row_ends),
        (column, last, relation, ends),
    ] = &loops[..]
    else {
        unreachable!("two loops");
    };
    text.line(&format!("mov.u64 %rd7, {row};\n$window_rows:"));
    let column = match text.rng.bool() {
        true => ends(&mut text)[0].clone(),
        false => column.clone(),
    };
    text.line(&format!("mov.u64 %rd8, {column};\n$window:"));
    let index = text.op("%rd", "mul.lo.s64", "%rd7, %bound");
    let index = text.op("%rd", "add.s64", &format!("{index}, {offset}"));
    let index = text.op("%rd", "add.s64", &format!("{index}, %rd8"));
    text.check(&index, "%xs_len");
    let at = text.address("%xs", &index);
    let value = text.op("%r", "ld.global.u32", &format!("[{at}]"));
    text.line(&format!("mad.lo.s32 %acc, %acc, 31, {value};"));
    for (counter, label, last, relation, ends) in [
        ("%rd8", "$window", last, relation, ends),
        ("%rd7", "$window_rows", last_row, row_relation, row_ends),
    ] {
        let last = match text.rng.bool() {
            true => ends(&mut text)[1].clone(),
            false => last.clone(),
        };
        text.line(&format!("add.s64 {counter}, {counter}, 1;"));
        let p = text.op(
            "%p",
            &format!("setp.{relation}"),
            &format!("{counter}, {last}"),
        );
        text.line(&format!("@{p} bra {label};"));
    }
    text.line("$skip:");
    let own = text.op("%rd", "mad.lo.s64", "%rd2, %bound, %rd5");
    let at = text.address("%out", &own);
    text.line(&format!("st.global.u32 [{at}], %acc;"));
    text.line("add.s64 %rd5, %rd5, %rd3;\nsetp.lt.u64 %p3, %rd5, %bound;\n@%p3 bra $columns;");
    text.line("add.s64 %rd2, %rd2, %rd4;\nsetp.lt.u64 %p4, %rd2, %offset;\n@%p4 bra $rows;");
    text.line("$end:\nret;");
    (text.finish(""), is_within)
}

#[test]
fn clamped_windows_of_matrices_change_nothing() {
    loads_of_matrices_change_nothing(clamped_window, matrix, 4);
}

impl Text<'_> {
    /// Emits cheap instructions on loaded values and on each other's results. Returns the integers
    /// and the predicates.
    fn invariants(&mut self) -> (Vec<String>, Vec<String>) {
        let mut words: Vec<String> = (0..3)
            .map(|k| self.op("%r", "ld.global.u32", &format!("[%xs+{}]", 4 * k)))
            .collect();
        let mut predicates = Vec::new();
        for _ in 0..self.rng.u32(10..60) {
            let of = self.rng.usize(..words.len());
            let (x, y) = (
                words[of].clone(),
                words[self.rng.usize(..words.len())].clone(),
            );
            let k = self.rng.u32(..12);
            let word = match self.rng.u32(..14) {
                0 => self.op("%r", "add.s32", &format!("{x}, {y}")),
                1 => self.op("%r", "sub.s32", &format!("{x}, {k}")),
                2 => self.op("%r", "shl.b32", &format!("{x}, {k}")),
                3 => self.op("%r", "mul.lo.s32", &format!("{x}, {k}")),
                4 => self.op("%r", "not.b32", &x),
                5 => {
                    let wide = self.op("%rd", "cvt.u64.u32", &x);
                    let sum = self.op("%rd", "add.s64", &format!("{wide}, {k}"));
                    self.op("%r", "cvt.u32.u64", &sum)
                }
                6 | 7 => self.op("%r", "xor.b32", &format!("{x}, {y}")),
                8 => self.op("%r", "mov.u32", &x),
                _ => {
                    let shifted = self.op("%r", "shr.u32", &format!("{x}, {k}"));
                    let masked = self.op("%r", "and.b32", &format!("{shifted}, 1"));
                    let relation = ["eq", "ne"][self.rng.usize(..2)];
                    let to = self.rng.u32(..2);
                    let test = format!("setp.{relation}.s32");
                    predicates.push(self.op("%p", &test, &format!("{masked}, {to}")));
                    shifted
                }
            };
            words.push(word);
            if predicates.len() > 1 && self.rng.bool() {
                let [a, b] =
                    [(); 2].map(|()| predicates[self.rng.usize(..predicates.len())].clone());
                let opcode = ["and.pred", "or.pred", "xor.pred"][self.rng.usize(..3)];
                predicates.push(self.op("%p", opcode, &format!("{a}, {b}")));
            }
        }
        // Some change after others have been computed from them.
        for _ in 0..self.rng.u32(..3) {
            let changed = words[self.rng.usize(..words.len())].clone();
            self.line(&format!("add.s32 {changed}, {changed}, 1;"));
        }
        (words, predicates)
    }
}

/// Returns a kernel with a grid-stride loop over `start..bound` before which many values are
/// computed.
fn invariants(rng: &mut Rng) -> String {
    let mut text = Text::new(rng);
    text.line(
        "
        mov.u32 %acc, 7;
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %nctaid.x;
        cvt.u64.u32 %rd2, %r2;
        cvt.u64.u32 %rd1, %r1;
        add.s64 %rd4, %start, %rd1;
        setp.ge.u64 %p1, %rd4, %bound;
        @%p1 bra $end;
        ",
    );
    let (words, predicates) = text.invariants();
    text.line("$loop:\nadd.s64 %rd8, %rd4, %rd2;");
    text.access("%rd4", "%start", "%rd4");
    let inner = (text.rng.u32(..4) == 0).then(|| text.open_loop(0, "$end"));
    for number in 0..text.rng.u32(4..24) {
        let word = words[text.rng.usize(..words.len())].clone();
        if !predicates.is_empty() {
            let predicate = &predicates[text.rng.usize(..predicates.len())];
            let not = ["", "!"][text.rng.usize(..2)];
            text.line(&format!("@{not}{predicate} bra $S{number};"));
        }
        text.line(&format!("mad.lo.s32 %acc, %acc, 31, {word};"));
        if text.rng.u32(..6) == 0 {
            text.line(&format!("add.s32 {word}, {word}, %acc;"));
        }
        text.line(&format!("$S{number}:\nadd.s32 %acc, %acc, 1;"));
    }
    if let Some(inner) = inner {
        text.close_loop(0, &inner);
    }
    text.line(
        "
        setp.lt.u64 %p3, %rd8, %bound;
        mov.u64 %rd4, %rd8;
        @%p3 bra $loop;
        $end:
        st.global.u32 [%report+24], %acc;
        ret;
        ",
    );
    text.finish("")
}

#[test]
fn sunk_values_change_nothing() {
    let (seed, kernels) = settings(300);
    let mut sunk = 0;
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = invariants(&mut rng);
        let (plain, moved) = finished(&text);
        // The copies of a value that several blocks use.
        let count = |text: &str| text.matches(" setp.").count() + text.matches("\tsetp.").count();
        sunk += u64::from(count(&moved) > 2 * count(&plain) + 8);
        for _ in 0..12 {
            let mut slice = |len: usize| -> Vec<u32> { (0..len).map(|_| rng.u32(..)).collect() };
            let slices = [slice(12), slice(8), slice(12)];
            let bound = rng.u64(..9);
            let numbers = [rng.u64(..3), bound, rng.u64(..6), rng.u64(..6)];
            let slices = [&slices[0][..], &slices[1], &slices[2]];
            let expected = run(&plain, slices, numbers);
            let found = run(&moved, slices, numbers);
            assert_eq!(found, expected, "seed {seed}: {numbers:?}\n{text}\n{moved}");
        }
    }
    assert!(
        sunk > kernels / 8 || seed.is_some(),
        "values are sunk in {sunk} of {kernels}"
    );
}

/// Returns a kernel that accesses the elements around a place of a periodic grid of up to three
/// dimensions, whose extent is `stride`, and a row of a matrix with rows of that length. Returns the
/// number of dimensions if nothing precedes the conversions.
fn coordinates(rng: &mut Rng) -> (String, Option<usize>) {
    let mut text = Text::new(rng);
    text.line("mov.u32 %acc, 7;");
    text.line("setp.lt.u64 %p1, %xs_len, 3;\n@%p1 bra $end;");
    let stores = text.rng.u32(..6) == 0;
    if stores {
        text.line("st.global.u32 [%report+24], %acc;");
    }
    let dimensions = text.rng.usize(1..4);
    let loaded: Vec<String> = (0..dimensions)
        .map(|k| text.op("%f", "ld.global.f32", &format!("[%xs+{}]", 4 * k)))
        .collect();
    let mut choices = Vec::new();
    for float in loaded {
        let converted = text.op("%rd", "cvt.rzi.u64.f32", &float);
        let low = match text.rng.bool() {
            true => {
                let nan = text.op("%p", "setp.nan.f32", &format!("{float}, {float}"));
                text.op("%rd", "selp.b64", &format!("0, {converted}, {nan}"))
            }
            false => {
                let number = text.op("%p", "setp.num.f32", &format!("{float}, {float}"));
                text.op("%rd", "selp.b64", &format!("{converted}, 0, {number}"))
            }
        };
        // Perhaps one too far.
        let step = 1 + u32::from(text.rng.u32(..6) == 0);
        let next = text.op("%rd", "add.s64", &format!("{low}, {step}"));
        let high = match text.rng.u32(..4) {
            // `low + 1 < side`, which holds for the largest index.
            3 => {
                let (relation, not) = [("ge.u64", ""), ("lt.u64", "!")][text.rng.usize(..2)];
                let compared = format!("{next}, %stride");
                let p = text.op("%p", &format!("setp.{relation}"), &compared);
                text.line(&format!("@{not}{p} bra $end;"));
                next
            }
            // `(low + number).saturating_sub(1)`, perhaps limited.
            2 => {
                let number = text.rng.u32(1..4);
                let zero = text.op("%p", "setp.eq.s64", &format!("{low}, -{number}"));
                let next = text.op("%rd", "add.s64", &format!("{low}, {}", number - 1));
                let high = text.op("%rd", "selp.b64", &format!("0, {next}, {zero}"));
                match text.rng.bool() {
                    true => text.op("%rd", "min.u64", &format!("{high}, %stride")),
                    false => high,
                }
            }
            1 => {
                let last = text.op("%p", "setp.eq.s64", &format!("{next}, %stride"));
                text.op("%rd", "selp.b64", &format!("0, {next}, {last}"))
            }
            _ => {
                let inside = text.op("%p", "setp.ne.s64", &format!("%stride, {next}"));
                text.op("%rd", "selp.b64", &format!("{next}, 0, {inside}"))
            }
        };
        choices.push([low, high]);
    }
    for _ in 0..text.rng.u32(1..5) {
        let mut index = choices[0][text.rng.usize(..2)].clone();
        for choice in &choices[1..] {
            let scaled = text.op("%rd", "mul.lo.s64", &format!("{index}, %stride"));
            let next = &choice[text.rng.usize(..2)];
            index = text.op("%rd", "add.s64", &format!("{scaled}, {next}"));
        }
        if text.rng.u32(..4) == 0 {
            // The start of the row, and its rest.
            let row = text.op("%rd", "mul.lo.s64", &format!("{index}, %stride"));
            text.check_at_most(&row, "%out_len");
            let rest = text.op("%rd", "sub.s64", &format!("%out_len, {row}"));
            text.check_at_most("%stride", &rest);
            let empty = text.op("%p", "setp.eq.s64", "%stride, 0");
            text.line(&format!("@{empty} bra $end;"));
            index = row;
        } else {
            text.check(&index, "%out_len");
        }
        let at = text.address("%out", &index);
        let old = text.register("%r");
        match text.rng.u32(..3) {
            0 => text.line(&format!("st.global.u32 [{at}], %acc;")),
            1 => text.line(&format!("atom.global.add.u32 {old}, [{at}], 5;")),
            _ => {
                text.line(&format!("ld.global.u32 {old}, [{at}];"));
                text.line(&format!("mad.lo.s32 %acc, %acc, 31, {old};"));
            }
        }
    }
    text.line("st.global.u32 [%report+24], %acc;\n$end:\nret;");
    (text.finish(""), (!stores).then_some(dimensions))
}

#[test]
fn tested_coordinates_change_nothing() {
    let (seed, kernels) = settings(300);
    let (mut tested, mut possible) = (0, 0);
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let (text, dimensions) = coordinates(&mut rng);
        let (plain, moved) = finished(&text);
        possible += u64::from(dimensions.is_some());
        // Only the original converts to 64 bits. All entries may have it.
        let originals = moved.matches(".visible .entry").count();
        let converted = moved.matches("cvt.rzi.u64.f32").count();
        tested += u64::from(Some(converted) == dimensions.map(|count| count * originals));
        for _ in 0..24 {
            let side = match rng.u32(..8) {
                0 => (1 << 30) + rng.u64(..4) - 2,
                1 => (1 << 32) + rng.u64(..4) - 2,
                _ => rng.u64(..5),
            };
            let mut place = || match rng.u32(..9) {
                0 => f32::NAN,
                1 => -1.5,
                2 => f32::INFINITY,
                3 => 4_294_967_296.0,
                4 => side as f32,
                _ => rng.f32() * (side as f32 + 0.5),
            };
            let xs: Vec<u32> = (0..3).map(|_| place().to_bits()).collect();
            let len = match rng.bool() {
                true => (side as usize).min(4).pow(rng.u32(1..4)),
                false => rng.usize(1..70),
            };
            let out: Vec<u32> = (0..len.max(1)).map(|_| rng.u32(..1000)).collect();
            let slices = [&xs[..], &[1], &out];
            let numbers = [0, 0, side, 0];
            let expected = run(&plain, slices, numbers);
            let found = run(&moved, slices, numbers);
            assert_eq!(found, expected, "seed {seed}: {numbers:?}\n{text}\n{moved}");
        }
    }
    assert!(
        tested * 2 > possible || seed.is_some(),
        "{tested} of {possible} are tested"
    );
}

/// Returns a kernel that accesses the elements around a converted float, limited to a matrix with
/// `stride` columns.
fn clamped(rng: &mut Rng) -> String {
    let mut text = Text::new(rng);
    text.line("mov.u32 %acc, 7;");
    text.line("setp.lt.u64 %p1, %xs_len, 3;\n@%p1 bra $end;");
    let last = text.op("%rd", "add.s64", "%stride, -1");
    let float = text.op("%f", "ld.global.f32", "[%xs]");
    let (ty, float) = match text.rng.bool() {
        true => ("f32", float),
        false => ("f64", text.op("%fd", "cvt.f64.f32", &float)),
    };
    let converted = text.op("%rd", &format!("cvt.rzi.s64.{ty}"), &float);
    let same = format!("{float}, {float}");
    let place = match text.rng.bool() {
        true => {
            let nan = text.op("%p", &format!("setp.nan.{ty}"), &same);
            text.op("%rd", "selp.b64", &format!("0, {converted}, {nan}"))
        }
        false => {
            let number = text.op("%p", &format!("setp.num.{ty}"), &same);
            text.op("%rd", "selp.b64", &format!("{converted}, 0, {number}"))
        }
    };
    if text.rng.u32(..8) == 0 {
        // All bits count.
        let high = text.op("%rd", "shr.u64", &format!("{place}, 32"));
        let high = text.op("%r", "cvt.u32.u64", &high);
        text.line(&format!("mad.lo.s32 %acc, %acc, 31, {high};"));
    }
    let mut first = None;
    for number in 0..text.rng.u32(1..5) {
        let mut moved = place.clone();
        for _ in 0..text.rng.u32(..3) {
            let by = match text.rng.u32(..8) {
                0 => text.rng.i32(-700..700),
                _ => text.rng.i32(-3..4),
            };
            let opcode = ["add.s64", "sub.s64"][text.rng.usize(..2)];
            moved = text.op("%rd", opcode, &format!("{moved}, {by}"));
        }
        let skip = format!("$S{number}");
        let index = match text.rng.u32(..5) {
            0 => {
                let least = text.op("%rd", "min.s64", &format!("{moved}, {last}"));
                text.op("%rd", "max.s64", &format!("{least}, 0"))
            }
            1 => {
                let most = text.op("%rd", "max.s64", &format!("0, {moved}"));
                text.op("%rd", "min.s64", &format!("{last}, {most}"))
            }
            2 => {
                // Only places in the row.
                let p = text.op("%p", "setp.lt.s64", &format!("{moved}, 0"));
                text.line(&format!("@{p} bra {skip};"));
                let ty = ["s64", "u64"][text.rng.usize(..2)];
                let p = text.op("%p", &format!("setp.ge.{ty}"), &format!("{moved}, %stride"));
                text.line(&format!("@{p} bra {skip};"));
                moved
            }
            _ => {
                let (compare, negative) = [
                    (("setp.lt.s64", "0"), true),
                    (("setp.gt.s64", "-1"), false),
                    (("setp.ge.s64", "0"), false),
                    (("setp.le.s64", "-1"), true),
                ][text.rng.usize(..4)];
                let (compare, with) = compare;
                let p = text.op("%p", compare, &format!("{moved}, {with}"));
                let least = text.op("%rd", "min.s64", &format!("{moved}, {last}"));
                let sides = match negative {
                    true => format!("0, {least}"),
                    false => format!("{least}, 0"),
                };
                text.op("%rd", "selp.b64", &format!("{sides}, {p}"))
            }
        };
        let index = match (&first, text.rng.bool()) {
            (Some(row), true) => {
                let row = text.op("%rd", "mul.lo.s64", &format!("{row}, %stride"));
                text.op("%rd", "add.s64", &format!("{row}, {index}"))
            }
            _ => index,
        };
        text.check(&index, "%out_len");
        let at = text.address("%out", &index);
        let old = text.op("%r", "ld.global.u32", &format!("[{at}]"));
        text.line(&format!("mad.lo.s32 %acc, %acc, 31, {old};"));
        text.line(&format!("{skip}:"));
        if number == 0 && text.rng.bool() {
            let p = text.op("%p", "setp.lt.s64", &format!("{place}, 0"));
            let least = text.op("%rd", "min.s64", &format!("{place}, {last}"));
            first = Some(text.op("%rd", "selp.b64", &format!("0, {least}, {p}")));
        }
    }
    text.line("st.global.u32 [%report+24], %acc;\n$end:\nret;");
    text.finish("")
}

#[test]
fn clamped_floats_change_nothing() {
    let (seed, kernels) = settings(300);
    let mut narrowed = 0;
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = clamped(&mut rng);
        let (plain, moved) = finished(&text);
        narrowed += u64::from(moved.contains("cvt.rzi.s32."));
        for _ in 0..24 {
            let side = match rng.u32(..8) {
                0 => (1 << 30) + rng.u64(..4) - 2,
                1 => (1 << 32) + rng.u64(..4) - 2,
                2 => u64::MAX - rng.u64(..3),
                _ => rng.u64(..9),
            };
            let place = match rng.u32(..9) {
                0 => f32::NAN,
                1 => f32::INFINITY,
                2 => f32::from_bits(0x5f00_0000 + rng.u32(..3) - 1),
                3 => f32::from_bits(0x4f00_0000 + rng.u32(..3) - 1),
                4 => f32::from_bits(0x4e80_0000 + rng.u32(..5) - 2),
                5 => side as f32,
                _ => rng.f32() * 12.0 - 2.0,
            };
            let sign = [1.0, 1.0, -1.0][rng.usize(..3)];
            let len = match rng.bool() {
                true => (side as usize).min(9).pow(2),
                false => rng.usize(1..90),
            };
            let out: Vec<u32> = (0..len.max(1)).map(|_| rng.u32(..1000)).collect();
            let slices = [&[(sign * place).to_bits(), 0, 0][..], &[1], &out];
            let numbers = [0, 0, side, 0];
            let expected = run(&plain, slices, numbers);
            let found = run(&moved, slices, numbers);
            assert_eq!(found, expected, "seed {seed}: {numbers:?}\n{text}\n{moved}");
        }
    }
    assert!(
        narrowed * 3 > kernels || seed.is_some(),
        "{narrowed} of {kernels} are narrowed"
    );
}

/// Returns a kernel with a thread per place of a matrix, all of which access several elements.
fn elements(rng: &mut Rng) -> String {
    let mut text = Text::new(rng);
    text.line("mov.u32 %acc, 7;");
    let [x, y] = ["%tid.x", "%tid.y"].map(|name| {
        let low = text.op("%r", "mov.u32", name);
        text.op("%rd", "cvt.u64.u32", &low)
    });
    for (at, extent) in [(&x, "%bound"), (&y, "%offset")] {
        let last = text.rng.u32(..4) == 0;
        let end = match last {
            true => text.op("%rd", "add.s64", &format!("{extent}, -1")),
            false => extent.to_owned(),
        };
        let p = text.op("%p", "setp.ge.u64", &format!("{at}, {end}"));
        text.line(&format!("@{p} bra $end;"));
    }
    let own = text.op("%rd", "mul.lo.s64", &format!("{y}, %bound"));
    let own = text.op("%rd", "add.s64", &format!("{own}, {x}"));
    for number in 0..text.rng.u32(1..4) {
        let skip = format!("$S{number}");
        if number > 0 && text.rng.bool() {
            text.guard(&x, &y, &skip);
        }
        for _ in 0..text.rng.u32(1..3) {
            text.access(&x, &y, &own);
        }
        text.line(&format!("{skip}:"));
    }
    text.line("red.global.add.u32 [%report+24], %acc;\n$end:\nret;");
    text.finish("")
}

#[test]
fn elements_of_places_change_nothing() {
    let (seed, kernels) = settings(300);
    let (mut changed, mut removed) = (0, 0);
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = elements(&mut rng);
        let (plain, moved) = finished(&text);
        changed += u64::from(plain != moved);
        removed += u64::from(moved.contains("setp.eq.s32") && moved.contains("setp.le.u64"));
        for _ in 0..24 {
            let mut slice = |most: usize| -> Vec<u32> {
                let len = rng.usize(1..=most);
                (0..len).map(|_| rng.u32(..1000)).collect()
            };
            let slices = [slice(80), slice(8), slice(40)];
            let extent = |rng: &mut Rng| match rng.u32(..12) {
                0 => (1 << 32) + rng.u64(..8) - 4,
                1 => (1 << 31) + rng.u64(..8) - 4,
                2 => (1 << 30) + rng.u64(..8) - 4,
                _ => rng.u64(..6),
            };
            let numbers = [0, extent(&mut rng), 1, extent(&mut rng)];
            let slices = [&slices[0][..], &slices[1], &slices[2]];
            // Several threads may not store to the same elements.
            let block = match text.contains("st.global.u32 [%rd") {
                true => [1; 3],
                false => [5, 4, 1],
            };
            let [expected, found] = [&plain, &moved].map(|text| {
                let (out, report, fault) = run_blocks(text, 1, block, slices, numbers);
                // Any of the threads that panic may report it.
                let reported = report.iter().take(3).any(|&word| word != 0);
                (out, (!reported).then_some(report), fault)
            });
            assert_eq!(found, expected, "seed {seed}: {numbers:?}\n{text}\n{moved}");
        }
    }
    assert!(
        (changed > kernels / 2 && removed > kernels / 8) || seed.is_some(),
        "{changed} changed and {removed} without checks of {kernels}"
    );
}
