//! Loading modules, and the error messages for invalid images.

mod common;

use common::{KERNELS, backend, init};
use cust::error::{CudaError, Error};
use cust::prelude::*;

#[test]
fn ptx_is_loaded() {
    let _context = init();
    let module = Module::from_ptx(KERNELS, &[]).unwrap();
    let names = module.kernel_names();
    assert_eq!(names, ["add", "scale", "reverse", "count", "bounded"]);
    let add = module.get_function("add").unwrap();
    assert_eq!(add.name(), "add");
    assert_eq!(add.parameter_sizes(), Some(&[8; 5][..]));
    let scale = module.get_function("scale").unwrap();
    assert_eq!(scale.parameter_sizes(), Some(&[8, 16][..]));
    let options = [ModuleJitOption::GenerateLineInfo(true)];
    Module::from_ptx(format!("{KERNELS}\0"), &options).unwrap();
}

#[test]
fn globals_are_read_and_written() {
    let _context = init();
    let module = Module::from_ptx(KERNELS, &[]).unwrap();
    // SAFETY: the variable has this type, or the call returns an error.
    let mut counter = unsafe { module.get_global::<u32>("counter").unwrap() };
    let mut value = 0u32;
    counter.copy_to(&mut value).unwrap();
    assert_eq!(value, 7);
    counter.copy_from(&100).unwrap();
    assert_eq!(module.read_global::<u32>(c"counter").unwrap(), 100);
    assert_eq!(module.read_global::<[u32; 2]>("table").unwrap(), [1, 2]);
}

#[test]
fn a_missing_kernel_is_an_error_that_lists_the_others() {
    let _context = init();
    let module = Module::from_ptx(KERNELS, &[]).unwrap();
    let error = module.get_function("ad").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the module has no kernel `ad`; its kernels are `add`, `bounded`, `count`, `reverse`, \
         `scale`"
    );
    let error = module.get_function("a\0b").unwrap_err();
    assert!(matches!(error, Error::NulInName { .. }));
    let empty = ".version 7.0\n.target sm_70\n.address_size 64\n";
    let error = Module::from_ptx(empty, &[])
        .unwrap()
        .get_function("add")
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the module has no kernel `add`; it has no kernels"
    );
}

#[test]
fn a_missing_or_mistyped_global_is_an_error() {
    let _context = init();
    let module = Module::from_ptx(KERNELS, &[]).unwrap();
    // SAFETY: the variable has this type, or the call returns an error.
    let error = unsafe { module.get_global::<u32>("conter").unwrap_err() };
    assert_eq!(
        error.to_string(),
        "the module has no global variable `conter`"
    );
    // SAFETY: the variable has this type, or the call returns an error.
    let error = unsafe { module.get_global::<u64>("counter").unwrap_err() };
    assert_eq!(
        error.to_string(),
        "the global variable `counter` has 4 bytes, but the requested type has 8"
    );
}

#[test]
fn text_that_is_no_ptx_is_refused() {
    let _context = init();
    let message = |text: &str| Module::from_ptx(text, &[]).unwrap_err().to_string();
    assert_eq!(message(""), "the PTX could not be loaded: it is empty");
    assert_eq!(
        message("fn main() {}\n// not PTX"),
        "the PTX could not be loaded: it is not PTX: it has no `.version`; it begins with \
         `fn main() {}`"
    );
    assert_eq!(
        message(".version 7.0\0.target"),
        "the PTX could not be loaded: there is a NUL byte in it, at 12"
    );
}

#[test]
fn ptx_with_an_error_says_where() {
    let _context = init();
    let broken = ".version 7.0\n.target sm_70\n.address_size 64\n\
                  .visible .entry k() {\n    add.nonsense %r1;\n}\n";
    let error = Module::from_ptx(broken, &[]).unwrap_err();
    let Error::InvalidPtx(invalid) = &error else {
        panic!("not the right kind: {error:?}");
    };
    assert_eq!(invalid.code, Some(CudaError::InvalidPtx));
    // The log contains the line number, in the driver's or the emulator's format.
    assert!(invalid.log.contains("line 5"), "{error}");
}

