//! Names in the text: symbols that libnvvm accepts, and unique names for values and blocks.

use std::collections::{HashMap, HashSet};

use super::{NAMED, NONE, Writer};
use crate::module::Module;
use crate::types::TypeKind;
use crate::value::{Block, Func, Value, ValueKind};

/// Returns whether libnvvm and PTX accept a symbol unchanged: letters, digits and `_`, not starting
/// with a digit.
pub(crate) fn is_valid_symbol(name: &str) -> bool {
    name.len() > 1 && is_identifier(name)
        || name.len() == 1 && name.as_bytes()[0].is_ascii_alphabetic()
}

fn is_identifier(name: &str) -> bool {
    !name.as_bytes()[0].is_ascii_digit()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns the symbols that the writer renames, with their new names. libnvvm and PTX accept only
/// letters, digits and underscores: each other byte becomes `_xHH`, and a number is appended if the
/// name is taken. Declared intrinsics (`llvm.…`) keep their names.
pub fn symbol_names(module: &Module) -> HashMap<Value, String> {
    let funcs = module.funcs().map(|f| module.func(f)).map(|f| {
        let intrinsic = f.blocks.is_empty() && f.name.starts_with("llvm.");
        (f.value, f.name.as_str(), intrinsic)
    });
    let globals = module.globals().map(|g| module.global(g));
    let symbols = globals
        .map(|g| (g.value, g.name.as_str(), false))
        .chain(funcs);
    let bad: Vec<(Value, &str)> = symbols
        .filter(|&(_, name, intrinsic)| !intrinsic && !is_valid_symbol(name))
        .map(|(value, name, _)| (value, name))
        .collect();
    let mut renamed = HashMap::new();
    let mut taken: HashSet<String> = HashSet::new();
    for (value, name) in bad {
        let mut base = String::with_capacity(name.len() + 8);
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || byte == b'_' {
                base.push(byte as char);
            } else {
                base.push_str(&format!("_x{byte:02X}"));
            }
        }
        if !is_valid_symbol(&base) {
            base.insert_str(0, "_x_");
        }
        let mut candidate = base.clone();
        let mut count = 1;
        while module.named(&candidate).is_some() || taken.contains(&candidate) {
            candidate = format!("{base}_{count}");
            count += 1;
        }
        taken.insert(candidate.clone());
        renamed.insert(value, candidate);
    }
    renamed
}

impl Writer<'_> {
    /// Prints `@name`.
    pub(super) fn symbol(&mut self, value: Value) {
        let m = self.m;
        self.out.push('@');
        if let Some(name) = self.renamed.get(&value) {
            self.out.push_str(name);
            return;
        }
        match m.value(value).kind {
            ValueKind::Func(func) => self.s(&m.func(func).name),
            ValueKind::Global(global) => self.s(&m.global(global).name),
            _ => unreachable!("a symbol is a global or a function"),
        }
    }

    /// Assigns a name or number to each parameter, block and result of a function.
    pub(super) fn number_locals(&mut self, func: Func) {
        let m = self.m;
        let data = m.func(func);
        self.names.clear();
        self.temps = 0;
        let mut taken: HashMap<String, u32> = HashMap::new();
        let mut next = 0u32;
        for (i, &block) in data.blocks.iter().enumerate() {
            let name = &m.block(block).name;
            let name = if name.is_empty() {
                format!("bb{i}")
            } else {
                clean(name)
            };
            let name = unique(&mut taken, name);
            self.labels[block.0 as usize] = self.names.len() as u32;
            self.names.push(name);
        }
        // LLVM requires numbers in the order of the text. In LLVM 7, by-value parameters are
        // numbered at their casts in the entry block.
        let late =
            |i: usize| self.dialect == super::Dialect::Llvm7 && data.param_attrs[i].byval.is_some();
        let (late, early): (Vec<usize>, Vec<usize>) =
            (0..data.params.len()).partition(|&i| late(i));
        for i in early.into_iter().chain(late) {
            self.number(data.params[i], &mut taken, &mut next);
        }
        for &block in &data.blocks {
            for &inst in &m.block(block).insts {
                if !matches!(m.types.kind(m.ty(inst)), TypeKind::Void) {
                    self.number(inst, &mut taken, &mut next);
                }
            }
        }
    }

    fn number(&mut self, value: Value, taken: &mut HashMap<String, u32>, next: &mut u32) {
        self.locals[value.index()] = match &self.m.value(value).name {
            Some(name) if !name.is_empty() => {
                let name = unique(taken, clean(name));
                self.names.push(name);
                (self.names.len() as u32 - 1) | NAMED
            }
            _ => {
                *next += 1;
                *next - 1
            }
        };
    }

    /// Prints `%name` or `%N`.
    pub(super) fn local(&mut self, value: Value) {
        self.out.push('%');
        match self.locals[value.index()] {
            // Only in messages about invalid IR.
            NONE => {
                self.s("<v");
                self.num(value.0);
                self.s(">");
            }
            id if id & NAMED != 0 => self.out.push_str(&self.names[(id & !NAMED) as usize]),
            id => self.num(id),
        }
    }

    /// Prints a block's label.
    pub(super) fn label(&mut self, block: Block) {
        match self.labels[block.0 as usize] {
            NONE => {
                self.s("<block");
                self.num(block.0);
                self.s(">");
            }
            id => match self.names.get(id as usize) {
                Some(name) => self.out.push_str(name),
                None => self.s("<block of another function>"),
            },
        }
    }

    pub(super) fn block_operand(&mut self, block: Block) {
        self.s("label %");
        self.label(block);
    }

    /// Returns the number of a new `%.N`.
    pub(super) fn temp(&mut self) -> u32 {
        self.temps += 1;
        self.temps - 1
    }

    pub(super) fn temp_name(&mut self, temp: u32) {
        self.s("%.");
        self.num(temp);
    }
}

/// Returns a local name with only characters that need no quotes, and different from numbers and
/// temporaries.
fn clean(name: &str) -> String {
    let ok = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'$');
    let mut out = String::with_capacity(name.len() + 1);
    if matches!(name.as_bytes()[0], b'0'..=b'9' | b'.') {
        out.push('_');
    }
    out.extend(name.bytes().map(|b| if ok(b) { b as char } else { '_' }));
    out
}

fn unique(taken: &mut HashMap<String, u32>, name: String) -> String {
    let Some(count) = taken.get_mut(&name) else {
        taken.insert(name.clone(), 0);
        return name;
    };
    let mut n = *count;
    let candidate = loop {
        n += 1;
        let candidate = format!("{name}.{n}");
        if !taken.contains_key(&candidate) {
            break candidate;
        }
    };
    taken.insert(name, n);
    taken.insert(candidate.clone(), 0);
    candidate
}
