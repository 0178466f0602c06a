//! Nests the loops of iterators of iterators, in LLVM's text.
//!
//! The text is changed instead of a module, because a module lacks metadata of LLVM's.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::Reader;
use super::fold::folded;
use crate::flow::{Flow, Loop};
use crate::inst::{Callee, InstKind};
use crate::module::Module;
use crate::read::ReadError;
use crate::value::{Block, Func, Value};

/// The maximum number of blocks of a loop.
const BLOCKS: usize = 128;
/// The maximum number of instructions in a loop's header, without phis.
const INSTS: usize = 12;

/// Nests loops that test in each iteration whether an inner iterator has another element.
///
/// `for (x, y) in (0..h).flat_map(|y| (0..w).map(move |x| (x, y)))` is one loop, whose header tests
/// whether there is an inner iterator with an element. If not, the next inner iterator is taken
/// from the outer one. In the first iteration there is none, so the way into the loop can skip the test.
/// The blocks that take the next inner iterator are then the header of an outer loop.
///
/// No block is copied but the header. The variables of the header are in memory afterwards.
pub(super) fn nest_loops(text: &str, reader: &mut Reader) -> Result<String, ReadError> {
    let read = reader.read(text)?;
    let mut entries: HashMap<&str, Vec<Entry>> = HashMap::new();
    for func in read.funcs() {
        let found = entries_of(read, func);
        if !found.is_empty() {
            entries.insert(read.func(func).name.as_str(), found);
        }
    }
    Ok(with_bodies(text, &entries, |body, entry, number| {
        body.skip_header(entry, number)
    }))
}

/// Applies changes to functions of a text, given by the functions' names. A change that returns
/// `None` is not applied. Changes get their number in the function.
pub(super) fn with_bodies<T>(
    text: &str,
    changes: &HashMap<&str, Vec<T>>,
    apply: impl Fn(Body<'_>, &T, usize) -> Option<Vec<String>>,
) -> String {
    if changes.is_empty() {
        return text.to_owned();
    }
    let mut changed = String::with_capacity(text.len());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let name = line
            .strip_prefix("define ")
            .and_then(|it| it.split_once('@'));
        let name = name.and_then(|(_, rest)| rest.split_once('('));
        let Some(own_changes) = name.and_then(|(name, _)| changes.get(name.trim_matches('"')))
        else {
            changed.push_str(line);
            changed.push('\n');
            continue;
        };
        let mut own = vec![line.to_owned()];
        own.extend(
            lines
                .by_ref()
                .take_while(|&it| it != "}")
                .map(str::to_owned),
        );
        for (number, change) in own_changes.iter().enumerate() {
            own = Body::new(&own)
                .and_then(|body| apply(body, change, number))
                .unwrap_or(own);
        }
        own.push("}".to_owned());
        for line in own {
            changed.push_str(&line);
            changed.push('\n');
        }
    }
    changed
}

/// A way into a loop that can skip the header. Blocks are given by their index in the function.
struct Entry {
    before: usize,
    header: usize,
    /// The successor of the header on this way.
    to: usize,
}

/// Returns the ways into loops of a function that can skip the header. The loops are apart.
fn entries_of(module: &Module, func: Func) -> Vec<Entry> {
    let blocks = &module.func(func).blocks;
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    let mut used = HashSet::new();
    let mut entries = Vec::new();
    for each in flow.loops() {
        if let Some(entry) = entry_of(module, blocks, &index, &flow, &each)
            && each.body.iter().all(|block| !used.contains(block))
        {
            used.extend(each.body.iter().copied());
            entries.push(entry);
        }
    }
    entries
}

