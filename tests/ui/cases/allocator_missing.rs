//! Without `cuda_std` there is nobody to allocate.
#![no_std]

extern crate alloc;

#[unsafe(no_mangle)]
#[unsafe(link_section = "nvvm.kernel")]
pub fn run(x: *mut u32, n: u32) {
    unsafe { *x = alloc::boxed::Box::new(n).count_ones() };
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
//~? ERROR no global memory allocator found but one is required
//~? HELP `cuda_std`
