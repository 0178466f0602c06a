//! The driver's functions by hand: loads the program's PTX, finds the kernel by its name, and passes
//! arguments as pointers. The kernel takes raw pointers and reads special registers by inline PTX.

use cuda_std::prelude::*;
use cuda_std::ptx;
use cust::raw::CUresult;
use std::cell::Cell;
use std::error::Error;
use std::ffi::{CString, c_void};
use std::{ptr, slice};

const BLOCKS: u32 = 1024;
const THREADS: u32 = 1024;

/// Each thread stores the clock and its index.
///
/// # Safety
///
/// The pointers are to memory of the device of these lengths, which nothing else uses.
#[unsafe(no_mangle)]
#[kernel]
pub unsafe fn clocks(clocks: *mut u32, clocks_len: usize, indices: *mut u32, indices_len: usize) {
    let (clock, thread, block): (u32, u32, u32);
    // SAFETY: they read registers.
    unsafe {
        ptx!("mov.u32 {}, %clock;", out(reg32) clock, options(nomem, nostack));
        ptx!("mov.u32 {}, %tid.x;", out(reg32) thread, options(pure, nomem, nostack));
        ptx!("mov.u32 {}, %ctaid.x;", out(reg32) block, options(pure, nomem, nostack));
    }
    let index = block * THREADS + thread;
    // All threads have the slices, so that they cannot be `&mut`.
    // SAFETY: the caller's promise; no two threads access the same element.
    let clocks = unsafe { slice::from_raw_parts(clocks.cast::<Cell<u32>>(), clocks_len) };
    // SAFETY: as above.
    let indices = unsafe { slice::from_raw_parts(indices.cast::<Cell<u32>>(), indices_len) };
    clocks[index as usize].set(clock);
    indices[index as usize].set(index);
}

/// Turns a result of the driver into an error.
fn check(result: CUresult) -> Result<(), Box<dyn Error>> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        _ => Err(format!("the driver returned {result:?}").into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = cust::init_auto()?;
    // The functions of libcuda or of the emulator, with a current context.
    let cuda = device.context().driver()?;
    let &[ptx] = cust::module::own_ptx() else {
        return Err("the program has no kernels: build it with `cargo cuda`".into());
    };
    let ptx = CString::new(ptx)?;
    let mut len = (BLOCKS * THREADS) as usize;
    let bytes = len * size_of::<u32>();
    let (mut clocks, mut indices) = (vec![0u32; len], vec![0u32; len]);
    // SAFETY: all pointers are valid for the calls; the arguments have the types of the kernel's
    // parameters, and the kernel writes inside the allocations.
    unsafe {
        let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
        check(cuda.cuModuleLoadData(&mut module, ptx.as_ptr().cast()))?;
        check(cuda.cuModuleGetFunction(&mut function, module, c"clocks".as_ptr()))?;
        let (mut on_device, mut also_on_device) = (0, 0);
        check(cuda.cuMemAlloc_v2(&mut on_device, bytes))?;
        check(cuda.cuMemAlloc_v2(&mut also_on_device, bytes))?;
        let mut arguments: [*mut c_void; 4] = [
            (&raw mut on_device).cast(),
            (&raw mut len).cast(),
            (&raw mut also_on_device).cast(),
            (&raw mut len).cast(),
        ];
        check(cuda.cuLaunchKernel(
            function,
            BLOCKS,
            1,
            1,
            THREADS,
            1,
            1,
            0,
            ptr::null_mut(),
            arguments.as_mut_ptr(),
            ptr::null_mut(),
        ))?;
        check(cuda.cuMemcpyDtoH_v2(clocks.as_mut_ptr().cast(), on_device, bytes))?;
        check(cuda.cuMemcpyDtoH_v2(indices.as_mut_ptr().cast(), also_on_device, bytes))?;
        check(cuda.cuMemFree_v2(on_device))?;
        check(cuda.cuMemFree_v2(also_on_device))?;
        check(cuda.cuModuleUnload(module))?;
    }
    assert!(indices.iter().copied().eq(0..BLOCKS * THREADS));
    assert!(clocks.iter().any(|&clock| clock != clocks[0]));
    println!("nvptx64_by_hand: {len} threads stored their clocks on {device}");
    Ok(())
}
