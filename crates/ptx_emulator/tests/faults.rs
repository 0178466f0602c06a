//! Faults and their messages.

mod common;

use common::{Device, Params, module};
use ptx_emulator::{Fault, FaultKind, LaunchConfig, Memory, Program, launch};

fn fault(body: &str) -> Fault {
    let device = Device::kernel(
        ".file 1 \"src/kernel.rs\"\n.shared .align 4 .b8 small[16];",
        ".param .u64 data",
        body,
    );
    let data = device.upload(&[0u32; 10]);
    device
        .launch("k", 3, 40, Params::new().u64(data))
        .unwrap_err()
}

#[test]
fn illegal_addresses() {
    let found = fault(
        "
            ld.param.u64 %rd1, [data];
            mov.u32 %r1, %tid.x;
            mov.u32 %r2, %ctaid.x;
            .loc 1 12 7
            mul.wide.u32 %rd2, %r1, 4;
            add.u64 %rd3, %rd1, %rd2;
            ld.global.u32 %r3, [%rd3];
            ret;
            ",
    );
    assert_eq!(found.kind, FaultKind::IllegalAddress);
    assert_eq!(found.thread, [10, 0, 0]);
    assert_eq!(found.kernel, "k");
    assert_eq!(
        found
            .source_location
            .as_ref()
            .map(ToString::to_string)
            .as_deref(),
        Some("src/kernel.rs:12:7")
    );
    assert!(
        found.message.contains("4 bytes")
            && found
                .message
                .contains("0 bytes after the end of the 40 bytes"),
        "{found}"
    );
    let lines: Vec<String> = module("x\n", "", "").lines().map(String::from).collect();
    assert!(found.ptx_line as usize > lines.len() - 3, "{found}");

    let found = fault(
        "
        mov.u64 %rd1, 0;
        st.global.u32 [%rd1+8], 1;
        ",
    );
    assert!(
        found.kind == FaultKind::IllegalAddress && found.message.contains("null"),
        "{found}"
    );
    let found = fault(
        "
        mov.u64 %rd1, 0x123456789000;
        ld.u8 %r1, [%rd1];
        ",
    );
    assert!(found.message.contains("0x123456789000"), "{found}");
    let found = fault(
        "
        mov.u32 %r1, small;
        st.shared.u32 [%r1+16], 1;
        ",
    );
    assert!(
        found.kind == FaultKind::IllegalAddress && found.message.contains("shared"),
        "{found}"
    );
    let found = fault(
        "
        mov.u64 %rd1, small;
        cvta.shared.u64 %rd1, %rd1;
        ld.u32 %r1, [%rd1+-4];
        ",
    );
    assert_eq!(found.kind, FaultKind::IllegalAddress);
    assert!(found.message.contains("offset -0x4;"), "{found}");
    let found = fault("st.shared.u32 [0], 1;");
    assert_eq!(found.kind, FaultKind::IllegalAddress);
    assert!(found.message.contains("offset -0x400;"), "{found}");
    let found = fault(
        "
            ld.param.u64 %rd1, [data];
            ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+32];
            ",
    );
    assert_eq!(found.kind, FaultKind::IllegalAddress);
    let found = fault(
        "
        mov.u64 %rd1, 8192;
        ld.local.u32 %r1, [%rd1];
        ",
    );
    assert!(
        found.kind == FaultKind::IllegalAddress && found.message.contains("local"),
        "{found}"
    );
    let found = fault(
        "
        mov.u64 %rd1, 0x4000000000000010;
        ld.u32 %r1, [%rd1];
        ",
    );
    assert_eq!(found.kind, FaultKind::IllegalAddress);
}

#[test]
fn bulk_stores() {
    let found = fault("mov.u64 %rd1, 12; st.bulk.weak.shared::cta [small], %rd1, 0;");
    assert!(
        found.kind == FaultKind::Misaligned && found.message.contains("12 bytes"),
        "{found}"
    );
    let found = fault("mov.u64 %rd1, 8; st.bulk.weak.shared::cta [small+4], %rd1, 0;");
    assert_eq!(found.kind, FaultKind::Misaligned);
    let found = fault("mov.u64 %rd1, 24; st.bulk.weak.shared::cta [small], %rd1, 0;");
    assert_eq!(found.kind, FaultKind::IllegalAddress);
    // A generic address must be in shared memory.
    let found = fault("ld.param.u64 %rd1, [data]; st.bulk [%rd1], 8, 0;");
    assert_eq!(found.kind, FaultKind::IllegalAddress);
}

