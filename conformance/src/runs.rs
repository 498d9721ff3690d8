//! Results that were kept, as a table over time: `runs/<date>-<machine>/*.json`.
//!
//! Read are reports of proofs (those without digests, which cost time), and benchmarks of the arithmetic. Other files are passed over: they are
//! no times, or have tables of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::case::{entries, name};
use crate::stats::median;

/// What was measured of what on a machine, by date.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The machine's name in the folder.
    pub machine: String,
    /// What was measured, with all that tells it from others.
    pub what: String,
    /// The quantity: a phase, or `ratio`.
    pub quantity: String,
    /// `ms`, or `times` for a ratio to a peer's time.
    pub unit: &'static str,
    /// By date.
    pub points: Vec<Point>,
}

/// The results of a date.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// YYYY-MM-DD.
    pub date: String,
    /// How many results there are.
    pub n: usize,
    /// The middle one.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

#[derive(Deserialize)]
struct Schema {
    schema: Option<String>,
}

#[derive(Deserialize)]
struct Report {
    machine: Machine,
    backend: Backend,
    #[serde(default)]
    tuning: BTreeMap<String, String>,
    statement: Statement,
    partitions: Vec<Partition>,
    /// What is unusual about the run, such as parameters that did not fit.
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Deserialize)]
struct Machine {
    threads: usize,
}

#[derive(Deserialize)]
struct Backend {
    name: String,
}

#[derive(Deserialize)]
struct Statement {
    registered_proof: String,
}

#[derive(Deserialize)]
struct Partition {
    prove_ms: f64,
    #[serde(default)]
    phases_ms: BTreeMap<String, f64>,
    digests: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Bench {
    threads: usize,
    arithmetic: String,
    results: BTreeMap<String, Compared>,
}

#[derive(Deserialize)]
struct Compared {
    wall: Wall,
}

#[derive(Deserialize)]
struct Wall {
    ours_ms: f64,
    ratio: f64,
}

/// Where a value belongs: machine, what, quantity, unit.
type Key = (String, String, String, &'static str);

/// Values by series and date.
#[derive(Default)]
struct Collected(BTreeMap<Key, BTreeMap<String, Vec<f64>>>);

/// All series of a folder of runs whose text contains `filter`, sorted by machine and by what was measured.
pub fn series(runs: &Path, filter: &str) -> Result<Vec<Series>, Error> {
    let mut reports: Vec<(String, String, Report)> = vec![];
    let mut collected = Collected::default();
    for folder in entries(runs)?.into_iter().filter(|path| path.is_dir()) {
        let folder_name = name(&folder);
        // YYYY-MM-DD-machine.
        let Some((date, machine)) = folder_name.split_at_checked(10) else { continue };
        let machine = machine.trim_start_matches('-');
        for path in entries(&folder)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "json"))
        {
            let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
            // Traces have no schema.
            let schema = serde_json::from_str::<Schema>(&text).map_err(Error::json(&path))?.schema;
            match schema.as_deref() {
                Some("cuzk-report") => {
                    let report = serde_json::from_str(&text).map_err(Error::json(&path))?;
                    reports.push((date.to_owned(), machine.to_owned(), report));
                }
                Some("cuzk-bench") => {
                    let bench = serde_json::from_str(&text).map_err(Error::json(&path))?;
                    collected.add_bench(date, machine, bench);
                }
                _ => {}
            }
        }
    }
    let differing = Differing::among(reports.iter().map(|(_, _, report)| report));
    for (date, machine, report) in &reports {
        collected.add_report(date, machine, report, &differing);
    }
    Ok(collected.series().into_iter().filter(|series| series.to_string().contains(filter)).collect())
}

/// For each proof and backend the axes that do not have the same value in all reports: only they need to be told.
struct Differing(BTreeMap<(String, String), BTreeMap<String, BTreeSet<String>>>);

impl Differing {
    fn among<'a>(reports: impl Iterator<Item = &'a Report>) -> Self {
        let mut values: BTreeMap<_, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for report in reports {
            let of = values.entry(report.subject()).or_default();
            for (axis, value) in &report.tuning {
                of.entry(axis.clone()).or_default().insert(value.clone());
            }
        }
        Differing(values)
    }

    fn tuning(&self, report: &Report) -> Vec<String> {
        let values = &self.0[&report.subject()];
        let told = report.tuning.iter().filter(|(axis, _)| values[*axis].len() > 1);
        told.map(|(axis, value)| format!("{axis}={value}")).collect()
    }
}

impl Report {
    fn subject(&self) -> (String, String) {
        (self.statement.registered_proof.clone(), self.backend.name.clone())
    }
}

impl Collected {
    fn add(&mut self, key: Key, date: &str, value: f64) {
        self.0.entry(key).or_default().entry(date.to_owned()).or_default().push(value);
    }

