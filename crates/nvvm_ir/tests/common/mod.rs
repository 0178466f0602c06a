//! Modules shared by several tests.

use nvvm_ir::*;

pub const ACCESS4: MemAccess = MemAccess {
    align: 4,
    volatile: false,
    atomic: None,
    invariant: false,
    range: None,
    nonnull: false,
};

/// Returns a module with one of nearly everything that libnvvm accepts in both dialects, optionally
/// with debug information.
pub fn sample(debug: bool) -> Module {
    let mut m = Module::new("sample");
    let void = m.types.void();
    let (i1, i8, i32, i64) = (
        m.types.int(1),
        m.types.int(8),
        m.types.int(32),
        m.types.int(64),
    );
    let i128 = m.types.int(128);
    let f32 = m.types.intern(TypeKind::Float);
    let f64 = m.types.intern(TypeKind::Double);
    let half = m.types.intern(TypeKind::Half);
    let ptr = m.types.ptr();

    // Statics: bytes, a table with addresses in it, shared memory, dynamic shared memory.
    let bytes = m.const_bytes(b"hello \"world\"\n\0");
    let bytes_ty = m.ty(bytes);
    let text = m.add_global("text", bytes_ty, AddrSpace::Global).unwrap();
    m.global_mut(text).init = Some(bytes);
    m.global_mut(text).constant = true;
    m.global_mut(text).linkage = Linkage::Internal;
    let text = m.global(text).value;

    let callee_sig = m.types.func(i32, &[ptr, i32], false);
    let callee = m.add_func("callee.of<T>", callee_sig).unwrap();
    m.func_mut(callee).linkage = Linkage::Internal;
    let callee_value = m.func(callee).value;

    let text_addr = m.const_addr(text, 6);
    let func_addr = m.const_addr(callee_value, 0);
    let five = m.const_i32(5);
    let null = m.const_zero(ptr);
    let table = m.const_struct(&[five, text_addr, func_addr, null], false);
    let table_ty = m.ty(table);
    let table_global = m.add_global("table", table_ty, AddrSpace::Global).unwrap();
    m.global_mut(table_global).init = Some(table);
    m.global_mut(table_global).used = true;
    let table_value = m.global(table_global).value;

    let tile_ty = m.types.array(f32, 64);
    let tile = m.add_global("tile", tile_ty, AddrSpace::Shared).unwrap();
    m.global_mut(tile).init = Some(m.const_undef(tile_ty));
    m.global_mut(tile).linkage = Linkage::Internal;
    let tile_value = m.global(tile).value;
    let dynamic_ty = m.types.array(i8, 0);
    let dynamic = m
        .add_global("dynamic", dynamic_ty, AddrSpace::Shared)
        .unwrap();
    m.global_mut(dynamic).align = 16;
    let dynamic_value = m.global(dynamic).value;
    let lookup_ty = m.types.array(f32, 3);
    let nan = m.const_float_bits(f32, 0x7FC0_1234);
    let snan = m.const_float_bits(f32, 0xFF80_1234);
    let tiny = m.const_float_bits(f32, 1);
    let lookup = m.constant(lookup_ty, Const::Aggregate(vec![nan, snan, tiny]));
    let lookup_global = m
        .add_global("lookup", lookup_ty, AddrSpace::Constant)
        .unwrap();
    m.global_mut(lookup_global).init = Some(lookup);
    m.global_mut(lookup_global).constant = true;
    let lookup_value = m.global(lookup_global).value;

    // Declarations.
    let tid_sig = m.types.func(i32, &[], false);
    let tid = m
        .add_func("llvm.nvvm.read.ptx.sreg.tid.x", tid_sig)
        .unwrap();
    m.func_mut(tid).attrs.read_none = true;
    let tid = m.func(tid).value;
    let barrier_sig = m.types.func(void, &[], false);
    let barrier = m.add_func("llvm.nvvm.barrier0", barrier_sig).unwrap();
    let barrier = m.func(barrier).value;
    let printf_sig = m.types.func(i32, &[ptr, ptr], false);
    let printf = m.add_func("vprintf", printf_sig).unwrap();
    let printf = m.func(printf).value;

    // Debug information.
    let mut scopes = Vec::new();
    if debug {
        let file = m.add_di(DiNode::File {
            name: "a.rs".into(),
            directory: "/src".into(),
        });
        let unit = m.add_di(DiNode::CompileUnit {
            file,
            producer: "test".into(),
            optimized: true,
            line_tables_only: false,
        });
        for (name, line) in [("callee", 1), ("kernel", 10), ("bytes_by_value", 30)] {
            scopes.push(m.add_di(DiNode::Subprogram {
                name: name.into(),
                linkage_name: name.into(),
                file,
                line,
                unit,
                local: name == "callee",
                optimized: true,
            }));
        }
    }
    let scope = |i: usize| scopes.get(i).copied();
    let loc = |m: &mut Module, i: usize, line: u32| {
        scope(i).map(|scope| {
            m.add_di(DiNode::Location {
                line,
                column: 5,
                scope,
                inlined_at: None,
            })
        })
    };

    // A function with a loop, a switch and most kinds of instructions.
    let start = m.add_block(callee, "start");
    let head = m.add_block(callee, "head");
    let one = m.add_block(callee, "");
    let two = m.add_block(callee, "start");
    let exit = m.add_block(callee, "exit");
    m.func_mut(callee).subprogram = scope(0);
    m.func_mut(callee).attrs.inline_hint = true;
    m.func_mut(callee).param_attrs[0] = ParamAttrs {
        noalias: true,
        nonnull: true,
        readonly: true,
        align: 4,
        dereferenceable: 8,
        ..Default::default()
    };
    let params = m.func(callee).params.clone();
    m.value_mut(params[1]).name = Some("n".into());
    let at = loc(&mut m, 0, 2);
    let pair_ty = m.types.structure(&[i32, f64], false);
    let zero = m.const_i32(0);
    let int_one = m.const_i32(1);
    let mut b = Builder::at(&mut m, start, at);
    let slot = b.alloca(pair_ty, 8);
    let bytes_slot = b.alloca(i8, 1);
    let field = b.gep(pair_ty, slot, &[zero, int_one], true);
    let double = b.cast(CastOp::SiToFp, params[1], f64);
    b.store(
        double,
        field,
        MemAccess {
            align: 8,
            ..ACCESS4
        },
    );
    let first = b.load(
        i32,
        params[0],
        MemAccess {
            range: Some((0, 9)),
            invariant: true,
            ..ACCESS4
        },
    );
    let byte = b.load(
        i8,
        text_addr,
        MemAccess {
            align: 1,
            range: Some((255, 1)),
            ..ACCESS4
        },
    );
    b.store(
        byte,
        bytes_slot,
        MemAccess {
            align: 1,
            ..ACCESS4
        },
    );
    b.br(head);
    b.switch_to(head);
    let index = b.phi(i32, vec![(zero, start)]);
    b.module.value_mut(index).name = Some("n".into());
    b.switch(index, exit, vec![(0, one), (0xFFFF_FFFF, two)]);
    b.switch_to(one);
    let next = b.bin_flags(
        BinOp::Add,
        index,
        int_one,
        Flags {
            nuw: true,
            nsw: true,
            ..Flags::default()
        },
    );
    b.br(head);
    b.switch_to(two);
    let offset = b.gep(i32, params[0], &[index], false);
    let loaded = b.load(
        i32,
        offset,
        MemAccess {
            volatile: true,
            ..ACCESS4
        },
    );
    let less = b.icmp(IntPred::Slt, loaded, first);
    b.cond_br(less, head, exit);
    b.switch_to(exit);
    let value = b.load(
        f64,
        field,
        MemAccess {
            align: 8,
            ..ACCESS4
        },
    );
    let result = b.cast(CastOp::FpToSi, value, i32);
    b.ret(Some(result));
    if let Some(InstKind::Phi(incoming)) = m.inst_mut(index).map(|data| &mut data.kind) {
        incoming.extend([(next, one), (loaded, two)]);
    }

    // A kernel.
    let blob = m.types.array(i32, 4);
    let kernel_sig = m.types.func(void, &[ptr, ptr, i64, i128], false);
    let kernel = m.add_func("kernel", kernel_sig).unwrap();
    m.func_mut(kernel).kernel = Some(KernelAttrs {
        max_threads: Some([256, 1, 1]),
        min_blocks: Some(1),
        ..Default::default()
    });
    m.func_mut(kernel).param_attrs[1] = ParamAttrs {
        byval: Some(blob),
        align: 4,
        ..Default::default()
    };
    m.func_mut(kernel).subprogram = scope(1);
    m.func_mut(kernel).attrs.no_unwind = true;
    let params = m.func(kernel).params.clone();
    let start = m.add_block(kernel, "start");
    let some_int = m.const_int(i64, 12);
    let some_int32 = m.const_i32(9);
    let volatile = m.const_bool(false);
    let lifetime_size = m.const_i64(16);
    let wide = m.const_int(i128, (-5i128) as u128);
    let table_in_space = m.types.ptr_in(AddrSpace::Global);
    let table_in_space = m.constant(
        table_in_space,
        Const::Addr {
            base: table_value,
            offset: 16,
        },
    );
    let tile_addr = m.const_addr(tile_value, 0);
    let dynamic_addr = m.const_addr(dynamic_value, 4);
    let lookup_addr = m.const_addr(lookup_value, 8);
    let address_int = m.constant(i64, Const::PtrToInt(text_addr));
    let dangling = m.constant(ptr, Const::IntToPtr(8));
    let undef = m.const_undef(i32);
    let poison = m.const_poison(i32);
    let f32_two = m.const_float_bits(f32, u128::from(2f32.to_bits()));
    let v4 = m.types.vector(f32, 4);
    let vector = m.const_vector(&[f32_two, f32_two, f32_two, f32_two]);
    // In the kernel, a location in a block of the callee that was inlined there.
    let inlined = loc(&mut m, 1, 12).zip(scope(0)).map(|(inlined_at, scope)| {
        let file = m.add_di(DiNode::File {
            name: "a.rs".into(),
            directory: "/src".into(),
        });
        let scope = m.add_di(DiNode::LexicalBlock {
            scope,
            file,
            line: 3,
            column: 1,
        });
        let inlined_at = Some(inlined_at);
        m.add_di(DiNode::Location {
            line: 4,
            column: 2,
            scope,
            inlined_at,
        })
    });
    let mut b = Builder::at(&mut m, start, inlined);
    let slot_of_inlined = b.alloca(i32, 4);
    b.store(some_int32, slot_of_inlined, ACCESS4);
    let mut b = Builder::new(&mut m, start);
    let copy = b.alloca(blob, 4);
    b.intrinsic(Intrinsic::LifetimeStart, void, &[lifetime_size, copy]);
    b.intrinsic(
        Intrinsic::Memcpy,
        void,
        &[copy, params[1], lifetime_size, volatile],
    );
    let t = b.call(tid_sig, tid, &[]);
    b.call_with(Call {
        convergent: true,
        ..Call::new(Callee::Value(barrier), barrier_sig, vec![])
    });
    let direct = b.call(callee_sig, func_addr, &[copy, t]);
    let pointer = b.load(
        ptr,
        table_in_space,
        MemAccess {
            align: 8,
            ..ACCESS4
        },
    );
    let indirect = b.call(callee_sig, pointer, &[params[0], direct]);
    let other_sig = b.module.types.func(f32, &[ptr, i32], false);
    let mistyped = b.call(other_sig, func_addr, &[params[0], indirect]);
    b.call(printf_sig, printf, &[text_addr, null]);
    let asm = InlineAsm {
        template: "add.s32 $0, $1, $2;".into(),
        constraints: "=r,r,r".into(),
        side_effects: true,
        convergent: true,
        read_none: false,
    };
    let sum = b.asm(asm, i32, &[direct, indirect]);
    let leading = b.intrinsic(Intrinsic::Ctlz, i32, &[sum, volatile]);
    let overflow_ty = b.module.types.structure(&[i32, i1], false);
    let overflow = b.intrinsic(Intrinsic::UAddOverflow, overflow_ty, &[sum, leading]);
    let wrapped = b.extract_value(overflow, 0);
    let flag = b.extract_value(overflow, 1);
    let chosen = b.select(flag, wrapped, undef);
    let chosen = b.bin(BinOp::Xor, chosen, poison);
    let pair = b.insert_value(overflow, chosen, 0);
    let pair_0 = b.extract_value(pair, 0);
    let lane = b.extract_element(vector, zero);
    let two_vectors = b.insert_element(vector, mistyped, int_one);
    let mixed = b.shuffle(vector, two_vectors, vec![Some(0), Some(5), None, Some(3)]);
    let vector_sum = b.bin_flags(
        BinOp::FAdd,
        mixed,
        vector,
        Flags {
            algebraic: true,
            ..Flags::default()
        },
    );
    let vector_lane = b.extract_element(vector_sum, zero);
    let fma = b.intrinsic(Intrinsic::Fma, f32, &[lane, vector_lane, f32_two]);
    let ordered = b.fcmp(FloatPred::Olt, fma, lane);
    let bit = b.cast(CastOp::ZExt, ordered, i32);
    let squeezed = b.cast(CastOp::FpTrunc, fma, half);
    let widened = b.cast(CastOp::FpExt, squeezed, f32);
    b.store(widened, tile_addr, ACCESS4);
    b.store(bit, dynamic_addr, ACCESS4);
    let looked = b.load(f32, lookup_addr, ACCESS4);
    b.store(looked, params[0], ACCESS4);
    b.store(pair_0, params[0], ACCESS4);
    b.store(
        address_int,
        dangling,
        MemAccess {
            align: 8,
            ..ACCESS4
        },
    );
    let product = b.bin(BinOp::Mul, params[3], wide);
    let narrow = b.cast(CastOp::Trunc, product, i64);
    let slot = b.gep(i8, params[0], &[narrow], false);
    let as_int = b.cast(CastOp::PtrToInt, slot, i64);
    let back = b.bin(BinOp::Add, as_int, some_int);
    let back = b.cast(CastOp::IntToPtr, back, ptr);
    b.store(
        vector_sum,
        back,
        MemAccess {
            align: 16,
            ..ACCESS4
        },
    );
    let ninth = b.gep(blob, copy, &[params[2], params[2]], true);
    b.store(
        product,
        ninth,
        MemAccess {
            align: 4,
            ..ACCESS4
        },
    );
    b.intrinsic(Intrinsic::LifetimeEnd, void, &[lifetime_size, copy]);
    b.ret(None);
    if scope(1).is_some() {
        let file = m.add_di(DiNode::File {
            name: "a.rs".into(),
            directory: "/src".into(),
        });
        let ty = m.add_di(DiNode::BasicType {
            name: "i32".into(),
            bits: 32,
            encoding: 5,
        });
        let pointer = m.add_di(DiNode::PointerType {
            name: "*const i32".into(),
            to: ty,
            bits: 64,
        });
        let array = m.add_di(DiNode::ArrayType {
            element: pointer,
            count: 3,
            bits: 192,
        });
        let members = [("number", ty, 32, 0), ("pointers", array, 192, 64)];
        let members = members.map(|(name, ty, bits, offset)| {
            m.add_di(DiNode::Member {
                name: name.into(),
                ty,
                bits,
                offset,
            })
        });
        let ty = m.add_di(DiNode::StructType {
            name: "Blob".into(),
            bits: 256,
            members: members.to_vec(),
        });
        let variable = m.add_di(DiNode::LocalVariable {
            name: "copy".into(),
            scope: scope(1).unwrap(),
            file,
            line: 11,
            ty,
            arg: 0,
        });
        m.func_mut(kernel).variables.push((
            copy,
            DbgDeclare {
                variable,
                expression: vec![DwarfOp::Plus(0), DwarfOp::Deref],
                ty: blob,
            },
        ));
    }
    let _ = v4;

    // By-value parameters of ordinary functions, and a function that does not return.
    let by_sig = m.types.func(void, &[ptr, ptr], false);
    let by = m.add_func("bytes_by_value", by_sig).unwrap();
    m.func_mut(by).subprogram = scope(2);
    m.func_mut(by).param_attrs[1] = ParamAttrs {
        byval: Some(blob),
        align: 4,
        ..Default::default()
    };
    let params = m.func(by).params.clone();
    let by_value = m.func(by).value;
    let start = m.add_block(by, "start");
    let mut b = Builder::new(&mut m, start);
    let loaded = b.load(i32, params[1], ACCESS4);
    b.store(loaded, params[0], ACCESS4);
    b.call_with(Call {
        callee: Callee::Value(by_value),
        sig: by_sig,
        args: vec![params[0], params[1]],
        arg_attrs: vec![
            ParamAttrs::default(),
            ParamAttrs {
                byval: Some(blob),
                align: 4,
                ..Default::default()
            },
        ],
        ret_attrs: ParamAttrs::default(),
        noreturn: true,
        convergent: false,
        musttail: false,
    });
    b.intrinsic(Intrinsic::Trap, void, &[]);
    b.unreachable();
    m
}
