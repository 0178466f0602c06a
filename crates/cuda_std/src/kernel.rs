//! What may be a kernel's parameter; `#[kernel]` checks every parameter against it.

/// A type that can be passed to a kernel by value: any `Copy` type.
///
/// The host hands a kernel the bytes of its arguments and every thread has its own copy of them, so
/// a parameter must not own anything: a type with a destructor would be dropped once per thread.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel's parameter: it is not `Copy`",
    label = "not `Copy`",
    note = "every thread of a launch receives its own copy of the arguments' bytes",
    note = "pass a reference, a raw pointer, or a type that is `Copy`"
)]
pub trait KernelParam {}

/// What the handles that `#[kernel]` makes for the host are made of.
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub use cust_core::kernel as host;

#[diagnostic::do_not_recommend]
impl<T: Copy> KernelParam for T {}

/// Compiles only for types that can be a kernel's parameter; `#[kernel]` calls it in code that
/// never runs.
#[doc(hidden)]
#[inline(always)]
pub const fn check_param<T: KernelParam>() {}
