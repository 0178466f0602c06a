//! The pass `narrow_products`.

use std::collections::{HashMap, HashSet};

use crate::inst::{BinOp, Call, Callee, CastOp, Flags, InlineAsm, InstKind};
use crate::legalize::emit::declared;
use crate::metadata::Di;
use crate::module::Module;
use crate::types::Type;
use crate::value::{Block, Const, Func, Value};

/// Computes parts of products of extended integers from the integers.
///
/// A product of fixed-point numbers is `(i128::from(a) * i128::from(b)) >> 32`, truncated to `i64`.
/// If another product follows, LLVM combines the truncation with the next extension to `(product <<
/// 32) >> 64`, and the shift to the left with the product to `(a << 32) * b`. The shifted operand is
/// no extended integer, and so the product takes about half as many instructions again.
///
/// The pass looks for products of 128 bits of which only parts of at most 64 bits are used. With
/// `high` and `low`, the two halves of the product of the 64-bit operands, the 64 bits above bit `k`
/// are `high << (64 - k) | low >> k`. The high half is a call of `llvm.nvvm.mulhi.ll` or `.ull`,
/// which libnvvm does not combine with shifts. Products of 64 bits with operands of 32 bits are
/// treated likewise, with `mul.wide` in inline PTX, if LLVM has combined them with shifts.
pub fn narrow_products(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let mut converted = HashSet::new();
        // A product may follow its operands in the order of execution only.
        while narrow(module, func, &mut converted) {}
    }
}

/// A product of which only parts are used.
struct Product {
    /// The operands, which have half as many bits as the product.
    lhs: Operand,
    rhs: Operand,
    is_signed: bool,
    /// By how much the product of the operands is shifted to the left.
    shift: u32,
}

/// An integer that is extended to an operand.
#[derive(Copy, Clone)]
enum Operand {
    Value(Value),
    /// The low half of a constant.
    Const(u128),
}

/// A part of a product.
struct Part {
    product: usize,
    /// The lowest bit, of the product without its shift.
    from: u32,
    /// How the part is extended, if it has as many bits as the product.
    extended: Option<CastOp>,
}

/// Narrows products. Returns whether operands of other products became extended integers.
fn narrow(module: &mut Module, func: Func, converted: &mut HashSet<Value>) -> bool {
    let blocks = module.func(func).blocks.clone();
    let mut users: HashMap<Value, Vec<Value>> = HashMap::new();
    let mut candidates = Vec::new();
    for &block in &blocks {
        for &inst in &module.block(block).insts {
            let Some(data) = module.inst(inst) else {
                continue;
            };
            (data.kind).for_each_operand(|operand| users.entry(operand).or_default().push(inst));
            if matches!(data.kind, InstKind::Bin { op: BinOp::Mul, .. })
                && half(module, inst).is_some()
            {
                candidates.push(inst);
            }
        }
    }
    let users = |value: Value| users.get(&value).map_or(&[][..], Vec::as_slice);
    let mut products = Vec::new();
    let mut parts = HashMap::new();
    for inst in candidates {
        let Some(own) = parts_of(module, &users, inst) else {
            continue;
        };
        let ends = own.iter().map(|&(_, from, _)| from);
        let Some(mut bits) = ends
            .max()
            .zip(half(module, inst))
            .map(|(from, half)| from + half)
        else {
            continue;
        };
        let lowest = own.iter().map(|&(_, from, _)| from).min().unwrap_or(0);
        let Some(product) = product(module, inst, &mut bits, lowest) else {
            continue;
        };
        let is_combined = own.iter().any(|(.., extended)| extended.is_some())
            || product.shift > 0
            || operands_of(module, inst)
                .is_some_and(|operands| operands.iter().any(|operand| converted.contains(operand)));
        if half(module, inst) == Some(64) || is_combined {
            for (part, from, extended) in own {
                let from = from - product.shift;
                parts.insert(
                    part,
                    Part {
                        product: products.len(),
                        from,
                        extended,
                    },
                );
            }
            products.push(product);
        }
    }
    let is_extended = |part: &Part| part.extended.is_some();
    let changes = parts.values().any(is_extended);
    if !parts.is_empty() {
        converted.extend(
            parts
                .iter()
                .filter(|(_, part)| is_extended(part))
                .map(|(&inst, _)| inst),
        );
        rewrite(module, &blocks, &products, &parts);
    }
    changes
}

/// Returns half the number of bits of a value of 64 or 128 bits.
fn half(module: &Module, value: Value) -> Option<u32> {
    match module.types.int_bits(module.ty(value)) {
        Some(bits @ (64 | 128)) => Some(bits / 2),
        _ => None,
    }
}

fn number(module: &Module, value: Value) -> Option<u128> {
    match module.as_const(value)? {
        &Const::Int(number) => Some(number),
        Const::Zero => Some(0),
        _ => None,
    }
}

