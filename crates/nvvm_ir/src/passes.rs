//! Passes over a module. Each has its own file, a function, and a name, which also names its dump.
//! A pass takes a module that the verifier accepts and leaves one that it accepts.
//!
//! ```
//! use nvvm_ir::{Dialect, passes, read_module, write_module};
//!
//! let mut module = read_module(
//!     "@unused = addrspace(1) global i32 0, align 4
//!      define void @f() {
//!      start:
//!        ret void
//!      dead:
//!        ret void
//!      }",
//! )?;
//! passes::remove_unreachable_blocks(&mut module);
//! passes::dead_globals(&mut module);
//! let text = write_module(&module, Dialect::Modern);
//! assert!(!text.contains("dead:") && !text.contains("@unused"));
//! # Ok::<(), nvvm_ir::ReadError>(())
//! ```

mod align_accesses;
mod bound_counts;
mod bound_inlining;
mod bound_searches;
mod branch_on_orderings;
mod call_directly;
mod call_pointers;
mod check_windows;
mod compare_ends;
mod compare_indices;
mod compute_elements;
mod contract_halves;
mod convergence;
mod copy_tails;
mod count_doublings;
mod count_iterations;
mod count_strides;
mod dead_functions;
mod dead_globals;
mod expand_moves;
mod fold_null_tests;
mod hoist_calls;
mod index_walks;
mod keep_searches;
mod keep_strided_loops;
mod load_elements;
mod load_payloads;
mod locate_addresses;
mod merge_branches;
mod merge_calls;
mod merge_loops;
mod narrow_products;
mod narrow_sums;
mod pair_sin_cos;
mod parameters;
mod prune;
mod reachable;
mod read_constants;
mod rejoin_branches;
mod remove_unreachable_blocks;
mod resume_unrolling;
mod scan_extremes;
mod select_cases;
mod select_elements;
mod select_joined;
mod select_refined;
mod separate_fields;
mod separate_locals;
mod separate_panics;
mod share_slots;
mod skip_selects;
mod skip_swaps;
mod square_differences;
mod step_zips;
mod subtract_steps;
mod tabulate_cases;
mod terms;
mod unite_exits;
mod unite_latches;
mod unroll_array_loops;
mod unroll_divergent_loops;
mod unroll_windows;
mod use_conditions;
mod widen_bytes;
mod widen_counters;
mod widen_differences;

use crate::module::Module;

pub use align_accesses::align_accesses;
pub use bound_counts::bound_counts;
pub use bound_inlining::bound_inlining;
pub use bound_searches::bound_searches;
pub use branch_on_orderings::branch_on_orderings;
pub use call_directly::{VirtualCall, call_directly};
pub use call_pointers::call_pointers;
pub use check_windows::check_windows;
pub use compare_ends::compare_ends;
pub use compare_indices::compare_indices;
pub use compute_elements::compute_elements;
pub use contract_halves::contract_halves;
pub use convergence::convergence;
pub use copy_tails::copy_tails;
pub use count_doublings::count_doublings;
pub use count_iterations::count_iterations;
pub use count_strides::count_strides;
pub use dead_functions::dead_functions;
pub use dead_globals::dead_globals;
pub use expand_moves::expand_moves;
pub use fold_null_tests::fold_null_tests;
pub(crate) use fold_null_tests::is_in_static;
pub use hoist_calls::hoist_calls;
pub use index_walks::index_walks;
pub use keep_searches::keep_searches;
pub use keep_strided_loops::keep_strided_loops;
pub use load_elements::load_elements;
pub use load_payloads::load_payloads;
pub use locate_addresses::locate_addresses;
pub use merge_branches::merge_branches;
pub use merge_calls::merge_calls;
pub use merge_loops::merge_loops;
pub use narrow_products::narrow_products;
pub use narrow_sums::narrow_sums;
pub use pair_sin_cos::{pair_sin_cos, store_sin_cos};
pub use parameters::{Inherited, inherit_parameter, push_argument};
pub use prune::{prune, symbols_in, symbols_of};
pub use read_constants::read_constants;
pub use rejoin_branches::rejoin_branches;
pub use remove_unreachable_blocks::remove_unreachable_blocks;
pub use resume_unrolling::resume_unrolling;
pub(crate) use resume_unrolling::{expanded, latches_of_calling_loops};
pub use scan_extremes::scan_extremes;
pub use select_cases::select_cases;
pub use select_elements::select_elements;
pub use select_joined::select_joined;
pub use select_refined::select_refined;
pub use separate_fields::separate_fields;
pub use separate_locals::separate_locals;
pub use separate_panics::separate_panics;
pub(crate) use share_slots::{Copied, copied_locals};
pub use share_slots::{SlotSharing, share_slots};
pub use skip_selects::skip_selects;
pub use skip_swaps::skip_swaps;
pub use square_differences::square_differences;
pub use step_zips::step_zips;
pub use subtract_steps::subtract_steps;
pub use tabulate_cases::tabulate_cases;
pub use unite_exits::unite_exits;
pub use unite_latches::unite_latches;
pub use unroll_array_loops::unroll_array_loops;
pub use unroll_divergent_loops::unroll_divergent_loops;
pub use unroll_windows::unroll_windows;
pub use use_conditions::use_conditions;
pub use widen_bytes::widen_bytes;
pub use widen_counters::widen_counters;
pub use widen_differences::widen_differences;

