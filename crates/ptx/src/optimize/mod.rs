//! Optimizes checks: the branches to panics in safe code, which libnvvm's optimizer does not
//! handle. Each pass keeps the original code as the cold path, so panics do not change.

mod apart;
mod arrivals;
mod ballots;
mod before_barriers;
mod bits;
mod bounds;
mod choices;
mod clamps;
mod combine;
mod conditional_loads;
mod conditions;
mod convert;
mod coordinates;
mod count_down;
mod counts;
mod digraph;
mod divisions;
mod duplicates;
mod early_ends;
mod early_loads;
mod entry_branch;
mod exits;
mod fields;
mod floats;
mod flow;
mod guarded;
mod halves;
mod implied;
pub(crate) mod instructions;
mod invariant_conversions;
mod joined_exits;
mod late_steps;
mod liveness;
mod loop_ends;
mod loops;
mod masks;
mod names;
mod narrow;
mod next_loads;
mod normal;
mod ordered;
mod ordinary;
mod overwritten;
mod own_indices;
mod own_panics;
mod panics;
mod parallel;
mod parameters;
mod products;
mod recomputed;
mod reconverge;
mod reductions;
mod reloads;
mod remaining;
mod repeated_moves;
mod saturate;
mod selections;
mod several_exits;
mod signs;
mod sink;
mod spaces;
mod specialize;
mod straight;
mod strides;
mod sums;
mod switches;
mod tables;
mod threading;
mod to_panics;
mod transfers;
mod unchanged;
mod uninitialized;
mod unroll;
mod vectors;
mod version;
mod weaker;
mod whole;
mod whole_reductions;
mod whole_warps;
mod wide_products;
mod wide_steps;

use crate::hash::{HashMap, HashSet, with_capacity};
use std::ops::RangeInclusive;

use flow::{End, Graph, Id};
use instructions::{results, sources};
pub use names::Names;
pub use remaining::{LoopCheck, Panic, loop_checks};
use specialize::Special;
use tables::Tables;

use crate::condition::Launches;
use crate::{
    Base, Directive, Function, Instruction, Item, Kernels, Module, Operand, Statement, Type,
    Variable,
};

/// The maximum number of floating-point operations of a loop that does not count as the work of a
/// kernel, such as one over the lanes of an incomplete warp.
const LOOP: usize = 8;

/// The maximum number of instructions per barrier of a kernel that mostly waits at barriers.
const STEP: usize = 32;

/// The number of registers of a kernel with which the maximum number of threads runs at once on a
/// multiprocessor.
const REGISTERS: u64 = 32;

/// The maximum number of threads of a block.
const THREADS: u64 = 1024;

/// The maximum number of registers of a kernel that mostly waits for loads, with which half as many
/// threads run at once.
const MANY_REGISTERS: u64 = 64;

/// The maximum number of live registers of a kernel that is limited to [`REGISTERS`]: ptxas computes
/// a few of them where they are used, and spills others.
const PRESSURE: usize = 34;

/// The same for a kernel that waits at barriers, where more threads are worth some spills.
const PRESSURE_AT_BARRIERS: usize = 56;

/// The number of live registers of a copy that fits in [`REGISTERS`] in any case, so that only the
/// original has more. ptxas keeps to the limit by itself if fewer are live.
const PRESSURE_OF_SMALL: RangeInclusive<usize> = 20..=28;

/// The minimum number of live registers of a kernel that mostly waits for memory and is limited:
/// ptxas keeps to the limit by itself if fewer are live. It then has fewer loads in flight per
/// thread.
const PRESSURE_OF_LOADS: usize = 25;

/// The maximum number of live registers of a kernel that is limited to [`MANY_REGISTERS`]: the others
/// are for loads in flight. More of these are not faster than more threads.
const PRESSURE_OF_MEDIUM: usize = 32;

/// The maximum number of instructions per 32-bit word of global memory of a kernel that mostly waits
/// for memory.
const COMPUTATION: usize = 50;

/// The maximum number of instructions per load of global memory of a loop that mostly waits for
/// memory: the latency of a load is as long as that many instructions of 8 warps.
const COMPUTATION_PER_LOAD: usize = 100;

/// The number of bytes that an instruction loads at most. If each thread of a multiprocessor has one
/// such load in flight, these are as many bytes as the memory delivers within its latency.
const VECTOR: usize = 16;

