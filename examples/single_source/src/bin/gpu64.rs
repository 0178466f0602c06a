//! A kernel that sets each element to its index: with a slice of the host, which the launch copies
//! there and back, and with a buffer on the device.

use cuda_std::prelude::*;
use cust::prelude::*;

#[kernel]
fn gpu64(mut arr: PerThread<i32>) {
    arr.each(|i, element| *element = i as i32);
}

fn main() -> CudaResult<()> {
    let device = cust::init_auto()?;
    let expected: Vec<i32> = (0..256).collect();

    let mut arr = vec![1; 256];
    cust::launch((4, 64), gpu64::args(&mut arr))?;
    assert_eq!(arr, expected);

    // Explicit copies: this launch does not wait, and the copy to the host does.
    let mut on_device = vec![1; 256].as_dbuf()?;
    cust::launch((4, 64), gpu64::args(&mut on_device))?;
    assert_eq!(on_device.as_host_vec()?, expected);

    println!("gpu64: 256 elements are their indices, on {device}");
    Ok(())
}
