//! Embeds a crate's device code in its object files.
//!
//! The object holds the PTX of each architecture in read-only memory and, in the section
//! `nvvm_modules`, a record with its address (`u64`) and length (`u64`). A record for the machine
//! code that ptxas produced may follow the PTX's record. The linker concatenates the records of all
//! crates and defines the section's bounds as `__start_nvvm_modules` and `__stop_nvvm_modules`,
//! from which the host library reads them.
//!
//! Code that launches a kernel refers to the symbol of its crate's records (`cuda_std`'s static with
//! the attribute `image`), so a linker takes the object from a static library.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use object::write::{Object, Relocation, StandardSection, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationEncoding, RelocationFlags, RelocationKind,
    SectionFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope, elf,
};
use rustc_codegen_ssa::{CompiledModule, ModuleKind};
use rustc_middle::ty::TyCtxt;
use rustc_session::Session;
use rustc_session::config::{OutFileName, OutputFilenames};
use rustc_session::output::out_filename;
use rustc_span::def_id::LOCAL_CRATE;
use rustc_span::fatal_error::FatalError;
use rustc_structures::CrateType;
use rustc_target::spec::{Arch, BinaryFormat as TargetFormat};

use crate::options::Options;
use crate::pipeline::find_toolkit;
use crate::rlib;

/// The section of the records.
const SECTION: &[u8] = b"nvvm_modules";

/// The prefix of the symbols of records.
const PREFIX: &str = "__nvvm_module_";

/// The size of a record in bytes.
const RECORD: usize = 16;

/// Returns the symbol of the records of the crate being compiled.
pub(crate) fn symbol(tcx: TyCtxt<'_>) -> String {
    let id = tcx.stable_crate_id(LOCAL_CRATE).as_u64();
    format!("{PREFIX}{id:016x}")
}

