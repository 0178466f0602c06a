use crate::{Outcome, close, floats, hash, integers, start};
use cust::memory::{Array, ArrayFlags, MipmappedArray};
use cust::prelude::*;
use cust::texture::{AddressMode, FilterMode, MipmappedTexture, Surface, Texture, TextureConfig};
use num_complex::Complex;
use samples_kernels::images::*;
use std::sync::Arc;

const WIDTH: usize = 40;
const HEIGHT: usize = 24;
const BLOCKS: (u32, u32) = (3, 3);
const THREADS: (u32, u32) = (16, 8);

/// The pixel of a picture at a position; outside, the nearest edge pixel.
fn clamped<T: Copy>(picture: &[T], x: i64, y: i64) -> T {
    let (x, y) = (x.clamp(0, WIDTH as i64 - 1), y.clamp(0, HEIGHT as i64 - 1));
    picture[y as usize * WIDTH + x as usize]
}

/// A picture with the value of a function at each position.
fn picture<T>(f: impl Fn(i64, i64) -> T) -> Vec<T> {
    (0..WIDTH * HEIGHT)
        .map(|i| f((i % WIDTH) as i64, (i / WIDTH) as i64))
        .collect()
}

#[test]
fn mandelbrot_and_julia() -> Outcome {
    let (module, stream) = start();
    let view = View {
        corner: Complex::new(-2.0, -1.2),
        pixel: 0.1,
    };
    let mut steps = DeviceBuffer::<u32>::zeroed(WIDTH * HEIGHT)?;
    module.launch(
        &stream,
        (BLOCKS, THREADS),
        mandelbrot::args(view, steps.rows_mut(WIDTH)),
    )?;
    let place = |x: i64, y: i64| view.place(x as usize, y as usize);
    // Rounding may count a step more or less at the edge.
    let same = |found: Vec<u32>, expected: Vec<u32>| {
        let differ = found.iter().zip(&expected).filter(|(a, b)| a != b).count();
        assert!(differ <= 5, "{differ} pixels differ");
    };
    same(
        steps.as_host_vec()?,
        picture(|x, y| escape(Complex::ZERO, place(x, y))),
    );
    let c = Complex::new(-0.8, 0.156);
    module.launch(
        &stream,
        (BLOCKS, THREADS),
        julia::args(view, c, steps.rows_mut(WIDTH)),
    )?;
    same(steps.as_host_vec()?, picture(|x, y| escape(place(x, y), c)));
    Ok(())
}

