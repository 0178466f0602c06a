//! The module: arenas of types, values, globals, functions, blocks and debug information.

use std::collections::HashMap;

use crate::inst::{InstData, InstKind, ParamAttrs};
use crate::metadata::{DbgDeclare, Di, DiNode};
use crate::types::{AddrSpace, Type, TypeKind, Types};
use crate::value::{Block, Const, Func, Global, Value, ValueData, ValueKind};

/// Who may see a global or a function.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Linkage {
    /// Every module.
    #[default]
    External,
    /// This module alone.
    Internal,
    /// Every module, and another's definition may replace it.
    Weak,
    /// Every module, and equal definitions are merged.
    LinkOnceOdr,
}

/// A global variable.
#[derive(Clone, Debug)]
pub struct GlobalData {
    /// Its symbol.
    pub name: String,
    /// The type of its contents.
    pub ty: Type,
    /// Where it lives.
    pub space: AddrSpace,
    /// Its contents; none for one that is declared only.
    pub init: Option<Value>,
    /// Alignment in bytes.
    pub align: u64,
    /// Whether it never changes.
    pub constant: bool,
    /// Who may see it.
    pub linkage: Linkage,
    /// The value that stands for it.
    pub value: Value,
    /// Whether it must be kept though nothing refers to it (the host looks it up by name).
    pub used: bool,
    pub(crate) removed: bool,
}

/// What a function is marked with.
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
    /// `optsize`: small code before fast code.
    pub opt_size: bool,
    /// `optnone`: not optimised at all. It has to be `noinline` too.
    pub opt_none: bool,
    /// `noreturn`.
    pub no_return: bool,
    /// `convergent`.
    pub convergent: bool,
    /// `readnone`.
    pub read_none: bool,
    /// `nounwind`.
    pub no_unwind: bool,
    /// `noimplicitfloat`: loads and stores are not put together to vectors.
    pub no_implicit_float: bool,
}

/// What makes a function a kernel, and the limits of its launches.
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
    /// Bytes of stack of each thread. libnvvm is not told: it is for `ptx::stack`.
    pub stack_size: Option<u32>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct FuncData {
    /// Its symbol.
    pub name: String,
    /// Its signature.
    pub sig: Type,
    /// Its parameters.
    pub params: Vec<Value>,
    /// Its parameters' attributes, as many.
    pub param_attrs: Vec<ParamAttrs>,
    /// Its result's attributes.
    pub ret_attrs: ParamAttrs,
    /// Its own attributes.
    pub attrs: FuncAttrs,
    /// Who may see it.
    pub linkage: Linkage,
    /// Whether it is a kernel.
    pub kernel: Option<KernelAttrs>,
    /// Its blocks, the entry first; none for one that is declared only.
    pub blocks: Vec<Block>,
    /// Its debug information.
    pub subprogram: Option<Di>,
    /// Its variables and where each lives: a parameter or an allocation of the entry block.
    pub variables: Vec<(Value, DbgDeclare)>,
    /// The value that stands for it.
    pub value: Value,
    pub(crate) removed: bool,
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct BlockData {
    /// The function it belongs to.
    pub func: Func,
    /// A name for readers of the text; made unique by the writer.
    pub name: String,
    /// Its instructions, the terminator last.
    pub insts: Vec<Value>,
    /// Whether the loop that its terminator goes back in is not to be unrolled by libnvvm.
    pub no_unroll: bool,
}

/// A module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Its types.
    pub types: Types,
    pub(crate) values: Vec<ValueData>,
    pub(crate) consts: HashMap<(Type, Const), Value>,
    pub(crate) globals: Vec<GlobalData>,
    pub(crate) funcs: Vec<FuncData>,
    pub(crate) blocks: Vec<BlockData>,
    pub(crate) names: HashMap<String, Value>,
    pub(crate) di: Vec<DiNode>,
    pub(crate) di_ids: HashMap<DiNode, Di>,
    /// Module-level PTX.
    pub asm: Vec<String>,
}

impl Module {
    /// An empty module.
    pub fn new(name: &str) -> Self {
        Module {
            name: name.to_owned(),
            ..Module::default()
        }
    }

