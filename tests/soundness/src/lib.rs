//! Programs without `unsafe` that try to break the promises of the safe API: each must not compile,
//! return a typed error, or be harmless. One file in `tests` for each topic.
