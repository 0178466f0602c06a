//! `network`: a small neural network that learns which points are inside a figure.
//!
//! A step of training is two launches. `propagate` computes the activations of all neurons and the
//! derivatives of the error for each sample; `learn` sums the gradient of each parameter over all
//! samples and changes the parameter. Look at `PerColumn`: a thread owns a sample's column, so
//! neighboring threads access neighboring elements, and `learn` reads whole rows. Backpropagation
//! is from Rumelhart, Hinton and Williams, "Learning representations by back-propagating errors",
//! *Nature* 323 (1986); the optimizer is that of Kingma and Ba, "Adam: a method for stochastic
//! optimization" (2014).

use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cuda_std::{PerColumn, PerThread2d};
use cust_core::DeviceCopy;

/// The neurons of each of the two hidden layers.
pub const HIDDEN: usize = 12;
/// Parameters of the first layer: two weights and a bias for each neuron.
const FIRST: usize = 3 * HIDDEN;
/// Parameters of the second layer.
const SECOND: usize = (HIDDEN + 1) * HIDDEN;
/// The number of parameters.
pub const PARAMETERS: usize = FIRST + SECOND + HIDDEN + 1;

/// Rows of the matrix of a step: the inputs (x, y and 1), the two hidden layers and the output,
/// then the derivatives of the error by the sums of the layers.
pub const ROWS: usize = 4 + 4 * HIDDEN + 1;
/// The row of the output.
pub const OUTPUT: usize = 3 + 2 * HIDDEN;
const DERIVATIVES: usize = OUTPUT + 1;

/// A parameter, with the state of the optimizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Parameter {
    /// The value.
    pub value: f32,
    /// The running mean of the gradient.
    pub mean: f32,
    /// The running mean of the gradient's square.
    pub square: f32,
}

/// The learning rate, with the corrections of the running means for the first steps.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Rate {
    /// The learning rate.
    pub rate: f32,
    /// The correction of the mean.
    pub mean: f32,
    /// The correction of the mean of the squares.
    pub square: f32,
}

impl Parameter {
    /// Changes the value against the gradient.
    pub fn learn(&mut self, gradient: f32, rate: Rate) {
        self.mean = 0.9 * self.mean + 0.1 * gradient;
        self.square = 0.99 * self.square + 0.01 * gradient * gradient;
        let deviation = (self.square * rate.square).sqrt() + 1e-6;
        self.value -= rate.rate * (self.mean * rate.mean) / deviation;
    }
}

/// The activation function, from -1 to 1. Unlike the hyperbolic tangent, it has the same bits on
/// device and host.
fn activation(x: f32) -> f32 {
    x / (1.0 + x.abs())
}

/// The derivative of the activation function at the argument for which it returns `y`.
fn slope(y: f32) -> f32 {
    let rest = 1.0 - y.abs();
    rest * rest
}

/// The activations of the neurons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activations {
    first: [f32; HIDDEN],
    second: [f32; HIDDEN],
    /// The output, from -1 to 1.
    pub output: f32,
}

/// Computes the network at a point.
#[must_use]
pub fn forward(parameters: &[f32; PARAMETERS], x: f32, y: f32) -> Activations {
    let mut first = [0.0; HIDDEN];
    for (i, to) in first.iter_mut().enumerate() {
        let at = 3 * i;
        *to = activation(parameters[at] * x + parameters[at + 1] * y + parameters[at + 2]);
    }
    let mut second = [0.0; HIDDEN];
    for (i, to) in second.iter_mut().enumerate() {
        let at = FIRST + i * (HIDDEN + 1);
        let mut sum = parameters[at + HIDDEN];
        for (j, from) in first.iter().enumerate() {
            sum += parameters[at + j] * from;
        }
        *to = activation(sum);
    }
    let at = FIRST + SECOND;
    let mut sum = parameters[at + HIDDEN];
    for (j, from) in second.iter().enumerate() {
        sum += parameters[at + j] * from;
    }
    Activations {
        first,
        second,
        output: activation(sum),
    }
}