#[test]
fn sobel_filter() -> Outcome {
    let (module, stream) = start();
    let from: Vec<u8> = integers(WIDTH * HEIGHT, 256)
        .iter()
        .map(|&x| x as u8)
        .collect();
    let array = Arc::new(Array::from_slice(
        &from,
        (WIDTH, HEIGHT),
        ArrayFlags::empty(),
    )?);
    let config = TextureConfig {
        address_modes: [AddressMode::Clamp; 3],
        read_as_integer: true,
        ..TextureConfig::default()
    };
    let texture = Texture::new(array, &config)?;
    let mut to = DeviceBuffer::<u8>::zeroed(from.len())?;
    module.launch(
        &stream,
        (BLOCKS, THREADS),
        sobel::args(&texture, to.rows_mut(WIDTH)),
    )?;
    let expected = picture(|x, y| {
        let at = |dx, dy| i32::from(clamped(&from, x + dx, y + dy));
        let h = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
        let v = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
        (h.abs() + v.abs()).min(255) as u8
    });
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn box_and_bilateral_filters() -> Outcome {
    let (module, stream) = start();
    let from = floats(WIDTH * HEIGHT);
    let array = Arc::new(Array::from_slice(
        &from,
        (WIDTH, HEIGHT),
        ArrayFlags::empty(),
    )?);
    let texture = Texture::new(array, &TextureConfig::default())?;
    let mut to = DeviceBuffer::<f32>::zeroed(from.len())?;
    module.launch(
        &stream,
        (BLOCKS, THREADS),
        box_filter::args(&texture, 2, to.rows_mut(WIDTH)),
    )?;
    let near = || (-2..=2).flat_map(|dy| (-2..=2).map(move |dx| (dx, dy)));
    let expected = picture(|x, y| {
        near()
            .map(|(dx, dy)| clamped(&from, x + dx, y + dy))
            .sum::<f32>()
            / 25.0
    });
    close(&to.as_host_vec()?, &expected, 1e-5);

    let args = bilateral::args(&texture, 1.5, 0.2, to.rows_mut(WIDTH));
    module.launch(&stream, (BLOCKS, THREADS), args)?;
    let expected = picture(|x, y| {
        let center = clamped(&from, x, y);
        let (mut sum, mut weights) = (0.0, 0.0);
        for (dx, dy) in near() {
            let value = clamped(&from, x + dx, y + dy);
            let far = (dx * dx + dy * dy) as f32 / (2.0 * 1.5 * 1.5);
            let weight = (-far - (value - center).powi(2) / (2.0 * 0.2 * 0.2)).exp();
            sum += weight * value;
            weights += weight;
        }
        sum / weights
    });
    close(&to.as_host_vec()?, &expected, 1e-4);
    Ok(())
}

#[test]
fn surface_writes() -> Outcome {
    let (module, stream) = start();
    let array = Arc::new(Array::<f32>::new(
        (WIDTH, HEIGHT),
        ArrayFlags::SURFACE_LDST,
    )?);
    let surface = Surface::new(Arc::clone(&array))?;
    module.launch(&stream, (BLOCKS, THREADS), write_surface::args(&surface))?;
    stream.synchronize()?;
    assert_eq!(array.as_host_vec()?, picture(|x, y| (x * 100 + y) as f32));
    Ok(())
}

#[test]
fn dilation() -> Outcome {
    let (module, stream) = start();
    let from: Vec<u8> = integers(WIDTH * HEIGHT, 256)
        .iter()
        .map(|&x| x as u8)
        .collect();
    let mut to = DeviceBuffer::<u8>::zeroed(from.len())?;
    module.launch(
        &stream,
        (BLOCKS, THREADS),
        dilate::args(&from.as_dbuf()?, to.rows_mut(WIDTH)),
    )?;
    let near = || (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy)));
    let expected = picture(|x, y| {
        near()
            .map(|(dx, dy)| clamped(&from, x + dx, y + dy))
            .max()
            .unwrap_or(0)
    });
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn volume_texture() -> Outcome {
    let (module, stream) = start();
    const SIDE: usize = 8;
    let from = floats(SIDE * SIDE * SIDE);
    let array = Arc::new(Array::from_slice(
        &from,
        (SIDE, SIDE, SIDE),
        ArrayFlags::empty(),
    )?);
    let config = TextureConfig {
        normalized_coordinates: true,
        filter: FilterMode::Linear,
        ..TextureConfig::default()
    };
    let texture = Texture::new(array, &config)?;
    let mut to = DeviceBuffer::<f32>::zeroed(WIDTH * HEIGHT)?;
    module.launch(
        &stream,
        (BLOCKS, THREADS),
        slice_volume::args(&texture, 0.4, to.rows_mut(WIDTH)),
    )?;
    let expected = picture(|x, y| {
        let place = [
            (x as f32 + 0.5) / WIDTH as f32,
            (y as f32 + 0.5) / HEIGHT as f32,
            0.4,
        ];
        let place = place.map(|p| p * SIDE as f32 - 0.5);
        let mut sum = 0.0;
        for corner in 0..8 {
            let mut weight = 1.0;
            let mut at = [0; 3];
            for (k, p) in place.into_iter().enumerate() {
                let upper = corner >> k & 1;
                // The hardware's fractions have eight bits.
                let fraction = ((p - p.floor()) * 256.0).round() / 256.0;
                weight *= if upper == 1 { fraction } else { 1.0 - fraction };
                at[k] = (p.floor() as i64 + upper).clamp(0, SIDE as i64 - 1) as usize;
            }
            sum += weight * from[(at[2] * SIDE + at[1]) * SIDE + at[0]];
        }
        sum
    });
    close(&to.as_host_vec()?, &expected, 0.01);
    Ok(())
}

#[test]
fn stereo_disparity() -> Outcome {
    let (module, stream) = start();
    let right: Vec<u32> = (0..WIDTH * HEIGHT).map(crate::hash).collect();
    // Each row of the left picture is the right one's, moved by the row's number modulo 8.
    let left = picture(|x, y| {
        if x + y % 8 < WIDTH as i64 {
            right[(y * WIDTH as i64 + x + y % 8) as usize]
        } else {
            0
        }
    });
    let mut to = DeviceBuffer::<u32>::zeroed(left.len())?;
    let (left, right) = (left.as_dbuf()?, right.as_dbuf()?);
    module.launch(
        &stream,
        (BLOCKS, THREADS),
        stereo::args(&left, &right, to.rows_mut(WIDTH)),
    )?;
    let inner = |(i, _): &(usize, u32)| (1..WIDTH - 9).contains(&(i % WIDTH));
    for (i, found) in to.as_host_vec()?.into_iter().enumerate().filter(inner) {
        assert_eq!(found as usize, i / WIDTH % 8, "pixel {i}");
    }
    Ok(())
}

