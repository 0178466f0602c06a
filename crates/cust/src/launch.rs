//! The `launch!` macro, and the checks it makes before it calls the driver.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;

use cust_raw::{CUresult, CUstream, Driver};

use crate::dimensions::{BlockSize, GridSize};
use crate::error::{CudaResult, Error};
use crate::function::Function;
use crate::memory::DeviceCopy;
use crate::stream::{Stream, StreamInner};

/// Launches a kernel: `launch!(module.kernel<<<grid, block, shared, stream>>>(arguments…))`.
///
/// - `module.kernel` is a [`Module`](crate::module::Module) and the name of a kernel in it.
///   Alternatively, a single variable that holds a [`Function`](crate::function::Function).
/// - `grid` and `block` are dimensions: a `u32`, a tuple of up to three `u32`s, or a [`GridSize`]
///   and a [`BlockSize`].
/// - `shared` is the number of bytes of dynamic shared memory.
/// - `stream` is a [`Stream`](crate::stream::Stream): a variable, or a field such as `self.stream`.
/// - Each argument implements [`DeviceCopy`]. A slice parameter of the kernel takes two arguments:
///   `buffer.as_device_ptr(), buffer.len()`. As in Rust, it must not be null, even if it is empty.
///
/// The macro evaluates to a `CudaResult<()>`. The launch is asynchronous: the next `synchronize`
/// returns errors that occur while the kernel runs.
///
/// # Errors
///
/// The number and sizes of the arguments are compared with the kernel's parameters before the
/// launch; a mismatch is an [`ArgumentCount`](crate::error::Error::ArgumentCount) or
/// [`ArgumentSize`](crate::error::Error::ArgumentSize) error.
///
/// # Safety
///
/// The macro calls an unsafe function. The caller must ensure that the arguments have the types
/// that the kernel expects, that the memory which the kernel accesses stays alive and is not
/// accessed concurrently until the kernel completes, and that all accesses are in bounds.
///
/// # Examples
///
/// ```
/// use cust::prelude::*;
///
/// # const PTX: &str = "
/// # .version 7.0
/// # .target sm_70
/// # .address_size 64
/// # .visible .entry double(.param .u64 data, .param .u64 len) {
/// #     .reg .u64 %a<4>; .reg .u32 %r<4>; .reg .f32 %f<3>;
/// #     ld.param.u64 %a1, [data];
/// #     mov.u32 %r1, %tid.x;
/// #     mul.wide.u32 %a2, %r1, 4;
/// #     add.s64 %a3, %a1, %a2;
/// #     ld.global.f32 %f1, [%a3];
/// #     add.f32 %f2, %f1, %f1;
/// #     st.global.f32 [%a3], %f2;
/// #     ret;
/// # }
/// # ";
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let module = Module::from_ptx(PTX, &[])?;
/// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
/// let data = DeviceBuffer::from_slice(&[1.0f32, 2.0, 3.0])?;
/// // SAFETY: the kernel doubles each of `len` floats, one for each thread.
/// unsafe {
///     launch!(module.double<<<1, 3, 0, stream>>>(data.as_device_ptr(), data.len()))?;
/// }
/// stream.synchronize()?;
/// assert_eq!(data.as_host_vec()?, [2.0, 4.0, 6.0]);
/// # Ok::<(), cust::error::Error>(())
/// ```
#[macro_export]
macro_rules! launch {
    ($module:tt . $function:ident <<< $grid:expr, $block:expr, $shared:expr, $($stream:ident).+ >>>
        ( $($argument:expr),* $(,)? )) => {
        match $module.get_function(::core::stringify!($function)) {
            ::core::result::Result::Ok(function) => $crate::launch::launch(
                &function,
                $grid,
                $block,
                $shared,
                &$($stream).+,
                &[$($crate::launch::Argument::new(&$argument)),*],
            ),
            ::core::result::Result::Err(error) => ::core::result::Result::Err(error),
        }
    };
    ($function:tt <<< $grid:expr, $block:expr, $shared:expr, $($stream:ident).+ >>>
        ( $($argument:expr),* $(,)? )) => {
        $crate::launch::launch(
            &$function,
            $grid,
            $block,
            $shared,
            &$($stream).+,
            &[$($crate::launch::Argument::new(&$argument)),*],
        )
    };
}

