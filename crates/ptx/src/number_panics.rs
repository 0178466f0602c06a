//! Numbers the panics of a module's kernels, so that a report consists of the number and of values.
//!
//! A panic whose kind, location and text are constant is an entry of a table, the variable
//! [`TABLE`], which the host reads. Where it occurs, the kernel passes the entry's number to
//! [`report`], which is half as long as a report that copies the file's name and the text, and has no
//! loops. Other panics keep the report of `cuda_std`.

use crate::hash::HashMap;

use cust_core::report::{self, ARGUMENTS, BLOCK, NUMBERED, SITE, STATE, SYMBOL, Slot};
use std::fmt::Write;
use std::mem::offset_of;

use crate::inline_panics::{Call, Candidate, RECORDS_LAUNCH, call_of, candidate, original};
use crate::optimize::Names;
use crate::optimize::instructions::{instructions, results};
use crate::rewrite::instruction;
use crate::stack::NOTE_LAUNCH;
use crate::{Init, Integer, Item, Linkage, Module, Operand, Registers, Space, Statement, Type};
use crate::{Instruction, Variable};

/// The variable with the entries, in the form that [`cust_core::report::site`] reads.
pub(crate) const TABLE: &str = match report::TABLE.to_str() {
    Ok(name) => name,
    Err(_) => panic!("the name is ASCII"),
};

/// The function that reports a panic by its number.
const REPORT: &str = "__cuda_std_report_number";

/// The maximum length of the table in bytes. Panics that do not fit keep their report.
const LARGEST: usize = 1 << 20;

/// Returns [`REPORT`]. `note` is the code that records the launch.
fn report(note: &str) -> String {
    const BUFFER: usize = offset_of!(Slot, buffer);
    const CLAIM: usize = offset_of!(Slot, claim);
    const { assert!(STATE == 0 && report::NUMBER == 4) };
    let slot = SYMBOL.to_str().expect("the name is ASCII");
    let (rest, last) = (BLOCK + 8, ARGUMENTS + 16);
    format!(
        "
.func {REPORT}(.param .b32 number, .param .b64 a, .param .b64 b, .param .b64 c) .noreturn
{{
    .reg .pred %p;
    .reg .b32 %number, %claim, %r<6>;
    .reg .b64 %a, %b, %c, %slot, %report, %state, %launch, %at, %to;
    ld.param.b32 %number, [number];
    ld.param.b64 %a, [a];
    ld.param.b64 %b, [b];
    ld.param.b64 %c, [c];
    mov.u64 %slot, {slot};
    atom.global.cas.b32 %claim, [%slot+{CLAIM}], 0, 1;
    ld.volatile.global.u64 %report, [%slot+{BUFFER}];
{note}    setp.ne.s32 %p, %claim, 0;
    @%p exit;
    setp.eq.s64 %p, %report, 0;
    @%p trap;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ctaid.y;
    st.global.v2.b32 [%report+{BLOCK}], {{%r0, %r1}};
    mov.u32 %r2, %ctaid.z;
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, %tid.y;
    mov.u32 %r5, %tid.z;
    st.global.v4.b32 [%report+{rest}], {{%r2, %r3, %r4, %r5}};
    st.global.v2.b64 [%report+{ARGUMENTS}], {{%a, %b}};
    st.global.b64 [%report+{last}], %c;
    mov.b64 %state, {{{NUMBERED}, %number}};
    membar.sys;
    st.volatile.global.b64 [%report], %state;
    exit;
}}
"
    )
}

/// What all panics of a place have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Kind<'a> {
    kind: u32,
    /// The variable with the text, and the length of the text.
    text: Option<(&'a str, u32)>,
}

/// A value of a report in terms of the function that reports.
#[derive(Clone, Debug)]
enum Source<'a> {
    /// A parameter of the function.
    Parameter(usize),
    Integer(Integer),
    Symbol(&'a str),
}

/// The parameters of [`RECORDS_LAUNCH`]: the kind, three values, the text, its length, the location.
const PARAMETERS: usize = 7;

/// A function that reports a panic, with the values of its report.
struct Reporter<'a> {
    function: &'a str,
    values: Vec<Source<'a>>,
}

