//! Describes the only body of a kernel as `specialize` describes a copy.
//!
//! A kernel without lengths and extents among its parameters gets no copy, but its 64-bit integers
//! often fit 32 bits as well: they are computed from special registers, from constants, and from
//! numbers of 32 bits.

use crate::hash::{HashMap, HashSet};

use super::flow::{Block, End, Graph};
use super::names::Names;
use super::specialize::Special;

/// The maximum number of instructions of a kernel whose ranges are analyzed.
const LARGEST: usize = 1150;

/// The minimum number of 64-bit operations for which the analysis pays.
const WORTHWHILE: usize = 3;

/// Returns the description of a kernel's body, if its ranges can be analyzed and that pays.
pub(super) fn whole<'a>(graph: &mut Graph<'a>, names: &'a Names) -> Option<Special<'a>> {
    let first = *graph.order.first()?;
    let (mut size, mut operations) = (0, 0);
    graph.visit(graph.order.iter().copied(), &mut |it| {
        size += 1;
        let wide = matches!(it.modifiers.last(), Some(&("u64" | "s64" | "b64")));
        // Additions are mostly those of addresses, which have 64 bits anyway.
        operations += usize::from(wide && matches!(it.opcode, "min" | "max" | "mul" | "setp"));
    });
    if size > LARGEST
        || operations < WORTHWHILE
        || graph.has_switch()
        || !graph.predecessors()[first].is_empty()
    {
        return None;
    }
    // There is no other body, so nothing branches to it.
    let general = graph.add(
        Block {
            label: names.label(),
            body: Vec::new(),
            end: End::Never,
        },
        None,
    );
    Some(Special {
        first,
        general,
        general_is_slow: false,
        extents: HashSet::default(),
        positive: HashSet::default(),
        bounded: HashMap::default(),
        ranges: Vec::new(),
        outcomes: HashMap::default(),
        within: HashSet::default(),
    })
}
