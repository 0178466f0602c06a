//! The modules that the compiler embedded into the program, one for each crate with kernels, and the
//! kernels in them by the types of their names.
//!
//! A record in the ELF section `nvvm_modules` tells where the PTX of a crate is. At its end the PTX
//! names its kernels in comments: `// cuda_std.entry HANDLE SYMBOL`, with the bits of the `TypeId` of
//! the type of the kernel's name.

use std::any::TypeId;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::Module;
use super::embedded::Arch;
use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::function::Function;
use crate::kernel::KernelType;

/// Where the PTX of a crate is.
#[repr(C)]
struct Record {
    image: *const u8,
    len: usize,
}

#[cfg(all(target_os = "linux", not(miri)))]
mod section {
    use super::Record;

    /// So that the section is there in every program. It is mutable because the compiler's records,
    /// which the linker relocates, are in a writable section as well.
    #[used]
    #[unsafe(link_section = "nvvm_modules")]
    static mut NONE: Record = Record {
        image: std::ptr::null(),
        len: 0,
    };

    unsafe extern "C" {
        static __start_nvvm_modules: [Record; 0];
        static __stop_nvvm_modules: [Record; 0];
    }

    pub fn records() -> &'static [Record] {
        // Keeps the section where the linker removes what nothing refers to.
        std::hint::black_box(&raw const NONE);
        let start = (&raw const __start_nvvm_modules).cast::<Record>();
        let end = (&raw const __stop_nvvm_modules).addr();
        let count = (end - start.addr()) / size_of::<Record>();
        // SAFETY: the section holds such records only, and nobody changes them. The linker defines
        // the symbols as its start and end.
        unsafe { std::slice::from_raw_parts(start, count) }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod section {
    pub fn records() -> &'static [super::Record] {
        &[]
    }
}

/// What the program has of device code.
struct Program {
    images: Vec<&'static str>,
    /// For each kernel, the images that have it and its symbol there; the newest architecture first.
    kernels: HashMap<u128, Vec<(usize, &'static str)>>,
}

/// Returns the PTX that `cargo cuda` embedded into the program: one string for each crate with
/// kernels, the newest architecture first. [`Stream::launch`](crate::stream::Stream::launch) finds
/// kernels by itself; this is for tools, and for [`raw`](crate::raw) calls of the driver.
///
/// An entry's name is the function's mangled name, or its own for a kernel with
/// `#[unsafe(no_mangle)]`. The strings do not end in a NUL, which `cuModuleLoadData` needs.
pub fn own_ptx() -> &'static [&'static str] {
    &program().images
}

fn program() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let records = section::records().iter();
        let images = records.filter(|record| !record.image.is_null() && record.len > 0);
        Program::new(images.filter_map(|record| {
            // SAFETY: the compiler wrote the record of an image of this length.
            let image = unsafe { std::slice::from_raw_parts(record.image, record.len) };
            let text = std::str::from_utf8(image).ok()?;
            Some(text.trim_end_matches('\0'))
        }))
    })
}

