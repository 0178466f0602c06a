//! Shared memory: fast memory that the threads of one block have in common.
//!
//! [`Shared`] is the safe form: a kernel's parameter with `#[shared]`, laid out as an [`Array`], a
//! [`Tile`] or [`Dynamic`] memory whose size the launch gives. In turns each thread writes its own
//! elements and all threads read; the compiler sees to it that there is a barrier between.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::shared::{Shared, Tile};
//! use cuda_std::PerTile;
//!
//! /// The transpose of a matrix, with both sides' accesses in order.
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
//! Below it are raw pointers: [`shared_array!`](crate::shared_array), statics with
//! `#[address_space(shared)]`, and [`dynamic_shared_mem`]. They are raw, because a `&mut` to memory
//! that other threads use at the same time would be undefined behaviour. Shared memory holds nothing
//! of use when a block starts: a static's initialiser is not applied.

mod phases;

use crate::session::on_device;

/// What the storage of a `#[shared]` parameter is. Expansions do not say `::core`, as which a crate may
/// name another one.
#[doc(hidden)]
pub use core::mem::MaybeUninit as Static;
pub use phases::{Array, Dynamic, Layout, OwnElements, OwnTile, Reading, Shared, Tile};
#[doc(hidden)]
pub use phases::{Four, Handle, Scope, Three, Two, check_dynamic};

/// The memory of the shared parameter `NUMBER` of the kernel instance `K`, in a single-source session.
#[cfg(nvvm_single_source)]
#[doc(hidden)]
#[nvvm::shared_memory]
pub fn of_instance<K, S, const NUMBER: u32>() -> *mut S {
    crate::session::only_on_device("shared memory")
}

/// Shared memory of this block for `N` values of a type: `shared_array![f32; 256]` is a
/// `*mut f32` to the first.
///
/// Every place in the code that says `shared_array!` is an array of its own. The values are
/// uninitialised when a block starts.
#[macro_export]
macro_rules! shared_array {
    ($ty:ty; $len:expr) => {{
        #[$crate::address_space(shared)]
        static mut SHARED: ::core::mem::MaybeUninit<[$ty; $len]> =
            ::core::mem::MaybeUninit::uninit();
        $crate::shared::shared_pointer::<[$ty; $len], $ty>((&raw mut SHARED).cast())
    }};
}

/// The pointer that `shared_array!` returns. On the host, where one static would stand for all blocks,
/// it is to memory of the block that runs on the CPU.
#[doc(hidden)]
#[inline(always)]
#[cfg_attr(not(any(target_arch = "nvptx64", nvvm_single_source)), track_caller)]
pub fn shared_pointer<A, T>(pointer: *mut T) -> *mut T {
    on_device!(pointer, {
        let key = crate::cpu::Key::Static(pointer.addr());
        crate::cpu::shared_if_running::<A>(key, "shared_array!").cast()
    })
}

/// The shared memory whose size the launch gives, from its start.
///
/// Every call returns the same memory, in every function and for every `T`. The launch says how
/// many bytes there are; they are uninitialised when a block starts. The start is aligned to 16
/// bytes, and a `T` that needs more is refused when compiling.
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
            // A shared static of size zero is `.extern .shared` in PTX: it stands for the memory that
            // the launch adds behind all shared statics.
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

/// The handle of the `#[shared]` parameter `number`, for a thread of a kernel on the CPU.
///
/// # Safety
/// Each thread of the block makes one handle of a number, before it comes to any barrier.
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub unsafe fn on_cpu<'k, H: Handle<'k>>(scope: &'k Scope, number: u32) -> H {
    use crate::cpu::{Key, shared};
    let storage = match H::DYNAMIC {
        true => shared::<u128>(Key::Dynamic).cast(),
        false => shared::<H::Storage>(Key::Parameter(number)),
    };
    // SAFETY: the memory is the block's and the parameter's alone.
    unsafe { H::make(scope, storage, number) }
}
