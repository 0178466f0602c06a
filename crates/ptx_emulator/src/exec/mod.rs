//! Executes decoded instructions. An instruction ([`Inst`]) is a function pointer, the handler, with
//! its operands. A thread runs by calling one handler after another ([`run`]) until it exits,
//! faults, must wait for other threads, or has used up its time slice. `decode` selects the
//! handlers; the scheduler in `launch` selects the thread.
//!
//! # Supported instructions
//!
//! | instructions | forms |
//! |---|---|
//! | `add sub mul mad mul24 mad24 div rem abs neg min max sad` | all integer types; `.hi .lo .wide .sat .relu`, packed 16-bit `add min max` |
//! | `add sub mad` with `.cc`, `addc subc madc` | 32 and 64 bits |
//! | `and or xor not cnot lop3 shl shr shf` | all widths, predicates where PTX has them, `.clamp .wrap` |
//! | `bfe bfi bfind brev bmsk clz fns popc prmt szext dp4a dp2a` | all forms |
//! | `add sub mul fma mad div rcp sqrt rsqrt` | f32, f64: `.rn .rz .rm .rp .ftz .sat .approx .full`; f16, bf16 and their pairs: add, sub, mul, fma |
//! | `neg abs min max` of floats, `copysign testp` | f16, bf16, pairs, f32, f64; `.NaN .xorsign.abs`, three inputs |
//! | `sin cos lg2 ex2 tanh` with `.approx` | f32, and `ex2 tanh` of 16-bit floats |
//! | `setp set selp slct` | all types and comparisons, `.and .or .xor`, packed 16-bit floats |
//! | `cvt cvt.pack` | all integer and float types up to 64 bits, all rounding modes, `.sat .ftz .relu`, pairs, tf32, floats of 8, 6 and 4 bits; no stochastic rounding |
//! | `vadd vsub vabsdiff vmin vmax vshl vshr vmad vset`, `v…2 v…4` | parts of both operands, `.sat`, a second operation; no lane masks and permutations, no negated operands |
//! | `mov` | registers, constants, addresses, special registers, packing and unpacking, 128 bits |
//! | `ld st ldu` | all spaces and types, vectors, `.volatile .relaxed .acquire .release .mmio`, cache hints without effect |
//! | `atom red` | all operations, 16 to 128 bits, floats, packed 16-bit floats, f32 vectors; every scope acts as system scope, every ordering as sequentially consistent |
//! | `st.bulk` | all |
//! | `fence membar` | all; as sequentially consistent |
//! | `cvta isspacep alloca stacksave stackrestore` | all |
//! | `cp.async`, `cp.async.bulk`, `cp.reduce.async.bulk`, `st.async red.async` | all, including tensors in tiled and im2col mode; each completes when it is issued |
//! | `mbarrier` | all; a wait that fails lets other threads run |
//! | `mapa getctarank barrier.cluster` | all |
//! | `mma wmma ldmatrix stmatrix movmatrix` | all shapes and types, sparse and block-scaled; `ldmatrix` and `stmatrix` of 8×8 |
//! | `tex tld4 txq suld sust sured suq` | 1D to 3D arrays, layered, mipmapped and cubemap (filtering does not cross the edges of faces), point and linear filtering, all address modes; no sRGB |
//! | `wgmma` | all types; K-major (not transposed), not sparse |
//! | `prefetch prefetchu discard applypriority createpolicy nanosleep griddepcontrol setmaxnreg pmevent` | without effect |
//! | `bar barrier` | `.sync .arrive .red`, with ids and counts |
//! | `bar.warp.sync shfl.sync vote.sync match.sync redux.sync elect.sync activemask` | all modes |
//! | `bra brx.idx call ret exit trap brkpt` | direct and indirect calls, recursion, register and memory parameters |
//!
//! The results of arithmetic instructions equal an H100's bit for bit, including NaNs
//! (`tests/hardware.rs`), except for approximations such as `sin.approx`, which are more precise
//! here.
//!
//! External functions: `vprintf malloc free __assertfail cudaGraphSetConditional`. Special
//! registers: thread, block and grid indices, lanes, warps, masks, clocks, shared memory sizes,
//! clusters.
//!
//! Matrix products of floats are rounded once. A tensor core truncates and rounds differently, so
//! results equal a GPU's only if no sum is rounded.
//!
//! Not supported, and an error when executed: `tcgen05`, `multimem`, changes of tensor maps.

pub(crate) mod atomic;
pub(crate) mod barrier;
pub(crate) mod call;
pub(crate) mod float;
pub(crate) mod integer;
pub(crate) mod memory;
pub(crate) mod special;
pub(crate) mod texture;
pub(crate) mod transfer;
pub(crate) mod value;

use crate::fault::FaultKind;
use crate::launch::{Shared, Thread};
use crate::memory::Range;
use crate::program::Code;
use value::Value;

