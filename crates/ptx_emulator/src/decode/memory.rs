//! Decodes loads, stores, fences, and stack instructions. Atomics are in `atomic`.

use ptx::{Operand, Space, Type};

use super::modifiers::Modifiers;
use super::operand::{Address, Direct};
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::atomic;
use crate::exec::call::{allocate, restore_stack, save_stack};
use crate::exec::general;
use crate::exec::memory::{
    GENERIC, GLOBAL, LOCAL, RELAXED, SHARED, SYNCHRONIZING, WEAK, load, load_frame,
    load_kernel_param, load_vector, store, store_bulk, store_frame, store_vector,
};

/// Evaluates an expression for each combination of state space and ordering, which are const
/// parameters of handlers.
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

pub(super) use for_space;

/// Evaluates an expression for the memory type of a PTX type.
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

/// The parsed modifiers of a load or store.
struct Access {
    space: u8,
    order: u8,
    vector: Option<u32>,
    ty: Type,
}

/// Returns whether a modifier is only a cache hint.
pub(super) fn is_hint(word: &str) -> bool {
    matches!(
        word,
        "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "nc" | "weak" | "unified"
    ) || word.starts_with("L1::")
        || word.starts_with("L2::")
        || word.starts_with("level::")
}

pub(super) fn is_scope(word: &str) -> bool {
    matches!(word, "cta" | "cluster" | "gpu" | "sys")
}

impl<'a> Decoder<'_, 'a> {
    pub(super) fn memory(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<bool> {
        match words.opcode {
            "ld" | "ldu" => self.load(words)?,
            "st" | "red" if words.sees("async") => self.store_async(words)?,
            "st" if words.sees("bulk") => self.store_bulk(words)?,
            "st" => self.store(words)?,
            "mbarrier" => self.mbarrier(words)?,
            "mapa" | "getctarank" => self.cluster_address(words)?,
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
                let d = self.target(d, Type::U64)?;
                self.emit(allocate, |inst| {
                    (inst.d, inst.a, inst.imm) = (d, size, align as i64)
                });
            }
            "stacksave" => {
                let _ = words.ty()?;
                let [d] = words.exactly()?;
                let d = self.target(d, Type::U64)?;
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

    /// Takes the modifier of a state space.
    pub(super) fn space_of(&mut self, words: &mut Modifiers<'_, 'a>) -> u8 {
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

    /// Returns the address operand of an access. The address of a shared variable in a generic
    /// access needs the shared window.
    pub(super) fn access_address(&mut self, operand: &Operand<'a>, space: u8) -> Result<Address> {
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
            return unsupported_form("an access beyond the end of a variable");
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
            Some(_) => self.vector_targets(target, ty)?,
            None => vec![self.target(target, ty)?],
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

    fn store_bulk(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let _ = words.has("bulk");
        words.ignore(is_hint);
        let space = self.space_of(words);
        let run = match space {
            SHARED => store_bulk::<SHARED>(),
            GENERIC => store_bulk::<GENERIC>(),
            _ => return invalid("`st.bulk` to another state space than `shared::cta`"),
        };
        let [address, size, Operand::Integer(value)] = words.operands() else {
            return invalid("`st.bulk` with these operands");
        };
        if value.bits != 0 {
            return invalid(format!("`st.bulk` of {} instead of 0", value.bits));
        }
        let address = self.matrix_address(address, space)?;
        let size = self.source(size, Type::U64)?;
        self.emit(run, |inst| (inst.a, inst.b) = (address, size));
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
}
