//! Errors for operations that cannot be legalized.

use crate::metadata::Di;

/// Why a module cannot be legalized.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LegalizeError {
    /// The architecture lacks an operation that a later one has.
    #[error("`{func}` uses {what}, which needs sm_{needs} or later; the target is sm_{sm}")]
    NeedsArch {
        /// The function's symbol.
        func: String,
        /// What it uses.
        what: String,
        /// The first architecture that has it.
        needs: u32,
        /// The architecture compiled for.
        sm: u32,
        /// The source location, if known.
        loc: Option<Di>,
    },
    /// No architecture has the operation, and nothing stands in for it.
    #[error("`{func}` uses {what}, which has no equivalent on NVIDIA GPUs")]
    Unsupported {
        /// The function's symbol.
        func: String,
        /// What it uses.
        what: String,
        /// The source location, if known.
        loc: Option<Di>,
    },
    /// A type without equivalent, in a global or a signature.
    #[error("`{symbol}` has a type that has no equivalent on NVIDIA GPUs: {what}")]
    UnsupportedType {
        /// The global's or function's symbol.
        symbol: String,
        /// The type.
        what: String,
    },
    /// PTX cannot say what is in these statics.
    #[error("the initial values of the statics {} refer to each other in a circle: {reason}", list(.statics))]
    CyclicStatics {
        /// Their symbols.
        statics: Vec<String>,
        /// Why this circle cannot be expressed.
        reason: String,
    },
}

fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
