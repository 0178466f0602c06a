//! Kernels of fields that programs are ported from: written by a programmer who knew the documentation of
//! `cuda_std` and nothing of the compiler.

// The kernels are as their author wrote them.
#![allow(
    clippy::chunks_exact_to_as_chunks,
    clippy::manual_clamp,
    clippy::manual_is_multiple_of,
    clippy::manual_memcpy,
    clippy::manual_range_contains,
    clippy::manual_swap,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::precedence
)]

use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::half::F16;
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Shared};
use cuda_std::vector::U8x4;
use cuda_std::{PerBlock, PerBlockRow, PerRow, PerThread3d, PerTile, PerWarp, group};

/// The coefficients of Krüger's series for WGS 84.
const KRUEGER: [f64; 6] = [
    8.377318206244698e-4,
    7.608527773572307e-7,
    1.197645503329453e-9,
    2.429170607201359e-12,
    5.711757677865804e-15,
    1.4911177312583895e-17,
];
const RADIUS: f64 = 6367449.145823415;
const ECCENTRICITY: f64 = 0.08181919084262149;
const SCALE: f64 = 0.9996;

/// A position on the ellipsoid, in degrees.
#[derive(Clone, Copy)]
struct Position {
    latitude: f64,
    longitude: f64,
}

impl Position {
    fn central_meridian(&self) -> f64 {
        let zone = ((self.longitude + 180.0) / 6.0).floor().min(59.0);
        zone * 6.0 - 177.0
    }

    fn conformal_tangent(&self) -> f64 {
        let sine = self.latitude.to_radians().sin();
        (sine.atanh() - ECCENTRICITY * (ECCENTRICITY * sine).atanh()).sinh()
    }

    fn to_utm(self) -> [f64; 2] {
        let t = self.conformal_tangent();
        let (sine, cosine) = (self.longitude - self.central_meridian())
            .to_radians()
            .sin_cos();
        let xi = t.atan2(cosine);
        let eta = (sine / t.hypot(cosine)).asinh();
        let (east, north) = KRUEGER
            .iter()
            .zip(1..)
            .map(|(alpha, j)| {
                let m = 2.0 * f64::from(j);
                let (s, c) = (m * xi).sin_cos();
                (alpha * c * (m * eta).sinh(), alpha * s * (m * eta).cosh())
            })
            .fold((eta, xi), |(east, north), (e, n)| (east + e, north + n));
        let false_northing = if self.latitude < 0.0 { 1e7 } else { 0.0 };
        [
            5e5 + SCALE * RADIUS * east,
            false_northing + SCALE * RADIUS * north,
        ]
    }
}

/// Projects positions to easting and northing (Universal Transverse Mercator).
#[kernel]
pub fn utm_project_safe(latitudes: &[f64], longitudes: &[f64], mut to: PerThread<[f64; 2]>) {
    to.each_with((latitudes, longitudes), |_, to, (&latitude, &longitude)| {
        *to = Position {
            latitude,
            longitude,
        }
        .to_utm();
    });
}

/// As [`utm_project_safe`], with pointers.
#[kernel]
pub unsafe fn utm_project_raw(lat: *const f64, lon: *const f64, to: *mut [f64; 2], n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let latitude = *lat.add(i);
    let longitude = *lon.add(i);
    let zone = ((longitude + 180.0) / 6.0).floor().min(59.0);
    let meridian = zone * 6.0 - 177.0;
    let sine = latitude.to_radians().sin();
    let t = (sine.atanh() - ECCENTRICITY * (ECCENTRICITY * sine).atanh()).sinh();
    let (s, c) = (longitude - meridian).to_radians().sin_cos();
    let xi = t.atan2(c);
    let eta = (s / t.hypot(c)).asinh();
    let mut east = eta;
    let mut north = xi;
    for j in 0..6 {
        let m = 2.0 * (j + 1) as f64;
        let (s, c) = (m * xi).sin_cos();
        east += KRUEGER[j] * c * (m * eta).sinh();
        north += KRUEGER[j] * s * (m * eta).cosh();
    }
    let offset = if latitude < 0.0 { 1e7 } else { 0.0 };
    *to.add(i) = [5e5 + SCALE * RADIUS * east, offset + SCALE * RADIUS * north];
}

/// A set of squares.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Squares(u64);

impl core::ops::BitAnd for Squares {
    type Output = Squares;
    fn bitand(self, other: Squares) -> Squares {
        Squares(self.0 & other.0)
    }
}
impl core::ops::BitOr for Squares {
    type Output = Squares;
    fn bitor(self, other: Squares) -> Squares {
        Squares(self.0 | other.0)
    }
}
impl core::ops::Not for Squares {
    type Output = Squares;
    fn not(self) -> Squares {
        Squares(!self.0)
    }
}

#[derive(Clone, Copy)]
enum Direction {
    East,
    West,
    North,
    South,
    NorthEast,
    NorthWest,
    SouthEast,
    SouthWest,
}

impl Direction {
    const ALL: [Direction; 8] = [
        Direction::East,
        Direction::West,
        Direction::North,
        Direction::South,
        Direction::NorthEast,
        Direction::NorthWest,
        Direction::SouthEast,
        Direction::SouthWest,
    ];
}

const NOT_A: u64 = 0xfefe_fefe_fefe_fefe;
const NOT_H: u64 = 0x7f7f_7f7f_7f7f_7f7f;

impl Squares {
    const NONE: Squares = Squares(0);

    fn step(self, direction: Direction) -> Squares {
        Squares(match direction {
            Direction::East => (self.0 << 1) & NOT_A,
            Direction::West => (self.0 >> 1) & NOT_H,
            Direction::North => self.0 << 8,
            Direction::South => self.0 >> 8,
            Direction::NorthEast => (self.0 << 9) & NOT_A,
            Direction::NorthWest => (self.0 << 7) & NOT_H,
            Direction::SouthEast => (self.0 >> 7) & NOT_A,
            Direction::SouthWest => (self.0 >> 9) & NOT_H,
        })
    }

    fn count(self) -> u32 {
        self.0.count_ones()
    }
}

impl Iterator for Squares {
    type Item = u32;
    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let square = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(square)
    }
}

struct Reversi {
    mine: Squares,
    theirs: Squares,
}

impl Reversi {
    fn moves(&self) -> Squares {
        let empty = !(self.mine | self.theirs);
        Direction::ALL
            .into_iter()
            .fold(Squares::NONE, |moves, direction| {
                let mut line = self.mine.step(direction) & self.theirs;
                for _ in 0..5 {
                    line = line | (line.step(direction) & self.theirs);
                }
                moves | (line.step(direction) & empty)
            })
    }

    fn flips(&self, square: u32) -> Squares {
        let mut all = Squares::NONE;
        for direction in Direction::ALL {
            let mut line = Squares::NONE;
            let mut at = Squares(1 << square).step(direction);
            while at & self.theirs != Squares::NONE {
                line = line | at;
                at = at.step(direction);
            }
            if at & self.mine != Squares::NONE {
                all = all | line;
            }
        }
        all
    }
}

/// The move that turns the most disks: `64 * disks + square`, or 0 without a legal move.
#[kernel]
pub fn reversi_moves_safe(mine: &[u64], theirs: &[u64], mut to: PerThread<u32>) {
    to.each_with((mine, theirs), |_, to, (&mine, &theirs)| {
        let board = Reversi {
            mine: Squares(mine),
            theirs: Squares(theirs),
        };
        *to = board
            .moves()
            .map(|square| board.flips(square).count() * 64 + square)
            .max()
            .unwrap_or(0);
    });
}

#[inline(always)]
fn shifted(x: u64, direction: usize) -> u64 {
    match direction {
        0 => (x << 1) & NOT_A,
        1 => (x >> 1) & NOT_H,
        2 => x << 8,
        3 => x >> 8,
        4 => (x << 9) & NOT_A,
        5 => (x << 7) & NOT_H,
        6 => (x >> 7) & NOT_A,
        _ => (x >> 9) & NOT_H,
    }
}

/// As [`reversi_moves_safe`], with pointers.
#[kernel]
pub unsafe fn reversi_moves_raw(mine: *const u64, theirs: *const u64, to: *mut u32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let own = *mine.add(i);
    let other = *theirs.add(i);
    let empty = !(own | other);
    let mut moves = 0;
    cuda_std::unroll::unroll::<8>(|d| {
        let mut line = shifted(own, d) & other;
        for _ in 0..5 {
            line |= shifted(line, d) & other;
        }
        moves |= shifted(line, d) & empty;
    });
    let mut best = 0;
    while moves != 0 {
        let square = moves.trailing_zeros();
        moves &= moves - 1;
        let mut all = 0u64;
        cuda_std::unroll::unroll::<8>(|d| {
            let mut line = 0;
            let mut at = shifted(1 << square, d);
            while at & other != 0 {
                line |= at;
                at = shifted(at, d);
            }
            if at & own != 0 {
                all |= line;
            }
        });
        best = best.max(all.count_ones() * 64 + square);
    }
    *to.add(i) = best;
}

/// Nodes of a graph, and threads of a block.
pub const NODES: usize = 128;

/// The distances of all nodes from node 0 in small dense graphs, a block for each graph. A weight of
/// zero means no edge.
#[kernel(block_size(128))]
pub fn dense_dijkstra_safe(weights: &[u16], mut to: PerBlock<u32, NODES>) {
    const FAR: u32 = u32::MAX >> 8;
    let me = thread::index_in_block();
    for mut piece in to.pieces() {
        let graph = &weights[piece.start() * NODES..][..NODES * NODES];
        let mut distance = if me == 0 { 0 } else { FAR };
        let mut settled = false;
        for _ in 0..NODES {
            // The distance, and the node in the low bits.
            let mine = if settled {
                u32::MAX
            } else {
                distance << 7 | me
            };
            let nearest = group::block().reduce(mine, u32::min);
            if nearest >> 7 >= FAR {
                break;
            }
            let node = nearest % NODES as u32;
            settled |= node == me;
            let row = &graph[node as usize * NODES..][..NODES];
            match row[me as usize] {
                0 => {}
                weight => distance = distance.min((nearest >> 7) + u32::from(weight)),
            }
        }
        piece.each(|_, to| *to = distance);
    }
}

/// As [`dense_dijkstra_safe`], with pointers.
#[kernel(block_size(128))]
pub unsafe fn dense_dijkstra_raw(weights: *const u16, to: *mut u32) {
    const FAR: u32 = u32::MAX >> 8;
    let parts = shared_array![u32; 8];
    let me = thread::thread_idx_x();
    let lane = me % 32;
    let graph = weights.add(thread::block_idx_x() as usize * NODES * NODES);
    let mut distance = if me == 0 { 0 } else { FAR };
    let mut settled = false;
    for step in 0..NODES {
        let mine = if settled {
            u32::MAX
        } else {
            distance << 7 | me
        };
        let least = warp::reduce_min(warp::FULL, mine);
        let half = parts.add(step % 2 * 4);
        if lane == 0 {
            *half.add((me / 32) as usize) = least;
        }
        thread::sync_threads();
        let nearest = (*half)
            .min(*half.add(1))
            .min((*half.add(2)).min(*half.add(3)));
        if nearest >> 7 >= FAR {
            break;
        }
        let node = nearest % NODES as u32;
        settled |= node == me;
        let weight = *graph.add(node as usize * NODES + me as usize);
        if weight != 0 {
            distance = distance.min((nearest >> 7) + weight as u32);
        }
    }
    *to.add(thread::index_1d() as usize) = distance;
}

/// Bytes of a window, divided by four.
pub const WINDOW_WORDS: usize = 256;

/// The entropy of each window of bytes, in bits: a warp for each window.
#[kernel(block_size(256))]
pub fn window_entropy_safe(
    #[shared] bins: Shared<Array<Atomic<u32, Block>, 2048>>,
    data: &[U8x4],
    mut to: PerWarp<f32>,
) {
    let bins = bins.share();
    let warp = group::warp();
    let bins = &bins[warp.number() as usize * 256..][..256];
    for mut piece in to.pieces() {
        let window = &data[piece.start() * WINDOW_WORDS..][..WINDOW_WORDS];
        thread::warp_stride(256).for_each(|i| bins[i].store(0, Relaxed));
        warp.sync();
        for i in thread::warp_stride(window.len()) {
            for byte in window[i].to_array() {
                bins[usize::from(byte)].fetch_add(1, Relaxed);
            }
        }
        warp.sync();
        let entropy: f32 = thread::warp_stride(256)
            .map(|i| bins[i].load(Relaxed) as f32 / (4 * WINDOW_WORDS) as f32)
            .filter(|&p| p > 0.0)
            .map(|p| -p * p.log2())
            .sum();
        let entropy = warp.reduce(entropy, |a, b| a + b);
        warp.sync();
        piece.each(|_, to| *to = entropy);
    }
}

/// As [`window_entropy_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn window_entropy_raw(data: *const U8x4, to: *mut f32, windows: usize) {
    let all = shared_array![u32; 2048];
    let lane = thread::lane_id() as usize;
    let bins = all.add(thread::thread_idx_x() as usize / 32 * 256);
    let warps = thread::grid_dim_x() as usize * 8;
    let mut w = thread::index_1d() as usize / 32;
    while w < windows {
        let window = data.add(w * WINDOW_WORDS);
        for i in 0..8 {
            *bins.add(lane + 32 * i) = 0;
        }
        warp::sync(warp::FULL);
        for i in 0..8 {
            let bytes = (*window.add(lane + 32 * i)).to_array();
            for k in 0..4 {
                Atomic::<u32, Block>::from_ptr(bins.add(bytes[k] as usize)).fetch_add(1, Relaxed);
            }
        }
        warp::sync(warp::FULL);
        let mut entropy = 0.0f32;
        for i in 0..8 {
            let p = *bins.add(lane + 32 * i) as f32 / 1024.0;
            if p > 0.0 {
                entropy -= p * p.log2();
            }
        }
        let mut distance = 16;
        while distance > 0 {
            entropy += warp::shuffle_xor(warp::FULL, entropy, distance);
            distance /= 2;
        }
        warp::sync(warp::FULL);
        if lane == 0 {
            *to.add(w) = entropy;
        }
        w += warps;
    }
}

