//! Statics in single source: constants and counters, in the program's module and in one of their
//! own.

use cuda_std::prelude::*;
use cust::module::Global;
use cust::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

#[constant]
pub static FACTORS: [f32; 4] = [1.0; 4];

#[address_space(constant)]
pub static mut OFFSET: f32 = 0.5;

#[address_space(global)]
pub static HITS: AtomicU32 = AtomicU32::new(0);

#[kernel]
pub fn scale(mut ys: PerThread<f32>) {
    for (i, y) in ys.own() {
        // SAFETY: the host changes it only while no kernel runs.
        *y = *y * FACTORS[i % 4] + unsafe { OFFSET };
        HITS.fetch_add(1, Ordering::Relaxed);
    }
}

fn main() -> CudaResult<()> {
    let _context = cust::init_auto()?;
    let mut ys = vec![2.0f32; 6];
    cust::launch((1, 8), scale::args(&mut ys))?;
    assert_eq!(ys, [2.5; 6]);
    assert_eq!(Global::<HITS>::own()?.load()?, 6);
    let mut module = Module::own::<scale>()?;
    assert_eq!(module.global::<HITS>()?.load()?, 0);
    module.global_mut::<FACTORS>()?.set(&[1.0, 2.0, 3.0, 4.0])?;
    module.global_mut::<OFFSET>()?.set(&0.0)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    module.launch(&stream, (1, 8), scale::args(&mut ys))?;
    assert_eq!(ys, [2.5, 5.0, 7.5, 10.0, 2.5, 5.0]);
    assert_eq!(module.global::<HITS>()?.load()?, 6);
    let target = |ptx: &&'static str| ptx.lines().find_map(|line| line.strip_prefix(".target "));
    let archs: Vec<&str> = cust::module::own_ptx().iter().filter_map(target).collect();
    println!(
        "the statics are what the host sets, in [{}]",
        archs.join(", ")
    );
    Ok(())
}
