//! Tensor exchange with other libraries and languages through DLPack, which PyTorch, JAX, CuPy and
//! others support.
//!
//! ```
//! use cust::dlpack::Tensor;
//! use cust::prelude::*;
//!
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let buffer = DeviceBuffer::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let tensor = Tensor::new(buffer, &[2, 3])?;
//! let raw = tensor.into_raw(); // for the consumer: a capsule named `dltensor` in Python
//! // SAFETY: the tensor has no other owner.
//! let tensor = unsafe { Tensor::<f32>::from_raw(raw)? };
//! assert_eq!(tensor.shape(), [2, 3]);
//! assert_eq!(tensor.to_vec()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
//! # Ok::<(), cust::error::Error>(())
//! ```

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::backend::Backend;
use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::memory::{DeviceBuffer, DeviceCopy, DevicePointer, RangeOnDevice, transfer};
use crate::tracker::Tracker;

/// `DLDevice`: the device of a tensor.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DlDevice {
    /// The kind of device: 1 for the host, 2 for CUDA devices, 3 for CUDA pinned memory, 13 for
    /// CUDA managed memory.
    pub device_type: i32,
    /// The device's ordinal.
    pub device_id: i32,
}

/// `DLDataType`: the element type of a tensor.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DlDataType {
    /// The type code: 0 for signed integers, 1 for unsigned integers, 2 for floats, 4 for bfloat, 5
    /// for complex numbers, 6 for booleans.
    pub code: u8,
    /// The number of bits per lane.
    pub bits: u8,
    /// The number of lanes, for vector types.
    pub lanes: u16,
}

/// `DLTensor`: the description of a tensor.
#[repr(C)]
#[derive(Debug)]
pub struct DlTensor {
    /// The data's address.
    pub data: *mut c_void,
    /// The device.
    pub device: DlDevice,
    /// The number of dimensions.
    pub ndim: i32,
    /// The element type.
    pub dtype: DlDataType,
    /// The number of elements along each dimension.
    pub shape: *mut i64,
    /// The stride of each dimension, in elements; null for a contiguous row-major tensor.
    pub strides: *mut i64,
    /// The offset in bytes from the address to the first element.
    pub byte_offset: u64,
}

/// `DLManagedTensor`: a tensor with its deleter.
#[repr(C)]
#[derive(Debug)]
pub struct DlManagedTensor {
    /// The tensor.
    pub dl_tensor: DlTensor,
    /// Data of the tensor's producer.
    pub manager_ctx: *mut c_void,
    /// The function that releases the tensor; may be null.
    pub deleter: Option<unsafe extern "C" fn(*mut DlManagedTensor)>,
}

const ON_HOST: i32 = 1;
const ON_GPU: i32 = 2;
const MANAGED: i32 = 13;

/// An element type of tensors.
///
/// # Safety
///
/// `TYPE` must describe the type.
pub unsafe trait Element: DeviceCopy {
    /// The DLPack data type.
    const TYPE: DlDataType;
}

macro_rules! elements {
    ($($ty:ty: $code:literal)*) => {
        $(
            // SAFETY: the type is a number of this kind and size.
            unsafe impl Element for $ty {
                const TYPE: DlDataType = DlDataType {
                    code: $code,
                    bits: size_of::<$ty>() as u8 * 8,
                    lanes: 1,
                };
            }
        )*
    };
}
elements!(i8: 0 i16: 0 i32: 0 i64: 0 u8: 1 u16: 1 u32: 1 u64: 1 f32: 2 f64: 2);
#[cfg(feature = "half")]
elements!(half::f16: 2 half::bf16: 4);
#[cfg(feature = "num-complex")]
elements!(num_complex::Complex<f32>: 5 num_complex::Complex<f64>: 5);

/// A tensor in device memory, which this crate or another library allocated. Dropping it calls its
/// deleter.
pub struct Tensor<T> {
    raw: NonNull<DlManagedTensor>,
    context: Context,
    elements: PhantomData<T>,
}

// SAFETY: it owns the tensor, whose deleter may be called from any thread.
unsafe impl<T: Send> Send for Tensor<T> {}

/// The resources of a tensor that this crate produced.
struct Owner {
    #[expect(dead_code, reason = "freed with it")]
    buffer: Box<dyn std::any::Any + Send>,
    shape: Box<[i64]>,
    strides: Box<[i64]>,
    managed: DlManagedTensor,
}