/// A hexadecimal digit's value.
fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Parses an angle such as `4807.0381` (degrees, and minutes with four decimals) to units of 1e-4
/// minutes.
fn angle(field: &[u8], hemisphere: &[u8]) -> Option<i32> {
    let mut number = 0i32;
    let mut decimals = None;
    let mut digits = field;
    while let [first, rest @ ..] = digits {
        match first {
            b'0'..=b'9' => {
                number = number
                    .wrapping_mul(10)
                    .wrapping_add(i32::from(first - b'0'));
                decimals = decimals.map(|n: u32| n + 1);
            }
            b'.' if decimals.is_none() => decimals = Some(0),
            _ => return None,
        }
        digits = rest;
    }
    if decimals? != 4 {
        return None;
    }
    let angle = number / 1_000_000 * 600_000 + number % 1_000_000;
    match hemisphere {
        b"N" | b"E" => Some(angle),
        b"S" | b"W" => Some(-angle),
        _ => None,
    }
}

/// Parses a `GGA` sentence with a checksum.
fn fix(sentence: &[u8]) -> Option<[i32; 2]> {
    let (b'$', sentence) = sentence.split_first()? else {
        return None;
    };
    let star = sentence.iter().position(|&byte| byte == b'*')?;
    let (body, end) = sentence.split_at(star);
    let [_, high, low] = end else { return None };
    let sum = body.iter().fold(0, |sum, byte| sum ^ byte);
    if sum != hex(*high)? << 4 | hex(*low)? {
        return None;
    }
    let mut fields = body.split(|&byte| byte == b',');
    fields.next().filter(|name| name.ends_with(b"GGA"))?;
    let _time = fields.next()?;
    let latitude = angle(fields.next()?, fields.next()?)?;
    let longitude = angle(fields.next()?, fields.next()?)?;
    Some([latitude, longitude])
}

/// The positions in NMEA sentences, in units of 1e-4 minutes, or `i32::MIN` for invalid sentences.
#[kernel]
pub fn nmea_fix_safe(text: &[u8], starts: &[u32], mut to: PerThread<[i32; 2]>) {
    to.each(|i, to| {
        let sentence = &text[starts[i] as usize..starts[i + 1] as usize];
        *to = fix(sentence).unwrap_or([i32::MIN; 2]);
    });
}

unsafe fn hex_raw(c: u8) -> i32 {
    if c >= b'0' && c <= b'9' {
        (c - b'0') as i32
    } else if c >= b'A' && c <= b'F' {
        (c - b'A') as i32 + 10
    } else {
        -1
    }
}

unsafe fn angle_raw(mut p: *const u8, end: *const u8, to: &mut i32) -> *const u8 {
    let mut number = 0i32;
    let mut decimals = -1;
    while p < end && *p != b',' {
        let c = *p;
        if c >= b'0' && c <= b'9' {
            number = number.wrapping_mul(10).wrapping_add((c - b'0') as i32);
            if decimals >= 0 {
                decimals += 1;
            }
        } else if c == b'.' && decimals < 0 {
            decimals = 0;
        } else {
            return core::ptr::null();
        }
        p = p.add(1);
    }
    if decimals != 4 || p == end {
        return core::ptr::null();
    }
    p = p.add(1);
    let angle = number / 1_000_000 * 600_000 + number % 1_000_000;
    if p == end {
        return core::ptr::null();
    }
    let c = *p;
    p = p.add(1);
    if c == b'N' || c == b'E' {
        *to = angle;
    } else if c == b'S' || c == b'W' {
        *to = -angle;
    } else {
        return core::ptr::null();
    }
    if p < end && *p != b',' {
        return core::ptr::null();
    }
    p
}

unsafe fn fix_raw(mut p: *const u8, end: *const u8, to: &mut [i32; 2]) -> bool {
    if p == end || *p != b'$' {
        return false;
    }
    p = p.add(1);
    let mut star = p;
    let mut sum = 0;
    while star < end && *star != b'*' {
        sum ^= *star as i32;
        star = star.add(1);
    }
    if end.offset_from(star) != 3 {
        return false;
    }
    let (high, low) = (hex_raw(*star.add(1)), hex_raw(*star.add(2)));
    if high < 0 || low < 0 || sum != high << 4 | low {
        return false;
    }
    let name = p;
    while p < star && *p != b',' {
        p = p.add(1);
    }
    if p.offset_from(name) < 3 || *p.sub(3) != b'G' || *p.sub(2) != b'G' || *p.sub(1) != b'A' {
        return false;
    }
    if p == star {
        return false;
    }
    p = p.add(1);
    while p < star && *p != b',' {
        p = p.add(1);
    }
    if p == star {
        return false;
    }
    p = angle_raw(p.add(1), star, &mut to[0]);
    if p.is_null() || p == star {
        return false;
    }
    p = angle_raw(p.add(1), star, &mut to[1]);
    !p.is_null()
}

/// As [`nmea_fix_safe`], with pointers.
#[kernel]
pub unsafe fn nmea_fix_raw(text: *const u8, starts: *const u32, to: *mut [i32; 2], n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        let mut both = [0; 2];
        let p = text.add(*starts.add(i) as usize);
        let end = text.add(*starts.add(i + 1) as usize);
        *to.add(i) = if fix_raw(p, end, &mut both) {
            both
        } else {
            [i32::MIN; 2]
        };
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cigar {
    Match,
    Insertion,
    Deletion,
    Clip,
    Padding,
}

impl TryFrom<u8> for Cigar {
    type Error = ();
    fn try_from(letter: u8) -> Result<Cigar, ()> {
        Ok(match letter {
            b'M' | b'=' | b'X' => Cigar::Match,
            b'I' => Cigar::Insertion,
            b'D' | b'N' => Cigar::Deletion,
            b'S' => Cigar::Clip,
            b'H' | b'P' => Cigar::Padding,
            _ => return Err(()),
        })
    }
}

/// The operations of a CIGAR string with their lengths.
struct Operations<'a>(&'a [u8]);

impl Iterator for Operations<'_> {
    type Item = Option<(u32, Cigar)>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let digits = self
            .0
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let (number, rest) = self.0.split_at(digits);
        let length = number
            .iter()
            .fold(0u32, |n, digit| n * 10 + u32::from(digit - b'0'));
        let Some((&letter, rest)) = rest.split_first() else {
            self.0 = &[];
            return Some(None);
        };
        self.0 = rest;
        Some(
            Cigar::try_from(letter)
                .ok()
                .map(|operation| (length, operation)),
        )
    }
}

#[derive(Default)]
struct Spans {
    reference: u32,
    query: u32,
    gaps: u32,
    clipped: u32,
}

fn spans(cigar: &[u8]) -> Option<Spans> {
    let mut spans = Spans::default();
    for operation in Operations(cigar) {
        match operation? {
            (n, Cigar::Match) => {
                spans.reference += n;
                spans.query += n;
            }
            (n, Cigar::Insertion) => {
                spans.query += n;
                spans.gaps += 1;
            }
            (n, Cigar::Deletion) => {
                spans.reference += n;
                spans.gaps += 1;
            }
            (n, Cigar::Clip) => {
                spans.query += n;
                spans.clipped += n;
            }
            (_, Cigar::Padding) => {}
        }
    }
    Some(spans)
}

/// The spans of alignments on the reference and the query, the gaps, and the clipped bases, from
/// CIGAR strings. All are zero for invalid strings.
#[kernel]
pub fn cigar_spans_safe(text: &[u8], starts: &[u32], mut to: PerThread<[u32; 4]>) {
    to.each(|i, to| {
        let &[start, end] = &starts[i..i + 2] else {
            return;
        };
        let all = spans(&text[start as usize..end as usize]).unwrap_or_default();
        *to = [all.reference, all.query, all.gaps, all.clipped];
    });
}

/// As [`cigar_spans_safe`], with pointers.
#[kernel]
pub unsafe fn cigar_spans_raw(text: *const u8, starts: *const u32, to: *mut [u32; 4], n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut p = text.add(*starts.add(i) as usize);
    let end = text.add(*starts.add(i + 1) as usize);
    let (mut reference, mut query, mut gaps, mut clipped) = (0, 0, 0, 0);
    let mut valid = true;
    while p < end {
        let mut length = 0u32;
        while p < end && *p >= b'0' && *p <= b'9' {
            length = length * 10 + (*p - b'0') as u32;
            p = p.add(1);
        }
        if p == end {
            valid = false;
            break;
        }
        match *p {
            b'M' | b'=' | b'X' => {
                reference += length;
                query += length;
            }
            b'I' => {
                query += length;
                gaps += 1;
            }
            b'D' | b'N' => {
                reference += length;
                gaps += 1;
            }
            b'S' => {
                query += length;
                clipped += length;
            }
            b'H' | b'P' => {}
            _ => {
                valid = false;
                break;
            }
        }
        p = p.add(1);
    }
    *to.add(i) = if valid {
        [reference, query, gaps, clipped]
    } else {
        [0; 4]
    };
}

/// Words in one text.
#[derive(Clone, Copy)]
struct Words<'a> {
    text: &'a [u8],
    starts: &'a [u32],
}

impl<'a> Words<'a> {
    fn get(&self, i: usize) -> &'a [u8] {
        &self.text[self.starts[i] as usize..self.starts[i + 1] as usize]
    }
}

#[repr(u32)]
enum Edit {
    Same,
    Substitution,
    Insertion,
    Deletion,
    Transposition,
    Other,
}

fn edit(mut a: &[u8], mut b: &[u8]) -> Edit {
    while let ([x, rest_a @ ..], [y, rest_b @ ..]) = (a, b)
        && x == y
    {
        (a, b) = (rest_a, rest_b);
    }
    while let ([rest_a @ .., x], [rest_b @ .., y]) = (a, b)
        && x == y
    {
        (a, b) = (rest_a, rest_b);
    }
    match (a, b) {
        ([], []) => Edit::Same,
        ([_], [_]) => Edit::Substitution,
        ([], [_]) => Edit::Insertion,
        ([_], []) => Edit::Deletion,
        ([p, q], [r, s]) if p == s && q == r => Edit::Transposition,
        _ => Edit::Other,
    }
}

/// Whether a typed word differs by at most one edit from a word of the dictionary, and by which.
#[kernel]
pub fn one_edit_safe(
    typed: &[u8],
    typed_starts: &[u32],
    known: &[u8],
    known_starts: &[u32],
    mut to: PerThread<u32>,
) {
    let typed = Words {
        text: typed,
        starts: typed_starts,
    };
    let known = Words {
        text: known,
        starts: known_starts,
    };
    to.each(|i, to| *to = edit(typed.get(i), known.get(i)) as u32);
}

/// As [`one_edit_safe`], with pointers.
#[kernel]
pub unsafe fn one_edit_raw(
    typed: *const u8,
    typed_starts: *const u32,
    known: *const u8,
    known_starts: *const u32,
    to: *mut u32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut a = *typed_starts.add(i);
    let mut a_end = *typed_starts.add(i + 1);
    let mut b = *known_starts.add(i);
    let mut b_end = *known_starts.add(i + 1);
    while a < a_end && b < b_end && *typed.add(a as usize) == *known.add(b as usize) {
        a += 1;
        b += 1;
    }
    while a < a_end && b < b_end && *typed.add(a_end as usize - 1) == *known.add(b_end as usize - 1)
    {
        a_end -= 1;
        b_end -= 1;
    }
    let (m, n) = (a_end - a, b_end - b);
    *to.add(i) = if m == 0 && n == 0 {
        0
    } else if m == 1 && n == 1 {
        1
    } else if m == 0 && n == 1 {
        2
    } else if m == 1 && n == 0 {
        3
    } else if m == 2
        && n == 2
        && *typed.add(a as usize) == *known.add(b as usize + 1)
        && *typed.add(a as usize + 1) == *known.add(b as usize)
    {
        4
    } else {
        5
    };
}

const ROUND_CONSTANTS: [u64; 24] = [
    0x0000000000000001,
    0x0000000000008082,
    0x800000000000808a,
    0x8000000080008000,
    0x000000000000808b,
    0x0000000080000001,
    0x8000000080008081,
    0x8000000000008009,
    0x000000000000008a,
    0x0000000000000088,
    0x0000000080008009,
    0x000000008000000a,
    0x000000008000808b,
    0x800000000000008b,
    0x8000000000008089,
    0x8000000000008003,
    0x8000000000008002,
    0x8000000000000080,
    0x000000000000800a,
    0x800000008000000a,
    0x8000000080008081,
    0x8000000000008080,
    0x0000000080000001,
    0x8000000080008008,
];
const ROTATIONS: [u32; 24] = [
    1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44,
];
const LANES: [usize; 24] = [
    10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1,
];

/// The state of Keccak-f[1600].
struct Keccak([u64; 25]);

impl Keccak {
    fn theta(&mut self) {
        let parity: [u64; 5] =
            core::array::from_fn(|x| self.0.iter().skip(x).step_by(5).fold(0, |p, lane| p ^ lane));
        for row in self.0.chunks_exact_mut(5) {
            for (x, lane) in row.iter_mut().enumerate() {
                *lane ^= parity[(x + 4) % 5] ^ parity[(x + 1) % 5].rotate_left(1);
            }
        }
    }

