//! The verifier: checks the invariants that the passes and the writer rely on, before and between
//! passes. The writer prints a verified module without a panic, and libnvvm accepts its form.
//!
//! The rules:
//!
//! 1. **Symbols.** Every global and function has a name, and no two have the same.
//! 2. **Signatures.** A function's type is a signature, and has as many parameters as the function;
//!    parameters and result are values that libnvvm can pass: not `void`, not a function, not of
//!    size zero.
//! 3. **Kernels** have a body, return nothing, take a fixed number of arguments, and are visible.
//! 4. **Statics.** A global's initializer has its type, which is sized; shared memory has no
//!    initializer but `undef`; no global is in local memory; the alignment is a power of two.
//! 5. **Constants** fit their types: aggregates field by field, strings by length, addresses are
//!    those of a global or function of the module and point into its space or the generic one.
//! 6. **Cycles.** No static's initializer refers, directly or indirectly, to the static itself:
//!    libnvvm rejects cycles. The legalizer breaks them, so only [`verify_legalized`] checks this.
//! 7. **Blocks.** A block ends in a terminator and has no other; its instructions record it as
//!    their block, and are in no other block; branches stay within the function; nothing branches
//!    to the entry block.
//! 8. **Phis** come first in their block, and have one value for each edge into it, the same for
//!    edges from one block.
//! 9. **Dominance.** An operand is a constant, a global, a function, a parameter of this function,
//!    or the result of an instruction that dominates the use. Unreachable blocks are exempt.
//! 10. **Types.** The operands and the result of every instruction have the required types.
//! 11. **Memory.** What is loaded, stored or allocated has a size; alignments are powers of two;
//!     a range belongs to an integer.
//! 12. **Allocations** of a fixed size are in the entry block.
//! 13. **Switches** have no duplicate cases.
//! 14. **Calls** have the arguments of their signature, and attributes for all or none;
//!     the result of a `musttail` call is returned right after it, by a function of the same type.
//! 15. **Intrinsics** are called with the signatures of the table in [`crate::Intrinsic`]; declared
//!     functions (`llvm.nvvm.…`), with that of their declaration.
//! 16. **Address spaces.** Casts go between a space and the generic one; constant memory is not
//!     written.
//! 17. **Returns** have the function's type.
//! 18. **Debug information.** Nodes are of the kinds that refer to each other; the location of an
//!     instruction belongs to the subprogram of its function; a subprogram belongs to one
//!     function; a variable lives at a parameter or an allocation in the entry block.
//! 19. **Attributes.** Pointer attributes are on pointers, integer attributes on integers;
//!     alignments are powers of two.
//! 20. **Inline PTX** has the result and operands of its constraints.
//! 21. **Atomics** have valid orderings, natural alignment, and operate on integers, or on pointers
//!     and floats where the operation allows them.
//! 22. **Convergence.** A call of a `convergent` function or of `convergent` inline PTX is
//!     `convergent`, and so is a function with such a call. [`verify_legalized`] alone checks it,
//!     since a pass marks them ([`crate::passes::convergence`]).
//!
//! An error names the rule and the function, and shows the instructions around the offending one.
//!
//! ```
//! use nvvm_ir::{Rule, read_module, verify};
//!
//! let module = read_module(
//!     "define i32 @f(i32 %x) {
//!      start:
//!        %y = add i32 %z, 1
//!        %z = add i32 %x, 1
//!        ret i32 %y
//!      }",
//! )?;
//! let errors = verify(&module).unwrap_err();
//! assert_eq!(errors[0].rule, Rule::Dominance);
//! assert_eq!(errors[0].symbol.as_deref(), Some("f"));
//! # Ok::<(), nvvm_ir::ReadError>(())
//! ```

mod debug;
mod flow;
mod insts;
mod memory;
mod statics;

use std::fmt;

use crate::module::Module;
use crate::types::{Type, TypeKind};
use crate::value::{Func, Value};

macro_rules! rules {
    ($($variant:ident,)*) => {
        /// A rule, named after the heading of its paragraph in the [module's documentation](self).
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Rule { $($variant,)* }

        impl Rule {
            /// All rules, in order.
            pub const ALL: &'static [Rule] = &[$(Rule::$variant,)*];
        }
    };
}

rules! {
    Symbols, Signatures, Kernels, Statics, Constants, Cycles, Blocks, Phis, Dominance, Types,
    Memory, Allocations, Switches, Calls, Intrinsics, AddressSpaces, Returns, DebugInformation,
    Attributes, InlinePtx, Atomics, Convergence,
}

impl Rule {
    /// Returns the rule's number in the list.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// The violated rule.
    pub rule: Rule,
    /// The function or global that contains the violation.
    pub symbol: Option<String>,
    /// The description of the violation.
    pub message: String,
    /// The lines of IR around the violation, with an arrow before the offending line; empty if it
    /// is not in an instruction.
    pub context: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(symbol) = &self.symbol {
            write!(f, "in `{symbol}`: ")?;
        }
        write!(
            f,
            "{} (rule {}: {:?})",
            self.message,
            self.rule.number(),
            self.rule
        )?;
        if !self.context.is_empty() {
            write!(f, "\n{}", self.context.trim_end())?;
        }
        Ok(())
    }
}

impl std::error::Error for VerifyError {}

