//! Errors for operations that cannot be legalized.

use crate::metadata::Di;

/// The reason why a module cannot be legalized.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LegalizeError {
    /// The target architecture lacks an operation that later architectures have.
    #[error("`{func}` uses {what}, which needs sm_{needs} or later; the target is sm_{sm}")]
    NeedsArch {
        /// The symbol of the function.
        func: String,
        /// The operation or type.
        what: String,
        /// The first architecture that supports it.
        needs: u32,
        /// The target architecture.
        sm: u32,
        /// The source location, if known.
        loc: Option<Di>,
    },
    /// No architecture has the operation, and no replacement exists.
    #[error("`{func}` uses {what}, which has no equivalent on NVIDIA GPUs")]
    Unsupported {
        /// The symbol of the function.
        func: String,
        /// The operation or type.
        what: String,
        /// The source location, if known.
        loc: Option<Di>,
    },
    /// A global or a signature has a type without equivalent.
    #[error("`{symbol}` has a type that has no equivalent on NVIDIA GPUs: {what}")]
    UnsupportedType {
        /// The symbol of the global or function.
        symbol: String,
        /// The type.
        what: String,
    },
    /// The statics form a reference cycle that PTX cannot express.
    #[error("the initializers of the statics {} form a reference cycle: {reason}", list(.statics))]
    CyclicStatics {
        /// The symbols of the statics.
        statics: Vec<String>,
        /// The reason why PTX cannot express the cycle.
        reason: String,
    },
}

fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
