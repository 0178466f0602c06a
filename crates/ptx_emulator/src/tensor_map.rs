//! Tensor maps in the emulator's encoding: 128 bytes that only `driver` writes and only `exec`
//! reads. This module also computes the source of each element of a box, and its destination in
//! shared memory.

/// How boxes are cut out of the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Tiled mode: a box of elements.
    Tile { sides: [u32; 5] },
    /// Im2col mode: the channels of a sequence of pixels, within bounds around the image.
    Columns {
        lower: [i32; 3],
        upper: [i32; 3],
        channels: u32,
        pixels: u32,
    },
}

/// The contents of a tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TensorMap {
    pub address: u64,
    /// The driver's number of the element type.
    pub ty: u8,
    pub rank: u8,
    /// The swizzle: 0 for none, 1 for 32 bytes, 2 for 64, 3 for 128.
    pub swizzle: u8,
    /// Whether floats outside the tensor are NaN instead of zero.
    pub nan_outside: bool,
    pub sizes: [u64; 5],
    /// The strides in bytes of all dimensions except the first.
    pub strides: [u64; 4],
    pub steps: [u32; 5],
    pub cut: Cut,
}

/// Marks the emulator's tensor maps.
const MAGIC: u64 = 0x7e45;

/// Returns the size of an element, and whether it is a float, for the driver's number of its type.
pub(crate) fn element(ty: u8) -> Option<(u32, bool)> {
    Some(match ty {
        0 => (1, false),
        1 => (2, false),
        2 | 3 => (4, false),
        4 | 5 => (8, false),
        6 | 9 => (2, true),
        7 | 10 | 11 | 12 => (4, true),
        8 => (8, true),
        _ => return None,
    })
}

fn fields(word: u64) -> [u16; 4] {
    [0, 16, 32, 48].map(|shift| (word >> shift) as u16)
}

fn word(fields: [u16; 4]) -> u64 {
    fields
        .iter()
        .rev()
        .fold(0, |word, &field| word << 16 | u64::from(field))
}

impl TensorMap {
    pub fn encode(&self) -> [u64; 16] {
        let mut words = [0; 16];
        words[0] = self.address;
        let columns = matches!(self.cut, Cut::Columns { .. });
        words[1] = word([
            MAGIC as u16,
            u16::from(self.ty) | u16::from(self.rank) << 8,
            u16::from(self.swizzle) | u16::from(self.nan_outside) << 8,
            columns.into(),
        ]);
        words[2..7].copy_from_slice(&self.sizes);
        words[7..11].copy_from_slice(&self.strides);
        let steps = self.steps.map(|step| u64::from(step) & 0xff);
        words[15] = steps.iter().rev().fold(0, |word, step| word << 8 | step);
        match self.cut {
            Cut::Tile { sides } => {
                let side = |index: usize| sides[index] as u16;
                words[11] = word([side(0), side(1), side(2), side(3)]);
                words[12] = side(4).into();
            }
            Cut::Columns {
                lower,
                upper,
                channels,
                pixels,
            } => {
                words[11] = word([lower[0] as u16, lower[1] as u16, lower[2] as u16, 0]);
                words[12] = word([upper[0] as u16, upper[1] as u16, upper[2] as u16, 0]);
                words[13] = channels.into();
                words[14] = pixels.into();
            }
        }
        words
    }

    pub fn decode(words: &[u64; 16]) -> Option<TensorMap> {
        let [magic, kind, look, columns] = fields(words[1]);
        if u64::from(magic) != MAGIC {
            return None;
        }
        let cut = if columns == 0 {
            let [a, b, c, d] = fields(words[11]).map(u32::from);
            Cut::Tile {
                sides: [a, b, c, d, words[12] as u32],
            }
        } else {
            let corner = |word| {
                let [x, y, z, _] = fields(word);
                [x, y, z].map(|side| i32::from(side as i16))
            };
            Cut::Columns {
                lower: corner(words[11]),
                upper: corner(words[12]),
                channels: words[13] as u32,
                pixels: words[14] as u32,
            }
        };
        let mut map = TensorMap {
            address: words[0],
            ty: kind as u8,
            rank: (kind >> 8) as u8,
            swizzle: look as u8,
            nan_outside: look >> 8 != 0,
            sizes: [0; 5],
            strides: [0; 4],
            steps: [0, 8, 16, 24, 32].map(|shift| (words[15] >> shift) as u32 & 0xff),
            cut,
        };
        map.sizes.copy_from_slice(&words[2..7]);
        map.strides.copy_from_slice(&words[7..11]);
        (1..=5).contains(&map.rank).then_some(map)
    }

