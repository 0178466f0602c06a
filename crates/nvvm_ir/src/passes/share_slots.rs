//! `share_slots`, which lets stack slots that are never live at the same time share memory.

mod access;
mod live;
mod place;
mod split;

use std::collections::{HashMap, HashSet};

use super::parameters::{add_parameter, only_called};
use crate::graph::{cycles, postorder};
use crate::inst::{Callee, InstKind, ParamAttrs};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::uses::{all_calls, calls_of};
use crate::value::{Func, Value};
use access::Params;
pub(crate) use live::{Copied, copied_locals};
use live::{Frame, analyze, slots};
use place::{Layout, place};
use split::split_slots;

/// Which stack slots [`share_slots`] lets share memory.
#[derive(Copy, Clone, Debug)]
pub struct SlotSharing {
    /// Slots of up to this many bytes keep their own memory, because libnvvm may promote them to
    /// registers.
    pub keep: u64,
    /// Frames of up to this many bytes, including all functions that may be inlined into them, are
    /// unchanged: libnvvm's alias analysis distinguishes separate variables, but not parts of one.
    pub frame: u64,
    /// Whether functions that are not inlined take their slots from the caller too.
    pub across_calls: bool,
}

impl SlotSharing {
    /// Settings for code that libnvvm optimizes. libnvvm does not split variables of more than 1
    /// KiB into registers (`-sroa-size-limit` in the crate `nvvm`).
    pub const fn optimized(frame: u64) -> SlotSharing {
        SlotSharing {
            keep: 1024,
            frame,
            across_calls: false,
        }
    }

    /// Settings for code that libnvvm does not optimize.
    pub const fn unoptimized(frame: u64) -> SlotSharing {
        SlotSharing {
            keep: 32,
            frame,
            across_calls: true,
        }
    }
}

