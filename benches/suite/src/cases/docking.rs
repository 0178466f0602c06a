//! miniBUDE, with the numbers of poses and atoms of its input `bm1` and random positions.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, random, uniform, upload, zeroed};
use bench_kernels::docking::{Atom, Kind, POSES, Pair, distance, moved, transform};
use cust::error::CudaResult;

/// The number of atom types.
const KINDS: u64 = 34;

fn atoms(n: usize, seed: u64, size: f64) -> Vec<Atom> {
    (0..n as u64)
        .map(|i| {
            let at = |field: u64| uniform(seed << 40 | i << 2 | field);
            Atom {
                place: [0, 1, 2].map(|d| (size * (at(d) - 0.5)) as f32),
                kind: (at(3) * KINDS as f64) as u32,
            }
        })
        .collect()
}

pub fn minibude(scale: Scale) -> CudaResult<Case> {
    const THREADS: usize = 64;
    let poses = scale.pick(272, 65536);
    let (proteins, ligands) = (scale.pick(50, 938), scale.pick(5, 26));
    let (protein, ligand) = (atoms(proteins, 1, 60.0), atoms(ligands, 2, 12.0));
    let kinds: Vec<Kind> = (0..KINDS)
        .map(|i| Kind {
            bond: [69, 70, 70, 80][random(i) as usize % 4],
            radius: (1.0 + uniform(4 << 40 | i)) as f32,
            hydrophobic: [-1.0, 0.0, 0.5][random(5 << 40 | i) as usize % 3],
            charge: (uniform(6 << 40 | i) - 0.5) as f32,
        })
        .collect();
    let three = |seed: u64, size: f64| -> Vec<[f32; 3]> {
        (0..poses as u64)
            .map(|i| [0, 1, 2].map(|d| (size * uniform(seed << 40 | i << 2 | d)) as f32))
            .collect()
    };
    let (angles, places) = (three(7, std::f64::consts::TAU), three(8, 4.0));
    let (protein_there, ligand_there) = (upload(&protein)?, upload(&ligand)?);
    let kinds_there = upload(&kinds)?;
    let (angles_there, places_there) = (upload(&angles)?, upload(&places)?);
    let to: Buffer<f32> = zeroed(poses)?;
    let pointers = Args::new()
        .pointer(&kinds_there)
        .pointer(&angles_there)
        .pointer(&places_there)
        .pointer(&to);
    let start = Args::new();
    Ok(
        Case::new("minibude", (poses / POSES).div_ceil(THREADS), THREADS)
            .args(
                start
                    .clone()
                    .pointer(&protein_there)
                    .value(proteins as i32)
                    .pointer(&ligand_there)
                    .value(ligands as i32)
                    .and(pointers.clone())
                    .value(poses as i32),
                start
                    .slice(&protein_there)
                    .slice(&ligand_there)
                    .and(pointers)
                    .value(poses),
                Args::new()
                    .slice(&protein_there)
                    .slice(&ligand_there)
                    .slice(&kinds_there)
                    .slice(&angles_there)
                    .slice(&places_there)
                    .output(&to),
            )
            .input(&protein_there)
            .input(&ligand_there)
            .input(&kinds_there)
            .input(&angles_there)
            .input(&places_there)
            .output(&to)
            .bytes(28 * poses)
            // An estimate of the operations per pair of atoms.
            .f32_operations(30.0 * (poses * proteins * ligands) as f64)
            .check(move || {
                close(&to, 1e-2, 1.0, |i| {
                    let transform = transform(angles[i], places[i]);
                    let mut energy = 0.0;
                    for atom in &ligand {
                        let place = moved(&transform, atom.place);
                        for other in &protein {
                            let pair =
                                Pair::new(kinds[atom.kind as usize], kinds[other.kind as usize]);
                            energy += f64::from(pair.energy(distance(place, other.place)));
                        }
                    }
                    0.5 * energy
                })
            }),
    )
}
