//! Kernels of the chapter "Memory".

// ANCHOR: sums
use cuda_std::prelude::*;

/// Sums each column of a matrix: neighboring threads read neighboring elements.
#[kernel]
pub fn column_sums(from: &[f32], width: usize, mut to: PerThread<f32>) {
    to.each(|x, to| *to = from.iter().skip(x).step_by(width).sum());
}

/// Sums each row of a matrix: neighboring threads read elements that are a row apart.
#[kernel]
pub fn row_sums(from: &[f32], width: usize, mut to: PerThread<f32>) {
    to.each(|y, to| *to = from[y * width..][..width].iter().sum());
}
// ANCHOR_END: sums

// ANCHOR: particles
use cust_core::DeviceCopy;

/// A particle, in an array of structs: a warp that reads all `mass`es reads every third value.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Particle {
    /// The position along the line.
    pub position: f32,
    /// The velocity.
    pub velocity: f32,
    /// The mass.
    pub mass: f32,
}

/// Moves particles by a time step.
#[kernel]
pub fn step(dt: f32, mut particles: PerThread<Particle>) {
    particles.each(|_, p| p.position += p.velocity * dt);
}

/// Moves particles by a time step: a struct of arrays.
#[kernel]
pub fn step_arrays(dt: f32, velocity: &[f32], mut position: PerThread<f32>) {
    position.each_with(velocity, |_, position, velocity| *position += velocity * dt);
}
// ANCHOR_END: particles

// ANCHOR: constant
/// The coefficients of a polynomial, which the host sets.
#[constant]
pub static COEFFICIENTS: [f32; 4] = [0.0; 4];

/// Evaluates the polynomial at each point.
#[kernel]
pub fn polynomial(at: &[f32], mut to: PerThread<f32>) {
    to.each_with(at, |_, to, x| {
        *to = COEFFICIENTS.iter().rev().fold(0.0, |sum, c| sum * x + c);
    });
}
// ANCHOR_END: constant
