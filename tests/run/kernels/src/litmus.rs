//! Litmus tests of the memory model: small programs of two to four threads whose outcomes tell
//! which orders the hardware has shown (J. Alglave et al., "GPU concurrency: weak behaviors and
//! programming assumptions", ASPLOS 2015). Each launch runs many instances of one program at once,
//! each thread of the grid taking one role of several instances, in other blocks than the other
//! roles of the same instance, as in J. Kirkham et al., "Foundations of empirical memory
//! consistency testing", OOPSLA 2020.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};
use cuda_std::prelude::*;

/// How far the variables of two instances are apart, in elements.
pub const STRIDE: usize = 16;

/// How many results an instance has.
pub const RESULTS: usize = 4;

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Program {
    /// Message passing: data, then a flag; flag, then the data.
    MessagePassing,
    /// Store buffering: each thread writes one variable and reads the other.
    StoreBuffering,
    /// Load buffering: each thread reads one variable and writes the other.
    LoadBuffering,
    /// Independent reads of independent writes: do two readers agree on the order of two writers?
    IndependentReads,
    /// Coherence: two reads of one variable.
    Coherence,
}

/// How its accesses are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Strength {
    /// Not at all.
    Relaxed,
    /// Loads acquire, stores release.
    AcquireRelease,
    /// All are sequentially consistent.
    SequentiallyConsistent,
    /// Relaxed accesses with a fence between them.
    Fenced,
}

impl Program {
    /// All of them.
    pub const ALL: [Program; 5] = [
        Program::MessagePassing,
        Program::StoreBuffering,
        Program::LoadBuffering,
        Program::IndependentReads,
        Program::Coherence,
    ];

    /// How many threads it has.
    pub const fn roles(self) -> u32 {
        match self {
            Program::IndependentReads => 4,
            _ => 2,
        }
    }

    /// Whether the results are those that only a weak order explains.
    pub fn is_weak(self, r: [u32; RESULTS]) -> bool {
        match self {
            Program::MessagePassing | Program::Coherence => r[0] == 1 && r[1] == 0,
            Program::StoreBuffering => r[0] == 0 && r[1] == 0,
            Program::LoadBuffering => r[0] == 1 && r[1] == 1,
            Program::IndependentReads => r == [1, 0, 1, 0],
        }
    }

    /// Whether Rust's memory model forbids the weak outcome.
    pub fn forbids(self, strength: Strength) -> bool {
        use Strength::*;
        match (self, strength) {
            (Program::Coherence, _) | (_, SequentiallyConsistent | Fenced) => true,
            (_, Relaxed) => false,
            (Program::MessagePassing | Program::LoadBuffering, AcquireRelease) => true,
            (_, AcquireRelease) => false,
        }
    }
}

impl Strength {
    /// All of them.
    pub const ALL: [Strength; 4] = [
        Strength::Relaxed,
        Strength::AcquireRelease,
        Strength::SequentiallyConsistent,
        Strength::Fenced,
    ];
}

/// An atomic of any width.
trait Cell {
    fn get(&self, order: Ordering) -> u32;
    fn set(&self, value: u32, order: Ordering);
}

macro_rules! cells {
    ($($atomic:ty, $int:ty;)*) => { $(
        impl Cell for $atomic {
            #[inline(always)]
            fn get(&self, order: Ordering) -> u32 {
                self.load(order) as u32
            }
            #[inline(always)]
            fn set(&self, value: u32, order: Ordering) {
                self.store(value as $int, order);
            }
        }
    )* };
}

cells! {
    AtomicU8, u8;
    AtomicU16, u16;
    AtomicU32, u32;
    AtomicU64, u64;
}

#[inline(always)]
fn read<const STRENGTH: u32>(cell: &impl Cell) -> u32 {
    cell.get(match STRENGTH {
        1 => Ordering::Acquire,
        2 => Ordering::SeqCst,
        _ => Ordering::Relaxed,
    })
}

#[inline(always)]
fn write<const STRENGTH: u32>(cell: &impl Cell) {
    cell.set(
        1,
        match STRENGTH {
            1 => Ordering::Release,
            2 => Ordering::SeqCst,
            _ => Ordering::Relaxed,
        },
    );
}

/// The code between two accesses.
#[inline(always)]
fn between<const STRENGTH: u32>(order: Ordering) {
    if STRENGTH == Strength::Fenced as u32 {
        fence(order);
    }
}

