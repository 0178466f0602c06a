//! Copies, barriers and clusters.

use crate::{Needs, Session, alone, compare, trial};
use cust::memory::{DeviceBuffer, DevicePointer};
use cust::tensor_map::{Im2colTensor, L2Promotion, Swizzle, TensorElement, TensorMap, TiledTensor};
use libtest_mimic::{Failed, Trial};
use tensor_tests_kernels::transfers::{CLUSTER_WORDS, MAP, THREADS};
use tensor_tests_kernels::values::hash;

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial(Needs::Sm75, "copy_async before 8.0", |session| {
            copy_async(session, Needs::Sm75)
        }),
        trial(Needs::Sm90a, "copy_async", |session| {
            copy_async(session, Needs::Sm90a)
        }),
        trial(Needs::Sm90a, "copy_filled", copy_filled),
        trial(Needs::Sm90a, "mbarrier_rounds", mbarrier_rounds),
        trial(Needs::Sm90a, "bulk", bulk),
    ];
    for kernel in clusters() {
        for each in [None, Some(1), Some(2), Some(4)] {
            // These are for launches with clusters alone, on the emulator as well.
            if ["cluster_stores", "cluster_copies"].contains(&kernel.0) && each.is_none() {
                continue;
            }
            let size = each.map_or("no".into(), |each| each.to_string());
            trials.push(alone(
                Needs::Sm90a,
                format!("{}, {size} blocks", kernel.0),
                move |session| cluster(session, kernel, each),
            ));
        }
    }
    trials.push(alone(
        Needs::Sm90a,
        "tensor map as a parameter",
        tensor_of_parameter,
    ));
    for (name, tensor) in tensors() {
        trials.push(alone(
            Needs::Sm90a,
            format!("tensor {name}"),
            move |session| tensor.check(session),
        ));
    }
    for (name, images) in images() {
        trials.push(alone(
            Needs::Sm90a,
            format!("pixels, {name}"),
            move |session| images.check(session),
        ));
    }
    trials
}

fn words(seed: u32, count: usize) -> Vec<u32> {
    (0..count).map(|i| hash(seed, i, 0)).collect()
}

fn copy_async(session: &Session, needs: Needs) -> Result<(), Failed> {
    let input = words(1, 7 * THREADS);
    let found = session.run(needs, "copy_async", (1, 128, 0), &input, 7 * THREADS)?;
    let mut expected: Vec<u32> = input[..128].iter().map(|x| x.wrapping_mul(3)).collect();
    for pair in input[128..384].chunks(2) {
        let x = (u64::from(pair[0]) | u64::from(pair[1]) << 32).wrapping_mul(3);
        expected.extend([x as u32, (x >> 32) as u32]);
    }
    for quad in input[384..].chunks(4) {
        let x = quad
            .iter()
            .rev()
            .fold(0u128, |x, &word| x << 32 | u128::from(word));
        let x = x.wrapping_mul(3);
        expected.extend([0, 32, 64, 96].map(|shift| (x >> shift) as u32));
    }
    compare(&found, &expected)
}

fn copy_filled(session: &Session) -> Result<(), Failed> {
    let input = words(2, 4 * THREADS);
    let found = session.run(
        Needs::Sm90a,
        "copy_filled",
        (1, 128, 0),
        &input,
        8 * THREADS,
    )?;
    let mut expected = Vec::new();
    for thread in 0..THREADS {
        let other = (thread + 5) % THREADS;
        let whole = &input[4 * other..][..4];
        let mut bytes: Vec<u8> = whole.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes[other % 17..].fill(0);
        expected.extend(
            bytes
                .chunks(4)
                .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])),
        );
        expected.extend(whole);
    }
    compare(&found, &expected)
}

fn mbarrier_rounds(session: &Session) -> Result<(), Failed> {
    let input: Vec<u32> = words(3, THREADS).iter().map(|x| x >> 4).collect();
    let found = session.run(
        Needs::Sm90a,
        "mbarrier_rounds",
        (1, 128, 0),
        &input,
        8 * THREADS,
    )?;
    let mut expected = Vec::new();
    for thread in 0..THREADS {
        let other = input[(thread + 32) % THREADS];
        expected.extend((0..6).map(|round| other + round));
        expected.extend([1, 1]);
    }
    compare(&found, &expected)
}

