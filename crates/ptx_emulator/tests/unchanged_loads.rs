//! Runs random kernels whose threads read and write the same memory between barriers, before and after the
//! passes for speed: memory must be equal, and no load may come before a check.

mod common;

use common::generator::{Code, Generator, PANIC, settings};
use common::{Device, Params};
use fastrand::Rng;
use ptx::{Kernels, Purpose, stack};

/// The number of threads, and that of the elements in memory.
const THREADS: u32 = 64;

struct Text<'r> {
    rng: &'r mut Rng,
    code: Code,
    /// What the threads have done since the last barrier.
    reads: bool,
    writes: bool,
}

impl Generator for Text<'_> {
    fn code(&mut self) -> &mut Code {
        &mut self.code
    }
}

impl Text<'_> {
    fn wait(&mut self) {
        let wait = [
            "bar.sync 0;",
            "bar.sync 0;",
            "bar.warp.sync -1;\nbar.sync 0;",
        ];
        let wait = wait[self.rng.usize(..wait.len())];
        self.line(wait);
        (self.reads, self.writes) = (false, false);
    }

    /// Emits a load of the element of another thread.
    fn read(&mut self) {
        if self.writes {
            self.wait();
        }
        let mut at = "%late".to_owned();
        if self.rng.u32(..3) > 0 {
            let distance = self.rng.u32(..THREADS);
            let value = ["%tid", "%i", "%tid", "%acc"][self.rng.usize(..4)];
            let index = self.op("%r", "add.s32", &format!("{value}, {distance}"));
            let index = self.op("%r", "and.b32", &format!("{index}, {}", THREADS - 1));
            let offset = self.op("%d", "mul.wide.u32", &format!("{index}, 4"));
            at = self.op("%d", "add.s64", &format!("{offset}, %mem"));
        }
        if self.rng.u32(..3) == 0 {
            self.wait();
        }
        let value = self.op("%r", "ld.global.u32", &format!("[{at}]"));
        self.line(&format!("mad.lo.s32 %acc, %acc, 31, {value};"));
        self.reads = true;
    }

    /// Emits a store to the element of the thread.
    fn write(&mut self) {
        if self.reads {
            self.wait();
        }
        let kind = [
            "st.global.u32 [%own], %acc;",
            "red.global.add.u32 [%own], 3;",
        ];
        let kind = kind[usize::from(self.rng.u32(..6) == 0)];
        self.line(kind);
        self.writes = true;
    }

    fn part(&mut self, may_write: bool) {
        let label = self.register("$skip");
        match self.rng.u32(..12) {
            0..4 => self.read(),
            4 if may_write => self.write(),
            5 => self.wait(),
            6 => {
                let n = self.rng.u32(..40);
                let p = self.op("%p", "setp.lt.u32", &format!("%tid, {n}"));
                self.line(&format!("@{p} bra {label};"));
                self.line(&format!("xor.b32 %acc, %acc, {n};\n{label}:"));
            }
            // The address of the next load is valid only behind the check.
            7 => {
                let p = self.op("%p", "setp.ge.u32", &format!("%a, {THREADS}"));
                self.line(&format!("@{p} bra $P1;"));
                let offset = self.op("%d", "mul.wide.u32", "%a, 4");
                self.line(&format!("add.s64 %late, {offset}, %mem;"));
            }
            8 => {
                self.line("st.shared.u32 [%shared], %acc;");
                self.wait();
                let value = self.op("%r", "ld.shared.u32", "[%near]");
                self.line(&format!("add.s32 %acc, %acc, {value};"));
                self.wait();
            }
            9 => self.line("add.s64 %late, %mem, 8;"),
            10 => {
                let value = self.op("%r", "shfl.sync.bfly.b32", "%acc, 1, 31, -1");
                self.line(&format!("add.s32 %acc, %acc, {value};"));
            }
            _ => self.line("mad.lo.s32 %acc, %acc, 5, %tid;"),
        }
    }
}

