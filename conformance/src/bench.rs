//! Two ways to the same proof, timed in turn.
//!
//! A case is proved by both sides in pairs, A B, then B A, and so on, so that what changes slowly on the machine falls on both
//! alike; every proof is judged as in a run, and one that is wrong ends the measurement. See [`crate::stats`] for what the times
//! tell.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;

use serde::Serialize;

use crate::Error;
use crate::case::CaseFolder;
use crate::counts::{Counting, Counts};
use crate::digest::{Sha256, sha256_file};
use crate::prover::Prover;
use crate::rows::{Row, Tuning};
use crate::run::{Outcome, Runner, Status};
use crate::stats::{Comparison, NOISY, Pairs, Verdict, least_pairs, verdicts};

/// The name of the whole process's time among the phases.
pub const PROCESS: &str = "process";

/// What a side is: a binary, values of axes, or both with an `@` between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideSpec {
    /// The prover; the one beside this program without it.
    pub binary: Option<PathBuf>,
    /// What `--tune` is given.
    pub tuning: Tuning,
}

impl FromStr for SideSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let path = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
        match text.rsplit_once('@') {
            Some((binary, tuning)) => Ok(SideSpec { binary: path(binary), tuning: tuning.parse()? }),
            // A path may have an equals sign, too.
            None if text.contains('=') && !PathBuf::from(text).exists() => {
                Ok(SideSpec { binary: None, tuning: text.parse()? })
            }
            None => Ok(SideSpec { binary: path(text), tuning: Tuning::default() }),
        }
    }
}

/// One of the two ways.
#[derive(Clone, Debug)]
pub struct Side {
    /// The binary.
    pub prover: Prover,
    /// Backend and tuning.
    pub row: Row,
}

/// What a side was, in a report.
#[derive(Clone, Debug, Serialize)]
pub struct Identity {
    /// The binary's path.
    pub binary: PathBuf,
    /// Its SHA-256.
    pub sha256: Sha256,
    /// What it says of its version.
    pub version: String,
    /// Backend and tuning.
    pub row: String,
}

impl Side {
    /// Reads and asks the binary.
    pub fn identity(&self) -> Result<Identity, Error> {
        let binary = &self.prover.binary;
        let sha256 = sha256_file(binary).map_err(Error::io("read", binary))?;
        let output = Command::new(binary).arg("--version").output().map_err(Error::io("run", binary))?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Identity { binary: binary.clone(), sha256, version, row: self.row.to_string() })
    }
}

/// How it is measured and judged.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Pairs of runs, after one of each side that is not counted.
    pub pairs: usize,
    /// A difference up to this is none: 0.05 is 5 %.
    pub margin: f64,
    /// The greatest chance that any difference is shown where there is none.
    pub error_rate: f64,
    /// Phases whose median is below this on both sides are not compared.
    pub least_ms: f64,
    /// The phases that are compared; all without any.
    pub phases: Vec<String>,
}

/// What was found on one case.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// `<suite>/<case>`.
    pub case: String,
    /// By phase of the prover's report, and [`PROCESS`].
    pub phases: BTreeMap<String, Phase>,
    /// Instructions and cache misses of a run of each side, where they were asked for.
    pub counts: Option<[Counts; 2]>,
    /// What makes the figures doubtful.
    pub warnings: Vec<String>,
}

/// One phase.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// What the pairs tell.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// What that shows, all phases taken together.
    pub verdict: Verdict,
    /// All times of the first side, ms.
    pub old: Vec<f64>,
    /// All times of the second.
    pub new: Vec<f64>,
}

/// How a measurement ended.
#[derive(Clone, Debug)]
pub enum Ended {
    /// With figures.
    Measured(Measured),
    /// With a run that did not pass: of a side, 0 for old and 1 for new.
    Wrong(usize, Outcome),
}

/// Measures a case. `progress` hears of each run.
pub fn measure(
    runner: &Runner,
    folder: &CaseFolder,
    sides: &[Side; 2],
    plan: &Plan,
    progress: &mut dyn FnMut(&str),
) -> Result<Ended, Error> {
    let mut times: [Vec<BTreeMap<String, f64>>; 2] = [vec![], vec![]];
    for pair in 0..=plan.pairs {
        let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
        match pair {
            0 => progress(&format!("{}: one run of each that is not counted", folder.id)),
            _ => progress(&format!("{}: pair {pair} of {}", folder.id, plan.pairs)),
        }
        for side in order {
            let Side { prover, row } = &sides[side];
            let outcomes = runner.run(prover, folder, std::slice::from_ref(row), &mut |_| ())?;
            let Some(outcome) = outcomes.into_iter().next() else { continue };
            if outcome.status != Status::Ok {
                return Ok(Ended::Wrong(side, outcome));
            }
            if pair > 0 {
                times[side].push(phases(&outcome));
            }
        }
    }
    Ok(Ended::Measured(Measured::of(&folder.id, &times, plan)))
}

