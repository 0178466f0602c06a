//! Keeps libnvvm's PTX of a crate's last compilation in a file, and reuses it for the kernels that
//! did not change: neither they nor anything that they reach.
//!
//! If some kernels changed, only these are compiled, as a module of their own, and [`ptx::join`]
//! joins their PTX with that of the others.

use std::collections::HashSet;
use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nvvm_ir::{Const, Func, Global, Linkage, Module, Value, passes};
use rustc_data_structures::fingerprint::Fingerprint;
use rustc_data_structures::stable_hash::StableHasher;
use rustc_middle::ty::TyCtxt;

/// A hash of 128 bits, with which no collisions are expected.
type Hash = u128;

/// The cache file of a crate for an architecture, in the directory of its object files.
pub(crate) struct PtxCache {
    path: PathBuf,
}

/// The PTX of a module, and what it was compiled from.
pub(crate) struct Cached {
    pub ptx: String,
    pub key: Key,
    /// How many updates it consists of, after the compilation of a whole module.
    pub updates: usize,
}

/// After this number of updates, the whole module is compiled again: the PTX still has the debug
/// information of the kernels that the updates replaced.
pub(crate) const UPDATES: usize = 20;

/// What the PTX of a module depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The hash of what concerns all kernels.
    common: Hash,
    /// The symbols of the kernels, in their order, each with the hash of everything that its code
    /// depends on.
    kernels: Vec<(String, Hash)>,
}

impl Key {
    /// Returns the key of a module, compiled with `options` by the program in `files`.
    pub(crate) fn new(
        module: &Module,
        dependencies: &Dependencies,
        options: &[String],
        files: &[&Path],
    ) -> Key {
        let names = nvvm_ir::write::symbol_names(module);
        let name = |func: Func| {
            let data = module.func(func);
            names.get(&data.value).unwrap_or(&data.name).clone()
        };
        let kernels = dependencies.kernels.iter();
        Key {
            common: hash(
                [key(options, files)]
                    .into_iter()
                    .chain(hashes(&dependencies.rest)),
            ),
            kernels: kernels
                .map(|kernel| (name(kernel.kernel), hash(hashes(&kernel.symbols))))
                .collect(),
        }
    }

    /// Returns the key of a module whose kernels cannot be told apart.
    pub(crate) fn whole(&self) -> Key {
        let mut text = format!("{:032x}", self.common);
        for (name, hash) in &self.kernels {
            text.push_str(&format!(" {name} {hash:032x}"));
        }
        Key {
            common: hash_text(&text),
            kernels: Vec::new(),
        }
    }
}

/// A function or variable that a kernel depends on.
#[derive(Clone, Copy)]
pub(crate) struct Symbol {
    /// The hash of its text.
    pub hash: Hash,
    /// The length of its text.
    pub len: usize,
}

fn hashes(symbols: &[Symbol]) -> impl Iterator<Item = Hash> {
    symbols.iter().map(|symbol| symbol.hash)
}

pub(crate) type Dependencies = nvvm_ir::Dependencies<Symbol>;

/// Returns what each kernel depends on.
pub(crate) fn dependencies(module: &Module) -> Dependencies {
    nvvm_ir::dependencies(module, |text| {
        let mut hasher = StableHasher::new();
        for (index, part) in text.split(crate::asm::MARK).enumerate() {
            let part = match index {
                0 => part,
                // The numbers of inline assembly depend on other kernels.
                _ => part.trim_start_matches(|digit: char| digit.is_ascii_digit()),
            };
            hasher.write_usize(part.len());
            hasher.write(part.as_bytes());
        }
        Symbol {
            hash: finish(hasher),
            len: text.len(),
        }
    })
}

/// What to do to get from the PTX of an earlier module to that of another one.
pub(crate) struct Update {
    /// The kernels to remove from the PTX, by symbol.
    pub removed: HashSet<String>,
    /// The module of the kernels to compile, if there are any.
    pub changed: Option<Module>,
}

