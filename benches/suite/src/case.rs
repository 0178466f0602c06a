//! The definition of a benchmark: buffers, arguments for each form, and a check of the results.

use crate::cub::Call;
use bench_kernels::images::Vec3;
use cust::error::CudaResult;
use cust::memory::{DeviceBuffer, DeviceCopy, Zeroable};
use cust::vector::Vector;
use std::any::Any;
use std::fmt::Debug;
use std::rc::Rc;

/// The forms in which each benchmark exists, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// CUDA C++, compiled by nvcc.
    Nvcc,
    /// Rust with raw pointers.
    Raw,
    /// Rust without `unsafe`.
    Safe,
}

impl Form {
    /// All forms.
    pub const ALL: [Form; 3] = [Form::Nvcc, Form::Raw, Form::Safe];

    /// Returns the form's name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Form::Nvcc => "nvcc",
            Form::Raw => "raw",
            Form::Safe => "safe",
        }
    }

    /// Returns the name of a benchmark's kernel in this form.
    pub fn kernel(self, benchmark: &str) -> String {
        match self {
            Form::Nvcc => benchmark.to_owned(),
            Form::Raw => format!("{benchmark}_raw"),
            Form::Safe => format!("{benchmark}_safe"),
        }
    }
}

/// A buffer to which arguments point and that checks read.
pub type Buffer<T> = Rc<DeviceBuffer<T>>;

/// Returns the address of a buffer and the number of vectors in it.
fn vectors_of<V: Vector>(buffer: &Buffer<V::Scalar>) -> [u64; 2] {
    let vectors = buffer.as_vectors::<V>().expect("whole vectors");
    [vectors.as_device_ptr().as_raw(), vectors.len() as u64]
}

/// The error of a check: the difference.
pub type Check = Result<(), String>;

/// The arguments of a kernel, as the bytes of its parameters.
#[derive(Clone, Default)]
pub struct Args(Vec<Vec<u8>>);

impl Args {
    /// Creates an empty list.
    pub fn new() -> Args {
        Args::default()
    }

    fn words(mut self, words: &[u64]) -> Args {
        let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
        self.0.push(bytes.collect());
        self
    }

    /// Adds a raw pointer or a reference.
    pub fn pointer<T: DeviceCopy>(self, buffer: &Buffer<T>) -> Args {
        self.words(&[buffer.as_device_ptr().as_raw()])
    }

    /// Adds a slice, which is two parameters.
    pub fn slice<T: DeviceCopy>(self, buffer: &Buffer<T>) -> Args {
        self.pointer(buffer).value(buffer.len() as u64)
    }

    /// Adds a slice of vectors, which consists of the buffer's elements.
    pub fn vectors<V: Vector>(self, buffer: &Buffer<V::Scalar>) -> Args {
        let [address, len] = vectors_of::<V>(buffer);
        self.value(address).value(len)
    }

    /// Adds a `PerThread` or similar type of vectors, which consists of the buffer's elements.
    pub fn output_vectors<V: Vector>(self, buffer: &Buffer<V::Scalar>) -> Args {
        self.words(&vectors_of::<V>(buffer))
    }

    /// Adds a `PerThread`, `PerBlock` or similar type.
    pub fn output<T: DeviceCopy>(self, buffer: &Buffer<T>) -> Args {
        self.words(&[buffer.as_device_ptr().as_raw(), buffer.len() as u64])
    }

    /// Adds a `PerThread2d`, `PerTile` or similar type.
    pub fn rows<T: DeviceCopy>(self, buffer: &Buffer<T>, width: usize) -> Args {
        let height = buffer.len().div_ceil(width);
        self.words(&[
            buffer.as_device_ptr().as_raw(),
            buffer.len() as u64,
            width as u64,
            height as u64,
        ])
    }

    /// Adds a `PerThread3d`.
    pub fn volume<T: DeviceCopy>(self, buffer: &Buffer<T>, width: usize, height: usize) -> Args {
        let depth = buffer.len().div_ceil(width * height);
        self.words(&[
            buffer.as_device_ptr().as_raw(),
            buffer.len() as u64,
            width as u64,
            height as u64,
            depth as u64,
        ])
    }

    /// Adds a number or a vector.
    pub fn value<T: Number>(mut self, value: T) -> Args {
        self.0.push(value.bytes());
        self
    }

    /// Appends another list.
    pub fn and(mut self, other: Args) -> Args {
        self.0.extend(other.0);
        self
    }

