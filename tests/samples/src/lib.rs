//! The programs that every CUDA programmer knows, compared with the CPU: see `tests`.
