//! Limits a kernel's minimum number of blocks per multiprocessor (`.minnctapersm`) to what every
//! supported multiprocessor can hold.
//!
//! Between compute capabilities a multiprocessor holds 1024 to 2048 threads (CUDA programming
//! guide, technical specifications per compute capability: 1024 at 7.5, 1536 or 2048 from 8.0 on),
//! and PTX for one compute capability runs on all later ones. If the value exceeds a GPU's limit,
//! ptxas ignores the directive, but then also ignores the limits that other kernels impose on
//! shared functions, and rejects the module. `.maxnreg` is no alternative: functions do not observe
//! it, and the module is rejected too. The value is therefore reduced to the largest that all of
//! these GPUs can hold.

use super::Target;
use crate::module::{KernelAttrs, Module};

/// Limits the number of blocks of each kernel.
pub(super) fn legalize_blocks_per_sm(module: &mut Module, target: &Target) {
    // The number of threads that every multiprocessor holds, from this architecture on.
    let threads = if target.sm < 80 { 1024 } else { 1536 };
    for func in module.funcs() {
        if let Some(kernel) = &mut module.func_mut(func).kernel {
            bound(kernel, threads);
        }
    }
}

fn bound(kernel: &mut KernelAttrs, threads: u64) {
    let Some(extent) = kernel.required_threads.or(kernel.max_threads) else {
        return;
    };
    let product = |product: u64, &n: &u32| product.saturating_mul(n.max(1).into());
    let most = threads / extent.iter().fold(1, product);
    kernel.min_blocks = kernel
        .min_blocks
        .map(|blocks| u64::from(blocks).min(most) as u32)
        .filter(|&blocks| blocks > 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_per_sm_are_limited_to_what_fits() {
        let bounded = |block: [u32; 3], blocks| {
            let mut kernel = KernelAttrs {
                max_threads: Some(block),
                min_blocks: Some(blocks),
                ..KernelAttrs::default()
            };
            bound(&mut kernel, 1024);
            kernel.min_blocks
        };
        assert_eq!(bounded([256, 1, 1], 4), Some(4));
        assert_eq!(bounded([256, 1, 1], 8), Some(4));
        assert_eq!(bounded([16, 16, 1], 5), Some(4));
        assert_eq!(bounded([1024, 1, 1], 100), Some(1));
        assert_eq!(bounded([u32::MAX; 3], u32::MAX), None);
    }
}
