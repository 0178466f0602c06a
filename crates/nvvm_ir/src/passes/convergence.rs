//! `convergence`, which keeps libnvvm from duplicating operations that the threads of a warp
//! execute together.

use std::collections::HashMap;

use crate::inst::{Call, Callee, InstKind};
use crate::module::{Linkage, Module};
use crate::types::Type;
use crate::uses::{Symbol, SymbolWalk};
use crate::value::{Const, Func, Value, ValueKind};

/// Marks as `convergent` exactly the functions that can reach a convergent operation, and the calls
/// of them. Convergent operations are inline PTX marked `convergent` and declared functions marked
/// `convergent` (barriers and shuffles, as `llvm.nvvm.…`).
///
/// LLVM duplicates a call that is not `convergent`, for example one arm of a branch in a loop into
/// both versions of the loop. If the callee waits at a barrier, threads of one warp then wait at
/// different copies of it. A call through a pointer may reach each function with the same signature
/// whose address is taken; if the module has no such function, it may reach any operation. A
/// function that cannot reach a convergent operation must not be marked, because LLVM does not
/// unroll loops of unknown length around a `convergent` call.
pub fn convergence(module: &mut Module) {
    let mut graph = CallGraph::of(module);
    graph.propagate();
    for func in module.funcs() {
        if module.func(func).blocks.is_empty() {
            continue;
        }
        module.func_mut(func).attrs.convergent = graph.reached[func.0 as usize];
        for block in module.func(func).blocks.clone() {
            for inst in module.block(block).insts.clone() {
                let Some(InstKind::Call(call)) = module.inst(inst).map(|data| &data.kind) else {
                    continue;
                };
                let convergent = match target(module, call) {
                    Target::Func(func) => graph.reached[func.0 as usize],
                    Target::Pointer => graph.reached[graph.pointers[&call.sig]],
                    Target::Asm { convergent } => convergent,
                    Target::Intrinsic => false,
                };
                if let Some(call) = module.call_mut(inst) {
                    call.convergent = convergent;
                }
            }
        }
    }
}

/// The target of a call.
enum Target {
    Func(Func),
    Pointer,
    Asm { convergent: bool },
    Intrinsic,
}

fn target(module: &Module, call: &Call) -> Target {
    match &call.callee {
        Callee::Value(value) => match called_func(module, *value) {
            Some(func) => Target::Func(func),
            None => Target::Pointer,
        },
        Callee::Asm(asm) => Target::Asm {
            convergent: asm.convergent,
        },
        Callee::Intrinsic(_) => Target::Intrinsic,
    }
}

/// Returns the function that a callee is, unless it is a pointer known only at run time.
fn called_func(module: &Module, callee: Value) -> Option<Func> {
    match module.value(callee).kind {
        ValueKind::Func(func) => Some(func),
        ValueKind::Const(Const::Addr { base, offset: 0 }) => module.as_func(base),
        _ => None,
    }
}

/// The call graph. A node is a function, numbered by its handle, or all function pointers of one
/// signature.
struct CallGraph {
    callers: Vec<Vec<usize>>,
    pointers: HashMap<Type, usize>,
    /// The nodes that can reach a convergent operation.
    reached: Vec<bool>,
}

impl CallGraph {
    fn of(module: &Module) -> Self {
        let mut graph = CallGraph {
            callers: vec![Vec::new(); module.funcs.len()],
            pointers: HashMap::new(),
            reached: vec![false; module.funcs.len()],
        };
        let mut taken = vec![false; module.funcs.len()];
        let mut walk = SymbolWalk::new(module);
        let mut take = |symbol| {
            if let Symbol::Func(func) = symbol {
                taken[func.0 as usize] = true;
            }
        };
        for global in module.globals() {
            if let Some(init) = module.global(global).init {
                walk.walk(module, init, &mut take);
            }
        }
        for func in module.funcs() {
            let data = module.func(func);
            // Inline PTX calls functions by symbol; such functions are external for this reason.
            let named = data.linkage != Linkage::Internal && data.kernel.is_none();
            if data.blocks.is_empty() {
                graph.reached[func.0 as usize] = data.attrs.convergent;
            } else if named {
                take(Symbol::Func(func));
            }
            for &block in &data.blocks {
                for &inst in &module.block(block).insts {
                    let Some(inst) = module.inst(inst) else {
                        continue;
                    };
                    let mut direct = None;
                    if let InstKind::Call(call) = &inst.kind {
                        match (target(module, call), &call.callee) {
                            (Target::Func(callee), &Callee::Value(value)) => {
                                graph.callers[callee.0 as usize].push(func.0 as usize);
                                direct = Some(value);
                            }
                            (Target::Pointer, _) => {
                                let node = graph.pointers_of(call.sig);
                                graph.callers[node].push(func.0 as usize);
                            }
                            (Target::Asm { convergent: true }, _) => {
                                graph.reached[func.0 as usize] = true;
                            }
                            _ => {}
                        }
                    }
                    let mut first = true;
                    inst.kind.for_each_operand(|operand| {
                        // The callee is a call's first operand.
                        let callee = std::mem::take(&mut first) && direct == Some(operand);
                        let local = matches!(
                            module.value(operand).kind,
                            ValueKind::Inst(_) | ValueKind::Param(..)
                        );
                        if !callee && !local {
                            walk.walk(module, operand, &mut take);
                        }
                    });
                }
            }
        }
        graph.add_pointees(module, &taken);
        graph
    }

    fn pointers_of(&mut self, sig: Type) -> usize {
        *self.pointers.entry(sig).or_insert_with(|| {
            self.callers.push(Vec::new());
            self.reached.push(false);
            self.callers.len() - 1
        })
    }

    /// Adds edges from calls through pointers to the functions whose addresses are taken.
    fn add_pointees(&mut self, module: &Module, taken: &[bool]) {
        let mut known = vec![false; self.reached.len()];
        for func in module.funcs().filter(|func| taken[func.0 as usize]) {
            if let Some(&node) = self.pointers.get(&module.func(func).sig) {
                self.callers[func.0 as usize].push(node);
                known[node] = true;
            }
        }
        for &node in self.pointers.values() {
            self.reached[node] |= !known[node];
        }
    }

    /// Extends `reached` to all nodes that reach one of its nodes.
    fn propagate(&mut self) {
        let mut queue: Vec<usize> = (0..self.reached.len())
            .filter(|&node| self.reached[node])
            .collect();
        while let Some(node) = queue.pop() {
            for &caller in &self.callers[node] {
                if !std::mem::replace(&mut self.reached[caller], true) {
                    queue.push(caller);
                }
            }
        }
    }
}