    fn rho_and_pi(&mut self) {
        let mut last = self.0[1];
        for (lane, rotation) in LANES.into_iter().zip(ROTATIONS) {
            last = core::mem::replace(&mut self.0[lane], last.rotate_left(rotation));
        }
    }

    fn chi(&mut self) {
        for row in self.0.chunks_exact_mut(5) {
            let old: [u64; 5] = core::array::from_fn(|x| row[x]);
            for x in 0..5 {
                row[x] = old[x] ^ (!old[(x + 1) % 5] & old[(x + 2) % 5]);
            }
        }
    }

    fn permute(&mut self) {
        for constant in ROUND_CONSTANTS {
            self.theta();
            self.rho_and_pi();
            self.chi();
            self.0[0] ^= constant;
        }
    }

    /// SHA3-256 of 32 bytes.
    fn digest(message: [u64; 4]) -> [u64; 4] {
        let mut state = Keccak([0; 25]);
        state.0[..4].copy_from_slice(&message);
        state.0[4] = 0x06;
        state.0[16] = 1 << 63;
        state.permute();
        let [a, b, c, d, ..] = state.0;
        [a, b, c, d]
    }
}

/// A chain of SHA3-256 hashes from each seed.
#[kernel]
pub fn keccak_chain_safe(seeds: &[[u64; 4]], length: u32, mut to: PerThread<[u64; 4]>) {
    to.each_with(seeds, |_, to, &seed| {
        *to = (0..length).fold(seed, |hash, _| Keccak::digest(hash));
    });
}

/// As [`keccak_chain_safe`], with pointers.
#[kernel]
pub unsafe fn keccak_chain_raw(seeds: *const [u64; 4], length: u32, to: *mut [u64; 4], n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut hash = *seeds.add(i);
    for _ in 0..length {
        let mut s = [0u64; 25];
        for k in 0..4 {
            s[k] = hash[k];
        }
        s[4] = 0x06;
        s[16] = 1 << 63;
        for round in 0..24 {
            let mut c = [0u64; 5];
            for x in 0..5 {
                c[x] = s[x] ^ s[x + 5] ^ s[x + 10] ^ s[x + 15] ^ s[x + 20];
            }
            for x in 0..5 {
                let t = c[(x + 4) % 5] ^ c[(x + 1) % 5].rotate_left(1);
                for y in 0..5 {
                    s[5 * y + x] ^= t;
                }
            }
            let mut last = s[1];
            for k in 0..24 {
                let next = s[LANES[k]];
                s[LANES[k]] = last.rotate_left(ROTATIONS[k]);
                last = next;
            }
            for y in 0..5 {
                for x in 0..5 {
                    c[x] = s[5 * y + x];
                }
                for x in 0..5 {
                    s[5 * y + x] = c[x] ^ (!c[(x + 1) % 5] & c[(x + 2) % 5]);
                }
            }
            s[0] ^= ROUND_CONSTANTS[round];
        }
        for k in 0..4 {
            hash[k] = s[k];
        }
    }
    *to.add(i) = hash;
}

/// A matrix of `R` rows and `C` columns.
#[derive(Clone, Copy)]
struct Matrix<const R: usize, const C: usize>([[f32; C]; R]);

impl<const R: usize, const K: usize, const C: usize> core::ops::Mul<Matrix<K, C>> for Matrix<R, K> {
    type Output = Matrix<R, C>;
    fn mul(self, other: Matrix<K, C>) -> Matrix<R, C> {
        Matrix(core::array::from_fn(|r| {
            core::array::from_fn(|c| (0..K).map(|k| self.0[r][k] * other.0[k][c]).sum())
        }))
    }
}

/// An optical element.
#[derive(Clone, Copy)]
enum Element {
    Polarizer { loss: f32 },
    Retarder { phase: f32 },
    Depolarizer { fraction: f32 },
    Mirror,
}

impl Element {
    fn new(kind: u32, value: f32) -> Element {
        match kind {
            0 => Element::Polarizer { loss: value },
            1 => Element::Retarder { phase: value },
            2 => Element::Depolarizer { fraction: value },
            _ => Element::Mirror,
        }
    }

    fn mueller(self, wavelength: f32) -> Matrix<4, 4> {
        match self {
            Element::Polarizer { loss } => {
                let (a, b, c) = (0.5 * (1.0 + loss), 0.5 * (1.0 - loss), loss.sqrt());
                Matrix([
                    [a, b, 0., 0.],
                    [b, a, 0., 0.],
                    [0., 0., c, 0.],
                    [0., 0., 0., c],
                ])
            }
            Element::Retarder { phase } => {
                let (s, c) = (phase / wavelength).sin_cos();
                Matrix([
                    [1., 0., 0., 0.],
                    [0., 1., 0., 0.],
                    [0., 0., c, s],
                    [0., 0., -s, c],
                ])
            }
            Element::Depolarizer { fraction } => {
                let d = 1.0 - fraction;
                Matrix([
                    [1., 0., 0., 0.],
                    [0., d, 0., 0.],
                    [0., 0., d, 0.],
                    [0., 0., 0., d],
                ])
            }
            Element::Mirror => Matrix([
                [1., 0., 0., 0.],
                [0., 1., 0., 0.],
                [0., 0., -1., 0.],
                [0., 0., 0., -1.],
            ]),
        }
    }
}

fn rotation(angle: f32) -> Matrix<4, 4> {
    let (s, c) = (2.0 * angle).sin_cos();
    Matrix([
        [1., 0., 0., 0.],
        [0., c, s, 0.],
        [0., -s, c, 0.],
        [0., 0., 0., 1.],
    ])
}

/// Sends light of each wavelength through optical elements: Stokes vectors and Mueller matrices.
#[kernel]
pub fn mueller_chain_safe(
    kinds: &[u32],
    values: &[f32],
    angles: &[f32],
    wavelengths: &[f32],
    light: &[[f32; 4]],
    mut to: PerThread<[f32; 4]>,
) {
    to.each_with((wavelengths, light), |_, to, (&wavelength, light)| {
        let mut stokes = Matrix(light.map(|x| [x]));
        for ((&kind, &value), &angle) in kinds.iter().zip(values).zip(angles) {
            let element = Element::new(kind, value).mueller(wavelength);
            stokes = rotation(-angle) * element * rotation(angle) * stokes;
        }
        *to = stokes.0.map(|[x]| x);
    });
}

#[inline(always)]
unsafe fn multiply(a: &[[f32; 4]; 4], b: &[[f32; 4]; 4]) -> [[f32; 4]; 4] {
    let mut c = [[0.0; 4]; 4];
    for i in 0..4 {
        for j in 0..4 {
            let mut sum = 0.0;
            for k in 0..4 {
                sum += a[i][k] * b[k][j];
            }
            c[i][j] = sum;
        }
    }
    c
}

#[inline(always)]
unsafe fn rotate(m: &mut [[f32; 4]; 4], angle: f32) {
    let (s, c) = (2.0 * angle).sin_cos();
    *m = [
        [1., 0., 0., 0.],
        [0., c, s, 0.],
        [0., -s, c, 0.],
        [0., 0., 0., 1.],
    ];
}

/// As [`mueller_chain_safe`], with pointers.
#[kernel]
pub unsafe fn mueller_chain_raw(
    kinds: *const u32,
    values: *const f32,
    angles: *const f32,
    elements: usize,
    wavelengths: *const f32,
    light: *const [f32; 4],
    to: *mut [f32; 4],
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let wavelength = *wavelengths.add(i);
    let mut stokes = *light.add(i);
    for e in 0..elements {
        let value = *values.add(e);
        let mut m = [[0.0f32; 4]; 4];
        m[0][0] = 1.0;
        match *kinds.add(e) {
            0 => {
                m[0][0] = 0.5 * (1.0 + value);
                m[1][1] = m[0][0];
                m[0][1] = 0.5 * (1.0 - value);
                m[1][0] = m[0][1];
                m[2][2] = value.sqrt();
                m[3][3] = m[2][2];
            }
            1 => {
                let (s, c) = (value / wavelength).sin_cos();
                m[1][1] = 1.0;
                m[2][2] = c;
                m[2][3] = s;
                m[3][2] = -s;
                m[3][3] = c;
            }
            2 => {
                m[1][1] = 1.0 - value;
                m[2][2] = 1.0 - value;
                m[3][3] = 1.0 - value;
            }
            _ => {
                m[1][1] = 1.0;
                m[2][2] = -1.0;
                m[3][3] = -1.0;
            }
        }
        let mut a = [[0.0; 4]; 4];
        let mut b = [[0.0; 4]; 4];
        rotate(&mut a, -*angles.add(e));
        rotate(&mut b, *angles.add(e));
        let all = multiply(&multiply(&a, &m), &b);
        let mut next = [0.0; 4];
        for r in 0..4 {
            let mut sum = 0.0;
            for k in 0..4 {
                sum += all[r][k] * stokes[k];
            }
            next[r] = sum;
        }
        stokes = next;
    }
    *to.add(i) = stokes;
}

#[derive(Clone, Copy)]
enum Right {
    Call,
    Put,
}

/// An option, with its price per unit of the discounted forward price.
struct Contract {
    right: Right,
    forward: f64,
    strike: f64,
    years: f64,
}

fn normal(x: f64) -> f64 {
    0.5 * cuda_std::float::erfc(-x * core::f64::consts::FRAC_1_SQRT_2)
}

impl Contract {
    fn intrinsic(&self) -> f64 {
        match self.right {
            Right::Call => (self.forward - self.strike).max(0.0),
            Right::Put => (self.strike - self.forward).max(0.0),
        }
    }

    /// The price, and its derivative by the volatility.
    fn price(&self, volatility: f64) -> (f64, f64) {
        let deviation = volatility * self.years.sqrt();
        let d1 = (self.forward / self.strike).ln() / deviation + 0.5 * deviation;
        let d2 = d1 - deviation;
        let price = match self.right {
            Right::Call => self.forward * normal(d1) - self.strike * normal(d2),
            Right::Put => self.strike * normal(-d2) - self.forward * normal(-d1),
        };
        let density = (-0.5 * d1 * d1).exp() * 0.3989422804014327;
        (price, self.forward * self.years.sqrt() * density)
    }

    /// The volatility at which the option has this price: Newton steps within a bracket.
    fn implied(&self, price: f64) -> Option<f64> {
        if !(price > self.intrinsic()) {
            return None;
        }
        let (mut low, mut high) = (1e-3, 4.0);
        let mut volatility = 0.3;
        for _ in 0..50 {
            let (value, vega) = self.price(volatility);
            let error = value - price;
            if error.abs() < 1e-10 * self.forward {
                return Some(volatility);
            }
            if error > 0.0 {
                high = volatility;
            } else {
                low = volatility;
            }
            let next = volatility - error / vega;
            volatility = if low < next && next < high {
                next
            } else {
                0.5 * (low + high)
            };
        }
        None
    }
}

/// Implied volatilities, or NaN for prices below the intrinsic value.
#[kernel]
pub fn implied_vol_safe(puts: &[u8], terms: &[[f64; 3]], prices: &[f64], mut to: PerThread<f64>) {
    to.each_with((puts, terms, prices), |_, to, (&put, terms, &price)| {
        let &[forward, strike, years] = terms;
        let right = if put == 0 { Right::Call } else { Right::Put };
        let contract = Contract {
            right,
            forward,
            strike,
            years,
        };
        *to = contract.implied(price).unwrap_or(f64::NAN);
    });
}

/// As [`implied_vol_safe`], with pointers.
#[kernel]
pub unsafe fn implied_vol_raw(
    puts: *const u8,
    terms: *const f64,
    prices: *const f64,
    to: *mut f64,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let put = *puts.add(i) != 0;
    let forward = *terms.add(3 * i);
    let strike = *terms.add(3 * i + 1);
    let years = *terms.add(3 * i + 2);
    let price = *prices.add(i);
    let mut result = f64::NAN;
    let intrinsic = if put {
        strike - forward
    } else {
        forward - strike
    };
    if price > intrinsic.max(0.0) {
        let mut low = 1e-3;
        let mut high = 4.0;
        let mut v = 0.3;
        for _ in 0..50 {
            let deviation = v * years.sqrt();
            let d1 = (forward / strike).ln() / deviation + 0.5 * deviation;
            let d2 = d1 - deviation;
            let value = if put {
                strike * normal(-d2) - forward * normal(-d1)
            } else {
                forward * normal(d1) - strike * normal(d2)
            };
            let vega = forward * years.sqrt() * ((-0.5 * d1 * d1).exp() * 0.3989422804014327);
            let error = value - price;
            if error.abs() < 1e-10 * forward {
                result = v;
                break;
            }
            if error > 0.0 {
                high = v;
            } else {
                low = v;
            }
            let next = v - error / vega;
            v = if low < next && next < high {
                next
            } else {
                0.5 * (low + high)
            };
        }
    }
    *to.add(i) = result;
}

/// The neighborhood of a time between two keys.
struct Segment {
    duration: f32,
    /// The place in the segment, from 0 to 1.
    at: f32,
    values: [f32; 2],
    slopes: [f32; 2],
}

/// A way to interpolate between two keys.
trait Curve {
    fn value(&self, segment: &Segment) -> f32;
}

struct Step;
struct Linear;
struct Hermite;
struct Bezier {
    x1: f32,
    x2: f32,
}

impl Curve for Step {
    fn value(&self, segment: &Segment) -> f32 {
        segment.values[0]
    }
}

impl Curve for Linear {
    fn value(&self, segment: &Segment) -> f32 {
        let [a, b] = segment.values;
        a + (b - a) * segment.at
    }
}