    /// Returns the address of an element, or `None` outside the tensor.
    fn place(&self, at: &[i64; 5], size: u32) -> Option<u64> {
        let mut address = self.address;
        for dimension in 0..usize::from(self.rank) {
            let index = at[dimension];
            if index < 0 || index as u64 >= self.sizes[dimension] {
                return None;
            }
            let step = match dimension {
                0 => size.into(),
                _ => self.strides[dimension - 1],
            };
            address = address.wrapping_add((index as u64).wrapping_mul(step));
        }
        Some(address)
    }

    /// Returns the addresses of the box's elements at these coordinates, in the order of shared
    /// memory; `None` for elements outside the tensor.
    pub fn elements(&self, start: [i32; 5], offsets: [u16; 3]) -> Vec<Option<u64>> {
        let size = element(self.ty).map_or(1, |(size, _)| size);
        let rank = usize::from(self.rank);
        let mut list = Vec::new();
        match self.cut {
            Cut::Tile { sides } => {
                let mut counts = [1; 5];
                let mut steps = [1; 5];
                for dimension in 0..rank {
                    // The first dimension has no element stride.
                    if dimension > 0 {
                        steps[dimension] = self.steps[dimension].max(1);
                    }
                    counts[dimension] = sides[dimension].div_ceil(steps[dimension]);
                }
                for linear in 0..counts.iter().product::<u32>() {
                    let (mut rest, mut at) = (linear, [0; 5]);
                    for dimension in 0..rank {
                        let index = rest % counts[dimension] * steps[dimension];
                        at[dimension] = i64::from(start[dimension]) + i64::from(index);
                        rest /= counts[dimension];
                    }
                    list.push(self.place(&at, size));
                }
            }
            Cut::Columns {
                lower,
                upper,
                channels,
                pixels,
            } => {
                let space = rank - 2;
                let mut pixel = start.map(i64::from);
                for _ in 0..pixels {
                    let mut at = pixel;
                    for dimension in 0..space {
                        at[1 + dimension] += i64::from(offsets[dimension]);
                    }
                    for channel in 0..channels {
                        at[0] = i64::from(start[0]) + i64::from(channel);
                        list.push(self.place(&at, size));
                    }
                    // Advances to the next pixel inside the bounds: within the row, then to the
                    // next row, then to the next image.
                    let mut dimension = 0;
                    loop {
                        if dimension == space {
                            pixel[1 + space] += 1;
                            break;
                        }
                        let step = i64::from(self.steps[1 + dimension].max(1));
                        pixel[1 + dimension] += step;
                        let end = self.sizes[1 + dimension] as i64 + i64::from(upper[dimension]);
                        if pixel[1 + dimension] < end {
                            break;
                        }
                        pixel[1 + dimension] = lower[dimension].into();
                        dimension += 1;
                    }
                }
            }
        }
        list
    }

    /// Returns the swizzled address in shared memory: chunks of 16 bytes are permuted.
    pub fn swizzled(&self, address: u64) -> u64 {
        let mask = (1 << self.swizzle.min(3)) - 1;
        address ^ (address >> 7 & mask) << 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(cut: Cut) -> TensorMap {
        TensorMap {
            address: 0x1000,
            ty: 0,
            rank: 3,
            swizzle: 3,
            nan_outside: true,
            sizes: [4, 3, 2, 1, 1],
            strides: [16, 48, 0, 0],
            steps: [1, 1, 1, 1, 1],
            cut,
        }
    }

    #[test]
    fn maps_round_trip() {
        let tile = map(Cut::Tile {
            sides: [256, 2, 1, 1, 1],
        });
        assert_eq!(TensorMap::decode(&tile.encode()), Some(tile));
        let columns = map(Cut::Columns {
            lower: [-1, 0, 0],
            upper: [-2, 0, 0],
            channels: 4,
            pixels: 6,
        });
        assert_eq!(TensorMap::decode(&columns.encode()), Some(columns));
        assert_eq!(TensorMap::decode(&[0; 16]), None);
    }

    #[test]
    fn boxes_and_elements_outside_the_tensor() {
        let tile = map(Cut::Tile {
            sides: [2, 2, 1, 1, 1],
        });
        let elements = tile.elements([3, -1, 1, 0, 0], [0; 3]);
        assert_eq!(elements, [None, None, Some(0x1000 + 3 + 48), None]);
    }

    #[test]
    fn im2col_advances_from_row_to_image() {
        let columns = map(Cut::Columns {
            lower: [-1, 0, 0],
            upper: [-1, 0, 0],
            channels: 1,
            pixels: 4,
        });
        // Pixels -1, 0, 1 of an image, then -1 of the next one, with an offset of 1.
        let elements = columns.elements([0, -1, 0, 0, 0], [1, 0, 0]);
        let at = |pixel: u64, image: u64| Some(0x1000 + pixel * 16 + image * 48);
        assert_eq!(elements, [at(0, 0), at(1, 0), at(2, 0), at(0, 1)]);
    }
}
