//! `cuzk doctor`

use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use cuzk_cpu::Arithmetic;
use cuzk_filecoin::store::{DigestMemory, FileState, TestParameters};
use cuzk_filecoin::{FileIdentity, KnownCircuit, ParameterSet, RegisteredProof};
use cuzk_groth16::{Isa, Tuning};
use rustix::process::{Resource, Rlimit, getrlimit};
use serde::Serialize;

use crate::arguments::{BackendChoice, DoctorArguments, Target};
use crate::environment::{ParameterDirectory, cache_directory};
use crate::failure::Failure;
use crate::machine::Machine;
use crate::memory::{Available, Held, size};
use crate::output;
use crate::plan::{On, Plan};
use crate::provenance::Build;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    /// Worth knowing.
    Note,
    /// Would stop the proof.
    Problem,
}

/// What was looked at, what was found, and what mends it.
#[derive(Debug, Serialize)]
struct Finding {
    topic: &'static str,
    state: State,
    found: String,
    mend: Option<String>,
}

impl Finding {
    fn ok(topic: &'static str, found: impl Into<String>) -> Self {
        Finding { topic, state: State::Ok, found: found.into(), mend: None }
    }

    fn note(topic: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Finding { topic, state: State::Note, found: found.into(), mend: Some(mend.into()) }
    }

    fn problem(topic: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Finding { topic, state: State::Problem, found: found.into(), mend: Some(mend.into()) }
    }
}

pub(crate) fn run(arguments: &DoctorArguments) -> Result<(), Failure> {
    let findings = examine(arguments)?;
    if arguments.json {
        output::print_json(&serde_json::json!({
            "schema": "cuzk-doctor",
            "version": 1,
            "for": arguments.target.map(|target| target.to_string()),
            "build": Build::here(),
            "findings": findings,
        }))?;
    } else {
        output::print(&table(&findings))?;
    }
    let problems: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.state == State::Problem)
        .map(|finding| finding.topic)
        .collect();
    if problems.is_empty() {
        return Ok(());
    }
    let message = anyhow!(
        "{} problem(s): {}; the lines above say what mends them",
        problems.len(),
        problems.join(", ")
    );
    Err(Failure::environment("doctor", message))
}

fn table(findings: &[Finding]) -> String {
    let mut table = String::new();
    for Finding { topic, state, found, mend } in findings {
        let state = match state {
            State::Ok => "ok",
            State::Note => "note",
            State::Problem => "PROBLEM",
        };
        writeln!(table, "{state:<8} {topic:<11} {found}").expect("writing to a string");
        if let Some(mend) = mend {
            writeln!(table, "{:<20} {mend}", "").expect("writing to a string");
        }
    }
    table
}

fn examine(arguments: &DoctorArguments) -> Result<Vec<Finding>, Failure> {
    let proof = arguments.target.map(|Target { kind, size }| RegisteredProof::latest(kind, size));
    let circuit = proof.as_ref().map(RegisteredProof::known_circuit).transpose()?;
    let devices = devices(arguments.backend, circuit);
    let on_device = devices.iter().any(|finding| finding.state == State::Ok);
    let backend = match arguments.backend {
        BackendChoice::Reference => "reference",
        BackendChoice::Auto | BackendChoice::Cuda if on_device => "cuda",
        _ => "cpu",
    };
    let mut findings = vec![processor()];
    findings.extend(devices);
    findings.push(match &proof {
        Some(proof) => memory_for(proof, backend)?,
        None => memory(),
    });
    findings.extend(limits());
    findings.extend(match &proof {
        Some(proof) => parameters_for(proof, arguments)?,
        None => vec![parameters(arguments)],
    });
    findings.push(cache());
    findings.extend(output_folder(&arguments.output));
    Ok(findings)
}

