//! Unrolls loops that exchange two pointers in each iteration, in LLVM's text.
//!
//! The text is changed instead of a module, because a module lacks metadata of LLVM's.

use std::collections::{HashMap, HashSet};

use super::Reader;
use super::nest_loops::{Body, Lines, incoming, type_of, with_bodies, with_names};
use crate::flow::{Flow, Loop};
use crate::inst::{Callee, InstKind};
use crate::module::Module;
use crate::read::ReadError;
use crate::value::{Block, Const, Func, Value};

/// The maximum number of blocks of a loop.
const BLOCKS: usize = 64;
/// The maximum number of instructions of all copies of a loop.
const INSTS: usize = 600;
/// The number of instructions that a call of a mathematical function counts as.
const CALL: usize = 100;
/// The maximum number of copies.
const COPIES: usize = 4;

/// Copies the body of loops that exchange pointers to different variables, so that each pointer is
/// the same in all iterations of a copy.
///
/// `swap(&mut before, &mut after)` at the end of an iteration makes both pointers phis. With two
/// copies of the body, every access is to a known variable: a local variable can be in registers,
/// and an access of shared memory needs no generic address. Each copy keeps the tests that end the
/// loop, so threads leave and meet as before.
///
/// Values of the loop that code behind it uses are in memory afterwards.
pub(super) fn unroll_swaps(text: &str, reader: &mut Reader) -> Result<String, ReadError> {
    let read = reader.read(text)?;
    let mut swaps: HashMap<&str, Vec<Swap>> = HashMap::new();
    for func in read.funcs() {
        let found = swaps_of(read, func);
        if !found.is_empty() {
            swaps.insert(read.func(func).name.as_str(), found);
        }
    }
    Ok(with_bodies(text, &swaps, |body, swap, number| {
        body.unroll(swap, number)
    }))
}

/// A loop that exchanges pointers. Blocks are given by their index in the function.
struct Swap {
    header: usize,
    latch: usize,
    body: Vec<usize>,
    /// The number of iterations after which the pointers are the same again.
    copies: usize,
}

/// Returns the loops of a function that exchange pointers. The loops are apart.
fn swaps_of(module: &Module, func: Func) -> Vec<Swap> {
    let blocks = &module.func(func).blocks;
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    let mut used = HashSet::new();
    let mut swaps = Vec::new();
    for each in flow.loops() {
        if let Some(swap) = swap_of(module, blocks, &each)
            && swap.body.iter().all(|block| !used.contains(block))
        {
            used.extend(swap.body.iter().copied());
            swaps.push(swap);
        }
    }
    swaps
}

fn swap_of(module: &Module, blocks: &[Block], each: &Loop) -> Option<Swap> {
    let &[latch] = &each.latches[..] else {
        return None;
    };
    let header = blocks[each.header];
    let phis: HashSet<Value> = (module.block(header).insts.iter().copied())
        .take_while(|&inst| module.is_phi(inst))
        .collect();
    // The phi that has the value of the next iteration.
    let next = |phi: Value| {
        let from = module.incoming(phi, blocks[latch])?;
        phis.contains(&from).then_some(from)
    };
    let starts_at_variable = |phi: Value| match module.inst(phi).map(|data| &data.kind) {
        Some(InstKind::Phi(incoming)) => (incoming.iter())
            .filter(|&&(_, from)| from != blocks[latch])
            .all(|&(value, _)| is_variable(module, value)),
        _ => false,
    };
    let mut copies = 1;
    for &phi in &phis {
        if !starts_at_variable(phi) {
            continue;
        }
        let mut length = 1;
        let Some(mut at) = next(phi) else {
            continue;
        };
        while at != phi && length <= COPIES {
            length += 1;
            match next(at) {
                Some(next) if starts_at_variable(at) => at = next,
                _ => length = COPIES + 1,
            }
        }
        if length <= COPIES {
            copies = lcm(copies, length);
        }
    }
    let insts = |block: usize| module.block(blocks[block]).insts.iter();
    let cost = |&inst: &Value| match is_mathematical(module, inst) {
        true => CALL,
        false => 1,
    };
    let size: usize = (each.body.iter().flat_map(|&block| insts(block)))
        .map(cost)
        .sum();
    let has_variable = (each.body.iter().flat_map(|&block| insts(block))).any(|&inst| {
        matches!(
            module.inst(inst).map(|it| &it.kind),
            Some(InstKind::Alloca { .. })
        )
    });
    let is_small = each.body.len() <= BLOCKS && size * copies <= INSTS;
    let unrolls = (2..=COPIES).contains(&copies)
        && is_small
        && !has_variable
        && !module.block(blocks[latch]).no_unroll;
    unrolls.then(|| Swap {
        header: each.header,
        latch,
        body: each.body.iter().copied().collect(),
        copies,
    })
}

