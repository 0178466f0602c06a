//! Kernels as the host sees them: the host expansion of `#[kernel]`, and the matching of arguments
//! with parameters.
//!
//! `#[kernel] fn vecadd(…)` creates, on the host, a type of the kernel's name that implements
//! [`Kernel`], with a function `vecadd::args(…)` that has one parameter per kernel parameter. Each
//! accepts the types that implement [`Argument`] for the type of the kernel's parameter. `cust`
//! implements it for its buffers, and launches the [`Args`] that `args` returns.
//!
//! # Examples
//!
//! ```
//! use std::any::Any;
//! use std::mem::MaybeUninit;
//!
//! use cust_core::kernel::{Access, Argument, HostMemory, Launch, Pass, Reference};
//!
//! /// Records what the arguments of a launch report.
//! #[derive(Default)]
//! struct Recorder {
//!     parameters: Vec<usize>,
//!     copied: Vec<usize>,
//! }
//!
//! impl<'a> Launch<'a> for Recorder {
//!     fn parameter(&mut self, bytes: &'a [MaybeUninit<u8>], _: fn() -> &'static str) {
//!         self.parameters.push(bytes.len());
//!     }
//!
//!     fn resource(&mut self, _: &'a dyn Any, _: Access, _: u64, _: usize) {}
//!
//!     fn host(&mut self, memory: HostMemory<'a>) {
//!         self.copied.push(memory.bytes());
//!     }
//! }
//!
//! let mut recorder = Recorder::default();
//! // For a parameter of type `f32`, and for one of type `&[u16; 3]`.
//! let factor = Argument::<f32>::into_passed(1.5f32);
//! let table = Argument::<Reference<'_, [u16; 3]>>::into_passed(&[1u16, 2, 3]);
//! factor.pass(&mut recorder);
//! table.pass(&mut recorder);
//! assert_eq!((&recorder.parameters[..], &recorder.copied[..]), (&[4][..], &[6][..]));
//! ```

use core::any::Any;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub use crate::cpu::Parameters;
use crate::traits::DeviceCopy;

/// A kernel of a crate that was compiled for the host.
///
/// # Safety
///
/// `#[kernel]` implements it. The module that is built from the crate `PACKAGE` has a kernel of
/// this name, with the parameters of the type's function `args`.
pub unsafe trait Kernel: 'static {
    /// The name of its entry in the module.
    const NAME: &'static str;
    /// The kernel's package.
    const PACKAGE: &'static str;
    /// The parameters with their layouts on the host.
    #[doc(hidden)]
    const SIGNATURE: &'static str;
    /// The block size, if the kernel fixes it: `#[kernel(block_size(256))]`.
    const BLOCK_SIZE: Option<[u32; 3]> = None;

    /// The kernel's name in messages.
    #[doc(hidden)]
    fn shown() -> &'static str {
        Self::NAME
    }

    /// Refers to the embedded device code that has the kernel, so that a linker adds it to the
    /// program.
    #[doc(hidden)]
    fn link() {}
}

/// A kernel that can run on the CPU.
///
/// # Safety
///
/// `#[kernel]` implements it. `run` calls the kernel that the type represents.
#[cfg(not(target_arch = "nvptx64"))]
#[diagnostic::on_unimplemented(
    message = "the kernel `{Self}` does not run on the CPU",
    label = "this kernel does not run on the CPU",
    note = "generic kernels run on the CPU only in crates that `cargo cuda` builds",
    note = "kernels with a named lifetime in a `#[grid_constant]` parameter, and associated functions that \
            are unsafe or have more than 8 parameters, run only on devices"
)]
pub unsafe trait OnCpu: Kernel {
    /// Runs one thread of the kernel, the one that [`cpu::with`](crate::cpu::with) returns.
    ///
    /// # Safety
    ///
    /// The parameters come from arguments for this kernel, and each thread of a launch runs once.
    #[doc(hidden)]
    unsafe fn run<'k>(parameters: &mut Parameters<'k>);
}

