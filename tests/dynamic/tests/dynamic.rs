//! Kernels that launch kernels. On a GPU they need `libcudadevrt.a`, of the CUDA toolkit or of
//! NVIDIA's package `nvidia-cuda-runtime`; `CUST_CUDADEVRT` gives its path. Without it, nothing is
//! launched.

use cust::error::Error;
use cust::prelude::*;
use libtest_mimic::{Arguments, Failed, Trial};

const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));
const BLOCKS: u32 = 5;
const LAUNCHES: &str = "a kernel launches a kernel";

fn main() {
    let trials = vec![
        Trial::test("the module calls the device runtime", calls),
        Trial::test(LAUNCHES, || test_outcome::named(LAUNCHES, launches)),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit()
}

/// The entry's address and both calls are in the PTX, with parameters as the runtime has them.
fn calls() -> Result<(), Failed> {
    for part in [
        "__cudaCDP2GetParameterBufferV2",
        "__cudaCDP2LaunchDeviceV2",
        ", child;",
    ] {
        if !PTX.contains(part) {
            return Err(format!("`{part}` is not in the PTX").into());
        }
    }
    Ok(())
}

fn launches() -> Result<(), Failed> {
    let chosen = cust::init_auto()?;
    let context = chosen.into_context();
    let module = match Module::from_ptx(PTX, &[]) {
        Err(error @ Error::DeviceRuntime { .. }) => {
            test_outcome::skip(error);
            return Ok(());
        }
        module => module?,
    };
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let count = 32 * BLOCKS as usize;
    let from: Vec<u32> = (0..count as u32).map(|i| i * i).collect();
    let (device, blocks) = (from.as_dbuf()?, DeviceBox::new(&BLOCKS)?);
    let to = DeviceBuffer::<u64>::zeroed(count)?;
    // SAFETY: the kernel takes a number of blocks, a slice, and room for as many sums.
    unsafe {
        launch!(module.parent<<<2, 32, 0, stream>>>(
            blocks.as_device_ptr(), device.as_device_ptr(), count, to.as_device_ptr()
        ))?;
    }
    let ended = stream.synchronize();
    if context.backend() != Backend::Gpu {
        // The emulator has no device runtime, and says what it lacks.
        return match ended {
            Err(error) if error.to_string().contains("__cudaCDP2") => Ok(()),
            Err(error) => Err(format!("an unclear error: {error}").into()),
            Ok(()) => Err("the emulator launched what it has no runtime for".into()),
        };
    }
    ended?;
    let expected: Vec<u64> = (0..count)
        .map(|i| 7 + u64::from(from[i]) + 1000 * (i as u64 % 3 + 1))
        .collect();
    if to.as_host_vec()? != expected {
        return Err("the sums are wrong".into());
    }
    Ok(())
}
