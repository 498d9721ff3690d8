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

impl CommitmentKind {
    /// Codec and hash in the multicodec table.
    const fn codes(self) -> (u64, u64) {
        match self {
            CommitmentKind::Unsealed => (0xf101, 0x1012),
            CommitmentKind::Sealed => (0xf102, 0xb401),
        }
    }
}

/// CIDv1 of a commitment, base32: `baga6ea4seaq…` for comm_d, `bagboea4b5abc…` for comm_r.
pub fn commitment_cid(kind: CommitmentKind, commitment: &[u8; 32]) -> String {
    let (codec, hash) = kind.codes();
    let multihash = Multihash::<64>::wrap(hash, commitment).expect("32 bytes fit");
    Cid::new_v1(codec, multihash).to_string()
}

/// Reads a commitment: 64 hexadecimal digits, its CID, or the two tokens of a `commdr.txt` (`d:CID r:CID`), of which the
/// one of this kind is taken.
pub fn parse_commitment(kind: CommitmentKind, text: &str) -> Result<[u8; 32], String> {
    let (codec, hash) = kind.codes();
    let mark = match kind {
        CommitmentKind::Unsealed => "d:",
        CommitmentKind::Sealed => "r:",
    };
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let token = match tokens[..] {
        [token] => token.strip_prefix(mark).unwrap_or(token),
        _ => tokens
            .iter()
            .find_map(|token| token.strip_prefix(mark))
            .ok_or_else(|| format!("no token {mark}CID"))?,
    };
    // The length alone does not tell them apart: a CID of comm_d has 64 characters too.
    let mut bytes = [0; 32];
    if hex::decode_to_slice(token, &mut bytes).is_ok() {
        return Ok(bytes);
    }
    let cid =
        Cid::try_from(token).map_err(|error| format!("neither 64 hexadecimal digits nor a CID: {error}"))?;
    if (cid.codec(), cid.hash().code()) != (codec, hash) {
        let wanted = commitment_cid(kind, &[0; 32])[..12].to_owned();
        return Err(format!("a CID of something else; this commitment's CIDs begin with {wanted}"));
    }
    cid.hash().digest().try_into().map_err(|_| "a CID of another length than 32 bytes".to_owned())
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

    #[test]
    fn commitments_are_read_in_every_form() {
        let bytes: [u8; 32] = std::array::from_fn(|i| i as u8);
        let (d, r) = (
            commitment_cid(CommitmentKind::Unsealed, &bytes),
            commitment_cid(CommitmentKind::Sealed, &bytes),
        );
        let commdr = format!("d:{d} r:{r}\n");
        for (kind, cid) in [(CommitmentKind::Unsealed, &d), (CommitmentKind::Sealed, &r)] {
            for text in [cid.clone(), hex::encode(bytes), commdr.clone(), format!(" {cid}\n")] {
                assert_eq!(parse_commitment(kind, &text), Ok(bytes), "{text}");
            }
        }
        for wrong in [&r, "", "00", "d:", "two tokens", &"g".repeat(64)] {
            assert!(parse_commitment(CommitmentKind::Unsealed, wrong).is_err(), "{wrong}");
        }
    }
}
