//! Ballots, counts and barriers that all threads of a block reach.

use ptx::{Purpose, stack};

/// Returns the kernel after the passes for speed.
fn optimized(directives: &str, body: &str) -> String {
    let text = format!(
        "
        .version 8.7
        .target sm_90
        .address_size 64
        .shared .align 4 .b8 slots[128];
        .shared .align 4 .b8 other[128];
        .func unknown() {{
            ret;
        }}
        .func unknown_of(.param .b64 index) {{
            ret;
        }}
        .func __cuda_std_panic_bounds_check(.param .b64 index) .noreturn {{
            exit;
        }}
        .func __cuda_std_panic_fmt(.param .b64 index) .noreturn {{
            exit;
        }}
        .visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1) {directives} {{
            .reg .pred %p<9>;
            .reg .b32 %r<19>;
            .reg .b64 %rd<9>;
            ld.param.u64 %rd1, [k_param_0];
            cvta.to.global.u64 %rd2, %rd1;
            ld.param.u64 %rd3, [k_param_1];
            mov.u32 %r1, %tid.x;
            mov.u32 %r2, %ctaid.x;
            mov.u32 %r3, -1;
            mov.u32 %r4, 1;
            mul.wide.u32 %rd4, %r1, 4;
            add.s64 %rd5, %rd2, %rd4;
            mov.u64 %rd6, slots;
            add.s64 %rd7, %rd6, %rd4;
            {body}
        }}"
    );
    let options = stack::Options::default();
    let purpose = Purpose::Speed(ptx::Kernels::default());
    let finished = ptx::finish(&text, &[], purpose, &options).unwrap();
    let start = finished.text.find(".entry k").unwrap();
    finished.text[start..].to_owned()
}

const BLOCK: &str = ".reqntid 256, 1, 1";

const BALLOT: &str = "
    {
    .reg .pred %q;
    setp.ne.b32 %q, %r4, 0;
    vote.sync.ballot.b32 %r5, %q, %r3;
    }
    setp.eq.s32 %p1, %r5, -1;
    @%p1 bra $full;
    st.global.u32 [%rd5], 1;
    $full:
    ";

const COUNT: &str = "
    st.shared.u32 [%rd7], %r1;
    {
    .reg .pred %q;
    setp.ne.b32 %q, %r4, 0;
    barrier.red.popc.u32 %r6, 1, %q;
    }
    setp.ne.s32 %p2, %r6, 256;
    @!%p2 bra $all;
    st.global.u32 [%rd5], 2;
    $all:
    ld.shared.u32 %r7, [slots];
    st.global.u32 [%rd5], %r7;
    ";

/// Returns the numbers of ballots, counting barriers and other barriers.
fn waits(text: &str) -> [usize; 3] {
    ["vote.sync.ballot", "barrier.red", "barrier.sync"].map(|it| text.matches(it).count())
}

/// Returns the numbers of a kernel with a ballot and a count, between `before` and `after`.
fn counted(before: &str, after: &str) -> [usize; 3] {
    let text = optimized(BLOCK, &format!("{before}{BALLOT}{COUNT}{after}"));
    let folded = !text.contains("st.global.u32 [%rd5], 1;");
    assert_eq!(folded, !text.contains("vote.sync.ballot"), "{text}");
    waits(&text)
}

#[test]
fn counts_of_all_threads_are_constants() {
    let text = optimized(BLOCK, &format!("{BALLOT}{COUNT} ret;"));
    assert_eq!(waits(&text), [0, 0, 1], "{text}");
    assert!(text.contains("mov.b32 %r5, -1;"), "{text}");
    assert!(text.contains("mov.b32 %r6, 256;"), "{text}");
    assert!(!text.contains("st.global.u32 [%rd5], 1;"), "{text}");
    assert!(!text.contains("st.global.u32 [%rd5], 2;"), "{text}");
    let barrier = text.find("barrier.sync 1;").unwrap();
    assert!(text.find("st.shared.u32").unwrap() < barrier, "{text}");
    assert!(barrier < text.find("ld.shared.u32").unwrap(), "{text}");
}

