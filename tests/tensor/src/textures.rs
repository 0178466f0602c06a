//! Textures and surfaces, where the device has them.

use crate::{Needs, Session, compare, trial};
use cust::error::CudaError;
use cust::error::Error;
use cust::kernel::{Args, KernelType, LaunchConfig};
use cust::memory::{Array, ArrayFlags, Extent, MipmappedArray, PitchedBuffer};
use cust::prelude::*;
use cust::texture::{
    BufferTexture, FilterMode, MipmappedTexture, PitchedTexture, Surface, Texture, TextureConfig,
};
use cust_core::kernel::Pass;
use libtest_mimic::{Failed, Trial};
use std::sync::Arc;
use tensor_tests_kernels::textures::{
    PLACES, added, cube_sizes, cubes_sizes, fractions, line_sizes, lines_sizes, looked_up,
    picture_sizes, pictures_sizes, sampled, volume_sizes,
};
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
        trial(
            Needs::Sm75,
            "textures of arrays and of rows",
            of_arrays_and_rows,
        ),
        trial(Needs::Sm75, "texture of plain memory", of_memory),
        trial(Needs::Sm75, "texture of fractions", of_fractions),
        trial(
            Needs::Sm75,
            "surface and texture in two streams",
            in_two_streams,
        ),
        trial(Needs::Sm75, "sizes of textures", sizes),
        trial(Needs::Sm75, "textures of other shapes are refused", refused),
    ]
}

