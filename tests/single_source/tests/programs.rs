//! Runs the programs, each of which compares its results with the CPU's.

use std::process::Command;

fn run(program: &str) {
    let output = Command::new(program)
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

macro_rules! programs {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            run(env!(concat!("CARGO_BIN_EXE_", stringify!($name))));
        }
    )*};
}

// Those of `crates/cargo-cuda/tests/programs` and of `examples/single_source` run in the tests of
// `cargo-cuda`.
programs! {
    filters
    fractal
    heat
    hue
    kmeans
    launch_costs
    lengths
    loans
    logs
    nearest
    pi
    ray
    spectrogram
    sums
    terrain
    words
}