/// Lets large stack slots that are never live at the same time share memory, across calls too.
///
/// libnvvm must not do this: its stack coloring relies on `llvm.lifetime` markers, which other
/// libnvvm passes do not respect. It also runs too late for inlined code: a value that is moved
/// through N inlined functions has N slots in one frame.
///
/// Instead, this pass makes the slots of a function parts of one block of memory, the arena. A
/// function that is only called directly gets its arena from its caller, as an additional last
/// parameter: a part of the caller's arena, next to the slots that are live at the call. All other
/// functions (kernels, functions whose address is taken, recursive ones) have an arena of their
/// own, an `alloca`. It then no longer matters whether a function is inlined. Two slots overlap
/// only if the analysis in `live` proves that no instruction finds both live, or if one belongs
/// to a callee and the other is dead at the call.
///
/// Before that, slots whose parts are accessed separately, such as tuples of arguments, are split
/// by `split`. Slots also reuse the memory behind parameters: that of arguments that have been
/// moved from, and that of results that have not been written yet.
///
/// The lifetime markers of slots in an arena are removed: to libnvvm an arena is an ordinary
/// variable, which lives as long as its function.
pub fn share_slots(module: &mut Module, sharing: SlotSharing) {
    let shared = takers(module, sharing);
    let funcs: Vec<Func> = module.funcs().collect();
    let order = callees_first(module, &funcs, &shared);
    let apart = apart(module, &order, &shared, sharing.keep);
    let is_large = |func: &&Func| {
        let size = apart.get(func).copied().unwrap_or(0);
        !shared.contains(func) && size > sharing.frame
    };
    let roots: Vec<Func> = funcs.iter().filter(is_large).copied().collect();
    if roots.is_empty() {
        return;
    }
    let params = Params::new(module, &shared);
    for func in reached(module, &roots, &shared) {
        split_slots(module, func, &params, sharing.keep);
    }
    let mut frames: HashMap<Func, Frame> = HashMap::new();
    let mut layouts: HashMap<Func, Layout> = HashMap::new();
    for &func in &order {
        let has_arena = |callee| shared.contains(&callee) && layouts.contains_key(&callee);
        let frame = analyze(module, func, sharing.keep, &params, &has_arena);
        if frame.slots.is_empty() && frame.calls.is_empty() {
            continue;
        }
        layouts.insert(func, place(&frame, &layouts));
        frames.insert(func, frame);
    }
    // The functions with their own arenas decide whether sharing saves enough.
    let pays = |func: &Func| {
        let (Some(&apart), Some(layout)) = (apart.get(func), layouts.get(func)) else {
            return false;
        };
        u128::from(layout.size) * 4 <= u128::from(apart) * 3
    };
    let mut chosen: HashSet<Func> = HashSet::new();
    let mut open: Vec<Func> = roots.into_iter().filter(pays).collect();
    while let Some(func) = open.pop() {
        if chosen.insert(func) {
            open.extend(frames[&func].calls.iter().map(|call| call.callee));
        }
    }
    // A caller of a function that takes an arena needs an arena too.
    loop {
        let more: Vec<Func> = (frames.iter())
            .filter(|(func, frame)| {
                let mut callees = frame.calls.iter().map(|call| call.callee);
                !chosen.contains(func) && callees.any(|callee| chosen.contains(&callee))
            })
            .map(|(&func, _)| func)
            .collect();
        if more.is_empty() {
            break;
        }
        // The callees of such a caller take an arena too, if they have slots.
        open.extend(more);
        while let Some(func) = open.pop() {
            if chosen.insert(func) {
                open.extend(frames[&func].calls.iter().map(|call| call.callee));
            }
        }
    }
    // In the order of the module rather than of the hash map, so that the output is deterministic.
    let takers: Vec<Func> = (funcs.iter().copied())
        .filter(|func| chosen.contains(func) && shared.contains(func))
        .collect();
    for &func in &takers {
        let data = module.func_mut(func);
        for (&param, attrs) in data.params.iter().zip(&mut data.param_attrs) {
            attrs.readonly &= !params.is_owned(param);
        }
        let attrs = ParamAttrs {
            nonnull: true,
            align: layouts[&func].align,
            ..ParamAttrs::default()
        };
        add_parameter(module, func, "arena", attrs);
    }
    for func in funcs.into_iter().filter(|func| chosen.contains(func)) {
        let arena = if shared.contains(&func) {
            *module.func(func).params.last().expect("it was added")
        } else {
            own_arena(module, func, &layouts[&func])
        };
        rewrite(module, func, arena, &frames[&func], &layouts[&func]);
    }
}

/// Returns the total size of each function's slots, including those of all functions that may be
/// inlined into it, without sharing.
fn apart(module: &Module, order: &[Func], shared: &HashSet<Func>, keep: u64) -> HashMap<Func, u64> {
    let mut apart: HashMap<Func, u64> = HashMap::new();
    let params = Params::unknown();
    for &func in order {
        let slots = slots(module, func, &params, keep);
        let own = slots.iter().filter(|slot| !slot.param);
        let own: u64 = own.map(|slot| slot.size).sum();
        let callees = calls_of(module, func).into_iter();
        let callees = callees.filter(|callee| shared.contains(callee));
        let of_calls = callees.filter_map(|callee| apart.get(&callee));
        let size = of_calls.fold(own, |sum, &size| sum.saturating_add(size));
        if size > 0 {
            apart.insert(func, size);
        }
    }
    apart
}

/// Returns the functions that have an arena if `roots` have one, in the order of the module.
fn reached(module: &Module, roots: &[Func], shared: &HashSet<Func>) -> Vec<Func> {
    let mut reached: HashSet<Func> = HashSet::new();
    let mut open: Vec<Func> = roots.to_vec();
    while let Some(func) = open.pop() {
        if reached.insert(func) {
            let callees = calls_of(module, func).into_iter();
            open.extend(callees.filter(|callee| shared.contains(callee)));
        }
    }
    module
        .funcs()
        .filter(|func| reached.contains(func))
        .collect()
}

