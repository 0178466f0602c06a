//! Checks are tested together, and taken out of loops.

use ptx::{Purpose, Slice, stack};

const PANIC: &str = ".version 8.7\n.target sm_90\n.address_size 64\n
    .func panic(.param .b64 index) .noreturn { exit; }";

/// The kernel's body after the passes for speed.
fn optimized(body: &str) -> String {
    finished(body, false)
}

/// The same, with the passes that are not the default or without.
fn finished(body: &str, experiment: bool) -> String {
    let text = format!(
        "{PANIC}\n.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, \
         .param .u64 k_param_2, .param .u64 k_param_3) {{\n{body}\n}}"
    );
    let slices = [0, 2].map(|pointer| Slice {
        kernel: "k".to_owned(),
        pointer,
        length: pointer + 1,
        element: 4,
    });
    let purpose = match experiment {
        true => Purpose::Experiment(&slices),
        false => Purpose::Speed(&slices),
    };
    let options = stack::Options::default();
    let finished = ptx::finish(&text, &[], purpose, &options).unwrap();
    let start = finished.text.find(".entry k").unwrap();
    finished.text[start..].to_owned()
}

/// The lines from the one that contains `from` to the one that contains `to`.
fn lines(text: &str, from: &str, to: &str) -> Vec<String> {
    let mut lines = text.lines().map(|line| line.trim().to_owned());
    let first = lines.find(|line| line.contains(from)).unwrap();
    let mut found = vec![first];
    for line in lines {
        found.push(line.clone());
        if line.contains(to) {
            return found;
        }
    }
    panic!("{to} is not in\n{text}");
}

/// Calls the panic with a register.
fn panic_with(label: &str, register: &str) -> String {
    format!("{label}: {{ .param .b64 a; st.param.b64 [a], {register}; call.uni panic, (a); }}\n")
}

#[test]
fn checks_in_a_row_are_one_branch() {
    let body = "
        .reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [k_param_0]; ld.param.u64 %rd2, [k_param_1];
        mov.u32 %r1, %tid.x; cvt.u64.u32 %rd3, %r1;
        setp.lt.u64 %p1, %rd3, %rd2; @!%p1 bra $A;
        add.s64 %rd4, %rd1, %rd3; st.u8 [%rd4], 1;
        add.s64 %rd5, %rd3, 1;
        setp.ge.u64 %p2, %rd5, %rd2; @%p2 bra $B;
        st.u8 [%rd4+1], 2;
        ret;\n"
        .to_owned()
        + &panic_with("$A", "%rd3")
        + &panic_with("$B", "%rd5");
    let text = optimized(&body);
    let hot = lines(&text, "setp.lt.u64 %p1", "ret;");
    let expected = [
        "setp.lt.u64 %p1, %rd3, %rd2;",
        "add.s64 %rd5, %rd3, 1;",
        "setp.ge.u64 %p2, %rd5, %rd2;",
        "not.pred %x6, %p2;",
        "and.pred %x7, %p1, %x6;",
        "@!%x7 bra $L__X5;",
        "add.s64 %rd4, %rd1, %rd3;",
        "st.u8 [%rd4], 1;",
        "st.u8 [%rd4+1], 2;",
        "ret;",
    ];
    assert_eq!(hot, expected, "{text}");
    // Where one fails, what precedes it is done first.
    let cold = lines(&text, "$L__X5:", "bra $B");
    assert!(cold.contains(&"@!%p1 bra $A;".to_owned()), "{text}");
    assert!(cold.contains(&"st.u8 [%rd4], 1;".to_owned()), "{text}");
}

/// A sum over the first slice, from 0 to its second parameter's value.
fn sum(step: &str, load: &str) -> String {
    format!(
        "
        .reg .pred %p<5>; .reg .b32 %r<5>; .reg .b64 %rd<12>;
        ld.param.u64 %rd1, [k_param_0]; cvta.to.global.u64 %rd1, %rd1;
        ld.param.u64 %rd2, [k_param_1]; ld.param.u64 %rd3, [k_param_2];
        cvta.to.global.u64 %rd3, %rd3; ld.param.u64 %rd4, [k_param_3];
        mov.u64 %rd5, 0; mov.u32 %r1, 0;
    $loop:
        setp.lt.u64 %p1, %rd5, %rd2; @!%p1 bra $A;
        shl.b64 %rd7, %rd5, 2; add.s64 %rd8, %rd1, %rd7;
        {load}
        add.s64 %rd9, %rd5, {step};
        setp.lt.u64 %p2, %rd9, %rd4;
        mov.u64 %rd5, %rd9;
        @%p2 bra $loop;
        st.global.u32 [%rd3], %r1;
        ret;\n"
    )
}

