//! Does the suite notice faults? A build that can do one thing wrong at a time is run with each of its faults; the suite has to name the
//! step that goes wrong.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::prover::Prover;
use crate::rows::{Row, Tuning};
use crate::run::{Outcome, Runner, Status};

/// What `faults` of a build with faults prints.
#[derive(Debug, Deserialize)]
struct Listed {
    /// The environment variable that names the fault to have.
    variable: String,
    faults: Vec<Fault>,
}

/// A fault, and how it is to be noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Its name.
    pub name: String,
    /// The part of the prover that does wrong.
    pub area: String,
    /// What it does.
    pub what: String,
    /// The golden case that shows it.
    pub case: String,
    /// Values of axes for it, as `--tune` takes them; `backend=NAME` among them for another backend than `cpu`.
    pub tuning: String,
    /// What the suite has to say: a part of it.
    pub seen: String,
}

/// What a fault came to.
#[derive(Clone, Debug, Serialize)]
pub struct Noticed {
    /// The fault.
    #[serde(flatten)]
    pub fault: Fault,
    /// Whether it was noticed.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// How long the prover ran.
    pub wall_ms: u64,
}

/// Whether a fault was noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The step that goes wrong was named.
    Caught {
        /// In these words.
        said: String,
    },
    /// It was not.
    Missed {
        /// What was said instead.
        said: String,
    },
    /// The fault was not run.
    Skipped {
        /// What is missing.
        reason: String,
    },
}

/// How many faults were caught, missed and skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// The step was named.
    pub caught: usize,
    /// It was not.
    pub missed: usize,
    /// Not run.
    pub skipped: usize,
    /// How many were caught in each area.
    pub caught_by_area: BTreeMap<String, usize>,
}

/// Runs the cases first without a fault, where they have to pass, then each fault whose name contains `filter`.
pub fn find(
    runner: &Runner,
    prover: &Prover,
    filter: &str,
    show: &mut dyn FnMut(&Noticed),
) -> Result<Vec<Noticed>, Error> {
    let Listed { variable, faults } = prover.json(&["faults".into()])?;
    // Whatever the variable is around here.
    let unharmed = prover.clone().with_variable(&variable, "");
    let mut sound = BTreeMap::new();
    let mut all = vec![];
    for fault in faults.into_iter().filter(|fault| fault.name.contains(filter)) {
        let row = fault.row()?;
        let place = (fault.case.clone(), row.to_string());
        let unchanged = match sound.get(&place) {
            Some(unchanged) => unchanged,
            None => {
                let outcome = one(runner, &unharmed, &fault, &row)?;
                if let Status::Failed { differences } = outcome.status {
                    let said = differences.join("; ");
                    return Err(Error::FailsWithoutFault { case: fault.case, row: row.to_string(), said });
                }
                sound.entry(place).or_insert(outcome.status)
            }
        };
        let noticed = match unchanged {
            Status::Skipped { reason } => {
                Noticed { fault, verdict: Verdict::Skipped { reason: reason.clone() }, wall_ms: 0 }
            }
            _ => {
                let wrong = prover.clone().with_variable(&variable, &fault.name);
                let outcome = one(runner, &wrong, &fault, &row)?;
                Noticed { verdict: fault.judge(&outcome.status), fault, wall_ms: outcome.wall_ms }
            }
        };
        show(&noticed);
        all.push(noticed);
    }
    Ok(all)
}

/// The case of a fault, in its row.
fn one(runner: &Runner, prover: &Prover, fault: &Fault, row: &Row) -> Result<Outcome, Error> {
    let outcomes = runner.run(prover, runner.case(&fault.case)?, std::slice::from_ref(row), &mut |_| {})?;
    Ok(outcomes.into_iter().next().expect("a row gives an outcome"))
}

impl Fault {
    fn row(&self) -> Result<Row, Error> {
        let settings = match self.tuning.as_str() {
            "" => Tuning::default(),
            settings => settings.parse()?,
        };
        Ok(Row::of(settings, "cpu"))
    }

    /// A run with a fault does not verify its proof and says so: that is not what is to be noticed.
    fn judge(&self, status: &Status) -> Verdict {
        let differences = match status {
            Status::Failed { differences } => &differences[..],
            Status::Ok => &[],
            // Without the fault it was not skipped.
            Status::Skipped { reason } => return Verdict::Missed { said: reason.clone() },
        };
        match differences.iter().find(|difference| difference.contains(&self.seen)) {
            Some(said) => Verdict::Caught { said: said.clone() },
            None if differences.is_empty() => Verdict::Missed { said: "nothing".to_owned() },
            None => Verdict::Missed { said: differences.join("; ") },
        }
    }
}

