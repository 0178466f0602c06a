//! Macroscopic cross sections of materials at random energies: the event loop of XSBench, with a
//! unionized grid of energies.

use cuda_std::prelude::*;
use cust_core::DeviceCopy;

/// The number of materials.
pub const MATERIALS: usize = 12;
/// The maximum number of nuclides of a material.
pub const MOST_NUCLIDES: usize = 34;
/// The cumulative probability of an event in each material.
pub const LIKELY: [f64; MATERIALS] = [
    0.140, 0.192, 0.467, 0.601, 0.755, 0.819, 0.885, 0.940, 0.948, 0.963, 0.988, 1.0,
];

/// The cross sections of a nuclide at an energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct GridPoint {
    /// The energy.
    pub energy: f64,
    /// The cross sections of five reactions.
    pub sections: [f64; 5],
}

/// Returns a pseudorandom number from 0 to 1.
#[inline(always)]
pub fn uniform(index: u64) -> f64 {
    let mut x = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Returns the material of an event.
#[inline(always)]
pub fn material_of(draw: f64) -> usize {
    let found = LIKELY.iter().position(|&likely| likely >= draw);
    found.unwrap_or(MATERIALS - 1)
}

/// Returns the reaction with the largest cross section.
#[inline(always)]
pub fn largest(sections: [f64; 5]) -> u32 {
    let (mut largest, mut most) = (0, sections[0]);
    for (i, &section) in sections.iter().enumerate() {
        if section > most {
            (largest, most) = (i as u32, section);
        }
    }
    largest
}

/// The reaction with the largest cross section, for each event. `energies` are the sorted energies
/// of all nuclides, and `nearest[i * nuclides + n]` is the index in nuclide `n`'s grid of the last
/// energy that is not greater than `energies[i]`. The nuclides of a material and their densities
/// are in a row of [`MOST_NUCLIDES`] elements of `members` and `densities`.
#[kernel(block_size(256))]
pub fn xsbench_safe(
    energies: &[f64],
    nearest: &[u32],
    grids: &[GridPoint],
    grid_points: usize,
    counts: &[u32],
    members: &[[u32; MOST_NUCLIDES]],
    densities: &[[f64; MOST_NUCLIDES]],
    mut to: PerThread<u32>,
) {
    let nuclides = grids.len() / grid_points;
    for (event, to) in to.own() {
        let energy = uniform(2 * event as u64);
        let material = material_of(uniform(2 * event as u64 + 1));
        let point = energies
            .partition_point(|&e| e <= energy)
            .clamp(1, energies.len() - 1)
            - 1;
        let nearest = &nearest[point * nuclides..][..nuclides];
        let mut sections = [0.0; 5];
        let count = counts[material] as usize;
        let (members, densities) = (&members[material][..count], &densities[material][..count]);
        for (&nuclide, density) in members.iter().zip(densities) {
            let nuclide = nuclide as usize;
            let grid = &grids[nuclide * grid_points..][..grid_points];
            // The last point has no successor.
            let low = (nearest[nuclide] as usize).min(grid_points - 2);
            let (low, high) = (&grid[low], &grid[low + 1]);
            let part = (high.energy - energy) / (high.energy - low.energy);
            for (sum, (low, high)) in sections
                .iter_mut()
                .zip(low.sections.iter().zip(&high.sections))
            {
                *sum += density * (high - part * (high - low));
            }
        }
        *to = largest(sections);
    }
}

/// The reaction with the largest cross section, for each event: see [`xsbench_safe()`].
#[kernel(block_size(256))]
pub unsafe fn xsbench_raw(
    energies: *const f64,
    points: usize,
    nearest: *const u32,
    grids: *const GridPoint,
    grid_points: usize,
    nuclides: usize,
    counts: *const u32,
    members: *const u32,
    densities: *const f64,
    to: *mut u32,
    n: usize,
) {
    let event = thread::index_1d() as usize;
    if event >= n {
        return;
    }
    let energy = uniform(2 * event as u64);
    let material = material_of(uniform(2 * event as u64 + 1));
    let (mut low, mut length) = (0, points);
    while length > 0 {
        let half = length / 2;
        if *energies.add(low + half) <= energy {
            low += half + 1;
            length -= half + 1;
        } else {
            length = half;
        }
    }
    let point = low.max(1).min(points - 1) - 1;
    let mut sections = [0.0; 5];
    for i in 0..*counts.add(material) as usize {
        let nuclide = *members.add(material * MOST_NUCLIDES + i) as usize;
        let density = *densities.add(material * MOST_NUCLIDES + i);
        let low = (*nearest.add(point * nuclides + nuclide) as usize).min(grid_points - 2);
        let low = grids.add(nuclide * grid_points + low);
        let high = low.add(1);
        let part = ((*high).energy - energy) / ((*high).energy - (*low).energy);
        for s in 0..5 {
            let (low, high) = ((*low).sections[s], (*high).sections[s]);
            sections[s] += density * (high - part * (high - low));
        }
    }
    *to.add(event) = largest(sections);
}
