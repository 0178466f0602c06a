//! Memory of the device as arguments of launches.

use cust_core::kernel::{
    Access, Argument, ByValue, Launch, Output, OutputValue, Pass, Reference, bytes_of,
};
use cust_core::parameters::{Elements, Rows, Volume};

use crate::memory::{
    DeviceBox, DeviceBuffer, DeviceCopy, DevicePointer, DeviceSlice, DeviceSliceMut, LockedBuffer,
    RangeOnDevice, UnifiedBox, UnifiedBuffer,
};
use crate::tracker::Tracker;

/// A range of device memory, as passed to a kernel's parameters.
pub struct Range<'a> {
    /// The parameter, of which a shape passes the start.
    pub(super) volume: Volume,
    shape: Shape,
    access: Access,
    tracker: &'a Tracker,
    bytes: usize,
    type_name: fn() -> &'static str,
}

/// The words that a [`Range`] passes, and the number of parameters that it passes them in.
pub(super) enum Shape {
    /// One parameter: the address.
    Thin,
    /// Two parameters: the address and the number of elements.
    Wide,
    /// One parameter: [`Elements`].
    Struct,
    /// One parameter: [`Rows`].
    Rows,
    /// One parameter: [`Volume`].
    Volume,
}

impl<'a> Range<'a> {
    pub(super) fn new<T>(range: RangeOnDevice<'a, T>, shape: Shape, access: Access) -> Range<'a> {
        Range {
            volume: Volume {
                rows: Rows {
                    elements: Elements {
                        address: range.kernel_address(),
                        len: range.len as u64,
                    },
                    ..Rows::default()
                },
                depth: 0,
            },
            shape,
            access,
            tracker: range.tracker,
            bytes: range.len * size_of::<T>(),
            type_name: std::any::type_name::<[T]>,
        }
    }
}

// SAFETY: address and length describe memory that the tracker tracks.
unsafe impl Pass for Range<'_> {
    #[inline]
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        let (volume, rows) = (&self.volume, &self.volume.rows);
        let elements = &rows.elements;
        let bytes = match self.shape {
            Shape::Thin | Shape::Wide => bytes_of(&elements.address),
            Shape::Struct => bytes_of(elements),
            Shape::Rows => bytes_of(rows),
            Shape::Volume => bytes_of(volume),
        };
        launch.parameter(bytes, self.type_name);
        if let Shape::Wide = self.shape {
            launch.parameter(bytes_of(&elements.len), self.type_name);
        }
        launch.resource(self.tracker, self.access, elements.address, self.bytes);
    }
}

/// Implements `Argument` for types that are passed by reference: for parameters of type `&[T]` and
/// `&T`, and for the output types.
///
/// All these types exist only for elements that are `DeviceCopy`, so an error never needs to name an
/// element that is not. rustc's list of the types that implement `Argument` shows those of the host.
macro_rules! arguments {
    ($([$($lifetimes:tt)*] $ty:ty => $range:ident, $kind:ident;)*) => {
        $(arguments!(@$kind [$($lifetimes)*] $ty, $range);)*
    };
    (@read [$($lifetimes:tt)*] $ty:ty, $range:ident) => {
        arguments!(@shared [$($lifetimes)*] $ty, $range, &'p [T], Wide);
        arguments!(@shared [$($lifetimes)*] $ty, $range, Reference<'p, [T]>, Wide);
    };
    (@read_value [$($lifetimes:tt)*] $ty:ty, $range:ident) => {
        arguments!(@shared [$($lifetimes)*] $ty, $range, &'p T, Thin);
        arguments!(@shared [$($lifetimes)*] $ty, $range, Reference<'p, T>, Thin);
    };
    (@shared [$($lifetimes:tt)*] $ty:ty, $range:ident, $parameter:ty, $shape:ident) => {
        // SAFETY: the referent is alive, and nothing writes to it before the work is done.
        #[diagnostic::do_not_recommend]
        unsafe impl<'a, $($lifetimes)* 'p, T: DeviceCopy> Argument<$parameter> for $ty {
            type Passed = Range<'a>;

            #[inline]
            fn into_passed(self) -> Range<'a> {
                Range::new(self.$range(), Shape::$shape, Access::Read)
            }
        }
    };
    (@write [$($lifetimes:tt)*] $ty:ty, $range:ident) => {
        // SAFETY: nothing else uses the elements before the work is done.
        #[diagnostic::do_not_recommend]
        unsafe impl<'a, $($lifetimes)* T: DeviceCopy, P: Output<Element = T>> Argument<P>
            for $ty
        {
            type Passed = Range<'a>;

            #[inline]
            fn into_passed(self) -> Range<'a> {
                let shape = if P::WIDE { Shape::Wide } else { Shape::Struct };
                Range::new(self.$range(), shape, Access::Write)
            }
        }
    };
    (@write_value [$($lifetimes:tt)*] $ty:ty, $range:ident) => {
        // SAFETY: nothing else uses the value before the work is done.
        #[diagnostic::do_not_recommend]
        unsafe impl<'a, $($lifetimes)* T: DeviceCopy, P: OutputValue<Element = T>> Argument<P>
            for $ty
        {
            type Passed = Range<'a>;

            #[inline]
            fn into_passed(self) -> Range<'a> {
                Range::new(self.$range(), Shape::Thin, Access::Write)
            }
        }
    };
}

arguments! {
    [] &'a DeviceBuffer<T> => range, read;
    [] DeviceSlice<'a, T> => range, read;
    ['s,] &'a DeviceSlice<'s, T> => range, read;
    ['s,] &'a DeviceSliceMut<'s, T> => range, read;
    [] &'a UnifiedBuffer<T> => range, read;
    [] &'a LockedBuffer<T> => range, read;
    [] &'a DeviceBox<T> => range, read_value;
    [] &'a UnifiedBox<T> => range, read_value;
    [] &'a mut DeviceBuffer<T> => range_mut, write;
    [] DeviceSliceMut<'a, T> => into_range, write;
    ['s,] &'a mut DeviceSliceMut<'s, T> => range_mut, write;
    [] &'a mut UnifiedBuffer<T> => range_mut, write;
    [] &'a mut LockedBuffer<T> => range_mut, write;
    [] &'a mut DeviceBox<T> => range_mut, write_value;
    [] &'a mut UnifiedBox<T> => range_mut, write_value;
}

macro_rules! pointers {
    ($($pointer:ty)*) => {
        // SAFETY: `args` is unsafe for kernels that take raw pointers: the caller guarantees that
        // the kernel's accesses are valid.
        $(#[diagnostic::do_not_recommend]
        unsafe impl<T> Argument<$pointer> for DevicePointer<T> {
            type Passed = ByValue<u64>;

            #[inline]
            fn into_passed(self) -> ByValue<u64> {
                ByValue(self.as_raw())
            }
        })*
    };
}
pointers!(*const T *mut T);
