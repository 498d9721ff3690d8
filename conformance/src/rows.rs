//! Rows of a run: the ways of computing the same proof.

use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::case::{Case, Expected, Flag};
use crate::prover::Prover;
use crate::report::{Axis, Variants};

/// The backend that is upstream's own prover.
pub const REFERENCE: &str = "reference";

/// Values of some optimization axes; the others keep their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tuning(pub Vec<(String, String)>);

impl FromStr for Tuning {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let setting = |setting: &str| match setting.split_once('=') {
            Some((axis, value)) if !axis.is_empty() && !value.is_empty() => {
                Ok((axis.to_owned(), value.to_owned()))
            }
            _ => Err(Error::NotASetting(setting.to_owned())),
        };
        Ok(Self(text.split(',').map(setting).collect::<Result<_, _>>()?))
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings: Vec<String> = self.0.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        formatter.write_str(&settings.join(","))
    }
}

/// A way of computing a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What `--backend` is given.
    pub backend: String,
    /// What `--tune` is given.
    pub tuning: Tuning,
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.backend)?;
        if self.tuning.0.is_empty() { Ok(()) } else { write!(formatter, " {}", self.tuning) }
    }
}

/// Every backend with every tuning.
pub fn product(backends: &[String], tunings: &[Tuning]) -> Vec<Row> {
    let row = |backend: &String, tuning: &Tuning| Row { backend: backend.clone(), tuning: tuning.clone() };
    backends.iter().flat_map(|backend| tunings.iter().map(move |tuning| row(backend, tuning))).collect()
}

/// For each backend the tunings in which every value of every axis that matters to it occurs at least once: the defaults, then
/// each other value alone.
pub fn each(prover: &Prover, backends: &[String]) -> Result<Vec<Row>, Error> {
    let variants: Variants = prover.json(&["variants".into(), "--json".into()])?;
    let rows = |backend: &String| product(std::slice::from_ref(backend), &each_of(&variants, backend));
    Ok(backends.iter().flat_map(rows).collect())
}

fn each_of(variants: &Variants, backend: &str) -> Vec<Tuning> {
    let mut tunings = vec![Tuning::default()];
    let matters = |axis: &&Axis| {
        let backends = axis.backends.as_ref();
        axis.decided == "run" && backends.is_none_or(|backends| backends.iter().any(|name| name == backend))
    };
    for axis in variants.axes.iter().filter(matters) {
        for value in axis.values.iter().filter(|value| !value.default) {
            tunings.push(Tuning(vec![(axis.name.clone(), value.name.clone())]));
        }
    }
    tunings
}

/// What a case does with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn<'a> {
    /// It runs.
    Run(&'a Row),
    /// It does not, nor in any other row of this backend, for this reason.
    LeftOut(&'a Row, &'static str),
}

/// The turns of a case. A case that yields no proof is decided before any backend starts, so it runs once, in the first
/// row. Of the rows of a backend, a flag of the case may leave out some or all.
pub(crate) fn turns<'a>(case: &Case, rows: &'a [Row]) -> Vec<Turn<'a>> {
    if !matches!(case.expected, Expected::Proof(_)) {
        return rows.first().map(Turn::Run).into_iter().collect();
    }
    let first_of_backend = |at: &usize| rows[..*at].iter().all(|row| row.backend != rows[*at].backend);
    let of_backend = |at| turns_of_backend(case, &rows[at], rows);
    (0..rows.len()).filter(first_of_backend).flat_map(of_backend).collect()
}

