//! Lowers constants, statics and vtables: the memory of rustc's interpreter becomes initializers
//! with relocations.

use std::hash::Hasher;

use nvvm_ir::{AddrSpace, Const, Linkage, Type, Value};
use rustc_abi::{self as abi, Align, HasDataLayout, Primitive, Size};
use rustc_codegen_ssa::traits::*;
use rustc_data_structures::fingerprint::Fingerprint;
use rustc_data_structures::stable_hash::StableHasher;
use rustc_hir::def::DefKind;
use rustc_middle::middle::codegen_fn_attrs::CodegenFnAttrFlags;
use rustc_middle::mir::interpret::{
    Allocation, ConstAllocation, GlobalAlloc, InitChunk, Scalar, read_target_uint,
};
use rustc_middle::ty::Instance;
use rustc_middle::ty::layout::{HasTypingEnv, LayoutOf};
use rustc_session::PointerAuthSchema;
use rustc_span::Symbol;
use rustc_span::def_id::DefId;

use crate::builder::Builder;
use crate::context::{CodegenCx, Item, Pending};
use crate::diagnostics;
use crate::markers::{self, Marker};

impl<'tcx> ConstCodegenMethods for CodegenCx<'tcx> {
    fn const_null(&self, ty: Type) -> Value {
        self.module.borrow_mut().const_zero(ty)
    }
    fn const_undef(&self, ty: Type) -> Value {
        self.module.borrow_mut().const_undef(ty)
    }
    fn const_poison(&self, ty: Type) -> Value {
        self.module.borrow_mut().const_poison(ty)
    }
    fn const_bool(&self, value: bool) -> Value {
        self.module.borrow_mut().const_bool(value)
    }
    fn const_i8(&self, value: i8) -> Value {
        self.const_int(self.type_i8(), value.into())
    }
    fn const_i16(&self, value: i16) -> Value {
        self.const_int(self.type_i16(), value.into())
    }
    fn const_i32(&self, value: i32) -> Value {
        self.const_int(self.type_i32(), value.into())
    }
    fn const_i64(&self, value: i64) -> Value {
        self.const_int(self.type_i64(), value)
    }
    fn const_int(&self, ty: Type, value: i64) -> Value {
        self.const_uint_big(ty, value as i128 as u128)
    }
    fn const_u8(&self, value: u8) -> Value {
        self.const_uint(self.type_i8(), value.into())
    }
    fn const_u32(&self, value: u32) -> Value {
        self.const_uint(self.type_i32(), value.into())
    }
    fn const_u64(&self, value: u64) -> Value {
        self.const_uint(self.type_i64(), value)
    }
    fn const_u128(&self, value: u128) -> Value {
        self.const_uint_big(self.type_i128(), value)
    }
    fn const_usize(&self, value: u64) -> Value {
        self.const_u64(value)
    }
    fn const_uint(&self, ty: Type, value: u64) -> Value {
        self.const_uint_big(ty, value.into())
    }
    fn const_uint_big(&self, ty: Type, value: u128) -> Value {
        self.module.borrow_mut().const_int(ty, value)
    }
    fn const_real(&self, ty: Type, value: f64) -> Value {
        let bits = match self.float_width(ty) {
            32 => u128::from((value as f32).to_bits()),
            64 => u128::from(value.to_bits()),
            width => rustc_span::bug!("a constant of a float of {width} bits from an f64"),
        };
        self.module.borrow_mut().const_float_bits(ty, bits)
    }
    fn const_str(&self, text: &str) -> (Value, Value) {
        let len = self.const_usize(text.len() as u64);
        if let Some(&value) = self.strings.borrow().get(text) {
            return (value, len);
        }
        let bytes = self.module.borrow_mut().const_bytes(text.as_bytes());
        let value = self.anonymous(bytes, Align::ONE, true, "str");
        self.strings.borrow_mut().insert(text.to_owned(), value);
        (value, len)
    }
    fn const_struct(&self, fields: &[Value], packed: bool) -> Value {
        self.module.borrow_mut().const_struct(fields, packed)
    }
    fn const_vector(&self, elements: &[Value]) -> Value {
        self.module.borrow_mut().const_vector(elements)
    }
    fn const_to_opt_uint(&self, value: Value) -> Option<u64> {
        self.const_to_opt_u128(value, false).map(|v| v as u64)
    }
    fn const_to_opt_u128(&self, value: Value, sign_extend: bool) -> Option<u128> {
        let module = self.module.borrow();
        let &Const::Int(int) = module.as_const(value)? else {
            return None;
        };
        let bits = module.types.int_bits(module.ty(value))?;
        Some(if sign_extend && bits < 128 {
            let shift = 128 - bits;
            (((int << shift) as i128) >> shift) as u128
        } else {
            int
        })
    }