#[test]
fn game_of_life() -> Outcome {
    let (module, stream) = start();
    let mut expected: Vec<u8> = integers(WIDTH * HEIGHT, 3)
        .iter()
        .map(|&x| u8::from(x == 0))
        .collect();
    let (mut a, mut b) = (
        expected.as_dbuf()?,
        DeviceBuffer::<u8>::zeroed(expected.len())?,
    );
    for _ in 0..3 {
        module.launch(
            &stream,
            (BLOCKS, THREADS),
            life::args(&a, b.rows_mut(WIDTH)),
        )?;
        std::mem::swap(&mut a, &mut b);
        let from = expected.clone();
        expected = picture(|x, y| {
            let near = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy)));
            let at = |(dx, dy): (i64, i64)| {
                let (x, y) = (
                    (x + dx).rem_euclid(WIDTH as i64),
                    (y + dy).rem_euclid(HEIGHT as i64),
                );
                u32::from(from[y as usize * WIDTH + x as usize])
            };
            let alive: u32 = near.map(at).sum();
            u8::from(alive == 3 || (at((0, 0)) == 1 && alive == 4))
        });
    }
    assert_eq!(a.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn pyramid_of_pictures() -> Outcome {
    let (module, stream) = start();
    const SIDE: usize = 32;
    let first = floats(SIDE * SIDE);
    let mut array = MipmappedArray::<f32>::new((SIDE, SIDE), 6, ArrayFlags::SURFACE_LDST)?;
    let mut level = array.level_mut(0).ok_or("nobody else has it")?;
    level.copy_from(&first)?;
    let filters = TextureConfig {
        filter: FilterMode::Linear,
        address_modes: [AddressMode::Clamp; 3],
        ..TextureConfig::default()
    };
    let mut levels = vec![first];
    for number in 1..6 {
        let side = SIDE >> number;
        let [from, to] = [number - 1, number].map(|number| array.level(number).map(Arc::clone));
        let texture = Texture::new(from.ok_or("a level")?, &filters)?;
        let surface = Surface::new(to.ok_or("a level")?)?;
        module.launch(
            &stream,
            ((2, 2), (8, 8)),
            next_level::args(&texture, &surface),
        )?;
        stream.synchronize()?;
        let before = &levels[number - 1];
        let expected: Vec<f32> = (0..side * side)
            .map(|i| {
                let at = 4 * (i / side) * side + 2 * (i % side);
                let four = [at, at + 1, at + 2 * side, at + 2 * side + 1];
                four.map(|at| before[at]).iter().sum::<f32>() / 4.0
            })
            .collect();
        close(&surface.array().as_host_vec()?, &expected, 1e-4);
        levels.push(expected);
    }

    // The first level is all there is to see, unless more is asked for.
    for (range, mipmap_filter) in [
        ([0.0, 5.0], FilterMode::Linear),
        ([0.0, 5.0], FilterMode::Nearest),
        ([1.0, 3.5], FilterMode::Linear),
        ([0.0; 2], FilterMode::Linear),
    ] {
        let config = TextureConfig {
            normalized_coordinates: true,
            mipmap_levels: range,
            mipmap_filter,
            ..filters
        };
        let mipmap = Arc::new(array);
        let texture = MipmappedTexture::new(Arc::clone(&mipmap), &config)?;
        for level in [-1.0f32, 0.0, 0.75, 2.0, 3.25, 4.875, 9.0] {
            // The center of a texel of each mip level is between four texels of the previous level.
            let mut to = DeviceBuffer::<[f32; 2]>::zeroed(4)?;
            module.launch(
                &stream,
                (1, (2, 2)),
                between_levels::args(&texture, level, to.rows_mut(2)),
            )?;
            let near = level.clamp(range[0], range[1]);
            let near = match mipmap_filter {
                FilterMode::Linear => near,
                FilterMode::Nearest => near.round(),
            };
            let of_level = |number: usize, x: f32, y: f32| {
                let side = SIDE >> number;
                let at = |x: f32, y: f32| {
                    let place = |x: f32| x.clamp(0.0, side as f32 - 1.0) as usize;
                    levels[number][place(y) * side + place(x)]
                };
                let (x, y) = (x * side as f32 - 0.5, y * side as f32 - 0.5);
                let (x0, y0) = (x.floor(), y.floor());
                let row = |y| at(x0, y) * (1.0 - x + x0) + at(x0 + 1.0, y) * (x - x0);
                row(y0) * (1.0 - y + y0) + row(y0 + 1.0) * (y - y0)
            };
            let below = near.floor();
            for (i, found) in to.as_host_vec()?.into_iter().enumerate() {
                let (x, y) = ((i % 2) as f32 / 2.0 + 0.25, (i / 2) as f32 / 2.0 + 0.25);
                let expected = of_level(below as usize, x, y) * (1.0 - near + below)
                    + of_level((below as usize + 1).min(5), x, y) * (near - below);
                // Weights have eight bits, and gradients are measured roughly.
                close(&found[..1], &[expected], 0.01);
                close(&found[1..], &[expected], 0.02);
            }
        }
        drop(texture);
        array = Arc::into_inner(mipmap).ok_or("the texture had it")?;
    }
    Ok(())
}

#[test]
fn layers_of_a_picture() -> Outcome {
    let (module, stream) = start();
    const SIZE: (usize, usize, usize) = (10, 6, 3);
    let from: Vec<u32> = (0..SIZE.0 * SIZE.1 * SIZE.2)
        .map(|i| hash(i) & 0x7fff_7fff)
        .collect();
    let back: Vec<[u16; 2]> = (0..from.len()).map(|i| [i as u16, 7]).collect();
    let array = Arc::new(Array::from_slice(&from, SIZE, ArrayFlags::LAYERED)?);
    let config = TextureConfig {
        read_as_integer: true,
        ..TextureConfig::default()
    };
    let texture = Texture::new(array, &config)?;
    let flags = ArrayFlags::LAYERED | ArrayFlags::SURFACE_LDST;
    let array = Arc::new(Array::from_slice(&back, SIZE, flags)?);
    let surface = Surface::new(Arc::clone(&array))?;
    module.launch(
        &stream,
        ((2, 1, 3), (8, 8)),
        turn_layers::args(&texture, &surface),
    )?;
    stream.synchronize()?;
    let layer = SIZE.0 * SIZE.1;
    let expected: Vec<[u16; 2]> = (0..from.len())
        .map(|i| {
            let x = from[(SIZE.2 - 1 - i / layer) * layer + i % layer];
            [x as u16 + back[i][0], (x >> 16) as u16 + back[i][1]]
        })
        .collect();
    assert_eq!(array.as_host_vec()?, expected);

    // One layer is a list, too, and one row a picture.
    let array = Array::from_slice(&[1u32, 2, 3, 4], (2, 2, 1), ArrayFlags::LAYERED)?;
    let texture = Texture::new(Arc::new(array), &config)?;
    let array = Arc::new(Array::from_slice(&[[0u16; 2]; 4], (2, 2, 1), flags)?);
    let surface = Surface::new(Arc::clone(&array))?;
    module.launch(&stream, (1, (2, 2)), turn_layers::args(&texture, &surface))?;
    stream.synchronize()?;
    assert_eq!(array.as_host_vec()?, [[1, 0], [2, 0], [3, 0], [4, 0]]);
    let array = Arc::new(Array::<f32>::new((5, 1), ArrayFlags::SURFACE_LDST)?);
    let surface = Surface::new(Arc::clone(&array))?;
    module.launch(&stream, (1, (8, 8)), write_surface::args(&surface))?;
    stream.synchronize()?;
    assert_eq!(array.as_host_vec()?, [0.0, 100.0, 200.0, 300.0, 400.0]);
    Ok(())
}

#[test]
fn surroundings_of_a_place() -> Outcome {
    let (module, stream) = start();
    const SIDE: usize = 8;
    // Each side has numbers of its own.
    let from: Vec<f32> = (0..6 * SIDE * SIDE)
        .map(|i| (i / (SIDE * SIDE) * 100 + i % (SIDE * SIDE)) as f32)
        .collect();
    let array = Array::from_slice(&from, (SIDE, SIDE, 6), ArrayFlags::CUBEMAP)?;
    let config = TextureConfig {
        normalized_coordinates: true,
        address_modes: [AddressMode::Clamp; 3],
        ..TextureConfig::default()
    };
    let texture = Texture::new(Arc::new(array), &config)?;
    let directions: Vec<[f32; 3]> = floats(600)
        .chunks(3)
        .map(|d| [d[0] - 0.5, d[1] - 0.5, d[2] - 0.5])
        .collect();
    let mut to = DeviceBuffer::<f32>::zeroed(directions.len())?;
    module.launch(
        &stream,
        (4, 64),
        surroundings::args(&texture, &directions.as_dbuf()?, &mut to),
    )?;
    for (&[x, y, z], found) in directions.iter().zip(to.as_host_vec()?) {
        let largest = x.abs().max(y.abs()).max(z.abs());
        let (side, s, t) = match [x, y, z].map(|d| d / largest) {
            [1.0, y, z] => (0, -z, -y),
            [-1.0, y, z] => (1, z, -y),
            [x, 1.0, z] => (2, x, z),
            [x, -1.0, z] => (3, x, -z),
            [x, y, 1.0] => (4, x, -y),
            [x, y, _] => (5, -x, -y),
        };
        let place = |s: f32| (s + 1.0) / 2.0 * SIDE as f32;
        let (s, t) = (place(s), place(t));
        let edge = |s: f32| (s - s.round()).abs() < 0.01;
        // Between two elements rounding says which.
        if !edge(s) && !edge(t) {
            let element = t as usize * SIDE + s as usize;
            assert_eq!(found, (side * 100 + element) as f32, "{x} {y} {z}");
        }
    }
    Ok(())
}
