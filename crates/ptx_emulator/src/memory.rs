//! The memory of the device: allocations, registered host memory, and the heap of device-side
//! `malloc`. Device addresses of global memory are host addresses, so the driver copies with
//! `memcpy`. Accesses by kernels are checked against the table of allocations.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The memory of a device. Clones share it.
#[derive(Clone, Default)]
pub struct Memory(Arc<Inner>);

#[derive(Default)]
struct Inner {
    table: RwLock<Table>,
    /// Incremented by every change of the table, so that a launch can detect that its copy is
    /// outdated.
    generation: AtomicU64,
    heap: Mutex<Heap>,
}

#[derive(Default)]
struct Table {
    ranges: BTreeMap<u64, Entry>,
    /// The number of running kernels. Memory freed meanwhile is kept in `graveyard`, since kernels
    /// may hold checked ranges of it.
    active: usize,
    graveyard: Vec<Allocation>,
}

struct Entry {
    size: usize,
    /// The memory to release on `free`; `None` for registered host memory.
    allocation: Option<Allocation>,
}

/// Memory from the host's allocator, which is released on drop.
struct Allocation {
    pointer: *mut u8,
    layout: Layout,
}

// SAFETY: an allocation is plain memory; only its owner frees it.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `alloc_zeroed` with this layout, and this is its only
        // owner.
        unsafe { dealloc(self.pointer, self.layout) }
    }
}

/// An access may extend beyond the end of an allocation up to a multiple of this size. PTX has no
/// atomic operations narrower than a word, so an atomic operation on one byte accesses the whole
/// word, and no device's memory ends within a word.
const WORD: u64 = 4;

/// Allocates zeroed memory at a multiple of `align`.
fn allocate(size: usize, align: usize) -> Option<(u64, Allocation)> {
    // Aligns within a larger allocation: the allocator would touch every page if it were asked for
    // a large alignment.
    let padded = size
        .max(1)
        .checked_next_multiple_of(WORD as usize)?
        .checked_add(align)?;
    let layout = Layout::from_size_align(padded, 16).ok()?;
    // SAFETY: the layout's size is not zero.
    let pointer = unsafe { alloc_zeroed(layout) };
    if pointer.is_null() {
        return None;
    }
    let address = (pointer as usize).next_multiple_of(align) as u64;
    Some((address, Allocation { pointer, layout }))
}

/// A bit of the device addresses of registered host memory, on a device that cannot use host
/// pointers for registered memory. No host address has it.
const ALIAS: u64 = 1 << 59;
/// The distance between the other bits of both addresses: they are equally aligned to pages only.
const ALIAS_DISTANCE: u64 = 4096;

/// Returns the device address of registered host memory, on a device that cannot use host pointers
/// for registered memory.
pub(crate) fn alias_of(host: u64) -> u64 {
    ALIAS | (host + ALIAS_DISTANCE)
}

/// Returns whether a device address is one that [`alias_of`] returned.
pub(crate) fn is_alias(address: u64) -> bool {
    address & ALIAS != 0
}

/// Returns the host address of the byte at a device address.
pub(crate) fn host_address(address: u64) -> u64 {
    match is_alias(address) {
        true => (address & !ALIAS) - ALIAS_DISTANCE,
        false => address,
    }
}

/// A range of addresses that kernels may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub base: u64,
    pub size: u64,
}

impl Memory {
    /// Creates the memory of a device, without any allocation.
    pub fn new() -> Self {
        Self::default()
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.0.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        // Every change of the table goes through this function.
        let guard = self.0.table.write().unwrap_or_else(PoisonError::into_inner);
        self.0.generation.fetch_add(1, Ordering::SeqCst);
        guard
    }

    fn heap(&self) -> MutexGuard<'_, Heap> {
        self.0.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates zeroed global memory, aligned to at least 256 bytes as in CUDA. Returns `None` if
    /// the host has not enough memory, or if `align` is not a power of two.
    pub fn alloc(&self, size: usize, align: usize) -> Option<u64> {
        self.alloc_aligned(size, align.max(256))
    }

    /// As [`Memory::alloc`], with exactly the requested alignment: module variables are many and
    /// small.
    pub(crate) fn alloc_aligned(&self, size: usize, align: usize) -> Option<u64> {
        if !align.is_power_of_two() {
            return None;
        }
        let (address, allocation) = allocate(size, align)?;
        self.write().ranges.insert(
            address,
            Entry {
                size,
                allocation: Some(allocation),
            },
        );
        Some(address)
    }

    /// Frees an allocation of `alloc`. Returns `false` if `addr` is not its address.
    pub fn free(&self, addr: u64) -> bool {
        let mut table = self.write();
        if !matches!(
            table.ranges.get(&addr),
            Some(Entry {
                allocation: Some(_),
                ..
            })
        ) {
            return false;
        }
        let allocation = table
            .ranges
            .remove(&addr)
            .and_then(|entry| entry.allocation);
        if table.active > 0 {
            table.graveyard.extend(allocation);
        }
        true
    }

