//! The engine of both sweeps: walks over a function's instructions, replaces those that a rule
//! names, and then redirects all uses at once.

use std::collections::HashMap;

use super::operands::map_operands;
use super::{LegalizeError, Target};
use crate::inst::*;
use crate::intrinsic::Intrinsic;
use crate::metadata::Di;
use crate::module::{Linkage, Module};
use crate::types::{AddrSpace, Type, TypeKind};
use crate::value::{Block, Func, Value, ValueKind};

/// Emits what replaces an instruction of a type, and returns the value that replaces its result.
pub(super) type Expand = fn(&mut Rewriter, Type, &InstKind) -> Value;

/// Says which instructions must be replaced, and by what.
pub(super) type Rule = fn(&Rewriter, Type, &InstKind) -> Option<Expand>;

/// Rewrites one function.
pub(super) struct Rewriter<'m> {
    pub module: &'m mut Module,
    pub target: Target,
    /// The types that values had before the sweep over types changed them; empty in the other.
    pub old_types: &'m [Type],
    /// What that sweep makes of a type, by its number; empty in the other.
    pub new_types: &'m [Type],
    func: Func,
    block: Block,
    loc: Option<Di>,
    /// Constants that are replaced in the whole module.
    consts: &'m HashMap<Value, Value>,
    /// Results that are replaced in this function.
    replaced: HashMap<Value, Value>,
    /// Where a block that was split ends now.
    tails: HashMap<Block, Block>,
    layout: Vec<Block>,
    /// The first value that did not exist before.
    first_new: usize,
    /// What emitted instructions are looked up in.
    rule: Option<Rule>,
    errors: &'m mut Vec<LegalizeError>,
}

impl<'m> Rewriter<'m> {
    pub fn new(
        module: &'m mut Module,
        target: Target,
        func: Func,
        consts: &'m HashMap<Value, Value>,
        errors: &'m mut Vec<LegalizeError>,
    ) -> Self {
        let block = module.func(func).blocks[0];
        let first_new = module.values.len();
        Rewriter {
            module,
            target,
            old_types: &[],
            new_types: &[],
            func,
            block,
            loc: None,
            consts,
            replaced: HashMap::new(),
            tails: HashMap::new(),
            layout: Vec::new(),
            first_new,
            rule: None,
            errors,
        }
    }

    /// Replaces every instruction that the rule names; what is emitted passes through it too.
    pub fn run(&mut self, rule: Rule) {
        self.rule = Some(rule);
        self.walk(rule);
        self.redirect();
    }

    /// Replaces every instruction that the rule names; what is emitted stays as it is.
    pub fn run_once(&mut self, rule: Rule) {
        self.walk(rule);
        self.redirect();
    }

    /// Emits at the function's start, and replaces values by what was emitted for them.
    pub fn prepend_to_entry(&mut self, emit: impl FnOnce(&mut Self) -> HashMap<Value, Value>) {
        let insts = std::mem::take(&mut self.module.block_mut(self.block).insts);
        let is_alloca = |&inst: &Value| {
            self.module.inst(inst).is_some_and(|data| matches!(data.kind, InstKind::Alloca { .. }))
        };
        let allocas = insts.iter().take_while(|inst| is_alloca(inst)).count();
        self.module.block_mut(self.block).insts = insts[..allocas].to_vec();
        self.replaced = emit(self);
        self.module.block_mut(self.block).insts.extend(&insts[allocas..]);
        self.redirect();
    }

    fn walk(&mut self, rule: Rule) {
        for block in std::mem::take(&mut self.module.func_mut(self.func).blocks) {
            self.layout.push(block);
            self.block = block;
            let insts = &self.module.block(block).insts;
            let hit = |&inst: &Value| {
                let data = self.module.inst(inst).expect("blocks hold instructions");
                rule(self, self.old_ty(inst), &data.kind).is_some()
            };
            let Some(first) = insts.iter().position(hit) else { continue };
            let rest = self.module.block_mut(block).insts.split_off(first);
            for inst in rest {
                self.walk_inst(inst, rule);
            }
            if self.block != block {
                self.tails.insert(block, self.block);
            }
        }
        self.module.func_mut(self.func).blocks = std::mem::take(&mut self.layout);
    }

    fn walk_inst(&mut self, inst: Value, rule: Rule) {
        let ty = self.old_ty(inst);
        let data = self.module.inst(inst).expect("blocks hold instructions");
        let Some(expand) = rule(self, ty, &data.kind) else {
            let block = self.block;
            self.module.inst_mut(inst).expect("it is one").block = block;
            self.module.block_mut(block).insts.push(inst);
            return;
        };
        self.loc = data.loc;
        let data = self.module.inst_mut(inst).expect("it is one");
        let kind = std::mem::replace(&mut data.kind, InstKind::Unreachable);
        let new = expand(self, ty, &kind);
        let name = self.module.value_mut(inst).name.take();
        let new_value = self.module.value_mut(new);
        if new_value.name.is_none() && matches!(new_value.kind, ValueKind::Inst(_)) {
            new_value.name = name;
        }
        self.replaced.insert(inst, new);
    }

