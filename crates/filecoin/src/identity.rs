//! Sector sizes and the identity of a miner.

use std::fmt;
use std::str::FromStr;

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