/// An object, or `None` where the emulator has none.
fn object<T>(session: &Session, made: cust::error::CudaResult<T>) -> Result<Option<T>, Failed> {
    match made {
        Ok(object) => Ok(Some(object)),
        Err(error) if !session.on_gpu() && error.code() == Some(CudaError::NotSupported) => {
            test_outcome::skip("the emulator has no textures and surfaces");
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

/// The texels that a clamping texture samples around an element.
fn clamped<T: Copy>(data: &[T], x: i64, y: i64) -> T {
    let x = x.clamp(0, WIDTH as i64 - 1) as usize;
    let y = y.clamp(0, HEIGHT as i64 - 1) as usize;
    data[y * WIDTH + x]
}

/// The texels of every texture at whole coordinates.
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
    let config = TextureConfig {
        filter,
        ..TextureConfig::default()
    };
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
    let config = TextureConfig {
        read_as_integer: true,
        ..TextureConfig::default()
    };
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

/// Launches a kernel with arguments of its parameters' types.
fn launch<K: KernelType, A: Pass>(
    session: &Session,
    stream: &Stream,
    threads: usize,
    args: Args<K, A>,
) -> Result<Result<(), Error>, Failed> {
    // SAFETY: the module was built from the crate that the kernels are of.
    let kernel = unsafe { session.module(Needs::Sm75)?.kernel_unchecked::<K>()? };
    Ok(kernel.launch(stream, LaunchConfig::for_elements(threads, 64), args))
}

/// The same picture, as an array and as plain rows.
fn of_arrays_and_rows(session: &Session) -> Result<(), Failed> {
    let data: Vec<f32> = (0..WIDTH * HEIGHT)
        .map(|i| (hash(65, i, 0) % 256) as f32)
        .collect();
    let extent = (WIDTH, HEIGHT);
    let array = Arc::new(Array::from_slice(&data, extent, ArrayFlags::empty())?);
    let rows = Arc::new(PitchedBuffer::from_slice(&data, extent)?);
    let config = TextureConfig::default();
    let (array, rows) = (
        Texture::new(array, &config)?,
        PitchedTexture::new(rows, &config)?,
    );
    let at = DeviceBuffer::from_slice(&places())?;
    let mut of_array = DeviceBuffer::<f32>::zeroed(PLACES)?;
    let mut of_rows = DeviceBuffer::<f32>::zeroed(PLACES)?;
    let stream = &session.stream;
    launch(
        session,
        stream,
        PLACES,
        sampled::args(&array, &at, &mut of_array),
    )??;
    launch(
        session,
        stream,
        PLACES,
        sampled::args(&rows, &at, &mut of_rows),
    )??;
    let expected: Vec<f32> = (places().iter())
        .map(|[x, y]| clamped(&data, x.floor() as i64, y.floor() as i64))
        .collect();
    let bits = |found: Vec<f32>| found.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
    let expected = bits(expected);
    compare(&bits(of_array.as_host_vec()?), &expected)?;
    compare(&bits(of_rows.as_host_vec()?), &expected)
}

fn of_memory(session: &Session) -> Result<(), Failed> {
    let data: Vec<[u16; 2]> = (0..100)
        .map(|i| [hash(66, i, 0) as u16, hash(66, i, 1) as u16])
        .collect();
    let config = TextureConfig {
        read_as_integer: true,
        ..TextureConfig::default()
    };
    let table = BufferTexture::new(Arc::new(DeviceBuffer::from_slice(&data)?), &config)?;
    // Beyond the end there are zeros.
    let mut found = DeviceBuffer::<u32>::zeroed(110)?;
    launch(
        session,
        &session.stream,
        110,
        looked_up::args(&table, &mut found),
    )??;
    let pair = |&[low, high]: &[u16; 2]| u32::from(low) | u32::from(high) << 16;
    let mut expected: Vec<u32> = data.iter().map(pair).collect();
    expected.resize(110, 0);
    compare(&found.as_host_vec()?, &expected)
}

fn of_fractions(session: &Session) -> Result<(), Failed> {
    let data: Vec<[i8; 4]> = (0..WIDTH * HEIGHT)
        .map(|i| hash(67, i, 0).to_le_bytes().map(|byte| byte as i8))
        .collect();
    let rows = Arc::new(PitchedBuffer::from_slice(&data, (WIDTH, HEIGHT))?);
    let rows = PitchedTexture::new(rows, &TextureConfig::default())?;
    let mut found = DeviceBuffer::<f32>::zeroed(data.len())?;
    let args = fractions::args(&rows, WIDTH as u32, &mut found);
    launch(session, &session.stream, data.len(), args)??;
    for (i, found) in found.as_host_vec()?.into_iter().enumerate() {
        let [r, g, b, a] = data[i].map(|byte| (f32::from(byte) / 127.0).max(-1.0));
        let expected = (r + g) + (b + a);
        if (found - expected).abs() > 1e-5 {
            return Err(format!("element {i} is {found}, not {expected}").into());
        }
    }
    Ok(())
}

/// Launches in two streams that change one array by turns: each waits for the one before.
fn in_two_streams(session: &Session) -> Result<(), Failed> {
    let data: Vec<f32> = (0..WIDTH * HEIGHT).map(|i| i as f32).collect();
    let extent = (WIDTH, HEIGHT);
    let array = Arc::new(Array::from_slice(&data, extent, ArrayFlags::SURFACE_LDST)?);
    let surface = Surface::new(Arc::clone(&array))?;
    let amounts = Arc::new(Array::from_slice(
        &vec![1.0f32; data.len()],
        extent,
        ArrayFlags::empty(),
    )?);
    let amounts = Texture::new(amounts, &TextureConfig::default())?;
    let other = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    for round in 0..20 {
        let stream = if round % 2 == 0 {
            &session.stream
        } else {
            &other
        };
        let args = added::args(&surface, &amounts, WIDTH as u32, HEIGHT as u32);
        launch(session, stream, data.len(), args)??;
    }
    drop((surface, amounts));
    let found: Vec<u32> = array.as_host_vec()?.into_iter().map(f32::to_bits).collect();
    let expected: Vec<u32> = data.iter().map(|x| (x + 20.0).to_bits()).collect();
    compare(&found, &expected)
}

/// As an H200 says them, with those of four levels, of which there are one or three.
fn sizes(session: &Session) -> Result<(), Failed> {
    let stream = &session.stream;
    let plain = TextureConfig::default();
    let leveled = TextureConfig {
        normalized_coordinates: true,
        mipmap_levels: [0.0, 2.0],
        ..plain
    };
    macro_rules! says {
        ($kernel:ident, $texture:expr, $expected:expr) => {{
            let expected: &[u32] = &$expected;
            let mut to = DeviceBuffer::<u32>::zeroed(expected.len())?;
            let texture = $texture;
            let args = $kernel::args(&texture, &mut to);
            launch(session, stream, expected.len(), args)??;
            compare(&to.as_host_vec()?, expected)?;
        }};
    }
    let array = |extent: Extent, flags| Array::<f32>::new(extent, flags).map(Arc::new);
    let of = |extent: Extent, flags| Texture::new(array(extent, flags)?, &plain);
    let levels = |extent: Extent, flags| {
        let levels = MipmappedArray::<f32>::new(extent, 3, flags)?;
        MipmappedTexture::new(Arc::new(levels), &leveled)
    };
    let none = ArrayFlags::empty();
    let (layered, cube) = (ArrayFlags::LAYERED, ArrayFlags::CUBEMAP);

    says!(line_sizes, of(37.into(), none)?, [37, 1, 0]);
    says!(picture_sizes, of((37, 11).into(), none)?, [37, 11, 0]);
    says!(volume_sizes, of((37, 11, 5).into(), none)?, [37, 11, 5]);
    says!(lines_sizes, of((37, 1, 3).into(), layered)?, [37, 3]);
    says!(
        pictures_sizes,
        of((37, 11, 3).into(), layered)?,
        [37, 11, 3]
    );
    says!(cube_sizes, of((16, 16, 6).into(), cube)?, [16]);
    says!(
        cubes_sizes,
        of((16, 16, 12).into(), cube | layered)?,
        [16, 2]
    );
    says!(
        cubes_sizes,
        of((16, 16, 6).into(), cube | layered)?,
        [16, 1]
    );

    let memory = Arc::new(DeviceBuffer::<f32>::zeroed(100)?);
    says!(line_sizes, BufferTexture::new(memory, &plain)?, [100, 0, 0]);
    let rows = Arc::new(PitchedBuffer::from_slice(&[0f32; 37 * 11], (37, 11))?);
    says!(
        picture_sizes,
        PitchedTexture::new(rows, &plain)?,
        [37, 11, 0]
    );

    says!(
        line_sizes,
        levels(64.into(), none)?,
        [64, 1, 0, 64, 0, 0, 32, 0, 0, 16, 0, 0, 0, 0, 0]
    );
    says!(
        picture_sizes,
        levels((37, 11).into(), none)?,
        [37, 11, 0, 37, 11, 0, 18, 5, 0, 9, 2, 0, 0, 0, 0]
    );
    says!(
        volume_sizes,
        levels((64, 32, 8).into(), none)?,
        [64, 32, 8, 64, 32, 8, 32, 16, 4, 16, 8, 2, 0, 0, 0]
    );
    says!(
        pictures_sizes,
        levels((64, 32, 5).into(), layered)?,
        [64, 32, 5, 64, 32, 0, 32, 16, 0, 16, 8, 0, 0, 0, 0]
    );
    says!(
        cubes_sizes,
        levels((16, 16, 12).into(), cube | layered)?,
        [16, 2, 16, 0, 0, 8, 0, 0, 4, 0, 0, 0, 0, 0]
    );
    Ok(())
}

fn refused(session: &Session) -> Result<(), Failed> {
    let says = |result: Result<(), Error>, text: &str| match result {
        Err(error @ Error::Image(_)) if error.to_string().contains(text) => Ok(()),
        other => Err(Failed::from(format!(
            "not refused with {text:?}: {other:?}"
        ))),
    };
    let config = TextureConfig::default();
    let stream = &session.stream;
    let mut to = DeviceBuffer::<f32>::zeroed(1)?;
    let at = DeviceBuffer::from_slice(&[[0.0f32; 2]])?;

    let line = Texture::new(
        Arc::new(Array::<f32>::new(5, ArrayFlags::empty())?),
        &config,
    )?;
    let result = launch(session, stream, 1, sampled::args(&line, &at, &mut to))?;
    says(
        result,
        "which is 2 dimensions of floats, but the argument has one dimension of floats",
    )?;

    let whole = Texture::new(
        Arc::new(Array::<u32>::new((4, 4), ArrayFlags::empty())?),
        &config,
    )?;
    let result = launch(session, stream, 1, sampled::args(&whole, &at, &mut to))?;
    says(result, "the argument has 2 dimensions of unsigned integers")?;

    let bytes = Arc::new(Array::<u8>::new((4, 4), ArrayFlags::SURFACE_LDST)?);
    let surface = Surface::new(bytes)?;
    let amounts = Arc::new(Array::<f32>::new((4, 4), ArrayFlags::empty())?);
    let amounts = Texture::new(amounts, &config)?;
    let result = launch(session, stream, 16, added::args(&surface, &amounts, 4, 4))?;
    says(
        result,
        "elements of 4 bytes, but the argument has 2 dimensions of elements of one byte",
    )
}
