//! Macros of `cuda_std`, which re-exports them: `#[kernel]`, `#[address_space(..)]`, `#[constant]`,
//! `#[derive(AnyBits)]` and `ptx!`.
//!
//! They check their items, report errors with spans, and pass information to the compiler's backend
//! through attributes that exist on the device only. On the host, items are unchanged. Each macro
//! is one module: a function from tokens to tokens, which its unit tests call.

mod address_space;
mod any_bits;
mod associated;
mod foreign;
mod generic;
mod grid_constant;
mod handle;
mod kernel;
mod names;
mod on_cpu;
mod options;
mod ptx;
mod shared;
mod table;

use proc_macro::TokenStream;

/// Makes a function a kernel: an entry point that the host launches by the function's name.
///
/// ```ignore
/// #[kernel]
/// pub fn scale(factor: f32, from: &[f32], mut to: PerThread<f32>) {
///     for (i, to) in to.own() {
///         *to = factor * from[i];
///     }
/// }
/// ```
///
/// Parameters are passed by value and must be `Copy`: numbers, structs, arrays, raw pointers, and
/// shared references and slices to memory of the device; or types for output, such as `PerThread`.
/// A kernel returns nothing. It has no `&mut` parameters: all threads would have the same one,
/// while `&mut` promises Rust that nobody else has it. Take a `PerThread` instead, or a raw
/// pointer.
///
/// # Options
///
/// ```ignore
/// #[kernel(launch_bounds(256, 2), max_registers = 64, cluster_dims(2, 1, 1))]
/// ```
///
/// - `launch_bounds(MAX_THREADS, MIN_BLOCKS)`: blocks have at most so many threads, and the compiler
///   saves registers so that so many blocks (if it is given) fit a multiprocessor. Not every GPU's
///   holds more than 1024 threads, so more blocks than have these count as fewer; `max_registers`
///   asks for more.
/// - `block_size(X, Y, Z)`: blocks have exactly this size, which the compiler makes use of.
/// - `min_blocks = N`: as the second number of `launch_bounds`, beside `block_size`.
/// - `max_registers = N`: threads use at most so many registers.
/// - `stack_size = BYTES`: threads have a stack of this size, instead of the size that the compiler
///   computes. Only kernels with recursion need it: see `CudaBuilder::recursion_depth`.
/// - `cluster_dims(X, Y, Z)`: blocks are launched in clusters of this size (from `sm_90` on).
/// - `max_blocks_per_cluster = N`: clusters have at most so many blocks (from `sm_90` on).
/// - `device_launch`: kernels launch this one, by `cuda_std::dynamic`.
///
/// - `associated`: the kernel is an associated function, in an `impl` of a single-source program.
///
/// # Generic kernels
///
/// In single-source programs a kernel can have type and constant parameters, and `impl Trait` in its
/// parameters. The host's code names or infers them, and each instance that it launches is compiled:
///
/// ```ignore
/// #[kernel]
/// pub fn map<T: Copy>(f: impl Fn(T) -> T + Copy, from: &[T], mut to: PerThread<T>) {
///     for (i, to) in to.own() {
///         *to = f(from[i]);
///     }
/// }
///
/// stream.launch((4, 256), map::args(move |x| x * factor, &from, &mut to))?;
/// stream.launch((4, 256), map::<f32, _>::args(f32::sqrt, &from, &mut to))?;
/// ```
///
/// A parameter whose type is a type parameter takes values that are `DeviceCopy`, functions, and closures
/// whose captured values are such; anything else is an error of the compiler. Type parameters are
/// `'static`.
///
/// An associated function that is a kernel has a second one beside it, of its name and `_args`. It takes
/// `self` by value if the kernel does:
///
/// ```ignore
/// impl<T: Number> Polynomial<T> {
///     #[kernel(associated)]
///     fn evaluate(self, at: &[T], mut to: PerThread<T>) { … }
/// }
///
/// stream.launch((4, 256), polynomial.evaluate_args(&at, &mut to))?;
/// ```
///
/// # Shared memory
///
/// A parameter with `#[shared]` is none for the host: it is shared memory of the block, which
/// `cuda_std::shared` describes. A kernel with one cannot be called as a function.
///
/// ```ignore
/// #[kernel]
/// pub fn reverse(#[shared] mut tile: Shared<Array<f32, 256>>, from: &[f32], mut to: PerThread<f32>)
/// ```
///
/// # Constants of the grid
///
/// A parameter with `#[grid_constant]` is a reference to a value that the host passes: to where the
/// launch keeps it, without a copy for each thread. Large structs of which threads read little are
/// best passed so, and tensor maps have to be.
///
/// ```ignore
/// #[kernel]
/// pub unsafe fn load(#[grid_constant] map: &TensorMap, to: *mut f32)
/// ```
///
/// # On the host
///
/// The function is an ordinary one, and beside it is a type of the same name, with a function
/// `args` that takes the kernel's arguments. `cust` launches them:
///
/// ```ignore
/// let module = KERNELS.load()?;
/// let scaled = scale::args(2.0, &from, &mut to);
/// module.launch(&stream, (blocks, threads), scaled)?;
/// ```
///
/// Arguments that do not fit the parameters do not compile. `args` is unsafe for a kernel that is
/// unsafe, or that takes raw pointers.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(attribute.into(), item.into()).into()
}

