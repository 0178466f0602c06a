//! Moves the local arrays of kernels to shared memory.
//!
//! An array that is indexed by a variable, such as the stack of an interpreter, is in local memory.
//! An L1 cache keeps it, but every store goes on to L2: initializing 64 bytes per thread takes as
//! long as writing them to L2. Shared memory is the same memory as L1 without these writes. Words
//! of one index are adjacent for the threads of a block, as they are in local memory, so threads
//! that access equal or different indices have no bank conflicts.
//!
//! A kernel that loads from global memory at places that it keeps in the array, such as the nodes of
//! a tree, needs the L1 cache more than the array does: with its stack in shared memory, a search of
//! a tree took 28 % longer on an H100.
//!
//! Arrays of bytes stay: the address of a byte takes more instructions than in local memory, and few
//! of its stores go on to L2.
//!
//! Only arrays whose addresses are used for nothing but accesses are moved, in kernels whose number
//! of threads per block is bounded, without dynamic shared memory, and only if the multiprocessor
//! can then still run half of its threads.

use crate::dead::visit_operand;
use crate::hash::HashSet;
use crate::optimize::Names;
use crate::optimize::instructions::{instructions, results, sources};
use crate::rewrite::{instruction, registers, step};
use crate::{
    Base, Function, Instruction, Integer, Item, Module, Operand, SectionLine, SectionValue, Space,
    Statement, Survey, Type, Variable,
};

/// The first characters of the name of a variable that a kernel's local memory was moved to.
pub(crate) const PREFIX: &str = "$local";

/// The maximum size of a block's static shared memory in bytes.
const MAX_STATIC: u64 = 48 << 10;

/// The maximum number of threads of a block.
const MAX_THREADS: u64 = 1024;

/// The maximum number of blocks of a multiprocessor, which some architectures do not reach.
const MAX_BLOCKS: u64 = 32;

/// The shared memory in bytes that the system reserves in each block, from sm_80 on.
const RESERVED: u64 = 1 << 10;

/// The tables of libdevice's reduction of large angles, and the size of the array in local memory
/// that each reduction computes. Few angles are that large.
const REDUCTIONS: [(&str, u64); 2] = [("__cudart_i2opi_f", 28), ("__cudart_i2opi_d", 40)];

/// The state spaces of loads that do not need the L1 cache.
const NEAR: [&str; 4] = ["const", "local", "param", "shared"];

/// The index of a thread in its block, and the extent of the block, per dimension.
const INDICES: [(&str, &str); 3] = [
    ("%tid.x", "%ntid.x"),
    ("%tid.y", "%ntid.y"),
    ("%tid.z", "%ntid.z"),
];

/// The size of a word of memory that the threads of a block access together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Four,
    /// All elements have eight bytes.
    Eight,
}

impl Word {
    fn bytes(self) -> u64 {
        match self {
            Word::Four => 4,
            Word::Eight => 8,
        }
    }
}

/// The local memory of a kernel that can be moved.
#[derive(Debug)]
struct Plan<'a> {
    block: Block,
    /// The variable in local memory.
    local: &'a str,
    /// Its size in bytes, a multiple of the word's.
    size: u64,
    word: Word,
    /// The registers that hold an address in the variable.
    addresses: HashSet<&'a str>,
}

/// Moves the local arrays of the kernels of a module. Returns the number of changed kernels.
pub(crate) fn promote_arrays<'a>(module: &mut Module<'a>, names: &'a Names) -> usize {
    let has_array = |item: &Item<'a>| match item {
        Item::Function(function) => function.entry && local_variable(function).is_some(),
        _ => false,
    };
    if !module.items.iter().any(has_array) {
        return 0;
    }
    let survey = Survey::new(module);
    let described = described(module);
    let capacity = Capacity::of(module.target.first().copied().unwrap_or_default());
    let plans: Vec<_> = (module.items.iter())
        .map(|item| match item {
            Item::Function(function) => plan(function, &survey, &described, capacity),
            _ => None,
        })
        .collect();
    let mut count = 0;
    for (item, plan) in module.items.iter_mut().zip(plans) {
        if let (Item::Function(function), Some(plan)) = (item, plan) {
            plan.apply(function, names);
            count += 1;
        }
    }
    count
}

