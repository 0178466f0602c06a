//! The modules that the compiler embedded into the program, one for each crate with kernels, and
//! the kernels in them by the types of their names.
//!
//! The ELF section `nvvm_modules` contains a record for each crate's PTX, per architecture. A
//! record of PTX is optionally followed by a record of the cubin compiled from it. Comments at the
//! end of the PTX list its kernels: `// cuda_std.entry HANDLE SYMBOL`, where the handle is the bits
//! of the kernel type's `TypeId`.

use std::any::TypeId;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock};

use cust_core::global::Global as GlobalType;
use cust_core::kernel::Kernel as KernelType;

use super::embedded::Arch;
use super::{Function, Global, Module};
use crate::backend::Backend;
use crate::context::Context;
use crate::error::{CudaResult, Error};

/// The address and length of an image.
#[repr(C)]
struct Record {
    image: *const u8,
    len: usize,
}

#[cfg(all(target_os = "linux", not(miri)))]
mod section {
    use super::Record;

    /// An empty record, so that every program has the section. It is mutable because the compiler's
    /// records, which the linker relocates, are in a writable section as well.
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
        // A reference, so that `--gc-sections` does not remove the section.
        std::hint::black_box(&raw const NONE);
        let start = (&raw const __start_nvvm_modules).cast::<Record>();
        let end = (&raw const __stop_nvvm_modules).addr();
        let count = (end - start.addr()) / size_of::<Record>();
        // SAFETY: the section contains only records, which are never modified. The linker defines
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

/// The device code of a crate for one architecture.
#[derive(Clone, Copy)]
struct Image {
    ptx: &'static str,
    arch: Option<Arch>,
    /// Machine code compiled from the PTX.
    cubin: Option<&'static [u8]>,
}

/// The program's embedded device code.
struct Program {
    images: Vec<Image>,
    ptx: Vec<&'static str>,
    /// For each kernel, by handle: the images that contain it, with its symbol in the image. The
    /// newest architecture comes first.
    kernels: HashMap<u128, Vec<(usize, &'static str)>>,
}

/// Returns the PTX that `cargo cuda` embedded into the program: one string per crate with kernels
/// and architecture, the newest architecture first.
///
/// This function is for tools, and for [`raw`](crate::raw) calls of the driver;
/// [`Stream::launch`](crate::stream::Stream::launch) finds kernels without it.
///
/// An entry's name is the function's mangled name, or its plain name for a kernel with
/// `#[unsafe(no_mangle)]`. The strings are not NUL-terminated, as `cuModuleLoadData` requires.
pub fn own_ptx() -> &'static [&'static str] {
    &program().ptx
}

fn program() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let records = section::records().iter();
        let images = records.filter(|record| !record.image.is_null() && record.len > 0);
        Program::new(images.map(|record| {
            // SAFETY: the compiler wrote the record of an image of this length.
            unsafe { std::slice::from_raw_parts(record.image, record.len) }
        }))
    })
}

impl Program {
    /// Creates the program from the compiler's records, in their order.
    fn new(records: impl Iterator<Item = &'static [u8]>) -> Program {
        let mut images: Vec<Image> = Vec::new();
        for bytes in records {
            if bytes.starts_with(b"\x7fELF") {
                if let Some(image) = images.last_mut() {
                    image.cubin = Some(bytes);
                }
            } else if let Ok(text) = std::str::from_utf8(bytes) {
                let ptx = text.trim_end_matches('\0');
                images.push(Image {
                    ptx,
                    arch: arch(ptx),
                    cubin: None,
                });
            }
        }
        images.sort_by_key(|image| std::cmp::Reverse(image.arch));
        let mut kernels: HashMap<u128, Vec<(usize, &'static str)>> = HashMap::new();
        for (number, image) in images.iter().enumerate() {
            for (handle, symbol) in entries(image.ptx) {
                kernels.entry(handle).or_default().push((number, symbol));
            }
        }
        Program {
            ptx: images.iter().map(|image| image.ptx).collect(),
            images,
            kernels,
        }
    }

    /// Returns the candidates to try on a device, in order. The candidates are sorted by
    /// architecture, the newest first.
    ///
    /// The candidate for the oldest architecture is returned even if it does not fit, so that the
    /// driver reports the error.
    fn to_try<'a, T: 'a>(
        &'a self,
        candidates: &'a [T],
        image: impl Fn(&T) -> usize + Copy + 'a,
        device: (u32, u32),
    ) -> impl Iterator<Item = &'a T> {
        let fits = move |candidate: &T| {
            let arch = self.images[image(candidate)].arch;
            arch.is_none_or(|arch| arch.runs_ptx_on(device))
        };
        let fitting = candidates.iter().filter(move |candidate| fits(candidate));
        let fallback = candidates.last().filter(|candidate| !fits(candidate));
        fitting.chain(fallback)
    }
}