fn processor() -> Finding {
    let Machine { cpu, features, threads, .. } = Machine::here();
    let arithmetic = Arithmetic::of(Isa::Auto).map_or("none", Arithmetic::name);
    let found = format!("{cpu}, {threads} thread(s); arithmetic {arithmetic} ({})", features.join(" "));
    if arithmetic == Arithmetic::portable().name() {
        let mend =
            "a processor with AVX-512 IFMA (Zen 4, Ice Lake or newer) proves about three times as fast";
        return Finding::note("processor", found, mend);
    }
    Finding::ok("processor", found)
}

/// Every device, and whether the kernels load there. What is wrong with devices is a problem only where one was asked for.
fn devices(backend: BackendChoice, circuit: Option<&KnownCircuit>) -> Vec<Finding> {
    let missing = |found: String| match backend {
        BackendChoice::Cuda => Finding::problem("gpu", found, "mend that, or prove with --backend cpu"),
        _ => Finding::note("gpu", found, "proofs are made on the processor, until there is one"),
    };
    if matches!(backend, BackendChoice::Cpu | BackendChoice::Reference) {
        return vec![];
    }
    let devices = match cuzk_gpu::devices() {
        Ok(devices) => devices,
        Err(error) => return vec![missing(error.to_string())],
    };
    let release = cuzk_gpu::driver_release().unwrap_or_default();
    let mut findings: Vec<Finding> = devices
        .iter()
        .map(|device| {
            let (major, minor) = device.compute_capability;
            let memory = size(device.memory_bytes as u64);
            let found = format!(
                "{}, compute capability {major}.{minor}, {memory}, driver of CUDA {release}",
                device.label()
            );
            let checked = match &device.skipped {
                Some(reason) => Err(reason.clone()),
                None => cuzk_gpu::check(device.index).map_err(|error| error.to_string()),
            };
            match checked {
                Err(reason) => Finding::note("gpu", found, reason),
                Ok(free) => with_free_memory(found, free as u64, circuit),
            }
        })
        .collect();
    // `prove` takes another one.
    if findings.iter().any(|finding| finding.state == State::Ok) {
        for finding in findings.iter_mut().filter(|finding| finding.state == State::Problem) {
            finding.state = State::Note;
        }
    }
    if backend == BackendChoice::Cuda && !findings.iter().any(|finding| finding.state == State::Ok) {
        let found = "none of the devices can be used: the lines before say why";
        findings.push(Finding::problem("gpu", found, "mend that, or prove with --backend cpu"));
    }
    findings
}

/// A device whose kernels load. Transforms have to fit; parameters can come in chunks.
fn with_free_memory(found: String, free: u64, circuit: Option<&KnownCircuit>) -> Finding {
    const SCALAR: usize = 32;
    let found = format!("{found}, {} of it free; kernels load", size(free));
    let vectors = |circuit: &KnownCircuit| SCALAR * (6 * circuit.rows.next_power_of_two() + circuit.aux);
    let needed = circuit.map_or(0, vectors) as u64;
    if needed < free {
        return Finding::ok("gpu", found);
    }
    let mend =
        format!("its vectors alone take {}: a larger card by --device, or --backend cpu", size(needed));
    Finding::problem("gpu", found, mend)
}

fn memory() -> Finding {
    match Available::here(None, Held::default()) {
        Some(Available { bytes, by }) => Finding::ok("memory", format!("{} ({by})", size(bytes))),
        None => Finding::note("memory", "the system does not tell what is free", "say --memory to `prove`"),
    }
}

fn memory_for(proof: &RegisteredProof, backend: &str) -> Result<Finding, Failure> {
    let on = On { backend, tuning: &Tuning::default(), device_bytes: None, devices: 1, computed: false };
    let plan = Plan::new(proof, 1, &on, Available::here(None, Held::default()), None)?;
    let found = format!("{} for a partition on {backend}", plan.memory());
    Ok(match plan.check() {
        Ok(()) => Finding::ok("memory", found),
        Err(_) => {
            Finding::problem("memory", found, "free some, raise the limit, or prove on another machine")
        }
    })
}

