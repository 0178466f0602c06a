//! Training of networks: an optimizer's step, the loss of classifiers, and quantized rows.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, I8x4};
use cuda_std::{AnyBits, PerBlock, group, warp};

/// The part of the old mean that Adam keeps.
pub const BETA1: f32 = 0.9;
/// The part of the old mean of squares that Adam keeps.
pub const BETA2: f32 = 0.999;
/// The term that is added to denominators.
pub const EPSILON: f32 = 1e-8;
/// The decay of weights.
pub const DECAY: f32 = 0.01;

/// The state of a weight in Adam's method.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// The mean of the gradient.
    pub mean: f32,
    /// The mean of the gradient's square.
    pub square: f32,
}

impl Moments {
    /// Returns the moments after a gradient.
    #[inline(always)]
    pub fn update(self, gradient: f32) -> Moments {
        Moments {
            mean: BETA1 * self.mean + (1.0 - BETA1) * gradient,
            square: BETA2 * self.square + (1.0 - BETA2) * gradient * gradient,
        }
    }

    /// Returns the change of the weight. The corrections are those of the moments' bias.
    #[inline(always)]
    pub fn step(self, rate: f32, correction1: f32, correction2: f32) -> f32 {
        let square = self.square / correction2;
        rate * (self.mean / correction1) / (square.sqrt() + EPSILON)
    }
}

/// A step of the optimizer AdamW: updates the moments and the weights.
#[kernel(block_size(256))]
pub fn adam_step_safe(
    gradients: &[f32],
    rate: f32,
    correction1: f32,
    correction2: f32,
    mut means: PerThread<f32>,
    mut squares: PerThread<f32>,
    mut weights: PerThread<f32>,
) {
    let state = means.own().zip(squares.own()).zip(weights.own());
    for (((i, mean), (_, square)), (_, weight)) in state {
        let moments = Moments {
            mean: *mean,
            square: *square,
        };
        let moments = moments.update(gradients[i]);
        *mean = moments.mean;
        *square = moments.square;
        *weight -= rate * DECAY * *weight + moments.step(rate, correction1, correction2);
    }
}

/// A step of the optimizer AdamW: see [`adam_step_safe()`].
#[kernel(block_size(256))]
pub unsafe fn adam_step_raw(
    gradients: *const f32,
    rate: f32,
    correction1: f32,
    correction2: f32,
    means: *mut f32,
    squares: *mut f32,
    weights: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let moments = Moments {
        mean: *means.add(i),
        square: *squares.add(i),
    };
    let moments = moments.update(*gradients.add(i));
    *means.add(i) = moments.mean;
    *squares.add(i) = moments.square;
    let weight = *weights.add(i);
    *weights.add(i) =
        weight - (rate * DECAY * weight + moments.step(rate, correction1, correction2));
}

/// The label of rows without a loss.
pub const IGNORED: i32 = -100;

/// The largest of some logits, and the sum of their exponentials, relative to the largest one.
#[derive(Clone, Copy, Debug, AnyBits)]
#[repr(C)]
struct LogSum {
    largest: f32,
    sum: f32,
}

impl LogSum {
    /// No logits.
    const EMPTY: LogSum = LogSum {
        largest: f32::MIN,
        sum: 0.0,
    };

    /// Adds a logit.
    #[inline(always)]
    fn push(&mut self, logit: f32) {
        if logit > self.largest {
            self.sum *= (self.largest - logit).exp();
            self.largest = logit;
        }
        self.sum += (logit - self.largest).exp();
    }

    /// Returns both logits.
    #[inline(always)]
    fn merge(self, other: LogSum) -> LogSum {
        let largest = self.largest.max(other.largest);
        let part = |of: LogSum| of.sum * (of.largest - largest).exp();
        LogSum {
            largest,
            sum: part(self) + part(other),
        }
    }

    /// Returns the logarithm of the sum of the exponentials.
    #[inline(always)]
    fn value(self) -> f32 {
        self.largest + self.sum.ln()
    }
}

/// The cross entropy of each row of logits with the row's label. A block has one row.
#[kernel(block_size(256))]
pub fn cross_entropy_safe(
    logits: &[f32],
    classes: usize,
    labels: &[i32],
    mut losses: PerBlock<f32>,
) {
    for mut piece in losses.pieces() {
        let row = piece.start();
        let Ok(label) = usize::try_from(labels[row]) else {
            piece.each(|_, loss| *loss = 0.0);
            continue;
        };
        let logits = &logits[row * classes..][..classes];
        let mut sum = LogSum::EMPTY;
        for i in thread::block_stride(classes) {
            sum.push(logits[i]);
        }
        let sum = group::block().reduce(sum, LogSum::merge);
        piece.each(|_, loss| *loss = sum.value() - logits[label]);
    }
}

