//! A buffer that is dropped before the arguments that borrow it.

use cuda_std::prelude::*;
use cust::prelude::*;

#[kernel]
pub fn scale(factor: f32, from: &[f32], mut to: PerThread<f32>) {
    for (i, to) in to.own() {
        *to = factor * from[i];
    }
}

fn launch(module: &Module, stream: &Stream, mut to: DeviceBuffer<f32>) -> CudaResult<()> {
    let from = DeviceBuffer::from_slice(&[1.0])?;
    let args = scale::args(2.0, &from, &mut to);
    drop(from);
    module.launch(stream, (1, 1), args)
}

fn main() {}
