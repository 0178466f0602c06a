//! Tests of the legalizer: each operation with boundary values, in both dialects.

mod atomics;
mod casts;
mod floats;
mod harness;
mod ints;
mod odd;
mod statics;
