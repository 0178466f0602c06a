//! Passes: each a file, a function and a name, which its dump carries too. They take a module
//! that the verifier accepts and leave one that it accepts.

mod bound_inlining;
mod convergence;
mod dead_functions;
mod dead_globals;
mod keep_strided_loops;
mod parameters;
mod prune;
mod reachable;
mod remove_unreachable_blocks;
mod share_slots;

use crate::module::Module;

pub use bound_inlining::bound_inlining;
pub use convergence::convergence;
pub use dead_functions::dead_functions;
pub use dead_globals::dead_globals;
pub use keep_strided_loops::keep_strided_loops;
pub use parameters::{Inherited, inherit_parameter, push_argument};
pub use prune::{prune, symbols_in, symbols_of};
pub use remove_unreachable_blocks::remove_unreachable_blocks;
pub use share_slots::{SlotSharing, share_slots};

/// A pass over one module.
#[derive(Copy, Clone, Debug)]
pub struct Pass {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// The pass itself.
    pub run: fn(&mut Module),
}

/// The passes over one module, in the order in which the compiler runs them.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "remove_unreachable_blocks",
        about: "drops the blocks to which control never comes",
        run: remove_unreachable_blocks,
    },
    Pass {
        name: "dead_functions",
        about: "drops the functions that no kernel and no used static reaches",
        run: dead_functions,
    },
    Pass {
        name: "dead_globals",
        about: "drops the statics that no kernel and no used static reaches",
        run: dead_globals,
    },
    Pass {
        name: "bound_inlining",
        about: "marks functions that would become too large as not to be inlined",
        run: bound_inlining,
    },
    Pass {
        name: "convergence",
        about: "marks functions and calls that can reach a convergent operation as `convergent`",
        run: convergence,
    },
    Pass {
        name: "keep_strided_loops",
        about: "marks loops whose step is a variable as not to be unrolled by libnvvm",
        run: keep_strided_loops,
    },
    Pass {
        name: "share_slots",
        about: "lets large stack slots that are not live together share memory",
        run: |module| share_slots(module, SlotSharing::optimized(4096)),
    },
    Pass {
        name: "share_slots_unoptimized",
        about: "the same for code that libnvvm does not optimize",
        run: |module| share_slots(module, SlotSharing::unoptimized(1024)),
    },
];

/// The pass of that name.
pub fn pass(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|pass| pass.name == name)
}