/// A thread's part of an instance.
#[inline(always)]
unsafe fn play<const STRENGTH: u32>(
    program: u32,
    role: u32,
    x: &impl Cell,
    y: &impl Cell,
    results: *mut u32,
) {
    const MP: u32 = Program::MessagePassing as u32;
    const SB: u32 = Program::StoreBuffering as u32;
    const LB: u32 = Program::LoadBuffering as u32;
    const IRIW: u32 = Program::IndependentReads as u32;
    let put = |at: usize, value: u32| unsafe { results.add(at).write(value) };
    match (program, role) {
        (MP, 0) => {
            // The data need no order of their own.
            x.set(1, Ordering::Relaxed);
            between::<STRENGTH>(Ordering::Release);
            write::<STRENGTH>(y);
        }
        (MP, _) => {
            let flag = read::<STRENGTH>(y);
            between::<STRENGTH>(Ordering::Acquire);
            let data = x.get(Ordering::Relaxed);
            put(0, flag);
            put(1, data);
        }
        (SB, 0) => {
            write::<STRENGTH>(x);
            between::<STRENGTH>(Ordering::SeqCst);
            let seen = read::<STRENGTH>(y);
            put(0, seen);
        }
        (SB, _) => {
            write::<STRENGTH>(y);
            between::<STRENGTH>(Ordering::SeqCst);
            let seen = read::<STRENGTH>(x);
            put(1, seen);
        }
        (LB, 0) => {
            let seen = read::<STRENGTH>(x);
            between::<STRENGTH>(Ordering::AcqRel);
            write::<STRENGTH>(y);
            put(0, seen);
        }
        (LB, _) => {
            let seen = read::<STRENGTH>(y);
            between::<STRENGTH>(Ordering::AcqRel);
            write::<STRENGTH>(x);
            put(1, seen);
        }
        (IRIW, 0) => write::<STRENGTH>(x),
        (IRIW, 1) => write::<STRENGTH>(y),
        (IRIW, 2) => {
            let first = read::<STRENGTH>(x);
            between::<STRENGTH>(Ordering::SeqCst);
            let second = read::<STRENGTH>(y);
            put(0, first);
            put(1, second);
        }
        (IRIW, _) => {
            let first = read::<STRENGTH>(y);
            between::<STRENGTH>(Ordering::SeqCst);
            let second = read::<STRENGTH>(x);
            put(2, first);
            put(3, second);
        }
        // Coherence.
        (_, 0) => write::<STRENGTH>(x),
        _ => {
            let first = read::<STRENGTH>(x);
            between::<STRENGTH>(Ordering::Acquire);
            let second = read::<STRENGTH>(x);
            put(0, first);
            put(1, second);
        }
    }
}

#[inline(always)]
unsafe fn run<C: Cell>(
    program: u32,
    strength: u32,
    seed: u32,
    memory: *const u8,
    results: *mut u32,
) {
    let n = thread::grid_dim_x() * thread::block_dim_x();
    let t = thread::index_1d();
    let (xs, ys) = (memory.cast::<C>(), unsafe {
        memory.cast::<C>().add(n as usize * STRIDE)
    });
    let roles = if program == Program::IndependentReads as u32 {
        4
    } else {
        2
    };
    for step in 0..roles {
        // Half of the threads go through the roles the other way round.
        let role = if t & 32 == 0 { step } else { roles - 1 - step };
        // `n` is a power of two and the factor odd: each role of each instance has its thread.
        let factor = 2 * (seed ^ role * 0x9E37) + 1;
        let instance = (t.wrapping_mul(factor).wrapping_add(role * (n / 4 + 77)) % n) as usize;
        // The second variables lie in another order.
        let other = (instance.wrapping_mul(5) + 13) % n as usize;
        unsafe {
            let (x, y) = (&*xs.add(instance * STRIDE), &*ys.add(other * STRIDE));
            let results = results.add(instance * RESULTS);
            match strength {
                0 => play::<0>(program, role, x, y, results),
                1 => play::<1>(program, role, x, y, results),
                2 => play::<2>(program, role, x, y, results),
                _ => play::<3>(program, role, x, y, results),
            }
        }
    }
}

/// Runs as many instances of a program as there are threads, a power of two. `memory` is zeroed,
/// and has room for `2 * STRIDE` atomics of `width` bytes for each instance.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn litmus(
    program: u32,
    strength: u32,
    width: u32,
    seed: u32,
    memory: *const u8,
    results: *mut u32,
) {
    unsafe {
        match width {
            1 => run::<AtomicU8>(program, strength, seed, memory, results),
            2 => run::<AtomicU16>(program, strength, seed, memory, results),
            4 => run::<AtomicU32>(program, strength, seed, memory, results),
            _ => run::<AtomicU64>(program, strength, seed, memory, results),
        }
    }
}