    /// Makes every use of a replaced value use its replacement, and every phi name the block that
    /// control now comes from.
    fn redirect(&mut self) {
        if self.replaced.is_empty() && self.tails.is_empty() && self.consts.is_empty() {
            return;
        }
        let module = &mut *self.module;
        for &block in &module.funcs[self.func.0 as usize].blocks {
            for &inst in &module.blocks[block.0 as usize].insts {
                let ValueKind::Inst(data) = &mut module.values[inst.index()].kind else { continue };
                map_operands(&mut data.kind, |v| resolve(&self.replaced, self.consts, v));
                // Phis that were emitted since name the parts of a split block they mean.
                let InstKind::Phi(incoming) = &mut data.kind else { continue };
                if inst.index() < self.first_new {
                    for (_, from) in incoming {
                        *from = self.tails.get(from).copied().unwrap_or(*from);
                    }
                }
            }
        }
    }

    // Looking.

    /// What stands for a value now.
    pub fn current(&self, value: Value) -> Value {
        resolve(&self.replaced, self.consts, value)
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.module.ty(value)
    }

    /// The type a value had before the sweep over types.
    pub fn old_ty(&self, value: Value) -> Type {
        self.old_types.get(value.index()).copied().unwrap_or_else(|| self.module.ty(value))
    }

    /// What the sweep over types makes of a type.
    pub fn new_ty(&self, ty: Type) -> Type {
        self.new_types.get(ty.0 as usize).copied().unwrap_or(ty)
    }

    /// What a type is.
    pub fn kind(&self, ty: Type) -> &TypeKind {
        self.module.types.kind(ty)
    }

    /// The width of a scalar, or of a vector's elements.
    pub fn bits(&self, ty: Type) -> u32 {
        self.module.types.bits(self.module.types.scalar(ty)) as u32
    }

    /// The length of a vector type.
    pub fn vector_len(&self, ty: Type) -> Option<u32> {
        match *self.kind(ty) {
            TypeKind::Vector(_, len) => Some(len),
            _ => None,
        }
    }

    // Refusing.

    /// Notes that nothing stands in for an operation.
    pub fn unsupported(&mut self, ty: Type, what: impl Into<String>) -> Value {
        let func = self.module.func(self.func).name.clone();
        self.errors.push(LegalizeError::Unsupported { func, what: what.into(), loc: self.loc });
        self.undef(ty)
    }

    /// Notes that a later architecture has the operation.
    pub fn needs_arch(&mut self, ty: Type, what: impl Into<String>, needs: u32) -> Value {
        let func = self.module.func(self.func).name.clone();
        let (what, sm, loc) = (what.into(), self.target.sm, self.loc);
        self.errors.push(LegalizeError::NeedsArch { func, what, needs, sm, loc });
        self.undef(ty)
    }

    fn undef(&mut self, ty: Type) -> Value {
        self.module.const_undef(ty)
    }

    // Emitting.

    /// Emits an instruction, or what replaces it.
    pub fn emit(&mut self, ty: Type, kind: InstKind) -> Value {
        match self.rule.and_then(|rule| rule(self, ty, &kind)) {
            Some(expand) => expand(self, ty, &kind),
            None => self.push(ty, kind),
        }
    }

    /// Emits an instruction as it is.
    pub fn push(&mut self, ty: Type, kind: InstKind) -> Value {
        self.module.push_inst(self.block, ty, kind, self.loc)
    }

    /// Emits an instruction without result.
    pub fn emit_void(&mut self, kind: InstKind) -> Value {
        let void = self.module.types.void();
        self.emit(void, kind)
    }

    pub fn int_ty(&mut self, bits: u32) -> Type {
        self.module.types.int(bits)
    }

    /// An integer constant, in all elements of a vector type.
    pub fn int(&mut self, ty: Type, value: u128) -> Value {
        let scalar = self.module.types.scalar(ty);
        let element = self.module.const_int(scalar, value);
        self.splat(ty, element)
    }

    /// A float constant, in all elements of a vector type.
    pub fn float(&mut self, ty: Type, value: f64) -> Value {
        let scalar = self.module.types.scalar(ty);
        let bits = match self.kind(scalar) {
            TypeKind::Float => u128::from((value as f32).to_bits()),
            TypeKind::Double => u128::from(value.to_bits()),
            kind => panic!("no constants of {kind:?} are needed"),
        };
        let element = self.module.const_float_bits(scalar, bits);
        self.splat(ty, element)
    }

