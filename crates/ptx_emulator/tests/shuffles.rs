//! Runs kernels with shuffles between checks before and after `ptx::finish` moves the checks: all
//! threads must have the same results, and the first panics must be equal.

mod common;

use common::generator::{Code, Generator, PANIC, settings};
use common::{Device, Params, before_and_after};
use fastrand::Rng;

/// What in a kernel prevents that checks move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    None,
    /// Some lanes exit before.
    Exit,
    /// Each lane has its own number of iterations.
    Count,
    /// Each lane has its own first iteration.
    Start,
    /// Warps are not rows of the block: only the lanes of half a warp have the same number of
    /// iterations.
    Rows,
    /// The same, which the kernel does not know.
    Launch,
    /// The values of all lanes, which other threads may change.
    Memory,
}

const OBSTACLES: &[Obstacle] = &[
    Obstacle::None,
    Obstacle::None,
    Obstacle::None,
    Obstacle::None,
    Obstacle::Exit,
    Obstacle::Count,
    Obstacle::Start,
    Obstacle::Rows,
    Obstacle::Launch,
    Obstacle::Memory,
];

/// The number of elements.
const LEN: u32 = 256;

/// What is known about a kernel.
struct Kernel {
    text: String,
    /// Whether it has a loop.
    loops: bool,
    obstacle: Obstacle,
    /// Whether a shuffle exchanges values that were loaded after a check.
    late: bool,
    /// The number of shuffles before the last check, if there is no loop.
    before_last: usize,
}

