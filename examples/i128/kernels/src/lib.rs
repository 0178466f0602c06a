//! The kernels of the example i128.
#![no_std]
