//! A kernel's name is that of its function, without the module.
#![no_std]

use cuda_std::prelude::*;

mod first {
    use super::*;

    #[kernel]
    pub fn scale(x: *mut f32) {
        unsafe { *x *= 2.0 };
    }
}

mod second {
    use super::*;

    #[kernel]
    pub fn scale(x: *mut f32) { //~ ERROR `scale`
        unsafe { *x *= 3.0 };
    }
}
