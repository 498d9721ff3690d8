//! `cuzk params`

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use cuzk_filecoin::store::{
    DigestMemory, FileState, TestInnerProductKey, TestParameters, TestParametersNote,
};
use cuzk_filecoin::{FileIdentity, RegisteredProof, manifest};
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

pub(crate) fn run(arguments: &ParamsArguments) -> Result<(), Failure> {
    match &arguments.action {
        ParamsAction::Path(arguments) => path(arguments),
        ParamsAction::List(arguments) => list(arguments),
        ParamsAction::Check(arguments) => check(arguments),
        ParamsAction::Generate(arguments) => generate_parameters(arguments),
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
    bytes: u64,
    blake2b_512: String,
    expected: String,
    good: bool,
}

fn check(arguments: &ParamsCheckArguments) -> Result<(), Failure> {
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
    let progress = Progress::new(arguments.json);
    let mut memory = DigestMemory::load(&cache);
    let mut checked = vec![];
    for path in files {
        checked.push(check_file(path, &mut memory, &progress)?);
    }
    drop(progress);
    if arguments.json {
        output::print_json(
            &serde_json::json!({ "schema": "cuzk-params-check", "version": 1, "files": checked }),
        )?;
    } else {
        for file in &checked {
            let verdict = if file.good { "good" } else { "BAD " };
            output::print(&format!("{verdict} {}\n", file.path.display()))?;
        }
    }
    let bad: Vec<&Checked> = checked.iter().filter(|file| !file.good).collect();
    match bad.first() {
        None => Ok(()),
        Some(first) => {
            let message = anyhow!(
                "{}: the digest is {}, wanted {}; fetch or generate it again ({} of {} files are bad)",
                first.path.display(),
                &first.blake2b_512[..first.expected.len()],
                first.expected,
                bad.len(),
                checked.len()
            );
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

fn check_file(path: PathBuf, memory: &mut DigestMemory, progress: &Progress) -> Result<Checked, Failure> {
    let expected = expected_digest(&path)?;
    let name = path.display().to_string();
    let mut done = 0;
    let digest = memory.hash(&path, |bytes| {
        done += bytes;
        progress.doing(format!("hashing {name}: {} MiB", done >> 20));
    })?;
    let bytes = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
    let blake2b_512 = hex::encode(digest);
    let good = blake2b_512.starts_with(&expected);
    Ok(Checked { path, bytes, blake2b_512, expected, good })
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

fn generate_parameters(arguments: &ParamsGenerateArguments) -> Result<(), Failure> {
    if arguments.inner_product_key {
        return generate_inner_product_key(arguments);
    }
    let proof = RegisteredProof::latest(arguments.kind, arguments.sector_size);
    let set = proof.parameter_set()?;
    let parameters = TestParameters::locate(&cache_directory()?, arguments.test_params.0, set)?;
    let progress = Progress::new(arguments.quiet);
    let note = if arguments.force {
        generate(&parameters, &proof, &progress)?
    } else {
        test_parameters(&parameters, &proof, &progress)?
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