    fn scalar_to_backend_with_pac(
        &self,
        scalar: Scalar,
        layout: abi::Scalar,
        ty: Type,
        _schema: Option<&PointerAuthSchema>,
    ) -> Value {
        let is_ptr = matches!(layout.primitive(), Primitive::Pointer(_));
        match scalar {
            Scalar::Int(int) => {
                let bits = int.to_bits(layout.size(self));
                match layout.primitive() {
                    Primitive::Pointer(_) => self.integer_pointer(bits as u64, ty),
                    Primitive::Float(_) => self.module.borrow_mut().const_float_bits(ty, bits),
                    Primitive::Int(..) => {
                        let ty = if layout.is_bool() { self.int(1) } else { ty };
                        self.const_uint_big(ty, bits)
                    }
                }
            }
            Scalar::Ptr(pointer, _) => {
                let (provenance, offset) = pointer.prov_and_relative_offset();
                match self.address_of_alloc(self.tcx.global_alloc(provenance.alloc_id())) {
                    Ok(base) => {
                        let address = self.const_ptr_byte_offset(base, offset);
                        if is_ptr {
                            address
                        } else {
                            self.module
                                .borrow_mut()
                                .constant(ty, Const::PtrToInt(address))
                        }
                    }
                    Err(base) => {
                        let address = base.wrapping_add(offset.bytes());
                        if is_ptr {
                            self.integer_pointer(address, ty)
                        } else {
                            self.const_uint(ty, address)
                        }
                    }
                }
            }
        }
    }

    fn const_ptr_byte_offset(&self, base: Value, offset: Size) -> Value {
        if offset == Size::ZERO {
            return base;
        }
        let mut module = self.module.borrow_mut();
        let (base, start) = match module.as_const(base) {
            Some(&Const::Addr { base, offset }) => (base, offset),
            _ => (base, 0),
        };
        module.const_addr(base, start + offset.bytes() as i64)
    }
}

impl<'tcx> CodegenCx<'tcx> {
    /// Returns a pointer with a known address and no provenance.
    fn integer_pointer(&self, address: u64, ty: Type) -> Value {
        let mut module = self.module.borrow_mut();
        if address == 0 {
            module.const_zero(ty)
        } else {
            module.constant(ty, Const::IntToPtr(address))
        }
    }

    /// Returns the address of an interpreter allocation, or `Err` with the number for a pointer
    /// that is just a number.
    fn address_of_alloc(&self, alloc: GlobalAlloc<'tcx>) -> Result<Value, u64> {
        match alloc {
            GlobalAlloc::Function { instance, .. } => Ok(self.get_fn_addr(instance, None)),
            GlobalAlloc::Static(def_id) => Ok(self.static_address(def_id)),
            // The bytes of a `TypeId`'s hash are in the offset.
            GlobalAlloc::TypeId { .. } => Err(0),
            GlobalAlloc::Memory(alloc) => {
                if alloc.inner().len() == 0 {
                    return Err(alloc.inner().align.bytes());
                }
                Ok(self.static_addr_of(alloc, None))
            }
            GlobalAlloc::VTable(ty, predicates) => {
                let principal = predicates
                    .principal()
                    .map(|p| self.tcx.instantiate_bound_regions_with_erased(p));
                let id = self.tcx.vtable_allocation((ty, principal));
                let vtable = self.tcx.global_alloc(id).unwrap_memory();
                let address = self.static_addr_of(vtable, Some("vtable"));
                self.vtables.borrow_mut().insert((ty, principal), address);
                Ok(address)
            }
        }
    }

    /// Adds an unnamed global with contents and returns its generic address. Its symbol depends on
    /// the contents alone, so that kernels that did not change have the same code in the next
    /// compilation.
    fn anonymous(&self, init: Value, align: Align, constant: bool, prefix: &str) -> Value {
        let mut hasher = StableHasher::new();
        self.module.borrow().hash_const(init, &mut hasher);
        hasher.write_u64(align.bytes());
        let hash: Fingerprint = hasher.finish();
        let mut name = format!("{prefix}_{:08x}", hash.to_smaller_hash().as_u64() as u32);
        if self.module.borrow().named(&name).is_some() {
            name = self.fresh_name(&name);
        }
        let mut module = self.module.borrow_mut();
        let ty = module.ty(init);
        let global = module
            .add_global(&name, ty, AddrSpace::Global)
            .expect("the name is fresh");
        let data = module.global_mut(global);
        data.init = Some(init);
        data.align = align.bytes();
        data.constant = constant;
        data.linkage = Linkage::Internal;
        let value = data.value;
        module.const_addr(value, 0)
    }

