//! Runs random loops with barriers, loads and branches before and after the passes for speed, which
//! load what the next iteration needs: the results must be equal, and no load may access other elements
//! than before.

mod common;

use common::generator::{Code, Generator, PANIC, settings};
use common::{Device, Params};
use fastrand::Rng;
use ptx::{Kernels, Purpose, stack};

/// The number of arrays that a kernel loads from.
const ARRAYS: usize = 2;

struct Text<'r> {
    rng: &'r mut Rng,
    code: Code,
}

impl Generator for Text<'_> {
    fn code(&mut self) -> &mut Code {
        &mut self.code
    }
}

impl Text<'_> {
    /// Emits a condition, which is the same in all iterations or depends on the counter.
    fn condition(&mut self, varies: bool) -> String {
        let number = self.rng.u32(..4);
        let relation = ["lt", "ne", "gt"][self.rng.usize(..3)];
        let mut value = ["%b", "%a"][self.rng.usize(..2)].to_owned();
        if varies {
            value = "%i".to_owned();
        }
        if self.rng.bool() {
            value = self.op("%r", "xor.b32", &format!("{value}, 1"));
        }
        self.op(
            "%p",
            &format!("setp.{relation}.u32"),
            &format!("{value}, {number}"),
        )
    }

    /// Emits a load from an array and counts it.
    fn load(&mut self, array: usize, step: u32) {
        let mut at = format!("%at{array}");
        if self.rng.bool() {
            at = match self.rng.u32(..3) {
                // The offset has 64 bits, or 32 that are widened.
                0 => self.op("%d", "add.s64", &format!("%offset, %from{array}")),
                1 => {
                    let offset = self.op("%d", "mul.wide.u32", &format!("%i, {step}"));
                    self.op("%d", "add.s64", &format!("{offset}, %from{array}"))
                }
                _ => self.op("%d", "add.s64", &format!("{at}, 0")),
            };
        }
        let kind = ["global.nc", "global.nc", "global.nc", "global"][self.rng.usize(..4)];
        let value = self.op("%r", &format!("ld.{kind}.u32"), &format!("[{at}]"));
        self.line(&format!("add.s32 %count{array}, %count{array}, 1;"));
        let place = 4 + 4 * array;
        self.line(&format!("st.global.u32 [%out+{place}], %count{array};"));
        if self.rng.bool() {
            self.line("bar.sync 0;");
        }
        self.line(&format!("mad.lo.s32 %acc, %acc, 31, {value};"));
    }

    fn part(&mut self, varies: bool) {
        let n = self.rng.u32(10..1000);
        let label = self.register("$skip");
        match self.rng.u32(..6) {
            0 => {
                let p = self.condition(varies);
                self.line(&format!("@{p} bra {label};"));
                self.line(&format!("add.s32 %acc, %acc, {n};\n{label}:"));
            }
            1 => {
                let p = self.condition(varies);
                let end = ["$end", "$P1"][self.rng.usize(..2)];
                self.line(&format!("@{p} bra {end};"));
            }
            // A check on one of two ways.
            2 => {
                let (p, q) = (self.condition(false), self.condition(varies));
                self.line(&format!("@{p} bra {label};"));
                self.line(&format!("@{q} bra $P1;\n{label}:"));
            }
            3 => self.line("bar.sync 0;"),
            4 => self.line("xor.b32 %acc, %acc, %i;"),
            _ => {}
        }
    }
}

