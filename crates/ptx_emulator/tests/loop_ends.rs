//! Runs loops with two counters and several exits before and after `ptx::finish` lets them end by one
//! counter, and loops that convert integers in each iteration: all threads must have the same results.

mod common;

use common::generator::settings;
use common::{Device, Params, before_and_after, module};
use fastrand::Rng;

const THREADS: usize = 8;

/// What ends a loop.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// Words with certain bits, or the last value of a counter.
    Several,
    /// A counter that reaches a greater value in steps of 1.
    Value,
    /// A counter that is too close to a value for another step.
    Step,
    /// A counter that reaches a converted value.
    Converted,
}

/// Returns a kernel in which each thread adds up words until the loop ends.
fn kernel(rng: &mut Rng, end: End) -> String {
    let single = end != End::Several;
    let mut pick = |all: &[&str]| all[rng.usize(..all.len())].to_owned();
    let by = pick(match end {
        End::Several => &["1", "-1", "4", "-4"],
        End::Value => &["1"],
        End::Step | End::Converted => &["1", "2", "8", "3", "4096"],
    });
    let against = pick(&["1", "-1", "4", "-4"]);
    let counter = format!("add.s64 %n, %n, {by};");
    let other = format!("add.s64 %i, %i, {against};");
    let mut last = pick(&["%last", "%last", "7", "0"]);
    let mut ends = pick(&["setp.ne.s64", "setp.ne.s64", "setp.eq.s64", "setp.lt.s64"]);
    if single {
        "%last".clone_into(&mut last);
        if ends == "setp.lt.s64" {
            "setp.ne.s64".clone_into(&mut ends);
        }
    }
    let operands = match pick(&["", "", "swapped"]).as_str() {
        "" => format!("%n, {last}"),
        _ => format!("{last}, %n"),
    };
    let compares = format!("{ends} %more, {operands};");
    let mut latch = vec![counter, other, compares];
    rng.shuffle(&mut latch);
    let mut pick = |all: &[&str]| all[rng.usize(..all.len())].to_owned();
    let mut bound = String::new();
    if end == End::Step {
        // `last - by`, or 0 if that is negative. Sometimes one more or less.
        let subtract = pick(&["add.s64 %less, %last, -", "sub.s64 %less, %last, "]);
        let by: u64 = by.parse().unwrap();
        let off = pick(&["0", "0", "0", "1"]).parse::<u64>().unwrap();
        let enough = off + pick(&["0", "0", "0", "1"]).parse::<u64>().unwrap();
        bound = format!(
            "setp.gt.u64 %big, %last, {};
            {subtract}{};
            selp.b64 %bound, %less, 0, %big;",
            by + enough - 1,
            by + off
        );
        ends = pick(&["setp.lt.u64", "setp.lt.u64", "setp.ge.u64"]);
        let compares = format!("{ends} %more, %n, %bound;");
        let step = format!("add.s64 %n, %n, {by};");
        let moved = format!("add.s64 %next, %n, {by}; mov.u64 %copy, %next; mov.u64 %n, %copy;");
        let step = pick(&[&step, &moved]);
        latch = vec![format!("add.s64 %i, %i, {against};"), compares, step];
    }
    let branch = match ends.as_str() {
        "setp.eq.s64" | "setp.ge.u64" => "@!%more bra $loop;",
        _ => "@%more bra $loop;",
    };
    let mut pick = |all: &[&str]| all[rng.usize(..all.len())].to_owned();
    // What the loop starts from, and whether another branch leads to it.
    let before = pick(&[
        "",
        "",
        "setp.eq.s32 %found, %value, 3;\n@%found bra $end;",
        "setp.eq.s32 %found, %value, 3;\n@%found bra $loop;\nadd.s64 %i, %i, 1;",
    ]);
    let exit = pick(&["63", "127", "-1"]);
    let second = pick(&["", "setp.gt.s64 %q, %i, 4000;\n@%q bra $end;"]);
    let exits = match single {
        // The loop only loads.
        true => "ld.global.u32 %j, [%at+24];\nadd.s32 %sum, %sum, %j;".to_owned(),
        false => format!(
            "and.b32 %bits, %bits, {exit};
            setp.eq.s32 %found, %bits, 0;
            @%found bra $end;
            {second}
            add.s32 %j, %j, 1;
            setp.gt.u32 %left, %j, 300;
            @%left bra $end;"
        ),
    };
    let after = pick(&["", "", "cvt.u32.u64 %m, %n;\nadd.s32 %sum, %sum, %m;"]);
    let body = format!(
        "
        .reg .pred %found, %q, %more, %left, %big;
        .reg .b32 %tid, %value, %bits, %sum, %m, %j;
        .reg .b64 %from, %to, %n, %i, %last, %at, %byte, %bound, %less, %next, %copy;
        ld.param.u64 %from, [k_param_0];
        ld.param.u64 %to, [k_param_1];
        mov.u32 %tid, %tid.x;
        mul.wide.u32 %at, %tid, 32;
        add.s64 %at, %from, %at;
        ld.global.u64 %n, [%at];
        ld.global.u64 %i, [%at+8];
        ld.global.u64 %last, [%at+16];
        ld.global.u32 %value, [%at+24];
        mov.u32 %sum, 0;
        mov.u32 %j, 0;
        {bound}
        {before}
    $loop:
        cvt.u32.u64 %bits, %i;
        xor.b32 %bits, %bits, %value;
        mul.lo.s32 %bits, %bits, 1664525;
        shr.u32 %bits, %bits, 9;
        add.s32 %sum, %sum, %bits;
        {exits}
        {}
        {branch}
    $end:
        {after}
        cvt.u32.u64 %m, %i;
        mul.wide.u32 %at, %tid, 16;
        add.s64 %at, %to, %at;
        st.global.u32 [%at], %sum;
        st.global.u32 [%at+4], %m;
        st.global.u32 [%at+8], %j;
        ret;",
        latch.join("\n")
    );
    module("", ".param .u64 k_param_0, .param .u64 k_param_1", &body)
}

