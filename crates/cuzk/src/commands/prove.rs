//! `cuzk prove`

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cuzk_fault::{Fault, injected};
use cuzk_filecoin::{Aggregation, InnerProductKey, Statement};
use cuzk_groth16::{Blinding, Phase, Proof, Tuning, VerifyingKey, timed};
use rand_core::OsRng;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{check, open_statement, set_threads};
use crate::arguments::{ProofFormat, ProveArguments};
use crate::devices::choose_backend;
use crate::failure::{EXIT_NOT_VERIFIED, Failure};
use crate::loaded::{Circuit, Circuits};
use crate::machine::{Machine, peak_rss_bytes};
use crate::memory::Available;
use crate::partial::Partial;
use crate::partitions::PartitionList;
use crate::plan::{On, Plan, butterfly_seconds};
use crate::progress::{Progress, Recorded, Recorder, add_times, milliseconds};
use crate::prover::in_flight;
use crate::report::{
    AggregateReport, BackendReport, PartitionReport, ProofReport, REPORT_VERSION, Randomness, Report,
    StatementReport, Tool, tuning,
};
use crate::talk::{Event, Talk};
use crate::{inner_product, output};

pub(crate) fn run(arguments: &ProveArguments, talk: Talk) -> Result<(), Failure> {
    let job = Job::new(arguments, talk)?;
    let mut results = Results::new(arguments)?;
    let mut circuits = Circuits::new(arguments, &job.backend, job.tuning);
    let mut worst: Option<Failure> = None;
    for input in inputs(arguments) {
        let input = input?;
        let result = job.prove(&input, &mut circuits);
        results.add(&input, &result)?;
        if let Err(failure) = result {
            worst = Some(job.after(worst, failure, &input));
        }
    }
    let traced = match (&arguments.trace, job.progress.trace()) {
        (Some(path), Some(trace)) => output::write(path, trace.to_json().as_bytes()),
        _ => Ok(()),
    };
    // Giving gigabytes back one vector after the other takes longer than ending does.
    std::mem::forget(circuits);
    worst.map_or(traced, Err)
}

/// The inputs of the command line, then those of stdin's lines as they come.
fn inputs(arguments: &ProveArguments) -> impl Iterator<Item = Result<PathBuf, Failure>> + '_ {
    let stdin = arguments.stdin_list.then(|| std::io::stdin().lock().split(b'\n'));
    let blank = |line: &Vec<u8>| line.trim_ascii().is_empty();
    let listed = stdin.into_iter().flatten().filter(move |line| !line.as_ref().is_ok_and(blank));
    let listed = listed.map(|line| {
        let line = line.context("reading the list of inputs from stdin");
        // A path need not be text.
        line.map(|line| PathBuf::from(OsString::from_vec(line)))
            .map_err(|error| Failure::refused("input_unreadable", error))
    });
    arguments.inputs.iter().cloned().map(Ok).chain(listed)
}

/// What is the same for all inputs.
struct Job<'a> {
    arguments: &'a ProveArguments,
    backend: BackendReport,
    tuning: Tuning,
    progress: Progress,
    /// Whether results are of one input or of many.
    many: bool,
    /// The files with proofs of this run.
    written: RefCell<BTreeSet<PathBuf>>,
    /// What [`butterfly_seconds`] measured, once something is planned on the processor.
    butterfly: OnceCell<f64>,
}

/// A proved statement.
struct Proved {
    bytes: Vec<u8>,
    report: Report,
}

impl<'a> Job<'a> {
    fn new(arguments: &'a ProveArguments, talk: Talk) -> Result<Self, Failure> {
        let many = arguments.stdin_list || arguments.inputs.len() != 1;
        let usage = |message| Err(Failure::refused("usage", anyhow!("{message}")));
        match &arguments.output {
            Some(_) if many => return usage("-o names one file; leave it away for several inputs"),
            Some(output) if output == Path::new("-") && arguments.json => {
                return usage("-o - and --json both want stdout");
            }
            None if arguments.json && arguments.format == Some(ProofFormat::Json) => {
                return usage("--json and --format json without -o both want stdout");
            }
            _ => {}
        }
        for place in [&arguments.report, &arguments.trace].into_iter().flatten() {
            check_place(place)?;
        }
        let mut tuning = Tuning::default();
        tuning.set_all(&arguments.tune)?;
        set_threads(arguments.threads)?;
        let backend = choose_backend(arguments.backend, arguments.device.as_ref())?;
        let progress = Progress::new(talk.or_quiet(arguments.quiet));
        Ok(Job {
            arguments,
            backend,
            tuning,
            progress: match arguments.trace {
                Some(_) => progress.traced(),
                None => progress,
            },
            many,
            written: RefCell::default(),
            butterfly: OnceCell::new(),
        })
    }

