//! Lists every fault of a golden folder, so that a case cannot pass because it is malformed.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::Error;
use crate::case::{
    CASE_FILE, CIRCUITS_FILE, Case, CaseFolder, CircuitsFile, Command, Expected, ExpectedProof, Flag,
    PARAMETERS_FILE, PROOF_BYTES, ParametersFile, Role, SCHEMA, SCHEMA_FILE, Verdict, case_folders, entries,
    json_schema, name, pretty,
};
use crate::digest::{Sha256, sha256};

/// A fault, and where it is.
#[derive(Debug)]
pub struct Problem {
    /// The file or folder.
    pub path: PathBuf,
    fault: Fault,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path.display(), self.fault)
    }
}

/// What can be wrong in a golden folder.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("no cases")]
    NoCases,
    #[error("cannot be read: {0}")]
    Unreadable(std::io::Error),
    #[error("does not parse: {0}")]
    Unparsable(serde_json::Error),
    #[error("schema is {0}, expected {SCHEMA}")]
    SchemaVersion(u32),
    #[error("is not the schema of this version; replace it with the output of `cuzk-conformance schema`")]
    SchemaOutdated,
    #[error("folder names consist of a-z, 0-9, _ and -")]
    BadName,
    #[error("does not belong here")]
    Stray,
    #[error("no case of the suite names this file")]
    Unlisted,
    #[error("id is `{0}`, which is not its folder")]
    WrongId(String),
    #[error(
        "is not formatted: expected two-space indented JSON, keys in the schema's order, one final newline"
    )]
    Unformatted,
    #[error("has two circuits of one kind and size")]
    CircuitTwice,
    #[error("names `{0}`, which is outside its suite")]
    OutsideSuite(String),
    #[error("SHA-256 is {found}, the case says {expected}")]
    WrongSha256 { found: Sha256, expected: Sha256 },
    #[error("`prove` takes one file of role input, `verify` one proof and one statement")]
    WrongRoles,
    #[error("`expected` does not have the shape that `command` and `result` call for")]
    WrongExpectation,
    #[error("exit code {0} cannot be expected: a valid case has 0, an invalid one 1, 2 or 3")]
    WrongExitCode(i32),
    #[error("error kind `{0}` is not in snake_case")]
    WrongErrorKind(String),
    #[error("has {found} bytes, {partitions} partitions have {}", partitions * PROOF_BYTES)]
    ProofLength { found: usize, partitions: usize },
    #[error(
        "there must be digests of every partition (at least one), in order; `partitions` is {partitions}"
    )]
    WrongPartitions { partitions: usize },
    #[error("a proof is expected, but `randomness_seed` is absent, so that its bytes are not fixed")]
    NoRandomnessSeed,
    #[error("the flag `insecure-parameters` and `test_seed` go together")]
    WrongFlag,
    #[error("parameters `{0}` are not in {PARAMETERS_FILE} with the same seed and digest")]
    WrongParameters(String),
}

/// All faults of a golden folder, in the order of its files, with the number of cases.
pub fn lint(golden: &Path) -> Result<(usize, Vec<Problem>), Error> {
    let mut linter = Linter { problems: Vec::new() };
    linter.schema(&golden.join(SCHEMA_FILE));
    let parameters = linter.parameters(&golden.join(PARAMETERS_FILE));
    linter.circuits(&golden.join(CIRCUITS_FILE));
    linter.folders(golden)?;
    let folders = case_folders(golden)?;
    if folders.is_empty() {
        linter.report(golden, Fault::NoCases);
    }
    let mut named = BTreeSet::new();
    for folder in &folders {
        named.insert(folder.path.join(CASE_FILE));
        if let Some(case) = linter.case(folder) {
            linter.content(folder, &case, parameters.as_ref());
            named.extend(linter.files(folder, &case));
        }
    }
    for folder in &folders {
        for path in entries(&folder.path)? {
            linter.check(named.contains(&path), &path, || Fault::Unlisted);
        }
    }
    Ok((folders.len(), linter.problems))
}

struct Linter {
    problems: Vec<Problem>,
}

impl Linter {
    fn report(&mut self, path: &Path, fault: Fault) {
        self.problems.push(Problem { path: path.to_owned(), fault });
    }

    /// Reports the fault unless all is well.
    fn check(&mut self, well: bool, path: &Path, fault: impl FnOnce() -> Fault) {
        if !well {
            self.report(path, fault());
        }
    }

    fn read(&mut self, path: &Path) -> Option<Vec<u8>> {
        fs::read(path).map_err(|error| self.report(path, Fault::Unreadable(error))).ok()
    }

    fn parse<T: serde::de::DeserializeOwned>(&mut self, path: &Path, text: &[u8]) -> Option<T> {
        serde_json::from_slice(text).map_err(|error| self.report(path, Fault::Unparsable(error))).ok()
    }

    /// Compares values, not text: the order of keys in a generated schema has no meaning.
    fn schema(&mut self, path: &Path) {
        if let Some(schema) = self.read(path).and_then(|text| self.parse::<Value>(path, &text)) {
            self.check(schema == json_schema(), path, || Fault::SchemaOutdated);
        }
    }

    /// A golden folder for a foreign prover may have no circuits.
    fn circuits(&mut self, path: &Path) {
        if !path.exists() {
            return;
        }
        let Some(text) = self.read(path) else { return };
        let Some(file) = self.parse::<CircuitsFile>(path, &text) else { return };
        self.check(file.schema == SCHEMA, path, || Fault::SchemaVersion(file.schema));
        self.check(pretty(&file).as_bytes() == text, path, || Fault::Unformatted);
        let names: BTreeSet<_> =
            file.circuits.iter().map(|circuit| (&circuit.kind, &circuit.sector_size)).collect();
        self.check(names.len() == file.circuits.len(), path, || Fault::CircuitTwice);
    }

