//! Textures and surfaces, where the device has them.

use crate::{Needs, Session, compare, trial};
use cust::error::CudaError;
use cust::memory::{Array, ArrayFlags};
use cust::texture::{FilterMode, Surface, Texture, TextureConfig};
use libtest_mimic::{Failed, Trial};
use std::sync::Arc;
use tensor_tests_kernels::textures::PLACES;
use tensor_tests_kernels::values::hash;

const WIDTH: usize = 16;
const HEIGHT: usize = 8;

pub fn trials() -> Vec<Trial> {
    vec![
        trial(Needs::Sm75, "texture, nearest", |session| {
            floats(session, FilterMode::Nearest)
        }),
        trial(Needs::Sm75, "texture, linear", |session| {
            floats(session, FilterMode::Linear)
        }),
        trial(Needs::Sm75, "texture of bytes", bytes),
        trial(Needs::Sm75, "surface", surface),
    ]
}

/// An object, or `None` where the emulator has none.
fn object<T>(session: &Session, made: cust::error::CudaResult<T>) -> Result<Option<T>, Failed> {
    match made {
        Ok(object) => Ok(Some(object)),
        Err(error) if !session.on_gpu() && error.code() == Some(CudaError::NotSupported) => {
            println!("left out: the emulator has no textures and surfaces");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Places inside of the texture and around it.
fn places() -> Vec<[f32; 2]> {
    (0..PLACES)
        .map(|i| {
            let x = (hash(60, i, 0) % 80) as f32 / 4.0 - 2.0;
            let y = (hash(61, i, 0) % 48) as f32 / 4.0 - 2.0;
            [x, y]
        })
        .collect()
}

fn input(handle: u64) -> Vec<u32> {
    let mut input = vec![handle as u32, (handle >> 32) as u32];
    input.extend(places().into_iter().flatten().map(f32::to_bits));
    input
}

/// What a texture that clamps samples around an element.
fn clamped<T: Copy>(data: &[T], x: i64, y: i64) -> T {
    let x = x.clamp(0, WIDTH as i64 - 1) as usize;
    let y = y.clamp(0, HEIGHT as i64 - 1) as usize;
    data[y * WIDTH + x]
}

/// What every texture has at whole coordinates.
fn fetched<T: Copy + Default>(data: &[T], x: i64, y: i64) -> T {
    let inside = (0..WIDTH as i64).contains(&x) && (0..HEIGHT as i64).contains(&y);
    if inside {
        clamped(data, x, y)
    } else {
        T::default()
    }
}

fn floats(session: &Session, filter: FilterMode) -> Result<(), Failed> {
    let data: Vec<f32> = (0..WIDTH * HEIGHT)
        .map(|i| (hash(62, i, 0) % 256) as f32)
        .collect();
    let array = Arc::new(Array::from_slice(
        &data,
        (WIDTH, HEIGHT),
        ArrayFlags::empty(),
    )?);
    let mut config = TextureConfig::default();
    config.filter = filter;
    let Some(texture) = object(session, Texture::new(array, &config))? else {
        return Ok(());
    };
    let input = input(texture.as_raw());
    let found = session.run(
        Needs::Sm75,
        "texture_2d",
        (1, PLACES as u32, 0),
        &input,
        4 * PLACES,
    )?;
    let mut wrong = Vec::new();
    for (place, words) in places().iter().zip(found.chunks(4)) {
        let [x, y] = *place;
        let whole = fetched(&data, x as i32 as i64, y as i32 as i64);
        let (expected, near) = match filter {
            FilterMode::Nearest => (clamped(&data, x.floor() as i64, y.floor() as i64), 0.0),
            // Weights have eight bits of fraction.
            FilterMode::Linear => {
                let (x, y) = (x - 0.5, y - 0.5);
                let (i, j) = (x.floor(), y.floor());
                let (a, b) = (x - i, y - j);
                let at = |dx, dy| clamped(&data, i as i64 + dx, j as i64 + dy);
                let upper = at(0, 0) * (1.0 - a) + at(1, 0) * a;
                let lower = at(0, 1) * (1.0 - a) + at(1, 1) * a;
                (upper * (1.0 - b) + lower * b, 256.0 / 128.0)
            }
        };
        let [fetched, sampled, level] = [0, 1, 2].map(|i| f32::from_bits(words[i]));
        // A texture that filters does so for whole coordinates, too, but in its own way.
        let fetch_is_right = filter == FilterMode::Linear || fetched == whole;
        if !fetch_is_right
            || (sampled - expected).abs() > near
            || (level - expected).abs() > near
            || words[3] != (WIDTH << 16 | HEIGHT) as u32
        {
            wrong.push(format!(
                "{place:?}: {fetched} {sampled} {level} {:#x}, not {whole} {expected}",
                words[3]
            ));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(wrong.join("\n").into())
}

fn bytes(session: &Session) -> Result<(), Failed> {
    let data: Vec<[u8; 4]> = (0..WIDTH * HEIGHT)
        .map(|i| hash(63, i, 0).to_le_bytes())
        .collect();
    let array = Arc::new(Array::from_slice(
        &data,
        (WIDTH, HEIGHT),
        ArrayFlags::empty(),
    )?);
    let mut config = TextureConfig::default();
    config.read_as_integer = true;
    let Some(texture) = object(session, Texture::new(array, &config))? else {
        return Ok(());
    };
    let input = input(texture.as_raw());
    let found = session.run(
        Needs::Sm75,
        "texture_bytes",
        (1, PLACES as u32, 0),
        &input,
        PLACES,
    )?;
    let expected: Vec<u32> = places()
        .iter()
        .map(|[x, y]| u32::from_le_bytes(fetched(&data, *x as i32 as i64, *y as i32 as i64)))
        .collect();
    compare(&found, &expected)
}

fn surface(session: &Session) -> Result<(), Failed> {
    let data: Vec<u32> = (0..WIDTH * HEIGHT).map(|i| hash(64, i, 0) >> 4).collect();
    let array = Arc::new(Array::from_slice(
        &data,
        (WIDTH, HEIGHT),
        ArrayFlags::SURFACE_LDST,
    )?);
    let Some(surface) = object(session, Surface::new(array))? else {
        return Ok(());
    };
    let input = input(surface.as_raw());
    let threads = (WIDTH * HEIGHT) as u32;
    let found = session.run(
        Needs::Sm75,
        "surface_2d",
        (1, threads, 0),
        &input,
        2 * data.len(),
    )?;
    let expected: Vec<u32> = data.iter().flat_map(|&x| [x, 0]).collect();
    compare(&found, &expected)?;
    let mut after: Vec<u32> = data.iter().map(|x| x * 3).collect();
    after[0] += threads;
    compare(&surface.array().as_host_vec()?, &after)
}