/// The maximum number of multiply-adds per 32-bit word of global memory of a loop that mostly waits
/// for memory. A product of matrices with tiles in registers has more, and so has a loop with two
/// exponentials per word.
const MULTIPLICATION: usize = 8;

/// The number of iterations of a loop in another one that are assumed.
const ITERATIONS: usize = 8;

/// The maximum number of nested loops whose iterations are assumed.
const DEPTH: usize = 2;

/// The maximum number of products of which each is a factor of the next one.
const NESTED_PRODUCTS: usize = 2;

/// An entry for strided launches pays if its cost is at most as many tenths of that of the general
/// entry. Bodies that mostly compute with floats or 32-bit integers differ less.
const WORTHWHILE_TENTHS: usize = 9;

/// A slice among the parameters of a kernel. Its elements are readable during the whole launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The name of the kernel.
    pub kernel: String,
    /// The zero-based index of the parameter with the address.
    pub pointer: usize,
    /// The zero-based index of the parameter with the length.
    pub length: usize,
    /// The size of an element in bytes.
    pub element: u64,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name of the kernel.
    pub kernel: String,
    /// The zero-based index of the parameter.
    pub index: usize,
}

/// The numbers of registers that suit kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// At most [`REGISTERS`].
    Small,
    /// At most [`MANY_REGISTERS`].
    Medium,
    /// As many as ptxas can use, even if fewer blocks are then resident.
    Large,
}

/// Optimizes the functions of a module. Returns the kernels for which ptxas should not choose the
/// number of registers alone: see [`set_registers`].
pub fn optimize<'a>(
    module: &mut Module<'a>,
    kernels: Kernels<'_>,
    names: &'a Names,
) -> HashMap<&'a str, Budget> {
    whole_reductions::replace(module);
    let no_return = no_return(module);
    let panics = panics(module, &no_return);
    let tables = Tables::new(module);
    let items = std::mem::take(&mut module.items).into_iter();
    let work = items.map(|item| (item, names.other())).collect();
    let done = parallel::map(
        work,
        body_len,
        |(mut item, names): (Item<'a>, &'a mut Names)| {
            let names: &'a Names = names;
            let mut budgets = Vec::new();
            let others = match &mut item {
                Item::Function(function) => {
                    let mut optimize = |function: &mut Function<'a>, launches| {
                        optimize_function(
                            function, launches, &no_return, &panics, &tables, kernels, names,
                        )
                    };
                    add_entries(function, &mut optimize, &mut budgets)
                }
                _ => Vec::new(),
            };
            (item, others, budgets, names.count())
        },
    );
    let mut all_budgets = HashMap::default();
    for (item, others, budgets, count) in done {
        module.items.push(item);
        for (function, condition) in others {
            module.items.push(Item::Variable(condition));
            module.items.push(Item::Function(function));
        }
        all_budgets.extend(budgets);
        names.skip_to(count);
    }
    all_budgets
}

