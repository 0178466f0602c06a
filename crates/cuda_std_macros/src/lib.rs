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
mod wrapper;

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
/// shared references and slices to device memory; or output types, such as `PerThread`. A kernel
/// returns nothing. It cannot have `&mut` parameters: all threads would share one, but a `&mut`
/// must be exclusive. Use a `PerThread` or a raw pointer instead.
///
/// # Options
///
/// ```ignore
/// #[kernel(launch_bounds(256, 2), max_registers = 64, cluster_dims(2, 1, 1))]
/// ```
///
/// - `launch_bounds(MAX_THREADS, MIN_BLOCKS)`: blocks have at most `MAX_THREADS` threads, and the
///   compiler limits registers so that `MIN_BLOCKS` blocks (if given) are resident on a
///   multiprocessor. Some GPUs hold only 1024 threads per multiprocessor, so block counts that
///   exceed this are reduced; `max_registers` sets a stricter limit.
/// - `block_size(X, Y, Z)`: blocks have exactly this size, which the compiler uses for
///   optimization.
/// - `min_blocks = N`: like `MIN_BLOCKS` of `launch_bounds`, combined with `block_size`.
/// - `max_registers = N`: threads use at most `N` registers.
/// - `stack_size = BYTES`: threads have a stack of this size, instead of the size that the compiler
///   computes. Only recursive kernels need it: see `CudaBuilder::recursion_depth`.
/// - `cluster_dims(X, Y, Z)`: blocks are launched in clusters of this size. Requires `sm_90`.
/// - `max_blocks_per_cluster = N`: clusters have at most `N` blocks. Requires `sm_90`.
/// - `deny(checks_in_loops, local_memory, spills)`: in optimized builds, each of these costs is an
///   error that lists where it arises: a check that a loop makes in each iteration, an access to an
///   array in local memory with an index that is known only at run time, and registers that ptxas
///   spills. `cargo cuda report` lists the same without the attribute.
/// - `device_launch`: other kernels can launch this one, with `cuda_std::dynamic`.
/// - `associated`: the kernel is an associated function, in an `impl` of a single-source program.
///
/// # Generic kernels
///
/// In single-source programs, a kernel can have type and const parameters, and parameters of type
/// `impl Trait`. The host's code names or infers them, and each instance that it launches is
/// compiled:
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
/// A parameter whose type is a type parameter accepts `DeviceCopy` values, functions, and closures
/// whose captures are `DeviceCopy`; other arguments are compile-time errors. Type parameters must
/// be `'static`.
///
/// For a kernel that is an associated function, the macro adds a second associated function with
/// the suffix `_args`. It takes `self` by value if the kernel does:
///
/// ```ignore
/// impl<T: Number> Polynomial<T> {
///     #[kernel(associated)]
///     fn evaluate(self, at: &[T], mut to: PerThread<T>) { /* ... */ }
/// }
///
/// stream.launch((4, 256), polynomial.evaluate_args(&at, &mut to))?;
/// ```
///
/// # Shared memory
///
/// A parameter with `#[shared]` is not an argument for the host: it is shared memory of the block,
/// which `cuda_std::shared` describes. A kernel with such a parameter cannot be called as a
/// function.
///
/// ```ignore
/// #[kernel]
/// pub fn reverse(#[shared] mut tile: Shared<Array<f32, 256>>, from: &[f32], mut to: PerThread<f32>)
/// ```
///
/// # Grid constants
///
/// A parameter with `#[grid_constant]` is a reference to a value that the host passes. It refers to
/// the launch's parameter memory, without a copy for each thread. Use it for large structs of which
/// threads read little; tensor maps require it.
///
/// ```ignore
/// #[kernel]
/// pub unsafe fn load(#[grid_constant] map: &TensorMap, to: *mut f32)
/// ```
///
/// # On the host
///
/// The function remains an ordinary one. The macro adds a type with the same name, whose function
/// `args` takes the kernel's arguments. `cust` launches them:
///
/// ```ignore
/// let module = KERNELS.load()?;
/// let scaled = scale::args(2.0, &from, &mut to);
/// module.launch(&stream, (blocks, threads), scaled)?;
/// ```
///
/// Arguments that do not match the parameters are compile-time errors. `args` is unsafe for a
/// kernel that is unsafe or takes raw pointers.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut expansion = wrapper::check();
    expansion.extend(kernel::expand(attribute.into(), item.into()));
    expansion.into()
}