    fn add_bench(&mut self, date: &str, machine: &str, bench: Bench) {
        for (what, Compared { wall: Wall { ours_ms, ratio } }) in bench.results {
            let what = format!("{what} ({}, {} threads)", bench.arithmetic, bench.threads);
            let key = |quantity: &str, unit| (machine.to_owned(), what.clone(), quantity.to_owned(), unit);
            self.add(key("time", "ms"), date, ours_ms);
            self.add(key("ratio", "times"), date, ratio);
        }
    }

    fn add_report(&mut self, date: &str, machine: &str, report: &Report, differing: &Differing) {
        let (proof, backend) = report.subject();
        let mut what =
            vec![format!("a partition of {proof} on {backend}, {} threads", report.machine.threads)];
        what.extend(differing.tuning(report));
        what.extend((!report.notes.is_empty()).then(|| "with notes".to_owned()));
        let what = what.join(", ");
        for partition in report.partitions.iter().filter(|partition| partition.digests.is_none()) {
            let key = |quantity: &str| (machine.to_owned(), what.clone(), quantity.to_owned(), "ms");
            self.add(key("prove"), date, partition.prove_ms);
            if let Some(total) = partition.phases_ms.get("device_total") {
                self.add(key("device_total"), date, *total);
            }
        }
    }

    fn series(self) -> Vec<Series> {
        let point = |(date, values): (String, Vec<f64>)| Point {
            date,
            n: values.len(),
            median: median(&values),
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            greatest: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        };
        let series = |((machine, what, quantity, unit), by_date): (Key, BTreeMap<String, Vec<f64>>)| Series {
            machine,
            what,
            quantity,
            unit,
            points: by_date.into_iter().map(point).collect(),
        };
        self.0.into_iter().map(series).collect()
    }
}

impl fmt::Display for Series {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Series { machine, what, quantity, unit, points } = self;
        write!(formatter, "{machine}: {what}: {quantity}")?;
        for Point { date, n, median, least, greatest } in points {
            let range = if *n > 1 {
                format!(", {n} from {} to {}", short(*least), short(*greatest))
            } else {
                String::new()
            };
            write!(formatter, "\n    {date}  {} {unit}{range}", short(*median))?;
        }
        Ok(())
    }
}

/// Three digits that matter, at most.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(backend: &str, ntt: &str, prove_ms: f64, more: &str) -> String {
        format!(
            r#"{{"schema": "cuzk-report", "machine": {{"threads": 2}}, "backend": {{"name": "{backend}"}},
            "tuning": {{"ntt": "{ntt}", "isa": "auto"}}, "statement": {{"registered_proof": "Proof"}},
            "partitions": [{{"prove_ms": {prove_ms}{more}}}]}}"#
        )
    }

    #[test]
    fn series_by_machine_axis_and_date() {
        let runs = tempfile::tempdir().unwrap();
        let write = |folder: &str, file: &str, text: &str| {
            fs::create_dir_all(runs.path().join(folder)).unwrap();
            fs::write(runs.path().join(folder).join(file), text).unwrap();
        };
        write(
            "2026-01-02-card",
            "a.json",
            &report("cuda", "six", 30.0, r#", "phases_ms": {"device_total": 5.0}"#),
        );
        write("2026-01-02-card", "b.json", &report("cuda", "six", 10.0, ""));
        write("2026-01-02-card", "c.json", &report("cuda", "seven", 7.0, ""));
        write("2026-01-02-card", "digests.json", &report("cuda", "six", 999.0, r#", "digests": {}"#));
        write("2026-01-03-card", "a.json", &report("cuda", "six", 20.0, ""));
        write("2026-01-03-other", "a.json", &report("cpu", "six", 1.0, ""));
        let bench = r#"{"schema": "cuzk-bench", "threads": 1, "arithmetic": "portable",
            "results": {"sum": {"wall": {"ours_ms": 2.0, "ratio": 4.5}}}}"#;
        write("2026-01-03-other", "bench.json", bench);
        write("2026-01-03-other", "trace.json", r#"{"traceEvents": []}"#);
        write("2026-01-03-other", "text.txt", "no JSON");
        fs::write(runs.path().join("README.md"), "no run").unwrap();

        let all: Vec<String> = series(runs.path(), "").unwrap().iter().map(Series::to_string).collect();
        assert_eq!(
            all,
            [
                "card: a partition of Proof on cuda, 2 threads, ntt=seven: prove\n    2026-01-02  7.00 ms",
                "card: a partition of Proof on cuda, 2 threads, ntt=six: device_total\n    2026-01-02  5.00 ms",
                "card: a partition of Proof on cuda, 2 threads, ntt=six: prove\n    2026-01-02  20.0 ms, 2 from 10.0 to 30.0\n    \
                 2026-01-03  20.0 ms",
                "other: a partition of Proof on cpu, 2 threads: prove\n    2026-01-03  1.00 ms",
                "other: sum (portable, 1 threads): ratio\n    2026-01-03  4.50 times",
                "other: sum (portable, 1 threads): time\n    2026-01-03  2.00 ms",
            ]
        );
        assert_eq!(series(runs.path(), "on cpu").unwrap().len(), 1);
        assert!(series(&runs.path().join("missing"), "").is_err());
    }
}