fn bulk(session: &Session) -> Result<(), Failed> {
    let input: Vec<u32> = words(4, 512).iter().map(|x| x >> 3).collect();
    let found = session.run(Needs::Sm90a, "bulk", (1, 128, 0), &input, 512)?;
    let tile: Vec<u32> = input.iter().map(|x| x * 3).collect();
    let mut expected = tile.clone();
    for i in 0..128 {
        expected[256 + i] = expected[256 + i].wrapping_add(tile[i]);
        expected[i] = (expected[i] as i32).max(tile[128 + i] as i32) as u32;
    }
    compare(&found, &expected)
}

/// The output of a block of a cluster, by its rank, the previous rank and the cluster's size.
type BlockWords = fn(u32, u32, u32, u32) -> [u32; CLUSTER_WORDS];

/// A launch of eight blocks in clusters of this size.
type ClusterLaunch = fn(&Session, u32) -> Result<Vec<u32>, Failed>;

const CLUSTER_BLOCKS: u32 = 8;
const CLUSTER_SIZE: usize = CLUSTER_WORDS * CLUSTER_BLOCKS as usize;

/// The input of the kernels with clusters.
pub const CLUSTER_INPUT: [u32; CLUSTER_WORDS] = [3, 10, 50, 1000];

/// The kernels of clusters.
fn clusters() -> Vec<(&'static str, ClusterLaunch, BlockWords)> {
    macro_rules! clusters {
        ($($name:ident: $words:expr,)*) => {
            vec![$((
                stringify!($name),
                |session, each| {
                    let shape = (CLUSTER_BLOCKS, 32);
                    // SAFETY: an output for as many blocks, and the input.
                    let arguments = |input, output| unsafe {
                        tensor_tests_kernels::transfers::$name::args(input, output)
                    };
                    session.run_clusters(shape, each, arguments, CLUSTER_SIZE)
                },
                $words,
            ),)*]
        };
    }
    clusters! {
        cluster_numbers: |rank, next, _, each| [rank, each, 100 + rank, next + 1],
        cluster_pointers: |_, next, before, _| [100 + next, 50 + before, 0, 0],
        cluster_accesses: |rank, next, before, _| [100 + next, 50 + before, next, rank],
        cluster_arrivals: |_, _, _, _| [1, 0, 0, 0],
        cluster_stores: |_, _, before, _| [7 + before, 0, 0, 0],
        cluster_multicast: |rank, _, _, _| CLUSTER_INPUT.map(|word| word + rank),
        cluster_copies: |_, _, before, _| [0, 1, 2, 3].map(|i| 10 * before + i),
    }
}

/// A launch with clusters of this size, or without clusters.
fn cluster(
    session: &Session,
    (kernel, launch, words): (&str, ClusterLaunch, BlockWords),
    each: Option<u32>,
) -> Result<(), Failed> {
    let found = match each {
        None => session.run(
            Needs::Sm90a,
            kernel,
            (CLUSTER_BLOCKS, 32, 0),
            &CLUSTER_INPUT,
            CLUSTER_SIZE,
        )?,
        Some(each) => launch(session, each)?,
    };
    let each = each.unwrap_or(1);
    let expected: Vec<u32> = (0..CLUSTER_BLOCKS)
        .map(|block| block % each)
        .flat_map(|rank| {
            let (next, before) = ((rank + 1) % each, (rank + each - 1) % each);
            words(rank, next, before, each)
        })
        .collect();
    compare(&found, &expected)
}

fn tensor_of_parameter(session: &Session) -> Result<(), Failed> {
    let data = words(7, 64 * 8);
    let memory = DeviceBuffer::from_slice(&data)?;
    let tensor = TiledTensor {
        sizes: &[64, 8],
        strides: &[256],
        box_sizes: &[32, 8],
        element_strides: &[1, 1],
        ..TiledTensor::default()
    };
    // SAFETY: the memory has that many elements, and lives as long as the launch.
    let map = unsafe { TensorMap::tiled(memory.as_device_ptr(), &tensor) }?;
    let map = cuda_std::copy::TensorMap::from_words(map.to_words());
    let shape = (1, THREADS as u32);
    // SAFETY: such a map, and an output of a box.
    let arguments = |_, output| unsafe {
        tensor_tests_kernels::transfers::tensor_of_parameter::args(map, output)
    };
    let found = session.run_clusters(shape, 1, arguments, 256)?;
    let rows = data.chunks(64);
    let expected: Vec<u32> = rows.flat_map(|row| &row[..32]).copied().collect();
    compare(&found, &expected)
}

