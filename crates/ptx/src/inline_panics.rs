//! Replaces the calls of panics in kernels with jumps to one copy of the called function, or to a copy
//! of its own for a panic whose label begins with [`OWN`].
//!
//! For ptxas, a call in divergent code is expensive even if it never executes: other threads of the
//! warp continue while it runs, so their uniform registers must be those that functions preserve,
//! the kernel needs a stack, and it has at least as many registers as the calling convention uses.
//! In the kernels of `benches`, the panic functions were also most of the code, because ptxas
//! gives each kernel its own copy of all functions.
//!
//! Functions are inlined if they do not return and call only such functions: in `cuda_std`, those
//! that report an index out of bounds, a plain message and the like. Panics with formatted messages
//! remain calls.
//!
//! The copies are as short as possible, because they are a large part of small kernels: most panics
//! report a number ([`crate::number_panics`]). The others contain only what the module needs of the
//! report, and ptxas does not unroll their loops.

use crate::hash::{HashMap, HashSet};

use crate::dead::visit_operand;
use crate::number_panics::Numbering;
use crate::optimize::Names;
use crate::optimize::instructions::{instructions, rename};
use crate::rewrite::instruction;
use crate::{
    Base, Function, Instruction, Item, Linkage, Module, Operand, Registers, Statement, Type,
};

/// The first characters of the label of an inlined function, which a number, `_` and the function's
/// name follow.
const LABEL: &str = "$L__panic";

/// The first characters of the labels of a panic that gets copies of its own. A number and `_` follow.
pub(crate) const OWN: &str = "$L__own";

/// The function that reports a panic, and records its launch for [`WAITS`].
pub(crate) const RECORDS_LAUNCH: &str = "__cuda_std_report_failure";

/// The same without the record.
const REPORTS: &str = "__cuda_std_report_to_host";

/// The function that tests whether a thread of the same launch has panicked.
const WAITS: &str = "__cuda_std_launch_has_panicked";

/// The function that ends a thread whose report cannot be claimed. It publishes the thread's own
/// message if the thread is formatting that: in a function, which the kernel calls. Calls of the
/// kernel itself become `exit`.
const IS_CLAIMED: &str = "__cuda_std_report_is_claimed";

/// The maximum number of instructions of an inlined function.
const INSTRUCTIONS: usize = 200;

/// Inlines functions that do not return into the kernels of a module. Returns the number of calls
/// that it replaced.
pub fn inline_panics<'a>(module: &mut Module<'a>, names: &'a Names) -> usize {
    let mut candidates = candidates(module);
    if candidates.is_empty() {
        return 0;
    }
    let waits = (module.items.iter())
        .any(|item| matches!(item, Item::Function(function) if original(function.name) == WAITS));
    number(module, names, waits, &mut candidates);
    let mut count = 0;
    for item in &mut module.items {
        if let Item::Function(Function {
            entry: true,
            body: Some(body),
            ..
        }) = item
        {
            let mut kernel = Kernel {
                candidates: &candidates,
                names,
                waits,
                inlined: HashMap::default(),
                pending: Vec::new(),
                registers: Vec::new(),
                count: 0,
            };
            kernel.replace_calls(body, None);
            while let Some(key) = kernel.pending.pop() {
                let copy = kernel.copy(key);
                body.extend(copy);
            }
            body.splice(0..0, kernel.registers);
            count += kernel.count;
        }
    }
    count
}

/// Makes the function that reports internal again. It is external for the optimizers, which would change
/// its parameters otherwise.
pub fn hide_report(module: &mut Module<'_>) {
    for item in &mut module.items {
        if let Item::Function(function) = item
            && original(function.name) == RECORDS_LAUNCH
            && function.linkage == Linkage::Visible
        {
            function.linkage = Linkage::Internal;
        }
    }
}

/// Numbers the panics of the kernels, and adds the table.
fn number<'a>(
    module: &mut Module<'a>,
    names: &'a Names,
    waits: bool,
    candidates: &mut HashMap<&'a str, Candidate<'a>>,
) {
    // The numbering reads the module's variables.
    let mut bodies = Vec::new();
    for (at, item) in module.items.iter_mut().enumerate() {
        if let Item::Function(function) = item
            && function.entry
        {
            bodies.push((at, function.body.take()));
        }
    }
    let mut numbering = Numbering::new(module, names, waits);
    for (_, body) in &mut bodies {
        if let Some(body) = body {
            let registers = numbering.replace(body, candidates);
            body.splice(0..0, registers);
        }
    }
    let table = numbering.table();
    for (at, body) in bodies {
        if let Item::Function(function) = &mut module.items[at] {
            function.body = body;
        }
    }
    module.items.extend(table.map(Item::Variable));
}

