//! Example `async`: a miniature server. Many requests are pending at the same time, each a tokio
//! task on one host thread; they share a few streams, and none of them blocks.

use cust::prelude::*;
use std::error::Error;
use std::rc::Rc;
use tokio::sync::Semaphore;
use vecadd_kernels::vecadd;

/// The module that `build.rs` compiled from the kernels.
static KERNELS: Embedded = cust::include_module!("kernels");

const HELP: &str = "\
Answers many requests at the same time, on one thread, with tokio.

usage: example-async [REQUESTS]

REQUESTS is how many there are: by default 64.";

/// Requests that are worked on at the same time.
const AT_ONCE: usize = 16;
/// Floats in each.
const SIZE: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = pico_args::Arguments::from_env();
    if args.contains(["-h", "--help"]) {
        println!("{HELP}");
        return Ok(());
    }
    let requests = args.opt_free_from_str()?.unwrap_or(64);
    if let Some(unknown) = args.finish().first() {
        return Err(format!("unknown argument {unknown:?}\n\n{HELP}").into());
    }
    run(requests)
}

/// The state that all requests share.
struct Server {
    module: Module,
    streams: Vec<Stream>,
    /// As many may work at once: each needs memory.
    places: Semaphore,
}

impl Server {
    /// Adds two vectors on the device. Other requests go on while this one waits.
    async fn add(&self, number: usize) -> CudaResult<f32> {
        let _place = self.places.acquire().await;
        let stream = &self.streams[number % self.streams.len()];
        let pinned = |value: f32| LockedBuffer::new(&value, SIZE);
        let (a, b) = (pinned(number as f32)?, pinned(0.5)?);
        let mut a_device = DeviceBuffer::<f32>::zeroed(SIZE)?;
        let mut b_device = DeviceBuffer::<f32>::zeroed(SIZE)?;
        let mut c_device = DeviceBuffer::<f32>::zeroed(SIZE)?;
        let mut c = pinned(0.0)?;

        stream.upload(&a, &mut a_device)?;
        stream.upload(&b, &mut b_device)?;
        let config = LaunchConfig::for_elements(SIZE, 256);
        let args = vecadd::args(&a_device, &b_device, &mut c_device);
        self.module.launch(stream, config, args)?;
        stream.download(&c_device, &mut c)?;
        stream.completion()?.await?;
        Ok(c.iter().sum())
    }
}

fn run(requests: usize) -> Result<(), Box<dyn Error>> {
    let device = cust::init_auto()?;
    println!("running on {device}");
    let stream = || Stream::new(StreamFlags::NON_BLOCKING, None);
    let server = Rc::new(Server {
        module: KERNELS.load()?,
        streams: vec![stream()?, stream()?, stream()?, stream()?],
        places: Semaphore::new(AT_ONCE),
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let tasks = tokio::task::LocalSet::new();
    let sums: Vec<f32> = tasks.block_on(&runtime, async {
        let start = |number| {
            let server = Rc::clone(&server);
            tokio::task::spawn_local(async move { server.add(number).await })
        };
        let handles: Vec<_> = (0..requests).map(start).collect();
        let mut sums = Vec::new();
        for handle in handles {
            sums.push(handle.await??);
        }
        Ok::<_, Box<dyn Error>>(sums)
    })?;
    for (number, sum) in sums.iter().enumerate() {
        let expected: f32 = (0..SIZE).map(|_| number as f32 + 0.5).sum();
        if *sum != expected {
            return Err(format!("request {number} is {sum}, but should be {expected}").into());
        }
    }
    println!("answered {requests} requests, {AT_ONCE} at once, on one thread; all are right");
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn fewer_and_more_requests_than_places() -> Result<(), Box<dyn std::error::Error>> {
        for requests in [0, 1, 7, 40] {
            super::run(requests)?;
        }
        Ok(())
    }
}
