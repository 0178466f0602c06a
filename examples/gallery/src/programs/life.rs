//! `life`: Conway's Game of Life on a torus, as an animation.
//!
//! The device computes a generation per launch ([the kernel](gallery_kernels::life)), and the
//! colors show the ages of the cells. Every generation is equal to the CPU's.

use crate::picture::{Picture, gradient};
use crate::{Outcome, Program, Report, Setup, Sizes, cover, equal, progress};
use cust::prelude::*;
use gallery_kernels::life::{OLDEST, life_step, next_age};
use gallery_kernels::uniform4;

/// The program.
pub const PROGRAM: Program = Program {
    name: "life",
    about: "Conway's Game of Life on a torus (animation)",
    sizes: Sizes {
        unit: "cells along each side",
        least: 3,
        emulator: 160,
        gpu: 512,
        most: 4096,
    },
    run,
};

const FRAMES: usize = 40;

fn run(setup: &Setup) -> Outcome<Report> {
    let side = setup.size;
    let start: Vec<u8> = (0..side * side)
        .map(|i| u8::from(uniform4(i as u32, 2)[0] < 0.3))
        .collect();
    let mut from = start.as_dbuf()?;
    let mut to = DeviceBuffer::<u8>::zeroed(start.len())?;
    let mut picture = Picture::animation(side, side, 8);
    let mut expected = start;
    let bar = progress(FRAMES);
    for _ in 0..FRAMES {
        let args = life_step::args(&from, to.rows_mut(side));
        setup
            .module
            .launch(&setup.stream, cover(side, side), args)?;
        std::mem::swap(&mut from, &mut to);
        let cells = from.as_host_vec()?;
        expected = (0..cells.len())
            .map(|i| {
                let at = (i % side, i / side);
                next_age(at, (side, side), |x, y| expected[y * side + x])
            })
            .collect();
        equal("cells", &cells, &expected)?;
        picture.push(cells.iter().map(|&age| color(age)).collect());
        bar.inc(1);
    }
    bar.finish_and_clear();
    let living = expected.iter().filter(|&&age| age > 0).count();
    Ok(Report {
        picture,
        notes: vec![
            format!(
                "{side} × {side} cells, {FRAMES} generations, {living} living cells at the end"
            ),
            "all generations are equal to the CPU's".into(),
        ],
    })
}

/// Young cells are bright.
fn color(age: u8) -> [u8; 3] {
    match age {
        0 => [16, 18, 28],
        age => gradient(
            &[[255, 244, 200], [240, 120, 60], [90, 60, 140]],
            f32::from(age - 1) / f32::from(OLDEST - 1),
        ),
    }
}
