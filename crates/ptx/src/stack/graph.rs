//! The call graph of a module, with the possible targets of each indirect call.
//!
//! A function pointer is traced through the registers of a function: it is the address of a
//! function, a load from a variable, or a load from an unknown address. In the last case the call
//! may reach every function with the same signature whose address is stored anywhere, and the
//! functions of vtables at the offset of the load.

use crate::hash::{HashMap, HashSet};
use std::collections::BTreeSet;

use crate::dead::visit_operand;
use crate::{
    Base, Function, Init, Instruction, Item, Module, Operand, Prototype, Statement, Variable,
};

/// The sizes of the results and of the parameters.
type Signature = (Vec<Option<u64>>, Vec<Option<u64>>);

/// The functions of a module and the calls between them.
pub(super) struct Graph<'m, 'a> {
    /// Functions and kernels with a body.
    pub functions: Vec<&'m Function<'a>>,
    /// The functions that each function may call, by index in `functions`.
    pub calls: Vec<BTreeSet<usize>>,
    /// The functions that each calls by name, or through a pointer that it created itself.
    pub direct: Vec<BTreeSet<usize>>,
    /// Whether each calls through a pointer, so that ptxas cannot bound its stack.
    pub indirect: Vec<bool>,
}

/// The possible sources of a register's value.
#[derive(Clone, Default, PartialEq)]
struct Origin {
    /// Addresses of functions.
    functions: BTreeSet<usize>,
    /// Addresses within variables that contain addresses of functions.
    variables: BTreeSet<usize>,
    /// Loads from unknown addresses, by the instruction's offset.
    slots: BTreeSet<i64>,
}

impl Origin {
    fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.variables.is_empty() && self.slots.is_empty()
    }

    fn add(&mut self, other: &Origin) -> bool {
        let before = self.clone();
        self.functions.extend(&other.functions);
        self.variables.extend(&other.variables);
        self.slots.extend(&other.slots);
        *self != before
    }
}

/// A variable that contains addresses of functions, or of other such variables.
struct Table<'m, 'a> {
    variable: &'m Variable<'a>,
    /// The functions, by offset in bytes.
    functions: Vec<(u64, usize)>,
    /// The other tables.
    tables: Vec<usize>,
    /// Whether its address is used other than by loads that the analysis follows.
    escapes: bool,
}

/// A call through a pointer.
struct IndirectCall<'a> {
    caller: usize,
    signature: Option<Signature>,
    /// `.calltargets`.
    targets: Option<Vec<&'a str>>,
    origin: Origin,
}

