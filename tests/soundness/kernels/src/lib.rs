//! Kernels without `unsafe` that try to break the libraries' guarantees.

#![no_std]
#![forbid(unsafe_code)]
#![allow(missing_docs)]

pub mod groups;
pub mod indices;
pub mod layouts;
pub mod values;
