//! Which entry of a kernel `cust` launches: the one for ordinary launches exactly if its condition
//! holds, otherwise the one for strided launches exactly if its condition holds, also for launches
//! that differ from the last one.

mod common;

use common::{init, stream};
use cust::context::CurrentContext;
use cust::module::EXPLAIN_VARIABLE;
use cust::prelude::*;
use std::process::Command;

/// The steps of the condition `n < 100 && nctaid.x <= 4`. A step has a kind, the width of its
/// operands, and the places of these; a constant has its value after it.
const CONDITION: [[u64; 2]; 7] = [
    [step(0, 64, [1, 0]), u64::MAX],
    [step(2, 64, [0, 0]), 100],
    [step(22, 64, [0, 1]), u64::MAX],
    [step(1, 32, [3, 0]), u64::MAX],
    [step(2, 32, [0, 0]), 4],
    [step(24, 32, [3, 4]), u64::MAX],
    [step(6, 8, [2, 5]), u64::MAX],
];

const fn step(kind: u64, width: u64, [a, b]: [u64; 2]) -> u64 {
    kind | width << 8 | a << 16 | b << 32
}

/// The steps of the condition `n < 1000`.
const STRIDED: [[u64; 2]; 3] = [
    [step(0, 64, [1, 0]), u64::MAX],
    [step(2, 64, [0, 0]), 1000],
    [step(22, 64, [0, 1]), u64::MAX],
];

/// Returns the variable with a condition.
fn variable(name: &str, steps: &[[u64; 2]]) -> String {
    let words: Vec<String> = (steps.iter())
        .flat_map(|&[step, constant]| {
            [step]
                .into_iter()
                .chain((constant != u64::MAX).then_some(constant))
        })
        .map(|word| word.to_string())
        .collect();
    format!(
        ".visible .global .align 8 .u64 {name}[{}] = {{{}}};",
        words.len(),
        words.join(", ")
    )
}

/// Returns a module with a kernel whose general entry writes 1, the one for ordinary launches 2, and
/// the one for strided launches 3.
fn module() -> Module {
    let entry = |name: &str, result: u32| {
        format!(
            "
            .visible .entry {name}(.param .u64 to, .param .u64 n) {{
                .reg .b32 %r<2>; .reg .b64 %rd<3>;
                ld.param.u64 %rd1, [to];
                cvta.to.global.u64 %rd2, %rd1;
                mov.u32 %r1, {result};
                st.global.u32 [%rd2], %r1;
                ret;
            }}"
        )
    };
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n
        {}{}{}{}{}",
        variable("__cuda_std_ordinary_of_choose", &CONDITION),
        variable("__cuda_std_strided_of_choose", &STRIDED),
        entry("choose", 1),
        entry("choose$ordinary", 2),
        entry("choose$strided", 3),
    );
    Module::from_ptx(text, &[]).unwrap()
}

/// Launches the kernel, and returns what its entry writes.
fn entry(kernel: &Function<'_>, stream: &Stream, blocks: u32, n: u64) -> u32 {
    let to = DeviceBox::new(&0u32).unwrap();
    // SAFETY: the arguments have the types of the kernel's parameters.
    unsafe {
        launch!(kernel<<<blocks, 32, 0, stream>>>(to.as_device_ptr(), n)).unwrap();
    }
    stream.synchronize().unwrap();
    let mut result = 0;
    to.copy_to(&mut result).unwrap();
    result
}

/// Returns what the entry for a launch writes.
fn expected(blocks: u32, n: u64) -> u32 {
    match n {
        ..100 if blocks <= 4 => 2,
        ..1000 => 3,
        _ => 1,
    }
}

#[test]
fn each_launch_has_the_entry_for_its_sizes() {
    let _context = init();
    let (module, stream) = (module(), stream());
    let kernel = module.get_function("choose").unwrap();
    let launches = [
        (1, 99),
        (1, 99),
        (1, 100),
        (1, 100),
        (1, 99),
        (4, 99),
        (5, 99),
        (5, 99),
        (4, 99),
        (4, 999),
        (4, 1000),
        (5, 999),
        (4, u64::MAX),
        (4, 1 << 32),
        (5, 100),
        (1, 0),
    ];
    for (blocks, n) in launches {
        let found = entry(&kernel, &stream, blocks, n);
        assert_eq!(found, expected(blocks, n), "{blocks} blocks, n = {n}");
    }
}

#[test]
fn threads_share_a_kernel() {
    let context = init();
    let module = module();
    let kernel = module.get_function("choose").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (kernel, context) = (&kernel, &context);
            scope.spawn(move || {
                CurrentContext::set_current(context).unwrap();
                let stream = common::stream();
                for i in 0..50 {
                    let (blocks, n) = (1 + (i + thread) % 8, 95 + u64::from(i * thread % 10));
                    assert_eq!(entry(kernel, &stream, blocks, n), expected(blocks, n));
                }
            });
        }
    });
}

/// Runs the first test in another process, and returns what it prints to stderr about launches.
fn explanations(value: &str) -> Vec<String> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "each_launch_has_the_entry_for_its_sizes"])
        .arg("--nocapture")
        .env(EXPLAIN_VARIABLE, value)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    let about_launches = |line: &&str| line.contains("entry") || line.contains("unmet");
    (text.lines().filter(about_launches))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_first_launch_of_a_general_entry_is_explained() {
    let expected = [
        "note: a launch of `choose` runs the kernel's entry for strided launches",
        "  unmet: param_1 < 100 (param_1 is 100)",
    ];
    assert_eq!(explanations("1"), expected);
    assert_eq!(explanations("0"), [""; 0]);
}
