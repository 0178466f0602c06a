//! Decodes `mbarrier`, bulk and tensor copies, and stores that complete on an `mbarrier`.

use ptx::{Operand, Type};

use super::memory::{is_hint, is_scope};
use super::modifiers::Modifiers;
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::barrier::{self, Action};
use crate::exec::memory::{GENERIC, GLOBAL, SHARED};
use crate::exec::transfer::{
    Kind, Number, Operation, Reduce, Transfer, map_address, rank_of_address, transfer,
};
use crate::exec::{general, unary};

pub(super) const OPERATIONS: &[(&str, Operation)] = &[
    ("add", Operation::Add),
    ("min", Operation::Min),
    ("max", Operation::Max),
    ("inc", Operation::Inc),
    ("dec", Operation::Dec),
    ("and", Operation::And),
    ("or", Operation::Or),
    ("xor", Operation::Xor),
];

pub(super) fn reduction(operation: Operation, ty: Type) -> Reduce {
    let number = match ty {
        Type::F16 => Number::F16,
        Type::Bf16 => Number::Bf16,
        _ if ty.is_float() => Number::Float,
        _ if ty.is_signed() => Number::Signed,
        _ => Number::Unsigned,
    };
    Reduce {
        operation,
        number,
        bytes: ty.bytes(),
    }
}

