//! Unsafe kernels and kernels that take raw pointers, with arguments in safe code; and images that
//! the driver trusts.

use cuda_std::prelude::*;
use cust::prelude::*;

/// # Safety
/// `n` is even.
#[kernel]
pub unsafe fn halve(_n: u32) {}

#[kernel]
pub fn fill(_to: *mut u32) {}

fn launch(to: &DeviceBuffer<u32>) {
    let _ = halve::args(2);
    let _ = fill::args(to.as_device_ptr());
}

fn load(image: &[u8], linker: &mut cust::module::Linker) {
    let _ = Module::from_cubin(image, &[]);
    let _ = Module::from_fatbin(image, &[]);
    let _ = Module::from_file("image");
    let _ = Module::from_cubins_or_ptx(&[image], None, &[]);
    let _ = cust::module::Library::from_cubin(image, &[]);
    let _ = linker.add(cust::module::LinkInput::Object, image);
}

fn main() {}
