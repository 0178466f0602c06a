//! A single-pass scan.

use super::Scale;
use crate::case::{Args, Buffer, Case, download, random, samples, upload, zeroed};
use bench_kernels::scan::{THREADS, TILE};
use cust::error::CudaResult;
use cust::vector::U32x4;

pub fn scan(scale: Scale) -> CudaResult<Case> {
    let tiles = scale.pick(40, (1 << 28) / TILE);
    let n = tiles * TILE;
    let values: Vec<u32> = (0..n as u64).map(|i| random(i) as u32).collect();
    let from = upload(&values)?;
    let states: Buffer<u64> = zeroed(tiles)?;
    let to: Buffer<u32> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&states).pointer(&to);
    Ok(Case::new("scan", tiles, THREADS)
        .args(
            pointers.clone(),
            pointers,
            Args::new()
                .vectors::<U32x4>(&from)
                .slice(&states)
                .output_vectors::<U32x4>(&to),
        )
        .input(&from)
        .output_from(&states, 0)
        .output(&to)
        .reset()
        .cub("cub_scan", &from, &to)
        .bytes(8 * n)
        .check(move || {
            let results = download(&to)?;
            let mut wanted = samples(n).peekable();
            let mut sum = 0u32;
            for (i, x) in values.iter().enumerate() {
                if wanted.peek() == Some(&i) {
                    wanted.next();
                    if results[i] != sum {
                        return Err(format!(
                            "element {i} is {}, but should be {sum}",
                            results[i]
                        ));
                    }
                }
                sum = sum.wrapping_add(*x);
            }
            Ok(())
        }))
}