/// Places a static in an address space of the device: `shared`, `constant` or `global`.
///
/// - `#[address_space(shared)]`: one instance per block. The static must be `static mut`. Its
///   initializer has no effect: shared memory is uninitialized when a block starts.
/// - `#[address_space(constant)]`: in constant memory (64 KiB for all statics), which kernels
///   cannot write, and which is fastest when the threads of a warp read the same address. For
///   values that the host sets, prefer `#[constant]`, which needs no `unsafe`.
/// - `#[address_space(global)]`: in global memory, where statics without the attribute are, too.
///
/// ```ignore
/// #[address_space(shared)]
/// static mut TILE: [f32; 256] = [0.0; 256];
/// ```
///
/// `#[address_space(constant, unsafe(name = "FACTORS"))]` sets the symbol name in the module, which
/// is otherwise generated. It is unsafe as `no_mangle` is: no other item may have the name.
///
/// # On the host
///
/// The static is an ordinary one. For a static in constant or global memory, the macro adds a type
/// with the same name and visibility, with which `cust` finds the variable in a module. `use`
/// imports both. Where host and device code are two crates, a private static has no such type.
///
/// ```ignore
/// #[address_space(constant)]
/// pub static mut FACTORS: [f32; 4] = [1.0; 4];          // in the crate of kernels
///
/// module.global_mut::<FACTORS>()?.set(&[0.5; 4])?;      // in the host's program
/// ```
///
/// `cust` finds a static with `#[no_mangle]` or `#[export_name]` only if the host's version has the
/// attribute too. An attribute in a `cfg_attr` for the device is not visible on the host; use
/// `name` instead.
#[proc_macro_attribute]
pub fn address_space(attribute: TokenStream, item: TokenStream) -> TokenStream {
    address_space::expand(attribute.into(), item.into()).into()
}

/// A variable in constant memory (64 KiB for all variables), which the host sets and kernels read
/// like any static: CUDA C++'s `__constant__`. It is fastest when the threads of a warp read the
/// same address.
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
/// The static must be `pub` where host and device code are two crates. In single source it can be
/// private: the host code of its module sets it.
///
/// The type of the static becomes `cuda_std::Constant`, which dereferences to the declared type:
/// the compiler must not rely on the initial value.
#[proc_macro_attribute]
pub fn constant(attribute: TokenStream, item: TokenStream) -> TokenStream {
    address_space::expand_constant(attribute.into(), item.into()).into()
}

/// Implements `cuda_std::AnyBits` for a struct whose fields all implement it: the struct can then
/// be stored in shared memory, and be used in shuffles, reductions and scans.
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

/// Inline PTX, in the syntax of `asm!`.
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
/// On nvptx64 the macro expands to `asm!`, and the crate needs `#![feature(asm_experimental_arch)]`
/// there. Code with it also compiles for the host, where it panics, and in single-source crates,
/// where `asm!` would be the host's.
///
/// The template consists of one or more string literals, with PTX's braces doubled. Operands are
/// `in(CLASS) value`, `out(CLASS) place`, `inout(CLASS) place`, `inout(CLASS) value => place` and
/// `const value`, optionally named. The classes are `reg16`, `reg32` and `reg64`. A `const` is a
/// `u32`, or has the type of its suffix or cast; a `const` that depends on a const parameter must
/// be a parameter of type `u32`. `options(..)` are those of `asm!`.
///
/// # Safety
/// As for `asm!`: the PTX must do only what the operands and options say, and nothing that Rust
/// forbids.
#[proc_macro]
pub fn ptx(assembly: TokenStream) -> TokenStream {
    ptx::expand(assembly.into()).into()
}

/// Declares functions of `cuda_std` that the device gets from elsewhere.
#[doc(hidden)]
#[proc_macro]
pub fn foreign(functions: TokenStream) -> TokenStream {
    foreign::expand(functions.into()).into()
}

/// Applies the given attributes to the item: `cuda_std::single_source_attributes` in a
/// single-source session.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn attributes(attributes: TokenStream, item: TokenStream) -> TokenStream {
    let attributes = proc_macro2::TokenStream::from(attributes);
    let item = proc_macro2::TokenStream::from(item);
    quote::quote!(#[#attributes] #item).into()
}

/// Returns the item unchanged: `cuda_std::single_source_attributes` outside a single-source
/// session.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn no_attributes(_attributes: TokenStream, item: TokenStream) -> TokenStream {
    item
}

/// The table of intrinsics. See `cuda_std::intrinsics`.
#[doc(hidden)]
#[proc_macro]
pub fn intrinsics(rows: TokenStream) -> TokenStream {
    table::expand(rows.into()).into()
}

/// Repeats items over lists, like the rows of the table: `for (TY, OP) in [(u32, add)] { … }`.
#[doc(hidden)]
#[proc_macro]
pub fn repeat(items: TokenStream) -> TokenStream {
    table::repeat(items.into()).into()
}
