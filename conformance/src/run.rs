//! Runs golden cases against a prover binary, and names what differed.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tempfile::TempDir;

use crate::Error;
use crate::case::{Case, CaseFolder, Command, Expected, Input, Role, case_folders, entries};
use crate::digest::{Sha256, sha256_file};
use crate::judge::judge;
use crate::prover::Prover;
use crate::report::Cost;
use crate::rows::{Row, Turn, turns};

/// Name of the proof in the output folder of a `prove` case.
pub(crate) const PROOF_FILE: &str = "proof.bin";

/// What one case came to in one row.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// `<suite>/<case>`.
    pub case: String,
    /// The row, if the case depends on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// Whether it passed.
    #[serde(flatten)]
    pub status: Status,
    /// How long the prover ran.
    pub wall_ms: u64,
    /// What the run cost by the prover's own report, if it wrote one.
    #[serde(flatten)]
    pub cost: Option<Cost>,
}

/// Whether a case passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// Everything is as expected.
    Ok,
    /// Something differs.
    Failed {
        /// What differs.
        differences: Vec<String>,
    },
    /// The case was not run, so it says nothing about the prover.
    Skipped {
        /// What is missing.
        reason: String,
    },
}

/// How many cases passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Ran as expected.
    pub passed: usize,
    /// Ran otherwise.
    pub failed: usize,
    /// Did not run.
    pub skipped: usize,
}

/// The golden cases with what the user supplies for them.
#[derive(Clone, Debug)]
pub struct Runner {
    folders: Vec<CaseFolder>,
    inputs: HashMap<Sha256, PathBuf>,
    params: Option<PathBuf>,
}

impl Runner {
    /// Finds the cases of a golden folder.
    pub fn open(golden: &Path) -> Result<Self, Error> {
        // Children run elsewhere, so their arguments have to be absolute.
        let golden = golden.canonicalize().map_err(Error::io("open", golden))?;
        Ok(Self { folders: case_folders(&golden)?, inputs: HashMap::new(), params: None })
    }

    /// Offers the files directly inside `folder` to the cases that name an input by its digest only.
    pub fn supply_inputs(&mut self, folder: &Path) -> Result<(), Error> {
        let folder = folder.canonicalize().map_err(Error::io("open", folder))?;
        for path in entries(&folder)?.into_iter().filter(|path| path.is_file()) {
            self.inputs.insert(sha256_file(&path).map_err(Error::io("read", &path))?, path);
        }
        Ok(())
    }

    /// Offers a folder of official parameters to the cases that need them.
    pub fn supply_parameters(&mut self, folder: &Path) -> Result<(), Error> {
        self.params = Some(folder.canonicalize().map_err(Error::io("open", folder))?);
        Ok(())
    }

    /// The folders of the cases whose id contains `filter`, sorted.
    pub fn select(&self, filter: &str) -> Vec<&CaseFolder> {
        self.folders.iter().filter(|folder| folder.id.contains(filter)).collect()
    }

    /// The folder of one case.
    pub fn case(&self, id: &str) -> Result<&CaseFolder, Error> {
        let found = self.folders.iter().find(|folder| folder.id == id);
        found.ok_or_else(|| Error::NoSuchCase(id.to_owned()))
    }

    /// Runs a case in every row that matters to it, and shows each outcome as soon as it is known. A case that
    /// yields no proof is decided before any backend starts, so it runs once, in the first row. Where flags of the case
    /// leave no row of a backend, there is one outcome that says so.
    pub fn run(
        &self,
        prover: &Prover,
        folder: &CaseFolder,
        rows: &[Row],
        show: &mut dyn FnMut(&Outcome),
    ) -> Result<Vec<Outcome>, Error> {
        let mut outcomes = Vec::new();
        let mut add = |outcome: Outcome| {
            show(&outcome);
            outcomes.push(outcome);
        };
        let ready = match self.load(folder) {
            Ok(ready) => ready,
            Err(status) => {
                add(Outcome::without_run(folder, status));
                return Ok(outcomes);
            }
        };
        let depends_on_row = matches!(ready.case.expected, Expected::Proof(_));
        for turn in turns(&ready.case, rows) {
            let (row, outcome) = match turn {
                Turn::Run(row) => (row, self.attempt(prover, row, &ready)?),
                Turn::LeftOut(row, why) => {
                    (row, Outcome::without_run(folder, Status::skipped(why.to_owned())))
                }
            };
            add(Outcome { row: depends_on_row.then(|| row.to_string()), ..outcome });
        }
        Ok(outcomes)
    }

