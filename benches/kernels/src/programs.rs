//! Programs as data: an interpreter of arithmetic expressions, and the edit distance of strings.

use cuda_std::PerThread2d;
use cuda_std::prelude::*;
use cust_core::DeviceCopy;

/// An instruction of the interpreter, which has a stack.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C, u32)]
pub enum Instruction {
    /// Pushes the first coordinate.
    X,
    /// Pushes the second coordinate.
    Y,
    /// Pushes a number.
    Number(f32),
    /// Replaces the last two numbers by their sum.
    Add,
    /// Replaces the last two numbers by their difference.
    Subtract,
    /// Replaces the last two numbers by their product.
    Multiply,
    /// Replaces the last two numbers by the smaller one.
    Minimum,
    /// Replaces the last two numbers by the larger one.
    Maximum,
    /// Negates the last number.
    Negate,
    /// Replaces the last number by its absolute value.
    Absolute,
    /// Replaces the last number by its square root.
    SquareRoot,
}

/// The maximum number of numbers on the stack.
pub const STACK: usize = 16;

/// Returns the value of an expression in postfix notation. Shared by host and device.
#[inline(always)]
pub fn evaluate(program: &[Instruction], x: f32, y: f32) -> f32 {
    let mut stack = [0.0f32; STACK];
    let mut len = 0;
    for &instruction in program {
        match instruction {
            Instruction::X => {
                stack[len] = x;
                len += 1;
            }
            Instruction::Y => {
                stack[len] = y;
                len += 1;
            }
            Instruction::Number(number) => {
                stack[len] = number;
                len += 1;
            }
            Instruction::Add => {
                len -= 1;
                stack[len - 1] += stack[len];
            }
            Instruction::Subtract => {
                len -= 1;
                stack[len - 1] -= stack[len];
            }
            Instruction::Multiply => {
                len -= 1;
                stack[len - 1] *= stack[len];
            }
            Instruction::Minimum => {
                len -= 1;
                stack[len - 1] = stack[len - 1].min(stack[len]);
            }
            Instruction::Maximum => {
                len -= 1;
                stack[len - 1] = stack[len - 1].max(stack[len]);
            }
            Instruction::Negate => stack[len - 1] = -stack[len - 1],
            Instruction::Absolute => stack[len - 1] = stack[len - 1].abs(),
            Instruction::SquareRoot => stack[len - 1] = stack[len - 1].sqrt(),
        }
    }
    stack[0]
}

/// The values of an expression at the pixels of a square whose first pixel is (-1, -1).
#[kernel(block_size(32, 8))]
pub fn interpreter_safe(program: &[Instruction], pixel: f32, mut to: PerThread2d<f32>) {
    to.each(|(x, y), to| {
        *to = evaluate(program, x as f32 * pixel - 1.0, y as f32 * pixel - 1.0);
    });
}

/// The values of an expression at the pixels of a square: see [`interpreter_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn interpreter_raw(
    program: *const Instruction,
    count: usize,
    pixel: f32,
    to: *mut f32,
    width: usize,
    height: usize,
) {
    let at = thread::index_2d();
    if at.x as usize >= width || at.y as usize >= height {
        return;
    }
    let x = at.x as f32 * pixel - 1.0;
    let y = at.y as f32 * pixel - 1.0;
    let mut numbers = [0.0f32; STACK];
    let mut top = numbers.as_mut_ptr();
    for i in 0..count {
        match *program.add(i) {
            Instruction::X => {
                *top = x;
                top = top.add(1);
            }
            Instruction::Y => {
                *top = y;
                top = top.add(1);
            }
            Instruction::Number(number) => {
                *top = number;
                top = top.add(1);
            }
            Instruction::Add => {
                top = top.sub(1);
                *top.sub(1) += *top;
            }
            Instruction::Subtract => {
                top = top.sub(1);
                *top.sub(1) -= *top;
            }
            Instruction::Multiply => {
                top = top.sub(1);
                *top.sub(1) *= *top;
            }
            Instruction::Minimum => {
                top = top.sub(1);
                *top.sub(1) = (*top.sub(1)).min(*top);
            }
            Instruction::Maximum => {
                top = top.sub(1);
                *top.sub(1) = (*top.sub(1)).max(*top);
            }
            Instruction::Negate => *top.sub(1) = -*top.sub(1),
            Instruction::Absolute => *top.sub(1) = (*top.sub(1)).abs(),
            Instruction::SquareRoot => *top.sub(1) = (*top.sub(1)).sqrt(),
        }
    }
    *to.add(at.y as usize * width + at.x as usize) = numbers[0];
}

/// The maximum number of letters of a query.
pub const LETTERS: usize = 32;

/// Returns the edit distance of a query and a word. Shared by host and device.
#[inline(always)]
pub fn edit_distance(query: &[u8], word: &[u8]) -> u32 {
    let mut row: [u32; LETTERS + 1] = core::array::from_fn(|i| i as u32);
    for (j, &letter) in word.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = j as u32 + 1;
        for (i, &other) in query.iter().enumerate() {
            let above = row[i + 1];
            let replaced = diagonal + u32::from(letter != other);
            row[i + 1] = replaced.min(above + 1).min(row[i] + 1);
            diagonal = above;
        }
    }
    row[query.len()]
}

/// The edit distances (Levenshtein) of a query and all words of a dictionary. The letters of word
/// `i` are those of `text` from `offsets[i]` to `offsets[i + 1]`.
#[kernel(block_size(128))]
pub fn levenshtein_safe(query: &[u8], text: &[u8], offsets: &[u32], mut to: PerThread<u32>) {
    to.each(|i, to| {
        let word = &text[offsets[i] as usize..offsets[i + 1] as usize];
        *to = edit_distance(query, word);
    });
}

/// The edit distances of a query and all words of a dictionary: see [`levenshtein_safe()`].
#[kernel(block_size(128))]
pub unsafe fn levenshtein_raw(
    query: *const u8,
    letters: usize,
    text: *const u8,
    offsets: *const u32,
    to: *mut u32,
    n: usize,
) {
    let word = thread::index_1d() as usize;
    if word >= n {
        return;
    }
    let mut numbers = [0; LETTERS + 1];
    let row = numbers.as_mut_ptr();
    for i in 0..=letters {
        *row.add(i) = i as u32;
    }
    let start = *offsets.add(word);
    for at in start..*offsets.add(word + 1) {
        let letter = *text.add(at as usize);
        let mut diagonal = *row;
        *row = at - start + 1;
        for i in 0..letters {
            let above = *row.add(i + 1);
            let replaced = diagonal + u32::from(letter != *query.add(i));
            *row.add(i + 1) = replaced.min(above + 1).min(*row.add(i) + 1);
            diagonal = above;
        }
    }
    *to.add(word) = *row.add(letters);
}