fn entry_of(
    module: &Module,
    blocks: &[Block],
    index: &HashMap<Block, usize>,
    flow: &Flow,
    each: &Loop,
) -> Option<Entry> {
    let header = blocks[each.header];
    let mut before = (flow.predecessors(each.header).iter())
        .map(|&from| from as usize)
        .filter(|from| !each.latches.contains(from));
    let (Some(before), None) = (before.next(), before.next()) else {
        return None;
    };
    let (&terminator, insts) = module.block(header).insts.split_last()?;
    let phis = insts
        .iter()
        .take_while(|&&inst| module.is_phi(inst))
        .count();
    let is_short = each.body.len() <= BLOCKS && (1..=INSTS).contains(&(insts.len() - phis));
    let ends = |from: usize| module.block(blocks[from]).no_unroll;
    if !is_short || each.latches.contains(&each.header) || each.latches.iter().any(|&it| ends(it)) {
        return None;
    }
    let starts: HashMap<Value, Value> = insts[..phis]
        .iter()
        .map(|&phi| Some((phi, module.incoming(phi, blocks[before])?)))
        .collect::<Option<_>>()?;
    let InstKind::CondBr {
        cond,
        then,
        otherwise,
    } = module.inst(terminator)?.kind
    else {
        return None;
    };
    let (to, other) = match folded(module, header, &starts, cond)? {
        0 => (otherwise, then),
        _ => (then, otherwise),
    };
    let (to, other) = (index[&to], index[&other]);
    let successors = |block: usize| -> Vec<usize> {
        let terminator = module.terminator(blocks[block]);
        let data = terminator.and_then(|inst| module.inst(inst));
        let to = data.map(|data| data.kind.successors()).unwrap_or_default();
        to.into_iter().map(|to| index[&to]).collect()
    };
    let is_in = |block: &usize| each.body.contains(block);
    let nests = is_in(&to)
        && is_in(&other)
        && to != other
        && ![to, other].contains(&each.header)
        && each
            .body
            .iter()
            .all(|&block| is_plain(module, blocks[block]))
        && is_reducible(&each.body, to, successors);
    // The blocks that take the next inner iterator end the loop if there is none.
    let taking = reach(to, &[other, each.header], |block| {
        successors(block).into_iter().filter(is_in).collect()
    });
    let panics = |block: usize| {
        let terminator = module.terminator(blocks[block]);
        let data = terminator.and_then(|inst| module.inst(inst));
        matches!(data.map(|data| &data.kind), Some(InstKind::Unreachable))
    };
    let mut exits = taking.iter().flat_map(|&block| successors(block));
    let ends = exits.any(|to| !is_in(&to) && !panics(to));
    let is_copied = insts[phis..].iter().all(|&inst| is_pure(module, inst));
    (nests && ends && is_copied).then_some(Entry {
        before,
        header: each.header,
        to,
    })
}

/// Returns whether the threads of a warp need not run a block together.
pub(super) fn is_plain(module: &Module, block: Block) -> bool {
    let insts = module.block(block).insts.iter();
    insts.filter_map(|&inst| module.inst(inst)).all(|data| {
        let InstKind::Call(call) = &data.kind else {
            return true;
        };
        match &call.callee {
            Callee::Asm(asm) => !asm.convergent,
            Callee::Intrinsic(_) => !call.convergent,
            Callee::Value(callee) => {
                let func = module.as_func(*callee).map(|func| module.func(func));
                let is_plain = func.is_some_and(|func| !func.attrs.convergent);
                is_plain && !call.convergent
            }
        }
    })
}

fn is_pure(module: &Module, inst: Value) -> bool {
    let kind = module.inst(inst).map(|data| &data.kind);
    matches!(
        kind,
        Some(
            InstKind::Bin { .. }
                | InstKind::Cast { .. }
                | InstKind::Gep { .. }
                | InstKind::ICmp { .. }
                | InstKind::FCmp { .. }
                | InstKind::Freeze(_)
                | InstKind::Select { .. }
        )
    )
}

/// Returns the blocks that are reachable from a block without passing some others.
fn reach(
    from: usize,
    without: &[usize],
    successors: impl Fn(usize) -> Vec<usize>,
) -> BTreeSet<usize> {
    let (mut seen, mut pending) = (BTreeSet::new(), vec![from]);
    while let Some(block) = pending.pop() {
        if !without.contains(&block) && seen.insert(block) {
            pending.extend(successors(block));
        }
    }
    seen
}

