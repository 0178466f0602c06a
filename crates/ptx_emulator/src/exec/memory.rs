//! Loads, stores, and the check of every access: the address's state space, its alignment, and
//! whether it is inside an allocation. Accesses are volatile or atomic on the host, so that data
//! races between the kernel's threads behave as on the device.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::value::Value;
use super::{
    CACHE_SIZE, Context, Handler, Inst, LOCAL_WINDOW, PARAM_WINDOW, RANK_SHIFT, Regs, SHARED_START,
    SHARED_WINDOW, WINDOW_SHIFT,
};
use crate::fault::FaultKind;
use crate::memory::{Range, host_address, is_alias};

/// State spaces, as const parameters of handlers.
pub(crate) const GLOBAL: u8 = 0;
pub(crate) const SHARED: u8 = 1;
pub(crate) const LOCAL: u8 = 2;
pub(crate) const GENERIC: u8 = 3;

/// Orderings, as const parameters of handlers.
pub(crate) const WEAK: u8 = 0;
pub(crate) const RELAXED: u8 = 1;
/// Acquire for a load, release for a store.
pub(crate) const SYNCHRONIZING: u8 = 2;

/// A type that can be loaded and stored.
pub(crate) trait Cell: Value {
    /// Loads a value.
    ///
    /// # Safety
    ///
    /// `at` is readable and aligned.
    unsafe fn load<const ORDER: u8>(at: *const u8) -> Self;
    /// Stores the value.
    ///
    /// # Safety
    ///
    /// `at` is writable and aligned.
    unsafe fn store<const ORDER: u8>(self, at: *mut u8);
}

macro_rules! cells {
    ($($ty:ty, $atomic:ty;)*) => {$(
        impl Cell for $ty {
            #[inline(always)]
            unsafe fn load<const ORDER: u8>(at: *const u8) -> Self {
                // SAFETY: as the caller promises.
                unsafe {
                    match ORDER {
                        WEAK => at.cast::<$ty>().read_volatile(),
                        RELAXED => <$atomic>::from_ptr(at.cast_mut().cast()).load(Ordering::Relaxed) as $ty,
                        _ => <$atomic>::from_ptr(at.cast_mut().cast()).load(Ordering::Acquire) as $ty,
                    }
                }
            }
            #[inline(always)]
            unsafe fn store<const ORDER: u8>(self, at: *mut u8) {
                // SAFETY: as the caller promises.
                unsafe {
                    match ORDER {
                        WEAK => at.cast::<$ty>().write_volatile(self),
                        RELAXED => <$atomic>::from_ptr(at.cast()).store(self as _, Ordering::Relaxed),
                        _ => <$atomic>::from_ptr(at.cast()).store(self as _, Ordering::Release),
                    }
                }
            }
        }
    )*};
}
cells! {
    u8, AtomicU8; u16, AtomicU16; u32, AtomicU32; u64, AtomicU64;
    i8, AtomicU8; i16, AtomicU16; i32, AtomicU32;
}