/// A function that can be inlined.
pub(crate) struct Candidate<'a> {
    /// The function's name in labels.
    pub shown: &'a str,
    /// The names and types of the parameters.
    pub params: Vec<(&'a str, Type)>,
    pub body: Vec<Statement<'a>>,
}

impl<'a> Candidate<'a> {
    /// Returns the call of [`REPORTS`] in the body if the function is called with these arguments.
    /// Optimizers may give each function fewer parameters than it has in the source.
    fn report(&self, arguments: &[Operand<'a>]) -> Option<Call<'a>> {
        let mut values: HashMap<&str, &Operand<'a>> = HashMap::default();
        for statement in &self.body {
            if let Statement::Instruction(it) = statement
                && let Some(index) = parameter_load(it, &self.params)
                && let Some(Operand::Name(register)) = it.operands.first()
            {
                values.insert(register, arguments.get(index)?);
            }
        }
        let mut calls = self.body.iter().filter_map(call_of);
        let mut call = calls.find(|it| original(it.function) == REPORTS)?;
        for argument in &mut call.arguments {
            if let Operand::Name(register) = argument {
                *argument = (*values.get(register)?).clone();
            }
        }
        Some(call)
    }
}

/// Returns the functions that do not return, and call only such functions.
fn candidates<'a>(module: &Module<'a>) -> HashMap<&'a str, Candidate<'a>> {
    let mut candidates = HashMap::default();
    for item in &module.items {
        if let Item::Function(function) = item
            && let Some(candidate) = candidate(function)
        {
            candidates.insert(function.name, candidate);
        }
    }
    // Functions that call others are removed until no call of another function is left.
    loop {
        let known: HashSet<&str> = candidates.keys().copied().collect();
        let before = candidates.len();
        candidates.retain(|&own, candidate| {
            (candidate.body.iter()).all(|statement| match call_of(statement) {
                Some(call) => {
                    original(call.function) == IS_CLAIMED
                        || (call.function != own && known.contains(call.function))
                }
                None => true,
            })
        });
        if candidates.len() == before {
            return candidates;
        }
    }
}

/// Returns the name of a function before [`crate::join`] appended a number to it.
pub(crate) fn original(name: &str) -> &str {
    let base =
        name.trim_end_matches(|character: char| character == '_' || character.is_ascii_digit());
    match name[base.len()..].starts_with('_') {
        true => base,
        false => name,
    }
}

/// Returns a function as a candidate if its body has only what [`Kernel::copy`] can copy.
pub(crate) fn candidate<'a>(function: &Function<'a>) -> Option<Candidate<'a>> {
    let body = function.body.as_ref()?;
    if function.entry
        || original(function.name) == IS_CLAIMED
        || !function.returns.is_empty()
        || !function.never_returns()
    {
        return None;
    }
    let mut count = 0;
    for statement in body {
        instructions(statement, &mut |_| count += 1);
    }
    if count > INSTRUCTIONS {
        return None;
    }
    let mut params = Vec::new();
    for param in &function.params {
        let plain = param.vector.is_none() && param.extents.is_empty();
        if !plain || !matches!(param.ty.bits(), 32 | 64) {
            return None;
        }
        params.push((param.name, param.ty));
    }
    for statement in body {
        let possible = match statement {
            Statement::Label(_) | Statement::Loc(_) => true,
            Statement::Registers(registers) => registers.vector.is_none(),
            Statement::Instruction(it) => match it.opcode {
                "call" | "brx" | "ret" | "alloca" | "stacksave" => false,
                "ld" if it.modifiers.first() == Some(&"param") => {
                    parameter_load(it, &params).is_some()
                }
                _ => true,
            },
            Statement::Block(inner) => call_of(statement).is_some() || is_plain(inner),
            _ => false,
        };
        if !possible {
            return None;
        }
    }
    let body = body.clone();
    Some(Candidate {
        shown: function.name,
        params,
        body,
    })
}

