//! Partial proofs: those of some partitions, which `prove --partitions` leaves and `join` puts together.
//!
//! A file of JSON: `cuzk_partial` (magic and version), the digests of the statement and of the verifying key, how many partitions
//! there are, and the proofs by number, 192 bytes in base64. What does not belong together is refused before anything is verified.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cuzk_filecoin::Statement;
use cuzk_groth16::{Proof, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::failure::Failure;

/// What every file begins with, as [`Partial`] is written.
pub(crate) const MAGIC: &[u8] = b"{\"cuzk_partial\":";
/// The version of the format.
const VERSION: u32 = 1;
/// Far above the largest: 126 partitions take 40 KB.
const MAX_BYTES: u64 = 1 << 20;

/// The proofs of some partitions of a statement.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Partial {
    cuzk_partial: u32,
    registered_proof: String,
    /// SHA-256 of what is proved, the same for every shape of input.
    statement: String,
    /// SHA-256 of the verifying key: proofs for other parameters are of no use together.
    verifying_key: String,
    /// Of the whole statement.
    partitions: usize,
    /// By partition, base64.
    proofs: BTreeMap<usize, String>,
}

impl Partial {
    /// The proofs of these partitions, one after the other.
    pub(crate) fn new(
        statement: &Statement,
        key: &VerifyingKey,
        partitions: &[usize],
        proofs: &[u8],
    ) -> Self {
        let proofs = proofs.chunks(Proof::BYTES).map(|proof| STANDARD.encode(proof));
        Partial { proofs: partitions.iter().copied().zip(proofs).collect(), ..Self::empty(statement, key) }
    }

    fn empty(statement: &Statement, key: &VerifyingKey) -> Self {
        Partial {
            cuzk_partial: VERSION,
            registered_proof: statement.registered_proof().to_string(),
            statement: hex::encode(statement.digest()),
            verifying_key: hex::encode(Sha256::digest(key.to_bytes())),
            partitions: statement.partitions(),
            proofs: BTreeMap::new(),
        }
    }

    /// Reads a file.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let mut bytes = vec![];
        let file = File::open(path)?;
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Self::decode(&bytes)
    }

    fn decode(bytes: &[u8]) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            cuzk_partial: u32,
        }
        let version: Version = serde_json::from_slice(bytes).context(
            "no partial proof, as `cuzk prove --partitions` leaves it: `cuzk_partial` has to be in it",
        )?;
        if version.cuzk_partial != VERSION {
            let found = version.cuzk_partial;
            return Err(anyhow!("a partial proof of version {found}; this program knows version {VERSION}"));
        }
        Ok(serde_json::from_slice(bytes)?)
    }

    /// What of this file does not belong to the statement or the parameters.
    fn differs_from(&self, whole: &Partial) -> Option<String> {
        let fields = [
            ("registered proof", &self.registered_proof, &whole.registered_proof),
            ("statement with digest", &self.statement, &whole.statement),
            ("verifying key with digest", &self.verifying_key, &whole.verifying_key),
        ];
        let differs = fields.iter().find(|(_, found, wanted)| found != wanted);
        let number = || {
            let (found, wanted) = (self.partitions, whole.partitions);
            (found != wanted).then(|| format!("of a statement of {found} partitions, not {wanted}"))
        };
        differs.map(|(what, found, wanted)| format!("of the {what} {found}, not {wanted}")).or_else(number)
    }
}

/// The proofs of all partitions, one after the other, from files that together have each partition once. The proofs are not
/// verified here.
pub(crate) fn join(
    files: &[(PathBuf, Partial)],
    statement: &Statement,
    key: &VerifyingKey,
) -> Result<Vec<u8>, Failure> {
    let whole = Partial::empty(statement, key);
    let mut found: BTreeMap<usize, (&Path, Vec<u8>)> = BTreeMap::new();
    for (path, partial) in files {
        let refused = |kind, text: String| Err(Failure::refused(kind, anyhow!("{}: {text}", path.display())));
        if let Some(difference) = partial.differs_from(&whole) {
            return refused("partial_of_another_proof", difference);
        }
        for (&partition, text) in &partial.proofs {
            if partition >= whole.partitions {
                return refused("partial_unreadable", format!("there is no partition {partition}"));
            }
            let proof = match STANDARD.decode(text) {
                Ok(proof) if proof.len() == Proof::BYTES => proof,
                _ => {
                    return refused(
                        "partial_unreadable",
                        format!("partition {partition}: no 192 bytes in base64"),
                    );
                }
            };
            if let Some((other, _)) = found.insert(partition, (path, proof)) {
                let text = format!("partition {partition} is also in {}", other.display());
                return refused("partition_twice", text);
            }
        }
    }
    let missing: Vec<String> = (0..whole.partitions)
        .filter(|partition| !found.contains_key(partition))
        .map(|partition| partition.to_string())
        .collect();
    if !missing.is_empty() {
        let list = missing.join(",");
        let message = anyhow!("no file has partition {list}; `cuzk prove --partitions {list}` makes it");
        return Err(Failure::refused("partition_missing", message));
    }
    Ok(found.into_values().flat_map(|(_, proof)| proof).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partial(text: &str) -> anyhow::Result<Partial> {
        Partial::decode(text.as_bytes())
    }

    #[test]
    fn files_are_read_as_they_are_written() {
        let written = Partial {
            cuzk_partial: VERSION,
            registered_proof: "a".to_owned(),
            statement: "b".to_owned(),
            verifying_key: "c".to_owned(),
            partitions: 3,
            proofs: BTreeMap::from([(0, "AA==".to_owned()), (2, "AQ==".to_owned())]),
        };
        let text = serde_json::to_string(&written).unwrap();
        assert!(text.as_bytes().starts_with(MAGIC), "{text}");
        assert_eq!(partial(&text).unwrap(), written);
        // Every byte matters: no prefix is a file.
        for end in 0..text.len() {
            assert!(partial(&text[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn damaged_files_are_refused_within_bounds() {
        let proofs =
            |numbers: std::ops::Range<usize>| numbers.map(|number| (number, STANDARD.encode([7; 192])));
        let file = |numbers| {
            let partial = Partial {
                cuzk_partial: VERSION,
                registered_proof: "StackedDrg32GiBV1_1".to_owned(),
                statement: "5a".repeat(32),
                verifying_key: "a5".repeat(32),
                partitions: 10,
                proofs: proofs(numbers).collect(),
            };
            serde_json::to_vec(&partial).unwrap()
        };
        cuzk_fuzz::fuzz(
            "partial files",
            || vec![file(0..1), file(2..10)],
            0,
            |bytes| drop(Partial::decode(bytes)),
        );
    }

    #[test]
    fn foreign_and_later_files_are_told_apart() {
        let message = |text: &str| format!("{:#}", partial(text).unwrap_err());
        assert!(message("{\"proof\": \"AA==\"}").contains("no partial proof"));
        assert!(message("{\"cuzk_partial\": 2, \"more\": []}").contains("of version 2"));
        let unknown = "{\"cuzk_partial\":1,\"registered_proof\":\"\",\"statement\":\"\",\"verifying_key\":\"\",\
                       \"partitions\":1,\"proofs\":{},\"more\":0}";
        assert!(message(unknown).contains("unknown field `more`"));
    }
}
