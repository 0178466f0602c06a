//! Inference with language models: gated activations, 8-bit weights, and the choice of experts.

use cuda_std::group::{self, Lanes};
use cuda_std::half::F16;
use cuda_std::intrinsics::integer::dp4a_s32_s32;
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, I32x4};
use cuda_std::{AnyBits, PerThread2d, PerWarp, warp};
use cust_core::DeviceCopy;

/// Eight numbers, which a thread loads with one instruction.
#[derive(Clone, Copy, Default, DeviceCopy)]
#[repr(C, align(16))]
pub struct F16x8(pub [F16; 8]);

/// Returns `x` times its sigmoid.
#[inline(always)]
pub fn swish(x: f32) -> f32 {
    x / (1.0 + (-x).exp())
}

/// The activation SwiGLU: the first half of each row of `from` passes through [`swish()`] and gates
/// the second half.
#[kernel(block_size(256))]
pub fn swiglu_safe(from: &[F16x8], mut to: PerThread2d<F16x8>) {
    let width = to.width();
    to.each(|(x, y), to| {
        let (gates, values) = from[y * 2 * width..][..2 * width].split_at(width);
        let (F16x8(gate), F16x8(value)) = (gates[x], values[x]);
        to.0 = core::array::from_fn(|i| F16::from_f32(swish(gate[i].to_f32()) * value[i].to_f32()));
    });
}

/// The activation SwiGLU: see [`swiglu_safe()`].
#[kernel(block_size(256))]
pub unsafe fn swiglu_raw(from: *const F16x8, to: *mut F16x8, width: usize) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width {
        return;
    }
    let gate = *from.add(y * 2 * width + x);
    let value = *from.add(y * 2 * width + width + x);
    let mut result = F16x8::default();
    for i in 0..8 {
        result.0[i] = F16::from_f32(swish(gate.0[i].to_f32()) * value.0[i].to_f32());
    }
    *to.add(y * width + x) = result;
}

/// `y = a * x` with one warp per row. A word contains four signed bytes, a row of `a` has a scale,
/// and `scale` is the scale of `x`.
#[kernel(block_size(256))]
pub fn int8_gemv_safe(
    weights: &[I32x4],
    scales: &[f32],
    x: &[I32x4],
    scale: f32,
    mut y: PerWarp<f32>,
) {
    let row = thread::index() as usize / 32;
    if row < y.len() {
        let weights = &weights[row * x.len()..][..x.len()];
        let mut sum = 0;
        for i in thread::warp_stride(x.len()) {
            for (&weight, &x) in weights[i].iter().zip(x[i].iter()) {
                sum = dp4a_s32_s32(weight, x, sum);
            }
        }
        let sum = group::warp().reduce(sum, |a, b| a + b);
        y.each(|row, y| *y = sum as f32 * (scales[row] * scale));
    }
}

/// `y = a * x` with one warp per row: see [`int8_gemv_safe()`].
#[kernel(block_size(256))]
pub unsafe fn int8_gemv_raw(
    weights: *const I32x4,
    scales: *const f32,
    x: *const I32x4,
    scale: f32,
    y: *mut f32,
    vectors: usize,
    rows: usize,
) {
    let row = thread::index_1d() as usize / 32;
    let lane = thread::lane_id() as usize;
    if row < rows {
        let weights = weights.add(row * vectors);
        let mut sum = 0;
        for i in (lane..vectors).step_by(32) {
            let (weight, x) = (*weights.add(i), *x.add(i));
            for k in 0..4 {
                sum = dp4a_s32_s32(weight[k], x[k], sum);
            }
        }
        for distance in [16, 8, 4, 2, 1] {
            sum += warp::shuffle_down(warp::FULL, sum, distance);
        }
        if lane == 0 {
            *y.add(row) = sum as f32 * (*scales.add(row) * scale);
        }
    }
}

