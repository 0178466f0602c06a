//! Decodes a parsed function to executable code: names become register slots, frame offsets and
//! addresses, labels become distances, and each instruction gets the handler that executes it.
//! Handlers trust the slots, offsets and sizes that are checked here.
//!
//! `frame` assigns positions to names, `operand` resolves operands, and `modifiers` reads the
//! modifiers of an opcode. `integer`, `bits`, `float`, `convert`, `compare`, `memory`, `atomic`,
//! `control` and `data` each decode a family of instructions.

mod atomic;
mod bits;
mod compare;
mod control;
mod convert;
mod data;
mod float;
mod frame;
mod integer;
mod matrix;
mod memory;
mod minifloat;
mod modifiers;
mod operand;
mod texture;
mod transfer;
mod video;

use std::collections::HashMap;

use ptx::{Instruction, Statement};

use crate::exec::call::{branch_if, branch_unless, unsupported};
use crate::exec::{Handler, Inst};
use crate::fault::LoadError;
use crate::program::{Code, Function, Symbols};
pub(crate) use frame::parameter_size;
use frame::{Local, Register, Scope};
use modifiers::Modifiers;

/// The reason why an instruction cannot be decoded.
#[derive(Debug)]
enum Problem {
    /// Invalid PTX: the module is rejected.
    Invalid(String),
    /// Valid PTX that the emulator does not support: an error if it is executed.
    Unsupported(String),
}

type Result<T, E = Problem> = std::result::Result<T, E>;

fn invalid<T>(message: impl Into<String>) -> Result<T> {
    Err(Problem::Invalid(message.into()))
}

fn unsupported_form<T>(message: impl Into<String>) -> Result<T> {
    Err(Problem::Unsupported(message.into()))
}

fn load_error(line: u32, message: impl Into<String>) -> LoadError {
    LoadError {
        line,
        message: message.into(),
    }
}

/// Returns a function before its body is decoded, or an external function.
pub(crate) fn declaration(function: &ptx::Function) -> Function {
    Function {
        name: function.name.to_string(),
        entry: function.entry,
        code: Vec::new(),
        lines: Vec::new(),
        locations: Vec::new(),
        template: Vec::new(),
        frame_size: 0,
        frame_align: 16,
        stack_bytes: ptx::stack::frame_bytes(function) as usize,
        params: Vec::new(),
        returns: Vec::new(),
        shared: Vec::new(),
        calls: Vec::new(),
        calls_indirectly: false,
        takes: Vec::new(),
        kernel: None,
    }
}

/// The position to which the distance to a label is written.
enum Fixup {
    Instruction {
        at: usize,
        label: usize,
    },
    Extra {
        instruction: usize,
        index: usize,
        label: usize,
    },
}

/// The state of decoding a function.
struct Decoder<'d, 'a> {
    output: &'d mut Code,
    symbols: &'d Symbols<'a>,
    function: Function,
    scopes: Vec<Scope<'a>>,
    /// The slots of constants, by their bits.
    constants: HashMap<u64, u32>,
    /// The slots for intermediate values, and how many of them the current instruction uses.
    temporaries: Vec<u32>,
    temporaries_used: usize,
    /// The slot of the carry flag.
    carry: Option<u32>,
    /// The end of the frame's memory in the current scope.
    frame_end: u64,
    labels: Vec<Option<usize>>,
    fixups: Vec<Fixup>,
    line: u32,
    location: u32,
    memory_instructions: u32,
    /// Whether registers may be wider than the types of the current instruction.
    may_be_wider: bool,
}

