//! The exchange with a current LLVM: a module as text for LLVM's optimizer, and the module
//! that the optimizer returns.
//!
//! The text is in the modern dialect, without the constructs whose meaning only libnvvm's
//! dialects define: target intrinsics (`llvm.nvvm.…`), which LLVM would replace with newer ones,
//! become unknown functions, and kernels become ordinary externally visible functions.

mod divergent_loops;
mod fold;
mod merge_locals;
mod nest_loops;
mod nests;
mod report_values;
mod split_phases;
mod test_choices;
mod unroll_swaps;
mod unroll_walks;

use std::collections::{HashMap, HashSet};

use crate::legalize::SOFT_FLOAT;
use crate::module::{Linkage, Module};
use crate::passes;
use crate::read::{ReadError, read_module};
use crate::types::{Type, TypeKind};
use crate::value::{Func, Value};
use crate::write::Dialect;

pub use report_values::{Formatted, Formatter, Messages};

/// A module as passed to LLVM.
#[derive(Debug)]
pub struct Exchange {
    /// The text.
    pub text: String,
    /// The original names of the symbols that were renamed in the text.
    names: HashMap<String, String>,
}

/// The prefix of the names of target intrinsics.
const TARGET: &str = "llvm.nvvm.";

impl Exchange {
    /// Writes a module for LLVM.
    pub fn new(module: &Module) -> Exchange {
        let hidden = module
            .funcs()
            .map(|func| module.func(func))
            .filter(|data| data.name.starts_with(TARGET))
            .map(|data| (data.value, hidden_name(&data.name)))
            .collect();
        let (text, renamed) = crate::write::write_for_llvm(module, hidden);
        let names = renamed
            .into_iter()
            .map(|(value, name)| (name, name_of(module, value).to_owned()))
            .collect();
        Exchange { text, names }
    }

    /// Runs all passes on LLVM's output after it has inlined functions and before it unrolls loops:
    /// [`Exchange::report_values`] if there are messages, the others, and
    /// [`Exchange::defer_unrolling`] if `defers` is true.
    ///
    /// # Errors
    /// The text uses something of LLVM's that has no place in [`Module`].
    pub fn before_unrolling(
        text: &str,
        messages: Option<&Messages>,
        defers: bool,
    ) -> Result<String, ReadError> {
        let reader = &mut Reader::default();
        let text = match messages {
            Some(messages) => &report_values::report_values(text, messages)?,
            None => text,
        };
        let text = merge_locals::merge_locals(text)?;
        // `nest_loops` moves what a loop carries into variables.
        let text = split_phases::unroll_resumed(&text, reader)?;
        let text = nest_loops::nest_loops(&text, reader)?;
        let text = split_phases::split_phases(&text, reader)?;
        let text = test_choices::test_choices(&text, reader)?;
        let text = unroll_swaps::unroll_swaps(&text, reader)?;
        let text = reader.unroll_walks(&text)?;
        let text = reader.keep_nests(&text)?;
        match defers {
            true => reader.defer_unrolling(&text),
            false => Ok(text),
        }
    }

    /// Merges local variables that a copy connects, in LLVM's output before it unrolls loops.
    ///
    /// # Errors
    /// The text uses something of LLVM's that has no place in [`Module`].
    pub fn merge_locals(text: &str) -> Result<String, ReadError> {
        merge_locals::merge_locals(text)
    }

    /// Nests the loops of iterators of iterators, in LLVM's output before it unrolls loops.
    ///
    /// # Errors
    /// The text uses something of LLVM's that has no place in [`Module`].
    pub fn nest_loops(text: &str) -> Result<String, ReadError> {
        nest_loops::nest_loops(text, &mut Reader::default())
    }

    /// Splits loops that go through phases, as those over `a.iter().chain(b)`, in LLVM's output before it
    /// unrolls loops.
    ///
    /// # Errors
    /// The text uses something of LLVM's that has no place in [`Module`].
    pub fn split_phases(text: &str) -> Result<String, ReadError> {
        split_phases::split_phases(text, &mut Reader::default())
    }

    /// Unrolls loops with inner loops that go on where the iteration before has left them, in LLVM's output
    /// before it unrolls loops.
    ///
    /// # Errors
    /// The text uses something of LLVM's that has no place in [`Module`].
    pub fn unroll_resumed(text: &str) -> Result<String, ReadError> {
        split_phases::unroll_resumed(text, &mut Reader::default())
    }

