//! Image processing.

use cuda_std::prelude::*;
use cuda_std::texture::{CubeTexture, LayeredSurface, LayeredTexture, Surface, Texture};
use cuda_std::{MatrixView, PerThread2d};
use cust_core::DeviceCopy;
use num_complex::Complex;

/// How many steps a point of the plane takes to leave: what host and device share.
pub fn escape(mut z: Complex<f64>, c: Complex<f64>) -> u32 {
    let mut steps = 0;
    while steps < 64 && z.norm_sqr() <= 4.0 {
        z = z * z + c;
        steps += 1;
    }
    steps
}

/// The part of the plane that a picture shows.
#[derive(Clone, Copy, Debug, DeviceCopy)]
pub struct View {
    /// The corner with the least coordinates.
    pub corner: Complex<f64>,
    /// The distance of two pixels.
    pub pixel: f64,
}

impl View {
    /// A pixel's place.
    pub fn place(&self, x: usize, y: usize) -> Complex<f64> {
        self.corner + Complex::new(x as f64, y as f64) * self.pixel
    }
}

/// Mandelbrot's set.
#[kernel]
pub fn mandelbrot(view: View, mut to: PerThread2d<u32>) {
    to.each(|(x, y), to| *to = escape(Complex::ZERO, view.place(x, y)));
}

/// A set of Julia's.
#[kernel]
pub fn julia(view: View, c: Complex<f64>, mut to: PerThread2d<u32>) {
    to.each(|(x, y), to| *to = escape(view.place(x, y), c));
}

/// Sobel's filter of a picture of bytes, which a texture's edges go on for.
#[kernel]
pub fn sobel(picture: Texture<u8, 2>, mut to: PerThread2d<u8>) {
    to.each(|(x, y), to| {
        let at = |dx: i32, dy: i32| {
            i32::from(picture.sample([(x as i32 + dx) as f32 + 0.5, (y as i32 + dy) as f32 + 0.5]))
        };
        let column = |dx| at(dx, -1) + 2 * at(dx, 0) + at(dx, 1);
        let row = |dy| at(-1, dy) + 2 * at(0, dy) + at(1, dy);
        let (horizontal, vertical) = (column(1) - column(-1), row(1) - row(-1));
        *to = (horizontal.abs() + vertical.abs()).min(255) as u8;
    });
}

/// The mean of a square of pixels around each, by a texture.
#[kernel]
pub fn box_filter(picture: Texture<f32, 2>, radius: i32, mut to: PerThread2d<f32>) {
    to.each(|(x, y), to| {
        let mut sum = 0.0;
        for dy in -radius..=radius {
            for dx in -radius..=radius {
                sum += picture.sample([(x as i32 + dx) as f32 + 0.5, (y as i32 + dy) as f32 + 0.5]);
            }
        }
        *to = sum / ((2 * radius + 1) * (2 * radius + 1)) as f32;
    });
}

/// A mean of neighbors that counts those more that are near and look alike.
#[kernel]
pub fn bilateral(picture: Texture<f32, 2>, distance: f32, likeness: f32, mut to: PerThread2d<f32>) {
    to.each(|(x, y), to| {
        let (x, y) = (x as f32 + 0.5, y as f32 + 0.5);
        let center = picture.sample([x, y]);
        let (mut sum, mut weights) = (0.0, 0.0);
        for dy in -2..=2 {
            for dx in -2..=2 {
                let (dx, dy) = (dx as f32, dy as f32);
                let value = picture.sample([x + dx, y + dy]);
                let far = (dx * dx + dy * dy) / (2.0 * distance * distance);
                let other = (value - center) * (value - center) / (2.0 * likeness * likeness);
                let weight = (-far - other).exp();
                sum += weight * value;
                weights += weight;
            }
        }
        *to = sum / weights;
    });
}

/// Writes a pattern through a surface.
#[kernel]
pub fn write_surface(to: Surface<f32, 2>) {
    let at = thread::index_2d();
    if at.x < to.width() && at.y < to.height() {
        to.write([at.x as i32, at.y as i32], (at.x * 100 + at.y) as f32);
    }
}

