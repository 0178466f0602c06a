//! The limits of a multiprocessor, and how many blocks of a kernel are resident on it.
//!
//! The limits are those of the CUDA Programming Guide's table "Technical Specifications per Compute
//! Capability". Registers are allocated to warps in units of 256, and to the four partitions of a
//! multiprocessor; each block takes 1 KiB of shared memory for the system since 8.0.

use std::fmt;

/// A multiprocessor's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limits {
    warps: u64,
    blocks: u64,
    shared: u64,
    /// Shared memory that each block takes for the system.
    reserved: u64,
    /// The unit in which shared memory is allocated.
    unit: u64,
}

/// The registers of a multiprocessor.
const REGISTERS: u64 = 64 << 10;

/// The unit in which registers are allocated to a warp.
const REGISTER_UNIT: u64 = 256;

/// The partitions of a multiprocessor.
const PARTITIONS: u64 = 4;

/// The limits of an architecture such as `sm_90a`; `None` if they are not known here.
fn limits(arch: &str) -> Option<Limits> {
    let number = arch.strip_prefix("sm_")?.trim_end_matches(['a', 'f']);
    let (warps, blocks, shared) = match number {
        "75" => (32, 16, 64),
        "80" => (64, 32, 164),
        "86" => (48, 16, 100),
        "87" => (48, 16, 164),
        "89" => (48, 24, 100),
        "90" | "100" | "103" => (64, 32, 228),
        "120" | "121" => (48, 24, 100),
        _ => return None,
    };
    let is_turing = number == "75";
    Some(Limits {
        warps,
        blocks,
        shared: shared << 10,
        reserved: if is_turing { 0 } else { 1 << 10 },
        unit: if is_turing { 256 } else { 128 },
    })
}

/// The resource that limits the number of resident blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The multiprocessor's number of threads.
    Threads,
    /// Its number of blocks.
    Blocks,
    /// Registers.
    Registers,
    /// Static shared memory.
    SharedMemory,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Threads => "the block size",
            Limit::Blocks => "the number of blocks",
            Limit::Registers => "registers",
            Limit::SharedMemory => "shared memory",
        })
    }
}

/// The blocks of a kernel that are resident on a multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    /// The number of blocks.
    pub blocks: u64,
    /// Their warps.
    pub warps: u64,
    /// The warps that a multiprocessor can have.
    pub max_warps: u64,
    /// What limits them.
    pub limit: Limit,
}

impl Occupancy {
    /// The occupancy of a kernel with blocks of `threads` threads, `registers` registers per
    /// thread and `shared` bytes of shared memory; `None` if the architecture's limits are unknown.
    pub fn new(arch: &str, threads: u64, registers: u64, shared: u64) -> Option<Occupancy> {
        let limits = limits(arch)?;
        let warps = threads.div_ceil(32).max(1);
        let per_warp = (registers.max(1) * 32).next_multiple_of(REGISTER_UNIT);
        let warps_by_registers = REGISTERS / per_warp / PARTITIONS * PARTITIONS;
        let block_shared = (shared + limits.reserved).next_multiple_of(limits.unit);
        let by_shared = match block_shared {
            0 => u64::MAX,
            bytes => limits.shared / bytes,
        };
        let (blocks, limit) = [
            (limits.warps / warps, Limit::Threads),
            (limits.blocks, Limit::Blocks),
            (warps_by_registers / warps, Limit::Registers),
            (by_shared, Limit::SharedMemory),
        ]
        .into_iter()
        .min_by_key(|(blocks, _)| *blocks)?;
        Some(Occupancy {
            blocks,
            warps: blocks * warps,
            max_warps: limits.warps,
            limit,
        })
    }

    /// The share of the multiprocessor's warps, in percent.
    pub fn percent(&self) -> u64 {
        (self.warps * 100).div_ceil(self.max_warps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_are_resident() {
        let of = |arch, threads, registers, shared| {
            let it = Occupancy::new(arch, threads, registers, shared).unwrap();
            (it.blocks, it.warps, it.percent(), it.limit)
        };
        assert_eq!(of("sm_90", 256, 32, 0), (8, 64, 100, Limit::Threads));
        // 64 registers: 2048 per warp, so 32 warps.
        assert_eq!(of("sm_90a", 256, 64, 0), (4, 32, 50, Limit::Registers));
        // 255 registers: 8192 per warp, so 8 warps.
        assert_eq!(of("sm_75", 256, 255, 0), (1, 8, 25, Limit::Registers));
        // 65 registers take 72; 28.4 warps, in multiples of 4.
        assert_eq!(of("sm_80", 128, 65, 0), (7, 28, 44, Limit::Registers));
        assert_eq!(of("sm_89", 32, 16, 0), (24, 24, 50, Limit::Blocks));
        // 48 KiB and 1 KiB for the system.
        assert_eq!(
            of("sm_90", 128, 32, 48 << 10),
            (4, 16, 25, Limit::SharedMemory)
        );
        assert_eq!(
            of("sm_75", 128, 32, 32 << 10),
            (2, 8, 25, Limit::SharedMemory)
        );
        assert_eq!(of("sm_90", 1024, 255, 0).0, 0);
        assert_eq!(Occupancy::new("sm_200", 256, 32, 0), None);
    }
}