impl Context<'_> {
    /// Returns the allocation that contains a global address.
    #[inline(never)]
    fn lookup(&mut self, address: u64) -> Option<Range> {
        let memory = self.launch.memory;
        let generation = memory.generation();
        if generation != self.generation {
            self.ranges = memory.snapshot();
            self.generation = generation;
        }
        let after = self.ranges.partition_point(|range| range.base <= address);
        if let Some(&range) = after
            .checked_sub(1)
            .and_then(|index| self.ranges.get(index))
            && address - range.base < range.size
        {
            return Some(range);
        }
        memory.heap_range(address)
    }

    #[inline(never)]
    fn global_slow(&mut self, at: *const Inst, address: u64, size: u64) -> *mut u8 {
        if let Some(range) = self.lookup(address)
            && range.size - (address - range.base) >= size
        {
            if is_alias(range.base) {
                // Not cached: device address and host address differ.
                return host_address(address) as *mut u8;
            }
            // SAFETY: `at` is the instruction being executed.
            let entry = unsafe { (*at).cache } as usize % CACHE_SIZE;
            self.cache[entry] = range;
            return address as *mut u8;
        }
        self.illegal(at, address, size)
    }

    /// Resolves an access in a window other than that of global memory.
    #[inline(never)]
    fn windowed(&mut self, at: *const Inst, address: u64, size: u64) -> *mut u8 {
        let window = address >> WINDOW_SHIFT << WINDOW_SHIFT;
        let offset = address - window;
        let (base, len, start) = match window {
            SHARED_WINDOW => (self.shared_memory, self.shared_len, SHARED_START.into()),
            LOCAL_WINDOW => (self.stack, self.stack_len, 0),
            PARAM_WINDOW => (self.params.as_mut_ptr().cast(), self.params_len, 0),
            _ => return self.illegal(at, address, size),
        };
        let index = offset.wrapping_sub(start);
        if index < len && len - index >= size {
            // SAFETY: inside the buffer.
            return unsafe { base.add(index as usize) };
        }
        match window {
            SHARED_WINDOW => self.distributed(at, offset, size),
            _ => self.illegal(at, address, size),
        }
    }

    /// Resolves an access to the shared memory of another block of the cluster, by an address from
    /// `mapa`.
    #[inline(never)]
    fn distributed(&mut self, at: *const Inst, address: u64, size: u64) -> *mut u8 {
        let offset = (address & ((1 << RANK_SHIFT) - 1)).wrapping_sub(SHARED_START.into());
        let rank = (address >> RANK_SHIFT).wrapping_sub(1);
        let inside = offset < self.shared_len && self.shared_len - offset >= size;
        if !inside || rank >= self.launch.blocks_per_cluster().into() {
            return self.illegal(at, SHARED_WINDOW | address, size);
        }
        if self.ended_blocks >> rank & 1 != 0 {
            let message = format!(
                "access of {size} bytes to the shared memory of block {rank} of the cluster, which has exited"
            );
            self.fault(at, FaultKind::IllegalAddress, message);
            return std::ptr::null_mut();
        }
        // SAFETY: the cluster has this block, and the offset is inside its part.
        unsafe {
            self.cluster_memory
                .add((rank * self.launch.shared_stride() + offset) as usize)
        }
    }

    #[cold]
    #[inline(never)]
    fn misaligned(&mut self, at: *const Inst, address: u64, size: u64, align: u64) -> *mut u8 {
        let message = format!(
            "misaligned access of {size} bytes at {address:#x}, which is not a multiple of {align}"
        );
        self.fault(at, FaultKind::Misaligned, message);
        std::ptr::null_mut()
    }

    /// Faults, and describes what is known about the invalid address.
    #[cold]
    #[inline(never)]
    fn illegal(&mut self, at: *const Inst, address: u64, size: u64) -> *mut u8 {
        let window = address >> WINDOW_SHIFT << WINDOW_SHIFT;
        let offset = address - window;
        let rank = offset >> RANK_SHIFT;
        let place = match window {
            SHARED_WINDOW if self.launch.explicit_cluster && rank > 0 => format!(
                "shared memory of block {} of the cluster at offset {}; each of its {} blocks has {} bytes",
                rank - 1,
                shared_offset(offset & ((1 << RANK_SHIFT) - 1)),
                self.launch.blocks_per_cluster(),
                self.shared_len
            ),
            SHARED_WINDOW => format!(
                "shared memory at offset {}; the block has {} bytes",
                shared_offset(offset),
                self.shared_len
            ),
            LOCAL_WINDOW => format!(
                "local memory at offset {offset:#x}; {} bytes are in use",
                self.stack_len
            ),
            PARAM_WINDOW => format!(
                "kernel parameters at offset {offset:#x}; there are {} bytes",
                self.params_len
            ),
            0 if address < 4096 => format!("{address:#x}: a null pointer"),
            0 => {
                let before = self.lookup_before(address);
                match before {
                    Some(range) => {
                        let distance = address - (range.base + range.size).min(address);
                        let (base, len) = (range.base, range.size);
                        format!(
                            "{address:#x}, {distance} bytes after the end of the {len} bytes allocated at {base:#x}"
                        )
                    }
                    None => format!("{address:#x}, which is not in any allocation"),
                }
            }
            _ => format!("{address:#x}, which is not in any allocation"),
        };
        self.fault(
            at,
            FaultKind::IllegalAddress,
            format!("illegal access of {size} bytes to {place}"),
        );
        std::ptr::null_mut()
    }

    /// Returns the allocation before an address, if it is close.
    fn lookup_before(&self, address: u64) -> Option<Range> {
        let after = self.ranges.partition_point(|range| range.base <= address);
        let range = *self.ranges.get(after.checked_sub(1)?)?;
        (address - range.base < range.size + (1 << 20)).then_some(range)
    }

    /// Returns the host address of `size` bytes at a device address, or null after a fault.
    ///
    /// # Safety
    ///
    /// `at` is the instruction being executed.
    #[inline(always)]
    pub unsafe fn translate<const SPACE: u8>(
        &mut self,
        at: *const Inst,
        address: u64,
        size: u64,
        align: u64,
    ) -> *mut u8 {
        if address & (align - 1) != 0 {
            return self.misaligned(at, address, size, align);
        }
        let (base, len, window, start) = match SPACE {
            SHARED => (
                self.shared_memory,
                self.shared_len,
                SHARED_WINDOW,
                SHARED_START.into(),
            ),
            LOCAL => (self.stack, self.stack_len, LOCAL_WINDOW, 0),
            _ => {
                if SPACE == GENERIC && address >> WINDOW_SHIFT != 0 {
                    return self.windowed(at, address, size);
                }
                // SAFETY: as the caller promises; the index is in range.
                let range = unsafe { *self.cache.get_unchecked((*at).cache as usize % CACHE_SIZE) };
                let offset = address.wrapping_sub(range.base);
                if offset < range.size && range.size - offset >= size {
                    return address as *mut u8;
                }
                return self.global_slow(at, address, size);
            }
        };
        let index = address.wrapping_sub(start);
        if index < len && len - index >= size {
            // SAFETY: inside the buffer.
            return unsafe { base.add(index as usize) };
        }
        if SPACE == SHARED {
            return self.distributed(at, address & !(u64::MAX << WINDOW_SHIFT), size);
        }
        self.illegal(at, window | address & !(u64::MAX << WINDOW_SHIFT), size)
    }

    /// Returns the host address of bytes at a generic address, for functions that the host
    /// executes.
    ///
    /// # Safety
    ///
    /// `at` is the instruction being executed.
    pub unsafe fn generic(&mut self, at: *const Inst, address: u64, size: u64) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { self.translate::<GENERIC>(at, address, size, 1) }
    }
}

