//! `cuzk-upstream`: the same inputs with the same parameters through unmodified upstream, with the flags of `cuzk prove` and its report, so
//! that both can be timed side by side by the conformance suite:
//!
//! ```console
//! cargo build --release -p cuzk-upstream --features cuda-supraseal     # needs nvcc: CUDA_PATH, NVCC
//! cuzk-conformance bench target/release/cuzk-upstream@backend=supraseal @backend=cuda --phase device_total
//! ```
//!
//! Without a feature it is bellperson on the CPU (`reference`), with `cuda` its own kernels (`ec-gpu`), with `cuda-supraseal` supraseal-c2
//! (`supraseal`). The GPU provers load parameters and kernels at the first proof, so there a partition is proved twice and the second time
//! counts; the time of the whole process holds both. Their `device_total` is what upstream logs as `prover time`: from the evaluated a, b, c
//! to the proof. Digests of steps are not given, as upstream keeps its intermediate values to itself, nor are aggregates.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use clap::{Args, Parser, Subcommand};
use cuzk_filecoin::reference::{ReferenceParameters, ReferenceProof};
use cuzk_filecoin::store::TestParameters;
use cuzk_filecoin::{Input, MAX_INPUT_BYTES, Overrides, Statement};
use cuzk_groth16::{Blinding, Silent};
use serde_json::json;
use sha2::{Digest, Sha256};

/// What this build proves with.
const BACKEND: &str = if cfg!(feature = "cuda-supraseal") {
    "supraseal"
} else if cfg!(feature = "cuda") {
    "ec-gpu"
} else {
    "reference"
};
/// Proofs of a partition, of which the last one counts.
const REPETITIONS: usize = if cfg!(any(feature = "cuda", feature = "cuda-supraseal")) { 2 } else { 1 };

/// Unmodified upstream with cuzk's command line.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prove all partitions of one input, verify, and write.
    Prove(Prove),
}

/// Those flags of `cuzk prove` that the conformance suite gives for a case with one proof of all partitions.
#[derive(Args)]
struct Prove {
    /// A C1 output, vanilla proofs, or a statement.json.
    input: PathBuf,
    /// The miner's actor id.
    #[arg(long)]
    miner: Option<u64>,
    /// The sector number.
    #[arg(long)]
    sector: Option<u64>,
    /// The registered proof.
    #[arg(long)]
    proof_type: Option<String>,
    /// The randomness of a PoSt.
    #[arg(long, value_parser = bytes)]
    randomness: Option<Bytes>,
    /// comm_r before a replica update.
    #[arg(long, value_parser = bytes)]
    comm_r_old: Option<Bytes>,
    /// comm_r after it.
    #[arg(long, value_parser = bytes)]
    comm_r_new: Option<Bytes>,
    /// comm_d after it.
    #[arg(long, value_parser = bytes)]
    comm_d_new: Option<Bytes>,
    /// The seed of test parameters, which `cuzk params generate` has made.
    #[arg(long, value_parser = bytes, required_unless_present = "params")]
    test_params: Option<Bytes>,
    /// The directory of the official parameters.
    #[arg(long)]
    params: Option<PathBuf>,
    /// Has to be this build's, or `auto`.
    #[arg(long, default_value = "auto")]
    backend: String,
    /// r and s come from this seed.
    #[arg(long, value_parser = bytes)]
    insecure_seed: Bytes,
    /// The report.
    #[arg(long)]
    report: Option<PathBuf>,
    /// The proof.
    #[arg(short, long)]
    output: PathBuf,
    /// Taken and passed over.
    #[arg(long)]
    digests: bool,
    /// Taken and passed over.
    #[arg(long)]
    quiet: bool,
}

#[derive(Clone, Copy)]
struct Bytes([u8; 32]);

fn bytes(text: &str) -> Result<Bytes, String> {
    let bytes = hex::decode(text).map_err(|error| error.to_string())?;
    bytes.try_into().map(Bytes).map_err(|_| "64 hexadecimal digits are needed".to_owned())
}

fn main() -> ExitCode {
    log::set_logger(&TIMES).expect("the only logger");
    log::set_max_level(log::LevelFilter::Info);
    let Cli { command: Command::Prove(arguments) } = Cli::parse();
    match prove(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error[upstream]: {error:#}");
            ExitCode::from(3)
        }
    }
}

