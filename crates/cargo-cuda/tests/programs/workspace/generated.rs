use cuda_std::prelude::*;

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
macros::kernels!(first second);
