//! Kernels beside host code: what they share with it, and what is different on the device.

use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cust::prelude::*;
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};

/// A type and functions of both sides.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
struct Line {
    slope: f32,
    offset: f32,
}

impl Line {
    fn at(self, x: f32) -> f32 {
        self.slope * x + self.offset
    }
}

fn statistics(values: &[u32]) -> String {
    let mut counts = BTreeMap::new();
    for value in values {
        *counts.entry(value % 3).or_insert(0u32) += 1;
    }
    format!("{counts:?}")
}

fn place() -> &'static str {
    if cuda_std::is_device() {
        "device"
    } else {
        // No GPU has files.
        std::fs::metadata(".").map_or("nowhere", |_| "host")
    }
}

#[kernel]
pub fn lines(slope: f32, offset: f32, xs: &[f32], mut ys: PerThread<f32>) {
    let line = Line { slope, offset };
    for (i, y) in ys.own() {
        *y = line.at(xs[i]);
    }
}

/// A value by reference, and one that all threads change.
#[kernel]
fn by_reference(line: &Line, above: &AtomicU32, xs: &[f32], mut ys: PerThread<f32>) {
    for (i, y) in ys.own() {
        *y = line.at(xs[i]);
        if *y > 100.0 {
            above.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A kernel of the same name as another, beside what only a host has.
mod texts {
    use super::*;

    #[kernel]
    pub fn lines(values: &[u32], mut lengths: PerThread<u32>) {
        for (i, length) in lengths.own() {
            let text = statistics(&values[..i + 1]);
            println!("{}: {text}", place());
            *length = text.len() as u32;
        }
    }
}

#[kernel(block_size(64))]
pub fn reverse(#[shared] mut block: Shared<Array<u32, 64>>, from: &[u32], mut to: PerThread<u32>) {
    block.own().each(|i, element| *element = from[i]);
    block.read(|elements| {
        for (i, to) in to.own() {
            *to = elements[63 - i];
        }
    });
}

#[kernel]
pub fn numbers(xs: &[f64], mut sines: PerThread<f64>) {
    for (i, sine) in sines.own() {
        *sine = xs[i].sin() + xs[i].sqrt();
    }
}

/// Kernels named like items of the preludes: an item shadows what a glob imports.
mod common_names {
    use cuda_std::prelude::*;
    use cust::prelude::*;

    #[kernel]
    fn shared(mut to: PerThread<u32>) {
        to.each(|_, to| *to = 1);
    }

    #[kernel]
    fn warp(mut to: PerThread<u32>) {
        to.each(|_, to| *to += 20);
    }

    #[kernel]
    fn print(mut to: PerThread<u32>) {
        print!("");
        to.each(|_, to| *to += 300);
    }

    #[kernel]
    fn launch(mut to: PerThread<u32>) {
        to.each(|_, to| *to += 4000);
    }

    pub fn run() -> CudaResult<()> {
        let mut to = vec![0; 32];
        cust::launch((1, 32), shared::args(&mut to))?;
        cust::launch((1, 32), warp::args(&mut to))?;
        cust::launch((1, 32), print::args(&mut to))?;
        cust::launch((1, 32), launch::args(&mut to))?;
        assert_eq!(to, [4321; 32]);
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = cust::init_auto()?;
    println!("running on {device}, started on the {}", place());
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    let xs: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let line = Line {
        slope: 2.0,
        offset: 1.0,
    };
    let mut ys = vec![0.0; 1000];
    stream.launch((4, 256), lines::args(2.0, 1.0, &xs, &mut ys))?;
    assert!(xs.iter().zip(&ys).all(|(&x, &y)| y == line.at(x)));

    let (mut above, mut by_reference_to) = (5, vec![0.0; 1000]);
    let args = by_reference::args(&line, &mut above, &xs, &mut by_reference_to);
    stream.launch((4, 256), args)?;
    assert_eq!(
        above as usize,
        5 + ys.iter().filter(|&&y| y > 100.0).count()
    );
    assert_eq!(by_reference_to, ys);
    let args = by_reference::args(&line, &mut above, &xs, &mut by_reference_to);
    cust::launch_cpu((4, 256), args)?;
    assert_eq!(
        above as usize,
        5 + 2 * ys.iter().filter(|&&y| y > 100.0).count()
    );
    // Those that are on the device already.
    let (line_there, mut above_there) = (DeviceBox::new(&line)?, DeviceBox::new(&above)?);
    let args = by_reference::args(&line_there, &mut above_there, &xs, &mut by_reference_to);
    stream.launch((4, 256), args)?;
    assert_eq!(above_there.as_host_value()?, above + above / 2 - 2);

    let values = [3, 1, 4, 1, 5];
    let mut lengths = [0; 5];
    stream.launch((1, 5), texts::lines::args(&values, &mut lengths))?;
    for (i, &length) in lengths.iter().enumerate() {
        assert_eq!(length as usize, statistics(&values[..=i]).len());
    }

    // The panic of a kernel is an error.
    let mut lengths = [0; 6];
    let failed = stream.launch((1, 6), texts::lines::args(&values, &mut lengths));
    let message = failed.unwrap_err().to_string();
    assert!(message.contains(file!()), "{message}");
    assert!(
        message.contains("6 out of range for slice of length 5"),
        "{message}"
    );

    let from: Vec<u32> = (0..64).collect();
    let mut to = vec![0; 64];
    stream.launch((1, 64), reverse::args(&from, &mut to))?;
    assert!(to.iter().rev().eq(&from));

    let from = [0.5, 1.5, 2.5f64].as_dbuf()?;
    let mut to = DeviceBuffer::<f64>::zeroed(3)?;
    stream.launch((1, 3), numbers::args(&from, &mut to))?;
    for (found, x) in to.as_host_vec()?.into_iter().zip([0.5, 1.5, 2.5f64]) {
        assert!((found - x.sin() - x.sqrt()).abs() < 1e-14);
    }
    common_names::run()?;
    // A graph of a kernel of the program.
    let kernel = Kernel::<numbers>::own()?;
    assert!(kernel.max_active_blocks_per_multiprocessor(32.into(), 0)? > 0);
    let mut graph = GraphBuilder::new()?;
    let xs = graph.buffer(LockedBuffer::from_slice(&[0.5, 1.5, 2.5f64])?);
    let sines = graph.buffer(LockedBuffer::<f64>::zeroed(3)?);
    graph.launch(&kernel, (1, 3), numbers::args(xs.read(), sines.write()))?;
    let mut graph = graph.instantiate()?;
    graph.launch(&stream)?;
    assert_eq!(graph.get(sines)[..], to.as_host_vec()?);
    println!("all kernels gave what the host computes");
    Ok(())
}