fn prove(arguments: &Prove) -> anyhow::Result<()> {
    if ![BACKEND, "auto"].contains(&arguments.backend.as_str()) {
        bail!("this build proves with {BACKEND}, not {}: build it with another feature", arguments.backend);
    }
    let start = Instant::now();
    let overrides = Overrides {
        miner: arguments.miner,
        sector: arguments.sector,
        proof_type: arguments.proof_type.clone(),
        randomness: arguments.randomness.map(|bytes| bytes.0),
        comm_r_old: arguments.comm_r_old.map(|bytes| bytes.0),
        comm_r_new: arguments.comm_r_new.map(|bytes| bytes.0),
        comm_d_new: arguments.comm_d_new.map(|bytes| bytes.0),
        ..Overrides::default()
    };
    let statement = Statement::new(Input::open(&arguments.input, None, MAX_INPUT_BYTES)?, &overrides)?;
    statement.check()?;
    statement.check_vanilla_proofs()?;
    let file = parameter_file(arguments, &statement)?;
    let mut phases = BTreeMap::new();
    let load = Instant::now();
    let parameters = ReferenceParameters::open(&file, &Silent)?;
    phases.insert("load_parameters", milliseconds(load.elapsed()));

    let (mut proof, mut partitions) = (vec![], vec![]);
    for partition in 0..statement.partitions() {
        let blinding = Blinding::from_insecure_seed(arguments.insecure_seed.0, partition);
        let mut last = None;
        for _ in 0..REPETITIONS {
            *TIMES.phases.lock().expect("no panic") = BTreeMap::new();
            last = Some(statement.prove_by_reference(partition, &parameters, &blinding)?);
        }
        let ReferenceProof { proof: proved, elapsed } = last.context("no repetition")?;
        proof.extend(proved.to_bytes());
        let logged = TIMES.phases.lock().expect("no panic").clone();
        partitions
            .push(json!({ "index": partition, "prove_ms": milliseconds(elapsed), "phases_ms": logged }));
        logged.into_iter().for_each(|(phase, ms)| *phases.entry(phase).or_default() += ms);
    }
    let all: Vec<usize> = (0..statement.partitions()).collect();
    let verify = Instant::now();
    statement.verify(parameters.verifying_key(), &all, &proof)?;
    phases.insert("verify", milliseconds(verify.elapsed()));
    std::fs::write(&arguments.output, &proof).with_context(|| arguments.output.display().to_string())?;
    if REPETITIONS == 1 {
        phases.insert("total", milliseconds(start.elapsed()));
    }
    if let Some(warning) = TIMES.on_the_processor.lock().expect("no panic").take() {
        bail!("upstream went on without the GPU: {warning}");
    }

    let Some(path) = &arguments.report else { return Ok(()) };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let report = json!({
        "schema": "cuzk-report",
        "version": 1,
        "tool": { "name": "cuzk-upstream", "version": env!("CARGO_PKG_VERSION") },
        "machine": { "threads": std::thread::available_parallelism().map_or(1, std::num::NonZero::get) },
        "backend": { "name": BACKEND, "why": "built so" },
        "tuning": {},
        "input": arguments.input,
        "statement": { "registered_proof": statement.registered_proof().to_string() },
        "parameters": { "name": name, "path": file, "test_seed": arguments.test_params.map(|seed| hex::encode(seed.0)) },
        "partitions": partitions,
        "phases_ms": phases,
        "proof": { "bytes": proof.len(), "sha256": hex::encode(Sha256::digest(&proof)) },
        "verified": true,
    });
    std::fs::write(path, format!("{report:#}\n")).with_context(|| path.display().to_string())
}

fn parameter_file(arguments: &Prove, statement: &Statement) -> anyhow::Result<PathBuf> {
    let set = statement.parameter_set()?;
    let existing = |path: PathBuf| {
        if path.is_file() { Ok(path) } else { Err(anyhow!("no parameters at {}", path.display())) }
    };
    match (&arguments.params, arguments.test_params) {
        (Some(folder), _) => existing(Path::join(folder, &set.parameters.name)),
        (None, Some(seed)) => {
            let folders = directories::BaseDirs::new().context("no home directory: set HOME")?;
            let parameters = TestParameters::locate(&folders.cache_dir().join("cuzk"), seed.0, set)?;
            existing(parameters.path()).context("`cuzk params generate` makes them")
        }
        (None, None) => bail!("say --test-params or --params"),
    }
}

fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// What upstream logs of its times, by the phase that cuzk's report has for it.
struct Times {
    phases: Mutex<BTreeMap<&'static str, f64>>,
    /// That it gave the GPU up: it goes on without, and says so in its log only.
    on_the_processor: Mutex<Option<String>>,
}

static TIMES: Times = Times { phases: Mutex::new(BTreeMap::new()), on_the_processor: Mutex::new(None) };

impl log::Log for Times {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let message = record.args().to_string();
        if record.level() <= log::Level::Warn {
            eprintln!("{message}");
            let given_up =
                ["Cannot instantiate GPU", "Falling back to CPU"].iter().any(|words| message.contains(words));
            if given_up && BACKEND != "reference" {
                self.on_the_processor.lock().expect("no panic").get_or_insert_with(|| message.clone());
            }
        }
        let device = if BACKEND == "reference" { "prover" } else { "device_total" };
        for (label, phase) in [("synthesis time: ", "synthesis"), ("prover time: ", device)] {
            if let Some(time) = message.strip_prefix(label).and_then(as_milliseconds) {
                *self.phases.lock().expect("no panic").entry(phase).or_default() += time;
            }
        }
    }

    fn flush(&self) {}
}

/// From the form in which durations are shown: `1.5s`, `12.25ms`, `7µs`.
fn as_milliseconds(text: &str) -> Option<f64> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(unit_at);
    let factor = match unit.trim() {
        "s" => 1e3,
        "ms" => 1.0,
        "µs" => 1e-3,
        "ns" => 1e-6,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_they_are_shown() {
        for duration in [1_242_372_721, 12_250_000, 7_000, 15] {
            let duration = Duration::from_nanos(duration);
            let read = as_milliseconds(&format!("{duration:?}")).unwrap();
            assert!((read - duration.as_secs_f64() * 1e3).abs() < 1e-9, "{duration:?}: {read}");
        }
        assert_eq!(as_milliseconds("soon"), None);
        assert_eq!(as_milliseconds(""), None);
    }
}