/// A tensor, a box of it, and where that goes from and to.
#[derive(Clone)]
struct Tensor {
    sizes: Vec<u64>,
    sides: Vec<u32>,
    steps: Vec<u32>,
    at: [i32; 5],
    to: [i32; 5],
    swizzle: Swizzle,
    add: bool,
}

fn tensors() -> Vec<(&'static str, Tensor)> {
    let plain = |sizes: &[u64], sides: &[u32], at: [i32; 5], to: [i32; 5]| Tensor {
        sizes: sizes.to_vec(),
        sides: sides.to_vec(),
        steps: vec![1; sizes.len()],
        at,
        to,
        swizzle: Swizzle::None,
        add: false,
    };
    let two = plain(&[64, 40], &[32, 16], [8, 3, 0, 0, 0], [28, 20, 0, 0, 0]);
    vec![
        (
            "1d",
            plain(&[256], &[64], [100, 0, 0, 0, 0], [4, 0, 0, 0, 0]),
        ),
        ("2d", two.clone()),
        (
            "2d from before",
            plain(&[64, 40], &[32, 16], [-8, 30, 0, 0, 0], [28, 20, 0, 0, 0]),
        ),
        (
            "2d from above",
            plain(&[64, 40], &[32, 16], [8, -3, 0, 0, 0], [28, 20, 0, 0, 0]),
        ),
        (
            "2d to beyond",
            plain(&[64, 40], &[32, 16], [8, 3, 0, 0, 0], [52, 31, 0, 0, 0]),
        ),
        (
            "2d to below",
            plain(&[64, 40], &[32, 16], [8, 3, 0, 0, 0], [28, 31, 0, 0, 0]),
        ),
        (
            "2d added",
            Tensor {
                add: true,
                ..two.clone()
            },
        ),
        (
            "2d swizzled 128",
            Tensor {
                swizzle: Swizzle::Bytes128,
                ..two.clone()
            },
        ),
        (
            "2d swizzled 64",
            Tensor {
                swizzle: Swizzle::Bytes64,
                sides: vec![16, 16],
                ..two.clone()
            },
        ),
        (
            "2d swizzled 32",
            Tensor {
                swizzle: Swizzle::Bytes32,
                sides: vec![8, 16],
                ..two.clone()
            },
        ),
        (
            "2d every second row",
            Tensor {
                steps: vec![1, 2],
                ..two
            },
        ),
        (
            "3d",
            plain(&[32, 8, 6], &[16, 4, 3], [4, 2, 1, 0, 0], [16, 5, 4, 0, 0]),
        ),
        (
            "4d",
            plain(
                &[16, 4, 3, 5],
                &[8, 2, 2, 3],
                [4, 1, 1, 1, 0],
                [0, 3, 2, 4, 0],
            ),
        ),
        (
            "5d",
            plain(
                &[8, 3, 4, 2, 3],
                &[4, 2, 2, 1, 2],
                [4, 1, 1, 1, 1],
                [0, 0, 3, 0, 2],
            ),
        ),
    ]
}

impl Tensor {
    /// The places of a box's elements in the tensor, in the order of shared memory.
    fn places(&self, at: [i32; 5]) -> Vec<Option<usize>> {
        let rank = self.sizes.len();
        let counts: Vec<usize> = (0..rank)
            .map(|d| (self.sides[d] as usize).div_ceil(self.steps[d] as usize))
            .collect();
        (0..counts.iter().product())
            .map(|linear: usize| {
                let (mut rest, mut place, mut stride) = (linear, 0, 1);
                for d in 0..rank {
                    let index =
                        (rest % counts[d]) as i64 * i64::from(self.steps[d]) + i64::from(at[d]);
                    rest /= counts[d];
                    if index < 0 || index as u64 >= self.sizes[d] {
                        return None;
                    }
                    place += index as usize * stride;
                    stride *= self.sizes[d] as usize;
                }
                Some(place)
            })
            .collect()
    }

