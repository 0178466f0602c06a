//! Loads, stores, atomics, fences, and the stack.

use ptx::{Operand, Space, Type};

use super::data::space_word;
use super::modifiers::Modifiers;
use super::operand::{Address, Direct};
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::atomic;
use crate::exec::call::{allocate, restore_stack, save_stack};
use crate::exec::float::{self, ADD};
use crate::exec::memory::{
    GENERIC, GLOBAL, LOCAL, RELAXED, SHARED, SYNCHRONIZING, WEAK, copy_async, load, load_frame,
    load_kernel_param, load_vector, store, store_frame, store_vector,
};
use crate::exec::value::{Brain, Float, Half, canonical};
use crate::exec::{Handler, general};

/// An expression for each combination of space and ordering, which are constants of handlers.
macro_rules! for_space {
    ($space:expr, $order:expr, |$S:ident, $O:ident| $e:expr) => {
        for_space!(@ $space, $order, $S, $O, $e; GLOBAL SHARED LOCAL GENERIC)
    };
    (@ $space:expr, $order:expr, $S:ident, $O:ident, $e:expr; $($name:ident)*) => {
        match ($space, $order) {
            $(($name, WEAK) => { const $S: u8 = $name; const $O: u8 = WEAK; $e }
            ($name, RELAXED) => { const $S: u8 = $name; const $O: u8 = RELAXED; $e }
            ($name, _) => { const $S: u8 = $name; const $O: u8 = SYNCHRONIZING; $e })*
            _ => { const $S: u8 = GENERIC; const $O: u8 = SYNCHRONIZING; $e }
        }
    };
}

/// An expression for the memory type of a PTX type.
macro_rules! for_cell {
    ($ty:expr, $T:ident => $e:expr) => {
        match ($ty.bits(), $ty.is_signed()) {
            (8, false) => {
                type $T = u8;
                Some($e)
            }
            (8, true) => {
                type $T = i8;
                Some($e)
            }
            (16, false) => {
                type $T = u16;
                Some($e)
            }
            (16, true) => {
                type $T = i16;
                Some($e)
            }
            (32, true) if $ty == Type::S32 => {
                type $T = i32;
                Some($e)
            }
            (32, _) => {
                type $T = u32;
                Some($e)
            }
            (64, _) => {
                type $T = u64;
                Some($e)
            }
            _ => None,
        }
    };
}

/// What the words of a load or store say.
struct Access {
    space: u8,
    order: u8,
    vector: Option<u32>,
    ty: Type,
}

/// Words that hint at caches and say nothing else.
fn is_hint(word: &str) -> bool {
    matches!(
        word,
        "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "nc" | "weak" | "unified"
    ) || word.starts_with("L1::")
        || word.starts_with("L2::")
        || word.starts_with("level::")
}

fn is_scope(word: &str) -> bool {
    matches!(word, "cta" | "cluster" | "gpu" | "sys")
}