/// The number of statements of a function.
fn body_len((item, _): &(Item<'_>, &mut Names)) -> usize {
    match item {
        Item::Function(function) => function.body.as_ref().map_or(0, Vec::len),
        _ => 0,
    }
}

/// Optimizes a function. Returns its other entries, each with the variable that has the condition for
/// it, and adds their numbers of registers to `budgets`.
fn add_entries<'a>(
    function: &mut Function<'a>,
    optimize: &mut impl FnMut(&mut Function<'a>, Launches) -> Option<Optimized<'a>>,
    budgets: &mut Vec<(&'a str, Budget)>,
) -> Vec<(Function<'a>, Variable<'a>)> {
    let mut original = function.clone();
    let mut others = Vec::new();
    let Some(Optimized { budget, other }) = optimize(function, Launches::Ordinary) else {
        return others;
    };
    // The original of several entries rarely runs.
    let name = other.as_ref().map_or(function.name, |(it, _)| it.name);
    budgets.extend(budget.map(|budget| (name, budget)));
    let Some(ordinary) = other else {
        return others;
    };
    let general = cost(function);
    let is_worthwhile = |entry: &Function<'a>| cost(entry) * 10 <= general * WORTHWHILE_TENTHS;
    // An entry with loops over a thread's elements costs at least as much as one without them.
    let may_stride = is_worthwhile(&ordinary.0);
    others.push(ordinary);
    if may_stride
        && let Some(Optimized { budget, other }) = optimize(&mut original, Launches::Strided)
        && let Some(strided) = other.filter(|(entry, _)| is_worthwhile(entry))
    {
        // Such a launch often has as many blocks as fit with the general entry's registers.
        let budget = budget.filter(|&budget| budget == Budget::Small);
        budgets.extend(budget.map(|budget| (strided.0.name, budget)));
        others.push(strided);
    }
    others
}

/// Returns about how many machine instructions a function has.
fn cost(function: &Function<'_>) -> usize {
    let mut cost = 0;
    for statement in function.body.iter().flatten() {
        instructions::instructions(statement, &mut |it| {
            let is_wide = matches!(it.modifiers.last(), Some(&("u64" | "s64" | "b64")));
            cost += match (it.opcode, it.modifiers.first()) {
                // Conversions between integers and copies mostly disappear.
                ("mov" | "cvt" | "cvta", _) | ("ld", Some(&"param")) => 0,
                ("div" | "rem", _) => {
                    if is_wide {
                        20
                    } else {
                        10
                    }
                }
                ("mul" | "mad", Some(&"lo")) if is_wide => 4,
                ("ld" | "st" | "atom" | "red", _) => 1,
                _ => 1 + usize::from(is_wide),
            };
        });
    }
    cost
}

/// Adds the directives of the kernels' budgets. Kernels that call functions have none: ptxas rejects a
/// limit that a callee exceeds, and the callee's instructions are not known.
pub fn set_registers<'a>(module: &mut Module<'a>, kernels: &HashMap<&'a str, Budget>) {
    for item in &mut module.items {
        let Item::Function(function) = item else {
            continue;
        };
        let Some(budget) = kernels.get(function.name) else {
            continue;
        };
        let mut calls = false;
        for statement in function.body.iter().flatten() {
            instructions::instructions(statement, &mut |it| {
                // ptxas 13.0 treats `st.bulk` like a call of any function whose address is taken.
                calls |= it.opcode == "call" || it.modifiers.first() == Some(&"bulk");
            });
        }
        if calls {
            continue;
        }
        let (name, value) = match budget {
            Budget::Small => ("maxnreg", REGISTERS),
            Budget::Medium => ("maxnreg", MANY_REGISTERS),
            // ptxas 13.0 otherwise prefers resident blocks to loads in flight.
            Budget::Large => ("minnctapersm", 1),
        };
        function.directives.push(Directive {
            name,
            values: vec![value],
            strings: Vec::new(),
        });
    }
}

/// The functions that do not return.
fn no_return<'a>(module: &Module<'a>) -> HashSet<&'a str> {
    let functions = module.items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        _ => None,
    });
    functions
        .filter(|function| function.never_returns())
        .map(|function| function.name)
        .collect()
}

/// The functions among `no_return` that end the launch, not only the thread.
fn panics<'a>(module: &Module<'a>, no_return: &HashSet<&'a str>) -> HashSet<&'a str> {
    let functions = module.items.iter().filter_map(|item| match item {
        // A thread that panics after another one exits, and the first one ends the launch.
        Item::Function(function) if !function.name.starts_with("__cuda_std_") => Some(function),
        _ => None,
    });
    let functions: Vec<&Function<'a>> = functions.collect();
    let mut exits: HashSet<&'a str> = HashSet::default();
    loop {
        let before = exits.len();
        for function in &functions {
            let mut leaves = false;
            for statement in function.body.iter().flatten() {
                instructions::instructions(statement, &mut |it| {
                    leaves |= it.opcode == "exit" || arrivals::calls(it, &exits);
                });
            }
            if leaves {
                exits.insert(function.name);
            }
        }
        if exits.len() == before {
            return no_return.difference(&exits).copied().collect();
        }
    }
}

/// The result of optimizing a function.
struct Optimized<'a> {
    /// The number of registers, if ptxas should not choose it alone.
    budget: Option<Budget>,
    /// The entry for some launches, and the variable with the condition for it.
    other: Option<(Function<'a>, Variable<'a>)>,
}

