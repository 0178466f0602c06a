//! `raytracer`: spheres on a floor, with shadows and reflections.
//!
//! The device computes the picture in one launch ([the kernel](gallery_kernels::raytracer)). The
//! CPU renders with the same functions, and both pictures are equal.

use crate::picture::Picture;
use crate::{Outcome, Program, Report, Setup, Sizes, cover, equal};
use cust::prelude::*;
use gallery_kernels::raytracer::{Scene, Sphere, render, vec3};
use gallery_kernels::uniform4;

/// The program.
pub const PROGRAM: Program = Program {
    name: "raytracer",
    about: "spheres on a checkered floor, with shadows and reflections",
    sizes: Sizes {
        unit: "rows of pixels",
        least: 2,
        emulator: 240,
        gpu: 1080,
        most: 4096,
    },
    run,
};

fn run(setup: &Setup) -> Outcome<Report> {
    let (width, height) = (setup.size * 4 / 3, setup.size);
    let spheres = spheres();
    let light = vec3(-0.5, 0.8, 0.4).unit();
    let device_spheres = spheres.as_dbuf()?;
    let mut image = [[0u8; 3]].repeat(width * height).as_dbuf()?;
    let args = render::args(light, &device_spheres, image.rows_mut(width));
    (setup.module).launch(&setup.stream, cover(width, height), args)?;
    let image = image.as_host_vec()?;

    let scene = Scene {
        spheres: &spheres,
        light,
    };
    let pixel = |i: usize| scene.pixel((i % width, i / width), (width, height));
    let expected: Vec<_> = (0..width * height).map(pixel).collect();
    equal("pixels", &image, &expected)?;

    let mut picture = Picture::animation(width, height, 0);
    picture.push(image);
    Ok(Report {
        picture,
        notes: vec![
            format!("{width} × {height} pixels, {} spheres", spheres.len()),
            "the picture is equal to the CPU's".into(),
        ],
    })
}

/// Three large spheres, and small ones around them.
fn spheres() -> Vec<Sphere> {
    let sphere = |center, radius, color, mirror| Sphere {
        center,
        radius,
        color,
        mirror,
    };
    let mut spheres = vec![
        sphere(vec3(0.0, 1.0, 0.0), 1.0, vec3(0.95, 0.95, 0.95), 0.8),
        sphere(vec3(-2.1, 0.8, 0.6), 0.8, vec3(0.9, 0.3, 0.2), 0.2),
        sphere(vec3(1.9, 0.7, 1.0), 0.7, vec3(0.2, 0.45, 0.9), 0.3),
    ];
    for i in 0..9u16 {
        let [a, b, c, _] = uniform4(i.into(), 4);
        let angle = f32::from(i) * std::f32::consts::TAU / 9.0;
        let radius = 0.15 + 0.15 * a;
        let center = vec3(2.9 * angle.cos(), radius, 0.6 + 2.4 * angle.sin());
        let color = vec3(0.3 + 0.7 * b, 0.3 + 0.7 * c, 0.4);
        spheres.push(sphere(center, radius, color, 0.15));
    }
    spheres
}
