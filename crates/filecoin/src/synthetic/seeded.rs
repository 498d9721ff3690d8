//! Elements of Fr from a seed, addressed instead of drawn in order, so that they do not depend on which thread asks.

use filecoin_hashers::poseidon::PoseidonDomain;
use sha2::{Digest, Sha256};

/// What a value is for. The numbers are part of what a seed means: never change one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Ticket = 1,
    InteractiveSeed = 2,
    Data = 3,
    Label = 4,
    TreeC = 5,
    TreeRLast = 6,
    CommC = 7,
    Randomness = 8,
    ReplicaNode = 9,
}

/// The values of one sector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeded {
    pub(super) seed: u64,
    pub(super) sector: u64,
}

impl Seeded {
    /// SHA-256 of purpose and position, cut to 254 bits: an element of Fr in little-endian bytes. One compression.
    pub(super) fn bytes(&self, purpose: Purpose, level: usize, index: u64) -> [u8; 32] {
        let hash = Sha256::new()
            .chain_update(b"cuzk synthetic 1")
            .chain_update(self.seed.to_le_bytes())
            .chain_update(self.sector.to_le_bytes())
            .chain_update([purpose as u8, level as u8])
            .chain_update(index.to_le_bytes());
        let mut bytes: [u8; 32] = hash.finalize().into();
        bytes[31] &= 0x3f;
        bytes
    }

    /// [`Seeded::bytes`] as a node of a Poseidon tree.
    pub(super) fn node(&self, purpose: Purpose, level: usize, index: u64) -> PoseidonDomain {
        self.bytes(purpose, level, index).into()
    }
}
