//! Loading modules from PTX, cubins and fat binaries.
//!
//! The driver takes an image as a pointer without a length. Images are therefore checked first: PTX
//! is terminated with a NUL byte, and the tables that the headers of binary images refer to must
//! lie inside the image.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use cust_raw::CUmodule;

use super::jit::{JitOptions, ModuleJitOption};
use super::linker::Linker;
use super::{Module, device_runtime};
use crate::backend::Backend;
use crate::context::Context;
use crate::error::{
    CudaError, CudaResult, Error, InvalidPtx, PtxTooNew, SharedMemory, WrongDevice,
};
use crate::report::Report;
use crate::stack::RECORD_PREFIX;
use crate::tracker::Tracker;
use ptx::Launches;

/// The kind of an image, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImageKind {
    Cubin,
    Fatbin,
    Text,
}

impl ImageKind {
    fn of(bytes: &[u8]) -> ImageKind {
        if bytes.starts_with(b"\x7fELF") {
            ImageKind::Cubin
        } else if bytes.starts_with(&0xba55_ed50_u32.to_le_bytes()) {
            ImageKind::Fatbin
        } else {
            ImageKind::Text
        }
    }
}

impl Module {
    /// Loads PTX, which the driver compiles for the device.
    ///
    /// If the PTX calls functions of the CUDA device runtime library, it is linked with the
    /// library: see [`Linker::add_device_runtime`]. If its kernels do much of their work in
    /// functions, the functions are compiled separately and linked, because the driver's compiler
    /// up to CUDA 13.0 otherwise miscompiles them.
    ///
    /// # Errors
    ///
    /// Returns [`Error::InvalidPtx`] with the compiler's log if the PTX is invalid,
    /// [`Error::PtxTooNew`] if the driver does not support its version, [`Error::SharedMemory`] if
    /// a kernel has too much static shared memory, and [`Error::DeviceRuntime`] if the device
    /// runtime library is needed and not found.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use cust::prelude::*;
    /// let module = Module::from_ptx("…", &[])?; // usually include_str!(…)
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn from_ptx(ptx: impl AsRef<str>, options: &[ModuleJitOption]) -> CudaResult<Module> {
        let context = Context::current("loading a module from PTX")?;
        let ptx = ptx.as_ref().trim_end_matches('\0');
        check_is_ptx(ptx)?;
        if context.backend() == Backend::Gpu {
            if device_runtime::is_called(ptx) {
                return link(ptx, options, true);
            }
            // Linking fails if a kernel's launch bounds leave it fewer registers than separately
            // compiled functions need; then compile as a whole. Other errors of the PTX occur again
            // below, and are reported there.
            if ptx::is_to_be_linked(ptx)
                && let Ok(module) = link(ptx, options, false)
            {
                return Ok(module);
            }
        }
        let text = terminated(ptx)?;
        let mut jit = JitOptions::new(options);
        let raw = load_image(&context, &text, &mut jit, "loading a module from PTX")
            .map_err(|error| explain_ptx_error(&context, error, ptx, &jit))?;
        let has = Has {
            report: contains(ptx.as_bytes(), cust_core::report::SYMBOL.to_bytes()),
            stacks: contains(ptx.as_bytes(), RECORD_PREFIX.as_bytes()),
            entries: Launches::ALL
                .map(|it| contains(ptx.as_bytes(), it.condition_prefix().as_bytes())),
        };
        finish(context, raw, Some(ptx::entries(ptx)), has)
    }

    /// Loads PTX from a C string. See [`Module::from_ptx`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Module::from_ptx`].
    pub fn from_ptx_cstr(ptx: &std::ffi::CStr, options: &[ModuleJitOption]) -> CudaResult<Module> {
        Module::from_ptx(ptx.to_string_lossy(), options)
    }

    /// Loads a cubin: machine code for one architecture, produced by `ptxas`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongDevice`] if the image is invalid or for another architecture.
    ///
    /// # Safety
    ///
    /// `cubin` must be the unmodified output of `ptxas`, `nvcc` or a linker. Only headers and
    /// bounds are checked; the driver trusts the rest.
    pub unsafe fn from_cubin(
        cubin: impl AsRef<[u8]>,
        options: &[ModuleJitOption],
    ) -> CudaResult<Module> {
        let cubin = cubin.as_ref();
        check_elf(cubin)?;
        load_binary(cubin, options, "loading a module from a cubin")
    }

