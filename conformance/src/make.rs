//! Creates the golden suite of the smallest sector: a fixture, its proof by upstream's prover, and what a prover has
//! to refuse. All of it is a function of the binary and the seeds, so that making it again changes nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Error;
use crate::case::{
    Arguments, CASE_FILE, Case, Command, Expected, ExpectedAcceptance, ExpectedFailure, ExpectedProof, Flag,
    Input, PARAMETERS_FILE, Parameters, ParametersFile, PartitionDigests, ProofFile, Role, SCHEMA,
    SCHEMA_FILE, Source, Upstream, Verdict, json_schema, pretty, read_json,
};
use crate::digest::{Hex, Sha256, sha256};
use crate::prover::Prover;
use crate::report::{Partition, Report};
use crate::rows::{Row, Tuning};
use crate::run::{Runner, Status};

/// The suite that is made.
pub const SUITE: &str = "porep-2kib-v1_1";

/// The versions that the workspace pins; a test compares them with its manifest.
const FILECOIN_PROOFS: &str = "19.1.0";
const BELLPERSON: &str = "0.27.0";

/// The only backend whose values become expected values: ours would only be compared with themselves.
const REFERENCE: &str = "reference";
const MINER: u64 = 1000;
const SECTOR: u64 = 1;

const VALID: &str = "valid";
const C1_FILE: &str = "c1.json";
const STATEMENT_FILE: &str = "statement.json";
const PROOF_FILE: &str = "proof.bin";

/// The seed of r and s of a case: SHA-256 of its id, so that nobody chose it and no two cases share it.
fn randomness_seed(id: &str) -> Hex<32> {
    sha256(id.as_bytes())
}

fn without_sector_size(c1: &[u8]) -> Result<Vec<u8>, Error> {
    let mut keys: BTreeMap<String, Value> =
        serde_json::from_slice(c1).map_err(Error::json(Path::new(C1_FILE)))?;
    keys.remove("SectorSize").ok_or(Error::FixtureLacks("SectorSize"))?;
    serde_json::to_vec(&keys).map_err(Error::json(Path::new(C1_FILE)))
}

fn flip_bit(byte: &mut Value) {
    *byte = json!(byte.as_u64().unwrap_or_default() ^ 1);
}

fn drop_last(list: &mut Value) {
    list.as_array_mut().and_then(Vec::pop);
}

fn repeat_last(list: &mut Value) {
    if let Some(list) = list.as_array_mut()
        && let Some(last) = list.last().cloned()
    {
        list.push(last);
    }
}

fn swap_commitments(phase1: &mut Value) {
    let comm_r = phase1["comm_r"].take();
    let comm_d = phase1["comm_d"].take();
    (phase1["comm_r"], phase1["comm_d"]) = (comm_d, comm_r);
}

/// 300 MiB of zeros, in 300 KiB: more than the 256 MiB that a prover reads.
fn gzip_bomb() -> Result<Vec<u8>, Error> {
    let mut encoder = GzEncoder::new(vec![], Compression::best());
    let zeros = vec![0; 1 << 20];
    let written = (0..300).try_for_each(|_| encoder.write_all(&zeros)).and_then(|()| encoder.finish());
    written.map_err(Error::io("compress", Path::new("zeros")))
}

/// Makes the suite [`SUITE`] in a golden folder, with the schema and the suite's parameters, and returns the names of
/// its cases. Nothing is changed before the binary has agreed with every case.
pub fn make(prover: &Prover, golden: &Path) -> Result<Vec<String>, Error> {
    fs::create_dir_all(golden).map_err(Error::io("create", golden))?;
    let staging =
        TempDir::with_prefix_in("staging-", golden).map_err(Error::io("make a folder in", golden))?;
    // The prover runs in other folders.
    let staged = staging.path().canonicalize().map_err(Error::io("open", staging.path()))?;
    let suite = staged.join(SUITE);
    let valid = Valid::make(prover, &suite)?;
    valid.write_verification()?;
    valid.write_failures()?;
    let names = agree(prover, &staged)?;
    write_parameters(golden, valid.case.parameters)?;
    write(&golden.join(SCHEMA_FILE), pretty(&json_schema()).as_bytes())?;
    replace(&suite, &golden.join(SUITE))?;
    Ok(names)
}

/// The valid case, from which the others are derived.
struct Valid<'a> {
    suite: &'a Path,
    case: Case,
    c1: Vec<u8>,
    proof: Vec<u8>,
    statement: Sha256,
}

