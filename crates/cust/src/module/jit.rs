//! Options of the driver's PTX compiler, and the buffers that it logs into.

use std::ffi::c_void;

use cust_raw::{CUjit_fallback, CUjit_option};

/// An option of the driver's compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModuleJitOption {
    /// The most registers that a thread may use.
    MaxRegisters(u32),
    /// How much to optimise.
    OptLevel(OptLevel),
    /// Compile for the device of the current context.
    DetermineTargetFromContext,
    /// Compile for this architecture.
    Target(JitTarget),
    /// What to do when the module has no machine code that fits the device.
    Fallback(JitFallback),
    /// Whether to keep debug information.
    GenerateDebugInfo(bool),
    /// Whether to keep line numbers.
    GenerateLineInfo(bool),
}

/// How much the driver's compiler optimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum OptLevel {
    /// Not at all.
    O0 = 0,
    /// A little.
    O1 = 1,
    /// More.
    O2 = 2,
    /// Most.
    O3 = 3,
    /// Most; what Rust-CUDA calls the default.
    O4 = 4,
}

/// An architecture, as (major, minor): `JitTarget(9, 0)` is `sm_90`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct JitTarget(
    /// The major number.
    pub u32,
    /// The minor number.
    pub u32,
);

/// What to do when no machine code in the module fits the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JitFallback {
    /// Compile the PTX, and prefer it even to machine code that would fit.
    PreferPtx,
    /// Prefer machine code that fits.
    PreferCompatibleBinary,
}

/// The size of each log.
const LOG_SIZE: usize = 16 * 1024;

/// Options and logs in the form that the driver takes: two parallel lists.
pub(super) struct JitOptions {
    options: Vec<CUjit_option>,
    values: Vec<*mut c_void>,
    error_log: Vec<u8>,
}

impl JitOptions {
    pub(super) fn new(options: &[ModuleJitOption]) -> JitOptions {
        let mut jit = JitOptions {
            options: Vec::new(),
            values: Vec::new(),
            error_log: vec![0; LOG_SIZE],
        };
        let log = jit.error_log.as_mut_ptr().cast();
        jit.push(CUjit_option::CU_JIT_ERROR_LOG_BUFFER, log);
        jit.push_value(
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            LOG_SIZE as u32,
        );
        for option in options {
            jit.push_option(option);
        }
        jit
    }

    fn push_option(&mut self, option: &ModuleJitOption) {
        match *option {
            ModuleJitOption::MaxRegisters(count) => {
                self.push_value(CUjit_option::CU_JIT_MAX_REGISTERS, count);
            }
            ModuleJitOption::OptLevel(level) => {
                self.push_value(CUjit_option::CU_JIT_OPTIMIZATION_LEVEL, level as u32);
            }
            ModuleJitOption::DetermineTargetFromContext => {
                self.push_value(CUjit_option::CU_JIT_TARGET_FROM_CUCONTEXT, 0);
            }
            ModuleJitOption::Target(JitTarget(major, minor)) => {
                self.push_value(CUjit_option::CU_JIT_TARGET, major * 10 + minor);
            }
            ModuleJitOption::Fallback(fallback) => {
                let CUjit_fallback(value) = match fallback {
                    JitFallback::PreferPtx => CUjit_fallback::CU_PREFER_PTX,
                    JitFallback::PreferCompatibleBinary => CUjit_fallback::CU_PREFER_BINARY,
                };
                self.push_value(CUjit_option::CU_JIT_FALLBACK_STRATEGY, value);
            }
            ModuleJitOption::GenerateDebugInfo(on) => {
                self.push_value(CUjit_option::CU_JIT_GENERATE_DEBUG_INFO, on.into());
            }
            ModuleJitOption::GenerateLineInfo(on) => {
                self.push_value(CUjit_option::CU_JIT_GENERATE_LINE_INFO, on.into());
            }
        }
    }

    fn push(&mut self, option: CUjit_option, value: *mut c_void) {
        self.options.push(option);
        self.values.push(value);
    }

    /// The driver takes numbers in the place of the pointer.
    fn push_value(&mut self, option: CUjit_option, value: u32) {
        self.push(option, std::ptr::without_provenance_mut(value as usize));
    }

    /// The lists as the driver takes them.
    pub(super) fn as_raw(&mut self) -> (u32, *mut CUjit_option, *mut *mut c_void) {
        (
            self.options.len() as u32,
            self.options.as_mut_ptr(),
            self.values.as_mut_ptr(),
        )
    }

    /// What the compiler wrote into the error log.
    pub(super) fn error_log(&self) -> String {
        let end = self.error_log.iter().position(|&byte| byte == 0);
        let text = &self.error_log[..end.unwrap_or(self.error_log.len())];
        String::from_utf8_lossy(text).trim().to_owned()
    }
}