/// A type that can be passed to a kernel's parameter of type `P`.
///
/// Values are passed to parameters of their own type. `cust` adds `&DeviceBuffer<T>` and
/// `DeviceSlice<T>` for `&[T]`, `&DeviceBox<T>` for `&T`, and `&mut DeviceBuffer<T>` or
/// `DeviceSliceMut<T>` for output types.
///
/// Slices, arrays, `Vec`s, strings and values in host memory are passed to the same parameters. The
/// launch copies `&[T]`, `&[T; N]` and `&Vec<T>` (for `&[T]`), `&str` and `&String` (for `&str`),
/// and `&T` (for `&T`), to the device. It copies `&mut [T]`, `&mut [T; N]` and `&mut Vec<T>` (for output types), and `&mut u32` (for
/// `&AtomicU32`), to the device and back.
///
/// # Safety
///
/// The bytes that `Passed` writes to the kernel's parameters are a valid `P` on the device, and
/// stay valid until the launch completes if all resources that `Passed` reports are kept alive
/// until then.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel's parameter `{P}`",
    label = "the kernel's parameter is `{P}`",
    note = "pass `&DeviceBuffer<T>` for `&[T]`, `&DeviceBox<T>` for `&T`, `&mut DeviceBuffer<T>` \
            for `PerThread<T>` or `&[AtomicT]`, and values of other types as they are",
    note = "slices, arrays, `Vec`s and values in host memory are copied: `&[T]` for `&[T]`, `&str` for \
            `&str`, `&T` for `&T`, `&mut [T]` for `PerThread<T>` or `&[AtomicT]`, and `&mut u32` for `&AtomicU32`",
    note = "structs and enums passed by value must be `DeviceCopy`, which can be derived"
)]
pub unsafe trait Argument<P> {
    /// The form in which the argument is stored until the launch.
    type Passed: Pass;

    /// Converts the argument.
    fn into_passed(self) -> Self::Passed;
}

// SAFETY: the parameter consists of the value's bytes.
#[diagnostic::do_not_recommend]
unsafe impl<T: DeviceCopy> Argument<T> for T {
    type Passed = ByValue<T>;

    #[inline]
    fn into_passed(self) -> ByValue<T> {
        ByValue(self)
    }
}

/// A kernel's parameter `&'p T`, in the form in which `#[kernel]` bounds its argument.
/// `Argument<&'p T>` cannot be implemented for `&T`: another crate might implement `DeviceCopy` for
/// a reference to its own type, and pass it as a value.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'p, T: ?Sized>(PhantomData<&'p T>);

/// Arguments, one after the other.
///
/// # Safety
///
/// As for [`Argument`].
pub unsafe trait Pass {
    /// Reports the parameters' bytes and the resources that the kernel uses to `launch`.
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>);
}

/// A launch that arguments report their parameters to.
pub trait Launch<'a> {
    /// Sets the bytes of the next parameter of the kernel's entry; none for a zero-sized type.
    fn parameter(&mut self, bytes: &'a [MaybeUninit<u8>], type_name: fn() -> &'static str);

    /// Reports that the kernel uses `bytes` bytes from `address` on of a resource.
    fn resource(&mut self, resource: &'a dyn Any, access: Access, address: u64, bytes: usize);

    /// Sets the next parameter of the kernel's entry to elements in host memory.
    fn host(&mut self, memory: HostMemory<'a>);
}

/// An access of a kernel to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Only reads.
    Read,
    /// Writes, and possibly reads.
    Write,
}

/// An argument that is passed by value.
#[derive(Debug, Clone, Copy)]
pub struct ByValue<T>(pub T);

// SAFETY: the parameter consists of the value's bytes.
unsafe impl<T: DeviceCopy> Pass for ByValue<T> {
    #[inline]
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        launch.parameter(bytes_of(&self.0), core::any::type_name::<T>);
    }
}

/// An argument of a generic kernel for a parameter whose type is a type parameter.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Bits<T>(T);

impl<T: 'static> Bits<T> {
    /// Creates an argument that is passed as the value's bytes.
    ///
    /// # Safety
    ///
    /// The type is `Copy`, and its bytes have the same meaning on the device. In single-source
    /// programs, the compiler rejects instances that violate this; other programs do not launch
    /// them.
    #[inline]
    pub const unsafe fn new(value: T) -> Self {
        Bits(value)
    }
}

// SAFETY: the parameter consists of the value's bytes.
unsafe impl<T: 'static> Pass for Bits<T> {
    #[inline]
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        launch.parameter(bytes_of(&self.0), core::any::type_name::<T>);
    }
}

/// The name of an associated function that is a kernel.
#[doc(hidden)]
pub trait AssociatedName: 'static {
    /// The function's name.
    const NAME: &'static str;
    /// The kernel's package.
    const PACKAGE: &'static str;
}

