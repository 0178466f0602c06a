//! The example vecadd.
fn main() {}