/// Returns whether a nested block, as inline PTX has, has only registers and instructions without
/// control flow.
fn is_plain(block: &[Statement<'_>]) -> bool {
    block.iter().all(|statement| match statement {
        Statement::Registers(_) | Statement::Loc(_) => true,
        Statement::Instruction(it) => {
            !matches!(it.opcode, "bra" | "brx" | "call" | "ret") && !is_of_params(it)
        }
        _ => false,
    })
}

fn is_of_params(instruction: &Instruction<'_>) -> bool {
    matches!(instruction.opcode, "ld" | "st") && instruction.modifiers.first() == Some(&"param")
}

/// Returns the index of the parameter that an instruction loads, if it loads all of it.
pub(crate) fn parameter_load(
    instruction: &Instruction<'_>,
    params: &[(&str, Type)],
) -> Option<usize> {
    let [Operand::Name(_), Operand::Address(Base::Name(name), 0)] = instruction.operands[..] else {
        return None;
    };
    let ["param", word] = instruction.modifiers[..] else {
        return None;
    };
    let index = params.iter().position(|(param, _)| *param == name)?;
    let same_size = Type::from_name(word)?.bits() == params[index].1.bits();
    (same_size && instruction.guard.is_none()).then_some(index)
}

/// A call of a function that returns nothing.
pub(crate) struct Call<'a> {
    pub function: &'a str,
    /// The arguments: scalars in registers, or numbers.
    pub arguments: Vec<Operand<'a>>,
}

/// Returns the call that a block consists of: stores of arguments, the call, and perhaps `exit`.
pub(crate) fn call_of<'a>(statement: &Statement<'a>) -> Option<Call<'a>> {
    let Statement::Block(block) = statement else {
        return None;
    };
    let mut stored: HashMap<&str, Operand<'a>> = HashMap::default();
    let mut found = None;
    for statement in block {
        match statement {
            Statement::Registers(_) | Statement::Loc(_) => {}
            Statement::Variable(variable) if variable.extents.is_empty() => {}
            Statement::Instruction(it) if it.guard.is_some() => return None,
            Statement::Instruction(it) => match (it.opcode, &it.operands[..]) {
                ("st", [Operand::Address(Base::Name(param), 0), value])
                    if it.modifiers.first() == Some(&"param")
                        && it.modifiers.len() == 2
                        && matches!(value, Operand::Name(_) | Operand::Integer(_)) =>
                {
                    stored.insert(param, value.clone());
                }
                ("call", [Operand::Name(function)]) => found = Some((*function, &[][..])),
                ("call", [Operand::Name(function), Operand::List(list)]) => {
                    found = Some((*function, &list[..]));
                }
                ("exit", _) if found.is_some() => {}
                _ => return None,
            },
            _ => return None,
        }
    }
    let (function, list) = found?;
    let arguments = list.iter().map(|operand| match operand {
        Operand::Name(name) => stored.get(name).cloned(),
        _ => None,
    });
    Some(Call {
        function,
        arguments: arguments.collect::<Option<_>>()?,
    })
}

/// An inlined function: its name, after the number of the panic to which the copy belongs.
type Key<'a> = (Option<u32>, &'a str);

/// A kernel into which functions are inlined.
struct Kernel<'m, 'a> {
    candidates: &'m HashMap<&'a str, Candidate<'a>>,
    names: &'a Names,
    /// Whether the module has [`WAITS`].
    waits: bool,
    /// The label and the registers of the parameters of each inlined function.
    inlined: HashMap<Key<'a>, (&'a str, Vec<&'a str>)>,
    /// The inlined functions whose body is not yet copied.
    pending: Vec<Key<'a>>,
    /// The declarations of new registers.
    registers: Vec<Statement<'a>>,
    count: usize,
}

