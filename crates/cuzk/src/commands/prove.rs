//! `cuzk prove`

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::anyhow;
use cuzk_cpu::CpuBackend;
use cuzk_filecoin::reference::ReferenceParameters;
use cuzk_filecoin::store::{DigestMemory, TestParameters};
use cuzk_filecoin::{Error, Statement};
use cuzk_groth16::{
    Backend, Blinding, Parameters, Phase, Proof, Session, Shape, Tuning, VerifyingKey, timed,
};
use rand_core::OsRng;
use sha2::{Digest, Sha256};

use super::{open_statement, test_parameters};
use crate::arguments::{BackendChoice, ProveArguments};
use crate::environment::{ParameterDirectory, cache_directory};
use crate::failure::{EXIT_NOT_VERIFIED, Failure};
use crate::machine::Machine;
use crate::output;
use crate::progress::{Progress, Recorder, add_times, milliseconds};
use crate::report::{
    BackendReport, ParametersReport, PartitionReport, ProofReport, REPORT_VERSION, Randomness, Report,
    StatementReport, Tool, peak_rss, tuning,
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
    announce(arguments, &statement, &backend, &parameters, &progress);

    let mut prover = Prover::new(backend.name, &parameters, tune, arguments.check_witness);
    let mut proved = Vec::with_capacity(statement.partitions());
    for partition in 0..statement.partitions() {
        proved.push(prove_partition(&mut prover, &statement, partition, arguments, &progress, &recorder)?);
    }
    let bytes: Vec<u8> = proved.iter().flat_map(|partition| partition.proof.to_bytes()).collect();
    timed(&recorder, Phase::Verify, || {
        statement.verify(prover.verifying_key()?, &bytes).map_err(Failure::from)
    })?;
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
        peak_rss_bytes: peak_rss(),
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

/// A way to prove the partitions of one statement; parameters are loaded for the first of them.
enum Prover<'a> {
    Backend {
        backend: Box<dyn Backend>,
        parameters: &'a ParametersReport,
        tuning: Tuning,
        check_witness: bool,
        prepared: Option<Prepared>,
    },
    Reference {
        parameters: &'a ParametersReport,
        loaded: Option<ReferenceParameters>,
    },
}

struct Prepared {
    shape: Shape,
    session: Box<dyn Session>,
    key: VerifyingKey,
}

struct Proved {
    proof: Proof,
    report: PartitionReport,
    faults: usize,
}

/// Proves a partition and verifies it; a proof that does not verify is computed once more.
fn prove_partition(
    prover: &mut Prover<'_>,
    statement: &Statement,
    partition: usize,
    arguments: &ProveArguments,
    progress: &Progress,
    outer: &Recorder<'_>,
) -> Result<Proved, Failure> {
    let blinding = match arguments.insecure_seed {
        Some(seed) => Blinding::from_insecure_seed(seed.0, partition),
        None => Blinding::random(OsRng),
    };
    for faults in 0..2 {
        let label = format!("partition {} of {}: ", partition + 1, statement.partitions());
        let recorder = Recorder::new(progress, label, arguments.digests);
        let (proof, prove_ms) = prover.prove(statement, partition, &blinding, &recorder, outer)?;
        match timed(outer, Phase::Verify, || {
            statement.verify_partition(prover.verifying_key()?, partition, &proof).map_err(Failure::from)
        }) {
            Ok(()) => {
                let recorded = recorder.finish();
                let digests = arguments.digests.then_some(recorded.digests);
                let report =
                    PartitionReport { index: partition, prove_ms, phases_ms: recorded.phases, digests };
                return Ok(Proved { proof, report, faults });
            }
            Err(failure) if failure.exit_code == EXIT_NOT_VERIFIED && faults == 0 => {
                progress.say(&format!("fault: {:#}; computing it again", failure.error));
            }
            Err(failure) => return Err(failure),
        }
    }
    unreachable!("the second failure returns")
}

impl<'a> Prover<'a> {
    fn new(backend: &str, parameters: &'a ParametersReport, tuning: Tuning, check_witness: bool) -> Self {
        if backend == "reference" {
            return Prover::Reference { parameters, loaded: None };
        }
        Prover::Backend { backend: Box::new(CpuBackend), parameters, tuning, check_witness, prepared: None }
    }

    fn verifying_key(&self) -> Result<&VerifyingKey, Failure> {
        let key = match self {
            Prover::Backend { prepared, .. } => prepared.as_ref().map(|prepared| &prepared.key),
            Prover::Reference { loaded, .. } => loaded.as_ref().map(ReferenceParameters::verifying_key),
        };
        key.ok_or_else(|| Failure::refused("no_partitions", anyhow!("the statement has no partitions")))
    }

    /// The proof of a partition and the time in ms from the loaded parameters on.
    fn prove(
        &mut self,
        statement: &Statement,
        partition: usize,
        blinding: &Blinding,
        recorder: &Recorder<'_>,
        outer: &Recorder<'_>,
    ) -> Result<(Proof, f64), Failure> {
        match self {
            Prover::Backend { backend, parameters, tuning, check_witness, prepared } => {
                let start = Instant::now();
                let synthesis = timed(recorder, Phase::Synthesis, || match check_witness {
                    true => statement.synthesize_checked(partition),
                    false => statement.synthesize(partition),
                })?;
                let synthesized = start.elapsed();
                let prepared = match prepared {
                    Some(prepared) => prepared,
                    None => {
                        let file = Parameters::open(Path::new(&parameters.path))?;
                        let shape = Shape::of(&synthesis)?;
                        let session = backend.prepare(&shape, &file, tuning, outer)?;
                        prepared.insert(Prepared { shape, session, key: file.verifying_key().clone() })
                    }
                };
                prepared.shape.check_synthesis(&synthesis)?;
                let start = Instant::now();
                let proof = prepared.session.prove(synthesis.into(), blinding, recorder)?;
                Ok((proof, milliseconds(synthesized + start.elapsed())))
            }
            Prover::Reference { parameters, loaded } => {
                let parameters = match loaded {
                    Some(loaded) => loaded,
                    None => loaded.insert(ReferenceParameters::open(Path::new(&parameters.path), outer)?),
                };
                let proved = statement.prove_by_reference(partition, parameters, blinding)?;
                if cuzk_groth16::Observer::wants_digests(recorder) {
                    let steps = statement.digests_by_reference(partition, parameters, blinding, recorder)?;
                    if steps != proved.proof {
                        let message =
                            anyhow!("upstream's prover and its public pieces give different proofs");
                        return Err(Failure::refused("reference_disagrees", message));
                    }
                }
                Ok((proved.proof, milliseconds(proved.elapsed)))
            }
        }
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
