//! Computes the stack that kernels need.
//!
//! ptxas computes the stack of a kernel from the calls that it sees, and the driver provides it. It
//! cannot do so for recursion and calls through pointers: such a kernel gets the context's limit,
//! 1024 bytes by default, and writes beyond it if it needs more. [`analyze`] computes what these
//! kernels need; [`complete`] stores it in the module, and makes recursive functions check the
//! remaining stack.
//!
//! A strongly connected component of the call graph counts [`Options::depth`] times. Unless the
//! user sets the depth, a kernel gets at most [`RECURSION_BYTES`], or twice its deepest stack with
//! one round of each component if that is more. Formatting, which calls itself through `&dyn Debug`
//! and similar trait objects, nests as deep as the type that it prints: the deepest path on which
//! no function occurs twice counts [`FORMATTING_DEPTH`] times.
//!
//! ```
//! use ptx::stack::{Options, analyze};
//!
//! let module = ptx::Module::parse(
//!     ".version 8.0\n.target sm_90\n.address_size 64\n
//!     .func walk() { .local .align 16 .b8 node[112]; call walk; ret; }
//!     .visible .entry kernel() { call walk; ret; }",
//! )?;
//! let options = Options {
//!     depth: Some(100),
//!     ..Options::default()
//! };
//! let analysis = analyze(&module, &options);
//! assert!(analysis.needs[0].recursive);
//! assert!(analysis.needs[0].bytes > 100 * 112);
//! assert_eq!(analysis.cycles[0].to_string(), "`walk` calls `walk`");
//! # Ok::<(), ptx::Error>(())
//! ```

mod checks;
mod frame;
mod graph;

use crate::hash::HashMap;
use crate::inline_panics::original;
use std::collections::BTreeMap;

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::{Function, Module};
use graph::Graph;

pub(crate) use checks::NOTE_LAUNCH;
pub use checks::{FLOOR, RECORD_PREFIX, Texts, complete};
pub use frame::frame_bytes;

/// The default recursion depth for which stack is reserved.
pub const RECURSION_DEPTH: u32 = 64;
/// The maximum stack in bytes that a kernel with recursion gets by default. On an H100 (2026-11-23)
/// it was enough for sorts, recursive functions, trait objects and `BTreeMap`.
pub const RECURSION_BYTES: u64 = 16 << 10;
/// The maximum stack size in a record, in bytes. GPUs provide at most 512 KiB per thread; `cust`
/// raises the limit as far as the device permits.
pub const MAX_BYTES: u64 = 1 << 30;
/// The number of times that the deepest path through formatting counts.
pub const FORMATTING_DEPTH: u64 = 1;
/// Items of core with special treatment: sorts, whose recursion depth is known, formatting, and
/// drop glue. A test of the compiler checks that core has them.
pub const KNOWN_PATHS: [&str; 4] = [
    "core::slice::sort",
    "core::slice::sort::shared::pivot",
    "core::fmt",
    "core::ptr::drop_glue",
];
/// The stack in bytes that every kernel has by default.
pub const DEFAULT_LIMIT: u64 = 1024;

/// The user's settings for stack sizes.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The recursion depth for which stack is reserved; by default [`RECURSION_DEPTH`].
    pub depth: Option<u32>,
    /// The stack size of individual kernels, in bytes.
    pub kernels: BTreeMap<String, u64>,
}

/// The stack that a kernel needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The name of the kernel.
    pub kernel: String,
    /// The stack size in bytes, including all functions that the kernel may call, or 0 if ptxas
    /// computes it.
    pub bytes: u64,
    /// Whether the kernel may call recursive functions, so that `bytes` is only a default.
    pub recursive: bool,
}

/// Recursive functions, for which no stack size suffices in general.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The names of the functions in the source. Each calls the next, and the last calls the first.
    pub functions: Vec<String>,
    /// The function whose call through a pointer closes the cycle, if there is one.
    pub indirect: Option<String>,
    /// The stack reserved for the cycle, in bytes.
    pub bytes: u64,
}

impl std::fmt::Display for Cycle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 5;
        for name in self.functions.iter().take(SHOWN) {
            write!(f, "`{name}` calls ")?;
        }
        if self.functions.len() > SHOWN {
            write!(
                f,
                "{} further functions, and then ",
                self.functions.len() - SHOWN
            )?;
        }
        write!(f, "`{}`", self.functions.first().map_or("", |name| name))?;
        match &self.indirect {
            Some(caller) => write!(
                f,
                ", through a function pointer or trait object in `{caller}`"
            ),
            None => Ok(()),
        }
    }
}

