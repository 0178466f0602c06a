//! The kernel of the example `mandelbrot`, and the code that it shares with the host: complex
//! numbers,
//! the view and the color of a pixel. The host computes its image with the same [`View::pixel`].

#![no_std]

use core::ops::{Add, Mul};
use cuda_std::prelude::*;
use cust_core::DeviceCopy;

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
pub struct Complex {
    /// The real part.
    pub re: f64,
    /// The imaginary part.
    pub im: f64,
}

impl Complex {
    /// Zero.
    pub const ZERO: Self = Self { re: 0.0, im: 0.0 };

    /// The square of the absolute value.
    pub fn norm_squared(self) -> f64 {
        self.re * self.re + self.im * self.im
    }
}

impl Add for Complex {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
}

impl Mul for Complex {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

/// A pixel's color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeviceCopy)]
#[repr(C)]
pub struct Rgb(pub [u8; 3]);

/// The part of the plane that the image shows. The kernel takes it by value.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
pub struct View {
    /// The image's width in pixels.
    pub width: u32,
    /// The image's height in pixels.
    pub height: u32,
    /// After how many steps a point counts as inside.
    pub iterations: u32,
    /// The point in the image's middle.
    pub center: Complex,
    /// The distance of two neighboring pixels, along both axes.
    pub step: Complex,
}

impl View {
    /// The point that a pixel stands for. Rows go down, so the first has the largest imaginary
    /// part.
    pub fn point(&self, x: u32, y: u32) -> Complex {
        let right = f64::from(x) - f64::from(self.width) / 2.0 + 0.5;
        let up = f64::from(self.height) / 2.0 - f64::from(y) - 0.5;
        self.center
            + Complex {
                re: right * self.step.re,
                im: up * self.step.im,
            }
    }

    /// The color of a pixel.
    pub fn pixel(&self, x: u32, y: u32) -> Rgb {
        color(escape_time(self.point(x, y), self.iterations))
    }
}

/// After how many steps of z ← z² + c, from 0, the point is further than 2 from the origin; `None`
/// if it stays there.
pub fn escape_time(c: Complex, iterations: u32) -> Option<u32> {
    let mut z = Complex::ZERO;
    for i in 0..iterations {
        if z.norm_squared() > 4.0 {
            return Some(i);
        }
        z = z * z + c;
    }
    None
}

/// A color for an escape time; black for the inside.
fn color(time: Option<u32>) -> Rgb {
    let Some(time) = time else {
        return Rgb([0; 3]);
    };
    // Three triangle waves of different lengths.
    let wave = |length: u32| {
        let at = time % (2 * length);
        (at.min(2 * length - at) * 255 / length) as u8
    };
    Rgb([wave(19), wave(29), wave(43)])
}

/// Computes the image, a thread for each pixel.
///
/// # Safety
/// `image` points to `view.width * view.height` writable pixels.
#[kernel]
pub unsafe fn mandelbrot(view: View, image: *mut Rgb) {
    let at = thread::index_2d();
    if at.x < view.width && at.y < view.height {
        let i = at.y as usize * view.width as usize + at.x as usize;
        unsafe { *image.add(i) = view.pixel(at.x, at.y) };
    }
}

#[cfg(test)]
mod tests {
    use super::{Complex, escape_time};

    #[test]
    fn known_points() {
        assert_eq!(escape_time(Complex { re: 0.0, im: 0.0 }, 1000), None);
        assert_eq!(escape_time(Complex { re: -1.0, im: 0.0 }, 1000), None);
        // 0, 3, 12
        assert_eq!(escape_time(Complex { re: 3.0, im: 0.0 }, 1000), Some(1));
        // 0, 1, 2, 5
        assert_eq!(escape_time(Complex { re: 1.0, im: 0.0 }, 1000), Some(3));
    }
}
