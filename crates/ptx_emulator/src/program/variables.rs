//! Module-level variables: their addresses and initial values.

use std::collections::HashMap;

use ptx::{Init, Item, Linkage, Module, Space, Statement, Variable};

use super::{Inner, Symbols, error};
use crate::exec::SHARED_START;
use crate::exec::call::function_address;
use crate::fault::LoadError;

/// Returns the size of a variable, or an error if no device has that much memory.
fn size_of_variable(variable: &Variable) -> Result<u64, LoadError> {
    match variable.size() {
        Some(size) if size <= 1 << 40 => Ok(size),
        _ => Err(error(
            variable.line,
            format!("`{}` is too large", variable.name),
        )),
    }
}

/// Assigns addresses in shared memory.
struct SharedLayout {
    next: u64,
}

impl SharedLayout {
    fn place(&mut self, variable: &Variable) -> Result<(u32, u32), LoadError> {
        let size = size_of_variable(variable)?;
        let offset = self.next.next_multiple_of(variable.alignment().into());
        self.next = offset + size;
        if self.next > 1 << 26 {
            return Err(error(
                variable.line,
                "the shared variables are too large in total",
            ));
        }
        Ok((offset as u32, size as u32))
    }

    fn place_inner<'a>(
        &mut self,
        statements: &[Statement<'a>],
        into: &mut HashMap<*const Variable<'a>, u32>,
    ) -> Result<(), LoadError> {
        for statement in statements {
            match statement {
                Statement::Variable(variable)
                    if variable.space == Space::Shared && variable.linkage != Linkage::Extern =>
                {
                    let (offset, _) = self.place(variable)?;
                    into.insert(&**variable, offset);
                }
                Statement::Block(inner) => self.place_inner(inner, into)?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Inner {
    pub(super) fn place_shared<'a>(
        &mut self,
        module: &Module<'a>,
        symbols: &mut Symbols<'a>,
    ) -> Result<(), LoadError> {
        let mut layout = SharedLayout {
            next: SHARED_START.into(),
        };
        let mut dynamic = Vec::new();
        for item in &module.items {
            match item {
                Item::Variable(variable) if variable.space == Space::Shared => {
                    if variable.linkage == Linkage::Extern {
                        dynamic.push(variable);
                    } else if !symbols.shared.contains_key(variable.name) {
                        let place = layout.place(variable)?;
                        symbols.shared.insert(variable.name, place);
                    }
                }
                Item::Function(function) => {
                    layout.place_inner(
                        function.body.as_deref().unwrap_or_default(),
                        &mut symbols.inner_shared,
                    )?;
                }
                _ => {}
            }
        }
        // All dynamic variables share the same memory, after the static ones.
        let align = dynamic
            .iter()
            .map(|variable| variable.alignment())
            .max()
            .unwrap_or(1)
            .clamp(16, 4096);
        let base = layout.next.next_multiple_of(align.into()) as u32;
        self.code.dynamic_shared_base = base;
        for variable in dynamic {
            symbols.shared.entry(variable.name).or_insert((base, 0));
        }
        Ok(())
    }

    pub(super) fn place_globals<'a>(
        &mut self,
        module: &Module<'a>,
        symbols: &mut Symbols<'a>,
    ) -> Result<(), LoadError> {
        let mut external = Vec::new();
        for item in &module.items {
            let Item::Variable(variable) = item else {
                continue;
            };
            if !matches!(variable.space, Space::Global | Space::Const) {
                continue;
            }
            if variable.linkage == Linkage::Extern {
                external.push(variable);
                continue;
            }
            if symbols.globals.contains_key(variable.name) {
                if matches!(variable.linkage, Linkage::Weak | Linkage::Common) {
                    continue;
                }
                return Err(error(
                    variable.line,
                    format!("`{}` is defined twice", variable.name),
                ));
            }
            let size = size_of_variable(variable)?;
            let address = self
                .memory
                .alloc_aligned(size as usize, (variable.alignment() as usize).max(16));
            let Some(address) = address else {
                return Err(error(
                    variable.line,
                    format!("out of memory for the {size} bytes of `{}`", variable.name),
                ));
            };
            self.allocations.push(address);
            symbols.globals.insert(variable.name, (address, size));
            self.globals
                .insert(variable.name.to_string(), (address, size as usize));
        }
        for variable in external {
            if !symbols.globals.contains_key(variable.name) {
                let message = format!("undefined external variable `{}`", variable.name);
                return Err(error(variable.line, message));
            }
        }
        Ok(())
    }

    pub(super) fn initialize_globals<'a>(
        &self,
        module: &Module<'a>,
        symbols: &Symbols<'a>,
    ) -> Result<(), LoadError> {
        let mut done = std::collections::HashSet::new();
        for item in &module.items {
            let Item::Variable(variable) = item else {
                continue;
            };
            let (Space::Global | Space::Const, Some(init)) = (variable.space, &variable.init)
            else {
                continue;
            };
            if variable.linkage == Linkage::Extern || !done.insert(variable.name) {
                continue;
            }
            let (address, size) = symbols.globals[variable.name];
            // SAFETY: the allocation has `size` bytes, and nothing else refers to it yet.
            let bytes =
                unsafe { std::slice::from_raw_parts_mut(address as *mut u8, size as usize) };
            let mut shape: Vec<u64> = variable
                .extents
                .iter()
                .map(|extent| extent.unwrap_or(0))
                .collect();
            shape.extend(variable.vector.map(u64::from));
            fill(variable, symbols, init, &shape, bytes)?;
        }
        Ok(())
    }
}

/// Returns the functions whose addresses are in initializers.
pub(super) fn tabled_functions(module: &Module, symbols: &Symbols) -> Vec<u32> {
    fn visit(init: &Init, symbols: &Symbols, into: &mut Vec<u32>) {
        match init {
            Init::Symbol(symbol) => into.extend(symbols.functions.get(symbol.name)),
            Init::List(values) => values.iter().for_each(|value| visit(value, symbols, into)),
            _ => {}
        }
    }
    let mut functions = Vec::new();
    for item in &module.items {
        if let Item::Variable(Variable {
            init: Some(init), ..
        }) = item
        {
            visit(init, symbols, &mut functions);
        }
    }
    functions
}

/// Writes the bytes of an initializer; `shape` is the remaining extents of the array.
fn fill(
    variable: &Variable,
    symbols: &Symbols,
    init: &Init,
    shape: &[u64],
    bytes: &mut [u8],
) -> Result<(), LoadError> {
    let width = variable.ty.bytes() as usize;
    let Init::List(values) = init else {
        let value = scalar(variable, symbols, init)?.to_le_bytes();
        let Some(target) = bytes.get_mut(..width) else {
            return Err(error(
                variable.line,
                format!("`{}` has more initial values than elements", variable.name),
            ));
        };
        for (to, from) in target
            .iter_mut()
            .zip(value.iter().chain(std::iter::repeat(&0)))
        {
            *to = *from;
        }
        return Ok(());
    };
    // A nested list fills one element of the next extent; plain values are consecutive elements.
    let inner = shape.get(1..).unwrap_or_default();
    let elements = inner
        .iter()
        .fold(1, |count: u64, &n| count.saturating_mul(n));
    let stride = (elements as usize).saturating_mul(width);
    let mut offset = 0;
    for value in values {
        let (step, shape) = if matches!(value, Init::List(_)) {
            (stride.max(width), inner)
        } else {
            (width, &[][..])
        };
        let Some(target) = bytes.get_mut(offset..) else {
            return Err(error(
                variable.line,
                format!("`{}` has more initial values than elements", variable.name),
            ));
        };
        fill(variable, symbols, value, shape, target)?;
        offset = usize::saturating_add(offset, step);
    }
    Ok(())
}

/// Returns the bits of one initial value.
fn scalar(variable: &Variable, symbols: &Symbols, init: &Init) -> Result<u64, LoadError> {
    use ptx::Type;
    Ok(match init {
        Init::Integer(value) => match variable.ty {
            Type::F32 => (value.to_string().parse().unwrap_or(0.0f32))
                .to_bits()
                .into(),
            Type::F64 => (value.to_string().parse().unwrap_or(0.0f64)).to_bits(),
            _ => value.bits,
        },
        Init::F32(bits) if variable.ty == Type::F64 => f64::from(f32::from_bits(*bits)).to_bits(),
        Init::F32(bits) => u64::from(*bits),
        Init::F64(bits) if variable.ty == Type::F32 => {
            u64::from((f64::from_bits(*bits) as f32).to_bits())
        }
        Init::F64(bits) => *bits,
        Init::Symbol(symbol) => {
            let address = if let Some(&(address, _)) = symbols.globals.get(symbol.name) {
                address
            } else if let Some(&index) = symbols.functions.get(symbol.name) {
                function_address(index)
            } else if let Some(&(offset, _)) = symbols.shared.get(symbol.name) {
                offset.into()
            } else {
                let message = format!(
                    "undefined symbol `{}` in the initializer of `{}`",
                    symbol.name, variable.name
                );
                return Err(error(variable.line, message));
            };
            let address = address.wrapping_add(symbol.offset as u64);
            match symbol.mask {
                Some(0) => 0,
                Some(mask) => (address & mask) >> mask.trailing_zeros(),
                None => address,
            }
        }
        Init::List(_) => 0,
    })
}
