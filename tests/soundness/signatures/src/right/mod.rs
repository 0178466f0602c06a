//! One of two modules with the same text.

use cuda_std::prelude::*;

#[constant]
pub static FACTORS: [f32; 4] = [1.0; 4];
