//! What kernels are written with: indices, barriers, shared memory, math, printing
