//! Audio and images: a FIR filter, cosine transforms, and bilinear interpolation.

use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared, Tile};
use cuda_std::{PerBlock, PerThread2d, PerTile};
use cust_core::DeviceCopy;

/// The number of coefficients of the filter.
pub const TAPS: usize = 64;
/// The number of samples per block of the filter.
pub const SAMPLES: usize = 256;

/// Rounds a sum of products with coefficients in 32768ths to a sample.
#[inline(always)]
pub fn to_sample(sum: i32) -> i16 {
    ((sum + (1 << 14)) >> 15).clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

/// A finite impulse response filter of audio samples: each result is the sum of the last [`TAPS`]
/// samples times `taps`, which are in 32768ths. Samples before the first one are zero.
#[kernel(block_size(256))]
pub fn fir_i16_safe(
    #[shared] mut samples: Shared<Array<i16, { SAMPLES + TAPS - 1 }>>,
    from: &[i16],
    taps: &[i16; TAPS],
    mut to: PerBlock<i16, SAMPLES>,
) {
    for mut piece in to.pieces() {
        let start = piece.start();
        samples.own().each(|i, sample| {
            let i = (start + i).checked_sub(TAPS - 1);
            *sample = i.and_then(|i| from.get(i)).copied().unwrap_or(0);
        });
        samples.read(|samples| {
            piece.each(|i, to| {
                let window = &samples[i - start..][..TAPS];
                let products = window.iter().zip(taps);
                *to = to_sample(products.map(|(&s, &t)| i32::from(s) * i32::from(t)).sum());
            });
        });
    }
}

/// A finite impulse response filter of audio samples: see [`fir_i16_safe()`].
#[kernel(block_size(256))]
pub unsafe fn fir_i16_raw(from: *const i16, taps: *const i16, to: *mut i16, n: usize) {
    let samples = shared_array![i16; SAMPLES + TAPS - 1];
    let thread = thread::thread_idx_x() as usize;
    let start = thread::block_idx_x() as usize * SAMPLES;
    let mut i = thread;
    while i < SAMPLES + TAPS - 1 {
        let at = (start + i) as isize - (TAPS as isize - 1);
        *samples.add(i) = if at >= 0 && at < n as isize {
            *from.offset(at)
        } else {
            0
        };
        i += SAMPLES;
    }
    thread::sync_threads();
    if start + thread < n {
        let mut sum = 0;
        for k in 0..TAPS {
            sum += i32::from(*samples.add(thread + k)) * i32::from(*taps.add(k));
        }
        *to.add(start + thread) = to_sample(sum);
    }
}

/// The number of rows and columns of a transform.
pub const SIDE: usize = 8;

const C0: f32 = 0.353_553_4;
const C1: f32 = 0.490_392_65;
const C2: f32 = 0.461_939_77;
const C3: f32 = 0.415_734_8;
const C5: f32 = 0.277_785_12;
const C6: f32 = 0.191_341_71;
const C7: f32 = 0.097_545_16;

/// The matrix of the discrete cosine transform: row `u` has the samples of frequency `u`.
pub const COSINES: [[f32; SIDE]; SIDE] = [
    [C0, C0, C0, C0, C0, C0, C0, C0],
    [C1, C3, C5, C7, -C7, -C5, -C3, -C1],
    [C2, C6, -C6, -C2, -C2, -C6, C6, C2],
    [C3, -C7, -C1, -C5, C5, C1, C7, -C3],
    [C0, -C0, -C0, C0, C0, -C0, -C0, C0],
    [C5, -C1, C7, C3, -C3, -C7, C1, -C5],
    [C6, -C2, C2, -C6, -C6, C2, -C2, C6],
    [C7, -C5, C3, -C1, C1, -C3, C5, -C7],
];

/// The quantized cosine transforms of all squares of 8×8 pixels, as in JPEG. A thread computes one
/// coefficient, and a block four transforms.
#[kernel(block_size(32, 8))]
pub fn dct8x8_safe(
    #[shared] mut pixels: Shared<Tile<f32, 32, SIDE>>,
    #[shared] mut rows: Shared<Tile<f32, 32, SIDE>>,
    from: &[u8],
    steps: &[[f32; SIDE]; SIDE],
    mut to: PerTile<i16, 32, SIDE>,
) {
    let width = to.width();
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        pixels.own().each(|(x, y), pixel| {
            *pixel = f32::from(from[(y0 + y) * width + x0 + x]) - 128.0;
        });
        pixels.read(|pixels| {
            rows.own().each(|(x, y), sum| {
                let square = &pixels[y][x / SIDE * SIDE..][..SIDE];
                let cosines = &COSINES[x % SIDE];
                *sum = square.iter().zip(cosines).map(|(p, c)| p * c).sum();
            });
        });
        rows.read(|rows| {
            tile.each(|(x, y), to| {
                let cosines = &COSINES[y];
                let sum: f32 = rows.iter().zip(cosines).map(|(row, c)| row[x] * c).sum();
                *to = (sum / steps[y][x % SIDE]).round_ties_even() as i16;
            });
        });
    }
}

