//! Barriers and warp operations: threads arrive one by one, and the last one executes the operation
//! for all. A thread that has exited counts as arrived, as on hardware.

use super::Worker;
use super::cluster::{Cluster, State};
use crate::exec::float::extremum;
use crate::exec::value::Single;
use crate::exec::{Inst, Regs};
use crate::fault::{Fault, FaultKind};

/// The operation of an instruction that waits for other threads. Its operands are in the [`Inst`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sync {
    Barrier(BarrierSync),
    /// `barrier.cluster.arrive`
    ClusterArrive,
    /// `barrier.cluster.wait`
    ClusterWait,
    Warp(WarpSync),
    /// `activemask`: `d`.
    Active,
}

/// `bar` and `barrier`: id in `a`, number of threads in `b`, predicate in `c`, result in `d`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierSync {
    /// Whether `b` is present.
    pub counted: bool,
    /// `.arrive`: does not wait.
    pub arrive: bool,
    pub reduction: Option<Reduction>,
}

/// How a barrier combines the predicates of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Count,
    And,
    Or,
}

/// Operations of the threads in a mask, which is in `e`: value in `a`, further operands in `b` and
/// `c`, result in `d`. A predicate result, if any, is in `c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpSync {
    /// `bar.warp.sync`
    Barrier,
    /// `shfl.sync`: lane or distance in `b`, clamp in `c`; predicate in `imm2`.
    Shuffle { mode: ShuffleMode, predicate: u32 },
    /// `vote.sync`
    Vote(Vote),
    /// `match.any.sync`, of 64 bits or 32.
    MatchAny { wide: bool },
    /// `match.all.sync`; the predicate is in `c`.
    MatchAll { wide: bool },
    /// `redux.sync`
    Reduce(Redux),
    /// `elect.sync`; the predicate is in `c`.
    Elect,
    /// A matrix operation, by its index in the code. All lanes of the warp must arrive.
    Matrix { index: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Redux {
    Add,
    And,
    Or,
    Xor,
    MinSigned,
    MaxSigned,
    MinUnsigned,
    MaxUnsigned,
    MinFloat { abs: bool, nan: bool },
    MaxFloat { abs: bool, nan: bool },
}

impl WarpSync {
    pub fn name(&self) -> &'static str {
        match self {
            WarpSync::Barrier => "bar.warp.sync",
            WarpSync::Shuffle { .. } => "shfl.sync",
            WarpSync::Vote(_) => "vote.sync",
            WarpSync::MatchAny { .. } | WarpSync::MatchAll { .. } => "match.sync",
            WarpSync::Reduce(_) => "redux.sync",
            WarpSync::Elect => "elect.sync",
            WarpSync::Matrix { .. } => "a matrix instruction",
        }
    }

    /// Returns whether lanes at two instructions execute one operation. Copies of one instruction
    /// that the compiler created do, although their registers differ.
    fn meets(self, other: WarpSync) -> bool {
        match (self, other) {
            (WarpSync::Shuffle { mode: a, .. }, WarpSync::Shuffle { mode: b, .. }) => a == b,
            _ => self == other,
        }
    }
}

/// The number of barriers of a block.
pub(crate) const BARRIERS: usize = 16;

/// The state of a barrier of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Barrier {
    waiting: u32,
    /// The number of threads that arrived with `.arrive`.
    arrived: u32,
    /// The number of expected threads, or 0 for all.
    expected: u32,
}

type Problem = (FaultKind, String);

fn invalid(message: impl Into<String>) -> Problem {
    (FaultKind::InvalidInstruction, message.into())
}

