//! The collections of `alloc`, and the hash maps of `hashbrown`, which `std`'s wrap.

pub use alloc_crate::collections::*;

/// With its default hasher and allocator, as code that names neither expects.
pub type HashMap<K, V> = hashbrown::HashMap<K, V>;
/// With its default hasher and allocator.
pub type HashSet<T> = hashbrown::HashSet<T>;

pub mod hash_map {
    pub use crate::hash::{DefaultHasher, RandomState};
    pub use super::HashMap;
}