/// `d = [a + imm]`.
pub(crate) fn load<T: Cell, const SPACE: u8, const ORDER: u8>() -> Handler {
    unsafe fn run<T: Cell, const SPACE: u8, const ORDER: u8>(
        at: *const Inst,
        r: *mut u64,
        c: &mut Context,
    ) -> *const Inst {
        // SAFETY: `translate` checks the address; the rest as in every handler.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            let address = r.raw(i.a).wrapping_add(i.imm as u64);
            let size = size_of::<T>() as u64;
            let place = c.translate::<SPACE>(at, address, size, size);
            if place.is_null() {
                return std::ptr::null();
            }
            r.set(i.d, T::load::<ORDER>(place));
            at.add(1)
        }
    }
    run::<T, SPACE, ORDER>
}

/// `[a + imm] = b`.
pub(crate) fn store<T: Cell, const SPACE: u8, const ORDER: u8>() -> Handler {
    unsafe fn run<T: Cell, const SPACE: u8, const ORDER: u8>(
        at: *const Inst,
        r: *mut u64,
        c: &mut Context,
    ) -> *const Inst {
        // SAFETY: as in `load`.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            let address = r.raw(i.a).wrapping_add(i.imm as u64);
            let size = size_of::<T>() as u64;
            let place = c.translate::<SPACE>(at, address, size, size);
            if place.is_null() {
                return std::ptr::null();
            }
            r.get::<T>(i.b).store::<ORDER>(place);
            at.add(1)
        }
    }
    run::<T, SPACE, ORDER>
}

/// Loads several registers from consecutive memory. The `c` registers are listed at `e` in the
/// extra operands.
pub(crate) fn load_vector<T: Cell, const SPACE: u8, const ORDER: u8>() -> Handler {
    unsafe fn run<T: Cell, const SPACE: u8, const ORDER: u8>(
        at: *const Inst,
        r: *mut u64,
        c: &mut Context,
    ) -> *const Inst {
        // SAFETY: as in `load`; the extra operands are slots of this frame.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            let address = r.raw(i.a).wrapping_add(i.imm as u64);
            let size = size_of::<T>() as u64 * u64::from(i.c);
            let place = c.translate::<SPACE>(at, address, size, size);
            if place.is_null() {
                return std::ptr::null();
            }
            for index in 0..i.c as usize {
                let slot = c.code.extra[i.e as usize + index];
                r.set(slot, T::load::<ORDER>(place.add(index * size_of::<T>())));
            }
            at.add(1)
        }
    }
    run::<T, SPACE, ORDER>
}

