//! The legalizer's families, each operation with inputs at the edges, in both dialects.

mod atomics;
mod casts;
mod floats;
mod harness;
mod ints;
mod odd;
mod statics;