    /// Replaces tests whether an address that a loop selects is null by tests of the conditions of the
    /// selects, in LLVM's output before it unrolls loops.
    ///
    /// # Errors
    /// The text uses something of LLVM's that has no place in [`Module`].
    pub fn test_choices(text: &str) -> Result<String, ReadError> {
        test_choices::test_choices(text, &mut Reader::default())
    }

    /// Reports the values of formatted panics instead of their messages, in LLVM's output after it has
    /// inlined functions.
    ///
    /// # Errors
    /// The text uses something of LLVM's that has no place in [`Module`].
    pub fn report_values(text: &str, messages: &Messages) -> Result<String, ReadError> {
        report_values::report_values(text, messages)
    }

    /// Unrolls loops that exchange pointers to variables in each iteration, in LLVM's output before it
    /// unrolls loops.
    ///
    /// # Errors
    /// The text uses something of LLVM's that has no place in [`Module`].
    pub fn unroll_swaps(text: &str) -> Result<String, ReadError> {
        unroll_swaps::unroll_swaps(text, &mut Reader::default())
    }

    /// Requests LLVM to unroll loops that walk over arrays of a thread, in LLVM's output before it
    /// unrolls loops.
    ///
    /// # Errors
    /// The text uses something of LLVM's that has no place in [`Module`].
    pub fn unroll_walks(text: &str) -> Result<String, ReadError> {
        Reader::default().unroll_walks(text)
    }

    /// Disables unrolling, in LLVM's output before it unrolls loops, for loops with a constant number of
    /// iterations that repeat an inner loop.
    ///
    /// # Errors
    /// The text uses something of LLVM's that has no place in [`Module`].
    pub fn keep_nests(text: &str) -> Result<String, ReadError> {
        Reader::default().keep_nests(text)
    }

    /// Returns the loops of LLVM's output out of which LLVM should move no condition, since an invariant one
    /// differs between the threads of a warp: for each, the name of the function and the index of a
    /// block of the loop.
    ///
    /// # Errors
    /// The text uses something of LLVM's that has no place in [`Module`].
    pub fn divergent_loops(text: &str) -> Result<Vec<(String, usize)>, ReadError> {
        let read = read_module(text)?;
        let latches = divergent_loops::latches(&read).into_iter();
        Ok(latches
            .map(|(func, latch)| (read.func(func).name.clone(), latch))
            .collect())
    }

    /// Returns whether [`Exchange::defer_unrolling`] changes the text of a module if a loop calls one
    /// of its functions.
    pub fn may_defer_unrolling(module: &Module) -> bool {
        !passes::expanded(module).is_empty()
    }

    /// Disables unrolling in LLVM's output for loops that call functions of libdevice that libnvvm
    /// expands. [`passes::resume_unrolling`] enables it again.
    ///
    /// LLVM counts such a call as two or three instructions, and would unroll nested loops completely
    /// whose code then exceeds the instruction cache. libnvvm unrolls after it has expanded the calls.
    ///
    /// # Errors
    /// The text uses something of LLVM's that has no place in [`Module`].
    pub fn defer_unrolling(text: &str) -> Result<String, ReadError> {
        Reader::default().defer_unrolling(text)
    }

    /// Reads LLVM's output. Information that was hidden from LLVM is restored from `module`.
    ///
    /// # Errors
    /// The text uses something of LLVM's that has no place in [`Module`].
    pub fn read(&self, text: &str, module: &Module) -> Result<Module, ReadError> {
        let mut read = read_module(text)?;
        for (name, original) in &self.names {
            if let Some(symbol) = read.named(name) {
                read.rename(symbol, original);
            }
        }
        let funcs: Vec<Func> = read.funcs().collect();
        for func in funcs {
            let name = read.func(func).name.clone();
            let old = module.named(&name).and_then(|value| module.as_func(value));
            let data = read.func_mut(func);
            // libnvvm removes calls whose result nobody uses: of functions that end, which LLVM's
            // `memory(none)` does not say.
            data.attrs.read_none = false;
            let Some(old) = old.map(|old| module.func(old)) else {
                continue;
            };
            data.linkage = old.linkage;
            if data.blocks.is_empty() {
                data.attrs = old.attrs.clone();
            }
            data.attrs.read_none = old.attrs.read_none;
            if old.kernel.is_some() {
                data.kernel = old.kernel.clone();
                for (attrs, old) in data.param_attrs.iter_mut().zip(&old.param_attrs) {
                    attrs.grid_constant = old.grid_constant;
                    attrs.element = old.element;
                    attrs.readable = old.readable;
                }
            }
        }
        Ok(read)
    }
}

/// Reads texts. Most passes leave a text as it is, so the module of the last one is kept.
#[derive(Default)]
struct Reader {
    last: Option<(String, Module)>,
}

