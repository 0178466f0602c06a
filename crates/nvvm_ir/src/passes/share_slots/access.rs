//! Analyzes how a function uses the memory behind an address: which bytes it accesses, and whether
//! it captures the address.

use std::collections::{HashMap, HashSet};

use crate::graph::postorder;
use crate::inst::{ByValue, Call, Callee, CastOp, InstKind, ParamAttrs};
use crate::intrinsic::Intrinsic;
use crate::module::{Linkage, Module};
use crate::types::TypeKind;
use crate::uses::all_calls;
use crate::value::{Const, Func, Value};

use super::live::direct_callee;

/// How an instruction uses an address.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Computes another address in the same object.
    Derive,
    /// Marks the start or the end of the object's lifetime.
    Mark,
    /// Accesses no more than this many bytes starting at the address, and does not capture it.
    Bytes(u64),
    /// Accesses arbitrary bytes of the object, and does not capture the address.
    Anywhere,
    /// Anything else: the address may be captured.
    Keep,
}

/// How functions use their parameters.
pub(super) struct Params {
    /// The uses found in function bodies.
    accesses: HashMap<Func, Vec<Access>>,
    /// See [`Params::is_owned`].
    owned: HashSet<Value>,
}

impl Params {
    /// Creates the analysis without function bodies: only attributes describe the parameters.
    pub(super) fn unknown() -> Params {
        Params {
            accesses: HashMap::new(),
            owned: HashSet::new(),
        }
    }

    /// Analyzes the bodies of all functions, callees first. For mutually recursive functions only
    /// the attributes are known. `shared` are the functions that may take an arena.
    pub(super) fn new(module: &Module, shared: &HashSet<Func>) -> Params {
        let mut params = Params::unknown();
        params.owned = owned(module, shared);
        let calls = all_calls(module);
        let funcs = module.funcs().map(|func| func.0 as usize);
        let order = postorder(calls.len(), funcs, |func, i| {
            Some(calls[func].iter().rev().nth(i)?.0 as usize)
        });
        for func in order {
            params.add(module, Func(func as u32));
        }
        params
    }

    fn add(&mut self, module: &Module, func: Func) {
        let data = module.func(func);
        // Another definition may replace a weak function.
        if data.blocks.is_empty() || data.linkage == Linkage::Weak {
            return;
        }
        let origins = origins(module, func, &data.params);
        let mut accesses = vec![Access::Bytes(0); data.params.len()];
        for &block in &data.blocks {
            for &inst in &module.block(block).insts {
                self.for_each_access(module, inst, |value, access| {
                    let Some(origin) = origins.get(&value) else {
                        return;
                    };
                    let access = match (access, origin.at) {
                        (Access::Derive, _) => return,
                        (Access::Bytes(len), Some(at)) => Access::Bytes(at + len),
                        (Access::Bytes(_) | Access::Anywhere, _) => Access::Anywhere,
                        (Access::Mark | Access::Keep, _) => Access::Keep,
                    };
                    for &param in &origin.of {
                        accesses[param] = accesses[param].or(access);
                    }
                });
            }
        }
        self.accesses.insert(func, accesses);
    }

    /// Returns whether a function may write to the memory behind its parameter although the
    /// parameter is `readonly`: the parameter is an argument passed by value, and no caller relies
    /// on `readonly`. The attribute must then be removed.
    pub(super) fn is_owned(&self, param: Value) -> bool {
        self.owned.contains(&param)
    }

    /// Returns how a call uses its `i`th argument.
    pub(super) fn of_argument(&self, module: &Module, call: &Call, i: usize) -> Access {
        let callee = direct_callee(module, call);
        let declared = callee.and_then(|callee| module.func(callee).param_attrs.get(i));
        let attrs = || declared.into_iter().chain(call.arg_attrs.get(i));
        let by_value = |attrs: &ParamAttrs| match attrs.by_value? {
            ByValue::Argument(size) | ByValue::Result(size) => Some(size),
        };
        if let Some(size) = attrs().find_map(by_value) {
            return Access::Bytes(size);
        }
        let known = callee
            .filter(|&callee| module.func(callee).sig == call.sig)
            .and_then(|callee| self.accesses.get(&callee)?.get(i).copied())
            .unwrap_or(Access::Keep);
        match known {
            Access::Keep if attrs().any(|attrs| attrs.nocapture) => Access::Anywhere,
            known => known,
        }
    }

