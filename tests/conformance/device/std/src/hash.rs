//! Hashing: `core`'s, and the two types of `std`, with keys that are always the same.

pub use core::hash::*;

/// SipHash 1-3, as in `std`.
#[allow(deprecated)]
#[derive(Clone, Debug)]
pub struct DefaultHasher(SipHasher13);

impl DefaultHasher {
    /// The hasher with the keys 0 and 0, as in `std`.
    #[allow(deprecated)]
    pub fn new() -> DefaultHasher {
        DefaultHasher(SipHasher13::new_with_keys(0, 0))
    }
}

impl Default for DefaultHasher {
    fn default() -> DefaultHasher {
        DefaultHasher::new()
    }
}

impl Hasher for DefaultHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn write_str(&mut self, text: &str) {
        self.0.write_str(text);
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// Builds hashers. There is no randomness on a device, and a test that fails is to fail again.
#[derive(Clone, Debug, Default)]
pub struct RandomState;

impl RandomState {
    pub fn new() -> RandomState {
        RandomState
    }
}

impl BuildHasher for RandomState {
    type Hasher = DefaultHasher;

    #[allow(deprecated)]
    fn build_hasher(&self) -> DefaultHasher {
        DefaultHasher(SipHasher13::new_with_keys(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210))
    }
}
