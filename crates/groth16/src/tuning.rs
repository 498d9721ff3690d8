//! Optimizations that can be chosen: each is an axis with named values, the default first.
//!
//! Any two values of any axis give the same proof for the same input, parameters, r and s.

use std::fmt;

/// When the value of an axis is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// When the program is built.
    AtBuild,
    /// By `--tune`.
    AtRun,
}

/// One value of an axis.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Its name in `--tune` and in reports.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub what: &'static str,
    /// What was measured, with machine and date.
    pub measured: &'static str,
}

/// An optimization axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Its name in `--tune` and in reports.
    pub name: &'static str,
    /// When its value is chosen.
    pub decided: Decided,
    /// Its values; the first is the default.
    pub values: &'static [Value],
}

/// How many transforms yield the quotient h ([`crate::quotient`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ntt {
    /// c stays on the domain.
    #[default]
    Six,
    /// c goes to the coset as a and b do.
    Seven,
}

/// One value for each axis. [`Tuning::default`] has the first of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Axis `ntt`.
    pub ntt: Ntt,
}

/// An axis or a value that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TuningError {
    /// No such axis.
    #[error("no axis `{axis}`; there are: {known} (`cuzk variants` describes them)")]
    UnknownAxis {
        /// What was asked for.
        axis: String,
        /// The names of the axes.
        known: String,
    },
    /// No such value.
    #[error("axis `{axis}` has no value `{value}`; it has: {known} (`cuzk variants` describes them)")]
    UnknownValue {
        /// The axis.
        axis: &'static str,
        /// What was asked for.
        value: String,
        /// The names of its values.
        known: String,
    },
    /// Not of the form axis=value.
    #[error("`{setting}` is not of the form axis=value")]
    NotASetting {
        /// What was given.
        setting: String,
    },
}

const NTT: Axis = Axis {
    name: "ntt",
    decided: Decided::AtRun,
    values: &[
        Value {
            name: "six",
            what: "h = (coset interpolation of ab − interpolation of c) / (gⁿ − 1): c never goes to the coset",
            measured: "",
        },
        Value {
            name: "seven",
            what: "the usual form: a, b and c all go to the coset and back",
            measured: "",
        },
    ],
};

impl Tuning {
    /// All axes.
    pub const AXES: &'static [Axis] = &[NTT];

    /// Sets one axis from its names.
    pub fn set(&mut self, axis: &str, value: &str) -> Result<(), TuningError> {
        let Some(known) = Self::AXES.iter().find(|known| known.name == axis) else {
            return Err(TuningError::UnknownAxis {
                axis: axis.to_owned(),
                known: join(Self::AXES.iter().map(|axis| axis.name)),
            });
        };
        match (axis, value) {
            ("ntt", "six") => self.ntt = Ntt::Six,
            ("ntt", "seven") => self.ntt = Ntt::Seven,
            _ => {
                return Err(TuningError::UnknownValue {
                    axis: known.name,
                    value: value.to_owned(),
                    known: join(known.values.iter().map(|value| value.name)),
                });
            }
        }
        Ok(())
    }

    /// Sets axes from `axis=value` settings separated by commas.
    pub fn set_all(&mut self, settings: &str) -> Result<(), TuningError> {
        for setting in settings.split(',').filter(|setting| !setting.is_empty()) {
            let (axis, value) = setting
                .split_once('=')
                .ok_or_else(|| TuningError::NotASetting { setting: setting.to_owned() })?;
            self.set(axis.trim(), value.trim())?;
        }
        Ok(())
    }

    /// Axis and value names, in the order of [`Tuning::AXES`].
    pub fn settings(&self) -> Vec<(&'static str, &'static str)> {
        let ntt = match self.ntt {
            Ntt::Six => "six",
            Ntt::Seven => "seven",
        };
        vec![(NTT.name, ntt)]
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings: Vec<String> =
            self.settings().iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        formatter.write_str(&settings.join(","))
    }
}

fn join(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_every_axis_can_be_set_and_the_first_is_the_default() {
        for axis in Tuning::AXES.iter().filter(|axis| axis.decided == Decided::AtRun) {
            assert!(Tuning::default().settings().contains(&(axis.name, axis.values[0].name)));
            for value in axis.values {
                let mut tuning = Tuning::default();
                tuning.set_all(&format!("{}={}", axis.name, value.name)).unwrap();
                assert!(tuning.settings().contains(&(axis.name, value.name)));
                let mut again = Tuning::default();
                again.set_all(&tuning.to_string()).unwrap();
                assert_eq!(again, tuning);
            }
        }
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        let message = |settings: &str| Tuning::default().set_all(settings).unwrap_err().to_string();
        assert_eq!(message("nt=six"), "no axis `nt`; there are: ntt (`cuzk variants` describes them)");
        assert_eq!(
            message("ntt=eight"),
            "axis `ntt` has no value `eight`; it has: six, seven (`cuzk variants` describes them)"
        );
        assert_eq!(message("ntt"), "`ntt` is not of the form axis=value");
        assert_eq!(Tuning::default().set_all(""), Ok(()));
    }
}