fn hermite(s: f32, segment: &Segment) -> f32 {
    let ([a, b], [p, q]) = (
        segment.values,
        segment.slopes.map(|slope| slope * segment.duration),
    );
    let (s2, s3) = (s * s, s * s * s);
    (2.0 * s3 - 3.0 * s2 + 1.0) * a
        + (s3 - 2.0 * s2 + s) * p
        + (3.0 * s2 - 2.0 * s3) * b
        + (s3 - s2) * q
}

impl Curve for Hermite {
    fn value(&self, segment: &Segment) -> f32 {
        hermite(segment.at, segment)
    }
}

impl Curve for Bezier {
    fn value(&self, segment: &Segment) -> f32 {
        // Bisection: the parameter at which the curve reaches the time.
        let (mut low, mut high) = (0.0f32, 1.0f32);
        for _ in 0..12 {
            let s = 0.5 * (low + high);
            let r = 1.0 - s;
            let x = 3.0 * r * r * s * self.x1 + 3.0 * r * s * s * self.x2 + s * s * s;
            if x < segment.at { low = s } else { high = s }
        }
        hermite(0.5 * (low + high), segment)
    }
}

/// The keys of all tracks.
struct Tracks<'a> {
    starts: &'a [u32],
    times: &'a [f32],
    values: &'a [f32],
    slopes: &'a [f32],
}

impl Tracks<'_> {
    fn segment(&self, track: usize, time: f32) -> Segment {
        let range = self.starts[track] as usize..self.starts[track + 1] as usize;
        let (times, values, slopes) = (
            &self.times[range.clone()],
            &self.values[range.clone()],
            &self.slopes[range],
        );
        let next = times
            .partition_point(|&t| t <= time)
            .clamp(1, times.len() - 1);
        let duration = times[next] - times[next - 1];
        Segment {
            duration,
            at: ((time - times[next - 1]) / duration).clamp(0.0, 1.0),
            values: [values[next - 1], values[next]],
            slopes: [slopes[next - 1], slopes[next]],
        }
    }
}

/// The values of animation tracks at each frame.
#[kernel]
pub fn keyframes_safe(
    starts: &[u32],
    times: &[f32],
    values: &[f32],
    slopes: &[f32],
    kinds: &[u8],
    step: f32,
    mut to: PerThread<f32>,
) {
    let tracks = Tracks {
        starts,
        times,
        values,
        slopes,
    };
    to.each(|i, to| {
        let (frame, track) = (i / kinds.len(), i % kinds.len());
        let curve: &dyn Curve = match kinds[track] {
            0 => &Step,
            1 => &Linear,
            2 => &Hermite,
            3 => &Bezier { x1: 0.42, x2: 0.58 },
            _ => &Bezier { x1: 0.1, x2: 0.25 },
        };
        *to = curve.value(&tracks.segment(track, frame as f32 * step));
    });
}

/// As [`keyframes_safe`], with pointers.
#[kernel]
pub unsafe fn keyframes_raw(
    starts: *const u32,
    times: *const f32,
    values: *const f32,
    slopes: *const f32,
    kinds: *const u8,
    tracks: u32,
    step: f32,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d();
    if i as usize >= n {
        return;
    }
    let (frame, track) = (i / tracks, (i % tracks) as usize);
    let time = frame as f32 * step;
    let (first, last) = (*starts.add(track), *starts.add(track + 1) - 1);
    let (mut low, mut high) = (first, last + 1);
    while low < high {
        let middle = (low + high) / 2;
        if *times.add(middle as usize) <= time {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let next = low.max(first + 1).min(last) as usize;
    let duration = *times.add(next) - *times.add(next - 1);
    let at = ((time - *times.add(next - 1)) / duration).max(0.0).min(1.0);
    let (a, b) = (*values.add(next - 1), *values.add(next));
    let kind = *kinds.add(track);
    let value = if kind == 0 {
        a
    } else if kind == 1 {
        a + (b - a) * at
    } else {
        let (p, q) = (
            *slopes.add(next - 1) * duration,
            *slopes.add(next) * duration,
        );
        let mut s = at;
        if kind >= 3 {
            let (x1, x2) = if kind == 3 { (0.42, 0.58) } else { (0.1, 0.25) };
            let (mut low, mut high) = (0.0f32, 1.0f32);
            for _ in 0..12 {
                s = 0.5 * (low + high);
                let r = 1.0 - s;
                let x = 3.0 * r * r * s * x1 + 3.0 * r * s * s * x2 + s * s * s;
                if x < at {
                    low = s;
                } else {
                    high = s;
                }
            }
            s = 0.5 * (low + high);
        }
        let (s2, s3) = (s * s, s * s * s);
        (2.0 * s3 - 3.0 * s2 + 1.0) * a
            + (s3 - 2.0 * s2 + s) * p
            + (3.0 * s2 - 2.0 * s3) * b
            + (s3 - s2) * q
    };
    *to.add(i as usize) = value;
}

/// The median, by selecting the smaller half.
fn median<T: Copy + PartialOrd, const N: usize>(mut values: [T; N]) -> T {
    for i in 0..=N / 2 {
        if let [least, rest @ ..] = &mut values[i..] {
            for value in rest {
                if *value < *least {
                    core::mem::swap(value, least);
                }
            }
        }
    }
    values[N / 2]
}

/// The median of each voxel and its six neighbors. Voxels outside repeat those at the edge.
#[kernel]
pub fn rank7_3d_safe(from: &[u16], mut to: PerThread3d<u16>) {
    let (width, height, depth) = (to.width(), to.height(), to.depth());
    let at = |x: usize, y: usize, z: usize| from[(z * height + y) * width + x];
    to.each(|(x, y, z), to| {
        let (left, right) = (x.saturating_sub(1), (x + 1).min(width - 1));
        let (above, below) = (y.saturating_sub(1), (y + 1).min(height - 1));
        let (front, back) = (z.saturating_sub(1), (z + 1).min(depth - 1));
        *to = median([
            at(x, y, z),
            at(left, y, z),
            at(right, y, z),
            at(x, above, z),
            at(x, below, z),
            at(x, y, front),
            at(x, y, back),
        ]);
    });
}

/// As [`rank7_3d_safe`], with pointers.
#[kernel]
pub unsafe fn rank7_3d_raw(from: *const u16, to: *mut u16, width: u32, height: u32, depth: u32) {
    let at = thread::index_3d();
    let (x, y, z) = (at.x, at.y, at.z);
    if x >= width || y >= height || z >= depth {
        return;
    }
    let index = |x: u32, y: u32, z: u32| ((z * height + y) * width + x) as usize;
    let mut v = [
        *from.add(index(x, y, z)),
        *from.add(index(x.saturating_sub(1), y, z)),
        *from.add(index((x + 1).min(width - 1), y, z)),
        *from.add(index(x, y.saturating_sub(1), z)),
        *from.add(index(x, (y + 1).min(height - 1), z)),
        *from.add(index(x, y, z.saturating_sub(1))),
        *from.add(index(x, y, (z + 1).min(depth - 1))),
    ];
    for i in 0..4 {
        for j in i + 1..7 {
            if v[j] < v[i] {
                let t = v[i];
                v[i] = v[j];
                v[j] = t;
            }
        }
    }
    *to.add(index(x, y, z)) = v[3];
}

/// The inflow of each cell of a porous medium: pressure differences to the neighbors, weighted with
/// the harmonic means of the permeabilities. Nothing flows through the boundary.
#[kernel(block_size(32, 8))]
pub fn darcy3d_safe(pressure: &[f32], permeability: &[f32], mut to: PerThread3d<f32>) {
    let (width, height, depth) = (to.width(), to.height(), to.depth());
    let cell = |x: usize, y: usize, z: usize| {
        (x < width && y < height && z < depth).then_some((z * height + y) * width + x)
    };
    for ((x, y, z), to) in to.own() {
        let here = (z * height + y) * width + x;
        let (p, k) = (pressure[here], permeability[here]);
        let neighbors = [
            cell(x.wrapping_sub(1), y, z),
            cell(x + 1, y, z),
            cell(x, y.wrapping_sub(1), z),
            cell(x, y + 1, z),
            cell(x, y, z.wrapping_sub(1)),
            cell(x, y, z + 1),
        ];
        *to = neighbors
            .into_iter()
            .flatten()
            .map(|there| {
                let other = permeability[there];
                2.0 * k * other / (k + other) * (pressure[there] - p)
            })
            .sum();
    }
}

/// As [`darcy3d_safe`], with pointers.
#[kernel(block_size(32, 8))]
pub unsafe fn darcy3d_raw(
    pressure: *const f32,
    permeability: *const f32,
    to: *mut f32,
    width: u32,
    height: u32,
    depth: u32,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x, at.y);
    if x >= width || y >= height {
        return;
    }
    let layer = (width * height) as usize;
    for z in 0..depth {
        let i = ((z * height + y) * width + x) as usize;
        let p = *pressure.add(i);
        let k = *permeability.add(i);
        let flow = |j: usize| {
            let other = *permeability.add(j);
            2.0 * k * other / (k + other) * (*pressure.add(j) - p)
        };
        let mut sum = 0.0;
        if x > 0 {
            sum += flow(i - 1);
        }
        if x + 1 < width {
            sum += flow(i + 1);
        }
        if y > 0 {
            sum += flow(i - width as usize);
        }
        if y + 1 < height {
            sum += flow(i + width as usize);
        }
        if z > 0 {
            sum += flow(i - layer);
        }
        if z + 1 < depth {
            sum += flow(i + layer);
        }
        *to.add(i) = sum;
    }
}

/// Points of a color cube along each axis.
pub const CUBE: usize = 17;

/// The corner of a cell of the cube, and the place in the cell, from 0 to 254.
fn axis(channel: u8) -> (usize, u32) {
    let scaled = u32::from(channel) * (CUBE as u32 - 1);
    match (scaled / 255, scaled % 255) {
        (16, 0) => (15, 255),
        (cell, place) => (cell as usize, place),
    }
}

/// Maps colors by a cube of colors, with tetrahedral interpolation.
#[kernel]
pub fn color_cube_safe(
    pixels: &[U8x4],
    cube: &[U8x4; CUBE * CUBE * CUBE],
    mut to: PerThread<U8x4>,
) {
    const R: usize = 1;
    const G: usize = CUBE;
    const B: usize = CUBE * CUBE;
    to.each_with(pixels, |_, to, pixel| {
        let [red, green, blue, alpha] = pixel.to_array();
        let ((x, r), (y, g), (z, b)) = (axis(red), axis(green), axis(blue));
        // The axes by falling place.
        let (first, second, places) = match (r >= g, g >= b, r >= b) {
            (true, true, _) => (R, R + G, [r, g, b]),
            (true, false, true) => (R, R + B, [r, b, g]),
            (true, false, false) => (B, B + R, [b, r, g]),
            (false, _, true) => (G, G + R, [g, r, b]),
            (false, true, false) => (G, G + B, [g, b, r]),
            (false, false, false) => (B, B + G, [b, g, r]),
        };
        let corner = x * R + y * G + z * B;
        let [high, middle, low] = places;
        let corners = [
            (corner, 255 - high),
            (corner + first, high - middle),
            (corner + second, middle - low),
            (corner + R + G + B, low),
        ];
        let mut sums = [127u32; 3];
        for (at, weight) in corners {
            for (sum, channel) in sums.iter_mut().zip(cube[at].to_array()) {
                *sum += weight * u32::from(channel);
            }
        }
        let [red, green, blue] = sums.map(|sum| (sum / 255) as u8);
        *to = U8x4::new(red, green, blue, alpha);
    });
}

/// As [`color_cube_safe`], with pointers.
#[kernel]
pub unsafe fn color_cube_raw(pixels: *const U8x4, cube: *const U8x4, to: *mut U8x4, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let pixel = *pixels.add(i);
    let mut corner = 0;
    let mut f = [0u32; 3];
    let step = [1, CUBE, CUBE * CUBE];
    for k in 0..3 {
        let scaled = pixel.to_array()[k] as u32 * 16;
        let mut cell = scaled / 255;
        f[k] = scaled % 255;
        if cell == 16 {
            cell = 15;
            f[k] = 255;
        }
        corner += cell as usize * step[k];
    }
    let [r, g, b] = f;
    let (first, second, high, middle, low);
    if r >= g {
        if g >= b {
            (first, second, high, middle, low) = (1, 1 + 17, r, g, b);
        } else if r >= b {
            (first, second, high, middle, low) = (1, 1 + 289, r, b, g);
        } else {
            (first, second, high, middle, low) = (289, 289 + 1, b, r, g);
        }
    } else if r >= b {
        (first, second, high, middle, low) = (17, 17 + 1, g, r, b);
    } else if g >= b {
        (first, second, high, middle, low) = (17, 17 + 289, g, b, r);
    } else {
        (first, second, high, middle, low) = (289, 289 + 17, b, g, r);
    }
    let c0 = (*cube.add(corner)).to_array();
    let c1 = (*cube.add(corner + first)).to_array();
    let c2 = (*cube.add(corner + second)).to_array();
    let c3 = (*cube.add(corner + 307)).to_array();
    let mut out = pixel.to_array();
    for k in 0..3 {
        let sum = 127
            + (255 - high) * c0[k] as u32
            + (high - middle) * c1[k] as u32
            + (middle - low) * c2[k] as u32
            + low * c3[k] as u32;
        out[k] = (sum / 255) as u8;
    }
    *to.add(i) = U8x4::new(out[0], out[1], out[2], out[3]);
}

/// A sum over the edges of a polygon.
#[derive(Clone, Copy, Default)]
struct Moments {
    area: i64,
    x: i64,
    y: i64,
}

impl core::ops::Add for Moments {
    type Output = Moments;
    fn add(self, other: Moments) -> Moments {
        Moments {
            area: self.area + other.area,
            x: self.x + other.x,
            y: self.y + other.y,
        }
    }
}

impl core::iter::Sum for Moments {
    fn sum<I: Iterator<Item = Moments>>(all: I) -> Moments {
        all.fold(Moments::default(), |a, b| a + b)
    }
}

/// Twice the area, and six times the first moments, of each polygon with integer coordinates.
#[kernel]
pub fn polygon_moments_safe(
    points: &[[i32; 2]],
    starts: &[u32],
    mut areas: PerThread<i64>,
    mut xs: PerThread<i64>,
    mut ys: PerThread<i64>,
) {
    let index = thread::UniqueIndex::new();
    let (Some(area), Some(x), Some(y)) =
        (areas.get_mut(index), xs.get_mut(index), ys.get_mut(index))
    else {
        return;
    };
    let i = index.get();
    let ring = &points[starts[i] as usize..starts[i + 1] as usize];
    let next = ring.iter().skip(1).chain(ring.first());
    let sums: Moments = ring
        .iter()
        .map(|p| p.map(i64::from))
        .zip(next.map(|q| q.map(i64::from)))
        .map(|([x0, y0], [x1, y1])| {
            let cross = x0 * y1 - x1 * y0;
            Moments {
                area: cross,
                x: (x0 + x1) * cross,
                y: (y0 + y1) * cross,
            }
        })
        .sum();
    (*area, *x, *y) = (sums.area, sums.x, sums.y);
}

/// As [`polygon_moments_safe`], with pointers.
#[kernel]
pub unsafe fn polygon_moments_raw(
    points: *const [i32; 2],
    starts: *const u32,
    areas: *mut i64,
    xs: *mut i64,
    ys: *mut i64,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let first = *starts.add(i);
    let last = *starts.add(i + 1);
    let (mut area, mut x, mut y) = (0i64, 0i64, 0i64);
    for k in first..last {
        let p = *points.add(k as usize);
        let q = *points.add(if k + 1 < last { k + 1 } else { first } as usize);
        let cross = p[0] as i64 * q[1] as i64 - q[0] as i64 * p[1] as i64;
        area += cross;
        x += (p[0] as i64 + q[0] as i64) * cross;
        y += (p[1] as i64 + q[1] as i64) * cross;
    }
    *areas.add(i) = area;
    *xs.add(i) = x;
    *ys.add(i) = y;
}

/// A joint of an arm, by the convention of Denavit and Hartenberg.
struct Joint {
    length: f32,
    offset: f32,
    twist_sine: f32,
    twist_cosine: f32,
}

const fn joint(length: f32, offset: f32, twist_sine: f32, twist_cosine: f32) -> Joint {
    Joint {
        length,
        offset,
        twist_sine,
        twist_cosine,
    }
}

const ARM: [Joint; 6] = [
    joint(0.0, 0.1625, 1.0, 0.0),
    joint(-0.425, 0.0, 0.0, 1.0),
    joint(-0.3922, 0.0, 0.0, 1.0),
    joint(0.0, 0.1333, 1.0, 0.0),
    joint(0.0, 0.0997, -1.0, 0.0),
    joint(0.0, 0.0996, 0.0, 1.0),
];

impl Joint {
    fn transform(&self, angle: f32) -> Matrix<4, 4> {
        let (s, c) = angle.sin_cos();
        let (st, ct) = (self.twist_sine, self.twist_cosine);
        Matrix([
            [c, -s * ct, s * st, self.length * c],
            [s, c * ct, -c * st, self.length * s],
            [0.0, st, ct, self.offset],
            [0.0, 0.0, 0.0, 1.0],
        ])
    }
}

fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

impl Matrix<4, 4> {
    const IDENTITY: Self = Matrix([
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ]);

    fn column(&self, c: usize) -> [f32; 3] {
        [self.0[0][c], self.0[1][c], self.0[2][c]]
    }
}

impl<const N: usize> Matrix<N, N> {
    /// The determinant's absolute value, by elimination with pivots.
    fn volume(mut self) -> f32 {
        let mut volume = 1.0;
        for k in 0..N {
            let pivot = (k..N).fold(k, |best, r| {
                if self.0[r][k].abs() > self.0[best][k].abs() {
                    r
                } else {
                    best
                }
            });
            self.0.swap(k, pivot);
            let top = self.0[k];
            if top[k] == 0.0 {
                return 0.0;
            }
            volume *= top[k].abs();
            for row in &mut self.0[k + 1..] {
                let factor = row[k] / top[k];
                row.iter_mut()
                    .zip(top)
                    .skip(k)
                    .for_each(|(x, t)| *x -= factor * t);
            }
        }
        volume
    }
}

/// The manipulability of an arm with six joints: the determinant of its Jacobian.
#[kernel]
pub fn arm_dexterity_safe(angles: &[[f32; 6]], mut to: PerThread<f32>) {
    to.each_with(angles, |_, to, angles| {
        let mut frames = ARM
            .iter()
            .zip(angles)
            .scan(Matrix::IDENTITY, |frame, (joint, &angle)| {
                let before = *frame;
                *frame = *frame * joint.transform(angle);
                Some((before.column(2), before.column(3), frame.column(3)))
            });
        let frames: [_; 6] = core::array::from_fn(|_| frames.next().unwrap_or_default());
        let [.., (_, _, end)] = frames;
        let jacobian = Matrix(frames.map(|(axis, origin, _)| {
            let arm: [f32; 3] = core::array::from_fn(|k| end[k] - origin[k]);
            let [[a, b, c], [d, e, f]] = [cross(axis, arm), axis];
            [a, b, c, d, e, f]
        }));
        *to = jacobian.volume();
    });
}

/// As [`arm_dexterity_safe`], with pointers.
#[kernel]
pub unsafe fn arm_dexterity_raw(angles: *const [f32; 6], to: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let q = angles.add(i);
    let mut frame = Matrix::<4, 4>::IDENTITY.0;
    let mut axes = [[0.0f32; 3]; 6];
    let mut origins = [[0.0f32; 3]; 6];
    for j in 0..6 {
        for k in 0..3 {
            axes[j][k] = frame[k][2];
            origins[j][k] = frame[k][3];
        }
        let (s, c) = (*q)[j].sin_cos();
        let (st, ct) = (ARM[j].twist_sine, ARM[j].twist_cosine);
        let (a, d) = (ARM[j].length, ARM[j].offset);
        let next = [
            [c, -s * ct, s * st, a * c],
            [s, c * ct, -c * st, a * s],
            [0.0, st, ct, d],
            [0.0, 0.0, 0.0, 1.0],
        ];
        frame = multiply(&frame, &next);
    }
    let mut m = [[0.0f32; 6]; 6];
    for j in 0..6 {
        let arm = [
            frame[0][3] - origins[j][0],
            frame[1][3] - origins[j][1],
            frame[2][3] - origins[j][2],
        ];
        let axis = axes[j];
        m[j][0] = axis[1] * arm[2] - axis[2] * arm[1];
        m[j][1] = axis[2] * arm[0] - axis[0] * arm[2];
        m[j][2] = axis[0] * arm[1] - axis[1] * arm[0];
        m[j][3] = axis[0];
        m[j][4] = axis[1];
        m[j][5] = axis[2];
    }
    let mut volume = 1.0;
    for k in 0..6 {
        let mut pivot = k;
        for r in k + 1..6 {
            if m[r][k].abs() > m[pivot][k].abs() {
                pivot = r;
            }
        }
        let top = m[pivot];
        m[pivot] = m[k];
        if top[k] == 0.0 {
            volume = 0.0;
            break;
        }
        volume *= top[k].abs();
        for r in k + 1..6 {
            let factor = m[r][k] / top[k];
            for c in k..6 {
                m[r][c] -= factor * top[c];
            }
        }
    }
    *to.add(i) = volume;
}

/// Elements of a window.
pub const KENDALL: usize = 24;

/// Kendall's rank correlation of two series in a moving window: concordant pairs minus discordant
/// pairs.
#[kernel]
pub fn kendall_windows_safe(xs: &[f32], ys: &[f32], mut to: PerThread<i32>) {
    to.each(|i, to| {
        let (xs, ys) = (&xs[i..i + KENDALL], &ys[i..i + KENDALL]);
        *to = xs
            .iter()
            .zip(ys)
            .enumerate()
            .flat_map(|(k, (x, y))| {
                let later = xs.iter().zip(ys).skip(k + 1);
                later.map(move |(later_x, later_y)| (later_x - x) * (later_y - y))
            })
            .map(|product| i32::from(product > 0.0) - i32::from(product < 0.0))
            .sum();
    });
}

/// As [`kendall_windows_safe`], with pointers.
#[kernel]
pub unsafe fn kendall_windows_raw(xs: *const f32, ys: *const f32, to: *mut i32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (xs, ys) = (xs.add(i), ys.add(i));
    let mut sum = 0;
    for a in 0..KENDALL {
        let (x, y) = (*xs.add(a), *ys.add(a));
        for b in a + 1..KENDALL {
            let product = (*xs.add(b) - x) * (*ys.add(b) - y);
            sum += (product > 0.0) as i32 - (product < 0.0) as i32;
        }
    }
    *to.add(i) = sum;
}

/// Bytes of a block of text.
pub const BWT: usize = 256;

/// The Burrows-Wheeler transform of each block of text: the last bytes of its sorted rotations.
#[kernel(block_size(256))]
pub fn bwt_blocks_safe(
    #[shared] mut shared: Shared<Array<u8, BWT>>,
    text: &[u8],
    to: &[Atomic<u8, Device>],
) {
    let start = thread::block_index() as usize * BWT;
    shared.own().each(|i, byte| *byte = text[start + i]);
    let block = shared.share();
    let rotation = |i: usize| block[i..].iter().chain(&block[..i]);
    let me = group::block().rank() as usize;
    let rank = (0..BWT)
        .filter(|&other| {
            rotation(other)
                .cmp(rotation(me))
                .then(other.cmp(&me))
                .is_lt()
        })
        .count();
    to[start + rank].store(block[(me + BWT - 1) % BWT], Relaxed);
}

/// As [`bwt_blocks_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn bwt_blocks_raw(text: *const u8, to: *mut u8) {
    let block = shared_array![u8; BWT];
    let me = thread::thread_idx_x() as usize;
    let start = thread::block_idx_x() as usize * BWT;
    *block.add(me) = *text.add(start + me);
    thread::sync_threads();
    let mut rank = 0;
    for other in 0..BWT {
        let mut less = other < me;
        for k in 0..BWT {
            let a = *block.add((other + k) % BWT);
            let b = *block.add((me + k) % BWT);
            if a != b {
                less = a < b;
                break;
            }
        }
        rank += less as usize;
    }
    *to.add(start + rank) = *block.add((me + BWT - 1) % BWT);
}

