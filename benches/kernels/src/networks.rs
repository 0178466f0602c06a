//! Networks: a normalization with a residual, the cell of a recurrent network, and an activation.

use cuda_std::half::{Bf16, Bf16x2};
use cuda_std::prelude::*;
use cuda_std::{PerBlock, PerThread2d, group, warp};

/// The number of columns of the RMS norm's matrix.
pub const HIDDEN: usize = 4096;
/// The term that is added to mean squares.
pub const EPSILON: f32 = 1e-6;

/// Adds a residual to each row, and divides the sum by its root mean square, times `weights`. A
/// block has one row.
#[kernel(block_size(512))]
pub fn rms_norm_safe(
    from: &[f32],
    residual: &[f32],
    weights: &[f32],
    mut sums: PerBlock<f32, HIDDEN>,
    mut to: PerBlock<f32, HIDDEN>,
) {
    let block = group::block();
    for (mut sums, mut to) in sums.pieces().zip(to.pieces()) {
        let start = sums.start();
        let mut squares = 0.0;
        sums.each(|i, sum| {
            *sum = from[i] + residual[i];
            squares += *sum * *sum;
        });
        let squares = block.reduce(squares, |a: f32, b| a + b);
        let scale = (squares / HIDDEN as f32 + EPSILON).rsqrt();
        for ((i, to), (_, sum)) in to.own().zip(sums.own()) {
            *to = *sum * scale * weights[i - start];
        }
    }
}

/// Adds a residual to each row and normalizes the sum: see [`rms_norm_safe()`].
#[kernel(block_size(512))]
pub unsafe fn rms_norm_raw(
    from: *const f32,
    residual: *const f32,
    weights: *const f32,
    sums: *mut f32,
    to: *mut f32,
) {
    const WARPS: usize = 512 / 32;
    let shared = shared_array![f32; WARPS];
    let thread = thread::thread_idx_x() as usize;
    let row = thread::block_idx_x() as usize * HIDDEN;
    let (from, residual) = (from.add(row), residual.add(row));
    let (sums, to) = (sums.add(row), to.add(row));
    let mut squares = 0.0;
    for i in (thread..HIDDEN).step_by(512) {
        let sum = *from.add(i) + *residual.add(i);
        *sums.add(i) = sum;
        squares += sum * sum;
    }
    for distance in [16, 8, 4, 2, 1] {
        squares += warp::shuffle_xor(warp::FULL, squares, distance);
    }
    if thread % 32 == 0 {
        *shared.add(thread / 32) = squares;
    }
    thread::sync_threads();
    squares = 0.0;
    for i in 0..WARPS {
        squares += *shared.add(i);
    }
    let scale = (squares / HIDDEN as f32 + EPSILON).rsqrt();
    for i in (thread..HIDDEN).step_by(512) {
        *to.add(i) = *sums.add(i) * scale * *weights.add(i);
    }
}

/// The number of gates of a cell.
pub const GATES: usize = 4;

/// Returns the logistic function.
#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// The inputs of a cell's gates.
#[derive(Clone, Copy, Debug)]
pub struct Gates {
    input: f32,
    forget: f32,
    candidate: f32,
    output: f32,
}

impl Gates {
    /// Creates gates from the inputs in this order: input, forget, candidate, output.
    #[inline(always)]
    pub fn new([input, forget, candidate, output]: [f32; GATES]) -> Gates {
        Gates {
            input,
            forget,
            candidate,
            output,
        }
    }

    /// Returns the new state and the output of a cell.
    #[inline(always)]
    pub fn step(self, cell: f32) -> (f32, f32) {
        let kept = sigmoid(self.forget) * cell;
        let cell = kept + sigmoid(self.input) * self.candidate.tanh();
        (cell, sigmoid(self.output) * cell.tanh())
    }
}