impl<'a> Decoder<'_, 'a> {
    fn transfer(&mut self, transfer_: Transfer, slots: &[u32]) {
        self.output.transfers.push(transfer_);
        let index = self.output.transfers.len() as i64 - 1;
        let list = self.output.extra.len() as u32;
        self.output.extra.extend_from_slice(slots);
        let cache = self.cache_entry();
        self.emit(transfer, |inst| {
            (inst.a, inst.cache, inst.imm) = (list, cache, index)
        });
    }

    /// Decodes `cp.async.bulk` and related instructions, and `cp.async.mbarrier.arrive`.
    pub(super) fn bulk_copy(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let reduces = words.has("reduce");
        if !words.has("async") {
            return invalid("`cp` without `.async`");
        }
        if words.has("mbarrier") {
            // Earlier copies have already completed. Without `.noinc`, the instruction increments
            // the pending count before it arrives, so it has no net effect.
            words.ignore(|word| matches!(word, "arrive" | "b64"));
            let counted = words.has("noinc");
            let space = self.space_of(words);
            let [address] = words.exactly()?;
            let address = self.matrix_address(address, space)?;
            if counted {
                let (one, zero, d) = (self.constant(1), self.constant(0), self.temporary());
                self.barrier_action(Action::Arrive, space, [d, address, one, zero]);
            }
            return Ok(());
        }
        if !words.has("bulk") {
            return unsupported_form("this form of `cp.async`");
        }
        if words.has("commit_group") || words.has("wait_group") {
            words.ignore(|word| word == "read");
            return Ok(());
        }
        if words.has("prefetch") {
            words.ignore(|_| true);
            return Ok(());
        }
        if words.has("tensor") {
            return self.tensor_copy(words, reduces);
        }
        let operation = if reduces {
            let operation = words.one_of(OPERATIONS);
            words.ignore(|word| word == "noftz");
            Some(operation)
        } else {
            None
        };
        let barrier = words.has("mbarrier::complete_tx::bytes");
        words.ignore(|word| word == "bulk_group");
        let masked = words.has("cp_mask");
        let multicast = words.has("multicast::cluster");
        let hint = words.has("level::cache_hint") || words.has("L2::cache_hint");
        let (to, from) = (self.space_of(words), self.space_of(words));
        words.ignore(is_hint);
        let reduce = match operation {
            None => None,
            Some(None) => return invalid("a reduction without its operation"),
            Some(Some(operation)) => {
                let ty = words.ty()?;
                Some(reduction(operation, ty))
            }
        };
        let [target, source, size, rest @ ..] = words.operands() else {
            return invalid("a bulk copy with these operands");
        };
        let wanted = usize::from(barrier) + usize::from(multicast) + usize::from(hint);
        if rest.len() != wanted + usize::from(masked) {
            return invalid("a bulk copy with these operands");
        }
        let mut slots = vec![
            self.matrix_address(target, to)?,
            self.matrix_address(source, from)?,
            self.source(size, Type::U32)?,
        ];
        slots.push(if barrier {
            self.matrix_address(&rest[0], SHARED)?
        } else if masked {
            self.source(&rest[rest.len() - 1], Type::B16)?
        } else {
            self.constant(0)
        });
        if multicast {
            slots.push(self.source(&rest[usize::from(barrier)], Type::U16)?);
        }
        self.transfer(
            Transfer {
                kind: Kind::Bulk { from, to, masked },
                reduce,
                barrier,
                multicast,
            },
            &slots,
        );
        Ok(())
    }

    fn tensor_copy(&mut self, words: &mut Modifiers<'_, 'a>, reduces: bool) -> Result<()> {
        let ranks = [("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)];
        let Some(rank) = words.one_of(&ranks) else {
            return invalid("a tensor copy without its dimensions");
        };
        let operation = words.one_of(OPERATIONS);
        if reduces && operation.is_none() {
            return invalid("a reduction without its operation");
        }
        let load = words.has("mbarrier::complete_tx::bytes");
        let columns = words.has("im2col");
        let multicast = words.has("multicast::cluster");
        words.ignore(|word| {
            matches!(
                word,
                "bulk_group" | "tile" | "im2col_no_offs" | "level::cache_hint" | "L2::cache_hint"
            )
        });
        let _ = (self.space_of(words), self.space_of(words));
        let operands = words.operands();
        let (shared, tensor, rest) = match operands {
            [shared, tensor, rest @ ..] if load => (shared, tensor, rest),
            [tensor, shared, rest @ ..] => (shared, tensor, rest),
            _ => return invalid("a tensor copy with these operands"),
        };
        let Operand::Compound(parts) = tensor else {
            return invalid("a tensor copy without coordinates");
        };
        let [map, coordinates] = &parts[..] else {
            return invalid("a tensor copy without coordinates");
        };
        let map = match map {
            Operand::Name(name) => Operand::Address(ptx::Base::Name(name), 0),
            Operand::NameOffset(name, offset) => Operand::Address(ptx::Base::Name(name), *offset),
            other => other.clone(),
        };
        let zero = self.constant(0);
        let mut slots = vec![
            self.matrix_address(shared, SHARED)?,
            self.matrix_address(&map, GENERIC)?,
        ];
        slots.push(match (load, rest) {
            (true, [barrier, ..]) => self.matrix_address(barrier, SHARED)?,
            (true, []) => return invalid("a tensor copy without its barrier"),
            (false, _) => zero,
        });
        let coordinates = self.vector_sources(coordinates, Type::S32)?;
        if coordinates.len() != rank as usize {
            return invalid("a number of coordinates that does not match the dimensions");
        }
        slots.extend(coordinates);
        slots.resize(8, zero);
        if columns && load {
            let Some(offsets) = rest.get(1) else {
                return invalid("`.im2col` without its offsets");
            };
            slots.extend(self.vector_sources(offsets, Type::U16)?);
        }
        slots.resize(11, zero);
        if multicast {
            let Some(blocks) = rest.get(1 + usize::from(columns)) else {
                return invalid("a copy to several blocks without their mask");
            };
            slots.push(self.source(blocks, Type::U16)?);
        }
        let reduce = operation.map(|operation| Reduce {
            operation,
            number: Number::Unsigned,
            bytes: 4,
        });
        self.transfer(
            Transfer {
                kind: Kind::Tensor { rank, load },
                reduce,
                barrier: load,
                multicast,
            },
            &slots,
        );
        Ok(())
    }

    /// Decodes `mapa` and `getctarank`.
    pub(super) fn cluster_address(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let _ = self.space_of(words);
        let ty = words.ty()?;
        if words.opcode == "getctarank" {
            let [d, address] = words.exactly()?;
            let address = self.source(address, ty)?;
            let d = self.target(d, Type::U32)?;
            self.emit(general(rank_of_address), |inst| {
                (inst.d, inst.a) = (d, address)
            });
            return Ok(());
        }
        let [d, address, block] = words.exactly()?;
        let (address, block) = (self.source(address, ty)?, self.source(block, Type::U32)?);
        let d = self.target(d, ty)?;
        self.emit(map_address, |inst| {
            (inst.d, inst.a, inst.b) = (d, address, block)
        });
        Ok(())
    }

    /// Decodes `st.async` and `red.async`.
    pub(super) fn store_async(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        words.ignore(|word| matches!(word, "async" | "weak" | "relaxed" | "release"));
        if !words.has("mbarrier::complete_tx::bytes") {
            return unsupported_form("asynchronous stores without a barrier");
        }
        words.ignore(is_scope);
        let operation = words.one_of(OPERATIONS);
        let space = self.space_of(words);
        let count = words.one_of(&[("v2", 2u32), ("v4", 4)]);
        let ty = words.ty()?;
        let [address, value, barrier] = words.exactly()?;
        let mut slots = vec![
            self.matrix_address(address, space)?,
            self.matrix_address(barrier, space)?,
        ];
        slots.extend(match count {
            Some(_) => self.vector_sources(value, ty)?,
            None => vec![self.source(value, ty)?],
        });
        let reduce = operation.map(|operation| reduction(operation, ty));
        self.transfer(
            Transfer {
                kind: Kind::Values {
                    count: count.unwrap_or(1),
                    bytes: ty.bytes(),
                },
                reduce,
                barrier: true,
                multicast: false,
            },
            &slots,
        );
        Ok(())
    }

    fn barrier_action(&mut self, action: Action, space: u8, [d, a, b, c]: [u32; 4]) {
        let cache = self.cache_entry();
        self.emit(barrier::barrier, |inst| {
            (inst.d, inst.a, inst.b, inst.c, inst.cache) = (d, a, b, c, cache);
            (inst.e, inst.imm) = ((space == GENERIC).into(), action as i64);
        });
    }

    /// Decodes `mbarrier`.
    pub(super) fn mbarrier(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        words.ignore(|word| matches!(word, "b64" | "release" | "acquire" | "relaxed"));
        words.ignore(is_scope);
        let Some(what) = words.next() else {
            return invalid("`mbarrier` without an operation");
        };
        let zero = self.constant(0);
        if what == "pending_count" {
            let [d, state] = words.exactly()?;
            let state = self.source(state, Type::B64)?;
            let d = self.target(d, Type::U32)?;
            self.emit(unary(barrier::pending), |inst| {
                (inst.d, inst.a) = (d, state)
            });
            return Ok(());
        }
        let expects = words.has("expect_tx");
        let parity = words.has("parity");
        words.ignore(|word| word == "noComplete");
        let space = self.space_of(words);
        if space == GLOBAL {
            return invalid("an `mbarrier` outside shared memory");
        }
        let nobody = self.temporary();
        match (what, words.operands()) {
            ("init", [address, count]) => {
                let address = self.matrix_address(address, space)?;
                let count = self.source(count, Type::U32)?;
                self.barrier_action(Action::Init, space, [nobody, address, count, zero]);
            }
            ("inval", [address]) => {
                let address = self.matrix_address(address, space)?;
                self.barrier_action(Action::Invalidate, space, [nobody, address, zero, zero]);
            }
            ("expect_tx" | "complete_tx", [address, bytes]) => {
                let address = self.matrix_address(address, space)?;
                let bytes = self.source(bytes, Type::U32)?;
                let action = if what == "expect_tx" {
                    Action::Expect
                } else {
                    Action::Complete
                };
                self.barrier_action(action, space, [nobody, address, zero, bytes]);
            }
            ("arrive" | "arrive_drop", operands) => {
                let (d, rest) = match operands {
                    [address @ Operand::Address(..), rest @ ..] => (None, (address, rest)),
                    [d, address, rest @ ..] => (Some(d), (address, rest)),
                    _ => return invalid("`mbarrier.arrive` with these operands"),
                };
                let (address, rest) = rest;
                let address = self.matrix_address(address, space)?;
                let d = d.map_or(Ok(nobody), |d| self.target(d, Type::U64))?;
                let number = match rest {
                    [] => None,
                    [number] => Some(self.source(number, Type::U32)?),
                    _ => return invalid("`mbarrier.arrive` with these operands"),
                };
                let one = self.constant(1);
                let (count, bytes) = match (expects, number) {
                    (true, Some(bytes)) => (one, bytes),
                    (true, None) => return invalid("`.expect_tx` without a number"),
                    (false, count) => (count.unwrap_or(one), zero),
                };
                let action = if what == "arrive" {
                    Action::Arrive
                } else {
                    Action::Drop
                };
                self.barrier_action(action, space, [d, address, count, bytes]);
            }
            ("test_wait" | "try_wait", [d, address, state, ..]) => {
                let address = self.matrix_address(address, space)?;
                let ty = if parity { Type::U32 } else { Type::U64 };
                let state = self.source(state, ty)?;
                let d = self.target(d, Type::Pred)?;
                let run = if parity {
                    barrier::wait::<true>()
                } else {
                    barrier::wait::<false>()
                };
                let cache = self.cache_entry();
                self.emit(run, |inst| {
                    (inst.d, inst.a, inst.b, inst.cache) = (d, address, state, cache);
                    inst.e = (space == GENERIC).into();
                });
            }
            _ => return unsupported_form(format!("`mbarrier.{what}` with these operands")),
        }
        Ok(())
    }
}
