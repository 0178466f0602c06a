//! The example reduce.
fn main() {}
