//! Decodes `atom`, `red` and `cp.async`.

use ptx::{Operand, Type};

use super::data::space_word;
use super::memory::{for_space, is_hint, is_scope};
use super::modifiers::Modifiers;
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::Handler;
use crate::exec::atomic;
use crate::exec::float::{self, ADD};
use crate::exec::memory::{
    GENERIC, GLOBAL, LOCAL, RELAXED, SHARED, SYNCHRONIZING, WEAK, copy_async,
};
use crate::exec::value::{Brain, Float, Half, canonical, settle};

impl<'a> Decoder<'_, 'a> {
    pub(super) fn atomic(&mut self, words: &mut Modifiers<'_, 'a>, returns: bool) -> Result<()> {
        words.ignore(|word| {
            matches!(
                word,
                "relaxed" | "acquire" | "release" | "acq_rel" | "noftz" | "sc"
            )
        });
        words.ignore(is_scope);
        let space = self.space_of(words);
        words.ignore(|word| {
            word.starts_with("level::") || word.starts_with("L1::") || word.starts_with("L2::")
        });
        let vector = words.one_of(&[("v2", 2u32), ("v4", 4), ("v8", 8)]);
        let operations = [
            "add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas",
        ]
        .map(|name| (name, name));
        let Some(operation) = words.one_of(&operations) else {
            return invalid("an atomic without an operation");
        };
        let ty = words.ty()?;
        let operands = words.operands();
        let (target, rest) = if returns {
            (operands.first(), operands.get(1..))
        } else {
            (None, Some(operands))
        };
        let (address, values) = match rest {
            Some([address, values @ ..]) if !values.is_empty() => (address, values),
            _ => return invalid("an atomic with these operands"),
        };
        let address = self.access_address(address, space)?;
        if address.direct.is_some() {
            return unsupported_form("an atomic on a parameter or local variable");
        }
        if let Some(length) = vector {
            let sources = self.vector_sources(&values[0], ty)?;
            let targets = match target {
                Some(target) => self.vector_targets(target, ty)?,
                None => (0..length).map(|_| self.temporary()).collect(),
            };
            if sources.len() != length as usize || targets.len() != length as usize {
                return invalid("a vector of the wrong length");
            }
            let Some(run) = update_handler(operation, ty, space) else {
                return unsupported_form(format!("`atom.{operation}` of `.{}`", ty.name()));
            };
            // PTX guarantees atomicity only for each element.
            for (index, (&source, &target)) in sources.iter().zip(&targets).enumerate() {
                let cache = self.cache_entry();
                let step = index as i64 * i64::from(ty.bytes());
                self.emit(run, |inst| {
                    (inst.d, inst.a, inst.b, inst.cache) = (target, address.slot, source, cache);
                    inst.imm = address.offset.wrapping_add(step);
                });
            }
            return Ok(());
        }
        let value = self.source(&values[0], ty)?;
        let mut second = 0;
        let run = match (operation, ty.bits()) {
            ("cas", bits) => {
                let Some(operand) = values.get(1) else {
                    return invalid("`cas` with one value");
                };
                second = self.source(operand, ty)?;
                match bits {
                    16 => Some(for_space!(space, WEAK, |S, _O| atomic::compare_exchange::<
                        u16,
                        S,
                    >())),
                    32 => Some(for_space!(space, WEAK, |S, _O| atomic::compare_exchange::<
                        u32,
                        S,
                    >())),
                    64 => Some(for_space!(space, WEAK, |S, _O| atomic::compare_exchange::<
                        u64,
                        S,
                    >())),
                    128 => Some(for_space!(space, WEAK, |S, _O| atomic::wide::<S>())),
                    _ => None,
                }
            }
            ("exch", 128) => Some(for_space!(space, WEAK, |S, _O| atomic::wide::<S>())),
            _ => update_handler(operation, ty, space),
        };
        let Some(run) = run else {
            return unsupported_form(format!("`atom.{operation}` of `.{}`", ty.name()));
        };
        let target = match target {
            Some(target) => self.target(target, ty)?,
            None => self.temporary(),
        };
        let cache = self.cache_entry();
        self.emit(run, |inst| {
            (inst.d, inst.a, inst.b, inst.c) = (target, address.slot, value, second);
            (inst.cache, inst.imm) = (cache, address.offset);
            inst.e = (operation == "exch").into();
        });
        Ok(())
    }

    pub(super) fn copy_async(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        if words.sees("bulk") || words.sees("mbarrier") || words.sees("reduce") {
            return self.bulk_copy(words);
        }
        if !words.has("async") {
            return invalid("`cp` without `.async`");
        }
        if words.has("commit_group") || words.has("wait_all") || words.has("wait_group") {
            return Ok(());
        }
        words.ignore(|word| is_hint(word) || matches!(space_word(word), "shared" | "global"));
        let (target, source, size, rest) = match words.operands() {
            [target, source, Operand::Integer(size), rest @ ..] => {
                (target, source, size.bits, rest)
            }
            _ => return invalid("`cp.async` with these operands"),
        };
        if !matches!(size, 4 | 8 | 16) {
            return invalid(format!("`cp.async` of {size} bytes"));
        }
        let (target, source) = (self.address(target)?, self.address(source)?);
        let taken = match rest.first() {
            None => self.constant(size),
            Some(operand @ Operand::Name(_)) if self.register_bits(operand) == Some(1) => {
                return unsupported_form("`cp.async` with a predicate");
            }
            Some(operand) if self.register_bits(operand) != Some(64) => {
                self.source(operand, Type::U32)?
            }
            Some(_) => self.constant(size),
        };
        let offsets = (i32::try_from(target.offset), i32::try_from(source.offset));
        let (Ok(target_offset), Ok(source_offset)) = offsets else {
            return invalid("an offset beyond 32 bits");
        };
        if target.direct.is_some() || source.direct.is_some() {
            return invalid("`cp.async` with parameters");
        }
        let cache = self.cache_entry();
        self.emit(copy_async, |inst| {
            (inst.d, inst.a, inst.b, inst.cache) = (taken, target.slot, source.slot, cache);
            (inst.e, inst.c) = (target_offset as u32, source_offset as u32);
            inst.imm = size as i64;
        });
        Ok(())
    }
}

