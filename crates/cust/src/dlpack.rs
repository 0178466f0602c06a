//! Tensors of other libraries and languages, in the form of DLPack: PyTorch, JAX, CuPy and others
//! give and take it.
//!
//! ```
//! use cust::dlpack::Tensor;
//! use cust::prelude::*;
//!
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let buffer = DeviceBuffer::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let tensor = Tensor::new(buffer, &[2, 3])?;
//! let raw = tensor.into_raw(); // to whoever wants it: a capsule named `dltensor` in Python
//! // SAFETY: it is a tensor that nobody else has.
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

/// `DLDevice`: where a tensor is.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DlDevice {
    /// 1 for the host, 2 for GPUs of CUDA, 3 for memory pinned by it, 13 for managed memory.
    pub device_type: i32,
    /// The device's number.
    pub device_id: i32,
}

/// `DLDataType`: what a tensor's elements are.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DlDataType {
    /// 0 for signed integers, 1 for unsigned ones, 2 for floats, 4 for bfloat, 5 for complex
    /// numbers, 6 for booleans.
    pub code: u8,
    /// The bits of each number.
    pub bits: u8,
    /// The numbers of each element.
    pub lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
#[derive(Debug)]
pub struct DlTensor {
    /// The address.
    pub data: *mut c_void,
    /// Where it is.
    pub device: DlDevice,
    /// How many dimensions it has.
    pub ndim: i32,
    /// What the elements are.
    pub dtype: DlDataType,
    /// The elements along each dimension.
    pub shape: *mut i64,
    /// The elements from one index to the next along each dimension; null if the last is fastest
    /// and there are no gaps.
    pub strides: *mut i64,
    /// Bytes from the address to the first element.
    pub byte_offset: u64,
}

/// `DLManagedTensor`: a tensor with who gives it back.
#[repr(C)]
#[derive(Debug)]
pub struct DlManagedTensor {
    /// The tensor.
    pub dl_tensor: DlTensor,
    /// What belongs to whoever made it.
    pub manager_ctx: *mut c_void,
    /// Gives it back; may be null.
    pub deleter: Option<unsafe extern "C" fn(*mut DlManagedTensor)>,
}

const ON_HOST: i32 = 1;
const ON_GPU: i32 = 2;
const MANAGED: i32 = 13;

/// A type of elements that tensors can have.
///
/// # Safety
///
/// The type is what its description says.
pub unsafe trait Element: DeviceCopy {
    /// The description.
    const TYPE: DlDataType;
}

macro_rules! elements {
    ($($ty:ty: $code:literal)*) => {
        $(
            // SAFETY: a number of this kind and size.
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

/// A tensor in memory of the device, ours or another library's. Dropping it gives it back.
pub struct Tensor<T> {
    raw: NonNull<DlManagedTensor>,
    context: Context,
    elements: PhantomData<T>,
}

// SAFETY: it owns what it refers to, and gives it back on whatever thread.
unsafe impl<T: Send> Send for Tensor<T> {}

/// What a tensor that is ours keeps.
struct Owner {
    #[expect(dead_code, reason = "freed with it")]
    buffer: Box<dyn std::any::Any + Send>,
    shape: Box<[i64]>,
    strides: Box<[i64]>,
    managed: DlManagedTensor,
}

impl<T: Element + Send + 'static> Tensor<T> {
    /// Makes a tensor of a buffer, with the last dimension fastest. Waits for the work that uses
    /// it: who takes a tensor expects it to be ready.
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
        // Without elements the sizes may be anything, and strides do not matter.
        let size = |&size: &usize| i64::try_from(size).unwrap_or(i64::MAX);
        let sizes: Box<[i64]> = shape.iter().map(size).collect();
        let mut strides: Vec<i64> = vec![1; shape.len()];
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i].saturating_mul(sizes[i]);
        }
        // The emulator's memory is the host's.
        let device_type = match context.backend() {
            Backend::Gpu => ON_GPU,
            Backend::Emulator => ON_HOST,
        };
        let data = buffer.as_device_ptr().as_raw() as usize;
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
                deleter: Some(give_back),
            },
            buffer: Box::new(buffer),
        });
        owner.managed.dl_tensor.shape = owner.shape.as_mut_ptr();
        owner.managed.dl_tensor.strides = owner.strides.as_mut_ptr();
        let owner = Box::into_raw(owner);
        // SAFETY: the owner is alive until `give_back`.
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

