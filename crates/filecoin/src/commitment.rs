//! Commitments as CIDs, the form in which lotus prints them.

use cid::Cid;
use cid::multihash::Multihash;

/// What a commitment commits to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitmentKind {
    /// comm_d: unsealed data (`fil-commitment-unsealed`, hashed with truncated SHA-256).
    Unsealed,
    /// comm_r: a replica (`fil-commitment-sealed`, hashed with Poseidon of arity 2).
    Sealed,
}

/// CIDv1 of a commitment, base32: `baga6ea4seaq…` for comm_d, `bagboea4b5abc…` for comm_r. Codes are those of the
/// multicodec table.
pub fn commitment_cid(kind: CommitmentKind, commitment: &[u8; 32]) -> String {
    let (codec, hash) = match kind {
        CommitmentKind::Unsealed => (0xf101, 0x1012),
        CommitmentKind::Sealed => (0xf102, 0xb401),
    };
    let multihash = Multihash::<64>::wrap(hash, commitment).expect("32 bytes fit");
    Cid::new_v1(codec, multihash).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cids_have_the_well_known_prefixes() {
        let zero = [0; 32];
        assert!(commitment_cid(CommitmentKind::Unsealed, &zero).starts_with("baga6ea4seaq"));
        assert!(commitment_cid(CommitmentKind::Sealed, &zero).starts_with("bagboea4b5abc"));
    }

    /// The commitment of 2 KiB of zeros, as it stands in Filecoin's own tables of zero-piece commitments.
    #[test]
    fn the_unsealed_cid_of_zeros() {
        let comm_d = hex::decode("fc7e928296e516faade986b28f92d44a4f24b935485223376a799027bc18f833").unwrap();
        assert_eq!(
            commitment_cid(CommitmentKind::Unsealed, &comm_d.try_into().unwrap()),
            "baga6ea4seaqpy7usqklokfx2vxuynmupslkeutzexe2uqurdg5vhtebhxqmpqmy"
        );
    }
}