/// The symbols that DWARF refers to.
pub(crate) fn described<'a>(module: &Module<'a>) -> HashSet<&'a str> {
    let mut names = HashSet::default();
    for item in &module.items {
        let Item::Section(section) = item else {
            continue;
        };
        for line in &section.lines {
            if let SectionLine::Data(_, values) = line {
                names.extend(values.iter().filter_map(|value| match value {
                    SectionValue::Symbol(name, _) => Some(*name),
                    _ => None,
                }));
            }
        }
    }
    names
}

/// What a multiprocessor has room for.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    threads: u64,
    shared: u64,
}

impl Capacity {
    /// Returns the capacity of an architecture (CUDA Programming Guide, "Compute Capabilities"), or
    /// the smallest one.
    fn of(target: &str) -> Capacity {
        let number = target.trim_start_matches("sm_");
        let number = number.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let (threads, kib) = match number {
            "80" => (2048, 164),
            "86" | "89" | "120" | "121" => (1536, 100),
            "87" => (1536, 164),
            "90" | "100" | "103" => (2048, 228),
            _ => (1024, 64),
        };
        Capacity {
            threads,
            shared: kib << 10,
        }
    }

    /// Returns whether half of the threads and `least` blocks fit if each block of `threads` has
    /// `shared` bytes.
    fn suffices(self, threads: u64, shared: u64, least: u64) -> bool {
        let blocks = self.shared / (shared + RESERVED);
        let is_half = blocks * threads * 2 >= self.threads.min(MAX_BLOCKS * threads);
        is_half && blocks >= least
    }
}

/// Returns how the local memory of a function can be moved, if it is a kernel for which that is
/// possible and worthwhile.
fn plan<'a>(
    function: &Function<'a>,
    survey: &Survey<'_, 'a>,
    described: &HashSet<&'a str>,
    capacity: Capacity,
) -> Option<Plan<'a>> {
    let body = function.body.as_deref().filter(|_| function.entry)?;
    let block = Block::of(function)?;
    let (local, bytes) = local_variable(function)?;
    if described.contains(local) {
        return None;
    }
    let mut all = Vec::new();
    for statement in body {
        instructions(statement, &mut |it| all.push(it));
    }
    if own_bytes(&all, bytes) == 0 {
        return None;
    }
    let addresses = addresses(&all, local)?;
    let word = word(&all, &addresses)?;
    let function = survey.function(function.name)?;
    if survey.local_accesses(function).is_empty() {
        // ptxas keeps the elements in registers.
        return None;
    }
    if holds_places(&all, &addresses) {
        return None;
    }
    let (shared, dynamic) = survey.shared_memory(function);
    let size = bytes.checked_next_multiple_of(word.bytes())?;
    let threads = block.threads;
    let shared = (shared.checked_next_multiple_of(16)?).checked_add(size.checked_mul(threads)?)?;
    let blocks = least_blocks(function);
    if dynamic || shared > MAX_STATIC || !capacity.suffices(threads, shared, blocks) {
        return None;
    }
    Some(Plan {
        block,
        local,
        size,
        word,
        addresses,
    })
}

/// The threads of a kernel's blocks.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// The maximum number of threads.
    threads: u64,
    /// The extents, if all blocks have the same.
    extents: Option<[u64; 3]>,
}

impl Block {
    /// Reads the directives of a kernel (PTX ISA, "Performance-Tuning Directives").
    fn of(function: &Function<'_>) -> Option<Block> {
        let values = |name: &str| {
            let mut directives = function.directives.iter();
            Some(&directives.find(|it| it.name == name)?.values)
        };
        let threads = |values: &[u64]| {
            let mut product = values.iter().try_fold(1u64, |all, it| all.checked_mul(*it));
            product.take_if(|threads| (1..=MAX_THREADS).contains(threads))
        };
        if let Some(values) = values("reqntid") {
            let extent = |index: usize| values.get(index).copied().unwrap_or(1);
            return Some(Block {
                threads: threads(values)?,
                extents: Some([0, 1, 2].map(extent)),
            });
        }
        Some(Block {
            threads: threads(values("maxntid")?)?,
            extents: None,
        })
    }
}

/// Returns the number of blocks that a multiprocessor must have room for.
fn least_blocks(function: &Function<'_>) -> u64 {
    let mut directives = function.directives.iter();
    let directive = directives.find(|it| it.name == "minnctapersm");
    directive
        .and_then(|it| it.values.first().copied())
        .unwrap_or(0)
}