    /// Returns pointers to the bytes of each parameter.
    pub fn pointers(&mut self) -> Vec<*mut std::ffi::c_void> {
        self.0
            .iter_mut()
            .map(|bytes| bytes.as_mut_ptr().cast())
            .collect()
    }
}

/// A number, or a vector of numbers, that kernels take.
pub trait Number {
    /// Returns the number's bytes.
    fn bytes(self) -> Vec<u8>;
}

macro_rules! numbers {
    ($($ty:ty)*) => {
        $(
            impl Number for $ty {
                fn bytes(self) -> Vec<u8> {
                    self.to_ne_bytes().to_vec()
                }
            }
        )*
    };
}
numbers!(u32 i32 u64 usize f32 f64);

impl Number for Vec3 {
    fn bytes(self) -> Vec<u8> {
        [self.x, self.y, self.z].map(f32::to_ne_bytes).concat()
    }
}

/// A buffer that kernels write, and its initial contents.
pub struct Output {
    /// The address.
    pub address: u64,
    /// The size in bytes.
    pub bytes: usize,
    /// The initial value of each byte before the kernel starts.
    pub fill: u8,
}

/// A benchmark with its inputs on the device.
pub struct Case {
    /// The name, from which the kernels' names are derived.
    pub name: &'static str,
    /// The number of blocks.
    pub grid: (u32, u32, u32),
    /// The number of threads per block.
    pub block: (u32, u32, u32),
    /// The arguments of [`Form::ALL`].
    pub args: [Args; 3],
    /// The minimum number of bytes that the kernels read from and write to memory.
    pub bytes: f64,
    /// The number of `f32` operations of the kernels; an instruction with two operations counts
    /// twice.
    pub f32_operations: f64,
    /// The number of `f64` operations.
    pub f64_operations: f64,
    /// The buffers that the kernels write.
    pub outputs: Vec<Output>,
    /// Whether the outputs are reset before each launch.
    pub reset: bool,
    /// Compares the kernels' results with the CPU's.
    pub check: Box<dyn Fn() -> Check>,
    /// The same computation by CUB, if CUB has it.
    pub cub: Option<Call>,
    /// Keeps the buffers alive.
    pub buffers: Vec<Box<dyn Any>>,
}

impl Case {
    /// Creates a benchmark without arguments.
    pub fn new(name: &'static str, grid: impl Dimensions, block: impl Dimensions) -> Case {
        Case {
            name,
            grid: grid.dimensions(),
            block: block.dimensions(),
            args: Default::default(),
            bytes: 0.0,
            f32_operations: 0.0,
            f64_operations: 0.0,
            outputs: Vec::new(),
            reset: false,
            check: Box::new(|| Ok(())),
            cub: None,
            buffers: Vec::new(),
        }
    }

    /// Sets the arguments of the three forms.
    pub fn args(mut self, nvcc: Args, raw: Args, safe: Args) -> Case {
        self.args = [nvcc, raw, safe];
        self
    }

    /// Adds a buffer that the kernels read.
    pub fn input<T: DeviceCopy + 'static>(mut self, buffer: &Buffer<T>) -> Case {
        self.buffers.push(Box::new(buffer.clone()));
        self
    }

    /// Adds a buffer that the kernels write completely.
    pub fn output<T: DeviceCopy + 'static>(self, buffer: &Buffer<T>) -> Case {
        self.output_from(buffer, 0xa5)
    }

    /// Adds a buffer that the kernels write partially. Each byte is `fill` before they start.
    pub fn output_from<T: DeviceCopy + 'static>(mut self, buffer: &Buffer<T>, fill: u8) -> Case {
        self.outputs.push(Output {
            address: buffer.as_device_ptr().as_raw(),
            bytes: buffer.len() * size_of::<T>(),
            fill,
        });
        self.input(buffer)
    }

    /// Resets the outputs before each launch, for kernels that add to them.
    pub fn reset(mut self) -> Case {
        self.reset = true;
        self
    }

    /// Sets the minimum number of bytes that the kernels read from and write to memory.
    pub fn bytes(mut self, bytes: usize) -> Case {
        self.bytes = bytes as f64;
        self
    }

    /// Sets the number of `f32` operations of the kernels.
    pub fn f32_operations(mut self, count: f64) -> Case {
        self.f32_operations = count;
        self
    }

    /// Sets the number of `f64` operations of the kernels.
    pub fn f64_operations(mut self, count: f64) -> Case {
        self.f64_operations = count;
        self
    }

    /// Sets the function of CUB with the same result.
    pub fn cub<T: DeviceCopy>(
        mut self,
        function: &'static str,
        from: &Buffer<T>,
        to: &Buffer<T>,
    ) -> Case {
        self.cub = Some(Call {
            function,
            from: from.as_device_ptr().as_raw(),
            to: to.as_device_ptr().as_raw(),
            len: from.len(),
        });
        self
    }

    /// Sets the comparison of the results with the CPU's.
    pub fn check(mut self, check: impl Fn() -> Check + 'static) -> Case {
        self.check = Box::new(check);
        self
    }
}