/// The quantized cosine transforms of all squares of 8×8 pixels: see [`dct8x8_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn dct8x8_raw(
    from: *const u8,
    steps: *const [f32; SIDE],
    to: *mut i16,
    width: usize,
    height: usize,
) {
    let pixels = shared_array![f32; 32 * SIDE];
    let rows = shared_array![f32; 32 * SIDE];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    let inside = x < width && y < height;
    let pixel = if inside { *from.add(y * width + x) } else { 0 };
    *pixels.add(ty * 32 + tx) = f32::from(pixel) - 128.0;
    thread::sync_threads();
    let mut sum = 0.0;
    for k in 0..SIDE {
        sum += *pixels.add(ty * 32 + tx / SIDE * SIDE + k) * COSINES[tx % SIDE][k];
    }
    *rows.add(ty * 32 + tx) = sum;
    thread::sync_threads();
    if inside {
        let mut sum = 0.0;
        for k in 0..SIDE {
            sum += *rows.add(k * 32 + tx) * COSINES[ty][k];
        }
        let step = (*steps.add(ty))[tx % SIDE];
        *to.add(y * width + x) = (sum / step).round_ties_even() as i16;
    }
}

/// A pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeviceCopy)]
#[repr(C, align(4))]
pub struct Rgba(pub [u8; 4]);

/// Returns the two pixels of a row or column of `len` pixels between which pixel `i` of the result
/// is, and the weight of the second one.
#[inline(always)]
pub fn between(i: usize, scale: f32, len: usize) -> (usize, usize, f32) {
    let position = ((i as f32 + 0.5) * scale - 0.5).max(0.0);
    let low = (position as usize).min(len - 1);
    (low, (low + 1).min(len - 1), position - low as f32)
}

/// Interpolates between two pixels above and two below.
#[inline(always)]
pub fn mix([a, b]: [Rgba; 2], [c, d]: [Rgba; 2], fx: f32, fy: f32) -> Rgba {
    Rgba(core::array::from_fn(|k| {
        let [a, b, c, d] = [a, b, c, d].map(|pixel| f32::from(pixel.0[k]));
        let (above, below) = (a + (b - a) * fx, c + (d - c) * fx);
        (above + (below - above) * fy + 0.5) as u8
    }))
}

/// Resizes an image with bilinear interpolation.
#[kernel(block_size(32, 8))]
pub fn resize_bilinear_safe(
    from: &[Rgba],
    width: usize,
    height: usize,
    scale_x: f32,
    scale_y: f32,
    mut to: PerThread2d<Rgba>,
) {
    to.each(|(x, y), to| {
        let (left, right, fx) = between(x, scale_x, width);
        let (up, down, fy) = between(y, scale_y, height);
        let [above, below] = [up, down].map(|y| {
            let row = &from[y * width..][..width];
            [row[left], row[right]]
        });
        *to = mix(above, below, fx, fy);
    });
}

/// Resizes an image with bilinear interpolation.
#[kernel(block_size(32, 8))]
pub unsafe fn resize_bilinear_raw(
    from: *const Rgba,
    width: usize,
    height: usize,
    scale_x: f32,
    scale_y: f32,
    to: *mut Rgba,
    to_width: usize,
    to_height: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= to_width || y >= to_height {
        return;
    }
    let (left, right, fx) = between(x, scale_x, width);
    let (up, down, fy) = between(y, scale_y, height);
    let (above, below) = (from.add(up * width), from.add(down * width));
    *to.add(y * to_width + x) = mix(
        [*above.add(left), *above.add(right)],
        [*below.add(left), *below.add(right)],
        fx,
        fy,
    );
}