/// Executes an instruction and returns the next one, or null after storing an [`Event`] in the
/// context.
pub(crate) type Handler = unsafe fn(*const Inst, *mut u64, &mut Context) -> *const Inst;

/// A decoded instruction. The meaning of the fields is specific to the handler; register operands
/// are slots of the function's frame, which `decode` has checked.
#[derive(Clone, Copy)]
pub(crate) struct Inst {
    pub run: Handler,
    /// Usually the destination.
    pub d: u32,
    pub a: u32,
    pub b: u32,
    pub c: u32,
    pub e: u32,
    /// For memory accesses: the entry of the range cache to try.
    pub cache: u32,
    pub imm: i64,
}

/// The reason why a thread stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A call or return changed the frame: continue at `next` with new registers.
    Frame,
    /// The thread exited.
    Exit,
    /// The thread faulted; see `fault`.
    Fault,
    /// The instruction at `next` waits for other threads.
    Sync,
    /// The time slice is used up; continue at `next` later.
    Preempted,
    /// The phase of an `mbarrier` is not complete; continue at `next` later.
    Unfinished,
}

/// Address windows: generic addresses with these upper bits are not global.
pub(crate) const SHARED_WINDOW: u64 = 1 << 60;
/// Where a block's shared variables start in the shared state space. GPUs of compute capability 8.0
/// and higher reserve the first KiB (`CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK`), so
/// that no variable has address 0 there either.
pub(crate) const SHARED_START: u32 = 1 << 10;
pub(crate) const LOCAL_WINDOW: u64 = 2 << 60;
pub(crate) const PARAM_WINDOW: u64 = 3 << 60;
/// The window of function addresses, from which nothing can be loaded.
pub(crate) const CODE_WINDOW: u64 = 4 << 60;
/// The position of the bits that distinguish windows.
pub(crate) const WINDOW_SHIFT: u32 = 60;
/// Offsets in shared memory are below this bit. The bits from here on are set in addresses from
/// `mapa`: the block's rank in its cluster plus one; zero is the own block.
pub(crate) const RANK_SHIFT: u32 = 24;

/// The number of entries of the range cache; a power of two.
pub(crate) const CACHE_SIZE: usize = 512;

/// The state that handlers access. Each worker has one; the scheduler points it to a block and a
/// thread.
pub(crate) struct Context<'l> {
    pub event: Event,
    pub next: *const Inst,
    /// The number of backward branches left in this time slice.
    pub fuel: u32,
    pub thread: *mut Thread,
    /// The thread's stack in host memory, and how much of it is accessible.
    pub stack: *mut u8,
    pub stack_len: u64,
    /// The current frame's parameters and local variables.
    pub frame: *mut u8,
    pub shared_memory: *mut u8,
    pub shared_len: u64,
    /// The shared memory of all blocks of the cluster.
    pub cluster_memory: *mut u8,
    /// The block's rank in its cluster.
    pub block_rank: u32,
    /// The mask of the cluster's blocks whose threads have all exited, by rank.
    pub ended_blocks: u32,
    /// The worker's own copy of the parameters, so that a kernel that writes to it does not affect
    /// others.
    pub params: Vec<u128>,
    pub params_len: u64,
    pub block: [u32; 3],
    pub worker: u32,
    pub launch: &'l Shared<'l>,
    pub code: &'l Code,
    /// The ranges that instructions last accessed.
    pub cache: Box<[Range; CACHE_SIZE]>,
    /// A copy of the table of allocations, and its generation.
    pub ranges: Vec<Range>,
    pub generation: u64,
    pub fault: Option<Box<(FaultKind, String)>>,
}

/// The registers of the current frame.
///
/// Slots come from a decoded instruction of the function whose frame this is, so they are in range.
/// This makes the accessors sound; therefore only handlers create a `Regs`.
#[derive(Clone, Copy)]
pub(crate) struct Regs(pub *mut u64);

impl Regs {
    #[inline(always)]
    pub fn get<T: Value>(self, slot: u32) -> T {
        // SAFETY: see the type.
        T::from_bits64(unsafe { *self.0.add(slot as usize) })
    }

    #[inline(always)]
    pub fn set<T: Value>(self, slot: u32, value: T) {
        // SAFETY: see the type.
        unsafe { *self.0.add(slot as usize) = value.to_bits64() }
    }

    #[inline(always)]
    pub fn raw(self, slot: u32) -> u64 {
        self.get(slot)
    }

    #[inline(always)]
    pub fn set_raw(self, slot: u32, value: u64) {
        self.set(slot, value);
    }

    /// Returns a 128-bit register, which takes two slots.
    #[inline(always)]
    pub fn wide(self, slot: u32) -> u128 {
        u128::from(self.raw(slot)) | u128::from(self.raw(slot + 1)) << 64
    }