/// The number of experts.
pub const EXPERTS: usize = 128;
/// The number of experts that are chosen per token.
pub const CHOSEN: usize = 8;

/// An expert and its logit.
#[derive(Clone, Copy, Debug, AnyBits)]
pub struct Choice {
    logit: f32,
    expert: u32,
}

impl Choice {
    const NONE: Choice = Choice {
        logit: f32::NEG_INFINITY,
        expert: u32::MAX,
    };

    /// Returns the choice with the higher logit; if both are equal, the one with the lower number.
    #[inline(always)]
    fn better(self, other: Choice) -> Choice {
        let equal = self.logit == other.logit && self.expert < other.expert;
        if self.logit > other.logit || equal {
            self
        } else {
            other
        }
    }
}

/// Chooses the experts with the highest logits for each token, the best one first, and computes the
/// softmax of their logits. A warp has a token, and each lane four of its [`EXPERTS`].
#[kernel(block_size(256))]
pub fn top_experts_safe(
    logits: &[F32x4],
    mut experts: PerWarp<u32, CHOSEN>,
    mut weights: PerWarp<f32, CHOSEN>,
) {
    let Some(&F32x4(mut mine)) = logits.get(thread::index() as usize) else {
        return;
    };
    let warp = group::warp();
    let lane = thread::lane_id();
    let mut chosen = Choice::NONE;
    for rank in 0..CHOSEN as u32 {
        let own = mine.iter().zip(4 * lane..);
        let own = own.map(|(&logit, expert)| Choice { logit, expert });
        let best = warp.reduce(own.fold(Choice::NONE, Choice::better), Choice::better);
        if lane == rank {
            chosen = best;
        }
        for (logit, expert) in mine.iter_mut().zip(4 * lane..) {
            if expert == best.expert {
                *logit = f32::NEG_INFINITY;
            }
        }
    }
    // The other lanes have no choice, and their exponentials are zero.
    let exponential = (chosen.logit - warp.shuffle(chosen.logit, 0)).exp();
    let sum = warp.reduce(exponential, |a, b| a + b);
    experts.each(|_, expert| *expert = chosen.expert);
    weights.each(|_, weight| *weight = exponential / sum);
}

/// Chooses the experts with the highest logits for each token: see [`top_experts_safe()`].
#[kernel(block_size(256))]
pub unsafe fn top_experts_raw(
    logits: *const F32x4,
    experts: *mut u32,
    weights: *mut f32,
    tokens: usize,
) {
    let token = thread::index_1d() as usize / 32;
    let lane = thread::lane_id();
    if token >= tokens {
        return;
    }
    let mut mine = *logits.add(token * 32 + lane as usize);
    let mut chosen = Choice::NONE;
    for rank in 0..CHOSEN as u32 {
        let mut best = Choice::NONE;
        for i in 0..4 {
            let expert = 4 * lane + i as u32;
            let logit = mine[i];
            best = best.better(Choice { logit, expert });
        }
        for distance in [16, 8, 4, 2, 1] {
            let logit = warp::shuffle_xor(warp::FULL, best.logit, distance);
            let expert = warp::shuffle_xor(warp::FULL, best.expert, distance);
            best = best.better(Choice { logit, expert });
        }
        if lane == rank {
            chosen = best;
        }
        for i in 0..4 {
            if 4 * lane + i as u32 == best.expert {
                mine[i] = f32::NEG_INFINITY;
            }
        }
    }
    let largest = warp::shuffle(warp::FULL, chosen.logit, 0);
    let exponential = (chosen.logit - largest).exp();
    let mut sum = exponential;
    for distance in [16, 8, 4, 2, 1] {
        sum += warp::shuffle_xor(warp::FULL, sum, distance);
    }
    if (lane as usize) < CHOSEN {
        *experts.add(token * CHOSEN + lane as usize) = chosen.expert;
        *weights.add(token * CHOSEN + lane as usize) = exponential / sum;
    }
}
