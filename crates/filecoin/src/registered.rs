//! Registered proofs: Filecoin's names and numbers of what is proved, for which size, in which version.

use std::fmt;

use filecoin_proofs_api::{ApiFeature, RegisteredPoStProof, RegisteredSealProof, RegisteredUpdateProof};

use crate::{Error, Kind, SectorSize};

/// A registered proof of any kind. Displayed by proofs-api's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisteredProof {
    /// Proof of replication.
    Seal(RegisteredSealProof),
    /// Proof of spacetime.
    Post(RegisteredPoStProof),
    /// Replica update.
    Update(RegisteredUpdateProof),
}

impl RegisteredProof {
    /// The latest of a kind and size; of PoReps, the interactive one.
    pub fn latest(kind: Kind, size: SectorSize) -> Self {
        match kind {
            Kind::Porep => RegisteredProof::Seal(latest_seal(size)),
            Kind::WinningPost => RegisteredProof::Post(winning_post(size)),
            Kind::WindowPost => RegisteredProof::Post(window_post(size)),
            Kind::Snap => RegisteredProof::Update(update_of_size(size)),
        }
    }
}

impl fmt::Display for RegisteredProof {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegisteredProof::Seal(proof) => write!(formatter, "{proof:?}"),
            RegisteredProof::Post(proof) => write!(formatter, "{proof:?}"),
            RegisteredProof::Update(proof) => write!(formatter, "{proof:?}"),
        }
    }
}

impl RegisteredProof {
    /// Whether the proofs of all partitions go on chain as one aggregate: non-interactive PoReps.
    pub fn is_aggregated(self) -> bool {
        matches!(self, RegisteredProof::Seal(proof) if proof.feature_enabled(ApiFeature::NonInteractivePoRep))
    }
}

/// In the order of their numbers on chain: V1, V1_1, synthetic, non-interactive, each from 2 KiB to 64 GiB.
const SEAL: [RegisteredSealProof; 20] = {
    use RegisteredSealProof::*;
    [
        StackedDrg2KiBV1,
        StackedDrg8MiBV1,
        StackedDrg512MiBV1,
        StackedDrg32GiBV1,
        StackedDrg64GiBV1,
        StackedDrg2KiBV1_1,
        StackedDrg8MiBV1_1,
        StackedDrg512MiBV1_1,
        StackedDrg32GiBV1_1,
        StackedDrg64GiBV1_1,
        StackedDrg2KiBV1_1_Feat_SyntheticPoRep,
        StackedDrg8MiBV1_1_Feat_SyntheticPoRep,
        StackedDrg512MiBV1_1_Feat_SyntheticPoRep,
        StackedDrg32GiBV1_1_Feat_SyntheticPoRep,
        StackedDrg64GiBV1_1_Feat_SyntheticPoRep,
        StackedDrg2KiBV1_2_Feat_NonInteractivePoRep,
        StackedDrg8MiBV1_2_Feat_NonInteractivePoRep,
        StackedDrg512MiBV1_2_Feat_NonInteractivePoRep,
        StackedDrg32GiBV1_2_Feat_NonInteractivePoRep,
        StackedDrg64GiBV1_2_Feat_NonInteractivePoRep,
    ]
};

/// In the order of their numbers on chain: winning, window V1, window V1_1 (which proofs-api calls V1_2).
const POST: [RegisteredPoStProof; 15] = {
    use RegisteredPoStProof::*;
    [
        StackedDrgWinning2KiBV1,
        StackedDrgWinning8MiBV1,
        StackedDrgWinning512MiBV1,
        StackedDrgWinning32GiBV1,
        StackedDrgWinning64GiBV1,
        StackedDrgWindow2KiBV1,
        StackedDrgWindow8MiBV1,
        StackedDrgWindow512MiBV1,
        StackedDrgWindow32GiBV1,
        StackedDrgWindow64GiBV1,
        StackedDrgWindow2KiBV1_2,
        StackedDrgWindow8MiBV1_2,
        StackedDrgWindow512MiBV1_2,
        StackedDrgWindow32GiBV1_2,
        StackedDrgWindow64GiBV1_2,
    ]
};