/// Returns whether a symbol is that of a crate's records.
pub(crate) fn is_symbol(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Returns the comments at the end of the PTX that map the types by which the host names kernels to
/// kernels: the type's hash, as 32 hexadecimal digits, and the kernel's symbol.
pub(crate) fn entries(entries: &[(u128, String)]) -> String {
    let line =
        |(handle, symbol): &(u128, String)| format!("// cuda_std.entry {handle:032x} {symbol}\n");
    entries.iter().map(line).collect()
}

/// A crate's device code for one architecture.
pub(crate) struct Code {
    pub ptx: Vec<u8>,
    /// The machine code for the PTX, if requested.
    pub cubin: Option<Vec<u8>>,
}

/// Assembles PTX to machine code, which is stored next to the object files. Returns `None` after
/// reporting an error.
pub(crate) fn cubin(
    tcx: TyCtxt<'_>,
    options: &Options,
    arch: nvvm::Arch,
    ptx: &[u8],
) -> Option<Vec<u8>> {
    let sess = tcx.sess;
    let toolkit = find_toolkit(options);
    let Some(ptxas) = toolkit.ptxas else {
        let mut diag = sess
            .dcx()
            .struct_err("`cubins=on` needs ptxas, which was not found");
        diag.help(format!(
            "`{} DIR` fetches it; `CUDA_HOME` names the directory",
            cuda_toolkit::PIP_COMMAND
        ));
        diag.emit();
        return None;
    };
    let path = tcx
        .output_filenames(())
        .with_extension(&format!("{}.ptx", arch.sm()));
    let text = std::str::from_utf8(ptx).ok()?;
    let cubin = (|| -> Result<Vec<u8>, String> {
        write_if_different(&path, ptx)
            .map_err(|err| format!("cannot write `{}`: {err}", path.display()))?;
        let linked = ptx::is_to_be_linked(text);
        let warn = |text: &str| sess.dcx().warn(text.to_owned());
        let cubin = cuda_toolkit::assemble::assemble(&ptxas.path, arch, &path, linked, warn)
            .map_err(|err| err.to_string())?;
        fs::read(&cubin).map_err(|err| format!("cannot read `{}`: {err}", cubin.display()))
    })();
    cubin.map_err(|message| sess.dcx().err(message)).ok()
}

/// Writes a file, unless it already has these contents: then it stays older than the output made
/// from it.
fn write_if_different(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    match fs::read(path) {
        Ok(there) if there == contents => Ok(()),
        _ => fs::write(path, contents),
    }
}

/// Returns the path of the object file that holds the device code.
fn object_path(outputs: &OutputFilenames) -> PathBuf {
    outputs.with_extension("nvvm.o")
}

/// Makes link-time optimization of dependent crates link a library's device code. Must be called
/// after the library is linked.
pub(crate) fn finish_rlib(sess: &Session, outputs: &OutputFilenames, krate: rustc_span::Symbol) {
    let rlib = out_filename(sess, CrateType::Rlib, outputs, krate);
    let object = object_path(outputs);
    let name = object.file_name().and_then(OsStr::to_str);
    if let OutFileName::Real(path) = rlib
        && let Some(name) = name
        && let Err(err) = rlib::hide_object(&path, name)
    {
        let message = format!("cannot change `{}`: {err}", path.display());
        sess.dcx().fatal(message);
    }
}

/// The name of the module that rustc links.
const NAME: &str = "nvvm";

/// Returns whether a module is a crate's device code.
pub(crate) fn is_image(module: &CompiledModule) -> bool {
    module.name == NAME
}

/// A crate's device code.
pub(crate) struct Image {
    symbol: String,
    codes: Vec<Code>,
}

impl Image {
    pub(crate) fn new(tcx: TyCtxt<'_>, codes: Vec<Code>) -> Self {
        Image {
            symbol: symbol(tcx),
            codes,
        }
    }

    /// Writes the object file.
    pub(crate) fn write(&self, sess: &Session, outputs: &OutputFilenames) -> CompiledModule {
        let Some(bytes) = self.object(sess) else {
            let message = format!(
                "kernels cannot be embedded in programs for `{}`",
                sess.opts.target_triple
            );
            sess.dcx()
                .struct_err(message)
                .with_help("single-source crates support x86-64 and AArch64 targets with ELF files")
                .emit();
            FatalError.raise()
        };
        let path = object_path(outputs);
        if let Err(err) = fs::write(&path, bytes) {
            let message = format!("cannot write `{}`: {err}", path.display());
            sess.dcx().fatal(message);
        }
        CompiledModule {
            name: NAME.to_owned(),
            kind: ModuleKind::Regular,
            object: Some(path),
            global_asm_object: None,
            dwarf_object: None,
            bytecode: None,
            assembly: None,
            llvm_ir: None,
        }
    }

    fn object(&self, sess: &Session) -> Option<Vec<u8>> {
        if sess.target.binary_format != TargetFormat::Elf {
            return None;
        }
        let architecture = match sess.target.arch {
            Arch::X86_64 => Architecture::X86_64,
            Arch::AArch64 => Architecture::Aarch64,
            _ => return None,
        };
        let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
        // Without this section, GNU ld makes the stack of the program executable.
        object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
        let text = object.section_id(StandardSection::ReadOnlyData);
        let records = object.add_section(Vec::new(), SECTION.to_vec(), SectionKind::Data);
        let flags = elf::SHF_ALLOC | elf::SHF_WRITE | elf::SHF_GNU_RETAIN;
        object.section_mut(records).flags = SectionFlags::Elf {
            sh_flags: u64::from(flags),
        };
        let images = self.codes.iter().flat_map(|code| {
            let cubin = code.cubin.as_deref();
            std::iter::once(code.ptx.as_slice()).chain(cubin)
        });
        let mut count = 0;
        for (number, image) in images.enumerate() {
            let at = object.append_section_data(text, image, 8);
            let symbol = object.add_symbol(Symbol {
                name: format!("{}_{number}", self.symbol).into_bytes(),
                value: at,
                size: image.len() as u64,
                kind: SymbolKind::Data,
                scope: SymbolScope::Compilation,
                weak: false,
                section: SymbolSection::Section(text),
                flags: SymbolFlags::None,
            });
            let mut record = [0; RECORD];
            record[8..].copy_from_slice(&(image.len() as u64).to_le_bytes());
            let at = object.append_section_data(records, &record, 8);
            let relocation = Relocation {
                offset: at,
                symbol,
                addend: 0,
                flags: RelocationFlags::Generic {
                    kind: RelocationKind::Absolute,
                    encoding: RelocationEncoding::Generic,
                    size: 64,
                },
            };
            object.add_relocation(records, relocation).ok()?;
            count += 1;
        }
        if count == 0 {
            // The symbol is exported, so it must be defined.
            object.append_section_data(records, &[0; RECORD], 8);
            count = 1;
        }
        object.add_symbol(Symbol {
            name: self.symbol.clone().into_bytes(),
            value: 0,
            size: (count * RECORD) as u64,
            kind: SymbolKind::Data,
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Section(records),
            flags: SymbolFlags::None,
        });
        object.write().ok()
    }
}
