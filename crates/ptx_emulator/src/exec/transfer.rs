//! Bulk and tensor copies. Each completes when it is issued, which a device could do, too; the
//! groups that programs wait for are therefore always complete.

use super::barrier::{Action, act};
use super::memory::{GENERIC, GLOBAL, SHARED};
use super::{Context, Inst, RANK_SHIFT, Regs};
use crate::fault::FaultKind;
use crate::launch::MAX_BLOCKS_PER_CLUSTER;
use crate::soft_float::{BF16, F16, F64, Mode};
use crate::tensor_map::{Cut, TensorMap, element};

/// A bulk copy. The operands, which differ between copies of the instruction, are in registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Transfer {
    pub kind: Kind,
    pub reduce: Option<Reduce>,
    /// Whether the copy completes bytes on an `mbarrier`.
    pub barrier: bool,
    /// Whether the last register is a mask of the blocks of the cluster that receive a copy, each
    /// completing on its own `mbarrier`, at the same offsets in their shared memory.
    pub multicast: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// The source and destination spaces. Registers: destination, source, size, barrier or byte
    /// mask, blocks.
    Bulk { from: u8, to: u8, masked: bool },
    /// Registers: shared address, map, barrier, five coordinates, three offsets, blocks.
    Tensor { rank: u8, load: bool },
    /// `st.async` and `red.async` of `count` values of `bytes` bytes. Registers: address, barrier,
    /// values.
    Values { count: u32, bytes: u32 },
}

/// How a reduction combines values with the memory contents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operation {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Unsigned,
    Signed,
    F16,
    Bf16,
    Float,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reduce {
    pub operation: Operation,
    pub number: Number,
    pub bytes: u32,
}

impl Reduce {
    fn combine(self, old: u64, new: u64) -> u64 {
        use Operation::*;
        let bits = self.bytes * 8;
        let signed = |value: u64| (value << (64 - bits)) as i64 >> (64 - bits);
        let float = |value: u64| match (self.number, self.bytes) {
            (Number::F16, _) => f64::from_bits(F64.pack(F16.unpack(value), Mode::Nearest)),
            (Number::Bf16, _) => f64::from_bits(F64.pack(BF16.unpack(value), Mode::Nearest)),
            (_, 4) => f32::from_bits(value as u32).into(),
            _ => f64::from_bits(value),
        };
        let rounded = |value: f64| match (self.number, self.bytes) {
            (Number::F16, _) => F16.pack(F64.unpack(value.to_bits()), Mode::Nearest),
            (Number::Bf16, _) => BF16.pack(F64.unpack(value.to_bits()), Mode::Nearest),
            (_, 4) => (value as f32).to_bits().into(),
            _ => value.to_bits(),
        };
        let floats = !matches!(self.number, Number::Unsigned | Number::Signed);
        match self.operation {
            Add if floats => rounded(float(old) + float(new)),
            Min if floats => rounded(float(old).min(float(new))),
            Max if floats => rounded(float(old).max(float(new))),
            Add => old.wrapping_add(new),
            Min if self.number == Number::Signed => signed(old).min(signed(new)) as u64,
            Max if self.number == Number::Signed => signed(old).max(signed(new)) as u64,
            Min => old.min(new),
            Max => old.max(new),
            Inc => {
                if old >= new {
                    0
                } else {
                    old + 1
                }
            }
            Dec => {
                if old == 0 || old > new {
                    new
                } else {
                    old - 1
                }
            }
            And => old & new,
            Or => old | new,
            Xor => old ^ new,
        }
    }