    /// Reads a case and finds its files; otherwise says why it cannot run.
    fn load<'a>(&self, folder: &'a CaseFolder) -> Result<Ready<'a>, Status> {
        let case = folder.load().map_err(|error| Status::failed(error.to_string()))?;
        if case.parameters.test_seed.is_none() && self.params.is_none() {
            let name = &case.parameters.name;
            return Err(Status::skipped(format!("needs {name} (--params)")));
        }
        let locate = |input: &Input| Ok((input.role, self.locate(folder, input)?));
        let files = case.inputs.iter().map(locate).collect::<Result<_, Status>>()?;
        Ok(Ready { folder, case, files })
    }

    /// The file or folder that an input names.
    fn locate(&self, folder: &CaseFolder, input: &Input) -> Result<PathBuf, Status> {
        match (&input.file, input.sha256) {
            (Some(file), Some(sha256)) => checked(folder.path.join(file), sha256),
            (Some(file), None) => is_folder(folder.path.join(file)),
            (None, Some(sha256)) => {
                let missing = || Status::skipped(format!("needs a file with SHA-256 {sha256} (--input-dir)"));
                self.inputs.get(&sha256).cloned().ok_or_else(missing)
            }
            (None, None) => {
                Err(Status::failed("an input has neither a file nor a SHA-256; run `lint`".to_owned()))
            }
        }
    }

    fn attempt(&self, prover: &Prover, row: &Row, ready: &Ready<'_>) -> Result<Outcome, Error> {
        let scratch = Scratch::new()?;
        let arguments = match self.arguments(row, ready, &scratch) {
            Ok(arguments) => arguments,
            Err(status) => return Ok(Outcome::without_run(ready.folder, status)),
        };
        let finished = prover.run(&scratch.out, &arguments)?;
        if let Some(reason) = finished.missing_hardware() {
            return Ok(Outcome::without_run(ready.folder, Status::skipped(reason.to_owned())));
        }
        let (differences, cost) = judge(ready, row, &finished, &scratch)?;
        let status = match differences.is_empty() {
            true => Status::Ok,
            false => Status::Failed { differences },
        };
        let wall_ms = u64::try_from(finished.wall.as_millis()).unwrap_or(u64::MAX);
        Ok(Outcome { status, wall_ms, cost, ..Outcome::without_run(ready.folder, Status::Ok) })
    }

    fn arguments(&self, row: &Row, ready: &Ready<'_>, scratch: &Scratch) -> Result<Vec<OsString>, Status> {
        let case = &ready.case;
        let mut arguments = match case.command {
            Command::Prove => vec!["prove".into(), ready.file(Role::Input)?],
            Command::Verify => vec!["verify".into(), ready.file(Role::Proof)?],
        };
        let mut add = |flag: &str, value: OsString| arguments.extend([flag.into(), value]);
        case.arguments.flags().into_iter().for_each(|(flag, value)| add(flag, value.into()));
        match (case.parameters.test_seed, &self.params) {
            (Some(seed), _) => add("--test-params", seed.to_string().into()),
            (None, Some(folder)) => add("--params", folder.into()),
            (None, None) => {}
        }
        if case.command == Command::Verify {
            add("--statement", ready.file(Role::Statement)?);
            return Ok(arguments);
        }
        add("--backend", row.backend.clone().into());
        if !row.tuning.0.is_empty() {
            add("--tune", row.tuning.to_string().into());
        }
        if let Some(seed) = case.randomness_seed {
            add("--insecure-seed", seed.to_string().into());
        }
        if case.arguments.partitions.is_some() {
            // The proofs themselves, not a file of parts.
            add("--format", "raw".into());
        }
        add("--report", scratch.report.clone().into());
        add("-o", scratch.out.join(PROOF_FILE).into());
        arguments.extend(["--digests".into(), "--quiet".into()]);
        Ok(arguments)
    }
}

