//! Implementations of the intrinsics for threads of a kernel that runs on the CPU.
//!
//! `cust::launch_cpu` runs one thread of a block at a time, and implements
//! [`Block`](cust_core::cpu::Block), to which these functions forward.

#![cfg(not(target_arch = "nvptx64"))]

use core::sync::atomic::{self, Ordering};

use cust_core::cpu::{self, Arrived, Current, End, Lanes};
use cust_core::kernel::OutputOf;

pub use cust_core::cpu::{Key, is_running};

/// The dimensions, under the names that the rows of the intrinsics table use.
#[allow(non_upper_case_globals)]
mod dimensions {
    pub(crate) const x: usize = 0;
    pub(crate) const y: usize = 1;
    pub(crate) const z: usize = 2;
}
pub(crate) use dimensions::{x, y, z};

// SAFETY: the references that they return do not outlive `'p`.
unsafe impl<'p, T> OutputOf<'p> for crate::PerThread<'p, T> {}
// SAFETY: as above.
unsafe impl<'p, T, const N: usize> OutputOf<'p> for crate::PerBlock<'p, T, N> {}
// SAFETY: as above.
unsafe impl<'p, T, const N: usize> OutputOf<'p> for crate::PerWarp<'p, T, N> {}
// SAFETY: as above.
unsafe impl<'p, T, const N: usize> OutputOf<'p> for crate::PerThreadChunk<'p, T, N> {}

/// Calls `f` with the running thread, unless the thread must exit.
#[inline]
fn with<R>(f: impl FnOnce(&Current<'_>) -> R) -> R {
    let checked = |current: &Current<'_>| {
        if current.is_dead() {
            current.block().leave();
        }
        f(current)
    };
    cpu::with(checked).expect("a thread of a kernel runs")
}

/// Ends the running thread because it called a device-only function.
pub(crate) fn unsupported(name: &str) {
    cpu::with(|current| current.block().end(End::Unsupported(name)));
}

#[inline]
pub(crate) fn place() -> cpu::Place {
    with(|current| current.place())
}

#[inline]
pub(crate) fn lane() -> u32 {
    place().index_in_block() % 32
}

#[inline]
pub(crate) fn lanemask_eq() -> u32 {
    1 << lane()
}

#[inline]
pub(crate) fn lanemask_lt() -> u32 {
    lanemask_eq() - 1
}

#[inline]
pub(crate) fn lanemask_le() -> u32 {
    lanemask_lt() | lanemask_eq()
}

#[inline]
pub(crate) fn lanemask_ge() -> u32 {
    !lanemask_lt()
}

#[inline]
pub(crate) fn lanemask_gt() -> u32 {
    !lanemask_le()
}

#[inline]
pub(crate) fn dynamic_shared() -> u32 {
    with(|current| current.block().dynamic_shared())
}

/// Returns the nanoseconds since the first call.
pub(crate) fn nanoseconds() -> u64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let start = START.get_or_init(std::time::Instant::now);
    start.elapsed().as_nanos() as u64
}

pub(crate) fn pause() {
    with(|current| current.block().pause());
}

pub(crate) fn exit() -> ! {
    end(End::Exit)
}

pub(crate) fn trap() -> ! {
    end(End::Trap)
}

fn end(end: End<'_>) -> ! {
    match cpu::with(|current| current.block().end(end)) {
        Some(never) => never,
        None => unreachable!("a thread of a kernel runs"),
    }
}

#[inline]
pub(crate) fn fence() {
    atomic::fence(Ordering::SeqCst);
}

pub(crate) fn barrier(number: u32, count: Option<u32>, predicate: bool) -> Arrived {
    // SAFETY: the intrinsics of barriers other than 0 are unsafe, and their callers uphold this
    // function's contract.
    with(|current| unsafe { current.block().barrier(number, count, true, predicate) })
}

pub(crate) fn arrive(number: u32, count: u32) {
    // SAFETY: as above.
    with(|current| unsafe { current.block().barrier(number, Some(count), false, false) });
}

pub(crate) fn all(arrived: Arrived) -> bool {
    arrived.predicates == arrived.threads
}

pub(crate) fn any(arrived: Arrived) -> bool {
    arrived.predicates > 0
}

/// Returns memory of the block, which is zeroed when the first block uses it.
pub(crate) fn shared<T>(key: Key) -> *mut T {
    let layout = core::alloc::Layout::new::<T>();
    with(|current| current.block().shared(key, layout)).cast()
}

/// Returns [`shared`] memory if a kernel is running; otherwise panics as a device-only function.
#[track_caller]
pub(crate) fn shared_if_running<T>(key: Key, name: &str) -> *mut T {
    match is_running() {
        true => shared(key),
        false => crate::session::only_on_device(name),
    }
}

