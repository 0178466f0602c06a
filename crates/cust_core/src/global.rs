//! Statics of kernels crates as the host sees them: the host expansion of `#[address_space(..)]` on
//! a public static.
//!
//! `#[address_space(constant)] pub static mut FACTORS: [f32; 4] = …` creates, on the host, a type
//! of the static's name that implements [`Global`]. `cust` uses it to find the variable in a
//! module, and to read and write it with its type.
//!
//! # Examples
//!
//! ```
//! use cust_core::global::Global;
//!
//! /// Returns the name and the size of a static.
//! fn describe<G: Global>() -> (&'static str, usize) {
//!     (G::NAME, size_of::<G::Value>())
//! }
//!
//! // `#[address_space(constant)] pub static mut FACTORS: [f32; 4]` expands to:
//! # #[allow(non_camel_case_types)]
//! pub enum FACTORS {}
//!
//! // SAFETY: the variable is a `[f32; 4]`.
//! unsafe impl Global for FACTORS {
//!     type Value = [f32; 4];
//!     const SYMBOL: &'static str = "kernels_FACTORS";
//!     const NAME: &'static str = "FACTORS";
//!     const PACKAGE: &'static str = "kernels";
//!     # const SIGNATURE: &'static str = "";
//! }
//!
//! assert_eq!(describe::<FACTORS>(), ("FACTORS", 16));
//! ```

/// A static of a crate that was compiled for the host.
///
/// # Safety
///
/// `#[address_space(..)]` implements it. If the module that is built from the crate `PACKAGE` has a
/// variable of this name, it is a `Value`.
pub unsafe trait Global {
    /// The static's type.
    type Value: 'static;
    /// The name of the variable in the module.
    const SYMBOL: &'static str;
    /// The name of the static, for messages.
    const NAME: &'static str;
    /// The static's package.
    const PACKAGE: &'static str;
    /// The type with its layout on the host.
    #[doc(hidden)]
    const SIGNATURE: &'static str;
}

/// A `static mut`, which the host may modify while no kernel uses it.
///
/// # Safety
///
/// As for [`Global`]; kernels do not assume that the value is constant between launches.
pub unsafe trait GlobalMut: Global {}
