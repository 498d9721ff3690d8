//! `cuzk prove`

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::anyhow;
use cuzk_filecoin::store::{DigestMemory, TestParameters};
use cuzk_filecoin::{Error, Statement};
use cuzk_groth16::{Blinding, Parameters, Phase, Proof, Tuning, VerifyingKey, timed};
use rand_core::OsRng;
use sha2::{Digest, Sha256};

use super::{open_statement, test_parameters};
use crate::arguments::{BackendChoice, ProveArguments};
use crate::environment::{ParameterDirectory, cache_directory};
use crate::failure::{EXIT_NOT_VERIFIED, Failure};
use crate::machine::{Machine, peak_rss_bytes};
use crate::output;
use crate::progress::{Progress, Recorder, add_times, milliseconds};
use crate::prover::{Prover, WitnessCheck, prover};
use crate::report::{
    BackendReport, ParametersReport, PartitionReport, ProofReport, REPORT_VERSION, Randomness, Report,
    StatementReport, Tool, tuning,
};

pub(crate) fn run(arguments: &ProveArguments) -> Result<(), Failure> {
    let start = Instant::now();
    let output = output_path(arguments)?;
    let mut tune = Tuning::default();
    tune.set_all(&arguments.tune)?;
    set_threads(arguments.threads)?;
    let progress = Progress::new(arguments.quiet);
    let recorder = Recorder::new(&progress, String::new(), false);

    let statement = timed(&recorder, Phase::Decode, || {
        open_statement(&arguments.input, &arguments.identity.overrides())
    })?;
    timed(&recorder, Phase::Check, || check(&statement, arguments.skip_vanilla_check))?;
    let backend = choose_backend(arguments.backend);
    let parameters = find_parameters(arguments, &statement, &progress)?;
    // The counts in the file are checked against its size before anything is computed.
    let file = Parameters::open(Path::new(&parameters.path))?;
    announce(arguments, &statement, &backend, &parameters, &progress);

    let witness_check =
        if arguments.check_witness { WitnessCheck::EveryConstraint } else { WitnessCheck::Skip };
    let mut prover = prover(backend.name, &file, tune, witness_check);
    let key = file.verifying_key();
    let job = Job { arguments, statement: &statement, key, progress: &progress, around: &recorder };
    let proved: Vec<Proved> = (0..statement.partitions())
        .map(|partition| job.prove(&mut *prover, partition))
        .collect::<Result<_, _>>()?;
    let bytes: Vec<u8> = proved.iter().flat_map(|partition| partition.proof.to_bytes()).collect();
    timed(&recorder, Phase::Verify, || statement.verify(key, &bytes))?;
    timed(&recorder, Phase::Write, || {
        output::write(&output, &output::encode_proof(&bytes, arguments.format))
    })?;

    let mut phases_ms = recorder.finish().phases;
    proved.iter().for_each(|partition| add_times(&mut phases_ms, &partition.report.phases_ms));
    phases_ms.insert(Phase::Total, milliseconds(start.elapsed()));
    let report = Report {
        schema: "cuzk-report",
        version: REPORT_VERSION,
        tool: Tool::HERE,
        machine: Machine::here(),
        backend,
        tuning: tuning(&tune),
        statement: StatementReport::of(&statement),
        parameters,
        randomness: Randomness { insecure_seed: arguments.insecure_seed.map(|seed| hex::encode(seed.0)) },
        faults: proved.iter().map(|partition| partition.faults).sum(),
        partitions: proved.into_iter().map(|partition| partition.report).collect(),
        phases_ms,
        peak_rss_bytes: peak_rss_bytes(),
        proof: ProofReport { bytes: bytes.len(), sha256: hex::encode(Sha256::digest(&bytes)) },
        verified: true,
    };
    if let Some(path) = &arguments.report {
        output::write(path, output::json(&report).as_bytes())?;
    }
    if arguments.json {
        output::print_json(&report)?;
    }
    progress.say(&summary(&report, &output));
    Ok(())
}

fn check(statement: &Statement, skip_vanilla_check: bool) -> Result<(), Error> {
    statement.check_identity()?;
    if skip_vanilla_check { Ok(()) } else { statement.check_vanilla_proofs() }
}

/// `-o`, or the input's name with the extension `proof`, in the current directory's sense of the input's folder.
fn output_path(arguments: &ProveArguments) -> Result<PathBuf, Failure> {
    let output = arguments.output.clone().unwrap_or_else(|| arguments.input.with_extension("proof"));
    let to_stdout = output == Path::new("-");
    if to_stdout && arguments.json {
        return Err(Failure::refused("usage", anyhow!("-o - and --json both want stdout")));
    }
    let folder = output.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    if !to_stdout && !folder.is_dir() {
        return Err(Failure::environment("output", anyhow!("no folder {} to write to", folder.display())));
    }
    if output.is_dir() {
        return Err(Failure::environment("output", anyhow!("{} is a folder", output.display())));
    }
    Ok(output)
}

fn set_threads(threads: Option<u16>) -> Result<(), Failure> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads.map_or(0, usize::from));
    builder.build_global().map_err(|error| Failure::environment("threads", error))
}

