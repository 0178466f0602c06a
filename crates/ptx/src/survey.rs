//! Facts about the functions of a module, for tools: what a kernel reaches, its shared memory, its
//! locations in the source, and its accesses to local memory.

use crate::hash::{HashMap, HashSet};

use crate::condition::Launches;
use crate::dead::{visit_function, visit_operand, visit_variable};
use crate::promote_arrays::PREFIX;
use crate::{
    Base, Function, Init, Instruction, Item, Loc, Module, Operand, Panic, Space, Statement,
    Variable, each_loc,
};

/// A location in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file, as `.file` names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if it is not known.
    pub column: u32,
}

/// An access to local memory whose address is computed at run time, as of an array that is indexed
/// by a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalAccess {
    /// Whether it is a store.
    pub store: bool,
    /// The locations: of the access, then of the calls that were inlined.
    pub locations: Vec<Location>,
    /// The line in the PTX, from 1.
    pub line: u32,
}

/// The functions and variables of a module by their names.
#[derive(Debug)]
pub struct Survey<'m, 'a> {
    functions: HashMap<&'a str, &'m Function<'a>>,
    variables: HashMap<&'a str, &'m Variable<'a>>,
    files: HashMap<u32, &'a str>,
}

impl<'m, 'a> Survey<'m, 'a> {
    /// Reads a module.
    pub fn new(module: &'m Module<'a>) -> Survey<'m, 'a> {
        let mut survey = Survey {
            functions: HashMap::default(),
            variables: HashMap::default(),
            files: HashMap::default(),
        };
        for item in &module.items {
            match item {
                // A declaration may precede or follow the definition.
                Item::Function(function) => {
                    let known = survey.functions.entry(function.name).or_insert(function);
                    if function.body.is_some() {
                        *known = function;
                    }
                }
                Item::Variable(variable) => {
                    survey.variables.insert(variable.name, variable);
                }
                Item::File(file) => {
                    survey.files.insert(file.index, file.name);
                }
                _ => {}
            }
        }
        survey
    }

    /// Returns a function by its symbol.
    pub fn function(&self, name: &str) -> Option<&'m Function<'a>> {
        self.functions.get(name).copied()
    }

    /// Returns the entries of a kernel: those for ordinary and for strided launches first, if the
    /// kernel has them.
    pub fn entries(&self, kernel: &str) -> Vec<&'m Function<'a>> {
        let others = Launches::ALL.into_iter().map(|it| it.entry_of(kernel));
        let names = others.chain([kernel.to_owned()]);
        names.filter_map(|name| self.function(&name)).collect()
    }

    /// Returns a variable by its symbol.
    pub fn variable(&self, name: &str) -> Option<&'m Variable<'a>> {
        self.variables.get(name).copied()
    }