impl<'a> Valid<'a> {
    fn make(prover: &Prover, suite: &'a Path) -> Result<Self, Error> {
        let folder = suite.join(VALID);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        let (c1, statement) = fixture(prover, &folder)?;
        let id = format!("{SUITE}/{VALID}");
        let (report, proof) = reference_proof(prover, &folder, randomness_seed(&id))?;
        let case = Case {
            schema: SCHEMA,
            comment: "A sealed sector of 2 KiB is proved as upstream's prover proves it, to the byte."
                .to_owned(),
            flags: vec![Flag::InsecureParameters],
            source: source(&report),
            command: Command::Prove,
            inputs: vec![input(Role::Input, C1_FILE, sha256(&c1))],
            arguments: Arguments { miner: MINER, sector: None },
            parameters: parameters(&report)?,
            randomness_seed: Some(randomness_seed(&id)),
            result: Verdict::Valid,
            expected: expected(&report, &proof)?,
            id,
        };
        write(&folder.join(CASE_FILE), pretty(&case).as_bytes())?;
        Ok(Self { suite, case, c1, proof, statement: sha256(&statement) })
    }

    /// Without this case, a verifier that refuses every proof would pass.
    fn write_verification(&self) -> Result<(), Error> {
        self.derive("verify_by_statement", |case| {
            case.comment = "The valid proof verifies against the fixture's statement.json.".to_owned();
            case.command = Command::Verify;
            case.inputs = vec![
                input(Role::Proof, &format!("../{VALID}/{PROOF_FILE}"), sha256(&self.proof)),
                input(Role::Statement, &format!("../{VALID}/{STATEMENT_FILE}"), self.statement),
            ];
            case.expected = Expected::Accepted(ExpectedAcceptance { exit_code: 0 });
        })
    }

    /// What is expected of these is written down here, never taken from a run.
    fn write_failures(&self) -> Result<(), Error> {
        let (c1, proof) = (&self.c1[..], &self.proof[..]);
        let comment = "A C1 output that ends in the middle, as after an interrupted copy.";
        self.bad_c1("c1_truncated", comment, &c1[..c1.len() / 2], "input_truncated")?;
        let comment = "A file that is no C1 output at all.";
        self.bad_c1("c1_not_json", comment, b"This is a sentence.\n", "input_not_json")?;
        let (comment, rest) = ("A C1 output without its key SectorSize.", without_sector_size(c1)?);
        self.bad_c1("c1_missing_key", comment, &rest, "input_missing_key")?;

        self.write_bad_json()?;
        self.write_false_statements()?;

        let comment = "A miner other than the one that sealed: the replica id does not match.";
        self.bad_identity("wrong_miner", comment, MINER + 1, None)?;
        let comment = "A sector number other than the one in the C1 output.";
        self.bad_identity("wrong_sector", comment, MINER, Some(SECTOR + 1))?;

        let mut flipped = proof.to_vec();
        flipped[47] ^= 1;
        let comment = "The last bit of the x coordinate of the proof's point A is flipped.";
        self.bad_proof("proof_bit_flip_a", comment, &flipped, failure(1, "proof_invalid"))?;
        let (comment, truncated) = ("A proof without its last byte.", &proof[..proof.len() - 1]);
        self.bad_proof("proof_truncated", comment, truncated, failure(2, "proof_length"))?;
        let (comment, extended) = ("A proof with one zero byte too many.", [proof, &[0]].concat());
        self.bad_proof("proof_extended", comment, &extended, failure(2, "proof_length"))
    }