/// The result of [`analyze`].
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// The stack of every kernel.
    pub needs: Vec<Need>,
    /// The recursion that kernels reach, except in formatting and drop glue, which the user did not
    /// write.
    pub cycles: Vec<Cycle>,
    /// The recursive functions, with the stack that must remain when they are entered.
    reserves: Vec<(String, u64)>,
}

/// Computes the stack of every kernel.
pub fn analyze(module: &Module<'_>, options: &Options) -> Analysis {
    let graph = Graph::new(module);
    let count = graph.functions.len();
    let mut frames: Vec<u64> = graph
        .functions
        .iter()
        .map(|function| frame_bytes(function))
        .collect();
    let mut digraph: DiGraph<(), ()> = DiGraph::new();
    for _ in 0..count {
        digraph.add_node(());
    }
    for (caller, calls) in graph.calls.iter().enumerate() {
        for &callee in calls {
            digraph.add_edge(NodeIndex::new(caller), NodeIndex::new(callee), ());
        }
    }
    let mut analysis = Analysis::default();
    let mut state = vec![State::default(); count];
    let mut component = vec![usize::MAX; count];
    // Callees precede their callers.
    for (number, members) in tarjan_scc(&digraph).into_iter().enumerate() {
        let members: Vec<usize> = members.into_iter().map(NodeIndex::index).collect();
        for &member in &members {
            component[member] = number;
        }
        let recursive = members.len() > 1 || graph.calls[members[0]].contains(&members[0]);
        let beyond = || {
            let calls = members.iter().flat_map(|&member| &graph.calls[member]);
            calls.copied().filter(|&callee| component[callee] != number)
        };
        let deepest = beyond().map(|callee| state[callee].need).max().unwrap_or(0);
        let formatting = recursive && is_formatting(&graph, &members);
        if recursive && !formatting {
            for &member in &members {
                frames[member] = frames[member].saturating_add(CHECK_BYTES);
            }
        }
        let once_beyond = beyond().map(|callee| state[callee].once).max().unwrap_or(0);
        let (mut own, mut once) = (frames[members[0]], frames[members[0]]);
        if recursive {
            let round = longest_path(&graph, &frames, &members);
            once = round;
            let depth = match options.depth {
                _ if formatting => Some(FORMATTING_DEPTH),
                Some(depth) => Some(depth.into()),
                None => known_depth(&graph, &members),
            };
            own = match depth {
                Some(depth) => round.saturating_mul(depth),
                None => {
                    (round.saturating_mul(RECURSION_DEPTH.into())).min(RECURSION_BYTES.max(round))
                }
            };
        }
        let known = State {
            need: own.saturating_add(deepest),
            once: once.saturating_add(once_beyond),
            recursive: recursive && !formatting || beyond().any(|callee| state[callee].recursive),
            unbounded: recursive
                || members.iter().any(|&member| graph.indirect[member])
                || beyond().any(|callee| state[callee].unbounded),
            checked: recursive && !formatting,
            reserve: 0,
        };
        for &member in &members {
            state[member] = known;
        }
        let known_to_end = formatting || known_depth(&graph, &members).is_some();
        if recursive && !known_to_end && !is_drop_glue(&graph, &members) {
            analysis.cycles.push(cycle(&graph, &members, own));
        }
        // The stack up to the next check. In a cycle every function has one.
        for &member in &members {
            let reserve = |&callee: &usize| match state[callee].checked {
                true => frames[callee],
                false => state[callee].reserve,
            };
            let calls = graph.calls[member].iter();
            let below = match formatting {
                true => deepest,
                false => calls.map(reserve).max().unwrap_or(0),
            };
            let own = if known.checked { 0 } else { own };
            state[member].reserve = own.saturating_add(below);
        }
        if known.checked {
            // The last call of the recursion has a check, too, although it makes no further call.
            let reserves = members.iter().map(|&member| state[member].reserve);
            let reserve = reserves.max().unwrap_or(0).saturating_add(REPORT_BYTES);
            let need = own.saturating_add(deepest.max(reserve));
            members.iter().for_each(|&member| state[member].need = need);
        }
    }
    for (index, function) in graph.functions.iter().enumerate() {
        let State {
            need,
            once,
            recursive,
            unbounded,
            checked,
            reserve,
        } = state[index];
        if checked {
            // The handler that reports an overflow calls nothing.
            let reserve = reserve.saturating_add(REPORT_BYTES);
            analysis.reserves.push((function.name.to_owned(), reserve));
        }
        if function.entry {
            let given = options.kernels.get(function.name).copied();
            let most = match options.depth {
                Some(_) => MAX_BYTES,
                None => (RECURSION_BYTES)
                    .max(once.saturating_mul(2).saturating_add(REPORT_BYTES))
                    .min(MAX_BYTES),
            };
            analysis.needs.push(Need {
                kernel: function.name.to_owned(),
                bytes: given.unwrap_or(match unbounded {
                    true => need.min(most).next_multiple_of(16),
                    false => 0,
                }),
                recursive,
            });
        }
    }
    let reached = reached(&graph);
    let live = |cycle: &Cycle| cycle.functions.iter().any(|name| reached.contains(name));
    analysis.cycles.retain(live);
    analysis
}

