//! The case `valid`: a fixture, and what upstream's prover makes of it.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use tempfile::TempDir;

use super::suite::{AGGREGATE_FILE, PROOF_FILE, STATEMENT_FILE, VALID, input};
use super::{Recipe, read, write};
use crate::Error;
use crate::case::{
    Arguments, CASE_FILE, Case, Command, Expected, ExpectedProof, Form, Parameters, PartitionDigests,
    ProofFile, Role, SCHEMA, Source, Upstream, Verdict, pretty, read_json,
};
use crate::digest::{Hex, sha256};
use crate::prover::Prover;
use crate::report::{Partition, Report, TestParameters};
use crate::rows::REFERENCE;

/// The versions that the workspace pins; a test compares them with its manifest.
const FILECOIN_PROOFS: &str = "19.1.0";
const BELLPERSON: &str = "0.27.0";

/// What the fixture's `statement.json` says of the input beside it.
#[derive(Deserialize)]
pub(super) struct StatementFile {
    pub(super) registered_proof: String,
    pub(super) miner: Option<u64>,
    pub(super) randomness: Option<Hex<32>>,
    pub(super) comm_r_old: Option<Hex<32>>,
    pub(super) comm_r_new: Option<Hex<32>>,
    pub(super) comm_d_new: Option<Hex<32>>,
}

/// The seed of r and s of a suite: SHA-256 of its valid case's id, so that nobody chose it and no two suites share it.
fn randomness_seed(id: &str) -> Hex<32> {
    sha256(id.as_bytes())
}

/// Writes the case `valid` into the folder of a suite. The only backend whose values become expected values is the
/// reference: ours would only be compared with themselves.
pub(super) fn write_valid(prover: &Prover, recipe: &Recipe, suite: &Path) -> Result<Case, Error> {
    let folder = suite.join(VALID);
    fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
    write_fixture(prover, recipe, &folder)?;
    let arguments = (recipe.arguments)(&read_json(&folder.join(STATEMENT_FILE))?);
    let id = format!("{}/{VALID}", recipe.name);
    let seed = randomness_seed(&id);
    let report = prove(prover, recipe, &folder, &arguments, seed)?;
    let (proof_file, inner_product_key) = match recipe.form {
        Form::Plain => (PROOF_FILE, None),
        Form::Aggregate => (AGGREGATE_FILE, Some(aggregate(prover, recipe, &folder, &arguments)?)),
    };
    let case = Case {
        schema: SCHEMA,
        id,
        comment: recipe.comment.to_owned(),
        flags: recipe.flags.to_vec(),
        source: source(&report),
        command: Command::Prove,
        inputs: vec![input(Role::Input, recipe.input, &read(&folder.join(recipe.input))?)],
        arguments,
        parameters: parameters(&report)?,
        inner_product_key,
        randomness_seed: Some(seed),
        result: Verdict::Valid,
        expected: Expected::Proof(ExpectedProof {
            exit_code: 0,
            partitions: report.partitions.len(),
            form: recipe.form,
            proof: ProofFile {
                file: proof_file.to_owned(),
                sha256: sha256(&read(&folder.join(proof_file))?),
            },
            digests: report.partitions.iter().map(digests).collect::<Result<_, _>>()?,
        }),
    };
    write(&folder.join(CASE_FILE), pretty(&case).as_bytes())?;
    Ok(case)
}

/// Makes the fixture and copies its two files into the case folder.
fn write_fixture(prover: &Prover, recipe: &Recipe, folder: &Path) -> Result<(), Error> {
    let made = scratch()?;
    let mut command = words(&format!("fixture {} --sector-size 2KiB --seed 1 --out", recipe.fixture));
    command.push(made.path().into());
    prover.succeed(made.path(), &command)?;
    let copy = |file| write(&folder.join(file), &read(&made.path().join(file))?);
    copy(recipe.input)?;
    copy(STATEMENT_FILE)
}

/// Proves the input of the case folder by upstream's prover and leaves the proofs of all partitions beside it.
fn prove(
    prover: &Prover,
    recipe: &Recipe,
    folder: &Path,
    arguments: &Arguments,
    seed: Hex<32>,
) -> Result<Report, Error> {
    let made = scratch()?;
    let report_file = made.path().join("report.json");
    let mut command = vec!["prove".into(), folder.join(recipe.input).into()];
    command.extend(flags(arguments));
    if recipe.form == Form::Aggregate {
        command.push("--no-aggregate".into());
    }
    command.extend(words(&format!("--format raw --test-params --backend {REFERENCE}")));
    command.extend(words(&format!("--insecure-seed {seed} --digests --quiet --report")));
    command.extend([report_file.clone().into(), "-o".into(), folder.join(PROOF_FILE).into()]);
    prover.succeed(made.path(), &command)?;
    let report: Report = read_json(&report_file)?;
    if report.backend.name != REFERENCE {
        return Err(Error::NotReference(report.backend.name));
    }
    if !report.verified {
        return Err(Error::ReportLacks("verified".to_owned()));
    }
    Ok(report)
}

/// Aggregates these proofs, which is done by upstream whatever the backend, and leaves the aggregate beside them. Returns
/// the key that it is made with.
fn aggregate(
    prover: &Prover,
    recipe: &Recipe,
    folder: &Path,
    arguments: &Arguments,
) -> Result<Parameters, Error> {
    let key: TestParameters = prover.json(&words("params generate --inner-product-key --json --quiet"))?;
    let mut command = vec!["aggregate".into(), folder.join(recipe.input).into()];
    command.extend(["--proofs".into(), folder.join(PROOF_FILE).into()]);
    command.extend(flags(arguments));
    command.extend(words("--test-params --quiet -o"));
    command.push(folder.join(AGGREGATE_FILE).into());
    prover.succeed(folder, &command)?;
    Ok(Parameters { name: key.parameters, test_seed: Some(key.seed), blake2b_512: key.blake2b_512 })
}

fn flags(arguments: &Arguments) -> impl Iterator<Item = OsString> {
    arguments.flags().into_iter().flat_map(|(flag, value)| [flag.into(), value.into()])
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

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn scratch() -> Result<TempDir, Error> {
    TempDir::with_prefix("cuzk-conformance-").map_err(Error::io("make a folder in", &std::env::temp_dir()))
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
}
