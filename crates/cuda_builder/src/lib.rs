//! Builds GPU crates from a build script
