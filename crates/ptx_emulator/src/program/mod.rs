//! A loaded module: decoded PTX. This module numbers the functions; `variables` assigns addresses
//! and initial values to variables, `needs` computes the requirements of kernels, and `decode`
//! decodes function bodies.

mod needs;
mod variables;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ptx::{Item, Linkage, Module, SectionLine, Variable};

use crate::decode;
use crate::exec::Inst;
use crate::exec::call::{CallSite, Place, function_address};
use crate::exec::texture::TextureAccess;
use crate::exec::transfer::Transfer;
use crate::fault::{LoadError, SourceLocation};
use crate::launch::matrix::Matrix;
use crate::launch::sync::{Sync, WarpSync};
use crate::memory::Memory;
use needs::{shared_need, stack_need};
use variables::tabled_functions;

/// The stack bytes that a call takes in addition to the frame, so that recursion without variables
/// overflows, too.
pub(crate) const CALL_OVERHEAD: usize = 16;

/// A handle to a kernel of a [`Program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelId(pub(crate) u32);

/// The position of a kernel parameter in the parameter buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// The offset in bytes.
    pub offset: usize,
    /// The size in bytes.
    pub size: usize,
    /// The alignment in bytes.
    pub align: usize,
}

/// Information about a kernel for launching it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// The name.
    pub name: String,
    /// The parameters, in order.
    pub params: Vec<ParamInfo>,
    /// The size of all parameters in bytes.
    pub params_size: usize,
    /// The size of static shared memory in bytes.
    pub static_shared: u32,
    /// The local memory of each thread in bytes, without called functions.
    pub local_bytes: usize,
    /// The stack bytes of each thread with the functions that it calls by name, ignoring recursion:
    /// what ptxas computes, and what the driver provides whatever the limit is.
    pub stack_need: usize,
    /// The maximum number of threads in a block (`.maxntid` or `.reqntid`).
    pub max_threads: Option<u32>,
    /// The required dimensions of a block (`.reqntid`).
    pub required_block: Option<[u32; 3]>,
    /// The required dimensions of a cluster in blocks (`.reqnctapercluster`).
    pub required_cluster: Option<[u32; 3]>,
    /// The number of registers that the PTX declares. Hardware register usage differs.
    pub registers: usize,
}

/// The code and frame layout of a function.
pub(crate) struct Function {
    pub name: String,
    pub entry: bool,
    /// The instructions; empty for a declaration.
    pub code: Vec<Inst>,
    /// The PTX line of each instruction.
    pub lines: Vec<u32>,
    /// The `.loc` of each instruction, as an index into [`Code::locations`].
    pub locations: Vec<u32>,
    /// The initial registers of a frame: zeros, and the constants that the code uses.
    pub template: Vec<u64>,
    pub frame_size: u32,
    pub frame_align: u32,
    /// The bytes of the stack limit that a call takes: an estimate of the GPU function's frame, not
    /// the size of the frame here.
    pub stack_bytes: usize,
    pub params: Vec<Place>,
    pub returns: Vec<Place>,
    /// The offsets and sizes of the shared variables that the code references.
    pub shared: Vec<(u32, u32)>,
    /// The functions called by name.
    pub calls: Vec<u32>,
    pub calls_indirectly: bool,
    /// The functions whose addresses the code takes.
    pub takes: Vec<u32>,
    /// The kernel information, for a kernel.
    pub kernel: Option<KernelInfo>,
}

/// The decoded code of a module.
#[derive(Default)]
pub(crate) struct Code {
    pub functions: Vec<Function>,
    /// Operands that do not fit into an [`Inst`].
    pub extra: Vec<u32>,
    pub calls: Vec<CallSite>,
    pub syncs: Vec<Sync>,
    pub matrices: Vec<Matrix>,
    pub transfers: Vec<Transfer>,
    pub textures: Vec<TextureAccess>,
    /// The messages of instructions that are an error when executed, with their lines.
    pub messages: Vec<(u32, String)>,
    pub files: HashMap<u32, String>,
    /// The file, line and column of each `.loc`; the first entry means none.
    pub locations: Vec<(u32, u32, u32)>,
    /// The size of all static shared variables in bytes, which is where dynamic ones begin.
    pub dynamic_shared_base: u32,
}