/// Returns the functions that may take an arena from their callers: those that are only called
/// directly and not recursive.
fn takers(module: &Module, sharing: SlotSharing) -> HashSet<Func> {
    let mut takers = only_called(module);
    takers.retain(|&func| {
        let attrs = &module.func(func).attrs;
        let stays = attrs.no_inline && !sharing.across_calls;
        !(stays || attrs.read_none)
    });
    let calls = all_calls(module);
    let cycles = cycles(calls.len(), |func, i| Some(calls[func].get(i)?.0 as usize));
    for func in cycles.into_iter().flatten() {
        takers.remove(&Func(func as u32));
    }
    takers
}

/// Returns all functions; functions that take an arena precede their callers.
fn callees_first(module: &Module, funcs: &[Func], shared: &HashSet<Func>) -> Vec<Func> {
    let mut calls = all_calls(module);
    for callees in &mut calls {
        callees.retain(|func| shared.contains(func));
    }
    let roots = funcs.iter().map(|func| func.0 as usize);
    let order = postorder(calls.len(), roots, |func, i| {
        Some(calls[func].get(i)?.0 as usize)
    });
    order.into_iter().map(|func| Func(func as u32)).collect()
}

/// Creates a function's own arena.
fn own_arena(module: &mut Module, func: Func, layout: &Layout) -> Value {
    let i64 = module.types.int(64);
    let array = module.types.array(i64, layout.size.div_ceil(8));
    // In a struct, because LLVM's inliner merges array allocas of different call sites.
    let ty = module.types.structure(&[array], false);
    let entry = module.func(func).blocks[0];
    let ptr = module.types.ptr();
    let kind = InstKind::Alloca {
        ty,
        count: None,
        align: layout.align,
    };
    let arena = module.push_inst(entry, ptr, kind, None);
    module.value_mut(arena).name = Some("arena".into());
    // Before all values that are derived from it.
    let insts = &mut module.block_mut(entry).insts;
    insts.rotate_right(1);
    arena
}

