//! The kernels of the example reduce.
#![no_std]
