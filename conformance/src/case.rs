//! The format of a golden case: `case.json`, and `parameters.json` above the suites.
//!
//! Unknown keys are refused when a case is read: a misspelt key would otherwise be an expectation nobody checks.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::digest::{Hex, Sha256};

/// The version of both formats.
pub const SCHEMA: u32 = 1;
/// Length of one Groth16 proof: A (48 bytes), B (96), C (48), compressed.
pub const PROOF_BYTES: usize = 192;
/// Where A ends in it: 48 bytes of G1, compressed.
pub const END_OF_A: usize = 48;
/// Where B ends in it: 96 bytes of G2. C, in G1, is the rest.
pub const END_OF_B: usize = 144;

/// File name of a case inside its folder.
pub const CASE_FILE: &str = "case.json";
/// File name of the JSON schema of cases inside the golden folder.
pub const SCHEMA_FILE: &str = "case.schema.json";
/// File name of the list of parameters inside the golden folder.
pub const PARAMETERS_FILE: &str = "parameters.json";
/// The file with the counts and digests of the circuits.
pub const CIRCUITS_FILE: &str = "circuits.json";

/// One golden case: one command line of a prover, and what must come of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Version of this format: 1.
    pub schema: u32,
    /// `<suite>/<case>`, which is also the folder below the golden folder.
    pub id: String,
    /// The one thing that this case tests, in a sentence.
    pub comment: String,
    /// What a runner has to know before it runs the case.
    pub flags: Vec<Flag>,
    /// Where the inputs and the expected values come from.
    pub source: Source,
    /// The command of the prover that is run.
    pub command: Command,
    /// The files that the command is given.
    pub inputs: Vec<Input>,
    /// What the command line says besides the files.
    pub arguments: Arguments,
    /// The Groth16 parameters to prove or verify with.
    pub parameters: Parameters,
    /// The key of the inner-product argument, where proofs are aggregated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner_product_key: Option<Parameters>,
    /// Seed of the blinding scalars r and s. Every case that yields a proof has one: else its bytes were not fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub randomness_seed: Option<Hex<32>>,
    /// Whether the command must succeed.
    pub result: Verdict,
    /// What exactly must come of it; its shape follows from `command` and `result`.
    pub expected: Expected,
}

/// A property of a case that changes how it may be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// The trapdoor of the parameters is public: its proofs prove nothing. Set exactly if there is a `test_seed`.
    InsecureParameters,
    /// Each backend computes the proof once, with the default tuning: it takes minutes, or the case is not about how it is
    /// computed.
    DefaultsOnly,
    /// Upstream's prover takes too long to repeat in a run. The expected values are still its own.
    NotOnReference,
}

/// Where a case comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Name of the program that made the inputs and ran upstream's prover.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// The upstream crates inside it.
    pub upstream: Upstream,
}

/// Versions of the upstream crates whose prover made the expected values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Upstream {
    /// The circuits and the verifier.
    pub filecoin_proofs: String,
    /// The prover.
    pub bellperson: String,
}

/// The command of the prover that a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Prove the file of role `input`.
    Prove,
    /// Verify the file of role `proof` against that of role `statement`.
    Verify,
}

/// A file that a case gives to the prover, or a folder in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What the file is to the command.
    pub role: Role,
    /// Path relative to the case folder, inside the suite. Without it the file is too large or not ours to publish:
    /// the case then runs only where somebody supplies a file with this digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Digest of the file. Without it the path is that of a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
}

/// What a file is to the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The input of `prove`.
    Input,
    /// The proof that `verify` judges.
    Proof,
    /// What `verify` judges it against.
    Statement,
}

/// What the command line says besides the files: each is passed as the flag of its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The number of the miner's actor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miner: Option<u64>,
    /// The sector number, where the case gives one besides that in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sector: Option<u64>,
    /// The chain's randomness for a proof of spacetime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub randomness: Option<Hex<32>>,
    /// Name or number of the registered proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof_type: Option<String>,
    /// Commitment to the replica before an update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comm_r_old: Option<Hex<32>>,
    /// Commitment to the replica after an update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comm_r_new: Option<Hex<32>>,
    /// Commitment to the data after an update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comm_d_new: Option<Hex<32>>,
    /// The partitions to prove or verify, in ascending order: numbers and ranges, as `0`, `0-4` or `0,3`. All of them
    /// if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<String>,
}

impl Arguments {
    /// Flags and values, as they stand on the command line.
    pub fn flags(&self) -> Vec<(&'static str, String)> {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let bytes = |bytes: Option<Hex<32>>| bytes.map(|bytes| bytes.to_string());
        let all = [
            ("--miner", number(self.miner)),
            ("--sector", number(self.sector)),
            ("--randomness", bytes(self.randomness)),
            ("--proof-type", self.proof_type.clone()),
            ("--comm-r-old", bytes(self.comm_r_old)),
            ("--comm-r-new", bytes(self.comm_r_new)),
            ("--comm-d-new", bytes(self.comm_d_new)),
            ("--partitions", self.partitions.clone()),
        ];
        all.into_iter().filter_map(|(flag, value)| Some((flag, value?))).collect()
    }

