//! The kernels of the example sha2.
#![no_std]
