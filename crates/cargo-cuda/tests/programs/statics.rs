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

/// Private statics, which only host code of the same module reaches.
mod private {
    use super::*;

    #[constant]
    static LIMIT: u32 = 3;

    #[address_space(global)]
    static SUM: AtomicU32 = AtomicU32::new(0);

    #[kernel]
    fn add(xs: &[u32]) {
        let i = cuda_std::thread::index() as usize;
        if i < xs.len() && xs[i] < *LIMIT {
            SUM.fetch_add(xs[i], Ordering::Relaxed);
        }
    }

    /// A function with a counter of its own, and with a kernel that counts.
    macro_rules! counting {
        ($name:ident) => {
            pub fn $name(by: u32) -> CudaResult<u32> {
                #[address_space(global)]
                static COUNT: AtomicU32 = AtomicU32::new(0);

                #[kernel]
                fn count(by: u32) {
                    COUNT.fetch_add(by, Ordering::Relaxed);
                }

                cust::launch((1, 2), count::args(by))?;
                Global::<COUNT>::own()?.load()
            }
        };
    }
    counting!(first);
    counting!(second);

    pub fn sums() -> CudaResult<[u32; 2]> {
        let mut module = Module::own::<add>()?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
        module.launch(&stream, (1, 8), add::args(&[1, 2, 3, 4]))?;
        let before = module.global::<SUM>()?.load()?;
        module.global_mut::<LIMIT>()?.set(&5)?;
        module.launch(&stream, (1, 8), add::args(&[1, 2, 3, 4]))?;
        Ok([before, module.global::<SUM>()?.load()?])
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
    assert_eq!(private::sums()?, [3, 13]);
    assert_eq!([private::first(1)?, private::second(5)?], [2, 10]);
    assert_eq!([private::first(1)?, private::second(5)?], [4, 20]);
    let target = |ptx: &&'static str| ptx.lines().find_map(|line| line.strip_prefix(".target "));
    let archs: Vec<&str> = cust::module::own_ptx().iter().filter_map(target).collect();
    println!(
        "the statics are what the host sets, in [{}]",
        archs.join(", ")
    );
    Ok(())
}