/// The type that represents a kernel that is an associated function. `E` is the function's own
/// type, and `P` the tuple of its parameter types, with all lifetimes `'static`.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Associated<N, E, P>(PhantomData<(N, E, P)>, core::convert::Infallible);

// SAFETY: the kernel is launched only in single-source programs, where the compiler identifies it
// by this type.
unsafe impl<N: AssociatedName, E: 'static, P: 'static> Kernel for Associated<N, E, P> {
    const NAME: &'static str = N::NAME;
    const PACKAGE: &'static str = N::PACKAGE;
    const SIGNATURE: &'static str = "";

    fn shown() -> &'static str {
        associated_path(core::any::type_name::<E>(), N::NAME)
    }
}

/// Returns the path of an associated function without modules and without arguments of its own, as
/// in `Filter::scale` and `<a::Filter as a::Scale>::scale`. `path` is the name of the function's
/// own type.
fn associated_path<'a>(path: &'a str, name: &'a str) -> &'a str {
    // The positions of `::` outside of arguments, and the start of the last arguments.
    let (mut depth, mut arguments) = (0, path.len());
    let (mut separators, mut previous) = ([0; 2], b' ');
    for (i, &byte) in path.as_bytes().iter().enumerate() {
        match byte {
            b'<' => {
                if depth == 0 {
                    arguments = i;
                }
                depth += 1;
            }
            b'>' if previous != b'-' => depth -= 1,
            b':' if previous == b':' && depth == 0 => separators = [separators[1], i + 1],
            _ => {}
        }
        previous = byte;
    }
    let end = match path.ends_with('>') {
        true => arguments,
        false => path.len(),
    };
    let start = match path.starts_with('<') {
        true => 0,
        false => separators[0],
    };
    // The standard library does not guarantee the form of type names.
    match path.get(start..end) {
        Some(found) if found.ends_with(name) => found,
        _ => name,
    }
}

/// Implements `OnCpu` for associated functions with this number of parameters.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! associated_on_cpu {
    ($($parameter:ident)*) => {
        // SAFETY: `run` calls the function.
        unsafe impl<N, E, R, $($parameter),*> OnCpu for Associated<N, E, ($($parameter,)*)>
        where
            N: AssociatedName,
            E: Fn($($parameter),*) -> R + 'static,
            $($parameter: 'static,)*
        {
            #[allow(non_snake_case, unused_variables)]
            unsafe fn run<'k>(parameters: &mut Parameters<'k>) {
                const { assert!(size_of::<E>() == 0, "a function's own type has no size") };
                // SAFETY: the zero-sized type has one value; the parameters are those of the
                // function, for every lifetime that its type does not name.
                unsafe {
                    let function = core::ptr::NonNull::<E>::dangling().read();
                    $(let $parameter = parameters.take::<$parameter>();)*
                    function($($parameter),*);
                }
            }
        }
    };
}
#[cfg(not(target_arch = "nvptx64"))]
mod associated {
    use super::*;

    associated_on_cpu!();
    associated_on_cpu!(A);
    associated_on_cpu!(A B);
    associated_on_cpu!(A B C);
    associated_on_cpu!(A B C D);
    associated_on_cpu!(A B C D F);
    associated_on_cpu!(A B C D F G);
    associated_on_cpu!(A B C D F G H);
    associated_on_cpu!(A B C D F G H I);
}

/// The content of the type that represents a generic kernel; uninhabited.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Types<T>(PhantomData<T>, core::convert::Infallible);

/// Elements in host memory that a launch copies to the device and, if the kernel writes them, back.
#[derive(Debug)]
pub struct HostMemory<'a> {
    pointer: *mut (),
    /// The values after the address in the parameters: the length and other sizes.
    sizes: [u64; 4],
    /// The number of sizes that are passed.
    passed: usize,
    bytes: usize,
    align: usize,
    wide: bool,
    access: Access,
    type_name: fn() -> &'static str,
    borrow: PhantomData<&'a mut ()>,
}

