//! The report of a proof: `--report FILE` and `--json`.

use std::collections::BTreeMap;

use cuzk_filecoin::{Error, Kind, Statement};
use cuzk_groth16::{Step, Tuning};
use serde::Serialize;

use crate::machine::Machine;
use crate::plan::Plan;
use crate::progress::PhaseTimes;
use crate::provenance::Build;

/// The version of the report's schema.
pub(crate) const REPORT_VERSION: u32 = 1;

/// What was done, with what, how long it took, and what came of it.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) schema: &'static str,
    pub(crate) version: u32,
    pub(crate) tool: Tool,
    pub(crate) machine: Machine,
    pub(crate) backend: BackendReport,
    pub(crate) tuning: BTreeMap<&'static str, &'static str>,
    pub(crate) input: String,
    pub(crate) statement: StatementReport,
    /// What it was expected to take.
    pub(crate) plan: Plan,
    pub(crate) parameters: ParametersReport,
    pub(crate) randomness: Randomness,
    pub(crate) partitions: Vec<PartitionReport>,
    /// Sums over the partitions, and what is done once.
    pub(crate) phases_ms: PhaseTimes,
    /// What a user should know about how it was done: for instance that parameters did not fit a device.
    pub(crate) notes: Vec<String>,
    pub(crate) peak_rss_bytes: Option<u64>,
    /// What is taken of the devices' memory together: planned before anything is allocated, so it is the peak.
    pub(crate) device_memory_bytes: Option<u64>,
    /// Proofs that did not verify and were computed again.
    pub(crate) faults: usize,
    pub(crate) proof: ProofReport,
    /// Where the proof is an aggregate: of what, and with which key.
    pub(crate) aggregate: Option<AggregateReport>,
    pub(crate) verified: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) build: Build,
}

impl Tool {
    pub(crate) fn here() -> Self {
        Tool { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION"), build: Build::here() }
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct BackendReport {
    pub(crate) name: &'static str,
    pub(crate) why: String,
    /// The CUDA devices; one that is named twice has two sessions.
    pub(crate) devices: Vec<UsedDevice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct UsedDevice {
    pub(crate) number: usize,
    /// Its free memory before anything was done.
    pub(crate) free_bytes: usize,
}

impl BackendReport {
    /// The most that a session takes of its device's memory, where no more than `limit` of it was allowed.
    pub(crate) fn session_bytes(&self, device: &UsedDevice, limit: Option<usize>) -> usize {
        let allowed = limit.map_or(device.free_bytes, |limit| limit.min(device.free_bytes));
        match self.devices.iter().filter(|other| other.number == device.number).count() {
            0 | 1 => allowed,
            sessions => allowed.saturating_sub(cuzk_gpu::RESERVE_BYTES) / sessions,
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct StatementReport {
    pub(crate) kind: Kind,
    pub(crate) registered_proof: String,
    pub(crate) sector_size: u64,
    pub(crate) partitions: usize,
    /// SHA-256 of everything that is proved, the same for every shape of input.
    pub(crate) digest: String,
    /// What statement.json says of where its input comes from: really sealed, or synthetic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) made_by: Option<String>,
    /// Identity and commitments.
    #[serde(flatten)]
    pub(crate) public: BTreeMap<&'static str, String>,
}

impl StatementReport {
    pub(crate) fn of(statement: &Statement) -> Result<Self, Error> {
        Ok(StatementReport {
            kind: statement.kind(),
            registered_proof: statement.registered_proof().to_string(),
            sector_size: statement.sector_size()?.bytes(),
            partitions: statement.partitions(),
            digest: hex::encode(statement.digest()),
            made_by: statement.made_by().map(str::to_owned),
            public: statement.public_data().into_iter().collect(),
        })
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ParametersReport {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// The seed, for test parameters, with which anybody can forge proofs.
    pub(crate) test_seed: Option<String>,
    /// As remembered or noted; `null` when the file was never hashed.
    pub(crate) blake2b_512: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Randomness {
    /// With a seed, r and s are not secret and the proof is not zero-knowledge.
    pub(crate) insecure_seed: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct PartitionReport {
    pub(crate) index: usize,
    /// From the statement and loaded parameters to the proof; digests included when asked for.
    pub(crate) prove_ms: f64,
    pub(crate) phases_ms: PhaseTimes,
    pub(crate) digests: Option<BTreeMap<Step, String>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct AggregateReport {
    /// Groth16 proofs in it.
    pub(crate) proofs: usize,
    /// SHA-256 of those proofs, 192 bytes each, one after the other.
    pub(crate) proofs_sha256: String,
    pub(crate) inner_product_key: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct ProofReport {
    pub(crate) bytes: usize,
    pub(crate) sha256: String,
}

/// The tuning as a report shows it.
pub(crate) fn tuning(tuning: &Tuning) -> BTreeMap<&'static str, &'static str> {
    tuning.settings().into_iter().collect()
}

#[cfg(test)]
mod backend_tests {
    use super::*;

    #[test]
    fn sessions_share_the_memory_of_their_device() {
        const GIB: usize = 1 << 30;
        let used = |number, free| UsedDevice { number, free_bytes: free * GIB };
        let devices = vec![used(0, 80), used(1, 40), used(0, 80)];
        let report = BackendReport { name: "cuda", why: String::new(), devices };
        let bytes = |device: &UsedDevice, limit| report.session_bytes(device, limit);
        let reserve = cuzk_gpu::RESERVE_BYTES;
        assert_eq!(bytes(&report.devices[0], None), (80 * GIB - reserve) / 2);
        assert_eq!(bytes(&report.devices[2], Some(20 * GIB)), (20 * GIB - reserve) / 2);
        assert_eq!(bytes(&report.devices[1], None), 40 * GIB);
        assert_eq!(bytes(&report.devices[1], Some(50 * GIB)), 40 * GIB);
    }
}
