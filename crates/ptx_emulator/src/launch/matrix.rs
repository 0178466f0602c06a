//! Matrix operations of a warp: the distribution of elements among lanes, and the products.
//!
//! The fragments of `mma` and `ldmatrix` are as the PTX ISA defines them. Those of `wmma` are
//! unspecified; here, consecutive lanes hold consecutive elements, row by row.
//!
//! Products of floats are summed in double precision and rounded once, to nearest. A tensor core
//! truncates more and sums in another order, so results equal a GPU's only if no sum is rounded.
//! Doubles are summed by fused multiply-adds in the order of `k`, and integers exactly.

use super::Worker;
use super::element::Element;
use crate::exec::memory::{GENERIC, GLOBAL, SHARED};
use crate::exec::{Inst, Regs};
use crate::fault::FaultKind;

/// A matrix instruction. The registers, which differ between copies of the instruction, are in
/// [`Inst`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Matrix {
    Product(Product),
    /// `wmma.load`: registers at `d`, address in `a`, stride in `b`.
    Load(Tile),
    /// `wmma.store`: registers at `d`, address in `a`, stride in `b`.
    Store(Tile),
    /// `ldmatrix` of `count` 8×8 matrices: registers at `d`, address in `a`.
    LoadRows {
        count: u32,
        transposed: bool,
        space: u8,
    },
    /// `stmatrix`, likewise.
    StoreRows {
        count: u32,
        transposed: bool,
        space: u8,
    },
    /// `movmatrix`: from register `a` to register `d`.
    Transpose,
    /// `wgmma.mma_async`: 16 of the 64 rows for each warp. It completes when it is issued.
    Group(Group),
}

/// A product of `wgmma`, as one warp computes it. `d` lists the registers of D. `a` lists those of
/// A, or contains its descriptor. `b` contains the descriptor of B, and `c` whether to accumulate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub product: Product,
    pub a_in_registers: bool,
    pub negated: [bool; 2],
}

/// A `wmma` fragment in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tile {
    pub rows: u32,
    pub columns: u32,
    pub element: Element,
    pub column_major: bool,
    pub registers: u32,
    pub space: u8,
    /// Whether `b` contains a stride; otherwise rows (or columns) are contiguous.
    pub strided: bool,
}

/// The distribution of elements among lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Layout {
    /// As in `mma`.
    Warp,
    /// `mma.m8n8k4` of fp16: four products, each by eight lanes, with the layouts of A and B.
    QuadPair { a_column: bool, b_row: bool },
    /// As in `wmma` in this emulator.
    Opaque,
}

/// The operation that combines the bits of a `.b1` product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum BitOp {
    Xor,
    And,
}

/// The scales of blocks along `k`: their format, and the number of blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    /// Whether the format is `ue4m3` instead of `ue8m0`.
    pub e4m3: bool,
    pub blocks: u32,
}

/// `d = a * b + c`. `d`, `c` and `b` list the registers of D, C and B. `a` lists those of A,
/// followed by metadata and selector, and then scales with their selectors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Product {
    pub m: u32,
    pub n: u32,
    pub k: u32,
    pub types: [Element; 4],
    /// The width in bits of an element of A and B in its register.
    pub bits: [u32; 2],
    /// The number of registers of D, A, B and C.
    pub registers: [u32; 4],
    pub layout: Layout,
    pub saturate: bool,
    pub combine: Option<BitOp>,
    pub sparse: bool,
    pub scale: Option<Scale>,
}

type Problem = (FaultKind, String);
type Lanes = [(Inst, Regs); 32];

impl Matrix {
    pub fn name(&self) -> &'static str {
        match self {
            Matrix::Product(Product {
                layout: Layout::Opaque,
                ..
            }) => "wmma.mma",
            Matrix::Product(_) => "mma",
            Matrix::Load(_) => "wmma.load",
            Matrix::Store(_) => "wmma.store",
            Matrix::LoadRows { .. } => "ldmatrix",
            Matrix::StoreRows { .. } => "stmatrix",
            Matrix::Transpose => "movmatrix",
            Matrix::Group(_) => "wgmma.mma_async",
        }
    }
}