impl<'a> Kernel<'_, 'a> {
    fn register(&mut self, ty: Type) -> &'a str {
        let name = self.names.register();
        self.registers
            .push(Statement::Registers(Box::new(Registers {
                ty,
                vector: None,
                names: vec![(name, None)],
                line: 0,
            })));
        name
    }

    /// Replaces the calls in a body with jumps. `panic` is the number of the panic that the body belongs
    /// to, if that has its own copies.
    fn replace_calls(&mut self, body: &mut Vec<Statement<'a>>, panic: Option<u32>) {
        let mut replaced = Vec::with_capacity(body.len());
        let mut own = panic;
        for statement in body.drain(..) {
            if let Statement::Label(label) = statement
                && panic.is_none()
            {
                own = own_panic(label);
            }
            match call_of(&statement).and_then(|call| self.jump(call, own)) {
                Some(jump) => replaced.extend(jump),
                None => replaced.push(statement),
            }
        }
        *body = replaced;
    }

    /// Returns the jump that replaces a call of a panic.
    fn jump(&mut self, mut call: Call<'a>, panic: Option<u32>) -> Option<Vec<Statement<'a>>> {
        match original(call.function) {
            IS_CLAIMED => return Some(vec![instruction("exit", &[], Vec::new())]),
            RECORDS_LAUNCH if !self.waits => {
                let records = self.candidates.get(call.function)?;
                call = records.report(&call.arguments).unwrap_or(call);
            }
            _ => {}
        }
        let candidate = self.candidates.get(call.function)?;
        if candidate.params.len() != call.arguments.len() {
            return None;
        }
        let key = (panic, call.function);
        if !self.inlined.contains_key(&key) {
            let label = self.names.numbered(LABEL, candidate.shown);
            let params = candidate.params.iter();
            let params = params.map(|&(_, ty)| self.register(bits(ty))).collect();
            self.inlined.insert(key, (label, params));
            self.pending.push(key);
        }
        let (label, params) = &self.inlined[&key];
        let mut jump = Vec::new();
        for ((register, &(_, ty)), argument) in
            params.iter().zip(&candidate.params).zip(call.arguments)
        {
            let operands = vec![Operand::Name(register), argument];
            jump.push(instruction("mov", &[bits(ty).name()], operands));
        }
        jump.push(instruction("bra", &["uni"], vec![Operand::Name(label)]));
        self.count += 1;
        Some(jump)
    }

    /// Returns a copy of a function's body.
    fn copy(&mut self, key: Key<'a>) -> Vec<Statement<'a>> {
        let (label, params) = self.inlined[&key].clone();
        let (panic, function) = key;
        let candidate = &self.candidates[function];
        let names = self.renamed(&candidate.body);
        let mut body = vec![Statement::Label(label)];
        for (index, statement) in candidate.body.iter().enumerate() {
            match statement {
                // Labels that no branch has as target are for debug information.
                Statement::Label(name) => {
                    body.extend(names.get(name).map(|&name| Statement::Label(name)));
                    // ptxas unrolls loops, no matter how rarely they execute.
                    let after = &candidate.body[index + 1..];
                    if after.iter().any(|it| is_branch_to(it, name)) {
                        body.push(Statement::Pragma(vec!["nounroll"]));
                    }
                }
                Statement::Instruction(it) => {
                    let mut copy = it.clone();
                    if let Some(index) = parameter_load(it, &candidate.params) {
                        copy.opcode = "mov";
                        copy.modifiers = vec![bits(candidate.params[index].1).name()];
                        copy.operands[1] = Operand::Name(params[index]);
                    }
                    rename(&mut copy, &mut |name| {
                        names.get(name).copied().unwrap_or(name)
                    });
                    body.push(Statement::Instruction(copy));
                }
                Statement::Block(inner) => {
                    let mut copy = inner.clone();
                    let own = declared(inner);
                    for statement in &mut copy {
                        if let Statement::Instruction(it) = statement {
                            rename(it, &mut |name| match own.contains(name) {
                                true => name,
                                false => names.get(name).copied().unwrap_or(name),
                            });
                        }
                    }
                    body.push(Statement::Block(copy));
                }
                _ => {}
            }
        }
        self.replace_calls(&mut body, panic);
        body
    }

    /// Returns new names of the registers that a body declares and uses, and of its labels that are
    /// the target of a branch.
    fn renamed(&mut self, body: &[Statement<'a>]) -> HashMap<&'a str, &'a str> {
        let mut declarations = Vec::new();
        let mut labels = HashSet::default();
        for statement in body {
            match statement {
                Statement::Registers(registers) => {
                    let names = registers.names.iter();
                    declarations.extend(names.map(|&(name, count)| (registers.ty, name, count)));
                }
                Statement::Label(label) => _ = labels.insert(*label),
                _ => {}
            }
        }
        let declared = |name: &str| {
            let found = declarations.iter().find(|(_, known, count)| match count {
                None => *known == name,
                Some(count) => (name.strip_prefix(known))
                    .and_then(|number| number.parse::<u32>().ok())
                    .is_some_and(|number| number < *count),
            });
            found.map(|&(ty, ..)| ty)
        };
        let mut renamed = HashMap::default();
        for statement in body {
            instructions(statement, &mut |it| {
                let guard = it.guard.map(|guard| Operand::Name(guard.register));
                for operand in it.operands.iter().chain(&guard) {
                    visit_operand(operand, &mut |name| {
                        if renamed.contains_key(name) {
                            return;
                        }
                        if let Some(ty) = declared(name) {
                            let register = self.register(ty);
                            renamed.insert(name, register);
                        } else if it.opcode == "bra" && labels.contains(name) {
                            renamed.insert(name, self.names.label());
                        }
                    });
                }
            });
        }
        renamed
    }
}

/// Returns whether a statement is a branch to a label.
fn is_branch_to(statement: &Statement<'_>, label: &str) -> bool {
    match statement {
        Statement::Instruction(it) if it.opcode == "bra" => {
            matches!(it.operands[..], [Operand::Name(to)] if to == label)
        }
        _ => false,
    }
}

/// Returns the names that a block declares.
fn declared<'a>(block: &[Statement<'a>]) -> HashSet<&'a str> {
    let mut names = HashSet::default();
    for statement in block {
        match statement {
            Statement::Registers(registers) => {
                names.extend(registers.names.iter().map(|(name, _)| *name));
            }
            Statement::Variable(variable) => _ = names.insert(variable.name),
            _ => {}
        }
    }
    names
}

