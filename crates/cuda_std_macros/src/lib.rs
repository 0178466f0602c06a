//! Attribute macros of `cuda_std`, which re-exports them: `#[kernel]` and `#[address_space(..)]`.
//!
//! They check what they are put on and report mistakes with spans, and then only say what the
//! compiler's backend has to know, as attributes that exist on the device alone. On the host the
//! items stay as they are written. Each macro is one module: a function from tokens to tokens,
//! which its unit tests call.

mod address_space;
mod handle;
mod kernel;
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
///   and which is fastest when a warp's threads read the same address.
/// - `#[address_space(global)]`: in global memory, where statics are without the attribute too.
///
/// ```ignore
/// #[address_space(shared)]
/// static mut TILE: [f32; 256] = [0.0; 256];
/// ```
///
/// On the host the attribute does nothing.
#[proc_macro_attribute]
pub fn address_space(attribute: TokenStream, item: TokenStream) -> TokenStream {
    address_space::expand(attribute.into(), item.into()).into()
}

/// The table of intrinsics: see `cuda_std::intrinsics`, which it is for.
#[doc(hidden)]
#[proc_macro]
pub fn intrinsics(rows: TokenStream) -> TokenStream {
    table::expand(rows.into()).into()
}
