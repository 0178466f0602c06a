//! `mbarrier`: barriers that live in shared memory and count arrivals and bytes.
//!
//! The 64 bits, which programs may not look into: bits 0..20 how many arrivals each phase awaits,
//! 20..40 how many are still to come, 40..62 how many bytes are still to come (signed), bit 62 the
//! phase's parity, bit 63 always set: what was never initialised is mostly found by it.
//!
//! Threads of a block take turns, so nothing here needs atomics. A wait that fails gives the other
//! threads their turn.

use super::memory::{GENERIC, SHARED};
use super::{Context, Event, Handler, Inst, Regs};
use crate::fault::FaultKind;

/// The most arrivals that a barrier can await.
const MAX_COUNT: u64 = (1 << 20) - 1;

/// What an `mbarrier` instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Action {
    Init,
    Invalidate,
    /// Bytes more to await, in `b`.
    Expect,
    /// Bytes less to await.
    Complete,
    /// Arrivals in `b`, and bytes to expect before in `c`.
    Arrive,
    /// The same, and fewer arrivals in all phases to come.
    Drop,
}

/// A barrier's word, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    expected: u64,
    pending: u64,
    bytes: i64,
    odd: bool,
}

impl State {
    fn unpack(word: u64) -> Option<State> {
        (word >> 63 == 1).then_some(State {
            expected: word & MAX_COUNT,
            pending: word >> 20 & MAX_COUNT,
            bytes: (word << 2) as i64 >> 42,
            odd: word >> 62 & 1 != 0,
        })
    }

    fn pack(self) -> u64 {
        self.expected
            | self.pending << 20
            | (self.bytes as u64 & ((1 << 22) - 1)) << 40
            | u64::from(self.odd) << 62
            | 1 << 63
    }

    /// Begins the next phase if nothing is awaited any more.
    fn settle(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.pending = self.expected;
            self.odd = !self.odd;
        }
    }

    fn apply(&mut self, action: Action, count: u64, bytes: u64) -> Result<(), String> {
        match action {
            Action::Expect => self.bytes += bytes as i64,
            Action::Complete => self.bytes -= bytes as i64,
            Action::Arrive | Action::Drop => {
                self.bytes += bytes as i64;
                if count > self.pending {
                    return Err(format!(
                        "{count} arrivals at an `mbarrier` that awaits {}",
                        self.pending
                    ));
                }
                self.pending -= count;
                if action == Action::Drop {
                    self.expected = self.expected.saturating_sub(count);
                }
            }
            Action::Init | Action::Invalidate => {}
        }
        if self.bytes.unsigned_abs() > MAX_COUNT {
            return Err(format!(
                "an `mbarrier` that awaits {} bytes, and it can count to {MAX_COUNT}",
                self.bytes
            ));
        }
        self.settle();
        Ok(())
    }
}

/// Acts on the barrier at an address, and returns its state before; `None` after a fault.
///
/// # Safety
/// `at` is the instruction that runs.
pub(super) unsafe fn act(
    c: &mut Context,
    at: *const Inst,
    address: u64,
    generic: bool,
    action: Action,
    count: u64,
    bytes: u64,
) -> Option<u64> {
    // SAFETY: the caller's promise.
    let place = unsafe {
        if generic {
            c.translate::<GENERIC>(at, address, 8, 8)
        } else {
            c.translate::<SHARED>(at, address, 8, 8)
        }
    };
    if place.is_null() {
        return None;
    }
    let place = place.cast::<u64>();
    // SAFETY: eight aligned bytes, and other threads do not run now.
    let old = unsafe { place.read_volatile() };
    let new = match action {
        Action::Init if (1..=MAX_COUNT).contains(&count) => State {
            expected: count,
            pending: count,
            bytes: 0,
            odd: false,
        }
        .pack(),
        Action::Init => {
            let message = format!("an `mbarrier` for {count} arrivals; 1 to {MAX_COUNT} can be");
            c.fault(at, FaultKind::InvalidInstruction, message);
            return None;
        }
        Action::Invalidate => 0,
        _ => {
            let Some(mut state) = State::unpack(old) else {
                let message = format!("no `mbarrier` was initialised at {address:#x}");
                c.fault(at, FaultKind::InvalidInstruction, message);
                return None;
            };
            if let Err(message) = state.apply(action, count, bytes) {
                c.fault(at, FaultKind::InvalidInstruction, message);
                return None;
            }
            state.pack()
        }
    };
    // SAFETY: as above.
    unsafe { place.write_volatile(new) };
    Some(old)
}

