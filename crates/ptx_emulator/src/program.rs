//! A loaded module: from the PTX text to code that runs. Globals get their memory and values here, shared
//! variables their offsets, functions their numbers; `decode` does the functions' bodies.

use std::collections::HashMap;
use std::sync::Arc;

use ptx::{Init, Item, Linkage, Module, Space, Statement, Variable};

use crate::decode;
use crate::exec::Inst;
use crate::exec::call::{CallSite, Place, function_address};
use crate::fault::{LoadError, SourceLocation};
use crate::launch::sync::{Sync, WarpSync};
use crate::memory::Memory;

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
    /// Bytes of stack of each thread, called functions included, each counted once.
    pub stack_need: usize,
    /// `.maxntid` or `.reqntid`: the most threads of a block.
    pub max_threads: Option<u32>,
    /// `.reqntid`: the block's exact shape.
    pub required_block: Option<[u32; 3]>,
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

    /// Instructions and calls that are an error when executed, since the emulator lacks them or nobody
    /// defines them: PTX line and description.
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

/// The size of a variable, refused where the device could never have it.
fn size_of_variable(variable: &Variable) -> Result<u64, LoadError> {
    match variable.size() {
        Some(size) if size <= 1 << 40 => Ok(size),
        _ => Err(error(
            variable.line,
            format!("`{}` is too large", variable.name),
        )),
    }
}

/// Gives out offsets of shared memory.
#[derive(Default)]
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
                "the shared variables are too large together",
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

    fn place_shared<'a>(
        &mut self,
        module: &Module<'a>,
        symbols: &mut Symbols<'a>,
    ) -> Result<(), LoadError> {
        let mut layout = SharedLayout::default();
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
        // All dynamic variables are the same memory, after the static ones.
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

    fn place_globals<'a>(
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
                    format!(
                        "there is no memory for the {size} bytes of `{}`",
                        variable.name
                    ),
                ));
            };
            self.allocations.push(address);
            symbols.globals.insert(variable.name, (address, size));
            self.globals
                .insert(variable.name.to_string(), (address, size as usize));
        }
        for variable in external {
            if !symbols.globals.contains_key(variable.name) {
                let message = format!(
                    "the external variable `{}` is defined nowhere",
                    variable.name
                );
                return Err(error(variable.line, message));
            }
        }
        Ok(())
    }

    fn initialize_globals<'a>(
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
            let mut bytes = vec![0u8; size as usize];
            let mut shape: Vec<u64> = variable
                .extents
                .iter()
                .map(|extent| extent.unwrap_or(0))
                .collect();
            shape.extend(variable.vector.map(u64::from));
            fill(variable, symbols, init, &shape, &mut bytes)?;
            // SAFETY: the allocation has `size` bytes, and no kernel knows of it yet.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len())
            };
        }
        Ok(())
    }

    /// What is known of a kernel only after all functions: stack and shared memory of what it calls.
    fn finish_kernels(&mut self, tabled: &[u32]) {
        let functions = &self.code.functions;
        // Functions whose addresses are taken, by code or in a variable, are what an indirect call may reach.
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
                    stack_need(functions, &taken, index as u32),
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

/// Functions whose addresses stand in initial values.
fn tabled_functions(module: &Module, symbols: &Symbols) -> Vec<u32> {
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

/// What a function may call.
fn callees<'f>(
    functions: &'f [Function],
    taken: &'f [u32],
    index: u32,
) -> impl Iterator<Item = u32> + 'f {
    let function = &functions[index as usize];
    let indirect = if function.calls_indirectly {
        taken
    } else {
        &[]
    };
    function.calls.iter().chain(indirect).copied()
}

/// The deepest stack from a function, where a function that calls itself counts once.
fn stack_need(functions: &[Function], taken: &[u32], root: u32) -> usize {
    let own = |index: u32| {
        let function = &functions[index as usize];
        CALL_OVERHEAD + function.frame_size as usize + function.frame_align as usize
    };
    // A depth-first walk that keeps its own stack, since calls may nest deeper than the host's allows.
    let mut need: Vec<Option<usize>> = vec![None; functions.len()];
    let mut open = vec![false; functions.len()];
    let mut path: Vec<(u32, Vec<u32>, usize)> =
        vec![(root, callees(functions, taken, root).collect(), 0)];
    open[root as usize] = true;
    while let Some((index, pending, deepest)) = path.last_mut() {
        let index = *index;
        match pending.pop() {
            Some(callee) => match need[callee as usize] {
                Some(known) => *deepest = (*deepest).max(known),
                None if open[callee as usize] => {}
                None => {
                    open[callee as usize] = true;
                    path.push((callee, callees(functions, taken, callee).collect(), 0));
                }
            },
            None => {
                let total = own(index) + *deepest;
                need[index as usize] = Some(total);
                open[index as usize] = false;
                path.pop();
                if let Some((_, _, deepest)) = path.last_mut() {
                    *deepest = (*deepest).max(total);
                }
            }
        }
    }
    need[root as usize].unwrap_or(0)
}

/// Bytes of the shared variables that a kernel and what it calls mention.
fn shared_need(functions: &[Function], taken: &[u32], root: u32) -> u32 {
    let mut seen = vec![false; functions.len()];
    let mut pending = vec![root];
    let mut variables = Vec::new();
    while let Some(index) = pending.pop() {
        if std::mem::replace(&mut seen[index as usize], true) {
            continue;
        }
        variables.extend_from_slice(&functions[index as usize].shared);
        pending.extend(callees(functions, taken, index));
    }
    variables.sort_unstable();
    variables.dedup();
    variables.iter().map(|&(_, size)| size).sum()
}

/// Writes an initialiser's bytes; `shape` is what is left of the array's extents.
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
    // A nested list fills one element of the next extent; plain values follow each other.
    let inner = shape.get(1..).unwrap_or_default();
    let stride = inner.iter().product::<u64>() as usize * width;
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
        offset += step;
    }
    Ok(())
}

/// The bits of one initial value.
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
                    "`{}`, in the initial value of `{}`, is not known",
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