/// Returns the block's memory for a static, or the static itself if no kernel is running.
pub(crate) fn of_static<T>(pointer: *mut T) -> *mut T {
    match is_running() {
        true => shared(Key::Static(pointer.addr())),
        false => pointer,
    }
}

/// Calls `f`. If `f` unwinds, marks the thread to exit at its next use of this crate: unwinding
/// leaves a phase of shared memory that other threads are still in.
pub(crate) fn guarded<R>(f: impl FnOnce() -> R) -> R {
    struct Poison;
    impl Drop for Poison {
        fn drop(&mut self) {
            cpu::with(|current| current.kill());
        }
    }
    let poison = Poison;
    let result = f();
    core::mem::forget(poison);
    result
}

pub(crate) fn lanes(operation: &'static str, mask: u32, value: u64) -> Lanes {
    with(|current| current.block().exchange(operation, mask, value))
}

/// Returns the values of the participating lanes.
fn values(lanes: &Lanes) -> impl Iterator<Item = u64> {
    (0..32)
        .filter(|lane| lanes.present >> lane & 1 != 0)
        .map(|lane| lanes.values[lane])
}

/// `shfl.sync` as the PTX ISA specifies it. If the source lane does not participate, returns this
/// lane's value.
pub(crate) fn shuffle(mode: &'static str, value: u32, b: u32, c: u32, mask: u32) -> (u32, bool) {
    let lanes = lanes(mode, mask, value.into());
    let lane = lane();
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let most = (lane & segment) | (clamp & !segment);
    let least = lane & segment;
    let (from, inside) = match mode {
        "shfl.up" => (lane.wrapping_sub(b), lane as i32 - b as i32 >= most as i32),
        "shfl.down" => (lane + b, lane + b <= most),
        "shfl.bfly" => (lane ^ b, lane ^ b <= most),
        _ => {
            let from = least | (b & !segment);
            (from, from <= most)
        }
    };
    if inside && lanes.present >> from & 1 != 0 {
        (lanes.values[from as usize] as u32, true)
    } else {
        (value, inside)
    }
}

pub(crate) fn vote(predicate: bool, mask: u32) -> [bool; 2] {
    let lanes = lanes("vote", mask, predicate.into());
    [
        values(&lanes).all(|value| value != 0),
        values(&lanes).any(|value| value != 0),
    ]
}

pub(crate) fn ballot(predicate: bool, mask: u32) -> u32 {
    let lanes = lanes("vote.ballot", mask, predicate.into());
    let bits = (0..32).map(|lane| (lanes.values[lane] as u32 & lanes.present >> lane & 1) << lane);
    bits.sum()
}

pub(crate) fn match_any(value: u64, mask: u32) -> u32 {
    let lanes = lanes("match.any", mask, value);
    let bits = (0..32).map(|lane| {
        let same = lanes.present >> lane & 1 != 0 && lanes.values[lane] == value;
        u32::from(same) << lane
    });
    bits.sum()
}

pub(crate) fn match_all(value: u64, mask: u32) -> (u32, bool) {
    let lanes = lanes("match.all", mask, value);
    match values(&lanes).all(|other| other == value) {
        true => (lanes.present, true),
        false => (0, false),
    }
}

pub(crate) fn elect(mask: u32) -> (u32, bool) {
    let first = lanes("elect", mask, 0).present.trailing_zeros();
    (first, first == lane())
}

/// `redux.sync` with one operation.
pub(crate) fn reduce<T: Word>(
    operation: &'static str,
    value: T,
    mask: u32,
    f: impl Fn(T, T) -> T,
) -> T {
    let lanes = lanes(operation, mask, value.into_bits());
    let all = values(&lanes).map(T::from_bits).reduce(f);
    all.unwrap_or(value)
}

/// A value that lanes exchange.
pub(crate) trait Word: Copy {
    fn into_bits(self) -> u64;
    fn from_bits(bits: u64) -> Self;
}

/// A type that the host's atomic operations support.
pub(crate) trait Atom: Copy + PartialEq {
    /// Replaces the value with `f(value)`, and returns the old value.
    ///
    /// # Safety
    /// `at` must be valid and aligned for atomic operations.
    unsafe fn update(at: *mut Self, f: impl FnMut(Self) -> Self) -> Self;
    /// Loads the value.
    ///
    /// # Safety
    /// As for [`Atom::update`].
    unsafe fn load(at: *const Self) -> Self;
    /// Stores a value.
    ///
    /// # Safety
    /// As for [`Atom::update`].
    unsafe fn store(at: *mut Self, value: Self);
}