impl<T: Element + Send + 'static> Tensor<T> {
    /// Creates a row-major tensor from a buffer.
    ///
    /// Waits for all pending work that uses the buffer, because consumers of a tensor do not wait.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] if the shape does not have the buffer's number of elements.
    pub fn new(buffer: DeviceBuffer<T>, shape: &[usize]) -> CudaResult<Tensor<T>> {
        let elements = shape
            .iter()
            .try_fold(1usize, |len, &size| len.checked_mul(size));
        if elements != Some(buffer.len()) {
            return Err(Error::SizeMismatch {
                doing: "creating a tensor of a buffer",
                source_len: buffer.len(),
                destination_len: elements.unwrap_or(usize::MAX),
            });
        }
        buffer.settle()?;
        let context = buffer.context().clone();
        // The sizes of an empty tensor may be any numbers, and its strides do not matter.
        let size = |&size: &usize| i64::try_from(size).unwrap_or(i64::MAX);
        let sizes: Box<[i64]> = shape.iter().map(size).collect();
        let mut strides: Vec<i64> = vec![1; shape.len()];
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i].saturating_mul(sizes[i]);
        }
        // The emulator's device memory is host memory.
        let device_type = match context.backend() {
            Backend::Gpu => ON_GPU,
            Backend::Emulator => ON_HOST,
        };
        // DLPack wants null for an empty tensor.
        let data = buffer.range().address as usize;
        let mut owner = Box::new(Owner {
            shape: sizes,
            strides: strides.into_boxed_slice(),
            managed: DlManagedTensor {
                dl_tensor: DlTensor {
                    data: std::ptr::with_exposed_provenance_mut(data),
                    device: DlDevice {
                        device_type,
                        device_id: context.device().as_raw(),
                    },
                    ndim: shape.len() as i32,
                    dtype: T::TYPE,
                    shape: std::ptr::null_mut(),
                    strides: std::ptr::null_mut(),
                    byte_offset: 0,
                },
                manager_ctx: std::ptr::null_mut(),
                deleter: Some(delete),
            },
            buffer: Box::new(buffer),
        });
        owner.managed.dl_tensor.shape = owner.shape.as_mut_ptr();
        owner.managed.dl_tensor.strides = owner.strides.as_mut_ptr();
        let owner = Box::into_raw(owner);
        // SAFETY: the owner is alive until `delete`.
        let raw = unsafe {
            (*owner).managed.manager_ctx = owner.cast();
            NonNull::new_unchecked(&raw mut (*owner).managed)
        };
        Ok(Tensor {
            raw,
            context,
            elements: PhantomData,
        })
    }
}

/// The deleter of tensors that this crate produced.
unsafe extern "C" fn delete(tensor: *mut DlManagedTensor) {
    if !tensor.is_null() {
        // SAFETY: created by `Tensor::new`; the caller of a deleter no longer uses the tensor.
        drop(unsafe { Box::from_raw((*tensor).manager_ctx.cast::<Owner>()) });
    }
}

impl<T: Element> Tensor<T> {
    /// Takes ownership of a tensor.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Tensor`] if the tensor is not a contiguous row-major tensor of `T` on the
    /// current context's device. The caller then keeps ownership.
    ///
    /// # Safety
    ///
    /// `raw` must be null or point to a valid DLPack tensor that has no other owner. All work that
    /// writes the tensor must be complete, and any thread may call its deleter.
    pub unsafe fn from_raw(raw: *mut DlManagedTensor) -> CudaResult<Tensor<T>> {
        let context = Context::current("importing a tensor")?;
        let refuse = |reason: String| Err(Error::Tensor { reason });
        let Some(raw) = NonNull::new(raw) else {
            return refuse("it is null".to_owned());
        };
        // SAFETY: as the caller promises.
        let tensor = unsafe { &raw.as_ref().dl_tensor };
        if tensor.dtype != T::TYPE {
            return refuse(format!(
                "its elements are {:?}, but {:?} are expected",
                tensor.dtype,
                T::TYPE
            ));
        }
        let here = match context.backend() {
            Backend::Gpu => matches!(tensor.device.device_type, ON_GPU | MANAGED),
            Backend::Emulator => tensor.device.device_type == ON_HOST,
        };
        if !here || tensor.device.device_id != context.device().as_raw() {
            return refuse(format!("it is on {:?}, not on this device", tensor.device));
        }
        let taken = Tensor {
            raw,
            context,
            elements: PhantomData,
        };
        let mut expected = 1i64;
        let dense = taken.strides().is_none_or(|strides| {
            let dimensions = taken.raw_shape().iter().zip(strides).rev();
            dimensions.fold(true, |dense, (&size, &stride)| {
                let fits = size == 1 || stride == expected;
                expected = expected.saturating_mul(size);
                dense && fits
            })
        });
        let sizes = taken.raw_shape().iter().all(|&size| size >= 0) && taken.elements().is_some();
        let address = taken.as_device_ptr().as_raw();
        if !dense || !sizes || !address.is_multiple_of(align_of::<T>() as u64) {
            let shape = taken.raw_shape().to_vec();
            // The caller keeps ownership.
            let _ = taken.into_raw();
            return refuse(format!(
                "its shape {shape:?} is not contiguous and row-major, or its address is not aligned"
            ));
        }
        Ok(taken)
    }