    /// Loads a fat binary: machine code and PTX for several architectures in one image.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongDevice`] if the image is invalid or does not fit the device.
    ///
    /// # Safety
    ///
    /// `fatbin` must be the unmodified output of `nvcc` or `fatbinary`; see [`Module::from_cubin`].
    pub unsafe fn from_fatbin(
        fatbin: impl AsRef<[u8]>,
        options: &[ModuleJitOption],
    ) -> CudaResult<Module> {
        let fatbin = fatbin.as_ref();
        check_fatbin(fatbin)?;
        load_binary(fatbin, options, "loading a module from a fat binary")
    }

    /// Loads a file that contains PTX, a cubin or a fat binary.
    ///
    /// # Errors
    ///
    /// Returns [`Error::File`] if the file cannot be read or has none of these formats, and the
    /// errors of [`Module::from_ptx`], [`Module::from_cubin`] and [`Module::from_fatbin`].
    ///
    /// # Safety
    ///
    /// As for [`Module::from_cubin`] and [`Module::from_fatbin`]. Loading PTX is safe with
    /// [`Module::from_ptx`].
    pub unsafe fn from_file(path: impl AsRef<Path>) -> CudaResult<Module> {
        let path = path.as_ref();
        let file_error = |reason: String| Error::File {
            path: path.display().to_string(),
            reason,
        };
        let bytes = std::fs::read(path).map_err(|error| file_error(error.to_string()))?;
        match ImageKind::of(&bytes) {
            // SAFETY: as the caller promises.
            ImageKind::Cubin => unsafe { Module::from_cubin(bytes, &[]) },
            // SAFETY: as the caller promises.
            ImageKind::Fatbin => unsafe { Module::from_fatbin(bytes, &[]) },
            ImageKind::Text => match String::from_utf8(bytes) {
                Ok(text) => Module::from_ptx(text, &[]),
                Err(_) => Err(file_error(
                    "neither PTX text nor a cubin nor a fat binary".to_owned(),
                )),
            },
        }
    }

    /// Loads the first of `cubins` that fits the device, otherwise `ptx`.
    ///
    /// This is for programs that contain machine code for some architectures, and PTX for all later
    /// ones. List the most specific cubin first. The emulator always loads the PTX.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Module::from_ptx`] and [`Module::from_cubin`].
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use cust::prelude::*;
    /// # let (SM_90, SM_80, PTX): (&[u8], &[u8], &str) = (&[], &[], "");
    /// // SAFETY: `ptxas` produced the cubins.
    /// let module = unsafe { Module::from_cubins_or_ptx(&[SM_90, SM_80], Some(PTX), &[])? };
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// As for [`Module::from_cubin`].
    pub unsafe fn from_cubins_or_ptx(
        cubins: &[&[u8]],
        ptx: Option<&str>,
        options: &[ModuleJitOption],
    ) -> CudaResult<Module> {
        let context = Context::current("loading a module")?;
        let mut refused = None;
        if context.backend() == Backend::Gpu || ptx.is_none() {
            for cubin in cubins {
                // SAFETY: as the caller promises.
                match unsafe { Module::from_cubin(cubin, options) } {
                    Err(error @ Error::WrongDevice(_)) => refused = Some(error),
                    loaded => return loaded,
                }
            }
        }
        match (ptx, refused) {
            (Some(ptx), _) => Module::from_ptx(ptx, options),
            (None, Some(error)) => Err(error),
            (None, None) => Err(invalid_ptx("there is no cubin and no PTX", None, "")),
        }
    }
}