impl Image {
    /// Loads the image into the context: the machine code if it fits the device, otherwise the PTX.
    fn load(&self, context: &Context) -> CudaResult<Module> {
        let device = context.device().compute_capability()?;
        let fits = |arch: Arch| arch.runs_cubin_on(device);
        if context.backend() == Backend::Gpu
            && let Some(cubin) = self.cubin
            && self.arch.is_some_and(fits)
        {
            // SAFETY: the compiler embedded the output of ptxas.
            match context.with_current(|| unsafe { Module::from_cubin(cubin, &[]) }) {
                // The driver is too old for the machine code.
                Err(Error::WrongDevice(_)) => {}
                loaded => return loaded,
            }
        }
        context.with_current(|| Module::from_ptx(self.ptx, &[]))
    }
}

/// Returns the target architecture of PTX.
fn arch(image: &str) -> Option<Arch> {
    ptx::header(image)
        .target
        .first()
        .and_then(|name| Arch::parse(name))
}

/// Returns the handles and symbols in the comments at the end of PTX.
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

/// A kernel that was looked up.
struct Found {
    handle: u128,
    /// The address of the context, which the module keeps alive.
    context: usize,
    function: Function<'static>,
}

/// The modules loaded, each with its context's address and its image's number, and the kernels
/// found. They are never dropped: a launch needs no lock, and a context that is reset is rare.
#[derive(Default)]
struct Loaded {
    modules: Vec<(usize, usize, &'static Module)>,
    found: HashMap<(u128, usize), &'static Found>,
}

thread_local! {
    /// Kernels that this thread launched, indexed by the low bits of their handles.
    static RECENT: [Cell<Option<&'static Found>>; RECENT_LEN] =
        const { [const { Cell::new(None) }; RECENT_LEN] };
}
const RECENT_LEN: usize = 32;

/// Returns the program's own kernel `K` in this context.
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
    K::link();
    let found = find(context, handle, K::shown(), K::PACKAGE)?;
    // On a thread that is exiting, the access fails, and each launch looks the kernel up again.
    let _ = RECENT.try_with(|recent| recent[place].set(Some(found)));
    Ok(&found.function)
}

/// Returns the bits of the type's `TypeId`, which the compiler writes into the PTX.
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
    // Before the lock: inside a host callback, `bind` releases the stream that the callback blocks.
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
    let mut loaded = loaded();
    let key = (handle, context.address());
    if let Some(found) = loaded.found.get(&key) {
        return Ok(found);
    }
    let mut refused = None;
    for &(image, symbol) in program.to_try(candidates, |(image, _)| *image, device) {
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
            // The driver may be too old for one image, but not for another.
            Err(error @ (Error::WrongDevice(_) | Error::PtxTooNew(_))) => {
                refused.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    Err(refused.unwrap_or(not_embedded))
}

fn loaded() -> MutexGuard<'static, Loaded> {
    static LOADED: LazyLock<Mutex<Loaded>> = LazyLock::new(Mutex::default);
    LOADED.lock().unwrap_or_else(|e| e.into_inner())
}

/// The image that a module of the program was loaded from.
#[derive(Clone, Copy)]
pub(super) struct Own {
    /// The image's index.
    image: usize,
}

impl Own {
    /// Returns the symbol of a kernel in the image.
    pub(super) fn symbol<K: KernelType>(self) -> Option<&'static str> {
        let of_kernel = program().kernels.get(&handle_of::<K>())?;
        let found = of_kernel.iter().find(|(image, _)| *image == self.image);
        found.map(|&(_, symbol)| symbol)
    }

    /// Returns whether the image contains a static.
    pub(super) fn has<G: GlobalType>(self) -> bool {
        has_static::<G>(program().images[self.image].ptx)
    }
}

/// Returns whether PTX contains the static `G`: an entry with its symbol and its signature.
fn has_static<G: GlobalType>(ptx: &str) -> bool {
    let literal = format!("\"{}\"", G::SIGNATURE.escape_default());
    ptx::signatures(ptx).any(|(symbol, signature)| symbol == G::SYMBOL && signature == literal)
}

