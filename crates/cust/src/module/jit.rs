//! Options and log buffers of the driver's PTX compiler.

use std::ffi::c_void;

use cust_raw::{CUjit_fallback, CUjit_option};

/// An option of the driver's PTX compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModuleJitOption {
    /// The maximum number of registers per thread.
    MaxRegisters(u32),
    /// The optimization level.
    OptLevel(OptLevel),
    /// Compile for the device of the current context.
    DetermineTargetFromContext,
    /// Compile for this architecture.
    Target(JitTarget),
    /// The fallback strategy if no machine code in the module matches the device.
    Fallback(JitFallback),
    /// Whether to generate debug information.
    GenerateDebugInfo(bool),
    /// Whether to generate line number information.
    GenerateLineInfo(bool),
}

/// An optimization level of the driver's compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum OptLevel {
    /// Level 0: no optimizations.
    O0 = 0,
    /// Level 1.
    O1 = 1,
    /// Level 2.
    O2 = 2,
    /// Level 3.
    O3 = 3,
    /// Level 4: all optimizations, the driver's default.
    O4 = 4,
}

/// An architecture as (major, minor): `JitTarget(9, 0)` is `sm_90`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct JitTarget(
    /// The major version.
    pub u32,
    /// The minor version.
    pub u32,
);

/// The fallback strategy if no machine code in a module matches the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JitFallback {
    /// Prefer compiling PTX to using compatible machine code.
    PreferPtx,
    /// Prefer compatible machine code to compiling PTX.
    PreferCompatibleBinary,
}

/// The size of the error log in bytes.
const LOG_SIZE: usize = 16 * 1024;

/// Options and their values in the driver's format: two parallel lists.
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
                let target = major.saturating_mul(10).saturating_add(minor);
                self.push_value(CUjit_option::CU_JIT_TARGET, target);
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

    /// Adds an option with an integer value, which the driver takes in place of a pointer.
    fn push_value(&mut self, option: CUjit_option, value: u32) {
        self.push(option, std::ptr::without_provenance_mut(value as usize));
    }

    /// Returns the number of options, and the lists of options and values.
    pub(super) fn as_raw(&mut self) -> (u32, *mut CUjit_option, *mut *mut c_void) {
        (
            self.options.len() as u32,
            self.options.as_mut_ptr(),
            self.values.as_mut_ptr(),
        )
    }

    /// Returns the compiler's error log.
    pub(super) fn error_log(&self) -> String {
        let end = self.error_log.iter().position(|&byte| byte == 0);
        let text = &self.error_log[..end.unwrap_or(self.error_log.len())];
        String::from_utf8_lossy(text).trim().to_owned()
    }
}
