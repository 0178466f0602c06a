//! Runs loops with several exits and loads behind nested conditions, before and after the passes for
//! speed, which let loads be in flight together: memory and the results must be equal.

mod common;

use common::generator::settings;
use common::{Device, Params};
use fastrand::Rng;
use ptx::{Kernels, Purpose, stack};
use std::fmt::Write as _;

/// The number of 32-bit words in memory.
const WORDS: usize = 64;

const THREADS: u32 = 8;

/// Returns a register that counts, or one with loaded values.
fn value(rng: &mut Rng) -> String {
    match rng.u32(..8) {
        0 => format!("%r{}", rng.u32(..4)),
        1 => "%t".to_owned(),
        _ => format!("%i{}", rng.u32(..3)),
    }
}

/// Returns instructions that load into a register: from an address that a counter determines.
fn load(rng: &mut Rng, temporary: u32) -> String {
    let space = ["global.nc", "global.nc", "global", "volatile.global"][rng.usize(..4)];
    let from = if space == "global.nc" { "%from" } else { "%to" };
    format!(
        "and.b32 %k{temporary}, {}, 63; mul.wide.u32 %a{temporary}, %k{temporary}, 4;
        add.s64 %a{temporary}, {from}, %a{temporary}; ld.{space}.u32 %r{}, [%a{temporary}];\n",
        value(rng),
        rng.u32(..4)
    )
}

/// Returns an instruction without a load.
fn compute(rng: &mut Rng) -> String {
    match rng.u32(..9) {
        0 | 1 => format!(
            "add.s32 %i{}, {}, {};\n",
            rng.u32(..3),
            value(rng),
            rng.u32(..7)
        ),
        2 => format!("sub.s32 %i{0}, %i{0}, {1};\n", rng.u32(..3), rng.u32(..4)),
        3 => format!("add.s32 %r0, %r{}, %r{};\n", rng.u32(..4), rng.u32(..4)),
        4 => format!("xor.b32 %r1, %r{}, {};\n", rng.u32(..4), value(rng)),
        5 => "st.global.u32 [%own], %r0;\n".to_owned(),
        6 => format!("st.shared.u32 [%s+{}], %r1;\n", 4 * rng.u32(..2)),
        7 => "red.shared.add.u32 [%s], %r2;\n".to_owned(),
        _ => "mad.lo.s32 %r2, %r2, 3, %r3;\n".to_owned(),
    }
}

/// Returns a comparison.
fn condition(rng: &mut Rng, predicate: u32) -> String {
    let relation = ["lt", "ge", "ne", "gt"][rng.usize(..4)];
    let sign = ["u32", "s32"][rng.usize(..2)];
    let to = ["%n".to_owned(), rng.u32(..20).to_string()][rng.usize(..2)].clone();
    format!(
        "setp.{relation}.{sign} %p{predicate}, {}, {to};\n",
        value(rng)
    )
}

struct Text<'r> {
    rng: &'r mut Rng,
    body: String,
    count: u32,
}

impl Text<'_> {
    fn next(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    /// Appends code behind nested conditions.
    fn conditional(&mut self, depth: u32) {
        let label = self.next();
        let (initial, register) = (self.rng.u32(..3), self.rng.u32(..4));
        let set = format!("mov.b32 %r{register}, {initial};\n");
        if self.rng.bool() {
            self.body += &set;
        }
        for _ in 0..self.rng.u32(1..3) {
            self.body += &condition(self.rng, label);
            let not = ["", "!"][self.rng.usize(..2)];
            writeln!(self.body, "@{not}%p{label} bra $J{label};").unwrap();
            for _ in 0..self.rng.u32(..3) {
                self.body += &match self.rng.u32(..4) {
                    0 => set.clone(),
                    _ => compute(self.rng),
                };
            }
        }
        self.body += &load(self.rng, label);
        if depth > 0 && self.rng.u32(..3) == 0 {
            self.conditional(depth - 1);
        }
        if self.rng.bool() {
            self.body += &compute(self.rng);
        }
        writeln!(self.body, "$J{label}:").unwrap();
    }
}