/// The verifier stops after this many errors.
const MAX_ERRORS: usize = 64;

/// Checks a module; see the [list of rules](self).
///
/// # Errors
///
/// Returns the violations, at most 64.
pub fn verify(module: &Module) -> Result<(), Vec<VerifyError>> {
    check(module, false)
}

/// Checks a module that is about to be written. In addition to the rules of [`verify`], this checks
/// rules 6 and 22.
///
/// # Errors
///
/// Returns the violations, at most 64.
pub fn verify_legalized(module: &Module) -> Result<(), Vec<VerifyError>> {
    check(module, true)
}

fn check(module: &Module, legalized: bool) -> Result<(), Vec<VerifyError>> {
    let mut verifier = Verifier::new(module, legalized);
    verifier.check_statics();
    if legalized && verifier.errors.is_empty() {
        verifier.check_cycles();
    }
    // The other checks, and the printing of their messages, rely on these rules.
    if verifier.errors.is_empty() {
        for func in module.funcs() {
            verifier.check_func(func);
        }
    }
    if verifier.errors.is_empty() {
        Ok(())
    } else {
        Err(verifier.errors)
    }
}

struct Verifier<'m> {
    m: &'m Module,
    errors: Vec<VerifyError>,
    /// The constants that have been checked.
    checked: Vec<bool>,
    /// For each block, its index in the function being checked.
    block_index: Vec<u32>,
    /// For each instruction, its position in its block.
    position: Vec<u32>,
    debug: debug::Scopes,
    /// Whether to check the rules that only a legalized module observes.
    legalized: bool,
    /// The function being checked.
    func: Func,
}

/// Marks values that are not in the function being checked.
const NOWHERE: u32 = u32::MAX;

impl<'m> Verifier<'m> {
    fn new(m: &'m Module, legalized: bool) -> Self {
        Verifier {
            m,
            errors: Vec::new(),
            checked: vec![false; m.values.len()],
            block_index: vec![NOWHERE; m.blocks.len()],
            position: vec![NOWHERE; m.values.len()],
            debug: debug::Scopes::new(m),
            legalized,
            func: Func(0),
        }
    }

    fn full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    /// Reports an error about the whole module or a symbol.
    fn error(&mut self, rule: Rule, symbol: Option<&str>, message: impl Into<String>) {
        if !self.full() {
            self.errors.push(VerifyError {
                rule,
                symbol: symbol.map(str::to_owned),
                message: message.into(),
                context: String::new(),
            });
        }
    }

    /// Reports an error about an instruction of the current function.
    fn inst_error(&mut self, rule: Rule, inst: Value, message: impl Into<String>) {
        if self.full() {
            return;
        }
        let context = self.context(inst);
        self.errors.push(VerifyError {
            rule,
            symbol: Some(self.m.func(self.func).name.clone()),
            message: message.into(),
            context,
        });
    }

    /// Returns the lines around an instruction.
    fn context(&self, inst: Value) -> String {
        let blocks = &self.m.func(self.func).blocks;
        let place = blocks.iter().find_map(|&block| {
            let insts = &self.m.block(block).insts;
            insts.iter().position(|&i| i == inst).map(|at| (block, at))
        });
        let Some((block, at)) = place else {
            return String::new();
        };
        let insts = &self.m.block(block).insts;
        let range = at.saturating_sub(2)..(at + 3).min(insts.len());
        let lines = crate::write::write_insts(self.m, self.func, &insts[range.clone()]);
        let mut out = String::new();
        for (index, line) in range.zip(lines) {
            out.push_str(if index == at { "->" } else { "  " });
            out.push_str(&line);
            out.push('\n');
        }
        out
    }

    fn check_func(&mut self, func: Func) {
        self.func = func;
        self.check_signature(func);
        if self.full() || self.m.func(func).blocks.is_empty() {
            return;
        }
        let before = self.errors.len();
        self.check_constants(func);
        if self.errors.len() == before && self.check_blocks(func) {
            self.check_flow(func);
            for &block in &self.m.func(func).blocks {
                for &inst in &self.m.block(block).insts {
                    if self.full() {
                        return;
                    }
                    self.check_inst(inst);
                }
            }
            self.check_debug(func);
        }
        for &block in &self.m.func(func).blocks {
            self.block_index[block.0 as usize] = NOWHERE;
        }
    }

    // Types.

    fn kind(&self, ty: Type) -> &'m TypeKind {
        self.m.types.kind(ty)
    }

    fn is_bool(&self, ty: Type) -> bool {
        self.m.types.int_bits(ty) == Some(1)
    }

    fn is_void(&self, ty: Type) -> bool {
        matches!(self.kind(ty), TypeKind::Void)
    }

    /// Returns whether values of the type can be in registers and in memory.
    fn is_sized(&self, ty: Type) -> bool {
        match self.kind(ty) {
            TypeKind::Void | TypeKind::Func { .. } => false,
            TypeKind::Array(element, _) | TypeKind::Vector(element, _) => self.is_sized(*element),
            TypeKind::Struct { fields, .. } => fields.iter().all(|&field| self.is_sized(field)),
            TypeKind::Int(bits) => *bits > 0,
            _ => true,
        }
    }

    /// Returns a type as the modern dialect writes it.
    fn type_name(&self, ty: Type) -> String {
        crate::write::type_name(self.m, ty)
    }
}