    /// Applies the reduction to one value.
    ///
    /// # Safety
    ///
    /// The value's bytes are writable at `to` and readable at `from`.
    pub unsafe fn apply(self, to: *mut u8, from: *const u8) {
        use super::atomic::Word;
        // Other blocks may reduce into the same memory at the same time. SAFETY: as the caller
        // promises; addresses of bulk copies are aligned to 16 bytes.
        unsafe {
            match self.bytes {
                8 => {
                    let new = from.cast::<u64>().read_unaligned();
                    u64::update(to, |old| self.combine(old, new));
                }
                4 => {
                    let new = from.cast::<u32>().read_unaligned();
                    u32::update(to, |old| self.combine(old.into(), new.into()) as u32);
                }
                _ => {
                    let new = from.cast::<u16>().read_unaligned();
                    u16::update(to, |old| self.combine(old.into(), new.into()) as u16);
                }
            }
        }
    }
}

/// Returns the host address of an operand.
///
/// # Safety
///
/// `at` is the instruction being executed.
unsafe fn place(
    c: &mut Context,
    at: *const Inst,
    space: u8,
    address: u64,
    size: u64,
    align: u64,
) -> Option<*mut u8> {
    // SAFETY: as the caller promises.
    let place = unsafe {
        match space {
            SHARED => c.translate::<SHARED>(at, address, size, align),
            GLOBAL => c.translate::<GLOBAL>(at, address, size, align),
            _ => c.translate::<GENERIC>(at, address, size, align),
        }
    };
    (!place.is_null()).then_some(place)
}

/// Executes the [`Transfer`] with index `imm`; `a` lists the registers.
pub(crate) unsafe fn transfer(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: as in every handler.
    unsafe {
        let (i, r) = (&*at, Regs(r));
        let transfer = c.code.transfers[i.imm as usize];
        let code = c.code;
        let register = |index: usize| r.raw(code.extra[i.a as usize + index]);
        let mut once = |target: u64, barrier: u64| match transfer.kind {
            Kind::Bulk { from, to, masked } => bulk(
                c,
                at,
                transfer,
                (from, to, masked),
                [target, barrier],
                register,
            ),
            Kind::Tensor { rank, load } => {
                tensor(c, at, transfer, rank, load, [target, barrier], register)
            }
            Kind::Values { count, bytes } => values(c, at, transfer, count, bytes, register),
        };
        let (barrier, blocks) = match transfer.kind {
            Kind::Bulk { .. } => (3, 4),
            Kind::Tensor { .. } => (2, 11),
            Kind::Values { .. } => (1, 0),
        };
        let (target, barrier) = (register(0), register(barrier));
        let done = if transfer.multicast {
            let blocks = register(blocks);
            (0..MAX_BLOCKS_PER_CLUSTER as u32)
                .filter(|rank| blocks >> rank & 1 != 0)
                .try_for_each(|rank| once(in_block(target, rank), in_block(barrier, rank)))
        } else {
            // The addresses may be in any block.
            once(target, barrier)
        };
        match done {
            Some(()) => at.add(1),
            None => std::ptr::null(),
        }
    }
}

/// Returns a shared address in another block of the cluster.
fn in_block(address: u64, rank: u32) -> u64 {
    address & !(0xff << RANK_SHIFT) | u64::from(rank + 1) << RANK_SHIFT
}

/// Faults unless the launch has clusters. Copies from shared memory or registers to the cluster's
/// shared memory require clusters: an H200 fails other launches with "illegal instruction", also
/// for nvcc's code.
fn in_clusters(c: &mut Context, at: *const Inst, what: &str) -> Option<()> {
    if c.launch.explicit_cluster {
        return Some(());
    }
    let message = format!("an asynchronous {what} to shared memory in a launch without clusters");
    c.fault(at, FaultKind::InvalidInstruction, message);
    None
}

/// Completes bytes on a barrier.
unsafe fn complete_bytes(c: &mut Context, at: *const Inst, address: u64, bytes: u64) -> Option<()> {
    let address = address & u64::from(u32::MAX);
    // SAFETY: as the caller promises.
    unsafe { act(c, at, address, false, Action::Complete, 0, bytes).map(|_| ()) }
}