/// An argument of a launch: the address and size of its bytes, and its type's name for errors.
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    pointer: *const c_void,
    size: usize,
    type_name: fn() -> &'static str,
    value: PhantomData<&'a ()>,
}

impl<'a> Argument<'a> {
    /// Creates an argument that passes `value` by value.
    pub fn new<T: DeviceCopy>(value: &'a T) -> Argument<'a> {
        Argument {
            pointer: (value as *const T).cast(),
            size: size_of::<T>(),
            type_name: std::any::type_name::<T>,
            value: PhantomData,
        }
    }
}

/// Checks the arguments against the kernel's parameters, then launches; `launch!` calls this.
/// Zero-sized arguments are omitted, since they have no parameter in the kernel's entry.
///
/// # Errors
///
/// Returns the errors of [`launch!`](crate::launch!).
///
/// # Safety
///
/// As for [`launch!`](crate::launch!).
pub unsafe fn launch<G, B>(
    function: &Function<'_>,
    grid_size: G,
    block_size: B,
    shared_mem_bytes: u32,
    stream: &Stream,
    arguments: &[Argument<'_>],
) -> CudaResult<()>
where
    G: Into<GridSize>,
    B: Into<BlockSize>,
{
    const INLINE: usize = 16;
    let sized = arguments.iter().filter(|argument| argument.size != 0);
    check_arguments(function, sized.clone())?;
    let pointers = sized.map(|argument| argument.pointer.cast_mut());
    let (grid_size, block_size) = (grid_size.into(), block_size.into());
    let mut inline = [std::ptr::null_mut(); INLINE];
    let heap: Vec<*mut c_void>;
    let pointers = if arguments.len() <= INLINE {
        let mut count = 0;
        for pointer in pointers {
            inline[count] = pointer;
            count += 1;
        }
        &inline[..count]
    } else {
        heap = pointers.collect();
        &heap
    };
    // SAFETY: the number and sizes of the arguments match the parameters; the caller guarantees
    // the rest.
    unsafe {
        launch_raw(
            function,
            grid_size,
            block_size,
            shared_mem_bytes,
            stream,
            pointers,
        )
    }
}

fn check_arguments<'a>(
    function: &Function<'_>,
    arguments: impl Iterator<Item = &'a Argument<'a>> + Clone,
) -> CudaResult<()> {
    let Some(parameters) = function.parameter_sizes() else {
        return Ok(());
    };
    let mut expected = parameters.iter();
    for (index, argument) in arguments.clone().enumerate() {
        let Some(&size) = expected.next() else {
            return Err(wrong_count(function, parameters, arguments.count()));
        };
        if size != argument.size {
            // If the count is wrong as well, report the count: it probably caused the wrong size.
            let found = arguments.count();
            if found != parameters.len() {
                return Err(wrong_count(function, parameters, found));
            }
            return Err(Error::ArgumentSize {
                kernel: function.name().to_owned(),
                index,
                type_name: (argument.type_name)(),
                expected: size,
                found: argument.size,
            });
        }
    }
    if expected.next().is_some() {
        return Err(wrong_count(function, parameters, arguments.count()));
    }
    Ok(())
}

#[cold]
fn wrong_count(function: &Function<'_>, parameters: &[usize], found: usize) -> Error {
    Error::ArgumentCount {
        kernel: function.name().to_owned(),
        expected: parameters.len(),
        found,
    }
}

/// Launches `function` with one pointer to an argument for each parameter.
///
/// # Safety
///
/// As for [`Stream::launch_raw`].
pub(crate) unsafe fn launch_raw(
    function: &Function<'_>,
    grid: GridSize,
    block: BlockSize,
    shared_mem_bytes: u32,
    stream: &Stream,
    arguments: &[*mut c_void],
) -> CudaResult<()> {
    let doing = || {
        format!(
            "launching the kernel `{}` with grid {grid}, block {block} and {shared_mem_bytes} \
             bytes of dynamic shared memory",
            function.name()
        )
    };
    let context = stream.context();
    context.require_same(function.context(), doing)?;
    if let Some(parameters) = function.parameter_sizes()
        && parameters.len() != arguments.len()
    {
        return Err(wrong_count(function, parameters, arguments.len()));
    }
    let (api, sure) = context.bind_for_launch()?;
    record_launch(function, stream)?;
    let (raw, pointers) = (stream.as_inner(), arguments.as_ptr().cast_mut());
    // SAFETY: the handles are alive, and the caller guarantees the arguments. The driver copies
    // them before it returns, and does not write to them.
    let launch = || unsafe {
        call(
            api.driver,
            function,
            (grid, block, shared_mem_bytes),
            raw,
            pointers,
        )
    };
    api.check(context.launch(sure, launch), doing)?;
    record_work(function, stream.inner());
    Ok(())
}

/// Calls the driver's launch function without launch attributes: with grid, block and the bytes of
/// dynamic shared memory, and with one pointer to an argument for each parameter.
///
/// # Safety
///
/// As for `cuLaunchKernel`.
#[inline]
pub(crate) unsafe fn call(
    driver: &Driver,
    function: &Function<'_>,
    (grid, block, shared_mem_bytes): (GridSize, BlockSize, u32),
    stream: CUstream,
    arguments: *mut *mut c_void,
) -> CUresult {
    // SAFETY: as the caller promises.
    unsafe {
        driver.cuLaunchKernel(
            function.entry_for(grid, block, arguments),
            grid.x,
            grid.y,
            grid.z,
            block.x,
            block.y,
            block.z,
            shared_mem_bytes,
            stream,
            arguments,
            std::ptr::null_mut(),
        )
    }
}

impl Stream {
    /// Launches a kernel with raw pointers to its arguments.
    ///
    /// [`launch!`](crate::launch!) also checks the sizes of the arguments.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`] if the kernel belongs to another context, and
    /// [`Error::ArgumentCount`] if the number of arguments is wrong and the kernel's parameters are
    /// known.
    ///
    /// # Safety
    ///
    /// Each element of `args` must point to an argument with the size and type of the kernel's
    /// parameter, and the kernel must be sound for these arguments.
    pub unsafe fn launch_raw<G, B>(
        &self,
        function: &Function<'_>,
        grid_size: G,
        block_size: B,
        shared_mem_bytes: u32,
        args: &[*mut c_void],
    ) -> CudaResult<()>
    where
        G: Into<GridSize>,
        B: Into<BlockSize>,
    {
        // SAFETY: as the caller promises.
        unsafe {
            launch_raw(
                function,
                grid_size.into(),
                block_size.into(),
                shared_mem_bytes,
                self,
                args,
            )
        }
    }
}

/// Prepares a launch: ensures that the context's stack limit suffices for the kernel, and records
/// the kernel in its module's panic report.
pub(crate) fn record_launch(function: &Function<'_>, stream: &Stream) -> CudaResult<()> {
    let kernel = &function.kernel;
    function
        .context()
        .ensure_stack(kernel.stack, &kernel.name)?;
    if let Some(report) = function.report() {
        report.record_launch(stream.inner().id(), &function.kernel.name);
    }
    Ok(())
}

/// Records a completed call of the driver's launch function: `number` is the launch's sequence
/// number in `stream`.
pub(crate) fn record_launched(function: &Function<'_>, stream: &Arc<StreamInner>, number: u64) {
    function.module.tracker().record_stream(stream);
    (stream.context).record_kernel(&function.kernel.name, stream.progress(), number);
}

/// Assigns a sequence number to a launch and records that the stream uses the module, unless the
/// stream is being captured.
fn record_work(function: &Function<'_>, stream: &Arc<StreamInner>) {
    if stream.is_capturing() {
        return;
    }
    record_launched(function, stream, stream.next_number());
}