/// Returns whether blocks that are entered at one of them form nested loops, each of which is
/// entered at one block.
pub(super) fn is_reducible(
    body: &BTreeSet<usize>,
    entry: usize,
    successors: impl Fn(usize) -> Vec<usize>,
) -> bool {
    let inside = |block: usize| -> Vec<usize> {
        let to = successors(block).into_iter();
        to.filter(|to| body.contains(to)).collect()
    };
    if reach(entry, &[], inside) != *body {
        return false;
    }
    // Without the edges to a block that precedes on all ways, no cycle is left.
    let mut back = HashSet::new();
    for &to in body {
        let others = reach(entry, &[to], inside);
        let dominated = body.iter().filter(|block| !others.contains(block));
        back.extend(dominated.map(|&from| (from, to)));
    }
    let ahead = |block: usize| -> Vec<usize> {
        let to = inside(block).into_iter();
        to.filter(|&to| !back.contains(&(block, to))).collect()
    };
    let follows = |block: usize| ahead(block).into_iter().map(|to| reach(to, &[], ahead));
    !(body.iter()).any(|&block| follows(block).any(|it| it.contains(&block)))
}

/// The text of a function, up to its closing brace.
#[derive(Clone)]
pub(super) struct Body<'a> {
    pub(super) lines: &'a [String],
    pub(super) blocks: Vec<Lines>,
    /// Lines to add before a line.
    added: BTreeMap<usize, Vec<String>>,
    /// New texts of lines.
    pub(super) changed: HashMap<usize, String>,
    /// Lines to add at the end.
    pub(super) last: Vec<String>,
}

/// The lines of a block.
#[derive(Clone)]
pub(super) struct Lines {
    /// The name, without `%`.
    pub(super) name: String,
    pub(super) first: usize,
    /// The first line of the terminator.
    pub(super) terminator: usize,
    /// The line after the last one.
    pub(super) end: usize,
}

