//! Well-known CUDA programs, compared with the CPU: see `tests`.
