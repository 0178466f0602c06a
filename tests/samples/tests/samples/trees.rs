use crate::{Outcome, close, floats, hash, integers, start};
use cuda_std::half::Bf16;
use cuda_std::minifloat::E4m3;
use cust::prelude::*;
use samples_kernels::trees::*;

/// Bits of two coordinates in turn.
fn code([x, y]: [f32; 2]) -> u32 {
    let spread = |x: f32| {
        (0..16).fold(0, |code, bit| {
            code | ((x * 65536.0) as u32 >> bit & 1) << (2 * bit)
        })
    };
    spread(x) | spread(y) << 1
}

#[test]
fn tree_of_boxes() -> Outcome {
    let (module, stream) = start();
    let mut points: Vec<[f32; 2]> = floats(600).chunks(2).map(|p| [p[0], p[1]]).collect();
    // Some are at the same place.
    points.extend([[0.25, 0.75]; 5]);
    points.sort_by_key(|&point| code(point));
    let codes: Vec<u32> = points.iter().map(|&point| code(point)).collect();
    let n = points.len();
    let mut nodes = vec![Node::default(); n - 1].as_dbuf()?;
    let mut parents = DeviceBuffer::<u32>::zeroed(2 * n - 1)?;
    module.launch(
        &stream,
        (5, 64),
        tree_build::args(&codes.as_dbuf()?, &mut nodes, &mut parents),
    )?;
    let device = points.as_dbuf()?;
    let mut visits = DeviceBuffer::<u32>::zeroed(n - 1)?;
    let mut boxes = DeviceBuffer::<[f32; 4]>::zeroed(2 * n - 1)?;
    module.launch(
        &stream,
        (5, 64),
        tree_boxes::args(&device, &nodes, &parents, &mut visits, &mut boxes),
    )?;
    let least = |axis: usize| points.iter().map(|p| p[axis]).fold(1.0, f32::min);
    let most = |axis: usize| points.iter().map(|p| p[axis]).fold(0.0, f32::max);
    assert_eq!(
        boxes.as_host_vec()?[0],
        [least(0), least(1), most(0), most(1)]
    );
    let places: Vec<[f32; 2]> = floats(1100)[1000..]
        .chunks(2)
        .map(|p| [p[0], p[1]])
        .collect();
    let mut counts = DeviceBuffer::<u32>::zeroed(places.len())?;
    module.launch(
        &stream,
        (1, 64),
        tree_count::args(0.2, &places.as_dbuf()?, &nodes, &boxes, &mut counts),
    )?;
    for (place, found) in places.iter().zip(counts.as_host_vec()?) {
        // Rounding may put a point in or out that is on the circle.
        let within = |distance: f32| {
            let near = |p: &&[f32; 2]| (p[0] - place[0]).hypot(p[1] - place[1]) <= distance;
            points.iter().filter(near).count() as u32
        };
        assert!((within(0.19999)..=within(0.20001)).contains(&found));
    }
    Ok(())
}

#[test]
fn lists_on_the_heap() -> Outcome {
    let (module, stream) = start();
    let from = integers(300, 1000);
    let device = from.as_dbuf()?;
    // Freed memory can be allocated again.
    for _ in 0..2 {
        module.launch(&stream, (2, 64), list_push::args(&device))?;
        let mut to = DeviceBuffer::<[u32; 2]>::zeroed(32)?;
        module.launch(&stream, (1, 32), list_take::args(&mut to))?;
        let sums = to.as_host_vec()?;
        let total = sums.iter().fold([0, 0], |a, b| [a[0] + b[0], a[1] + b[1]]);
        assert_eq!(total, [300, from.iter().sum()]);
    }
    Ok(())
}

#[test]
fn life_in_words() -> Outcome {
    let (module, stream) = start();
    const WORDS: usize = 3;
    const WIDTH: usize = WORDS * 32;
    const HEIGHT: usize = 20;
    let words: Vec<u32> = (0..WORDS * HEIGHT).map(hash).collect();
    let mut to = DeviceBuffer::<u32>::zeroed(words.len())?;
    module.launch(
        &stream,
        ((1, 3), (4, 8)),
        life_bits::args(&words.as_dbuf()?, to.rows_mut(WORDS)),
    )?;
    let alive = |words: &[u32], x: usize, y: usize| {
        let (x, y) = (x % WIDTH, y % HEIGHT);
        words[y * WORDS + x / 32] >> (x % 32) & 1
    };
    let found = to.as_host_vec()?;
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let sum: u32 = (0..9)
                .map(|i| alive(&words, x + WIDTH + i % 3 - 1, y + HEIGHT + i / 3 - 1))
                .sum();
            let own = alive(&words, x, y);
            let expected = u32::from(sum == 3 || (own == 1 && sum == 4));
            assert_eq!(alive(&found, x, y), expected, "({x}, {y})");
        }
    }
    Ok(())
}

