//! Handles of textures, surfaces and conditions belong to one launch: they cannot be elements of
//! buffers, or be stored in statics.

use std::sync::Mutex;

use cuda_std::graph::Condition;
use cuda_std::prelude::*;
use cuda_std::texture::{Surface, Texture};
use cust::prelude::*;

#[kernel]
pub fn keep(_surface: Surface<f32, 2>, mut _to: PerThread<Option<Surface<f32, 2>>>) {}

#[kernel]
pub fn draw(_surface: Surface<f32, 2>) {}

fn pass(handle: Surface<f32, 2>) {
    let _ = draw::args(handle);
}

fn buffers() {
    let _ = DeviceBuffer::<Option<Surface<f32, 2>>>::from_slice(&[None]);
    let _ = DeviceBuffer::<[Texture<f32, 2>; 2]>::from_slice(&[]);
    let _ = DeviceBuffer::<Condition>::from_slice(&[]);
}

static SURFACE: Mutex<Option<Surface<f32, 2>>> = Mutex::new(None);
static TEXTURE: Mutex<Option<Texture<f32, 2>>> = Mutex::new(None);
static CONDITION: Mutex<Option<Condition>> = Mutex::new(None);

fn main() {}
