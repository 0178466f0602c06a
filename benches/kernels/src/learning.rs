//! Machine learning: nearest neighbors, attention, and quantized weights.

use cuda_std::group::{self, Lanes};
use cuda_std::half::F16;
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared, Tile};
use cuda_std::{PerWarp, warp};

/// The number of neighbors per query.
pub const NEIGHBORS: usize = 8;
/// The number of points per tile in shared memory, and of threads per block.
pub const POINTS: usize = 256;

/// The nearest points so far, the nearest one first.
pub struct Nearest {
    distances: [f32; NEIGHBORS],
    indices: [u32; NEIGHBORS],
}

impl Nearest {
    /// Creates a list without points.
    #[inline(always)]
    fn new() -> Nearest {
        Nearest {
            distances: [f32::INFINITY; NEIGHBORS],
            indices: [u32::MAX; NEIGHBORS],
        }
    }

    /// Inserts a point, unless all points of the list are nearer.
    #[inline(always)]
    fn insert(&mut self, distance: f32, index: u32) {
        let mut at = NEIGHBORS - 1;
        if distance >= self.distances[at] {
            return;
        }
        while at > 0 && self.distances[at - 1] > distance {
            self.distances[at] = self.distances[at - 1];
            self.indices[at] = self.indices[at - 1];
            at -= 1;
        }
        self.distances[at] = distance;
        self.indices[at] = index;
    }
}

/// Returns the squared distance of two points.
#[inline(always)]
fn squared_distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    let [x, y, z] = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    x * x + y * y + z * z
}

/// The indices of the nearest points of each query, the nearest one first, by brute force.
#[kernel(block_size(256))]
pub fn knn_safe(
    #[shared] mut tile: Shared<Array<[f32; 3], POINTS>>,
    points: &[[f32; 3]],
    queries: &[[f32; 3]],
    mut to: PerThread<[u32; NEIGHBORS]>,
) {
    let query = queries
        .get(thread::index() as usize)
        .copied()
        .unwrap_or_default();
    let mut nearest = Nearest::new();
    for (number, chunk) in points.chunks(POINTS).enumerate() {
        tile.own().each(|i, point| {
            if let Some(&from) = chunk.get(i) {
                *point = from;
            }
        });
        tile.read(|tile| {
            for (i, &point) in tile[..chunk.len()].iter().enumerate() {
                nearest.insert(squared_distance(query, point), (number * POINTS + i) as u32);
            }
        });
    }
    to.each(|_, to| *to = nearest.indices);
}

/// The indices of the nearest points of each query, the nearest one first, by brute force.
#[kernel(block_size(256))]
pub unsafe fn knn_raw(
    points: *const [f32; 3],
    queries: *const [f32; 3],
    to: *mut [u32; NEIGHBORS],
    point_count: usize,
    n: usize,
) {
    let tile = shared_array![[f32; 3]; POINTS];
    let thread = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    let query = if i < n { *queries.add(i) } else { [0.0; 3] };
    let mut nearest = Nearest::new();
    for start in (0..point_count).step_by(POINTS) {
        if start + thread < point_count {
            *tile.add(thread) = *points.add(start + thread);
        }
        thread::sync_threads();
        for k in 0..POINTS.min(point_count - start) {
            nearest.insert(squared_distance(query, *tile.add(k)), (start + k) as u32);
        }
        thread::sync_threads();
    }
    if i < n {
        *to.add(i) = nearest.indices;
    }
}

/// The number of dimensions of a query, key or value.
pub const HEAD: usize = 64;
/// The number of queries per block of [`attention_safe()`], and of threads.
pub const QUERIES: usize = 64;
/// The number of keys per tile in shared memory.
pub const KEYS: usize = 32;
/// The factor of scores: the inverse square root of [`HEAD`].
pub const SCALE: f32 = 0.125;

/// Attention: for each query, the average of the values, weighted by the softmax of the products of
/// query and keys. A thread has a query, and computes the softmax online. Each head has `n` queries,
/// keys and values, and `n` is a multiple of [`QUERIES`].
#[kernel(block_size(64))]
pub fn attention_safe(
    #[shared] mut tiles: Shared<(Tile<f32, HEAD, KEYS>, Tile<f32, HEAD, KEYS>)>,
    queries: &[[f32; HEAD]],
    keys: &[[f32; HEAD]],
    values: &[[f32; HEAD]],
    n: usize,
    mut to: PerThread<[f32; HEAD]>,
) {
    let i = thread::index() as usize;
    let head = i / n * n..(i / n + 1) * n;
    let query = queries[i];
    let (keys, values) = (&keys[head.clone()], &values[head]);
    let (mut largest, mut sum) = (f32::NEG_INFINITY, 0.0);
    let mut average = [0.0; HEAD];
    for (keys, values) in keys.chunks(KEYS).zip(values.chunks(KEYS)) {
        let (own_keys, own_values) = tiles.own();
        own_keys.each(|(x, y), to| *to = keys[y][x]);
        own_values.each(|(x, y), to| *to = values[y][x]);
        tiles.read(|(keys, values)| {
            for (key, value) in keys.iter().zip(values) {
                let products = query.iter().zip(key).map(|(q, k)| q * k);
                let score = SCALE * products.sum::<f32>();
                let old_largest = largest;
                largest = largest.max(score);
                let (old, new) = ((old_largest - largest).exp(), (score - largest).exp());
                sum = sum * old + new;
                for (average, value) in average.iter_mut().zip(value) {
                    *average = *average * old + new * value;
                }
            }
        });
    }
    to.each(|_, to| *to = average.map(|average| average / sum));
}

