//! Textures and surfaces in the emulator's encoding: 128 bytes of device memory, whose address is
//! the handle. `driver` writes them, and `exec` reads them. This module implements addressing and
//! filtering.

use crate::soft_float::{F16, F64, Mode};

/// An array, and how it is sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Texture {
    pub surface: bool,
    pub address: u64,
    /// The stride between rows in bytes.
    pub row: u64,
    /// The number of elements along each dimension; layers are along the third.
    pub sizes: [u32; 3],
    /// The driver's number of the format.
    pub format: u32,
    pub channels: u32,
    /// The address modes wrap, clamp, mirror and border, as the driver's numbers.
    pub modes: [u8; 3],
    pub linear: bool,
    pub as_integer: bool,
    pub normalized: bool,
    pub border: [f32; 4],
    /// Whether each six layers are the faces of a cube.
    pub cube: bool,
    /// Whether there are several layers or cubes.
    pub layered: bool,
    /// The number of mip levels. The description of each follows that of the previous level.
    pub levels: u32,
    /// Whether mip levels are filtered linearly.
    pub mixes_levels: bool,
    /// The mip level bias.
    pub level_bias: f32,
    /// The minimum and the maximum mip level.
    pub level_range: [f32; 2],
}

/// The size of a description in bytes.
pub(crate) const DESCRIPTION: u64 = 128;

const MAGIC: u64 = 0x7e97;

/// The driver's numbers of the array formats.
const UNSIGNED: [u32; 3] = [1, 2, 3];
const HALF: u32 = 0x10;
const FLOAT: u32 = 0x20;

impl Texture {
    /// Returns the size of a component in bytes.
    pub fn number_size(&self) -> u64 {
        match self.format {
            1 | 8 => 1,
            2 | 9 | HALF => 2,
            _ => 4,
        }
    }

    /// Returns the size of an element in bytes.
    pub fn element_size(&self) -> u64 {
        self.number_size() * u64::from(self.channels)
    }

