//! Rows of a run: the ways of computing the same proof.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::case::{Case, Expected, Flag};
use crate::prover::Prover;
use crate::report::{Axis, AxisValue, Variants};

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

impl Row {
    /// From settings among which `backend=NAME` may be.
    pub fn of(mut settings: Tuning, default_backend: &str) -> Self {
        let named = settings.0.iter().rfind(|(axis, _)| axis == "backend").map(|(_, name)| name.clone());
        settings.0.retain(|(axis, _)| axis != "backend");
        Row { backend: named.unwrap_or_else(|| default_backend.to_owned()), tuning: settings }
    }
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

/// Which tunings of the axes that matter to a backend become rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// The defaults, then each other value alone.
    Each,
    /// Every two values of every two axes together in some row, in few rows; the defaults first.
    Pairwise,
    /// Every combination.
    All,
}

/// For each backend the rows of the axes that the prover lists. A value that this machine cannot have gets a row of its own, which will be
/// skipped; one that is the default under another name on this machine gets none, unless it is among the `required`.
pub fn covering(
    prover: &Prover,
    backends: &[String],
    coverage: Coverage,
    required: &[String],
) -> Result<Vec<Row>, Error> {
    let variants: Variants = prover.json(&["variants".into(), "--json".into()])?;
    let rows = |backend: &String| {
        let choices = choices(&variants, backend);
        let rows = match coverage {
            Coverage::Each => each_of(&choices),
            Coverage::Pairwise => pairwise_of(&choices),
            Coverage::All => all_of(&choices),
        };
        let tunings = rows.iter().map(|row| tuning(&choices, row));
        let tunings: Vec<Tuning> = tunings.chain(by_name(&variants, backend, required)).collect();
        product(std::slice::from_ref(backend), &tunings)
    };
    Ok(backends.iter().flat_map(rows).collect())
}

/// An axis, and its values with the default first.
struct Choice {
    axis: String,
    values: Vec<String>,
}

/// The axes that are decided at run and matter to a backend.
fn axes<'a>(variants: &'a Variants, backend: &str) -> impl Iterator<Item = &'a Axis> {
    variants.axes.iter().filter(move |axis| {
        let backends = axis.backends.as_ref();
        axis.decided == "run" && backends.is_none_or(|backends| backends.iter().any(|name| name == backend))
    })
}

/// Their values that differ on this machine.
fn choices(variants: &Variants, backend: &str) -> Vec<Choice> {
    let choice = |axis: &Axis| {
        let (mut values, others): (Vec<_>, Vec<_>) = axis.values.iter().partition(|value| value.default);
        let default_is = default_is(axis);
        let differs = |value: &&AxisValue| value.missing.is_none() && default_is != Some(&value.name);
        values.extend(others.into_iter().filter(differs));
        let values = values.iter().map(|value| value.name.clone()).collect();
        Choice { axis: axis.name.clone(), values }
    };
    axes(variants, backend).map(choice).collect()
}

/// The value that an axis' default is on this machine.
fn default_is(axis: &Axis) -> Option<&String> {
    axis.values.iter().find(|value| value.default)?.comes_to.as_ref()
}

/// Each value that this machine cannot have, and each required one that is the default.
fn by_name(variants: &Variants, backend: &str, required: &[String]) -> Vec<Tuning> {
    let of_axis = |axis: &Axis| {
        let wanted = |value: &&AxisValue| {
            value.missing.is_some() || default_is(axis) == Some(&value.name) && required.contains(&value.name)
        };
        let wanted = axis.values.iter().filter(wanted);
        wanted.map(|value| Tuning(vec![(axis.name.clone(), value.name.clone())])).collect::<Vec<_>>()
    };
    axes(variants, backend).flat_map(of_axis).collect()
}

/// The values that are not the defaults.
fn tuning(choices: &[Choice], row: &[usize]) -> Tuning {
    let settings = choices.iter().zip(row).filter(|(_, value)| **value > 0);
    Tuning(settings.map(|(choice, value)| (choice.axis.clone(), choice.values[*value].clone())).collect())
}

fn each_of(choices: &[Choice]) -> Vec<Vec<usize>> {
    let mut rows = vec![vec![0; choices.len()]];
    for (axis, choice) in choices.iter().enumerate() {
        rows.extend((1..choice.values.len()).map(|value| {
            let mut row = vec![0; choices.len()];
            row[axis] = value;
            row
        }));
    }
    rows
}

fn all_of(choices: &[Choice]) -> Vec<Vec<usize>> {
    choices.iter().fold(vec![vec![]], |rows, choice| {
        let with = |row: &Vec<usize>, value| row.iter().copied().chain([value]).collect();
        rows.iter().flat_map(|row| (0..choice.values.len()).map(move |value| with(row, value))).collect()
    })
}

/// Greedily: each row begins with a pair that is not in any yet, and takes on each other axis the value that adds most such
/// pairs, the first of equal ones. Axes with many values come first: six rows for 3·2·2·2·2 values, where 2·2·2·3·2 takes nine.
fn pairwise_of(choices: &[Choice]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..choices.len()).collect();
    order.sort_by_key(|axis| std::cmp::Reverse(choices[*axis].values.len()));
    let sizes: Vec<usize> = order.iter().map(|axis| choices[*axis].values.len()).collect();
    let in_order_of_choices = |row: Vec<usize>| {
        let mut of_choices = vec![0; row.len()];
        order.iter().zip(row).for_each(|(axis, value)| of_choices[*axis] = value);
        of_choices
    };
    pairwise(&sizes).into_iter().map(in_order_of_choices).collect()
}

