//! What may be a kernel's parameter; `#[kernel]` checks every parameter against it.

/// A type that can be passed to a kernel by value: any `Copy` type.
///
/// The host hands a kernel the bytes of its arguments and every thread has its own copy of them, so
/// a parameter must not own anything: a type with a destructor would be dropped once per thread.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel's parameter: it is not `Copy`",
    label = "not `Copy`",
    note = "every thread of a launch receives its own copy of the arguments' bytes",
    note = "pass a reference, a raw pointer, or a type that is `Copy`; `#[shared]` stands before a parameter \
            of shared memory"
)]
pub trait KernelParam {}

/// What the handles that `#[kernel]` makes for the host are made of.
#[doc(hidden)]
pub use cust_core::kernel as host;

/// What the descriptions of kernels and statics are made of.
#[doc(hidden)]
pub use cust_core::signature;

/// What the handles that `#[address_space(..)]` makes for the host are made of.
#[doc(hidden)]
pub use cust_core::global;

/// A generic kernel's instance, in a single-source session.
#[cfg(nvvm_single_source)]
#[doc(hidden)]
pub trait Instance {
    /// Tells the compiler that the host launches the instance.
    fn mark();
}

/// Where the host's code has an instance of this function, the compiler makes the kernel `_entry`, which
/// the host finds by the type `H`. It does nothing.
#[cfg(nvvm_single_source)]
#[doc(hidden)]
#[nvvm::instance]
#[inline(never)]
pub fn mark_instance<H: 'static, E>(_entry: E) {}

/// The arguments of a kernel that is an associated function, `_entry`, with parameters of the types `P`.
///
/// # Safety
/// As for `Args::new`.
#[doc(hidden)]
#[inline]
pub unsafe fn associated_args<P: 'static, N: host::AssociatedName, E: 'static, A: host::Pass>(
    _entry: E,
    _name: N,
    arguments: A,
) -> host::Args<host::Associated<N, E, P>, A> {
    #[cfg(nvvm_single_source)]
    mark_instance::<host::Associated<N, E, P>, E>(_entry);
    // SAFETY: the caller's promise.
    unsafe { host::Args::new(arguments) }
}

/// The items that `#[kernel]` adds. In an `impl` they cannot stand, and what the compiler says of that
/// names this macro.
#[doc(hidden)]
#[macro_export]
macro_rules! kernels_are_free_functions {
    ($($item:tt)*) => { $($item)* };
}

/// Items that are there only where the host's session compiles kernels as well. A macro of this crate,
/// so that no other crate is asked for the `cfg`.
#[cfg(nvvm_single_source)]
#[doc(hidden)]
#[macro_export]
macro_rules! single_source {
    ($($item:tt)*) => { $($item)* };
}

/// Items that are there only where the host's session compiles kernels as well.
#[cfg(not(nvvm_single_source))]
#[doc(hidden)]
#[macro_export]
macro_rules! single_source {
    ($($item:tt)*) => {};
}

#[diagnostic::do_not_recommend]
impl<T: Copy> KernelParam for T {}

/// Compiles only for types that can be a kernel's parameter; `#[kernel]` calls it in code that
/// never runs.
#[doc(hidden)]
#[inline(always)]
pub const fn check_param<T: KernelParam>() {}

/// The size of a type. Expansions do not call `::core`, as which a crate may name another one.
#[doc(hidden)]
#[inline(always)]
pub const fn size<T>() -> usize {
    size_of::<T>()
}

/// Tells the compiler the size of the block, which `#[kernel(block_size(..))]` has the launch check.
///
/// # Safety
/// The block has this size.
#[doc(hidden)]
#[inline(always)]
pub unsafe fn assume_block_size(x: u32, y: u32, z: u32) {
    crate::session::on_device!(
        // SAFETY: the caller's promise; a thread's index is below its block's size.
        unsafe {
            use crate::thread;
            use core::hint::assert_unchecked;
            assert_unchecked(thread::block_dim_x() == x);
            assert_unchecked(thread::block_dim_y() == y);
            assert_unchecked(thread::block_dim_z() == z);
            assert_unchecked(thread::thread_idx_x() < x);
            assert_unchecked(thread::thread_idx_y() < y);
            assert_unchecked(thread::thread_idx_z() < z);
        },
        {
            let _ = (x, y, z);
        },
    );
}

/// What the host knows of a kernel that is an associated function: the compiler of a single-source session
/// checks the arguments of its instances.
#[cfg(not(nvvm_single_source))]
#[doc(hidden)]
pub use cust_core::kernel::Kernel as AssociatedKernel;
/// What the host knows of a kernel that is an associated function: it runs on the CPU, too.
#[cfg(nvvm_single_source)]
#[doc(hidden)]
pub use cust_core::kernel::OnCpu as AssociatedKernel;
