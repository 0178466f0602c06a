//! Hash maps and sets with a fast hash function. The keys are names and numbers of a program, so
//! resistance to collisions that an attacker provokes is not needed.

use rustc_hash::FxBuildHasher;

pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, FxBuildHasher>;
pub(crate) type HashSet<K> = std::collections::HashSet<K, FxBuildHasher>;