fn limits() -> Vec<Finding> {
    /// Files that a proof opens at a time, and some for what it inherits.
    const FILES: u64 = 64;
    let text =
        |limit: Rlimit| limit.current.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
    let (files, locked) = (getrlimit(Resource::Nofile), getrlimit(Resource::Memlock));
    let found = format!("open files {}, locked memory {} bytes", text(files), text(locked));
    vec![match files.current {
        Some(limit) if limit < FILES => {
            Finding::problem("limits", found, format!("ulimit -n {FILES}, or more"))
        }
        _ => Finding::ok("limits", found),
    }]
}

fn directory(arguments: &DoctorArguments) -> ParameterDirectory {
    ParameterDirectory::find(arguments.parameters.params.as_deref())
}

fn parameters(arguments: &DoctorArguments) -> Finding {
    let ParameterDirectory { path, set_by } = directory(arguments);
    let place = format!("{} (set by {set_by})", path.display());
    let Ok(entries) = fs::read_dir(&path) else {
        let mend = "fetch parameters, or say --params; `doctor --for porep-32GiB` says which";
        return Finding::note("parameters", format!("{place} cannot be read or is not there"), mend);
    };
    let files =
        entries.flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "params")).count();
    Finding::ok("parameters", format!("{files} parameter file(s) in {place}"))
}

fn parameters_for(proof: &RegisteredProof, arguments: &DoctorArguments) -> Result<Vec<Finding>, Failure> {
    let set = proof.parameter_set()?;
    if let Some(seed) = arguments.parameters.test_params {
        return Ok(vec![test_parameters(set, seed.0)]);
    }
    let directory = directory(arguments);
    let memory = cache_directory().map(|cache| DigestMemory::load(&cache)).ok();
    let identity = set.parameters.clone();
    let state = memory.map(|memory| FileState::of(&directory.path, &identity, &memory));
    let sector = set.sector_size;
    Ok(vec![parameter_file(&directory, identity, state, proof.parameter_bytes(), &format!("{sector}"))])
}

fn test_parameters(set: ParameterSet, seed: [u8; 32]) -> Finding {
    let located = cache_directory().and_then(|cache| Ok(TestParameters::locate(&cache, seed, set)?));
    match located.and_then(|parameters| Ok((parameters.path(), parameters.existing()?))) {
        Ok((path, Some(_))) => {
            Finding::ok("parameters", format!("{} (insecure test parameters)", path.display()))
        }
        Ok((path, None)) => {
            let found = format!("no {}", path.display());
            Finding::note("parameters", found, "`prove --test-params` generates them: a minute or so, once")
        }
        Err(failure) => {
            let mend = "remove what is damaged, and `cuzk params generate` makes it again; at 32 and 64 GiB only the official ones do";
            Finding::problem("parameters", format!("{:#}", failure.error), mend)
        }
    }
}

fn parameter_file(
    directory: &ParameterDirectory,
    identity: FileIdentity,
    state: Option<FileState>,
    expected: Option<u64>,
    sector: &str,
) -> Finding {
    const TOPIC: &str = "parameters";
    let path = directory.path.join(&identity.name);
    let fetch = format!(
        "`lotus fetch-params {sector}`, `curio fetch-params {sector}` or `paramfetch`, or say --params"
    );
    let there = match &state {
        None => fs::metadata(&path).ok().map(|file| file.len()),
        Some(FileState::Missing) => None,
        Some(FileState::Unchecked { bytes } | FileState::Good { bytes } | FileState::Bad { bytes }) => {
            Some(*bytes)
        }
    };
    let Some(bytes) = there else {
        let found = format!("no {} (directory set by {})", path.display(), directory.set_by);
        return Finding::problem(TOPIC, found, fetch);
    };
    let found = format!("{}, {bytes} bytes", path.display());
    if let Err(error) = File::open(&path) {
        return Finding::problem(TOPIC, format!("{found}: {error}"), "let this user read it");
    }
    if expected.is_some_and(|expected| expected != bytes) {
        let found = format!("{found}, where {} belong", expected.unwrap_or_default());
        return Finding::problem(TOPIC, found, format!("truncated, or another file: {fetch}"));
    }
    match state {
        Some(FileState::Bad { .. }) => Finding::problem(
            TOPIC,
            format!("{found}: its digest is not the manifest's"),
            format!("fetch it again: {fetch}"),
        ),
        Some(FileState::Good { .. }) => Finding::ok(TOPIC, format!("{found}, digest good")),
        _ => {
            Finding::note(TOPIC, format!("{found}, digest never checked"), "`cuzk params check` does it once")
        }
    }
}

