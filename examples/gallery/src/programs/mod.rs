//! The programs, one in each module.

pub mod equalize;
pub mod filter;
pub mod kmeans;
pub mod life;
pub mod nbody;
pub mod network;
pub mod options;
pub mod raytracer;
pub mod spectrogram;
pub mod wave;

use crate::Program;

/// All programs.
pub static PROGRAMS: &[Program] = &[
    nbody::PROGRAM,
    filter::PROGRAM,
    wave::PROGRAM,
    raytracer::PROGRAM,
    equalize::PROGRAM,
    kmeans::PROGRAM,
    spectrogram::PROGRAM,
    options::PROGRAM,
    life::PROGRAM,
    network::PROGRAM,
];