impl HostMemory<'_> {
    /// Describes `len` elements at `pointer`. They are passed like a slice if `wide`, otherwise as
    /// one parameter, see [`Output`].
    ///
    /// # Safety
    ///
    /// During the type's lifetime, the elements are neither moved nor written, nor accessed if
    /// `access` is [`Access::Write`]. The kernel leaves valid values in them.
    pub const unsafe fn new<T: DeviceCopy>(
        pointer: *mut T,
        len: usize,
        wide: bool,
        access: Access,
    ) -> Self {
        HostMemory {
            pointer: pointer.cast(),
            sizes: [len as u64, 0, 0, 0],
            passed: 1,
            // The elements exist in memory, so this does not overflow.
            bytes: len * size_of::<T>(),
            align: align_of::<T>(),
            wide,
            access,
            type_name: core::any::type_name::<[T]>,
            borrow: PhantomData,
        }
    }

    /// Describes a value, which is passed as its address alone.
    ///
    /// # Safety
    ///
    /// As for `new`.
    const unsafe fn of_value<T: DeviceCopy>(pointer: *mut T, access: Access) -> Self {
        // SAFETY: the caller upholds the contract of `new`.
        let slice = unsafe { HostMemory::new(pointer, 1, false, access) };
        HostMemory {
            passed: 0,
            type_name: core::any::type_name::<T>,
            ..slice
        }
    }

    /// Adds sizes that are passed after the length, as [`OutputRows`] and [`OutputVolume`] require.
    ///
    /// # Safety
    ///
    /// The sizes satisfy the requirements of these traits.
    pub const unsafe fn with_sizes<const N: usize>(mut self, sizes: [u64; N]) -> Self {
        let mut i = 0;
        while i < N {
            self.sizes[i + 1] = sizes[i];
            i += 1;
        }
        self.passed = N + 1;
        self
    }

    /// Returns the address of the first element.
    pub const fn pointer(&self) -> *mut () {
        self.pointer
    }

    /// Returns the values after the address in the kernel's parameters, the number of elements
    /// first; empty for an array.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes[..self.passed]
    }

    /// Returns the size of all elements in bytes.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the alignment of the elements.
    pub const fn align(&self) -> usize {
        self.align
    }

    /// Returns whether address and length are two parameters of the entry instead of one.
    pub const fn is_wide(&self) -> bool {
        self.wide
    }

    /// Returns the kernel's access to the elements.
    pub const fn access(&self) -> Access {
        self.access
    }

    /// Returns the name of the elements' slice type.
    pub const fn type_name(&self) -> fn() -> &'static str {
        self.type_name
    }
}

/// Elements in host memory that a kernel reads.
#[derive(Debug, Clone, Copy)]
pub struct HostSlice<'h, T>(&'h [T]);

// SAFETY: the launch sets the parameters to the address of a copy and the length.
unsafe impl<T: DeviceCopy> Pass for HostSlice<'_, T> {
    #[inline]
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        let pointer = self.0.as_ptr().cast_mut();
        // SAFETY: the elements are borrowed and not written.
        launch.host(unsafe { HostMemory::new(pointer, self.0.len(), true, Access::Read) });
    }
}

/// A value of the host that a kernel reads.
#[derive(Debug, Clone, Copy)]
pub struct HostValue<'h, T>(&'h T);

// SAFETY: the launch sets the parameter to the address of a copy.
unsafe impl<T: DeviceCopy> Pass for HostValue<'_, T> {
    #[inline]
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        let pointer = (&raw const *self.0).cast_mut();
        // SAFETY: the value is borrowed and not written.
        launch.host(unsafe { HostMemory::of_value(pointer, Access::Read) });
    }
}

// SAFETY: the elements are copied, and the copies exist until the launch completes.
unsafe impl<'h: 'p, 'p, T: DeviceCopy, const N: usize> Argument<&'p [T; N]> for &'h [T; N] {
    type Passed = HostValue<'h, [T; N]>;

    #[inline]
    fn into_passed(self) -> HostValue<'h, [T; N]> {
        HostValue(self)
    }
}

// SAFETY: the value is copied, and the copy exists until the launch completes.
unsafe impl<'h: 'p, 'p, T: DeviceCopy> Argument<Reference<'p, T>> for &'h T {
    type Passed = HostValue<'h, T>;

    #[inline]
    fn into_passed(self) -> HostValue<'h, T> {
        HostValue(self)
    }
}

/// A value in host memory that a kernel modifies atomically.
#[derive(Debug)]
pub struct HostValueMut<'h, T> {
    /// Not a reference: a launch has only a shared reference to this value.
    pointer: *mut T,
    borrow: PhantomData<&'h mut T>,
}

