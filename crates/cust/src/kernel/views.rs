//! Memory viewed as rows or as a volume, for outputs of two and three dimensions.

use std::marker::PhantomData;

use cust_core::kernel::{
    Access, Argument, HostMemory, Launch, OutputOf, OutputRows, OutputVolume, Pass,
};

use super::arguments::{Range, Shape};
use crate::memory::{DeviceBuffer, DeviceCopy, DeviceSliceMut};

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Views all elements as rows of `width` elements, for a kernel parameter of type
    /// `PerThread2d`, `PerTile`, `PerRow`, `PerColumn`, `PerBlockRow` or `PerWarpRow`.
    ///
    /// The last row may be shorter. A width above the number of elements is clamped to that number.
    pub fn rows_mut(&mut self, width: usize) -> RowsMut<'_, T> {
        RowsMut::new(self.as_mut_slice(), width)
    }

    /// Views all elements as layers of `height` rows of `width` elements, for a kernel parameter of
    /// type `PerThread3d`.
    ///
    /// The last layer may be shorter. A width above the number of elements is clamped to that number,
    /// and a height above the number of rows in the buffer to that number.
    pub fn volume_mut(&mut self, width: usize, height: usize) -> VolumeMut<'_, T> {
        VolumeMut::new(self.as_mut_slice(), width, height)
    }
}

/// The maximum number of columns that is passed to a kernel, of zero-sized elements too: small enough
/// that the index of an element one row and one column past the end is below 2⁶⁴.
const MOST_COLUMNS: u64 = 1 << 40;
/// The maximum number of rows that is passed to a kernel. Only zero-sized elements have more.
const MOST_ROWS: u64 = 1 << 62;

/// Elements in device memory viewed as the rows of a matrix, for a kernel parameter of type
/// `PerThread2d`, `PerTile`, `PerRow`, `PerColumn`, `PerBlockRow` or `PerWarpRow`. Returned by
/// `rows_mut` of a buffer.
pub struct RowsMut<'a, T: DeviceCopy> {
    elements: DeviceSliceMut<'a, T>,
    width: usize,
}

impl<'a, T: DeviceCopy> RowsMut<'a, T> {
    pub(crate) fn new(elements: DeviceSliceMut<'a, T>, width: usize) -> RowsMut<'a, T> {
        RowsMut { elements, width }
    }
}

// SAFETY: nothing else uses the elements before the work is done.
#[diagnostic::do_not_recommend]
unsafe impl<'a, T: DeviceCopy, P: OutputRows<Element = T>> Argument<P> for RowsMut<'a, T> {
    type Passed = Range<'a>;

    fn into_passed(self) -> Range<'a> {
        let mut range = Range::new(self.elements.into_range(), Shape::Rows, Access::Write);
        let rows = &mut range.volume.rows;
        [rows.width, rows.height] = row_sizes(rows.elements.len, self.width);
        range
    }
}

/// Returns width and height of `length` elements in rows of `width`.
fn row_sizes(length: u64, width: usize) -> [u64; 2] {
    // Kernels rely on these bounds.
    let width = (width as u64).min(length.max(1)).min(MOST_COLUMNS);
    [width, length.div_ceil(width.max(1)).min(MOST_ROWS)]
}

/// Elements in device memory viewed as layers of rows, for a kernel parameter of type
/// `PerThread3d`. Returned by `volume_mut` of a buffer.
pub struct VolumeMut<'a, T: DeviceCopy> {
    elements: DeviceSliceMut<'a, T>,
    width: usize,
    height: usize,
}

impl<'a, T: DeviceCopy> VolumeMut<'a, T> {
    pub(crate) fn new(
        elements: DeviceSliceMut<'a, T>,
        width: usize,
        height: usize,
    ) -> VolumeMut<'a, T> {
        VolumeMut {
            elements,
            width,
            height,
        }
    }
}

// SAFETY: nothing else uses the elements before the work is done.
#[diagnostic::do_not_recommend]
unsafe impl<'a, T: DeviceCopy, P: OutputVolume<Element = T>> Argument<P> for VolumeMut<'a, T> {
    type Passed = Range<'a>;