    /// Where a word of a box lies in shared memory.
    fn swizzled(&self, word: usize) -> usize {
        let mask = match self.swizzle {
            Swizzle::None => 0,
            Swizzle::Bytes32 => 1,
            Swizzle::Bytes64 => 3,
            Swizzle::Bytes128 => 7,
        };
        let byte = word * 4;
        (byte ^ (byte >> 7 & mask) << 4) / 4
    }

    fn map<T: TensorElement>(&self, memory: DevicePointer<T>) -> Result<TensorMap, Failed> {
        let mut strides = Vec::new();
        let mut stride = 4;
        for size in &self.sizes[..self.sizes.len() - 1] {
            stride *= size;
            strides.push(stride);
        }
        let tensor = TiledTensor {
            sizes: &self.sizes,
            strides: &strides,
            box_sizes: &self.sides,
            element_strides: &self.steps,
            swizzle: self.swizzle,
            l2_promotion: L2Promotion::Bytes128,
            ..TiledTensor::default()
        };
        // SAFETY: the memory has that many elements, and lives as long as the launch.
        Ok(unsafe { TensorMap::tiled(memory, &tensor) }?)
    }

    fn check(&self, session: &Session) -> Result<(), Failed> {
        let count = self.sizes.iter().product::<u64>() as usize;
        let data = words(5, count);
        let memory = DeviceBuffer::from_slice(&data)?;
        let map = self.map(memory.as_device_ptr())?;
        // SAFETY: a map is 128 bytes.
        let map: [u32; MAP] = unsafe { std::mem::transmute(map) };
        let (from, to) = (self.places(self.at), self.places(self.to));
        let mut input = map.to_vec();
        input.extend(self.at.map(|x| x as u32));
        input.extend(self.to.map(|x| x as u32));
        input.extend([self.sizes.len() as u32, from.len() as u32, self.add.into()]);
        let shape = (1, THREADS as u32, 0);
        let found = session.run(Needs::Sm90a, "tensor", shape, &input, from.len())?;
        let values: Vec<u32> = from
            .iter()
            .map(|place| place.map_or(0, |place| data[place]))
            .collect();
        let mut expected = vec![0; values.len()];
        for (word, &value) in values.iter().enumerate() {
            expected[self.swizzled(word)] = value;
        }
        compare(&found, &expected)?;
        let mut after = data;
        for (value, place) in values.iter().zip(to) {
            if let Some(place) = place {
                after[place] = if self.add {
                    after[place].wrapping_add(*value)
                } else {
                    *value
                };
            }
        }
        compare(&memory.as_host_vec()?, &after)
    }
}

/// Images, and which of their pixels go from where to where.
struct Images {
    sizes: &'static [u64],
    lower: &'static [i32],
    upper: &'static [i32],
    steps: &'static [u32],
    channels: u32,
    pixels: u32,
    at: [i32; 5],
    to: [i32; 5],
    offsets: [u16; 3],
}

fn images() -> Vec<(&'static str, Images)> {
    vec![
        (
            "a line of each image, the whole filter's width around it",
            Images {
                sizes: &[8, 10, 3],
                lower: &[-1],
                upper: &[-1],
                steps: &[1; 3],
                channels: 8,
                pixels: 16,
                at: [0, -1, 0, 0, 0],
                to: [0, 2, 1, 0, 0],
                offsets: [2, 0, 0],
            },
        ),
        (
            "pictures, into the next one",
            Images {
                sizes: &[16, 7, 5, 4],
                lower: &[-1, -1],
                upper: &[-1, -1],
                steps: &[1; 4],
                channels: 8,
                pixels: 50,
                at: [4, 3, 1, 0, 0],
                to: [8, 0, 0, 2, 0],
                offsets: [1, 2, 0],
            },
        ),
        (
            "every second pixel",
            Images {
                sizes: &[4, 9, 8, 2],
                lower: &[0, 0],
                upper: &[0, 0],
                steps: &[1, 2, 2, 1],
                channels: 4,
                pixels: 24,
                at: [0, 0, 2, 0, 0],
                to: [0, 0, 0, 1, 0],
                offsets: [0, 0, 0],
            },
        ),
        (
            "volumes",
            Images {
                sizes: &[4, 5, 4, 3, 3],
                lower: &[-1, 0, -1],
                upper: &[-1, 0, -1],
                steps: &[1; 5],
                channels: 4,
                pixels: 64,
                at: [0, 2, 1, -1, 0],
                to: [0, 0, 0, 0, 1],
                offsets: [1, 0, 2],
            },
        ),
    ]
}

