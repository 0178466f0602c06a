//! The kernels of the example vecadd.
#![no_std]
