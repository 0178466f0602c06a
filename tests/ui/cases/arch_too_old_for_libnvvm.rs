//! An architecture that rustc knows and this libnvvm no longer does.
//@ compile-flags: -Ctarget-cpu=sm_70
//@ no-snapshot
#![no_std]
#![no_core]
#![feature(no_core)]
//~? ERROR does not support sm_70