fn load_binary(
    image: &[u8],
    options: &[ModuleJitOption],
    doing: &'static str,
) -> CudaResult<Module> {
    let context = Context::current(doing)?;
    if context.backend() == Backend::Emulator {
        return Err(Error::WrongDevice(Box::new(WrongDevice {
            doing: doing.to_owned(),
            reason: "the emulator executes PTX, not machine code; load PTX, for instance with \
                     `Module::from_cubins_or_ptx`"
                .to_owned(),
            code: CudaError::NoBinaryForGpu,
        })));
    }
    let mut jit = JitOptions::new(options);
    let raw = load_image(&context, image, &mut jit, doing)
        .map_err(|error| explain_binary_error(&context, error, &jit))?;
    // A fat binary may be compressed, so it cannot be searched for variables.
    let is_cubin = ImageKind::of(image) == ImageKind::Cubin;
    let has = Has {
        report: !is_cubin || contains(image, cust_core::report::SYMBOL.to_bytes()),
        stacks: !is_cubin || contains(image, RECORD_PREFIX.as_bytes()),
        entries: Launches::ALL
            .map(|it| !is_cubin || contains(image, it.condition_prefix().as_bytes())),
    };
    finish(context, raw, None, has)
}

/// Loads PTX through the driver's linker, which compiles functions separately, and links the device
/// runtime library if `with_runtime` is set.
fn link(ptx: &str, options: &[ModuleJitOption], with_runtime: bool) -> CudaResult<Module> {
    let mut linker = Linker::new(options)?;
    linker.add_ptx(ptx)?;
    if with_runtime {
        linker.add_device_runtime()?;
    }
    let mut module = linker.load()?;
    module.entries = Some(ptx::entries(ptx));
    Ok(module)
}

/// Returns whether `needle` is in `haystack`.
fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    let mut rest = haystack;
    // The search for a single byte is fast.
    while let Some(start) = rest.iter().position(|byte| *byte == needle[0]) {
        if rest[start..].starts_with(needle) {
            return true;
        }
        rest = &rest[start + 1..];
    }
    false
}

/// Loads an image into the driver. The caller has checked the image's bounds.
fn load_image(
    context: &Context,
    image: &[u8],
    jit: &mut JitOptions,
    doing: &str,
) -> CudaResult<CUmodule> {
    let api = context.bind()?;
    let mut raw = std::ptr::null_mut();
    let (count, options, values) = jit.as_raw();
    // SAFETY: the lists have `count` entries and live through the call, as does the image.
    let result = unsafe {
        api.driver
            .cuModuleLoadDataEx(&mut raw, image.as_ptr().cast(), count, options, values)
    };
    api.check(result, || doing.to_owned())?;
    Ok(raw)
}

/// The special variables that an image may contain.
#[derive(Clone, Copy)]
struct Has {
    report: bool,
    stacks: bool,
    /// Entries for each of [`Launches::ALL`].
    entries: [bool; 2],
}

/// Creates the `Module` for a loaded image: prepares its panic report and its stack requirements,
/// if it has any.
fn finish(
    context: Context,
    raw: CUmodule,
    entries: Option<Vec<ptx::Entry>>,
    has: Has,
) -> CudaResult<Module> {
    let mut module = Module {
        raw,
        tracker: Tracker::new(context),
        report: None,
        entries,
        has_stacks: has.stacks,
        has_entries: has.entries,
        kernels: Mutex::new(HashMap::new()),
        packages: &[],
        own: None,
        signatures: None,
    };
    let context = module.context().clone();
    if has.stacks {
        context.add_stack(raw)?;
    }
    if !has.report {
        return Ok(module);
    }
    if let Some(report) = Report::install(context.bind()?, raw)? {
        let report = Arc::new(report);
        context.add_report(&report);
        // From here on the module owns the report.
        module.report = Some(report);
    }
    Ok(module)
}

/// Records the packages that a module was built from, and its signatures.
pub(super) fn of_packages(
    mut module: Module,
    packages: &'static [&'static str],
    signatures: Option<&'static [(&'static str, &'static str)]>,
) -> Module {
    module.packages = packages;
    module.signatures = signatures;
    module
}

fn invalid_ptx(reason: impl Into<String>, code: Option<CudaError>, log: &str) -> Error {
    Error::InvalidPtx(Box::new(InvalidPtx {
        reason: reason.into(),
        log: log.to_owned(),
        code,
    }))
}