    /// Makes host memory (pinned or managed) accessible to kernels. The caller must keep it alive
    /// until [`Memory::unregister`].
    pub fn register(&self, addr: u64, size: usize) {
        self.write().ranges.insert(
            addr,
            Entry {
                size,
                allocation: None,
            },
        );
    }

    /// Reverts [`Memory::register`].
    pub fn unregister(&self, addr: u64) {
        let mut table = self.write();
        if matches!(
            table.ranges.get(&addr),
            Some(Entry {
                allocation: None,
                ..
            })
        ) {
            table.ranges.remove(&addr);
        }
    }

    /// Returns the base and size of the allocation or registration that contains an address.
    pub fn range_of(&self, addr: u64) -> Option<(u64, usize)> {
        let table = self.read();
        let (&base, entry) = table.ranges.range(..=addr).next_back()?;
        if addr - base < entry.size.max(1) as u64 {
            return Some((base, entry.size));
        }
        drop(table);
        self.heap_range(addr)
            .map(|range| (range.base, range.size as usize))
    }

    /// Returns the number of changes of the table.
    pub(crate) fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::SeqCst)
    }

    /// Returns all ranges in ascending order of address, without the heap.
    pub(crate) fn snapshot(&self) -> Vec<Range> {
        let table = self.read();
        table
            .ranges
            .iter()
            .map(|(&base, entry)| Range {
                base,
                // Registered host memory is not extended to whole words.
                size: match entry.allocation {
                    Some(_) => (entry.size as u64).next_multiple_of(WORD),
                    None => entry.size as u64,
                },
            })
            .collect()
    }

    /// Returns the block of the device heap that contains an address.
    pub(crate) fn heap_range(&self, addr: u64) -> Option<Range> {
        let heap = self.heap();
        let (&base, block) = heap.live.range(..=addr).next_back()?;
        let size = block.size.next_multiple_of(WORD);
        (addr - base < size).then_some(Range { base, size })
    }

    /// Device-side `malloc`. Returns 0 if the heap is full.
    pub(crate) fn heap_alloc(&self, size: u64, limit: u64) -> u64 {
        self.heap().alloc(size, limit)
    }

    /// Device-side `free`. Returns `false` if the address is not a live block.
    pub(crate) fn heap_free(&self, addr: u64) -> bool {
        self.heap().free(addr)
    }

    /// Marks a kernel as running until the guard is dropped.
    pub(crate) fn enter(&self) -> Active<'_> {
        self.count_active(1);
        Active(self)
    }

    fn count_active(&self, change: isize) {
        let mut table = self.0.table.write().unwrap_or_else(PoisonError::into_inner);
        table.active = table.active.wrapping_add_signed(change);
        if table.active == 0 {
            table.graveyard.clear();
        }
    }
}

/// Marks a running kernel: see [`Memory::enter`].
pub(crate) struct Active<'m>(&'m Memory);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.count_active(-1);
    }
}

/// The heap of `malloc` and `free` in kernels. It grows in chunks up to the limit, and is released
/// only with the device, as in CUDA.
#[derive(Default)]
struct Heap {
    chunks: Vec<Allocation>,
    /// The unused rest of the last chunk.
    next: u64,
    end: u64,
    /// The size of the live blocks in bytes, after rounding.
    used: u64,
    live: BTreeMap<u64, Block>,
    /// Freed blocks, by rounded size.
    free: HashMap<u64, Vec<u64>>,
}

struct Block {
    /// The size that the kernel requested.
    size: u64,
    rounded: u64,
}

const CHUNK: u64 = 1 << 20;

impl Heap {
    fn alloc(&mut self, size: u64, limit: u64) -> u64 {
        // A gap between blocks makes a small overrun an error instead of an access to the next
        // block.
        if size > limit {
            return 0;
        }
        let padded = size.saturating_add(16).min(1 << 62);
        let step = (padded.next_power_of_two() / 8).max(16);
        let rounded = padded.next_multiple_of(step);
        if rounded > limit.saturating_sub(self.used) {
            return 0;
        }
        let address = match self.free.get_mut(&rounded).and_then(Vec::pop) {
            Some(address) => address,
            None => {
                if self.end - self.next < rounded {
                    let chunk = CHUNK.max(rounded);
                    let Some((address, allocation)) = allocate(chunk as usize, 256) else {
                        return 0;
                    };
                    self.chunks.push(allocation);
                    self.next = address;
                    self.end = address + chunk;
                }
                self.next += rounded;
                self.next - rounded
            }
        };
        self.used += rounded;
        self.live.insert(address, Block { size, rounded });
        address
    }

    fn free(&mut self, addr: u64) -> bool {
        let Some(block) = self.live.remove(&addr) else {
            return false;
        };
        self.used -= block.rounded;
        self.free.entry(block.rounded).or_default().push(addr);
        true
    }
}
