//! Runs loops of loads and stores at random addresses, which may overlap, before and after the passes
//! for speed: memory and the results must be equal.

mod common;

use common::generator::settings;
use common::{Device, Params};
use fastrand::Rng;
use ptx::{Kernels, Purpose, stack};

/// The number of bytes in memory.
const BYTES: usize = 2048;

/// The number of addresses of a loop.
const ADDRESSES: usize = 3;

struct Text<'r> {
    rng: &'r mut Rng,
    body: String,
    registers: usize,
}

impl Text<'_> {
    fn line(&mut self, line: &str) {
        self.body += line;
        self.body.push('\n');
    }

    /// Emits an access at an address.
    fn access(&mut self, address: &str) {
        let [ty, size, register] = match self.rng.u32(..5) {
            0 => ["u8", "1", "%r"],
            1 => ["u16", "2", "%r"],
            2 => ["u64", "8", "%rd"],
            _ => ["u32", "4", "%r"],
        };
        let size: u64 = size.parse().unwrap();
        let offset = self.rng.u64(..16 / size) * size;
        let value = format!("{register}{}", self.rng.u32(..3));
        match self.rng.u32(..8) {
            0..4 => self.line(&format!("ld.global.{ty} {value}, [{address}+{offset}];")),
            4 if ty == "u32" => self.line(&format!("ld.global.nc.u32 %r3, [%constant+{offset}];")),
            5 if ty == "u32" => {
                self.line(&format!(
                    "st.volatile.global.u32 [{address}+{offset}], {value};"
                ));
            }
            _ => self.line(&format!("st.global.{ty} [{address}+{offset}], {value};")),
        }
    }

    /// Emits a part of an iteration.
    fn part(&mut self, current: &mut [String; ADDRESSES]) {
        let index = self.rng.usize(..ADDRESSES);
        match self.rng.u32(..13) {
            0..7 => self.access(&current[index].clone()),
            7 | 8 => {
                let steps = ["%step", "%step", "%other", "8", "-16"];
                let step = steps[self.rng.usize(..steps.len())];
                let old = std::mem::replace(&mut current[index], format!("%s{}", self.registers));
                self.registers += 1;
                let new = current[index].clone();
                match self.rng.bool() && step.starts_with('%') {
                    true => self.line(&format!("add.s64 {new}, {step}, {old};")),
                    false => self.line(&format!("add.s64 {new}, {old}, {step};")),
                }
            }
            // An index of 32 bits.
            9 => {
                let at = self.registers;
                self.registers += 1;
                let [factor, extension] = [self.rng.u32(..3), self.rng.u32(..2)];
                self.line(&format!("mad.lo.s32 %k{at}, %width, {factor}, %k;"));
                let offset = match extension {
                    0 => format!("mul.wide.s32 %o{at}, %k{at}, 8;"),
                    _ => format!("shl.b32 %k{at}, %k{at}, 3; cvt.s64.s32 %o{at}, %k{at};"),
                };
                self.line(&offset);
                let old = current[index].clone();
                current[index] = format!("%s{at}");
                self.line(&format!("add.s64 %s{at}, {old}, %o{at};"));
            }
            10 => self.line("add.s32 %r0, %r0, %r1;"),
            11 => self.line("xor.b32 %r1, %r2, %r0;"),
            _ => self.line("mad.lo.s64 %rd1, %rd0, 3, %rd2;"),
        }
    }
}