    /// Calls `f` with each operand of an instruction and how the instruction uses the operand as an
    /// address.
    pub(super) fn for_each_access(
        &self,
        module: &Module,
        inst: Value,
        mut f: impl FnMut(Value, Access),
    ) {
        let Some(data) = module.inst(inst) else {
            return;
        };
        let bytes = |plain: bool, value: Value| match plain {
            true => Access::Bytes(module.types.size(module.ty(value))),
            false => Access::Anywhere,
        };
        match &data.kind {
            InstKind::Load { ptr, access } => {
                f(
                    *ptr,
                    bytes(!access.volatile && access.atomic.is_none(), inst),
                );
            }
            InstKind::Store { value, ptr, access } => {
                f(
                    *ptr,
                    bytes(!access.volatile && access.atomic.is_none(), *value),
                );
                f(*value, Access::Keep);
            }
            InstKind::AtomicRmw { ptr, value, .. } => {
                f(*ptr, Access::Anywhere);
                f(*value, Access::Keep);
            }
            InstKind::CmpXchg {
                ptr, expected, new, ..
            } => {
                f(*ptr, Access::Anywhere);
                f(*expected, Access::Keep);
                f(*new, Access::Keep);
            }
            InstKind::Gep { base, indices, .. } => {
                f(*base, Access::Derive);
                indices.iter().for_each(|&index| f(index, Access::Keep));
            }
            InstKind::Cast {
                op: CastOp::Bitcast | CastOp::AddrSpaceCast,
                value,
            }
            | InstKind::Freeze(value) => f(*value, Access::Derive),
            InstKind::Select {
                cond,
                then,
                otherwise,
            } => {
                f(*cond, Access::Keep);
                f(*then, Access::Derive);
                f(*otherwise, Access::Derive);
            }
            InstKind::Phi(incoming) => {
                (incoming.iter()).for_each(|&(value, _)| f(value, Access::Derive));
            }
            InstKind::Call(call) => match &call.callee {
                Callee::Intrinsic(intrinsic) => {
                    let addresses = match intrinsic {
                        Intrinsic::Memcpy | Intrinsic::Memmove => 0..2,
                        Intrinsic::Memset => 0..1,
                        Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd => {
                            call.args.iter().for_each(|&arg| f(arg, Access::Mark));
                            return;
                        }
                        _ => 0..0,
                    };
                    // The last two arguments: the length in bytes, and whether the access is
                    // volatile.
                    let len = match call.args[..] {
                        [_, _, len, volatile] if int(module, volatile) == Some(0) => {
                            int(module, len)
                        }
                        _ => None,
                    };
                    for (i, &arg) in call.args.iter().enumerate() {
                        let access = match len {
                            _ if !addresses.contains(&i) => Access::Keep,
                            Some(len) => Access::Bytes(len),
                            None => Access::Anywhere,
                        };
                        f(arg, access);
                    }
                }
                Callee::Value(callee) => {
                    f(*callee, Access::Keep);
                    for (i, &arg) in call.args.iter().enumerate() {
                        f(arg, self.of_argument(module, call, i));
                    }
                }
                Callee::Asm(_) => call.args.iter().for_each(|&arg| f(arg, Access::Keep)),
            },
            kind => kind.for_each_operand(|operand| f(operand, Access::Keep)),
        }
    }
}

impl Access {
    /// Combines two uses.
    fn or(self, other: Access) -> Access {
        match (self, other) {
            (Access::Bytes(a), Access::Bytes(b)) => Access::Bytes(a.max(b)),
            (Access::Bytes(_) | Access::Anywhere, Access::Bytes(_) | Access::Anywhere) => {
                Access::Anywhere
            }
            _ => Access::Keep,
        }
    }
}

