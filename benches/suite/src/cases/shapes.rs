//! Shapes: points in a polygon, and lines in an image.

use super::Scale;
use crate::case::{Args, Buffer, Case, download, random, uniform_f32, upload, zeroed};
use bench_kernels::shapes::{DISTANCES, Direction, Pixel, Point};
use cust::error::CudaResult;

pub fn point_in_polygon(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(500, 1 << 22);
    let corners = scale.pick(20, 200);
    let values: Vec<Point> = uniform_f32(2 * n, 1)
        .as_chunks::<2>()
        .0
        .iter()
        .map(|&[x, y]| Point {
            x: 3.0 * x - 1.5,
            y: 3.0 * y - 1.5,
        })
        .collect();
    let radii = uniform_f32(corners, 2);
    let corner_values: Vec<Point> = (0..=corners)
        .map(|i| {
            let angle = (i % corners) as f32 / corners as f32 * std::f32::consts::TAU;
            let radius = 0.5 + radii[i % corners];
            Point {
                x: radius * angle.cos(),
                y: radius * angle.sin(),
            }
        })
        .collect();
    let (points, polygon) = (upload(&values)?, upload(&corner_values)?);
    let inside: Buffer<u8> = zeroed(n)?;
    let pointers = || Args::new().pointer(&points).pointer(&polygon);
    Ok(Case::new("point_in_polygon", n.div_ceil(256), 256)
        .args(
            pointers()
                .value(corners as i32 + 1)
                .pointer(&inside)
                .value(n as i32),
            pointers().value(corners + 1).pointer(&inside).value(n),
            Args::new().slice(&points).slice(&polygon).output(&inside),
        )
        .input(&points)
        .input(&polygon)
        .output(&inside)
        .bytes(9 * n)
        .check(move || {
            let results = download(&inside)?;
            let mut different = 0;
            for (&point, result) in values.iter().zip(results).step_by(n.div_ceil(2000)) {
                let edges = corner_values.windows(2);
                let crossed = edges.filter(|edge| point.crosses(edge[0], edge[1]));
                different += u32::from(result != (crossed.count() % 2) as u8);
            }
            // Points at an edge are on either side of it.
            match different <= 2 {
                true => Ok(()),
                false => Err(format!("{different} points differ")),
            }
        }))
}

pub fn hough_lines(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 18);
    let count = scale.pick(3, 720);
    let pixel_values: Vec<Pixel> = (0..n as u64)
        .map(|i| Pixel {
            x: random(i) as u16 % 1024,
            y: random(i ^ 1 << 40) as u16 % 1024,
        })
        .collect();
    let direction_values: Vec<Direction> = (0..count)
        .map(|i| {
            let (sin, cos) = (i as f32 / count as f32 * std::f32::consts::PI).sin_cos();
            Direction { cos, sin }
        })
        .collect();
    let (pixels, directions) = (upload(&pixel_values)?, upload(&direction_values)?);
    let to: Buffer<u32> = zeroed(count * DISTANCES)?;
    let pointers = Args::new()
        .pointer(&pixels)
        .pointer(&directions)
        .pointer(&to);
    Ok(Case::new("hough_lines", count, 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&pixels).slice(&directions).output(&to),
        )
        .input(&pixels)
        .input(&directions)
        .output(&to)
        .bytes(4 * n + 4 * count * DISTANCES)
        .check(move || {
            let results = download(&to)?;
            let mut lines = vec![0u32; DISTANCES];
            let middle = count / 3;
            for &pixel in &pixel_values {
                lines[direction_values[middle].line(pixel)] += 1;
            }
            let results = &results[middle * DISTANCES..][..DISTANCES];
            let differences = results.iter().zip(&lines).map(|(&a, &b)| a.abs_diff(b));
            // Pixels between two lines are on either of them.
            match differences.sum::<u32>() {
                sum if 1000 * sum as usize <= n => Ok(()),
                sum => Err(format!("{sum} pixels differ")),
            }
        }))
}
