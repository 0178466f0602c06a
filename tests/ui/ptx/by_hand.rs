//! A kernel with nothing but `core`: rustc's ABI for kernels, registers by `asm!`, and a panic handler
//! of its own. `tests/ptx.rs` launches it through the driver's functions.
#![no_std]
#![feature(abi_ptx, asm_experimental_arch)]

use core::arch::asm;
use core::cell::Cell;
use core::slice;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn clocks(
    clocks: *mut u32,
    clocks_len: usize,
    indices: *mut u32,
    indices_len: usize,
) {
    let (clock, thread, block): (u32, u32, u32);
    unsafe {
        asm!("mov.u32 {}, %clock;", out(reg32) clock, options(nomem, nostack));
        asm!("mov.u32 {}, %tid.x;", out(reg32) thread, options(pure, nomem, nostack));
        asm!("mov.u32 {}, %ctaid.x;", out(reg32) block, options(pure, nomem, nostack));
    }
    let index = (block * 1024 + thread) as usize;
    // All threads have the slices, so that they cannot be `&mut`.
    let clocks = unsafe { slice::from_raw_parts(clocks.cast::<Cell<u32>>(), clocks_len) };
    let indices = unsafe { slice::from_raw_parts(indices.cast::<Cell<u32>>(), indices_len) };
    clocks[index].set(clock);
    indices[index].set(index as u32);
}
