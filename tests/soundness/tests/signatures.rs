//! Host and device built from different sources with the same name: features, versions, `cfg`.

#![forbid(unsafe_code)]

use cust::error::{CudaResult, Error};
use cust::module::Embedded;
use cust::prelude::*;
use soundness_signatures as kernels;

static KERNELS: Embedded = cust::include_module!("signatures");

/// Macros with the names of those that embed a module: none may replace the module's images.
#[allow(unused_macros)]
mod shadowed {
    macro_rules! include_str {
        ($($t:tt)*) => {
            ".version 7.0 .target sm_70 .address_size 64"
        };
    }
    macro_rules! concat {
        ($($t:tt)*) => {
            "/dev/null"
        };
    }
    macro_rules! env {
        ($($t:tt)*) => {
            "/dev"
        };
    }
    pub static KERNELS: cust::module::Embedded = cust::include_module!("signatures");
}

fn load() -> (impl Sized, Module) {
    let context = cust::init_auto().unwrap();
    (context, KERNELS.load().unwrap())
}

/// Asserts that the signatures differ, and how each starts.
#[track_caller]
fn refused<T>(result: CudaResult<T>, host: &str, device: &str) {
    let error = match result {
        Err(Error::Signature(error)) => error,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was accepted"),
    };
    assert!(error.host.contains(host), "{error}");
    assert!(error.device.contains(device), "{error}");
}

#[test]
fn kernels_with_other_parameters_are_refused() {
    let (_context, module) = load();
    macro_rules! refused {
        ($($kernel:ident $host:literal $device:literal)*) => {
            $(refused(module.kernel::<kernels::$kernel>(), $host, $device);)*
        };
    }
    refused! {
        output_of_another_element "(output of f32)" "(output of f64)"
        slice_of_another_element "(&[f32], " "(&[f64], "
        number_as_reference "(u64)" "(output value u32)"
        nothing_as_reference "(PhantomData" "(output value u32)"
        fields_swapped "{ a: u32 at 0, b: f32 at 4" "{ b: u32 at 0, a: f32 at 4"
        variants_renumbered "One = 0, Two = 1" "One = 1, Two = 0"
        field_of_another_type ".id: u32" ".id: NonZeroU32"
        field_of_a_generic_type "1: u32 at" "1: NonZeroU32 at"
        length_of_an_array "; 2]" "; 3]"
        inside_of_an_option "1: u32 at" "1: NonZeroU32 at"
        grid_constant "{ a: u32 at 0" "{ b: u32 at 0"
        safety "fn safety of soundness-signatures 0.1.0 ()" "(*mut (to 4 bytes, align 4))"
        block_size_of_another_build "nvvm.kernel" "reqntid=32"
    }
}

#[test]
fn macros_of_the_program_are_no_part_of_a_module() {
    let _context = cust::init_auto().unwrap();
    let module = shadowed::KERNELS.load().unwrap();
    assert_eq!(module.kernel_names(), load().1.kernel_names());
}

#[test]
#[should_panic(expected = "cannot contain path separators")]
fn modules_of_other_directories_are_refused() {
    // As `include_module!` does at compile time.
    cust::module::check_name("../../../src/forged");
}

#[test]
fn the_error_shows_both_signatures() {
    let (_context, module) = load();
    let error = module.kernel::<kernels::output_of_another_element>();
    let expected = "\
`output_of_another_element` is not the same in this program and in the module
  host:   fn output_of_another_element of soundness-signatures 0.1.0 (output of f32) nvvm.kernel
  device: fn output_of_another_element of soundness-signatures 0.1.0 (output of f64) nvvm.kernel
help: build both from the same source, with the same features (`CudaBuilder::features`) and the same \
versions of dependencies";
    assert_eq!(error.unwrap_err().to_string(), expected);
}

#[test]
fn statics_of_another_type_are_refused() {
    let (_context, mut module) = load();
    refused(module.global::<kernels::LIMIT>(), "(u32)", "(NonZeroU32)");
    refused(
        module.global_mut::<kernels::LIMIT>(),
        "(u32)",
        "(NonZeroU32)",
    );
}

#[test]
fn kernels_that_are_the_same_are_launched() {
    let (_context, module) = load();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let values: Vec<_> = (0..8)
        .map(|i| kernels::Same {
            small: i,
            value: (10.0, true),
            r#type: core::num::NonZeroU32::new(100),
        })
        .collect();
    let values = DeviceBuffer::from_slice(&values).unwrap();
    let constant = kernels::Same {
        small: 0,
        value: 5000,
        r#type: None,
    };
    let choice = kernels::Choice::Second {
        x: 1000.0,
        y: [0, 0, 200],
    };
    let mut total = DeviceBox::new(&0u32).unwrap();
    let mut to = DeviceBuffer::<u32>::zeroed(8).unwrap();
    let kernel = module.kernel::<kernels::same>().unwrap();
    let args = kernels::same::args(&values, choice, Some(20000), &mut total, constant, &mut to);
    kernel.launch(&stream, (1, 8), args).unwrap();
    let expected: Vec<u32> = (0..8).map(|i| i + 26311).collect();
    assert_eq!(to.as_host_vec().unwrap(), expected);
    assert_eq!(total.as_host_value().unwrap(), 8);
}

#[test]
fn names_of_the_users_are_not_captured() {
    let (_context, module) = load();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    use kernels::shadowed::{__A0, Choice, lifetime, shadowed};
    let second = DeviceBuffer::from_slice(&[__A0(10), __A0(20)]).unwrap();
    let mut to = DeviceBuffer::<u32>::zeroed(2).unwrap();
    let args = shadowed::args(__A0(1), &second, Choice::Second { x: 100.0 }, &mut to);
    module.launch(&stream, (1, 32), args).unwrap();
    assert_eq!(to.as_host_vec().unwrap(), [114, 124]);
    let numbers = DeviceBuffer::from_slice(&[1u32, 2]).unwrap();
    let args = lifetime::args(&numbers, &numbers, &mut to);
    module.launch(&stream, (1, 32), args).unwrap();
    assert_eq!(to.as_host_vec().unwrap(), [2, 4]);
    let total = module.global::<kernels::shadowed::TOTAL>().unwrap();
    assert_eq!(total.load().unwrap(), 32);
}

#[test]
fn statics_of_one_text_in_two_modules_are_two() {
    let (_context, mut module) = load();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let mut left = module.global_mut::<kernels::left::FACTORS>().unwrap();
    left.set(&[2.0; 4]).unwrap();
    let mut right = module.global_mut::<kernels::right::FACTORS>().unwrap();
    right.set(&[3.0; 4]).unwrap();
    let mut to = DeviceBuffer::<f32>::zeroed(4).unwrap();
    let args = kernels::factors::args(&mut to);
    module.launch(&stream, (1, 4), args).unwrap();
    assert_eq!(to.as_host_vec().unwrap(), [23.0; 4]);

    let mut plain = module.global_mut::<kernels::plain::LIMIT>().unwrap();
    plain.set(&0).unwrap();
    let mut to = DeviceBuffer::<u32>::zeroed(3).unwrap();
    let args = kernels::limits::args(&mut to);
    module.launch(&stream, (1, 3), args).unwrap();
    assert_eq!(to.as_host_vec().unwrap(), [0, 1, 1]);
}