/// A case that can run.
pub(crate) struct Ready<'a> {
    pub(crate) folder: &'a CaseFolder,
    pub(crate) case: Case,
    files: Vec<(Role, PathBuf)>,
}

impl Ready<'_> {
    fn file(&self, wanted: Role) -> Result<OsString, Status> {
        let file = self.files.iter().find(|(role, _)| *role == wanted);
        let missing = || Status::failed(format!("the case has no file of role {wanted:?}; run `lint`"));
        file.map(|(_, path)| path.clone().into_os_string()).ok_or_else(missing)
    }
}

/// The folders of one run. The report is kept out of the output folder, so that everything found there which is not
/// the proof is a fault.
pub(crate) struct Scratch {
    pub(crate) out: PathBuf,
    pub(crate) report: PathBuf,
    _folder: TempDir,
}

impl Scratch {
    fn new() -> Result<Self, Error> {
        let make = || {
            let folder = TempDir::with_prefix("cuzk-conformance-")?;
            let out = folder.path().join("out");
            fs::create_dir(&out)?;
            Ok(Self { out, report: folder.path().join("report.json"), _folder: folder })
        };
        make().map_err(Error::io("make a folder in", &std::env::temp_dir()))
    }
}

impl Status {
    fn failed(difference: String) -> Self {
        Self::Failed { differences: vec![difference] }
    }

    fn skipped(reason: String) -> Self {
        Self::Skipped { reason }
    }
}

impl Outcome {
    /// Whether it passed in a row with this backend, or with this value of an axis.
    pub fn passed_with(&self, name: &str) -> bool {
        let row = self.row.as_deref().unwrap_or_default();
        let (backend, tuning) = row.split_once(' ').unwrap_or((row, ""));
        let has_value =
            tuning.split(',').any(|setting| setting.split_once('=').is_some_and(|(_, value)| value == name));
        self.status == Status::Ok && (backend == name || has_value)
    }

    fn without_run(folder: &CaseFolder, status: Status) -> Self {
        Self { case: folder.id.clone(), row: None, status, wall_ms: 0, cost: None }
    }
}

impl Count {
    /// Counts one more.
    pub fn add(&mut self, status: &Status) {
        match status {
            Status::Ok => self.passed += 1,
            Status::Failed { .. } => self.failed += 1,
            Status::Skipped { .. } => self.skipped += 1,
        }
    }

    /// Whether the run as a whole is good: a run that tested nothing is not.
    pub fn is_success(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

impl fmt::Display for Count {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.row.as_ref().map_or(String::new(), |row| format!(" [{row}]"));
        let wall = format!("{:.3} s", self.wall_ms as f64 / 1e3);
        match &self.status {
            Status::Ok => write!(formatter, "ok       {}{row} ({wall})", self.case),
            Status::Failed { differences } => {
                write!(formatter, "FAILED   {}{row} ({wall}): {}", self.case, differences.join("; "))
            }
            Status::Skipped { reason } => write!(formatter, "skipped  {}{row}: {reason}", self.case),
        }
    }
}

/// The path, if the file there is the one that the case means: a wrong file would blame the prover.
fn checked(path: PathBuf, expected: Sha256) -> Result<PathBuf, Status> {
    match sha256_file(&path) {
        Ok(found) if found == expected => Ok(path),
        Ok(found) => Err(Status::failed(format!("{}: SHA-256 is {found}; run `lint`", path.display()))),
        Err(error) => Err(Status::failed(format!("{}: {error}", path.display()))),
    }
}

/// The path, if it is that of a folder.
fn is_folder(path: PathBuf) -> Result<PathBuf, Status> {
    if path.is_dir() {
        return Ok(path);
    }
    Err(Status::failed(format!("{}: is no folder; run `lint`", path.display())))
}