#[test]
fn blocks_of_unknown_size_and_partial_warps_are_counted() {
    let body = format!("{BALLOT}{COUNT} ret;");
    assert_eq!(waits(&optimized("", &body)), [1, 1, 0]);
    assert_eq!(waits(&optimized(".maxntid 256, 1, 1", &body)), [1, 1, 0]);
    assert_eq!(waits(&optimized(".reqntid 8, 10, 1", &body)), [1, 0, 1]);
}

#[test]
fn threads_that_may_have_exited_are_counted() {
    // This thread or another one exits before.
    let early = "setp.gt.u32 %p3, %r1, 7; @%p3 bra $go; ret; $go:";
    assert_eq!(counted(early, "ret;"), [1, 1, 0]);
    // All threads of the block exit, or none.
    let uniform = "setp.gt.u32 %p3, %r2, 7; @%p3 bra $go; ret; $go:";
    assert_eq!(counted(uniform, "ret;"), [0, 0, 1]);
    // Some threads exit in two ways, of which the whole block takes the same.
    let two_ways = "
        setp.gt.u32 %p3, %r1, 7; @%p3 bra $go;
        setp.gt.u32 %p4, %r2, 7; @%p4 bra $other;
        st.global.u32 [%rd5], 3; ret;
        $other: st.global.u32 [%rd5], 4; ret;
        $go:";
    assert_eq!(counted(two_ways, "ret;"), [1, 1, 0]);
    // Some threads exit in some blocks.
    let some = "
        setp.gt.u32 %p3, %r1, 7; @%p3 bra $go;
        setp.gt.u32 %p4, %r2, 7; @%p4 bra $go;
        ret;
        $go:";
    assert_eq!(counted(some, "ret;"), [1, 1, 0]);
    // All threads of some blocks exit, behind branches that do not decide it.
    let nested = "
        setp.gt.u32 %p3, %r1, 7; @%p3 bra $joined;
        st.global.u32 [%rd5], 3;
        $joined:
        setp.gt.u32 %p4, %r2, 7; @%p4 bra $go;
        setp.gt.u32 %p5, %r2, 3; @%p5 bra $go;
        ret;
        $go:";
    assert_eq!(counted(nested, "ret;"), [0, 0, 1]);
    let loaded = "ld.global.u32 %r9, [%rd2]; setp.gt.u32 %p3, %r9, 7; @%p3 bra $go; ret; $go:";
    assert_eq!(counted(loaded, "ret;"), [1, 1, 0]);
    let call = "{ .param .b64 a; st.param.b64 [a], %rd3; call.uni unknown_of, (a); }";
    let text = optimized(BLOCK, &format!("{call}{BALLOT}{COUNT} ret;"));
    assert_eq!(waits(&text), [1, 1, 0]);
    // In the second iteration, threads may have left the loop.
    let (start, end) = (
        "$again:",
        "setp.gt.u32 %p3, %r7, %r1; @%p3 bra $again; ret;",
    );
    assert_eq!(counted(start, end), [1, 1, 0]);
    // A condition that changes in a loop is not the same in all threads.
    let steps = "
        mov.u32 %r10, 0;
        $step:
        add.s32 %r10, %r10, 1;
        setp.lt.u32 %p4, %r10, %r1;
        @%p4 bra $step;
        setp.gt.u32 %p3, %r10, 7; @%p3 bra $go; ret; $go:";
    assert_eq!(counted(steps, "ret;"), [1, 1, 0]);
    // A loop before is no exit.
    let steps = &steps[..steps.find("setp.gt").unwrap()];
    assert_eq!(counted(steps, "ret;"), [0, 0, 1]);
}