/// Returns a kernel that loads from one or two arrays, and the distance of the elements in bytes.
fn kernel(rng: &mut Rng) -> (String, u64) {
    let step = [4, 4, 8, 12][rng.usize(..4)];
    let mut text = Text {
        rng,
        code: Code::default(),
    };
    let varies = text.rng.u32(..3) == 0;
    let arrays = text.rng.usize(1..=ARRAYS);
    for array in 0..arrays {
        for _ in 0..text.rng.u32(..4) {
            text.part(varies);
        }
        text.load(array, step);
    }
    for _ in 0..text.rng.u32(..3) {
        let varies = text.rng.bool();
        text.part(varies);
    }
    text.line("bar.sync 0;");
    text.add_panic("panic", "%report", 1, "%offset", "%offset");
    let (body, panics, count) = (text.code.body, text.code.panics, text.code.count + 1);
    let text = format!(
        ".version 8.7
        .target sm_90
        .address_size 64
        {PANIC}
        .visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2,
                          .param .u64 k_param_3, .param .u32 k_param_4, .param .u32 k_param_5,
                          .param .u32 k_param_6) {{
            .reg .pred %p<{count}>, %again;
            .reg .b32 %r<{count}>, %i, %n, %a, %b, %acc, %count0, %count1;
            .reg .b64 %d<{count}>, %offset, %report, %out;
            .reg .b64 %from0, %from1, %at0, %at1;
            ld.param.u64 %from0, [k_param_0];
            ld.param.u64 %from1, [k_param_1];
            ld.param.u64 %out, [k_param_2];
            ld.param.u64 %report, [k_param_3];
            ld.param.u32 %n, [k_param_4];
            ld.param.u32 %a, [k_param_5];
            ld.param.u32 %b, [k_param_6];
            mov.u64 %at0, %from0; mov.u64 %at1, %from1; mov.u64 %offset, 0;
            mov.u32 %i, 0; mov.u32 %acc, 1; mov.u32 %count0, 0; mov.u32 %count1, 0;
            $loop:
            {body}
            add.s32 %i, %i, 1;
            add.s64 %offset, %offset, {step};
            add.s64 %at0, %at0, {step}; add.s64 %at1, %at1, {step};
            setp.lt.u32 %again, %i, %n;
            @%again bra $loop;
            $end:
            st.global.u32 [%out], %acc;
            ret;
            {panics}
        }}"
    );
    (text, step.into())
}

/// Runs a kernel with these numbers of iterations and in its conditions. Returns the results, of which
/// two are how often the kernel has loaded from each array, and the report. `counts` are the numbers of
/// elements of the arrays.
fn run(text: &str, step: u64, counts: [u32; ARRAYS], numbers: [u32; 3]) -> [Vec<u32>; 2] {
    let device = Device::new(text);
    let mut params = Params::new();
    for count in counts {
        // The last element is the last one of the allocation.
        let words = match count {
            0 => 0,
            count => step * u64::from(count - 1) / 4 + 1,
        };
        let array: Vec<u32> = (0..words as u32).map(|i| i * 77 + 5).collect();
        params = params.u64(match count {
            0 => 0,
            _ => device.upload(&array),
        });
    }
    let (out, report) = (device.upload(&[0u32; 4]), device.upload(&[0u32; 8]));
    params = params.u64(out).u64(report);
    for number in numbers {
        params = params.u32(number);
    }
    if let Err(fault) = device.launch("k", 1, 1, params) {
        panic!("{fault}\n{text}");
    }
    [device.download(out, 4), device.download(report, 8)]
}

#[test]
fn next_iterations_load_what_they_did() {
    let (seed, kernels) = settings(400);
    let mut changed = 0;
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let (text, step) = kernel(&mut rng);
        let [plain, moved] = [Purpose::Plain, Purpose::Speed(Kernels::default())].map(|purpose| {
            let options = stack::Options::default();
            ptx::finish(&text, &[], purpose, &options).unwrap().text
        });
        changed +=
            u64::from(moved.matches("ld.global").count() > text.matches("ld.global").count());
        for _ in 0..12 {
            let numbers = [rng.u32(1..6), rng.u32(..4), rng.u32(..4)];
            let [results, _] = run(&plain, step, [8; ARRAYS], numbers);
            let counts = [results[1], results[2]];
            let [expected, found] = [&plain, &moved].map(|text| run(text, step, counts, numbers));
            assert_eq!(found, expected, "seed {seed}: {numbers:?}\n{text}\n{moved}");
        }
    }
    assert!(
        changed > kernels / 8 || seed.is_some(),
        "{changed} of {kernels}"
    );
}
