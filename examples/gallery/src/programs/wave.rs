//! `wave`: a wave that passes two openings of a wall, as an animation.
//!
//! The device computes some steps of the wave equation between two frames ([the
//! kernel](gallery_kernels::wave)); the interference of the two openings appears to the right. All
//! frames are equal to the CPU's, bit for bit.

use crate::picture::{Color, Picture, gradient};
use crate::{Outcome, Program, Report, Setup, Sizes, cover, equal, progress};
use cust::prelude::*;
use gallery_kernels::wave::{Basin, wave_step};

/// The program.
pub const PROGRAM: Program = Program {
    name: "wave",
    about: "a wave behind a wall with two openings, by the wave equation (animation)",
    sizes: Sizes {
        unit: "points along each side",
        least: 32,
        emulator: 112,
        gpu: 512,
        most: 4096,
    },
    run,
};

const FRAMES: usize = 30;

fn run(setup: &Setup) -> Outcome<Report> {
    let side = setup.size;
    let basin = Basin {
        width: side,
        height: side,
    };
    // A wave crosses half a point per step: it reaches the right side after two thirds of the time.
    let steps = (3 * side).div_ceil(FRAMES);
    let mut now = DeviceBuffer::<f32>::zeroed(side * side)?;
    let mut next = DeviceBuffer::<f32>::zeroed(side * side)?;
    let (mut cpu_now, mut cpu_next) = (vec![0.0; side * side], vec![0.0; side * side]);
    let mut picture = Picture::animation(side, side, 8);
    let bar = progress(FRAMES);
    for frame in 0..FRAMES {
        for step in frame * steps..(frame + 1) * steps {
            let driven = (step as f32 * std::f32::consts::TAU / 28.0).sin();
            let args = wave_step::args(driven, &now, next.rows_mut(side));
            setup
                .module
                .launch(&setup.stream, cover(side, side), args)?;
            std::mem::swap(&mut now, &mut next);
            step_on_cpu(&basin, driven, &cpu_now, &mut cpu_next);
            std::mem::swap(&mut cpu_now, &mut cpu_next);
        }
        let points = now.as_host_vec()?;
        equal("points", &points, &cpu_now)?;
        picture.push(draw(&basin, &points));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Report {
        picture,
        notes: vec![
            format!("{side} × {side} points, {} steps", FRAMES * steps),
            "all frames are equal to the CPU's, bit for bit".into(),
        ],
    })
}

fn step_on_cpu(basin: &Basin, driven: f32, now: &[f32], next: &mut [f32]) {
    let at = |x: usize, y: usize| match x < basin.width && y < basin.height {
        true => now[y * basin.width + x],
        false => 0.0,
    };
    for (i, next) in next.iter_mut().enumerate() {
        *next = basin.next((i % basin.width, i / basin.width), driven, *next, at);
    }
}

fn draw(basin: &Basin, points: &[f32]) -> Vec<Color> {
    const STOPS: [Color; 5] = [
        [20, 60, 160],
        [90, 150, 220],
        [245, 245, 245],
        [230, 140, 90],
        [150, 30, 30],
    ];
    let color = |(i, &value): (usize, &f32)| {
        if basin.is_wall(i % basin.width, i / basin.width) {
            return [40, 40, 40];
        }
        // A few shades, so that the file is small.
        let shade = ((value.clamp(-1.0, 1.0) + 1.0) * 8.0).round() / 16.0;
        gradient(&STOPS, shade)
    };
    points.iter().enumerate().map(color).collect()
}
