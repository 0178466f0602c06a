//! Types with unusual layouts, in every place where a kernel has values.

#![allow(
    clippy::multiple_bound_locations,
    clippy::too_many_arguments,
    reason = "the derive macros add bounds; a kernel has a value in each place"
)]

use core::hint::black_box;

use cuda_std::AnyBits;
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Dynamic, Shared};
use cuda_std::{PerBlock, PerColumn, PerRow, PerThread2d, PerThread3d};
use cust_core::DeviceCopy;

/// Its alignment is larger than that of any instruction's operand.
#[derive(Clone, Copy, AnyBits, DeviceCopy)]
#[repr(C, align(128))]
pub struct Line(pub u32);

/// Generic, packed, and with a field under a `cfg`.
#[derive(Clone, Copy, AnyBits, DeviceCopy)]
#[repr(C, packed)]
pub struct Packed<T, const N: usize = 2>
where
    T: Copy,
{
    pub first: u8,
    #[cfg(any())]
    pub nowhere: Absent,
    pub rest: [T; N],
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
pub union Either {
    pub whole: u32,
    pub halves: [u16; 2],
}

#[constant]
pub static LINE: Line = Line(5);

/// A name that the expansion uses, in a type.
const STORAGE: usize = 3;

/// Returns the offset of a value's address from a multiple of its alignment.
fn behind<T>(value: &T) -> u32 {
    (black_box(&raw const *value).addr() % black_box(align_of::<T>())) as u32
}

#[kernel]
pub fn alignment(
    #[grid_constant] constant: &Line,
    value: Line,
    pair: (u8, Line),
    slice: &[Line],
    #[shared] mut bytes: Shared<Array<u8, STORAGE>>,
    #[shared] mut lines: Shared<Array<Line, STORAGE>>,
    #[shared] mut dynamic: Shared<Dynamic<u128>>,
    mut to: PerThread<[u32; 8]>,
) {
    bytes.own().each(|_, byte| *byte = 0);
    lines.own().each(|i, line| *line = Line(i as u32));
    dynamic.own().each(|_, element| *element = 0);
    let local = black_box(value);
    let lines = lines.read(|lines| behind(&lines[1]));
    let dynamic = dynamic.read(|all| behind(&all[0]));
    to.each(|_, to| {
        *to = [
            behind(constant),
            behind(&pair.1),
            behind(&local),
            behind(&slice[1]),
            lines,
            dynamic,
            behind(&*LINE),
            constant.0 + value.0 + pair.1.0 + slice[1].0 + LINE.0,
        ];
    });
}

#[kernel]
pub fn values(packed: &Packed<u64>, either: Either, mut to: PerThread<[u64; 4]>) {
    let Packed { first, rest } = *packed;
    let _ = either;
    to.each(|_, to| *to = [first.into(), rest[0], rest[1], size_of_val(packed) as u64]);
}

/// The elements of dynamic memory whose size is not a multiple of theirs.
#[kernel]
pub fn dynamic(#[shared] mut all: Shared<Dynamic<[u16; 3]>>, mut to: PerThread<u32>) {
    let mut own = 0;
    all.own().each(|_, element| {
        *element = [1, 2, 3];
        own += 1;
    });
    let sum = all.read(|all| all.iter().flatten().map(|&x| u32::from(x)).sum::<u32>());
    to.each(|_, to| *to = sum + 1000 * own);
}

/// Whether references are present, to any number of elements in each kind of parameter: references
/// to the slices, whose tests the compiler does not see, references to first elements, and
/// subslices.
#[kernel]
#[expect(
    clippy::unnecessary_first_then_check,
    clippy::chunks_exact_to_as_chunks,
    clippy::get_first,
    reason = "the tests of the `Option`s are under test"
)]
pub fn present(
    slice: &[u64],
    lines: &[Line],
    mut linear: PerThread<u64>,
    mut block: PerBlock<u64>,
    mut matrix: PerThread2d<u64>,
    mut volume: PerThread3d<u64>,
    mut rows: PerRow<u64>,
    mut columns: PerColumn<u64>,
    mut to: PerThread<[[u32; 8]; 3]>,
) {
    let whole = [
        black_box(Some(slice)).is_some(),
        black_box(Some(lines)).is_some(),
        Some(slice).is_some(),
        slice.get(..0).is_some(),
        slice.split_at_checked(0).is_some(),
        slice.iter().zip(lines).len() == lines.len(),
        is_aligned(slice),
        is_aligned(lines),
    ];
    let first = [
        slice.first().is_some(),
        slice.chunks_exact(1).next().is_some(),
        slice.iter().zip(lines).next().is_some(),
        lines.first().is_some(),
        lines.split_first().is_some(),
        black_box(slice.get(0)).is_some(),
        black_box(lines.last()).is_some(),
        lines.windows(1).next().is_some(),
    ];
    let column = columns.own().next().map(|(_, mut column)| {
        let by_iterator = column.iter_mut().next().is_some();
        [by_iterator, column.get(0).is_some()]
    });
    let [by_iterator, by_index] = column.unwrap_or_default();
    let written = [
        linear.own().next().is_some(),
        linear.first().is_some(),
        block.own().next().is_some(),
        matrix.own().next().is_some(),
        volume.own().next().is_some(),
        rows.own().next().is_some_and(|(_, row)| !row.is_empty()),
        by_iterator,
        by_index,
    ];
    to.each(|_, to| *to = [whole, first, written].map(|all| all.map(u32::from)));
}

/// Returns whether the address is a multiple of the alignment, unknown to the compiler.
fn is_aligned<T>(slice: &[T]) -> bool {
    black_box(slice.as_ptr().addr()).is_multiple_of(black_box(align_of::<T>()))
}
