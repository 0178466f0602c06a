//! Launching kernels: the `launch!` macro, and the checks made before the driver is called.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::error::{CudaResult, Error};
use crate::function::{BlockSize, Function, GridSize};
use crate::memory::DeviceCopy;
use crate::stream::{Stream, StreamInner};

/// Launches a kernel: `launch!(module.kernel<<<grid, block, shared, stream>>>(arguments…))`.
///
/// - `module.kernel` is a [`Module`](crate::module::Module) and the name of a kernel in it; or
///   just a variable that holds a [`Function`](crate::function::Function).
/// - `grid` and `block` are sizes: a `u32`, a tuple of up to three, [`GridSize`] and [`BlockSize`].
/// - `shared` is the number of bytes of dynamic shared memory.
/// - `stream` is a [`Stream`](crate::stream::Stream): a variable, or a field such as `self.stream`.
/// - Each argument is [`DeviceCopy`]. The number of arguments and their sizes are compared with
///   the kernel's parameters before the launch, and an error says which differs. A slice parameter
///   of the kernel takes two arguments: `buffer.as_device_ptr(), buffer.len()`.
///
/// The value is a `CudaResult<()>`. The launch is asynchronous: what goes wrong in the kernel is
/// returned by the next `synchronize`.
///
/// # Safety
///
/// The macro calls an unsafe function: whoever writes it vouches that the arguments are of the
/// types that the kernel expects, that memory which it accesses stays alive and unused by others
/// until the kernel is done, and that the kernel's accesses stay inside it.
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

/// An argument of a launch: where its bytes are, how many, and what to call it in an error.
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    pointer: *const c_void,
    size: usize,
    type_name: fn() -> &'static str,
    value: PhantomData<&'a ()>,
}

impl<'a> Argument<'a> {
    /// Passes `value` by value.
    pub fn new<T: DeviceCopy>(value: &'a T) -> Argument<'a> {
        Argument {
            pointer: (value as *const T).cast(),
            size: size_of::<T>(),
            type_name: std::any::type_name::<T>,
            value: PhantomData,
        }
    }
}

/// What `launch!` calls: checks the arguments against the kernel's parameters, then launches.
/// Arguments without a size are left out, as in the kernel's own parameters.
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
    // SAFETY: the pointers are to arguments of the parameters' number and sizes; the rest as the
    // caller promises.
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
            // A wrong count explains a wrong size better than the size does.
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

/// Launches with pointers to the arguments, one for each parameter.
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
    note_launch(function, stream)?;
    // SAFETY: the handles are alive; the arguments are as the caller promises. The driver copies
    // them before it returns, and does not write to them.
    let launch = || unsafe {
        api.driver.cuLaunchKernel(
            function.to_raw(),
            grid.x,
            grid.y,
            grid.z,
            block.x,
            block.y,
            block.z,
            shared_mem_bytes,
            stream.as_inner(),
            arguments.as_ptr().cast_mut(),
            std::ptr::null_mut(),
        )
    };
    api.check(context.launch(sure, launch), doing)?;
    note_work(function, stream.inner());
    Ok(())
}

/// Before a launch: a panic may be this kernel's, and it has the stack that it needs.
pub(crate) fn note_launch(function: &Function<'_>, stream: &Stream) -> CudaResult<()> {
    let kernel = &function.kernel;
    function
        .context()
        .ensure_stack(kernel.stack, &kernel.name)?;
    if let Some(report) = function.report() {
        report.note_launch(stream.as_inner() as usize, &function.kernel.name);
    }
    Ok(())
}

/// After a launch: its number in the stream.
pub(crate) fn note_launched(function: &Function<'_>, stream: &Arc<StreamInner>, number: u64) {
    function.module.tracker().note_stream(stream);
    (stream.context).note_kernel(&function.kernel.name, stream, number);
}

/// After a launch: the module's code and variables are in use.
fn note_work(function: &Function<'_>, stream: &Arc<StreamInner>) {
    if stream.is_capturing() {
        return;
    }
    note_launched(function, stream, stream.next_number());
}
