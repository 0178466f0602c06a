//! Reuses the device code of a crate's previous incremental compilation.
//!
//! In a single-source session the kernels are compiled as one task of rustc's dependency graph,
//! like a codegen unit: rustc records the queries that the task makes. If their results are the
//! same in the next session, rustc marks the task green without running it, and the stored code is
//! valid. A change of host code alone therefore does not even lower the kernels again.

use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

use rustc_data_structures::fingerprint::Fingerprint;
use rustc_data_structures::stable_hash::StableHasher;
use rustc_middle::dep_graph::{DepKind, DepNode};
use rustc_middle::ich::StableHashState;
use rustc_middle::ty::TyCtxt;
use rustc_span::Symbol;

use crate::embed::Code;
use crate::kernels::Kernel;
use crate::options::{self, Options};
use crate::{pipeline, ptx_cache};

/// Returns the code that `compile` returns, or that it returned in the previous session.
pub(crate) fn compile<'tcx>(
    tcx: TyCtxt<'tcx>,
    options: &Options,
    kernels: &[Kernel<'tcx>],
    compile: impl FnOnce() -> Vec<Code>,
) -> Vec<Code> {
    let graph = &tcx.dep_graph;
    let Some(data) = graph.data() else {
        return compile();
    };
    if options.dump.is_some() {
        return graph.with_ignore(compile);
    }
    let name = format!("nvvm.{:032x}", identity(tcx, options, kernels));
    let task = DepNode::construct(tcx, DepKind::CompileCodegenUnit, &Symbol::intern(&name));
    let path = tcx.output_filenames(()).with_extension("nvvm-code");
    let codes = match graph.try_mark_green(tcx, &task) {
        Some((previous, _)) => {
            // The file may be that of a session that failed later.
            if let Ok(bytes) = fs::read(&path)
                && fingerprint(&bytes) == data.prev_value_fingerprint_of(previous)
                && let Some(codes) = decode(&bytes)
            {
                return codes;
            }
            graph.with_ignore(compile)
        }
        None => {
            #[expect(clippy::ptr_arg, reason = "the type that the task returns")]
            fn hash(_: &mut StableHashState<'_>, codes: &Vec<Code>) -> Fingerprint {
                fingerprint(&encode(codes))
            }
            graph.with_task(task, tcx, compile, Some(hash)).0
        }
    };
    write(&path, &codes);
    codes
}

/// Returns a hash of the inputs of a compilation that the dependency graph does not track: options,
/// kernels, and the files of the toolkit and of this library.
fn identity<'tcx>(tcx: TyCtxt<'tcx>, options: &Options, kernels: &[Kernel<'tcx>]) -> u128 {
    let kernels = kernels.iter().map(|kernel| {
        let symbol = tcx.symbol_name(kernel.instance).name;
        format!("{symbol} {:?} {:?}", kernel.handle, kernel.attrs)
    });
    let given = options::host_options(tcx.sess)
        .chain(kernels)
        .collect::<Vec<_>>();
    let files = pipeline::compiler_files(&pipeline::find_toolkit(options));
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    ptx_cache::key(&given, &files)
}

/// Returns the hash of a file's bytes.
fn fingerprint(bytes: &[u8]) -> Fingerprint {
    let mut hasher = StableHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// Returns the bytes of the file: for each architecture the PTX and the machine code, each after
/// its length. Missing machine code has the length 0.
fn encode(codes: &[Code]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for code in codes {
        for part in [&code.ptx, code.cubin.as_deref().unwrap_or_default()] {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        }
    }
    bytes
}

fn decode(mut bytes: &[u8]) -> Option<Vec<Code>> {
    let mut part = || -> Option<Vec<u8>> {
        let (len, rest) = bytes.split_first_chunk()?;
        let (part, rest) = rest.split_at_checked(u64::from_le_bytes(*len).try_into().ok()?)?;
        bytes = rest;
        Some(part.to_vec())
    };
    let mut codes = Vec::new();
    while let Some(ptx) = part() {
        let cubin = Some(part()?).filter(|cubin| !cubin.is_empty());
        codes.push(Code { ptx, cubin });
    }
    bytes.is_empty().then_some(codes)
}

/// Stores the code. If that fails, the next session compiles again.
fn write(path: &Path, codes: &[Code]) {
    let unfinished = path.with_extension(format!("nvvm-code.{}", std::process::id()));
    if fs::write(&unfinished, encode(codes)).is_err() || fs::rename(&unfinished, path).is_err() {
        let _ = fs::remove_file(&unfinished);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_hold_what_was_stored() {
        let code = |ptx: &str, cubin: Option<&str>| Code {
            ptx: ptx.into(),
            cubin: cubin.map(Into::into),
        };
        let codes = [code("a", None), code("bb", Some("c")), code("", None)];
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.nvvm-code");
        write(&path, &codes);
        let again = decode(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(encode(&again), encode(&codes));
        assert_eq!(again.len(), 3);
        assert_eq!(again[1].cubin.as_deref(), Some(&b"c"[..]));
        let bytes = encode(&codes);
        assert_ne!(fingerprint(&bytes), fingerprint(&encode(&codes[..2])));
        for end in 1..bytes.len() {
            // A truncated file has another fingerprint.
            let same = fingerprint(&bytes[..end]) == fingerprint(&bytes);
            assert!(!same, "{end}");
        }
    }
}