#[test]
fn other_faults() {
    let found = fault(
        "
        ld.param.u64 %rd1, [data];
        ld.global.u32 %r1, [%rd1+2];
        ",
    );
    assert!(
        found.kind == FaultKind::Misaligned && found.message.contains("multiple of 4"),
        "{found}"
    );
    let found = fault(
        "
        mov.u32 %r1, %tid.x;
        setp.ne.u32 %p1, %r1, 7;
        @%p1 exit;
        trap;
        ",
    );
    assert_eq!((found.kind, found.thread), (FaultKind::Trap, [7, 0, 0]));
    let found = fault(
        "
        mov.u64 %rd1, 5;
        proto:
        .callprototype _ ();
        call %rd1, proto;
        ",
    );
    assert_eq!(found.kind, FaultKind::InvalidCall);
    let found = fault("brkpt;");
    assert_eq!(found.kind, FaultKind::Breakpoint);
}

/// An unsupported instruction is an error only if it is executed.
#[test]
fn unsupported_instructions_fault_when_executed() {
    let mma = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd1, %fd2}, {%fd3}, {%fd4}, {%fd5, %fd6};";
    let found = fault(&format!("ret;\n{mma}").replace("ret;\n", "mov.u32 %r1, 0;\n"));
    assert_eq!(found.kind, FaultKind::InvalidInstruction);
    assert!(
        found.message.contains("mma") && found.ptx_line > 0,
        "{found}"
    );
    let device = Device::kernel(
        "",
        "",
        &format!(
            "
        ret;
        {mma}
        ret;
        "
        ),
    );
    device.launch("k", 1, 1, Params::new()).unwrap();
    let found = fault(
        "
        setp.eq.u32 %p1, 1, 1;
        @%p1 add.frobnicated.u32 %r1, %r2, %r3;
        ",
    );
    assert!(found.message.contains("`.frobnicated`"), "{found}");
}

#[test]
fn modules_that_cannot_be_loaded() {
    let cases = [
        ("frobnicate.u32 %r1, %r2;", "`frobnicate`"),
        ("add.u32 %r1, %r2;", "operands"),
        ("add.u32 %r1, %r2, %nothing;", "`%nothing`"),
        ("add.u32 %rs1, %r2, %r3;", "`.u32` is expected"),
        ("add.u64 %rd1, %rd2, %r3;", "`.u64` is expected"),
        ("bra nowhere;", "`nowhere`"),
        ("ld.global.u32 %r1, [%f1x];", "`%f1x`"),
        ("@%r1 bra L; L: ret;", "`%r1`"),
        ("call nothing;", "`nothing`"),
        ("mov.u32 %r1, %r2, %r3;", "operands"),
        ("st.param.u32 [data], %r1;", "parameter"),
        ("bar.sync 17;", "below 16"),
        ("st.bulk.shared::cta [%r1], 8, 1;", "1 instead of 0"),
        ("st.bulk.global [%rd1], 8, 0;", "state space"),
        ("st.global.v2.u8 [%rd1], {%rs1, %r1};", "widths"),
        ("ld.global.v2.u8 {%rs1, %r1}, [%rd1];", "widths"),
        ("ld.global.v4.b32 {_, %r1, %f1, %rd2}, [%rd1];", "widths"),
    ];
    for (line, part) in cases {
        let text = module("", ".param .u64 data", &format!("\n\n{line}\nret;"));
        let error = Program::load(&text, &Memory::new()).expect_err(line);
        let at = text.lines().position(|other| other == line).unwrap() as u32 + 1;
        assert!(
            error.line == at && error.message.contains(part),
            "{line} gave: {error}"
        );
    }
    for (text, part) in [
        ("this is not PTX", "`.version`"),
        (".version 8.0\n.target sm_70\n.address_size 32\n", "32"),
        (
            ".version 8.0\n.target sm_70\n.global .u64 x = missing;",
            "`missing`",
        ),
        (
            ".version 8.0\n.target sm_70\n.extern .global .u64 x;",
            "`x`",
        ),
        (
            ".version 8.0\n.target sm_70\n.global .b8 x[2] = {1,2,3};",
            "more initial values",
        ),
        (
            ".version 8.0\n.target sm_70\n.global .b8 x[99999999999999];",
            "too large",
        ),
    ] {
        let error = Program::load(text, &Memory::new()).expect_err(text);
        assert!(error.message.contains(part), "{text} gave: {error}");
    }
}

