//! Jump threading on MIR: a block that sets an enum's variant jumps directly to the code for that
//! variant.
//!
//! An inlined `next` of an iterator constructs a `Some` in one block and a `None` in another; both
//! jump to a block that tests which of the two it is. libnvvm's LLVM 7 cannot prove that the
//! pointer in the `Some` is not null: the comparison stays in the loop, and the pointer, which may
//! now be null, loses its address space.
//!
//! rustc's own jump threading is off for GPUs, because it may duplicate calls, and duplicating a
//! barrier changes the program. This pass duplicates plain statements only: the statements of a
//! block that ends in a `switchInt` are repeated at the end of the predecessor, which then jumps to
//! the known target. Loop headers are excluded, because a second entry into a loop would cost more
//! than the pass gains.

use std::sync::OnceLock;

use rustc_data_structures::fx::FxHashSet;
use rustc_middle::mir::visit::{NonMutatingUseContext, PlaceContext, Visitor};
use rustc_middle::mir::{
    AggregateKind, BasicBlock, BasicBlocks, Body, Const, Local, Location, Operand, Place, Rvalue,
    Statement, StatementKind, TerminatorKind,
};
use rustc_middle::ty::{Ty, TyCtxt, TypeVisitableExt};
use rustc_middle::util::Providers;
use rustc_span::def_id::{DefId, LocalDefId};

type OptimizedMir = for<'tcx> fn(TyCtxt<'tcx>, LocalDefId) -> &'tcx Body<'tcx>;
type ForeignMir = for<'tcx> fn(TyCtxt<'tcx>, DefId) -> &'tcx Body<'tcx>;

/// rustc's own passes, which run first.
static RUSTC_PASSES: OnceLock<OptimizedMir> = OnceLock::new();

/// rustc's provider of the MIR of other crates.
static OF_OTHERS: OnceLock<ForeignMir> = OnceLock::new();

/// The maximum number of statements that are duplicated into a predecessor.
const STATEMENTS: usize = 8;

/// The maximum number of rounds over a function's body: a round may enable further shortcuts.
const ROUNDS: usize = 8;

/// Adds the pass after rustc's MIR passes.
pub(crate) fn provide(providers: &mut Providers) {
    RUSTC_PASSES.get_or_init(|| providers.queries.optimized_mir);
    providers.queries.optimized_mir = |tcx, def_id| {
        let rustc_passes = RUSTC_PASSES.get().expect("`provide` sets it");
        thread(tcx, rustc_passes(tcx, def_id))
    };
}

/// Adds the pass to the MIR of other crates, which single-source sessions may have compiled without
/// this backend. A body that has been through the pass does not change.
pub(crate) fn provide_for_others(providers: &mut Providers) {
    OF_OTHERS.get_or_init(|| providers.extern_queries.optimized_mir);
    providers.extern_queries.optimized_mir = |tcx, def_id| {
        let before = OF_OTHERS.get().expect("`provide_for_others` sets it");
        let body = before(tcx, def_id);
        match is_of_sysroot(tcx, def_id) {
            true => body,
            false => thread(tcx, body),
        }
    };
}

/// Returns whether an item belongs to the standard library.
fn is_of_sysroot(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    let sysroot = tcx.sess.opts.sysroot.path();
    let mut files = tcx.used_crate_source(def_id.krate).paths();
    files.any(|file| file.starts_with(sysroot))
}

fn thread<'tcx>(tcx: TyCtxt<'tcx>, body: &'tcx Body<'tcx>) -> &'tcx Body<'tcx> {
    if tcx.sess.mir_opt_level() < 2 || body.coroutine.is_some() {
        return body;
    }
    let mut threaded = None;
    for _ in 0..ROUNDS {
        let current = threaded.as_ref().unwrap_or(body);
        let found = find(tcx, current);
        if found.is_empty() {
            break;
        }
        apply(threaded.get_or_insert_with(|| body.clone()), found);
    }
    match threaded {
        Some(threaded) => tcx.arena.alloc(threaded),
        None => body,
    }
}

/// An edge to redirect: the jump from `from` through `through` is redirected to `to`.
struct Shortcut {
    from: BasicBlock,
    through: BasicBlock,
    to: BasicBlock,
}

fn apply(body: &mut Body<'_>, found: Vec<Shortcut>) {
    let blocks = body.basic_blocks_mut();
    for Shortcut { from, through, to } in found {
        let statements = blocks[through].statements.clone();
        let block = &mut blocks[from];
        block.statements.extend(statements);
        if let TerminatorKind::Goto { target, .. } = &mut block.terminator_mut().kind {
            *target = to;
        }
    }
}

fn find<'tcx>(tcx: TyCtxt<'tcx>, body: &Body<'tcx>) -> Vec<Shortcut> {
    let mut found = Vec::new();
    let mut borrowed = None;
    for (through, block) in body.basic_blocks.iter_enumerated() {
        let TerminatorKind::SwitchInt { discr, targets } = &block.terminator().kind else {
            continue;
        };
        let Some(tested) = tested(&block.statements, discr) else {
            continue;
        };
        if block.statements.len() > STATEMENTS || is_loop_header(&body.basic_blocks, through) {
            continue;
        }
        let borrowed = borrowed.get_or_insert_with(|| Borrowed::of(body));
        if borrowed.locals.contains(&tested.place().local) {
            continue;
        }
        for &from in &body.basic_blocks.predecessors()[through] {
            let block = &body.basic_blocks[from];
            let TerminatorKind::Goto { .. } = block.terminator().kind else {
                continue;
            };
            if let Some(value) = tested.value_after(tcx, body, &block.statements) {
                let to = targets.target_for_value(value);
                found.push(Shortcut { from, through, to });
            }
        }
    }
    // Each shortcut of a chain is taken in its own round: the values that a block's statements set
    // are known only once the statements have been copied into it.
    let sources: FxHashSet<BasicBlock> = found.iter().map(|shortcut| shortcut.from).collect();
    found.retain(|shortcut| !sources.contains(&shortcut.through));
    found
}