impl Program {
    fn new(images: impl Iterator<Item = &'static str>) -> Program {
        let mut images: Vec<_> = images.map(|image| (arch(image), image)).collect();
        images.sort_by_key(|&(arch, _)| std::cmp::Reverse(arch));
        let mut kernels: HashMap<u128, Vec<(usize, &'static str)>> = HashMap::new();
        for (number, (_, image)) in images.iter().enumerate() {
            for (handle, symbol) in entries(image) {
                kernels.entry(handle).or_default().push((number, symbol));
            }
        }
        Program {
            images: images.into_iter().map(|(_, image)| image).collect(),
            kernels,
        }
    }
}

/// The architecture that PTX is for.
fn arch(image: &str) -> Option<Arch> {
    ptx::header(image)
        .target
        .first()
        .and_then(|name| Arch::parse(name))
}

/// The handles and symbols that the comments at the end of PTX tell.
fn entries(image: &str) -> impl Iterator<Item = (u128, &str)> {
    let is_comment = |line: &&str| line.is_empty() || line.starts_with("//");
    let lines = image.lines().rev().map(str::trim);
    lines.take_while(is_comment).filter_map(|line| {
        let (handle, symbol) = line.strip_prefix("// cuda_std.entry ")?.split_once(' ')?;
        let is_hex = handle.len() == 32 && handle.bytes().all(|byte| byte.is_ascii_hexdigit());
        let handle = is_hex.then(|| u128::from_str_radix(handle, 16).ok())??;
        (!symbol.is_empty()).then_some((handle, symbol))
    })
}

/// A kernel that was found once.
struct Found {
    handle: u128,
    /// The address of its context, which the module keeps alive.
    context: usize,
    function: Function<'static>,
}

/// The modules loaded, each with its context's address and its image's number, and the kernels found.
/// They are never dropped: a launch needs no lock, and a context that is reset is rare.
#[derive(Default)]
struct Loaded {
    modules: Vec<(usize, usize, &'static Module)>,
    found: HashMap<(u128, usize), &'static Found>,
}

thread_local! {
    /// Kernels that this thread launched, by the low bits of their handles.
    static RECENT: [Cell<Option<&'static Found>>; RECENT_LEN] =
        const { [const { Cell::new(None) }; RECENT_LEN] };
}
const RECENT_LEN: usize = 32;

/// The program's own kernel `K`, in this context.
#[inline]
pub(crate) fn own_kernel<K: KernelType>(
    context: &Context,
) -> CudaResult<&'static Function<'static>> {
    let handle = handle_of::<K>();
    let place = (handle as usize ^ (context.address() >> 4)) % RECENT_LEN;
    let recent = RECENT.try_with(|recent| recent[place].get());
    if let Ok(Some(found)) = recent
        && found.handle == handle
        && found.context == context.address()
    {
        return Ok(&found.function);
    }
    let found = find(context, handle, K::NAME, K::PACKAGE)?;
    // A thread that is ending looks it up each time.
    let _ = RECENT.try_with(|recent| recent[place].set(Some(found)));
    Ok(&found.function)
}

/// The bits of the type's identity, as the compiler writes them.
fn handle_of<K: 'static>() -> u128 {
    // SAFETY: both are 16 bytes without padding.
    unsafe { std::mem::transmute::<TypeId, u128>(TypeId::of::<K>()) }
}

#[cold]
fn find(
    context: &Context,
    handle: u128,
    name: &'static str,
    package: &'static str,
) -> CudaResult<&'static Found> {
    static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);
    // Before the lock: a function that holds up a stream lets it go on here.
    context.bind()?;
    let program = program();
    if program.images.is_empty() {
        return Err(Error::NoDeviceCode { kernel: name });
    }
    let not_embedded = Error::NotEmbedded {
        kernel: name,
        package,
    };
    let Some(candidates) = program.kernels.get(&handle) else {
        return Err(not_embedded);
    };
    let device = context.device().compute_capability()?;
    let mut loaded = LOADED.lock().unwrap_or_else(|e| e.into_inner());
    let loaded = loaded.get_or_insert_default();
    let key = (handle, context.address());
    if let Some(found) = loaded.found.get(&key) {
        return Ok(found);
    }
    let fits =
        |image: usize| arch(program.images[image]).is_none_or(|arch| arch.runs_ptx_on(device));
    // If none fits, the driver says what is wrong with the one for the oldest architecture.
    let fitting = candidates.iter().filter(|(image, _)| fits(*image));
    let fallback = candidates.last().filter(|(image, _)| !fits(*image));
    let mut refused = None;
    for &(image, symbol) in fitting.chain(fallback) {
        match loaded.module(context, image) {
            Ok(module) => {
                let function = Function {
                    kernel: Arc::new(module.look_up(symbol, name)?),
                    module,
                };
                let found: &'static Found = Box::leak(Box::new(Found {
                    handle,
                    context: context.address(),
                    function,
                }));
                loaded.found.insert(key, found);
                return Ok(found);
            }
            // A driver may be too old for one image and take another.
            Err(error @ (Error::WrongDevice(_) | Error::PtxTooNew(_))) => {
                refused.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    Err(refused.unwrap_or(not_embedded))
}

impl Loaded {
    /// The module of an image in the context.
    fn module(&mut self, context: &Context, image: usize) -> CudaResult<&'static Module> {
        let address = context.address();
        let known = |(of, number, _): &&(usize, usize, _)| (*of, *number) == (address, image);
        if let Some(&(_, _, module)) = self.modules.iter().find(known) {
            return Ok(module);
        }
        let text = program().images[image];
        let module = context.with_current(|| Module::from_ptx(text, &[]))?;
        let module: &'static Module = Box::leak(Box::new(module));
        self.modules.push((address, image, module));
        Ok(module)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_named_in_comments_at_the_end() {
        let ptx = ".version 8.0\n.target sm_75\n\
                   // cuda_std.entry 00000000000000000000000000000001 inside\n\
                   .visible .entry one() { ret; }\n\n\
                   // cuda_std.entry 0123456789abcdef0123456789abcdef _RNvC1k3one\n\
                   // something else\n\
                   // cuda_std.entry 123 short\n\
                   // cuda_std.entry +123456789abcdef0123456789abcdef sign\n\
                   // cuda_std.entry 00000000000000000000000000000002\r\n\
                   // cuda_std.entry ffffffffffffffffffffffffffffffff two\r\n\n";
        let found: Vec<_> = entries(ptx).collect();
        let one = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef;
        assert_eq!(found, [(u128::MAX, "two"), (one, "_RNvC1k3one")]);
        assert_eq!(entries("").count(), 0);
        assert_eq!(entries("// cuda_std.entry").count(), 0);
    }

    #[test]
    fn the_newest_architecture_comes_first() {
        let entry = "// cuda_std.entry 00000000000000000000000000000001 k\n";
        let text = |arch: &str| -> &'static str {
            format!(".version 8.0\n.target {arch}\n{entry}").leak()
        };
        let images = [text("sm_75"), text("sm_90a"), text("sm_80")];
        let program = Program::new(images.into_iter());
        let kernel = &program.kernels[&1];
        let archs = kernel
            .iter()
            .map(|&(image, _)| ptx::header(program.images[image]).target[0]);
        assert_eq!(archs.collect::<Vec<_>>(), ["sm_90a", "sm_80", "sm_75"]);
    }

    #[test]
    fn types_have_different_handles() {
        assert_ne!(handle_of::<u8>(), handle_of::<i8>());
        assert_eq!(handle_of::<u8>(), handle_of::<u8>());
    }
}
