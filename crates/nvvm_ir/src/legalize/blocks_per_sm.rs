//! A kernel's least number of blocks on a multiprocessor (`.minnctapersm`), where the threads of so
//! many blocks do not fit every multiprocessor.
//!
//! Between compute capabilities a multiprocessor holds 1024 to 2048 threads (CUDA programming guide,
//! technical specifications per compute capability). Above its own number, ptxas ignores the
//! directive, but then also loses sight of what the other kernels' limits ask of the functions that
//! they share, and refuses the module. What the directive is for, fewer registers, is the same
//! everywhere, since all have 65536 of them: so the kernel gets that limit.

use crate::module::{KernelAttrs, Module};

/// The threads that every multiprocessor holds.
const THREADS: u64 = 1024;

/// A multiprocessor's registers, and how they are counted.
const REGISTERS: u64 = 65536;
const UNIT: u64 = 8;
const LEAST: u64 = 16;
const MOST: u64 = 255;

/// Turns numbers of blocks into numbers of registers.
pub(super) fn legalize_blocks_per_sm(module: &mut Module) {
    for func in module.funcs() {
        if let Some(kernel) = &mut module.func_mut(func).kernel {
            bound_registers(kernel);
        }
    }
}

fn bound_registers(kernel: &mut KernelAttrs) {
    let Some(blocks) = kernel.min_blocks else {
        return;
    };
    let Some(extent) = kernel.required_threads.or(kernel.max_threads) else {
        return;
    };
    let threads = extent
        .iter()
        .fold(u64::from(blocks), |product, &n| {
            product.saturating_mul(n.max(1).into())
        })
        .max(1);
    if threads <= THREADS {
        return;
    }
    let share = (REGISTERS / threads / UNIT * UNIT).clamp(LEAST, MOST) as u32;
    kernel.min_blocks = None;
    kernel.max_registers = Some(kernel.max_registers.map_or(share, |n| n.min(share)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_and_the_rest_is_a_share_of_the_registers() {
        let bounded = |threads: [u32; 3], blocks, registers| {
            let mut kernel = KernelAttrs {
                max_threads: Some(threads),
                min_blocks: Some(blocks),
                max_registers: registers,
                ..KernelAttrs::default()
            };
            bound_registers(&mut kernel);
            (kernel.min_blocks, kernel.max_registers)
        };
        assert_eq!(bounded([256, 1, 1], 4, None), (Some(4), None));
        assert_eq!(bounded([256, 1, 1], 8, None), (None, Some(32)));
        assert_eq!(bounded([16, 16, 1], 6, None), (None, Some(40)));
        assert_eq!(bounded([256, 1, 1], 8, Some(24)), (None, Some(24)));
        assert_eq!(bounded([1024, 1, 1], 100, None), (None, Some(16)));
        assert_eq!(bounded([u32::MAX; 3], u32::MAX, None), (None, Some(16)));
    }
}