/// A pass over one module.
#[derive(Copy, Clone, Debug)]
pub struct Pass {
    /// The name.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// Runs the pass.
    pub run: fn(&mut Module),
}

/// The passes, in the order in which the compiler runs them.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "prune",
        about: "removes branches on constants and the blocks that they skip",
        run: |module| module.funcs().for_each(|func| prune(module, func)),
    },
    Pass {
        name: "remove_unreachable_blocks",
        about: "removes unreachable blocks",
        run: remove_unreachable_blocks,
    },
    Pass {
        name: "dead_functions",
        about: "removes functions that are unreachable from kernels and used statics",
        run: dead_functions,
    },
    Pass {
        name: "dead_globals",
        about: "removes statics that are unreachable from kernels and used statics",
        run: dead_globals,
    },
    Pass {
        name: "contract_halves",
        about: "fuses sums and products of 16-bit floats",
        run: |module| contract_halves(module, true),
    },
    Pass {
        name: "contract_halves_separately",
        about: "the same without fusing",
        run: |module| contract_halves(module, false),
    },
    Pass {
        name: "fold_null_tests",
        about: "folds comparisons of the addresses of statics with null",
        run: fold_null_tests,
    },
    Pass {
        name: "pair_sin_cos",
        about: "lets functions that store a sine and a cosine return both",
        run: pair_sin_cos,
    },
    Pass {
        name: "store_sin_cos",
        about: "lets functions that return a sine and a cosine store both",
        run: store_sin_cos,
    },
    Pass {
        name: "skip_swaps",
        about: "removes branches and selects that only swap the operands of commutative operations",
        run: skip_swaps,
    },
    Pass {
        name: "branch_on_orderings",
        about: "replaces switches on three-way comparisons with branches on the comparisons",
        run: branch_on_orderings,
    },
    Pass {
        name: "tabulate_cases",
        about: "replaces cases of a switch that only choose constants with loads from tables",
        run: tabulate_cases,
    },
    Pass {
        name: "select_cases",
        about: "replaces cases of a switch that skip the default's computation with selects",
        run: select_cases,
    },
    Pass {
        name: "select_joined",
        about: "replaces branches that only choose values with selects if others join their arms",
        run: select_joined,
    },
    Pass {
        name: "select_refined",
        about: "replaces branches past blocks that choose again among the same values",
        run: select_refined,
    },
    Pass {
        name: "scan_extremes",
        about: "computes maxima of two lanes also where there is no other lane",
        run: scan_extremes,
    },
    Pass {
        name: "square_differences",
        about: "squares differences instead of absolute differences",
        run: square_differences,
    },
    Pass {
        name: "merge_branches",
        about: "merges two conditional branches with the same targets into one",
        run: merge_branches,
    },
    Pass {
        name: "rejoin_branches",
        about: "lets threads meet before a branch that some of them skip",
        run: rejoin_branches,
    },
    Pass {
        name: "skip_selects",
        about: "moves selects past the ways on which they select what was there before",
        run: skip_selects,
    },
    Pass {
        name: "resume_unrolling",
        about: "lets libnvvm unroll loops with calls that it expands",
        run: resume_unrolling,
    },
    Pass {
        name: "hoist_calls",
        about: "hoists calls with which several arms of a branch begin",
        run: hoist_calls,
    },
    Pass {
        name: "merge_calls",
        about: "merges calls before the same block that differ only in numbers",
        run: merge_calls,
    },
    Pass {
        name: "unite_latches",
        about: "lets each loop go back from one block",
        run: unite_latches,
    },
    Pass {
        name: "separate_locals",
        about: "gives each way to accesses of one of several local variables a copy of them",
        run: separate_locals,
    },
    Pass {
        name: "expand_moves",
        about: "replaces moves of a few words in memory by loads and stores",
        run: expand_moves,
    },
    Pass {
        name: "separate_fields",
        about: "moves fields beside an array to variables of their own",
        run: separate_fields,
    },
    Pass {
        name: "copy_tails",
        about: "copies a variable number of a few bytes into a local array one by one",
        run: copy_tails,
    },
    Pass {
        name: "merge_loops",
        about: "merges nested loops that visit a local array together",
        run: merge_loops,
    },
    Pass {
        name: "unroll_array_loops",
        about: "unrolls loops over local arrays completely",
        run: unroll_array_loops,
    },
    Pass {
        name: "check_windows",
        about: "removes checks of the order of the ends of a range around an element",
        run: check_windows,
    },
    Pass {
        name: "unroll_windows",
        about: "unrolls loops over the few elements around another one",
        run: unroll_windows,
    },
    Pass {
        name: "compare_ends",
        about: "removes branches on the least length of a range around an element",
        run: compare_ends,
    },
    Pass {
        name: "read_constants",
        about: "replaces local copies of constants with the constants",
        run: read_constants,
    },
    Pass {
        name: "compare_indices",
        about: "compares indices instead of the addresses that tables have at them",
        run: compare_indices,
    },
    Pass {
        name: "compute_elements",
        about: "computes elements of constant arrays that are a linear function of the index",
        run: compute_elements,
    },
    Pass {
        name: "select_elements",
        about: "replaces accesses to small local arrays at variable indices with selects",
        run: select_elements,
    },
    Pass {
        name: "use_conditions",
        about: "replaces numbers that a branch decides by constants behind the branch",
        run: use_conditions,
    },
    Pass {
        name: "index_walks",
        about: "gives loops over slices that get shorter indices of 32 bits",
        run: index_walks,
    },
    Pass {
        name: "count_iterations",
        about: "lets loops over slices end by the number of their iterations",
        run: count_iterations,
    },
    Pass {
        name: "count_strides",
        about: "lets loops over every n-th element of a slice end by a counter",
        run: count_strides,
    },
    Pass {
        name: "bound_counts",
        about: "removes checks of numbers that loops over slices count",
        run: bound_counts,
    },
    Pass {
        name: "unite_exits",
        about: "gives loops that end by two counts one exit",
        run: unite_exits,
    },
    Pass {
        name: "narrow_sums",
        about: "computes sums of loops in 32 bits if no more bits are used",
        run: narrow_sums,
    },
    Pass {
        name: "widen_counters",
        about: "counts in 64 bits in loops with one exit that compute addresses from the counter",
        run: widen_counters,
    },
    Pass {
        name: "widen_differences",
        about: "computes absolute differences of short integers in 32 bits",
        run: widen_differences,
    },
    Pass {
        name: "narrow_products",
        about: "computes parts of products of extended integers from the integers",
        run: narrow_products,
    },
    Pass {
        name: "widen_bytes",
        about: "keeps bytes of loops in 32 bits, extended with zeros",
        run: widen_bytes,
    },
    Pass {
        name: "step_zips",
        about: "skips elements of zipped slices without a loop",
        run: step_zips,
    },
    Pass {
        name: "subtract_steps",
        about: "lets loops with a variable step end without a division",
        run: subtract_steps,
    },
    Pass {
        name: "count_doublings",
        about: "counts the iterations of loops whose variables have known bounds",
        run: count_doublings,
    },
    Pass {
        name: "bound_searches",
        about: "removes checks of the indices of binary searches",
        run: bound_searches,
    },
    Pass {
        name: "bound_inlining",
        about: "marks functions that would become too large as `noinline`",
        run: bound_inlining,
    },
    Pass {
        name: "convergence",
        about: "marks functions and calls that can reach a convergent operation as `convergent`",
        run: convergence,
    },
    Pass {
        name: "separate_panics",
        about: "gives each check its own call of the panic",
        run: separate_panics,
    },
    Pass {
        name: "keep_searches",
        about: "disables libnvvm's partial unrolling of loops that search",
        run: keep_searches,
    },
    Pass {
        name: "keep_strided_loops",
        about: "disables libnvvm's unrolling for loops with a variable step",
        run: keep_strided_loops,
    },
    Pass {
        name: "unroll_divergent_loops",
        about: "limits the unrolling of loops whose number of iterations differs between threads",
        run: unroll_divergent_loops,
    },
    Pass {
        name: "load_elements",
        about: "loads fields of an element where the first of them is loaded",
        run: load_elements,
    },
    Pass {
        name: "locate_addresses",
        about: "gives addresses from tables of constants their state space",
        run: locate_addresses,
    },
    Pass {
        name: "align_accesses",
        about: "raises the alignment of accesses to that of their addresses",
        run: align_accesses,
    },
    Pass {
        name: "load_payloads",
        about: "loads the payloads of elements of local arrays with their tags",
        run: load_payloads,
    },
    Pass {
        name: "share_slots",
        about: "lets large stack slots with disjoint live ranges share memory",
        run: |module| share_slots(module, SlotSharing::optimized(4096)),
    },
    Pass {
        name: "share_slots_unoptimized",
        about: "the same for code that libnvvm does not optimize",
        run: |module| share_slots(module, SlotSharing::unoptimized(1024)),
    },
];

/// Returns the pass with a name.
pub fn pass(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|pass| pass.name == name)
}