/// A step of an LSTM after its matrix products, whose rows have the gates of all cells one after
/// the other. Rows are the members of a batch.
#[kernel(block_size(256))]
pub fn lstm_cell_safe(
    from_input: &[f32],
    from_hidden: &[f32],
    biases: &[f32],
    old: &[f32],
    mut cells: PerThread2d<f32>,
    mut hidden: PerThread2d<f32>,
) {
    let width = cells.width();
    for (((x, row), cell), (_, hidden)) in cells.own().zip(hidden.own()) {
        let start = row * GATES * width;
        let gates = core::array::from_fn(|gate| {
            let column = gate * width + x;
            from_input[start + column] + from_hidden[start + column] + biases[column]
        });
        (*cell, *hidden) = Gates::new(gates).step(old[row * width + x]);
    }
}

/// A step of an LSTM after its matrix products: see [`lstm_cell_safe()`].
#[kernel(block_size(256))]
pub unsafe fn lstm_cell_raw(
    from_input: *const f32,
    from_hidden: *const f32,
    biases: *const f32,
    old: *const f32,
    cells: *mut f32,
    hidden: *mut f32,
    width: usize,
) {
    let at = thread::index_2d();
    let (x, row) = (at.x as usize, at.y as usize);
    if x >= width {
        return;
    }
    let start = row * GATES * width;
    let mut gates = [0.0; GATES];
    for gate in 0..GATES {
        let column = gate * width + x;
        gates[gate] = *from_input.add(start + column)
            + *from_hidden.add(start + column)
            + *biases.add(column);
    }
    let i = row * width + x;
    let (cell, output) = Gates::new(gates).step(*old.add(i));
    *cells.add(i) = cell;
    *hidden.add(i) = output;
}

/// Returns a pair of the nearest `bf16` numbers: for the host, which needs no other function of
/// `cuda_std`.
pub fn pair(x: f32, y: f32) -> Bf16x2 {
    Bf16x2::new(Bf16::from_f32(x), Bf16::from_f32(y))
}

/// A function that is applied to each element.
trait Activation {
    fn apply(x: f32) -> f32;
}

/// The Gaussian error linear unit (GELU), with the hyperbolic tangent.
struct Gelu;

impl Activation for Gelu {
    #[inline(always)]
    fn apply(x: f32) -> f32 {
        let inner = 0.797_884_6 * (x + 0.044_715 * x * x * x);
        0.5 * x * (1.0 + inner.tanh())
    }
}

/// Returns the activation of a pair with its biases, plus a residual.
#[inline(always)]
fn activate<A: Activation>(pair: Bf16x2, biases: Bf16x2, residual: Bf16x2) -> Bf16x2 {
    let apply = |x: Bf16, bias: Bf16, residual: Bf16| {
        Bf16::from_f32(A::apply(x.to_f32() + bias.to_f32()) + residual.to_f32())
    };
    Bf16x2::new(
        apply(pair.low(), biases.low(), residual.low()),
        apply(pair.high(), biases.high(), residual.high()),
    )
}

/// A layer after its matrix product: adds the biases, applies GELU, and adds a residual.
#[kernel(block_size(256))]
pub fn gelu_residual_safe(
    from: &[Bf16x2],
    biases: &[Bf16x2],
    residual: &[Bf16x2],
    mut to: PerThread2d<Bf16x2>,
) {
    let width = to.width();
    to.each(|(x, y), to| {
        let i = y * width + x;
        *to = activate::<Gelu>(from[i], biases[x], residual[i]);
    });
}

/// A layer after its matrix product: see [`gelu_residual_safe()`].
#[kernel(block_size(256))]
pub unsafe fn gelu_residual_raw(
    from: *const Bf16x2,
    biases: *const Bf16x2,
    residual: *const Bf16x2,
    to: *mut Bf16x2,
    width: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width {
        return;
    }
    let i = y * width + x;
    *to.add(i) = activate::<Gelu>(*from.add(i), *biases.add(x), *residual.add(i));
}
