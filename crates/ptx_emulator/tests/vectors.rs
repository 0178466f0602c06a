//! Runs random kernels that access neighboring elements at aligned and other addresses, before and
//! after `ptx::finish` combines these accesses: memory must be equal.

mod common;

use common::generator::settings;
use common::{Device, Params, before_and_after, module};
use fastrand::Rng;
use ptx_emulator::{LaunchConfig, launch};

/// The number of bytes that a thread owns, and the number of threads.
const OWN: usize = 64;
const THREADS: usize = 24;

/// The types of elements, their sizes in bytes, and the prefixes of registers.
const TYPES: [(&str, usize, &[&str]); 10] = [
    ("u8", 1, &["%b", "%w"]),
    ("s8", 1, &["%b", "%w"]),
    ("u16", 2, &["%h", "%w"]),
    ("s16", 2, &["%h", "%w"]),
    ("b16", 2, &["%h"]),
    ("u32", 4, &["%w", "%v"]),
    ("s32", 4, &["%v"]),
    ("f32", 4, &["%f"]),
    ("b32", 4, &["%w", "%f"]),
    ("u64", 8, &["%v"]),
];

/// The number of registers with each prefix.
const REGISTERS: usize = 8;

/// Returns the width of the registers with a prefix.
fn bits(prefix: &str) -> u32 {
    match prefix {
        "%v" => 64,
        "%w" | "%f" => 32,
        _ => 16,
    }
}

/// Returns the body of a kernel of which thread `i` reads `from` anywhere, and reads and writes its
/// own bytes of `to`.
fn kernel(rng: &mut Rng) -> String {
    let mut lines = String::new();
    // The low bits of a base are those of a product, of a sum, or of several values.
    let zeros = rng.usize(..4);
    let unit = 1 << zeros;
    let stride = unit * rng.usize(1..6);
    let first = unit * rng.usize(..3);
    lines.push_str(&match rng.u32(..4) {
        0 => format!("mul.lo.s64 %place, %i, {stride}; add.s64 %base0, %from, %place;\n"),
        1 => format!(
            "shl.b64 %place, %i, {}; add.s64 %base0, %from, %place;\n",
            zeros + rng.usize(..2)
        ),
        2 => format!("mul.wide.u32 %place, %index, {stride}; add.s64 %base0, %place, %from;\n"),
        _ => format!("mad.lo.s64 %base0, %i, {stride}, %from; add.s64 %base0, %base0, {first};\n"),
    });
    lines.push_str(&match rng.u32(..4) {
        0 => "mov.u64 %base1, %from;\n".to_owned(),
        1 => {
            let operation = ["and", "or"][rng.usize(..2)];
            format!(
                "{operation}.b64 %place, %i, {stride}; mul.lo.s64 %place, %place, {unit}; \
                 add.s64 %base1, %from, %place;\n"
            )
        }
        2 => format!(
            "mov.u64 %base1, %from; @%odd bra $even; add.s64 %base1, %base0, {first};\n$even:\n"
        ),
        _ => format!("add.s64 %base1, %from, {first}; selp.b64 %base1, %base1, %base0, %odd;\n"),
    });
    let at = |rng: &mut Rng, size: usize| size * rng.usize(..OWN / size);
    let register = |rng: &mut Rng, prefix: &str| format!("{prefix}{}", rng.usize(..REGISTERS));
    for _ in 0..rng.usize(3..12) {
        let (ty, size, prefixes) = TYPES[rng.usize(..TYPES.len())];
        let prefix = prefixes[rng.usize(..prefixes.len())];
        let offset = at(rng, 4 * size).min(OWN - 4 * size);
        let skipped = rng.usize(..6);
        let is_store = rng.bool();
        let is_mixed = rng.u32(..4) == 0;
        let guard = ["", "", "@%odd ", "@!%odd "][rng.usize(..4)];
        for k in 0..4 {
            let value = match rng.u32(..8) {
                0 => register(rng, prefix),
                _ => format!("{prefix}{k}"),
            };
            let offset = offset + k * size;
            if k == skipped {
                continue;
            }
            // Each element is read and written, before or after its neighbors.
            if is_mixed {
                let other = if rng.u32(..6) == 0 {
                    at(rng, size)
                } else {
                    offset
                };
                lines.push_str(&format!(
                    "{guard}ld.global.{ty} {value}, [%own+{offset}];\n\
                     {guard}st.global.{ty} [%own+{other}], {value};\n"
                ));
            }
            lines.push_str(&match is_store {
                _ if is_mixed => String::new(),
                true => format!("{guard}st.global.{ty} [%own+{offset}], {value};\n"),
                false => {
                    let base = match size <= unit {
                        true => ["%base0", "%base1", "%own"][rng.usize(..3).min(k + 1)],
                        false => "%own",
                    };
                    let nc = if base != "%own" && rng.bool() {
                        ".nc"
                    } else {
                        ""
                    };
                    let before = match guard.is_empty() || rng.bool() {
                        true => String::new(),
                        false => format!("mov.b{} {value}, {k};\n", bits(prefix)),
                    };
                    format!("{before}{guard}ld.global{nc}.{ty} {value}, [{base}+{offset}];\n")
                }
            });
            // Something between the accesses.
            let [a, b] = [0, 1].map(|_| register(rng, "%w"));
            let [c, d] = [0, 1].map(|_| format!("{prefix}{}", rng.usize(..4)));
            lines.push_str(&match rng.u32(..20) {
                0 => format!("add.s32 {a}, {a}, {b};\n"),
                8..12 => match prefix {
                    "%w" => format!("add.s32 {c}, {c}, {d};\n"),
                    "%v" => format!("add.s64 {c}, {c}, {d};\n"),
                    "%f" => format!("xor.b32 {c}, {c}, {d};\n"),
                    _ => format!("add.s16 {c}, {c}, {d};\n"),
                },
                1 => format!("st.global.u32 [%own+{}], {a};\n", at(rng, 4)),
                2 => format!("ld.global.u32 {a}, [%own+{}];\n", at(rng, 4)),
                3 => format!("st.shared.u32 [tile], {a};\n"),
                4 => format!("@%odd st.global.u8 [%own+{}], 7;\n", at(rng, 1)),
                5 => "bar.warp.sync -1;\n".to_owned(),
                6 => format!("mov.b32 {}, {a};\n", register(rng, "%f")),
                12 => "setp.lt.u32 %odd, %w1, %w2;\n".to_owned(),
                7 => format!("add.s64 %base0, %base0, {unit};\n"),
                _ => String::new(),
            });
        }
    }
    for index in 0..REGISTERS {
        lines.push_str(&format!("st.global.u32 [%own+{}], %w{index};\n", 8 * index));
        lines.push_str(&format!(
            "st.global.f32 [%own+{}], %f{index};\n",
            8 * index + 4
        ));
    }
    // Later stores overwrite the registers that these do not show.
    lines.push_str("st.global.u64 [%own+8], %v1;\nst.global.u16 [%own+2], %b2;\n");
    let mut zero = String::new();
    for index in 0..REGISTERS {
        zero.push_str(&format!(
            "mov.u32 %w{index}, {index}; mov.u64 %v{index}, {index}; mov.u16 %b{index}, {index}; \
             mov.u16 %h{index}, {index}; mov.b32 %f{index}, {index};\n"
        ));
    }
    // A copy with 32 bits must pay.
    let sum = "mov.u64 %sum, %i;\n".to_owned() + &"add.s64 %sum, %sum, %n;\n".repeat(8);
    let body = format!(
        "
        .shared .align 4 .b8 tile[4];
        .reg .b64 %from, %to, %n, %i, %own, %place, %sum, %base<2>, %generic<2>;
        .reg .b32 %index, %block, %threads, %w<{REGISTERS}>;
        .reg .b64 %v<{REGISTERS}>;
        .reg .b16 %b<{REGISTERS}>, %h<{REGISTERS}>;
        .reg .pred %odd;
        ld.param.u64 %generic0, [k_param_0];
        ld.param.u64 %generic1, [k_param_1];
        ld.param.u64 %n, [k_param_2];
        cvta.to.global.u64 %from, %generic0;
        cvta.to.global.u64 %to, %generic1;
        mov.u32 %block, %ctaid.x;
        mov.u32 %threads, %ntid.x;
        mov.u32 %index, %tid.x;
        mad.lo.s32 %index, %block, %threads, %index;
        cvt.u64.u32 %i, %index;
        setp.ge.u64 %odd, %i, %n;
        @%odd bra $end;
        and.b32 %block, %index, 1;
        setp.eq.s32 %odd, %block, 1;
        mul.lo.s64 %own, %i, {OWN};
        add.s64 %own, %to, %own;
        {sum}{zero}{lines}
        st.global.u64 [%own+16], %sum;
    $end:
        ret;"
    );
    let params = ".param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2";
    let mut text = module("", params, &body);
    while !common::has_ordinary_entries(&text) {
        text.push('\n');
    }
    text
}