impl<'a> Body<'a> {
    fn new(lines: &'a [String]) -> Option<Body<'a>> {
        // Names in quotes are rare.
        if lines.iter().skip(1).any(|line| line.contains("%\"")) {
            return None;
        }
        let mut blocks: Vec<Lines> = Vec::new();
        for (at, line) in lines.iter().enumerate().skip(1) {
            let label = line.split(';').next().unwrap_or_default().trim_end();
            if !line.starts_with(' ')
                && let Some(name) = label.strip_suffix(':')
            {
                blocks.push(Lines {
                    name: name.to_owned(),
                    first: at + 1,
                    terminator: at + 1,
                    end: at + 1,
                });
            } else if !label.trim().is_empty() {
                if blocks.is_empty() {
                    blocks.push(Lines {
                        name: number_before(&lines[at..])?.to_string(),
                        first: at,
                        terminator: at,
                        end: at,
                    });
                }
                let block = blocks.last_mut()?;
                let is_case = line.starts_with("    ") || label.trim().starts_with(']');
                if !is_case {
                    block.terminator = at;
                }
                block.end = at + 1;
            }
        }
        Some(Body {
            lines,
            blocks,
            added: BTreeMap::new(),
            changed: HashMap::new(),
            last: Vec::new(),
        })
    }

    /// Lets a way into a loop skip the header.
    fn skip_header(mut self, entry: &Entry, number: usize) -> Option<Vec<String>> {
        let header = self.blocks[entry.header].clone();
        let before = self.blocks[entry.before].clone();
        let to = self.blocks[entry.to].clone();
        let label = format!("nest.{number}");
        // The slot and the type of each value of the header.
        let mut slots: HashMap<&str, (String, &str)> = HashMap::new();
        let mut phis = Vec::new();
        let mut others = Vec::new();
        let lines = self.lines;
        for (at, line) in (header.first..).zip(&lines[header.first..header.terminator]) {
            let (name, value) = line.trim().split_once(" = ")?;
            slots.insert(
                name,
                (format!("%{label}.s{}", slots.len()), type_of(value)?),
            );
            match value.starts_with("phi ") {
                true => phis.push((at, name, incoming(line)?)),
                false => others.push((at, name)),
            }
        }
        let first = self.blocks.first()?.first;
        let mut all: Vec<&(String, &str)> = slots.values().collect();
        all.sort();
        for (slot, ty) in all {
            self.add(first, format!("  {slot} = alloca {ty}, align 8"));
        }
        let load = |name: &str, count: &mut usize| {
            let (slot, ty) = &slots[name];
            *count += 1;
            let new = format!("%{label}.v{count}");
            (format!("  {new} = load {ty}, ptr {slot}, align 8"), new)
        };
        let mut count = 0;

        // The way into the loop computes what the header does.
        let mut starts: HashMap<&str, String> = HashMap::new();
        let mut start = vec![format!("{label}.start:")];
        for (_, name, incoming) in &phis {
            let mut own = incoming.iter().filter(|(_, from)| *from == before.name);
            let (Some((value, _)), None) = (own.next(), own.next()) else {
                return None;
            };
            starts.insert(name, (*value).to_owned());
        }
        for (at, name) in &others {
            let copy = format!("%{label}.c{}", starts.len());
            let line = with_names(&self.lines[*at], |name| starts.get(name).cloned());
            start.push(line.replacen(name, &copy, 1));
            starts.insert(name, copy);
        }
        for (_, name, _) in &phis {
            let (slot, ty) = &slots[name];
            start.push(format!(
                "  store {ty} {}, ptr {slot}, align 8",
                starts[name]
            ));
        }
        for (_, name) in &others {
            let (slot, ty) = &slots[name];
            start.push(format!(
                "  store {ty} {}, ptr {slot}, align 8",
                starts[name]
            ));
        }
        start.push(format!("  br label %{}", to.name));
        self.last.extend(start);
        self.redirect(&before, &header.name, &format!("{label}.start"));

        // The ways back store what the header loads.
        let latches: Vec<String> = (phis.first()?.2.iter())
            .filter(|(_, from)| *from != before.name)
            .map(|(_, from)| (*from).to_owned())
            .collect();
        for (index, latch) in latches.iter().enumerate() {
            let block = self.blocks.iter().find(|it| it.name == *latch)?.clone();
            if latches[..index].contains(latch)
                || self.lines[block.end - 1].contains("!llvm.loop")
                || self.lines[block.terminator].contains("!llvm.loop")
            {
                return None;
            }
            let mut back = vec![format!("{label}.back{index}:")];
            let mut stores = Vec::new();
            for (_, name, incoming) in &phis {
                let (value, _) = incoming.iter().find(|(_, from)| from == latch)?;
                let value = if slots.contains_key(value) {
                    let (line, value) = load(value, &mut count);
                    back.push(line);
                    value
                } else {
                    (*value).to_owned()
                };
                let (slot, ty) = &slots[name];
                stores.push(format!("  store {ty} {value}, ptr {slot}, align 8"));
            }
            back.extend(stores);
            back.push(format!("  br label %{}", header.name));
            self.last.extend(back);
            self.redirect(&block, &header.name, &format!("{label}.back{index}"));
        }
        for (at, name, _) in &phis {
            let (slot, ty) = &slots[name];
            self.changed
                .insert(*at, format!("  {name} = load {ty}, ptr {slot}, align 8"));
        }
        for (_, name) in &others {
            let (slot, ty) = &slots[name];
            self.add(
                header.terminator,
                format!("  store {ty} {name}, ptr {slot}, align 8"),
            );
        }

        // Other blocks load the values of the header.
        for block in self.blocks.clone() {
            if block.name == header.name {
                continue;
            }
            for at in block.first..block.end {
                let line = self.changed.get(&at).unwrap_or(&self.lines[at]).clone();
                let mut used = Vec::new();
                with_names(&line, |name| {
                    if slots.contains_key(name) && !used.iter().any(|it| it == name) {
                        used.push(name.to_owned());
                    }
                    None
                });
                let is_phi = line.contains(" = phi ");
                if is_phi && (!used.is_empty() || block.name == to.name) {
                    let mut pairs = Vec::new();
                    for (value, from) in incoming(&line)? {
                        if from == header.name {
                            if block.name == to.name {
                                let value = starts.get(value).map_or(value, String::as_str);
                                pairs.push(format!("[ {value}, %{label}.start ]"));
                            }
                        } else if slots.contains_key(value) {
                            let from_block = self.blocks.iter().find(|it| it.name == from)?;
                            let (line, value) = load(value, &mut count);
                            let terminator = from_block.terminator;
                            pairs.push(format!("[ {value}, %{from} ]"));
                            self.add(terminator, line);
                            continue;
                        }
                        pairs.push(format!("[ {value}, %{from} ]"));
                    }
                    let (start, rest) = line.split_once(" [ ")?;
                    let end = rest.rfind(" ]").map(|end| &rest[end + 2..])?;
                    let new = format!("{start} {}{end}", pairs.join(", "));
                    self.changed.insert(at, new);
                } else if !used.is_empty() {
                    let mut new: HashMap<String, String> = HashMap::new();
                    for name in used {
                        let (line, value) = load(&name, &mut count);
                        self.add(at, line);
                        new.insert(name, value);
                    }
                    let new = with_names(&line, |name| new.get(name).cloned());
                    self.changed.insert(at, new);
                }
            }
        }
        Some(self.finish())
    }

    pub(super) fn add(&mut self, before: usize, line: String) {
        self.added.entry(before).or_default().push(line);
    }

    /// Replaces a target of a block's terminator.
    fn redirect(&mut self, block: &Lines, old: &str, new: &str) {
        for at in block.terminator..block.end {
            let line = self.changed.get(&at).unwrap_or(&self.lines[at]);
            let line = with_names(line, |name| (name[1..] == *old).then(|| format!("%{new}")));
            self.changed.insert(at, line);
        }
    }

    pub(super) fn finish(mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            lines.extend(self.added.remove(&at).unwrap_or_default());
            lines.push(self.changed.remove(&at).unwrap_or_else(|| line.clone()));
        }
        lines.extend(self.last);
        lines
    }
}