/// Attention: see [`attention_safe()`].
#[kernel(block_size(64))]
pub unsafe fn attention_raw(
    queries: *const f32,
    keys: *const f32,
    values: *const f32,
    n: usize,
    to: *mut f32,
) {
    let tile_keys = shared_array![f32; KEYS * HEAD];
    let tile_values = shared_array![f32; KEYS * HEAD];
    let thread = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    let head = i / n * n * HEAD;
    let mut query = [0.0; HEAD];
    for k in 0..HEAD {
        query[k] = *queries.add(i * HEAD + k);
    }
    let (mut largest, mut sum) = (f32::NEG_INFINITY, 0.0);
    let mut average = [0.0; HEAD];
    for start in (0..n).step_by(KEYS) {
        for row in 0..KEYS {
            let from = head + (start + row) * HEAD + thread;
            *tile_keys.add(row * HEAD + thread) = *keys.add(from);
            *tile_values.add(row * HEAD + thread) = *values.add(from);
        }
        thread::sync_threads();
        for row in 0..KEYS {
            let (key, value) = (tile_keys.add(row * HEAD), tile_values.add(row * HEAD));
            let mut score = 0.0;
            for k in 0..HEAD {
                score += query[k] * *key.add(k);
            }
            score *= SCALE;
            let old_largest = largest;
            largest = largest.max(score);
            let (old, new) = ((old_largest - largest).exp(), (score - largest).exp());
            sum = sum * old + new;
            for k in 0..HEAD {
                average[k] = average[k] * old + new * *value.add(k);
            }
        }
        thread::sync_threads();
    }
    for k in 0..HEAD {
        *to.add(i * HEAD + k) = average[k] / sum;
    }
}

/// The number of weights with the same scale.
pub const GROUP: usize = 128;
/// The number of weights per word.
pub const PACKED: usize = 8;

/// Returns the nearest `f16` number: for the host, which needs no other function of `cuda_std`.
pub fn f16(value: f32) -> F16 {
    F16::from_f32(value)
}

/// `y = a * x` with one warp per row. The weights of `a` have four bits, from -8 to 7 plus 8, and
/// each [`GROUP`] of a row has a scale.
#[kernel(block_size(256))]
pub fn int4_gemv_safe(weights: &[u32], scales: &[F16], x: &[f32], mut y: PerWarp<f32>) {
    let row = thread::index() as usize / 32;
    if row < y.len() {
        let (x, _) = x.as_chunks::<PACKED>();
        let groups = x.len() * PACKED / GROUP;
        let weights = &weights[row * x.len()..][..x.len()];
        let scales = &scales[row * groups..][..groups];
        let mut sum = 0.0;
        for i in thread::warp_stride(x.len()) {
            let word = weights[i];
            let products = x[i].iter().enumerate();
            let products = products.map(|(k, x)| ((word >> (4 * k) & 15) as i32 - 8) as f32 * x);
            sum += scales[i * PACKED / GROUP].to_f32() * products.sum::<f32>();
        }
        let sum = group::warp().reduce(sum, |a, b| a + b);
        y.each(|_, y| *y = sum);
    }
}

/// `y = a * x` with one warp per row: see [`int4_gemv_safe()`].
#[kernel(block_size(256))]
pub unsafe fn int4_gemv_raw(
    weights: *const u32,
    scales: *const F16,
    x: *const f32,
    y: *mut f32,
    columns: usize,
    rows: usize,
) {
    let row = thread::index_1d() as usize / 32;
    let lane = thread::lane_id() as usize;
    if row < rows {
        let words = columns / PACKED;
        let weights = weights.add(row * words);
        let scales = scales.add(row * (columns / GROUP));
        let mut sum = 0.0;
        for i in (lane..words).step_by(32) {
            let word = *weights.add(i);
            let mut products = 0.0;
            for k in 0..PACKED {
                let weight = (word >> (4 * k) & 15) as i32 - 8;
                products += weight as f32 * *x.add(i * PACKED + k);
            }
            sum += (*scales.add(i * PACKED / GROUP)).to_f32() * products;
        }
        for distance in [16, 8, 4, 2, 1] {
            sum += warp::shuffle_down(warp::FULL, sum, distance);
        }
        if lane == 0 {
            *y.add(row) = sum;
        }
    }
}
