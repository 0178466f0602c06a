//! The dead-function pass: keeps kernels and everything reachable from them, and removes other
//! functions, variables and declarations. libnvvm keeps every function of a module in its output,
//! and load time and the emulator's decoding time grow with the output.

use crate::hash::{HashMap, HashSet};

use crate::condition::Launches;
use crate::number_panics::TABLE;
use crate::stack::RECORD_PREFIX;
use crate::{
    Base, Function, Init, Integer, Item, Module, Operand, SectionLine, SectionValue, Statement,
    Variable,
};

/// The number of items that [`remove_dead`] removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Functions with a body.
    pub functions: usize,
    /// Variables.
    pub variables: usize,
    /// Declarations, including forward declarations of removed functions.
    pub declarations: usize,
}

/// Removes the items that are reachable neither from a kernel nor from one of the symbols `keep`.
/// An item is reachable if a reachable function calls it or takes its address, or if a reachable
/// variable's initializer contains its address. A name in a reachable function counts as a
/// reference even if a local name shadows it.
///
/// DWARF that describes removed code stays well-formed: its references become 0, which is how
/// linkers mark discarded code, or 1 in the lists in which a pair of zeros is the end marker.
pub fn remove_dead(module: &mut Module<'_>, keep: &[&str]) -> Removed {
    let live = reachable(module, keep);
    let mut removed = Removed::default();
    let mut dropped_labels = HashSet::default();
    module.items.retain(|item| match item {
        Item::Function(function) if !live.contains(function.name) => {
            match &function.body {
                Some(body) => {
                    removed.functions += 1;
                    collect_labels(body, &mut dropped_labels);
                }
                None => removed.declarations += 1,
            }
            dropped_labels.insert(function.name);
            false
        }
        Item::Variable(variable) if !live.contains(variable.name) => {
            match variable.linkage {
                crate::Linkage::Extern => removed.declarations += 1,
                _ => removed.variables += 1,
            }
            dropped_labels.insert(variable.name);
            false
        }
        Item::Alias { name, .. } => live.contains(name),
        _ => true,
    });
    // A local name in removed code may also be the name of a live item.
    dropped_labels.retain(|name| !live.contains(name));
    if !dropped_labels.is_empty() {
        for item in &mut module.items {
            if let Item::Section(section) = item {
                let mark = u64::from(matches!(section.name, ".debug_loc" | ".debug_ranges"));
                mark_removed(&mut section.lines, &dropped_labels, mark);
            }
        }
    }
    removed
}

/// Keeps the kernels that `keep` accepts, and everything reachable from them. This splits a module
/// that is too large for ptxas.
///
/// ```
/// let text = ".version 8.0\n.target sm_90\n.address_size 64\n
///     .func helper() { ret; }
///     .visible .entry first() { call helper; ret; }
///     .visible .entry second() { ret; }";
/// let mut module = ptx::Module::parse(text)?;
/// ptx::keep_entries(&mut module, |kernel| kernel == "second");
/// let text = module.to_string();
/// assert!(text.contains(".entry second") && !text.contains("first") && !text.contains("helper"));
/// # Ok::<(), ptx::Error>(())
/// ```
pub fn keep_entries(module: &mut Module<'_>, keep: impl Fn(&str) -> bool) -> Removed {
    let wanted = |function: &Function| !function.entry || keep(function.name);
    module
        .items
        .retain(|item| !matches!(item, Item::Function(function) if !wanted(function)));
    remove_dead(module, &[])
}

/// Returns PTX without some of its kernels, and without what neither another kernel nor one of the
/// symbols `keep` reaches.
///
/// ```
/// let text = ".version 8.0\n.target sm_90\n.address_size 64\n
///     .func helper() { ret; }
///     .visible .entry first() { call helper; ret; }
///     .visible .entry second() { ret; }";
/// let text = ptx::without_kernels(text, |kernel| kernel == "first", &[])?;
/// assert!(text.contains(".entry second") && !text.contains("first") && !text.contains("helper"));
/// # Ok::<(), ptx::Error>(())
/// ```
///
/// # Errors
///
/// Returns an error if `text` is not valid PTX.
pub fn without_kernels(
    text: &str,
    is_removed: impl Fn(&str) -> bool,
    keep: &[&str],
) -> Result<String, crate::Error> {
    let mut module = Module::parse(text)?;
    let is_removed =
        |item: &Item| matches!(item, Item::Function(func) if func.entry && is_removed(func.name));
    module.items.retain(|item| !is_removed(item));
    remove_dead(&mut module, keep);
    Ok(module.to_string())
}

