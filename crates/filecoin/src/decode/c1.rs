//! C1 outputs: outer and inner JSON, and bincode.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use filecoin_proofs::constants::{SectorShape2KiB, SectorShape32GiB, SectorShape64GiB};
use filecoin_proofs::types::SealCommitPhase1Output as BincodePhase1;
use filecoin_proofs_api::RegisteredSealProof;
use filecoin_proofs_api::seal::{SealCommitPhase1Output, VanillaSealProof};
use serde::Deserialize;
use serde::de::Error as _;
use storage_proofs_core::merkle::MerkleProofTrait;

use super::json::{parse, require, top_level_keys};
use super::{BincodeError, from_bincode};
use crate::porep::porep_size;
use crate::shape::size_of_data_path;
use crate::{Error, SectorSize};

/// A C1 output. Bincode does not carry the registered proof.
#[derive(Debug)]
pub(crate) struct C1 {
    pub(crate) registered_proof: Option<RegisteredSealProof>,
    pub(crate) vanilla: VanillaSealProof,
    pub(crate) comm_r: [u8; 32],
    pub(crate) comm_d: [u8; 32],
    pub(crate) replica_id: [u8; 32],
    pub(crate) seed: [u8; 32],
    pub(crate) ticket: [u8; 32],
}

#[derive(Deserialize)]
struct Outer {
    #[serde(rename = "SectorNum")]
    sector: u64,
    #[serde(rename = "Phase1Out")]
    phase1: String,
    #[serde(rename = "SectorSize")]
    sector_size: u64,
}

pub(super) const OUTER_KEYS: [&str; 3] = ["SectorNum", "Phase1Out", "SectorSize"];
pub(super) const INNER_KEYS: [&str; 7] =
    ["registered_proof", "vanilla_proofs", "comm_r", "comm_d", "replica_id", "seed", "ticket"];

/// `SectorNum`, `Phase1Out` (base64 of the inner JSON), `SectorSize`.
pub(super) fn outer(bytes: &[u8], place: &str, keys: &BTreeSet<String>) -> Result<(u64, C1), Error> {
    require(&OUTER_KEYS, keys, place, "a C1 output")?;
    let Outer { sector, phase1, sector_size } = parse(bytes, place)?;
    let place = format!("Phase1Out in {place}");
    let inner_json = STANDARD.decode(phase1).map_err(|error| Error::Malformed {
        place: place.clone(),
        message: format!("not base64: {error}"),
    })?;
    let keys = top_level_keys(&inner_json, &place)?;
    let c1 = inner(&inner_json, &place, &keys)?;
    if let Some(registered_proof) = c1.registered_proof {
        let inner = porep_size(registered_proof)?;
        if inner.bytes() != sector_size {
            let registered_proof = format!("{registered_proof:?}");
            return Err(Error::SectorSizes { outer: sector_size, registered_proof, inner });
        }
    }
    Ok((sector, c1))
}

/// The JSON of upstream's `SealCommitPhase1Output`.
pub(super) fn inner(bytes: &[u8], place: &str, keys: &BTreeSet<String>) -> Result<C1, Error> {
    require(&INNER_KEYS, keys, place, "the inner JSON of a C1 output")?;
    let phase1: SealCommitPhase1Output = parse(bytes, place)?;
    let mut replica_id = [0; 32];
    replica_id.copy_from_slice(phase1.replica_id.as_ref());
    Ok(C1 {
        registered_proof: Some(phase1.registered_proof),
        vanilla: phase1.vanilla_proofs,
        comm_r: phase1.comm_r,
        comm_d: phase1.comm_d,
        replica_id,
        seed: phase1.seed,
        ticket: phase1.ticket,
    })
}

/// More than any PoRep has: 126 in a non-interactive one.
const MAX_PARTITIONS: u64 = 255;

/// Bincode of the lower-level type of `filecoin_proofs`, to its last byte. Upstream's paths decode as any shape of tree,
/// so the first comm_d path's length decides which it is.
pub(super) fn bincode(bytes: &[u8], place: &str) -> Result<Result<C1, BincodeError>, Error> {
    // The number of partitions, of which an empty one takes three times as much memory as bytes.
    let partitions = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    if partitions > MAX_PARTITIONS {
        return Ok(Err(BincodeError::custom(format_args!("it promises {partitions} partitions"))));
    }
    let base = match from_bincode::<BincodePhase1<SectorShape2KiB>>(bytes) {
        Ok(phase1) => phase1,
        Err(error) => return Ok(Err(error)),
    };
    let malformed = |message: String| Error::Malformed { place: place.to_owned(), message };
    let first = base.vanilla_proofs.first().and_then(|partition| partition.first());
    let size = first.and_then(|proof| size_of_data_path(proof.comm_d_proofs.path().len()));
    let size = size.ok_or_else(|| malformed("paths of no sector size".to_owned()))?;
    let again = |error: BincodeError| malformed(error.to_string());
    let vanilla = match size {
        SectorSize::KiB2 => VanillaSealProof::StackedDrg2KiBV1(base.vanilla_proofs),
        SectorSize::MiB8 => VanillaSealProof::StackedDrg8MiBV1(base.vanilla_proofs),
        SectorSize::MiB512 => VanillaSealProof::StackedDrg512MiBV1(base.vanilla_proofs),
        SectorSize::GiB32 => VanillaSealProof::StackedDrg32GiBV1(
            from_bincode::<BincodePhase1<SectorShape32GiB>>(bytes).map_err(again)?.vanilla_proofs,
        ),
        SectorSize::GiB64 => VanillaSealProof::StackedDrg64GiBV1(
            from_bincode::<BincodePhase1<SectorShape64GiB>>(bytes).map_err(again)?.vanilla_proofs,
        ),
    };
    let mut replica_id = [0; 32];
    replica_id.copy_from_slice(base.replica_id.as_ref());
    Ok(Ok(C1 {
        registered_proof: None,
        vanilla,
        comm_r: base.comm_r,
        comm_d: base.comm_d,
        replica_id,
        seed: base.seed,
        ticket: base.ticket,
    }))
}
