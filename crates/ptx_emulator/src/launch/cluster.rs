//! The blocks of one cluster, which run together: their threads, which of them can run, and running
//! them in turn. The threads of a warp run lane by lane, each until it must wait, and a warp runs
//! as far as it can before the next one. Without clusters, each block is a cluster of its own.

use std::sync::atomic::Ordering;

use super::sync::{BARRIERS, Barrier, WarpSync};
use super::{Thread, Worker};
use crate::exec::{self, Event};
use crate::fault::{Fault, FaultKind};

/// The number of backward branches in a thread's time slice.
const TIME_SLICE: u32 = 20_000;

/// How many times in a row the threads of a cluster may find the phase of an `mbarrier` incomplete
/// while no thread makes progress.
const UNFINISHED: u32 = 1 << 22;

/// The result of running a cluster.
pub(super) enum Outcome {
    Done,
    /// All threads only spin: another cluster should run.
    Suspended,
    Faulted(Box<Fault>),
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not started.
    New,
    Ready,
    /// Ready, but its time slice is used up.
    Preempted,
    /// Waits at a warp operation with this mask.
    Warp {
        sync: u32,
        mask: u32,
    },
    /// Waits at `activemask`.
    Active,
    /// Waits at this barrier of the block.
    Barrier(u8),
    /// Waits at the cluster barrier.
    ClusterBarrier,
    Done,
}

/// A thread's slot in its cluster.
pub(super) struct Seat {
    pub state: State,
    /// The thread, while it is running.
    pub thread: Option<Box<Thread>>,
}

/// A block of a cluster.
pub(super) struct Block {
    pub id: [u32; 3],
    /// The number of threads that have not exited.
    pub live: u32,
    pub barriers: [Barrier; BARRIERS],
}

/// The blocks of the grid that run together.
#[derive(Default)]
pub(super) struct Cluster {
    pub blocks: Vec<Block>,
    /// The shared memory of all blocks, consecutively.
    pub shared: Vec<u128>,
    /// The seats of all blocks, consecutively; each block has whole warps. Seats without a thread
    /// are done.
    pub seats: Vec<Seat>,
    /// The number of seats of each block.
    pub seats_each: usize,
    /// The number of threads that have not exited.
    pub live: u32,
    pub barrier: ClusterBarrier,
    /// The number of times that threads found the phase of an `mbarrier` incomplete since a thread
    /// made progress.
    pub unfinished: u32,
}

/// The barrier of a cluster, with separate arrive and wait.
#[derive(Default)]
pub(super) struct ClusterBarrier {
    /// The number of completed phases.
    pub phases: u64,
    /// The number of threads that have arrived in this phase and not exited.
    pub arrived: u32,
}

/// The initial contents of shared memory. They are unspecified on a device, so kernels must not
/// rely on zeros.
const LEFTOVERS: u128 = u128::from_ne_bytes([0xa5; 16]);

impl Cluster {
    /// Resets it to the cluster of these blocks.
    pub fn reset(&mut self, blocks: impl Iterator<Item = [u32; 3]>, threads: u32, shared: u64) {
        let block = |id| Block {
            id,
            live: threads,
            barriers: Default::default(),
        };
        self.blocks.clear();
        self.blocks.extend(blocks.map(block));
        let count = self.blocks.len();
        self.shared.clear();
        self.shared
            .resize(count * (shared / 16) as usize, LEFTOVERS);
        self.seats_each = threads.next_multiple_of(32) as usize;
        self.seats.clear();
        let seat = |seat| Seat {
            state: match seat % self.seats_each < threads as usize {
                true => State::New,
                false => State::Done,
            },
            thread: None,
        };
        self.seats.extend((0..count * self.seats_each).map(seat));
        self.live = threads * count as u32;
        self.barrier = ClusterBarrier::default();
        self.unfinished = 0;
    }

    /// Returns the seats of a warp; the warps of all blocks are numbered consecutively.
    pub fn lanes(&self, warp: usize) -> std::ops::Range<usize> {
        warp * 32..warp * 32 + 32
    }

