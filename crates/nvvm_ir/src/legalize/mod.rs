//! The legalizer: rewrites what a dialect lacks before the writer prints it.
