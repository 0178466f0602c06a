//! Adds two vectors of the host to a buffer on the device. The kernel's name is a type with the types
//! of its parameters: a launch with other arguments does not compile.

use cuda_std::prelude::*;
use cust::prelude::*;

#[kernel]
fn vadd(a: &[f32], b: &[f32], mut c: PerThread<f32>) {
    // Threads behind the last element have no element.
    for (i, c) in c.own() {
        *c = a[i] + b[i];
    }
}

fn main() -> CudaResult<()> {
    let device = cust::init_auto()?;
    let n = 500;
    let (a, b) = (vec![1.0; n], vec![2.0; n]);
    let mut c = DeviceBuffer::zeroed(n)?;

    cust::launch((128, 4), vadd::args(&a, &b, &mut c))?;

    assert_eq!(c.as_host_vec()?, vec![3.0; n]);
    println!("vadd: added {n} numbers on {device}");
    Ok(())
}
