//! `cuzk synth`

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cuzk_filecoin::{Error, Statement};
use cuzk_groth16::{Observer, Phase, Step, Tuning, digest_scalars, quotient, timed};
use cuzk_r1cs::{Fr, PackedWitness, Template, evaluate_packed};
use serde::Serialize;

use super::{check, open_statement, set_threads};
use crate::arguments::SynthArguments;
use crate::counters::{Counted, Counters};
use crate::failure::Failure;
use crate::machine::{Machine, peak_rss_bytes, processor_ms};
use crate::output;
use crate::partitions::PartitionList;
use crate::progress::{PhaseTimes, Progress, Recorder, milliseconds};
use crate::report::{StatementReport, Tool, tuning};
use crate::synthesis::{Synthesized, Synthesizer, WitnessCheck};
use crate::talk::Talk;

/// What was synthesized, how large it is, and how long it took.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    tool: Tool,
    machine: Machine,
    tuning: BTreeMap<&'static str, &'static str>,
    input: String,
    statement: StatementReport,
    /// Reading or deriving the template, once; `null` with `synthesis = enforce`.
    template_ms: Option<f64>,
    partitions: Vec<PartitionReport>,
    /// Over all partitions, with the spread over the repetitions.
    phases_ms: BTreeMap<Phase, Spread>,
    repetitions: Vec<PhaseTimes>,
    /// Of a repetition, all threads together, digests excluded: for machines that others use, too.
    processor_ms: Option<Spread>,
    /// For a repetition; `null` without `--counters`.
    counters: Option<Counted>,
    peak_rss_bytes: Option<u64>,
}

#[derive(Serialize)]
struct PartitionReport {
    index: usize,
    #[serde(flatten)]
    counts: Counts,
    /// `null` where the constraints were not compared.
    satisfied: Option<bool>,
    digests: Option<BTreeMap<Step, String>>,
}

/// Counts of what was really synthesized.
#[derive(Clone, Copy, Serialize)]
struct Counts {
    /// The circuit's own, without the row that Groth16 adds for each input.
    constraints: usize,
    /// With ONE.
    inputs: usize,
    aux: usize,
    /// Of the packed witness; `null` with `synthesis = enforce`.
    packed_bytes: Option<usize>,
}

#[derive(Serialize)]
struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

impl Spread {
    fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let middle = times.len() / 2;
        let median =
            if times.len() % 2 == 1 { times[middle] } else { (times[middle - 1] + times[middle]) / 2.0 };
        Spread { median, min: times[0], max: times[times.len() - 1] }
    }
}

pub(crate) fn run(arguments: &SynthArguments, talk: Talk) -> Result<(), Failure> {
    let synth = Synth::new(arguments, talk)?;
    // Before the threads start: those started earlier would not be counted.
    let mut meter = Meter::new(arguments.counters.then(Counters::open));
    set_threads(arguments.threads)?;
    let mut reports = vec![];
    for input in &arguments.inputs {
        let report = synth.input(input, &mut meter)?;
        if !arguments.json {
            output::print(&report.table())?;
        }
        reports.push(report);
    }
    let text = match &reports[..] {
        [report] => output::json(report),
        many => many.iter().map(output::json_line).collect(),
    };
    if let Some(path) = &arguments.report {
        output::write(path, text.as_bytes())?;
    }
    if arguments.json { output::print(&text) } else { Ok(()) }
}

struct Synth<'a> {
    arguments: &'a SynthArguments,
    tuning: Tuning,
    progress: Progress,
}

impl<'a> Synth<'a> {
    fn new(arguments: &'a SynthArguments, talk: Talk) -> Result<Self, Failure> {
        let mut tuning = Tuning::default();
        tuning.set_all(&arguments.tune)?;
        Ok(Synth { arguments, tuning, progress: Progress::new(talk.or_quiet(arguments.quiet)) })
    }