#[test]
fn neighboring_accesses_are_combined() {
    let (seed, count) = settings(300);
    let (mut ordinary, mut vectors) = (0, 0);
    for seed in seed.map_or(0..count, |seed: u64| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = kernel(&mut rng);
        let [plain, fast] = before_and_after(&text, &[], &[2]);
        vectors += u64::from(fast.contains(".v2.") || fast.contains(".v4."));
        let devices = [&plain, &fast].map(|text| Device::new(text));
        for _ in 0..4 {
            // Some slices start in the middle of a vector.
            let [from_offset, to_offset] = [0, 1].map(|_| match rng.u32(..3) {
                0 => 8 * rng.u64(..3),
                _ => 0,
            });
            let n = rng.u64(..=THREADS as u64);
            let bytes: Vec<u8> = (0..40 * THREADS + 256).map(|_| rng.u8(..)).collect();
            let results = devices.each_ref().map(|device| {
                let from = device.upload(&bytes) + from_offset;
                let to = device.upload(&[0xa5u8; OWN * (THREADS + 1)]);
                let params = Params::new().u64(from).u64(to + to_offset).u64(n);
                let config = LaunchConfig {
                    grid: [2, 1, 1],
                    block: [THREADS as u32 / 2, 1, 1],
                    params: params.bytes(),
                    ..device.config.clone()
                };
                let entry = device.entry("k", &config);
                ordinary += u64::from(entry != device.program.kernel("k").unwrap());
                // An access at an address that is not a multiple of its size is an error.
                let result = launch(&device.program, entry, &config).map(|_| ());
                let is_ok = result.is_ok();
                (
                    is_ok,
                    is_ok.then(|| device.download::<u8>(to, OWN * (THREADS + 1))),
                )
            });
            assert!(
                results[0] == results[1],
                "seed {seed}: {from_offset} {to_offset} {n}\n{text}\n{fast}"
            );
        }
    }
    assert!(
        seed.is_some() || ordinary > count && vectors > count / 2,
        "{ordinary} of {} launches are ordinary, {vectors} of {count} kernels have vectors",
        4 * count
    );
}