fn kernel(rng: &mut Rng) -> String {
    let mut text = Text {
        rng,
        body: String::new(),
        count: 0,
    };
    for _ in 0..text.rng.u32(3..9) {
        match text.rng.u32(..9) {
            0 | 1 => {
                let predicate = text.next();
                text.body += &condition(text.rng, predicate);
                let not = ["", "!"][text.rng.usize(..2)];
                writeln!(text.body, "@{not}%p{predicate} bra $end;").unwrap();
            }
            2 | 3 => {
                let temporary = text.next();
                text.body += &load(text.rng, temporary);
            }
            4 => text.conditional(1),
            _ => text.body += &compute(text.rng),
        }
    }
    let exit = match text.rng.u32(..3) {
        0 => "bra $loop;".to_owned(),
        _ => condition(text.rng, 0) + "@%p0 bra $loop;",
    };
    let Text { body, count, .. } = text;
    let count = count + 1;
    format!(
        ".version 8.7
        .target sm_90
        .address_size 64
        .visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u32 p3,
                          .param .u32 p4) {{
            .shared .align 4 .b8 shared[{shared}];
            .reg .pred %p<{count}>, %last;
            .reg .b32 %r<4>, %i<3>, %k<{count}>, %t, %n, %left, %m;
            .reg .b64 %a<{count}>, %from, %to, %out, %own, %s, %d;
            ld.param.u64 %from, [p0]; cvta.to.global.u64 %from, %from;
            ld.param.u64 %to, [p1]; cvta.to.global.u64 %to, %to;
            ld.param.u64 %out, [p2]; cvta.to.global.u64 %out, %out;
            ld.param.u32 %n, [p3];
            ld.param.u32 %left, [p4];
            mov.u32 %t, %tid.x;
            mul.wide.u32 %d, %t, 4; add.s64 %own, %to, %d;
            mul.wide.u32 %d, %t, 8; mov.u64 %s, shared; add.s64 %s, %s, %d;
            mov.b32 %r0, 0; st.shared.u32 [%s], %r0; st.shared.u32 [%s+4], %r0;
            mov.b32 %r0, 1; mov.b32 %r1, 2; mov.b32 %r2, 3; mov.b32 %r3, 4;
            mov.b32 %i0, 0; mov.b32 %i1, %n; mov.b32 %i2, %t;
            $loop:
            sub.s32 %left, %left, 1; setp.eq.s32 %last, %left, 0; @%last bra $end;
            add.s32 %i0, %i0, 1;
            {body}
            {exit}
            $end:
            mul.wide.u32 %d, %t, 32; add.s64 %out, %out, %d;
            st.global.u32 [%out], %r0; st.global.u32 [%out+4], %r1;
            st.global.u32 [%out+8], %r2; st.global.u32 [%out+12], %r3;
            st.global.u32 [%out+16], %i0; st.global.u32 [%out+20], %i1;
            ld.shared.u32 %m, [%s]; st.global.u32 [%out+24], %m;
            ld.shared.u32 %m, [%s+4]; st.global.u32 [%out+28], %m;
            ret;
        }}",
        shared = 8 * THREADS
    )
}

/// Runs a kernel. Returns memory and the results.
fn run(text: &str, n: u32, left: u32) -> (Vec<u32>, Vec<u32>) {
    let device = Device::new(text);
    let words: Vec<u32> = (0..WORDS).map(|index| index as u32 * 7 % 23).collect();
    let [from, to] = [(); 2].map(|()| device.upload(&words));
    let results = 8 * THREADS as usize;
    let out = device.upload(&vec![0u32; results]);
    let params = Params::new().u64(from).u64(to).u64(out).u32(n).u32(left);
    if let Err(fault) = device.launch("k", 1, THREADS, params) {
        panic!("{fault}\n{text}");
    }
    (device.download(to, WORDS), device.download(out, results))
}

#[test]
fn loads_in_flight_together_load_the_same() {
    let (seed, kernels) = settings(1500);
    let (mut unrolled, mut predicated) = (0, 0);
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = kernel(&mut rng);
        let texts = [Purpose::Plain, Purpose::Speed(Kernels::default())].map(|purpose| {
            let options = stack::Options::default();
            ptx::finish(&text, &[], purpose, &options).unwrap().text
        });
        let loads = |text: &str| text.matches(" ld.").count();
        let [before, after] = texts.each_ref().map(|text| loads(&text.replace('\t', " ")));
        unrolled += u64::from(after > before + 1);
        let is_predicated =
            |line: &str| line.trim().starts_with('@') && line.contains(" ld.global");
        predicated += u64::from(texts[1].lines().any(is_predicated));
        for _ in 0..4 {
            let (n, left) = (rng.u32(..16), rng.u32(1..24));
            let [expected, found] = texts.each_ref().map(|text| run(text, n, left));
            assert_eq!(
                found, expected,
                "seed {seed}: {n} {left}\n{text}\n{}",
                texts[1]
            );
        }
    }
    assert!(
        unrolled > kernels / 16 && predicated > kernels / 16 || seed.is_some(),
        "{unrolled} unrolled, {predicated} predicated of {kernels}"
    );
}
