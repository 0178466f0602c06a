//! Selecting the device. Each test runs child processes, because the selection is per process.

use std::process::Command;

/// Set in child processes: the function to call.
const CHILD: &str = "CUST_TEST_CHILD";

/// Runs a call in a child process with or without `CUST_DEVICE`, and returns its output.
fn child(call: &str, device: Option<&str>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "in_a_child", "--nocapture", "--include-ignored"])
        .env(CHILD, call)
        .env_remove("CUST_DEVICE");
    if let Some(device) = device {
        command.env("CUST_DEVICE", device);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    let line = text.lines().find_map(|line| line.split_once("RESULT "));
    line.expect("the child prints its result").1.to_owned()
}

#[test]
#[ignore = "runs in the processes that the other tests start"]
fn in_a_child() {
    let result = match std::env::var(CHILD).unwrap_or_default().as_str() {
        "init_auto" => cust::init_auto().map(|device| format!("{:?} {device}", device.backend())),
        "quick_init" => cust::quick_init().map(|context| format!("{:?}", context.backend())),
        "init" => cust::init(cust::CudaFlags::empty()).map(|()| "ok".to_owned()),
        "dropped" => {
            drop(cust::init_auto().unwrap());
            drop(cust::quick_init().unwrap());
            cust::memory::DeviceBuffer::<u8>::zeroed(1).map(|_| "allocated".to_owned())
        }
        "no_context" => cust::memory::DeviceBuffer::<u8>::zeroed(1).map(|_| "allocated".to_owned()),
        _ => return,
    };
    match result {
        Ok(text) => println!("\nRESULT Ok {text}"),
        Err(error) => println!("\nRESULT Err {}", error.to_string().replace('\n', "; ")),
    }
}

fn has_driver() -> bool {
    cust::raw::Driver::load().is_ok()
}

#[test]
fn the_variable_chooses_the_emulator() {
    assert_eq!(child("quick_init", Some("emulator")), "Ok Emulator");
    let auto = child("init_auto", Some("emulator"));
    assert!(auto.starts_with("Ok Emulator PTX emulator ("), "{auto}");
    assert!(auto.ends_with("(CUST_DEVICE=emulator is set)"), "{auto}");
    assert_eq!(child("init", Some("emulator")), "Ok ok");
}

#[test]
fn another_value_is_an_error() {
    for call in ["quick_init", "init_auto", "init"] {
        assert_eq!(
            child(call, Some("tpu")),
            "Err invalid value `tpu` of CUST_DEVICE: expected `gpu` or `emulator`"
        );
    }
}

#[test]
fn without_a_driver_the_choice_is_explained() {
    if has_driver() {
        test_outcome::skip("there is a driver");
        return;
    }
    let auto = child("init_auto", None);
    assert!(auto.starts_with("Ok Emulator PTX emulator ("), "{auto}");
    assert!(auto.contains("libcuda.so.1"), "{auto}");
    for device in [None, Some("gpu")] {
        let error = child("quick_init", device);
        assert!(
            error.starts_with("Err no CUDA driver library could be loaded"),
            "{error}"
        );
        assert!(error.contains("libcuda.so.1"), "{error}");
        assert!(error.contains("CUST_DEVICE=emulator"), "{error}");
    }
    let error = child("init_auto", Some("gpu"));
    assert!(error.starts_with("Err no CUDA driver library"), "{error}");
}

#[test]
fn with_a_driver_the_gpu_is_chosen() {
    if !has_driver() {
        test_outcome::skip("there is no driver");
        return;
    }
    assert!(child("init_auto", None).starts_with("Ok Gpu NVIDIA"));
    assert_eq!(child("quick_init", None), "Ok Gpu");
}

#[test]
fn a_context_stays_though_it_is_dropped() {
    assert_eq!(child("dropped", Some("emulator")), "Ok allocated");
}

#[test]
fn without_a_context_the_error_says_what_to_do() {
    assert_eq!(
        child("no_context", Some("emulator")),
        "Err allocating a device buffer: there is no context; help: call `cust::quick_init()` or \
         `cust::init_auto()` first; after `Context::reset`, create a new context"
    );
}
