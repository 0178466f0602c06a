//! Runs random kernels whose threads exchange values between barriers, before and after the passes
//! for speed: memory and panics must be equal. A panic ends the launch, so other threads of its block
//! may then have any result.
//!
//! A kernel has memory for one word per thread, in shared and in global memory. Between two
//! barriers, threads either write their own words or read those of others. Some threads exit early,
//! and some panic.

mod common;

use std::collections::HashSet;

use common::generator::{Code, Generator, PANIC, settings};
use common::{Device, Params};
use fastrand::Rng;
use ptx::{Kernels, Parameter, Purpose, Slice, stack};
use ptx_emulator::{LaunchConfig, launch};

/// The name of a panic of `cuda_std`, which the passes know.
const PANIC_INDEX: &str = "__cuda_std_panic_index";

/// The parameters: a slice, the words of all threads, the reports, and two numbers.
const PARAMS: [&str; 6] = ["xs", "xs_len", "words", "report", "n", "m"];

/// The number of blocks.
const BLOCKS: u32 = 2;

/// What threads do with shared or global memory between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing so far.
    Any,
    Write,
    Read,
    /// Atomic additions to the words of others.
    Add,
}

/// The text of a generated kernel.
struct Text<'r> {
    rng: &'r mut Rng,
    threads: u32,
    /// The phases of shared and global memory.
    phases: [Phase; 2],
    /// Whether no thread of the block can have exited.
    all: bool,
    code: Code,
}

impl Generator for Text<'_> {
    fn code(&mut self) -> &mut Code {
        &mut self.code
    }
}