impl<'a> Decoder<'_, 'a> {
    pub(super) fn memory(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<bool> {
        match words.opcode {
            "ld" | "ldu" => self.load(words)?,
            "st" => self.store(words)?,
            "atom" => self.atomic(words, true)?,
            "red" => self.atomic(words, false)?,
            "fence" | "membar" => {
                if words.sees("proxy")
                    && words
                        .instruction
                        .modifiers
                        .iter()
                        .any(|word| word.starts_with("tensormap"))
                {
                    return unsupported_form("tensor maps");
                }
                words.ignore(|_| true);
                let run = general(|_, _, _| {
                    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst)
                });
                self.emit(run, |_| {});
            }
            "alloca" => {
                let _ = words.ty()?;
                let (d, size, align) = match words.operands() {
                    [d, size] => (d, size, 8),
                    [d, size, Operand::Integer(align)] => (d, size, align.bits),
                    _ => return invalid("`alloca` with these operands"),
                };
                if !align.is_power_of_two() || align > 4096 {
                    return invalid(format!("`alloca` with an alignment of {align}"));
                }
                let size = self.source(size, Type::U64)?;
                let d = self.target(d, 64)?;
                self.emit(allocate, |inst| {
                    (inst.d, inst.a, inst.imm) = (d, size, align as i64)
                });
            }
            "stacksave" => {
                let _ = words.ty()?;
                let [d] = words.exactly()?;
                let d = self.target(d, 64)?;
                self.emit(save_stack, |inst| inst.d = d);
            }
            "stackrestore" => {
                let _ = words.ty()?;
                let [a] = words.exactly()?;
                let a = self.source(a, Type::U64)?;
                self.emit(restore_stack, |inst| inst.a = a);
            }
            "cp" => self.copy_async(words)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn access(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<Access> {
        if words.sees("async") {
            return unsupported_form("asynchronous stores");
        }
        let orders = [
            ("volatile", RELAXED),
            ("relaxed", RELAXED),
            ("acquire", SYNCHRONIZING),
            ("release", SYNCHRONIZING),
        ];
        let mut order = WEAK;
        if words.has("mmio") {
            order = RELAXED;
        }
        if let Some(word) = words.one_of(&orders) {
            order = word;
        }
        words.ignore(is_scope);
        let space = self.space_of(words);
        words.ignore(is_hint);
        let vector = words.one_of(&[("v2", 2), ("v4", 4), ("v8", 8)]);
        let ty = words.ty()?;
        Ok(Access {
            space,
            order,
            vector,
            ty,
        })
    }

    /// Takes the word of a state space.
    fn space_of(&mut self, words: &mut Modifiers<'_, 'a>) -> u8 {
        let spaces = [
            ("global", GLOBAL),
            ("const", GLOBAL),
            ("shared", SHARED),
            ("shared::cta", SHARED),
            ("shared::cluster", SHARED),
            ("local", LOCAL),
            ("param", GENERIC),
            ("param::entry", GENERIC),
            ("param::func", GENERIC),
        ];
        words.one_of(&spaces).unwrap_or(GENERIC)
    }

    /// The address operand of an access. A bare shared variable under generic addressing needs its window.
    fn access_address(&mut self, operand: &Operand<'a>, space: u8) -> Result<Address> {
        let address = self.address(operand)?;
        if space == GENERIC
            && address.direct.is_none()
            && let Operand::Address(ptx::Base::Name(name), _) = operand
            && self.register_bits(&Operand::Name(name)).is_none()
        {
            let slot = self.address_of(name, 0, true)?;
            return Ok(Address { slot, ..address });
        }
        if address.direct.is_some() && matches!(space, GLOBAL | SHARED) {
            return invalid("a variable of another state space");
        }
        Ok(address)
    }

    /// Checks that `count` values of a type are inside the variable that an address names.
    fn check_direct(direct: Direct, ty: Type, count: u32) -> Result<()> {
        let (Direct::Frame { left, .. } | Direct::KernelParam { left, .. }) = direct;
        if left < i64::from(ty.bytes() * count) {
            return unsupported_form("an access past the end of a variable");
        }
        Ok(())
    }

    fn load(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let Access {
            space,
            order,
            vector,
            ty,
        } = self.access(words)?;
        let (target, address) = match words.operands() {
            [target, address] | [target, address, _] => (target, address),
            _ => return invalid("`ld` with these operands"),
        };
        let address = self.access_address(address, space)?;
        let mut targets = match vector {
            Some(_) => self.vector_targets(target, ty.bits())?,
            None => vec![self.target(target, ty.bits())?],
        };
        if vector.is_some_and(|length| length as usize != targets.len()) {
            return invalid("a vector of the wrong length");
        }
        let mut element = ty;
        if ty == Type::B128 {
            targets = targets
                .into_iter()
                .flat_map(|slot| [slot, slot + 1])
                .collect();
            element = Type::B64;
        }
        if let Some(direct) = address.direct {
            Self::check_direct(direct, element, targets.len() as u32)?;
            for (index, target) in targets.into_iter().enumerate() {
                let step = index as i64 * i64::from(element.bytes());
                let (run, offset) = match direct {
                    Direct::KernelParam { offset, .. } => {
                        (for_cell!(element, T => load_kernel_param::<T>()), offset)
                    }
                    Direct::Frame { offset, .. } => {
                        (for_cell!(element, T => load_frame::<T>()), offset)
                    }
                };
                let Some(run) = run else {
                    return invalid("`ld` of this type");
                };
                self.emit(run, |inst| (inst.d, inst.imm) = (target, offset + step));
            }
            return Ok(());
        }
        let cache = self.cache_entry();
        if ty == Type::B128 && vector.is_none() && order != WEAK {
            let run = for_space!(space, WEAK, |S, _O| atomic::wide::<S>());
            self.emit(run, |inst| {
                (inst.d, inst.a, inst.e, inst.cache) = (targets[0], address.slot, 2, cache);
                inst.imm = address.offset;
            });
            return Ok(());
        }
        let [target] = targets[..] else {
            let run = for_space!(
                space,
                order,
                |S, O| for_cell!(element, T => load_vector::<T, S, O>())
            );
            let Some(run) = run else {
                return invalid("`ld` of this type");
            };
            let list = self.output.extra.len() as u32;
            self.output.extra.extend_from_slice(&targets);
            self.emit(run, |inst| {
                (inst.a, inst.c, inst.e, inst.cache) =
                    (address.slot, targets.len() as u32, list, cache);
                inst.imm = address.offset;
            });
            return Ok(());
        };
        let run = for_space!(
            space,
            order,
            |S, O| for_cell!(element, T => load::<T, S, O>())
        );
        let Some(run) = run else {
            return invalid("`ld` of this type");
        };
        self.emit(run, |inst| {
            (inst.d, inst.a, inst.cache) = (target, address.slot, cache);
            inst.imm = address.offset;
        });
        Ok(())
    }

    fn store(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let Access {
            space,
            order,
            vector,
            ty,
        } = self.access(words)?;
        let (address, value) = match words.operands() {
            [address, value] | [address, value, _] => (address, value),
            _ => return invalid("`st` with these operands"),
        };
        let address = self.access_address(address, space)?;
        let mut values = match vector {
            Some(_) => self.vector_sources(value, ty)?,
            None => vec![self.source(value, ty)?],
        };
        if vector.is_some_and(|length| length as usize != values.len()) {
            return invalid("a vector of the wrong length");
        }
        let mut element = ty;
        if ty == Type::B128 {
            values = values
                .into_iter()
                .flat_map(|slot| [slot, slot + 1])
                .collect();
            element = Type::B64;
        }
        if let Some(direct) = address.direct {
            Self::check_direct(direct, element, values.len() as u32)?;
            let Direct::Frame {
                offset,
                space: Space::Param | Space::Local,
                ..
            } = direct
            else {
                return invalid("a store to a kernel parameter");
            };
            for (index, value) in values.into_iter().enumerate() {
                let step = index as i64 * i64::from(element.bytes());
                let Some(run) = for_cell!(element, T => store_frame::<T>()) else {
                    return invalid("`st` of this type");
                };
                self.emit(run, |inst| (inst.b, inst.imm) = (value, offset + step));
            }
            return Ok(());
        }
        let cache = self.cache_entry();
        if ty == Type::B128 && vector.is_none() && order != WEAK {
            let run = for_space!(space, WEAK, |S, _O| atomic::wide::<S>());
            self.emit(run, |inst| {
                (inst.b, inst.a, inst.e, inst.cache) = (values[0], address.slot, 3, cache);
                inst.imm = address.offset;
            });
            return Ok(());
        }
        let [value] = values[..] else {
            let run = for_space!(
                space,
                order,
                |S, O| for_cell!(element, T => store_vector::<T, S, O>())
            );
            let Some(run) = run else {
                return invalid("`st` of this type");
            };
            let list = self.output.extra.len() as u32;
            self.output.extra.extend_from_slice(&values);
            self.emit(run, |inst| {
                (inst.a, inst.c, inst.e, inst.cache) =
                    (address.slot, values.len() as u32, list, cache);
                inst.imm = address.offset;
            });
            return Ok(());
        };
        let run = for_space!(
            space,
            order,
            |S, O| for_cell!(element, T => store::<T, S, O>())
        );
        let Some(run) = run else {
            return invalid("`st` of this type");
        };
        self.emit(run, |inst| {
            (inst.b, inst.a, inst.cache) = (value, address.slot, cache);
            inst.imm = address.offset;
        });
        Ok(())
    }

    fn atomic(&mut self, words: &mut Modifiers<'_, 'a>, returns: bool) -> Result<()> {
        if words.sees("async") {
            return unsupported_form("asynchronous reductions");
        }
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
                Some(target) => self.vector_targets(target, ty.bits())?,
                None => (0..length).map(|_| self.temporary()).collect(),
            };
            if sources.len() != length as usize || targets.len() != length as usize {
                return invalid("a vector of the wrong length");
            }
            let Some(run) = update_handler(operation, ty, space) else {
                return unsupported_form(format!("`atom.{operation}` of `.{}`", ty.name()));
            };
            // Each element is atomic by itself, and so is no more than that promised.
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
            Some(target) => self.target(target, ty.bits())?,
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

    fn copy_async(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        if !words.has("async")
            || words.sees("bulk")
            || words.sees("mbarrier")
            || words.sees("reduce")
        {
            return unsupported_form("bulk and tensor copies");
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

/// Two 16-bit floats added.
fn add_pair<T: Float>(a: u32, b: u32) -> u32 {
    let half = |index| float::narrow_binary::<T>(ADD, float::lane(a, index), float::lane(b, index));
    float::pair(half(0), half(1))
}

fn extremum_pair<T: Float>(a: u32, b: u32, max: bool) -> u32 {
    let half =
        |index| float::extremum::<T>(float::lane(a, index), float::lane(b, index), max, false);
    float::pair(half(0), half(1))
}

/// The handler of an atomic that combines memory with one value.
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
            )
            .to_bits())
        }
        ("add", Type::F64) => update!(u64, |a: u64, b: u64| (f64::from_bits(a)
            + f64::from_bits(b))
        .to_bits()),
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