impl<'m, 'a> Graph<'m, 'a> {
    pub fn new(module: &'m Module<'a>) -> Graph<'m, 'a> {
        let mut functions = Vec::new();
        let mut names: HashMap<&str, usize> = HashMap::default();
        for item in &module.items {
            if let Item::Function(function) = item
                && function.body.is_some()
            {
                names.insert(function.name, functions.len());
                functions.push(function);
            }
        }
        for item in &module.items {
            if let Item::Alias { name, target } = item
                && let Some(&index) = names.get(target)
            {
                names.insert(name, index);
            }
        }
        let mut tables = tables(module, &names);
        let table_names: HashMap<&str, usize> = (tables.iter().enumerate())
            .map(|(index, table)| (table.variable.name, index))
            .collect();

        let mut calls = vec![BTreeSet::new(); functions.len()];
        let mut indirect_calls = Vec::new();
        // Functions whose addresses are stored or passed.
        let mut loose = BTreeSet::new();
        for (caller, function) in functions.iter().enumerate() {
            let mut walk = Walk {
                names: &names,
                tables: &tables,
                table_names: &table_names,
                origins: HashMap::default(),
            };
            let mut instructions = Vec::new();
            flatten(
                function.body.as_deref().unwrap_or_default(),
                &mut instructions,
            );
            walk.follow(&instructions);
            let mut escaped = Origin::default();
            let mut prototypes: HashMap<&str, &Prototype<'a>> = HashMap::default();
            let mut targets: HashMap<&str, &[&'a str]> = HashMap::default();
            for step in &instructions {
                match *step {
                    Step::Prototype(prototype) => {
                        prototypes.insert(prototype.label, prototype);
                    }
                    Step::Targets(label, list) => {
                        targets.insert(label, list);
                    }
                    Step::Instruction(instruction) => {
                        walk.escape(instruction, &mut escaped);
                        let Some((callee, label)) = callee(instruction) else {
                            continue;
                        };
                        match names.get(callee) {
                            Some(&index) if !callee.starts_with('%') => {
                                calls[caller].insert(index);
                            }
                            // A function that is not in the module.
                            _ if !callee.starts_with('%') => {}
                            _ => indirect_calls.push(IndirectCall {
                                caller,
                                signature: label.and_then(|label| prototypes.get(label)).map(
                                    |prototype| signature(&prototype.returns, &prototype.params),
                                ),
                                targets: label
                                    .and_then(|label| targets.get(label))
                                    .map(|list| list.to_vec()),
                                origin: walk.origins.get(callee).cloned().unwrap_or_default(),
                            }),
                        }
                    }
                }
            }
            loose.extend(escaped.functions);
            for table in escaped.variables {
                tables[table].escapes = true;
            }
        }
        spread_escapes(&mut tables);
        let mut in_vtables: Vec<(u64, usize)> = Vec::new();
        for table in tables.iter().filter(|table| table.escapes) {
            if is_vtable(table.variable) {
                in_vtables.extend(&table.functions);
            } else {
                loose.extend(table.functions.iter().map(|&(_, function)| function));
            }
        }

        let mut direct = calls.clone();
        let mut indirect = vec![false; functions.len()];
        for call in indirect_calls {
            indirect[call.caller] = true;
            if let Some(targets) = call.targets {
                calls[call.caller].extend(targets.iter().filter_map(|name| names.get(name)));
                continue;
            }
            let mut reached = call.origin.functions.clone();
            if call.origin.slots.is_empty() {
                direct[call.caller].extend(&reached);
            }
            if !call.origin.slots.is_empty() || reached.is_empty() {
                let known = !call.origin.slots.is_empty();
                let at_slot = |offset: u64| !known || call.origin.slots.contains(&(offset as i64));
                let in_vtables = in_vtables.iter().filter(|(offset, _)| at_slot(*offset));
                let candidates = loose.iter().copied().chain(in_vtables.map(|&(_, f)| f));
                reached.extend(candidates.filter(|&index| {
                    let function = functions[index];
                    (call.signature.as_ref()).is_none_or(|wanted| *wanted == signature_of(function))
                }));
            }
            calls[call.caller].extend(reached);
        }
        Graph {
            functions,
            calls,
            direct,
            indirect,
        }
    }
}

/// An element of a function's body, in order.
#[derive(Clone, Copy)]
enum Step<'m, 'a> {
    Instruction(&'m Instruction<'a>),
    Prototype(&'m Prototype<'a>),
    Targets(&'a str, &'m [&'a str]),
}

fn flatten<'m, 'a>(body: &'m [Statement<'a>], into: &mut Vec<Step<'m, 'a>>) {
    for statement in body {
        match statement {
            Statement::Block(inner) => flatten(inner, into),
            Statement::Instruction(instruction) => into.push(Step::Instruction(instruction)),
            Statement::CallPrototype(prototype) => into.push(Step::Prototype(prototype)),
            Statement::CallTargets { label, targets } => into.push(Step::Targets(label, targets)),
            _ => {}
        }
    }
}

/// Returns the callee of a `call`, and the label after its arguments.
fn callee<'a>(instruction: &Instruction<'a>) -> Option<(&'a str, Option<&'a str>)> {
    if instruction.opcode != "call" {
        return None;
    }
    let operands = match &instruction.operands[..] {
        [Operand::List(_), rest @ ..] => rest,
        all => all,
    };
    let [Operand::Name(callee), rest @ ..] = operands else {
        return None;
    };
    let label = match rest {
        [.., Operand::Name(label)] => Some(*label),
        _ => None,
    };
    Some((callee, label))
}

fn signature(returns: &[Variable<'_>], params: &[Variable<'_>]) -> Signature {
    let sizes = |list: &[Variable<'_>]| list.iter().map(Variable::size).collect();
    (sizes(returns), sizes(params))
}

fn signature_of(function: &Function<'_>) -> Signature {
    signature(&function.returns, &function.params)
}

/// Returns the variables that contain addresses of functions.
fn tables<'m, 'a>(module: &'m Module<'a>, names: &HashMap<&str, usize>) -> Vec<Table<'m, 'a>> {
    let variables = module.items.iter().filter_map(|item| match item {
        Item::Variable(variable) if variable.init.is_some() => Some(variable),
        _ => None,
    });
    let mut mentioned: Vec<(&'m Variable<'a>, Vec<(u64, &str)>)> = variables
        .map(|variable| (variable, symbols(variable)))
        .filter(|(_, symbols)| !symbols.is_empty())
        .collect();
    // Variables that lead to no function are omitted.
    let mut wanted: HashSet<&str> = HashSet::default();
    loop {
        let before = wanted.len();
        for (variable, symbols) in &mentioned {
            let leads = |(_, name): &(u64, &str)| names.contains_key(name) || wanted.contains(name);
            if symbols.iter().any(leads) {
                wanted.insert(variable.name);
            }
        }
        if wanted.len() == before {
            break;
        }
    }
    mentioned.retain(|(variable, _)| wanted.contains(variable.name));
    let indices: HashMap<&str, usize> = (mentioned.iter().enumerate())
        .map(|(index, (variable, _))| (variable.name, index))
        .collect();
    let table = |(variable, symbols): &(&'m Variable<'a>, Vec<(u64, &str)>)| Table {
        variable,
        functions: (symbols.iter())
            .filter_map(|&(offset, name)| Some((offset, *names.get(name)?)))
            .collect(),
        tables: symbols
            .iter()
            .filter_map(|(_, name)| indices.get(name).copied())
            .collect(),
        escapes: false,
    };
    mentioned.iter().map(table).collect()
}

/// Returns the symbols whose addresses an initializer contains, with their offsets in bytes.
fn symbols<'a>(variable: &Variable<'a>) -> Vec<(u64, &'a str)> {
    fn visit<'a>(init: &Init<'a>, width: u64, offset: &mut u64, into: &mut Vec<(u64, &'a str)>) {
        match init {
            Init::List(values) => {
                for value in values {
                    visit(value, width, offset, into);
                }
                return;
            }
            Init::Symbol(symbol) => {
                // A byte of an address: the address begins that many bytes before.
                let within = symbol
                    .mask
                    .map_or(0, |mask| u64::from(mask.trailing_zeros() / 8));
                let entry = (offset.saturating_sub(within), symbol.name);
                if !into.contains(&entry) {
                    into.push(entry);
                }
            }
            _ => {}
        }
        *offset += width;
    }
    let mut found = Vec::new();
    if let Some(init) = &variable.init {
        visit(init, variable.ty.bytes().into(), &mut 0, &mut found);
    }
    found
}

/// Returns whether a variable looks like a Rust vtable: the drop function or null, the size and the
/// alignment, then functions.
fn is_vtable(variable: &Variable<'_>) -> bool {
    let (Some(Init::List(values)), 8) = (&variable.init, variable.ty.bytes()) else {
        return false;
    };
    let [drop, Init::Integer(_), Init::Integer(align), ..] = &values[..] else {
        return false;
    };
    let drops = match drop {
        Init::Symbol(_) => true,
        Init::Integer(zero) => zero.bits == 0,
        _ => false,
    };
    drops && align.bits.is_power_of_two()
}

fn spread_escapes(tables: &mut [Table<'_, '_>]) {
    let mut pending: Vec<usize> = (0..tables.len())
        .filter(|&index| tables[index].escapes)
        .collect();
    while let Some(index) = pending.pop() {
        for inner in tables[index].tables.clone() {
            if !std::mem::replace(&mut tables[inner].escapes, true) {
                pending.push(inner);
            }
        }
    }
}

/// Traces addresses through a function's registers.
struct Walk<'w, 'm, 'a> {
    names: &'w HashMap<&'a str, usize>,
    tables: &'w [Table<'m, 'a>],
    table_names: &'w HashMap<&'a str, usize>,
    origins: HashMap<&'a str, Origin>,
}

