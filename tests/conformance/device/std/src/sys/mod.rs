//! What the float methods of `std`'s own sources call: the C library's functions.

pub mod cmath;
