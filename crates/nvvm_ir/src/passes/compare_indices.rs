//! The pass `compare_indices`.

use std::collections::HashMap;

use super::compute_elements::{START, arrays, place};
use super::select_elements::{Place, is_plain};
use super::unroll_divergent_loops::users;
use crate::flow::Dominators;
use crate::inst::{Callee, InstKind, IntPred};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::types::{AddrSpace, TypeKind};
use crate::value::{Const, Func, Value};

/// The size of an address in bytes.
const WORD: i64 = 8;

/// The maximum number of elements of a table.
const ELEMENTS: usize = 64;

/// Compares the index instead of the address that a table has at that index, and replaces addresses
/// from the table by constants where such comparisons decide the index.
///
/// ```text
/// let shapes: [&dyn Shape; 3] = [&Circle, &Square { side: 2.0 }, &Line];
/// shapes[kind].area()
/// ```
///
/// `call_directly` replaces such a call by comparisons of the vtable's address, which LLVM loads from
/// the table, a local array. With comparisons of `kind`, the table is not read, and the fields of the
/// objects are constants, also where LLVM computes the address of a field before the comparisons.
///
/// The table is a constant, or a local variable whose elements are always the same constants. An
/// index out of bounds and an element that is not written are undefined in IR, so only the other
/// elements count.
pub fn compare_indices(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let lookups = lookups(module, func);
        if lookups.is_empty() {
            continue;
        }
        let users = users(module, func);
        let tests = compare(module, &users, &lookups);
        if !tests.is_empty() {
            replace_addresses(module, func, &users, &lookups, &tests);
        }
    }
}

/// A load of an address from a table.
pub(super) struct Lookup {
    pub(super) load: Value,
    index: Value,
    /// The addresses by the value of the index.
    pub(super) elements: Vec<(i64, Value)>,
}

/// A comparison of an index with a number.
#[derive(Copy, Clone)]
struct Test {
    index: Value,
    number: i64,
    /// Whether the comparison is true for equal operands.
    is_equal: bool,
}

/// Returns the loads of addresses from tables of constants.
pub(super) fn lookups(module: &Module, func: Func) -> Vec<Lookup> {
    let blocks = module.func(func).blocks.iter();
    let insts = blocks.flat_map(|&block| module.block(block).insts.iter().copied());
    let is_address = |ty| matches!(module.types.kind(ty), TypeKind::Ptr(AddrSpace::Generic));
    let mut loads = Vec::new();
    for inst in insts {
        if let Some(&InstKind::Load { ptr, access }) = module.inst(inst).map(|data| &data.kind)
            && is_plain(&access)
            && is_address(module.ty(inst))
            && let Some((table, place)) = place(module, ptr)
            && let Some(index) = place.index
            && index.scale > 0
        {
            loads.push((inst, table, place.offset, index));
        }
    }
    if loads.is_empty() {
        return Vec::new();
    }
    let users = users(module, func);
    let mut tables: HashMap<Value, Option<HashMap<i64, Value>>> = HashMap::new();
    (loads.into_iter())
        .filter_map(|(load, table, offset, index)| {
            let contents = tables
                .entry(table)
                .or_insert_with(|| contents(module, &users, table))
                .as_ref()?;
            let mut elements = Vec::new();
            for (&at, &element) in contents {
                let distance = at.checked_sub(offset)?;
                if distance % index.scale == 0 {
                    elements.push((distance / index.scale, element));
                }
            }
            elements.sort_unstable_by_key(|&(number, _)| number);
            for (_, element) in &mut elements {
                *element = as_address(module, *element);
            }
            let has_type = |&(_, element): &(i64, Value)| module.ty(element) == module.ty(load);
            // An access between two elements would load parts of both.
            let is_whole = offset % WORD == 0 && index.scale % WORD == 0;
            (is_whole && elements.len() > 1 && elements.iter().all(has_type)).then_some(Lookup {
                load,
                index: index.value,
                elements,
            })
        })
        .collect()
}

