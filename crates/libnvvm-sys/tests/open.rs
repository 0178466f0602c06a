//! Files other than libnvvm are rejected with a reason.

use libnvvm_sys::{Functions, LoadError};

#[test]
fn missing_file() {
    let error = unsafe { Functions::open("/nonexistent/libnvvm.so") }.unwrap_err();
    let LoadError::Open(text) = &error else {
        panic!("{error:?}")
    };
    assert!(text.contains("/nonexistent/libnvvm.so"), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn another_library() {
    let error = unsafe { Functions::open("libc.so.6") }.unwrap_err();
    assert!(
        matches!(error, LoadError::MissingSymbol("nvvmGetErrorString")),
        "{error:?}"
    );
}