impl<'a> Walk<'_, '_, 'a> {
    fn follow(&mut self, steps: &[Step<'_, 'a>]) {
        loop {
            let mut changed = false;
            for step in steps {
                let Step::Instruction(instruction) = step else {
                    continue;
                };
                if !has_result(instruction) {
                    continue;
                }
                let [Operand::Name(result), sources @ ..] = &instruction.operands[..] else {
                    continue;
                };
                let mut origin = Origin::default();
                for source in sources {
                    origin.add(&self.of_operand(source));
                }
                // Only whole addresses are called, but code may compute with the address of a
                // variable.
                if !matches!(instruction.opcode, "mov" | "selp" | "cvta" | "ld") {
                    origin.slots.clear();
                    origin.functions.clear();
                }
                if instruction.opcode == "ld" {
                    if !(instruction.modifiers.iter()).any(|m| matches!(*m, "u64" | "b64" | "s64"))
                    {
                        continue;
                    }
                    origin = match sources.first() {
                        Some(Operand::Address(_, offset)) => self.loaded(&origin, *offset),
                        _ => continue,
                    };
                }
                if !origin.is_empty() {
                    changed |= self.origins.entry(result).or_default().add(&origin);
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn of_operand(&self, operand: &Operand<'a>) -> Origin {
        let mut origin = Origin::default();
        visit_operand(operand, &mut |name| {
            if name.starts_with('%') {
                if let Some(known) = self.origins.get(name) {
                    origin.add(known);
                }
            } else if let Some(&function) = self.names.get(name) {
                origin.functions.insert(function);
            } else if let Some(&table) = self.table_names.get(name) {
                origin.variables.insert(table);
            }
        });
        origin
    }

    /// Returns the value of a load from an address.
    fn loaded(&self, address: &Origin, offset: i64) -> Origin {
        let mut origin = Origin::default();
        for &table in &address.variables {
            let table = &self.tables[table];
            origin
                .functions
                .extend(table.functions.iter().map(|&(_, function)| function));
            origin.variables.extend(&table.tables);
        }
        if address.variables.is_empty() {
            origin.slots.insert(offset);
        }
        origin
    }

    /// Adds the addresses that an instruction stores or passes, which are not traced further.
    fn escape(&self, instruction: &Instruction<'a>, into: &mut Origin) {
        let stored: &[Operand<'a>] = match instruction.opcode {
            "ld" | "setp" | "bra" | "prefetch" => &[],
            "call" => {
                for operand in &instruction.operands {
                    if matches!(operand, Operand::List(_)) {
                        into.add(&self.of_operand(operand));
                    }
                }
                &[]
            }
            "st" | "atom" | "red" => instruction.operands.get(1..).unwrap_or_default(),
            _ if has_result(instruction) => &[],
            _ => &instruction.operands,
        };
        for operand in stored {
            into.add(&self.of_operand(operand));
        }
    }
}

/// Returns whether an instruction computes its first operand from the others.
fn has_result(instruction: &Instruction<'_>) -> bool {
    let register =
        |operand: &Operand<'_>| matches!(operand, Operand::Name(name) if name.starts_with('%'));
    !matches!(instruction.opcode, "st" | "call" | "red" | "atom" | "setp")
        && !matches!(
            instruction.operands.get(1),
            Some(Operand::Address(Base::Absolute, _))
        )
        && instruction.operands.first().is_some_and(register)
}
