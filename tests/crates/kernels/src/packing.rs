//! Compression, checksums, ciphers, and hashes of tables.

use crate::{Input, Record, cases};
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use alloc::vec::Vec;
use chacha20poly1305::ChaCha20Poly1305;
use chacha20poly1305::aead::{Aead, Payload};
use core::hash::{BuildHasher, Hash, Hasher};
use digest::Digest;
use xxhash_rust::{xxh3, xxh32, xxh64};

/// Words that come again, and bytes that do not.
fn text(input: &mut Input) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..input.below(12) {
        let words = input.words();
        for _ in 0..=input.below(5) {
            text.extend_from_slice(words.as_bytes());
        }
    }
    text.extend(input.bytes(40));
    text
}

/// In two parts, and in one.
fn put_digest<D: Digest>(bytes: &[u8], record: &mut Record) {
    let (first, second) = bytes.split_at(bytes.len() / 3);
    let mut digest = D::new();
    digest.update(first);
    digest.update(second);
    record.put(&digest.finalize()[..]);
    record.put(&D::digest(bytes)[..]);
}

fn put_hash(mut hasher: impl Hasher, input: &mut Input, record: &mut Record) {
    let bytes = input.bytes(100);
    (input.number, &bytes[..], "text", Some(input.bits())).hash(&mut hasher);
    hasher.write_u128(input.wide());
    record.put(hasher.finish());
}

cases! {
    "aes", 200;
    fn aes_blocks(mut input, record) {
        let cipher = aes::Aes256::new(&input.array::<32>().into());
        let mut block: aes::Block = input.array::<16>().into();
        let plain = block;
        cipher.encrypt_block(&mut block);
        record.put(&block[..]);
        cipher.decrypt_block(&mut block);
        record.put(block == plain);
        // More than the crate works on at once.
        let cipher = aes::Aes128::new(&input.array::<16>().into());
        let mut blocks: [aes::Block; 9] = core::array::from_fn(|_| input.array::<16>().into());
        cipher.encrypt_blocks(&mut blocks);
        for block in &blocks {
            record.put(&block[..]);
        }
    }

    "chacha20poly1305", 200;
    fn aead_messages(mut input, record) {
        let cipher = ChaCha20Poly1305::new(&input.array::<32>().into());
        let nonce = input.array::<12>().into();
        let msg = input.bytes(150);
        let sealed = cipher.encrypt(&nonce, Payload { msg: &msg, aad: b"head" });
        record.put(sealed.as_deref().ok());
        let Ok(sealed) = sealed else { return };
        let opened = cipher.decrypt(&nonce, Payload { msg: &sealed, aad: b"head" });
        record.put(opened.is_ok_and(|opened| opened == msg));
        record.put(cipher.decrypt(&nonce, &sealed[..]).is_err());
    }

    "crc32fast", 200;
    fn crc32_all(mut input, record) {
        let bytes = input.bytes(300);
        record.put(crc32fast::hash(&bytes));
        let mut first = crc32fast::Hasher::new();
        first.update(&bytes);
        let mut second = first.clone();
        second.update(&bytes);
        first.combine(&second);
        record.put(first.finalize());
    }

    "lz4_flex", 200;
    fn lz4_blocks(mut input, record) {
        let text = text(&mut input);
        let mut packed = lz4_flex::compress_prepend_size(&text);
        record.put(&packed[..]);
        record.put(lz4_flex::decompress_size_prepended(&packed).is_ok_and(|found| found == text));
        // Bytes that are wrong, but not those of the size.
        if packed.len() > 4 {
            let at = 4 + input.below(packed.len() as u64 - 4) as usize;
            packed[at] ^= 1 << input.below(8);
            record.put(lz4_flex::decompress_size_prepended(&packed).ok().as_deref());
        }
    }

    "miniz_oxide", 100;
    fn miniz_all(mut input, record) {
        let text = text(&mut input);
        for level in [1, 6] {
            let mut packed = miniz_oxide::deflate::compress_to_vec_zlib(&text, level);
            record.put(&packed[..]);
            let found = miniz_oxide::inflate::decompress_to_vec_zlib(&packed);
            record.put(found.is_ok_and(|found| found == text));
            let at = input.below(packed.len() as u64) as usize;
            packed[at] ^= 1 << input.below(8);
            let found = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(&packed, 5000);
            record.put(found.map_err(|error| error.status as i8).err());
        }
    }

    "rustc-hash", 200;
    fn fx_hasher(mut input, record) {
        put_hash(rustc_hash::FxBuildHasher.build_hasher(), &mut input, record);
    }

    "sha3", 200;
    fn sha3_all(mut input, record) {
        let bytes = input.bytes(300);
        put_digest::<sha3::Sha3_256>(&bytes, record);
        put_digest::<sha3::Keccak512>(&bytes, record);
    }

    "siphasher", 200;
    fn sip_hashers(mut input, record) {
        put_hash(siphasher::sip::SipHasher13::new_with_keys(1, 2), &mut input, record);
        put_hash(siphasher::sip::SipHasher24::new_with_keys(3, 4), &mut input, record);
    }

    "xxhash-rust", 200;
    fn xxhash_all(mut input, record) {
        let bytes = input.bytes(300);
        record.put((xxh32::xxh32(&bytes, 3), xxh64::xxh64(&bytes, 3)));
        record.put((xxh3::xxh3_64(&bytes), xxh3::xxh3_128_with_seed(&bytes, 77)));
        // As long as it takes for all of the secret to be used.
        let long: Vec<u8> = bytes.iter().cycle().take(bytes.len() * 8).copied().collect();
        let mut parts = xxh3::Xxh3::new();
        for part in long.chunks(7) {
            parts.update(part);
        }
        record.put((parts.digest128(), xxh3::xxh3_64(&long)));
    }
}