/// Computes the rows of a sample from the first hidden layer on, and passes them to `store`.
pub fn backward(
    parameters: &[f32; PARAMETERS],
    activations: &Activations,
    target: f32,
    mut store: impl FnMut(usize, f32),
) {
    let Activations {
        first,
        second,
        output,
    } = *activations;
    store(OUTPUT, output);
    let last = (output - target) * slope(output);
    store(DERIVATIVES + 2 * HIDDEN, last);
    let mut derivatives = [0.0; HIDDEN];
    for i in 0..HIDDEN {
        derivatives[i] = last * parameters[FIRST + SECOND + i] * slope(second[i]);
        store(3 + HIDDEN + i, second[i]);
        store(DERIVATIVES + HIDDEN + i, derivatives[i]);
    }
    for i in 0..HIDDEN {
        let mut sum = 0.0;
        for (j, derivative) in derivatives.iter().enumerate() {
            sum += derivative * parameters[FIRST + j * (HIDDEN + 1) + i];
        }
        store(3 + i, first[i]);
        store(DERIVATIVES + i, sum * slope(first[i]));
    }
}

/// Returns the row of a parameter's input and that of the derivative that it is multiplied by.
#[must_use]
pub fn rows(parameter: usize) -> (usize, usize) {
    if parameter < FIRST {
        return (parameter % 3, DERIVATIVES + parameter / 3);
    }
    let at = parameter - FIRST;
    let (neuron, input) = (at / (HIDDEN + 1), at % (HIDDEN + 1));
    // The last layer follows the second one, as its neuron `HIDDEN`.
    let layer = if neuron < HIDDEN { 0 } else { HIDDEN };
    let input = if input == HIDDEN {
        2
    } else {
        3 + layer + input
    };
    (input, DERIVATIVES + HIDDEN + neuron)
}

/// Returns the gradient of a parameter, the mean over all samples.
#[must_use]
pub fn gradient(inputs: &[f32], derivatives: &[f32]) -> f32 {
    let mut sum = 0.0;
    for (input, derivative) in inputs.iter().zip(derivatives) {
        sum += input * derivative;
    }
    sum / inputs.len() as f32
}

/// Computes the rows of each sample from its inputs, which are the first three rows.
#[kernel]
pub fn propagate(
    #[shared] mut shared: Shared<Array<f32, PARAMETERS>>,
    parameters: &[Parameter],
    targets: &[f32],
    mut samples: PerColumn<f32>,
) {
    shared.own().each(|i, to| *to = parameters[i].value);
    shared.read(|parameters| {
        samples.each(|i, mut column| {
            let activations = forward(parameters, column[0], column[1]);
            backward(parameters, &activations, targets[i], |row, value| {
                column[row] = value;
            });
        });
    });
}

/// Changes each parameter against its gradient. `samples` has a column for each of the `count`
/// samples.
#[kernel]
pub fn learn(rate: Rate, count: usize, samples: &[f32], mut parameters: PerThread<Parameter>) {
    parameters.each(|i, parameter| {
        let (input, derivative) = rows(i);
        let row = |row: usize| &samples[row * count..][..count];
        parameter.learn(gradient(row(input), row(derivative)), rate);
    });
}

/// Returns the coordinate, from -1.5 to 1.5, of the middle of pixel `i` of `n`.
#[must_use]
pub fn coordinate(i: usize, n: usize) -> f32 {
    ((i as f32 + 0.5) / n as f32 - 0.5) * 3.0
}

/// Computes the output for each pixel.
#[kernel]
pub fn surface(
    #[shared] mut shared: Shared<Array<f32, PARAMETERS>>,
    parameters: &[Parameter],
    mut to: PerThread2d<f32>,
) {
    let (width, height) = (to.width(), to.height());
    shared.own().each(|i, to| *to = parameters[i].value);
    shared.read(|parameters| {
        to.each(|(x, y), to| {
            let (x, y) = (coordinate(x, width), -coordinate(y, height));
            *to = forward(parameters, x, y).output;
        });
    });
}