/// Returns the `readonly` parameters of functions in `shared` that are arguments passed by value
/// and whose memory is always a variable of a caller, or such a parameter of a caller.
fn owned(module: &Module, shared: &HashSet<Func>) -> HashSet<Value> {
    let by_value = |func: Func, i: usize| {
        let attrs = &module.func(func).param_attrs[i];
        matches!(attrs.by_value, Some(ByValue::Argument(_)))
    };
    let mut owned: HashSet<Value> = HashSet::new();
    for &func in shared {
        let data = module.func(func);
        let params = (data.params.iter().zip(&data.param_attrs).enumerate())
            .filter(|&(i, (_, attrs))| attrs.readonly && by_value(func, i));
        owned.extend(params.map(|(_, (&param, _))| param));
    }
    // Pairs of a parameter and the caller's parameter that is passed for it.
    let mut passed: Vec<(Value, Value)> = Vec::new();
    for func in module.funcs() {
        let data = module.func(func);
        let insts = || {
            let blocks = data.blocks.iter();
            blocks.flat_map(|&block| module.block(block).insts.iter().copied())
        };
        let mut bases = data.params.clone();
        bases.extend(insts().filter(|&inst| {
            matches!(module.inst(inst), Some(inst) if matches!(inst.kind, InstKind::Alloca { .. }))
        }));
        let mut known = None;
        for inst in insts() {
            let Some(InstKind::Call(call)) = module.inst(inst).map(|inst| &inst.kind) else {
                continue;
            };
            let Some(callee) = direct_callee(module, call) else {
                continue;
            };
            for (i, &param) in module.func(callee).params.iter().enumerate() {
                if !owned.contains(&param) {
                    continue;
                }
                let known = known.get_or_insert_with(|| origins(module, func, &bases));
                let origin = call.args.get(i).and_then(|arg| known.get(arg));
                match origin.map(|origin| &origin.of[..]) {
                    Some(&[base]) if base >= data.params.len() => {}
                    Some(&[base]) if by_value(func, base) && data.kernel.is_none() => {
                        if data.param_attrs[base].readonly {
                            passed.push((param, data.params[base]));
                        }
                    }
                    _ => {
                        owned.remove(&param);
                    }
                }
            }
        }
    }
    loop {
        let before = owned.len();
        for (param, of_caller) in &passed {
            if !owned.contains(of_caller) {
                owned.remove(param);
            }
        }
        if owned.len() == before {
            return owned;
        }
    }
}

/// The objects that an address may point into, and the address's offset in bytes if there is only
/// one object and the offset is constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub of: Vec<usize>,
    pub at: Option<u64>,
}

/// An upper bound of the size of an object.
const MAX_OFFSET: u64 = 1 << 40;

/// Returns the values of a function that are addresses in one of the objects that start at `bases`.
pub(super) fn origins(module: &Module, func: Func, bases: &[Value]) -> HashMap<Value, Origin> {
    let start = |(i, &value): (usize, &Value)| {
        let origin = Origin {
            of: vec![i],
            at: Some(0),
        };
        matches!(module.types.kind(module.ty(value)), TypeKind::Ptr(_)).then_some((value, origin))
    };
    let mut origins: HashMap<Value, Origin> = bases.iter().enumerate().filter_map(start).collect();
    // Iterates to a fixed point: a phi may precede its operands.
    let mut changed = !origins.is_empty();
    while changed {
        changed = false;
        for &block in &module.func(func).blocks {
            for &value in &module.block(block).insts {
                let Some(inst) = module.inst(value) else {
                    continue;
                };
                let Some(found) = derive(module, &inst.kind, &origins) else {
                    continue;
                };
                let old = origins.get(&value);
                let new = match old {
                    Some(old) => join(old.clone(), &found),
                    None => found,
                };
                if old != Some(&new) {
                    origins.insert(value, new);
                    changed = true;
                }
            }
        }
    }
    origins
}