impl Code {
    /// Returns the function with an address.
    pub fn function_at(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(function_address(0))?;
        let index = offset / 16;
        (offset % 16 == 0 && index < self.functions.len() as u64).then_some(index as u32)
    }

    pub fn warp_sync(&self, index: u32) -> Option<&WarpSync> {
        match self.syncs.get(index as usize) {
            Some(Sync::Warp(sync)) => Some(sync),
            _ => None,
        }
    }

    pub fn source_location(&self, index: u32) -> Option<SourceLocation> {
        let &(file, line, column) = self.locations.get(index as usize)?;
        let file = self.files.get(&file)?.clone();
        Some(SourceLocation { file, line, column })
    }
}

/// The meanings of names while functions are decoded.
pub(crate) struct Symbols<'a> {
    pub functions: HashMap<&'a str, u32>,
    /// The address and size of each global variable.
    pub globals: HashMap<&'a str, (u64, u64)>,
    /// The offset and size of each module-level shared variable.
    pub shared: HashMap<&'a str, (u32, u32)>,
    /// The offsets of shared variables in functions, by address in the parsed module.
    pub inner_shared: HashMap<*const Variable<'a>, u32>,
    pub params: Vec<Signature>,
}

/// The sizes of a function's declared parameters, for checking calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signature {
    pub params: Vec<u32>,
    pub returns: Vec<u32>,
    pub defined: bool,
    pub entry: bool,
}

struct Inner {
    code: Code,
    kernels: HashMap<String, u32>,
    globals: HashMap<String, (u64, usize)>,
    memory: Memory,
    allocations: Vec<u64>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        for &address in &self.allocations {
            self.memory.free(address);
        }
    }
}

/// A PTX module that is ready to run. Clones share it; dropping the last one frees its globals.
#[derive(Clone)]
pub struct Program(Arc<Inner>);

// SAFETY: instructions hold function pointers and numbers, and do not change after loading.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl std::marker::Sync for Inner {}

impl Program {
    /// Parses, checks and decodes a PTX module, and places its globals in `memory`.
    ///
    /// # Errors
    ///
    /// Returns an error if the PTX is invalid or a variable does not fit into memory.
    pub fn load(ptx: &str, memory: &Memory) -> Result<Program, LoadError> {
        let module = Module::parse(ptx)?;
        if module.address_size != 64 {
            return Err(error(
                1,
                format!(
                    "`.address_size {}` is not supported, only 64",
                    module.address_size
                ),
            ));
        }
        let mut inner = Inner {
            code: Code::default(),
            kernels: HashMap::new(),
            globals: HashMap::new(),
            memory: memory.clone(),
            allocations: Vec::new(),
        };
        inner.load(&module)?;
        Ok(Program(Arc::new(inner)))
    }

    /// Returns the kernel with a name.
    pub fn kernel(&self, name: &str) -> Option<KernelId> {
        self.0.kernels.get(name).copied().map(KernelId)
    }

    /// Returns information about a kernel.
    ///
    /// # Panics
    ///
    /// Panics if `kernel` is not a kernel of this program.
    pub fn kernel_info(&self, kernel: KernelId) -> &KernelInfo {
        let function = self.0.code.functions.get(kernel.0 as usize);
        function
            .and_then(|function| function.kernel.as_ref())
            .expect("the id of one of this program's kernels")
    }

    /// Returns the address and size of a global variable or constant.
    pub fn global(&self, name: &str) -> Option<(u64, usize)> {
        self.0.globals.get(name).copied()
    }

    /// Returns the names of the kernels, in unspecified order.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.0.kernels.keys().map(String::as_str)
    }

    /// Returns the instructions and calls that are an error when executed, because the emulator
    /// does not support them or no definition exists: the PTX line and a description.
    pub fn unsupported(&self) -> impl Iterator<Item = (u32, &str)> {
        self.0
            .code
            .messages
            .iter()
            .map(|(line, message)| (*line, message.as_str()))
    }

    pub(crate) fn code(&self) -> &Code {
        &self.0.code
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.0.memory
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program")
            .field("kernels", &self.0.kernels.keys())
            .finish_non_exhaustive()
    }
}

