//! The example sha2.
fn main() {}