fn derive(module: &Module, kind: &InstKind, origins: &HashMap<Value, Origin>) -> Option<Origin> {
    let anywhere = |origin: &Origin| Origin {
        of: origin.of.clone(),
        at: None,
    };
    match kind {
        InstKind::Gep {
            element,
            base,
            indices,
            ..
        } => {
            let origin = origins.get(base)?;
            let step = match indices[..] {
                [index] => index_of(module, index)
                    .and_then(|index| index.checked_mul(module.types.size(*element))),
                _ => None,
            };
            let at = origin.at.zip(step);
            let at = at.and_then(|(at, step)| at.checked_add(step).filter(|&at| at < MAX_OFFSET));
            Some(Origin {
                of: origin.of.clone(),
                at,
            })
        }
        InstKind::Cast {
            op: CastOp::Bitcast,
            value,
        } => origins.get(value).cloned(),
        InstKind::Cast {
            op: CastOp::AddrSpaceCast,
            value,
        }
        | InstKind::Freeze(value) => origins.get(value).map(anywhere),
        InstKind::Select {
            then, otherwise, ..
        } => {
            let of = [then, otherwise];
            let found = of.into_iter().filter_map(|value| origins.get(value));
            found.map(anywhere).reduce(|a, b| join(a, &b))
        }
        InstKind::Phi(incoming) => {
            let found = incoming.iter().filter_map(|(value, _)| origins.get(value));
            found.map(anywhere).reduce(|a, b| join(a, &b))
        }
        _ => None,
    }
}

fn join(mut a: Origin, b: &Origin) -> Origin {
    for of in &b.of {
        if !a.of.contains(of) {
            a.of.push(*of);
        }
    }
    if a.at != b.at {
        a.at = None;
    }
    a
}

/// Returns the value of a constant index that is not negative.
fn index_of(module: &Module, value: Value) -> Option<u64> {
    let bits = module.types.int_bits(module.ty(value))?;
    int(module, value).filter(|index| bits <= 64 && index >> (bits - 1) == 0)
}

