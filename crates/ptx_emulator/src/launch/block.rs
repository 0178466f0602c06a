//! One block: its threads, who of them can run, and running them in turn. Threads of a warp run
//! lane by lane, each until it must wait, and a warp goes as far as it can before the next one
//! does.

use super::sync::{Barrier, WarpSync};
use super::{Thread, Worker};
use crate::exec::{self, Event};
use crate::fault::{Fault, FaultKind};

/// Backward branches that a thread may take before others get their turn.
const TIME_SLICE: u32 = 20_000;

/// What became of a block.
pub(super) enum Outcome {
    Done,
    /// Its threads only spin: another block should run.
    Suspended,
    Faulted(Box<Fault>),
}

/// Whether a thread can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not begun.
    New,
    Ready,
    /// Ready, but it has had its time slice.
    Preempted,
    /// At a warp operation with this mask.
    Warp {
        sync: u32,
        mask: u32,
    },
    /// At `activemask`.
    Active,
    /// At this barrier.
    Barrier(u8),
    Done,
}

/// A thread's place in its block.
pub(super) struct Seat {
    pub state: State,
    /// While it has begun and not ended.
    pub thread: Option<Box<Thread>>,
}

/// A block of the grid.
#[derive(Default)]
pub(super) struct Block {
    pub id: [u32; 3],
    pub shared: Vec<u128>,
    pub seats: Vec<Seat>,
    /// Threads that have not ended.
    pub live: u32,
    /// Sixteen that instructions name, and the cluster's.
    pub barriers: [Barrier; 17],
}

/// What fills shared memory at the start: a device has leftovers there, and no kernel may count on
/// zeros.
const LEFTOVERS: u128 = u128::from_ne_bytes([0xa5; 16]);

impl Block {
    pub fn reset(&mut self, id: [u32; 3], threads: u32, shared_bytes: u32) {
        self.id = id;
        self.shared.clear();
        self.shared
            .resize(shared_bytes.div_ceil(16) as usize, LEFTOVERS);
        self.seats.clear();
        self.seats.resize_with(threads as usize, || Seat {
            state: State::New,
            thread: None,
        });
        self.live = threads;
        self.barriers = Default::default();
    }

    /// The seats of a warp.
    pub fn lanes(&self, warp: usize) -> std::ops::Range<usize> {
        warp * 32..self.seats.len().min(warp * 32 + 32)
    }

    /// The threads of a warp that have not ended, as a mask.
    pub fn live_lanes(&self, warp: usize) -> u32 {
        let lanes = self.lanes(warp);
        let first = lanes.start;
        lanes
            .filter(|&seat| self.seats[seat].state != State::Done)
            .map(|seat| 1 << (seat - first))
            .sum()
    }

    /// The thread of a seat that has one, which every waiting seat has.
    pub fn thread(&mut self, seat: usize) -> &mut Thread {
        self.seats[seat]
            .thread
            .as_mut()
            .expect("a thread that waits has begun and not ended")
    }
}

impl Worker<'_> {
    /// Runs a block until it is done, faults, or only spins.
    pub(super) fn run_block(&mut self, block: &mut Block) -> Outcome {
        let launch = self.context.launch;
        self.context.block = block.id;
        self.context.shared_memory = block.shared.as_mut_ptr().cast();
        self.context.shared_len = launch.shared_bytes.into();
        let warps = block.seats.len().div_ceil(32);
        loop {
            let mut progress = false;
            let mut preempted = false;
            for warp in 0..warps {
                loop {
                    let mut ran = false;
                    for seat in block.lanes(warp) {
                        if !matches!(block.seats[seat].state, State::Ready | State::New) {
                            continue;
                        }
                        match self.run_thread(block, seat) {
                            Ok(()) => ran = true,
                            Err(fault) => return Outcome::Faulted(fault),
                        }
                    }
                    if !ran && !self.resolve_active(block, warp) {
                        break;
                    }
                    progress = true;
                }
                for seat in block.lanes(warp) {
                    if block.seats[seat].state == State::Preempted {
                        block.seats[seat].state = State::Ready;
                        preempted = true;
                    }
                }
            }
            if block.live == 0 {
                return Outcome::Done;
            }
            if launch.stop.load(std::sync::atomic::Ordering::Relaxed) || preempted {
                return Outcome::Suspended;
            }
            if !progress {
                return Outcome::Faulted(self.deadlock(block));
            }
        }
    }

    /// Runs a thread until it must wait or ends.
    fn run_thread(&mut self, block: &mut Block, seat: usize) -> Result<(), Box<Fault>> {
        if block.seats[seat].state == State::New {
            block.seats[seat].thread = Some(self.begin_thread(seat as u32));
            block.seats[seat].state = State::Ready;
        }
        let thread: *mut Thread = block.thread(seat);
        self.context.thread = thread;
        self.context.fuel = TIME_SLICE;
        self.context.sync_frame();
        // SAFETY: the thread was begun with the kernel's code and stays alive in its seat.
        match unsafe { exec::run(&mut self.context) } {
            Event::Exit => {
                block.seats[seat].state = State::Done;
                block.live -= 1;
                self.threads.extend(block.seats[seat].thread.take());
                self.after_exit(block, seat)
            }
            Event::Preempted | Event::Frame => {
                block.seats[seat].state = State::Preempted;
                Ok(())
            }
            Event::Sync => self
                .arrive(block, seat)
                .map_err(|(kind, message)| self.fault_at(block, seat, kind, message)),
            Event::Fault => {
                let fault = self.context.fault.take();
                let (kind, message) =
                    *fault.expect("whoever ends a run with a fault leaves it in the context");
                Err(self.fault_at(block, seat, kind, message))
            }
        }
    }

    pub(super) fn fault_at(
        &mut self,
        block: &mut Block,
        seat: usize,
        kind: FaultKind,
        message: String,
    ) -> Box<Fault> {
        let id = block.id;
        self.describe(id, block.thread(seat), kind, message)
    }

    fn begin_thread(&mut self, index: u32) -> Box<Thread> {
        let mut thread = self.threads.pop().unwrap_or_else(Thread::new);
        let launch = self.context.launch;
        let [x, y, _] = launch.block;
        let function = &self.program.code().functions[launch.kernel as usize];
        thread.index = index;
        thread.tid = [index % x, index / x % y, index / x / y];
        thread.frames.clear();
        thread.registers.clear();
        thread.top = 0;
        thread.next = function.code.as_ptr();
        // The kernel's own frame is part of what it is known to need, so it always fits.
        thread.open_frame(launch.kernel, function, usize::MAX);
        thread
    }

    /// Says who waits for what.
    fn deadlock(&mut self, block: &mut Block) -> Box<Fault> {
        let mut message = String::from("deadlock: no thread of the block can go on");
        let mut first = None;
        let mut kinds: Vec<(String, u32)> = Vec::new();
        for (seat, Seat { state, .. }) in block.seats.iter().enumerate() {
            let text = match state {
                State::Barrier(id) => format!("at barrier {id}"),
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
        let ended = block.seats.len() as u32 - block.live;
        if ended > 0 {
            message.push_str(&format!(", {ended} have ended"));
        }
        self.fault_at(block, first.unwrap_or(0), FaultKind::Deadlock, message)
    }
}
