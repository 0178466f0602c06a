//! `call_directly`, which replaces calls through vtables with direct calls.

use crate::builder::Builder;
use crate::inst::{BinOp, Callee, CastOp, InstKind, IntPred};
use crate::module::Module;
use crate::types::{AddrSpace, TypeKind};
use crate::value::{Block, Const, Value};

/// A call of a function whose address a vtable has.
#[derive(Debug)]
pub struct VirtualCall {
    /// The call instruction.
    pub call: Value,
    /// The generic address of the vtable.
    pub vtable: Value,
    /// The generic addresses of all vtables that `vtable` can be the address of, each with the function
    /// that the call then calls. The vtables are in global memory.
    pub candidates: Vec<(Value, Value)>,
}

/// Replaces calls through vtables with comparisons of the vtable's address and direct calls.
///
/// LLVM then inlines the functions, and removes the comparisons if the vtable is known. The threads of
/// a warp that call different functions meet again after the call. The last of the candidates is
/// called without a comparison, so a list that lacks a candidate is unsound.
///
/// The addresses are compared as addresses in global memory: LLVM 23.1 does not know that generic
/// addresses of different globals differ.
pub fn call_directly(module: &mut Module, calls: Vec<VirtualCall>) {
    for call in calls {
        let _ = replace(module, call);
    }
}

/// Replaces a call, or returns `None` without a change if it cannot be replaced.
fn replace(module: &mut Module, virtual_call: VirtualCall) -> Option<()> {
    let VirtualCall {
        call: inst,
        vtable,
        candidates,
    } = virtual_call;
    let data = module.inst(inst)?;
    let InstKind::Call(call) = &data.kind else {
        return None;
    };
    let (block, loc) = (data.block, data.loc);
    let has_signature = |&(_, callee): &(Value, Value)| {
        let func = module.as_func(callee);
        func.is_some_and(|func| module.func(func).sig == call.sig)
    };
    if call.musttail || !candidates.iter().all(has_signature) {
        return None;
    }
    let &(_, last) = candidates.last()?;
    // The vtables of each function but the last one, in the order of the candidates.
    let mut callees: Vec<(Value, Vec<Value>)> = Vec::new();
    for &(vtable, callee) in candidates.iter().filter(|&&(_, callee)| callee != last) {
        let vtable = in_global_memory(module, vtable)?;
        match callees.iter_mut().find(|(known, _)| *known == callee) {
            Some((_, vtables)) => vtables.push(vtable),
            None => callees.push((callee, vec![vtable])),
        }
    }
    let at = (module.block(block).insts.iter()).position(|&other| other == inst)?;
    if callees.is_empty() {
        if let InstKind::Call(call) = &mut module.inst_mut(inst)?.kind {
            call.callee = Callee::Value(last);
        }
        return Some(());
    }
    let after = split(module, block, at);
    let space = module.types.ptr_in(AddrSpace::Global);
    let address = Builder::at(module, block, loc).cast(CastOp::AddrSpaceCast, vtable, space);
    call_one_of(module, (inst, block, after), address, callees, last)
}

/// Replaces a call behind which its block was split. Each callee is called if an address is one of its
/// own, and `last` otherwise.
pub(super) fn call_one_of(
    module: &mut Module,
    (inst, block, after): (Value, Block, Block),
    address: Value,
    callees: Vec<(Value, Vec<Value>)>,
    last: Value,
) -> Option<()> {
    let data = module.inst(inst)?;
    let InstKind::Call(call) = &data.kind else {
        return None;
    };
    let (call, loc) = (call.clone(), data.loc);
    let ty = module.ty(inst);
    let mut results = Vec::new();
    let mut current = block;
    let func = module.block(block).func;
    let others = callees.into_iter().map(Some).chain([None]);
    for candidate in others {
        let (callee, own) = match candidate {
            None => (last, current),
            Some((callee, addresses)) => {
                let own = module.add_block(func, "direct");
                let mut bx = Builder::at(module, current, loc);
                let mut is_own = None;
                for own_address in addresses {
                    let is_this = bx.icmp(IntPred::Eq, address, own_address);
                    is_own = Some(match is_own {
                        Some(others) => bx.bin(BinOp::Or, others, is_this),
                        None => is_this,
                    });
                }
                current = bx.module.add_block(func, "other");
                bx.cond_br(is_own?, own, current);
                (callee, own)
            }
        };
        let mut direct = call.clone();
        direct.callee = Callee::Value(callee);
        let result = module.push_inst(own, ty, InstKind::Call(direct), loc);
        Builder::at(module, own, loc).br(after);
        results.push((result, own));
    }
    // The users of the call's result use the phi.
    if *module.types.kind(ty) == TypeKind::Void {
        module.block_mut(after).insts.remove(0);
    } else if let Some(data) = module.inst_mut(inst) {
        data.kind = InstKind::Phi(results);
    }
    Some(())
}

