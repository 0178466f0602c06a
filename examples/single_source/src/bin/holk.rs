//! The vector addition of Holk et al. (2013), the first kernel published in Rust: two vectors in, one
//! out, host and device in one file.

use cuda_std::prelude::*;
use cust::prelude::*;

#[kernel]
fn add_vectors(x: &[f64], y: &[f64], mut z: PerThread<f64>) {
    z.each_with((x, y), |_, z, (x, y)| *z = x + y);
}

fn main() -> CudaResult<()> {
    let device = cust::init_auto()?;
    let x: Vec<f64> = (0..1024).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| x * 10.0).collect();
    let mut z = vec![0.0; x.len()];

    cust::launch((4, 256), add_vectors::args(&x, &y, &mut z))?;

    assert!((0..z.len()).all(|i| z[i] == x[i] + y[i]));
    println!("holk: added {} numbers on {device}", z.len());
    Ok(())
}