impl Worker<'_> {
    /// Handles a thread that has arrived at an instruction that waits.
    pub(super) fn arrive(&mut self, cluster: &mut Cluster, seat: usize) -> Result<(), Problem> {
        let thread = cluster.thread(seat);
        let regs = thread.regs();
        // SAFETY: the thread's next instruction is the one that reported the event.
        let inst = unsafe { &*thread.next };
        let index = inst.imm as u32;
        match self.context.code.syncs[index as usize] {
            Sync::Barrier(barrier) => self.arrive_at_barrier(cluster, seat, barrier, inst, regs),
            Sync::Warp(sync) => {
                let mask: u32 = regs.get(inst.e);
                if mask >> (seat % 32) & 1 == 0 {
                    let name = sync.name();
                    return Err(invalid(format!(
                        "`{name}` with mask {mask:#010x}, which lacks the thread's own lane {}",
                        seat % 32
                    )));
                }
                cluster.seats[seat].state = State::Warp { sync: index, mask };
                self.try_warp(cluster, seat / 32, mask, sync)
            }
            Sync::Active => {
                cluster.seats[seat].state = State::Active;
                Ok(())
            }
            Sync::ClusterArrive => {
                let phases = cluster.barrier.phases;
                let thread = cluster.thread(seat);
                if thread.cluster_arrivals > phases {
                    return Err(invalid(
                        "a second arrival at the cluster barrier without a wait",
                    ));
                }
                thread.cluster_arrivals = phases + 1;
                cluster.barrier.arrived += 1;
                step(cluster, seat);
                cluster.seats[seat].state = State::Ready;
                try_cluster_barrier(cluster);
                Ok(())
            }
            Sync::ClusterWait => {
                if cluster.thread(seat).cluster_arrivals > cluster.barrier.phases {
                    cluster.seats[seat].state = State::ClusterBarrier;
                } else {
                    step(cluster, seat);
                    cluster.seats[seat].state = State::Ready;
                }
                Ok(())
            }
        }
    }

    fn arrive_at_barrier(
        &mut self,
        cluster: &mut Cluster,
        seat: usize,
        sync: BarrierSync,
        inst: &Inst,
        regs: Regs,
    ) -> Result<(), Problem> {
        let id: u32 = regs.get(inst.a);
        let expected: u32 = if sync.counted { regs.get(inst.b) } else { 0 };
        let block = cluster.block_of(seat);
        let Some(barrier) = cluster.blocks[block].barriers.get_mut(id as usize) else {
            return Err(invalid(format!("barrier {id}, of {BARRIERS}")));
        };
        if sync.counted && (expected == 0 || expected % 32 != 0) {
            return Err(invalid(format!(
                "barrier {id} for {expected} threads, which is no multiple of the warp size"
            )));
        }
        if barrier.waiting + barrier.arrived > 0 && barrier.expected != expected {
            let before = barrier.expected;
            return Err(invalid(format!(
                "barrier {id} for {expected} threads, while others wait at it for {before}"
            )));
        }
        barrier.expected = expected;
        if sync.arrive {
            barrier.arrived += 1;
            step(cluster, seat);
            cluster.seats[seat].state = State::Ready;
        } else {
            barrier.waiting += 1;
            cluster.seats[seat].state = State::Barrier(id as u8);
        }
        self.try_barrier(cluster, block, id as usize);
        Ok(())
    }

    /// Completes a block's barrier if all threads have arrived.
    fn try_barrier(&mut self, cluster: &mut Cluster, block: usize, id: usize) {
        let Barrier {
            waiting,
            arrived,
            expected,
        } = cluster.blocks[block].barriers[id];
        let here = waiting + arrived;
        if here == 0 {
            return;
        }
        let complete = if expected == 0 {
            here >= cluster.blocks[block].live
        } else {
            // Hardware counts whole warps: lanes that do not exist or have exited arrive with the
            // others.
            here >= expected || here + missing(cluster, block, id) >= expected
        };
        if !complete {
            return;
        }
        cluster.blocks[block].barriers[id] = Barrier::default();
        let waits =
            |cluster: &Cluster, seat: usize| cluster.seats[seat].state == State::Barrier(id as u8);
        let (mut count, mut all) = (0u32, true);
        for seat in cluster.seats_of(block) {
            if waits(cluster, seat)
                && let (inst, regs, Some(_)) = self.barrier_of(cluster, seat)
            {
                let predicate: bool = regs.get(inst.c);
                count += u32::from(predicate);
                all &= predicate;
            }
        }
        for seat in cluster.seats_of(block) {
            if !waits(cluster, seat) {
                continue;
            }
            if let (inst, regs, Some(reduction)) = self.barrier_of(cluster, seat) {
                match reduction {
                    Reduction::Count => regs.set(inst.d, count),
                    Reduction::And => regs.set(inst.d, all),
                    Reduction::Or => regs.set(inst.d, count > 0),
                }
            }
            step(cluster, seat);
            cluster.seats[seat].state = State::Ready;
        }
    }

    /// Returns the barrier instruction at which a seat waits.
    fn barrier_of(&self, cluster: &mut Cluster, seat: usize) -> (Inst, Regs, Option<Reduction>) {
        let thread = cluster.thread(seat);
        // SAFETY: the thread waits at this instruction.
        let inst = unsafe { *thread.next };
        let reduction = match self.context.code.syncs[inst.imm as usize] {
            Sync::Barrier(sync) => sync.reduction,
            _ => None,
        };
        (inst, thread.regs(), reduction)
    }

    /// Handles the exit of a thread, for which others may have waited.
    pub(super) fn after_exit(
        &mut self,
        cluster: &mut Cluster,
        seat: usize,
    ) -> Result<(), Box<Fault>> {
        let block = cluster.block_of(seat);
        for id in 0..BARRIERS {
            if cluster.blocks[block].barriers[id].waiting > 0 {
                self.try_barrier(cluster, block, id);
            }
        }
        try_cluster_barrier(cluster);
        let warp = seat / 32;
        for other in cluster.lanes(warp) {
            if let State::Warp { sync, mask } = cluster.seats[other].state
                && mask >> (seat % 32) & 1 != 0
                && let Some(&sync) = self.context.code.warp_sync(sync)
            {
                self.try_warp(cluster, warp, mask, sync)
                    .map_err(|(kind, message)| self.fault_at(cluster, other, kind, message))?;
            }
        }
        Ok(())
    }

    /// Executes a warp operation if all lanes of its mask have arrived at it.
    fn try_warp(
        &mut self,
        cluster: &mut Cluster,
        warp: usize,
        mask: u32,
        sync: WarpSync,
    ) -> Result<(), Problem> {
        let lanes = cluster.lanes(warp);
        let mut here = 0u32;
        // Backwards: lanes run in order, so the last one is usually missing.
        for seat in lanes.rev() {
            let bit = 1 << (seat % 32);
            if mask & bit == 0 {
                continue;
            }
            match cluster.seats[seat].state {
                State::Warp {
                    sync: other,
                    mask: its,
                } if its == mask => match self.context.code.warp_sync(other) {
                    Some(&other) if other.meets(sync) => here |= bit,
                    _ => return Ok(()),
                },
                State::Done => {}
                _ => return Ok(()),
            }
        }
        self.complete_warp(cluster, warp, here, sync)?;
        for seat in cluster.lanes(warp) {
            if here >> (seat % 32) & 1 != 0 {
                step(cluster, seat);
                cluster.seats[seat].state = State::Ready;
            }
        }
        Ok(())
    }

    /// Executes a warp operation for the lanes `here`.
    fn complete_warp(
        &mut self,
        cluster: &mut Cluster,
        warp: usize,
        here: u32,
        sync: WarpSync,
    ) -> Result<(), Problem> {
        let mut insts: [Option<(Inst, Regs)>; 32] = [None; 32];
        let mut values = [0u64; 32];
        for lane in 0..32 {
            if here >> lane & 1 != 0 {
                let thread = cluster.thread(warp * 32 + lane);
                // SAFETY: the thread waits at this instruction.
                let inst = unsafe { *thread.next };
                let regs = thread.regs();
                // The operands of a matrix operation are lists instead of slots.
                if !matches!(sync, WarpSync::Matrix { .. }) {
                    values[lane] = regs.raw(inst.a);
                }
                insts[lane] = Some((inst, regs));
            }
        }
        let lanes = || {
            insts
                .iter()
                .enumerate()
                .filter_map(|(lane, entry)| entry.map(|(inst, regs)| (lane, inst, regs)))
        };
        match sync {
            WarpSync::Barrier => {}
            WarpSync::Shuffle { mode, .. } => {
                for (lane, inst, regs) in lanes() {
                    let (source, inside) =
                        shuffle_source(mode, lane as u32, regs.get(inst.b), regs.get(inst.c));
                    // The value of a lane outside the operation is undefined; here the lane reads
                    // its own.
                    let from = if here >> source & 1 != 0 {
                        source as usize
                    } else {
                        lane
                    };
                    regs.set(inst.d, values[from] as u32);
                    // Uses the predicate slot of this lane's instruction, which may be another
                    // copy.
                    if let Some(&WarpSync::Shuffle { predicate, .. }) =
                        self.context.code.warp_sync(inst.imm as u32)
                        && predicate != u32::MAX
                    {
                        regs.set(predicate, inside);
                    }
                }
            }
            WarpSync::Vote(vote) => {
                let ballot: u32 = lanes()
                    .map(|(lane, ..)| ((values[lane] & 1) as u32) << lane)
                    .sum();
                for (_, inst, regs) in lanes() {
                    match vote {
                        Vote::Ballot => regs.set(inst.d, ballot),
                        Vote::All => regs.set(inst.d, ballot == here),
                        Vote::Any => regs.set(inst.d, ballot != 0),
                        Vote::Uniform => regs.set(inst.d, ballot == here || ballot == 0),
                    }
                }
            }
            WarpSync::MatchAny { wide } | WarpSync::MatchAll { wide } => {
                let value = |lane: usize| {
                    if wide {
                        values[lane]
                    } else {
                        values[lane] & 0xffff_ffff
                    }
                };
                for (lane, inst, regs) in lanes() {
                    let same: u32 = lanes()
                        .filter(|&(other, ..)| value(other) == value(lane))
                        .map(|(other, ..)| 1 << other)
                        .sum();
                    if let WarpSync::MatchAny { .. } = sync {
                        regs.set(inst.d, same);
                    } else {
                        regs.set(inst.d, if same == here { here } else { 0 });
                        regs.set(inst.c, same == here);
                    }
                }
            }
            WarpSync::Reduce(operation) => {
                let result = lanes()
                    .map(|(lane, ..)| values[lane] as u32)
                    .reduce(|a, b| reduce(operation, a, b));
                let result = match (operation, result) {
                    (
                        Redux::MinFloat { abs: true, .. } | Redux::MaxFloat { abs: true, .. },
                        Some(one),
                    ) => one & 0x7fff_ffff,
                    (_, result) => result.unwrap_or(0),
                };
                for (_, inst, regs) in lanes() {
                    regs.set(inst.d, result);
                }
            }
            WarpSync::Elect => {
                let leader = here.trailing_zeros();
                for (lane, inst, regs) in lanes() {
                    regs.set(inst.d, leader);
                    regs.set(inst.c, lane as u32 == leader);
                }
            }
            WarpSync::Matrix { index } => {
                let operation = &self.context.code.matrices[index as usize];
                let all: Vec<(Inst, Regs)> = insts.iter().flatten().copied().collect();
                let Ok(all) = <&[_; 32]>::try_from(&all[..]) else {
                    return Err(invalid(format!(
                        "`{}` with {} lanes, but it requires all 32 lanes of a warp",
                        operation.name(),
                        all.len()
                    )));
                };
                // The warp's index in its block.
                let warp = warp % (cluster.seats_each / 32);
                self.matrix(operation, warp, all)?;
            }
        }
        Ok(())
    }

    /// Lets the lanes of a warp continue that wait at `activemask`: all lanes at the same
    /// instruction are active together. Called only if no other lane of the warp can run, so that
    /// as many lanes are active as on hardware. Returns whether any lane continued.
    pub(super) fn resolve_active(&mut self, cluster: &mut Cluster, warp: usize) -> bool {
        let waiting: Vec<usize> = cluster
            .lanes(warp)
            .filter(|&seat| cluster.seats[seat].state == State::Active)
            .collect();
        let Some(&first) = waiting.first() else {
            return false;
        };
        let (next, depth) = (
            cluster.thread(first).next,
            cluster.thread(first).frames.len(),
        );
        let together: Vec<usize> = waiting
            .into_iter()
            .filter(|&seat| {
                cluster.thread(seat).next == next && cluster.thread(seat).frames.len() == depth
            })
            .collect();
        let mask: u32 = together.iter().map(|seat| 1 << (seat % 32)).sum();
        for seat in together {
            let thread = cluster.thread(seat);
            // SAFETY: the thread waits at this instruction.
            let inst = unsafe { &*thread.next };
            thread.regs().set(inst.d, mask);
            step(cluster, seat);
            cluster.seats[seat].state = State::Ready;
        }
        true
    }
}

