//! Programs as data.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, random, upload, zeroed};
use bench_kernels::programs::{
    Instruction::{self, *},
    edit_distance, evaluate,
};
use cust::error::CudaResult;

/// Appends the distance to a circle.
fn circle(program: &mut Vec<Instruction>, [x, y]: [f32; 2], radius: f32) {
    let square = |at: Instruction, center: f32| {
        [
            at,
            Number(center),
            Subtract,
            at,
            Number(center),
            Subtract,
            Multiply,
        ]
    };
    program.extend(square(X, x));
    program.extend(square(Y, y));
    program.extend([Add, SquareRoot, Number(radius), Subtract]);
}

pub fn interpreter(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (70, 20),
        false => (4096, 4096),
    };
    // The distance to the union of a ring and a square without a circle.
    let mut program = Vec::new();
    circle(&mut program, [0.3, -0.2], 0.6);
    program.extend([Absolute, Number(0.1), Subtract]);
    program.extend([X, Absolute, Y, Absolute, Maximum, Number(0.5), Subtract]);
    circle(&mut program, [0.1, 0.1], 0.3);
    program.extend([Negate, Maximum, Minimum]);
    let n = width * height;
    let pixel = 2.0 / width as f32;
    let from = upload(&program)?;
    let to: Buffer<f32> = zeroed(n)?;
    let count = program.len();
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("interpreter", grid, (32, 8))
        .args(
            Args::new()
                .pointer(&from)
                .value(count as i32)
                .value(pixel)
                .pointer(&to)
                .value(width as i32)
                .value(height as i32),
            Args::new()
                .pointer(&from)
                .value(count)
                .value(pixel)
                .pointer(&to)
                .value(width)
                .value(height),
            Args::new().slice(&from).value(pixel).rows(&to, width),
        )
        .input(&from)
        .output(&to)
        .bytes(4 * n)
        .check(move || {
            close(&to, 1e-5, 1e-5, |i| {
                let [x, y] = [i % width, i / width].map(|at| at as f32 * pixel - 1.0);
                evaluate(&program, x, y).into()
            })
        }))
}

pub fn levenshtein(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 21);
    let query = b"counterrevolutionary";
    let mut text = Vec::new();
    let mut offsets = vec![0];
    for word in 0..n as u64 {
        let letters = (0..3 + random(word) % 14).map(|i| random(word * 16 + i) % 26);
        text.extend(letters.map(|letter| b'a' + letter as u8));
        offsets.push(text.len() as u32);
    }
    let from_query = upload(query)?;
    let from_text = upload(&text)?;
    let from_offsets = upload(&offsets)?;
    let to: Buffer<u32> = zeroed(n)?;
    let pointers = Args::new().pointer(&from_text).pointer(&from_offsets);
    let pointers = pointers.pointer(&to);
    Ok(Case::new("levenshtein", n.div_ceil(128), 128)
        .args(
            Args::new()
                .pointer(&from_query)
                .value(query.len() as i32)
                .and(pointers.clone())
                .value(n as i32),
            Args::new()
                .pointer(&from_query)
                .value(query.len())
                .and(pointers)
                .value(n),
            Args::new()
                .slice(&from_query)
                .slice(&from_text)
                .slice(&from_offsets)
                .output(&to),
        )
        .input(&from_query)
        .input(&from_text)
        .input(&from_offsets)
        .output(&to)
        .bytes(text.len() + 8 * n)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let word = &text[offsets[i] as usize..offsets[i + 1] as usize];
                f64::from(edit_distance(query, word))
            })
        }))
}
