//! Hash maps and sets with a fast hash function. The keys are names and numbers of a program, so
//! resistance to collisions that an attacker provokes is not needed.

use rustc_hash::FxBuildHasher;

pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, FxBuildHasher>;
pub(crate) type HashSet<K> = std::collections::HashSet<K, FxBuildHasher>;

/// Returns an empty map with memory for some keys.
pub(crate) fn with_capacity<K, V>(keys: usize) -> HashMap<K, V> {
    HashMap::with_capacity_and_hasher(keys, FxBuildHasher)
}