    /// A new value.
    pub(crate) fn push_value(&mut self, ty: Type, kind: ValueKind) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueData {
            ty,
            kind,
            name: None,
        });
        value
    }

    /// What a value is.
    pub fn value(&self, value: Value) -> &ValueData {
        &self.values[value.index()]
    }

    /// What a value is, to change it.
    pub fn value_mut(&mut self, value: Value) -> &mut ValueData {
        &mut self.values[value.index()]
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.values[value.index()].ty
    }

    /// The instruction behind a value.
    pub fn inst(&self, value: Value) -> Option<&InstData> {
        match &self.value(value).kind {
            ValueKind::Inst(inst) => Some(inst),
            _ => None,
        }
    }

    /// The instruction behind a value, to change it.
    pub fn inst_mut(&mut self, value: Value) -> Option<&mut InstData> {
        match &mut self.values[value.index()].kind {
            ValueKind::Inst(inst) => Some(inst),
            _ => None,
        }
    }

    /// The constant behind a value.
    pub fn as_const(&self, value: Value) -> Option<&Const> {
        match &self.value(value).kind {
            ValueKind::Const(c) => Some(c),
            _ => None,
        }
    }

    // Constants.

    /// Interns a constant.
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

    /// An integer constant, truncated to the type's width.
    pub fn const_int(&mut self, ty: Type, int: u128) -> Value {
        self.constant(ty, Const::Int(int))
    }

    /// A float constant from its bits.
    pub fn const_float_bits(&mut self, ty: Type, bits: u128) -> Value {
        self.constant(ty, Const::Float(bits))
    }

    /// `true` or `false`.
    pub fn const_bool(&mut self, value: bool) -> Value {
        let ty = self.types.int(1);
        self.const_int(ty, value.into())
    }

    /// An `i32` constant.
    pub fn const_i32(&mut self, value: i32) -> Value {
        let ty = self.types.int(32);
        self.const_int(ty, value as u32 as u128)
    }

    /// An `i64` constant.
    pub fn const_i64(&mut self, value: i64) -> Value {
        let ty = self.types.int(64);
        self.const_int(ty, value as u64 as u128)
    }

    /// All bits zero.
    pub fn const_zero(&mut self, ty: Type) -> Value {
        match self.types.kind(ty) {
            TypeKind::Int(_) => self.const_int(ty, 0),
            _ if self.types.is_float(ty) => self.const_float_bits(ty, 0),
            _ => self.constant(ty, Const::Zero),
        }
    }

    /// Any bits.
    pub fn const_undef(&mut self, ty: Type) -> Value {
        self.constant(ty, Const::Undef)
    }

    /// A value that no well-defined program looks at.
    pub fn const_poison(&mut self, ty: Type) -> Value {
        self.constant(ty, Const::Poison)
    }

    /// An array of bytes.
    pub fn const_bytes(&mut self, bytes: &[u8]) -> Value {
        let i8 = self.types.int(8);
        let ty = self.types.array(i8, bytes.len() as u64);
        self.constant(ty, Const::Bytes(bytes.to_vec()))
    }

    /// A struct.
    pub fn const_struct(&mut self, fields: &[Value], packed: bool) -> Value {
        let types: Vec<Type> = fields.iter().map(|&f| self.ty(f)).collect();
        let ty = self.types.structure(&types, packed);
        self.constant(ty, Const::Aggregate(fields.to_vec()))
    }

    /// A vector.
    pub fn const_vector(&mut self, elements: &[Value]) -> Value {
        let element = self.ty(elements[0]);
        let ty = self.types.vector(element, elements.len() as u32);
        self.constant(ty, Const::Aggregate(elements.to_vec()))
    }

    /// The generic address of a global or function, plus bytes.
    pub fn const_addr(&mut self, base: Value, offset: i64) -> Value {
        let ptr = self.types.ptr();
        self.constant(ptr, Const::Addr { base, offset })
    }

    // Globals and functions.

    /// The global or function of that name.
    pub fn named(&self, name: &str) -> Option<Value> {
        self.names.get(name).copied()
    }

    /// Gives a global or function another name, which must be free.
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

    /// Adds a global variable without contents; `None` if the name is taken.
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

    /// A global variable.
    pub fn global(&self, global: Global) -> &GlobalData {
        &self.globals[global.0 as usize]
    }

    /// A global variable, to change it.
    pub fn global_mut(&mut self, global: Global) -> &mut GlobalData {
        &mut self.globals[global.0 as usize]
    }

    /// All global variables.
    pub fn globals(&self) -> impl Iterator<Item = Global> + use<> {
        let there = |&global: &Global| !self.global(global).removed;
        let globals: Vec<Global> = (0..self.globals.len() as u32)
            .map(Global)
            .filter(there)
            .collect();
        globals.into_iter()
    }

    /// Takes a global out of the module. Nothing may refer to it any more.
    pub fn remove_global(&mut self, global: Global) {
        let data = &mut self.globals[global.0 as usize];
        data.removed = true;
        data.used = false;
        data.init = None;
        self.names.remove(&data.name);
    }

    /// The global variable behind a value.
    pub fn as_global(&self, value: Value) -> Option<Global> {
        match self.value(value).kind {
            ValueKind::Global(global) => Some(global),
            _ => None,
        }
    }

    /// Adds a function without a body; `None` if the name is taken.
    pub fn add_func(&mut self, name: &str, sig: Type) -> Option<Func> {
        if self.names.contains_key(name) {
            return None;
        }
        let TypeKind::Func { params, .. } = self.types.kind(sig).clone() else {
            panic!("add_func: the type of `{name}` is no signature")
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

    /// How many instructions a function has.
    pub fn size_of_func(&self, func: Func) -> usize {
        let blocks = self.func(func).blocks.iter();
        blocks.map(|&block| self.block(block).insts.len()).sum()
    }

    /// A function.
    pub fn func(&self, func: Func) -> &FuncData {
        &self.funcs[func.0 as usize]
    }

    /// A function, to change it.
    pub fn func_mut(&mut self, func: Func) -> &mut FuncData {
        &mut self.funcs[func.0 as usize]
    }

    /// All functions.
    pub fn funcs(&self) -> impl Iterator<Item = Func> + use<> {
        let there = |&func: &Func| !self.func(func).removed;
        let funcs: Vec<Func> = (0..self.funcs.len() as u32)
            .map(Func)
            .filter(there)
            .collect();
        funcs.into_iter()
    }

    /// Takes a function out of the module. Nothing may refer to it any more.
    pub fn remove_func(&mut self, func: Func) {
        let data = &mut self.funcs[func.0 as usize];
        data.removed = true;
        data.blocks.clear();
        data.variables.clear();
        data.kernel = None;
        data.subprogram = None;
        self.names.remove(&data.name);
    }

    /// The function behind a value.
    pub fn as_func(&self, value: Value) -> Option<Func> {
        match self.value(value).kind {
            ValueKind::Func(func) => Some(func),
            _ => None,
        }
    }

    /// Adds a block at the end of a function.
    pub fn add_block(&mut self, func: Func, name: &str) -> Block {
        let block = Block(self.blocks.len() as u32);
        self.blocks.push(BlockData {
            func,
            name: name.to_owned(),
            insts: Vec::new(),
            no_unroll: false,
        });
        self.func_mut(func).blocks.push(block);
        block
    }

    /// A block.
    pub fn block(&self, block: Block) -> &BlockData {
        &self.blocks[block.0 as usize]
    }

    /// A block, to change it.
    pub fn block_mut(&mut self, block: Block) -> &mut BlockData {
        &mut self.blocks[block.0 as usize]
    }

    /// The last instruction of a block, if it is a terminator.
    pub fn terminator(&self, block: Block) -> Option<Value> {
        let &last = self.block(block).insts.last()?;
        self.inst(last)?.kind.is_terminator().then_some(last)
    }

    /// Adds an instruction at the end of a block, unchecked; see [`crate::Builder`].
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

    // Debug information.

    /// Interns a debug-information node.
    pub fn add_di(&mut self, node: DiNode) -> Di {
        if let Some(&di) = self.di_ids.get(&node) {
            return di;
        }
        let di = Di(self.di.len() as u32);
        self.di.push(node.clone());
        self.di_ids.insert(node, di);
        di
    }

    /// A debug-information node.
    pub fn di(&self, di: Di) -> &DiNode {
        &self.di[di.0 as usize]
    }

    /// All debug-information nodes.
    pub fn di_nodes(&self) -> impl Iterator<Item = (Di, &DiNode)> {
        self.di
            .iter()
            .enumerate()
            .map(|(i, node)| (Di(i as u32), node))
    }
}