/// Returns whether a block is the target of a back edge.
fn is_loop_header(blocks: &BasicBlocks<'_>, block: BasicBlock) -> bool {
    let reachable = |from: BasicBlock| blocks.dominators().is_reachable(from);
    blocks.predecessors()[block]
        .iter()
        .any(|&from| reachable(from) && blocks.dominators().dominates(block, from))
}

/// The property that a block's `switchInt` tests, of a place that its predecessors assign.
enum Tested<'tcx> {
    Variant(Place<'tcx>),
    Value(Place<'tcx>),
}

/// Returns the tested property, if the block's statements do not change the place.
fn tested<'tcx>(statements: &[Statement<'tcx>], discr: &Operand<'tcx>) -> Option<Tested<'tcx>> {
    let (Operand::Copy(place) | Operand::Move(place)) = *discr else {
        return None;
    };
    place.as_local()?;
    let mut tested = Tested::Value(place);
    for statement in statements.iter().rev() {
        match &statement.kind {
            StatementKind::Assign(assign) => {
                let (left, right) = &**assign;
                if left.local != tested.place().local {
                    continue;
                }
                match (right, &tested) {
                    (Rvalue::Discriminant(of), Tested::Value(place)) if left == place => {
                        of.as_local()?;
                        tested = Tested::Variant(*of);
                    }
                    _ => return None,
                }
            }
            StatementKind::SetDiscriminant { place, .. } if place.local == tested.place().local => {
                return None;
            }
            StatementKind::StorageLive(local) | StatementKind::StorageDead(local)
                if *local == tested.place().local && matches!(tested, Tested::Variant(_)) =>
            {
                // Usually the place dies after the test. If its storage starts or ends before the
                // test, the value is unknown.
                return None;
            }
            _ => {}
        }
    }
    Some(tested)
}

impl<'tcx> Tested<'tcx> {
    fn place(&self) -> Place<'tcx> {
        match *self {
            Tested::Variant(place) | Tested::Value(place) => place,
        }
    }

    /// Returns the value that the `switchInt` tests after a block's statements, if it is known.
    fn value_after(
        &self,
        tcx: TyCtxt<'tcx>,
        body: &Body<'tcx>,
        statements: &[Statement<'tcx>],
    ) -> Option<u128> {
        let local = self.place().local;
        let ty = body.local_decls[local].ty;
        for statement in statements.iter().rev() {
            match &statement.kind {
                StatementKind::Assign(assign) if assign.0.local == local => {
                    assign.0.as_local()?;
                    return match (self, &assign.1) {
                        (Tested::Variant(_), value) => variant(tcx, ty, value),
                        (Tested::Value(_), Rvalue::Use(Operand::Constant(constant), ..)) => {
                            value(constant.const_)
                        }
                        _ => None,
                    };
                }
                StatementKind::SetDiscriminant {
                    place,
                    variant_index,
                } if place.local == local => {
                    place.as_local()?;
                    let Tested::Variant(_) = self else {
                        return None;
                    };
                    return Some(ty.discriminant_for_variant(tcx, *variant_index)?.val);
                }
                StatementKind::StorageLive(it) | StatementKind::StorageDead(it) if *it == local => {
                    return None;
                }
                _ => {}
            }
        }
        None
    }
}

/// Returns the discriminant of the enum value that an rvalue constructs.
fn variant<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>, value: &Rvalue<'tcx>) -> Option<u128> {
    if !ty.is_enum() {
        return None;
    }
    let index = match value {
        Rvalue::Aggregate(kind, _) => match **kind {
            AggregateKind::Adt(_, index, ..) => index,
            _ => return None,
        },
        Rvalue::Use(Operand::Constant(constant), ..) => {
            let Const::Val(value, ty) = constant.const_ else {
                return None;
            };
            if ty.has_param() || ty.has_aliases() {
                return None;
            }
            let parts = tcx.try_destructure_mir_constant_for_user_output(value, ty)?;
            parts.variant?
        }
        _ => return None,
    };
    Some(ty.discriminant_for_variant(tcx, index)?.val)
}

/// Returns the bits of a constant number, `bool` or `char`.
fn value(constant: Const<'_>) -> Option<u128> {
    let scalar = constant.try_to_scalar()?.try_to_scalar_int().ok()?;
    Some(scalar.to_bits(scalar.size()))
}

/// The locals that a pointer may refer to, and which may therefore change indirectly.
#[derive(Default)]
struct Borrowed {
    locals: FxHashSet<Local>,
}

impl Borrowed {
    fn of(body: &Body<'_>) -> Self {
        let mut borrowed = Self::default();
        borrowed.visit_body(body);
        borrowed
    }
}

impl<'tcx> Visitor<'tcx> for Borrowed {
    fn visit_place(&mut self, place: &Place<'tcx>, context: PlaceContext, location: Location) {
        use rustc_middle::mir::visit::MutatingUseContext as Mutating;
        let points = matches!(
            context,
            PlaceContext::MutatingUse(Mutating::Borrow | Mutating::RawBorrow)
                | PlaceContext::NonMutatingUse(
                    NonMutatingUseContext::SharedBorrow
                        | NonMutatingUseContext::FakeBorrow
                        | NonMutatingUseContext::RawBorrow
                )
        );
        if points && !place.is_indirect() {
            self.locals.insert(place.local);
        }
        self.super_place(place, context, location);
    }
}
