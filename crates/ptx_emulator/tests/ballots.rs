//! Runs scans of flags among the lanes of a warp before and after `ptx::finish` replaces them by
//! ballots: all lanes must have the same sums.

mod common;

use std::fmt::Write;

use common::generator::settings;
use common::{Device, Params, before_and_after, module};
use fastrand::Rng;

/// What in a kernel prevents the replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    None,
    /// A number that may be 2.
    Number,
    /// The sum of a part of the lanes is read as well.
    Read,
    /// A step reads a lane at another distance.
    Distance,
    /// A step selects the other lane's sum under another condition.
    Condition,
    /// Something else writes a register of the scan.
    Write,
}

const OBSTACLES: &[Obstacle] = &[
    Obstacle::None,
    Obstacle::None,
    Obstacle::None,
    Obstacle::Number,
    Obstacle::Read,
    Obstacle::Distance,
    Obstacle::Condition,
    Obstacle::Write,
];

/// Returns a kernel that stores the inclusive scan of flags, which are bit 0 of `%value`.
fn kernel(rng: &mut Rng, obstacle: Obstacle) -> String {
    let mut body = String::new();
    let mut line = |text: &str| _ = writeln!(body, "    {text}");
    let most = match obstacle {
        Obstacle::Number => 2,
        _ => 1,
    };
    match rng.u32(..3) {
        0 if most == 1 => line("and.b32 %flag, %value, 1;"),
        1 => {
            line("mov.u32 %zero, 0;");
            line("mov.u32 %flag, %zero;");
            line("mov.u32 %zero, %value;");
            line("@!%odd bra $even;");
            line(&format!("mov.u32 %flag, {most};"));
            line("$even:");
        }
        _ => line(&format!("selp.b32 %flag, {most}, 0, %odd;")),
    }
    let place = rng.usize(1..5);
    let mut sum = "%flag".to_owned();
    for (step, distance) in [1, 2, 4, 8, 16].into_iter().enumerate() {
        let here = step == place;
        let distance = match obstacle {
            Obstacle::Distance if here => 3,
            _ => distance,
        };
        line("{");
        line(".reg .pred %valid;");
        line(&format!(
            "shfl.sync.up.b32 %other{step}|%valid, {sum}, {distance}, 0, %all;"
        ));
        line(&format!("selp.b32 %exists{step}, 1, 0, %valid;"));
        line("}");
        if rng.bool() {
            line(&format!("add.s32 %more, %more, {step};"));
        }
        match obstacle {
            Obstacle::Write if here => line(&format!("xor.b32 {sum}, {sum}, 1;")),
            Obstacle::Condition if here => line(&format!("mov.u32 %exists{step}, %odds;")),
            _ => {}
        }
        line(&format!("setp.eq.s32 %absent{step}, %exists{step}, 0;"));
        let next = format!("%sum{step}");
        if step == 4 && rng.bool() {
            line(&format!("@%absent{step} bra $done;"));
            line(&format!("add.s32 {sum}, {sum}, %other{step};"));
            line("$done:");
        } else {
            line(&format!(
                "selp.b32 %own{step}, 0, %other{step}, %absent{step};"
            ));
            let sources = match rng.bool() {
                true => format!("{sum}, %own{step}"),
                false => format!("%own{step}, {sum}"),
            };
            line(&format!("add.s32 {next}, {sources};"));
            sum = next;
        }
        if obstacle == Obstacle::Read && here && step < 4 {
            line(&format!("add.s32 %more, %more, {sum};"));
        }
    }
    if obstacle == Obstacle::Read && place == 4 {
        line("add.s32 %more, %more, %other2;");
    }
    line(&format!("st.global.u32 [%to], {sum};"));
    line("st.global.u32 [%to+4], %more;");
    let body = format!(
        "
        .reg .pred %odd, %absent<5>;
        .reg .b32 %value, %flag, %zero, %all, %more, %odds, %lane;
        .reg .b32 %other<5>, %exists<5>, %own<5>, %sum<5>;
        .reg .b64 %to;
        ld.param.u64 %to, [k_param_0];
        cvta.to.global.u64 %to, %to;
        mov.u32 %lane, %tid.x;
        mad.wide.u32 %to, %lane, 8, %to;
        ld.global.u32 %value, [%to];
        mov.u32 %all, -1;
        mov.u32 %more, 0;
        and.b32 %odds, %value, 1;
        setp.eq.s32 %odd, %odds, 1;
        {body}
        ret;
        "
    );
    module("", ".param .u64 k_param_0", &body)
}

#[test]
fn ballots_have_the_sums_of_scans() {
    let (seed, kernels) = settings(300);
    for seed in seed.map_or(0..kernels, |seed: u64| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let obstacle = OBSTACLES[rng.usize(..OBSTACLES.len())];
        let text = kernel(&mut rng, obstacle);
        let [plain, fast] = before_and_after(&text, &[], &[]);
        assert_eq!(
            fast.contains("vote.sync.ballot"),
            obstacle == Obstacle::None,
            "seed {seed}: {obstacle:?}\n{text}\n{fast}"
        );
        let from: Vec<u32> = (0..128).map(|_| rng.u32(..)).collect();
        let run = |text: &str| -> Vec<u32> {
            let device = Device::new(text);
            let to = device.upload(&from);
            device.launch("k", 1, 64, Params::new().u64(to)).unwrap();
            device.download(to, from.len())
        };
        assert_eq!(run(&fast), run(&plain), "seed {seed}\n{text}\n{fast}");
    }
}
