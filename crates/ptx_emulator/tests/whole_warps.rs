//! Runs loops with ballots before and after `ptx::finish` gives them copies for whole warps, and runs
//! several iterations of these at once: all threads must have the same results, whichever have exited.

mod common;

use std::collections::HashMap;
use std::fmt::Write;

use common::generator::settings;
use common::{Device, Params, before_and_after, module};
use fastrand::Rng;

/// What in a kernel prevents the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Obstacle {
    None,
    /// Some threads leave the loop by an exit.
    Exit,
    /// Each thread has its own number of iterations.
    Count,
    /// Some threads start with another counter.
    Start,
    /// Some threads have another bound, which a guarded instruction changes.
    Guard,
    /// Some threads count twice in an iteration.
    Branch,
    /// Not every iteration has the ballot.
    Rare,
    /// Memory changes before the first ballot.
    Store,
    /// Each lane strides over a row from its own number: no obstacle if all have as many iterations,
    /// which a second ballot finds out.
    Stride,
    /// The same, and each iteration begins with the test for it.
    TestedStride,
}

const OBSTACLES: &[Obstacle] = &[
    Obstacle::None,
    Obstacle::None,
    Obstacle::None,
    Obstacle::None,
    Obstacle::Exit,
    Obstacle::Count,
    Obstacle::Start,
    Obstacle::Guard,
    Obstacle::Branch,
    Obstacle::Rare,
    Obstacle::Store,
    Obstacle::Stride,
    Obstacle::Stride,
    Obstacle::TestedStride,
    Obstacle::TestedStride,
];

/// Returns a kernel with a loop that computes with the lanes that are left.
fn kernel(rng: &mut Rng, obstacle: Obstacle) -> String {
    let mut body = String::new();
    let mut line = |text: &str| _ = writeln!(body, "    {text}");
    if rng.bool() {
        let mask = [1, 7, 31, 1023][rng.usize(..4)];
        line(&format!("and.b32 %bits, %value, {mask};"));
        line("setp.eq.s32 %leave, %bits, 0;");
        line("@%leave bra $end;");
    }
    line("mov.u32 %i, 0;");
    match obstacle {
        Obstacle::Count => {
            line("and.b32 %bits, %value, 3;");
            line("add.s32 %n, %n, %bits;");
        }
        Obstacle::Start => {
            line("@%odd bra $start;");
            line("mov.u32 %i, 1;");
            line("$start:");
        }
        _ => {}
    }
    line("mov.u32 %count, %n;");
    let is_tested = obstacle == Obstacle::TestedStride;
    let mut step = 1;
    if is_tested || obstacle == Obstacle::Stride {
        step = [32, 64][rng.usize(..2)];
        line(match rng.usize(..4) {
            0 => "and.b32 %i, %value, 31;",
            1 => "mov.u32 %i, %lane;",
            2 => "and.b32 %i, %value, 63;",
            _ => "and.b32 %i, %lane, 31;",
        });
        line("shl.b32 %count, %n, 6;");
        match rng.usize(..5) {
            0 => line("sub.s32 %count, %count, 9;"),
            1 => line("add.s32 %count, %count, %lane;"),
            2 => {
                line("and.b32 %bits, %lane, 96;");
                line("add.s32 %count, %count, %bits;");
            }
            _ => {}
        }
        if rng.u32(..8) == 0 {
            // Near the end of the counter's range.
            line("add.s32 %i, %i, -512;");
            line("add.s32 %count, %count, -512;");
        }
    }
    line("$loop:");
    if is_tested {
        line("setp.ge.u32 %p, %i, %count;");
        line("@%p bra $done;");
    }
    if rng.bool() {
        line("add.s32 %sum, %sum, %i;");
    }
    let loads = rng.bool();
    if loads {
        // A load that can start early.
        line("and.b32 %bits, %i, 255;");
        line("mad.wide.u32 %at, %bits, 4, %from;");
        line("ld.global.nc.u32 %loaded, [%at];");
        line("add.s32 %sum, %sum, %loaded;");
    }
    match obstacle {
        Obstacle::Store => line("st.global.u32 [%to+4], %sum;"),
        Obstacle::Rare => {
            line("setp.ne.s32 %p, %i, 1;");
            line("@%p bra $join;");
        }
        Obstacle::Guard => line("@%odd add.s32 %count, %n, 1;"),
        _ => {}
    }
    line("{");
    line(".reg .pred %every;");
    line("setp.ne.b32 %every, %one, 0;");
    line("vote.sync.ballot.b32 %mask, %every, %all;");
    line("}");
    let distance = 1 << rng.u32(..5);
    let scans = rng.bool();
    let whole = |line: &mut dyn FnMut(&str)| {
        if scans {
            line("{");
            line(".reg .pred %is_there;");
            line(&format!(
                "shfl.sync.up.b32 %other|%is_there, %sum, {distance}, 0, %all;"
            ));
            line("selp.b32 %other, %other, 0, %is_there;");
            line("}");
        } else {
            line(&format!(
                "shfl.sync.bfly.b32 %other, %sum, {distance}, 31, %all;"
            ));
        }
        line("add.s32 %sum, %sum, %other;");
    };
    let partial = |line: &mut dyn FnMut(&str)| {
        line("popc.b32 %other, %mask;");
        line("mad.lo.s32 %sum, %sum, 3, %other;");
        line("xor.b32 %sum, %sum, %mask;");
    };
    let (relation, negated) = [("eq", ""), ("ne", "!")][rng.usize(..2)];
    line(&format!("setp.{relation}.s32 %whole, %mask, -1;"));
    if rng.bool() {
        line(&format!("@{negated}%whole bra $whole;"));
        partial(&mut line);
        line("bra $join;");
        line("$whole:");
        whole(&mut line);
    } else {
        let negated = if negated.is_empty() { "!" } else { "" };
        line(&format!("@{negated}%whole bra $partial;"));
        whole(&mut line);
        line("bra $join;");
        line("$partial:");
        partial(&mut line);
    }
    line("$join:");
    if obstacle != Obstacle::Rare && rng.bool() {
        line("xor.b32 %sum, %sum, %mask;");
    }
    match rng.u32(..4) {
        0 => {
            line("@%odd bra $skipped;");
            line("xor.b32 %sum, %sum, %i;");
            line("add.s32 %sum, %sum, 5;");
            line("$skipped:");
        }
        1 => {
            line("setp.gt.s32 %positive, %sum, 0;");
            line("@!%positive bra $skipped;");
            line("add.s32 %other, %sum, 7;");
            line("shl.b32 %other, %other, 1;");
            line("sub.s32 %sum, %other, %i;");
            line("$skipped:");
        }
        _ => {}
    }
    if rng.u32(..4) == 0 {
        line("xor.b32 %sum, %sum, %other;");
    }
    if rng.u32(..4) == 0 {
        line("st.global.u32 [%to+4], %sum;");
    }
    match obstacle {
        Obstacle::Exit => {
            line("shr.u32 %bits, %value, %i;");
            line("and.b32 %bits, %bits, 15;");
            line("setp.eq.s32 %leave, %bits, 0;");
            line("@%leave bra $end;");
        }
        Obstacle::Branch => {
            line("@!%odd bra $even;");
            line("add.s32 %i, %i, 1;");
            line("$even:");
        }
        _ => {}
    }
    line(&format!("add.s32 %i, %i, {step};"));
    if is_tested {
        line("bra $loop;");
        line("$done:");
    } else {
        line("setp.lt.u32 %more, %i, %count;");
        line("@%more bra $loop;");
    }
    line("st.global.u32 [%to], %sum;");
    line("st.global.u32 [%to+4], %i;");
    line("$end:");
    let body = format!(
        "
        .reg .pred %odd, %leave, %p, %positive, %whole, %more;
        .reg .b32 %value, %lane, %n, %count, %i, %sum, %mask, %other, %one, %all, %bits, %loaded;
        .reg .b64 %to, %from, %at;
        ld.param.u64 %to, [k_param_0];
        ld.param.u32 %n, [k_param_1];
        ld.param.u64 %from, [k_param_2];
        cvta.to.global.u64 %from, %from;
        mov.u32 %other, 0;
        cvta.to.global.u64 %to, %to;
        mov.u32 %lane, %tid.x;
        mad.wide.u32 %to, %lane, 8, %to;
        ld.global.u32 %value, [%to];
        mov.u32 %all, -1;
        mov.u32 %one, 1;
        mov.u32 %sum, %value;
        and.b32 %bits, %value, 1;
        setp.eq.s32 %odd, %bits, 1;
        {body}
        ret;
        "
    );
    let params = ".param .u64 k_param_0, .param .u32 k_param_1, .param .u64 k_param_2";
    module("", params, &body)
}