    /// The failure to end with. Of many inputs, each failure is told at once, and the worst is kept for its exit code.
    fn after(&self, worst: Option<Failure>, failure: Failure, input: &Path) -> Failure {
        if !self.many {
            return failure;
        }
        let failure = failure.context(input.display().to_string());
        self.progress.say_failure(&failure);
        let failure = Failure { told: true, ..failure };
        match worst {
            Some(worst) if worst.exit_code >= failure.exit_code => worst,
            _ => failure,
        }
    }

    fn prove(&self, input: &Path, circuits: &mut Circuits<'_>) -> Result<Proved, Failure> {
        let start = Instant::now();
        if self.arguments.stdin_list && input == Path::new("-") {
            return Err(Failure::refused(
                "usage",
                anyhow!("stdin holds the list of inputs, so none can be `-`"),
            ));
        }
        // -o is looked at first; without it, a missing input is not blamed on its folder.
        let named = self.arguments.output.is_some().then(|| self.output_path(input)).transpose()?;
        let recorder = Recorder::new(&self.progress, String::new(), false);
        let statement = timed(&recorder, Phase::Decode, || open_statement(input, &self.arguments.identity))?;
        timed(&recorder, Phase::Check, || check(&statement, self.arguments.skip_vanilla_check))?;
        let output = named.map_or_else(|| self.output_path(input), Ok)?;
        let listed = self.arguments.partitions.as_ref();
        let partitions = PartitionList::select_or_all(listed, statement.partitions())?;
        let plan = self.plan(&statement, partitions.len(), circuits)?;
        let inner_product = self.inner_product_key(&statement)?;
        let circuit = circuits.of(&statement, &self.progress)?;
        self.announce(&statement, &partitions, circuit, &plan);
        self.progress.expect(partitions.len(), plan.partition());

        let one = OnePartition {
            arguments: self.arguments,
            progress: &self.progress,
            statement: &statement,
            circuit,
            around: &recorder,
        };
        let mut proved = in_flight(plan.in_flight, &partitions, |partition| one.prove(partition))?;
        if injected(Fault::PartitionsExchanged) {
            proved.reverse();
        }
        let proofs: Vec<u8> = proved.iter().flat_map(|partition| partition.proof.to_bytes()).collect();
        let key = circuit.verifying_key();
        // With a fault on purpose it is the suite that is to notice.
        if !cuzk_fault::spoils_proofs() {
            timed(&recorder, Phase::Verify, || statement.verify(key, &partitions, &proofs))?;
        }
        let (bytes, aggregate) = match &inner_product {
            Some(inner_product) => {
                let (bytes, report) = aggregate(&statement, &proofs, key, inner_product, &recorder)?;
                (bytes, Some(report))
            }
            None => (proofs, None),
        };
        if let Some(output) = &output {
            let encoded = match self.format() {
                Some(format) => output::encode_proof(&bytes, format),
                None => output::json_line(&Partial::new(&statement, key, &partitions, &bytes)).into_bytes(),
            };
            timed(&recorder, Phase::Write, || output::write(output, &encoded))?;
        }

        let Recorded { phases: mut phases_ms, notes, .. } = recorder.finish();
        proved.iter().for_each(|partition| add_times(&mut phases_ms, &partition.report.phases_ms));
        phases_ms.insert(Phase::Total, milliseconds(start.elapsed()));
        let seed = self.arguments.insecure_seed;
        let report = Report {
            schema: "cuzk-report",
            version: REPORT_VERSION,
            tool: Tool::here(),
            machine: Machine::here(),
            backend: self.backend.clone(),
            tuning: tuning(&self.tuning),
            input: input.display().to_string(),
            statement: StatementReport::of(&statement)?,
            plan,
            parameters: circuit.report.clone(),
            randomness: Randomness { insecure_seed: seed.map(|seed| hex::encode(seed.0)) },
            faults: proved.iter().map(|partition| partition.faults).sum(),
            partitions: proved.into_iter().map(|partition| partition.report).collect(),
            phases_ms,
            notes,
            peak_rss_bytes: peak_rss_bytes(),
            device_memory_bytes: circuit.prover.device_memory_bytes(),
            proof: ProofReport { bytes: bytes.len(), sha256: hex::encode(Sha256::digest(&bytes)) },
            aggregate,
            verified: !cuzk_fault::spoils_proofs(),
        };
        self.progress.say(&summary(&report, output.as_deref()));
        self.written.borrow_mut().extend(output);
        Ok(Proved { bytes, report })
    }