/// Optimizes the body of a function, if its control flow can be represented. `launches` are those
/// that a kernel's other entry is for; for strided launches, only that entry is of use.
fn optimize_function<'a>(
    function: &mut Function<'a>,
    launches: Launches,
    no_return: &HashSet<&'a str>,
    panics: &HashSet<&'a str>,
    tables: &Tables<'a>,
    kernels: Kernels<'_>,
    names: &'a Names,
) -> Option<Optimized<'a>> {
    let slices: Vec<&Slice> = (kernels.slices.iter())
        .filter(|slice| slice.kernel == function.name)
        .collect();
    let slices = &slices[..];
    let mut graph = Graph::new(function.body.as_deref()?, no_return, names)?;
    // An empty block at the end of a loop would hide its condition.
    graph.tidy();
    let mut slow = HashSet::default();
    let mut is_small = false;
    // Whether the copy returns to the original.
    let mut returns = false;
    let mut original = None;
    let kernel = function.entry.then_some(function.name);
    let mut changed = 0;
    if function.entry {
        changed += parameters::reuse(&mut graph, function);
    }
    changed += spaces::infer(&mut graph, names, kernel, slices);
    changed += duplicates::merge(&mut graph, names);
    changed += recomputed::reuse(&mut graph);
    changed += reloads::remove(&mut graph);
    changed += repeated_moves::remove(&mut graph);
    changed += masks::replace(&mut graph, names);
    changed += own_indices::separate(&mut graph, names);
    changed += reductions::replace(&mut graph);
    changed += ballots::replace(&mut graph, names);
    if function.entry {
        changed += ordered::relax(&mut graph, names, function);
        changed += arrivals::simplify(&mut graph, function, panics);
    }
    changed += exits::separate(&mut graph, names);
    changed += convert::widen(&mut graph, names);
    changed += late_steps::delay(&mut graph);
    let mut special = match function.entry {
        true => specialize::specialize(&mut graph, names, function, launches, kernels, &mut slow),
        false => None,
    };
    if special.is_none() && launches == Launches::Strided {
        return None;
    }
    if let Some(special) = &mut special {
        special.add_ranges(tables.ranges(&graph));
    }
    let mut region = None;
    if let Some(special) = &special {
        let tests = coordinates::test(&mut graph, names, special);
        changed += tests;
        if tests == 0 && launches == Launches::Strided {
            specialize::remove_original(&mut graph, special);
        }
        changed += narrow::settle(&mut graph, special, &mut region);
        changed += clamps::order(&mut graph, names, special, &mut region);
    }
    if let Some(special) = &mut special
        && bounds::prove(
            &mut graph,
            names,
            special,
            kernels.ordinary_entries,
            &mut region,
        )
    {
        // Launches with a partial last row run the original.
        slow.clear();
    }
    if let Some(special) = &mut special
        && kernels.ordinary_entries
    {
        // The factors of some products are small because others are.
        for _ in 0..NESTED_PRODUCTS {
            if !bounds::limit_products(&mut graph, names, special, function) {
                break;
            }
            slow.clear();
        }
    }
    let mut together = HashSet::default();
    if function.entry {
        together = whole_warps::version(&mut graph, names, &mut slow);
        changed += together.len();
    }
    let known = version::Known {
        kernel: function.entry.then_some(&*function),
        slices,
    };
    changed += version::version(&mut graph, names, &known, &mut slow);
    changed += several_exits::unroll(&mut graph, names, &slow);
    changed += strides::unroll(&mut graph, names, &slow);
    changed += guarded::combine(&mut graph, names, &slow);
    if let Some(special) = &special {
        bounds::settle(&mut graph, special);
    }
    changed += combine::combine(&mut graph, names, known.kernel, &slow);
    changed += divisions::unroll(&mut graph, names, &slow, &together);
    changed += divisions::start_loads(&mut graph);
    changed += apart::load_first(&mut graph, names, &slow);
    changed += next_loads::start(&mut graph, names);
    if let Some(mut special) = special {
        // Copies of loops have other registers.
        special.add_ranges(tables.ranges(&graph));
        graph.remove_unreachable();
        changed += uninitialized::initialize(&mut graph, &special);
        let mut region = None;
        changed += 1 + clamps::saturate(&mut graph, names, &special, &mut region);
        implied::remove(&mut graph, &special, &mut region);
        let weaker = weaker::find(&graph, &special, &mut region);
        changed += narrow::narrow(&mut graph, names, &special, &mut region);
        weaker::remove(&mut graph, &weaker);
        overwritten::delay(&mut graph, names, &special);
        // The copy has fewer loops.
        arrivals::simplify(&mut graph, function, panics);
        changed += sink::sink(&mut graph, names, &special);
        is_small = benefits_from_threads(&graph, &special, threads(function))
            && !function.directives.iter().any(limits_registers)
            && !kernels.without_spills.contains(&function.name);
        to_panics::sink(&mut graph, &special);
        if kernels.ordinary_entries {
            fields::gather(&mut graph, &special, slices);
            vectors::combine(&mut graph, names, &special, function, slices);
            original = ordinary::split(&mut graph, names, &special, function);
            returns = original.is_some() && graph.order.contains(&special.general);
            if returns && !function.directives.iter().any(limits_registers) {
                // ptxas would give the copy more registers only for the original.
                let pressure = liveness::pressure(&graph, &special.blocks(&graph));
                is_small |=
                    pressure <= PRESSURE && !kernels.without_spills.contains(&function.name);
            }
        }
        if original.is_none() {
            specialize::start_early(&mut graph, names, &special);
            early_loads::start(&mut graph, names, &special, slices);
        }
        early_loads::start_before_checks(&mut graph, names, &special, slices);
        early_loads::combine_checks(&mut graph, names, &special);
        match original {
            None => entry_branch::combine(&mut graph, names, &special),
            Some(_) => entry_branch::combine_returns(&mut graph, names),
        }
    } else if function.entry
        && let Some(mut whole) = whole::whole(&mut graph, names)
    {
        whole.add_ranges(tables.ranges(&graph));
        let mut region = None;
        changed += implied::remove(&mut graph, &whole, &mut region);
        changed += narrow::narrow(&mut graph, names, &whole, &mut region);
    }
    // Without the original body, ptxas chooses about as many registers as for nvcc's code. But other
    // threads can run while some wait at a barrier for memory.
    let has_barriers = barriers(&graph, &graph.order) > 0;
    let is_limited = original.is_none()
        || returns
        || has_barriers && (threads(function) == THREADS || accesses_memory(&graph));
    let budget = if is_small && is_limited {
        Some(Budget::Small)
    } else if original.is_some()
        && threads(function) > 0
        && !function.directives.iter().any(limits_registers)
        && !(is_small && adds_lanes_of_doubles(&graph))
        && waits_for_loads(&graph)
    {
        match liveness::pressure(&graph, &graph.order) {
            ..=PRESSURE_OF_MEDIUM => Some(Budget::Medium),
            _ => Some(Budget::Large),
        }
    } else {
        None
    };
    let finish = |mut graph: Graph<'a>, changed: usize| {
        let mut replaced = next_loads::start_unchanged(&mut graph, names)
            + unchanged::start(&mut graph, names)
            + loop_ends::replace(&mut graph, names)
            + conditions::combine(&mut graph, names)
            + choices::select(&mut graph, names)
            + conditional_loads::predicate(&mut graph, names)
            + selections::replace(&mut graph, names)
            + saturate::replace(&mut graph, names)
            + bits::replace(&mut graph, names)
            + signs::replace(&mut graph, names)
            + wide_products::replace(&mut graph, names)
            + halves::order(&mut graph)
            + normal::assume(&mut graph)
            + switches::replace(&mut graph, names)
            + before_barriers::keep(&mut graph)
            + count_down::count(&mut graph, names)
            + invariant_conversions::hoist(&mut graph, names)
            + wide_steps::shift(&mut graph, names)
            + panics::merge(&mut graph, names)
            + early_ends::join(&mut graph, names)
            + joined_exits::join(&mut graph, names, &slow);
        replaced += own_panics::separate(&mut graph, names);
        replaced += reconverge::synchronize(&mut graph, names);
        (changed + replaced > 0).then(|| {
            graph.tidy();
            graph.write()
        })
    };
    let mut other = None;
    if let Some((original, condition)) = original {
        let mut copy = function.clone();
        copy.name = names.name(&launches.entry_of(function.name));
        copy.body = finish(graph, changed);
        let variable = ordinary::variable(names, function, launches, &condition);
        other = Some((copy, variable));
        if launches == Launches::Strided {
            // The general entry is that of the ordinary one.
            return Some(Optimized { budget, other });
        }
        graph = original;
    }
    if let Some(body) = finish(graph, changed) {
        function.body = Some(body);
    }
    Some(Optimized { budget, other })
}

