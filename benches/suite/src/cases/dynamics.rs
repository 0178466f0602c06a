//! Dynamics: systems of ordinary differential equations, principal stresses, advection, and rigid
//! bodies.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, download, near, samples, uniform_f32, upload, zeroed,
};
use bench_kernels::dynamics::{
    Body, Load, Rotation, SPECIES, Symmetric, flux, growth, runge_kutta,
};
use bench_kernels::images::Vec3;
use cust::error::CudaResult;
use cust::vector::F32x2;

pub fn predator_prey(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(200, 1 << 18);
    let steps = scale.pick(20, 400) as u32;
    let h = 0.05f32;
    let values: Vec<f32> = uniform_f32(n, 1).into_iter().map(|x| 0.5 + x).collect();
    let rates = upload(&values)?;
    let to: Buffer<[f32; SPECIES]> = zeroed(n)?;
    let start = || Args::new().value(h).value(steps);
    let pointer = Args::new().pointer(&rates).and(start()).pointer(&to);
    Ok(Case::new("predator_prey", n.div_ceil(128), 128)
        .args(
            pointer.clone().value(n as i32),
            pointer.value(n),
            Args::new().slice(&rates).and(start()).output(&to),
        )
        .input(&rates)
        .output(&to)
        .bytes(16 * n)
        .check(move || {
            let results = download(&to)?;
            for i in (0..n).step_by(n.div_ceil(200)) {
                let mut state = [0.8, 0.2, 8.0];
                for _ in 0..steps {
                    state = runge_kutta(state, h, |state| growth(state, values[i]));
                }
                for (result, expected) in results[i].into_iter().zip(state) {
                    near(i, result, f64::from(expected), 1e-3, 1e-4)?;
                }
            }
            Ok(())
        }))
}

pub fn eigen3x3(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 23);
    let values: Vec<[f32; 6]> = uniform_f32(6 * n, 2)
        .as_chunks::<6>()
        .0
        .iter()
        .map(|matrix| matrix.map(|x| 2.0 * x - 1.0))
        .collect();
    let from = upload(&values)?;
    let to: Buffer<[f32; 3]> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("eigen3x3", n.div_ceil(128), 128)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(36 * n)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let expected = Symmetric::new(values[i]).eigenvalues();
                for (result, expected) in results[i].into_iter().zip(expected) {
                    near(i, result, f64::from(expected), 1e-4, 1e-4)?;
                }
            }
            Ok(())
        }))
}

pub fn advect_2d(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (70, 21),
        false => (4096, 4096),
    };
    let n = width * height;
    let values = uniform_f32(n, 3);
    let speed_values: Vec<F32x2> = uniform_f32(2 * n, 4)
        .as_chunks::<2>()
        .0
        .iter()
        .map(|&[x, y]| F32x2::new(x - 0.5, y - 0.5))
        .collect();
    let (from, speeds) = (upload(&values)?, upload(&speed_values)?);
    let to: Buffer<f32> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&speeds).pointer(&to);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("advect_2d", grid, (32, 8))
        .args(
            pointers.clone().value(width as i32).value(height as i32),
            pointers.value(width).value(height),
            Args::new().slice(&from).slice(&speeds).rows(&to, width),
        )
        .input(&from)
        .input(&speeds)
        .output(&to)
        .bytes(16 * n)
        .check(move || {
            close(&to, 1e-4, 1e-5, |i| {
                let at = |x: usize, y: usize| y % height * width + x % width;
                let (x, y) = (i % width + width, i / width + height);
                // The flux into a cell from the left and from above.
                let from_left = |x: usize| {
                    let cells = core::array::from_fn(|k| values[at(x + k - 2, y)]);
                    flux(speed_values[at(x, y)].x(), cells)
                };
                let from_above = |y: usize| {
                    let cells = core::array::from_fn(|k| values[at(x, y + k - 2)]);
                    flux(speed_values[at(x, y)].y(), cells)
                };
                let flows = from_left(x) - from_left(x + 1) + from_above(y) - from_above(y + 1);
                f64::from(values[i] + flows)
            })
        }))
}

pub fn rigid_bodies(scale: Scale) -> CudaResult<Case> {
    const H: f32 = 0.01;
    const NUMBERS: usize = 23;
    let n = scale.pick(1000, 1 << 21);
    let numbers: Vec<f32> = uniform_f32(NUMBERS * n, 1)
        .into_iter()
        .map(|x| 2.0 * x - 1.0)
        .collect();
    let vector = |i: usize| Vec3::new(numbers[i], numbers[i + 1], numbers[i + 2]);
    let forces: Vec<Load> = (0..n)
        .map(|i| Load {
            force: vector(NUMBERS * i),
            torque: vector(NUMBERS * i + 3),
        })
        .collect();
    let states: Vec<Body> = (0..n)
        .map(|i| NUMBERS * i + 6)
        .map(|i| Body {
            position: vector(i),
            velocity: vector(i + 3),
            rotation: Rotation {
                w: 2.0 + numbers[i + 6],
                axis: vector(i + 7),
            }
            .normalized(),
            momentum: vector(i + 10),
            inverse_mass: 2.0 + numbers[i + 13],
            inverse_inertia: vector(i + 14) + Vec3::new(2.0, 2.0, 2.0),
        })
        .collect();
    let (from, loads) = (upload(&states)?, upload(&forces)?);
    let to = upload(&vec![Body::default(); n])?;
    let pointers = Args::new().pointer(&from).pointer(&loads).value(H);
    let pointers = pointers.pointer(&to);
    Ok(Case::new("rigid_bodies", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            (Args::new().slice(&from).slice(&loads).value(H)).output(&to),
        )
        .input(&from)
        .input(&loads)
        .output(&to)
        .bytes((2 * size_of::<Body>() + size_of::<Load>()) * n)
        .check(move || {
            let numbers = |body: Body| {
                let Rotation { w, axis } = body.rotation;
                let spare = Vec3::new(w, body.inverse_mass, 0.0);
                let vectors = [body.position, body.velocity, body.momentum, axis, spare];
                (vectors.into_iter().chain([body.inverse_inertia]))
                    .flat_map(|vector| [vector.x, vector.y, vector.z])
            };
            let results = download(&to)?;
            for i in samples(n) {
                let expected = numbers(states[i].step(forces[i], H));
                for (result, expected) in numbers(results[i]).zip(expected) {
                    near(i, result, f64::from(expected), 1e-5, 1e-5)?;
                }
            }
            Ok(())
        }))
}
