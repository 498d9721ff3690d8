//! Comparing builds and tunings of synthesis: the same digests, then times, memory and simulated counts.
//!
//! Variants run in turn, in an order that rotates from round to round, so that what changes slowly on the machine
//! falls on all of them alike. A ratio is that of two runs of one round; its interval is that of the median's order
//! statistics, which asks nothing of the distribution.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;
use crate::counts::{Counts, Simulation};
use crate::prover::Prover;
use crate::stats::median;

/// What to compare.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// An input of `cuzk synth`; its first partition is synthesized.
    pub input: PathBuf,
    /// Names, binaries and what `--tune` is given. The first is what the others are compared with.
    pub variants: Vec<Variant>,
    /// Runs of each.
    pub rounds: usize,
    /// Whether to count instructions and misses with cachegrind, once each.
    pub cachegrind: bool,
}

/// A build with a tuning.
#[derive(Clone, Debug)]
pub struct Variant {
    /// How the table calls it.
    pub name: String,
    /// The binary.
    pub binary: PathBuf,
    /// What `--tune` is given.
    pub tuning: String,
}

/// What was found.
#[derive(Debug, Serialize)]
pub struct Measured {
    /// `cuzk-synthesis-variants`.
    pub schema: &'static str,
    /// 1.
    pub version: u32,
    /// The machine, as the binaries describe it.
    pub machine: Value,
    /// What was synthesized, as the binaries describe it.
    pub statement: Value,
    /// Runs of each variant.
    pub rounds: usize,
    /// Digests of witness, a, b, c: the same from all.
    pub digests: BTreeMap<String, String>,
    /// In the order in which they were given.
    pub variants: Vec<VariantMeasured>,
}

/// What was found of a variant.
#[derive(Debug, Serialize)]
pub struct VariantMeasured {
    /// Its name.
    pub name: String,
    /// Every axis.
    pub tuning: Value,
    /// Medians.
    pub wall_ms: f64,
    /// Processor time, in user and system mode.
    pub processor_ms: f64,
    /// Peak resident memory.
    pub peak_rss_bytes: f64,
    /// Processor time over that of the first variant in the same round.
    pub ratio: Ratio,
    /// All rounds.
    pub samples: Vec<Sample>,
    /// Of the whole process, by cachegrind; `null` where it was not asked for.
    pub simulated: Option<Counts>,
}

/// One run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sample {
    /// Phase `synthesis`.
    pub wall_ms: f64,
    /// Processor time.
    pub processor_ms: f64,
    /// Peak resident memory.
    pub peak_rss_bytes: f64,
}

/// A median of ratios and an interval that holds the true median with at least 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The median.
    pub median: f64,
    /// `null` for fewer than six rounds.
    pub interval: Option<[f64; 2]>,
}

#[derive(Deserialize)]
struct SynthReport {
    machine: Value,
    statement: Value,
    tuning: Value,
    partitions: Vec<Partition>,
    phases_ms: BTreeMap<String, Spread>,
    processor_ms: Option<Spread>,
    peak_rss_bytes: Option<f64>,
}

#[derive(Deserialize)]
struct Partition {
    digests: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Spread {
    median: f64,
}

impl Measurement {
    /// Runs everything. An error when two variants give different digests; nothing is measured then. `progress` hears
    /// of each step.
    pub fn run(&self, progress: &mut dyn FnMut(&str)) -> Result<Measured, Error> {
        let mut reports = vec![];
        for variant in &self.variants {
            progress(&format!("digests of {}", variant.name));
            reports.push(self.synthesize(variant, &["--digests"])?);
        }
        let digests: Vec<_> = reports.iter().map(|report| report.partitions[0].digests.clone()).collect();
        if let Some(odd) = digests.iter().position(|found| *found != digests[0]) {
            let (first, odd) = (self.variants[0].name.clone(), self.variants[odd].name.clone());
            return Err(Error::VariantsDiffer { first, odd });
        }

        let mut samples: Vec<Vec<Sample>> = vec![vec![]; self.variants.len()];
        for round in 0..self.rounds {
            progress(&format!("round {} of {}", round + 1, self.rounds));
            for turn in 0..self.variants.len() {
                let index = (round + turn) % self.variants.len();
                samples[index].push(Sample::of(&self.synthesize(&self.variants[index], &[])?));
            }
        }

        let first = samples[0].clone();
        let mut variants = vec![];
        for ((variant, report), samples) in self.variants.iter().zip(&reports).zip(samples) {
            if self.cachegrind {
                progress(&format!("cachegrind of {}", variant.name));
            }
            let simulated = self.cachegrind.then(|| self.simulate(variant)).transpose()?;
            let of = |value: fn(&Sample) -> f64| median(&samples.iter().map(value).collect::<Vec<_>>());
            let ratios =
                samples.iter().zip(&first).map(|(sample, first)| sample.processor_ms / first.processor_ms);
            variants.push(VariantMeasured {
                name: variant.name.clone(),
                tuning: report.tuning.clone(),
                wall_ms: of(|sample| sample.wall_ms),
                processor_ms: of(|sample| sample.processor_ms),
                peak_rss_bytes: of(|sample| sample.peak_rss_bytes),
                ratio: Ratio::of(ratios.collect()),
                samples,
                simulated,
            });
        }
        let SynthReport { machine, statement, .. } = reports.swap_remove(0);
        Ok(Measured {
            schema: "cuzk-synthesis-variants",
            version: 1,
            machine,
            statement,
            rounds: self.rounds,
            digests: digests.into_iter().next().flatten().unwrap_or_default(),
            variants,
        })
    }