    /// Returns the seats of a block.
    pub fn seats_of(&self, block: usize) -> std::ops::Range<usize> {
        block * self.seats_each..(block + 1) * self.seats_each
    }

    /// Returns the rank of the block that contains a seat.
    pub fn block_of(&self, seat: usize) -> usize {
        seat / self.seats_each
    }

    /// Returns the mask of the threads of a warp that have not exited.
    pub fn live_lanes(&self, warp: usize) -> u32 {
        let lanes = self.lanes(warp);
        let first = lanes.start;
        lanes
            .filter(|&seat| self.seats[seat].state != State::Done)
            .map(|seat| 1 << (seat - first))
            .sum()
    }

    /// Returns the thread of a seat. Every waiting seat has one.
    pub fn thread(&mut self, seat: usize) -> &mut Thread {
        self.seats[seat]
            .thread
            .as_mut()
            .expect("a thread that waits has begun and not ended")
    }
}

impl Worker<'_> {
    /// Runs a cluster until it completes, faults, or only spins.
    pub(super) fn run_cluster(&mut self, cluster: &mut Cluster) -> Outcome {
        let launch = self.context.launch;
        let memory = cluster.shared.as_mut_ptr().cast::<u8>();
        self.context.cluster_memory = memory;
        self.context.shared_len = launch.shared_bytes.into();
        self.context.ended_blocks = (0..cluster.blocks.len())
            .filter(|&block| cluster.blocks[block].live == 0)
            .fold(0, |ended, block| ended | 1 << block);
        let warps = cluster.seats.len() / 32;
        loop {
            let mut progress = false;
            let mut preempted = false;
            for warp in 0..warps {
                let block = cluster.block_of(warp * 32);
                self.context.block = cluster.blocks[block].id;
                self.context.block_rank = block as u32;
                // SAFETY: each block has its own part.
                self.context.shared_memory =
                    unsafe { memory.add(block * launch.shared_stride() as usize) };
                loop {
                    let mut ran = false;
                    for seat in cluster.lanes(warp) {
                        if !matches!(cluster.seats[seat].state, State::Ready | State::New) {
                            continue;
                        }
                        match self.run_thread(cluster, seat) {
                            Ok(()) => ran = true,
                            Err(fault) => return Outcome::Faulted(fault),
                        }
                    }
                    if !ran && !self.resolve_active(cluster, warp) {
                        break;
                    }
                    progress = true;
                }
                for seat in cluster.lanes(warp) {
                    if cluster.seats[seat].state == State::Preempted {
                        cluster.seats[seat].state = State::Ready;
                        preempted = true;
                    }
                }
            }
            if cluster.live == 0 {
                return Outcome::Done;
            }
            if cluster.unfinished > UNFINISHED {
                return Outcome::Faulted(self.deadlock(cluster));
            }
            if launch.stop.load(std::sync::atomic::Ordering::Relaxed) || preempted {
                return Outcome::Suspended;
            }
            if !progress {
                return Outcome::Faulted(self.deadlock(cluster));
            }
        }
    }

    /// Runs a thread until it must wait or exits.
    fn run_thread(&mut self, cluster: &mut Cluster, seat: usize) -> Result<(), Box<Fault>> {
        if cluster.seats[seat].state == State::New {
            let index = seat % cluster.seats_each;
            cluster.seats[seat].thread = Some(self.begin_thread(index as u32));
            cluster.seats[seat].state = State::Ready;
        }
        let thread: *mut Thread = cluster.thread(seat);
        self.context.thread = thread;
        self.context.fuel = TIME_SLICE;
        self.context.sync_frame();
        // SAFETY: the thread was started with the kernel's code and stays alive in its seat.
        let event = unsafe { exec::run(&mut self.context) };
        cluster.unfinished = match event {
            Event::Unfinished => cluster.unfinished.saturating_add(1),
            _ => 0,
        };
        match event {
            Event::Exit => {
                cluster.seats[seat].state = State::Done;
                cluster.live -= 1;
                let block = cluster.block_of(seat);
                cluster.blocks[block].live -= 1;
                if cluster.blocks[block].live == 0 {
                    self.context.ended_blocks |= 1 << block;
                    let ended = &self.context.launch.ended_blocks;
                    ended.fetch_add(1, Ordering::Relaxed);
                }
                if cluster.thread(seat).cluster_arrivals > cluster.barrier.phases {
                    cluster.barrier.arrived -= 1;
                }
                self.threads.extend(cluster.seats[seat].thread.take());
                self.after_exit(cluster, seat)
            }
            Event::Preempted | Event::Unfinished | Event::Frame => {
                cluster.seats[seat].state = State::Preempted;
                let launch = self.context.launch;
                let kernel = || {
                    self.program.code().functions[launch.kernel as usize]
                        .name
                        .clone()
                };
                match launch.time.check(kernel) {
                    Some(message) => {
                        let kind = FaultKind::TimeLimit;
                        Err(self.fault_at(cluster, seat, kind, message))
                    }
                    None => Ok(()),
                }
            }
            Event::Sync => self
                .arrive(cluster, seat)
                .map_err(|(kind, message)| self.fault_at(cluster, seat, kind, message)),
            Event::Fault => {
                let fault = self.context.fault.take();
                let (kind, message) =
                    *fault.expect("whoever ends a run with a fault leaves it in the context");
                Err(self.fault_at(cluster, seat, kind, message))
            }
        }
    }

    pub(super) fn fault_at(
        &mut self,
        cluster: &mut Cluster,
        seat: usize,
        kind: FaultKind,
        message: String,
    ) -> Box<Fault> {
        let id = cluster.blocks[cluster.block_of(seat)].id;
        self.describe(id, cluster.thread(seat), kind, message)
    }

    fn begin_thread(&mut self, index: u32) -> Box<Thread> {
        let mut thread = self.threads.pop().unwrap_or_else(Thread::new);
        let launch = self.context.launch;
        let [x, y, _] = launch.block;
        let function = &self.program.code().functions[launch.kernel as usize];
        thread.index = index;
        thread.tid = [index % x, index / x % y, index / x / y];
        thread.cluster_arrivals = 0;
        thread.frames.clear();
        thread.registers.clear();
        thread.top = 0;
        thread.used = 0;
        thread.next = function.code.as_ptr();
        // The kernel's own frame is part of its computed stack, so it always fits.
        thread.open_frame(launch.kernel, function, usize::MAX);
        thread
    }

    /// Creates the fault of a deadlock, which describes what each thread waits for.
    fn deadlock(&mut self, cluster: &mut Cluster) -> Box<Fault> {
        let mut message = String::from(match cluster.blocks.len() {
            1 => "deadlock: no thread of the block can continue",
            _ => "deadlock: no thread of the cluster can continue",
        });
        let mut first = None;
        let mut kinds: Vec<(String, u32)> = Vec::new();
        for (seat, Seat { state, .. }) in cluster.seats.iter().enumerate() {
            let text = match state {
                State::Barrier(id) => format!("at barrier {id}"),
                State::ClusterBarrier => "at the cluster barrier".to_owned(),
                // Any other ready thread would run.
                State::Ready => "at an `mbarrier`".to_owned(),
                State::Warp { sync, mask } => {
                    let name = self
                        .context
                        .code
                        .warp_sync(*sync)
                        .map_or("a warp operation", WarpSync::name);
                    format!("at `{name}` with mask {mask:#010x}")
                }
                _ => continue,
            };
            first.get_or_insert(seat);
            if let Some((_, count)) = kinds.iter_mut().find(|(known, _)| *known == text) {
                *count += 1;
            } else if kinds.len() < 8 {
                kinds.push((text, 1));
            }
        }
        for (index, (text, count)) in kinds.iter().enumerate() {
            message.push_str(if index == 0 { ": " } else { ", " });
            message.push_str(&format!("{count} wait {text}"));
        }
        let threads = self.context.launch.threads_per_block() * cluster.blocks.len() as u32;
        let ended = threads - cluster.live;
        if ended > 0 {
            message.push_str(&format!(", {ended} have exited"));
        }
        self.fault_at(cluster, first.unwrap_or(0), FaultKind::Deadlock, message)
    }
}
