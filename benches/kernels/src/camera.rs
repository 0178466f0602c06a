//! Cameras: colors of raw images, hue and saturation, and matched features.

use cuda_std::prelude::*;
use cuda_std::{AnyBits, PerThread2d};
use cust_core::DeviceCopy;

/// Returns the color of a pixel of a raw image by bilinear interpolation (pattern RGGB). Pixels at
/// the edge are repeated. `pixel` returns the value of a column and a row.
#[inline(always)]
pub fn color(
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    pixel: impl Fn(usize, usize) -> u16,
) -> [u16; 3] {
    let (left, right) = (x.saturating_sub(1), (x + 1).min(width - 1));
    let (above, below) = (y.saturating_sub(1), (y + 1).min(height - 1));
    let pixel = |x: usize, y: usize| u32::from(pixel(x, y));
    let own = pixel(x, y);
    let row = || (pixel(left, y) + pixel(right, y)) / 2;
    let column = || (pixel(x, above) + pixel(x, below)) / 2;
    let cross = || (pixel(left, y) + pixel(right, y) + pixel(x, above) + pixel(x, below)) / 4;
    let corners = || {
        let (above, below) = (
            pixel(left, above) + pixel(right, above),
            pixel(left, below) + pixel(right, below),
        );
        (above + below) / 4
    };
    let color = match (x % 2, y % 2) {
        (0, 0) => [own, cross(), corners()],
        (1, 0) => [row(), own, column()],
        (0, _) => [column(), own, row()],
        _ => [corners(), cross(), own],
    };
    color.map(|value| value as u16)
}

/// The colors of a raw image (demosaicing): see [`color()`].
#[kernel(block_size(32, 8))]
pub fn demosaic_safe(from: &[u16], mut to: PerThread2d<[u16; 3]>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| {
        *to = color(x, y, width, height, |x, y| from[y * width + x]);
    });
}

/// The colors of a raw image (demosaicing): see [`color()`].
#[kernel(block_size(32, 8))]
pub unsafe fn demosaic_raw(from: *const u16, to: *mut [u16; 3], width: usize, height: usize) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x < width && y < height {
        *to.add(y * width + x) = color(x, y, width, height, |x, y| *from.add(y * width + x));
    }
}

/// Returns hue (in steps of two degrees), saturation and value of a color.
#[inline(always)]
pub fn hsv(color: [u8; 3]) -> [u8; 3] {
    let [r, g, b] = color.map(f32::from);
    let most = r.max(g).max(b);
    let range = most - r.min(g).min(b);
    if range == 0.0 {
        return [0, 0, most as u8];
    }
    let sixth = if most == r {
        (g - b) / range
    } else if most == g {
        2.0 + (b - r) / range
    } else {
        4.0 + (r - g) / range
    };
    let hue = if sixth < 0.0 { sixth + 6.0 } else { sixth };
    [(30.0 * hue) as u8, (255.0 * range / most) as u8, most as u8]
}

/// Hue, saturation and value of each pixel.
#[kernel(block_size(256))]
pub fn rgb_to_hsv_safe(from: &[[u8; 3]], mut to: PerThread<[u8; 3]>) {
    to.each_with(from, |_, to, &pixel| *to = hsv(pixel));
}

/// Hue, saturation and value of each pixel.
#[kernel(block_size(256))]
pub unsafe fn rgb_to_hsv_raw(from: *const [u8; 3], to: *mut [u8; 3], n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        *to.add(i) = hsv(*from.add(i));
    }
}

/// The number of words of a descriptor.
pub const WORDS: usize = 8;

/// The description of a feature of an image by bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeviceCopy)]
#[repr(C)]
pub struct Descriptor {
    /// The bits.
    pub words: [u32; WORDS],
}

impl Descriptor {
    /// Returns the number of different bits.
    #[inline(always)]
    pub fn distance(&self, other: &Descriptor) -> u32 {
        let words = self.words.iter().zip(&other.words);
        words.map(|(a, b)| (a ^ b).count_ones()).sum()
    }
}

/// The nearest features of a feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeviceCopy, AnyBits)]
#[repr(C)]
pub struct Match {
    /// The index of the nearest feature.
    pub index: u32,
    /// The distance of the nearest feature.
    pub first: u32,
    /// The distance of the second nearest feature.
    pub second: u32,
}

impl Match {
    /// No feature.
    pub const NONE: Match = Match {
        index: u32::MAX,
        first: u32::MAX,
        second: u32::MAX,
    };

    /// Adds a feature.
    #[inline(always)]
    pub fn add(&mut self, index: u32, distance: u32) {
        if distance < self.first {
            self.second = self.first;
            self.first = distance;
            self.index = index;
        } else if distance < self.second {
            self.second = distance;
        }
    }
}

/// The best matches of features in another image.
#[kernel(block_size(128))]
pub fn hamming_match_safe(
    features: &[Descriptor],
    others: &[Descriptor],
    mut to: PerThread<Match>,
) {
    to.each_with(features, |_, to, feature| {
        let mut best = Match::NONE;
        for (index, other) in others.iter().enumerate() {
            best.add(index as u32, feature.distance(other));
        }
        *to = best;
    });
}

/// The best matches of features in another image.
#[kernel(block_size(128))]
pub unsafe fn hamming_match_raw(
    features: *const Descriptor,
    others: *const Descriptor,
    to: *mut Match,
    count: usize,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let feature = *features.add(i);
    let mut best = Match::NONE;
    for index in 0..count {
        best.add(index as u32, feature.distance(&*others.add(index)));
    }
    *to.add(i) = best;
}