fn kernel(rng: &mut Rng) -> String {
    let mut text = Text {
        rng,
        code: Code::default(),
        reads: false,
        writes: false,
    };
    let may_write = text.rng.u32(..3) == 0;
    for _ in 0..text.rng.u32(..5) {
        text.part(may_write);
    }
    if text.rng.bool() {
        let repeats = text.rng.u32(1..4);
        text.line("mov.u32 %i, 0;\n$loop:");
        let was_written = text.writes;
        for _ in 0..text.rng.u32(1..7) {
            text.part(may_write);
        }
        // The next iteration may read what this one wrote, and the reverse.
        if may_write || was_written {
            text.wait();
        }
        text.line("add.s32 %i, %i, 1;");
        text.line(&format!(
            "setp.lt.u32 %again, %i, {repeats};\n@%again bra $loop;"
        ));
    }
    for _ in 0..text.rng.u32(..4) {
        text.part(may_write);
    }
    text.write();
    text.add_panic("panic", "%report", 1, "%zero", "%zero");
    let (body, panics, count) = (text.code.body, text.code.panics, text.code.count + 1);
    format!(
        ".version 8.7
        .target sm_90
        .address_size 64
        {PANIC}
        .visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u32 k_param_2)
        .reqntid {THREADS}, 1, 1
        {{
            .shared .align 4 .b8 words[{}];
            .reg .pred %p<{count}>, %again;
            .reg .b32 %r<{count}>, %tid, %i, %a, %acc, %left;
            .reg .b64 %d<{count}>, %mem, %report, %own, %late, %shared, %near, %offset, %zero;
            ld.param.u64 %mem, [k_param_0];
            ld.param.u64 %report, [k_param_1];
            ld.param.u32 %a, [k_param_2];
            cvta.to.global.u64 %mem, %mem;
            mov.u64 %zero, 0; mov.u32 %tid, %tid.x; mov.u32 %i, 0; mov.u32 %acc, %tid;
            mul.wide.u32 %offset, %tid, 4;
            add.s64 %own, %offset, %mem; add.s64 %late, %mem, 4;
            mov.u64 %shared, words; add.s64 %shared, %shared, %offset;
            xor.b32 %left, %tid, 1; mul.wide.u32 %offset, %left, 4;
            mov.u64 %near, words; add.s64 %near, %near, %offset;
            {body}
            ret;
            {panics}
        }}",
        4 * THREADS
    )
}

/// Runs a kernel, in which an index is `a`. Returns memory and the report.
fn run(text: &str, a: u32) -> [Vec<u32>; 2] {
    let device = Device::new(text);
    let elements: Vec<u32> = (0..THREADS).map(|i| i * 77 + 5).collect();
    let (memory, report) = (device.upload(&elements), device.upload(&[0u32; 6]));
    let params = Params::new().u64(memory).u64(report).u32(a);
    if let Err(fault) = device.launch("k", 1, THREADS, params) {
        panic!("{fault}\n{text}");
    }
    [
        device.download(memory, THREADS as usize),
        device.download(report, 6),
    ]
}

#[test]
fn loads_pass_barriers_only_if_nothing_was_written() {
    let (seed, kernels) = settings(400);
    let mut changed = 0;
    for seed in seed.map_or(0..kernels, |seed| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = kernel(&mut rng);
        let [plain, moved] = [Purpose::Plain, Purpose::Speed(Kernels::default())].map(|purpose| {
            let options = stack::Options::default();
            ptx::finish(&text, &[], purpose, &options).unwrap().text
        });
        let first = |text: &str, what: &str| text.find(what).unwrap_or(usize::MAX);
        changed += u64::from(
            first(&text, "ld.global") > first(&text, "bar.sync")
                && first(&moved, "ld.global") < first(&moved, "bar.sync"),
        );
        for a in [3, THREADS - 1, 1 << 20] {
            let [expected, found] = [&plain, &moved].map(|text| run(text, a));
            assert_eq!(found, expected, "seed {seed}: {a}\n{text}\n{moved}");
        }
    }
    assert!(
        changed > kernels / 16 || seed.is_some(),
        "{changed} of {kernels}"
    );
}