#[test]
fn launches_are_checked() {
    let device = Device::kernel("", ".param .u64 data", "ret;");
    let kernel = device.program.kernel("k").unwrap();
    let good = LaunchConfig {
        params: vec![0; 8],
        ..LaunchConfig::default()
    };
    assert!(launch(&device.program, kernel, &good).is_ok());
    for bad in [
        LaunchConfig {
            params: vec![0; 7],
            ..good.clone()
        },
        LaunchConfig {
            block: [1025, 1, 1],
            ..good.clone()
        },
        LaunchConfig {
            block: [0, 1, 1],
            ..good.clone()
        },
        LaunchConfig {
            grid: [1, 0, 1],
            ..good.clone()
        },
        LaunchConfig {
            grid: [u32::MAX; 3],
            ..good.clone()
        },
    ] {
        assert_eq!(
            launch(&device.program, kernel, &bad).unwrap_err().kind,
            FaultKind::InvalidLaunch
        );
    }
}

/// `atom` and `red` require alignment to the operand's size, in every state space.
#[test]
fn misaligned_atomics() {
    for body in [
        "atom.global.add.u32 %r1, [%rd1+2], 1;",
        "atom.global.cas.b32 %r1, [%rd1+2], 1, 2;",
        "atom.global.add.u64 %rd2, [%rd1+4], 1;",
        "red.global.add.u32 [%rd1+1], 1;",
        "atom.add.u32 %r1, [%rd1+2], 1;",
        "
            mov.u32 %r2, small;
            atom.shared.add.u32 %r1, [%r2+2], 1;
            ",
        "
            mov.u32 %r2, small;
            atom.shared.exch.b64 %rd2, [%r2+4], 1;
            ",
    ] {
        let found = fault(&format!(
            "
            ld.param.u64 %rd1, [data];
            {body}
            ret;
            "
        ));
        assert_eq!(found.kind, FaultKind::Misaligned, "{body}: {found}");
    }
}

/// The last byte of shared and local memory is accessible, the next one is not.
#[test]
fn bounds_are_exact() {
    let run = |shared: &str, body: &str| {
        let device = Device::kernel(shared, "", &format!("{body} ret;"));
        device.launch("k", 1, 1, Params::new()).map_err(Box::new)
    };
    for (size, good, bad) in [
        (
            16,
            "ld.shared.u8 %r2, [%r1+15];",
            "ld.shared.u8 %r2, [%r1+16];",
        ),
        (
            16,
            "ld.shared.u32 %r2, [%r1+12];",
            "ld.shared.u32 %r2, [%r1+16];",
        ),
    ] {
        let shared = format!(".shared .align 16 .b8 small[{size}];");
        for (body, is_good) in [(good, true), (bad, false)] {
            for by in [
                body.to_owned(),
                body.replace("ld.shared", "ld").replace("%r1", "%rd1"),
            ] {
                let address = "
                    mov.u32 %r1, small;
                    cvta.shared.u64 %rd1, small;
                    ";
                let result = run(&shared, &format!("{address} {by}"));
                match result {
                    Ok(_) => assert!(is_good, "{size}: {by}"),
                    Err(found) => {
                        assert!(!is_good, "{size}: {by}: {found}");
                        assert_eq!(found.kind, FaultKind::IllegalAddress, "{by}: {found}");
                    }
                }
            }
        }
    }
    // In a stack frame of 16 bytes.
    let frame = "
        .local .align 16 .b8 own[16];
        mov.u32 %r1, own;
        cvta.local.u64 %rd1, own;
        ";
    for (body, is_good) in [
        ("ld.local.u8 %r2, [%r1+15];", true),
        ("ld.local.u8 %r2, [%r1+16];", false),
        ("ld.local.v2.u32 {%r2, %r3}, [%r1+8];", true),
        ("ld.local.v2.u64 {%rd2, %rd3}, [%r1+16];", false),
        ("ld.u8 %r2, [%rd1+15];", true),
        ("ld.u8 %r2, [%rd1+16];", false),
    ] {
        let result = run("", &format!("{frame} {body}"));
        assert_eq!(result.is_ok(), is_good, "{body}: {:?}", result.err());
    }
}