/// The deleter of tensors that are ours.
unsafe extern "C" fn give_back(tensor: *mut DlManagedTensor) {
    if !tensor.is_null() {
        // SAFETY: made by `Tensor::new`; who calls a deleter is done with the tensor.
        drop(unsafe { Box::from_raw((*tensor).manager_ctx.cast::<Owner>()) });
    }
}

impl<T: Element> Tensor<T> {
    /// Takes a tensor over, whose elements have to be `T`, without gaps and with the last dimension
    /// fastest, on the current context's device. An error leaves it to the caller.
    ///
    /// # Safety
    ///
    /// It is a tensor as DLPack describes it, which nobody else takes, and work that writes it is
    /// done. Any thread may call its deleter.
    pub unsafe fn from_raw(raw: *mut DlManagedTensor) -> CudaResult<Tensor<T>> {
        let context = Context::current("taking over a tensor")?;
        let refuse = |reason: String| Err(Error::Tensor { reason });
        let Some(raw) = NonNull::new(raw) else {
            return refuse("it is null".to_owned());
        };
        // SAFETY: as the caller promises.
        let tensor = unsafe { &raw.as_ref().dl_tensor };
        if tensor.dtype != T::TYPE {
            return refuse(format!(
                "its elements are {:?}, and {:?} are expected",
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
            // It stays the caller's.
            let _ = taken.into_raw();
            return refuse(format!(
                "its shape {shape:?} has gaps, or it is not aligned"
            ));
        }
        Ok(taken)
    }

    fn tensor(&self) -> &DlTensor {
        // SAFETY: it is a tensor until it is given back.
        unsafe { &self.raw.as_ref().dl_tensor }
    }

    fn raw_shape(&self) -> &[i64] {
        let tensor = self.tensor();
        if tensor.ndim <= 0 || tensor.shape.is_null() {
            return &[];
        }
        // SAFETY: it has as many sizes as dimensions.
        unsafe { std::slice::from_raw_parts(tensor.shape, tensor.ndim as usize) }
    }

    fn strides(&self) -> Option<&[i64]> {
        let tensor = self.tensor();
        if tensor.ndim <= 0 || tensor.strides.is_null() {
            return None;
        }
        // SAFETY: it has as many strides as dimensions.
        Some(unsafe { std::slice::from_raw_parts(tensor.strides, tensor.ndim as usize) })
    }

    /// The number of elements along each dimension.
    pub fn shape(&self) -> Vec<usize> {
        self.raw_shape().iter().map(|&size| size as usize).collect()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.elements().unwrap_or(0)
    }

    /// The product of the sizes, if it is a number.
    fn elements(&self) -> Option<usize> {
        let shape = self.shape();
        if shape.contains(&0) {
            return Some(0);
        }
        let product = |len: usize, &size: &usize| len.checked_mul(size);
        shape.iter().try_fold(1, product)
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The address of the first element, as kernels take it.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        let tensor = self.tensor();
        let start = tensor.data.expose_provenance() as u64;
        DevicePointer::from_raw(start + tensor.byte_offset)
    }

    /// Copies the elements to the host.
    pub fn to_vec(&self) -> CudaResult<Vec<T>> {
        let len = self.len();
        let tracker = Tracker::new(self.context.clone());
        let range = RangeOnDevice::<T>::new(&tracker, self.as_device_ptr().as_raw(), len);
        let mut vec = Vec::with_capacity(len);
        // SAFETY: the tensor has this many elements, and the copy fills them.
        unsafe {
            transfer::device_to_host(vec.as_mut_ptr() as *mut _, range, len * size_of::<T>())?;
            vec.set_len(len);
        }
        Ok(vec)
    }

    /// Gives the tensor away: whoever gets it calls its deleter.
    pub fn into_raw(self) -> *mut DlManagedTensor {
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: the context is not used again: the value is never dropped.
        unsafe { std::ptr::drop_in_place(&mut this.context) };
        this.raw.as_ptr()
    }
}

impl<T> Drop for Tensor<T> {
    fn drop(&mut self) {
        // SAFETY: it was given to this value, which gives it back once.
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