/// Returns the type of a register that holds a parameter of a type.
fn bits(ty: Type) -> Type {
    if ty.bits() == 64 {
        Type::B64
    } else {
        Type::B32
    }
}

/// Returns a body in which jumps to inlined functions are calls again, without the copies of the
/// functions, and the names of these functions.
pub(crate) fn with_calls<'a>(body: &[Statement<'a>]) -> (Vec<Statement<'a>>, HashSet<&'a str>) {
    let mut functions = HashSet::default();
    let mut result = Vec::with_capacity(body.len());
    for statement in body {
        match statement {
            Statement::Label(label) if inlined(label).is_some() => break,
            Statement::Instruction(it) if it.opcode == "bra" => {
                let function = match it.operands[..] {
                    [Operand::Name(label)] => inlined(label),
                    _ => None,
                };
                let Some(function) = function else {
                    result.push(statement.clone());
                    continue;
                };
                functions.insert(function);
                let mut call = it.clone();
                call.opcode = "call";
                call.operands = vec![Operand::Name(function)];
                result.push(Statement::Block(vec![
                    Statement::Instruction(call),
                    instruction("exit", &[], Vec::new()),
                ]));
            }
            _ => result.push(statement.clone()),
        }
    }
    (result, functions)
}

/// Returns the number of the panic that a label belongs to, if it gets its own copies of functions.
fn own_panic(label: &str) -> Option<u32> {
    let (number, _) = label.strip_prefix(OWN)?.split_once('_')?;
    number.parse().ok()
}