/// Returns the name and the size in bytes of the only variable in local memory.
pub(crate) fn local_variable<'a>(function: &Function<'a>) -> Option<(&'a str, u64)> {
    let mut found = None;
    for statement in function.body.as_deref()? {
        match statement {
            Statement::Variable(variable) if variable.space == Space::Local => {
                if found.is_some() || variable.init.is_some() {
                    return None;
                }
                found = Some((variable.name, variable.size()?));
            }
            Statement::Block(inner) if crate::frames::local_bytes(inner) > 0 => return None,
            _ => {}
        }
    }
    found
}

/// Returns the size of a kernel's local memory without libdevice's.
pub(crate) fn own_bytes(all: &[&Instruction<'_>], bytes: u64) -> u64 {
    let mut own = bytes;
    for (table, bytes) in REDUCTIONS {
        let mut found = false;
        for operand in all.iter().flat_map(|it| &it.operands) {
            visit_operand(operand, &mut |name| found |= is_copy(name, table));
        }
        if found {
            own = own.saturating_sub(bytes);
        }
    }
    own
}

/// Returns whether a name is that of a variable, or of a copy in another part of the module:
/// [`join`](crate::join) appends `_` and a number.
fn is_copy(name: &str, variable: &str) -> bool {
    name.strip_prefix(variable).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with('_') && !rest.contains(char::is_alphabetic)
    })
}

/// Returns whether the address of a load from global memory depends on a value in the variable.
fn holds_places<'a>(all: &[&Instruction<'a>], addresses: &HashSet<&'a str>) -> bool {
    let mut values: HashSet<&'a str> = HashSet::default();
    loop {
        let before = values.len();
        for it in all {
            let mut depends = it.opcode == "ld" && matches!(usage(it, addresses), Use::Inside);
            sources(it, &mut |name| depends |= values.contains(name));
            if depends {
                let is_load = it.opcode == "ld" && !matches!(usage(it, addresses), Use::Inside);
                if is_load && !it.modifiers.iter().any(|space| NEAR.contains(space)) {
                    return true;
                }
                results(it, &mut |name| _ = values.insert(name));
            }
        }
        if values.len() == before {
            return false;
        }
    }
}

/// What an instruction does with addresses of a variable in local memory.
pub(crate) enum Use {
    /// It has none.
    None,
    /// Its result is one.
    Address,
    /// It accesses memory at one, or its result does not depend on where the variable is.
    Inside,
    /// Its result or effect may depend on where the variable is.
    Escapes,
}

/// Returns the registers that hold an address in a variable, unless one is used for more than
/// accesses.
pub(crate) fn addresses<'a>(all: &[&Instruction<'a>], local: &'a str) -> Option<HashSet<&'a str>> {
    let mut addresses = HashSet::from_iter([local]);
    loop {
        let before = addresses.len();
        for it in all {
            if let (Use::Address, Some(Operand::Name(result))) =
                (usage(it, &addresses), it.operands.first())
            {
                addresses.insert(result);
            }
        }
        if addresses.len() == before {
            break;
        }
    }
    for it in all {
        match usage(it, &addresses) {
            Use::Escapes => return None,
            Use::Address => {}
            Use::None | Use::Inside => {
                let mut mixed = false;
                results(it, &mut |name| {
                    mixed |= addresses.contains(name);
                });
                if mixed {
                    return None;
                }
            }
        }
    }
    Some(addresses)
}

