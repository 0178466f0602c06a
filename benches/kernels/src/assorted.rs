//! Kernels in the style of a first program: the nearest cities, similar vertices, strings,
//! reactions, signals, particles, powers of matrices, and compressed images.

use cuda_std::PerThread2d;
use cuda_std::prelude::*;
use cust_core::DeviceCopy;

/// A place on the earth, in radians.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Place {
    /// The latitude.
    pub lat: f32,
    /// The longitude.
    pub lon: f32,
}

/// Returns the haversine of the angle between two places.
pub fn haversine(a: Place, b: Place) -> f32 {
    let (dlat, dlon) = (b.lat - a.lat, b.lon - a.lon);
    let (s, t) = ((dlat * 0.5).sin(), (dlon * 0.5).sin());
    s * s + a.lat.cos() * b.lat.cos() * t * t
}

/// The index of the city nearest to each place, the first one of equals.
#[kernel(block_size(256))]
pub fn haversine_safe(places: &[Place], cities: &[Place], mut to: PerThread<u32>) {
    to.each_with(places, |_, to, &place| {
        *to = cities
            .iter()
            .enumerate()
            .map(|(i, &city)| (i as u32, haversine(place, city)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(u32::MAX, |(i, _)| i);
    });
}

/// The index of the city nearest to each place: see [`haversine_safe()`].
#[kernel(block_size(256))]
pub unsafe fn haversine_raw(
    places: *const Place,
    cities: *const Place,
    count: usize,
    to: *mut u32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let place = *places.add(i);
    let (mut best, mut nearest) = (f32::INFINITY, u32::MAX);
    for j in 0..count {
        let d = haversine(place, *cities.add(j));
        if d < best {
            (best, nearest) = (d, j as u32);
        }
    }
    *to.add(i) = nearest;
}

/// The Jaccard coefficient of the ends of each edge: the number of common neighbors, divided by the
/// number of neighbors of either. The list of neighbors of each vertex is in ascending order.
#[kernel(block_size(256))]
pub fn jaccard_safe(starts: &[u32], neighbors: &[u32], edges: &[[u32; 2]], mut to: PerThread<f32>) {
    let list = |v: u32| &neighbors[starts[v as usize] as usize..starts[v as usize + 1] as usize];
    to.each_with(edges, |_, to, &[u, v]| {
        let (a, b) = (list(u), list(v));
        let (mut i, mut j, mut common) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            if a[i] == b[j] {
                common += 1;
                i += 1;
                j += 1;
            } else if a[i] < b[j] {
                i += 1;
            } else {
                j += 1;
            }
        }
        *to = common as f32 / (a.len() + b.len() - common) as f32;
    });
}

/// The Jaccard coefficient of the ends of each edge: see [`jaccard_safe()`].
#[kernel(block_size(256))]
pub unsafe fn jaccard_raw(
    starts: *const u32,
    neighbors: *const u32,
    edges: *const [u32; 2],
    to: *mut f32,
    n: usize,
) {
    let e = thread::index_1d() as usize;
    if e >= n {
        return;
    }
    let [u, v] = *edges.add(e);
    let (mut i, i_end) = (*starts.add(u as usize), *starts.add(u as usize + 1));
    let (mut j, j_end) = (*starts.add(v as usize), *starts.add(v as usize + 1));
    let total = i_end - i + j_end - j;
    let mut common = 0;
    while i < i_end && j < j_end {
        let (a, b) = (*neighbors.add(i as usize), *neighbors.add(j as usize));
        if a == b {
            common += 1;
            i += 1;
            j += 1;
        } else if a < b {
            i += 1;
        } else {
            j += 1;
        }
    }
    *to.add(e) = common as f32 / (total - common) as f32;
}

/// Whether the pattern occurs at each position of the text.
#[kernel(block_size(256))]
pub fn search_safe(text: &[u8], pattern: &[u8], mut to: PerThread<u8>) {
    to.each(|i, to| {
        *to = u8::from(text.get(i..i + pattern.len()) == Some(pattern));
    });
}

/// Whether the pattern occurs at each position of the text: see [`search_safe()`].
#[kernel(block_size(256))]
pub unsafe fn search_raw(
    text: *const u8,
    len: usize,
    pattern: *const u8,
    count: usize,
    to: *mut u8,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut equal = i + count <= len;
    if equal {
        for j in 0..count {
            if *text.add(i + j) != *pattern.add(j) {
                equal = false;
                break;
            }
        }
    }
    *to.add(i) = u8::from(equal);
}

/// A step of Gray and Scott's reaction with diffusion on a grid whose opposite edges are connected.
#[kernel(block_size(32, 8))]
pub fn grayscott_safe(
    u: &[f32],
    v: &[f32],
    feed: f32,
    kill: f32,
    mut next_u: PerThread2d<f32>,
    mut next_v: PerThread2d<f32>,
) {
    let (w, h) = (next_u.width(), next_u.height());
    for (((x, y), to_u), (_, to_v)) in next_u.own().zip(next_v.own()) {
        let (left, right) = ((x + w - 1) % w, (x + 1) % w);
        let (up, down) = ((y + h - 1) % h, (y + 1) % h);
        let laplacian = |f: &[f32]| {
            f[y * w + left] + f[y * w + right] + f[up * w + x] + f[down * w + x]
                - 4.0 * f[y * w + x]
        };
        let (a, b) = (u[y * w + x], v[y * w + x]);
        *to_u = a + 0.16 * laplacian(u) - a * b * b + feed * (1.0 - a);
        *to_v = b + 0.08 * laplacian(v) + a * b * b - (feed + kill) * b;
    }
}

/// A step of Gray and Scott's reaction with diffusion: see [`grayscott_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn grayscott_raw(
    u: *const f32,
    v: *const f32,
    feed: f32,
    kill: f32,
    next_u: *mut f32,
    next_v: *mut f32,
    w: usize,
    h: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= w || y >= h {
        return;
    }
    let (left, right) = ((x + w - 1) % w, (x + 1) % w);
    let (up, down) = ((y + h - 1) % h, (y + 1) % h);
    let laplacian = |f: *const f32| {
        *f.add(y * w + left) + *f.add(y * w + right) + *f.add(up * w + x) + *f.add(down * w + x)
            - 4.0 * *f.add(y * w + x)
    };
    let (a, b) = (*u.add(y * w + x), *v.add(y * w + x));
    *next_u.add(y * w + x) = a + 0.16 * laplacian(u) - a * b * b + feed * (1.0 - a);
    *next_v.add(y * w + x) = b + 0.08 * laplacian(v) + a * b * b - (feed + kill) * b;
}

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Complex {
    /// The real part.
    pub re: f32,
    /// The imaginary part.
    pub im: f32,
}