macro_rules! atoms {
    ($($ty:ident $atomic:ident $bits:ident: $into:expr, $from:expr;)*) => {
        $(impl Atom for $ty {
            #[inline]
            unsafe fn update(at: *mut Self, mut f: impl FnMut(Self) -> Self) -> Self {
                // SAFETY: the caller's promise.
                let cell = unsafe { atomic::$atomic::from_ptr(at.cast::<$bits>()) };
                let mut old = cell.load(Ordering::SeqCst);
                loop {
                    let new = $into(f($from(old)));
                    match cell.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::SeqCst) {
                        Ok(old) => return $from(old),
                        Err(now) => old = now,
                    }
                }
            }

            #[inline]
            unsafe fn load(at: *const Self) -> Self {
                // SAFETY: the caller's promise.
                let bits: $bits = unsafe { atomic::$atomic::from_ptr(at.cast_mut().cast::<$bits>()) }
                    .load(Ordering::SeqCst);
                $from(bits)
            }

            #[inline]
            unsafe fn store(at: *mut Self, value: Self) {
                // SAFETY: the caller's promise.
                unsafe { atomic::$atomic::from_ptr(at.cast::<$bits>()) }.store($into(value), Ordering::SeqCst);
            }
        })*
    };
}
atoms! {
    u8 AtomicU8 u8: |bits| bits, |bits| bits;
    u16 AtomicU16 u16: |bits| bits, |bits| bits;
    u32 AtomicU32 u32: |bits| bits, |bits| bits;
    i32 AtomicI32 i32: |bits| bits, |bits| bits;
    u64 AtomicU64 u64: |bits| bits, |bits| bits;
    i64 AtomicI64 i64: |bits| bits, |bits| bits;
    f32 AtomicU32 u32: f32::to_bits, f32::from_bits;
    f64 AtomicU64 u64: f64::to_bits, f64::from_bits;
}

macro_rules! words {
    ($($ty:ident)*) => {
        $(impl Word for $ty {
            fn into_bits(self) -> u64 {
                self as u64
            }
            fn from_bits(bits: u64) -> Self {
                bits as $ty
            }
        })*
    };
}
words!(u32 i32 u64);

/// Loads an atomic. Threads that poll a value in a loop let the other threads of their block run.
///
/// # Safety
/// As for [`Atom::load`].
#[inline]
pub(crate) unsafe fn load<T: Atom>(at: *const T) -> T {
    pause_sometimes();
    // SAFETY: the caller's promise.
    unsafe { T::load(at) }
}

/// Replaces the value of an atomic with `f(value)`, and returns the old value. Like [`load`], it
/// lets other threads run.
///
/// # Safety
/// As for [`Atom::update`].
#[inline]
pub(crate) unsafe fn update<T: Atom>(at: *mut T, f: impl FnMut(T) -> T) -> T {
    pause_sometimes();
    // SAFETY: the caller's promise.
    unsafe { T::update(at, f) }
}

/// Stores `new` if the value equals `expected`, and returns the old value.
///
/// # Safety
/// As for [`Atom::update`].
#[inline]
pub(crate) unsafe fn compare_exchange<T: Atom>(at: *mut T, expected: T, new: T) -> T {
    // SAFETY: the caller's promise.
    unsafe { update(at, |old| if old == expected { new } else { old }) }
}

/// Lets the other threads of the block run from time to time: nothing else preempts a thread that
/// polls in a loop.
#[inline]
fn pause_sometimes() {
    std::thread_local! {
        static COUNT: core::cell::Cell<u32> = const { core::cell::Cell::new(0) };
    }
    let count = COUNT.get().wrapping_add(1);
    COUNT.set(count);
    if count.is_multiple_of(256) {
        pause();
    }
}

pub(crate) fn min<T: PartialOrd>(a: T, b: T) -> T {
    if b < a { b } else { a }
}

pub(crate) fn max<T: PartialOrd>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

pub(crate) fn and<T: core::ops::BitAnd<Output = T>>(a: T, b: T) -> T {
    a & b
}

pub(crate) fn or<T: core::ops::BitOr<Output = T>>(a: T, b: T) -> T {
    a | b
}

pub(crate) fn xor<T: core::ops::BitXor<Output = T>>(a: T, b: T) -> T {
    a ^ b
}

pub(crate) fn exch<T>(_: T, b: T) -> T {
    b
}

/// Addition, which wraps for integers.
pub(crate) trait Add {
    fn add(self, other: Self) -> Self;
}

macro_rules! add {
    ($($ty:ident)*) => {
        $(impl Add for $ty {
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        })*
    };
}
add!(u32 i32 u64 i64);

impl Add for f32 {
    fn add(self, other: f32) -> f32 {
        self + other
    }
}

impl Add for f64 {
    fn add(self, other: f64) -> f64 {
        self + other
    }
}

pub(crate) fn add<T: Add>(a: T, b: T) -> T {
    a.add(b)
}