/// The size of a grid or block.
pub trait Dimensions {
    /// Returns all three dimensions.
    fn dimensions(self) -> (u32, u32, u32);
}

impl Dimensions for usize {
    fn dimensions(self) -> (u32, u32, u32) {
        (self as u32, 1, 1)
    }
}

impl Dimensions for (usize, usize) {
    fn dimensions(self) -> (u32, u32, u32) {
        (self.0 as u32, self.1 as u32, 1)
    }
}

impl Dimensions for (usize, usize, usize) {
    fn dimensions(self) -> (u32, u32, u32) {
        (self.0 as u32, self.1 as u32, self.2 as u32)
    }
}

/// Creates a buffer with these values.
pub fn upload<T: DeviceCopy>(values: &[T]) -> CudaResult<Buffer<T>> {
    Ok(Rc::new(DeviceBuffer::from_slice(values)?))
}

/// Creates a zeroed buffer.
pub fn zeroed<T: DeviceCopy + Zeroable>(len: usize) -> CudaResult<Buffer<T>> {
    Ok(Rc::new(DeviceBuffer::zeroed(len)?))
}

/// Returns a pseudorandom number, the same for each `index` in each run.
pub fn random(index: u64) -> u64 {
    let mut x = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Returns a pseudorandom number from 0 to 1.
pub fn uniform(index: u64) -> f64 {
    (random(index) >> 11) as f64 / (1u64 << 53) as f64
}

/// Returns numbers from 0 to 1.
pub fn uniform_f32(n: usize, seed: u64) -> Vec<f32> {
    (0..n as u64)
        .map(|i| uniform(i ^ (seed << 40)) as f32)
        .collect()
}

/// Returns numbers from 0 to 1.
pub fn uniform_f64(n: usize, seed: u64) -> Vec<f64> {
    (0..n as u64).map(|i| uniform(i ^ (seed << 40))).collect()
}

/// The maximum number of results that are compared with the CPU's, spread over all results.
const SAMPLES: usize = 2000;

/// Returns the indices of the results to compare, of `len`: all indices of a small result.
pub fn samples(len: usize) -> impl Iterator<Item = usize> {
    // An odd step reaches all columns and rows.
    let step = (len / SAMPLES) | 1;
    let step = if len <= 4 * SAMPLES { 1 } else { step };
    (0..len).step_by(step).chain(len.checked_sub(1))
}

/// Compares results with the CPU's, with a relative and an absolute tolerance.
pub fn close<T: DeviceCopy + Into<f64>>(
    results: &Buffer<T>,
    relative: f64,
    absolute: f64,
    expected: impl Fn(usize) -> f64,
) -> Check {
    let results = download(results)?;
    for i in samples(results.len()) {
        near(i, results[i], expected(i), relative, absolute)?;
    }
    Ok(())
}

/// Compares results with the CPU's, which must be equal.
pub fn equal<T: DeviceCopy + PartialEq + Debug>(
    results: &Buffer<T>,
    expected: impl Fn(usize) -> T,
) -> Check {
    let results = download(results)?;
    for i in samples(results.len()) {
        same(i, &results[i], &expected(i))?;
    }
    Ok(())
}

/// Compares result `i` with the CPU's, which must be equal.
pub fn same<T: PartialEq + Debug>(i: usize, result: T, expected: T) -> Check {
    match result == expected {
        true => Ok(()),
        false => Err(format!(
            "element {i} is {result:?}, but should be {expected:?}"
        )),
    }
}

/// Compares result `i` with the CPU's, with a relative and an absolute tolerance.
pub fn near(
    i: usize,
    result: impl Into<f64>,
    expected: f64,
    relative: f64,
    absolute: f64,
) -> Check {
    let result = result.into();
    let difference = (result - expected).abs();
    // Also false for NaN.
    let fits = difference <= relative * expected.abs() + absolute;
    match fits {
        true => Ok(()),
        false => Err(format!("element {i} is {result}, but should be {expected}")),
    }
}

/// Returns the values of a buffer.
pub fn download<T: DeviceCopy>(buffer: &Buffer<T>) -> Result<Vec<T>, String> {
    buffer.as_host_vec().map_err(|error| error.to_string())
}