/// Stores several registers to consecutive memory; see [`load_vector`].
pub(crate) fn store_vector<T: Cell, const SPACE: u8, const ORDER: u8>() -> Handler {
    unsafe fn run<T: Cell, const SPACE: u8, const ORDER: u8>(
        at: *const Inst,
        r: *mut u64,
        c: &mut Context,
    ) -> *const Inst {
        // SAFETY: as in `load_vector`.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            let address = r.raw(i.a).wrapping_add(i.imm as u64);
            let size = size_of::<T>() as u64 * u64::from(i.c);
            let place = c.translate::<SPACE>(at, address, size, size);
            if place.is_null() {
                return std::ptr::null();
            }
            for index in 0..i.c as usize {
                let slot = c.code.extra[i.e as usize + index];
                r.get::<T>(slot)
                    .store::<ORDER>(place.add(index * size_of::<T>()));
            }
            at.add(1)
        }
    }
    run::<T, SPACE, ORDER>
}

/// `d =` the kernel parameter at offset `imm`, which `decode` has checked.
pub(crate) fn load_kernel_param<T: Cell>() -> Handler {
    unsafe fn run<T: Cell>(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
        // SAFETY: the launch has as many bytes of parameters as the kernel declares.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            r.set(
                i.d,
                c.params
                    .as_ptr()
                    .cast::<u8>()
                    .add(i.imm as usize)
                    .cast::<T>()
                    .read_unaligned(),
            );
            at.add(1)
        }
    }
    run::<T>
}

/// `d =` the parameter or `.param` block at offset `imm` of the frame.
pub(crate) fn load_frame<T: Cell>() -> Handler {
    unsafe fn run<T: Cell>(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
        // SAFETY: the offset is inside the function's frame.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            r.set(
                i.d,
                c.frame.add(i.imm as usize).cast::<T>().read_unaligned(),
            );
            at.add(1)
        }
    }
    run::<T>
}

/// The `.param` block at offset `imm` of the frame `= b`.
pub(crate) fn store_frame<T: Cell>() -> Handler {
    unsafe fn run<T: Cell>(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
        // SAFETY: the offset is inside the function's frame.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            c.frame
                .add(i.imm as usize)
                .cast::<T>()
                .write_unaligned(r.get(i.b));
            at.add(1)
        }
    }
    run::<T>
}

/// `cp.async`: copies `imm` bytes from `[b + c]` in global memory to `[a + e]` in shared memory.
/// Bytes beyond the source size (register `d`) are zero.
pub(crate) unsafe fn copy_async(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: both addresses are checked.
    unsafe {
        let (i, r) = (&*at, Regs(r));
        let size = i.imm as u64;
        let taken = (r.get::<u32>(i.d) as u64).min(size);
        let target =
            c.translate::<SHARED>(at, r.raw(i.a).wrapping_add(i.e as i32 as u64), size, size);
        if target.is_null() {
            return std::ptr::null();
        }
        std::ptr::write_bytes(target, 0, size as usize);
        if taken > 0 {
            let source =
                c.translate::<GLOBAL>(at, r.raw(i.b).wrapping_add(i.c as i32 as u64), taken, 1);
            if source.is_null() {
                return std::ptr::null();
            }
            std::ptr::copy(source, target, taken as usize);
        }
        at.add(1)
    }
}

/// `st.bulk`: sets `b` bytes of the block's shared memory at `[a]` to zero.
pub(crate) fn store_bulk<const SPACE: u8>() -> Handler {
    unsafe fn run<const SPACE: u8>(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
        // SAFETY: as in every handler; the bytes are checked before they are written.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            let (address, size) = (r.raw(i.a), r.raw(i.b));
            if size % 8 != 0 {
                let message = format!("a bulk store of {size} bytes, which is not a multiple of 8");
                c.fault(at, FaultKind::Misaligned, message);
                return std::ptr::null();
            }
            if SPACE == GENERIC && address >> WINDOW_SHIFT != SHARED_WINDOW >> WINDOW_SHIFT {
                return c.illegal(at, address, size).cast();
            }
            if size > 0 {
                let target = c.translate::<SPACE>(at, address, size, 8);
                if target.is_null() {
                    return std::ptr::null();
                }
                std::ptr::write_bytes(target, 0, size as usize);
            }
            at.add(1)
        }
    }
    run::<SPACE>
}

/// Returns the offset of a shared address in the block's shared memory, for messages.
fn shared_offset(address: u64) -> String {
    let start = u64::from(SHARED_START);
    match address.checked_sub(start) {
        Some(offset) => format!("{offset:#x}"),
        None => format!("-{:#x}", start - address),
    }
}