/// Elements of the sample.
pub const SAMPLE: usize = 512;

/// A permuted congruential generator.
struct Pcg(u64);

impl Pcg {
    fn new(seed: u64) -> Pcg {
        let mut generator = Pcg(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        generator.next();
        generator
    }
}

impl Iterator for Pcg {
    type Item = u32;
    fn next(&mut self) -> Option<u32> {
        let old = self.0;
        self.0 = old
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = ((old >> 18 ^ old) >> 27) as u32;
        Some(mixed.rotate_right((old >> 59) as u32))
    }
}

/// The mean of each resampling of a sample, with replacement.
#[kernel(block_size(256))]
pub fn bootstrap_means_safe(
    #[shared] mut shared: Shared<Array<f32, SAMPLE>>,
    sample: &[f32; SAMPLE],
    draws: u32,
    mut to: PerThread<f32>,
) {
    shared.own().each(|i, x| *x = sample[i]);
    let sample = shared.share();
    for (i, to) in to.own() {
        let sum: f32 = Pcg::new(i as u64 + 1)
            .take(draws as usize)
            .map(|random| sample[random as usize % SAMPLE])
            .sum();
        *to = sum / draws as f32;
    }
}

/// As [`bootstrap_means_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn bootstrap_means_raw(sample: *const f32, draws: u32, to: *mut f32, n: usize) {
    let shared = shared_array![f32; SAMPLE];
    let mut k = thread::thread_idx_x() as usize;
    while k < SAMPLE {
        *shared.add(k) = *sample.add(k);
        k += 256;
    }
    thread::sync_threads();
    let mut i = thread::index_1d() as usize;
    while i < n {
        let mut state = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mut sum = 0.0;
        for _ in 0..draws {
            let old = state;
            state = old
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let mixed = ((old >> 18 ^ old) >> 27) as u32;
            let random = mixed.rotate_right((old >> 59) as u32);
            sum += *shared.add(random as usize % SAMPLE);
        }
        *to.add(i) = sum / draws as f32;
        i += thread::grid_size_1d() as usize;
    }
}

/// A graph whose edges lead to nodes of higher numbers, in rising order.
struct Graph<'a> {
    starts: &'a [u32],
    targets: &'a [u32],
}