#[test]
fn checks_of_a_counter_are_tested_in_front_of_the_loop() {
    let load = "ld.global.nc.u32 %r2, [%rd8]; add.s32 %r1, %r1, %r2;";
    let text = optimized(&(sum("1", load) + &panic_with("$A", "%rd5")));
    let ahead = lines(&text, "mov.u32 %r1, 0", "@!").join("\n");
    assert!(ahead.contains("setp.le.u64"), "{text}");
    assert!(ahead.ends_with("bra $loop;"), "{text}");
    // The copy goes back to itself without another branch.
    let after = &text[text
        .find(&ahead.lines().last().unwrap().to_owned())
        .unwrap()..];
    let copy = lines(after, ":", "bra");
    assert!(
        copy[0].starts_with("$L__X")
            && copy
                .last()
                .unwrap()
                .ends_with(&format!(" bra {};", copy[0].trim_end_matches(':'))),
        "{text}"
    );
    // The original is still there.
    assert!(text.contains("@!%p1 bra $A;"), "{text}");
}

#[test]
fn indices_from_memory_are_checked_four_at_a_time() {
    let load = "ld.global.nc.u32 %r2, [%rd8]; cvt.u64.u32 %rd10, %r2;
        setp.lt.u64 %p3, %rd10, %rd4; @!%p3 bra $B;
        shl.b64 %rd11, %rd10, 2; add.s64 %rd11, %rd3, %rd11;
        ld.global.nc.u32 %r3, [%rd11]; add.s32 %r1, %r1, %r3;";
    let body = sum("1", load) + &panic_with("$A", "%rd5") + &panic_with("$B", "%rd10");
    let text = optimized(&body);
    // Four indices, one branch, four loads.
    let loads = |text: &str| text.matches("ld.global.nc").count();
    let first = text
        .find("setp.gt.u64")
        .expect("the test of the iterations that are left");
    let chunk: Vec<&str> = text[first..].split("bra ").collect();
    assert_eq!([loads(chunk[1]), loads(chunk[2])], [4, 4], "{text}");
}

#[test]
fn loops_that_store_keep_the_order() {
    let load = "ld.global.nc.u32 %r2, [%rd8]; cvt.u64.u32 %rd10, %r2;
        setp.lt.u64 %p3, %rd10, %rd4; @!%p3 bra $B;
        st.global.u32 [%rd3], %r2;";
    let body = sum("1", load) + &panic_with("$A", "%rd5") + &panic_with("$B", "%rd10");
    assert!(!optimized(&body).contains("setp.gt.u64"));
}

#[test]
fn barriers_are_not_copied() {
    let load = "bar.sync 0; ld.global.nc.u32 %r2, [%rd8]; add.s32 %r1, %r1, %r2;";
    let text = optimized(&(sum("1", load) + &panic_with("$A", "%rd5")));
    assert_eq!(text.matches("bar.sync").count(), 1, "{text}");
}

#[test]
fn arrays_of_loops_with_known_iterations_are_registers() {
    // `for x in [5, 6] { atomic.fetch_add(x) }`, as libnvvm leaves it.
    let body = "
        .local .align 8 .b8 depot[8];
        .reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<9>;
        mov.u64 %rd1, depot;
        ld.param.u64 %rd2, [k_param_0];
        mov.u32 %r1, 5; mov.u32 %r2, 6;
        st.local.v2.u32 [%rd1], {%r1, %r2};
        mov.u64 %rd3, 0;
        mov.u64 %rd4, %rd3;
    $loop:
        add.s64 %rd5, %rd1, %rd4;
        ld.local.u32 %r3, [%rd5];
        red.global.add.u32 [%rd2], %r3;
        add.s64 %rd3, %rd3, 1;
        add.s64 %rd4, %rd4, 4;
        setp.ne.s64 %p1, %rd3, 2;
        @%p1 bra $loop;
        ret;";
    let text = finished(body, true);
    assert!(!text.contains("local") && !text.contains("bra"), "{text}");
    assert_eq!(text.matches("red.global.add").count(), 2, "{text}");
    // Otherwise ptxas decides.
    assert!(optimized(body).contains("ld.local"));
    let dynamic = body.replace("mov.u64 %rd3, 0;", "ld.param.u64 %rd3, [k_param_1];");
    assert!(finished(&dynamic, true).contains("ld.local"));
}

#[test]
fn accesses_get_the_space_of_their_address() {
    let body = "
        .shared .align 4 .b8 counts[1024];
        .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<12>;
        ld.param.u64 %rd1, [k_param_0];
        mov.u64 %rd2, counts;
        cvta.shared.u64 %rd3, %rd2;
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd4, %r1, 4;
        add.s64 %rd5, %rd3, %rd4;
        atom.relaxed.cta.add.u32 %r2, [%rd5+4], 1;
        setp.eq.s32 %p1, %r1, 0;
        mov.u64 %rd6, 0;
        @%p1 bra $null;
        add.s64 %rd6, %rd1, %rd4;
    $null:
        setp.eq.s64 %p2, %rd6, 0;
        @%p2 bra $end;
        ld.u32 %r3, [%rd6];
        selp.b64 %rd7, %rd5, %rd6, %p1;
        st.u32 [%rd7], %r3;
    $end:
        ret;";
    let text = finished(body, true);
    assert!(
        text.contains("atom.relaxed.cta.shared.add.u32 %r2, [%x"),
        "{text}"
    );
    assert!(text.contains("ld.global.u32 %r3, [%x"), "{text}");
    // It may be in either.
    assert!(text.contains("st.u32 [%rd7], %r3;"), "{text}");
}
