//! Kernels of one name in many places, and those of the workspace's other packages.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;
use cust::prelude::*;

macro_rules! kernels {
    ($($name:ident $by:expr;)*) => {$(
        /// Adds a constant.
        #[kernel]
        pub fn $name(mut to: PerThread<u32>) {
            to.each(|_, to| *to += $by);
        }
    )*};
}
kernels! { one 1; r#match 3; }

/// Adds a value.
#[kernel]
pub fn add(value: u32, mut to: PerThread<u32>) {
    to.each(|_, to| *to += value);
}

mod r#mod {
    use cuda_std::prelude::*;

    #[kernel]
    pub fn add(r#type: u32, mut to: PerThread<u32>) {
        to.each(|_, to| *to += r#type * 10);
    }
}

#[cfg(feature = "extra")]
#[kernel]
fn extra(mut to: PerThread<u32>) {
    to.each(|_, to| *to += 100_000);
}

const FIVE: u32 = {
    #[kernel]
    fn never_launched(größe: u32, mut to: PerThread<u32>) {
        to.each(|_, to| *to += größe);
    }
    let _ = never_launched;
    5
};

fn add_in_blocks(to: &mut [u32]) -> CudaResult<()> {
    #[kernel]
    fn add(value: u32, mut to: PerThread<u32>) {
        to.each(|_, to| *to += value * 100);
    }
    cust::launch((1, 32), add::args(1, &mut *to))?;
    if to.len() > 1 {
        #[kernel]
        fn add(größe: u32, mut to: PerThread<u32>) {
            to.each(|_, to| *to += größe * 1000);
        }
        cust::launch((1, 32), add::args(1, &mut *to))?;
    }
    let closure = |to: &mut [u32]| {
        #[kernel]
        fn add(value: u32, mut to: PerThread<u32>) {
            to.each(|_, to| *to += value * 10_000);
        }
        cust::launch((1, 32), add::args(1, to))
    };
    closure(to)
}

fn main() -> CudaResult<()> {
    cust::init_auto()?;
    let mut to = vec![0; 3];
    cust::launch((1, 32), add::args(1, &mut to))?;
    cust::launch((1, 32), r#mod::add::args(1, &mut to))?;
    add_in_blocks(&mut to)?;
    #[cfg(feature = "extra")]
    cust::launch((1, 32), extra::args(&mut to))?;
    println!("own: {to:?}");
    to.fill(0);
    cust::launch((1, 32), one::args(&mut to))?;
    cust::launch((1, 32), r#match::args(&mut to))?;
    cust::launch((1, 32), kernels::map::args(|x: u32| x + FIVE, &mut to))?;
    println!("macros and closures: {to:?}");
    to.fill(0);
    cust::launch((1, 32), kernels::add::args(1, &mut to))?;
    cust::launch((1, 32), kernels::Adder::add_args(1, &mut to))?;
    cust::launch((1, 32), generated::add_3::args(&mut to))?;
    cust::launch((1, 32), generated::first::args(&mut to))?;
    cust::launch((1, 32), new::add::args(&mut to))?;
    cust::launch((1, 32), old::add::args(&mut to))?;
    println!("packages: {to:?}");
    Ok(())
}