/// Returns an error for a string that is not PTX.
///
/// The driver chooses the format of an image by its first bytes: it would load a string that begins
/// with `\x7fELF` as machine code, which safe functions must not load.
pub(super) fn check_is_ptx(text: &str) -> CudaResult<()> {
    if let Some(position) = text.find('\0') {
        let reason = format!("there is a NUL byte in it, at {position}");
        return Err(invalid_ptx(reason, None, ""));
    }
    if text.trim().is_empty() {
        return Err(invalid_ptx("it is empty", None, ""));
    }
    let start = text.trim_ascii_start();
    let refuse = |reason: &str| {
        let first: String = start.chars().take(60).collect();
        let first = first.lines().next().unwrap_or_default().escape_debug();
        let reason = format!("it is not PTX: {reason}; it begins with `{first}`");
        Err(invalid_ptx(reason, None, ""))
    };
    if ptx::header(text).version.is_none() {
        return refuse("it has no `.version`");
    }
    // The first token after comments is `.version`.
    if !start.starts_with(['.', '/']) {
        return refuse("it begins with neither a directive nor a comment");
    }
    Ok(())
}

/// Returns checked PTX with a terminating NUL byte, as the driver takes it.
pub(super) fn terminated(ptx: &str) -> CudaResult<Vec<u8>> {
    let ptx = ptx.trim_end_matches('\0');
    check_is_ptx(ptx)?;
    let mut text = Vec::with_capacity(ptx.len() + 1);
    text.extend_from_slice(ptx.as_bytes());
    text.push(0);
    Ok(text)
}

fn explain_ptx_error(context: &Context, error: Error, ptx: &str, jit: &JitOptions) -> Error {
    let Some(code) = error.code() else {
        return error;
    };
    let log = jit.error_log();
    if let Some(error) = too_much_shared(&log, "loading a module from PTX") {
        return error;
    }
    match code {
        CudaError::UnsupportedPtxVersion => {
            let driver = match context.driver_version() {
                Ok((major, minor)) => format!("{major}.{minor}"),
                Err(_) => "unknown".to_owned(),
            };
            Error::PtxTooNew(Box::new(PtxTooNew {
                ptx: ptx::header(ptx).version.map(str::to_owned),
                driver,
            }))
        }
        CudaError::InvalidPtx
        | CudaError::InvalidImage
        | CudaError::InvalidSource
        | CudaError::JitCompilerNotFound
        | CudaError::NoBinaryForGpu => invalid_ptx(with_text(&error), Some(code), &log),
        _ => with_log(error, log),
    }
}

/// Parses the compiler's error message for a kernel whose static shared memory is too large.
pub(super) fn too_much_shared(log: &str, doing: &str) -> Option<Error> {
    let line = log
        .lines()
        .find(|line| line.contains("too much shared data"))?;
    let kernel = line.split('\'').nth(1)?;
    let (_, sizes) = line.rsplit_once('(')?;
    let mut sizes = sizes.split([',', ')']).map(|size| {
        let digits = size.split_whitespace().next()?.strip_prefix("0x")?;
        u64::from_str_radix(digits, 16).ok()
    });
    Some(Error::SharedMemory(Box::new(SharedMemory {
        doing: doing.to_owned(),
        kernel: kernel.to_owned(),
        own: sizes.next()??,
        dynamic: 0,
        most: sizes.next()??,
    })))
}

/// Returns the driver's description and the name of an error, without the failed operation.
fn with_text(error: &Error) -> String {
    match error {
        Error::Driver(error) => format!("{} ({})", error.text, error.code),
        error => error.to_string(),
    }
}

/// Adds the compiler's log to an error.
fn with_log(mut error: Error, log: String) -> Error {
    if let Error::Driver(error) = &mut error
        && !log.is_empty()
        && error.detail.is_none()
    {
        error.detail = Some(log);
    }
    error
}

fn explain_binary_error(context: &Context, error: Error, jit: &JitOptions) -> Error {
    let log = jit.error_log();
    let Error::Driver(driver_error) = &error else {
        return error;
    };
    let code = driver_error.code;
    if !matches!(
        code,
        CudaError::NoBinaryForGpu | CudaError::InvalidImage | CudaError::UnsupportedPtxVersion
    ) {
        return with_log(error, log);
    }
    let device = context.device();
    let arch = match device.compute_capability() {
        Ok((major, minor)) => format!("sm_{major}{minor}"),
        Err(_) => "of an unknown architecture".to_owned(),
    };
    let name = device.name().unwrap_or_default();
    let log = if log.is_empty() {
        String::new()
    } else {
        format!("\n{log}")
    };
    Error::WrongDevice(Box::new(WrongDevice {
        doing: driver_error.doing.clone(),
        reason: format!(
            "it does not fit the device, {name}, which is {arch}: {}{log}",
            with_text(&error)
        ),
        code,
    }))
}