/// Returns the value of an integer constant that fits.
pub(super) fn int(module: &Module, value: Value) -> Option<u64> {
    match module.as_const(value) {
        Some(&Const::Int(int)) => u64::try_from(int).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::KernelAttrs;
    use crate::read::read_module;

    fn func(module: &Module, name: &str) -> Func {
        let value = module.named(name).expect("it is defined");
        module.as_func(value).expect("it is a function")
    }

    /// Returns how `@f` uses its first parameter.
    fn access(body: &str) -> Access {
        let text = format!(
            "declare void @keep(ptr)\n\
             declare void @look(ptr nocapture)\n\
             define internal void @eight(ptr %p) {{\nstart:\n  store i64 1, ptr %p\n  ret void\n}}\n\
             define internal void @cycle(ptr %p) {{\nstart:\n  call void @cycle(ptr %p)\n  ret void\n}}\n\
             define ptr @f(ptr %p, ptr %q, i64 %i, i1 %x) {{\nstart:\n{body}\n  ret ptr null\n}}\n"
        );
        let module = read_module(&text).unwrap_or_else(|err| panic!("{err}\n{text}"));
        let params = Params::new(&module, &HashSet::new());
        params.accesses[&func(&module, "f")][0]
    }

    #[test]
    fn accesses_of_parameters() {
        let cases = [
            ("", Access::Bytes(0)),
            ("  %v = load i32, ptr %p", Access::Bytes(4)),
            ("  store ptr %q, ptr %p", Access::Bytes(8)),
            (
                "  %r = getelementptr i16, ptr %p, i64 3\n  store i8 1, ptr %r",
                Access::Bytes(7),
            ),
            (
                "  call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %p, i64 24, i1 false)",
                Access::Bytes(24),
            ),
            (
                "  %r = getelementptr i8, ptr %p, i64 8\n  call void @eight(ptr %r)",
                Access::Bytes(16),
            ),
            (
                "  %r = getelementptr i8, ptr %p, i64 %i\n  store i8 1, ptr %r",
                Access::Anywhere,
            ),
            (
                "  %r = getelementptr i8, ptr %p, i64 -1\n  store i8 1, ptr %r",
                Access::Anywhere,
            ),
            (
                "  %r = getelementptr i8, ptr %p, i32 -1\n  store i8 1, ptr %r",
                Access::Anywhere,
            ),
            (
                "  %r = select i1 %x, ptr %p, ptr %q\n  store i8 1, ptr %r",
                Access::Anywhere,
            ),
            ("  call void @look(ptr %p)", Access::Anywhere),
            ("  %v = load volatile i32, ptr %p", Access::Anywhere),
            (
                "  %v = atomicrmw add ptr %p, i64 1 monotonic",
                Access::Anywhere,
            ),
            (
                "  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %i, i1 false)",
                Access::Anywhere,
            ),
            ("  store ptr %p, ptr %q", Access::Keep),
            ("  store ptr %p, ptr %p", Access::Keep),
            ("  %v = ptrtoint ptr %p to i64", Access::Keep),
            ("  %v = icmp eq ptr %p, %q", Access::Keep),
            ("  call void @keep(ptr %p)", Access::Keep),
            ("  call void @cycle(ptr %p)", Access::Keep),
            ("  call void %p()", Access::Keep),
            ("  call void asm \"\", \"l\"(ptr %p)", Access::Keep),
            ("  ret ptr %p\nnever:", Access::Keep),
            (
                "  %r = getelementptr i8, ptr %p, i64 8\n  ret ptr %r\nnever:",
                Access::Keep,
            ),
        ];
        for (body, expected) in cases {
            assert_eq!(access(body), expected, "{body}");
        }
    }

    #[test]
    fn an_address_modified_in_a_loop_has_an_unknown_offset() {
        let body = "  br label %loop\nloop:\n  %r = phi ptr [ %p, %start ], [ %s, %loop ]\n  \
                    store i8 1, ptr %r\n  %s = getelementptr i8, ptr %r, i64 1\n  \
                    br i1 %x, label %loop, label %end\nend:";
        assert_eq!(access(body), Access::Anywhere);
    }

    /// Returns whether the callee owns its read-only argument if `@caller` passes `arg`.
    fn is_owned(arg: &str, change: impl FnOnce(&mut Module, Func)) -> bool {
        let text = format!(
            "define internal void @callee(ptr readonly %p) {{\nstart:\n  ret void\n}}\n\
             define internal void @caller(ptr readonly %p) {{\nstart:\n  \
             %a = alloca [16 x i64]\n  %in = getelementptr i8, ptr %a, i64 8\n  \
             %of = getelementptr i8, ptr %p, i64 8\n  %l = load ptr, ptr %p\n  \
             call void @callee(ptr {arg})\n  ret void\n}}\n"
        );
        let mut module = read_module(&text).unwrap_or_else(|err| panic!("{err}\n{text}"));
        let (callee, caller) = (func(&module, "callee"), func(&module, "caller"));
        for func in [callee, caller] {
            let attrs = &mut module.func_mut(func).param_attrs[0];
            attrs.by_value = Some(ByValue::Argument(64));
        }
        change(&mut module, caller);
        let shared = match module.func(caller).kernel {
            None => HashSet::from([callee, caller]),
            Some(_) => HashSet::from([callee]),
        };
        Params::new(&module, &shared).is_owned(module.func(callee).params[0])
    }

    #[test]
    fn owned_arguments() {
        for arg in ["%a", "%in", "%p", "%of"] {
            assert!(is_owned(arg, |_, _| ()), "{arg}");
        }
        // Memory that is not known to belong to the caller.
        assert!(!is_owned("%l", |_, _| ()));
        // A reference that the caller received.
        assert!(!is_owned("%of", |module, caller| {
            module.func_mut(caller).param_attrs[0].by_value = None;
        }));
        // A parameter that the caller may write to is not `readonly`.
        assert!(is_owned("%of", |module, caller| {
            module.func_mut(caller).param_attrs[0].readonly = false;
        }));
        // A parameter of a kernel, and a parameter of a function with unknown callers.
        assert!(!is_owned("%of", |module, caller| {
            module.func_mut(caller).kernel = Some(KernelAttrs::default());
        }));
        assert!(is_owned("%in", |module, caller| {
            module.func_mut(caller).kernel = Some(KernelAttrs::default());
        }));
    }
}
