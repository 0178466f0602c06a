//! The legalizer: rewrites operations that a dialect or libnvvm lacks into supported ones, without
//! changing the program's meaning. It runs after the other passes and right before the writer.
//!
//! It makes two sweeps, both linear in the size of the module. The first (`types`) runs only if the
//! module has types that libnvvm lacks: `f128`, `bf16` and illegal-width integers. The second
//! visits the instructions one by one: `rules` defines which instructions the target lacks, and
//! which function of which family replaces each. The instructions of a replacement are subject to
//! the same rules, so a family may emit the simplest form.
//!
//! The families: `atomics`, `cas_loop` and `atom_ptx` (scoped PTX), `bits`, `division`, `overflow`, `saturate`,
//! `floats`, `fp_to_int`, `lanes` (vectors, element by element); and for the first sweep,
//! `odd_ints`, `fp128` (calls of compiler-builtins' soft float) and `bfloat`. `statics` handles
//! globals whose initializers form reference cycles, `half_calls` fp16 arguments and results, and
//! `blocks_per_sm` launch bounds that not every GPU can satisfy.
//!
//! ```
//! use nvvm_ir::legalize::{Target, legalize};
//! use nvvm_ir::{Dialect, read_module, write_module};
//!
//! let mut module = read_module(
//!     "define i32 @f(ptr addrspace(1) %p) {
//!      start:
//!        %old = atomicrmw add ptr addrspace(1) %p, i32 1 syncscope(\"device\") acquire
//!        ret i32 %old
//!      }",
//! )?;
//! legalize(&mut module, &Target::new(90)).expect("sm_90 has this operation");
//! let text = write_module(&module, Dialect::Llvm7);
//! assert!(text.contains("atom.acquire.gpu.global.add.u32"));
//! # Ok::<(), nvvm_ir::ReadError>(())
//! ```

mod atom_ptx;
mod atomics;
mod bfloat;
mod bits;
mod blocks_per_sm;
mod cas_loop;
mod division;
pub(crate) mod emit;
mod error;
mod floats;
mod fp128;
mod fp_to_int;
mod half_calls;
mod lanes;
mod odd_ints;
mod odd_memory;
mod overflow;
mod rewriter;
mod rules;
mod saturate;
mod statics;
mod types;

pub use error::LegalizeError;
pub use fp128::SOFT_FLOAT;

use crate::module::Module;
use crate::write::Dialect;
use rewriter::Rewriter;

/// The target that a module is legalized for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The dialect of the text.
    pub dialect: Dialect,
    /// The number of the architecture: 90 for `sm_90`.
    pub sm: u32,
}

impl Target {
    /// Creates the target for an architecture's number (90 for `sm_90`), with its default dialect.
    pub fn new(sm: u32) -> Self {
        Target {
            dialect: Dialect::for_arch(sm),
            sm,
        }
    }
}

/// Rewrites the operations and types that the target lacks.
///
/// # Errors
///
/// Returns all operations and types that cannot be replaced. The module is then partially
/// rewritten, with undefined values in their place.
pub fn legalize(module: &mut Module, target: &Target) -> Result<(), Vec<LegalizeError>> {
    let mut errors = Vec::new();
    blocks_per_sm::legalize_blocks_per_sm(module, target);
    types::legalize_types(module, target, &mut errors);
    half_calls::legalize_half_calls(module, target, &mut errors);
    let poison = rules::poison_to_undef(module, target);
    for func in module.funcs() {
        if module.func(func).blocks.is_empty() {
            continue;
        }
        floats::fold_signs(module, func);
        let mut rewriter = Rewriter::new(module, *target, func, &poison, &mut errors);
        rewriter.run(rules::rule);
    }
    statics::legalize_statics(module, target, &mut errors);
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}