/// Returns the address of a global in global memory, from its generic address.
fn in_global_memory(module: &mut Module, address: Value) -> Option<Value> {
    let &Const::Addr { base, offset } = module.as_const(address)? else {
        return None;
    };
    if module.global(module.as_global(base)?).space != AddrSpace::Global {
        return None;
    }
    let ty = module.types.ptr_in(AddrSpace::Global);
    Some(module.constant(ty, Const::Addr { base, offset }))
}

/// Moves the instructions of a block from an index on to a new block, except local variables.
pub(super) fn split(module: &mut Module, block: Block, at: usize) -> Block {
    let func = module.block(block).func;
    let after = module.add_block(func, "after");
    let behind = module.block_mut(block).insts.split_off(at);
    let (locals, insts): (Vec<Value>, Vec<Value>) =
        (behind.into_iter()).partition(|&inst| is_local(module, inst));
    module.block_mut(block).insts.extend(locals);
    for &inst in &insts {
        if let Some(data) = module.inst_mut(inst) {
            data.block = after;
        }
    }
    let successors = (insts.last())
        .and_then(|&last| module.inst(last))
        .map(|data| data.kind.successors())
        .unwrap_or_default();
    module.block_mut(after).insts = insts;
    for successor in successors {
        for phi in module.block(successor).insts.clone() {
            if let Some(InstKind::Phi(incoming)) = module.inst_mut(phi).map(|data| &mut data.kind) {
                for (_, from) in incoming {
                    if *from == block {
                        *from = after;
                    }
                }
            }
        }
    }
    let old = module.block_mut(block);
    let (no_unroll, unroll_count) = (old.no_unroll, old.unroll_count);
    (old.no_unroll, old.unroll_count) = (false, None);
    let new = module.block_mut(after);
    (new.no_unroll, new.unroll_count) = (no_unroll, unroll_count);
    after
}