/// The numbered panics of a module.
pub(crate) struct Numbering<'m, 'a> {
    names: &'a Names,
    variables: HashMap<&'a str, &'m Variable<'a>>,
    reporters: HashMap<&'a str, Option<Reporter<'a>>>,
    /// The functions that the kernels call instead of reporters: by the name of the reporter, and by
    /// which parameters of it they have.
    functions: HashMap<(&'a str, Vec<usize>), &'a str>,
    /// The entries of the table and the strings behind them.
    sites: Vec<[u32; SITE / 4]>,
    strings: Vec<u8>,
    known_strings: HashMap<&'a str, u32>,
    numbers: HashMap<(Kind<'a>, &'a str), u32>,
    /// The code that records the launch.
    note: &'static str,
}

impl<'m, 'a> Numbering<'m, 'a> {
    /// `waits`: whether threads of the module ask whether another one panicked.
    pub fn new(module: &'m Module<'a>, names: &'a Names, waits: bool) -> Numbering<'m, 'a> {
        let variables = module.items.iter().filter_map(|item| match item {
            Item::Variable(variable) => Some((variable.name, variable)),
            _ => None,
        });
        Numbering {
            names,
            variables: variables.collect(),
            reporters: HashMap::default(),
            functions: HashMap::default(),
            sites: Vec::new(),
            strings: Vec::new(),
            known_strings: HashMap::default(),
            numbers: HashMap::default(),
            note: if waits { NOTE_LAUNCH } else { "" },
        }
    }

    /// Replaces the calls in a kernel whose report is constant by calls of functions that it adds to
    /// `candidates`. Returns the declarations of new registers.
    pub fn replace(
        &mut self,
        body: &mut Vec<Statement<'a>>,
        candidates: &mut HashMap<&'a str, Candidate<'a>>,
    ) -> Vec<Statement<'a>> {
        let mut values = Values::new(body);
        let mut calls = Vec::new();
        for (at, statement) in body.iter().enumerate() {
            if let Some(call) = call_of(statement)
                && let Some(call) = self.call(body, &mut values, &call, candidates)
            {
                calls.push((at, call));
            }
        }
        for (at, call) in calls {
            body[at] = call;
        }
        values.insert_into(body);
        values.registers
    }

