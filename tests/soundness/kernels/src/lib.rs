//! Kernels without unsafe code that try to break what the libraries promise.

#![no_std]
#![forbid(unsafe_code)]
#![allow(missing_docs)]

pub mod groups;
pub mod layouts;
pub mod values;
