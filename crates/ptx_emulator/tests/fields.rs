//! Runs random kernels that check some fields of an element before they load others, before and after
//! `ptx::finish` starts these loads together: memory must be equal.

mod common;

use common::generator::settings;
use common::{Device, Params, before_and_after, module};
use fastrand::Rng;
use ptx_emulator::{LaunchConfig, launch};

/// The number of threads, and the number of bytes that each writes.
const THREADS: usize = 16;
const OWN: usize = 64;

/// The number of registers, and of the elements that a thread passes at most.
const REGISTERS: usize = 16;
const ELEMENTS: usize = 6;

/// Returns the size of the elements, and the body of a kernel of which thread `i` reads elements from
/// number `i` on.
fn kernel(rng: &mut Rng) -> (usize, String) {
    let size = [8, 12, 16, 24, 32, 48][rng.usize(..6)];
    let mut lines = String::new();
    let (mut next, mut labels, mut elements) = (0, 0, 1);
    let mut label = || {
        labels += 1;
        labels
    };
    let is_loop = rng.bool();
    if is_loop {
        lines.push_str("$loop:\n");
    }
    for _ in 0..rng.usize(4..16) {
        let [a, b] = [0, 1].map(|_| rng.usize(..REGISTERS));
        lines.push_str(&match rng.u32(..9) {
            // A field, mostly in a register that only this load writes.
            0..4 => {
                let nc = if rng.u32(..8) == 0 { "" } else { ".nc" };
                let offset = 4 * rng.usize(..size / 4);
                if rng.u32(..8) == 0 {
                    format!("ld.global{nc}.u32 %w{a}, [%at+{offset}];\n")
                } else {
                    next += 1;
                    format!(
                        "ld.global{nc}.u32 %load{next}, [%at+{offset}];
                        mov.u32 %w{}, %load{next};\n",
                        next % REGISTERS
                    )
                }
            }
            // A check.
            4 | 5 => {
                let (good, limit) = (label(), [250, 255, 1000][rng.usize(..3)]);
                format!(
                    "setp.lt.u32 %p, %w{a}, {limit};
                    @%p bra $good{good};
                    {{
                        .param .b64 code;
                        st.param.b64 [code], %i;
                        call.uni panic, (code);
                    }}
                    $good{good}:\n"
                )
            }
            // A choice with one arm or two.
            6 => {
                let (end, other) = (label(), label());
                let arm = match rng.u32(..4) {
                    0 if elements < ELEMENTS => {
                        elements += 1;
                        format!("add.s64 %at, %at, {size};")
                    }
                    _ => format!("xor.b32 %w{b}, %w{b}, 77;"),
                };
                let both = rng.bool();
                let other_arm = match both {
                    true => format!("bra $end{end}; $other{other}: add.s32 %w{a}, %w{a}, 5;"),
                    false => String::new(),
                };
                let to = if both {
                    format!("$other{other}")
                } else {
                    format!("$end{end}")
                };
                format!(
                    "and.b32 %bit, %w{a}, 1; setp.eq.u32 %p, %bit, 0; @%p bra {to};
                    {arm} {other_arm} $end{end}:\n"
                )
            }
            7 if elements < ELEMENTS => {
                elements += 1;
                format!("add.s64 %at, %at, {size};\n")
            }
            _ => format!("and.b32 %w{a}, %w{b}, 254; st.global.u32 [%own], %w{a};\n"),
        });
    }
    if is_loop {
        lines.push_str("add.s32 %round, %round, 1; setp.lt.u32 %p, %round, 2; @%p bra $loop;\n");
    }
    for index in 0..REGISTERS {
        lines.push_str(&format!("st.global.u32 [%own+{}], %w{index};\n", 4 * index));
    }
    let zero: String = (0..REGISTERS)
        .map(|index| format!("mov.u32 %w{index}, {index};\n"))
        .collect();
    // A copy with 32 bits must pay.
    let sum = "mov.u64 %sum, %i;\n".to_owned() + &"add.s64 %sum, %sum, %n;\n".repeat(8);
    let body = format!(
        "
        .reg .b64 %from, %to, %n, %i, %own, %sum, %at, %generic<2>;
        .reg .b32 %index, %block, %threads, %bit, %round, %w<{REGISTERS}>, %load<32>;
        .reg .pred %p;
        ld.param.u64 %generic0, [k_param_0];
        ld.param.u64 %generic1, [k_param_2];
        ld.param.u64 %n, [k_param_3];
        cvta.to.global.u64 %from, %generic0;
        cvta.to.global.u64 %to, %generic1;
        mov.u32 %block, %ctaid.x;
        mov.u32 %threads, %ntid.x;
        mov.u32 %index, %tid.x;
        mad.lo.s32 %index, %block, %threads, %index;
        cvt.u64.u32 %i, %index;
        setp.ge.u64 %p, %i, %n;
        @%p bra $end;
        mov.u32 %round, 0;
        mul.lo.s64 %own, %i, {OWN};
        add.s64 %own, %to, %own;
        mul.lo.s64 %at, %i, {size};
        add.s64 %at, %from, %at;
        {sum}{zero}{lines}
        st.global.u64 [%own+8], %sum;
    $end:
        ret;"
    );
    let params = ".param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2, .param .u64 k_param_3";
    let panic = ".func panic(.param .b64 code) .noreturn { exit; }";
    let mut text = module(panic, params, &body);
    while !common::has_ordinary_entries(&text) {
        text.push('\n');
    }
    (size, text)
}

#[test]
fn fields_are_loaded_together() {
    let (seed, count) = settings(300);
    let mut vectors = 0;
    for seed in seed.map_or(0..count, |seed: u64| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let (size, text) = kernel(&mut rng);
        let [plain, fast] = before_and_after(&text, &[(0, size as u64)], &[3]);
        vectors += u64::from(fast.contains(".v2.") || fast.contains(".v4."));
        let devices = [&plain, &fast].map(|text| Device::new(text));
        for _ in 0..4 {
            let n = rng.u64(..=THREADS as u64);
            // Nothing is readable behind the elements that the threads may pass, twice.
            let words = (THREADS + 2 * ELEMENTS) * size / 4;
            let data: Vec<u32> = (0..words).map(|_| rng.u32(..256)).collect();
            let results = devices.each_ref().map(|device| {
                let from = device.upload(&data);
                let to = device.upload(&[0xa5u8; OWN * THREADS]);
                let params = Params::new().u64(from).u64(words as u64 * 4 / size as u64);
                let params = params.u64(to).u64(n);
                let config = LaunchConfig {
                    grid: [2, 1, 1],
                    block: [THREADS as u32 / 2, 1, 1],
                    params: params.bytes(),
                    ..device.config.clone()
                };
                let entry = device.entry("k", &config);
                let result = launch(&device.program, entry, &config).map(|_| ());
                (result.is_ok(), device.download::<u8>(to, OWN * THREADS))
            });
            assert!(results[0].0, "seed {seed}: {text}");
            assert!(results[0] == results[1], "seed {seed}: {n}\n{text}\n{fast}");
        }
    }
    assert!(
        seed.is_some() || vectors > count / 4,
        "{vectors} of {count} kernels have vectors"
    );
}
