//! Runs each sample on the device and compares it with a plain CPU computation. The device is the
//! GPU if there is one, otherwise the emulator; `CUST_DEVICE` selects it.

mod cooperation;
mod finance;
mod images;
mod language;
mod linear;
mod newer;
mod physics;
mod reductions;
mod signals;
mod sorting;
mod structures;
mod trees;

use cust::ChosenDevice;
use cust::prelude::*;
use std::sync::OnceLock;

/// What the tests return.
type Outcome = Result<(), Box<dyn std::error::Error>>;

/// What `build.rs` made of the crate `kernels`.
static KERNELS: Embedded = cust::include_module!("kernels");

/// The module of the kernels for all devices, and a stream.
fn start() -> (Module, Stream) {
    device();
    load(&KERNELS)
}

/// The device of all tests.
fn device() -> &'static ChosenDevice {
    static DEVICE: OnceLock<ChosenDevice> = OnceLock::new();
    DEVICE.get_or_init(|| {
        let device = cust::init_auto().expect("there is a device");
        println!("running on {device}");
        device
    })
}

/// A module, and a stream.
fn load(kernels: &Embedded) -> (Module, Stream) {
    let module = kernels.load().expect("the kernels can be loaded");
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("there are streams");
    (module, stream)
}

/// A number that looks random.
fn hash(i: usize) -> u32 {
    let x = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}

/// Integers below a limit that look random.
fn integers(count: usize, limit: u32) -> Vec<u32> {
    (0..count).map(|i| hash(i) % limit).collect()
}

/// Floats from 0 to 1 that look random.
fn floats(count: usize) -> Vec<f32> {
    (0..count)
        .map(|i| hash(i) as f32 / 4_294_967_296.0)
        .collect()
}

/// Fails unless all numbers are those expected, but for rounding.
#[track_caller]
fn close(found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs();
        assert!(
            error <= tolerance * expected.abs().max(1.0),
            "number {i} is {found}, but should be {expected}"
        );
    }
}
