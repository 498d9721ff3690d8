//! Rows of a run: the ways of computing the same proof.

use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::prover::Prover;
use crate::report::Variants;

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

/// The tunings in which every value of every axis occurs at least once: the defaults, then each other value alone.
pub fn each(prover: &Prover) -> Result<Vec<Tuning>, Error> {
    let variants: Variants = prover.json(&["variants".into(), "--json".into()])?;
    Ok(each_of(&variants))
}

fn each_of(variants: &Variants) -> Vec<Tuning> {
    let mut tunings = vec![Tuning::default()];
    for axis in variants.axes.iter().filter(|axis| axis.decided == "run") {
        for value in axis.values.iter().filter(|value| !value.default) {
            tunings.push(Tuning(vec![(axis.name.clone(), value.name.clone())]));
        }
    }
    tunings
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
                {"name": "ntt", "decided": "run", "values": [{"name": "six", "default": true}, {"name": "seven"}]}
            ]}"#,
        )
        .unwrap();
        assert_eq!(each_of(&variants), [Tuning::default(), "ntt=seven".parse().unwrap()]);
    }

    #[test]
    fn rows_are_the_product() {
        let backends = ["cpu".to_owned(), "cuda".to_owned()];
        let rows = product(&backends, &[Tuning::default(), "ntt=seven".parse().unwrap()]);
        let shown: Vec<String> = rows.iter().map(Row::to_string).collect();
        assert_eq!(shown, ["cpu", "cpu ntt=seven", "cuda", "cuda ntt=seven"]);
    }
}