/// Advances a waiting thread past its instruction.
fn step(cluster: &mut Cluster, seat: usize) {
    let thread = cluster.thread(seat);
    // SAFETY: an instruction that waits is never the last one of a function.
    thread.next = unsafe { thread.next.add(1) };
}

/// Returns the number of lanes without a waiting thread that count at a barrier: the missing lanes
/// of the warps at the barrier.
fn missing(cluster: &Cluster, block: usize, id: usize) -> u32 {
    let waits = |seat: &usize| cluster.seats[*seat].state == State::Barrier(id as u8);
    let seats = cluster.seats_of(block);
    (seats.start / 32..seats.end / 32)
        .filter(|&warp| cluster.lanes(warp).any(|seat| waits(&seat)))
        .map(|warp| 32 - cluster.live_lanes(warp).count_ones())
        .sum()
}

/// Starts the next phase of a cluster barrier if all threads that have not exited have arrived.
fn try_cluster_barrier(cluster: &mut Cluster) {
    if cluster.barrier.arrived == 0 || cluster.barrier.arrived < cluster.live {
        return;
    }
    cluster.barrier.phases += 1;
    cluster.barrier.arrived = 0;
    for seat in 0..cluster.seats.len() {
        if cluster.seats[seat].state == State::ClusterBarrier {
            step(cluster, seat);
            cluster.seats[seat].state = State::Ready;
        }
    }
}