/// Decodes a function's body.
pub(crate) fn function<'a>(
    output: &mut Code,
    symbols: &Symbols<'a>,
    source: &ptx::Function<'a>,
) -> Result<Function, LoadError> {
    let mut decoder = Decoder {
        output,
        symbols,
        function: declaration(source),
        scopes: vec![Scope::default()],
        constants: HashMap::new(),
        temporaries: Vec::new(),
        temporaries_used: 0,
        carry: None,
        frame_end: 0,
        labels: Vec::new(),
        fixups: Vec::new(),
        line: source.line,
        location: 0,
        memory_instructions: 0,
        may_be_wider: false,
    };
    if source.entry {
        decoder.kernel_params(source)?;
    } else {
        let params = decoder.params(&source.params)?;
        let returns = decoder.params(&source.returns)?;
        (decoder.function.params, decoder.function.returns) = (params, returns);
    }
    decoder.statements(source.body.as_deref().unwrap_or_default())?;
    // Reaching the end of the body returns.
    decoder.emit(crate::exec::call::ret, |_| {});
    decoder.resolve_labels()?;
    let mut function = decoder.function;
    if let Some(kernel) = &mut function.kernel {
        kernel.local_bytes = function.frame_size as usize;
        kernel.registers = function.template.len();
    }
    for list in [&mut function.calls, &mut function.takes] {
        list.sort_unstable();
        list.dedup();
    }
    function.shared.sort_unstable();
    function.shared.dedup();
    Ok(function)
}