#[test]
fn ballots_of_whole_warps_are_constants() {
    let stays_in = |directives: &str, leave: &str| {
        let body = format!("{leave} @%p3 bra $go; ret; $go: {BALLOT} ret;");
        waits(&optimized(directives, &body))[0] > 0
    };
    let stays = |leave: &str| stays_in(BLOCK, leave);
    // All lanes of a warp exit, or none.
    assert!(!stays("shr.u32 %r8, %r1, 5; setp.gt.u32 %p3, %r8, 2;"));
    assert!(stays("shr.u32 %r8, %r1, 4; setp.gt.u32 %p3, %r8, 2;"));
    assert!(!stays("and.b32 %r8, %r1, -32; setp.gt.u32 %p3, %r8, 2;"));
    assert!(stays("and.b32 %r8, %r1, -16; setp.gt.u32 %p3, %r8, 2;"));
    // The index of a row per warp.
    let row = |index: &str| {
        stays(&format!(
            "{index} shr.u64 %rd8, %rd0, 5; setp.gt.u64 %p3, %rd8, %rd3;"
        ))
    };
    let wide = "cvt.u64.u32 %rd0, %r9;";
    assert!(!row(&format!("mad.lo.s32 %r9, %r2, 256, %r1; {wide}")));
    assert!(row(&format!("mad.lo.s32 %r9, %r2, 48, %r1; {wide}")));
    assert!(!row(&format!(
        "shl.b32 %r8, %r2, 5; add.s32 %r9, %r8, %r1; {wide}"
    )));
    assert!(row(&format!(
        "shl.b32 %r8, %r2, 4; add.s32 %r9, %r8, %r1; {wide}"
    )));
    assert!(!row(&format!(
        "shl.b32 %r8, %r2, 4; or.b32 %r9, %r8, %r1; {wide}"
    )));
    assert!(row(&format!(
        "shl.b32 %r8, %r1, 5; sub.s32 %r9, %r8, %r1; {wide}"
    )));
    assert!(row(&format!("mul.lo.s32 %r9, %r1, 2; {wide}")));
    // A float is no multiple of 32 bits.
    assert!(row(&format!(
        "shl.b32 %r7, %r2, 5; cvt.rn.f32.u32 %r8, %r7; add.s32 %r9, %r8, %r1; {wide}"
    )));
    // Elements that no thread writes.
    let warp = "shr.u32 %r8, %r1, 5; mul.wide.u32 %rd0, %r8, 4; add.s64 %rd8, %rd2, %rd0;";
    let loaded = |load: &str| stays(&format!("{warp} {load}; setp.gt.u32 %p3, %r9, 2;"));
    assert!(!loaded("ld.global.nc.u32 %r9, [%rd8]"));
    assert!(loaded("ld.global.u32 %r9, [%rd8]"));
    assert!(stays(
        "ld.global.nc.u32 %r9, [%rd5]; setp.gt.u32 %p3, %r9, 2;"
    ));
    // The lanes of a warp have different places along the first dimension, and the second.
    let second = "mov.u32 %r8, %tid.y; setp.gt.u32 %p3, %r8, 2;";
    assert!(!stays_in(".reqntid 32, 8, 1", second));
    assert!(stays_in(".reqntid 16, 8, 1", second));
    let first = "shr.u32 %r8, %r1, 5; setp.gt.u32 %p3, %r8, 2;";
    assert!(stays_in(".reqntid 48, 2, 1", first));
    // The threads of a block are counted if only some of its warps are left.
    let body = format!("{first} @%p3 bra $go; ret; $go: {BALLOT}{COUNT} ret;");
    assert_eq!(waits(&optimized(BLOCK, &body)), [0, 1, 0]);
}

/// Returns the numbers of a kernel with a ballot and a count in a loop that ends if `%p3` is false.
fn counted_in_loop(before: &str, end: &str) -> [usize; 3] {
    let before = format!("{before} mov.u32 %r10, 0; $again:");
    let after = format!("add.s32 %r10, %r10, 1; {end} @%p3 bra $again; ret;");
    counted(&before, &after)
}

#[test]
fn counts_in_loops_are_constants() {
    // All threads have the same number of iterations.
    assert_eq!(counted_in_loop("", "setp.lt.u32 %p3, %r10, 9;"), [0, 0, 1]);
    let of_block = "setp.lt.u32 %p3, %r10, %r2;";
    assert_eq!(counted_in_loop("", of_block), [0, 0, 1]);
    let before = "mov.u32 %r11, 0; $outer: mov.u32 %r10, 0; $again:";
    let after = "
        add.s32 %r10, %r10, 1; setp.lt.u32 %p3, %r10, %r11; @%p3 bra $again;
        add.s32 %r11, %r11, 1; setp.lt.u32 %p4, %r11, %r2; @%p4 bra $outer; ret;";
    assert_eq!(counted(before, after), [0, 0, 1]);
    // Threads leave an inner loop at different times, and meet again.
    let inner = "
        mov.u32 %r11, %r1;
        $inner:
        add.s32 %r11, %r11, 32;
        setp.lt.u32 %p4, %r11, %r9;
        @%p4 bra $inner;
        setp.lt.u32 %p3, %r10, 9;";
    assert_eq!(counted_in_loop("", inner), [0, 0, 1]);
    // The whole block leaves.
    let leaves = "
        setp.gt.u32 %p4, %r10, %r2; @%p4 bra $leave;
        setp.lt.u32 %p3, %r10, 9; @%p3 bra $again;
        $leave: ret;
        setp.lt.u32 %p3, %r10, 9;";
    assert_eq!(counted_in_loop("", leaves), [0, 0, 1]);
}

