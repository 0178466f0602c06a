//! The parameters' types determine the copies: `&[f32; 1024]` to the device, and `PerThread<f64>`
//! there and back. The launch waits for the results.

use cuda_std::prelude::*;
use cust::prelude::*;

#[kernel]
fn accumulate(values: &[f32; 1024], mut sums: PerThread<f64>) {
    for (i, sum) in sums.own() {
        *sum += f64::from(values[i]);
    }
}

fn main() -> CudaResult<()> {
    let device = cust::init_auto()?;
    let values: [f32; 1024] = std::array::from_fn(|i| i as f32);
    let mut sums = vec![0.5; 1024];

    for _ in 0..2 {
        cust::launch((8, 128), accumulate::args(&values, &mut sums))?;
    }

    assert!((0..1024).all(|i| sums[i] == 0.5 + 2.0 * i as f64));
    println!("offload: two launches added 1024 numbers on {device}");
    Ok(())
}
