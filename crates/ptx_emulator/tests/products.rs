//! Runs kernels that compute indices of matrices from the thread's coordinates, before and after
//! `ptx::finish` demands that their products fit 32 bits: all threads must have the same indices.

mod common;

use common::generator::{PANIC, settings};
use common::{Device, Params, before_and_after, module};
use fastrand::Rng;
use ptx_emulator::{LaunchConfig, launch};

/// The number of indices that each thread stores.
const INDICES: usize = 3;

/// The maximum number of threads of a launch.
const THREADS: usize = 3 * 2 * 2 * 4 * 2 * 2;

/// The body of a kernel.
struct Text {
    lines: String,
    /// Registers with 32 and with 64 bits.
    words: Vec<String>,
    wide: Vec<String>,
}

impl Text {
    fn word(&mut self, operation: &str) {
        let name = format!("%w{}", self.words.len());
        let (opcode, operands) = operation.split_once(' ').unwrap();
        let line = format!(".reg .b32 {name};\n{opcode} {name}, {operands};\n");
        self.lines.push_str(&line);
        self.words.push(name);
    }

    fn wide(&mut self, operation: &str) {
        let name = format!("%v{}", self.wide.len());
        let (opcode, operands) = operation.split_once(' ').unwrap();
        let line = format!(".reg .b64 {name};\n{opcode} {name}, {operands};\n");
        self.lines.push_str(&line);
        self.wide.push(name);
    }
}

fn pick(rng: &mut Rng, all: &[String]) -> String {
    // The latest values more often: they are used at least once.
    let from = match rng.bool() {
        true => all.len().saturating_sub(3),
        false => 0,
    };
    all[rng.usize(from..all.len())].clone()
}