impl Graph<'_> {
    fn neighbors(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.targets[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

/// The number of common elements of rising lists.
fn common(mut a: &[u32], mut b: &[u32]) -> u32 {
    use core::cmp::Ordering;
    let mut count = 0;
    while let ([x, rest_a @ ..], [y, rest_b @ ..]) = (a, b) {
        match x.cmp(y) {
            Ordering::Less => a = rest_a,
            Ordering::Greater => b = rest_b,
            Ordering::Equal => {
                count += 1;
                (a, b) = (rest_a, rest_b);
            }
        }
    }
    count
}

/// The number of triangles that each block finds.
#[kernel(block_size(256))]
pub fn triangles_safe(starts: &[u32], sources: &[u32], targets: &[u32], mut to: PerBlock<u32>) {
    let graph = Graph { starts, targets };
    let own: u32 = thread::elements(sources)
        .zip(thread::elements(targets))
        .map(|((_, &u), (_, &v))| common(graph.neighbors(u), graph.neighbors(v)))
        .sum();
    let all = group::block().reduce(own, |a, b| a + b);
    to.each(|_, to| *to = all);
}

/// As [`triangles_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn triangles_raw(
    starts: *const u32,
    sources: *const u32,
    targets: *const u32,
    to: *mut u32,
    edges: usize,
) {
    let sums = shared_array![u32; 8];
    let mut count = 0u32;
    let mut e = thread::index_1d() as usize;
    while e < edges {
        let u = *sources.add(e) as usize;
        let v = *targets.add(e) as usize;
        let mut i = *starts.add(u);
        let i_end = *starts.add(u + 1);
        let mut j = *starts.add(v);
        let j_end = *starts.add(v + 1);
        while i < i_end && j < j_end {
            let x = *targets.add(i as usize);
            let y = *targets.add(j as usize);
            count += (x == y) as u32;
            i += (x <= y) as u32;
            j += (y <= x) as u32;
        }
        e += thread::grid_size_1d() as usize;
    }
    let sum = warp::reduce_add(warp::FULL, count);
    let me = thread::thread_idx_x();
    if me % 32 == 0 {
        *sums.add((me / 32) as usize) = sum;
    }
    thread::sync_threads();
    if me == 0 {
        let mut all = 0;
        for k in 0..8 {
            all += *sums.add(k);
        }
        *to.add(thread::block_idx_x() as usize) = all;
    }
}

/// The ends of the fields of each document, a block for each: commas and line feeds that are not in
/// quotes.
#[kernel(block_size(256))]
pub fn csv_fields_safe(
    text: &[u8],
    starts: &[u32],
    ends: &[Atomic<u32, Device>],
    mut counts: PerBlock<u32>,
) {
    let block = group::block();
    for mut count in counts.pieces() {
        let number = count.start();
        let first = starts[number] as usize;
        let document = &text[first..starts[number + 1] as usize];
        let ends = &ends[first..][..document.len()];
        let mut fields = 0;
        let mut quoted = false;
        for (chunk, at) in document.chunks(256).zip((0..).step_by(256)) {
            let byte = chunk.get(block.rank() as usize).copied();
            let (before, quotes) = block.exclusive_count(byte == Some(b'"'));
            let inside = quoted ^ (before % 2 == 1);
            let is_end = !inside && matches!(byte, Some(b',' | b'\n'));
            let (place, found) = block.exclusive_count(is_end);
            if is_end {
                ends[(fields + place) as usize].store(at + block.rank(), Relaxed);
            }
            quoted ^= quotes % 2 == 1;
            fields += found;
        }
        count.each(|_, to| *to = fields);
    }
}

unsafe fn block_count(predicate: bool, counts: *mut u32, total: &mut u32) -> u32 {
    let votes = warp::ballot(warp::FULL, predicate);
    let me = thread::thread_idx_x() / 32;
    if thread::lane_id() == 0 {
        *counts.add(me as usize) = votes.count_ones();
    }
    thread::sync_threads();
    let mut before = (votes & warp::lanes_below()).count_ones();
    *total = 0;
    for k in 0..8 {
        let count = *counts.add(k);
        if k < me as usize {
            before += count;
        }
        *total += count;
    }
    before
}

/// As [`csv_fields_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn csv_fields_raw(
    text: *const u8,
    starts: *const u32,
    ends: *mut u32,
    counts: *mut u32,
) {
    let shared = shared_array![u32; 16];
    let number = thread::block_idx_x() as usize;
    let first = *starts.add(number) as usize;
    let length = *starts.add(number + 1) as usize - first;
    let mut fields = 0;
    let mut quoted = 0;
    let mut chunk = 0;
    while chunk < length {
        let at = chunk + thread::thread_idx_x() as usize;
        let byte = if at < length {
            *text.add(first + at)
        } else {
            0
        };
        let mut total = 0;
        let before = block_count(byte == b'"', shared, &mut total);
        let inside = (quoted + before) % 2 == 1;
        let is_end = !inside && (byte == b',' || byte == b'\n');
        quoted += total;
        let place = block_count(is_end, shared.add(8), &mut total);
        if is_end {
            *ends.add(first + (fields + place) as usize) = at as u32;
        }
        fields += total;
        chunk += 256;
    }
    if thread::thread_idx_x() == 0 {
        *counts.add(number) = fields;
    }
}

/// A cohort: whether each subject's time ended with the event, by rising times.
struct Cohort<'a> {
    events: &'a [u8],
    weights: &'a [f64],
}

impl Cohort<'_> {
    /// The factor of the survival at a time.
    fn factor(&self, i: usize) -> Option<f64> {
        let (&event, &weight) = (self.events.get(i)?, self.weights.get(i)?);
        let at_risk = (self.events.len() - i) as f64;
        (event != 0).then(|| 1.0 - weight / at_risk)
    }
}

/// The survival curve of each cohort (Kaplan and Meier), a block for each.
#[kernel(block_size(256))]
pub fn kaplan_meier_safe(events: &[u8], weights: &[f64], mut to: PerBlockRow<f64>) {
    let block = group::block();
    let me = block.rank() as usize;
    for mut row in to.rows() {
        let length = row.len();
        let start = row.y() * length;
        let range = start..start + length;
        let cohort = Cohort {
            events: &events[range.clone()],
            weights: &weights[range],
        };
        let mut survival = 1.0;
        let mut own = row.own();
        for chunk in (0..length).step_by(256) {
            let factor = cohort.factor(chunk + me).unwrap_or(1.0);
            let (before, all) = block.exclusive_scan_with_total(factor, 1.0, |a, b| a * b);
            if let Some((_, to)) = own.next() {
                *to = survival * before * factor;
            }
            survival *= all;
        }
    }
}

/// As [`kaplan_meier_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn kaplan_meier_raw(events: *const u8, weights: *const f64, to: *mut f64, length: u32) {
    let products = shared_array![f64; 8];
    let me = thread::thread_idx_x();
    let (lane, warp_id) = (me % 32, (me / 32) as usize);
    let start = thread::block_idx_x() as usize * length as usize;
    let mut survival = 1.0;
    let mut chunk = 0;
    while chunk < length {
        let i = chunk + me;
        let at = start + i as usize;
        let mut factor = 1.0;
        if i < length && *events.add(at) != 0 {
            factor = 1.0 - *weights.add(at) / (length - i) as f64;
        }
        let mut scan = factor;
        let mut distance = 1;
        while distance < 32 {
            let other = warp::shuffle_up(warp::FULL, scan, distance);
            if lane >= distance {
                scan *= other;
            }
            distance *= 2;
        }
        if lane == 31 {
            *products.add(warp_id) = scan;
        }
        thread::sync_threads();
        let mut before = 1.0;
        let mut all = 1.0;
        for k in 0..8 {
            if k < warp_id {
                before *= *products.add(k);
            }
            all *= *products.add(k);
        }
        if i < length {
            *to.add(at) = survival * before * scan;
        }
        survival *= all;
        thread::sync_threads();
        chunk += 256;
    }
}

/// Channels of an image.
pub const CHANNELS: usize = 64;
/// Pixels of a channel.
pub const PLANE: usize = 196;
/// Hidden units of the network.
pub const SQUEEZED: usize = 16;

/// Weights each channel of an image by a small network of the channels' means.
#[kernel(block_size(256))]
pub fn squeeze_excite_safe(
    #[shared] means: Shared<Array<Atomic<f32, Block>, CHANNELS>>,
    #[shared] mut hidden: Shared<Array<f32, SQUEEZED>>,
    #[shared] mut gates: Shared<Array<f32, CHANNELS>>,
    images: &[F16],
    squeeze: &[[f32; CHANNELS]; SQUEEZED],
    excite: &[[f32; SQUEEZED]; CHANNELS],
    mut to: PerBlock<F16, { CHANNELS * PLANE }>,
) {
    let means = means.share();
    let warp = group::warp();
    for mut piece in to.pieces() {
        let image = &images[piece.start()..][..CHANNELS * PLANE];
        let planes = image.chunks_exact(PLANE).enumerate();
        for (channel, plane) in planes
            .skip(warp.number() as usize)
            .step_by(warp.count() as usize)
        {
            let own: f32 = thread::warp_stride(PLANE).map(|i| plane[i].to_f32()).sum();
            let sum = warp.reduce(own, |a, b| a + b);
            if warp.is_first() {
                means[channel].store(sum / PLANE as f32, Relaxed);
            }
        }
        thread::sync_threads();
        hidden.own().each(|i, to| {
            let sum: f32 = squeeze[i]
                .iter()
                .zip(means.iter())
                .map(|(w, x)| w * x.load(Relaxed))
                .sum();
            *to = sum.max(0.0);
        });
        hidden.read(|hidden| {
            gates.own().each(|i, to| {
                let sum: f32 = excite[i].iter().zip(hidden).map(|(w, x)| w * x).sum();
                *to = 1.0 / (1.0 + (-sum).exp());
            });
        });
        gates.read(|gates| {
            let start = piece.start();
            piece.each(|i, to| {
                let i = i - start;
                *to = F16::from_f32(image[i].to_f32() * gates[i / PLANE]);
            });
        });
    }
}

/// As [`squeeze_excite_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn squeeze_excite_raw(
    images: *const F16,
    squeeze: *const f32,
    excite: *const f32,
    to: *mut F16,
) {
    let means = shared_array![f32; CHANNELS];
    let hidden = shared_array![f32; SQUEEZED];
    let gates = shared_array![f32; CHANNELS];
    let me = thread::thread_idx_x() as usize;
    let lane = me % 32;
    let start = thread::block_idx_x() as usize * CHANNELS * PLANE;
    let image = images.add(start);
    let mut channel = me / 32;
    while channel < CHANNELS {
        let mut sum = 0.0;
        let mut i = lane;
        while i < PLANE {
            sum += (*image.add(channel * PLANE + i)).to_f32();
            i += 32;
        }
        let mut distance = 16;
        while distance > 0 {
            sum += warp::shuffle_xor(warp::FULL, sum, distance);
            distance /= 2;
        }
        if lane == 0 {
            *means.add(channel) = sum / PLANE as f32;
        }
        channel += 8;
    }
    thread::sync_threads();
    if me < SQUEEZED {
        let mut sum = 0.0f32;
        for c in 0..CHANNELS {
            sum += *squeeze.add(me * CHANNELS + c) * *means.add(c);
        }
        *hidden.add(me) = sum.max(0.0);
    }
    thread::sync_threads();
    if me < CHANNELS {
        let mut sum = 0.0f32;
        for k in 0..SQUEEZED {
            sum += *excite.add(me * SQUEEZED + k) * *hidden.add(k);
        }
        *gates.add(me) = 1.0 / (1.0 + (-sum).exp());
    }
    thread::sync_threads();
    let mut i = me;
    while i < CHANNELS * PLANE {
        *to.add(start + i) = F16::from_f32((*image.add(i)).to_f32() * *gates.add(i / PLANE));
        i += 256;
    }
}

const TAPS: usize = 32;
const DILATION: usize = 4;
const HALO: usize = (TAPS - 1) * DILATION;

/// A causal dilated convolution of audio with a gate, as in WaveNet.
#[kernel(block_size(256))]
pub fn gated_dilated_safe(
    #[shared] mut shared: Shared<Array<f32, { 256 + HALO }>>,
    audio: &[f32],
    filter: &[f32; TAPS],
    gate: &[f32; TAPS],
    mut to: PerBlock<f32, 256>,
) {
    for mut piece in to.pieces() {
        let start = piece.start();
        shared.own().each(|i, x| {
            *x = (start + i)
                .checked_sub(HALO)
                .and_then(|i| audio.get(i))
                .copied()
                .unwrap_or(0.0);
        });
        shared.read(|audio| {
            piece.each(|i, to| {
                let past = audio[i - start..].iter().step_by(DILATION);
                let (signal, open) = past
                    .zip(filter.iter().zip(gate))
                    .fold((0.0f32, 0.0f32), |(s, g), (x, (f, h))| {
                        (s + f * x, g + h * x)
                    });
                *to = signal.tanh() / (1.0 + (-open).exp());
            });
        });
    }
}

/// As [`gated_dilated_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn gated_dilated_raw(
    audio: *const f32,
    filter: *const f32,
    gate: *const f32,
    to: *mut f32,
    n: usize,
) {
    let shared = shared_array![f32; 256 + HALO];
    let me = thread::thread_idx_x() as usize;
    let start = thread::block_idx_x() as usize * 256;
    let mut i = me;
    while i < 256 + HALO {
        let at = (start + i) as isize - HALO as isize;
        *shared.add(i) = if at >= 0 && (at as usize) < n {
            *audio.add(at as usize)
        } else {
            0.0
        };
        i += 256;
    }
    thread::sync_threads();
    if start + me < n {
        let mut signal = 0.0f32;
        let mut open = 0.0f32;
        for k in 0..TAPS {
            let x = *shared.add(me + k * DILATION);
            signal += *filter.add(k) * x;
            open += *gate.add(k) * x;
        }
        *to.add(start + me) = signal.tanh() / (1.0 + (-open).exp());
    }
}

/// Columns of an image.
pub const SEAM: usize = 256;

