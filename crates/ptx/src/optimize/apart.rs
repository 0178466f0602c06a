//! Starts the loads of a loop before its stores, if they access other memory.
//!
//! Raw pointers may point to the same memory. So a load of the second of four unrolled iterations
//! waits until the first one has stored, and an iteration waits four times for memory. This pass
//! compares the addresses before the loop: the difference of two that each iteration changes equally
//! remains. A copy of the loop, whose loads come first, runs if no load reads what a store writes that
//! it passes.

use crate::hash::{HashMap, HashSet};

use super::divisions::{is_constant, is_load};
use super::flow::{Graph, Id};
use super::instructions::{can_be_copied, has_effect, results};
use super::loops::{self, Loop};
use super::names::Names;
use super::version::number;
use super::{bytes_of, words};
use crate::rewrite::instruction;
use crate::{Base, Instruction, Operand, Statement, Type};

/// The maximum number of comparisons of addresses.
const CHECKS: usize = 8;

/// The maximum number of 32-bit words that the loads read.
const WORDS: usize = 16;

/// An address: the value of a register at the start of an iteration, plus a multiple of a register
/// that does not change, plus a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Address<'a> {
    base: &'a str,
    /// The register, and how often it is added.
    steps: Option<(&'a str, u32)>,
    offset: i64,
}

impl<'a> Address<'a> {
    fn new(base: &'a str) -> Address<'a> {
        Address {
            base,
            steps: None,
            offset: 0,
        }
    }

    /// Returns the sum of the address and an operand.
    fn plus(self, operand: &Operand<'a>, each: &Loop<'a>) -> Option<Address<'a>> {
        let mut sum = self;
        match operand {
            Operand::Integer(number) => {
                sum.offset = sum.offset.wrapping_add(number.bits as i64);
            }
            &Operand::Name(step) if each.is_invariant(operand) => {
                sum.steps = match self.steps {
                    None => Some((step, 1)),
                    Some((same, times)) if same == step => Some((step, times + 1)),
                    Some(_) => return None,
                };
            }
            _ => return None,
        }
        Some(sum)
    }

    /// Appends instructions that compute the address without its offset, and returns its register.
    fn emit(
        self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        body: &mut Vec<Statement<'a>>,
        known: &mut HashMap<(&'a str, &'a str, u32), &'a str>,
    ) -> &'a str {
        let mut register = self.base;
        let Some((step, times)) = self.steps else {
            return register;
        };
        for time in 1..=times {
            register = *known.entry((self.base, step, time)).or_insert_with(|| {
                let operands = [register, step].map(Operand::Name);
                graph.emit(names, body, Type::B64, "add", &["s64"], operands)
            });
        }
        register
    }
}

/// An access of the loop.
struct Access<'a> {
    index: usize,
    address: Address<'a>,
    bytes: u64,
}

/// Two accesses that must not overlap: a load, and a store that it passes.
type Pair<'a> = [(Address<'a>, u64); 2];

/// Adds copies of loops, except of those that begin with a block of `slow`. Returns how many.
pub(super) fn load_first<'a>(graph: &mut Graph<'a>, names: &'a Names, slow: &HashSet<Id>) -> usize {
    let mut count = 0;
    for each in loops::innermost(graph, &graph.cold()) {
        if !slow.contains(&each.header) && each.blocks.len() == 1 {
            count += usize::from(load_first_in(graph, names, &each).is_some());
        }
    }
    count
}