impl Tally {
    /// Of all faults.
    pub fn of(all: &[Noticed]) -> Self {
        let mut tally = Tally::default();
        for noticed in all {
            match noticed.verdict {
                Verdict::Caught { .. } => {
                    tally.caught += 1;
                    *tally.caught_by_area.entry(noticed.fault.area.clone()).or_default() += 1;
                }
                Verdict::Missed { .. } => tally.missed += 1,
                Verdict::Skipped { .. } => tally.skipped += 1,
            }
        }
        tally
    }

    /// Whether the suite may be trusted: none was missed, and there was one.
    pub fn is_good(&self) -> bool {
        self.missed == 0 && self.caught > 0
    }
}

impl fmt::Display for Noticed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { name, area, what, case, tuning, seen } = &self.fault;
        let wall = format!("{:.3} s", self.wall_ms as f64 / 1e3);
        let row = if tuning.is_empty() { String::new() } else { format!(" [{tuning}]") };
        match &self.verdict {
            Verdict::Caught { said } => {
                write!(formatter, "caught   {area}/{name} ({wall}): {case}{row}: {said}")
            }
            Verdict::Missed { said } => write!(
                formatter,
                "MISSED   {area}/{name} ({wall}): {what} {case}{row}: said {said}; `{seen}` was wanted"
            ),
            Verdict::Skipped { reason } => write!(formatter, "skipped  {area}/{name}: {reason}"),
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { caught, missed, skipped, caught_by_area } = self;
        let areas: Vec<String> = caught_by_area.iter().map(|(area, n)| format!("{area} {n}")).collect();
        write!(formatter, "{caught} caught ({}), {missed} missed, {skipped} skipped", areas.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(tuning: &str) -> Fault {
        let text = |text: &str| text.to_owned();
        Fault {
            name: text("twiddle"),
            area: text("ntt"),
            what: text("One root is its neighbour."),
            case: text("suite/valid"),
            tuning: text(tuning),
            seen: text("partition 0: h differs first"),
        }
    }

    #[test]
    fn only_the_named_step_counts() {
        let fault = fault("");
        let failed =
            |said: &[&str]| Status::Failed { differences: said.iter().map(|&s| s.to_owned()).collect() };
        let caught = fault.judge(&failed(&["the proof was not verified", "partition 0: h differs first"]));
        assert_eq!(caught, Verdict::Caught { said: "partition 0: h differs first".to_owned() });
        for missed in [
            Status::Ok,
            failed(&["the proof was not verified"]),
            failed(&["partition 0: msm_h differs first"]),
            failed(&["was killed after 60 s, expected exit code 0"]),
            failed(&["ended with exit code 101: panicked, expected exit code 0"]),
        ] {
            assert!(matches!(fault.judge(&missed), Verdict::Missed { .. }), "{missed:?}");
        }
        let skipped = fault.judge(&Status::Skipped { reason: "no GPU".to_owned() });
        assert_eq!(skipped, Verdict::Missed { said: "no GPU".to_owned() });
    }

    #[test]
    fn a_backend_is_named_among_the_axes() {
        let row = |tuning: &str| fault(tuning).row().unwrap().to_string();
        assert_eq!(row(""), "cpu");
        assert_eq!(row("ntt=seven"), "cpu ntt=seven");
        assert_eq!(row("backend=cuda"), "cuda");
        assert_eq!(row("ntt=seven,backend=cuda"), "cuda ntt=seven");
        assert!(fault("seven").row().is_err());
    }

    #[test]
    fn a_run_that_showed_nothing_is_not_good() {
        let noticed = |verdict| Noticed { fault: fault(""), verdict, wall_ms: 0 };
        let caught = || noticed(Verdict::Caught { said: String::new() });
        let missed = || noticed(Verdict::Missed { said: String::new() });
        let skipped = || noticed(Verdict::Skipped { reason: String::new() });
        assert!(Tally::of(&[caught(), skipped()]).is_good());
        assert!(!Tally::of(&[caught(), missed()]).is_good());
        assert!(!Tally::of(&[skipped()]).is_good() && !Tally::of(&[]).is_good());
        let tally = Tally::of(&[caught(), caught(), skipped()]).to_string();
        assert_eq!(tally, "2 caught (ntt 2), 0 missed, 1 skipped");
    }
}