impl Text<'_> {
    fn label(&mut self) -> String {
        self.register("$L")
    }

    fn add(&mut self, value: &str) {
        self.line(&format!("mad.lo.s32 %acc, %acc, 31, {value};"));
    }

    /// Emits a barrier, or several.
    fn barrier(&mut self) {
        for _ in 0..1 + self.rng.u32(..4) / 3 {
            let before = std::mem::replace(&mut self.phases, [Phase::Any; 2]);
            match self.rng.u32(..8) {
                0 => self.line("barrier.sync 1;"),
                3 => self.meet(before),
                1 => self.arrive(),
                2 => self.relay(),
                _ => self.line("bar.sync 0;"),
            }
        }
    }

    /// Emits a barrier that counts the threads, and code for blocks in which some have exited.
    fn arrive(&mut self) {
        let (count, p, id) = (self.register("%r"), self.register("%p"), self.rng.u32(..2));
        let one = self.op("%r", "mov.b32", "1");
        self.line(&format!(
            "{{\n.reg .pred %q;\nsetp.ne.b32 %q, {one}, 0;
            barrier.red.popc.u32 {count}, {id}, %q;\n}}"
        ));
        let (others, on) = (self.label(), self.label());
        let threads = self.threads;
        match self.rng.bool() {
            true => self.line(&format!(
                "setp.ne.s32 {p}, {count}, {threads};\n@{p} bra {others};"
            )),
            false => {
                self.line(&format!(
                    "setp.eq.s32 {p}, {count}, {threads};\n@!{p} bra {others};"
                ));
            }
        }
        self.access();
        self.line(&format!("bra.uni {on};\n{others}:"));
        // All threads take the same branch.
        self.line("bar.sync 0;\nbar.sync 0;");
        self.add(&count);
        self.line(&format!("{on}:"));
    }

    /// Emits a barrier that counts the threads of a warp, or of all other warps: the first warp waits
    /// once more before it, the others after it.
    fn relay(&mut self) {
        let (id, p) = (self.rng.u32(..2), self.register("%p"));
        let (ahead, behind, on) = (self.label(), self.label(), self.label());
        self.line(&format!("setp.lt.u32 {p}, %tid, 32;\n@!{p} bra {ahead};"));
        self.count(id, "0");
        self.line(&format!("{ahead}:"));
        let count = self.count(id, "1");
        let full = self.register("%p");
        let threads = self.threads;
        self.line(&format!(
            "setp.eq.s32 {full}, {count}, {threads};\n@{full} bra {on};"
        ));
        self.add("17");
        self.line(&format!("{on}:\n@{p} bra {behind};"));
        self.count(id, "0");
        self.line(&format!("{behind}:"));
        self.phases = [Phase::Any; 2];
    }

    /// Emits a barrier that counts the threads with a number that is not zero. Returns the count.
    fn count(&mut self, id: u32, number: &str) -> String {
        let count = self.register("%r");
        let number = self.op("%r", "mov.b32", number);
        self.line(&format!(
            "{{\n.reg .pred %q;\nsetp.ne.b32 %q, {number}, 0;
            barrier.red.popc.u32 {count}, {id}, %q;\n}}"
        ));
        self.add(&count);
        count
    }

    /// Emits a ballot of all lanes.
    fn ballot(&mut self, depth: u32) {
        let (lanes, p) = (self.register("%r"), self.register("%p"));
        let one = self.op("%r", "mov.b32", "1");
        self.line(&format!(
            "{{\n.reg .pred %q;\nsetp.ne.b32 %q, {one}, 0;
            vote.sync.ballot.b32 {lanes}, %q, -1;\n}}"
        ));
        let on = self.label();
        self.line(&format!("setp.eq.s32 {p}, {lanes}, -1;\n@{p} bra {on};"));
        self.add(&lanes);
        self.line(&format!("{on}:"));
        if depth == 0 && self.all && self.threads.is_multiple_of(32) {
            let (value, by) = (self.register("%r"), 1 << self.rng.u32(..5));
            self.line(&format!("shfl.sync.bfly.b32 {value}, %acc, {by}, 31, -1;"));
            self.add(&value);
        }
    }

    /// Emits an access of the phase, or none if it would need another phase.
    fn access(&mut self) {
        let memory = self.rng.usize(..2);
        let phase = match self.phases[memory] {
            Phase::Any => [Phase::Write, Phase::Read, Phase::Add][self.rng.usize(..3)],
            phase => phase,
        };
        self.phases[memory] = phase;
        let (base, space) = [("%tile", "shared"), ("%words", "global")][memory];
        let skip = self.label();
        let guarded = self.rng.u32(..3) == 0;
        if guarded {
            let bit = self.rng.u32(..6);
            let bit = self.op("%r", "and.b32", &format!("%tid, {}", 1 << bit));
            let p = self.op("%p", "setp.ne.s32", &format!("{bit}, 0"));
            self.line(&format!("@{p} bra {skip};"));
        }
        let own = self.op("%rd", "mad.wide.u32", &format!("%tid, 4, {base}"));
        match phase {
            Phase::Write => self.line(&format!("st.{space}.u32 [{own}], %acc;")),
            Phase::Add => {
                let other = self.other(base);
                match self.rng.bool() {
                    true => self.line(&format!("red.{space}.add.u32 [{other}], %acc;")),
                    false => {
                        let unused = self.register("%r");
                        self.line(&format!("atom.{space}.add.u32 {unused}, [{other}], %acc;"));
                    }
                }
            }
            _ => {
                let other = self.other(base);
                let value = self.op("%r", &format!("ld.{space}.u32"), &format!("[{other}]"));
                self.add(&value);
            }
        }
        self.line(&format!("{skip}:"));
    }

    /// Emits the address of another thread's word.
    fn other(&mut self, base: &str) -> String {
        let by = self.rng.u32(1..40);
        let other = self.op("%r", "add.s32", &format!("%tid, {by}"));
        let other = self.op("%r", "rem.u32", &format!("{other}, {}", self.threads));
        self.op("%rd", "mad.wide.u32", &format!("{other}, 4, {base}"))
    }

    /// Emits two instructions at which the first warp and the others wait for each other, with
    /// accesses before and after them.
    fn meet(&mut self, before: [Phase; 2]) {
        let (p, other, on) = (self.register("%p"), self.label(), self.label());
        self.line(&format!("setp.lt.u32 {p}, %tid, 32;\n@{p} bra {other};"));
        let id = self.rng.u32(..2);
        let mut phases = [before, [Phase::Any; 2]];
        for end in [format!("bra.uni {on};\n{other}:"), format!("{on}:")] {
            for (number, own) in phases.iter_mut().enumerate() {
                if number == 1 {
                    self.line(&format!("barrier.sync {id};"));
                }
                // Both sides are in the same phase.
                self.phases = *own;
                if self.rng.bool() {
                    self.access();
                }
                *own = self.phases;
            }
            self.line(&end);
        }
    }

    /// Emits a load of the slice, with a check.
    fn load(&mut self) {
        let index = match self.rng.u32(..4) {
            0 => "%place".to_owned(),
            1 => {
                let by = self.rng.u32(..3);
                self.op("%rd", "add.s64", &format!("%place, {by}"))
            }
            2 => self.op("%rd", "min.u64", "%place, %n"),
            _ => self.op("%rd", "shr.u64", "%place, 1"),
        };
        let p = self.op("%p", "setp.lt.u64", &format!("{index}, %xs_len"));
        if self.rng.bool() {
            let skip = self.label();
            self.line(&format!("@!{p} bra {skip};"));
            self.element(&index);
            self.line(&format!("{skip}:"));
            return;
        }
        self.all = false;
        self.code.count += 1;
        let n = self.code.count;
        self.line(&format!("@!{p} bra $P{n};"));
        self.add_panic(PANIC_INDEX, "%own_report", n, &index, "%xs_len");
        self.element(&index);
    }

    fn element(&mut self, index: &str) {
        let bytes = self.op("%rd", "shl.b64", &format!("{index}, 2"));
        let at = self.op("%rd", "add.s64", &format!("%xs, {bytes}"));
        let load = ["ld.global.nc.u32", "ld.global.u32"][self.rng.usize(..2)];
        let value = self.op("%r", load, &format!("[{at}]"));
        self.add(&value);
    }

    /// Emits a predicate that is the same in all threads of a block.
    fn uniform(&mut self) -> String {
        match self.rng.u32(..4) {
            0 => self.op("%p", "setp.eq.s32", "%block, 0"),
            1 => self.op("%p", "setp.lt.u64", "%n, %m"),
            2 => self.op("%p", "setp.gt.u64", "%n, 4"),
            _ => {
                let wide = self.op("%rd", "cvt.u64.u32", "%block");
                self.op("%p", "setp.lt.u64", &format!("{wide}, %m"))
            }
        }
    }

    /// Emits a predicate that is the same in all lanes of a warp, or almost.
    fn warp(&mut self) -> String {
        let number = match self.rng.u32(..7) {
            0 => "%tid".to_owned(),
            1 => self.op("%r", "or.b32", "%tid, 64"),
            2 => {
                let start = self.op("%r", "shl.b32", "%block, 5");
                self.op("%r", "add.s32", &format!("{start}, %tid"))
            }
            3 => {
                let by = [32, 64, 16, 1][self.rng.usize(..4)];
                self.op("%r", "add.s32", &format!("%tid, {by}"))
            }
            4 => self.op("%r", "xor.b32", "%tid, 7"),
            5 => self.op("%r", "sub.s32", "%tid, 32"),
            _ => {
                let threads = self.threads;
                self.op("%r", "mad.lo.s32", &format!("%block, {threads}, %tid"))
            }
        };
        let least = self.rng.u32(..5);
        let (warp, least) = match self.rng.u32(..8) {
            0 => (self.op("%r", "shr.u32", &format!("{number}, 4")), 2 * least),
            1 => (
                self.op("%r", "and.b32", &format!("{number}, -32")),
                32 * least,
            ),
            2 => (
                self.op("%r", "and.b32", &format!("{number}, 112")),
                16 * least,
            ),
            _ => (self.op("%r", "shr.u32", &format!("{number}, 5")), least),
        };
        self.op("%p", "setp.ge.u32", &format!("{warp}, {least}"))
    }

    /// Emits a branch for some threads, which all take the same of two ways, of which at least one
    /// leaves the kernel.
    fn leave_in_two_ways(&mut self, p: &str) {
        let (stay, other) = (self.label(), self.label());
        self.line(&format!("@!{p} bra {stay};"));
        let way = self.uniform();
        self.line(&format!("@{way} bra {other};"));
        self.add("3");
        self.line(&format!("bra.uni $end;\n{other}:"));
        self.add("5");
        if self.rng.bool() {
            self.line("bra.uni $end;");
        }
        self.line(&format!("{stay}:"));
    }

    fn statement(&mut self, depth: u32) {
        match self.rng.u32(..if depth < 2 { 17 } else { 12 }) {
            0..4 => self.barrier(),
            4..8 => self.access(),
            8 | 9 => self.load(),
            10 => self.ballot(depth),
            // Some threads leave.
            11 => {
                let least = self.rng.u32(1..self.threads + 20);
                let p = match self.rng.u32(..4) {
                    0 => self.op("%p", "setp.ge.u32", &format!("%tid, {least}")),
                    1 => self.op("%p", "setp.ge.u64", "%place, %n"),
                    _ => self.warp(),
                };
                self.all = false;
                match self.rng.u32(..3) {
                    0 => self.leave_in_two_ways(&p),
                    _ => self.line(&format!("@{p} bra $end;")),
                }
            }
            12 | 13 => {
                let (p, skip) = (self.uniform(), self.label());
                self.line(&format!("@{p} bra {skip};"));
                let before = self.phases;
                self.statements(depth + 1);
                if self.rng.bool() {
                    // The whole block leaves.
                    self.line("bra.uni $end;");
                    self.phases = before;
                } else if self.phases != before {
                    self.line("bar.sync 0;");
                    self.phases = before;
                }
                self.line(&format!("{skip}:"));
            }
            14 | 15 => {
                let (p, other, join) = (self.uniform(), self.label(), self.label());
                self.line(&format!("@{p} bra {other};"));
                let before = self.phases;
                self.statements(depth + 1);
                self.line(&format!("bar.sync 0;\nbra.uni {join};\n{other}:"));
                self.phases = before;
                self.statements(depth + 1);
                self.line(&format!("bar.sync 0;\n{join}:"));
                self.phases = [Phase::Any; 2];
            }
            _ => {
                let (counter, head) = (self.op("%r", "mov.b32", "0"), self.label());
                self.line("bar.sync 0;");
                self.line(&format!("{head}:"));
                self.phases = [Phase::Any; 2];
                self.statements(depth + 1);
                if self.phases != [Phase::Any; 2] {
                    self.line("bar.sync 0;");
                    self.phases = [Phase::Any; 2];
                }
                self.line(&format!("add.s32 {counter}, {counter}, 1;"));
                let times = self.rng.u32(1..4);
                let p = self.op("%p", "setp.lt.u32", &format!("{counter}, {times}"));
                self.line(&format!("@{p} bra {head};"));
            }
        }
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..self.rng.u32(1..8 - 3 * depth) {
            self.statement(depth);
        }
    }

    /// Returns the module.
    fn finish(self) -> String {
        let params: Vec<String> = (0..PARAMS.len())
            .map(|index| format!(".param .u64 k_param_{index}"))
            .collect();
        let registers: Vec<String> = (PARAMS.iter())
            .map(|name| format!(".reg .b64 %{name};"))
            .collect();
        let count = self.code.count + 1;
        let panic = PANIC.replacen("panic", PANIC_INDEX, 1);
        format!(
            "
                .version 8.7
                .target sm_90
                .address_size 64
                {panic}
                .visible .entry k({}) .reqntid {} {{
                    .shared .align 4 .b8 memory[4096];
                    .reg .pred %p<{count}>;
                    .reg .b32 %r<{count}>;
                    .reg .b64 %rd<{count}>;
                    .reg .b32 %acc, %tid, %block;
                    .reg .b64 %own_report, %tile, %place;
                    {}
                    {}{}
                }}
                ",
            params.join(", "),
            self.threads,
            registers.join(" "),
            self.code.body,
            self.code.panics
        )
    }
}