// SAFETY: represents an exclusive reference to the value.
unsafe impl<T: Send> Send for HostValueMut<'_, T> {}

// SAFETY: as for `HostValue`. `Args` passes its arguments to one launch, the only one that accesses
// the value.
unsafe impl<T: DeviceCopy> Pass for HostValueMut<'_, T> {
    #[inline]
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        // SAFETY: the value is borrowed exclusively.
        launch.host(unsafe { HostMemory::of_value(self.pointer, Access::Write) });
    }
}

// SAFETY: the value is copied to the device and back, and only the launch accesses it until it
// completes. The atomic type has the same size, alignment and values.
#[diagnostic::do_not_recommend]
unsafe impl<'h: 'p, 'p, T: DeviceCopy, A: Atomic<Value = T>> Argument<Reference<'p, A>>
    for &'h mut T
{
    type Passed = HostValueMut<'h, T>;

    #[inline]
    fn into_passed(self) -> HostValueMut<'h, T> {
        HostValueMut {
            pointer: self,
            borrow: PhantomData,
        }
    }
}

/// Elements in host memory that a kernel writes.
#[derive(Debug)]
pub struct HostSliceMut<'h, T> {
    /// Not a reference: a launch has only a shared reference to this value.
    pointer: *mut T,
    len: usize,
    wide: bool,
    borrow: PhantomData<&'h mut [T]>,
}

// SAFETY: represents an exclusive reference to the elements.
unsafe impl<T: Send> Send for HostSliceMut<'_, T> {}

impl<'h, T> HostSliceMut<'h, T> {
    #[inline]
    fn new(slice: &'h mut [T], wide: bool) -> Self {
        HostSliceMut {
            pointer: slice.as_mut_ptr(),
            len: slice.len(),
            wide,
            borrow: PhantomData,
        }
    }
}

// SAFETY: as for `HostSlice`. `Args` passes its arguments to one launch, the only one that accesses
// the elements.
unsafe impl<T: DeviceCopy> Pass for HostSliceMut<'_, T> {
    #[inline]
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        // SAFETY: the elements are borrowed exclusively.
        launch.host(unsafe { HostMemory::new(self.pointer, self.len, self.wide, Access::Write) });
    }
}

/// Implements arguments in host memory for `&[T]` and output types.
macro_rules! host_arguments {
    ($([$($generics:tt)*] $ty:ty;)*) => {
        $(
            // SAFETY: the elements are copied, and the copies exist until the launch completes.
            unsafe impl<'h: 'p, 'p, T: DeviceCopy, $($generics)*> Argument<&'p [T]> for &'h $ty {
                type Passed = HostSlice<'h, T>;

                #[inline]
                fn into_passed(self) -> HostSlice<'h, T> {
                    HostSlice(self)
                }
            }

            // SAFETY: as above.
            #[diagnostic::do_not_recommend]
            unsafe impl<'h: 'p, 'p, T: DeviceCopy, $($generics)*> Argument<Reference<'p, [T]>>
                for &'h $ty
            {
                type Passed = HostSlice<'h, T>;

                #[inline]
                fn into_passed(self) -> HostSlice<'h, T> {
                    HostSlice(self)
                }
            }

            // SAFETY: as above, and only the launch accesses the elements until it completes.
            unsafe impl<'h, 'p, T: DeviceCopy, P: Output<Element = T> + OutputOf<'p>, $($generics)*>
                Argument<P> for &'h mut $ty
            where
                'h: 'p,
            {
                type Passed = HostSliceMut<'h, T>;

                #[inline]
                fn into_passed(self) -> HostSliceMut<'h, T> {
                    HostSliceMut::new(self, P::WIDE)
                }
            }
        )*
    };
}

host_arguments! {
    [] [T];
    [const N: usize] [T; N];
}
#[cfg(not(target_arch = "nvptx64"))]
host_arguments! {
    [] alloc::vec::Vec<T>;
}

// SAFETY: the bytes are copied, and the copy exists until the launch completes.
#[diagnostic::do_not_recommend]
unsafe impl<'h: 'p, 'p> Argument<&'p str> for &'h str {
    type Passed = HostSlice<'h, u8>;

    #[inline]
    fn into_passed(self) -> HostSlice<'h, u8> {
        HostSlice(self.as_bytes())
    }
}

