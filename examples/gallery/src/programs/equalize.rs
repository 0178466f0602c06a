//! `equalize`: histogram equalization of a dark image of low contrast.
//!
//! The picture shows the image and its histogram before (left) and after (right). Three
//! [kernels](gallery_kernels::equalize) count, compute the table of new gray values and look them
//! up; all three results are equal to the CPU's.

use crate::picture::{Color, INK, PAPER, Picture};
use crate::{Outcome, Program, Report, Setup, Sizes, equal};
use cust::prelude::*;
use gallery_kernels::equalize::{histogram, level, levels, look_up};
use gallery_kernels::uniform4;

/// The program.
pub const PROGRAM: Program = Program {
    name: "equalize",
    about: "histogram equalization of an image of low contrast",
    sizes: Sizes {
        unit: "pixels along each side",
        least: 16,
        emulator: 384,
        gpu: 2048,
        most: 8192,
    },
    run,
};

fn run(setup: &Setup) -> Outcome<Report> {
    let side = setup.size;
    let image = dark_image(side);
    let (module, stream) = (&setup.module, &setup.stream);
    let from = image.as_dbuf()?;
    let mut to = DeviceBuffer::<u8>::zeroed(image.len())?;
    let mut total = DeviceBuffer::<u32>::zeroed(256)?;
    let mut table = DeviceBuffer::<u8>::zeroed(256)?;
    // Fewer threads than pixels, so that each block counts many pixels before it adds to the total.
    let config = LaunchConfig::for_elements(image.len().div_ceil(32), 256);
    module.launch(stream, config, histogram::args(&from, &mut total))?;
    module.launch(stream, (1, 256), levels::args(&total, &mut table))?;
    module.launch(stream, config, look_up::args(&table, &from, &mut to))?;
    let (total, table, result) = (
        total.as_host_vec()?,
        table.as_host_vec()?,
        to.as_host_vec()?,
    );

    let expected = count(&image);
    equal("bins", &total, &expected)?;
    let expected = levels_on_cpu(&expected, image.len() as u32);
    equal("gray values of the table", &table, &expected)?;
    let expected: Vec<u8> = image.iter().map(|&gray| table[usize::from(gray)]).collect();
    equal("pixels", &result, &expected)?;

    let (gap, bars) = (side / 24 + 2, side / 3);
    let mut picture = Picture::new(2 * side + gap, side + gap + bars, PAPER);
    for (i, image) in [&image, &result].into_iter().enumerate() {
        let x = (i * (side + gap)) as isize;
        let pixels: Vec<Color> = image.iter().map(|&gray| [gray; 3]).collect();
        picture.paste((x, 0), side, &pixels);
        draw_histogram(&mut picture, x, side, bars, &count(image));
    }
    let used = total.iter().filter(|&&count| count > 0).count();
    Ok(Report {
        picture,
        notes: vec![
            format!("{side} × {side} pixels, {used} gray values"),
            "the histogram, the table and the image are equal to the CPU's".into(),
        ],
    })
}

/// Hills in fog: gray values from about 60 to 120.
fn dark_image(side: usize) -> Vec<u8> {
    let pixel = |i: usize| {
        let (x, y) = (
            (i % side) as f32 / side as f32,
            (i / side) as f32 / side as f32,
        );
        let mut gray = 112.0 - 12.0 * y;
        for layer in 0..4u8 {
            let l = f32::from(layer);
            let ridge = 0.3 + 0.16 * l + 0.07 * ((5.0 + 3.0 * l) * x + 2.0 * l).sin()
                - 0.03 * (17.0 * x + l).sin();
            if y > ridge {
                gray = 100.0 - 9.0 * l - 14.0 * (y - ridge);
            }
        }
        (gray + 3.0 * uniform4(i as u32, 5)[0]) as u8
    };
    (0..side * side).map(pixel).collect()
}

fn count(image: &[u8]) -> Vec<u32> {
    let mut bins = vec![0; 256];
    for &gray in image {
        bins[usize::from(gray)] += 1;
    }
    bins
}

fn levels_on_cpu(total: &[u32], count: u32) -> Vec<u8> {
    let darkest = total.iter().copied().find(|&bin| bin > 0).unwrap_or(0);
    let up_to = total.iter().scan(0, |sum, bin| {
        *sum += bin;
        Some(*sum)
    });
    up_to.map(|up_to| level(up_to, darkest, count)).collect()
}

fn draw_histogram(picture: &mut Picture, x: isize, side: usize, height: usize, bins: &[u32]) {
    let bottom = picture.height() as isize - 1;
    // Several bins fall into a column of a small picture.
    let mut columns = vec![0; side.min(256)];
    let number = columns.len();
    for (gray, count) in bins.iter().enumerate() {
        columns[gray * number / 256] += count;
    }
    let most = columns.iter().copied().max().unwrap_or(0).max(1);
    let width = (side / number) as isize;
    for (i, &count) in columns.iter().enumerate() {
        let bar = (u64::from(count) * (height as u64 - 1) / u64::from(most)) as isize;
        picture.fill((x + i as isize * width, bottom - bar), (width, bar), INK);
    }
    picture.fill((x, bottom), (side as isize, 1), INK);
}