    pub fn encode(&self) -> [u64; 16] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let mut words = [0; 16];
        words[0] = MAGIC << 16 | u64::from(self.surface);
        words[1] = self.address;
        words[2] = self.row;
        words[3] = pair(self.sizes[0], self.sizes[1]);
        words[4] = pair(self.sizes[2], self.format);
        let flags = [
            self.linear,
            self.as_integer,
            self.normalized,
            self.cube,
            self.mixes_levels,
            self.layered,
        ];
        let flags = flags
            .iter()
            .rev()
            .fold(0, |bits, &flag| bits << 1 | u32::from(flag));
        words[5] = pair(self.channels, flags);
        let [a, b, c] = self.modes.map(u64::from);
        words[6] = a | b << 8 | c << 16;
        let border = self.border.map(f32::to_bits);
        words[7] = pair(border[0], border[1]);
        words[8] = pair(border[2], border[3]);
        words[9] = pair(self.levels, self.level_bias.to_bits());
        let range = self.level_range.map(f32::to_bits);
        words[10] = pair(range[0], range[1]);
        words
    }

    pub fn decode(words: &[u64; 16]) -> Option<Texture> {
        let low = |index: usize| words[index] as u32;
        let high = |index: usize| (words[index] >> 32) as u32;
        (words[0] >> 16 == MAGIC).then_some(Texture {
            surface: words[0] & 1 != 0,
            address: words[1],
            row: words[2],
            sizes: [low(3), high(3), low(4)],
            format: high(4),
            channels: low(5),
            modes: [0, 8, 16].map(|shift| (words[6] >> shift) as u8),
            linear: high(5) & 1 != 0,
            as_integer: high(5) & 2 != 0,
            normalized: high(5) & 4 != 0,
            border: [low(7), high(7), low(8), high(8)].map(f32::from_bits),
            cube: high(5) & 8 != 0,
            levels: low(9),
            mixes_levels: high(5) & 16 != 0,
            layered: high(5) & 32 != 0,
            level_bias: f32::from_bits(high(9)),
            level_range: [low(10), high(10)].map(f32::from_bits),
        })
    }

    /// Returns the width, height or depth as an H200 reports it: the layers of a 1D array are the
    /// height, other layers and cubes the depth, and a one-row array has a height while linear
    /// memory has none.
    pub fn extent(&self, dimension: u8) -> u32 {
        let [width, height, depth] = self.sizes;
        match (dimension, height) {
            (0, _) => width,
            (1, 0) if self.row == 0 => 0,
            (1, 0) => depth.max(1),
            (1, _) => height,
            (_, 0) => 0,
            _ if self.cube && !self.layered => 0,
            _ if self.cube => depth / 6,
            _ => depth,
        }
    }

    /// Returns whether elements are returned as integers.
    fn gives_integers(&self) -> bool {
        !matches!(self.format, HALF | FLOAT) && (self.as_integer || matches!(self.format, 3 | 10))
    }

    /// Converts a component from memory to what the texture returns: the bits of an integer or of a
    /// float.
    fn number(&self, bits: u32) -> u32 {
        let signed = !UNSIGNED.contains(&self.format);
        let width = self.number_size() as u32 * 8;
        let value = if signed {
            i64::from((bits << (32 - width)) as i32 >> (32 - width))
        } else {
            i64::from(bits)
        };
        match self.format {
            FLOAT => bits,
            HALF => {
                let wide = f64::from_bits(F64.pack(F16.unpack(bits.into()), Mode::Nearest));
                (wide as f32).to_bits()
            }
            _ if self.gives_integers() => value as u32,
            _ => {
                let largest = (1i64 << (width - u32::from(signed))) - 1;
                (value as f32 / largest as f32).max(-1.0).to_bits()
            }
        }
    }

    /// Applies the address mode of a dimension to an index. Returns `None` for the border.
    fn place(&self, dimension: usize, index: i64) -> Option<u64> {
        let size = i64::from(self.sizes[dimension].max(1));
        let index = match self.modes[dimension] {
            // Unnormalized coordinates support only the modes clamp and border.
            0 if self.normalized => index.rem_euclid(size),
            2 if self.normalized => {
                let place = index.rem_euclid(2 * size);
                place.min(2 * size - 1 - place)
            }
            3 if index < 0 || index >= size => return None,
            _ => index.clamp(0, size - 1),
        };
        Some(index as u64)
    }

    /// Returns the four components at integer coordinates. `read` loads from memory.
    fn texel(
        &self,
        index: [i64; 3],
        layer: Option<u32>,
        read: &mut impl FnMut(u64, u64) -> Option<u32>,
    ) -> Option<[u32; 4]> {
        let mut place = [0; 3];
        for dimension in 0..3 {
            if dimension == 2 && layer.is_some() {
                place[2] = u64::from(layer?.min(self.sizes[2].max(1) - 1));
                continue;
            }
            match self.place(dimension, index[dimension]) {
                Some(found) => place[dimension] = found,
                None => return Some(self.border.map(f32::to_bits)),
            }
        }
        let rows = place[2] * u64::from(self.sizes[1].max(1)) + place[1];
        let address = self.address + rows * self.row + place[0] * self.element_size();
        let mut numbers = [0; 4];
        for (channel, number) in numbers.iter_mut().enumerate().take(self.channels as usize) {
            let size = self.number_size();
            *number = self.number(read(address + channel as u64 * size, size)?);
        }
        Some(numbers)
    }

    /// Fetches at integer coordinates, which ignores the sampler: outside the texture it returns
    /// zeros whatever the address mode and the border color, as on an H100.
    pub fn fetch(
        &self,
        x: [i64; 3],
        layer: Option<u32>,
        mut read: impl FnMut(u64, u64) -> Option<u32>,
    ) -> Option<[u32; 4]> {
        let dimensions = if layer.is_some() { 2 } else { 3 };
        let outside = (0..dimensions).any(|dimension| {
            x[dimension] < 0 || x[dimension] >= self.sizes[dimension].max(1).into()
        });
        if outside {
            return Some([0; 4]);
        }
        self.texel(x, layer, &mut read)
    }

    /// Returns the two mip levels around a requested one, and the weight of the second.
    pub fn between_levels(&self, asked: f32) -> (u32, u32, f32) {
        let [least, most] = self.level_range;
        let last = self.levels.max(1) - 1;
        let level = (asked + self.level_bias).min(most).max(least);
        let level = level.min(last as f32).max(0.0);
        if self.mixes_levels && !self.gives_integers() {
            let below = level.floor();
            // Weights have eight fractional bits.
            let weight = ((level - below) * 256.0).round() / 256.0;
            (below as u32, (below as u32 + 1).min(last), weight)
        } else {
            let nearest = ((level + 0.5).floor() as u32).min(last);
            (nearest, nearest, 0.0)
        }
    }

    /// Returns the mip level at which adjacent samples are one element apart.
    pub fn level_of_gradients(&self, dx: [f32; 3], dy: [f32; 3]) -> f32 {
        let length = |d: [f32; 3]| {
            let of = |i: usize| {
                let size = if self.normalized {
                    self.sizes[i].max(1) as f32
                } else {
                    1.0
                };
                d[i] * size
            };
            (0..3).map(|i| of(i) * of(i)).sum::<f32>().sqrt()
        };
        length(dx).max(length(dy)).log2()
    }

    /// Samples at fractional coordinates in `dimensions` dimensions. `gather` selects one component
    /// of the four neighbors instead.
    pub fn sample(
        &self,
        x: [f32; 3],
        dimensions: usize,
        layer: Option<u32>,
        gather: Option<usize>,
        mut read: impl FnMut(u64, u64) -> Option<u32>,
    ) -> Option<[u32; 4]> {
        let mut at = [0.0; 3];
        for dimension in 0..dimensions {
            let scale = if self.normalized {
                self.sizes[dimension].max(1) as f32
            } else {
                1.0
            };
            at[dimension] = x[dimension] * scale;
        }
        if gather.is_none() && (!self.linear || self.gives_integers()) {
            return self.texel(at.map(|x| x.floor() as i64), layer, &mut read);
        }
        // Weights have eight fractional bits.
        let (mut index, mut weight) = ([0; 3], [0.0; 3]);
        for dimension in 0..dimensions {
            let middle = at[dimension] - 0.5;
            let below = middle.floor();
            index[dimension] = below as i64;
            weight[dimension] = ((middle - below) * 256.0).round() / 256.0;
        }
        if let Some(component) = gather {
            let mut numbers = [0; 4];
            for (number, (dx, dy)) in numbers.iter_mut().zip([(0, 1), (1, 1), (1, 0), (0, 0)]) {
                let corner = [index[0] + dx, index[1] + dy, index[2]];
                *number = self.texel(corner, layer, &mut read)?[component];
            }
            return Some(numbers);
        }
        let mut sums = [0.0f32; 4];
        for corner in 0..1usize << dimensions {
            let (mut share, mut place) = (1.0, index);
            for dimension in 0..dimensions {
                if corner >> dimension & 1 != 0 {
                    share *= weight[dimension];
                    place[dimension] += 1;
                } else {
                    share *= 1.0 - weight[dimension];
                }
            }
            if share == 0.0 {
                continue;
            }
            let texel = self.texel(place, layer, &mut read)?;
            for (sum, number) in sums.iter_mut().zip(texel) {
                *sum += share * f32::from_bits(number);
            }
        }
        Some(sums.map(f32::to_bits))
    }
}

