//! An in-memory NVVM IR without LLVM: build, verify, transform, write, read