/// Of axes with so many values.
fn pairwise(sizes: &[usize]) -> Vec<Vec<usize>> {
    let n = sizes.len();
    let values = |axis: usize| 0..sizes[axis];
    // (axis, value) of both, the lower axis first.
    let mut missing: BTreeSet<[(usize, usize); 2]> = (0..n)
        .flat_map(|first| (first + 1..n).map(move |second| (first, second)))
        .flat_map(|(first, second)| {
            values(first).flat_map(move |a| values(second).map(move |b| [(first, a), (second, b)]))
        })
        .collect();
    let mut rows = vec![];
    let mut next = Some(vec![0; n]);
    while let Some(row) = next.take() {
        for first in 0..n {
            for second in first + 1..n {
                missing.remove(&[(first, row[first]), (second, row[second])]);
            }
        }
        rows.push(row);
        let Some(&[a, b]) = missing.first() else { break };
        let mut chosen = vec![a, b];
        for axis in (0..n).filter(|axis| ![a.0, b.0].contains(axis)) {
            let new_pairs = |value: usize| {
                let pair = |&other: &(usize, usize)| {
                    if other.0 < axis { [other, (axis, value)] } else { [(axis, value), other] }
                };
                chosen.iter().filter(|other| missing.contains(&pair(other))).count()
            };
            let best = values(axis).rev().max_by_key(|value| new_pairs(*value)).unwrap_or(0);
            chosen.push((axis, best));
        }
        chosen.sort_unstable();
        next = Some(chosen.into_iter().map(|(_, value)| value).collect());
    }
    rows
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
                {"name": "ntt", "decided": "run", "values": [{"name": "seven"}, {"name": "six", "default": true}]},
                {"name": "pin", "decided": "run", "backends": ["cuda"],
                 "values": [{"name": "none", "default": true}, {"name": "staged"}]}
            ]}"#,
        )
        .unwrap();
        let tunings = |backend, rows: fn(&[Choice]) -> Vec<Vec<usize>>| -> Vec<String> {
            let choices = choices(&variants, backend);
            rows(&choices).iter().map(|row| tuning(&choices, row).to_string()).collect()
        };
        assert_eq!(tunings("cpu", each_of), ["", "ntt=seven"]);
        assert_eq!(tunings("cuda", each_of), ["", "ntt=seven", "pin=staged"]);
        assert_eq!(tunings("cuda", all_of), ["", "pin=staged", "ntt=seven", "ntt=seven,pin=staged"]);
        assert_eq!(tunings("cpu", pairwise_of), [""]);
        assert_eq!(tunings("cuda", pairwise_of).len(), 4);
    }

    #[test]
    fn what_a_machine_lacks_has_one_row_and_what_it_has_twice_none() {
        let isa = |auto: serde_json::Value, eight: serde_json::Value| -> Variants {
            serde_json::from_value(serde_json::json!({"version": 1, "axes": [
                {"name": "isa", "decided": "run", "values": [
                    {"name": "auto", "default": true, "comes_to": auto},
                    {"name": "eight", "missing": eight},
                    {"name": "portable"}
                ]},
                {"name": "ntt", "decided": "run", "values": [{"name": "six", "default": true}, {"name": "seven"}]}
            ]}))
            .unwrap()
        };
        let rows = |variants: &Variants, required: &[&str]| -> Vec<String> {
            let required: Vec<String> = required.iter().map(|name| name.to_string()).collect();
            let choices = choices(variants, "cpu");
            let rows = all_of(&choices);
            let tunings = rows.iter().map(|row| tuning(&choices, row));
            let tunings = tunings.chain(by_name(variants, "cpu", &required));
            tunings.map(|tuning| tuning.to_string()).collect()
        };
        let without = isa("portable".into(), "no such unit".into());
        assert_eq!(rows(&without, &["eight"]), ["", "ntt=seven", "isa=eight"]);
        assert_eq!(rows(&without, &["portable"]), ["", "ntt=seven", "isa=eight", "isa=portable"]);
        let with = isa("eight".into(), serde_json::Value::Null);
        let all = ["", "ntt=seven", "isa=portable", "isa=portable,ntt=seven"];
        assert_eq!(rows(&with, &[]), all);
        assert_eq!(rows(&with, &["eight"]), [&all[..], &["isa=eight"]].concat());
    }

    #[test]
    fn pairwise_has_every_pair_in_few_rows() {
        for sizes in
            [vec![2, 3, 2, 2, 2, 2], vec![2, 2, 2, 2, 3, 2, 2, 3], vec![3, 3, 3, 3], vec![1, 2], vec![4]]
        {
            let choice = |(axis, n): (usize, &usize)| Choice {
                axis: axis.to_string(),
                values: (0..*n).map(|value| value.to_string()).collect(),
            };
            let choices: Vec<Choice> = sizes.iter().enumerate().map(choice).collect();
            let rows = pairwise_of(&choices);
            assert!(rows[0].iter().all(|value| *value == 0), "the defaults come first");
            for first in 0..sizes.len() {
                for second in first + 1..sizes.len() {
                    let found: BTreeSet<_> = rows.iter().map(|row| (row[first], row[second])).collect();
                    assert_eq!(
                        found.len(),
                        sizes[first] * sizes[second],
                        "{first} and {second} of {sizes:?}"
                    );
                }
            }
            assert!(rows.len() <= 16, "{} rows for {sizes:?}", rows.len());
        }
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
