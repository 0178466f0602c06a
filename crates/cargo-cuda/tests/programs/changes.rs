//! A program that the test changes.

use cuda_std::prelude::*;
use cust::prelude::*;
use std::panic::Location;

mod numbers {
    pub const ADDED: u32 = 1;

    pub fn scaled(x: u32) -> u32 {
        x * 2
    }
}

#[kernel]
fn numbers_and_line(mut to: PerThread<u32>) {
    to.each(|i, x| {
        *x = match i {
            3 => Location::caller().line(),
            _ => numbers::scaled(i as u32) + numbers::ADDED,
        }
    });
}

fn main() -> CudaResult<()> {
    let _device = cust::init_auto()?;
    let mut to = vec![0; 4];
    cust::launch((1, 1), numbers_and_line::args(&mut to))?;
    println!("numbers {to:?}");
    Ok(())
}