/// Returns the number of elements that an instruction accesses, and the size of one in bytes.
fn elements(access: &Instruction<'_>) -> (usize, usize) {
    let ty = access.modifiers.last().and_then(|ty| Type::from_name(ty));
    let elements = match access.modifiers.iter().rev().nth(1) {
        Some(&"v2") => 2,
        Some(&"v4") => 4,
        Some(&"v8") => 8,
        _ => 1,
    };
    (elements, ty.map_or(4, |ty| ty.bytes() as usize))
}

/// Returns the number of 32-bit words that an instruction accesses.
fn words(access: &Instruction<'_>) -> usize {
    let (elements, bytes) = elements(access);
    elements * bytes.div_ceil(4)
}

/// Returns the number of bytes that an instruction accesses.
fn bytes_of(access: &Instruction<'_>) -> usize {
    let (elements, bytes) = elements(access);
    elements * bytes
}

/// Returns the number of threads of a kernel's blocks, or zero if it is not fixed.
fn threads(kernel: &Function<'_>) -> u64 {
    let mut directives = kernel.directives.iter();
    directives
        .find(|directive| directive.name == "reqntid")
        .map_or(0, |directive| directive.values.iter().product())
}

fn limits_registers(directive: &Directive<'_>) -> bool {
    matches!(directive.name, "maxnreg" | "minnctapersm")
}

