//! An in-memory NVVM IR without LLVM: build → verify → passes → write.
//!
//! The crate is independent of rustc and builds on stable Rust. The compiler's backend fills a
//! [`Module`] with a [`Builder`]; [`verify()`] checks it, the [`passes`] rewrite it, [`legalize`]
//! replaces operations that libnvvm lacks, and [`write_module`] prints it in the [`Dialect`] that
//! libnvvm expects for the architecture. [`read_module`] parses the text, for tests and for the
//! program `nvvm-ir`.
//!
//! ```
//! use nvvm_ir::*;
//!
//! let mut module = Module::new("example");
//! let (void, ptr, i32) = (module.types.void(), module.types.ptr(), module.types.int(32));
//! let sig = module.types.func(void, &[ptr], false);
//! let kernel = module.add_func("answer", sig).expect("the name is free");
//! module.func_mut(kernel).kernel = Some(KernelAttrs::default());
//! let out = module.func(kernel).params[0];
//! let start = module.add_block(kernel, "start");
//!
//! let answer = module.const_int(i32, 42);
//! let mut builder = Builder::new(&mut module, start);
//! builder.store(answer, out, MemAccess { align: 4, ..MemAccess::default() });
//! builder.ret(None);
//!
//! verify(&module).expect("the module is well-formed");
//! let text = write_module(&module, Dialect::Llvm7);
//! assert!(text.contains("store i32 42, i32* %.0, align 4"));
//! assert_eq!(write_module(&read_module(&text).unwrap(), Dialect::Llvm7), text);
//! ```

mod builder;
mod dependencies;
mod flow;
mod graph;
mod inst;
mod intrinsic;
pub mod legalize;
pub mod llvm;
mod metadata;
mod module;
pub mod passes;
pub mod read;
mod types;
mod uses;
mod value;
pub mod verify;
pub mod write;

pub use builder::Builder;
pub use dependencies::{Dependencies, KernelDependencies, dependencies};
pub use inst::*;
pub use intrinsic::{Intrinsic, Overload};
pub use metadata::{DbgDeclare, Di, DiNode, DwarfOp};
pub use module::{BlockData, FuncAttrs, FuncData, GlobalData, KernelAttrs, Linkage, Module};
pub use read::{ReadError, read_module};
pub use types::{AddrSpace, Type, TypeKind, Types};
pub use value::{Block, Const, Func, Global, Value, ValueData, ValueKind};
pub use verify::{Rule, VerifyError, verify, verify_legalized};
pub use write::{Dialect, write_func, write_module};