    /// Returns the call that replaces another one.
    fn call(
        &mut self,
        body: &[Statement<'a>],
        values: &mut Values<'a>,
        call: &Call<'a>,
        candidates: &mut HashMap<&'a str, Candidate<'a>>,
    ) -> Option<Statement<'a>> {
        let reporter = self.reporter(call.function, candidates)?;
        let function = reporter.function;
        let argument = |source: &Source<'a>| match *source {
            Source::Parameter(index) => call.arguments.get(index).cloned(),
            Source::Integer(integer) => Some(Operand::Integer(integer)),
            Source::Symbol(name) => Some(Operand::Name(name)),
        };
        let all = (reporter.values.iter()).map(argument);
        let all = all.collect::<Option<Vec<Operand<'a>>>>()?;
        let used: Vec<usize> = (reporter.values[1..4].iter())
            .filter_map(|value| match value {
                Source::Parameter(index) => Some(*index),
                _ => None,
            })
            .collect();
        let Constant::Integer(kind) = values.constant(body, &all[0])? else {
            return None;
        };
        let Constant::Integer(length) = values.constant(body, &all[5])? else {
            return None;
        };
        let text = match (u32::try_from(length).ok()?, values.constant(body, &all[4])) {
            (0, _) => None,
            (length, Some(Constant::Symbol(name))) => Some((name, length)),
            _ => return None,
        };
        let kind = Kind {
            kind: u32::try_from(kind).ok()?,
            text,
        };
        let number = values.number(self, body, kind, &all[6])?;
        let key = (function, used);
        let name = match self.functions.get(&key) {
            Some(name) => name,
            None => {
                let made = self.function(&key, candidates)?;
                self.functions.insert(key.clone(), made);
                made
            }
        };
        let used = key.1.into_iter().map(|index| call.arguments[index].clone());
        Some(call_statement(name, [number].into_iter().chain(used)))
    }

    /// Adds a function that calls [`REPORT`] with the values of a reporter. Its parameters are the
    /// number and some of the reporter's.
    fn function(
        &mut self,
        (reporter, used): &(&'a str, Vec<usize>),
        candidates: &mut HashMap<&'a str, Candidate<'a>>,
    ) -> Option<&'a str> {
        let params = &candidates.get(reporter)?.params;
        let values = &self.reporters.get(reporter)?.as_ref()?.values;
        let mut head = String::new();
        let mut code = String::new();
        for (at, &index) in used.iter().enumerate() {
            let bits = params.get(index)?.1.bits();
            let _ = write!(head, ", .param .b{bits} p{at}");
        }
        let mut at = 0;
        for (value, to) in values[1..4].iter().zip(["%a", "%b", "%c"]) {
            let _ = match value {
                Source::Parameter(index) => {
                    // An index of 32 bits is widened by the caller.
                    if params.get(*index)?.1.bits() != 64 {
                        return None;
                    }
                    at += 1;
                    writeln!(code, "ld.param.b64 {to}, [p{}];", at - 1)
                }
                Source::Integer(integer) => writeln!(code, "mov.b64 {to}, {integer};"),
                Source::Symbol(_) => return None,
            };
        }
        let shown = candidates.get(reporter)?.shown;
        let name = self.names.numbered("", shown);
        if !candidates.contains_key(REPORT) {
            let text = report(self.note);
            self.add(REPORT, &text, candidates)?;
        }
        let text = format!(
            ".func {shown}(.param .b32 number{head}) .noreturn
            {{
                .reg .b32 %number; .reg .b64 %a, %b, %c;
                ld.param.b32 %number, [number];
                {code}
                {{ .param .b32 q0; .param .b64 q1; .param .b64 q2; .param .b64 q3;
                   st.param.b32 [q0], %number; st.param.b64 [q1], %a;
                   st.param.b64 [q2], %b; st.param.b64 [q3], %c;
                   call.uni {REPORT}, (q0, q1, q2, q3); exit; }}
            }}"
        );
        self.add(name, &text, candidates)?;
        Some(name)
    }

    /// Adds a function with this text under a name.
    fn add(
        &self,
        name: &'a str,
        text: &str,
        candidates: &mut HashMap<&'a str, Candidate<'a>>,
    ) -> Option<()> {
        let header = ".version 8.0\n.target sm_75\n.address_size 64\n";
        let text = self.names.name(&format!("{header}{text}"));
        let module = Module::parse(text).expect("the text is PTX");
        let candidate = module.items.iter().find_map(|item| match item {
            Item::Function(function) => candidate(function),
            _ => None,
        });
        candidates.insert(name, candidate?);
        Some(())
    }

    /// Returns a function with the values of the report that it makes, if these are its parameters
    /// and constants.
    fn reporter(
        &mut self,
        function: &'a str,
        candidates: &HashMap<&'a str, Candidate<'a>>,
    ) -> Option<&Reporter<'a>> {
        if !self.reporters.contains_key(function) {
            // Functions do not call themselves: see `candidates`.
            let made = self.make_reporter(function, candidates);
            self.reporters.insert(function, made);
        }
        self.reporters[function].as_ref()
    }

    fn make_reporter(
        &mut self,
        function: &'a str,
        candidates: &HashMap<&'a str, Candidate<'a>>,
    ) -> Option<Reporter<'a>> {
        let candidate = candidates.get(function)?;
        if original(function) == RECORDS_LAUNCH {
            let values = (0..candidate.params.len()).map(Source::Parameter).collect();
            return (candidate.params.len() == PARAMETERS).then_some(Reporter { function, values });
        }
        let mut calls = candidate.body.iter().filter_map(call_of);
        let (call, None) = (calls.next()?, calls.next()) else {
            return None;
        };
        // Only loads, constants and the call: no branch that decides whether it is called.
        let is_plain = |statement: &Statement<'a>| match statement {
            Statement::Instruction(it) => {
                it.guard.is_none() && matches!(it.opcode, "ld" | "mov" | "cvta" | "exit" | "cvt")
            }
            _ => true,
        };
        if !candidate.body.iter().all(is_plain) {
            return None;
        }
        let own = Values::new(&candidate.body);
        let source = |operand: &Operand<'a>| -> Option<Source<'a>> {
            if let Operand::Name(register) = operand
                && let Some(index) = own.parameter(&candidate.body, register, &candidate.params)
            {
                return Some(Source::Parameter(index));
            }
            Some(match own.constant(&candidate.body, operand)? {
                Constant::Integer(value) => Source::Integer(Integer::signed(value)),
                Constant::Symbol(name) => Source::Symbol(name),
            })
        };
        let arguments: Vec<Option<Source<'a>>> = call.arguments.iter().map(source).collect();
        let inner = self.reporter(call.function, candidates)?;
        let values = inner.values.iter().map(|value| match value {
            Source::Parameter(index) => arguments.get(*index)?.clone(),
            other => Some(other.clone()),
        });
        let values = values.collect::<Option<Vec<_>>>()?;
        Some(Reporter { function, values })
    }

    /// Returns the number of a panic, and adds it to the table if it is new.
    fn number(&mut self, kind: Kind<'a>, location: &'a str) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&(kind, location)) {
            return Some(number);
        }
        let (file, length, place) = self.location(location)?;
        let file_at = self.string(file, length)?;
        let (text_at, text_length) = match kind.text {
            Some((text, length)) => (self.string(text, length)?, length),
            None => (0, 0),
        };
        if (self.sites.len() + 1) * SITE + self.strings.len() > LARGEST {
            return None;
        }
        let number = self.sites.len() as u32;
        let (line, column) = (place as u32, (place >> 32) as u32);
        (self.sites).push([
            kind.kind,
            line,
            column,
            file_at,
            length,
            text_at,
            text_length,
        ]);
        self.numbers.insert((kind, location), number);
        Some(number)
    }

    /// Returns the file's name, its length, and the line and the column of a
    /// `core::panic::Location`, which the backend writes as three numbers of 64 bits.
    fn location(&self, name: &str) -> Option<(&'a str, u32, u64)> {
        let variable = self.variables.get(name)?;
        let Some(Init::List(words)) = &variable.init else {
            return None;
        };
        match &words[..] {
            [
                Init::Symbol(file),
                Init::Integer(length),
                Init::Integer(place),
            ] if variable.ty.bits() == 64 && is_constant(variable) && file.generic => {
                let plain = file.offset == 0 && file.mask.is_none();
                plain.then_some((file.name, u32::try_from(length.bits).ok()?, place.bits))
            }
            _ => None,
        }
    }

    /// Returns the offset of a string among the strings.
    fn string(&mut self, name: &'a str, length: u32) -> Option<u32> {
        if length == 0 {
            return Some(0);
        }
        let variable = self.variables.get(name)?;
        let [Some(size)] = variable.extents[..] else {
            return None;
        };
        let Some(Init::List(bytes)) = &variable.init else {
            return None;
        };
        if variable.ty.bits() != 8 || !is_constant(variable) || u64::from(length) > size {
            return None;
        }
        if let Some(&at) = self.known_strings.get(name) {
            // The same bytes, perhaps with another length.
            return Some(at);
        }
        let at = self.strings.len() as u32;
        let byte = |byte: &Init<'_>| match byte {
            Init::Integer(integer) => Some(integer.bits as u8),
            _ => None,
        };
        let bytes = bytes.iter().map(byte).collect::<Option<Vec<u8>>>()?;
        self.strings.extend(&bytes);
        // Elements without an initializer are 0.
        let missing = (size as usize).checked_sub(bytes.len())?;
        if missing > LARGEST {
            return None;
        }
        self.strings.extend(std::iter::repeat_n(0, missing));
        self.known_strings.insert(name, at);
        Some(at)
    }

    /// Returns the table, if it has entries.
    pub fn table(self) -> Option<Variable<'a>> {
        if self.sites.is_empty() {
            return None;
        }
        let start = (self.sites.len() * SITE) as u32;
        let mut bytes = Vec::new();
        for mut site in self.sites {
            for at in [3, 5] {
                site[at] += start;
            }
            bytes.extend(site.iter().flat_map(|word| word.to_le_bytes()));
        }
        bytes.extend(self.strings);
        let byte = |&byte: &u8| Init::Integer(Integer::unsigned(u64::from(byte)));
        Some(Variable {
            linkage: Linkage::Visible,
            space: Space::Global,
            align: Some(8),
            attributes: Vec::new(),
            vector: None,
            ty: Type::B8,
            pointer: None,
            name: TABLE,
            extents: vec![Some(bytes.len() as u64)],
            init: Some(Init::List(bytes.iter().map(byte).collect())),
            line: 0,
        })
    }
}