    fn tensor(&self) -> &DlTensor {
        // SAFETY: the tensor is valid until its deleter is called.
        unsafe { &self.raw.as_ref().dl_tensor }
    }

    fn raw_shape(&self) -> &[i64] {
        let tensor = self.tensor();
        if tensor.ndim <= 0 || tensor.shape.is_null() {
            return &[];
        }
        // SAFETY: the list has one entry per dimension.
        unsafe { std::slice::from_raw_parts(tensor.shape, tensor.ndim as usize) }
    }

    fn strides(&self) -> Option<&[i64]> {
        let tensor = self.tensor();
        if tensor.ndim <= 0 || tensor.strides.is_null() {
            return None;
        }
        // SAFETY: the list has one entry per dimension.
        Some(unsafe { std::slice::from_raw_parts(tensor.strides, tensor.ndim as usize) })
    }

    /// Returns the number of elements along each dimension.
    pub fn shape(&self) -> Vec<usize> {
        self.raw_shape().iter().map(|&size| size as usize).collect()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.elements().unwrap_or(0)
    }

    /// Returns the product of the sizes, or `None` if it overflows.
    fn elements(&self) -> Option<usize> {
        let shape = self.shape();
        if shape.contains(&0) {
            return Some(0);
        }
        let product = |len: usize, &size: &usize| len.checked_mul(size);
        shape.iter().try_fold(1, product)
    }

    /// Returns whether the tensor has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the address of the first element, for kernel arguments.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        let tensor = self.tensor();
        let start = tensor.data.expose_provenance() as u64;
        DevicePointer::from_raw(start + tensor.byte_offset)
    }

    /// Copies the elements to a `Vec` on the host, in row-major order.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the copy fails.
    pub fn to_vec(&self) -> CudaResult<Vec<T>> {
        let len = self.len();
        let tracker = Tracker::new(self.context.clone());
        let range = RangeOnDevice::<T>::new(&tracker, self.as_device_ptr().as_raw(), len);
        let mut vec = Vec::with_capacity(len);
        // SAFETY: the tensor has `len` elements, and the copy initializes them.
        unsafe {
            transfer::device_to_host(vec.as_mut_ptr() as *mut _, range, len * size_of::<T>())?;
            vec.set_len(len);
        }
        Ok(vec)
    }

    /// Releases ownership of the tensor. The new owner must call its deleter.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::dlpack::Tensor;
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let buffer = DeviceBuffer::from_slice(&[1i32, 2, 3])?;
    /// let raw = Tensor::new(buffer, &[3])?.into_raw();
    /// // … give the pointer to another library, which calls the deleter …
    /// # // SAFETY: the tensor has no other owner.
    /// # drop(unsafe { Tensor::<i32>::from_raw(raw)? });
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn into_raw(self) -> *mut DlManagedTensor {
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: the context is not used again, since `this` is never dropped.
        unsafe { std::ptr::drop_in_place(&mut this.context) };
        this.raw.as_ptr()
    }
}

impl<T> Drop for Tensor<T> {
    fn drop(&mut self) {
        // SAFETY: this value owns the tensor, and calls its deleter once.
        unsafe {
            if let Some(deleter) = self.raw.as_ref().deleter {
                deleter(self.raw.as_ptr());
            }
        }
    }
}

impl<T: Element> std::fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor({:?}, {:?})", self.as_device_ptr(), self.shape())
    }
}