    /// Returns the functions with a body that a function reaches: itself, those that it calls, and
    /// those whose addresses it takes. `enter` decides whether to follow a function.
    pub fn reached(
        &self,
        function: &'m Function<'a>,
        enter: impl Fn(&Function<'a>) -> bool,
    ) -> Vec<&'m Function<'a>> {
        let (functions, _) = self.reach(function, enter);
        functions
    }

    fn reach(
        &self,
        function: &'m Function<'a>,
        enter: impl Fn(&Function<'a>) -> bool,
    ) -> (Vec<&'m Function<'a>>, Vec<&'m Variable<'a>>) {
        let mut seen = HashSet::from_iter([function.name]);
        let (mut functions, mut variables) = (vec![function], Vec::new());
        let mut pending = vec![function.name];
        while let Some(name) = pending.pop() {
            let mut found = Vec::new();
            let mut visit = |name: &'a str| {
                if seen.insert(name) {
                    found.push(name);
                }
            };
            if let Some(function) = self.functions.get(name) {
                visit_function(function, &mut visit);
            } else if let Some(variable) = self.variables.get(name) {
                visit_variable(variable, &mut visit);
            }
            for name in found {
                if let Some(&function) = self.functions.get(name) {
                    if function.body.is_some() && enter(function) {
                        functions.push(function);
                        pending.push(name);
                    }
                } else if let Some(&variable) = self.variables.get(name) {
                    variables.push(variable);
                    pending.push(name);
                }
            }
        }
        (functions, variables)
    }

    /// Returns the bytes of static shared memory of a kernel, in all functions that it reaches, and
    /// whether it has dynamic shared memory too.
    pub fn shared_memory(&self, kernel: &'m Function<'a>) -> (u64, bool) {
        let (functions, global) = self.reach(kernel, |_| true);
        let mut own = Vec::new();
        for function in functions {
            variables(function.body.as_deref().unwrap_or_default(), &mut own);
        }
        let (mut bytes, mut dynamic) = (0u64, false);
        for variable in global.into_iter().chain(own) {
            if variable.space != Space::Shared {
                continue;
            }
            match variable.size() {
                _ if variable.extents.first() == Some(&None) => dynamic = true,
                None => bytes = u64::MAX,
                Some(size) => {
                    let align = u64::from(variable.alignment().max(1));
                    bytes = bytes.checked_next_multiple_of(align).unwrap_or(u64::MAX);
                    bytes = bytes.saturating_add(size);
                }
            }
        }
        (bytes, dynamic)
    }

    /// Returns the bytes of a kernel's shared memory that hold local arrays of its threads: see
    /// `promote_arrays`.
    pub fn local_arrays_in_shared_memory(&self, kernel: &Function<'a>) -> u64 {
        let mut own = Vec::new();
        variables(kernel.body.as_deref().unwrap_or_default(), &mut own);
        let moved = own.iter().filter(|variable| {
            variable.space == Space::Shared && variable.name.starts_with(PREFIX)
        });
        moved.filter_map(|variable| variable.size()).sum()
    }

    /// Returns the first location in a function that is not inlined from another one.
    pub fn location(&self, function: &Function<'a>) -> Option<Location> {
        let locs = Locs::new(function.body.as_deref()?);
        let own = locs
            .all
            .iter()
            .find(|loc| loc.inlined.is_none() && loc.line > 0);
        let first = own.or_else(|| locs.all.iter().find(|loc| loc.line > 0));
        // Of a function that was inlined from, the call.
        self.chain(&locs, first?).pop()
    }

    /// Returns the locations of a `.loc` in a function: of the code, then of the calls by which it
    /// was inlined, outwards.
    pub fn locations(&self, function: &Function<'a>, loc: &Loc<'a>) -> Vec<Location> {
        self.chain(
            &Locs::new(function.body.as_deref().unwrap_or_default()),
            loc,
        )
    }

    fn chain(&self, locs: &Locs<'_, 'a>, loc: &Loc<'a>) -> Vec<Location> {
        let mut at = (loc.file, loc.line, loc.column);
        let mut inlined = loc.inlined;
        let mut seen = HashSet::default();
        let mut chain = Vec::new();
        loop {
            let (file, line, column) = at;
            if let Some(file) = self.files.get(&file).filter(|_| line > 0) {
                chain.push(Location {
                    file: (*file).to_owned(),
                    line,
                    column,
                });
            }
            let Some(next) = inlined
                .map(|inlined| inlined.at)
                .filter(|at| seen.insert(*at))
            else {
                return chain;
            };
            at = next;
            // The call's own location follows from another `.loc`.
            inlined = locs.inlined.get(&at).copied().flatten();
        }
    }

    /// Returns the `core::panic::Location` that a failed check reports, if it is one of the
    /// variables whose addresses the call takes.
    pub fn recorded(&self, panic: &Panic<'a>) -> Option<Location> {
        let variables = panic.variables.iter();
        let mut variables = variables.filter_map(|name| self.variable(name));
        variables.find_map(|variable| self.location_in(variable))
    }

    /// Reads a variable of type `core::panic::Location`: the file's address and length, the line and
    /// the column.
    fn location_in(&self, variable: &Variable<'_>) -> Option<Location> {
        let Some(Init::List(values)) = &variable.init else {
            return None;
        };
        let [
            Init::Symbol(file),
            Init::Integer(len),
            Init::Integer(line_and_column),
        ] = &values[..]
        else {
            return None;
        };
        let Some(Init::List(bytes)) = &self.variable(file.name)?.init else {
            return None;
        };
        let bytes: Vec<u8> = (bytes.iter())
            .map(|byte| match byte {
                Init::Integer(byte) => u8::try_from(byte.bits).ok(),
                _ => None,
            })
            .collect::<Option<_>>()?;
        let file = bytes.get(..usize::try_from(len.bits).ok()?)?;
        let line = line_and_column.bits as u32;
        (line > 0).then_some(Location {
            file: std::str::from_utf8(file).ok()?.to_owned(),
            line,
            column: (line_and_column.bits >> 32) as u32,
        })
    }

    /// Returns the accesses of a function to local memory whose addresses are computed at run time.
    pub fn local_accesses(&self, function: &Function<'a>) -> Vec<LocalAccess> {
        let Some(body) = function.body.as_deref() else {
            return Vec::new();
        };
        let locs = Locs::new(body);
        let mut steps = Vec::new();
        flatten(body, None, &mut steps);
        let constant = constant_addresses(steps.iter().map(|(it, _)| *it), body);
        let mut found = Vec::new();
        for (instruction, loc) in &steps {
            let store = match instruction.opcode {
                "ld" => false,
                "st" => true,
                _ => continue,
            };
            let is_local = (instruction.modifiers.iter()).any(|word| word.starts_with("local"));
            let address = instruction
                .operands
                .iter()
                .find_map(|operand| match operand {
                    Operand::Address(Base::Name(name), _) => Some(*name),
                    _ => None,
                });
            if let Some(address) = address
                && is_local
                && !constant.contains(address)
            {
                found.push(LocalAccess {
                    store,
                    locations: loc.map_or_else(Vec::new, |loc| self.chain(&locs, loc)),
                    line: instruction.line,
                });
            }
        }
        found
    }
}

/// The `.loc` directives of a function, with where each location was inlined.
struct Locs<'s, 'a> {
    all: Vec<&'s Loc<'a>>,
    inlined: HashMap<(u32, u32, u32), Option<crate::Inlined<'a>>>,
}

impl<'s, 'a> Locs<'s, 'a> {
    fn new(body: &'s [Statement<'a>]) -> Locs<'s, 'a> {
        let mut all = Vec::new();
        each_loc(body, &mut |loc| all.push(loc));
        let mut inlined = HashMap::default();
        for loc in &all {
            inlined
                .entry((loc.file, loc.line, loc.column))
                .or_insert(loc.inlined);
        }
        Locs { all, inlined }
    }
}

