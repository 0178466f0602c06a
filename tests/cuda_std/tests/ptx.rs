//! The PTX of the kernels: safe code must not need detours through memory or generic addresses.

/// Returns the PTX of a kernel.
fn kernel(name: &str) -> &'static str {
    use cuda_std_tests::Arch;
    let entry = format!(".entry {name}(");
    let of = |arch: Arch| arch.ptx().find(&entry).map(|start| &arch.ptx()[start..]);
    let rest = of(Arch::Sm75).or_else(|| of(Arch::Sm90));
    let rest = rest.expect("the kernel is there");
    &rest[..rest.find("\n}").expect("it ends")]
}

/// Returns a kernel's PTX without the panics at its end, which read strings.
fn without_panics(kernel: &str) -> &str {
    &kernel[..kernel.find("\n$L__panic").unwrap_or(kernel.len())]
}

/// Returns the opcodes of loads and stores, except those of parameters.
fn accesses(text: &str) -> Vec<&str> {
    let words = text.split_whitespace();
    let accesses = words.filter(|word| word.starts_with("ld.") || word.starts_with("st."));
    accesses.filter(|word| !word.contains(".param")).collect()
}

#[test]
fn safe_kernels_access_memory_by_its_space() {
    let kernels = [
        "safe_vecadd",
        "safe_transpose",
        "safe_stencil",
        "safe_reduction",
        "safe_matmul",
        "safe_histogram",
    ];
    for name in kernels {
        let accesses = accesses(without_panics(kernel(name)));
        assert!(!accesses.is_empty(), "{name}");
        for access in accesses {
            let space = access.split('.').nth(1).unwrap_or_default();
            assert!(["shared", "global"].contains(&space), "{name}: {access}");
        }
    }
}

#[test]
fn phases_are_one_barrier_apart() {
    for name in ["safe_stencil", "safe_matmul"] {
        // The entry for ordinary launches and that for others.
        for entry in [name, &format!("{name}$ordinary")] {
            assert_eq!(kernel(entry).matches("barrier.sync").count(), 2, "{entry}");
        }
    }
}

#[test]
fn two_statics_of_one_shape_stay_two() {
    let text = kernel("shared_two_statics");
    let statics = text
        .lines()
        .filter(|line| line.trim_start().starts_with(".shared"))
        .count();
    assert_eq!(statics, 2, "{text}");
    for access in accesses(text) {
        assert!(
            access.contains(".shared") || access.contains(".global"),
            "{access}"
        );
    }
}

#[test]
fn options_of_kernels_are_directives() {
    let has = |name: &str, wanted: &[&str]| {
        let head = kernel(name)
            .split('{')
            .next()
            .unwrap_or_default()
            .to_owned();
        for directive in wanted {
            assert!(
                head.contains(directive),
                "{name} lacks `{directive}`: {head}"
            );
        }
    };
    has("bounded", &[".maxntid 128", ".minnctapersm 4"]);
    has("sized", &[".reqntid 8, 4, 1", ".maxnreg 40"]);
    has(
        "in_clusters",
        &[
            ".reqnctapercluster 2, 1, 1",
            ".explicitcluster",
            ".maxntid 64",
        ],
    );
    has("in_small_clusters", &[".maxclusterrank 4"]);
}

/// The modules of the table whose rows this package tests; `tensor-tests` tests the others.
const MODULES: [&str; 6] = [
    "cuda_std::intrinsics::atomic",
    "cuda_std::intrinsics::atomic::cluster",
    "cuda_std::intrinsics::memory",
    "cuda_std::intrinsics::special",
    "cuda_std::intrinsics::synchronization",
    "cuda_std::intrinsics::warp",
];

/// Rows whose instruction no kernel here executes, with the reason.
const WITHOUT_TEST: &[(&str, &str)] = &[
    ("brkpt", "it ends the launch where there is no debugger"),
    ("trap", "it ends the context"),
    ("written", "it is no instruction"),
    ("redux_sync_", "with floats it needs sm_100a"),
    (
        "st_bulk_shared",
        "it needs sm_100; `newer::zeros` runs what older GPUs execute",
    ),
    ("warpsize", "libnvvm knows the number"),
];

/// Returns whether a line of PTX contains a row's instruction, with any operands.
fn is_in(row: &cuda_std::intrinsics::Row, ptx: &str) -> bool {
    if row.ptx.is_none() {
        // NVVM intrinsics, by the instruction that they become.
        let name = row.source.strip_prefix("llvm.nvvm.").unwrap_or(row.source);
        let instruction = match name.strip_prefix("read.ptx.sreg.") {
            Some("warpsize") => "WARP_SZ".to_owned(),
            Some(register) => format!("%{register}"),
            None => name
                .replace("barrier0.", "bar.red.")
                .replace("barrier0", "bar.sync"),
        };
        return ptx.contains(&instruction);
    }
    let opcode = row.source.split_whitespace().next().unwrap_or_default();
    // Without its result, an atomic operation becomes a reduction.
    let reduction = opcode.replacen("atom.", "red.", 1);
    ptx.lines().any(|line| {
        let mut line = line.trim();
        // The compiler adds the state space that it infers.
        let generic = line.replace(".global.", ".").replace(".shared.", ".");
        let opcodes = [opcode, &reduction];
        if !opcodes
            .iter()
            .any(|it| line.contains(it) || generic.contains(it))
        {
            return false;
        }
        // Registers and other names that the row itself contains.
        row.source
            .split([' ', ',', ';'])
            .filter(|word| word.starts_with('%'))
            .all(|word| {
                let found = line.find(word);
                line = found.map_or("", |at| &line[at..]);
                found.is_some()
            })
    })
}

#[test]
fn every_row_is_tested() {
    use cuda_std_tests::Arch;
    let mut missing = Vec::new();
    for row in cuda_std::intrinsics::rows() {
        if !MODULES.contains(&row.module) {
            continue;
        }
        let excused = WITHOUT_TEST
            .iter()
            .any(|(name, _)| row.name.starts_with(name));
        let tested = [Arch::Sm75, Arch::Sm90]
            .iter()
            .any(|arch| is_in(row, arch.ptx()));
        if !tested && !excused {
            missing.push(row.name);
        }
    }
    assert!(
        missing.is_empty(),
        "{} rows are in no kernel of the tests: {missing:?}",
        missing.len()
    );
}

#[test]
fn unrolled_loops_are_written_out() {
    let text = kernel("unroll_polynomial");
    // One step per factor; the first has no addition.
    let steps = text.matches("mul.f32").count() + text.matches("mul.rn.f32").count();
    assert!(steps >= 11, "{text}");
}

#[test]
fn closures_in_closures_leave_arrays_in_registers() {
    let text = kernel("unroll_nested");
    assert!(!text.contains(".local"), "{text}");
    assert!(!text.contains("call"), "{text}");
    assert!(
        text.matches("mul.f32").count() + text.matches("mul.rn.f32").count() >= 16,
        "{text}"
    );
}
