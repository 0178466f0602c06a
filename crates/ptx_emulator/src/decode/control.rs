//! Decodes branches, calls, barriers and warp operations.

use ptx::{Operand, Type};

use super::modifiers::Modifiers;
use super::{Decoder, Fixup, Local, Result, invalid, unsupported_form};
use crate::exec::call::{self, Builtin, CallSite, Callee, Place};
use crate::exec::{Handler, Inst};
use crate::launch::sync::{
    BARRIERS, BarrierSync, Reduction, Redux, ShuffleMode, Sync, Vote, WarpSync,
};

impl<'a> Decoder<'_, 'a> {
    pub(super) fn control(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<bool> {
        let opcode = words.opcode;
        match opcode {
            "bra" => {
                words.ignore(|word| word == "uni");
                self.branch(words.instruction, None)?;
            }
            "brx" => {
                words.ignore(|word| matches!(word, "idx" | "uni"));
                self.branch_indexed(words)?;
            }
            "call" => {
                words.ignore(|word| word == "uni");
                self.call(words)?;
            }
            "ret" | "exit" | "trap" | "brkpt" => {
                words.ignore(|word| word == "uni");
                let [] = words.exactly()?;
                let run: Handler = match words.opcode {
                    "ret" => call::ret,
                    "exit" => call::exit,
                    "trap" => call::trap,
                    _ => call::breakpoint,
                };
                self.emit(run, |_| {});
            }
            "bar" | "barrier" => self.barrier(words)?,
            "shfl" | "vote" | "match" | "redux" | "elect" if !words.has("sync") => {
                return unsupported_form(format!("`{}` without `.sync`", words.opcode));
            }
            "shfl" => self.shuffle(words)?,
            "vote" => self.vote(words)?,
            "match" => self.match_sync(words)?,
            "redux" => self.reduce(words)?,
            "elect" => {
                let [d, mask] = words.exactly()?;
                let mask = self.source(mask, Type::U32)?;
                let (d, p) = self.target_pair(d, Type::U32, Type::Pred)?;
                let p = self.predicate_or_nothing(p);
                self.sync(Sync::Warp(WarpSync::Elect), |inst| {
                    (inst.d, inst.c, inst.e) = (d, p, mask)
                });
            }
            "activemask" => {
                let ty = words.ty()?;
                let [d] = words.exactly()?;
                let d = self.target(d, ty)?;
                self.sync(Sync::Active, |inst| inst.d = d);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Emits an instruction that waits for other threads.
    pub(super) fn sync(&mut self, sync: Sync, operands: impl FnOnce(&mut Inst)) {
        let index = self.output.syncs.len() as i64;
        self.output.syncs.push(sync);
        self.emit(call::sync, |inst| {
            operands(inst);
            inst.imm = index;
        });
    }

    fn predicate_or_nothing(&mut self, predicate: Option<u32>) -> u32 {
        match predicate {
            Some(slot) => slot,
            None => self.temporary(),
        }
    }

    fn label(&self, name: &str) -> Result<usize> {
        match self
            .scopes
            .iter()
            .rev()
            .find_map(|scope| scope.labels.get(name))
        {
            Some(&label) => Ok(label),
            None => invalid(format!("undefined label `{name}`")),
        }
    }

    /// Emits `bra`. The guard is its register, and whether it is negated.
    pub(super) fn branch(
        &mut self,
        instruction: &ptx::Instruction<'a>,
        guard: Option<(u32, bool)>,
    ) -> Result<()> {
        if let Some(word) = instruction.modifiers.iter().find(|word| **word != "uni") {
            return unsupported_form(format!("`.{word}` in `bra`"));
        }
        let [Operand::Name(name)] = instruction.operands[..] else {
            return invalid("`bra` without a label");
        };
        let label = self.label(name)?;
        self.fixups.push(Fixup::Instruction {
            at: self.function.code.len(),
            label,
        });
        match guard {
            None => self.emit(call::branch, |_| {}),
            Some((predicate, false)) => self.emit(call::branch_if, |inst| inst.a = predicate),
            Some((predicate, true)) => self.emit(call::branch_unless, |inst| inst.a = predicate),
        }
        Ok(())
    }

    fn branch_indexed(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let [index, Operand::Name(list)] = words.exactly()? else {
            return invalid("`brx.idx` without a list of targets");
        };
        let index = self.source(index, Type::U32)?;
        let targets = self
            .scopes
            .iter()
            .rev()
            .find_map(|scope| scope.branch_targets.get(list))
            .cloned();
        let Some(targets) = targets else {
            return invalid(format!("undefined list of targets `{list}`"));
        };
        let at = self.function.code.len();
        let first = self.output.extra.len();
        for (place, target) in targets.iter().enumerate() {
            let label = self.label(target)?;
            self.fixups.push(Fixup::Extra {
                instruction: at,
                index: first + place,
                label,
            });
        }
        self.output.extra.resize(first + targets.len(), 0);
        self.emit(call::branch_indexed, |inst| {
            (inst.a, inst.c, inst.e) = (index, targets.len() as u32, first as u32);
        });
        Ok(())
    }

    fn call(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let mut operands = words.operands();
        let mut results: &[Operand] = &[];
        if let [Operand::List(list), rest @ ..] = operands {
            results = list;
            operands = rest;
        }
        let (target, args): (_, &[Operand]) = match operands {
            [target] => (target, &[]),
            [target, Operand::List(args)] | [target, Operand::List(args), Operand::Name(_)] => {
                (target, args)
            }
            // A prototype without an argument list.
            [target, Operand::Name(_)] => (target, &[]),
            _ => return invalid("`call` with these operands"),
        };
        let Operand::Name(name) = target else {
            return invalid("`call` of an operand that is not a function");
        };
        let register = self.register_bits(target);
        let (callee, signature) = match self.symbols.functions.get(name) {
            Some(&index) if register.is_none() => {
                let signature = self.symbols.params[index as usize].clone();
                let callee = match (signature.defined, Builtin::from_name(name)) {
                    (true, _) => Callee::Function(index),
                    (false, Some(builtin)) => Callee::Builtin(builtin),
                    (false, None) => {
                        let message = format!("a call of the undefined external function `{name}`");
                        Callee::Missing(self.message(message))
                    }
                };
                if signature.entry {
                    return invalid(format!("a call of the kernel `{name}`"));
                }
                self.function.calls.push(index);
                (callee, Some(signature))
            }
            _ if register == Some(64) => {
                self.function.calls_indirectly = true;
                (Callee::Register(self.source(target, Type::U64)?), None)
            }
            _ => return invalid(format!("`call` of `{name}`, which is not a function")),
        };
        if let Some(signature) = &signature {
            let (wanted, given) = (signature.params.len(), args.len());
            if wanted != given {
                return invalid(format!(
                    "`{name}` takes {wanted} parameters, but {given} are given"
                ));
            }
            if results.len() > signature.returns.len() {
                return invalid(format!(
                    "`{name}` returns {} values, not {}",
                    signature.returns.len(),
                    results.len()
                ));
            }
        }
        let sizes = |list: fn(&crate::program::Signature) -> &Vec<u32>, index: usize| {
            signature.as_ref().map(|signature| list(signature)[index])
        };
        let mut places = Vec::new();
        for (index, arg) in args.iter().enumerate() {
            places.push(self.argument(arg, sizes(|s| &s.params, index), false)?);
        }
        let mut targets = Vec::new();
        for (index, result) in results.iter().enumerate() {
            targets.push(self.argument(result, sizes(|s| &s.returns, index), true)?);
        }
        let index = self.output.calls.len() as i64;
        self.output.calls.push(CallSite {
            callee,
            args: places,
            results: targets,
        });
        self.emit(call::call, |inst| inst.imm = index);
        Ok(())
    }

    /// Returns the place of an argument or result; `size` is the declared size.
    fn argument(
        &mut self,
        operand: &Operand<'a>,
        size: Option<u32>,
        result: bool,
    ) -> Result<Place> {
        if let Operand::Name(name) = operand
            && let Some(Local::Frame {
                offset, size: has, ..
            }) = self.local(name)
        {
            if size.is_some_and(|size| size != has) {
                return invalid(format!(
                    "`{name}` has {has} bytes, which is not the size of the parameter"
                ));
            }
            return Ok(Place::Memory { offset, size: has });
        }
        let bits = self.register_bits(operand);
        let size = size.or(bits.map(|bits| bits.div_ceil(8))).unwrap_or(4);
        let ty = match size {
            1 => Type::B8,
            2 => Type::B16,
            4 => Type::B32,
            8 => Type::B64,
            16 => Type::B128,
            _ => return invalid("a register argument whose size is not that of a register"),
        };
        if bits == Some(1) {
            return unsupported_form("predicates as arguments");
        }
        let slot = if result {
            self.target(operand, ty)?
        } else {
            self.source(operand, ty)?
        };
        Ok(Place::Register { slot, size })
    }

    fn barrier(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        if words.has("warp") {
            words.ignore(|word| word == "sync");
            let [mask] = words.exactly()?;
            let mask = self.source(mask, Type::U32)?;
            self.sync(Sync::Warp(WarpSync::Barrier), |inst| inst.e = mask);
            return Ok(());
        }
        let plain = BarrierSync {
            counted: false,
            arrive: false,
            reduction: None,
        };
        if words.has("cluster") {
            let sync = match words.has("wait") {
                true => Sync::ClusterWait,
                false => Sync::ClusterArrive,
            };
            words.ignore(|word| {
                matches!(
                    word,
                    "arrive" | "aligned" | "release" | "relaxed" | "acquire"
                )
            });
            self.sync(sync, |_| {});
            return Ok(());
        }
        words.ignore(|word| matches!(word, "cta" | "aligned"));
        let operands = words.operands();
        if words.has("red") {
            let reductions = [
                ("popc", Reduction::Count),
                ("and", Reduction::And),
                ("or", Reduction::Or),
            ];
            let Some(reduction) = words.one_of(&reductions) else {
                return invalid("`bar.red` without an operation");
            };
            let ty = words.ty()?;
            let (d, id, count, predicate) = match operands {
                [d, id, predicate] => (d, id, None, predicate),
                [d, id, count, predicate] => (d, id, Some(count), predicate),
                _ => return invalid("`bar.red` with these operands"),
            };
            let id = self.barrier_id(id)?;
            let counted = count.is_some();
            let count = count.map_or(Ok(0), |count| self.source(count, Type::U32))?;
            let predicate = self.source(predicate, Type::Pred)?;
            let d = self.target(d, ty)?;
            let sync = Sync::Barrier(BarrierSync {
                counted,
                reduction: Some(reduction),
                ..plain
            });
            self.sync(sync, |inst| {
                (inst.d, inst.a, inst.b, inst.c) = (d, id, count, predicate)
            });
            return Ok(());
        }
        let arrive = words.has("arrive");
        if !arrive && !words.has("sync") {
            return invalid(format!(
                "`{}` without `.sync`, `.arrive` or `.red`",
                words.opcode
            ));
        }
        let (id, count) = match operands {
            [id] if !arrive => (id, None),
            [id, count] => (id, Some(count)),
            _ => return invalid(format!("`{}` with these operands", words.opcode)),
        };
        let id = self.barrier_id(id)?;
        let counted = count.is_some();
        let count = count.map_or(Ok(0), |count| self.source(count, Type::U32))?;
        let sync = Sync::Barrier(BarrierSync {
            counted,
            arrive,
            ..plain
        });
        self.sync(sync, |inst| (inst.a, inst.b) = (id, count));
        Ok(())
    }

    fn barrier_id(&mut self, operand: &Operand<'a>) -> Result<u32> {
        if matches!(operand, Operand::Integer(id) if id.bits >= BARRIERS as u64) {
            return invalid("a barrier's number must be below 16");
        }
        self.source(operand, Type::U32)
    }

    fn shuffle(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let modes = [
            ("up", ShuffleMode::Up),
            ("down", ShuffleMode::Down),
            ("bfly", ShuffleMode::Butterfly),
            ("idx", ShuffleMode::Index),
        ];
        let Some(mode) = words.one_of(&modes) else {
            return invalid("`shfl.sync` without a mode");
        };
        let _ = words.ty()?;
        let [d, a, b, c, mask] = words.exactly()?;
        let (a, b) = (self.source(a, Type::B32)?, self.source(b, Type::B32)?);
        let (c, mask) = (self.source(c, Type::B32)?, self.source(mask, Type::U32)?);
        let (d, predicate) = self.target_pair(d, Type::B32, Type::Pred)?;
        let sync = WarpSync::Shuffle {
            mode,
            predicate: predicate.unwrap_or(u32::MAX),
        };
        self.sync(Sync::Warp(sync), |inst| {
            (inst.d, inst.a, inst.b, inst.c, inst.e) = (d, a, b, c, mask)
        });
        Ok(())
    }

    fn vote(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let votes = [
            ("all", Vote::All),
            ("any", Vote::Any),
            ("uni", Vote::Uniform),
            ("ballot", Vote::Ballot),
        ];
        let Some(vote) = words.one_of(&votes) else {
            return invalid("`vote.sync` without a mode");
        };
        let ty = words.ty()?;
        let [d, a, mask] = words.exactly()?;
        let (a, mask) = (self.source(a, Type::Pred)?, self.source(mask, Type::U32)?);
        let d = self.target(d, ty)?;
        self.sync(Sync::Warp(WarpSync::Vote(vote)), |inst| {
            (inst.d, inst.a, inst.e) = (d, a, mask)
        });
        Ok(())
    }

    fn match_sync(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let Some(all) = words.one_of(&[("all", true), ("any", false)]) else {
            return invalid("`match.sync` without `.any` or `.all`");
        };
        let ty = words.ty()?;
        let [d, a, mask] = words.exactly()?;
        let (a, mask) = (self.source(a, ty)?, self.source(mask, Type::U32)?);
        let (d, p) = self.target_pair(d, Type::U32, Type::Pred)?;
        let p = self.predicate_or_nothing(p);
        let wide = ty.bits() == 64;
        let sync = if all {
            WarpSync::MatchAll { wide }
        } else {
            WarpSync::MatchAny { wide }
        };
        self.sync(Sync::Warp(sync), |inst| {
            (inst.d, inst.a, inst.c, inst.e) = (d, a, p, mask)
        });
        Ok(())
    }

    fn reduce(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let operations = ["add", "and", "or", "xor", "min", "max"].map(|name| (name, name));
        let Some(operation) = words.one_of(&operations) else {
            return invalid("`redux.sync` without an operation");
        };
        let (abs, nan) = (words.has("abs"), words.has("NaN"));
        let ty = words.ty()?;
        let operation = match (operation, ty) {
            ("add", _) => Redux::Add,
            ("and", _) => Redux::And,
            ("or", _) => Redux::Or,
            ("xor", _) => Redux::Xor,
            ("min", Type::F32) => Redux::MinFloat { abs, nan },
            ("max", Type::F32) => Redux::MaxFloat { abs, nan },
            ("min", Type::S32) => Redux::MinSigned,
            ("max", Type::S32) => Redux::MaxSigned,
            ("min", _) => Redux::MinUnsigned,
            _ => Redux::MaxUnsigned,
        };
        let [d, a, mask] = words.exactly()?;
        let ty = if ty.is_float() { ty } else { Type::U32 };
        let (a, mask) = (self.source(a, ty)?, self.source(mask, Type::U32)?);
        let d = self.target(d, ty)?;
        self.sync(Sync::Warp(WarpSync::Reduce(operation)), |inst| {
            (inst.d, inst.a, inst.e) = (d, a, mask)
        });
        Ok(())
    }
}