/// Returns the face of a cube that a direction points to, and the coordinates on it from 0 to 1.
pub(crate) fn side_of_cube([x, y, z]: [f32; 3]) -> (u32, [f32; 3]) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    let (side, s, t, m) = if ax > ay && ax > az {
        (u32::from(x < 0.0), if x < 0.0 { z } else { -z }, -y, ax)
    } else if ay > az {
        (2 + u32::from(y < 0.0), x, if y < 0.0 { -z } else { z }, ay)
    } else {
        (4 + u32::from(z < 0.0), if z < 0.0 { -x } else { x }, -y, az)
    };
    (side, [(s / m + 1.0) / 2.0, (t / m + 1.0) / 2.0, 0.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PICTURE: Texture = Texture {
        surface: false,
        address: 0,
        row: 4,
        sizes: [4, 2, 0],
        format: 1,
        channels: 1,
        modes: [1, 1, 1],
        linear: true,
        as_integer: false,
        normalized: true,
        border: [7.0; 4],
        cube: false,
        layered: false,
        levels: 3,
        mixes_levels: true,
        level_bias: 0.5,
        level_range: [0.0, 1.75],
    };

    fn read(address: u64, _: u64) -> Option<u32> {
        Some(address as u32 * 10)
    }

    #[test]
    fn descriptions_round_trip() {
        assert_eq!(Texture::decode(&PICTURE.encode()), Some(PICTURE));
        assert_eq!(Texture::decode(&[0; 16]), None);
    }

    #[test]
    fn filters_and_edges() {
        let at = |texture: Texture, x, y| {
            let numbers = texture.sample([x, y, 0.0], 2, None, None, read).unwrap();
            (f32::from_bits(numbers[0]) * 255.0).round()
        };
        // The center of an element, the corner of four elements, and a point beyond the edge.
        assert_eq!(at(PICTURE, 0.375, 0.25), 10.0);
        assert_eq!(at(PICTURE, 0.5, 0.5), 35.0);
        assert_eq!(at(PICTURE, -3.0, 0.25), 0.0);
        let wrapped = Texture {
            modes: [0; 3],
            ..PICTURE
        };
        assert_eq!(at(wrapped, 1.375, 0.25), 10.0);
        let cut = Texture {
            modes: [3; 3],
            linear: false,
            ..PICTURE
        };
        assert_eq!(at(cut, 1.5, 0.25), 7.0 * 255.0);
        // Integer coordinates ignore address modes.
        for texture in [PICTURE, wrapped, cut] {
            for (x, expected) in [([1, 1, 0], 50.0), ([4, 1, 0], 0.0), ([1, -1, 0], 0.0)] {
                let numbers = texture.fetch(x, None, read).unwrap();
                assert_eq!((f32::from_bits(numbers[0]) * 255.0).round(), expected);
            }
        }
        let gathered = PICTURE
            .sample([0.5, 0.5, 0.0], 2, None, Some(0), read)
            .unwrap();
        let gathered = gathered.map(|bits| (f32::from_bits(bits) * 255.0).round());
        assert_eq!(gathered, [50.0, 60.0, 20.0, 10.0]);
    }

    #[test]
    fn levels() {
        assert_eq!(PICTURE.between_levels(0.0), (0, 1, 0.5));
        assert_eq!(PICTURE.between_levels(-3.0), (0, 1, 0.0));
        assert_eq!(PICTURE.between_levels(9.0), (1, 2, 0.75));
        let nearest = Texture {
            mixes_levels: false,
            level_range: [0.0, 9.0],
            ..PICTURE
        };
        assert_eq!(nearest.between_levels(0.25), (1, 1, 0.0));
        assert_eq!(nearest.between_levels(5.0), (2, 2, 0.0));
        assert_eq!(PICTURE.level_of_gradients([0.5, 0.0, 0.0], [0.0; 3]), 1.0);
    }

    #[test]
    fn sides() {
        let at = |direction| {
            let (side, [s, t, _]) = side_of_cube(direction);
            (side, s, t)
        };
        assert_eq!(at([2.0, 0.0, 0.0]), (0, 0.5, 0.5));
        assert_eq!(at([-2.0, 1.0, -1.0]), (1, 0.25, 0.25));
        assert_eq!(at([1.0, 2.0, 0.0]), (2, 0.75, 0.5));
        assert_eq!(at([1.0, -2.0, 1.0]), (3, 0.75, 0.25));
        assert_eq!(at([0.0, 1.0, 2.0]), (4, 0.5, 0.25));
        assert_eq!(at([1.0, 0.0, -2.0]), (5, 0.25, 0.5));
    }
}