fn kernel(rng: &mut Rng) -> String {
    let mut text = Text {
        rng,
        body: String::new(),
        registers: 0,
    };
    let mut current = [0, 1, 2].map(|index| format!("%p{index}"));
    for _ in 0..text.rng.u32(4..14) {
        text.part(&mut current);
    }
    for (index, last) in current.iter().enumerate() {
        if *last != format!("%p{index}") || text.rng.u32(..4) == 0 {
            let next = ["mov.b64 %p{}, {};", "add.s64 %p{}, {}, %step;"][text.rng.usize(..2)];
            let next = next
                .replacen("{}", &index.to_string(), 1)
                .replacen("{}", last, 1);
            text.line(&next);
        }
    }
    let (body, count) = (text.body, text.registers + 1);
    format!(
        ".version 8.7
        .target sm_90
        .address_size 64
        .visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3,
                          .param .u64 p4, .param .u64 p5, .param .u64 p6, .param .u32 p7,
                          .param .u32 p8) {{
            .reg .pred %p;
            .reg .b32 %r<4>, %left, %k, %width, %k<{count}>;
            .reg .b64 %rd<4>, %p<3>, %s<{count}>, %o<{count}>, %step, %other, %constant, %out;
            ld.param.u64 %p0, [p0];
            ld.param.u64 %p1, [p1];
            ld.param.u64 %p2, [p2];
            ld.param.u64 %step, [p3];
            ld.param.u64 %other, [p4];
            ld.param.u64 %constant, [p5];
            ld.param.u64 %out, [p6];
            ld.param.u32 %left, [p7];
            ld.param.u32 %width, [p8];
            mov.b32 %k, 0;
            mov.b32 %r0, 1; mov.b32 %r1, 2; mov.b32 %r2, 3; mov.b32 %r3, 4;
            mov.b64 %rd0, 5; mov.b64 %rd1, 6; mov.b64 %rd2, 7;
            $loop:
            {body}
            sub.s32 %k, %width, %k;
            sub.s32 %left, %left, 1;
            setp.ne.s32 %p, %left, 0;
            @%p bra $loop;
            st.global.u32 [%out], %r0; st.global.u32 [%out+4], %r1;
            st.global.u32 [%out+8], %r2; st.global.u32 [%out+12], %r3;
            st.global.u64 [%out+16], %rd0; st.global.u64 [%out+24], %rd1;
            ret;
        }}"
    )
}

/// Runs a kernel. Returns memory and the results.
fn run(
    text: &str,
    at: [u64; ADDRESSES],
    steps: [u64; 2],
    [left, width]: [u32; 2],
) -> (Vec<u8>, Vec<u32>) {
    let device = Device::new(text);
    let bytes: Vec<u8> = (0..BYTES).map(|index| (index * 7) as u8).collect();
    let [memory, constant] = [(); 2].map(|()| device.upload(&bytes));
    let out = device.upload(&[0u32; 8]);
    let mut params = Params::new();
    for offset in at {
        params = params.u64(memory + offset);
    }
    for value in steps.into_iter().chain([constant, out]) {
        params = params.u64(value);
    }
    if let Err(fault) = device.launch("k", 1, 1, params.u32(left).u32(width)) {
        panic!("{fault}\n{text}");
    }
    (device.download(memory, BYTES), device.download(out, 8))
}

#[test]
fn loads_do_not_pass_stores_that_they_read() {
    let (seed, kernels) = settings(2000);
    let mut changed = 0;
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = kernel(&mut rng);
        let texts = [Purpose::Plain, Purpose::Speed(Kernels::default())].map(|purpose| {
            let options = stack::Options::default();
            ptx::finish(&text, &[], purpose, &options).unwrap().text
        });
        changed += u64::from(texts[1].matches("setp.ge.u32").count() > 0);
        for _ in 0..6 {
            // Mostly near each other.
            let near = 8 * rng.u64(124..130);
            let at = [(); ADDRESSES].map(|()| match rng.u32(..4) {
                0 => 8 * rng.u64(116..136),
                _ => near + 8 * rng.u64(..3),
            });
            let steps = [(); 2].map(|()| [8, 16, 0, u64::MAX - 7][rng.usize(..4)]);
            let left = [rng.u32(1..4), [0, 1, u32::MAX][rng.usize(..3)]];
            let [expected, found] = texts.each_ref().map(|text| run(text, at, steps, left));
            assert_eq!(
                found, expected,
                "seed {seed}: {at:?} {steps:?} {left:?}\n{text}\n{}",
                texts[1]
            );
        }
    }
    assert!(
        changed > kernels / 8 || seed.is_some(),
        "{changed} changed of {kernels}"
    );
}
