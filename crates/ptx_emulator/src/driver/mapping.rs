//! Virtual memory management: reserved address ranges, and memory mapped to them.
//!
//! A reservation is host memory, which the system allocates on first access. Mapping makes a part
//! of it accessible. An allocation can be mapped to only one address range at a time.

use std::collections::BTreeMap;
use std::ffi::c_ulonglong;
use std::sync::Arc;

use cust_raw::{
    CUdeviceptr, CUmemAccessDesc, CUmemAllocationGranularity_flags, CUmemAllocationProp,
    CUmemGenericAllocationHandle, CUmemLocation, CUresult,
};

use super::state::{Context, Object, Physical, Reservation, lock, state};
use super::{api, put};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The allocation granularity, as on most GPUs.
const GRANULARITY: usize = 2 << 20;

impl Reservation {
    /// Makes the mapped ranges accessible to kernels and copies. Adjacent ranges become one range.
    fn publish(&mut self, context: &Context) {
        for address in self.published.drain(..) {
            context.memory.unregister(address);
        }
        let mut ranges: Vec<(u64, usize)> = Vec::new();
        for (&start, &(size, _)) in &self.pieces {
            match ranges.last_mut() {
                Some((base, len)) if *base + *len as u64 == start => *len += size,
                _ => ranges.push((start, size)),
            }
        }
        for (start, size) in ranges {
            context.memory.register(start, size);
            self.published.push(start);
        }
    }
}

/// Calls `f` with the reservation that contains an address range.
fn with_reservation<T>(
    context: &Context,
    address: u64,
    size: usize,
    f: impl FnOnce(&mut Reservation) -> Result<T, CUresult>,
) -> Result<T, CUresult> {
    let mut reservations = lock(&context.reservations);
    let found = reservations.range_mut(..=address).next_back();
    let (&start, reservation) = found.ok_or(INVALID)?;
    let end = (address - start).checked_add(size as u64).ok_or(INVALID)?;
    if end > reservation.size as u64 {
        return Err(INVALID);
    }
    f(reservation)
}

api! {
    fn cuMemGetAllocationGranularity(
        granularity: *mut usize,
        properties: *const CUmemAllocationProp,
        _option: CUmemAllocationGranularity_flags,
    ) {
        state()?;
        if properties.is_null() {
            return Err(INVALID);
        }
        // SAFETY: the caller's pointer, as `cuda.h` requires.
        unsafe { put(granularity, GRANULARITY) }
    }

    fn cuMemAddressReserve(
        address: *mut CUdeviceptr,
        size: usize,
        _alignment: usize,
        _wanted: CUdeviceptr,
        flags: c_ulonglong,
    ) {
        let context = state()?.usable()?;
        if size == 0 || !size.is_multiple_of(GRANULARITY) || flags != 0 {
            return Err(INVALID);
        }
        let padded = size.checked_add(GRANULARITY).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        let mut memory: Vec<u8> = Vec::new();
        if memory.try_reserve_exact(padded).is_err() {
            return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        }
        drop(memory);
        // The system does not allocate zeroed memory of this size before it is accessed.
        let mut memory = vec![0u8; padded];
        let start = (memory.as_mut_ptr().expose_provenance()).next_multiple_of(GRANULARITY) as u64;
        let reservation = Reservation {
            memory,
            size,
            pieces: BTreeMap::new(),
            published: Vec::new(),
        };
        lock(&context.reservations).insert(start, reservation);
        // SAFETY: as above.
        unsafe { put(address, start) }
    }

    fn cuMemAddressFree(address: CUdeviceptr, size: usize) {
        let context = state()?.current()?;
        let mut reservations = lock(&context.reservations);
        match reservations.get(&address) {
            Some(found) if found.size == size && found.pieces.is_empty() => {}
            _ => return Err(INVALID),
        }
        reservations.remove(&address);
        Ok(())
    }

    fn cuMemCreate(
        handle: *mut CUmemGenericAllocationHandle,
        size: usize,
        properties: *const CUmemAllocationProp,
        flags: c_ulonglong,
    ) {
        let state = state()?;
        let context = state.usable()?;
        if properties.is_null() || size == 0 || !size.is_multiple_of(GRANULARITY) || flags != 0 {
            return Err(INVALID);
        }
        let made = Arc::new(Physical {
            context: context.handle,
            size,
        });
        // SAFETY: as above.
        unsafe { put(handle, state.add(Object::Physical(made))) }
    }

    fn cuMemRelease(handle: CUmemGenericAllocationHandle) {
        let state = state()?;
        state.physical(handle)?;
        // The memory remains mapped until it is unmapped.
        state.remove(handle);
        Ok(())
    }

    fn cuMemMap(
        address: CUdeviceptr,
        size: usize,
        offset: usize,
        handle: CUmemGenericAllocationHandle,
        flags: c_ulonglong,
    ) {
        let state = state()?;
        let context = state.usable()?;
        let physical = state.physical(handle)?;
        if flags != 0 || offset != 0 || size != physical.size {
            return Err(INVALID);
        }
        // The emulator cannot map the same memory to two address ranges.
        let elsewhere = lock(&context.reservations)
            .values()
            .any(|reservation| reservation.pieces.values().any(|(_, other)| *other == handle));
        if elsewhere {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        with_reservation(&context, address, size, |reservation| {
            let end = address + size as u64;
            let before = reservation.pieces.range(..end).next_back();
            if before.is_some_and(|(&start, &(len, _))| start + len as u64 > address) {
                return Err(INVALID);
            }
            reservation.pieces.insert(address, (size, handle));
            reservation.publish(&context);
            Ok(())
        })
    }

    fn cuMemUnmap(address: CUdeviceptr, size: usize) {
        let context = state()?.current()?;
        with_reservation(&context, address, size, |reservation| {
            let end = address + size as u64;
            let inside: Vec<u64> = reservation.pieces.range(address..end).map(|p| *p.0).collect();
            let covered: usize = inside.iter().map(|start| reservation.pieces[start].0).sum();
            if covered != size {
                return Err(INVALID);
            }
            for start in inside {
                reservation.pieces.remove(&start);
            }
            reservation.publish(&context);
            Ok(())
        })
    }

    fn cuMemSetAccess(
        address: CUdeviceptr,
        size: usize,
        access: *const CUmemAccessDesc,
        _count: usize,
    ) {
        let context = state()?.current()?;
        if access.is_null() {
            return Err(INVALID);
        }
        // There is only one device, and mapped memory is always accessible.
        with_reservation(&context, address, size, |_| Ok(()))
    }

    fn cuMemGetAccess(
        flags: *mut c_ulonglong,
        _location: *const CUmemLocation,
        address: CUdeviceptr,
    ) {
        let context = state()?.current()?;
        let mapped = context.memory.range_of(address).is_some();
        // SAFETY: as above. 3 is read and write access.
        unsafe { put(flags, if mapped { 3 } else { 0 }) }
    }
}