impl Module {
    /// Loads a separate copy of the program's own device code that contains the kernel `K`.
    ///
    /// The module has its own copies of statics, and no one else launches its kernels. Its statics
    /// can therefore be modified, unlike those of the module that
    /// [`Stream::launch`](crate::stream::Stream::launch) uses.
    ///
    /// The module contains the kernels of the crate that launches `K`, and the statics that these
    /// kernels use.
    ///
    /// ```text
    /// let mut module = Module::own::<scale>()?;
    /// module.global_mut::<FACTORS>()?.set(&[0.5; 4])?;
    /// module.launch(&stream, (blocks, threads), scale::args(&mut values))?;
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Stream::launch`](crate::stream::Stream::launch) that concern the
    /// module, and [`Error::NoContext`] without a context.
    pub fn own<K: KernelType>() -> CudaResult<Module> {
        K::link();
        let context = Context::current("loading a module of the program")?;
        let program = program();
        if program.images.is_empty() {
            return Err(Error::NoDeviceCode { kernel: K::shown() });
        }
        let not_embedded = Error::NotEmbedded {
            kernel: K::shown(),
            package: K::PACKAGE,
        };
        let Some(candidates) = program.kernels.get(&handle_of::<K>()) else {
            return Err(not_embedded);
        };
        let device = context.device().compute_capability()?;
        let mut refused = None;
        for &(image, _) in program.to_try(candidates, |(image, _)| *image, device) {
            match program.images[image].load(&context) {
                Ok(mut module) => {
                    module.own = Some(Own { image });
                    return Ok(module);
                }
                Err(error @ (Error::WrongDevice(_) | Error::PtxTooNew(_))) => {
                    refused.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(refused.unwrap_or(not_embedded))
    }
}

impl<G: GlobalType> Global<'static, G> {
    /// Returns a static of the program itself in the current context, in the module that
    /// [`Stream::launch`](crate::stream::Stream::launch) uses.
    ///
    /// ```text
    /// println!("{}", Global::<HITS>::own()?.load()?);
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::GlobalNotFound`] for a static that no kernel of the program uses,
    /// [`Error::SeveralGlobals`] for a static that kernels of several crates use, since each
    /// crate's device code has its own copy, [`Error::NoContext`] without a context, and the errors
    /// of loading the module.
    pub fn own() -> CudaResult<Self> {
        let context = Context::current("looking up a static of the program")?;
        // Before the lock: inside a host callback, `bind` releases the stream that the callback
        // blocks.
        context.bind()?;
        let program = program();
        let images = program.images.iter().enumerate();
        let with_it = images.filter(|(_, image)| has_static::<G>(image.ptx));
        let candidates: Vec<usize> = with_it.map(|(number, _)| number).collect();
        let device = context.device().compute_capability()?;
        let not_found = Error::GlobalNotFound {
            name: G::NAME.to_owned(),
        };
        let mut refused = None;
        let mut loaded = loaded();
        for &image in program.to_try(&candidates, |image| *image, device) {
            let arch = program.images[image].arch;
            let of_arch = |number: &&usize| program.images[**number].arch == arch;
            if candidates.iter().filter(of_arch).count() > 1 {
                return Err(Error::SeveralGlobals { global: G::NAME });
            }
            match loaded.module(&context, image) {
                // SAFETY: the image contains the static with this signature.
                Ok(module) => return unsafe { module.global_unchecked() },
                Err(error @ (Error::WrongDevice(_) | Error::PtxTooNew(_))) => {
                    refused.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(refused.unwrap_or(not_found))
    }
}

impl Loaded {
    /// Returns the module of an image in the context, loading it on first use.
    fn module(&mut self, context: &Context, image: usize) -> CudaResult<&'static Module> {
        let address = context.address();
        let known = |(of, number, _): &&(usize, usize, _)| (*of, *number) == (address, image);
        if let Some(&(_, _, module)) = self.modules.iter().find(known) {
            return Ok(module);
        }
        let module = program().images[image].load(context)?;
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
        let ptx = [text("sm_75"), text("sm_90a"), text("sm_80")];
        let cubin = b"\x7fELF of sm_90a";
        let records = [
            ptx[0].as_bytes(),
            ptx[1].as_bytes(),
            cubin,
            ptx[2].as_bytes(),
        ];
        let program = Program::new(records.into_iter());
        let kernel = &program.kernels[&1];
        let archs = |found: &[&(usize, &str)]| -> Vec<&str> {
            let of = |&&(image, _): &&(usize, _)| ptx::header(program.images[image].ptx).target[0];
            found.iter().map(of).collect()
        };
        let all: Vec<_> = kernel.iter().collect();
        assert_eq!(archs(&all), ["sm_90a", "sm_80", "sm_75"]);
        let cubins = program.images.iter().map(|image| image.cubin.is_some());
        assert_eq!(cubins.collect::<Vec<_>>(), [true, false, false]);
        for (device, expected) in [
            ((9, 0), &["sm_90a", "sm_80", "sm_75"][..]),
            ((8, 6), &["sm_80", "sm_75"]),
            ((10, 0), &["sm_80", "sm_75"]),
            ((7, 0), &["sm_75"]),
        ] {
            let found = program.to_try(kernel, |(image, _)| *image, device);
            assert_eq!(archs(&found.collect::<Vec<_>>()), expected, "{device:?}");
        }
    }

    #[test]
    fn types_have_different_handles() {
        assert_ne!(handle_of::<u8>(), handle_of::<i8>());
        assert_eq!(handle_of::<u8>(), handle_of::<u8>());
    }
}