// SAFETY: as above.
#[cfg(not(target_arch = "nvptx64"))]
#[diagnostic::do_not_recommend]
unsafe impl<'h: 'p, 'p> Argument<&'p str> for &'h alloc::string::String {
    type Passed = HostSlice<'h, u8>;

    #[inline]
    fn into_passed(self) -> HostSlice<'h, u8> {
        HostSlice(self.as_bytes())
    }
}

/// Returns a value's bytes, including padding.
#[inline]
pub fn bytes_of<T>(value: &T) -> &[MaybeUninit<u8>] {
    // SAFETY: every byte is a valid `MaybeUninit<u8>`, and the value is borrowed for as long.
    unsafe { core::slice::from_raw_parts((value as *const T).cast(), size_of::<T>()) }
}

// SAFETY: no parameters.
unsafe impl Pass for () {
    #[inline]
    fn pass<'a>(&'a self, _launch: &mut dyn Launch<'a>) {}
}

// SAFETY: passes the arguments in order.
unsafe impl<A: Pass, B: Pass> Pass for (A, B) {
    #[inline]
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        self.0.pass(launch);
        self.1.pass(launch);
    }
}

/// The arguments of one launch of the kernel `K`, created by `K::args(…)`.
#[must_use = "arguments do nothing until a launch takes them"]
pub struct Args<K, A> {
    arguments: A,
    kernel: PhantomData<fn() -> K>,
}

impl<K: Kernel, A: Pass> Args<K, A> {
    /// Creates arguments for the kernel.
    ///
    /// # Safety
    ///
    /// The arguments are those of the kernel's parameters, in order, and the kernel's use of them
    /// is sound.
    #[inline]
    pub unsafe fn new(arguments: A) -> Self {
        Args {
            arguments,
            kernel: PhantomData,
        }
    }

    /// Returns the arguments.
    #[inline]
    pub fn into_arguments(self) -> A {
        self.arguments
    }

    /// Reports all arguments to `launch`.
    #[inline]
    pub fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        self.arguments.pass(launch);
    }
}

impl<K: Kernel, A> core::fmt::Debug for Args<K, A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "arguments of the kernel `{}`", K::shown())
    }
}

/// A parameter type for elements in device memory that the kernel writes without data races between
/// its threads. The host passes a `&mut DeviceBuffer`.
///
/// # Safety
///
/// Its value is a pointer to the elements and their number: if `WIDE`, like a slice, as two
/// parameters of the kernel's entry; otherwise as one, with the layout of
/// `#[repr(C)] struct { pointer: *mut Element, length: usize }`. Its safe functions do not let
/// threads of a grid access an element concurrently if one of them writes it, except atomically.
#[diagnostic::on_unimplemented(
    message = "a kernel's parameter `{Self}` does not accept `&mut` memory",
    label = "the kernel's parameter is `{Self}`",
    note = "pass `&DeviceBuffer<T>` for `&[T]`, `buffer.rows_mut(width)` for `PerThread2d<T>`, `PerTile<T>`, \
            `PerRow<T>` and `PerColumn<T>`, `buffer.volume_mut(width, height)` for `PerThread3d<T>`, and `DeviceCopy` values for themselves"
)]
pub unsafe trait Output {
    /// The type of the elements on the host.
    type Element;
    /// Whether it is passed like a slice.
    const WIDE: bool;
}

/// An [`Output`] whose type names no lifetime longer than `'p`, because references that outlive the
/// elements of a host slice would dangle.
///
/// # Safety
///
/// Values of the type yield no reference that outlives `'p` and the kernel.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a kernel's parameter `{Self}` does not accept `&mut` host memory",
    label = "the kernel's parameter is `{Self}`"
)]
pub unsafe trait OutputOf<'p> {}

/// Like [`Output`], for the rows of a matrix. The host passes `buffer.rows_mut(width)`.
///
/// # Safety
///
/// Its value has the layout of a `#[repr(C)]` struct of the fields `pointer: *mut Element`,
/// `length: usize`, `width: usize` and `height: usize`, where the last row may be partial, `width`
/// is at most 2⁴⁰ and at most `length` or 1, and `height` at most 2⁶². Otherwise as for [`Output`].
#[diagnostic::on_unimplemented(
    message = "a kernel's parameter `{Self}` does not accept rows",
    label = "the kernel's parameter is `{Self}`",
    note = "pass `&mut DeviceBuffer<T>` for `PerThread<T>`, and its `rows_mut(width)` for \
            `PerThread2d<T>`"
)]
pub unsafe trait OutputRows {
    /// The type of the elements on the host.
    type Element;
}