#[test]
fn copies_for_whole_warps_have_the_same_results() {
    let (seed, kernels) = settings(300);
    let mut unrolled = HashMap::new();
    for seed in seed.map_or(0..kernels, |seed: u64| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let obstacle = OBSTACLES[rng.usize(..OBSTACLES.len())];
        let text = kernel(&mut rng, obstacle);
        let [plain, fast] = before_and_after(&text, &[], &[]);
        assert_eq!(
            fast.matches("vote.sync.ballot").count(),
            match obstacle {
                Obstacle::None => 2,
                Obstacle::Stride | Obstacle::TestedStride => 3,
                _ => 1,
            },
            "seed {seed}: {obstacle:?}\n{text}\n{fast}"
        );
        *unrolled.entry(obstacle).or_insert(0) += usize::from(fast.matches("shfl").count() > 4);
        let from: Vec<u32> = (0..256).map(|_| rng.u32(..)).collect();
        let threads = [32, 64, 77, 96][rng.usize(..4)];
        let count = rng.u32(1..6);
        let run = |text: &str| -> Vec<u32> {
            let device = Device::new(text);
            let to = device.upload(&from);
            let constant = device.upload(&from);
            let params = Params::new().u64(to).u32(count).u64(constant);
            device.launch("k", 1, threads, params).unwrap();
            device.download(to, from.len())
        };
        assert_eq!(run(&fast), run(&plain), "seed {seed}\n{text}\n{fast}");
    }
    for obstacle in [Obstacle::None, Obstacle::Stride, Obstacle::TestedStride] {
        assert!(
            seed.is_some() || unrolled[&obstacle] > 0,
            "no unrolled loop of {obstacle:?}"
        );
    }
    let obstacles = unrolled.iter().filter(|(obstacle, _)| {
        !matches!(
            obstacle,
            Obstacle::None | Obstacle::Stride | Obstacle::TestedStride
        )
    });
    assert_eq!(obstacles.map(|(_, count)| count).sum::<usize>(), 0);
}
