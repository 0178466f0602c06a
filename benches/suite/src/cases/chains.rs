//! Chains: the probability of observations, and random walks.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, random, uniform_f32, upload, zeroed};
use bench_kernels::chains::{Pcg, STATES};
use cust::error::CudaResult;

pub fn hmm_forward(scale: Scale) -> CudaResult<Case> {
    const SYMBOLS: usize = 20;
    let n = scale.pick(300, 1 << 18);
    let steps = scale.pick(12, 128);
    // The logarithms of probabilities, `N` of which have the sum 1.
    fn logarithms<const N: usize>(count: usize, seed: u64) -> Vec<[f32; N]> {
        let numbers = uniform_f32(count * N, seed);
        let rows = numbers.as_chunks::<N>().0.iter();
        rows.map(|row| row.map(|x| ((x + 0.1) / row.iter().map(|x| x + 0.1).sum::<f32>()).ln()))
            .collect()
    }
    let first = logarithms::<STATES>(1, 1)[0];
    let rows = logarithms::<STATES>(STATES, 2);
    let by_state = logarithms::<SYMBOLS>(STATES, 3);
    let table: Vec<[f32; STATES]> = (0..SYMBOLS)
        .map(|symbol| std::array::from_fn(|state| by_state[state][symbol]))
        .collect();
    let observed: Vec<u8> = (0..(n * steps) as u64)
        .map(|i| (random(i) % SYMBOLS as u64) as u8)
        .collect();
    let symbols = upload(&observed)?;
    let (initial, transitions) = (upload(&first)?, upload(&rows)?);
    let emissions = upload(&table)?;
    let to: Buffer<f32> = zeroed(n)?;
    let tables = |args: Args| args.pointer(&initial).pointer(&transitions);
    let pointers = |args: Args| tables(args).pointer(&emissions).pointer(&to);
    Ok(Case::new("hmm_forward", n.div_ceil(128), 128)
        .args(
            pointers(Args::new().pointer(&symbols).value(steps as i32)).value(n as i32),
            pointers(Args::new().pointer(&symbols).value(steps)).value(n),
            tables(Args::new().slice(&symbols))
                .slice(&emissions)
                .output(&to),
        )
        .input(&symbols)
        .input(&initial)
        .input(&transitions)
        .input(&emissions)
        .output(&to)
        .bytes(n * steps + 4 * n)
        .check(move || {
            close(&to, 1e-4, 1e-4, |i| {
                let mut states = first.map(|log| f64::from(log).exp());
                for step in 0..steps {
                    let emission = table[usize::from(observed[step * n + i])];
                    states = std::array::from_fn(|to| {
                        let paths =
                            (0..STATES).map(|from| states[from] * f64::from(rows[from][to]).exp());
                        f64::from(emission[to]).exp() * paths.sum::<f64>()
                    });
                }
                states.iter().sum::<f64>().ln()
            })
        }))
}

pub fn random_walk(scale: Scale) -> CudaResult<Case> {
    const SEED: u32 = 77;
    let vertices = scale.pick(200, 1 << 20);
    let n = scale.pick(300, 1 << 20);
    let length = scale.pick(10, 32);
    let (mut row_starts, mut targets) = (vec![0], Vec::new());
    for vertex in 0..vertices as u64 {
        // One in 1000 vertices has no neighbors.
        let count = match random(vertex) {
            random if random % 1000 == 0 => 0,
            random => 1 + (random >> 32) % 31,
        };
        let target = |i| (random(vertex << 20 | 1 << 50 | i) % vertices as u64) as u32;
        targets.extend((0..count).map(target));
        row_starts.push(targets.len() as u32);
    }
    let firsts: Vec<u32> = (0..n as u64)
        .map(|i| (random(i | 1 << 51) % vertices as u64) as u32)
        .collect();
    let (rows, neighbors) = (upload(&row_starts)?, upload(&targets)?);
    let starts = upload(&firsts)?;
    let walks: Buffer<u32> = zeroed(n * length)?;
    let pointers = Args::new()
        .pointer(&rows)
        .pointer(&neighbors)
        .pointer(&starts)
        .value(SEED)
        .pointer(&walks);
    Ok(Case::new("random_walk", n.div_ceil(128), 128)
        .args(
            (pointers.clone().value(length as i32)).value(n as i32),
            pointers.value(length).value(n),
            (Args::new().slice(&rows).slice(&neighbors).slice(&starts))
                .value(SEED)
                .rows(&walks, n),
        )
        .input(&rows)
        .input(&neighbors)
        .input(&starts)
        .output(&walks)
        .bytes(4 * n * (length + 1) + 4 * row_starts.len() + 4 * targets.len())
        .check(move || {
            close(&walks, 0.0, 0.0, |i| {
                let walk = i % n;
                let mut random = Pcg::new(SEED ^ walk as u32);
                let mut vertex = firsts[walk];
                for _ in 0..i / n {
                    let start = row_starts[vertex as usize] as usize;
                    let next = &targets[start..row_starts[vertex as usize + 1] as usize];
                    if !next.is_empty() {
                        vertex = next[random.below(next.len() as u32) as usize];
                    }
                }
                vertex.into()
            })
        }))
}
