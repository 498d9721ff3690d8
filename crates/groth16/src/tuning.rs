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

/// Which instructions CPU arithmetic uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isa {
    /// The fastest that the processor has.
    #[default]
    Auto,
    /// Eight elements at a time with AVX-512 IFMA; an error where the processor lacks it.
    Avx512Ifma,
    /// One element at a time, on any processor.
    Portable,
}

/// How the sizes of the windows of the multi-scalar sums are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowChoice {
    /// Each sum has those with the least cost for its number of terms.
    #[default]
    PerMsm,
    /// All sums have those that suit the H query.
    Shared,
}

/// When the CPU backend computes the sum over the B query in G2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BG2Cpu {
    /// Beside the sums in G1.
    #[default]
    Parallel,
    /// After them.
    Sequential,
}

/// One value for each axis. [`Tuning::default`] has the first of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Axis `ntt`.
    pub ntt: Ntt,
    /// Axis `isa`.
    pub isa: Isa,
    /// Axis `windows`.
    pub windows: WindowChoice,
    /// Axis `b-g2-cpu`.
    pub b_g2_cpu: BG2Cpu,
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
            measured: "transforms 6.6 s against 7.7 s for seven (2-core Zen 3 guest (shared, loaded), 2026-11-29, PoRep 2 KiB, 2^22 rows)",
        },
        Value {
            name: "seven",
            what: "the usual form: a, b and c all go to the coset and back",
            measured: "transforms 7.7 s against 6.6 s for six (2-core Zen 3 guest (shared, loaded), 2026-11-29, PoRep 2 KiB, 2^22 rows)",
        },
    ],
};

const ISA: Axis = Axis {
    name: "isa",
    decided: Decided::AtRun,
    values: &[
        Value {
            name: "auto",
            what: "avx512ifma where the processor has it, else portable",
            measured: "as the value that it takes",
        },
        Value {
            name: "avx512ifma",
            what: "fields, curves and transforms eight elements at a time in limbs of 52 bits",
            measured: "PoRep 2 KiB, parameters loaded: 3.4 and 4.1 s, portable 6.7 and 6.9 s, bellperson 16.0 s (16-core Xeon with IFMA, 2026-11-29)",
        },
        Value {
            name: "portable",
            what: "one element at a time, over blst's assembly",
            measured: "PoRep 2 KiB, parameters loaded: 25 to 33 s, bellperson 58 s (2-core Zen 3 guest, shared, loaded, 2026-11-29); 6.7 and 6.9 s, bellperson 16.0 s (16-core Xeon)",
        },
    ],
};

const WINDOWS: Axis = Axis {
    name: "windows",
    decided: Decided::AtRun,
    values: &[
        Value {
            name: "per-msm",
            what: "each multi-scalar sum has the windows of least cost for it",
            measured: "sums over L, A and B, without the scalars 0 and 1, 1.2 s against 3.1 s for shared (2-core Zen 3 guest (shared, loaded), 2026-11-29, PoRep 2 KiB, 2^22 rows)",
        },
        Value {
            name: "shared",
            what: "all have the windows that suit the H query",
            measured: "the same sums 3.1 s against 1.2 s (2-core Zen 3 guest (shared, loaded), 2026-11-29, PoRep 2 KiB, 2^22 rows)",
        },
    ],
};

const B_G2_CPU: Axis = Axis {
    name: "b-g2-cpu",
    decided: Decided::AtRun,
    values: &[
        Value {
            name: "parallel",
            what: "the CPU's sum in G2 runs beside those in G1",
            measured: "sums over L, A and B 1.2 s parallel, 0.9 s sequential, one run each: no difference shown (2-core Zen 3 guest, shared, loaded, 2026-11-29, PoRep 2 KiB)",
        },
        Value {
            name: "sequential",
            what: "it runs after them",
            measured: "sums over L, A and B 1.2 s parallel, 0.9 s sequential, one run each: no difference shown (2-core Zen 3 guest, shared, loaded, 2026-11-29, PoRep 2 KiB)",
        },
    ],
};

impl Tuning {
    /// All axes.
    pub const AXES: &'static [Axis] = &[NTT, ISA, WINDOWS, B_G2_CPU];

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
            ("isa", "auto") => self.isa = Isa::Auto,
            ("isa", "avx512ifma") => self.isa = Isa::Avx512Ifma,
            ("isa", "portable") => self.isa = Isa::Portable,
            ("windows", "per-msm") => self.windows = WindowChoice::PerMsm,
            ("windows", "shared") => self.windows = WindowChoice::Shared,
            ("b-g2-cpu", "parallel") => self.b_g2_cpu = BG2Cpu::Parallel,
            ("b-g2-cpu", "sequential") => self.b_g2_cpu = BG2Cpu::Sequential,
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
        let isa = match self.isa {
            Isa::Auto => "auto",
            Isa::Avx512Ifma => "avx512ifma",
            Isa::Portable => "portable",
        };
        let windows = match self.windows {
            WindowChoice::PerMsm => "per-msm",
            WindowChoice::Shared => "shared",
        };
        let b_g2_cpu = match self.b_g2_cpu {
            BG2Cpu::Parallel => "parallel",
            BG2Cpu::Sequential => "sequential",
        };
        vec![(NTT.name, ntt), (ISA.name, isa), (WINDOWS.name, windows), (B_G2_CPU.name, b_g2_cpu)]
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
        assert_eq!(
            message("nt=six"),
            "no axis `nt`; there are: ntt, isa, windows, b-g2-cpu (`cuzk variants` describes them)"
        );
        assert_eq!(
            message("ntt=eight"),
            "axis `ntt` has no value `eight`; it has: six, seven (`cuzk variants` describes them)"
        );
        assert_eq!(message("ntt"), "`ntt` is not of the form axis=value");
        assert_eq!(Tuning::default().set_all(""), Ok(()));
    }
}