/// Returns whether a kernel is faster with many resident threads than with many registers: because
/// ptxas would give it more registers only for the original body, which rarely runs, because a
/// second block of `threads` threads can then run while all threads of the first wait at a barrier,
/// or because it mostly waits for memory.
fn benefits_from_threads(graph: &Graph<'_>, special: &Special<'_>, threads: u64) -> bool {
    let blocks = special.blocks(graph);
    let pressure = liveness::pressure(graph, &blocks);
    // Combined checks compute all indices before the first access, also where they were removed.
    let is_limited_by_original = special.general_is_slow
        && (pressure <= PRESSURE || liveness::least_pressure(graph, &blocks) <= PRESSURE);
    if is_limited_by_original || PRESSURE_OF_SMALL.contains(&pressure) {
        return true;
    }
    let cold = graph.cold();
    let barriers = barriers(graph, &blocks);
    let (mut size, mut accesses) = (0, 0);
    let hot = blocks.iter().copied().filter(|&id| !cold[id]);
    graph.visit(hot, &mut |it| {
        size += 1;
        if is_global(it) {
            accesses += words(it);
        }
    });
    let most = match barriers {
        0 => PRESSURE,
        _ => PRESSURE_AT_BARRIERS,
    };
    if size <= barriers * STEP && threads == THREADS && pressure <= most {
        return true;
    }
    let has_work = loops::single_latch(graph, &cold).iter().any(|each| {
        let mut floats = 0;
        let own = each.blocks.iter().copied().filter(|id| blocks.contains(id));
        graph.visit(own, &mut |it| {
            let is_float = matches!(it.modifiers.last(), Some(&("f32" | "f64")));
            let moves = ["ld", "mov", "selp", "st"];
            floats += usize::from(is_float && !moves.contains(&it.opcode));
        });
        floats > LOOP
    });
    !has_work && size <= accesses * COMPUTATION && (PRESSURE_OF_LOADS..=most).contains(&pressure)
}

/// Returns whether a kernel executes few instructions per word of global memory that it accesses.
fn accesses_memory(graph: &Graph<'_>) -> bool {
    let cold = graph.cold();
    let loops = loops::single_latch(graph, &cold);
    let (mut size, mut accesses) = (0, 0);
    for &id in graph.order.iter().filter(|&&id| !cold[id]) {
        let depth = loops.iter().filter(|it| it.contains(id)).count();
        let times = ITERATIONS.pow(depth.min(DEPTH) as u32);
        graph.visit([id], &mut |it| {
            size += times;
            if is_global(it) {
                accesses += times * words(it);
            }
        });
    }
    size <= accesses * COMPUTATION
}

