//! Scenes of signed distances.

use super::Scale;
use crate::case::{Args, Buffer, Case, download, samples, zeroed};
use bench_kernels::scenes::{render, to_byte};
use cust::error::CudaResult;

pub fn ray_march(scale: Scale) -> CudaResult<Case> {
    const ANGLE: f32 = 0.6;
    let (width, height) = match scale.small {
        true => (50, 40),
        false => (2560, 1440),
    };
    let to: Buffer<u8> = zeroed(width * height)?;
    let start = Args::new().value(ANGLE);
    let grid = (width.div_ceil(16), height.div_ceil(16));
    Ok(Case::new("ray_march", grid, (16, 16))
        .args(
            (start.clone().pointer(&to))
                .value(width as i32)
                .value(height as i32),
            start.clone().pointer(&to).value(width).value(height),
            start.rows(&to, width),
        )
        .output(&to)
        .bytes(width * height)
        .check(move || {
            let results = download(&to)?;
            let (mut different, mut total) = (0, 0);
            for i in samples(results.len()) {
                let expected = to_byte(render(i % width, i / width, width, height, ANGLE));
                different += u32::from(results[i].abs_diff(expected) > 2);
                total += 1;
            }
            // Rays near the edge of a surface hit it or not.
            match 30 * different <= total {
                true => Ok(()),
                false => Err(format!("{different} of {total} pixels differ")),
            }
        }))
}
