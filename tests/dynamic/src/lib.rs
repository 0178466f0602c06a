//! Empty: the tests are in `tests/dynamic.rs`.