/// Returns a kernel whose threads compute indices, and load where these are small.
fn kernel(rng: &mut Rng) -> String {
    let mut text = Text {
        lines: String::new(),
        words: Vec::new(),
        wide: Vec::new(),
    };
    text.word("ld.param.u32 [k_param_4]");
    text.word("ld.param.u32 [k_param_5]");
    for dimension in ["x", "y", "z"] {
        if dimension != "z" || rng.bool() {
            text.word(&format!("mov.u32 %ctaid.{dimension}"));
            let block = text.words.last().unwrap().clone();
            text.word(&format!("mov.u32 %ntid.{dimension}"));
            let threads = text.words.last().unwrap().clone();
            text.word(&format!("mov.u32 %tid.{dimension}"));
            let thread = text.words.last().unwrap().clone();
            text.word(&format!("mad.lo.s32 {block}, {threads}, {thread}"));
        }
    }
    // Only comparisons limit a number that is loaded.
    if rng.bool() {
        text.word(&format!("ld.global.u32 [%from+{}]", 4 * rng.u32(..64)));
    }
    // A coordinate is limited by an extent, as at the border of an image.
    if rng.bool() {
        let a = pick(rng, &text.words);
        let extent = format!("%w{}", rng.u32(..2));
        text.word(&format!("max.u32 {a}, 1"));
        let limited = text.words.last().unwrap().clone();
        text.word(&format!("min.u32 {limited}, {extent}"));
        let limited = text.words.last().unwrap().clone();
        text.word(&format!("add.s32 {limited}, -1"));
    }
    for _ in 0..rng.usize(..6) {
        let [a, b] = [0, 1].map(|_| pick(rng, &text.words));
        // A remainder from a quotient.
        if rng.u32(..4) == 0 {
            let divisor = format!("%w{}", rng.u32(..2));
            text.word(&format!("div.u32 {a}, {divisor}"));
            let quotient = text.words.last().unwrap().clone();
            text.word(&format!("mul.lo.s32 {quotient}, {divisor}"));
            let multiple = text.words.last().unwrap().clone();
            text.word(&format!("sub.s32 {a}, {multiple}"));
            continue;
        }
        text.word(&match rng.u32(..12) {
            0 => format!("add.s32 {a}, {}", rng.i32(1..4)),
            1 | 2 => format!("add.s32 {a}, {}", rng.i32(-3..0)),
            3 => format!("max.s32 {a}, {}", rng.u32(..3)),
            4 => format!("max.u32 {a}, {}", rng.u32(..3)),
            5 => format!("min.s32 {a}, {b}"),
            6 => format!("min.u32 {a}, {b}"),
            7 => format!("add.s32 {a}, {b}"),
            8 => format!("shl.b32 {a}, {}", rng.u32(1..5)),
            9 => format!("or.b32 {a}, {b}"),
            10 => format!("shr.u32 {a}, {}", rng.u32(1..5)),
            _ => format!("mul.lo.s32 {a}, {b}"),
        });
    }
    text.wide("ld.param.u64 [k_param_2]");
    text.wide("ld.param.u64 [k_param_3]");
    for _ in 0..rng.usize(2..5) {
        let word = pick(rng, &text.words);
        text.wide(&match rng.u32(..3) {
            0 => format!("cvt.s64.s32 {word}"),
            _ => format!("cvt.u64.u32 {word}"),
        });
    }
    for _ in 0..rng.usize(3..9) {
        let [a, b, c] = [0, 1, 2].map(|_| pick(rng, &text.wide));
        let [x, y] = [0, 1].map(|_| pick(rng, &text.words));
        // Threads outside of the extents return.
        if rng.u32(..4) == 0 {
            let extent = rng.u32(..2);
            text.lines.push_str(&format!(
                "setp.ge.u64 %p0, {a}, %v{extent};\n@%p0 bra $end;\n"
            ));
        }
        text.wide(&match rng.u32(..20) {
            14 => format!("shr.s64 {a}, {}", rng.u32(30..34)),
            15 => format!("shr.u64 {a}, {}", rng.u32(31..34)),
            16 => format!("min.s64 {a}, {b}"),
            17 => format!("and.b64 {a}, {b}"),
            18 => format!("or.b64 {a}, {b}"),
            19 => format!("mul.lo.s64 {a}, {}", rng.i64(-9..9)),
            0 => format!("add.s64 {a}, {b}"),
            1 => format!("add.s64 {a}, {}", rng.i64(-3..4)),
            2 => format!("mul.wide.u32 {x}, {y}"),
            3 => format!("mul.wide.s32 {x}, {y}"),
            4 => format!("mad.wide.u32 {x}, {y}, {a}"),
            5 => format!("min.u64 {a}, {b}"),
            6 => format!("max.s64 {a}, {}", rng.u32(..3)),
            7..=9 => format!("mul.lo.s64 {a}, {b}"),
            _ => format!("mad.lo.s64 {a}, {b}, {c}"),
        });
    }
    let mut loads = String::new();
    for index in 0..INDICES {
        let name = pick(rng, &text.wide);
        loads.push_str(&format!(
            "
        st.global.u64 [%own+{}], {name};
        setp.ge.u64 %p0, {name}, 64;
        @%p0 bra $after{index};
        shl.b64 %offset{index}, {name}, 2;
        add.s64 %at{index}, %from, %offset{index};
        ld.global.u32 %value, [%at{index}];
        st.global.u32 [%own+{}], %value;
    $after{index}:",
            index * 16,
            index * 16 + 8
        ));
    }
    let lines = text.lines;
    let body = format!(
        "
        .reg .b32 %tx, %ty, %tz, %nx, %ny, %nz, %bx, %by, %bz, %gx, %gy, %all, %value;
        .reg .b64 %from, %to, %own, %place, %at<3>, %offset<3>;
        ld.param.u64 %from, [k_param_0];
        ld.param.u64 %to, [k_param_1];
        mov.u32 %bx, %ctaid.x;
        mov.u32 %by, %ctaid.y;
        mov.u32 %bz, %ctaid.z;
        mov.u32 %gx, %nctaid.x;
        mov.u32 %gy, %nctaid.y;
        mov.u32 %tx, %tid.x;
        mov.u32 %ty, %tid.y;
        mov.u32 %tz, %tid.z;
        mov.u32 %nx, %ntid.x;
        mov.u32 %ny, %ntid.y;
        mov.u32 %nz, %ntid.z;
        mad.lo.s32 %all, %bz, %gy, %by;
        mad.lo.s32 %all, %all, %gx, %bx;
        mad.lo.s32 %all, %all, %nz, %tz;
        mad.lo.s32 %all, %all, %ny, %ty;
        mad.lo.s32 %all, %all, %nx, %tx;
        mul.wide.u32 %place, %all, {};
        add.s64 %own, %to, %place;
        {lines}{loads}
    $end:
        ret;",
        16 * INDICES
    );
    let params = ".param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2, \
                  .param .u64 k_param_3, .param .u32 k_param_4, .param .u32 k_param_5";
    let mut text = module("", params, &body);
    while !common::has_ordinary_entries(&text) {
        text.push('\n');
    }
    text
}