/// Returns the number of a block without a label: the number before the first one that the lines define.
fn number_before(lines: &[String]) -> Option<u32> {
    let first = lines
        .iter()
        .find_map(|line| match line.strip_prefix("  %") {
            Some(line) => line.split_once(" = ")?.0.parse::<u32>().ok(),
            None => line.split_once(':')?.0.parse().ok(),
        })?;
    first.checked_sub(1)
}

/// Returns the type of an instruction's result, if it is a number or a generic address.
pub(super) fn type_of(inst: &str) -> Option<&str> {
    let is_type = |word: &&str| {
        let bits = word.strip_prefix('i').map(str::parse::<u32>);
        let is_int = bits.is_some_and(|bits| bits.is_ok());
        is_int || ["ptr", "half", "bfloat", "float", "double"].contains(word)
    };
    // Vectors and structs.
    if inst.contains(['<', '{']) {
        return None;
    }
    let (op, rest) = inst.split_once(' ')?;
    let second = || Some(rest.split_once(", ")?.1);
    // What starts with the type of the result. Flags precede it.
    let typed = match op {
        "icmp" | "fcmp" => return Some("i1"),
        "select" | "getelementptr" => second()?,
        "zext" | "sext" | "trunc" | "fpext" | "fptrunc" | "fptoui" | "fptosi" | "uitofp"
        | "sitofp" | "ptrtoint" | "inttoptr" | "bitcast" | "addrspacecast" => {
            rest.rsplit_once(" to ")?.1
        }
        _ => {
            let ty = rest.split(' ').find(is_type)?;
            &rest[ty.as_ptr().addr() - rest.as_ptr().addr()..]
        }
    };
    let ty = typed.split([' ', ',']).next()?;
    if typed[ty.len()..].starts_with(" addrspace(") {
        return None;
    }
    is_type(&ty).then_some(ty)
}

/// Returns the values of a phi, and the names of the blocks from which they come, without `%`.
pub(super) fn incoming(line: &str) -> Option<Vec<(&str, &str)>> {
    let (_, pairs) = line.split_once(" [ ")?;
    let (pairs, _) = pairs.rsplit_once(" ]")?;
    let pair = |pair: &'_ str| -> Option<(usize, usize)> {
        let comma = pair.rfind(", %")?;
        Some((comma, comma + 3))
    };
    (pairs.split(" ], [ "))
        .map(|text| pair(text).map(|(end, from)| (&text[..end], &text[from..])))
        .collect()
}

/// Replaces names of values and blocks in a line.
pub(super) fn with_names(line: &str, mut new: impl FnMut(&str) -> Option<String>) -> String {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"$._-".contains(&byte);
    let bytes = line.as_bytes();
    let mut out = String::with_capacity(line.len());
    let (mut from, mut at, mut quoted) = (0, 0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => quoted = !quoted,
            b'%' if !quoted => {
                let length = bytes[at + 1..]
                    .iter()
                    .take_while(|&&it| is_part(it))
                    .count();
                let end = at + 1 + length;
                if let Some(name) = new(&line[at..end]) {
                    out.push_str(&line[from..at]);
                    out.push_str(&name);
                    from = end;
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    out.push_str(&line[from..]);
    out
}
