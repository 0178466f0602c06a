//! Extracts the examples of `cuda_std`'s documentation, as modules to compile for the device.

#[path = "../../doc_examples.rs"]
mod doc_examples;

/// The files whose examples the oldest architecture supports.
const FILES: &[&str] = &[
    "lib.rs",
    "atomic.rs",
    "barrier.rs",
    "bits.rs",
    "constant.rs",
    "debug.rs",
    "fence.rs",
    "float.rs",
    "group/mod.rs",
    "io.rs",
    "matrix_view.rs",
    "memory.rs",
    "per_block.rs",
    "per_thread.rs",
    "per_row.rs",
    "per_thread_2d.rs",
    "per_thread_3d.rs",
    "shared/mod.rs",
    "shared/phases.rs",
    "thread.rs",
    "time.rs",
    "unroll.rs",
    "vector.rs",
    "warp.rs",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    doc_examples::write(FILES)
}