    #[inline(always)]
    pub fn set_wide(self, slot: u32, value: u128) {
        self.set_raw(slot, value as u64);
        self.set_raw(slot + 1, (value >> 64) as u64);
    }
}

impl Context<'_> {
    /// Returns the rank in the cluster of the block that a shared address, or a generic one, is in.
    pub fn rank_of(&self, address: u64) -> u32 {
        match (address >> RANK_SHIFT) as u8 {
            0 => self.block_rank,
            rank => u32::from(rank) - 1,
        }
    }

    /// Stops the thread with a fault at `at`.
    #[cold]
    #[inline(never)]
    pub fn fault(
        &mut self,
        at: *const Inst,
        kind: FaultKind,
        message: impl Into<String>,
    ) -> *const Inst {
        self.fault = Some(Box::new((kind, message.into())));
        self.next = at;
        self.event = Event::Fault;
        std::ptr::null()
    }

    /// Stops the thread with an event; the thread continues at `at`.
    #[inline(always)]
    pub fn stop(&mut self, at: *const Inst, event: Event) -> *const Inst {
        self.next = at;
        self.event = event;
        std::ptr::null()
    }
}

/// Runs the context's thread until an event other than a change of the frame.
///
/// # Safety
///
/// `context.thread` is a live thread of the program in `context.code`, set up by the scheduler.
pub(crate) unsafe fn run(context: &mut Context) -> Event {
    // SAFETY: the thread's `next` is in its function's code, which ends in an instruction that does
    // not fall through, and branch targets were resolved inside the code; handlers guarantee the
    // same for what they return. The registers are the current frame's.
    unsafe {
        let mut at = (*context.thread).next;
        loop {
            let registers = (*context.thread).registers();
            loop {
                at = ((*at).run)(at, registers, context);
                if at.is_null() {
                    break;
                }
            }
            at = context.next;
            if context.event != Event::Frame {
                (*context.thread).next = at;
                return context.event;
            }
        }
    }
}

/// Returns a closure without captures; since `F` is zero-sized, its type suffices.
#[inline(always)]
fn closure_of_type<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0, "a handler's closure captures nothing") };
    // SAFETY: a zero-sized type has no bytes to read, and the caller was given a value of it, so it
    // is inhabited.
    unsafe { std::ptr::NonNull::<F>::dangling().as_ptr().read() }
}

/// `d = f(a)`.
pub(crate) fn unary<A: Value, R: Value, F: Fn(A) -> R + Copy>(_: F) -> Handler {
    unsafe fn run<A: Value, R: Value, F: Fn(A) -> R + Copy>(
        at: *const Inst,
        r: *mut u64,
        _: &mut Context,
    ) -> *const Inst {
        // SAFETY: handlers are called with an instruction and its frame's registers.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            r.set(i.d, closure_of_type::<F>()(r.get(i.a)));
            at.add(1)
        }
    }
    run::<A, R, F>
}

/// `d = f(a, b)`.
pub(crate) fn binary<A: Value, B: Value, R: Value, F: Fn(A, B) -> R + Copy>(_: F) -> Handler {
    unsafe fn run<A: Value, B: Value, R: Value, F: Fn(A, B) -> R + Copy>(
        at: *const Inst,
        r: *mut u64,
        _: &mut Context,
    ) -> *const Inst {
        // SAFETY: as in `unary`.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            r.set(i.d, closure_of_type::<F>()(r.get(i.a), r.get(i.b)));
            at.add(1)
        }
    }
    run::<A, B, R, F>
}

/// `d = f(a, b, c)`.
pub(crate) fn ternary<A: Value, B: Value, C: Value, R: Value, F: Fn(A, B, C) -> R + Copy>(
    _: F,
) -> Handler {
    unsafe fn run<A: Value, B: Value, C: Value, R: Value, F: Fn(A, B, C) -> R + Copy>(
        at: *const Inst,
        r: *mut u64,
        _: &mut Context,
    ) -> *const Inst {
        // SAFETY: as in `unary`.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            r.set(
                i.d,
                closure_of_type::<F>()(r.get(i.a), r.get(i.b), r.get(i.c)),
            );
            at.add(1)
        }
    }
    run::<A, B, C, R, F>
}

/// Returns the handler of any operation that continues with the next instruction.
pub(crate) fn general<F: Fn(&Inst, Regs, &mut Context) + Copy>(_: F) -> Handler {
    unsafe fn run<F: Fn(&Inst, Regs, &mut Context) + Copy>(
        at: *const Inst,
        r: *mut u64,
        c: &mut Context,
    ) -> *const Inst {
        // SAFETY: as in `unary`.
        unsafe {
            closure_of_type::<F>()(&*at, Regs(r), c);
            at.add(1)
        }
    }
    run::<F>
}