impl Worker<'_> {
    /// Executes a matrix operation at which all lanes of a warp have arrived.
    pub(super) fn matrix(
        &mut self,
        operation: &Matrix,
        warp: usize,
        lanes: &Lanes,
    ) -> Result<(), Problem> {
        match operation {
            Matrix::Group(group) => self.group(group, warp % 4, lanes),
            Matrix::Product(product) => {
                self.product(product, lanes);
                Ok(())
            }
            Matrix::Load(tile) | Matrix::Store(tile) => {
                self.tile(tile, matches!(operation, Matrix::Load(_)), lanes)
            }
            &Matrix::LoadRows {
                count,
                transposed,
                space,
            } => {
                let mut rows = vec![[0u16; 8]; 8 * count as usize];
                for (row, &(inst, regs)) in rows.iter_mut().zip(lanes) {
                    let place = self.place(&inst, regs.raw(inst.a), 16, 16, space)?;
                    // SAFETY: the 16 bytes are in bounds and aligned.
                    *row = unsafe { place.cast::<[u16; 8]>().read_volatile() };
                }
                for (lane, (inst, regs)) in lanes.iter().enumerate() {
                    for (index, matrix) in rows.chunks(8).enumerate() {
                        let (low, high) = pair(lane, transposed);
                        let value = u32::from(matrix[low.0][low.1])
                            | u32::from(matrix[high.0][high.1]) << 16;
                        regs.set(self.extra(inst.d, index), value);
                    }
                }
                Ok(())
            }
            &Matrix::StoreRows {
                count,
                transposed,
                space,
            } => {
                let mut rows = vec![[0u16; 8]; 8 * count as usize];
                for (lane, (inst, regs)) in lanes.iter().enumerate() {
                    for (index, matrix) in rows.chunks_mut(8).enumerate() {
                        let value: u32 = regs.get(self.extra(inst.d, index));
                        let (low, high) = pair(lane, transposed);
                        matrix[low.0][low.1] = value as u16;
                        matrix[high.0][high.1] = (value >> 16) as u16;
                    }
                }
                for (row, &(inst, regs)) in rows.iter().zip(lanes) {
                    let place = self.place(&inst, regs.raw(inst.a), 16, 16, space)?;
                    // SAFETY: the 16 bytes are in bounds and aligned.
                    unsafe { place.cast::<[u16; 8]>().write_volatile(*row) };
                }
                Ok(())
            }
            Matrix::Transpose => {
                let mut matrix = [[0u16; 8]; 8];
                for (lane, (inst, regs)) in lanes.iter().enumerate() {
                    let value: u32 = regs.get(inst.a);
                    matrix[lane / 4][lane % 4 * 2] = value as u16;
                    matrix[lane / 4][lane % 4 * 2 + 1] = (value >> 16) as u16;
                }
                for (lane, (inst, regs)) in lanes.iter().enumerate() {
                    let (low, high) = pair(lane, true);
                    let value =
                        u32::from(matrix[low.0][low.1]) | u32::from(matrix[high.0][high.1]) << 16;
                    regs.set(inst.d, value);
                }
                Ok(())
            }
        }
    }

    fn extra(&self, list: u32, index: usize) -> u32 {
        self.context.code.extra[list as usize + index]
    }

    /// Returns the host address of an instruction's memory operand.
    fn place(
        &mut self,
        inst: &Inst,
        address: u64,
        size: u64,
        align: u64,
        space: u8,
    ) -> Result<*mut u8, Problem> {
        // SAFETY: the instruction is a copy of the one being executed.
        let place = unsafe {
            match space {
                SHARED => self.context.translate::<SHARED>(inst, address, size, align),
                GLOBAL => self.context.translate::<GLOBAL>(inst, address, size, align),
                _ => self
                    .context
                    .translate::<GENERIC>(inst, address, size, align),
            }
        };
        if place.is_null() {
            let fault = self.context.fault.take();
            return Err(fault.map_or((FaultKind::IllegalAddress, String::new()), |fault| *fault));
        }
        Ok(place)
    }

    /// Executes the rows of one warp of `wgmma.mma_async`.
    fn group(&mut self, group: &Group, warp: usize, lanes: &Lanes) -> Result<(), Problem> {
        let product = &group.product;
        let [d_type, a_type, b_type, _] = product.types;
        let (n, k) = (product.n as usize, product.k as usize);
        let (first, regs) = lanes[0];
        let accumulate: bool = regs.get(first.c);
        let mut a = vec![0u64; 16 * k];
        if group.a_in_registers {
            for (lane, &(inst, regs)) in lanes.iter().enumerate() {
                for index in 0..16 * k / 32 {
                    let (row, column) = product.a_place(lane, index, k);
                    a[row * k + column] = self.take(inst.a, regs, product.bits[0], index);
                }
            }
        } else {
            let descriptor = regs.raw(first.a);
            for row in 0..16 {
                for column in 0..k {
                    a[row * k + column] =
                        self.described(&first, descriptor, warp * 16 + row, column, a_type)?;
                }
            }
        }
        let mut b = vec![0u64; k * n];
        let descriptor = regs.raw(first.b);
        for column in 0..n {
            for row in 0..k {
                b[row * n + column] = self.described(&first, descriptor, column, row, b_type)?;
            }
        }
        let place = |lane: usize, index: usize| {
            let row = lane / 4 + index / 2 % 2 * 8;
            row * n + index / 4 * 8 + lane % 4 * 2 + index % 2
        };
        let count = 16 * n / 32;
        let mut c = vec![0u64; 16 * n];
        if accumulate {
            for (lane, &(inst, regs)) in lanes.iter().enumerate() {
                for index in 0..count {
                    c[place(lane, index)] = self.take(inst.d, regs, d_type.bits(), index);
                }
            }
        }
        // The sign is the highest bit of an element.
        for (matrix, negated, bits) in [
            (&mut a, group.negated[0], a_type.bits()),
            (&mut b, group.negated[1], b_type.bits()),
        ] {
            if negated {
                matrix
                    .iter_mut()
                    .for_each(|value| *value ^= 1 << (bits - 1));
            }
        }
        let d = product.multiply(&a, &b, &c, None);
        for (lane, &(inst, regs)) in lanes.iter().enumerate() {
            for index in 0..count {
                self.put(inst.d, regs, d_type.bits(), index, d[place(lane, index)]);
            }
        }
        Ok(())
    }

    /// Returns an element of a matrix in shared memory that a `wgmma` descriptor describes. The
    /// elements of a row (of A, or column of B) are contiguous, in chunks of 16 bytes or, with a
    /// swizzle, of 32 to 128.
    fn described(
        &mut self,
        inst: &Inst,
        descriptor: u64,
        row: usize,
        column: usize,
        ty: Element,
    ) -> Result<u64, Problem> {
        let field = |at: u32| (descriptor >> at & 0x3fff) << 4;
        let (start, leading, stride) = (field(0), field(16), field(32));
        let bit = column as u64 * u64::from(ty.bits());
        let (byte, row) = (bit / 8, row as u64);
        // 1 is 128 bytes, 2 is 64, 3 is 32.
        let swizzle = descriptor >> 62;
        let address = if swizzle == 0 {
            start + row / 8 * stride + byte / 16 * leading + row % 8 * 16 + byte % 16
        } else {
            let width = 256u64 >> swizzle;
            let plain = start + row / 8 * stride + row % 8 * width + byte % width;
            let plain = plain + byte / width * leading;
            plain ^ (plain >> 7 & (width / 16 - 1)) << 4
        };
        let bytes = u64::from(ty.bits().div_ceil(8));
        let place = self.place(inst, address, bytes, 1, SHARED)?;
        // SAFETY: the bytes are in bounds.
        let value = unsafe {
            match bytes {
                4 => place.cast::<u32>().read_unaligned().into(),
                2 => place.cast::<u16>().read_unaligned().into(),
                _ => u64::from(place.read_volatile()) >> (bit % 8),
            }
        };
        Ok(value & (u64::MAX >> (64 - ty.bits())))
    }

    /// Executes `wmma.load` and `wmma.store`.
    fn tile(&mut self, tile: &Tile, load: bool, lanes: &Lanes) -> Result<(), Problem> {
        let bits = tile.element.bits();
        let count = (tile.rows * tile.columns) as usize;
        let each = tile.registers as usize * (32 / bits).max(1) as usize;
        for (lane, &(inst, regs)) in lanes.iter().enumerate() {
            let base = regs.raw(inst.a);
            let (rows, columns) = (tile.rows, tile.columns);
            let dense = if tile.column_major { rows } else { columns };
            let stride: u32 = if tile.strided {
                regs.get(inst.b)
            } else {
                dense
            };
            for index in 0..each {
                // If there are fewer elements than positions, some elements occur twice.
                let linear = ((lane * each + index) % count) as u32;
                let (row, column) = (linear / columns, linear % columns);
                let (outer, inner) = if tile.column_major {
                    (column, row)
                } else {
                    (row, column)
                };
                let bit =
                    (u64::from(outer) * u64::from(stride) + u64::from(inner)) * u64::from(bits);
                let address = base.wrapping_add(bit / 8);
                let bytes = u64::from(bits.div_ceil(8));
                let place = self.place(&inst, address, bytes, bytes, tile.space)?;
                // SAFETY: the bytes are in bounds and aligned.
                unsafe {
                    if load {
                        let value = match bits {
                            64 => place.cast::<u64>().read_volatile(),
                            32 => place.cast::<u32>().read_volatile().into(),
                            16 => place.cast::<u16>().read_volatile().into(),
                            _ => u64::from(place.read_volatile()) >> (bit % 8),
                        };
                        self.put(inst.d, regs, bits, index, value);
                    } else {
                        let value = self.take(inst.d, regs, bits, index);
                        match bits {
                            64 => place.cast::<u64>().write_volatile(value),
                            32 => place.cast::<u32>().write_volatile(value as u32),
                            _ => place.cast::<u16>().write_volatile(value as u16),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns an element of a list of registers.
    fn take(&self, list: u32, regs: Regs, bits: u32, index: usize) -> u64 {
        if bits == 64 {
            return regs.raw(self.extra(list, index));
        }
        let each = (32 / bits) as usize;
        let register: u32 = regs.get(self.extra(list, index / each));
        let value = register >> (index % each * bits as usize);
        u64::from(value) & (u64::MAX >> (64 - bits))
    }

    fn put(&self, list: u32, regs: Regs, bits: u32, index: usize, value: u64) {
        if bits == 64 {
            return regs.set_raw(self.extra(list, index), value);
        }
        let each = (32 / bits) as usize;
        let slot = self.extra(list, index / each);
        let shift = index % each * bits as usize;
        let mask = (u32::MAX >> (32 - bits)) << shift;
        let old: u32 = regs.get(slot);
        regs.set(slot, old & !mask | (value as u32) << shift & mask);
    }

    fn product(&self, product: &Product, lanes: &Lanes) {
        let groups = match product.layout {
            Layout::QuadPair { .. } => 4,
            _ => 1,
        };
        let [d_type, a_type, b_type, c_type] = product.types;
        let (m, n) = (product.m as usize, product.n as usize);
        // For a sparse A, only half of the columns are stored.
        let stored = product.k as usize / (1 + usize::from(product.sparse));
        let elements = |registers: u32, bits: u32| (registers * (32 / bits).max(1)) as usize;
        for group in 0..groups {
            let members = || (0..32).filter(move |lane| groups == 1 || lane >> 2 & 3 == group);
            let mut a = vec![0u64; m * stored];
            let mut b = vec![0u64; product.k as usize * n];
            let mut c = vec![0u64; m * n];
            for lane in members() {
                let (inst, regs) = lanes[lane];
                for index in 0..elements(product.registers[1], product.bits[0]) {
                    let (row, column) = product.a_place(lane, index, stored);
                    a[row * stored + column] = self.take(inst.a, regs, product.bits[0], index);
                }
                for index in 0..elements(product.registers[2], product.bits[1]) {
                    let (row, column) = product.b_place(lane, index);
                    b[row * n + column] = self.take(inst.b, regs, product.bits[1], index);
                }
                for index in 0..elements(product.registers[3], c_type.bits()) {
                    let (row, column) = product.c_place(lane, index, c_type);
                    c[row * n + column] = self.take(inst.c, regs, c_type.bits(), index);
                }
            }
            if product.sparse {
                a = self.expand(product, lanes, &a);
            }
            // A 4-bit float is in the middle of its byte.
            for (matrix, ty, bits) in [
                (&mut a, a_type, product.bits[0]),
                (&mut b, b_type, product.bits[1]),
            ] {
                if ty == Element::E2m1 && bits == 8 {
                    matrix.iter_mut().for_each(|value| *value >>= 2);
                }
            }
            let scales = product
                .scale
                .map(|scale| self.scales(product, scale, lanes));
            let d = product.multiply(&a, &b, &c, scales.as_ref());
            for lane in members() {
                let (inst, regs) = lanes[lane];
                for index in 0..elements(product.registers[0], d_type.bits()) {
                    let (row, column) = product.c_place(lane, index, d_type);
                    self.put(inst.d, regs, d_type.bits(), index, d[row * n + column]);
                }
            }
        }
    }

    /// Expands a sparse A by the metadata that follows A's registers. Two-bit indices select the
    /// two of four units that are nonzero; a unit is an element, half a `tf32`, or two elements of
    /// 4 bits.
    fn expand(&self, product: &Product, lanes: &Lanes, stored: &[u64]) -> Vec<u64> {
        let (m, k) = (product.m as usize, product.k as usize);
        let columns = k / 2;
        let bits = product.bits[0];
        let at = product.registers[1] as usize;
        let selector: u32 = lanes[0].1.get(self.extra(lanes[0].0.a, at + 1));
        let mut all = vec![0; m * k];
        for row in 0..m {
            for column in 0..columns {
                let unit = match bits {
                    4 => column / 2,
                    32 => column * 2,
                    _ => column,
                };
                // Wide types have 16-bit words, with both rows of a lane in one register; narrow
                // types have 32-bit words, with one register for each row.
                let units = columns * 2
                    / if bits == 4 {
                        4
                    } else if bits == 32 {
                        1
                    } else {
                        2
                    };
                let quad = row % 8 * 4;
                let (lane, shift) = if bits >= 16 {
                    let word = unit / 8;
                    let first = selector as usize * (units / 8);
                    (quad + first + word, row / 8 * 16 + unit % 8 * 2)
                } else {
                    let first = selector as usize * (units / 8);
                    (quad + first + unit / 16 * 2 + row / 8, unit % 16 * 2)
                };
                let (inst, regs) = lanes[lane % 32];
                let word: u32 = regs.get(self.extra(inst.a, at));
                let index = (word >> shift & 3) as usize;
                let full = match bits {
                    4 => unit / 2 * 8 + index * 2 + column % 2,
                    32 => unit / 2 * 2 + index / 2,
                    _ => unit / 2 * 4 + index,
                };
                all[row * k + full] = stored[row * columns + column];
            }
        }
        all
    }

    /// Returns the scales of A's rows and B's columns, block by block.
    fn scales(&self, product: &Product, scale: Scale, lanes: &Lanes) -> [Vec<f64>; 2] {
        let at = (product.registers[1] + 2 * u32::from(product.sparse)) as usize;
        let value = |lane: usize, operand: usize, block: u32| {
            let (inst, regs) = lanes[lane];
            let word: u32 = regs.get(self.extra(inst.a, at + operand * 3));
            let byte: u32 = regs.get(self.extra(inst.a, at + operand * 3 + 1));
            let code = (word >> ((byte + block) % 4 * 8) & 0xff) as u64;
            match scale.e4m3 {
                true => super::element::E4M3.value(code & 0x7f),
                false if code == 0xff => f64::NAN,
                false => f64::from(code as i32 - 127).exp2(),
            }
        };
        let thread = |operand: usize| -> usize {
            let (inst, regs) = lanes[0];
            regs.get::<u32>(self.extra(inst.a, at + operand * 3 + 2)) as usize
        };
        let (pair, single) = (thread(0) % 2 * 2, thread(1) % 4);
        let blocks = 0..scale.blocks;
        let of_a = (0..product.m as usize)
            .flat_map(|row| blocks.clone().map(move |block| (row, block)))
            .map(|(row, block)| value(row % 8 * 4 + pair + row / 8, 0, block));
        let of_b = (0..product.n as usize)
            .flat_map(|column| blocks.clone().map(move |block| (column, block)))
            .map(|(column, block)| value(column * 4 + single, 1, block));
        [of_a.collect(), of_b.collect()]
    }
}

/// Returns the positions of the two elements of an 8×8 matrix in a lane's register.
fn pair(lane: usize, transposed: bool) -> ((usize, usize), (usize, usize)) {
    let (row, column) = (lane / 4, lane % 4 * 2);
    if transposed {
        ((column, row), (column + 1, row))
    } else {
        ((row, column), (row, column + 1))
    }
}

impl Product {
    /// Returns the row and column of an element of A that a lane holds.
    fn a_place(&self, lane: usize, index: usize, columns: usize) -> (usize, usize) {
        let (quad, inner) = (lane / 4, lane % 4);
        match self.layout {
            Layout::Warp => {
                let each = (32 / self.bits[0] as usize).max(1);
                let (register, part) = (index / each, index % each);
                let (upper, step) = if self.m == 8 {
                    (0, register)
                } else {
                    (register % 2, register / 2)
                };
                (quad + upper * 8, (step * 4 + inner) * each + part)
            }
            Layout::QuadPair { a_column, .. } => {
                let high = lane / 16 * 4;
                if a_column {
                    (index % 4 + high, inner)
                } else {
                    (inner + high, index)
                }
            }
            Layout::Opaque => {
                let each = self.registers[1] as usize * (32 / self.bits[0] as usize).max(1);
                let linear = (lane * each + index) % (self.m as usize * columns);
                (linear / columns, linear % columns)
            }
        }
    }

    fn b_place(&self, lane: usize, index: usize) -> (usize, usize) {
        let (quad, inner) = (lane / 4, lane % 4);
        match self.layout {
            Layout::Warp => {
                let each = (32 / self.bits[1] as usize).max(1);
                ((index / each * 4 + inner) * each + index % each, quad)
            }
            Layout::QuadPair { b_row, .. } => {
                let high = lane / 16 * 4;
                if b_row {
                    (inner, index + high)
                } else {
                    (index, inner + high)
                }
            }
            Layout::Opaque => {
                let each = self.registers[2] as usize * (32 / self.bits[1] as usize).max(1);
                let n = self.n as usize;
                let linear = (lane * each + index) % (self.k as usize * n);
                (linear / n, linear % n)
            }
        }
    }

    fn c_place(&self, lane: usize, index: usize, ty: Element) -> (usize, usize) {
        let (quad, inner) = (lane / 4, lane % 4);
        match self.layout {
            Layout::Warp => (quad + index / 2 * 8, inner * 2 + index % 2),
            Layout::QuadPair { .. } => {
                let high = lane / 16 * 4;
                if ty == Element::F16 {
                    (inner + high, index)
                } else {
                    (
                        (inner & 1) + (index & 2) + high,
                        (index & 4) + (inner & 2) + (index & 1),
                    )
                }
            }
            Layout::Opaque => {
                let n = self.n as usize;
                let linear = lane * (self.m as usize * n / 32) + index;
                (linear / n, linear % n)
            }
        }
    }

    fn multiply(
        &self,
        a: &[u64],
        b: &[u64],
        c: &[u64],
        scales: Option<&[Vec<f64>; 2]>,
    ) -> Vec<u64> {
        let [d_type, a_type, b_type, c_type] = self.types;
        let (n, k) = (self.n as usize, self.k as usize);
        let mut d = Vec::with_capacity(c.len());
        if d_type.is_integer() {
            let a: Vec<i64> = a.iter().map(|&bits| a_type.integer(bits)).collect();
            let b: Vec<i64> = b.iter().map(|&bits| b_type.integer(bits)).collect();
            for (place, &start) in c.iter().enumerate() {
                let (row, column) = (place / n, place % n);
                let products = (0..k).map(|i| (a[row * k + i], b[i * n + column]));
                let sum: i64 = match self.combine {
                    Some(BitOp::Xor) => products.map(|(x, y)| x ^ y).sum(),
                    Some(BitOp::And) => products.map(|(x, y)| x & y).sum(),
                    None => products.map(|(x, y)| x * y).sum(),
                };
                let sum = sum + c_type.integer(start);
                let sum = if self.saturate {
                    sum.clamp(i32::MIN.into(), i32::MAX.into())
                } else {
                    sum
                };
                d.push(u64::from(sum as u32));
            }
            return d;
        }
        let a: Vec<f64> = a.iter().map(|&bits| a_type.float(bits)).collect();
        let b: Vec<f64> = b.iter().map(|&bits| b_type.float(bits)).collect();
        for (place, &start) in c.iter().enumerate() {
            let (row, column) = (place / n, place % n);
            let start = c_type.float(start);
            let products = (0..k).map(|i| (a[row * k + i], b[i * n + column]));
            let sum = if d_type == Element::F64 {
                products.fold(start, |sum, (x, y)| x.mul_add(y, sum))
            } else {
                let scale = |i: usize| match (scales, self.scale) {
                    (Some([of_a, of_b]), Some(scale)) => {
                        let blocks = scale.blocks as usize;
                        let block = i * blocks / k;
                        of_a[row * blocks + block] * of_b[column * blocks + block]
                    }
                    _ => 1.0,
                };
                let products = products.enumerate();
                start + products.map(|(i, (x, y))| x * y * scale(i)).sum::<f64>()
            };
            d.push(d_type.round(sum));
        }
        d
    }
}

impl Product {
    /// Checks that the number of registers matches the shape.
    pub fn check(&self) -> Result<(), String> {
        let lanes = match self.layout {
            Layout::QuadPair { .. } => 8,
            _ => 32,
        };
        let holds = |registers: u32, bits: u32| registers * (32 / bits).max(1) * lanes;
        let [d, a, b, c] = self.types;
        let stored = self.k / (1 + u32::from(self.sparse));
        // In `wmma` fragments of A and B, fp16 elements occur more than once.
        let fit = |has: u32, elements: u32, ty: Element| {
            has == elements
                || self.layout == Layout::Opaque
                    && ty == Element::F16
                    && has.is_multiple_of(elements)
        };
        let fits = holds(self.registers[0], d.bits()) == self.m * self.n
            && holds(self.registers[3], c.bits()) == self.m * self.n
            && fit(holds(self.registers[1], self.bits[0]), self.m * stored, a)
            && fit(holds(self.registers[2], self.bits[1]), self.k * self.n, b);
        if !fits || self.m > 64 || self.n > 64 || self.k > 512 {
            return Err(format!(
                "registers that do not match a product of shape m{}n{}k{}",
                self.m, self.n, self.k
            ));
        }
        Ok(())
    }
}
