//! Types of other crates that implement `bytemuck`'s traits.

use crate::layout::{Kind, Layout};
use crate::traits::DeviceCopy;
use bytemuck::{NoUninit, Pod, TransparentWrapper, Zeroable};
use core::ops::{Deref, DerefMut};

/// A [`DeviceCopy`] wrapper of a type from another crate.
///
/// A crate cannot implement `DeviceCopy` for a type of another crate. Many crates implement
/// [`bytemuck::NoUninit`] or [`bytemuck::Pod`] for their types behind a feature `bytemuck`: such
/// types have no padding and no pointers, so their bytes mean the same on the device. `Plain` has
/// the layout of `T`, and [`TransparentWrapper`] converts slices without copies.
///
/// A type that implements neither trait needs a wrapper of your own with an
/// `unsafe impl DeviceCopy`.
///
/// # Examples
///
/// ```
/// use bytemuck::{Pod, TransparentWrapper, Zeroable};
/// use cust_core::{DeviceCopy, Plain};
///
/// // A type of another crate, which implements `Pod`.
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Rgb {
///     channels: [u8; 3],
/// }
/// # unsafe impl Zeroable for Rgb {}
/// # unsafe impl Pod for Rgb {}
///
/// fn copied<T: DeviceCopy>(values: &[T]) -> usize {
///     size_of_val(values)
/// }
///
/// let mut image = vec![Rgb { channels: [1, 2, 3] }; 4];
/// // The arguments of kernels with parameters `&[Plain<Rgb>]` and `PerThread<Plain<Rgb>>`.
/// assert_eq!(copied(Plain::wrap_slice(&image)), 12);
/// Plain::wrap_slice_mut(&mut image)[1].channels[0] = 7;
/// assert_eq!(image[1].channels, [7, 2, 3]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Plain<T: NoUninit>(pub T);

// SAFETY: `repr(transparent)`.
unsafe impl<T: NoUninit> TransparentWrapper<T> for Plain<T> {}

// SAFETY: as above.
unsafe impl<T: NoUninit + Zeroable> Zeroable for Plain<T> {}

// SAFETY: as above.
unsafe impl<T: Pod> Pod for Plain<T> {}

// SAFETY: a `NoUninit` type is `Copy`, and its bytes are initialized and not those of a pointer.
unsafe impl<T: NoUninit> DeviceCopy for Plain<T> {
    const LAYOUT: Layout = Layout::new::<T>(Kind::Opaque);
}

impl<T: NoUninit> Deref for Plain<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: NoUninit> DerefMut for Plain<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
