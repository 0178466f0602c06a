//! Safe access to the CUDA driver API, on a GPU or on the emulator