/// Puts a static into an address space of the device: `shared`, `constant` or `global`.
///
/// - `#[address_space(shared)]`: one for each block. It must be `static mut`, and its initialiser
///   has no effect: it is uninitialised when a block starts.
/// - `#[address_space(constant)]`: in constant memory (64 KiB for all), which kernels cannot write
///   and which is fastest when a warp's threads read the same address. For what the host sets,
///   `#[constant]` needs no `unsafe`.
/// - `#[address_space(global)]`: in global memory, where statics are without the attribute too.
///
/// ```ignore
/// #[address_space(shared)]
/// static mut TILE: [f32; 256] = [0.0; 256];
/// ```
///
/// `#[address_space(constant, unsafe(name = "FACTORS"))]` says by which name the module has it, which
/// is otherwise made up. It is unsafe as `no_mangle` is: no other item may have the name.
///
/// # On the host
///
/// The static is an ordinary one. Beside a static in constant or global memory that is not private
/// is a type of the same name, by which `cust` finds the variable in a module: `use` brings both.
///
/// ```ignore
/// #[address_space(constant)]
/// pub static mut FACTORS: [f32; 4] = [1.0; 4];          // in the crate of kernels
///
/// module.global_mut::<FACTORS>()?.set(&[0.5; 4])?;      // in the host's program
/// ```
///
/// A static with `#[no_mangle]` or `#[export_name]` is found if it has it on the host as well: what
/// stands in a `cfg_attr` for the device alone is not known there. `name` is the way that does.
#[proc_macro_attribute]
pub fn address_space(attribute: TokenStream, item: TokenStream) -> TokenStream {
    address_space::expand(attribute.into(), item.into()).into()
}

/// A variable in constant memory (64 KiB for all), which the host sets and kernels read as any static: what
/// `__constant__` is in CUDA C++. It is fastest when a warp's threads read the same address.
///
/// ```ignore
/// #[constant]
/// pub static FACTORS: [f32; 4] = [1.0; 4];              // in the crate of kernels
///
/// *to = FACTORS[i % 4] * from[i];                       // in a kernel
///
/// module.global_mut::<FACTORS>()?.set(&[0.5; 4])?;      // in the host's program
/// ```
///
/// The static becomes a `cuda_std::Constant` of the type, which derefs to it: the compiler must not count
/// on the value that it starts with.
#[proc_macro_attribute]
pub fn constant(attribute: TokenStream, item: TokenStream) -> TokenStream {
    address_space::expand_constant(attribute.into(), item.into()).into()
}

/// Makes a struct `cuda_std::AnyBits`, if all of its fields are: then it can be in shared memory, and go
/// through shuffles, reductions and scans.
///
/// ```ignore
/// #[derive(Clone, Copy, AnyBits)]
/// struct Body {
///     place: [f32; 3],
///     mass: f32,
/// }
/// ```
#[proc_macro_derive(AnyBits)]
pub fn any_bits(input: TokenStream) -> TokenStream {
    any_bits::expand(input.into()).into()
}

/// Inline PTX, in the notation of `asm!`.
///
/// ```ignore
/// use cuda_std::prelude::*;
///
/// /// The number of leading zeros of each element.
/// #[kernel]
/// pub fn leading_zeros(from: &[u32], mut to: PerThread<u32>) {
///     to.each(|i, to| {
///         let zeros: u32;
///         // SAFETY: it computes a register.
///         unsafe {
///             cuda_std::ptx!(
///                 "clz.b32 {}, {};",
///                 out(reg32) zeros,
///                 in(reg32) from[i],
///                 options(pure, nomem, nostack),
///             );
///         }
///         *to = zeros;
///     });
/// }
/// ```
///
/// On nvptx64 it is `asm!`, and the crate needs `#![feature(asm_experimental_arch)]` there. Code with
/// it compiles for the host as well, where it panics, and in crates that have kernels beside host
/// code, where `asm!` would be the host's.
///
/// The template is one or several string literals; braces of PTX are written twice. Operands are
/// `in(CLASS) value`, `out(CLASS) place`, `inout(CLASS) place`, `inout(CLASS) value => place` and
/// `const value`, with names or without; the classes are `reg16`, `reg32` and `reg64`. A `const` is a
/// `u32`, or what a suffix or a cast at its end says; one that depends on a const parameter is a
/// parameter of type `u32` alone. `options(..)` are those of `asm!`.
///
/// # Safety
/// As with `asm!`: the PTX does what the operands and options say, and nothing that Rust forbids.
#[proc_macro]
pub fn ptx(assembly: TokenStream) -> TokenStream {
    ptx::expand(assembly.into()).into()
}

/// Functions of `cuda_std` that the device has from elsewhere.
#[doc(hidden)]
#[proc_macro]
pub fn foreign(functions: TokenStream) -> TokenStream {
    foreign::expand(functions.into()).into()
}

/// The attributes given, on the item: what `cuda_std::single_source_attributes` is where the host's
/// session compiles kernels as well.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn attributes(attributes: TokenStream, item: TokenStream) -> TokenStream {
    let attributes = proc_macro2::TokenStream::from(attributes);
    let item = proc_macro2::TokenStream::from(item);
    quote::quote!(#[#attributes] #item).into()
}

/// The item alone: what `cuda_std::single_source_attributes` is elsewhere.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn no_attributes(_attributes: TokenStream, item: TokenStream) -> TokenStream {
    item
}

/// The table of intrinsics: see `cuda_std::intrinsics`, which it is for.
#[doc(hidden)]
#[proc_macro]
pub fn intrinsics(rows: TokenStream) -> TokenStream {
    table::expand(rows.into()).into()
}

/// Items repeated over lists, as rows of the table are: `for (TY, OP) in [(u32, add)] { … }`.
#[doc(hidden)]
#[proc_macro]
pub fn repeat(items: TokenStream) -> TokenStream {
    table::repeat(items.into()).into()
}