/// Replaces a function's slots with parts of its arena, and passes parts of the arena to calls.
fn rewrite(module: &mut Module, func: Func, arena: Value, frame: &Frame, layout: &Layout) {
    let i8 = module.types.int(8);
    let address = |module: &mut Module, base: Value, offset: u64| InstKind::Gep {
        element: i8,
        base,
        indices: vec![module.const_i64(offset as i64)],
        inbounds: true,
    };
    let slots: HashSet<Value> = frame.slots.iter().map(|slot| slot.value).collect();
    for (i, (slot, &offset)) in frame.slots.iter().zip(&layout.slots).enumerate() {
        if slot.param {
            continue;
        }
        let whole = &frame.slots[frame.whole(i).0];
        let base = if whole.param { whole.value } else { arena };
        let kind = address(module, base, offset);
        module
            .inst_mut(slot.value)
            .expect("a slot is an instruction")
            .kind = kind;
    }
    let entry = module.func(func).blocks[0];
    let mut parts = Vec::new();
    for (call, &offset) in frame.calls.iter().zip(&layout.calls) {
        let kind = address(module, arena, offset);
        let ptr = module.types.ptr();
        let part = module.push_inst(entry, ptr, kind, None);
        parts.push(module.block_mut(entry).insts.pop().expect("it was pushed"));
        let callee = module.func(call.callee);
        let sig = callee.sig;
        // The callee may write to these arguments; see `Params::is_owned`.
        let may_write = |attrs: &ParamAttrs| attrs.by_value.is_some() && !attrs.readonly;
        let written: Vec<bool> = callee.param_attrs.iter().map(may_write).collect();
        let Some(call) = module.call_mut(call.inst) else {
            continue;
        };
        call.sig = sig;
        call.args.push(part);
        if !call.arg_attrs.is_empty() {
            for (attrs, owned) in call.arg_attrs.iter_mut().zip(written) {
                attrs.readonly &= !owned;
            }
            call.arg_attrs.push(ParamAttrs::default());
        }
    }
    // After the arena, before the first call.
    let insts = &mut module.block_mut(entry).insts;
    let at = insts
        .iter()
        .position(|&inst| inst == arena)
        .map_or(0, |at| at + 1);
    insts.splice(at..at, parts);
    let is_marker = |module: &Module, inst: Value| match module.inst(inst).map(|inst| &inst.kind) {
        Some(InstKind::Call(call)) => {
            matches!(
                call.callee,
                Callee::Intrinsic(Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd)
            ) && slots.contains(&call.args[1])
        }
        _ => false,
    };
    let copies: HashSet<Value> = frame.copies.iter().copied().collect();
    for block in module.func(func).blocks.clone() {
        let insts = std::mem::take(&mut module.block_mut(block).insts);
        let insts = insts
            .into_iter()
            .filter(|&inst| !is_marker(module, inst) && !copies.contains(&inst));
        let insts = insts.collect();
        module.block_mut(block).insts = insts;
    }
    // The variables that a debugger shows are declared after the allocas at the start.
    let insts = std::mem::take(&mut module.block_mut(entry).insts);
    let is_alloca = |&inst: &Value| {
        let kind = module.inst(inst).map(|inst| &inst.kind);
        matches!(kind, Some(InstKind::Alloca { count: None, .. }))
    };
    let (mut allocas, others): (Vec<Value>, Vec<Value>) = insts.into_iter().partition(is_alloca);
    allocas.extend(others);
    module.block_mut(entry).insts = allocas;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inst::ByValue;
    use crate::read::read_module;
    use crate::verify::verify;
    use crate::write::{Dialect, write_module};

    /// Returns the module after slot sharing. Parameters `%argN` and `%resultN` of functions
    /// represent values of `N` bytes.
    fn shared(text: &str) -> String {
        let text = format!("declare void @use(ptr)\ndeclare void @look(ptr nocapture)\n{text}");
        let mut module = read_module(&text).unwrap_or_else(|err| panic!("{err}\n{text}"));
        for func in module.funcs() {
            for i in 0..module.func(func).params.len() {
                let param = module.func(func).params[i];
                let name = module.value(param).name.clone().unwrap_or_default();
                let size = |prefix: &str| name.strip_prefix(prefix)?.parse().ok();
                module.func_mut(func).param_attrs[i].by_value = size("arg")
                    .map(ByValue::Argument)
                    .or(size("result").map(ByValue::Result));
            }
        }
        share_slots(&mut module, SlotSharing::optimized(4096));
        verify(&module).expect("the pass leaves what the verifier accepts");
        write_module(&module, Dialect::Modern)
    }

    /// Returns a function with this parameter and two slots of 3200 bytes that are live at the same
    /// time.
    fn with_param(param: &str, before: &str, after: &str) -> String {
        shared(&format!(
            "define void @f(ptr {param}) {{\nstart:\n  %a = alloca [400 x i64], align 8\n  \
             %b = alloca [400 x i64], align 8\n{before}\n  call void @look(ptr %a)\n  \
             call void @look(ptr %b)\n  call void @look(ptr %a)\n{after}\n  ret void\n}}\n"
        ))
    }

    fn uses(text: &str, param: &str) -> bool {
        text.contains(&format!("getelementptr inbounds i8, ptr %{param}, i64 0"))
    }

    #[test]
    fn slots_use_the_memory_behind_parameters() {
        let arg = with_param("align 8 %arg3200", "  call void @look(ptr %arg3200)", "");
        assert!(uses(&arg, "arg3200"), "{arg}");
        assert!(arg.contains("alloca { [400 x i64] }"), "{arg}");
        let write = "  store i8 1, ptr %result3200, align 1";
        let result = with_param("align 8 %result3200", "", write);
        assert!(uses(&result, "result3200"), "{result}");
    }

    #[test]
    fn parameters_that_are_live_or_too_small_are_not_reused() {
        let (look, keep) = (
            "  call void @look(ptr %arg3200)",
            "  call void @use(ptr %arg3200)",
        );
        let result = "  store i8 1, ptr %result3200, align 1";
        for (param, before, after) in [
            ("align 8 %arg3200", "", look),
            ("align 8 %arg3200", keep, ""),
            ("align 8 %result3200", result, ""),
            ("align 4 %arg3200", look, ""),
            ("align 8 %arg3199", "", ""),
            // The memory must not be written.
            ("readonly align 8 %arg3200", look, ""),
            // Not passed by value.
            ("align 8 %p", "", ""),
        ] {
            let text = with_param(param, before, after);
            let name = param.rsplit('%').next().expect("it has a name");
            assert!(!uses(&text, name), "{param} {before} {after}\n{text}");
        }
    }

    #[test]
    fn addresses_behind_nocapture_parameters_are_not_captured() {
        let text = |param: &str| {
            shared(&format!(
                "define void @f(ptr {param}) {{\nstart:\n  %a = alloca [400 x i64], align 8\n  \
                 %b = alloca [400 x i64], align 8\n  call void @look(ptr %arg3200)\n  \
                 call void @llvm.lifetime.start.p0(i64 3200, ptr %a)\n  \
                 call void @use(ptr %a)\n  \
                 call void @llvm.lifetime.end.p0(i64 3200, ptr %a)\n  \
                 call void @llvm.lifetime.start.p0(i64 3200, ptr %b)\n  \
                 call void @use(ptr %b)\n  \
                 call void @llvm.lifetime.end.p0(i64 3200, ptr %b)\n  ret void\n}}\n"
            ))
        };
        let kept = text("align 8 %arg3200");
        assert!(uses(&kept, "arg3200"), "{kept}");
        let not_kept = text("nocapture align 8 %arg3200");
        assert!(!uses(&not_kept, "arg3200"), "{not_kept}");
    }

    #[test]
    fn allocas_stay_at_the_start() {
        let turn = |slot: &str| {
            format!(
                "  call void @llvm.lifetime.start.p0(i64 3200, ptr %{slot})\n  \
                 call void @use(ptr %{slot})\n  \
                 call void @llvm.lifetime.end.p0(i64 3200, ptr %{slot})\n"
            )
        };
        let function = |head: &str, call: &str| {
            format!(
                "define {head}() {{\nstart:\n  %a = alloca [400 x i64], align 8\n  \
                 %v = alloca i64, align 8\n  %b = alloca [400 x i64], align 8\n{}{call}{}  \
                 call void @use(ptr %v)\n  ret void\n}}\n",
                turn("a"),
                turn("b")
            )
        };
        let text = shared(&format!(
            "{}{}",
            function("internal void @inner", ""),
            function("void @outer", "  call void @inner()\n")
        ));
        assert!(text.contains("i8, ptr %arena"), "{text}");
        for function in text.split("start:\n").skip(1) {
            let lines = function.lines().skip_while(|line| line.contains("alloca"));
            let late = lines.filter(|line| line.contains("alloca")).count();
            assert_eq!(late, 0, "{text}");
        }
    }

    #[test]
    fn owned_arguments_lose_readonly() {
        let text = shared(
            "define internal void @inner(ptr readonly align 8 %arg3200) {\nstart:\n  \
             %a = alloca [400 x i64], align 8\n  \
             call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %arg3200, i64 3200, i1 false)\n  \
             call void @look(ptr %a)\n  ret void\n}\n\
             define void @outer() {\nstart:\n  %a = alloca [400 x i64], align 8\n  \
             call void @look(ptr %a)\n  call void @inner(ptr readonly %a)\n  ret void\n}\n",
        );
        assert!(uses(&text, "arg3200"), "{text}");
        assert!(!text.contains("readonly"), "{text}");
        assert!(!text.contains("memcpy.p0.p0.i64(ptr %"), "{text}");
    }
}