    fn splat(&mut self, ty: Type, element: Value) -> Value {
        match self.vector_len(ty) {
            Some(len) => self.module.const_vector(&vec![element; len as usize]),
            None => element,
        }
    }

    pub fn bin(&mut self, op: BinOp, lhs: Value, rhs: Value) -> Value {
        let flags = Flags::default();
        self.emit(self.ty(lhs), InstKind::Bin { op, lhs, rhs, flags })
    }

    /// An operation with a constant on the right.
    pub fn bin_int(&mut self, op: BinOp, lhs: Value, rhs: u128) -> Value {
        let rhs = self.int(self.ty(lhs), rhs);
        self.bin(op, lhs, rhs)
    }

    /// All bits flipped.
    pub fn not(&mut self, value: Value) -> Value {
        self.bin_int(BinOp::Xor, value, u128::MAX)
    }

    fn bool_ty(&mut self, like: Type) -> Type {
        let i1 = self.module.types.int(1);
        match self.vector_len(like) {
            Some(len) => self.module.types.vector(i1, len),
            None => i1,
        }
    }

    pub fn icmp(&mut self, pred: IntPred, lhs: Value, rhs: Value) -> Value {
        let ty = self.bool_ty(self.ty(lhs));
        self.emit(ty, InstKind::ICmp { pred, lhs, rhs })
    }

    /// A comparison with a constant.
    pub fn icmp_int(&mut self, pred: IntPred, lhs: Value, rhs: u128) -> Value {
        let rhs = self.int(self.ty(lhs), rhs);
        self.icmp(pred, lhs, rhs)
    }

    pub fn fcmp(&mut self, pred: FloatPred, lhs: Value, rhs: Value) -> Value {
        let ty = self.bool_ty(self.ty(lhs));
        self.emit(ty, InstKind::FCmp { pred, lhs, rhs })
    }

    /// Whether a float is a NaN.
    pub fn is_nan(&mut self, value: Value) -> Value {
        self.fcmp(FloatPred::Uno, value, value)
    }

    pub fn select(&mut self, cond: Value, then: Value, otherwise: Value) -> Value {
        self.emit(self.ty(then), InstKind::Select { cond, then, otherwise })
    }

    /// A conversion; none where the type is the same already.
    pub fn cast(&mut self, op: CastOp, value: Value, ty: Type) -> Value {
        if self.ty(value) == ty {
            return value;
        }
        self.emit(ty, InstKind::Cast { op, value })
    }

    /// An integer made wider (with zeros or its sign) or narrower.
    pub fn resize(&mut self, value: Value, ty: Type, signed: bool) -> Value {
        let (from, to) = (self.bits(self.ty(value)), self.bits(ty));
        let op = match () {
            _ if from > to => CastOp::Trunc,
            _ if signed => CastOp::SExt,
            _ => CastOp::ZExt,
        };
        self.cast(op, value, ty)
    }

    pub fn bitcast(&mut self, value: Value, ty: Type) -> Value {
        self.cast(CastOp::Bitcast, value, ty)
    }

    /// The bits of a float as an integer.
    pub fn bits_of(&mut self, value: Value) -> Value {
        let bits = self.bits(self.ty(value));
        let ty = self.int_ty(bits);
        self.bitcast(value, ty)
    }

    pub fn intrinsic(&mut self, intrinsic: Intrinsic, ret: Type, args: &[Value]) -> Value {
        self.call(Callee::Intrinsic(intrinsic), ret, args)
    }

    pub fn call(&mut self, callee: Callee, ret: Type, args: &[Value]) -> Value {
        let params: Vec<Type> = args.iter().map(|&arg| self.ty(arg)).collect();
        let sig = self.module.types.func(ret, &params, false);
        let call = Call {
            callee,
            sig,
            args: args.to_vec(),
            arg_attrs: Vec::new(),
            ret_attrs: ParamAttrs::default(),
            noreturn: false,
            convergent: false,
            musttail: false,
        };
        self.emit(ret, InstKind::Call(Box::new(call)))
    }

    /// A call of a function by its symbol, declared if the module does not have it.
    pub fn call_named(&mut self, name: &str, ret: Type, args: &[Value]) -> Value {
        let params: Vec<Type> = args.iter().map(|&arg| self.ty(arg)).collect();
        let sig = self.module.types.func(ret, &params, false);
        let callee = declared(self.module, name, sig);
        self.call(Callee::Value(callee), ret, args)
    }