    /// Returns the initializer for an interpreter allocation.
    pub(crate) fn initializer(&self, alloc: &Allocation) -> Value {
        let dl = self.data_layout();
        let pointer_size = dl.pointer_size().bytes_usize();
        let mut fields = Vec::new();
        let bytes = |fields: &mut Vec<Value>, range: std::ops::Range<usize>| {
            // Uninitialized bytes become zeros, unless all bytes of the range are uninitialized.
            let chunks = alloc.init_mask().range_as_init_chunks(range.clone().into());
            let undefined = chunks
                .clone()
                .all(|chunk| matches!(chunk, InitChunk::Uninit(_)));
            if undefined {
                let ty = self.bytes(range.len() as u64);
                fields.push(self.const_undef(ty));
            } else {
                let bytes = alloc.inspect_with_uninit_and_ptr_outside_interpreter(range);
                fields.push(self.module.borrow_mut().const_bytes(bytes));
            }
        };
        let mut next = 0;
        let mut aligned = true;
        for &(offset, provenance) in alloc.provenance().ptrs().iter() {
            let offset = offset.bytes_usize();
            let raw = alloc
                .inspect_with_uninit_and_ptr_outside_interpreter(offset..offset + pointer_size);
            let addend = read_target_uint(dl.endian, raw).expect("eight bytes") as u64;
            let target = self.tcx.global_alloc(provenance.alloc_id());
            let base = self.address_of_alloc(target);
            if let Err(0) = base {
                // The bytes already hold the number that the pointer stands for.
                continue;
            }
            if offset > next {
                bytes(&mut fields, next..offset);
            }
            fields.push(match base {
                Ok(base) => self.const_ptr_byte_offset(base, Size::from_bytes(addend)),
                Err(base) => {
                    let number = base.wrapping_add(addend).to_le_bytes();
                    self.module.borrow_mut().const_bytes(&number)
                }
            });
            aligned &= offset % pointer_size == 0;
            next = offset + pointer_size;
        }
        if alloc.len() > next || fields.is_empty() {
            bytes(&mut fields, next..alloc.len());
        }
        // Byte arrays fill the gaps between pointers. If all pointers are aligned, an unpacked
        // struct therefore has the same layout, and PTX has a simpler form for it.
        let packed = !aligned;
        if let [single] = fields[..] {
            single
        } else {
            self.const_struct(&fields, packed)
        }
    }

    /// Returns the generic address of a static.
    pub(crate) fn static_address(&self, def_id: DefId) -> Value {
        let value = self.declare_static(def_id);
        self.module.borrow_mut().const_addr(value, 0)
    }

    fn declare_static(&self, def_id: DefId) -> Value {
        if let Some(&value) = self.statics.borrow().get(&def_id) {
            return value;
        }
        let tcx = self.tcx;
        let is_foreign = tcx.is_foreign_item(def_id);
        if is_foreign && let Some(value) = self.resolve_foreign_static(def_id) {
            return value;
        }
        let is_thread_local = tcx.is_thread_local_static(def_id);
        if is_thread_local && !self.host {
            let item = Item::Static(def_id);
            self.note_referrer(item);
            diagnostics::unsupported_item(self, item, "a thread-local static");
        }
        let space = markers::space_of_static(tcx, def_id).unwrap_or_else(|section| {
            diagnostics::unknown_section(tcx, def_id, &section);
            AddrSpace::Global
        });
        let DefKind::Static {
            nested, mutability, ..
        } = tcx.def_kind(def_id)
        else {
            rustc_span::bug!("{def_id:?} is no static")
        };
        if space == AddrSpace::Constant && mutability.is_not() {
            diagnostics::check_constant_memory(tcx, def_id);
        }
        let size = if nested {
            0
        } else {
            let ty = Instance::mono(tcx, def_id).ty(tcx, self.typing_env());
            self.layout_of(ty).size.bytes()
        };
        let is_exported =
            !nested && !is_foreign && tcx.codegen_fn_attrs(def_id).contains_extern_indicator();
        let for_host = is_exported || self.records.statics.contains_key(&def_id);
        let name = self.name_of_static(def_id, is_exported);
        // `define_static` sets the contents and the final type.
        let ty = self.bytes(size);
        let value = {
            let mut module = self.module.borrow_mut();
            let global = module
                .add_global(&name, ty, space)
                .expect("the name is free");
            let data = module.global_mut(global);
            data.constant = mutability.is_not() && space == AddrSpace::Constant;
            if !is_foreign {
                data.linkage = Linkage::Internal;
                if for_host {
                    // The host looks the static up by name. Without `used`, it is kept only if code
                    // refers to it.
                    data.linkage = Linkage::External;
                    let used = CodegenFnAttrFlags::USED_COMPILER | CodegenFnAttrFlags::USED_LINKER;
                    data.used = tcx.codegen_fn_attrs(def_id).flags.intersects(used);
                }
            }
            data.value
        };
        self.statics.borrow_mut().insert(def_id, value);
        // An undefined extern static in shared memory is dynamic shared memory, which the launch
        // provides.
        if is_foreign && space != AddrSpace::Shared {
            self.note_referrer(Item::Static(def_id));
            self.note_undefined(value, def_id);
        }
        if self.host && is_thread_local {
            self.defer(value, Pending::ThreadLocal(def_id));
        } else if !is_foreign {
            self.require(value, Item::Static(def_id));
        }
        value
    }