    fn arguments(&self, variant: &Variant) -> Vec<OsString> {
        let fixed =
            ["--partitions", "0", "--threads", "1", "--skip-vanilla-check", "--json", "--quiet", "--tune"];
        let mut arguments: Vec<OsString> = vec!["synth".into(), self.input.clone().into()];
        arguments.extend(fixed.map(OsString::from));
        arguments.push(variant.tuning.clone().into());
        arguments
    }

    fn synthesize(&self, variant: &Variant, more: &[&str]) -> Result<SynthReport, Error> {
        const TIMEOUT: Duration = Duration::from_secs(3600);
        let prover = Prover::new(variant.binary.clone(), TIMEOUT);
        let mut arguments = self.arguments(variant);
        arguments.extend(more.iter().map(OsString::from));
        prover.json(&arguments)
    }

    fn simulate(&self, variant: &Variant) -> Result<Counts, Error> {
        let simulation = Simulation::new()?;
        let words = simulation.command();
        let mut valgrind = Command::new(&words[0]);
        valgrind.args(&words[1..]).arg(&variant.binary).args(self.arguments(variant));
        let output = valgrind.output().map_err(Error::io("run", Path::new("valgrind")))?;
        if !output.status.success() {
            return Err(Error::Command {
                command: format!("{valgrind:?}"),
                ended: output.status.to_string(),
            });
        }
        simulation.counts()
    }
}

impl Sample {
    fn of(report: &SynthReport) -> Self {
        let missing = f64::NAN;
        Sample {
            wall_ms: report.phases_ms.get("synthesis").map_or(missing, |spread| spread.median),
            processor_ms: report.processor_ms.as_ref().map_or(missing, |spread| spread.median),
            peak_rss_bytes: report.peak_rss_bytes.unwrap_or(missing),
        }
    }
}

impl Ratio {
    fn of(mut ratios: Vec<f64>) -> Self {
        ratios.sort_by(f64::total_cmp);
        let interval = order_statistic(ratios.len()).map(|k| [ratios[k - 1], ratios[ratios.len() - k]]);
        Ratio { median: median(&ratios), interval }
    }
}

/// The greatest k so that the k-th least and the k-th greatest of n values hold the median with at least 95 %: each
/// misses it with P(Bin(n, ½) < k).
fn order_statistic(n: usize) -> Option<usize> {
    const MISSES: f64 = 0.05;
    let mut probability = 0.5f64.powi(n as i32);
    let (mut below, mut k) = (0.0, 0);
    loop {
        below += probability;
        if 2.0 * below > MISSES {
            return (k > 0).then_some(k);
        }
        probability *= (n - k) as f64 / (k + 1) as f64;
        k += 1;
    }
}

impl Measured {
    /// As a table in Markdown.
    pub fn table(&self) -> String {
        let mut table = "| variant | synthesis | processor time | against the first (95 %) | peak memory | instructions, L1d \
                         misses (simulated) |\n|---|---|---|---|---|---|\n"
            .to_owned();
        for variant in &self.variants {
            let Ratio { median, interval } = variant.ratio;
            let interval =
                interval.map_or_else(String::new, |[low, high]| format!(" ({low:.3} to {high:.3})"));
            let simulated = variant.simulated.as_ref().map_or_else(
                || "not counted".to_owned(),
                |counts| {
                    let [instructions, misses] = [Some(counts.instructions), counts.l1d_misses]
                        .map(|count| count.unwrap_or(0) as f64 / 1e6);
                    format!("{instructions:.0} M, {misses:.2} M")
                },
            );
            table += &format!(
                "| {} | {:.3} s | {:.3} s | {median:.3}{interval} | {:.0} MiB | {simulated} |\n",
                variant.name,
                variant.wall_ms / 1000.0,
                variant.processor_ms / 1000.0,
                variant.peak_rss_bytes / f64::from(1 << 20),
            );
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From tables of the sign test's interval.
    #[test]
    fn order_statistics_are_those_of_the_tables() {
        let known = [
            (5, None),
            (6, Some(1)),
            (8, Some(1)),
            (9, Some(2)),
            (10, Some(2)),
            (12, Some(3)),
            (20, Some(6)),
        ];
        for (n, k) in known {
            assert_eq!(order_statistic(n), k, "{n}");
        }
    }

    #[test]
    fn ratios_have_medians_and_intervals() {
        let ratio = Ratio::of(vec![1.2, 1.0, 1.1, 1.4, 1.3, 0.9]);
        assert!((ratio.median - 1.15).abs() < 1e-12, "{ratio:?}");
        assert_eq!(ratio.interval, Some([0.9, 1.4]));
        assert_eq!(Ratio::of(vec![2.0]), Ratio { median: 2.0, interval: None });
    }
}
