//! Decodes matrix instructions of a warp: `mma`, `wmma`, `ldmatrix`, `stmatrix`, `movmatrix`.
//! `launch::matrix` executes them.

use ptx::{Operand, Type};

use super::modifiers::Modifiers;
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::memory::{GENERIC, GLOBAL, SHARED};
use crate::exec::{Inst, general};
use crate::launch::element::Element;
use crate::launch::matrix::{BitOp, Group, Layout, Matrix, Product, Scale, Tile};
use crate::launch::sync::{Sync, WarpSync};

/// Parses the dimensions of a shape such as `m16n8k16`.
fn shape(word: &str) -> Option<[u32; 3]> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
}

impl<'a> Decoder<'_, 'a> {
    pub(super) fn matrix(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<bool> {
        match words.opcode {
            "mma" => self.mma(words)?,
            "wmma" => {
                if words.has("mma") {
                    self.mma(words)?;
                } else {
                    self.wmma_memory(words)?;
                }
            }
            "wgmma" => self.wgmma(words)?,
            "ldmatrix" => self.matrix_rows(words, true)?,
            "stmatrix" => self.matrix_rows(words, false)?,
            "movmatrix" => {
                words.ignore(|word| matches!(word, "sync" | "aligned" | "m8n8" | "trans"));
                let _ = words.ty()?;
                let [d, a] = words.exactly()?;
                let a = self.source(a, Type::B32)?;
                let d = self.target(d, Type::B32)?;
                self.matrix_sync(Matrix::Transpose, |inst| (inst.d, inst.a) = (d, a));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn matrix_sync(&mut self, matrix: Matrix, operands: impl FnOnce(&mut Inst)) {
        // Copies of an instruction share one description, so that lanes at different copies execute
        // one operation.
        let known = self.output.matrices.iter().position(|one| *one == matrix);
        let index = known.unwrap_or_else(|| {
            self.output.matrices.push(matrix);
            self.output.matrices.len() - 1
        });
        let mask = self.constant(u32::MAX.into());
        let cache = self.cache_entry();
        self.sync(
            Sync::Warp(WarpSync::Matrix {
                index: index as u32,
            }),
            |inst| {
                operands(inst);
                (inst.e, inst.cache) = (mask, cache);
            },
        );
    }

    fn list(&mut self, slots: &[u32]) -> u32 {
        let at = self.output.extra.len() as u32;
        self.output.extra.extend_from_slice(slots);
        at
    }

    /// Returns the slots of an operand that is a vector of registers or a single register.
    fn fragment(&mut self, operand: &Operand<'a>, ty: Type, target: bool) -> Result<Vec<u32>> {
        let single = !matches!(operand, Operand::Vector(_)) && !self.is_vector_register(operand);
        match (single, target) {
            (true, true) => Ok(vec![self.target(operand, ty)?]),
            (true, false) => Ok(vec![self.source(operand, ty)?]),
            (false, true) => self.vector_targets(operand, ty),
            (false, false) => self.vector_sources(operand, ty),
        }
    }

    fn mma(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let opaque = words.opcode == "wmma";
        let (mut sides, mut majors, mut types) = (None, Vec::new(), Vec::new());
        let (mut saturate, mut combine, mut sparse) = (false, None, false);
        let (mut kind, mut scale_format, mut blocks) = ("", None, None);
        while let Some(word) = words.next() {
            match word {
                "sync" | "aligned" | "popc" | "block_scale" | "rn" => {}
                "sp" | "sp::ordered_metadata" => sparse = true,
                "row" | "col" => majors.push(word == "col"),
                "satfinite" => saturate = true,
                "xor" => combine = Some(BitOp::Xor),
                "and" => combine = Some(BitOp::And),
                "ue8m0" => scale_format = Some(false),
                "ue4m3" => scale_format = Some(true),
                "scale_vec::1X" => blocks = Some(1),
                "scale_vec::2X" => blocks = Some(2),
                "scale_vec::4X" => blocks = Some(4),
                _ if word.starts_with("kind::") => kind = word,
                _ => {
                    if let Some(found) = shape(word) {
                        sides = Some(found);
                    } else if let Some(element) = Element::from_name(word) {
                        types.push(element);
                    } else {
                        return unsupported_form(format!("`.{word}` in `{}`", words.opcode));
                    }
                }
            }
        }
        let Some([m, n, k]) = sides else {
            return invalid(format!("`{}` without a shape", words.opcode));
        };
        let types: [Element; 4] = match types[..] {
            [d, a, b, c] => [d, a, b, c],
            // With only the types of D and C, A and B are fp16.
            [d, c] if opaque => [d, Element::F16, Element::F16, c],
            _ => return invalid(format!("`{}` with these types", words.opcode)),
        };
        let [a_column, b_column] = majors[..] else {
            return invalid(format!("`{}` without its layouts", words.opcode));
        };
        let layout = if opaque {
            Layout::Opaque
        } else if (m, n, k) == (8, 8, 4) && types[1] == Element::F16 {
            Layout::QuadPair {
                a_column,
                b_row: !b_column,
            }
        } else {
            Layout::Warp
        };
        let packed = kind.starts_with("kind::mxf4");
        let bits = [types[1], types[2]].map(|ty| if packed { 4 } else { ty.bits() });
        let scale = scale_format.map(|e4m3| Scale {
            e4m3,
            blocks: blocks.unwrap_or(if packed { 2 } else { 1 }),
        });
        let [d, a, b, c, rest @ ..] = words.operands() else {
            return invalid(format!("`{}` with these operands", words.opcode));
        };
        let sum = |ty: Element| match ty {
            Element::F64 => Type::F64,
            Element::F32 => Type::F32,
            Element::S32 => Type::S32,
            _ => Type::B32,
        };
        let factor = |ty: Element| match ty {
            Element::F64 => Type::B64,
            _ => Type::B32,
        };
        let mut a = self.fragment(a, factor(types[1]), false)?;
        let b = self.fragment(b, factor(types[2]), false)?;
        let c = self.fragment(c, sum(types[3]), false)?;
        let d = self.fragment(d, sum(types[0]), true)?;
        let product = Product {
            m,
            n,
            k,
            types,
            bits,
            registers: [&d, &a, &b, &c].map(|list| list.len() as u32),
            layout,
            saturate,
            combine,
            sparse,
            scale,
        };
        product.check().or_else(invalid)?;
        let mut rest = rest.iter();
        let wrong = || invalid::<()>("`mma` with these operands");
        if sparse {
            let (Some(metadata), Some(selector)) = (rest.next(), rest.next()) else {
                return wrong();
            };
            a.push(self.source(metadata, Type::B32)?);
            a.push(self.source(selector, Type::B32)?);
        }
        if scale.is_some() {
            for _ in 0..2 {
                let (Some(data), Some(Operand::Vector(selectors))) = (rest.next(), rest.next())
                else {
                    return wrong();
                };
                let [byte, thread] = &selectors[..] else {
                    return wrong();
                };
                a.push(self.source(data, Type::B32)?);
                a.push(self.source(byte, Type::B16)?);
                a.push(self.source(thread, Type::B16)?);
            }
        }
        if rest.next().is_some() {
            return wrong();
        }
        let [d, a, b, c] = [d, a, b, c].map(|slots| self.list(&slots));
        self.matrix_sync(Matrix::Product(product), |inst| {
            (inst.d, inst.a, inst.b, inst.c) = (d, a, b, c)
        });
        Ok(())
    }

    fn wgmma(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        if !words.has("mma_async") {
            // Products complete when they are issued, so there is nothing to wait for.
            words.ignore(|_| true);
            return Ok(());
        }
        let (mut sides, mut types, mut saturate, mut combine) = (None, Vec::new(), false, None);
        while let Some(word) = words.next() {
            match word {
                "sync" | "aligned" | "popc" => {}
                "satfinite" => saturate = true,
                "and" => combine = Some(BitOp::And),
                "sp" => return unsupported_form("sparse `wgmma`"),
                _ => match (shape(word), Element::from_name(word)) {
                    (Some(found), _) => sides = Some(found),
                    (None, Some(element)) => types.push(element),
                    _ => return unsupported_form(format!("`.{word}` in `wgmma`")),
                },
            }
        }
        let (Some([64, n, k]), [d_type, a_type, b_type]) = (sides, &types[..]) else {
            return invalid("`wgmma` with this shape or these types");
        };
        let [d, a, b, accumulate, rest @ ..] = words.operands() else {
            return invalid("`wgmma` with these operands");
        };
        let a_in_registers = matches!(a, Operand::Vector(_)) || self.is_vector_register(a);
        let mut numbers = Vec::new();
        for operand in rest {
            match operand {
                Operand::Integer(number) => numbers.push(number.bits as i32),
                _ => return invalid("`wgmma` with these operands"),
            }
        }
        if numbers.iter().skip(2).any(|&transposed| transposed != 0) {
            return unsupported_form("transposed matrices of `wgmma`");
        }
        let negated = [0, 1].map(|index| numbers.get(index) == Some(&-1));
        let d = self.fragment(d, Type::B32, true)?;
        let held = (d.len() as u32) * (32 / d_type.bits());
        if held * 32 != 16 * n || n > 256 || n == 0 {
            return invalid("`wgmma` whose number of registers does not match its shape");
        }
        let a = if a_in_registers {
            let slots = self.fragment(a, Type::B32, false)?;
            if slots.len() != 4 || 16 * k * a_type.bits() != 128 * 32 {
                return invalid("`wgmma` whose number of registers does not match its shape");
            }
            self.list(&slots)
        } else {
            self.source(a, Type::B64)?
        };
        let b = self.source(b, Type::B64)?;
        let accumulate = self.source(accumulate, Type::Pred)?;
        let d = self.list(&d);
        let product = Product {
            m: 16,
            n,
            k,
            types: [*d_type, *a_type, *b_type, *d_type],
            bits: [a_type.bits(), b_type.bits()],
            registers: [0; 4],
            layout: Layout::Warp,
            saturate,
            combine,
            sparse: false,
            scale: None,
        };
        let group = Group {
            product,
            a_in_registers,
            negated,
        };
        self.matrix_sync(Matrix::Group(group), |inst| {
            (inst.d, inst.a, inst.b, inst.c) = (d, a, b, accumulate)
        });
        Ok(())
    }

    /// Decodes `wmma.load` and `wmma.store`.
    fn wmma_memory(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let load = words.has("load");
        if !load && !words.has("store") {
            return invalid("`wmma` without `.load`, `.store` or `.mma`");
        }
        let Some(operand) = words.one_of(&[("a", 'a'), ("b", 'b'), ("c", 'c'), ("d", 'd')]) else {
            return invalid("`wmma` without `.a`, `.b`, `.c` or `.d`");
        };
        words.ignore(|word| matches!(word, "sync" | "aligned"));
        let Some(column_major) = words.one_of(&[("row", false), ("col", true)]) else {
            return invalid("`wmma` without a layout");
        };
        let Some([m, n, k]) = words.next().and_then(shape) else {
            return invalid("`wmma` without a shape");
        };
        let space = self.space_of(words);
        let Some(element) = words.next().and_then(Element::from_name) else {
            return invalid("`wmma` without a type");
        };
        let (memory, registers, stride) = match (words.operands(), load) {
            ([registers, memory], true) | ([memory, registers], false) => (memory, registers, None),
            ([registers, memory, stride], true) | ([memory, registers, stride], false) => {
                (memory, registers, Some(stride))
            }
            _ => return invalid("`wmma` with these operands"),
        };
        let address = self.matrix_address(memory, space)?;
        let ty = if element == Element::F64 {
            Type::B64
        } else {
            Type::B32
        };
        let slots = self.fragment(registers, ty, load)?;
        let (rows, columns) = match operand {
            'a' => (m, k),
            'b' => (k, n),
            _ => (m, n),
        };
        let tile = Tile {
            rows,
            columns,
            element,
            column_major,
            registers: slots.len() as u32,
            space,
            strided: stride.is_some(),
        };
        let stride = stride.map_or(Ok(0), |stride| self.source(stride, Type::U32))?;
        let list = self.list(&slots);
        let matrix = if load {
            Matrix::Load(tile)
        } else {
            Matrix::Store(tile)
        };
        self.matrix_sync(matrix, |inst| {
            (inst.d, inst.a, inst.b) = (list, address, stride)
        });
        Ok(())
    }

    /// Decodes `ldmatrix` and `stmatrix`.
    fn matrix_rows(&mut self, words: &mut Modifiers<'_, 'a>, load: bool) -> Result<()> {
        words.ignore(|word| matches!(word, "sync" | "aligned"));
        if !words.has("m8n8") {
            return unsupported_form(format!("this shape of `{}`", words.opcode));
        }
        let Some(count) = words.one_of(&[("x1", 1), ("x2", 2), ("x4", 4)]) else {
            return invalid(format!("`{}` without a count", words.opcode));
        };
        let transposed = words.has("trans");
        let space = self.space_of(words);
        if space == GLOBAL {
            return invalid("a state space that is not `.shared`");
        }
        let _ = words.ty()?;
        let [first, second] = words.exactly()?;
        let (registers, memory) = if load {
            (first, second)
        } else {
            (second, first)
        };
        let address = self.matrix_address(memory, space)?;
        let slots = self.fragment(registers, Type::B32, load)?;
        if slots.len() != count as usize {
            return invalid("a vector of the wrong length");
        }
        let list = self.list(&slots);
        debug_assert!(matches!(space, SHARED | GENERIC));
        let matrix = if load {
            Matrix::LoadRows {
                count,
                transposed,
                space,
            }
        } else {
            Matrix::StoreRows {
                count,
                transposed,
                space,
            }
        };
        self.matrix_sync(matrix, |inst| (inst.d, inst.a) = (list, address));
        Ok(())
    }

    /// Returns a slot with an address, including its offset.
    pub(super) fn matrix_address(&mut self, operand: &Operand<'a>, space: u8) -> Result<u32> {
        let address = self.access_address(operand, space)?;
        if address.direct.is_some() {
            return unsupported_form("a parameter or local variable given by name");
        }
        if address.offset == 0 {
            return Ok(address.slot);
        }
        let slot = self.temporary();
        let run = general(|i, r, _| r.set_raw(i.d, r.raw(i.a).wrapping_add(i.imm as u64)));
        self.emit(run, |inst| {
            (inst.d, inst.a, inst.imm) = (slot, address.slot, address.offset)
        });
        Ok(slot)
    }
}
