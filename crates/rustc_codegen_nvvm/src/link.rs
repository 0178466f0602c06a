//! temporary
use rustc_session::Session;
use rustc_codegen_ssa::{CompiledModule, CompiledModules, CrateInfo, ModuleKind};
use rustc_session::config::OutputFilenames;
use rustc_metadata::EncodedMetadata;
use rustc_structures::CrateType;
pub(crate) fn modules(_s: &Session, outputs: &OutputFilenames, info: &CrateInfo, _st: Option<Vec<u8>>, ptx: Option<Vec<u8>>) -> CompiledModules {
    let mut modules = vec![];
    if let Some(ptx) = ptx {
        let path = outputs.temp_path_for_cgu(rustc_session::config::OutputType::Object, "ptx");
        std::fs::write(&path, ptx).unwrap();
        modules.push(CompiledModule { name: info.local_crate_name.to_string(), kind: ModuleKind::Regular, object: Some(path), global_asm_object: None, dwarf_object: None, bytecode: None, assembly: None, llvm_ir: None });
    }
    CompiledModules { modules, allocator_module: None }
}
pub(crate) fn link(sess: &Session, mut m: CompiledModules, mut info: CrateInfo, metadata: EncodedMetadata, o: &OutputFilenames, name: &'static str) {
    let others: Vec<CrateType> = info.crate_types.iter().copied().filter(|t| *t != CrateType::Rlib).collect();
    for t in others {
        let out = rustc_session::output::out_filename(sess, t, o, info.local_crate_name);
        if let Some(p) = m.modules.first().and_then(|m| m.object.as_ref()) { std::fs::copy(p, out.as_path()).unwrap(); }
    }
    info.crate_types.retain(|t| *t == CrateType::Rlib);
    if info.crate_types.is_empty() { return }
    m.modules.clear();
    rustc_codegen_ssa::back::link::link_binary(sess, &rustc_codegen_ssa::back::archive::ArArchiveBuilderBuilder, m, info, metadata, o, name);
}
