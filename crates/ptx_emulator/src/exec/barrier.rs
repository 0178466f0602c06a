//! `mbarrier`: barriers in shared memory that count arrivals and bytes.
//!
//! The 64 bits are opaque to programs: bits 0..20 are the number of arrivals that each phase
//! expects, 20..40 the number of pending arrivals, 40..62 the number of pending bytes (signed), bit
//! 62 the phase's parity. Bit 63 is always set, which detects most uninitialized barriers.
//!
//! Threads of a block take turns, so nothing here needs atomics. A wait that fails lets the other
//! threads run.

use super::memory::{GENERIC, SHARED};
use super::{Context, Event, Handler, Inst, Regs};
use crate::fault::FaultKind;

/// The maximum number of arrivals of a phase.
const MAX_COUNT: u64 = (1 << 20) - 1;

/// The operation of an `mbarrier` instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Action {
    Init,
    Invalidate,
    /// Expects `b` more bytes.
    Expect,
    /// Completes bytes.
    Complete,
    /// Expects `c` more bytes, then arrives `b` times.
    Arrive,
    /// As `Arrive`, and decreases the expected arrivals of all following phases.
    Drop,
}

/// The fields of a barrier's word.
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

    /// Starts the next phase if the current one is complete.
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
                        "{count} arrivals at an `mbarrier` with {} pending arrivals",
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
                "an `mbarrier` with {} pending bytes: at most {MAX_COUNT} are possible",
                self.bytes
            ));
        }
        self.settle();
        Ok(())
    }
}

/// Executes an action on the barrier at an address. Returns the previous state, or `None` after a
/// fault.
///
/// # Safety
///
/// `at` is the instruction being executed.
pub(super) unsafe fn act(
    c: &mut Context,
    at: *const Inst,
    address: u64,
    generic: bool,
    action: Action,
    count: u64,
    bytes: u64,
) -> Option<u64> {
    // SAFETY: as the caller promises.
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
    // SAFETY: the eight bytes are aligned, and no other thread is running.
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
            let message =
                format!("an `mbarrier` for {count} arrivals: 1 to {MAX_COUNT} are possible");
            c.fault(at, FaultKind::InvalidInstruction, message);
            return None;
        }
        Action::Invalidate => 0,
        _ => {
            let Some(mut state) = State::unpack(old) else {
                let message = format!("no initialized `mbarrier` at {address:#x}");
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

/// The [`Action`] in `imm` on the barrier at `a`, with counts and bytes in `b` and `c`. Writes the
/// previous state to `d`. `e` is whether the address is generic.
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

/// Writes to the predicate `d` whether the phase of state `b` (with `PARITY`, the phase of parity
/// `b`) is complete. The barrier is at `a`; `e` is whether the address is generic.
pub(crate) fn wait<const PARITY: bool>() -> Handler {
    unsafe fn run<const PARITY: bool>(
        at: *const Inst,
        r: *mut u64,
        c: &mut Context,
    ) -> *const Inst {
        // SAFETY: as in every handler.
        unsafe {
            let (i, r) = (&*at, Regs(r));
            // Expecting zero bytes changes nothing and returns the state.
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

/// Returns the number of pending arrivals of a state.
pub(crate) fn pending(state: u64) -> u32 {
    State::unpack(state).map_or(0, |state| state.pending as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barrier_words_round_trip() {
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

    /// Bytes may complete before they are expected; the phase waits for both.
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