/// Returns a kernel with two nested loops, of which the inner one converts its bound and another
/// integer. Both may change in either loop, and may be read before they are converted.
fn converted(rng: &mut Rng) -> String {
    let mut pick = |all: &[&str]| all[rng.usize(..all.len())].to_owned();
    let conversion = "cvt.u32.u64 %low, %last;\ncvt.u64.u32 %wide, %word;";
    let compares = "setp.lt.u32 %more, %j, %low;";
    let steps = "add.s32 %j, %j, 1;";
    let decreases = "add.s64 %last, %last, -1;\nand.b64 %last, %last, 63;\n\
        xor.b32 %word, %word, 5;";
    let change = pick(&["", "", "", decreases]);
    let order = pick(&["converts", "converts", "compares", "mixed"]);
    let latch = match order.as_str() {
        "converts" => [steps, &change, conversion, compares].join("\n"),
        "compares" => [compares, steps, conversion, &change].join("\n"),
        _ => [conversion, &change, steps, compares].join("\n"),
    };
    // Another branch to the loop, which does not pass through the block before it.
    let enters = pick(&["", "", "@%found bra $inner;\nadd.s32 %sum, %sum, 5;"]);
    let second = pick(&[
        "",
        "",
        "setp.gt.u32 %found, %sum, 40000;\n@%found bra $end;",
    ]);
    let body = format!(
        "
        .reg .pred %found, %more;
        .reg .b32 %tid, %value, %sum, %low, %word, %j, %rounds;
        .reg .b64 %from, %to, %last, %wide, %total, %at;
        ld.param.u64 %from, [k_param_0];
        ld.param.u64 %to, [k_param_1];
        mov.u32 %tid, %tid.x;
        mul.wide.u32 %at, %tid, 32;
        add.s64 %at, %from, %at;
        ld.global.u64 %last, [%at+16];
        mov.u32 %sum, 0;
        mov.u64 %total, 0;
        mov.u32 %word, %tid;
        mov.u32 %rounds, 0;
    $outer:
        and.b64 %last, %last, 63;
        mov.u32 %j, 0;
        setp.eq.s64 %found, %last, 3;
        {enters}
    $inner:
        ld.global.u32 %value, [%at+24];
        mad.lo.s32 %sum, %sum, 3, %value;
        and.b32 %sum, %sum, 65535;
        add.s64 %total, %total, %wide;
        {second}
        {latch}
        @%more bra $inner;
        add.s64 %last, %last, 7;
        add.s32 %word, %word, 9;
        add.s32 %rounds, %rounds, 1;
        setp.lt.u32 %found, %rounds, 3;
        @%found bra $outer;
    $end:
        mul.wide.u32 %at, %tid, 16;
        add.s64 %at, %to, %at;
        st.global.u32 [%at], %sum;
        st.global.u32 [%at+4], %j;
        add.s64 %total, %total, %last;
        st.global.u64 [%at+8], %total;
        ret;"
    );
    module("", ".param .u64 k_param_0, .param .u64 k_param_1", &body)
}

/// Runs random kernels before and after, and requires that `is_replaced` holds for several.
fn compare(end: End, is_replaced: impl Fn(&str, &str) -> bool) {
    let (seed, count) = settings(150);
    let mut replaced = 0;
    for seed in seed.map_or(0..count, |seed: u64| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = match end {
            End::Converted => converted(&mut rng),
            _ => kernel(&mut rng, end),
        };
        let [plain, fast] = before_and_after(&text, &[], &[]);
        replaced += u64::from(is_replaced(&plain, &fast));
        let words: Vec<u64> = (0..THREADS)
            .flat_map(|_| {
                let n = rng.i64(if end == End::Step { 0..40 } else { -40..40 });
                let last = match end {
                    End::Several => n + rng.i64(-20..20),
                    End::Value => n + rng.i64(1..20),
                    End::Step | End::Converted => rng.i64(0..60),
                };
                [n, rng.i64(-40..40), last, rng.i64(..) & 7]
            })
            .map(|word| word as u64)
            .collect();
        let run = |text: &str| {
            let device = Device::new(text);
            let to = device.upload(&[0u32; 4 * THREADS]);
            let params = Params::new().u64(device.upload(&words)).u64(to);
            device.launch("k", 1, THREADS as u32, params).unwrap();
            device.download::<u32>(to, 4 * THREADS)
        };
        assert_eq!(run(&fast), run(&plain), "seed {seed}\n{text}\n{fast}");
    }
    assert!(
        replaced > count / 8 || seed.is_some(),
        "{replaced} of {count} loops are replaced"
    );
}

#[test]
fn loops_end_by_one_counter() {
    let counters = |text: &str| text.matches("add.s64 %n,").count();
    compare(End::Several, |plain, fast| counters(fast) < counters(plain));
}

#[test]
fn loops_count_down() {
    compare(End::Value, |_, fast| fast.contains("sub.s64 %x"));
}

#[test]
fn loops_with_steps_count_down() {
    compare(End::Step, |_, fast| fast.contains("shr.u64 %x"));
}

#[test]
fn integers_are_converted_before_loops() {
    compare(End::Converted, |_, fast| fast.contains("mov.b32 %low, %x"));
}