    /// The key of the aggregate, where one is to be made: read before anything is proved.
    fn inner_product_key(
        &self,
        statement: &Statement,
    ) -> Result<Option<(PathBuf, InnerProductKey)>, Failure> {
        let arguments = self.arguments;
        if !statement.registered_proof().is_aggregated()
            || arguments.partitions.is_some()
            || arguments.no_aggregate
        {
            return Ok(None);
        }
        let aggregation = Aggregation::new(std::slice::from_ref(statement))?;
        let (parameters, size) = (&arguments.parameters, statement.sector_size()?);
        inner_product::open(parameters, size, &aggregation, &self.progress).map(Some)
    }

    /// The form of the proof; none where it is written in parts, which is the default where partitions are listed.
    fn format(&self) -> Option<ProofFormat> {
        let whole = self.arguments.partitions.is_none().then_some(ProofFormat::Raw);
        self.arguments.format.or(whole)
    }

    /// `-o`, or the input's name with another extension; nowhere when results are lines on stdout.
    fn output_path(&self, input: &Path) -> Result<Option<PathBuf>, Failure> {
        if self.arguments.output.is_none() && self.format() == Some(ProofFormat::Json) {
            return Ok(None);
        }
        let extension = match (&self.arguments.partitions, self.format()) {
            (Some(list), None) => format!("{list}.part"),
            _ => "proof".to_owned(),
        };
        let output = proof_path(self.arguments.output.as_deref(), input, &extension)?;
        if self.written.borrow().contains(&output) {
            let message = anyhow!("{} holds the proof of another input of this run", output.display());
            return Err(Failure::refused("usage", message));
        }
        Ok(Some(output))
    }

    /// What the statement will take; refused where there is less memory.
    fn plan(
        &self,
        statement: &Statement,
        partitions: usize,
        circuits: &Circuits<'_>,
    ) -> Result<Plan, Failure> {
        let butterfly = match (self.backend.name, self.butterfly.get()) {
            ("cpu", None) => {
                let measured = butterfly_seconds(self.tuning.isa)?;
                Some(*self.butterfly.get_or_init(|| measured))
            }
            (_, measured) => measured.copied(),
        };
        let limit = self.arguments.device_memory;
        let sessions = self.backend.devices.iter().map(|device| self.backend.session_bytes(device, limit));
        let on = On {
            backend: self.backend.name,
            tuning: &self.tuning,
            device_bytes: sessions.min(),
            devices: self.backend.devices.len(),
            computed: self.arguments.parameters.test_params.is_some()
                && statement.sector_size()?.is_production(),
        };
        let available = Available::here(self.arguments.memory, circuits.held_for(statement)?);
        let plan = Plan::new(&statement.registered_proof(), partitions, &on, available, butterfly)?;
        plan.check()?;
        Ok(plan)
    }

