//! Checks are combined, and hoisted out of loops.

use ptx::{Purpose, Slice, stack};

const PANIC: &str = "
    .version 8.7
    .target sm_90
    .address_size 64
    .func panic(.param .b64 index) .noreturn {
        exit;
    }
    .func other() {
        ret;
    }
    ";

/// Returns the kernel's body after the passes for speed.
fn optimized(body: &str) -> String {
    optimized_with("", body)
}

/// Returns the kernel with a directive and its body after the passes for speed.
fn optimized_with(directive: &str, body: &str) -> String {
    let text = format!(
        "{PANIC}\n.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, \
         .param .u64 k_param_2, .param .u64 k_param_3) {directive} {{\n{body}\n}}"
    );
    let slices = [0, 2].map(|pointer| Slice {
        kernel: "k".to_owned(),
        pointer,
        length: pointer + 1,
        element: 4,
    });
    let options = stack::Options::default();
    let finished = ptx::finish(
        &text,
        &[],
        Purpose::Speed(ptx::Kernels {
            slices: &slices,
            ..ptx::Kernels::default()
        }),
        &options,
    )
    .unwrap();
    let start = finished.text.find(".entry k").unwrap();
    finished.text[start..].to_owned()
}

/// Returns the entry for ordinary launches of a kernel after the passes for speed.
fn entry_for_ordinary_launches(text: &str, kernels: ptx::Kernels<'_>) -> String {
    entry_with_condition(text, kernels).0
}

/// The same, and the condition for it.
fn entry_with_condition(text: &str, kernels: ptx::Kernels<'_>) -> (String, ptx::Condition) {
    entry_for(text, kernels, ptx::Launches::Ordinary).unwrap()
}

/// Returns the entry of a kernel for some launches after the passes for speed, and the condition for
/// it.
fn entry_for(
    text: &str,
    kernels: ptx::Kernels<'_>,
    launches: ptx::Launches,
) -> Option<(String, ptx::Condition)> {
    let options = stack::Options::default();
    let text = ptx::finish(text, &[], Purpose::Speed(kernels), &options)
        .unwrap()
        .text;
    let entry = &text[text.find(&format!(".entry {}(", launches.entry_of("k")))?..];
    let entry = &entry[..entry.find("\n}").unwrap()];
    let variable = format!("{}[", launches.condition_of("k"));
    let variable = &text[text.find(&variable).unwrap()..];
    let bytes = &variable[variable.find('{').unwrap() + 1..variable.find('}').unwrap()];
    let bytes: Vec<u8> = (bytes.split(',').map(|byte| byte.trim().parse().unwrap())).collect();
    let condition = ptx::Condition::decode(&bytes, &[8; 8]).unwrap();
    Some((entry.to_owned(), condition))
}

/// Returns the lines from the one that contains `from` to the one that contains `to`.
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

/// Replaces instructions, whose indentation may differ from that in `body`.
fn replaced(body: &str, from: &str, to: &str) -> String {
    let trimmed = |text: &str| {
        let lines = text.lines().map(str::trim);
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        lines.join("\n")
    };
    let (body, from) = (trimmed(body), trimmed(from));
    assert!(body.contains(&from), "{from} is not in\n{body}");
    body.replace(&from, &trimmed(to))
}

/// Calls the panic function with a register.
fn panic_with(label: &str, register: &str) -> String {
    format!(
        "
        {label}: {{
            .param .b64 a;
            st.param.b64 [a], {register};
            call.uni panic, (a);
        }}
        "
    )
}

#[test]
fn fields_are_loaded_together() {
    let before = "
        .reg .b64 %from, %out, %at, %own;
        .reg .b32 %w<9>;
        cvta.to.global.u64 %from, %b;
        cvta.to.global.u64 %out, %to;";
    // What a thread does that checks the last field of an element of `size` bytes before it loads the
    // others.
    let element = |size: u64| {
        format!(
            "mul.lo.s64 %d6, %i, {size};
            add.s64 %at, %from, %d6;
            mul.lo.s64 %d7, %i, 4;
            add.s64 %own, %out, %d7;
            ld.global.nc.u32 %w4, [%at+12];
            setp.lt.u32 %p3, %w4, 99;
            @%p3 bra $good;
            {}
        $good:
            ld.global.nc.u32 %w5, [%at];
            ld.global.nc.u32 %w6, [%at+4];
            ld.global.nc.u32 %w7, [%at+8];
            add.s32 %w8, %w5, %w6;
            add.s32 %w8, %w8, %w7;
            add.s32 %w8, %w8, %w4;
            st.global.u32 [%own], %w8;",
            panic_with("$bad", "%d6")
        )
    };
    // The loads before the branch, and those behind it.
    let loads = |size: u64, element: &str| {
        let slice = Slice {
            kernel: "k".to_owned(),
            pointer: 2,
            length: 3,
            element: size,
        };
        let text = ordinary_entry_with(&[slice], before, element);
        let check = text.find(", 99;").unwrap();
        [&text[..check], &text[check..]].map(|text| text.matches("ld.global").count())
    };
    assert_eq!(loads(16, &element(16)), [1, 0]);
    assert_eq!(loads(32, &element(32)), [1, 0]);
    // The first two fields are in another part than the last two.
    assert_eq!(loads(24, &element(24)), [1, 1]);
    // Elements of 20 bytes do not consist of whole parts, nor does each fourth one of 4 bytes.
    assert_eq!(loads(20, &element(20)), [1, 3]);
    assert_eq!(loads(4, &element(16)), [1, 2]);
    for (what, from, to, expected) in [
        (
            "another thread may write them",
            "ld.global.nc.u32 %w5, [%at];",
            "ld.global.u32 %w5, [%at];",
            [2, 1],
        ),
        (
            "the address changes",
            "$good:",
            "$good: add.s64 %at, %at, 16;",
            [1, 1],
        ),
        (
            "the register is read before",
            "$good:",
            "$good: add.s32 %w5, %w5, 1; add.s32 %w4, %w4, %w5;",
            [2, 1],
        ),
        (
            "the register is read before, and has no other value",
            "$good:",
            "$good: add.s32 %w8, %w5, 1; st.global.u32 [%own+4], %w8;",
            [2, 1],
        ),
        (
            "the register has another value, too",
            "ld.global.nc.u32 %w4, [%at+12];",
            "setp.lt.u64 %p5, %i, 7; @%p5 mov.u32 %w5, 7; ld.global.nc.u32 %w4, [%at+12];",
            [2, 1],
        ),
        (
            "a choice comes before",
            "$good:",
            "$good: setp.eq.u32 %p4, %w4, 5; @%p4 bra $even; add.s32 %w4, %w4, 3;
            bra $good2; $even: mul.lo.s32 %w4, %w4, 5; $good2:",
            [1, 0],
        ),
        (
            "the address changes in a choice",
            "$good:",
            "$good: setp.eq.u32 %p4, %w4, 5; @%p4 bra $even; add.s64 %at, %at, 16; $even:",
            [1, 1],
        ),
        (
            "the loads run without a panic, too",
            "$good:",
            "$good: setp.eq.u32 %p4, %w4, 5; @%p4 bra $next;",
            [1, 1],
        ),
    ] {
        let text = replaced(&element(16), from, to);
        assert_eq!(loads(16, &text), expected, "{what}");
    }
}

#[test]
fn three_loads_of_an_element_become_a_vector_of_four() {
    let before = "
        .reg .b64 %from, %out, %at, %own;
        .reg .b16 %h<9>;
        .reg .b32 %w<9>;
        cvta.to.global.u64 %from, %b;
        cvta.to.global.u64 %out, %to;";
    // The widths of the loads of a thread every `stride` bytes from a slice of elements of `size` bytes.
    let loads_every = |stride: u64, size: u64, loads: &str| {
        let element = format!(
            "mul.lo.s64 %d6, %i, {stride};
            add.s64 %at, %from, %d6;
            add.s64 %own, %out, %d6;
            add.s64 %own, %own, %a;
            {loads}
            st.global.u32 [%own], %w4;"
        );
        let slice = Slice {
            kernel: "k".to_owned(),
            pointer: 2,
            length: 3,
            element: size,
        };
        let text = ordinary_entry_with(&[slice], before, &element);
        [".v4.", ".v2."].map(|width| text.matches(width).count())
    };
    let loads = |size: u64, loads: &str| loads_every(size, size, loads);
    let [x, y, z, w] =
        [0, 4, 8, 12].map(|at| format!("ld.global.nc.u32 %w{}, [%at+{at}];", 4 + at / 4));
    let add = "add.s32 %w4, %w4, %w5; add.s32 %w4, %w4, %w6;";
    let three = format!("{x} {y} {z} {add}");
    assert_eq!(loads(16, &three), [1, 0]);
    assert_eq!(loads(32, &three), [1, 0]);
    assert_eq!(loads(16, &format!("{x} {y} {z} {w} {add}")), [1, 0]);
    // The last element of the slice may have nothing behind it, also if the first of four elements of 12
    // bytes, or the third one of 20 bytes, is aligned to 16 bytes.
    assert_eq!(loads_every(48, 12, &three), [0, 1]);
    let third = "ld.global.nc.u32 %w4, [%at+48]; ld.global.nc.u32 %w5, [%at+52];
        ld.global.nc.u32 %w6, [%at+56];";
    assert_eq!(loads_every(80, 20, &format!("{third} {add}")), [0, 1]);
    assert_eq!(loads_every(80, 80, &format!("{third} {add}")), [1, 0]);
    assert_eq!(loads(24, &three), [0, 1]);
    assert_eq!(loads(12, &three), [0, 0]);
    // The first or the second one is missing.
    assert_eq!(loads(16, &format!("{y} {z} {w} {add}")), [0, 1]);
    assert_eq!(loads(16, &format!("{x} {z} {w} {add}")), [0, 1]);
    let twice = "ld.global.nc.u32 %w8, [%at];";
    assert_eq!(loads(16, &format!("{x} {twice} {y} {z} {add}")), [1, 0]);
    // Another thread may write the fourth one.
    assert_eq!(loads(16, &three.replace(".nc", "")), [0, 1]);
    let bytes = "ld.global.nc.u8 %h0, [%at]; ld.global.nc.u8 %h1, [%at+1];
        ld.global.nc.u8 %h2, [%at+2]; add.s16 %h0, %h0, %h1; add.s16 %h0, %h0, %h2;
        cvt.u32.u16 %w4, %h0;";
    assert_eq!(loads(4, bytes), [1, 0]);
    assert_eq!(loads(3, bytes), [0, 0]);
}

#[test]
fn consecutive_checks_become_one_branch() {
    let body = "
        .reg .pred %p<4>;
        .reg .b32 %r<4>;
        .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [k_param_0];
        ld.param.u64 %rd2, [k_param_1];
        mov.u32 %r1, %tid.x;
        cvt.u64.u32 %rd3, %r1;
        setp.lt.u64 %p1, %rd3, %rd2;
        @!%p1 bra $A;
        add.s64 %rd4, %rd1, %rd3;
        st.u8 [%rd4], 1;
        add.s64 %rd5, %rd3, 1;
        setp.ge.u64 %p2, %rd5, %rd2;
        @%p2 bra $B;
        st.u8 [%rd4+1], 2;
        ret;
        "
    .to_owned()
        + &panic_with("$A", "%rd3")
        + &panic_with("$B", "%rd5");
    let text = optimized(&body);
    let hot = lines(&text, "setp.lt.u64 %p1", "ret;");
    let expected = [
        "setp.lt.u64 %p1, %rd3, %rd2;",
        "add.s64 %rd5, %rd3, 1;",
        "setp.ge.u64 %p2, %rd5, %rd2;",
        "not.pred %x13, %p2;",
        "and.pred %x14, %p1, %x13;",
        "@!%x14 bra $L__X12;",
        "add.s64 %rd4, %rd1, %rd3;",
        "add.s64 %x4, %x3, %rd3;",
        "st.global.u8 [%x4], 1;",
        "st.global.u8 [%x4+1], 2;",
        "ret;",
    ];
    assert_eq!(hot, expected, "{text}");
    // If a check fails, the preceding code runs first.
    let cold = lines(&text, "$L__X12:", "bra $B");
    // The comparison is repeated as a subtraction: ptxas would compute `%p1` in the hot path.
    assert!(
        cold.contains(&"sub.cc.u32 %x6, %x7, %x9;".to_owned()),
        "{text}"
    );
    assert!(cold.contains(&"@!%x11 bra $A;".to_owned()), "{text}");
    assert!(
        cold.contains(&"st.global.u8 [%x4], 1;".to_owned()),
        "{text}"
    );
}

#[test]
fn barriers_stay_between_checks() {
    let body = "
        .reg .pred %p<4>;
        .reg .b64 %rd<9>;
        ld.param.u64 %rd2, [k_param_1];
        ld.param.u64 %rd3, [k_param_3];
        setp.gt.u64 %p1, %rd2, 7;
        @!%p1 bra $A;
        bar.sync 0;
        setp.gt.u64 %p2, %rd3, 8;
        @!%p2 bra $B;
        ret;
        "
    .to_owned()
        + &panic_with("$A", "%rd2")
        + &panic_with("$B", "%rd3");
    let text = optimized(&body);
    assert_eq!(text.matches("bar.sync").count(), 1, "{text}");
    assert!(!text.contains("and.pred"), "{text}");
}

/// A sum over the first slice, from 0 to the value of the second parameter.
fn sum(step: &str, load: &str) -> String {
    format!(
        "
            .reg .pred %p<5>;
            .reg .b32 %r<5>;
            .reg .b64 %rd<12>;
            ld.param.u64 %rd1, [k_param_0];
            cvta.to.global.u64 %rd1, %rd1;
            ld.param.u64 %rd2, [k_param_1];
            ld.param.u64 %rd3, [k_param_2];
            cvta.to.global.u64 %rd3, %rd3;
            ld.param.u64 %rd4, [k_param_3];
            mov.u64 %rd5, 0;
            mov.u32 %r1, 0;
            $loop:
            setp.lt.u64 %p1, %rd5, %rd2;
            @!%p1 bra $A;
            shl.b64 %rd7, %rd5, 2;
            add.s64 %rd8, %rd1, %rd7;
            {load}
            add.s64 %rd9, %rd5, {step};
            setp.lt.u64 %p2, %rd9, %rd4;
            mov.u64 %rd5, %rd9;
            @%p2 bra $loop;
            st.global.u32 [%rd3], %r1;
            ret;
            "
    )
}

#[test]
fn checks_of_a_counter_are_hoisted_out_of_the_loop() {
    let load = "
        ld.global.nc.u32 %r2, [%rd8];
        add.s32 %r1, %r1, %r2;
        ";
    let text = optimized(&(sum("1", load) + &panic_with("$A", "%rd5")));
    let ahead = lines(&text, "%r1, 0;", "@!").join("\n");
    assert!(ahead.contains("setp.le.u64"), "{text}");
    assert!(ahead.ends_with("bra $loop;"), "{text}");
    // The copy branches back to itself without another branch.
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

/// Asserts that the lines are among those before the loop's copy without checks, in this order.
fn assert_tested(text: &str, expected: &[&str]) {
    let ahead = lines(text, "32 %r1, 0", "$L__X");
    let mut left = ahead.iter();
    for line in expected {
        assert!(left.any(|found| found == line), "{line} is not in\n{text}");
    }
}

#[test]
fn parameters_that_a_loop_loads_again_are_invariants() {
    let load = "
        ld.global.nc.u32 %r2, [%rd8];
        add.s32 %r1, %r1, %r2;
        ";
    let again = |load: &str, compared: &str| {
        let first = "ld.param.u32 %rd11, [k_param_1];\nmov.u64 %rd5, 0;";
        let body = replaced(&sum("1", load), "mov.u64 %rd5, 0;", first);
        let to = format!("{compared}\nsetp.lt.u64 %p1, %rd5, %rd10;");
        let body = replaced(&body, "setp.lt.u64 %p1, %rd5, %rd2;", &to);
        optimized(&(body + &panic_with("$A", "%rd5")))
    };
    let text = again(load, "ld.param.u64 %rd10, [k_param_1];");
    let ahead = lines(&text, "%r1, 0;", "@!").join("\n");
    assert!(ahead.contains("setp.le.u64"), "{text}");
    assert!(!text.contains("%rd10, ["), "{text}");

    for other in [
        // Not in each iteration.
        "@%p3 ld.param.u64 %rd10, [k_param_1];",
        // A part of the parameter.
        "ld.param.u32 %rd10, [k_param_1];",
        "ld.param.u64 %rd10, [k_param_1+4];",
        // The register in the first block has another value.
        "ld.param.u64 %rd10, [k_param_0];",
    ] {
        let text = again(load, other);
        assert!(text.contains(other), "{other} is not in\n{text}");
    }
}

#[test]
fn loops_without_checks_do_not_wrap_around() {
    let load = "
        ld.global.nc.u32 %r2, [%rd8];
        add.s32 %r1, %r1, %r2;
        ";
    let panic = panic_with("$A", "%rd5");
    let optimized = |body: String| optimized(&(body + &panic));
    // The counter cannot pass the bound and wrap around.
    let text = optimized(sum("2", load));
    let tested = "setp.le.u64 %x4, %rd4, 18446744073709551614;";
    assert_tested(&text, &[tested, "and.pred %x9, %x3, %x4;"]);
    let start = "mov.u64 %rd5, 0; ld.param.u64 %rd10, [k_param_1];";
    let text = optimized(replaced(&sum("%rd10", load), "mov.u64 %rd5, 0;", start));
    assert_tested(
        &text,
        &[
            "add.s64 %x4, %rd4, %rd10;",
            "setp.ge.u64 %x5, %x4, %rd4;",
            "and.pred %x7, %x3, %x5;",
            // Nor can it in four iterations at once.
            "mul.lo.s64 %x50, %rd10, 3;",
            "setp.lt.u64 %x51, %rd10, 4611686018427387903;",
            "selp.b64 %x52, %x50, 18446744073709551615, %x51;",
        ],
    );
    // Neither can an index that is computed from the counter, in 64 or in 32 bits.
    let check = "setp.lt.u64 %p1, %rd5, %rd2;";
    let index = "add.s64 %rd11, %rd5, %rd4; setp.lt.u64 %p1, %rd11, %rd2;";
    let text = optimized(replaced(&sum("1", load), check, index));
    assert_tested(
        &text,
        &[
            "add.s64 %x6, %rd5, %rd4;",
            "not.b64 %x7, %x6;",
            "setp.le.u64 %x8, %x5, %x7;",
            "and.pred %x11, %x3, %x8;",
        ],
    );
    let index = "cvt.u32.u64 %r3, %rd5; add.s32 %r4, %r3, 5; cvt.u64.u32 %rd11, %r4;
                 setp.lt.u64 %p1, %rd11, %rd2;";
    let text = optimized(replaced(&sum("1", load), check, index));
    let copy = text.find("$L__X").unwrap();
    assert!(text[..copy].contains(", 4294967295;"), "{text}");
}

#[test]
fn loads_before_checks_are_within_the_slice() {
    let load = "
        ld.global.nc.u32 %r2, [%rd8];
        cvt.u64.u32 %rd10, %r2;
        setp.lt.u64 %p3, %rd10, %rd4;
        @!%p3 bra $B;
        ";
    let body = sum("1", load) + &panic_with("$A", "%rd5") + &panic_with("$B", "%rd10");
    assert_tested(
        &optimized(&body),
        &[
            "add.s64 %x9, %rd1, %x8;",
            "add.s64 %x14, %x9, %x11;",
            "add.s64 %x19, %x16, %x18;",
            "setp.ge.u64 %x20, %x9, %x16;",
            // The end of the last element.
            "add.s64 %x22, %x14, 4;",
            "setp.le.u64 %x23, %x22, %x19;",
            "and.pred %x27, %x26, %x20;",
            "and.pred %x29, %x28, %x23;",
        ],
    );
}

#[test]
fn indices_from_memory_are_checked_four_at_a_time() {
    let load = "
        ld.global.nc.u32 %r2, [%rd8];
        cvt.u64.u32 %rd10, %r2;
        setp.lt.u64 %p3, %rd10, %rd4;
        @!%p3 bra $B;
        shl.b64 %rd11, %rd10, 2;
        add.s64 %rd11, %rd3, %rd11;
        ld.global.nc.u32 %r3, [%rd11];
        add.s32 %r1, %r1, %r3;
        ";
    let body = sum("1", load) + &panic_with("$A", "%rd5") + &panic_with("$B", "%rd10");
    let text = optimized(&body);
    // Four indices, one branch, four loads.
    let loads = |text: &str| text.matches("ld.global.nc").count();
    let is_test = |at: &usize| text[*at..].lines().next().unwrap().ends_with(", 3;");
    let first = (text.match_indices("setp.gt.u64").map(|(at, _)| at))
        .find(is_test)
        .expect("the test of the iterations that are left");
    // A single iteration needs none of the tests.
    let single = text[..first]
        .find("setp.gt.u64")
        .expect("the test of the first iteration");
    let branch = text[single..].lines().find(|line| line.contains("bra"));
    assert!(branch.unwrap().ends_with(" bra $loop;"), "{text}");
    let chunk: Vec<&str> = text[first..].split("bra ").collect();
    assert_eq!([loads(chunk[1]), loads(chunk[2])], [4, 4], "{text}");
    // The last one to three: the second and the third are predicated.
    let last = lines(&text[first..], "setp.gt.u64 %x", "st.global").join("\n");
    let predicated = |line: &&str| line.starts_with("@%x") && line.contains("ld.global.nc");
    assert_eq!(last.lines().filter(predicated).count(), 4, "{last}");
    assert!(last.contains("or.pred"), "{last}");
    // The sum changes only if there is an iteration.
    assert!(last.contains("selp.b32"), "{last}");
    // If a check fails, the original loop goes on.
    assert!(last.contains("bra $loop;"), "{last}");
}

#[test]
fn iterators_over_parts_of_slices_are_tested_by_their_indices() {
    // Element `tid` and those after it, as many as the second thread index.
    let body = |start: &str| {
        format!(
            "
            .reg .pred %p<5>;
            .reg .b32 %r<5>;
            .reg .b64 %rd<16>;
            ld.param.u64 %rd12, [k_param_0];
            cvta.to.global.u64 %rd1, %rd12;
            ld.param.u64 %rd13, [k_param_2];
            cvta.to.global.u64 %rd3, %rd13;
            ld.param.u64 %rd4, [k_param_3];
            mov.u32 %r1, %tid.x;
            mov.u32 %r2, %tid.y;
            cvt.u64.u32 %rd5, %r1;
            cvt.u64.u32 %rd6, %r2;
            {start}
            mul.lo.s64 %rd7, %rd5, 4;
            add.s64 %rd8, %rd1, %rd7;
            mov.u64 %rd9, %rd8;
        $loop:
            ld.global.nc.u32 %r3, [%rd9];
            cvt.u64.u32 %rd10, %r3;
            setp.lt.u64 %p3, %rd10, %rd4;
            @!%p3 bra $B;
            shl.b64 %rd11, %rd10, 2;
            add.s64 %rd14, %rd3, %rd11;
            st.global.u32 [%rd14], %r3;
            add.s64 %rd9, %rd9, 4;
            add.s64 %rd6, %rd6, -1;
            setp.ne.s64 %p2, %rd6, 0;
            @%p2 bra $loop;
            ret;
            "
        ) + &panic_with("$B", "%rd10")
    };
    let text = optimized(&body(""));
    let tests = |text: &str| {
        let first = text.find("ld.global.nc").unwrap();
        text[..first].matches("setp").count()
    };
    // There are several iterations, the number of iterations, two of the part, and four are left.
    assert_eq!(tests(&text), 5, "{text}");
    let before = lines(&text, "ld.global.nc", "st.global").join("\n");
    assert_eq!(before.matches("ld.global.nc").count(), 4, "{text}");
    // The register has another value at the loop than where the address was computed.
    let text = optimized(&body(
        "$again: add.s64 %rd5, %rd5, 1; setp.lt.u64 %p4, %rd5, 9; @%p4 bra $again;",
    ));
    assert!(tests(&text) > 5, "{text}");
}

#[test]
fn loops_that_store_keep_the_order() {
    let load = "
        ld.global.nc.u32 %r2, [%rd8];
        cvt.u64.u32 %rd10, %r2;
        setp.lt.u64 %p3, %rd10, %rd4;
        @!%p3 bra $B;
        st.global.u32 [%rd3], %r2;
        ";
    let body = |load: &str| {
        let panics = panic_with("$A", "%rd5") + &panic_with("$B", "%rd10");
        sum("1", load) + &panics
    };
    // The loads and the checks of four iterations come before their stores.
    let text = optimized(&body(load));
    let before = lines(&text, "ld.global.nc", "st.global").join("\n");
    assert_eq!(before.matches("ld.global.nc").count(), 4, "{text}");
    assert_eq!(before.matches("bra $loop;").count(), 1, "{text}");
    // The original loop, four iterations, up to three that are predicated, and the sum.
    assert_eq!(text.matches("st.global").count(), 1 + 4 + 3 + 1, "{text}");
    assert!(text.contains("st.global.u32 [%rd3], %r2;"), "{text}");
    // A store may write what a later iteration loads.
    let text = optimized(&body(&load.replace(".nc", "")));
    assert!(!text.contains("setp.gt.u64"), "{text}");
}

#[test]
fn barriers_are_not_copied() {
    let load = "
        bar.sync 0;
        ld.global.nc.u32 %r2, [%rd8];
        add.s32 %r1, %r1, %r2;
        ";
    let text = optimized(&(sum("1", load) + &panic_with("$A", "%rd5")));
    assert_eq!(text.matches("bar.sync").count(), 1, "{text}");
}

#[test]
fn loops_with_a_variable_step_are_unrolled_by_four() {
    let load = "
        ld.global.nc.u32 %r2, [%rd8];
        add.s32 %r1, %r1, %r2;
        ";
    let check = "
        setp.lt.u64 %p1, %rd5, %rd2;
        @!%p1 bra $A;
        ";
    let start = "
        mov.u64 %rd5, 0;
        mov.u32 %r4, %nctaid.x;
        cvt.u64.u32 %rd10, %r4;
        ";
    let body = replaced(&sum("%rd10", load), check, "");
    let body = replaced(&body, "mov.u64 %rd5, 0;", start);
    let text = optimized(&body);
    let four = lines(&text, "setp.gt.and.u64", "bra $L__X").join("\n");
    assert!(four.contains("bra $loop;"), "{text}");
    let after = &text[text.find("setp.gt.and.u64").unwrap()..];
    let four = &after[after.find("bra").unwrap() + 3..];
    let four = &four[..four.find("bra").unwrap()];
    assert_eq!(four.matches("ld.global.nc").count(), 4, "{text}");
    // No division.
    assert!(!text.contains("div."), "{text}");
    // The order of effects visible to other threads is preserved, and a barrier is not copied.
    for other in [
        "atom.global.add.u32 %r2, [%rd8], 1;",
        "
            bar.sync 0;
            ld.global.u32 %r2, [%rd8];
            ",
    ] {
        assert!(
            !optimized(&replaced(&body, load, other)).contains("setp.gt.and"),
            "{other}"
        );
    }
    // ptxas unrolls loops with a constant step.
    assert!(!optimized(&replaced(&body, "%rd5, %rd10;", "%rd5, 2;")).contains("setp.gt.and"));
}

#[test]
fn the_exit_of_a_loop_depends_on_a_counter() {
    // libnvvm: `counter - bound != 0`.
    let body = "
        .reg .pred %p<2>;
        .reg .b32 %r<3>;
        .reg .b64 %rd<6>;
        ld.param.u64 %rd1, [k_param_0];
        ld.param.u64 %rd2, [k_param_1];
        mov.u32 %r1, 0;
        mov.u64 %rd3, 0;
        $loop:
        ld.global.u32 %r2, [%rd1];
        add.s32 %r1, %r1, %r2;
        add.s64 %rd3, %rd3, 4;
        add.s64 %rd4, %rd2, %rd3;
        add.s64 %rd1, %rd1, 16;
        setp.ne.s64 %p1, %rd4, 0;
        @%p1 bra $loop;
        st.global.u32 [%rd1], %r1;
        ret;
        ";
    let text = optimized(body);
    let hot = lines(&text, "add.s64 %x", "bra $loop");
    assert!(hot[0].ends_with(", %rd3, %rd2;"), "{text}");
    let register = hot[0]["add.s64 ".len()..].split(',').next().unwrap();
    assert!(
        hot.contains(&format!("add.s64 {register}, {register}, 4;")),
        "{text}"
    );
    assert!(
        hot.contains(&format!("setp.ne.s64 %p1, {register}, 0;")),
        "{text}"
    );
    // A value that is read elsewhere is kept.
    let used = replaced(body, "[%rd1], %r1;", "[%rd4], %r1;");
    assert!(optimized(&used).contains("setp.ne.s64 %p1, %rd4, 0;"));
}

#[test]
fn accesses_get_the_space_of_their_address() {
    let body = "
        .shared .align 4 .b8 counts[1024];
        .reg .pred %p<3>;
        .reg .b32 %r<5>;
        .reg .b64 %rd<12>;
        ld.param.u64 %rd1, [k_param_0];
        mov.u64 %rd2, counts;
        cvta.shared.u64 %rd3, %rd2;
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd4, %r1, 4;
        add.s64 %rd5, %rd3, %rd4;
        atom.relaxed.cta.add.u32 %r2, [%rd5+4], 1;
        sub.s64 %rd8, %rd5, %rd3;
        ld.u32 %r4, [%rd8];
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
        ret;
        ";
    let text = optimized(body);
    // Its result is not needed.
    assert!(
        text.contains("red.relaxed.cta.shared.add.u32 [%x"),
        "{text}"
    );
    assert!(text.contains("ld.global.u32 %r3, [%x"), "{text}");
    // The difference of two addresses is none.
    assert!(text.contains("ld.u32 %r4, [%rd8];"), "{text}");
    // The address may be in either space.
    assert!(text.contains("st.u32 [%rd7], %r3;"), "{text}");
}

/// The address of an iterator over chunks of chunks is null before the first chunk.
#[test]
fn addresses_that_are_null_before_a_loop_get_their_space() {
    let load = |first: &str, step: &str| {
        let text = optimized(&format!(
            "
            .reg .pred %p<3>;
            .reg .b32 %r<5>;
            .reg .b64 %rd<12>;
            ld.param.u64 %rd1, [k_param_0];
            ld.param.u64 %rd2, [k_param_1];
            mov.u32 %r1, %tid.x;
            cvt.u64.u32 %rd4, %r1;
            mov.u64 %rd3, {first};
            bra $test;
            $loop:
            ld.u32 %r2, [%rd3+8];
            st.u32 [%rd1], %r2;
            add.s64 %rd3, %rd3, {step};
            $test:
            setp.ne.s64 %p1, %rd3, 0;
            @%p1 bra $next;
            mov.u64 %rd3, %rd1;
            $next:
            add.s64 %rd2, %rd2, -1;
            setp.ne.s64 %p2, %rd2, 0;
            @%p2 bra $loop;
            ret;"
        ));
        text.contains("ld.global.u32")
    };
    assert!(load("0", "256"));
    // The sum may be another address.
    assert!(!load("0", "%rd4"));
    assert!(!load("65536", "256"));
}

#[test]
fn bits_are_compared_with_zero() {
    let body = "
        .reg .pred %p<5>;
        .reg .b16 %rs<5>;
        .reg .b32 %r<9>;
        .reg .b64 %rd<5>;
        ld.param.u64 %rd1, [k_param_0];
        ld.global.u32 %r1, [%rd1];
        and.b32 %r2, %r1, 1;
        setp.eq.b32 %p1, %r2, 1;
        @%p1 st.global.u32 [%rd1], 3;
        and.b32 %r3, %r1, 2;
        setp.eq.b32 %p2, %r3, 1;
        @%p2 st.global.u32 [%rd1+4], 3;
        and.b32 %r4, %r1, 1;
        @%p1 and.b32 %r4, %r1, 3;
        setp.eq.b32 %p3, %r4, 1;
        @%p3 st.global.u32 [%rd1+8], 3;
        and.b64 %rd2, %rd1, 1;
        setp.ne.b64 %p4, %rd2, 1;
        @%p4 st.global.u32 [%rd1+12], 3;
        ret;
        ";
    let text = optimized(body);
    assert!(text.contains("setp.ne.b32 %p1, %r2, 0;"), "{text}");
    assert!(text.contains("setp.eq.b64 %p4, %rd2, 0;"), "{text}");
    // It is 0 or 2, and may be 3.
    assert!(text.contains("setp.eq.b32 %p2, %r3, 1;"), "{text}");
    assert!(text.contains("setp.eq.b32 %p3, %r4, 1;"), "{text}");
}

#[test]
fn sets_of_numbers_are_shifted() {
    let body = |used: &str, one: u32| {
        format!(
            "
        .reg .pred %p<5>;
        .reg .b32 %r<9>;
        .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [k_param_0];
        ld.global.u32 %r1, [%rd1];
        mov.b64 %rd2, {one};
        shl.b64 %rd3, %rd2, %r1;
        and.b64 %rd4, %rd3, -9223372036854718463;
        setp.ne.s64 %p1, %rd4, 0;
        @%p1 st.global.u32 [%rd1], 3;
        {used}
        ret;
        "
        )
    };
    let text = optimized(&body("", 1));
    assert!(!text.contains("shl.b64"), "{text}");
    assert!(text.contains(", -9223372036854718463;"), "{text}");
    assert!(text.contains("shr.u64"), "{text}");
    // The shifted number is needed, or is another one.
    for text in [body("st.global.u64 [%rd1+8], %rd3;", 1), body("", 2)] {
        let text = optimized(&text);
        assert!(text.contains("shl.b64"), "{text}");
    }
}

#[test]
fn products_of_extended_integers_are_wide() {
    let body = |a: &str, b: &str, product: &str| {
        format!(
            "
        .reg .pred %p<5>;
        .reg .b32 %r<9>;
        .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [k_param_0];
        ld.global.u32 %r1, [%rd1];
        ld.global.u32 %r2, [%rd1+4];
        ld.global.u64 %rd4, [%rd1+8];
        {a}
        {b}
        setp.eq.s32 %p1, %r1, %r2;
        @%p1 bra $end;
        {product}
        st.global.u64 [%rd1], %rd5;
    $end:
        ret;
        "
        )
    };
    let product = "mul.lo.s64 %rd5, %rd2, %rd3;";
    let signed = "cvt.s64.s32 %rd2, %r1;";
    for (a, b, product, expected) in [
        (signed, "cvt.s64.s32 %rd3, %r2;", product, "mul.wide.s32"),
        (
            signed,
            "ld.global.s16 %rd3, [%rd1+8];",
            product,
            "mul.wide.s32",
        ),
        (
            signed,
            "ld.global.u16 %rd3, [%rd1+8];",
            product,
            "mul.wide.s32",
        ),
        (signed, "shr.s64 %rd3, %rd4, 32;", product, "mul.wide.s32"),
        (signed, "or.b64 %rd3, %rd2, -9;", product, "mul.wide.s32"),
        (
            signed,
            "",
            "mul.lo.s64 %rd5, %rd2, -2147483648;",
            "mul.wide.s32",
        ),
        (
            signed,
            "",
            "mad.lo.s64 %rd5, %rd2, %rd2, %rd4;",
            "mad.wide.s32",
        ),
        (
            "cvt.u64.u32 %rd2, %r1;",
            "shr.u64 %rd3, %rd4, 32;",
            product,
            "mul.wide.u32",
        ),
        // Their lower halves do not determine these.
        (signed, "cvt.u64.u32 %rd3, %r2;", product, "mul.lo.s64"),
        (signed, "shr.s64 %rd3, %rd4, 31;", product, "mul.lo.s64"),
        (signed, "shr.u64 %rd3, %rd4, 32;", product, "mul.lo.s64"),
        (signed, "and.b64 %rd3, %rd2, %rd4;", product, "mul.lo.s64"),
        (signed, "min.u64 %rd3, %rd2, %rd4;", product, "mul.lo.s64"),
        (
            signed,
            "",
            "mul.lo.s64 %rd5, %rd2, 2147483648;",
            "mul.lo.s64",
        ),
        (
            "cvt.u64.u32 %rd2, %r1;",
            "min.s64 %rd3, %rd2, %rd4;",
            product,
            "mul.lo.s64",
        ),
    ] {
        let text = optimized(&body(a, b, product));
        assert!(text.contains(expected), "{a} {b} {product}\n{text}");
    }
}

#[test]
fn short_integers_are_shifted_in_32_bits() {
    let body = "
        .reg .b16 %rs<9>;
        .reg .b32 %r<9>;
        .reg .b64 %rd<5>;
        ld.param.u64 %rd1, [k_param_0];
        ld.global.u32 %r1, [%rd1];
        ld.global.u16 %rs1, [%rd1+4];
        shl.b16 %rs2, %rs1, %r1;
        st.global.u16 [%rd1], %rs2;
        shr.s16 %rs3, %rs1, %r1;
        st.global.u16 [%rd1+2], %rs3;
        shr.u16 %rs4, %rs1, %r1;
        st.global.u16 [%rd1+4], %rs4;
        shl.b16 %rs5, %rs1, 3;
        st.global.u16 [%rd1+6], %rs5;
        ret;
        ";
    let text = optimized(body);
    assert!(text.contains("cvt.s32.s16"), "{text}");
    for shift in ["shl.b32", "shr.s32", "shr.u32", "shl.b16 %rs5, %rs1, 3;"] {
        assert!(text.contains(shift), "{shift}\n{text}");
    }
    assert!(!text.contains("shr.s16"), "{text}");
}

#[test]
fn addresses_of_empty_slices_have_any_space() {
    let body = |most: &str, empty: &str| {
        format!(
            "
        .shared .align 4 .b8 counts[1024];
        .reg .pred %p<3>;
        .reg .b32 %r<5>;
        .reg .b64 %rd<12>;
        ld.param.u64 %rd1, [k_param_0];
        ld.param.u64 %rd2, [k_param_2];
        mov.u32 %r1, %tid.x;
        mov.u64 %rd3, %rd1;
        $loop:
        min.u64 %rd4, %rd2, {most};
        add.s64 %rd5, %rd3, %rd4;
        setp.eq.s64 %p1, %rd4, 0;
        selp.b64 %rd6, {empty}, %rd5, %p1;
        ld.u8 %r2, [%rd6];
        st.u8 [%rd6+1], %r2;
        sub.s64 %rd2, %rd2, %rd4;
        mov.u64 %rd3, %rd5;
        setp.ne.s64 %p2, %rd2, 0;
        @%p2 bra $loop;
        ret;
        "
        )
    };
    let text = optimized(&body("4096", "1"));
    assert!(text.contains("ld.global.u8 %r2, [%x"), "{text}");
    assert!(text.contains("st.global.u8 [%x"), "{text}");
    // An address that an object may have, and an offset that may be an address.
    for (most, empty) in [("4096", "1048576"), ("1048576", "1")] {
        let text = optimized(&body(most, empty));
        assert!(text.contains("ld.u8 %r2, [%rd6];"), "{text}");
    }
}

#[test]
fn addresses_with_an_offset_that_a_loop_selects_get_their_space() {
    let store = |select: &str| {
        let text = optimized(&format!(
            "
            .shared .align 4 .b8 counts[1024];
            .reg .pred %p<3>;
            .reg .b32 %r<5>;
            .reg .b64 %rd<12>;
            ld.param.u64 %rd1, [k_param_0];
            cvta.to.global.u64 %rd2, %rd1;
            mov.u64 %rd3, counts;
            cvta.shared.u64 %rd4, %rd3;
            $loop:
            ld.global.u32 %r1, [%rd2];
            mul.wide.u32 %rd5, %r1, 4;
            setp.lt.u32 %p1, %r1, 256;
            {select}
            setp.ne.s32 %p2, %r1, 0;
            @%p2 bra $loop;
            add.s64 %rd7, %rd4, %rd6;
            st.u32 [%rd7], 1;
            ret;"
        ));
        let stores = ["st.shared.u32", "st.u32"].map(|it| text.matches(it).count());
        assert_eq!(stores[0] + stores[1], 1, "{text}");
        stores[0] == 1
    };
    assert!(store("selp.b64 %rd6, %rd5, %rd6, %p1;"));
    assert!(store("selp.b64 %rd6, %rd6, %rd5, %p1;"));
    assert!(store("selp.b64 %rd8, %rd6, %rd5, %p1; mov.u64 %rd6, %rd8;"));
    // The offset may be an address.
    assert!(!store("selp.b64 %rd6, %rd1, %rd6, %p1;"));
    assert!(!store("selp.b64 %rd6, %rd6, %rd4, %p1;"));
    assert!(!store(
        "selp.b64 %rd8, %rd6, %rd5, %p1; selp.b64 %rd6, %rd8, %rd1, %p2;"
    ));
}

/// A grid-stride loop over the second slice, whose body is `element` with the index in `%rd5`.
fn grid_stride(element: &str) -> String {
    format!(
        "
            .reg .pred %p<9>;
            .reg .b32 %r<9>;
            .reg .b64 %rd<19>;
            ld.param.u64 %rd1, [k_param_0];
            cvta.to.global.u64 %rd1, %rd1;
            ld.param.u64 %rd2, [k_param_1];
            ld.param.u64 %rd3, [k_param_2];
            cvta.to.global.u64 %rd3, %rd3;
            ld.param.u64 %rd4, [k_param_3];
            mov.u32 %r1, %ctaid.x;
            mul.wide.u32 %rd5, %r1, 256;
            mov.u32 %r2, %tid.x;
            cvt.u64.u32 %rd6, %r2;
            or.b64 %rd5, %rd5, %rd6;
            mov.u32 %r3, %nctaid.x;
            mul.wide.u32 %rd7, %r3, 256;
            setp.ge.u64 %p1, %rd5, %rd4;
            @%p1 bra $end;
            $loop:
            add.s64 %rd8, %rd5, %rd7;
            {element}
            setp.lt.u64 %p2, %rd8, %rd4;
            mov.u64 %rd5, %rd8;
            @%p2 bra $loop;
            $end:
            ret;
            "
    )
}

/// [`grid_stride`] with a fence at the end. The branch at the entry is only combined with those of
/// kernels without operations among threads.
fn fenced(element: &str) -> String {
    replaced(&grid_stride(element), "$end:", "$end: membar.gl;")
}

/// Checks of the neighbors of an element, and their sum.
const NEIGHBORS: &str = "
    add.s64 %rd9, %rd5, -1;
    setp.lt.u64 %p3, %rd9, %rd2;
    @!%p3 bra $A;
    add.s64 %rd10, %rd5, 1;
    setp.lt.u64 %p4, %rd10, %rd2;
    @!%p4 bra $B;
    sub.s64 %rd11, %rd5, %rd4;
    setp.lt.u64 %p5, %rd11, %rd2;
    @!%p5 bra $C;
    add.s64 %rd12, %rd5, %rd4;
    setp.lt.u64 %p6, %rd12, %rd2;
    @!%p6 bra $D;
    shl.b64 %rd13, %rd9, 2;
    add.s64 %rd14, %rd1, %rd13;
    ld.global.nc.u32 %r4, [%rd14];
    shl.b64 %rd15, %rd11, 2;
    add.s64 %rd16, %rd1, %rd15;
    ld.global.nc.u32 %r5, [%rd16];
    add.s32 %r6, %r4, %r5;
    st.global.u32 [%rd3], %r6;
    ";

/// The panics of these checks.
fn panics_of_neighbors() -> String {
    let panics = [
        ("$A", "%rd9"),
        ("$B", "%rd10"),
        ("$C", "%rd11"),
        ("$D", "%rd12"),
    ];
    panics
        .map(|(label, index)| panic_with(label, index))
        .concat()
}

/// Returns the start of a kernel, with the test and what the copy starts with, and the rest of the
/// copy, from the branch to the original to the end of the thread.
fn specialized(text: &str) -> (String, String) {
    let test = lines(text, "ld.param.u64 %x", "bra").join("\n");
    let rest = &text[text.find(&test[test.rfind('\n').unwrap() + 1..]).unwrap()..];
    let copy = lines(rest, "bra", "ret;");
    (test, copy.join("\n"))
}

/// The bits of an integer that is small, in the register of a float.
#[test]
fn registers_of_floats_are_not_narrowed() {
    let bits = "
        .reg .f64 %fd<2>;
        selp.b64 %rd15, -1, 0, %p5;
        mov.b64 %fd1, %rd15;
        mov.b64 %rd16, %fd1;
        st.global.u64 [%rd3+8], %rd16;
        st.global.f64 [%rd3], %fd1;
        ";
    let element = replaced(NEIGHBORS, "st.global.u32 [%rd3], %r6;", bits);
    let text = optimized(&(fenced(&element) + &panics_of_neighbors()));
    let (_, copy) = specialized(&text);
    assert!(copy.contains("st.global.f64"), "{copy}");
    let floats: Vec<&str> = (text.lines())
        .filter_map(|line| line.trim().strip_prefix(".reg .f64 "))
        .flat_map(|names| names.trim_end_matches(';').split(", "))
        .collect();
    for line in text.lines().filter(|line| line.contains("cvt.")) {
        assert!(
            !floats.iter().any(|name| line.contains(name)),
            "{line}\n{text}"
        );
    }
}

#[test]
fn ordinary_launches_have_32_bits_and_no_loop() {
    let text = optimized(&(fenced(NEIGHBORS) + &panics_of_neighbors()));
    let (test, copy) = specialized(&text);
    // The lengths are below 2³⁰, and the number of threads with blocks of up to 1024.
    assert!(
        test.contains("setp.lt.u64 %x10, %x9, 1073741824;"),
        "{test}"
    );
    assert!(test.contains("setp.le.u32 %x12, %x11, 1048575;"), "{test}");
    // The grid has at least as many threads as there are elements.
    assert_eq!(test.matches("setp.ge.u32").count(), 2, "{test}");
    assert!(!copy.contains("64 %p"), "{copy}");
    for wide in ["u64", "s64"] {
        assert!(!copy.contains(&format!("setp.lt.{wide}")), "{copy}");
        assert!(!copy.contains(&format!("setp.ge.{wide}")), "{copy}");
    }
    // One check, and neither a second iteration nor what it would need. The index of the next element
    // is not greater than that of the element below, and that comparison not needed.
    assert_eq!(copy.matches("setp.lt.u32").count(), 3, "{copy}");
    assert_eq!(copy.matches("st.global.u32").count(), 1, "{copy}");
    assert_eq!(copy.matches("bra").count(), 3, "{copy}");
    // Neighbors of the first element wrap around below zero, and do not pass the check.
    assert_eq!(copy.matches("sub.s32").count(), 1, "{copy}");
    // Addresses are products of 32-bit indices.
    assert_eq!(copy.matches("mul.wide.u32").count(), 2, "{copy}");
    // The panics of the copy get the index in 64 bits.
    assert!(text.contains("cvt.s64.s32"), "{text}");
    // Other launches run the original.
    assert!(text.contains("setp.lt.u64 %p2, %rd8, %rd4;"), "{text}");
}

#[test]
fn registers_of_unknown_range_keep_64_bits() {
    // An index that is loaded may have any value.
    let element = format!("ld.global.nc.u64 %rd5, [%rd3];{NEIGHBORS}");
    let text = optimized(&(grid_stride(&element) + &panics_of_neighbors()));
    assert!(!text.contains("sub.s32"), "{text}");
}

#[test]
fn counters_that_may_wrap_around_keep_their_loop() {
    // The first index is a parameter, so it may be near 2⁶⁴.
    let body = replaced(
        &grid_stride(NEIGHBORS),
        "or.b64 %rd5, %rd5, %rd6;",
        "
            ld.global.u64 %rd6, [%rd3];
            add.s64 %rd5, %rd5, %rd6;
            ",
    );
    let (comparison, other) = ("setp.ge.u64 %p1, %rd5, %rd4;", "setp.eq.s64 %p1, %rd4, 0;");
    let body = replaced(&body, comparison, other);
    let text = optimized(&(body + &panics_of_neighbors()));
    let (_, copy) = specialized(&text);
    // The last branch goes back.
    let at = copy.rfind("bra ").unwrap();
    let label = copy[at + 4..].split(';').next().unwrap();
    assert!(copy[..at].contains(&format!("{label}:")), "{copy}");
    assert!(!copy.contains("setp.lt.u32"), "{copy}");
}

#[test]
fn strides_that_may_wrap_around_keep_their_loop() {
    // Whether the copy of a loop whose stride is computed with `stride` has a second iteration.
    let repeats = |stride: &str| {
        let multiple = "mul.wide.u32 %rd7, %r3, 256;";
        let body = replaced(
            &grid_stride(NEIGHBORS),
            multiple,
            &format!(".reg .b64 %q; mul.wide.u32 %q, %r3, 256; {stride}"),
        );
        let text = optimized(&(body + &panics_of_neighbors()));
        let (_, copy) = specialized(&text);
        // Without the branch to the next iteration, there are three.
        copy.matches("bra").count() > 3
    };
    assert!(!repeats("mov.u64 %rd7, %q;"));
    assert!(!repeats("shl.b64 %rd7, %q, 1;"));
    // It is greater than all lengths, and counts down.
    assert!(repeats("xor.b64 %rd7, %q, -65536;"));
    assert!(repeats("mul.lo.s64 %rd7, %q, -1;"));
}

#[test]
fn steps_at_the_end_of_large_bodies_leave_no_loop() {
    // The counter's copy of the step stands at the start of an iteration, and the step at its end.
    let branch = format!("setp.eq.s64 %p7, %rd2, 5; @%p7 bra $over; {NEIGHBORS} $over:");
    let repeats = |copy_in_body: bool| {
        let (at_start, in_body) = match copy_in_body {
            // Only some iterations copy it.
            true => ("", "@%p7 bra $over; mov.u64 %rd5, %rd18;"),
            false => ("mov.u64 %rd5, %rd18;", "@%p7 bra $over;"),
        };
        let changes = [
            (
                "mul.wide.u32 %rd5, %r1, 256;",
                "mul.wide.u32 %rd17, %r1, 256;",
            ),
            ("or.b64 %rd5, %rd5, %rd6;", "or.b64 %rd18, %rd17, %rd6;"),
            (
                "setp.ge.u64 %p1, %rd5, %rd4;",
                "setp.ge.u64 %p1, %rd18, %rd4;",
            ),
            ("add.s64 %rd8, %rd5, %rd7;", at_start),
            ("@%p7 bra $over;", in_body),
            (
                "setp.lt.u64 %p2, %rd8, %rd4;",
                "add.s64 %rd18, %rd5, %rd7; setp.lt.u64 %p2, %rd18, %rd4;",
            ),
            ("mov.u64 %rd5, %rd8;", ""),
        ];
        let body = (changes.iter()).fold(grid_stride(&branch), |body, (from, to)| {
            replaced(&body, from, to)
        });
        let (_, copy) = specialized(&optimized(&(body + &panics_of_neighbors())));
        let mut branches = copy.match_indices("bra");
        branches.any(|(at, _)| {
            let (_, label) = copy[at..].split_once(' ').unwrap();
            let label = label.split(';').next().unwrap();
            copy[..at].contains(&format!("{label}:"))
        })
    };
    assert!(!repeats(false));
    assert!(repeats(true));
}

#[test]
fn operands_of_barriers_are_computed() {
    // The first operand of this instruction is no result.
    let body = format!(
        "
        mov.u32 %r8, 255;
        bar.warp.sync %r8;
        {NEIGHBORS}
        "
    );
    let text = optimized(&(grid_stride(&body) + &panics_of_neighbors()));
    let (_, copy) = specialized(&text);
    let barrier = copy
        .lines()
        .find(|line| line.starts_with("bar.warp.sync"))
        .unwrap();
    let mask = barrier
        .trim_start_matches("bar.warp.sync ")
        .trim_end_matches(';');
    assert!(
        mask.starts_with("%x") && copy.contains(&format!("32 {mask}, 255;")),
        "{copy}"
    );
}

#[test]
fn registers_whose_parts_are_read_are_computed() {
    let body = format!(
        "
        mov.u32 %r8, 255;
        vadd.u32.u32.u32 %r8, %r8.b0, %r8.h1, %r8;
        st.global.u32 [%rd3], %r8;
        {NEIGHBORS}
        "
    );
    let text = optimized(&(grid_stride(&body) + &panics_of_neighbors()));
    let (_, copy) = specialized(&text);
    let constant = copy.lines().find(|line| line.ends_with(", 255;"));
    let register = constant.and_then(|line| line.split([' ', ',']).nth(1));
    let register = register.unwrap_or_else(|| panic!("{copy}"));
    assert!(
        copy.contains(&format!(", {register}.b0, {register}.h1, {register};")),
        "{copy}"
    );
}

#[test]
fn small_kernels_are_not_copied() {
    let body = grid_stride(
        "
        bar.sync 0;
        st.global.u32 [%rd3], %r1;
        ",
    );
    let text = optimized(&body);
    assert_eq!(text.matches("bar.sync").count(), 1, "{text}");
    assert!(!text.contains("or.b64 %x"), "{text}");
}

/// Replaces the index of the block with that in a grid of three dimensions.
fn flattened(body: &str, index: &str) -> String {
    replaced(
        body,
        "
            mov.u32 %r1, %ctaid.x;
            mul.wide.u32 %rd5, %r1, 256;
            ",
        &format!(
            "
                .reg .b32 %y<9>;
                mov.u32 %y1, %ctaid.x;
                mov.u32 %y2, %ctaid.y;
                mov.u32 %y3, %ctaid.z;
                mov.u32 %y4, %nctaid.y;
                mov.u32 %y5, %nctaid.x;
                mad.lo.s32 %y6, %y4, %y3, %y2;
                {index}
                mul.wide.u32 %rd5, %y7, 256;
                "
        ),
    )
}

#[test]
fn unused_dimensions_of_the_grid_are_tested() {
    let body = grid_stride(NEIGHBORS) + &panics_of_neighbors();
    // All three dimensions in one index: the others must be 1.
    let text = optimized(&flattened(&body, "mad.lo.s32 %y7, %y6, %y5, %y1;"));
    let (test, _) = specialized(&text);
    assert!(
        test.contains("%nctaid.y") && test.contains("%nctaid.z"),
        "{test}"
    );
    assert!(
        test.contains("or.b32") && test.contains("setp.eq.s32"),
        "{test}"
    );
    // Two dimensions in one index: the third must be 1, the second need not be.
    let text = optimized(&flattened(&body, "add.s32 %y7, %y6, %y1;"));
    let (test, _) = specialized(&text);
    let sizes = test.split("ld.param.u64 %x21").next().unwrap();
    assert!(
        !sizes.contains("%nctaid.y") && sizes.contains("%nctaid.z"),
        "{test}"
    );
}

#[test]
fn counters_of_loops_have_32_bits() {
    let narrow = |start: &str, step: i32, other: u32| {
        let element = format!(
            "{NEIGHBORS} .reg .b64 %q<9>; .reg .pred %k<9>; .reg .b64 %n;
             shr.u64 %n, %rd2, 4; {start} mov.u64 %q1, 0;
             $inner: shl.b64 %q2, %q1, 2; add.s64 %q3, %rd1, %q2;
             ld.global.u32 %r7, [%q3]; st.global.u32 [%rd3], %r7;
             add.s64 %q1, %q1, {other}; add.s64 %q0, %q0, {step};
             setp.ne.s64 %k0, %q0, 0; @%k0 bra $inner;"
        );
        let text = optimized(&(grid_stride(&element) + &panics_of_neighbors()));
        let (_, copy) = specialized(&text);
        assert!(copy.contains("[%x"), "{copy}");
        !copy.contains("setp.ne.s64")
    };
    // A quotient that is rounded up is at least 1 if the number is.
    let rounded = "and.b64 %q4, %n, 255; setp.ne.s64 %k1, %q4, 0; selp.u64 %q5, 1, 0, %k1;
                   shr.u64 %q6, %n, 8; add.s64 %q7, %q6, %q5; mov.u64 %q0, %q7;";
    let some = "setp.eq.s64 %k2, %n, 0; @%k2 bra $end;";
    assert!(narrow(&format!("{some} {rounded}"), -1, 256));
    // Without the condition, the counter may start at 0, and wrap around.
    assert!(!narrow(rounded, -1, 256));
    // The same if the condition follows.
    assert!(narrow(&format!("{rounded} {some}"), -1, 256));
    // A multiple of 4 that is not 0.
    let multiple = &format!(
        "{some} add.s64 %q4, %n, -1; and.b64 %q5, %n, 3; sub.s64 %q6, %n, %q5;
                    setp.lt.u64 %k1, %q4, 3; @%k1 bra $end; mov.u64 %q0, %q6;"
    );
    assert!(narrow(multiple, -4, 4));
    assert!(!narrow(multiple, -8, 4));
    assert!(!narrow(multiple, -3, 4));
    let less = multiple.replace("%q4, 3;", "%q4, 2;");
    assert!(!narrow(&less, -4, 4));
    // The step precedes a branch of the iteration.
    let early = |read: &str| {
        let start = format!("{some} {rounded}");
        let element = format!(
            "{NEIGHBORS} .reg .b64 %q<9>; .reg .pred %k<9>; .reg .b64 %n;
             shr.u64 %n, %rd2, 4; {start} mov.u64 %q1, 0;
             $inner: shl.b64 %q2, %q1, 2; add.s64 %q3, %rd1, %q2; ld.global.u32 %r7, [%q3];
             add.s64 %q1, %q1, 256; add.s64 %q0, %q0, -1; setp.eq.s32 %k3, %r7, 0;
             @%k3 bra $skip; st.global.u32 [%rd3], %r7; {read}
             $skip: setp.ne.s64 %k0, %q0, 0; @%k0 bra $inner;"
        );
        let text = optimized(&(grid_stride(&element) + &panics_of_neighbors()));
        !specialized(&text).1.contains("setp.ne.s64")
    };
    assert!(early(""));
    assert!(!early("st.global.u64 [%rd3], %q0;"));
    // Up from a negative number.
    let up = format!("{some} {rounded} neg.s64 %q8, %q7; mov.u64 %q0, %q8;");
    assert!(narrow(&up, 1, 1));
    assert!(!narrow(&up, -1, 1));
}

#[test]
fn indices_of_matrices_are_below_the_product_of_the_extents() {
    // Returns whether the test has a product, and the number of checks of a thread per element of a
    // matrix of `height` rows: of four accesses each.
    let all = |condition: &str, column: &str, factor: u32, offset: i32| {
        let access = |i: u32| {
            format!(
                "mov.u64 %m{i}, %y; mul.lo.s64 %a{i}, %m{i}, %rd4; add.s64 %b{i}, %a{i}, {column};
                 mul.lo.s64 %s{i}, %b{i}, {factor};
                 add.s64 %c{i}, %s{i}, {offset}; setp.lt.u64 %k{i}, %c{i}, %rd2; @!%k{i} bra $P{i};
                 shl.b64 %d{i}, %c{i}, 2; add.s64 %e{i}, %rd1, %d{i};
                 ld.global.nc.u32 %r4, [%e{i}]; st.global.u32 [%rd3], %r4;"
            )
        };
        let accesses: String = (0..4).map(access).collect();
        let element = format!(
            ".reg .b64 %height, %y, %m<9>, %next, %a<9>, %b<9>, %s<9>, %c<9>, %d<9>, %e<9>;
             .reg .pred %k<9>, %l<9>;
             ld.param.u64 %height, [k_param_1]; mov.u32 %r7, %tid.y; cvt.u64.u32 %y, %r7;
             setp.ge.u64 %l0, %y, %height; @%l0 bra $end; {condition} {accesses}"
        );
        let panics: String = (0..4)
            .map(|i| panic_with(&format!("$P{i}"), &format!("%c{i}")))
            .collect();
        let text = optimized(&(fenced(&element) + &panics));
        let (test, copy) = specialized(&text);
        let product = test.contains("mul.wide.u32") && test.contains("setp.le.u64");
        let narrow = copy.matches("setp.lt.u32").count();
        (product, narrow + copy.matches("setp.lt.u64").count())
    };
    let scaled = |condition: &str, factor, offset| all(condition, "%rd5", factor, offset);
    let checks = |condition: &str, offset: i32| scaled(condition, 1, offset);
    assert_eq!(checks("", 0), (true, 0));
    // The next element may be beyond the last one, unless there is a column to the right.
    assert_eq!(checks("", 1).1, 4);
    let right = "add.s64 %next, %rd5, 1; setp.ge.u64 %l1, %next, %rd4; @%l1 bra $end;";
    assert_eq!(checks(right, 1), (true, 0));
    assert_eq!(checks(right, 2).1, 4);
    assert_eq!(checks(&right.replace("ge.u64", "gt.u64"), 1).1, 4);
    let not_last = "add.s64 %next, %rd4, -1; setp.eq.s64 %l1, %rd5, %next; @%l1 bra $end;";
    assert_eq!(checks(not_last, 1), (true, 0));
    // `x.saturating_sub(1)`, and other selections.
    let selected = |zero: u32, offset: i32| {
        let column = format!(
            ".reg .b64 %left; add.s64 %next, %rd5, {offset}; setp.eq.s64 %l1, %rd5, 0;
             selp.b64 %left, {zero}, %next, %l1;"
        );
        all(&column, "%left", 1, 0)
    };
    assert_eq!(selected(0, -1), (true, 0));
    assert_eq!(selected(0, -2).1, 4);
    assert_eq!(selected(0, 1).1, 4);
    assert_eq!(selected(1, -1).1, 4);
    // A neighbor that wraps around: `(x + offset) % width`.
    let wrapped = |offset: &str, divisor: &str| {
        let column = format!(
            ".reg .b64 %sum, %left; add.s64 %sum, %rd5, {offset}; rem.u64 %left, %sum, {divisor};"
        );
        all(&column, "%left", 1, 0)
    };
    assert_eq!(wrapped("1", "%rd4"), (true, 0));
    assert_eq!(wrapped("-1", "%rd4"), (true, 0));
    assert_eq!(wrapped("%rd2", "%rd4"), (true, 0));
    assert_eq!(wrapped("1", "%next").1, 4);
    assert_eq!(checks(not_last, 2).1, 4);
    assert_eq!(checks(&not_last.replace("-1", "-2"), 1).1, 4);
    // The previous element of the first one is below zero.
    assert_eq!(checks("", -1).1, 4);
    let left = "setp.eq.s64 %l1, %rd5, 0; @%l1 bra $end;";
    assert_eq!(checks(left, -1), (true, 0));
    assert_eq!(checks(left, -2).1, 4);
    // The difference of these numbers has more than 64 bits.
    let far = "add.s64 %next, %rd5, -9223372036854775808; .reg .b64 %far; add.s64 %far, %rd4, 5;
               setp.ge.u64 %l1, %next, %far; @%l1 bra $end;";
    // It is always greater, so all threads leave.
    assert_eq!(checks(far, 1), (false, 0));
    // Every second element is below twice the product.
    assert_eq!(scaled("", 2, 0).1, 0);
    assert_eq!(scaled("", 2, 1).1, 0);
    assert_eq!(scaled("", 2, 2).1, 4);
}

/// Returns the copy of a kernel with a thread per element of the second slice, whose body is
/// `element` with the index in `%i` and the position in the grid in one register. The panics of its
/// checks get `%c0`, `%c1` and so on.
fn copy_of(element: &str) -> String {
    copy_with_end(element, "membar.gl;").1
}

/// Returns the start of the kernel of [`copy_of`], and the rest of its copy. `end` is what threads do
/// last; a fence keeps the branches of the copy apart.
fn copy_with_end(element: &str, end: &str) -> (String, String) {
    let body = format!(
        "
            .reg .pred %p<9>, %k<9>;
            .reg .b32 %r<9>;
            .reg .b64 %from, %len, %to, %count, %a<9>, %x, %i, %next, %step, %c<9>, %d<9>, %e<9>, %f<9>;
            ld.param.u64 %from, [k_param_0];
            cvta.to.global.u64 %from, %from;
            ld.param.u64 %len, [k_param_1];
            ld.param.u64 %to, [k_param_2];
            ld.param.u64 %count, [k_param_3];
            mov.u32 %r1, %ctaid.x;
            mul.wide.u32 %a1, %r1, 256;
            mov.u32 %r2, %tid.x;
            cvt.u64.u32 %a2, %r2;
            or.b64 %x, %a1, %a2;
            mov.u32 %r3, %nctaid.x;
            mul.wide.u32 %step, %r3, 256;
            setp.ge.u64 %p1, %x, %count;
            @%p1 bra $end;
            mov.u64 %i, %x;
            $loop:
            {element}
            $next:
            add.s64 %next, %i, %step;
            setp.lt.u64 %p2, %next, %count;
            mov.u64 %i, %next;
            @%p2 bra $loop;
            $end:
            {end}
            ret;
            "
    );
    let checks = element.matches("bra $P").count();
    let panics: String = (0..checks)
        .map(|i| panic_with(&format!("$P{i}"), &format!("%c{i}")))
        .collect();
    let text = optimized(&(body + &panics));
    specialized(&text)
}

/// An access of [`copy_of`] to the element of the first slice at `%c{i}`, with its check.
fn access(i: u32) -> String {
    format!(
        "
            setp.lt.u64 %k{i}, %c{i}, %len;
            @!%k{i} bra $P{i};
            shl.b64 %d{i}, %c{i}, 2;
            add.s64 %e{i}, %from, %d{i};
            ld.global.nc.u32 %r4, [%e{i}];
            st.global.u32 [%to], %r4;
            "
    )
}

#[test]
fn several_elements_per_thread_are_below_a_multiple_of_the_length() {
    let checks = |condition: &str, count: u32, factor: u32, more: u32| {
        let one = |i| {
            let index = format!(
                "mul.lo.s64 %f{i}, %i, {factor}; add.s64 %c{i}, %f{i}, {};",
                i + more
            );
            index + &access(i)
        };
        let all: String = (0..count).map(one).collect();
        let (test, copy) = copy_with_end(&format!("{condition} {all}"), "");
        let narrow = |text: &str| text.matches("setp.lt.u32").count();
        narrow(&test) + narrow(&copy) + copy.matches("setp.lt.u64").count()
    };
    assert_eq!(checks("", 4, 4, 0), 0);
    assert_eq!(checks("", 4, 1, 1), 0);
    // The test would be longer than three comparisons.
    assert_eq!(checks("", 3, 4, 0), 3);
    // The thread's fifth element is not used.
    assert_eq!(checks("", 4, 5, 0), 0);
    // A slice that has elements for all threads is as long as if all of them got here.
    let loaded = "ld.global.u32 %r5, [%to]; setp.ne.s32 %p3, %r5, 0; @%p3 bra $next;";
    assert_eq!(checks(loaded, 4, 4, 0), 0);
    // A slice that is too short for all threads need not be for the first half of them.
    let half = "shl.b64 %a6, %i, 1; setp.ge.u64 %p3, %a6, %count; @%p3 bra $next;";
    assert_eq!(checks(half, 4, 4, 0), 4);
    let half = "shr.u64 %a6, %count, 1; setp.ge.u64 %p3, %i, %a6; @%p3 bra $next;";
    assert_eq!(checks(half, 4, 4, 0), 4);
}

#[test]
fn comparisons_that_limits_decide_are_removed() {
    let checks = |bound: &str| {
        let copy = copy_of(&format!(
            "add.s64 %a6, %count, %len; {bound} setp.ge.u64 %p3, %i, %a7; @%p3 bra $next;
             add.s64 %a8, %a6, %a7; st.global.u64 [%to], %a8;"
        ));
        copy.matches("setp.ge.u32").count() + copy.matches("setp.ge.u64").count()
    };
    assert_eq!(checks("mov.u64 %a7, %count;"), 0);
    assert_eq!(checks("mov.u64 %a7, %a6;"), 0);
    assert_eq!(checks("add.s64 %a7, %a6, 1;"), 0);
    assert_eq!(checks("add.s64 %a7, %count, -1;"), 1);
    assert_eq!(checks("mov.u64 %a7, %len;"), 1);
}

/// Returns the number of proven checks in the copy of a kernel whose blocks have a part of 512
/// elements of the second slice each, and load two elements of the first slice at `index` and
/// `index + 256`. The sum `pieces` is the number of parts, and `size` computes the number of elements
/// of this part.
fn proven_in_parts(pieces: &str, size: &str, index: &str, relation: &str) -> usize {
    let body = format!(
        "
            .reg .pred %p<9>, %k<9>;
            .reg .b32 %r<9>;
            .reg .b64 %from, %len, %to, %count, %a<9>, %piece, %pieces, %quotient, %excess;
            .reg .b64 %start, %again, %rest, %size, %t, %u, %next, %step, %c<9>, %d<9>, %e<9>;
            ld.param.u64 %from, [k_param_0];
            cvta.to.global.u64 %from, %from;
            ld.param.u64 %len, [k_param_1];
            ld.param.u64 %to, [k_param_2];
            cvta.to.global.u64 %to, %to;
            ld.param.u64 %count, [k_param_3];
            mov.u32 %r2, %tid.x;
            cvt.u64.u32 %t, %r2;
            add.s64 %u, %t, 256;
            shr.u64 %quotient, %count, 9;
            and.b64 %a1, %count, 511;
            setp.ne.s64 %p3, %a1, 0;
            selp.u64 %excess, 1, 0, %p3;
            add.s64 %pieces, {pieces};
            mov.u32 %r1, %ctaid.x;
            cvt.u64.u32 %piece, %r1;
            setp.ge.u64 %p1, %piece, %pieces;
            @%p1 bra $end;
            ld.param.u64 %again, [k_param_3];
            shl.b64 %start, %piece, 9;
            sub.s64 %rest, %again, %start;
            {size}
            setp.{relation}.u64 %p4, %t, %size;
            @%p4 bra $second;
            add.s64 %c0, %start, {index};
            {}
            $second:
            setp.{relation}.u64 %p5, %u, %size;
            @%p5 bra $end;
            add.s64 %c6, %start, {index};
            add.s64 %c1, %c6, 256;
            {}
            $end:
            ret;
            ",
        access(0),
        access(1)
    );
    let panics = panic_with("$P0", "%c0") + &panic_with("$P1", "%c1");
    let (_, copy) = specialized(&optimized(&(body + &panics)));
    copy.matches(", 0, 0;").count()
}

#[test]
fn indices_in_a_part_of_a_buffer_are_below_its_length() {
    let (pieces, size) = ("%quotient, %excess", "min.u64 %size, %rest, 512;");
    assert_eq!(proven_in_parts(pieces, size, "%t", "ge"), 2);
    let whole = "mov.u64 %size, %rest;";
    assert_eq!(proven_in_parts("%quotient, 0", size, "%t", "ge"), 2);
    // One more part could start behind the length, and the rest of it wrap around.
    assert_eq!(proven_in_parts("%quotient, 2", size, "%t", "ge"), 0);
    assert_eq!(proven_in_parts("%quotient, 2", whole, "%t", "ge"), 0);
    // A later element, and the one at the length.
    assert_eq!(proven_in_parts(pieces, size, "%u", "ge"), 0);
    assert_eq!(proven_in_parts(pieces, size, "%t", "gt"), 0);
    // A part that is too long.
    let longer = "add.s64 %rest, %rest, 1; min.u64 %size, %rest, 512;";
    assert_eq!(proven_in_parts(pieces, longer, "%t", "ge"), 0);
    // Parts that overlap the next ones, but start within the buffer, and those that start later.
    let start =
        |by: u32| format!("shl.b64 %start, %piece, {by}; sub.s64 %rest, %again, %start; {size}");
    assert_eq!(proven_in_parts(pieces, &start(8), "%t", "ge"), 2);
    assert_eq!(proven_in_parts(pieces, &start(10), "%t", "ge"), 0);
}

#[test]
fn quotients_are_at_most_the_dividend() {
    let narrow = |quotient: &str| {
        let copy = copy_of(&format!(
            "mul.lo.s64 %c0, %i, %len; {} {quotient}
             mul.lo.s64 %c1, %a6, %len; {}",
            access(0),
            access(1)
        ));
        (copy.contains("mul.lo.s64"), copy.contains("setp.lt.u64"))
    };
    assert_eq!(narrow("shr.u64 %a6, %i, 1;"), narrow("mov.u64 %a6, %i;"));
}

#[test]
fn remainders_that_are_differences_have_32_bits() {
    // Whether a condition on the difference has 32 bits.
    let is_narrow = |quotient: &str, difference: &str| {
        let copy = copy_of(&format!(
            "setp.eq.s64 %p3, %len, 0; @%p3 bra $next; {quotient} {difference}
             add.s64 %a8, %a7, 5; setp.lt.u64 %p4, %a8, %count; @!%p4 bra $next;
             st.global.u64 [%to], %a5;"
        ));
        assert!(copy.contains("setp.lt."), "{copy}");
        !copy.contains("mul.lo.s64") && !copy.contains("mul.wide") && !copy.contains("setp.lt.u64")
    };
    let quotient = "div.u64 %a5, %i, %len; mul.lo.s64 %a6, %a5, %len;";
    let difference = "sub.s64 %a7, %i, %a6;";
    assert!(is_narrow(quotient, difference));
    assert!(is_narrow(
        quotient,
        "not.b64 %a6, %a6; add.s64 %a7, %i, %a6;"
    ));
    assert!(is_narrow(
        "div.u64 %a5, %i, %len; mul.lo.s64 %a6, %len, %a5;",
        difference
    ));
    // Other products.
    assert!(!is_narrow(
        "div.u64 %a5, %i, %count; mul.lo.s64 %a6, %a5, %len;",
        difference
    ));
    assert!(!is_narrow(
        "div.u64 %a5, %i, %len; add.s64 %a5, %a5, 1; mul.lo.s64 %a6, %a5, %len;",
        difference
    ));
}

#[test]
fn stores_move_to_the_paths_that_do_not_overwrite_them() {
    let is_delayed = |between: &str, second: &str| {
        let copy = copy_of(&format!(
            "mul.lo.s64 %a5, %i, %len; add.s64 %a6, %a5, %count; add.s64 %a7, %a6, %i;
             add.s64 %a8, %to, %a7; st.global.u64 [%a8+64], %a6;
             st.global.u32 [%a8], 7; setp.eq.s64 %p3, %len, 5; @%p3 bra $next;
             {between} {second}"
        ));
        let lines: Vec<&str> = copy.lines().collect();
        let place = lines.iter().position(|line| line.ends_with("], 7;"));
        !lines[place.unwrap() - 1].starts_with("st.global.u64")
    };
    let second = "st.global.u32 [%a8], %r1;";
    assert!(is_delayed("", second));
    assert!(is_delayed("ld.global.nc.u32 %r5, [%from];", second));
    assert!(is_delayed(
        "setp.eq.s64 %p4, %count, 5; @%p4 bra $next;",
        second
    ));
    // Another load might read what the first store writes, also on another thread.
    assert!(!is_delayed("ld.global.u32 %r5, [%from];", second));
    assert!(!is_delayed("membar.gl;", second));
    assert!(!is_delayed("@%p1 st.global.u32 [%a8], 9;", second));
    // Other bytes.
    assert!(!is_delayed("", "st.global.u32 [%a8+4], %r1;"));
    assert!(!is_delayed("", "st.global.u8 [%a8], %r1;"));
    assert!(!is_delayed("add.s64 %a8, %a8, 4;", second));
    assert!(!is_delayed("", "st.volatile.global.u32 [%a8], %r1;"));
    assert!(!is_delayed("", "@%p1 st.global.u32 [%a8], %r1;"));
}

#[test]
fn divisions_have_32_bits() {
    // libnvvm divides numbers of 64 bits in 32 bits if both fit.
    let copy = copy_of(
        "or.b64 %a5, %i, %len; and.b64 %a6, %a5, -4294967296; setp.eq.s64 %p3, %a6, 0;
         @%p3 bra $short; div.u64 %c0, %i, %len; bra.uni $divided;
         $short: cvt.u32.u64 %r5, %i; cvt.u32.u64 %r6, %len; div.u32 %r7, %r5, %r6;
         cvt.u64.u32 %c0, %r7;
         $divided: add.s64 %a7, %c0, %len; add.s64 %a7, %a7, %count; sub.s64 %a8, %a7, %c0; st.global.u64 [%to], %a8;",
    );
    assert!(!copy.contains("div.u64"), "{copy}");
    assert_eq!(copy.matches("bra").count(), 2, "{copy}");
    // A division by 9: the factor is `15 * 2^60 / 9 + 1` modulo 2⁶⁴, about 8 / 9.
    // The other instructions only make the copy worthwhile.
    let copy = copy_of(&format!(
        "add.s64 %a5, %len, %count; add.s64 %a6, %a5, %i; st.global.u64 [%to], %a6;
         mul.hi.u64 %c0, %i, -2049638230412172401; {} st.global.u64 [%to], %c0;",
        access(0)
    ));
    for found in [
        "mul.hi.u32",
        ", 2386092943;",
        "mad.wide.u32",
        ", 3817748707, ",
    ] {
        assert!(copy.contains(found), "{copy}");
    }
    assert!(!copy.contains("mul.hi.u64"), "{copy}");
    // Whether the quotient takes one product of 32 bits: the shift follows from the divisor.
    let is_short = |factor: &str, shift: u32, short: &str| {
        let copy = copy_of(&format!(
            "add.s64 %a5, %len, %count; add.s64 %a6, %a5, %i; st.global.u64 [%to], %a6;
             mul.hi.u64 %c0, %i, {factor}; shr.u64 %a7, %c0, {shift}; {}
             st.global.u64 [%to], %a7;",
            access(0)
        ));
        copy.contains(&format!(", {short};"))
    };
    assert!(is_short("-2049638230412172401", 3, "3817748708"));
    assert!(is_short("-3689348814741910323", 2, "3435973837"));
    assert!(is_short("-2049638230412172401", 4, "3817748708"));
    // No quotient by a number.
    assert!(!is_short("-2049638230412172401", 2, "3817748708"));
    // The quotient of 2³¹ - 1 and 28 would be wrong.
    assert!(!is_short("2635249153387078803", 2, "613566757"));
}

#[test]
fn products_of_extents_do_not_overflow() {
    // The number of branches of a copy that tests whether a product of the length has 64 bits.
    let branches = |factor: &str| {
        let copy = copy_of(&format!(
            "ld.global.u64 %a7, [%from];
             mul.hi.u64 %a5, %len, {factor}; setp.ne.s64 %p3, %a5, 0; @%p3 bra $next;
             mul.lo.s64 %c0, %i, %len; {} st.global.u64 [%to], %a7;",
            access(0)
        ));
        copy.matches("bra").count()
    };
    let settled = branches("%count");
    assert_eq!(branches("1000"), settled);
    // Other numbers may be large, as signed ones are.
    assert_eq!(branches("%a7"), settled + 1);
    assert_eq!(branches("-1000"), settled + 1);
}

#[test]
fn limits_are_not_negative() {
    // The number of branches of a copy that compares the predecessor of the length, which is a
    // limit, as in `i.clamp(0, len - 1)` with signed numbers.
    let branches = |comparison: &str| {
        let copy = copy_of(&format!(
            "add.s64 %a5, %len, -1; setp.{comparison}; @!%p3 bra $next;
             min.s64 %a6, %i, %a5; mul.lo.s64 %c0, %a6, %len; {} st.global.u64 [%to], %a6;",
            access(0)
        ));
        assert!(copy.contains("min."), "{copy}");
        copy.matches("bra").count()
    };
    let settled = branches("gt.s64 %p3, %a5, -1");
    assert_eq!(branches("ge.s64 %p3, %a5, 0"), settled);
    assert_eq!(branches("gt.s64 %p3, %a5, 5"), settled + 1);
    assert_eq!(branches("lt.s64 %p3, %a5, 5"), settled + 1);
}

#[test]
fn remainders_of_neighbors_need_no_division() {
    let copy = |dividend: &str, divisor: &str| {
        let element = format!(
            "mul.lo.s64 %a5, %i, %len; add.s64 %a6, %a5, %count; st.global.u64 [%to], %a6;
             {dividend} {divisor} rem.u64 %c0, %a7, %a8; {} st.global.u64 [%to+8], %c0;",
            access(0)
        );
        let copy = copy_of(&element);
        ["rem.u", "min.u"].map(|opcode| copy.matches(opcode).count())
    };
    let [same, count] = ["mov.u64 %a7, %i;", "mov.u64 %a8, %count;"];
    let plus = |number: i32| format!("add.s64 %a7, %i, {number};");
    let more = |number: i32| format!("add.s64 %a7, %i, %count; add.s64 %a7, %a7, {number};");
    let (never, once, often) = ([0, 0], [0, 1], [1, 0]);
    assert_eq!(copy(same, count), never);
    assert_eq!(copy(&plus(1), count), once);
    assert_eq!(copy(&more(-1), count), once);
    assert_eq!(copy(&more(0), count), once);
    assert_eq!(copy(&more(1), count), often);
    // The previous one of the first is no neighbor: it is the greatest number.
    assert_eq!(copy(&plus(-1), count), often);
    assert_eq!(copy(&plus(1), "add.s64 %a8, %count, 1;"), never);
    assert_eq!(copy(&plus(1), "add.s64 %a8, %count, -1;"), often);
    assert_eq!(copy(same, "mov.u64 %a8, %len;"), often);
}

#[test]
fn rows_of_matrices_are_within_the_product_of_the_extents() {
    // Whether the test has a product, and the number of checks of a thread that `slices` has, in a
    // matrix of `height` rows of `%rd4` elements.
    let checks = |slices: &str| {
        let element = operations()
            + &format!(
                ".reg .b64 %height, %y, %row, %left, %more, %d<9>, %e<9>;
                 .reg .pred %k<9>, %l<9>;
                 ld.param.u64 %height, [k_param_1]; mov.u32 %r7, %tid.y; cvt.u64.u32 %y, %r7;
                 setp.ge.u64 %l0, %y, %height; @%l0 bra $end;
                 mul.lo.s64 %row, %y, %rd4; {slices}
                 shl.b64 %d1, %row, 2; add.s64 %e1, %rd1, %d1;
                 st.global.u32 [%e1], %r7;"
            );
        let panics = [panic_with("$P0", "%row"), panic_with("$P1", "%row")].concat();
        let text = optimized(&(fenced(&element) + &panics));
        let (test, copy) = specialized(&text);
        let product = test.contains("mul.wide.u32") && test.contains("setp.le.u64");
        let panics = copy.matches("setp.").count() - copy.matches(", 0, 0;").count();
        (product, panics)
    };
    let start = "setp.gt.u64 %k0, %row, %rd2; @%k0 bra $P0;";
    let rest = "sub.s64 %left, %rd2, %row; setp.lt.u64 %k1, %left, %rd4; @%k1 bra $P1;";
    let (_, none) = checks("");
    assert_eq!(checks(start), (true, none));
    let both = format!("{start} {rest}");
    assert_eq!(checks(&both), (true, none));
    let inverted = both.replace("lt.u64", "ge.u64").replace("@%k1", "@!%k1");
    assert_eq!(checks(&inverted), (true, none));
    let greater = both.replace("lt.u64 %k1, %left, %rd4", "gt.u64 %k1, %rd4, %left");
    assert_eq!(checks(&greater), (true, none));
    // The last row has no element more.
    let at_most = both.replace("lt.u64", "le.u64");
    assert_eq!(checks(&at_most).1, none + 1);
    let more = both.replace("%left, %rd4", "%left, %more");
    let more = format!("add.s64 %more, %rd4, 1; {more}");
    assert_eq!(checks(&more).1, none + 1);
    // The row after the last one starts at the end.
    let next = both.replace("sub.s64", "add.s64 %row, %row, %rd4; sub.s64");
    assert!(checks(&next).1 > none);
    // As a signed number, a difference may be negative.
    assert_eq!(checks(&both.replace("lt.u64", "lt.s64")).1, none + 1);
    // Rows with one element less: a slice of such rows is shorter than the product.
    let shorter = "sub.s64 %d2, %row, %y; setp.gt.u64 %k0, %d2, %rd2; @%k0 bra $P0;
        sub.s64 %left, %rd2, %d2; add.s64 %more, %rd4, -1; setp.lt.u64 %k1, %left, %more;
        @%k1 bra $P1;";
    assert_eq!(checks(shorter), (false, none + 2));
    // Launches for which the product is within the slice would panic.
    let greater = "setp.gt.u64 %k0, %row, %rd2;";
    let at_most = "setp.le.u64 %k0, %row, %rd2;";
    let other = "setp.ne.s32 %k2, %r7, 77;";
    for fails in [
        format!("{greater} @!%k0 bra $P0;"),
        format!("{greater} {other} and.pred %k3, %k0, %k2; @!%k3 bra $P0;"),
        format!("{at_most} {other} or.pred %k3, %k0, %k2; @%k3 bra $P0;"),
        format!("{at_most} not.pred %k3, %k0; @!%k3 bra $P0;"),
    ] {
        assert!(!checks(&fails).0, "{fails}");
    }
}

#[test]
fn ranges_in_rows_with_borders_are_within_sums_of_products() {
    // The number of comparisons of a thread for ranges in three rows of a matrix with a border. Each
    // starts `offset` after the thread's place.
    let checks = |offset: i32| {
        let access = |i: u32| {
            format!(
                "add.s64 %a{i}, %y, {i}; mul.lo.s64 %b{i}, %a{i}, %row;
                 add.s64 %c{i}, %b{i}, %rd5; add.s64 %s{i}, %c{i}, {offset};
                 add.s64 %t{i}, %s{i}, 3; setp.gt.u64 %j{i}, %s{i}, -4;
                 setp.gt.u64 %k{i}, %t{i}, %rd2; or.pred %l{i}, %j{i}, %k{i}; @%l{i} bra $P{i};
                 shl.b64 %d{i}, %s{i}, 2; add.s64 %e{i}, %rd1, %d{i};
                 ld.global.nc.u32 %r4, [%e{i}+8]; st.global.u32 [%rd3], %r4;"
            )
        };
        let accesses: String = (0..3).map(access).collect();
        let element = format!(
            ".reg .b64 %height, %y, %row, %a<9>, %b<9>, %c<9>, %d<9>, %e<9>, %s<9>, %t<9>;
             .reg .pred %j<9>, %k<9>, %l<9>;
             ld.param.u64 %height, [k_param_1]; mov.u32 %r7, %tid.y; cvt.u64.u32 %y, %r7;
             setp.ge.u64 %l8, %y, %height; @%l8 bra $end; add.s64 %row, %rd4, 2; {accesses}"
        );
        let panics: String = (0..3)
            .map(|i| panic_with(&format!("$P{i}"), &format!("%s{i}")))
            .collect();
        let text = optimized(&(fenced(&element) + &panics));
        let (_, copy) = specialized(&text);
        copy.matches("setp.").count() - copy.matches(", 0, 0;").count()
    };
    let none = checks(0);
    assert_eq!(checks(1), none);
    // The first range wraps around.
    assert!(checks(-1) > none);
}

#[test]
fn operands_of_small_sums_are_small() {
    // Whether the offset of the element eight rows below has 32 bits.
    let is_narrow = |condition: &str| {
        let element = operations()
            + &format!(
                ".reg .b64 %height, %y, %next, %row, %i, %step, %far, %d<9>, %e<9>;
                 .reg .pred %k<9>, %l<9>;
                 ld.param.u64 %height, [k_param_1]; mov.u32 %r7, %tid.y; cvt.u64.u32 %y, %r7;
                 setp.ge.u64 %l0, %y, %height; @%l0 bra $end; {condition}
                 shl.b64 %step, %rd4, 3;
                 mul.lo.s64 %row, %y, %rd4; add.s64 %i, %row, %rd5;
                 setp.lt.u64 %k0, %i, %rd2; @!%k0 bra $P0;
                 add.s64 %far, %i, %step; setp.lt.u64 %k1, %far, %rd2; @!%k1 bra $P1;
                 shl.b64 %d1, %i, 2; add.s64 %e1, %rd1, %d1;
                 shl.b64 %d2, %step, 2; add.s64 %e2, %e1, %d2;
                 st.global.u32 [%e2], %r7;"
            );
        let panics = [panic_with("$P0", "%i"), panic_with("$P1", "%far")].concat();
        let text = optimized(&(grid_stride(&element) + &panics));
        let (_, copy) = specialized(&text);
        !copy.contains("shl.b64")
    };
    let below = "add.s64 %next, %y, 8; setp.ge.u64 %l1, %next, %height; @%l1 bra $end;";
    assert!(is_narrow(below));
    // There may be no such element.
    assert!(!is_narrow(&below.replace(", 8;", ", 7;")));
    assert!(!is_narrow(""));
}

#[test]
fn operands_of_positive_minima_are_positive() {
    // Whether a quotient of an element's left neighbor, around the border, has 64 bits.
    let is_wide = |check: &str| {
        let element = operations()
            + &format!(
                ".reg .b64 %width, %x, %least, %last, %left, %q, %d, %e; .reg .pred %l;
                 ld.param.u64 %width, [k_param_1]; mov.u32 %r7, %tid.y; cvt.u64.u32 %x, %r7;
                 add.s64 %last, %width, -1; {check} @%l bra $end;
                 add.s64 %left, %x, %last; div.u64 %q, %left, %width;
                 shl.b64 %d, %q, 2; add.s64 %e, %rd3, %d; st.global.u32 [%e], %r7;"
            );
        let text = optimized(&grid_stride(&element));
        let (_, copy) = specialized(&text);
        assert!(copy.contains("div."), "{copy}");
        copy.contains("div.u64")
    };
    let check = "min.u64 %least, %width, %rd4; setp.ge.u64 %l, %x, %least;";
    assert!(!is_wide(check));
    // The width may be zero.
    assert!(is_wide(&check.replace("setp.ge", "setp.gt")));
    assert!(is_wide(&check.replace("min", "max")));
    assert!(is_wide(
        &check.replace("setp", "add.s64 %least, %least, 1; setp")
    ));
    assert!(is_wide("setp.eq.u32 %l, %r7, 9;"));
}

#[test]
fn conversions_that_change_an_integer_keep_its_checks() {
    // Whether an index that is computed from the counter with `conversion` is checked.
    let is_checked = |conversion: &str| {
        let access = |i: u32| {
            format!(
                "setp.lt.u64 %k{i}, %b, %rd4; @!%k{i} bra $P{i};
                 shl.b64 %d{i}, %b, 2; add.s64 %e{i}, %rd3, %d{i};
                 ld.global.u32 %r4, [%e{i}]; st.global.u32 [%rd3], %r4;"
            )
        };
        let accesses: String = (0..4).map(access).collect();
        let element = format!(
            ".reg .b64 %b, %d<9>, %e<9>; .reg .pred %k<9>;
             .reg .b16 %h; .reg .f32 %f; .reg .f64 %g; {conversion} {accesses}"
        );
        let panics: String = (0..4)
            .map(|i| panic_with(&format!("$P{i}"), "%b"))
            .collect();
        let text = optimized(&(fenced(&element) + &panics));
        let (_, copy) = specialized(&text);
        copy.contains("setp.lt.u32") || copy.contains("setp.lt.u64")
    };
    assert!(!is_checked("mov.u64 %b, %rd5;"));
    assert!(!is_checked("cvt.u32.u64 %r7, %rd5; cvt.u64.u32 %b, %r7;"));
    // Bits of floats.
    let float = "cvt.rn.f32.u64 %f, %rd5; mov.b32 %r7, %f; cvt.u64.u32 %b, %r7;";
    assert!(is_checked(float));
    assert!(is_checked("cvt.rn.f64.u64 %g, %rd5; mov.b64 %b, %g;"));
    let word = "cvt.u32.u64 %r7, %rd5; cvt.rn.f32.u32 %f, %r7; mov.b32 %r7, %f;";
    assert!(is_checked(&format!("{word} cvt.u64.u32 %b, %r7;")));
    // Fewer bits.
    assert!(is_checked("cvt.u16.u64 %h, %rd5; cvt.u64.u16 %b, %h;"));
}

#[test]
fn values_of_31_bits_are_compared_in_32_bits() {
    // Whether the copy compares `%b` in 32 bits, which `code` computes from any number `%v`.
    let is_narrow = |code: &str| {
        let element = format!(
            "{NEIGHBORS} .reg .b64 %v, %b, %q; .reg .pred %k, %l;
             ld.global.u64 %v, [%rd3]; {code}
             setp.gt.s64 %k, %b, 77; @%k bra $end; st.global.u32 [%rd3], 5;"
        );
        let text = optimized(&(grid_stride(&element) + &panics_of_neighbors()));
        let copy = lines(&text, "ld.global.u64", "st.global.u32").join("\n");
        !copy.contains("setp.gt.s64 ")
    };
    // The least that is not an `i32`.
    const LEAST: u64 = 1 << 31;
    let below =
        |bound: u64| format!("setp.ge.u64 %l, %v, {bound}; @%l bra $end; add.s64 %b, %v, 0;");
    assert!(is_narrow(&below(LEAST)) && !is_narrow(&below(LEAST + 1)));
    let least = |bound: u64| format!("and.b64 %q, %v, 4294967295; min.u64 %b, %q, {bound};");
    assert!(is_narrow(&least(LEAST - 1)) && !is_narrow(&least(LEAST)));
    let remainder = |by: u64| format!("rem.u64 %b, %v, {by};");
    assert!(is_narrow(&remainder(LEAST)) && !is_narrow(&remainder(LEAST + 1)));
    let difference = |most: u64| {
        format!(
            "{} and.b64 %v, %v, 3; sub.s64 %b, %q, %v;",
            least(most).replace("%b", "%q")
        )
    };
    assert!(is_narrow(&difference(LEAST - 1)) && !is_narrow(&difference(LEAST + 2)));
    let special = |name: &str| format!("mov.u32 %r7, {name}; mul.wide.u32 %b, %r7, 2097152;");
    assert!(is_narrow(&special("%tid.x")) && !is_narrow(&special("%ntid.x")));
    assert!(is_narrow(&special("%laneid")) && !is_narrow(&special("%ctaid.y")));
}

/// Nested grid-stride loops over the columns and rows of a matrix with as many rows as columns.
fn rows(element: &str) -> String {
    let start = "
        mov.u64 %rd16, %rd5;
        mov.u32 %r9, %tid.y;
        cvt.u64.u32 %rd17, %r9;
        mov.u32 %r10, %nctaid.y;
        cvt.u64.u32 %rd18, %r10;
        $rows:
        mov.u64 %rd5, %rd16;
        $loop:
        ";
    let end = "
        add.s64 %rd17, %rd17, %rd18;
        setp.lt.u64 %p7, %rd17, %rd4;
        @%p7 bra $rows;
        $end:
        ";
    let body = replaced(&grid_stride(element), "$loop:", start);
    let body = replaced(&body, "$end:", end);
    replaced(&body, "%r<9>", "%r<11>")
}

#[test]
fn kernels_that_wait_for_memory_have_few_registers() {
    let limited = |body: String| optimized(&body).contains("\n.maxnreg 32\n");
    // The original, which runs if there are fewer threads than rows, would need more.
    assert!(limited(rows(NEIGHBORS) + &panics_of_neighbors()));
    // The order of the instructions decides how many are live: each value could be computed where it
    // is needed, unless all are computed from the previous one, and needed in the opposite order.
    let values = |count: usize, computed: fn(usize) -> String| {
        let values: String = (1..count).map(computed).collect();
        let sums: String = (1..count)
            .rev()
            .map(|i| format!("mad.lo.s32 %r6, %r6, 31, %v{i};"))
            .collect();
        let body = format!(
            ".reg .b32 %v<{count}>; {NEIGHBORS} mov.u32 %v0, %r6; {values} {sums}
             st.global.u32 [%rd3], %r6;"
        );
        rows(&body) + &panics_of_neighbors()
    };
    let own: fn(usize) -> String = |i| format!("mul.lo.s32 %v{i}, %r4, {};", i + 2);
    let chain: fn(usize) -> String = |i| format!("mul.lo.s32 %v{i}, %v{}, %r4;", i - 1);
    assert!(limited(values(60, own)));
    assert!(limited(values(20, chain)));
    assert!(!limited(values(60, chain)));
    // ptxas needs fewer by itself.
    assert!(!limited(grid_stride(NEIGHBORS) + &panics_of_neighbors()));
    // Many loads at once.
    let many = |count: usize| {
        let load = |i: usize| format!("ld.global.nc.u32 %v{i}, [%rd14+{}];", 4 * i);
        let add = |i: usize| format!("add.s32 %r6, %r6, %v{i};");
        let loads: String = (0..count).map(load).collect();
        let sums: String = (0..count).map(add).collect();
        format!(
            "
            .reg .b32 %v<{count}>;
            {NEIGHBORS}
            {loads}
            {sums}
            st.global.u32 [%rd3], %r6;
            "
        )
    };
    let waits = |count: usize| format!("bar.sync 0;\n{}", many(count));
    let panics = panics_of_neighbors();
    assert!(limited(grid_stride(&many(22)) + &panics));
    assert!(!limited(grid_stride(&many(32)) + &panics));
    // More threads wait at a barrier.
    assert!(limited(grid_stride(&waits(32)) + &panics));
    assert!(!limited(grid_stride(&waits(80)) + &panics));
    // ptxas rejects a limit that a callee exceeds.
    let call = format!("{{ call.uni other, (); }}\n{NEIGHBORS}");
    assert!(!limited(grid_stride(&call) + &panics_of_neighbors()));
    let bulk = format!("st.bulk.weak.shared::cta [%r1], 32, 0;\n{}", many(32));
    assert!(!limited(grid_stride(&bulk) + &panics_of_neighbors()));
    // Much computation per access.
    let work = "fma.rn.f32 %f1, %f1, %f1, %f1;\n".repeat(300);
    let body = format!(
        "
        .reg .f32 %f<2>;
        mov.f32 %f1, 0f3F800000;
        {NEIGHBORS}
        {work}
        "
    );
    let body = format!("{body} st.global.f32 [%rd3], %f1;");
    assert!(!limited(grid_stride(&body) + &panics_of_neighbors()));
    // Only the original might need more.
    let live = |count: u32| {
        let value = |i: u32| format!("mul.lo.s32 %v{i}, %r2, {};", i + 3);
        let add = |i: u32| format!("mad.lo.s32 %r2, %r2, 31, %v{i};");
        let values: String = (0..count).map(value).collect();
        let sums: String = (0..count).map(add).collect();
        let body = format!(".reg .b32 %v<{count}>;\n{values}\n{body}\n{sums}");
        grid_stride(&format!("{body}\nst.global.u32 [%rd3], %r2;")) + &panics_of_neighbors()
    };
    assert!(!limited(live(4)));
    assert!(limited(live(12)));
    assert!(!limited(live(20)));
    // A second block of the maximum size runs while the first waits at a barrier.
    let in_blocks = |threads: u32, body: &str| {
        let directive = format!(".reqntid {threads}, 1, 1");
        let body = grid_stride(body) + &panics_of_neighbors();
        optimized_with(&directive, &body).contains("\n.maxnreg 32\n")
    };
    assert!(!in_blocks(1024, &body));
    assert!(!in_blocks(1024, &format!("bar.sync 0;\n{body}")));
    let waits = "bar.sync 0;\n".repeat(16) + &body;
    assert!(in_blocks(1024, &waits));
    assert!(!in_blocks(512, &waits));
}

/// A grid-stride loop before which the lower bits of the thread's index are tested, and whose body
/// is `element`.
fn bits(count: u32, element: &str) -> String {
    let test = |k: u32| {
        format!(
            "
            shr.u32 %s{k}, %r2, {k};
            and.b32 %b{k}, %s{k}, 1;
            setp.eq.s32 %q{k}, %b{k}, 1;
            "
        )
    };
    let tests: String = (0..count).map(test).collect();
    let start = format!(
        "
        .reg .pred %q<{count}>;
        .reg .b32 %s<{count}>;
        .reg .b32 %b<{count}>;
        {tests}
        $loop:
        "
    );
    let body = replaced(&fenced(element), "$loop:", &start);
    body + &panics_of_neighbors()
}

/// Stores behind each of the conditions that `bits` computes.
fn behind_bits(count: u32) -> String {
    let store = |k: u32| format!("@!%q{k} bra $S{k};\nst.global.u32 [%rd3], {k};\n$S{k}:\n");
    (0..count).map(store).collect()
}

#[test]
fn hoisted_conditions_are_computed_where_they_are_used() {
    let copy = |count: u32| {
        let text = optimized(&bits(count, &format!("{NEIGHBORS}{}", behind_bits(count))));
        // The original has a loop.
        assert!(text.contains("setp.ne.s32 %q0, %b0, 0;"), "{text}");
        specialized(&text).1
    };
    let many: Vec<String> = copy(12).lines().map(str::to_owned).collect();
    // `(x >> k) & 1 == 1` is a test of a bit.
    let (sunk, kept): (Vec<usize>, Vec<usize>) = (0..many.len())
        .filter(|&at| many[at].starts_with("setp.ne.s32"))
        .partition(|&at| many[at + 1].starts_with("@!%x"));
    assert!(sunk.len() >= 6, "{many:?}");
    for at in sunk {
        assert!(many[at - 1].starts_with("and.b32"), "{many:?}");
    }
    // The others stay.
    assert!(kept.len() <= 6, "{many:?}");
    // Reading the thread's index takes longer than keeping it.
    let reads = many.iter().filter(|line| line.ends_with("%tid.x;"));
    assert_eq!(reads.count(), 0, "{many:?}");
    // The predicates of the hardware suffice.
    let few = copy(2);
    assert_eq!(few.matches("setp.ne.s32").count(), 2, "{few}");
}

#[test]
fn conditions_are_not_sunk_into_loops() {
    let element = format!(
        "
        {NEIGHBORS}
        mov.b32 %r7, 0;
        $inner:
        {}
        add.s32 %r7, %r7, 1;
        setp.lt.s32 %p7, %r7, 100;
        @%p7 bra $inner;
        ",
        behind_bits(12)
    );
    let (_, copy) = specialized(&optimized(&bits(12, &element)));
    let inner = copy.find("st.global.u32").unwrap();
    // The ranges of two bits show that they are 0.
    let count = |test| copy[..inner].matches(test).count();
    assert_eq!(
        (count("setp.ne.s32"), count("setp.eq.s32")),
        (10, 2),
        "{copy}"
    );
    assert!(!copy[inner..].contains("and.b32"), "{copy}");
}

#[test]
fn changed_operands_are_not_read_again() {
    // The second write follows what reads the first.
    let element = format!(
        "
        {NEIGHBORS}
        add.s32 %r2, %r2, 1;
        {}
        st.global.u32 [%rd3], %r2;
        ",
        behind_bits(9)
    );
    let (_, copy) = specialized(&optimized(&bits(9, &element)));
    let second = copy.find("st.global.u32").unwrap();
    assert_eq!(copy[..second].matches("shr.u32").count(), 9, "{copy}");
    assert!(!copy[second..].contains("shr.u32"), "{copy}");
}

/// Two accesses behind different conditions, each with a check.
const GUARDED: &str = "
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<19>;
    ld.param.u64 %rd1, [k_param_0];
    cvta.to.global.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [k_param_1];
    ld.param.u64 %rd4, [k_param_3];
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd3, %r1;
    setp.lt.u64 %p1, %rd3, %rd4;
    @!%p1 bra $second;
    setp.lt.u64 %p2, %rd3, %rd2;
    @!%p2 bra $A;
    add.s64 %rd5, %rd1, %rd3;
    st.global.u8 [%rd5], 1;
    $second:
    add.s64 %rd6, %rd3, 8;
    setp.lt.u64 %p3, %rd6, %rd4;
    @!%p3 bra $end;
    setp.lt.u64 %p4, %rd6, %rd2;
    @!%p4 bra $B;
    add.s64 %rd7, %rd1, %rd6;
    st.global.u8 [%rd7], 2;
    $end:
    ret;
    ";

#[test]
fn checks_behind_different_conditions_become_one_branch() {
    let panics = panic_with("$A", "%rd3") + &panic_with("$B", "%rd6");
    let text = optimized(&(GUARDED.to_owned() + &panics));
    let start = lines(&text, "setp.lt.u64 %p1", "bra");
    // Whether a check that is reached fails.
    let start = start.join("\n");
    assert_eq!(start.matches("not.pred").count(), 2, "{text}");
    assert_eq!(start.matches("and.pred").count(), 2, "{text}");
    assert_eq!(start.matches("or.pred").count(), 1, "{text}");
    let hot = lines(&text, "or.pred", "ret;").join("\n");
    assert!(!hot.contains("$A") && !hot.contains("$B"), "{text}");
    // The copy has the original checks and stores.
    assert_eq!(text.matches("st.global.u8").count(), 4, "{text}");
    assert!(
        text.contains("bra $A;") && text.contains("bra $B;"),
        "{text}"
    );
}

#[test]
fn checks_of_loaded_indices_stay_behind_their_conditions() {
    let loaded = replaced(
        GUARDED,
        "add.s64 %rd6, %rd3, 8;",
        "ld.global.u64 %rd6, [%rd1];",
    );
    let panics = panic_with("$A", "%rd3") + &panic_with("$B", "%rd6");
    let text = optimized(&(loaded + &panics));
    assert_eq!(text.matches("st.global.u8").count(), 2, "{text}");
}

/// Enough 64-bit operations that a kernel gets a second body.
fn operations() -> String {
    ".reg .b64 %y<9>;\n.reg .b32 %s<9>;\n.reg .f32 %f<9>;\n.reg .pred %q<9>;\n".to_owned()
        + &"add.s64 %y8, %rd5, 1;\n".repeat(8)
}

#[test]
fn no_launch_is_meant_to_panic() {
    // Whether a copy stores, with a check that a row of as many elements as the other slice has is
    // within the first slice.
    let stores = |check: &str| {
        let row = |k: u32| {
            format!(
                "ld.global.u64 %y{k}, [%rd3+{}]; setp.gt.u64 %q1, %y{k}, %rd2; @%q1 bra $P0;
                 sub.s64 %y0, %rd2, %y{k}; {}",
                8 * k,
                check.replace("%k", &format!("%k{k}"))
            )
        };
        let rows: String = (1..8).map(row).collect();
        let element = operations() + ".reg .pred %k<9>;" + &rows + "st.global.u32 [%rd3], %r1;";
        let text = optimized(&(grid_stride(&element) + &panic_with("$P0", "%y0")));
        specialized(&text).1.contains("st.global.u32")
    };
    let less = "setp.lt.u64 %k, %y0, %rd4;";
    assert!(stores(&format!("{less} @%k bra $P0;")));
}

#[test]
fn clamps_of_signed_integers_have_32_bits() {
    // The operations of a copy that limits `%y2` to the elements of a slice.
    let operations_of = |code: &str| {
        let element = operations()
            + &format!(
                ".reg .b64 %d;
                 cvt.rn.f32.u64 %f1, %rd5; cvt.rzi.s64.f32 %y1, %f1; setp.nan.f32 %q1, %f1, %f1;
                 selp.b64 %y2, 0, %y1, %q1; add.s64 %y3, %rd4, -1; {code}
                 shl.b64 %y6, %y5, 2; add.s64 %y7, %rd3, %y6; st.global.u32 [%y7], %r1;"
            );
        let text = optimized(&grid_stride(&element));
        specialized(&text).1
    };
    let clamp = "setp.lt.s64 %q2, %y2, 0; min.s64 %y4, %y2, %y3; selp.b64 %y5, 0, %y4, %q2;";
    let copy = operations_of(clamp);
    for operation in ["cvt.rzi.s32.f32", "max.s32", "min.s32"] {
        assert!(copy.contains(operation), "{copy}");
    }
    assert!(!copy.contains("selp.b32"), "{copy}");
    // The sum wraps around if the float is 2^63 or more.
    let next = format!("add.s64 %d, %y2, 1; {}", clamp.replace("%y2", "%d"));
    let copy = operations_of(&next);
    assert!(
        copy.contains("selp.b32") && copy.contains("abs.f32"),
        "{copy}"
    );
    // Too far, and the limit may be negative.
    let far = next.replace(", 1;", ", 513;");
    assert!(!operations_of(&far).contains("rzi.s32"));
    let negative = clamp.replace("setp.lt.s64", "add.s64 %y3, %rd4, -2; setp.lt.s64");
    assert!(!operations_of(&negative).contains("max.s"));
    // The integer or the limit changes before the selection.
    for register in ["%y2", "%y3"] {
        let change = format!("add.s64 {register}, {register}, 1; selp");
        let changed = clamp.replace("selp", &change);
        let copy = operations_of(&format!("{changed} st.global.u64 [%rd3], {register};"));
        assert!(!copy.contains("max.s"), "{copy}");
    }
}

#[test]
fn conversions_of_floats_that_are_limited_have_32_bits() {
    let element = operations()
        + "
        cvt.rn.f32.u64 %f1, %rd5;
        cvt.rzi.u64.f32 %y1, %f1;
        setp.nan.f32 %q1, %f1, %f1;
        selp.b64 %y2, 0, %y1, %q1;
        add.s64 %y3, %rd4, -1;
        min.u64 %y4, %y2, %y3;
        cvt.rn.f32.u64 %f2, %y4;
        shl.b64 %y5, %y4, 2;
        add.s64 %y6, %rd1, %y5;
        st.global.f32 [%y6], %f2;";
    let text = optimized(&grid_stride(&element));
    let (test, copy) = specialized(&text);
    // The length is not zero, so the last index is small.
    assert_eq!(test.matches("setp.ne.s32").count(), 1, "{test}");
    assert!(copy.contains("cvt.rzi.u32.f32"), "{copy}");
    assert!(copy.contains("min.u32"), "{copy}");
    assert_eq!(copy.matches("cvt.rn.f32.u32").count(), 2, "{copy}");
}

#[test]
fn converted_floats_with_an_offset_have_32_bits() {
    let copy = |offset: i32, limit: &str| {
        // `(x as usize + 2).saturating_sub(1).min(limit)` for an offset of 1. After a store, no thread
        // starts over in the original.
        let element = operations()
            + &format!(
                "
                cvt.rn.f32.u64 %f1, %rd5;
                st.global.f32 [%rd3], %f1;
                cvt.rzi.u64.f32 %y1, %f1;
                setp.nan.f32 %q1, %f1, %f1;
                selp.b64 %y2, 0, %y1, %q1;
                setp.eq.s64 %q2, %y2, -2;
                add.s64 %y3, %y2, {offset};
                selp.b64 %y4, 0, %y3, %q2;
                min.u64 %y5, %y4, {limit};
                shl.b64 %y6, %y5, 2;
                add.s64 %y7, %rd1, %y6;
                st.global.f32 [%y7], %f1;"
            );
        specialized(&optimized(&grid_stride(&element))).1
    };
    let narrow = copy(1, "%rd4");
    assert!(
        narrow.contains("min.u32") && !narrow.contains("min.u64"),
        "{narrow}"
    );
    assert!(!narrow.contains("setp.eq.s64"), "{narrow}");
    // Above the greatest float below 2⁶⁴, the integer is -1, to which one may be added.
    assert!(
        narrow.contains("setp.ge.f32") && narrow.contains("0f5F800000"),
        "{narrow}"
    );
    assert!(copy(513, "%rd4").contains("min.u64"));
    // Greater than what the conversion to 32 bits distinguishes.
    assert!(copy(1, "2147483000").contains("min.u64"));
}

#[test]
fn coordinates_of_periodic_grids_are_tested() {
    // The element of a grid of `%rd2` elements after the one at the coordinate `%f1`.
    let body = operations()
        + "
        cvt.rn.f32.u64 %f1, %rd5;
        cvt.rzi.u64.f32 %y1, %f1;
        setp.nan.f32 %q1, %f1, %f1;
        selp.b64 %y2, 0, %y1, %q1;
        add.s64 %y3, %y2, 1;
        setp.eq.s64 %q2, %y3, %rd2;
        selp.b64 %y4, 0, %y3, %q2;
        setp.lt.u64 %q3, %y2, %rd2;
        @!%q3 bra $A;
        setp.lt.u64 %q4, %y4, %rd2;
        @!%q4 bra $B;
        shl.b64 %y5, %y4, 2;
        add.s64 %y6, %rd1, %y5;
        shl.b64 %y7, %y2, 2;
        add.s64 %y7, %rd1, %y7;
        ld.global.nc.u32 %s1, [%y7];
        st.global.u32 [%y6], %s1;";
    let panics = [panic_with("$A", "%y2"), panic_with("$B", "%y4")].concat();
    // Whether the copy tests the coordinate, and the number of its comparisons.
    let tested = |body: &str| {
        let text = optimized(&(grid_stride(body) + &panics));
        let (_, copy) = specialized(&text);
        let comparisons = copy.matches("setp.").count() - copy.matches(", 0, 0;").count();
        let is_narrow = !copy.contains("cvt.rzi.u64.f32");
        (is_narrow && copy.contains("cvt.rzi.u32.f32"), comparisons)
    };
    let (is_tested, comparisons) = tested(&body);
    assert!(is_tested);
    // The test replaces both checks and that for NaN.
    let store = "st.global.u32 [%rd3], %s1;\n";
    let (is_tested, more) = tested(&replaced(
        &body,
        "cvt.rn.f32.u64 %f1, %rd5;",
        &format!("{store} cvt.rn.f32.u64 %f1, %rd5;"),
    ));
    assert!(!is_tested);
    // One comparison more finds the floats that are too large for an integer.
    assert_eq!(more, comparisons + 3);
    let without = |from: &str, to: &str| !tested(&replaced(&body, from, to)).0;
    // The coordinate is also compared with the number whose successor is 0.
    assert!(!without("%q2, %y3, %rd2;", "%q2, %y2, -1;"));
    // A coordinate whose successor is below the extent may be the largest number.
    let below = |successor: &str| {
        let condition = format!("setp.lt.u64 %q2, {successor}, %rd2;");
        without("setp.eq.s64 %q2, %y3, %rd2;", &condition)
    };
    assert!(!below("%y3"));
    assert!(below("%y2"));
    assert!(without("%q2, %y3, %rd2;", "%q2, %y2, 1;"));
    assert!(without("%q2, %y3, %rd2;", "%q2, %rd5, -1;"));
    // Threads that start over in the original would miss a barrier.
    assert!(without(
        "add.s64 %y3, %y2, 1;",
        "bar.sync 0; add.s64 %y3, %y2, 1;"
    ));
    assert!(without("%q2, %y3, %rd2;", "%q2, %y3, 77;"));
    assert!(without("%q2, %y3, %rd2;", "%q2, %y3, %rd5;"));
    // Not the value 0 for NaN.
    assert!(without("selp.b64 %y2, 0,", "selp.b64 %y2, 1,"));
    assert!(without("selp.b64 %y2, 0, %y1,", "selp.b64 %y2, %y1, 0,"));
    assert!(without(
        "setp.nan.f32 %q1, %f1, %f1;",
        "setp.nan.f32 %q1, %f1, %f2;"
    ));
}

#[test]
fn conversions_from_16_bits_have_32_bits() {
    let text = optimized(
        "
        .reg .b16 %rs<2>;
        .reg .b64 %rd<3>;
        .reg .f32 %f<2>;
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd2, %rd1;
        ld.global.u8 %rs1, [%rd2];
        cvt.rn.f32.u16 %f1, %rs1;
        st.global.f32 [%rd2], %f1;
        ret;",
    );
    assert!(
        text.contains("cvt.u32.u16 %x1, %rs1;\n\tcvt.rn.f32.u32 %f1, %x1;"),
        "{text}"
    );
}

#[test]
fn both_halves_of_a_product_have_the_same_order() {
    let orders = |body: &str| {
        let text = optimized(&format!(
            "
            .reg .b64 %rd<8>;
            ld.param.u64 %rd1, [k_param_0];
            ld.param.u64 %rd2, [k_param_1];
            cvta.to.global.u64 %rd3, %rd1;
            {body}
            st.global.u64 [%rd3], %rd4;
            st.global.u64 [%rd3+8], %rd5;
            ret;"
        ));
        text.contains("mul.lo.s64 %rd5, %rd1, %rd2;")
    };
    assert!(orders(
        "mul.hi.s64 %rd4, %rd1, %rd2; mul.lo.s64 %rd5, %rd2, %rd1;"
    ));
    assert!(orders(
        "mul.lo.s64 %rd5, %rd2, %rd1; mul.hi.u64 %rd4, %rd1, %rd2;"
    ));
    assert!(!orders("mul.lo.s64 %rd5, %rd2, %rd1; mov.u64 %rd4, 1;"));
    let both = "mul.hi.s64 %rd4, %rd1, %rd2; mul.hi.s64 %rd6, %rd2, %rd1; st.u64 [%rd3+16], %rd6;";
    assert!(!orders(&format!("{both} mul.lo.s64 %rd5, %rd2, %rd1;")));
}

#[test]
fn functions_of_normal_numbers_flush_others() {
    // Whether the kernel assumes that the operand `%f4` is normal.
    let is_normal = |body: &str| {
        let text = optimized(&format!(
            "
            .reg .f32 %f<9>;
            .reg .b64 %rd<3>;
            ld.param.u64 %rd1, [k_param_0];
            cvta.to.global.u64 %rd2, %rd1;
            ld.global.f32 %f1, [%rd2];
            ld.global.f32 %f2, [%rd2+4];
            {body}
            rsqrt.approx.f32 %f5, %f4;
            st.global.f32 [%rd2], %f5;
            ret;"
        ));
        text.contains("rsqrt.approx.ftz.f32 %f5, %f4;")
    };
    let squares = "mul.f32 %f3, %f1, %f1; fma.rn.f32 %f3, %f2, %f2, %f3;";
    let sum = format!("{squares} add.f32 %f4, %f3, 0f3A83126F;");
    assert!(is_normal(&sum));
    assert!(is_normal("fma.rn.f32 %f4, %f1, %f1, 0f3A83126F;"));
    assert!(is_normal("max.f32 %f4, %f1, 0f00800000;"));
    assert!(is_normal("abs.f32 %f3, %f1; add.f32 %f4, %f3, 0f00800000;"));
    let both = "add.f32 %f3, %f3, 0f3F800000; mov.f32 %f6, 0f3F000000; min.f32 %f4, %f3, %f6;";
    assert!(is_normal(&format!("{squares} {both}")));
    // Numbers that may be subnormal or negative.
    assert!(!is_normal("mov.f32 %f4, %f1;"));
    assert!(!is_normal("mul.f32 %f4, %f1, %f1;"));
    assert!(!is_normal("add.f32 %f4, %f1, 0f3A83126F;"));
    assert!(!is_normal("fma.rn.f32 %f4, %f1, %f2, 0f3A83126F;"));
    assert!(!is_normal(&sum.replace("0f3A83126F", "0f007FFFFF")));
    assert!(!is_normal(&sum.replace("0f3A83126F", "0fBA83126F")));
    assert!(!is_normal(&format!(
        "{squares} sub.f32 %f4, %f3, 0f3A83126F;"
    )));
    // If `%f3` is NaN, the maximum is `%f1`.
    let sum = sum.replace("%f4", "%f3");
    assert!(!is_normal(&format!("{sum} max.f32 %f4, %f1, %f3;")));
    assert!(!is_normal(&format!("{sum} min.f32 %f4, %f1, %f3;")));
    // The register changes.
    assert!(!is_normal(&format!(
        "{sum} mov.f32 %f3, %f1; mov.f32 %f4, %f3;"
    )));
}

#[test]
fn conversions_of_bytes_select_the_byte() {
    // What the kernel converts to `f32`, if `%r1` is a loaded word.
    let converted = |part: &str| {
        let text = optimized(&format!(
            "
            .reg .b16 %rs<5>;
            .reg .b32 %r<5>;
            .reg .b64 %rd<3>;
            .reg .f32 %f<2>;
            ld.param.u64 %rd1, [k_param_0];
            cvta.to.global.u64 %rd2, %rd1;
            ld.global.u32 %r1, [%rd2];
            {part}
            st.global.f32 [%rd2], %f1;
            ret;"
        ));
        let hot = lines(&text, "ld.global.u32", "st.global.f32");
        hot[hot.len() - 3..hot.len() - 1].join(" ")
    };
    let byte = |index: u32| {
        let selectors = 0x4440 + index;
        format!("prmt.b32 %x1, %r1, 0, {selectors}; cvt.rn.f32.u32 %f1, %x1;")
    };
    let to_float = "cvt.rn.f32.u16 %f1, %rs2;";
    let low = "cvt.u16.u32 %rs1, %r1; and.b16 %rs2, %rs1, 255;";
    assert_eq!(converted(&format!("{low} {to_float}")), byte(0));
    let second = "cvt.u16.u32 %rs1, %r1; shr.u16 %rs2, %rs1, 8;";
    assert_eq!(converted(&format!("{second} {to_float}")), byte(1));
    let third = "shr.u32 %r2, %r1, 16; cvt.u16.u32 %rs1, %r2; and.b16 %rs2, %rs1, 255;";
    assert_eq!(converted(&format!("{third} {to_float}")), byte(2));
    let signed = to_float.replace("u16", "s16");
    assert_eq!(converted(&format!("{third} {signed}")), byte(2));
    let last = "shr.u32 %r2, %r1, 24;";
    assert_eq!(
        converted(&format!("{last} cvt.rn.f32.u32 %f1, %r2;")),
        byte(3)
    );
    let field = "bfe.u32 %r2, %r1, 8, 8;";
    assert_eq!(
        converted(&format!("{field} cvt.rn.f32.s32 %f1, %r2;")),
        byte(1)
    );
    // Other bits, and a word that changes.
    for other in [
        field.replace("8, 8", "9, 8"),
        field.replace("8, 8", "8, 7"),
        last.replace("24", "23"),
        last.replace("shr.u32", "shr.s32"),
        format!("{field} add.s32 %r1, %r1, 1;"),
        "and.b32 %r2, %r1, 254;".to_owned(),
        "and.b32 %r2, %r1, 4294967295;".to_owned(),
    ] {
        let text = converted(&format!("{other} cvt.rn.f32.u32 %f1, %r2;"));
        assert!(!text.contains("prmt"), "{text}");
    }
}

#[test]
fn atomic_operations_without_result_are_reductions() {
    // The kernel's `atom` or `red`.
    let access = |before: &str, atomic: &str, after: &str| {
        let text = optimized(&format!(
            "
            .reg .pred %p<2>;
            .reg .b32 %r<5>;
            .reg .b64 %rd<3>;
            ld.param.u64 %rd1, [k_param_0];
            cvta.to.global.u64 %rd2, %rd1;
            mov.u32 %r1, %tid.x;
            {before}
            {atomic}
            {after}
            ret;"
        ));
        let mut lines = text.lines().map(str::trim);
        let line = lines.find(|line| line.contains("atom.") || line.contains("red."));
        line.unwrap().to_owned()
    };
    let add = "atom.relaxed.gpu.global.add.u32 %r2, [%rd2], %r1;";
    let red = "red.relaxed.gpu.global.add.u32 [%rd2], %r1;";
    assert_eq!(access("", add, ""), red);
    assert_eq!(
        access("", add, "mov.u32 %r2, 3; st.global.u32 [%rd2+4], %r1;"),
        red
    );
    let guarded = access("setp.eq.s32 %p1, %r1, 0;", &format!("@%p1 {add}"), "");
    assert_eq!(guarded, format!("@%p1 {red}"));
    // The result is needed, there is no such reduction, or the operation acquires.
    assert_eq!(access("", add, "st.global.u32 [%rd2+4], %r2;"), add);
    for other in [
        add.replace("add.u32", "exch.b32"),
        add.replace("add.u32", "cas.b32")
            .replace(", %r1", ", 0, %r1"),
        add.replace("relaxed", "acquire"),
        add.replace("relaxed", "acq_rel"),
    ] {
        assert_eq!(access("", &other, ""), other);
    }
}

#[test]
fn addresses_among_the_parameters_are_in_global_memory() {
    let optimized = |body: &str| {
        let text = format!(
            "{PANIC}\n.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1) {{
                .reg .b32 %r<5>;
                .reg .b64 %rd<9>;
                ld.param.u64 %rd1, [k_param_0];
                ld.param.u64 %rd2, [k_param_1];
                mov.u32 %r1, %tid.x;
                cvt.u64.u32 %rd3, %r1;
                {body}
                ret;
            }}"
        );
        let options = stack::Options::default();
        let kernels = ptx::Kernels::default();
        ptx::finish(&text, &[], Purpose::Speed(kernels), &options)
            .unwrap()
            .text
    };
    let access = "atom.relaxed.gpu.cas.b32 %r2, [%rd5+4], 0, %r1;";
    let global = |index: &str| {
        let text = optimized(&format!("{index} {access}"));
        let is_global = text.contains("atom.relaxed.gpu.global.cas.b32");
        assert_ne!(
            is_global,
            text.contains("atom.relaxed.gpu.cas.b32"),
            "{text}"
        );
        is_global
    };
    assert!(global("shl.b64 %rd4, %rd3, 2; add.s64 %rd5, %rd1, %rd4;"));
    // A product is no address, but either number of a sum may be.
    assert!(global(
        "mul.lo.s64 %rd4, %rd3, %rd2; add.s64 %rd5, %rd1, %rd4;"
    ));
    assert!(!global("add.s64 %rd5, %rd1, %rd2;"));
    assert!(!global("ld.u64 %rd5, [%rd1];"));
}

#[test]
fn first_loads_overlap_with_the_test() {
    let element = operations()
        + "
        ld.param.u64 %y3, [k_param_0];
        cvta.to.global.u64 %y4, %y3;
        shl.b64 %y1, %rd5, 2;
        add.s64 %y2, %y4, %y1;
        ld.global.nc.u32 %s1, [%y2];
        st.global.u32 [%y2], %s1;";
    let text = optimized(&grid_stride(&element));
    let (test, copy) = specialized(&text);
    // The test does not bound the slice's own length, so the index is compared with all of it.
    let load = lines(&test, "[k_param_1]", "ld.global.nc").join("\n");
    assert_eq!(load.matches("cvt.u32.u64").count(), 0, "{load}");
    assert_eq!(load.matches("setp.lt.u64").count(), 1, "{load}");
    assert!(load.contains("@%x"), "{load}");
    assert!(!copy.contains("ld.global.nc.u32"), "{copy}");
}

#[test]
fn one_branch_leads_past_those_of_the_copy() {
    // The number of branches before the first store, the entry, and the text.
    let branches = |body: &str| {
        let text = optimized(&(body.to_owned() + &panics_of_neighbors()));
        let (test, copy) = specialized(&text);
        let before = &copy[..copy.find("st.global").unwrap()];
        (before.matches("bra").count(), test, text)
    };
    let skipped = format!("setp.eq.s64 %p7, %rd5, 9; @%p7 bra $end; {NEIGHBORS}");
    let (count, test, text) = branches(&grid_stride(&skipped));
    assert_eq!(count, 1, "{text}");
    // Neighbors, and not the tenth element.
    assert_eq!(test.matches("setp.eq.s32").count(), 1, "{test}");
    assert_eq!(test.matches("setp.lt.u32").count(), 3, "{test}");
    // Three conditions of the test, three checks, and the two other branches.
    assert_eq!(test.matches("and.pred").count(), 3 + 3 + 2 - 1, "{test}");
    // Threads without an element return if the test passes. Others run the original.
    let label = &test[test.rfind("bra ").unwrap() + 4..].trim_end_matches(';');
    let other = &text[text.find(&format!("\n{label}:")).unwrap()..];
    let other = &other[..other.find("@").unwrap() + 40];
    assert_eq!(other.matches("not.pred").count(), 1, "{other}");
    assert_eq!(other.matches("and.pred").count(), 1, "{other}");
    let general = &other[other.find("bra ").unwrap() + 4..];
    let general = &general[..general.find(';').unwrap()];
    let start = &text[text.find(&format!("\n{general}:")).unwrap()..];
    assert!(start.contains("setp.lt.u64 %p2, %rd8, %rd4;"), "{start}");
    // Operations among threads, loops, and branches after a store.
    assert!(branches(&fenced(&skipped)).0 > 1);
    let repeated = "$inner: st.global.u32 [%rd3], 2; setp.eq.s32 %p7, %r4, 7; @%p7 bra $inner;";
    assert!(branches(&grid_stride(&format!("{skipped} {repeated}"))).0 > 1);
    let (count, test, _) = branches(&grid_stride(&format!(
        "st.global.u32 [%rd3], 1; {NEIGHBORS}"
    )));
    assert_eq!(
        (count, test.matches("setp.lt.u32").count()),
        (1, 0),
        "{test}"
    );
}

#[test]
fn loads_overlap_with_those_that_a_check_waits_for() {
    // Whether the load of the second slice at `index` precedes the check of a loaded number.
    let is_early = |index: &str, before: &str| {
        let element = format!(
            "{NEIGHBORS} .reg .b64 %y<9>; .reg .pred %k<9>; .reg .b32 %s<9>;
             ld.param.u64 %y0, [k_param_2]; cvta.to.global.u64 %y1, %y0; mov.u32 %s0, %tid.y;
             mul.wide.u32 %y2, %s0, 4; add.s64 %y3, %rd1, %y2; ld.global.nc.b32 %s1, [%y3];
             cvt.u64.u32 %y4, %s1; setp.lt.u64 %k1, %y4, %rd2; @!%k1 bra $P; {before}
             mul.wide.u32 %y5, {index}, 4; add.s64 %y6, %y1, %y5; ld.global.nc.s32 %s2, [%y6];
             st.global.u32 [%rd3], %s2;"
        );
        let panics = panics_of_neighbors() + &panic_with("$P", "%y4");
        let text = optimized(&(grid_stride(&element) + &panics));
        let (_, copy) = specialized(&text);
        let place = |text: &str, after: usize| after + copy[after..].find(text).unwrap();
        let check = place("bra", place("ld.global.nc.b32", 0));
        place("ld.global.nc.s32", 0) < check
    };
    assert!(is_early("%s0", ""));
    // The index is what is checked.
    assert!(!is_early("%s1", ""));
    // A store, a barrier.
    assert!(!is_early("%s0", "st.global.u32 [%rd3], 7;"));
    assert!(!is_early("%s0", "bar.sync 0;"));
}

/// Returns the entry for ordinary launches of a kernel of one thread per element of the fourth slice,
/// which loads from the third at an element of the first, and from the second at `%j`, which `index`
/// computes.
fn gather(index: &str) -> String {
    let panics = ["$A", "$B", "$C"]
        .map(|label| panic_with(label, "%i"))
        .concat();
    let parameters = (0..8).map(|i| format!(".param .u64 k_param_{i}"));
    let parameters = parameters.collect::<Vec<_>>().join(", ");
    let text = format!(
        "{PANIC}
            .visible .entry k({parameters}) .reqntid 256, 1, 1 {{
                .reg .pred %c<9>;
                .reg .b32 %r<9>;
                .reg .b64 %p<4>, %a<4>, %n<4>, %i, %j, %k, %d<9>;
                ld.param.u64 %p0, [k_param_0]; cvta.to.global.u64 %a0, %p0;
                ld.param.u64 %n0, [k_param_1];
                ld.param.u64 %p1, [k_param_2]; cvta.to.global.u64 %a1, %p1;
                ld.param.u64 %n1, [k_param_3];
                ld.param.u64 %p2, [k_param_4]; cvta.to.global.u64 %a2, %p2;
                ld.param.u64 %n2, [k_param_5];
                ld.param.u64 %p3, [k_param_6]; cvta.to.global.u64 %a3, %p3;
                ld.param.u64 %n3, [k_param_7];
                mov.u32 %r1, %ctaid.x; mul.wide.u32 %d0, %r1, 256;
                mov.u32 %r2, %tid.x; cvt.u64.u32 %d1, %r2; or.b64 %i, %d0, %d1;
                setp.ge.u64 %c1, %i, %n3;
                @%c1 bra $end;
                setp.lt.u64 %c2, %i, %n0; @!%c2 bra $A;
                shl.b64 %d2, %i, 2; add.s64 %d3, %a0, %d2; ld.global.nc.u32 %r3, [%d3];
                cvt.u64.u32 %k, %r3; setp.lt.u64 %c3, %k, %n2; @!%c3 bra $B;
                {index}
                setp.lt.u64 %c4, %j, %n1; @!%c4 bra $C;
                shl.b64 %d4, %j, 2; add.s64 %d5, %a1, %d4; ld.global.nc.s32 %r4, [%d5];
                shl.b64 %d6, %k, 2; add.s64 %d7, %a2, %d6; ld.global.nc.u32 %r5, [%d7];
                add.s32 %r6, %r4, %r5;
                add.s64 %d8, %a3, %d2; st.global.u32 [%d8], %r6;
            $end:
                ret;
                {panics}
            }}"
    );
    let slices = [0, 2, 4].map(|pointer| Slice {
        kernel: "k".to_owned(),
        pointer,
        length: pointer + 1,
        element: 4,
    });
    let partitions = [ptx::Parameter {
        kernel: "k".to_owned(),
        index: 7,
    }];
    let kernels = ptx::Kernels {
        slices: &slices,
        partitions: &partitions,
        ordinary_entries: true,
        ..ptx::Kernels::default()
    };
    entry_for_ordinary_launches(&text, kernels)
}

#[test]
fn one_branch_leads_to_the_panics_of_two_loaded_indices() {
    let load = ".reg .b64 %e; add.s64 %e, %a2, %d2; ld.global.nc.u32 %r7, [%e];";
    // The number of checks between the first load and the result.
    let checks = |index: &str| {
        let text = gather(index);
        let start = text.find("ld.global.nc.u32").unwrap();
        let end = text.rfind("st.global.u32").unwrap();
        (text[start..end].matches("bra").count(), text)
    };
    let (count, text) = checks(&format!("{load} cvt.u64.u32 %j, %r7;"));
    assert_eq!(count, 1, "{text}");
    assert_eq!(text.matches("bra.uni $L__panic").count(), 1, "{text}");
    // A store is between both.
    let store = format!("{load} cvt.u64.u32 %j, %r7; st.global.u32 [%d3], 1;");
    assert_eq!(checks(&store).0, 2);
    // The second index does not wait for memory.
    assert!(!gather("add.s64 %j, %i, 5;").contains("and.pred"));
}

#[test]
fn loads_before_checks_need_no_predicate_if_the_host_tests_the_length() {
    // The load before the check of the element of the first slice.
    let early = |index: &str| {
        let text = gather(index);
        let check = text.find("setp.lt.u32").unwrap();
        let before = &text[..check + text[check..].find("bra").unwrap()];
        let mut lines = before.lines().map(str::trim);
        let load = lines.find(|line| line.contains("ld.global.nc.s32"));
        load.unwrap().to_owned()
    };
    assert!(early("mov.b64 %j, %i;").starts_with("ld"));
    assert!(early("add.s64 %j, %i, 1;").starts_with("@%x"));
}

#[test]
fn elements_of_a_vector_are_not_loaded_again() {
    // Whether the load of the fourth element is gone, with `between` behind the load of the vector.
    let is_gone = |between: &str, load: &str| {
        let text = optimized(&format!(
            ".reg .b64 %a; .reg .b32 %x<9>; .reg .b64 %w; .reg .pred %p;
             ld.param.u64 %a, [k_param_0]; cvta.to.global.u64 %a, %a;
             ld.global.v4.f32 {{%x0, %x1, %x2, %x3}}, [%a+16];
             {between}
             setp.gt.f32 %p, %x0, 0f00000000;
             @%p bra $end;
             {load}
             st.global.f32 [%a], %x4;
             $end: ret;"
        ));
        !text.contains(load)
    };
    let load = "ld.global.f32 %x4, [%a+28];";
    assert!(is_gone("", load));
    assert!(is_gone(
        "ld.global.u32 %x5, [%a+64];",
        "ld.global.nc.u32 %x4, [%a+28];"
    ));
    // Another element, another state space, an ordering, other sizes.
    assert!(!is_gone("", "ld.global.f32 %x4, [%a+32];"));
    assert!(!is_gone("", "ld.f32 %x4, [%a+28];"));
    assert!(!is_gone("", "ld.relaxed.gpu.global.u32 %x4, [%a+28];"));
    assert!(!is_gone("", "ld.global.u16 %x4, [%a+28];"));
    assert!(!is_gone("", "ld.global.u32 %w, [%a+28];"));
    // Memory, the address or the register may have changed.
    for change in [
        "st.global.f32 [%a+28], %x1;",
        "bar.sync 0;",
        "fence.acq_rel.gpu;",
        "ld.acquire.gpu.global.u32 %x5, [%a];",
        "add.s64 %a, %a, 16;",
        "mov.f32 %x3, %x1;",
        "@%p mov.f32 %x3, %x1;",
        "ld.global.f32 %x3, [%a];",
        // Other predecessors.
        "@%p bra $b; st.global.f32 [%a+28], %x1; $b:",
        "$b: ld.global.u32 %x5, [%a]; setp.ne.s32 %p, %x5, 0; @%p bra $b;",
    ] {
        assert!(!is_gone(change, load), "{change}");
    }
}

#[test]
fn loops_to_a_variable_count_down() {
    // A sum over elements at distances of `%s`. `latch` ends the loop.
    let text_with = |before: &str, latch: &str, body: &str| {
        optimized(&format!(
            ".reg .b64 %a, %n, %k, %i, %last, %left; .reg .b32 %s, %v, %m, %j; .reg .pred %p<4>;
             ld.param.u64 %a, [k_param_0]; cvta.to.global.u64 %a, %a;
             ld.param.u64 %n, [k_param_1]; ld.param.u32 %m, [k_param_3];
             mov.u32 %s, 0; mov.u64 %k, 3; mov.u32 %j, 5; {before}
             setp.le.u64 %p0, %n, 3; @%p0 bra $end;
             $loop:
             shl.b64 %i, %k, 3; add.s64 %i, %a, %i; {body}
             add.s32 %s, %s, %v; {latch}
             $end: st.global.u32 [%a], %s; ret;"
        ))
    };
    let text = |latch: &str, body: &str| text_with("", latch, body);
    let load = "ld.global.u32 %v, [%i];";
    let counts = |latch: &str, body: &str| {
        let text = text(latch, body);
        text.contains("sub.s64 %x") || text.contains("sub.s32 %x")
    };
    let up = "add.s64 %k, %k, 1; setp.ne.s64 %p1, %k, %n; @%p1 bra $loop;";
    assert!(counts(up, load));
    let down = text(up, load);
    let [start, rest] = [0, 1].map(|at| down.split("$loop:").nth(at).unwrap());
    // Before the loop: the rest of the iterations.
    assert!(start.contains("sub.s64 %x3, %n, %k;"), "{down}");
    assert!(rest.contains("sub.s64 %x3, %x3, 1;"), "{down}");
    assert!(rest.contains("setp.ne.s64 %p1, %x3, 0;"), "{down}");
    let narrow = "add.s64 %k, %k, 1; add.s32 %j, %j, 1; setp.eq.s32 %p1, %m, %j; @!%p1 bra $loop;";
    assert!(counts(narrow, load));
    // The counter is too close to the bound for another step.
    let last = "setp.gt.u64 %p3, %n, 31; add.s64 %last, %n, -32; selp.b64 %last, %last, 0, %p3;";
    let steps = |last: &str| {
        text_with(
            last,
            "setp.lt.u64 %p1, %k, %last; add.s64 %k, %k, 32; @%p1 bra $loop;",
            load,
        )
        .contains("shr.u64 %x")
    };
    assert!(steps(
        &last
            .replace("%last, %n", "%left, %n")
            .replace("%last, 0", "%left, 0")
    ));
    assert!(!steps("sub.s64 %last, %n, 32;"));
    // Another step, another relation, a bound that changes, a second exit, nothing to load.
    let changes = "add.s64 %n, %n, 2; add.s64 %k, %k, 1; setp.ne.s64 %p1, %k, %n; @%p1 bra $loop;";
    for latch in [
        &up.replace(", 1;", ", 2;"),
        &up.replace("ne", "lt"),
        changes,
    ] {
        assert!(!counts(latch, load), "{latch}");
    }
    assert!(!counts(
        up,
        &format!("{load} setp.eq.s32 %p2, %v, 7; @%p2 bra $end;")
    ));
    assert!(!counts(up, "cvt.u32.u64 %v, %i;"));
}

#[test]
fn integers_are_converted_before_the_loop() {
    // A sum over elements, up to a bound that the loop converts.
    let text = |before: &str, body: &str| {
        optimized(&format!(
            ".reg .b64 %a, %n, %i, %w; .reg .b32 %s, %v, %m, %j; .reg .pred %p<4>;
             ld.param.u64 %a, [k_param_0]; cvta.to.global.u64 %a, %a;
             ld.param.u64 %n, [k_param_1]; ld.param.u32 %v, [k_param_3];
             mov.u32 %s, 0; mov.u32 %j, 5; setp.le.u64 %p0, %n, 5; {before}
             $loop:
             mul.wide.u32 %i, %j, 8; add.s64 %i, %a, %i; ld.global.u32 %s, [%i];
             add.s32 %j, %j, 2; {body} @%p1 bra $loop;
             $end: st.global.u32 [%a], %s; ret;"
        ))
    };
    let before = "@%p0 bra $end;";
    let set = "setp.lt.u32 %p1, %j, %m;";
    let narrow = format!("cvt.u32.u64 %m, %n; {set}");
    let is_hoisted = |text: &str, conversion: &str| {
        let start = text.split("$loop:").next().unwrap();
        start.contains(&format!("{conversion} %x"))
    };
    let hoists = |before: &str, body: &str| is_hoisted(&text(before, body), "cvt.u32.u64");
    assert!(hoists(before, &narrow));
    let wide = "cvt.u64.u32 %w, %v; add.s64 %a, %a, %w; setp.lt.u32 %p1, %j, 99;";
    assert!(is_hoisted(&text(before, wide), "cvt.u64.u32"));
    // The loop ends at a wide bound.
    let bound = "cvt.u64.u32 %w, %v; setp.lt.u64 %p1, %i, %w;";
    assert!(!is_hoisted(&text(before, bound), "cvt.u64.u32"));
    // The first comparison does not read the converted integer yet.
    let later = text(before, &format!("{set} cvt.u32.u64 %m, %n;"));
    let [compared, moved] = [set, "mov.b32 %m, %x"].map(|it| later.find(it));
    assert!(compared.is_some() && compared < moved, "{later}");
    // The bound changes, or is converted under a condition. Two blocks lead to the loop.
    assert!(!hoists(before, &format!("add.s64 %n, %n, -1; {narrow}")));
    assert!(!hoists(before, &format!("@%p0 cvt.u32.u64 %m, %n; {set}")));
    let enters = "@%p0 bra $loop; add.s32 %s, %s, 1;";
    assert!(!hoists(enters, &narrow));
}

#[test]
fn loops_over_floats_add_shifted_steps() {
    // A sum of the squares of a column's elements.
    let text = |step: &str, body: &str| {
        optimized(&format!(
            ".reg .b64 %a, %i, %step, %n; .reg .b32 %w, %k; .reg .f32 %f<4>; .reg .pred %p<4>;
             ld.param.u64 %a, [k_param_0]; cvta.to.global.u64 %a, %a;
             ld.param.u32 %w, [k_param_3]; ld.param.u64 %n, [k_param_1];
             mov.u64 %i, %a; mov.u32 %k, 9; mov.f32 %f0, 0f00000000; {step}
             $loop:
             ld.global.f32 %f1, [%i]; add.s64 %i, %i, %step; {body}
             add.s32 %k, %k, -1; setp.ne.s32 %p0, %k, 0; @%p0 bra $loop;
             st.global.f32 [%a], %f0; ret;"
        ))
    };
    let step = "mul.wide.u32 %step, %w, 4;";
    let body = "sub.f32 %f1, %f1, %f0; fma.rn.f32 %f0, %f1, %f1, %f0; mul.f32 %f0, %f0, %f1;
        add.f32 %f0, %f0, %f1;";
    let shifts = |step: &str, body: &str| text(step, body).contains("shl.b64 %x");
    assert!(shifts(step, body));
    let shifted = text(step, body);
    for part in [
        "cvt.u64.u32 %x3, %w;",
        "shl.b64 %x2, %x3, 2;",
        "add.s64 %i, %i, %x2;",
    ] {
        assert!(shifted.contains(part), "{shifted}");
    }
    // Other products, a step that changes, few floats, many floats, many integers, a division.
    assert!(!shifts(&step.replace(", 4", ", 12"), body));
    assert!(!shifts(&step.replace("u32", "s32"), body));
    assert!(!shifts(step, &format!("{body} add.s64 %step, %step, 4;")));
    assert!(!shifts(step, "add.f32 %f0, %f0, %f1;"));
    assert!(!shifts(step, &body.repeat(4)));
    assert!(!shifts(step, &body.replace("mul.f32", "div.rn.f32")));
    let integers = "xor.b32 %w, %w, %k; and.b32 %w, %w, 7; min.u32 %w, %w, 5;";
    assert!(!shifts(step, &format!("{body} {integers}")));
}

#[test]
fn short_kernels_shift_the_offset_of_an_element() {
    // A copy of an element, and instructions before and after it.
    let text = |before: &str, after: &str| {
        optimized(&format!(
            ".reg .b64 %a, %b, %i, %d, %e, %x; .reg .b32 %t, %u; .reg .f32 %f; .reg .pred %p;
             ld.param.u64 %a, [k_param_0]; cvta.to.global.u64 %a, %a;
             ld.param.u64 %b, [k_param_2]; cvta.to.global.u64 %b, %b;
             mov.u32 %t, %tid.x; mov.u32 %u, %ctaid.x; {before}
             mul.wide.u32 %d, %t, 8;
             add.s64 %e, %a, %d; add.s64 %x, %b, %d;
             ld.global.f32 %f, [%e]; st.global.f32 [%x], %f; {after} ret;"
        ))
    };
    let shifts = |before: &str, after: &str| text(before, after).contains("shl.b64 %d");
    assert!(shifts("", ""));
    let shifted = text("", "");
    assert!(shifted.contains("cvt.u64.u32 %x1, %t;"), "{shifted}");
    assert!(shifted.contains("shl.b64 %d, %x1, 3;"), "{shifted}");
    // Another offset, a use that is no address, a loop, a long kernel.
    let other = "mul.wide.u32 %i, %u, 4; add.s64 %i, %a, %i; st.global.u32 [%i], %t;";
    assert!(!shifts("", other));
    assert!(!shifts("", "st.global.u64 [%x], %d;"));
    let step = "$again: add.s32 %t, %t, %u; setp.lt.u32 %p, %t, 5; @%p bra $again;";
    assert!(!shifts(step, ""));
    assert!(!shifts(
        &"add.s32 %t, %t, %u; xor.b32 %t, %t, %u;".repeat(25),
        ""
    ));
}

#[test]
fn loops_that_wait_for_loads_have_many_registers() {
    // Each thread sums up elements at distances of `%a`.
    let entry = |before: &str, body: &str| {
        let element = format!(
            ".reg .b64 %p, %n; .reg .b32 %s, %v<8>; mov.u64 %p, %to; mov.u64 %n, %b; mov.u32 %s, 0;
             $sum: {body} add.s64 %p, %p, %a; add.s64 %n, %n, -1; setp.ne.s64 %p8, %n, 0;
             @%p8 bra $sum; st.global.u32 [%to+8], %s;"
        );
        ordinary_entry(before, &element)
    };
    let has_many = |before: &str, body: &str| entry(before, body).contains(".maxnreg 64\n");
    let barrier = "bar.sync 0;";
    let word = "ld.global.u32 %v4, [%p+16]; add.s32 %s, %s, %v4;";
    assert!(has_many("", word), "{}", entry("", word));
    assert!(has_many(barrier, word));
    let vector = "ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%p]; add.s32 %s, %s, %v0;";
    assert!(has_many("", vector));
    // Other blocks load while one waits at the barrier.
    assert!(!has_many(barrier, vector));
    assert!(has_many(barrier, &format!("{vector} {word}")));
    // The loop computes for longer than a load takes.
    let computes = |count| format!("{vector} {}", "add.s32 %s, %s, %v1;".repeat(count));
    assert!(has_many("", &computes(80)));
    assert!(!has_many("", &computes(120)));
    assert!(has_many("", &format!("{} {word}", computes(120))));
    // As many registers as possible: those for loads in flight, and those that are live besides.
    let live_with = |count, before: &str, more: &str| {
        let each = |text: &str| -> String {
            let of = |i: usize| text.replace('#', &i.to_string());
            (0..count).map(of).collect()
        };
        let start = each("ld.global.u32 %w#, [%to+#];");
        let body = format!("{vector} {more} {}", each("add.s32 %s, %s, %w#;"));
        entry(
            &format!(".reg .f64 %e; .reg .b32 %w<40>; {before} {start}"),
            &body,
        )
    };
    let live = |count| live_with(count, "", "");
    assert!(live(14).contains(".maxnreg 64\n"), "{}", live(14));
    assert!(live(30).contains(".minnctapersm 1\n"));
    // Lanes that add up products of 64-bit floats.
    let product = "ld.global.f64 %e, [%to]; fma.rn.f64 %e, %e, %e, %e; st.global.f64 [%to], %e;";
    let sum = "shfl.sync.bfly.b32 %v4, %v1, 16, 31, -1; add.s32 %s, %s, %v4;";
    assert!(live_with(14, product, "").contains(".maxnreg 64\n"));
    assert!(live_with(14, "", sum).contains(".maxnreg 64\n"));
    let both = live_with(14, product, sum);
    assert!(!both.contains(".maxnreg"), "{both}");
}

/// A loop over antidiagonals, unrolled by two: it ends in the middle, when the next counter is 639.
/// The row and the column are checked.
const DIAGONALS: &str = "
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<19>;
    ld.param.u64 %rd1, [k_param_2];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd2, %r1;
    neg.s64 %rd3, %rd2;
    mov.u64 %rd4, 1;
    sub.s64 %rd5, %rd4, %rd2;
    sub.s64 %rd6, %rd1, %rd2;
    mov.u64 %rd7, 0;
    bra.uni $loop;
    $latch:
    add.s64 %rd7, %rd8, 1;
    $loop:
    add.s64 %rd9, %rd6, %rd7;
    setp.lt.u64 %p1, %rd7, %rd2;
    @%p1 bra $second;
    add.s64 %rd10, %rd3, %rd7;
    setp.gt.u64 %p2, %rd10, 511;
    @%p2 bra $second;
    st.global.u8 [%rd9], 1;
    $second:
    add.s64 %rd8, %rd7, 1;
    setp.eq.s64 %p3, %rd8, 639;
    @%p3 bra $end;
    setp.lt.u64 %p4, %rd8, %rd2;
    @%p4 bra $latch;
    add.s64 %rd11, %rd5, %rd7;
    setp.gt.u64 %p5, %rd11, 511;
    @%p5 bra $latch;
    st.global.u8 [%rd9+1], 1;
    bra.uni $latch;
    $end:
    ret;
    ";

#[test]
fn counters_of_unrolled_loops_have_32_bits() {
    let text = optimized(DIAGONALS);
    assert!(text.contains("setp.eq.s32 %p3"), "{text}");
    assert!(text.contains("setp.gt.u32 %p5"), "{text}");
    // The counter steps over the bound, and wraps around.
    let text = optimized(&replaced(DIAGONALS, "%rd8, 639;", "%rd8, 640;"));
    assert!(text.contains("setp.eq.s64 %p3"), "{text}");
    assert!(text.contains("setp.gt.u64 %p5"), "{text}");
}

/// A loop that counts down from 256, unrolled by two, with two latches: it ends in the middle, when
/// the counter minus 1 is 1.
const DOWN: &str = "
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<19>;
    ld.param.u64 %rd1, [k_param_2];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd2, %r1;
    add.s64 %rd1, %rd1, %rd2;
    mov.u64 %rd7, 256;
    $loop:
    add.s64 %rd8, %rd7, -1;
    setp.le.u64 %p1, %rd8, %rd2;
    @%p1 bra $second;
    st.global.u8 [%rd1], 1;
    $second:
    setp.eq.s64 %p3, %rd8, 1;
    @%p3 bra $end;
    add.s64 %rd7, %rd7, -2;
    setp.le.u64 %p4, %rd7, %rd2;
    @%p4 bra $loop;
    st.global.u8 [%rd1+1], 1;
    bra.uni $loop;
    $end:
    ret;
    ";

#[test]
fn counters_of_loops_with_several_latches_have_32_bits() {
    let text = optimized(DOWN);
    assert!(text.contains("setp.eq.s32 %p3"), "{text}");
    assert!(text.contains("setp.le.u32 %p4"), "{text}");
    let keeps_64_bits = |from: &str, to: &str| {
        let text = optimized(&replaced(DOWN, from, to));
        assert!(text.contains("setp.eq.s64 %p3"), "{text}");
        assert!(text.contains("setp.le.u64 %p4"), "{text}");
    };
    // The counter steps over the bound, and wraps around.
    keeps_64_bits("%rd8, 1;", "%rd8, 2;");
    // It starts behind the bound.
    keeps_64_bits("%rd7, 256;", "%rd7, 0;");
    // Some iterations do not change it.
    keeps_64_bits("add.s64 %rd7, %rd7, -2;", "@%p1 add.s64 %rd7, %rd7, -2;");
    keeps_64_bits(
        "add.s64 %rd7, %rd7, -2;",
        "@%p1 bra $loop; add.s64 %rd7, %rd7, -2;",
    );
    // Some iterations change it several times.
    keeps_64_bits(
        "add.s64 %rd7, %rd7, -2;",
        "$inner: add.s64 %rd7, %rd7, -2; setp.gt.u64 %p5, %rd2, 100; @%p5 bra $inner;",
    );
    // Some iterations do not test it.
    keeps_64_bits("@%p1 bra $second;", "@%p1 bra $loop;");
}

/// A loop that ends in the middle of the iteration, when a counter that starts at 256 is 0. Another
/// counter is compared.
const DOWN_BY_4: &str = "
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<19>;
    ld.param.u64 %rd1, [k_param_2];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd2, %r1;
    mov.u64 %rd7, 256;
    mov.u64 %rd8, 5;
    $loop:
    setp.le.u64 %p1, %rd8, %rd2;
    @%p1 bra $step;
    st.global.u8 [%rd1], 1;
    $step:
    add.s64 %rd7, %rd7, -4;
    setp.eq.s64 %p2, %rd7, 0;
    @%p2 bra $end;
    setp.gt.u64 %p3, %rd8, %rd2;
    @%p3 bra $next;
    st.global.u8 [%rd1+1], 1;
    $next:
    add.s64 %rd8, %rd8, 3;
    bra.uni $loop;
    $end:
    ret;
    ";

#[test]
fn counters_of_loops_that_end_in_the_middle_have_32_bits() {
    let is_narrow = |from: &str, to: &str| {
        let text = optimized(&replaced(DOWN_BY_4, from, to));
        let narrow = text.contains("setp.gt.u32 %p3");
        assert_ne!(narrow, text.contains("setp.gt.u64 %p3"), "{text}");
        narrow
    };
    assert!(is_narrow("", ""));
    // The first counter steps over 0, or starts there.
    assert!(!is_narrow("%rd7, -4;", "%rd7, -3;"));
    assert!(!is_narrow("%rd7, -4;", "%rd7, 4;"));
    assert!(!is_narrow("%rd7, 256;", "%rd7, 0;"));
    assert!(!is_narrow("%p2, %rd7, 0;", "%p2, %rd7, 2;"));
    // The other counter leaves 32 bits after 63 iterations.
    assert!(is_narrow("%rd8, 3;", "%rd8, 68174083;"));
    assert!(!is_narrow("%rd8, 3;", "%rd8, 68174084;"));
    // Some iterations do not change or test the first counter.
    let step = "add.s64 %rd7, %rd7, -4;";
    assert!(!is_narrow(step, &format!("@%p1 {step}")));
    assert!(!is_narrow("@%p1 bra $step;", "@%p1 bra $next;"));
}

#[test]
fn products_of_small_integers_are_wide() {
    let is_wide = |first: &str, second: &str, product: &str| {
        let text = optimized(&format!(
            "
            .reg .pred %p<9>;
            .reg .b32 %r<9>;
            .reg .b64 %rd<19>;
            ld.param.u64 %rd1, [k_param_0];
            cvta.to.global.u64 %rd2, %rd1;
            mov.u32 %r1, %tid.x;
            cvt.u64.u32 %rd3, %r1;
            ld.global.u64 %rd4, [%rd2];
            ld.global.u32 %rd5, [%rd2+8];
            {first} {second}
            {product}
            st.global.u64 [%rd2], %rd9;
            ret;
            "
        ));
        text.contains(".wide.u32")
    };
    let product = "mul.lo.s64 %rd9, %rd6, %rd7;";
    let half = "shr.u64 %rd6, %rd4, 32;";
    let mixed = "xor.b64 %rd7, %rd3, %rd5;";
    assert!(is_wide(half, mixed, product));
    assert!(is_wide(half, mixed, "mad.lo.s64 %rd9, %rd6, %rd7, %rd4;"));
    assert!(is_wide(half, "", "mul.lo.s64 %rd9, %rd6, 3528531795;"));
    for small in [
        "and.b64 %rd7, %rd4, 4294967295;",
        "min.u64 %rd7, %rd4, 9;",
        "rem.u64 %rd7, %rd4, 1000;",
        "setp.eq.s32 %p1, %r1, 3; selp.b64 %rd7, %rd3, 7, %p1;",
        "or.b64 %rd8, %rd3, 4096; mov.u64 %rd7, %rd8;",
    ] {
        assert!(is_wide(half, small, product), "{small}");
    }
    // One factor may have more bits.
    for large in [
        "mov.u64 %rd7, %rd4;",
        "xor.b64 %rd7, %rd3, %rd4;",
        "shr.u64 %rd7, %rd4, 31;",
        "min.s64 %rd7, %rd4, 9;",
        "add.s64 %rd7, %rd3, %rd5;",
        "cvt.s64.s32 %rd7, %r1;",
        "setp.eq.s32 %p1, %r1, 3; selp.b64 %rd7, %rd3, %rd4, %p1;",
        "shr.u64 %rd7, %rd4, 32; setp.eq.s32 %p1, %r1, 3; @%p1 mov.u64 %rd7, %rd4;",
    ] {
        assert!(!is_wide(half, large, product), "{large}");
    }
    assert!(!is_wide(half, "", "mul.lo.s64 %rd9, %rd6, 4294967296;"));
    assert!(!is_wide(half, "", "mul.hi.u64 %rd9, %rd6, %rd6;"));
}

/// A binary search as in `slice::partition_point`: the rest loses a half in each iteration, which the
/// index gains or not.
const SEARCH: &str = "
    mov.u64 %a3, 0;
    mov.u64 %a4, %len;
    $search:
    shr.u64 %a5, %a4, 1;
    add.s64 %a6, %a5, %a3;
    shl.b64 %d1, %a6, 2;
    add.s64 %e1, %from, %d1;
    ld.global.nc.u32 %r4, [%e1];
    setp.lt.u32 %p3, %r4, 7;
    selp.b64 %a3, %a6, %a3, %p3;
    sub.s64 %a4, %a4, %a5;
    setp.gt.u64 %p4, %a4, 1;
    @%p4 bra $search;
    st.global.u64 [%to], %a3;
";

#[test]
fn searches_that_exclude_what_they_compared_have_32_bits() {
    let search = "
        mov.u64 %a3, 0;
        mov.u64 %a4, %len;
        $search:
        sub.s64 %f1, %a4, %a3;
        shr.u64 %a5, %f1, 1;
        add.s64 %a6, %a5, %a3;
        shl.b64 %d1, %a6, 2;
        add.s64 %e1, %from, %d1;
        ld.global.nc.u32 %r4, [%e1];
        setp.lt.u32 %p3, %r4, 7;
        add.s64 %a7, %a6, 1;
        selp.b64 %a3, %a7, %a3, %p3;
        selp.b64 %a4, %a4, %a6, %p3;
        setp.lt.u64 %p4, %a3, %a4;
        @%p4 bra $search;
        st.global.u64 [%to], %a3;
        ";
    let test = "setp.eq.s64 %p5, %len, 0; @%p5 bra $next;";
    let is_narrow = |text: &str| !copy_of(text).contains("selp.b64");
    let replaced = |from: &str, to: &str| {
        let text = replaced(search, from, to);
        is_narrow(&(test.to_owned() + &text))
    };
    assert!(is_narrow(&(test.to_owned() + search)));
    assert!(replaced("shr.u64 %a5, %f1, 1;", "shr.u64 %a5, %f1, 3;"));
    // The slice may be empty, or the ends may be equal.
    assert!(!is_narrow(search));
    assert!(!replaced("setp.lt.u64 %p4", "setp.le.u64 %p4"));
    // The ends are in any order.
    let unordered = search
        .replace("setp.lt.u64 %p4, %a3, %a4;", "setp.ne.s32 %p4, %r4, 9;")
        .replace("add.s64 %a7, %a6, 1;", "mov.u64 %a7, %a6;");
    assert!(!is_narrow(&(test.to_owned() + &unordered)));
    // The middle is not between the ends, or its neighbor beyond.
    assert!(!replaced(
        "add.s64 %a6, %a5, %a3;",
        "add.s64 %a6, %a5, %a4;"
    ));
    assert!(!replaced(
        "sub.s64 %f1, %a4, %a3;",
        "sub.s64 %f1, %a3, %a4;"
    ));
    assert!(!replaced(
        "add.s64 %a7, %a6, 1;",
        "add.s64 %a7, %a6, 2147483648;"
    ));
    assert!(!replaced("shr.u64 %a5, %f1, 1;", "shl.b64 %a5, %f1, 1;"));
}

#[test]
fn binary_searches_have_32_bits() {
    // Whether the rest and the index are computed in 32 bits.
    let is_narrow = |text: &str| {
        let copy = copy_of(text);
        (!copy.contains("sub.s64"), !copy.contains("shl.b64"))
    };
    let replaced = |from: &str, to: &str| is_narrow(&replaced(SEARCH, from, to));
    assert_eq!(is_narrow(SEARCH), (true, true));
    // With a branch instead of a selection.
    let branch = "@!%p3 bra $low; mov.u64 %a3, %a6; $low:";
    assert_eq!(
        replaced("selp.b64 %a3, %a6, %a3, %p3;", branch),
        (true, true)
    );
    // The index gains more than the rest loses, in some iterations.
    assert_eq!(
        replaced(
            "selp.b64 %a3, %a6, %a3, %p3;",
            "add.s64 %f1, %a6, %a5; selp.b64 %a3, %f1, %a3, %p3;"
        ),
        (true, false)
    );
    assert_eq!(
        replaced(
            "selp.b64 %a3, %a6, %a3, %p3;",
            "add.s64 %f1, %a3, %len; selp.b64 %a3, %f1, %a3, %p3;"
        ),
        (true, false)
    );
    assert_eq!(
        replaced(
            "sub.s64 %a4, %a4, %a5;",
            "selp.b64 %f1, %a5, 0, %p3; sub.s64 %a4, %a4, %f1;"
        ),
        (false, false)
    );
    // The amount changes between its uses.
    assert_eq!(
        replaced(
            "sub.s64 %a4, %a4, %a5;",
            "shr.u64 %a5, %a5, 1; sub.s64 %a4, %a4, %a5;"
        ),
        (false, false)
    );
    // The index gains what the iteration before computed.
    let low_byte = SEARCH.replace("shr.u64 %a5, %a4, 1;", "and.b64 %a5, %a4, 255;");
    assert_eq!(is_narrow(&low_byte), (true, true));
    let [step, sum] = ["and.b64 %a5, %a4, 255;", "add.s64 %a6, %a5, %a3;"];
    let late = low_byte.replace(sum, step);
    let late = late.replacen(step, "add.s64 %a6, %a3, %a5;", 1);
    let late = late.replace("$search:", "mov.u64 %a5, 0; $search:");
    assert_eq!(is_narrow(&late), (true, false));
    // It may only have computed it in an earlier one.
    assert_eq!(
        replaced(
            "shr.u64 %a5, %a4, 1;",
            "@%p5 bra $skip; shr.u64 %a5, %a4, 1; $skip:"
        ),
        (false, false)
    );
    // The rest may become negative.
    assert_eq!(
        replaced("shr.u64 %a5, %a4, 1;", "mov.u64 %a5, %x;"),
        (false, false)
    );
    // The index starts anywhere.
    assert_eq!(
        replaced("mov.u64 %a3, 0;", "ld.global.u64 %a3, [%to];"),
        (true, false)
    );
    // An inner loop repeats the step.
    assert_eq!(
        replaced(
            "selp.b64 %a3, %a6, %a3, %p3;",
            "$inner: add.s64 %a3, %a3, %a5; setp.lt.u32 %p5, %r4, 9; @%p5 bra $inner;"
        ),
        (true, false)
    );
}

#[test]
fn branches_that_a_later_one_implies_are_removed() {
    let branches =
        |text: &str| ["%p1", "%p2", "%p4", "%p5"].map(|it| text.contains(&format!("@{it} bra")));
    let text = optimized(DIAGONALS);
    assert_eq!(branches(&text), [false, true, false, true], "{text}");
    // The length is not less than the difference.
    let text = optimized(&replaced(DIAGONALS, "%rd10, 511;", "%rd10, -1;"));
    assert_eq!(branches(&text), [true, true, false, true], "{text}");
    // The difference may be 0 although the counter is less than the row.
    let text = optimized(&replaced(DIAGONALS, "mov.u64 %rd4, 1;", "mov.u64 %rd4, 2;"));
    assert_eq!(branches(&text), [false, true, true, true], "{text}");
    // Something happens between the branches.
    let text = optimized(&replaced(
        DIAGONALS,
        "add.s64 %rd11, %rd5, %rd7;",
        "st.global.u8 [%rd1], 1; add.s64 %rd11, %rd5, %rd7;",
    ));
    assert_eq!(branches(&text), [false, true, true, true], "{text}");
}

#[test]
fn saturating_subtractions_are_maxima() {
    let replaces = |condition: &str, number: &str, selected: &str| {
        let text = optimized(&format!(
            "
            .reg .pred %p<9>;
            .reg .b32 %r<9>;
            .reg .b64 %rd<9>;
            ld.param.u64 %rd1, [k_param_0];
            mov.u32 %r1, %tid.x;
            add.s32 %r2, %r1, 1;
            setp.{condition};
            add.s32 %r3, %r1, {number};
            selp.b32 %r4, {selected}, %p1;
            st.global.u32 [%rd1], %r4;
            ret;
            "
        ));
        assert_eq!(text.contains("max.u32"), !text.contains("selp"), "{text}");
        text.contains("max.u32")
    };
    assert!(replaces("lt.u32 %p1, %r1, 4", "-4", "0, %r3"));
    assert!(replaces("le.u32 %p1, %r1, 3", "-4", "0, %r3"));
    assert!(replaces("ge.u32 %p1, %r1, 4", "-4", "%r3, 0"));
    assert!(replaces("eq.s32 %p1, %r1, 0", "-1", "0, %r3"));
    // The operand is a sum, too.
    assert!(replaces("lt.u32 %p1, %r2, 4", "-3", "0, %r3"));
    assert!(!replaces("lt.u32 %p1, %r2, 4", "-4", "0, %r3"));
    assert!(!replaces("lt.u32 %p1, %r1, 4", "-3", "0, %r3"));
    assert!(!replaces("lt.u32 %p1, %r1, 4", "-4", "1, %r3"));
    assert!(!replaces("lt.u32 %p1, %r1, 4", "-4", "%r3, 0"));
    assert!(!replaces("lt.s32 %p1, %r1, 4", "-4", "0, %r3"));
    assert!(!replaces("eq.s32 %p1, %r1, 1", "-1", "0, %r3"));
}

#[test]
fn panics_of_one_function_are_one_call() {
    // The calls of a kernel that panics in three ways, and its selections of arguments.
    let calls = |second: &str, third: &str| {
        let call = |function: &str, argument: &str| {
            format!("{{ .param .b64 a; st.param.b64 [a], {argument}; call.uni {function}, (a); }}")
        };
        let text = optimized(
            &format!(
                "
            .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
            ld.param.u64 %rd1, [k_param_0]; ld.global.u32 %r1, [%rd1];
            setp.lt.u32 %p1, %r1, 5; @%p1 bra $works;
            setp.lt.u32 %p2, %r1, 6; @%p2 bra $first;
            {second} setp.lt.u32 %p3, %r1, 7; @%p3 bra $second;
            {third}
            $second: {}
            $first: {}
            $works: st.global.u32 [%rd1], 1; ret;",
                call("panic", "%rd1"),
                call("panic", "7"),
            )
            .replace("PANIC", &call("panic", "%rd2")),
        );
        let count = |part: &str| text.matches(part).count();
        // The first panic passes 7.
        let selects = |line: &str| line.contains("selp.b64") && line.contains(", 7, ");
        let selected = text.lines().filter(|line| selects(line)).count();
        assert_eq!(
            selected,
            usize::from(count("bra.uni $L__panic") == 1),
            "{text}"
        );
        [count("bra.uni $L__panic"), count("selp.b64")]
    };
    let third = "add.s64 %rd2, %rd1, 8; PANIC";
    assert_eq!(calls("", third), [1, 2]);
    // A store must not be executed for the first panic.
    assert_eq!(calls("st.global.u32 [%rd1], 2;", third), [2, 1]);
    // The second argument of the first call is computed for the last one only.
    assert_eq!(
        calls("", "add.s64 %rd1, %rd1, 8; mov.u64 %rd2, %rd1; PANIC"),
        [3, 0]
    );
}

#[test]
fn signs_of_floats_are_part_of_instructions() {
    let with = |change: &str, uses: &str| {
        optimized(&format!(
            "
            .reg .pred %p<9>;
            .reg .b32 %r<9>;
            .reg .f32 %f<9>;
            .reg .f64 %fd<9>;
            .reg .b64 %rd<9>;
            ld.param.u64 %rd1, [k_param_0];
            ld.global.v2.u32 {{%r1, %r2}}, [%rd1];
            ld.global.u64 %rd2, [%rd1];
            {change};
            {uses};
            st.global.f32 [%rd1], %f2;
            st.global.f64 [%rd1], %fd2;
            ret;
            "
        ))
    };
    let changes = |change: &str, uses: &str| {
        let text = with(change, uses);
        let is_changed = text.contains("\tabs.f") || text.contains("\tneg.f");
        assert_ne!(
            is_changed,
            text.contains("and.b") || text.contains("xor.b"),
            "{text}"
        );
        is_changed
    };
    let absolute = "and.b32 %r3, %r1, 2147483647; mov.b32 %f1, %r3";
    assert!(with(absolute, "max.f32 %f2, %f1, %f2").contains("abs.f32"));
    let negated = "xor.b32 %r3, %r1, -2147483648; mov.b32 %f1, %r3";
    assert!(with(negated, "fma.rn.f32 %f2, %f1, %f1, %f2").contains("neg.f32"));
    assert!(changes(
        absolute,
        "cvt.rzi.s32.f32 %r4, %f1; cvt.rn.f32.s32 %f2, %r4"
    ));
    assert!(changes(
        "xor.b64 %rd3, %rd2, -9223372036854775808; mov.b64 %fd1, %rd3",
        "add.f64 %fd2, %fd1, %fd2"
    ));
    assert!(changes(
        "and.b64 %rd3, %rd2, 9223372036854775807; mov.b64 %fd1, %rd3",
        "add.f64 %fd2, %fd1, %fd2"
    ));
    // Other masks, and bits that have several definitions.
    let uses = "add.f32 %f2, %f1, %f2";
    assert!(changes(absolute, uses));
    assert!(!changes(
        "and.b32 %r3, %r1, 1073741823; mov.b32 %f1, %r3",
        uses
    ));
    assert!(!changes(
        "xor.b32 %r3, %r1, 2147483647; mov.b32 %f1, %r3",
        uses
    ));
    assert!(!changes(
        "and.b32 %r3, %r1, -2147483648; mov.b32 %f1, %r3",
        uses
    ));
    assert!(!changes(
        "and.b32 %r3, %r1, 2147483647; mov.b32 %f1, %r3; mov.u32 %r3, %r2",
        "add.f32 %f2, %f1, %f2; st.global.u32 [%rd1], %r3"
    ));
    // The payload of a NaN may be stored, selected or converted.
    assert!(!changes(
        absolute,
        "add.f32 %f2, %f1, %f2; st.global.f32 [%rd1], %f1"
    ));
    assert!(!changes(
        absolute,
        "setp.eq.f32 %p1, %f1, %f1; selp.f32 %f2, %f1, %f3, %p1"
    ));
    assert!(!changes(absolute, "mov.b32 %r4, %f1; mov.b32 %f2, %r4"));
    assert!(!changes(absolute, "cvt.f64.f32 %fd2, %f1"));
    assert!(!changes(negated, "max.xorsign.abs.f32 %f2, %f1, %f2"));
    // Bits that are also used as such.
    let text = with(absolute, "add.f32 %f2, %f1, %f2; st.global.u32 [%rd1], %r3");
    assert!(
        text.contains("abs.f32") && text.contains("and.b32"),
        "{text}"
    );
}

/// A `match` on a byte with three numbers, and an arm that jumps past their use.
const ARMS: &str = "
    .reg .pred %p<9>;
    .reg .b16 %rs<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [k_param_0];
    ld.global.u8 %rs1, [%rd1];
    ld.global.u32 %r5, [%rd1+4];
    mov.u32 %r3, 7;
    setp.gt.s16 %p1, %rs1, 70;
    @%p1 bra $high;
    setp.eq.s16 %p2, %rs1, 65;
    mov.u32 %r2, 10;
    @%p2 bra $join;
    setp.ne.s16 %p3, %rs1, 67;
    mov.u32 %r3, %r5;
    @%p3 bra $end;
    mov.u32 %r2, 20;
    bra.uni $join;
$high:
    setp.ne.s16 %p4, %rs1, 71;
    @%p4 bra $end;
    mov.u32 %r2, 30;
$join:
    st.global.u32 [%rd1], %r2;
    mov.u32 %r3, 1;
$end:
    st.global.u32 [%rd1+4], %r3;
$last:
    ret;
";

#[test]
fn arms_choose_without_branches() {
    let branches = |text: &str| text.matches("bra").count();
    let text = optimized(ARMS);
    assert_eq!(branches(&text), 1, "{text}");
    // Two for the number, and one for what the last store reads.
    assert_eq!(text.matches("selp").count(), 3, "{text}");
    let stays = |from: &str, to: &str| {
        let text = optimized(&replaced(ARMS, from, to));
        assert!(branches(&text) > 1 && !text.contains("selp"), "{text}");
    };
    // Arms that do more, and values that other arms change.
    stays(
        "mov.u32 %r2, 30;",
        "ld.global.u32 %r6, [%rd1+8]; mov.u32 %r2, %r6;",
    );
    stays("mov.u32 %r2, 30;", "ld.global.u32 %r2, [%rd1+8];");
    stays(
        "mov.u32 %r2, 30;",
        "mov.u32 %r2, 30; st.global.u32 [%rd1+8], %r5;",
    );
    stays("mov.u32 %r2, 30;", "mov.u32 %r2, %r3;");
    stays("setp.ne.s16 %p4, %rs1, 71;", "setp.ne.s32 %p4, %r3, 71;");
    stays("mov.u32 %r2, 30;", "mov.b32 %r2, 30;");
    // Three targets, and two branches.
    stays("@%p3 bra $end;", "@%p3 bra $last;");
    let two = replaced(ARMS, "@%p4 bra $end;", "bra.uni $end;");
    let text = optimized(&replaced(&two, "@%p3 bra $end;", ""));
    assert!(branches(&text) > 1 && !text.contains("selp"), "{text}");
    // A block that is reached from elsewhere, too.
    stays("mov.u32 %r3, 1;", "mov.u32 %r3, 1; @%p1 bra $high;");
    // A value that lasts from an earlier iteration.
    let last = replaced(
        ARMS,
        "mov.u32 %r2, 30;",
        "mov.u32 %r2, 30; add.s32 %r6, %r5, 1;",
    );
    let text = optimized(&last);
    assert_eq!(branches(&text), 1, "{text}");
    let again = "st.global.u32 [%rd1+4], %r3; st.global.u32 [%rd1+8], %r6; @%p1 bra $again;";
    let last = replaced(&last, "st.global.u32 [%rd1+4], %r3;", again);
    let first = "ld.global.u8 %rs1, [%rd1];";
    let text = optimized(&replaced(&last, first, &format!("$again: {first}")));
    assert!(branches(&text) > 2 && !text.contains("selp"), "{text}");
}

/// Replaces the largest pair with another one: `a < b || (a == b && i < j) == up`.
const PAIRS: &str = "
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [k_param_0];
    cvta.to.global.u64 %rd1, %rd1;
    ld.global.u32 %r1, [%rd1];
    ld.global.u32 %r2, [%rd1+4];
    ld.global.u32 %r3, [%rd1+8];
    ld.global.u32 %r4, [%rd1+12];
    setp.lt.u32 %p1, %r1, %r2;
    @!%p1 bra $other;
    setp.ne.s32 %p2, %r3, 1;
    @%p2 bra $end;
    bra.uni $replace;
$other:
    setp.ne.s32 %p3, %r1, %r2;
    setp.eq.s32 %p4, %r4, 1;
    @%p3 bra $join;
    setp.lt.u32 %p5, %r3, %r4;
    xor.pred %p4, %p4, %p5;
$join:
    setp.eq.s32 %p6, %r4, 3;
    xor.pred %p7, %p4, %p6;
    @!%p7 bra $end;
$replace:
    st.global.u32 [%rd1], %r2;
$end:
    st.global.u32 [%rd1+4], %r1;
    ret;
";

#[test]
fn conditions_are_computed_without_branches() {
    let branches = |text: &str| text.matches("bra").count();
    let text = optimized(PAIRS);
    assert_eq!(branches(&text), 1, "{text}");
    let stays = |from: &str, to: &str| {
        let text = optimized(&replaced(PAIRS, from, to));
        assert!(branches(&text) > 2, "{from} {to}\n{text}");
    };
    // Arms and joins that do more, or are long.
    let compare = "setp.lt.u32 %p5, %r3, %r4;";
    stays(compare, &format!("ld.global.u32 %r3, [%rd1+16]; {compare}"));
    stays(compare, &format!("st.global.u32 [%rd1+16], %r3; {compare}"));
    stays(compare, &"xor.pred %p5, %p5, %p4; ".repeat(4));
    stays("setp.eq.s32 %p6", "bar.sync 0; setp.eq.s32 %p6");
    // Other registers that keep their values.
    stays(compare, &format!("add.s32 %r1, %r1, 1; {compare}"));
    // A predicate that is read later, too.
    stays(
        "[%rd1+4], %r1;",
        "[%rd1+4], %r1; @%p4 st.global.u32 [%rd1+8], %r1;",
    );
    // A join that is reached from elsewhere.
    stays("@%p2 bra $end;", "@%p2 bra $join;");
    // ptxas predicates the arms where the result selects a value.
    let selects = "selp.b32 %r5, %r1, %r2, %p7; st.global.u32 [%rd1+4], %r5; ret;";
    stays("@!%p7 bra $end;", selects);
}

/// Selects between `r1 > 15` and its exclusive or with `r3 >= r4`.
const SELECTION: &str = "
    .reg .pred %p<10>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [k_param_0];
    cvta.to.global.u64 %rd1, %rd1;
    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
    setp.gt.s32 %p1, %r1, 15;
    setp.lt.s32 %p2, %r1, 16;
    setp.lt.u32 %p3, %r2, %r3;
    not.pred %p4, %p3;
    setp.lt.u32 %p5, %r3, %r4;
    xor.pred %p6, %p2, %p5;
    and.pred %p7, %p3, %p1;
    and.pred %p8, %p4, %p6;
    or.pred %p9, %p7, %p8;
    selp.b32 %r5, %r1, %r2, %p9;
    st.global.u32 [%rd1], %r5;
    ret;
";

#[test]
fn selections_are_computed_from_the_difference() {
    let selects = |from: &str, to: &str| {
        let text = optimized(&replaced(SELECTION, from, to));
        let operations = ["\tand.pred", "\tor.pred"].map(|it| text.matches(it).count());
        match operations {
            [0, 1] => false,
            [2, 1] => true,
            _ => panic!("{text}"),
        }
    };
    assert!(!selects("", ""));
    // Not the same condition, or its opposite.
    assert!(selects("%r1, 16", "%r1, 17"));
    assert!(selects("not.pred %p4, %p3", "not.pred %p4, %p2"));
    assert!(selects("not.pred %p4, %p3", "mov.pred %p4, %p3"));
    // No number is after the largest one.
    let limits = |ty: &str, numbers: [&str; 2]| {
        let text = replaced(SELECTION, "%r1, 15", &format!("%r1, {}", numbers[0]));
        let text = replaced(&text, "%r1, 16", &format!("%r1, {}", numbers[1]));
        let text = text.replace("gt.s32", &format!("gt.{ty}"));
        let text = optimized(&text.replace("lt.s32", &format!("lt.{ty}")));
        text.matches("and.pred").count()
    };
    assert_eq!(limits("u32", ["0x7FFFFFFF", "0x80000000"]), 0);
    assert_eq!(limits("s32", ["0x7FFFFFFF", "0x80000000"]), 2);
    assert_eq!(limits("s32", ["0x7FFFFFFF", "-2147483648"]), 2);
    assert_eq!(limits("u32", ["0xFFFFFFFF", "0"]), 2);
}

/// Changes a float and its bits in a loop.
const BITS: &str = "
    .reg .pred %p<4>;
    .reg .f32 %f<4>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [k_param_0];
    cvta.to.global.u64 %rd1, %rd1;
    ld.global.f32 %f1, [%rd1];
    ld.global.u32 %r5, [%rd1+4];
    setp.gt.s32 %p1, %r5, 3;
    @%p1 bra $start;
    mov.f32 %f1, 0f00000000;
$start:
    mov.b32 %r1, %f1;
    mov.u32 %r2, 0;
$loop:
    shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;
    mov.b32 %f2, %r3;
    setp.lt.f32 %p2, %f1, %f2;
    @%p2 bra $next;
    mov.f32 %f1, %f2;
    mov.u32 %r1, %r3;
$next:
    add.s32 %r2, %r2, 1;
    setp.ne.s32 %p3, %r2, %r5;
    @%p3 bra $loop;
    st.global.u32 [%rd1], %r1;
    ret;
";

#[test]
fn a_float_and_its_bits_are_one_variable() {
    let variables = |text: &str| text.matches("%r1, ").count();
    let text = optimized(BITS);
    assert_eq!(variables(&text), 0, "{text}");
    // The bits are other ones somewhere.
    for (from, to) in [
        ("mov.u32 %r1, %r3;", "mov.u32 %r1, %r2;"),
        ("mov.u32 %r1, %r3;", ""),
        ("mov.f32 %f1, %f2;", ""),
        ("mov.b32 %r1, %f1;", "mov.u32 %r1, 1;"),
    ] {
        let text = optimized(&replaced(BITS, from, to));
        assert!(variables(&text) > 0, "{text}");
    }
}

/// Computes the end of a loop again in each iteration.
const RECOMPUTED: &str = "
    .reg .pred %p<2>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [k_param_0];
    ld.param.u64 %rd2, [k_param_1];
    ld.global.u64 %rd3, [%rd1];
    add.s64 %rd4, %rd3, 2;
    min.u64 %rd5, %rd4, %rd2;
    st.global.u64 [%rd1], %rd5;
    mov.u64 %rd6, 0;
$loop:
    add.s64 %rd7, %rd3, 2;
    min.u64 %rd8, %rd7, %rd2;
    st.global.u64 [%rd1+8], %rd6;
    add.s64 %rd6, %rd6, 1;
    setp.lt.u64 %p1, %rd6, %rd8;
    @%p1 bra $loop;
    ret;
";

#[test]
fn the_end_of_a_loop_is_computed_once() {
    let minima = |from: &str, to: &str| {
        let text = optimized(&replaced(RECOMPUTED, from, to));
        text.matches("min.u64").count()
    };
    assert_eq!(minima("", ""), 1);
    assert_eq!(minima("%rd8, %rd7, %rd2", "%rd8, %rd2, %rd7"), 1);
    // The other operand changes before the loop, in it, or after the end is computed there.
    let change = "add.s64 %rd3, %rd3, 1;";
    assert_eq!(minima("$loop:", &format!("{change} $loop:")), 2);
    assert_eq!(minima("$loop:", &format!("$loop: {change}")), 2);
    let step = "add.s64 %rd6, %rd6, 1;";
    assert_eq!(minima(step, &format!("{change} {step}")), 2);
    // Another computation, and one that is not compared.
    assert_eq!(minima("add.s64 %rd7, %rd3, 2", "add.s64 %rd7, %rd3, 3"), 2);
    let stored = "setp.lt.u64 %p1, %rd6, 9; st.global.u64 [%rd1+16], %rd8;";
    assert_eq!(minima("setp.lt.u64 %p1, %rd6, %rd8;", stored), 2);
}

/// Stores to the last row of a matrix. The width and the height have 32 bits.
const LAST_ROW: &str = "
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<19>;
    ld.param.u64 %rd1, [k_param_0];
    cvta.to.global.u64 %rd1, %rd1;
    ld.param.u32 %r1, [k_param_1];
    ld.param.u32 %r2, [k_param_3];
    mov.u32 %r3, %tid.y;
    setp.ge.s32 %p1, %r3, %r2;
    @%p1 bra $end;
    add.s32 %r4, %r3, 1;
    add.s32 %r5, %r2, -1;
    cvt.u64.u32 %rd2, %r5;
    cvt.s64.s32 %rd3, %r1;
    mul.lo.s64 %rd4, %rd2, %rd3;
    mul.lo.s64 %rd5, %rd2, %rd3;
    mul.lo.s64 %rd6, %rd2, %rd3;
    add.s64 %rd7, %rd1, %rd4;
    add.s64 %rd8, %rd7, %rd5;
    add.s64 %rd12, %rd8, %rd6;
    st.global.u8 [%rd12], 1;
    $end:
    ret;
    ";

#[test]
fn products_of_signed_words_are_wide() {
    let text = optimized(LAST_ROW);
    assert!(text.contains("mul.wide.s32"), "{text}");
    assert!(!text.contains("mul.lo.s64"), "{text}");
    // The height may be 0, or as an unsigned number more than fits 31 bits.
    let text = optimized(&replaced(LAST_ROW, "@%p1 bra $end;", ""));
    assert!(text.contains("mul.lo.s64"), "{text}");
    let text = optimized(&replaced(LAST_ROW, "setp.ge.s32", "setp.ge.u32"));
    assert!(text.contains("mul.lo.s64"), "{text}");
}

#[test]
fn selections_with_a_known_condition_are_copies() {
    let with = |bound: i64| {
        let select = format!(
            "cvt.u64.u32 %rd13, %r4; setp.gt.u64 %p2, %rd13, {bound};
             selp.b64 %rd2, 0, %rd13, %p2;"
        );
        optimized(&replaced(LAST_ROW, "cvt.u64.u32 %rd2, %r5;", &select))
    };
    // As an unsigned number, -5 is greater than any index.
    for (bound, known) in [(-5, true), (1024, true), (1023, false)] {
        let text = with(bound);
        assert_eq!(!text.contains("selp"), known, "{text}");
    }
}

/// The index of the smallest element. The number of elements is below 2^30, and the counter of the
/// loop is not the index.
const SMALLEST: &str = "
    .reg .pred %k<9>;
    .reg .b32 %s<9>;
    .reg .b64 %q<19>, %n;
    shr.u64 %n, %rd2, 4;
    mov.u64 %q9, 0;
    setp.eq.s64 %k0, %n, 0;
    @%k0 bra $done;
    setp.eq.s64 %k1, %n, 1;
    @%k1 bra $done;
    and.b64 %q1, %n, 1;
    sub.s64 %q2, %n, %q1;
    mov.u64 %q3, %q2;
    mov.u64 %q4, 0;
    mov.u64 %q5, 0;
    mov.u32 %s1, -1;
    $inner:
    shl.b64 %q6, %q4, 2;
    add.s64 %q7, %rd1, %q6;
    ld.global.u32 %s2, [%q7];
    setp.lt.u32 %k2, %s2, %s1;
    min.u32 %s1, %s2, %s1;
    selp.b64 %q5, %q4, %q5, %k2;
    add.s64 %q9, %q4, 2;
    add.s64 %q3, %q3, -2;
    setp.ne.s64 %k3, %q3, 0;
    mov.u64 %q4, %q9;
    @%k3 bra $inner;
    st.global.u64 [%rd3], %q5;
    $done:
    st.global.u64 [%rd3+8], %q9;
    ";

/// Returns the copy of a kernel whose grid-stride loop also runs the instructions.
fn copy_with(element: &str) -> String {
    let element = format!("{NEIGHBORS} {element}");
    let text = optimized(&(grid_stride(&element) + &panics_of_neighbors()));
    specialized(&text).1
}

#[test]
fn indices_that_a_loop_selects_have_32_bits() {
    let text = copy_with(SMALLEST);
    assert!(!text.contains("setp.ne.s64"), "{text}");
    assert!(
        text.contains("selp.b32") && !text.contains("selp.b64"),
        "{text}"
    );
    // With one element, the counter wraps around.
    let text = copy_with(&replaced(SMALLEST, "@%k1 bra $done;", ""));
    assert!(text.contains("setp.ne.s64"), "{text}");
    assert!(text.contains("selp.b64"), "{text}");
    // The index may be anything.
    let text = copy_with(&replaced(
        SMALLEST,
        "add.s64 %q9, %q4, 2;",
        "shl.b64 %q5, %q5, 1; add.s64 %q9, %q4, 2;",
    ));
    assert!(text.contains("selp.b64"), "{text}");
}

#[test]
fn indices_without_a_value_before_the_loop_have_32_bits() {
    let none = replaced(SMALLEST, "mov.u64 %q5, 0;", "");
    let text = copy_with(&none);
    assert!(
        text.contains("selp.b32") && !text.contains("selp.b64"),
        "{text}"
    );
    // Another instruction writes the register before the loop, on some ways.
    let text = copy_with(&replaced(
        &none,
        "mov.u32 %s1, -1;",
        "mov.u32 %s1, -1; setp.gt.u64 %k4, %n, 7; @%k4 mov.u64 %q5, %q8;",
    ));
    assert!(text.contains("selp.b64"), "{text}");
    // Only code behind the loop reads the value.
    let behind = replaced(
        &none,
        "selp.b64 %q5, %q4, %q5, %k2;",
        "@!%k2 bra $keep; mov.u64 %q5, %q4; $keep:",
    );
    let text = copy_with(&behind);
    let is_zero = |line: &str| line.contains("mov.b64") && line.ends_with(", 0;");
    assert_eq!(
        text.lines().filter(|line| is_zero(line)).count(),
        2,
        "{text}"
    );
}

#[test]
fn what_is_left_behind_chunks_has_32_bits() {
    let copy = |less: &str| copy_with(&replaced(SMALLEST, "add.s64 %q3, %q3, -2;", less));
    let text = copy("min.u64 %q10, %q3, 2; sub.s64 %q3, %q3, %q10;");
    assert!(!text.contains("setp.ne.s64"), "{text}");
    let text = copy("min.u64 %q10, %q3, %q2; sub.s64 %q3, %q3, %q10;");
    assert!(!text.contains("setp.ne.s64"), "{text}");
    // Of another number, and more than the chunk.
    let text = copy("min.u64 %q10, %q2, 2; sub.s64 %q3, %q3, %q10;");
    assert!(text.contains("setp.ne.s64"), "{text}");
    let text = copy("min.u64 %q10, %q3, 2; mul.lo.s64 %q10, %q10, 2; sub.s64 %q3, %q3, %q10;");
    assert!(text.contains("setp.ne.s64"), "{text}");
}

/// A loop over the first slice without checks, with a reciprocal of each sum.
fn reciprocals(element: &str) -> String {
    format!(
        "
            .reg .pred %p<5>;
            .reg .b32 %r<5>;
            .reg .f32 %f<5>;
            .reg .b64 %rd<12>;
            ld.param.u64 %rd1, [k_param_0];
            cvta.to.global.u64 %rd1, %rd1;
            ld.param.u64 %rd3, [k_param_2];
            cvta.to.global.u64 %rd3, %rd3;
            ld.param.u64 %rd4, [k_param_3];
            mov.u64 %rd5, 0;
            mov.f32 %f1, 0f00000000;
            $loop:
            shl.b64 %rd7, %rd5, 2;
            add.s64 %rd8, %rd1, %rd7;
            add.s64 %rd9, %rd3, %rd7;
            {element}
            add.s64 %rd5, %rd5, 1;
            setp.lt.u64 %p2, %rd5, %rd4;
            @%p2 bra $loop;
            st.global.f32 [%rd3], %f1;
            ret;
            "
    )
}

#[test]
fn loads_of_four_iterations_start_before_divisions() {
    let element = "
        ld.global.nc.f32 %f2, [%rd8];
        add.f32 %f3, %f1, %f2;
        rcp.rn.f32 %f1, %f3;
        st.global.f32 [%rd9], %f1;
        ";
    let body = reciprocals(element);
    let text = optimized(&body);
    let (first, _) = text.split_once("rcp.rn").unwrap();
    assert_eq!(first.matches("ld.global.nc").count(), 4, "{text}");
    assert_eq!(text.matches("rcp.rn").count(), 5, "{text}");
    // The counter may start after the bound.
    let test = lines(&text, "sub.s64", "bra $loop;");
    let opcodes: Vec<&str> = test
        .iter()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let expected = ["sub.s64", "setp.gt.u64", "setp.lt.u64", "and.pred"];
    assert_eq!(opcodes[..opcodes.len() - 1], expected, "{text}");
    for (from, to) in [
        // A store may write what is loaded.
        (
            "ld.global.nc.f32 %f2, [%rd8];",
            "ld.global.f32 %f2, [%rd8];",
        ),
        // The address depends on the division.
        (
            "ld.global.nc.f32 %f2, [%rd8];",
            "
            cvt.rzi.u64.f32 %rd10, %f1;
            add.s64 %rd10, %rd10, %rd8;
            ld.global.nc.f32 %f2, [%rd10];
            ",
        ),
        // A barrier is not copied.
        (
            "add.f32 %f3, %f1, %f2;",
            "bar.sync 0;\nadd.f32 %f3, %f1, %f2;",
        ),
        // The number of iterations is unknown.
        (
            "setp.lt.u64 %p2, %rd5, %rd4;",
            "setp.gt.f32 %p2, %f1, 0f3F800000;",
        ),
    ] {
        let text = optimized(&replaced(&body, from, to));
        assert_eq!(text.matches("rcp.").count(), 1, "{text}");
    }
    // ptxas expands it without a branch, and moves the loads itself.
    let text = optimized(&replaced(&body, "rcp.rn.f32 %f1", "rcp.approx.f32 %f1"));
    let (first, _) = text.split_once("rcp.approx").unwrap();
    assert_eq!(first.matches("ld.global.nc").count(), 1, "{text}");
    assert_eq!(text.matches("rcp.approx").count(), 5, "{text}");
    // At most 16 words are loaded before a division.
    let vector = "
        ld.global.nc.v4.f32 {%f2, %f4, %f4, %f4}, [%rd8];
        ld.global.nc.v4.f32 {%f4, %f4, %f4, %f4}, [%rd9];
        ";
    let text = optimized(&replaced(&body, "ld.global.nc.f32 %f2, [%rd8];", vector));
    let (first, _) = text.split_once("rcp.rn").unwrap();
    assert_eq!(first.matches("ld.global.nc").count(), 4, "{text}");
}

#[test]
fn loops_that_test_first_or_skip_instructions_start_loads_before_divisions() {
    let body = |step: &str, skipped: &str| {
        let element = format!(
            "
            ld.global.nc.f32 %f2, [%rd8];
            setp.gt.f32 %p1, %f1, 0f3F800000;
            @%p1 bra $skip;
            {skipped}
            $skip:
            add.f32 %f3, %f1, %f2;
            rcp.rn.f32 %f1, %f3;
            st.global.f32 [%rd9], %f1;
            bra $next;
            $next:
            "
        );
        let body = reciprocals(&element);
        let body = replaced(
            &body,
            "$loop:",
            "$loop: setp.ge.u64 %p2, %rd5, %rd4; @%p2 bra $done;",
        );
        let body = replaced(&body, "add.s64 %rd5, %rd5, 1;", step);
        let body = replaced(&body, "setp.lt.u64 %p2, %rd5, %rd4;", "");
        replaced(&body, "@%p2 bra $loop;", "bra $loop; $done:")
    };
    let divisions = |body: &str| optimized(body).matches("rcp.rn").count();
    let step = "add.s64 %rd5, %rd5, 256;";
    let skipped = "mul.f32 %f4, %f2, %f2; add.f32 %f2, %f4, %f1;";
    let text = optimized(&body(step, skipped));
    assert_eq!(text.matches("rcp.rn").count(), 5, "{text}");
    let (first, _) = text.split_once("rcp.rn").unwrap();
    assert_eq!(first.matches("ld.global.nc").count(), 4, "{text}");
    // Only the register that is read elsewhere is chosen.
    assert_eq!(text.matches("selp").count(), 4, "{text}");
    assert!(text.contains("setp.gt.u64"), "{text}");
    for (step, skipped) in [
        // The counter may wrap around.
        ("add.s64 %rd5, %rd5, 131072;", skipped),
        // The number of iterations is unknown.
        ("add.s64 %rd4, %rd4, 1; add.s64 %rd5, %rd5, 2;", skipped),
        // What is skipped may fault, or is long.
        (step, "ld.global.f32 %f2, [%rd10];"),
        (step, "st.global.f32 [%rd9], %f2;"),
        (step, "sqrt.rn.f32 %f2, %f2;"),
        (step, &"add.f32 %f2, %f2, %f2;".repeat(5)),
        // Selections have no predicates.
        (step, "setp.gt.f32 %p3, %f2, 0f3F800000; not.pred %p4, %p4;"),
    ] {
        let mut body = body(step, skipped);
        if skipped.contains("%p4") {
            body = replaced(&body, "rcp.rn.f32 %f1, %f3;", "@%p4 rcp.rn.f32 %f1, %f3;");
        }
        assert_eq!(divisions(&body), 1, "{body}");
    }
    // A second way out of the loop, and one that is not tested in its first block.
    let text = body(step, skipped);
    let leaves = replaced(&text, "$next:", "@%p1 bra $done; bra $next; $next:");
    let leaves = replaced(&leaves, "bra $next;\n", "");
    assert_eq!(divisions(&leaves), 1);
    let late = replaced(&text, "setp.ge.u64 %p2, %rd5, %rd4;", "");
    let late = replaced(
        &late,
        "bra $next;\n",
        "setp.ge.u64 %p2, %rd5, %rd4; bra $next;\n",
    );
    assert_eq!(divisions(&late), 1);
}

#[test]
fn loads_start_before_divisions_of_their_block() {
    let body = |between: &str, load: &str| {
        let text = optimized(&format!(
            "
            .reg .b32 %r<3>;
            .reg .f32 %f<5>;
            .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [k_param_0];
            ld.param.u64 %rd2, [k_param_1];
            ld.global.f32 %f1, [%rd1];
            sqrt.rn.f32 %f2, %f1;
            {between}
            {load}
            add.f32 %f4, %f2, %f3;
            st.global.f32 [%rd1], %f4;
            ret;
            "
        ));
        let (first, _) = text.split_once("sqrt.rn").unwrap();
        first.matches("ld.global").count()
    };
    let load = "
        mul.wide.u32 %rd3, %r1, 4;
        add.s64 %rd3, %rd2, %rd3;
        ld.global.f32 %f3, [%rd3];
        ";
    let constant = &load.replace("global", "global.nc")[..];
    assert_eq!(body("", load), 2);
    let store = "st.global.f32 [%rd1], %f2;";
    assert_eq!(body(store, load), 1);
    assert_eq!(body(store, constant), 2);
    assert_eq!(body("cvt.rzi.u32.f32 %r1, %f2;", constant), 1);
    // The register has another value before.
    assert_eq!(body("cvt.rn.f32.u64 %f4, %rd3;", constant), 1);
    assert_eq!(body("bar.sync 0;", constant), 1);
    // The division waits for the same cache line.
    assert_eq!(body("", "ld.global.f32 %f3, [%rd1+4];"), 1);
    assert_eq!(body("", "ld.global.f32 %f3, [%rd1+128];"), 2);
    // So does a block before.
    let before = |offset: u32| {
        let text = optimized(&format!(
            ".reg .b32 %r<3>; .reg .f32 %f<5>; .reg .b64 %rd<4>; .reg .pred %p<2>;
            ld.param.u64 %rd1, [k_param_0];
            ld.global.f32 %f1, [%rd1];
            setp.gt.f32 %p1, %f1, 0f00000000;
            @%p1 bra $end;
            sqrt.rn.f32 %f2, %f1;
            ld.global.f32 %f3, [%rd1+{offset}];
            add.f32 %f4, %f2, %f3;
            st.global.f32 [%rd1], %f4;
            $end: ret;"
        ));
        let (first, _) = text.split_once("sqrt.rn").unwrap();
        first.matches("ld.global").count()
    };
    assert_eq!(before(4), 1);
    assert_eq!(before(128), 2);
}

#[test]
fn checks_of_some_iterations_move_out_of_loops() {
    let body = "
        .reg .pred %p<5>;
        .reg .b32 %r<3>;
        .reg .b64 %from, %len, %to, %n, %y, %i, %d, %e, %sum;
        ld.param.u64 %from, [k_param_0];
        ld.param.u64 %len, [k_param_1];
        ld.param.u64 %to, [k_param_2];
        ld.param.u64 %n, [k_param_3];
        mov.u32 %r1, 0;
        mov.u32 %r2, %tid.x;
        cvt.u64.u32 %y, %r2;
        $loop:
        setp.le.u64 %p1, %y, 7;
        @%p1 bra $skip;
        add.s64 %i, %y, -8;
        setp.ge.u64 %p2, %i, %len;
        @%p2 bra $P0;
        shl.b64 %d, %i, 2;
        add.s64 %e, %from, %d;
        ld.global.nc.u32 %r2, [%e];
        add.s32 %r1, %r1, %r2;
        $skip:
        add.s64 %y, %y, 1;
        setp.lt.u64 %p3, %y, %n;
        @%p3 bra $loop;
        st.global.u32 [%to], %r1;
        ret;
        "
    .to_owned()
        + &panic_with("$P0", "%i");
    // What the code before the loop computes, if the loop has a copy without the check.
    let ahead = |body: &str| {
        let text = optimized(body);
        let (ahead, _) = text.split_once("ld.global.nc").unwrap();
        let is_moved = text.matches("ld.global.nc").count() == 2;
        is_moved.then(|| ["max.u64", "min.u64", "or.pred"].map(|it| ahead.matches(it).count()))
    };
    let of = |from: &str, to: &str| ahead(&replaced(&body, from, to));
    // The first iteration with the check, and whether there is one.
    assert_eq!(ahead(&body), Some([1, 0, 1]));
    assert_eq!(
        of("setp.le.u64 %p1, %y, 7;", "setp.lt.u64 %p1, %y, 7;"),
        Some([1, 0, 1])
    );
    // The last one.
    assert_eq!(
        of("setp.le.u64 %p1, %y, 7;", "setp.ge.u64 %p1, %y, 7;"),
        Some([0, 1, 2])
    );
    assert_eq!(
        of(
            "setp.le.u64 %p1, %y, 7;",
            "add.s64 %sum, %y, %len; setp.gt.u64 %p1, %sum, 7;"
        ),
        Some([0, 1, 2])
    );
    // Signed, or no range of iterations: the check may fail in any of them.
    for test in ["setp.le.s64 %p1, %y, 7;", "setp.eq.s64 %p1, %y, 7;"] {
        let found = of("setp.le.u64 %p1, %y, 7;", test);
        assert_eq!(found, Some([0, 0, 0]), "{test}");
    }
    // All but the one with 0.
    let with_zero = of("setp.le.u64 %p1, %y, 7;", "setp.eq.s64 %p1, %y, 0;");
    assert_eq!(with_zero, Some([1, 0, 1]));
    // Ways that meet again before the check.
    let meeting = "@%p1 bra $skip; setp.lt.u64 %p4, %len, 5; @%p4 bra $meet;
        add.s32 %r1, %r1, 1; $meet:";
    assert_eq!(of("@%p1 bra $skip;", meeting), Some([1, 0, 1]));
    // Of other steps, only those of a counter count.
    let by_four = replaced(&body, "add.s64 %y, %y, 1;", "add.s64 %y, %y, 4;");
    assert_eq!(ahead(&by_four), Some([1, 0, 1]));
    let at_least = replaced(
        &by_four,
        "setp.le.u64 %p1, %y, 7;",
        "setp.ge.u64 %p1, %y, 7;",
    );
    assert_eq!(ahead(&at_least), Some([0, 1, 2]));
    let sum = "add.s64 %sum, %y, %len; setp.le.u64 %p1, %sum, 7;";
    let of_sum = replaced(&by_four, "setp.le.u64 %p1, %y, 7;", sum);
    assert_eq!(ahead(&of_sum), Some([0, 0, 0]));
}

#[test]
fn loads_start_before_exchanges_of_lanes() {
    // The number of loads before the first exchange and before the second one, in a kernel with
    // `others` registers besides.
    let loads = |others: u32, between: &str| {
        let at = |opcode: &str, operands: fn(u32) -> String| -> String {
            let all = (0..others).map(|i| format!("{opcode} {};", operands(i)));
            all.collect()
        };
        let early = at("ld.local.u32", |i| format!("%o{i}, [%rd1+{}]", 4 * i));
        let late = at("st.local.u32", |i| format!("[%rd1+{}], %o{i}", 4 * i));
        let text = optimized(&format!(
            ".reg .b32 %r<5>, %o<99>; .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [k_param_0];
            ld.param.u64 %rd2, [k_param_2];
            {early}
            ld.global.u32 %r1, [%rd1];
            shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
            add.s32 %r1, %r1, %r2;
            {between}
            shfl.sync.bfly.b32 %r2, %r1, 2, 31, -1;
            ld.global.nc.u32 %r3, [%rd2];
            mad.lo.s32 %r4, %r2, %r3, %r1;
            st.global.u32 [%rd1], %r4;
            {late}
            ret;"
        ));
        let (second, _) = text.rsplit_once("shfl").unwrap();
        let (first, _) = text.split_once("shfl").unwrap();
        [first, second].map(|text| text.matches("ld.global").count())
    };
    assert_eq!(loads(0, ""), [2, 2]);
    // The address depends on the first one.
    let depends = "cvt.u64.u32 %rd3, %r2; add.s64 %rd2, %rd2, %rd3;";
    assert_eq!(loads(0, depends), [1, 1]);
    assert_eq!(loads(40, depends), [1, 2]);
    assert_eq!(loads(40, "bar.sync 0;"), [1, 2]);
}

#[test]
fn trees_of_comparisons_become_jump_tables() {
    let body = "
        .reg .pred %p<8>;
        .reg .b16 %rs<2>;
        .reg .b32 %r<3>;
        .reg .b64 %rd<2>;
        ld.param.u64 %rd1, [k_param_0];
        ld.global.u8 %rs1, [%rd1];
        mov.u32 %r1, 0;
        setp.gt.s16 %p1, %rs1, 3;
        @%p1 bra $more;
        setp.eq.s16 %p2, %rs1, 1;
        @%p2 bra $a;
        setp.eq.s16 %p3, %rs1, 2;
        @%p3 bra $b;
        setp.eq.s16 %p4, %rs1, 3;
        @%p4 bra $c;
        bra.uni $end;
        $more:
        setp.eq.s16 %p5, %rs1, 4;
        @%p5 bra $c;
        setp.ne.s16 %p6, %rs1, 5;
        @%p6 bra $end;
        $a:
        add.s32 %r1, %r1, 1;
        $b:
        add.s32 %r1, %r1, 2;
        bra.uni $end;
        $c:
        add.s32 %r1, %r1, 3;
        $end:
        st.global.u32 [%rd1], %r1;
        ret;
        ";
    let text = optimized(body);
    assert!(
        text.contains(".branchtargets $end, $a, $b, $c, $c, $a, $end;"),
        "{text}"
    );
    let table = lines(&text, "cvt.u32.u16", "brx.idx");
    assert!(table[1].starts_with("min.u32") && table[1].ends_with(", 6;"));
    assert_eq!(table.len(), 3, "{text}");
    assert!(!text.contains("setp"), "{text}");
    for (from, to) in [
        // A table takes as long as a few branches.
        ("setp.eq.s16 %p2, %rs1, 1;", "setp.eq.s16 %p2, %rs0, 1;"),
        // The table would be long.
        ("setp.eq.s16 %p2, %rs1, 1;", "setp.eq.s16 %p2, %rs1, -90;"),
        // The values at both ends have different targets.
        ("setp.ne.s16 %p6, %rs1, 5;", "setp.lt.s16 %p6, %rs1, 5;"),
        // A comparison is needed later.
        ("add.s32 %r1, %r1, 3;", "selp.b32 %r1, 3, 4, %p5;"),
    ] {
        let text = optimized(&replaced(body, from, to));
        assert!(!text.contains("brx"), "{to}:\n{text}");
    }
}

/// A kernel with two checks that share a panic, which reads the register of both indices. `between`
/// follows the first check.
fn checks_that_share_a_panic(between: &str, at_end: &str) -> String {
    let body = format!(
        "
        .reg .pred %p<5>;
        .reg .b32 %r<4>;
        .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [k_param_0];
        ld.param.u64 %rd2, [k_param_1];
        ld.param.u64 %rd4, [k_param_3];
        setp.eq.s64 %p1, %rd2, 9;
        add.s64 %rd6, %rd4, 1;
        setp.lt.u64 %p2, %rd6, %rd2;
        @!%p2 bra $B;
        ld.global.u32 %r2, [%rd1+4];
        {between}
        add.s64 %rd6, %rd4, 2;
        setp.lt.u64 %p3, %rd6, %rd2;
        @!%p3 bra $B;
        st.global.u32 [%rd1], %r2;
        {at_end}
        ret;
        "
    );
    optimized(&(body + &panic_with("$B", "%rd6")))
}

#[test]
fn checks_of_unrolled_iterations_are_combined() {
    for between in ["", "add.s64 %rd6, %rd6, 7; st.global.u64 [%rd1+8], %rd6;"] {
        let text = checks_that_share_a_panic(between, "");
        assert_eq!(text.matches("and.pred").count(), 1, "{text}");
        // The panic reads the index of the check that fails.
        for index in ["1", "2"] {
            let is_moved = text.lines().any(|line| {
                let add = line.trim().strip_prefix("add.s64 ");
                let register = add.and_then(|it| it.strip_suffix(&format!(", %rd4, {index};")));
                register.is_some_and(|it| text.contains(&format!("mov.b64 %rd6, {it};")))
            });
            assert!(is_moved, "{index}:\n{text}");
        }
    }
}

#[test]
fn indices_that_other_code_reads_keep_their_register() {
    let (first, second) = ("add.s64 %rd6, %rd4, 1;", "add.s64 %rd6, %rd4, 2;");
    for (between, at_end, kept) in [
        // A block with two predecessors reads the index.
        (
            "bar.sync 0; @%p1 bra $C; mov.u64 %rd6, 3; $C: st.global.u64 [%rd1], %rd6;",
            "",
            first,
        ),
        // The next value depends on a condition.
        (
            "bar.sync 0; @%p1 mov.u64 %rd6, 3; st.global.u64 [%rd1], %rd6;",
            "",
            first,
        ),
        // So does the first iteration of a loop.
        (
            "bar.sync 0;",
            "$C: st.global.u64 [%rd1], %rd6; add.s64 %rd6, %rd6, 1; @%p1 bra $C;",
            second,
        ),
    ] {
        let text = checks_that_share_a_panic(between, at_end);
        for index in [first, second] {
            assert_eq!(text.contains(index), index == kept, "{text}");
        }
    }
}

#[test]
fn comparisons_with_smaller_constants_are_implied() {
    // `needed` are the conditions of the branch.
    let check = |checks: &[(&str, u32)], needed: &[&str]| {
        let mut body = "
            .reg .pred %p<32>;
            .reg .b32 %r<32>;
            .reg .b64 %rd<9>;
            ld.param.u64 %rd1, [k_param_0];
            ld.global.u64 %rd2, [%rd1];
            "
        .to_owned();
        for (n, &(comparison, constant)) in checks.iter().enumerate() {
            body += &format!(
                "setp.{comparison} %p{n}, %rd2, {constant};
                @!%p{n} bra $P{n};
                ld.global.nc.u32 %r{n}, [%rd1+{}];
                st.shared.u32 [{}], %r{n};\n",
                4 * n,
                4 * n,
            );
        }
        body += "ret;\n";
        for (n, _) in checks.iter().enumerate() {
            body += &panic_with(&format!("$P{n}"), "%rd2");
        }
        let text = optimized(&body);
        let start = text.find("setp").unwrap();
        let hot = &text[start..start + text[start..].find("ld.global.nc").unwrap()];
        assert_eq!(hot.matches("bra").count(), 1, "{text}");
        assert_eq!(hot.matches("and.pred").count(), needed.len() - 1, "{text}");
        for condition in needed {
            let is_needed = |line: &str| line.contains("bra") || line.contains("and.pred");
            let mut users = hot.lines().filter(|line| is_needed(line));
            assert!(users.any(|line| line.contains(condition)), "{text}");
        }
        assert_eq!(
            text.matches("ld.global.nc").count(),
            2 * checks.len() - 1,
            "{text}"
        );
    };
    let all: Vec<(&str, u32)> = (0..20)
        .map(|n| (["ne.s64", "gt.u64"][n as usize % 2], n))
        .collect();
    check(&all, &["%p19"]);
    check(&[("gt.u64", 3), ("ne.s64", 4)], &["%p0", "%p1"]);
    check(&[("ge.u64", 5), ("ne.s64", 4), ("gt.u64", 3)], &["%p0"]);
}

#[test]
fn checks_that_the_last_one_implies_are_removed() {
    let checks = |offsets: [i32; 3], limit: &str| {
        let one = |(i, offset): (u32, i32)| {
            let limit = if i == 1 { limit } else { "%len" };
            let access = access(i).replace("%len", limit);
            format!("add.s64 %c{i}, %i, {offset}; {access}")
        };
        let copy = copy_of(&(0..).zip(offsets).map(one).collect::<String>());
        let branch = &copy[..copy.find("ld.global").unwrap()];
        branch.matches("setp.lt.u32").count()
    };
    // The ranges show that no sum wraps around.
    assert_eq!(checks([1, 3, 2], "%len"), 1);
    assert_eq!(checks([5, 5, 5], "%len"), 1);
    // The element before the first one has an index that is greater than all others.
    assert_eq!(checks([-1, 3, 2], "%len"), 2);
    // Another slice may be shorter.
    assert_eq!(checks([1, 3, 2], "%count"), 2);
}

#[test]
fn indices_that_only_panics_read_are_computed_there() {
    let copy = |used: &str| {
        let checked = access(0).replace("%k0, %c0", "%k0, %i");
        let checked = checked.replace("%d0, %c0", "%d0, %i");
        copy_of(&format!(
            "add.s64 %c0, %i, 77; {checked} {used}
            mov.u64 %c1, %i; {}",
            access(1)
        ))
    };
    let only_panics = copy("");
    assert!(!only_panics.contains(", 77;"), "{only_panics}");
    let stored = copy("st.global.u64 [%to], %c0;");
    assert!(stored.contains(", 77;"), "{stored}");
}

#[test]
fn two_readings_of_the_clock_differ() {
    let text = optimized(
        "
        .reg .pred %p<9>;
        .reg .b32 %r<9>;
        .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd2, %rd1;
        mov.u32 %r1, %clock;
        mov.u32 %r2, %clock;
        // This is no saturating subtraction of one reading.
        add.s32 %r3, %r2, -10;
        setp.lt.u32 %p3, %r1, 10;
        selp.b32 %r4, 0, %r3, %p3;
        st.global.u32 [%rd2+8], %r4;
        cvt.u64.u32 %rd3, %r1;
        cvt.u64.u32 %rd4, %r2;
        // The comparison of the first reading says nothing about the second.
        setp.ge.u64 %p1, %rd3, 1000;
        @%p1 bra $end;
        setp.lt.u64 %p2, %rd4, 1000;
        selp.b64 %rd5, %rd4, 7, %p2;
        min.u64 %rd6, %rd5, 5000;
        st.global.u64 [%rd2], %rd6;
        $end:
        ret;",
    );
    assert_eq!(text.matches("selp.").count(), 2, "{text}");
    assert!(!text.contains("max.u32"), "{text}");
}

/// A reduction of a warp for the smallest number and its index, and `after`.
fn smallest(capture: &str, after: &str) -> String {
    let mut body = "
        .reg .pred %p<40>;
        .reg .b32 %r<200>;
        .reg .f32 %f<40>;
        .reg .b64 %rd<10>;
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd2, %rd1;
        mov.u32 %r1, %laneid;
        mul.wide.u32 %rd3, %r1, 4;
        add.s64 %rd4, %rd2, %rd3;
        ld.global.f32 %f0, [%rd4];
        mov.u32 %r10, %r1;
        mov.u32 %r4, 31;
        mov.u32 %r5, -1;
        "
    .to_owned();
    for step in 0..5 {
        let [f, r, p] = [5 * step, 10 + 20 * step, 6 * step];
        let next = [f + 5, r + 20];
        let distance = 1 << step;
        body.push_str(&format!(
            "
            mov.b32 %r{}, %f{f};
            shfl.sync.bfly.b32 %r{}, %r{}, {distance}, %r4, %r5;
            shfl.sync.bfly.b32 %r{}, %r{r}, {distance}, %r4, %r5;
            mov.b32 %f{}, %r{};
            and.b32 %r{}, %r1, {distance};
            setp.eq.s32 %p{p}, %r{}, 0;
            selp.f32 %f{}, %f{f}, %f{}, %p{p};
            selp.f32 %f{}, %f{}, %f{f}, %p{p};
            selp.b32 %r{}, %r{r}, %r{}, %p{p};
            selp.b32 %r{}, %r{}, %r{r}, %p{p};
            {capture}
            setp.lt.f32 %p{}, %f{}, %f{};
            selp.f32 %f{}, %f{}, %f{}, %p{};
            selp.b32 %r{}, %r{}, %r{}, %p{};
            ",
            r + 1,
            r + 2,
            r + 1,
            r + 3,
            f + 1,
            r + 2,
            r + 4,
            r + 4,
            f + 2,
            f + 1,
            f + 3,
            f + 1,
            r + 5,
            r + 3,
            r + 6,
            r + 3,
            p + 1,
            f + 3,
            f + 2,
            next[0],
            f + 3,
            f + 2,
            p + 1,
            next[1],
            r + 6,
            r + 5,
            p + 1,
        ));
    }
    body.push_str(after);
    body.push_str("st.global.u32 [%rd4], %r110; ret;");
    body
}

#[test]
fn order_of_a_reduction_needs_no_selections() {
    let text = optimized(&smallest("", ""));
    let count = |opcode: &str| text.matches(opcode).count();
    // Those of the closure remain.
    assert_eq!(count("selp."), 10, "{text}");
    assert_eq!(count("shfl.sync.bfly.b32"), 8, "{text}");
    assert_eq!(count("shfl.sync.idx.b32"), 4, "{text}");
}

#[test]
fn order_stays_where_other_lanes_are_observed() {
    let used_later = "st.global.u32 [%rd4+128], %r50;";
    let branches = "@%p1 st.global.u32 [%rd4+128], %r15;";
    for (capture, after) in [("", used_later), (branches, "")] {
        let text = optimized(&smallest(capture, after));
        assert_eq!(text.matches("selp.").count(), 30, "{text}");
        assert!(!text.contains("shfl.sync.idx"), "{text}");
    }
}

#[test]
fn differences_of_ordered_words_have_31_bits() {
    // The length of a row of a sparse matrix: the difference of two numbers in memory.
    let narrow = |checks: &str| {
        let element = format!(
            "{NEIGHBORS} .reg .b32 %n<4>; .reg .b64 %q<9>; .reg .pred %k<9>;
             ld.global.nc.u32 %n0, [%rd3]; ld.global.nc.u32 %n1, [%rd3+4];
             cvt.u64.u32 %q0, %n0; cvt.u64.u32 %q1, %n1; cvt.u32.u64 %n2, %q0;
             {checks} sub.s64 %q2, %q1, %q0; setp.gt.u64 %k3, %q2, 32; @%k3 bra $end;
             st.global.u32 [%rd3], %n0;"
        );
        let text = optimized(&(grid_stride(&element) + &panics_of_neighbors()));
        !specialized(&text).1.contains("sub.s64")
    };
    let ordered = "setp.lt.u32 %k0, %n1, %n2;";
    let bounded = "setp.gt.u64 %k1, %q1, %rd2;";
    let either = "or.pred %k2, %k0, %k1; @%k2 bra $end;";
    assert!(narrow(&format!("{ordered} {bounded} {either}")));
    assert!(narrow(&format!("{bounded} {ordered} {either}")));
    assert!(narrow(&format!(
        "{bounded} @%k1 bra $end; {ordered} @%k0 bra $end;"
    )));
    // The second number may be any, the first one may be greater, or change after the comparison.
    assert!(!narrow(&format!("{ordered} @%k0 bra $end;")));
    assert!(!narrow(&format!("{bounded} @%k1 bra $end;")));
    let other = "ld.global.nc.u32 %n0, [%rd3+8]; cvt.u64.u32 %q0, %n0;";
    assert!(!narrow(&format!("{ordered} {bounded} {either} {other}")));
}

#[test]
fn iterators_that_have_started_leave_their_loop() {
    let copy = |element: &str| {
        let element = format!(".reg .pred %z<3>; {element} {NEIGHBORS}");
        let text = optimized(&(grid_stride(&element) + &panics_of_neighbors()));
        specialized(&text).1
    };
    let started = "mov.pred %z0, 0; bra.uni $next;
                   $again: st.global.u32 [%rd3], %r1; mov.pred %z0, -1;
                   $next: not.pred %z1, %z0; @!%z1 bra $end;
                   ld.global.u32 %r1, [%rd3+4]; setp.eq.s32 %z2, %r1, 7; @%z2 bra $again;";
    let once = copy(started);
    assert!(once.contains("+4]") && !once.contains("mov.pred"), "{once}");
    // Another value of the predicate reaches the branch.
    let unknown = "ld.global.u32 %r1, [%rd3+8]; setp.eq.s32 %z0, %r1, 0;";
    let kept = copy(&started.replace("mov.pred %z0, 0;", unknown));
    assert!(kept.contains("mov.pred"), "{kept}");
    // A loop that never ends.
    let endless = "@%z0 bra $spin; $more: mov.pred %z0, 0; bra.uni $next;
                   $spin: @%z0 bra $next; bra.uni $more;
                   $next: @%z0 bra $spin;";
    assert!(copy(&format!("mov.pred %z0, -1; {endless}")).contains("bra"));
}

/// Lists of bytes until the end: a loop over the lists, and one over the bytes. The address is also
/// in `%rd7` and `%rd9`, as a generic one.
const LISTS: &str = "
    .reg .pred %p<9>;
    .reg .b16 %rs<9>;
    .reg .b64 %rd<19>;
    ld.param.u64 %rd1, [k_param_0];
    ld.param.u64 %rd2, [k_param_1];
    cvta.to.global.u64 %rd3, %rd1;
    add.s64 %rd4, %rd3, %rd2;
    add.s64 %rd5, %rd2, %rd1;
    mov.u64 %rd6, %rd3;
    mov.u64 %rd7, %rd1;
    $list:
    setp.ge.u64 %p1, %rd6, %rd4;
    @%p1 bra $end;
    sub.s64 %rd10, %rd5, %rd7;
    add.s64 %rd11, %rd6, %rd10;
    mov.u64 %rd8, %rd6;
    mov.u64 %rd9, %rd7;
    $byte:
    ld.global.u8 %rs1, [%rd8];
    add.s64 %rd8, %rd8, 1;
    add.s64 %rd9, %rd9, 1;
    setp.eq.s16 %p2, %rs1, 44;
    mov.u64 %rd6, %rd8;
    mov.u64 %rd7, %rd9;
    @%p2 bra $list;
    setp.ne.s64 %p3, %rd8, %rd11;
    mov.u64 %rd6, %rd11;
    mov.u64 %rd7, %rd5;
    @%p3 bra $byte;
    bra.uni $list;
    $end:
    st.global.u64 [%rd4], %rd7;
    ret;
    ";

#[test]
fn registers_with_equal_values_are_merged() {
    let merges = |from: &str, to: &str| {
        let text = optimized(&replaced(LISTS, from, to));
        let is_merged = !text.contains("%rd7,") && !text.contains("%rd9,");
        assert!(!is_merged || text.contains("[%rd4], %rd6"), "{text}");
        is_merged
    };
    let next = "add.s64 %rd9, %rd9, 1;";
    assert!(merges(next, next));
    // An operand, an operation, an iteration or an initial value differs.
    assert!(!merges(next, "add.s64 %rd9, %rd9, 2;"));
    assert!(!merges(next, "sub.s64 %rd9, %rd9, 1;"));
    assert!(!merges(next, "@%p1 add.s64 %rd9, %rd9, 1;"));
    assert!(!merges(next, "{ .reg .b64 %own; add.s64 %rd9, %rd9, 1; }"));
    assert!(!merges("mov.u64 %rd7, %rd1;", "add.s64 %rd7, %rd1, 1;"));
    assert!(!merges("cvta.to.global", "cvta.to.shared"));
    assert!(!merges("mov.u64 %rd7, %rd1;", ""));
    // Another path has another initial value.
    let paths = "mov.u64 %rd12, %rd1; setp.eq.s64 %p4, %rd2, 7; @%p4 bra $start;
                 mov.u64 %rd12, %rd2; $start: mov.u64 %rd6, %rd12;";
    assert!(!merges("mov.u64 %rd6, %rd3;", paths));
    let equal = paths.replace("%rd12, %rd2;", "%rd12, %rd3;");
    assert!(merges(
        "mov.u64 %rd6, %rd3;\n    mov.u64 %rd7, %rd1;",
        &(equal + "mov.u64 %rd7, %rd1;")
    ));
    // The end differs.
    assert!(!merges(
        "sub.s64 %rd10, %rd5, %rd7;",
        "sub.s64 %rd10, %rd5, %rd2;"
    ));
    assert!(!merges(
        "sub.s64 %rd10, %rd5, %rd7;",
        "add.s64 %rd10, %rd5, %rd7;"
    ));
    // The other register is read between their changes.
    let between = "st.global.u64 [%rd4], %rd9; add.s64 %rd9, %rd9, 1;";
    assert!(!merges(next, between));
}

#[test]
fn loads_pass_stores_to_other_addresses() {
    let element = |offset: u32| {
        format!(
            "ld.global.f32 %f1, [%rd1+{offset}]; add.f32 %f2, %f1, %f1;
             st.global.f32 [%rd2+{offset}], %f2;"
        )
    };
    let optimized = |body: &str| {
        optimized(&format!(
            "
            .reg .pred %p<9>;
            .reg .b32 %r<9>;
            .reg .f32 %f<9>;
            .reg .b64 %rd<9>;
            ld.param.u64 %rd1, [k_param_0];
            ld.param.u64 %rd2, [k_param_1];
            mov.u32 %r1, %nctaid.x;
            $loop:
            {body}
            add.s64 %rd1, %rd1, 8;
            add.s64 %rd2, %rd2, 8;
            sub.s32 %r1, %r1, 1;
            setp.ne.s32 %p1, %r1, 0;
            @%p1 bra $loop;
            ret;
            "
        ))
    };
    let passes = |body: &str| optimized(body).contains("setp.ge.u32");
    let twice = element(0) + &element(4);
    assert!(passes(&twice));
    // No load follows a store.
    assert!(!passes(&element(0)));
    // The order of the accesses matters.
    assert!(!passes(&twice.replacen(
        "st.global",
        "st.volatile.global",
        1
    )));
    assert!(!passes(&twice.replacen(
        "st.global",
        "st.release.gpu.global",
        1
    )));
    assert!(!passes(&(twice.clone() + "bar.sync 0;")));
    assert!(!passes(&(twice.clone() + "red.global.add.u32 [%rd2], 1;")));
    // The distance changes, so each iteration of the copy begins with the test.
    let tested = |body: &str| {
        let text = optimized(body);
        let (before, after) = text.split_once("setp.ge.u32").unwrap();
        let label = before.rfind("$L").map(|at| &before[at..]);
        label.is_some_and(|it| after.contains(it.split(':').next().unwrap()))
    };
    assert!(!tested(&twice));
    assert!(tested(&(twice.clone() + "add.s64 %rd2, %rd2, 4;")));
    // Indices that may wrap around.
    let row = |first: &str, next: &str| {
        format!(
            "mad.lo.s32 %r2, %r1, %r3, %r4; mul.wide.u32 %rd3, %r2, 4;
             add.s64 %rd4, %rd1, %rd3; ld.global.f32 %f1, [%rd4];
             add.s64 %rd5, %rd2, %rd3; st.global.f32 [%rd5], %f1;
             {first} {next}
             add.s64 %rd6, %rd1, %rd7; ld.global.f32 %f2, [%rd6];
             add.s64 %rd8, %rd2, %rd7; st.global.f32 [%rd8], %f2;"
        )
    };
    let next = "mul.wide.u32 %rd7, %r5, 4;";
    assert!(passes(&row("add.s32 %r5, %r2, %r3;", next)));
    assert!(!passes(&row("mul.lo.s32 %r5, %r2, %r3;", next)));
    assert!(!passes(&row(
        "add.s32 %r5, %r2, %r3;",
        "shl.b64 %rd7, %rd3, %r5;"
    )));
    // The address is loaded.
    assert!(!passes(&row("ld.global.u32 %r5, [%rd5];", next)));
    // All lanes exchange values in the same copy.
    let exchange = |mask: &str| {
        let exchange = format!("shfl.sync.up.b32 %r6, %r7, 1, 0, {mask}; mov.b32 %r7, %r6;");
        element(0) + &exchange + &element(4)
    };
    let text = optimized(&exchange("-1"));
    assert!(
        text.contains("vote.sync.all.pred") && text.contains("setp.ge.u32"),
        "{text}"
    );
    assert!(!passes(&exchange("%r8")));
    assert!(!passes(&exchange("65535")));
    // The store is at an unknown address, or under a condition.
    let unknown = "shl.b64 %rd3, %rd2, %r1; st.global.f32 [%rd3], %f2;";
    assert!(!passes(&(element(0) + unknown + &element(4))));
    assert!(!passes(&twice.replacen("st.global", "@%p1 st.global", 1)));
}

/// A loop over bytes that counts the rest down beside the address, and exits early at two values.
const BYTES: &str = "
    .reg .pred %p<9>;
    .reg .b16 %rs<9>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [k_param_0];
    ld.param.u64 %rd2, [k_param_1];
    add.s64 %rd3, %rd1, 1;
    mov.u64 %rd4, %rd2;
    bra.uni $loop;
$loop:
    ld.global.u8 %rs1, [%rd3+-1];
    setp.eq.s16 %p1, %rs1, 44;
    mov.u64 %rd5, %rd3;
    @%p1 bra $exit;
    setp.eq.s16 %p2, %rs1, 10;
    mov.u64 %rd5, %rd3;
    @%p2 bra $exit;
    add.s64 %rd3, %rd3, 1;
    add.s64 %rd4, %rd4, -1;
    setp.ne.s64 %p3, %rd4, 0;
    mov.u64 %rd5, 0;
    @%p3 bra $loop;
$exit:
    st.global.u64 [%rd1], %rd5;
    ret;
    ";

#[test]
fn a_loop_over_bytes_ends_by_its_address() {
    let ends_by_address = |text: &str| {
        let text = optimized(text);
        text.matches("add.s64 %rd4").count() == 0
    };
    assert!(ends_by_address(BYTES));
    // The other direction, the other order, and a step of another counter.
    assert!(ends_by_address(&replaced(
        BYTES,
        "%rd3, %rd3, 1;",
        "%rd3, %rd3, -1;"
    )));
    let steps = "add.s64 %rd4, %rd4, -1;";
    let compares = "setp.ne.s64 %p3, %rd4, 0;";
    let later = replaced(
        &replaced(BYTES, steps, ""),
        compares,
        &format!("{compares}{steps}"),
    );
    assert!(ends_by_address(&later));
    assert!(!ends_by_address(&replaced(
        BYTES,
        "%rd3, %rd3, 1;",
        "%rd3, %rd3, 2;"
    )));
    // The counter is read, the relation is another one, and there is only one exit.
    assert!(!ends_by_address(&replaced(
        BYTES,
        "st.global.u64 [%rd1], %rd5;",
        "st.global.u64 [%rd1], %rd4;"
    )));
    assert!(!ends_by_address(&replaced(
        BYTES,
        "setp.ne.s64 %p3",
        "setp.gt.s64 %p3"
    )));
    let one = replaced(
        &replaced(BYTES, "@%p1 bra $exit;", ""),
        "@%p2 bra $exit;",
        "",
    );
    assert!(!ends_by_address(&one));
}

#[test]
fn a_move_does_not_repeat_before_the_next_branch() {
    let text = optimized(BYTES);
    assert_eq!(text.matches("mov.u64 %rd5, %rd3;").count(), 1, "{text}");
    // The source or the result has changed.
    for change in ["add.s64 %rd3, %rd3, 1;", "mov.u64 %rd5, %rd4;"] {
        let second = "setp.eq.s16 %p2";
        let text = optimized(&BYTES.replace(second, &format!("{change}\n{second}")));
        assert_eq!(text.matches("mov.u64 %rd5, %rd3;").count(), 2, "{text}");
    }
}

/// Returns whether the load of a kernel remains one of memory that does not change.
fn stays_constant(then: &str) -> bool {
    let text = optimized(&format!(
        "
        .reg .pred %p<3>;
        .reg .b32 %r<9>;
        .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [k_param_0];
        ld.param.u64 %rd2, [k_param_2];
        cvta.to.global.u64 %rd3, %rd1;
        cvta.to.global.u64 %rd4, %rd2;
        mov.u32 %r1, %tid.x;
        setp.lt.u32 %p1, %r1, 16;
        ld.global.nc.u32 %r2, [%rd3];
        mov.u32 %r3, 1;
        @%p1 bra $then;
        add.s32 %r3, %r2, 5;
        $then:
        {then}
        ret;"
    ));
    let is_constant = text.contains("ld.global.nc.u32");
    assert_ne!(is_constant, text.contains("ld.global.u32"), "{text}");
    is_constant
}

#[test]
fn loads_stay_before_barriers() {
    let store = "add.s32 %r3, %r3, %r2; st.global.u32 [%rd4], %r3;";
    assert!(stays_constant(store));
    assert!(stays_constant(&format!("{store} bar.sync 0;")));
    assert!(!stays_constant(&format!("bar.sync 0; {store}")));
    assert!(stays_constant(&format!("barrier.cluster.arrive; {store}")));
    let behind_a_branch = |first: &str| {
        format!(
            "
            setp.gt.u32 %p2, %r1, 3;
            @%p2 bra $behind;
            {first}
            bra $behind;
            $behind:
            {store}"
        )
    };
    assert!(!stays_constant(&behind_a_branch("barrier.sync 1;")));
    assert!(stays_constant(&behind_a_branch(
        "st.global.u32 [%rd4+4], %r2; barrier.sync 1;"
    )));
}

#[test]
fn loads_of_the_next_iteration_overlap_with_barriers() {
    // The numbers of loads before the loop and in it.
    let loads = |check: &str, load: &str| {
        let text = optimized(&format!(
            "
            .reg .pred %p<9>;
            .reg .b32 %r<9>;
            .reg .b64 %at, %end, %to, %d<9>;
            .shared .align 4 .b8 memory[256];
            ld.param.u64 %at, [k_param_0];
            ld.param.u64 %end, [k_param_1];
            ld.param.u64 %to, [k_param_2];
            mov.u32 %r1, %tid.x;
            mov.u32 %r2, 1;
            setp.lt.u32 %p2, %r1, 16;
            $loop:
            bar.sync 0;
            ld.shared.u32 %r3, [memory];
            {check}
            {load}
            bar.sync 0;
            mad.lo.s32 %r2, %r3, %r2, %r4;
            st.shared.u32 [memory], %r2;
            add.s64 %at, %at, 128;
            setp.ne.s64 %p1, %at, %end;
            @%p1 bra $loop;
            $end:
            st.global.u32 [%to], %r2;
            ret;"
        ));
        let (before, rest) = text.split_once("bar.sync").unwrap();
        [before, rest].map(|part| part.matches("ld.global").count())
    };
    let ahead = [1, 1];
    let stays = [0, 1];
    let load = "add.s64 %d1, %at, 64; ld.global.nc.u32 %r4, [%d1+4];";
    assert_eq!(loads("", load), ahead);
    // The counter itself, but not after its step.
    assert_eq!(loads("", "ld.global.nc.u32 %r4, [%at];"), ahead);
    let late = "setp.ne.s32 %p3, %r1, 77; @%p3 bra $end; add.s64 %at, %at, 128;
        ld.global.nc.u32 %r4, [%at]; setp.ne.s64 %p1, %at, %end; @%p1 bra $loop; bra $end;";
    assert_eq!(loads("", late), stays);
    // The same way in each iteration.
    let check = "@!%p2 bra $end;";
    assert_eq!(loads(check, load), ahead);
    let computed = "and.b32 %r5, %r1, 3; setp.eq.s32 %p3, %r5, 1; @%p3 bra $end;";
    assert_eq!(loads(computed, load), ahead);
    let either = "@%p2 bra $then; setp.eq.s32 %p3, %r1, 1; @%p3 bra $end; $then:";
    assert_eq!(loads(either, load), ahead);
    // The next iteration may end before.
    let shared = "setp.eq.s32 %p3, %r3, 1; @%p3 bra $end;";
    assert_eq!(loads(shared, load), stays);
    let counter = "setp.eq.s64 %p3, %at, 1000; @%p3 bra $end;";
    assert_eq!(loads(counter, load), stays);
    // Only some iterations or threads load.
    assert_eq!(loads("", &format!("@%p2 bra $then; {load} $then:")), stays);
    assert_eq!(loads("", &load.replace("ld.", "@%p2 ld.")), stays);
    // The kernel writes memory only at its end, or in the loop before a barrier.
    assert_eq!(loads("", &load.replace(".nc", "")), ahead);
    let written = "st.global.u32 [%to], %r2;";
    assert_eq!(loads(written, &load.replace(".nc", "")), stays);
    assert_eq!(loads(written, load), ahead);
    // Another thread may have synchronized by other means.
    let acquired = "ld.acquire.gpu.global.u32 %r6, [%to+4];";
    assert_eq!(loads(acquired, &load.replace(".nc", "")), stays);
    // The address depends on what other threads have stored, or on an index that may wrap around.
    let stored = "mul.wide.u32 %d1, %r3, 4; add.s64 %d1, %d1, %to; ld.global.nc.u32 %r4, [%d1];";
    assert_eq!(loads("", stored), stays);
    // In its own iteration, such a load may come before the barrier.
    let narrow = "cvt.u32.u64 %r5, %at; cvt.u64.u32 %d1, %r5; ld.global.nc.u32 %r4, [%d1];";
    assert_eq!(loads("", narrow), [1, 0]);
    // One of two loads cannot be ahead.
    let both = format!("{load} ld.global.u32 %r5, [%to+4]; add.s32 %r4, %r4, %r5;");
    assert_eq!(loads("", &both), [2, 0]);
}

#[test]
fn loads_of_unchanged_memory_start_before_barriers() {
    // Whether the load comes before the barrier.
    let starts = |before: &str, between: &str, load: &str, end: &str| {
        let text = optimized(&format!(
            "
            .reg .pred %p<9>;
            .reg .b32 %r<9>;
            .reg .b64 %from, %to, %d<9>;
            .shared .align 4 .b8 memory[256];
            ld.param.u64 %from, [k_param_0];
            ld.param.u64 %to, [k_param_1];
            mov.u32 %r1, %tid.x;
            setp.lt.u32 %p1, %r1, 16;
            mul.wide.u32 %d1, %r1, 4;
            {before}
            st.shared.u32 [memory], %r1;
            bar.sync 0;
            ld.shared.u32 %r3, [memory];
            {between}
            {load}
            add.s32 %r2, %r2, %r3;
            {end}
            st.global.u32 [%to], %r2;
            ret;"
        ));
        let load = text.find("ld.volatile").or_else(|| text.find("ld.global"));
        load.unwrap() < text.find("bar.sync").unwrap()
    };
    let load = "add.s64 %d2, %d1, %from; ld.global.u32 %r2, [%d2];";
    assert!(starts("", "", load, ""));
    let some = "@%p1 bra $then; add.s32 %r3, %r3, 1; $then:";
    assert!(starts("", some, load, ""));
    assert!(starts("", "shfl.sync.up.b32 %r4, %r3, 1, 0, -1;", load, ""));
    // The address depends on what is behind the barrier.
    let loaded = "mul.wide.u32 %d2, %r3, 4; ld.global.u32 %r2, [%d2];";
    assert!(!starts("", "", loaded, ""));
    assert!(!starts("", "@%p1 add.s64 %d1, %d1, 4;", load, ""));
    assert!(!starts(
        "",
        "@%p1 bra $then; add.s64 %d1, %d1, 4; $then:",
        load,
        ""
    ));
    // Some threads load, or none if a thread leaves.
    assert!(!starts("", "@%p1 bra $then;", load, "$then:"));
    assert!(!starts("", "@%p1 bra $end;", load, "$end:"));
    assert!(!starts("", "", &load.replace("ld.", "@%p1 ld."), ""));
    let repeated = "$again: add.s32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 9; @%p2 bra $again;";
    assert!(!starts("", repeated, load, ""));
    // A write before the barrier, in this thread or in others, or one after which a barrier follows.
    assert!(!starts("st.global.u32 [%to], %r1;", "", load, ""));
    assert!(!starts("@%p1 red.global.add.u32 [%to], 1;", "", load, ""));
    assert!(!starts("", "st.global.u32 [%to], %r1;", load, ""));
    assert!(!starts(
        "",
        "",
        load,
        "st.global.u32 [%to], %r1; bar.sync 0;"
    ));
    assert!(starts(
        "",
        "",
        load,
        "bar.sync 0; st.shared.u32 [memory], %r2;"
    ));
    // Other synchronization.
    let atomic = "atom.global.add.u32 %r5, [%to+4], 1; add.s32 %r2, %r2, %r5;";
    assert!(!starts("", "", load, atomic));
    assert!(!starts("", "", load, "fence.acq_rel.gpu;"));
    assert!(!starts("", "griddepcontrol.wait;", load, ""));
    assert!(!starts(
        "",
        "",
        &load.replace("ld.global", "ld.volatile.global"),
        ""
    ));
}

/// Returns the entry for ordinary launches of a kernel with a thread per element of a partition, in a
/// grid-stride loop. The length of the partition and the numbers in `%a` and `%b` are sizes, and the
/// index is in `%i`.
fn ordinary_entry(before: &str, element: &str) -> String {
    ordinary_entry_with(&[], before, element)
}

/// The same of a kernel with slices among its parameters.
fn ordinary_entry_with(slices: &[Slice], before: &str, element: &str) -> String {
    ordinary(slices, before, element).0
}

/// The same, and whether the host chooses it if the numbers in `%a`, `%b` and `%count` have these
/// values: of a launch with a thread per element.
fn ordinary(
    slices: &[Slice],
    before: &str,
    element: &str,
) -> (String, impl Fn([u64; 3]) -> bool + use<>) {
    let text = format!(
        "{PANIC}
        .visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2, \
         .param .u64 k_param_3) .reqntid 256, 1, 1 {{
            .reg .pred %p<9>;
            .reg .b32 %r<9>;
            .reg .b64 %to, %a, %b, %count, %x, %i, %next, %step, %c, %d<9>;
            ld.param.u64 %to, [k_param_0];
            ld.param.u64 %a, [k_param_1];
            ld.param.u64 %b, [k_param_2];
            ld.param.u64 %count, [k_param_3];
            {before}
            mov.u32 %r1, %ctaid.x;
            mul.wide.u32 %d0, %r1, 256;
            mov.u32 %r2, %tid.x;
            cvt.u64.u32 %d1, %r2;
            or.b64 %x, %d0, %d1;
            mov.u32 %r3, %nctaid.x;
            mul.wide.u32 %step, %r3, 256;
            setp.ge.u64 %p1, %x, %count;
            @%p1 bra $end;
            mov.u64 %i, %x;
        $loop:
            {element}
        $next:
            add.s64 %d8, %count, %i;
            add.s64 %c, %d8, 1;
            st.global.u64 [%to], %c;
            add.s64 %next, %i, %step;
            setp.lt.u64 %p2, %next, %count;
            mov.u64 %i, %next;
            @%p2 bra $loop;
        $end:
            ret;
        }}"
    );
    let [sizes, partitions] = [&[1, 2][..], &[3]].map(|indices| {
        let parameter = |&index: &usize| ptx::Parameter {
            kernel: "k".to_owned(),
            index,
        };
        indices.iter().map(parameter).collect::<Vec<_>>()
    });
    let kernels = ptx::Kernels {
        slices,
        sizes: &sizes,
        partitions: &partitions,
        ordinary_entries: true,
        ..ptx::Kernels::default()
    };
    let (entry, condition) = entry_with_condition(&text, kernels);
    let is_chosen = move |[a, b, count]: [u64; 3]| {
        let sizes = ptx::LaunchSizes {
            block: [256, 1, 1],
            grid: [count.div_ceil(256) as u32, 1, 1],
        };
        condition.holds(&sizes, |index, _, _| [0, a, b, count][index])
    };
    (entry, is_chosen)
}

#[test]
fn products_of_the_only_iteration_have_32_bits() {
    let store = "shl.b64 %d6, %d5, 2; add.s64 %d7, %to, %d6; st.global.u32 [%d7], %r2;";
    let is_narrow = |compute: &str| {
        let copy = ordinary_entry("", &format!("{compute} {store}"));
        assert!(copy.contains("st.global.u32"), "{copy}");
        !copy.contains("mul.lo.s64") && !copy.contains("mul.wide.s32")
    };
    // The index has several values in the original.
    assert!(is_narrow("mul.lo.s64 %d5, %i, %a;"));
    // A number that is loaded may be large, unless a comparison limits it.
    let load = "ld.global.u64 %d2, [%to];";
    assert!(!is_narrow(&format!("{load} mul.lo.s64 %d5, %d2, %a;")));
    assert!(is_narrow(&format!(
        "{load} setp.ge.u64 %p3, %d2, %b; @%p3 bra $next; mul.lo.s64 %d5, %d2, %a;"
    )));
    // The row and the column of an element.
    let divide = "div.u64 %d2, %i, %a; mul.lo.s64 %d3, %d2, %a; sub.s64 %d4, %i, %d3;";
    let branch = "setp.eq.s64 %p4, %a, 0; @%p4 bra $next;";
    assert!(is_narrow(&format!(
        "{branch} {divide} mul.lo.s64 %d5, %d4, %b;"
    )));
    assert!(is_narrow(&format!(
        "{branch} {divide} mul.lo.s64 %d5, %d2, %b;"
    )));
    // This difference may be negative.
    let other = divide.replace("%d2, %a; sub", "%d2, %b; sub");
    assert!(!is_narrow(&format!(
        "{branch} {other} mul.lo.s64 %d5, %d4, %b;"
    )));
}

#[test]
fn the_host_compares_lengths() {
    // The number of comparisons of each thread.
    let comparisons = |element: &str| {
        let panics = panic_with("$A", "%i");
        let element = format!("{element} st.global.u64 [%to], %i; bra.uni $next; {panics}");
        let entry = ordinary_entry("", &element);
        entry.matches("setp").count()
    };
    let first = "setp.ge.u64 %p3, %i, %a; @%p3 bra $A;";
    let both = format!("{first} setp.ge.u64 %p4, %i, %b; @%p4 bra $A;");
    assert_eq!(comparisons(first), 1);
    assert_eq!(comparisons(&both), 1);
    // A launch without these elements need not panic.
    let skipped = "setp.ge.u64 %p3, %i, %a; @%p3 bra $next;";
    assert_eq!(comparisons(skipped), 2);
    // The index is the sum of the thread's and a number, and must be within the slice.
    let other = "add.s64 %d2, %i, %b; setp.ge.u64 %p3, %d2, %a; @%p3 bra $A;";
    assert_eq!(comparisons(other), 1);
    // A launch with greater indices need not panic.
    let skipped = other.replace("$A", "$next");
    assert_eq!(comparisons(&skipped), 2);
}

#[test]
fn the_host_compares_sums_of_columns() {
    // Elements of several columns of `%a` elements in a slice of `%b` elements.
    let checks = (3..6).map(|k| {
        let sum = match k {
            3 => "mov.u64 %d3, %i;".to_owned(),
            _ => format!("add.s64 %d{k}, %d{}, %a;", k - 1),
        };
        format!("{sum} setp.ge.u64 %p{k}, %d{k}, %b; @%p{k} bra $A;")
    });
    let checks = checks.collect::<Vec<_>>().join("\n");
    let panics = panic_with("$A", "%i");
    let element = format!("{checks} st.global.u64 [%to], %i; bra.uni $next; {panics}");
    let (entry, is_chosen) = ordinary(&[], "", &element);
    assert_eq!(entry.matches("setp").count(), 1, "{entry}");
    for (a, b, count, expected) in [
        (100, 300, 100, true),
        (100, 299, 100, false),
        (100, 201, 1, true),
        (100, 200, 1, false),
        // The first outcome that follows is that of a panic: the slice has at most `%a` elements.
        (100, 100, 1, false),
        (100, 0, 1, false),
        (0, 7, 7, true),
        (u64::MAX - 99, 300, 300, false),
    ] {
        assert_eq!(is_chosen([a, b, count]), expected, "{a} {b} {count}");
    }
}

#[test]
fn the_host_compares_products_of_counters() {
    // The number of comparisons of each thread, the one of the loop included.
    let comparisons = |first: &str, step: &str, check: &str| {
        let panics = panic_with("$A", "%i");
        let element = format!(
            "setp.eq.s64 %p3, %a, 0; @%p3 bra $next;
            {first} mov.u64 %d3, %a; mov.b32 %r4, 0;
        $terms:
            {check} @%p4 bra $A;
            shl.b64 %d5, %d2, 2; add.s64 %d6, %to, %d5; ld.global.u32 %r5, [%d6];
            add.s32 %r4, %r4, %r5;
            {step} add.s64 %d3, %d3, -1; setp.ne.s64 %p5, %d3, 0; @%p5 bra $terms;
            st.global.u32 [%to], %r4; bra.uni $next; {panics}"
        );
        let entry = ordinary_entry("", &element);
        assert!(entry.contains("ld.global.u32"), "{entry}");
        let body = &entry[..entry.find("call").unwrap_or(entry.len())];
        body.matches("setp").count()
    };
    let check = "setp.ge.u64 %p4, %d2, %b;";
    // A row, and a column, of a matrix.
    let row = "mul.lo.s64 %d2, %i, %a;";
    assert_eq!(comparisons(row, "add.s64 %d2, %d2, 1;", check), 3);
    let column = "mov.u64 %d2, %i;";
    assert_eq!(comparisons(column, "add.s64 %d2, %d2, %count;", check), 3);
    // The position is computed again.
    let again = "or.b64 %d2, %d0, %d1;";
    assert_eq!(comparisons(again, "add.s64 %d2, %d2, %count;", check), 3);
    // Twice as many numbers as the rows have.
    assert!(comparisons(row, "add.s64 %d2, %d2, 2;", check) > 3);
}

#[test]
fn multiples_of_remainders_are_below_those_of_the_divisor() {
    // The number of comparisons of each thread.
    let comparisons = |remainder: &str, number: u32| {
        let element = format!(
            "setp.eq.s64 %p3, %a, 0; @%p3 bra $Z;
            div.u64 %d2, %i, %a; mul.lo.s64 %d3, %d2, %a; {remainder}
            mul.lo.s64 %d5, %d4, 8; add.s64 %d5, %d5, {number};
            setp.ge.u64 %p4, %d5, %b; @%p4 bra $A;
            shl.b64 %d6, %d5, 2; add.s64 %d7, %to, %d6; st.global.u32 [%d7], %r2; bra.uni $next;
            {}{}",
            panic_with("$A", "%d5"),
            panic_with("$Z", "%a"),
        );
        let entry = ordinary_entry("", &element);
        let body = &entry[..entry.find("call").unwrap_or(entry.len())];
        body.matches("setp").count()
    };
    let remainder = "sub.s64 %d4, %i, %d3;";
    // The host tests that the divisor is not zero.
    assert_eq!(comparisons(remainder, 7), 1);
    assert_eq!(comparisons("sub.s64 %d4, %d3, %i;", 7), 2);
    let other = "mul.lo.s64 %d3, %d2, 3; sub.s64 %d4, %i, %d3;";
    assert_eq!(comparisons(other, 7), 2);
    // No slice has elements for all numbers that are loaded.
    let loaded = |mask: u32| {
        format!(
            ".reg .b64 %l, %m, %n, %o; ld.global.u64 %l, [%to]; and.b64 %m, %l, {mask};
            mul.lo.s64 %n, %m, %a; sub.s64 %o, %i, %d3; add.s64 %d4, %n, %o;"
        )
    };
    assert_eq!(comparisons(&loaded(15), 0), 1);
    assert_eq!(comparisons(&loaded(65535), 0), 2);
}

#[test]
fn coordinates_with_sign_are_within_extents() {
    // The number of comparisons of the index with the length.
    let comparisons = |union: &str, column: &str, row: &str| {
        let element = format!(
            ".reg .b32 %x1, %x2, %s<9>;
            ld.global.u32 %x1, [%to]; ld.global.u32 %x2, [%to+4];
            {union} setp.lt.s32 %p3, %s1, 0; @%p3 bra $next;
            cvt.u32.u64 %s2, %a; setp.ge.s32 %p4, {column}, %s2; @%p4 bra $next;
            cvt.u32.u64 %s3, %b; setp.ge.s32 %p5, {row}, %s3; @%p5 bra $next;
            cvt.u64.u32 %d2, %x1; cvt.u64.u32 %d3, %x2;
            mul.lo.s64 %d4, %d3, %a; add.s64 %d5, %d4, %d2;
            setp.ge.u64 %p6, %d5, %count; @%p6 bra $A;
            shl.b64 %d6, %d5, 2; add.s64 %d7, %to, %d6; st.global.u32 [%d7], %r2; bra.uni $next;
            {}",
            panic_with("$A", "%d5"),
        );
        let entry = ordinary_entry("", &element);
        let body = &entry[..entry.find("call").unwrap_or(entry.len())];
        body.matches("setp").count() - 4
    };
    let union = "or.b32 %s1, %x1, %x2;";
    assert_eq!(comparisons(union, "%x1", "%x2"), 0);
    assert_eq!(comparisons(union, "%x2", "%x1"), 1);
    assert_eq!(comparisons("and.b32 %s1, %x1, %x2;", "%x1", "%x2"), 1);
    assert_eq!(comparisons("mov.b32 %s1, %x1;", "%x1", "%x2"), 1);
    // A union that is changed before the comparison is none.
    let changed = format!("{union} add.s32 %s1, %s1, %r2;");
    assert_eq!(comparisons(&changed, "%x1", "%x2"), 1);
}

#[test]
fn branches_that_return_are_combined() {
    let branches = |before: &str| {
        let element = "shl.b64 %d6, %i, 2; add.s64 %d7, %to, %d6; st.global.u32 [%d7], %r2;";
        let entry = ordinary_entry(before, element);
        entry.matches("bra").count()
    };
    assert_eq!(branches(""), 1);
    let row = "mov.u32 %r4, %ctaid.y; cvt.u64.u32 %d2, %r4;";
    assert_eq!(
        branches(&format!("{row} setp.ge.u64 %p3, %d2, %a; @%p3 bra $end;")),
        1
    );
    assert_eq!(
        branches(&format!("{row} setp.lt.u64 %p3, %d2, %a; @!%p3 bra $end;")),
        1
    );
    // The second condition replaces the first one.
    assert_eq!(
        branches(&format!("{row} setp.ge.u64 %p1, %d2, %a; @%p1 bra $end;")),
        2
    );
    // Threads that return must not wait, or take longer.
    assert_eq!(
        branches("setp.eq.s64 %p3, %b, 5; @%p3 bra $end; bar.sync 0;"),
        2
    );
    assert_eq!(
        branches("setp.eq.s64 %p3, %b, 5; @%p3 bra $end; ld.global.u32 %r2, [%to];"),
        2
    );
}

#[test]
fn neighboring_accesses_become_vectors() {
    let before = "
        .reg .b64 %from, %out, %at, %own;
        .reg .b16 %b<9>;
        .reg .b32 %w<9>;
        .reg .f32 %f<9>;
        cvta.to.global.u64 %from, %b;
        cvta.to.global.u64 %out, %to;";
    let entry = |size: u32, accesses: &str| {
        let element = format!(
            "mul.lo.s64 %d6, %i, {size};
            add.s64 %at, %from, %d6;
            add.s64 %own, %out, %d6;
            add.s64 %own, %own, %a;
            add.s64 %own, %own, %count;
            {accesses}"
        );
        ordinary_entry(before, &element)
    };
    let loads = "ld.global.nc.f32 %f0, [%at]; ld.global.nc.f32 %f1, [%at+4];
        ld.global.nc.u32 %w2, [%at+8]; ld.global.nc.f32 %f3, [%at+12];";
    let store = "st.global.f32 [%own], %f0;";
    // Registers of different types are loaded as bits.
    let four = entry(16, &format!("{loads} {store}"));
    assert!(four.contains("ld.global.nc.v4.b32"), "{four}");
    // Half of a vector, at any element.
    let two = entry(8, &format!("{loads} {store}"));
    assert!(two.matches("ld.global.nc.v2.b32").count() == 2, "{two}");
    assert!(!entry(12, &format!("{loads} {store}")).contains(".v2."));
    // The other pair is not aligned.
    let shifted = "ld.global.nc.f32 %f0, [%at+4]; ld.global.nc.f32 %f1, [%at+8];";
    assert!(!entry(16, &format!("{shifted} {store}")).contains(".v2."));
    let bytes = |between: &str| {
        entry(
            4,
            &format!(
                "ld.global.u8 %b0, [%at]; ld.global.u8 %b1, [%at+1]; {between}
                ld.global.u8 %b2, [%at+2]; ld.global.u8 %b3, [%at+3];
                st.global.u8 [%own], %b0; st.global.u8 [%own+1], %b2;"
            ),
        )
    };
    assert!(bytes("").contains("ld.global.v4.u8"));
    assert!(bytes("ld.global.u32 %w0, [%at];").contains("ld.global.v4.u8"));
    // These may change what is loaded.
    for between in [
        "st.global.u8 [%own+2], %b0;",
        "membar.gl;",
        "mov.u16 %b2, 1; st.global.u16 [%own+4], %b2;",
        "add.s64 %at, %at, 4;",
    ] {
        let text = bytes(between);
        assert!(!text.contains(".v4."), "{text}");
    }
    // Registers of different widths: the narrower ones are converted.
    let mixed = entry(
        4,
        "ld.global.u8 %b0, [%at]; ld.global.u8 %w1, [%at+1];
        st.global.u32 [%own], %w1; st.global.u16 [%own+4], %b0;",
    );
    let loaded = lines(&mixed, "ld.global.v2.u8", "st.global").join(" ");
    assert!(loaded.contains("cvt.u16.u32"), "{mixed}");
    let mixed = entry(
        4,
        "add.s64 %own, %out, %d6; st.global.u8 [%own], %b0; st.global.u8 [%own+1], %w1;
        st.global.u8 [%own+2], %w0; st.global.u8 [%own+3], %b1;",
    );
    let stored = lines(&mixed, "cvt.u32.u16 %x", "st.global.v4.u8").join(" ");
    let converts = stored.matches("cvt.u32.u16").count();
    assert_eq!(converts, 2, "{mixed}");
    // Threads that do not load keep constants.
    let guarded = |second: &str| {
        let loads = format!(
            "ld.global.nc.u32 %w5, [%at+8]; setp.gt.s32 %p3, %w5, 7;
            mov.b32 %w0, 1; @%p3 ld.global.nc.u32 %w0, [%at];
            {second} @%p3 ld.global.nc.u32 %w1, [%at+4];
            st.global.u32 [%own], %w0; st.global.u32 [%own+8], %w1;"
        );
        entry(8, &loads).contains("ld.global.nc.v2.b32")
    };
    assert!(guarded("mov.b32 %w1, 2;"));
    assert!(!guarded("mov.b32 %w1, %w0;"));
    assert!(!guarded(
        "mov.b32 %w1, 2; st.global.u32 [%own+4], %w1; mov.b32 %w1, 3;"
    ));
    assert!(!guarded("@%p4 mov.b32 %w1, 2;"));
    // The first store must not follow the last load.
    let crossed = "add.s64 %own, %out, %d6;
        ld.global.nc.u32 %w0, [%at+8]; st.global.u32 [%own], %w0; ld.global.nc.u32 %w1, [%at];
        st.global.u32 [%own+4], %w1; ld.global.nc.u32 %w0, [%at+4]; st.global.u32 [%own+12], %w0;";
    let text = entry(16, crossed);
    assert_eq!(text.matches(".v2.").count(), 1, "{text}");
    // Each element is changed before the next one is loaded.
    let changed = "add.s64 %own, %out, %d6;
        ld.global.u32 %w0, [%own]; xor.b32 %w1, %w0, 5; st.global.u32 [%own], %w1;
        ld.global.u32 %w2, [%own+4]; xor.b32 %w3, %w2, 6; st.global.u32 [%own+4], %w3;";
    let text = entry(16, changed);
    assert!(text.contains("ld.global.v2.b32") && text.contains("st.global.v2.b32"));
    // Either the loads move before the second store, or the first store behind them.
    let crossed = "add.s64 %own, %out, %d6; ld.global.nc.u32 %w0, [%at]; st.global.u32 [%own], %w0;
        ld.global.u32 %w1, [%own+4]; st.global.u32 [%own+4], %w0; ld.global.u32 %w2, [%own];
        add.s32 %w1, %w1, %w2; st.global.u32 [%own+8], %w1;";
    let text = entry(16, crossed);
    assert_eq!(text.matches(".v2.").count(), 1, "{text}");
    // Three of four elements: this parameter is no slice.
    let three = loads.replace("ld.global.nc.f32 %f3, [%at+12];", "");
    let text = entry(16, &format!("{three} {store}"));
    assert!(text.contains(".v2.b32") && !text.contains(".v4."), "{text}");
    // The address of these depends on a number that need not be a multiple.
    let stores = "ld.global.u64 %d7, [%to]; add.s64 %own, %own, %d7;
        st.global.u32 [%own], %w0; st.global.u32 [%own+4], %w1;";
    assert!(!entry(16, stores).contains(".v2."));
    let stores = "add.s64 %own, %out, %d6;
        st.global.u32 [%own], %w0; add.s32 %w1, %w0, %w2; st.global.u32 [%own+4], %w1;";
    assert!(entry(16, stores).contains("st.global.v2.b32"));
}

/// Selects between masks, of which bit 0 is tested.
const MASKS: &str = "
    .reg .pred %p<9>;
    .reg .b32 %r<19>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [k_param_0];
    cvta.to.global.u64 %rd1, %rd1;
    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
    setp.eq.s32 %p1, %r1, %r2;
    setp.lt.s32 %p2, %r1, %r2;
    setp.lt.s32 %p3, %r3, %r4;
    selp.b32 %r5, -1, 0, %p2;
    selp.b32 %r6, -1, 0, %p3;
    selp.b32 %r7, %r6, %r5, %p1;
    and.b32 %r8, %r7, 1;
    setp.eq.b32 %p4, %r8, 1;
    selp.b32 %r9, %r1, %r2, %p4;
    st.global.u32 [%rd1], %r9;
    ret;
";

#[test]
fn selections_between_masks_are_operations_on_predicates() {
    let count = |body: &str| {
        let text = optimized(body);
        ["selp", "and.pred", "or.pred", "not.pred"].map(|it| text.matches(it).count())
    };
    let changed = |from: &str, to: &str| count(&replaced(MASKS, from, to));
    // The last selection is between numbers.
    assert_eq!(count(MASKS), [1, 1, 1, 0]);
    assert_eq!(changed("%p4, %r8, 1;", "%p4, %r8, 0;"), [1, 1, 1, 1]);
    assert_eq!(changed("-1, 0, %p3;", "1, 0, %p3;"), [1, 1, 1, 0]);
    // `a > b` excludes `b == a`, and implies `b <= a`.
    assert_eq!(
        changed("eq.s32 %p1, %r1, %r2", "eq.s32 %p1, %r2, %r1"),
        [1, 1, 1, 0]
    );
    let implied = replaced(MASKS, "eq.s32 %p1, %r1, %r2;", "le.s32 %p1, %r2, %r1;");
    let implied = replaced(&implied, "lt.s32 %p3, %r3, %r4;", "gt.s32 %p3, %r1, %r2;");
    assert_eq!(count(&implied), [1, 0, 1, 0]);
    // These comparisons may have any outcome where the other holds.
    assert_eq!(changed("lt.s32 %p2", "le.s32 %p2"), [1, 2, 1, 1]);
    assert_eq!(changed("%p2, %r1, %r2;", "%p2, %r1, %r3;"), [1, 2, 1, 1]);
    assert_eq!(changed("%r6, %r5, %p1;", "%r5, %r6, %p1;"), [1, 2, 1, 1]);
    let float = replaced(MASKS, "setp.eq.s32 %p1", "setp.equ.f32 %p1");
    assert_eq!(
        count(&replaced(&float, "setp.lt.s32 %p2", "setp.lt.f32 %p2")),
        [1, 1, 1, 0]
    );
    assert_eq!(
        count(&replaced(&float, "setp.lt.s32 %p2", "setp.ltu.f32 %p2")),
        [1, 2, 1, 1]
    );
    // A selection between a mask and this one.
    let nested = "selp.b32 %r10, %r5, %r7, %p3; and.b32 %r8, %r10, 1;";
    assert_eq!(changed("and.b32 %r8, %r7, 1;", nested), [1, 3, 2, 1]);
    // No masks, another bit, and a register that has changed before the test.
    let stays = |from: &str, to: &str| assert_eq!(changed(from, to), [4, 0, 0, 0], "{to}");
    stays("-1, 0, %p3;", "2, 0, %p3;");
    stays("-1, 0, %p3;", "-1, 1, %p3;");
    stays("%r8, %r7, 1;", "%r8, %r7, 3;");
    stays("%p4, %r8, 1;", "%p4, %r8, 2;");
    for register in ["%p1", "%p2", "%p3"] {
        let change = format!("setp.eq.s32 {register}, %r3, 8; and.b32 %r8");
        stays("and.b32 %r8", &change);
    }
    stays("and.b32 %r8", "mov.b32 %r7, %r4; and.b32 %r8");
}

#[test]
fn rows_of_vectors_are_multiples_of_their_size() {
    let before = "
        .reg .b64 %from, %out, %at, %own;
        .reg .b16 %h<9>;
        .reg .b32 %w<9>;
        cvta.to.global.u64 %from, %b;
        cvta.to.global.u64 %out, %to;";
    // Returns whether the bytes at the start of a row become a vector, and the numbers of columns for
    // which the host chooses the entry.
    let row = |loads: &str, column: &str, then: &str| {
        let element = format!(
            "mul.lo.s64 %d5, %i, %a; add.s64 %d6, %d5, {column}; add.s64 %at, %from, %d6;
            add.s64 %own, %out, %i; {loads} {then}
            add.s16 %h0, %h0, %h1; add.s16 %h0, %h0, %h2; add.s16 %h0, %h0, %h3;
            st.global.u8 [%own], %h0;"
        );
        let (entry, is_chosen) = ordinary(&[], before, &element);
        let width = [".v2.u8", ".v4.u8"].map(|it| entry.matches(it).count());
        let columns = (1..=8).filter(|&columns| is_chosen([columns, 4096, 512]));
        (width, columns.collect::<Vec<u64>>())
    };
    let load = |i: u64| format!("ld.global.nc.u8 %h{i}, [%at+{i}];");
    let bytes: String = (0..4).map(load).collect();
    let every = || (1..=8).collect();
    assert_eq!(row(&bytes, "0", ""), ([0, 1], vec![4, 8]));
    assert_eq!(row(&bytes, "4", ""), ([0, 1], vec![4, 8]));
    // Two vectors of a smaller size.
    assert_eq!(row(&bytes, "2", ""), ([2, 0], vec![2, 4, 6, 8]));
    assert_eq!(
        row(&(load(0) + &load(1)), "0", ""),
        ([1, 0], vec![2, 4, 6, 8])
    );
    assert_eq!(row(&bytes, "1", "").0, [1, 0]);
    // A number that is no parameter.
    let loaded = ".reg .b64 %l; ld.global.u64 %l, [%to]; add.s64 %at, %at, %l;";
    assert_eq!(
        row(&format!("{loaded} {bytes}"), "0", ""),
        ([0, 0], every())
    );
    // ptxas would take a byte that a loop reads out of the word in each iteration.
    let repeats = |read: &str| {
        let then = format!(
            "mov.u64 %d2, 0; $inner: add.s16 %h5, %h5, {read}; add.s64 %d2, %d2, 1;
            setp.lt.u64 %p3, %d2, %i; @%p3 bra $inner; st.global.u8 [%own+1], %h5;"
        );
        row(&bytes, "0", &then)
    };
    assert_eq!(repeats("%h6"), ([0, 1], vec![4, 8]));
    assert_eq!(repeats("%h1"), ([1, 0], vec![2, 4, 6, 8]));
    let all = "%h0; add.s16 %h5, %h5, %h1; add.s16 %h5, %h5, %h2; add.s16 %h5, %h5, %h3";
    assert_eq!(repeats(all), ([0, 0], every()));
}

#[test]
fn the_host_compares_lengths_of_tables() {
    // The number of comparisons of each thread, and the lengths for which the host chooses the entry.
    let lookup = |index: &str, otherwise: &str| {
        let element = format!(
            "ld.global.u32 %r4, [%to]; {index} setp.ge.u64 %p3, %d3, %a; @%p3 bra {otherwise};
            add.s64 %d4, %to, %d3; st.global.u8 [%d4], %r4; bra.uni $next; {}",
            panic_with("$A", "%d3")
        );
        let (entry, is_chosen) = ordinary(&[], "", &element);
        let body = &entry[..entry.find("call").unwrap_or(entry.len())];
        let lengths = [1, 255, 256, 65_535, 65_536].into_iter();
        let lengths: Vec<u64> = lengths.filter(|&a| is_chosen([a, 1, 512])).collect();
        (body.matches("setp").count(), lengths)
    };
    let check = |index: &str| lookup(index, "$A");
    let byte = "cvt.u64.u32 %d2, %r4; and.b64 %d3, %d2, 255;";
    assert_eq!(check(byte), (1, vec![256, 65_535, 65_536]));
    let remainder = "cvt.u64.u32 %d2, %r4; rem.u64 %d3, %d2, 255;";
    assert_eq!(check(remainder), (1, vec![255, 256, 65_535, 65_536]));
    let half = "cvt.u64.u32 %d2, %r4; and.b64 %d3, %d2, 65535;";
    assert_eq!(check(half), (1, vec![65_536]));
    let every = || (2, vec![1, 255, 256, 65_535, 65_536]);
    // The table would be large, or the index is a sum, or that of the thread.
    assert_eq!(
        check("cvt.u64.u32 %d2, %r4; and.b64 %d3, %d2, 131071;"),
        every()
    );
    assert_eq!(
        check(
            &byte
                .replace("%d3, %d2", "%d4, %d2")
                .replace("255;", "255; add.s64 %d3, %d4, 1;")
        ),
        every()
    );
    assert_eq!(check("cvt.u64.u32 %d3, %r2;"), every());
    // A table of a few elements may have bytes as indices.
    let loaded =
        ".reg .b32 %w; ld.global.u8 %w, [%to]; cvt.u64.u32 %d2, %w; and.b64 %d3, %d2, 255;";
    assert_eq!(check(loaded), every());
    let masked = loaded.replace(" 255", " 127");
    assert_eq!(check(&masked), (1, vec![255, 256, 65_535, 65_536]));
    // Threads without this element need not panic.
    assert_eq!(lookup(byte, "$next"), every());
}

#[test]
fn checks_before_another_panic_are_proven() {
    // The number of comparisons of each thread, and whether the host tests the length.
    let comparisons = |checked: &str, divisor: &str| {
        let element = format!(
            "setp.eq.s64 %p3, %b, 0; @%p3 bra $zero; {checked}
            add.s64 %d4, %to, %i; st.global.u8 [%d4], %r1; bra.uni $next;
            $zero: {divisor} {} {}",
            panic_with("$A", "%i"),
            panic_with("$Z", "%i"),
        );
        let (entry, is_chosen) = ordinary(&[], "", &element);
        let body = &entry[..entry.find("call").unwrap_or(entry.len())];
        let tests = is_chosen([512, 1, 512]) && !is_chosen([511, 1, 512]);
        (body.matches("setp").count(), tests)
    };
    // LLVM moves the test of a divisor out of a loop, before the check of its first index.
    let divisor = "setp.lt.u64 %p5, %i, %a; @%p5 bra $Z; bra.uni $end;";
    let checked = "setp.ge.u64 %p4, %i, %a; @%p4 bra $A;";
    assert_eq!(comparisons(checked, divisor), (2, true));
    // Without the other check, no launch needs these elements.
    assert_eq!(comparisons("", divisor), (3, false));
    let skipped = "setp.ge.u64 %p4, %i, %a; @%p4 bra $next;";
    assert_eq!(comparisons(skipped, divisor), (4, false));
    // An index that the length does not limit.
    let other = divisor.replace("%i, %a", "%d2, %a");
    let other = format!("add.s64 %d2, %i, 1; {other}");
    assert_eq!(comparisons(checked, &other), (3, true));
}

#[test]
fn no_thread_is_missing_where_another_one_panics() {
    let has_ballot = |panic: &str, before: &str| {
        let [calls_ends, calls_panic] = ["__cuda_std_ends", "panic"].map(|function| {
            format!("{{ .param .b64 a; st.param.b64 [a], 1; call.uni {function}, (a); }}")
        });
        let check = panic_with("$A", "%rd3").replace("panic", panic);
        let text = format!(
            "{PANIC}
            .func __cuda_std_ends(.param .b64 index) .noreturn {{ exit; }}
            .func ends(.param .b64 index) .noreturn {calls_ends}
            .func leaves(.param .b64 index) .noreturn {calls_panic}
            .visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1) .reqntid 256, 1, 1 {{
                .reg .pred %p<9>;
                .reg .b32 %r<9>;
                .reg .b64 %rd<9>;
                ld.param.u64 %rd1, [k_param_0];
                cvta.to.global.u64 %rd1, %rd1;
                ld.param.u64 %rd2, [k_param_1];
                mov.u32 %r1, %tid.x;
                cvt.u64.u32 %rd3, %r1;
                {before}
                setp.ge.u64 %p1, %rd3, %rd2;
                @%p1 bra $A;
                {{
                    .reg .pred %q;
                    setp.ne.b32 %q, 1, 0;
                    vote.sync.ballot.b32 %r2, %q, -1;
                }}
                st.global.u32 [%rd1], %r2;
            $end:
                ret;
                {check}
            }}"
        );
        let purpose = Purpose::Speed(ptx::Kernels::default());
        let finished = ptx::finish(&text, &[], purpose, &stack::Options::default()).unwrap();
        let is_full = finished.text.contains("mov.b32 %r2, -1;");
        assert_ne!(is_full, finished.text.contains("vote"), "{}", finished.text);
        !is_full
    };
    // These end the launch.
    assert!(!has_ballot("__cuda_std_ends", ""));
    assert!(!has_ballot("ends", ""));
    // These only end the thread.
    assert!(has_ballot("panic", ""));
    assert!(has_ballot("leaves", ""));
    let some = "setp.gt.u32 %p2, %r1, 7; @%p2 bra $end;";
    assert!(has_ballot("ends", some));
    let all = "mov.u32 %r3, %ctaid.x; setp.gt.u32 %p2, %r3, 7; @%p2 bra $end;";
    assert!(!has_ballot("ends", all));
}

/// A loop that ends where a number is small or after 20 iterations. `between` is in the loop, and
/// `tail` runs only in the first case.
fn two_exits(between: &str, tail: &str) -> String {
    optimized(&format!(
        ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd2, %rd1;
        mov.u32 %r1, 0;
        mov.f32 %f2, 0f00000000;
        $again:
        ld.global.f32 %f1, [%rd2];
        add.s64 %rd2, %rd2, 4;
        {between}
        setp.lt.f32 %p1, %f1, 0f3F800000;
        @%p1 bra $small;
        add.s32 %r1, %r1, 1;
        setp.eq.s32 %p2, %r1, 20;
        @%p2 bra $end;
        bra.uni $again;
        $small:
        {tail}
        $end:
        st.global.f32 [%rd2], %f2;
        ret;"
    ))
}

/// The threads of a warp reconverge before the code that only one exit of a loop leads to.
#[test]
fn exits_join_before_long_code() {
    let long = "fma.rn.f32 %f2, %f1, %f2, %f1;\n".repeat(40);
    assert!(two_exits("", &long).contains("mov.pred"));
    let short = "add.f32 %f2, %f2, %f1;";
    assert!(!two_exits("", short).contains("mov.pred"));
}

/// A thread for which others wait in the loop must not wait for them.
#[test]
fn exits_of_waiting_loops_stay_apart() {
    let long = "fma.rn.f32 %f2, %f1, %f2, %f1;\n".repeat(40);
    for between in [
        "atom.global.cas.b32 %r3, [%rd1], 0, 1;",
        "ld.volatile.global.u32 %r3, [%rd1];",
        "ld.relaxed.gpu.global.u32 %r3, [%rd1];",
        "ld.acquire.gpu.global.u32 %r3, [%rd1];",
        "bar.sync 0;",
        "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;",
        "nanosleep.u32 20;",
        "call.uni other;",
    ] {
        assert!(!two_exits(between, &long).contains("mov.pred"), "{between}");
    }
    assert!(two_exits("st.global.u32 [%rd1], %r1;", &long).contains("mov.pred"));
}

/// A loop over bytes of two kinds, each of which ends it if the next byte is wrong. `between` follows the
/// test for one kind, and `rest` both.
fn parser(between: &str, rest: &str) -> String {
    optimized(&format!(
        ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b16 %h<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd2, %rd1;
        mov.f32 %f2, 0f00000000;
        $again:
        ld.global.u8 %h1, [%rd2];
        ld.global.u8 %h2, [%rd2+1];
        setp.eq.s16 %p5, %h1, 0;
        @%p5 bra $wrong;
        setp.lt.u16 %p1, %h1, 7;
        @%p1 bra $other;
        setp.eq.s16 %p2, %h2, 1;
        @%p2 bra $wrong;
        {between}
        add.s64 %rd2, %rd2, 1;
        bra.uni $next;
        $other:
        setp.eq.s16 %p3, %h2, 2;
        @%p3 bra $wrong;
        add.s64 %rd2, %rd2, 2;
        $next:
        {rest}
        ld.global.u8 %h3, [%rd2+2];
        setp.ne.s16 %p4, %h3, 0;
        @%p4 bra $again;
        st.global.f32 [%rd2], %f2;
        ret;
        $wrong:
        mov.u32 %r1, 1;
        st.global.u32 [%rd2], %r1;
        ret;"
    ))
}

/// Threads with a wrong byte wait for those that go on, if much follows.
#[test]
fn threads_that_are_done_meet_the_others() {
    let long = "fma.rn.f32 %f2, %f1, %f2, %f1;\n".repeat(130);
    let text = parser("", &long);
    let (_, set) = text.split_once("mov.pred ").unwrap();
    let (is_done, _) = set.split_once(',').unwrap();
    assert_eq!(
        text.matches(&format!("mov.pred {is_done}, 0;")).count(),
        1,
        "{text}"
    );
    assert!(text.contains(&format!("mov.pred {is_done}, 1;")), "{text}");
    // Those that are done leave where all meet.
    let leaves = [format!("@{is_done} "), format!("@!{is_done} ")];
    let count: usize = leaves.iter().map(|it| text.matches(it).count()).sum();
    assert_eq!(count, 1, "{text}");
    // Those that are done before the ways part leave at once.
    assert!(text.matches("$wrong;").count() <= 2, "{text}");
    assert!(!parser("", "").contains("mov.pred"));
}

/// A thread for which others wait must not wait for them.
#[test]
fn threads_that_are_done_wait_for_no_waiting_ones() {
    let long = "fma.rn.f32 %f2, %f1, %f2, %f1;\n".repeat(130);
    for between in [
        "atom.global.cas.b32 %r3, [%rd1], 0, 1;",
        "ld.volatile.global.u32 %r3, [%rd1];",
        "ld.acquire.gpu.global.u32 %r3, [%rd1];",
        "bar.sync 0;",
        "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;",
        "call.uni other;",
    ] {
        assert!(!parser(between, &long).contains("mov.pred"), "{between}");
    }
    assert!(parser("st.global.u16 [%rd1], %h1;", &long).contains("mov.pred"));
}

/// A loop whose iterations end in several places: threads meet in front of the next iteration.
#[test]
fn iterations_with_several_ends_meet() {
    let text = |ways_out: usize| {
        let long = "fma.rn.f32 %f2, %f1, %f2, %f1;\n".repeat(130);
        let tests: String = (2..ways_out)
            .map(|byte| format!("setp.eq.s16 %p2, %h1, {byte}; @%p2 bra $done;\n"))
            .collect();
        optimized(&format!(
            ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b16 %h<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
            ld.param.u64 %rd1, [k_param_0];
            cvta.to.global.u64 %rd2, %rd1;
            mov.f32 %f2, 0f00000000;
            $again:
            ld.global.u8 %h1, [%rd2];
            setp.lt.u16 %p1, %h1, 97;
            @%p1 bra $other;
            {long}
            add.s64 %rd2, %rd2, 1;
            ld.global.u8 %h3, [%rd2+2];
            setp.ne.s16 %p4, %h3, 0;
            @%p4 bra $again;
            bra.uni $done;
            $other:
            {tests}
            add.s64 %rd2, %rd2, 2;
            ld.global.u8 %h2, [%rd2+2];
            setp.ne.s16 %p5, %h2, 0;
            @%p5 bra $again;
            $done:
            st.global.f32 [%rd2], %f2;
            ret;"
        ))
    };
    // All ways back and out lead through one branch.
    let joined = text(8);
    assert_eq!(joined.matches("mov.pred").count(), 2, "{joined}");
    assert_eq!(joined.matches("bra $done;").count(), 1, "{joined}");
    assert!(!text(2).contains("mov.pred"));
}

/// A loop that counts bytes in shared memory, 256 apart.
fn counted_bytes(load: &str, count: &str) -> String {
    optimized(&format!(
        ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
        .shared .align 4 .b8 counts[1024];
        ld.param.u64 %rd1, [k_param_0];
        ld.param.u64 %rd5, [k_param_1];
        cvta.to.global.u64 %rd2, %rd1;
        mov.u32 %r1, %tid.x;
        cvt.u64.u32 %rd3, %r1;
        mov.u64 %rd6, counts;
        $again:
        add.s64 %rd4, %rd2, %rd3;
        {load} %r2, [%rd4];
        mul.wide.u32 %rd7, %r2, 4;
        add.s64 %rd8, %rd6, %rd7;
        {count} [%rd8], 1;
        add.s64 %rd3, %rd3, 256;
        setp.lt.u64 %p1, %rd3, %rd5;
        @%p1 bra $again;
        bar.sync 0;
        ret;"
    ))
}

/// Loads of global memory may precede atomic operations on shared memory of earlier iterations.
#[test]
fn counts_in_shared_memory_run_four_at_once() {
    // The kernel may have two bodies.
    let counts = |load: &str, count: &str| counted_bytes(load, count).matches("\tred.").count();
    let count = "red.relaxed.cta.shared.add.u32";
    assert!(counts("ld.global.u8", count) >= 5);
    for (load, count) in [
        ("ld.shared.u8", count),
        ("ld.u8", count),
        ("ld.volatile.global.u8", count),
        ("ld.global.u8", "red.relaxed.gpu.global.add.u32"),
        ("ld.global.u8", "red.release.cta.shared.add.u32"),
        ("ld.global.u8", "membar.cta; red.shared.add.u32"),
    ] {
        assert!(counts(load, count) <= 2, "{load} {count}");
    }
}

/// A loop over every eighth element. `before` and `after` the counter grows, what remains of the slice is
/// computed, and the loop goes on if it has a `relation` to a number.
fn stepped([before, after]: [&str; 2], relation: &str, store: &str) -> String {
    optimized(&format!(
        ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [k_param_0];
        ld.param.u64 %rd5, [k_param_3];
        cvta.to.global.u64 %rd2, %rd1;
        mov.f32 %f2, 0f00000000;
        mov.u64 %rd3, %rd2;
        $again:
        ld.global.f32 %f1, [%rd3];
        add.f32 %f2, %f1, %f2;
        {store}
        {before}
        add.s64 %rd3, %rd3, 64;
        {after}
        setp.{relation};
        @%p1 bra $again;
        st.global.f32 [%rd2], %f2;
        ret;"
    ))
}

/// Four iterations run at once if the comparisons between them hold.
#[test]
fn loops_over_what_remains_run_four_at_once() {
    let adds = |rests: [&str; 2], relation: &str, store: &str| {
        let text = stepped(rests, relation, store);
        (text.matches("add.f32").count(), text)
    };
    let rest = "sub.s64 %rd6, %rd5, %rd3;";
    for (rests, relation, most) in [
        (["", rest], "gt.u64 %p1, %rd6, 63", 255),
        (["", rest], "ge.u64 %p1, %rd6, 60", 251),
        ([rest, ""], "gt.u64 %p1, %rd6, 127", 255),
    ] {
        let (count, text) = adds(rests, relation, "");
        assert_eq!(count, 5, "{text}");
        assert!(text.contains(&format!(", {most};")), "{text}");
    }
    for (rest, relation, store) in [
        (rest, "gt.s64 %p1, %rd6, 63", ""),
        (rest, "ne.s64 %p1, %rd6, 0", ""),
        (rest, "lt.u64 %p1, %rd6, 63", ""),
        (rest, "gt.u64 %p1, %rd6, %rd1", ""),
        ("sub.s64 %rd6, %rd3, %rd5;", "gt.u64 %p1, %rd6, 63", ""),
        (rest, "gt.u64 %p1, %rd6, 63", "st.global.f32 [%rd3], %f2;"),
    ] {
        let (count, text) = adds(["", rest], relation, store);
        assert_eq!(count, 1, "{text}");
    }
}

/// Nested loops that a byte ends, with code before the inner loop, and for the byte.
#[test]
fn exits_from_nested_loops_meet_behind_the_inner_one() {
    let text = |before: &str, found: &str| {
        optimized(&format!(
            ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
            ld.param.u64 %rd1, [k_param_0]; cvta.to.global.u64 %rd3, %rd1;
            ld.param.u64 %rd2, [k_param_1];
            ld.param.u32 %r3, [k_param_2];
            mov.u32 %r1, 0; mov.u32 %r2, 1; mov.u32 %r4, 0;
            $outer:
            {before}
            ld.global.u32 %r5, [%rd3+64];
            $inner:
            ld.global.u8 %h1, [%rd3];
            setp.eq.s16 %p1, %h1, 0; @%p1 bra $found;
            add.s64 %rd3, %rd3, 1; xor.b32 %r5, %r5, %r2; and.b32 %r6, %r5, 7;
            setp.ne.s32 %p2, %r6, 0; @%p2 bra $inner;
            add.s32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, %r3; @%p3 bra $outer;
            bra.uni $end;
            $found:
            mov.u32 %r4, 1;
            {found}
            $end:
            cvta.to.global.u64 %rd4, %rd2; st.global.u32 [%rd4], %r4; st.global.u32 [%rd4+4], %r2;
            ret;"
        ))
    };
    let long = "mad.lo.s32 %r2, %r2, %r3, %r1;\n".repeat(32);
    let some = "mad.lo.s32 %r4, %r4, %r3, %r5;\n".repeat(8);
    let joined = text(&long, &some);
    assert_eq!(joined.matches("mov.pred").count(), 2, "{joined}");
    assert!(!text("", &some).contains("mov.pred"));
    assert!(!text(&long, "").contains("mov.pred"));
}

/// A search that ends where a byte is found or after 20 bytes. `between` is in the loop, `test` before the
/// test of the place, which one exit of the loop skips, and `code` runs if the place is not zero.
fn tested_exit(between: &str, test: &str, code: &str) -> String {
    optimized(&format!(
        ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd2, %rd1;
        mov.u32 %r1, 0;
        mov.f32 %f2, 0f00000000;
        ld.global.u32 %r2, [%rd2];
        setp.eq.s32 %p3, %r2, 0;
        @%p3 bra $test;
        $again:
        ld.global.u8 %h1, [%rd2];
        add.s64 %rd2, %rd2, 1;
        {between}
        setp.eq.s16 %p1, %h1, 58;
        @%p1 bra $test;
        add.s32 %r1, %r1, 1;
        setp.eq.s32 %p2, %r1, 20;
        @%p2 bra $code;
        bra.uni $again;
        $test:
        {test}
        setp.eq.s32 %p4, %r1, 0;
        @%p4 bra $end;
        $code:
        {code}
        $end:
        st.global.f32 [%rd2], %f2;
        ret;"
    ))
}

/// Threads that know the result of a test wait for the others before the code behind it.
#[test]
fn exits_join_behind_a_test() {
    let long = "fma.rn.f32 %f2, %f1, %f2, %f1;\n".repeat(40);
    let joined = tested_exit("", "", &long);
    assert!(joined.contains("mov.pred"), "{joined}");
    assert!(!tested_exit("", "", "add.f32 %f2, %f2, %f1;").contains("mov.pred"));
    for waits in [
        "atom.global.cas.b32 %r3, [%rd1], 0, 1;",
        "ld.volatile.global.u32 %r3, [%rd1];",
        "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;",
    ] {
        assert!(
            !tested_exit(waits, "", &long).contains("mov.pred"),
            "{waits}"
        );
        assert!(
            !tested_exit("", waits, &long).contains("mov.pred"),
            "{waits}"
        );
    }
}

/// A loop over a list whose steps depend on bytes: the two kinds of steps have checks. `step` follows
/// both, and `after` the loop.
fn checked_steps([check, other]: [&str; 2], step: &str, after: &str) -> String {
    optimized(&format!(
        ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b16 %h<9>; .reg .b64 %rd<9>; .reg .b32 %sum;
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd2, %rd1;
        mov.u32 %sum, 0;
        mov.u64 %rd3, 0;
        $again:
        ld.global.u8 %h1, [%rd2];
        ld.global.u32 %r2, [%rd2+4];
        setp.lt.u16 %p1, %h1, 7;
        @%p1 bra $other;
        {check}
        xor.b32 %sum, %sum, %r2;
        bra.uni $next;
        $other:
        add.s32 %sum, %sum, %r2;
        {other}
        $next:
        {step}
        cvt.u64.u32 %rd5, %sum;
        and.b64 %rd5, %rd5, 56;
        add.s64 %rd2, %rd2, %rd5;
        ld.global.u8 %h2, [%rd2+8];
        setp.ne.u16 %p3, %h2, 0;
        @%p3 bra $again;
        {after}
        st.global.u32 [%rd2], %sum;
        ret;
        $panic:
        cvt.u64.u32 %rd6, %r2;
        {{ .param .b64 p; st.param.b64 [p], %rd6; call.uni panic, (p); }}
        $other_panic:
        {{ .param .b64 p; st.param.b64 [p], 3; call.uni panic, (p); }}"
    ))
}

/// The checks of [`checked_steps`].
const CHECK: &str = "setp.gt.u32 %p2, %r2, 100; @%p2 bra $panic;";
const OTHER: &str = "setp.eq.s32 %p4, %sum, 3; @%p4 bra $other_panic;";

/// A warp reconverges in a loop if nothing else leads to the panics of its ways.
#[test]
fn panics_on_the_ways_through_loops_have_own_copies() {
    let labels = |text: &str| {
        let labels = text.lines().filter(|it| it.ends_with("_panic:"));
        labels.filter(|it| it.starts_with("$L__panic")).count()
    };
    let text = checked_steps([CHECK, ""], "", "");
    assert!(labels(&text) == 1 && text.contains("bra $L__own"), "{text}");
    let text = checked_steps([CHECK, OTHER], "", "");
    assert_eq!(labels(&text), 2, "{text}");
    // The ways of an iteration have no check, or there are too many.
    let text = checked_steps(["", ""], CHECK, "");
    assert!(!text.contains("bra $L__own"), "{text}");
    let many: String = (0..9)
        .map(|number| {
            format!(
                "setp.eq.s32 %p5, %sum, {}; @%p5 bra $panic; st.global.u32 [%rd2+{}], %sum;",
                100 + number,
                4 * number
            )
        })
        .collect();
    let text = checked_steps([&many, OTHER], "", "");
    assert_eq!(labels(&text), 1, "{text}");
}

/// Returns a kernel with a loop over the rows of a table, of 24 bytes, after the passes. The first two
/// columns have 64 bits, and the third one has 32. `more` is appended to the module.
fn over_rows(table: &str, body: &str, more: &str) -> String {
    let text = format!(
        "{PANIC}
        {table}
        .visible .entry k(.param .u64 k_param_0) {{
            .reg .pred %p<5>;
            .reg .b32 %r<9>;
            .reg .f32 %f<5>;
            .reg .b64 %rd<19>;
            ld.param.u64 %rd1, [k_param_0];
            cvta.to.global.u64 %rd1, %rd1;
            mov.u32 %r1, %tid.x;
            cvt.u64.u32 %rd2, %r1;
            mov.u64 %rd3, table;
            // The analysis is worthwhile with these.
            max.u64 %rd16, %rd1, 1;
            max.u64 %rd17, %rd1, 2;
            max.u64 %rd18, %rd1, 3;
            mov.u32 %r2, 0;
            $loop:
            {body}
            max.s64 %rd8, %rd5, 7;
            st.global.u64 [%rd1], %rd8;
            add.s64 %rd3, %rd3, 24;
            add.s32 %r2, %r2, 1;
            setp.ne.s32 %p1, %r2, 3;
            @%p1 bra $loop;
            ret;
        }}
        {more}"
    );
    let options = stack::Options::default();
    let purpose = Purpose::Speed(ptx::Kernels::default());
    ptx::finish(&text, &[], purpose, &options).unwrap().text
}

/// A table with the columns -1, 2, 0 and 5, 2³³, 6, and 9, 8, 7.
const TABLE: &str = ".global .align 8 .b8 table[72] = {
    255, 255, 255, 255, 255, 255, 255, 255, 5, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0,
    2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7 };";

const ROW: &str = "ld.global.nc.u64 %rd4, [%rd3]; add.s64 %rd5, %rd4, %rd2;";

#[test]
fn integers_of_tables_have_32_bits() {
    let is_narrow = |text: &str| {
        let count = |ty: &str| text.matches(&format!("max.{ty}")).count();
        let narrow = count("s32");
        assert_eq!(narrow + count("s64"), 1, "{text}");
        narrow == 1
    };
    let narrows = |body: &str| is_narrow(&over_rows(TABLE, body, ""));
    assert!(narrows(ROW));
    // Another column is not small.
    assert!(!narrows(&replaced(ROW, "[%rd3]", "[%rd3+8]")));
    assert!(narrows(&replaced(ROW, "[%rd3]", "[%rd3+16]")));
    // Across columns.
    assert!(!narrows(&replaced(ROW, "[%rd3]", "[%rd3+4]")));
    // The address has a variable part.
    let with_part = |part: &str, from: &str| {
        let part = format!("{part} add.s64 %rd7, %rd3, %rd6;");
        narrows(&(part + &replaced(ROW, "[%rd3]", &format!("[%rd7+{from}]"))))
    };
    assert!(with_part("mul.wide.u32 %rd6, %r1, 48;", "0"));
    assert!(with_part("mul.lo.s64 %rd6, %rd2, 24;", "0"));
    assert!(!with_part("mul.lo.s64 %rd6, %rd2, 24;", "8"));
    assert!(!with_part("shl.b64 %rd6, %rd2, 3;", "0"));
    assert!(!with_part("mul.wide.u32 %rd6, %r1, 40;", "0"));
    assert!(!with_part("mov.u64 %rd6, %rd2;", "0"));
    let fused = "mad.wide.u32 %rd7, %r1, 24, %rd3; ld.global.nc.u64 %rd4, [%rd7];
        add.s64 %rd5, %rd4, %rd2;";
    assert!(narrows(fused));
    assert!(!narrows(&replaced(fused, "24", "20")));
    // The address also moves by another number, or is another one.
    for other in [
        "add.s64 %rd3, %rd3, 8;",
        "sub.s64 %rd3, %rd3, 32;",
        "xor.b64 %rd3, %rd3, 8;",
        "mov.u64 %rd3, %rd1;",
        "@%p1 add.s64 %rd3, %rd3, 24;",
        "ld.global.nc.u64 %rd3, [%rd1+8];",
    ] {
        assert!(!narrows(&format!("{ROW} {other}")), "{other}");
    }
    // A comparison of addresses is no use of them.
    assert!(narrows(&format!("{ROW} setp.ne.s64 %p2, %rd3, %rd1;")));
    // The register has another value, too.
    assert!(!narrows(&format!("{ROW} @%p1 mov.u64 %rd4, %rd1;")));
    // A number outside the table is not known.
    assert!(!narrows(&replaced(
        ROW,
        "ld.global.nc.u64 %rd4, [%rd3];",
        "ld.global.nc.u64 %rd4, [table+72];"
    )));
    assert!(narrows(&replaced(
        ROW,
        "ld.global.nc.u64 %rd4, [%rd3];",
        "ld.global.nc.u64 %rd4, [table+48];"
    )));
    // The host, other kernels, or code that has the address may write the table.
    let kernel = |body: &str| {
        format!(
            ".visible .entry other_k() {{
                .reg .b64 %rd<9>;
                mov.u64 %rd1, table;
                cvta.to.global.u64 %rd2, %rd1;
                add.s64 %rd3, %rd2, 8;
                {body}
                ret;
            }}"
        )
    };
    for (is_constant, body) in [
        (true, "ld.global.u64 %rd4, [%rd3];"),
        (false, "st.global.u64 [%rd3], 1;"),
        (false, "st.global.u64 [table], 1;"),
        (false, "st.global.u64 [%rd5], %rd3;"),
        (false, "red.global.add.u64 [%rd3], 1;"),
        (false, "atom.global.add.u64 %rd4, [%rd3], 1;"),
        (false, "{ st.global.u64 [%rd3], 1; }"),
        (
            false,
            "{ .param .b64 param0; st.param.b64 [param0], %rd3; call panic, (param0); }",
        ),
    ] {
        let text = over_rows(TABLE, ROW, &kernel(body));
        assert_eq!(is_narrow(&text), is_constant, "{body}");
    }
    for table in [
        replaced(TABLE, ".global", ".visible .global"),
        replaced(TABLE, ".global", ".weak .global"),
        format!("{TABLE} .global .align 8 .u64 pointer[1] = {{ generic(table) }};"),
        format!("{TABLE} .global .align 8 .u64 pointer[1] = {{ table+8 }};"),
    ] {
        // Unused variables are removed.
        let uses = match table.contains("pointer") {
            true => kernel("ld.global.u64 %rd4, [pointer]; st.global.u64 [%rd4], 1;"),
            false => String::new(),
        };
        assert!(!is_narrow(&over_rows(&table, ROW, &uses)), "{table}");
    }
    // Elements of other sizes.
    let words = ".global .align 8 .u64 table[9] = { -1, 5, 9, 2, 8589934592, 8, 0, 6, 7 };";
    assert!(is_narrow(&over_rows(words, ROW, "")));
    let second = replaced(ROW, "[%rd3]", "[%rd3+8]");
    assert!(!is_narrow(&over_rows(words, &second, "")));
}

/// Two loops whose ends depend on bytes. `first` and `second` are in their bodies.
fn two_searches([first, second]: [&str; 2]) -> String {
    optimized(&format!(
        ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b16 %h<9>; .reg .b64 %rd<9>; .reg .b32 %sum;
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd2, %rd1;
        mov.u32 %sum, 0;
        $again:
        ld.global.u32 %r2, [%rd2+4];
        {first}
        xor.b32 %sum, %sum, %r2;
        add.s64 %rd2, %rd2, 8;
        ld.global.u8 %h1, [%rd2];
        setp.ne.u16 %p1, %h1, 0;
        @%p1 bra $again;
        $later:
        ld.global.u32 %r2, [%rd2+12];
        {second}
        add.s32 %sum, %sum, %r2;
        add.s64 %rd2, %rd2, 16;
        ld.global.u8 %h1, [%rd2];
        setp.ne.u16 %p1, %h1, 0;
        @%p1 bra $later;
        st.global.u32 [%rd2], %sum;
        ret;
        $panic:
        cvt.u64.u32 %rd6, %r2;
        {{ .param .b64 p; st.param.b64 [p], %rd6; call.uni panic, (p); }}
        $other_panic:
        {{ .param .b64 p; st.param.b64 [p], 3; call.uni panic, (p); }}"
    ))
}

/// The lanes of a warp wait for each other between two loops whose panics are reported by the same
/// code, unless a lane in the loop may wait for one that has left it.
#[test]
fn warps_reconverge_between_loops_with_panics() {
    let place = |text: &str, what: &str| text.find(what).unwrap_or_else(|| panic!("{text}"));
    let text = two_searches([CHECK, OTHER]);
    assert_eq!(text.matches("activemask.b32").count(), 1, "{text}");
    assert_eq!(text.matches("bar.warp.sync").count(), 1, "{text}");
    let places = ["activemask", "xor.b32", "bar.warp.sync", "+12]"].map(|it| place(&text, it));
    assert!(places.is_sorted(), "{text}");
    // Nothing after the loop panics, or nothing in it.
    for checks in [[CHECK, ""], ["", OTHER]] {
        let text = two_searches(checks);
        assert!(!text.contains("bar.warp.sync"), "{text}");
    }
    for wait in [
        "ld.volatile.global.u32 %r5, [%rd2+64]; add.s32 %sum, %sum, %r5;",
        "ld.acquire.gpu.global.u32 %r5, [%rd2+64]; add.s32 %sum, %sum, %r5;",
        "atom.global.add.u32 %r5, [%rd2+64], 1; add.s32 %sum, %sum, %r5;",
        "bar.warp.sync 3;",
    ] {
        let text = two_searches([&format!("{CHECK} {wait}"), OTHER]);
        assert!(!text.contains("activemask"), "{text}");
    }
}

/// A loop that loads and counts, with more code in the middle. It ends after `%rd4` iterations.
fn loop_with_exits(middle: &str) -> String {
    optimized(&format!(
        ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>, %at;
        ld.param.u64 %rd1, [k_param_0]; cvta.to.global.u64 %rd1, %rd1;
        ld.param.u64 %rd2, [k_param_1];
        ld.param.u64 %rd3, [k_param_2]; cvta.to.global.u64 %rd3, %rd3;
        ld.param.u64 %rd4, [k_param_3];
        mov.u32 %r1, 0; mov.u64 %rd5, 0; mov.u64 %at, %rd1;
        $loop:
        {middle}
        ld.global.nc.u32 %r2, [%at]; xor.b32 %r1, %r1, %r2;
        add.s64 %at, %at, %rd2; add.s64 %rd5, %rd5, 4;
        setp.ge.u64 %p2, %rd5, %rd4; @%p2 bra $end;
        bra $loop;
        $end:
        st.global.u32 [%rd3], %r1;
        ret;"
    ))
}

#[test]
fn iterations_without_exits_run_together() {
    let exit = "sub.s64 %rd2, %rd2, %rd5; setp.lt.u64 %p1, %rd2, 9; @%p1 bra $end;";
    let loads = |middle: &str| {
        let text = loop_with_exits(middle);
        let loads = text.matches("ld.global.nc.u32").count();
        // The largest number of loads without a label or branch between them.
        let blocks = text.split([':', '@']);
        let together = blocks.map(|block| block.matches("ld.global.nc.u32").count());
        (loads, together.max().unwrap())
    };
    // Four iterations, at most three that remain, and the original.
    assert_eq!(loads(exit), (8, 4));
    // Those that remain are predicated, behind all of their loads.
    let text = loop_with_exits(exit);
    let predicated = text
        .lines()
        .filter(|line| line.trim_start().starts_with('@') && line.contains(" ld."));
    assert_eq!(predicated.count(), 2, "{text}");
    // Iterations with two loads.
    assert_eq!(
        loads(&format!("ld.global.nc.u32 %r3, [%at+8]; {exit}")),
        (6, 4)
    );
    // The exit depends on a load, or the address of the load does.
    let depends = "ld.global.nc.u32 %r3, [%at+4]; setp.eq.s32 %p1, %r3, 9; @%p1 bra $end;";
    assert_eq!(loads(depends).1, 1);
    let chases = format!("cvt.u64.u32 %rd6, %r2; add.s64 %at, %at, %rd6; {exit}");
    assert_eq!(loads(&chases), (1, 1));
    // The loads may pass stores, because what they load never changes.
    assert_eq!(loads(&format!("st.global.u32 [%rd3], %r1; {exit}")), (8, 4));
    // Threads of a warp wait for each other.
    assert_eq!(loads(&format!("bar.warp.sync -1; {exit}")).0, 1);
    assert_eq!(loads(&format!("activemask.b32 %r4; {exit}")).0, 1);
}

/// Code with a load behind two conditions, before another load. `between` is between the conditions,
/// and `behind` after the load.
fn nested_load(between: &str, behind: &str, then: &str) -> String {
    optimized(&format!(
        ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
        ld.param.u64 %rd1, [k_param_0]; cvta.to.global.u64 %rd1, %rd1;
        ld.param.u64 %rd2, [k_param_1];
        ld.param.u64 %rd3, [k_param_2]; cvta.to.global.u64 %rd3, %rd3;
        ld.param.u64 %rd4, [k_param_3];
        mov.u32 %r1, 0; mov.u32 %r5, %tid.x; cvt.u64.u32 %rd5, %r5;
        setp.gt.u64 %p1, %rd5, %rd4; @%p1 bra $J;
        mul.lo.s64 %rd6, %rd5, %rd4; {between}
        setp.gt.u64 %p2, %rd6, %rd2; @%p2 bra $J;
        add.s64 %rd7, %rd1, %rd6; ld.global.nc.u32 %r1, [%rd7]; {behind}
        $J:
        {then}
        st.global.u32 [%rd3+8], %r1;
        ret;"
    ))
}

#[test]
fn loads_behind_nested_conditions_are_predicated() {
    let other = "ld.global.nc.u32 %r3, [%rd1+4]; st.global.u32 [%rd3+4], %r3;";
    let branches = |between: &str, behind: &str, then: &str| {
        nested_load(between, behind, then).matches(" bra").count()
    };
    assert_eq!(branches("", "", other), 0);
    // The register has this value already.
    let text = nested_load("mov.u32 %r1, 0;", "", other);
    assert_eq!(text.matches(" 0;").count(), 1, "{text}");
    assert_eq!(branches("mov.u32 %r1, 1;", "", other), 0);
    // What the load is for runs for the same threads.
    assert_eq!(branches("", "add.s32 %r1, %r1, 1;", other), 0);
    let text = nested_load("", "st.shared.u32 [%r5], %r1;", other);
    assert!(
        lines(&text, "@", "st.shared")[0].contains("ld.global"),
        "{text}"
    );
    assert!(
        text.contains(" st.shared.u32") && !text.contains(" bra"),
        "{text}"
    );
    // No other load, or only one behind a barrier.
    assert_eq!(branches("", "", ""), 2);
    let behind = "bar.sync 0; ld.shared.u32 %r6, [%r5]; cvt.u64.u32 %rd8, %r6;
        add.s64 %rd8, %rd8, %rd1; ld.global.nc.u32 %r3, [%rd8]; st.global.u32 [%rd3+4], %r3;";
    assert_eq!(branches("", "", behind), 2);
    // Accesses with an effect, and slow operations.
    assert!(branches("", "st.global.u32 [%rd3], %r1;", other) > 0);
    assert!(branches("", "ld.volatile.global.u32 %r2, [%rd3];", other) > 0);
    assert!(branches("", "rem.u32 %r1, %r1, %r5;", other) > 0);
    assert!(branches("ld.volatile.global.u32 %r2, [%rd3];", "", other) > 0);
}

#[test]
fn loads_in_part_of_an_arm_are_predicated() {
    let branches = |outer: &str| {
        let text = optimized(&format!(
            ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
            ld.param.u64 %rd1, [k_param_0]; cvta.to.global.u64 %rd1, %rd1;
            ld.param.u64 %rd2, [k_param_1];
            ld.param.u64 %rd3, [k_param_2]; cvta.to.global.u64 %rd3, %rd3;
            ld.param.u64 %rd4, [k_param_3];
            mov.u32 %r5, %tid.x; cvt.u64.u32 %rd5, %r5;
            setp.gt.u64 %p1, %rd5, %rd4; {outer}
            mul.lo.s64 %rd6, %rd5, %rd4; mov.u32 %r1, 0;
            setp.gt.u64 %p2, %rd6, %rd2; @%p2 bra $K;
            add.s64 %rd7, %rd1, %rd6; ld.global.nc.u32 %r1, [%rd7];
            $K:
            st.global.u32 [%rd3+12], %r1;
            $J:
            ld.global.nc.u32 %r3, [%rd1+4]; st.global.u32 [%rd3+4], %r3;
            ret;"
        ));
        text.matches(" bra").count()
    };
    assert_eq!(branches("@%p1 bra $J;"), 1);
    // ptxas predicates a load behind one condition.
    assert_eq!(branches(""), 1);
}

/// Returns a kernel that counts elements in shared memory in a grid-stride loop, or that reads one
/// element if `is_loop` is not set.
fn histogram(is_loop: bool) -> String {
    let next = match is_loop {
        true => "@%p2 bra $loop;",
        false => "",
    };
    format!(
        "{PANIC}
        .visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1) .reqntid 256, 1, 1 {{
            .reg .pred %p<9>;
            .reg .b32 %r<9>;
            .reg .b64 %from, %count, %x, %i, %next, %step, %d<9>;
            .shared .align 4 .b8 bins[1024];
            ld.param.u64 %from, [k_param_0];
            ld.param.u64 %count, [k_param_1];
            mov.u32 %r1, %ctaid.x;
            mul.wide.u32 %d0, %r1, 256;
            mov.u32 %r2, %tid.x;
            cvt.u64.u32 %d1, %r2;
            or.b64 %x, %d0, %d1;
            mov.u32 %r3, %nctaid.x;
            mul.wide.u32 %step, %r3, 256;
            bar.sync 0;
            setp.ge.u64 %p1, %x, %count;
            @%p1 bra $end;
            mov.u64 %i, %x;
        $loop:
            shl.b64 %d2, %i, 2;
            add.s64 %d3, %from, %d2;
            ld.global.u32 %r4, [%d3];
            add.s64 %d7, %i, 1;
            setp.lt.u64 %p3, %d7, %count;
            add.s64 %d8, %i, 2;
            setp.lt.u64 %p4, %d8, %count;
            selp.b32 %r6, 1, 0, %p3;
            selp.b32 %r7, 2, 0, %p4;
            add.s32 %r6, %r6, %r7;
            xor.b32 %r5, %r4, %r6;
            and.b32 %r5, %r5, 255;
            mul.wide.u32 %d4, %r5, 4;
            mov.u64 %d5, bins;
            add.s64 %d6, %d5, %d4;
            red.shared.add.u32 [%d6], 1;
            add.s64 %next, %i, %step;
            setp.lt.u64 %p2, %next, %count;
            mov.u64 %i, %next;
            {next}
        $end:
            bar.sync 0;
            ret;
        }}"
    )
}

#[test]
fn launches_with_few_threads_have_an_entry() {
    let slices = [Slice {
        kernel: "k".to_owned(),
        pointer: 0,
        length: 1,
        element: 4,
    }];
    let kernels = ptx::Kernels {
        slices: &slices,
        ordinary_entries: true,
        ..ptx::Kernels::default()
    };
    let entry = |launches| entry_for(&histogram(true), kernels, launches).unwrap();
    let (ordinary, of_ordinary) = entry(ptx::Launches::Ordinary);
    let (strided, of_strided) = entry(ptx::Launches::Strided);
    // The loop stays, with a counter of 32 bits, and has a copy for four iterations.
    assert_eq!(ordinary.matches("bra").count(), 1, "{ordinary}");
    assert_eq!(strided.matches("bra").count(), 5, "{strided}");
    // Whether the copy runs again is tested with 64 bits.
    assert_eq!(strided.matches("setp.lt.u64").count(), 1, "{strided}");
    assert!(strided.contains("add.s32"), "{strided}");
    let holds = |condition: &ptx::Condition, blocks: u32, count: u64| {
        let sizes = ptx::LaunchSizes {
            block: [256, 1, 1],
            grid: [blocks, 1, 1],
        };
        condition.holds(&sizes, |index, _, _| [0, count][index])
    };
    let most = (1 << 22) - 1;
    for (blocks, count, is_strided) in [
        (2, 513, true),
        (2, 0, true),
        (1, (1 << 30) - 1, true),
        (1, 1 << 30, false),
        (1, 1 << 31, false),
        (1, u64::MAX, false),
        (most, (1 << 30) - 1, true),
        (most + 1, 1, false),
        (u32::MAX, 1, false),
    ] {
        assert_eq!(
            holds(&of_strided, blocks, count),
            is_strided,
            "{blocks} {count}"
        );
        let covers = u64::from(blocks) * 256 >= count;
        assert_eq!(
            holds(&of_ordinary, blocks, count),
            is_strided && covers,
            "{blocks} {count}"
        );
    }
    // A kernel without a grid-stride loop has at most one other entry.
    assert!(entry_for(&histogram(false), kernels, ptx::Launches::Strided).is_none());
}

#[test]
fn distances_of_ordinary_launches_are_below_the_bound() {
    let text = format!(
        "{PANIC}
        .visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u32 k_param_2)
            .reqntid 256, 1, 1 {{
            .reg .pred %p<9>;
            .reg .b32 %r<9>;
            .reg .b64 %from, %count, %x, %step, %d<12>;
            ld.param.u64 %from, [k_param_0];
            ld.param.u64 %count, [k_param_1];
            ld.param.u32 %r1, [k_param_2];
            mov.u32 %r2, %ctaid.x;
            mul.wide.u32 %d0, %r2, 256;
            mov.u32 %r3, %tid.x;
            cvt.u64.u32 %d1, %r3;
            or.b64 %x, %d0, %d1;
            cvt.s64.s32 %step, %r1;
            setp.ge.u64 %p1, %x, %count;
            @%p1 bra $end;
            add.s64 %d2, %x, %step;
            setp.ge.u64 %p2, %d2, %count;
            @%p2 bra $end;
            sub.s64 %d3, %x, %step;
            setp.ge.u64 %p3, %d3, %count;
            @%p3 bra $end;
            shl.b64 %d4, %d2, 2;
            add.s64 %d5, %from, %d4;
            ld.global.u32 %r4, [%d5];
            shl.b64 %d6, %d3, 2;
            add.s64 %d7, %from, %d6;
            ld.global.u32 %r5, [%d7];
            add.s32 %r6, %r4, %r5;
            shl.b64 %d8, %x, 2;
            add.s64 %d9, %from, %d8;
            st.global.u32 [%d9], %r6;
        $end:
            ret;
        }}"
    );
    let slices = [Slice {
        kernel: "k".to_owned(),
        pointer: 0,
        length: 1,
        element: 4,
    }];
    let kernels = ptx::Kernels {
        slices: &slices,
        ordinary_entries: true,
        ..ptx::Kernels::default()
    };
    let (entry, condition) = entry_with_condition(&text, kernels);
    assert!(!entry.contains("setp.ge.u64"), "{entry}");
    let sizes = ptx::LaunchSizes {
        block: [256, 1, 1],
        grid: [4, 1, 1],
    };
    let bound = 1 << 30;
    for (step, holds) in [
        (0, true),
        (-1, true),
        (bound - 1, true),
        (-bound, true),
        (bound, false),
        (-bound - 1, false),
        (i32::MAX, false),
        (i32::MIN, false),
    ] {
        let values = [0, 1000, u64::from(step as u32)];
        let found = condition.holds(&sizes, |index, _, _| values[index]);
        assert_eq!(found, holds, "{step}");
    }
}

/// A loop over the elements of a column: the address grows by a variable number until less than another one
/// remains.
fn column(body: &str) -> String {
    column_by("add.s64 %rd3, %rd3, %rd9;", body)
}

/// As [`column`], with another step.
fn column_by(step: &str, body: &str) -> String {
    optimized(&format!(
        ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<20>;
        ld.param.u64 %rd1, [k_param_0];
        ld.param.u64 %rd5, [k_param_1];
        ld.param.u64 %rd8, [k_param_2];
        ld.param.u64 %rd9, [k_param_3];
        cvta.to.global.u64 %rd3, %rd1;
        mov.u32 %r2, 0;
        $again:
        {step}
        ld.global.nc.u32 %r1, [%rd3];
        {body}
        sub.s64 %rd4, %rd5, %rd3;
        shr.u64 %rd6, %rd4, 1;
        setp.gt.u64 %p1, %rd6, %rd8;
        @%p1 bra $again;
        cvta.to.global.u64 %rd7, %rd5;
        st.global.u32 [%rd7], %r2;
        ret;"
    ))
}

/// Branches on a loaded number, with arms that are not predicated.
fn arms(in_one: &str) -> String {
    let long = "mad.lo.s32 %r2, %r2, %r1, %r2;\n".repeat(12);
    format!(
        "setp.lt.u32 %p2, %r1, 100;
        @%p2 bra $small;
        {long} {in_one}
        bra.uni $next;
        $small:
        xor.b32 %r2, %r2, %r1;
        {long}
        $next:"
    )
}

#[test]
fn columns_load_four_elements_at_once() {
    let loads = |text: &str| text.matches("ld.global.nc.u32").count();
    assert_eq!(loads(&column("add.s32 %r2, %r2, %r1;")), 8);
    // With branches, all four loads come first.
    let text = column(&arms(""));
    assert_eq!(loads(&text), 5, "{text}");
    let at = text.match_indices("ld.global.nc.u32");
    let at: Vec<usize> = at.map(|(at, _)| at).collect();
    assert!(!text[at[0]..at[3]].contains("bra"), "{text}");
    // ptxas unrolls a loop whose counter changes by a constant.
    let constant = "add.s64 %rd10, %rd3, 8; mov.u64 %rd3, %rd10;";
    assert_eq!(loads(&column_by(constant, &arms(""))), 1);
    for body in [
        // Whether the loop goes on depends on an arm, or on what it loads.
        arms("add.s64 %rd3, %rd3, 4;"),
        "add.s32 %r2, %r2, %r1; cvt.u64.u32 %rd9, %r1;".to_owned(),
        "cvt.u64.u32 %rd8, %r1;".to_owned(),
        // Divisions have a pass of their own.
        "cvt.u64.u32 %rd10, %r1; div.u64 %rd11, %rd10, %rd8; cvt.u32.u64 %r2, %rd11;".to_owned(),
    ] {
        assert_eq!(loads(&column(&body)), 1, "{body}");
    }
}