/// The bounds of memory that an instruction accessed before are exact, too.
#[test]
fn bounds_of_known_memory_are_exact() {
    let body = "
        ld.param.u64 %rd1, [data];
        mov.u32 %r1, 0;
        again:
        ld.global.u16 %rs1, [%rd1];
        add.u64 %rd1, %rd1, 2;
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p1, %r1, 2;
        @%p1 bra again;
        ret;
        ";
    let device = Device::kernel("", ".param .u64 data", body);
    let host = [0u32];
    let data = host.as_ptr() as u64;
    for (bytes, is_good) in [(4, true), (3, false)] {
        device.memory.register(data, bytes);
        let result = device.launch("k", 1, 1, Params::new().u64(data));
        assert_eq!(result.is_ok(), is_good, "{bytes}: {:?}", result.err());
        device.memory.unregister(data);
    }
}

/// A kernel may still hold a checked range of memory that is freed while it runs: the memory is
/// kept until the kernel completes.
#[test]
fn memory_freed_while_a_kernel_runs_is_kept() {
    use std::sync::atomic::{AtomicU32, Ordering};
    // Large enough that the allocator returns it to the system immediately.
    const SIZE: usize = 64 << 20;
    let device = Device::kernel(
        "",
        ".param .u64 flags, .param .u64 data",
        "
            ld.param.u64 %rd1, [flags];
            ld.param.u64 %rd2, [data];
            mov.u32 %r3, 0;
            again:
            st.global.u32 [%rd2], %r3;
            add.u32 %r3, %r3, 1;
            st.volatile.global.u32 [%rd1], 1;
            ld.volatile.global.u32 %r1, [%rd1+4];
            setp.eq.u32 %p1, %r1, 0;
            @%p1 bra again;
            st.global.u32 [%rd2], 7;
            ret;
            ",
    );
    let flags = device.upload(&[0u32; 2]);
    let data = device.memory.alloc(SIZE, 256).unwrap();
    // SAFETY: addresses of global memory are host addresses, and the kernel accesses whole words.
    let [running, stop] = [0, 4].map(|at| unsafe { AtomicU32::from_ptr((flags + at) as *mut u32) });
    std::thread::scope(|scope| {
        let params = Params::new().u64(flags).u64(data);
        let kernel = scope.spawn(|| device.launch("k", 1, 1, params).map_err(Box::new));
        while running.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        assert!(device.memory.free(data));
        std::thread::sleep(std::time::Duration::from_millis(20));
        stop.store(1, Ordering::SeqCst);
        // The access may fault, but it must not access released memory.
        if let Err(found) = kernel.join().unwrap() {
            assert_eq!(found.kind, FaultKind::IllegalAddress, "{found}");
        }
    });
}

/// Memory that is freed while no kernel runs is inaccessible immediately.
#[test]
fn freed_memory_is_inaccessible() {
    let device = Device::kernel(
        "",
        ".param .u64 data",
        "
            ld.param.u64 %rd1, [data];
            ld.global.u32 %r1, [%rd1];
            ret;
            ",
    );
    let data = device.upload(&[1u32]);
    device.launch("k", 1, 1, Params::new().u64(data)).unwrap();
    assert!(device.memory.free(data) && !device.memory.free(data));
    let found = device
        .launch("k", 1, 1, Params::new().u64(data))
        .unwrap_err();
    assert_eq!(found.kind, FaultKind::IllegalAddress);
    let host = [5u32; 4];
    device.memory.register(host.as_ptr() as u64, 16);
    device
        .launch("k", 1, 1, Params::new().u64(host.as_ptr() as u64))
        .unwrap();
    device.memory.unregister(host.as_ptr() as u64);
    device
        .launch("k", 1, 1, Params::new().u64(host.as_ptr() as u64))
        .unwrap_err();
}

#[test]
fn labels_in_sections_are_defined_once() {
    let load = |first: &str, second: &str| {
        let section =
            |name: &str, label: &str| format!(".section {name} {{\n{label}:\n.b8 1\n}}\n");
        let text = module("", "", "$L1: ret;")
            + &section(".debug_loc", first)
            + &section(".debug_abbrev", second);
        Program::load(&text, &Memory::new()).map(|_| ())
    };
    load("$L1", "$L2").unwrap();
    let found = load("$L2", "$L2").unwrap_err();
    assert!(
        found.to_string().contains("`$L2` is defined twice"),
        "{found}"
    );
}

