//! The electron repulsion of the Hartree–Fock method, for atoms with s-type Gaussian functions:
//! integrals over four functions, each added to six elements of the Fock matrix.

use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::float::erf;
use cuda_std::prelude::*;
use cuda_std::scope::Device;

/// The number of Gaussian functions per atom.
pub const GAUSSIANS: usize = 3;
/// Products of coefficients below this threshold are ignored.
pub const CUTOFF: f64 = 1e-10;

/// Returns the `number`-th pair, in the order (0, 0), (1, 0), (1, 1), (2, 0) and so on.
#[inline(always)]
pub fn pair(number: usize) -> (usize, usize) {
    let mut i = ((8.0 * number as f64 + 1.0).sqrt() * 0.5 - 0.5) as usize;
    // The square root may be rounded.
    while i * (i + 1) / 2 > number {
        i -= 1;
    }
    while (i + 1) * (i + 2) / 2 <= number {
        i += 1;
    }
    (i, number - i * (i + 1) / 2)
}

/// Returns the squared distance of two atoms.
#[inline(always)]
fn squared(a: [f64; 3], b: [f64; 3]) -> f64 {
    let (x, y, z) = (a[0] - b[0], a[1] - b[1], a[2] - b[2]);
    x * x + y * y + z * z
}

/// Returns the integral over the functions of atoms at these positions.
#[inline(always)]
pub fn repulsion(
    places: [[f64; 3]; 4],
    exponents: &[f64; GAUSSIANS],
    coefficients: &[f64; GAUSSIANS],
) -> f64 {
    let [p, q, r, s] = places;
    let (pq, rs) = (squared(p, q), squared(r, s));
    let mut sum = 0.0;
    for i in 0..GAUSSIANS {
        for j in 0..GAUSSIANS {
            let a = exponents[i] + exponents[j];
            let inverse_a = 1.0 / a;
            let ij = coefficients[i]
                * coefficients[j]
                * (-exponents[i] * exponents[j] * inverse_a * pq).exp()
                * inverse_a
                * inverse_a.sqrt();
            if ij.abs() <= CUTOFF {
                continue;
            }
            let center_ij: [f64; 3] =
                core::array::from_fn(|d| inverse_a * (exponents[i] * p[d] + exponents[j] * q[d]));
            for k in 0..GAUSSIANS {
                for l in 0..GAUSSIANS {
                    let b = exponents[k] + exponents[l];
                    let inverse_b = 1.0 / b;
                    let kl = coefficients[k]
                        * coefficients[l]
                        * (-exponents[k] * exponents[l] * inverse_b * rs).exp()
                        * inverse_b
                        * inverse_b.sqrt();
                    if (ij * kl).abs() <= CUTOFF {
                        continue;
                    }
                    let center_kl: [f64; 3] = core::array::from_fn(|d| {
                        inverse_b * (exponents[k] * r[d] + exponents[l] * s[d])
                    });
                    let both = a * b / (a + b);
                    let t = both * squared(center_ij, center_kl);
                    // Boys' function of order 0, up to a factor.
                    let boys = if t > 1e-12 {
                        let root = t.sqrt();
                        erf(root) / root
                    } else {
                        core::f64::consts::FRAC_2_SQRT_PI
                    };
                    sum += ij * kl * boys * both.sqrt();
                }
            }
        }
    }
    sum
}

/// Returns the multiplicity of an integral: many have the same value by symmetry.
#[inline(always)]
pub fn share(i: usize, j: usize, k: usize, l: usize, ij: usize, kl: usize) -> f64 {
    let mut share = 1.0;
    if i == j {
        share *= 0.5;
    }
    if k == l {
        share *= 0.5;
    }
    if ij == kl {
        share *= 0.5;
    }
    share
}

/// Adds the repulsion to the Fock matrix. `bounds` has a bound for each pair.
#[kernel(block_size(128))]
pub fn hartree_fock_safe(
    places: &[[f64; 3]],
    exponents: &[f64; GAUSSIANS],
    coefficients: &[f64; GAUSSIANS],
    bounds: &[f64],
    densities: &[f64],
    fock: &[Atomic<f64, Device>],
) {
    let atoms = places.len();
    let pairs = bounds.len();
    for quadruple in thread::grid_stride(pairs * (pairs + 1) / 2) {
        let (ij, kl) = pair(quadruple);
        if bounds[ij] * bounds[kl] <= CUTOFF {
            continue;
        }
        let ((i, j), (k, l)) = (pair(ij), pair(kl));
        let share = share(i, j, k, l, ij, kl);
        let value = share
            * repulsion(
                [places[i], places[j], places[k], places[l]],
                exponents,
                coefficients,
            );
        let density = |a: usize, b: usize| densities[a * atoms + b];
        let add = |a: usize, b: usize, value: f64| {
            fock[a * atoms + b].fetch_add(value, Relaxed);
        };
        add(i, j, 4.0 * value * density(k, l));
        add(k, l, 4.0 * value * density(i, j));
        add(i, k, -value * density(j, l));
        add(i, l, -value * density(j, k));
        add(j, k, -value * density(i, l));
        add(j, l, -value * density(i, k));
    }
}

/// Adds the repulsion to the Fock matrix. `bounds` has a bound for each pair.
#[kernel(block_size(128))]
pub unsafe fn hartree_fock_raw(
    places: *const [f64; 3],
    exponents: *const f64,
    coefficients: *const f64,
    bounds: *const f64,
    densities: *const f64,
    fock: *mut f64,
    atoms: usize,
) {
    let pairs = atoms * (atoms + 1) / 2;
    let quadruple = thread::index_1d() as usize;
    if quadruple >= pairs * (pairs + 1) / 2 {
        return;
    }
    let (ij, kl) = pair(quadruple);
    if *bounds.add(ij) * *bounds.add(kl) <= CUTOFF {
        return;
    }
    let ((i, j), (k, l)) = (pair(ij), pair(kl));
    let share = share(i, j, k, l, ij, kl);
    let value = share
        * repulsion(
            [
                *places.add(i),
                *places.add(j),
                *places.add(k),
                *places.add(l),
            ],
            &*exponents.cast(),
            &*coefficients.cast(),
        );
    let density = |a: usize, b: usize| *densities.add(a * atoms + b);
    let add = |a: usize, b: usize, value: f64| {
        Atomic::<f64, Device>::from_ptr(fock.add(a * atoms + b)).fetch_add(value, Relaxed);
    };
    add(i, j, 4.0 * value * density(k, l));
    add(k, l, 4.0 * value * density(i, j));
    add(i, k, -value * density(j, l));
    add(i, l, -value * density(j, k));
    add(j, k, -value * density(i, l));
    add(j, l, -value * density(i, k));
}