    /// The numbers of the partitions that `partitions` lists; `None` if it is not such a list, or not in order.
    pub fn listed_partitions(&self) -> Option<Vec<usize>> {
        let mut listed = Vec::new();
        for item in self.partitions.as_ref()?.split(',') {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            let in_order = listed.last().is_none_or(|before| *before < first) && first <= last;
            // No statement has more: a range such as 0-9999999999999 is a mistake, not a list.
            if !in_order || last > MAX_PARTITION {
                return None;
            }
            listed.extend(first..=last);
        }
        Some(listed)
    }
}

/// Far above the largest number of a partition (125, of a non-interactive PoRep).
const MAX_PARTITION: usize = 9999;

/// A file of Groth16 parameters, or of an inner-product key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// File name.
    pub name: String,
    /// The published seed they are generated from; absent for the official ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_seed: Option<Hex<32>>,
    /// Digest of the file, by the function that the official list of parameters uses.
    pub blake2b_512: Hex<64>,
}

/// Whether the command must succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It must.
    Valid,
    /// It must fail, in the way that is expected.
    Invalid,
}

/// What must come of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Expected {
    /// A valid `prove`.
    Proof(ExpectedProof),
    /// Any invalid case.
    Failure(ExpectedFailure),
    /// A valid `verify`.
    Accepted(ExpectedAcceptance),
}

impl Expected {
    /// The exit code of the command.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Proof(expected) => expected.exit_code,
            Self::Failure(expected) => expected.exit_code,
            Self::Accepted(expected) => expected.exit_code,
        }
    }
}

/// A proof, and the values on the way to it, as upstream's prover makes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedProof {
    /// 0.
    pub exit_code: i32,
    /// Number of partitions that are proved, each with a proof of 192 bytes.
    pub partitions: usize,
    /// What the file of the proof holds; `plain` if absent.
    #[serde(default, skip_serializing_if = "Form::is_plain")]
    pub form: Form,
    /// The file that must come out.
    pub proof: ProofFile,
    /// Digests of the intermediate values, in the order of partitions.
    pub digests: Vec<PartitionDigests>,
}

/// What the file of a proof holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The proofs of the partitions, one after the other.
    #[default]
    Plain,
    /// Their SnarkPack aggregate.
    Aggregate,
}

impl Form {
    fn is_plain(&self) -> bool {
        *self == Form::Plain
    }

    /// The length of a proof of this form.
    pub fn proof_bytes(self, partitions: usize) -> usize {
        match self {
            Form::Plain => partitions * PROOF_BYTES,
            Form::Aggregate => aggregate_bytes(partitions),
        }
    }
}

/// An aggregate is made of a power of two of proofs, the last repeated. Compressed, an element of G1 has 48 bytes, one of
/// G2 96 and one of Gt 288: five of Gt, one of G1 and the number of proofs; ten of Gt and two of G1 for each halving; then
/// eight of G1 and four of G2.
fn aggregate_bytes(proofs: usize) -> usize {
    let halvings = proofs.next_power_of_two().max(2).ilog2() as usize;
    (5 * 288 + 48 + 4) + halvings * (10 * 288 + 2 * 48) + (8 * 48 + 4 * 96)
}

/// A failure of the expected kind. Nothing may be left in the output folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedFailure {
    /// 1: a proof does not verify; 2: refused; 3: the environment cannot do it.
    pub exit_code: i32,
    /// What stands in brackets in the last line `error[…]: …` on stderr.
    pub error_kind: String,
}

/// A verification that succeeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedAcceptance {
    /// 0.
    pub exit_code: i32,
}

/// The file of an expected proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProofFile {
    /// Path relative to the case folder.
    pub file: String,
    /// Its digest.
    pub sha256: Sha256,
}

/// SHA-256 of every step of one partition: scalars as 32-byte little-endian integers, points uncompressed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartitionDigests {
    /// Number of the partition, from 0.
    pub partition: usize,
    /// The assignment: one, public inputs, auxiliary variables.
    pub witness: Sha256,
    /// A·w.
    pub a: Sha256,
    /// B·w.
    pub b: Sha256,
    /// C·w.
    pub c: Sha256,
    /// Coefficients of the quotient (a·b − c) / Z.
    pub h: Sha256,
    /// Sum over the query H.
    pub msm_h: Sha256,
    /// Sum over the query L.
    pub msm_l: Sha256,
    /// Sum over the query A.
    pub msm_a: Sha256,
    /// Sum over the query B in G1.
    pub msm_b_g1: Sha256,
    /// Sum over the query B in G2.
    pub msm_b_g2: Sha256,
}

