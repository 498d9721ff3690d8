//! The proof (A, B, C) and its 192 bytes.

use blstrs::{G1Affine, G2Affine};
use cuzk_fault::{Fault, injected};

use crate::Error;

/// A Groth16 proof: A and C on G1, B on G2, affine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    /// A.
    pub a: G1Affine,
    /// B.
    pub b: G2Affine,
    /// C.
    pub c: G1Affine,
}

impl Proof {
    /// The size of an encoded proof.
    pub const BYTES: usize = 192;

    /// Compressed A (48 bytes), B (96), C (48), in the encoding of the zkcrypto crates: big-endian x with flag bits on
    /// top.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..48].copy_from_slice(&self.a.to_compressed());
        bytes[48..144].copy_from_slice(&self.b.to_compressed());
        bytes[144..].copy_from_slice(&self.c.to_compressed());
        if injected(Fault::ProofSign) {
            bytes[0] ^= 0x20;
        }
        bytes
    }

    /// Decodes [`Proof::to_bytes`]; every point must be on its curve and in the subgroup of order r. (A point at
    /// infinity decodes; the verifier's equation decides about it.)
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Result<Self, Error> {
        let g1 = |name, range: std::ops::Range<usize>| {
            let bytes: &[u8; 48] = bytes[range].try_into().expect("48 bytes");
            Option::from(G1Affine::from_compressed(bytes)).ok_or(Error::BadProofPoint { point: name })
        };
        let b: &[u8; 96] = bytes[48..144].try_into().expect("96 bytes");
        Ok(Proof {
            a: g1("A", 0..48)?,
            b: Option::from(G2Affine::from_compressed(b)).ok_or(Error::BadProofPoint { point: "B" })?,
            c: g1("C", 144..192)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use group::prime::PrimeCurveAffine;

    #[test]
    fn bytes_round_trip_and_bad_points_are_named() {
        let proof = Proof { a: G1Affine::generator(), b: G2Affine::generator(), c: G1Affine::identity() };
        let bytes = proof.to_bytes();
        assert_eq!(Proof::from_bytes(&bytes).unwrap(), proof);
        for (byte, name) in [(0, "A"), (48, "B"), (144, "C")] {
            let mut wrong = bytes;
            wrong[byte] &= 0x7f; // no longer flagged as compressed
            assert!(
                matches!(Proof::from_bytes(&wrong), Err(Error::BadProofPoint { point }) if point == name)
            );
        }
    }
}
