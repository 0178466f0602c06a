//! The module: arenas of types, values, globals, functions, blocks and debug information.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use crate::inst::{Call, InstData, InstKind, ParamAttrs};
use crate::metadata::{DbgDeclare, Di, DiNode};
use crate::types::{AddrSpace, Type, TypeKind, Types};
use crate::value::{Block, Const, Func, Global, Value, ValueData, ValueKind};

/// The linkage of a global or a function.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Linkage {
    /// Visible to other modules.
    #[default]
    External,
    /// Local to the module.
    Internal,
    /// Visible to other modules; another module's definition may replace it.
    Weak,
    /// Visible to other modules; equal definitions are merged.
    LinkOnceOdr,
}

/// A global variable.
#[derive(Clone, Debug)]
pub struct GlobalData {
    /// The symbol.
    pub name: String,
    /// The type of the contents.
    pub ty: Type,
    /// The address space.
    pub space: AddrSpace,
    /// The initializer, or `None` for a declaration.
    pub init: Option<Value>,
    /// The alignment in bytes.
    pub align: u64,
    /// Whether the contents never change.
    pub constant: bool,
    /// The linkage.
    pub linkage: Linkage,
    /// The value that refers to the global.
    pub value: Value,
    /// Whether it must be kept even if nothing references it, because the host looks it up by name.
    pub used: bool,
    pub(crate) removed: bool,
}

/// The attributes of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FuncAttrs {
    /// `alwaysinline`.
    pub always_inline: bool,
    /// `noinline`.
    pub no_inline: bool,
    /// `inlinehint`.
    pub inline_hint: bool,
    /// `cold`.
    pub cold: bool,
    /// `optsize`: code size takes precedence over speed.
    pub opt_size: bool,
    /// `optnone`: not optimized at all. It requires `noinline`.
    pub opt_none: bool,
    /// `noreturn`.
    pub no_return: bool,
    /// `convergent`.
    pub convergent: bool,
    /// `readnone`.
    pub read_none: bool,
    /// `nounwind`.
    pub no_unwind: bool,
    /// `noimplicitfloat`: loads and stores are not vectorized.
    pub no_implicit_float: bool,
}

/// The launch bounds and other properties of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelAttrs {
    /// `.maxntid`.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`.
    pub min_blocks: Option<u32>,
    /// `.maxnreg`.
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster`.
    pub cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`.
    pub max_cluster: Option<u32>,
    /// The stack size of each thread in bytes. It is not passed to libnvvm; `ptx::stack` uses it.
    pub stack_size: Option<u32>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct FuncData {
    /// The symbol.
    pub name: String,
    /// The signature.
    pub sig: Type,
    /// The parameters.
    pub params: Vec<Value>,
    /// The attributes of the parameters, as many as `params`.
    pub param_attrs: Vec<ParamAttrs>,
    /// The attributes of the result.
    pub ret_attrs: ParamAttrs,
    /// The function's attributes.
    pub attrs: FuncAttrs,
    /// The linkage.
    pub linkage: Linkage,
    /// The kernel attributes, if the function is a kernel.
    pub kernel: Option<KernelAttrs>,
    /// The blocks, starting with the entry; empty for a declaration.
    pub blocks: Vec<Block>,
    /// The debug information.
    pub subprogram: Option<Di>,
    /// The variables with the address of each: a parameter or an alloca in the entry block.
    pub variables: Vec<(Value, DbgDeclare)>,
    /// The value that refers to the function.
    pub value: Value,
    pub(crate) removed: bool,
}

/// The constant of a case of a switch, and the case's target.
pub(crate) type Case = (u128, Block);

/// A basic block.
#[derive(Clone, Debug)]
pub struct BlockData {
    /// The function that contains the block.
    pub func: Func,
    /// A name for readers of the text; the writer makes it unique.
    pub name: String,
    /// The instructions, ending with the terminator.
    pub insts: Vec<Value>,
    /// Whether libnvvm must not unroll the loop whose back edge the terminator is.
    pub no_unroll: bool,
    /// How many iterations of that loop libnvvm makes one, if not as many as it chooses. ptxas does
    /// not unroll the result.
    pub unroll_count: Option<u32>,
}

/// A module of NVVM IR.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The name.
    pub name: String,
    /// The types.
    pub types: Types,
    pub(crate) values: Vec<ValueData>,
    pub(crate) consts: HashMap<(Type, Const), Value>,
    pub(crate) globals: Vec<GlobalData>,
    pub(crate) funcs: Vec<FuncData>,
    pub(crate) blocks: Vec<BlockData>,
    pub(crate) names: HashMap<String, Value>,
    pub(crate) di: Vec<DiNode>,
    pub(crate) di_ids: HashMap<DiNode, Di>,
    /// Module-level inline PTX.
    pub asm: Vec<String>,
}