/// How many times as long as usual a run may take under cachegrind.
const SIMULATED_TIMEOUT: u32 = 100;

/// Instructions and misses of one more run of each side.
pub fn count(
    runner: &Runner,
    folder: &CaseFolder,
    sides: &[Side; 2],
    progress: &mut dyn FnMut(&str),
) -> Result<[Counts; 2], Error> {
    let mut of = |Side { prover, row }: &Side| {
        let counting = Counting::open()?.ok_or(Error::NobodyCounts)?;
        progress(&format!("{}: instructions of [{row}]", folder.id));
        let run = |prover: &Prover| -> Result<(), Error> {
            let outcomes = runner.run(prover, folder, std::slice::from_ref(row), &mut |_| ())?;
            match outcomes.into_iter().find(|outcome| outcome.status != Status::Ok) {
                Some(outcome) => Err(Error::NotCounted { outcome: outcome.to_string() }),
                None => Ok(()),
            }
        };
        match counting {
            Counting::Kernel(counters) => {
                let counted = counters.count(|| run(prover));
                let (ran, counts) = counted.map_err(Error::io("count", &prover.binary))?;
                ran.map(|()| counts)
            }
            Counting::Simulated(simulation) => {
                let mut simulated = prover.clone().within(simulation.command());
                simulated.timeout = prover.timeout.saturating_mul(SIMULATED_TIMEOUT);
                run(&simulated)?;
                simulation.counts()
            }
        }
    };
    Ok([of(&sides[0])?, of(&sides[1])?])
}

fn phases(outcome: &Outcome) -> BTreeMap<String, f64> {
    let mut phases = outcome.cost.as_ref().map_or_else(BTreeMap::new, |cost| cost.phases_ms.clone());
    phases.insert(PROCESS.to_owned(), outcome.wall_ms as f64);
    phases
}

impl Measured {
    fn of(case: &str, [old, new]: &[Vec<BTreeMap<String, f64>>; 2], plan: &Plan) -> Self {
        let times = |side: &[BTreeMap<String, f64>], phase: &str| -> Option<Vec<f64>> {
            side.iter().map(|run| run.get(phase).copied().filter(|time| *time > 0.0)).collect()
        };
        let mut compared = vec![];
        let (mut only, mut warnings) = (vec![], vec![]);
        let wanted = |name: &&String| plan.phases.is_empty() || plan.phases.contains(name);
        let names: BTreeSet<&String> =
            old.iter().chain(new).flat_map(BTreeMap::keys).filter(wanted).collect();
        for name in names {
            let (Some(old), Some(new)) = (times(old, name), times(new, name)) else {
                only.push(name.clone());
                continue;
            };
            let pairs = Pairs { old, new };
            let comparison = Comparison::of(&pairs);
            if comparison.old_ms >= plan.least_ms || comparison.new_ms >= plan.least_ms {
                compared.push((name.clone(), comparison, pairs));
            }
        }
        if !only.is_empty() {
            warnings.push(format!("not in every run of both sides, so not compared: {}", only.join(", ")));
        }
        let least = least_pairs(compared.len(), plan.error_rate);
        if plan.pairs < least {
            warnings.push(format!(
                "{} pairs can show nothing of {} phases at an error rate of {}; {least} can (-n)",
                plan.pairs,
                compared.len(),
                plan.error_rate
            ));
        }
        for (name, comparison, _) in &compared {
            if comparison.deviation > NOISY {
                let percent = 100.0 * comparison.deviation;
                warnings.push(format!("{name} is noisy: ratios of pairs deviate by {percent:.0} %"));
            }
            if comparison.outliers > 0 {
                warnings.push(format!("{name} has {} outlier(s)", comparison.outliers));
            }
        }
        let all: Vec<&Comparison> = compared.iter().map(|(_, comparison, _)| comparison).collect();
        let verdicts = verdicts(&all, plan.margin, plan.error_rate);
        let phases = compared
            .into_iter()
            .zip(verdicts)
            .map(|((name, comparison, Pairs { old, new }), verdict)| {
                (name, Phase { comparison, verdict, old, new })
            })
            .collect();
        Measured { case: case.to_owned(), phases, counts: None, warnings }
    }

