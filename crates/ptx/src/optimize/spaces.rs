//! Gives memory accesses their state space.
//!
//! libnvvm infers the state space of most accesses, but not of inline assembly, which scoped atomic
//! operations are lowered to, nor of an address that is null on another path, as in an `Option<&T>`, or
//! that of an empty slice, as in `get(1..).unwrap_or_default()`. Here, an address has a state space if
//! all its possible values come from addresses in that space, by adding values that are not addresses.
//! A second register then holds the same address in that space. An address among the parameters of a
//! kernel is one of global memory: the host has no other, and libnvvm assumes the same of pointers.

use crate::hash::{HashMap, HashSet};

use super::Slice;
use super::flow::Graph;
use super::instructions::{results, sources};
use super::names::Names;
use crate::{Base, Instruction, Operand, Statement, Type};

/// The end of the generic addresses at which no object is. The address of an empty slice without an
/// array is the alignment of an element.
const UNMAPPED: u64 = 1 << 16;

/// The kind of value that a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// A constant below [`UNMAPPED`], which may also be a null address, or that of an empty slice; or
    /// the sum of such a constant and others: a loop also advances an address that is null before its
    /// first chunk.
    Null,
    /// A value that is not a generic address.
    Plain,
    /// A generic address within a state space.
    In(&'static str),
    /// A number among the parameters of a kernel, perhaps with an offset: if it is a generic
    /// address, it is one of global memory.
    Parameter,
    /// Any value.
    Unknown,
}

impl Holds {
    /// Returns the state space of the address that a register holds, if an access uses it.
    fn space(self) -> Option<&'static str> {
        match self {
            Holds::In(space) => Some(space),
            Holds::Parameter => Some("global"),
            Holds::Null | Holds::Plain | Holds::Unknown => None,
        }
    }

    fn or(self, other: Holds) -> Holds {
        use Holds::*;
        match (self, other) {
            (Null, other) | (other, Null) => other,
            (left, right) if left == right => left,
            _ => Unknown,
        }
    }
}

/// Gives accesses their state space. Returns the number of changed accesses. `kernel` is the
/// function's name if it is a kernel.
pub(super) fn infer<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    kernel: Option<&str>,
    slices: &[&Slice],
) -> usize {
    let holds = analyze(graph, kernel, slices);
    let mut accesses = Vec::new();
    for block in &graph.blocks {
        for statement in &block.body {
            visit(statement, &mut |it| accesses.extend(address_of(it, &holds)));
        }
    }
    let mut needed: HashSet<&'a str> = accesses.iter().map(|&(name, _)| name).collect();
    if needed.is_empty() {
        return 0;
    }
    // The registers that these are computed from.
    let mut left: Vec<&'a str> = needed.iter().copied().collect();
    let mut written: HashMap<&'a str, Vec<Instruction<'a>>> = HashMap::default();
    for block in &graph.blocks {
        for statement in &block.body {
            visit(statement, &mut |it| {
                results(it, &mut |name| {
                    written.entry(name).or_default().push(it.clone())
                });
            });
        }
    }
    while let Some(name) = left.pop() {
        for it in written.get(name).into_iter().flatten() {
            if matches!(it.opcode, "add" | "sub" | "mov" | "selp") {
                sources(it, &mut |name| {
                    let space = holds.get(name).and_then(|it| it.space());
                    if space.is_some() && needed.insert(name) {
                        left.push(name);
                    }
                });
            }
        }
    }
    let mut sorted: Vec<&'a str> = needed.into_iter().collect();
    sorted.sort_unstable();
    let twins: HashMap<&'a str, &'a str> = (sorted.into_iter())
        .map(|name| (name, graph.register(Type::B64, names)))
        .collect();
    for block in &mut graph.blocks {
        let body = std::mem::take(&mut block.body);
        block.body = rewritten(body, &holds, &twins);
    }
    accesses.len()
}

fn visit<'s, 'a>(statement: &'s Statement<'a>, f: &mut impl FnMut(&'s Instruction<'a>)) {
    super::instructions::instructions(statement, f);
}

