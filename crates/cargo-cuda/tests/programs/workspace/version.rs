//! A package of which a program has two versions.
use cuda_std::prelude::*;

#[kernel]
pub fn add(mut to: PerThread<u32>) {
    to.each(|_, to| {
        // In this package's edition, a panic without `fmt::Arguments`.
        assert!(*to < 10_000_000, "the sum is too large");
        *to += BY;
    });
}

const BY: u32 = match env!("CARGO_PKG_VERSION_MAJOR").as_bytes() {
    b"1" => 100_000,
    _ => 1_000_000,
};
