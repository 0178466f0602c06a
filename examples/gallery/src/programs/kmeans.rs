//! `kmeans`: an image with 16 colors, found by k-means clustering.
//!
//! The picture shows the image, the same with the colors of the clusters' centers, and these
//! colors. A step is two launches ([the kernels](gallery_kernels::kmeans)). All sums are integers,
//! so the result is equal to the CPU's.

use crate::picture::{Color, PAPER, Picture};
use crate::{Outcome, Program, Report, Setup, Sizes, equal, progress};
use cust::prelude::*;
use gallery_kernels::kmeans::{CLUSTERS, SUMS, assign, mean, nearest, update};

/// The program.
pub const PROGRAM: Program = Program {
    name: "kmeans",
    about: "an image reduced to 16 colors by k-means clustering",
    sizes: Sizes {
        unit: "pixels along each side",
        least: 16,
        emulator: 160,
        gpu: 1024,
        // The sums of 4096² pixels fit 32 bits.
        most: 4096,
    },
    run,
};

const STEPS: usize = 12;

fn run(setup: &Setup) -> Outcome<Report> {
    let side = setup.size;
    let image = colorful_image(side);
    let start: Vec<Color> = (0..CLUSTERS)
        .map(|i| image[(2 * i + 1) * image.len() / (2 * CLUSTERS)])
        .collect();
    let pixels = image.as_dbuf()?;
    let mut centers = start.as_dbuf()?;
    let mut totals = DeviceBuffer::<u32>::zeroed(SUMS)?;
    let mut clusters = DeviceBuffer::<u8>::zeroed(image.len())?;
    let config = LaunchConfig::for_elements(image.len().div_ceil(16), 128);
    let bar = progress(STEPS);
    for _ in 0..STEPS {
        let args = assign::args(&centers, &pixels, &mut totals, &mut clusters);
        setup.module.launch(&setup.stream, config, args)?;
        let args = update::args(&mut totals, &mut centers);
        setup.module.launch(&setup.stream, (1, 32), args)?;
        setup.stream.synchronize()?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let (centers, clusters) = (centers.as_host_vec()?, clusters.as_host_vec()?);

    let (expected_centers, expected_clusters) = on_cpu(&image, start);
    equal("clusters", &clusters, &expected_clusters)?;
    equal("centers", &centers, &expected_centers)?;

    let reduced: Vec<Color> = clusters.iter().map(|&i| centers[usize::from(i)]).collect();
    let (gap, swatch) = (side / 24 + 2, side / 8);
    let mut picture = Picture::new(2 * side + 2 * gap + swatch, side, PAPER);
    picture.paste((0, 0), side, &image);
    picture.paste(((side + gap) as isize, 0), side, &reduced);
    let mut sorted = centers;
    sorted.sort_by_key(|color| color.iter().map(|&part| u32::from(part)).sum::<u32>());
    for (i, &color) in sorted.iter().enumerate() {
        let (top, bottom) = (i * side / CLUSTERS, (i + 1) * side / CLUSTERS);
        picture.fill(
            ((2 * (side + gap)) as isize, top as isize),
            (swatch as isize, (bottom - top) as isize),
            color,
        );
    }
    Ok(Report {
        picture,
        notes: vec![
            format!("{side} × {side} pixels, {CLUSTERS} clusters, {STEPS} steps"),
            "clusters and centers are equal to the CPU's".into(),
        ],
    })
}

fn on_cpu(image: &[Color], mut centers: Vec<Color>) -> (Vec<Color>, Vec<u8>) {
    let mut clusters = Vec::new();
    for _ in 0..STEPS {
        clusters = image
            .iter()
            .map(|&color| nearest(color, &centers))
            .collect();
        let mut sums = [[0u32; 4]; CLUSTERS];
        for (&cluster, color) in clusters.iter().zip(image) {
            let sums = &mut sums[usize::from(cluster)];
            for i in 0..3 {
                sums[i] += u32::from(color[i]);
            }
            sums[3] += 1;
        }
        for (center, sums) in centers.iter_mut().zip(sums) {
            *center = mean(sums, *center);
        }
    }
    (centers, clusters)
}

/// A sunset over the sea.
fn colorful_image(side: usize) -> Vec<Color> {
    let pixel = |i: usize| {
        let (x, y) = (
            (i % side) as f32 / side as f32,
            (i / side) as f32 / side as f32,
        );
        let distance = ((x - 0.5).powi(2) + (y - 0.5).powi(2)).sqrt();
        let [red, green, blue] = if y < 0.6 {
            let glow = (1.0 - 1.6 * distance).max(0.0);
            let sun = f32::from(u8::from(distance < 0.1));
            [
                90.0 + 165.0 * glow + 30.0 * sun,
                50.0 + 120.0 * glow * glow + 80.0 * sun,
                120.0 - 60.0 * y - 40.0 * glow + 60.0 * sun,
            ]
        } else {
            let wave = 0.5 + 0.5 * ((y - 0.6) * 140.0 / (0.3 + y) + 4.0 * (9.0 * x).sin()).sin();
            let path = (1.0 - 6.0 * (x - 0.5).abs() / (0.4 + y)).max(0.0) * wave;
            [
                20.0 + 215.0 * path,
                40.0 + 60.0 * (1.0 - y) + 90.0 * path,
                110.0 - 40.0 * (y - 0.6) + 20.0 * wave,
            ]
        };
        [red, green, blue].map(|part| part.clamp(0.0, 255.0) as u8)
    };
    (0..side * side).map(pixel).collect()
}
