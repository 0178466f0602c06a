//! Shared memory: fast on-chip memory that the threads of a block share.
//!
//! [`Shared`] is the safe interface: a kernel parameter with `#[shared]` whose layout is an
//! [`Array`], a [`Tile`], or [`Dynamic`] memory, whose size is given at launch. Phases in which
//! each thread writes its own elements alternate with phases in which all threads read; the type
//! system enforces a barrier between them.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::shared::{Shared, Tile};
//! use cuda_std::PerTile;
//!
//! /// The transpose of a matrix, with coalesced loads and stores.
//! #[kernel]
//! pub fn transpose(
//!     #[shared] mut shared: Shared<Tile<f32, 32, 32, 33>>,
//!     from: &[f32],
//!     mut to: PerTile<f32, 32, 32>,
//! ) {
//!     let (width, height) = (to.width(), to.height());
//!     for mut tile in to.tiles() {
//!         let (x0, y0) = (tile.x(), tile.y());
//!         shared.own().each(|(x, y), element| {
//!             if x0 + y < width && y0 + x < height {
//!                 *element = from[(x0 + y) * height + (y0 + x)];
//!             }
//!         });
//!         shared.read(|rows| {
//!             for ((x, y), to) in tile.own() {
//!                 *to = rows[x][y];
//!             }
//!         });
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! The raw interface consists of [`shared_array!`](crate::shared_array), statics with
//! `#[address_space(shared)]`, and [`dynamic_shared_mem`]. These give raw pointers, because a
//! `&mut` to memory that other threads access concurrently would be undefined behavior. Shared
//! memory is uninitialized when a block starts: the initializer of a static is not applied.

mod phases;

use crate::session::on_device;

/// The storage of a `#[shared]` parameter. Expansions do not write `::core`, because the user's
/// crate may give that name to another crate.
#[doc(hidden)]
pub use core::mem::MaybeUninit as Static;
pub use phases::{Array, Dynamic, Layout, OwnArray, OwnElements, OwnTile, Reading, Shared, Tile};
#[doc(hidden)]
pub use phases::{Four, Handle, Scope, Three, Two, check_dynamic};

/// Returns the memory of the shared parameter `NUMBER` of the kernel instance `K`, in a
/// single-source session.
#[cfg(nvvm_single_source)]
#[doc(hidden)]
#[nvvm::shared_memory]
pub fn of_instance<K, S, const NUMBER: u32>() -> *mut S {
    crate::session::only_on_device("shared memory")
}

/// Allocates shared memory for `N` values in each block: `shared_array![f32; 256]` is a `*mut f32`
/// to the first value.
///
/// Each occurrence of `shared_array!` in the source is a separate array. The values are
/// uninitialized when a block starts.
#[macro_export]
macro_rules! shared_array {
    ($ty:ty; $len:expr) => {{
        #[$crate::address_space(shared)]
        static mut SHARED: ::core::mem::MaybeUninit<[$ty; $len]> =
            ::core::mem::MaybeUninit::uninit();
        $crate::shared::shared_pointer::<[$ty; $len], $ty>((&raw mut SHARED).cast())
    }};
}

/// Returns the pointer of `shared_array!`. On the host, where all blocks share the one static,
/// returns a pointer to memory of the block that runs on the CPU.
#[doc(hidden)]
#[inline(always)]
#[cfg_attr(not(any(target_arch = "nvptx64", nvvm_single_source)), track_caller)]
pub fn shared_pointer<A, T>(pointer: *mut T) -> *mut T {
    on_device!(pointer, {
        let key = crate::cpu::Key::Static(pointer.addr());
        crate::cpu::shared_if_running::<A>(key, "shared_array!").cast()
    })
}

/// Returns a pointer to the start of dynamic shared memory, whose size is given at launch: CUDA's
/// `extern __shared__`.
///
/// Every call returns the same memory, in every function and for every `T`. The memory is
/// uninitialized when a block starts. It is aligned to 16 bytes; a `T` with a larger alignment is a
/// compile-time error.
#[inline(always)]
#[must_use]
#[cfg_attr(not(any(target_arch = "nvptx64", nvvm_single_source)), track_caller)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    const {
        assert!(
            align_of::<T>() <= 16,
            "dynamic shared memory is aligned to 16 bytes only"
        )
    };
    on_device!(
        {
            // In PTX, a shared static of size zero is `.extern .shared`: the memory that the launch
            // adds after all shared statics.
            #[unsafe(no_mangle)]
            #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = "nvvm.shared"))]
            #[cfg_attr(nvvm_single_source, nvvm::section("nvvm.shared"))]
            static mut __cuda_std_dynamic_shared: [u128; 0] = [];
            (&raw mut __cuda_std_dynamic_shared).cast()
        },
        crate::cpu::shared_if_running::<u128>(crate::cpu::Key::Dynamic, "dynamic_shared_mem")
            .cast(),
    )
}

/// Returns the handle of the `#[shared]` parameter `number`, for a thread of a kernel on the CPU.
///
/// # Safety
/// Each thread of the block must create exactly one handle for each number, before its first
/// barrier.
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub unsafe fn on_cpu<'k, H: Handle<'k>>(scope: &'k Scope, number: u32) -> H {
    use crate::cpu::{Key, shared};
    let storage = match H::DYNAMIC {
        true => shared::<u128>(Key::Dynamic).cast(),
        false => shared::<H::Storage>(Key::Parameter(number)),
    };
    // SAFETY: the memory belongs to this block and this parameter alone.
    unsafe { H::make(scope, storage, number) }
}
