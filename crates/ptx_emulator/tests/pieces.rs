//! Runs kernels whose blocks have a part of a slice each, before and after `ptx::finish` proves that
//! indices are below the length of the whole slice. Results and panics must be the same.

mod common;

use common::generator::{Code, Generator, PANIC, settings};
use common::{Device, Params, before_and_after, module};
use fastrand::Rng;

/// The number of threads of a block.
const THREADS: u32 = 32;

/// Returns a kernel in which each thread adds up some elements of the first slice. The second slice
/// has the length that is divided among the blocks.
fn kernel(rng: &mut Rng) -> String {
    let deviation = rng.u32(..10);
    let mut pick = |number: u32, usual: &str, others: &[&str]| match deviation == number {
        true => others[rng.usize(..others.len())].to_owned(),
        false => usual.to_owned(),
    };
    let by = pick(0, "5", &["4", "6"]);
    let pieces = pick(1, "%excess", &["0", "1", "2"]);
    let extent = pick(2, "%again", &["%xs_len"]);
    let others = ["add.s64 %rest, %rest, 1;", "add.s64 %rest, %rest, -1;"];
    let rest = pick(3, "", &others);
    let others = ["min.u64 %size, %rest, 40;", "mov.u64 %size, %rest;"];
    let size = pick(4, "min.u64 %size, %rest, 32;", &others);
    let relation = pick(5, "ge", &["gt"]);
    let first = pick(6, "0", &["1", "-1"]);
    let step = pick(7, "8", &["16"]);
    let mut body = format!(
        "
        .reg .b64 %xs, %xs_len, %xs_param, %out, %out_len, %again, %to, %zero, %quotient, %mask;
        .reg .b64 %excess, %pieces, %piece, %start, %rest, %size, %t, %index<3>;
        .reg .b32 %sum, %x<3>;
        .reg .b64 %near<3>, %far<3>, %offset<3>, %at<3>;
        .reg .pred %skip<3>, %check<3>;
        ld.param.u64 %xs_param, [k_param_0];
        cvta.to.global.u64 %xs, %xs_param;
        ld.param.u64 %xs_len, [k_param_1];
        ld.param.u64 %out_len, [k_param_3];
        ld.param.u64 %to, [k_param_4];
        cvta.to.global.u64 %to, %to;
        mov.u64 %zero, 0;
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %ctaid.x;
        mad.lo.s32 %r3, %r2, {THREADS}, %r1;
        mad.wide.u32 %to, %r3, 32, %to;
        shr.u64 %quotient, %out_len, 5;
        and.b64 %mask, %out_len, 31;
        setp.ne.s64 %p1, %mask, 0;
        selp.u64 %excess, 1, 0, %p1;
        add.s64 %pieces, %quotient, {pieces};
        cvt.u64.u32 %piece, %r2;
        setp.ge.u64 %p2, %piece, %pieces;
        @%p2 bra $done;
        cvt.u64.u32 %t, %r1;
        ld.param.u64 %again, [k_param_3];
        shl.b64 %start, %piece, {by};
        sub.s64 %rest, {extent}, %start;
        {rest}
        {size}
        mov.u32 %sum, 7;
        "
    );
    for i in 0..3 {
        body += &format!(
            "
            add.s64 %near{i}, %t, {};
            setp.{relation}.u64 %skip{i}, %near{i}, %size;
            @%skip{i} bra $next{i};
            add.s64 %far{i}, %start, %near{i};
            add.s64 %index{i}, %far{i}, {};
            setp.lt.u64 %check{i}, %index{i}, %xs_len;
            @!%check{i} bra $P{i};
            shl.b64 %offset{i}, %index{i}, 2;
            add.s64 %at{i}, %xs, %offset{i};
            ld.global.nc.u32 %x{i}, [%at{i}];
            mad.lo.s32 %sum, %sum, 31, %x{i};
            $next{i}:
            ",
            ["0", "4", &step][i],
            if i == 2 { &first } else { "0" }
        );
    }
    body += "
        st.global.u32 [%to], %sum;
        $done:
        ret;
        ";
    let mut code = Code::default();
    for (number, index) in (0..).zip(["%index0", "%index1", "%index2"]) {
        code.add_panic("panic", "%to", number, index, "%xs_len");
    }
    body += &code.panics;
    let params: Vec<String> = (0..5).map(|n| format!(".param .u64 k_param_{n}")).collect();
    module(PANIC, &params.join(", "), &body)
}

#[test]
fn elements_of_parts_have_the_same_results() {
    const BLOCKS: u32 = 5;
    let (seed, kernels) = settings(300);
    let mut proven = 0;
    for seed in seed.map_or(0..kernels, |seed: u64| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = kernel(&mut rng);
        let [plain, fast] = before_and_after(&text, &[(0, 4), (2, 4)], &[]);
        proven += u64::from(fast.matches(", 0, 0;").count() >= 2);
        for _ in 0..12 {
            let len = rng.usize(1..150);
            let xs_len = match rng.u32(..3) {
                0 => len,
                1 => len + rng.usize(..70),
                _ => rng.usize(1..=len),
            };
            let xs: Vec<u32> = (0..xs_len).map(|_| rng.u32(..)).collect();
            let out = vec![0u32; len];
            let run = |text: &str| -> Result<Vec<u64>, String> {
                let device = Device::new(text);
                let to = device.upload(&vec![0u64; 4 * (THREADS * BLOCKS) as usize]);
                let params = Params::new()
                    .u64(device.upload(&xs))
                    .u64(xs.len() as u64)
                    .u64(device.upload(&out))
                    .u64(out.len() as u64)
                    .u64(to);
                let launched = device.launch("k", BLOCKS, THREADS, params);
                launched.map_err(|fault| fault.to_string())?;
                Ok(device.download(to, 4 * (THREADS * BLOCKS) as usize))
            };
            let (expected, found) = (run(&plain), run(&fast));
            assert_eq!(
                found, expected,
                "seed {seed}: {xs_len} {len}\n{text}\n{fast}"
            );
        }
    }
    assert!(
        proven > kernels / 10 || seed.is_some(),
        "{proven} of {kernels} are proven"
    );
}
