//! May a binary take another's place? The same bytes in every case and row, and no phase shown slower.

use std::fmt::Write;

use serde::Serialize;

use crate::Error;
use crate::bench::{Ended, Identity, Measured, Plan, Side, measure};
use crate::case::CaseFolder;
use crate::rows::Row;
use crate::run::{Count, Outcome, Runner, Status};
use crate::stats::Verdict;

/// What is asked.
pub struct Gate<'a> {
    /// The cases.
    pub runner: &'a Runner,
    /// The binary that is trusted.
    pub old: Side,
    /// The one that is to take its place.
    pub new: Side,
    /// The rows in which the new one has to give the golden bytes.
    pub rows: Vec<Row>,
    /// It runs the cases whose id contains this.
    pub filter: String,
    /// The cases on which both are timed.
    pub timed: Vec<&'a CaseFolder>,
    /// How. The error rate is that of the whole gate.
    pub plan: Plan,
}

/// What was found.
#[derive(Debug, Serialize)]
pub struct Judgement {
    /// `cuzk-gate`.
    pub schema: &'static str,
    /// 1.
    pub version: u32,
    /// The binary that is trusted.
    pub old: Identity,
    /// The other.
    pub new: Identity,
    /// How they were timed.
    pub plan: Plan,
    /// Of the new binary's cases.
    pub count: Count,
    /// Those that failed, and what ended a measurement.
    pub failed: Vec<Outcome>,
    /// What the timed cases showed.
    pub measured: Vec<Measured>,
}

impl Gate<'_> {
    /// Runs the cases, and times both where none failed. `progress` hears of each step.
    pub fn judge(&self, progress: &mut dyn FnMut(&str)) -> Result<Judgement, Error> {
        let mut judgement = Judgement {
            schema: "cuzk-gate",
            version: 1,
            old: self.old.identity()?,
            new: self.new.identity()?,
            plan: self.plan.clone(),
            count: Count::default(),
            failed: vec![],
            measured: vec![],
        };
        for folder in self.runner.select(&self.filter) {
            let show = &mut |outcome: &Outcome| progress(&outcome.to_string());
            let outcomes = self.runner.run(&self.new.prover, folder, &self.rows, show)?;
            outcomes.iter().for_each(|outcome| judgement.count.add(&outcome.status));
            let failed = |outcome: &Outcome| matches!(outcome.status, Status::Failed { .. });
            judgement.failed.extend(outcomes.into_iter().filter(failed));
        }
        if !judgement.failed.is_empty() {
            return Ok(judgement);
        }
        // Every case has its share of the error rate.
        let error_rate = self.plan.error_rate / self.timed.len().max(1) as f64;
        let plan = Plan { error_rate, ..self.plan.clone() };
        let sides = [self.old.clone(), self.new.clone()];
        for folder in &self.timed {
            match measure(self.runner, folder, &sides, &plan, progress)? {
                Ended::Measured(measured) => judgement.measured.push(measured),
                Ended::Wrong(_, outcome) => judgement.failed.push(outcome),
            }
        }
        Ok(judgement)
    }
}

impl Judgement {
    /// Whether the new binary may take the old one's place: it passed some case and failed none, and no phase is slower.
    pub fn is_good(&self) -> bool {
        self.count.is_success()
            && self.failed.is_empty()
            && self.measured.iter().all(|measured| measured.with(Verdict::Slower).next().is_none())
    }

    /// For a pull request.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let mut line =
            |words: std::fmt::Arguments<'_>| writeln!(text, "{words}").expect("writing to a string");
        line(format_args!("## {}\n", if self.is_good() { "The gate is open" } else { "The gate is closed" }));
        for (name, side) in [("old", &self.old), ("new", &self.new)] {
            let Identity { version, sha256, row, .. } = side;
            let digest = sha256.to_string();
            line(format_args!("- {name}: {version}, SHA-256 {}…, {row}", &digest[..16]));
        }
        line(format_args!("- cases of new: {}", self.count));
        let Plan { pairs, margin, error_rate, least_ms, .. } = self.plan;
        line(format_args!(
            "- {pairs} pairs of runs; slower means by more than {:.0} %, shown at an error rate of {:.1} % for the whole gate; \
             phases below {least_ms} ms are not compared\n",
            100.0 * margin,
            100.0 * error_rate
        ));
        for outcome in &self.failed {
            line(format_args!("- {outcome}"));
        }
        for measured in &self.measured {
            let slower: Vec<&str> = measured.with(Verdict::Slower).collect();
            if !slower.is_empty() {
                line(format_args!("**{}: slower: {}**\n", measured.case, slower.join(", ")));
            }
            line(format_args!("### {}", measured.table()));
        }
        text
    }
}
