//! What is read from a prover's output: its report and its list of variants. Unlike a case, these are read leniently: a
//! newer or foreign prover may say more than we look at. The fields mean what their keys mean in the prover's manual.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::{Hex, Sha256};

/// The report that `prove --report` writes.
#[derive(Deserialize)]
pub(crate) struct Report {
    pub(crate) tool: Tool,
    /// The backend that proved, which need not be the one that was asked for.
    pub(crate) backend: Backend,
    #[serde(default)]
    pub(crate) tuning: BTreeMap<String, String>,
    pub(crate) parameters: ReportedParameters,
    pub(crate) partitions: Vec<Partition>,
    #[serde(flatten)]
    pub(crate) cost: Cost,
    pub(crate) proof: ReportedProof,
    pub(crate) verified: bool,
}

#[derive(Deserialize)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) version: String,
}

#[derive(Deserialize)]
pub(crate) struct Backend {
    pub(crate) name: String,
}

#[derive(Deserialize)]
pub(crate) struct ReportedParameters {
    pub(crate) name: String,
    pub(crate) test_seed: Option<Hex<32>>,
    pub(crate) blake2b_512: Option<Hex<64>>,
}

#[derive(Deserialize)]
pub(crate) struct ReportedProof {
    pub(crate) sha256: Sha256,
}

#[derive(Deserialize)]
pub(crate) struct Partition {
    pub(crate) index: usize,
    digests: Option<BTreeMap<String, Value>>,
}

impl Partition {
    /// Whether any step was reported.
    pub(crate) fn has_digests(&self) -> bool {
        self.digests.is_some()
    }

    /// The digest of a step, if it was reported.
    pub(crate) fn digest(&self, step: &str) -> Option<Sha256> {
        let digest = self.digests.as_ref()?.get(step)?.as_str()?;
        Hex::try_from(digest.to_owned()).ok()
    }
}

/// What a run cost by the prover's own account.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cost {
    /// Milliseconds by phase.
    #[serde(default)]
    pub phases_ms: BTreeMap<String, f64>,
    /// Largest resident memory.
    pub peak_rss_bytes: Option<u64>,
    /// Memory taken on a device.
    #[serde(default)]
    pub device_memory_bytes: Option<u64>,
}

/// What `params generate --json` prints: the note beside test parameters.
#[derive(Deserialize)]
pub(crate) struct TestParameters {
    pub(crate) parameters: String,
    pub(crate) seed: Hex<32>,
    pub(crate) blake2b_512: Hex<64>,
}

/// What `variants --json` prints.
#[derive(Deserialize)]
pub(crate) struct Variants {
    pub(crate) axes: Vec<Axis>,
}

#[derive(Deserialize)]
pub(crate) struct Axis {
    pub(crate) name: String,
    /// `run`, if `--tune` chooses the value; another word if the build did.
    pub(crate) decided: String,
    /// The backends to which it makes a difference; all, where the prover does not say.
    #[serde(default)]
    pub(crate) backends: Option<Vec<String>>,
    pub(crate) values: Vec<AxisValue>,
}

#[derive(Deserialize)]
pub(crate) struct AxisValue {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) default: bool,
    /// The value that this one is on this machine.
    #[serde(default)]
    pub(crate) comes_to: Option<String>,
    /// Why this machine cannot have it.
    #[serde(default)]
    pub(crate) missing: Option<String>,
}