/// The cross entropy of each row of logits with the row's label: see [`cross_entropy_safe()`].
#[kernel(block_size(256))]
pub unsafe fn cross_entropy_raw(
    logits: *const f32,
    classes: usize,
    labels: *const i32,
    losses: *mut f32,
) {
    let shared = shared_array![LogSum; 8];
    let thread = thread::thread_idx_x() as usize;
    let row = thread::block_idx_x() as usize;
    let label = *labels.add(row);
    if label < 0 {
        if thread == 0 {
            *losses.add(row) = 0.0;
        }
        return;
    }
    let logits = logits.add(row * classes);
    let mut sum = LogSum::EMPTY;
    let mut i = thread;
    while i < classes {
        sum.push(*logits.add(i));
        i += 256;
    }
    for distance in [16, 8, 4, 2, 1] {
        sum = sum.merge(LogSum {
            largest: warp::shuffle_down(warp::FULL, sum.largest, distance),
            sum: warp::shuffle_down(warp::FULL, sum.sum, distance),
        });
    }
    if thread % 32 == 0 {
        *shared.add(thread / 32) = sum;
    }
    thread::sync_threads();
    if thread == 0 {
        for warp in 1..8 {
            sum = sum.merge(*shared.add(warp));
        }
        *losses.add(row) = sum.value() - *logits.add(label as usize);
    }
}

/// The number of columns of a quantized matrix, in vectors of four.
pub const VECTORS: usize = 1024;

/// Returns the nearest byte of a scaled number.
#[inline(always)]
pub fn to_byte(x: f32) -> i8 {
    x.round_ties_even() as i8
}

/// Quantizes each row of a matrix to bytes from -127 to 127 with a scale per row. A block has one
/// row.
#[kernel(block_size(256))]
pub fn quantize_rows_safe(
    from: &[F32x4],
    mut scales: PerBlock<f32>,
    mut to: PerBlock<I8x4, VECTORS>,
) {
    for mut row in to.pieces() {
        let largest = thread::block_stride(row.len())
            .map(|i| from[row.start() + i])
            .flat_map(|vector| vector.0)
            .fold(0.0, |largest: f32, x| largest.max(x.abs()));
        let largest = group::block().reduce(largest, f32::max);
        let factor = if largest > 0.0 { 127.0 / largest } else { 0.0 };
        row.each(|i, to| {
            *to = I8x4(from[i].0.map(|x| to_byte(x * factor)));
        });
        scales.each(|_, scale| *scale = largest / 127.0);
    }
}

/// Quantizes each row of a matrix to bytes: see [`quantize_rows_safe()`].
#[kernel(block_size(256))]
pub unsafe fn quantize_rows_raw(
    from: *const F32x4,
    scales: *mut f32,
    to: *mut I8x4,
    vectors: usize,
) {
    let shared = shared_array![f32; 8];
    let thread = thread::thread_idx_x() as usize;
    let row = thread::block_idx_x() as usize;
    let (from, to) = (from.add(row * vectors), to.add(row * vectors));
    let mut largest = 0.0f32;
    for i in (thread..vectors).step_by(256) {
        let vector = *from.add(i);
        for k in 0..4 {
            largest = largest.max(vector.0[k].abs());
        }
    }
    for distance in [16, 8, 4, 2, 1] {
        largest = largest.max(warp::shuffle_xor(warp::FULL, largest, distance));
    }
    if thread % 32 == 0 {
        *shared.add(thread / 32) = largest;
    }
    thread::sync_threads();
    for warp in 0..8 {
        largest = largest.max(*shared.add(warp));
    }
    let factor = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    for i in (thread..vectors).step_by(256) {
        let vector = *from.add(i);
        *to.add(i) = I8x4::new(
            to_byte(vector.0[0] * factor),
            to_byte(vector.0[1] * factor),
            to_byte(vector.0[2] * factor),
            to_byte(vector.0[3] * factor),
        );
    }
    if thread == 0 {
        *scales.add(row) = largest / 127.0;
    }
}
