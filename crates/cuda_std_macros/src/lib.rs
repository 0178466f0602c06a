//! Attribute macros of `cuda_std`, which re-exports them: `#[kernel]` and `#[address_space(..)]`.
//!
//! They check what they are put on and report mistakes with spans, and then only say what the
//! compiler's backend has to know, as attributes that exist on the device alone. On the host the
//! items stay as they are written. Each macro is one module: a function from tokens to tokens,
//! which its unit tests call.

mod address_space;
mod kernel;

use proc_macro::TokenStream;

/// Makes a function a kernel: an entry point that the host launches by the function's name.
///
/// ```ignore
/// #[kernel]
/// pub unsafe fn scale(factor: f32, from: &[f32], to: *mut f32) {
///     let i = thread::index_1d() as usize;
///     if i < from.len() {
///         unsafe { *to.add(i) = factor * from[i] };
///     }
/// }
/// ```
///
/// Parameters are passed by value and must be `Copy`: numbers, structs, arrays, raw pointers, and
/// shared references and slices to memory of the device. A kernel returns nothing. It has no
/// `&mut` parameters: all threads would have the same one, while `&mut` promises Rust that nobody
/// else has it. Pass a raw pointer instead.
///
/// On the host the function is an ordinary one.
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
