//! Contexts: primary and other contexts, the stack of current contexts, limits.

use std::ffi::{c_int, c_uint};
use std::sync::atomic::Ordering;

use cust_raw::{CUcontext, CUctxCreateParams, CUdevice, CUfunc_cache, CUlimit, CUresult};

use super::queue::wait_for_all;
use super::state::{
    State, current_handle, from_pointer, lock, pop_current, push_current, set_current, state,
    to_pointer,
};
use super::{Outcome, api, put, put_optional};

fn check_device(device: CUdevice) -> Result<&'static State, CUresult> {
    let state = state()?;
    if device != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_DEVICE);
    }
    Ok(state)
}

/// Returns the handle of the context if it exists.
fn alive(state: &State, context: CUcontext) -> Outcome {
    let handle = from_pointer(context);
    match state.context(handle) {
        Some(_) => Ok(()),
        None => Err(CUresult::CUDA_ERROR_INVALID_CONTEXT),
    }
}

api! {
    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) {
        let state = check_device(device)?;
        let mut primary = lock(&state.primary);
        let found = match state.primary_context() {
            Some(found) => found,
            None => state.make_context(primary.flags, true),
        };
        // SAFETY: the caller's pointer, as `cuda.h` requires.
        unsafe { put(context, to_pointer(found.handle))? };
        primary.retained += 1;
        Ok(())
    }

    fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) {
        let state = check_device(device)?;
        let mut primary = lock(&state.primary);
        if primary.retained == 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        }
        primary.retained -= 1;
        if primary.retained == 0
            && let Some(context) = state.primary_context()
        {
            state.destroy_context(context.handle)?;
        }
        Ok(())
    }

    fn cuDevicePrimaryCtxReset_v2(device: CUdevice) {
        let state = check_device(device)?;
        let _primary = lock(&state.primary);
        if let Some(context) = state.primary_context() {
            state.destroy_context(context.handle)?;
        }
        Ok(())
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint) {
        let state = check_device(device)?;
        let mut primary = lock(&state.primary);
        primary.flags = flags;
        if let Some(context) = state.primary_context() {
            context.flags.store(flags, Ordering::Relaxed);
        }
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: CUdevice, flags: *mut c_uint, active: *mut c_int) {
        let state = check_device(device)?;
        let primary = lock(&state.primary);
        // SAFETY: as above.
        unsafe {
            put(flags, primary.flags)?;
            put(active, state.primary_context().is_some().into())
        }
    }

    fn cuCtxCreate_v4(
        context: *mut CUcontext,
        _parameters: *mut CUctxCreateParams,
        flags: c_uint,
        device: CUdevice,
    ) {
        let state = check_device(device)?;
        if context.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let made = state.make_context(flags, false);
        push_current(made.handle);
        // SAFETY: as above.
        unsafe { put(context, to_pointer(made.handle)) }
    }

    fn cuCtxDestroy_v2(context: CUcontext) {
        let state = state()?;
        let handle = from_pointer(context);
        if State::is_primary(handle) {
            return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        }
        state.destroy_context(handle)?;
        if current_handle() == Some(handle) {
            pop_current();
        }
        Ok(())
    }

    fn cuCtxSetCurrent(context: CUcontext) {
        let state = state()?;
        if !context.is_null() {
            alive(state, context)?;
        }
        set_current(from_pointer(context));
        Ok(())
    }

    fn cuCtxGetCurrent(context: *mut CUcontext) {
        state()?;
        // SAFETY: as above.
        unsafe { put(context, to_pointer(current_handle().unwrap_or(0))) }
    }

    fn cuCtxPushCurrent_v2(context: CUcontext) {
        alive(state()?, context)?;
        push_current(from_pointer(context));
        Ok(())
    }

    fn cuCtxPopCurrent_v2(context: *mut CUcontext) {
        state()?;
        let popped = pop_current().ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
        // SAFETY: as above.
        unsafe { put_optional(context, to_pointer(popped)) };
        Ok(())
    }

    fn cuCtxGetDevice(device: *mut CUdevice) {
        state()?.current()?;
        // SAFETY: as above.
        unsafe { put(device, 0) }
    }

    fn cuCtxGetFlags(flags: *mut c_uint) {
        let context = state()?.current()?;
        // SAFETY: as above.
        unsafe { put(flags, context.flags.load(Ordering::Relaxed)) }
    }

    fn cuCtxSetFlags(flags: c_uint) {
        state()?.current()?.flags.store(flags, Ordering::Relaxed);
        Ok(())
    }

    fn cuCtxGetId(context: CUcontext, id: *mut std::ffi::c_ulonglong) {
        let state = state()?;
        let handle = match from_pointer(context) {
            0 => state.current()?.handle,
            handle => {
                alive(state, context)?;
                handle
            }
        };
        // SAFETY: as above.
        unsafe { put(id, handle) }
    }

    fn cuCtxGetApiVersion(_context: CUcontext, version: *mut c_uint) {
        state()?;
        // SAFETY: as above.
        unsafe { put(version, 3020) }
    }

    fn cuCtxSynchronize() {
        let state = state()?;
        let context = state.current()?;
        wait_for_all(state, &context);
        context.check()
    }

    fn cuCtxGetLimit(value: *mut usize, limit: CUlimit) {
        let context = state()?.current()?;
        let limits = lock(&context.limits);
        let found = match limit {
            CUlimit::CU_LIMIT_STACK_SIZE => limits.stack,
            CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE => limits.printf,
            CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE => limits.heap,
            CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH => limits.sync_depth,
            CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT => limits.pending_launches,
            CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY => limits.l2_fetch,
            _ => return Err(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT),
        };
        // SAFETY: as above.
        unsafe { put(value, found) }
    }

    fn cuCtxSetLimit(limit: CUlimit, value: usize) {
        let context = state()?.usable()?;
        let mut limits = lock(&context.limits);
        let slot = match limit {
            CUlimit::CU_LIMIT_STACK_SIZE => &mut limits.stack,
            CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE => &mut limits.printf,
            CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE => &mut limits.heap,
            CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH => &mut limits.sync_depth,
            CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT => &mut limits.pending_launches,
            CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY => &mut limits.l2_fetch,
            _ => return Err(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT),
        };
        *slot = match limit {
            // As on a GPU.
            CUlimit::CU_LIMIT_STACK_SIZE => (value.checked_next_multiple_of(16))
                .ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?,
            _ => value,
        };
        Ok(())
    }

    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        state()?.current()?;
        // SAFETY: as above.
        unsafe {
            put_optional(least, 0);
            put_optional(greatest, super::stream::GREATEST_PRIORITY);
        }
        Ok(())
    }

    fn cuCtxGetCacheConfig(config: *mut CUfunc_cache) {
        state()?.current()?;
        // SAFETY: as above.
        unsafe { put(config, CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE) }
    }

    fn cuCtxSetCacheConfig(_config: CUfunc_cache) {
        // There is no cache to configure.
        state()?.current().map(|_| ())
    }

    fn cuCtxResetPersistingL2Cache() {
        state()?.current().map(|_| ())
    }

    fn cuProfilerStart() {
        // There is no profiler.
        state()?.current().map(|_| ())
    }

    fn cuProfilerStop() {
        state()?.current().map(|_| ())
    }
}