/// Returns a kernel whose threads read elements at indices of other lanes.
fn kernel(rng: &mut Rng) -> Kernel {
    let loops = rng.bool();
    let obstacle = OBSTACLES[rng.usize(..OBSTACLES.len())];
    // Without a loop, each lane runs the same checks.
    let obstacle = match obstacle {
        other if !loops && other != Obstacle::Exit => Obstacle::None,
        other => other,
    };
    let late = rng.u32(..4) == 0;
    let mut code = Code {
        count: 40,
        ..Code::default()
    };
    match obstacle {
        Obstacle::Exit => {
            code.line("and.b32 %r1, %own, 7;");
            code.line("setp.eq.s32 %p1, %r1, 0;");
            code.line("@%p1 bra $end;");
        }
        Obstacle::Count => {
            code.line("and.b32 %r1, %own, 3;");
            code.line("add.s32 %count, %count, %r1;");
        }
        Obstacle::Start => code.line("and.b32 %k, %own, 1;"),
        Obstacle::Memory => {
            code.line("mul.wide.u32 %rd9, %warp, 4;");
            code.line("add.s64 %rd9, %out, %rd9;");
            code.line("ld.global.u32 %r1, [%rd9];");
            code.line("and.b32 %r1, %r1, 7;");
            code.line("add.s32 %count, %count, %r1;");
        }
        _ if matches!(obstacle, Obstacle::Rows | Obstacle::Launch) || rng.bool() => {
            // The same number for all lanes of a warp.
            code.line("mul.wide.u32 %rd9, %warp, 4;");
            code.line("add.s64 %rd9, %xs, %rd9;");
            code.line("ld.global.nc.u32 %r1, [%rd9];");
            code.line("and.b32 %r1, %r1, 7;");
            code.line("add.s32 %count, %count, %r1;");
        }
        _ => {}
    }
    // Half warps have shuffles of their own.
    let mask = match obstacle {
        Obstacle::Rows | Obstacle::Launch => "%half",
        _ => ["-1", "%all", "%half"][rng.usize(..3)],
    };
    let parts = rng.u32(1..3);
    let apart = rng.u32(..3);
    let mut last = 0;
    if loops {
        code.line("$loop:");
        for part in 0..parts {
            let from = code.op("%r", "add.s32", &format!("%k, {part}"));
            access(rng, &mut code, &from, mask, apart, late);
        }
        code.line("add.s32 %k, %k, 1;");
        let more = [
            "setp.lt.u32 %p2, %k, %count;",
            "setp.ne.s32 %p2, %k, %count;",
        ];
        let unequal = obstacle != Obstacle::Start && rng.bool();
        code.line(more[usize::from(unequal)]);
        code.line("@%p2 bra $loop;");
    } else {
        for part in 0..rng.u32(2..20) {
            last = code.body.matches("shfl").count();
            code.line(&format!("mov.u32 %k, {part};"));
            access(rng, &mut code, &part.to_string(), mask, apart, late);
        }
    }
    if matches!(obstacle, Obstacle::Rows | Obstacle::Launch) {
        // Lanes that wait here cannot vote.
        code.line("bar.sync 0;");
    }
    let (width, size) = match obstacle {
        Obstacle::Rows => (48, ".reqntid 48, 2, 1"),
        Obstacle::Launch => (48, ""),
        _ if loops && rng.bool() => (64, ""),
        _ => (64, ".reqntid 64, 1, 1"),
    };
    let text = format!(
        "
        .version 8.7
        .target sm_90
        .address_size 64
        {PANIC}
        .visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2,
            .param .u64 k_param_3, .param .u64 k_param_4, .param .u32 k_param_5)
        {size}
        {{
            .reg .pred %p<{count}>;
            .reg .b32 %r<{count}>;
            .reg .b64 %rd<{count}>;
            .reg .b32 %tid, %row, %lane, %warp, %own, %weight, %count, %k, %acc, %all, %half, %first;
            .reg .b64 %xs, %len, %out, %report;
            ld.param.u64 %xs, [k_param_0];
            ld.param.u64 %len, [k_param_1];
            ld.param.u64 %out, [k_param_2];
            ld.param.u64 %report, [k_param_4];
            ld.param.u32 %count, [k_param_5];
            cvta.to.global.u64 %xs, %xs;
            cvta.to.global.u64 %out, %out;
            mov.u32 %tid, %tid.x;
            mov.u32 %row, %tid.y;
            mad.lo.s32 %tid, %row, {width}, %tid;
            mov.u32 %lane, %laneid;
            mov.u32 %r2, %tid.x;
            mov.u32 %r3, %ctaid.x;
            mov.u32 %r4, %ntid.x;
            mad.lo.s32 %r2, %r3, %r4, %r2;
            shr.u32 %warp, %r2, 5;
            mov.u32 %all, -1;
            and.b32 %first, %lane, 16;
            shl.b32 %half, 65535, %first;
            mad.wide.u32 %report, %tid, 24, %report;
            mul.wide.u32 %rd1, %tid, 4;
            add.s64 %rd2, %xs, %rd1;
            ld.global.nc.u32 %own, [%rd2];
            ld.global.nc.u32 %weight, [%rd2+256];
            mov.u32 %k, 0;
            mov.u32 %acc, %tid;
            {}
            add.s64 %rd3, %out, %rd1;
            st.global.u32 [%rd3+256], %acc;
            $end:
            ret;
            {}
        }}
        ",
        code.body,
        code.panics,
        count = code.count + 1,
    );
    Kernel {
        text,
        loops,
        obstacle,
        late,
        before_last: last + 1,
    }
}

/// Emits an access of the element whose index another lane has. The lanes' elements are `apart`.
/// `mask` is that of the shuffles.
fn access(rng: &mut Rng, code: &mut Code, from: &str, mask: &str, apart: u32, late: bool) {
    let index = code.op(
        "%r",
        "shfl.sync.idx.b32",
        &format!("%own, {from}, 31, {mask}"),
    );
    let index = match apart {
        0 => index,
        _ => code.op("%r", "mad.lo.s32", &format!("%lane, {apart}, {index}")),
    };
    let index = code.op("%rd", "cvt.u64.u32", &index);
    let passes = code.op("%p", "setp.lt.u64", &format!("{index}, %len"));
    let iteration = code.op("%rd", "cvt.u64.u32", "%k");
    code.count += 1;
    let n = code.count;
    code.line(&format!("@!{passes} bra $P{n};"));
    code.add_panic("panic", "%report", n, &index, &iteration);
    let bytes = code.op("%rd", "shl.b64", &format!("{index}, 2"));
    let at = code.op("%rd", "add.s64", &format!("%xs, {bytes}"));
    let value = code.op("%r", "ld.global.nc.u32", &format!("[{at}]"));
    code.line(&format!("mad.lo.s32 %acc, %acc, 31, {value};"));
    if late {
        let distance = 1 << rng.u32(..4);
        let sources = format!("%acc, {distance}, 31, {mask}");
        let other = code.op("%r", "shfl.sync.bfly.b32", &sources);
        code.line(&format!("xor.b32 %acc, %acc, {other};"));
    } else if rng.bool() {
        let sources = format!("%weight, {from}, 31, {mask}");
        let weight = code.op("%r", "shfl.sync.idx.b32", &sources);
        code.line(&format!("mad.lo.s32 %acc, %acc, {weight}, 1;"));
    }
}

