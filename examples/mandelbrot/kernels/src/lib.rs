//! The kernels of the example mandelbrot.
#![no_std]