/// Returns the words of a table by offset. Returns `None` if a word may have several values.
fn contents(
    module: &Module,
    users: &HashMap<Value, Vec<Value>>,
    table: Value,
) -> Option<HashMap<i64, Value>> {
    let mut words = HashMap::new();
    if let Some(global) = module.as_global(table) {
        let data = module.global(global);
        data.constant.then_some(())?;
        let size = add_words(module, data.init?, 0, &mut words)?;
        return (words.len() <= 2 * ELEMENTS && size == words.len() as i64 * WORD).then_some(words);
    }
    let (all, size) = arrays(module, users, table)?;
    (all.len() == 1 && size <= 2 * ELEMENTS * WORD as usize).then_some(())?;
    let mut pending = vec![(table, START)];
    while let Some((address, place)) = pending.pop() {
        for &user in users.get(&address).into_iter().flatten() {
            match &module.inst(user)?.kind {
                InstKind::Load { access, .. } if is_plain(access) => {}
                &InstKind::Store { value, access, .. }
                    if value != address && place.index.is_none() && is_plain(&access) =>
                {
                    is_constant(module, value).then_some(())?;
                    let is_word = module.types.size(module.ty(value)) == WORD as u64;
                    (is_word && place.offset % WORD == 0).then_some(())?;
                    if *words.entry(place.offset).or_insert(value) != value {
                        return None;
                    }
                }
                InstKind::Gep { .. } => pending.push((user, place.step(module, user)?)),
                InstKind::Call(call) => match call.callee {
                    Callee::Intrinsic(Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd) => {}
                    _ => return None,
                },
                _ => return None,
            }
        }
    }
    Some(words)
}

fn is_constant(module: &Module, value: Value) -> bool {
    module.as_const(value).is_some() || module.as_func(value).is_some()
}

/// Returns the address that a constant is as an integer, or the constant.
fn as_address(module: &Module, constant: Value) -> Value {
    match module.as_const(constant) {
        Some(&Const::PtrToInt(address)) => address,
        _ => constant,
    }
}

/// Adds the words of a constant that consists of nothing else, and returns the offset of its end.
fn add_words(
    module: &Module,
    constant: Value,
    start: i64,
    words: &mut HashMap<i64, Value>,
) -> Option<i64> {
    match module.as_const(constant) {
        Some(Const::Aggregate(elements)) => {
            (elements.iter()).try_fold(start, |at, &element| add_words(module, element, at, words))
        }
        _ => {
            (module.types.size(module.ty(constant)) == WORD as u64).then_some(())?;
            words.insert(start, constant);
            Some(start + WORD)
        }
    }
}

/// Returns the function, or the global variable and the offset, that a constant is the address of. The
/// address is that of a byte of the variable, so addresses of different variables differ.
pub(super) fn address(module: &Module, constant: Value) -> Option<(Value, i64)> {
    if let Some(func) = module.as_func(constant) {
        // A declaration may be another name of the same function.
        return (!module.func(func).blocks.is_empty()).then_some((constant, 0));
    }
    let &Const::Addr { base, offset } = module.as_const(constant)? else {
        return None;
    };
    let data = module.global(module.as_global(base)?);
    let size = i64::try_from(module.types.size(data.ty)).ok()?;
    let is_known = data.space == AddrSpace::Global && data.init.is_some();
    (is_known && (0..size).contains(&offset)).then_some((base, offset))
}

/// Replaces comparisons of addresses from tables by comparisons of indices. Returns the new ones.
fn compare(
    module: &mut Module,
    users: &HashMap<Value, Vec<Value>>,
    lookups: &[Lookup],
) -> HashMap<Value, Test> {
    let mut tests = HashMap::new();
    for lookup in lookups {
        let elements: Option<Vec<(i64, (Value, i64))>> = (lookup.elements.iter())
            .map(|&(number, element)| Some((number, address(module, element)?)))
            .collect();
        let Some(elements) = elements else {
            continue;
        };
        let mut pending = vec![lookup.load];
        while let Some(value) = pending.pop() {
            for &user in users.get(&value).into_iter().flatten() {
                let Some(data) = module.inst(user) else {
                    continue;
                };
                let (pred, other) = match data.kind {
                    InstKind::Cast { .. } if is_global_address(module, user) => {
                        pending.push(user);
                        continue;
                    }
                    InstKind::ICmp { pred, lhs, rhs } if lhs == value => (pred, rhs),
                    InstKind::ICmp { pred, lhs, rhs } if rhs == value => (pred, lhs),
                    _ => continue,
                };
                let is_equal = match pred {
                    IntPred::Eq => true,
                    IntPred::Ne => false,
                    _ => continue,
                };
                let Some(other) = address(module, other) else {
                    continue;
                };
                let mut equal = elements.iter().filter(|(_, element)| *element == other);
                let (Some(&(number, _)), None) = (equal.next(), equal.next()) else {
                    continue;
                };
                let index = lookup.index;
                let rhs = module.const_i64(number);
                if let Some(data) = module.inst_mut(user) {
                    data.kind = InstKind::ICmp {
                        pred,
                        lhs: index,
                        rhs,
                    };
                    let test = Test {
                        index,
                        number,
                        is_equal,
                    };
                    tests.insert(user, test);
                }
            }
        }
    }
    tests
}