/// The results of the threads, and for each warp, the threads that panic first.
type Outcome = (Vec<u32>, [Vec<(usize, [u64; 3])>; 3]);

fn run(text: &str, xs: &[u32], count: u32, rows: bool) -> Outcome {
    let device = Device::new(text);
    let from = device.upload(xs);
    let to = device.upload(&vec![1u32; 256]);
    let report = device.upload(&[[u64::MAX; 3]; 96]);
    let params = Params::new().u64(from).u64(LEN.into()).u64(to).u64(0);
    let params = params.u64(report).u32(count);
    let block = if rows { [48, 2, 1] } else { [64, 1, 1] };
    device.launch_blocks("k", 1, block, params).unwrap();
    let reports: Vec<[u64; 3]> = device.download(report, 96);
    let first = [0, 1, 2].map(|warp| {
        let reports = reports.iter().copied().enumerate().skip(32 * warp).take(32);
        let iteration = reports
            .clone()
            .map(|(_, [_, iteration, _])| iteration)
            .min();
        let panics = |&(_, report): &(usize, [u64; 3])| report != [u64::MAX; 3];
        // Of several checks of an iteration, the first one that fails is the first panic.
        let reports = reports.filter(panics);
        reports
            .filter(|(_, report)| Some(report[1]) == iteration)
            .collect()
    });
    let results = match first.iter().all(Vec::is_empty) {
        true => device.download(to, 256),
        // The results of other lanes depend on the time of a panic.
        false => Vec::new(),
    };
    (results, first)
}

#[test]
fn checks_between_shuffles_give_the_same_results_and_first_panics() {
    let (seed, kernels) = settings(300);
    let (mut voted, mut moved) = (0, 0);
    for seed in seed.map_or(0..kernels, |seed: u64| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let Kernel {
            text,
            loops,
            obstacle,
            late,
            before_last,
        } = kernel(&mut rng);
        let [plain, fast] = before_and_after(&text, &[(0, 4), (2, 4)], &[]);
        let context = || format!("seed {seed}: {obstacle:?}, late {late}\n{text}\n{fast}");
        // The shuffles before the first check, in the entry for most launches.
        let start = &fast[fast.rfind(".entry").unwrap()..];
        let start = &start[start.find("shfl").unwrap()..];
        let early = start[..start.find("bra").unwrap()].matches("shfl").count();
        if !matches!(obstacle, Obstacle::None | Obstacle::Launch) {
            assert!(!fast.contains("vote") && early == 1, "{}", context());
        } else if loops {
            assert!(fast.contains("vote.sync.all"), "{}", context());
            voted += 1;
        } else if !late {
            // One branch has up to eight checks.
            assert!(early >= before_last.min(8), "{}", context());
            moved += 1;
        }
        // A lane that has exited has no value for the others.
        if matches!(obstacle, Obstacle::Exit | Obstacle::Count | Obstacle::Start) {
            continue;
        }
        let wrong = rng.u32(..3);
        let xs: Vec<u32> = (0..LEN)
            .map(|_| match rng.u32(..40) < wrong {
                true => LEN - 40 + rng.u32(..48),
                false => rng.u32(..LEN - 62),
            })
            .collect();
        for count in 1..6 {
            let rows = matches!(obstacle, Obstacle::Rows | Obstacle::Launch);
            let outcomes = [&plain, &fast].map(|text| run(text, &xs, count, rows));
            assert_eq!(outcomes[1], outcomes[0], "{}", context());
        }
    }
    if seed.is_none() {
        assert!(voted > 0 && moved > 0, "{voted} {moved}");
    }
}