/// Determines what each register holds, in the whole function.
fn analyze<'a>(
    graph: &Graph<'a>,
    kernel: Option<&str>,
    slices: &[&Slice],
) -> HashMap<&'a str, Holds> {
    let mut holds: HashMap<&'a str, Holds> = HashMap::default();
    loop {
        let mut changed = false;
        for block in &graph.blocks {
            for statement in &block.body {
                let nested = matches!(statement, Statement::Block(_));
                visit(statement, &mut |it| {
                    let value = match nested {
                        true => Some(Holds::Unknown),
                        false => result_of(graph, it, &holds, kernel, slices),
                    };
                    let Some(value) = value else { return };
                    results(it, &mut |name| {
                        let known = holds.get(name).copied();
                        let new = known.map_or(value, |known| known.or(value));
                        if known != Some(new) {
                            holds.insert(name, new);
                            changed = true;
                        }
                    });
                });
            }
        }
        if !changed {
            return holds;
        }
    }
}

/// Returns what an instruction's result holds, or `None` while that is unknown for its sources.
fn result_of<'a>(
    graph: &Graph<'a>,
    it: &Instruction<'a>,
    holds: &HashMap<&'a str, Holds>,
    kernel: Option<&str>,
    slices: &[&Slice],
) -> Option<Holds> {
    use Holds::*;
    let operand = |operand: &Operand<'a>| match operand {
        Operand::Integer(it) if it.bits < UNMAPPED => Some(Null),
        Operand::Integer(_) | Operand::F32(_) | Operand::F64(_) => Some(Plain),
        Operand::Name(name) if graph.type_of(name).is_none() => Some(Plain),
        Operand::Name(name) => holds.get(name).copied(),
        _ => Some(Unknown),
    };
    let all = || -> Option<Holds> {
        let mut all = Plain;
        for source in &it.operands[1..] {
            match operand(source)? {
                Null | Plain => {}
                In(_) | Parameter | Unknown => all = Unknown,
            }
        }
        Some(all)
    };
    match (it.opcode, &it.modifiers[..], &it.operands[..]) {
        ("cvta", ["to", ..], _) => Some(Plain),
        ("cvta", ["shared", "u64"], _) => Some(In("shared")),
        ("cvta", ["global", "u64"], _) => Some(In("global")),
        ("cvta", ["local", "u64"], _) => Some(In("local")),
        ("mov", ["u64" | "b64" | "s64"], [_, from]) => operand(from),
        // One of them may depend on the result.
        ("selp", ["u64" | "b64" | "s64"], [_, left, right, _]) => {
            match (operand(left), operand(right)) {
                (Some(left), Some(right)) => Some(left.or(right)),
                (left, right) => left.or(right),
            }
        }
        ("add", ["u64" | "s64"], [_, left, right]) => {
            Some(match (operand(left)?, operand(right)?) {
                (space @ (In(_) | Parameter), Plain | Null)
                | (Plain | Null, space @ (In(_) | Parameter)) => space,
                (Null, Plain | Null) if matches!(right, Operand::Integer(_)) => Null,
                (Plain | Null, Plain | Null) => Plain,
                _ => Unknown,
            })
        }
        // The length of a part.
        ("min", ["u64"], [_, Operand::Name(_), Operand::Integer(most)])
            if most.bits <= UNMAPPED =>
        {
            Some(Plain)
        }
        ("sub", ["u64" | "s64"], [_, left, right]) => {
            Some(match (operand(left)?, operand(right)?) {
                (space @ (In(_) | Parameter), Plain | Null) => space,
                (Plain | Null, Plain | Null) => Plain,
                _ => Unknown,
            })
        }
        ("ld", ["param", "u64" | "b64"], [_, Operand::Address(Base::Name(name), offset)]) => {
            let is_slice = slices.iter().any(|slice| {
                let number = name.strip_prefix(&slice.kernel);
                number == Some(&format!("_param_{}", slice.pointer))
            });
            let is_length = slices.iter().any(|slice| {
                let number = name.strip_prefix(&slice.kernel);
                number == Some(&format!("_param_{}", slice.length))
            });
            let is_parameter = kernel.is_some_and(|kernel| {
                let number = name.strip_prefix(kernel);
                number.is_some_and(|number| number.starts_with("_param_"))
            });
            Some(
                match (is_slice && *offset == 0, is_length && *offset == 0) {
                    (true, _) => In("global"),
                    (_, true) => Plain,
                    _ if is_parameter => Parameter,
                    _ => Unknown,
                },
            )
        }
        // Addresses have 64 bits.
        (_, _, [Operand::Name(result), ..])
            if graph.type_of(result).is_some_and(|ty| ty.bits() < 64) =>
        {
            Some(Plain)
        }
        // The result of a multiplication or a left shift is an offset.
        ("mul" | "shl", ..) => Some(match all()? {
            Plain => Plain,
            _ => {
                let mut space = false;
                sources(it, &mut |name| {
                    space |= matches!(holds.get(name), Some(In(_)));
                });
                if space { Unknown } else { Plain }
            }
        }),
        ("cvt" | "mad" | "and" | "or" | "xor" | "shr" | "min" | "max" | "not" | "neg", ..) => all(),
        _ => Some(Unknown),
    }
}