/// Returns whether no code writes a variable: it is a constant of the program, which rustc named.
fn is_constant(variable: &Variable<'_>) -> bool {
    variable.space == Space::Global
        && variable.linkage == Linkage::Internal
        && variable.name.starts_with("alloc_")
}

/// Returns a call with these arguments.
fn call_statement<'a>(
    function: &'a str,
    arguments: impl Iterator<Item = Operand<'a>>,
) -> Statement<'a> {
    const PARAMS: [&str; 8] = ["q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7"];
    let mut block = Vec::new();
    let mut list = Vec::new();
    for (argument, name) in arguments.zip(PARAMS) {
        // `inline_panics` takes the types from the function.
        let to = Operand::Address(crate::Base::Name(name), 0);
        block.push(instruction("st", &["param", "b64"], vec![to, argument]));
        list.push(Operand::Name(name));
    }
    let operands = vec![Operand::Name(function), Operand::List(list)];
    block.push(instruction("call", &["uni"], operands));
    block.push(instruction("exit", &[], Vec::new()));
    Statement::Block(block)
}

/// A constant value.
#[derive(Clone, Copy)]
enum Constant<'a> {
    Integer(i64),
    /// The address of a variable.
    Symbol(&'a str),
}

/// The values of a body's registers, as far as they are constant.
struct Values<'a> {
    /// The statements that define each register. `None` for a register that is defined in a block.
    definitions: HashMap<&'a str, Option<Vec<usize>>>,
    /// The registers with the number of a panic that go with registers with its location.
    numbers: HashMap<(Kind<'a>, &'a str), Option<&'a str>>,
    /// The keys of `numbers` in the order in which they were added.
    order: Vec<(Kind<'a>, &'a str)>,
    /// Instructions to insert, each behind a statement.
    inserted: Vec<(usize, Statement<'a>)>,
    /// The declarations of new registers.
    registers: Vec<Statement<'a>>,
}