unsafe fn bulk(
    c: &mut Context,
    at: *const Inst,
    transfer: Transfer,
    (from, to, masked): (u8, u8, bool),
    [target, barrier]: [u64; 2],
    register: impl Fn(usize) -> u64,
) -> Option<()> {
    let size = register(2) & u64::from(u32::MAX);
    if (from, to) == (SHARED, SHARED) {
        in_clusters(c, at, "copy from shared memory")?;
    }
    if size % 16 != 0 {
        let message = format!("a bulk copy of {size} bytes, which is not a multiple of 16");
        c.fault(at, FaultKind::Misaligned, message);
        return None;
    }
    // SAFETY: as the caller promises; all bytes are checked before they are accessed.
    unsafe {
        if size > 0 {
            let target = place(c, at, to, target, size, 16)?;
            let source = place(c, at, from, register(1), size, 16)?;
            match transfer.reduce {
                Some(reduce) => {
                    for offset in (0..size as usize).step_by(reduce.bytes as usize) {
                        reduce.apply(target.add(offset), source.add(offset));
                    }
                }
                None if masked => {
                    let mask = register(3);
                    for offset in 0..size as usize {
                        if mask >> (offset % 16) & 1 != 0 {
                            target
                                .add(offset)
                                .write_volatile(source.add(offset).read_volatile());
                        }
                    }
                }
                None => std::ptr::copy(source, target, size as usize),
            }
        }
        if transfer.barrier {
            complete_bytes(c, at, barrier, size)?;
        }
    }
    Some(())
}

unsafe fn tensor(
    c: &mut Context,
    at: *const Inst,
    transfer: Transfer,
    rank: u8,
    load: bool,
    [base, barrier]: [u64; 2],
    register: impl Fn(usize) -> u64,
) -> Option<()> {
    // SAFETY: as the caller promises; every element is checked.
    unsafe {
        let words = place(c, at, GENERIC, register(1), 128, 64)?;
        let map = TensorMap::decode(&words.cast::<[u64; 16]>().read_unaligned());
        let Some(map) = map.filter(|map| map.rank == rank) else {
            let message = format!("no tensor map of {rank} dimensions at {:#x}", register(1));
            c.fault(at, FaultKind::InvalidInstruction, message);
            return None;
        };
        let start = [3, 4, 5, 6, 7].map(|index| register(index) as i32);
        let offsets = [8, 9, 10].map(|index| register(index) as u16);
        // A GPU fails a store to negative coordinates with "illegal instruction". Other elements
        // outside the tensor are skipped.
        if !load && start[..usize::from(rank)].iter().any(|&x| x < 0) {
            let start = &start[..usize::from(rank)];
            let message = format!("a tensor copy to the negative coordinates {start:?}");
            c.fault(at, FaultKind::InvalidInstruction, message);
            return None;
        }
        // Likewise, if the map's bounds include pixels outside the image, a store fails wherever it
        // begins (observed on an H200, also with nvcc's code).
        if let Cut::Columns { lower, upper, .. } = map.cut
            && !load
            && (lower.iter().any(|&x| x < 0) || upper.iter().any(|&x| x > 0))
        {
            let [lower, upper] =
                [lower, upper].map(|corner| corner[..usize::from(rank) - 2].to_vec());
            let message = format!(
                "a store in im2col mode with a map whose corners {lower:?} and {upper:?} are outside the image"
            );
            c.fault(at, FaultKind::InvalidInstruction, message);
            return None;
        }
        // Likewise, if the innermost coordinate is not at a multiple of 16 bytes (observed on an
        // H200).
        let bytes = element(map.ty).map_or(16, |(bytes, _)| bytes as i64);
        if i64::from(start[0]) * bytes % 16 != 0 {
            let message = format!(
                "a tensor copy whose first coordinate, {}, is not a multiple of {} elements (16 bytes)",
                start[0],
                16 / bytes
            );
            c.fault(at, FaultKind::InvalidInstruction, message);
            return None;
        }
        let align = 128;
        if !base.is_multiple_of(align) {
            let message = format!(
                "a tensor copy with the shared address {base:#x}, which is not a multiple of {align}"
            );
            c.fault(at, FaultKind::Misaligned, message);
            return None;
        }
        let (size, float) = element(map.ty).unwrap_or((1, false));
        let fill: u64 = if map.nan_outside && float {
            match size {
                2 => 0x7fff,
                4 => 0x7fff_ffff,
                _ => 0x7fff_ffff_ffff_ffff,
            }
        } else {
            0
        };
        let elements = map.elements(start, offsets);
        let bytes = elements.len() as u64 * u64::from(size);
        // In im2col mode, rows of channels are swizzled like rows of a box.
        debug_assert!(matches!(map.cut, Cut::Tile { .. } | Cut::Columns { .. }));
        for (index, source) in elements.into_iter().enumerate() {
            let shared = map.swizzled(base + index as u64 * u64::from(size));
            let shared = place(c, at, SHARED, shared, size.into(), 1)?;
            let global = match source {
                Some(address) => place(c, at, GLOBAL, address, size.into(), 1)?,
                None if load => {
                    let fill = fill.to_le_bytes();
                    std::ptr::copy_nonoverlapping(fill.as_ptr(), shared, size as usize);
                    continue;
                }
                None => continue,
            };
            match (load, transfer.reduce) {
                (true, _) => std::ptr::copy(global, shared, size as usize),
                (false, None) => std::ptr::copy(shared, global, size as usize),
                (false, Some(reduce)) => {
                    let number = match map.ty {
                        6 => Number::F16,
                        9 => Number::Bf16,
                        _ if float => Number::Float,
                        3 | 5 => Number::Signed,
                        _ => Number::Unsigned,
                    };
                    let reduce = Reduce {
                        number,
                        bytes: size,
                        ..reduce
                    };
                    if size == 1 {
                        let message = "a reduction of elements of one byte";
                        c.fault(at, FaultKind::InvalidInstruction, message);
                        return None;
                    }
                    reduce.apply(global, shared);
                }
            }
        }
        if transfer.barrier {
            complete_bytes(c, at, barrier, bytes)?;
        }
    }
    Some(())
}

