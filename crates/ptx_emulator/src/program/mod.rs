//! A loaded module: from the PTX text to code that runs. Functions get their numbers here,
//! variables their places and values in `variables`, kernels their needs in `needs`; `decode` does
//! the functions' bodies.

mod needs;
mod variables;

use std::collections::HashMap;
use std::sync::Arc;

use ptx::{Item, Linkage, Module, Variable};

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

/// What a call takes of the stack besides the frame: so that recursion without variables ends too.
pub(crate) const CALL_OVERHEAD: usize = 16;

/// A kernel of a [`Program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelId(pub(crate) u32);

/// Where a kernel parameter lies among the parameters' bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// From the start of the parameters.
    pub offset: usize,
    /// In bytes.
    pub size: usize,
    /// In bytes.
    pub align: usize,
}

/// What there is to know about a kernel before launching it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<ParamInfo>,
    /// Size of all parameters.
    pub params_size: usize,
    /// Bytes of shared memory that it always takes.
    pub static_shared: u32,
    /// Bytes of local memory of each thread, called functions left out.
    pub local_bytes: usize,
    /// Bytes of stack of each thread with the functions that it calls by name, as far as these do
    /// not call themselves: what ptxas computes, and the driver provides whatever the limit is.
    pub stack_need: usize,
    /// `.maxntid` or `.reqntid`: the most threads of a block.
    pub max_threads: Option<u32>,
    /// `.reqntid`: the block's exact shape.
    pub required_block: Option<[u32; 3]>,
    /// `.reqnctapercluster`: the cluster's exact shape, in blocks.
    pub required_cluster: Option<[u32; 3]>,
    /// Registers that its PTX declares: no measure of what hardware would use.
    pub registers: usize,
}

/// A function's code and frame.
pub(crate) struct Function {
    pub name: String,
    pub entry: bool,
    /// Empty for a declaration.
    pub code: Vec<Inst>,
    /// The PTX line of each instruction.
    pub lines: Vec<u32>,
    /// The `.loc` of each instruction, as an index of [`Code::locations`].
    pub locations: Vec<u32>,
    /// A new frame's registers: zeros, and the constants that the code uses.
    pub template: Vec<u64>,
    pub frame_size: u32,
    pub frame_align: u32,
    /// What a call of it takes of the stack limit: what a GPU's function is taken to need, not what
    /// the frame here has.
    pub stack_bytes: usize,
    pub params: Vec<Place>,
    pub returns: Vec<Place>,
    /// Offset and size of the shared variables that the code mentions.
    pub shared: Vec<(u32, u32)>,
    /// Functions called by name.
    pub calls: Vec<u32>,
    pub calls_indirectly: bool,
    /// Functions whose addresses the code takes.
    pub takes: Vec<u32>,
    /// For a kernel.
    pub kernel: Option<KernelInfo>,
}

/// Everything that runs.
#[derive(Default)]
pub(crate) struct Code {
    pub functions: Vec<Function>,
    /// Operands that an [`Inst`] has no room for.
    pub extra: Vec<u32>,
    pub calls: Vec<CallSite>,
    pub syncs: Vec<Sync>,
    pub matrices: Vec<Matrix>,
    pub transfers: Vec<Transfer>,
    pub textures: Vec<TextureAccess>,
    /// What is wrong with instructions that are an error when executed, and their lines.
    pub messages: Vec<(u32, String)>,
    pub files: HashMap<u32, String>,
    /// File, line and column of `.loc`s; the first means none.
    pub locations: Vec<(u32, u32, u32)>,
    /// Bytes of all static shared variables; dynamic ones begin here.
    pub dynamic_shared_base: u32,
}

impl Code {
    /// The function that has an address.
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

/// What names mean while functions are decoded.
pub(crate) struct Symbols<'a> {
    pub functions: HashMap<&'a str, u32>,
    /// Address and size.
    pub globals: HashMap<&'a str, (u64, u64)>,
    /// Offset and size of module-level shared variables.
    pub shared: HashMap<&'a str, (u32, u32)>,
    /// Offsets of shared variables inside functions, by where they are in the parsed module.
    pub inner_shared: HashMap<*const Variable<'a>, u32>,
    pub params: Vec<Signature>,
}

/// A function's parameters as its head declares them: sizes, for checking calls.
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

/// A PTX module, ready to run. Clones share it; the last one's end frees its globals.
#[derive(Clone)]
pub struct Program(Arc<Inner>);

// SAFETY: instructions hold function pointers and numbers, and nothing changes after loading.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl std::marker::Sync for Inner {}

impl Program {
    /// Reads, checks and decodes a PTX module, and puts its globals into `memory`.
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

    /// A kernel by its name.
    pub fn kernel(&self, name: &str) -> Option<KernelId> {
        self.0.kernels.get(name).copied().map(KernelId)
    }

    /// What there is to know about a kernel.
    ///
    /// # Panics
    /// If the id is of another program.
    pub fn kernel_info(&self, kernel: KernelId) -> &KernelInfo {
        let function = self.0.code.functions.get(kernel.0 as usize);
        function
            .and_then(|function| function.kernel.as_ref())
            .expect("the id of one of this program's kernels")
    }

    /// Address and size of a global variable, constants included.
    pub fn global(&self, name: &str) -> Option<(u64, usize)> {
        self.0.globals.get(name).copied()
    }

    /// The kernels' names, in no order.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.0.kernels.keys().map(String::as_str)
    }

    /// Instructions and calls that are an error when executed, since the emulator lacks them or
    /// nobody defines them: PTX line and description.
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

    /// What is known of a kernel only after all functions: stack and shared memory of what it
    /// calls.
    fn finish_kernels(&mut self, tabled: &[u32]) {
        let functions = &self.code.functions;
        // Functions whose addresses are taken, by code or in a variable, are what an indirect call
        // may reach.
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
