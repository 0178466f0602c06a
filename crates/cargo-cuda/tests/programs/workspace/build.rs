fn main() {
    let kernel = |n| {
        format!(
            "#[kernel]\npub fn add_{n}(mut to: PerThread<u32>) {{ to.each(|_, to| *to += {n} * 100); }}\n"
        )
    };
    let kernels: String = (0..4).map(kernel).collect();
    let out = std::env::var("OUT_DIR").unwrap();
    std::fs::write(format!("{out}/kernels.rs"), kernels).unwrap();
}
