//! Textures and surfaces. The input's first two words are the handle, then there are places.

use crate::kernel;
use cuda_std::prelude::*;
use cuda_std::texture::{CubeTexture, LayeredCubeTexture, LayeredTexture, Surface, Texture};

/// Places that are looked at.
pub const PLACES: usize = 64;

/// The handle at the start of an input.
unsafe fn handle(input: *const u32) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { input.cast::<u64>().read() }
}

kernel! {
    // By whole coordinates and filtered: two words for each place, of two coordinates.
    texture_2d(input, output) {
        let thread = thread::thread_idx_x() as usize;
        // SAFETY: the host's texture of `f32` and places.
        unsafe {
            let texture = Texture::<f32, 2>::from_raw(handle(input));
            let place = input.cast::<[f32; 2]>().add(1 + thread).read();
            *output.add(4 * thread) = texture.fetch(place.map(|x| x as i32)).to_bits();
            *output.add(4 * thread + 1) = texture.sample(place).to_bits();
            *output.add(4 * thread + 2) = texture.sample_level(place, 0.0).to_bits();
            *output.add(4 * thread + 3) = texture.width() << 16 | texture.height();
        }
    }
}

kernel! {
    // Four bytes for each element, as integers.
    texture_bytes(input, output) {
        let thread = thread::thread_idx_x() as usize;
        // SAFETY: the host's texture of four bytes and places.
        unsafe {
            let texture = Texture::<[u8; 4], 2>::from_raw(handle(input));
            let place = input.cast::<[f32; 2]>().add(1 + thread).read();
            *output.add(thread) = u32::from_le_bytes(texture.fetch(place.map(|x| x as i32)));
        }
    }
}

kernel! {
    // Each element of a surface of 16×8 tripled in place; outside there are zeros.
    surface_2d(input, output) {
        let thread = thread::thread_idx_x() as usize;
        // SAFETY: the host's surface of `u32`.
        unsafe {
            let surface = Surface::<u32, 2>::from_raw(handle(input));
            let place = [(thread % 16) as i32, (thread / 16) as i32];
            let value = surface.read(place);
            *output.add(2 * thread) = value;
            *output.add(2 * thread + 1) = surface.read([place[0] - 16, place[1]]);
            surface.write(place, value * 3);
            surface.write([place[0], place[1] + 8], 77);
            thread::sync_threads();
            surface.add([0, 0], 1);
        }
    }
}

/// Samples a picture at other places than its elements'.
#[kernel]
pub fn sampled(picture: Texture<f32, 2>, places: &[[f32; 2]], mut to: PerThread<f32>) {
    for (i, to) in to.own() {
        *to = picture.sample(places[i]);
    }
}

/// Pairs from a table, one that is not there among them.
#[kernel]
pub fn looked_up(table: Texture<[u16; 2], 1>, mut to: PerThread<u32>) {
    for (i, to) in to.own() {
        let [low, high] = table.fetch([i as i32]);
        *to = u32::from(low) | u32::from(high) << 16;
    }
}

/// Elements between -1 and 1, of bytes.
#[kernel]
pub fn fractions(rows: Texture<[f32; 4], 2>, width: u32, mut to: PerThread<f32>) {
    for (i, to) in to.own() {
        let (x, y) = (i as u32 % width, i as u32 / width);
        let [r, g, b, a] = rows.sample([x as f32 + 0.5, y as f32 + 0.5]);
        *to = (r + g) + (b + a);
    }
}

/// Adds to each element of a surface what a texture has there.
#[kernel]
pub fn added(surface: Surface<f32, 2>, amounts: Texture<f32, 2>, width: u32, height: u32) {
    for i in thread::grid_stride((width * height) as usize) {
        let place = [i as i32 % width as i32, i as i32 / width as i32];
        surface.write(place, surface.read(place) + amounts.fetch(place));
    }
}

/// The sizes that textures of all shapes report.
macro_rules! sizes {
    ($($(#[$doc:meta])* $name:ident $of:ty, [$($size:expr),*], $level:expr;)*) => {$(
        $(#[$doc])*
        #[kernel]
        pub fn $name(of: $of, mut to: PerThread<u32>) {
            for (i, to) in to.own() {
                let sizes: &[fn($of) -> u32] = &[$($size),*];
                let level: fn($of, u32) -> _ = $level;
                *to = match sizes.get(i) {
                    Some(size) => size(of),
                    None => {
                        let i = i - sizes.len();
                        let along = level(of, (i / 3) as u32);
                        along.get(i % 3).copied().unwrap_or(0)
                    }
                };
            }
        }
    )*};
}
sizes! {
    /// Of one dimension.
    line_sizes Texture<f32, 1>, [Texture::width, Texture::height, Texture::depth],
        Texture::level_size;
    /// Of two dimensions.
    picture_sizes Texture<f32, 2>, [Texture::width, Texture::height, Texture::depth],
        Texture::level_size;
    /// Of three dimensions.
    volume_sizes Texture<f32, 3>, [Texture::width, Texture::height, Texture::depth],
        Texture::level_size;
    /// Of layers of one dimension.
    lines_sizes LayeredTexture<f32, 1>, [LayeredTexture::width, LayeredTexture::layers],
        LayeredTexture::level_size;
    /// Of layers of two dimensions.
    pictures_sizes LayeredTexture<f32, 2>,
        [LayeredTexture::width, LayeredTexture::height, LayeredTexture::layers],
        LayeredTexture::level_size;
    /// Of a cube.
    cube_sizes CubeTexture<f32>, [CubeTexture::width], |of, level| [of.level_width(level)];
    /// Of several cubes.
    cubes_sizes LayeredCubeTexture<f32>, [LayeredCubeTexture::width, LayeredCubeTexture::layers],
        |of, level| [of.level_width(level)];
}
