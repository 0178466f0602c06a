//! The Hartree–Fock method.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, uniform_f64, upload, zeroed};
use bench_kernels::chemistry::{CUTOFF, GAUSSIANS, pair, repulsion, share};
use cust::error::CudaResult;

/// The functions of a helium atom.
const EXPONENTS: [f64; GAUSSIANS] = [6.3624214, 1.1589230, 0.3136498];
const COEFFICIENTS: [f64; GAUSSIANS] = [0.4301284, 0.6789135, 0.1543290];

pub fn hartree_fock(scale: Scale) -> CudaResult<Case> {
    let side = scale.pick(2, 4);
    let atoms = side * side * side;
    // The atoms form a lattice.
    let places: Vec<[f64; 3]> = (0..atoms)
        .map(|i| [i % side, i / side % side, i / (side * side)].map(|at| 1.4 * at as f64))
        .collect();
    let densities = uniform_f64(atoms * atoms, 1);
    let pairs = atoms * (atoms + 1) / 2;
    let of = |i: usize, j: usize, k: usize, l: usize| {
        let places = [i, j, k, l].map(|atom| places[atom]);
        repulsion(places, &EXPONENTS, &COEFFICIENTS)
    };
    let bounds: Vec<f64> = (0..pairs)
        .map(|ij| {
            let (i, j) = pair(ij);
            of(i, j, i, j).abs().sqrt()
        })
        .collect();
    let quadruples = pairs * (pairs + 1) / 2;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let parts: Vec<Vec<f64>> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|first| {
                let (bounds, densities, of) = (&bounds, &densities, &of);
                scope.spawn(move || {
                    let mut fock = vec![0.0; atoms * atoms];
                    for quadruple in (first..quadruples).step_by(threads) {
                        let (ij, kl) = pair(quadruple);
                        if bounds[ij] * bounds[kl] <= CUTOFF {
                            continue;
                        }
                        let ((i, j), (k, l)) = (pair(ij), pair(kl));
                        let value = share(i, j, k, l, ij, kl) * of(i, j, k, l);
                        let density = |a: usize, b: usize| densities[a * atoms + b];
                        fock[i * atoms + j] += 4.0 * value * density(k, l);
                        fock[k * atoms + l] += 4.0 * value * density(i, j);
                        fock[i * atoms + k] -= value * density(j, l);
                        fock[i * atoms + l] -= value * density(j, k);
                        fock[j * atoms + k] -= value * density(i, l);
                        fock[j * atoms + l] -= value * density(i, k);
                    }
                    fock
                })
            })
            .collect();
        (parts.into_iter())
            .filter_map(|part| part.join().ok())
            .collect()
    });
    let places_there = upload(&places)?;
    let (exponents, coefficients) = (upload(&EXPONENTS)?, upload(&COEFFICIENTS)?);
    let (bounds_there, densities_there) = (upload(&bounds)?, upload(&densities)?);
    let fock: Buffer<f64> = zeroed(atoms * atoms)?;
    let pointers = Args::new()
        .pointer(&places_there)
        .pointer(&exponents)
        .pointer(&coefficients)
        .pointer(&bounds_there)
        .pointer(&densities_there)
        .pointer(&fock);
    Ok(Case::new("hartree_fock", quadruples.div_ceil(128), 128)
        .args(
            pointers.clone().value(atoms as i32),
            pointers.value(atoms),
            Args::new()
                .slice(&places_there)
                .pointer(&exponents)
                .pointer(&coefficients)
                .slice(&bounds_there)
                .slice(&densities_there)
                .slice(&fock),
        )
        .input(&places_there)
        .input(&exponents)
        .input(&coefficients)
        .input(&bounds_there)
        .input(&densities_there)
        .output_from(&fock, 0)
        .reset()
        .check(move || {
            close(&fock, 1e-9, 1e-9, |i| {
                parts.iter().map(|part| part[i]).sum()
            })
        }))
}