impl Images {
    /// The places of the elements in the tensor, in the order of shared memory.
    fn places(
        &self,
        corners: [&[i32]; 2],
        start: [i32; 5],
        offsets: [u16; 3],
    ) -> Vec<Option<usize>> {
        let [lower, upper] = corners;
        let space = self.sizes.len() - 2;
        let mut pixel = start.map(i64::from);
        let mut places = Vec::new();
        for _ in 0..self.pixels {
            for channel in 0..i64::from(self.channels) {
                let mut at = pixel;
                at[0] += channel;
                for d in 0..space {
                    at[1 + d] += i64::from(offsets[d]);
                }
                let (mut place, mut stride) = (Some(0), 1);
                for (&size, index) in self.sizes.iter().zip(at) {
                    let inside = (0..size as i64).contains(&index);
                    place = place
                        .filter(|_| inside)
                        .map(|p| p + index as usize * stride);
                    stride *= size as usize;
                }
                places.push(place);
            }
            // As an odometer: in each dimension of space from the lower bound to the upper one.
            let mut d = 0;
            while d < space {
                pixel[1 + d] += i64::from(self.steps[1 + d]);
                if pixel[1 + d] < self.sizes[1 + d] as i64 + i64::from(upper[d]) {
                    break;
                }
                pixel[1 + d] = lower[d].into();
                d += 1;
            }
            if d == space {
                pixel[1 + space] += 1;
            }
        }
        places
    }

    fn check(&self, session: &Session) -> Result<(), Failed> {
        let data = words(9, self.sizes.iter().product::<u64>() as usize);
        let memory = DeviceBuffer::from_slice(&data)?;
        let strides: Vec<u64> = (1..self.sizes.len())
            .map(|d| 4 * self.sizes[..d].iter().product::<u64>())
            .collect();
        // Copies out must not have corners outside of the image.
        let nothing = &[0; 3][..self.lower.len()];
        let (corners_in, corners_out) = ([self.lower, self.upper], [nothing, nothing]);
        let mut input = Vec::new();
        for [lower_corner, upper_corner] in [corners_in, corners_out] {
            let tensor = Im2colTensor {
                sizes: self.sizes,
                strides: &strides,
                lower_corner,
                upper_corner,
                channels: self.channels,
                pixels: self.pixels,
                element_strides: self.steps,
                ..Im2colTensor::default()
            };
            // SAFETY: the memory has that many elements, and lives as long as the launch.
            let map = unsafe { TensorMap::im2col(memory.as_device_ptr(), &tensor) }?;
            // SAFETY: a map is 128 bytes.
            input.extend(unsafe { std::mem::transmute::<TensorMap, [u32; MAP]>(map) });
        }
        let (from, to) = (
            self.places(corners_in, self.at, self.offsets),
            self.places(corners_out, self.to, [0; 3]),
        );
        input.extend(self.at.map(|x| x as u32));
        input.extend(self.to.map(|x| x as u32));
        input.extend([self.sizes.len() as u32, from.len() as u32]);
        input.extend(self.offsets.map(u32::from));
        let shape = (1, THREADS as u32, 0);
        let found = session.run(Needs::Sm90a, "pixels", shape, &input, from.len())?;
        let value = |place: &Option<usize>| place.map_or(0, |place| data[place]);
        let values: Vec<u32> = from.iter().map(value).collect();
        compare(&found, &values)?;
        let mut after = data.clone();
        for (value, place) in values.iter().zip(to) {
            if let Some(place) = place {
                after[place] = *value;
            }
        }
        compare(&memory.as_host_vec()?, &after)
    }
}