/// An [`Action`] in `imm` at the barrier in `a`; counts and bytes in `b` and `c`; the state before
/// goes to `d`. `e` says whether the address is generic.
pub(crate) unsafe fn barrier(at: *const Inst, r: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: as in every handler.
    unsafe {
        let (i, r) = (&*at, Regs(r));
        let action = match i.imm {
            0 => Action::Init,
            1 => Action::Invalidate,
            2 => Action::Expect,
            3 => Action::Complete,
            4 => Action::Arrive,
            _ => Action::Drop,
        };
        let (count, bytes): (u32, u32) = (r.get(i.b), r.get(i.c));
        let old = act(
            c,
            at,
            r.raw(i.a),
            i.e != 0,
            action,
            count.into(),
            bytes.into(),
        );
        match old {
            Some(old) => {
                r.set_raw(i.d, old);
                at.add(1)
            }
            None => std::ptr::null(),
        }
    }
}

/// Whether the phase of the state `b` is over (`PARITY`: the phase of this parity), to the
/// predicate `d`; the barrier is at `a`, and `e` says whether that is generic.
pub(crate) fn wait<const PARITY: bool>() -> Handler {
    unsafe fn run<const PARITY: bool>(
        at: *const Inst,
        r: *mut u64,
        c: &mut Context,
    ) -> *const Inst {
        // SAFETY: as in every handler.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            // Bytes that come or go by zero change nothing, and tell the state.
            let state = act(c, at, r.raw(i.a), i.e != 0, Action::Expect, 0, 0);
            let Some(state) = state.and_then(State::unpack) else {
                return std::ptr::null();
            };
            let odd = if PARITY {
                r.get::<u32>(i.b) & 1 != 0
            } else {
                r.raw(i.b) >> 62 & 1 != 0
            };
            let over = state.odd != odd;
            r.set(i.d, over);
            if over {
                at.add(1)
            } else {
                c.stop(at.add(1), Event::Unfinished)
            }
        }
    }
    run::<PARITY>
}

/// `d =` the arrivals that the state `a` still awaits.
pub(crate) fn pending(state: u64) -> u32 {
    State::unpack(state).map_or(0, |state| state.pending as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_what_they_hold() {
        for bytes in [0, 1, -1, 1_000_000, -1_000_000] {
            let state = State {
                expected: 17,
                pending: 3,
                bytes,
                odd: true,
            };
            assert_eq!(State::unpack(state.pack()), Some(state));
        }
    }

    #[test]
    fn a_phase_ends_with_its_last_arrival_and_byte() {
        let mut state = State {
            expected: 2,
            pending: 2,
            bytes: 0,
            odd: false,
        };
        state.apply(Action::Arrive, 1, 64).unwrap();
        state.apply(Action::Arrive, 1, 0).unwrap();
        assert!(!state.odd);
        state.apply(Action::Complete, 0, 64).unwrap();
        assert_eq!((state.odd, state.pending), (true, 2));
        state.apply(Action::Drop, 1, 0).unwrap();
        state.apply(Action::Arrive, 1, 0).unwrap();
        assert_eq!((state.odd, state.pending), (false, 1));
        assert!(state.apply(Action::Arrive, 2, 0).is_err());
    }

    /// Bytes may come before they are expected; the phase waits for both.
    #[test]
    fn bytes_that_come_early_do_not_end_a_phase() {
        let mut state = State {
            expected: 1,
            pending: 1,
            bytes: 0,
            odd: false,
        };
        state.apply(Action::Complete, 0, 64).unwrap();
        state.apply(Action::Arrive, 1, 0).unwrap();
        assert_eq!((state.odd, state.pending, state.bytes), (false, 0, -64));
        state.apply(Action::Expect, 0, 32).unwrap();
        assert!(!state.odd);
        state.apply(Action::Expect, 0, 32).unwrap();
        assert_eq!((state.odd, state.pending, state.bytes), (true, 1, 0));
    }
}
