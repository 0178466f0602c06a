//! Functions that the tests share.

use cust::ChosenDevice;
use cust::prelude::*;
use std::sync::OnceLock;

/// The result of a test.
pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Returns the module of a kernels crate: the one that `build.rs` compiled, or, in a single-source
/// session, the one that contains the kernel `$kernel`.
macro_rules! module_of {
    ($crate_name:literal, $kernel:ty) => {{
        #[cfg(not(nvvm_single_source))]
        let module = {
            static KERNELS: cust::module::Embedded = cust::include_module!($crate_name);
            KERNELS.load()
        };
        #[cfg(nvvm_single_source)]
        let module = cust::module::Module::own::<$kernel>();
        module.expect("the kernels can be loaded")
    }};
}
pub(crate) use module_of;

/// The module of the kernels for all devices, and a stream.
pub(crate) fn start() -> (Module, Stream) {
    device();
    (
        module_of!("kernels", samples_kernels::language::simple_printf),
        stream(),
    )
}

/// The device of all tests.
pub(crate) fn device() -> &'static ChosenDevice {
    static DEVICE: OnceLock<ChosenDevice> = OnceLock::new();
    DEVICE.get_or_init(|| {
        let device = cust::init_auto().expect("there is a device");
        println!("running on {device}");
        device
    })
}

pub(crate) fn stream() -> Stream {
    Stream::new(StreamFlags::NON_BLOCKING, None).expect("there are streams")
}

/// A number that looks random.
pub(crate) fn hash(i: usize) -> u32 {
    let x = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}

/// Integers below a limit that look random.
pub(crate) fn integers(count: usize, limit: u32) -> Vec<u32> {
    (0..count).map(|i| hash(i) % limit).collect()
}

/// Floats from 0 to 1 that look random.
pub(crate) fn floats(count: usize) -> Vec<f32> {
    (0..count)
        .map(|i| hash(i) as f32 / 4_294_967_296.0)
        .collect()
}

/// Fails unless all numbers are those expected, but for rounding.
#[track_caller]
pub(crate) fn close(found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs();
        assert!(
            error <= tolerance * expected.abs().max(1.0),
            "number {i} is {found}, but should be {expected}"
        );
    }
}