/// Returns the lane that a lane reads from, and whether it is inside the segment.
fn shuffle_source(mode: ShuffleMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let last = lane & segment | clamp & !segment;
    let first = lane & segment;
    let (source, inside) = match mode {
        ShuffleMode::Up => (lane.wrapping_sub(b), lane as i32 - b as i32 >= last as i32),
        ShuffleMode::Down => (lane + b, lane + b <= last),
        ShuffleMode::Butterfly => (lane ^ b, lane ^ b <= last),
        ShuffleMode::Index => {
            let source = first | b & !segment;
            (source, source <= last)
        }
    };
    if inside {
        (source & 31, true)
    } else {
        (lane, false)
    }
}

fn reduce(operation: Redux, a: u32, b: u32) -> u32 {
    let float = |abs: bool, nan: bool, max: bool| {
        let mask = if abs { 0x7fff_ffff } else { u32::MAX };
        let (x, y) = (Single(a & mask), Single(b & mask));
        extremum(x, y, max, nan).0
    };
    match operation {
        Redux::Add => a.wrapping_add(b),
        Redux::And => a & b,
        Redux::Or => a | b,
        Redux::Xor => a ^ b,
        Redux::MinSigned => (a as i32).min(b as i32) as u32,
        Redux::MaxSigned => (a as i32).max(b as i32) as u32,
        Redux::MinUnsigned => a.min(b),
        Redux::MaxUnsigned => a.max(b),
        Redux::MinFloat { abs, nan } => float(abs, nan, false),
        Redux::MaxFloat { abs, nan } => float(abs, nan, true),
    }
}
