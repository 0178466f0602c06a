//! Decodes data movement: `mov`, `cvta`, `isspacep`, and instructions without effect in the
//! emulator.

use ptx::{Operand, Type};

use super::modifiers::Modifiers;
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::{
    Context, Event, Handler, Inst, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SHIFT, binary,
    general, unary,
};

/// Returns the state space of a modifier, without its `::` part.
pub(super) fn space_word(word: &str) -> &str {
    word.split_once("::").map_or(word, |(space, _)| space)
}

/// `nanosleep`: lets other threads run.
unsafe fn pause(at: *const Inst, _: *mut u64, c: &mut Context) -> *const Inst {
    // SAFETY: this is never a function's last instruction.
    c.stop(unsafe { at.add(1) }, Event::Preempted)
}

impl<'a> Decoder<'_, 'a> {
    pub(super) fn data(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<bool> {
        match words.opcode {
            "mov" => self.mov(words)?,
            "cvta" => self.convert_address(words)?,
            "isspacep" => {
                let Some(word) = words.next() else {
                    return invalid("`isspacep` without a state space");
                };
                if matches!(word, "shared" | "shared::cta") {
                    let run = general(|i, r, c| {
                        let address = r.raw(i.a);
                        let shared = address >> WINDOW_SHIFT << WINDOW_SHIFT == SHARED_WINDOW;
                        r.set(i.d, shared && c.rank_of(address) == c.block_rank);
                    });
                    return self.op1(words, run, Type::Pred, Type::U64).map(|()| true);
                }
                let window = match space_word(word) {
                    "shared" => SHARED_WINDOW,
                    "local" => LOCAL_WINDOW,
                    "param" => PARAM_WINDOW,
                    "global" => 0,
                    // In the emulator, constants are in global memory.
                    "const" => u64::MAX,
                    _ => return invalid(format!("`isspacep` with `.{word}`")),
                };
                let run = general(|i, r, _| {
                    let window = r.raw(i.a) >> WINDOW_SHIFT << WINDOW_SHIFT;
                    r.set(i.d, window == i.imm as u64);
                });
                self.op1(words, run, Type::Pred, Type::U64)?;
                self.last_imm(window as i64);
            }
            "nanosleep" => {
                let ty = words.ty()?;
                let [time] = words.exactly()?;
                self.source(time, ty)?;
                self.emit(pause, |_| {});
            }
            "pmevent" | "griddepcontrol" | "setmaxnreg" | "prefetch" | "prefetchu" | "discard"
            | "applypriority" => {
                words.ignore(|_| true);
            }
            "createpolicy" => {
                words.ignore(|_| true);
                let Some(d) = words.operands().first() else {
                    return invalid("`createpolicy` without a target");
                };
                let (d, zero) = (self.target(d, Type::U64)?, self.constant(0));
                self.emit(unary(|a: u64| a), |inst| (inst.d, inst.a) = (d, zero));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Copies a slot, or two for 128 bits.
    fn copy(&mut self, d: u32, a: u32, bits: u32) {
        match bits {
            1 => self.emit(unary(|a: bool| a), |inst| (inst.d, inst.a) = (d, a)),
            128 => self.emit(general(|i, r, _| r.set_wide(i.d, r.wide(i.a))), |inst| {
                (inst.d, inst.a) = (d, a)
            }),
            _ => self.emit(unary(|a: u64| a), |inst| (inst.d, inst.a) = (d, a)),
        }
    }

    fn mov(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let vector = words.one_of(&[("v2", 2), ("v4", 4)]);
        let ty = words.ty()?;
        let bits = ty.bits();
        let [d, a] = words.exactly()?;
        if vector.is_some() {
            let sources = self.vector_sources(a, ty)?;
            let targets = self.vector_targets(d, ty)?;
            if sources.len() != targets.len() {
                return invalid("`mov` between vectors of different lengths");
            }
            // Through temporary slots, since the vectors may share registers.
            let between: Vec<u32> = sources.iter().map(|_| self.temporary()).collect();
            for (&source, &slot) in sources.iter().zip(&between) {
                self.copy(slot, source, bits);
            }
            for (&slot, &target) in between.iter().zip(&targets) {
                self.copy(target, slot, bits);
            }
            return Ok(());
        }
        let element = |parts: usize| {
            let each = bits / parts as u32;
            match each {
                _ if each * parts as u32 != bits => None,
                8 => Some(Type::B8),
                16 => Some(Type::B16),
                32 => Some(Type::B32),
                64 => Some(Type::B64),
                _ => None,
            }
        };
        match (d, a) {
            (_, Operand::Vector(parts)) => {
                let Some(element) = element(parts.len()) else {
                    return invalid("`mov` from a vector of the wrong length");
                };
                let sources = parts
                    .iter()
                    .map(|part| self.source(part, element))
                    .collect::<Result<Vec<_>>>()?;
                let d = self.target(d, ty)?;
                self.pack(d, &sources, element);
                Ok(())
            }
            (Operand::Vector(parts), _) => {
                let Some(element) = element(parts.len()) else {
                    return invalid("`mov` to a vector of the wrong length");
                };
                let a = self.source(a, ty)?;
                let targets = parts
                    .iter()
                    .map(|part| self.target(part, element))
                    .collect::<Result<Vec<_>>>()?;
                for (index, &target) in targets.iter().enumerate() {
                    let run: Handler = general(|i, r, _| {
                        let word = r.raw(i.a + (i.imm / 64) as u32);
                        r.set_raw(i.d, word >> (i.imm % 64) & (u64::MAX >> (64 - i.e)));
                    });
                    self.emit(run, |inst| {
                        (inst.d, inst.a, inst.e) = (target, a, element.bits());
                        inst.imm = index as i64 * i64::from(element.bits());
                    });
                }
                Ok(())
            }
            _ if self.is_vector_register(d) || self.is_vector_register(a) => {
                unsupported_form("`mov` of whole vector registers")
            }
            _ => {
                let a = self.source(a, ty)?;
                let d = self.target(d, ty)?;
                self.copy(d, a, bits);
                Ok(())
            }
        }
    }

    /// Packs elements, the first one lowest.
    fn pack(&mut self, d: u32, sources: &[u32], element: Type) {
        let width = element.bits();
        if let ([low, high], Type::B64) = (sources, element) {
            let (low, high) = (*low, *high);
            let run = general(|i, r, _| {
                let value = u128::from(r.raw(i.a)) | u128::from(r.raw(i.b)) << 64;
                r.set_wide(i.d, value);
            });
            return self.emit(run, |inst| (inst.d, inst.a, inst.b) = (d, low, high));
        }
        if let ([low, high], Type::B32) = (sources, element) {
            let (low, high) = (*low, *high);
            let run = binary(|a: u32, b: u32| u64::from(a) | u64::from(b) << 32);
            return self.emit(run, |inst| (inst.d, inst.a, inst.b) = (d, low, high));
        }
        // In a temporary slot, since the target may be one of the sources.
        let (sum, zero) = (self.temporary(), self.constant(0));
        self.copy(sum, zero, 64);
        let wide = sources.len() as u32 * width > 64;
        if wide {
            self.copy(sum + 1, zero, 64);
        }
        for (index, &source) in sources.iter().enumerate() {
            let run = general(|i, r, _| {
                let part = r.raw(i.a) & (u64::MAX >> (64 - i.e));
                let slot = i.d + (i.imm / 64) as u32;
                r.set_raw(slot, r.raw(slot) | part << (i.imm % 64));
            });
            self.emit(run, |inst| {
                (inst.d, inst.a, inst.e) = (sum, source, width);
                inst.imm = index as i64 * i64::from(width);
            });
        }
        self.copy(d, sum, if wide { 128 } else { 64 });
    }

    fn convert_address(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let to = words.has("to");
        let Some(word) = words.next() else {
            return invalid("`cvta` without a state space");
        };
        let ty = words.ty()?;
        let window = match space_word(word) {
            "shared" => SHARED_WINDOW,
            "local" => LOCAL_WINDOW,
            // Addresses of globals, constants and parameters are already generic.
            "global" | "const" | "param" => 0,
            _ => return invalid(format!("`cvta` with `.{word}`")),
        };
        if ty != Type::U64 {
            return unsupported_form("`cvta` of 32-bit addresses");
        }
        let run: Handler = if window == 0 {
            unary(|a: u64| a)
        } else if to {
            general(|i, r, _| r.set_raw(i.d, r.raw(i.a).wrapping_sub(i.imm as u64)))
        } else {
            general(|i, r, _| r.set_raw(i.d, r.raw(i.a).wrapping_add(i.imm as u64)))
        };
        self.op1(words, run, Type::U64, Type::U64)?;
        self.last_imm(window as i64);
        Ok(())
    }
}