/// The maximum of each pixel and its eight neighbors, those outside aside.
#[kernel]
pub fn dilate(from: &[u8], mut to: PerThread2d<u8>) {
    let from = MatrixView::new(from, to.width(), to.height());
    to.each(|(x, y), to| {
        let around = [usize::MAX, 0, 1];
        *to = around
            .iter()
            .flat_map(|&dy| around.map(|dx| (dx, dy)))
            .filter_map(|(dx, dy)| from.get(x.wrapping_add(dx), y.wrapping_add(dy)))
            .max()
            .unwrap_or(0);
    });
}

/// Samples a volume between its elements.
#[kernel]
pub fn slice_volume(volume: Texture<f32, 3>, depth: f32, mut to: PerThread2d<f32>) {
    let (width, height) = (to.width() as f32, to.height() as f32);
    to.each(|(x, y), to| {
        *to = volume.sample([(x as f32 + 0.5) / width, (y as f32 + 0.5) / height, depth]);
    });
}

/// How far a point of the left picture is to the right in the right one: where colors differ least,
/// four bytes at a time.
#[kernel]
pub fn stereo(left: &[u32], right: &[u32], mut to: PerThread2d<u32>) {
    let (width, height) = (to.width(), to.height());
    let (left, right) = (
        MatrixView::new(left, width, height),
        MatrixView::new(right, width, height),
    );
    to.each(|(x, y), to| {
        let cost = |shift: usize| {
            let mut sum = 0;
            for dx in [usize::MAX, 0, 1] {
                let x = x.wrapping_add(dx);
                let (a, b) = (
                    left.get(x, y).unwrap_or(0),
                    right.get(x.wrapping_add(shift), y).unwrap_or(0),
                );
                sum = cuda_std::intrinsics::integer::vabsdiff4_u32_add(a, b, sum);
            }
            sum
        };
        *to = (0..8).min_by_key(|&shift| cost(shift)).unwrap_or(0) as u32;
    });
}

/// A step of Conway's game of life, on a torus.
#[kernel]
pub fn life(from: &[u8], mut to: PerThread2d<u8>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| {
        let mut alive = 0;
        for dy in 0..3 {
            for dx in 0..3 {
                alive +=
                    from[(y + dy + height - 1) % height * width + (x + dx + width - 1) % width];
            }
        }
        let own = from[y * width + x];
        *to = u8::from(alive == 3 || (own == 1 && alive == 4));
    });
}

/// The next level of a mipmap: each element is the mean of four, which the texture filters.
#[kernel]
pub fn next_level(from: Texture<f32, 2>, to: Surface<f32, 2>) {
    let at = thread::index_2d();
    if at.x < to.width() && at.y < to.height() {
        let place = [2.0 * at.x as f32 + 1.0, 2.0 * at.y as f32 + 1.0];
        to.write([at.x as i32, at.y as i32], from.sample(place));
    }
}

/// A texture at a level between two, by its number and by how far places are apart.
#[kernel]
pub fn between_levels(from: Texture<f32, 2>, level: f32, mut to: PerThread2d<[f32; 2]>) {
    let (width, height) = (to.width() as f32, to.height() as f32);
    let apart = level.exp2() / from.width() as f32;
    to.each(|(x, y), to| {
        let place = [(x as f32 + 0.5) / width, (y as f32 + 0.5) / height];
        *to = [
            from.sample_level(place, level),
            from.sample_gradients(place, [apart, 0.0], [0.0, apart]),
        ];
    });
}

/// Turns the layers of a picture into others: through a surface, what textures see in the next launch.
#[kernel]
pub fn turn_layers(from: LayeredTexture<u32, 2>, to: LayeredSurface<[u16; 2], 2>) {
    let at = thread::index_3d();
    if at.x < to.width() && at.y < to.height() && at.z < to.layers() {
        let value = from.fetch(to.layers() - 1 - at.z, [at.x as i32, at.y as i32]);
        let halves = [value as u16, (value >> 16) as u16];
        let back: [u16; 2] = to.read(at.z, [at.x as i32, at.y as i32]);
        let sum = [halves[0] + back[0], halves[1] + back[1]];
        to.write(at.z, [at.x as i32, at.y as i32], sum);
    }
}

/// The neighborhood of a pixel in some directions.
#[kernel]
pub fn surroundings(around: CubeTexture<f32>, directions: &[[f32; 3]], mut to: PerThread<f32>) {
    to.each_with(directions, |_, to, &direction| {
        *to = around.sample(direction)
    });
}