/// Like [`Output`], for a volume. The host passes `buffer.volume_mut(width, height)`.
///
/// # Safety
///
/// Its value has the layout of a `#[repr(C)]` struct of the fields `pointer: *mut Element`,
/// `length: usize`, `width: usize`, `height: usize` and `depth: usize`, where the last layer may be
/// partial, `width` is at most 2⁴⁰, and `width * height` at most 2⁴⁰ or the size of one layer that
/// contains all elements. Otherwise as for [`Output`].
#[diagnostic::on_unimplemented(
    message = "a kernel's parameter `{Self}` does not accept a volume",
    label = "the kernel's parameter is `{Self}`",
    note = "pass `&mut DeviceBuffer<T>` for `PerThread<T>`, and its `volume_mut(width, height)` for \
            `PerThread3d<T>`"
)]
pub unsafe trait OutputVolume {
    /// The type of the elements on the host.
    type Element;
}

/// Like [`Output`], for one value. The host passes a `&mut DeviceBox`.
///
/// # Safety
///
/// Its value is the address of the element. Otherwise as for [`Output`].
#[diagnostic::on_unimplemented(
    message = "a kernel's parameter `{Self}` does not accept `&mut` memory",
    label = "the kernel's parameter is `{Self}`"
)]
pub unsafe trait OutputValue {
    /// The type of the value on the host.
    type Element;
}

/// A parameter type through which a kernel sets a condition of its graph.
///
/// # Safety
///
/// Its value is the condition's 64-bit handle, which its safe functions use only to set the
/// condition.
#[diagnostic::on_unimplemented(
    message = "a kernel's parameter `{Self}` does not accept a graph condition",
    label = "the kernel's parameter is `{Self}`"
)]
pub unsafe trait SetsCondition {}

/// The shape of a texture or a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageShape {
    /// This number of dimensions.
    Plain(usize),
    /// Layers of this number of dimensions.
    Layered(usize),
    /// A cube map: six faces.
    Cube,
    /// Layers of cube maps.
    LayeredCube,
}

impl core::fmt::Display for ImageShape {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            ImageShape::Plain(1) => f.write_str("one dimension"),
            ImageShape::Plain(n) => write!(f, "{n} dimensions"),
            ImageShape::Layered(1) => f.write_str("layers of one dimension"),
            ImageShape::Layered(n) => write!(f, "layers of {n} dimensions"),
            ImageShape::Cube => f.write_str("a cube"),
            ImageShape::LayeredCube => f.write_str("layers of cubes"),
        }
    }
}

/// The type of the components that a texture returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageNumbers {
    /// `f32`, possibly converted from integers.
    Float,
    /// `i32`, possibly extended from narrower integers.
    Signed,
    /// `u32`, possibly extended from narrower integers.
    Unsigned,
}

impl core::fmt::Display for ImageNumbers {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            ImageNumbers::Float => "floats",
            ImageNumbers::Signed => "signed integers",
            ImageNumbers::Unsigned => "unsigned integers",
        })
    }
}

/// A parameter type through which a kernel reads a texture. The host passes a reference to a
/// texture.
///
/// # Safety
///
/// Its value is the texture's 64-bit handle, which its safe functions use only to read elements as
/// the constants specify.
#[diagnostic::on_unimplemented(
    message = "a kernel's parameter `{Self}` does not accept a texture",
    label = "the kernel's parameter is `{Self}`"
)]
pub unsafe trait TextureParam {
    /// The shape.
    const SHAPE: ImageShape;
    /// The type of the channels.
    const NUMBERS: ImageNumbers;
    /// The number of channels of an element.
    const CHANNELS: u32;
}

/// A parameter type through which a kernel reads and writes a surface. The host passes a reference
/// to a surface.
///
/// # Safety
///
/// Its value is the surface's 64-bit handle, which its safe functions use only to read and write
/// elements of this size.
#[diagnostic::on_unimplemented(
    message = "a kernel's parameter `{Self}` does not accept a surface",
    label = "the kernel's parameter is `{Self}`"
)]
pub unsafe trait SurfaceParam {
    /// The shape.
    const SHAPE: ImageShape;
    /// The size of an element in bytes.
    const ELEMENT: usize;
}