    fn input(&self, input: &Path, meter: &mut Meter) -> Result<Report, Failure> {
        let statement = open_statement(input, &self.arguments.identity)?;
        check(&statement, self.arguments.skip_vanilla_check)?;
        let listed = self.arguments.partitions.as_ref();
        let partitions = PartitionList::select_or_all(listed, statement.partitions())?;
        let check = match self.arguments.check_witness {
            true => WitnessCheck::EveryConstraint,
            false => WitnessCheck::Skip,
        };
        let start = Instant::now();
        let synthesizer = Synthesizer::new(&statement, &self.tuning, check, &self.progress)?;
        let template_ms = synthesizer.template().map(|_| milliseconds(start.elapsed()));

        let (mut repetitions, mut processor_ms) = (vec![], vec![]);
        let mut reports = vec![];
        for repetition in 0..self.arguments.repeat.get() {
            let label = format!("repetition {} of {}: ", repetition + 1, self.arguments.repeat);
            // The digests of one repetition are those of all.
            let digests = self.arguments.digests && repetition == 0;
            let recorder = Recorder::new(&self.progress, label, digests);
            let run = Run { statement: &statement, synthesizer: &synthesizer, recorder: &recorder };
            let found = run.all(&partitions, check, meter)?;
            if repetition == 0 {
                reports = found;
            }
            repetitions.push(with_sum(recorder.finish().phases));
            processor_ms.extend(meter.take_processor_ms());
        }
        Ok(Report {
            schema: "cuzk-synth",
            version: 1,
            tool: Tool::here(),
            machine: Machine::here(),
            tuning: tuning(&self.tuning),
            input: input.display().to_string(),
            statement: StatementReport::of(&statement)?,
            template_ms,
            partitions: reports,
            phases_ms: spreads(&repetitions),
            counters: meter.counters.as_mut().map(|counters| counters.read(repetitions.len())),
            repetitions,
            processor_ms: (!processor_ms.is_empty()).then(|| Spread::of(processor_ms)),
            peak_rss_bytes: peak_rss_bytes(),
        })
    }
}

/// One repetition.
struct Run<'a> {
    statement: &'a Statement,
    synthesizer: &'a Synthesizer,
    recorder: &'a Recorder<'a>,
}

impl Run<'_> {
    fn all(
        &self,
        partitions: &[usize],
        check: WitnessCheck,
        meter: &mut Meter,
    ) -> Result<Vec<PartitionReport>, Failure> {
        let mut reports = vec![];
        for together in partitions.chunks(self.synthesizer.partitions_at_once(self.statement)) {
            let synthesize = || self.synthesizer.synthesize(self.statement, together, self.recorder);
            let synthesized = meter.measure(synthesize)?;
            for (index, synthesized) in together.iter().zip(synthesized) {
                let witness = self.synthesizer.to_recycle(&synthesized);
                let evaluated = meter.measure(|| Evaluated::of(synthesized, self.recorder))?;
                reports.push(PartitionReport {
                    index: *index,
                    counts: evaluated.counts(),
                    // Otherwise this was not reached.
                    satisfied: (check == WitnessCheck::EveryConstraint).then_some(true),
                    digests: self.recorder.wants_digests().then(|| evaluated.digests()).transpose()?,
                });
                drop(evaluated);
                witness.into_iter().for_each(|witness| self.synthesizer.recycle(witness));
            }
        }
        Ok(reports)
    }
}

/// What is measured besides phases.
struct Meter {
    counters: Option<Counters>,
    processor_ms: Option<f64>,
}

impl Meter {
    fn new(counters: Option<Counters>) -> Self {
        Meter { counters, processor_ms: None }
    }

    fn measure<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = processor_ms();
        self.counters.iter_mut().for_each(Counters::start);
        let result = work();
        self.counters.iter_mut().for_each(Counters::stop);
        if let (Some(before), Some(after)) = (before, processor_ms()) {
            *self.processor_ms.get_or_insert_default() += after - before;
        }
        result
    }

    /// Processor time since the last call.
    fn take_processor_ms(&mut self) -> Option<f64> {
        self.processor_ms.take()
    }
}

/// A partition's witness, a and b.
struct Evaluated {
    witness: Witness,
    a: Vec<Fr>,
    b: Vec<Fr>,
}

enum Witness {
    Packed { witness: Arc<PackedWitness>, template: Arc<Template> },
    Plain { inputs: Vec<Fr>, aux: Vec<Fr> },
}

impl Evaluated {
    fn of(synthesized: Synthesized, observer: &dyn Observer) -> Result<Self, Failure> {
        match synthesized {
            Synthesized::Packed { witness, template } => {
                let rows = timed(observer, Phase::Evaluate, || evaluate_packed(&template, &witness));
                let (a, b) = rows.map_err(Error::from)?;
                Ok(Evaluated { witness: Witness::Packed { witness, template }, a, b })
            }
            Synthesized::Evaluated(synthesis) => {
                let cuzk_r1cs::Synthesis { inputs, aux, a, b, densities: _ } = synthesis;
                Ok(Evaluated { witness: Witness::Plain { inputs, aux }, a, b })
            }
        }
    }

