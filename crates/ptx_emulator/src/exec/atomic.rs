//! `atom` and `red`: read-modify-write operations, as host atomics of the same width. All are
//! sequentially consistent, which is at least as strong as any PTX ordering.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::value::Value;
use super::{Context, Handler, Inst, Regs};

/// An integer type with atomic operations.
pub(crate) trait Word: Value + Eq {
    /// Atomically applies `f` and returns the previous value.
    ///
    /// # Safety
    ///
    /// `at` is readable, writable and aligned.
    unsafe fn update(at: *mut u8, f: impl FnMut(Self) -> Self) -> Self;
    /// Atomically replaces the value if it is `expected`. Returns the previous value.
    ///
    /// # Safety
    ///
    /// `at` is readable, writable and aligned.
    unsafe fn compare_exchange(at: *mut u8, expected: Self, new: Self) -> Self;
}

macro_rules! words {
    ($($ty:ty, $atomic:ty;)*) => {$(
        impl Word for $ty {
            #[inline(always)]
            unsafe fn update(at: *mut u8, mut f: impl FnMut(Self) -> Self) -> Self {
                // SAFETY: as the caller promises.
                let cell = unsafe { <$atomic>::from_ptr(at.cast()) };
                let mut old = cell.load(Ordering::Relaxed);
                loop {
                    match cell.compare_exchange_weak(old, f(old), Ordering::SeqCst, Ordering::Relaxed) {
                        Ok(old) => return old,
                        Err(now) => old = now,
                    }
                }
            }
            #[inline(always)]
            unsafe fn compare_exchange(at: *mut u8, expected: Self, new: Self) -> Self {
                // SAFETY: as the caller promises.
                let cell = unsafe { <$atomic>::from_ptr(at.cast()) };
                match cell.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(old) | Err(old) => old,
                }
            }
        }
    )*};
}
words! { u16, AtomicU16; u32, AtomicU32; u64, AtomicU64; }

/// `d = [a + imm]; [a + imm] = f(d, b)`, where `f` takes and returns register bits.
pub(crate) fn update<W: Word, const SPACE: u8, F: Fn(W, W) -> W + Copy>(_: F) -> Handler {
    unsafe fn run<W: Word, const SPACE: u8, F: Fn(W, W) -> W + Copy>(
        at: *const Inst,
        r: *mut u64,
        c: &mut Context,
    ) -> *const Inst {
        // SAFETY: `translate` checks the address.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            let address = r.raw(i.a).wrapping_add(i.imm as u64);
            let size = size_of::<W>() as u64;
            let place = c.translate::<SPACE>(at, address, size, size);
            if place.is_null() {
                return std::ptr::null();
            }
            let operand = r.get(i.b);
            let old = W::update(place, |old| super::closure_of_type::<F>()(old, operand));
            r.set(i.d, old);
            at.add(1)
        }
    }
    run::<W, SPACE, F>
}

/// `d = [a + imm]`, and if that is `b`, `[a + imm] = c`.
pub(crate) fn compare_exchange<W: Word, const SPACE: u8>() -> Handler {
    unsafe fn run<W: Word, const SPACE: u8>(
        at: *const Inst,
        r: *mut u64,
        c: &mut Context,
    ) -> *const Inst {
        // SAFETY: `translate` checks the address.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            let address = r.raw(i.a).wrapping_add(i.imm as u64);
            let size = size_of::<W>() as u64;
            let place = c.translate::<SPACE>(at, address, size, size);
            if place.is_null() {
                return std::ptr::null();
            }
            let old = W::compare_exchange(place, r.get(i.b), r.get(i.c));
            r.set(i.d, old);
            at.add(1)
        }
    }
    run::<W, SPACE>
}

/// 128-bit operations: `e` is 0 for `cas`, 1 for `exch`, 2 for a load, 3 for a store.
pub(crate) fn wide<const SPACE: u8>() -> Handler {
    unsafe fn run<const SPACE: u8>(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
        // SAFETY: `translate` checks the address; 128-bit operands have two slots each.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            let address = r.raw(i.a).wrapping_add(i.imm as u64);
            let place = c.translate::<SPACE>(at, address, 16, 16);
            if place.is_null() {
                return std::ptr::null();
            }
            let place = place.cast::<u128>();
            match i.e {
                0 => r.set_wide(i.d, compare_exchange_128(place, r.wide(i.b), r.wide(i.c))),
                // A compare-exchange of equal values changes nothing, and so is an atomic load.
                2 => r.set_wide(i.d, compare_exchange_128(place, 0, 0)),
                kind => {
                    let new = r.wide(i.b);
                    let mut old = compare_exchange_128(place, new, new);
                    loop {
                        let now = compare_exchange_128(place, old, new);
                        if now == old {
                            break;
                        }
                        old = now;
                    }
                    if kind == 1 {
                        r.set_wide(i.d, old);
                    }
                }
            }
            at.add(1)
        }
    }
    run::<SPACE>
}

/// # Safety
///
/// `at` is readable, writable, and aligned to 16 bytes.
unsafe fn compare_exchange_128(at: *mut u128, expected: u128, new: u128) -> u128 {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("cmpxchg16b") {
        let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
        // This is not the intrinsic of the same name, because without optimizations that calls a
        // library which is not linked. SAFETY: the processor has the instruction, and the caller's
        // promise holds. `rbx`, which the instruction uses and the compiler reserves, is restored.
        unsafe {
            std::arch::asm!(
                "xchg {new_low}, rbx",
                "lock cmpxchg16b xmmword ptr [{at}]",
                "mov rbx, {new_low}",
                at = in(reg) at,
                new_low = inout(reg) new as u64 => _,
                in("rcx") (new >> 64) as u64,
                inout("rax") low,
                inout("rdx") high,
                options(nostack),
            );
        }
        return u128::from(low) | u128::from(high) << 64;
    }
    // If the processor lacks the instruction, a lock makes 128-bit operations atomic with respect
    // to each other.
    static LOCK: Mutex<()> = Mutex::new(());
    let _guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: as the caller promises.
    unsafe {
        let old = at.read_volatile();
        if old == expected {
            at.write_volatile(new);
        }
        old
    }
}
