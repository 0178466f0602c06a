//! XSBench, with the numbers of its input `small`.

use super::Scale;
use crate::case::{Args, Buffer, Case, download, samples, upload, zeroed};
use bench_kernels::transport::{
    GridPoint, MATERIALS, MOST_NUCLIDES, largest, material_of, uniform,
};
use cust::error::CudaResult;

/// The number of nuclides of each material.
const COUNTS: [u32; MATERIALS] = [34, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9];

/// The first seeds of grids and of materials; events use lower numbers.
const GRIDS: u64 = 1 << 40;
const NUCLIDES: u64 = 1 << 41;

pub fn xsbench(scale: Scale) -> CudaResult<Case> {
    let (nuclides, grid_points) = match scale.small {
        true => (40, 20),
        false => (68, 11303),
    };
    let events = scale.pick(300, 17_000_000);
    let mut grids = Vec::new();
    for nuclide in 0..nuclides {
        let mut grid: Vec<GridPoint> = (0..grid_points)
            .map(|i| {
                let seed = GRIDS + 6 * (nuclide * grid_points + i) as u64;
                GridPoint {
                    energy: uniform(seed),
                    sections: std::array::from_fn(|s| uniform(seed + 1 + s as u64)),
                }
            })
            .collect();
        grid.sort_by(|a, b| a.energy.total_cmp(&b.energy));
        grids.extend(grid);
    }
    let mut energies: Vec<f64> = grids.iter().map(|point| point.energy).collect();
    energies.sort_by(f64::total_cmp);
    let mut nearest = vec![0u32; energies.len() * nuclides];
    for nuclide in 0..nuclides {
        let grid = &grids[nuclide * grid_points..][..grid_points];
        let mut at = 0;
        for (i, &energy) in energies.iter().enumerate() {
            while at + 1 < grid_points && grid[at + 1].energy <= energy {
                at += 1;
            }
            nearest[i * nuclides + nuclide] = at as u32;
        }
    }
    let members: Vec<[u32; MOST_NUCLIDES]> = (0..MATERIALS)
        .map(|material| {
            std::array::from_fn(|i| {
                let draw = uniform(NUCLIDES + (material * MOST_NUCLIDES + i) as u64);
                (draw * nuclides as f64) as u32
            })
        })
        .collect();
    let densities: Vec<[f64; MOST_NUCLIDES]> = (0..MATERIALS)
        .map(|material| {
            std::array::from_fn(|i| uniform(2 * NUCLIDES + (material * MOST_NUCLIDES + i) as u64))
        })
        .collect();

    let (energies_there, nearest_there) = (upload(&energies)?, upload(&nearest)?);
    let (grids_there, counts_there) = (upload(&grids)?, upload(&COUNTS)?);
    let (members_there, densities_there) = (upload(&members)?, upload(&densities)?);
    let to: Buffer<u32> = zeroed(events)?;
    let start = Args::new().pointer(&energies_there);
    let materials = Args::new()
        .pointer(&counts_there)
        .pointer(&members_there)
        .pointer(&densities_there)
        .pointer(&to);
    let points = energies.len();
    Ok(Case::new("xsbench", events.div_ceil(256), 256)
        .args(
            start
                .clone()
                .value(points as i32)
                .pointer(&nearest_there)
                .pointer(&grids_there)
                .value(grid_points as i32)
                .value(nuclides as i32)
                .and(materials.clone())
                .value(events as i32),
            start
                .value(points)
                .pointer(&nearest_there)
                .pointer(&grids_there)
                .value(grid_points)
                .value(nuclides)
                .and(materials)
                .value(events),
            Args::new()
                .slice(&energies_there)
                .slice(&nearest_there)
                .slice(&grids_there)
                .value(grid_points)
                .slice(&counts_there)
                .slice(&members_there)
                .slice(&densities_there)
                .output(&to),
        )
        .input(&energies_there)
        .input(&nearest_there)
        .input(&grids_there)
        .input(&counts_there)
        .input(&members_there)
        .input(&densities_there)
        .output(&to)
        // Each point of the grids, which are read at random positions, counts once.
        .bytes(4 * events + 8 * points + 4 * nearest.len() + size_of_val(&grids[..]))
        .check(move || {
            let results = download(&to)?;
            let (mut different, mut count) = (0, 0);
            for event in samples(events) {
                let energy = uniform(2 * event as u64);
                let material = material_of(uniform(2 * event as u64 + 1));
                let mut sections = [0.0; 5];
                for i in 0..COUNTS[material] as usize {
                    let nuclide = members[material][i] as usize;
                    let grid = &grids[nuclide * grid_points..][..grid_points];
                    let low = grid
                        .partition_point(|point| point.energy <= energy)
                        .clamp(1, grid_points - 1)
                        - 1;
                    let (low, high) = (grid[low], grid[low + 1]);
                    let part = (high.energy - energy) / (high.energy - low.energy);
                    for (sum, (low, high)) in sections
                        .iter_mut()
                        .zip(low.sections.iter().zip(high.sections))
                    {
                        *sum += densities[material][i] * (high - part * (high - low));
                    }
                }
                different += u32::from(results[event] != largest(sections));
                count += 1;
            }
            // Sums round differently, and two of the five may be almost equal.
            match 500 * different <= count {
                true => Ok(()),
                false => Err(format!("{different} of {count} events differ")),
            }
        }))
}