    fn counts(&self) -> Counts {
        let (inputs, aux, packed_bytes) = match &self.witness {
            Witness::Packed { witness, .. } => {
                let scalars = witness.inputs.len() + witness.scalars.len();
                let bytes = size_of::<Fr>() * scalars + 8 * witness.bits.words().len();
                (witness.inputs.len(), witness.bits.len(), Some(bytes))
            }
            Witness::Plain { inputs, aux } => (inputs.len(), aux.len(), None),
        };
        Counts { constraints: self.a.len() - inputs, inputs, aux, packed_bytes }
    }

    /// Digests of witness, a, b and c, as proving has them. Takes 32 bytes a variable, then 32 a row.
    fn digests(&self) -> Result<BTreeMap<Step, String>, Failure> {
        let witness = match &self.witness {
            Witness::Packed { witness, template } => {
                let aux = witness.unpack_aux(template).map_err(Error::from)?;
                digest_scalars(&[&witness.inputs, &aux])
            }
            Witness::Plain { inputs, aux } => digest_scalars(&[inputs, aux]),
        };
        let steps = [
            (Step::Witness, witness),
            (Step::A, digest_scalars(&[&self.a])),
            (Step::B, digest_scalars(&[&self.b])),
            (Step::C, digest_scalars(&[&quotient::hadamard(&self.a, &self.b)])),
        ];
        Ok(steps.map(|(step, digest)| (step, digest.to_string())).into())
    }
}

/// Phase `synthesis` is also the sum of its parts, where they are apart.
fn with_sum(mut phases: PhaseTimes) -> PhaseTimes {
    if let (Some(witness), Some(evaluate)) = (phases.get(&Phase::Witness), phases.get(&Phase::Evaluate)) {
        phases.insert(Phase::Synthesis, witness + evaluate);
    }
    phases
}

fn spreads(repetitions: &[PhaseTimes]) -> BTreeMap<Phase, Spread> {
    let mut times: BTreeMap<Phase, Vec<f64>> = BTreeMap::new();
    for (phase, time) in repetitions.iter().flatten() {
        times.entry(*phase).or_default().push(*time);
    }
    times.into_iter().map(|(phase, times)| (phase, Spread::of(times))).collect()
}

impl Report {
    fn table(&self) -> String {
        let mut table = String::new();
        let mut line =
            |name: &str, value: String| writeln!(table, "{name:<12} {value}").expect("writing to a string");
        line("statement", format!("{}, {}", self.statement.registered_proof, self.input));
        let settings: Vec<String> =
            self.tuning.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        line("tuning", format!("{}; {} threads", settings.join(","), self.machine.threads));
        for partition in &self.partitions {
            let PartitionReport { index, counts, satisfied, digests } = partition;
            let Counts { constraints, inputs, aux, packed_bytes } = counts;
            let packed = packed_bytes.map(|bytes| format!(", packed in {:.1} MiB", mib(bytes as u64)));
            let satisfied = satisfied.map(|_| "; every constraint satisfied");
            line(
                "partition",
                format!(
                    "{index}: {constraints} constraints, {inputs} inputs (ONE included), {aux} aux variables{}{}",
                    packed.unwrap_or_default(),
                    satisfied.unwrap_or_default()
                ),
            );
            for (step, digest) in digests.iter().flatten() {
                line("", format!("{step:<8} {digest}"));
            }
        }
        if let Some(template_ms) = self.template_ms {
            line("template", format!("{:.3} s, once", template_ms / 1000.0));
        }
        for (phase, Spread { median, min, max }) in &self.phases_ms {
            let [median, min, max] = [median, min, max].map(|time| time / 1000.0);
            let spread = match self.repetitions.len() {
                1 => String::new(),
                n => format!(" ({min:.3} to {max:.3}, {n} repetitions)"),
            };
            line(phase.name(), format!("{median:.3} s{spread}"));
        }
        if let Some(Spread { median, .. }) = &self.processor_ms {
            line("processor", format!("{:.2} s of processor time", median / 1000.0));
        }
        for (name, count) in self.counters.iter().flat_map(Counted::table) {
            line("counter", format!("{name}: {count}"));
        }
        if let Some(bytes) = self.peak_rss_bytes {
            line("memory", format!("{:.1} MiB resident at the peak", mib(bytes)));
        }
        table
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_numbers_of_times() {
        let spread = |times: &[f64]| {
            let Spread { median, min, max } = Spread::of(times.to_vec());
            (median, min, max)
        };
        assert_eq!(spread(&[3.0]), (3.0, 3.0, 3.0));
        assert_eq!(spread(&[5.0, 1.0, 3.0]), (3.0, 1.0, 5.0));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 9.0]), (3.0, 1.0, 9.0));
    }
}
