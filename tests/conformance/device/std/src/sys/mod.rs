//! The C library's functions, which the float methods in `std`'s own sources call.

pub mod cmath;
