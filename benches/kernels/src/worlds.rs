//! Worlds: the game of life, noise for terrain, and rays through voxels.

use crate::images::Vec3;
use cuda_std::PerThread2d;
use cuda_std::prelude::*;

/// 32 cells of a row, and the words next to them. The first cell is in the lowest bit.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    left: u32,
    own: u32,
    right: u32,
}

/// Adds three numbers of one bit for each cell, and returns the sums' low and high bits.
#[inline(always)]
fn full_add(a: u32, b: u32, c: u32) -> (u32, u32) {
    (a ^ b ^ c, a & b | c & (a ^ b))
}

impl Cells {
    /// Creates cells from a word and those to its left and to its right.
    #[inline(always)]
    pub fn new(left: u32, own: u32, right: u32) -> Cells {
        Cells { left, own, right }
    }

    /// Returns the cells to the left.
    #[inline(always)]
    fn west(self) -> u32 {
        self.own << 1 | self.left >> 31
    }

    /// Returns the cells to the right.
    #[inline(always)]
    fn east(self) -> u32 {
        self.own >> 1 | self.right << 31
    }

    /// Returns the next generation between two other rows.
    #[inline(always)]
    pub fn next(self, above: Cells, below: Cells) -> u32 {
        let (above, above_high) = full_add(above.west(), above.own, above.east());
        let (below, below_high) = full_add(below.west(), below.own, below.east());
        let (west, east) = (self.west(), self.east());
        let (ones, carry) = full_add(above, below, west ^ east);
        let (twos, fours) = full_add(above_high, below_high, west & east);
        let (twos, more_fours) = (twos ^ carry, twos & carry);
        twos & !fours & !more_fours & (ones | self.own)
    }
}

/// A step of the game of life, 32 cells per thread. Opposite edges are connected.
#[kernel(block_size(32, 8))]
pub fn game_of_life_safe(from: &[u32], mut to: PerThread2d<u32>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| {
        let left = if x == 0 { width - 1 } else { x - 1 };
        let right = if x + 1 == width { 0 } else { x + 1 };
        let cells = |y: usize| {
            let row = &from[y * width..][..width];
            Cells::new(row[left], row[x], row[right])
        };
        let above = cells(if y == 0 { height - 1 } else { y - 1 });
        let below = cells(if y + 1 == height { 0 } else { y + 1 });
        *to = cells(y).next(above, below);
    });
}

/// A step of the game of life: see [`game_of_life_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn game_of_life_raw(from: *const u32, to: *mut u32, width: usize, height: usize) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width || y >= height {
        return;
    }
    let left = if x == 0 { width - 1 } else { x - 1 };
    let right = if x + 1 == width { 0 } else { x + 1 };
    let cells = |y: usize| {
        let row = from.add(y * width);
        Cells::new(*row.add(left), *row.add(x), *row.add(right))
    };
    let above = cells(if y == 0 { height - 1 } else { y - 1 });
    let below = cells(if y + 1 == height { 0 } else { y + 1 });
    *to.add(y * width + x) = cells(y).next(above, below);
}

/// Perlin's noise with a permutation of 256 numbers.
#[derive(Clone, Copy, Debug)]
pub struct Noise<'a> {
    permutation: &'a [u8; 256],
}

/// Returns the product of a vector and one of eight gradients.
#[inline(always)]
fn gradient(hash: u8, x: f32, y: f32) -> f32 {
    match hash % 8 {
        0 => x + y,
        1 => x - y,
        2 => y - x,
        3 => -x - y,
        4 => x,
        5 => -x,
        6 => y,
        _ => -y,
    }
}

