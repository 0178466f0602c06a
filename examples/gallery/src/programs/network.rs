//! `network`: a small neural network that learns the shape of a heart.
//!
//! The network has two inputs, two hidden layers and an output; the device trains it on random
//! points ([the kernels](gallery_kernels::network)). The left side of the picture is the output for
//! each point of the plane, with the border of the heart in black; the right side is the mean
//! squared error, which falls with the steps. The sums are in the same order on the CPU, and all
//! functions are correctly rounded, so the CPU's network has the same bits after all steps.

use crate::picture::{Color, INK, PAPER, Picture, gradient};
use crate::{Outcome, Program, Report, Setup, Sizes, cover, equal, progress};
use cust::prelude::*;
use gallery_kernels::network::{self, OUTPUT, PARAMETERS, Parameter, ROWS, Rate};
use gallery_kernels::uniform4;

/// The program.
pub const PROGRAM: Program = Program {
    name: "network",
    about: "a neural network that learns the shape of a heart",
    sizes: Sizes {
        unit: "training points",
        least: 16,
        emulator: 512,
        gpu: 4096,
        most: 1 << 16,
    },
    run,
};

const STEPS: usize = 300;
const SIDE: usize = 150;

fn run(setup: &Setup) -> Outcome<Report> {
    let count = setup.size;
    let (module, stream) = (&setup.module, &setup.stream);
    let points = points(count);
    let targets: Vec<f32> = points.iter().map(|&(x, y)| target(x, y)).collect();
    let mut samples = vec![1.0; ROWS * count];
    for (i, (x, y)) in points.into_iter().enumerate() {
        (samples[i], samples[count + i]) = (x, y);
    }
    let mut cpu = Trainer {
        parameters: initial(),
        samples,
    };
    let mut parameters = cpu.parameters.as_dbuf()?;
    let mut samples = cpu.samples.as_dbuf()?;
    let device_targets = targets.as_dbuf()?;
    // The CPU takes long for many points, so it computes fewer steps.
    let compared = (300 * 1024 / count).clamp(1, STEPS);
    let mut errors = Vec::new();
    let bar = progress(STEPS);
    for step in 0..STEPS {
        let rate = rate(step);
        let args = network::propagate::args(&parameters, &device_targets, samples.rows_mut(count));
        module.launch(stream, LaunchConfig::for_elements(count, 64), args)?;
        let args = network::learn::args(rate, count, &samples, &mut parameters);
        module.launch(stream, LaunchConfig::for_elements(PARAMETERS, 32), args)?;
        let outputs = samples.index(OUTPUT * count..(OUTPUT + 1) * count)?;
        errors.push(mean_error(&outputs.as_host_vec()?, &targets));
        if step < compared {
            cpu.step(&targets, rate);
        }
        if step + 1 == compared {
            equal("parameters", &parameters.as_host_vec()?, &cpu.parameters)?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();

    let mut surface = DeviceBuffer::<f32>::zeroed(SIDE * SIDE)?;
    let args = network::surface::args(&parameters, surface.rows_mut(SIDE));
    module.launch(stream, cover(SIDE, SIDE), args)?;
    let surface = surface.as_host_vec()?;
    let values = values(&parameters.as_host_vec()?);
    let pixel = |i: usize| {
        let (x, y) = place(i);
        network::forward(&values, x, y).output
    };
    let expected: Vec<f32> = (0..SIDE * SIDE).map(pixel).collect();
    equal("points of the surface", &surface, &expected)?;

    let right = (0..SIDE * SIDE)
        .filter(|&i| {
            let (x, y) = place(i);
            (surface[i] > 0.0) == (target(x, y) > 0.0)
        })
        .count();
    let (first, last) = (errors[0], errors[STEPS - 1]);
    Ok(Report {
        picture: draw(&surface, &errors),
        notes: vec![
            format!("{count} points, {PARAMETERS} parameters, {STEPS} steps"),
            format!(
                "mean squared error {first:.3} before and {last:.3} after; {:.1} % of the plane is \
                 right",
                100.0 * right as f64 / (SIDE * SIDE) as f64
            ),
            format!("after {compared} steps, all parameters are equal to the CPU's, bit for bit"),
        ],
    })
}

/// Returns the output that is learned: whether a point is inside the heart.
fn target(x: f32, y: f32) -> f32 {
    let y = y + 0.1;
    let a = x * x + y * y - 1.0;
    if a * a * a < x * x * y * y * y {
        0.8
    } else {
        -0.8
    }
}

/// Returns the point of a pixel of the surface.
fn place(i: usize) -> (f32, f32) {
    (
        network::coordinate(i % SIDE, SIDE),
        -network::coordinate(i / SIDE, SIDE),
    )
}

fn points(count: usize) -> Vec<(f32, f32)> {
    let point = |i: usize| {
        let [x, y, ..] = uniform4(i as u32, 7);
        (3.0 * x - 1.5, 3.0 * y - 1.5)
    };
    (0..count).map(point).collect()
}

fn initial() -> Vec<Parameter> {
    (0..PARAMETERS)
        .map(|i| Parameter {
            value: 2.0 * uniform4(i as u32, 8)[0] - 1.0,
            ..Parameter::default()
        })
        .collect()
}

/// The learning rate of a step: constant at first, and falling in the last third.
fn rate(step: usize) -> Rate {
    let left = (STEPS - step) as f32 / STEPS as f32;
    let correction = |factor: f32| 1.0 / (1.0 - factor.powi(step as i32 + 1));
    Rate {
        rate: 0.05 * (3.0 * left).min(1.0),
        mean: correction(0.9),
        square: correction(0.99),
    }
}

fn values(parameters: &[Parameter]) -> [f32; PARAMETERS] {
    std::array::from_fn(|i| parameters[i].value)
}

fn mean_error(outputs: &[f32], targets: &[f32]) -> f32 {
    let squares = outputs.iter().zip(targets).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f32>() / targets.len() as f32
}

/// The training on the CPU.
struct Trainer {
    parameters: Vec<Parameter>,
    samples: Vec<f32>,
}

impl Trainer {
    fn step(&mut self, targets: &[f32], rate: Rate) {
        let count = targets.len();
        let values = values(&self.parameters);
        for (i, &target) in targets.iter().enumerate() {
            let (x, y) = (self.samples[i], self.samples[count + i]);
            let activations = network::forward(&values, x, y);
            network::backward(&values, &activations, target, |row, value| {
                self.samples[row * count + i] = value;
            });
        }
        for (i, parameter) in self.parameters.iter_mut().enumerate() {
            let (input, derivative) = network::rows(i);
            let row = |row: usize| &self.samples[row * count..][..count];
            parameter.learn(network::gradient(row(input), row(derivative)), rate);
        }
    }
}

fn draw(surface: &[f32], errors: &[f32]) -> Picture {
    const STOPS: [Color; 3] = [[50, 90, 170], [245, 245, 245], [200, 50, 70]];
    const GAP: usize = 12;
    let inside = |x: usize, y: usize| {
        let (x, y) = place(y * SIDE + x);
        target(x, y) > 0.0
    };
    let mut picture = Picture::new(2 * SIDE + GAP, SIDE, PAPER);
    for (i, &output) in surface.iter().enumerate() {
        let (x, y) = (i % SIDE, i / SIDE);
        let own = inside(x, y);
        let border =
            (x + 1 < SIDE && inside(x + 1, y) != own) || (y + 1 < SIDE && inside(x, y + 1) != own);
        let color = if border {
            [0; 3]
        } else {
            gradient(&STOPS, ((output + 1.0) * 8.0).round() / 16.0)
        };
        picture.set(x as isize, y as isize, color);
    }
    let left = (SIDE + GAP) as f64;
    let (width, height) = (SIDE as f64 - 1.0, SIDE as f64 - 1.0);
    let most = f64::from(errors.iter().copied().fold(0.0, f32::max)).max(1e-9);
    let at = |i: usize| {
        (
            left + i as f64 * width / (errors.len() - 1) as f64,
            height * (1.0 - f64::from(errors[i]) / most),
        )
    };
    for i in 1..errors.len() {
        picture.line(at(i - 1), at(i), [30, 80, 180]);
    }
    picture.line((left, 0.0), (left, height), INK);
    picture.line((left, height), (left + width, height), INK);
    picture
}