    fn announce(&self, statement: &Statement, partitions: &[usize], circuit: &Circuit, plan: &Plan) {
        let identity: Vec<String> =
            statement.public_data().iter().take(2).map(|(name, value)| format!("{name} {value}")).collect();
        self.progress.say(&format!(
            "{}, {}: {} of {} partition(s) on {} ({})",
            statement.registered_proof(),
            identity.join(", "),
            partitions.len(),
            statement.partitions(),
            self.backend.name,
            self.backend.why
        ));
        let time = plan
            .partition()
            .map_or_else(String::new, |time| format!(", about {:.1} s a partition", time.as_secs_f64()));
        self.progress.say(&format!("plan: {} of host memory{time}", plan.memory()));
        let note = |message| self.progress.tell(Event::Note, message);
        if circuit.report.test_seed.is_some() {
            note("test parameters are insecure: anybody can forge proofs for them");
        } else if circuit.report.blake2b_512.is_none() {
            note("the parameter file's digest was never checked; `cuzk params check` does it once");
        }
        if self.arguments.insecure_seed.is_some() {
            note("with --insecure-seed the proof is not zero-knowledge");
        }
    }
}

/// How any partition of a statement is proved.
struct OnePartition<'a> {
    arguments: &'a ProveArguments,
    progress: &'a Progress,
    statement: &'a Statement,
    circuit: &'a Circuit,
    around: &'a Recorder<'a>,
}

impl OnePartition<'_> {
    /// Proves a partition and verifies it; a proof that does not verify is computed once more.
    fn prove(&self, partition: usize) -> Result<ProvedPartition, Failure> {
        let proved = match self.attempt(partition) {
            Err(failure) if failure.exit_code == EXIT_NOT_VERIFIED => {
                self.progress.tell(Event::Fault, &format!("{:#}; computing it again", failure.error));
                ProvedPartition { faults: 1, ..self.attempt(partition)? }
            }
            other => other?,
        };
        self.progress.partition_done();
        Ok(proved)
    }

    fn attempt(&self, partition: usize) -> Result<ProvedPartition, Failure> {
        let &OnePartition { statement, circuit, around, .. } = self;
        let blinding = match self.arguments.insecure_seed {
            Some(seed) => Blinding::from_insecure_seed(seed.0, partition),
            None => Blinding::random(OsRng),
        };
        let label = format!("partition {} of {}: ", partition + 1, statement.partitions());
        let recorder = Recorder::new(self.progress, label, self.arguments.digests);
        let (proof, prove_ms) = circuit.prover.prove(statement, partition, &blinding, &recorder, around)?;
        if !cuzk_fault::spoils_proofs() {
            timed(around, Phase::Verify, || {
                statement.verify_partition(circuit.verifying_key(), partition, &proof)
            })?;
        }
        let recorded = recorder.finish();
        let digests = self.arguments.digests.then_some(recorded.digests);
        let report = PartitionReport { index: partition, prove_ms, phases_ms: recorded.phases, digests };
        Ok(ProvedPartition { proof, report, faults: 0 })
    }
}

/// Where a proof goes: to `named`, or beside the input. `-` is stdout.
pub(super) fn proof_path(named: Option<&Path>, input: &Path, extension: &str) -> Result<PathBuf, Failure> {
    let output = match named {
        Some(output) => output.to_owned(),
        None if input == Path::new("-") => {
            let message = anyhow!("an input from stdin has no name: say -o FILE");
            return Err(Failure::refused("usage", message));
        }
        None => input.with_extension(extension),
    };
    if output == Path::new("-") {
        return Ok(output);
    }
    check_place(&output)?;
    let paths = (output.canonicalize(), input.canonicalize());
    if matches!(paths, (Ok(output), Ok(input)) if output == input) {
        let message = anyhow!("the proof would replace its input {}; say -o FILE", input.display());
        return Err(Failure::refused("usage", message));
    }
    Ok(output)
}

/// A file can be written there: its folder is one, and it is none itself.
fn check_place(output: &Path) -> Result<(), Failure> {
    if output::is_special(output) && !output.is_dir() {
        return Ok(());
    }
    let folder = output.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(Failure::environment("output", anyhow!("no folder {} to write to", folder.display())));
    }
    if output.is_dir() {
        return Err(Failure::environment("output", anyhow!("{} is a folder", output.display())));
    }
    // Better now than after the work.
    let written = tempfile::tempfile_in(folder)
        .with_context(|| format!("nothing can be written to {}", folder.display()));
    written.map_err(|error| Failure::environment("output", error))?;
    Ok(())
}

