//! Breadth-first search.

use super::Scale;
use crate::case::{Args, Buffer, Case, download, random, upload, zeroed};
use bench_kernels::graphs::FAR;
use cust::error::CudaResult;

pub fn bfs_level(scale: Scale) -> CudaResult<Case> {
    const LEVEL: u32 = 3;
    let vertices = scale.pick(1 << 11, 1 << 21);
    let mut offsets = vec![0];
    let mut edges = 0;
    for vertex in 0..vertices as u64 {
        edges += (random(vertex) % 32) as u32;
        offsets.push(edges);
    }
    let targets: Vec<u32> = (0..u64::from(edges))
        .map(|i| (random(i ^ (1 << 40)) % vertices as u64) as u32)
        .collect();
    // A part of the vertices in an order without a pattern, as in a queue. The number of vertices is
    // a power of two, so an odd factor permutes them.
    let frontier: Vec<u32> = (0..vertices / 4 - 1)
        .map(|i| (i.wrapping_mul(0x9e37_79b1) % vertices) as u32)
        .collect();
    let n = frontier.len();
    let mut expected = vec![FAR; vertices];
    for &vertex in &frontier {
        let vertex = vertex as usize;
        for &target in &targets[offsets[vertex] as usize..offsets[vertex + 1] as usize] {
            expected[target as usize] = LEVEL;
        }
    }
    let visited: usize = (frontier.iter())
        .map(|&v| (offsets[v as usize + 1] - offsets[v as usize]) as usize)
        .sum();
    let (from_offsets, from_targets) = (upload(&offsets)?, upload(&targets)?);
    let from_frontier = upload(&frontier)?;
    let distances: Buffer<u32> = zeroed(vertices)?;
    let count: Buffer<u32> = zeroed(1)?;
    let next: Buffer<u32> = zeroed(vertices)?;
    let raw = Args::new()
        .pointer(&from_offsets)
        .pointer(&from_targets)
        .pointer(&from_frontier)
        .value(LEVEL)
        .pointer(&distances)
        .pointer(&count)
        .pointer(&next);
    Ok(Case::new("bfs_level", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new()
                .slice(&from_offsets)
                .slice(&from_targets)
                .slice(&from_frontier)
                .value(LEVEL)
                .slice(&distances)
                .pointer(&count)
                .slice(&next),
        )
        .input(&from_offsets)
        .input(&from_targets)
        .input(&from_frontier)
        .output_from(&distances, 0xff)
        .output_from(&count, 0)
        .output_from(&next, 0xa5)
        .reset()
        // Each edge is read, and each of most vertices has a distance, which is read and written.
        .bytes(4 * visited + 12 * n + 8 * vertices)
        .check(move || {
            if download(&distances)? != expected {
                return Err("the distances are wrong".to_owned());
            }
            // Threads append in any order.
            let count = download(&count)?[0] as usize;
            let mut queue = download(&next)?;
            queue.truncate(count);
            queue.sort_unstable();
            let reached = (expected.iter().enumerate())
                .filter(|&(_, &distance)| distance == LEVEL)
                .map(|(vertex, _)| vertex as u32);
            match queue.into_iter().eq(reached) {
                true => Ok(()),
                false => Err(format!("the queue of {count} vertices is wrong")),
            }
        }))
}