    /// Inline PTX without side effects.
    pub fn pure_asm(&mut self, template: &str, constraints: &str, ret: Type, args: &[Value]) -> Value {
        let asm = InlineAsm {
            template: template.to_owned(),
            constraints: constraints.to_owned(),
            side_effects: false,
            convergent: false,
        };
        self.call(Callee::Asm(Box::new(asm)), ret, args)
    }

    /// Inline PTX that reads or writes memory.
    pub fn memory_asm(&mut self, template: String, constraints: &str, ret: Type, args: &[Value]) -> Value {
        let sep = if constraints.is_empty() { "" } else { "," };
        let asm = InlineAsm {
            template,
            constraints: format!("{constraints}{sep}~{{memory}}"),
            side_effects: true,
            convergent: false,
        };
        self.call(Callee::Asm(Box::new(asm)), ret, args)
    }

    pub fn load(&mut self, ty: Type, ptr: Value, access: MemAccess) -> Value {
        self.emit(ty, InstKind::Load { ptr, access })
    }

    pub fn store(&mut self, value: Value, ptr: Value, access: MemAccess) {
        self.emit_void(InstKind::Store { value, ptr, access });
    }

    /// An address some bytes further on.
    pub fn offset(&mut self, ptr: Value, bytes: Value) -> Value {
        let element = self.int_ty(8);
        let indices = vec![bytes];
        self.emit(self.ty(ptr), InstKind::Gep { element, base: ptr, indices, inbounds: false })
    }

    /// A pointer as one into generic memory.
    pub fn generic(&mut self, ptr: Value) -> Value {
        let ty = self.module.types.ptr_in(AddrSpace::Generic);
        self.cast(CastOp::AddrSpaceCast, ptr, ty)
    }

    pub fn extract_value(&mut self, aggregate: Value, index: u32) -> Value {
        let ty = match self.kind(self.ty(aggregate)) {
            TypeKind::Struct { fields, .. } => fields[index as usize],
            TypeKind::Array(element, _) => *element,
            kind => panic!("no fields in {kind:?}"),
        };
        self.emit(ty, InstKind::ExtractValue { aggregate, index })
    }

    /// A struct or array of these values.
    pub fn aggregate(&mut self, ty: Type, fields: &[Value]) -> Value {
        let mut aggregate = self.undef(ty);
        for (index, &value) in (0..).zip(fields) {
            aggregate = self.emit(ty, InstKind::InsertValue { aggregate, value, index });
        }
        aggregate
    }

    pub fn extract_element(&mut self, vector: Value, index: u32) -> Value {
        let TypeKind::Vector(element, _) = *self.kind(self.ty(vector)) else {
            panic!("extract_element: no vector")
        };
        let index = self.module.const_i32(index as i32);
        self.emit(element, InstKind::ExtractElement { vector, index })
    }

    /// A vector of these values.
    pub fn vector(&mut self, ty: Type, elements: &[Value]) -> Value {
        let mut vector = self.undef(ty);
        for (index, &value) in (0..).zip(elements) {
            let index = self.module.const_i32(index);
            vector = self.emit(ty, InstKind::InsertElement { vector, value, index });
        }
        vector
    }

    // Control flow.

    /// The block that instructions are appended to.
    pub fn block(&self) -> Block {
        self.block
    }

    /// A new block of the function, in its final place once [`Self::go_to`] went there.
    pub fn new_block(&mut self, name: &str) -> Block {
        let block = self.module.add_block(self.func, name);
        self.module.func_mut(self.func).blocks.pop();
        block
    }

    /// Goes on in a new block.
    pub fn go_to(&mut self, block: Block) {
        self.layout.push(block);
        self.block = block;
    }

    pub fn br(&mut self, to: Block) {
        self.emit_void(InstKind::Br(to));
    }

    pub fn cond_br(&mut self, cond: Value, then: Block, otherwise: Block) {
        self.emit_void(InstKind::CondBr { cond, then, otherwise });
    }
}

/// The function of that symbol, declared if the module does not have it.
pub(super) fn declared(module: &mut Module, name: &str, sig: Type) -> Value {
    if let Some(value) = module.named(name) {
        return value;
    }
    let func = module.add_func(name, sig).expect("the name is free");
    let data = module.func_mut(func);
    data.linkage = Linkage::External;
    data.attrs.no_unwind = true;
    // Those of libnvvm that are called here compute; the others are told by their bodies.
    data.attrs.read_none = name.starts_with("llvm.nvvm.");
    data.value
}

/// Replacements may be replaced themselves.
fn resolve(
    replaced: &HashMap<Value, Value>,
    consts: &HashMap<Value, Value>,
    mut value: Value,
) -> Value {
    while let Some(&new) = replaced.get(&value) {
        value = new;
    }
    consts.get(&value).copied().unwrap_or(value)
}