/// Returns whether an instruction accesses global memory.
fn is_global(it: &Instruction<'_>) -> bool {
    let opcodes = ["ld", "st", "atom", "red"];
    opcodes.contains(&it.opcode) && it.modifiers.contains(&"global")
}

/// Returns the number of barriers in blocks that are not cold.
fn barriers(graph: &Graph<'_>, blocks: &[Id]) -> usize {
    let cold = graph.cold();
    let mut count = 0;
    graph.visit(blocks.iter().copied().filter(|&id| !cold[id]), &mut |it| {
        count += usize::from(matches!(it.opcode, "bar" | "barrier"));
    });
    count
}

/// Returns whether the lanes of a warp add up products of 64-bit floats, as for a row of a sparse
/// matrix. Rows are short: more of them at once are faster than more loads of one.
fn adds_lanes_of_doubles(graph: &Graph<'_>) -> bool {
    let cold = graph.cold();
    let hot = graph.order.iter().copied().filter(|&id| !cold[id]);
    let (mut shuffles, mut multiplies) = (false, false);
    graph.visit(hot, &mut |it| {
        shuffles |= it.opcode == "shfl";
        multiplies |= it.opcode == "fma" && it.modifiers.contains(&"f64");
    });
    shuffles && multiplies
}

/// Returns whether a kernel has a loop that mostly waits for loads of global memory. More of them are
/// then in flight if ptxas unrolls the loop with other registers for each. Elements that all threads
/// load are in a cache soon, which arithmetic on 64-bit floats takes longer than.
fn waits_for_loads(graph: &Graph<'_>) -> bool {
    let cold = graph.cold();
    let different = of_threads(graph);
    let has_barriers = barriers(graph, &graph.order) > 0;
    let is_different = |it: &Operand<'_>| match it {
        Operand::Address(Base::Name(base), _) => different.contains(base),
        _ => false,
    };
    let all = loops::single_latch(graph, &cold);
    // Each loop counts once, or each loop in it counts several times.
    let waits_in = |each: &loops::Loop<'_>, most: usize| {
        let (mut size, mut bytes, mut loads, mut products, mut fused) = (0, 0, 0, 0, 0);
        let mut are_vectors = true;
        let (mut fills, mut waits, mut tensors) = (false, false, false);
        let own = || each.blocks.iter().copied().filter(|&id| !cold[id]);
        let mut is_slow = false;
        graph.visit(own(), &mut |it| {
            is_slow |= it.opcode == "fma" && it.modifiers.contains(&"f64");
        });
        let inner = |id: Id| {
            let is_inner = |other: &&loops::Loop<'_>| {
                other.header != each.header && each.contains(other.header) && other.contains(id)
            };
            all.iter().filter(is_inner).count().min(most)
        };
        for id in own() {
            let times = ITERATIONS.pow(inner(id) as u32);
            graph.visit([id], &mut |it| {
                size += times;
                match (it.opcode, &it.modifiers[..]) {
                    ("ld", modifiers) if modifiers.contains(&"global") => {
                        if !is_slow || it.operands.iter().any(is_different) {
                            bytes += times * bytes_of(it);
                            loads += times;
                            are_vectors &= bytes_of(it) == VECTOR;
                        }
                    }
                    // Several instructions each.
                    ("mul" | "mad", ["lo" | "hi", "s64" | "u64"]) => products += times,
                    ("fma", _) => fused += times,
                    ("st", modifiers) => fills |= modifiers.contains(&"shared"),
                    ("bar" | "barrier", _) => waits = true,
                    ("mma" | "wmma" | "wgmma", _) => tensors = true,
                    _ => {}
                }
            });
        }
        let computes = tensors
            || products * 8 > bytes
            || fused * 4 > bytes * MULTIPLICATION
            || (!waits || fills)
                && (size * 4 > bytes * COMPUTATION || size > loads * COMPUTATION_PER_LOAD);
        // While some blocks wait at a barrier, others load. One load per thread is enough then.
        let is_shared = has_barriers && !waits && are_vectors;
        // A loop that only fills shared memory is a small part of the kernel.
        bytes > 0 && !computes && !is_shared && (waits || !fills)
    };
    // Threads that wait at a barrier in the loop wait for its loads, however long they compute.
    let stops = |each: &loops::Loop<'_>| barriers(graph, &each.blocks) > 0;
    all.iter()
        .any(|each| waits_in(each, 0) && (stops(each) || waits_in(each, DEPTH)))
}