    /// Returns the static that a foreign declaration stands for, if the program defines it.
    fn resolve_foreign_static(&self, def_id: DefId) -> Option<Value> {
        let tcx = self.tcx;
        let symbol = Symbol::intern(tcx.symbol_name(Instance::mono(tcx, def_id)).name);
        let definition = *self.symbols.get(&symbol)?;
        if definition == def_id {
            return None;
        }
        // A kernel's entry: device code can only launch it.
        if let Marker::Kernel(_) = markers::of_def(tcx, definition)
            && let Some(entry) = self.module.borrow().named(symbol.as_str())
        {
            return Some(entry);
        }
        let value = self.declare_static(definition);
        self.statics.borrow_mut().insert(def_id, value);
        Some(value)
    }

    /// Returns a free symbol for a static. The host looks an exported static up by its symbol, and
    /// a recorded one by that of the record: if the symbol is taken, that is an error.
    fn name_of_static(&self, def_id: DefId, is_exported: bool) -> String {
        let record = self.records.statics.get(&def_id);
        let name = match record {
            Some((symbol, _)) if !is_exported => crate::context::sanitize(symbol),
            _ => self.symbol(Instance::mono(self.tcx, def_id)),
        };
        if self.module.borrow().named(&name).is_none() {
            return name;
        }
        if is_exported || record.is_some() {
            diagnostics::taken_symbol(self, def_id, &name);
        }
        self.fresh_name(&name)
    }

    /// Sets the initializer of a static.
    pub(crate) fn define_static(&self, def_id: DefId) {
        let value = self.declare_static(def_id);
        let Ok(alloc) = self.tcx.eval_static_initializer(def_id) else {
            return;
        };
        let alloc = alloc.inner();
        let global = self
            .module
            .borrow()
            .as_global(value)
            .expect("a static is a global");
        let space = self.module.borrow().global(global).space;
        let init = if space == AddrSpace::Shared {
            // Shared memory starts uninitialized (PTX ISA, ".shared").
            let ty = self.bytes(alloc.len() as u64);
            self.const_undef(ty)
        } else {
            self.initializer(alloc)
        };
        let mut module = self.module.borrow_mut();
        let ty = module.ty(init);
        let data = module.global_mut(global);
        data.ty = ty;
        data.align = alloc.align.bytes();
        data.init = Some(init);
        // A static that contains an `UnsafeCell` is mutable: the host may change it, even in
        // constant memory.
        data.constant = alloc.mutability.is_not() && space != AddrSpace::Shared;
    }
}

impl<'tcx> StaticCodegenMethods for CodegenCx<'tcx> {
    fn static_addr_of(&self, alloc: ConstAllocation<'_>, kind: Option<&str>) -> Value {
        // The allocation is interned in this `tcx`.
        let alloc: ConstAllocation<'tcx> = self.tcx.lift(alloc);
        if let Some(&value) = self.allocations.borrow().get(&alloc) {
            return value;
        }
        let inner = alloc.inner();
        let init = self.initializer(inner);
        let constant = inner.mutability.is_not();
        let value = self.anonymous(init, inner.align, constant, kind.unwrap_or("alloc"));
        self.allocations.borrow_mut().insert(alloc, value);
        value
    }

    fn codegen_static(&mut self, def_id: DefId) {
        self.define_static(def_id);
    }
}

impl<'a, 'tcx> StaticBuilderMethods for Builder<'a, 'tcx> {
    fn get_static(&mut self, def_id: DefId) -> Value {
        self.cx.static_address(def_id)
    }
}