/// The cost of the cheapest seam from the top of each image to each column at the bottom, a block
/// for each image.
#[kernel(block_size(256))]
pub fn seam_costs_safe(
    #[shared] mut above: Shared<Array<u32, SEAM>>,
    energies: &[u16],
    height: usize,
    mut to: PerBlock<u32, SEAM>,
) {
    let x = thread::index_in_block() as usize;
    for mut piece in to.pieces() {
        let image = &energies[piece.start() * height..][..SEAM * height];
        let mut cost = 0;
        for row in image.chunks_exact(SEAM) {
            above.own().each(|_, above| *above = cost);
            cost = above.read(|above| {
                let near = &above[x.saturating_sub(1)..=(x + 1).min(SEAM - 1)];
                near.iter().copied().fold(u32::MAX, u32::min) + u32::from(row[x])
            });
        }
        piece.each(|_, to| *to = cost);
    }
}

/// As [`seam_costs_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn seam_costs_raw(energies: *const u16, height: usize, to: *mut u32) {
    let above = shared_array![u32; SEAM];
    let x = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    let image = energies.add(block * SEAM * height);
    let mut cost = 0;
    for y in 0..height {
        *above.add(x) = cost;
        thread::sync_threads();
        if x > 0 {
            cost = cost.min(*above.add(x - 1));
        }
        if x < SEAM - 1 {
            cost = cost.min(*above.add(x + 1));
        }
        cost += *image.add(y * SEAM + x) as u32;
        thread::sync_threads();
    }
    *to.add(block * SEAM + x) = cost;
}

/// A field with the operations that a ladder needs.
trait Field:
    Copy + core::ops::Add<Output = Self> + core::ops::Sub<Output = Self> + core::ops::Mul<Output = Self>
{
    const ONE: Self;
    const ZERO: Self;
    fn square(self) -> Self {
        self * self
    }
    fn inverse(self) -> Self;
}

/// A number modulo the Mersenne prime 2⁶¹ - 1.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mersenne(u64);

const PRIME: u64 = (1 << 61) - 1;

impl Mersenne {
    fn reduced(x: u64) -> Mersenne {
        Mersenne(if x >= PRIME { x - PRIME } else { x })
    }
}

impl core::ops::Add for Mersenne {
    type Output = Mersenne;
    fn add(self, other: Mersenne) -> Mersenne {
        Mersenne::reduced(self.0 + other.0)
    }
}

impl core::ops::Sub for Mersenne {
    type Output = Mersenne;
    fn sub(self, other: Mersenne) -> Mersenne {
        Mersenne::reduced(self.0 + PRIME - other.0)
    }
}

impl core::ops::Mul for Mersenne {
    type Output = Mersenne;
    fn mul(self, other: Mersenne) -> Mersenne {
        let product = u128::from(self.0) * u128::from(other.0);
        Mersenne::reduced((product as u64 & PRIME) + (product >> 61) as u64)
    }
}

impl Field for Mersenne {
    const ONE: Self = Mersenne(1);
    const ZERO: Self = Mersenne(0);
    fn inverse(self) -> Self {
        // The exponent is p - 2.
        (0..61).rev().fold(Self::ONE, |power, bit| {
            let power = power.square();
            if (PRIME - 2) >> bit & 1 == 1 {
                power * self
            } else {
                power
            }
        })
    }
}

/// The coordinate `x` of a multiple of a point on a Montgomery curve.
fn ladder<F: Field>(x: F, scalar: u64, a24: F) -> F {
    let (mut p, mut q) = ((F::ONE, F::ZERO), (x, F::ONE));
    for bit in (0..64).rev().map(|bit| scalar >> bit & 1 == 1) {
        if bit {
            core::mem::swap(&mut p, &mut q);
        }
        let (a, b, c, d) = (p.0 + p.1, p.0 - p.1, q.0 + q.1, q.0 - q.1);
        let (aa, bb) = (a.square(), b.square());
        let (e, da, cb) = (aa - bb, d * a, c * b);
        p = (aa * bb, e * (aa + a24 * e));
        q = ((da + cb).square(), x * (da - cb).square());
        if bit {
            core::mem::swap(&mut p, &mut q);
        }
    }
    p.0 * p.1.inverse()
}

/// Multiples of points on the curve `y² = x³ + 1230 x² + x` modulo 2⁶¹ - 1.
#[kernel]
pub fn curve_ladder_safe(xs: &[u64], scalars: &[u64], mut to: PerThread<u64>) {
    to.each_with((xs, scalars), |_, to, (&x, &scalar)| {
        *to = ladder(Mersenne(x), scalar, Mersenne(307)).0;
    });
}

#[inline(always)]
fn add61(a: u64, b: u64) -> u64 {
    let x = a + b;
    if x >= PRIME { x - PRIME } else { x }
}

#[inline(always)]
fn sub61(a: u64, b: u64) -> u64 {
    let x = a + PRIME - b;
    if x >= PRIME { x - PRIME } else { x }
}

#[inline(always)]
fn mul61(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    add61(product as u64 & PRIME, (product >> 61) as u64)
}

/// As [`curve_ladder_safe`], with pointers.
#[kernel]
pub unsafe fn curve_ladder_raw(xs: *const u64, scalars: *const u64, to: *mut u64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let x = *xs.add(i);
    let scalar = *scalars.add(i);
    let (mut x2, mut z2, mut x3, mut z3) = (1, 0, x, 1);
    let mut bit = 63;
    while bit >= 0 {
        let one = scalar >> bit & 1 == 1;
        if one {
            (x2, x3) = (x3, x2);
            (z2, z3) = (z3, z2);
        }
        let (a, b, c, d) = (add61(x2, z2), sub61(x2, z2), add61(x3, z3), sub61(x3, z3));
        let (aa, bb) = (mul61(a, a), mul61(b, b));
        let (e, da, cb) = (sub61(aa, bb), mul61(d, a), mul61(c, b));
        x2 = mul61(aa, bb);
        z2 = mul61(e, add61(aa, mul61(307, e)));
        let (s, t) = (add61(da, cb), sub61(da, cb));
        x3 = mul61(s, s);
        z3 = mul61(x, mul61(t, t));
        if one {
            (x2, x3) = (x3, x2);
            (z2, z3) = (z3, z2);
        }
        bit -= 1;
    }
    let mut power = 1;
    let mut bit = 60;
    while bit >= 0 {
        power = mul61(power, power);
        if (PRIME - 2) >> bit & 1 == 1 {
            power = mul61(power, z2);
        }
        bit -= 1;
    }
    *to.add(i) = mul61(x2, power);
}

/// A hash table of groups of 16 slots, with a byte of control for each slot: 0x80 if it is empty,
/// otherwise 7 bits of the hash.
struct Table<'a> {
    control: &'a [u8],
    keys: &'a [u64],
    values: &'a [u32],
}

fn mix(key: u64) -> u64 {
    let x = (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^ x >> 29
}

impl Table<'_> {
    /// Looks a key up with 16 lanes.
    fn get(&self, key: u64, lanes: group::Tile<16>) -> Option<u32> {
        let hash = mix(key);
        let tag = (hash & 0x7f) as u8;
        let groups = self.control.len() / 16;
        let mut at = (hash >> 7) as usize & (groups - 1);
        loop {
            let slot = at * 16 + lanes.rank() as usize;
            let control = self.control[slot];
            let found = control == tag && self.keys[slot] == key;
            match lanes.ballot(found) {
                0 => {}
                votes => {
                    let slot = at * 16 + votes.trailing_zeros() as usize;
                    return Some(self.values[slot]);
                }
            }
            if lanes.any(control == 0x80) {
                return None;
            }
            at = (at + 1) & (groups - 1);
        }
    }
}

/// The values of keys in a hash table, or `u32::MAX`: 16 lanes for each key.
#[kernel(block_size(256))]
pub fn swiss_lookup_safe(
    control: &[u8],
    keys: &[u64],
    values: &[u32],
    queries: &[u64],
    to: &[Atomic<u32, Device>],
) {
    let table = Table {
        control,
        keys,
        values,
    };
    let lanes = group::tile::<16>();
    let number = thread::index() as usize / 16;
    let Some(&key) = queries.get(number) else {
        return;
    };
    let value = table.get(key, lanes).unwrap_or(u32::MAX);
    if lanes.is_first() {
        to[number].store(value, Relaxed);
    }
}

/// As [`swiss_lookup_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn swiss_lookup_raw(
    control: *const u8,
    keys: *const u64,
    values: *const u32,
    groups: u32,
    queries: *const u64,
    to: *mut u32,
    n: usize,
) {
    let number = thread::index_1d() as usize / 16;
    if number >= n {
        return;
    }
    let lane = thread::lane_id() % 16;
    let shift = thread::lane_id() & 16;
    let mask = 0xffff << shift;
    let key = *queries.add(number);
    let hash = mix(key);
    let tag = (hash & 0x7f) as u8;
    let mut at = (hash >> 7) as u32 & (groups - 1);
    let mut value = u32::MAX;
    loop {
        let slot = (at * 16 + lane) as usize;
        let c = *control.add(slot);
        let found = c == tag && *keys.add(slot) == key;
        let votes = warp::ballot(mask, found) >> shift;
        if votes != 0 {
            value = *values.add((at * 16 + votes.trailing_zeros()) as usize);
            break;
        }
        if warp::any(mask, c == 0x80) {
            break;
        }
        at = (at + 1) & (groups - 1);
    }
    if lane == 0 {
        *to.add(number) = value;
    }
}

/// Persons and objects of an assignment problem.
pub const PERSONS: usize = 64;

/// Assigns objects to persons by an auction, a block for each problem: all persons without an object
/// bid for the one that is worth most to them, and the highest bid gets it.
#[kernel(block_size(64))]
pub fn auction_safe(
    #[shared] mut prices: Shared<Array<Atomic<u32, Block>, PERSONS>>,
    #[shared] mut owners: Shared<Array<Atomic<u32, Block>, PERSONS>>,
    #[shared] mut bids: Shared<Array<Atomic<u32, Block>, PERSONS>>,
    benefits: &[u16],
    step: u32,
    mut to: PerBlock<u32, PERSONS>,
) {
    let me = thread::index_in_block();
    prices.own().each(|_, x| *x.get_mut() = 0);
    owners.own().each(|_, x| *x.get_mut() = u32::MAX);
    bids.own().each(|_, x| *x.get_mut() = 0);
    let (prices, owners, bids) = (prices.share(), owners.share(), bids.share());
    let mut piece = to.pieces().next();
    let start = piece.as_ref().map_or(0, |piece| piece.start());
    // A row for each object.
    let benefits = &benefits[start * PERSONS..][..PERSONS * PERSONS];
    let mut object = None;
    loop {
        let wanted = object.unwrap_or_else(|| {
            let worth = |j: usize| {
                i32::from(benefits[j * PERSONS + me as usize]) - prices[j].load(Relaxed) as i32
            };
            let (mut best, mut first, mut second) = (0, i32::MIN, i32::MIN);
            for j in 0..PERSONS {
                let worth = worth(j);
                if worth > first {
                    (best, first, second) = (j, worth, first);
                } else {
                    second = second.max(worth);
                }
            }
            let bid = prices[best].load(Relaxed) + (first - second) as u32 + step;
            bids[best].fetch_max(bid << 6 | me, Relaxed);
            best
        });
        thread::sync_threads();
        let mine = me as usize;
        match bids[mine].load(Relaxed) {
            0 => {}
            bid => {
                prices[mine].store(bid >> 6, Relaxed);
                owners[mine].store(bid % PERSONS as u32, Relaxed);
                bids[mine].store(0, Relaxed);
            }
        }
        thread::sync_threads();
        object = (owners[wanted].load(Relaxed) == me).then_some(wanted);
        if thread::sync_threads_and(u32::from(object.is_some())) != 0 {
            break;
        }
    }
    if let (Some(piece), Some(object)) = (&mut piece, object) {
        piece.each(|_, to| *to = object as u32);
    }
}

/// As [`auction_safe`], with pointers.
#[kernel(block_size(64))]
pub unsafe fn auction_raw(benefits: *const u16, step: u32, to: *mut u32) {
    let prices = shared_array![u32; PERSONS];
    let owners = shared_array![u32; PERSONS];
    let bids = shared_array![u32; PERSONS];
    let me = thread::thread_idx_x();
    let mine = me as usize;
    let start = thread::block_idx_x() as usize * PERSONS;
    let benefits = benefits.add(start * PERSONS);
    *prices.add(mine) = 0;
    *owners.add(mine) = u32::MAX;
    *bids.add(mine) = 0;
    thread::sync_threads();
    let mut object = 0;
    let mut assigned = false;
    loop {
        if !assigned {
            let (mut first, mut second) = (i32::MIN, i32::MIN);
            for j in 0..PERSONS {
                let worth = *benefits.add(j * PERSONS + mine) as i32 - *prices.add(j) as i32;
                if worth > first {
                    second = first;
                    first = worth;
                    object = j;
                } else {
                    second = second.max(worth);
                }
            }
            let bid = *prices.add(object) + (first - second) as u32 + step;
            Atomic::<u32, Block>::from_ptr(bids.add(object)).fetch_max(bid << 6 | me, Relaxed);
        }
        thread::sync_threads();
        let bid = *bids.add(mine);
        if bid != 0 {
            *prices.add(mine) = bid >> 6;
            *owners.add(mine) = bid % 64;
            *bids.add(mine) = 0;
        }
        thread::sync_threads();
        assigned = *owners.add(object) == me;
        if thread::sync_threads_and(assigned as u32) != 0 {
            break;
        }
    }
    *to.add(start + mine) = object as u32;
}

/// A step in the traversal of a tree, children first.
#[derive(Clone, Copy)]
enum Visit {
    Leaf { sequence: usize },
    Join,
}

impl From<u32> for Visit {
    fn from(code: u32) -> Visit {
        match code {
            u32::MAX => Visit::Join,
            sequence => Visit::Leaf {
                sequence: sequence as usize,
            },
        }
    }
}

