//! Takes the examples out of the documentation of `cuda_std`'s modules that this package tests.

#[path = "../../doc_examples.rs"]
mod doc_examples;

const FILES: &[&str] = &[
    "cluster.rs",
    "copy.rs",
    "half.rs",
    "matrix/mod.rs",
    "matrix/wmma.rs",
    "mbarrier.rs",
    "minifloat.rs",
    "random/mod.rs",
    "texture.rs",
    "wgmma.rs",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    doc_examples::write(FILES)
}