/// Returns a kernel and the number of threads of its blocks.
fn kernel(rng: &mut Rng) -> (String, u32) {
    let threads = [32, 64, 96, 64, 40, 70][rng.usize(..6)];
    let mut text = Text {
        rng,
        threads,
        phases: [Phase::Any; 2],
        all: true,
        code: Code {
            count: 10,
            ..Code::default()
        },
    };
    for (index, name) in PARAMS.iter().enumerate() {
        text.line(&format!("ld.param.u64 %{name}, [k_param_{index}];"));
    }
    text.line(&format!(
        "
        cvta.to.global.u64 %xs, %xs;
        cvta.to.global.u64 %words, %words;
        mov.u32 %tid, %tid.x;
        mov.u32 %block, %ctaid.x;
        mov.u64 %tile, memory;
        mad.lo.s32 %acc, %block, {threads}, %tid;
        cvt.u64.u32 %place, %acc;
        mad.lo.s64 %own_report, %place, 32, %report;
        mad.wide.u32 %words, %block, {}, %words;
        ",
        4 * threads
    ));
    text.statements(0);
    text.line("$end:\nst.global.u32 [%own_report+24], %acc;\nret;");
    (text.finish(), threads)
}

/// Returns the kernel before and after the passes.
fn finished(text: &str) -> [String; 2] {
    let sizes = [4, 5].map(|index| Parameter {
        kernel: "k".to_owned(),
        index,
    });
    let slices = [Slice {
        kernel: "k".to_owned(),
        pointer: 0,
        length: 1,
        element: 4,
    }];
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

/// Runs a kernel. Returns the words and the reports.
fn run(text: &str, threads: u32, xs: &[u32], numbers: [u64; 2]) -> Result<[Vec<u32>; 2], String> {
    let all = (threads * BLOCKS) as usize;
    let device = Device::new(text);
    let [words, report] = [all, 8 * all].map(|count| device.upload(&vec![0u32; count]));
    let slice = (device.upload(xs), xs.len() as u64);
    let mut params = (Params::new().u64(slice.0).u64(slice.1).u64(words)).u64(report);
    for number in numbers {
        params = params.u64(number);
    }
    let config = LaunchConfig {
        grid: [BLOCKS, 1, 1],
        block: [threads, 1, 1],
        params: params.bytes(),
        ..device.config.clone()
    };
    match launch(&device.program, device.entry("k", &config), &config) {
        Ok(_) => {
            Ok([(words, all), (report, 8 * all)].map(|(at, count)| device.download(at, count)))
        }
        Err(fault) => Err(format!("{:?}: {}", fault.kind, fault.message)),
    }
}

/// Returns whether all blocks have the same words and reports, or at least one panic in common.
fn is_same(
    threads: u32,
    expected: &Result<[Vec<u32>; 2], String>,
    found: &Result<[Vec<u32>; 2], String>,
) -> bool {
    let (Ok(expected), Ok(found)) = (expected, found) else {
        return expected == found;
    };
    let threads = threads as usize;
    let blocks = |[words, reports]: &[Vec<u32>; 2]| {
        let pairs = words.chunks(threads).zip(reports.chunks(8 * threads));
        let owned = pairs.map(|(words, reports)| (words.to_vec(), reports.to_vec()));
        owned.collect::<Vec<_>>()
    };
    // The reports of threads that panic, which name a place.
    let panics = |reports: &[u32]| -> HashSet<(usize, Vec<u32>)> {
        let all = reports.chunks(8).map(<[u32]>::to_vec).enumerate();
        all.filter(|(_, report)| report[4] != 0).collect()
    };
    (blocks(expected).iter().zip(&blocks(found))).all(|(expected, found)| {
        let known = panics(&expected.1);
        match known.is_empty() {
            true => expected == found,
            false => !known.is_disjoint(&panics(&found.1)),
        }
    })
}

#[test]
fn phases_of_blocks_change_nothing() {
    let (seed, kernels) = settings(300);
    let (mut copied, mut fewer) = (0, 0);
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let (text, threads) = kernel(&mut rng);
        let texts = finished(&text);
        let [before, after] = (texts.each_ref()).map(|text| text.matches("bar.sync").count());
        copied += u64::from(after > before);
        fewer += u64::from(after < before || after % 2 == 1);
        for _ in 0..6 {
            let xs: Vec<u32> = (0..rng.usize(1..260)).map(|_| rng.u32(..)).collect();
            let numbers = [(); 2].map(|()| match rng.u32(..6) {
                0 => (1 << 30) + rng.u64(..4) - 2,
                1 => u64::MAX - rng.u64(..4),
                2 => rng.u64(..200),
                _ => rng.u64(..9),
            });
            let [expected, found] = (texts.each_ref()).map(|text| run(text, threads, &xs, numbers));
            assert!(
                is_same(threads, &expected, &found),
                "seed {seed}: {numbers:?}\n{found:?}\n{expected:?}\n{text}\n{}",
                texts[1]
            );
        }
    }
    assert!(
        (copied > kernels / 8 && fewer > kernels / 8) || seed.is_some(),
        "{copied} copied and {fewer} with fewer barriers of {kernels}"
    );
}
