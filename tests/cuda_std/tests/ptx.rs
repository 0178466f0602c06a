//! What the kernels' PTX looks like: safe code costs no detours through memory or generic addresses.

/// The text of a kernel.
fn kernel(name: &str) -> &'static str {
    let ptx = cuda_std_tests::Arch::Sm75.ptx();
    let start = ptx
        .find(&format!(".entry {name}("))
        .expect("the kernel is there");
    let rest = &ptx[start..];
    &rest[..rest.find("\n}").expect("it ends")]
}

/// The opcodes of loads and stores, without those of parameters.
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
        let accesses = accesses(kernel(name));
        assert!(!accesses.is_empty(), "{name}");
        for access in accesses {
            let space = access.split('.').nth(1).unwrap_or_default();
            assert!(["shared", "global"].contains(&space), "{name}: {access}");
        }
    }
}

#[test]
fn phases_are_one_barrier_apart() {
    let barriers = |name| kernel(name).matches("barrier.sync").count();
    assert_eq!(barriers("safe_stencil"), 2);
    assert_eq!(barriers("safe_matmul"), 2);
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
