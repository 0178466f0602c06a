//! Draws the Mandelbrot set on the GPU, and writes it as a PNG.
//!
//! `mandelbrot_cpu.rs` is the same program before its migration to the GPU.

use cuda_std::prelude::*;
use cust::prelude::*;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::ops::{Add, Mul};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    const ZERO: Complex = Complex { re: 0.0, im: 0.0 };

    fn norm_squared(self) -> f64 {
        self.re * self.re + self.im * self.im
    }
}

impl Add for Complex {
    type Output = Complex;

    fn add(self, other: Complex) -> Complex {
        Complex {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
}

impl Mul for Complex {
    type Output = Complex;

    fn mul(self, other: Complex) -> Complex {
        Complex {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

/// Red, green and blue.
type Rgb = [u8; 3];

/// The part of the plane that an image shows.
#[derive(Clone, Copy, Debug, DeviceCopy)]
struct View {
    width: usize,
    height: usize,
    /// The largest number of iterations.
    limit: u32,
    center: Complex,
    size: Complex,
}

impl View {
    /// The point at the center of a pixel.
    fn point(&self, x: usize, y: usize) -> Complex {
        let offset = Complex {
            re: self.size.re * ((x as f64 + 0.5) / self.width as f64 - 0.5),
            im: self.size.im * ((y as f64 + 0.5) / self.height as f64 - 0.5),
        };
        self.center + offset
    }
}

/// The number of iterations after which a point escapes, at most `limit`.
fn iterations(c: Complex, limit: u32) -> u32 {
    let mut z = Complex::ZERO;
    for n in 0..limit {
        if z.norm_squared() > 4.0 {
            return n;
        }
        z = z * z + c;
    }
    limit
}

/// The color of a point that escapes after `n` iterations: black for those that do not.
fn color(n: u32, limit: u32) -> Rgb {
    if n == limit {
        return [0, 0, 0];
    }
    let t = f64::from(n) / f64::from(limit);
    let u = 1.0 - t;
    [
        (9.0 * u * t * t * t * 255.0) as u8,
        (15.0 * u * u * t * t * 255.0) as u8,
        (8.5 * u * u * u * t * 255.0) as u8,
    ]
}

/// Draws an image, with pixels for each thread.
#[kernel]
fn draw(view: View, mut image: PerThread<Rgb>) {
    for (i, pixel) in image.own() {
        let (x, y) = (i % view.width, i / view.width);
        let n = iterations(view.point(x, y), view.limit);
        *pixel = color(n, view.limit);
    }
}

fn render(view: &View) -> Result<Vec<Rgb>, Box<dyn Error>> {
    let mut image = vec![[0; 3]; view.width * view.height];
    cust::init_auto()?;
    let threads = LaunchConfig::for_elements(image.len(), 256);
    cust::launch(threads, draw::args(*view, &mut image))?;
    Ok(image)
}

fn write_png(path: &Path, view: &View, image: &[Rgb]) -> Result<(), Box<dyn Error>> {
    let file = BufWriter::new(File::create(path)?);
    let mut encoder = png::Encoder::new(file, view.width as u32, view.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(image.as_flattened())?;
    writer.finish()?;
    Ok(())
}

/// 1024 × 1024 pixels around -0.5 + 0i.
const DEFAULT: View = View {
    width: 1024,
    height: 1024,
    limit: 50,
    center: Complex { re: -0.5, im: 0.0 },
    size: Complex { re: 3.0, im: 3.0 },
};

const USAGE: &str = "usage: mandelbrot [--size PIXELS] [--limit ITERATIONS] [FILE]";

/// The view and the file that the arguments name.
fn parse(arguments: impl Iterator<Item = String>) -> Result<(View, PathBuf), Box<dyn Error>> {
    let mut arguments = arguments;
    let mut view = DEFAULT;
    let mut path = PathBuf::from("mandelbrot.png");
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--size" => {
                view.width = arguments.next().ok_or(USAGE)?.parse()?;
                view.height = view.width;
            }
            "--limit" => view.limit = arguments.next().ok_or(USAGE)?.parse()?,
            option if option.starts_with('-') => return Err(USAGE.into()),
            file => path = file.into(),
        }
    }
    match view.width {
        0 => Err("an image has at least one pixel".into()),
        _ => Ok((view, path)),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (view, path) = parse(std::env::args().skip(1))?;
    let start = Instant::now();
    let image = render(&view)?;
    let time = start.elapsed();
    write_png(&path, &view, &image)?;
    println!(
        "mandelbrot: drew {} × {} pixels in {time:.3?}: {}",
        view.width,
        view.height,
        path.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares `render` with one loop over all pixels.
    fn check(view: &View) {
        let image = render(view).unwrap();
        assert_eq!(image.len(), view.width * view.height);
        for y in 0..view.height {
            for x in 0..view.width {
                let n = iterations(view.point(x, y), view.limit);
                let expected = color(n, view.limit);
                assert_eq!(
                    image[y * view.width + x],
                    expected,
                    "({x}, {y}) of {view:?}"
                );
            }
        }
    }

    #[test]
    fn default_image() {
        check(&DEFAULT);
    }

    #[test]
    fn small_images() {
        for step_x in [0.01, 0.02, 0.04, 0.08] {
            for step_y in [0.01, 0.02, 0.04, 0.08] {
                check(&View {
                    width: 100,
                    height: 100,
                    limit: 1000,
                    size: Complex {
                        re: 100.0 * step_x,
                        im: 100.0 * step_y,
                    },
                    ..DEFAULT
                });
            }
        }
    }

    #[test]
    fn known_points() {
        let number = |re, im| iterations(Complex { re, im }, 100);
        assert_eq!(number(0.0, 0.0), 100);
        assert_eq!(number(-1.0, 0.0), 100);
        assert_eq!(number(2.0, 2.0), 1);
        assert_eq!(color(50, 50), [0, 0, 0]);
    }
}