impl Update {
    /// Returns the update from an earlier module to `module`, whose key is `new`. Returns `None` if
    /// the whole module is to be compiled.
    pub(crate) fn new(
        old: &Cached,
        new: &Key,
        module: &Module,
        dependencies: &Dependencies,
    ) -> Option<Update> {
        let is_same = old.key.common == new.common && !old.key.kernels.is_empty();
        if !is_same || old.updates >= UPDATES {
            return None;
        }
        let unchanged: HashSet<&(String, Hash)> = old.key.kernels.iter().collect();
        let is_kept = |kernel: &(String, Hash)| unchanged.contains(kernel);
        let (kept, changed): (Vec<_>, Vec<_>) =
            (new.kernels.iter().zip(&dependencies.kernels)).partition(|&(name, _)| is_kept(name));
        // Then the whole module is hardly slower, and its code does not depend on earlier builds.
        if changed.len() > kept.len() {
            return None;
        }
        // libnvvm and LLVM assume that they see all uses of an internal variable.
        let variables_of = |kernels: &[(_, &nvvm_ir::KernelDependencies<Symbol>)]| {
            let variables = kernels.iter().flat_map(|(_, kernel)| &kernel.variables);
            variables.copied().collect::<HashSet<_>>()
        };
        if !variables_of(&kept).is_disjoint(&variables_of(&changed)) {
            return None;
        }
        let kept_names: HashSet<&String> = kept.iter().map(|((name, _), _)| name).collect();
        let removed = old.key.kernels.iter().map(|(name, _)| name);
        Some(Update {
            removed: removed
                .filter(|name| !kept_names.contains(name))
                .cloned()
                .collect(),
            changed: (!changed.is_empty()).then(|| {
                let kept = kept.iter().map(|(_, kernel)| kernel.kernel);
                part_of(module, kept, old.updates + 1)
            }),
        })
    }
}

/// Returns the PTX of a module: that of an earlier one without the kernels `removed`, and that of
/// the kernels that changed.
pub(crate) fn join(
    old: &str,
    removed: &HashSet<String>,
    changed: Option<&str>,
    module: &Module,
) -> Result<String, ptx::Error> {
    let visible = visible_symbols(module);
    let keep: Vec<&str> = visible.iter().map(String::as_str).collect();
    let kept = ptx::without_kernels(old, |kernel| removed.contains(kernel), &keep)?;
    match changed {
        Some(changed) => ptx::join(&format!("{kept}\n{changed}"), &visible, ""),
        None => Ok(kept),
    }
}

/// Returns the module without some of its kernels, and without what only these reach. Everything but
/// kernels and exported variables becomes internal: the PTX of the other kernels may define it, too.
/// Variables get the number in their names, so that none of them is taken for a variable of the other
/// kernels: that of the update, or that of the part, which follow the numbers of updates.
pub(crate) fn part_of(
    module: &Module,
    without: impl Iterator<Item = Func>,
    number: usize,
) -> Module {
    let mut part = module.clone();
    without.for_each(|kernel| part.remove_func(kernel));
    let funcs: Vec<Func> = part.funcs().collect();
    for func in funcs {
        let data = part.func_mut(func);
        if data.kernel.is_none() && !data.blocks.is_empty() {
            data.linkage = Linkage::Internal;
        }
    }
    passes::dead_functions(&mut part);
    passes::dead_globals(&mut part);
    let globals: Vec<Global> = part.globals().collect();
    for global in globals {
        let data = part.global(global);
        let name = format!("{}_{number}", data.name);
        // `ptx::join` recognizes equal constants by their initializers.
        let is_recognized = data.constant && data.init.is_some_and(|it| is_nonzero(module, it));
        let is_internal = data.linkage == Linkage::Internal && !is_recognized;
        if is_internal && part.named(&name).is_none() {
            part.rename(data.value, &name);
        }
    }
    part
}

/// Returns whether an initializer has bits that are not zero, so that PTX has it.
fn is_nonzero(module: &Module, value: Value) -> bool {
    match module.as_const(value) {
        Some(Const::Int(bits) | Const::Float(bits)) => *bits != 0,
        Some(Const::Aggregate(elements)) => elements.iter().any(|&it| is_nonzero(module, it)),
        Some(Const::Bytes(bytes)) => bytes.iter().any(|&byte| byte != 0),
        Some(Const::Addr { .. } | Const::PtrToInt(_)) => true,
        _ => false,
    }
}

/// Returns the symbols of a module that are not internal, as libnvvm prints them.
pub(crate) fn visible_symbols(module: &Module) -> HashSet<String> {
    let renamed = nvvm_ir::write::symbol_names(module);
    let name = |value, name: &'_ str| renamed.get(&value).map_or(name, String::as_str).to_owned();
    let funcs = module.funcs().map(|func| module.func(func));
    let globals = module.globals().map(|global| module.global(global));
    (funcs.map(|data| (data.linkage, data.value, &data.name)))
        .chain(globals.map(|data| (data.linkage, data.value, &data.name)))
        .filter(|&(linkage, ..)| linkage != Linkage::Internal)
        .map(|(_, value, own)| name(value, own))
        .collect()
}

impl PtxCache {
    pub(crate) fn new(tcx: TyCtxt<'_>, arch: nvvm::Arch) -> Self {
        let extension = format!("{}.nvvm-cache", arch.sm());
        PtxCache {
            path: tcx.output_filenames(()).with_extension(&extension),
        }
    }

