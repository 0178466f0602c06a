//! Shared memory: fast memory that the threads of one block have in common.
//!
//! Its size is either fixed in the code, as a static or with [`shared_array!`](crate::shared_array),
//! or given by the launch, in bytes, and reached with [`dynamic_shared_mem`].
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// Reverses each block's part of `data`.
//! #[kernel]
//! pub fn reverse_blocks(data: *mut u32) {
//!     #[address_space(shared)]
//!     static mut TILE: [u32; 256] = [0; 256];
//!
//!     let (i, n) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
//!     let at = thread::index_1d() as usize;
//!     let tile = (&raw mut TILE).cast::<u32>();
//!     unsafe { *tile.add(i) = *data.add(at) };
//!     thread::sync_threads();
//!     unsafe { *data.add(at) = *tile.add(n - 1 - i) };
//! }
//! # fn main() {}
//! ```
//!
//! Shared memory holds nothing of use when a block starts: a static's initialiser is not applied,
//! so write before you read. Access goes through raw pointers, because a `&mut` to memory that
//! other threads use at the same time would be undefined behaviour.

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
        $crate::shared::shared_pointer::<$ty>((&raw mut SHARED).cast())
    }};
}

/// The pointer that `shared_array!` returns; on the host, where one static would stand for all
/// blocks, it panics instead.
#[doc(hidden)]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn shared_pointer<T>(pointer: *mut T) -> *mut T {
    if cfg!(not(target_arch = "nvptx64")) {
        crate::intrinsics::only_on_device("shared_array!");
    }
    pointer
}

/// The shared memory whose size the launch gives, from its start.
///
/// Every call returns the same memory, in every function and for every `T`. The launch says how
/// many bytes there are; they are uninitialised when a block starts. The start is aligned to 16
/// bytes, and a `T` that needs more is refused when compiling.
#[inline(always)]
#[must_use]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    const {
        assert!(
            align_of::<T>() <= 16,
            "dynamic shared memory is aligned to 16 bytes only"
        )
    };
    #[cfg(not(target_arch = "nvptx64"))]
    crate::intrinsics::only_on_device("dynamic_shared_mem");
    #[cfg(target_arch = "nvptx64")]
    {
        // A shared static of size zero is `.extern .shared` in PTX: it stands for the memory that
        // the launch adds behind all shared statics.
        #[unsafe(no_mangle)]
        #[unsafe(link_section = "nvvm.shared")]
        static mut __cuda_std_dynamic_shared: [u128; 0] = [];
        (&raw mut __cuda_std_dynamic_shared).cast()
    }
}
