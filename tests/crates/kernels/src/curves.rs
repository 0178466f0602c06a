//! Elliptic curves: signatures made, verified, and refused.

use crate::cases;
use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::montgomery::MontgomeryPoint;
use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar;
use ed25519_dalek::{Signer, SigningKey, Verifier, VerifyingKey};
use k256::ecdsa;
use k256::ecdsa::signature::hazmat::{PrehashSigner, PrehashVerifier};

cases! {
    "curve25519-dalek", 200;
    fn curve25519_scalars(mut input, record) {
        let a = Scalar::from_bytes_mod_order_wide(&input.array());
        let b = Scalar::from_bytes_mod_order(if input.number == 0 { [0xff; 32] } else { input.array() });
        record.put((a * b + a - b).to_bytes());
        record.put((-a).to_bytes());
        record.put(a.invert().to_bytes());
        record.put(bool::from(Scalar::from_canonical_bytes(input.array()).is_some()));
    }

    "curve25519-dalek", 128;
    fn curve25519_points(mut input, record) {
        let a = Scalar::from_bytes_mod_order(input.array());
        let point = EdwardsPoint::mul_base(&a);
        record.put(point.compress().to_bytes());
        record.put((point + point + point).to_montgomery().to_bytes());
        // Half of all values are a point's.
        let other = CompressedEdwardsY(input.array()).decompress();
        record.put(other.map(|other| (other + point).compress().to_bytes()));
        record.put(other.map(|other| other.is_torsion_free()));
        record.put(MontgomeryPoint(input.array()).mul_clamped(input.array()).to_bytes());
        record.put(RistrettoPoint::from_uniform_bytes(&input.array()).compress().to_bytes());
    }

    "ed25519-dalek", 128;
    fn ed25519_signatures(mut input, record) {
        let key = SigningKey::from_bytes(&input.array());
        let mut message = input.bytes(200);
        let mut signature = key.sign(&message).to_bytes();
        record.put(signature);
        record.put(key.verifying_key().to_bytes());
        let public = VerifyingKey::from_bytes(&key.verifying_key().to_bytes());
        record.put(public.is_ok());
        let Ok(public) = public else { return };
        // Two of four are spoilt: in the message, or in the signature.
        match input.number % 4 {
            0 => message.push(1),
            1 => signature[input.below(64) as usize] ^= 1 << input.below(8),
            _ => {}
        }
        record.put(public.verify(&message, &signature.into()).is_ok());
        record.put(public.verify_strict(&message, &signature.into()).is_ok());
    }

    "k256", 128;
    fn k256_signatures(mut input, record) {
        let key = ecdsa::SigningKey::from_slice(&input.array::<32>());
        record.put(key.is_ok());
        let Ok(key) = key else { return };
        let mut hash = input.array::<32>();
        let signature: Result<ecdsa::Signature, _> = key.sign_prehash(&hash);
        record.put(signature.is_ok());
        let Ok(signature) = signature else { return };
        let bytes = signature.to_bytes();
        record.put(&bytes[..]);
        record.put(key.verifying_key().to_sec1_point(true).as_bytes());
        if input.number % 2 == 0 {
            hash[input.below(32) as usize] ^= 1 << input.below(8);
        }
        record.put(key.verifying_key().verify_prehash(&hash, &signature).is_ok());
    }
}
