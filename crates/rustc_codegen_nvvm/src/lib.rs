//! A rustc codegen backend for NVIDIA GPUs