/// Loading never panics; a mutated module that loads may be run briefly.
#[test]
fn mutated_modules_do_not_panic() {
    let text = module(
        "
            .global .u32 g[4] = {1,2,3,4};
            .shared .b32 s[4];
            .func (.param .b32 r) f(.param .b32 a) {
                .reg .b32 %r<3>;
                ld.param.u32 %r1, [a];
                st.param.b32 [r], %r1;
                ret;
            }
            ",
        ".param .u64 data, .param .align 8 .b8 b[16]",
        "
            ld.param.u64 %rd1, [data];
            ld.param.v2.u32 {%r1, %r2}, [b+8];
            mov.b64 %rd2, {%r1, %r2};
            mov.b128 %rq1, {%rd1, %rd2};
            st.shared.v2.u32 [s+8], {%r1, %r2};
            atom.shared.cas.b32 %r3, [s], %r1, %r2;
            bfi.b32 %r4, %r1, %r2, 3, 4;
            {
                .param .b32 p;
                st.param.b32 [p], %r1;
                .param .b32 q;
                call.uni (q), f, (p);
                ld.param.b32 %r5, [q];
            }
            shfl.sync.idx.b32 %r6|%p1, %r5, 0, 31, -1;
            cvt.rn.f16.f32 %rs1, %f1;
            setp.lt.and.f32 %p1|%p2, %f1, %f2, !%p3;
            bar.sync 0;
            ret;
            ",
    );
    let mut state = 1u64;
    let mut random = |limit: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % limit
    };
    let words: Vec<&str> = text
        .split_inclusive([' ', '.', ',', '[', ']', '{', '}', ';'])
        .collect();
    let memory = Memory::new();
    let mut loaded = 0;
    for _ in 0..4000 {
        let mut changed: Vec<&str> = words.clone();
        for _ in 0..=random(3) {
            let (at, other) = (random(changed.len()), random(words.len()));
            match random(3) {
                0 => changed[at] = words[other],
                1 => drop(changed.remove(at)),
                _ => changed.insert(at, words[other]),
            }
        }
        if let Ok(program) = Program::load(&changed.concat(), &memory)
            && let Some(kernel) = program.kernel("k")
        {
            loaded += 1;
            // Mutations of these words cannot create an endless loop.
            let config = LaunchConfig {
                block: [33, 1, 1],
                params: vec![0; 64],
                ..LaunchConfig::default()
            };
            let _ = launch(&program, kernel, &config);
        }
    }
    assert!(loaded > 100, "{loaded}");
}

/// Sizes whose sums and products exceed 64 bits, and sizes that no device has.
#[test]
fn declarations_of_any_size_are_loaded_or_refused() {
    const MOST: &str = "18446744073709551615";
    let memory = Memory::new();
    let load = |before: &str, params: &str, body: &str| {
        Program::load(&module(before, params, body), &memory).map(drop)
    };
    let refused = |before: &str, params: &str, body: &str| {
        load(before, params, body).expect_err("it has no place");
    };
    for space in ["param", "local"] {
        let huge = format!(".{space} .b8 a[{MOST}]; .{space} .align 16 .b8 b[{MOST}];");
        refused("", "", &format!("{huge} ret;"));
        refused("", "", &format!("{{ {huge} }} ret;"));
    }
    refused(
        "",
        &format!(".param .b8 a[{MOST}], .param .b8 b[{MOST}]"),
        "ret;",
    );
    let function = format!(".func f(.param .b8 a[{MOST}], .param .b8 b[{MOST}]) {{ ret; }}");
    refused(&function, "", "ret;");
    refused(&format!(".shared .b8 s[{MOST}];"), "", "ret;");
    refused(&format!(".global .b8 g[{MOST}] = {{1}};"), "", "ret;");
    let empty = ".global .b8 g[0][4294967296][4294967296] = {{1}, {2}};";
    refused(empty, "", "ret;");
    // For many elements, only those with values are written.
    let large = ".global .b32 g[1024][1048576] = {{1, 2}, {3}};";
    load(large, "", "ret;").expect("there is memory for it");
}