fn turns_of_backend<'a>(case: &Case, first: &'a Row, rows: &'a [Row]) -> Vec<Turn<'a>> {
    let flagged = |flag| case.flags.contains(&flag);
    let mut of_backend = rows.iter().filter(|row| row.backend == first.backend);
    if first.backend == REFERENCE && flagged(Flag::NotOnReference) {
        return vec![Turn::LeftOut(first, "upstream takes too long; the expected values are its own")];
    }
    if !flagged(Flag::DefaultsOnly) {
        return of_backend.map(Turn::Run).collect();
    }
    match of_backend.find(|row| row.tuning.0.is_empty()) {
        Some(row) => vec![Turn::Run(row)],
        None => vec![Turn::LeftOut(first, "runs with the default tuning only")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_printed() {
        let tuning: Tuning = "ntt=seven,isa=portable".parse().unwrap();
        assert_eq!(tuning.0[1], ("isa".to_owned(), "portable".to_owned()));
        assert_eq!(tuning.to_string(), "ntt=seven,isa=portable");
        for wrong in ["", "ntt", "=six", "ntt=", "ntt=six,"] {
            assert!(wrong.parse::<Tuning>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_takes_every_value_of_run_decided_axes_once() {
        let variants = serde_json::from_str(
            r#"{"version": 1, "axes": [
                {"name": "lc", "decided": "build", "values": [{"name": "vec", "default": true}, {"name": "other"}]},
                {"name": "ntt", "decided": "run", "values": [{"name": "six", "default": true}, {"name": "seven"}]},
                {"name": "pin", "decided": "run", "backends": ["cuda"],
                 "values": [{"name": "none", "default": true}, {"name": "staged"}]}
            ]}"#,
        )
        .unwrap();
        assert_eq!(each_of(&variants, "cpu"), [Tuning::default(), "ntt=seven".parse().unwrap()]);
        let on_cuda = ["ntt=seven", "pin=staged"].map(|tuning| tuning.parse().unwrap());
        assert_eq!(each_of(&variants, "cuda")[1..], on_cuda);
    }

    #[test]
    fn rows_are_the_product() {
        let backends = ["cpu".to_owned(), "cuda".to_owned()];
        let rows = product(&backends, &[Tuning::default(), "ntt=seven".parse().unwrap()]);
        let shown: Vec<String> = rows.iter().map(Row::to_string).collect();
        assert_eq!(shown, ["cpu", "cpu ntt=seven", "cuda", "cuda ntt=seven"]);
    }

    /// A case with these flags.
    fn case(flags: &[&str], expected: serde_json::Value) -> Case {
        serde_json::from_value(serde_json::json!({
            "schema": 1, "id": "suite/case", "comment": "", "flags": flags,
            "source": {"tool": "", "version": "", "upstream": {"filecoin-proofs": "", "bellperson": ""}},
            "command": "prove", "inputs": [], "arguments": {},
            "parameters": {"name": "", "blake2b_512": "00".repeat(64)}, "result": "valid", "expected": expected,
        }))
        .unwrap()
    }

    fn left_out_row<'a>(turn: &Turn<'a>) -> Option<&'a Row> {
        match turn {
            Turn::LeftOut(row, _) => Some(row),
            Turn::Run(_) => None,
        }
    }

    #[test]
    fn flags_leave_rows_out() {
        let proof = serde_json::json!({
            "exit_code": 0, "partitions": 1, "proof": {"file": "", "sha256": "00".repeat(32)}, "digests": [],
        });
        let rows = |tunings: &[Tuning]| product(&["cpu".to_owned(), REFERENCE.to_owned()], tunings);
        let seven: Tuning = "ntt=seven".parse().unwrap();
        let both = rows(&[seven.clone(), Tuning::default()]);
        let [cpu_seven, cpu, reference_seven, reference] = &both[..] else { panic!("not four rows") };

        let all: Vec<_> = both.iter().map(Turn::Run).collect();
        assert_eq!(turns(&case(&["insecure-parameters"], proof.clone()), &both), all);
        let defaults_only = case(&["defaults-only"], proof.clone());
        assert_eq!(turns(&defaults_only, &both), [Turn::Run(cpu), Turn::Run(reference)]);
        let none = rows(&[seven]);
        let left_out: Vec<_> = turns(&defaults_only, &none).iter().map(left_out_row).collect();
        assert_eq!(left_out, [Some(&none[0]), Some(&none[1])]);
        let not_on_reference = turns(&case(&["not-on-reference"], proof), &both);
        assert_eq!(not_on_reference[..2], [Turn::Run(cpu_seven), Turn::Run(cpu)]);
        assert_eq!(
            not_on_reference[2..].iter().map(left_out_row).collect::<Vec<_>>(),
            [Some(reference_seven)]
        );
        let failure = serde_json::json!({"exit_code": 2, "error_kind": "usage"});
        assert_eq!(turns(&case(&[], failure), &both), [Turn::Run(cpu_seven)]);
    }
}