    /// Files that no decoder may take for something else, nor need much time or memory for.
    fn write_bad_json(&self) -> Result<(), Error> {
        let c1 = &self.c1[..];
        let text = std::str::from_utf8(c1).map_err(|_| Error::FixtureLacks("UTF-8"))?;
        let twice = text.replacen("{\"SectorNum\":1,", "{\"SectorNum\":1,\"SectorNum\":1,", 1);
        let utf16: Vec<u8> =
            [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        let cases: [(&str, &str, Vec<u8>, &str); 9] = [
            ("c1_empty", "An empty file.", vec![], "input_unknown_shape"),
            (
                "c1_key_twice",
                "A C1 output with the key SectorNum twice.",
                twice.into_bytes(),
                "input_malformed",
            ),
            (
                "c1_deep_nesting",
                "Ten thousand lists in each other, to exhaust a recursive parser's stack.",
                [
                    &b"{\"SectorNum\":"[..],
                    &[b'['; 10_000],
                    &[b']'; 10_000],
                    b",\"Phase1Out\":\"\",\"SectorSize\":2048}",
                ]
                .concat(),
                "input_malformed",
            ),
            (
                "c1_bom",
                "A C1 output behind a byte order mark.",
                [b"\xef\xbb\xbf", c1].concat(),
                "input_not_json",
            ),
            ("c1_utf16", "A C1 output in UTF-16.", utf16, "input_not_json"),
            (
                "c1_trailing_bytes",
                "A C1 output with something behind it.",
                [c1, b"{}"].concat(),
                "input_not_json",
            ),
            (
                "vanilla_huge_length",
                "A PoSt's vanilla proof whose list of sectors promises 2^60 elements.",
                format!("[\"{}\"]", STANDARD.encode([&[0; 40][..], &(1u64 << 60).to_le_bytes()].concat()))
                    .into_bytes(),
                "input_unknown_shape",
            ),
            (
                "bincode_huge_length",
                "Bincode of a C1 output whose list of partitions promises 2^60 elements.",
                [&(1u64 << 60).to_le_bytes()[..], &[7; 100]].concat(),
                "input_unknown_shape",
            ),
            (
                "gzip_bomb",
                "300 MiB of zeros in gzip, more than an input may have.",
                gzip_bomb()?,
                "input_too_large",
            ),
        ];
        cases.iter().try_for_each(|(name, comment, bytes, kind)| self.bad_c1(name, comment, bytes, kind))
    }

    /// C1 outputs that decode and are false.
    fn write_false_statements(&self) -> Result<(), Error> {
        let challenge = "/vanilla_proofs/StackedDrg2KiBV1/0/0";
        let pointer = |rest: &str| format!("{challenge}{rest}");
        let sibling = pointer("/comm_r_last_proof/data/Single/path/path/0/hashes/0/0");
        let comment = "One bit of a sibling hash on the path to comm_r_last is flipped, which upstream's own \
                       verification does not notice.";
        self.changed_c1("sibling_flipped", comment, &sibling, flip_bit, "false_vanilla_proof")?;
        let label = pointer("/labeling_proofs/1/parents/36/0");
        let comment = "One bit of a hashed parent's label is flipped.";
        self.changed_c1("label_parent_flipped", comment, &label, flip_bit, "false_vanilla_proof")?;
        let element = pointer("/comm_d_proofs/data/Single/path/path/0/hashes/0");
        let comment = "A sibling hash that is not an element of the field, at which upstream panics.";
        self.changed_c1(
            "not_in_field",
            comment,
            &element,
            |value| *value = json!(vec![255; 32]),
            "false_vanilla_proof",
        )?;
        let challenges = "/vanilla_proofs/StackedDrg2KiBV1/0";
        let comment = "The second challenge is missing.";
        self.changed_c1("challenge_missing", comment, challenges, drop_last, "wrong_count")?;
        let partitions = "/vanilla_proofs/StackedDrg2KiBV1";
        let comment = "The one partition stands there twice.";
        self.changed_c1("partition_doubled", comment, partitions, repeat_last, "wrong_count")?;
        let comment = "comm_r and comm_d have changed places.";
        self.changed_c1("commitments_swapped", comment, "", swap_commitments, "wrong_identity")
    }

    /// The valid C1 output with the value at a JSON pointer of its inner JSON changed.
    fn changed_c1(
        &self,
        name: &str,
        comment: &str,
        pointer: &str,
        change: fn(&mut Value),
        error_kind: &str,
    ) -> Result<(), Error> {
        let json = |bytes: &[u8]| serde_json::from_slice(bytes).map_err(Error::json(Path::new(C1_FILE)));
        let lacks = || Error::FixtureLacks("Phase1Out");
        let mut outer: Value = json(&self.c1)?;
        let inner =
            outer["Phase1Out"].as_str().and_then(|text| STANDARD.decode(text).ok()).ok_or_else(lacks)?;
        let mut inner: Value = json(&inner)?;
        change(inner.pointer_mut(pointer).ok_or_else(lacks)?);
        outer["Phase1Out"] = STANDARD.encode(inner.to_string()).into();
        self.bad_c1(name, comment, outer.to_string().as_bytes(), error_kind)
    }

    fn bad_c1(&self, name: &str, comment: &str, c1: &[u8], error_kind: &str) -> Result<(), Error> {
        self.write_part(name, C1_FILE, c1)?;
        self.derive(name, |case| {
            case.comment = comment.to_owned();
            case.inputs = vec![input(Role::Input, C1_FILE, sha256(c1))];
            case.expected = failure(2, error_kind);
        })
    }

    fn bad_identity(&self, name: &str, comment: &str, miner: u64, sector: Option<u64>) -> Result<(), Error> {
        self.derive(name, |case| {
            case.comment = comment.to_owned();
            case.inputs = vec![self.valid_c1(Role::Input)];
            case.arguments = Arguments { miner, sector };
            case.expected = failure(2, "wrong_identity");
        })
    }

    fn bad_proof(&self, name: &str, comment: &str, proof: &[u8], expected: Expected) -> Result<(), Error> {
        self.write_part(name, PROOF_FILE, proof)?;
        self.derive(name, |case| {
            case.comment = comment.to_owned();
            case.command = Command::Verify;
            case.inputs = vec![input(Role::Proof, PROOF_FILE, sha256(proof)), self.valid_c1(Role::Statement)];
            case.expected = expected;
        })
    }

    /// The valid C1 output, as the other cases of the suite name it.
    fn valid_c1(&self, role: Role) -> Input {
        input(role, &format!("../{VALID}/{C1_FILE}"), sha256(&self.c1))
    }

    /// Writes a case that is the valid one but for what `change` changes, and that yields no proof.
    fn derive(&self, name: &str, change: impl FnOnce(&mut Case)) -> Result<(), Error> {
        let mut case = self.case.clone();
        case.id = format!("{SUITE}/{name}");
        case.randomness_seed = None;
        change(&mut case);
        case.result = match case.expected {
            Expected::Failure(_) => Verdict::Invalid,
            Expected::Proof(_) | Expected::Accepted(_) => Verdict::Valid,
        };
        self.write_part(name, CASE_FILE, pretty(&case).as_bytes())
    }

    fn write_part(&self, case: &str, file: &str, bytes: &[u8]) -> Result<(), Error> {
        let folder = self.suite.join(case);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        write(&folder.join(file), bytes)
    }
}

/// Makes the fixture and copies its two files into the case folder.
fn fixture(prover: &Prover, folder: &Path) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let made = scratch()?;
    let mut command =
        words(&format!("fixture porep --sector-size 2KiB --miner {MINER} --sector {SECTOR} --seed 1 --out"));
    command.push(made.path().into());
    prover.succeed(made.path(), &command)?;
    let copy = |file| {
        let bytes = read(&made.path().join(file))?;
        write(&folder.join(file), &bytes)?;
        Ok(bytes)
    };
    Ok((copy(C1_FILE)?, copy(STATEMENT_FILE)?))
}