/// Returns a smooth step from 0 to 1.
#[inline(always)]
fn fade(t: f32) -> f32 {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

/// Interpolates two numbers.
#[inline(always)]
fn mix(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

impl<'a> Noise<'a> {
    /// Creates noise.
    #[inline(always)]
    pub fn new(permutation: &'a [u8; 256]) -> Noise<'a> {
        Noise { permutation }
    }

    #[inline(always)]
    fn hash(&self, x: i32, y: i32) -> u8 {
        let column = self.permutation[(x & 255) as usize];
        self.permutation[((i32::from(column) + y) & 255) as usize]
    }

    /// Returns the noise at a point.
    #[inline(always)]
    pub fn at(&self, x: f32, y: f32) -> f32 {
        let (column, row) = (x.floor(), y.floor());
        let (dx, dy) = (x - column, y - row);
        let (column, row) = (column as i32, row as i32);
        let corner = |i: i32, j: i32| {
            let hash = self.hash(column + i, row + j);
            gradient(hash, dx - i as f32, dy - j as f32)
        };
        let (u, v) = (fade(dx), fade(dy));
        let above = mix(corner(0, 0), corner(1, 0), u);
        let below = mix(corner(0, 1), corner(1, 1), u);
        mix(above, below, v)
    }

    /// Returns the sum of octaves, each with twice the frequency and half the amplitude of the one
    /// before it.
    #[inline(always)]
    pub fn octaves(&self, x: f32, y: f32, octaves: u32) -> f32 {
        let (mut sum, mut frequency, mut amplitude) = (0.0, 1.0, 1.0);
        for _ in 0..octaves {
            sum += amplitude * self.at(x * frequency, y * frequency);
            frequency *= 2.0;
            amplitude *= 0.5;
        }
        sum
    }
}

/// The heights of a terrain: see [`Noise::octaves()`].
#[kernel(block_size(32, 8))]
pub fn perlin_noise_safe(
    permutation: &[u8; 256],
    scale: f32,
    octaves: u32,
    mut to: PerThread2d<f32>,
) {
    let noise = Noise::new(permutation);
    to.each(|(x, y), to| *to = noise.octaves(x as f32 * scale, y as f32 * scale, octaves));
}

/// The heights of a terrain: see [`Noise::octaves()`].
#[kernel(block_size(32, 8))]
pub unsafe fn perlin_noise_raw(
    permutation: *const [u8; 256],
    scale: f32,
    octaves: u32,
    to: *mut f32,
    width: usize,
    height: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x < width && y < height {
        let noise = Noise::new(&*permutation);
        *to.add(y * width + x) = noise.octaves(x as f32 * scale, y as f32 * scale, octaves);
    }
}

/// What a ray needs of one dimension.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    cell: i32,
    step: i32,
    next: f32,
    delta: f32,
}

impl Axis {
    /// Creates an axis from the start and the direction of a ray.
    #[inline(always)]
    pub fn new(start: f32, direction: f32) -> Axis {
        let cell = start.floor();
        let (step, face) = if direction < 0.0 {
            (-1, cell)
        } else {
            (1, cell + 1.0)
        };
        Axis {
            cell: cell as i32,
            step,
            next: (face - start) / direction,
            delta: (1.0 / direction).abs(),
        }
    }

    /// Goes to the next cell, and returns the distance of the face between the two.
    #[inline(always)]
    fn advance(&mut self) -> f32 {
        let distance = self.next;
        self.next += self.delta;
        self.cell += self.step;
        distance
    }
}

/// The axes of a ray.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    x: Axis,
    y: Axis,
    z: Axis,
}

impl Walk {
    /// Starts a walk.
    #[inline(always)]
    pub fn new(start: Vec3, direction: Vec3) -> Walk {
        Walk {
            x: Axis::new(start.x, direction.x),
            y: Axis::new(start.y, direction.y),
            z: Axis::new(start.z, direction.z),
        }
    }

    /// Returns the index of the current voxel of a cube, if the walk has not left the cube.
    #[inline(always)]
    pub fn voxel(&self, size: usize) -> Option<usize> {
        let [x, y, z] = [self.x.cell, self.y.cell, self.z.cell].map(|cell| cell as usize);
        (x < size && y < size && z < size).then_some((z * size + y) * size + x)
    }

    /// Goes to the next voxel, and returns its distance.
    #[inline(always)]
    pub fn advance(&mut self) -> f32 {
        let nearest = if self.x.next <= self.y.next && self.x.next <= self.z.next {
            &mut self.x
        } else if self.y.next <= self.z.next {
            &mut self.y
        } else {
            &mut self.z
        };
        nearest.advance()
    }
}

/// Returns the distance of the first solid voxel of a cube.
#[inline(always)]
pub fn first_solid(voxels: &[u8], size: usize, start: Vec3, direction: Vec3) -> Option<f32> {
    let mut walk = Walk::new(start, direction);
    let mut distance = 0.0;
    while voxels[walk.voxel(size)?] == 0 {
        distance = walk.advance();
    }
    Some(distance)
}

/// The depths of an image of a cube of voxels, all of whose rays start at `eye`. The depth of a ray
/// that leaves the cube is negative.
#[kernel(block_size(128))]
pub fn voxel_traversal_safe(
    voxels: &[u8],
    size: usize,
    eye: Vec3,
    directions: &[Vec3],
    mut depths: PerThread<f32>,
) {
    depths.each_with(directions, |_, depth, &direction| {
        *depth = first_solid(voxels, size, eye, direction).unwrap_or(-1.0);
    });
}

/// The depths of an image of a cube of voxels: see [`voxel_traversal_safe()`].
#[kernel(block_size(128))]
pub unsafe fn voxel_traversal_raw(
    voxels: *const u8,
    size: usize,
    eye: Vec3,
    directions: *const Vec3,
    depths: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut walk = Walk::new(eye, *directions.add(i));
    let mut distance = 0.0;
    *depths.add(i) = loop {
        let Some(voxel) = walk.voxel(size) else {
            break -1.0;
        };
        if *voxels.add(voxel) != 0 {
            break distance;
        }
        distance = walk.advance();
    };
}
