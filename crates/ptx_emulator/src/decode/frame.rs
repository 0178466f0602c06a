//! The meanings of names in a function: parameters, registers and variables, with their positions
//! in the frame.

use std::collections::HashMap;

use ptx::{Registers, Space, Type, Variable};

use super::{Decoder, load_error};
use crate::exec::call::Place;
use crate::fault::LoadError;
use crate::program::{KernelInfo, ParamInfo};

/// Returns the size of a parameter in bytes.
pub(crate) fn parameter_size(variable: &Variable) -> Result<u32, LoadError> {
    match variable.size() {
        Some(size) if size <= 1 << 20 => Ok(size as u32),
        _ => Err(load_error(
            variable.line,
            format!("the parameter `{}` is too large", variable.name),
        )),
    }
}

/// Returns the size of a shared variable, which the layout of shared memory has checked.
fn parameter_free_size(variable: &Variable) -> u32 {
    variable.size().unwrap_or(0) as u32
}

/// The maximum size of a frame: larger than any real frame, and safe to compute with.
const MAX_FRAME: u64 = 1 << 24;

/// The position of a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register {
    pub slot: u32,
    pub ty: Type,
    /// The length of a vector register, whose elements have consecutive slots.
    pub vector: Option<u32>,
}

/// The meaning of a local name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Local {
    Register(Register),
    /// A `.local` variable, `.param` block or function parameter: offset and size in the frame.
    Frame {
        offset: u32,
        size: u32,
        space: Space,
    },
    /// A kernel parameter: offset and size in the parameter buffer.
    KernelParam {
        offset: u32,
        size: u32,
    },
    /// A shared variable: offset in shared memory, and size.
    Shared {
        offset: u32,
        size: u32,
    },
}