/// Two reductions, each with code for exited threads that waits.
fn reductions() -> String {
    let first = COUNT.replace("[%rd5], 2;", "[%rd5], 2; barrier.sync 1; barrier.sync 1;");
    let second = first.replace("%r6", "%r12").replace("%p2", "%p5");
    let second = second.replace("$all", "$both");
    first + &second
}

#[test]
fn code_for_exited_threads_does_not_run() {
    let loops = "add.s32 %r10, %r10, 1; setp.lt.u32 %p3, %r10, 9; @%p3 bra $again; ret;";
    let body = format!("mov.u32 %r10, 0; $again: {}{loops}", reductions());
    let text = optimized(BLOCK, &body);
    assert_eq!(waits(&text), [0, 0, 2], "{text}");
    // Threads exit behind the second count, so they miss in the next iteration.
    let exit = "setp.lt.u32 %p4, %r1, 7; @%p4 bra $on; ret; $on:";
    let text = optimized(BLOCK, &body.replace(loops, &format!("{exit}{loops}")));
    assert_eq!(waits(&text), [0, 2, 4], "{text}");
    // The first count is one of all threads, but the second one is not.
    let body = reductions().replacen("$all:", &format!("$all: {exit}"), 1) + "ret;";
    let text = optimized(BLOCK, &body);
    assert_eq!(waits(&text), [0, 1, 3], "{text}");
}

#[test]
fn threads_that_may_have_left_a_loop_are_counted() {
    // The number of iterations differs among threads.
    let by_thread = "setp.lt.u32 %p3, %r10, %r1;";
    assert_eq!(counted_in_loop("", by_thread), [1, 1, 0]);
    let loaded = "ld.shared.u32 %r11, [slots]; setp.lt.u32 %p3, %r10, %r11;";
    assert_eq!(counted_in_loop("", loaded), [1, 1, 0]);
    let unwritten = "setp.lt.u32 %p3, %r10, %r18;";
    assert_eq!(counted_in_loop("", unwritten), [1, 1, 0]);
    assert_eq!(counted_in_loop("", ""), [1, 1, 0]);
    // A counter has more steps in some threads.
    let steps = "
        setp.lt.u32 %p4, %r1, 32; @%p4 bra $less;
        add.s32 %r10, %r10, 1;
        $less: setp.lt.u32 %p3, %r10, 9;";
    assert_eq!(counted_in_loop("", steps), [1, 1, 0]);
    let guarded = "setp.lt.u32 %p4, %r1, 32; @%p4 mov.u32 %r10, 9; setp.lt.u32 %p3, %r10, 9;";
    assert_eq!(counted_in_loop("", guarded), [1, 1, 0]);
    let step = "mov.u32 %r12, 1; setp.lt.u32 %p4, %r1, 32; selp.b32 %r12, 2, 1, %p4;";
    let steps = "add.s32 %r10, %r10, %r12; setp.lt.u32 %p3, %r10, 9;";
    assert_eq!(counted_in_loop(step, steps), [1, 1, 0]);
    // Some threads leave the kernel in an iteration, before or behind the count.
    let exits = "
        setp.gt.u32 %p4, %r1, %r10; @%p4 bra $on; ret; $on:
        setp.lt.u32 %p3, %r10, 9;";
    assert_eq!(counted_in_loop("", exits), [1, 1, 0]);
    let panics = "
        setp.gt.u32 %p4, %r1, %r10; @%p4 bra $on;
        { .param .b64 a; st.param.b64 [a], %rd3; call.uni __cuda_std_panic_bounds_check, (a); }
        $on: setp.lt.u32 %p3, %r10, 9;";
    // A panic ends the launch.
    assert_eq!(counted_in_loop("", panics), [0, 0, 1]);
    let calls = "call.uni unknown, (); setp.lt.u32 %p3, %r10, 9;";
    assert_eq!(counted_in_loop("", calls), [1, 1, 0]);
    // Some threads skip the rest of an iteration.
    let skips = "
        setp.lt.u32 %p3, %r10, 9;
        setp.gt.u32 %p4, %r1, %r10; @%p4 bra $again;
        setp.lt.u32 %p3, %r10, 9;";
    assert_eq!(counted_in_loop("", skips), [1, 1, 0]);
    // Another instruction waits at the same barrier, in some threads.
    let waits = "
        setp.lt.u32 %p4, %r1, 32; @%p4 bra $on; barrier.sync 1; $on:
        setp.lt.u32 %p3, %r10, 9;";
    assert_eq!(counted_in_loop("", waits), [0, 1, 1]);
    let other = waits.replace("barrier.sync 1", "barrier.sync 2");
    assert_eq!(counted_in_loop("", &other), [0, 0, 2]);
}

