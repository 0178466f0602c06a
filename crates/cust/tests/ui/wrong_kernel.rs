//! Arguments of one kernel for another.

use cuda_std::prelude::*;
use cust::prelude::*;

#[kernel]
pub fn one(_n: u32) {}

#[kernel]
pub fn other(_n: u32) {}

fn launch(module: &Module, stream: &Stream) -> CudaResult<()> {
    let kernel = module.kernel::<one>()?;
    kernel.launch(stream, (1, 1), other::args(3))
}

fn main() {}
