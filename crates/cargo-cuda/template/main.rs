use cuda_std::prelude::*;
use cust::prelude::*;

/// Adds two vectors on the device.
#[kernel]
fn vecadd(a: &[f32], b: &[f32], mut c: PerThread<f32>) {
    // Each thread has elements of `c` that no other thread has.
    for (i, c) in c.own() {
        *c = a[i] + b[i];
    }
}

fn main() -> CudaResult<()> {
    let device = cust::init_auto()?;

    let a: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let b = vec![0.5; a.len()];
    let mut c = vec![0.0; a.len()];

    // 4 blocks of 256 threads. The vectors are copied to the device, and `c` back.
    cust::launch((4, 256), vecadd::args(&a, &b, &mut c))?;

    assert!((0..a.len()).all(|i| c[i] == a[i] + b[i]));
    println!("added {} numbers on {device}", c.len());
    Ok(())
}