/// Adds two pairs of 16-bit floats.
fn add_pair<T: Float>(a: u32, b: u32) -> u32 {
    let half = |index| float::narrow_binary::<T>(ADD, float::lane(a, index), float::lane(b, index));
    float::pair(half(0), half(1))
}

fn extremum_pair<T: Float>(a: u32, b: u32, max: bool) -> u32 {
    let half =
        |index| float::extremum::<T>(float::lane(a, index), float::lane(b, index), max, false);
    float::pair(half(0), half(1))
}

/// Returns the handler of an atomic operation that combines memory with one value.
fn update_handler(operation: &str, ty: Type, space: u8) -> Option<Handler> {
    macro_rules! update {
        ($W:ty, $f:expr) => {
            Some(match space {
                GLOBAL => atomic::update::<$W, GLOBAL, _>($f),
                SHARED => atomic::update::<$W, SHARED, _>($f),
                _ => atomic::update::<$W, GENERIC, _>($f),
            })
        };
    }
    match (operation, ty) {
        ("add", Type::U32 | Type::S32 | Type::B32) => {
            update!(u32, |a: u32, b: u32| a.wrapping_add(b))
        }
        ("add", Type::U64 | Type::S64 | Type::B64) => {
            update!(u64, |a: u64, b: u64| a.wrapping_add(b))
        }
        ("add", Type::F32) => {
            update!(u32, |a: u32, b: u32| canonical(
                f32::from_bits(a) + f32::from_bits(b)
            ))
        }
        ("add", Type::F64) => update!(u64, |a: u64, b: u64| {
            let (a, b) = (f64::from_bits(a), f64::from_bits(b));
            settle(a + b, [b, a])
        }),
        ("add", Type::F16) => update!(u16, |a: u16, b: u16| float::narrow_binary(
            ADD,
            Half(a),
            Half(b)
        )
        .0),
        ("add", Type::Bf16) => update!(u16, |a: u16, b: u16| float::narrow_binary(
            ADD,
            Brain(a),
            Brain(b)
        )
        .0),
        ("add", Type::F16x2) => update!(u32, add_pair::<Half>),
        ("add", Type::Bf16x2) => update!(u32, add_pair::<Brain>),
        ("min", Type::F16) => update!(u16, |a: u16, b: u16| float::extremum(
            Half(a),
            Half(b),
            false,
            false
        )
        .0),
        ("max", Type::F16) => update!(u16, |a: u16, b: u16| float::extremum(
            Half(a),
            Half(b),
            true,
            false
        )
        .0),
        ("min", Type::Bf16) => update!(u16, |a: u16, b: u16| float::extremum(
            Brain(a),
            Brain(b),
            false,
            false
        )
        .0),
        ("max", Type::Bf16) => update!(u16, |a: u16, b: u16| float::extremum(
            Brain(a),
            Brain(b),
            true,
            false
        )
        .0),
        ("min", Type::F16x2) => update!(u32, |a: u32, b: u32| extremum_pair::<Half>(a, b, false)),
        ("max", Type::F16x2) => update!(u32, |a: u32, b: u32| extremum_pair::<Half>(a, b, true)),
        ("min", Type::Bf16x2) => update!(u32, |a: u32, b: u32| extremum_pair::<Brain>(a, b, false)),
        ("max", Type::Bf16x2) => update!(u32, |a: u32, b: u32| extremum_pair::<Brain>(a, b, true)),
        ("min", Type::U32) => update!(u32, |a: u32, b: u32| a.min(b)),
        ("max", Type::U32) => update!(u32, |a: u32, b: u32| a.max(b)),
        ("min", Type::S32) => update!(u32, |a: u32, b: u32| (a as i32).min(b as i32) as u32),
        ("max", Type::S32) => update!(u32, |a: u32, b: u32| (a as i32).max(b as i32) as u32),
        ("min", Type::U64) => update!(u64, |a: u64, b: u64| a.min(b)),
        ("max", Type::U64) => update!(u64, |a: u64, b: u64| a.max(b)),
        ("min", Type::S64) => update!(u64, |a: u64, b: u64| (a as i64).min(b as i64) as u64),
        ("max", Type::S64) => update!(u64, |a: u64, b: u64| (a as i64).max(b as i64) as u64),
        ("inc", Type::U32) => update!(u32, |a: u32, b: u32| if a >= b { 0 } else { a + 1 }),
        ("dec", Type::U32) => update!(u32, |a: u32, b: u32| if a == 0 || a > b {
            b
        } else {
            a - 1
        }),
        ("and", _) if ty.bits() == 32 => update!(u32, |a: u32, b: u32| a & b),
        ("or", _) if ty.bits() == 32 => update!(u32, |a: u32, b: u32| a | b),
        ("xor", _) if ty.bits() == 32 => update!(u32, |a: u32, b: u32| a ^ b),
        ("exch", _) if ty.bits() == 32 => update!(u32, |_: u32, b: u32| b),
        ("and", _) if ty.bits() == 64 => update!(u64, |a: u64, b: u64| a & b),
        ("or", _) if ty.bits() == 64 => update!(u64, |a: u64, b: u64| a | b),
        ("xor", _) if ty.bits() == 64 => update!(u64, |a: u64, b: u64| a ^ b),
        ("exch", _) if ty.bits() == 64 => update!(u64, |_: u64, b: u64| b),
        ("exch", _) if ty.bits() == 16 => update!(u16, |_: u16, b: u16| b),
        _ => None,
    }
}