impl Module {
    /// Creates an empty module.
    pub fn new(name: &str) -> Self {
        Module {
            name: name.to_owned(),
            ..Module::default()
        }
    }

    /// Adds a value.
    pub(crate) fn push_value(&mut self, ty: Type, kind: ValueKind) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueData {
            ty,
            kind,
            name: None,
        });
        value
    }

    /// Returns the data of a value.
    pub fn value(&self, value: Value) -> &ValueData {
        &self.values[value.index()]
    }

    /// Returns the data of a value for modification.
    pub fn value_mut(&mut self, value: Value) -> &mut ValueData {
        &mut self.values[value.index()]
    }

    /// Returns the type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.values[value.index()].ty
    }

    /// Returns the signature of a call with a result of a type.
    pub fn signature(&mut self, ret: Type, args: &[Value]) -> Type {
        let params: Vec<Type> = args.iter().map(|&arg| self.ty(arg)).collect();
        self.types.func(ret, &params, false)
    }

    /// Returns the instruction that computes a value, if it is the result of one.
    pub fn inst(&self, value: Value) -> Option<&InstData> {
        match &self.value(value).kind {
            ValueKind::Inst(inst) => Some(inst),
            _ => None,
        }
    }

    /// Returns the instruction that computes a value for modification.
    pub fn inst_mut(&mut self, value: Value) -> Option<&mut InstData> {
        match &mut self.values[value.index()].kind {
            ValueKind::Inst(inst) => Some(inst),
            _ => None,
        }
    }

    /// Returns the call that a value is the result of, for modification.
    pub(crate) fn call_mut(&mut self, value: Value) -> Option<&mut Call> {
        match &mut self.inst_mut(value)?.kind {
            InstKind::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Returns the constant that a value is, if it is one.
    pub fn as_const(&self, value: Value) -> Option<&Const> {
        match &self.value(value).kind {
            ValueKind::Const(c) => Some(c),
            _ => None,
        }
    }

    // Constants.

    /// Interns a constant and returns its value.
    pub fn constant(&mut self, ty: Type, mut constant: Const) -> Value {
        match (&mut constant, self.types.kind(ty)) {
            (Const::Int(int), &TypeKind::Int(bits)) => {
                if bits < 128 {
                    *int &= (1 << bits) - 1;
                }
            }
            (Const::Int(_), _) => panic!("an integer constant needs an integer type"),
            _ => {}
        }
        if let Some(&value) = self.consts.get(&(ty, constant.clone())) {
            return value;
        }
        let value = self.push_value(ty, ValueKind::Const(constant.clone()));
        self.consts.insert((ty, constant), value);
        value
    }

    /// Returns an integer constant, truncated to the width of `ty`.
    pub fn const_int(&mut self, ty: Type, int: u128) -> Value {
        self.constant(ty, Const::Int(int))
    }

    /// Returns a float constant with these bits.
    pub fn const_float_bits(&mut self, ty: Type, bits: u128) -> Value {
        self.constant(ty, Const::Float(bits))
    }

    /// Returns an `i1` constant.
    pub fn const_bool(&mut self, value: bool) -> Value {
        let ty = self.types.int(1);
        self.const_int(ty, value.into())
    }

    /// Returns an `i32` constant.
    pub fn const_i32(&mut self, value: i32) -> Value {
        let ty = self.types.int(32);
        self.const_int(ty, value as u32 as u128)
    }

    /// Returns an `i64` constant.
    pub fn const_i64(&mut self, value: i64) -> Value {
        let ty = self.types.int(64);
        self.const_int(ty, value as u64 as u128)
    }

    /// Returns the constant of type `ty` with all bits zero.
    pub fn const_zero(&mut self, ty: Type) -> Value {
        match self.types.kind(ty) {
            TypeKind::Int(_) => self.const_int(ty, 0),
            _ if self.types.is_float(ty) => self.const_float_bits(ty, 0),
            _ => self.constant(ty, Const::Zero),
        }
    }

    /// Returns `undef`: each use may see different bits.
    pub fn const_undef(&mut self, ty: Type) -> Value {
        self.constant(ty, Const::Undef)
    }

    /// Returns `poison`: a value that no well-defined program observes.
    pub fn const_poison(&mut self, ty: Type) -> Value {
        self.constant(ty, Const::Poison)
    }

    /// Returns an array of `i8`.
    pub fn const_bytes(&mut self, bytes: &[u8]) -> Value {
        let i8 = self.types.int(8);
        let ty = self.types.array(i8, bytes.len() as u64);
        self.constant(ty, Const::Bytes(bytes.to_vec()))
    }

    /// Returns a struct constant.
    pub fn const_struct(&mut self, fields: &[Value], packed: bool) -> Value {
        let types: Vec<Type> = fields.iter().map(|&f| self.ty(f)).collect();
        let ty = self.types.structure(&types, packed);
        self.constant(ty, Const::Aggregate(fields.to_vec()))
    }

    /// Returns a vector constant.
    pub fn const_vector(&mut self, elements: &[Value]) -> Value {
        let element = self.ty(elements[0]);
        let ty = self.types.vector(element, elements.len() as u32);
        self.constant(ty, Const::Aggregate(elements.to_vec()))
    }

    /// Returns the generic address of a global or function plus a byte offset.
    pub fn const_addr(&mut self, base: Value, offset: i64) -> Value {
        let ptr = self.types.ptr();
        self.constant(ptr, Const::Addr { base, offset })
    }

    // Globals and functions.

    /// Feeds a constant to a hasher, with the names of the symbols that it contains: the hash does
    /// not depend on the rest of the module.
    pub fn hash_const(&self, value: Value, hasher: &mut impl Hasher) {
        self.hash_type(self.ty(value), hasher);
        let constant = match &self.value(value).kind {
            ValueKind::Const(constant) => constant,
            ValueKind::Func(func) => return self.func(*func).name.hash(hasher),
            ValueKind::Global(global) => return self.global(*global).name.hash(hasher),
            ValueKind::Param(..) | ValueKind::Inst(_) => return,
        };
        std::mem::discriminant(constant).hash(hasher);
        match constant {
            Const::Int(bits) | Const::Float(bits) => bits.hash(hasher),
            Const::Zero | Const::Undef | Const::Poison => {}
            Const::Aggregate(elements) => {
                for &element in elements {
                    self.hash_const(element, hasher);
                }
            }
            Const::Bytes(bytes) => bytes.hash(hasher),
            Const::Addr { base, offset } => {
                self.hash_const(*base, hasher);
                offset.hash(hasher);
            }
            Const::PtrToInt(pointer) => self.hash_const(*pointer, hasher),
            Const::IntToPtr(address) => address.hash(hasher),
        }
    }

    fn hash_type(&self, ty: Type, hasher: &mut impl Hasher) {
        let kind = self.types.kind(ty);
        std::mem::discriminant(kind).hash(hasher);
        match kind {
            TypeKind::Int(bits) => bits.hash(hasher),
            TypeKind::Ptr(space) => space.hash(hasher),
            TypeKind::Array(element, len) => {
                len.hash(hasher);
                self.hash_type(*element, hasher);
            }
            TypeKind::Vector(element, len) => {
                len.hash(hasher);
                self.hash_type(*element, hasher);
            }
            TypeKind::Struct { fields, packed } => {
                (fields.len(), packed).hash(hasher);
                for &field in fields {
                    self.hash_type(field, hasher);
                }
            }
            // No constant has another type with parts.
            _ => {}
        }
    }

    /// Returns the global or function with a name.
    pub fn named(&self, name: &str) -> Option<Value> {
        self.names.get(name).copied()
    }

    /// Renames a global or function. The new name must be unused.
    pub fn rename(&mut self, symbol: Value, name: &str) {
        let slot = match self.values[symbol.index()].kind {
            ValueKind::Global(global) => &mut self.globals[global.0 as usize].name,
            ValueKind::Func(func) => &mut self.funcs[func.0 as usize].name,
            _ => panic!("rename: neither a global nor a function"),
        };
        let old = std::mem::replace(slot, name.to_owned());
        self.names.remove(&old);
        let taken = self.names.insert(name.to_owned(), symbol);
        assert!(taken.is_none(), "rename: the name `{name}` is taken");
    }

    /// Adds a global variable without an initializer. Returns `None` if the name is taken.
    pub fn add_global(&mut self, name: &str, ty: Type, space: AddrSpace) -> Option<Global> {
        if self.names.contains_key(name) {
            return None;
        }
        let global = Global(self.globals.len() as u32);
        let ptr = self.types.ptr_in(space);
        let value = self.push_value(ptr, ValueKind::Global(global));
        let align = self.types.align(ty);
        self.globals.push(GlobalData {
            name: name.to_owned(),
            ty,
            space,
            init: None,
            align,
            constant: false,
            linkage: Linkage::External,
            value,
            used: false,
            removed: false,
        });
        self.names.insert(name.to_owned(), value);
        Some(global)
    }

    /// Returns the data of a global variable.
    pub fn global(&self, global: Global) -> &GlobalData {
        &self.globals[global.0 as usize]
    }

    /// Returns the data of a global variable for modification.
    pub fn global_mut(&mut self, global: Global) -> &mut GlobalData {
        &mut self.globals[global.0 as usize]
    }

    /// Returns all global variables.
    pub fn globals(&self) -> impl Iterator<Item = Global> + use<> {
        let there = |&global: &Global| !self.global(global).removed;
        let globals: Vec<Global> = (0..self.globals.len() as u32)
            .map(Global)
            .filter(there)
            .collect();
        globals.into_iter()
    }

    /// Removes a global from the module. Nothing may reference it any more.
    pub fn remove_global(&mut self, global: Global) {
        let data = &mut self.globals[global.0 as usize];
        data.removed = true;
        data.used = false;
        data.init = None;
        self.names.remove(&data.name);
    }

    /// Returns the global variable that a value refers to, if it is one.
    pub fn as_global(&self, value: Value) -> Option<Global> {
        match self.value(value).kind {
            ValueKind::Global(global) => Some(global),
            _ => None,
        }
    }

    /// Adds a function without a body. Returns `None` if the name is taken.
    pub fn add_func(&mut self, name: &str, sig: Type) -> Option<Func> {
        if self.names.contains_key(name) {
            return None;
        }
        let TypeKind::Func { params, .. } = self.types.kind(sig).clone() else {
            panic!("add_func: the type of `{name}` is not a signature")
        };
        let func = Func(self.funcs.len() as u32);
        let ptr = self.types.ptr();
        let value = self.push_value(ptr, ValueKind::Func(func));
        let param_values = params
            .iter()
            .enumerate()
            .map(|(i, &ty)| self.push_value(ty, ValueKind::Param(func, i as u32)))
            .collect();
        self.funcs.push(FuncData {
            name: name.to_owned(),
            sig,
            params: param_values,
            param_attrs: vec![ParamAttrs::default(); params.len()],
            ret_attrs: ParamAttrs::default(),
            attrs: FuncAttrs::default(),
            linkage: Linkage::External,
            kernel: None,
            blocks: Vec::new(),
            subprogram: None,
            variables: Vec::new(),
            value,
            removed: false,
        });
        self.names.insert(name.to_owned(), value);
        Some(func)
    }

    /// Returns the number of instructions in a function.
    pub fn size_of_func(&self, func: Func) -> usize {
        let blocks = self.func(func).blocks.iter();
        blocks.map(|&block| self.block(block).insts.len()).sum()
    }

    /// Returns the data of a function.
    pub fn func(&self, func: Func) -> &FuncData {
        &self.funcs[func.0 as usize]
    }

    /// Returns the data of a function for modification.
    pub fn func_mut(&mut self, func: Func) -> &mut FuncData {
        &mut self.funcs[func.0 as usize]
    }

    /// Returns all functions.
    pub fn funcs(&self) -> impl Iterator<Item = Func> + use<> {
        let there = |&func: &Func| !self.func(func).removed;
        let funcs: Vec<Func> = (0..self.funcs.len() as u32)
            .map(Func)
            .filter(there)
            .collect();
        funcs.into_iter()
    }

    /// Removes a function from the module. Nothing may reference it any more.
    pub fn remove_func(&mut self, func: Func) {
        let data = &mut self.funcs[func.0 as usize];
        data.removed = true;
        data.blocks.clear();
        data.variables.clear();
        data.kernel = None;
        data.subprogram = None;
        self.names.remove(&data.name);
    }

    /// Returns the function that a value refers to, if it is one.
    pub fn as_func(&self, value: Value) -> Option<Func> {
        match self.value(value).kind {
            ValueKind::Func(func) => Some(func),
            _ => None,
        }
    }

    /// Appends a block to a function.
    pub fn add_block(&mut self, func: Func, name: &str) -> Block {
        let block = Block(self.blocks.len() as u32);
        self.blocks.push(BlockData {
            func,
            name: name.to_owned(),
            insts: Vec::new(),
            no_unroll: false,
            unroll_count: None,
        });
        self.func_mut(func).blocks.push(block);
        block
    }

    /// Returns the data of a block.
    pub fn block(&self, block: Block) -> &BlockData {
        &self.blocks[block.0 as usize]
    }

    /// Returns the data of a block for modification.
    pub fn block_mut(&mut self, block: Block) -> &mut BlockData {
        &mut self.blocks[block.0 as usize]
    }

    /// Returns the last instruction of a block if it is a terminator.
    pub fn terminator(&self, block: Block) -> Option<Value> {
        let &last = self.block(block).insts.last()?;
        self.inst(last)?.kind.is_terminator().then_some(last)
    }

    /// Returns whether a value is a phi.
    pub(crate) fn is_phi(&self, value: Value) -> bool {
        let data = self.inst(value);
        data.is_some_and(|data| matches!(data.kind, InstKind::Phi(_)))
    }

    /// Returns the value of a phi on the edge from a block.
    pub(crate) fn incoming(&self, phi: Value, block: Block) -> Option<Value> {
        let InstKind::Phi(incoming) = &self.inst(phi)?.kind else {
            return None;
        };
        let mut values = incoming.iter().filter(|&&(_, from)| from == block);
        values.next().map(|&(value, _)| value)
    }

    /// Returns the value, the default and the cases of the switch at the end of a block.
    pub(crate) fn switch(&self, block: Block) -> Option<(Value, Block, &[Case])> {
        match &self.inst(self.terminator(block)?)?.kind {
            InstKind::Switch {
                value,
                default,
                cases,
            } => Some((*value, *default, cases)),
            _ => None,
        }
    }

    /// Removes the values of predecessors for which `keep` is false from the phis of a block.
    pub(crate) fn retain_incoming(&mut self, block: Block, keep: impl Fn(Block) -> bool) {
        for inst in self.block(block).insts.clone() {
            match self.inst_mut(inst).map(|data| &mut data.kind) {
                Some(InstKind::Phi(incoming)) => incoming.retain(|&(_, from)| keep(from)),
                _ => break,
            }
        }
    }

    /// Removes all values of a predecessor but the first from the phis of a block.
    pub(crate) fn merge_incoming(&mut self, block: Block, predecessor: Block) {
        for inst in self.block(block).insts.clone() {
            match self.inst_mut(inst).map(|data| &mut data.kind) {
                Some(InstKind::Phi(incoming)) => {
                    let mut first = true;
                    incoming.retain(|&(_, from)| from != predecessor || std::mem::take(&mut first));
                }
                _ => break,
            }
        }
    }

    /// Replaces a predecessor in the phis of a block.
    pub(crate) fn replace_incoming(&mut self, block: Block, old: Block, new: Block) {
        for inst in self.block(block).insts.clone() {
            match self.inst_mut(inst).map(|data| &mut data.kind) {
                Some(InstKind::Phi(incoming)) => incoming
                    .iter_mut()
                    .filter(|(_, from)| *from == old)
                    .for_each(|(_, from)| *from = new),
                _ => break,
            }
        }
    }

    /// Replaces a target of a block's terminator.
    pub(crate) fn replace_successor(&mut self, block: Block, old: Block, new: Block) {
        let terminator = self.terminator(block);
        if let Some(data) = terminator.and_then(|inst| self.inst_mut(inst)) {
            data.kind.for_each_successor_mut(|to| {
                if *to == old {
                    *to = new;
                }
            });
        }
    }

    /// Appends an instruction to a block without checking it; see [`crate::Builder`].
    pub(crate) fn push_inst(
        &mut self,
        block: Block,
        ty: Type,
        kind: InstKind,
        loc: Option<Di>,
    ) -> Value {
        let value = self.push_value(ty, ValueKind::Inst(InstData { kind, block, loc }));
        self.block_mut(block).insts.push(value);
        value
    }

    /// Inserts an instruction before a block's terminator, with the terminator's location.
    pub(crate) fn insert_at_end(&mut self, block: Block, ty: Type, kind: InstKind) -> Value {
        let terminator = self.terminator(block).and_then(|inst| self.inst(inst));
        let loc = terminator.and_then(|data| data.loc);
        let inst = self.push_inst(block, ty, kind, loc);
        let insts = &mut self.block_mut(block).insts;
        let last = insts.len() - 1;
        insts.swap(last - 1, last);
        inst
    }

    // Debug information.

    /// Interns a debug information node.
    pub fn add_di(&mut self, node: DiNode) -> Di {
        if let Some(&di) = self.di_ids.get(&node) {
            return di;
        }
        let di = Di(self.di.len() as u32);
        self.di.push(node.clone());
        self.di_ids.insert(node, di);
        di
    }

    /// Returns a debug information node.
    pub fn di(&self, di: Di) -> &DiNode {
        &self.di[di.0 as usize]
    }
}
