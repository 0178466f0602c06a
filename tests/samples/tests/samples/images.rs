use crate::{Outcome, close, floats, integers, start};
use cust::memory::{Array, ArrayFlags};
use cust::prelude::*;
use cust::texture::{AddressMode, FilterMode, Surface, Texture, TextureConfig};
use num_complex::Complex;
use samples_kernels::images::*;
use std::sync::Arc;

const WIDTH: usize = 40;
const HEIGHT: usize = 24;
const BLOCKS: (u32, u32) = (3, 3);
const THREADS: (u32, u32) = (16, 8);

/// What a picture says at a place, its edges going on.
fn clamped<T: Copy>(picture: &[T], x: i64, y: i64) -> T {
    let (x, y) = (x.clamp(0, WIDTH as i64 - 1), y.clamp(0, HEIGHT as i64 - 1));
    picture[y as usize * WIDTH + x as usize]
}

/// A picture of what a function says at each place.
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
        let centre = clamped(&from, x, y);
        let (mut sum, mut weights) = (0.0, 0.0);
        for (dx, dy) in near() {
            let value = clamped(&from, x + dx, y + dy);
            let far = (dx * dx + dy * dy) as f32 / (2.0 * 1.5 * 1.5);
            let weight = (-far - (value - centre).powi(2) / (2.0 * 0.2 * 0.2)).exp();
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
