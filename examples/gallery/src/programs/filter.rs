//! `filter`: a Gaussian blur and the edges of a generated image.
//!
//! The picture shows the noisy image, the blurred one and its edges, from left to right. Both steps
//! are [kernels](gallery_kernels::filter); the CPU blurs rows and columns in the same order, so the
//! bits are equal.

use crate::picture::{Color, PAPER, Picture};
use crate::{Outcome, Program, Report, Setup, Sizes, cover, equal};
use cust::prelude::*;
use gallery_kernels::filter::{RADIUS, TILE, Weights, blur, clamped, gradient, sobel, weighted};
use gallery_kernels::uniform4;

/// The program.
pub const PROGRAM: Program = Program {
    name: "filter",
    about: "Gaussian blur and edges (Sobel) of a noisy image",
    sizes: Sizes {
        unit: "pixels along each side",
        least: 8,
        emulator: 384,
        gpu: 2048,
        most: 8192,
    },
    run,
};

fn run(setup: &Setup) -> Outcome<Report> {
    let side = setup.size;
    let image = noisy_image(side);
    let weights = gaussian();
    let from = image.as_dbuf()?;
    let mut blurred = DeviceBuffer::<f32>::zeroed(image.len())?;
    let mut edges = DeviceBuffer::<f32>::zeroed(image.len())?;
    let (tiles, threads) = (side.div_ceil(TILE) as u32, TILE as u32);
    let args = blur::args(weights, &from, blurred.rows_mut(side));
    (setup.module).launch(&setup.stream, ((tiles, tiles), (threads, threads)), args)?;
    // In the same stream, so it starts after the blur.
    let args = sobel::args(&blurred, edges.rows_mut(side));
    setup
        .module
        .launch(&setup.stream, cover(side, side), args)?;
    let (blurred, edges) = (blurred.as_host_vec()?, edges.as_host_vec()?);

    let expected = blur_on_cpu(&weights, &image, side);
    equal("blurred pixels", &blurred, &expected)?;
    equal("edge pixels", &edges, &sobel_on_cpu(&expected, side))?;

    let gap = side / 32 + 1;
    let mut picture = Picture::new(3 * side + 2 * gap, side, PAPER);
    for (i, (image, scale)) in [(&image, 1.0), (&blurred, 1.0), (&edges, 0.7)]
        .into_iter()
        .enumerate()
    {
        let pixels: Vec<Color> = image.iter().map(|gray| gray_color(gray * scale)).collect();
        picture.paste(((i * (side + gap)) as isize, 0), side, &pixels);
    }
    Ok(Report {
        picture,
        notes: vec![
            format!("{side} × {side} pixels, {} weights", weights.len()),
            "both images are equal to the CPU's, bit for bit".into(),
        ],
    })
}

/// The weights of a Gaussian of a standard deviation of 1.4 pixels.
fn gaussian() -> Weights {
    let mut weights: Weights = std::array::from_fn(|i| {
        let x = i as f32 - RADIUS as f32;
        (-x * x / (2.0 * 1.4 * 1.4)).exp()
    });
    let sum: f32 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    weights
}

/// Disks, a grid and a gradient, with noise.
fn noisy_image(side: usize) -> Vec<f32> {
    let pixel = |i: usize| {
        let (x, y) = (
            (i % side) as f32 / side as f32,
            (i / side) as f32 / side as f32,
        );
        let mut gray = 0.3 + 0.3 * x;
        if (x - 0.35).powi(2) + (y - 0.4).powi(2) < 0.07 {
            gray = 0.9 - 0.5 * y;
        }
        if (x - 0.62).powi(2) + (y - 0.62).powi(2) < 0.04 {
            gray = 0.15;
        }
        if y > 0.82 && ((x * 16.0) as i32 + (y * 16.0) as i32) % 2 == 0 {
            gray = 0.95;
        }
        (gray + 0.12 * (uniform4(i as u32, 3)[0] - 0.5)).clamp(0.0, 1.0)
    };
    (0..side * side).map(pixel).collect()
}

fn blur_on_cpu(weights: &Weights, image: &[f32], side: usize) -> Vec<f32> {
    let mut rows = vec![0.0; image.len()];
    for (i, to) in rows.iter_mut().enumerate() {
        let (x, y) = (i % side, i / side);
        *to = weighted(weights, |k| image[y * side + clamped(x + k, RADIUS, side)]);
    }
    let column = |i: usize| {
        let (x, y) = (i % side, i / side);
        weighted(weights, |k| rows[clamped(y + k, RADIUS, side) * side + x])
    };
    (0..image.len()).map(column).collect()
}

fn sobel_on_cpu(image: &[f32], side: usize) -> Vec<f32> {
    let pixel = |i: usize| {
        let (x, y) = (i % side, i / side);
        gradient(|k, l| image[clamped(y + l, 1, side) * side + clamped(x + k, 1, side)])
    };
    (0..image.len()).map(pixel).collect()
}

fn gray_color(gray: f32) -> Color {
    [(gray.clamp(0.0, 1.0) * 255.0).round() as u8; 3]
}
