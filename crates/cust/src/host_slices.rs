//! Launches with host slices: the launch copies the elements to device memory, copies those that
//! the kernel writes back, and waits for completion.
//!
//! The copies and the launch are enqueued into the caller's stream, after its pending work. The
//! arguments borrow the slices, and a launch consumes its arguments: when it returns or unwinds, no
//! work accesses the slices any more.

use std::ffi::c_void;

use cust_core::kernel::{Access, HostMemory};
use cust_raw::CUresult;
use smallvec::SmallVec;

use crate::error::{CudaResult, Error};
use crate::memory::{MOST_ALIGNMENT, empty_address};
use crate::report::Waited;
use crate::stream::{Scratch, Stream, StreamInner};
use crate::tracker::{self, Captured};

/// An argument in host memory.
pub(crate) struct HostArgument<'a> {
    pub(crate) memory: HostMemory<'a>,
    /// The index of the argument's first parameter in the kernel's entry.
    pub(crate) index: usize,
}

impl HostArgument<'_> {
    /// Enqueues a copy of the elements to `address`.
    fn copy_in(&self, stream: &Stream, address: u64) -> CudaResult<()> {
        let (pointer, bytes) = (self.memory.pointer(), self.memory.bytes());
        if bytes == 0 {
            return Ok(());
        }
        let doing = || format!("copying {bytes} bytes of an argument to the device");
        // SAFETY: the elements are borrowed until the stream has been waited for. The device memory
        // is large enough, and nothing else uses it.
        unsafe {
            tracker::enqueue(stream.inner(), &[], Captured::Refused, doing, |api, raw| {
                api.driver
                    .cuMemcpyHtoDAsync_v2(address, pointer.cast(), bytes, raw)
            })
        }
    }

    /// Enqueues a copy of the elements back from `address`, if the kernel writes them.
    fn copy_out(&self, stream: &Stream, address: u64) -> CudaResult<()> {
        let (pointer, bytes) = (self.memory.pointer(), self.memory.bytes());
        if bytes == 0 || self.memory.access() == Access::Read {
            return Ok(());
        }
        let doing = || format!("copying {bytes} bytes of an argument from the device");
        // SAFETY: as above, and the elements are borrowed exclusively.
        unsafe {
            tracker::enqueue(stream.inner(), &[], Captured::Refused, doing, |api, raw| {
                api.driver
                    .cuMemcpyDtoHAsync_v2(pointer.cast(), address, bytes, raw)
            })
        }
    }
}

/// Copies the arguments to the device, calls `launch` with the pointers to the parameters, copies
/// back the elements that the kernel writes, and waits.
///
/// # Safety
///
/// `pointers` must point to the parameters of a launch that `launch` enqueues into the stream. The
/// kernel must access the arguments' elements only as the arguments declare, and nothing else may
/// access the elements during the call.
pub(crate) unsafe fn launch(
    stream: &Stream,
    arguments: &[HostArgument<'_>],
    pointers: &mut [*mut c_void],
    doing: impl Fn() -> String,
    launch: impl FnOnce(&mut [*mut c_void]) -> CudaResult<()>,
) -> CudaResult<()> {
    let inner = stream.inner();
    if inner.is_capturing() {
        return Err(Error::Capturing { doing: doing() });
    }
    let mut words: SmallVec<[[u64; 5]; 4]> = SmallVec::new();
    let mut total = 0;
    for HostArgument { memory, .. } in arguments {
        if memory.bytes() > 0 && memory.align() > MOST_ALIGNMENT {
            return Err(Error::Alignment {
                type_name: memory.type_name()(),
                align: memory.align(),
                most: MOST_ALIGNMENT,
            });
        }
        let mut parameter = [total as u64, 0, 0, 0, 0];
        parameter[1..][..memory.sizes().len()].copy_from_slice(memory.sizes());
        words.push(parameter);
        let end = memory.bytes().checked_next_multiple_of(MOST_ALIGNMENT);
        total = end
            .and_then(|bytes| bytes.checked_add(total))
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or(Error::AllocationTooLarge {
                len: memory.bytes(),
                element_size: 1,
            })?;
    }
    let scratch = Scratch::take(inner, total)?;
    for (HostArgument { memory, index }, words) in arguments.iter().zip(&mut words) {
        words[0] = match memory.bytes() {
            0 => empty_address(memory.align()),
            _ => words[0] + scratch.address,
        };
        pointers[*index] = words.as_mut_ptr().cast();
        if memory.is_wide() {
            pointers[*index + 1] = (&raw mut words[1]).cast();
        }
    }
    let settle = Settle(inner);
    let all = || arguments.iter().zip(&words);
    let worked = all()
        .try_for_each(|(argument, words)| argument.copy_in(stream, words[0]))
        .and_then(|()| launch(pointers))
        .and_then(|()| all().try_for_each(|(argument, words)| argument.copy_out(stream, words[0])));
    std::mem::forget(settle);
    let waited = inner.settle_surely();
    if waited.is_ok() {
        scratch.give_back(inner);
    }
    let worked = worked.and(waited);
    (inner.context).finish_wait(worked, Waited::Stream(inner.id()))
}

/// Waits for the stream on drop, so that no panic unwinds past pending work on borrowed memory.
struct Settle<'a>(&'a StreamInner);