/// Returns the registers that are computed from the index of the thread, from what is loaded at such
/// an address, or from what other threads write.
fn of_threads<'a>(graph: &Graph<'a>) -> HashSet<&'a str> {
    let mut found: HashSet<&'a str> = HashSet::default();
    loop {
        let before = found.len();
        graph.visit(graph.order.iter().copied(), &mut |it| {
            let is_read = |space: &&str| ["global", "param"].contains(space);
            let mut depends = match it.opcode {
                "ld" => !it.modifiers.iter().any(is_read),
                opcode => ["atom", "call", "shfl"].contains(&opcode),
            };
            sources(it, &mut |name| {
                depends |= found.contains(name) || is_of_thread(name)
            });
            if depends {
                results(it, &mut |name| _ = found.insert(name));
            }
        });
        if found.len() == before {
            return found;
        }
    }
}

/// Returns whether a special register differs among the threads of a block.
fn is_of_thread(name: &str) -> bool {
    ["%tid.", "%laneid", "%lanemask", "%warpid"]
        .iter()
        .any(|it| name.starts_with(it))
}

/// A branch to a panic.
#[derive(Clone, Copy, Debug)]
struct Check<'a> {
    /// The condition, which is true if the check passes.
    register: &'a str,
    /// Whether the condition is inverted.
    negated: bool,
    /// The target if the check passes.
    passes: Id,
    /// The target if the check fails.
    fails: Id,
}

/// A predicate, and the value for which execution continues.
type Literal<'a> = (&'a str, bool);

impl<'a> Check<'a> {
    /// Returns the condition under which the check passes.
    fn passes(&self) -> Literal<'a> {
        (self.register, !self.negated)
    }
}

/// Returns a register that is true if a predicate has a value.
fn literal<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    computed: &mut Vec<Statement<'a>>,
    (register, value): Literal<'a>,
) -> &'a str {
    if value {
        return register;
    }
    let operands = [Operand::Name(register)];
    graph.emit(names, computed, Type::Pred, "not", &["pred"], operands)
}

/// Returns whether an instruction writes one of the registers.
fn writes(instruction: &Instruction<'_>, registers: &HashSet<&str>) -> bool {
    let mut found = false;
    results(instruction, &mut |name| found |= registers.contains(name));
    found
}

/// Removes the instructions that write one of the registers from blocks, and returns them in order.
fn take_writers<'a>(
    graph: &mut Graph<'a>,
    blocks: impl IntoIterator<Item = Id>,
    registers: &HashSet<&'a str>,
) -> Vec<Statement<'a>> {
    let mut taken = Vec::new();
    for id in blocks {
        let body = std::mem::take(&mut graph.blocks[id].body);
        let (writers, rest): (Vec<_>, Vec<_>) = body.into_iter().partition(
            |statement| matches!(statement, Statement::Instruction(it) if writes(it, registers)),
        );
        taken.extend(writers);
        graph.blocks[id].body = rest;
    }
    taken
}

/// Returns the check that a block ends in.
fn check_of<'a>(graph: &Graph<'a>, cold: &[bool], id: Id) -> Option<Check<'a>> {
    let End::Branch(guard, _, to, otherwise) = graph.blocks[id].end else {
        return None;
    };
    let (negated, passes, fails) = match (cold[to], cold[otherwise]) {
        (true, false) => (!guard.negated, otherwise, to),
        (false, true) => (guard.negated, to, otherwise),
        _ => return None,
    };
    Some(Check {
        register: guard.register,
        negated,
        passes,
        fails,
    })
}

/// Returns the number of instructions that write each register, except in cold blocks.
fn definitions<'a>(graph: &Graph<'a>, cold: &[bool]) -> HashMap<&'a str, u32> {
    let mut definitions = with_capacity(graph.len());
    for (id, block) in graph.blocks.iter().enumerate() {
        if cold[id] {
            continue;
        }
        for statement in &block.body {
            instructions::instructions(statement, &mut |it| {
                results(it, &mut |name| *definitions.entry(name).or_insert(0) += 1);
            });
        }
    }
    definitions
}