#[test]
fn barriers_that_warps_reach_at_different_places_count() {
    let wait = |count: &str| {
        format!("{{ .reg .pred %q; setp.ne.b32 %q, %r3, 0; {count}, %q; }}")
            .replace("bar.red", "barrier.red.popc.u32 %r9,")
    };
    let part = |number: u32| {
        let wait = wait(&format!("bar.red {number}"));
        format!("setp.lt.u32 %p3, %r1, 32; @%p3 bra $part; {wait} $part:")
    };
    // The other warps wait at the first instruction while this one waits at the second.
    assert_eq!(counted(&part(1), "ret;"), [0, 2, 0]);
    // They then wait at another barrier.
    assert_eq!(counted(&part(2), "ret;"), [0, 1, 1]);
    // They arrive without waiting, or as a part of the block.
    for arrives in ["barrier.arrive 1, 64;", "barrier.sync 1, 64;"] {
        let part = format!("setp.lt.u32 %p3, %r1, 32; @%p3 bra $part; {arrives} $part:");
        let text = optimized(BLOCK, &format!("{part}{COUNT} ret;"));
        assert!(text.contains("barrier.red"), "{text}");
    }
    // All threads wait at it twice.
    assert_eq!(counted(&wait("bar.red 1"), "ret;"), [0, 0, 1]);
}

#[test]
fn other_ballots_and_counts_stay() {
    let part = BALLOT.replace("%r5, %q, %r3", "%r5, %q, %r1");
    assert_eq!(waits(&optimized(BLOCK, &format!("{part} ret;"))), [1, 0, 0]);
    let some = BALLOT.replace("%q, %r4, 0", "%q, %r1, 0");
    assert_eq!(waits(&optimized(BLOCK, &format!("{some} ret;"))), [1, 0, 0]);
    let some = COUNT.replace("%q, %r4, 0", "%q, %r1, 0");
    assert_eq!(waits(&optimized(BLOCK, &format!("{some} ret;"))), [0, 1, 0]);
    let none = COUNT.replace("%q, %r4, 0", "%q, %r8, 0");
    let none = format!("mov.u32 %r8, 0; {none} ret;");
    assert_eq!(waits(&optimized(BLOCK, &none)), [0, 1, 0]);
}

/// Returns the number of barriers of a kernel that waits, stores to shared memory, waits, and loads.
fn first(before: &str, between: &str) -> usize {
    let text = optimized(
        "",
        &format!(
            "{before} barrier.sync 1; st.shared.u32 [%rd7], %r1; {between} barrier.sync 1; \
             ld.shared.u32 %r7, [slots]; st.global.u32 [%rd5], %r7; ret;"
        ),
    );
    waits(&text)[2]
}

#[test]
fn a_first_barrier_before_stores_is_removed() {
    assert_eq!(first("", ""), 1);
    let global = "ld.global.u32 %r8, [%rd5]; st.global.u32 [%rd5+4], %r8;";
    assert_eq!(first(global, ""), 1);
    assert_eq!(first("shfl.sync.up.b32 %r8, %r1, 1, 0, -1;", ""), 1);
}