#[test]
fn products_of_coordinates_fit_in_ordinary_launches() {
    let (seed, count) = settings(300);
    let mut ordinary = 0;
    for seed in seed.map_or(0..count, |seed: u64| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = kernel(&mut rng);
        let [plain, fast] = before_and_after(&text, &[], &[2, 3]);
        let devices = [&plain, &fast].map(|text| Device::new(text));
        for _ in 0..4 {
            let wide = |rng: &mut Rng| match rng.u32(..9) {
                0 => (1 << 30) - rng.u64(..3),
                1 => (1 << 31) - rng.u64(..3),
                2 => (1 << 32) + 2 - rng.u64(..5),
                3 => u64::MAX - rng.u64(..3),
                4 => rng.u64(20_000..50_000),
                _ => rng.u64(..12),
            };
            let sizes = [wide(&mut rng), wide(&mut rng)];
            // Divisions by zero have any result.
            let least = u32::from(text.contains("div."));
            let words = [0, 1].map(|_| match rng.u32(..4) {
                0 => (wide(&mut rng) as u32).max(least),
                _ => rng.u32(least..9),
            });
            let grid = [rng.u32(1..4), rng.u32(1..3), rng.u32(1..3)];
            let block = [rng.u32(1..5), rng.u32(1..3), rng.u32(1..3)];
            let xs: Vec<u32> = (0..64).map(|i| i * i + 1).collect();
            let mut entries = Vec::new();
            let results = devices.each_ref().map(|device| {
                let to = device.upload(&[u64::MAX; 2 * INDICES * THREADS]);
                let params = Params::new().u64(device.upload(&xs)).u64(to);
                let params = params
                    .u64(sizes[0])
                    .u64(sizes[1])
                    .u32(words[0])
                    .u32(words[1]);
                let config = LaunchConfig {
                    grid,
                    block,
                    params: params.bytes(),
                    ..device.config.clone()
                };
                let entry = device.entry("k", &config);
                entries.push(entry != device.program.kernel("k").unwrap());
                launch(&device.program, entry, &config).unwrap();
                device.download::<u64>(to, 2 * INDICES * THREADS)
            });
            ordinary += u64::from(entries[1]);
            assert!(
                results[0] == results[1],
                "seed {seed}: {grid:?} {block:?} {sizes:?} {words:?}\n{text}\n{fast}"
            );
        }
    }
    assert!(
        ordinary > count / 4 || seed.is_some(),
        "{ordinary} of {} launches are ordinary",
        4 * count
    );
}