pub(crate) fn usage<'a>(it: &Instruction<'a>, addresses: &HashSet<&'a str>) -> Use {
    let is_address = |operand: &Operand<'a>| match operand {
        Operand::Name(name) | Operand::NameOffset(name, _) => addresses.contains(name),
        _ => false,
    };
    let mentions = |operand: &Operand<'a>| {
        let mut found = false;
        visit_operand(operand, &mut |name| found |= addresses.contains(name));
        found
    };
    let first = usize::from(it.opcode != "st");
    let sources = it.operands.get(first..).unwrap_or_default();
    let none = match it.opcode {
        // The first operand may be a source.
        "ld" | "mov" | "cvta" | "add" | "sub" | "selp" | "setp" | "mad" => {
            !sources.iter().any(mentions)
        }
        "st" => !it.operands.iter().any(mentions),
        _ => {
            let mut written = false;
            results(it, &mut |name| {
                written |= addresses.contains(name);
            });
            !written && !it.operands.iter().any(mentions)
        }
    };
    if none {
        return Use::None;
    }
    let wide = matches!(it.modifiers.last(), Some(&("b64" | "s64" | "u64")));
    match (it.opcode, &it.modifiers[..], sources) {
        ("ld", ["local", ..], [Operand::Address(..)]) => Use::Inside,
        ("st", ["local", ..], [Operand::Address(..), value]) if !mentions(value) => Use::Inside,
        // `mov.b64 {a, b}, address` has two results, of which neither is an address.
        ("mov", ..) if !matches!(it.operands.first(), Some(Operand::Name(_))) => Use::Escapes,
        ("mov", [_], [from]) if wide && is_address(from) => Use::Address,
        ("cvta", ["local", _] | ["to", "local", _], [from]) if is_address(from) => Use::Address,
        ("add", [_], [a, b]) if wide && (is_address(a) != is_address(b)) => Use::Address,
        ("sub", [_], [a, b]) if wide && is_address(a) => match is_address(b) {
            true => Use::Inside,
            false => Use::Address,
        },
        ("mad", ["lo" | "wide", _], [a, b, c]) if is_address(c) && !mentions(a) && !mentions(b) => {
            Use::Address
        }
        ("selp", [_], [a, b, _]) if wide && is_address(a) && is_address(b) => Use::Address,
        ("setp", [_, _], [a, b]) if wide && is_address(a) && is_address(b) => Use::Inside,
        _ => Use::Escapes,
    }
}

/// An access to local memory.
struct Access<'a> {
    base: Base<'a>,
    offset: i64,
    /// The type of an element.
    ty: Type,
    /// The elements: registers, or for a store also constants.
    values: Vec<Operand<'a>>,
}

impl<'a> Access<'a> {
    /// Reads a plain access to a variable.
    fn of(it: &Instruction<'a>, addresses: &HashSet<&'a str>) -> Option<Access<'a>> {
        let (address, value) = match (it.opcode, &it.operands[..]) {
            ("ld", [value, address]) | ("st", [address, value]) => (address, value),
            _ => return None,
        };
        let Operand::Address(base @ Base::Name(name), offset) = address else {
            return None;
        };
        let count = match &it.modifiers[..] {
            ["local", _] => 1,
            ["local", "v2", _] => 2,
            ["local", "v4", _] => 4,
            _ => return None,
        };
        let values = match value {
            Operand::Vector(values) => values.clone(),
            value => vec![value.clone()],
        };
        let ty = Type::from_name(it.modifiers.last()?)?;
        let is_number = |it: &Operand<'_>| {
            matches!(
                it,
                Operand::Name(_) | Operand::Integer(_) | Operand::F32(_) | Operand::F64(_)
            )
        };
        let valid = addresses.contains(name)
            && values.len() == count
            && matches!(ty.bytes(), 1 | 2 | 4 | 8)
            && values.iter().all(is_number);
        valid.then_some(Access {
            base: *base,
            offset: *offset,
            ty,
            values,
        })
    }

    fn bytes(&self) -> u64 {
        u64::from(self.ty.bytes()) * self.values.len() as u64
    }
}

/// Returns the size of words in which all accesses to a variable can be made. Arrays of bytes have
/// none: see the module's documentation.
pub(crate) fn word<'a>(all: &[&Instruction<'a>], addresses: &HashSet<&'a str>) -> Option<Word> {
    let mut word = Word::Eight;
    for it in all {
        if matches!(usage(it, addresses), Use::Inside) && matches!(it.opcode, "ld" | "st") {
            let access = Access::of(it, addresses)?;
            if access.ty.bytes() == 1 {
                return None;
            }
            if access.ty.bytes() != 8 {
                word = Word::Four;
            }
        }
    }
    Some(word)
}

