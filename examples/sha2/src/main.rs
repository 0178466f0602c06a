//! Example `sha2`: hashes many inputs in parallel with the crate `sha2`, and compares with the CPU.

use cust::prelude::*;
use sha2::{Digest, Sha256};
use sha2_kernels::Hash;
use std::error::Error;
use std::time::Instant;

/// The module that `build.rs` compiled from the crate `kernels`.
static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

const HELP: &str = "\
Hashes many inputs of different lengths with SHA-256 on the device and checks the hashes.

usage: example-sha2 [COUNT]

COUNT is how many inputs: by default 1048576 on a GPU and 512 on the emulator.";

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = pico_args::Arguments::from_env();
    if args.contains(["-h", "--help"]) {
        println!("{HELP}");
        return Ok(());
    }
    let count = args.opt_free_from_str()?;
    if let Some(unknown) = args.finish().first() {
        return Err(format!("unknown argument {unknown:?}\n\n{HELP}").into());
    }
    run(count)
}

fn run(count: Option<usize>) -> Result<(), Box<dyn Error>> {
    let device = cust::init_auto()?;
    println!("running on {device}");
    let count = count.unwrap_or(match device.backend() {
        Backend::Gpu => 1 << 20,
        Backend::Emulator => 512,
    });

    // Lengths around those at which the padding changes: 0, 55, 56, 64, 119 and so on.
    let mut bytes = Vec::new();
    let mut ends = Vec::with_capacity(count);
    for i in 0..count {
        bytes.extend((0..i % 200).map(|k| (i * 31 + k * 7) as u8));
        ends.push(u32::try_from(bytes.len())?);
    }

    let module = Module::from_ptx(PTX, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let bytes_device = bytes.as_dbuf()?;
    let ends_device = ends.as_dbuf()?;
    let hashes_device = DeviceBuffer::<Hash>::zeroed(count)?;
    let grid = u32::try_from(count.div_ceil(128))?.max(1);
    let start = Instant::now();
    // SAFETY: there is a hash for each input, and the buffers live until the stream is
    // synchronized.
    unsafe {
        launch!(module.sha256<<<grid, 128, 0, stream>>>(
            bytes_device.as_device_ptr(),
            bytes_device.len(),
            ends_device.as_device_ptr(),
            ends_device.len(),
            hashes_device.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    let time = start.elapsed();

    let mut from = 0;
    for (i, hash) in hashes_device.as_host_vec()?.iter().enumerate() {
        let to = ends[i] as usize;
        let expected: Hash = Sha256::digest(&bytes[from..to]).into();
        if *hash != expected {
            return Err(format!("hash {i} is {hash:02x?}, but should be {expected:02x?}").into());
        }
        from = to;
    }
    println!(
        "hashed {count} inputs ({} bytes) in {time:.3?}; all hashes are right",
        bytes.len()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn all_lengths_of_padding() -> Result<(), Box<dyn std::error::Error>> {
        super::run(Some(0))?;
        super::run(Some(200))
    }
}