fn load_first_in<'a>(graph: &mut Graph<'a>, names: &'a Names, each: &Loop<'a>) -> Option<()> {
    let id = each.header;
    let (loads, pairs) = passing(graph, each)?;
    let mut test = Vec::new();
    let mut known = HashMap::default();
    let mut apart = None;
    for [(load, read), (store, written)] in pairs {
        let addresses = [load, store].map(|it| it.emit(graph, names, &mut test, &mut known));
        let operands = addresses.map(Operand::Name);
        let difference = graph.emit(names, &mut test, Type::B64, "sub", &["s64"], operands);
        // The load ends before the store begins, or begins after it ends.
        let offset = load.offset.wrapping_sub(store.offset);
        let offset = offset.wrapping_add(read as i64 - 1);
        let operands = [Operand::Name(difference), number(offset as u64)];
        let sum = graph.emit(names, &mut test, Type::B64, "add", &["s64"], operands);
        let operands = [Operand::Name(sum), number(read + written - 1)];
        let ge = graph.emit(
            names,
            &mut test,
            Type::Pred,
            "setp",
            &["ge", "u64"],
            operands,
        );
        apart = Some(match apart {
            None => ge,
            Some(before) => graph.and(names, &mut test, [before, ge]),
        });
    }

    let mut body = Vec::new();
    let mut known = HashMap::default();
    let mut moved: HashMap<usize, (&'a str, Type)> = HashMap::default();
    for load in &loads {
        let Statement::Instruction(it) = graph.blocks[id].body[load.index].clone() else {
            return None;
        };
        let &Operand::Name(result) = it.operands.first()? else {
            return None;
        };
        let ty = graph.type_of(result)?;
        let base = load.address.emit(graph, names, &mut body, &mut known);
        let address = Operand::Address(Base::Name(base), load.address.offset);
        let loaded = graph.emit(names, &mut body, ty, it.opcode, &it.modifiers, [address]);
        moved.insert(load.index, (loaded, ty));
    }
    for (index, statement) in graph.blocks[id].body.clone().into_iter().enumerate() {
        match (statement, moved.get(&index)) {
            (Statement::Instruction(it), Some(&(loaded, ty))) => {
                let operands = vec![it.operands.into_iter().next()?, Operand::Name(loaded)];
                body.push(instruction("mov", &[ty.name()], operands));
            }
            (Statement::Label(_), _) => {}
            (statement, _) => body.push(statement),
        }
    }

    let end = graph.blocks[id].end.clone();
    loops::add_tested(graph, names, each, (test, apart?), (body, end), false);
    Some(())
}

/// Returns the loads of a loop that can pass stores before them, and the accesses that must not
/// overlap.
fn passing<'a>(graph: &Graph<'a>, each: &Loop<'a>) -> Option<(Vec<Access<'a>>, Vec<Pair<'a>>)> {
    let mut now: HashMap<&'a str, Option<Address<'a>>> = HashMap::default();
    let (mut loads, mut stores) = (Vec::new(), Vec::new());
    for (index, statement) in graph.blocks[each.header].body.iter().enumerate() {
        let it = match statement {
            Statement::Instruction(it) if it.guard.is_none() && can_be_copied(it) => it,
            Statement::Loc(_) | Statement::Label(_) => continue,
            _ => return None,
        };
        let current = |name: &'a str| match now.get(name) {
            Some(&known) => known,
            None => Some(Address::new(name)),
        };
        let access = |operand: &Operand<'a>| {
            let &Operand::Address(Base::Name(name), offset) = operand else {
                return None;
            };
            let mut address = current(name)?;
            address.offset = address.offset.wrapping_add(offset);
            Some(Access {
                index,
                address,
                bytes: bytes_of(it) as u64,
            })
        };
        if has_effect(it) {
            if !is_store(it) {
                return None;
            }
            stores.push(access(it.operands.first()?)?);
        } else if is_load(it)
            && !is_constant(it)
            && !stores.is_empty()
            && matches!(it.operands[0], Operand::Name(_))
        {
            loads.extend(access(&it.operands[1]));
        }
        let sum = match (it.opcode, &it.modifiers[..], &it.operands[..]) {
            ("add", ["s64" | "u64"], [_, a, b]) => {
                let sum = |from: &Operand<'a>, step: &Operand<'a>| match from {
                    Operand::Name(from) => current(from)?.plus(step, each),
                    _ => None,
                };
                sum(a, b).or_else(|| sum(b, a))
            }
            ("mov", ["b64" | "s64" | "u64"], [_, Operand::Name(from)]) => current(from),
            _ => None,
        };
        results(it, &mut |name| _ = now.insert(name, sum));
    }
    // How an iteration changes a register.
    let change = |name: &'a str| {
        let next = now.get(name).copied().unwrap_or(Some(Address::new(name)))?;
        (next.base == name).then_some((next.steps, next.offset))
    };
    let mut pairs: Vec<Pair<'a>> = Vec::new();
    loads.retain(|load| {
        let mut own = Vec::new();
        for store in stores.iter().filter(|store| store.index < load.index) {
            let [a, b] = [load.address, store.address];
            if change(a.base).is_none() || change(a.base) != change(b.base) {
                return false;
            }
            let pair = nearer([(a, load.bytes), (b, store.bytes)]);
            let [(a, read), (b, written)] = pair;
            if (a.base, a.steps) != (b.base, b.steps) {
                own.push(pair);
            } else if (a.offset as u64).wrapping_add(read - 1) < read + written - 1 {
                return false;
            }
        }
        pairs.extend(own);
        true
    });
    pairs
        .sort_unstable_by_key(|pair| pair.map(|(it, bytes)| (it.base, it.steps, it.offset, bytes)));
    pairs.dedup();
    let mut read = 0;
    for load in &loads {
        if let Statement::Instruction(it) = &graph.blocks[each.header].body[load.index] {
            read += words(it);
        }
    }
    let suits = read <= WORDS && (1..=CHECKS).contains(&pairs.len());
    suits.then_some((loads, pairs))
}

/// Returns whether an instruction stores to global memory without an ordering, which would come
/// before the state space.
fn is_store(it: &Instruction<'_>) -> bool {
    it.opcode == "st" && it.modifiers.first() == Some(&"global")
}

/// Returns two accesses with the same difference, of which one has no steps if both have the same.
fn nearer(pair: Pair<'_>) -> Pair<'_> {
    let [(mut a, read), (mut b, written)] = pair;
    a.offset = a.offset.wrapping_sub(b.offset);
    b.offset = 0;
    if let (Some((step, times)), Some((same, fewer))) = (a.steps, b.steps)
        && step == same
    {
        let both = times.min(fewer);
        let rest = |times: u32| (times > both).then_some((step, times - both));
        (a.steps, b.steps) = (rest(times), rest(fewer));
    }
    [(a, read), (b, written)]
}