impl<'a> Plan<'a> {
    /// Moves the variable.
    fn apply(&self, function: &mut Function<'a>, names: &'a Names) {
        let shared = names.numbered(PREFIX, function.name);
        let mut maker = Maker {
            plan: self,
            names,
            words: Vec::new(),
            doubles: Vec::new(),
            first: names.register(),
        };
        maker.words.push(maker.first);
        let body = function.body.take().unwrap_or_default();
        let mut start = maker.start(shared);
        let mut moved = Vec::with_capacity(body.len());
        for statement in maker.statements(body) {
            match statement {
                Statement::Variable(variable) if variable.name == self.local => {
                    moved.push(Statement::Variable(Box::new(Variable {
                        space: Space::Shared,
                        align: Some(16),
                        extents: vec![Some(self.size * self.block.threads)],
                        name: shared,
                        ..*variable
                    })));
                }
                statement @ (Statement::Label(_)
                | Statement::Instruction(_)
                | Statement::Block(_)) => {
                    moved.append(&mut start);
                    moved.push(statement);
                }
                statement => moved.push(statement),
            }
        }
        let declared = [(Type::B32, maker.words), (Type::B64, maker.doubles)];
        let declared = declared.into_iter().filter(|(_, names)| !names.is_empty());
        let declared = declared.map(|(ty, names)| registers(ty, &names, function.line));
        moved.splice(0..0, declared.collect::<Vec<_>>());
        function.body = Some(moved);
    }
}

/// Makes the instructions of a kernel whose variable is moved. A register that held an address in
/// local memory holds the offset in the variable.
struct Maker<'p, 'a> {
    plan: &'p Plan<'a>,
    names: &'a Names,
    /// The new registers with 32 bits.
    words: Vec<&'a str>,
    /// The new registers with 64 bits.
    doubles: Vec<&'a str>,
    /// The register with the address of the thread's first word.
    first: &'a str,
}