fn variables<'s, 'a>(body: &'s [Statement<'a>], found: &mut Vec<&'s Variable<'a>>) {
    for statement in body {
        match statement {
            Statement::Variable(variable) => found.push(variable),
            Statement::Block(inner) => variables(inner, found),
            _ => {}
        }
    }
}

/// The instructions of a body, each with the `.loc` that precedes it.
fn flatten<'s, 'a>(
    body: &'s [Statement<'a>],
    mut loc: Option<&'s Loc<'a>>,
    steps: &mut Vec<(&'s Instruction<'a>, Option<&'s Loc<'a>>)>,
) {
    for statement in body {
        match statement {
            Statement::Loc(next) => loc = Some(next),
            Statement::Instruction(instruction) => steps.push((instruction, loc)),
            Statement::Block(inner) => flatten(inner, loc, steps),
            _ => {}
        }
    }
}

/// The names of variables, and the registers that are a variable's address plus a constant.
pub(crate) fn constant_addresses<'s, 'a: 's>(
    all: impl Iterator<Item = &'s Instruction<'a>> + Clone,
    body: &[Statement<'a>],
) -> HashSet<&'a str> {
    let mut written: HashMap<&str, u32> = HashMap::default();
    for instruction in all.clone() {
        if let Some(result) = instruction.operands.first()
            && !matches!(result, Operand::Address(..))
        {
            visit_operand(result, &mut |name| *written.entry(name).or_default() += 1);
        }
    }
    let mut own = Vec::new();
    variables(body, &mut own);
    let mut constant: HashSet<&str> = own.iter().map(|variable| variable.name).collect();
    loop {
        let mut changed = false;
        for instruction in all.clone() {
            let [Operand::Name(result), operands @ ..] = &instruction.operands[..] else {
                continue;
            };
            let passes_on = matches!(instruction.opcode, "mov" | "cvta" | "add" | "sub" | "or");
            let is_constant = |operand: &Operand<'a>| match operand {
                Operand::Name(name) | Operand::NameOffset(name, _) => constant.contains(name),
                Operand::Integer(_) => true,
                _ => false,
            };
            if passes_on
                && written.get(result) == Some(&1)
                && operands.iter().all(is_constant)
                && constant.insert(result)
            {
                changed = true;
            }
        }
        if !changed {
            return constant;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ".version 8.0\n.target sm_75\n.address_size 64\n\
        .file 1 \"src/lib.rs\"\n.file 2 \"core/index.rs\"\n\
        .shared .align 4 .b8 one[6];\n.shared .align 8 .b8 two[8];\n.shared .b8 unused[99];\n\
        .extern .shared .align 16 .b8 dynamic[];\n\
        .func helper() {\n.reg .b64 %r<3>;\n.shared .b32 three;\nmov.u64 %r1, two;\n\
        st.shared.u32 [%r1], 1;\nret;\n}\n\
        .visible .entry k() {\n.reg .b64 %r<9>;\n.local .align 8 .b8 depot[64];\n\
        .loc 2 40 1, function_name $info, inlined_at 1 8 3\n\
        mov.u64 %r1, depot;\n\
        .loc 1 7 5\nst.local.u32 [depot+4], 1;\n\
        add.s64 %r2, %r1, 8;\nst.local.u32 [%r2+4], 1;\n\
        .loc 2 50 9, function_name $info, inlined_at 2 40 1\n\
        mad.wide.u32 %r3, %r4, 4, %r1;\nld.local.u32 %r5, [%r3];\n\
        st.shared.u32 [one], %r5;\ncall.uni helper, ();\nret;\n}\n\
        .visible .entry dyn() {\nst.shared.u32 [dynamic], 1;\nret;\n}\n";

    #[test]
    fn shared_memory_is_that_of_all_that_a_kernel_reaches() {
        let module = Module::parse(TEXT).unwrap();
        let survey = Survey::new(&module);
        let of = |name| survey.shared_memory(survey.function(name).unwrap());
        // 6 bytes, 2 of padding, 8, and 4.
        assert_eq!(of("k"), (20, false));
        assert_eq!(of("dyn"), (0, true));
        let k = survey.function("k").unwrap();
        let names = |enter: bool| -> Vec<&str> {
            let reached = survey.reached(k, |_| enter);
            reached.iter().map(|function| function.name).collect()
        };
        assert_eq!(names(true), ["k", "helper"]);
        assert_eq!(names(false), ["k"]);
    }

    #[test]
    fn only_computed_addresses_count_as_dynamic() {
        let module = Module::parse(TEXT).unwrap();
        let survey = Survey::new(&module);
        let found = survey.local_accesses(survey.function("k").unwrap());
        let at = |file: &str, line, column| Location {
            file: file.to_owned(),
            line,
            column,
        };
        let expected = LocalAccess {
            store: false,
            locations: vec![
                at("core/index.rs", 50, 9),
                at("core/index.rs", 40, 1),
                at("src/lib.rs", 8, 3),
            ],
            line: 28,
        };
        assert_eq!(found, [expected]);
        assert_eq!(
            survey.local_accesses(survey.function("helper").unwrap()),
            []
        );
    }

    #[test]
    fn a_functions_location_is_not_that_of_inlined_code() {
        let module = Module::parse(TEXT).unwrap();
        let survey = Survey::new(&module);
        let k = survey.function("k").unwrap();
        let location = survey.location(k).unwrap();
        assert_eq!((location.file.as_str(), location.line), ("src/lib.rs", 7));
        assert_eq!(survey.location(survey.function("helper").unwrap()), None);
    }
}