/// Returns the PTX of a kernel that computes an index in a loop, which ordinary launches do not have.
fn looping(index: &str) -> String {
    let body = format!(
        "
        .reg .b32 %threads, %thread, %blocks, %value;
        .reg .b64 %from, %width, %height, %count, %first, %block, %own, %i, %next, %step, %y, %index,
            %offset, %at;
        ld.param.u64 %from, [k_param_0];
        ld.param.u64 %width, [k_param_1];
        ld.param.u64 %height, [k_param_2];
        ld.param.u64 %count, [k_param_3];
        mov.u32 %threads, %ctaid.x;
        mul.wide.u32 %block, %threads, 256;
        mov.u32 %thread, %tid.x;
        cvt.u64.u32 %own, %thread;
        or.b64 %first, %block, %own;
        mov.u32 %blocks, %nctaid.x;
        mul.wide.u32 %step, %blocks, 256;
        setp.ge.u64 %p0, %first, %count;
        @%p0 bra $end;
        mov.u64 %i, %first;
    $loop:
        {index}
        st.global.u64 [%from+8], %index;
        setp.ge.u64 %p2, %index, 2;
        @%p2 bra $next;
        shl.b64 %offset, %index, 2;
        add.s64 %at, %from, %offset;
        ld.global.u32 %value, [%at];
        st.global.u32 [%from+16], %value;
    $next:
        add.s64 %next, %i, %step;
        setp.lt.u64 %p3, %next, %count;
        mov.u64 %i, %next;
        @%p3 bra $loop;
    $end:
        ret;"
    );
    let params = ".param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2, \
                  .param .u64 k_param_3";
    let text =
        module(PANIC, params, &body).replace("k_param_3) {", "k_param_3) .reqntid 256, 1, 1 {");
    let [sizes, partitions] = [&[1, 2][..], &[3]].map(common::parameters);
    let purpose = ptx::Purpose::Speed(ptx::Kernels {
        sizes: &sizes,
        partitions: &partitions,
        ordinary_entries: true,
        ..ptx::Kernels::default()
    });
    let fast = ptx::finish(&text, &[], purpose, &ptx::stack::Options::default());
    let fast = fast.unwrap().text;
    let start = fast.find(".entry k$ordinary").unwrap();
    assert!(!fast[start..].contains("mul.lo.s64"), "{fast}");
    fast
}

#[test]
fn products_of_the_only_iteration_fit_in_ordinary_launches() {
    // The limit of a factor is a comparison.
    let compared = "
        ld.global.u64 %y, [%from];
        setp.ge.u64 %p1, %y, %height;
        @%p1 bra $next;
        mul.lo.s64 %index, %y, %width;";
    let device = Device::new(&looping(compared));
    let run = |y: u64, width: u64, height: u64| {
        let from = device.upload(&[y, 0, 0]);
        let params = Params::new().u64(from).u64(width).u64(height).u64(1);
        let config = LaunchConfig {
            grid: [1, 1, 1],
            block: [256, 1, 1],
            params: params.bytes(),
            ..device.config.clone()
        };
        let entry = device.entry("k", &config);
        let is_ordinary = entry != device.program.kernel("k").unwrap();
        launch(&device.program, entry, &config).unwrap();
        (is_ordinary, device.download::<u64>(from, 3)[1])
    };
    assert_eq!(run(5, 7, 9), (true, 35));
    let large = 1 << 25;
    assert_eq!(run(large, large, 2 * large), (false, 1 << 50));
}

#[test]
fn ordinary_launches_have_slices_with_an_element_per_thread() {
    let checks = "
        .reg .b64 %one;
        setp.ge.u64 %p4, %i, %width;
        @%p4 bra $fail;
        setp.ge.u64 %p5, %i, %height;
        @%p5 bra $fail;
        bra.uni $pass;
    $fail: {
        .param .b64 a0, a1, a2, a3;
        mov.u64 %one, 1;
        st.param.b64 [a0], %from;
        st.param.b64 [a1], %i;
        st.param.b64 [a2], %one;
        st.param.b64 [a3], %one;
        call.uni panic, (a0, a1, a2, a3);
    }
    $pass:
        mov.u64 %index, 7;";
    let device = Device::new(&looping(checks));
    let run = |count: u64, width: u64, height: u64| {
        let from = device.upload(&[0u64; 3]);
        let params = Params::new().u64(from).u64(width).u64(height).u64(count);
        let config = LaunchConfig {
            grid: [1, 1, 1],
            block: [256, 1, 1],
            params: params.bytes(),
            ..device.config.clone()
        };
        let entry = device.entry("k", &config);
        let is_ordinary = entry != device.program.kernel("k").unwrap();
        launch(&device.program, entry, &config).unwrap();
        (is_ordinary, device.download::<u64>(from, 3)[0])
    };
    assert_eq!(run(20, 20, 20), (true, 0));
    // The first slice may be longer than the second.
    assert_eq!(run(20, 30, 25), (true, 0));
    assert_eq!(run(20, 19, 20), (false, 19));
    assert_eq!(run(20, 20, 19), (false, 19));
}