impl Reader {
    fn read(&mut self, text: &str) -> Result<&Module, ReadError> {
        let last = match self.last.take() {
            Some(last) if last.0 == text => last,
            _ => (text.to_owned(), read_module(text)?),
        };
        Ok(&self.last.insert(last).1)
    }

    fn unroll_walks(&mut self, text: &str) -> Result<String, ReadError> {
        let read = self.read(text)?;
        let latches = unroll_walks::latches_of_walks(read);
        Ok(with_loop_property(text, "unroll.full", read, &latches))
    }

    fn keep_nests(&mut self, text: &str) -> Result<String, ReadError> {
        let read = self.read(text)?;
        let latches = nests::latches_of_nests(read);
        Ok(with_loop_property(text, "unroll.disable", read, &latches))
    }

    fn defer_unrolling(&mut self, text: &str) -> Result<String, ReadError> {
        let read = self.read(text)?;
        let latches = passes::latches_of_calling_loops(read);
        Ok(with_loop_property(text, "unroll.disable", read, &latches))
    }
}

/// Attaches a property `llvm.loop.…` to the branches at the end of blocks, which are given by their
/// index in the function.
fn with_loop_property(
    text: &str,
    property: &str,
    read: &Module,
    blocks: &[(Func, usize)],
) -> String {
    if blocks.is_empty() {
        return text.to_owned();
    }
    let mut latches: HashMap<&str, HashSet<usize>> = HashMap::new();
    for &(func, latch) in blocks {
        let name = read.func(func).name.as_str();
        latches.entry(name).or_default().insert(latch);
    }
    let number = |line: &str| {
        let digits = line.strip_prefix('!')?.split(' ').next()?;
        digits.parse::<u64>().ok()
    };
    let first = text.lines().filter_map(number).max().map_or(0, |it| it + 1);
    let mut nodes = vec![format!("!{first} = !{{!\"llvm.loop.{property}\"}}")];
    let mut kept = String::with_capacity(text.len());
    let mut own = None;
    let (mut block, mut is_empty) = (0, true);
    for line in text.lines() {
        kept.push_str(line);
        if line.starts_with("define ") {
            let name = line
                .split_once('@')
                .and_then(|(_, rest)| rest.split_once('('));
            own = name.and_then(|(name, _)| latches.get(name.trim_matches('"')));
            (block, is_empty) = (0, true);
        } else if line.starts_with(' ') {
            is_empty = false;
            if line.starts_with("  br ")
                && own.is_some_and(|own| own.contains(&block))
                && !line.contains("!llvm.loop")
            {
                let node = first + nodes.len() as u64;
                kept.push_str(&format!(", !llvm.loop !{node}"));
                nodes.push(format!("!{node} = distinct !{{!{node}, !{first}}}"));
            }
        } else if line
            .split(';')
            .next()
            .is_some_and(|it| it.trim_end().ends_with(':'))
        {
            // The first block may have a label or none.
            block += usize::from(!is_empty);
        }
        kept.push('\n');
    }
    for node in nodes {
        kept.push_str(&node);
        kept.push('\n');
    }
    kept
}

fn name_of(module: &Module, symbol: Value) -> &str {
    match (module.as_func(symbol), module.as_global(symbol)) {
        (Some(func), _) => &module.func(func).name,
        (_, Some(global)) => &module.global(global).name,
        _ => "",
    }
}

/// The name of a target intrinsic as a function that LLVM does not know.
fn hidden_name(name: &str) -> String {
    format!("__{}", name.replace('.', "_"))
}

/// A special register that is the same whenever a thread reads it: its name behind
/// `llvm.nvvm.read.ptx.sreg.`, and the range of its values, the end exclusive (PTX ISA, "Special
/// Registers"; CUDA Programming Guide, "Technical Specifications per Compute Capability").
const REGISTERS: [(&str, u32, u32); 15] = [
    ("tid.x", 0, 1024),
    ("tid.y", 0, 1024),
    ("tid.z", 0, 64),
    ("ntid.x", 1, 1025),
    ("ntid.y", 1, 1025),
    ("ntid.z", 1, 65),
    ("ctaid.x", 0, 0x7FFF_FFFF),
    ("ctaid.y", 0, 0xFFFF),
    ("ctaid.z", 0, 0xFFFF),
    ("nctaid.x", 1, 0x8000_0000),
    ("nctaid.y", 1, 0x1_0000),
    ("nctaid.z", 1, 0x1_0000),
    ("laneid", 0, 32),
    ("warpsize", 32, 33),
    ("gridid", 0, 0),
];