/// In the order of their numbers on chain.
const UPDATE: [RegisteredUpdateProof; 5] = {
    use RegisteredUpdateProof::*;
    [StackedDrg2KiBV1, StackedDrg8MiBV1, StackedDrg512MiBV1, StackedDrg32GiBV1, StackedDrg64GiBV1]
};

/// Variants of PoRep, in the order of their numbers on chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PorepApi {
    /// Interactive, API version 1.0.0.
    V1,
    /// Interactive, API version 1.1.0.
    V1_1,
    /// Challenges drawn from a set that was opened before.
    Synthetic,
    /// Challenges derived from comm_r alone; the proofs of all partitions are aggregated.
    NonInteractive,
}

/// The PoRep of a sector size.
pub fn seal_of_size(size: SectorSize, api: PorepApi) -> RegisteredSealProof {
    SEAL[5 * api as usize + size as usize]
}

/// What new sectors are sealed with: interactive, V1_1.
pub(crate) fn latest_seal(size: SectorSize) -> RegisteredSealProof {
    seal_of_size(size, PorepApi::V1_1)
}

/// The winning PoSt of a sector size.
pub fn winning_post(size: SectorSize) -> RegisteredPoStProof {
    POST[size as usize]
}

/// The window PoSt of a sector size, in the version that the chain takes today.
pub fn window_post(size: SectorSize) -> RegisteredPoStProof {
    POST[10 + size as usize]
}

/// The replica update of a sector size.
pub fn update_of_size(size: SectorSize) -> RegisteredUpdateProof {
    UPDATE[size as usize]
}

/// The number on chain of a replica update.
pub(crate) fn update_number(proof: RegisteredUpdateProof) -> u64 {
    UPDATE.iter().position(|other| *other == proof).expect("all updates are listed") as u64
}

pub(crate) fn seal(name: &str) -> Result<RegisteredSealProof, Error> {
    find(&SEAL, name, "RegisteredSealProof")
}

pub(crate) fn post(name: &str) -> Result<RegisteredPoStProof, Error> {
    find(&POST, name, "RegisteredPoStProof")
}

pub(crate) fn update(name: &str) -> Result<RegisteredUpdateProof, Error> {
    find(&UPDATE, name, "RegisteredUpdateProof")
}

/// By its number on chain or its name.
fn find<T: Copy + fmt::Debug>(all: &[T], name: &str, of: &'static str) -> Result<T, Error> {
    let by_number = name.parse::<usize>().ok().and_then(|number| all.get(number));
    let found = by_number.or_else(|| all.iter().find(|proof| format!("{proof:?}") == name));
    found.copied().ok_or_else(|| Error::UnknownProofType {
        name: name.to_owned(),
        of,
        known: all
            .iter()
            .enumerate()
            .map(|(number, proof)| format!("{number} {proof:?}"))
            .collect::<Vec<_>>()
            .join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_agree_with_the_chain() {
        assert_eq!(seal("8").unwrap(), RegisteredSealProof::StackedDrg32GiBV1_1);
        assert_eq!(seal("StackedDrg64GiBV1").unwrap(), RegisteredSealProof::StackedDrg64GiBV1);
        assert_eq!(post("3").unwrap(), RegisteredPoStProof::StackedDrgWinning32GiBV1);
        assert_eq!(post("13").unwrap(), RegisteredPoStProof::StackedDrgWindow32GiBV1_2);
        assert_eq!(update("3").unwrap(), RegisteredUpdateProof::StackedDrg32GiBV1);
        assert!(seal("20").is_err() && post("StackedDrg32GiBV1").is_err() && update("").is_err());
    }

    #[test]
    fn sizes_pick_the_right_one() {
        for size in SectorSize::ALL {
            let bytes = size.bytes();
            assert_eq!(seal_of_size(size, PorepApi::V1).sector_size().0, bytes);
            assert_eq!(latest_seal(size).sector_size().0, bytes);
            assert_eq!(winning_post(size).sector_size().0, bytes);
            assert_eq!(window_post(size).sector_size().0, bytes);
            assert_eq!(update_of_size(size).sector_size().0, bytes);
        }
    }
}
