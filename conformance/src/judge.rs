//! Compares what a prover did with what a case expects of it.

use std::fs;

use crate::Error;
use crate::case::{Case, END_OF_A, END_OF_B, Expected, ExpectedProof, PROOF_BYTES, entries, name, read_json};
use crate::digest::{Sha256, sha256};
use crate::prover::{Exit, Finished};
use crate::report::{Cost, Report};
use crate::rows::Row;
use crate::run::{PROOF_FILE, Ready, Scratch};

/// Everything that differs, with the cost of the run if the prover reported it. Files left behind are looked for after
/// every ending; a proof is looked at only after a good one.
pub(crate) fn judge(
    ready: &Ready<'_>,
    row: &Row,
    finished: &Finished,
    scratch: &Scratch,
) -> Result<(Vec<String>, Option<Cost>), Error> {
    let mut differences = ending(&ready.case, finished);
    let ended_well = differences.is_empty();
    differences.extend(leftovers(&ready.case, scratch)?);
    let Expected::Proof(expected) = &ready.case.expected else {
        return Ok((differences, None));
    };
    if !ended_well {
        return Ok((differences, None));
    }
    match read_json::<Report>(&scratch.report) {
        Ok(report) => {
            differences.extend(reported(&report, &ready.case, expected, row));
            differences.extend(proof_bytes(&report, ready, expected, scratch));
            Ok((differences, Some(report.cost)))
        }
        Err(error) => {
            differences.push(format!("unusable report: {error}"));
            Ok((differences, None))
        }
    }
}

/// How the exit code and the error kind differ.
fn ending(case: &Case, finished: &Finished) -> Vec<String> {
    let expected_code = case.expected.exit_code();
    if finished.exit != Exit::Code(expected_code) {
        return vec![format!("{}, expected exit code {expected_code}", finished.describe())];
    }
    match (&case.expected, finished.error_kind()) {
        (Expected::Failure(expected), Some(kind)) if kind == expected.error_kind => vec![],
        (Expected::Failure(expected), Some(kind)) => {
            vec![format!("error kind is {kind}, expected {}", expected.error_kind)]
        }
        (Expected::Failure(expected), None) => {
            vec![format!("no error kind on stderr, expected {}", expected.error_kind)]
        }
        (Expected::Proof(_) | Expected::Accepted(_), _) => vec![],
    }
}

/// What is in the output folder but must not be: a proof where none may be, a temporary file anywhere.
fn leftovers(case: &Case, scratch: &Scratch) -> Result<Vec<String>, Error> {
    let wanted = matches!(case.expected, Expected::Proof(_)).then_some(PROOF_FILE);
    let left = entries(&scratch.out)?.into_iter().map(|path| name(&path));
    Ok(left
        .filter(|file| Some(file.as_str()) != wanted)
        .map(|file| format!("left the file {file}"))
        .collect())
}

/// How the report differs from what is expected.
fn reported(report: &Report, case: &Case, expected: &ExpectedProof, row: &Row) -> Vec<String> {
    let mut differences = unlike_asked(report, row);
    let parameters = &report.parameters;
    if let Some(digest) = parameters.blake2b_512.filter(|digest| *digest != case.parameters.blake2b_512) {
        differences.push(format!("parameters {} have BLAKE2b-512 {digest}", parameters.name));
    }
    if !report.verified {
        differences.push("the proof was not verified".to_owned());
    }
    if report.partitions.len() != expected.partitions {
        differences.push(format!("{} partitions, expected {}", report.partitions.len(), expected.partitions));
    }
    differences.extend(first_steps(report, expected));
    differences
}

/// Where the prover did something else than it was asked to: a row that silently ran another way tests nothing.
/// What `auto` becomes is the prover's choice.
fn unlike_asked(report: &Report, row: &Row) -> Vec<String> {
    let mut differences = Vec::new();
    if row.backend != "auto" && report.backend.name != row.backend {
        differences.push(format!("backend {} was used", report.backend.name));
    }
    for (axis, asked) in row.tuning.0.iter().filter(|(_, value)| value != "auto") {
        match report.tuning.get(axis) {
            Some(used) if used == asked => {}
            Some(used) => differences.push(format!("{axis}={used} was used")),
            None => differences.push(format!("the report does not say which {axis} was used")),
        }
    }
    differences
}

/// The prover that is held to report its steps.
const OURS: &str = "cuzk";

/// For each partition the first step that differs: those after it follow from it.
fn first_steps(report: &Report, expected: &ExpectedProof) -> Vec<String> {
    let mut differences = Vec::new();
    for digests in &expected.digests {
        let number = digests.partition;
        let Some(partition) = report.partitions.iter().find(|partition| partition.index == number) else {
            differences.push(format!("partition {number} is not reported"));
            continue;
        };
        // A foreign prover may keep its intermediate values to itself; its bytes are compared all the same.
        if report.tool.name != OURS && !partition.has_digests() {
            continue;
        }
        let differs = |(step, digest): &(&str, Sha256)| partition.digest(step) != Some(*digest);
        if let Some((step, _)) = digests.steps().into_iter().find(differs) {
            let how = if partition.digest(step).is_some() { "differs first" } else { "is not reported" };
            differences.push(format!("partition {number}: {step} {how}"));
        }
    }
    differences
}

/// Where in a proof a byte is: the proofs of partitions, each the points A, B and C, stand one after the other; an aggregate does not.
fn place_in_proof(at: usize, expected: &ExpectedProof, n_bytes: usize) -> String {
    if n_bytes != PROOF_BYTES * expected.partitions {
        return format!("byte {at}");
    }
    let point = match at % PROOF_BYTES {
        0..END_OF_A => "A",
        END_OF_A..END_OF_B => "B",
        _ => "C",
    };
    let index = at / PROOF_BYTES;
    let partition = expected.digests.get(index).map_or(index, |digests| digests.partition);
    format!("partition {partition}, {point}, from byte {at}")
}

/// How the proof differs, byte by byte, and from the digest that the prover reports for it.
fn proof_bytes(
    report: &Report,
    ready: &Ready<'_>,
    expected: &ExpectedProof,
    scratch: &Scratch,
) -> Vec<String> {
    let golden = ready.folder.path.join(&expected.proof.file);
    let (golden, proof) = match (fs::read(&golden), fs::read(scratch.out.join(PROOF_FILE))) {
        (Ok(golden), Ok(proof)) => (golden, proof),
        (Err(error), _) => return vec![format!("{}: {error}", golden.display())],
        (_, Err(error)) => return vec![format!("no proof was written: {error}")],
    };
    let mut differences = Vec::new();
    if sha256(&golden) != expected.proof.sha256 {
        differences.push("the case's own proof does not have its SHA-256; run `lint`".to_owned());
    }
    if proof.len() != golden.len() {
        differences.push(format!("the proof has {} bytes, expected {}", proof.len(), golden.len()));
    } else if let Some(at) = proof.iter().zip(&golden).position(|(found, wanted)| found != wanted) {
        differences.push(format!("the proof differs in {}", place_in_proof(at, expected, golden.len())));
    }
    if report.proof.sha256 != sha256(&proof) {
        differences.push("the reported SHA-256 is not that of the written proof".to_owned());
    }
    differences
}
