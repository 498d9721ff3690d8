//! `cuzk params`

use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::anyhow;
use cuzk_filecoin::store::{
    DigestMemory, FileState, TestInnerProductKey, TestParameters, TestParametersNote,
};
use cuzk_filecoin::{FileIdentity, RegisteredProof, manifest};
use cuzk_groth16::{Parameters, VerifyingKey};
use serde::Serialize;

use super::inspect::state;
use super::{generate, test_parameters};
use crate::arguments::{
    ParamsAction, ParamsArguments, ParamsCheckArguments, ParamsGenerateArguments, ParamsListArguments,
    ParamsPathArguments,
};
use crate::environment::{ParameterDirectory, cache_directory};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::talk::Talk;

pub(crate) fn run(arguments: &ParamsArguments, talk: Talk) -> Result<(), Failure> {
    match &arguments.action {
        ParamsAction::Path(arguments) => path(arguments),
        ParamsAction::List(arguments) => list(arguments),
        ParamsAction::Check(arguments) => check(arguments, talk),
        ParamsAction::Generate(arguments) => generate_parameters(arguments, talk),
    }
}

fn path(arguments: &ParamsPathArguments) -> Result<(), Failure> {
    let directory = ParameterDirectory::find(arguments.params.as_deref());
    let test = cache_directory()?.join("test-parameters");
    if arguments.json {
        return output::print_json(&serde_json::json!({
            "schema": "cuzk-params-path",
            "version": 1,
            "official": { "path": directory.path, "set_by": directory.set_by, "exists": directory.path.is_dir() },
            "test": { "path": test, "set_by": "the user's cache directory", "exists": test.is_dir() },
        }));
    }
    let missing = |path: &Path| if path.is_dir() { "" } else { ", does not exist" };
    output::print(&format!(
        "official  {} (set by {}{})\ntest      {} (in the user's cache directory{})\n",
        directory.path.display(),
        directory.set_by,
        missing(&directory.path),
        test.display(),
        missing(&test)
    ))
}

#[derive(Serialize)]
struct Listed {
    name: String,
    sector_size: Option<u64>,
    digest: Option<String>,
    state: &'static str,
    bytes: Option<u64>,
}

fn list(arguments: &ParamsListArguments) -> Result<(), Failure> {
    let directory = ParameterDirectory::find(arguments.params.as_deref());
    let memory = DigestMemory::load(&cache_directory()?);
    let wanted = arguments.sector_size.map(|size| size.bytes());
    let files: Vec<Listed> = manifest()
        .into_iter()
        .filter(|file| wanted.is_none() || file.sector_bytes == wanted)
        .map(|file| {
            let (state, bytes) = state(&FileState::of(&directory.path, &file, &memory));
            Listed { name: file.name, sector_size: file.sector_bytes, digest: file.digest, state, bytes }
        })
        .collect();
    if arguments.json {
        return output::print_json(&serde_json::json!({
            "schema": "cuzk-params-list",
            "version": 1,
            "directory": directory.path,
            "set_by": directory.set_by,
            "files": files,
        }));
    }
    let mut table = format!("{} (set by {})\n", directory.path.display(), directory.set_by);
    for file in files {
        let sector_size = file.sector_size.map_or_else(String::new, |size| size.to_string());
        writeln!(table, "{:<9} {sector_size:>11} {}", file.state, file.name).expect("writing to a string");
    }
    output::print(&table)
}

#[derive(Serialize)]
struct Checked {
    path: PathBuf,
    /// Where it points to, of a symbolic link.
    link: Option<PathBuf>,
    bytes: u64,
    blake2b_512: String,
    /// The manifest's digest, or the note's; `null` where nobody knows it.
    expected: Option<String>,
    /// With `--deep`.
    points: Option<Points>,
    good: bool,
}

/// What looking at every point has shown.
#[derive(Serialize)]
struct Points {
    /// Bytes that the file system does not keep, as they are all zero: a copy that was not finished.
    holes: u64,
    /// What is wrong with the first bad point, or with the file.
    problem: Option<String>,
}

impl Checked {
    /// What is wrong, and what mends it.
    fn complaint(&self) -> String {
        let path = self.path.display();
        let link = self.link.as_ref().map_or_else(String::new, |to| format!(" (a link to {})", to.display()));
        if let Some(expected) = self.expected.as_ref().filter(|wanted| !self.blake2b_512.starts_with(*wanted))
        {
            let found = &self.blake2b_512[..expected.len()];
            return format!(
                "{path}{link}: the digest is {found}, wanted {expected}; fetch or generate it again"
            );
        }
        let points = self.points.as_ref();
        let problem = points.and_then(|points| points.problem.clone()).unwrap_or_default();
        let holes = points.map_or(0, |points| points.holes);
        let holes = if holes > 0 { format!("; {holes} bytes of the file are holes") } else { String::new() };
        format!("{problem}{link}{holes}")
    }
}