fn operands_of(module: &Module, inst: Value) -> Option<[Value; 2]> {
    match module.inst(inst)?.kind {
        InstKind::Bin { lhs, rhs, .. } => Some([lhs, rhs]),
        _ => None,
    }
}

/// Returns the parts of a product that are used: the instruction, the lowest bit and the extension.
/// `None` if the rest of the product is used, too.
#[allow(clippy::type_complexity)]
fn parts_of<'a>(
    module: &Module,
    users: &impl Fn(Value) -> &'a [Value],
    product: Value,
) -> Option<Vec<(Value, u32, Option<CastOp>)>> {
    let half = half(module, product)?;
    let mut parts = Vec::new();
    // The values that have bits of the product, and by how much it is shifted to the left and right.
    let mut pending = vec![(product, 0, 0)];
    while let Some((value, left, right)) = pending.pop() {
        for &user in users(value) {
            match module.inst(user)?.kind {
                InstKind::Cast {
                    op: CastOp::Trunc, ..
                } => {
                    let bits = module.types.int_bits(module.ty(user))?;
                    if bits > half || left > right {
                        return None;
                    }
                    parts.push((user, right - left, None));
                }
                InstKind::Bin { op, lhs, rhs, .. } if lhs == value => match op {
                    BinOp::Shl if right == 0 => {
                        let shift = u32::try_from(number(module, rhs)?).ok()?;
                        if left + shift >= half {
                            return None;
                        }
                        pending.push((user, left + shift, 0));
                    }
                    BinOp::LShr | BinOp::AShr if right == 0 => {
                        let shift = u32::try_from(number(module, rhs)?).ok()?;
                        if shift > half || shift < left {
                            return None;
                        }
                        if shift == half {
                            let is_signed = op == BinOp::AShr;
                            let extension = if is_signed {
                                CastOp::SExt
                            } else {
                                CastOp::ZExt
                            };
                            parts.push((user, shift - left, Some(extension)));
                        } else {
                            pending.push((user, left, shift));
                        }
                    }
                    BinOp::And if left <= right && number(module, rhs)? == mask(half) => {
                        parts.push((user, right - left, Some(CastOp::ZExt)));
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
    }
    Some(parts)
}

/// Returns a number with ones in the low bits.
fn mask(bits: u32) -> u128 {
    u128::MAX.checked_shr(128 - bits).unwrap_or(0)
}

/// Returns the product of extended integers that an instruction computes. Only its low `bits` bits,
/// and bits from `lowest`, matter.
fn product(module: &Module, inst: Value, bits: &mut u32, lowest: u32) -> Option<Product> {
    let half = half(module, inst)?;
    let mut shift = 0;
    let mut operands = operands_of(module, inst)?;
    for operand in &mut operands {
        while let Some(&InstKind::Bin {
            op: BinOp::Shl,
            lhs,
            rhs,
            ..
        }) = module.inst(*operand).map(|data| &data.kind)
        {
            shift += u32::try_from(number(module, rhs)?)
                .ok()
                .filter(|&by| by <= half)?;
            *operand = lhs;
        }
    }
    if shift > lowest {
        return None;
    }
    *bits -= shift;
    let [(lhs, lhs_signs), (rhs, rhs_signs)] = [
        integer(module, operands[0], half, *bits)?,
        integer(module, operands[1], half, *bits)?,
    ];
    // A product of two constants, or of an unknown sign, remains.
    let is_signed = match (lhs_signs.0 && rhs_signs.0, lhs_signs.1 && rhs_signs.1) {
        (true, _) => true,
        (_, true) => false,
        _ => return None,
    };
    Some(Product {
        lhs,
        rhs,
        is_signed,
        shift,
    })
}

/// Returns the integer with half as many bits that equals an operand in its low `bits` bits, and
/// whether it is equal if it is extended with its sign, and with zeros.
fn integer(
    module: &Module,
    operand: Value,
    half: u32,
    bits: u32,
) -> Option<(Operand, (bool, bool))> {
    if let Some(number) = number(module, operand) {
        let low = number & mask(half);
        let has_sign = low >> (half - 1) != 0;
        let upper = (number & mask(bits)) >> half;
        let ones = mask(bits) >> half;
        let signed = upper == if has_sign { ones } else { 0 };
        return Some((Operand::Const(low), (signed, upper == 0)));
    }
    let &InstKind::Cast { op, value } = &module.inst(operand)?.kind else {
        return None;
    };
    let width = module.types.int_bits(module.ty(value))?;
    let signs = match op {
        CastOp::SExt if width <= half => (true, false),
        CastOp::ZExt if width < half => (true, true),
        CastOp::ZExt if width == half => (false, true),
        _ => return None,
    };
    Some((Operand::Value(operand), signs))
}

/// Replaces the parts.
fn rewrite(
    module: &mut Module,
    blocks: &[Block],
    products: &[Product],
    parts: &HashMap<Value, Part>,
) {
    let mut same: HashMap<Value, Value> = HashMap::new();
    for &block in blocks {
        let insts = std::mem::take(&mut module.block_mut(block).insts);
        for inst in insts {
            let (Some(part), Some(loc)) =
                (parts.get(&inst), module.inst(inst).map(|data| data.loc))
            else {
                module.block_mut(block).insts.push(inst);
                continue;
            };
            let Some(half) = half_of_product(module, inst) else {
                module.block_mut(block).insts.push(inst);
                continue;
            };
            let mut emit = Emit {
                module: &mut *module,
                block,
                loc,
            };
            let value = emit.part(&products[part.product], half, part.from);
            let op = match part.extended {
                Some(op) => op,
                None if module.ty(inst) == module.ty(value) => {
                    same.insert(inst, value);
                    continue;
                }
                None => CastOp::Trunc,
            };
            if let Some(data) = module.inst_mut(inst) {
                data.kind = InstKind::Cast { op, value };
            }
            module.block_mut(block).insts.push(inst);
        }
    }
    for &block in blocks {
        let insts = module.block(block).insts.clone();
        for inst in insts {
            if let Some(data) = module.inst_mut(inst) {
                data.kind.for_each_operand_mut(|operand| {
                    if let Some(&value) = same.get(operand) {
                        *operand = value;
                    }
                });
            }
        }
    }
}

/// Returns half the number of bits of the product of which an instruction computes a part.
fn half_of_product(module: &Module, part: Value) -> Option<u32> {
    match module.inst(part)?.kind {
        InstKind::Cast { value, .. } => half(module, value),
        _ => half(module, part),
    }
}

/// Appends instructions to a block.
struct Emit<'a> {
    module: &'a mut Module,
    block: Block,
    loc: Option<Di>,
}

impl Emit<'_> {
    /// Returns the bits of a product above a bit.
    fn part(&mut self, product: &Product, half: u32, from: u32) -> Value {
        let short = self.module.types.int(half);
        let lhs = self.operand(product.lhs, short);
        let rhs = self.operand(product.rhs, short);
        if from == 0 {
            return self.bin(BinOp::Mul, lhs, rhs);
        }
        if half == 32 {
            let long = self.module.types.int(64);
            let sign = if product.is_signed { "s" } else { "u" };
            let asm = InlineAsm::pure(format!("mul.wide.{sign}32 $0, $1, $2;"), "=l,r,r");
            let wide = self.call(Callee::Asm(Box::new(asm)), long, &[lhs, rhs]);
            let by = self.module.const_int(long, from.into());
            let value = self.bin(BinOp::LShr, wide, by);
            return self.push(
                short,
                InstKind::Cast {
                    op: CastOp::Trunc,
                    value,
                },
            );
        }
        let name = if product.is_signed {
            "llvm.nvvm.mulhi.ll"
        } else {
            "llvm.nvvm.mulhi.ull"
        };
        let sig = self.module.types.func(short, &[short, short], false);
        let callee = declared(self.module, name, sig);
        let high = self.call(Callee::Value(callee), short, &[lhs, rhs]);
        if from == half {
            return high;
        }
        let low = self.bin(BinOp::Mul, lhs, rhs);
        let right = self.module.const_int(short, from.into());
        let left = self.module.const_int(short, (half - from).into());
        let low = self.bin(BinOp::LShr, low, right);
        let high = self.bin(BinOp::Shl, high, left);
        self.bin(BinOp::Or, low, high)
    }

    /// Returns the integer that is extended to an operand.
    fn operand(&mut self, operand: Operand, ty: Type) -> Value {
        let extended = match operand {
            Operand::Const(number) => return self.module.const_int(ty, number),
            Operand::Value(extended) => extended,
        };
        match self.module.inst(extended).map(|data| data.kind.clone()) {
            Some(InstKind::Cast { value, .. }) if self.module.ty(value) == ty => value,
            Some(InstKind::Cast { op, value }) => self.push(ty, InstKind::Cast { op, value }),
            _ => extended,
        }
    }

    fn bin(&mut self, op: BinOp, lhs: Value, rhs: Value) -> Value {
        let flags = Flags::default();
        let ty = self.module.ty(lhs);
        self.push(
            ty,
            InstKind::Bin {
                op,
                lhs,
                rhs,
                flags,
            },
        )
    }

    fn call(&mut self, callee: Callee, ret: Type, args: &[Value]) -> Value {
        let sig = self.module.signature(ret, args);
        let call = Call::new(callee, sig, args.to_vec());
        self.push(ret, InstKind::Call(Box::new(call)))
    }

    fn push(&mut self, ty: Type, kind: InstKind) -> Value {
        self.module.push_inst(self.block, ty, kind, self.loc)
    }
}