/// Proves the C1 output of the case folder by upstream's prover and leaves the proof beside it.
fn reference_proof(prover: &Prover, folder: &Path, seed: Hex<32>) -> Result<(Report, Vec<u8>), Error> {
    let made = scratch()?;
    let (report_file, proof_file) = (made.path().join("report.json"), folder.join(PROOF_FILE));
    let mut command = vec!["prove".into(), folder.join(C1_FILE).into()];
    command.extend(words(&format!("--miner {MINER} --test-params --backend {REFERENCE}")));
    command.extend(words(&format!("--insecure-seed {seed} --digests --quiet --report")));
    command.extend([report_file.clone().into(), "-o".into(), proof_file.clone().into()]);
    prover.succeed(made.path(), &command)?;
    let report: Report = read_json(&report_file)?;
    if report.backend.name != REFERENCE {
        return Err(Error::NotReference(report.backend.name));
    }
    if !report.verified {
        return Err(Error::ReportLacks("verified".to_owned()));
    }
    let proof = read(&proof_file)?;
    Ok((report, proof))
}

fn source(report: &Report) -> Source {
    let upstream =
        Upstream { filecoin_proofs: FILECOIN_PROOFS.to_owned(), bellperson: BELLPERSON.to_owned() };
    Source { tool: report.tool.name.clone(), version: report.tool.version.clone(), upstream }
}

fn parameters(report: &Report) -> Result<Parameters, Error> {
    let lacks = |key: &str| Error::ReportLacks(format!("parameters.{key}"));
    let reported = &report.parameters;
    Ok(Parameters {
        name: reported.name.clone(),
        test_seed: Some(reported.test_seed.ok_or_else(|| lacks("test_seed"))?),
        blake2b_512: reported.blake2b_512.ok_or_else(|| lacks("blake2b_512"))?,
    })
}

