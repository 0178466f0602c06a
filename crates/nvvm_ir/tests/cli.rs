//! The command line of `nvvm-ir`: which arguments it rejects, and how. Its transformations are
//! tested by `tests/ir`.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn run(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_nvvm-ir"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("nvvm-ir starts");
    // The process may have rejected its arguments and exited.
    let _ = child
        .stdin
        .take()
        .expect("it has an input")
        .write_all(input.as_bytes());
    child.wait_with_output().expect("it ends")
}

#[track_caller]
fn refused(args: &[&str], message: &str) {
    let output = run(args, "");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains(message), "{stderr}");
}

#[test]
fn unknown_arguments_are_rejected() {
    refused(&[], "a command and a file are needed");
    refused(&["verify"], "a command and a file are needed");
    refused(&["compile", "-"], "the commands are verify, print and opt");
    refused(
        &["print", "-", "--dialect=llvm9"],
        "the dialects are llvm7 and modern",
    );
    refused(
        &["opt", "-", "--passes=inline"],
        "there is no pass `inline`",
    );
    refused(&["print", "-", "--frobnicate"], "--frobnicate");
    refused(&["print", "-", "more"], "more");
    refused(
        &["print", "-", "--passes=dead_functions"],
        "belong to `opt`",
    );
    refused(&["verify", "-", "-o", "x"], "`verify` prints nothing");
}

#[test]
fn help_lists_the_passes() {
    let output = run(&["--help"], "");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    for pass in nvvm_ir::passes::PASSES {
        assert!(text.contains(pass.name), "{text}");
    }
    assert!(text.contains("legalize"), "{text}");
}

#[test]
fn a_missing_file() {
    let output = run(&["verify", "/nowhere.ll"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("/nowhere.ll: "));
}

#[test]
fn standard_input_is_read_and_a_file_written() {
    let text = "define void @f() {\nstart:\n  ret void\n}\n";
    let file = std::env::temp_dir().join(format!("nvvm-ir-cli-{}.ll", std::process::id()));
    let name = file.to_str().expect("the name is UTF-8");
    let output = run(
        &[
            "opt",
            "--passes=remove_unreachable_blocks,legalize",
            "-",
            "-o",
            name,
        ],
        text,
    );
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let written = std::fs::read_to_string(&file).expect("it was written");
    std::fs::remove_file(&file).expect("it goes away");
    assert!(
        written.contains("define void @f() {\nstart:\n  ret void\n}\n"),
        "{written}"
    );
}