    /// Returns what the file holds, if it is complete.
    pub(crate) fn load(&self) -> Option<Cached> {
        let mut ptx = fs::read_to_string(&self.path).ok()?;
        let (rest, last) = ptx.strip_suffix('\n')?.rsplit_once('\n')?;
        let mut numbers = last.split(' ');
        let mut number = || numbers.next()?.parse::<usize>().ok();
        let (updates, count) = (number()?, number()?);
        let common = from_hex(numbers.next()?)?;
        let mut rest = rest;
        let mut kernels = Vec::new();
        for _ in 0..count {
            let (before, line) = rest.rsplit_once('\n')?;
            let (hash, name) = line.split_once(' ')?;
            kernels.push((name.to_owned(), from_hex(hash)?));
            rest = before;
        }
        kernels.reverse();
        let len = rest.len();
        ptx.truncate(len);
        Some(Cached {
            ptx,
            key: Key { common, kernels },
            updates,
        })
    }

    /// Stores the PTX. If that fails, the next compilation runs libnvvm again.
    pub(crate) fn store(&self, key: &Key, updates: usize, ptx: &str) {
        let name = format!("nvvm-cache.{}", std::process::id());
        let unfinished = self.path.with_extension(name);
        // ptxas has checked the inline assembly, whose numbers are those of this compilation.
        let marked = |line: &&str| line.trim_start().starts_with(crate::asm::MARK);
        let mut text: String = ptx
            .split_inclusive('\n')
            .filter(|line| !marked(line))
            .collect();
        text.push('\n');
        for (name, hash) in &key.kernels {
            text.push_str(&format!("{hash:032x} {name}\n"));
        }
        let (count, common) = (key.kernels.len(), key.common);
        text.push_str(&format!("{updates} {count} {common:032x}\n"));
        if fs::write(&unfinished, text).is_err() || fs::rename(&unfinished, &self.path).is_err() {
            let _ = fs::remove_file(&unfinished);
        }
    }
}

fn from_hex(text: &str) -> Option<Hash> {
    Hash::from_str_radix(text, 16).ok()
}

/// Returns the hash of options, and of the paths, sizes and times of files.
pub(crate) fn key(options: &[String], files: &[&Path]) -> Hash {
    let mut hasher = StableHasher::new();
    let mut add = |text: &str| {
        hasher.write_usize(text.len());
        hasher.write(text.as_bytes());
    };
    options.iter().for_each(|option| add(option));
    for path in files {
        add(&path.to_string_lossy());
        let metadata = fs::metadata(path);
        let modified = metadata.and_then(|data| Ok((data.len(), data.modified()?)));
        let modified = modified.map(|(len, at)| (len, at.duration_since(SystemTime::UNIX_EPOCH)));
        add(&format!("{modified:?}"));
    }
    finish(hasher)
}

fn hash(parts: impl IntoIterator<Item = Hash>) -> Hash {
    let mut hasher = StableHasher::new();
    for part in parts {
        hasher.write(&part.to_le_bytes());
    }
    finish(hasher)
}

fn hash_text(text: &str) -> Hash {
    let mut hasher = StableHasher::new();
    hasher.write(text.as_bytes());
    finish(hasher)
}

fn finish(hasher: StableHasher) -> Hash {
    let hash: Fingerprint = hasher.finish();
    Hash::from_le_bytes(hash.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(common: Hash, kernels: &[(&str, Hash)]) -> Key {
        let kernels = kernels.iter().map(|&(name, hash)| (name.to_owned(), hash));
        Key {
            common,
            kernels: kernels.collect(),
        }
    }

    #[test]
    fn a_file_holds_the_last_ptx() {
        let directory = tempfile::tempdir().unwrap();
        let cache = PtxCache {
            path: directory.path().join("k.nvvm-cache"),
        };
        assert!(cache.load().is_none());
        let keys = [key_of(1, &[("a", 2), ("b", Hash::MAX)]), key_of(3, &[])];
        for key in keys {
            cache.store(&key, 4, "ptx\n\t// asm! number 3\n\tmov;\n");
            let cached = cache.load().unwrap();
            assert_eq!(cached.ptx, "ptx\n\tmov;\n");
            assert_eq!((cached.key, cached.updates), (key, 4));
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        // A file that is not complete is not used.
        let text = fs::read_to_string(&cache.path).unwrap();
        fs::write(&cache.path, &text[..text.len() - 1]).unwrap();
        assert!(cache.load().is_none());
        fs::write(&cache.path, "").unwrap();
        assert!(cache.load().is_none());
    }

    #[test]
    fn a_changed_file_changes_the_key() {
        let directory = tempfile::tempdir().unwrap();
        let library = directory.path().join("libnvvm.so");
        fs::write(&library, "1").unwrap();
        let first = key(&[], &[&library]);
        assert_ne!(first, key(&[], &[]));
        assert_ne!(first, key(&["-opt=3".to_owned()], &[&library]));
        fs::write(&library, "12").unwrap();
        assert_ne!(first, key(&[], &[&library]));
    }
}
