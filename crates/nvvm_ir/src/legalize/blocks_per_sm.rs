//! A kernel's least number of blocks on a multiprocessor (`.minnctapersm`), where the threads of so
//! many blocks do not fit every multiprocessor.
//!
//! Between compute capabilities a multiprocessor holds 1024 to 2048 threads (CUDA programming guide,
//! technical specifications per compute capability), and PTX for one runs on all later ones. Above
//! a GPU's own number, ptxas ignores the directive, but then also loses sight of what the other
//! kernels' limits ask of the functions that they share, and refuses the module. `.maxnreg` in its
//! place is no way out: functions do not keep to it, and the module is refused as well. So the
//! number becomes the largest that every GPU can keep.

use crate::module::{KernelAttrs, Module};

/// The threads that every multiprocessor holds.
const THREADS: u64 = 1024;

/// Bounds the numbers of blocks.
pub(super) fn legalize_blocks_per_sm(module: &mut Module) {
    for func in module.funcs() {
        if let Some(kernel) = &mut module.func_mut(func).kernel {
            bound(kernel);
        }
    }
}

fn bound(kernel: &mut KernelAttrs) {
    let Some(extent) = kernel.required_threads.or(kernel.max_threads) else {
        return;
    };
    let product = |product: u64, &n: &u32| product.saturating_mul(n.max(1).into());
    let most = THREADS / extent.iter().fold(1, product);
    kernel.min_blocks = kernel
        .min_blocks
        .map(|blocks| u64::from(blocks).min(most) as u32)
        .filter(|&blocks| blocks > 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_as_many_as_fit() {
        let bounded = |threads: [u32; 3], blocks| {
            let mut kernel = KernelAttrs {
                max_threads: Some(threads),
                min_blocks: Some(blocks),
                ..KernelAttrs::default()
            };
            bound(&mut kernel);
            kernel.min_blocks
        };
        assert_eq!(bounded([256, 1, 1], 4), Some(4));
        assert_eq!(bounded([256, 1, 1], 8), Some(4));
        assert_eq!(bounded([16, 16, 1], 5), Some(4));
        assert_eq!(bounded([1024, 1, 1], 100), Some(1));
        assert_eq!(bounded([u32::MAX; 3], u32::MAX), None);
    }
}