/// The names declared in a block `{ ... }`.
#[derive(Default)]
pub(super) struct Scope<'a> {
    pub names: HashMap<&'a str, Local>,
    /// Register ranges such as `%r<100>`, by prefix: the first register and the count.
    pub families: HashMap<&'a str, (Register, u32)>,
    pub labels: HashMap<&'a str, usize>,
    pub branch_targets: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Decoder<'_, 'a> {
    pub(super) fn kernel_params(&mut self, source: &ptx::Function<'a>) -> Result<(), LoadError> {
        let mut params = Vec::new();
        let mut end = 0usize;
        for variable in &source.params {
            let size = parameter_size(variable)? as usize;
            let align = variable.alignment() as usize;
            let offset = end.next_multiple_of(align);
            end = offset + size;
            if end > 1 << 20 {
                return Err(load_error(
                    variable.line,
                    "the kernel's parameters are too large in total",
                ));
            }
            params.push(ParamInfo {
                offset,
                size,
                align,
            });
            let local = Local::KernelParam {
                offset: offset as u32,
                size: size as u32,
            };
            self.scopes[0].names.insert(variable.name, local);
        }
        let values = |name: &str| {
            source
                .directives
                .iter()
                .find(|directive| directive.name == name)
                .map(|d| &d.values)
        };
        let product = |values: &Vec<u64>| {
            values.iter().try_fold(1u32, |product, &n| {
                product.checked_mul(u32::try_from(n).ok()?)
            })
        };
        let shape = |values: &Vec<u64>| {
            std::array::from_fn(|axis| {
                values
                    .get(axis)
                    .map_or(1, |&n| u32::try_from(n).unwrap_or(u32::MAX))
            })
        };
        self.function.kernel = Some(KernelInfo {
            name: source.name.to_string(),
            params,
            params_size: end,
            static_shared: 0,
            local_bytes: 0,
            stack_need: 0,
            max_threads: values("reqntid").or(values("maxntid")).and_then(product),
            required_block: values("reqntid").map(shape),
            required_cluster: values("reqnctapercluster").map(shape),
            registers: 0,
        });
        Ok(())
    }

    /// Declares a function's parameters or results, and returns their places.
    pub(super) fn params(&mut self, list: &[Variable<'a>]) -> Result<Vec<Place>, LoadError> {
        let mut places = Vec::new();
        for variable in list {
            let size = parameter_size(variable)?;
            if variable.space == Space::Reg {
                let slot = self.slots(if size == 16 { 2 } else { 1 });
                let register = Register {
                    slot,
                    ty: variable.ty,
                    vector: None,
                };
                self.declare(variable.name, Local::Register(register), variable.line)?;
                places.push(Place::Register { slot, size });
            } else {
                let offset = self.frame_variable(variable)?;
                places.push(Place::Memory { offset, size });
            }
        }
        Ok(places)
    }

    /// Assigns a variable its offset in the frame.
    pub(super) fn frame_variable(&mut self, variable: &Variable<'a>) -> Result<u32, LoadError> {
        let too_large = || load_error(variable.line, format!("`{}` is too large", variable.name));
        let size = variable.size().ok_or_else(too_large)?;
        let align = variable.alignment();
        let offset = self.frame_end.next_multiple_of(align.into());
        if size > MAX_FRAME || offset + size > MAX_FRAME || align > 4096 {
            return Err(too_large());
        }
        self.frame_end = offset + size;
        self.function.frame_size = self.function.frame_size.max(self.frame_end as u32);
        self.function.frame_align = self.function.frame_align.max(align);
        let local = Local::Frame {
            offset: offset as u32,
            size: size as u32,
            space: variable.space,
        };
        self.declare(variable.name, local, variable.line)?;
        Ok(offset as u32)
    }

    pub(super) fn scope(&mut self) -> &mut Scope<'a> {
        self.scopes
            .last_mut()
            .expect("a function's own scope stays to the end")
    }

    pub(super) fn declare(
        &mut self,
        name: &'a str,
        local: Local,
        line: u32,
    ) -> Result<(), LoadError> {
        // `_` is a parameter without a name.
        if self.scope().names.insert(name, local).is_some() && name != "_" {
            return Err(load_error(line, format!("`{name}` is declared twice")));
        }
        Ok(())
    }

    pub(super) fn registers(&mut self, registers: &Registers<'a>) -> Result<(), LoadError> {
        let each = registers.vector.unwrap_or(1) * if registers.ty == Type::B128 { 2 } else { 1 };
        for &(name, count) in &registers.names {
            let total = u64::from(count.unwrap_or(1)) * u64::from(each);
            if total + self.function.template.len() as u64 > 1 << 24 {
                return Err(load_error(
                    registers.line,
                    format!("too many registers `{name}`"),
                ));
            }
            let slot = self.slots(total as u32);
            let register = Register {
                slot,
                ty: registers.ty,
                vector: registers.vector,
            };
            match count {
                None => self.declare(name, Local::Register(register), registers.line)?,
                Some(count) => {
                    if self
                        .scope()
                        .families
                        .insert(name, (register, count))
                        .is_some()
                    {
                        return Err(load_error(
                            registers.line,
                            format!("the registers `{name}` are declared twice"),
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn variable(&mut self, variable: &Variable<'a>) -> Result<(), LoadError> {
        match variable.space {
            Space::Local | Space::Param => self.frame_variable(variable).map(drop),
            Space::Shared => {
                let key: *const Variable = variable;
                let local = match self.symbols.inner_shared.get(&key) {
                    Some(&offset) => Local::Shared {
                        offset,
                        size: parameter_free_size(variable),
                    },
                    None => Local::Shared {
                        offset: self.output.dynamic_shared_base,
                        size: 0,
                    },
                };
                self.declare(variable.name, local, variable.line)
            }
            _ => {
                let space = variable.space.name();
                Err(load_error(
                    variable.line,
                    format!("a `.{space}` variable inside a function is not supported"),
                ))
            }
        }
    }
}