/// One proof of the proofs of all partitions, verified.
pub(super) fn aggregate(
    statement: &Statement,
    proofs: &[u8],
    key: &VerifyingKey,
    (path, inner_product): &(PathBuf, InnerProductKey),
    recorder: &Recorder<'_>,
) -> Result<(Vec<u8>, AggregateReport), Failure> {
    let aggregation = Aggregation::new(std::slice::from_ref(statement))?;
    let bytes = timed(recorder, Phase::Aggregate, || aggregation.aggregate(proofs, inner_product))?;
    timed(recorder, Phase::Verify, || aggregation.verify(&bytes, inner_product, key, OsRng))?;
    let report = AggregateReport {
        proofs: aggregation.n_proofs(),
        proofs_sha256: hex::encode(Sha256::digest(proofs)),
        inner_product_key: path.display().to_string(),
    };
    Ok((bytes, report))
}

struct ProvedPartition {
    proof: Proof,
    report: PartitionReport,
    faults: usize,
}

/// Where results go besides the proofs themselves.
struct Results<'a> {
    arguments: &'a ProveArguments,
    /// The report file of several inputs, which grows a line an input.
    reports: Option<File>,
    many: bool,
}

/// A line on stdout of `--format json`.
#[derive(Serialize)]
struct ResultLine<'a> {
    input: String,
    exit_code: u8,
    proof: Option<String>,
    sha256: Option<&'a str>,
    error: Option<ErrorLine>,
}

#[derive(Serialize)]
struct ErrorLine {
    kind: &'static str,
    message: String,
}

impl<'a> Results<'a> {
    fn new(arguments: &'a ProveArguments) -> Result<Self, Failure> {
        let many = arguments.stdin_list || arguments.inputs.len() != 1;
        let create = |path: &PathBuf| {
            File::create(path)
                .with_context(|| path.display().to_string())
                .map_err(|error| Failure::environment("output", error))
        };
        let reports = arguments.report.as_ref().filter(|_| many).map(create).transpose()?;
        Ok(Results { arguments, reports, many })
    }

    fn add(&mut self, input: &Path, result: &Result<Proved, Failure>) -> Result<(), Failure> {
        if let Ok(Proved { report, .. }) = result {
            self.add_report(report)?;
        }
        if self.arguments.format == Some(ProofFormat::Json) && self.arguments.output.is_none() {
            let line = ResultLine::of(input, result);
            output::print(&output::json_line(&line))?;
        }
        Ok(())
    }

    fn add_report(&mut self, report: &Report) -> Result<(), Failure> {
        let text = if self.many { output::json_line(report) } else { output::json(report) };
        match (&mut self.reports, &self.arguments.report) {
            (Some(file), _) => file
                .write_all(text.as_bytes())
                .context("writing the report")
                .map_err(|error| Failure::environment("output", error))?,
            (None, Some(path)) => output::write(path, text.as_bytes())?,
            (None, None) => {}
        }
        if self.arguments.json { output::print(&text) } else { Ok(()) }
    }
}

impl<'a> ResultLine<'a> {
    fn of(input: &Path, result: &'a Result<Proved, Failure>) -> Self {
        let input = input.display().to_string();
        match result {
            Ok(Proved { bytes, report }) => ResultLine {
                input,
                exit_code: 0,
                proof: Some(STANDARD.encode(bytes)),
                sha256: Some(&report.proof.sha256),
                error: None,
            },
            Err(failure) => ResultLine {
                input,
                exit_code: failure.exit_code,
                proof: None,
                sha256: None,
                error: Some(ErrorLine { kind: failure.kind, message: format!("{:#}", failure.error) }),
            },
        }
    }
}

fn summary(report: &Report, output: Option<&Path>) -> String {
    let total = report.phases_ms.get(&Phase::Total).copied().unwrap_or_default();
    let memory =
        report.peak_rss_bytes.map(|bytes| format!(", peak {:.1} GiB", bytes as f64 / (1u64 << 30) as f64));
    let output = output.filter(|output| *output != Path::new("-"));
    format!(
        "verified; {} bytes{} written to {} in {:.1} s{}",
        report.proof.bytes,
        report
            .aggregate
            .as_ref()
            .map(|of| format!(" (aggregate of {} proofs)", of.proofs))
            .unwrap_or_default(),
        output.map_or_else(|| "stdout".to_owned(), |output| output.display().to_string()),
        total / 1000.0,
        memory.unwrap_or_default()
    )
}