#[test]
fn a_first_barrier_that_orders_accesses_stays() {
    // Shared memory may be accessed before.
    assert_eq!(first("ld.shared.u32 %r8, [slots];", ""), 2);
    assert_eq!(first("st.shared.u32 [slots], %r1;", ""), 2);
    assert_eq!(
        first("ld.global.u64 %rd1, [%rd5]; st.u32 [%rd1], %r1;", ""),
        2
    );
    assert_eq!(first("call.uni unknown, ();", ""), 2);
    assert_eq!(first("barrier.sync 2;", ""), 3);
    // Before the next barrier, there is more than stores to shared memory.
    assert_eq!(first("", "ld.shared.u32 %r8, [other];"), 2);
    assert_eq!(first("", "st.global.u32 [%rd5], %r1;"), 2);
    assert_eq!(first("", "ld.global.u32 %r8, [%rd5];"), 2);
    assert_eq!(first("", "atom.shared.add.u32 %r8, [slots], 1;"), 2);
    assert_eq!(first("", "barrier.sync 2;"), 3);
    // Not all threads reach it.
    let some = "setp.gt.u32 %p3, %r1, 7; @%p3 bra $go; ret; $go:";
    assert_eq!(first(some, ""), 2);
    let two_ways = "
        setp.gt.u32 %p3, %r1, 7; @%p3 bra $go;
        setp.gt.u32 %p4, %r2, 7; @%p4 bra $other;
        st.global.u32 [%rd5], 3; ret;
        $other: st.global.u32 [%rd5], 4; ret;
        $go:";
    assert_eq!(first(two_ways, ""), 2);
    let exits = "setp.gt.u32 %p3, %r1, 7; @%p3 bra $go; ret; $go:";
    assert_eq!(first("", exits), 2);
}

#[test]
fn one_of_two_barriers_in_a_row_stays() {
    let text = optimized(
        "",
        "st.global.u32 [%rd5], %r1; barrier.sync 1; barrier.sync 1; \
         ld.global.u32 %r7, [%rd2]; st.global.u32 [%rd5+4], %r7; ret;",
    );
    assert_eq!(waits(&text), [0, 0, 1], "{text}");
}

/// Returns the number of barriers of a kernel that stores to shared memory, waits, loads, and
/// waits.
fn last(before: &str, between: &str, after: &str) -> usize {
    let text = optimized(
        "",
        &format!(
            "{before} st.shared.u32 [%rd7], %r1; barrier.sync 2; ld.shared.u32 %r7, [slots]; \
             {between} barrier.sync 2; {after} st.global.u32 [%rd5], %r7; ret;"
        ),
    );
    waits(&text)[2]
}

/// A check whose panic calls a function.
fn check(function: &str) -> String {
    format!(
        "setp.gt.u32 %p3, %r7, 7;
        @%p3 bra $go;
        {{ .param .b64 a; st.param.b64 [a], %rd3; call.uni {function}, (a); }}
        $go:"
    )
}

#[test]
fn a_last_barrier_after_loads_is_removed() {
    assert_eq!(last("", "", ""), 1);
    assert_eq!(last("", "ld.global.nc.u32 %r8, [%rd5];", ""), 1);
    assert_eq!(last("", "", &check("__cuda_std_panic_bounds_check")), 1);
}

#[test]
fn a_last_barrier_that_orders_accesses_stays() {
    // Between the barriers, there is more than loads from shared memory.
    assert_eq!(last("", "ld.global.u32 %r8, [%rd5];", ""), 2);
    assert_eq!(last("", "st.global.u32 [%rd5+4], %r1;", ""), 2);
    assert_eq!(last("", "st.shared.u32 [other], %r1;", ""), 2);
    // Something may store to shared memory after it, or wait.
    assert_eq!(last("", "", "st.shared.u32 [slots], %r1;"), 2);
    assert_eq!(
        last("", "", "ld.global.u64 %rd1, [%rd5]; st.u32 [%rd1], %r1;"),
        2
    );
    assert_eq!(
        last("", "", "barrier.sync 3; st.shared.u32 [other], %r1;"),
        3
    );
    assert_eq!(last("", "", &check("__cuda_std_panic_fmt")), 2);
    assert_eq!(last("", "", "call.uni unknown, ();"), 2);
    // The threads of a block may be at different barriers.
    let some = "setp.gt.u32 %p4, %r1, 7; @%p4 bra $on; barrier.sync 2; $on:";
    assert_eq!(last(some, "", ""), 3);
    let exits = "setp.gt.u32 %p4, %r1, 7; @%p4 bra $on; ret; $on:";
    assert_eq!(last(exits, "", ""), 2);
}