/// A filter of complex samples with complex taps.
#[kernel(block_size(256))]
pub fn cfir_safe(samples: &[Complex], taps: &[Complex], mut to: PerThread<Complex>) {
    to.each(|i, to| {
        let (mut re, mut im) = (0.0, 0.0);
        for (s, t) in samples[i..i + taps.len()].iter().zip(taps) {
            re += s.re * t.re - s.im * t.im;
            im += s.re * t.im + s.im * t.re;
        }
        *to = Complex { re, im };
    });
}

/// A filter of complex samples with complex taps: see [`cfir_safe()`].
#[kernel(block_size(256))]
pub unsafe fn cfir_raw(
    samples: *const Complex,
    taps: *const Complex,
    count: usize,
    to: *mut Complex,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (mut re, mut im) = (0.0, 0.0);
    for k in 0..count {
        let (s, t) = (*samples.add(i + k), *taps.add(k));
        re += s.re * t.re - s.im * t.im;
        im += s.re * t.im + s.im * t.re;
    }
    *to.add(i) = Complex { re, im };
}

/// A charged particle in a box.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Particle {
    /// The position.
    pub position: [f32; 3],
    /// The velocity.
    pub velocity: [f32; 3],
    /// The mass.
    pub mass: f32,
    /// The charge.
    pub charge: f32,
}

/// Moves particles in a box, in place. The walls reflect them.
#[kernel(block_size(256))]
pub fn particles_safe(forces: &[[f32; 3]], dt: f32, size: f32, mut particles: PerThread<Particle>) {
    for (i, p) in particles.own() {
        for d in 0..3 {
            let (mut x, mut v) = (p.position[d], p.velocity[d]);
            v += forces[i][d] / p.mass * dt;
            x += v * dt;
            if x < 0.0 {
                x = -x;
                v = -v;
            } else if x > size {
                x = 2.0 * size - x;
                v = -v;
            }
            p.position[d] = x;
            p.velocity[d] = v;
        }
    }
}

/// Moves particles in a box: see [`particles_safe()`].
#[kernel(block_size(256))]
pub unsafe fn particles_raw(
    forces: *const [f32; 3],
    dt: f32,
    size: f32,
    particles: *mut Particle,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let p = &mut *particles.add(i);
    for d in 0..3 {
        let (mut x, mut v) = (p.position[d], p.velocity[d]);
        v += (*forces.add(i))[d] / p.mass * dt;
        x += v * dt;
        if x < 0.0 {
            x = -x;
            v = -v;
        } else if x > size {
            x = 2.0 * size - x;
            v = -v;
        }
        p.position[d] = x;
        p.velocity[d] = v;
    }
}