fn is_local(module: &Module, inst: Value) -> bool {
    let data = module.inst(inst);
    data.is_some_and(|data| matches!(data.kind, InstKind::Alloca { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::Dialect;
    use crate::{read_module, verify, write_module};

    const TEXT: &str = "
@vtable_a = internal addrspace(1) constant [4 x i64] zeroinitializer, align 8
@vtable_b = internal addrspace(1) constant [4 x i64] zeroinitializer, align 8
@vtable_c = internal addrspace(1) constant [4 x i64] zeroinitializer, align 8
@table = internal addrspace(1) constant [3 x ptr] [ptr addrspacecast (ptr addrspace(1) @vtable_a to ptr), \
ptr addrspacecast (ptr addrspace(1) @vtable_b to ptr), \
ptr addrspacecast (ptr addrspace(1) @vtable_c to ptr)], align 8

define internal i32 @a(ptr %x) {
start:
  ret i32 1
}

define internal i32 @b(ptr %x) {
start:
  ret i32 2
}

define internal void @other(ptr %x) {
start:
  ret void
}

define i32 @k(ptr %x, ptr %vtable, i32 %n) {
start:
  %slot = getelementptr inbounds i8, ptr %vtable, i64 24
  %method = load ptr, ptr %slot, align 8
  %result = call i32 %method(ptr %x)
  %local = alloca i32, align 4
  store i32 %result, ptr %local, align 4
  br label %loop

loop:
  %i = phi i32 [ %result, %start ], [ %sum, %loop ]
  %sum = add i32 %i, %result
  %more = icmp ult i32 %sum, %n
  br i1 %more, label %loop, label %end

end:
  ret i32 %sum
}
";

    /// Replaces the call in a function that follows `TEXT`, with candidates by index of a vtable and
    /// name of a function.
    fn replaced(text: &str, candidates: &[(usize, &str)]) -> String {
        let mut module = read_module(text).expect("a module");
        let named = |module: &Module, name: &str| module.named(name).expect("a symbol");
        let table = module.as_global(named(&module, "table")).expect("a global");
        let table = module.global(table).init.expect("an initializer");
        let Some(Const::Aggregate(vtables)) = module.as_const(table) else {
            panic!("not an array");
        };
        let candidates = (candidates.iter())
            .map(|&(vtable, callee)| (vtables[vtable], named(&module, callee)))
            .collect();
        let k = module.as_func(named(&module, "k")).expect("a function");
        let all =
            (module.func(k).blocks.iter()).flat_map(|&block| module.block(block).insts.clone());
        let kind = |inst: &Value| module.inst(*inst).map(|data| &data.kind);
        let call = all
            .clone()
            .find(|inst| matches!(kind(inst), Some(InstKind::Call(_))))
            .expect("a call");
        let vtable = all
            .clone()
            .find_map(|inst| match kind(&inst) {
                Some(&InstKind::Gep { base, .. }) => Some(base),
                _ => None,
            })
            .expect("an address");
        let calls = vec![VirtualCall {
            call,
            vtable,
            candidates,
        }];
        call_directly(&mut module, calls);
        verify(&module).expect("a valid module");
        let written = write_module(&module, Dialect::Modern);
        let start = written.find("define i32 @k").expect("the function");
        written[start..].to_owned()
    }

    #[test]
    fn calls_become_direct() {
        let new = replaced(TEXT, &[(0, "a"), (2, "a"), (1, "b")]);
        for part in [
            // `%vtable` is compared with both vtables of `@a`, and not with that of `@b`.
            "icmp eq ptr addrspace(1) %0, @vtable_a",
            "icmp eq ptr addrspace(1) %0, @vtable_c",
            "call i32 @a(ptr %x)",
            "call i32 @b(ptr %x)",
        ] {
            assert_eq!(new.matches(part).count(), 1, "{part}\n{new}");
        }
        assert!(!new.contains("@vtable_b"), "{new}");
        assert_eq!(new.matches("call i32").count(), 2, "{new}");
        // The loop is entered from another block, and the local variable is allocated in the first.
        assert!(
            new.contains("[ %result, %after ], [ %sum, %loop ]"),
            "{new}"
        );
        assert!(
            new.find("alloca") < new.find("icmp eq ptr") && new.contains("%result = phi i32"),
            "{new}"
        );
    }

    #[test]
    fn one_callee_needs_no_comparison() {
        let new = replaced(TEXT, &[(0, "a"), (1, "a")]);
        assert!(new.contains("%result = call i32 @a(ptr %x)"), "{new}");
        assert!(!new.contains("icmp eq ptr"), "{new}");
    }

    #[test]
    fn results_may_be_void() {
        let text = TEXT
            .replace("%result = call i32 %method", "call void %method")
            .replace("%result", "1")
            .replace(
                "internal i32 @a(ptr %x) {\nstart:\n  ret i32 1",
                "internal void @a(ptr %x) {\nstart:\n  ret void",
            );
        let new = replaced(&text, &[(0, "a"), (1, "other")]);
        assert_eq!(new.matches("call void @").count(), 2, "{new}");
        assert!(!new.contains("call void %"), "{new}");
    }

    #[test]
    fn other_signatures_and_spaces_remain() {
        for (text, candidates) in [
            (TEXT.to_owned(), [(0, "a"), (1, "other")]),
            // A vtable that is not in global memory.
            (
                TEXT.replace(
                    "@vtable_a = internal addrspace(1)",
                    "@vtable_a = internal addrspace(4)",
                )
                .replace("addrspace(1) @vtable_a", "addrspace(4) @vtable_a"),
                [(0, "a"), (1, "b")],
            ),
        ] {
            let new = replaced(&text, &candidates);
            assert!(new.contains("call i32 %method(ptr %x)"), "{new}");
            assert!(!new.contains("icmp eq ptr"), "{new}");
        }
        assert!(replaced(TEXT, &[]).contains("call i32 %method(ptr %x)"));
    }
}