#[test]
fn permuted_bytes_and_products_of_them() -> Outcome {
    let (module, stream) = start();
    let from: Vec<u32> = (0..70).map(hash).collect();
    let device = from.as_dbuf()?;
    let mut to = DeviceBuffer::<[u32; 2]>::zeroed(from.len())?;
    module.launch(&stream, (3, 32), swap_bytes::args(&device, &mut to))?;
    for (i, found) in to.as_host_vec()?.into_iter().enumerate() {
        let (x, y) = (from[i].to_le_bytes(), from[(i + 1) % 70].to_le_bytes());
        let even = u32::from_le_bytes([x[0], x[2], y[0], y[2]]);
        assert_eq!(found, [from[i].swap_bytes(), even]);
    }

    let weights: [i8; 8] = [3, -7, 100, -128, 127, 0, -1, 55];
    let words = weights.map(|x| x as u8);
    let words = [0, 4].map(|i| u32::from_le_bytes(words[i..i + 4].try_into().unwrap_or_default()));
    let mut to = DeviceBuffer::<i32>::zeroed(from.len())?;
    module.launch(&stream, (3, 32), fir::args(&device, words, &mut to))?;
    let samples: Vec<i16> = from
        .iter()
        .flat_map(|&x| [x as i16, (x >> 16) as i16])
        .collect();
    let expected: Vec<i32> = (0..from.len())
        .map(|i| {
            let taps = samples[2 * i..].iter().zip(weights);
            taps.map(|(&x, w)| i32::from(x) * i32::from(w)).sum()
        })
        .collect();
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn points_of_halton() -> Outcome {
    let (module, stream) = start();
    let mut to = DeviceBuffer::<[f32; 3]>::zeroed(300)?;
    module.launch(&stream, (3, 64), halton::args(&mut to))?;
    let expected: Vec<[f32; 3]> = (0..300)
        .map(|i| {
            [2, 3, 5].map(|base| {
                let (mut i, mut digit, mut sum) = (i, 1.0, 0.0);
                while i > 0 {
                    digit /= f64::from(base);
                    sum += digit * f64::from(i % base);
                    i /= base;
                }
                sum as f32
            })
        })
        .collect();
    close(
        to.as_host_vec()?.as_flattened(),
        expected.as_flattened(),
        1e-6,
    );
    Ok(())
}

#[test]
fn bounds_of_roots() -> Outcome {
    let (module, stream) = start();
    let from: Vec<[f64; 4]> = floats(40)
        .iter()
        .map(|&x| {
            [
                f64::from(x) * 9.0 + 0.1,
                f64::from(x) * 10.0 + 0.2,
                0.0,
                0.0,
            ]
        })
        .collect();
    let mut to = from.as_dbuf()?;
    module.launch(&stream, (1, 64), roots::args(&mut to))?;
    for ([low, high, ..], [a, b, c, d]) in from.into_iter().zip(to.as_host_vec()?) {
        let (x, y) = (low.sqrt(), high.sqrt());
        assert!(a <= x && y <= b, "{x} {y}: {a} {b}");
        assert!(c <= x && y <= d && x <= c.next_up() && d.next_down() <= y);
    }
    Ok(())
}

#[test]
fn queens_on_a_board() -> Outcome {
    let (module, stream) = start();
    for (n, expected) in [(6, 4), (8, 92)] {
        let mut count = DeviceBox::new(&0u32)?;
        module.launch(&stream, (2, 32), queens::args(n, &mut count))?;
        assert_eq!(count.as_host_value()?, expected);
    }
    Ok(())
}

#[test]
fn quantized_rows() -> Outcome {
    let (module, stream) = start();
    let from: Vec<Bf16> = floats(3 * 96)
        .iter()
        .enumerate()
        .map(|(i, x)| Bf16::from_f32((x - 0.5) * (1 + i / 96 * 50) as f32))
        .collect();
    let mut to = DeviceBuffer::<E4m3>::zeroed(from.len())?;
    let mut scales = DeviceBuffer::<f32>::zeroed(3)?;
    module.launch(
        &stream,
        (3, 64),
        quantize::args(&from.as_dbuf()?, &mut to, &mut scales),
    )?;
    let (found, scales) = (to.as_host_vec()?, scales.as_host_vec()?);
    for (row, from) in from.chunks(96).enumerate() {
        let largest = from.iter().map(|x| x.to_f32().abs()).fold(0.0, f32::max);
        assert_eq!(scales[row], largest / 448.0);
        for (x, found) in from.iter().zip(&found[row * 96..]) {
            let expected = E4m3::from_f32(x.to_f32() * (448.0 / largest));
            assert_eq!(found.to_bits(), expected.to_bits());
        }
    }
    Ok(())
}

#[test]
fn layer_of_bytes() -> Outcome {
    let (module, stream) = start();
    const N: usize = 32;
    let bytes = |offset: usize| -> Vec<i8> { (0..N * N).map(|i| hash(i + offset) as i8).collect() };
    let (a, b) = (bytes(0), bytes(5000));
    let bias: Vec<i32> = (0..N).map(|i| hash(i) as i32 >> 14).collect();
    let mut to = DeviceBuffer::<u8>::zeroed(N * N)?;
    let (device_a, device_b, device_bias) = (a.as_dbuf()?, b.as_dbuf()?, bias.as_dbuf()?);
    // SAFETY: square matrices with such sides.
    let args =
        unsafe { layer_bytes::args(N as u32, &device_a, &device_b, &device_bias, 9, &mut to) };
    module.launch(&stream, ((2, 2), 32), args)?;
    let expected: Vec<u8> = (0..N * N)
        .map(|i| {
            let (y, x) = (i / N, i % N);
            let product = |k: usize| i32::from(a[y * N + k]) * i32::from(b[x * N + k]);
            let sum: i32 = (0..N).map(product).sum();
            ((sum + bias[x]) >> 9).clamp(0, 255) as u8
        })
        .collect();
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}