fn cache() -> Finding {
    let mend = "set HOME or XDG_CACHE_HOME to a folder that can be written to; without it, circuits' templates are derived for every \
                proof, which takes seconds to a minute";
    let Ok(cache) = cache_directory() else {
        return Finding::note("cache", "no home directory", mend);
    };
    // It is made when something is kept.
    let there = cache.ancestors().find(|folder| folder.is_dir()).map(Path::to_owned);
    match there.as_deref().map(tempfile::tempfile_in) {
        Some(Ok(_)) => Finding::ok("cache", cache.display().to_string()),
        _ => Finding::note("cache", format!("{} cannot be written to", cache.display()), mend),
    }
}

/// Filecoin's first block.
const GENESIS: Duration = Duration::from_secs(1_598_306_400);
/// By which clocks of a machine and a file server may differ.
const SKEW: Duration = Duration::from_secs(5);

/// Whether a file can be written there, on what, and whether its clock and ours agree.
fn output_folder(folder: &Path) -> Vec<Finding> {
    let place = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let written = tempfile::tempfile_in(&place).and_then(|file| file.metadata()?.modified());
    let modified = match written {
        Err(error) => {
            let found = format!("{}: no file can be written: {error}", place.display());
            return vec![Finding::problem("output", found, "choose another folder with -o"), clock(None)];
        }
        Ok(modified) => modified,
    };
    let kind = file_system(&place).unwrap_or_else(|| "unknown file system".to_owned());
    let free = rustix::fs::statvfs(&place).map(|space| space.f_bavail * space.f_frsize);
    let found = format!("{} ({kind}), {} free", place.display(), free.map_or_else(|_| "?".to_owned(), size));
    let output = match free {
        Ok(bytes) if bytes < 1 << 20 => {
            Finding::problem("output", found, "free some space: a proof and its report need it")
        }
        _ => Finding::ok("output", found),
    };
    vec![output, clock(Some(modified))]
}

fn clock(modified: Option<SystemTime>) -> Finding {
    let now = SystemTime::now();
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let found = format!("{} s after 1970", since.as_secs());
    if since < GENESIS {
        return Finding::note(
            "clock",
            format!("{found}: before Filecoin's first block"),
            "set it: reports and logs carry its time",
        );
    }
    let skew = modified.map(|modified| now.duration_since(modified).unwrap_or_else(|error| error.duration()));
    match skew {
        Some(skew) if skew > SKEW => {
            let found = format!("{found}, and the output's file system is {} s away", skew.as_secs());
            Finding::note("clock", found, "let both follow one time server")
        }
        _ => Finding::ok("clock", found),
    }
}

/// The type of the file system that a folder is on.
fn file_system(folder: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mounts = mounts.lines().filter_map(|line| {
        // `36 35 98:0 /root /mnt rw … - ext4 /dev/sda rw`
        let (before, after) = line.split_once(" - ")?;
        let place = PathBuf::from(before.split(' ').nth(4)?);
        Some((place, after.split(' ').next()?.to_owned()))
    });
    let around = mounts.filter(|(place, _)| folder.starts_with(place));
    around.max_by_key(|(place, _)| place.as_os_str().len()).map(|(_, kind)| kind)
}