    /// The phases with a verdict.
    pub fn with(&self, verdict: Verdict) -> impl Iterator<Item = &str> {
        self.phases.iter().filter(move |(_, phase)| phase.verdict == verdict).map(|(name, _)| name.as_str())
    }

    /// As Markdown.
    pub fn table(&self) -> String {
        let mut table = format!(
            "{}\n\n| phase | old | new | new/old (95 %) | verdict |\n|---|---|---|---|---|\n",
            self.case
        );
        for (name, Phase { comparison, verdict, .. }) in &self.phases {
            let Comparison { old_ms, new_ms, ratio, interval: [low, high], .. } = comparison;
            let verdict = match verdict {
                Verdict::Faster => "**faster**",
                Verdict::Slower => "**slower**",
                Verdict::NoDifferenceShown => "no difference shown",
            };
            writeln!(
                table,
                "| {name} | {old_ms:.1} ms | {new_ms:.1} ms | {ratio:.3} ({low:.3} to {high:.3}) | {verdict} |"
            )
            .expect("writing to a string");
        }
        if let Some([old, new]) = &self.counts {
            let mut line = |what: &str, old: Option<u64>, new: Option<u64>| {
                let (Some(old), Some(new)) = (old, new) else { return };
                let ratio = new as f64 / old as f64;
                writeln!(table, "\n{what}: {old} old, {new} new, {ratio:.4}").expect("writing to a string");
            };
            let by = old.by;
            line(&format!("instructions, by {by}"), Some(old.instructions), Some(new.instructions));
            line(&format!("misses of the first-level data cache, by {by}"), old.l1d_misses, new.l1d_misses);
            line(&format!("misses of the last-level cache, by {by}"), old.llc_misses, new.llc_misses);
        }
        for warning in &self.warnings {
            write!(table, "\nnote: {warning}").expect("writing to a string");
        }
        table + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_read() {
        let side = |text: &str| text.parse::<SideSpec>().unwrap();
        let tuning = || "ntt=seven,isa=portable".parse::<Tuning>().unwrap();
        assert_eq!(side("a/cuzk"), SideSpec { binary: Some("a/cuzk".into()), tuning: Tuning::default() });
        assert_eq!(side("ntt=seven,isa=portable"), SideSpec { binary: None, tuning: tuning() });
        assert_eq!(side("@ntt=seven,isa=portable"), SideSpec { binary: None, tuning: tuning() });
        let both = SideSpec { binary: Some("b@d/cuzk".into()), tuning: tuning() };
        assert_eq!(side("b@d/cuzk@ntt=seven,isa=portable"), both);
        assert!("a@ntt".parse::<SideSpec>().is_err());
    }

    #[test]
    fn phases_of_one_side_are_named_and_short_ones_left_out() {
        let run =
            |phases: &[(&str, f64)]| phases.iter().map(|(name, ms)| ((*name).to_owned(), *ms)).collect();
        let old = vec![run(&[("ntt", 10.0), ("decode", 1.0), ("synthesis", 5.0)]); 12];
        let new = vec![run(&[("ntt", 12.0), ("decode", 1.0), ("witness", 2.0)]); 12];
        let plan = Plan { pairs: 12, margin: 0.05, error_rate: 0.01, least_ms: 5.0, phases: vec![] };
        let measured = Measured::of("s/c", &[old, new], &plan);
        assert_eq!(measured.phases.keys().collect::<Vec<_>>(), ["ntt"]);
        assert_eq!(measured.with(Verdict::Slower).collect::<Vec<_>>(), ["ntt"]);
        assert_eq!(
            measured.warnings,
            ["not in every run of both sides, so not compared: synthesis, witness"]
        );
        assert!(
            measured.table().contains("| ntt | 10.0 ms | 12.0 ms | 1.200 (1.200 to 1.200) | **slower** |")
        );
        let few = Measured::of(
            "s/c",
            &[vec![run(&[("ntt", 9.0)])], vec![run(&[("ntt", 9.0)])]],
            &Plan { pairs: 1, ..plan },
        );
        assert_eq!(
            few.warnings,
            ["1 pairs can show nothing of 1 phases at an error rate of 0.01; 9 can (-n)"]
        );
    }
}