/// A type that all threads may modify through shared references: `AtomicU32` and similar types, and
/// arrays of them.
///
/// # Safety
///
/// It has the size and alignment of `Value`, and every value of one type is a value of the other.
#[diagnostic::on_unimplemented(
    message = "a `&mut` of `{Self}` cannot be passed to a kernel's parameter that is a shared reference",
    label = "`{Self}` is not an atomic type",
    note = "pass `&` for a parameter that the kernel only reads; for one that it writes, the parameter \
            is a `PerThread`, or a reference to atomics, such as `&[AtomicU32]` for a `&mut [u32]`"
)]
pub unsafe trait Atomic: Sync {
    /// The type without atomicity.
    type Value: DeviceCopy;
}

// SAFETY: an array consists of its elements.
unsafe impl<A: Atomic, const N: usize> Atomic for [A; N] {
    type Value = [A::Value; N];
}

// SAFETY: the type is a slice of atomics.
unsafe impl<A: Atomic> Output for &[A] {
    type Element = A::Value;
    const WIDE: bool = true;
}

// SAFETY: the type is a reference with lifetime `'p`.
unsafe impl<'p, A: Atomic> OutputOf<'p> for &'p [A] {}

// SAFETY: as above.
unsafe impl<A: Atomic> OutputValue for &A {
    type Element = A::Value;
}

// SAFETY: the type represents such a reference.
unsafe impl<A: Atomic> OutputValue for Reference<'_, A> {
    type Element = A::Value;
}

macro_rules! atomics {
    ($($bits:literal $($atomic:ident $value:ty),*;)*) => {
        $($(
            #[cfg(target_has_atomic = $bits)]
            // SAFETY: the standard library documents that they have the same representation.
            unsafe impl Atomic for core::sync::atomic::$atomic {
                type Value = $value;
            }
        )*)*
    };
}
atomics! {
    "8" AtomicU8 u8, AtomicI8 i8;
    "16" AtomicU16 u16, AtomicI16 i16;
    "32" AtomicU32 u32, AtomicI32 i32;
    "64" AtomicU64 u64, AtomicI64 i64;
    "ptr" AtomicUsize usize, AtomicIsize isize;
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    #[test]
    fn associated_kernels_have_their_types_name() {
        for (path, expected) in [
            ("a::b::Filter::scale", "Filter::scale"),
            (
                "a::Filter::scale<a::f::{{closure}}, fn(u8) -> u8>",
                "Filter::scale",
            ),
            ("a::Line<a::b::X>::scale<f32>", "Line<a::b::X>::scale"),
            (
                "<a::Filter as a::Scale>::scale",
                "<a::Filter as a::Scale>::scale",
            ),
            (
                "<[f32] as a::Scale<fn() -> u8>>::scale<u8>",
                "<[f32] as a::Scale<fn() -> u8>>::scale",
            ),
            ("something else", "scale"),
            ("", "scale"),
            ("a>>::scale>", "scale"),
        ] {
            assert_eq!(associated_path(path, "scale"), expected, "{path}");
        }
    }

    /// A launch that records the parameters' bytes.
    #[derive(Default)]
    struct Parameters(Vec<Vec<u8>>);

    impl<'a> Launch<'a> for Parameters {
        fn parameter(&mut self, bytes: &'a [MaybeUninit<u8>], _: fn() -> &'static str) {
            // SAFETY: the types of this test have no padding.
            let byte = |byte: &MaybeUninit<u8>| unsafe { byte.assume_init() };
            self.0.push(bytes.iter().map(byte).collect());
        }

        fn resource(&mut self, _: &'a dyn Any, _: Access, _: u64, _: usize) {
            unreachable!("the arguments are values");
        }

        fn host(&mut self, _: HostMemory<'a>) {
            unreachable!("the arguments are values");
        }
    }

    #[test]
    fn arguments_are_passed_in_order_with_all_their_bytes() {
        let large: [u8; 20] = core::array::from_fn(|i| i as u8);
        let arguments = (large.into_passed(), ([7_u8].into_passed(), ()));
        let mut parameters = Parameters::default();
        arguments.pass(&mut parameters);
        assert_eq!(parameters.0, [&large[..], &[7]]);
    }
}
