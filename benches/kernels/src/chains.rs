//! Chains: the probability of observations, and random walks.

use cuda_std::PerColumn;
use cuda_std::prelude::*;

/// The number of states of a model.
pub const STATES: usize = 4;

/// Returns the logarithm of a sum of numbers, whose logarithms are given.
#[inline(always)]
fn log_sum<const N: usize>(logs: [f32; N]) -> f32 {
    let most = logs.into_iter().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = logs.into_iter().map(|log| (log - most).exp()).sum();
    most + sum.ln()
}

/// A hidden Markov model. All probabilities are logarithms.
#[derive(Clone, Copy, Debug)]
pub struct Model<'a, const N: usize> {
    transitions: &'a [[f32; N]; N],
    emissions: &'a [[f32; N]],
}

impl<'a, const N: usize> Model<'a, N> {
    /// Creates a model from the probabilities of each transition, and from those of each symbol.
    #[inline(always)]
    pub fn new(transitions: &'a [[f32; N]; N], emissions: &'a [[f32; N]]) -> Model<'a, N> {
        Model {
            transitions,
            emissions,
        }
    }

    /// Returns the probabilities of the states after a symbol.
    #[inline(always)]
    pub fn step(&self, states: [f32; N], symbol: u8) -> [f32; N] {
        let emission = &self.emissions[usize::from(symbol)];
        core::array::from_fn(|to| {
            let paths = core::array::from_fn(|from| states[from] + self.transitions[from][to]);
            emission[to] + log_sum::<N>(paths)
        })
    }
}

/// The probabilities of sequences of symbols by the forward algorithm. A row of `symbols` has one
/// symbol of each sequence.
#[kernel(block_size(128))]
pub fn hmm_forward_safe(
    symbols: &[u8],
    initial: &[f32; STATES],
    transitions: &[[f32; STATES]; STATES],
    emissions: &[[f32; STATES]],
    mut to: PerThread<f32>,
) {
    let model = Model::new(transitions, emissions);
    let sequences = to.len();
    to.each(|i, to| {
        let rows = symbols.chunks_exact(sequences);
        let states = rows.fold(*initial, |states, row| model.step(states, row[i]));
        *to = log_sum(states);
    });
}

/// The probabilities of sequences of symbols: see [`hmm_forward_safe()`].
#[kernel(block_size(128))]
pub unsafe fn hmm_forward_raw(
    symbols: *const u8,
    steps: usize,
    initial: *const [f32; STATES],
    transitions: *const [[f32; STATES]; STATES],
    emissions: *const [f32; STATES],
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut states = *initial;
    for step in 0..steps {
        let emission = emissions.add(*symbols.add(step * n + i) as usize);
        let mut next = [0.0; STATES];
        for to in 0..STATES {
            let mut paths = [0.0; STATES];
            for from in 0..STATES {
                paths[from] = states[from] + (*transitions)[from][to];
            }
            next[to] = (*emission)[to] + log_sum(paths);
        }
        states = next;
    }
    *to.add(i) = log_sum(states);
}

/// A permuted congruential generator.
#[derive(Clone, Copy, Debug)]
pub struct Pcg(u32);

impl Pcg {
    /// Creates a generator.
    #[inline(always)]
    pub fn new(seed: u32) -> Pcg {
        Pcg(seed.wrapping_mul(0x9e37_79b9).wrapping_add(1))
    }

    /// Returns the next number.
    #[inline(always)]
    pub fn next_u32(&mut self) -> u32 {
        let state = self.0;
        self.0 = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
        word >> 22 ^ word
    }

    /// Returns a number below `end`.
    #[inline(always)]
    pub fn below(&mut self, end: u32) -> u32 {
        ((u64::from(self.next_u32()) * u64::from(end)) >> 32) as u32
    }
}

/// Random walks in a graph in compressed sparse row format (CSR). Each walk is a column of `walks`.
/// A walk stays at a vertex without neighbors.
#[kernel(block_size(128))]
pub fn random_walk_safe(
    rows: &[u32],
    neighbors: &[u32],
    starts: &[u32],
    seed: u32,
    mut walks: PerColumn<u32>,
) {
    walks.each(|walk, mut vertices| {
        let mut random = Pcg::new(seed ^ walk as u32);
        let mut vertex = starts[walk];
        for to in vertices.iter_mut() {
            *to = vertex;
            let row = rows[vertex as usize] as usize..rows[vertex as usize + 1] as usize;
            let next = &neighbors[row];
            if !next.is_empty() {
                vertex = next[random.below(next.len() as u32) as usize];
            }
        }
    });
}

/// Random walks in a graph: see [`random_walk_safe()`].
#[kernel(block_size(128))]
pub unsafe fn random_walk_raw(
    rows: *const u32,
    neighbors: *const u32,
    starts: *const u32,
    seed: u32,
    walks: *mut u32,
    length: usize,
    n: usize,
) {
    let walk = thread::index_1d() as usize;
    if walk >= n {
        return;
    }
    let mut random = Pcg::new(seed ^ walk as u32);
    let mut vertex = *starts.add(walk) as usize;
    for step in 0..length {
        *walks.add(step * n + walk) = vertex as u32;
        let (start, end) = (*rows.add(vertex), *rows.add(vertex + 1));
        if end > start {
            let edge = start + random.below(end - start);
            vertex = *neighbors.add(edge as usize) as usize;
        }
    }
}