impl<'a> Decoder<'_, 'a> {
    /// Allocates consecutive slots of the frame.
    fn slots(&mut self, count: u32) -> u32 {
        let first = self.function.template.len();
        self.function.template.resize(first + count as usize, 0);
        first as u32
    }

    /// Allocates a slot for an intermediate value of the current instruction, with room for 128
    /// bits.
    fn temporary(&mut self) -> u32 {
        if self.temporaries_used == self.temporaries.len() {
            let slot = self.slots(2);
            self.temporaries.push(slot);
        }
        self.temporaries_used += 1;
        self.temporaries[self.temporaries_used - 1]
    }

    /// Returns the slot that always holds a constant.
    fn constant(&mut self, bits: u64) -> u32 {
        if let Some(&slot) = self.constants.get(&bits) {
            return slot;
        }
        let slot = self.slots(1);
        self.function.template[slot as usize] = bits;
        self.constants.insert(bits, slot);
        slot
    }

    /// Emits an instruction; `operands` sets its operands.
    fn emit(&mut self, run: Handler, operands: impl FnOnce(&mut Inst)) {
        let mut inst = Inst {
            run,
            d: 0,
            a: 0,
            b: 0,
            c: 0,
            e: 0,
            cache: 0,
            imm: 0,
        };
        operands(&mut inst);
        self.function.code.push(inst);
        self.function.lines.push(self.line);
        self.function.locations.push(self.location);
    }

    fn message(&mut self, message: String) -> u32 {
        self.output.messages.push((self.line, message));
        self.output.messages.len() as u32 - 1
    }

    fn statements(&mut self, statements: &[Statement<'a>]) -> Result<(), LoadError> {
        // Labels and jump tables may be used before their definitions.
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    let id = self.labels.len();
                    self.labels.push(None);
                    if self.scope().labels.insert(name, id).is_some() {
                        return Err(load_error(
                            self.line,
                            format!("the label `{name}` is defined twice"),
                        ));
                    }
                }
                Statement::BranchTargets { label, targets } => {
                    self.scope().branch_targets.insert(label, targets.clone());
                }
                _ => {}
            }
        }
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    let id = self.scope().labels[name];
                    self.labels[id] = Some(self.function.code.len());
                }
                Statement::Instruction(instruction) => self.instruction(instruction)?,
                Statement::Registers(registers) => self.registers(registers)?,
                Statement::Variable(variable) => self.variable(variable)?,
                Statement::Loc(loc) => {
                    let place = (loc.file, loc.line, loc.column);
                    if self.output.locations.last() != Some(&place) {
                        self.output.locations.push(place);
                    }
                    self.location = self.output.locations.len() as u32 - 1;
                }
                Statement::Block(inner) => {
                    let frame_end = self.frame_end;
                    self.scopes.push(Scope::default());
                    self.statements(inner)?;
                    self.scopes.pop();
                    self.frame_end = frame_end;
                }
                Statement::BranchTargets { .. }
                | Statement::CallTargets { .. }
                | Statement::CallPrototype(_)
                | Statement::Pragma(_) => {}
            }
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction<'a>) -> Result<(), LoadError> {
        self.line = instruction.line;
        self.temporaries_used = 0;
        let start = self.function.code.len();
        let extra = self.output.extra.len();
        let fixups = self.fixups.len();
        match self.guarded(instruction) {
            Ok(()) => Ok(()),
            Err(Problem::Invalid(message)) => Err(load_error(
                self.line,
                format!("{message}, in `{instruction}`"),
            )),
            Err(Problem::Unsupported(message)) => {
                // Replaces the code emitted so far with an instruction that reports the error.
                self.function.code.truncate(start);
                self.function.lines.truncate(start);
                self.function.locations.truncate(start);
                self.output.extra.truncate(extra);
                self.fixups.truncate(fixups);
                let message = self.message(format!(
                    "the emulator does not support {message}: `{instruction}`"
                ));
                let fault = |inst: &mut Inst| inst.imm = message.into();
                match instruction.guard {
                    None => self.emit(unsupported, fault),
                    Some(guard) => {
                        let predicate = self.predicate_register(guard.register);
                        let predicate = predicate
                            .map_err(|_| load_error(self.line, "the predicate is not declared"))?;
                        let skip = if guard.negated {
                            branch_if
                        } else {
                            branch_unless
                        };
                        self.emit(skip, |inst| (inst.a, inst.imm) = (predicate, 2));
                        self.emit(unsupported, fault);
                    }
                }
                Ok(())
            }
        }
    }

    /// Decodes an instruction with its guard: if the guard does not hold, a branch skips the
    /// instruction.
    fn guarded(&mut self, instruction: &Instruction<'a>) -> Result<()> {
        let Some(guard) = instruction.guard else {
            return self.operation(instruction);
        };
        let predicate = self.predicate_register(guard.register)?;
        if instruction.opcode == "bra" {
            return self.branch(instruction, Some((predicate, guard.negated)));
        }
        let skip = if guard.negated {
            branch_if
        } else {
            branch_unless
        };
        let at = self.function.code.len();
        self.emit(skip, |inst| inst.a = predicate);
        self.operation(instruction)?;
        self.function.code[at].imm = (self.function.code.len() - at) as i64;
        Ok(())
    }

    fn operation(&mut self, instruction: &Instruction<'a>) -> Result<()> {
        self.may_be_wider = matches!(instruction.opcode, "ld" | "ldu" | "st" | "cvt");
        let mut words = Modifiers::new(instruction);
        let known = self.integer(&mut words)?
            || self.float(&mut words)?
            || self.compare(&mut words)?
            || self.convert(&mut words)?
            || self.data(&mut words)?
            || self.memory(&mut words)?
            || self.matrix(&mut words)?
            || self.video(&mut words)?
            || self.texture(&mut words)?
            || self.control(&mut words)?;
        if known {
            return words.finish();
        }
        if KNOWN_BUT_UNSUPPORTED.contains(&instruction.opcode) {
            return unsupported_form(format!("`{}`", instruction.opcode));
        }
        invalid(format!("unknown instruction `{}`", instruction.opcode))
    }

    fn resolve_labels(&mut self) -> Result<(), LoadError> {
        for fixup in &self.fixups {
            let (from, label) = match *fixup {
                Fixup::Instruction { at, label } => (at, label),
                Fixup::Extra {
                    instruction, label, ..
                } => (instruction, label),
            };
            let Some(target) = self.labels[label] else {
                return Err(load_error(
                    self.function.lines[from],
                    "a branch to an undefined label",
                ));
            };
            let distance = target as i64 - from as i64;
            match *fixup {
                Fixup::Instruction { at, .. } => self.function.code[at].imm = distance,
                Fixup::Extra { index, .. } => self.output.extra[index] = distance as i32 as u32,
            }
        }
        Ok(())
    }

    /// Returns the next entry of the range cache, for an instruction that accesses memory.
    fn cache_entry(&mut self) -> u32 {
        self.memory_instructions += 1;
        self.memory_instructions - 1
    }
}

/// Instructions of the PTX ISA that are not supported, which is an error only if they are executed.
const KNOWN_BUT_UNSUPPORTED: &[&str] = &[
    "clusterlaunchcontrol",
    "istypep",
    "multimem",
    "tcgen05",
    "tensormap",
];
