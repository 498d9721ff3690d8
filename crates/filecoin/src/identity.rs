//! Sector sizes, the identity of a miner, and elements of Fr.

use std::fmt;
use std::str::FromStr;

use filecoin_hashers::Domain;

use crate::Error;

/// A sector size that has circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SectorSize {
    /// 2¹¹ bytes, for tests.
    KiB2,
    /// 2²³ bytes, for tests.
    MiB8,
    /// 2²⁹ bytes, for tests.
    MiB512,
    /// 2³⁵ bytes.
    GiB32,
    /// 2³⁶ bytes.
    GiB64,
}

impl SectorSize {
    /// All of them.
    pub const ALL: [SectorSize; 5] =
        [SectorSize::KiB2, SectorSize::MiB8, SectorSize::MiB512, SectorSize::GiB32, SectorSize::GiB64];

    /// Bytes of a sector.
    pub const fn bytes(self) -> u64 {
        match self {
            SectorSize::KiB2 => 2 << 10,
            SectorSize::MiB8 => 8 << 20,
            SectorSize::MiB512 => 512 << 20,
            SectorSize::GiB32 => 32 << 30,
            SectorSize::GiB64 => 64 << 30,
        }
    }

    /// The size with this number of bytes.
    pub fn from_bytes(bytes: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|size| size.bytes() == bytes)
    }

    /// Nodes of 32 bytes.
    pub const fn nodes(self) -> usize {
        (self.bytes() / 32) as usize
    }

    /// Whether storage providers earn with sectors of this size: test parameters are refused for it.
    pub const fn is_production(self) -> bool {
        matches!(self, SectorSize::GiB32 | SectorSize::GiB64)
    }
}

impl fmt::Display for SectorSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            SectorSize::KiB2 => "2KiB",
            SectorSize::MiB8 => "8MiB",
            SectorSize::MiB512 => "512MiB",
            SectorSize::GiB32 => "32GiB",
            SectorSize::GiB64 => "64GiB",
        })
    }
}

impl FromStr for SectorSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(|size| size.to_string()).join(", ");
        Self::ALL
            .into_iter()
            .find(|size| size.to_string().eq_ignore_ascii_case(text) || size.bytes().to_string() == text)
            .ok_or_else(|| format!("`{text}` is no sector size; there are {}", known()))
    }
}

/// The prover id of a miner: the actor id as unsigned LEB128, left-aligned, filled up with zeros.
pub fn prover_id(miner: u64) -> [u8; 32] {
    let mut id = [0; 32];
    let mut rest = miner;
    for byte in &mut id {
        *byte = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == 0 {
            break;
        }
        *byte |= 0x80;
    }
    id
}

/// r, the order of Fr, little-endian.
const R_BYTES: [u8; 32] = [
    0x01, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xfe, 0x5b, 0xfe, 0xff, 0x02, 0xa4, 0xbd, 0x53, 0x05,
    0xd8, 0xa1, 0x09, 0x08, 0xd8, 0x39, 0x33, 0x48, 0x7d, 0x9d, 0x29, 0x53, 0xa7, 0xed, 0x73,
];

/// Whether 32 little-endian bytes are below r. Upstream's hash types do not look when they are decoded, and panic when
/// they are used.
fn is_canonical(bytes: &[u8; 32]) -> bool {
    bytes.iter().rev().lt(R_BYTES.iter().rev())
}

/// 32 bytes as one of upstream's hash types; `name` is what they are.
pub(crate) fn domain<D: Domain>(name: &'static str, bytes: &[u8; 32]) -> Result<D, Error> {
    let not_in_field = || Error::Commitment { name, problem: "not an element of Fr" };
    if !is_canonical(bytes) {
        return Err(not_in_field());
    }
    D::try_from_bytes(bytes).map_err(|_| not_in_field())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prover_ids_are_leb128() {
        let prefix = |miner, n: usize| prover_id(miner)[..n].to_vec();
        assert_eq!(prefix(0, 2), [0, 0]);
        assert_eq!(prefix(127, 2), [127, 0]);
        assert_eq!(prefix(128, 3), [0x80, 1, 0]);
        assert_eq!(prefix(1000, 3), [0xe8, 0x07, 0]);
        assert_eq!(prefix(u64::MAX, 11), [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0]);
        assert!(prover_id(u64::MAX)[11..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn canonical_means_below_the_order_of_the_field() {
        let minus_one = (-blstrs::Scalar::from(1)).to_bytes_le();
        assert!(is_canonical(&minus_one) && is_canonical(&[0; 32]));
        assert!(!is_canonical(&R_BYTES) && !is_canonical(&[0xff; 32]));
        assert_eq!(minus_one[1..], R_BYTES[1..]);
    }

    #[test]
    fn sizes_parse_as_they_print() {
        for size in SectorSize::ALL {
            assert_eq!(size.to_string().parse(), Ok(size));
            assert_eq!(size.to_string().to_lowercase().parse(), Ok(size));
            assert_eq!(size.bytes().to_string().parse(), Ok(size));
            assert_eq!(SectorSize::from_bytes(size.bytes()), Some(size));
        }
        assert_eq!(
            "3KiB".parse::<SectorSize>().unwrap_err(),
            "`3KiB` is no sector size; there are 2KiB, 8MiB, 512MiB, 32GiB, 64GiB"
        );
    }
}
