//! The layout of parameters that describe memory: the host writes them, and the types of outputs in
//! `cuda_std` read them. `usize` has 64 bits on both sides.

use core::mem::offset_of;

/// A one-dimensional output, such as `PerThread`; with [`Output::WIDE`], and for a slice, the fields
/// are two parameters.
///
/// [`Output::WIDE`]: crate::kernel::Output::WIDE
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Elements {
    /// The address of the first element.
    pub address: u64,
    /// The number of elements.
    pub len: u64,
}

/// An output in rows, such as `PerThread2d`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rows {
    /// The elements.
    pub elements: Elements,
    /// The number of elements per row: at most the number of elements, or 1.
    pub width: u64,
    /// The number of rows; the last one may be partial. Of a volume, the rows of a layer.
    pub height: u64,
}

/// An output in layers of rows, such as `PerThread3d`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Volume {
    /// The elements, and the sizes of a layer.
    pub rows: Rows,
    /// The number of layers; the last one may be partial.
    pub depth: u64,
}

// Kernels that were compiled earlier read these offsets.
const _: () = {
    assert!(offset_of!(Elements, address) == 0 && offset_of!(Elements, len) == 8);
    assert!(offset_of!(Rows, elements) == 0 && offset_of!(Rows, width) == 16);
    assert!(offset_of!(Rows, height) == 24 && offset_of!(Volume, rows) == 0);
    assert!(offset_of!(Volume, depth) == 32 && size_of::<Volume>() == 40);
};
