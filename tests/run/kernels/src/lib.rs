//! Kernels of the device tests.
#![no_std]
