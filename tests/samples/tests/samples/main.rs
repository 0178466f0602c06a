//! Runs each sample on the device and compares it with a plain CPU computation. The device is the
//! GPU if there is one, otherwise the emulator; `CUST_DEVICE` selects it.

mod common;
mod cooperation;
mod finance;
mod images;
mod language;
mod linear;
mod newer;
mod physics;
mod reductions;
mod signals;
mod sorting;
mod structures;
mod trees;

use common::*;
