//! Runs random exchanges between the lanes of a warp before and after `ptx::finish` makes one
//! instruction of those that are a reduction: all lanes must have the same results.

mod common;

use common::generator::settings;
use common::{Device, Params, before_and_after, module};
use fastrand::Rng;

/// Operations that `redux.sync` has.
const OPERATIONS: &[&str] = &[
    "add.s32", "add.u32", "and.b32", "max.s32", "max.u32", "min.s32", "min.u32", "or.b32",
    "xor.b32",
];

/// Returns a kernel with steps of an exchange and an operation, and whether they are a reduction.
fn kernel(rng: &mut Rng) -> (String, bool) {
    let rarely = |rng: &mut Rng| rng.u32(..30) == 0;
    let mut is_reduction = true;
    let mut distances = vec![1, 2, 4, 8, 16];
    rng.shuffle(&mut distances);
    if rarely(rng) {
        // Some lanes do not take part.
        let place = rng.usize(..5);
        distances[place] = distances[(place + 1) % 5];
        is_reduction = false;
    }
    let operation = OPERATIONS[rng.usize(..OPERATIONS.len())];
    let mut lines = Vec::new();
    for (step, distance) in distances.into_iter().enumerate() {
        let next = step + 1;
        let (mut mask, mut from) = ("-1", format!("%a{step}"));
        let mut by = operation;
        if rarely(rng) {
            // The mask may have other lanes, too.
            mask = "%some";
            is_reduction = false;
        }
        if step > 0 && rarely(rng) {
            from = "%a0".to_owned();
            is_reduction = false;
        }
        if rarely(rng) {
            by = OPERATIONS[rng.usize(..OPERATIONS.len())];
            is_reduction &= by == operation;
        }
        lines.push(format!(
            "shfl.sync.bfly.b32 %b{next}, {from}, {distance}, 31, {mask};"
        ));
        if rarely(rng) {
            lines.push(format!("xor.b32 %c, %b{next}, %c;"));
            is_reduction = false;
        }
        let mut sources = [format!("%a{step}"), format!("%b{next}")];
        if rng.bool() {
            sources.reverse();
        }
        lines.push(format!("{by} %a{next}, {}, {};", sources[0], sources[1]));
        if rarely(rng) {
            lines.push(format!("add.s32 %c, %a{next}, %c;"));
            is_reduction &= step == 4;
        }
        if rarely(rng) {
            // The first value may be read, but not changed before the last step.
            lines.push("add.s32 %c, %a0, %c;".to_owned());
        }
        if rarely(rng) {
            lines.push("add.s32 %a0, %a0, 1;".to_owned());
            is_reduction &= step == 4;
        }
        if rarely(rng) {
            lines.push("bar.sync 0;".to_owned());
            is_reduction &= step == 4;
        }
    }
    let body = format!(
        "
        .reg .pred %q<4>;
        .reg .b32 %a<9>;
        .reg .b32 %b<9>;
        .reg .b32 %c, %lane, %some;
        .reg .b64 %to, %offset;
        ld.param.u64 %to, [k_param_0];
        ld.param.u32 %some, [k_param_1];
        cvta.to.global.u64 %to, %to;
        mov.u32 %lane, %laneid;
        mul.wide.u32 %offset, %lane, 8;
        add.s64 %to, %to, %offset;
        ld.global.u32 %a0, [%to];
        mov.b32 %c, 1;
        {}
        st.global.u32 [%to], %a5;
        st.global.u32 [%to+4], %c;
        ret;
        ",
        lines.join("\n        ")
    );
    let params = ".param .u64 k_param_0, .param .u32 k_param_1";
    (module("", params, &body), is_reduction)
}

#[test]
fn one_instruction_has_the_results_of_all_steps() {
    let (seed, kernels) = settings(300);
    let (mut replaced, mut possible) = (0, 0);
    for seed in seed.map_or(0..kernels, |seed: u64| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let (text, is_reduction) = kernel(&mut rng);
        let [plain, fast] = before_and_after(&text, &[], &[]);
        let is_replaced = fast.contains("redux.sync");
        assert!(is_reduction || !is_replaced, "seed {seed}\n{text}\n{fast}");
        replaced += u64::from(is_replaced);
        possible += u64::from(is_reduction);
        let from: Vec<u32> = (0..64).map(|_| rng.u32(..)).collect();
        let run = |text: &str| -> Vec<u32> {
            let device = Device::new(text);
            let to = device.upload(&from);
            let params = Params::new().u64(to).u32(u32::MAX);
            device.launch("k", 1, 32, params).unwrap();
            device.download(to, from.len())
        };
        assert_eq!(run(&fast), run(&plain), "seed {seed}\n{text}\n{fast}");
    }
    assert!(
        possible > kernels / 8 && replaced == possible,
        "{replaced} of {possible} reductions are replaced"
    );
}