impl<'a> Maker<'_, 'a> {
    fn word(&mut self) -> &'a str {
        let name = self.names.register();
        self.words.push(name);
        name
    }

    /// Returns an instruction with a 32-bit result, and appends it to `made`.
    fn emit(
        &mut self,
        made: &mut Vec<Statement<'a>>,
        opcode: &'a str,
        modifiers: &[&'a str],
        sources: impl IntoIterator<Item = Operand<'a>>,
    ) -> &'a str {
        let result = self.word();
        let operands = std::iter::once(Operand::Name(result)).chain(sources);
        made.push(instruction(opcode, modifiers, operands.collect()));
        result
    }

    /// Returns the instructions that compute the address of the thread's first word.
    fn start(&mut self, shared: &'a str) -> Vec<Statement<'a>> {
        let mut made = Vec::new();
        let mut index: Option<Operand<'a>> = None;
        for (dimension, (special, all)) in INDICES.into_iter().enumerate().rev() {
            let extent = match self.plan.block.extents {
                Some(extents) if extents[dimension] == 1 => continue,
                Some(extents) => number(extents[dimension]),
                None => Operand::Name(self.emit(&mut made, "mov", &["u32"], [Operand::Name(all)])),
            };
            let own =
                Operand::Name(self.emit(&mut made, "mov", &["u32"], [Operand::Name(special)]));
            index = Some(match index {
                Some(index) => {
                    let operands = [index, extent, own];
                    Operand::Name(self.emit(&mut made, "mad", &["lo", "u32"], operands))
                }
                None => own,
            });
        }
        let start = self.emit(&mut made, "mov", &["u32"], [Operand::Name(shared)]);
        let operands = vec![
            Operand::Name(self.first),
            index.unwrap_or(number(0)),
            number(self.plan.word.bytes()),
            Operand::Name(start),
        ];
        made.push(instruction("mad", &["lo", "u32"], operands));
        made
    }

    fn statements(&mut self, body: Vec<Statement<'a>>) -> Vec<Statement<'a>> {
        let mut made = Vec::with_capacity(body.len());
        for statement in body {
            match statement {
                Statement::Block(inner) => made.push(Statement::Block(self.statements(inner))),
                Statement::Instruction(it) => self.instruction(&mut made, it),
                other => made.push(other),
            }
        }
        made
    }

    fn instruction(&mut self, made: &mut Vec<Statement<'a>>, mut it: Instruction<'a>) {
        if matches!(it.opcode, "ld" | "st")
            && let Some(access) = Access::of(&it, &self.plan.addresses)
        {
            self.access(made, &it, &access);
            return;
        }
        if it.opcode == "cvta" && matches!(usage(&it, &self.plan.addresses), Use::Address) {
            it.opcode = "mov";
            it.modifiers = vec!["u64"];
        }
        for operand in &mut it.operands {
            match *operand {
                Operand::Name(name) if name == self.plan.local => *operand = number(0),
                Operand::NameOffset(name, offset) if name == self.plan.local => {
                    *operand = Operand::Integer(Integer::signed(offset));
                }
                _ => {}
            }
        }
        made.push(Statement::Instruction(it));
    }

    /// Makes the accesses to shared memory that replace one to local memory.
    fn access(&mut self, made: &mut Vec<Statement<'a>>, it: &Instruction<'a>, access: &Access<'a>) {
        let threads = self.plan.block.threads as i64;
        let word = self.plan.word.bytes() as i64;
        let size = i64::from(access.ty.bytes());
        // The offset of an access in parts of a word is not a multiple of the word's size.
        let is_part = (access.bytes() as i64) < word;
        let (address, constant) = match access.base {
            Base::Name(name) if name != self.plan.local => {
                let offset = self.emit(made, "cvt", &["u32", "u64"], [Operand::Name(name)]);
                let mut offset = Operand::Name(offset);
                if is_part {
                    let sum = [offset, Operand::Integer(Integer::signed(access.offset))];
                    offset = Operand::Name(self.emit(made, "add", &["s32"], sum));
                    (self.address_of_part(made, offset), 0)
                } else {
                    let operands = [offset, number(threads as u64), Operand::Name(self.first)];
                    let address = self.emit(made, "mad", &["lo", "u32"], operands);
                    (address, access.offset * threads)
                }
            }
            _ => {
                let part = access.offset.rem_euclid(word);
                (self.first, (access.offset - part) * threads + part)
            }
        };
        for (index, value) in access.values.iter().enumerate() {
            let offset = index as i64 * size;
            let part = offset % word;
            let offset = constant + (offset - part) * threads + part;
            let at = |offset| Operand::Address(Base::Name(address), offset);
            if size <= word {
                made.push(shared(it, access.ty, value.clone(), at(offset)));
                continue;
            }
            // A number of eight bytes in two words.
            let halves = [self.word(), self.word()];
            let pair = Operand::Vector(halves.map(Operand::Name).to_vec());
            let join = |operands: [Operand<'a>; 2]| instruction("mov", &["b64"], operands.to_vec());
            let ats = [at(offset), at(offset + word * threads)];
            if it.opcode == "st" {
                let whole = match *value {
                    Operand::Name(name) => name,
                    _ => {
                        let name = self.names.register();
                        self.doubles.push(name);
                        made.push(join([Operand::Name(name), integer(value)]));
                        name
                    }
                };
                made.push(join([pair, Operand::Name(whole)]));
                for (half, at) in halves.into_iter().zip(ats) {
                    made.push(shared(it, Type::B32, Operand::Name(half), at));
                }
            } else {
                for (half, at) in halves.into_iter().zip(ats) {
                    made.push(shared(it, Type::B32, Operand::Name(half), at));
                }
                made.push(step(it, "mov", &["b64"], vec![value.clone(), pair]));
            }
        }
    }

    /// Returns the address of a part of a word at an offset in the variable.
    fn address_of_part(&mut self, made: &mut Vec<Statement<'a>>, offset: Operand<'a>) -> &'a str {
        let mask = Operand::Integer(Integer::signed(-(self.plan.word.bytes() as i64)));
        let start = self.emit(made, "and", &["b32"], [offset.clone(), mask]);
        // The word's distance, and the part's offset in the word, which `offset` includes.
        let operands = [
            Operand::Name(start),
            number(self.plan.block.threads - 1),
            offset,
        ];
        let distance = self.emit(made, "mad", &["lo", "u32"], operands);
        let sum = [distance, self.first].map(Operand::Name);
        self.emit(made, "add", &["s32"], sum)
    }
}

/// Returns one access to shared memory.
fn shared<'a>(
    it: &Instruction<'a>,
    ty: Type,
    value: Operand<'a>,
    at: Operand<'a>,
) -> Statement<'a> {
    let operands = match it.opcode {
        "st" => vec![at, value],
        _ => vec![value, at],
    };
    step(it, it.opcode, &["shared", ty.name()], operands)
}

fn number(value: u64) -> Operand<'static> {
    Operand::Integer(Integer::unsigned(value))
}

/// Returns the bits of a constant.
fn integer<'a>(constant: &Operand<'a>) -> Operand<'a> {
    match constant {
        Operand::F64(bits) => number(*bits),
        other => other.clone(),
    }
}
