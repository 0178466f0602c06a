//! Programs that must not compile, with the errors of the pinned toolchain. `TRYBUILD=overwrite`
//! updates the expected errors.

#[test]
fn typed_launches_are_checked_when_they_are_compiled() {
    // The rustc of the cargo that builds this test, regardless of the `PATH`.
    let rustc = std::path::Path::new(env!("CARGO")).with_file_name("rustc");
    let version = std::process::Command::new(rustc).arg("--version").output();
    let version = version.map(|output| output.stdout).unwrap_or_default();
    if !String::from_utf8_lossy(&version).contains("nightly") {
        test_outcome::skip("not the pinned toolchain: its messages differ");
        return;
    }
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/a*.rs");
    cases.compile_fail("tests/ui/buffer_dropped.rs");
    cases.compile_fail("tests/ui/host_memory.rs");
    cases.compile_fail("tests/ui/image*.rs");
    cases.compile_fail("tests/ui/not_for_devices.rs");
    cases.compile_fail("tests/ui/unsafe_kernel.rs");
    cases.compile_fail("tests/ui/wrong_kernel.rs");
}