fn choose_backend(choice: BackendChoice) -> BackendReport {
    let (name, why) = match choice {
        BackendChoice::Auto => ("cpu", "auto: this build has no other backend"),
        BackendChoice::Cpu => ("cpu", "asked for with --backend"),
        BackendChoice::Reference => ("reference", "asked for with --backend"),
    };
    BackendReport { name, why: why.to_owned() }
}

fn find_parameters(
    arguments: &ProveArguments,
    statement: &Statement,
    progress: &Progress,
) -> Result<ParametersReport, Failure> {
    let set = statement.parameter_set()?;
    let cache = cache_directory()?;
    if let Some(seed) = arguments.parameters.test_params {
        let parameters = TestParameters::locate(&cache, seed.0, set.clone())?;
        let note = test_parameters(&parameters, || statement.record(), progress)?;
        return Ok(ParametersReport {
            name: note.parameters,
            path: parameters.path().display().to_string(),
            bytes: note.bytes,
            test_seed: Some(note.seed),
            blake2b_512: Some(note.blake2b_512),
        });
    }
    let directory = ParameterDirectory::find(arguments.parameters.params.as_deref());
    let path = directory.path.join(&set.parameters.name);
    let Ok(metadata) = std::fs::metadata(&path) else {
        return Err(directory.missing(&set.parameters.name, &set));
    };
    let known = DigestMemory::load(&cache).recall(&path);
    if known.and_then(|digest| set.parameters.matches(&digest)) == Some(false) {
        let message = anyhow!("{}: its digest is not the manifest's; fetch it again", path.display());
        return Err(Failure::environment("parameters", message));
    }
    Ok(ParametersReport {
        name: set.parameters.name,
        path: path.display().to_string(),
        bytes: metadata.len(),
        test_seed: None,
        blake2b_512: known.map(hex::encode),
    })
}

fn announce(
    arguments: &ProveArguments,
    statement: &Statement,
    backend: &BackendReport,
    parameters: &ParametersReport,
    progress: &Progress,
) {
    progress.say(&format!(
        "{:?}, miner {}, sector {}: {} partition(s) on {} ({})",
        statement.registered_proof(),
        statement.miner,
        statement.sector,
        statement.partitions(),
        backend.name,
        backend.why
    ));
    if parameters.test_seed.is_some() {
        progress.say("note: test parameters are insecure: anybody can forge proofs for them");
    } else if parameters.blake2b_512.is_none() {
        progress.say("note: the parameter file's digest was never checked; `cuzk params check` does it once");
    }
    if arguments.insecure_seed.is_some() {
        progress.say("note: with --insecure-seed the proof is not zero-knowledge");
    }
}

/// What proving a partition needs to know.
struct Job<'a> {
    arguments: &'a ProveArguments,
    statement: &'a Statement,
    key: &'a VerifyingKey,
    progress: &'a Progress,
    around: &'a Recorder<'a>,
}

struct Proved {
    proof: Proof,
    report: PartitionReport,
    faults: usize,
}

impl Job<'_> {
    /// Proves a partition and verifies it; a proof that does not verify is computed once more.
    fn prove(&self, prover: &mut dyn Prover, partition: usize) -> Result<Proved, Failure> {
        match self.attempt(prover, partition) {
            Err(failure) if failure.exit_code == EXIT_NOT_VERIFIED => {
                self.progress.say(&format!("fault: {:#}; computing it again", failure.error));
                Ok(Proved { faults: 1, ..self.attempt(prover, partition)? })
            }
            other => other,
        }
    }

    fn attempt(&self, prover: &mut dyn Prover, partition: usize) -> Result<Proved, Failure> {
        let blinding = match self.arguments.insecure_seed {
            Some(seed) => Blinding::from_insecure_seed(seed.0, partition),
            None => Blinding::random(OsRng),
        };
        let label = format!("partition {} of {}: ", partition + 1, self.statement.partitions());
        let recorder = Recorder::new(self.progress, label, self.arguments.digests);
        let (proof, prove_ms) = prover.prove(self.statement, partition, &blinding, &recorder, self.around)?;
        timed(self.around, Phase::Verify, || self.statement.verify_partition(self.key, partition, &proof))?;
        let recorded = recorder.finish();
        let digests = self.arguments.digests.then_some(recorded.digests);
        let report = PartitionReport { index: partition, prove_ms, phases_ms: recorded.phases, digests };
        Ok(Proved { proof, report, faults: 0 })
    }
}

fn summary(report: &Report, output: &Path) -> String {
    let total = report.phases_ms.get(&Phase::Total).copied().unwrap_or_default();
    let memory =
        report.peak_rss_bytes.map(|bytes| format!(", peak {:.1} GiB", bytes as f64 / (1u64 << 30) as f64));
    format!(
        "verified; {} bytes written to {} in {:.1} s{}",
        report.proof.bytes,
        if output == Path::new("-") { "stdout".to_owned() } else { output.display().to_string() },
        total / 1000.0,
        memory.unwrap_or_default()
    )
}