impl PartitionDigests {
    /// The steps in the order in which a prover computes them, so that the first that differs is the culprit.
    pub fn steps(&self) -> [(&'static str, Sha256); 10] {
        [
            ("witness", self.witness),
            ("a", self.a),
            ("b", self.b),
            ("c", self.c),
            ("h", self.h),
            ("msm_h", self.msm_h),
            ("msm_l", self.msm_l),
            ("msm_a", self.msm_a),
            ("msm_b_g1", self.msm_b_g1),
            ("msm_b_g2", self.msm_b_g2),
        ]
    }
}

/// `parameters.json`: the digests of all parameters that cases name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParametersFile {
    /// Version of this format: 1.
    pub schema: u32,
    /// One entry for each file, sorted.
    pub parameters: Vec<Parameters>,
}

/// `circuits.json`: the circuits of upstream's pinned version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CircuitsFile {
    /// Version of this format: 1.
    pub schema: u32,
    /// One entry for each kind and size.
    pub circuits: Vec<Circuit>,
}

/// Counts and digest of a circuit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circuit {
    /// The kind of proof.
    pub kind: String,
    /// The sector size.
    pub sector_size: String,
    /// Rows, those of the inputs included.
    pub rows: u64,
    /// Inputs, ONE included.
    pub inputs: u64,
    /// Aux variables.
    pub aux: u64,
    /// Aux variables that are not 0 or 1 by construction.
    pub scalars: u64,
    /// Points of the A query.
    pub a_points: u64,
    /// Points of the B queries.
    pub b_points: u64,
    /// SHA-256 of the R1CS.
    pub sha256: Sha256,
}

/// The folder of a case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaseFolder {
    /// `<suite>/<case>`.
    pub id: String,
    /// Where it is.
    pub path: PathBuf,
}

impl CaseFolder {
    /// Reads its `case.json`.
    pub fn load(&self) -> Result<Case, Error> {
        read_json(&self.path.join(CASE_FILE))
    }
}

/// All folders two levels below the golden folder, sorted.
pub fn case_folders(golden: &Path) -> Result<Vec<CaseFolder>, Error> {
    let mut folders = Vec::new();
    for suite in entries(golden)?.into_iter().filter(|suite| suite.is_dir()) {
        for path in entries(&suite)?.into_iter().filter(|case| case.is_dir()) {
            folders.push(CaseFolder { id: format!("{}/{}", name(&suite), name(&path)), path });
        }
    }
    Ok(folders)
}

/// Paths of everything in a folder, sorted.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let list = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
    let mut paths = list().map_err(Error::io("list", folder))?;
    paths.sort();
    Ok(paths)
}

/// The last component of a path.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads a JSON file.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    serde_json::from_slice(&bytes).map_err(Error::json(path))
}

/// The only accepted text of a value: indented JSON and a newline, so that a diff shows what changed and no more.
pub fn pretty(value: &impl Serialize) -> String {
    let text =
        serde_json::to_string_pretty(value).expect("these types have string keys and no failing serializer");
    text + "\n"
}

/// The JSON schema of a case, as derived from [`Case`].
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Case).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_flags() {
        let arguments = Arguments {
            miner: Some(7),
            sector: Some(8),
            randomness: Some(Hex([1; 32])),
            proof_type: Some("T".to_owned()),
            comm_r_old: Some(Hex([2; 32])),
            comm_r_new: Some(Hex([3; 32])),
            comm_d_new: Some(Hex([4; 32])),
            partitions: Some("0-1".to_owned()),
        };
        let line: Vec<String> =
            arguments.flags().into_iter().map(|(flag, value)| format!("{flag} {value}")).collect();
        let [r, old, new, data] = ["01", "02", "03", "04"].map(|byte| byte.repeat(32));
        assert_eq!(
            line.join(" "),
            format!(
                "--miner 7 --sector 8 --randomness {r} --proof-type T --comm-r-old {old} --comm-r-new {new} \
                 --comm-d-new {data} --partitions 0-1"
            )
        );
        assert_eq!(Arguments::default().flags(), []);
    }

    #[test]
    fn aggregates_have_the_length_of_upstreams() {
        // Seen: 14,164 bytes for 16 proofs, made by bellperson 0.27.
        assert_eq!(Form::Aggregate.proof_bytes(16), 14_164);
        assert_eq!(Form::Aggregate.proof_bytes(13), 14_164);
        assert_eq!(Form::Plain.proof_bytes(13), 2496);
    }

    #[test]
    fn lists_of_partitions_are_read() {
        let listed = |text: &str| {
            Arguments { partitions: Some(text.to_owned()), ..Arguments::default() }.listed_partitions()
        };
        assert_eq!(listed("0"), Some(vec![0]));
        assert_eq!(listed("0-2"), Some(vec![0, 1, 2]));
        assert_eq!(listed("0,3-4,7"), Some(vec![0, 3, 4, 7]));
        for wrong in ["", "a", "1,", "-1", "2-1", "1,1", "0-1,1", "3,0", "0-10000", "0x1", " 1"] {
            assert_eq!(listed(wrong), None, "{wrong}");
        }
        assert_eq!(Arguments::default().listed_partitions(), None);
    }
}