fn expected(report: &Report, proof: &[u8]) -> Result<Expected, Error> {
    Ok(Expected::Proof(ExpectedProof {
        exit_code: 0,
        partitions: report.partitions.len(),
        proof: ProofFile { file: PROOF_FILE.to_owned(), sha256: sha256(proof) },
        digests: report.partitions.iter().map(digests).collect::<Result<_, _>>()?,
    }))
}

fn digests(partition: &Partition) -> Result<PartitionDigests, Error> {
    let lacks = |step| Error::ReportLacks(format!("partitions[{}].digests.{step}", partition.index));
    let digest = |step| partition.digest(step).ok_or_else(|| lacks(step));
    Ok(PartitionDigests {
        partition: partition.index,
        witness: digest("witness")?,
        a: digest("a")?,
        b: digest("b")?,
        c: digest("c")?,
        h: digest("h")?,
        msm_h: digest("msm_h")?,
        msm_l: digest("msm_l")?,
        msm_a: digest("msm_a")?,
        msm_b_g1: digest("msm_b_g1")?,
        msm_b_g2: digest("msm_b_g2")?,
    })
}

fn failure(exit_code: i32, error_kind: &str) -> Expected {
    Expected::Failure(ExpectedFailure { exit_code, error_kind: error_kind.to_owned() })
}

fn input(role: Role, file: &str, sha256: Sha256) -> Input {
    Input { role, file: Some(file.to_owned()), sha256 }
}

/// Runs the cases as anybody would run them, and returns their names. The valid one runs too: a prover whose reference
/// does not repeat itself would make a case that nobody can pass.
fn agree(prover: &Prover, staged: &Path) -> Result<Vec<String>, Error> {
    let runner = Runner::open(staged)?;
    let rows = [Row { backend: REFERENCE.to_owned(), tuning: Tuning::default() }];
    let (mut names, mut disagreements) = (Vec::new(), Vec::new());
    for folder in runner.select("") {
        for outcome in runner.run(prover, folder, &rows, &mut |_| ())? {
            if outcome.status != Status::Ok {
                disagreements.push(outcome.to_string());
            }
        }
        names.push(folder.id.clone());
    }
    if disagreements.is_empty() { Ok(names) } else { Err(Error::Disagrees(disagreements.join("\n"))) }
}

/// Puts the suite's parameters into the common list, in place of those of the same name and seed.
fn write_parameters(golden: &Path, parameters: Parameters) -> Result<(), Error> {
    let path = golden.join(PARAMETERS_FILE);
    let mut file = match path.exists() {
        true => read_json(&path)?,
        false => ParametersFile { schema: SCHEMA, parameters: vec![] },
    };
    file.parameters.retain(|old| (&old.name, old.test_seed) != (&parameters.name, parameters.test_seed));
    file.parameters.push(parameters);
    file.parameters.sort();
    write(&path, pretty(&file).as_bytes())
}

fn replace(new: &Path, old: &Path) -> Result<(), Error> {
    if old.exists() {
        fs::remove_dir_all(old).map_err(Error::io("remove", old))?;
    }
    fs::rename(new, old).map_err(Error::io("create", old))
}

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn scratch() -> Result<TempDir, Error> {
    TempDir::with_prefix("cuzk-conformance-").map_err(Error::io("make a folder in", &std::env::temp_dir()))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(Error::io("read", path))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    fs::write(path, bytes).map_err(Error::io("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upstream_versions_are_those_of_the_workspace() {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
        let manifest = fs::read_to_string(manifest).unwrap();
        for (name, version) in [("filecoin-proofs", FILECOIN_PROOFS), ("bellperson", BELLPERSON)] {
            let pin = format!("{name} = {{ version = \"={version}\"");
            assert!(manifest.lines().any(|line| line.starts_with(&pin)), "{pin}");
        }
    }

    #[test]
    fn only_the_sector_size_goes() {
        let left =
            without_sector_size(br#"{"SectorNum": 1, "SectorSize": 2048, "Phase1Out": "AA=="}"#).unwrap();
        let left: serde_json::Value = serde_json::from_slice(&left).unwrap();
        assert_eq!(left, serde_json::json!({"SectorNum": 1, "Phase1Out": "AA=="}));
        assert!(without_sector_size(b"{}").is_err());
    }
}