fn check(arguments: &ParamsCheckArguments, talk: Talk) -> Result<(), Failure> {
    let cache = cache_directory()?;
    let directory = ParameterDirectory::find(arguments.params.as_deref());
    let files =
        if arguments.files.is_empty() { all_files(&directory.path, &cache) } else { arguments.files.clone() };
    if files.is_empty() {
        let message = anyhow!(
            "no parameter files in {} (set by {}) and no test parameters",
            directory.path.display(),
            directory.set_by
        );
        return Err(Failure::environment("parameters_missing", message));
    }
    let progress = Progress::new(talk.or_quiet(arguments.json));
    let mut memory = DigestMemory::load(&cache);
    let mut checked = vec![];
    for path in files {
        checked.push(check_file(path, arguments.deep, &mut memory, &progress)?);
    }
    drop(progress);
    if arguments.json {
        output::print_json(
            &serde_json::json!({ "schema": "cuzk-params-check", "version": 1, "files": checked }),
        )?;
    } else {
        for file in &checked {
            let verdict = if file.good { "good" } else { "BAD " };
            let link = file.link.as_ref().map_or_else(String::new, |to| format!(" -> {}", to.display()));
            output::print(&format!("{verdict} {}{link}\n", file.path.display()))?;
        }
    }
    let bad: Vec<&Checked> = checked.iter().filter(|file| !file.good).collect();
    match bad.first() {
        None => Ok(()),
        Some(first) => {
            let message = anyhow!("{} ({} of {} files are bad)", first.complaint(), bad.len(), checked.len());
            Err(Failure::environment("parameters", message))
        }
    }
}

/// Every file of the manifest that is in `directory`, and every parameter file with a note under `cache`.
fn all_files(directory: &Path, cache: &Path) -> Vec<PathBuf> {
    let official = manifest().into_iter().map(|file| directory.join(file.name));
    let folders = std::fs::read_dir(cache.join("test-parameters")).into_iter().flatten().flatten();
    let test = folders
        .flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten())
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "params" || extension == "srs"));
    official.chain(test).filter(|path| path.is_file()).collect()
}

fn check_file(
    path: PathBuf,
    deep: bool,
    memory: &mut DigestMemory,
    progress: &Progress,
) -> Result<Checked, Failure> {
    let expected = match expected_digest(&path) {
        Ok(expected) => Some(expected),
        // Its points tell something without it.
        Err(_) if deep && has_points(&path) => None,
        Err(failure) => return Err(failure),
    };
    let name = path.display().to_string();
    let mut done = 0;
    let digest = memory.hash(&path, |bytes| {
        done += bytes;
        progress.doing(format!("hashing {name}: {} MiB", done >> 20));
    })?;
    let bytes = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
    let blake2b_512 = hex::encode(digest);
    let as_expected = expected.as_ref().is_none_or(|expected| blake2b_512.starts_with(expected));
    let points = (deep && has_points(&path)).then(|| check_points(&path, progress));
    let good = as_expected && points.as_ref().is_none_or(|points| points.problem.is_none());
    let link = std::fs::read_link(&path).ok();
    Ok(Checked { path, link, bytes, blake2b_512, expected, points, good })
}

/// Whether `--deep` can look into it.
fn has_points(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "params" || extension == "vk")
}

fn check_points(path: &Path, progress: &Progress) -> Points {
    let holes = std::fs::metadata(path).map_or(0, |file| file.len().saturating_sub(512 * file.blocks()));
    let checked = if path.extension().is_some_and(|extension| extension == "vk") {
        VerifyingKey::open(path).map(|_| ())
    } else {
        Parameters::open(path).and_then(|parameters| {
            let (done, all) = (AtomicU64::new(0), parameters.size());
            parameters.check_points(&|bytes| {
                let done = bytes + done.fetch_add(bytes, Ordering::Relaxed);
                progress.doing(format!("points of {}: {} %", path.display(), 100 * done / all.max(1)));
            })
        })
    };
    Points { holes, problem: checked.err().map(|error| format!("{:#}", anyhow!(error))) }
}

/// The digest in the note beside a file of test parameters, else the manifest's for its name.
fn expected_digest(path: &Path) -> Result<String, Failure> {
    let note = std::fs::read(path.with_extension("json")).ok();
    if let Some(note) = note.and_then(|bytes| serde_json::from_slice::<TestParametersNote>(&bytes).ok()) {
        return Ok(note.blake2b_512);
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let known = manifest().into_iter().find(|file: &FileIdentity| file.name == name);
    known.and_then(|file| file.digest).ok_or_else(|| {
        let message = anyhow!("{}: no file of upstream's manifest, and no note beside it", path.display());
        Failure::refused("unknown_parameter_file", message)
    })
}

fn generate_parameters(arguments: &ParamsGenerateArguments, talk: Talk) -> Result<(), Failure> {
    if arguments.inner_product_key {
        return generate_inner_product_key(arguments);
    }
    let proof = RegisteredProof::latest(arguments.kind, arguments.sector_size);
    let set = proof.parameter_set()?;
    let parameters = TestParameters::locate(&cache_directory()?, arguments.test_params.0, set)?;
    let progress = Progress::new(talk.or_quiet(arguments.quiet));
    let note = if arguments.force {
        generate(&parameters, &proof, arguments.device, &progress)?
    } else {
        test_parameters(&parameters, &proof, arguments.device, &progress)?
    };
    drop(progress);
    generated(&parameters.path(), &note, arguments.json)
}

fn generate_inner_product_key(arguments: &ParamsGenerateArguments) -> Result<(), Failure> {
    let (cache, seed) = (cache_directory()?, arguments.test_params.0);
    let key = TestInnerProductKey::locate(&cache, seed, arguments.sector_size)?;
    let existing = key.existing()?.filter(|_| !arguments.force);
    let note = existing.map_or_else(|| key.generate(), Ok)?;
    generated(&key.path(), &note, arguments.json)
}

fn generated(path: &Path, note: &TestParametersNote, json: bool) -> Result<(), Failure> {
    if json {
        return output::print_json(note);
    }
    output::print(&format!(
        "{}\n{} bytes, blake2b {}; insecure: anybody can forge proofs for them\n",
        path.display(),
        note.bytes,
        note.blake2b_512
    ))
}
