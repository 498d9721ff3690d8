//! The blinding factors r and s of a proof.

use blstrs::Scalar as Fr;
use cuzk_fault::{Fault, injected};
use ff::Field;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, RngCore, SeedableRng};

/// The blinding factors of one proof. Whoever knows them can learn about the witness from the proof, so they are
/// drawn anew for each proof and never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blinding {
    /// r, which blinds A.
    pub r: Fr,
    /// s, which blinds B.
    pub s: Fr,
}

impl Blinding {
    /// Draws r, then s, from `rng`.
    pub fn random(mut rng: impl RngCore + CryptoRng) -> Self {
        let r = Fr::random(&mut rng);
        Blinding { r, s: Fr::random(&mut rng) }
    }

    /// r and s as a function of `seed` and the partition, for reproducible proofs, which are *not* zero-knowledge.
    ///
    /// They are drawn in this order from ChaCha20 (20 rounds, key = seed, stream number = partition, counter from 0):
    /// 32 bytes are read as a little-endian integer, its top bit is cleared, and it is taken if it is below the
    /// modulus r of Fr, else the next 32 bytes are tried.
    pub fn from_insecure_seed(seed: [u8; 32], partition: usize) -> Self {
        let mut rng = ChaCha20Rng::from_seed(seed);
        rng.set_stream(if injected(Fault::BlindingRepeated) { 0 } else { partition as u64 });
        Self::random(rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documented derivation, written out.
    #[test]
    fn the_derivation_is_the_documented_one() {
        for partition in [0, 1, 9] {
            let seed = [0x5a; 32];
            let mut rng = ChaCha20Rng::from_seed(seed);
            rng.set_stream(partition as u64);
            let mut next = || loop {
                let mut bytes = [0; 32];
                rng.fill_bytes(&mut bytes);
                bytes[31] &= 0x7f;
                if let Some(scalar) = Option::<Fr>::from(Fr::from_bytes_le(&bytes)) {
                    return scalar;
                }
            };
            let expected = Blinding { r: next(), s: next() };
            assert_eq!(Blinding::from_insecure_seed(seed, partition), expected);
        }
        assert_ne!(Blinding::from_insecure_seed([1; 32], 0), Blinding::from_insecure_seed([1; 32], 1));
    }
}