fn register(name: &str) -> Option<(u32, u32)> {
    let name = name.strip_prefix("llvm.nvvm.read.ptx.sreg.")?;
    let row = REGISTERS.iter().find(|row| row.0 == name)?;
    Some((row.1, row.2))
}

/// Returns the linkage of a function for LLVM, which must not drop the legalizer's functions.
pub(crate) fn linkage(module: &Module, func: Func) -> Linkage {
    let data = module.func(func);
    match SOFT_FLOAT.contains(&data.name.as_str()) {
        true => Linkage::External,
        false => data.linkage,
    }
}

/// Attributes of a function's result, for LLVM.
pub(crate) fn result_attributes(module: &Module, func: Func) -> String {
    match register(&module.func(func).name) {
        Some((from, to)) if from != to => {
            format!("noundef range(i32 {}, {}) ", from as i32, to as i32)
        }
        _ => String::new(),
    }
}

/// Further attributes of a function, for LLVM.
pub(crate) fn attributes(module: &Module, func: Func) -> &'static str {
    let data = module.func(func);
    if !data.blocks.is_empty() {
        // A switch becomes no table: that would be in an address space of LLVM's choice.
        return " \"no-jump-tables\"=\"true\"";
    }
    if register(&data.name).is_some() {
        return " nounwind nosync nofree willreturn speculatable memory(none)";
    }
    if data.attrs.read_none {
        return " nounwind nosync nofree willreturn";
    }
    match libdevice(module, func) {
        Some(Libdevice::Pure) => " nounwind nosync nofree willreturn memory(none)",
        Some(Libdevice::WritesArguments) => {
            " nounwind nosync nofree willreturn memory(argmem: write)"
        }
        None => "",
    }
}

/// Further attributes of a function's parameter of type `ty`, for LLVM.
pub(crate) fn parameter_attributes(module: &Module, func: Func, ty: Type) -> &'static str {
    let writes = libdevice(module, func) == Some(Libdevice::WritesArguments);
    match writes && module.types.is_ptr(ty) {
        true => " nocapture writeonly",
        false => "",
    }
}

/// The memory that a function of libdevice accesses.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Libdevice {
    /// Nothing: it is a function of its arguments.
    Pure,
    /// The memory that its pointers refer to, to return further results, such as `__nv_sincosf`.
    WritesArguments,
}

/// Returns what a function of libdevice accesses.
fn libdevice(module: &Module, func: Func) -> Option<Libdevice> {
    let data = module.func(func);
    let TypeKind::Func { params, .. } = module.types.kind(data.sig) else {
        return None;
    };
    if !data.name.starts_with("__nv_") || !data.blocks.is_empty() {
        return None;
    }
    let writes = params.iter().any(|&param| module.types.is_ptr(param));
    Some(match writes {
        true => Libdevice::WritesArguments,
        false => Libdevice::Pure,
    })
}

/// The dialect of the text, details aside.
pub(crate) const DIALECT: Dialect = Dialect::Modern;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::KernelAttrs;

    /// A kernel that reads `%tid.x`, as passed to LLVM and returned by it.
    #[test]
    fn what_llvm_is_not_told_comes_back() {
        let text = "
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.barrier0() convergent
declare float @__nv_sinf(float)
declare float @__nv_modff(float, ptr)

define void @k.1(ptr %p) {
start:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %t, ptr %p, align 4
  ret void
}

define internal i128 @__addtf3(i128 %a) {
start:
  ret i128 %a
}
";
        let mut module = read_module(text).unwrap();
        let kernel = |module: &Module| module.as_func(module.named("k.1").unwrap()).unwrap();
        let attrs = KernelAttrs {
            max_threads: Some([256, 1, 1]),
            stack_size: Some(2048),
            ..KernelAttrs::default()
        };
        let func = kernel(&module);
        module.func_mut(func).kernel = Some(attrs.clone());
        let exchange = Exchange::new(&module);
        for line in [
            "declare noundef range(i32 0, 1024) i32 @__llvm_nvvm_read_ptx_sreg_tid_x() nounwind \
             nosync nofree willreturn speculatable memory(none)",
            // It may access memory.
            "declare i32 @__llvm_nvvm_barrier0() convergent\n",
            "@__nv_sinf(float) nounwind nosync nofree willreturn memory(none)",
            "@__nv_modff(float, ptr nocapture writeonly) nounwind nosync nofree willreturn \
             memory(argmem: write)\n",
            "define void @k_x2E1(ptr %p) \"no-jump-tables\"=\"true\" {",
        ] {
            assert!(exchange.text.contains(line), "{line}\n{}", exchange.text);
        }
        assert!(!exchange.text.contains("nvvm.annotations"));
        if SOFT_FLOAT.contains(&"__addtf3") {
            // The legalizer calls it.
            assert!(
                exchange.text.contains("define i128 @__addtf3"),
                "{}",
                exchange.text
            );
        }
        let read = exchange.read(&exchange.text, &module).unwrap();
        assert_eq!(read.func(kernel(&read)).kernel, Some(attrs));
        assert!(read.named("llvm.nvvm.read.ptx.sreg.tid.x").is_some());
        assert!(read.named("__llvm_nvvm_barrier0").is_none());
        // The memory attributes that LLVM 23 infers have another meaning in LLVM 7.
        let inferred = exchange
            .text
            .replace("\"no-jump-tables\"=\"true\"", "memory(none)");
        let read = exchange.read(&inferred, &module).unwrap();
        assert!(!read.func(kernel(&read)).attrs.read_none);
    }

    /// The branches of LLVM's output that get metadata of their own.
    #[test]
    fn loops_that_call_expanded_functions_are_not_unrolled() {
        let text = "
declare double @__nv_erf(double)

define double @\"a b\"(double %0) {
  ret double %0
}

