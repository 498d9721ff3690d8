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

/// A file that a case gives to the prover.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What the file is to the command.
    pub role: Role,
    /// Path relative to the case folder, inside the suite. Without it the file is too large or not ours to publish:
    /// the case then runs only where somebody supplies a file with this digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Digest of the file.
    pub sha256: Sha256,
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

/// Identities that the command line gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The number of the miner's actor.
    pub miner: u64,
    /// The sector number, where the case gives one besides that in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sector: Option<u64>,
}

/// A file of Groth16 parameters.
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
    /// Number of partitions, each with a proof of 192 bytes.
    pub partitions: usize,
    /// The proofs of all partitions, one after the other.
    pub proof: ProofFile,
    /// Digests of the intermediate values, in the order of partitions.
    pub digests: Vec<PartitionDigests>,
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

/// SHA-256 of every step of one partition: scalars as 32-byte little-endian integers, points compressed.
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