type States = Matrix<4, 1>;

#[derive(Clone, Copy)]
struct Stack<T, const N: usize> {
    items: [T; N],
    len: usize,
}

impl<T: Copy, const N: usize> Stack<T, N> {
    fn new(filler: T) -> Self {
        Stack {
            items: [filler; N],
            len: 0,
        }
    }

    fn push(&mut self, item: T) {
        self.items[self.len] = item;
        self.len += 1;
    }

    fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        self.items.get(self.len).copied()
    }
}

/// The likelihoods of the states at the root, or `None` if the traversal is not one of a tree.
fn root_states(
    visits: &[u32],
    matrices: &[[[f32; 4]; 4]],
    letter: impl Fn(usize) -> u8,
) -> Option<States> {
    let mut stack = Stack::<States, 8>::new(Matrix([[1.0]; 4]));
    for (&visit, &matrix) in visits.iter().zip(matrices) {
        let states = match Visit::from(visit) {
            Visit::Leaf { sequence } => match letter(sequence) {
                known @ 0..4 => {
                    let mut states = [[0.0]; 4];
                    states[usize::from(known)] = [1.0];
                    Matrix(states)
                }
                _ => Matrix([[1.0]; 4]),
            },
            Visit::Join => {
                let (a, b) = (stack.pop()?, stack.pop()?);
                Matrix(core::array::from_fn(|k| [a.0[k][0] * b.0[k][0]]))
            }
        };
        stack.push(Matrix(matrix) * states);
    }
    stack.pop()
}

/// The logarithm of the likelihood of each site of aligned sequences on a tree, with several rates
/// (Felsenstein's pruning).
#[kernel]
pub fn felsenstein_safe(
    visits: &[u32],
    matrices: &[[[f32; 4]; 4]],
    letters: &[u8],
    mut to: PerThread<f32>,
) {
    let sites = to.len();
    to.each(|site, to| {
        let rates = matrices.chunks_exact(visits.len());
        let count = rates.len() as f32;
        let likelihood: f32 = rates
            .filter_map(|matrices| {
                root_states(visits, matrices, |sequence| {
                    letters[sequence * sites + site]
                })
            })
            .map(|states| states.0.iter().flatten().sum::<f32>() * 0.25)
            .sum();
        *to = (likelihood / count).ln();
    });
}

/// As [`felsenstein_safe`], with pointers.
#[kernel]
pub unsafe fn felsenstein_raw(
    visits: *const u32,
    count: usize,
    matrices: *const [[f32; 4]; 4],
    rates: usize,
    letters: *const u8,
    to: *mut f32,
    sites: usize,
) {
    let site = thread::index_1d() as usize;
    if site >= sites {
        return;
    }
    let mut likelihood = 0.0f32;
    for rate in 0..rates {
        let mut stack = [[1.0f32; 4]; 8];
        let mut len = 0;
        for k in 0..count {
            let visit = *visits.add(k);
            let m = &*matrices.add(rate * count + k);
            let mut states = [1.0f32; 4];
            if visit == u32::MAX {
                len -= 2;
                for s in 0..4 {
                    states[s] = stack[len][s] * stack[len + 1][s];
                }
            } else {
                let letter = *letters.add(visit as usize * sites + site);
                if letter < 4 {
                    for s in 0..4 {
                        states[s] = (s == letter as usize) as u32 as f32;
                    }
                }
            }
            for s in 0..4 {
                let mut sum = 0.0;
                for t in 0..4 {
                    sum += m[s][t] * states[t];
                }
                stack[len][s] = sum;
            }
            len += 1;
        }
        likelihood += (stack[0][0] + stack[0][1] + stack[0][2] + stack[0][3]) * 0.25;
    }
    *to.add(site) = (likelihood / rates as f32).ln();
}

/// The difference of the distances to the nearest and the second nearest site, for each pixel.
#[kernel(block_size(16, 16))]
pub fn worley_tiles_safe(
    #[shared] mut shared: Shared<Array<[f32; 2], 256>>,
    sites: &[[f32; 2]],
    mut to: PerTile<f32, 16, 16>,
) {
    for mut tile in to.tiles() {
        let x = (tile.x() + thread::thread_idx_x() as usize) as f32;
        let y = (tile.y() + thread::thread_idx_y() as usize) as f32;
        let mut nearest = [f32::INFINITY; 2];
        for chunk in sites.chunks(256) {
            shared.own().each(|i, site| {
                if let Some(&from) = chunk.get(i) {
                    *site = from;
                }
            });
            shared.read(|sites| {
                for &[sx, sy] in &sites[..chunk.len()] {
                    let distance = (sx - x) * (sx - x) + (sy - y) * (sy - y);
                    let [first, second] = nearest;
                    nearest = [first.min(distance), second.min(first.max(distance))];
                }
            });
        }
        let [first, second] = nearest.map(f32::sqrt);
        tile.each(|_, to| *to = second - first);
    }
}

/// As [`worley_tiles_safe`], with pointers.
#[kernel(block_size(16, 16))]
pub unsafe fn worley_tiles_raw(
    sites: *const [f32; 2],
    count: u32,
    to: *mut f32,
    width: u32,
    height: u32,
) {
    let shared = shared_array![[f32; 2]; 256];
    let at = thread::index_2d();
    let (x, y) = (at.x as f32, at.y as f32);
    let me = thread::thread_idx_y() * 16 + thread::thread_idx_x();
    let (mut first, mut second) = (f32::INFINITY, f32::INFINITY);
    let mut start = 0;
    while start < count {
        if start + me < count {
            *shared.add(me as usize) = *sites.add((start + me) as usize);
        }
        thread::sync_threads();
        for k in 0..(count - start).min(256) {
            let site = *shared.add(k as usize);
            let (dx, dy) = (site[0] - x, site[1] - y);
            let distance = dx * dx + dy * dy;
            second = second.min(first.max(distance));
            first = first.min(distance);
        }
        thread::sync_threads();
        start += 256;
    }
    if at.x < width && at.y < height {
        *to.add((at.y * width + at.x) as usize) = second.sqrt() - first.sqrt();
    }
}

/// The length of the shortest way through each maze of 32 by 32 cells, from corner to corner, or
/// `u32::MAX`: a warp for each maze, which floods it.
#[kernel(block_size(256))]
pub fn maze_flood_safe(rows: &[u32], mut to: PerWarp<u32>) {
    let warp = group::warp();
    for mut piece in to.pieces() {
        let maze = &rows[piece.start() * 32..][..32];
        let open = maze[warp.rank() as usize];
        let mut reached = if warp.is_first() { open & 1 } else { 0 };
        let mut steps = 0;
        let way = loop {
            if warp.shuffle(reached, 31) >> 31 == 1 {
                break Some(steps);
            }
            let rows = [warp.shuffle_up(reached, 1), warp.shuffle_down(reached, 1)];
            let near = rows
                .into_iter()
                .fold(reached | reached << 1 | reached >> 1, |a, b| a | b);
            let next = near & open;
            if !warp.any(next != reached) {
                break None;
            }
            reached = next;
            steps += 1;
        };
        piece.each(|_, to| *to = way.unwrap_or(u32::MAX));
    }
}

/// As [`maze_flood_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn maze_flood_raw(rows: *const u32, to: *mut u32, n: usize) {
    let maze = thread::index_1d() as usize / 32;
    if maze >= n {
        return;
    }
    let lane = thread::lane_id();
    let open = *rows.add(maze * 32 + lane as usize);
    let mut reached = if lane == 0 { open & 1 } else { 0 };
    let mut steps = 0;
    while warp::shuffle(warp::FULL, reached, 31) >> 31 == 0 {
        let above = warp::shuffle_up(warp::FULL, reached, 1);
        let below = warp::shuffle_down(warp::FULL, reached, 1);
        let next = (reached | reached << 1 | reached >> 1 | above | below) & open;
        if !warp::any(warp::FULL, next != reached) {
            steps = u32::MAX;
            break;
        }
        reached = next;
        steps += 1;
    }
    if lane == 0 {
        *to.add(maze) = steps;
    }
}

/// Bits of a stream, the highest of each byte first.
struct Bits<'a> {
    bytes: &'a [u8],
    buffer: u32,
    count: u32,
}

impl Bits<'_> {
    /// The next nine bits; zeros follow the last byte.
    fn peek(&mut self) -> usize {
        while self.count < 9 {
            let byte = match self.bytes.split_first() {
                Some((&byte, rest)) => {
                    self.bytes = rest;
                    byte
                }
                None => 0,
            };
            self.buffer = self.buffer << 8 | u32::from(byte);
            self.count += 8;
        }
        (self.buffer >> (self.count - 9)) as usize & 511
    }
}

/// A decoder with a table of symbols and code lengths, by the next nine bits.
struct Decoder<'a> {
    bits: Bits<'a>,
    table: &'a [[u8; 2]; 512],
}

impl Iterator for Decoder<'_> {
    type Item = u8;
    fn next(&mut self) -> Option<u8> {
        let [symbol, length] = self.table[self.bits.peek()];
        self.bits.count -= u32::from(length);
        Some(symbol)
    }
}

/// Decodes streams of Huffman codes.
#[kernel]
pub fn huffman_streams_safe(
    bytes: &[u8],
    starts: &[u32],
    table: &[[u8; 2]; 512],
    mut to: PerRow<u8>,
) {
    for (i, row) in to.own() {
        let [start, end] = [starts[i], starts[i + 1]].map(|at| at as usize);
        let bits = Bits {
            bytes: &bytes[start..end],
            buffer: 0,
            count: 0,
        };
        for (to, symbol) in row.iter_mut().zip(Decoder { bits, table }) {
            *to = symbol;
        }
    }
}

/// As [`huffman_streams_safe`], with pointers.
#[kernel]
pub unsafe fn huffman_streams_raw(
    bytes: *const u8,
    starts: *const u32,
    table: *const [u8; 2],
    to: *mut u8,
    width: u32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut at = *starts.add(i);
    let end = *starts.add(i + 1);
    let row = to.add(i * width as usize);
    let (mut buffer, mut count) = (0u32, 0u32);
    for k in 0..width {
        while count < 9 {
            let mut byte = 0;
            if at < end {
                byte = *bytes.add(at as usize);
                at += 1;
            }
            buffer = buffer << 8 | byte as u32;
            count += 8;
        }
        let code = *table.add((buffer >> (count - 9)) as usize & 511);
        count -= code[1] as u32;
        *row.add(k as usize) = code[0];
    }
}

#[derive(Clone, Copy)]
struct Vec2 {
    x: f32,
    y: f32,
}

impl core::ops::Sub for Vec2 {
    type Output = Vec2;
    fn sub(self, other: Vec2) -> Vec2 {
        Vec2 {
            x: self.x - other.x,
            y: self.y - other.y,
        }
    }
}

impl Vec2 {
    fn dot(self, other: Vec2) -> f32 {
        self.x * other.x + self.y * other.y
    }
}

/// A convex polygon.
struct Polygon<const N: usize>([Vec2; N]);

impl<const N: usize> Polygon<N> {
    fn normals(&self) -> impl Iterator<Item = Vec2> {
        (0..N).map(|k| {
            let edge = self.0[(k + 1) % N] - self.0[k];
            let length = edge.dot(edge).sqrt();
            Vec2 {
                x: edge.y / length,
                y: -edge.x / length,
            }
        })
    }

    fn shadow(&self, axis: Vec2) -> (f32, f32) {
        self.0
            .iter()
            .map(|corner| corner.dot(axis))
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), x| {
                (low.min(x), high.max(x))
            })
    }

    /// How deep polygons overlap, by the theorem of the separating axis.
    fn overlap<const M: usize>(&self, other: &Polygon<M>) -> Option<f32> {
        self.normals()
            .chain(other.normals())
            .try_fold(f32::INFINITY, |least, axis| {
                let ((a, b), (c, d)) = (self.shadow(axis), other.shadow(axis));
                let depth = b.min(d) - a.max(c);
                (depth > 0.0).then(|| least.min(depth))
            })
    }
}

/// The depth of the overlap of pairs of hexagons, or 0.
#[kernel]
pub fn sat_overlap_safe(a: &[[[f32; 2]; 6]], b: &[[[f32; 2]; 6]], mut to: PerThread<f32>) {
    to.each_with((a, b), |_, to, (a, b)| {
        let [a, b] = [a, b].map(|corners| Polygon(corners.map(|[x, y]| Vec2 { x, y })));
        *to = a.overlap(&b).unwrap_or(0.0);
    });
}

/// As [`sat_overlap_safe`], with pointers.
#[kernel]
pub unsafe fn sat_overlap_raw(
    a: *const [[f32; 2]; 6],
    b: *const [[f32; 2]; 6],
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let both = [*a.add(i), *b.add(i)];
    let mut least = f32::INFINITY;
    'axes: for which in 0..2 {
        for k in 0..6 {
            let (p, q) = (both[which][k], both[which][(k + 1) % 6]);
            let (ex, ey) = (q[0] - p[0], q[1] - p[1]);
            let length = (ex * ex + ey * ey).sqrt();
            let (nx, ny) = (ey / length, -ex / length);
            let mut low = [f32::INFINITY; 2];
            let mut high = [f32::NEG_INFINITY; 2];
            for polygon in 0..2 {
                for c in 0..6 {
                    let x = both[polygon][c][0] * nx + both[polygon][c][1] * ny;
                    low[polygon] = low[polygon].min(x);
                    high[polygon] = high[polygon].max(x);
                }
            }
            let depth = high[0].min(high[1]) - low[0].max(low[1]);
            if !(depth > 0.0) {
                least = 0.0;
                break 'axes;
            }
            least = least.min(depth);
        }
    }
    *to.add(i) = least;
}