impl Drop for Settle<'_> {
    fn drop(&mut self) {
        let _ = self.0.settle_surely();
    }
}

/// The size in bytes of the largest allocation that a stream keeps.
const KEPT: usize = 1 << 20;
/// The size in bytes of the smallest allocation.
const LEAST: usize = 1 << 16;

impl Scratch {
    /// Returns memory that later work in the stream may use.
    fn take(stream: &StreamInner, bytes: usize) -> CudaResult<Scratch> {
        if bytes == 0 {
            return Ok(Scratch {
                address: 0,
                bytes: 0,
                pooled: false,
            });
        }
        if bytes <= KEPT {
            let kept = lock(stream).take();
            match kept {
                Some(kept) if kept.bytes >= bytes => return Ok(kept),
                Some(kept) => kept.free(stream.context.bind()?, stream.raw),
                None => {}
            }
            return Scratch::allocate(stream, bytes.next_power_of_two().max(LEAST));
        }
        Scratch::allocate(stream, bytes)
    }

    fn allocate(stream: &StreamInner, bytes: usize) -> CudaResult<Scratch> {
        let api = stream.context.bind()?;
        let pool = stream.context.pool();
        let mut address = 0;
        // SAFETY: the pointer is valid for the call, and the pool and the stream are alive.
        let mut allocate = || unsafe {
            match pool {
                Some(pool) => {
                    (api.driver).cuMemAllocFromPoolAsync(&mut address, bytes, pool, stream.raw)
                }
                None => api.driver.cuMemAlloc_v2(&mut address, bytes),
            }
        };
        let mut result = allocate();
        if result == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            // Memory freed in stream order becomes available when the streams reach the frees.
            // SAFETY: takes no arguments.
            let _ = unsafe { api.driver.cuCtxSynchronize() };
            result = allocate();
        }
        api.check(result, || {
            format!("allocating {bytes} bytes for a launch with host slices")
        })?;
        Ok(Scratch {
            address,
            bytes,
            pooled: pool.is_some(),
        })
    }

    /// Returns the memory to the stream, or frees it. No work may use it any more.
    fn give_back(self, stream: &StreamInner) {
        if self.bytes == 0 {
            return;
        }
        let mut kept = lock(stream);
        if self.bytes <= KEPT && kept.is_none() {
            *kept = Some(self);
            return;
        }
        drop(kept);
        // An error means that the context is gone, and the memory with it.
        if let Ok(api) = stream.context.bind() {
            self.free(api, stream.raw);
        }
    }
}

fn lock(stream: &StreamInner) -> std::sync::MutexGuard<'_, Option<Scratch>> {
    stream.scratch.lock().unwrap_or_else(|e| e.into_inner())
}
