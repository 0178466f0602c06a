//! The example i128.
fn main() {}
