//! Example `vecadd`: adds two vectors on the device, checks the result, and prints the memory
//! throughput.

use cust::prelude::*;
use std::error::Error;
use vecadd_kernels::vecadd;

/// The module that `build.rs` compiled from the crate `kernels`.
static KERNELS: Embedded = cust::include_module!("kernels");

const HELP: &str = "\
Adds two vectors on the device and checks the result.

usage: example-vecadd [SIZE]

SIZE is the number of floats: by default 67108864 on a GPU and 65536 on the emulator.";

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = pico_args::Arguments::from_env();
    if args.contains(["-h", "--help"]) {
        println!("{HELP}");
        return Ok(());
    }
    let size = args.opt_free_from_str()?;
    if let Some(unknown) = args.finish().first() {
        return Err(format!("unknown argument {unknown:?}\n\n{HELP}").into());
    }
    run(size)
}

fn run(size: Option<usize>) -> Result<(), Box<dyn Error>> {
    let device = cust::init_auto()?;
    println!("running on {device}");
    let size = size.unwrap_or(match device.backend() {
        Backend::Gpu => 1 << 26,
        Backend::Emulator => 1 << 16,
    });

    let a: Vec<f32> = (0..size).map(|i| (i % 1000) as f32 * 0.5).collect();
    let b: Vec<f32> = (0..size).map(|i| (i % 777) as f32 - 300.0).collect();

    let module = KERNELS.load()?;
    let vecadd_kernel = module.kernel::<vecadd>()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let a_device = a.as_dbuf()?;
    let b_device = b.as_dbuf()?;
    let mut c_device = DeviceBuffer::<f32>::zeroed(size)?;

    // Blocks of 256 threads, each thread with eight elements: which these are is the kernel's affair.
    // One element for each works too, but most of a thread's time goes into its start then.
    let config = LaunchConfig::for_elements(size.div_ceil(8), 256);
    let mut launch = || {
        let args = vecadd::args(&a_device, &b_device, &mut c_device);
        vecadd_kernel.launch(&stream, config, args)
    };
    // A GPU's first launch loads the code, so it is not timed.
    if device.backend() == Backend::Gpu {
        launch()?;
    }
    let before = Event::new(EventFlags::DEFAULT)?;
    let after = Event::new(EventFlags::DEFAULT)?;
    before.record(&stream)?;
    launch()?;
    after.record(&stream)?;
    stream.synchronize()?;
    let time = after.elapsed(&before)?;

    let c = c_device.as_host_vec()?;
    for (i, sum) in c.iter().enumerate() {
        let expected = a[i] + b[i];
        if *sum != expected {
            return Err(format!("element {i} is {sum}, but should be {expected}").into());
        }
    }
    let bytes = 3 * size * size_of::<f32>();
    println!(
        "added {size} floats in {time:.3?}: {:.3} GB/s; all sums are right",
        bytes as f64 / time.as_secs_f64() / 1e9
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_around_a_block() -> Result<(), Box<dyn std::error::Error>> {
        for size in [0, 1, 255, 256, 257, 5000] {
            super::run(Some(size))?;
        }
        Ok(())
    }
}