#[test]
fn ptx_that_is_too_new_says_so() {
    let _context = init();
    let new = ".version 99.9\n.target sm_70\n.address_size 64\n";
    let error = Module::from_ptx(new, &[]).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::PtxTooNew(_)), "{text}");
    assert!(
        text.contains("is too old for this PTX (.version 99.9)"),
        "{text}"
    );
}

#[test]
fn binaries_that_are_none_are_refused() {
    let _context = init();
    // SAFETY: invalid images are rejected.
    let error = unsafe { Module::from_cubin(b"not a cubin", &[]) }.unwrap_err();
    assert_eq!(
        error.to_string(),
        "loading a module from a cubin: it is not an ELF file, so it is not a cubin"
    );
    // SAFETY: as above.
    let error = unsafe { Module::from_fatbin(b"not a fat binary", &[]) }.unwrap_err();
    assert!(error.to_string().contains("its magic number is wrong"));
    // SAFETY: as above.
    let error = unsafe { Module::from_file("/does/not/exist.ptx") }.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("reading `/does/not/exist.ptx`: ")
    );
}

/// Returns an ELF file that consists of a header.
fn empty_elf() -> Vec<u8> {
    let mut elf = vec![0; 64];
    elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    elf
}

#[test]
fn a_cubin_for_another_device_says_so() {
    let _context = init();
    // SAFETY: the driver finds no sections.
    let error = unsafe { Module::from_cubin(empty_elf(), &[]) }.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::WrongDevice(_)), "{text}");
    if backend() == Backend::Emulator {
        assert_eq!(
            text,
            "loading a module from a cubin: the emulator executes PTX, not machine code; load \
             PTX, for instance with `Module::from_cubins_or_ptx`"
        );
    } else {
        assert!(text.contains("does not fit the device"), "{text}");
    }
}

#[test]
fn ptx_is_what_remains_when_no_cubin_fits() {
    let _context = init();
    let elf = empty_elf();
    // SAFETY: the driver finds no sections.
    let load = |cubins: &[&[u8]], ptx| unsafe { Module::from_cubins_or_ptx(cubins, ptx, &[]) };
    let module = load(&[&elf], Some(KERNELS)).unwrap();
    module.get_function("add").unwrap();
    assert!(matches!(load(&[&elf], None), Err(Error::WrongDevice(_))));
    assert!(load(&[], None).is_err());
}

#[test]
fn files_are_loaded_by_what_is_in_them() {
    let _context = init();
    let path = std::env::temp_dir().join(format!("cust-test-{}.ptx", std::process::id()));
    std::fs::write(&path, KERNELS).unwrap();
    // SAFETY: the file contains PTX.
    let loaded = unsafe { Module::from_file(&path) };
    std::fs::remove_file(&path).unwrap();
    loaded.unwrap().get_function("scale").unwrap();
}

#[test]
fn a_kernel_with_too_much_shared_memory_is_refused_with_both_sizes() {
    let _context = init();
    let ptx = "
        .version 7.0
        .target sm_70
        .address_size 64
        .shared .align 4 .b8 tile[600000];
        .visible .entry fits() {
            ret;
        }
        .visible .entry big(.param .u64 to) {
            .reg .u64 %a;
            .reg .u32 %r;
            ld.param.u64 %a, [to];
            ld.shared.u32 %r, [tile+400];
            st.global.u32 [%a], %r;
            ret;
        }
        ";
    match Module::from_ptx(ptx, &[]).unwrap_err() {
        Error::SharedMemory(error) => {
            assert_eq!(
                (&*error.kernel, error.own, error.dynamic),
                ("big", 600000, 0)
            );
            // For PTX, drivers allow more shared memory than the 48 KiB of ptxas.
            assert!((48 << 10..600000).contains(&error.most), "{error:?}");
        }
        other => panic!("{other:?}"),
    }
}