fn bad_image(kind: &str, reason: &str) -> Error {
    Error::WrongDevice(Box::new(WrongDevice {
        doing: format!("loading a module from {kind}"),
        reason: reason.to_owned(),
        code: CudaError::InvalidImage,
    }))
}

/// Checks that the tables that an ELF header refers to lie inside the image.
pub(super) fn check_elf(bytes: &[u8]) -> CudaResult<()> {
    let bad = |reason| bad_image("a cubin", reason);
    if ImageKind::of(bytes) != ImageKind::Cubin {
        return Err(bad("it is not an ELF file, so it is not a cubin"));
    }
    if bytes.len() < 64 || bytes[4] != 2 || bytes[5] != 1 {
        return Err(bad("it is not a 64-bit little-endian ELF file"));
    }
    let table = |offset_at: usize, size_at: usize, count_at: usize| {
        let offset = read(bytes, offset_at, 8)?;
        let size = read(bytes, size_at, 2)?;
        let count = read(bytes, count_at, 2)?;
        offset.checked_add(size * count)
    };
    let inside = |end: Option<u64>| end.is_some_and(|end| end <= bytes.len() as u64);
    if !inside(table(32, 54, 56)) || !inside(table(40, 58, 60)) {
        return Err(bad(
            "the file is truncated: its tables are outside the file",
        ));
    }
    Ok(())
}

/// Checks that a fat binary is as large as its header states.
pub(super) fn check_fatbin(bytes: &[u8]) -> CudaResult<()> {
    let bad = |reason| bad_image("a fat binary", reason);
    if ImageKind::of(bytes) != ImageKind::Fatbin {
        return Err(bad("it is not a fat binary: its magic number is wrong"));
    }
    let header = read(bytes, 6, 2);
    let end = header.zip(read(bytes, 8, 8));
    let end = end.and_then(|(header, size)| header.checked_add(size));
    if !end.is_some_and(|end| end <= bytes.len() as u64) {
        return Err(bad("the file is truncated"));
    }
    Ok(())
}

/// Reads a little-endian integer of `size` bytes.
fn read(bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(offset..offset + size)?;
    let number = bytes.iter().rev();
    Some(number.fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_says_which_kernel_has_too_much_shared_memory() {
        let log = "ptxas info    : 0 bytes gmem\nptxas error   : Entry function 'big' uses too much \
                   shared data (0xea60 bytes, 0xc000 max)\n";
        let error = too_much_shared(log, "loading").unwrap();
        let Error::SharedMemory(error) = error else {
            panic!("{error}");
        };
        assert_eq!(
            (&*error.kernel, error.own, error.most),
            ("big", 60000, 49152)
        );
        assert!(too_much_shared("uses too much shared data", "loading").is_none());
        assert!(too_much_shared("", "loading").is_none());
    }

    fn elf() -> Vec<u8> {
        let mut elf = vec![0; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf
    }

    #[test]
    fn cubins_are_checked_before_the_driver_sees_them() {
        assert_eq!(check_elf(&elf()), Ok(()));
        let text = check_elf(b".version 8.0").unwrap_err().to_string();
        assert!(text.contains("not an ELF file"), "{text}");
        let mut cut = elf();
        cut[40..48].copy_from_slice(&1000u64.to_le_bytes());
        let text = check_elf(&cut).unwrap_err().to_string();
        assert!(text.contains("truncated"), "{text}");
        cut[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
        cut[58] = 64;
        cut[60] = 1;
        assert!(check_elf(&cut).is_err());
    }

    #[test]
    fn fat_binaries_are_checked_before_the_driver_sees_them() {
        let mut fatbin = vec![0; 20];
        fatbin[..4].copy_from_slice(&0xba55_ed50_u32.to_le_bytes());
        fatbin[6] = 16;
        fatbin[8] = 4;
        assert_eq!(check_fatbin(&fatbin), Ok(()));
        assert!(check_fatbin(&fatbin[..19]).is_err());
        assert!(check_fatbin(&fatbin[..7]).is_err());
        assert!(check_fatbin(b"no").is_err());
    }
}
