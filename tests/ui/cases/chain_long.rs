//! Of a long chain of calls both ends are shown.
#![no_std]

use cuda_std::prelude::*;

unsafe extern "C" {
    fn missing() -> i32;
}

macro_rules! chain {
    ($first:ident $second:ident $($rest:ident)*) => {
        #[inline(never)]
        fn $first() -> i32 {
            $second() + 1
        }
        chain!($second $($rest)*);
    };
    ($last:ident) => {
        #[inline(never)]
        fn $last() -> i32 {
            unsafe { missing() } //~ ERROR the foreign function `missing` does not exist on a GPU
            //~^ NOTE … 7 further steps …
        }
    };
}

chain!(a b c d e f g h i j k l m n o p q);

#[kernel]
pub fn run(x: *mut i32) {
    unsafe { *x = a() }; //~ NOTE the kernel `run` calls `a` here
}