    fn into_passed(self) -> Range<'a> {
        let mut range = Range::new(self.elements.into_range(), Shape::Volume, Access::Write);
        let volume = &mut range.volume;
        let len = volume.rows.elements.len;
        [volume.rows.width, volume.rows.height, volume.depth] =
            volume_sizes(len, self.width, self.height);
        range
    }
}

/// Returns width, height and depth of `length` elements in layers of `height` rows of `width`.
fn volume_sizes(length: u64, width: usize, height: usize) -> [u64; 3] {
    let [width, rows] = row_sizes(length, width);
    let height = (height as u64).min(rows.max(1));
    // The indices of rows past the end of a layer of zero-sized elements might wrap.
    let (height, layer) = match width.checked_mul(height) {
        Some(layer) if layer <= MOST_COLUMNS => (height, layer),
        _ => (rows, length),
    };
    [width, height, length.div_ceil(layer.max(1))]
}

/// Elements in host memory viewed as the rows of a matrix, for a kernel parameter of type
/// `PerThread2d`, `PerTile`, `PerRow`, `PerColumn`, `PerBlockRow` or `PerWarpRow`. Returned by
/// [`SliceExt::rows_mut`](crate::ext::SliceExt::rows_mut).
pub type HostRowsMut<'a, T> = HostShapeMut<'a, T, 2>;

/// Elements in host memory viewed as layers of rows, for a kernel parameter of type `PerThread3d`.
/// Returned by [`SliceExt::volume_mut`](crate::ext::SliceExt::volume_mut).
pub type HostVolumeMut<'a, T> = HostShapeMut<'a, T, 3>;

/// Elements in host memory viewed as an array of `N` dimensions. A launch passes their address,
/// their number and the dimensions.
#[derive(Debug)]
pub struct HostShapeMut<'a, T, const N: usize> {
    /// Not a reference: a launch has only a shared reference to this value.
    pointer: *mut T,
    len: usize,
    sizes: [u64; N],
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: represents an exclusive reference to the elements.
unsafe impl<T: Send, const N: usize> Send for HostShapeMut<'_, T, N> {}
// SAFETY: as above.
unsafe impl<T: Sync, const N: usize> Sync for HostShapeMut<'_, T, N> {}

impl<'a, T, const N: usize> HostShapeMut<'a, T, N> {
    fn new(elements: &'a mut [T], sizes: [u64; N]) -> HostShapeMut<'a, T, N> {
        HostShapeMut {
            pointer: elements.as_mut_ptr(),
            len: elements.len(),
            sizes,
            borrow: PhantomData,
        }
    }
}

impl<'a, T> HostRowsMut<'a, T> {
    pub(crate) fn rows(elements: &'a mut [T], width: usize) -> HostRowsMut<'a, T> {
        let sizes = row_sizes(elements.len() as u64, width);
        HostShapeMut::new(elements, sizes)
    }
}

impl<'a, T> HostVolumeMut<'a, T> {
    pub(crate) fn volume(
        elements: &'a mut [T],
        width: usize,
        height: usize,
    ) -> HostVolumeMut<'a, T> {
        let sizes = volume_sizes(elements.len() as u64, width, height);
        HostShapeMut::new(elements, sizes)
    }
}

// SAFETY: the launch writes the address of a copy and the dimensions into the parameter. `Args`
// passes its arguments to one launch only, so no other launch accesses the elements.
unsafe impl<T: DeviceCopy, const N: usize> Pass for HostShapeMut<'_, T, N> {
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        // SAFETY: the elements are borrowed exclusively, and the dimensions fit their number.
        launch.host(unsafe {
            HostMemory::new(self.pointer, self.len, false, Access::Write).with_sizes(self.sizes)
        });
    }
}

macro_rules! shapes {
    ($($dimensions:literal: $output:ident;)*) => {$(
        // SAFETY: the elements are copied, and the copies live until the launch completes, which
        // has exclusive use of them.
        #[diagnostic::do_not_recommend]
        unsafe impl<'a: 'p, 'p, T: DeviceCopy, P: $output<Element = T> + OutputOf<'p>> Argument<P>
            for HostShapeMut<'a, T, $dimensions>
        {
            type Passed = Self;

            fn into_passed(self) -> Self {
                self
            }
        }
    )*};
}
shapes! {
    2: OutputRows;
    3: OutputVolume;
}