/// Returns the names of the reachable items.
fn reachable<'a>(module: &Module<'a>, keep: &[&str]) -> HashSet<&'a str> {
    // A name may have several items: a forward declaration and a definition.
    let mut items: HashMap<&str, Vec<&Item>> = HashMap::default();
    let mut pending = Vec::new();
    for item in &module.items {
        let name = match item {
            Item::Function(function) => function.name,
            Item::Variable(variable) => variable.name,
            Item::Alias { name, .. } => name,
            _ => continue,
        };
        if matches!(item, Item::Function(function) if function.entry)
            || keep.contains(&name)
            || name == TABLE
        {
            pending.push(name);
        }
        items.entry(name).or_default().push(item);
    }
    // No code refers to the variables that describe kernels to the host.
    for kernel in pending.clone() {
        let conditions = Launches::ALL.map(Launches::condition_prefix);
        for prefix in [RECORD_PREFIX].into_iter().chain(conditions) {
            let described = items.get_key_value(&*format!("{prefix}{kernel}"));
            pending.extend(described.map(|(name, _)| *name));
        }
    }
    let mut live = HashSet::default();
    while let Some(name) = pending.pop() {
        if !live.insert(name) {
            continue;
        }
        let mut visit = |name: &'a str| {
            if !name.starts_with('%') && items.contains_key(name) && !live.contains(name) {
                pending.push(name);
            }
        };
        for item in items.get(name).into_iter().flatten() {
            match item {
                Item::Function(function) => visit_function(function, &mut visit),
                Item::Variable(variable) => visit_variable(variable, &mut visit),
                Item::Alias { target, .. } => visit(target),
                _ => {}
            }
        }
    }
    live
}

pub(crate) fn visit_function<'a>(function: &Function<'a>, visit: &mut impl FnMut(&'a str)) {
    for statement in function.body.iter().flatten() {
        visit_statement(statement, visit);
    }
}

fn visit_statement<'a>(statement: &Statement<'a>, visit: &mut impl FnMut(&'a str)) {
    match statement {
        Statement::Instruction(instruction) => {
            for operand in &instruction.operands {
                visit_operand(operand, visit);
            }
        }
        Statement::Block(statements) => statements
            .iter()
            .for_each(|statement| visit_statement(statement, visit)),
        Statement::Variable(variable) => visit_variable(variable, visit),
        Statement::CallTargets { targets, .. } => targets.iter().copied().for_each(visit),
        _ => {}
    }
}

/// Calls `visit` with each name in an operand.
pub(crate) fn visit_operand<'a>(operand: &Operand<'a>, visit: &mut impl FnMut(&'a str)) {
    match operand {
        Operand::Name(name)
        | Operand::Part(name, _)
        | Operand::NameOffset(name, _)
        | Operand::Address(Base::Name(name), _) => visit(name),
        Operand::Compound(parts) | Operand::Vector(parts) | Operand::List(parts) => {
            parts.iter().for_each(|part| visit_operand(part, visit));
        }
        Operand::Pair(pair) => {
            visit_operand(&pair.0, visit);
            visit_operand(&pair.1, visit);
        }
        Operand::Not(inner) => visit_operand(inner, visit),
        Operand::Integer(_)
        | Operand::F32(_)
        | Operand::F64(_)
        | Operand::Address(Base::Absolute, _) => {}
    }
}

pub(crate) fn visit_variable<'a>(variable: &Variable<'a>, visit: &mut impl FnMut(&'a str)) {
    if let Some(init) = &variable.init {
        visit_init(init, visit);
    }
}

pub(crate) fn visit_init<'a>(init: &Init<'a>, visit: &mut impl FnMut(&'a str)) {
    match init {
        Init::Symbol(symbol) => visit(symbol.name),
        Init::List(values) => values.iter().for_each(|value| visit_init(value, visit)),
        Init::Integer(_) | Init::F32(_) | Init::F64(_) => {}
    }
}

/// Collects the labels and variable names of a removed body: DWARF may refer to both.
fn collect_labels<'a>(statements: &[Statement<'a>], labels: &mut HashSet<&'a str>) {
    for statement in statements {
        match statement {
            Statement::Label(label) => {
                labels.insert(label);
            }
            Statement::Variable(variable) => {
                labels.insert(variable.name);
            }
            Statement::Block(inner) => collect_labels(inner, labels),
            _ => {}
        }
    }
}

/// Replaces references to removed code with `mark`.
fn mark_removed(lines: &mut [SectionLine<'_>], dropped: &HashSet<&str>, mark: u64) {
    for line in lines {
        let SectionLine::Data(_, values) = line else {
            continue;
        };
        for value in values {
            let gone = match value {
                SectionValue::Symbol(name, _) => dropped.contains(name),
                SectionValue::Difference(left, right) => {
                    dropped.contains(left) || dropped.contains(right)
                }
                SectionValue::Integer(_) => false,
            };
            if gone {
                *value = SectionValue::Integer(Integer::unsigned(mark));
            }
        }
    }
}
