//! LTO-IR, linked by nvJitLink and run. Without the library, or without a GPU, a test says so.
//!
//! `lto/triple.ltoir` is a kernel `triple(p: *mut i32)` that puts `helper(*p)` there, and
//! `lto/helper.ltoir` the function, which multiplies by three: both made by libnvvm 13.0 with
//! `-arch=compute_75 -gen-lto`. The kernel is in `llvm.used`, without which the linker drops it.

mod common;

use common::{backend, init, stream};
use cust::error::Error;
use cust::module::{LtoInput, LtoLinker};
use cust::prelude::*;

const TRIPLE: &[u8] = include_bytes!("lto/triple.ltoir");
const HELPER: &[u8] = include_bytes!("lto/helper.ltoir");

/// A linker for `sm_80`, if there is the library.
fn linker() -> Option<LtoLinker> {
    match LtoLinker::for_arch("sm_80") {
        Err(error @ Error::NoLinker { .. }) => {
            test_outcome::skip(error);
            None
        }
        linker => Some(linker.unwrap()),
    }
}

/// Adds LTO-IR.
fn add(linker: &mut LtoLinker, name: &str, data: &[u8]) -> CudaResult<()> {
    // SAFETY: it is nvcc's, or not LTO-IR at first sight.
    unsafe { linker.add(LtoInput::LtoIr, name, data) }
}

#[test]
fn inputs_are_linked_to_machine_code() {
    let Some(mut linker) = linker() else { return };
    add(&mut linker, "triple", TRIPLE).unwrap();
    add(&mut linker, "helper", HELPER).unwrap();
    let cubin = linker.complete().unwrap();
    assert!(cubin.starts_with(b"\x7fELF"));
    let contains = |text: &[u8]| cubin.windows(text.len()).any(|part| part == text);
    assert!(contains(b".text.triple"), "the kernel is gone");
    assert!(!contains(b".text.helper"), "the function was not inlined");
}

#[test]
fn mistakes_are_errors_with_the_linkers_log() {
    let Some(mut linker) = linker() else { return };
    let error = add(&mut linker, "nothing", b"no LTO-IR at all");
    assert!(matches!(error, Err(Error::Linker { .. })), "{error:?}");
    let mut linker = LtoLinker::for_arch("sm_80").unwrap();
    add(&mut linker, "triple", TRIPLE).unwrap();
    let error = linker.complete().unwrap_err().to_string();
    assert!(error.contains("helper"), "{error}");
    for arch in ["sm_1", "sm_130", "nonsense", ""] {
        let error = LtoLinker::for_arch(arch).unwrap_err();
        assert!(matches!(error, Error::Linker { .. }), "{arch}: {error}");
    }
}

#[test]
fn what_was_linked_runs() {
    let _context = init();
    if backend() != Backend::Gpu {
        test_outcome::skip("the emulator runs no machine code");
        return;
    }
    if linker().is_none() {
        return;
    }
    let mut linker = LtoLinker::new().unwrap();
    add(&mut linker, "triple", TRIPLE).unwrap();
    add(&mut linker, "helper", HELPER).unwrap();
    let module = linker.load().unwrap();
    let stream = stream();
    let value = DeviceBox::new(&14i32).unwrap();
    // SAFETY: the kernel reads and writes one number.
    unsafe { launch!(module.triple<<<1, 1, 0, stream>>>(value.as_device_ptr())).unwrap() };
    stream.synchronize().unwrap();
    assert_eq!(value.as_host_value().unwrap(), 42);
}
