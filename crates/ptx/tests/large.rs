//! The time that `ptx::finish` takes for large kernels.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use ptx::{Purpose, Slice, stack};

/// Returns a kernel with a number of loops of different kinds, whose bodies are `count` in all.
fn loops(count: usize) -> String {
    let mut body = String::new();
    let mut panics = String::new();
    for k in 0..count {
        // A counter, which a check may compare with a length.
        let _ = writeln!(body, "mov.u64 %i{k}, %rd5;\n$L{k}:");
        let kind = k % 5;
        if kind == 0 {
            let _ = writeln!(
                body,
                "setp.ge.u64 %c{k}, %i{k}, %rd2;
                @%c{k} bra $P{k};"
            );
            let _ = writeln!(
                panics,
                "$P{k}: {{ .param .b64 a; st.param.b64 [a], {k}; call.uni panic, (a); }}"
            );
        }
        let _ = writeln!(
            body,
            "shl.b64 %b{k}, %i{k}, 2;
            add.s64 %a{k}, %rd1, %b{k};
            ld.global.f32 %f{k}, [%a{k}];"
        );
        let step = match kind {
            // Loads start before divisions, and strides are unrolled.
            1 => {
                let _ = writeln!(body, "div.rn.f32 %f{k}, %f{k}, %sum;");
                "1"
            }
            2 => "%rd2",
            _ => "1",
        };
        let _ = writeln!(body, "add.rn.f32 %sum, %sum, %f{k};");
        let _ = match kind {
            // The sum of the counter and an invariant ends the loop.
            3 => writeln!(
                body,
                "add.s64 %i{k}, %i{k}, {step};
                add.s64 %n{k}, %i{k}, %rd4;
                setp.ne.s64 %p{k}, %n{k}, 0;"
            ),
            _ => writeln!(
                body,
                "add.s64 %i{k}, %i{k}, {step};
                setp.lt.u64 %p{k}, %i{k}, %rd4;"
            ),
        };
        let _ = writeln!(body, "@%p{k} bra $L{k};");
    }
    kernel(count, &body, &panics)
}

/// Returns a kernel with a loop around `count` conditional counters.
fn counters(count: usize) -> String {
    let mut body = "$outer: ld.global.u32 %r2, [%rd1];\n".to_owned();
    for k in 0..count {
        let _ = writeln!(
            body,
            "setp.eq.s32 %p{k}, %r2, {k};
            @%p{k} bra $S{k};
            add.s64 %i{k}, %i{k}, 1;
            $S{k}:"
        );
    }
    body += "add.s64 %rd5, %rd5, 1;\nsetp.lt.u64 %c0, %rd5, %rd4;\n@%c0 bra $outer;\n";
    for k in 0..count {
        let _ = writeln!(body, "st.global.u64 [%rd3+{}], %i{k};", 8 * k);
    }
    kernel(count, &body, "")
}

/// Returns a kernel with a network of predicates, and a chain of sums that are compared, both with
/// `count` levels: the number of paths through them doubles or triples with each level.
fn levels(count: usize) -> String {
    let mut body = "
        setp.gt.u64 %p0, %rd5, %rd2;
        setp.gt.u64 %c0, %rd5, %rd4;
        mov.u32 %r2, %nctaid.x;
        cvt.u64.u32 %i0, %r1;
        "
    .to_owned();
    for k in 1..count {
        let before = k - 1;
        let _ = writeln!(
            body,
            "and.pred %p{k}, %p{before}, %c{before};
            or.pred %c{k}, %p{before}, %c{before};
            mad.lo.s64 %i{k}, %i{before}, %i{before}, %i{before};
            setp.lt.u64 %q{k}, %i{k}, %rd2;
            @%q{k} bra $end;"
        );
    }
    let last = count - 1;
    let _ = writeln!(body, "@%p{last} bra $end;\nst.global.u64 [%rd3], %i{last};");
    kernel(count, &body, "")
}

fn kernel(count: usize, body: &str, panics: &str) -> String {
    format!(
        "
        .version 8.7
        .target sm_90
        .address_size 64
        .func panic(.param .b64 place) .noreturn {{ exit; }}
        .visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1,
            .param .u64 k_param_2, .param .u64 k_param_3) {{
            .reg .pred %p<{count}>, %c<{count}>, %q<{count}>;
            .reg .b32 %r<9>;
            .reg .b64 %rd<9>, %i<{count}>, %a<{count}>, %b<{count}>, %n<{count}>;
            .reg .f32 %sum, %f<{count}>;
            ld.param.u64 %rd6, [k_param_0];
            cvta.to.global.u64 %rd1, %rd6;
            ld.param.u64 %rd2, [k_param_1];
            ld.param.u64 %rd7, [k_param_2];
            cvta.to.global.u64 %rd3, %rd7;
            ld.param.u64 %rd4, [k_param_3];
            mov.u32 %r1, %tid.x;
            cvt.u64.u32 %rd5, %r1;
            mov.f32 %sum, 0f3F800000;
            {body}
            st.global.f32 [%rd3], %sum;
            $end:
            ret;
            {panics}
        }}
        "
    )
}

/// Returns the time that the passes for speed take.
fn time(text: &str) -> Duration {
    let slices = [0, 2].map(|pointer| Slice {
        kernel: "k".to_owned(),
        pointer,
        length: pointer + 1,
        element: 4,
    });
    let kernels = ptx::Kernels {
        slices: &slices,
        ..ptx::Kernels::default()
    };
    let start = Instant::now();
    ptx::finish(
        text,
        &[],
        Purpose::Speed(kernels),
        &stack::Options::default(),
    )
    .unwrap();
    start.elapsed()
}

#[test]
fn the_time_grows_about_as_the_kernel_does() {
    // A quadratic pass takes a hundred times as long.
    const FACTOR: u32 = 40;
    const RUNS: u32 = 3;
    for generate in [loops, counters] {
        let (small, large) = (generate(200), generate(2000));
        // Other processes may delay some runs.
        let small = (0..RUNS).map(|_| time(&small)).max().unwrap();
        let large = (0..RUNS).map(|_| time(&large)).min().unwrap();
        assert!(large < FACTOR * small, "{small:?} and {large:?}");
    }
}

#[test]
fn the_time_does_not_grow_with_the_number_of_paths() {
    // It takes milliseconds, and would take years.
    let time = time(&levels(60));
    assert!(time < Duration::from_secs(20), "{time:?}");
}