/// Returns whether a cast has an address in global memory.
fn is_global_address(module: &Module, cast: Value) -> bool {
    let kind = module.types.kind(module.ty(cast));
    matches!(kind, TypeKind::Ptr(AddrSpace::Global))
}

/// Replaces addresses from tables by constants in blocks in which their index is known.
fn replace_addresses(
    module: &mut Module,
    func: Func,
    users: &HashMap<Value, Vec<Value>>,
    lookups: &[Lookup],
    tests: &HashMap<Value, Test>,
) {
    let dominators = Dominators::new(module, func);
    for lookup in lookups {
        let is_tested = |test: &&Test| test.index == lookup.index && lookup.has(test.number);
        if tests.values().find(is_tested).is_none() {
            continue;
        }
        // Addresses with their distances from that in the table: LLVM computes those of fields once for
        // several objects.
        let mut pending = vec![(lookup.load, 0)];
        while let Some((address, distance)) = pending.pop() {
            for &user in users.get(&address).into_iter().flatten() {
                let constant = lookup.constant_at(module, &dominators, tests, user);
                let constant = constant.and_then(|it| plus(module, it, distance));
                if let Some(constant) = constant
                    && let Some(data) = module.inst_mut(user)
                {
                    data.kind.for_each_operand_mut(|operand| {
                        if *operand == address {
                            *operand = constant;
                        }
                    });
                } else if let Some(distance) = field(module, user, distance) {
                    pending.push((user, distance));
                }
            }
        }
    }
}

/// Returns the distance of an address that is computed from the address at another distance.
fn field(module: &Module, gep: Value, distance: i64) -> Option<i64> {
    let start = Place {
        offset: distance,
        index: None,
    };
    let place = start.step(module, gep)?;
    place.index.is_none().then_some(place.offset)
}

/// Returns the address at a distance from a constant one, if it is in the same global variable.
fn plus(module: &mut Module, constant: Value, distance: i64) -> Option<Value> {
    if distance == 0 {
        return Some(constant);
    }
    let (base, offset) = address(module, constant)?;
    let data = module.global(module.as_global(base)?);
    let size = i64::try_from(module.types.size(data.ty)).ok()?;
    let offset = offset.checked_add(distance)?;
    (0..size)
        .contains(&offset)
        .then(|| module.const_addr(base, offset))
}

impl Lookup {
    fn has(&self, number: i64) -> bool {
        self.elements.iter().any(|&(index, _)| index == number)
    }

    /// Returns the only address that the load can have loaded where an instruction uses it.
    ///
    /// The blocks between that of the load and that of the instruction dominate the instruction, so
    /// their branches have tested this index.
    fn constant_at(
        &self,
        module: &Module,
        dominators: &Dominators,
        tests: &HashMap<Value, Test>,
        user: Value,
    ) -> Option<Value> {
        if module.is_phi(user) {
            return None;
        }
        let start = module.inst(self.load)?.block;
        let mut block = module.inst(user)?.block;
        let mut elements = self.elements.clone();
        while block != start {
            let (from, is_only) = dominators.above(block)?;
            if is_only
                && let Some(last) = module.terminator(from)
                && let InstKind::CondBr { cond, then, .. } = module.inst(last)?.kind
                && let Some(test) = tests.get(&cond)
                && test.index == self.index
            {
                let holds = (then == block) == test.is_equal;
                elements.retain(|&(number, _)| (number == test.number) == holds);
            }
            block = from;
        }
        let &(_, first) = elements.first()?;
        (elements.iter().all(|&(_, element)| element == first)).then_some(first)
    }
}
