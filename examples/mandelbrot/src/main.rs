//! The example mandelbrot.
fn main() {}