/// The bytes that the check adds to the frame of a recursive function, for its registers.
const CHECK_BYTES: u64 = 32;
/// The stack in bytes that reporting an overflow takes.
const REPORT_BYTES: u64 = 128;

#[derive(Clone, Copy, Default)]
struct State {
    /// The deepest stack of a call.
    need: u64,
    /// The deepest stack if each cycle of calls counts once.
    once: u64,
    recursive: bool,
    /// Whether ptxas cannot compute the stack.
    unbounded: bool,
    /// Whether the function checks the remaining stack.
    checked: bool,
    /// The deepest stack up to and including functions that check.
    reserve: u64,
}

/// Returns the names of the functions that kernels reach.
fn reached(graph: &Graph<'_, '_>) -> std::collections::HashSet<String> {
    let mut seen = vec![false; graph.functions.len()];
    let kernels = graph.functions.iter().enumerate();
    let mut pending: Vec<usize> = kernels
        .filter(|(_, function)| function.entry)
        .map(|(index, _)| index)
        .collect();
    while let Some(index) = pending.pop() {
        if !std::mem::replace(&mut seen[index], true) {
            pending.extend(&graph.calls[index]);
        }
    }
    let names = graph.functions.iter().zip(seen);
    names
        .filter(|(_, seen)| *seen)
        .map(|(function, _)| name_of(function))
        .collect()
}

/// Returns the heaviest path that a depth-first search finds among mutually recursive functions; no
/// function counts twice.
fn longest_path(graph: &Graph<'_, '_>, frames: &[u64], members: &[usize]) -> u64 {
    let places: HashMap<usize, usize> = members
        .iter()
        .enumerate()
        .map(|(place, &member)| (member, place))
        .collect();
    let mut best = 0;
    // A search from every function would be slow in large components.
    for &root in members.iter().take(64) {
        let mut known: Vec<Option<u64>> = vec![None; members.len()];
        let mut open = vec![false; members.len()];
        let inner = |member: usize| -> Vec<usize> {
            graph.calls[member]
                .iter()
                .copied()
                .filter(|c| places.contains_key(c))
                .collect()
        };
        let mut path = vec![(root, inner(root), 0u64)];
        open[places[&root]] = true;
        while let Some((member, pending, deepest)) = path.last_mut() {
            let member = *member;
            if let Some(callee) = pending.pop() {
                match known[places[&callee]] {
                    Some(bytes) => *deepest = (*deepest).max(bytes),
                    None if open[places[&callee]] => {}
                    None => {
                        open[places[&callee]] = true;
                        path.push((callee, inner(callee), 0));
                    }
                }
                continue;
            }
            let total = frames[member].saturating_add(*deepest);
            known[places[&member]] = Some(total);
            open[places[&member]] = false;
            path.pop();
            if let Some((_, _, deepest)) = path.last_mut() {
                *deepest = (*deepest).max(total);
            }
            best = best.max(total);
        }
    }
    best
}

/// Returns a shortest cycle through a function of the component, for messages.
fn cycle(graph: &Graph<'_, '_>, members: &[usize], bytes: u64) -> Cycle {
    // Starts at the first function by name that is not in a library, so that the message is about
    // the user's code.
    let key = |&&member: &&usize| {
        let symbol = graph.functions[member].name;
        (is_of_library(symbol), demangle(symbol))
    };
    let start = *members.iter().min_by_key(key).unwrap_or(&members[0]);
    let mut previous: HashMap<usize, usize> = HashMap::default();
    let mut pending = std::collections::VecDeque::from([start]);
    let mut last = start;
    'search: while let Some(member) = pending.pop_front() {
        for &callee in &graph.calls[member] {
            if callee == start {
                last = member;
                break 'search;
            }
            if members.contains(&callee) && !previous.contains_key(&callee) {
                previous.insert(callee, member);
                pending.push_back(callee);
            }
        }
    }
    let mut path = vec![last];
    while let Some(&before) = path.last().and_then(|member| previous.get(member)) {
        path.push(before);
    }
    path.reverse();
    let direct = |from: usize, to: usize| graph.direct[from].contains(&to);
    let steps = path.iter().zip(path.iter().cycle().skip(1));
    let indirect = steps
        .filter(|(from, to)| !direct(**from, **to))
        .map(|(from, _)| *from)
        .next();
    Cycle {
        functions: path
            .iter()
            .map(|&member| name_of(graph.functions[member]))
            .collect(),
        indirect: indirect.map(|member| name_of(graph.functions[member])),
        bytes,
    }
}