fn error(line: u32, message: impl Into<String>) -> LoadError {
    LoadError {
        line,
        message: message.into(),
    }
}

impl Inner {
    fn load<'a>(&mut self, module: &Module<'a>) -> Result<(), LoadError> {
        let mut symbols = Symbols {
            functions: HashMap::new(),
            globals: HashMap::new(),
            shared: HashMap::new(),
            inner_shared: HashMap::new(),
            params: Vec::new(),
        };
        self.declare_functions(module, &mut symbols)?;
        self.place_shared(module, &mut symbols)?;
        self.place_globals(module, &mut symbols)?;
        self.initialize_globals(module, &symbols)?;
        self.code.locations.push((u32::MAX, 0, 0));
        let mut labels = HashSet::new();
        for item in &module.items {
            match item {
                Item::File(file) => drop(self.code.files.insert(file.index, file.name.to_string())),
                Item::Function(function) => {
                    let index = symbols.functions[function.name] as usize;
                    if function.body.is_some() && self.code.functions[index].code.is_empty() {
                        let function = decode::function(&mut self.code, &symbols, function)?;
                        self.code.functions[index] = function;
                    }
                }
                Item::Section(section) => {
                    for line in &section.lines {
                        if let SectionLine::Label(label) = line
                            && !labels.insert(*label)
                        {
                            let message = format!("the label `{label}` is defined twice");
                            return Err(error(section.line, message));
                        }
                    }
                }
                _ => {}
            }
        }
        self.finish_kernels(&tabled_functions(module, &symbols));
        Ok(())
    }

    fn declare_functions<'a>(
        &mut self,
        module: &Module<'a>,
        symbols: &mut Symbols<'a>,
    ) -> Result<(), LoadError> {
        for item in &module.items {
            let Item::Function(function) = item else {
                continue;
            };
            let sizes = |list: &[Variable]| -> Result<Vec<u32>, LoadError> {
                list.iter()
                    .map(|variable| decode::parameter_size(variable))
                    .collect()
            };
            let signature = Signature {
                params: sizes(&function.params)?,
                returns: sizes(&function.returns)?,
                defined: function.body.is_some(),
                entry: function.entry,
            };
            match symbols.functions.get(function.name) {
                Some(&index) => {
                    let known = &mut symbols.params[index as usize];
                    if known.params != signature.params || known.returns != signature.returns {
                        let message = format!(
                            "`{}` is declared twice, with different parameters",
                            function.name
                        );
                        return Err(error(function.line, message));
                    }
                    if known.defined && signature.defined && function.linkage != Linkage::Weak {
                        return Err(error(
                            function.line,
                            format!("`{}` is defined twice", function.name),
                        ));
                    }
                    known.defined |= signature.defined;
                    known.entry |= signature.entry;
                }
                None => {
                    symbols
                        .functions
                        .insert(function.name, symbols.params.len() as u32);
                    symbols.params.push(signature);
                    self.code.functions.push(decode::declaration(function));
                }
            }
        }
        for item in &module.items {
            if let Item::Alias { name, target } = item
                && let Some(&index) = symbols.functions.get(target)
            {
                symbols.functions.insert(name, index);
            }
        }
        Ok(())
    }

    /// Computes what requires all functions: the stack and shared memory of kernels including their
    /// callees.
    fn finish_kernels(&mut self, tabled: &[u32]) {
        let functions = &self.code.functions;
        // An indirect call may reach functions whose addresses are taken by code or in a variable.
        let mut taken: Vec<u32> = functions
            .iter()
            .flat_map(|function| function.takes.iter().copied())
            .collect();
        taken.extend_from_slice(tabled);
        taken.sort_unstable();
        taken.dedup();
        let mut results = Vec::new();
        for (index, function) in functions.iter().enumerate() {
            if function.kernel.is_some() {
                results.push((
                    index,
                    stack_need(functions, index as u32),
                    shared_need(functions, &taken, index as u32),
                ));
            }
        }
        for (index, stack, shared) in results {
            let function = &mut self.code.functions[index];
            self.kernels.insert(function.name.clone(), index as u32);
            if let Some(info) = &mut function.kernel {
                info.stack_need = stack;
                info.static_shared = shared;
            }
        }
    }
}
