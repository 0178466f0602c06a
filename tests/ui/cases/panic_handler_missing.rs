//! Without `cuda_std` there is nobody to handle a panic.
#![no_std]

#[unsafe(no_mangle)]
#[unsafe(link_section = "nvvm.kernel")]
pub fn run(x: *mut u32, n: u32) {
    unsafe { *x /= n };
}
//~? ERROR `#[panic_handler]` function required, but not found
//~? HELP `cuda_std`