/// Returns whether an instruction calls a function of libdevice, which libnvvm inlines.
fn is_mathematical(module: &Module, inst: Value) -> bool {
    let Some(InstKind::Call(call)) = module.inst(inst).map(|data| &data.kind) else {
        return false;
    };
    let Callee::Value(callee) = call.callee else {
        return false;
    };
    let func = module.as_func(callee).map(|func| module.func(func));
    func.is_some_and(|func| func.name.starts_with("__nv_"))
}

fn lcm(a: usize, b: usize) -> usize {
    let mut multiple = a;
    while !multiple.is_multiple_of(b) {
        multiple += a;
    }
    multiple
}

/// Returns whether a value is an address in a local variable or a global, perhaps as an integer.
fn is_variable(module: &Module, mut value: Value) -> bool {
    loop {
        if let Some(constant) = module.as_const(value) {
            return matches!(constant, Const::Addr { .. } | Const::PtrToInt(_));
        }
        value = match module.inst(value).map(|data| &data.kind) {
            Some(InstKind::Alloca { .. }) => return true,
            Some(&InstKind::Gep { base, .. }) => base,
            Some(&InstKind::Cast { value, .. }) => value,
            _ => return false,
        };
    }
}

impl<'a> Body<'a> {
    /// Copies the body of a loop.
    fn unroll(mut self, swap: &Swap, number: usize) -> Option<Vec<String>> {
        let label = format!("swap.{number}");
        let blocks = self.blocks.clone();
        let header = &blocks[swap.header];
        let latch = &blocks[swap.latch];
        let lines = self.lines;
        let is_in: HashSet<usize> = swap.body.iter().copied().collect();
        // The blocks and values of the loop, without `%`.
        let labels: HashSet<&str> = is_in.iter().map(|&at| blocks[at].name.as_str()).collect();
        let mut values: HashMap<&str, usize> = HashMap::new();
        for &block in &swap.body {
            let Lines {
                first, terminator, ..
            } = blocks[block];
            for (at, line) in (first..).zip(&lines[first..terminator]) {
                if let Some((name, _)) = line.trim().split_once(" = ") {
                    values.insert(name.strip_prefix('%')?, at);
                }
            }
        }
        let is_metadata = |line: &String| line.contains("!llvm.loop");
        if lines[latch.terminator..latch.end].iter().any(is_metadata) {
            return None;
        }
        let name_in = |name: &str, copy: usize| -> Option<String> {
            let own = name.strip_prefix('%').unwrap_or(name);
            let is_own = labels.contains(own) || values.contains_key(own);
            (copy > 0 && is_own).then(|| format!("{label}.{copy}.{own}"))
        };
        let in_copy = |line: &str, copy: usize| {
            with_names(line, |name| Some(format!("%{}", name_in(name, copy)?)))
        };

        // The slots of values that other blocks use.
        let mut slots: HashMap<String, (String, &'a str)> = HashMap::new();
        let mut count = 0;
        for (index, block) in blocks.iter().enumerate() {
            if is_in.contains(&index) {
                continue;
            }
            for at in block.first..block.end {
                let line = &lines[at];
                let mut load = |own: &str, slots: &mut HashMap<String, (String, &'a str)>| {
                    let &defined = values.get(own)?;
                    if !slots.contains_key(own) {
                        let (_, value) = lines[defined].trim().split_once(" = ")?;
                        let slot = format!("%{label}.s{}", slots.len());
                        slots.insert(own.to_owned(), (slot, type_of_any(value)?));
                    }
                    let (slot, ty) = &slots[own];
                    count += 1;
                    let new = format!("%{label}.v{count}");
                    Some((format!("  {new} = load {ty}, ptr {slot}, align 8"), new))
                };
                if line.contains(" = phi ") {
                    let mut pairs = Vec::new();
                    for (value, from) in incoming(line)? {
                        if labels.contains(from) {
                            for copy in 0..swap.copies {
                                let value = in_copy(value, copy);
                                let from = name_in(from, copy).unwrap_or_else(|| from.to_owned());
                                pairs.push(format!("[ {value}, %{from} ]"));
                            }
                        } else if let Some(own) = value.strip_prefix('%')
                            && values.contains_key(own)
                        {
                            let (line, value) = load(own, &mut slots)?;
                            let from_block = blocks.iter().find(|it| it.name == from)?;
                            self.add(from_block.terminator, line);
                            pairs.push(format!("[ {value}, %{from} ]"));
                        } else {
                            pairs.push(format!("[ {value}, %{from} ]"));
                        }
                    }
                    let (start, rest) = line.split_once(" [ ")?;
                    let end = rest.rfind(" ]").map(|end| &rest[end + 2..])?;
                    self.changed
                        .insert(at, format!("{start} {}{end}", pairs.join(", ")));
                    continue;
                }
                let mut used: Vec<String> = Vec::new();
                with_names(line, |name| {
                    let own = &name[1..];
                    if values.contains_key(own) && !used.iter().any(|it| it == own) {
                        used.push(own.to_owned());
                    }
                    None
                });
                if used.is_empty() {
                    continue;
                }
                let mut new: HashMap<String, String> = HashMap::new();
                for own in used {
                    let (line, value) = load(&own, &mut slots)?;
                    // A switch is several lines.
                    self.add(at.min(block.terminator), line);
                    new.insert(format!("%{own}"), value);
                }
                self.changed
                    .insert(at, with_names(line, |name| new.get(name).cloned()));
            }
        }
        let first = blocks.first()?.first;
        let mut all: Vec<(String, String)> = (slots.values())
            .map(|(slot, ty)| (slot.clone(), (*ty).to_owned()))
            .collect();
        all.sort();
        for (slot, ty) in all {
            self.add(first, format!("  {slot} = alloca {ty}, align 8"));
        }

        // The header of each copy follows the latch of the copy before.
        let latch_in = |copy: usize| name_in(&latch.name, copy).unwrap_or(latch.name.clone());
        let header_in = |copy: usize| {
            let copy = copy % swap.copies;
            name_in(&header.name, copy).unwrap_or(header.name.clone())
        };
        let mut copied = Vec::new();
        for copy in 0..swap.copies {
            for &block in &swap.body {
                let block = &blocks[block];
                let mut text = vec![format!(
                    "{}:",
                    name_in(&block.name, copy).unwrap_or_default()
                )];
                let mut stores = Vec::new();
                for (at, line) in (block.first..).zip(&lines[block.first..block.end]) {
                    let mut new = without_scopes(line, copy)?;
                    let is_phi = line.contains(" = phi ");
                    if is_phi && block.name == header.name {
                        let before = (copy + swap.copies - 1) % swap.copies;
                        let mut pairs = Vec::new();
                        for (value, from) in incoming(line)? {
                            if from == latch.name {
                                let value = in_copy(value, before);
                                pairs.push(format!("[ {value}, %{} ]", latch_in(before)));
                            } else if copy == 0 {
                                pairs.push(format!("[ {value}, %{from} ]"));
                            }
                        }
                        let (start, rest) = line.split_once(" [ ")?;
                        let end = rest.rfind(" ]").map(|end| &rest[end + 2..])?;
                        let start = in_copy(start, copy);
                        new = format!("{start} {}{end}", pairs.join(", "));
                    } else if block.name == latch.name && at >= block.terminator {
                        new = with_names(&new, |name| match name[1..] == *header.name {
                            true => Some(format!("%{}", header_in(copy + 1))),
                            false => Some(format!("%{}", name_in(name, copy)?)),
                        });
                    } else {
                        new = in_copy(&new, copy);
                    }
                    if !is_phi {
                        text.append(&mut stores);
                    }
                    text.push(new);
                    if let Some((name, _)) = line.trim().split_once(" = ")
                        && let Some((slot, ty)) = slots.get(name.trim_start_matches('%'))
                    {
                        let value = in_copy(name, copy);
                        let store = format!("  store {ty} {value}, ptr {slot}, align 8");
                        match is_phi {
                            true => stores.push(store),
                            false => text.push(store),
                        }
                    }
                }
                if copy == 0 {
                    self.replace(block, &text[1..]);
                } else {
                    copied.append(&mut text);
                }
            }
        }
        self.last.extend(copied);
        Some(self.finish())
    }

    /// Replaces the lines of a block.
    pub(super) fn replace(&mut self, block: &Lines, new: &[String]) {
        for at in block.first..block.end {
            self.changed.insert(at, String::new());
        }
        self.changed.insert(block.first, new.join("\n"));
    }
}

/// Returns a line of a copy of a loop without scopes of aliases, which hold for one iteration.
pub(super) fn without_scopes(line: &str, copy: usize) -> Option<String> {
    if copy == 0 {
        return Some(line.to_owned());
    }
    if line.contains("@llvm.experimental.noalias.scope.decl") {
        return Some(String::new());
    }
    Some(without_aliases(line))
}

/// Returns a line without scopes of aliases.
pub(super) fn without_aliases(line: &str) -> String {
    let mut line = line.to_owned();
    for kind in [", !alias.scope !", ", !noalias !"] {
        if let Some(start) = line.find(kind) {
            let digits = &line[start + kind.len()..];
            let length = digits.bytes().take_while(u8::is_ascii_digit).count();
            line.replace_range(start..start + kind.len() + length, "");
        }
    }
    line
}

/// Returns the type of an instruction's result, if it is a number or a generic address.
pub(super) fn type_of_any(inst: &str) -> Option<&str> {
    let (op, rest) = inst.split_once(' ')?;
    match op {
        "load" => {
            let ty = rest.split(',').next()?;
            type_of_word(ty)
        }
        "phi" | "freeze" | "icmp" | "fcmp" | "getelementptr" | "select" | "zext" | "sext"
        | "trunc" | "add" | "sub" | "mul" | "and" | "or" | "xor" | "shl" | "lshr" | "ashr"
        | "fadd" | "fsub" | "fmul" | "fdiv" | "fneg" | "uitofp" | "sitofp" | "fptoui"
        | "fptosi" | "fpext" | "fptrunc" | "ptrtoint" | "inttoptr" | "bitcast" | "udiv"
        | "sdiv" | "urem" | "srem" | "frem" => type_of(inst),
        _ => None,
    }
}

/// Returns a type if it is a number or a generic address.
pub(super) fn type_of_word(ty: &str) -> Option<&str> {
    let bits = ty.strip_prefix('i').map(str::parse::<u32>);
    let is_int = bits.is_some_and(|bits| bits.is_ok());
    (is_int || ["ptr", "half", "bfloat", "float", "double"].contains(&ty)).then_some(ty)
}
