//! Forces between bodies.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, uniform, upload, zeroed};
use bench_kernels::particles::{BODIES, Body, SOFTENING};
use cust::error::CudaResult;

pub fn nbody(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 16);
    let bodies: Vec<Body> = (0..n as u64)
        .map(|i| {
            let number = |field| uniform(4 * i + field) as f32;
            Body {
                x: number(0),
                y: number(1),
                z: number(2),
                mass: number(3) + 0.5,
            }
        })
        .collect();
    let from = upload(&bodies)?;
    let to: Buffer<[f32; 3]> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("nbody", n.div_ceil(BODIES), BODIES)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(28 * n)
        // By convention, the inverse square root counts as one operation.
        .f32_operations(20.0 * (n as f64).powi(2))
        .check(move || {
            let results = crate::case::download(&to)?;
            let flat: Vec<f32> = results.into_iter().flatten().collect();
            let flat = upload(&flat).map_err(|error| error.to_string())?;
            // Sums of many numbers of both signs.
            let absolute = 1e-5 * n as f64;
            close(&flat, 1e-4, absolute, |i| {
                let on = bodies[i / 3];
                bodies
                    .iter()
                    .map(|by| {
                        let d = [by.x - on.x, by.y - on.y, by.z - on.z].map(f64::from);
                        let squared: f64 = d.iter().map(|d| d * d).sum();
                        let squared = squared + f64::from(SOFTENING);
                        f64::from(by.mass) * d[i % 3] / (squared * squared.sqrt())
                    })
                    .sum()
            })
        }))
}