unsafe fn values(
    c: &mut Context,
    at: *const Inst,
    transfer: Transfer,
    count: u32,
    bytes: u32,
    register: impl Fn(usize) -> u64,
) -> Option<()> {
    let size = u64::from(count * bytes);
    in_clusters(c, at, "store")?;
    // SAFETY: as the caller promises; all bytes are checked.
    unsafe {
        let address = register(0) & u64::from(u32::MAX);
        let target = place(c, at, SHARED, address, size, size)?;
        for index in 0..count as usize {
            let value = register(2 + index).to_le_bytes();
            let to = target.add(index * bytes as usize);
            match transfer.reduce {
                Some(reduce) => reduce.apply(to, value.as_ptr()),
                None => std::ptr::copy_nonoverlapping(value.as_ptr(), to, bytes as usize),
            }
        }
        complete_bytes(c, at, register(1), size)
    }
}

/// `mapa`: `d =` the address `a` in the block `b` of the cluster.
pub(crate) unsafe fn map_address(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: as in every handler.
    unsafe {
        let (i, r) = (&*at, Regs(r));
        let block: u32 = r.get(i.b);
        let blocks = c.launch.blocks_per_cluster();
        if block >= blocks {
            let message = format!("`mapa` with block {block} of a cluster of {blocks}");
            return c.fault(at, FaultKind::InvalidInstruction, message);
        }
        r.set_raw(i.d, in_block(r.raw(i.a), block));
        at.add(1)
    }
}

/// `getctarank`: `d =` the rank of the block that the shared address `a` is in.
pub(crate) fn rank_of_address(i: &Inst, r: Regs, c: &mut Context) {
    r.set(i.d, c.rank_of(r.raw(i.a)));
}
