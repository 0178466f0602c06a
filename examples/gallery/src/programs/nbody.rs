//! `nbody`: two disk galaxies that attract each other, as an animation.
//!
//! The device computes the attraction of all pairs of bodies in each step ([the
//! kernel](gallery_kernels::nbody)), and the host draws the bodies from above. The CPU computes the
//! same bits, since division and square root are correctly rounded and nothing is fused. Look at
//! the two buffers that change places after each step.

use crate::picture::{Color, Picture, gradient};
use crate::{Outcome, Program, Report, Setup, Sizes, equal, progress};
use cust::prelude::*;
use gallery_kernels::nbody::{Body, TILE, attract, nbody_step};
use gallery_kernels::uniform4;

/// The program.
pub const PROGRAM: Program = Program {
    name: "nbody",
    about: "two galaxies that collide, by the gravity of all pairs of bodies (animation)",
    sizes: Sizes {
        unit: "bodies",
        least: 2,
        emulator: 512,
        gpu: 8192,
        most: 1 << 18,
    },
    run,
};

const DT: f32 = 0.01;
const FRAMES: usize = 40;
/// Steps between two frames.
const STEPS: usize = 3;
const SIDE: usize = 160;

fn run(setup: &Setup) -> Outcome<Report> {
    let start = galaxies(setup.size);
    // The CPU takes as long as the emulator, so it computes fewer steps of many bodies.
    let compared = (10_000_000 / start.len().pow(2)).clamp(1, FRAMES);
    let mut from = start.as_dbuf()?;
    let mut to = start.as_dbuf()?;
    let config = LaunchConfig::for_elements(start.len(), TILE as u32);
    let mut picture = Picture::animation(SIDE, SIDE, 6);
    let mut expected = start;
    let bar = progress(FRAMES);
    for frame in 0..FRAMES {
        for _ in 0..STEPS {
            (setup.module).launch(&setup.stream, config, nbody_step::args(DT, &from, &mut to))?;
            std::mem::swap(&mut from, &mut to);
        }
        let bodies = from.as_host_vec()?;
        if frame < compared {
            for _ in 0..STEPS {
                expected = step_on_cpu(&expected);
            }
            equal("bodies", &bodies, &expected)?;
        }
        picture.push(draw(&bodies));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Report {
        picture,
        notes: vec![
            format!("{} bodies, {} steps", setup.size, FRAMES * STEPS),
            format!(
                "the first {} steps are equal to the CPU's, bit for bit",
                compared * STEPS
            ),
        ],
    })
}

fn step_on_cpu(from: &[Body]) -> Vec<Body> {
    let step = |body: &Body| {
        let sum = from.iter().fold([0.0; 3], |sum, other| {
            attract(sum, body.position, other.source())
        });
        body.advanced(sum, DT)
    };
    from.iter().map(step).collect()
}

/// Two disks, each with a heavy body in the middle that the others orbit.
fn galaxies(count: usize) -> Vec<Body> {
    let mass = 0.1 / count as f32;
    let body = |i: usize| {
        let side = if i % 2 == 0 { 1.0 } else { -1.0f32 };
        let center = [0.6 * side, 0.25 * side, 0.0];
        let drift = [-0.45 * side, 0.1 * side, 0.0];
        if i < 2 {
            return Body {
                position: center,
                mass: 1.0,
                velocity: drift,
            };
        }
        let [a, b, c, _] = uniform4(i as u32, 1);
        let radius = 0.08 + 0.4 * a.sqrt();
        let (sin, cos) = (b * std::f32::consts::TAU).sin_cos();
        let speed = side * radius.recip().sqrt();
        Body {
            position: [
                center[0] + radius * cos,
                center[1] + radius * sin,
                0.04 * (c - 0.5),
            ],
            mass,
            velocity: [drift[0] - speed * sin, drift[1] + speed * cos, 0.0],
        }
    };
    (0..count).map(body).collect()
}

/// Draws the bodies from above: brighter where there are more of them.
fn draw(bodies: &[Body]) -> Vec<Color> {
    const SKY: Color = [8, 8, 20];
    let mut counts = vec![[0u32; 2]; SIDE * SIDE];
    for (i, body) in bodies.iter().enumerate() {
        let [x, y] =
            [body.position[0], -body.position[1]].map(|x| ((x / 2.8 + 0.5) * SIDE as f32).floor());
        let inside = 0.0..SIDE as f32;
        if inside.contains(&x) && inside.contains(&y) {
            counts[y as usize * SIDE + x as usize][i % 2] += 1;
        }
    }
    let full = (bodies.len() as f32 / 4096.0).max(1.0);
    let color = |&[a, b]: &[u32; 2]| {
        // Eight shades of each galaxy: a palette keeps the file small.
        let shade = (((a + b) as f32 / full).min(1.0) * 8.0).ceil() / 8.0;
        let own = if a >= b {
            [255, 200, 110]
        } else {
            [130, 190, 255]
        };
        gradient(&[SKY, own], shade)
    };
    counts.iter().map(color).collect()
}