/// Returns the function whose copy begins at a label.
fn inlined(label: &str) -> Option<&str> {
    let (number, function) = label.strip_prefix(LABEL)?.split_once('_')?;
    number.parse::<u32>().ok()?;
    Some(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".version 8.0\n.target sm_75\n.address_size 64\n
        .global .align 8 .b8 place[24];
        .func print() .noreturn;
        .func report(.param .b64 report_0, .param .b32 report_1)
        {
            .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<3>;
            ld.param.u64 %rd1, [report_0];
            ld.param.u32 %r1, [report_1];
            setp.eq.s64 %p1, %rd1, 0;
            @%p1 bra $L__BB0_1;
            { .reg .b32 %r1; mov.u32 %r1, %tid.x; st.u32 [%rd1], %r1; }
            st.u32 [%rd1+4], %r1;
            bra.uni $L__BB0_2;
        $L__BB0_1:
            trap;
        $L__tmp1:
        $L__BB0_2:
            exit;
        }
        .func bounds(.param .b64 bounds_0)
        {
            .reg .b64 %rd<2>;
            ld.param.u64 %rd1, [bounds_0];
            { .param .b64 param0; .param .b32 param1; st.param.b64 [param0], %rd1;
              st.param.b32 [param1], 7; call.uni report, (param0, param1); exit; }
        }
        .func formats() { { call.uni print, (); exit; } }
        .visible .entry k(.param .u64 n)
        {
            .reg .pred %p<3>; .reg .b64 %rd<2>;
            ld.param.u64 %rd1, [n];
            setp.eq.s64 %p1, %rd1, 3;
            @%p1 bra $L__BB1_1;
            setp.eq.s64 %p2, %rd1, 4;
            @%p2 bra $L__BB1_2;
            ret;
        $L__BB1_1:
            { .param .b64 param0; st.param.b64 [param0], %rd1; call.uni bounds, (param0); exit; }
        $L__BB1_2:
            { .param .b64 param0; st.param.b64 [param0], 9; call.uni bounds, (param0); exit; }
        }
        .visible .entry f() { { call.uni formats, (); exit; } }";

    #[test]
    fn a_kernel_has_one_copy_of_each_function() {
        let names = Names::default();
        let mut module = Module::parse(PTX).unwrap();
        assert_eq!(inline_panics(&mut module, &names), 3);
        crate::remove_dead(&mut module, &[]);
        let text = module.to_string();
        let kernel = &text[text.find(".entry k").unwrap()..text.find(".entry f").unwrap()];
        assert!(!kernel.contains("call"), "{kernel}");
        assert_eq!(kernel.matches("setp.eq.s64").count(), 3, "{kernel}");
        assert_eq!(kernel.matches("trap").count(), 1, "{kernel}");
        // The block's own register keeps its name.
        assert!(kernel.contains("mov.u32 %r1, %tid.x;"), "{kernel}");
        assert!(!kernel.contains("$L__tmp1"), "{kernel}");
        assert!(!text.contains(".func bounds"), "{text}");
        // Functions that call others remain calls.
        assert!(text.contains("call.uni formats"), "{text}");
        Module::parse(&text).unwrap();
    }

    const REPORT: &str = ".version 8.0\n.target sm_75\n.address_size 64\n
        .global .b64 report; .global .b64 launches;
        .func __cuda_std_report_is_claimed() .noreturn { st.global.u64 [report], 7; exit; }
        .func __cuda_std_report_to_host(.param .b32 to_host_0) .noreturn
        {
            .reg .pred %p<2>; .reg .b32 %r<3>;
            ld.param.u32 %r1, [to_host_0];
            setp.eq.s32 %p1, %r1, 0;
            @%p1 bra $claimed;
        $loop:
            st.global.u32 [report], %r1;
            add.s32 %r1, %r1, -1;
            setp.ne.s32 %p1, %r1, 0;
            @%p1 bra $loop;
            exit;
        $claimed:
            { call.uni __cuda_std_report_is_claimed, (); exit; }
        }
        .func __cuda_std_report_failure(.param .b32 failure_0) .noreturn
        {
            .reg .b32 %r<2>;
            ld.param.u32 %r1, [failure_0];
            st.global.u64 [launches], 3;
            { .param .b32 param0; st.param.b32 [param0], %r1;
              call.uni __cuda_std_report_to_host, (param0); exit; }
        }
        .visible .entry k()
        {
            { .param .b32 param0; st.param.b32 [param0], 2;
              call.uni __cuda_std_report_failure, (param0); exit; }
        }";

    /// Returns the kernel of a module with inlined panics.
    fn inlined_into_kernel(ptx: &str) -> String {
        let names = Names::default();
        let mut module = Module::parse(ptx).unwrap();
        inline_panics(&mut module, &names);
        let text = module.to_string();
        Module::parse(&text).unwrap();
        text[text.find(".entry k").unwrap()..].to_owned()
    }

    #[test]
    fn launches_are_recorded_for_those_that_wait() {
        let kernel = inlined_into_kernel(REPORT);
        assert!(!kernel.contains("launches"), "{kernel}");
        assert!(kernel.contains("[report]"), "{kernel}");
        let waits = ".func __cuda_std_launch_has_panicked() { ret; }\n.visible .entry";
        let body = REPORT.replace(".visible .entry", waits);
        let kernel = inlined_into_kernel(&body);
        assert!(kernel.contains("st.global.u64 [launches], 3;"), "{kernel}");
        assert!(kernel.contains("[report]"), "{kernel}");
    }

    /// A joined module has the functions twice. Where all panics are alike, they have fewer
    /// parameters.
    #[test]
    fn each_record_has_its_own_report() {
        let (functions, _) = REPORT.split_once(".visible .entry").unwrap();
        let (_, functions) = functions.split_once(".func").unwrap();
        let others = functions
            .replace("__cuda_std_report_to_host", "__cuda_std_report_to_host_1")
            .replace("__cuda_std_report_failure", "__cuda_std_report_failure_1")
            .replace(
                "__cuda_std_report_is_claimed",
                "__cuda_std_report_is_claimed_1",
            )
            .replace("(.param .b32 failure_0)", "()")
            .replace("ld.param.u32 %r1, [failure_0];", "")
            .replace("[param0], %r1", "[param0], 40");
        let text = REPORT.replace(
            ".visible .entry k()",
            &format!(
                ".func {others} .visible .entry k_1() {{
                    {{ call.uni __cuda_std_report_failure_1, (); exit; }}
                }}
                .visible .entry k()"
            ),
        );
        let text = inlined_into_kernel(&text);
        assert!(!text.contains("launches"), "{text}");
        assert!(!text.contains("call"), "{text}");
        let (other, kernel) = text.split_once(".entry k(").unwrap();
        assert!(
            other.contains("mov.b32 %x") && other.contains(", 40;"),
            "{other}"
        );
        assert!(
            kernel.contains(", 2;") && !kernel.contains(", 40;"),
            "{kernel}"
        );
    }

    /// The parameters may have another order in the report.
    #[test]
    fn arguments_of_reports_are_those_of_the_record() {
        let text = REPORT
            .replace(
                "(.param .b32 to_host_0)",
                "(.param .b32 to_host_0, .param .b32 to_host_1)",
            )
            .replace(
                "(.param .b32 failure_0)",
                "(.param .b32 failure_0, .param .b32 failure_1)",
            )
            .replace(
                "ld.param.u32 %r1, [failure_0];",
                "ld.param.u32 %r1, [failure_1];",
            )
            .replace(
                "st.param.b32 [param0], %r1;
              call.uni __cuda_std_report_to_host, (param0)",
                "st.param.b32 [param0], %r1; .param .b32 param1; st.param.b32 [param1], 9;
              call.uni __cuda_std_report_to_host, (param0, param1)",
            )
            .replace(
                "st.param.b32 [param0], 2;
              call.uni __cuda_std_report_failure, (param0)",
                "st.param.b32 [param0], 2; .param .b32 param1; st.param.b32 [param1], 3;
              call.uni __cuda_std_report_failure, (param0, param1)",
            );
        let kernel = inlined_into_kernel(&text);
        assert!(!kernel.contains("launches"), "{kernel}");
        assert!(
            kernel.contains(", 3;") && kernel.contains(", 9;"),
            "{kernel}"
        );
        assert!(!kernel.contains(", 2;"), "{kernel}");
    }

    #[test]
    fn claimed_reports_end_the_thread() {
        let kernel = inlined_into_kernel(REPORT);
        assert!(!kernel.contains("call"), "{kernel}");
        assert!(!kernel.contains("[report], 7"), "{kernel}");
        assert_eq!(kernel.matches("exit").count(), 2, "{kernel}");
    }

    #[test]
    fn loops_of_panics_are_not_unrolled() {
        let kernel = inlined_into_kernel(REPORT);
        let at = kernel.find("\t.pragma \"nounroll\";\n\tst.global.u32 [report]");
        let before = &kernel[..at.expect("no pragma at the start of the loop")];
        assert!(before.trim_end().ends_with(':'), "{kernel}");
        assert_eq!(kernel.matches(".pragma").count(), 1, "{kernel}");
    }

    #[test]
    fn jumps_become_calls_again() {
        let names = Names::default();
        let mut module = Module::parse(PTX).unwrap();
        inline_panics(&mut module, &names);
        let body = module.items.iter().find_map(|item| match item {
            Item::Function(function) if function.name == "k" => function.body.as_deref(),
            _ => None,
        });
        let (body, functions) = with_calls(body.unwrap());
        assert_eq!(functions, HashSet::from_iter(["bounds"]));
        let calls = body.iter().filter(|it| matches!(it, Statement::Block(_)));
        assert_eq!(calls.count(), 2);
    }
}
