//! Device programs whose results are compared with the CPU.