    fn parameters(&mut self, path: &Path) -> Option<ParametersFile> {
        let text = self.read(path)?;
        let file: ParametersFile = self.parse(path, &text)?;
        self.check(file.schema == SCHEMA, path, || Fault::SchemaVersion(file.schema));
        self.check(pretty(&file).as_bytes() == text, path, || Fault::Unformatted);
        Some(file)
    }

    /// The names of suites and cases, and files beside them.
    fn folders(&mut self, golden: &Path) -> Result<(), Error> {
        for suite in entries(golden)? {
            if !suite.is_dir() {
                self.check(
                    [SCHEMA_FILE, PARAMETERS_FILE, CIRCUITS_FILE].contains(&&*name(&suite)),
                    &suite,
                    || Fault::Stray,
                );
                continue;
            }
            self.check(is_folder_name(&name(&suite)), &suite, || Fault::BadName);
            for case in entries(&suite)? {
                self.check(case.is_dir(), &case, || Fault::Stray);
                self.check(!case.is_dir() || is_folder_name(&name(&case)), &case, || Fault::BadName);
            }
        }
        Ok(())
    }

    fn case(&mut self, folder: &CaseFolder) -> Option<Case> {
        let path = folder.path.join(CASE_FILE);
        let text = self.read(&path)?;
        let case: Case = self.parse(&path, &text)?;
        self.check(pretty(&case).as_bytes() == text, &path, || Fault::Unformatted);
        Some(case)
    }

    /// What a case says, files aside.
    fn content(&mut self, folder: &CaseFolder, case: &Case, list: Option<&ParametersFile>) {
        let path = &folder.path.join(CASE_FILE);
        self.check(case.schema == SCHEMA, path, || Fault::SchemaVersion(case.schema));
        self.check(case.id == folder.id, path, || Fault::WrongId(case.id.clone()));
        self.check(roles_fit(case), path, || Fault::WrongRoles);
        let insecure = case.flags.contains(&Flag::InsecureParameters);
        self.check(insecure == case.parameters.test_seed.is_some(), path, || Fault::WrongFlag);
        let listed = list.is_none_or(|list| list.parameters.contains(&case.parameters));
        self.check(listed, path, || Fault::WrongParameters(case.parameters.name.clone()));
        self.expectation(path, case);
    }

    fn expectation(&mut self, path: &Path, case: &Case) {
        let fits = matches!(
            (case.result, case.command, &case.expected),
            (Verdict::Valid, Command::Prove, Expected::Proof(_))
                | (Verdict::Valid, Command::Verify, Expected::Accepted(_))
                | (Verdict::Invalid, _, Expected::Failure(_))
        );
        self.check(fits, path, || Fault::WrongExpectation);
        let code = case.expected.exit_code();
        let possible = match &case.expected {
            Expected::Failure(failure) => {
                let kind = &failure.error_kind;
                self.check(is_snake_case(kind), path, || Fault::WrongErrorKind(kind.clone()));
                (1..=3).contains(&code)
            }
            Expected::Proof(proof) => {
                let numbers = proof.digests.iter().map(|digests| digests.partition);
                let partitions = proof.partitions;
                let complete = partitions > 0 && numbers.eq(0..partitions);
                self.check(complete, path, || Fault::WrongPartitions { partitions });
                self.check(case.randomness_seed.is_some(), path, || Fault::NoRandomnessSeed);
                code == 0
            }
            Expected::Accepted(_) => code == 0,
        };
        self.check(possible, path, || Fault::WrongExitCode(code));
    }

    /// Checks the files that a case names, and returns their paths.
    fn files(&mut self, folder: &CaseFolder, case: &Case) -> Vec<PathBuf> {
        let mut named = Vec::new();
        for input in &case.inputs {
            if let Some(path) = input.file.as_ref().and_then(|file| self.inside_suite(folder, file)) {
                self.digest(&path, input.sha256);
                named.push(path);
            }
        }
        if let Expected::Proof(expected) = &case.expected
            && let Some(path) = self.inside_suite(folder, &expected.proof.file)
        {
            self.proof(&path, expected);
            named.push(path);
        }
        named
    }

    fn digest(&mut self, path: &Path, expected: Sha256) -> Option<Vec<u8>> {
        let bytes = self.read(path)?;
        let found = sha256(&bytes);
        self.check(found == expected, path, || Fault::WrongSha256 { found, expected });
        Some(bytes)
    }

    fn proof(&mut self, path: &Path, expected: &ExpectedProof) {
        if let Some(bytes) = self.digest(path, expected.proof.sha256) {
            let (found, partitions) = (bytes.len(), expected.partitions);
            self.check(found == partitions * PROOF_BYTES, path, || Fault::ProofLength { found, partitions });
        }
    }

    /// The path of a file that a case names, if it stays inside the suite: `file` or `../case/file`.
    fn inside_suite(&mut self, folder: &CaseFolder, file: &str) -> Option<PathBuf> {
        let path = match Path::new(file).components().collect::<Vec<_>>()[..] {
            [Component::Normal(file)] => folder.path.join(file),
            [Component::ParentDir, Component::Normal(case), Component::Normal(file)] => {
                folder.path.with_file_name(case).join(file)
            }
            _ => {
                self.report(&folder.path.join(CASE_FILE), Fault::OutsideSuite(file.to_owned()));
                return None;
            }
        };
        Some(path)
    }
}

fn is_folder_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

fn is_snake_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

fn roles_fit(case: &Case) -> bool {
    let roles: Vec<Role> = case.inputs.iter().map(|input| input.role).collect();
    match case.command {
        Command::Prove => roles == [Role::Input],
        Command::Verify => roles == [Role::Proof, Role::Statement],
    }
}