/// The squares of 4 × 4 matrices, `steps` times.
#[kernel(block_size(128))]
pub fn matpower_safe(from: &[[[f32; 4]; 4]], steps: u32, mut to: PerThread<[[f32; 4]; 4]>) {
    to.each_with(from, |_, to, from| {
        let mut m = *from;
        for _ in 0..steps {
            let mut next = [[0.0; 4]; 4];
            for i in 0..4 {
                for j in 0..4 {
                    next[i][j] = (0..4).map(|k| m[i][k] * m[k][j]).sum();
                }
            }
            m = next;
        }
        *to = m;
    });
}

/// The squares of 4 × 4 matrices, `steps` times: see [`matpower_safe()`].
#[kernel(block_size(128))]
pub unsafe fn matpower_raw(
    from: *const [[f32; 4]; 4],
    steps: u32,
    to: *mut [[f32; 4]; 4],
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut m = *from.add(i);
    for _ in 0..steps {
        let mut next = [[0.0; 4]; 4];
        for i in 0..4 {
            for j in 0..4 {
                for k in 0..4 {
                    next[i][j] += m[i][k] * m[k][j];
                }
            }
        }
        m = next;
    }
    *to.add(i) = m;
}

/// The compression of images in the format DXT1 (BC1), one block of 4 × 4 pixels per thread: the
/// corners of the bounding box of the colors, and two bits per pixel.
#[kernel(block_size(64))]
pub fn dxt_safe(pixels: &[[u8; 4]], width: usize, mut to: PerThread<[u32; 2]>) {
    let blocks = width / 4;
    to.each(|i, to| {
        let (bx, by) = (i % blocks * 4, i / blocks * 4);
        let mut block = [[0u8; 4]; 16];
        for y in 0..4 {
            block[y * 4..y * 4 + 4].copy_from_slice(&pixels[(by + y) * width + bx..][..4]);
        }
        let (mut low, mut high) = ([255u8; 3], [0u8; 3]);
        for pixel in &block {
            for c in 0..3 {
                low[c] = low[c].min(pixel[c]);
                high[c] = high[c].max(pixel[c]);
            }
        }
        let pack = |c: [u8; 3]| {
            u32::from(c[0]) >> 3 << 11 | u32::from(c[1]) >> 2 << 5 | u32::from(c[2]) >> 3
        };
        let axis = [0, 1, 2].map(|c| i32::from(high[c]) - i32::from(low[c]));
        let length = axis.iter().map(|a| a * a).sum::<i32>().max(1);
        let mut bits = 0;
        for (k, pixel) in block.iter().enumerate() {
            let dot: i32 = (0..3)
                .map(|c| (i32::from(pixel[c]) - i32::from(low[c])) * axis[c])
                .sum();
            let step = ((dot * 3 + length / 2) / length) as u32;
            bits |= [1, 3, 2, 0][step as usize & 3] << (2 * k);
        }
        *to = [pack(high) | pack(low) << 16, bits];
    });
}

/// The compression of images in the format DXT1: see [`dxt_safe()`].
#[kernel(block_size(64))]
pub unsafe fn dxt_raw(pixels: *const [u8; 4], width: usize, to: *mut [u32; 2], n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let blocks = width / 4;
    let (bx, by) = (i % blocks * 4, i / blocks * 4);
    let mut block = [[0u8; 4]; 16];
    for y in 0..4 {
        for x in 0..4 {
            block[y * 4 + x] = *pixels.add((by + y) * width + bx + x);
        }
    }
    let (mut low, mut high) = ([255u8; 3], [0u8; 3]);
    for pixel in &block {
        for c in 0..3 {
            low[c] = low[c].min(pixel[c]);
            high[c] = high[c].max(pixel[c]);
        }
    }
    let pack =
        |c: [u8; 3]| u32::from(c[0]) >> 3 << 11 | u32::from(c[1]) >> 2 << 5 | u32::from(c[2]) >> 3;
    let axis = [0, 1, 2].map(|c| high[c] as i32 - low[c] as i32);
    let length = (axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]).max(1);
    let mut bits = 0;
    for k in 0..16 {
        let mut dot = 0;
        for c in 0..3 {
            dot += (block[k][c] as i32 - low[c] as i32) * axis[c];
        }
        let step = ((dot * 3 + length / 2) / length) as u32;
        bits |= [1, 3, 2, 0][step as usize & 3] << (2 * k);
    }
    *to.add(i) = [pack(high) | pack(low) << 16, bits];
}