/// Returns a function's name in the source.
pub fn name_of(function: &Function<'_>) -> String {
    demangle(function.name)
}

/// Returns the name in the source for a symbol, without the hashes of crates.
pub fn demangle(symbol: &str) -> String {
    // `join` may have appended a number.
    let name = match rustc_demangle::try_demangle(symbol) {
        Ok(_) => symbol,
        Err(_) => original(symbol),
    };
    format!("{:#}", rustc_demangle::demangle(name))
}

/// Returns whether a function belongs to Rust's or the device's library. An unmangled function does
/// if its name is reserved, as `__cuda_std_panic` is.
fn is_of_library(symbol: &str) -> bool {
    if !symbol.starts_with("_R") {
        return symbol.starts_with("__") || symbol == "rust_begin_unwind";
    }
    let name = demangle(symbol);
    // The symbol of a trait's default method contains no crate except that of the trait.
    let of_trait = || Some(name.split_once(" as ")?.1.split_once("::")?.0);
    let krate = crate_of(symbol).or_else(of_trait);
    krate.is_some_and(|krate| LIBRARY.contains(&krate))
}

/// The crates of Rust's and the device's library.
const LIBRARY: [&str; 5] = ["core", "alloc", "std", "cuda_std", "compiler_builtins"];

/// Returns the crate that defines a function, from its symbol. In the v0 mangling, the root of the
/// function's path, or of the path of its `impl`, comes first.
fn crate_of(symbol: &str) -> Option<&str> {
    let disambiguated = |text| match str::strip_prefix(text, 's') {
        Some(number) => Some(number.split_once('_')?.1),
        None => Some(text),
    };
    let mut rest = symbol.strip_prefix("_R")?;
    loop {
        let after = rest.get(1..)?;
        rest = match rest.as_bytes()[0] {
            // A namespace follows.
            b'N' => after.get(1..)?,
            b'I' => after,
            b'M' | b'X' => disambiguated(after)?,
            b'C' => {
                let name = disambiguated(after)?;
                let digits = name.bytes().take_while(u8::is_ascii_digit).count();
                let length: usize = name[..digits].parse().ok()?;
                return name[digits..].trim_start_matches('_').get(..length);
            }
            _ => return None,
        };
    }
}

/// Returns whether the functions only drop a value whose type contains itself. The program cannot
/// avoid that recursion.
fn is_drop_glue(graph: &Graph<'_, '_>, members: &[usize]) -> bool {
    let [.., drop_glue] = KNOWN_PATHS;
    let symbol = |&member: &usize| graph.functions[member].name;
    members.iter().all(|member| is_of_library(symbol(member)))
        && (members.iter()).any(|member| demangle(symbol(member)).starts_with(drop_glue))
}

/// Returns whether the functions are mutually recursive only because formatting goes through trait
/// objects, and panics format their messages.
fn is_formatting(graph: &Graph<'_, '_>, members: &[usize]) -> bool {
    let [_, _, formatting, _] = KNOWN_PATHS;
    let formatting = format!("{formatting}::");
    let symbol = |&member: &usize| graph.functions[member].name;
    let formats = |member: &usize| demangle(symbol(member)).contains(&formatting);
    members.iter().any(formats)
        && (members.iter()).all(|member| is_of_library(symbol(member)) || formats(member))
}

/// Returns the known depth of a recursion: that of core's sorts is logarithmic in the length.
fn known_depth(graph: &Graph<'_, '_>, members: &[usize]) -> Option<u64> {
    let depth = |&member: &usize| {
        let name = name_of(graph.functions[member]);
        let inside = |module: &str| name.strip_prefix(module)?.strip_prefix("::");
        let [sort, pivot, ..] = KNOWN_PATHS;
        match inside(pivot) {
            Some(_) => Some(6),
            None => inside(sort).map(|_| 24),
        }
    };
    members
        .iter()
        .map(depth)
        .try_fold(0, |most, depth| Some(most.max(depth?)))
}
