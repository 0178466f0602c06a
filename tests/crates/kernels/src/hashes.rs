//! Hash functions and ciphers.

use crate::cases;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use sha2::Digest;

cases! {
    "sha2", 512;
    fn sha2_256(mut input, record) {
        let bytes = input.bytes(300);
        record.put(&sha2::Sha256::digest(&bytes)[..]);
        record.put(&sha2::Sha224::digest(&bytes)[..]);
    }

    "sha2", 512;
    fn sha2_512(mut input, record) {
        let bytes = input.bytes(300);
        record.put(&sha2::Sha512::digest(&bytes)[..]);
        // In pieces.
        let mut hasher = sha2::Sha512_256::new();
        bytes.chunks(17).for_each(|part| hasher.update(part));
        record.put(&hasher.finalize()[..]);
    }

    "blake3", 512;
    fn blake3_hash(mut input, record) {
        // More than one chunk of 1024 bytes, and thus a tree.
        let bytes = input.bytes(if input.number < 400 { 200 } else { 3000 });
        record.put(*blake3::hash(&bytes).as_bytes());
        record.put(*blake3::keyed_hash(&input.array(), &bytes).as_bytes());
        let mut long = [0; 100];
        blake3::Hasher::new_derive_key("tests of a compiler")
            .update(&bytes)
            .finalize_xof()
            .fill(&mut long);
        record.put(&long[..]);
    }

    "chacha20", 512;
    fn chacha20_streams(mut input, record) {
        let (key, nonce) = (input.array::<32>(), input.array::<12>());
        let mut bytes = input.bytes(300);
        let mut cipher = chacha20::ChaCha20::new(&key.into(), &nonce.into());
        let third = bytes.len() / 3;
        // In two pieces, of which the first ends within a block.
        let (first, second) = bytes.split_at_mut(third);
        cipher.apply_keystream(first);
        cipher.apply_keystream(second);
        record.put(&bytes[..]);
        cipher.seek(input.below(1 << 30));
        cipher.apply_keystream(&mut bytes);
        record.put((&bytes[..], cipher.current_pos::<u64>()));
        chacha20::ChaCha8::new(&key.into(), &nonce.into()).apply_keystream(&mut bytes);
        record.put(&bytes[..]);
    }
}