/// Returns the register with the address of an access without a state space, and the space.
fn address_of<'a>(
    it: &Instruction<'a>,
    holds: &HashMap<&'a str, Holds>,
) -> Option<(&'a str, &'static str)> {
    const SPACES: &[&str] = &[
        "const",
        "global",
        "local",
        "param",
        "shared",
        "shared::cta",
        "shared::cluster",
        "async",
        "bulk",
    ];
    let is_access = matches!(it.opcode, "ld" | "ldu" | "st" | "atom" | "red");
    if !is_access || it.modifiers.iter().any(|word| SPACES.contains(word)) {
        return None;
    }
    let mut addresses = it.operands.iter().filter_map(|operand| match operand {
        &Operand::Address(Base::Name(name), _) => Some(name),
        _ => None,
    });
    let address = addresses.next()?;
    match holds.get(address) {
        // Texture references are not generic addresses; their instructions imply the space.
        Some(holds) if addresses.next().is_none() => Some((address, holds.space()?)),
        _ => None,
    }
}

fn rewritten<'a>(
    body: Vec<Statement<'a>>,
    holds: &HashMap<&'a str, Holds>,
    twins: &HashMap<&'a str, &'a str>,
) -> Vec<Statement<'a>> {
    let mut new = Vec::with_capacity(body.len());
    for statement in body {
        match statement {
            Statement::Block(inner) => {
                new.push(Statement::Block(rewritten(inner, holds, twins)));
            }
            Statement::Instruction(mut it) => {
                if let Some((address, space)) = address_of(&it, holds) {
                    let place = (it.modifiers.iter())
                        .position(|word| !ORDER.contains(word))
                        .unwrap_or(it.modifiers.len());
                    it.modifiers.insert(place, space);
                    for operand in &mut it.operands {
                        if let Operand::Address(Base::Name(name), _) = operand
                            && *name == address
                        {
                            *name = twins[address];
                        }
                    }
                }
                let twin = twin_of(&it, holds, twins);
                new.push(Statement::Instruction(it));
                new.extend(twin.map(Statement::Instruction));
            }
            other => new.push(other),
        }
    }
    new
}

/// The modifiers that precede an access's state space.
const ORDER: &[&str] = &[
    "acq_rel", "acquire", "cluster", "cta", "gpu", "mmio", "relaxed", "release", "sys", "volatile",
    "weak",
];

/// Returns the instruction that computes the same address in its own state space.
fn twin_of<'a>(
    it: &Instruction<'a>,
    holds: &HashMap<&'a str, Holds>,
    twins: &HashMap<&'a str, &'a str>,
) -> Option<Instruction<'a>> {
    let Some(&Operand::Name(result)) = it.operands.first() else {
        return None;
    };
    let twin = *twins.get(result)?;
    let own = |operand: &Operand<'a>| match operand {
        Operand::Name(name) if holds.get(name).is_some_and(|it| it.space().is_some()) => twins
            .get(name)
            .map_or_else(|| operand.clone(), |&twin| Operand::Name(twin)),
        _ => operand.clone(),
    };
    let mut new = it.clone();
    new.operands[0] = Operand::Name(twin);
    match it.opcode {
        "cvta" => {
            new.opcode = "mov";
            new.modifiers = vec!["u64"];
        }
        "ld" => {
            new.opcode = "cvta";
            new.modifiers = vec!["to", "global", "u64"];
            new.operands[1] = Operand::Name(result);
        }
        _ => {
            for operand in &mut new.operands[1..] {
                *operand = own(operand);
            }
        }
    }
    Some(new)
}
