//! Embeds a crate's PTX in its object files.
//!
//! The object has the PTX in read-only memory, and in the section `nvvm_modules` a record of its
//! address (`u64`) and length (`u64`). The linker puts the records of all crates side by side and
//! names the section's ends `__start_nvvm_modules` and `__stop_nvvm_modules`, where the host's
//! library looks for them.

use std::fs;

use object::write::{Object, Relocation, StandardSection, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationEncoding, RelocationFlags, RelocationKind,
    SectionFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope, elf,
};
use rustc_codegen_ssa::{CompiledModule, ModuleKind};
use rustc_middle::ty::TyCtxt;
use rustc_session::Session;
use rustc_session::config::OutputFilenames;
use rustc_span::def_id::LOCAL_CRATE;
use rustc_target::spec::{Arch, BinaryFormat as TargetFormat};

/// The section of the records.
const SECTION: &[u8] = b"nvvm_modules";

/// The symbol of the record of the crate that is compiled.
pub(crate) fn symbol(tcx: TyCtxt<'_>) -> String {
    let id = tcx.stable_crate_id(LOCAL_CRATE).as_u64();
    format!("__nvvm_module_{id:016x}")
}

/// The comments at the end of the PTX that say which kernel the host knows by which type: the type's
/// identity, as 32 hexadecimal digits, and the kernel's symbol.
pub(crate) fn entries(entries: &[(u128, String)]) -> String {
    let line = |(handle, symbol): &(u128, String)| {
        format!("// cuda_std.entry {handle:032x} {symbol}\n")
    };
    entries.iter().map(line).collect()
}

/// A crate's PTX.
pub(crate) struct Image {
    symbol: String,
    ptx: Vec<u8>,
}

impl Image {
    pub(crate) fn new(tcx: TyCtxt<'_>, ptx: Vec<u8>) -> Self {
        Image {
            symbol: symbol(tcx),
            ptx,
        }
    }

    /// Writes the object file.
    pub(crate) fn write(&self, sess: &Session, outputs: &OutputFilenames) -> CompiledModule {
        let Some(bytes) = self.object(sess) else {
            let message = format!(
                "kernels cannot be embedded in programs for `{}`",
                sess.opts.target_triple
            );
            let help = "single-source crates are for x86-64 and AArch64, with ELF files";
            sess.dcx().fatal(format!("{message}: {help}"))
        };
        // A name that rustc does not take for an object of its own, which it leaves out after
        // link-time optimization.
        let path = outputs.with_extension("nvvm.o");
        if let Err(err) = fs::write(&path, bytes) {
            let message = format!("cannot write `{}`: {err}", path.display());
            sess.dcx().fatal(message);
        }
        CompiledModule {
            name: "nvvm".to_owned(),
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
        let text = object.section_id(StandardSection::ReadOnlyData);
        let at = object.append_section_data(text, &self.ptx, 8);
        let text = object.add_symbol(Symbol {
            name: format!("{}_text", self.symbol).into_bytes(),
            value: at,
            size: self.ptx.len() as u64,
            kind: SymbolKind::Data,
            scope: SymbolScope::Compilation,
            weak: false,
            section: SymbolSection::Section(text),
            flags: SymbolFlags::None,
        });
        let records = object.add_section(Vec::new(), SECTION.to_vec(), SectionKind::Data);
        let flags = elf::SHF_ALLOC | elf::SHF_WRITE | elf::SHF_GNU_RETAIN;
        object.section_mut(records).flags = SectionFlags::Elf {
            sh_flags: u64::from(flags),
        };
        let mut record = [0; 16];
        record[8..].copy_from_slice(&(self.ptx.len() as u64).to_le_bytes());
        let at = object.append_section_data(records, &record, 8);
        let relocation = Relocation {
            offset: at,
            symbol: text,
            addend: 0,
            flags: RelocationFlags::Generic {
                kind: RelocationKind::Absolute,
                encoding: RelocationEncoding::Generic,
                size: 64,
            },
        };
        object.add_relocation(records, relocation).ok()?;
        object.add_symbol(Symbol {
            name: self.symbol.clone().into_bytes(),
            value: at,
            size: record.len() as u64,
            kind: SymbolKind::Data,
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Section(records),
            flags: SymbolFlags::None,
        });
        object.write().ok()
    }
}
