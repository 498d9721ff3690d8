//! Counts in a C1 output: how many hashes each path has, how many rows each column. Upstream indexes into these lists
//! without asking, so they are counted before anything is handed to it.

use serde::Deserialize;
use serde::de::{IgnoredAny, SeqAccess, Visitor};

use crate::{Error, SectorSize};

/// The number of elements of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count(usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counter;
        impl<'de> Visitor<'de> for Counter {
            type Value = Count;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Count, A::Error> {
                let mut count = 0;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Count(count))
            }
        }
        deserializer.deserialize_seq(Counter)
    }
}

#[derive(Debug, Deserialize)]
struct Step {
    hashes: Count,
}

#[derive(Debug, Deserialize)]
struct Path {
    path: Vec<Step>,
}

#[derive(Debug, Deserialize)]
enum Data {
    Single { path: Path },
    Sub { base_proof: Path, sub_proof: Path },
    Top { base_proof: Path, sub_proof: Path, top_proof: Path },
}

#[derive(Debug, Deserialize)]
struct Merkle {
    data: Data,
}

#[derive(Debug, Deserialize)]
struct Column {
    rows: Count,
}

#[derive(Debug, Deserialize)]
struct ColumnProof {
    column: Column,
    inclusion_proof: Merkle,
}

#[derive(Debug, Deserialize)]
struct Columns {
    c_x: ColumnProof,
    drg_parents: Vec<ColumnProof>,
    exp_parents: Vec<ColumnProof>,
}

#[derive(Debug, Deserialize)]
struct Label {
    parents: Count,
}

/// The counts in one challenge's proof.
#[derive(Debug, Deserialize)]
pub(crate) struct ChallengeLayout {
    comm_d_proofs: Merkle,
    comm_r_last_proof: Merkle,
    replica_column_proofs: Columns,
    labeling_proofs: Vec<Label>,
    encoding_proof: Label,
}

/// Parents of a node: 6 in its own layer, 8 in the one before.
const DRG_PARENTS: usize = 6;
const EXP_PARENTS: usize = 8;
/// A label hashes its parents' labels over and over, 37 in all.
const HASHED_PARENTS: usize = 37;

/// What the circuit of a sector size needs.
pub(crate) struct Needed {
    pub(crate) size: SectorSize,
    pub(crate) layers: usize,
}

impl ChallengeLayout {
    /// Compares every count with what the circuit needs; `place` names the challenge.
    pub(crate) fn check(&self, needed: &Needed, place: &str) -> Result<(), Error> {
        let count = |what, found, expected| {
            if found == expected {
                return Ok(());
            }
            Err(Error::Count { place: place.to_owned(), what, found, expected })
        };
        let columns = &self.replica_column_proofs;
        count("DRG parents", columns.drg_parents.len(), DRG_PARENTS)?;
        count("expander parents", columns.exp_parents.len(), EXP_PARENTS)?;
        count("labeling proofs", self.labeling_proofs.len(), needed.layers)?;
        for label in self.labeling_proofs.iter().chain([&self.encoding_proof]) {
            count("parents of a label", label.parents.0, HASHED_PARENTS)?;
        }
        self.comm_d_proofs.check(&[(needed.size.nodes().ilog2() as usize, 1)], "comm_d", &count)?;
        let replica_tree = replica_tree_paths(needed.size);
        self.comm_r_last_proof.check(&replica_tree, "comm_r_last", &count)?;
        for column in [&columns.c_x].into_iter().chain(&columns.drg_parents).chain(&columns.exp_parents) {
            count("layers of a column", column.column.rows.0, needed.layers)?;
            column.inclusion_proof.check(&replica_tree, "comm_c", &count)?;
        }
        Ok(())
    }
}

impl Merkle {
    /// `needed` has steps and hashes a step of each part of the path, the base tree's first.
    fn check(
        &self,
        needed: &[(usize, usize)],
        tree: &'static str,
        count: &impl Fn(&'static str, usize, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let parts = match &self.data {
            Data::Single { path } => vec![path],
            Data::Sub { base_proof, sub_proof } => vec![base_proof, sub_proof],
            Data::Top { base_proof, sub_proof, top_proof } => vec![base_proof, sub_proof, top_proof],
        };
        let (parts_of, steps_of, hashes_of) = match tree {
            "comm_d" => {
                ("parts of a comm_d path", "steps of a comm_d path", "hashes of a comm_d path's step")
            }
            "comm_c" => {
                ("parts of a comm_c path", "steps of a comm_c path", "hashes of a comm_c path's step")
            }
            _ => (
                "parts of a comm_r_last path",
                "steps of a comm_r_last path",
                "hashes of a comm_r_last path's step",
            ),
        };
        count(parts_of, parts.len(), needed.len())?;
        for (part, (steps, hashes)) in parts.iter().zip(needed) {
            count(steps_of, part.path.len(), *steps)?;
            for step in &part.path {
                count(hashes_of, step.hashes.0, *hashes)?;
            }
        }
        Ok(())
    }
}

/// Steps and hashes a step of a path in the replica trees, which are 8-0-0 up to 512 MiB, 8-8-0 at 32 GiB and 8-8-2 at
/// 64 GiB.
fn replica_tree_paths(size: SectorSize) -> Vec<(usize, usize)> {
    let (trees, upper): (usize, &[(usize, usize)]) = match size {
        SectorSize::KiB2 | SectorSize::MiB8 | SectorSize::MiB512 => (1, &[]),
        SectorSize::GiB32 => (8, &[(1, 7)]),
        SectorSize::GiB64 => (16, &[(1, 7), (1, 1)]),
    };
    let base_steps = (size.nodes() / trees).ilog(8) as usize;
    [(base_steps, 7)].into_iter().chain(upper.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_replica_trees() {
        assert_eq!(replica_tree_paths(SectorSize::KiB2), [(2, 7)]);
        assert_eq!(replica_tree_paths(SectorSize::MiB8), [(6, 7)]);
        assert_eq!(replica_tree_paths(SectorSize::MiB512), [(8, 7)]);
        assert_eq!(replica_tree_paths(SectorSize::GiB32), [(9, 7), (1, 7)]);
        assert_eq!(replica_tree_paths(SectorSize::GiB64), [(9, 7), (1, 7), (1, 1)]);
    }
}
