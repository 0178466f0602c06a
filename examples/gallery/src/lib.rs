//! Example `gallery`: programs that compute pictures on the device, each compared with the same
//! computation on the CPU.

#![forbid(unsafe_code)]

pub mod picture;
pub mod programs;

use cust::prelude::*;
use indicatif::{ProgressBar, ProgressStyle};
use picture::Picture;
use std::error::Error;
use std::fmt::Debug;

pub use programs::PROGRAMS;

/// The kernels, compiled by `build.rs`.
pub static KERNELS: Embedded = cust::include_module!("gallery");

/// The result of the example's functions.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A program of the gallery.
pub struct Program {
    /// The name on the command line.
    pub name: &'static str,
    /// A line about the program.
    pub about: &'static str,
    /// The sizes that it runs with.
    pub sizes: Sizes,
    /// Computes the picture.
    pub run: fn(&Setup) -> Outcome<Report>,
}

/// The sizes of a program.
pub struct Sizes {
    /// The unit of the size.
    pub unit: &'static str,
    /// The smallest size.
    pub least: usize,
    /// The default on the emulator.
    pub emulator: usize,
    /// The default on a GPU.
    pub gpu: usize,
    /// The largest size.
    pub most: usize,
}

/// The environment of a program.
pub struct Setup {
    /// The kernels.
    pub module: Module,
    /// The stream of all launches.
    pub stream: Stream,
    /// The size, within the program's limits.
    pub size: usize,
}

/// The output of a program whose results on the device were equal to the CPU's.
pub struct Report {
    /// The picture.
    pub picture: Picture,
    /// Lines for the user about the computation and the comparison.
    pub notes: Vec<String>,
}

/// Returns the program of this name.
///
/// # Errors
/// Fails if no program has the name.
pub fn find(name: &str) -> Outcome<&'static Program> {
    let program = PROGRAMS.iter().find(|program| program.name == name);
    program.ok_or_else(|| {
        let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        format!(
            "unknown program `{name}`, expected one of {}",
            names.join(", ")
        )
        .into()
    })
}

/// Runs a program on the current device.
///
/// # Errors
/// Fails if the size is out of the program's limits, if a call of the driver fails, or if the
/// device's results differ from the CPU's.
pub fn run(program: &Program, size: Option<usize>, backend: Backend) -> Outcome<Report> {
    let sizes = &program.sizes;
    let size = size.unwrap_or(match backend {
        Backend::Gpu => sizes.gpu,
        Backend::Emulator => sizes.emulator,
    });
    if !(sizes.least..=sizes.most).contains(&size) {
        return Err(format!(
            "invalid size {size} for `{}`: expected {} to {} {}",
            program.name, sizes.least, sizes.most, sizes.unit
        )
        .into());
    }
    (program.run)(&Setup {
        module: KERNELS.load()?,
        stream: Stream::new(StreamFlags::NON_BLOCKING, None)?,
        size,
    })
}

/// Returns a progress bar, which is visible only on a terminal.
#[must_use]
pub fn progress(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len}, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(steps as u64).with_style(style)
}

/// Returns the blocks of 16 by 8 threads that cover a matrix.
#[must_use]
pub fn cover(width: usize, height: usize) -> LaunchConfig {
    let blocks = (width.div_ceil(16) as u32, height.div_ceil(8) as u32);
    LaunchConfig::new(blocks, (16, 8))
}

/// Checks that the device's values are those of the CPU.
///
/// # Errors
/// Fails at the first difference.
pub fn equal<T: PartialEq + Debug>(what: &str, device: &[T], cpu: &[T]) -> Outcome {
    if device.len() != cpu.len() {
        return Err(format!("{} {what}, but {} on the CPU", device.len(), cpu.len()).into());
    }
    match (0..cpu.len()).find(|&i| device[i] != cpu[i]) {
        Some(i) => Err(format!(
            "{what}: element {i} is {:?}, but {:?} on the CPU",
            device[i], cpu[i]
        )
        .into()),
        None => Ok(()),
    }
}
