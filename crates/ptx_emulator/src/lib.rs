//! A PTX emulator that stands behind the CUDA driver API
