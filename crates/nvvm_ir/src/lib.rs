//! An in-memory NVVM IR without LLVM: build → verify → passes → write.
//!
//! It knows nothing of rustc, and builds on stable Rust. The compiler's backend fills a [`Module`]
//! through a [`Builder`]; the verifier checks it, the passes rewrite it, and a writer prints it in
//! the dialect that libnvvm wants for the architecture.

mod builder;
mod flow;
mod inst;
mod intrinsic;
pub mod legalize;
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
pub use inst::*;
pub use intrinsic::{Intrinsic, Overload};
pub use metadata::{DbgDeclare, Di, DiNode};
pub use module::{BlockData, FuncAttrs, FuncData, GlobalData, KernelAttrs, Linkage, Module};
pub use read::{ReadError, read_module};
pub use types::{AddrSpace, Type, TypeKind, Types};
pub use value::{Block, Const, Func, Global, Value, ValueData, ValueKind};
pub use verify::{Rule, VerifyError, verify, verify_legalized};
pub use write::{Dialect, write_func, write_module};