define double @\"f.1\"(i64 %0, double %1) {
  br label %3

3:                                                ; preds = %6, %2
  %4 = phi i64 [ 0, %2 ], [ %7, %6 ]
  %5 = call double @__nv_erf(double %1)
  br label %6

6:                                                ; preds = %3
  %7 = add i64 %4, 1
  %8 = icmp ult i64 %7, %0
  br i1 %8, label %3, label %9, !prof !4

9:                                                ; preds = %9, %6
  %10 = phi i64 [ 0, %6 ], [ %11, %9 ]
  %11 = add i64 %10, 1
  %12 = icmp ult i64 %11, %0
  br i1 %12, label %9, label %13

13:                                               ; preds = %9
  ret double %5
}

define void @g(double %0) {
start:
  br label %loop

loop:                                             ; preds = %loop, %start
  %1 = call double @__nv_erf(double %0)
  br label %loop, !llvm.loop !2
}

!2 = distinct !{!2, !3}
!3 = !{!\"llvm.loop.mustprogress\"}
!4 = !{!\"branch_weights\", i32 1, i32 2}
";
        assert!(Exchange::may_defer_unrolling(&read_module(text).unwrap()));
        let deferred = Exchange::defer_unrolling(text).unwrap();
        let expected = [
            text.replace("label %9, !prof !4", "label %9, !prof !4, !llvm.loop !6"),
            "!5 = !{!\"llvm.loop.unroll.disable\"}\n!6 = distinct !{!6, !5}\n".to_owned(),
        ];
        assert_eq!(deferred, expected.concat());
        let mut read = read_module(&deferred).unwrap();
        let kept = |module: &Module| {
            let func = module.as_func(module.named("f.1").unwrap()).unwrap();
            let blocks = &module.func(func).blocks;
            blocks
                .iter()
                .map(|&it| module.block(it).no_unroll)
                .collect::<Vec<_>>()
        };
        assert_eq!(kept(&read), [false, false, true, false, false]);
        passes::resume_unrolling(&mut read);
        assert_eq!(kept(&read), [false; 5]);
    }

    /// A loop that carries the address of an element of a local array.
    const WALK: &str = "
define void @f(ptr %0, i64 %1) {
  %3 = alloca [16 x float], align 4
  br label %4

4:                                                ; preds = %4, %2
  %5 = phi i64 [ 0, %2 ], [ %10, %4 ]
  %6 = phi ptr [ %3, %2 ], [ %9, %4 ]
  %7 = load float, ptr %6, align 4
  store float %7, ptr %0, align 4
  %8 = getelementptr inbounds nuw i8, ptr %6, i64 4
  %9 = select i1 true, ptr %8, ptr null
  %10 = add nuw nsw i64 %5, 1
  %11 = icmp eq i64 %10, 16
  br i1 %11, label %12, label %4

12:                                               ; preds = %4
  ret void
}
";

    #[test]
    fn walks_over_local_arrays_are_unrolled() {
        let expected = WALK.replace("label %12, label %4", "label %12, label %4, !llvm.loop !1");
        let nodes = "!0 = !{!\"llvm.loop.unroll.full\"}\n!1 = distinct !{!1, !0}\n";
        let new = Exchange::unroll_walks(WALK).unwrap();
        assert_eq!(new, expected + nodes);
        for (old, new) in [
            // Not a local array.
            ("phi ptr [ %3, %2 ]", "phi ptr [ %0, %2 ]"),
            // The address is not carried, or by another loop.
            ("load float, ptr %6", "load float, ptr %3"),
            // The number of iterations is not constant, is too large, or not the one compared.
            ("%10, 16", "%10, %1"),
            ("%10, 16", "%10, 65"),
            ("icmp eq i64 %10, 16", "icmp eq i64 %5, 16"),
            ("label %12, label %4\n", "label %4, label %12\n"),
            ("nsw i64 %5, 1", "nsw i64 %5, 3"),
            // Threads meet in the loop.
            (
                "  %10 = add",
                "  call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"() convergent\n  %10 = add",
            ),
            // The program has decided.
            (
                "label %12, label %4\n",
                "label %12, label %4, !llvm.loop !7\n",
            ),
        ] {
            assert!(WALK.contains(old), "{old}");
            let mut text = WALK.replace(old, new);
            if new.contains("!7") {
                text.push_str("\n!7 = distinct !{!7}\n");
            }
            let new = Exchange::unroll_walks(&text).unwrap();
            assert!(
                !new.contains("!llvm.loop !1") && !new.contains("!llvm.loop !9"),
                "{new}"
            );
        }
    }

    /// A loop over the bits of an integer, of which it counts some.
    const BITS: &str = "
define i32 @f(i64 %0, i32 %1) {
  br label %3

3:                                                ; preds = %3, %2
  %4 = phi i32 [ 0, %2 ], [ %10, %3 ]
  %5 = phi i32 [ 0, %2 ], [ %9, %3 ]
  %6 = zext nneg i32 %4 to i64
  %7 = lshr i64 %0, %6
  %8 = trunc i64 %7 to i32
  %9 = add i32 %5, %8
  %10 = add nuw nsw i32 %4, 1
  %11 = icmp eq i32 %10, 64
  br i1 %11, label %12, label %3

12:                                               ; preds = %3
  ret i32 %9
}
";

    #[test]
    fn walks_over_bits_are_unrolled() {
        let expected = BITS.replace("label %12, label %3", "label %12, label %3, !llvm.loop !1");
        let nodes = "!0 = !{!\"llvm.loop.unroll.full\"}\n!1 = distinct !{!1, !0}\n";
        assert_eq!(Exchange::unroll_walks(BITS).unwrap(), expected + nodes);
        for (old, new) in [
            // The counter is not the distance.
            ("lshr i64 %0, %6", "lshr i64 %6, %0"),
            ("lshr i64 %0, %6", "lshr i64 %0, 3"),
            ("zext nneg i32 %4", "zext nneg i32 %5"),
            // A shift of 32 bits takes one instruction.
            (
                "%6 = zext nneg i32 %4 to i64\n  %7 = lshr i64 %0, %6\n  %8 = trunc i64 %7 to i32",
                "%6 = trunc i64 %0 to i32\n  %7 = lshr i32 %6, %4\n  %8 = add i32 %7, 0",
            ),
            ("%10, 64", "%10, %1"),
            ("%10, 64", "%10, 65"),
        ] {
            assert!(BITS.contains(old), "{old}");
            let text = BITS.replace(old, new);
            assert_eq!(Exchange::unroll_walks(&text).unwrap(), text);
        }
    }

    /// A loop of 64 iterations that repeats a loop over an array of unknown length.
    const NEST: &str = "
define void @f(ptr %0, i64 %1) {
  %3 = alloca [128 x i64], align 8
  br label %4

4:                                                ; preds = %15, %2
  %5 = phi i64 [ 0, %2 ], [ %16, %15 ]
  %6 = phi i64 [ %1, %2 ], [ %12, %15 ]
  br label %7

7:                                                ; preds = %7, %4
  %8 = phi i64 [ 0, %4 ], [ %12, %7 ]
  %9 = getelementptr inbounds [8 x i8], ptr %3, i64 %8
  %10 = load i64, ptr %9, align 8
  %11 = add i64 %10, %5
  store i64 %11, ptr %9, align 8
  %12 = add i64 %8, 1
  %13 = icmp eq i64 %12, %6
  br i1 %13, label %14, label %7

14:                                               ; preds = %7
  store i64 %12, ptr %0, align 8
  br label %15

15:                                               ; preds = %14
  %16 = add nuw nsw i64 %5, 1
  %17 = icmp eq i64 %16, 64
  br i1 %17, label %18, label %4

18:                                               ; preds = %15
  ret void
}
";

    #[test]
    fn loops_that_repeat_loops_are_kept() {
        let expected = NEST.replace("label %18, label %4", "label %18, label %4, !llvm.loop !1");
        let nodes = "!0 = !{!\"llvm.loop.unroll.disable\"}\n!1 = distinct !{!1, !0}\n";
        assert_eq!(Exchange::keep_nests(NEST).unwrap(), expected + nodes);
        // The other exit limits the iterations, of the outer loop in the first line.
        for (old, new) in [
            (
                "  store i64 %12, ptr %0, align 8\n  br label %15",
                "  %20 = icmp ne i64 %5, 63\n  br i1 %20, label %15, label %18",
            ),
            ("icmp eq i64 %12, %6", "icmp eq i64 %12, %1"),
            // The counter is compared before its step.
            (
                "%17 = icmp eq i64 %16, 64\n  br i1 %17, label %18, label %4",
                "%17 = icmp samesign ult i64 %5, 63\n  br i1 %17, label %4, label %18",
            ),
            ("%17 = icmp eq i64 %16, 64", "%17 = icmp ugt i64 %5, 62"),
            // The array is loaded at a constant index, too.
            ("store i64 %12, ptr %0", "store i64 %12, ptr %3"),
            (
                "store i64 %12, ptr %0, align 8",
                "%20 = load i64, ptr %3, align 8\n  store i64 %20, ptr %0, align 8",
            ),
        ] {
            assert!(NEST.contains(old), "{old}");
            let text = NEST.replace(old, new);
            let kept = Exchange::keep_nests(&text).unwrap();
            assert!(kept.contains("unroll.disable"), "{new}");
        }
        for (old, new) in [
            // Few iterations, or an unknown number.
            ("%16, 64", "%16, 8"),
            ("%16, 64", "%16, %1"),
            ("icmp eq i64 %16, 64", "icmp ult i64 %16, %1"),
            ("icmp eq i64 %16, 64", "icmp ult i64 %16, 64"),
            ("icmp eq i64 %16, 64", "icmp ugt i64 %5, 6"),
            // A check limits the iterations.
            (
                "br label %15\n\n15:                                               ; preds = %14
  %16 = add nuw nsw i64 %5, 1
  %17 = icmp eq i64 %16, 64",
                "%20 = icmp ult i64 %5, 63\n  br i1 %20, label %15, label %18\n\n15:
  %16 = add nuw nsw i64 %5, 1
  %17 = icmp eq i64 %16, %1",
            ),
            // The inner loop has a constant number of iterations in each copy.
            ("icmp eq i64 %12, %6", "icmp eq i64 %12, 4"),
            ("icmp eq i64 %12, %6", "icmp ugt i64 %12, %5"),
            (
                "%13 = icmp eq i64 %12, %6",
                "%20 = call i64 @llvm.umin.i64(i64 %5, i64 3)\n  %13 = icmp ugt i64 %12, %20",
            ),
            // The indices of the array are constants then.
            (
                "getelementptr inbounds [8 x i8], ptr %3, i64 %8",
                "getelementptr inbounds [8 x i8], ptr %3, i64 %5",
            ),
            // The program has decided.
            (
                "label %18, label %4\n",
                "label %18, label %4, !llvm.loop !7\n",
            ),
        ] {
            assert!(NEST.contains(old), "{old}");
            let mut text = NEST.replace(old, new);
            if new.contains("!7") {
                text.push_str("\n!7 = distinct !{!7}\n");
            }
            let kept = Exchange::keep_nests(&text).unwrap();
            assert!(!kept.contains("!llvm.loop !1"), "{kept}");
        }
    }

    /// A loop with a branch on its own index in the block.
    const SKIPS: &str = "
define void @f(ptr %0, i32 %1) {
  %3 = tail call i32 @__llvm_nvvm_read_ptx_sreg_tid_x()
  %4 = and i32 %3, 7
  br label %5

5:                                                ; preds = %12, %2
  %6 = phi i32 [ 0, %2 ], [ %13, %12 ]
  %7 = icmp eq i32 %4, 3
  %8 = icmp eq i32 %6, 9
  store volatile i32 %6, ptr %0, align 4
  store volatile i32 %6, ptr %0, align 4
  store volatile i32 %6, ptr %0, align 4
  store volatile i32 %6, ptr %0, align 4
  store volatile i32 %6, ptr %0, align 4
  store volatile i32 %6, ptr %0, align 4
  store volatile i32 %6, ptr %0, align 4
  store volatile i32 %6, ptr %0, align 4
  store volatile i32 %6, ptr %0, align 4
  store volatile i32 %6, ptr %0, align 4
  store volatile i32 %6, ptr %0, align 4
  store volatile i32 %6, ptr %0, align 4
  br i1 %7, label %9, label %12

9:                                                ; preds = %5
  %10 = zext i32 %6 to i64
  %11 = getelementptr inbounds [4 x i8], ptr %0, i64 %10
  store i32 %6, ptr %11, align 4
  br label %12

12:                                               ; preds = %9, %5
  %13 = add i32 %6, 1
  %14 = icmp eq i32 %13, %1
  br i1 %14, label %15, label %5

15:                                               ; preds = %12
  ret void
}

declare i32 @__llvm_nvvm_read_ptx_sreg_tid_x()
declare i32 @__llvm_nvvm_read_ptx_sreg_ctaid_x()
";

    #[test]
    fn conditions_that_threads_of_a_warp_differ_in_stay_in_loops() {
        let latches = |old: &str, new: &str| {
            assert!(SKIPS.contains(old), "{old}");
            Exchange::divergent_loops(&SKIPS.replace(old, new)).unwrap()
        };
        let own = vec![("f".to_owned(), 3)];
        assert_eq!(latches("", ""), own);
        let both = "%16 = and i1 %7, %8\n  br i1 %16,";
        assert_eq!(latches("br i1 %7,", both), own);
        // Each thread has loaded it.
        let loaded = "%16 = zext i32 %3 to i64
  %17 = getelementptr inbounds [4 x i8], ptr %0, i64 %16
  %4 = load i32, ptr %17, align 4";
        assert_eq!(latches("%4 = and i32 %3, 7", loaded), own);
        // All threads of a block have the same, or each iteration another one.
        let block = "call i32 @__llvm_nvvm_read_ptx_sreg_ctaid_x()\n";
        assert_eq!(
            latches("call i32 @__llvm_nvvm_read_ptx_sreg_tid_x()\n", block),
            []
        );
        assert_eq!(latches("icmp eq i32 %4, 3", "icmp eq i32 %1, 3"), []);
        assert_eq!(latches("icmp eq i32 %4, 3", "icmp eq i32 %4, %6"), []);
        // Only the threads of one warp differ, unless the index is one in a warp.
        let bound = SKIPS.replace("%4 = and i32 %3, 7", "%4 = add i32 %3, 7");
        let ordered = bound.replace("icmp eq i32 %4, 3", "icmp ult i32 %4, %1");
        assert_eq!(Exchange::divergent_loops(&ordered).unwrap(), []);
        assert_eq!(Exchange::divergent_loops(&bound).unwrap(), []);
        assert_eq!(latches("and i32 %3, 7", "and i32 %3, 31"), []);
        assert_eq!(latches("icmp eq i32 %4, 3", "icmp ult i32 %4, 3"), own);
        assert_eq!(latches("and i32 %3, 7", "lshr i32 %3, 5"), []);
        assert_eq!(latches("and i32 %3, 7", "lshr i32 %3, 4"), own);
        // Threads with the other value have almost nothing to do.
        assert_eq!(
            latches("  store volatile i32 %6, ptr %0, align 4\n", ""),
            []
        );
    }

    /// All passes at once change a text as each after the other.
    #[test]
    fn passes_before_unrolling() {
        let functions = [(WALK, "@walk("), (BITS, "@bits("), (NEST, "@nest(")];
        let text = functions.map(|(text, name)| text.replace("@f(", name));
        let text = text.concat();
        let mut expected = Exchange::merge_locals(&text).unwrap();
        let passes = [
            Exchange::unroll_resumed,
            Exchange::nest_loops,
            Exchange::split_phases,
            Exchange::test_choices,
            Exchange::unroll_swaps,
            Exchange::unroll_walks,
            Exchange::keep_nests,
        ];
        for pass in passes {
            expected = pass(&expected).unwrap();
        }
        assert_eq!(expected.matches("!llvm.loop !").count(), 3);
        let new = |defers| Exchange::before_unrolling(&text, None, defers).unwrap();
        assert_eq!(new(false), expected);
        assert_eq!(new(true), Exchange::defer_unrolling(&expected).unwrap());
    }

    #[test]
    fn unreadable_text_is_an_error() {
        let module = read_module("define void @k() {\nstart:\n  ret void\n}\n").unwrap();
        let exchange = Exchange::new(&module);
        for text in [
            "define void @k() {\n  resume i32 0\n}",
            "define void @k() {\n  call void @llvm.x()\n}",
        ] {
            assert!(exchange.read(text, &module).is_err(), "{text}");
        }
    }
}