impl<'a> Values<'a> {
    fn new(body: &[Statement<'a>]) -> Values<'a> {
        let mut definitions: HashMap<&str, Option<Vec<usize>>> = HashMap::default();
        for (at, statement) in body.iter().enumerate() {
            let is_block = matches!(statement, Statement::Block(_));
            instructions(statement, &mut |it| {
                results(it, &mut |register| {
                    let known = definitions.entry(register).or_insert(Some(Vec::new()));
                    match is_block {
                        true => *known = None,
                        false => known.iter_mut().for_each(|known| known.push(at)),
                    }
                });
            });
        }
        Values {
            definitions,
            numbers: HashMap::default(),
            order: Vec::new(),
            inserted: Vec::new(),
            registers: Vec::new(),
        }
    }

    /// Returns the only instruction that defines a register.
    fn definition<'b>(
        &self,
        body: &'b [Statement<'a>],
        register: &str,
    ) -> Option<&'b Instruction<'a>> {
        let &[at] = &self.definitions.get(register)?.as_ref()?[..] else {
            return None;
        };
        unguarded(&body[at])
    }

    /// Returns the index of the parameter that a register of a function has.
    fn parameter(
        &self,
        body: &[Statement<'a>],
        register: &str,
        params: &[(&'a str, Type)],
    ) -> Option<usize> {
        let it = self.definition(body, register)?;
        crate::inline_panics::parameter_load(it, params)
    }

    /// Returns the constant value of an operand.
    fn constant(&self, body: &[Statement<'a>], operand: &Operand<'a>) -> Option<Constant<'a>> {
        let mut operand = operand.clone();
        // Registers may define each other in circles, in code that is not executed.
        for _ in 0..16 {
            match operand {
                Operand::Integer(integer) => return Some(Constant::Integer(integer.bits as i64)),
                Operand::Name(name) if !name.starts_with('%') => {
                    return Some(Constant::Symbol(name));
                }
                Operand::Name(register) => {
                    operand = copied(self.definition(body, register)?)?.clone();
                }
                _ => return None,
            }
        }
        None
    }

    /// Returns the number of the panic of this kind at a location. If the location depends on the
    /// way to the panic, so does the number: each instruction that sets the location gets one that
    /// sets the number.
    fn number(
        &mut self,
        numbering: &mut Numbering<'_, 'a>,
        body: &[Statement<'a>],
        kind: Kind<'a>,
        location: &Operand<'a>,
    ) -> Option<Operand<'a>> {
        let integer = |number| Operand::Integer(Integer::unsigned(u64::from(number)));
        if let Some(Constant::Symbol(name)) = self.constant(body, location) {
            return numbering.number(kind, name).map(integer);
        }
        let &Operand::Name(register) = location else {
            return None;
        };
        if let Some(&known) = self.numbers.get(&(kind, register)) {
            return known.map(Operand::Name);
        }
        let number = numbering.names.register();
        // Instructions that were inserted before a failure have it as well.
        (self.registers).push(Statement::Registers(Box::new(Registers {
            ty: Type::B32,
            vector: None,
            names: vec![(number, None)],
            line: 0,
        })));
        let first = self.order.len();
        self.order.push((kind, register));
        self.numbers.insert((kind, register), Some(number));
        let definitions = self.definitions.get(register).cloned().flatten();
        let complete = definitions.filter(|it| !it.is_empty()).is_some_and(|all| {
            all.into_iter()
                .all(|at| self.follow(numbering, body, kind, at, number).is_some())
        });
        if !complete {
            // Registers on the way may depend on this one.
            for key in self.order.drain(first..) {
                self.numbers.insert(key, None);
            }
            return None;
        }
        Some(Operand::Name(number))
    }

    /// Adds the instruction that sets a number where an instruction sets the location.
    fn follow(
        &mut self,
        numbering: &mut Numbering<'_, 'a>,
        body: &[Statement<'a>],
        kind: Kind<'a>,
        at: usize,
        number: &'a str,
    ) -> Option<()> {
        let it = unguarded(&body[at])?;
        let to = Operand::Name(number);
        let made = if let Some(from) = copied(it) {
            let from = self.number(numbering, body, kind, from)?;
            instruction("mov", &["b32"], vec![to, from])
        } else if it.opcode == "selp"
            && let [_, yes, no, condition] = &it.operands[..]
        {
            let yes = self.number(numbering, body, kind, yes)?;
            let no = self.number(numbering, body, kind, no)?;
            instruction("selp", &["b32"], vec![to, yes, no, condition.clone()])
        } else {
            return None;
        };
        self.inserted.push((at, made));
        Some(())
    }

    /// Inserts the new instructions into the body.
    fn insert_into(&mut self, body: &mut Vec<Statement<'a>>) {
        if self.inserted.is_empty() {
            return;
        }
        let mut inserted = std::mem::take(&mut self.inserted);
        inserted.sort_by_key(|&(at, _)| at);
        let mut inserted = inserted.into_iter().peekable();
        let old = std::mem::take(body);
        for (at, statement) in old.into_iter().enumerate() {
            body.push(statement);
            while let Some((_, made)) = inserted.next_if(|&(behind, _)| behind == at) {
                body.push(made);
            }
        }
    }
}

/// Returns a statement's instruction, if it always executes.
fn unguarded<'b, 'a>(statement: &'b Statement<'a>) -> Option<&'b Instruction<'a>> {
    match statement {
        Statement::Instruction(it) if it.guard.is_none() => Some(it),
        _ => None,
    }
}

/// Returns the operand that an instruction copies, or whose generic address it computes.
fn copied<'b, 'a>(it: &'b Instruction<'a>) -> Option<&'b Operand<'a>> {
    match (it.opcode, &it.modifiers[..], &it.operands[..]) {
        ("mov", _, [Operand::Name(_), from]) => Some(from),
        ("cvta", ["global", _], [Operand::Name(_), from]) => Some(from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inline_panics::inline_panics;

    const PTX: &str = ".version 8.0\n.target sm_75\n.address_size 64\n
        .visible .global .align 8 .b8 __cuda_std_report_slot[16];
        .visible .global .align 8 .b8 __cuda_std_panicked_launches[1024];
        .global .align 1 .b8 alloc_1[5] = {97, 46, 114, 115};
        .global .align 1 .b8 alloc_2[4] = {110, 111, 110, 101};
        .global .align 1 .b8 _text[4] = {110, 111, 110, 101};
        .global .align 8 .u64 alloc_3[3] = {generic(alloc_1), 4, 38654705671};
        .global .align 8 .u64 alloc_4[3] = {generic(alloc_1), 4, 38654705672};
        .func __cuda_std_report_to_host(.param .b32 k, .param .b64 a, .param .b64 b,
            .param .b64 c, .param .b64 t, .param .b64 n, .param .b64 l) .noreturn
        {
            .reg .b64 %rd<2>;
            ld.param.u64 %rd1, [l];
            st.global.u64 [__cuda_std_report_slot+8], %rd1;
            exit;
        }
        .func __cuda_std_report_failure(.param .b32 k, .param .b64 a, .param .b64 b,
            .param .b64 c, .param .b64 t, .param .b64 n, .param .b64 l) .noreturn
        {
            .reg .b32 %r<2>; .reg .b64 %rd<7>;
            ld.param.u32 %r1, [k]; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
            ld.param.u64 %rd3, [c]; ld.param.u64 %rd4, [t]; ld.param.u64 %rd5, [n];
            ld.param.u64 %rd6, [l];
            { .param .b32 q0; .param .b64 q1; .param .b64 q2; .param .b64 q3; .param .b64 q4;
              .param .b64 q5; .param .b64 q6;
              st.param.b32 [q0], %r1; st.param.b64 [q1], %rd1; st.param.b64 [q2], %rd2;
              st.param.b64 [q3], %rd3; st.param.b64 [q4], %rd4; st.param.b64 [q5], %rd5;
              st.param.b64 [q6], %rd6;
              call.uni __cuda_std_report_to_host, (q0, q1, q2, q3, q4, q5, q6); exit; }
        }
        .func bounds(.param .b64 i, .param .b64 n, .param .b64 l) .noreturn
        {
            .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [i]; ld.param.u64 %rd2, [n]; ld.param.u64 %rd3, [l];
            { .param .b32 q0; .param .b64 q1; .param .b64 q2; .param .b64 q3; .param .b64 q4;
              .param .b64 q5; .param .b64 q6;
              st.param.b32 [q0], 2; st.param.b64 [q1], %rd1; st.param.b64 [q2], %rd2;
              st.param.b64 [q3], 0; st.param.b64 [q4], 1; st.param.b64 [q5], 0;
              st.param.b64 [q6], %rd3;
              call.uni __cuda_std_report_failure, (q0, q1, q2, q3, q4, q5, q6); exit; }
        }
        .func text(.param .b64 t, .param .b64 n, .param .b64 l) .noreturn
        {
            .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [t]; ld.param.u64 %rd2, [n]; ld.param.u64 %rd3, [l];
            { .param .b32 q0; .param .b64 q1; .param .b64 q2; .param .b64 q3; .param .b64 q4;
              .param .b64 q5; .param .b64 q6;
              st.param.b32 [q0], 0; st.param.b64 [q1], 0; st.param.b64 [q2], 0;
              st.param.b64 [q3], 0; st.param.b64 [q4], %rd1; st.param.b64 [q5], %rd2;
              st.param.b64 [q6], %rd3;
              call.uni __cuda_std_report_failure, (q0, q1, q2, q3, q4, q5, q6); exit; }
        }
        .visible .entry k(.param .u64 n)
        {
            .reg .pred %p<3>; .reg .b64 %rd<9>;
            ld.param.u64 %rd1, [n];
            setp.eq.s64 %p1, %rd1, 3;
            CODE
        }";

    /// The call of `bounds` or `text`.
    fn call(function: &str, arguments: [&str; 3]) -> String {
        let [a, b, c] = arguments;
        format!(
            "{{ .param .b64 q0; .param .b64 q1; .param .b64 q2; st.param.b64 [q0], {a};
               st.param.b64 [q1], {b}; st.param.b64 [q2], {c};
               call.uni {function}, (q0, q1, q2); exit; }}"
        )
    }

    /// Returns the kernel with inlined panics, and the bytes of the table.
    fn numbered(ptx: &str, code: &str) -> (String, Vec<u8>) {
        let text = ptx.replace("CODE", code);
        let names = Names::default();
        let mut module = Module::parse(&text).unwrap();
        inline_panics(&mut module, &names);
        crate::remove_dead(&mut module, &[]);
        let table = module.items.iter().find_map(|item| match item {
            Item::Variable(variable) if variable.name == TABLE => variable.init.clone(),
            _ => None,
        });
        let Some(Init::List(bytes)) = table else {
            panic!("no table");
        };
        let byte = |byte: &Init<'_>| match byte {
            Init::Integer(integer) => integer.bits as u8,
            _ => panic!("{byte:?}"),
        };
        let table = bytes.iter().map(byte).collect();
        let text = module.to_string();
        Module::parse(&text).unwrap();
        (text[text.find(".entry k").unwrap()..].to_owned(), table)
    }

    const LOCATION: &str =
        "mov.u64 %rd2, alloc_3; cvta.global.u64 %rd3, %rd2; mov.u64 %rd4, alloc_4;
         cvta.global.u64 %rd5, %rd4;";

    #[test]
    fn constant_reports_become_numbers() {
        let code = [LOCATION, &call("bounds", ["%rd1", "7", "%rd3"])].concat();
        let (kernel, table) = numbered(PTX, &code);
        let site = report::site(&table, 0).unwrap();
        assert_eq!((site.kind, site.line, site.column), (2, 7, 9));
        assert_eq!((site.file, site.message), (&b"a.rs"[..], &b""[..]));
        assert_eq!(report::site(&table, 1), None);
        assert!(kernel.contains("__cuda_std_report_number:"), "{kernel}");
        assert!(!kernel.contains("to_host"), "{kernel}");
        assert!(!kernel.contains("__cuda_std_panicked_launches"), "{kernel}");
    }

    #[test]
    fn a_location_may_depend_on_the_way() {
        let select = "selp.b64 %rd6, %rd3, %rd5, %p1; mov.b64 %rd7, %rd6;";
        let code = [LOCATION, select, &call("bounds", ["%rd1", "7", "%rd7"])].concat();
        let (kernel, table) = numbered(PTX, &code);
        assert_eq!(report::site(&table, 0).unwrap().line, 7);
        assert_eq!(report::site(&table, 1).unwrap().line, 8);
        assert!(kernel.contains(", 0, 1, %p1;"), "{kernel}");
        // Two ways that meet in a loop.
        let ways = "mov.b64 %rd7, %rd3;\n$again: @%p1 bra $other; bra $end;\n$other:
             mov.b64 %rd7, %rd5; setp.eq.s64 %p1, %rd1, 4; bra $again;\n$end:";
        let code = [LOCATION, ways, &call("bounds", ["%rd1", "7", "%rd7"])].concat();
        let (kernel, table) = numbered(PTX, &code);
        assert!(report::site(&table, 1).is_some());
        assert!(!kernel.contains("to_host"), "{kernel}");
        // The number is set where the location is.
        let first = kernel.find("mov.b64 %rd7, %rd3;").unwrap();
        assert!(kernel[first..].contains("\tmov.b32 %"), "{kernel}");
    }

    #[test]
    fn texts_are_in_the_table() {
        let text = "mov.u64 %rd6, alloc_2; cvta.global.u64 %rd7, %rd6;";
        let code = [LOCATION, text, &call("text", ["%rd7", "4", "%rd3"])].concat();
        let (kernel, table) = numbered(PTX, &code);
        let site = report::site(&table, 0).unwrap();
        assert_eq!((site.kind, site.message), (0, &b"none"[..]));
        assert!(!kernel.contains("to_host"), "{kernel}");
    }

    /// Text that may change, or whose length does, is copied.
    #[test]
    fn other_texts_keep_their_report() {
        let constant = call("bounds", ["%rd1", "7", "%rd3"]);
        for (text, length) in [("_text", "4"), ("alloc_2", "%rd1"), ("alloc_2", "5")] {
            let text = format!("mov.u64 %rd6, {text}; cvta.global.u64 %rd7, %rd6; @%p1 bra $text;");
            let other = call("text", ["%rd7", length, "%rd3"]);
            let code = [LOCATION, &text, &constant, "$text:", &other].concat();
            let (kernel, table) = numbered(PTX, &code);
            assert!(kernel.contains("to_host:"), "{kernel}");
            assert!(kernel.contains("__cuda_std_report_number:"), "{kernel}");
            assert_eq!(report::site(&table, 1), None);
        }
    }

    #[test]
    fn unknown_locations_keep_their_report() {
        let constant = call("bounds", ["%rd1", "7", "%rd3"]);
        for location in [
            "mov.b64 %rd7, %rd1;",
            "selp.b64 %rd7, %rd3, %rd1, %p1;",
            "mov.b64 %rd7, %rd3; @%p1 mov.b64 %rd7, %rd5;",
            "mov.b64 %rd7, %rd3; @%p1 bra $set; bra $end;\n$set: add.s64 %rd7, %rd7, 24;\n$end:",
        ] {
            let other = call("bounds", ["%rd1", "7", "%rd7"]);
            let code = [LOCATION, location, "@%p1 bra $o;", &constant, "$o:", &other].concat();
            let (kernel, table) = numbered(PTX, &code);
            assert!(kernel.contains("to_host:"), "{location}: {kernel}");
            assert_eq!(report::site(&table, 1), None, "{location}");
        }
    }

    /// `%rd7` and `%rd8` depend on each other, and `%rd7` is unknown.
    #[test]
    fn registers_may_depend_on_each_other() {
        let ways = "mov.b64 %rd7, %rd3;\n$again: mov.b64 %rd8, %rd7; mov.b64 %rd7, %rd8;
             add.s64 %rd7, %rd7, 24; @%p1 bra $again;";
        let calls = ["%rd7", "%rd8"].map(|location| call("bounds", ["%rd1", "7", location]));
        let constant = call("bounds", ["%rd1", "7", "%rd5"]);
        let [one, other] = calls;
        let code = [
            LOCATION,
            ways,
            "@%p1 bra $o; @%p1 bra $c;",
            &one,
            "$o:",
            &other,
            "$c:",
            &constant,
        ];
        let (kernel, _) = numbered(PTX, &code.concat());
        // Both locations are arguments, and the constant one is not.
        for (location, count) in [("%rd7", 2), ("%rd8", 2), ("%rd5", 0)] {
            let copies = kernel.matches(&format!(", {location};")).count();
            assert_eq!(copies, count, "{location}: {kernel}");
        }
    }

    #[test]
    fn numbered_reports_record_the_launch() {
        let code = [LOCATION, &call("bounds", ["%rd1", "7", "%rd3"])].concat();
        let waits = ".func __cuda_std_launch_has_panicked() { ret; }\n.visible .entry";
        let (kernel, _) = numbered(&PTX.replace(".visible .entry", waits), &code);
        assert!(kernel.contains("__cuda_std_report_number:"), "{kernel}");
        assert!(kernel.contains("__cuda_std_panicked_launches"), "{kernel}");
    }
}
